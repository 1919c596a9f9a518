// The data of the inputs that a spec declares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "spec/spec.h"

namespace attngen::hold {

// The lengths that an input's shape may name.
struct Lengths {
  int64_t batch = 1, seq_q = 1, seq_kv = 1;
  int64_t total_q = 0, total_kv = 0;  // of packed sequences
  int64_t of(const spec::Spec& spec, const spec::Input::Dim& dim) const;
  int64_t count(const spec::Spec& spec, const spec::Input& input) const;  // of its elements
};

// How an input is filled: normal; holes (normal, -inf here and there and in whole rows); key_holes
// (0, -inf for a third of the keys); slopes; log_decay; log_gates (running sums); broken_gates
// (among them infinities and NaNs); documents (ascending ids); documents_anyhow (ids in no order);
// stretches (of zeros and ones); lengths (0 to seq_kv); bits; patches (of bits:
// none, all or some); or a number. The values are rounded
// as the input's type stores them.
std::vector<double> fill(const spec::Spec& spec, const spec::Input& input, const Lengths& lengths,
                         const std::string& how, uint64_t seed);

// By input: of texts `input=how`. Throws std::invalid_argument if the spec has no such input.
std::map<std::string, std::string> fills_of(const spec::Spec& spec,
                                            const std::vector<std::string>& texts);

// `values` rounded as the input's type stores them, and their bytes as a kernel reads them. A
// scalar of 16 bits is an fp32 argument.
std::vector<std::byte> store(const spec::Input& input, std::vector<double>& values);

}  // namespace attngen::hold
