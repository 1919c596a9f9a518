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

#include <cstddef>
#include <string>

#include "attention/row_form.h"
#include "spec/spec.h"
#include "target/target.h"

namespace attngen::emit {

struct UserFunctions {
  std::string text;
  bool inputs_have_batch = false;  // struct Inputs begins with `int batch`
};
// `near`: by a near form first (attention/near_form.h).
UserFunctions user_functions(const spec::Spec& spec, const attention::RowForm& rows,
                             target::Family family = target::Family::Hopper, bool near = false);

// The score is the scaled product: the scale may fold into an exponent.
bool is_plain_score(const spec::Spec& spec);
// Some pair may not exist, beyond those past seq_kv.
bool is_masked(const spec::Spec& spec);
// The pairs of a row are those of key_range: the mask needs no test by itself.
bool is_interval(const spec::Spec& spec);
// So are they, but the ends take a search: each row's are found when its tile begins.
bool has_searched_limits(const spec::Spec& spec, const attention::RowForm& rows);
// The producer alone finds a tile's blocks, by a search or block by block.
bool has_walk(const spec::Spec& spec);
// Blocks are tested one by one: block_kept, block_full.
bool has_block_test(const spec::Spec& spec);
// What they read of ids in no order: so many tables, which a pre-pass fills.
size_t id_tables(const spec::Spec& spec);

}  // namespace attngen::emit
