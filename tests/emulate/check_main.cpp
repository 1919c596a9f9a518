// Runs an emitted kernel on the emulator and holds every row of it to the oracle.
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numbers>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "attention/oracle.h"
#include "attention/pair_form.h"
#include "call.h"
#include "data.h"
#include "hold/rule.h"
#include "spec/read.h"

namespace {

using namespace attngen;
using attention::Arithmetic;
using emulate::Call;
using emulate::Data;
using emulate::Sequence;
using spec::Spec;

constexpr int kBadDevice = 8;    // docs/spec.md, section 6
constexpr int64_t kRoom = 5000;  // keys that a call may have beyond those of its sequences

// An emitted function: its argument from the manifest's words, its result.
class Emitted {
 public:
  Emitted(const Spec& spec, const std::string& manifest, const std::string& library)
      : spec_(spec), library_(dlopen(library.c_str(), RTLD_NOW)) {
    if (library_ == nullptr) throw std::runtime_error(dlerror());
    std::ifstream stream(manifest);
    fields_ = nlohmann::json::parse(stream)["passes"][0]["args"]["fields"];
  }

  // The status. A workspace that is written beside throws. `replays`: the kernels run twice.
  int run(Data& data, bool replays) const {
    const std::vector<uint8_t> args = argument(data);
    const std::string name = spec_.name + "_forward";
    const auto workspace_size = function<size_t (*)(const void*)>(name + "_workspace");
    const auto forward = function<int (*)(const void*, void*, void*)>(name);
    const size_t size = workspace_size(args.data());
    emulate::Guarded workspace(static_cast<int64_t>(size), 1);
    // A counter of tiles that is not cleared skips some: one of -1 would only repeat the last.
    std::memset(workspace.data(), 0x5B, size);
    forbid(data);
    const int status = forward(args.data(), workspace.data(), nullptr);
    if (replays) function<void (*)()>("emulator_replay")();
    if (!workspace.clean()) throw std::runtime_error("wrote outside the workspace");
    return status;
  }

  // Whether a call is refused while there is no driver; the next one has to ask for it again.
  bool needs_driver(Data& data) const {
    auto* const has_driver = function<bool*>("emulator_has_driver");
    *has_driver = false;
    const int status = run(data, false);
    *has_driver = true;
    return status != 0;
  }

  // Whether a call is refused on cards older and newer than the kernel is for.
  bool needs_hopper(Data& data) const {
    auto* const capability = function<int*>("emulator_capability");
    bool refused = true;
    for (const int other : {8, 10}) {
      *capability = other;
      refused = run(data, false) == kBadDevice && refused;
    }
    *capability = 9;
    return refused;
  }

 private:
  // What copies may not read.
  void forbid(const Data& data) const {
    const auto add = function<void (*)(const void*, size_t)>("emulator_forbid");
    add(nullptr, 0);
    for (const auto& [begin, bytes] : data.behind()) add(begin, bytes);
  }

  template <typename F>
  F function(const std::string& name) const {
    return reinterpret_cast<F>(dlsym(library_, name.c_str()));
  }

  std::vector<uint8_t> argument(Data& data) const {
    std::vector<uint8_t> args;
    const auto add = [&](const auto& x) {
      while (args.size() % sizeof(x) != 0) args.push_back(0);
      const auto* bytes = reinterpret_cast<const uint8_t*>(&x);
      args.insert(args.end(), bytes, bytes + sizeof(x));
    };
    for (const auto& field : fields_) {
      const std::string name = field["name"], type = field["c_type"];
      if (type.ends_with("*")) {
        add(pointer(data, name));
      } else if (type == "float") {
        add(static_cast<float>(data.scalar(name)));
      } else if (type == "uint8_t") {
        add(static_cast<uint8_t>(data.scalar(name)));
      } else if (type == "int32_t") {
        add(static_cast<int32_t>(number(data, name)));
      } else {
        add(number(data, name));  // size_t, int64_t
      }
    }
    while (args.size() % 8 != 0) args.push_back(0);
    const uint64_t size = args.size();
    std::memcpy(args.data(), &size, 8);
    return args;
  }

