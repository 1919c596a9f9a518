// What a call needs of device memory beside its tensors.
#pragma once

#include <cstdint>

#include "schedule/search.h"
#include "spec/spec.h"

namespace attngen::schedule {

// What the emitted <name>_forward_workspace returns for a call of this size: the templates reckon
// in arguments.cuh, prepare.cuh and launch.cuh. Numbers of the rule for splits are the same ones
// (SplitRule); of all else tests/emulate/workspace.py holds one to the other. 0 of a family whose
// kernels have none; 2^62 for what no card holds.
int64_t workspace_bytes(const spec::Spec& spec, const Candidate& candidate,
                        const spec::Workload& call);

}  // namespace attngen::schedule
