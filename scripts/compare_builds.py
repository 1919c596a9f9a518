#!/usr/bin/env python3
"""Times the kernels of two builds by turns: what a change of the generator does to their speed.

  scripts/build_gpu_cases.py --attngen OLD --out build-old --filter variant_retention
  scripts/build_gpu_cases.py --filter variant_retention
  scripts/compare_builds.py build-old build-gpu

Both builds' kernels of a case run on the same tensors, in an order drawn anew each round, with the
L2 flushed. A case that only one of them has is left out. "speed" is the new one's over the old one's;
the exit status is 0 only if all results were right.
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from gpu.need import need  # noqa: E402

need("numpy", "torch")
import torch  # noqa: E402

import bench_lists  # noqa: E402
import bench_packed_lists  # noqa: E402
import bench_storage  # noqa: E402
import bench_variants  # noqa: E402
from bench_gpu import FLUSH_BYTES, Emitted, first_rows_agree, turns  # noqa: E402
from gpu import storage, tensors  # noqa: E402
from gpu.case import Shape  # noqa: E402
from gpu.file_benches import file_benches  # noqa: E402
from gpu.forward import bench_cases  # noqa: E402
from gpu.variant_benches import variant_benches  # noqa: E402


def options():
    parser = argparse.ArgumentParser(description="Times the kernels of two builds by turns.")
    parser.add_argument("old", type=Path, help="folder of build_gpu_cases.py")
    parser.add_argument("new", type=Path, help="another")
    parser.add_argument("--filter", default="", help="only cases whose name contains this")
    parser.add_argument("--milliseconds", type=float, default=60, help="timed, per kernel and round")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1, help="of the lengths, the blocks, the data")
    return parser.parse_args()


def entries_of(build):
    """The compiled cases of a build, by name."""
    cases = json.loads((build / "index.json").read_text())["cases"]
    return {entry["name"]: entry for entry in cases if "library" in entry}


def forward_pair(bench, builds, _):
    shape = Shape(bench.batch, bench.seq_q, bench.seq)
    problem = tensors.draw(bench.case(), shape, [], 1, "cuda", on_host=False)
    old, new = (Emitted(build, entry, problem) for build, entry in builds)
    new()
    torch.cuda.synchronize()
    return old, new, first_rows_agree(problem, problem.o.view)


def variant_pair(bench, builds, _):
    old, new = (bench_variants.Contestant(bench, entry, build) for build, entry in builds)
    return old.call, new.call, new.is_right()


def storage_pair(bench, builds, args):
    total = sum(bench.lengths(args.seed))
    tokens = bench_storage.draw_tokens(bench.spec, total, total, args.seed, "cuda")
    old, new = (bench_storage.Contestant(bench, entry, tokens,
                                         argparse.Namespace(**{**vars(args), "build": build}))
                for build, entry in builds)
    return old.call, new.call, new.is_right()


def lists_pair(bench, builds, args):
    tokens = bench_storage.draw_tokens(bench.spec, bench.queries, bench.seq, args.seed, "cuda",
                                       bench.batch)
    lists, counts = bench_lists.draw_lists(bench, args.seed, "cuda")
    inputs = {"token_counts": counts, "token_indices": lists}
    problem = tensors.Problem(bench.case(), Shape(bench.batch, bench.queries, bench.seq), *tokens, {},
                              inputs)
    old, new = (Emitted(build, entry, problem) for build, entry in builds)
    new()
    return old, new, all(
        bench_lists.is_right(bench.spec, tokens, tokens[3].view[b], lambda rows, b=b: bench_lists.keep_of(
            bench.spec, lists[b], counts[b], rows, bench.seq), b) for b in range(bench.batch))


def packed_lists_pair(bench, builds, args):
    batch = bench_packed_lists.ListedBatch(bench, args.seed)
    old, new = (batch.call(bench, entry, build) for build, entry in builds)
    new()
    return old, new, batch.is_right(batch.tokens[3].view[0])


def packed_lists():
    return [bench for bench in storage.packed_list_benches()
            if bench.spec.get("varlen") and "tokens" in bench.spec and "kv_cache" not in bench.spec]


def benches():
    """(case, what makes the pair of its calls, and says whether the new one is right)"""
    for pair, cases in ((forward_pair, bench_cases()),
                        (variant_pair, [*file_benches(), *variant_benches()]),
                        (storage_pair, storage.storage_benches()),
                        (lists_pair, [b for b in storage.list_benches() if "tokens" in b.spec]),
                        (packed_lists_pair, packed_lists())):
        for bench in cases:
            yield bench, pair


def main():
    args = options()
    old, new = entries_of(args.old), entries_of(args.new)
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}\n")
    print("| case | old, ms | new, ms | speed |\n|---|---|---|---|")
    speeds, wrong = [], []
    for bench, pair in benches():
        name = bench.name
        if args.filter not in name or name not in old or name not in new:
            continue
        old_call, new_call, right = pair(bench, [(args.old, old[name]), (args.new, new[name])], args)
        ms = turns({"old": old_call, "new": new_call}, args, flush)
        speeds.append(ms["old"] / ms["new"])
        wrong += [] if right else [name]
        print(f"| {name} | {ms['old']:.4f} | {ms['new']:.4f} | {speeds[-1]:.3f} |"
              f"{'' if right else ' WRONG RESULT'}", flush=True)
    if speeds:
        print(f"{len(speeds)} kernels, {min(speeds):.3f} to {max(speeds):.3f}")
    return 0 if speeds and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
