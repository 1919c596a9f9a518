#!/usr/bin/env python3
"""Times kernels in which each query of packed texts has a list of keys.

  scripts/build_gpu_cases.py --group bench_storage --filter packed_lists    first, where nvcc is
  scripts/bench_packed_lists.py                                             then, where the GPU is

bf16: a query, or a chunk of 512, of each of a batch of texts of 512 to 16384 keys, drawn by the seed.
A list has 2048 of the keys up to its query's own, or all of fewer, each query's drawn for itself; the
heads of a key head share it. Packed keys, pages of 64 keys and of one, the same lists of one sequence
that all keys make, and our dense causal kernel take turns in one process; medians of event timings,
the L2 flushed before each call. Every result is first held to the formula in fp32.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from gpu.need import need  # noqa: E402

need("numpy", "torch")
import torch  # noqa: E402

from bench_decode import Batch, options  # noqa: E402
from bench_gpu import Emitted, contest, measure_beside  # noqa: E402
from bench_pages import paged_call  # noqa: E402
from gpu import storage, tensors  # noqa: E402
from gpu.case import Shape, tile_text  # noqa: E402

PAGES = ("_p64", "_p1")
HEADER = ("case", "us", "TFLOP/s", "pages of 64: us", "of 1: us", "one sequence: us", "dense: us",
          "times dense", "tile, stages")


class ListedBatch(Batch):
    """A batch of texts whose queries have lists."""

    def __init__(self, bench, seed):
        super().__init__(bench, seed)
        self.room, self.heads = bench.spec["tokens"]["indices"], bench.spec["heads"]
        shape = self.heads["kv"], self.q_begins[-1], self.room
        self.lists = torch.zeros(shape, dtype=torch.int32, device="cuda")
        self.counts = torch.zeros(shape[:2], dtype=torch.int32, device="cuda")
        random = torch.Generator(device="cuda")
        random.manual_seed(seed)
        for first_q, length in zip(self.q_begins, self.lengths):
            self.draw(slice(first_q, first_q + self.queries), length, random)
        self.begins = torch.tensor(self.kv_begins[:-1], dtype=torch.int32, device="cuda")
        self.inputs |= {"token_counts": self.counts, "token_indices": self.lists}

    def draw(self, rows, length, random):
        causal = super().kept(rows.start, length)
        shape = self.heads["kv"], *causal.shape
        scores = torch.rand(shape, generator=random, device="cuda").masked_fill_(~causal, -1)
        few = min(self.room, length)
        self.lists[:, rows, :few] = scores.topk(few, -1).indices.int()
        self.counts[:, rows] = causal.sum(-1).clamp(max=self.room).int()

    def kept(self, first_q, length):
        """[heads, queries, length]"""
        rows = slice(first_q, first_q + self.queries)
        counted = torch.arange(self.room, device="cuda") < self.counts[:, rows, None]
        shape = self.heads["kv"], self.queries, length + 1  # the last for what does not count
        keep = torch.zeros(shape, dtype=torch.bool, device="cuda")
        keep.scatter_(2, self.lists[:, rows].long().masked_fill(~counted, length), True)
        return keep[..., :-1].repeat_interleave(self.heads["q"] // self.heads["kv"], 0)

    def one_sequence_call(self, bench, entry, folder):
        """The kernel of lists that count the keys of all texts."""
        lists = self.lists + self.begins.repeat_interleave(self.queries)[:, None]
        shape = Shape(1, self.q_begins[-1], self.kv_begins[-1])
        inputs = {"token_counts": self.counts, "token_indices": lists.contiguous()}
        return Emitted(folder, entry, tensors.Problem(bench.case(), shape, *self.tokens, {}, inputs))


def measure(bench, dense, entries, args, flush):
    batch, every = ListedBatch(bench, args.seed), Batch(dense, args.seed)
    every.tokens, out = batch.tokens, batch.tokens[3]
    benches = {one.name: one for one in storage.packed_list_benches()}
    paged = [benches[bench.name + pages] for pages in PAGES]
    one = benches[f"{bench.name}_one"]
    calls = {bench.name: batch.call(bench, entries[bench.name], args.build),
             **{each.name: paged_call(batch, each, entries[each.name], args) for each in paged},
             one.name: batch.one_sequence_call(one, entries[one.name], args.build),
             dense.name: every.call(dense, entries[dense.name], args.build)}
    wrong = []
    for name, call in calls.items():
        out.poison()
        call()
        if not (every if name == dense.name else batch).is_right(out.view[0]):
            wrong.append(name)
    pairs = float(batch.counts.double().sum()) * batch.heads["q"] / batch.heads["kv"]
    return {"case": bench.name, "commit": entries[bench.name]["commit"],
            "milliseconds": contest(calls, args, flush), "wrong": wrong, "seed": args.seed,
            "flop": 2 * pairs * sum(bench.spec["head_dim"].values()),
            "tile": tile_text(bench.spec, entries[bench.name]["schedule"])}


def print_row(row, dense):
    ms, name = row["milliseconds"], row["case"]
    own = ms[name]
    beside = [f"{ms[name + suffix] * 1e3:.1f}" for suffix in (*PAGES, "_one")]
    cells = [name.removeprefix("storage_packed_lists_").replace("_", " "), f"{own * 1e3:.1f}",
             f"{row['flop'] / own * 1e-9:.0f}", *beside, f"{ms[dense] * 1e3:.1f}",
             f"{ms[dense] / own:.2f}", row["tile"]]
    print(f"| {' | '.join(cells)} |", flush=True)


def main():
    benches = {bench.name: bench for bench in storage.packed_list_benches()}
    pairs = [(bench, benches[f"{name}_dense"]) for name, bench in benches.items()
             if f"{name}_dense" in benches]
    args = options("Times lists of keys of packed texts.", "bench_packed_lists.json")
    return measure_beside(pairs, HEADER, measure, print_row, args)


if __name__ == "__main__":
    sys.exit(main())
