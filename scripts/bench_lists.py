#!/usr/bin/env python3
"""Times kernels in which each query has a list of keys (top-k attention).

  scripts/build_gpu_cases.py --group bench_storage --filter lists    first, where nvcc is
  scripts/bench_lists.py                                             then, where the GPU is

bf16, causal; batch 1, or the last queries of each of a batch of caches. A list has 2048 of the keys up
to its query's own, each query's drawn for itself; the heads of a key head share it. A kernel, our
dense causal one of the same heads and, where there are as many queries as keys, compiled
FlexAttention, which reads a table [heads_kv, queries, keys], take turns in one process; the L2 is
flushed before each call. TFLOP/s are of pairs that exist. Every result is first held to the formula
in fp32.
"""

import sys
from functools import partial
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


def draw_lists(bench, seed, device):
    """[batch, heads_kv, queries, room]: i32 keys, none twice, and how many of them count, [batch,
    heads_kv, queries].
    """
    spec, seq = bench.spec, bench.seq
    room, heads = spec["tokens"]["indices"], spec["heads"]["kv"]
    random = torch.Generator(device=device)
    random.manual_seed(seed)
    lists = torch.empty((bench.batch, heads, bench.queries, room), dtype=torch.int32, device=device)
    keys = torch.arange(seq, device=device)
    own = positions(bench, device)
    for of_head in lists.flatten(0, 1):
        for rows in torch.arange(bench.queries, device=device).split(DRAWN_ROWS):
            scores = torch.rand((len(rows), seq), generator=random, device=device)
            scores.masked_fill_(keys > own[rows, None], -1)
            of_head[rows] = scores.topk(room, 1).indices.int()
    counts = (own + 1).clamp(max=room).int().expand(lists.shape[:-1]).contiguous()
    return lists, counts


def positions(bench, device):
    """Of the queries, the keys that are their own: the last ones."""
    return torch.arange(bench.seq - bench.queries, bench.seq, device=device)


def keep_of(spec, lists, counts, rows, seq):
    """Which pairs exist, [heads, rows, seq]; `lists` of one batch."""
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
    tokens = draw_tokens(spec, bench.queries, seq, args.seed, "cuda", bench.batch)
    lists, counts = draw_lists(bench, args.seed, "cuda")
    keys, own = torch.arange(seq, device="cuda"), positions(bench, "cuda")
    inputs = {"token_counts": counts, "token_indices": lists}
    calls, wrong = {}, []
    listed = lambda rows, b=0: keep_of(spec, lists[b], counts[b], rows, seq)  # noqa: E731
    causal = lambda rows, b=0: keys <= own[rows, None]  # noqa: E731
    for one, keep, given in (bench, listed, inputs), (dense, causal, {}):
        shape = Shape(bench.batch, bench.queries, seq)
        problem = tensors.Problem(one.case(), shape, *tokens, {}, given)
        calls[one.name] = Emitted(args.build, entries[one.name], problem)
        tokens[3].poison()
        calls[one.name]()
        if not all(is_right(spec, tokens, tokens[3].view[b], partial(keep, b=b), b)
                   for b in range(bench.batch)):
            wrong.append(one.name)
    if not args.no_rivals and seq == bench.queries <= LONGEST_RIVAL:
        add_flex(calls, lambda: flex_call(bench, tokens, lists[0], counts[0]),
                 lambda out: is_right(spec, tokens, out, listed))
    ms = contest(calls, args, flush)
    group = spec["heads"]["q"] // spec["heads"]["kv"]
    pairs = float(counts.double().sum()) * group
    return measured(bench, entries[bench.name], args, ms, wrong, pairs)


def main():
    benches = {bench.name: bench for bench in storage.list_benches()}
    pairs = [(bench, benches[bench.yardstick]) for bench in benches.values() if bench.yardstick]
    args = options("Times lists of keys that each query has.", "bench_lists.json")
    return measure_beside(pairs, HEADER, measure, print_row, args)


if __name__ == "__main__":
    sys.exit(main())
