// Which host memory a kernel may touch. Device addresses are host addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gfx90a {

enum class Access : uint8_t { Read, ReadWrite };

class Memory {
 public:
  // The ranges must not overlap, and stay valid while kernels run. `name` appears in errors.
  void map(void* data, size_t bytes, std::string name, Access access = Access::ReadWrite);
  void map(const void* data, size_t bytes, std::string name);  // read-only
  void unmap(const void* data);

  // The host pointer to `bytes` bytes at `address`. Faults unless they all lie in one range that
  // may be so used.
  template <class T = std::byte>
  T* at(uint64_t address, uint64_t bytes, bool write) {
    const Range& last = ranges_.empty() ? kNone : ranges_[last_];
    if (address - last.begin >= last.bytes || bytes > last.bytes - (address - last.begin) ||
        (write && last.access == Access::Read)) {
      find(address, bytes, write);
    }
    return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr)
  }
  // As `at` for reading `bytes` bytes at each of `count` addresses; false if that must be asked one
  // by one, because they do not all lie in the first one's range.
  bool readable(const uint64_t* address, unsigned count, uint64_t bytes) {
    at(address[0], bytes, false);
    const Range& range = ranges_[last_];
    uint64_t outside = 0;
    for (unsigned i = 0; i < count; ++i) {
      outside |= static_cast<uint64_t>(address[i] - range.begin > range.bytes - bytes);
    }
    return outside == 0;
  }

 private:
  struct Range {
    uint64_t begin = 0, bytes = 0;
    Access access = Access::Read;
    std::string name;
  };
  static const Range kNone;
  void find(uint64_t address, uint64_t bytes, bool write);  // sets last_ or faults

  std::vector<Range> ranges_;
  size_t last_ = 0;
};

}  // namespace gfx90a
