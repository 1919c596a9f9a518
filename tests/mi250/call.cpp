#include "call.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <variant>

#include "attention/row_form.h"
#include "emit/user_functions.h"

namespace attngen::mi250 {
namespace {

constexpr uint16_t kPoison = 0xFFFF;  // a NaN in both types
using Random = std::mt19937_64;

double normal(Random& random) { return std::normal_distribution<double>()(random); }

struct Dims {
  int64_t batch, length, heads, head_dim;
};

Tensor tensor(const Dims& dims, StrideKind kind, spec::Layout layout) {
  Tensor t{dims.heads, dims.head_dim, dims.length, 0, 0, 0, {}, {}};
  bool bshd = layout == spec::Layout::Bshd;
  if (kind == StrideKind::Swapped) bshd = !bshd;
  const int64_t pad = kind == StrideKind::Padded ? 8 : 0;
  const int64_t length = std::max<int64_t>(dims.length, 1);
  const int64_t inner = dims.head_dim + pad;
  if (bshd) {
    t.head_stride = inner;
    t.seq_stride = dims.heads * inner + 2 * pad;
    t.batch_stride = length * t.seq_stride + 3 * pad;
  } else {
    t.seq_stride = inner;
    t.head_stride = length * inner + 2 * pad;
    t.batch_stride = dims.heads * t.head_stride + 3 * pad;
  }
  const int64_t reach = dims.length == 0
                            ? 0
                            : (dims.batch - 1) * t.batch_stride + (dims.length - 1) * t.seq_stride +
                                  (dims.heads - 1) * t.head_stride + dims.head_dim;
  t.bits.assign(static_cast<size_t>(reach), kPoison);
  t.values.assign(static_cast<size_t>(reach), std::numeric_limits<float>::quiet_NaN());
  return t;
}

template <typename Visit>
void for_elements(const Tensor& t, int64_t batch, const Visit& visit) {
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t s = 0; s < t.length; ++s) {
      for (int64_t h = 0; h < t.heads; ++h) {
        const int64_t at = b * t.batch_stride + s * t.seq_stride + h * t.head_stride;
        for (int64_t d = 0; d < t.head_dim; ++d) visit(static_cast<size_t>(at + d));
      }
    }
  }
}

void fill(Tensor& t, int64_t batch, spec::DType dtype, double size, Random& random) {
  for_elements(t, batch, [&](size_t at) {
    t.bits[at] = narrow(dtype, size * normal(random));
    t.values[at] = static_cast<float>(widen(dtype, t.bits[at]));
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
  static constexpr const char* kKinds[] = {"default", "padded", "swapped"};
  return fmt::format("{},{},{},{},{}", batch, seq_q, seq_kv, kKinds[static_cast<int>(strides)],
                     logits);
}

double widen(spec::DType dtype, uint16_t bits) {
  if (dtype == spec::DType::Bf16) {
    return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits) << 16));
  }
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return mantissa != 0 ? std::nan("") : sign * INFINITY;
  return sign *
         (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

uint16_t narrow(spec::DType dtype, double value) {
  const double rounded = attention::round_to(dtype, value);
  if (dtype == spec::DType::Bf16) {
    return static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(rounded)) >> 16);
  }
  const uint16_t sign = std::signbit(rounded) ? 0x8000 : 0;
  const double size = std::abs(rounded);
  if (std::isnan(size)) return 0x7E00;
  if (std::isinf(size)) return sign | 0x7C00;
  if (size < 0x1p-14)
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::ldexp(size, 24)));
  const int exponent = std::ilogb(size);
  const auto mantissa = static_cast<uint16_t>(std::ldexp(size, 10 - exponent) - 1024);
  return static_cast<uint16_t>(sign | (exponent + 15) << 10 | mantissa);
}

