#include "emit/mask_functions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "attention/interval_mask.h"
#include "attention/pair_input.h"
#include "emit/comment.h"
#include "emit/device_text.h"
#include "emit/pair_text.h"
#include "emit/prepass.h"
#include "emit/user_functions.h"
#include "expr/simplify.h"
#include "spec/lets.h"

namespace attngen::emit {

using attention::PairForm;
using attention::RowForm;
using expr::Op;
using spec::Spec;

attention::KeyRange range_of(const Spec& spec) {
  return attention::key_range(spec.mask, spec.inputs);
}

bool is_interval(const Spec& spec) {
  return !spec.gathers_lists() && attention::has_row_limits(range_of(spec));
}

bool has_block_test(const Spec& spec) { return attention::block_test(spec).has_value(); }

size_t id_tables(const Spec& spec) {
  const auto test = attention::block_test(spec);
  return test ? test->tables.size() : 0;
}

bool may_have_mask_ahead(const Spec& spec, const RowForm& rows) {
  const bool cuts_both_ends = has_searched_limits(spec, rows) ||
                              (is_interval(spec) && !range_of(spec).full_begin.is_number(0));
  return rows.exponential && is_plain_score(spec) && cuts_both_ends && spec.block_size == 0 &&
         !spec.varlen && !spec.page && spec.maps == 1;
}

bool has_walk(const Spec& spec) {
  return attention::searches(range_of(spec)) || has_block_test(spec);
}

std::string mask_text(const Spec& spec, const RowForm& form, const PairForm& pairs,
                      const DeviceNames& names, bool amd) {
  if (is_interval(spec) || (!amd && has_searched_limits(spec, form)) || pairs.mask_bits) return "";
  // Loads of all pairs at once would take more registers than there are.
  const expr::Names printed = exact(pairs.mask_loads() ? names.names() : names.pair_names());
  std::vector<std::string> parameters{kRow};
  if (pairs.mask_reads_bias()) parameters.push_back(bias_declaration(pairs));
  if (!amd) parameters.emplace_back("int column");
  parameters.insert(parameters.end(), {"int kv_idx", kInputs});
  const bool joins = pairs.mask.op() == expr::Op::And || pairs.mask.op() == expr::Op::Or;
  return comment("mask", spec::with_lets(spec, spec.mask_text)) +
         (printed.eager && joins ? "// By & and |, of which no pair makes a branch.\n" : "") +
         text_of({"bool", "pair_exists", std::move(parameters), returned(pairs.mask, printed)});
}

std::string token_mask_text(const Spec& spec, const DeviceNames& names) {
  if (spec.token_mask.is_number(1)) return "";
  return comment("mask", spec::with_lets(spec, spec.mask_text)) +
         "// Asked of each key of a list.\n" +
         text_of({"bool",
                  "mask_holds",
                  {kRow, "int kv_idx", kInputs},
                  returned(spec.token_mask, exact(names.names()))});
}

namespace {

// Searches of the same values go on side by side, since each round waits for memory. The ends read
// what they found.
class Searches {
 public:
  explicit Searches(const DeviceNames& names) : names_(names) {}

  expr::Expr replace(const expr::Expr& e) {
    return attention::replace_loads(e, [this](const expr::Expr& load) {
      const auto row = names_.searched_row(load);
      return row ? place_of(load, *row) : load;
    });
  }

  std::string text() const {
    std::string text;
    for (size_t i = 0; i < values_.size(); ++i) {
      text += wrapped(fmt::format("  const int value{} = {};", i, values_[i]));
    }
    for (size_t i = 0; i < groups_.size(); ++i) {
      const Group& group = groups_[i];
      const size_t size = group.limits.size();
      text += fmt::format("  int counts{0}[{1}];\n", i, size);
      text += wrapped(fmt::format("  const int limits{}[{}] = {{value{}}};", i, size,
                                  fmt::join(group.limits, ", value")));
      text += wrapped(fmt::format("  count<0b{0:0{1}b}>({2}, {3}, limits{4}, counts{4});",
                                  group.or_equal, size, group.values, group.length, i));
    }
    return text;
  }

 private:
  static constexpr size_t kMostLimits = 32;  // `count` knows each by a bit
  struct Group {
    std::string values, length;
    std::vector<size_t> limits;  // places among values_
    unsigned or_equal = 0;       // bit i: of limit i
  };
  expr::Expr place_of(const expr::Expr& search, const DeviceNames::SearchedRow& row) {
    const size_t limit = place_of_value(
        expr::print_c(search.operands().back(), expr::Dialect::Device, names_.mask_names()));
    size_t last = groups_.size();  // the last group of the same values, which may have room
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (groups_[i].values != row.values) continue;
      last = i;
      for (size_t j = 0; j < groups_[i].limits.size(); ++j) {
        const bool or_equal = (groups_[i].or_equal >> j & 1) != 0;
        if (groups_[i].limits[j] == limit && or_equal == row.or_equal) return count_at(i, j);
      }
    }
    if (last == groups_.size() || groups_[last].limits.size() == kMostLimits) {
      last = groups_.size();
      groups_.push_back({row.values, row.length, {}, 0});
    }
    Group& group = groups_[last];
    group.or_equal |= unsigned{row.or_equal} << group.limits.size();
    group.limits.push_back(limit);
    return count_at(last, group.limits.size() - 1);
  }
  size_t place_of_value(const std::string& value) {
    const auto found = std::ranges::find(values_, value);
    const auto place = static_cast<size_t>(found - values_.begin());
    if (found == values_.end()) values_.push_back(value);
    return place;
  }
  static expr::Expr count_at(size_t group, size_t place) {
    return expr::variable(fmt::format("counts{}[{}]", group, place), expr::Type::Int);
  }

