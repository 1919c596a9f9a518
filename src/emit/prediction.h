// What the cost model says of a choice at each point of the workload.
#pragma once

#include <vector>

#include "emit/emit.h"

namespace attngen::emit {

struct Prediction {
  spec::Workload workload;
  schedule::Cost cost;
};
std::vector<Prediction> predictions(const spec::Spec& spec, const attention::RowForm& rows,
                                    const Choice& choice);

}  // namespace attngen::emit
