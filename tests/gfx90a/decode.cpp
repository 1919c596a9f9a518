#include "decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "opcodes.h"
#include "operand.h"

namespace gfx90a {
namespace {

// Words at depth 0 of brackets: `0 offen offset:16` gives three.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ' ';
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
    if (c != ' ' || (depth > 0 && i < text.size())) continue;
    if (i > start) words.push_back(text.substr(start, i - start));
    start = i + 1;
  }
  return words;
}

int64_t integer(std::string_view text) {
  const auto value = parse_integer(text);
  if (!value) throw Fault("modifier value `" + std::string(text) + "` is not known");
  return *value;
}

// `[0,1,1]`
std::vector<int64_t> list(std::string_view text) {
  std::vector<int64_t> values;
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const auto end = std::min(text.find(','), text.size());
    values.push_back(integer(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return values;
}
uint8_t bits(const std::vector<int64_t>& values) {
  unsigned out = 0;
  for (size_t i = 0; i < values.size(); ++i) out |= static_cast<unsigned>(values[i] != 0) << i;
  return static_cast<uint8_t>(out);
}

Select select_of(std::string_view name) {
  constexpr std::array<std::string_view, 7> kNames = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                                      "WORD_0", "WORD_1", "DWORD"};
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) throw Fault("SDWA select `" + std::string(name) + "` is not known");
  return static_cast<Select>(found - kNames.begin());
}

// The lane that `lane` reads under a DPP control, or -1.
int dpp_source(std::string_view control, std::string_view value, int lane) {
  const int row = lane & ~15, in_row = lane & 15;
  if (control == "quad_perm") {
    return (lane & ~3) + static_cast<int>(list(value).at(static_cast<size_t>(lane & 3)));
  }
  if (control == "row_mirror") return row + 15 - in_row;
  if (control == "row_half_mirror") return (lane & ~7) + 7 - (lane & 7);
  const int n = value.empty() ? 0 : static_cast<int>(integer(value));
  if (control == "row_shl") return in_row + n < 16 ? lane + n : -1;
  if (control == "row_shr") return in_row - n >= 0 ? lane - n : -1;
  if (control == "row_ror") return row + ((in_row - n) & 15);
  if (control == "row_newbcast") return row + n;
  if (control == "row_bcast" && n == 15) return row > 0 ? row - 1 : -1;
  if (control == "row_bcast" && n == 31) return lane >= 32 ? 31 : -1;
  if (control == "wave_shl") return lane < 63 ? lane + 1 : -1;
  if (control == "wave_shr") return lane > 0 ? lane - 1 : -1;
  if (control == "wave_rol") return (lane + 1) & 63;
  if (control == "wave_ror") return (lane - 1) & 63;
  throw Fault("DPP control `" + std::string(control) + "` is not known");
}

bool is_dpp_control(std::string_view name) {
  return name == "quad_perm" || name.starts_with("row_") || name.starts_with("wave_");
}

class Decoder {
 public:
  Decoder(const KernelDescriptor& kernel, Decoded& out) : kernel_(kernel), out_(out) {}

  Instruction decode(const Line& line) {
    Instruction in;
    in.line = out_.lines.emplace_back(std::make_unique<Line>(line)).get();
    mnemonic_ = line.mnemonic;
    std::string_view form;
    for (const std::string_view suffix : {"_e32", "_e64", "_sdwa", "_dpp"}) {
      if (!mnemonic_.ends_with(suffix)) continue;
      mnemonic_.resize(mnemonic_.size() - suffix.size());
      form = suffix;
      break;
    }
    const Opcode* opcode = opcodes().find(mnemonic_);
    if (opcode == nullptr) throw Fault("this instruction is not known to the interpreter");
    in.run = opcode->run;
    in.pipe = opcode->pipe;
    in.plain = form != "_sdwa" && form != "_dpp";
    if (form == "_dpp") in.dpp = dpp_ = out_.dpp.emplace_back(std::make_unique<Dpp>()).get();
    if (mnemonic_.starts_with("v_fma_mix")) in.op_sel_hi = 0;
    if (in.pipe == Pipe::Mfma) in.result_delay = result_delay();
    in.immediate = line.encoding & 0xFFFF;
    if (in.pipe == Pipe::Nop) in.slots = in.immediate + 1;
    if (takes_operands(in)) read_operands(in, line);
    dpp_ = nullptr;
    in.unmodified = unmodified(in);
    check_registers(in);
    add_touched(in);
    return in;
  }

