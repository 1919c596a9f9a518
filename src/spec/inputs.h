// The user's own tensors.
#pragma once

#include "spec/report.h"
#include "spec/user_names.h"

namespace attngen::spec {

// Fills the inputs of `spec`, whose other words have been read, from a checked tree. One with an
// error is left out.
void read_inputs(const Node& root, Spec& spec, UserNames& names, Report& report);

}  // namespace attngen::spec
