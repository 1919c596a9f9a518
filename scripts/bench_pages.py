#!/usr/bin/env python3
"""Times kernels over caches in pages, beside the same calls over packed keys.

  scripts/build_gpu_cases.py --group bench_storage --filter paged    first, where nvcc is
  scripts/bench_pages.py                                             then, where the GPU is

bf16, causal: a query, or a chunk of 512, of each of a batch of texts of 512 to 16384 keys, drawn by
the seed. Pages of 1, 8, 16, 64 and 256 keys lie in no order. The kernels, and PyTorch's `varlen_attn`
over packed keys, take turns in one process; medians of event timings, the L2 flushed before each
call. Every result is first held to the formula in fp32.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from gpu.need import need  # noqa: E402

need("numpy", "torch")
import numpy as np  # noqa: E402
import torch  # noqa: E402

from bench_decode import Batch, options  # noqa: E402
from bench_gpu import Emitted, contest, measure_beside  # noqa: E402
from gpu import storage, tensors  # noqa: E402
from gpu.case import Shape, tile_text  # noqa: E402
from gpu.pages import Pages  # noqa: E402

HEADER = ("case", "us", "TB/s", "TFLOP/s", "packed: us", "share of its speed", "varlen_attn: us",
          "tile, stages")


def paged_call(batch, bench, entry, args):
    """The emitted kernel over pages that hold the batch's keys."""
    shape = Shape(len(batch.lengths), batch.queries, max(batch.lengths))
    problem = tensors.Problem(bench.case(), shape, *batch.tokens, {}, batch.inputs)
    random = torch.Generator(device="cuda")
    random.manual_seed(args.seed)
    problem.pages = Pages(problem, np.array(batch.kv_begins), random)
    return Emitted(args.build, entry, problem)


def measure(bench, packed, entries, args, flush):
    batch = Batch(bench, args.seed)
    out = batch.tokens[3]
    calls = {bench.name: paged_call(batch, bench, entries[bench.name], args),
             packed.name: batch.call(packed, entries[packed.name], args.build)}
    wrong = []
    for name, call in calls.items():
        out.poison()
        call()
        if not batch.is_right(out.view[0]):
            wrong.append(name)
    batch.add_rival(calls)
    dims, heads = bench.spec["head_dim"], bench.spec["heads"]
    columns = dims["qk"] + (0 if "share_kv" in bench.spec else dims["v"])
    pairs = sum(batch.queries * n - batch.queries * (batch.queries - 1) / 2 for n in batch.lengths)
    return {"case": bench.name, "commit": entries[bench.name]["commit"],
            "milliseconds": contest(calls, args, flush), "wrong": wrong, "seed": args.seed,
            "bytes": 2 * sum(batch.lengths) * heads["kv"] * columns,
            "flop": 2 * pairs * heads["q"] * (dims["qk"] + dims["v"]),
            "tile": tile_text(bench.spec, entries[bench.name]["schedule"])}


def print_row(row, packed):
    ms = row["milliseconds"]
    own, rival = ms[row["case"]], ms.get("varlen_attn")
    cells = [row["case"].removeprefix("storage_paged_").replace("_", " "), f"{own * 1e3:.1f}",
             f"{row['bytes'] / own * 1e-9:.2f}", f"{row['flop'] / own * 1e-9:.0f}",
             f"{ms[packed] * 1e3:.1f}", f"{ms[packed] / own:.2f}",
             f"{rival * 1e3:.1f}" if rival else "", row["tile"]]
    print(f"| {' | '.join(cells)} |", flush=True)


def main():
    benches = {bench.name: bench for bench in storage.paged_benches()}
    pairs = [(bench, benches[bench.yardstick]) for bench in benches.values() if bench.yardstick]
    args = options("Times caches in pages.", "bench_pages.json")
    return measure_beside(pairs, HEADER, measure, print_row, args)


if __name__ == "__main__":
    sys.exit(main())
