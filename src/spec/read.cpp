#include "spec/read.h"

#include <utility>

#include "spec/check.h"
#include "spec/document.h"
#include "spec/expressions.h"
#include "spec/fields.h"
#include "spec/hash.h"
#include "spec/point_values.h"

namespace attngen::spec {
namespace {

Pattern pattern_of(const Node& root) {
  const Node* pattern = root.find("pattern");
  const bool recurrent = pattern != nullptr && pattern->text == name_of(Pattern::Recurrent);
  return recurrent ? Pattern::Recurrent : Pattern::Parallel;
}

}  // namespace

std::optional<Spec> read(text::Diagnostics& diagnostics) {
  std::optional<Node> root = read_document(diagnostics);
  if (!root) return std::nullopt;
  Spec spec;
  Report report(diagnostics, spec.locations);
  spec.pattern = pattern_of(*root);
  check(*root, spec_type(), "", spec.pattern, report);
  if (!root->valid) return std::nullopt;
  read_fields(*root, spec, report);
  read_expressions(*root, spec, report);
  if (spec.mask) warn_of_idle_values(*root, spec, report);
  if (diagnostics.has_errors()) return std::nullopt;
  spec.hash = hash_of(spec);
  if (spec.token_count > 0) spec.token_mask = std::exchange(spec.mask, expr::boolean(true));
  return spec;
}

}  // namespace attngen::spec
