#include "runtime.h"

#include <cstdio>
#include <cstdlib>
#include <set>
#include <utility>
#include <vector>

#include "core.h"

namespace {

// Whether the thread has a context, which the driver asks for and the runtime makes when needed.
thread_local bool has_context = false;

// How a kernel follows the one before it: each of its threads waits for that one's end. But if that
// one had waited itself before it called this one, only threads need to that read what it left, and
// one of each block, so that it does not end before that one.
struct Following {
  int64_t waited = 0;                         // threads
  std::set<unsigned> waited_blocks;           // any of whose threads did
  bool called = false, called_early = false;  // the next kernel, by a thread that had not waited
};
Following following;

std::vector<std::pair<const uint8_t*, size_t>> forbidden;  // memory that a copy may not read
std::vector<std::function<void()>> launched;               // of the last call

}  // namespace

namespace emulator {

void require_waited() {
  if (core->current->waited) return;
  std::fprintf(stderr, "a thread reads what the kernel before may still write\n");
  std::exit(8);
}

void require_of_tensor(const void* from, size_t bytes) {
  const auto* const first = static_cast<const uint8_t*>(from);
  for (const auto& [begin, size] : forbidden) {
    if (first >= begin + size || first + bytes <= begin) continue;
    std::fprintf(stderr, "a copy reads behind a tensor\n");
    std::exit(8);
  }
}
}  // namespace emulator

// For the program that loads a kernel's library.
extern "C" {
bool emulator_has_driver = true;
int emulator_capability = 9;
// Of a null pointer nothing is forbidden any more.
void emulator_forbid(const void* begin, size_t bytes) {
  if (begin == nullptr) forbidden.clear();
  if (bytes > 0) forbidden.emplace_back(static_cast<const uint8_t*>(begin), bytes);
}
// The kernels of the last call once more, with the same arguments: a captured graph's.
void emulator_replay() {
  for (const auto& kernel : std::exchange(launched, {})) kernel();
}
}

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType, uint32_t rank, void* data,
                                const cuuint64_t* dims, const cuuint64_t* strides,
                                const cuuint32_t* box, const cuuint32_t* steps, int,
                                CUtensorMapSwizzle swizzle, int, int) {
  if (rank != 4) std::abort();
  if (!has_context) return CUDA_ERROR_INVALID_CONTEXT;
  const int span = swizzle == CU_TENSOR_MAP_SWIZZLE_128B ? 128 : 64;
  bool valid = data != nullptr && reinterpret_cast<uintptr_t>(data) % 16 == 0;
  for (int i = 0; i < 4; ++i) {
    valid = valid && dims[i] >= 1 && dims[i] <= uint64_t{1} << 32 && box[i] >= 1 && box[i] <= 256;
    valid = valid && steps[i] >= 1 && steps[i] <= 8;
  }
  for (int i = 0; i < 3; ++i) {
    valid = valid && strides[i] % 16 == 0 && strides[i] < uint64_t{1} << 40;
  }
  if (!valid || 2 * box[0] != static_cast<uint32_t>(span)) {
    std::fprintf(stderr, "TMA takes no such tensor map\n");
    return CUDA_ERROR_INVALID_VALUE;
  }
  map->data = static_cast<uint8_t*>(data);
  map->strides[0] = 2;
  for (int i = 0; i < 4; ++i) map->dims[i] = static_cast<int64_t>(dims[i]);
  for (int i = 0; i < 3; ++i) map->strides[i + 1] = static_cast<int64_t>(strides[i]);
  for (int i = 0; i < 4; ++i) {
    map->steps[i] = static_cast<int>(steps[i]);
    map->box[i] = static_cast<int>((box[i] + steps[i] - 1) / steps[i]);
  }
  map->span = span;
  return CUDA_SUCCESS;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char*, void** function, int, int,
                                             cudaDriverEntryPointQueryResult* found) {
  if (!emulator_has_driver) return cudaErrorInvalidValue;
  *function = reinterpret_cast<void*>(&cuTensorMapEncodeTiled);
  *found = cudaDriverEntryPointSuccess;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, int attribute, int) {
  constexpr int kCores = 3;
  *value = attribute == cudaDevAttrComputeCapabilityMajor ? emulator_capability : kCores;
  return cudaSuccess;
}

cudaError_t set_attribute() {
  has_context = true;
  return cudaSuccess;
}

void wait_for_stream() {
  bool& waited = emulator::core->current->waited;
  if (!waited) ++following.waited;
  waited = true;
  following.waited_blocks.insert(emulator::core->block);
}

void call_next_kernel() {
  following.called = true;
  if (!emulator::core->current->waited) following.called_early = true;
}

cudaError_t launch_kernel(const cudaLaunchConfig_t& config, const std::function<void()>& kernel) {
  const auto launch = [blocks = config.blocks.x, threads = config.threads.x,
                       bytes = config.shared_bytes,
                       kernel] { emulator::launch(blocks, threads, bytes, kernel); };
  launched.push_back(launch);
  const Following before = std::exchange(following, {});
  launch();
  const bool beside = before.called && !before.called_early;
  const size_t blocks = config.blocks.x;
  const auto threads = static_cast<int64_t>(blocks * config.threads.x);
  if (beside ? following.waited_blocks.size() == blocks : following.waited == threads)
    return cudaSuccess;
  std::fprintf(stderr, "a thread does not wait for the kernels before\n");
  return cudaErrorInvalidValue;
}
