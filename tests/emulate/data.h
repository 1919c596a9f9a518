// The data of one call: tensors, blocks, offsets, the spec's own inputs.
#pragma once

#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "attention/oracle.h"
#include "attention/pair_input.h"
#include "call.h"
#include "hold/fill.h"
#include "memory.h"
#include "pages.h"
#include "spec/spec.h"
#include "tensor.h"

namespace attngen::emulate {

class Data {
 public:
  // `fills`: how an input is filled (hold/fill.h), by name; one that is not named is drawn so that
  // it shows most: see data.cpp.
  Data(const spec::Spec& spec, Call call, const std::map<std::string, std::string>& fills,
       uint32_t seed);

  const Call& call() const { return call_; }
  const attention::Problem& problem() const { return problem_; }
  Tensor& tensor(char letter);  // q, k, v or o, of a paged cache its pages
  // The numbers that say where pages are: page_size, num_pages, page_table_stride.
  int64_t of_pages(std::string_view name) const;
  float* save(size_t index) { return reinterpret_cast<float*>(saves_[index].data()); }
  // Of an array that the argument names, and of a scalar.
  void* array(const std::string& name) { return arrays_.at(name).data(); }
  double scalar(const std::string& name) const { return problem_.inputs.find(name)->second[0]; }
  bool has(const std::string& name) const { return problem_.inputs.contains(name); }
  // The packed sequence whose results are not looked at, since its keys and values are NaN; or -1.
  int64_t poisoned() const { return poisoned_; }
  bool wrote_outside() const;
  // What can be read behind arrays, though nobody may.
  std::vector<std::pair<const uint8_t*, size_t>> behind() const;

 private:
  hold::Lengths lengths() const;
  void poison(const spec::Input& input, std::vector<double>& values) const;
  int64_t draw_max(const char* name, int64_t longest);
  int64_t block_rows();
  void draw_blocks();
  void draw_lists();
  double scramble(std::vector<double>& list, int64_t width, int64_t places);
  void draw_offsets();
  void draw_pages();
  void put_offsets(const std::string& name, const std::vector<double>& offsets);
  std::vector<double> drawn(const spec::Input& input);
  void draw_ascending(std::vector<double>& values, int64_t keys);
  void draw_stretches(std::vector<double>& values);
  int64_t index_of(int64_t key) const;
  void draw_valid(std::vector<double>& values, const spec::Input& input);
  std::map<std::string_view, int64_t> numbers_of(int64_t query, int64_t key) const;
  void poison_absent(std::vector<double>& values) const;
  bool knows_index(const attention::PairInput& pairs) const;
  void poison_unread(std::vector<double>& values, const attention::PairInput& pairs) const;
  // In memory that may be read for `behind` bytes more.
  void put(const std::string& name, const std::vector<std::byte>& bytes, size_t behind = 0);
  void put(const spec::Input& input, std::vector<double> values);

  const spec::Spec& spec_;
  Call call_;
  std::mt19937 random_;
  Tensor q_, k_, v_, o_;
  std::vector<Guarded> saves_;
  std::map<std::string, BeforeFault> arrays_;
  attention::Problem problem_;
  int64_t poisoned_ = -1;
  std::optional<Pages> pages_;
  std::optional<Tensor> paged_k_, paged_v_;
};

}  // namespace attngen::emulate
