#include "machine.h"

#include <cpuid.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <random>

#include "float_mode.h"
#include "wave.h"

namespace gfx90a {
namespace {

uint64_t address_of(const void* data) { return std::bit_cast<uint64_t>(data); }

// Memory that exists during one launch.
class Mapping {
 public:
  Mapping(Memory& memory, const std::vector<std::byte>& data, const char* name)
      : memory_(memory), data_(data.data()) {
    memory_.map(static_cast<const void*>(data_), data.size(), name);
  }
  ~Mapping() { memory_.unmap(data_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

 private:
  Memory& memory_;
  const void* data_;
};

template <class T>
void put(std::vector<std::byte>& bytes, size_t offset, T value) {
  if (offset + sizeof value <= bytes.size())
    std::memcpy(bytes.data() + offset, &value, sizeof value);
}

// The arguments, and behind them, at a multiple of 8, the hidden ones: in code object version 4 the
// global offsets (zero), in version 5 the sizes of grid and block. Other hidden arguments are
// poison.
std::vector<std::byte> make_kernarg(const Kernel& kernel, const Launch& launch) {
  const size_t size = kernel.descriptor().kernarg_bytes;
  if (launch.kernarg.size() > size) {
    throw Fault(fmt::format("{} takes {} bytes of arguments; {} were given",
                            kernel.descriptor().name, size, launch.kernarg.size()));
  }
  std::vector<std::byte> bytes(std::max<size_t>(size, 8), std::byte{0xA5});
  std::copy(launch.kernarg.begin(), launch.kernarg.end(), bytes.begin());
  const size_t hidden = (launch.kernarg.size() + 7) / 8 * 8;
  if (kernel.object().abi_version < 3) {
    for (size_t i = 0; i < 3; ++i) put(bytes, hidden + 8 * i, uint64_t{0});
    return bytes;
  }
  const uint32_t grid[3] = {launch.grid.x, launch.grid.y, launch.grid.z};
  const uint32_t block[3] = {launch.block.x, launch.block.y, launch.block.z};
  for (size_t i = 0; i < 3; ++i) {
    put(bytes, hidden + 4 * i, grid[i]);
    put(bytes, hidden + 12 + 2 * i, static_cast<uint16_t>(block[i]));
    put(bytes, hidden + 18 + 2 * i, uint16_t{0});  // no partial blocks
    put(bytes, hidden + 40 + 8 * i, uint64_t{0});
  }
  put(bytes, hidden + 64, uint16_t{3});
  return bytes;
}

// The parts of the 64-byte dispatch packet that kernels read.
std::vector<std::byte> make_packet(const Launch& launch) {
  std::vector<std::byte> bytes(64);
  const uint32_t grid[3] = {launch.grid.x, launch.grid.y, launch.grid.z};
  const uint32_t block[3] = {launch.block.x, launch.block.y, launch.block.z};
  for (size_t i = 0; i < 3; ++i) {
    put(bytes, 4 + 2 * i, static_cast<uint16_t>(block[i]));
    put(bytes, 12 + 4 * i, grid[i] * block[i]);
  }
  return bytes;
}

class Run {
 public:
  Run(const Kernel& kernel, const Launch& launch, Memory& memory, Counters& counters)
      : kernel_(kernel),
        launch_(launch),
        memory_(memory),
        counters_(counters),
        random_(launch.seed),
        kernarg_(make_kernarg(kernel, launch)),
        packet_(make_packet(launch)),
        threads_(launch.block.x * launch.block.y * launch.block.z) {
    if (threads_ == 0 || threads_ > 1024) throw Fault("a block has 1 to 1024 threads");
    const uint64_t lds = uint64_t{kernel.descriptor().lds_bytes} + launch.dynamic_lds;
    if (lds > 65536) throw Fault(fmt::format("{} bytes of LDS; a block has 65536", lds));
  }

  void grid() {
    const Mapping image(memory_, kernel_.object().image, "the code object");
    const Mapping kernarg(memory_, kernarg_, "the arguments");
    const Mapping packet(memory_, packet_, "the dispatch packet");
    const FlushSubnormals restored_at_end(false);
    const Dim3& size = launch_.grid;
    std::vector<uint32_t> order(size_t{size.x} * size.y * size.z);
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    if (launch_.shuffle) {
      for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_() % i]);
    }
    for (const uint32_t i : order) {
      block({i % size.x, i / size.x % size.y, i / size.x / size.y});
    }
  }

 private:
  void block(const Dim3& id) {
    Block block(kernel_.descriptor().lds_bytes + launch_.dynamic_lds, (threads_ + 63) / 64, memory_,
                counters_);
    block.image = address_of(kernel_.object().image.data());
    for (unsigned i = 0; i < block.wave.size(); ++i) start(*block.wave[i], block, i, id);
    std::vector<Wave*> running;
    for (;;) {
      running.clear();
      for (const auto& wave : block.wave) {
        if (wave->state == Wave::State::Running) running.push_back(wave.get());
      }
      if (running.empty() && !release_barrier(block)) return;
      if (running.empty()) continue;
      Wave& wave = launch_.shuffle ? *running[random_() % running.size()] : *running.front();
      run_wave(wave, launch_.shuffle ? 1 + random_() % 97 : UINT64_MAX, id);
    }
  }

