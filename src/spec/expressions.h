// The expressions of a spec: which names each may use, what type it has.
#pragma once

#include "spec/report.h"

namespace attngen::spec {

// Reads score, mask, normalize (or query, key, ...) into `spec`, whose fields have been read, with
// the defaults for what is not given. An expression with an error stays empty. Warns of inputs,
// constants and rows that none reads.
void read_expressions(const Node& root, Spec& spec, Report& report);

}  // namespace attngen::spec
