// mi250_check: holds an emitted MI250 kernel, run by the interpreter, to the double-precision
// oracle.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "call.h"
#include "hold/rule.h"
#include "spec/read.h"

namespace {

using namespace attngen;
using namespace attngen::mi250;
using namespace attngen::hold;

std::string read_text(const std::string& path) {
  std::ifstream stream(path);
  if (!stream) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

spec::Spec read_spec(const std::string& path) {
  text::Diagnostics diagnostics({path, read_text(path)});
  auto spec = spec::read(diagnostics);
  if (!spec) throw std::runtime_error(diagnostics.render(text::ErrorFormat::Gcc));
  return *std::move(spec);
}

Grid read_grid(const std::string& path) {
  const auto manifest = nlohmann::json::parse(read_text(path));
  for (const auto& target : manifest["targets"]) {
    if (target["target"] != "mi250") continue;
    return {64 * target["schedule"]["warpgroups"].get<int>(),
            target["resources"]["threads"].get<int>(),
            target["schedule"]["order"] == "longest_first",
            target["schedule"].value("pack_heads", false)};
  }
  throw std::runtime_error(path + ": no kernel for mi250");
}

// "70x130+1x77": queries x keys of each sequence.
void read_packed(const std::string& text, Shape& shape) {
  shape.batch = shape.seq_q = shape.seq_kv = 0;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, '+'); ++shape.batch) {
    const Sequence sequence{shape.total_q, std::stoll(word), shape.total_kv,
                            std::stoll(word.substr(word.find('x') + 1))};
    shape.packed.push_back(sequence);
    shape.total_q += sequence.seq_q;
    shape.total_kv += sequence.seq_kv;
    shape.seq_q = std::max(shape.seq_q, sequence.seq_q);
    shape.seq_kv = std::max(shape.seq_kv, sequence.seq_kv);
  }
}

Shape read_shape(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == ',') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  Shape shape;
  constexpr std::string_view kWild = "wild:";
  shape.wild = words[0].starts_with(kWild);
  if (shape.wild) words[0].erase(0, kWild.size());
  const bool packed = words[0].find('x') != std::string::npos;
  const size_t lengths = packed ? 1 : 3;
  if (words.size() < lengths)
    throw std::runtime_error("a shape is batch,seq_q,seq_kv[,strides[,logits]]");
  if (packed) {
    read_packed(words[0], shape);
  } else {
    shape.batch = std::stoll(words[0]);
    shape.seq_q = std::stoll(words[1]);
    shape.seq_kv = std::stoll(words[2]);
  }
  if (words.size() > lengths) {
    const std::string& strides = words[lengths];
    shape.strides = strides == "padded"    ? StrideKind::Padded
                    : strides == "swapped" ? StrideKind::Swapped
                    : strides == "shared"  ? StrideKind::Shared
                                           : StrideKind::Default;
  }
  if (words.size() > lengths + 1) shape.logits = words[lengths + 1] == "large" ? 60 : 1;
  return shape;
}

struct RowAt {
  int64_t b, h, q;
};

// All rows if they are few, else the tiles' first and last and every n-th.
std::vector<RowAt> rows_of(const spec::Spec& spec, const Shape& shape, int64_t most_pairs) {
  const int64_t all = shape.batch * spec.heads.q * shape.seq_q;
  const int64_t most = std::max<int64_t>(64, most_pairs / std::max<int64_t>(1, shape.seq_kv));
  const int64_t step = (all + most - 1) / most;
  std::vector<RowAt> rows;
  for (int64_t i = 0; i < all; ++i) {
    const int64_t q = i % shape.seq_q, head = i / shape.seq_q, b = head / spec.heads.q;
    if (q >= shape.queries(b) || shape.is_poisoned(b)) continue;
    if (i % step == 0 || ((q % 32 == 0 || q % 32 == 31) && head % 3 == 0 && step < 8)) {
      rows.push_back({b, head % spec.heads.q, q});
    }
  }
  return rows;
}