Call::Call(const spec::Spec& spec, const Shape& shape,
           const std::map<std::string, std::string>& fills, uint64_t seed)
    : spec_(spec), shape_(shape) {
  Random random(seed);
  const auto made = [&](int64_t length, int64_t heads, int64_t head_dim) {
    return tensor({shape.batch, length, heads, head_dim}, shape.strides, spec.layout);
  };
  q_ = made(shape.seq_q, spec.heads.q, spec.head_dim.qk);
  k_ = made(shape.seq_kv, spec.heads.kv(), spec.head_dim.qk);
  v_ = made(shape.seq_kv, spec.heads.kv(), spec.head_dim.v);
  o_ = made(shape.seq_q, spec.heads.q, spec.head_dim.v);
  fill(q_, shape.batch, spec.dtype, shape.logits, random);
  fill(k_, shape.batch, spec.dtype, 1, random);
  fill(v_, shape.batch, spec.dtype, 1, random);
  const auto rows = static_cast<size_t>(shape.batch * spec.heads.q * shape.seq_q);
  for (size_t i = 0; i < spec.normalize.saves.size(); ++i) {
    saves_.emplace_back(rows, std::numeric_limits<float>::quiet_NaN());
  }
  problem_ = {shape.batch, shape.seq_q, shape.seq_kv, q_.view(), k_.view(), v_.view(), {}};
  for (const spec::Input& input : spec.inputs) {
    const auto found = fills.find(input.name);
    add_input(input, found == fills.end() ? "normal" : found->second, random());
  }
}

int64_t Call::length_of(const spec::Input::Dim& dim) const {
  using Kind = spec::Input::Dim::Kind;
  switch (dim.kind) {
    case Kind::Batch:
      return shape_.batch;
    case Kind::Heads:
      return spec_.heads.q;
    case Kind::HeadsKv:
      return spec_.heads.kv();
    case Kind::SeqQ:
      return shape_.seq_q;
    case Kind::SeqKv:
    case Kind::Seq:
      return shape_.seq_kv;
    case Kind::HeadDim:
      return spec_.head_dim.qk;
    case Kind::Number:
      break;
  }
  return dim.number;
}

void Call::add_input(const spec::Input& input, const std::string& how, uint64_t seed) {
  Random random(seed);
  int64_t count = 1, last = 1;
  for (const spec::Input::Dim& dim : input.shape) count *= last = length_of(dim);
  const int64_t heads = input.shape.empty() ? 1 : length_of(input.shape[0]);
  const auto share = [&] { return std::uniform_real_distribution<double>()(random); };
  std::vector<double> values(static_cast<size_t>(count));
  double running = 0;
  for (int64_t i = 0; i < count; ++i) {
    double& value = values[static_cast<size_t>(i)];
    const int64_t row = i / std::max<int64_t>(last, 1), column = i % std::max<int64_t>(last, 1);
    if (how == "normal") {
      value = normal(random);
    } else if (how == "holes") {  // an additive bias; every seventh row is empty
      const bool hole = share() < 0.1 ||
                        (row % 5 == 1 && column < std::min<int64_t>(200, last / 2)) || row % 7 == 3;
      value = hole ? -expr::kInfinity : normal(random);
    } else if (how == "slopes") {
      value = std::exp2(-8.0 * static_cast<double>(i + 1) / static_cast<double>(heads));
    } else if (how == "log_decay") {
      value = std::log(1 - std::exp2(-5.0 - static_cast<double>(i)));
    } else if (how == "documents") {  // ascending, of about 100 tokens
      running = column == 0 ? 0 : running + (share() < 0.01 ? 1 : 0);
      value = running;
    } else if (how == "documents_anyhow") {  // the same, their ids in no order
      running = column == 0 || share() < 0.01 ? std::floor(share() * 80) - 40 : running;
      value = running;
    } else if (how == "stretches") {  // of zeros and ones
      running = column == 0 ? 0 : share() < 0.01 ? 1 - running : running;
      value = running;
    } else if (how == "lengths") {
      value = i + 1 == count && count > 1
                  ? 0
                  : std::floor(share() * static_cast<double>(shape_.seq_kv + 1));
    } else if (how == "bits") {
      value = row % 7 == 3 ? 0 : static_cast<double>(share() < 0.5);
    } else {
      value = std::stod(how);
    }
  }
  Bytes bytes;
  for (double& value : values) {
    switch (input.element) {
      case spec::Input::Element::F32:
        value = static_cast<float>(value);
        bytes.put(static_cast<float>(value));
        break;
      case spec::Input::Element::I32:
        value = std::trunc(value);
        bytes.put(static_cast<int32_t>(value));
        break;
      case spec::Input::Element::U8:
        value = std::abs(std::trunc(value));
        bytes.put(static_cast<uint8_t>(value));
        break;
      case spec::Input::Element::Bf16:
      case spec::Input::Element::Fp16: {
        const auto dtype =
            input.element == spec::Input::Element::Bf16 ? spec::DType::Bf16 : spec::DType::Fp16;
        const uint16_t bits = narrow(dtype, value);
        value = widen(dtype, bits);
        if (input.shape.empty()) {
          bytes.put(static_cast<float>(value));
        } else {
          bytes.put(bits);
        }
        break;
      }
    }
  }
  inputs_.push_back({bytes.take(), input.shape.empty()});
  problem_.inputs[input.name] = std::move(values);
}

