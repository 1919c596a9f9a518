#include "emit/prediction.h"

namespace attngen::emit {

PredictedChoice predicted(const spec::Spec& spec, const attention::RowForm& rows,
                          const Choice& choice) {
  PredictedChoice result{choice, {}};
  const schedule::Kernel kernel = schedule::describe_kernel(spec, rows, choice.target->family);
  schedule::Kernel at_point = kernel;
  for (size_t i = 0; i < spec.workload.size(); ++i) {
    at_point.workload = {kernel.workload[i]};
    const schedule::Judged judged =
        schedule::judge(at_point, choice.candidate.schedule, *choice.target);
    if (!judged.candidate) continue;
    schedule::Cost cost = judged.candidate->cost;
    if (cost.scan.seconds > 0) {
      cost.flop_per_s *= cost.seconds / cost.scan.seconds;
      cost.seconds = cost.scan.seconds;
      cost.bound = cost.scan.bound;
    }
    result.predictions.push_back({spec.workload[i], cost});
  }
  return result;
}

}  // namespace attngen::emit
