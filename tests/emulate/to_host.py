#!/usr/bin/env python3
"""Makes of an emitted kernel a C++ source for the CPU: emulator.h takes the place of the inline
assembly, function by function.

usage: to_host.py <kernel.cu> <out.cpp>
       to_host.py --precompile <c++> <folder>
"""

import platform
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

# Written here, since they use what the kernel declares.
REWRITTEN = {
    "store_fragments": """template <int kChunk, int kGroups>
void store_fragments(uint8_t* tile, const float (&x)[kGroups][2][2]) {
  for (int j = 0; j < kGroups; ++j) {
    for (int r = 0; r < 2; ++r) {
      const uint32_t pair = pack(x[j][r][0], x[j][r][1]);
      std::memcpy(tile + swizzled<kChunk>(64, row_of(r), j) + 2 * column_of(), &pair, 4);
    }
  }
}
""",
    "load_biases": """SwizzledBiases load_biases(const uint8_t* tile) {
  constexpr int kPairBytes = sizeof(SwizzledBiases) / (kTileKv / 4);
  SwizzledBiases biases{};
  for (int j = 0; j < kTileKv / 8; ++j) {
    for (int r = 0; r < 2; ++r) {
      const int byte = (8 * j + column_of()) * kBiasBytes;
      std::memcpy(reinterpret_cast<uint8_t*>(&biases) + (2 * j + r) * kPairBytes,
                  tile + swizzled<kChunkBias>(64, row_of(r) * kBiasRows / 64, byte / 16) + byte % 16,
                  2 * kBiasBytes);
    }
  }
  return biases;
}
""",
    "recompute_scores": """void recompute_scores(float (&scores)[kTileKv / 8][2][2],
                             const uint8_t* query, const uint8_t* key) {
  const auto element = [](const uint8_t* tile, int rows, int row, int column) {
    uint16_t x;
    std::memcpy(&x, tile + swizzled<kChunkQk>(rows, row, column / 8) + column % 8 * 2, 2);
    return emulator::from_storage(x);
  };
  for (int j = 0; j < kTileKv / 8; ++j) {
    for (int r = 0; r < 2; ++r) {
      for (int e = 0; e < 2; ++e) {
        float sum = 0;
        for (int k = 0; k < 16 * kStepsQk; ++k) {
          sum += element(query, 64, row_of(r), k) *
                 element(key, kTileKv, 8 * j + column_of() + e, k);
        }
        scores[j][r][e] = sum;
      }
    }
  }
}
template <typename Rows, typename Inputs>
void recompute_scores(float (&scores)[kTileKv / 8][2][2], bool full, int kv_first, const Rows& rows,
                      const Inputs& in, const uint8_t* query, const uint8_t* key) {
  float begun[kTileKv / 8][2][2] = {};
  if (!full) begin_scores(begun, kv_first, rows, in);
  recompute_scores(scores, query, key);
  for (int i = 0; i < kTileKv / 2; ++i) (&scores[0][0][0])[i] += (&begun[0][0][0])[i];
}
""",
}
EMULATED = ["shared_address", "barrier_init", "barrier_arrive", "barrier_expect",
            "barrier_expect_more", "barrier_test",
            "barrier_wait", "named_sync", "named_arrive", "tma_load", "tma_store", "tma_store_wait",
            "bulk_load", "bulk_store", "warp_or", "copy_bytes", "copy_chunk",
            "copy_chunk_at", "arrive_once_copied",
            "wait_for_copies",
            "prefetch", "prefetch_map", "tma_prefetch", "fence_async_proxy", "wait_for_stream",
            "call_next_kernel", "leave_number", "wait_for_number", "wgmma_fence",
            "wgmma_commit", "wgmma_wait", "wgmma_scores",
            "wgmma_output", "wgmma_far", "wgmma_state", "wgmma_scan", "pack", "pack_positive_part", "exp2_approx",
            "log2_approx", "square_root", "reciprocal", "tanh_approx", "load_matrices", "load_transposed", "mma_16x8x16",
            "from_half", "from_fp16", *REWRITTEN]
