// The user's functions as device code: what replaces parts/user.cuh of a template.
//
// Templates call, for a row of scores:
//   set_constants what a row's pairs have in common, once a tile
//   score_of      a product to a score, or exponent_of to an exponent of two (unless the score is
//                 the scaled product itself)
//   key_range     the keys that a tile of rows may need, those that it needs without a test
//   pair_exists   the mask (unless a row's pairs are those of its key_range)
//   row_keys      one row's keys, where key_range takes a search
//   row_max       (exponential forms) the row's maximum from its running reduction
//   absorb        (other forms) one block of a row: scores in, weights out; absorb_near, by the
//                 near form
//   complete      running reductions of one thread to those of the row
//   row_values, output_of, store_saves    what follows the last block
#pragma once

#include <set>
#include <string>

#include "attention/row_form.h"
#include "emit/mask_functions.h"
#include "schedule/schedule.h"
#include "spec/spec.h"
#include "target/target.h"

namespace attngen::emit {

struct UserFunctions {
  std::string helpers;  // for Hopper: what replaces parts/helpers.cuh; AMD's are in the text
  std::string text;
  std::set<std::string> lengths;  // of the call, with which struct Inputs begins
};
// How a step takes the caller's blocks: two that need not stand side by side, or one that not all
// rows of a warpgroup keep.
struct BlockSteps {
  bool gathered = false, rows_differ = false;
};
UserFunctions user_functions(const spec::Spec& spec, const attention::RowForm& rows,
                             target::Family family = target::Family::Hopper,
                             const schedule::Forms& forms = {.bias = true},
                             const BlockSteps& steps = {});

// The score is the scaled product: the scale may fold into an exponent.
bool is_plain_score(const spec::Spec& spec);

}  // namespace attngen::emit
