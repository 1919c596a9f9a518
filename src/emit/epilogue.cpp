#include "emit/epilogue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "attention/empty_row.h"
#include "attention/output_columns.h"
#include "emit/comment.h"
#include "emit/device_text.h"
#include "expr/simplify.h"

namespace attngen::emit {
namespace {

using attention::EmptyTest;
using attention::Reduction;
using attention::RowForm;
using spec::Spec;

constexpr const char* kValues = "const RowValues& values";

class Epilogue {
 public:
  Epilogue(const Spec& spec, const RowForm& form, const expr::Expr& row_term,
           const DeviceNames& names)
      : spec_(spec),
        form_(form),
        row_term_(row_term),
        names_(names),
        scaling_(attention::output_scaling(form.output)),
        columns_(attention::column_loads(spec, form.output)) {
    if (scaling_) scaling_->of_row = folded(scaling_->of_row);
    if (form_.empty != EmptyTest::None) {
      for (const Reduction& reduction : form_.reductions) {
        if (reduction.name == form_.empty_reduction) empty_ = &reduction;
        if (reduction.name == form_.empty_sum) empty_sum_ = &reduction;
      }
    }
    has_scale_ = scaling_ && !(scaling_->of_row.is_number(1) && empty_ == nullptr);
    // A factor of the row becomes 0; a column's may be infinite.
    const bool scales = scaling_ && attention::is_finite_without_pairs(form, scaling_->of_column);
    zeroes_ = empty_ != nullptr && !scales;
    keeps_empty_ = zeroes_ || (empty_ != nullptr && any_save_is_nan());
    resets_ = form_.empty == EmptyTest::Max && any_counts_all_pairs();
  }

  std::string text() const {
    return row_values_text() + "\n" + output_text() + "\n" + saves_text();
  }

 private:
  // One number, where it is a product of numbers.
  static expr::Expr folded(const expr::Expr& factor) {
    expr::Expr number = expr::simplify(factor);
    return number.is_number() ? number : factor;
  }

  // Whether a reduction counts pairs without a weight too.
  bool any_counts_all_pairs() const {
    const auto reads_row = [&](const Reduction& reduction) {
      return std::ranges::any_of(form_.rows, [&](const attention::RowValue& row) {
        return expr::mentions(reduction.element, row.name);
      });
    };
    return std::ranges::any_of(form_.reductions, [&](const Reduction& reduction) {
      return &reduction != empty_ && !reads_row(reduction);
    });
  }
  bool any_save_is_nan() const {
    return std::any_of(form_.saves.begin(), form_.saves.end(), [&](const auto& save) {
      return attention::may_be_nan_without_pairs(form_, save.value);
    });
  }
  std::string empty_condition() const {
    const std::string still = fmt::format("red.{} == {}", names_.reduction(*empty_),
                                          form_.empty == EmptyTest::Max ? "-INFINITY" : "0");
    return empty_sum_ == nullptr
               ? still
               : fmt::format("{} && red.{} == 0", still, names_.reduction(*empty_sum_));
  }
  // Why it has two parts, if it has.
  std::string empty_note() const {
    if (empty_sum_ == nullptr) return "";
    return "  // Not by the maximum alone: pairs weighed against the row's constant leave it at "
           "-inf.\n";
  }

