#include "tiny.h"

size_t size_of_arguments(void) { return sizeof(tiny_forward_args); }
