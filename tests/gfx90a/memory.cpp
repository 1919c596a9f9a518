#include "memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "fault.h"

namespace gfx90a {

const Memory::Range Memory::kNone;

void Memory::map(void* data, size_t bytes, std::string name, Access access) {
  const auto begin = std::bit_cast<uint64_t>(data);
  for (const Range& range : ranges_) {
    if (begin < range.begin + range.bytes && range.begin < begin + bytes) {
      throw Fault("memory `" + name + "` overlaps `" + range.name + "`");
    }
  }
  ranges_.push_back({begin, bytes, access, std::move(name)});
}

void Memory::map(const void* data, size_t bytes, std::string name) {
  map(const_cast<void*>(data), bytes, std::move(name), Access::Read);
}

void Memory::unmap(const void* data) {
  std::erase_if(ranges_, [&](const Range& r) { return r.begin == std::bit_cast<uint64_t>(data); });
  last_ = 0;
}

void Memory::find(uint64_t address, uint64_t bytes, bool write) {
  const Range* nearest = nullptr;
  for (size_t i = 0; i < ranges_.size(); ++i) {
    const Range& range = ranges_[i];
    if (address >= range.begin && address - range.begin < range.bytes &&
        bytes <= range.bytes - (address - range.begin)) {
      last_ = i;
      if (!write || range.access == Access::ReadWrite) return;
      throw Fault(fmt::format("writes {} bytes at {:#x}, in `{}`, which is read-only", bytes,
                              address, range.name));
    }
    const auto distance = [&](const Range& r) {
      return address < r.begin ? r.begin - address : address - r.begin;
    };
    if (nearest == nullptr || distance(range) < distance(*nearest)) nearest = &range;
  }
  std::string where = "no memory is mapped";
  if (nearest != nullptr) {
    where = fmt::format("`{}` has {} bytes, and this is its byte {}", nearest->name, nearest->bytes,
                        static_cast<int64_t>(address - nearest->begin));
  }
  throw Fault(fmt::format("{} {} bytes at {:#x}, outside all mapped memory ({})",
                          write ? "writes" : "reads", bytes, address, where));
}

}  // namespace gfx90a
