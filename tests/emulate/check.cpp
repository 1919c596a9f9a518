// Runs an emitted kernel on the emulator and holds every row of it to the oracle.
//
// usage: check <spec.yaml> <manifest.json> <library.so> <call>...
// A call is batch,seq_q,seq_kv; of packed sequences a list: 70x130+1x0+64x64.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numbers>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "attention/oracle.h"
#include "attention/pair_form.h"
#include "attention/pair_input.h"
#include "expr/evaluate.h"
#include "spec/read.h"

namespace {

using attngen::attention::Arithmetic;
using attngen::attention::Oracle;
using attngen::attention::Problem;
using attngen::attention::Row;
using attngen::spec::DType;
using attngen::spec::Spec;

struct Sequence {
  int64_t q_begin = 0, seq_q = 0, kv_begin = 0, seq_kv = 0;
};
struct Call {
  std::string text;
  std::vector<Sequence> sequences;  // one behind the other in memory
  int64_t total_q = 0, total_kv = 0, max_q = 0, max_kv = 0;
  bool opposed = false;  // "opposed:1,700,1300": queries nearly orthogonal to the keys' mean
  int64_t batch() const { return static_cast<int64_t>(sequences.size()); }
};

Call read_call(const std::string& text, bool varlen) {
  constexpr std::string_view kOpposed = "opposed:";
  Call call{text, {}};
  call.opposed = text.starts_with(kOpposed);
  std::stringstream stream(call.opposed ? text.substr(kOpposed.size()) : text);
  char separator = 0;
  if (varlen) {
    do {
      Sequence s;
      stream >> s.seq_q >> separator >> s.seq_kv;
      call.sequences.push_back(s);
    } while (stream >> separator);
  } else {
    Sequence s;
    size_t batch = 0;
    stream >> batch >> separator >> s.seq_q >> separator >> s.seq_kv;
    call.sequences.assign(batch, s);
  }
  for (Sequence& s : call.sequences) {
    s.q_begin = call.total_q;
    s.kv_begin = call.total_kv;
    call.total_q += s.seq_q;
    call.total_kv += s.seq_kv;
    call.max_q = std::max(call.max_q, s.seq_q);
    call.max_kv = std::max(call.max_kv, s.seq_kv);
  }
  return call;
}

uint16_t to_storage(float x, DType dtype) {
  if (dtype == DType::Fp16) {
    const auto half = static_cast<_Float16>(x);
    uint16_t bits;
    std::memcpy(&bits, &half, 2);
    return bits;
  }
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
float from_storage(uint16_t x, DType dtype) {
  if (dtype == DType::Fp16) {
    _Float16 half;
    std::memcpy(&half, &x, 2);
    return static_cast<float>(half);
  }
  const uint32_t bits = static_cast<uint32_t>(x) << 16;
  float y;
  std::memcpy(&y, &bits, 4);
  return y;
}

// Memory for `count` elements of `size` bytes, all bits set (NaN), and as much around it as shows a
// write outside.
class Guarded {
 public:
  Guarded() = default;
  Guarded(int64_t count, int64_t size)
      : bytes_(static_cast<size_t>(count * size) + 2 * kGuard, 0xFF) {}
  uint8_t* data() { return bytes_.data() + kGuard; }
  const uint8_t* data() const { return bytes_.data() + kGuard; }
  bool clean() const {
    const auto poison = [](uint8_t x) { return x == 0xFF; };
    return std::all_of(bytes_.begin(), bytes_.begin() + kGuard, poison) &&
           std::all_of(bytes_.end() - kGuard, bytes_.end(), poison);
  }

 private:
  static constexpr int kGuard = 4096;
  std::vector<uint8_t> bytes_;
};

// Memory that ends where a page begins which nobody may read: a kernel that looks behind its last
// element ends there. Its first one lies wherever its size puts it.
class BeforeFault {
 public:
  explicit BeforeFault(int64_t bytes = 0) : bytes_(static_cast<size_t>(bytes)) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t readable = (bytes_ + page - 1) / page * page;
    mapped_ = readable + page;
    void* const at =
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    pages_ = static_cast<uint8_t*>(at);
    std::memset(pages_, 0xFF, readable);  // NaN
    if (mprotect(pages_ + readable, page, PROT_NONE) != 0) throw std::bad_alloc();
  }
  ~BeforeFault() { munmap(pages_, mapped_); }
  BeforeFault(const BeforeFault&) = delete;
  BeforeFault& operator=(const BeforeFault&) = delete;
  uint8_t* data() { return pages_ + mapped_ - static_cast<size_t>(sysconf(_SC_PAGESIZE)) - bytes_; }

 private:
  uint8_t* pages_ = nullptr;
  size_t bytes_, mapped_ = 0;
};

// [rows, heads, dim] in the storage type, and as floats; [batch, heads, length, dim] if the spec's
// layout is bhsd.
struct Tensor {
  Tensor(const Spec& spec, int64_t rows, int heads_, int dim_, std::mt19937& random)
      : dtype(spec.dtype),
        bhsd(spec.layout == attngen::spec::Layout::Bhsd),
        heads(heads_),
        dim(dim_),
        memory(rows * heads * dim, 2),
        values(static_cast<size_t>(rows * heads * dim)) {
    std::normal_distribution<float> normal;
    for (float& x : values) x = normal(random);
    store(0, rows);
  }
  void store(int64_t begin, int64_t end) {
    for (int64_t i = begin * heads * dim; i < end * heads * dim; ++i) {
      const uint16_t x = to_storage(values[static_cast<size_t>(i)], dtype);
      values[static_cast<size_t>(i)] = from_storage(x, dtype);
      std::memcpy(memory.data() + 2 * i, &x, 2);
    }
  }
  void poison(int64_t begin, int64_t end) {
    for (int64_t i = begin * heads * dim; i < end * heads * dim; ++i) {
      values[static_cast<size_t>(i)] =
          i % 3 == 0 ? std::numeric_limits<float>::infinity() : std::nanf("");
    }
    for (int64_t i = begin * heads * dim; i < end * heads * dim; ++i) {
      const uint16_t x = i % 3 == 0 ? 0x7F80 : 0x7FC0;
      std::memcpy(memory.data() + 2 * i, &x, 2);
    }
  }
  attngen::attention::TensorView view(int64_t length) const {
    if (bhsd) return {values.data(), length * heads * dim, dim, length * dim};
    return {values.data(), length * heads * dim, int64_t{heads} * dim, dim};
  }
  DType dtype;
  bool bhsd;
  int heads, dim;
  Guarded memory;
  std::vector<float> values;
};

// All keys have much in common that no query sees: sums of keys are large, and products with them
// what a rounding of the sums would drown.
void oppose(Tensor& queries, Tensor& keys) {
  constexpr float kCommon = 128;
  for (size_t i = 0; i < queries.values.size(); i += static_cast<size_t>(queries.dim)) {
    queries.values[i + 1] = -queries.values[i];
  }
  for (size_t i = 0; i < keys.values.size(); i += static_cast<size_t>(keys.dim)) {
    keys.values[i] += kCommon;
    keys.values[i + 1] += kCommon;
  }
  queries.store(0, static_cast<int64_t>(queries.values.size()) / queries.dim / queries.heads);
  keys.store(0, static_cast<int64_t>(keys.values.size()) / keys.dim / keys.heads);
}

class Check {
 public:
  Check(const Spec& spec, nlohmann::json manifest, void* library, Call call)
      : spec_(spec),
        manifest_(std::move(manifest)),
        library_(library),
        call_(std::move(call)),
        q_(spec, call_.total_q, spec.maps * spec.heads.q, spec.head_dim.qk, random_),
        k_(spec, call_.total_kv, spec.maps * spec.heads.kv(), spec.head_dim.qk, random_),
        v_(spec, call_.total_kv, spec.heads.kv(), spec.head_dim.v, random_),
        o_(call_.total_q * spec.heads.q * spec.head_dim.v, 2) {
    if (call_.opposed) oppose(q_, k_);
    for (const auto& save : spec.normalize.saves) {
      saves_[save.name] = Guarded(call_.total_q * spec.maps * spec.heads.q, 4);
    }
    problem_ = {call_.batch(),
                call_.max_q,
                call_.max_kv,
                q_.view(call_.max_q),
                k_.view(call_.max_kv),
                v_.view(call_.max_kv),
                {}};
    draw_blocks();
    draw_inputs();
    if (spec.varlen) draw_offsets();
    // What one packed sequence holds must not reach another: the second one's keys and values are
    // NaN and infinite, and its own results are not looked at.
    if (spec.varlen && call_.batch() > 2) {
      poisoned_ = 1;
      const Sequence& s = call_.sequences[1];
      k_.poison(s.kv_begin, s.kv_begin + s.seq_kv);
      v_.poison(s.kv_begin, s.kv_begin + s.seq_kv);
    }
  }

