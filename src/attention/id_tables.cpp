#include "attention/id_tables.h"

#include <algorithm>
#include <string>
#include <utility>

namespace attngen::attention {

using expr::Expr;

namespace {

Expr place_of(const IdTable& table) {
  return expr::variable(table.of == TableOf::Keys ? "kv_first" : "q_first", expr::Type::Int);
}

Expr read(size_t table, std::string_view end, const std::vector<IdTable>& tables) {
  return expr::load(std::to_string(table) + std::string(end), tables[table].value.type(),
                    {place_of(tables[table])});
}

Expr read_pairs(std::string_view end) {
  return expr::load(
      "0" + std::string(end), expr::Type::Bool,
      {expr::variable("q_first", expr::Type::Int), expr::variable("kv_first", expr::Type::Int)});
}

// No input's name begins with a digit.
bool is_table(const std::string& load) { return load[0] >= '0' && load[0] <= '9'; }

}  // namespace

TableHeads heads_of(const IdTable& table) {
  if (expr::mentions(table.value, "h")) return TableHeads::Q;
  return expr::mentions(table.value, "h_kv") ? TableHeads::Kv : TableHeads::One;
}

std::optional<size_t> find_table(const Expr& value, std::vector<IdTable>& tables) {
  const bool of_queries = expr::mentions(value, "q_idx") || expr::mentions(value, "q_pos");
  const bool of_keys = expr::mentions(value, "kv_idx");
  if (of_queries == of_keys) return std::nullopt;
  auto table = std::ranges::find_if(
      tables, [&](const IdTable& known) { return expr::same(known.value, value); });
  if (table == tables.end()) {
    table = tables.insert(tables.end(), {value, of_keys ? TableOf::Keys : TableOf::Queries});
  }
  return static_cast<size_t>(table - tables.begin());
}

Expr least_of(size_t table, const std::vector<IdTable>& tables) {
  return read(table, kLeast, tables);
}
Expr greatest_of(size_t table, const std::vector<IdTable>& tables) {
  return read(table, kGreatest, tables);
}
Expr may_meet(size_t one, size_t other, const std::vector<IdTable>& tables) {
  const auto [a, b] = std::minmax(one, other);
  return expr::load(std::to_string(a) + std::string(kMeets) + std::to_string(b), expr::Type::Bool,
                    {place_of(tables[a]), place_of(tables[b])});
}

Expr any_pair() { return read_pairs(kAny); }
Expr all_pairs() { return read_pairs(kAll); }

bool reads_table(const Expr& e) { return std::ranges::any_of(expr::inputs_of(e), is_table); }

bool reads_table(const Expr& e, size_t table) {
  const std::string first = std::to_string(table) + ".", second = "." + std::to_string(table);
  return std::ranges::any_of(expr::inputs_of(e), [&](const std::string& load) {
    return is_table(load) && (load.starts_with(first) || load.ends_with(second));
  });
}

}  // namespace attngen::attention
