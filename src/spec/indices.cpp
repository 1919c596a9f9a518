#include "spec/indices.h"

#include <fmt/format.h>

#include <limits>
#include <set>

#include "expr/bound.h"

namespace attngen::spec {
namespace {

using expr::Expr;
using expr::Interval;

constexpr double kLargest = std::numeric_limits<int32_t>::max();

Interval up_to(double last) { return {0, last, false}; }

// Of the indices; anything else may be anything.
Interval variable(const Spec& spec, std::string_view name) {
  if (name == "h") return up_to(spec.heads.q - 1);
  if (name == "h_kv") return up_to(spec.heads.kv() - 1);
  if (name == "map") return up_to(spec.maps - 1);
  if (name == "b" || name == "t" || name == "q_idx" || name == "kv_idx" || name == "seq_q" ||
      name == "seq_kv") {
    return up_to(kLargest);
  }
  return {};
}

// Of a dimension, if the spec knows it.
std::optional<int64_t> length_of(const Spec& spec, const Input::Dim& dim) {
  using DimKind = Input::Dim::Kind;
  switch (dim.kind) {
    case DimKind::Batch:
      return spec.fixed.batch;
    case DimKind::Heads:
      return spec.heads.q;
    case DimKind::HeadsKv:
      return spec.heads.kv();
    case DimKind::SeqQ:
      return spec.fixed.seq_q;
    case DimKind::SeqKv:
      return spec.fixed.seq_kv;
    case DimKind::Number:
      return dim.number;
    case DimKind::Seq:
    case DimKind::HeadDim:
      return std::nullopt;
  }
  return std::nullopt;
}

class IndexChecker {
 public:
  explicit IndexChecker(const Spec& spec) : spec_(spec) {
    bounds_.variable = [this](std::string_view name) { return variable(spec_, name); };
    bounds_.input = [this](std::string_view name) {
      const Input* input = spec_.find_input(name);
      const bool byte = input != nullptr && input->element == Input::Element::U8;
      return byte ? up_to(std::numeric_limits<uint8_t>::max()) : Interval{};
    };
  }

  std::optional<expr::Error> find(const Expr& e) {
    if (!seen_.insert(e.identity()).second) return std::nullopt;
    if (e.op() == expr::Op::Load) {
      if (auto error = check(e)) return error;
    }
    for (const Expr& operand : e.operands()) {
      if (auto error = find(operand)) return error;
    }
    return std::nullopt;
  }

 private:
  std::optional<expr::Error> check(const Expr& load) const {
    const Input* input = spec_.find_input(load.name());
    if (input == nullptr) return std::nullopt;
    for (size_t i = 0; i < input->shape.size(); ++i) {
      const Interval index = expr::bound(load.operand(i), bounds_);
      const auto elements = length_of(spec_, input->shape[i]);
      const auto error = [&](std::string_view what) {
        return expr::Error{load.operand(i).span(),
                           fmt::format("an index of '{}' is always out of its dimension {}: {}",
                                       input->name, name_of(input->shape[i]), what),
                           "indices count from 0"};
      };
      if (index.high < 0) return error(fmt::format("it is at most {:.0f}", index.high));
      if (elements && index.low >= static_cast<double>(*elements)) {
        return error(fmt::format("it is at least {:.0f}", index.low));
      }
    }
    return std::nullopt;
  }

  const Spec& spec_;
  expr::Bounds bounds_;
  std::set<const void*> seen_;
};

}  // namespace

std::optional<expr::Error> index_out_of_shape(const Expr& e, const Spec& spec) {
  return IndexChecker(spec).find(e);
}

}  // namespace attngen::spec
