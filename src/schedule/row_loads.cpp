#include "schedule/row_loads.h"

#include <set>
#include <string>

#include "expr/expr.h"
#include "expr/print.h"

namespace attngen::schedule {
namespace {

using expr::Expr;

class RowLoads {
 public:
  void add(const Expr& e) {
    if (!e || e.operands().empty() || !seen_.insert(e.identity()).second) return;
    if (attention::varies_in_row(e)) {
      for (const Expr& operand : e.operands()) add(operand);
    } else if (!expr::inputs_of(e).empty() && known_.insert(expr::print(e)).second) {
      const bool of_row = expr::mentions(e, "q_idx") || expr::mentions(e, "q_pos");
      registers += of_row ? 2 : 1;
    }
  }
  int registers = 0;

 private:
  std::set<const void*> seen_;
  std::set<std::string> known_;
};

}  // namespace

int row_load_registers(const attention::PairForm& form) {
  RowLoads loads;
  for (const Expr& e : {form.score, form.weight}) loads.add(e);
  for (const attention::PairElement& element : form.elements) loads.add(element.value);
  return loads.registers;
}

}  // namespace attngen::schedule
