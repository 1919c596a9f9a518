// Inputs of which each query has a short row of its own, and its keys pick the elements:
// rel[b, h, q_idx, kv_idx % 64]. A kernel may keep those of a tile's queries in shared memory: of
// rows that lie apart a warp's threads touch a line of the L1 each.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention/strips.h"
#include "expr/expr.h"
#include "spec/spec.h"

namespace attngen::attention {

// The rows that loads read which differ in their last index alone. Expressions read an element as a
// load of its own, `rel.t0[column]`, whose index is in range.
struct RowTable {
  std::string name;  // "t0"
  expr::Expr first;  // the load of a row's element 0
  int bytes = 0;     // of a row
};

// Whether all rows begin at 16 bytes, as the first one does; others begin anywhere.
bool begins_with_chunks(const RowTable& table);

// Where each table's row begins in what a query keeps of all of them, and behind them the whole: an
// odd number of 16 bytes, so that eight queries' rows lie in different banks.
std::vector<int> places_of(std::span<const RowTable> tables);

// Whether a load's row is known when a tile begins, of a fixed length, and another one for each
// query.
bool is_of_row_table(const spec::Spec& spec, const expr::Expr& load);
// Whether an expression of the spec reads the input so and its rows are multiples of 16 bytes, so
// that it begins at 16 bytes. Others' rows begin anywhere.
bool is_read_by_whole_rows(const spec::Spec& spec, const spec::Input& input);

// Whether a load's name is one that RowTables made.
bool names_element_of_table(std::string_view load);

// Puts elements of tables in the place of loads, as far as there is room.
class RowTables {
 public:
  // Of indices in which `strips` has put its variables.
  RowTables(const spec::Spec& spec, const Strips& strips, std::vector<RowTable>& tables)
      : spec_(spec), strips_(strips), tables_(tables) {}
  expr::Expr operator()(const expr::Expr& load);

 private:
  const RowTable* table_of(const expr::Expr& load);

  const spec::Spec& spec_;
  const Strips& strips_;
  std::vector<RowTable>& tables_;
};

}  // namespace attngen::attention
