#include "emit/device_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "attention/index_range.h"
#include "attention/pair_form.h"
#include "attention/tiles.h"
#include "emit/api.h"
#include "emit/prepass.h"
#include "text/characters.h"

namespace attngen::emit {
namespace {

using attention::Reduction;
using spec::Input;

std::optional<int> literal(const std::string& text) {
  int value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// A name, a number or a call, which binds tighter than any operator.
bool is_primary(std::string_view text) {
  const size_t name = text.find('(');
  const std::string_view word = text.substr(0, name);
  const bool plain = std::ranges::all_of(word, [](char c) { return text::is_word(c) || c == '.'; });
  if (name == std::string_view::npos) return plain;
  int depth = 0;
  for (size_t i = name; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0) return plain && i + 1 == text.size();
  }
  return false;
}

std::string as_operand(const std::string& text) {
  return is_primary(text) ? text : "(" + text + ")";
}

// What a PairForm took out: "c0" of the row, "l0" of the block; or a parameter.
std::string own_name(std::string_view name) {
  for (const char* strip : {attention::kOfKey, attention::kOfDistance}) {
    if (name == strip + 1) return fmt::format("of_strip(row.of_{}, column)", name);
  }
  for (size_t i = 1; i < attention::kMostOfKey; ++i) {
    if (name != attention::name_of_key(i).substr(1)) continue;
    const std::string strip = i == 1 ? "" : fmt::format("{} * ", i);
    return fmt::format("of_strip(row.of_key + {}kKeyStrip, column)", strip);
  }
  for (const std::string_view word : {attention::kKeyWord + 1, attention::kKeyFloat + 1}) {
    if (!name.starts_with(word)) continue;
    const auto text = fmt::format("of_strip(row.key_words[{}], column)", name.substr(word.size()));
    return word == attention::kKeyWord + 1 ? text : fmt::format("__int_as_float({})", text);
  }
  const bool numbered = name.find_first_of("0123456789") == 1;
  if (!numbered) return std::string(name);
  return fmt::format("{}.{}", name[0] == 'c' ? "row" : "lines", name);
}

// Near 1 the quick logarithm's error is much of its value: log(1 - 2^-12), times a distance of
// thousands in a decay, is off by a thousandth. One that is not for each pair may be exact.
bool is_for_each_pair(const expr::Expr& logarithm) {
  return std::ranges::any_of(expr::variables_of(logarithm), [](const std::string& name) {
    return name == "score" || name == "kv_idx" || name.starts_with(attention::kOwnName);
  });
}

}  // namespace

std::string DeviceNames::member(std::string_view row) {
  const std::string_view word = row.substr(0, row.find_last_not_of('_') + 1);
  const bool taken = word == "output_scale" || word == "empty";
  return std::string(row) + (taken ? "_" : "");
}

std::string DeviceNames::reduction(const Reduction& reduction) const {
  if (!rows_.exponential) return reduction.name;
  return reduction.kind == Reduction::Kind::Max ? "max_score" : "sum_exp";
}

std::string DeviceNames::variable(std::string_view name, const std::string& rows) const {
  for (const char* member : {"b", "h", "h_kv", "q_idx", "q_pos", "seq_q", "seq_kv", "map"}) {
    if (name == member) return fmt::format("row.{}", name);
  }
  if (name == "d") return "column.d";
  if (name.starts_with(attention::kOwnName)) return own_name(name.substr(1));
  if (rows.empty()) return std::string(name);
  for (const attention::RowValue& row : rows_.rows) {
    if (name == row.name) return rows + "." + member(name);
    if (name == attention::old_name(row.name)) return "old." + member(row.name);
  }
  for (const Reduction& r : rows_.reductions) {
    if (name == r.name) return "red." + reduction(r);
  }
  return std::string(name);  // score, kv_idx, acc: parameters
}

expr::Names DeviceNames::names(std::string rows) const {
  expr::Names names;
  names.variable = [this, rows = std::move(rows)](std::string_view name) {
    return variable(name, rows);
  };
  names.load = [this](const expr::Expr& element, std::span<const std::string> indices) {
    return load(element, indices);
  };
  names.inexact = attention::is_of_scores;
  names.quick_log = is_for_each_pair;
  return names;
}

expr::Names exact(expr::Names names) {
  names.exact = true;
  return names;
}

expr::Names DeviceNames::mask_names() const { return exact(names("")); }

expr::Names DeviceNames::names_at_end(std::string rows) const {
  expr::Names result = names(std::move(rows));
  result.load = [this](const expr::Expr& read, std::span<const std::string> indices) {
    const Input* input = spec_.find_input(read.name());
    std::string element = load(read, indices);
    if (input == nullptr || !spec::has_dim(*input, Input::Dim::Kind::SeqKv)) return element;
    return fmt::format("(row.seq_kv > 0 ? {} : 0)", element);
  };
  return result;
}

expr::Names DeviceNames::pair_names() const {
  expr::Names result = names();
  result.eager = vendor_ == expr::Vendor::Nvidia;
  return result;
}

expr::Names DeviceNames::score_names(const attention::PairForm& pairs) const {
  expr::Names result = pair_names();
  if (!pairs.divides_keys) return result;
  result.divided = [](std::string_view variable, expr::Op op, int by) -> std::string {
    if (variable != "kv_idx") return "";
    const bool divides = op == expr::Op::FloorDivide;
    return fmt::format("key_{}<{}>(kv_idx, column)", divides ? "quotient" : "remainder", by);
  };
  return result;
}

std::string DeviceNames::of_call(std::string length) const {
  return "in." + *lengths_.insert(std::move(length)).first;
}

// How many values an index has.
std::string DeviceNames::length(const Input::Dim& dim) const {
  switch (dim.kind) {
    case Input::Dim::Kind::Batch:
      return of_call("batch");
    case Input::Dim::Kind::Heads:
      return "kHeadsQ";
    case Input::Dim::Kind::HeadsKv:
      return "kHeadsKv";
    case Input::Dim::Kind::SeqQ:
      return "row.seq_q";
    case Input::Dim::Kind::SeqKv:
    case Input::Dim::Kind::Seq:
      return "row.seq_kv";
    case Input::Dim::Kind::HeadDim:
      return std::to_string(spec_.head_dim.v);
    case Input::Dim::Kind::Number:
      return std::to_string(dim.number);
  }
  return "";
}

std::string DeviceNames::length_in_memory(const Input::Dim& dim) const {
  return is_packed(dim) ? of_call(name_in_memory(spec_, dim)) : length(dim);
}

// Packed sequences lie one behind the other; an index counts within its own.
std::string DeviceNames::place_in_memory(const std::string& index, const Input::Dim& dim,
                                         const expr::Interval& values) const {
  std::string place = clamped(index, dim, values);
  if (!is_packed(dim)) return place;
  const char* const begin = dim.kind == Input::Dim::Kind::SeqQ ? "row.q_begin" : "row.kv_begin";
  return place == "0" ? begin : fmt::format("{} + {}", begin, place);
}

// The variable that runs over a dimension by itself, so that it needs no clamp.
std::string DeviceNames::plain_index(const Input::Dim& dim) const {
  return variable(spec::index_of(dim.kind), "");
}

std::optional<int> DeviceNames::known_length(const Input::Dim& dim) const {
  switch (dim.kind) {
    case Input::Dim::Kind::Number:
      return dim.number;
    case Input::Dim::Kind::Heads:
      return spec_.heads.q;
    case Input::Dim::Kind::HeadsKv:
      return spec_.heads.kv();
    case Input::Dim::Kind::HeadDim:
      return spec_.head_dim.v;
    default:
      return std::nullopt;
  }
}

// The call's lengths may be 0, where an index that is not negative would become so.
std::string DeviceNames::clamped(const std::string& index, const Input::Dim& dim,
                                 const expr::Interval& values) const {
  if (index == plain_index(dim)) return index;
  const auto known = known_length(dim);
  const auto value = literal(index);
  if (value && *value >= 0 && *value < known.value_or(1)) return index;  // one is there, if read
  const std::string last =
      dim.kind == Input::Dim::Kind::Number ? std::to_string(dim.number - 1) : length(dim) + " - 1";
  const bool from_zero = known && values.low >= 0;
  const bool ends_within = known && values.high <= *known - 1;
  const std::string held = ends_within ? index : fmt::format("min({}, {})", index, last);
  return from_zero ? held : fmt::format("max({}, 0)", held);
}

std::vector<expr::Interval> DeviceNames::values_of(const expr::Expr& load) const {
  std::vector<expr::Interval> values;
  for (const expr::Expr& index : load.operands()) {
    values.push_back(attention::range_of_index(index, {}, [this](std::string_view name) {
      const Input* input = spec_.find_input(name.substr(0, name.find('.')));
      const bool is_byte = input != nullptr && input->element == Input::Element::U8;
      return is_byte ? expr::Interval{0, 255, false} : expr::Interval{};
    }));
  }
  return values;
}

std::string DeviceNames::load(const expr::Expr& load, std::span<const std::string> indices) const {
  const std::string_view name = load.name();
  for (const std::string_view search : {attention::kBelow, attention::kUpTo}) {
    if (name.ends_with(search)) return count(name, indices, search == attention::kUpTo, "");
  }
  if (const auto entry = table_entry(name)) return *entry;
  const size_t dot = name.find('.');  // of a row along the keys, key.k0; of a table, rel.t0
  const Input* input = spec_.find_input(name.substr(0, dot));
  std::string value = fmt::format("in.{}", name);
  if (input == nullptr || input->shape.empty()) return value;
  const char* const read = vendor_ == expr::Vendor::Amd ? "read_only" : "__ldg";
  if (dot == std::string_view::npos) {
    return as_number(
        *input, fmt::format("{}(&{}[{}])", read, value, address(*input, indices, values_of(load))));
  }
  const std::string_view own = name.substr(dot + 1);
  return as_number(*input,
                   attention::names_element_of_table(name)
                       ? fmt::format("row.{}[{}]", own, indices[0])
                       : fmt::format("{}(&lines.{}[{} - lines.first])", read, own, indices[0]));
}

std::string DeviceNames::as_number(const Input& input, const std::string& element) {
  if (input.element == Input::Element::Bf16) return "from_bf16(" + element + ")";
  if (input.element == Input::Element::Fp16) return "from_fp16(" + element + ")";
  return element;
}

// The last index is the limit; the row of the input that is searched starts at its element 0.
std::string DeviceNames::count(std::string_view search, std::span<const std::string> indices,
                               bool or_equal, const std::string& bounds) const {
  const Input& input = *spec_.find_input(search.substr(0, search.find('.')));
  return fmt::format("{}<{}>({}, {}, {})", bounds.empty() ? "count" : "count_within", or_equal,
                     searched_values(input, indices),
                     bounds.empty() ? length(input.shape.back()) : bounds, indices.back());
}

std::string DeviceNames::searched_values(const Input& input,
                                         std::span<const std::string> indices) const {
  std::vector<std::string> first(indices.begin(), indices.end());
  first.back() = "0";
  const std::string at = address(input, first, {});
  return fmt::format("in.{}{}", input.name, at == "0" ? "" : " + " + at);
}

std::optional<DeviceNames::SearchedRow> DeviceNames::searched_row(const expr::Expr& load) const {
  if (load.op() != expr::Op::Load) return std::nullopt;
  const std::string_view name = load.name();
  const bool or_equal = name.ends_with(attention::kUpTo);
  if (!or_equal && !name.ends_with(attention::kBelow)) return std::nullopt;
  const Input& input = *spec_.find_input(name.substr(0, name.find('.')));
  std::vector<std::string> indices;
  for (const expr::Expr& index : load.operands()) {
    indices.push_back(expr::print_c(index, expr::Dialect::Device, mask_names()));
  }
  return SearchedRow{searched_values(input, indices), length(input.shape.back()), or_equal};
}

expr::Names DeviceNames::names_within(const std::string& low, const std::string& high) const {
  expr::Names result = mask_names();
  result.load = [this, bounds = low + ", " + high](const expr::Expr& element,
                                                   std::span<const std::string> indices) {
    const std::string_view name = element.name();
    for (const std::string_view search : {attention::kBelow, attention::kUpTo}) {
      if (name.ends_with(search)) return count(name, indices, search == attention::kUpTo, bounds);
    }
    return load(element, indices);
  };
  return result;
}

std::vector<std::string> DeviceNames::indices_of(const expr::Expr& load) const {
  std::vector<std::string> indices;
  for (const expr::Expr& index : load.operands()) {
    indices.push_back(expr::print_c(index, expr::Dialect::Device, names()));
  }
  return indices;
}

std::string DeviceNames::element(const expr::Expr& load) const {
  const spec::Input& input = *spec_.find_input(load.name());
  return fmt::format("in.{}[{}]", load.name(), address(input, indices_of(load), values_of(load)));
}

std::string DeviceNames::begin_of_row(const expr::Expr& load) const {
  return searched_values(*spec_.find_input(load.name()), indices_of(load));
}

std::string DeviceNames::end_of(const Input& input) const {
  std::string elements;
  for (const Input::Dim& dim : input.shape) {
    const std::string length = length_in_memory(dim);
    elements += elements.empty() ? fmt::format("int64_t{{{}}}", length) : " * " + length;
  }
  return fmt::format("in.{} + {}", input.name, elements);
}

std::string DeviceNames::pointer_type(const expr::Expr& load) const {
  return c_type_of(*spec_.find_input(load.name()));
}

std::string DeviceNames::matrix(const expr::Expr& load) const {
  const Input& input = *spec_.find_input(load.name());
  const std::vector<expr::Interval> values = values_of(load);
  std::string index;
  for (size_t i = 0; i + 2 < input.shape.size(); ++i) {
    const std::string text = expr::print_c(load.operand(i), expr::Dialect::Device, names());
    const std::string own = as_operand(clamped(text, input.shape[i], values[i]));
    index = i == 0 ? own
                   : fmt::format(fmt::runtime(i == 1 ? "{} * {} + {}" : "({}) * {} + {}"), index,
                                 length(input.shape[i]), own);
  }
  return index.empty() ? "0" : index;
}

std::string DeviceNames::columns(const spec::Input& input) const {
  return length(input.shape.back());
}

std::string DeviceNames::matrices(const spec::Input& input) {
  std::string product;
  for (size_t i = 0; i + 2 < input.shape.size(); ++i) {
    using Kind = spec::Input::Dim::Kind;
    const spec::Input::Dim& dim = input.shape[i];
    const std::string length = dim.kind == Kind::Batch     ? "batch"
                               : dim.kind == Kind::Heads   ? "kHeadsQ"
                               : dim.kind == Kind::HeadsKv ? "kHeadsKv"
                               : dim.kind == Kind::Number  ? std::to_string(dim.number)
                                                           : "";
    if (length.empty()) continue;
    product += (product.empty() ? "" : " * ") + length;
  }
  return product.empty() ? "1" : product;
}

std::string DeviceNames::address(const Input& input, std::span<const std::string> indices,
                                 std::span<const expr::Interval> values) const {
  std::string address;
  bool wide = false;
  for (size_t i = 0; i < input.shape.size(); ++i) {
    const std::string index =
        place_in_memory(indices[i], input.shape[i], values.empty() ? expr::Interval{} : values[i]);
    if (i == 0 || address == "0") {
      address = index;
      wide = false;
      continue;
    }
    // 64 bits from the first product on.
    address = fmt::format(fmt::runtime(wide ? "({}) * {}" : "int64_t{{{}}} * {}"), address,
                          length_in_memory(input.shape[i]));
    if (index != "0") {
      address += " + " + (is_packed(input.shape[i]) ? index : as_operand(index));
    }
    wide = true;
  }
  return address;
}

}  // namespace attngen::emit
