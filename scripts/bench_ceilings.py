#!/usr/bin/env python3
"""Measures what the card can do at most, for the bars that docs/performance.md says are not met.

  scripts/build_gpu_cases.py --group bench_storage    first, where nvcc is
  scripts/bench_ceilings.py                           then, where the GPU is

- Blocks of 64 that each head keeps anywhere: each brings 32 KB of keys and values for 64 queries, so
  that no kernel which loads them for themselves is faster than bulk copies alone out of the L2. Their
  rate, over the rate at which our dense kernel would need them, is the most that its share can be.
- Products: bf16 matrix products by cuBLAS.
- A call: a kernel that does nothing.
"""

import argparse
import ctypes
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from gpu.need import need  # noqa: E402

need("numpy", "torch")
import torch  # noqa: E402

from bench_gpu import FLUSH_BYTES, turns, write_json  # noqa: E402
from bench_storage import Contestant, draw_tokens  # noqa: E402
from gpu.storage import storage_benches  # noqa: E402

DENSE = "storage_dense_mha_b1_s8192_full"
ROWS = 64  # queries that a block of keys serves
REGIONS = (8 << 20, 16 << 20, 24 << 20, 32 << 20)  # bytes that all cores copy from
COPIES = 4000  # of each core
SIDES = (4096, 8192, 16384)  # of matrices


def options():
    parser = argparse.ArgumentParser(description="Measures ceilings of the card.")
    parser.add_argument("--build", default="build-gpu", help="folder of build_gpu_cases.py")
    parser.add_argument("--milliseconds", type=float, default=60,
                        help="timed, per contestant and round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="default: in the build's folder")
    args = parser.parse_args()
    args.json = args.json or Path(args.build) / "bench_ceilings.json"
    return args


def copies(library, region, cores):
    memory = torch.randn(region // 4, device="cuda")

    def call():
        error = library.copy_from_l2(ctypes.c_void_p(memory.data_ptr()), ctypes.c_int64(region),
                                     cores, COPIES,
                                     ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
        if error:
            raise RuntimeError(f"cudaError_t {error}")

    return call


def product(side):
    a, b = (torch.randn((side, side), device="cuda", dtype=torch.bfloat16) for _ in range(2))
    out = torch.empty_like(a)
    return lambda: torch.matmul(a, b.t(), out=out)


def dense_kernel(args, index):
    bench = {one.name: one for one in storage_benches()}[DENSE]
    entry = {one["name"]: one for one in index["cases"]}[DENSE]
    tokens = draw_tokens(bench.spec, bench.seq, bench.seq, args.seed, "cuda")
    return Contestant(bench, entry, tokens, args)


def main():
    args = options()
    index = json.loads((Path(args.build) / "index.json").read_text())
    library = ctypes.CDLL(str((Path(args.build) / "ceilings.so").resolve()))
    piece = library.piece_bytes()
    cores = torch.cuda.get_device_properties(0).multi_processor_count
    dense = dense_kernel(args, index)
    if not dense.is_right():
        print(f"WRONG RESULT: {DENSE}")
        return 1
    one = torch.zeros(1, device="cuda")
    calls = {"dense": dense.call, "nothing": one.zero_,
             **{("copies", region): copies(library, region, cores) for region in REGIONS},
             **{("product", side): product(side) for side in SIDES}}
    ms = turns(calls, args, torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda"))

    dims = dense.bench.spec["head_dim"]
    flop_of_piece = 2.0 * ROWS * ROWS * dims["qk"]  # a block is two pieces, for two products
    rates = {region: cores * COPIES * piece / ms["copies", region] * 1e-9 for region in REGIONS}
    dense_rate = dense.flop() / ms["dense"] * 1e-9
    products = {side: 2.0 * side**3 / ms["product", side] * 1e-9 for side in SIDES}
    print(f"{torch.cuda.get_device_name()}, {cores} cores, PyTorch {torch.__version__}\n")
    print(f"our dense kernel {dense_rate:.0f} TFLOP/s; a call of nothing {ms['nothing'] * 1e3:.1f} us")
    for region, rate in rates.items():
        ceiling = rate / piece * flop_of_piece
        print(f"bulk copies out of {region >> 20} MB: {rate:.2f} TB/s; blocks of 64 anywhere at most "
              f"{ceiling:.0f} TFLOP/s, a share of {ceiling / dense_rate:.2f}")
    for side, rate in products.items():
        print(f"products of {side} x {side}: {rate:.0f} TFLOP/s")
    write_json(args.json, index["commit"], [{
        "dense_tflops": dense_rate, "nothing_ms": ms["nothing"],
        "copies": [{"bytes": region, "tb_per_s": rate, "share": rate / piece * flop_of_piece
                    / dense_rate} for region, rate in rates.items()],
        "products": [{"side": side, "tflops": rate} for side, rate in products.items()]}])
    return 0


if __name__ == "__main__":
    sys.exit(main())
