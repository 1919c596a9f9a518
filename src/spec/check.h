// Whether a tree has the form of a type.
#pragma once

#include <string>

#include "spec/form.h"
#include "spec/report.h"

namespace attngen::spec {

// Reports every misfit, clears `valid` of the nodes that do not fit (their entries are then not
// found), and remembers the place of each value. Keys of the other pattern are errors.
void check(Node& node, const Type& type, const std::string& pointer, Pattern pattern,
           Report& report);

}  // namespace attngen::spec
