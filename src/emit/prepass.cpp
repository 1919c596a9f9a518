#include "emit/prepass.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "emit/comment.h"
#include "emit/device_text.h"
#include "emit/template_files.h"
#include "expr/print.h"

namespace attngen::emit {

using attention::IdTable;

namespace {

// A table has entries of its own for each batch, and for each head where its ids differ by head.
struct Heads {
  const char* count;
  const char* index;
};
Heads heads_text(const IdTable& table) {
  switch (attention::heads_of(table)) {
    case attention::TableHeads::Q:
      return {"kHeadsQ", "row.h"};
    case attention::TableHeads::Kv:
      return {"kHeadsKv", "row.h_kv"};
    case attention::TableHeads::One:
      break;
  }
  return {"1", ""};
}

// Where the entries of a row's batch and head begin, as templates/hopper/parts/entries.cuh has it.
std::string first_entry_text(const IdTable& table, const char* size) {
  const Heads heads = heads_text(table);
  std::string plane = "int64_t{row.b}";
  if (heads.index[0] != 0) plane += fmt::format(" * {} + {}", heads.count, heads.index);
  return fmt::format("  const int blocks = ({0} + {1} - 1) / {1};\n",
                     table.of_keys ? "row.seq_kv" : "row.seq_q", size) +
         fmt::format("  const int64_t first = ({}) * blocks;\n", plane);
}

// The same of a packed sequence: packed_entries.cuh.
std::string packed_first_entry_text(const IdTable& table, const char* size,
                                    const DeviceNames& names) {
  const Heads heads = heads_text(table);
  std::string first =
      fmt::format("int64_t{{row.{}}} / {} + row.b", table.of_keys ? "kv_begin" : "q_begin", size);
  std::string text;
  if (heads.index[0] != 0) {
    text = fmt::format("  const int64_t of_head = int64_t{{{}}} / {} + {};\n",
                       names.of_call(table.of_keys ? "total_kv" : "total_q"), size,
                       names.of_call("batch"));
    first = fmt::format("{} * of_head + {}", heads.index, first);
  }
  return text + wrapped(fmt::format("  const int64_t first = {};", first));
}

bool of_floats(const IdTable& table) { return table.value.type() == expr::Type::Float; }

std::string shapes_text(const std::vector<IdTable>& tables) {
  std::vector<std::string> shapes;
  shapes.reserve(tables.size());
  for (const IdTable& table : tables) {
    shapes.push_back(fmt::format("{{{}, {}}}", table.of_keys, heads_text(table).count));
  }
  return "struct TableShape {\n  bool of_keys;  // else of queries\n"
         "  int heads;     // told apart\n};\n"
         "__host__ __device__ constexpr TableShape table_shape(int table) {\n" +
         wrapped(
             fmt::format("  constexpr TableShape shapes[] = {{{}}};", fmt::join(shapes, ", "))) +
         "  return shapes[table];\n}\n";
}

std::string tabulated_text(const std::vector<IdTable>& tables, const DeviceNames& names) {
  std::string body;
  for (size_t i = 0; i < tables.size(); ++i) {
    std::string value = expr::print_c(tables[i].value, expr::Dialect::Device, names.names());
    if (of_floats(tables[i])) value = fmt::format("ordered({})", value);
    const bool last = i + 1 == tables.size();
    body += wrapped(last ? fmt::format("  return {};", value)
                         : fmt::format("  if (table == {}) return {};", i, value));
  }
  return text_of({"int", "tabulated", {"int table", kRow, "int kv_idx", kInputs}, body});
}

std::string entry_text(const IdTable& table, size_t i, bool packed, const DeviceNames& names) {
  const char* const index = table.of_keys ? "kv_first" : "q_first";
  const char* const size = table.of_keys ? "kTileKv" : "kTileQueries";
  const bool floats = of_floats(table);
  const std::string body =
      (packed ? packed_first_entry_text(table, size, names) : first_entry_text(table, size)) +
      fmt::format("  return unpacked_{}(__ldg(&in.{}[{}][first + {} / {}]));\n",
                  floats ? "floats" : "ids", kTables, i, index, size);
  return text_of({floats ? "Floats" : "Ids",
                  fmt::format("entry_of_{}", i),
                  {fmt::format("int {}", index), kRow, kInputs},
                  body});
}

}  // namespace

std::string tables_text(const attention::BlockTest& test, bool packed, const DeviceNames& names) {
  const std::vector<IdTable>& tables = test.tables;
  if (tables.empty()) return "";
  std::string text =
      "// In no order: a kernel before this one tabulates what a block holds of these.\n";
  for (size_t i = 0; i < tables.size(); ++i) {
    text += comment(fmt::format("  {}", i),
                    fmt::format("{}, {}", expr::print_brief(tables[i].value),
                                tables[i].of_keys ? "over the keys of each block"
                                                  : "over the queries of each tile"));
  }
  text += part_text("hopper/parts/ids.cuh");
  if (!std::ranges::all_of(tables, of_floats)) text += part_text("hopper/parts/id_entry.cuh");
  if (std::ranges::any_of(tables, of_floats)) text += part_text("hopper/parts/float_entry.cuh");
  text += shapes_text(tables) + "\n" + tabulated_text(tables, names) + "\n";
  for (size_t i = 0; i < tables.size(); ++i) {
    // What was asked of a table may have fallen out of both conditions.
    if (attention::reads_table(test.kept, i) || attention::reads_table(test.full, i)) {
      text += entry_text(tables[i], i, packed, names) + "\n";
    }
  }
  return text;
}

std::string entries_text(const expr::Expr& condition, const std::vector<IdTable>& tables) {
  std::string text;
  for (size_t i = 0; i < tables.size(); ++i) {
    if (!attention::reads_table(condition, i)) continue;
    text += fmt::format("  const {0} entry_{1} = entry_of_{1}({2}, row, in);\n",
                        of_floats(tables[i]) ? "Floats" : "Ids", i,
                        tables[i].of_keys ? "kv_first" : "q_first");
  }
  return text;
}

std::optional<std::string> table_entry(std::string_view load) {
  const std::string_view table = load.substr(0, load.find('.'));
  if (load.ends_with(attention::kLeast)) return fmt::format("entry_{}.least", table);
  if (load.ends_with(attention::kGreatest)) return fmt::format("entry_{}.greatest", table);
  const size_t meets = load.find(attention::kMeets);
  if (meets == std::string_view::npos) return std::nullopt;
  return fmt::format("((entry_{}.bits & entry_{}.bits) != 0)", table,
                     load.substr(meets + attention::kMeets.size()));
}

}  // namespace attngen::emit
