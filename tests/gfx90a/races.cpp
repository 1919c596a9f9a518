#include "races.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "fault.h"

namespace gfx90a {

Races::Races(uint32_t lds_bytes)
    : write_mark_(lds_bytes),
      write_wave_(lds_bytes),
      read_mark_(lds_bytes),
      read_waves_(lds_bytes) {}

void Races::report(uint32_t byte, bool write, unsigned wave) const {
  const bool after_write = write_mark_[byte] == now_ && write_wave_[byte] != wave;
  const auto others = static_cast<unsigned>(read_waves_[byte] & ~(1U << wave));
  const unsigned other =
      after_write ? write_wave_[byte] : static_cast<unsigned>(std::countr_zero(others));
  throw Fault(fmt::format(
      "race in LDS: wave {} {} byte {}, which wave {} {}, with no barrier between them (or the "
      "earlier access was not waited for before the barrier)",
      wave, write ? "writes" : "reads", byte, other, after_write ? "wrote" : "read"));
}

template <unsigned Bytes>
void Races::touch_bytes(const LdsAccess& access, unsigned wave) {
  const auto self = static_cast<uint16_t>(1U << wave), id = static_cast<uint16_t>(wave);
  const uint16_t now = now_;
  for (uint64_t lanes = access.lanes; lanes != 0; lanes &= lanes - 1) {
    const uint32_t first = access.address[std::countr_zero(lanes)];
    uint16_t* write_mark = write_mark_.data() + first;
    uint16_t* write_wave = write_wave_.data() + first;
    uint16_t* read_mark = read_mark_.data() + first;
    uint16_t* read_waves = read_waves_.data() + first;
    uint16_t conflict = 0;
    for (unsigned i = 0; i < Bytes; ++i) {
      const bool written = write_mark[i] == now && write_wave[i] != id;
      const auto others = static_cast<uint16_t>(read_waves[i] & ~self);
      const bool read = access.write && read_mark[i] == now && others != 0;
      conflict = static_cast<uint16_t>(conflict | (written || read ? 1 : 0));
    }
    if (conflict != 0) {
      for (uint32_t byte = first; byte < first + Bytes; ++byte) {
        const bool read = access.write && read_mark_[byte] == now &&
                          (read_waves_[byte] & ~self) != 0;
        const bool written = write_mark_[byte] == now && write_wave_[byte] != id;
        if (read || written) report(byte, access.write, wave);
      }
    }
    for (unsigned i = 0; i < Bytes; ++i) {
      if (access.write) {
        write_mark[i] = now;
        write_wave[i] = id;
      } else {
        read_waves[i] = static_cast<uint16_t>((read_mark[i] == now ? read_waves[i] : 0) | self);
        read_mark[i] = now;
      }
    }
  }
}

void Races::touch(const LdsAccess& access, unsigned wave, uint32_t interval) {
  if (interval != interval_) {
    interval_ = interval;
    if (++now_ == 0) {  // the marks have come round
      std::fill(write_mark_.begin(), write_mark_.end(), uint16_t{0});
      std::fill(read_mark_.begin(), read_mark_.end(), uint16_t{0});
      now_ = 1;
    }
  }
  switch (access.bytes) {
    case 16:
      return touch_bytes<16>(access, wave);
    case 12:
      return touch_bytes<12>(access, wave);
    case 8:
      return touch_bytes<8>(access, wave);
    case 4:
      return touch_bytes<4>(access, wave);
    case 2:
      return touch_bytes<2>(access, wave);
    default:
      return touch_bytes<1>(access, wave);
  }
}

}  // namespace gfx90a
