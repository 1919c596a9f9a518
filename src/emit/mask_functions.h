// The mask as device code, and what the templates must know of it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "attention/pair_form.h"
#include "attention/row_form.h"
#include "attention/tiles.h"
#include "emit/device_names.h"
#include "spec/spec.h"

namespace attngen::emit {

// The pairs of a row are those of key_range: the mask needs no test by itself.
bool is_interval(const spec::Spec& spec);
// Of a spec with lists of tokens: `mask_holds`, which the warps that gather them ask. "" if all do.
std::string token_mask_text(const spec::Spec& spec, const DeviceNames& names);
// The scout alone finds a tile's blocks, by a search or block by block.
bool has_walk(const spec::Spec& spec);
// Scores may begin as the mask (templates/hopper/parts/mask_ahead.cuh): they only grow with a
// pair's product, so that -inf stays what it is, and its block is known before its products. Where
// the mask cuts first and last keys, and so much of what a tile visits: unmasked kernels lost 1 to
// 4 % by it, causal ones 0 to 1 (docs/ladder.md). Not of packed sequences, whose last blocks of
// keys hold the next one's, which may be NaN; two maps have no registers for it.
bool may_have_mask_ahead(const spec::Spec& spec, const attention::RowForm& rows);
// Blocks are tested one by one: block_kept, block_full.
bool has_block_test(const spec::Spec& spec);
// What they read of ids in no order: so many tables, which a pre-pass fills.
size_t id_tables(const spec::Spec& spec);

attention::KeyRange range_of(const spec::Spec& spec);

// pair_exists; "" where limits of a row say it all.
std::string mask_text(const spec::Spec& spec, const attention::RowForm& form,
                      const attention::PairForm& pairs, const DeviceNames& names, bool amd);
// KeyRange and key_range. `own_heading`: no mask_text says which mask it is.
std::string key_range_text(const spec::Spec& spec, const DeviceNames& names, bool own_heading,
                           bool amd);
// row_keys: the same of one row, where the ends take a search; else "".
std::string row_keys_text(const spec::Spec& spec, const attention::RowForm& form,
                          const DeviceNames& names);
// block_kept and block_full, with the tables that they read; "" where key_range says it all.
std::string block_test_text(const spec::Spec& spec, const DeviceNames& names);

}  // namespace attngen::emit
