#include "attention/given.h"

#include <algorithm>
#include <string_view>

#include "attention/pair_input.h"

namespace attngen::attention {
namespace {

using expr::Expr;
using expr::Op;
using Of = spec::GivenValue::Of;

// Of ids in order, at a place or searched for one: with 1024 keys each, doc[b, i] is i // 1024, and
// 1024 id keys have one below `id`.
Expr of_sorted(const Expr& load, std::string_view search, double keys) {
  const Expr count = expr::constant(expr::Type::Int, keys);
  const Expr& last = load.operands().back();
  if (search.empty()) return expr::make(Op::FloorDivide, {last, count});
  const Expr id = search == kUpTo ? expr::make(Op::Add, {last, expr::integer(1)}) : last;
  return expr::make(Op::Multiply, {id, count});
}

// Ids in a table have other names.
Expr given(const Expr& e, const spec::Values& values) {
  if (!e || values.empty()) return e;
  return replace_loads(e, [&](const Expr& load) {
    const std::string_view name = load.name();
    const size_t dot = std::min(name.find('.'), name.size());
    const auto value = values.find(name.substr(0, dot));
    if (value == values.end() || value->second.of == Of::Ids) return load;
    if (value->second.of == Of::SortedIds) {
      return of_sorted(load, name.substr(dot), value->second.number);
    }
    return expr::constant(load.type(), value->second.number);
  });
}

// How long ids of the tables stay the same, if that is given.
double stretch_of(const std::vector<IdTable>& tables, const spec::Values& values) {
  for (const IdTable& table : tables) {
    for (const std::string& name : expr::inputs_of(table.value)) {
      const auto value = values.find(name);
      if (value != values.end() && value->second.of == Of::Ids) return value->second.number;
    }
  }
  return 0;
}

}  // namespace

KeyRange given(const KeyRange& range, const spec::Values& values) {
  return {given(range.begin, values), given(range.end, values), given(range.full_begin, values),
          given(range.full_end, values), range.always_full};
}

BlockTest given(const BlockTest& test, const spec::Values& values) {
  return {.kept = given(test.kept, values),
          .full = given(test.full, values),
          .tables = test.tables,
          .proven_kept = given(test.proven_kept, values),
          .proven_full = given(test.proven_full, values),
          .stretch = stretch_of(test.tables, values)};
}

}  // namespace attngen::attention
