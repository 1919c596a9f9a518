// Everything in a spec but its expressions, from a checked tree.
#pragma once

#include "spec/report.h"

namespace attngen::spec {

// Fills the fields of `spec` and reports what contradicts: head counts, names given twice, lengths.
// `root` has passed check(); entries that did not fit are not found and keep their defaults.
void read_fields(const Node& root, Spec& spec, Report& report);

// Whether a normaliser's long form has an output or saved values alone: it does what softmax would,
// but for these.
bool is_rest_of_softmax(const Node& normalize);

}  // namespace attngen::spec
