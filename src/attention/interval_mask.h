// Whether the pairs of one row are those of an interval of keys.
#pragma once

#include "attention/row_form.h"
#include "attention/tiles.h"
#include "spec/spec.h"

namespace attngen::attention {

// True if, for a single row (q_first = q_last), the keys that may exist are the keys that do:
// causal, windows, prefixes, all, documents of ascending ids.
bool is_interval_mask(const KeyRange& range);

// Whether kernels test two limits a row in the place of the mask: an interval whose ends are found
// without a search.
bool has_row_limits(const KeyRange& range);

// Whether each row's limits can be found within those of its tile: an interval whose ends are
// minima and maxima of searches and of other terms, and rise from row to row. Bounding a search by
// the tile's ends then changes no end of a row, since it is bounded by them itself: min(7, 12)
// within 0..9 is min(7, 9).
bool has_searched_limits(const KeyRange& range);
// Whether kernels of Hopper test them in the place of the mask: each row's are found when its tile
// begins.
bool has_searched_limits(const spec::Spec& spec, const RowForm& rows);

}  // namespace attngen::attention
