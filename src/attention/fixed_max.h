// Whether a kernel may keep using an earlier maximum of a row instead of the true one.
//
// In an exponential form everything is relative to exp(m). With m' in the place of m, sums and the
// accumulator come out exp(m - m') times as large; the results are the same if output and saves do
// not change under that exchange, as acc / l and m + log(l) do not. Then a block whose scores do
// not exceed the m in use by much needs no new maximum and no rescaling.
#pragma once

#include "attention/row_form.h"

namespace attngen::attention {

// True for an exponential form whose output and saves have no branches that depend on the maximum
// and keep their values, tried at pseudo-random points (the same ones always) to 1e-9 of their
// size.
bool may_fix_max(const RowForm& form);

}  // namespace attngen::attention
