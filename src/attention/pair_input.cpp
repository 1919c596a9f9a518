#include "attention/pair_input.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "attention/linear.h"
#include "attention/row_tables.h"

namespace attngen::attention {
namespace {

using expr::Expr;
using expr::Op;
using spec::Input;

// The same for all pairs of a tile of one head, of both maps: b // rows.
bool is_of_tile(const Expr& index) {
  return std::ranges::all_of(expr::variables_of(index), [](const std::string& name) {
    return name == "b" || name == "h" || name == "h_kv" || name == "seq_q" || name == "seq_kv";
  });
}

// Of so many matrices [seq_q, seq_kv], the dimensions before the last two, each has a number of 31
// bits: with their heads batches have, by the limits of a call.
bool numbers_matrices(const spec::Spec& spec, const Input& input) {
  using Kind = Input::Dim::Kind;
  double numbers = 1, heads = 1;
  for (size_t i = 0; i + 2 < input.shape.size(); ++i) {
    const Input::Dim& dim = input.shape[i];
    if (spec::is_length(dim.kind) || dim.kind == Kind::HeadDim) return false;
    if (dim.kind == Kind::Number) numbers *= dim.number;
    if (dim.kind == Kind::Heads) heads *= spec.heads.q;
    if (dim.kind == Kind::HeadsKv) heads *= spec.heads.kv();
  }
  return spec::has_dim(input, Kind::Batch) ? numbers == 1 : numbers * heads < 0x1p31;
}

// Of dimension i, whatever the query or key.
bool is_own_index(const Input& input, const Expr& load, size_t i, std::string_view name) {
  const Expr& index = load.operand(i);
  return index.op() == Op::Variable && index.name() == name &&
         spec::index_of(input.shape[i].kind) == name;
}

// A matrix of a row for each query, for all pairs of a tile of one head.
bool has_rows(const spec::Spec& spec, const Input& input, const Expr& load) {
  const size_t dims = input.shape.size();
  if (dims < 2 || !numbers_matrices(spec, input)) return false;
  for (size_t i = 0; i + 2 < dims; ++i) {
    if (!is_of_tile(load.operand(i))) return false;
  }
  return is_own_index(input, load, dims - 2, "q_idx");
}

// An index as kv_idx + slope * q_idx + first.
std::optional<PairInput::Shift> shift_of(const Expr& index) {
  constexpr int64_t kMostSlope = 1 << 16;  // of 16 rows, from the template's kMostColumns on
  const auto sum = linear(index);
  if (!sum) return std::nullopt;
  PairInput::Shift shift;
  Linear first{sum->constant, {}};
  int64_t keys = 0;
  for (const Linear::Term& term : sum->terms) {
    const bool is_variable = term.atom.op() == Op::Variable;
    if (is_variable && term.atom.name() == "kv_idx") {
      keys = term.coefficient;
    } else if (is_variable && term.atom.name() == "q_idx") {
      shift.slope = term.coefficient;
    } else if (is_of_tile(term.atom)) {
      first.terms.push_back(term);
    } else {
      return std::nullopt;
    }
  }
  if (keys != 1 || std::abs(shift.slope) > kMostSlope) return std::nullopt;
  shift.first = to_expr(first);
  return shift;
}

// Rows that begin anywhere. Packed sequences have rows of their own kind.
std::optional<PairInput::Shift> shift_of(const spec::Spec& spec, const Input& input,
                                         const Expr& load) {
  using Kind = Input::Dim::Kind;
  // Half of the template's: where a row is as far as that, those behind it are beyond the end too.
  constexpr int kMostColumns = 1 << 29;
  const Input::Dim& last = input.shape.back();
  const bool is_known = last.kind == Kind::Number
                            ? last.number <= kMostColumns
                            : last.kind == Kind::SeqQ || last.kind == Kind::SeqKv;
  if (spec.varlen || !is_known) return std::nullopt;
  return shift_of(load.operand(input.shape.size() - 1));
}

// Of scores and weights; of a mask floats and bytes.
enum class Kind { Floats, Shifted, Bytes, OfMask };

// In the order of the text.
class Search {
 public:
  Search(const spec::Spec& spec, Kind kind) : spec_(spec), kind_(kind) {}

