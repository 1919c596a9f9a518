// The user's functions and the online update, compiled for the CPU and run against the oracle: four
// threads stand in for the four lanes that share a row.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "../variant_specs.h"
#include "attention/fixed_max.h"
#include "attention/interval_mask.h"
#include "attention/large_scores.h"
#include "attention/oracle.h"
#include "attention/output_columns.h"
#include "attention/pair_form.h"
#include "device_code_text.h"
#include "emit/api.h"
#include "emit/mask_functions.h"
#include "emit/prepass.h"
#include "emit/preprocess.h"
#include "emit/user_functions.h"
#include "emit/values.h"
#include "emit_test_support.h"
#include "expr/decimal.h"
#include "schedule/search.h"
#include "variants.h"

namespace attngen::emit {
namespace {

constexpr int kBatch = 2, kHeadsQ = 4, kHeadsKv = 2, kDim = 8, kTileKv = 16;
struct Shape {
  int seq_q, seq_kv;
};
constexpr Shape kShapes[] = {
    {21, 37},              // ragged
#ifndef ATTNGEN_SANITIZED  // whose build holds the generator, not the functions, to its rules
    {21, 9},               // rows without pairs
    {1, 70},               // one query
#endif
};

std::string mask_holds(const spec::Spec& spec) {
  return fmt::format("mask_holds(row, {}key, in)",
                     bytes_of_mask(spec) ? "first_byte(row, in)[key], " : "");
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

bool has_mask_ahead(const spec::Spec& spec, const attention::RowForm& form) {
  return attention::may_fix_max(form) && may_have_mask_ahead(spec, form);
}

// The exponential update of the template itself.
std::string softmax_part(const spec::Spec& spec, const attention::RowForm& form) {
  schedule::Candidate candidate;
  candidate.resources.fixed_max = attention::may_fix_max(form);
  candidate.resources.forms.bias = true;
  const auto values = template_values(spec, form, candidate);
  std::string text;
  for (const std::string name : {"mask_ahead.cuh", "softmax.cuh"}) {
    if (name == "mask_ahead.cuh" && !has_mask_ahead(spec, form)) continue;
    std::ifstream file(ATTNGEN_SOURCE_DIR "/templates/hopper/parts/" + name);
    std::stringstream content;
    content << file.rdbuf();
    const std::string part = content.str();
    const auto find = [&](std::string_view) { return std::optional<std::string_view>(part); };
    const auto wanted = preprocess({name, find}, {values, {}, spec.name});
    REQUIRE(std::holds_alternative<std::string>(wanted));
    text += std::get<std::string>(wanted);
  }
  return text;
}

bool has_biases(const spec::Spec& spec) {
  const auto bias = attention::pair_input(spec);
  return bias && !(bias->of_mask && attention::asks_pairs(spec));
}

std::string find_biases(const spec::Spec& spec) {
  if (!has_biases(spec)) return "";
  const auto bias = attention::pair_input(spec);
  using Element = spec::Input::Element;
  const Element element = bias->input.element;
  const char* const convert = element == Element::Fp16   ? "half_to_float"
                              : element == Element::Bf16 ? "bf16_to_float"
                                                         : "";
  const std::string place =
      bias->shift ? fmt::format(
                        "int64_t{{bias_matrix(row, in) * seq_q + q}} * bias_columns(row, in) + "
                        "std::clamp(bias_first(row, in) + {} * q + key, 0, "
                        "bias_columns(row, in) - 1)",
                        bias->shift->slope)
                  : "(bias_matrix(row, in) * seq_q + q) * seq_kv + key";
  return fmt::format(
      "float biases[kTileKv / 8][2];\n"
      "    for (int i = 0; i < kTileKv / 4; ++i) {{\n"
      "      const int key = min(kv_first + i / 2 * 8 + i % 2, seq_kv - 1);\n"
      "      biases[i / 2][i % 2] =\n"
      "          {}(bias_data(in)[{}]);\n"
      "      {}\n"
      "    }}\n"
      "    row.bias = reinterpret_cast<const uint8_t*>(biases);\n",
      convert, place,
      bias->has_bytes() ? "if (kv_first + i / 2 * 8 + i % 2 > key) biases[i / 2][i % 2] = 0;" : "");
}

std::string find_mask_bits(const spec::Spec& spec) {
  if (!attention::asks_pairs(spec)) return "";
  return fmt::format(
      "uint32_t bits[kTileKv / 4];\n"
      "    for (int i = 0; i < kTileKv / 4; ++i) {{\n"
      "      const int key = kv_first + i / 2 * 8 + i % 2;\n"
      "      bits[i] = key < seq_kv && {};\n"
      "    }}\n"
      "    row.bits = bits;\n",
      mask_holds(spec));
}

bool has_constants(const spec::Spec& spec, const attention::RowForm& form) {
  return !attention::pair_form(spec, form, {.row_keys = true}).constants.empty();
}

// A block as the template's `weigh` does it: with the maximum so far if the form allows, else, and
// where a weight would be too large, with a new one.
std::string exponential_block(const spec::Spec& spec, const attention::RowForm& form) {
  const bool plain = is_plain_score(spec);
  const bool affine = !plain && attention::pair_form(spec, form).affine;
  const bool ahead = has_mask_ahead(spec, form);
  const char* const biases = has_biases(spec) ? ", Biases" : "";
  const std::string finish =
      ahead   ? ""
      : plain ? fmt::format("    if (!full) mask_scores{}(scores, kv_first, rows, in);\n",
                            has_biases(spec) ? "<Biases>" : "")
              : fmt::format(
                    "    if (full) finish_scores<false{1}>(scores, kv_first, rows, {0}in);\n"
                    "    else finish_scores<true{1}>(scores, kv_first, rows, {0}in);\n",
                    affine ? "zero, " : "", biases);
  std::string text =
      "const Row rows[2] = {row, row};\n"
      "    const float zero[2] = {0, 0};\n"
      "    (void)zero;\n";
  if (ahead) {
    text +=
        "    float begun[kTileKv / 8][2][2] = {};\n"
        "    if (!full) begin_scores(begun, kv_first, rows, in);\n"
        "    for (int i = 0; i < kTileKv / 2; ++i) (&scores[0][0][0])[i] += "
        "(&begun[0][0][0])[i];\n";
  }
  const std::string online = finish + "    acc *= absorb(scores, 0, row, in, red);\n";
  if (!attention::may_fix_max(form)) return text + online;
  const char* const limit =
      !plain && attention::may_be_large(spec) ? "limit_of(rows, in, both, false)" : "kLargestSum";
  return text +
         "    float products[kTileKv / 8][2][2];\n"
         "    memcpy(products, scores, sizeof scores);\n"
         "    Reductions grown = red;\n"
         "    bool fits = false;\n"
         "    if (red.max_score > -INFINITY) {\n"
         "    Reductions both[2] = {red, red};\n"
         "    fits = " +
         (ahead ? "absorb_fixed(scores, rows, in, both, kLargestSum);\n"
                : fmt::format(
                      "full ? absorb_fixed<false{1}>(scores, kv_first, rows, in, both, {0})\n"
                      "         : absorb_fixed<true{1}>(scores, kv_first, rows, in, both, {0});\n",
                      limit, biases)) +
         "    grown = both[0];\n"
         "    }\n"
         "    if (__ballot_sync(~0u, fits) == 15) {\n"
         "    red = grown;\n"
         "    } else {\n"
         "    memcpy(scores, products, sizeof scores);\n" +
         online + "    }\n";
}

// What the template leaves to the rounding of weights.
std::string positive_part(const spec::Spec& spec, const attention::RowForm& form) {
  const auto abilities = schedule::pair_abilities(target::Family::Hopper, {.bias = true});
  if (!attention::pair_form(spec, form, abilities).positive_part) return "";
  return "\n    for (auto& group : scores) for (float& x : group[0]) x = fmaxf(x, 0);";
}

// Where the output stands, if it asks: in column 0.
std::string column_part(const spec::Spec& spec) {
  const expr::Expr& output = spec.normalize.output;
  if (!attention::has_columns(output)) return "";
  if (attention::column_loads(spec, output).empty()) return "const Column column{0};";
  return "const ColumnRows rows = column_rows(row, in);\n"
         "    Column column{};\n"
         "    for (auto& value : column.input) value = rows.begin[&value - column.input][0];";
}

// One call's data, the same numbers for the oracle and for the emitted code.
class Data {
 public:
  Data(const spec::Spec& spec, Shape shape) : spec_(spec), shape_(shape), random_(7) {
    fill(q_, shape.seq_q * kHeadsQ * spec.maps, 2);
    fill(k_, shape.seq_kv * kHeadsKv * spec.maps, 2);
    fill(v_, shape.seq_kv * kHeadsKv, 1);
    problem_ = {kBatch,
                shape.seq_q,
                shape.seq_kv,
                view(q_, kHeadsQ * spec.maps, shape.seq_q),
                view(k_, kHeadsKv * spec.maps, shape.seq_kv),
                view(v_, kHeadsKv, shape.seq_kv),
                {}};
    for (const spec::Input& input : spec.inputs) add(input);
  }
  const attention::Problem& problem() const { return problem_; }

  // Tables, inputs and results as C++ definitions.
  std::string definitions() const {
    std::vector<float> products, values;
    for (int b = 0; b < kBatch; ++b) {
      for (int h = 0; h < kHeadsQ * spec_.maps; ++h) {
        for (int q = 0; q < shape_.seq_q; ++q) {
          for (int kv = 0; kv < shape_.seq_kv; ++kv) products.push_back(product(b, h, q, kv));
        }
      }
      for (int h = 0; h < kHeadsKv; ++h) {
        for (int kv = 0; kv < shape_.seq_kv; ++kv)
          values.push_back(v_[at(b, kv, h, kHeadsKv, shape_.seq_kv)]);
      }
    }
    const int rows = kBatch * kHeadsQ * shape_.seq_q;
    std::string text = fmt::format(
        "static const float product[] = {{{:.9g}}};\nstatic const float value[] = {{{:.9g}}};\n"
        "static float output[{}];\n",
        fmt::join(products, ","), fmt::join(values, ","), rows);
    std::vector<std::string> members;
    for (const spec::NamedExpr& save : spec_.normalize.saves) {
      text += fmt::format("static float saved_{}[{}];\n", save.name, rows * spec_.maps);
      members.push_back("saved_" + save.name);
    }
    text += fmt::format("static const Saves saves{{{}}};\n", fmt::join(members, ", "));
    return text + inputs_;
  }
  std::string input_members(bool with_batch) const {
    std::vector<std::string> members = members_;
    if (with_batch) members.insert(members.begin(), std::to_string(kBatch));
    return fmt::format("{}", fmt::join(members, ", "));
  }

 private:
  static size_t at(int b, int s, int h, int heads, int seq) {
    return ((static_cast<size_t>(b) * seq + s) * heads + h) * kDim;
  }
  attention::TensorView view(const std::vector<float>& x, int heads, int seq) const {
    const int64_t row = int64_t{heads} * kDim;
    return {x.data(), seq * row, row, kDim};
  }
  double uniform(double low, double high) {
    return low + (high - low) * (static_cast<double>(random_() % 4096) / 4096);
  }
  void fill(std::vector<float>& x, int rows, double scale) {
    for (int i = 0; i < kBatch * rows * kDim; ++i) {
      x.push_back(static_cast<float>(uniform(-scale, scale)));
    }
  }
  // Of the head in memory, which may be a map of a query head.
  float product(int b, int head, int q, int kv) const {
    const int maps = spec_.maps;
    const int key_head = head / maps / (kHeadsQ / kHeadsKv) * maps + head % maps;
    double sum = 0;
    for (size_t d = 0; d < kDim; ++d) {
      sum += q_[at(b, q, head, kHeadsQ * maps, shape_.seq_q) + d] *
             k_[at(b, kv, key_head, kHeadsKv * maps, shape_.seq_kv) + d];
    }
    return static_cast<float>(sum);
  }

  void add(const spec::Input& input) {
    using Kind = spec::Input::Dim::Kind;
    int count = 1, last = 1;
    for (const spec::Input::Dim& dim : input.shape) {
      last = dim.kind == Kind::Batch     ? kBatch
             : dim.kind == Kind::Heads   ? kHeadsQ
             : dim.kind == Kind::HeadsKv ? kHeadsKv
             : dim.kind == Kind::SeqQ    ? shape_.seq_q
             : dim.kind == Kind::SeqKv   ? shape_.seq_kv
             : dim.kind == Kind::HeadDim ? kDim
                                         : dim.number;
      count *= last;
    }
    std::vector<double>& values = problem_.inputs[input.name];
    std::vector<std::string> elements;
    for (int i = 0; i < count; ++i) {
      const double eighth = std::floor(uniform(2, 12)) / 8;  // exact in every type
      switch (input.element) {
        case spec::Input::Element::I32:
          // Ids that ascend along the keys; lengths.
          values.push_back(last > kBatch ? std::floor(i % last / 5.0) : 5 + 13 * i);
          elements.push_back(fmt::format("{}", values.back()));
          break;
        case spec::Input::Element::U8:
          values.push_back(uniform(0, 1) < 0.6);
          elements.push_back(fmt::format("{}", values.back()));
          break;
        case spec::Input::Element::F32:
          values.push_back(-eighth);
          elements.push_back(fmt::format("{}", values.back()));
          break;
        case spec::Input::Element::Bf16:
        case spec::Input::Element::Fp16:
          values.push_back(eighth);
          elements.push_back(fmt::format("{}", bits(eighth, input.element)));
          break;
      }
    }
    if (input.shape.empty()) {
      members_.push_back(elements[0]);
    } else {
      const std::string type = c_type_of(input).substr(0, c_type_of(input).size() - 1);
      inputs_ += fmt::format("static {} {}_values[] = {{{}}};\n", type, input.name,
                             fmt::join(elements, ","));
      members_.push_back(input.name + "_values");
    }
  }
  static int bits(double value, spec::Input::Element element) {
    int exponent = 0;
    const double fraction = 2 * std::frexp(value, &exponent) - 1;
    return element == spec::Input::Element::Bf16
               ? (exponent - 1 + 127) << 7 | static_cast<int>(fraction * 128)
               : (exponent - 1 + 15) << 10 | static_cast<int>(fraction * 1024);
  }

  const spec::Spec& spec_;
  Shape shape_;
  std::mt19937 random_;
  std::vector<float> q_, k_, v_;
  attention::Problem problem_;
  std::string inputs_;
  std::vector<std::string> members_;
};

// One spec and shape, as a namespace with a function `run_all` that prints output and saves.
std::string case_text(const std::string& name, const spec::Spec& spec,
                      const attention::RowForm& form, const Data& data, Shape shape) {
  const UserFunctions user = user_functions(spec, form);
  std::string text =
      fmt::format("namespace {} {{\nconstexpr float kScale = {};\nconstexpr int kMaps = {};\n",
                  name, expr::float_literal(spec.scale), spec.maps);
  text += user.helpers + kBiases + kBitsOfRow + user.text;
  // The lanes that search together are four here.
  replace_all(text, "(end[i] - counts[i] + 31) / 32", "(end[i] - counts[i] + 3) / 4");
  replace_all(text, "threadIdx.x % 32", "threadIdx.x % 4");
  std::string driver = kDriver;
  replace_all(driver, "ROW_KEYS",
              attention::has_searched_limits(spec, form)
                  ? "const int2 own_keys = row_keys(row, keys, in);\n  row.keys = &own_keys;"
                  : "");
  replace_all(driver, "BIASES", find_biases(spec));
  replace_all(driver, "MASK_BITS", find_mask_bits(spec));
  replace_all(driver, "SET_MAP", spec.maps > 1 ? "row.map = map;" : "");
  replace_all(driver, "SET_CONSTANTS", has_constants(spec, form) ? "set_constants(row, in);" : "");
  replace_all(
      driver, "BLOCK",
      has_block_test(spec)
          ? "const int block_first = block * kTileKv;\n"
            "    const int block_last = min(block_first + kTileKv, seq_kv) - 1;\n"
            "    if (!block_kept(first, last, block_first, block_last, row, in)) continue;\n"
            "    const bool full = block_first + kTileKv <= seq_kv &&\n"
            "                      block_full(first, last, block_first, block_last, row, in);"
          : "const bool full = block >= full_begin && block < full_end;");
  if (form.exponential) {
    text += softmax_part(spec, form);
    replace_all(driver, "ABSORB", exponential_block(spec, form));
  } else {
    replace_all(
        driver, "ABSORB",
        std::string(form.row_free() ? "" : "acc *= ") +
            fmt::format("(full ? absorb<false{0}>(scores, 0, kv_first, row, in, red)\n"
                        "             : absorb<true{0}>(scores, 0, kv_first, row, in, red));",
                        has_biases(spec) ? ", Biases" : "") +
            positive_part(spec, form));
  }
  replace_all(driver, "OUTPUT_COLUMN", column_part(spec));
  replace_all(driver, "AT ", attention::has_columns(spec.normalize.output) ? "column, " : "");
  text += data.definitions() + driver;
  replace_all(text, "asm(\"ex2.approx.ftz.f32 %0, %1;\" : \"=f\"(y) : \"f\"(x));", "y = exp2f(x);");
  replace_all(text, "asm(\"lg2.approx.ftz.f32 %0, %1;\" : \"=f\"(y) : \"f\"(x));", "y = log2f(x);");
  replace_all(text, "asm(\"sqrt.approx.ftz.f32 %0, %1;\" : \"=f\"(y) : \"f\"(x));",
              "y = sqrtf(x);");
  replace_all(text, "asm(\"rcp.approx.ftz.f32 %0, %1;\" : \"=f\"(y) : \"f\"(x));", "y = 1 / x;");
  replace_all(text, "asm(\"tanh.approx.f32 %0, %1;\" : \"=f\"(y) : \"f\"(x));", "y = tanhf(x);");
  replace_all(text, "asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(y) : \"h\"(x));",
              "y = half_to_float(x);");
  const std::string members = data.input_members(user.lengths.contains("batch"));
  const size_t tables = id_tables(spec);
  if (attention::asks_pairs(spec)) {
    std::string ask = kAskPairs;
    replace_all(ask, "HOLDS", mask_holds(spec));
    text += ask;
  } else if (tables > 0) {
    text += kTabulate;
  }
  std::string use_tables;
  for (size_t i = 0; i < tables; ++i) {
    use_tables += fmt::format("  in.attn_tables[{0}] = entries[{0}];\n", i);
  }
  text += fmt::format(
      "static void run(int own_lane) {{\n  lane = own_lane;\n  Inputs in{{{}}};\n{}"
      "  for (int b = 0; b < {}; ++b) for (int h = 0; h < kHeadsQ; ++h)\n"
      "    for (int map = 0; map < kMaps; ++map)\n"
      "      for (int q = 0; q < {}; ++q) run_row(b, h, map, q, {}, {}, in);\n}}\n"
      "static void run_all() {{\n{}  std::thread lanes[3];\n"
      "  for (int i = 1; i < 4; ++i) lanes[i - 1] = std::thread(run, i);\n  run(0);\n"
      "  for (std::thread& thread : lanes) thread.join();\n"
      "  for (float x : output) printf(\"%.9g\\n\", x);\n",
      members, use_tables, kBatch, shape.seq_q, shape.seq_q, shape.seq_kv,
      tables == 0
          ? ""
          : fmt::format("  tabulate({{{}}}, {}, {});\n", members, shape.seq_q, shape.seq_kv));
  for (const spec::NamedExpr& save : spec.normalize.saves) {
    text += fmt::format("  for (float x : saved_{}) printf(\"%.9g\\n\", x);\n", save.name);
  }
  return text + "}\n}\n";
}

bool close(double got, double expected) {
  return got == expected || std::abs(got - expected) <= 2e-5 * (1 + std::abs(expected));
}

const std::string kHeader = fmt::format(
    "attngen: 1\nname: test\ndtype: bf16\nheads: {{q: {}, kv: {}}}\n"
    "head_dim: {{qk: {}, v: {}}}\n",
    kHeadsQ, kHeadsKv, kDim, kDim);

struct Case {
  std::string name;
  spec::Spec spec;
  Shape shape;
};

// Reads a case's numbers from what the program printed, and compares them.
void compare(const Case& c, const Data& data, std::istream& printed) {
  const attention::Oracle oracle(c.spec);
  std::vector<attention::Row> rows;
  for (int b = 0; b < kBatch; ++b) {
    for (int h = 0; h < kHeadsQ; ++h) {
      for (int q = 0; q < c.shape.seq_q; ++q) {
        rows.push_back(oracle.row(data.problem(), b, h, q, attention::Arithmetic::Exact));
      }
    }
  }
  int wrong = 0;
  std::string first;
  const auto next = [&](size_t row, const std::string& what, double expected) {
    std::string word;
    printed >> word;
    char* end = nullptr;
    const double got = std::strtod(word.c_str(), &end);
    if (!word.empty() && *end == '\0' && close(got, expected)) return;
    if (wrong++ == 0) first = fmt::format("{} of row {}: '{}', not {}", what, row, word, expected);
  };
  for (size_t i = 0; i < rows.size(); ++i) next(i, "output", rows[i].o[0]);
  // Each [batch, heads, maps, seq_q].
  const size_t saves = c.spec.normalize.saves.size(), maps = static_cast<size_t>(c.spec.maps);
  const auto seq_q = static_cast<size_t>(c.shape.seq_q);
  for (size_t s = 0; s < saves; ++s) {
    for (size_t place = 0; place < rows.size() * maps; ++place) {
      const size_t head = place / seq_q;
      const size_t row = head / maps * seq_q + place % seq_q;
      next(row, c.spec.normalize.saves[s].name, rows[row].saves[head % maps * saves + s]);
    }
  }
  INFO(c.name << ", " << c.shape.seq_q << " queries, " << c.shape.seq_kv << " keys: " << first);
  CHECK(wrong == 0);
}

TEST_CASE("the emitted functions agree with the oracle") {
  std::vector<Case> cases;
  for (const Variant& variant : kVariants) {
    const spec::Spec spec = spec_of_text(kHeader + std::string(variant.lines));
    for (const Shape shape : kShapes) cases.push_back({variant.name, spec, shape});
  }
  for (const auto& [name, text] : attngen::testing::variant_files()) {
    const spec::Spec spec = spec_of_text(attngen::testing::with_header(kHeader, text));
    // Packed and sparse tensors need more than the user's functions.
    if (spec.varlen || spec.sparsity != spec::Spec::Sparsity::None) continue;
    for (const Shape shape : kShapes) cases.push_back({name, spec, shape});
  }
  std::string program = kShim;
  program += fmt::format(
      "constexpr int kHeadsQ = {}, kHeadsKv = {}, kHeadDimQk = {}, kTileKv = {};\n"
      "constexpr int kBatch = {}, kTileQueries = 4;\n",
      kHeadsQ, kHeadsKv, kDim, kTileKv, kBatch);
  std::string calls;
  std::vector<Data> data;
  data.reserve(cases.size());
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    data.emplace_back(c.spec, c.shape);
    const std::string name = fmt::format("case_{}", i);
    program += case_text(name, c.spec, form_of(c.spec), data.back(), c.shape);
    calls += "  " + name + "::run_all();\n";
  }
  program += "int main() {\n" + calls + "}\n";
  std::istringstream printed(compile(
      "c++ -std=c++20 -O0 -w -pthread {} -o {}.out && {}.out; rm -f {}.out", ".cpp", program));
  for (size_t i = 0; i < cases.size(); ++i) compare(cases[i], data[i], printed);
}

}  // namespace
}  // namespace attngen::emit