  // When every wave waits or has ended. False if all have ended.
  bool release_barrier(Block& block) {
    bool any = false;
    ++block.interval;
    for (const auto& wave : block.wave) {
      // What is still under way may happen in the new interval.
      wave->waits.for_each_lds_access(
          [&](const LdsAccess& access) { block.races.touch(access, wave->id, block.interval); });
      any = any || wave->state == Wave::State::AtBarrier;
    }
    for (const auto& wave : block.wave) {
      if (wave->state == Wave::State::AtBarrier) wave->state = Wave::State::Running;
    }
    return any;
  }

  void start(Wave& wave, Block& block, unsigned index, const Dim3& id) {
    const KernelDescriptor& kernel = kernel_.descriptor();
    wave.block = &block;
    wave.id = index;
    wave.mode = kernel.float_mode;
    if ((wave.mode & 0xF) != 0) throw Fault("a rounding mode other than to nearest");
    const auto poison = [&](unsigned first, unsigned count) {
      std::fill_n(&wave.v[first][0], size_t{count} * kLanes, kPoison);
    };
    poison(0, kernel.vgprs);
    poison(kAccumulators, kernel.agprs);
    std::fill(std::begin(wave.s), std::end(wave.s), kPoison);
    uint64_t exec = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const uint32_t thread = index * kLanes + lane;
      if (thread >= threads_) break;
      exec |= uint64_t{1} << lane;
      const Dim3& size = launch_.block;
      wave.v[0][lane] =
          thread % size.x | (thread / size.x % size.y) << 10 | (thread / size.x / size.y) << 20;
    }
    wave.set_s64(kExec, exec);
    set_up_scalars(wave, id);
  }

  // User SGPRs in the order of the descriptor's properties, then the block's indices.
  void set_up_scalars(Wave& wave, const Dim3& id) {
    const KernelDescriptor& kernel = kernel_.descriptor();
    unsigned next = 0;
    if (kernel.private_segment_buffer) next += 4;
    const auto pointer = [&](bool wanted, uint64_t value) {
      if (!wanted) return;
      wave.set_s64(next, value);
      next += 2;
    };
    pointer(kernel.dispatch_ptr, address_of(packet_.data()));
    if (kernel.queue_ptr) next += 2;  // stays poison
    pointer(kernel.kernarg_ptr, address_of(kernarg_.data()));
    pointer(kernel.dispatch_id, 0);
    if (kernel.flat_scratch_init) next += 2;
    next = kernel.user_sgprs;
    const uint32_t ids[3] = {id.x, id.y, id.z};
    for (unsigned i = 0; i < 3; ++i) {
      if (kernel.workgroup_id[i]) wave.s[next++] = ids[i];
    }
  }

  void run_wave(Wave& wave, uint64_t quantum, const Dim3& id) {
    const std::span<const Instruction> program = kernel_.instructions();
    adopt_float_mode(wave.mode);
    const Instruction* in = nullptr;
    try {
      const uint64_t most = std::min(quantum, launch_.most_instructions - executed_);
      uint64_t n = 0;
      for (; n < most && wave.state == Wave::State::Running; ++n) {
        if (wave.next >= program.size()) throw Fault("runs past the kernel's last instruction");
        in = &program[wave.next];
        wave.waits.check(*in);
        wave.delays.step(*in);
        ++wave.next;
        counters_.executed(in->index);
        in->run(wave, *in);
      }
      executed_ += n;
      const bool running = wave.state == Wave::State::Running;
      if (running && executed_ == launch_.most_instructions) throw Fault("the kernel does not end");
    } catch (const Fault& fault) {
      throw Fault(fmt::format("{:#x} `{}`: {} (wave {} of block {},{},{}; seed {})",
                              in == nullptr ? 0 : in->line->address,
                              in == nullptr ? "" : in->line->text, fault.what(), wave.id, id.x,
                              id.y, id.z, launch_.seed));
    }
  }

  const Kernel& kernel_;
  const Launch& launch_;
  Memory& memory_;
  Counters& counters_;
  std::mt19937_64 random_;
  std::vector<std::byte> kernarg_, packet_;
  uint32_t threads_;
  uint64_t executed_ = 0;
};

std::string only_kernel(const CodeObject& object, const std::string& name) {
  if (!name.empty()) return name;
  if (object.kernels.size() == 1) return object.kernels.front().name;
  throw Fault("the code object has several kernels; name one");
}

}  // namespace

bool host_can_run() {
  unsigned a, b, c, d;
  const bool f16c = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
  return f16c && __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
}

Kernel::Kernel(const std::string& path, const std::string& name, const std::string& objdump)
    : object_(read_code_object(path)),
      descriptor_(object_.kernel(only_kernel(object_, name))),
      decoded_(decode(disassemble(objdump, path), descriptor_)) {}

void run(const Kernel& kernel, const Launch& launch, Memory& memory, Counters& counters) {
  Run(kernel, launch, memory, counters).grid();
}

}  // namespace gfx90a
