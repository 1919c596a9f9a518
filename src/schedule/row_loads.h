// What a pair's functions read that is the same along its row.
#pragma once

#include "attention/pair_form.h"

namespace attngen::schedule {

// Registers of a thread for it. A form keeps the first few as constants; the others stand in its
// expressions, but the compiler loads them before the pairs of a block, one by one, and keeps them
// as long. A thread has pairs of two rows. Of 22 kernels whose scores are small networks of 8 to 64
// units (2026-11-28, a throw-away script) those that do not fit by this spilled 32 to 18240 bytes,
// those that fit none, or 20.
int row_load_registers(const attention::PairForm& form);

}  // namespace attngen::schedule
