#include "emit/wgmma.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "emit/device_text.h"

namespace attngen::emit {
namespace {

constexpr int kRegistersPerLine = 16;

// One instruction: d[64 x n] (+)= a[64 x 16] b[16 x n].
struct Instruction {
  std::string comment, name;
  int n = 0;
  const char* type = "bf16";
  bool a_in_registers = false;
  bool b_transposed = false;
};

// `first ` ... `last` joined by ", ", broken before the column limit, indented to `indent`.
std::string wrapped_list(const std::vector<std::string>& items, const std::string& first,
                         size_t indent, size_t reserve_last = 0) {
  std::string text, line = first;
  for (size_t i = 0; i < items.size(); ++i) {
    const bool last = i + 1 == items.size();
    const std::string item = items[i] + (last ? "" : ",");
    const bool starts = line == first || line.find_first_not_of(' ') == std::string::npos;
    if (!starts && line.size() + 1 + item.size() + (last ? reserve_last : 0) > kColumns) {
      text += line + "\n";
      line.assign(indent, ' ');
      line += item;
    } else {
      line += (starts ? "" : " ") + item;
    }
  }
  return text + line;
}

// "{%0, %1, ... " in string literals of at most sixteen registers that fit the columns.
std::string accumulator_lines(int registers) {
  std::string text, line = "      \"{";
  int count = 0;
  for (int i = 0; i < registers; ++i) {
    const std::string item = fmt::format("%{}{}", i, i + 1 == registers ? "}, " : ", ");
    if (count == kRegistersPerLine || line.size() + item.size() + 1 > kColumns) {
      text += line + "\"\n";
      line = "      \"";
      count = 0;
    }
    line += item;
    ++count;
  }
  return text + line + "\"\n";
}

std::string signature(const Instruction& in) {
  const std::string head = fmt::format("__device__ __forceinline__ void {}(", in.name);
  const std::vector<std::string> parameters{
      fmt::format("float (&d)[{}][2][2]", in.n / 8),
      in.a_in_registers ? "const uint32_t (&a)[4]" : "uint64_t a", "uint64_t b",
      "int accumulate) {"};
  return wrapped_list(parameters, head, head.size());
}

std::string text_of(const Instruction& in) {
  const int registers = in.n / 2;
  const int a = in.a_in_registers ? 4 : 1;
  const std::string a_text = in.a_in_registers
                                 ? fmt::format("{{%{}, %{}, %{}, %{}}}", registers, registers + 1,
                                               registers + 2, registers + 3)
                                 : fmt::format("%{}", registers);
  std::vector<std::string> outputs;
  outputs.reserve(static_cast<size_t>(registers));
  for (int i = 0; i < registers; ++i) outputs.push_back(fmt::format("\"+f\"(f[{}])", i));

  std::string text = in.comment + signature(in) + "\n";
  text += "  float* const f = &d[0][0][0];\n  asm volatile(\n      \"{\\n\"\n";
  text += "      \".reg .pred p;\\n\"\n";
  text += fmt::format("      \"setp.ne.b32 p, %{}, 0;\\n\"\n", registers + a + 1);
  text += fmt::format("      \"wgmma.mma_async.sync.aligned.m64n{}k16.f32.{}.{} \"\n", in.n,
                      in.type, in.type);
  text += accumulator_lines(registers);
  // Scale of A and B, then which operands are transposed; registers cannot be.
  text += fmt::format("      \"{}, %{}, p, 1, 1, {}{};\\n\"\n", a_text, registers + a,
                      in.a_in_registers ? "" : "0, ", in.b_transposed ? 1 : 0);
  text += "      \"}\"\n";
  text += wrapped_list(outputs, "      : ", 8) + "\n";
  text += in.a_in_registers
              ? "      : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"l\"(b), "
                "\"r\"(accumulate));\n"
              : "      : \"l\"(a), \"l\"(b), \"r\"(accumulate));\n";
  return text + "}\n";
}

}  // namespace

std::string wgmma_functions(const MatrixWidths& widths) {
  const char* type = widths.dtype == spec::DType::Bf16 ? "bf16" : "f16";
  const Instruction scores{
      .comment = fmt::format(
          "// scores[64 x {0}] (+)= query[64 x 16] key^T[16 x {0}], both in shared memory.\n",
          widths.tile_kv),
      .name = "wgmma_scores",
      .n = widths.tile_kv,
      .type = type};
  const Instruction output{
      .comment = fmt::format(
          "// output[64 x {0}] (+)= weights[64 x 16] value[16 x {0}], {1}.\n", widths.head_dim_v,
          widths.weights_shared ? "both in shared memory" : "the weights in registers"),
      .name = "wgmma_output",
      .n = widths.head_dim_v,
      .type = type,
      .a_in_registers = !widths.weights_shared,
      .b_transposed = true};
  std::string text = "// The matrix instructions at this kernel's widths.\n\n" + text_of(scores) +
                     "\n" + text_of(output);
  if (widths.state_columns > 0) {
    constexpr auto kComment =
        "// state[64 x {0}] (+)= value^T[64 x 16] key[16 x {0}], the values in registers.\n";
    text += "\n" + text_of({.comment = fmt::format(kComment, widths.state_columns),
                            .name = "wgmma_state",
                            .n = widths.state_columns,
                            .type = type,
                            .a_in_registers = true,
                            .b_transposed = true});
  }
  if (widths.far_queries) {
    constexpr auto kComment =
        "// scores[64 x {0}] (+)= query[64 x 16] key^T[16 x {0}], the queries in registers.\n";
    text += "\n" + text_of({.comment = fmt::format(kComment, widths.tile_kv),
                            .name = "wgmma_far",
                            .n = widths.tile_kv,
                            .type = type,
                            .a_in_registers = true});
  }
  if (widths.scan) {
    text += "\n" + text_of({.comment = "// A scan's: sums[64 x 64] (+)= weights[64 x 16] rows[16 x "
                                       "64], the weights in registers.\n",
                            .name = "wgmma_scan",
                            .n = 64,
                            .type = type,
                            .a_in_registers = true,
                            .b_transposed = true});
  }
  return text;
}

}  // namespace attngen::emit
