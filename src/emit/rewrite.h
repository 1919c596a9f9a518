// Rewrites the tokens of C text: values for ATTN_ names, the kernel's name for `attention`.
#pragma once

#include <string>
#include <string_view>

#include "emit/condition.h"

namespace attngen::emit {

// Line by line, since a block comment may span lines.
class Rewriter {
 public:
  Rewriter(const Values& values, std::string_view name);

  // Values are replaced in code alone; names in comments and strings too. `attention_` and
  // `ATTENTION_` are prefixes: my_attention_x stays.
  std::string line(std::string_view text);
  // The line's code: without comments. Does not move the state.
  std::string code(std::string_view text) const;

  bool in_comment() const { return in_comment_; }
  // The first ATTN_ name without a value in the last line, or "".
  const std::string& unknown() const { return unknown_; }

 private:
  std::string word(std::string_view token, bool is_code);

  const Values& values_;
  std::string prefix_, upper_prefix_;  // "llama_", "LLAMA_"
  bool in_comment_ = false;
  std::string unknown_;
};

}  // namespace attngen::emit