  const DeviceNames& names_;
  std::vector<std::string> values_;  // that limits are, each once
  std::vector<Group> groups_;
};

// Whether an end reads an input that has elements only where there are keys.
bool reads_keys(const attention::KeyRange& range, const Spec& spec) {
  for (const expr::Expr& end : {range.begin, range.end, range.full_begin, range.full_end}) {
    for (const std::string& load : expr::inputs_of(end)) {
      const spec::Input* input = spec.find_input(load.substr(0, load.find('.')));
      if (spec::has_dim(*input, spec::Input::Dim::Kind::SeqKv)) return true;
    }
  }
  return false;
}

std::string searches_text(attention::KeyRange& range, const DeviceNames& names) {
  Searches searches(names);
  for (expr::Expr* end : {&range.begin, &range.end, &range.full_begin, &range.full_end}) {
    *end = searches.replace(*end);
  }
  return searches.text();
}

}  // namespace

std::string key_range_text(const Spec& spec, const DeviceNames& names, bool own_heading, bool amd) {
  std::string text =
      own_heading ? comment("mask", spec::with_lets(spec, spec.mask_text)) + "//\n" : "";
  text +=
      "// Rows q_first..q_last have no pair outside [begin, end), and every pair inside\n"
      "// [full_begin, full_end).\n"
      "struct KeyRange {\n"
      "  int begin, end, full_begin, full_end;\n"
      "};\n\n";
  const std::vector<std::string> parameters{"int q_first", "int q_last", kRow, kInputs};
  const attention::KeyRange range = range_of(spec);
  if (!attention::is_masked(spec) || range.always_full) {
    return text + text_of({"KeyRange", "key_range", parameters,
                           "  return {0, row.seq_kv, 0, row.seq_kv};\n"});
  }
  const auto clamped = [](const expr::Expr& value) {
    const expr::Expr seq_kv = expr::variable("seq_kv", expr::Type::Int);
    return expr::make(Op::Max, {expr::make(Op::Min, {value, seq_kv}), expr::integer(0)});
  };
  // A bound that is in range by itself stays as it is.
  const auto printed = [&](const char* member, const expr::Expr& value) {
    const bool safe =
        value.is_number(0) || (value.op() == Op::Variable && value.name() == "seq_kv");
    return assignment(fmt::format("keys.{}", member), safe ? value : clamped(value),
                      names.mask_names());
  };
  std::string body;
  if (reads_keys(range, spec)) body += "  if (row.seq_kv == 0) return {};  // no key to ask\n";
  attention::KeyRange found = range;
  if (!amd) body += searches_text(found, names);
  body += "  KeyRange keys;\n";
  body += printed("begin", found.begin);
  body += printed("end", found.end);
  body += printed("full_begin", found.full_begin);
  body += printed("full_end", found.full_end);
  return text + text_of({"KeyRange", "key_range", parameters, body + "  return keys;\n"});
}

std::string row_keys_text(const Spec& spec, const RowForm& form, const DeviceNames& names) {
  if (!has_searched_limits(spec, form)) return "";
  const attention::KeyRange range = range_of(spec);
  const expr::Expr row = expr::variable("q_idx", expr::Type::Int);
  std::string body = "  int2 keys;\n";
  const auto put = [&](const char* member, const expr::Expr& end, const char* low,
                       const char* high) {
    const expr::Expr value = expr::make(
        Op::Max, {expr::make(Op::Min, {expr::substitute(end, {{"q_first", row}, {"q_last", row}}),
                                       expr::variable(high, expr::Type::Int)}),
                  expr::variable(low, expr::Type::Int)});
    body += assignment(fmt::format("keys.{}", member), value, names.names_within(low, high));
  };
  put("x", range.begin, "tile.begin", "tile.full_begin");
  put("y", range.end, "tile.full_end", "tile.end");
  return "// The keys [x, y) of one row of a tile, within the tile's.\n" +
         text_of({"int2",
                  "row_keys",
                  {kRow, "const KeyRange& tile", kInputs},
                  body + "  return keys;\n"});
}

std::string block_test_text(const Spec& spec, const DeviceNames& names) {
  const auto test = attention::block_test(spec);
  if (!test) return "";
  const std::vector<std::string> parameters{"int q_first", "int q_last", "int kv_first",
                                            "int kv_last", kRow,         kInputs};
  const auto tested = [&](const expr::Expr& condition) {
    return entries_text(condition, test->tables) + returned(condition, names.mask_names());
  };
  return tables_text(spec, *test, names) +
         "// Whether a pair of rows q_first..q_last may exist among keys kv_first..kv_last.\n" +
         text_of({"bool", "block_kept", parameters, tested(test->kept)}) +
         "\n// Whether all of them exist.\n" +
         text_of({"bool", "block_full", parameters, tested(test->full)});
}

}  // namespace attngen::emit
