// Expressions as C. The device dialect spends accuracy where attention cannot see it (a relative
// error of a few 2^-22) for the special function unit's speed.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <set>

#include "expr/decimal.h"
#include "expr/ops.h"
#include "expr/print.h"
#include "expr/rounded_apart.h"

namespace attngen::expr {
namespace {

struct Text {
  std::string text;
  Precedence precedence = Precedence::Primary;
};

std::string in_parentheses(const Text& text, Precedence loosest) {
  return text.precedence < loosest ? "(" + text.text + ")" : text.text;
}

// The exponent of a pow that repeated multiplication does best; 0 when it is not such a one.
int small_exponent(const Expr& power) {
  constexpr double kLargest = 16;
  const Expr& exponent = power.operand(1);
  const bool small = exponent.is_number() && exponent.number() == std::floor(exponent.number()) &&
                     std::fabs(exponent.number()) <= kLargest;
  return small ? static_cast<int>(exponent.number()) : 0;
}

// Whether its last operation is no multiplication, which the compiler would make one with a sum.
bool ends_without_product(const Expr& e) {
  switch (e.op()) {
    case Op::Number:
    case Op::Variable:
    case Op::Load:
    case Op::ToFloat:
    case Op::Add:
    case Op::Subtract:
    case Op::Abs:
    case Op::Floor:
    case Op::Min:
    case Op::Max:
    case Op::Log2:
    case Op::Relu:
      return true;
    case Op::Negate:
      return ends_without_product(e.operand(0));
    default:
      return false;
  }
}

class CPrinter {
 public:
  CPrinter(const Expr& whole, Dialect dialect, const Names& names)
      : device_(dialect == Dialect::Device),
        names_(names),
        rounded_apart_(whole, names.inexact, names.exact) {}

  Text print(const Expr& e);
  void name_subtree(const Expr& e, std::string name) { named_[e.identity()] = std::move(name); }

 private:
  std::string at(const Expr& e, Precedence loosest) { return in_parentheses(print(e), loosest); }
  std::string argument(const Expr& e) { return at(e, Precedence::Conditional); }
  Text call(const std::string& function, const Expr& e);
  Text infix(const Expr& e, std::string_view symbol);
  Text print_sum(const Expr& e);
  Text print_number(const Expr& e) const;
  std::string literal(double value) const;
  Text print_load(const Expr& e);
  Text print_unary(const Expr& e, char symbol);
  Text print_saturated(const Expr& e);
  Text print_term(const Expr& e);
  Text print_select(const Expr& e);
  Text print_logic(const Expr& e);
  Text print_conversion(const Expr& e);
  Text print_divide(const Expr& e);
  Text rounded_quotient(const Expr& e);
  Text print_integer_division(const Expr& e);
  Text print_float_division(const Expr& e);
  Text print_exp(const Expr& e);
  Text print_power(const Expr& e);
  Text print_extremum(const Expr& e);
  Text print_function(const Expr& e);
  std::string logarithm(const Expr& e, std::string_view name) const;

