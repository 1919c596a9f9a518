// The pieces of which functions of a general row form are put together: how a pair's values are
// spelled, and the loop over the pairs of a block.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention/pair_form.h"
#include "attention/row_form.h"
#include "emit/device_names.h"
#include "emit/fragment.h"
#include "spec/spec.h"

namespace attngen::emit {

// The pair's element of the input that comes by tiles: "float bias" or "int byte", and "bias, ".
std::string bias_declaration(const attention::PairForm& pairs);
std::string bias_argument(const attention::PairForm& pairs);
// A row's biases of the block at hand, in a function of the row alone.
std::string biases_line();

// What the functions of a pair take, and how they are called: (product or score, bias, row, lines,
// column, kv_idx, in), as far as the form has them.
std::vector<std::string> pair_parameters(const attention::PairForm& pairs);
std::string pair_arguments(const attention::PairForm& pairs, std::string_view first);

// What else must hold for a pair to count: of all pairs, and of those that the mask is asked for.
struct Conditions {
  std::string of_all = {}, of_tested = {};
};

// What a family of functions has of a spec; each of them derives from it.
class PairText {
 public:
  PairText(const spec::Spec& spec, const attention::RowForm& form, const attention::PairForm& pairs,
           const DeviceNames& names, const Fragment& fragment);

 protected:
  // Rows that weights read in the loop.
  bool has_rows() const { return !loop_rows_.empty(); }
  const attention::PairElement& element_of(const attention::Reduction& reduction) const;
  static std::string element_name(const attention::Reduction& reduction) {
    return reduction.name + "_of";
  }
  // In the last pass, the sum of the weights themselves: these have a function already.
  bool sums_weights(const attention::Reduction& reduction) const;
  // What needs no function of its own: the score or the product itself, a number.
  std::optional<std::string> inline_value(const expr::Expr& e) const;
  std::string pair_value(const std::string& function, const expr::Expr& e) const;
  std::string element_value(const attention::Reduction& reduction) const;

  // What weights and elements are functions of.
  bool reads_product() const { return !pairs_.score; }
  std::vector<std::string> parameters() const;
  std::string arguments() const;

  // The loop over the block's pairs.
  std::string loop(const Conditions& further, const std::string& body) const;
  std::string exists_line(const Conditions& further = {}) const;
  // The interval of a row's keys, if `body` asks for one.
  std::string keys_lines(std::string_view body) const;
  // `ahead` comes before the elements of one j, `behind` follows them.
  std::string wrapped_loop(const std::string& body, std::string_view behind = "",
                           std::string_view ahead = "") const;
  // The first pass makes scores of products; later ones read them.
  std::string score_line(bool first, bool kept) const;

  const spec::Spec& spec_;
  const attention::RowForm& form_;
  const attention::PairForm& pairs_;
  const DeviceNames& names_;
  const Fragment& fragment_;
  std::vector<const attention::RowValue*> loop_rows_;  // in the order of the spec

 private:
  void find_loop_rows();
};

}  // namespace attngen::emit
