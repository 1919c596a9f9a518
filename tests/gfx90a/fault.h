// How programs for the interpreter fail.
#pragma once

#include <stdexcept>
#include <string>

namespace gfx90a {

// What a program did wrong, or what the interpreter does not know. Thrown bare by an instruction;
// `run` adds the instruction, its address, the wave, the block and the seed.
class Fault : public std::runtime_error {
 public:
  explicit Fault(const std::string& what) : std::runtime_error(what) {}
};

}  // namespace gfx90a
