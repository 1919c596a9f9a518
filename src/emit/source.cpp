#include "emit/source.h"

#include "emit/device_text.h"
#include "emit/layout.h"
#include "emit/template_files.h"
#include "emit/user_functions.h"
#include "emit/values.h"
#include "emit/wgmma.h"
#include "schedule/resources.h"
#include "schedule/units.h"

namespace attngen::emit {

std::string source_name(const spec::Spec& spec, const target::Target& target) {
  return spec.name + "_" + target.name + (target.family == target::Family::Cdna2 ? ".hip" : ".cu");
}

std::string compile_command(const spec::Spec& spec, const target::Target& target) {
  const char* const command =
      target.family == target::Family::Cdna2
          ? "hipcc --offload-arch=gfx90a -std=c++17 -O3 -fgpu-flush-denormals-to-zero -c "
          : "nvcc -std=c++17 -O3 -gencode arch=compute_90a,code=sm_90a -c ";
  return command + source_name(spec, target);
}

const char* template_of(target::Family family) {
  return family == target::Family::Cdna2 ? "cdna2/forward.hip" : "hopper/forward.cu";
}

Substitution substitution(const spec::Spec& spec, const attention::RowForm& rows, const Api& api,
                          const Choice& choice) {
  const schedule::Schedule& schedule = choice.candidate.schedule;
  const bool cdna2 = choice.target->family == target::Family::Cdna2;
  const UserFunctions user =
      user_functions(spec, rows, choice.target->family, choice.candidate.resources.forms,
                     {schedule::gathers(schedule, spec.block_size),
                      schedule::rows_differ(schedule, spec.block_queries, spec.heads.group())});
  Substitution substitution;
  substitution.name = spec.name;
  substitution.values = template_values(spec, rows, choice.candidate);
  const bool folds_scale = rows.exponential && is_plain_score(spec);  // softmax.cuh does
  substitution.values["ATTN_READS_SCALE"] =
      folds_scale || has_name(user.text, "kScale") ? "1" : "0";
  substitution.values["ATTN_OTHER_HALF"] =
      rows.exponential || has_name(user.text, "other_half") ? "1" : "0";
  substitution.replacements = {
      {cdna2 ? "parts/user.h" : "parts/user.cuh", user.text},
      {cdna2 ? "parts/api.h" : "parts/api.cuh", source_api(spec, api, user.lengths)}};
  if (!cdna2) {
    substitution.replacements["parts/helpers.cuh"] = user.helpers;
    const bool far = choice.candidate.resources.forms.far,
               far_sums = attention::sums_products(rows);
    substitution.replacements["parts/wgmma_n.cuh"] = wgmma_functions(
        {spec.dtype, schedule.tile_kv, schedule::value_parts(spec).columns,
         schedule.weights == schedule::Place::Shared,
         far ? schedule::state_columns(far_sums, spec.head_dim.qk) : 0,
         far && schedule::holds_far_queries(far_sums, spec.head_dim.qk), schedule.scan});
  }
  return substitution;
}

std::variant<std::string, TemplateError> source(const spec::Spec& spec,
                                                const attention::RowForm& rows, const Api& api,
                                                const Choice& choice) {
  auto text = preprocess({template_of(choice.target->family), find_template},
                         substitution(spec, rows, api, choice));
  if (auto* source = std::get_if<std::string>(&text)) *source = laid_out(*source);
  return text;
}

}  // namespace attngen::emit
