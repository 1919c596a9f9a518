// The host's handling of subnormal fp32 numbers stands in for the wave's: the flags "flush to zero"
// and "subnormals are zero" of the SSE control register.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace gfx90a {

inline constexpr unsigned kFlushFlags = 0x8040;

// MODE bits 4 and 5 allow subnormal fp32 inputs and results. Kernels are compiled for all or none.
inline void adopt_float_mode(uint32_t mode) {
  const unsigned others = _mm_getcsr() & ~kFlushFlags;
  _mm_setcsr((mode & 0x30) != 0 ? others : others | kFlushFlags);
}

// Flushing for the life of the object, or none.
class FlushSubnormals {
 public:
  explicit FlushSubnormals(bool flush) : before_(_mm_getcsr()) {
    const unsigned wanted = flush ? before_ | kFlushFlags : before_ & ~kFlushFlags;
    changed_ = wanted != before_;
    if (changed_) _mm_setcsr(wanted);
  }
  ~FlushSubnormals() {
    if (changed_) _mm_setcsr(before_);
  }
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

 private:
  unsigned before_;
  bool changed_;
};

}  // namespace gfx90a