  bool run() {
    if (const int status = launch(); status != 0) {
      std::printf("%s: status %d\n", call_.text.c_str(), status);
      return false;
    }
    bool ok = o_.clean();
    for (const auto& [name, save] : saves_) ok = ok && save.clean();
    if (!ok) std::printf("%s: wrote outside an output\n", call_.text.c_str());
    return compare() && ok;
  }

 private:
  BeforeFault& input_memory(const std::string& name, size_t bytes) {
    arrays_.erase(name);
    return arrays_.try_emplace(name, static_cast<int64_t>(bytes)).first->second;
  }

  template <typename T>
  void put(const std::string& name, const std::vector<double>& values) {
    BeforeFault& memory = input_memory(name, values.size() * sizeof(T));
    for (size_t i = 0; i < values.size(); ++i) {
      const T x = static_cast<T>(values[i]);
      std::memcpy(memory.data() + i * sizeof(T), &x, sizeof(T));
    }
    problem_.inputs[name] = values;
  }

  void put_halves(const attngen::spec::Input& input, const std::vector<double>& values) {
    const bool fp16 = input.element == attngen::spec::Input::Element::Fp16;
    BeforeFault& memory = input_memory(input.name, values.size() * 2);
    for (size_t i = 0; i < values.size(); ++i) {
      const uint16_t x =
          to_storage(static_cast<float>(values[i]), fp16 ? DType::Fp16 : DType::Bf16);
      std::memcpy(memory.data() + 2 * i, &x, 2);
    }
    problem_.inputs[input.name] = values;
  }

