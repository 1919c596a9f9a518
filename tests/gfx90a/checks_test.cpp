// The checks of waits and races, and the counters, on single waves.
#include <array>
#include <random>

#include "test_support.h"

namespace gfx90a {
namespace {

// The fault that the lines give, run one after the other; "" for none. v1 is an LDS address.
std::string fault_in(const std::vector<std::string>& lines) {
  Lone lone(lines);
  static std::vector<uint32_t> data(64, 7);
  lone.memory().map(data.data(), 256, "data");
  lone.wave().set_s64(8, std::bit_cast<uint64_t>(data.data()));
  lone.wave().s[10] = 256;
  lone.wave().s[11] = 0x20000;
  lone.wave().s[kM0] = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    lone.wave().v[0][lane] = lone.wave().v[1][lane] = 4 * lane;
  }
  return fault_of([&] { lone.run_all(); });
}

const std::string kLoad = "global_load_dword v4, v0, s[8:9]", kUse = "v_mov_b32 v9, v4";

TEST_SUITE_BEGIN("waits");

TEST_CASE("a load's result before its wait") {
  const std::string fault = fault_in({kLoad, kUse});
  CHECK(fault.find("v4 is still under way from `global_load_dword v4, v0, s[8:9]`") == 0);
  CHECK(fault_in({kLoad, "s_waitcnt vmcnt(0)", kUse}).empty());
  CHECK(!fault_in({kLoad, "s_waitcnt lgkmcnt(0)", kUse}).empty());
  CHECK(!fault_in({kLoad, "v_mov_b32 v4, 0"}).empty());  // would be overwritten
  CHECK(!fault_in({kLoad, "global_store_dword v0, v4, s[8:9]"}).empty());
  CHECK(!fault_in({kLoad, "v_accvgpr_write_b32 a0, v4"}).empty());
  CHECK(fault_in({kLoad, "v_mov_b32 v0, 0"}).empty());  // its address has been read
}

TEST_CASE("vector memory ends in order, stores counted") {
  const std::string other = "global_load_dword v5, v0, s[8:9]",
                    store = "global_store_dword v0, v1, s[8:9]";
  CHECK(fault_in({kLoad, other, "s_waitcnt vmcnt(1)", kUse}).empty());
  CHECK(!fault_in({other, kLoad, "s_waitcnt vmcnt(1)", kUse}).empty());
  CHECK(fault_in({kLoad, store, "s_waitcnt vmcnt(1)", kUse}).empty());
  CHECK(!fault_in({kLoad, store, "s_waitcnt vmcnt(2)", kUse}).empty());
  CHECK(fault_in({kLoad, kLoad, "s_waitcnt vmcnt(0)", kUse}).empty());  // the same register again
  CHECK(!fault_in({kLoad, kLoad, "s_waitcnt vmcnt(1)", kUse}).empty());
}

TEST_CASE("LDS ends in order; scalar loads do not") {
  const std::string write = "ds_write_b32 v1, v0", read = "ds_read_b32 v4, v1",
                    second = "ds_read_b32 v5, v1", scalar = "s_load_dword s4, s[8:9], 0x0";
  CHECK(!fault_in({write, read, kUse}).empty());
  CHECK(fault_in({write, read, second, "s_waitcnt lgkmcnt(1)", kUse}).empty());
  CHECK(!fault_in({write, read, second, "s_waitcnt lgkmcnt(2)", kUse}).empty());
  CHECK(!fault_in({write, read, "s_waitcnt vmcnt(0)", kUse}).empty());
  CHECK(!fault_in({scalar, "s_mov_b32 s5, s4"}).empty());
  CHECK(fault_in({scalar, "s_waitcnt lgkmcnt(0)", "s_mov_b32 s5, s4"}).empty());
  CHECK(!fault_in({scalar, write, "s_waitcnt lgkmcnt(1)", "s_mov_b32 s5, s4"}).empty());
  // One of three may be under way: the scalar load, or the newest of LDS, but not the oldest.
  CHECK(fault_in({write, read, scalar, second, "s_waitcnt lgkmcnt(1)", kUse}).empty());
  CHECK(!fault_in({write, second, scalar, read, "s_waitcnt lgkmcnt(1)", kUse}).empty());
  CHECK(!fault_in({"ds_bpermute_b32 v4, v1, v0", kUse}).empty());
  CHECK(!fault_in({scalar, "v_mov_b32 v9, s4"}).empty());
}

TEST_CASE("a wait's largest value still waits, for counters are no longer than that") {
  std::vector<std::string> lines = {"ds_write_b32 v1, v0", "ds_read_b32 v4, v1"};
  for (int i = 0; i < 15; ++i) lines.emplace_back("ds_read_b32 v5, v1");
  lines.emplace_back("s_waitcnt lgkmcnt(15)");
  lines.push_back(kUse);
  CHECK(fault_in(lines).empty());
  lines.erase(lines.begin() + 5);
  CHECK(!fault_in(lines).empty());
}

TEST_CASE("transfers from memory to LDS, read by the same wave") {
  const std::string transfer = "buffer_load_dword v0, s[8:11], 0 offen lds",
                    read = "ds_read_b32 v4, v1";
  CHECK(fault_in({transfer, read})
            .find("touches LDS that `buffer_load_dword v0, s[8:11], 0 offen lds`") == 0);
  CHECK(fault_in({transfer, "s_waitcnt vmcnt(0)", read}).empty());
  CHECK(!fault_in({transfer, "s_waitcnt lgkmcnt(0)", read}).empty());
  CHECK(fault_in({transfer, "ds_read_b32 v4, v1 offset:256"}).empty());
}

TEST_SUITE_END();

TEST_SUITE_BEGIN("races");

LdsAccess access_of(bool write, uint16_t bytes, const std::function<uint32_t(unsigned)>& address,
                    uint64_t lanes = ~uint64_t{0}) {
  LdsAccess access;
  access.write = write;
  access.bytes = bytes;
  access.lanes = lanes;
  for (unsigned lane = 0; lane < kLanes; ++lane) access.address[lane] = address(lane);
  return access;
}

TEST_CASE("two waves in one interval") {
  for (const uint16_t bytes :
       {uint16_t{1}, uint16_t{2}, uint16_t{4}, uint16_t{8}, uint16_t{12}, uint16_t{16}}) {
    INFO(bytes);
    const auto address = [=](unsigned lane) { return lane * bytes; };
    const LdsAccess read = access_of(false, bytes, address),
                    write = access_of(true, bytes, address);
    const auto conflict = [&](const LdsAccess& first, const LdsAccess& second, unsigned wave,
                              uint32_t interval) {
      Races races(65536);
      races.touch(first, 0, 1);
      return fault_of([&] { races.touch(second, wave, interval); });
    };
    CHECK(
        conflict(write, read, 3, 1).find("race in LDS: wave 3 reads byte 0, which wave 0 wrote") ==
        0);
    CHECK(
        conflict(read, write, 3, 1).find("race in LDS: wave 3 writes byte 0, which wave 0 read") ==
        0);
    CHECK(conflict(write, write, 15, 1)
              .find("race in LDS: wave 15 writes byte 0, which wave 0 wrote") == 0);
    CHECK(conflict(read, read, 1, 1).empty());
    CHECK(conflict(write, read, 0, 1).empty());
    CHECK(conflict(write, read, 1, 2).empty());
    CHECK(conflict(read, write, 1, 2).empty());
  }
}

TEST_CASE("every pair of overlapping widths, and none that only touch") {
  for (uint32_t a = 0; a < 16; ++a) {
    for (const uint16_t a_bytes :
         {uint16_t{1}, uint16_t{2}, uint16_t{4}, uint16_t{8}, uint16_t{12}, uint16_t{16}}) {
      for (const uint16_t b_bytes :
           {uint16_t{1}, uint16_t{2}, uint16_t{4}, uint16_t{8}, uint16_t{12}, uint16_t{16}}) {
        const uint32_t at = a / (a_bytes < 4 ? a_bytes : 4) * (a_bytes < 4 ? a_bytes : 4), b = 16;
        Races races(256);
        races.touch(access_of(
                        true, a_bytes, [=](unsigned) { return at + 4; }, 1),
                    0, 0);
        const LdsAccess read = access_of(
            false, b_bytes, [=](unsigned) { return b; }, 1);
        const bool overlap = at + 4 < b + b_bytes && b < at + 4 + a_bytes;
        CHECK(fault_of([&] { races.touch(read, 1, 0); }).empty() == !overlap);
      }
    }
  }
}

TEST_CASE("several readers, then the reader's own write") {
  Races races(256);
  const auto address = [](unsigned) { return 0; };
  const LdsAccess read = access_of(false, 4, address, 1), write = access_of(true, 4, address, 1);
  races.touch(read, 1, 0);
  races.touch(write, 1, 0);
  races.touch(read, 1, 0);
  races.touch(read, 1, 1);
  races.touch(read, 2, 1);
  CHECK(!fault_of([&] { races.touch(write, 1, 1); }).empty());
}

// Waves write and read a part of LDS each and read a common part, into which they seldom write. A
// conflict ends its interval.
TEST_CASE("random accesses against sets of waves kept for every byte") {
  constexpr uint32_t kOwn = 1536, kCommon = 4 * kOwn, kBytes = 10240;
  constexpr std::array<uint16_t, 6> kWidths = {1, 2, 4, 8, 12, 16};
  std::mt19937 random(1);
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  Races races(kBytes);
  std::vector<unsigned> readers(kBytes), writers(kBytes);
  uint32_t interval = 0;
  int conflicts = 0;
  const auto next_interval = [&] {
    ++interval;
    readers.assign(kBytes, 0);
    writers.assign(kBytes, 0);
  };
  for (int i = 0; i < 60000; ++i) {
    if (below(1000) == 0) next_interval();
    const unsigned wave = below(4), others = ~(1U << wave);
    const bool common = below(4) != 0, write = below(common ? 500 : 2) == 0;
    const uint16_t bytes = kWidths[below(8) == 0 ? below(6) : 2 + below(4)];
    const uint32_t unit = bytes < 4 ? bytes : 4, from = common ? kCommon : kOwn * wave;
    const uint32_t most = ((common ? kBytes : from + kOwn) - from - bytes) / unit + 1;
    const uint64_t lanes = below(2) == 0 ? ~uint64_t{0} : uint64_t{random()} << below(32) | 1;
    const uint32_t first = below(most), stride = below(40);
    const LdsAccess access = access_of(
        write, bytes, [&](unsigned lane) { return from + (first + lane * stride) % most * unit; },
        lanes);
    unsigned met = 0;
    const auto each_byte = [&](const std::function<void(uint32_t)>& visit) {
      for_lanes(lanes, [&](unsigned lane) {
        for (uint32_t b = 0; b < bytes; ++b) visit(access.address[lane] + b);
      });
    };
    each_byte([&](uint32_t b) { met |= (writers[b] | (write ? readers[b] : 0)) & others; });
    const bool fault = !fault_of([&] { races.touch(access, wave, interval); }).empty();
    REQUIRE(fault == (met != 0));
    each_byte([&](uint32_t b) { (write ? writers : readers)[b] |= 1U << wave; });
    if (!fault) continue;
    ++conflicts;
    next_interval();
  }
  CHECK(conflicts > 20);
}

TEST_CASE("marks of intervals come round") {
  Races races(256);
  const LdsAccess write = access_of(
      true, 4, [](unsigned) { return 0; }, 1);
  const LdsAccess elsewhere = access_of(
      true, 4, [](unsigned) { return 8; }, 1);
  races.touch(write, 0, 0);
  for (uint32_t interval = 1; interval <= 65536; ++interval) races.touch(elsewhere, 0, interval);
  races.touch(write, 1, 65536);
  CHECK(!fault_of([&] { races.touch(write, 2, 65536); }).empty());
}

TEST_SUITE_END();

TEST_SUITE_BEGIN("counters");

TEST_CASE("bank conflicts") {
  const auto cost = [](bool write, uint16_t bytes, const std::function<uint32_t(unsigned)>& address,
                       uint64_t lanes = ~uint64_t{0}) {
    const LdsCost c = lds_cost(access_of(write, bytes, address, lanes));
    return std::pair(c.cycles, c.conflicts);
  };
  using Pair = std::pair<uint32_t, uint32_t>;
  CHECK(cost(false, 4, [](unsigned l) { return 4 * l; }) == Pair{2, 0});
  CHECK(cost(false, 4, [](unsigned) { return 4; }) == Pair{2, 0});  // one dword for all
  CHECK(cost(false, 4, [](unsigned l) { return 8 * l; }) == Pair{4, 2});
  CHECK(cost(false, 4, [](unsigned l) { return 128 * l; }) == Pair{64, 62});
  CHECK(cost(false, 4, [](unsigned l) { return 132 * l; }) == Pair{2, 0});  // a padded row
  CHECK(cost(
            false, 4, [](unsigned l) { return 128 * l; }, 0xFF) == Pair{8, 7});
  CHECK(cost(false, 8, [](unsigned l) { return 8 * l; }) == Pair{4, 0});
  CHECK(cost(false, 8, [](unsigned l) { return 16 * l; }) == Pair{8, 4});
  CHECK(cost(true, 16, [](unsigned l) { return 16 * l; }) == Pair{8, 0});
  CHECK(cost(false, 16, [](unsigned l) { return 16 * l; }) == Pair{8, 0});
  // Rows of 128 bytes with 16-byte groups exchanged by row: free to read by any 8 neighbouring
  // rows, not by the groups of lanes 0-3 with 20-23, whose rows differ by 20.
  const auto swizzled = [](unsigned l) { return 128 * l + 16 * (l % 8); };
  CHECK(cost(true, 16, swizzled) == Pair{8, 0});
  CHECK(cost(false, 16, swizzled) == Pair{8, 0});
  const auto by_four = [](unsigned l) { return 128 * l + 16 * (l / 4 % 8); };
  CHECK(cost(true, 16, by_four) == Pair{32, 24});
  // Lanes 0-3 and 20-23 in the same banks: conflicts for reads alone.
  const auto apart = [](unsigned l) { return l < 20 ? 16 * (l % 8) : 128 * l + 16 * (l % 4); };
  CHECK(cost(true, 16, apart, 0xF).second == 0);
  CHECK(cost(false, 16, apart, 0xF0000F).second == 1);
  CHECK(cost(true, 16, apart, 0xF0000F).second == 0);
}

TEST_CASE("a repeated pattern is counted again; segments of memory") {
  Lone lone(
      {"ds_write_b32 v1, v0", "global_load_dwordx4 v[4:7], v2, s[8:9]", "s_waitcnt vmcnt(0)"});
  const std::vector<uint32_t> data(1024);
  lone.memory().map(data.data(), 4096, "data");
  const uint64_t base = (std::bit_cast<uint64_t>(data.data()) + 127) / 128 * 128;
  lone.wave().set_s64(8, base);
  const auto set = [&](unsigned row, const std::function<uint32_t(unsigned)>& value) {
    for (unsigned lane = 0; lane < kLanes; ++lane) lone.wave().v[row][lane] = value(lane);
  };
  set(1, [](unsigned l) { return 8 * l; });
  lone.step(0);
  set(1, [](unsigned l) { return 8 * l + 4; });  // the same differences
  lone.step(0);
  set(1, [](unsigned l) { return 4 * l; });
  lone.step(0);
  CHECK(lone.counters().of(0).lds_cycles == 4 + 4 + 2);
  CHECK(lone.counters().of(0).lds_conflicts == 4);
  set(2, [](unsigned l) { return 16 * l; });
  lone.step(1);
  lone.step(2);
  CHECK(lone.counters().of(1).segments64 == 16);
  CHECK(lone.counters().of(1).segments128 == 8);
  CHECK(lone.counters().of(1).bytes == 1024);
  set(2, [](unsigned l) { return 64 * ((7 * l) % 32) + 56; });  // across the ends of segments
  lone.step(1);
  CHECK(lone.counters().of(1).segments64 == 16 + 33);
  CHECK(lone.counters().of(1).segments128 == 8 + 17);
}

TEST_SUITE_END();

}  // namespace
}  // namespace gfx90a
