// The values of the ATTN_ names that templates use.
#pragma once

#include <string>

#include "emit/condition.h"
#include "schedule/search.h"
#include "spec/spec.h"

namespace attngen::emit {

Values template_values(const spec::Spec& spec, const attention::RowForm& rows,
                       const schedule::Candidate& candidate);

}  // namespace attngen::emit