  std::string row_values_text() const {
    std::vector<std::string> members;
    std::string body = "  RowValues values;\n" + row_term_text();
    if (resets_) {
      body += empty_note() + "  // A row whose scores are all -inf is empty too.\n" +
              fmt::format("  if ({}) red = {{}};\n", empty_condition());
    }
    for (const attention::RowValue& row : form_.rows) {
      members.push_back(DeviceNames::member(row.name));
      body += row_comment(row.name);
      body += assignment("values." + members.back(), row.value, names_.names_at_end("values"));
      if (row.without_pairs) {
        body += empty_note() + "  if (" + empty_condition() + ") {  // no pair exists\n" +
                indented(assignment("values." + members.back(), row.without_pairs,
                                    names_.names_at_end("values"))) +
                "  }\n";
      }
    }
    if (has_scale_) members.emplace_back("output_scale");
    std::string fields =
        members.empty() ? "" : wrapped(fmt::format("  float {};", fmt::join(members, ", ")));
    if (keeps_empty_) {
      fields += "  bool empty;\n";
      body += empty_note() + fmt::format("  values.empty = {};\n", empty_condition());
    }
    if (has_scale_) {
      body += assignment("values.output_scale", scaling_->of_row, names_.names_at_end("values"));
      if (empty_ != nullptr) {
        body += (keeps_empty_ ? "" : empty_note()) +
                fmt::format("  if ({}) values.output_scale = 0;  // no pair exists\n",
                            keeps_empty_ ? "values.empty" : empty_condition());
      }
    }
    if (fields.empty()) body = "  return {};\n";
    return (fields.empty() ? "struct RowValues {};\n" : "struct RowValues {\n" + fields + "};\n") +
           "\n" +
           text_of(
               {"RowValues",
                "row_values",
                {row_term_ || resets_ ? "Reductions red" : "const Reductions& red", kRow, kInputs},
                fields.empty() ? body : body + "  return values;\n"});
  }

  // A term of -inf leaves no pair with a weight, one that is no number no weight that is one.
  std::string row_term_text() const {
    if (!row_term_) return "";
    return "  // Left out of its scores, since their weights are the same without.\n" +
           assignment("const float common", row_term_, names_.names_at_end()) +
           "  if (red.max_score > -INFINITY) {\n"
           "    red.max_score += common;\n"
           "    if (!isfinite(common)) red.sum_exp = common == -INFINITY ? 0 : NAN;\n"
           "  }\n";
  }

  // The closed form, as the user declared it.
  std::string row_comment(std::string_view name) const {
    for (const spec::NamedExpr& row : spec_.normalize.rows) {
      if (row.name != name) continue;
      return indented(comment(std::string(name), expr::print_brief(row.value)));
    }
    return "";
  }

  std::string output_text() const {
    std::string body = zeroes_ ? "  if (values.empty) return 0;\n" : "";
    body += returned(scaling_ ? scaled() : form_.output, names_of_output());
    std::vector<std::string> parameters{"float acc"};
    const bool has_columns = attention::has_columns(form_.output);
    if (has_columns) parameters.emplace_back("const Column& column");
    for (const char* parameter : {kValues, kRow, kInputs}) parameters.emplace_back(parameter);
    return (has_columns ? columns_text() : "") +
           comment("output", expr::print_brief(form_.output)) +
           text_of({"float", "output_of", parameters, body});
  }

  // Where an element stands, and what `output` reads of inputs in its column.
  std::string columns_text() const {
    if (columns_.empty()) return "// Of an element of O.\nstruct Column {\n  int d;\n};\n\n";
    std::vector<std::string> rows;
    for (const expr::Expr& load : columns_) rows.push_back(names_.begin_of_row(load));
    return fmt::format(
               "// Of an element of O: its column, and what stands there in rows of inputs.\n"
               "struct Column {{\n  int d;\n  uint16_t input[{0}];\n}};\n\n"
               "struct ColumnRows {{\n  const uint16_t* begin[{0}];\n}};\n\n",
               rows.size()) +
           text_of({"ColumnRows",
                    "column_rows",
                    {kRow, kInputs},
                    wrapped(fmt::format("  return {{{{{}}}}};", fmt::join(rows, ", ")))}) +
           "\n";
  }

  expr::Names names_of_output() const {
    expr::Names names = names_.names_at_end("values");
    names.load = [this, inner = names.load](const expr::Expr& load,
                                            std::span<const std::string> indices) {
      const std::string& input = load.name();
      for (size_t i = 0; i < columns_.size(); ++i) {
        if (columns_[i].name() != input) continue;
        if (!std::ranges::equal(names_.indices_of(columns_[i]), indices)) continue;
        return DeviceNames::as_number(*spec_.find_input(input), fmt::format("column.input[{}]", i));
      }
      return inner(load, indices);
    };
    return names;
  }

