// The expression language of specs (docs/spec.md section 4): an immutable typed tree.
//
// An Expr is a cheap handle to a shared node, so common subexpressions are shared, and every pass
// is a free function from trees to trees or values:
//   parse.h  evaluate.h  bound.h  simplify.h  print.h  count.h
// Trees are limited to kMaxDepth and kMaxNodes by the parser, so passes may recurse.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attngen::expr {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Whether a float holds it with all of its digits: kernels take what is smaller for 0.
bool is_normal_float(double value);
bool is_power_of_two(double value);  // of a positive and finite one

inline constexpr int kMaxDepth = 200;
inline constexpr int kMaxNodes = 10'000;

enum class Type : uint8_t { Bool, Int, Float };
const char* name_of(Type type);  // "bool", "i32", "f32"

enum class Op : uint8_t {
  // Leaves. A Load is input[index, ...]; its operands are the indices.
  Number,
  Variable,
  Load,
  // Operators. FloorDivide and Modulo floor: -7 // 2 is -4, -7 % 2 is 1; an Int // 0 and an Int % 0
  // are 0. Divide is always Float. Min and Max prefer a number to a NaN.
  Negate,
  Add,
  Subtract,
  Multiply,
  Divide,
  FloorDivide,
  Modulo,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Equal,
  NotEqual,
  And,
  Or,
  Not,
  Select,   // operands: condition, value if true, value if false
  ToFloat,  // an Int where a Float is needed; put in by the constructors
  // Functions. clamp(x, a, b) is Min(Max(x, a), b), where(c, a, b) is Select.
  Abs,
  Min,
  Max,
  Exp,
  Exp2,
  Log,
  Log2,
  Sqrt,
  Rsqrt,
  Tanh,
  Sigmoid,
  Relu,
  Square,
  Pow,
  Erf,
  Gelu,  // x/2 (1 + erf(x / sqrt 2))
  Silu,  // x sigmoid(x)
  Sin,
  Cos,
  Floor,  // Float to Float
  ToInt,  // int(x): the floor of a Float as an Int, of a NaN 0
  Sign,
  // Of a sum whose terms, of 32 bits each, may add up to more: the nearest Int. It is not of the
  // language: key ranges (attention/tiles.h) move terms across a comparison.
  Saturate,
  // Reductions over the existing pairs of a row (docs/spec.md section 2).
  RowMax,
  RowSum,
};

// Bytes [begin, end) of the expression's own text.
struct Span {
  uint32_t begin = 0;
  uint32_t end = 0;
};

struct Node;

class Expr {
 public:
  Expr() = default;  // no expression; every other member needs one
  explicit operator bool() const { return node_ != nullptr; }

  Op op() const;
  Type type() const;
  Span span() const;
  std::span<const Expr> operands() const;
  const Expr& operand(size_t i) const { return operands()[i]; }
  int height() const;                                   // of the tree: 1 for a leaf
  uint64_t hash() const;                                // equal for the same trees
  double number() const;                                // Number; Bool as 0 or 1
  const std::string& name() const;                      // Variable, Load
  const void* identity() const { return node_.get(); }  // equal for shared subtrees

  bool is_number() const { return op() == Op::Number; }
  bool is_number(double value) const { return is_number() && number() == value; }

 private:
  friend Expr make_node(Node node);
  std::shared_ptr<const Node> node_;
};

// Constructors. Operands must fit the operator; Ints are converted where a Float is needed, and
// Min, Max, Add, Select, ... of an Int and a Float are Floats.
Expr number(double value, Span span = {});               // Float
Expr integer(int64_t value, Span span = {});             // Int
Expr boolean(bool value, Span span = {});                // Bool
Expr constant(Type type, double value, Span span = {});  // a Bool as 0 or 1
Expr variable(std::string name, Type type, Span span = {});
Expr load(std::string input, Type element, std::vector<Expr> indices, Span span = {});
Expr make(Op op, std::vector<Expr> operands, Span span = {});

// The same node over other operands, as many as it has; one without operands comes back as it is.
Expr with_operands(const Expr& e, std::vector<Expr> operands);
// With another one in the place of operand `at`.
Expr with_operand(const Expr& e, size_t at, Expr operand);
// With what `f` makes of each.
Expr map_operands(const Expr& e, const std::function<Expr(const Expr&)>& f);

// The same tree, whatever the spans.
bool same(const Expr& a, const Expr& b);

// Of the tree, shared ones counted once.
size_t count_nodes(const Expr& e);

// The first node, from the root down, of which `is_meant` says so; nullptr if there is none.
const Expr* find_node(const Expr& e, const std::function<bool(const Expr&)>& is_meant);

// Whether the variable occurs, also inside the indices of a Load.
bool mentions(const Expr& e, std::string_view variable);
// The names of all Variables, of all Loads: sorted, each once.
std::vector<std::string> variables_of(const Expr& e);
std::vector<std::string> inputs_of(const Expr& e);

}  // namespace attngen::expr
