#include "opcodes.h"

namespace gfx90a {

const OpcodeTable& opcodes() {
  static const OpcodeTable table = [] {
    OpcodeTable all;
    add_float_ops(all);
    add_double_ops(all);
    add_half_ops(all);
    add_packed_ops(all);
    add_transcendental_ops(all);
    add_conversion_ops(all);
    add_integer_ops(all);
    add_carry_ops(all);
    add_compare_ops(all);
    add_lane_ops(all);
    add_mfma_ops(all);
    add_scalar_ops(all);
    add_scalar_compare_ops(all);
    add_control_ops(all);
    add_scalar_memory_ops(all);
    add_lds_ops(all);
    add_memory_ops(all);
    return all;
  }();
  return table;
}

}  // namespace gfx90a
