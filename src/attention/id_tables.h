// Ids in no order: tables of their least and greatest, made before the kernel runs, stand in for
// what an ascending input tells by its first and last element.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/expr.h"

namespace attngen::attention {

// The least and the greatest value of an Int load over the queries of each tile, or over the keys
// of each block.
struct IdTable {
  expr::Expr value;      // doc[b, kv_idx]: of a query or of a key, never of both
  bool of_keys = false;  // else of queries
};

// A block test reads table 2 as 2.least[kv_first] and 2.greatest[kv_first] (q_first, where it is of
// queries).
inline constexpr std::string_view kLeast = ".least", kGreatest = ".greatest";

// The least and the greatest of `load` as reads of its table, which is added to `tables` unless it
// is there. Nothing for a Float, and for an element of the pair of a query and a key.
std::optional<std::pair<expr::Expr, expr::Expr>> table_ends(const expr::Expr& load,
                                                            std::vector<IdTable>& tables);

// Whether `e` reads a table.
bool reads_table(const expr::Expr& e);

}  // namespace attngen::attention
