#!/usr/bin/env python3
"""Times what the fixed maximum costs at worst: inputs that defeat it against normal ones, by the
same kernels in one process.

  scripts/build_gpu_cases.py --group bench     first, where nvcc is
  scripts/bench_worst_case.py                  then, where the GPU is
  scripts/bench_worst_case.py --inputs         needs neither GPU nor PyTorch: checks that the scores
                                               are what they should be, and times nothing

step: every block's scores exceed the last maximum by more than 10.4. grow: scores grow by 100 along
the row. one: one huge score after others. Each along the order in which blocks are visited.
Medians of event timings, the L2 flushed before each call; the inputs take turns in rounds. The
share of blocks computed twice is of one head's scores, by arithmetic on the host.
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from gpu.need import need  # noqa: E402

need("numpy")
from gpu import worst_case  # noqa: E402
from gpu.case import Shape  # noqa: E402
from gpu.forward import bench_cases  # noqa: E402

CASES = [f"bench_d{dim}_s4096_{mask}" for dim in (64, 128) for mask in ("full", "causal")]


def options():
    parser = argparse.ArgumentParser(description="Times inputs that defeat the fixed maximum.")
    parser.add_argument("--build", type=Path, default=Path("build-gpu"),
                        help="folder of build_gpu_cases.py")
    parser.add_argument("--inputs", action="store_true", help="check the inputs, time nothing")
    parser.add_argument("--milliseconds", type=float, default=120,
                        help="timed, per input and round")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--json", type=Path, help="default: in the build's folder")
    args = parser.parse_args()
    args.json = args.json or Path(args.build) / "bench_worst_case.json"
    return args


def built_entries(build):
    """The index's entries of CASES; exits if a kernel is missing or has no fixed maximum."""
    index = json.loads((build / "index.json").read_text())
    entries = {entry["name"]: entry for entry in index["cases"]}
    for name in CASES:
        if "library" not in entries.get(name, {}):
            sys.exit(f"MISSING {name}: {entries.get(name, {}).get('error', 'not built')}")
        (source,) = (build / entries[name]["library"]).parent.glob("*.cu")
        if "absorb_fixed" not in source.read_text():
            sys.exit(f"{name}: this kernel has no fixed maximum")
    return index["commit"], [entries[name] for name in CASES]


def shares(bench, schedule):
    """Of each input, how many of the blocks are computed twice."""
    result = {}
    for kind in [None, *worst_case.KINDS]:
        tile_kv = schedule["tile_kv"]
        scores = worst_case.head_scores(kind, bench.seq, bench.head_dim[0], tile_kv, bench.causal)
        worst_case.check(kind, scores, tile_kv, bench.causal)
        result[kind or "normal"] = worst_case.share_computed_twice(scores, bench.causal, tile_kv)
    return result


def milliseconds(bench, entry, args, flush):
    """Median time of a call on each input, and whether all results are right."""
    import torch

    from bench_gpu import Emitted, contest, first_rows_agree
    from gpu import tensors

    calls, right, alive = {}, True, []  # a call holds addresses alone
    for kind in [None, *worst_case.KINDS]:
        problem = tensors.draw(bench.case(), Shape(bench.batch, bench.seq, bench.seq), [], 1,
                               "cuda", on_host=False)
        if kind:
            keys = worst_case.profile(kind, bench.seq, entry["schedule"]["tile_kv"],
                                      bench.causal)
            worst_case.imprint(problem.q.view, problem.k.view, torch.as_tensor(keys).cuda())
        call = Emitted(args.build, entry, problem)
        alive.append((problem, problem.saves))
        call()
        torch.cuda.synchronize()
        right = right and first_rows_agree(problem, problem.o.view)
        calls[kind or "normal"] = call
    medians = contest(calls, args, flush)
    del alive
    return medians, right


def print_row(row):
    cells = [row["case"].removeprefix("bench_").replace("_", " ")]
    if "milliseconds" in row:
        cells.append(f"{row['milliseconds']['normal']:.3f}")
    for kind in worst_case.KINDS:
        ratio = f"{row['ratios'][kind]:.2f}, " if "ratios" in row else ""
        cells.append(f"{ratio}{100 * row['computed_twice'][kind]:.1f} %")
    print(f"| {' | '.join(cells)} |{'' if row.get('right', True) else ' WRONG RESULT'}",
          flush=True)


def main():
    args = options()
    commit, entries = built_entries(args.build)
    benches = {bench.name: bench for bench in bench_cases()}
    if args.inputs:
        header, flush = ["blocks computed twice", *worst_case.KINDS], None
    else:
        import torch

        from bench_gpu import FLUSH_BYTES, write_json

        flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
        print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}\n")
        header = ["time over that of normal inputs, blocks computed twice", "normal, ms",
                  *worst_case.KINDS]
    print(f"| {' | '.join(header)} |\n|{'---|' * len(header)}")
    rows = []
    for entry in entries:
        bench = benches[entry["name"]]
        row = {"case": bench.name, "commit": entry["commit"], "schedule": entry["schedule"],
               "computed_twice": shares(bench, entry["schedule"])}
        if not args.inputs:
            row["milliseconds"], row["right"] = milliseconds(bench, entry, args, flush)
            row["ratios"] = {kind: row["milliseconds"][kind] / row["milliseconds"]["normal"]
                             for kind in worst_case.KINDS}
        rows.append(row)
        print_row(row)
        if not args.inputs:
            write_json(args.json, commit, rows)  # each time: a later kernel may hang
    return 0 if all(row.get("right", True) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