  // acc times its factors.
  expr::Expr scaled() const {
    using expr::Op;
    expr::Expr value = expr::variable("acc", expr::Type::Float);
    if (has_scale_) {
      value = expr::make(Op::Multiply,
                         {value, expr::variable("values.output_scale", expr::Type::Float)});
    }
    const expr::Expr& of_column = scaling_->of_column;
    return of_column.is_number(1) ? value : expr::make(Op::Multiply, {value, of_column});
  }

  std::string saves_text() const {
    if (form_.saves.empty()) {
      return "struct Saves {};\n\n" +
             text_of({"void", "store_saves", {"const Saves& saves", kValues, kRow, kInputs}, ""});
    }
    std::string members, functions;
    const std::string shape =
        fmt::format("[{}heads, {}{}]", spec_.varlen ? "" : "batch, ",
                    spec_.maps > 1 ? "maps, " : "", spec_.varlen ? "total_q" : "seq_q");
    std::string body =
        spec_.varlen ? "  const int64_t index = row.first_save + row.q_idx;\n"
        : spec_.maps > 1
            ? "  const int64_t head = (int64_t{row.b} * kHeadsQ + row.h) * kMaps + row.map;\n"
              "  const int64_t index = head * row.seq_q + row.q_idx;\n"
            : "  const int64_t index = (int64_t{row.b} * kHeadsQ + row.h) "
              "* row.seq_q + row.q_idx;\n";
    for (const spec::NamedExpr& save : form_.saves) {
      members += fmt::format("  float* {};  // {}\n", save.name, shape);
      functions += save_function(save) + "\n";
      body += wrapped(fmt::format(
          "  if (saves.{0} != nullptr) saves.{0}[index] = save_{0}(values, row, in);", save.name));
    }
    return "struct Saves {\n" + members + "};\n\n" + functions +
           text_of({"void", "store_saves", {"const Saves& saves", kValues, kRow, kInputs}, body});
  }

  std::string save_function(const spec::NamedExpr& save) const {
    expr::Names names = names_.names_at_end("values");
    // The exact one is 38 instructions, for each row of a tile.
    names.quick = [](const expr::Expr&) { return true; };
    std::string body = returned(save.value, names);
    if (attention::may_be_nan_without_pairs(form_, save.value)) {
      // Of a row without pairs: the formula at the reductions' identities, NaN becoming -inf.
      const size_t at = body.rfind("  return ");
      std::string value = body.substr(at + 9);
      value.erase(value.rfind(';'));
      body = body.substr(0, at) + wrapped("  const float value = " + value + ";") +
             fmt::format("  return {}isnan(value) ? -INFINITY : value;\n",
                         keeps_empty_ ? "values.empty && " : "");
    }
    return comment(save.name, expr::print_brief(save.value)) +
           text_of({"float", "save_" + save.name, {kValues, kRow, kInputs}, body});
  }

  const Spec& spec_;
  const RowForm& form_;
  const expr::Expr& row_term_;
  const DeviceNames& names_;
  std::optional<attention::Scaling> scaling_;  // what output multiplies acc by, if that is all
  std::vector<expr::Expr> columns_;            // what output reads in its own column
  bool has_scale_ = false;                     // RowValues holds it
  const Reduction* empty_ = nullptr;           // tells an empty row
  const Reduction* empty_sum_ = nullptr;       // and so does this, where both must
  bool zeroes_ = false;                        // output_of asks whether the row is empty
  bool keeps_empty_ = false;                   // RowValues holds whether the row is empty
  bool resets_ = false;                        // an empty row may have counted pairs
};

}  // namespace

std::string epilogue_functions(const Spec& spec, const RowForm& form, const expr::Expr& row_term,
                               const DeviceNames& names) {
  return Epilogue(spec, form, row_term, names).text();
}

}  // namespace attngen::emit
