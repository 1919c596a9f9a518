#include "races.h"

#include <fmt/format.h>
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <bit>

#include "fault.h"

namespace gfx90a {
namespace {

bool of_dwords(const LdsAccess& access) {
  if (access.bytes % 4 != 0) return false;
  uint32_t odd = 0;
  for (const uint32_t address : access.address) odd |= address;
  if (odd % 4 == 0) return true;
  odd = 0;
  for_lanes(access.lanes, [&](unsigned lane) { odd |= access.address[lane]; });
  return odd % 4 == 0;
}

// The pages of a kilobyte, 64 in all, that lie between the access's lowest and highest byte.
uint64_t pages_of(const LdsAccess& access) {
  if (access.lanes == 0) return 0;
  uint32_t low = ~uint32_t{0}, high = 0;
  const auto add = [&](uint32_t address) {
    low = std::min(low, address);
    high = std::max(high, address);
  };
  if (access.lanes == ~uint64_t{0}) {
    for (const uint32_t address : access.address) add(address);
  } else {
    for_lanes(access.lanes, [&](unsigned lane) { add(access.address[lane]); });
  }
  const uint32_t first = low / 1024, last = (high + access.bytes - 1) / 1024;
  return (~uint64_t{0} << first) & (~uint64_t{0} >> (63 - last));
}

// The addresses of the active lanes, one behind the other; the last is repeated up to a multiple of
// four.
struct ActiveAddresses {
  explicit ActiveAddresses(const LdsAccess& access) : address(access.address) {
    if (access.lanes == ~uint64_t{0}) return;
    count = 0;
    for_lanes(access.lanes, [&](unsigned lane) { buffer[count++] = access.address[lane]; });
    for (; count % 4 != 0; ++count) buffer[count] = buffer[count - 1];
    address = buffer;
  }
  const uint32_t* address;
  unsigned count = kLanes;
  uint32_t buffer[kLanes];
};

// The entries of Count dwords at each of 4 / Count places.
template <unsigned Count, class Places>
__m256i load_entries(const Places& at) {
  const auto two = [&](unsigned i) {
    if constexpr (Count == 1)
      return _mm_unpacklo_epi64(_mm_loadu_si64(at[i]), _mm_loadu_si64(at[i + 1]));
    if constexpr (Count == 2) return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at[i]));
  };
  if constexpr (Count == 4) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at[0]));
  } else {
    return _mm256_set_m128i(two(2 / Count), two(0));
  }
}
template <unsigned Count, class Places>
void store_entries(const Places& at, __m256i entries) {
  const __m128i low = _mm256_castsi256_si128(entries), high = _mm256_extracti128_si256(entries, 1);
  const auto put = [](void* to, __m128i two) { _mm_storeu_si128(static_cast<__m128i*>(to), two); };
  if constexpr (Count == 4) _mm256_storeu_si256(reinterpret_cast<__m256i*>(at[0]), entries);
  if constexpr (Count == 2) {
    put(at[0], low);
    put(at[1], high);
  }
  if constexpr (Count == 1) {
    _mm_storeu_si64(at[0], low);
    _mm_storeu_si64(at[1], _mm_unpackhi_epi64(low, low));
    _mm_storeu_si64(at[2], high);
    _mm_storeu_si64(at[3], _mm_unpackhi_epi64(high, high));
  }
}

}  // namespace

// Up to four dwords' entries at a time, sixteen numbers: for each dword the mark and set of the
// writers, then of the readers.
class Races::Entries {
 public:
  Entries(bool write, unsigned wave, uint16_t now) {
    const uint64_t self = uint64_t{1} << wave, mark = now, set = 0xFFFF;
    const uint64_t writers = (set & ~self) << 16, readers = (set & ~self) << 48;
    marks_ = all(mark | mark << 16 | mark << 32 | mark << 48);
    others_ = all(write ? writers | readers : writers);
    mine_ = all(mark | self << 16 | mark << 32 | self << 48);
    replaced_ = all(write ? 0xFFFFFFFF : 0xFFFFFFFF00000000);
  }
  // Adds this access; false, and nothing added, if it conflicts.
  bool add(__m256i& entries) const {
    // The sets whose marks, just below them, are this interval's.
    const __m256i current = _mm256_slli_epi32(_mm256_cmpeq_epi16(entries, marks_), 16);
    const __m256i sets = _mm256_and_si256(entries, current);
    if (_mm256_testz_si256(sets, others_) == 0) return false;
    entries = _mm256_blendv_epi8(entries, _mm256_or_si256(sets, mine_), replaced_);
    return true;
  }

 private:
  static __m256i all(uint64_t entry) { return _mm256_set1_epi64x(static_cast<int64_t>(entry)); }
  __m256i marks_, others_, mine_, replaced_;
};

