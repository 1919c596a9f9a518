#include "attention/listed.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace attngen::attention {

using expr::Expr;
using expr::Op;

bool may_be_mask(const spec::Spec& spec) { return spec.distinct_tokens && !spec.varlen; }

spec::Spec lists_as_mask(spec::Spec spec) {
  std::vector<Expr> indices;
  for (const char* index : {"b", "h_kv", "q_idx", "kv_idx"}) {
    indices.push_back(expr::variable(index, expr::Type::Int));
  }
  const Expr listed = expr::load(std::string(kListed), expr::Type::Int, std::move(indices));
  spec.mask =
      expr::make(Op::And, {spec.token_mask, expr::make(Op::NotEqual, {listed, expr::integer(0)})});
  spec.lists_as_mask = true;
  return spec;
}

bool asks_lists(const BlockTest& test) {
  if (!asks_pairs(test)) return false;
  const std::vector<std::string> read = expr::inputs_of(test.tables.front().value);
  return std::ranges::find(read, kListed) != read.end();
}

}  // namespace attngen::attention
