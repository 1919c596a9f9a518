#include "schedule/divided_keys.h"

#include <algorithm>
#include <functional>
#include <map>

namespace attngen::schedule {
namespace {

using expr::Expr;
using expr::Op;

// Columns of which each lane has two: the compiler knows in which eight of them.
constexpr int kGroup = 8;

class Replaced {
 public:
  Expr operator()(const Expr& e) {
    if (e.operands().empty()) return e;
    if (const auto known = done_.find(e.identity()); known != done_.end()) return known->second;
    return done_.emplace(e.identity(), made(e)).first->second;
  }

 private:
  Expr made(const Expr& e) {
    if (!attention::is_divided_key(e)) return expr::map_operands(e, std::ref(*this));
    const bool of_block = e.op() == Op::FloorDivide;
    return expr::variable(of_block ? "seq_kv" : attention::kColumn, expr::Type::Int);
  }

  std::map<const void*, Expr> done_;
};

}  // namespace

bool DividedKeys::fit(int tile_kv) const {
  return std::ranges::all_of(numbers, [&](int number) {
    return number % kGroup == 0 && (number % tile_kv == 0 || tile_kv % number == 0);
  });
}

Expr in_tiles_that_fit(const Expr& e, const attention::PairForm& form) {
  return form.divides_keys && e ? Replaced{}(e) : e;
}

DividedKeys divided_keys(const attention::PairForm& form, expr::Accuracy accuracy) {
  DividedKeys keys;
  if (!form.divides_keys) return keys;
  for (const Expr& e : {form.score, form.weight}) {
    if (!e) continue;
    expr::find_node(e, [&](const Expr& node) {
      if (attention::is_divided_key(node))
        keys.numbers.push_back(static_cast<int>(node.operand(1).number()));
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
