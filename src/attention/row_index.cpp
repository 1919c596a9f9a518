#include "attention/row_index.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace attngen::attention {

bool is_of_row(const spec::Spec& spec, const expr::Expr& index) {
  constexpr std::array<std::string_view, 8> kOfRow{"b",     "h",     "h_kv",   "q_idx",
                                                   "q_pos", "seq_q", "seq_kv", "map"};
  return std::ranges::all_of(
             expr::variables_of(index),
             [&](const std::string& name) { return std::ranges::count(kOfRow, name) > 0; }) &&
         std::ranges::none_of(expr::inputs_of(index), [&](const std::string& name) {
           return spec::has_dim(*spec.find_input(name), spec::Input::Dim::Kind::SeqKv);
         });
}

}  // namespace attngen::attention