  const void* pointer(Data& data, const std::string& name) const {
    if (name == "q" || name == "k" || name == "v" || name == "o") {
      return data.tensor(name[0]).memory();
    }
    for (size_t i = 0; i < spec_.normalize.saves.size(); ++i) {
      if (name == spec_.normalize.saves[i].name) return data.save(i);
    }
    return data.array(name);
  }

  int64_t number(Data& data, const std::string& name) const {
    const Call& call = data.call();
    if (name == "batch") return call.batch();
    if (name == "seq_q") return call.max_q;
    if (name == "seq_kv") return call.max_kv;
    if (name == "total_q") return call.total_q;
    if (name == "total_kv") return call.total_kv + (call.roomy ? kRoom : 0);
    if (name == "heads_q") return spec_.heads.q;
    if (name == "heads_kv") return spec_.heads.kv();
    if (name == "num_pages" || name.starts_with("page_")) return data.of_pages(name);
    if (name.find("_stride_") == 1) return stride(data, name);
    return data.has(name) ? static_cast<int64_t>(data.scalar(name)) : 0;
  }

  // Three zeros: contiguous in the spec's layout.
  static int64_t stride(Data& data, const std::string& name) {
    if (data.call().strides == hold::StrideKind::Default) return 0;
    const hold::Extent& extent = data.tensor(name[0]).extent();
    if (name.ends_with("_batch") || name.ends_with("_page")) return extent.batch_stride;
    return name.ends_with("_seq") ? extent.seq_stride : extent.head_stride;
  }

  const Spec& spec_;
  void* library_;
  nlohmann::json fields_;
};

// A soft cap by its cubic is right to 2^-8 of an exponent of two.
double allowed_of_saves(const Spec& spec) {
  const auto rows = attention::derive_row_form(spec.normalize);
  const auto* form = std::get_if<attention::RowForm>(&rows);
  const bool nearly = form != nullptr && attention::pair_form(spec, *form, {.near = true}).near_cap;
  return nearly ? std::numbers::ln2 / 256 : 0;
}

// What a call gave, row by row beside the oracle's.
class Results {
 public:
  Results(const Spec& spec, Data& data) : spec_(spec), data_(data), oracle_(spec) {
    o_.columns = static_cast<size_t>(spec.head_dim.v);
    saves_.resize(spec.normalize.saves.size());
    for (int64_t b = 0; b < data.call().batch(); ++b) {
      if (b != data.poisoned()) add_sequence(b);
    }
  }

  std::vector<hold::Verdict> verdicts() const {
    const double roundoff = hold::roundoff_of(spec_.dtype);
    std::vector<hold::Verdict> verdicts{hold::hold_largest("o", o_, roundoff),
                                        hold::hold_by_magnitude("o in the mean", o_, roundoff)};
    const double more = allowed_of_saves(spec_);
    for (size_t i = 0; i < saves_.size(); ++i) {
      const std::string& name = spec_.normalize.saves[i].name;
      verdicts.push_back(hold::hold_save(name, saves_[i]));
      verdicts.back().allowed += more;
    }
    return verdicts;
  }
  size_t rows() const { return o_.got.size() / o_.columns; }

 private:
  void add_sequence(int64_t b) {
    const Sequence& s = data_.call().sequences[static_cast<size_t>(b)];
    for (int64_t h = 0; h < spec_.heads.q; ++h) {
      for (int64_t i = 0; i < s.seq_q; ++i) add_row(s, b, h, i);
    }
  }

  void add_row(const Sequence& s, int64_t b, int64_t h, int64_t i) {
    const attention::Row exact = oracle_.row(data_.problem(), b, h, i, Arithmetic::Exact);
    const attention::Row naive = oracle_.row(data_.problem(), b, h, i, Arithmetic::Storage);
    const emulate::Tensor& o = data_.tensor('o');
    const int64_t at = spec_.varlen ? o.extent().at(0, s.q_begin + i, h) : o.extent().at(b, i, h);
    for (int64_t d = 0; d < spec_.head_dim.v; ++d) o_.got.push_back(o.stored(at + d));
    o_.exact.insert(o_.exact.end(), exact.o.begin(), exact.o.end());
    o_.naive.insert(o_.naive.end(), naive.o.begin(), naive.o.end());
    for (size_t j = 0; j < exact.saves.size(); ++j) {
      const size_t index = j % saves_.size(), map = j / saves_.size();
      saves_[index].got.push_back(saved(s, b, h, i, index, static_cast<int64_t>(map)));
      saves_[index].exact.push_back(exact.saves[j]);
      saves_[index].naive.push_back(naive.saves[j]);
    }
  }

