#include "emit/table_functions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "emit/api.h"
#include "emit/device_text.h"
#include "expr/print.h"

namespace attngen::emit {

using attention::RowTable;

std::string text_of_row(const RowTable& table) {
  std::vector<std::string> indices;
  for (const expr::Expr& index : table.first.operands()) {
    indices.push_back(expr::print_brief(index));
  }
  indices.back() = "...";
  return fmt::format("{}[{}]", table.first.name(), fmt::join(indices, ", "));
}

std::string table_functions(const spec::Spec& spec, const attention::PairForm& pairs,
                            const DeviceNames& names) {
  if (pairs.row_tables.empty()) return "";
  const std::vector<int> places = attention::places_of(pairs.row_tables);
  std::string rows = "  TableRows tables;\n", copies, found;
  for (size_t i = 0; i < pairs.row_tables.size(); ++i) {
    const RowTable& table = pairs.row_tables[i];
    const spec::Input& input = *spec.find_input(table.first.name());
    const std::string kept = i == 0 ? "kept" : fmt::format("kept + {}", places[i]);
    rows += wrapped(fmt::format("  tables.begin[{}] = {};", i, names.begin_of_row(table.first))) +
            wrapped(fmt::format("  tables.end[{}] = {};", i, names.end_of(input)));
    copies += fmt::format(
        "  copy_table_rows<{0}>(rows[0].begin[{1}], rows[1].begin[{1}], rows[0].end[{1}], {2});\n",
        table.bytes, i, kept);
    const std::string place = attention::begins_with_chunks(table)
                                  ? ""
                                  : fmt::format(" + place_in_chunk(tables.begin[{}])", i);
    found += wrapped(fmt::format("  row.{} = reinterpret_cast<{}>({}{});", table.name,
                                 c_type_of(input), kept, place));
  }
  return "// The rows of tables that the pairs of a query read, and where the tables end.\n" +
         fmt::format("struct TableRows {{\n  const void *begin[{0}], *end[{0}];\n}};\n\n",
                     pairs.row_tables.size()) +
         text_of({"TableRows", "table_rows", {kRow, kInputs}, rows + "  return tables;\n"}) +
         "\n// Those of a warp's 16 rows to where they are kept; a thread has two of the rows.\n" +
         text_of({"void", "copy_tables", {"const TableRows (&rows)[2]", "uint8_t* kept"}, copies}) +
         "\n" +
         text_of({"void",
                  "find_tables",
                  {"Row& row", "const TableRows& tables", "const uint8_t* kept"},
                  found});
}

}  // namespace attngen::emit