struct Held {
  std::vector<Verdict> verdicts;
  size_t rows = 0;
};

Held hold_rows(const spec::Spec& spec, const Shape& shape, const Call& call, int64_t most_pairs) {
  const attention::Oracle oracle(spec);
  const std::vector<RowAt> rows = rows_of(spec, shape, most_pairs);
  const auto columns = static_cast<size_t>(spec.head_dim.v);
  Rows o{columns, {}, {}, {}};
  for (auto* part : {&o.got, &o.exact, &o.naive}) part->resize(rows.size() * columns);
  std::vector<Rows> saves(spec.normalize.saves.size());
  for (Rows& save : saves) {
    for (auto* part : {&save.got, &save.exact, &save.naive}) part->resize(rows.size());
  }
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < rows.size(); i = next++) {
      const auto& [b, h, q] = rows[i];
      const auto exact = oracle.row(call.problem(), b, h, q, attention::Arithmetic::Exact);
      const auto naive = oracle.row(call.problem(), b, h, q, attention::Arithmetic::Storage);
      for (size_t d = 0; d < columns; ++d) {
        o.got[i * columns + d] = call.output(b, h, q, static_cast<int64_t>(d));
        o.exact[i * columns + d] = exact.o[d];
        o.naive[i * columns + d] = naive.o[d];
      }
      for (size_t s = 0; s < saves.size(); ++s) {
        saves[s].got[i] = call.save(s, b, h, q);
        saves[s].exact[i] = exact.saves[s];
        saves[s].naive[i] = naive.saves[s];
      }
    }
  };
  {
    std::jthread other(work);
    work();
  }
  Held held{{}, rows.size()};
  const double roundoff = roundoff_of(spec.dtype);
  held.verdicts.push_back(hold_largest("o", o, roundoff));
  held.verdicts.push_back(hold_by_magnitude("o in the mean", o, roundoff));
  for (size_t s = 0; s < saves.size(); ++s) {
    held.verdicts.push_back(hold_save(spec.normalize.saves[s].name, saves[s]));
  }
  return held;
}

struct Options {
  std::string spec, manifest, code_object;
  std::vector<std::string> shapes, fills;
  uint64_t seed = 1;
  int64_t pairs = 400'000;
  bool verbose = false, counters = false, main_loop = false, conflict_free = false;
};

// What the main loop asked of LDS and memory.
struct MainLoop {
  uint64_t rounds = 0;  // of all waves
  gfx90a::Count reads, writes, loads;

  nlohmann::json per_round() const {
    const auto share = [&](uint64_t n) {
      return static_cast<double>(n) / static_cast<double>(std::max<uint64_t>(1, rounds));
    };
    return {{"rounds", rounds},
            {"lds_read_cycles", share(reads.lds_cycles)},
            {"lds_read_conflicts", share(reads.lds_conflicts)},
            {"lds_write_cycles", share(writes.lds_cycles)},
            {"lds_write_conflicts", share(writes.lds_conflicts)},
            {"transactions_64", share(loads.segments64)},
            {"transactions_128", share(loads.segments128)},
            {"load_bytes", share(loads.bytes)}};
  }
};

MainLoop main_loop_of(const gfx90a::Kernel& kernel, const gfx90a::Counters& counters) {
  const gfx90a::BasicBlock loop = counters.hottest_loop();
  MainLoop sums{loop.entered, {}, {}, {}};
  for (uint32_t i = loop.first; i < loop.last; ++i) {
    const std::string& name = kernel.instructions()[i].line->mnemonic;
    if (name.starts_with("ds_read")) sums.reads += counters.of(i);
    if (name.starts_with("ds_write")) sums.writes += counters.of(i);
    if (name.starts_with("buffer_load") || name.starts_with("global_load"))
      sums.loads += counters.of(i);
  }
  return sums;
}

