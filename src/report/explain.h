// The search's result for a person: --explain.
#pragma once

#include <string>

#include "schedule/search.h"
#include "spec/spec.h"
#include "target/target.h"

namespace attngen::report {

// Ranked candidates (predicted time, TFLOP/s, what bounds it, resources; at most `limit`), why the
// first won in a sentence or two, then the rejected ones grouped by reason. Fits 100 columns but
// for longer words.
std::string explain(const spec::Spec& spec, const target::Target& target,
                    const schedule::Ranking& ranking, size_t limit = 12);

}  // namespace attngen::report
