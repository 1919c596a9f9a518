// Tables of ids and floats in no order, which block tests read (attention/id_tables.h): what the
// kernel before the main one fills them with, and how they are read. An entry is an int4.
//
// templates/hopper/parts/prepass.cuh calls
//   table_shape   what a table tells apart
//   tabulated     the id of a query or of a key that a table is about, or a float as it is ordered
// and block tests entry_of_0, entry_of_1, ...: an entry. For a table of pairs, pair_prepass.cuh
// calls
//   mask_holds    whether a pair exists
// and, of a mask that reads bytes of pairs, pair_bytes.cuh
//   first_byte    where a row's begin
//   all_bytes     where all of them do
//   byte_matrices how many rows of them there are, over seq_q
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention/id_tables.h"
#include "attention/pair_input.h"
#include "attention/tiles.h"
#include "emit/device_names.h"

namespace attngen::emit {

// The member of Inputs that holds the tables; no input has such a name.
inline constexpr std::string_view kTables = "attn_tables";
// And of the bits beside a table of pairs.
inline constexpr std::string_view kMaskBits = "attn_mask_bits";

// The bytes of pairs that a mask reads for a table of pairs, if it does.
std::optional<attention::PairInput> bytes_of_mask(const spec::Spec& spec);

// "" without tables.
std::string tables_text(const spec::Spec& spec, const attention::BlockTest& test,
                        const DeviceNames& names);

// The entries that a condition of a block test reads, as statements: `const Ids entry_0 = ...;`.
std::string entries_text(const expr::Expr& condition,
                         const std::vector<attention::IdTable>& tables);
// "entry_0.least" of 0.least; nothing for an input's name.
std::optional<std::string> table_entry(std::string_view load);

}  // namespace attngen::emit
