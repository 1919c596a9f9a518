#include "emit/user_functions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "attention/interval_mask.h"
#include "attention/large_scores.h"
#include "attention/pair_form.h"
#include "attention/reductions.h"
#include "emit/absorb.h"
#include "emit/api.h"
#include "emit/comment.h"
#include "emit/device_names.h"
#include "emit/device_text.h"
#include "emit/epilogue.h"
#include "emit/fragment.h"
#include "emit/helpers.h"
#include "emit/join.h"
#include "emit/mask_functions.h"
#include "emit/pair_text.h"
#include "emit/prepass.h"
#include "emit/table_functions.h"
#include "expr/simplify.h"
#include "schedule/search.h"
#include "spec/lets.h"

namespace attngen::emit {
namespace {

using attention::PairForm;
using attention::Reduction;
using attention::RowForm;
using expr::Op;
using spec::Spec;

std::string inputs_text(const Spec& spec, const std::set<std::string>& lengths, size_t tables,
                        bool mask_bits) {
  if (spec.inputs.empty() && tables == 0) return "struct Inputs {};\n";
  std::string text =
      spec.inputs.empty() ? "struct Inputs {\n" : "// The spec's inputs.\nstruct Inputs {\n";
  std::vector<CommentedLine> members;
  members.reserve(lengths.size() + spec.inputs.size() + 1);
  for (const std::string& length : lengths) members.push_back({"  int " + length + ";", ""});
  for (const spec::Input& input : spec.inputs) {
    members.push_back({fmt::format("  {} {};", c_type_of(input), input.name),
                       input.shape.empty() ? "" : shape_text(spec, input)});
  }
  // An input may have the type's name.
  if (tables > 0) members.push_back({fmt::format("  ::int4* {}[{}] = {{}};", kTables, tables), ""});
  if (mask_bits) members.push_back({fmt::format("  ::uint4* {} = nullptr;", kMaskBits), ""});
  return text + commented(members) + "};\n";
}

std::vector<CommentedLine> row_members(const Spec& spec, const PairForm& pairs, bool searched,
                                       const BlockSteps& steps) {
  std::vector<CommentedLine> members;
  if (spec.varlen) {
    members.push_back({"  int q_begin, kv_begin;", "of the sequence in the packed tensors"});
    if (!spec.normalize.saves.empty()) {
      members.push_back({"  int64_t first_save;", "of this head's queries in the saves"});
    }
  }
  if (searched) {
    members.push_back({"  const int2* keys;", "in shared memory: the row's keys [x, y)"});
  }
  if (steps.gathered) {
    members.push_back(
        {"  int apart;", "what a key of the second block is beyond its place in the step"});
  }
  if (steps.rows_differ) {
    members.push_back(
        {"  int end;", "of its keys in the block at hand: 0 where its query does not keep that"});
  }
  for (const attention::RowTable& table : pairs.row_tables) {
    members.push_back(
        {fmt::format("  {} {};", c_type_of(*spec.find_input(table.first.name())), table.name),
         "in shared memory: " + text_of_row(table)});
  }
  if (pairs.bias) {
    members.push_back({"  const uint8_t* bias;",
                       fmt::format("in shared memory: {} of the block at hand",
                                   pairs.bias->shift ? "its own" : "its own, or the tile")});
  }
  if (pairs.mask_bits) {
    members.push_back(
        {"  const uint32_t* bits;", "in shared memory: the mask of its pairs at hand"});
  }
  if (pairs.listed_keys) {
    members.push_back(
        {"  const int* listed;", "in shared memory: the block's keys, from the thread's first on"});
  }
  if (!pairs.of_key.empty()) {
    members.push_back({fmt::format("  const {}* of_key;", number_type(pairs.of_key.front())),
                       "in shared memory: values of the thread's keys"});
  }
  if (pairs.of_distance) {
    members.push_back({fmt::format("  const {}* of_distance;", number_type(pairs.of_distance)),
                       "in shared memory: values of the thread's distances"});
  }
  if (!pairs.key_words.empty()) {
    members.push_back({"  const int* key_words[kKeyWords];",
                       "in shared memory: what the mask reads of its keys"});
  }
  for (const spec::NamedExpr& constant : pairs.constants) {
    members.push_back(
        {fmt::format("  {} {};", number_type(constant.value), constant.name.substr(1)),
         expr::print_brief(constant.value)});
  }
  return members;
}

std::string row_text(const Spec& spec, const PairForm& pairs, bool searched,
                     const BlockSteps& steps) {
  return "// Where a row of scores stands" +
         std::string(pairs.constants.empty() ? "" : ", and what its pairs have in common") +
         ".\nstruct Row {\n  int b, h, h_kv, q_idx, q_pos, seq_q, seq_kv" +
         (spec.maps > 1 ? ", map" : "") + ";\n" +
         commented(row_members(spec, pairs, searched, steps)) + "};\n";
}

std::string constants_text(const PairForm& pairs, const DeviceNames& names) {
  if (pairs.constants.empty()) return "";
  std::string body;
  for (const spec::NamedExpr& constant : pairs.constants) {
    const bool of_mask = expr::mentions(pairs.mask, constant.name);
    body += assignment("row." + constant.name.substr(1), constant.value,
                       of_mask ? exact(names.names()) : names.names());
  }
  return "// Computed once a tile.\n" +
         text_of({"void", "set_constants", {"Row& row", kInputs}, body});
}

std::string lines_text(const PairForm& pairs, const DeviceNames& names) {
  if (!pairs.has_lines()) return "";
  std::string members, body = "  Lines lines;\n";
  for (const attention::Line& line : pairs.lines) {
    members += fmt::format("  float {};\n", line.name.substr(1));
    body += assignment("lines." + line.name.substr(1), line.first, names.names());
  }
  for (const attention::KeyRow& row : pairs.key_rows) {
    members += fmt::format("  {} {};\n", names.pointer_type(row.load), row.name);
    body += wrapped(fmt::format("  lines.{} = &{};", row.name, names.element(row.load)));
  }
  if (!pairs.key_rows.empty()) {
    members += "  int first;\n";
    body += "  lines.first = kv_idx;\n";
  }
  const char* const what = pairs.key_rows.empty() ? "// What grows evenly along the keys of a block"
                           : pairs.lines.empty()
                               ? "// Elements along the keys of a block"
                               : "// What grows evenly along the keys of a block, and elements";
  return what + std::string(", at its key kv_idx.\nstruct Lines {\n") + members + "};\n\n" +
         text_of({"Lines", "lines_at", {kRow, "int kv_idx", kInputs}, body + "  return lines;\n"});
}

std::string bias_data_text(const spec::Input& input) {
  return fmt::format("__host__ __device__ {} bias_data(const Inputs& in) {{ return in.{}; }}\n",
                     c_type_of(input), input.name);
}

// Of a bias whose rows begin anywhere.
std::string shifted_bias_text(const attention::PairInput& bias, const DeviceNames& names) {
  return comment("by tiles", expr::print_brief(bias.load)) +
         "// Which of its matrices a row reads, how many columns these have, and which one query "
         "0\n"
         "// reads for key 0: an index outside of them is clamped. Where it begins and ends.\n" +
         text_of({"int",
                  "bias_matrix",
                  {kRow, kInputs},
                  fmt::format("  return {};\n", names.matrix(bias.load))}) +
         text_of({"int",
                  "bias_columns",
                  {kRow, kInputs},
                  fmt::format("  return {};\n", names.columns(bias.input))}) +
         text_of(
             {"int", "bias_first", {kRow, kInputs}, returned(bias.shift->first, names.names())}) +
         bias_data_text(bias.input) +
         text_of({c_type_of(bias.input),
                  "bias_end",
                  {kRow, kInputs},
                  wrapped("  return " + names.end_of(bias.input) + ";")});
}

std::string bias_text(const PairForm& pairs, const DeviceNames& names) {
  if (!pairs.bias) return "";
  if (pairs.bias->shift) return shifted_bias_text(*pairs.bias, names);
  const spec::Input& input = pairs.bias->input;
  return comment("by tiles", expr::print_brief(pairs.bias->load)) +
         "// Which of its matrices [seq_q, seq_kv] a row reads, how many it has, and the first.\n" +
         text_of({"int",
                  "bias_matrix",
                  {kRow, kInputs},
                  fmt::format("  return {};\n", names.matrix(pairs.bias->load))}) +
         fmt::format(
             "__host__ __device__ int64_t bias_matrices({}) {{ return {}; }}\n",
             spec::has_dim(input, spec::Input::Dim::Kind::Batch) ? "int64_t batch" : "int64_t",
             DeviceNames::matrices(input)) +
         bias_data_text(input);
}

std::string key_words_text(const std::vector<expr::Expr>& words, const expr::Names& names) {
  std::vector<std::string> meanings;
  std::string body;
  for (const expr::Expr& word : words) {
    const std::string target = fmt::format("words[{}]", meanings.size());
    if (word.type() == expr::Type::Int) {
      body += assignment(target, word, names);
    } else {
      body += wrapped(fmt::format("  {} = __float_as_int({});", target,
                                  expr::print_c(word, expr::Dialect::Device, names)));
    }
    meanings.push_back(expr::print_brief(word));
  }
  return comment("once for the rows of a warpgroup", fmt::format("{}", fmt::join(meanings, "; "))) +
         text_of({"void",
                  "load_key_words",
                  {"int (&words)[kKeyWords]", kRow, "int kv_idx", kInputs},
                  body});
}

// "value_of_key" or "value_of_distance". An index is the one that the spec's own operations give.
std::string strip_text(const char* name, const expr::Expr& value, const DeviceNames& names) {
  const bool is_index = value.type() == expr::Type::Int;
  return text_of({number_type(value),
                  name,
                  {kRow, "int kv_idx", kInputs},
                  returned(value, is_index ? exact(names.names()) : names.names())});
}

std::string key_strips_text(const std::vector<expr::Expr>& values, const DeviceNames& names) {
  std::vector<std::string> meanings;
  std::string body;
  for (const expr::Expr& value : values) {
    const bool last = &value == &values.back();
    const std::string own = returned(value, names.names());
    body +=
        last ? own : fmt::format("  if (strip == {}) {{\n{}  }}\n", meanings.size(), indented(own));
    meanings.push_back(expr::print_brief(value));
  }
  const std::string heading =
      comment("once for the rows of a warpgroup", fmt::format("{}", fmt::join(meanings, "; ")));
  if (values.size() == 1) return heading + strip_text("value_of_key", values.front(), names);
  return heading +
         text_of({"float", "value_of_key", {"int strip", kRow, "int kv_idx", kInputs}, body});
}

std::string strips_text(const PairForm& pairs, const DeviceNames& names) {
  std::string text;
  if (!pairs.of_key.empty()) text += key_strips_text(pairs.of_key, names);
  if (pairs.of_distance) {
    text += (text.empty() ? "" : "\n") +
            comment("once for the pairs of a warpgroup that are as far apart",
                    expr::print_brief(pairs.of_distance)) +
            strip_text("value_of_distance", pairs.of_distance, names);
  }
  if (!pairs.key_words.empty()) {
    text += (text.empty() ? "" : "\n") + key_words_text(pairs.key_words, exact(names.names()));
  }
  return text;
}

// In the exponent's units of an exponential form: score_unit of a score.
std::string score_text(const Spec& spec, const PairForm& pairs, const DeviceNames& names) {
  if (is_plain_score(spec) || !pairs.score) return "";
  std::string heading = comment("score", spec::with_lets(spec, spec.score_text));
  if (pairs.row_term) heading += "// Terms that a row's scores share wait for row_values.\n";
  if (pairs.affine) {
    return heading +
           "// As an exponent of two: one part for a thread's keys of a block, from its first "
           "on,\n// and one for the key `column` places behind.\n" +
           text_of({"float",
                    "exponent_base",
                    {kRow, "int kv_idx", kInputs},
                    returned(pairs.base, names.names())}) +
           "\n" +
           text_of({"float",
                    "exponent_of",
                    {"float product", kRow, "float base", "int column"},
                    returned(pairs.score, names.score_names(pairs))});
  }
  return heading + text_of({"float", "score_of", pair_parameters(pairs),
                            returned(pairs.score, names.score_names(pairs))});
}

// Whole numbers that grow or fall along the keys and are the same at two of them.
std::string level_text(const PairForm& pairs, const DeviceNames& names) {
  if (!pairs.level) return "";
  std::vector<std::string> equal;
  const expr::Names printed = exact(names.names());
  for (const expr::Expr& index : pairs.level->indices) {
    const expr::Expr last =
        expr::substitute(index, {{"kv_idx", expr::variable("kv_last", expr::Type::Int)}});
    equal.push_back(
        expr::print_c(expr::make(Op::Equal, {index, last}), expr::Dialect::Device, printed));
  }
  return "// Whether a row's keys from kv_idx to kv_last all add the same to the score.\n" +
         text_of({"bool",
                  "adds_the_same",
                  {kRow, "int kv_idx", "int kv_last", kInputs},
                  wrapped(fmt::format("  return {};", fmt::join(equal, " && ")))});
}

// Sums of the same exponential are one.
std::vector<const Reduction*> distinct_reductions(const RowForm& form, const DeviceNames& names) {
  std::vector<const Reduction*> distinct;
  for (const Reduction& reduction : form.reductions) {
    const bool known = std::any_of(distinct.begin(), distinct.end(), [&](const Reduction* other) {
      return names.reduction(*other) == names.reduction(reduction);
    });
    if (!known) distinct.push_back(&reduction);
  }
  return distinct;
}

std::string reductions_text(const Spec& spec, const RowForm& form, const PairForm& pairs,
                            const DeviceNames& names, const Fragment& fragment) {
  std::string text = comment("normalize", spec::with_lets(spec, spec.normalize_text)) + "\n";
  if (pairs.near_logistic) {
    return text +
           "struct Reductions {\n"
           "  bool near = true;  // the warp's blocks so far had small weights alone\n"
           "};\n";
  }
  if (form.reductions.empty()) return text + "struct Reductions {};\n";
  text += "// Running, over the pairs seen so far.\nstruct Reductions {\n";
  std::vector<CommentedLine> members;
  for (const Reduction* reduction : distinct_reductions(form, names)) {
    const bool max = reduction->kind == Reduction::Kind::Max;
    members.push_back(
        {fmt::format("  float {} = {};", names.reduction(*reduction), max ? "-INFINITY" : "0"),
         fmt::format("{}({}){}{}", max ? "rowmax" : "rowsum", expr::print_brief(reduction->element),
                     reduction->deferred ? ", " : "",
                     reduction->deferred ? fragment.keys_of_thread : "")});
  }
  return text + commented(members) + "};\n";
}

std::string complete_text(const RowForm& form, const DeviceNames& names, const Fragment& fragment) {
  std::string body;
  for (const Reduction* reduction : distinct_reductions(form, names)) {
    if (!reduction->deferred) continue;
    body += fmt::format("  red.{0} = {1}(red.{0});\n", names.reduction(*reduction),
                        reduction->kind == Reduction::Kind::Max ? fragment.max : fragment.sum);
  }
  return "// A thread's reductions to those of the row.\n"
         "__device__ __forceinline__ Reductions complete(Reductions red) {\n" +
         body + "  return red;\n}\n";
}

// exponential: the row `m` that weights read, from the running maximum.
std::string row_max_text(const RowForm& form, const DeviceNames& names) {
  const auto row = std::find_if(form.rows.begin(), form.rows.end(), [&](const auto& candidate) {
    return candidate.name == form.max_row;
  });
  if (row == form.rows.end()) return "";
  // Earlier rows that it reads are constant along the row of scores.
  expr::Expr value = row->value;
  for (auto earlier = row; earlier != form.rows.begin();) {
    --earlier;
    value = expr::substitute(value, {{earlier->name, earlier->value}});
  }
  const expr::Names base = names.names();
  expr::Names printed = base;
  printed.variable = [&](std::string_view name) {
    return name == form.max_reduction ? std::string("max_score") : base.variable(name);
  };
  return fmt::format("// The row value {}.\n", row->name) +
         text_of(
             {"float", "row_max", {"float max_score", kRow, kInputs}, returned(value, printed)});
}

// acc is of weights without the factor.
RowForm with_factor(RowForm form, double factor) {
  if (factor == 1) return form;
  const expr::Expr& output = form.output;
  const bool divides = output.op() == Op::Divide && output.operand(0).op() == Op::Variable &&
                       output.operand(0).name() == "acc";
  form.output =
      divides
          ? expr::make(Op::Divide,
                       {output.operand(0),
                        expr::simplify(expr::make(Op::Multiply,
                                                  {output.operand(1), expr::number(1 / factor)}))})
          : expr::simplify(expr::substitute(
                output, {{"acc", expr::make(Op::Multiply, {expr::variable("acc", expr::Type::Float),
                                                           expr::number(factor)})}}));
  return form;
}

}  // namespace

bool is_plain_score(const Spec& spec) {
  // Templates fold log2(e) into the scale.
  return spec.score.op() == Op::Variable && spec.score.name() == "score" && spec.scale > 0 &&
         !attention::may_be_large(spec);
}

UserFunctions user_functions(const Spec& spec, const RowForm& form, target::Family family,
                             const schedule::Forms& forms, const BlockSteps& steps) {
  Fragment fragment = fragment_of(family);
  if (steps.gathered) fragment.key = kGatheredKey;
  if (steps.rows_differ) fragment.end = kOwnEnd;
  const bool amd = fragment.vendor == expr::Vendor::Amd;  // whose template tests no whole blocks
  const DeviceNames names(spec, form, fragment.vendor);
  const PairForm pairs = attention::pair_form(spec, form, schedule::pair_abilities(family, forms));
  const std::string mask = mask_text(spec, form, pairs, names, amd);
  std::vector<std::string> sections{constants_text(pairs, names),
                                    lines_text(pairs, names),
                                    table_functions(spec, pairs, names),
                                    bias_text(pairs, names),
                                    strips_text(pairs, names),
                                    score_text(spec, pairs, names),
                                    level_text(pairs, names),
                                    mask,
                                    spec.gathers_lists()
                                        ? token_mask_text(spec, names)
                                        : key_range_text(spec, names, mask.empty(), amd),
                                    amd ? "" : row_keys_text(spec, form, names),
                                    amd ? "" : block_test_text(spec, names),
                                    reductions_text(spec, form, pairs, names, fragment)};
  if (form.exponential) {
    sections.push_back(row_max_text(form, names));
  } else {
    sections.push_back(absorb_functions(spec, form, pairs, names, fragment));
    if (forms.join) sections.push_back(join_function(form));
  }
  sections.push_back(complete_text(form, names, fragment));
  sections.push_back(
      epilogue_functions(spec, with_factor(form, pairs.weight_factor), pairs.row_term, names));

  std::string body;
  for (const std::string& section : sections) {
    if (!section.empty()) body += "\n" + section;
  }
  UserFunctions result;
  result.lengths = names.lengths();
  result.helpers = helpers_text(spec, form, pairs, fragment, body);
  std::string text = body.substr(1);
  if (amd) text = for_amd(std::exchange(result.helpers, "") + text);
  result.text = inputs_text(spec, result.lengths, amd ? 0 : id_tables(spec),
                            pairs.mask_bits && !spec.gathers_lists()) +
                "\n" + row_text(spec, pairs, !amd && has_searched_limits(spec, form), steps) +
                "\n" + text;
  return result;
}

}  // namespace attngen::emit
