#include "spec/spec_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "spec/names.h"
#include "text/characters.h"

namespace attngen::spec {
namespace {

// Headers that #include <...> would find beside the emitted ones in their place.
constexpr std::string_view kHeaders =
    // C's
    " assert complex ctype errno fenv inttypes iso646 limits locale math setjmp signal stdalign"
    " stdarg stdatomic stdbit stdbool stdckdint stddef stdint stdio stdlib stdnoreturn string"
    " tgmath threads time uchar wchar wctype"
    // POSIX's
    " aio cpio dirent dlfcn endian fcntl fmtmsg fnmatch ftw glob grp iconv langinfo libgen libintl"
    " monetary mqueue ndbm netdb nl_types poll pthread pwd regex sched search semaphore spawn"
    " strings stropts syslog tar termios trace ulimit unistd utime utmpx wordexp"
    // what those include
    " alloca byteswap features malloc memory syscall syslimits"
    // CUDA's
    " builtin_types channel_descriptor common_functions cooperative_groups cucomplex cuda"
    " cuda_awbarrier cuda_awbarrier_helpers cuda_awbarrier_primitives cuda_bf16"
    " cuda_device_runtime_api cuda_egl_interop cuda_fp16 cuda_fp4 cuda_fp6 cuda_fp8"
    " cuda_gl_interop cuda_occupancy cuda_pipeline cuda_pipeline_helpers cuda_pipeline_primitives"
    " cuda_profiler_api cuda_runtime cuda_runtime_api cuda_stdint cuda_surface_types"
    " cuda_texture_types cuda_vdpau_interop cudaegl cudaegltypedefs cudagl cudagltypedefs"
    " cudaprofiler cudaprofilertypedefs cudart_platform cudatypedefs cudavdpau cudavdpautypedefs"
    " cufile device_atomic_functions device_double_functions device_functions"
    " device_launch_parameters device_types driver_functions driver_types fatbinary_section"
    " host_config host_defines library_types math_constants math_functions mma nccl nccl_device"
    " nv_decode surface_functions surface_indirect_functions surface_types texture_fetch_functions"
    " texture_indirect_functions texture_types vector_functions vector_types ";

// Of CUDA's libraries, whose headers have a name before all of theirs: cublas_v2.
constexpr std::string_view kLibraries[] = {
    "cublas", "cudnn",    "cufft",     "cupti", "curand", "cusolver", "cusparse",   "nvblas",
    "nvjpeg", "nvfatbin", "nvjitlink", "nvml",  "nvperf", "nvrtc",    "nvtoolsext", "nvvm",
};

bool names_library(std::string_view name) {
  return std::ranges::any_of(kLibraries,
                             [&](std::string_view library) { return name.starts_with(library); });
}

// CUDA's for each architecture: sm_60_atomic_functions.
bool names_architecture(std::string_view name) {
  return name.starts_with("sm_") && name.size() > 3 && text::is_digit(name[3]);
}

bool names_header(const std::string& name) {
  return kHeaders.find(" " + name + " ") != std::string_view::npos || names_architecture(name);
}

// Statuses that macros of POSIX have as their names.
struct Status {
  std::string_view spec;
  const char* macro;
};
constexpr Status kStatuses[] = {
    {"f", "F_OK is a macro of <unistd.h>"}, {"mm", "MM_OK is a macro of <fmtmsg.h>"},
    {"r", "R_OK is a macro of <unistd.h>"}, {"w", "W_OK is a macro of <unistd.h>"},
    {"x", "X_OK is a macro of <unistd.h>"},
};

}  // namespace

std::optional<std::string> why_no_spec_name(std::string_view name) {
  if (auto reason = why_keyword(name)) return reason;
  // Some file systems do not tell Math.h from math.h, and the statuses are in capitals.
  const std::string lower = text::lower(name);
  if (names_header(lower)) {
    return fmt::format("{}.h is a header of C, POSIX or CUDA already", lower);
  }
  if (names_library(lower)) return "headers of CUDA's libraries have such names";
  for (const Status& status : kStatuses) {
    if (lower == status.spec) return status.macro;
  }
  return std::nullopt;
}

}  // namespace attngen::spec