// True if every output of the call is within the rule.
bool check(const Options& options, const spec::Spec& spec, const Grid& grid,
           const gfx90a::Kernel& kernel, const Shape& shape, gfx90a::Counters& counters) {
  Call call(spec, shape, hold::fills_of(spec, options.fills), options.seed);
  call.run(kernel, grid, options.seed, counters);
  const Held held = hold_rows(spec, shape, call, options.pairs);
  bool good = true;
  std::string line = fmt::format("{} {}: {} rows", spec.name, shape.text(), held.rows);
  for (const Verdict& verdict : held.verdicts) {
    line += fmt::format(", {} {:.2g}", verdict.output, verdict.ratio());
    if (!verdict.ok()) {
      good = false;
      line += fmt::format(" (error {:.3g}, allowed {:.3g}, row {})", verdict.error, verdict.allowed,
                          verdict.row);
    }
  }
  if (call.wrote_outside()) {
    good = false;
    line += ", wrote outside of o";
  }
  if (options.verbose || !good) {
    std::printf("%s%s\n", good ? "" : "FAILED (seed ",
                good ? "" : fmt::format("{}) ", options.seed).c_str());
    std::printf("%s\n", line.c_str());
  }
  return good;
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app{"Holds an emitted MI250 kernel to the oracle, by the FlashAttention rule."};
  app.add_option("spec", options.spec)->required();
  app.add_option("manifest", options.manifest)->required();
  app.add_option("code_object", options.code_object)->required();
  app.add_option(
      "--shape", options.shapes,
      "batch,seq_q,seq_kv[,default|padded|swapped[,large]]; of packed sequences queries x "
      "keys, 70x130+1x77, in the place of the three; wild: before 0x0+0x0+7x9+0x0+0x0");
  app.add_option("--fill", options.fills,
                 "input=normal, slopes, documents, documents_anyhow, stretches, lengths, bits, "
                 "holes, key_holes, log_decay, log_gates, broken_gates, or a number");
  app.add_option("--seed", options.seed);
  app.add_option("--pairs", options.pairs, "that the oracle computes for each call");
  app.add_flag("--verbose", options.verbose, "good calls too");
  app.add_flag("--counters", options.counters, "of all calls together");
  app.add_flag("--main-loop", options.main_loop,
               "its LDS cycles and memory transactions a round of a wave, as JSON");
  app.add_flag("--conflict-free", options.conflict_free,
               "reads of LDS in the main loop must have no bank conflict");
  CLI11_PARSE(app, argc, argv);
  const spec::Spec spec = read_spec(options.spec);
  const Grid grid = read_grid(options.manifest);
  const gfx90a::Kernel kernel(options.code_object);
  gfx90a::Counters counters(kernel.instructions());
  size_t failed = 0;
  for (const std::string& text : options.shapes) {
    const Shape shape = read_shape(text);
    try {
      failed += !check(options, spec, grid, kernel, shape, counters);
    } catch (const gfx90a::Fault& fault) {
      ++failed;
      std::printf("FAILED %s %s: %s\n", spec.name.c_str(), shape.text().c_str(), fault.what());
    }
  }
  if (options.counters) std::fputs(counters.report().c_str(), stdout);
  const MainLoop loop = main_loop_of(kernel, counters);
  if (options.main_loop) std::printf("%s\n", loop.per_round().dump().c_str());
  if (options.conflict_free && loop.reads.lds_conflicts > 0) {
    ++failed;
    std::printf("FAILED %s: %s\n", spec.name.c_str(), loop.per_round().dump().c_str());
  }
  std::printf("%s: %zu calls, %zu failed\n", spec.name.c_str(), options.shapes.size(), failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (!gfx90a::host_can_run()) {
    std::puts("skipped: this machine lacks AVX2, FMA or F16C");
    return 77;
  }
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mi250_check: %s\n", error.what());
    return 1;
  }
}
