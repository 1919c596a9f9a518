// gfx90a_run: runs a kernel of a code object on files.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "machine.h"

namespace {

using gfx90a::Fault;

struct Buffer {
  std::vector<std::byte> bytes;
  std::string name, output;  // a file to write at the end, or none
};

std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw Fault("cannot read " + path);
  const std::vector<char> text(std::istreambuf_iterator<char>(stream), {});
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

// Arguments are laid out one after the other, each aligned to its size.
class Arguments {
 public:
  void add(const std::string& text) {
    const auto colon = text.find(':');
    const std::string kind = text.substr(0, colon);
    const std::string rest = colon == std::string::npos ? "" : text.substr(colon + 1);
    if (kind == "i32") {
      put(static_cast<int32_t>(std::stoll(rest, nullptr, 0)));
    } else if (kind == "u32") {
      put(static_cast<uint32_t>(std::stoull(rest, nullptr, 0)));
    } else if (kind == "i64") {
      put(static_cast<int64_t>(std::stoll(rest, nullptr, 0)));
    } else if (kind == "f32") {
      put(std::stof(rest));
    } else if (kind == "null") {
      put(uint64_t{0});
    } else if (kind == "raw") {
      const auto bytes = read_file(rest);
      kernarg_.insert(kernarg_.end(), bytes.begin(), bytes.end());
    } else if (kind == "in" || kind == "inout" || kind == "out") {
      add_buffer(kind, rest);
    } else {
      throw Fault("argument `" + text + "` is not known; see --help");
    }
  }

  void map(gfx90a::Memory& memory) {
    for (Buffer& buffer : buffers_) {
      memory.map(buffer.bytes.data(), buffer.bytes.size(), buffer.name,
                 buffer.output.empty() ? gfx90a::Access::Read : gfx90a::Access::ReadWrite);
    }
  }
  void write_outputs() const {
    for (const Buffer& buffer : buffers_) {
      if (buffer.output.empty()) continue;
      std::ofstream stream(buffer.output, std::ios::binary);
      stream.write(reinterpret_cast<const char*>(buffer.bytes.data()),
                   static_cast<std::streamsize>(buffer.bytes.size()));
      if (!stream) throw Fault("cannot write " + buffer.output);
    }
  }
  const std::vector<std::byte>& kernarg() const { return kernarg_; }

 private:
  template <class T>
  void put(T value) {
    while (kernarg_.size() % sizeof value != 0) kernarg_.push_back(std::byte{0});
    const size_t at = kernarg_.size();
    kernarg_.resize(at + sizeof value);
    std::memcpy(kernarg_.data() + at, &value, sizeof value);
  }
  // in:FILE, inout:FILE, out:FILE:BYTES; outputs start as NaNs.
  void add_buffer(const std::string& kind, const std::string& rest) {
    Buffer buffer;
    if (kind == "out") {
      const auto colon = rest.rfind(':');
      if (colon == std::string::npos) throw Fault("out:FILE:BYTES");
      buffer.output = rest.substr(0, colon);
      buffer.bytes.assign(std::stoull(rest.substr(colon + 1)), std::byte{0xFF});
    } else {
      buffer.bytes = read_file(rest);
      if (kind == "inout") buffer.output = rest;
    }
    buffer.name = rest;
    put(reinterpret_cast<uint64_t>(buffer.bytes.data()));
    buffers_.push_back(std::move(buffer));  // moves the vector, so the address stays
  }

  std::vector<std::byte> kernarg_;
  std::vector<Buffer> buffers_;
};

int run(int argc, char** argv) {
  CLI::App app{"Runs a gfx90a kernel on the CPU."};
  std::string path, name, objdump = "llvm-objdump-15";
  std::vector<uint32_t> grid = {1}, block = {64};
  std::vector<std::string> arguments;
  gfx90a::Launch launch;
  bool quiet = false, listing = false, in_order = false;
  app.add_option("code_object", path,
                 "an ELF file: clang --cuda-device-only "
                 "--no-gpu-bundle-output")
      ->required();
  app.add_option("--kernel", name, "its name; needed if there are several");
  app.add_option("--grid", grid, "blocks: X[,Y[,Z]]")->delimiter(',')->expected(1, 3);
  app.add_option("--block", block, "threads: X[,Y[,Z]]")->delimiter(',')->expected(1, 3);
  app.add_option("--arg", arguments,
                 "in order: i32:N u32:N i64:N f32:X null, in:FILE (read-only buffer), inout:FILE, "
                 "out:FILE:BYTES (starts as 0xFF), raw:FILE (bytes of a struct). Each is aligned "
                 "to its size, as in a struct");
  app.add_option("--lds", launch.dynamic_lds, "dynamic LDS, bytes");
  app.add_option("--seed", launch.seed, "of the order of waves and blocks");
  app.add_flag("--in-order", in_order, "waves and blocks in order");
  app.add_flag("--quiet", quiet, "no counters");
  app.add_flag("--listing", listing, "the executed instructions with their counts");
  app.add_option("--objdump", objdump, "the disassembler");
  CLI11_PARSE(app, argc, argv);
  const auto dim = [](std::vector<uint32_t> d) {
    d.resize(3, 1);
    return gfx90a::Dim3{d[0], d[1], d[2]};
  };
  launch.grid = dim(grid);
  launch.block = dim(block);
  launch.shuffle = !in_order;
  Arguments all;
  for (const std::string& argument : arguments) all.add(argument);
  launch.kernarg = all.kernarg();
  gfx90a::Memory memory;
  all.map(memory);
  const gfx90a::Kernel kernel(path, name, objdump);
  gfx90a::Counters counters(kernel.instructions());
  gfx90a::run(kernel, launch, memory, counters);
  all.write_outputs();
  if (!quiet) {
    std::printf("seed %llu\n%s", static_cast<unsigned long long>(launch.seed),
                counters.report().c_str());
  }
  if (listing) std::fputs(counters.annotated_listing().c_str(), stdout);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (!gfx90a::host_can_run()) {
    std::fputs("gfx90a_run: this machine lacks AVX2, FMA or F16C\n", stderr);
    return 2;
  }
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gfx90a_run: %s\n", error.what());
    return 1;
  }
}