  // A third of the blocks; every fifth row of blocks keeps none, every seventh all.
  void draw_blocks() {
    if (spec_.block_size == 0) return;
    const int64_t height = (call_.max_q + spec_.block_size - 1) / spec_.block_size;
    const int64_t width = (call_.max_kv + spec_.block_size - 1) / spec_.block_size;
    std::vector<double> mask, counts, indices;
    for (int64_t row = 0; row < call_.batch() * spec_.heads.q * height; ++row) {
      std::vector<double> list;
      for (int64_t j = 0; j < width; ++j) {
        const bool kept = row % 5 != 4 && (row % 7 == 6 || random_() % 3 == 0);
        mask.push_back(kept ? static_cast<double>(1 + random_() % 255) : 0);
        if (kept) list.push_back(static_cast<double>(j));
      }
      counts.push_back(static_cast<double>(list.size()));
      list.resize(static_cast<size_t>(width), 1e9);  // not to be read
      indices.insert(indices.end(), list.begin(), list.end());
    }
    if (spec_.sparsity == Spec::Sparsity::BlockBitmap) return put<uint8_t>("block_mask", mask);
    put<int32_t>("block_counts", counts);
    put<int32_t>("block_indices", indices);
  }

  void draw_inputs() {
    using Kind = attngen::spec::Input::Dim::Kind;
    for (const auto& input : spec_.inputs) {
      int64_t size = 1;
      for (const auto& dim : input.shape) {
        size *= dim.kind == Kind::Batch     ? call_.batch()
                : dim.kind == Kind::Heads   ? spec_.heads.q
                : dim.kind == Kind::HeadsKv ? spec_.heads.kv()
                : dim.kind == Kind::SeqQ    ? call_.max_q
                : dim.kind == Kind::SeqKv   ? call_.max_kv
                                            : dim.number;
      }
      std::vector<double> values(static_cast<size_t>(size));
      using Element = attngen::spec::Input::Element;
      const bool real = input.element == Element::F32;
      const bool half = input.element == Element::Bf16 || input.element == Element::Fp16;
      for (double& x : values) {
        x = real   ? static_cast<float>(-0.01 * static_cast<double>(1 + random_() % 30))
            : half ? static_cast<double>(random_() % 15) / 4 - 1.75  // which 16 bits hold
                   : static_cast<double>(random_() % 4);
      }
      const bool along_sequence = !input.shape.empty() && (input.shape.back().kind == Kind::SeqQ ||
                                                           input.shape.back().kind == Kind::SeqKv);
      if (input.sorted) {
        draw_ascending(values, call_.max_kv);
      } else if (input.element == attngen::spec::Input::Element::U8) {
        draw_valid(values);
      } else if (!real && !half && along_sequence) {
        draw_stretches(values);
      }
      if (const auto pairs = attngen::attention::pair_input(spec_);
          pairs && pairs->input.name == input.name) {
        poison_absent(values);
      }
      if (real) {
        put<float>(input.name, values);
      } else if (half) {
        put_halves(input, values);
      } else if (input.element == attngen::spec::Input::Element::U8) {
        put<uint8_t>(input.name, values);
      } else {
        put<int32_t>(input.name, values);
      }
    }
  }

