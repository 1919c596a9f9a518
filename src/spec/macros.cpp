#include "spec/macros.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/characters.h"

namespace attngen::spec {

using text::is_capital;
using text::is_letter;

namespace {

// Those that no rule covers. One with parameters is none for a name without parentheses behind it.
constexpr std::string_view kMacros =
    " I L_ctermid L_cuserid L_tmpnam P_tmpdir complex d_fileno errno h_addr h_errno i386 linux"
    " math_errhandling noreturn s6_addr sa_handler sa_sigaction sched_priority"
    " sigev_notify_attributes sigev_notify_function st_atime st_ctime st_mtime stderr stdin stdout"
    " unix ";

// What begins macros that are not in capitals alone (M_PIf, PRId64, SYS_read, cudaStreamDefault),
// and whose they are.
struct Family {
  std::string_view prefix;
  bool before_capital;  // only if a capital is next
  const char* owner;
};
constexpr Family kFamilies[] = {
    {"M_", false, "<math.h>"},      {"PRI", false, "<inttypes.h>"}, {"SCN", false, "<inttypes.h>"},
    {"SYS_", false, "<syscall.h>"}, {"si_", false, "<signal.h>"},   {"NV_", false, "CUDA"},
    {"cu", true, "CUDA"},           {"cuda", true, "CUDA"},         {"hip", true, "HIP"},
};

bool belongs_to(std::string_view name, const Family& family) {
  const std::string_view prefix = family.prefix;
  return name.starts_with(prefix) && name.size() > prefix.size() &&
         (!family.before_capital || is_capital(name[prefix.size()]));
}

// "M_PI", "EDOM", "MASK1"; "W" and "K2" are an engineer's matrices.
bool is_in_capitals(std::string_view name) {
  return std::ranges::count_if(name, is_capital) > 1 &&
         std::ranges::count_if(name, is_letter) == std::ranges::count_if(name, is_capital);
}

}  // namespace

std::optional<std::string> why_macro(std::string_view name) {
  if (kMacros.find(fmt::format(" {} ", name)) != std::string_view::npos) {
    return "a macro of C's headers or of a compiler has that name already";
  }
  for (const Family& family : kFamilies) {
    if (belongs_to(name, family)) return fmt::format("macros of {} have such names", family.owner);
  }
  if (is_in_capitals(name)) {
    return "names in capitals are left to macros, such as those of C's headers";
  }
  return std::nullopt;
}

}  // namespace attngen::spec
