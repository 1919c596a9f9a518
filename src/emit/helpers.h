// The device functions that emitted text and the template call: of all that there are those alone.
#pragma once

#include <string>
#include <string_view>

#include "attention/pair_form.h"
#include "attention/row_form.h"
#include "emit/fragment.h"
#include "spec/spec.h"

namespace attngen::emit {

std::string helpers_text(const spec::Spec& spec, const attention::RowForm& form,
                         const attention::PairForm& pairs, const Fragment& fragment,
                         std::string_view text);

// CUDA's own functions in the text, by this project's for AMD, which come before it.
std::string for_amd(std::string text);

}  // namespace attngen::emit