  // Of [.., seq_q, seq_kv], what the mask leaves out is NaN: it must reach no pair. Masks of such
  // specs know a query and a key by their numbers alone.
  void poison_absent(std::vector<double>& values) const {
    for (size_t i = 0; i < values.size(); ++i) {
      const int64_t row = static_cast<int64_t>(i) / call_.max_kv;
      const std::map<std::string_view, int64_t> numbers{
          {"q_idx", row % call_.max_q},
          {"q_pos", row % call_.max_q + call_.max_kv - call_.max_q},
          {"kv_idx", static_cast<int64_t>(i) % call_.max_kv}};
      const auto number = [&](std::string_view name) {
        return static_cast<double>(numbers.at(name));
      };
      if (attngen::expr::evaluate(spec_.mask, number) == 0) values[i] = std::nan("");
    }
  }

  // Documents of about 20 keys, one of them of 60.
  void draw_ascending(std::vector<double>& values, int64_t length) {
    for (size_t i = 0; i < values.size(); ++i) {
      const auto place = static_cast<int64_t>(i) % std::max<int64_t>(1, length);
      const bool next = place > 0 && (place < 40 || place > 100) && random_() % 20 == 0;
      values[i] = (place == 0 ? 0 : values[i - 1]) + (next ? 1 : 0);
    }
  }

  // Ids in no order, of about 30 tokens each.
  void draw_stretches(std::vector<double>& values) {
    double id = 0;
    for (double& x : values) {
      if (random_() % 30 == 0) id = static_cast<double>(random_() % 12) - 4;
      x = id;
    }
  }

  // Of [batch, seq_kv]: no key of every third 128 exists, which are NaN, and some of the others.
  void draw_valid(std::vector<double>& values) {
    for (size_t i = 0; i < values.size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      const bool none = row % call_.max_kv / 128 % 3 == 1;
      values[i] = none || random_() % 9 == 0 ? 0 : static_cast<double>(1 + random_() % 255);
      if (!none) continue;
      k_.poison(row, row + 1);
      v_.poison(row, row + 1);
    }
  }

  void draw_offsets() {
    std::vector<double> q{0}, kv{0};
    for (const Sequence& s : call_.sequences) {
      q.push_back(q.back() + static_cast<double>(s.seq_q));
      kv.push_back(kv.back() + static_cast<double>(s.seq_kv));
    }
    put<int32_t>("cu_seqlens_q", q);
    put<int32_t>("cu_seqlens_kv", kv);
  }

