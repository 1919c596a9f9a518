#include "text/hash.h"

#include <fmt/format.h>

#include <cstdint>

namespace attngen::text {

std::string hash(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : bytes) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace attngen::text
