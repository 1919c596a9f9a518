// Scalar loads. Their results arrive at once; `Waits` knows that a program may not rely on it.
#include "buffer.h"
#include "lanes.h"
#include "opcodes.h"

namespace gfx90a {
namespace {

template <unsigned Dwords>
void s_load(Wave& wave, const Instruction& in) {
  const auto offset = static_cast<int32_t>(scalar32(wave, in.op[2]));
  const uint64_t base = wave.s64(in.op[1].first);
  const uint64_t address = (base + static_cast<uint64_t>(int64_t{offset} + in.offset)) & ~3ULL;
  const uint32_t* data = wave.block->memory.at<uint32_t>(address, size_t{4} * Dwords, false);
  std::memcpy(wave.s + in.op[0].first, data, size_t{4} * Dwords);
  wave.waits.issue_scalar(in, kVectorRows + in.op[0].first, Dwords);
}

template <unsigned Dwords>
void s_buffer_load(Wave& wave, const Instruction& in) {
  const BufferResource resource(wave, in.op[1].first);
  for (unsigned i = 0; i < Dwords; ++i) {
    const uint64_t offset = uint64_t{scalar32(wave, in.op[2])} + in.offset + uint64_t{4} * i;
    uint32_t value = 0;
    if (resource.holds(offset, 4)) {
      value = *wave.block->memory.at<uint32_t>(resource.base + offset, 4, false);
    }
    wave.s[in.op[0].first + i] = value;
  }
  wave.waits.issue_scalar(in, kVectorRows + in.op[0].first, Dwords);
}

}  // namespace

void add_scalar_memory_ops(OpcodeTable& table) {
  table.add(Pipe::Smem, {
                            {"s_load_dword", s_load<1>},
                            {"s_load_dwordx2", s_load<2>},
                            {"s_load_dwordx4", s_load<4>},
                            {"s_load_dwordx8", s_load<8>},
                            {"s_load_dwordx16", s_load<16>},
                            {"s_buffer_load_dword", s_buffer_load<1>},
                            {"s_buffer_load_dwordx2", s_buffer_load<2>},
                            {"s_buffer_load_dwordx4", s_buffer_load<4>},
                            {"s_buffer_load_dwordx8", s_buffer_load<8>},
                        });
}

}  // namespace gfx90a
