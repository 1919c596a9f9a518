#include "emit/prepass.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "attention/pair_form.h"
#include "emit/comment.h"
#include "emit/device_text.h"
#include "emit/mask_functions.h"
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

bool of_keys(const IdTable& table) { return table.of == attention::TableOf::Keys; }

// Where the entries of a row's batch and head begin, as templates/hopper/parts/entries.cuh has it.
std::string first_entry_text(const IdTable& table, const char* size) {
  const Heads heads = heads_text(table);
  std::string plane = "int64_t{row.b}";
  if (heads.index[0] != 0) plane += fmt::format(" * {} + {}", heads.count, heads.index);
  return fmt::format("  const int blocks = ({0} + {1} - 1) / {1};\n",
                     of_keys(table) ? "row.seq_kv" : "row.seq_q", size) +
         fmt::format("  const int64_t first = ({}) * blocks;\n", plane);
}

// The same of a packed sequence: packed_entries.cuh.
std::string packed_first_entry_text(const IdTable& table, const char* size,
                                    const DeviceNames& names) {
  const Heads heads = heads_text(table);
  std::string first =
      fmt::format("int64_t{{row.{}}} / {} + row.b", of_keys(table) ? "kv_begin" : "q_begin", size);
  std::string text;
  if (heads.index[0] != 0) {
    text = fmt::format("  const int64_t of_head = int64_t{{{}}} / {} + {};\n",
                       names.of_call(of_keys(table) ? "total_kv" : "total_q"), size,
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
    shapes.push_back(fmt::format("{{{}, {}}}", of_keys(table), heads_text(table).count));
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
    std::string value = expr::print_c(tables[i].value, expr::Dialect::Device, exact(names.names()));
    if (of_floats(tables[i])) value = fmt::format("ordered({})", value);
    const bool last = i + 1 == tables.size();
    body += wrapped(last ? fmt::format("  return {};", value)
                         : fmt::format("  if (table == {}) return {};", i, value));
  }
  return text_of({"int", "tabulated", {"int table", kRow, "int kv_idx", kInputs}, body});
}

std::string entry_text(const IdTable& table, size_t i, bool packed, const DeviceNames& names) {
  const char* const index = of_keys(table) ? "kv_first" : "q_first";
  const char* const size = of_keys(table) ? "kTileKv" : "kTileQueries";
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

std::string bytes_text(const attention::PairInput& input, const DeviceNames& names) {
  const size_t last = input.load.operands().size() - 1;
  const expr::Expr first = expr::with_operand(input.load, last, expr::integer(0));
  return "// Where a row's bytes begin, and all; how many matrices [seq_q, seq_kv] there are.\n" +
         text_of({"const uint8_t*",
                  "first_byte",
                  {kRow, kInputs},
                  fmt::format("  return &{};\n", names.element(first))}) +
         fmt::format(
             "__device__ const uint8_t* all_bytes(const Inputs& in) {{ return in.{}; }}\n"
             "__device__ int64_t byte_matrices({}) {{ return {}; }}\n\n",
             input.input.name,
             spec::has_dim(input.input, spec::Input::Dim::Kind::Batch) ? "int64_t batch"
                                                                       : "int64_t",
             DeviceNames::matrices(input.input));
}

std::string pairs_text(const spec::Spec& spec, const IdTable& table, const DeviceNames& names) {
  expr::Expr mask = table.value;
  std::vector<std::string> parameters{kRow, "int kv_idx", kInputs};
  std::string bytes;
  if (const auto input = bytes_of_mask(spec)) {
    mask = attention::replace_loads(mask, [&](const expr::Expr& load) {
      return expr::same(load, input->load) ? expr::variable(attention::kByte, load.type()) : load;
    });
    parameters.insert(parameters.begin() + 1, "int byte");
    bytes = bytes_text(*input, names);
  }
  const std::string heading =
      spec.lists_as_mask ? "// Of the lists a kernel before this one makes bits of all pairs.\n"
                         : "// No bounds tell of this mask: a kernel before this one asks it of "
                           "all pairs.\n";
  return heading +
         fmt::format(
             "constexpr bool kPairsOfBatch = {};  // whether it differs by batch\n"
             "constexpr int kPairHeads = {};  // heads told apart\n\n",
             expr::mentions(table.value, "b"), heads_text(table).count) +
         (spec.lists_as_mask ? token_mask_text(spec, names)
                             : text_of({"bool", "mask_holds", std::move(parameters),
                                        returned(mask, names.names())})) +
         "\n" + bytes + std::string(part_text("hopper/parts/pair_entry.cuh")) +
         text_of({"PairEntry",
                  "entry_of_0",
                  {"int q_first", "int kv_first", kRow, kInputs},
                  fmt::format("  return unpacked_pairs(__ldg(&in.{}[0][pair_entry(q_first, "
                              "kv_first, row)]));\n",
                              kTables)}) +
         "\n";
}

}  // namespace

std::optional<attention::PairInput> bytes_of_mask(const spec::Spec& spec) {
  const auto input = attention::pair_input_of_mask(spec);
  return input && input->has_bytes() ? input : std::nullopt;
}

std::string tables_text(const spec::Spec& spec, const attention::BlockTest& test,
                        const DeviceNames& names) {
  const std::vector<IdTable>& tables = test.tables;
  if (tables.empty()) return "";
  if (attention::asks_pairs(test)) return pairs_text(spec, tables.front(), names);
  std::string text =
      "// In no order: a kernel before this one tabulates what a block holds of these.\n";
  for (size_t i = 0; i < tables.size(); ++i) {
    text += comment(fmt::format("  {}", i),
                    fmt::format("{}, {}", expr::print_brief(tables[i].value),
                                of_keys(tables[i]) ? "over the keys of each block"
                                                   : "over the queries of each tile"));
  }
  text += part_text("hopper/parts/ids.cuh");
  if (!std::ranges::all_of(tables, of_floats)) text += part_text("hopper/parts/id_entry.cuh");
  if (std::ranges::any_of(tables, of_floats)) text += part_text("hopper/parts/float_entry.cuh");
  text += shapes_text(tables) + "\n" + tabulated_text(tables, names) + "\n";
  for (size_t i = 0; i < tables.size(); ++i) {
    // What was asked of a table may have fallen out of both conditions.
    if (attention::reads_table(test.kept, i) || attention::reads_table(test.full, i)) {
      text += entry_text(tables[i], i, spec.varlen, names) + "\n";
    }
  }
  return text;
}

std::string entries_text(const expr::Expr& condition, const std::vector<IdTable>& tables) {
  std::string text;
  for (size_t i = 0; i < tables.size(); ++i) {
    if (!attention::reads_table(condition, i)) continue;
    if (tables[i].of == attention::TableOf::Pairs) {
      text += "  const PairEntry entry_0 = entry_of_0(q_first, kv_first, row, in);\n";
      continue;
    }
    text += fmt::format("  const {0} entry_{1} = entry_of_{1}({2}, row, in);\n",
                        of_floats(tables[i]) ? "Floats" : "Ids", i,
                        of_keys(tables[i]) ? "kv_first" : "q_first");
  }
  return text;
}

std::optional<std::string> table_entry(std::string_view load) {
  const std::string_view table = load.substr(0, load.find('.'));
  if (load.ends_with(attention::kLeast)) return fmt::format("entry_{}.least", table);
  if (load.ends_with(attention::kGreatest)) return fmt::format("entry_{}.greatest", table);
  if (load.ends_with(attention::kAny)) return fmt::format("entry_{}.any", table);
  if (load.ends_with(attention::kAll)) return fmt::format("entry_{}.all", table);
  const size_t meets = load.find(attention::kMeets);
  if (meets == std::string_view::npos) return std::nullopt;
  return fmt::format("((entry_{}.bits & entry_{}.bits) != 0)", table,
                     load.substr(meets + attention::kMeets.size()));
}

}  // namespace attngen::emit
