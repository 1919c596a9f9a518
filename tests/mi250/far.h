// Memory whose parts lie gigabytes apart, of which only what is written takes room.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>

namespace attngen::mi250 {

class Far {
 public:
  explicit Far(size_t bytes)
      : bytes_(bytes),
        data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (data_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~Far() { munmap(data_, bytes_); }
  Far(const Far&) = delete;
  Far& operator=(const Far&) = delete;

  uint16_t* data() const { return static_cast<uint16_t*>(data_); }
  size_t size() const { return bytes_ / sizeof(uint16_t); }

 private:
  size_t bytes_;
  void* data_;
};

}  // namespace attngen::mi250
