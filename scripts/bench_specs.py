#!/usr/bin/env python3
"""Times the kernels of your own specs beside what attngen predicts.

  scripts/build_gpu_cases.py --specs mine/*.yaml --out build-mine    first, where nvcc is
  scripts/gpu_check.py --build build-mine                            are they right?
  scripts/bench_specs.py --build build-mine                          then, where the GPU is

Each is called as the first point of its spec's workload has it; inputs hold what the check has, and
blocks and lists are drawn as for it. Medians of event timings, the L2 flushed before each call,
random normal q, k and v. Packed sequences are of random lengths, of which the point's is the longest.
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from gpu.need import need  # noqa: E402

need("numpy", "torch")
import torch  # noqa: E402

from bench_gpu import FLUSH_BYTES, Emitted, contest, write_json  # noqa: E402
from gpu import tensors  # noqa: E402
from gpu.case import Shape, tile_text  # noqa: E402
from gpu.cases import cases_of  # noqa: E402

HEADER = ("spec", "batch, queries, keys", "us", "predicted", "measured / predicted", "tile")


def options():
    parser = argparse.ArgumentParser(description="Times your own specs' kernels.")
    parser.add_argument("--build", type=Path, default=Path("build-mine"),
                        help="folder of build_gpu_cases.py --specs")
    parser.add_argument("--filter", default="", help="only specs whose name contains this")
    parser.add_argument("--milliseconds", type=float, default=40, help="timed, per spec and round")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", type=Path, help="default: in the build's folder")
    args = parser.parse_args()
    args.json = args.json or args.build / "bench_specs.json"
    return args


def measure(case, entry, args, flush):
    point = entry["predicted"][0]
    shape = Shape(point["batch"], point["seq_q"], point["seq_kv"])
    problem = tensors.draw(case, shape, [], 1, "cuda", on_host=False)
    us = 1000 * contest({case.name: Emitted(args.build, entry, problem)}, args, flush)[case.name]
    return {"case": case.name, "commit": entry["commit"], "shape": shape.text(), "us": us,
            "predicted_us": 1e6 * point["seconds"], "schedule": entry["schedule"],
            "tile": tile_text(case.spec, entry["schedule"])}


def print_row(row):
    cells = [row["case"], ", ".join(row["shape"].split(",")[:3]), f"{row['us']:.1f}",
             f"{row['predicted_us']:.1f}", f"{row['us'] / row['predicted_us']:.2f}", row["tile"]]
    print(f"| {' | '.join(cells)} |", flush=True)


def main():
    args = options()
    index = json.loads((args.build / "index.json").read_text())
    entries = {entry["name"]: entry for entry in index["cases"] if "library" in entry}
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    rows = []
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}\n")
    print(f"| {' | '.join(HEADER)} |\n|{'---|' * len(HEADER)}")
    for case in cases_of(index):
        if args.filter not in case.name or case.name not in entries:
            continue
        rows.append(measure(case, entries[case.name], args, flush))
        print_row(rows[-1])
        write_json(args.json, index["commit"], rows)  # each time: a later kernel may hang
        torch.cuda.empty_cache()
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
