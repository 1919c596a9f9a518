#include "spec/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "spec/values.h"

namespace attngen::spec {
namespace {

// Of the numbers of a shape. The place of an element is an int64, lengths of the call included.
constexpr double kMostElements = 0x1p40;

class InputReader {
 public:
  InputReader(const Node& root, Spec& spec, UserNames& names, Report& report)
      : root_(root), spec_(spec), names_(names), report_(report) {}

  void read() {
    const Node* inputs = root_.find("inputs");
    if (inputs == nullptr) return;
    for (const Node& entry : inputs->children) {
      if (!entry.valid || !names_.add_symbol(entry, "/inputs", "an input")) continue;
      const std::string pointer = child("/inputs", entry.key);
      Input input;
      input.name = entry.key;
      using Element = Input::Element;
      read_word(entry.find("dtype"),
                {Element::F32, Element::I32, Element::Bf16, Element::Fp16, Element::U8},
                input.element);
      const Node* shape = entry.find("shape");
      if (entry.find("dtype") == nullptr || shape == nullptr) continue;
      if (!read_shape(*shape, pointer + "/shape", input)) continue;
      if (spec_.varlen && !check_packed(*shape, pointer + "/shape", input)) continue;
      if (const Node* sorted = entry.find("sorted")) check_sorted(*sorted, pointer, input);
      spec_.inputs.push_back(std::move(input));
    }
  }

 private:
  bool is_recurrent() const { return spec_.pattern == Pattern::Recurrent; }

  // Packed sequences lie one behind the other, in inputs as in q, k and v.
  bool check_packed(const Node& shape, const std::string& pointer, const Input& input) {
    bool along = false;
    for (size_t i = 0; i < input.shape.size(); ++i) {
      if (!is_length(input.shape[i].kind)) continue;
      const bool second = std::exchange(along, true);
      if (second) {
        report_.at_value(shape.children[i], child(pointer, std::to_string(i)),
                         "an input of packed sequences lies along seq_q or seq_kv, not both",
                         "what a pair shares may be computed, or read of a table by the distance");
        return false;
      }
    }
    const auto batch = std::ranges::find(input.shape, Input::Dim::Kind::Batch, &Input::Dim::kind);
    if (!along || batch == input.shape.end()) return true;
    const auto at = static_cast<size_t>(batch - input.shape.begin());
    report_.at_value(shape.children[at], child(pointer, std::to_string(at)),
                     "an input along packed sequences has no dimension batch",
                     "leave batch out: the sequences' elements lie one behind the other");
    return false;
  }

  // An input without a shape is none: its uses have no errors of their own.
  bool read_shape(const Node& shape, const std::string& pointer, Input& input) {
    double elements = 1;  // where all else is 1
    for (size_t i = 0; i < shape.children.size(); ++i) {
      const auto dim = read_dim(shape.children[i], child(pointer, std::to_string(i)));
      if (!dim) return false;
      if (dim->kind == Input::Dim::Kind::Number) elements *= dim->number;
      input.shape.push_back(*dim);
    }
    if (elements <= kMostElements) return true;
    report_.at_value(
        shape, pointer,
        fmt::format("{} has more than {:.0f} elements", dotted(pointer), kMostElements),
        "no GPU has memory for so many");
    return false;
  }

  std::optional<Input::Dim> read_dim(const Node& node, const std::string& pointer) {
    using DimKind = Input::Dim::Kind;
    if (number_of(node)) return Input::Dim{DimKind::Number, static_cast<int>(whole_of(node))};
    for (DimKind kind : {DimKind::Batch, DimKind::Heads, DimKind::HeadsKv, DimKind::SeqQ,
                         DimKind::SeqKv, DimKind::Seq, DimKind::HeadDim}) {
      const Input::Dim dim{kind, 0};
      if (name_of(dim) != node.text) continue;
      const bool recurrent_only = kind == DimKind::Seq;
      const bool parallel_only =
          kind == DimKind::SeqQ || kind == DimKind::SeqKv || kind == DimKind::HeadsKv;
      if (is_recurrent() ? parallel_only : recurrent_only) {
        report_.at_value(node, pointer,
                         fmt::format("dimension '{}' belongs to pattern {}", node.text,
                                     is_recurrent() ? "parallel" : "recurrent"),
                         recurrent_only ? "write seq_q or seq_kv" : "");
        return std::nullopt;
      }
      return dim;
    }
    return std::nullopt;
  }

  // A number may count blocks: first_of_block[kv_idx // 64].
  static bool may_be_searched(Input::Dim::Kind last) {
    return is_length(last) || last == Input::Dim::Kind::Seq || last == Input::Dim::Kind::Number;
  }

  void check_sorted(const Node& sorted, const std::string& pointer, Input& input) {
    read_bool(&sorted, input.sorted);
    if (!input.sorted) return;
    if (input.element != Input::Element::I32) {
      report_.at_value(sorted, pointer + "/sorted",
                       fmt::format("only an i32 input can be sorted; '{}' is {}", input.name,
                                   name_of(input.element)));
    } else if (input.shape.empty()) {
      report_.at_value(sorted, pointer + "/sorted", "a scalar input cannot be sorted");
    } else if (!may_be_searched(input.shape.back().kind)) {
      report_.warn(
          sorted, pointer + "/sorted",
          fmt::format("sorted does nothing: the last dimension of '{}' is {}, which counts "
                      "neither queries nor keys",
                      input.name, name_of(input.shape.back())));
    }
  }

  const Node& root_;
  Spec& spec_;
  UserNames& names_;
  Report& report_;
};

}  // namespace

void read_inputs(const Node& root, Spec& spec, UserNames& names, Report& report) {
  InputReader(root, spec, names, report).read();
}

}  // namespace attngen::spec
