#include "attention/given.h"

#include "attention/pair_input.h"

namespace attngen::attention {
namespace {

// Ids that are searched, or in a table, have other names.
expr::Expr given(const expr::Expr& e, const spec::Values& values) {
  if (!e || values.empty()) return e;
  return replace_loads(e, [&](const expr::Expr& load) {
    const auto value = values.find(load.name());
    return value == values.end() ? load : expr::constant(load.type(), value->second);
  });
}

}  // namespace

KeyRange given(const KeyRange& range, const spec::Values& values) {
  return {given(range.begin, values), given(range.end, values), given(range.full_begin, values),
          given(range.full_end, values), range.always_full};
}

BlockTest given(const BlockTest& test, const spec::Values& values) {
  return {given(test.kept, values), given(test.full, values), test.tables,
          given(test.proven_kept, values), given(test.proven_full, values)};
}

}  // namespace attngen::attention
