#include "schedule/lengths.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "schedule/key_finder.h"
#include "schedule/units.h"

namespace attngen::schedule {
namespace {

// Whether some input is itself a limit, and no more than the condition of one. Limits share much:
// `seen` is not asked again.
bool has_length(const expr::Expr& limit, std::set<const void*>& seen) {
  if (!seen.insert(limit.identity()).second) return false;
  if (limit.op() == expr::Op::Load) {
    return !limit.name().ends_with(attention::kBelow) && !limit.name().ends_with(attention::kUpTo);
  }
  const size_t first = limit.op() == expr::Op::Select ? 1 : 0;
  return std::ranges::any_of(limit.operands().subspan(first),
                             [&](const expr::Expr& operand) { return has_length(operand, seen); });
}

bool has_length(const expr::Expr& limit) {
  std::set<const void*> seen;
  return has_length(limit, seen);
}

// Whether some row of a call, of a sample, has a key.
bool leaves_keys(const attention::KeyRange& range, int64_t seq_q, int64_t seq_kv,
                 const KeyLengths& lengths) {
  constexpr int64_t kRowsAsked = 64;
  KeyFinder keys(range, seq_q, seq_kv, lengths);
  const int64_t samples = std::min(seq_q, kRowsAsked);
  for (int64_t i = 0; i < samples; ++i) {
    const int64_t row = spread_sample(i, samples, seq_q);
    const RowKeys found = keys.find(row, row);
    if (found.begin < found.end) return true;
  }
  return false;
}

}  // namespace

bool has_lengths_at_both_ends(const attention::KeyRange& range) {
  return has_length(range.begin) && has_length(range.end);
}

KeyLengths key_lengths(Lengths lengths, const attention::KeyRange& range, int64_t seq_kv) {
  const int64_t quarter = seq_kv / 4;
  switch (lengths) {
    case Lengths::Half:
      if (!has_lengths_at_both_ends(range)) return {seq_kv / 2, seq_kv / 2};
      return {quarter, seq_kv - quarter};
    case Lengths::ThreeQuarters:
      return {0, seq_kv - quarter};
    case Lengths::Whole:
      return {0, seq_kv};
    case Lengths::Zero:
      return {0, 0};
    case Lengths::SeqKv:
      return {seq_kv, seq_kv};
  }
  return {};
}

Lengths taken_lengths(const attention::KeyRange& range, int64_t seq_q, int64_t seq_kv) {
  constexpr std::array kAtBothEnds{Lengths::Half, Lengths::ThreeQuarters, Lengths::Whole,
                                   Lengths::Zero, Lengths::SeqKv};
  constexpr std::array kAtOneEnd{Lengths::Half, Lengths::Zero, Lengths::SeqKv};
  if (!has_length(range.begin) && !has_length(range.end)) return Lengths::Half;
  const std::span<const Lengths> order = has_lengths_at_both_ends(range)
                                             ? std::span<const Lengths>(kAtBothEnds)
                                             : std::span<const Lengths>(kAtOneEnd);
  const auto taken = std::ranges::find_if(order, [&](Lengths lengths) {
    return leaves_keys(range, seq_q, seq_kv, key_lengths(lengths, range, seq_kv));
  });
  return taken == order.end() ? Lengths::Half : *taken;
}

}  // namespace attngen::schedule
