// A hash of what a spec means.
#pragma once

#include <string>

#include "spec/spec.h"

namespace attngen::spec {

// 16 hexadecimal digits: FNV-1a 64 of a canonical text of all fields that a kernel or its schedule
// depends on. `doc` and the names of constants are not among them.
std::string hash_of(const Spec& spec);

}  // namespace attngen::spec
