#include "emit/prediction.h"

namespace attngen::emit {

PredictedChoice predicted(const spec::Spec& spec, const attention::RowForm& rows,
                          const Choice& choice) {
  PredictedChoice result{choice, {}};
  schedule::Kernel kernel = schedule::describe_kernel(spec, rows, choice.target->family);
  for (const spec::Workload& workload : spec.workload) {
    kernel.workload = {workload};
    const schedule::Judged judged =
        schedule::judge(kernel, choice.candidate.schedule, *choice.target);
    if (judged.candidate) result.predictions.push_back({workload, judged.candidate->cost});
  }
  return result;
}

}  // namespace attngen::emit
