// LDS, buffers and global memory.
#include <numeric>

#include "test_support.h"

namespace gfx90a {
namespace {

TEST_SUITE_BEGIN("memory");

void fill_lanes(Lone& lone, unsigned row, const std::function<uint32_t(unsigned)>& value) {
  for (unsigned lane = 0; lane < kLanes; ++lane) lone.wave().v[row][lane] = value(lane);
}

TEST_CASE("LDS reads and writes of every width") {
  const std::string wait = "s_waitcnt lgkmcnt(0)";
  Lone lone({"ds_write_b128 v0, v[4:7] offset:64",
             "ds_read_b128 v[8:11], v0 offset:64",
             wait,
             "ds_read_b96 v[8:10], v0 offset:64",
             wait,
             "ds_read_b64 v[8:9], v0 offset:68",
             wait,
             "ds_read_b32 v8, v0 offset:72",
             wait,
             "ds_read_u16 v8, v0 offset:66",
             wait,
             "ds_read_i16 v8, v0 offset:66",
             wait,
             "ds_read_u8 v8, v0 offset:65",
             wait,
             "ds_read_i8 v8, v0 offset:67",
             wait,
             "ds_read_u16_d16_hi v8, v0 offset:64",
             wait,
             "ds_read_u16_d16 v8, v0 offset:66",
             wait});
  Wave& wave = lone.wave();
  fill_lanes(lone, 0, [](unsigned lane) { return 16 * lane; });
  for (unsigned i = 0; i < 4; ++i) {
    fill_lanes(lone, 4 + i, [=](unsigned lane) { return 0xF1E20304 + 0x10000 * i + lane; });
  }
  const auto dword = [](unsigned i, unsigned lane) { return 0xF1E20304 + 0x10000 * i + lane; };
  lone.step(0);
  lone.step(1);
  lone.step(2);
  CHECK(wave.v[11][63] == dword(3, 63));
  lone.step(3);
  lone.step(4);
  CHECK(wave.v[10][5] == dword(2, 5));
  lone.step(5);
  lone.step(6);
  CHECK(wave.v[9][5] == dword(2, 5));
  lone.step(7);
  lone.step(8);
  CHECK(wave.v[8][5] == dword(2, 5));
  const std::vector<uint32_t> expected = {0xF1E2, 0xFFFFF1E2, 0x03, 0xFFFFFFF1};
  for (size_t i = 0; i < expected.size(); ++i) {
    lone.step(9 + 2 * i);
    lone.step(10 + 2 * i);
    CHECK(wave.v[8][0] == expected[i]);
  }
  fill_lanes(lone, 8, [](unsigned) { return 0xAAAABBBB; });
  lone.step(17);
  lone.step(18);
  CHECK(wave.v[8][0] == 0x0304BBBB);
  lone.step(19);
  lone.step(20);
  CHECK(wave.v[8][0] == 0x0304F1E2);
}

TEST_CASE("paired LDS accesses and narrow writes") {
  Lone lone({"ds_write2_b32 v0, v4, v5 offset0:1 offset1:3",
             "ds_write2st64_b64 v0, v[4:5], v[6:7] offset1:2",
             "ds_read2_b32 v[8:9], v0 offset0:1 offset1:3", "ds_read2_b64 v[10:13], v0 offset1:128",
             "ds_write_b16_d16_hi v0, v6 offset:8", "ds_write_b8 v0, v4 offset:8",
             "ds_read_b32 v14, v0 offset:8", "s_waitcnt lgkmcnt(0)"});
  fill_lanes(lone, 0, [](unsigned lane) { return 16 * lane; });
  for (unsigned i = 4; i < 8; ++i) fill_lanes(lone, i, [=](unsigned) { return 0x01010101 * i; });
  lone.run_all();
  const Wave& wave = lone.wave();
  CHECK(wave.v[8][3] == 0x05050505);  // the second write went over the first
  CHECK(wave.v[9][3] == 0x05050505);
  CHECK(wave.v[10][3] == 0x04040404);
  CHECK(wave.v[11][3] == 0x05050505);
  CHECK(wave.v[12][0] == 0x06060606);
  CHECK(wave.v[13][0] == 0x07070707);
  CHECK(wave.v[14][3] == ((kPoison & 0xFFFF0000) | 0x0604));
}

TEST_CASE("LDS out of bounds or unaligned is refused, in active lanes only") {
  Lone lone({"ds_read_b128 v[4:7], v0 offset:16"});
  fill_lanes(lone, 0, [](unsigned lane) { return lane == 9 ? 65536 - 16 : 0; });
  CHECK(fault_of([&] { lone.step(0); }) ==
        "reads 16 bytes of LDS at 0x10000 (lane 9); the block has 65536 bytes, and the address "
        "must be a multiple of 4");
  lone.reset();
  fill_lanes(lone, 0, [](unsigned lane) { return lane == 9 ? 0xFFFFFFF4 : 0; });
  CHECK(fault_of([&] { lone.step(0); }).find("(lane 9)") != std::string::npos);
  lone.reset();
  fill_lanes(lone, 0, [](unsigned lane) { return lane == 9 ? 2 : 0; });
  CHECK(fault_of([&] { lone.step(0); }).find("multiple of 4") != std::string::npos);
  lone.reset();
  lone.wave().set_s64(kExec, ~(uint64_t{1} << 9));
  fill_lanes(lone, 0, [](unsigned lane) { return lane == 9 ? 65536 - 16 : 0; });
  CHECK(fault_of([&] { lone.step(0); }).empty());
}

struct BufferData {
  explicit BufferData(Lone& lone, uint32_t bytes) : data(64) {
    std::iota(data.begin(), data.end(), 100);
    lone.memory().map(data.data(), 256, "data");
    lone.wave().set_s64(8, std::bit_cast<uint64_t>(data.data()));
    lone.wave().s[10] = bytes;
    lone.wave().s[11] = 0x20000;
  }
  std::vector<uint32_t> data;
};

TEST_CASE("buffer loads beyond the range give 0, dword by dword; stores are dropped") {
  Lone lone({"buffer_load_dwordx4 v[4:7], v0, s[8:11], 0 offen offset:4",
             "buffer_store_dwordx2 v[2:3], v0, s[8:11], s4 offen",
             "buffer_load_dword v9, off, s[8:11], s4 offset:8",
             "buffer_load_ushort v12, v0, s[8:11], 0 offen offset:2",
             "buffer_store_short v2, v0, s[8:11], 0 offen", "s_waitcnt vmcnt(0)"});
  BufferData buffer(lone, 40);
  fill_lanes(lone, 0, [](unsigned lane) { return lane == 63 ? 0xFFFFFFF8 : 8 * lane; });
  fill_lanes(lone, 2, [](unsigned lane) { return 1000 + lane; });
  fill_lanes(lone, 3, [](unsigned lane) { return 2000 + lane; });
  lone.wave().s[4] = 4;
  Wave& wave = lone.wave();
  lone.step(0);
  lone.step(5);
  CHECK(wave.v[4][0] == 101);
  CHECK(wave.v[7][0] == 104);
  CHECK(wave.v[4][3] == 107);  // bytes 28, 32, 36 exist, 40 does not
  CHECK(wave.v[6][3] == 109);
  CHECK(wave.v[7][3] == 0);
  CHECK(wave.v[4][5] == 0);
  CHECK(wave.v[4][63] == 0);  // 2^32 - 4, and no way round to 0
  CHECK(wave.v[5][63] == 0);
  wave.set_s64(kExec, 0x8000000000000011);  // lanes 0, 4, 63
  lone.step(1);
  CHECK(buffer.data[1] == 1000);
  CHECK(buffer.data[2] == 2000);
  CHECK(buffer.data[9] == 1004);
  CHECK(buffer.data[10] == 110);  // byte 40
  lone.step(2);
  lone.step(5);
  CHECK(wave.v[9][0] == 103);
  lone.step(3);
  lone.step(5);
  CHECK(wave.v[12][0] == 0);  // the upper half of 100
  lone.step(4);
  CHECK((buffer.data[0] & 0xFFFF) == 1000);
}

TEST_CASE("buffer resources that are not modelled are refused") {
  Lone lone({"buffer_load_dword v4, off, s[8:11], 0"});
  const BufferData buffer(lone, 40);
  lone.wave().s[11] = 0;
  CHECK(fault_of([&] { lone.step(0); }).find("data format 0") != std::string::npos);
  lone.wave().s[11] = 0x20000;
  lone.wave().s[9] |= 16 << 16;  // a stride
  CHECK(fault_of([&] { lone.step(0); }).find("not a raw buffer") != std::string::npos);
  lone.wave().s[9] &= 0xFFFF;
  lone.wave().s[10] = 3;
  CHECK(fault_of([&] { lone.step(0); }).find("straddle the end") != std::string::npos);
}

TEST_CASE("memory outside what is mapped is refused, reads or writes") {
  Lone lone({"global_load_dwordx2 v[4:5], v0, s[8:9] offset:8", "global_store_dword v0, v2, s[8:9]",
             "global_load_dword v4, v[0:1], off offset:-4", "s_waitcnt vmcnt(0)"});
  BufferData buffer(lone, 0);
  fill_lanes(lone, 0, [](unsigned lane) { return 4 * lane; });
  lone.wave().set_s64(kExec, 0xFF);
  lone.step(0);
  lone.step(3);
  CHECK(lone.wave().v[5][7] == 110);
  lone.wave().set_s64(kExec, ~uint64_t{0});
  const std::string text = fault_of([&] { lone.step(0); });
  CHECK(text.find("reads 8 bytes at") == 0);
  CHECK(text.find("`data` has 256 bytes, and this is its byte 252") != std::string::npos);
  lone.memory().unmap(buffer.data.data());
  lone.memory().map(buffer.data.data(), 256, "data", Access::Read);
  CHECK(fault_of([&] { lone.step(1); }).find("in `data`, which is read-only") != std::string::npos);
  const auto address = std::bit_cast<uint64_t>(buffer.data.data());
  fill_lanes(lone, 0,
             [=](unsigned lane) { return static_cast<uint32_t>(address + uint64_t{4} * lane); });
  fill_lanes(lone, 1, [=](unsigned) { return static_cast<uint32_t>(address >> 32); });
  CHECK(fault_of([&] { lone.step(2); }).find("this is its byte -4") != std::string::npos);
}

TEST_CASE("from memory straight to LDS") {
  Lone lone({"buffer_load_dword v0, s[8:11], 0 offen offset:4 lds", "s_waitcnt vmcnt(0)",
             "ds_read_b32 v4, v1", "s_waitcnt lgkmcnt(0)"});
  const BufferData buffer(lone, 256);
  lone.wave().s[kM0] = 512;
  fill_lanes(lone, 0, [](unsigned lane) { return 4 * (63 - lane); });
  fill_lanes(lone, 1, [](unsigned lane) { return 512 + 4 + 4 * lane; });
  lone.run_all();
  CHECK(lone.wave().v[4][0] == 0);  // byte 256 is out of range
  CHECK(lone.wave().v[4][1] == 163);
  CHECK(lone.wave().v[4][63] == 101);
}

TEST_CASE("atomic additions") {
  Lone lone({"global_atomic_add v0, v2, s[8:9]", "global_atomic_add v4, v0, v2, s[8:9] glc",
             "buffer_atomic_add_f32 v3, v0, s[8:11], 0 offen", "s_waitcnt vmcnt(0)"});
  BufferData buffer(lone, 256);
  fill_lanes(lone, 0, [](unsigned lane) { return lane < 32 ? 0 : 4; });
  fill_lanes(lone, 2, [](unsigned) { return 2; });
  fill_lanes(lone, 3, [](unsigned) { return f32(0.5F); });
  lone.step(0);
  CHECK(buffer.data[0] == 164);
  CHECK(buffer.data[1] == 165);
  lone.step(1);
  lone.step(3);
  CHECK(lone.wave().v[4][31] == 164 + 62);
  buffer.data[0] = buffer.data[1] = f32(1);
  lone.step(2);
  CHECK(buffer.data[1] == f32(17));
}

TEST_SUITE_END();

}  // namespace
}  // namespace gfx90a