  bool device_;
  const Names& names_;
  RoundedApart rounded_apart_;
  bool wide_ = false;  // within a sum that is taken in 64 bits
  std::map<const void*, std::string> named_;
};

std::string CPrinter::logarithm(const Expr& e, std::string_view name) const {
  if (!device_) return std::string(name);
  return fmt::format("{}{}f", names_.quick_log && names_.quick_log(e) ? "__" : "", name);
}

Text CPrinter::print(const Expr& e) {
  if (wide_ && !is_sum(e.op())) {
    return print_term(e);
  }
  if (const auto found = named_.find(e.identity()); found != named_.end()) {
    return {found->second};
  }
  if (is_comparison(e.op())) {
    return infix(e, spelling(e.op()));
  }
  switch (e.op()) {
    case Op::Number:
      return print_number(e);
    case Op::Variable:
      return {names_.variable ? names_.variable(e.name()) : e.name()};
    case Op::Load:
      return print_load(e);
    case Op::Negate:
      return print_unary(e, '-');
    case Op::Not:
      return print_unary(e, '!');
    case Op::Add:
    case Op::Subtract:
      return print_sum(e);
    case Op::Multiply:
      return infix(e, spelling(e.op()));
    case Op::Divide:
      return print_divide(e);
    case Op::FloorDivide:
    case Op::Modulo:
      return e.type() == Type::Int ? print_integer_division(e) : print_float_division(e);
    case Op::And:
    case Op::Or:
      return print_logic(e);
    case Op::Select:
      return print_select(e);
    case Op::ToFloat:
      return print_conversion(e);
    case Op::Min:
    case Op::Max:
      return print_extremum(e);
    case Op::Exp:
      return print_exp(e);
    case Op::Pow:
      return print_power(e);
    case Op::Saturate:
      return print_saturated(e);
    default:
      return print_function(e);
  }
}

// saturate((long long)start + (long long)length * 64): the host's Ints are wide already.
Text CPrinter::print_saturated(const Expr& e) {
  wide_ = device_;
  Text text = call("saturate", e);
  wide_ = false;
  return text;
}

Text CPrinter::print_term(const Expr& e) {
  wide_ = false;
  Text text = print(e);
  wide_ = true;
  if (e.is_number()) {
    return text;
  }
  return {"(long long)" + in_parentheses(text, Precedence::Unary), Precedence::Unary};
}

Text CPrinter::call(const std::string& function, const Expr& e) {
  std::string arguments;
  for (const Expr& operand : e.operands()) {
    arguments += (arguments.empty() ? "" : ", ") + argument(operand);
  }
  return {fmt::format("{}({})", function, arguments)};
}

Text CPrinter::infix(const Expr& e, std::string_view symbol) {
  const Precedence own = precedence_of(e.op());
  const Precedence left = own == Precedence::Comparison ? tighter(own) : own;
  return {fmt::format("{} {} {}", at(e.operand(0), left), symbol, at(e.operand(1), tighter(own))),
          own};
}

Text CPrinter::print_sum(const Expr& e) {
  const bool fuses = device_ && rounded_apart_.contains(e) && e.type() == Type::Float &&
                     !(ends_without_product(e.operand(0)) && ends_without_product(e.operand(1)));
  if (fuses) return call(e.op() == Op::Add ? "__fadd_rn" : "__fsub_rn", e);
  return infix(e, spelling(e.op()));
}

std::string CPrinter::literal(double value) const {
  return device_ || !std::isfinite(value) ? float_literal(value) : decimal(value);
}

Text CPrinter::print_number(const Expr& e) const {
  const Precedence own = std::signbit(e.number()) ? Precedence::Unary : Precedence::Primary;
  switch (e.type()) {
    case Type::Bool:
      return {device_ ? (e.is_number(0) ? "false" : "true") : (e.is_number(0) ? "0" : "1")};
    case Type::Int:
      if (e.is_number(std::numeric_limits<int32_t>::min())) {
        return {"(-2147483647 - 1)"};  // C takes the whole of it for a long
      }
      return {fmt::format("{:.0f}", e.number()), own};
    case Type::Float:
      break;
  }
  return {literal(e.number()), own};
}

Text CPrinter::print_load(const Expr& e) {
  std::vector<std::string> indices;
  for (const Expr& index : e.operands()) {
    indices.push_back(argument(index));
  }
  if (names_.load) {
    return {names_.load(e.name(), indices)};
  }
  std::string text = e.name();
  for (const std::string& index : indices) {
    text += "[" + index + "]";
  }
  return {text};
}

Text CPrinter::print_unary(const Expr& e, char symbol) {
  const std::string operand = at(e.operand(0), Precedence::Unary);
  // Two minus signs would be a decrement.
  const bool clash = operand.front() == symbol;
  return {clash ? fmt::format("{}({})", symbol, operand) : symbol + operand, Precedence::Unary};
}

Text CPrinter::print_select(const Expr& e) {
  return {fmt::format("{} ? {} : {}", at(e.operand(0), Precedence::Or),
                      at(e.operand(1), Precedence::Or), at(e.operand(2), Precedence::Conditional)),
          Precedence::Conditional};
}

// Compilers warn about && inside ||, and about comparisons inside &, without parentheses.
Text CPrinter::print_logic(const Expr& e) {
  const std::string_view sign = e.op() == Op::And ? "&&" : "||";
  const Precedence within = names_.eager ? Precedence::Unary : tighter(Precedence::And);
  const auto side = [&](size_t i) {
    const Expr& operand = e.operand(i);
    return at(operand, operand.op() == e.op() && i == 0 ? precedence_of(e.op()) : within);
  };
  return {fmt::format("{} {} {}", side(0), names_.eager ? sign.substr(1) : sign, side(1)),
          precedence_of(e.op())};
}

Text CPrinter::print_conversion(const Expr& e) {
  if (device_) {
    return {fmt::format("float({})", argument(e.operand(0)))};
  }
  return {fmt::format("(double){}", at(e.operand(0), Precedence::Primary)), Precedence::Unary};
}

// Whether a divisor is never so small that its reciprocal overflows: 1 + exp2(x), as in sigmoids.
bool exceeds_one(const Expr& divisor) {
  if (divisor.op() != Op::Add) return false;
  const auto has = [&](size_t i) {
    return divisor.operand(i).is_number() && divisor.operand(i).number() >= 1 &&
           divisor.operand(1 - i).op() == Op::Exp2;
  };
  return has(0) || has(1);
}

Text CPrinter::print_divide(const Expr& e) {
  if (!device_) {
    return infix(e, "/");
  }
  const Expr& divisor = e.operand(1);
  if (exceeds_one(divisor)) {
    const std::string inverse = fmt::format("reciprocal({})", argument(divisor));
    if (e.operand(0).is_number(1)) return {inverse};
    return {fmt::format("{} * {}", at(e.operand(0), Precedence::Product), inverse),
            Precedence::Product};
  }
  const double reciprocal = divisor.is_number() ? 1 / divisor.number() : 0;
  if (rounded_apart_.divides(e)) return rounded_quotient(e);
  if (!is_normal_float(reciprocal)) {
    return call("__fdividef", e);
  }
  const std::string factor = is_power_of_two(std::fabs(reciprocal))
                                 ? float_literal(reciprocal)
                                 : fmt::format("(1.0f / {})", float_literal(divisor.number()));
  return {fmt::format("{} * {}", at(e.operand(0), Precedence::Product), factor),
          Precedence::Product};
}

Text CPrinter::print_integer_division(const Expr& e) {
  const Expr& divisor = e.operand(1);
  const bool divides = e.op() == Op::FloorDivide;
  if (!divisor.is_number() || !is_power_of_two(divisor.number())) {
    return call(divides ? "floor_divide" : "floor_modulo", e);
  }
  // Of two's complement, a shift floors and a mask is the positive remainder. Compilers warn about
  // either beside arithmetic without parentheses.
  const std::string dividend = at(e.operand(0), Precedence::Unary);
  const int value = static_cast<int>(divisor.number());
  return {divides ? fmt::format("({} >> {})", dividend, std::ilogb(divisor.number()))
                  : fmt::format("({} & {})", dividend, value - 1)};
}

// Whatever nvcc's --use_fast_math makes of x / y.
Text CPrinter::rounded_quotient(const Expr& e) {
  if (device_) return call("__fdiv_rn", e);
  return {fmt::format("{} / {}", at(e.operand(0), Precedence::Product),
                      at(e.operand(1), Precedence::Unary)),
          Precedence::Product};
}

// Not by an approximate quotient: 6.0 // 3.0 is 2.
Text CPrinter::print_float_division(const Expr& e) {
  if (e.op() == Op::Modulo) {
    return call("float_modulo", e);
  }
  return {fmt::format("{}({})", device_ ? "floorf" : "floor", rounded_quotient(e).text)};
}

// exp(x) is exp2(x log2 e); a constant factor of x takes log2 e in.
Text CPrinter::print_exp(const Expr& e) {
  if (!device_) {
    return call("exp", e);
  }
  const Expr& x = e.operand(0);
  const Expr* scaled = &x;
  double factor = std::numbers::log2e;
  for (size_t i = 0; i < 2 && x.op() == Op::Multiply; ++i) {
    if (x.operand(i).is_number() && is_normal_float(factor * x.operand(i).number())) {
      factor *= x.operand(i).number();
      scaled = &x.operand(1 - i);
      break;
    }
  }
  if (named_.contains(x.identity())) {
    factor = std::numbers::log2e;
    scaled = &x;
  }
  return {
      fmt::format("exp2_approx({} * {})", at(*scaled, Precedence::Product), float_literal(factor))};
}

Text CPrinter::print_power(const Expr& e) {
  const int exponent = small_exponent(e);
  if (!device_ || exponent == 0) {
    return call(device_ ? "powf" : "pow", e);
  }
  const std::string power =
      fmt::format("power<{}>({})", std::abs(exponent), argument(e.operand(0)));
  return {exponent > 0 ? power : fmt::format("__fdividef(1.0f, {})", power)};
}

Text CPrinter::print_extremum(const Expr& e) {
  const bool is_min = e.op() == Op::Min;
  if (e.type() == Type::Float) {
    const std::string function = is_min ? "fmin" : "fmax";
    return call(device_ ? function + "f" : function, e);
  }
  return call(device_ ? (is_min ? "min" : "max") : (is_min ? "min_int" : "max_int"), e);
}

Text CPrinter::print_function(const Expr& e) {
  const bool is_int = e.type() == Type::Int;
  const std::string zero = is_int ? "0" : literal(0);
  switch (e.op()) {
    case Op::Abs:
      return call(device_ ? (is_int ? "abs" : "fabsf") : (is_int ? "llabs" : "fabs"), e);
    case Op::Relu: {
      const std::string max = is_int ? (device_ ? "max" : "max_int") : (device_ ? "fmaxf" : "fmax");
      return {fmt::format("{}({}, {})", max, argument(e.operand(0)), zero)};
    }
    case Op::Square:
      if (e.operand(0).op() == Op::Variable) {
        const std::string x = at(e.operand(0), Precedence::Unary);
        return {fmt::format("{} * {}", x, x), Precedence::Product};
      }
      return call(!device_ && is_int ? "square_int" : "square", e);
    case Op::Sign:
      return call(!device_ && is_int ? "sign_int" : "sign", e);
    case Op::Exp2:
      return call(device_ ? "exp2_approx" : "exp2", e);
    case Op::Log:
      return call(logarithm(e, "log"), e);
    case Op::Log2:
      return call(logarithm(e, "log2"), e);
    case Op::Tanh:
      return call(device_ ? "tanh_approx" : "tanh", e);
    case Op::Sin:
      return call(device_ ? "sine" : "sin", e);
    case Op::Cos:
      return call(device_ ? "cosine" : "cos", e);
    case Op::Sqrt:
    case Op::Erf:
    case Op::Floor: {
      const std::string function(spelling(e.op()));
      return call(device_ ? function + "f" : function, e);
    }
    case Op::ToInt:
      return call(device_ ? "__float2int_rd" : "to_int", e);
    case Op::Rsqrt:
      return call(device_ ? "rsqrtf" : "rsqrt", e);
    default:  // sigmoid, gelu, silu; RowMax, RowSum: the emitter's to compute, printed for messages
      return call(std::string(spelling(e.op())), e);
  }
}

// How often each node is used, and whether it is always evaluated: a branch of a Select, and the
// right side of and / or, may hold an access that is out of range unless the condition holds.
struct Uses {
  std::vector<Expr> postorder;
  std::map<const void*, int> count;
  std::set<const void*> always;
  std::set<const void*> loads;  // nodes with a Load inside, or that are one
  std::set<const void*> wide;   // sums taken in 64 bits, for which an int is no name

