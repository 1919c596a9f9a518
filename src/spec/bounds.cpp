#include "spec/bounds.h"

#include <cmath>
#include <limits>

namespace attngen::spec {
namespace {

using expr::Interval;

Interval up_to(double last) { return {0, last, false}; }

// A length; the call's, unless it is fixed.
Interval known_length(const std::optional<int64_t>& fixed) {
  return fixed ? expr::point(*fixed) : up_to(std::numeric_limits<int32_t>::max());
}

Interval index_below(const Interval& length) { return up_to(length.high - 1); }

Interval variable(const Spec& spec, std::string_view name) {
  const Interval seq_q = known_length(spec.fixed.seq_q);
  const Interval seq_kv = known_length(spec.fixed.seq_kv);
  if (name == "h") return up_to(spec.heads.q - 1);
  if (name == "h_kv") return up_to(spec.heads.kv() - 1);
  if (name == "map") return up_to(spec.maps - 1);
  if (name == "d" && spec.pattern == Pattern::Parallel) return up_to(spec.head_dim.v - 1);
  if (name == "b") return index_below(known_length(spec.fixed.batch));
  if (name == "t" || name == "q_idx") return index_below(seq_q);
  if (name == "kv_idx") return index_below(seq_kv);
  if (name == "q_pos") return {seq_kv.low - seq_q.high, seq_kv.high - 1, false};
  if (name == "seq_q") return seq_q;
  if (name == "seq_kv") return seq_kv;
  return {};
}

Interval element_of(const Spec& spec, std::string_view name) {
  using Element = Input::Element;
  const Input* input = spec.find_input(name);
  if (input == nullptr) return {};
  if (input->element == Element::U8) return up_to(std::numeric_limits<uint8_t>::max());
  Interval any;
  any.may_be_nan = input->element != Element::I32;
  return any;
}

}  // namespace

expr::Bounds bounds_of(const Spec& spec) {
  return {[&spec](std::string_view name) { return variable(spec, name); },
          [&spec](std::string_view name) { return element_of(spec, name); }};
}

bool is_positive(const expr::Expr& e) {
  const auto head = [](std::string_view name) {
    return name == "h" ? up_to(std::numeric_limits<double>::infinity()) : Interval{};
  };
  const Interval range = expr::bound(e, {head, [](std::string_view) { return Interval{}; }});
  return range.low > 0 && std::isfinite(range.high) && !range.may_be_nan;
}

}  // namespace attngen::spec
