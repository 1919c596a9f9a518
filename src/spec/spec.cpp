#include "spec/spec.h"

#include <fmt/format.h>

#include <algorithm>

namespace attngen::spec {

const char* name_of(Pattern pattern) {
  return pattern == Pattern::Parallel ? "parallel" : "recurrent";
}

const char* name_of(DType dtype) { return dtype == DType::Bf16 ? "bf16" : "fp16"; }

const char* name_of(Layout layout) { return layout == Layout::Bshd ? "bshd" : "bhsd"; }

const char* name_of(Pass pass) {
  switch (pass) {
    case Pass::Forward:
      return "forward";
    case Pass::Backward:
      return "backward";
    case Pass::Decode:
      return "decode";
    case Pass::Step:
      return "step";
  }
  return "";
}

const char* name_of(Input::Element element) {
  switch (element) {
    case Input::Element::F32:
      return "f32";
    case Input::Element::I32:
      return "i32";
    case Input::Element::Bf16:
      return "bf16";
    case Input::Element::Fp16:
      return "fp16";
    case Input::Element::U8:
      return "u8";
  }
  return "";
}

bool is_length(Input::Dim::Kind kind) {
  return kind == Input::Dim::Kind::SeqQ || kind == Input::Dim::Kind::SeqKv;
}

bool has_dim(const Input& input, Input::Dim::Kind kind) {
  return std::ranges::any_of(input.shape,
                             [kind](const Input::Dim& dim) { return dim.kind == kind; });
}

int bytes_of(Input::Element element) {
  switch (element) {
    case Input::Element::U8:
      return 1;
    case Input::Element::Bf16:
    case Input::Element::Fp16:
      return 2;
    case Input::Element::F32:
    case Input::Element::I32:
      break;
  }
  return 4;
}

const char* index_of(Input::Dim::Kind kind) {
  switch (kind) {
    case Input::Dim::Kind::Batch:
      return "b";
    case Input::Dim::Kind::Heads:
      return "h";
    case Input::Dim::Kind::HeadsKv:
      return "h_kv";
    case Input::Dim::Kind::SeqQ:
      return "q_idx";
    case Input::Dim::Kind::SeqKv:
      return "kv_idx";
    case Input::Dim::Kind::HeadDim:
      return "d";
    case Input::Dim::Kind::Seq:
    case Input::Dim::Kind::Number:
      break;
  }
  return "";
}

std::string name_of(const Input::Dim& dim) {
  using DimKind = Input::Dim::Kind;
  switch (dim.kind) {
    case DimKind::Batch:
      return "batch";
    case DimKind::Heads:
      return "heads";
    case DimKind::HeadsKv:
      return "heads_kv";
    case DimKind::SeqQ:
      return "seq_q";
    case DimKind::SeqKv:
      return "seq_kv";
    case DimKind::Seq:
      return "seq";
    case DimKind::HeadDim:
      return "dim";
    case DimKind::Number:
      return std::to_string(dim.number);
  }
  return "";
}

std::string text_of(const Workload& w) {
  std::string text = fmt::format("batch {}, seq_q {}, seq_kv {}", w.batch, w.seq_q, w.seq_kv);
  for (const auto& [input, value] : w.values) text += fmt::format(", {} {}", input, value.number);
  return text;
}

void Locations::put(std::string pointer, size_t begin, size_t end) {
  ranges_[std::move(pointer)] = {begin, end};
}

void Locations::put_text(std::string pointer, std::vector<uint32_t> source_bytes) {
  texts_[std::move(pointer)] = std::move(source_bytes);
}

text::Diagnostic Locations::at(const text::Source& source, std::string_view pointer,
                               std::string message, std::string help) const {
  Range range;
  for (std::string_view place = pointer;; place = place.substr(0, place.rfind('/'))) {
    if (const auto found = ranges_.find(place); found != ranges_.end()) {
      range = found->second;
      break;
    }
    if (place.empty()) break;
  }
  text::Diagnostic diagnostic =
      diagnostic_at(source, range.begin, range.end, std::move(message), std::move(help));
  diagnostic.pointer = pointer;
  return diagnostic;
}

text::Diagnostic Locations::inside(const text::Source& source, std::string_view pointer,
                                   expr::Span span, std::string message, std::string help) const {
  const auto found = texts_.find(pointer);
  if (found == texts_.end() || span.begin >= found->second.size()) {
    return at(source, pointer, std::move(message), std::move(help));
  }
  const std::vector<uint32_t>& bytes = found->second;
  const size_t last = std::min<size_t>(span.end, bytes.size() - 1);
  const size_t begin = bytes[span.begin];
  const size_t end = std::max<size_t>(bytes[last], begin + 1);
  text::Diagnostic diagnostic =
      diagnostic_at(source, begin, end, std::move(message), std::move(help));
  diagnostic.pointer = pointer;
  return diagnostic;
}

const Input* Spec::find_input(std::string_view wanted) const {
  for (const Input& input : inputs) {
    if (input.name == wanted) return &input;
  }
  return nullptr;
}

}  // namespace attngen::spec
