// Whether a kernel may keep using an earlier maximum of a row instead of the true one.
//
// In an exponential form everything is relative to exp(m). With m' in the place of m, sums and the
// accumulator come out exp(m - m') times as large; the results are the same if output and saves do
// not change under that exchange, as acc / l and m + log(l) do not. Then a block whose scores do
// not exceed the m in use by much needs no new maximum and no rescaling.
//
// Proven from the expressions: each is either multiplied by a power of exp(m - m') or gains a
// multiple of m - m'. The log of what is multiplied gains, the exponential of what gains is
// multiplied, and of m + log(l) the two cancel.
#pragma once

#include "attention/row_form.h"

namespace attngen::attention {

// True for an exponential form whose output and saves are proven to keep their values.
bool may_fix_max(const RowForm& form);

}  // namespace attngen::attention
