#!/usr/bin/env python3
"""Holds emitted kernels on a GPU to the double-precision oracle.

  scripts/build_gpu_cases.py       first, where nvcc is: generates and compiles into build-gpu/
  scripts/gpu_check.py             then, where the GPU is: needs numpy and PyTorch
  scripts/gpu_check.py --filter alibi --quick
  scripts/gpu_check.py --filter alibi --shape 2,239,799,padded,normal    one call again
  scripts/gpu_check.py --build build-mine      your own specs (build_gpu_cases.py --specs)

For every kernel and shape: each output is within the FlashAttention rule of the exact result (all
rows of small calls, else a seeded sample with the tile edges; plain softmax is compared over whole
tensors too), nothing around the outputs is written, a second run, from a thread of its own, and a
replayed graph give the same bits. docs/verification.md says why these. The exit status is 0 only if
nothing failed or is missing.
"""

import argparse
import dataclasses
import datetime
import json
import os
import shlex
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from gpu.cases import GROUPS, cases_of  # noqa: E402
from gpu.supervise import run_cases  # noqa: E402

PRINTED_FAILURES = 3  # of a case; the JSON has all


def options():
    parser = argparse.ArgumentParser(description="Holds emitted kernels to the oracle.")
    parser.add_argument("--build", default="build-gpu", help="folder of build_gpu_cases.py")
    parser.add_argument("--filter", default="", help="only cases whose name contains this")
    parser.add_argument("--group", default="", choices=GROUPS, help="only this group")
    parser.add_argument("--shape", default="", help="batch,seq_q,seq_kv,strides,logits: only this")
    parser.add_argument("--quick", action="store_true", help="few shapes of each case")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pairs", type=int, default=1_000_000,
                        help="pairs that the oracle computes for each call")
    parser.add_argument("--workers", type=int, default=4, help="processes")
    parser.add_argument("--seconds", type=float, default=480, help="start no case after this long")
    parser.add_argument("--json", type=Path, help="default: in the build's folder")
    args = parser.parse_args()
    args.json = args.json or Path(args.build) / "gpu_check.json"
    return args


def settings_of(args):
    from gpu.case_check import Settings  # needs PyTorch, and --help does not

    threads = max(1, (os.cpu_count() or 1) // args.workers)
    return Settings(build=args.build, seed=args.seed, quick=args.quick, shape=args.shape,
                    pairs=args.pairs, threads=threads)


def chunks_of(cases):
    """Cases that share data stay together, in their order; the longest chunks first."""
    chunks = {}
    for case in cases:
        chunks.setdefault(case.data, []).append(case.name)
    return sorted(chunks.values(), key=len, reverse=True)


def print_result(result, seed):
    for failure in result["failures"][:PRINTED_FAILURES]:
        print(f"FAIL --filter {result['case']} --shape {failure['shape']} --seed {seed}: "
              f"{failure['text']}")
    if len(result["failures"]) > PRINTED_FAILURES:
        print(f"  and {len(result['failures']) - PRINTED_FAILURES} more")
    worst = ", ".join(f"{name} {value['ratio']:.2f}" for name, value in result["worst"].items())
    state = "FAIL" if result["failures"] else "ok  "
    print(f"{state} {result['case']:34s} {result['calls']:3d} calls {result['rows']:6d} rows "
          f"{result['seconds']:5.1f} s  {worst}", flush=True)


def device_facts():
    import torch  # after the run: the workers need the device first

    return {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda}


def main():
    args = options()
    settings = settings_of(args)
    index = json.loads((Path(args.build) / "index.json").read_text())
    entries = {entry["name"]: entry for entry in index["cases"]}
    chosen = [c for c in cases_of(index)
              if args.filter in c.name and args.group in ("", c.group)]
    built = [c for c in chosen if "library" in entries.get(c.name, {})]
    missing = [{"case": c.name, "error": entries.get(c.name, {}).get("error", "not built")}
               for c in chosen if c not in built]
    results = []

    def on_result(result):
        results.append({**result, "commit": entries[result["case"]]["commit"]})
        print_result(result, args.seed)

    began = time.monotonic()
    run_cases(chunks_of(built), json.dumps(dataclasses.asdict(settings)), args.workers, on_result,
              deadline=began + args.seconds)
    seconds = time.monotonic() - began
    checked = {result["case"] for result in results}
    left_out = [c.name for c in built if c.name not in checked]
    facts = device_facts()
    for one in missing:
        print(f"MISSING {one['case']}: {one['error']}")
    failed = [r["case"] for r in results if r["failures"]]
    if failed:
        print(f"failed: {' '.join(failed)}")
    print(f"{len(results)} kernels, {sum(r['calls'] for r in results)} calls, "
          f"{sum(r['rows'] for r in results)} rows held to the oracle in {seconds:.0f} s on "
          f"{facts['device']}: {len(failed)} kernels failed, {len(missing)} missing, "
          f"{len(left_out)} left out")
    Path(args.json).write_text(json.dumps({
        **facts, "commit": index["commit"], "draw": index["draw"], "specs": index.get("specs", []),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": shlex.join(sys.argv), "seed": args.seed, "seconds": round(seconds, 1),
        "failed": failed, "missing": missing, "left_out": left_out,
        "cases": sorted(results, key=lambda r: r["case"])}, indent=1) + "\n")
    return 1 if failed or missing or left_out or not results else 0


if __name__ == "__main__":
    sys.exit(main())
