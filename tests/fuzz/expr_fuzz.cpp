// Any bytes give an expression or an error, and every pass takes every expression.
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "expr/bound.h"
#include "expr/count.h"
#include "expr/evaluate.h"
#include "expr/parse.h"
#include "expr/print.h"
#include "expr/simplify.h"

namespace {

using namespace attngen::expr;

Scope rich_scope() {
  Scope scope;
  for (const char* name : {"score", "x", "y", "m"}) {
    scope.variables[name] = Type::Float;
  }
  for (const char* name : {"b", "h", "q_idx", "kv_idx", "seq_q", "seq_kv"}) {
    scope.variables[name] = Type::Int;
  }
  scope.constants["inf"] = number(std::numeric_limits<double>::infinity());
  scope.constants["window"] = integer(4096);
  scope.inputs["slopes"] = {Type::Float, {"heads"}};
  scope.inputs["bias"] = {Type::Float, {"heads", "seq_q"}};
  scope.inputs["doc"] = {Type::Int, {"seq"}};
  scope.inputs["cap"] = {Type::Float, {}};
  scope.forbidden["acc"] = {"a score comes before the output", ""};
  scope.lets = {{"gap", "q_idx - kv_idx"}, {"near", "gap < 4 and x > 0"}, {"far", "exp(x * gap)"}};
  scope.reductions = true;
  return scope;
}

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

void check_error(const Error& error, size_t size) {
  require(error.span.begin <= error.span.end && error.span.end <= size && !error.message.empty());
}

void check_passes(const Expr& e, const Scope& scope) {
  const Expr simple = simplify(e);
  require(simple.type() == e.type());
  require(same(simplify(simple), simple));
  require(std::holds_alternative<Expr>(parse(print(e), scope)) || e.height() > kMaxDepth / 2);
  print_brief(e);
  for (const Dialect dialect : {Dialect::HostC, Dialect::Device}) {
    print_c(simple, dialect);
    print_c_statements(simple, dialect, {}, 2);
  }
  const auto variable = [](std::string_view name) { return static_cast<double>(name.size()); };
  const auto loader = [](std::string_view, std::span<const int64_t>) { return 1.5; };
  evaluate(e, variable, loader);
  evaluate(simple, variable, loader);
  const auto box = [](std::string_view) { return Interval{-3, 7, false}; };
  bound(e, {box, box});
  bound(simple, {});
  const std::vector<std::string> names = {"score", "x"};
  count(simple, names);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Scope scope = rich_scope();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto result = parse(text, scope);
  if (const auto* error = std::get_if<Error>(&result)) {
    check_error(*error, size);
  } else {
    check_passes(std::get<Expr>(result), scope);
  }
  return 0;
}
