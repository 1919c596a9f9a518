// The two products of a block of keys, cut into single matrix instructions. After each one `piece`
// puts a slice of other work: a matrix instruction keeps its unit busy for 16 issue slots, of which
// the wave may use 15 for something else.
//
// Fragments of LDS are read one group of up to four instructions ahead, across the products too:
// before the last group of one, the waves meet, and read the next one's first fragments. (A product
// of one group comes before the meeting, since what it does beside must be over by then.)
#pragma once

typedef Block Output[kOutputBlocks];   // O^T
typedef Operand Query[2 * kStepsQk];   // Q^T, the whole head dim
typedef Words2 Weights[2 * kStepsKv];  // P^T, packed pairs

__device__ __forceinline__ int lane_row() { return threadIdx.x % 32; }
__device__ __forceinline__ int lane_half() { return threadIdx.x / 32 % 2; }

// Of a product with `row_blocks` x `steps` fragments: two accumulators take turns, two instructions
// a fragment.
struct Shape {
  int row_blocks, steps;
  constexpr int pairs() const { return (row_blocks + 1) / 2; }
  constexpr int groups() const { return steps * pairs(); }
  constexpr int products() const { return 2 * steps * row_blocks; }
  // Those before the meeting.
  constexpr int before_last() const {
    return groups() == 1 ? products() : products() - 2 * (row_blocks % 2 == 0 ? 2 : 1);
  }
};
constexpr Shape kKeyProducts{kKeyBlocks, kStepsQk};
constexpr Shape kValueProducts{kOutputBlocks, kStepsKv};

typedef Words4 Fragments[2];

// The fragments of K or V^T that a lane reads, by the address of its first.
struct KeyReader {
  const uint8_t* keys;
  int first;
  __device__ __forceinline__ explicit KeyReader(const uint8_t* keys)
      : keys(keys), first(key_place(lane_row(), lane_half())) {
    pin(first);
  }
  __device__ __forceinline__ Words4 operator()(int j, int step) const {
    return *reinterpret_cast<const Words4*>(keys + key_place_at(first, step) +
                                            j * 32 * kKeyPitch * 16);
  }
};
struct ValueReader {
  const uint8_t* values;
  int first;
  __device__ __forceinline__ explicit ValueReader(const uint8_t* values)
      : values(values), first(value_place(lane_row(), lane_half())) {
    pin(first);
  }
  __device__ __forceinline__ Words4 operator()(int j, int step) const {
    return *reinterpret_cast<const Words4*>(values + value_place_step(first, step) +
                                            j * 32 * kChunksKv * 16);
  }
};

template <typename Reader>
__device__ __forceinline__ void fetch(Fragments& fragments, const Shape& shape, int group,
                                      const Reader& read) {
  const int first = group % shape.pairs() * 2, step = group / shape.pairs();
  fragments[0] = read(first, step);
  if (first + 1 < shape.row_blocks) fragments[1] = read(first + 1, step);
}

// Group `kGroup` of a product and those after it, one inside the other: a loop with the user's
// functions in its pieces would be too long for the compiler to unroll.
template <bool kFromZero, int kSteps, int kGroup, int kRowBlocks, typename Reader, typename B,
          typename Piece, typename FetchNext>
__device__ __forceinline__ void multiply_from(Block (&d)[kRowBlocks], const Fragments& now,
                                              Fragments& result, const Reader& read, const B& b,
                                              const Piece& piece, const FetchNext& fetch_next) {
  constexpr Shape kShape{kRowBlocks, kSteps};
  constexpr int kFirst = kGroup % kShape.pairs() * 2, kStep = kGroup / kShape.pairs();
  constexpr bool kLast = kGroup + 1 == kShape.groups();
  Fragments next;
  keep_order();
  if constexpr (!kLast) {
    fetch(next, kShape, kGroup + 1, read);
  } else if constexpr (kGroup > 0) {
    fetch_next(next);
  }
  int done = 2 * (kStep * kRowBlocks + kFirst);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      if (kFirst + r >= kRowBlocks) continue;
      const Block zero = {};
      const bool from_zero = kFromZero && kStep == 0 && half == 0;
      keep_order();
      d[kFirst + r] =
          multiply(half_of(now[r], half), b(2 * kStep + half), from_zero ? zero : d[kFirst + r]);
      keep_order();
      piece(done++);
    }
  }
  if constexpr (!kLast) {
    multiply_from<kFromZero, kSteps, kGroup + 1>(d, next, result, read, b, piece, fetch_next);
  } else {
    keep_order();
    if constexpr (kGroup == 0) fetch_next(next);
    result[0] = next[0];
    result[1] = next[1];
  }
}

// D[row block] (+)= A[row block][step] B[step] over all steps. `fragments` hold the first group of
// A and get that of the next product, by `fetch_next`; `b(k)` is the operand of half step k.
template <bool kFromZero, int kSteps, int kRowBlocks, typename Reader, typename B, typename Piece,
          typename FetchNext>
__device__ __forceinline__ void multiply_all(Block (&d)[kRowBlocks], Fragments& fragments,
                                             const Reader& read, const B& b, const Piece& piece,
                                             const FetchNext& fetch_next) {
  const Fragments first = {fragments[0], fragments[1]};
  multiply_from<kFromZero, kSteps, 0>(d, first, fragments, read, b, piece, fetch_next);
  // Compilers up to LLVM 15 count `keep_order` as an instruction when they see to it that nothing
  // reads a product too soon. Where no pieces lie between, which is before a loop, slots are
  // missing: of nineteen, ten were.
  if constexpr (__is_empty(Piece)) asm volatile("s_nop 15");
}

// The slices of `count` things that piece i of `pieces` takes: [first(i), first(i + 1)).
struct Slices {
  int count, pieces;
  __device__ constexpr int first(int i) const { return i >= pieces ? count : i * count / pieces; }
};
