#include "emit/computed.h"

#include <fmt/format.h>

#include "spec/lets.h"
#include "text/diagnostics.h"

namespace attngen::emit {
namespace {

// "{size: 64, queries: 1, from: indices, most: 16, per: heads_kv}"
std::string blocks_of(const spec::Spec& spec) {
  const bool bitmap = spec.sparsity == spec::Spec::Sparsity::BlockBitmap;
  std::string text = fmt::format("{{size: {}", spec.block_size);
  if (spec.block_queries != spec.block_size)
    text += fmt::format(", queries: {}", spec.block_queries);
  text += fmt::format(", from: {}", bitmap ? "bitmap" : "indices");
  if (spec.most_blocks) text += fmt::format(", most: {}", *spec.most_blocks);
  if (spec.block_heads != spec.heads.q) text += ", per: heads_kv";
  return text + "}";
}

}  // namespace

std::vector<std::pair<std::string, std::string>> computed(const spec::Spec& spec) {
  std::vector<std::pair<std::string, std::string>> lines;
  if (spec.maps > 1) lines.emplace_back("maps", std::to_string(spec.maps));
  if (spec.v_prefix)
    lines.emplace_back("share_kv", fmt::format("{{v_prefix: {}}}", *spec.v_prefix));
  lines.emplace_back("scale", fmt::format("{}", static_cast<float>(spec.scale)));
  if (!spec.constants.empty()) lines.emplace_back("constants", spec.constants_text);
  if (!spec.lets.empty()) lines.emplace_back("let", spec::lets_of(spec));
  lines.emplace_back("score", spec.score_text);
  lines.emplace_back("mask", spec.mask_text);
  lines.emplace_back("normalize", spec.normalize_text);
  if (spec.block_size > 0) lines.emplace_back("blocks", blocks_of(spec));
  if (spec.token_count > 0) {
    lines.emplace_back("tokens", fmt::format("{{indices: {}{}}}", spec.token_count,
                                             spec.distinct_tokens ? ", distinct: true" : ""));
  }
  return lines;
}

std::string definition_of_save(const spec::Spec& spec, std::string_view name) {
  if (spec.normalize_text == "softmax") return "log(rowsum(exp(score)))";
  const std::string lead = fmt::format("\nsave {} = ", name);
  const size_t at = spec.normalize_text.find(lead);
  if (at == std::string::npos) return "";
  const size_t begin = at + lead.size();
  return spec.normalize_text.substr(begin, spec.normalize_text.find('\n', begin) - begin);
}

std::string cut_at_space(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  const size_t space = text.find_last_of(" \n", most);
  if (space == std::string_view::npos) return text::shortened(text, most);
  return std::string(text.substr(0, space)) + " ...";
}

}  // namespace attngen::emit