  std::optional<PairInput> in(const Expr& e) {
    if (!e || e.operands().empty() || !seen_.insert(e.identity()).second) return std::nullopt;
    if (e.op() == Op::Load) {
      const Input* input = spec_.find_input(e.name());
      if (auto found = input != nullptr ? at(*input, e) : std::nullopt) return found;
    }
    for (const Expr& operand : e.operands()) {
      if (auto found = in(operand)) return found;
    }
    return std::nullopt;
  }

 private:
  std::optional<PairInput> at(const Input& input, const Expr& load) const {
    if (!has_element(input) || !has_rows(spec_, input, load)) return std::nullopt;
    if (kind_ != Kind::Shifted) {
      if (!is_own_index(input, load, input.shape.size() - 1, "kv_idx")) return std::nullopt;
      return PairInput{input, load, kind_ == Kind::OfMask, std::nullopt};
    }
    if (is_of_row_table(spec_, load)) return std::nullopt;
    auto shift = shift_of(spec_, input, load);
    if (!shift) return std::nullopt;
    return PairInput{input, load, false, std::move(shift)};
  }
  bool has_element(const Input& input) const {
    if (input.element == Input::Element::I32) return false;
    const bool is_byte = input.element == Input::Element::U8;
    return kind_ == Kind::OfMask || is_byte == (kind_ == Kind::Bytes);
  }

  const spec::Spec& spec_;
  Kind kind_;
  std::set<const void*> seen_;
};

using Replace = std::function<Expr(const Expr& load)>;

Expr replaced(const Expr& e, const Replace& replace, std::map<const void*, Expr>& done) {
  if (e.operands().empty()) return e.op() == Op::Load ? replace(e) : e;
  if (const auto found = done.find(e.identity()); found != done.end()) return found->second;
  const Expr result =
      expr::map_operands(e, [&](const Expr& operand) { return replaced(operand, replace, done); });
  return done.emplace(e.identity(), e.op() == Op::Load ? replace(result) : result).first->second;
}

std::optional<PairInput> pair_input_of_scores(const spec::Spec& spec, Kind kind) {
  Search search(spec, kind);
  if (auto found = search.in(spec.score)) return found;
  for (const spec::NamedExpr& row : spec.normalize.rows) {
    if (auto found = search.in(row.value)) return found;
  }
  return search.in(spec.normalize.weight);
}

}  // namespace

std::optional<PairInput> pair_input(const spec::Spec& spec) {
  for (const Kind kind : {Kind::Floats, Kind::Shifted, Kind::Bytes}) {
    if (auto found = pair_input_of_scores(spec, kind)) return found;
  }
  return pair_input_of_mask(spec);
}

std::optional<PairInput> pair_input_of_mask(const spec::Spec& spec) {
  return Search(spec, Kind::OfMask).in(spec.mask);
}

Matrices matrices_of_heads(const PairInput& input) {
  const std::span<const Expr> indices = input.load.operands();
  const auto reads_head = [](const Expr& index) { return expr::mentions(index, "h"); };
  const auto of_pair = indices.end() - 2;
  if (std::none_of(indices.begin(), of_pair, reads_head)) return Matrices::Shared;
  const size_t last = indices.size() - 3;
  const bool is_last = std::none_of(indices.begin(), of_pair - 1, reads_head) &&
                       is_own_index(input.input, input.load, last, "h");
  return is_last ? Matrices::Neighbours : Matrices::Anywhere;
}

bool batches_share_pairs(const spec::Spec& spec) {
  using Kind = Input::Dim::Kind;
  const auto by_tiles = pair_input(spec);
  bool any = false;
  for (const Input& input : spec.inputs) {
    const bool of_pairs = has_dim(input, Kind::SeqQ) && has_dim(input, Kind::SeqKv);
    if (!of_pairs && !(by_tiles && by_tiles->input.name == input.name)) continue;
    if (has_dim(input, Kind::Batch)) return false;
    any = true;
  }
  return any;
}

Expr replace_loads(const Expr& e, const Replace& replace) {
  std::map<const void*, Expr> done;
  return replaced(e, replace, done);
}

}  // namespace attngen::attention
