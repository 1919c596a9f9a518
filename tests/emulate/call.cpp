#include "call.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace attngen::emulate {
namespace {

constexpr int kBadLength = 4;  // docs/spec.md, section 6

void take_word(Call& call, const std::string& word) {
  if (word == "opposed") {
    call.opposed = true;
  } else if (word == "large") {
    call.large = true;
  } else if (word == "wild") {
    call.wild = true;
  } else if (word == "exceeding") {
    call.exceeding = true;
  } else if (word == "roomy") {
    call.roomy = true;
  } else if (word == "bad_length") {
    call.status = kBadLength;
  } else if (word == "padded") {
    call.strides = hold::StrideKind::Padded;
  } else if (word == "swapped") {
    call.strides = hold::StrideKind::Swapped;
  } else if (word == "shared") {
    call.strides = hold::StrideKind::Shared;
  } else {
    throw std::runtime_error("a call has no " + word);
  }
}

std::vector<Sequence> read_packed(std::stringstream& lengths) {
  std::vector<Sequence> sequences;
  char separator = 0;
  do {
    Sequence s;
    lengths >> s.seq_q >> separator >> s.seq_kv;
    sequences.push_back(s);
  } while (lengths >> separator);
  return sequences;
}

std::vector<Sequence> read_batch(std::stringstream& lengths) {
  Sequence s;
  size_t batch = 0;
  char separator = 0;
  lengths >> batch >> separator >> s.seq_q >> separator >> s.seq_kv;
  return std::vector<Sequence>(batch, s);
}

}  // namespace

Call read_call(const std::string& text, bool varlen) {
  Call call{text, {}};
  std::stringstream words(text);
  std::string word;
  while (std::getline(words, word, ':') && !words.eof()) take_word(call, word);
  std::stringstream lengths(word);
  call.sequences = varlen ? read_packed(lengths) : read_batch(lengths);
  for (Sequence& s : call.sequences) {
    s.q_begin = call.total_q;
    s.kv_begin = call.total_kv;
    call.total_q += s.seq_q;
    call.total_kv += s.seq_kv;
    call.max_q = std::max(call.max_q, s.seq_q);
    call.max_kv = std::max(call.max_kv, s.seq_kv);
  }
  return call;
}

}  // namespace attngen::emulate