  void* pointer(const std::string& name) {
    if (name == "q") return q_.memory.data();
    if (name == "k") return k_.memory.data();
    if (name == "v") return v_.memory.data();
    if (name == "o") return o_.data();
    if (const auto save = saves_.find(name); save != saves_.end()) return save->second.data();
    return arrays_.at(name).data();
  }

  int launch() {
    const std::map<std::string, int64_t> numbers{
        {"batch", call_.batch()},     {"seq_q", call_.max_q},         {"seq_kv", call_.max_kv},
        {"heads_q", spec_.heads.q},   {"heads_kv", spec_.heads.kv()}, {"total_q", call_.total_q},
        {"total_kv", call_.total_kv}, {"max_seq_q", call_.max_q},     {"max_seq_kv", call_.max_kv}};
    std::vector<uint8_t> args;
    const auto add = [&](const auto& x) {
      while (args.size() % sizeof(x) != 0) args.push_back(0);
      const auto* bytes = reinterpret_cast<const uint8_t*>(&x);
      args.insert(args.end(), bytes, bytes + sizeof(x));
    };
    for (const auto& field : manifest_["passes"][0]["args"]["fields"]) {
      const std::string name = field["name"], type = field["c_type"];
      const auto number = numbers.find(name);
      const int64_t value = number == numbers.end() ? 0 : number->second;  // strides: contiguous
      if (type.ends_with("*")) {
        add(pointer(name));
      } else if (type == "float") {
        add(static_cast<float>(problem_.inputs.at(name)[0]));
      } else if (type == "int32_t") {
        const bool input = problem_.inputs.contains(name);
        add(static_cast<int32_t>(input ? static_cast<int64_t>(problem_.inputs[name][0]) : value));
      } else {
        add(value);  // size_t, int64_t
      }
    }
    while (args.size() % 8 != 0) args.push_back(0);
    const uint64_t size = args.size();
    std::memcpy(args.data(), &size, 8);

    const std::string prefix = spec_.name + "_forward";
    const auto workspace_size =
        reinterpret_cast<size_t (*)(const void*)>(dlsym(library_, (prefix + "_workspace").c_str()));
    const auto forward =
        reinterpret_cast<int (*)(const void*, void*, void*)>(dlsym(library_, prefix.c_str()));
    const size_t workspace_bytes = workspace_size(args.data());
    Guarded workspace(static_cast<int64_t>(workspace_bytes), 1);
    // A counter of tiles that is not cleared skips some: one of -1 would only repeat the last.
    std::memset(workspace.data(), 0x5B, workspace_bytes);
    const int status = forward(args.data(), workspace.data(), nullptr);
    if (!workspace.clean()) {
      std::printf("%s: wrote outside the workspace\n", call_.text.c_str());
      return -1;
    }
    return status;
  }

  // The FlashAttention rule, over all rows of a head at once.
  bool compare() {
    const Oracle oracle(spec_);
    double worst = 0;
    int64_t rows = 0;
    for (int64_t b = 0; b < call_.batch(); ++b) {
      if (b == poisoned_) continue;
      const Sequence& s = call_.sequences[static_cast<size_t>(b)];
      for (int64_t h = 0; h < spec_.heads.q; ++h) {
        double error = 0, naive_error = 0, largest = 0;
        for (int64_t i = 0; i < s.seq_q; ++i) {
          const Row exact = oracle.row(problem_, b, h, i, Arithmetic::Exact);
          const Row naive = oracle.row(problem_, b, h, i, Arithmetic::Storage);
          const bool bhsd = spec_.layout == attngen::spec::Layout::Bhsd;
          const int64_t row =
              bhsd ? (b * spec_.heads.q + h) * s.seq_q + i : (s.q_begin + i) * spec_.heads.q + h;
          const int64_t at = row * spec_.head_dim.v;
          for (int d = 0; d < spec_.head_dim.v; ++d) {
            uint16_t x;
            std::memcpy(&x, o_.data() + 2 * (at + d), 2);
            const auto j = static_cast<size_t>(d);
            const double off = std::abs(from_storage(x, spec_.dtype) - exact.o[j]);
            error = off <= error ? error : off;  // NaN stays
            naive_error = std::max(naive_error, std::abs(naive.o[j] - exact.o[j]));
            largest = std::max(largest, std::abs(exact.o[j]));
          }
          if (!hold_saves(exact, b, h, i)) return false;
          ++rows;
        }
        const double allowed = 2 * naive_error + largest / 256;
        if (!(error <= allowed)) {
          std::printf("%s: batch %ld, head %ld: error %g, allowed %g\n", call_.text.c_str(),
                      static_cast<long>(b), static_cast<long>(h), error, allowed);
          return false;
        }
        if (error > 0) worst = std::max(worst, error / allowed);
      }
    }
    std::printf("%s: %ld rows, at most %.2f of what is allowed\n", call_.text.c_str(),
                static_cast<long>(rows), worst);
    return true;
  }

