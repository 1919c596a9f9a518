// <name>_<target>.cu: a template specialised for a spec and a schedule.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "emit/api.h"
#include "emit/emit.h"
#include "emit/preprocess.h"

namespace attngen::emit {

// "llama3_8b_h100.cu"
std::string source_name(const spec::Spec& spec, const target::Target& target);
std::string source_name(const spec::Spec& spec, std::string_view target, target::Family family);

std::variant<std::string, TemplateError> source(const spec::Spec& spec,
                                                const attention::RowForm& rows, const Api& api,
                                                const Choice& choice);

}  // namespace attngen::emit
