#include "emit/prediction.h"

namespace attngen::emit {

std::vector<Prediction> predictions(const spec::Spec& spec, const attention::RowForm& rows,
                                    const Choice& choice) {
  std::vector<Prediction> result;
  schedule::Kernel kernel = schedule::describe_kernel(spec, rows, choice.target->family);
  for (const spec::Workload& workload : spec.workload) {
    kernel.workload = {workload};
    const schedule::Judged judged =
        schedule::judge(kernel, choice.candidate.schedule, *choice.target);
    if (judged.candidate) result.push_back({workload, judged.candidate->cost});
  }
  return result;
}

}  // namespace attngen::emit
