#include "emit/join.h"

#include <fmt/format.h>

#include <algorithm>

#include "emit/device_text.h"

namespace attngen::emit {
namespace {

using attention::Reduction;
using attention::RowForm;

// The function that gives a reduction's factor, or "" if it is 1.
std::string factor_of(const Reduction& reduction, const RowForm& form) {
  if (reduction.rescale.is_number(1)) return "";
  const bool own = !expr::same(reduction.rescale, form.rescale);
  return own ? "rescale_" + reduction.name : "rescale_factor";
}

std::string scaled(const std::string& value, const std::string& factor, const char* old) {
  if (factor.empty()) return value;
  return fmt::format("{} * {}({}, rows, row, in)", value, factor, old);
}

std::string joined(const Reduction& reduction, const RowForm& form) {
  const std::string factor = factor_of(reduction, form);
  const std::string own = scaled("red." + reduction.name, factor, "own");
  const std::string other = scaled("other." + reduction.name, factor, "beside");
  return wrapped(reduction.kind == Reduction::Kind::Max
                     ? fmt::format("  red.{} = fmaxf({}, {});", reduction.name, own, other)
                     : fmt::format("  red.{} = {} + {};", reduction.name, own, other));
}

// Loop rows that are constant along the row of scores (sigmoid(score - gate[h])) are in no factor.
bool reads_loop_rows(const RowForm& form) {
  return !form.row_free() || std::ranges::any_of(form.reductions, [&](const Reduction& reduction) {
    return !factor_of(reduction, form).empty();
  });
}

}  // namespace

std::string join_function(const RowForm& form) {
  const bool reads_rows = reads_loop_rows(form);
  std::string body;
  if (reads_rows) {
    body +=
        "  const LoopRows own = loop_rows(red, row, in), beside = loop_rows(other, row, in);\n"
        "  LoopRows rows = own;\n";
  }
  // As absorb does: a row is current before what reads it, and what no row reads comes last.
  for (const Reduction& reduction : form.reductions) {
    if (reduction.deferred) continue;
    body += joined(reduction, form);
    if (reads_rows) body += "  rows = loop_rows(red, row, in);\n";
  }
  for (const Reduction& reduction : form.reductions) {
    if (reduction.deferred) body += joined(reduction, form);
  }
  std::string factors;
  if (!form.row_free()) {
    factors =
        "// By which the accumulators of two parts of a row shrink when they become one.\n"
        "struct JoinFactors {\n"
        "  float own, other;\n"
        "};\n\n";
    body +=
        "  return {rescale_factor(own, rows, row, in), rescale_factor(beside, rows, row, in)};\n";
  }
  return factors + "// Joins two parts of a row.\n" +
         text_of(
             {form.row_free() ? "void" : "JoinFactors",
              "join",
              {"Reductions& red", "const Reductions& other", "const Row& row", "const Inputs& in"},
              body});
}

}  // namespace attngen::emit
