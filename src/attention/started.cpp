#include "attention/started.h"

#include <algorithm>

namespace attngen::attention {
namespace {

using Names = std::set<std::string, std::less<>>;

bool reads_any(const expr::Expr& e, const Names& names) {
  return std::ranges::any_of(names,
                             [&](const std::string& name) { return expr::mentions(e, name); });
}

}  // namespace

Names rows_of_maxima(const RowForm& form) {
  Names decided, rows;
  for (const Reduction& reduction : form.reductions) {
    if (reduction.kind == Reduction::Kind::Max) decided.insert(reduction.name);
  }
  for (const RowValue& row : form.rows) {
    if (!reads_any(row.value, decided)) continue;
    decided.insert(row.name);
    if (row.in_loop) rows.insert(row.name);
  }
  return rows;
}

bool weights_wait(const RowForm& form) {
  const Names rows = rows_of_maxima(form);
  return reads_any(form.weight, rows) ||
         std::ranges::any_of(form.reductions, [&](const Reduction& reduction) {
           return reduction.deferred && reads_any(reduction.element, rows);
         });
}

}  // namespace attngen::attention
