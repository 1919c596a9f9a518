#!/usr/bin/env python3
"""Times kernels in which each query of a key head chooses its blocks of keys (native sparse attention).

  scripts/build_gpu_cases.py --group bench_storage --filter selected    first, where nvcc is
  scripts/bench_selected.py                                             then, where the GPU is

bf16, causal, batch 1. Each query has its own block, the one before, the first, and others up to as
many as a list has room for: the best of scores that stay the same for some twenty queries (alike), or
of its own (apart). A kernel, our dense causal one of the same heads and compiled FlexAttention, which
reads the choices as a table [heads_kv, queries, blocks], take turns in one process; the L2 is flushed
before each call. TFLOP/s are of pairs that exist. Every result is first held to the formula in fp32.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from gpu.need import need  # noqa: E402

need("numpy", "torch")
import torch  # noqa: E402

from bench_gpu import Emitted, contest, measure_beside  # noqa: E402
from bench_storage import TOLERANCE, attend, draw_tokens  # noqa: E402
from gpu import storage, tensors  # noqa: E402
from gpu.case import Shape, tile_text  # noqa: E402

ROW_STEP = 997  # of the rows checked
LONGEST_RIVAL = 32768  # beyond which the rival's table of blocks takes minutes to make
KEPT_SCORES = 0.95  # of a query's scores that the next one has too, where they are alike
HEADER = ("case", "ms", "TFLOP/s", "dense: ms", "times", "FlexAttention: ms", "times", "tile")


def options(description, file):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--build", type=Path, default=Path("build-gpu"),
                        help="folder of build_gpu_cases.py")
    parser.add_argument("--filter", default="", help="only cases whose name contains this")
    parser.add_argument("--milliseconds", type=float, default=60,
                        help="timed, per contestant and round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1, help="of the choices and the data")
    parser.add_argument("--no-rivals", action="store_true", help="our own kernels alone")
    parser.add_argument("--json", type=Path, help="default: in the build's folder")
    args = parser.parse_args()
    args.json = args.json or args.build / file
    return args


def choose(spec, seq, alike, seed, device):
    """[heads_kv, seq, most]: i32 blocks that each query chooses, none twice, and how many of them
    count, [heads_kv, seq].
    """
    blocks = spec["blocks"]
    size, most, heads = blocks["size"], blocks["most"], spec["heads"]["kv"]
    cells = -(-seq // size)
    random = torch.Generator(device=device)
    random.manual_seed(seed)
    chosen = torch.empty((heads, seq, most), dtype=torch.int32, device=device)
    for head in range(heads):
        shape = (seq, cells)
        scores = torch.rand(shape, generator=random, device=device)
        if alike:  # each block's score is that of the last query that drew it anew
            anew = torch.rand(shape, generator=random, device=device) > KEPT_SCORES
            last = torch.where(anew, torch.arange(seq, device=device)[:, None], 0).cummax(0).values
            scores = scores.gather(0, last)
        own = torch.arange(seq, device=device)[:, None] // size
        cell = torch.arange(cells, device=device)
        scores[:, 0] = 2
        scores[(cell == own) | (cell == own - 1)] = 3
        scores[cell > own] = -1
        chosen[head] = scores.topk(min(most, cells), 1).indices.int()
    own = torch.arange(seq, device=device) // size
    counts = (own + 1).clamp(max=most).int().expand(heads, seq).contiguous()
    return chosen, counts


def keep_of(spec, chosen, counts, rows, seq):
    """Which pairs exist, [heads, rows, seq]."""
    blocks, heads = spec["blocks"], spec["heads"]
    cells = -(-seq // blocks["size"])
    kept = torch.zeros((heads["kv"], len(rows), cells), dtype=torch.bool, device=chosen.device)
    counted = torch.arange(blocks["most"], device=chosen.device) < counts[:, rows, None]
    kept.scatter_(2, chosen[:, rows].long(), counted)
    keys = torch.arange(seq, device=chosen.device)
    keep = kept[:, :, keys // blocks["size"]] & (keys <= rows[:, None])
    return keep.repeat_interleave(heads["q"] // heads["kv"], 0)


def is_right(spec, tokens, out, keep_rows, b=0):
    q, k, v = (one.view[b] for one in tokens[:3])
    rows = torch.arange(0, len(q), ROW_STEP, device=q.device)
    for some in rows.split(8):
        exact = attend(q[some], k, v, keep_rows(some))
        error, size = (x.abs().amax(-1) for x in (out[some].float().transpose(0, 1) - exact, exact))
        if not bool((error <= TOLERANCE * size).all()):  # false for NaN
            return False
    return not bool(out.isnan().any())


def flex_over(bench, tokens, exists):
    """Compiled FlexAttention, of the pairs of which `exists(b, h, q, k)` holds."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    heads, seq = bench.spec["heads"]["q"], bench.seq
    mask = create_block_mask(exists, None, heads, seq, seq, device="cuda", _compile=True)
    compiled = torch.compile(flex_attention)
    q, k, v = (one.view.transpose(1, 2) for one in tokens[:3])
    return lambda: compiled(q, k, v, block_mask=mask, enable_gqa=True).transpose(1, 2)[0]