# What may be left out: accumulators' pins, registers, a fence. All other assembly does something.
DROPPED = ["", r"setmaxnreg\.(?:dec|inc)\.sync\.aligned\.u32 %0;",
           r"fence\.mbarrier_init\.release\.cluster;"]
# Shorter here than on a GPU, where calls that reach them take seconds (parts/arguments.cuh): the
# queries from which on a call keeps states of its keys, and the keys that are worth a split.
SHORTER = {"kFewestQueries": 512, "kEnds": 0, "kJoining": 0, "kEach": 0, "kPartRows": 1000000,
           "kLeastKeys": 0, "kFewestScans": 1, "kFewestScanRows": 65}


def to_host(text, shorter=True):
    """The text less the emulated functions, templates included, and with the rewritten ones. By
    `shorter`, calls keep states and split keys that would not on a GPU."""
    head = rf"(?:template <[^>]*>\n)?__device__ __forceinline__ \w+ ({'|'.join(EMULATED)})\("
    text = re.sub(head + r"[^{};]*\);\n", "", text)
    text = re.sub(head + r"[^{]*\{(?:[^\n]*\}\n|.*?\n\}\n)",
                  lambda function: REWRITTEN.get(function[1], ""), text, flags=re.S)
    text = re.sub(r"extern __shared__ \S+ uint8_t memory\[\];",
                  "uint8_t* const memory = emulator::core->shared;", text)
    text = re.sub(r"__shared__ ", "static ", text)
    for name, value in SHORTER.items() if shorter else ():
        text = re.sub(rf"\b{name} = [^,;]+", f"{name} = {value}", text)
    operands = r"(?:[^()]|\((?:[^()]|\([^()]*\))*\))*"
    text = re.sub(rf'asm volatile\("(?:{"|".join(DROPPED)})"\s*:{operands}\);', "", text)
    if "asm" in text:
        sys.exit("assembly is left: " + text[text.index("asm"):][:200])
    return text


# A library's elements, or that it ends the program where numbers overflow, and its options.
FAST = ["-O1", "-fexpensive-optimizations"]  # without the second GCC fuses nothing
KINDS = {"bf16": FAST, "fp16": [*FAST, "-DEMULATE_FP16"],
         "checked": ["-O0", "-fsanitize=signed-integer-overflow", "-fno-sanitize-recover"]}


def compile_command(compiler, kind="bf16"):
    """What a C++ compiler needs for such a source, but for files and the kind of output."""
    # As nvcc does, a product and a sum become one operation.
    fused = ["-mfma", "-mf16c", "-ffp-contract=fast"] if platform.machine() == "x86_64" else []
    return [compiler, "-std=c++20", "-w", "-I", HERE, "-I", HERE / "cuda", *fused, *KINDS[kind]]


def library_command(compiler, kind, folder):
    """The same for a library, with the emulator, which `folder` has compiled: perhaps its header
    too."""
    element = "fp16" if kind == "fp16" else "bf16"
    core = ["-Wl,--whole-archive", folder / f"libattngen_emulator_{element}.a",
            "-Wl,--no-whole-archive"]
    command = [*compile_command(compiler, kind), "-fPIC", *core]
    if (folder / "emulator.h.gch" / kind).exists():
        command += ["-include", folder / "emulator.h"]
    return command


def precompile(compiler, folder):
    """The emulator's header takes GCC half the time of a kernel. It chooses by the options."""
    (folder / "emulator.h.gch").mkdir(exist_ok=True)
    for kind in KINDS:
        out = folder / "emulator.h.gch" / kind
        out.unlink(missing_ok=True)
        subprocess.run([*compile_command(compiler, kind), "-fPIC", "-x", "c++-header",
                        HERE / "emulator.h", "-o", out], check=True)


if __name__ == "__main__":
    if sys.argv[1] == "--precompile":
        precompile(sys.argv[2], Path(sys.argv[3]))
        sys.exit()
    Path(sys.argv[2]).write_text(to_host(Path(sys.argv[1]).read_text()))
