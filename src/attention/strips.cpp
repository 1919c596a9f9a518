#include "attention/strips.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "attention/linear.h"
#include "attention/pair_form.h"
#include "attention/terms.h"
#include "expr/count.h"
#include "expr/ops.h"

namespace attngen::attention {
namespace {

using expr::Expr;
using expr::Op;
using expr::Type;

Reach join(Reach a, Reach b) {
  if (a == Reach::Tile || a == b) return b;
  return b == Reach::Tile ? a : Reach::Pair;
}

// In multiply-adds of a pair: a special function or a conversion keeps its pipe for four, a load
// for more. To read a strip takes half a load of shared memory.
constexpr double kWorth = 4;
double cost_of(const Expr& e) {
  const std::vector<std::string> pair{"kv_idx", "q_idx", "q_pos"};
  const expr::OperationCounts n = expr::count(e, pair, expr::Accuracy::Full, is_of_scores);
  return 4 * n.special + n.multiply + n.logic + 8 * n.load;
}

// Of 1.5 + q_pos - kv_idx the whole numbers are one sum, though each is a Float there.
std::vector<Expr> operands_of(const Expr& e) {
  if (!is_sum(e)) return {e.operands().begin(), e.operands().end()};
  std::vector<Term> whole;
  std::vector<Expr> operands;
  for (const Term& term : terms_of(e)) {
    if (term.value.op() == Op::ToFloat) {
      whole.push_back({term.value.operand(0), term.minus});
    } else {
      operands.push_back(term.value);
    }
  }
  if (!whole.empty()) operands.push_back(sum_of(whole));
  return operands;
}

}  // namespace

std::string name_of_key(size_t i) { return kOfKey + (i == 0 ? "" : std::to_string(i)); }

Reach Strips::reach_of_variable(const std::string& name) const {
  if (name == "kv_idx") return Reach::Key;
  const bool of_row = name == "q_idx" || name == "q_pos";
  if (of_row || (name == "h" && shared_ == Shared::OfKeys)) return Reach::Row;
  constexpr std::array<const char*, 6> kOfTile{"b", "h", "h_kv", "seq_q", "seq_kv", "map"};
  const bool of_tile = std::ranges::any_of(kOfTile, [&](const char* own) { return name == own; });
  return of_tile ? Reach::Tile : Reach::Pair;  // products, row values
}

Reach Strips::reach(const Expr& e) const {
  if (const Reach* known = reaches_.find(e)) return *known;
  return reaches_.keep(e, e.type() == Type::Int ? reach_of_int(e) : reach_of(e));
}

Reach Strips::reach_of(const Expr& e) const {
  if (e.op() == Op::Variable) return reach_of_variable(e.name());
  if (expr::is_comparison(e.op()) && e.operand(0).type() == Type::Int) {
    return reach(expr::make(Op::Subtract, {e.operand(0), e.operand(1)}));
  }
  Reach result = Reach::Tile;
  for (const Expr& operand : operands_of(e)) result = join(result, reach(operand));
  return result;
}

// A sum in which keys count as often as queries take away is one of distances.
Reach Strips::reach_of_int(const Expr& e) const {
  const auto sum = linear(e);
  if (!sum) return reach_of(e);
  int64_t keys = 0, queries = 0;
  Reach others = Reach::Tile;
  for (const Linear::Term& term : sum->terms) {
    if (term.atom.op() != Op::Variable) {
      others = join(others, reach_of(term.atom));
    } else if (term.atom.name() == "kv_idx") {
      keys += term.coefficient;
    } else if (reach_of_variable(term.atom.name()) == Reach::Row) {
      queries += term.coefficient;
    } else {
      others = join(others, reach_of_variable(term.atom.name()));
    }
  }
  const Reach own = keys == 0 && queries == 0 ? Reach::Tile
                    : queries == 0            ? Reach::Key
                    : keys == 0               ? Reach::Row
                    : keys == -queries        ? Reach::Distance
                                              : Reach::Pair;
  return join(own, others);
}

bool Strips::is_worth_a_strip(const Expr& e) const { return !cheap_(e) && cost_of(e) >= kWorth; }

bool Strips::may_be_strip(const Expr& e) const {
  const Reach own = reach(e);
  return own == Reach::Key || own == Reach::Distance;
}

// To compute a clamped distance takes a pair as long as to read it. Divided keys cost nothing in
// tiles that fit.
bool Strips::is_worth_an_index(const Expr& e) const {
  constexpr double kWorthOfIndex = 6;
  const bool divides = expr::find_node(e, is_divided_key) != nullptr;
  return cost_of(e) >= kWorthOfIndex && (!divides || !expr::inputs_of(e).empty());
}

// The variable for all of `e`, if it is a strip's value or may become one.
std::optional<Expr> Strips::as_strip(const Expr& e) {
  if (reach(e) == Reach::Key) return as_key_strip(e);
  if (shared_ != Shared::All) return std::nullopt;
  if (!of_distance_) of_distance_ = e;
  if (!expr::same(of_distance_, e)) return std::nullopt;
  return expr::variable(kOfDistance, e.type());
}

std::optional<Expr> Strips::as_key_strip(const Expr& e) {
  auto known = std::ranges::find_if(of_key_, [&](const Expr& value) { return same(value, e); });
  if (known == of_key_.end()) {
    const bool fits = of_key_.empty() || (of_key_.size() < kMostOfKey && e.type() == Type::Float &&
                                          of_key_.front().type() == Type::Float);
    if (!fits) return std::nullopt;
    known = of_key_.insert(known, e);
  }
  return expr::variable(name_of_key(static_cast<size_t>(known - of_key_.begin())), e.type());
}

Expr Strips::operator()(const Expr& e) {
  if (const Expr* known = stripped_.find(e)) return *known;
  return stripped_.keep(e, stripped(e));
}

Expr Strips::stripped(const Expr& e) {
  const Reach own = reach(e);
  if (own == Reach::Tile || own == Reach::Row || e.operands().empty()) return e;
  if (own != Reach::Pair && e.type() == Type::Float) {
    if (!is_worth_a_strip(e)) return e;
    if (auto strip = as_strip(e)) return *strip;
  }
  if (e.op() == Op::Load) return with_stripped_indices(e);
  if (e.type() == Type::Int) return e;
  if (makes_step(e)) return within_step(e);
  if (is_sum(e)) {
    if (auto sum = stripped_sum(e)) return *sum;
  }
  if (own == Reach::Pair && e.op() == Op::Divide && may_be_strip(e.operand(1))) {
    const Expr inverse = expr::make(Op::Divide, {expr::number(1), e.operand(1)});
    return expr::make(Op::Multiply, {(*this)(e.operand(0)), (*this)(inverse)});
  }
  return expr::map_operands(e, [this](const Expr& operand) { return (*this)(operand); });
}

Expr Strips::with_stripped_indices(const Expr& load) {
  std::vector<Expr> indices;
  for (size_t dim = 0; dim < load.operands().size(); ++dim) {
    const Expr whole = in_range_(load, dim);
    const Expr stripped = stripped_index(whole);
    indices.push_back(expr::same(stripped, whole) ? load.operand(dim) : stripped);
  }
  return expr::load(load.name(), load.type(), std::move(indices));
}

// Of whole numbers.
Expr Strips::stripped_index(const Expr& e) {
  if (e.type() != Type::Int || e.operands().empty()) return e;
  if (const Expr* known = indices_.find(e)) return *known;
  const Reach own = reach(e);
  if (own == Reach::Tile || own == Reach::Row) return e;
  if (own != Reach::Pair && is_worth_an_index(e)) {
    if (const auto strip = as_strip(e)) return indices_.keep(e, *strip);
  }
  return indices_.keep(
      e, expr::map_operands(e, [this](const Expr& part) { return stripped_index(part); }));
}

Expr Strips::within_step(const Expr& e) {
  return expr::map_operands(e, [this](const Expr& operand) {
    const bool whole =
        operand.type() != Type::Float || operand.op() == Op::Load || makes_step(operand);
    return whole ? (*this)(operand) : within_step(operand);
  });
}

std::optional<Expr> Strips::as_key_word(const Expr& e) {
  auto known = std::ranges::find_if(key_words_, [&](const Expr& word) { return same(word, e); });
  if (known == key_words_.end()) {
    if (key_words_.size() == kMostKeyWords) return std::nullopt;
    key_words_.push_back(e);
    known = key_words_.end() - 1;
  }
  const std::string number = std::to_string(known - key_words_.begin());
  return expr::variable((e.type() == Type::Int ? kKeyWord : kKeyFloat) + number, e.type());
}

Expr Strips::with_key_words(const Expr& mask) {
  if (mask.operands().empty()) return mask;
  if (const Expr* known = worded_.find(mask)) return *known;
  if (mask.type() != Type::Bool && reach(mask) == Reach::Key && is_worth_a_strip(mask)) {
    if (const auto word = as_key_word(mask)) return worded_.keep(mask, *word);
  }
  if (mask.op() == Op::Load) return mask;
  return worded_.keep(mask, expr::map_operands(mask, [this](const Expr& operand) {
                        return with_key_words(operand);
                      }));
}

// Nothing if no terms of it are worth a strip.
std::optional<Expr> Strips::stripped_sum(const Expr& e) {
  std::vector<Term> terms = terms_of(e), others;
  bool any = false;
  for (const Reach reach_of_strip : {Reach::Key, Reach::Distance}) {
    std::vector<Term> together;
    others.clear();
    for (const Term& term : terms) {
      (reach(term.value) == reach_of_strip ? together : others).push_back(term);
    }
    if (together.empty() || !is_worth_a_strip(sum_of(together))) continue;
    const auto strip = as_strip(sum_of(together));
    if (!strip) continue;
    others.push_back({*strip, false});
    terms = others;
    any = true;
  }
  if (!any) return std::nullopt;
  for (Term& term : terms) term.value = (*this)(term.value);
  return sum_of(terms);
}

}  // namespace attngen::attention
