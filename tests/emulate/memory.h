// Memory of a call that shows what a kernel does beside it.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

namespace attngen::emulate {

// Memory for `count` elements of `size` bytes, all bits set (NaN), and as much around it as shows a
// write outside.
class Guarded {
 public:
  Guarded() = default;
  Guarded(int64_t count, int64_t size)
      : bytes_(static_cast<size_t>(count * size + 2 * kGuard), 0xFF) {}
  uint8_t* data() { return bytes_.data() + kGuard; }
  const uint8_t* data() const { return bytes_.data() + kGuard; }
  bool clean() const {
    const auto poison = [](uint8_t x) { return x == 0xFF; };
    return std::all_of(bytes_.begin(), bytes_.begin() + kGuard, poison) &&
           std::all_of(bytes_.end() - kGuard, bytes_.end(), poison);
  }

 private:
  static constexpr ptrdiff_t kGuard = 4096;
  std::vector<uint8_t> bytes_;
};

// Memory that ends where a page begins which nobody may read, or `behind` bytes before: a kernel
// that looks behind its last element ends there. Its first one lies wherever its size puts it.
class BeforeFault {
 public:
  explicit BeforeFault(size_t bytes = 0, size_t behind = 0)
      : bytes_(bytes + behind), behind_(behind) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t readable = (bytes_ + page - 1) / page * page;
    mapped_ = readable + page;
    void* const at =
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    pages_ = static_cast<uint8_t*>(at);
    std::memset(pages_, 0xFF, readable);  // NaN
    if (mprotect(pages_ + readable, page, PROT_NONE) != 0) throw std::bad_alloc();
  }
  ~BeforeFault() { munmap(pages_, mapped_); }
  BeforeFault(const BeforeFault&) = delete;
  BeforeFault& operator=(const BeforeFault&) = delete;
  uint8_t* data() { return end() - bytes_; }
  // What can be read behind the last element, though nobody may.
  std::pair<const uint8_t*, size_t> behind() const { return {end() - behind_, behind_}; }

 private:
  uint8_t* end() const { return pages_ + mapped_ - static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

  uint8_t* pages_ = nullptr;
  size_t bytes_, behind_, mapped_ = 0;
};

}  // namespace attngen::emulate
