// The four-dword buffer resource.
#pragma once

#include <fmt/format.h>

#include "fault.h"
#include "wave.h"

namespace gfx90a {

// Raw buffers only: no stride, no swizzle, no added thread id. Offsets are checked dword by dword
// against num_records, without wrapping at 2^32; what lies beyond reads as 0 and is not written.
struct BufferResource {
  BufferResource(const Wave& wave, unsigned first_sgpr) {
    const uint32_t* word = wave.s + first_sgpr;
    base = word[0] | static_cast<uint64_t>(word[1] & 0xFFFF) << 32;
    bytes = word[2];
    const bool raw = word[1] >> 16 == 0, data_format = ((word[3] >> 15) & 0xF) != 0;
    const bool add_thread_id = ((word[3] >> 23) & 1) != 0, buffer_type = word[3] >> 30 == 0;
    if (!raw || add_thread_id || !buffer_type) {
      throw Fault(fmt::format("buffer resource {:08x} {:08x} {:08x} {:08x} is not a raw buffer",
                              word[0], word[1], word[2], word[3]));
    }
    if (!data_format) {
      throw Fault(
          fmt::format("word 3 of the buffer resource, {:#010x}, has data format 0: to the "
                      "hardware no buffer is bound",
                      word[3]));
    }
  }
  bool holds(uint64_t offset, unsigned size) const {
    if (offset >= bytes) return false;
    if (offset + size <= bytes) return true;
    throw Fault(
        fmt::format("{} bytes at offset {} straddle the end of a buffer of {} bytes: what "
                    "the hardware does is not known",
                    size, offset, bytes));
  }

  uint64_t base = 0;
  uint64_t bytes = 0;  // num_records
};

}  // namespace gfx90a
