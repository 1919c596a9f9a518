#include "spec/written.h"

#include "text/characters.h"
#include "text/diagnostics.h"

namespace attngen::spec {

std::string written(const expr::Expr& e, std::string_view text) {
  constexpr size_t kMost = 200;
  const auto [begin, end] = e.span();
  return text::shortened(text::one_line(text.substr(begin, end - begin)), kMost);
}

}  // namespace attngen::spec
