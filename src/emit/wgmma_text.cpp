#include "emit/wgmma_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace attngen::emit {
namespace {

struct Product {
  std::string name;
  std::string comment;
  int columns = 0;
  bool left_in_registers = false;
  bool right_transposed = false;
};

// "{%0, %1, ... %63}, " as string literals, a few registers to a line.
std::string accumulator_names(int count) {
  constexpr int kPerLine = 14;
  std::string text;
  for (int i = 0; i < count; i += kPerLine) {
    text += i == 0 ? "      \"{" : "      \"";
    for (int k = i; k < std::min(i + kPerLine, count); ++k) {
      text += fmt::format("%{}{}", k, k + 1 == count ? "}, " : ", ");
    }
    text += "\"\n";
  }
  return text;
}

// `: "+f"(f[0]), ...`: the accumulators as operands.
std::string accumulator_operands(int count) {
  constexpr int kPerLine = 7;
  std::string text;
  for (int i = 0; i < count; i += kPerLine) {
    text += i == 0 ? "      : " : "        ";
    for (int k = i; k < std::min(i + kPerLine, count); ++k) {
      const bool last_of_line = k + 1 == i + kPerLine;
      text += fmt::format("\"+f\"(f[{}]){}", k, k + 1 == count ? "" : last_of_line ? "," : ", ");
    }
    text += "\n";
  }
  return text;
}

std::string product_text(const Product& product, spec::DType dtype) {
  const int registers = product.columns / 2;
  const int left = registers;  // number of the first operand after the accumulators
  const int right = left + (product.left_in_registers ? 4 : 1);
  const char* type = dtype == spec::DType::Bf16 ? "bf16" : "f16";
  const std::string left_name =
      product.left_in_registers
          ? fmt::format("{{%{}, %{}, %{}, %{}}}", left, left + 1, left + 2, left + 3)
          : fmt::format("%{}", left);
  // The last immediates: signs of the operands, then which of those in shared memory are
  // transposed.
  const std::string immediates = fmt::format("1, 1, {}{}", product.left_in_registers ? "" : "0, ",
                                             product.right_transposed ? 1 : 0);
  return fmt::format(
             "// {}\n"
             "__device__ __forceinline__ void {}(float (&d)[{}][2][2], {}\n"
             "                                             {}int accumulate) {{\n"
             "  float* const f = &d[0][0][0];\n"
             "  asm volatile(\n"
             "      \"{{\\n\"\n"
             "      \".reg .pred p;\\n\"\n"
             "      \"setp.ne.b32 p, %{}, 0;\\n\"\n"
             "      \"wgmma.mma_async.sync.aligned.m64n{}k16.f32.{}.{} \"\n",
             product.comment, product.name, product.columns / 8,
             product.left_in_registers ? "const uint32_t (&a)[4]," : "uint64_t a, uint64_t b,",
             product.left_in_registers ? "uint64_t b, " : "", right + 1, product.columns, type,
             type) +
         accumulator_names(registers) +
         fmt::format("      \"{}, %{}, p, {};\\n\"\n      \"}}\"\n", left_name, right, immediates) +
         accumulator_operands(registers) +
         fmt::format("      : {}, \"l\"(b), \"r\"(accumulate));\n}}\n",
                     product.left_in_registers
                         ? "\"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3])"
                         : "\"l\"(a)");
}

}  // namespace

std::string wgmma_text(const WgmmaWidths& w) {
  const Product scores{
      "wgmma_scores",
      fmt::format("scores[64 x {0}] (+)= query[64 x 16] key^T[16 x {0}], both in shared memory.",
                  w.tile_kv),
      w.tile_kv, false, false};
  const Product output{
      "wgmma_output",
      fmt::format("output[64 x {0}] (+)= weights[64 x 16] value[16 x {0}], the weights in {1}.",
                  w.head_dim_v, w.weights_shared ? "shared memory too" : "registers"),
      w.head_dim_v, !w.weights_shared, true};
  return "// The matrix instructions at this kernel's widths: 64 rows, steps of 16.\n\n" +
         product_text(scores, w.dtype) + "\n" + product_text(output, w.dtype);
}

}  // namespace attngen::emit