  // [heads, maps, total_q] of packed sequences, else [batch, heads, maps, seq_q].
  double saved(const Sequence& s, int64_t b, int64_t h, int64_t i, size_t index,
               int64_t map) const {
    const Call& call = data_.call();
    const int64_t head = h * spec_.maps + map;
    const int64_t at = spec_.varlen ? head * call.total_q + s.q_begin + i
                                    : (b * spec_.heads.q * spec_.maps + head) * call.max_q + i;
    return static_cast<double>(data_.save(index)[at]);
  }

  const Spec& spec_;
  Data& data_;
  attention::Oracle oracle_;
  hold::Rows o_;
  std::vector<hold::Rows> saves_;
};

// Prints what was found; whether it is right.
bool check(const Spec& spec, const Emitted& emitted, Data& data, bool replays) {
  const char* const text = data.call().text.c_str();
  const int status = emitted.run(data, replays);
  if (status != 0 || data.call().status != 0) {
    std::printf("%s: status %d\n", text, status);
    return status == data.call().status;
  }
  bool right = !data.wrote_outside();
  if (!right) std::printf("%s: wrote outside an output\n", text);
  const Results results(spec, data);
  std::string line = fmt::format("{}: {} rows", text, results.rows());
  for (const hold::Verdict& verdict : results.verdicts()) {
    line += fmt::format(", {} {:.2g}", verdict.output, verdict.ratio());
    if (verdict.ok()) continue;
    right = false;
    line += fmt::format(" (WRONG: error {:.3g}, allowed {:.3g}, row {})", verdict.error,
                        verdict.allowed, verdict.row);
  }
  std::puts(line.c_str());
  return right;
}

std::optional<Spec> read_spec(const std::string& path) {
  std::ifstream stream(path);
  text::Diagnostics diagnostics({path, {std::istreambuf_iterator<char>(stream), {}}});
  auto spec = spec::read(diagnostics);
  if (!spec) std::fputs(diagnostics.render(text::ErrorFormat::Gcc).c_str(), stdout);
  return spec;
}

void report_fault(int) {
  constexpr char kText[] = "an address that nobody has: behind an input's end?\n";
  const ssize_t written = write(STDOUT_FILENO, kText, sizeof kText - 1);
  _exit(written < 0 ? 10 : 9);
}

int run(int argc, char** argv) {
  std::string spec_path, manifest, library;
  std::vector<std::string> calls;
  std::vector<std::string> fill_texts;
  uint32_t seed = 12345;
  bool replays = false;
  CLI::App app{"Holds an emitted Hopper kernel, run by the emulator, to the oracle."};
  app.add_option("spec", spec_path)->required();
  app.add_option("manifest", manifest)->required();
  app.add_option("library", library)->required();
  app.add_option("calls", calls,
                 "[padded:|swapped:|large:|opposed:|wild:|exceeding:|roomy:|bad_length:]"
                 "batch,seq_q,seq_kv, or 7x9+1x0");
  app.add_option("--seed", seed);
  app.add_option("--fill", fill_texts, "input=how (hold/fill.h)");
  app.add_flag("--replay", replays,
               "run the kernels again, as a captured graph does, and before that without a driver "
               "and on other cards");
  CLI11_PARSE(app, argc, argv);
  const std::optional<Spec> spec = read_spec(spec_path);
  if (!spec) return 2;
  const std::map<std::string, std::string> fills = hold::fills_of(*spec, fill_texts);
  const Emitted emitted(*spec, manifest, library);
  std::signal(SIGSEGV, report_fault);
  bool right = true;
  for (const std::string& text : calls) {
    Data data(*spec, emulate::read_call(text, spec->varlen), fills, seed);
    if (replays && text == calls.front() && !emitted.needs_driver(data)) {
      std::puts("no driver is needed");
      right = false;
    }
    if (replays && text == calls.front() && !emitted.needs_hopper(data)) {
      std::puts("another card will do");
      right = false;
    }
    right = check(*spec, emitted, data, replays) && right;
  }
  return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 2;
  }
}
