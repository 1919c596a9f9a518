#include "code_object.h"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>

namespace gfx90a {
namespace {

constexpr uint32_t kMachineGfx90a = 0x3F;  // EF_AMDGPU_MACH_AMDGCN_GFX90A, low byte of e_flags
constexpr uint64_t kMostImageBytes = 1 << 28;

class Reader {
 public:
  explicit Reader(std::vector<char> bytes) : bytes_(std::move(bytes)) {}

  template <class T>
  T at(uint64_t offset) const {
    T value;
    std::memcpy(&value, span(offset, sizeof(T)), sizeof(T));
    return value;
  }
  std::string string_at(uint64_t offset) const {
    std::string text;
    for (char c = at<char>(offset); c != '\0'; c = at<char>(++offset)) text += c;
    return text;
  }
  const char* span(uint64_t offset, uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) throw Fault("the ELF is cut off");
    return bytes_.data() + offset;
  }

 private:
  std::vector<char> bytes_;
};

std::vector<Elf64_Shdr> read_sections(const Reader& file, const Elf64_Ehdr& header) {
  std::vector<Elf64_Shdr> sections;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    sections.push_back(file.at<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr)));
    if (sections.back().sh_type == SHT_RELA || sections.back().sh_type == SHT_REL) {
      throw Fault("the code object needs relocation, which is not modelled");
    }
  }
  return sections;
}

void load_segments(const Reader& file, const Elf64_Ehdr& header, CodeObject& object) {
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    const auto segment = file.at<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr));
    if (segment.p_type != PT_LOAD) continue;
    const uint64_t end = segment.p_vaddr + segment.p_memsz;
    if (end > kMostImageBytes || end < segment.p_vaddr || segment.p_filesz > segment.p_memsz) {
      throw Fault("a segment of the ELF is too large");
    }
    if (object.image.size() < end) object.image.resize(end);
    std::memcpy(object.image.data() + segment.p_vaddr,
                file.span(segment.p_offset, segment.p_filesz), segment.p_filesz);
  }
}

std::map<std::string, Elf64_Sym> read_symbols(const Reader& file,
                                              const std::vector<Elf64_Shdr>& sections) {
  std::map<std::string, Elf64_Sym> symbols;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_DYNSYM && section.sh_type != SHT_SYMTAB) continue;
    if (section.sh_link >= sections.size()) throw Fault("the ELF's symbols have no names");
    const uint64_t names = sections[section.sh_link].sh_offset;
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = file.at<Elf64_Sym>(section.sh_offset + at);
      symbols[file.string_at(names + symbol.st_name)] = symbol;
    }
  }
  return symbols;
}

bool bit(uint32_t word, unsigned index) { return ((word >> index) & 1) != 0; }
uint32_t bits(uint32_t word, unsigned first, unsigned count) {
  return (word >> first) & ((1U << count) - 1);
}

KernelDescriptor read_descriptor(const std::string& name, const std::byte* bytes) {
  const auto word = [&](unsigned offset) {
    uint32_t value = 0;
    std::memcpy(&value, bytes + offset, sizeof value);
    return value;
  };
  const uint32_t rsrc3 = word(44), rsrc1 = word(48), rsrc2 = word(52), properties = word(56);
  KernelDescriptor kernel;
  kernel.name = name;
  kernel.lds_bytes = word(0);
  if (word(4) != 0) throw Fault(name + " uses scratch memory, which is not modelled");
  kernel.kernarg_bytes = word(8);
  // Registers are given out in blocks of 8, vector registers and accumulators together; the
  // accumulators begin at accum_offset, a multiple of 4.
  const unsigned all = 8 * (bits(rsrc1, 0, 6) + 1), accumulators_at = 4 * (bits(rsrc3, 0, 6) + 1);
  kernel.vgprs = std::min(all, accumulators_at);
  kernel.agprs = all - kernel.vgprs;
  kernel.float_mode = bits(rsrc1, 12, 8);
  kernel.dx10_clamp = bit(rsrc1, 21);
  kernel.ieee_mode = bit(rsrc1, 23);
  kernel.user_sgprs = bits(rsrc2, 1, 5);
  for (unsigned i = 0; i < 3; ++i) kernel.workgroup_id[i] = bit(rsrc2, 7 + i);
  kernel.private_segment_buffer = bit(properties, 0);
  kernel.dispatch_ptr = bit(properties, 1);
  kernel.queue_ptr = bit(properties, 2);
  kernel.kernarg_ptr = bit(properties, 3);
  kernel.dispatch_id = bit(properties, 4);
  kernel.flat_scratch_init = bit(properties, 5);
  kernel.private_segment_size = bit(properties, 6);
  return kernel;
}

}  // namespace

const KernelDescriptor& CodeObject::kernel(const std::string& name) const {
  std::string known;
  for (const KernelDescriptor& one : kernels) {
    if (one.name == name) return one;
    known += " " + one.name;
  }
  throw Fault("no kernel `" + name + "`; there is:" + known);
}

CodeObject read_code_object(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw Fault("cannot read " + path);
  const Reader file(std::vector<char>(std::istreambuf_iterator<char>(stream), {}));
  const auto header = file.at<Elf64_Ehdr>(0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_machine != EM_AMDGPU ||
      (header.e_flags & 0xFF) != kMachineGfx90a) {
    throw Fault(path + " is no gfx90a code object");
  }
  CodeObject object;
  object.abi_version = header.e_ident[EI_ABIVERSION];
  const auto sections = read_sections(file, header);
  load_segments(file, header, object);
  const auto symbols = read_symbols(file, sections);
  for (const auto& [name, symbol] : symbols) {
    const auto descriptor = symbols.find(name + ".kd");
    if (descriptor == symbols.end()) continue;
    const uint64_t at = descriptor->second.st_value;
    if (at + 64 > object.image.size()) throw Fault("the descriptor of " + name + " is cut off");
    object.kernels.push_back(read_descriptor(name, object.image.data() + at));
    object.kernels.back().entry = symbol.st_value;
    object.kernels.back().size = symbol.st_size;
  }
  if (object.kernels.empty()) throw Fault(path + " holds no kernel");
  return object;
}

}  // namespace gfx90a
