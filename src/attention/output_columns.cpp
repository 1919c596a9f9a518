#include "attention/output_columns.h"

#include <algorithm>
#include <string>

#include "attention/row_index.h"

namespace attngen::attention {
namespace {

using expr::Expr;
using spec::Input;

bool is_column(const Expr& index) {
  return index.op() == expr::Op::Variable && index.name() == "d";
}

bool is_column_load(const spec::Spec& spec, const Expr& e) {
  if (e.op() != expr::Op::Load) return false;
  const Input* input = spec.find_input(e.name());
  if (input == nullptr || input->shape.empty() || spec::bytes_of(input->element) != 2) return false;
  if (spec::has_dim(*input, Input::Dim::Kind::SeqKv)) return false;
  const Input::Dim& last = input->shape.back();
  const bool is_whole = last.kind == Input::Dim::Kind::HeadDim ||
                        (last.kind == Input::Dim::Kind::Number && last.number % 8 == 0 &&
                         last.number >= spec.head_dim.v);
  const auto indices = e.operands();
  return is_whole && is_column(indices.back()) &&
         std::all_of(indices.begin(), indices.end() - 1,
                     [&](const Expr& index) { return is_of_row(spec, index); });
}

}  // namespace

std::span<const std::string> element_variables() {
  static const std::vector<std::string> names{"acc", "d"};
  return names;
}

bool has_columns(const Expr& output) { return expr::mentions(output, "d"); }

std::vector<Expr> column_loads(const spec::Spec& spec, const Expr& output) {
  std::vector<Expr> loads;
  expr::find_node(output, [&](const Expr& e) {
    const bool known = std::ranges::any_of(loads, [&](const Expr& l) { return expr::same(l, e); });
    if (!known && is_column_load(spec, e)) loads.push_back(e);
    return false;
  });
  return loads;
}

bool is_read_by_columns(const spec::Spec& spec, const Input& input) {
  if (!spec.normalize.output) return false;  // pattern recurrent has none
  return std::ranges::any_of(column_loads(spec, spec.normalize.output),
                             [&](const Expr& load) { return load.name() == input.name; });
}

}  // namespace attngen::attention
