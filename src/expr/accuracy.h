// How exact device functions need to be.
#pragma once

#include <cstdint>

namespace attngen::expr {

// Bf16: a function may err by a quarter of what rounding its result to bf16 does.
enum class Accuracy : uint8_t { Full, Bf16 };

}  // namespace attngen::expr
