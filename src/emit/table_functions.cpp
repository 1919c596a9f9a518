#include "emit/table_functions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "emit/api.h"
#include "emit/device_text.h"
#include "expr/print.h"

namespace attngen::emit {
namespace {

using attention::RowTable;

std::string place_text(const std::string& base, int place) {
  return place == 0 ? base : fmt::format("{} + {}", base, place);
}

}  // namespace

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
  std::vector<std::string> begins;
  std::string copies, found;
  for (size_t i = 0; i < pairs.row_tables.size(); ++i) {
    const RowTable& table = pairs.row_tables[i];
    begins.push_back(names.begin_of_row(table.first));
    copies += wrapped(fmt::format(
        "  copy_table_rows<{}>(rows[0].begin[{}], rows[1].begin[{}], {}, {});", table.bytes, i, i,
        names.end_of(*spec.find_input(table.first.name())), place_text("kept", places[i])));
    found += wrapped(
        fmt::format("  row.{} = reinterpret_cast<{}>({} + place_in_chunk<{}>(tables.begin[{}]));",
                    table.name, c_type_of(*spec.find_input(table.first.name())),
                    place_text("kept", places[i]), table.bytes, i));
  }
  return "// The rows of tables that the pairs of a query read.\n" +
         fmt::format("struct TableRows {{\n  const void* begin[{}];\n}};\n\n", begins.size()) +
         text_of({"TableRows",
                  "table_rows",
                  {kRow, kInputs},
                  wrapped(fmt::format("  return {{{{{}}}}};", fmt::join(begins, ", ")))}) +
         "\n// Those of a warp's 16 rows to where they are kept; a thread has two of the rows.\n" +
         text_of({"void",
                  "copy_tables",
                  {"const TableRows (&rows)[2]", kRow, "uint8_t* kept", kInputs},
                  copies}) +
         "\n" +
         text_of({"void",
                  "find_tables",
                  {"Row& row", "const TableRows& tables", "const uint8_t* kept"},
                  found});
}

}  // namespace attngen::emit
