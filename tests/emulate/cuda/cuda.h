// Stands in for the vendor's header when a kernel runs on the CPU.
#pragma once
#include "emulator.h"