  static bool caps_nearly(const Spec& spec) {
    const auto rows = attngen::attention::derive_row_form(spec.normalize);
    const auto* form = std::get_if<attngen::attention::RowForm>(&rows);
    return form != nullptr && attngen::attention::pair_form(spec, *form, {.near = true}).near_cap;
  }
  bool hold_saves(const Row& exact, int64_t b, int64_t h, int64_t i) {
    const Sequence& s = call_.sequences[static_cast<size_t>(b)];
    const size_t per_map = spec_.normalize.saves.size();
    for (size_t j = 0; j < exact.saves.size(); ++j) {
      // [heads, total_q] of packed sequences, else [batch, heads, maps, seq_q].
      const int64_t head = (b * spec_.heads.q + h) * spec_.maps + static_cast<int64_t>(j / per_map);
      const int64_t at = spec_.varlen ? h * call_.total_q + s.q_begin + i : head * call_.max_q + i;
      float x;
      std::memcpy(&x, saves_.at(spec_.normalize.saves[j % per_map].name).data() + 4 * at, 4);
      if (static_cast<double>(x) == exact.saves[j]) continue;  // infinities too
      double allowed = 1e-4 * std::max(1.0, std::abs(exact.saves[j]));
      if (caps_nearly_) allowed += std::numbers::ln2 / 256;
      if (std::abs(x - exact.saves[j]) <= allowed) continue;
      std::printf("%s: batch %ld, head %ld, row %ld: save %g, expected %g\n", call_.text.c_str(),
                  static_cast<long>(b), static_cast<long>(h), static_cast<long>(i),
                  static_cast<double>(x), exact.saves[j]);
      return false;
    }
    return true;
  }

  const Spec& spec_;
  // A soft cap by its cubic is right to 2^-8 of an exponent of two.
  const bool caps_nearly_ = caps_nearly(spec_);
  nlohmann::json manifest_;
  void* library_;
  Call call_;
  std::mt19937 random_{12345};
  Tensor q_, k_, v_;
  Guarded o_;
  std::map<std::string, Guarded> saves_;
  std::map<std::string, BeforeFault> arrays_;
  Problem problem_;
  int64_t poisoned_ = -1;
};

void report_fault(int) {
  constexpr char kText[] = "an address that nobody has: behind an input's end?\n";
  const ssize_t written = write(STDOUT_FILENO, kText, sizeof kText - 1);
  _exit(written < 0 ? 10 : 9);
}

std::string text_of(const char* path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::puts("usage: check <spec.yaml> <manifest.json> <library.so> <call>...");
    return 2;
  }
  attngen::text::Diagnostics diagnostics({argv[1], text_of(argv[1])});
  const auto spec = attngen::spec::read(diagnostics);
  void* const library = dlopen(argv[3], RTLD_NOW);
  if (!spec || library == nullptr) {
    std::puts(spec ? dlerror() : diagnostics.render(attngen::text::ErrorFormat::Gcc).c_str());
    return 2;
  }
  std::signal(SIGSEGV, report_fault);
  bool ok = true;
  for (int i = 4; i < argc; ++i) {
    ok = Check(*spec, nlohmann::json::parse(text_of(argv[2])), library,
               read_call(argv[i], spec->varlen))
             .run() &&
         ok;
  }
  return ok ? 0 : 1;
}
