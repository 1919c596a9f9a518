#include "operand.h"

#include <array>
#include <bit>
#include <charconv>

#include "fault.h"
#include "float_math.h"

namespace gfx90a {
namespace {

using Kind = Operand::Kind;

struct Named {
  std::string_view name;
  uint16_t first, count;
};
constexpr std::array<Named, 10> kNamed = {{{"vcc", kVcc, 2},
                                           {"vcc_lo", kVcc, 1},
                                           {"vcc_hi", kVcc + 1, 1},
                                           {"exec", kExec, 2},
                                           {"exec_lo", kExec, 1},
                                           {"exec_hi", kExec + 1, 1},
                                           {"m0", kM0, 1},
                                           {"flat_scratch", 102, 2},
                                           {"flat_scratch_lo", 102, 1},
                                           {"flat_scratch_hi", 103, 1}}};

[[noreturn]] void unknown(std::string_view text) {
  throw Fault("operand `" + std::string(text) + "` is not known");
}

uint16_t number(std::string_view digits, std::string_view whole) {
  uint16_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) unknown(whole);
  return value;
}

// `v12` or `v[12:15]`; the letter is checked by the caller.
Operand parse_register(std::string_view text) {
  Operand operand;
  const std::string_view digits = text.substr(1);
  if (digits.front() == '[') {
    const auto colon = digits.find(':');
    if (digits.back() != ']') unknown(text);
    // LLVM writes a lone register of a tuple as `v[3]`.
    const auto first_end = colon == std::string_view::npos ? digits.size() - 1 : colon;
    operand.first = number(digits.substr(1, first_end - 1), text);
    uint16_t last = operand.first;
    if (colon != std::string_view::npos) {
      last = number(digits.substr(colon + 1, digits.size() - colon - 2), text);
    }
    if (last < operand.first) unknown(text);
    operand.count = static_cast<uint16_t>(last - operand.first + 1);
  } else {
    operand.first = number(digits, text);
    operand.count = 1;
  }
  const bool scalar = text.front() == 's';
  operand.kind = scalar ? Kind::Scalar : Kind::Vector;
  if (operand.first + operand.count > (scalar ? 102 : 256)) unknown(text);
  if (text.front() == 'a') operand.first = static_cast<uint16_t>(operand.first + kAccumulators);
  return operand;
}

Operand integer_constant(int64_t value, bool literal) {
  Operand operand;
  operand.kind = Kind::Constant;
  operand.literal = literal;
  operand.bits32 = static_cast<uint32_t>(value);
  operand.bits16 = static_cast<uint16_t>(value);
  operand.bits64 = literal ? operand.bits32 : static_cast<uint64_t>(value);
  return operand;
}

Operand float_constant(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) unknown(text);
  Operand operand;
  operand.kind = Kind::Constant;
  operand.inline_float = true;
  const auto single = static_cast<float>(value);
  operand.bits32 = std::bit_cast<uint32_t>(single);
  operand.bits16 = half_bits(single);
  operand.bits64 = std::bit_cast<uint64_t>(value);
  return operand;
}

bool starts_register(std::string_view text) {
  return text.size() > 1 && (text[0] == 'v' || text[0] == 'a' || text[0] == 's') &&
         (text[1] == '[' || (text[1] >= '0' && text[1] <= '9'));
}

}  // namespace

std::optional<int64_t> parse_integer(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return negative ? -static_cast<int64_t>(value) : static_cast<int64_t>(value);
}

Operand parse_operand(std::string_view text) {
  if (text == "off") {
    Operand operand;
    operand.kind = Kind::Off;
    return operand;
  }
  if (const auto value = parse_integer(text)) {
    return integer_constant(*value, text.find("0x") != std::string_view::npos);
  }
  if (text.find('.') != std::string_view::npos) return float_constant(text);
  for (const Named& named : kNamed) {
    if (text != named.name) continue;
    Operand operand;
    operand.kind = Kind::Scalar;
    operand.first = named.first;
    operand.count = named.count;
    return operand;
  }
  if (starts_register(text)) return parse_register(text);
  if (text.starts_with('-')) {
    Operand operand = parse_operand(text.substr(1));
    operand.neg = true;
    return operand;
  }
  if (text.size() > 2 && text.front() == '|' && text.back() == '|') {
    Operand operand = parse_operand(text.substr(1, text.size() - 2));
    operand.abs = true;
    return operand;
  }
  if (text.starts_with("sext(") && text.ends_with(')')) {
    Operand operand = parse_operand(text.substr(5, text.size() - 6));
    operand.sext = true;
    return operand;
  }
  unknown(text);
}

}  // namespace gfx90a