def flex_call(bench, tokens, chosen, counts):
    spec, seq, size = bench.spec, bench.seq, bench.spec["blocks"]["size"]
    group = spec["heads"]["q"] // spec["heads"]["kv"]
    kept = torch.zeros((spec["heads"]["kv"], seq, -(-seq // size)), dtype=torch.bool,
                       device=chosen.device)
    counted = torch.arange(chosen.shape[-1], device=chosen.device) < counts[:, :, None]
    kept.scatter_(2, chosen.long(), counted)

    def exists(b, h, q, k):
        return kept[h // group, q, k // size] & (k <= q)

    return flex_over(bench, tokens, exists)


def add_flex(calls, make, is_right_result):
    try:
        call = make()
        if not is_right_result(call()):
            raise RuntimeError("its result is wrong")
        calls["flex"] = call
    except Exception as error:  # older, or without a kernel for these heads
        print(f"  no rival: {(str(error).splitlines() or [type(error).__name__])[0]}")


def measured(bench, entry, args, ms, wrong, pairs):
    """A row of results; `pairs`: that exist."""
    flop = 2 * pairs * sum(bench.spec["head_dim"].values())
    return {"case": bench.name, "commit": entry["commit"], "milliseconds": ms, "wrong": wrong,
            "seed": args.seed, "tflops": 1e-9 * flop / ms[bench.name],
            "schedule": entry["schedule"], "tile": tile_text(bench.spec, entry["schedule"])}


def measure(bench, dense, entries, args, flush):
    torch._dynamo.reset()
    spec, seq = bench.spec, bench.seq
    tokens = draw_tokens(spec, seq, seq, args.seed, "cuda")
    chosen, counts = choose(spec, seq, bench.alike, args.seed, "cuda")
    causal = lambda rows: torch.arange(seq, device="cuda") <= rows[:, None]  # noqa: E731
    selected = lambda rows: keep_of(spec, chosen, counts, rows, seq)  # noqa: E731
    lists = {"block_counts": counts[None].contiguous(), "block_indices": chosen[None].contiguous()}
    calls, wrong = {}, []
    for one, keep, inputs in (bench, selected, lists), (dense, causal, {}):
        problem = tensors.Problem(one.case(), Shape(1, seq, seq), *tokens, {}, inputs)
        calls[one.name] = Emitted(args.build, entries[one.name], problem)
        tokens[3].poison()
        calls[one.name]()
        if not is_right(spec, tokens, tokens[3].view[0], keep):
            wrong.append(one.name)
    if not args.no_rivals and seq <= LONGEST_RIVAL:
        add_flex(calls, lambda: flex_call(bench, tokens, chosen, counts),
                 lambda out: is_right(spec, tokens, out, selected))
    ms = contest(calls, args, flush)
    size = spec["blocks"]["size"]
    keys = torch.arange(seq, dtype=torch.float64)  # of a query: whole blocks and a part of its own
    most = spec["blocks"]["most"]
    pairs = float((torch.minimum(keys // size, torch.tensor(most - 1.0)) * size
                   + keys % size + 1).sum()) * spec["heads"]["q"]
    return measured(bench, entries[bench.name], args, ms, wrong, pairs)


def print_row(row, dense):
    ms = row["milliseconds"]
    own = ms[row["case"]]

    def beside(name):
        return [f"{ms[name]:.4g}", f"{ms[name] / own:.2f}"] if name in ms else ["", ""]

    cells = [row["case"].split("_", 2)[2].replace("_", " "), f"{own:.4g}",
             f"{row['tflops']:.0f}", *beside(dense), *beside("flex"),
             row["tile"]]
    print(f"| {' | '.join(cells)} |", flush=True)


def main():
    benches = {bench.name: bench for bench in storage.selected_benches()}
    pairs = [(bench, benches[bench.yardstick]) for bench in benches.values() if bench.yardstick]
    args = options("Times blocks of keys that each query chooses.", "bench_selected.json")
    return measure_beside(pairs, HEADER, measure, print_row, args)


if __name__ == "__main__":
    sys.exit(main())
