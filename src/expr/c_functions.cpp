// The functions that printed C calls beyond the language's own.
#include <array>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "expr/print.h"

namespace attngen::expr {
namespace {

struct Definition {
  std::string_view name;
  std::string_view text;
};

constexpr std::array kNvidia = {
    Definition{"exp2_approx", R"(// 2^x within 2 ulp; a result below 2^-126 is 0.
__device__ __forceinline__ float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
)"},
    Definition{"cosine", R"(// Within 2^-20 of cos(x) for numbers up to 2^20.
__device__ __forceinline__ float cosine(float x) { return __cosf(within_turn(x)); }
)"},
    Definition{"sine", R"(// Within 2^-20 of sin(x) for numbers up to 2^20.
__device__ __forceinline__ float sine(float x) { return __sinf(within_turn(x)); }
)"},
    Definition{"within_turn",
               R"(// Less whole turns, to which adding 1.5 * 2^23 rounds: from -pi to pi.
__device__ __forceinline__ float within_turn(float x) {
  const float turns = __fsub_rn(fmaf(x, 0.159154943f, 12582912.0f), 12582912.0f);
  return fmaf(turns, 1.74845553e-07f, fmaf(turns, -6.28318548f, x));
}
)"},
    Definition{"log2_approx",
               R"(// log2(x) within 2^-22, relatively beyond 0.5 to 2; below 2^-126 it is -inf.
__device__ __forceinline__ float log2_approx(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
)"},
    Definition{"square_root", R"(// Within 1 ulp; below 2^-126 it is 0.
__device__ __forceinline__ float square_root(float x) {
  float y;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
)"},
    Definition{"reciprocal", R"(// Within 1 ulp; of a number beyond 2^126 it is 0.
__device__ __forceinline__ float reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
)"},
};

// Where a result is only as good as a bf16. The polynomial in tanh is fitted to erf within 2^-14.
constexpr std::array kNvidiaBf16 = {
    Definition{"error_function", R"(// Within 2^-10 of erf(x), relatively.
__device__ __forceinline__ float error_function(float x) {
  const float square = fminf(x * x, 40.0f);
  return tanh_approx(x * (1.1283138f + square * (0.10364168f - square * 0.00161566f)));
}
)"},
    Definition{"tanh_approx",
               R"(// Within 2^-11 of tanh(x), relatively: a quarter of a bf16's rounding.
__device__ __forceinline__ float tanh_approx(float x) {
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
)"},
};

// HIP's sinf takes turns out of any number, at the price of hundreds of instructions in line.
constexpr std::array kAmd = {
    Definition{"cosine",
               R"(// Within 2^-20 of cos(x) for numbers up to 2^20.
__device__ __forceinline__ float cosine(float x) { return __builtin_amdgcn_cosf(within_turn(x)); }
)"},
    Definition{"sine",
               R"(// Within 2^-20 of sin(x) for numbers up to 2^20.
__device__ __forceinline__ float sine(float x) { return __builtin_amdgcn_sinf(within_turn(x)); }
)"},
    Definition{"within_turn", R"(// In turns, less whole ones: as the hardware counts.
__device__ __forceinline__ float within_turn(float x) {
  const float turns = x * 0.159154937f;
  const float rest = fmaf(x, 0.159154937f, -turns) + x * 6.42063832e-09f;
  return __builtin_amdgcn_fractf(turns) + rest;
}
)"},
    Definition{"exp2_approx", R"(// 2^x within 1 ulp; a result below 2^-126 is 0.
__device__ __forceinline__ float exp2_approx(float x) {
#if __has_builtin(__builtin_amdgcn_exp2f)
  return __builtin_amdgcn_exp2f(x);
#else
  return __builtin_exp2f(x);
#endif
}
)"},
    Definition{"log2_approx", R"(// log2(x) within 1 ulp; below 2^-126 it is -inf.
__device__ __forceinline__ float log2_approx(float x) {
#if __has_builtin(__builtin_amdgcn_logf)
  return __builtin_amdgcn_logf(x);
#else
  return __builtin_log2f(x);
#endif
}
)"},
    Definition{"square_root", R"(// Within 1 ulp.
__device__ __forceinline__ float square_root(float x) { return __builtin_amdgcn_sqrtf(x); }
)"},
    Definition{"reciprocal", R"(// Within 1 ulp.
__device__ __forceinline__ float reciprocal(float x) { return __builtin_amdgcn_rcpf(x); }
)"},
    Definition{"tanh_approx", R"(// Within 2^-22 of tanh(x); exact at both ends.
__device__ __forceinline__ float tanh_approx(float x) {
  return 1.0f - 2.0f * __builtin_amdgcn_rcpf(1.0f + exp2_approx(2.88539008f * x));
}
)"},
};

constexpr std::array kDevice = {
    Definition{"error_function",
               R"(__device__ __forceinline__ float error_function(float x) { return erff(x); }
)"},
    Definition{"float_modulo", R"(// x - y floor(x / y): the sign is the divisor's.
__device__ __forceinline__ float float_modulo(float x, float y) {
  return x - y * floorf(__fdiv_rn(x, y));
}
)"},
    Definition{"floor_divide", R"(// Rounds down, not towards zero; 0 when y is 0.
__device__ __forceinline__ int floor_divide(int x, int y) {
  if (y == 0) return 0;
  return x / y - (x % y != 0 && (x < 0) != (y < 0));
}
)"},
    Definition{"floor_modulo",
               R"(// The remainder of rounding down, its sign the divisor's; 0 when y is 0.
__device__ __forceinline__ int floor_modulo(int x, int y) {
  if (y == 0) return 0;
  const int remainder = x % y;
  return remainder != 0 && (x < 0) != (y < 0) ? remainder + y : remainder;
}
)"},
    Definition{
        "gelu",
        R"(// x times the normal distribution up to x, within 2^-14 relatively: the distribution's tail is its
// density times a polynomial in 1 / (1 + 0.376 |x|).
__device__ __forceinline__ float gelu(float x) {
  const float size = fminf(fabsf(x), 1e19f), t = reciprocal(1.0f + 0.376f * size);
  const float high = 0.0847134651f + t * (0.198741771f - t * 0.0908560961f);
  const float ratio = t * (0.149477637f + t * (0.157913387f + t * high));
  return fmaxf(x, 0.0f) - size * ratio * exp2_approx(-0.72134752f * (x * x));
}
)"},
    Definition{"positive_power",
               R"(// x^y of an x that is not negative, within 2^-21 of its logarithm.
__device__ __forceinline__ float positive_power(float x, float y) {
  return y == 0 ? 1.0f : exp2_approx(y * log2_approx(x));
}
)"},
    Definition{"power", R"(// x^N by repeated squaring: right for negative x too.
template <int N>
__device__ __forceinline__ float power(float x) {
  const float half = N > 1 ? power<(N > 1 ? N / 2 : 1)>(x) : 1.0f;
  return N % 2 == 0 ? half * half : half * half * x;
}
template <>
__device__ __forceinline__ float power<1>(float x) {
  return x;
}
)"},
    Definition{"real_power", R"(// x^y. Of a negative x only whole y have one.
__device__ __forceinline__ float real_power(float x, float y) {
  const float size = positive_power(fabsf(x), y), half = 0.5f * y;
  if (!(x < 0)) return size;
  if (floorf(y) != y) return NAN;
  return floorf(half) == half ? size : -size;
}
)"},
    Definition{"saturate", R"(// The nearest int.
__device__ __forceinline__ int saturate(long long x) {
  return int(min(max(x, -2147483648LL), 2147483647LL));
}
)"},
    Definition{"sigmoid", R"(__device__ __forceinline__ float sigmoid(float x) {
  return __fdividef(1.0f, 1.0f + __expf(-x));
}
)"},
    Definition{"sign", R"(template <typename T>
__device__ __forceinline__ T sign(T x) {
  return T(x > 0) - T(x < 0);
}
)"},
    Definition{"silu", R"(__device__ __forceinline__ float silu(float x) {
  return __fdividef(x, 1.0f + __expf(-x));
}
)"},
    Definition{"square", R"(template <typename T>
__device__ __forceinline__ T square(T x) {
  return x * x;
}
)"},
    Definition{"tanh_approx", R"(// Within 2^-22 of tanh(x); exact at both ends.
__device__ __forceinline__ float tanh_approx(float x) {
  return 1.0f - __fdividef(2.0f, 1.0f + __expf(2.0f * x));
}
)"},
};

}  // namespace

std::vector<std::string_view> device_function_names() {
  std::set<std::string_view> names;
  for (const std::span<const Definition> table :
       {std::span<const Definition>(kAmd), std::span<const Definition>(kDevice)}) {
    for (const Definition& definition : table) names.insert(definition.name);
  }
  return {names.begin(), names.end()};
}

std::string device_function(std::string_view name, Vendor vendor, Accuracy accuracy) {
  const bool nvidia = vendor == Vendor::Nvidia;
  const std::array<std::span<const Definition>, 3> tables = {
      nvidia && accuracy == Accuracy::Bf16 ? std::span<const Definition>(kNvidiaBf16)
                                           : std::span<const Definition>(),
      nvidia ? std::span<const Definition>(kNvidia) : std::span<const Definition>(kAmd), kDevice};
  for (const std::span<const Definition> table : tables) {
    for (const Definition& definition : table) {
      if (definition.name == name) return std::string(definition.text);
    }
  }
  return "";
}

std::string host_functions() {
  return R"(#include <math.h>
#include <stdlib.h>

static long long min_int(long long x, long long y) { return x < y ? x : y; }
static long long max_int(long long x, long long y) { return x > y ? x : y; }
static long long floor_divide(long long x, long long y) {
  if (y == 0) return 0;
  return x / y - (x % y != 0 && (x < 0) != (y < 0));
}
static long long floor_modulo(long long x, long long y) {
  return y == 0 ? 0 : x - y * floor_divide(x, y);
}
static double float_modulo(double x, double y) { return x - y * floor(x / y); }
static long long square_int(long long x) { return x * x; }
static double square(double x) { return x * x; }
static long long saturate(long long x) {
  return min_int(max_int(x, -2147483648LL), 2147483647LL);
}
static long long sign_int(long long x) { return (x > 0) - (x < 0); }
static double sign(double x) { return (x > 0) - (x < 0); }
static long long to_int(double x) {
  return x == x ? (long long)floor(fmin(fmax(x, -2147483648.0), 2147483647.0)) : 0;
}
static double rsqrt(double x) { return 1 / sqrt(x); }
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double silu(double x) { return x * sigmoid(x); }
static double gelu(double x) { return 0.5 * x * (1 + erf(x / sqrt(2.0))); }
)";
}

}  // namespace attngen::expr
