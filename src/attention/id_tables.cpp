#include "attention/id_tables.h"

#include <algorithm>
#include <string>

namespace attngen::attention {

using expr::Expr;

std::optional<std::pair<Expr, Expr>> table_ends(const Expr& load, std::vector<IdTable>& tables) {
  const bool of_queries = expr::mentions(load, "q_idx") || expr::mentions(load, "q_pos");
  const bool of_keys = expr::mentions(load, "kv_idx");
  if (load.type() != expr::Type::Int || of_queries == of_keys) return std::nullopt;
  auto table = std::ranges::find_if(
      tables, [&](const IdTable& known) { return expr::same(known.value, load); });
  if (table == tables.end()) table = tables.insert(tables.end(), {load, of_keys});
  const std::string number = std::to_string(table - tables.begin());
  const Expr first = expr::variable(of_keys ? "kv_first" : "q_first", expr::Type::Int);
  const auto read = [&](std::string_view end) {
    return expr::load(number + std::string(end), expr::Type::Int, {first});
  };
  return std::pair{read(kLeast), read(kGreatest)};
}

bool reads_table(const Expr& e) {
  return std::ranges::any_of(expr::inputs_of(e), [](const std::string& name) {
    return name.ends_with(kLeast) || name.ends_with(kGreatest);
  });
}

}  // namespace attngen::attention