 private:
  uint8_t result_delay() const {
    if (mnemonic_.find("_32x32x") != std::string::npos) return 19;
    return mnemonic_.find("_16x16x") != std::string::npos ? 11 : 5;
  }

  bool takes_operands(const Instruction& in) const {
    return in.pipe != Pipe::Branch && in.pipe != Pipe::Wait && in.pipe != Pipe::Nop &&
           in.pipe != Pipe::Barrier && mnemonic_ != "s_setprio" && mnemonic_ != "s_sleep" &&
           mnemonic_ != "s_endpgm";
  }

  static bool unmodified(const Instruction& in) {
    bool signs = false;
    for (const Operand& operand : in.op) signs = signs || operand.neg || operand.abs;
    return in.plain && !signs && !in.clamp && in.omod == 0 && in.op_sel == 0;
  }

  void read_operands(Instruction& in, const Line& line) {
    for (const std::string& text : line.operands) {
      const auto words = words_of(text);
      if (words.empty()) throw Fault("an empty operand");
      size_t modifiers = 1;
      if (words[0].starts_with("hwreg(")) {
        // Its value is in the encoding.
      } else if (is_modifier_only(words[0])) {
        modifiers = 0;
      } else {
        if (in.operands == in.op.size()) throw Fault("too many operands");
        in.op[in.operands++] = parse_operand(words[0]);
      }
      for (size_t i = modifiers; i < words.size(); ++i) read_modifier(in, words[i]);
    }
  }

  static bool is_modifier_only(std::string_view word) {
    return word == "glc" || word == "lds" || word.starts_with("offset");
  }

  void read_modifier(Instruction& in, std::string_view word) {
    const auto colon = word.find(':');
    const std::string_view name = word.substr(0, colon);
    const std::string_view value = colon == std::string_view::npos ? "" : word.substr(colon + 1);
    if (name == "offset" && value.starts_with("swizzle(")) return;  // in `immediate`
    if (name == "offset" || name == "offset0") {
      in.offset = static_cast<int32_t>(integer(value));
    } else if (name == "offset1") {
      in.offset1 = static_cast<int32_t>(integer(value));
    } else if (name == "offen") {
      in.offen = true;
    } else if (name == "idxen") {
      in.idxen = true;
    } else if (name == "glc") {
      in.glc = true;
    } else if (name == "lds") {
      in.lds = true;
    } else if (name == "slc" || name == "scc") {
      // Cache policy.
    } else if (name == "clamp") {
      in.clamp = true;
      if (!is_float()) in.run = clamping_handler();
    } else if (name == "mul") {
      in.omod = integer(value) == 2 ? 1 : 2;
    } else if (name == "div") {
      in.omod = -1;
    } else if (!read_packed_modifier(in, name, value) && !read_sdwa(in, name, value) &&
               !read_dpp(name, value)) {
      throw Fault("modifier `" + std::string(word) + "` is not known");
    }
  }

  Handler clamping_handler() const {
    const Opcode* opcode = opcodes().find(mnemonic_ + " clamp");
    if (opcode == nullptr) throw Fault("clamp of these integers is not modelled");
    return opcode->run;
  }

  // Judged by the type in the name: v_add_f32, v_pk_mul_f16, v_cvt_f32_u32.
  bool is_float() const {
    return mnemonic_.find("_f32") != std::string::npos ||
           mnemonic_.find("_f16") != std::string::npos ||
           mnemonic_.find("_f64") != std::string::npos;
  }

  static bool read_packed_modifier(Instruction& in, std::string_view name, std::string_view value) {
    if (name == "op_sel") {
      const auto values = list(value);
      in.op_sel = bits(values);
      const bool names_result = values.size() == in.operands;  // sources, then the result
      if (names_result) {
        const unsigned last = 1U << (values.size() - 1);
        const bool high = (in.op_sel & last) != 0;
        in.op_sel = static_cast<uint8_t>((in.op_sel & ~last) | (high ? 8 : 0));
      }
    } else if (name == "op_sel_hi") {
      in.op_sel_hi = bits(list(value));
    } else if (name == "neg_lo") {
      in.neg_lo = bits(list(value));
    } else if (name == "neg_hi") {
      in.neg_hi = bits(list(value));
    } else {
      return false;
    }
    return true;
  }