// struct Params of templates/cdna2/parts/tile.h.
std::vector<std::byte> Call::kernarg(const Grid& grid) const {
  Bytes bytes;
  for (const Tensor* t : {&q_, &k_, &v_}) bytes.put<const void*>(t->bits.data());
  bytes.put<const void*>(o_.bits.data());
  for (const Tensor* t : {&q_, &k_, &v_, &o_}) {
    for (const int64_t stride : {t->batch_stride, t->seq_stride, t->head_stride}) bytes.put(stride);
  }
  const int64_t tiles = (shape_.seq_q + grid.tile_q - 1) / grid.tile_q;
  for (const int64_t number : {shape_.batch, shape_.seq_q, shape_.seq_kv, tiles}) {
    bytes.put(static_cast<int32_t>(number));
  }
  // Two key heads at a time: several sections even in small calls.
  const int64_t group = spec_.heads.q / spec_.heads.kv();
  if (grid.longest_first) {
    bytes.put(static_cast<int32_t>(std::min(2 * group, shape_.batch * spec_.heads.q)));
  }
  const auto form = std::get<attention::RowForm>(attention::derive_row_form(spec_.normalize));
  const bool with_batch =
      emit::user_functions(spec_, form, target::Family::Cdna2).inputs_have_batch;
  bool any_pointer = false;
  for (const Input& input : inputs_) any_pointer = any_pointer || !input.scalar;
  if (inputs_.empty()) {
    bytes.put(uint8_t{0});
  } else {
    bytes.align(any_pointer ? 8 : 4);
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
    bytes.align(any_pointer ? 8 : 4);
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
  const int64_t tiles = (shape_.seq_q + grid.tile_q - 1) / grid.tile_q;
  launch.grid.x = static_cast<uint32_t>(tiles * shape_.batch * spec_.heads.q);
  launch.block.x = static_cast<uint32_t>(grid.threads);
  launch.kernarg = kernarg(grid);
  launch.seed = seed;
  gfx90a::run(kernel, launch, memory, counters);
}

double Call::output(int64_t b, int64_t h, int64_t q, int64_t column) const {
  return widen(spec_.dtype, o_.bits[static_cast<size_t>(b * o_.batch_stride + q * o_.seq_stride +
                                                        h * o_.head_stride + column)]);
}

double Call::save(size_t index, int64_t b, int64_t h, int64_t q) const {
  return static_cast<double>(
      saves_[index][static_cast<size_t>((b * spec_.heads.q + h) * shape_.seq_q + q)]);
}

bool Call::wrote_outside() const {
  std::vector<bool> inside(o_.bits.size());
  for_elements(o_, shape_.batch, [&](size_t at) { inside[at] = true; });
  for (size_t i = 0; i < inside.size(); ++i) {
    if (!inside[i] && o_.bits[i] != kPoison) return true;
  }
  return false;
}

}  // namespace attngen::mi250
