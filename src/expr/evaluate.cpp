#include "expr/evaluate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "expr/scalar.h"

namespace attngen::expr {
namespace {

// Programs up to this many instructions evaluate without touching the heap.
constexpr size_t kStackSlots = 256;

}  // namespace

struct Program::Builder {
  Program& program;
  std::span<const std::string> variables;
  std::map<const void*, uint32_t> done;  // by identity: shared subtrees are evaluated once

  uint32_t add(const Expr& e) {
    if (const auto found = done.find(e.identity()); found != done.end()) {
      return found->second;
    }
    std::vector<uint32_t> operands;
    for (const Expr& operand : e.operands()) {
      operands.push_back(add(operand));
    }
    Instruction instruction;
    instruction.op = e.op();
    instruction.type = e.type();
    if (e.op() == Op::Load) {
      instruction.load = static_cast<uint32_t>(program.loads_.size());
      program.loads_.push_back({e.name(), operands});
    } else {
      std::copy(operands.begin(), operands.end(), instruction.operands.begin());
    }
    if (e.op() == Op::Number) {
      instruction.number = e.number();
    } else if (e.op() == Op::Variable) {
      const auto slot = std::find(variables.begin(), variables.end(), e.name());
      instruction.operands[0] = static_cast<uint32_t>(slot - variables.begin());
    }
    const auto index = static_cast<uint32_t>(program.code_.size());
    program.code_.push_back(instruction);
    done.emplace(e.identity(), index);
    return index;
  }
};

Program::Program(const Expr& e, std::span<const std::string> variables) {
  Builder{*this, variables, {}}.add(e);
}

double Program::read(const Access& access, const double* slots, const Loader& load) {
  constexpr size_t kFewIndices = 8;
  std::array<int64_t, kFewIndices> few{};
  std::vector<int64_t> many;
  int64_t* indices = few.data();
  if (access.indices.size() > kFewIndices) {
    many.resize(access.indices.size());
    indices = many.data();
  }
  for (size_t i = 0; i < access.indices.size(); ++i) {
    indices[i] = static_cast<int64_t>(slots[access.indices[i]]);
  }
  return load(access.input, {indices, access.indices.size()});
}

double Program::run(double* slots, std::span<const double> values, const Loader& load) const {
  for (size_t i = 0; i < code_.size(); ++i) {
    const Instruction& instruction = code_[i];
    switch (instruction.op) {
      case Op::Number:
        slots[i] = instruction.number;
        break;
      case Op::Variable:
        slots[i] = values[instruction.operands[0]];
        break;
      case Op::Load:
        slots[i] = read(loads_[instruction.load], slots, load);
        break;
      default:
        slots[i] = apply(instruction.op, instruction.type, slots[instruction.operands[0]],
                         slots[instruction.operands[1]], slots[instruction.operands[2]]);
        break;
    }
  }
  return slots[code_.size() - 1];
}

double Program::operator()(std::span<const double> values, const Loader& load) const {
  if (code_.size() <= kStackSlots) {
    std::array<double, kStackSlots> slots;  // NOLINT: every slot is written before it is read
    slots[0] = 0;                           // the unused operands of the first instruction
    return run(slots.data(), values, load);
  }
  std::vector<double> slots(code_.size());
  return run(slots.data(), values, load);
}

double evaluate(const Expr& e, const std::function<double(std::string_view)>& variable,
                const Loader& load) {
  const std::vector<std::string> names = variables_of(e);
  std::vector<double> values;
  values.reserve(names.size());
  for (const std::string& name : names) {
    values.push_back(variable(name));
  }
  return Program(e, names)(values, load);
}

}  // namespace attngen::expr
