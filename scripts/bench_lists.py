#!/usr/bin/env python3
"""Times kernels in which each query has a list of keys (top-k attention).

  scripts/build_gpu_cases.py --group bench_storage --filter lists    first, where nvcc is
  scripts/bench_lists.py                                             then, where the GPU is

bf16, causal, batch 1. A list has 2048 of the keys up to its query's own, each query's drawn for
itself; the heads of a key head share it. A kernel, our dense causal one of the same heads and compiled
FlexAttention, which reads a table [heads_kv, queries, keys], take turns in one process; the L2 is
flushed before each call. TFLOP/s are of pairs that exist. Every result is first held to the formula
in fp32.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from gpu.need import need  # noqa: E402

need("numpy", "torch")
import torch  # noqa: E402

from bench_gpu import Emitted, contest, measure_beside  # noqa: E402
from bench_selected import (HEADER, add_flex, flex_over, is_right, measured, options,  # noqa: E402
                            print_row)
from bench_storage import draw_tokens  # noqa: E402
from gpu import storage, tensors  # noqa: E402
from gpu.case import Shape  # noqa: E402

LONGEST_RIVAL = 16384  # beyond which the rival's table takes more than a gigabyte a key head
DRAWN_ROWS = 1024  # at a time


def draw_lists(spec, seq, seed, device):
    """[heads_kv, seq, room]: i32 keys, none twice, and how many of them count, [heads_kv, seq]."""
    room, heads = spec["tokens"]["indices"], spec["heads"]["kv"]
    random = torch.Generator(device=device)
    random.manual_seed(seed)
    lists = torch.empty((heads, seq, room), dtype=torch.int32, device=device)
    keys = torch.arange(seq, device=device)
    for head in range(heads):
        for rows in torch.arange(seq, device=device).split(DRAWN_ROWS):
            scores = torch.rand((len(rows), seq), generator=random, device=device)
            scores.masked_fill_(keys > rows[:, None], -1)
            lists[head, rows] = scores.topk(room, 1).indices.int()
    counts = (keys + 1).clamp(max=room).int().expand(heads, seq).contiguous()
    return lists, counts


def keep_of(spec, lists, counts, rows, seq):
    """Which pairs exist, [heads, rows, seq]."""
    heads, room = spec["heads"], spec["tokens"]["indices"]
    keep = torch.zeros((heads["kv"], len(rows), seq), dtype=torch.bool, device=lists.device)
    counted = torch.arange(room, device=lists.device) < counts[:, rows, None]
    keep.scatter_(2, lists[:, rows].long(), counted)
    return keep.repeat_interleave(heads["q"] // heads["kv"], 0)


def flex_call(bench, tokens, lists, counts):
    spec, seq = bench.spec, bench.seq
    group = spec["heads"]["q"] // spec["heads"]["kv"]
    kept = torch.zeros((spec["heads"]["kv"], seq, seq), dtype=torch.bool, device=lists.device)
    for rows in torch.arange(seq, device=lists.device).split(DRAWN_ROWS):
        kept[:, rows] = keep_of(spec, lists, counts, rows, seq)[::group]

    def exists(b, h, q, k):
        return kept[h // group, q, k]

    return flex_over(bench, tokens, exists)


def measure(bench, dense, entries, args, flush):
    torch._dynamo.reset()
    spec, seq = bench.spec, bench.seq
    tokens = draw_tokens(spec, seq, seq, args.seed, "cuda")
    lists, counts = draw_lists(spec, seq, args.seed, "cuda")
    keys = torch.arange(seq, device="cuda")
    inputs = {"token_counts": counts[None].contiguous(), "token_indices": lists[None].contiguous()}
    calls, wrong = {}, []
    listed = lambda rows: keep_of(spec, lists, counts, rows, seq)  # noqa: E731
    causal = lambda rows: keys <= rows[:, None]  # noqa: E731
    for one, keep, given in (bench, listed, inputs), (dense, causal, {}):
        problem = tensors.Problem(one.case(), Shape(1, seq, seq), *tokens, {}, given)
        calls[one.name] = Emitted(args.build, entries[one.name], problem)
        tokens[3].poison()
        calls[one.name]()
        if not is_right(spec, tokens, tokens[3].view[0], keep):
            wrong.append(one.name)
    if not args.no_rivals and seq <= LONGEST_RIVAL:
        add_flex(calls, lambda: flex_call(bench, tokens, lists, counts),
                 lambda out: is_right(spec, tokens, out, listed))
    ms = contest(calls, args, flush)
    pairs = float(counts[0].double().sum()) * spec["heads"]["q"]
    return measured(bench, entries[bench.name], args, ms, wrong, pairs)


def main():
    benches = {bench.name: bench for bench in storage.list_benches()}
    pairs = [(bench, benches[bench.yardstick]) for bench in benches.values() if bench.yardstick]
    args = options("Times lists of keys that each query has.", "bench_lists.json")
    return measure_beside(pairs, HEADER, measure, print_row, args)


if __name__ == "__main__":
    sys.exit(main())
