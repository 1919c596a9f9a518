// What the cost model says of a choice at each point of the workload, for the source's banner and
// for the manifest.
#pragma once

#include <vector>

#include "emit/emit.h"

namespace attngen::emit {

struct Prediction {
  spec::Workload workload;
  schedule::Cost cost;
};
struct PredictedChoice {
  Choice choice;
  std::vector<Prediction> predictions;
};
// Of points that the choice's schedule is feasible for: all, if a search or a judge let it through.
PredictedChoice predicted(const spec::Spec& spec, const attention::RowForm& rows,
                          const Choice& choice);

}  // namespace attngen::emit