  void visit(const Expr& e, bool unconditional) {
    const bool first_visit = ++count[e.identity()] == 1;
    const bool newly_always = unconditional && always.insert(e.identity()).second;
    if (!first_visit && !newly_always) {
      return;
    }
    if (e.op() == Op::Saturate) {
      note_wide(e.operand(0));
    }
    for (size_t i = 0; i < e.operands().size(); ++i) {
      const bool conditional =
          i > 0 && (e.op() == Op::Select || e.op() == Op::And || e.op() == Op::Or);
      if (!first_visit) {
        --count[e.operand(i).identity()];  // visited again only to learn that it is unconditional
      }
      visit(e.operand(i), unconditional && !conditional);
    }
    if (first_visit) {
      note_loads(e);
      postorder.push_back(e);
    }
  }
  void note_wide(const Expr& e) {
    if (!is_sum(e.op()) || !wide.insert(e.identity()).second) {
      return;
    }
    for (const Expr& operand : e.operands()) {
      note_wide(operand);
    }
  }
  void note_loads(const Expr& e) {
    bool any = e.op() == Op::Load;
    for (const Expr& operand : e.operands()) {
      any = any || loads.contains(operand.identity());
    }
    if (any) {
      loads.insert(e.identity());
    }
  }
  bool worth_naming(const Expr& e, const std::string& text) const {
    // Of what is written again and again inside of itself a text would be exponentially long. An
    // access is in range by itself, its index being clamped: it only takes time.
    constexpr size_t kLongestRepeated = 250;
    const bool trivial = e.op() == Op::ToFloat || e.op() == Op::Negate;
    const bool costly = loads.contains(e.identity()) && !always.contains(e.identity());
    return (!trivial && !costly) || text.size() > kLongestRepeated;
  }
  bool is_shared(const Expr& e) const {
    return e.op() != Op::Number && e.op() != Op::Variable && !wide.contains(e.identity()) &&
           count.at(e.identity()) > 1;
  }
};

const char* c_type(Type type, Dialect dialect) {
  const bool device = dialect == Dialect::Device;
  switch (type) {
    case Type::Bool:
      return device ? "bool" : "int";
    case Type::Int:
      return device ? "int" : "long long";
    case Type::Float:
      break;
  }
  return device ? "float" : "double";
}

}  // namespace

std::string print_c(const Expr& e, Dialect dialect, const Names& names) {
  return CPrinter(e, dialect, names).print(e).text;
}

Statements print_c_statements(const Expr& e, Dialect dialect, const Names& names, int indent) {
  Uses uses;
  uses.visit(e, true);
  std::set<std::string> taken;
  for (const std::string& name : variables_of(e)) {
    taken.insert(names.variable ? names.variable(name) : name);
  }
  for (const std::string& name : inputs_of(e)) {
    taken.insert(name);
  }
  CPrinter printer(e, dialect, names);
  Statements statements;
  int next = 0;
  for (const Expr& node : uses.postorder) {
    if (!uses.is_shared(node)) {
      continue;
    }
    const std::string text = printer.print(node).text;
    if (!uses.worth_naming(node, text)) {
      continue;
    }
    std::string name;
    do {
      name = fmt::format("t{}", next++);
    } while (taken.contains(name));
    statements.text += fmt::format("{:{}}const {} {} = {};\n", "", indent,
                                   c_type(node.type(), dialect), name, text);
    printer.name_subtree(node, name);
  }
  statements.value = printer.print(e).text;
  return statements;
}

}  // namespace attngen::expr
