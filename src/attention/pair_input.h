// An input with an element for each pair, read where the pair stands: `bias[h, q_idx, kv_idx]`, or
// `keep[b, q_idx, kv_idx]` in a mask. A kernel may load it by the tiles of its scores instead of
// element by element. Position terms may count keys from the query: `bd[b, h, q_idx,
// kv_idx - q_idx + 2048]` has a row's elements one behind the other too, from anywhere on.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "expr/expr.h"
#include "spec/spec.h"

namespace attngen::attention {

struct PairInput {
  spec::Input input;
  expr::Expr load;  // its last two indices are q_idx and kv_idx, or what `shift` says
  bool of_mask = false;
  // The last index is kv_idx + slope * q_idx + first, `first` the same for all pairs of a tile, or
  // its dimension may not be as long as there are keys: it is clamped.
  struct Shift {
    int64_t slope = 0;
    expr::Expr first;
  };
  std::optional<Shift> shift;

  bool has_bytes() const { return input.element == spec::Input::Element::U8; }
  int element_bytes() const { return spec::bytes_of(input.element); }
};

// The first one of 16 or 32 bit floats that scores or weights read, one without a shift if there is
// any, else of bytes; else the first one of either that the mask reads. Bytes and those of masks
// have no shift. The indices before the last two are the same for all pairs of a tile (h, b //
// rows): a tile of one head finds its elements in the rows of one matrix.
std::optional<PairInput> pair_input(const spec::Spec& spec);
// Of these, what the mask reads.
std::optional<PairInput> pair_input_of_mask(const spec::Spec& spec);

// Where the query heads of a key head find their matrices: in one for all of them, in neighbours (h
// is the index before q_idx), or anywhere.
enum class Matrices : uint8_t { Shared, Neighbours, Anywhere };
Matrices matrices_of_heads(const PairInput& input);

// Whether inputs have elements for each pair, as pair_input has them or of both lengths, and all of
// them the same ones for every batch.
bool batches_share_pairs(const spec::Spec& spec);

// Puts `replace(load)` in the place of each Load, those in another's indices first.
expr::Expr replace_loads(const expr::Expr& e,
                         const std::function<expr::Expr(const expr::Expr& load)>& replace);

}  // namespace attngen::attention
