#include "spec/indices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "spec/bounds.h"
#include "text/characters.h"

namespace attngen::spec {
namespace {

using expr::Expr;
using expr::Interval;
using DimensionKind = Input::Dim::Kind;

// Of a dimension, if the spec knows it.
std::optional<int64_t> length_of(const Spec& spec, const Input::Dim& dim) {
  switch (dim.kind) {
    case DimensionKind::Batch:
      return spec.fixed.batch;
    case DimensionKind::Heads:
      return spec.heads.q;
    case DimensionKind::HeadsKv:
      return spec.heads.kv();
    case DimensionKind::SeqQ:
      return spec.fixed.seq_q;
    case DimensionKind::SeqKv:
      return spec.fixed.seq_kv;
    case DimensionKind::Number:
      return dim.number;
    case DimensionKind::HeadDim:
      if (spec.pattern == Pattern::Parallel) return spec.head_dim.v;
      return std::nullopt;  // of q's or v's columns
    case DimensionKind::Seq:
      return std::nullopt;
  }
  return std::nullopt;
}

// What a variable counts, of which dimension. The first of a dimension is the one to write.
struct Counter {
  std::string_view name;
  const char* things;
  DimensionKind dim;
};
constexpr Counter kCounters[] = {
    {"b", "batches", DimensionKind::Batch},        {"h", "query heads", DimensionKind::Heads},
    {"h_kv", "key heads", DimensionKind::HeadsKv}, {"q_idx", "queries", DimensionKind::SeqQ},
    {"kv_idx", "keys", DimensionKind::SeqKv},      {"q_pos", "positions", DimensionKind::SeqKv},
    {"t", "tokens", DimensionKind::Seq},           {"d", "columns", DimensionKind::HeadDim},
};

const Counter* counter_named(std::string_view name) {
  const auto* found = std::find_if(std::begin(kCounters), std::end(kCounters),
                                   [&](const Counter& c) { return c.name == name; });
  return found == std::end(kCounters) ? nullptr : found;
}

// Of an index that is a variable by itself; nullptr of all others.
const Counter* counter_of(const Expr& index) {
  return index.op() == expr::Op::Variable ? counter_named(index.name()) : nullptr;
}

// How many values an index takes, from 0 on, if it is a variable of which the spec knows that.
std::optional<int64_t> values_of(const Expr& index, const Spec& spec) {
  if (index.op() == expr::Op::Variable && index.name() == "map") return spec.maps;
  const Counter* counter = counter_of(index);
  return counter != nullptr ? length_of(spec, {counter->dim, 0}) : std::nullopt;
}

std::string index_over(DimensionKind kind) {
  const auto* found = std::find_if(std::begin(kCounters), std::end(kCounters),
                                   [&](const Counter& c) { return c.dim == kind; });
  return std::string(found->name);
}

// Whether a variable may run over the dimension. One length may be read by the indices of the
// other, where queries and keys are of one sequence: doc[b, q_pos].
bool runs_over(const Counter& counter, DimensionKind kind, const Heads& heads) {
  if (counter.dim == kind || (is_length(counter.dim) && is_length(kind))) return true;
  const auto of_heads = [](DimensionKind k) {
    return k == DimensionKind::Heads || k == DimensionKind::HeadsKv;
  };
  return heads.q == heads.kv() && of_heads(counter.dim) && of_heads(kind);
}

class IndexChecker {
 public:
  using Check = std::optional<expr::Error> (IndexChecker::*)(const Expr& load, const Input&) const;

  IndexChecker(const Spec& spec, Check check)
      : spec_(spec), check_(check), bounds_(bounds_of(spec)) {}

  std::optional<expr::Error> find(const Expr& e) {
    if (!seen_.insert(e.identity()).second) return std::nullopt;
    const Input* input = e.op() == expr::Op::Load ? spec_.find_input(e.name()) : nullptr;
    if (input != nullptr) {
      if (auto error = (this->*check_)(e, *input)) return error;
    }
    for (const Expr& operand : e.operands()) {
      if (auto error = find(operand)) return error;
    }
    return std::nullopt;
  }

  std::optional<expr::Error> check_wrong(const Expr& load, const Input& input) const {
    for (size_t i = 0; i < input.shape.size(); ++i) {
      const Counter* counter = counter_of(load.operand(i));
      const DimensionKind kind = input.shape[i].kind;
      if (counter != nullptr && kind != DimensionKind::Number &&
          !runs_over(*counter, kind, spec_.heads)) {
        const std::string permuted = in_order_of(load, input);
        return of_another(load, input, i,
                          "write " + (permuted.empty() ? index_over(kind) : permuted));
      }
      if (auto error = check_bounds(load.operand(i), input, i)) return error;
    }
    return check_exchanged(load, input);
  }

  std::optional<expr::Error> check_clamped(const Expr& load, const Input& input) const {
    for (size_t i = 0; i < input.shape.size(); ++i) {
      if (auto past = check_past(load, input, i)) return past;
      const Counter* counter = counter_of(load.operand(i));
      if (counter == nullptr || counter->dim != DimensionKind::SeqKv ||
          input.shape[i].kind != DimensionKind::SeqQ || has_one_length()) {
        continue;
      }
      return of_another(load, input, i,
                        fmt::format("{}; beyond its end, if seq_kv is greater than seq_q, its last "
                                    "element is read",
                                    counter->name == "q_pos" ? "write q_idx" : "make it seq_kv"));
    }
    return std::nullopt;
  }

