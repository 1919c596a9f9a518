#include "schedule/key_finder.h"

#include <algorithm>

namespace attngen::schedule {
namespace {

int64_t clamped(double value, int64_t limit) {
  return static_cast<int64_t>(std::clamp(value, 0.0, static_cast<double>(limit)));
}

}  // namespace

KeyFinder::KeyFinder(const attention::KeyRange& range, int64_t seq_q, int64_t seq_kv,
                     const KeyLengths& lengths)
    : seq_q_(seq_q),
      seq_kv_(seq_kv),
      lengths_(lengths),
      begin_(range.begin),
      end_(range.end),
      full_begin_(range.full_begin),
      full_end_(range.full_end) {
  bounds_.variable = [this](std::string_view name) { return variable(name); };
  // Ids in order are taken to be of one document: nobody knows how many there are.
  bounds_.input = [this](std::string_view name) -> expr::Interval {
    if (name.ends_with(attention::kBelow)) return expr::point(0);
    return expr::point(name.ends_with(attention::kUpTo) ? seq_kv_ : length_);
  };
}

RowKeys KeyFinder::find(int64_t q_first, int64_t q_last) {
  q_first_ = q_first;
  q_last_ = q_last;
  // A bound that an unknown decides is taken at its widest.
  RowKeys keys;
  length_ = lengths_.first;
  keys.begin = clamped(begin_.bound(bounds_).low, seq_kv_);
  keys.full_begin = clamped(full_begin_.bound(bounds_).high, seq_kv_);
  length_ = lengths_.last;
  keys.end = clamped(end_.bound(bounds_).high, seq_kv_);
  keys.full_end = clamped(full_end_.bound(bounds_).low, seq_kv_);
  return keys;
}

expr::Interval KeyFinder::variable(std::string_view name) const {
  if (name == "q_first") return expr::point(q_first_);
  if (name == "q_last") return expr::point(q_last_);
  if (name == "seq_q") return expr::point(seq_q_);
  if (name == "seq_kv") return expr::point(seq_kv_);
  if (head_ && name == "h") return expr::point(head_->q);
  if (head_ && name == "h_kv") return expr::point(head_->kv);
  return {};  // and b
}

}  // namespace attngen::schedule
