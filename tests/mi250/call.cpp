#include "call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <variant>

#include "attention/row_form.h"
#include "emit/user_functions.h"
#include "schedule/schedule.h"

namespace attngen::mi250 {
namespace {

constexpr uint16_t kPoison = 0xFFFF;  // a NaN in both types
using Random = std::mt19937_64;

Tensor tensor(const hold::Extent& extent) {
  const auto reach = static_cast<size_t>(extent.reach());
  Tensor t{extent, {}, {}};
  t.bits.assign(reach, kPoison);
  t.values.assign(reach, std::numeric_limits<float>::quiet_NaN());
  return t;
}

template <typename Visit>
void for_elements(const Tensor& t, const Visit& visit) {
  t.extent.for_rows([&](int64_t, int64_t, int64_t, int64_t at) {
    for (int64_t d = 0; d < t.extent.head_dim; ++d) visit(static_cast<size_t>(at + d));
  });
}

void fill(Tensor& t, spec::DType dtype, double size, Random& random) {
  std::normal_distribution<double> normal;
  for_elements(t, [&](size_t at) {
    t.bits[at] = hold::narrow(dtype, size * normal(random));
    t.values[at] = static_cast<float>(hold::widen(dtype, t.bits[at]));
  });
}

// The bytes of the argument, member after member, as C++ lays them out.
class Bytes {
 public:
  template <typename T>
  void put(T value) {
    align(sizeof value);
    const size_t at = bytes_.size();
    bytes_.resize(at + sizeof value);
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  void align(size_t alignment) {
    while (bytes_.size() % alignment != 0) bytes_.push_back(std::byte{0});
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace

std::string Shape::text() const {
  return fmt::format("{},{},{},{},{}", batch, seq_q, seq_kv, hold::name_of(strides), logits);
}

Call::Call(const spec::Spec& spec, const Shape& shape,
           const std::map<std::string, std::string>& fills, uint64_t seed)
    : spec_(spec), shape_(shape) {
  Random random(seed);
  using hold::StrideKind;
  const StrideKind of_keys = shape.strides;
  const StrideKind of_queries = of_keys == StrideKind::Shared ? StrideKind::Padded : of_keys;
  const auto made = [&](int64_t length, int64_t heads, int64_t head_dim, StrideKind strides) {
    return tensor({shape.batch, length, heads, head_dim, strides, spec.layout});
  };
  q_ = made(shape.seq_q, spec.heads.q, spec.head_dim.qk, of_queries);
  k_ = made(shape.seq_kv, spec.heads.kv(), spec.head_dim.qk, of_keys);
  v_ = made(shape.seq_kv, spec.heads.kv(), spec.head_dim.v, of_keys);
  o_ = made(shape.seq_q, spec.heads.q, spec.head_dim.v, of_queries);
  fill(q_, spec.dtype, shape.logits, random);
  fill(k_, spec.dtype, 1, random);
  fill(v_, spec.dtype, 1, random);
  const auto rows = static_cast<size_t>(shape.batch * spec.heads.q * shape.seq_q);
  for (size_t i = 0; i < spec.normalize.saves.size(); ++i) {
    saves_.emplace_back(rows, std::numeric_limits<float>::quiet_NaN());
  }
  problem_ = {shape.batch, shape.seq_q, shape.seq_kv, q_.view(), k_.view(), v_.view(), {}};
  const hold::Lengths lengths{shape.batch, shape.seq_q, shape.seq_kv};
  for (const spec::Input& input : spec.inputs) {
    const auto found = fills.find(input.name);
    const std::string how = found == fills.end() ? "normal" : found->second;
    auto values = hold::fill(spec, input, lengths, how, random());
    inputs_.push_back({hold::store(input, values), input.shape.empty()});
    problem_.inputs[input.name] = std::move(values);
  }
}

int64_t Call::tiles_per_head(const Grid& grid) const {
  const int64_t rows = grid.pack_heads ? schedule::packed_rows(spec_.heads.group()) : 1;
  return (shape_.seq_q * rows + grid.tile_q - 1) / grid.tile_q;
}

int64_t Call::tile_heads(const Grid& grid) const {
  const int packed = spec_.heads.kv() * schedule::head_parts(spec_.heads.group());
  return grid.pack_heads ? packed : spec_.heads.q;
}

// struct Params of templates/cdna2/parts/tile.h.
std::vector<std::byte> Call::kernarg(const Grid& grid) const {
  Bytes bytes;
  for (const Tensor* t : {&q_, &k_, &v_}) bytes.put<const void*>(t->bits.data());
  bytes.put<const void*>(o_.bits.data());
  for (const Tensor* t : {&q_, &k_, &v_, &o_}) {
    for (const int64_t stride :
         {t->extent.batch_stride, t->extent.seq_stride, t->extent.head_stride}) {
      bytes.put(stride);
    }
  }
  for (const int64_t number : {shape_.batch, shape_.seq_q, shape_.seq_kv, tiles_per_head(grid)}) {
    bytes.put(static_cast<int32_t>(number));
  }
  // Two key heads at a time: several sections even in small calls.
  if (grid.longest_first) {
    const int64_t heads = tile_heads(grid), section = 2 * heads / spec_.heads.kv();
    bytes.put(static_cast<int32_t>(std::min(section, shape_.batch * heads)));
  }
  const auto form = std::get<attention::RowForm>(attention::derive_row_form(spec_.normalize));
  const bool with_batch =
      emit::user_functions(spec_, form, target::Family::Cdna2).lengths.contains("batch");
  size_t alignment = with_batch ? sizeof(int32_t) : 1;
  for (const Input& input : inputs_) {
    alignment = std::max(alignment, input.scalar ? input.bytes.size() : sizeof(void*));
  }
  if (inputs_.empty()) {
    bytes.put(uint8_t{0});
  } else {
    bytes.align(alignment);
    if (with_batch) bytes.put(static_cast<int32_t>(shape_.batch));
    for (const Input& input : inputs_) {
      if (!input.scalar) {
        bytes.put<const void*>(input.bytes.data());
      } else if (input.bytes.size() == 1) {
        bytes.put(input.bytes[0]);
      } else {
        int32_t word = 0;
        std::memcpy(&word, input.bytes.data(), sizeof word);
        bytes.put(word);
      }
    }
    bytes.align(alignment);
  }
  if (saves_.empty()) bytes.put(uint8_t{0});
  for (const std::vector<float>& save : saves_) bytes.put<const void*>(save.data());
  bytes.align(8);
  return bytes.take();
}

void Call::run(const gfx90a::Kernel& kernel, const Grid& grid, uint64_t seed,
               gfx90a::Counters& counters) {
  gfx90a::Memory memory;
  const auto map = [&](const auto& values, const char* name, gfx90a::Access access) {
    if (values.empty()) return;
    memory.map(const_cast<void*>(static_cast<const void*>(values.data())),
               values.size() * sizeof values[0], name, access);
  };
  map(q_.bits, "q", gfx90a::Access::Read);
  map(k_.bits, "k", gfx90a::Access::Read);
  map(v_.bits, "v", gfx90a::Access::Read);
  map(o_.bits, "o", gfx90a::Access::ReadWrite);
  for (const std::vector<float>& save : saves_) map(save, "save", gfx90a::Access::ReadWrite);
  for (const Input& input : inputs_) {
    if (!input.scalar) map(input.bytes, "input", gfx90a::Access::Read);
  }
  gfx90a::Launch launch;
  launch.grid.x = static_cast<uint32_t>(tiles_per_head(grid) * shape_.batch * tile_heads(grid));
  launch.block.x = static_cast<uint32_t>(grid.threads);
  launch.kernarg = kernarg(grid);
  launch.seed = seed;
  gfx90a::run(kernel, launch, memory, counters);
}

double Call::output(int64_t b, int64_t h, int64_t q, int64_t column) const {
  return hold::widen(spec_.dtype, o_.bits[static_cast<size_t>(o_.extent.at(b, q, h) + column)]);
}

double Call::save(size_t index, int64_t b, int64_t h, int64_t q) const {
  return static_cast<double>(
      saves_[index][static_cast<size_t>((b * spec_.heads.q + h) * shape_.seq_q + q)]);
}

bool Call::wrote_outside() const {
  std::vector<bool> inside(o_.bits.size());
  for_elements(o_, [&](size_t at) { inside[at] = true; });
  for (size_t i = 0; i < inside.size(); ++i) {
    if (!inside[i] && o_.bits[i] != kPoison) return true;
  }
  return false;
}

}  // namespace attngen::mi250
