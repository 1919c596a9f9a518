#include "expr/expr.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "expr/ops.h"

namespace attngen::expr {

struct Node {
  Op op = Op::Number;
  Type type = Type::Float;
  Span span;
  double number = 0;
  std::string name;
  std::vector<Expr> operands;
  // Filled in by make_node.
  int height = 1;
  uint64_t hash = 0;
};
Expr make_node(Node node);

namespace {

// How an operator's operands and result are typed.
enum class Rule : uint8_t {
  Numeric,     // Float if any operand is, else Int
  Float,       // operands converted, result Float
  Comparison,  // operands made alike, result Bool
  Logic,       // Bool to Bool
};

Rule rule_of(Op op) {
  switch (op) {
    case Op::Negate:
    case Op::Add:
    case Op::Subtract:
    case Op::Multiply:
    case Op::FloorDivide:
    case Op::Modulo:
    case Op::Abs:
    case Op::Min:
    case Op::Max:
    case Op::Relu:
    case Op::Square:
    case Op::Sign:
    case Op::Saturate:
      return Rule::Numeric;
    case Op::And:
    case Op::Or:
    case Op::Not:
      return Rule::Logic;
    default:
      return is_comparison(op) ? Rule::Comparison : Rule::Float;
  }
}

Expr to_float(Expr e) {
  if (e.type() != Type::Int) {
    return e;
  }
  if (e.is_number()) {
    return number(e.number(), e.span());
  }
  const Span span = e.span();
  Node node;
  node.op = Op::ToFloat;
  node.span = span;
  node.operands = {std::move(e)};
  return make_node(std::move(node));
}

// Converts the operands from `begin` on to one type, which it returns: Float if any is.
Type unify(std::vector<Expr>& operands, size_t begin) {
  const bool any_float =
      std::any_of(operands.begin() + static_cast<std::ptrdiff_t>(begin), operands.end(),
                  [](const Expr& e) { return e.type() == Type::Float; });
  for (size_t i = begin; any_float && i < operands.size(); ++i) {
    operands[i] = to_float(std::move(operands[i]));
  }
  return any_float ? Type::Float : operands[begin].type();
}

uint64_t mix(uint64_t hash, uint64_t value) {
  // The finaliser of splitmix64 (Steele, Lea, Flood 2014).
  uint64_t x = hash + 0x9E3779B97F4A7C15U + value;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

uint64_t hash_of(const Node& node) {
  uint64_t hash = mix(static_cast<uint64_t>(node.op), static_cast<uint64_t>(node.type));
  hash = mix(hash, std::bit_cast<uint64_t>(node.number));
  for (char c : node.name) {
    hash = mix(hash, static_cast<unsigned char>(c));
  }
  for (const Expr& operand : node.operands) {
    hash = mix(hash, operand.hash());
  }
  return hash;
}

using Visited = std::set<std::pair<const void*, const void*>>;

bool same_tree(const Expr& a, const Expr& b, Visited& equal) {
  if (a.identity() == b.identity()) {
    return true;
  }
  if (a.hash() != b.hash() || a.op() != b.op() || a.type() != b.type() || a.name() != b.name() ||
      std::bit_cast<uint64_t>(a.number()) != std::bit_cast<uint64_t>(b.number()) ||
      a.operands().size() != b.operands().size()) {
    return false;
  }
  if (equal.contains({a.identity(), b.identity()})) {
    return true;
  }
  for (size_t i = 0; i < a.operands().size(); ++i) {
    if (!same_tree(a.operand(i), b.operand(i), equal)) {
      return false;
    }
  }
  equal.insert({a.identity(), b.identity()});
  return true;
}

// The first node, each asked once by identity, of which `is_meant` is true; none: null.
template <typename Condition>
const Expr* first_node(const Expr& e, std::set<const void*>& seen, const Condition& is_meant) {
  if (!seen.insert(e.identity()).second) {
    return nullptr;
  }
  if (is_meant(e)) {
    return &e;
  }
  for (const Expr& operand : e.operands()) {
    if (const Expr* found = first_node(operand, seen, is_meant)) {
      return found;
    }
  }
  return nullptr;
}

std::vector<std::string> names_of(const Expr& e, Op op) {
  std::set<std::string> names;
  std::set<const void*> seen;
  first_node(e, seen, [&](const Expr& node) {
    if (node.op() == op) {
      names.insert(node.name());
    }
    return false;
  });
  return {names.begin(), names.end()};
}

}  // namespace

const char* name_of(Type type) {
  switch (type) {
    case Type::Bool:
      return "bool";
    case Type::Int:
      return "i32";
    case Type::Float:
      break;
  }
  return "f32";
}

Op Expr::op() const { return node_->op; }
Type Expr::type() const { return node_->type; }
Span Expr::span() const { return node_->span; }
std::span<const Expr> Expr::operands() const { return node_->operands; }
int Expr::height() const { return node_->height; }
uint64_t Expr::hash() const { return node_->hash; }
double Expr::number() const { return node_->number; }
const std::string& Expr::name() const { return node_->name; }

Expr make_node(Node node) {
  node.height = 1;
  for (const Expr& operand : node.operands) {
    node.height = std::max(node.height, operand.height() + 1);
  }
  node.hash = hash_of(node);
  Expr e;
  e.node_ = std::make_shared<const Node>(std::move(node));
  return e;
}

bool is_normal_float(double value) {
  const double size = std::fabs(value);
  return size >= std::numeric_limits<float>::min() && size <= std::numeric_limits<float>::max();
}

bool is_power_of_two(double value) {
  int exponent = 0;
  return value > 0 && std::isfinite(value) && std::frexp(value, &exponent) == 0.5;
}

Expr constant(Type type, double value, Span span) {
  Node node;
  node.type = type;
  node.number = value;
  node.span = span;
  return make_node(std::move(node));
}

Expr number(double value, Span span) { return constant(Type::Float, value, span); }

Expr integer(int64_t value, Span span) {
  return constant(Type::Int, static_cast<double>(value), span);
}

Expr boolean(bool value, Span span) { return constant(Type::Bool, value ? 1 : 0, span); }

Expr variable(std::string name, Type type, Span span) {
  Node node;
  node.op = Op::Variable;
  node.type = type;
  node.name = std::move(name);
  node.span = span;
  return make_node(std::move(node));
}

Expr load(std::string input, Type element, std::vector<Expr> indices, Span span) {
  assert(!misfit(Op::Load, indices));
  Node node;
  node.op = Op::Load;
  node.type = element;
  node.name = std::move(input);
  node.operands = std::move(indices);
  node.span = span;
  return make_node(std::move(node));
}

Expr make(Op op, std::vector<Expr> operands, Span span) {
  assert(op != Op::Number && op != Op::Variable && op != Op::Load);
  if (op == Op::ToFloat) {
    return to_float(std::move(operands[0]));
  }
  assert(!misfit(op, operands));
  Node node;
  node.op = op;
  node.span = span;
  if (op == Op::Select) {
    node.type = unify(operands, 1);
  } else {
    switch (rule_of(op)) {
      case Rule::Numeric:
        node.type = unify(operands, 0);
        break;
      case Rule::Float:
        for (Expr& operand : operands) {
          operand = to_float(std::move(operand));
        }
        node.type = op == Op::ToInt ? Type::Int : Type::Float;
        break;
      case Rule::Comparison:
        unify(operands, 0);
        node.type = Type::Bool;
        break;
      case Rule::Logic:
        node.type = Type::Bool;
        break;
    }
  }
  node.operands = std::move(operands);
  return make_node(std::move(node));
}

Expr with_operands(const Expr& e, std::vector<Expr> operands) {
  assert(operands.size() == e.operands().size());
  if (operands.empty()) {
    return e;
  }
  return e.op() == Op::Load ? load(e.name(), e.type(), std::move(operands), e.span())
                            : make(e.op(), std::move(operands), e.span());
}

Expr with_operand(const Expr& e, size_t at, Expr operand) {
  std::vector<Expr> operands(e.operands().begin(), e.operands().end());
  operands[at] = std::move(operand);
  return with_operands(e, std::move(operands));
}

Expr map_operands(const Expr& e, const std::function<Expr(const Expr&)>& f) {
  std::vector<Expr> operands;
  for (const Expr& operand : e.operands()) {
    operands.push_back(f(operand));
  }
  return with_operands(e, std::move(operands));
}

bool same(const Expr& a, const Expr& b) {
  Visited equal;
  return same_tree(a, b, equal);
}

size_t count_nodes(const Expr& e) {
  std::set<const void*> seen;
  first_node(e, seen, [](const Expr&) { return false; });
  return seen.size();
}

const Expr* find_node(const Expr& e, const std::function<bool(const Expr&)>& is_meant) {
  std::set<const void*> seen;
  return first_node(e, seen, is_meant);
}

bool mentions(const Expr& e, std::string_view variable) {
  std::set<const void*> seen;
  return first_node(e, seen, [&](const Expr& node) {
           return node.op() == Op::Variable && node.name() == variable;
         }) != nullptr;
}

std::vector<std::string> variables_of(const Expr& e) { return names_of(e, Op::Variable); }

std::vector<std::string> inputs_of(const Expr& e) { return names_of(e, Op::Load); }

}  // namespace attngen::expr
