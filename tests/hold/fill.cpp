#include "fill.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <stdexcept>

#include "expr/expr.h"
#include "storage.h"

namespace attngen::hold {
namespace {

using Element = spec::Input::Element;

// Draws the elements of one input, one behind the other.
class Filler {
 public:
  Filler(std::string how, const Lengths& lengths, int64_t heads, int64_t last, uint64_t seed)
      : how_(std::move(how)), lengths_(lengths), heads_(heads), last_(last), random_(seed) {}

  double value(int64_t i, int64_t count) {
    const int64_t row = i / last_, column = i % last_;
    if (how_ == "normal") return normal();
    if (how_ == "holes") {  // an additive bias; every seventh row is empty
      const bool hole = share() < 0.1 ||
                        (row % 5 == 1 && column < std::min<int64_t>(200, last_ / 2)) ||
                        row % 7 == 3;
      return hole ? -expr::kInfinity : normal();
    }
    if (how_ == "key_holes") {  // of keys that are padding
      return share() < 1.0 / 3 || (row == 0 && column < 150) ? -expr::kInfinity : 0;
    }
    if (how_ == "slopes") {
      return std::exp2(-8.0 * static_cast<double>(i + 1) / static_cast<double>(heads_));
    }
    if (how_ == "log_decay") return std::log(1 - std::exp2(-5.0 - static_cast<double>(i)));
    if (how_ == "log_gates" || how_ == "broken_gates") {  // running sums
      running_ = (column == 0 ? 0 : running_) - std::log1p(std::exp(-3 - normal()));
      return how_ == "log_gates" ? running_ : broken(running_);
    }
    if (how_ == "documents") {  // of about 100 tokens
      return running_ = column == 0 ? 0 : running_ + (share() < 0.01 ? 1 : 0);
    }
    if (how_ == "documents_anyhow") {
      return running_ = column == 0 || share() < 0.01 ? std::floor(share() * 80) - 40 : running_;
    }
    if (how_ == "stretches") {
      return running_ = column == 0 ? 0 : share() < 0.01 ? 1 - running_ : running_;
    }
    if (how_ == "lengths") {
      return i + 1 == count && count > 1
                 ? 0
                 : std::floor(share() * static_cast<double>(lengths_.seq_kv + 1));
    }
    if (how_ == "patches") {  // of 80 rows and 112 columns: zeros, ones or both
      const int64_t kind = (row / 80 * 5 + column / 112 * 3) % 7;
      return kind < 3 ? 0 : kind < 5 ? 1 : static_cast<double>(share() < 0.5);
    }
    if (how_ == "bits") return row % 7 == 3 ? 0 : static_cast<double>(share() < 0.5);
    return std::stod(how_);
  }

 private:
  double normal() { return std::normal_distribution<double>()(random_); }
  double broken(double value) {
    const double share = this->share();
    if (share < 0.002) return std::nan("");
    if (share < 0.004) return -expr::kInfinity;
    if (share < 0.006) return expr::kInfinity;
    return value;
  }
  double share() { return std::uniform_real_distribution<double>()(random_); }

  std::string how_;
  const Lengths& lengths_;
  int64_t heads_, last_;
  std::mt19937_64 random_;
  double running_ = 0;
};

template <typename T>
void put(std::vector<std::byte>& bytes, T value) {
  const size_t at = bytes.size();
  bytes.resize(at + sizeof value);
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

}  // namespace

int64_t Lengths::of(const spec::Spec& spec, const spec::Input::Dim& dim) const {
  using Kind = spec::Input::Dim::Kind;
  switch (dim.kind) {
    case Kind::Batch:
      return batch;
    case Kind::Heads:
      return spec.heads.q;
    case Kind::HeadsKv:
      return spec.heads.kv();
    case Kind::SeqQ:
      return spec.varlen ? total_q : seq_q;
    case Kind::SeqKv:
    case Kind::Seq:
      return spec.varlen ? total_kv : seq_kv;
    case Kind::HeadDim:
      return spec.head_dim.v;
    case Kind::Number:
      break;
  }
  return dim.number;
}

int64_t Lengths::count(const spec::Spec& spec, const spec::Input& input) const {
  int64_t count = 1;
  for (const spec::Input::Dim& dim : input.shape) count *= of(spec, dim);
  return count;
}

std::vector<double> fill(const spec::Spec& spec, const spec::Input& input, const Lengths& lengths,
                         const std::string& how, uint64_t seed) {
  const int64_t count = lengths.count(spec, input);
  const bool scalar = input.shape.empty();
  const int64_t first = scalar ? 1 : lengths.of(spec, input.shape.front());
  const int64_t last = scalar ? 1 : lengths.of(spec, input.shape.back());
  Filler filler(how, lengths, first, std::max<int64_t>(last, 1), seed);
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(filler.value(i, count));
  store(input, values);
  return values;
}

std::map<std::string, std::string> fills_of(const spec::Spec& spec,
                                            const std::vector<std::string>& texts) {
  std::map<std::string, std::string> fills;
  for (const std::string& text : texts) {
    const size_t equal = text.find('=');
    const std::string input = text.substr(0, equal);
    if (equal == std::string::npos || spec.find_input(input) == nullptr) {
      throw std::invalid_argument("'" + text + "' fills no input of '" + spec.name + "'");
    }
    fills[input] = text.substr(equal + 1);
  }
  return fills;
}

std::vector<std::byte> store(const spec::Input& input, std::vector<double>& values) {
  std::vector<std::byte> bytes;
  for (double& value : values) {
    switch (input.element) {
      case Element::F32:
        value = static_cast<float>(value);
        put(bytes, static_cast<float>(value));
        break;
      case Element::I32:
        value = std::trunc(value);
        put(bytes, static_cast<int32_t>(value));
        break;
      case Element::U8:
        value = std::abs(std::trunc(value));
        put(bytes, static_cast<uint8_t>(value));
        break;
      case Element::Bf16:
      case Element::Fp16: {
        const auto dtype = input.element == Element::Bf16 ? spec::DType::Bf16 : spec::DType::Fp16;
        const uint16_t bits = narrow(dtype, value);
        value = widen(dtype, bits);
        if (input.shape.empty()) {
          put(bytes, static_cast<float>(value));
        } else {
          put(bytes, bits);
        }
        break;
      }
    }
  }
  return bytes;
}

}  // namespace attngen::hold