 private:
  bool has_one_length() const {
    return spec_.fixed.seq_q && spec_.fixed.seq_q == spec_.fixed.seq_kv;
  }

  // A variable by itself that is known to run past the end of a dimension that is a number.
  std::optional<expr::Error> check_past(const Expr& load, const Input& input, size_t i) const {
    const Expr& index = load.operand(i);
    const Input::Dim& dim = input.shape[i];
    const auto values = values_of(index, spec_);
    if (dim.kind != DimensionKind::Number || !values || *values <= dim.number) return std::nullopt;
    const Counter* counter = counter_of(index);
    return expr::Error{
        index.span(),
        fmt::format("'{}' runs to {}, but dimension {} of '{}' is {}", index.name(), *values - 1, i,
                    input.name, dim.number),
        fmt::format(
            "make it {}; beyond its end the last element is read, as min({}, {}) would say",
            counter != nullptr ? name_of(Input::Dim{counter->dim, 0}) : fmt::format("{}", *values),
            index.name(), dim.number - 1)};
  }

  // The load with its variables each on a dimension that it runs over, those that stand right where
  // they are: x[b, kv_idx, h] for x[b, h, kv_idx] of [batch, seq_kv, heads]; "" if there is none.
  std::string in_order_of(const Expr& load, const Input& input) const {
    std::vector<std::string> names(input.shape.size());
    std::vector<const Counter*> misplaced;
    for (size_t i = 0; i < input.shape.size(); ++i) {
      const Counter* counter = counter_of(load.operand(i));
      if (counter == nullptr) return "";
      if (counter->dim == input.shape[i].kind) {
        names[i] = counter->name;
      } else {
        misplaced.push_back(counter);
      }
    }
    for (size_t i = 0; i < names.size(); ++i) {
      if (!names[i].empty()) continue;
      const DimensionKind kind = input.shape[i].kind;
      auto found =
          std::ranges::find_if(misplaced, [&](const Counter* c) { return c->dim == kind; });
      if (found == misplaced.end()) {
        found = std::ranges::find_if(
            misplaced, [&](const Counter* c) { return runs_over(*c, kind, spec_.heads); });
      }
      if (found == misplaced.end()) return "";
      names[i] = (*found)->name;
      misplaced.erase(found);
    }
    return fmt::format("{}[{}]", input.name, fmt::join(names, ", "));
  }

  static expr::Error of_another(const Expr& load, const Input& input, size_t i, std::string help) {
    const Expr& index = load.operand(i);
    return {index.span(),
            fmt::format("'{}' counts {}, but dimension {} of '{}' is {}", index.name(),
                        counter_of(index)->things, i, input.name, name_of(input.shape[i])),
            std::move(help)};
  }

  // Either length may be read by the index of the other, but not both in one load.
  static std::optional<expr::Error> check_exchanged(const Expr& load, const Input& input) {
    std::optional<size_t> key, query;
    for (size_t i = 0; i < input.shape.size(); ++i) {
      const Counter* counter = counter_of(load.operand(i));
      const DimensionKind kind = input.shape[i].kind;
      if (counter == nullptr) continue;
      if (counter->name == "kv_idx" && kind == DimensionKind::SeqQ) key = i;
      if (counter->name != "kv_idx" && kind == DimensionKind::SeqKv) query = i;
    }
    if (!key || !query) return std::nullopt;
    return of_another(load, input, *key, "exchange kv_idx and " + load.operand(*query).name());
  }

  std::optional<expr::Error> check_bounds(const Expr& index, const Input& input, size_t i) const {
    const Interval values = expr::bound(index, bounds_);
    const auto elements = length_of(spec_, input.shape[i]);
    const auto error = [&](std::string_view what) {
      return expr::Error{index.span(),
                         fmt::format("an index of '{}' is always out of its dimension {}: {}",
                                     input.name, name_of(input.shape[i]), what),
                         "indices count from 0"};
    };
    if (values.high < 0) return error(fmt::format("it is at most {:.0f}", values.high));
    if (elements && values.low >= static_cast<double>(*elements)) {
      return error(fmt::format("it is at least {:.0f}", values.low));
    }
    return std::nullopt;
  }

  const Spec& spec_;
  Check check_;
  expr::Bounds bounds_;
  std::set<const void*> seen_;
};

}  // namespace

std::optional<expr::Error> wrong_index(const Expr& e, const Spec& spec) {
  return IndexChecker(spec, &IndexChecker::check_wrong).find(e);
}

std::optional<expr::Error> clamped_index(const Expr& e, const Spec& spec) {
  return IndexChecker(spec, &IndexChecker::check_clamped).find(e);
}

std::string shape_of(std::string_view indices) {
  const size_t begin = std::min(indices.find_first_not_of(' '), indices.size());
  if (!indices.substr(begin).starts_with('[')) return "";
  std::string shape, word;
  for (const char c : indices.substr(begin + 1)) {
    if (c != ',' && c != ']') {
      if (!text::is_space(c)) word += c;
      continue;
    }
    const Counter* counter = counter_named(word);
    if (counter == nullptr) break;
    shape += (shape.empty() ? "[" : ", ") + name_of(Input::Dim{counter->dim, 0});
    if (c == ']') return shape + "]";
    word.clear();
  }
  return "[...]";
}

}  // namespace attngen::spec
