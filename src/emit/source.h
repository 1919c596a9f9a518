// <name>_<target>.cu less its banner: a template specialised for a spec and a schedule.
#pragma once

#include <string>
#include <variant>

#include "emit/api.h"
#include "emit/emit.h"
#include "emit/preprocess.h"

namespace attngen::emit {

// "llama3_8b_h100.cu"
std::string source_name(const spec::Spec& spec, const target::Target& target);

// "nvcc ... -c llama3_8b_h100.cu": what makes an object of it.
std::string compile_command(const spec::Spec& spec, const target::Target& target);

// "hopper/forward.cu"
const char* template_of(target::Family family);
// What a spec and a schedule put into it.
Substitution substitution(const spec::Spec& spec, const attention::RowForm& rows, const Api& api,
                          const Choice& choice);

std::variant<std::string, TemplateError> source(const spec::Spec& spec,
                                                const attention::RowForm& rows, const Api& api,
                                                const Choice& choice);

}  // namespace attngen::emit