Races::Races(uint32_t lds_bytes) : lds_bytes_(lds_bytes), dwords_(lds_bytes / 4 + 1) {}

unsigned Races::conflicts(const Who& who, bool write, unsigned wave) const {
  const unsigned writers = who.write_mark == now_ ? who.writers : 0;
  const unsigned readers = write && who.read_mark == now_ ? who.readers : 0;
  return (writers | readers) & ~(1U << wave);
}

void Races::check(const LdsAccess& access, unsigned wave) const {
  for_lanes(access.lanes, [&](unsigned lane) {
    for (uint32_t i = 0; i < access.bytes; ++i) {
      const uint32_t byte = access.address[lane] + i;
      const Who a = dwords_[byte / 4], b = by_byte_ ? bytes_[byte] : Who{};
      const unsigned all = conflicts(a, access.write, wave) | conflicts(b, access.write, wave);
      if (all == 0) continue;
      const unsigned writers = conflicts(a, false, wave) | conflicts(b, false, wave);
      throw Fault(fmt::format(
          "race in LDS: wave {} {} byte {}, which wave {} {}, with no barrier between them (or the "
          "earlier access was not waited for before the barrier)",
          wave, access.write ? "writes" : "reads", byte,
          std::countr_zero(writers != 0 ? writers : all), writers != 0 ? "wrote" : "read"));
    }
  });
}

template <unsigned Count>
void Races::touch_dwords(const LdsAccess& access, unsigned first, unsigned wave) {
  const Entries mine(access.write, wave, now_);
  constexpr unsigned kTogether =
      4 / Count;  // lanes; they may share a dword, to which they add the same
  const ActiveAddresses active(access);
  for (unsigned i = 0; i < active.count; i += kTogether) {
    std::array<Who*, kTogether> at;
    for (unsigned n = 0; n < kTogether; ++n) at[n] = &dwords_[active.address[i + n] / 4 + first];
    __m256i entries = load_entries<Count>(at);
    if (!mine.add(entries)) check(access, wave);
    store_entries<Count>(at, entries);
  }
}

void Races::touch_bytes(const LdsAccess& access, unsigned wave) {
  bytes_.resize(lds_bytes_);
  by_byte_ = true;
  check(access, wave);
  for_lanes(access.lanes, [&](unsigned lane) {
    for (uint32_t i = 0; i < access.bytes; ++i) {
      Who& who = bytes_[access.address[lane] + i];
      uint16_t& mark = access.write ? who.write_mark : who.read_mark;
      uint16_t& waves = access.write ? who.writers : who.readers;
      waves = static_cast<uint16_t>((mark == now_ ? waves : 0U) | 1U << wave);
      mark = now_;
    }
  });
}

void Races::start_interval(uint32_t interval) {
  interval_ = interval;
  by_byte_ = false;
  aside_.clear();
  pages_aside_ = pages_written_ = 0;
  if (++now_ != 0) return;
  std::fill(dwords_.begin(), dwords_.end(), Who{});  // the marks have come round
  std::fill(bytes_.begin(), bytes_.end(), Who{});
  now_ = 1;
}

bool Races::put_aside(const LdsAccess& access, unsigned wave, uint64_t pages) {
  if ((pages & pages_written_) != 0 || aside_.size() == kMostAside) return false;
  Read& read = aside_.emplace_back();
  read.bytes = access.bytes;
  read.wave = static_cast<uint16_t>(wave);
  read.lanes = access.lanes;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    read.address[lane] = static_cast<uint16_t>(access.address[lane]);
  }
  pages_aside_ |= pages;
  return true;
}

void Races::bring_back() {
  LdsAccess access;
  for (const Read& read : aside_) {
    access.bytes = read.bytes;
    access.lanes = read.lanes;
    std::copy(read.address.begin(), read.address.end(), access.address);
    record(access, read.wave);
  }
  aside_.clear();
  pages_aside_ = 0;
}

void Races::record(const LdsAccess& access, unsigned wave) {
  if (!of_dwords(access)) return touch_bytes(access, wave);
  if (by_byte_) check(access, wave);
  if (access.bytes == 16) return touch_dwords<4>(access, 0, wave);
  if (access.bytes >= 8) touch_dwords<2>(access, 0, wave);
  if (access.bytes % 8 != 0) touch_dwords<1>(access, access.bytes / 4 - 1U, wave);
}

void Races::touch(const LdsAccess& access, unsigned wave, uint32_t interval) {
  if (interval != interval_) start_interval(interval);
  const uint64_t pages = pages_of(access);
  if (!access.write && put_aside(access, wave, pages)) return;
  if (access.write) {
    if ((pages & pages_aside_) != 0) bring_back();
    pages_written_ |= pages;
  }
  record(access, wave);
}

}  // namespace gfx90a