  static bool read_sdwa(Instruction& in, std::string_view name, std::string_view value) {
    if (name == "dst_sel") {
      in.sdwa.dst = select_of(value);
    } else if (name == "src0_sel") {
      in.sdwa.src[0] = select_of(value);
    } else if (name == "src1_sel") {
      in.sdwa.src[1] = select_of(value);
    } else if (name == "dst_unused") {
      in.sdwa.unused = value == "UNUSED_PAD"        ? Unused::Pad
                       : value == "UNUSED_SEXT"     ? Unused::Sext
                       : value == "UNUSED_PRESERVE" ? Unused::Preserve
                                                    : throw Fault("dst_unused is not known");
    } else {
      return false;
    }
    return true;
  }

  bool read_dpp(std::string_view name, std::string_view value) {
    if (dpp_ == nullptr) return false;
    if (name == "row_mask") {
      dpp_->row_mask = static_cast<uint8_t>(integer(value));
    } else if (name == "bank_mask") {
      dpp_->bank_mask = static_cast<uint8_t>(integer(value));
    } else if (name == "bound_ctrl") {
      dpp_->bound_zero = true;  // written only when set; as 0 or 1 by the version of LLVM
    } else if (is_dpp_control(name)) {
      for (int lane = 0; lane < 64; ++lane) {
        dpp_->from[static_cast<size_t>(lane)] = static_cast<int8_t>(dpp_source(name, value, lane));
      }
    } else {
      return false;
    }
    return true;
  }

  void add_touched(Instruction& in) const {
    const auto add = [&](const Operand& operand) {
      if (operand.count > 0) in.touched.add(place_of(operand), operand.count);
    };
    for (unsigned i = 0; i < in.operands; ++i) add(in.op[i]);
    if (mnemonic_ == "v_div_fmas_f32" || mnemonic_.starts_with("s_cbranch_vcc")) {
      add(parse_operand("vcc"));
    }
    if (in.lds) add(parse_operand("m0"));
  }

  void check_registers(const Instruction& in) const {
    for (unsigned i = 0; i < in.operands; ++i) {
      const Operand& operand = in.op[i];
      if (!operand.vector()) continue;
      const bool accumulator = operand.first >= kAccumulators;
      const unsigned last = operand.first + operand.count - (accumulator ? kAccumulators : 0U);
      if (last > (accumulator ? kernel_.agprs : kernel_.vgprs)) {
        throw Fault(
            fmt::format("names a register beyond the {} vector registers and {} "
                        "accumulators that the kernel's descriptor reserves",
                        kernel_.vgprs, kernel_.agprs));
      }
    }
  }

  const KernelDescriptor& kernel_;
  Decoded& out_;
  Dpp* dpp_ = nullptr;
  std::string mnemonic_;  // without its suffix
};

void resolve_branches(std::vector<Instruction>& instructions) {
  for (Instruction& in : instructions) {
    if (in.pipe != Pipe::Branch) continue;
    const int64_t jump = static_cast<int16_t>(in.immediate);
    const uint64_t target = in.line->address + 4 + static_cast<uint64_t>(4 * jump);
    const auto found = std::lower_bound(
        instructions.begin(), instructions.end(), target,
        [](const Instruction& one, uint64_t address) { return one.line->address < address; });
    if (found == instructions.end() || found->line->address != target) {
      throw Fault(
          fmt::format("{:#x} `{}`: branches out of the kernel", in.line->address, in.line->text));
    }
    in.target = static_cast<uint32_t>(found - instructions.begin());
  }
}

}  // namespace

Decoded decode(const std::vector<Line>& listing, const KernelDescriptor& kernel) {
  Decoded out;
  Decoder decoder(kernel, out);
  for (const Line& line : listing) {
    if (line.address < kernel.entry || line.address >= kernel.entry + kernel.size) continue;
    try {
      out.instructions.push_back(decoder.decode(line));
    } catch (const Fault& fault) {
      throw Fault(fmt::format("{:#x} `{}`: {}", line.address, line.text, fault.what()));
    }
    out.instructions.back().index = static_cast<uint32_t>(out.instructions.size() - 1);
  }
  if (out.instructions.empty()) throw Fault("kernel " + kernel.name + " has no instructions");
  resolve_branches(out.instructions);
  return out;
}

}  // namespace gfx90a
