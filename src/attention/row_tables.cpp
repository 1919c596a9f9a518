#include "attention/row_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "attention/index_range.h"
#include "attention/pair_form.h"
#include "attention/row_index.h"

namespace attngen::attention {
namespace {

using expr::Expr;
using expr::Op;
using spec::Input;

// Of a query's rows in all tables: 512 elements of two bytes as they are kept, an odd number of
// chunks.
constexpr int kMostBytes = 1040;
constexpr int kChunk = 16;  // bytes of a copy, and what four lanes read of a row

int row_bytes(const Input& input) {
  const int64_t bytes = int64_t{input.shape.back().number} * spec::bytes_of(input.element);
  return static_cast<int>(std::min<int64_t>(bytes, kMostBytes + 1));
}

// Of the strips' own variables.
expr::Interval range_in(const Strips& strips, std::string_view variable) {
  const bool of_key = variable == kOfKey && !strips.of_key().empty();
  const Expr strip = of_key                    ? strips.of_key().front()
                     : variable == kOfDistance ? strips.of_distance()
                                               : Expr{};
  return strip ? range_of_index(strip, {}) : expr::Interval{};
}

Expr first_of_row(const Expr& load) {
  std::vector<Expr> indices(load.operands().begin(), load.operands().end());
  indices.back() = expr::integer(0);
  return expr::load(load.name(), load.type(), std::move(indices));
}

}  // namespace

bool begins_with_chunks(const RowTable& table) { return table.bytes % kChunk == 0; }

std::vector<int> places_of(std::span<const RowTable> tables) {
  std::vector<int> places{0};
  for (const RowTable& table : tables) {
    // A row may begin within a chunk.
    const int chunks = (table.bytes + kChunk - 1) / kChunk + (begins_with_chunks(table) ? 0 : 1);
    places.push_back(places.back() + chunks * kChunk);
  }
  if (places.back() / kChunk % 2 == 0 && !tables.empty()) places.back() += kChunk;
  return places;
}

bool is_of_row_table(const spec::Spec& spec, const Expr& load) {
  const Input* input = load.op() == Op::Load ? spec.find_input(load.name()) : nullptr;
  if (input == nullptr || input->shape.size() < 2) return false;
  if (input->shape.back().kind != Input::Dim::Kind::Number) return false;
  if (row_bytes(*input) > kMostBytes) return false;
  const auto indices = load.operands();
  const auto of_row = indices.first(indices.size() - 1);
  return varies_in_row(indices.back()) &&
         std::ranges::all_of(of_row, [&](const Expr& index) { return is_of_row(spec, index); }) &&
         std::ranges::any_of(of_row, [](const Expr& index) {
           return expr::mentions(index, "q_idx") || expr::mentions(index, "q_pos");
         });
}

bool is_read_by_whole_rows(const spec::Spec& spec, const Input& input) {
  if (input.shape.empty() || row_bytes(input) % kChunk != 0) return false;
  const auto reads = [&](const Expr& e) {
    return e && expr::find_node(e, [&](const Expr& node) {
                  return node.op() == Op::Load && node.name() == input.name &&
                         is_of_row_table(spec, node);
                }) != nullptr;
  };
  return reads(spec.score) || reads(spec.mask) || reads(spec.normalize.weight) ||
         std::ranges::any_of(spec.normalize.rows,
                             [&](const spec::NamedExpr& row) { return reads(row.value); });
}

bool names_element_of_table(std::string_view load) { return load.find(".t") != load.npos; }

Expr RowTables::operator()(const Expr& load) {
  if (!is_of_row_table(spec_, load)) return load;
  const RowTable* const table = table_of(load);
  if (table == nullptr) return load;
  const int length = spec_.find_input(load.name())->shape.back().number;
  return expr::load(load.name() + "." + table->name, load.type(),
                    {in_range(load.operands().back(), length, [this](std::string_view variable) {
                      return range_in(strips_, variable);
                    })});
}

const RowTable* RowTables::table_of(const Expr& load) {
  const Expr first = first_of_row(load);
  const auto known = std::ranges::find_if(
      tables_, [&](const RowTable& table) { return expr::same(table.first, first); });
  if (known != tables_.end()) return &*known;
  const int bytes = row_bytes(*spec_.find_input(load.name()));
  if (places_of(tables_).back() + bytes > kMostBytes) return nullptr;
  tables_.push_back({fmt::format("t{}", tables_.size()), first, bytes});
  return &tables_.back();
}

}  // namespace attngen::attention
