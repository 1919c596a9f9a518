// Ids and floats in no order: tables of what a block holds of them, made before the kernel runs,
// stand in for what an ascending input tells by its first and last element. Where not even these
// tell, of `keep[q_idx, kv_idx]`, a table has what the whole mask says of the pairs of a block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "expr/expr.h"

namespace attngen::attention {

enum class TableOf : uint8_t { Queries, Keys, Pairs };

// Of each tile's queries, or of each block's keys: the least and the greatest value, both NaN if
// one is; of ids, Ints, also the set of them, folded to a few bits. Of the pairs of a tile and a
// block, conditions: whether one meets it, whether all do.
struct IdTable {
  expr::Expr value;  // doc[b, kv_idx], -2 * fade[b, q_pos]: of a query or of a key; or a mask
  TableOf of = TableOf::Queries;
};

// Whose ids it holds: they may differ by query head, by key head, or not at all.
enum class TableHeads : uint8_t { One, Kv, Q };
TableHeads heads_of(const IdTable& table);

// A block test reads table 2 as 2.least[kv_first] and 2.greatest[kv_first] (q_first, where it is of
// queries), and of tables 0 and 2 whether they may have an id in common as 0.meets.2[q_first,
// kv_first]. Of pairs it reads 0.any[q_first, kv_first] and 0.all[q_first, kv_first].
inline constexpr std::string_view kLeast = ".least", kGreatest = ".greatest", kMeets = ".meets.";
inline constexpr std::string_view kAny = ".any", kAll = ".all";

// The table of `value`, which is added unless it is there. Nothing for what depends on both a query
// and a key, or on neither.
std::optional<size_t> find_table(const expr::Expr& value, std::vector<IdTable>& tables);

expr::Expr least_of(size_t table, const std::vector<IdTable>& tables);
expr::Expr greatest_of(size_t table, const std::vector<IdTable>& tables);
expr::Expr may_meet(size_t one, size_t other, const std::vector<IdTable>& tables);

// Of the only table, which is of pairs.
expr::Expr any_pair();
expr::Expr all_pairs();

// Whether `e` reads a table; whether it reads this one.
bool reads_table(const expr::Expr& e);
bool reads_table(const expr::Expr& e, size_t table);

}  // namespace attngen::attention
