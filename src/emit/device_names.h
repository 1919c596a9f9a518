// How generated device code names what a spec's expressions read.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention/pair_form.h"
#include "attention/row_form.h"
#include "expr/bound.h"
#include "expr/print.h"
#include "spec/spec.h"

namespace attngen::emit {

// Parameters of device functions.
inline constexpr const char* kRow = "const Row& row";
inline constexpr const char* kInputs = "const Inputs& in";

// For what a mask computes of a pair, a key or a row: parts of it are computed apart, and decide as
// the whole of it does.
expr::Names exact(expr::Names names);

class DeviceNames {
 public:
  DeviceNames(const spec::Spec& spec, const attention::RowForm& rows,
              expr::Vendor vendor = expr::Vendor::Nvidia)
      : spec_(spec), rows_(rows), vendor_(vendor) {}

  // Row values are members of `rows`; those before the block (old_m) are members of `old`.
  expr::Names names(std::string rows = "rows") const;

  // For what comes of the mask alone, which reads no row: a row called q_last leaves that name to
  // the parameter.
  expr::Names mask_names() const;

  // For what ends a row, where its sequence may have no key: an element along the keys is then 0.
  expr::Names names_at_end(std::string rows = "rows") const;

  // For what every pair computes: nvcc makes a branch of each && and ||.
  expr::Names pair_names() const;
  // And for its score and weight: `column` is the key's place from the thread's first of a block.
  expr::Names score_names(const attention::PairForm& pairs) const;

  // For an end of one row's keys: a search stays within `low` and `high`, C expressions.
  expr::Names names_within(const std::string& low, const std::string& high) const;

  // Of a search: the row of the input that is searched, and how many elements it has.
  struct SearchedRow {
    std::string values, length;
    bool or_equal = false;
  };
  std::optional<SearchedRow> searched_row(const expr::Expr& load) const;

  // The member of Reductions: exponential forms call theirs max_score and sum_exp, which the
  // templates know.
  std::string reduction(const attention::Reduction& reduction) const;
  // The member of RowValues or LoopRows: the row's name, "_" added to a word that is taken, and to
  // the word with "_" behind it, so that no two rows are one member.
  static std::string member(std::string_view row);

  // An element of an input, by its address in the contiguous row-major tensor. An index that is not
  // the plain variable of its dimension is clamped to the dimension, but for the ends of it that
  // the index passes in no call. An end of a key range may search an input instead
  // (attention::kBelow).
  std::string load(const expr::Expr& load, std::span<const std::string> indices) const;

  // "in.key[row.b * row.seq_kv + kv_idx]", and the type of a pointer to it.
  std::string element(const expr::Expr& load) const;
  std::string pointer_type(const expr::Expr& load) const;

  // Its indices as C, and an element of an input, as memory has it, as an f32.
  std::vector<std::string> indices_of(const expr::Expr& load) const;
  static std::string as_number(const spec::Input& input, const std::string& element);

  // Where the row of the input begins of which a load has one element: "in.gate + ...".
  std::string begin_of_row(const expr::Expr& load) const;

  // Where the input ends: "in.gate + ...".
  std::string end_of(const spec::Input& input) const;

  // Which of its matrices, the last two dimensions, a load of an element for each pair has for a
  // row.
  std::string matrix(const expr::Expr& load) const;
  static std::string matrices(const spec::Input& input);  // how many there are
  std::string columns(const spec::Input& input) const;    // and how many columns they have

  // "in.batch": a length of the call, "batch", "total_q" or "total_kv", that `Row` does not hold.
  std::string of_call(std::string length) const;
  // Those of the call that were needed so far and `Row` does not hold, so that `Inputs` does.
  const std::set<std::string>& lengths() const { return lengths_; }

 private:
  // `rows`: "" where no row is in reach.
  std::string variable(std::string_view name, const std::string& rows) const;
  bool is_packed(const spec::Input::Dim& dim) const {
    return spec_.varlen && spec::is_length(dim.kind);
  }
  std::string length(const spec::Input::Dim& dim) const;
  std::string length_in_memory(const spec::Input::Dim& dim) const;
  std::string place_in_memory(const std::string& index, const spec::Input::Dim& dim,
                              const expr::Interval& values) const;
  std::string plain_index(const spec::Input::Dim& dim) const;
  // `values`: of each index, or none where nothing is known of them.
  std::string address(const spec::Input& input, std::span<const std::string> indices,
                      std::span<const expr::Interval> values) const;
  std::vector<expr::Interval> values_of(const expr::Expr& load) const;
  // `bounds`: "" for the whole row of the input, or "low, high".
  std::string count(std::string_view search, std::span<const std::string> indices, bool or_equal,
                    const std::string& bounds) const;
  std::string searched_values(const spec::Input& input, std::span<const std::string> indices) const;
  std::optional<int> known_length(const spec::Input::Dim& dim) const;
  std::string clamped(const std::string& index, const spec::Input::Dim& dim,
                      const expr::Interval& values) const;

  const spec::Spec& spec_;
  const attention::RowForm& rows_;
  expr::Vendor vendor_;
  mutable std::set<std::string> lengths_;
};

}  // namespace attngen::emit
