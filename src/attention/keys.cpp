#include "attention/keys.h"

namespace attngen::attention {

using expr::Expr;
using expr::Op;

namespace {

// Of two ends where an absent one wins (`loosest`) or loses (`tightest`).
Expr loosest(Op op, const Expr& a, const Expr& b) {
  if (!a || !b) return {};
  return expr::same(a, b) ? a : expr::make(op, {a, b});
}
Expr tightest(Op op, const Expr& a, const Expr& b) {
  if (!a || !b) return a ? a : b;
  return expr::same(a, b) ? a : expr::make(op, {a, b});
}

bool never(const Keys& keys) {
  return keys.begin && keys.end && keys.begin.is_number(0) && keys.end.is_number(0);
}

bool moves_with_rows(const Expr& e) {
  return e && (expr::mentions(e, "q_first") || expr::mentions(e, "q_last"));
}

// An end of a tile that has rows of both kinds is `mixed`. Of one row `may` and `must` are the
// same.
Expr pick(const Expr& may, const Expr& must, const Expr& a, const Expr& mixed, const Expr& b) {
  const auto select = [](const Expr& condition, const Expr& yes, const Expr& no) {
    return expr::same(yes, no) ? yes : expr::make(Op::Select, {condition, yes, no});
  };
  if (expr::same(mixed, a)) return select(may, a, b);
  if (expr::same(mixed, b) || expr::same(may, must)) return select(must, a, b);
  return select(must, a, select(may, mixed, b));
}

}  // namespace

Keys all_keys() { return {{}, {}, true, {}, {}}; }
Keys no_keys() { return {expr::integer(0), expr::integer(0), false, {}, {}}; }
Keys unknown_keys() { return {}; }

bool same_keys(const Keys& a, const Keys& b) {
  const auto same = [](const Expr& x, const Expr& y) {
    return x && y ? expr::same(x, y) : !x && !y;
  };
  return same(a.begin, b.begin) && same(a.end, b.end) && a.full == b.full &&
         same(a.full_begin, b.full_begin) && same(a.full_end, b.full_end);
}

Keys both(const Keys& a, const Keys& b) {
  if (never(a) || never(b)) return no_keys();
  return {tightest(Op::Max, a.begin, b.begin), tightest(Op::Min, a.end, b.end), a.full && b.full,
          tightest(Op::Max, a.full_begin, b.full_begin), tightest(Op::Min, a.full_end, b.full_end)};
}

Keys either(const Keys& a, const Keys& b) {
  if (never(a)) return b;
  if (never(b)) return a;
  Keys keys{
      loosest(Op::Min, a.begin, b.begin), loosest(Op::Max, a.end, b.end), a.full || b.full, {}, {}};
  if (!a.full || !b.full) {
    const Keys& known = a.full ? a : b;
    keys.full_begin = known.full_begin;
    keys.full_end = known.full_end;
  } else if (!a.full_begin && !b.full_begin) {
    keys.full_end = loosest(Op::Max, a.full_end, b.full_end);
  } else if (!a.full_end && !b.full_end) {
    keys.full_begin = loosest(Op::Min, a.full_begin, b.full_begin);
  } else {
    // Two stretches with a gap between: the one that moves with the rows is the long one, a window
    // beside a few first keys.
    const bool b_moves = moves_with_rows(b.full_begin) || moves_with_rows(b.full_end);
    keys.full_begin = b_moves ? b.full_begin : a.full_begin;
    keys.full_end = b_moves ? b.full_end : a.full_end;
  }
  return keys;
}

Keys choose_by_rows(const Expr& may, const Expr& must, const Keys& a, const Keys& b) {
  const Keys outer = either(a, b), inner = both(a, b);
  const Expr zero = expr::integer(0);
  const Expr last = expr::variable("seq_kv", expr::Type::Int);
  const auto picked = [&](const Expr& of_a, const Expr& mixed, const Expr& of_b,
                          const Expr& unlimited) -> Expr {
    if (!of_a && !of_b) return {};
    const auto or_all = [&](const Expr& end) { return end ? end : unlimited; };
    return pick(may, must, or_all(of_a), or_all(mixed), or_all(of_b));
  };
  // Keys that are claimed of no row end where they begin.
  const auto full_begin = [&](const Keys& keys) { return keys.full ? keys.full_begin : zero; };
  const auto full_end = [&](const Keys& keys) { return keys.full ? keys.full_end : zero; };
  return {picked(a.begin, outer.begin, b.begin, zero), picked(a.end, outer.end, b.end, last),
          a.full || b.full, picked(full_begin(a), full_begin(inner), full_begin(b), zero),
          picked(full_end(a), full_end(inner), full_end(b), last)};
}

Keys choose(const Expr& condition, const Keys& a, const Keys& b) {
  const auto select = [&](const Expr& x, const Expr& y, const Expr& unlimited) -> Expr {
    if (!x && !y) return {};
    return expr::make(Op::Select, {condition, x ? x : unlimited, y ? y : unlimited});
  };
  const Expr zero = expr::integer(0);
  const Expr last = expr::variable("seq_kv", expr::Type::Int);
  const auto full_end = [&](const Keys& keys) { return keys.full ? keys.full_end : zero; };
  return {select(a.begin, b.begin, zero), select(a.end, b.end, last), a.full || b.full,
          select(a.full ? a.full_begin : zero, b.full ? b.full_begin : zero, zero),
          select(full_end(a), full_end(b), last)};
}

}  // namespace attngen::attention
