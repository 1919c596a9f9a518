#include "schedule/divided_keys.h"

#include <algorithm>

namespace attngen::schedule {
namespace {

using expr::Expr;
using expr::Op;

// Columns of which each lane has two: the compiler knows in which eight of them.
constexpr int kGroup = 8;

bool is_divided_key(const Expr& e) {
  return (e.op() == Op::FloorDivide || e.op() == Op::Modulo) && e.operand(0).op() == Op::Variable &&
         e.operand(0).name() == "kv_idx" && e.operand(1).is_number() && e.operand(1).number() > 0;
}

}  // namespace

bool DividedKeys::fit(int tile_kv) const {
  return std::ranges::all_of(numbers, [&](int number) {
    return number % kGroup == 0 && (number % tile_kv == 0 || tile_kv % number == 0);
  });
}

Expr in_tiles_that_fit(const Expr& e, const attention::PairForm& form) {
  if (!form.divides_keys || !e || e.operands().empty()) return e;
  if (is_divided_key(e)) {
    const bool of_block = e.op() == Op::FloorDivide;
    return expr::variable(of_block ? "seq_kv" : attention::kColumn, expr::Type::Int);
  }
  return expr::map_operands(e, [&](const Expr& x) { return in_tiles_that_fit(x, form); });
}

DividedKeys divided_keys(const attention::PairForm& form, expr::Accuracy accuracy) {
  DividedKeys keys;
  if (!form.divides_keys) return keys;
  for (const Expr& e : {form.score, form.weight}) {
    if (!e) continue;
    expr::find_node(e, [&](const Expr& node) {
      if (is_divided_key(node)) keys.numbers.push_back(static_cast<int>(node.operand(1).number()));
      return false;
    });
    const auto apart = attention::operations_of_pair(e, accuracy);
    const auto fitting = attention::operations_of_pair(in_tiles_that_fit(e, form), accuracy);
    keys.beyond += {apart.special - fitting.special, apart.multiply - fitting.multiply,
                    apart.logic - fitting.logic, apart.load - fitting.load};
  }
  return keys;
}

}  // namespace attngen::schedule
