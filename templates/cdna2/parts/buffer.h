// Global memory through buffer resources: what lies outside the range reads as zero and is not
// written, so that ragged tiles need no branch.
#pragma once

#if !ATTN_PAGE_ROWS || !ATTN_PACKED_HEADS
template <typename Words>
__device__ __forceinline__ Words buffer_load(Resource rows, int offset) {
  if constexpr (sizeof(Words) == sizeof(Words4)) {
    return __builtin_bit_cast(Words, buffer_load_16(rows, offset, 0, 0));
  } else {
    return __builtin_bit_cast(Words, buffer_load_8(rows, offset, 0, 0));
  }
}

#endif
constexpr int32_t kRawBuffer = 0x20000;  // data format 32: offsets and range in bytes
#if !ATTN_PAGE_ROWS || !ATTN_PACKED_HEADS
constexpr int kOutside = -1;  // an offset beyond every range
#endif

// `rows` rows of `columns` elements. The upper bits of an address are zero, which the resource's
// second word relies on.
__device__ __forceinline__ Resource rows_of(const uint8_t* first, int row_bytes, int rows,
                                            int columns) {
  const uint64_t base = reinterpret_cast<uint64_t>(first);
  const int bytes = rows > 0 ? (rows - 1) * row_bytes + columns * kElementBytes : 0;
  return {uniform(static_cast<int32_t>(base)), uniform(static_cast<int32_t>(base >> 32)),
          uniform(bytes), kRawBuffer};
}
