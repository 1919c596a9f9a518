// Expressions as C, and which of their shared parts are worth a name.
#include <fmt/format.h>

#include <map>
#include <set>
#include <vector>

#include "expr/c_printer.h"

namespace attngen::expr {
namespace {

// How often each node is used, and whether it is always evaluated: what a branch of a Select and
// the right side of and / or load is not paid for otherwise.
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
    // Of what is written again and again inside of itself a text would be exponentially long. There
    // a load is made in vain; it is in range, its index being clamped.
    constexpr size_t kLongestRepeated = 250;
    const bool trivial = e.op() == Op::ToFloat || e.op() == Op::Negate;
    const bool costly = loads.contains(e.identity()) && !always.contains(e.identity());
    return (!trivial && !costly) || text.size() > kLongestRepeated;
  }
  bool is_shared(const Expr& e) const {
    return e.height() > 1 && !wide.contains(e.identity()) && count.at(e.identity()) > 1;
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
