#!/usr/bin/env python3
"""Times kernels of a few queries of packed sequences: the next tokens of a batch of texts, or chunks.

  scripts/build_gpu_cases.py --group bench_storage --filter decode    first, where nvcc is
  scripts/bench_decode.py                                             then, where the GPU is

bf16, head dim 128, causal: sequences of 512 to 16384 keys, drawn by the seed. Medians of event
timings, the L2 flushed before each call. The search's kernel, the same tile with the query heads
apart, and PyTorch's `varlen_attn` take turns in one process. TB/s: each key and value once, in the
time that the search's kernel took. Every result is first held to the formula in fp32.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from gpu.need import need  # noqa: E402

need("numpy", "torch")
import torch  # noqa: E402

from bench_gpu import Emitted, contest, measure_beside  # noqa: E402
from bench_storage import TOLERANCE, attend, draw_tokens, offsets  # noqa: E402
from gpu import storage, tensors  # noqa: E402
from gpu.case import Shape  # noqa: E402

HEADER = ("case", "us", "TB/s", "heads apart: us", "times", "varlen_attn: us", "times", "tile")


def options(description, json_name):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--build", type=Path, default=Path("build-gpu"),
                        help="folder of build_gpu_cases.py")
    parser.add_argument("--filter", default="", help="only cases whose name contains this")
    parser.add_argument("--milliseconds", type=float, default=30,
                        help="timed, per contestant and round")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1, help="of the lengths and the data")
    parser.add_argument("--json", type=Path, help="default: in the build's folder")
    args = parser.parse_args()
    args.json = args.json or args.build / json_name
    return args


class Batch:
    """The tokens of a batch of texts on the device."""

    def __init__(self, bench, seed):
        self.queries, self.lengths = bench.queries, bench.lengths(seed)
        count = len(self.lengths)
        self.q_begins, self.kv_begins = offsets([self.queries] * count), offsets(self.lengths)
        self.tokens = draw_tokens(bench.spec, self.q_begins[-1], self.kv_begins[-1], seed, "cuda")
        self.inputs = {name: torch.tensor(begins, dtype=torch.int32, device="cuda")
                       for name, begins in (("cu_seqlens_q", self.q_begins),
                                            ("cu_seqlens_kv", self.kv_begins))}

    def call(self, bench, entry, folder):
        """The emitted kernel, after which the output stands in the last of the tokens."""
        shape = Shape(len(self.lengths), self.queries, max(self.lengths))
        problem = tensors.Problem(bench.case(), shape, *self.tokens, {}, self.inputs)
        return Emitted(folder, entry, problem)

    def rival(self):
        from torch.nn.attention.varlen import varlen_attn

        q, k, v = (one.view[0] for one in self.tokens[:3])
        begins = self.inputs.values()
        return lambda: varlen_attn(q, k, v, *begins, self.queries, max(self.lengths),
                                   window_size=(-1, 0))

    def add_rival(self, calls):
        try:
            rival = self.rival()
            if not self.is_right(rival()):
                raise RuntimeError("its result is wrong")
            calls["varlen_attn"] = rival
        except Exception as error:  # older, or without a kernel for this card, or these heads
            print(f"  no varlen_attn: {(str(error).splitlines() or [type(error).__name__])[0]}")

    def kept(self, first_q, length):
        """Which pairs exist of the text whose queries begin there, [queries, length]."""
        places = torch.arange(length - self.queries, length, device="cuda")
        return torch.arange(length, device="cuda") <= places[:, None]

    def is_right(self, out):
        """Of `out`, [tokens, heads, dim]."""
        q, k, v = (one.view[0] for one in self.tokens[:3])
        for first_q, first, length in zip(self.q_begins, self.kv_begins, self.lengths):
            rows, keys = slice(first_q, first_q + self.queries), slice(first, first + length)
            exact = attend(q[rows], k[keys], v[keys], self.kept(first_q, length))
            error, size = (x.abs().amax(-1) for x in (out[rows].float().transpose(0, 1) - exact,
                                                      exact))
            if not bool((error <= TOLERANCE * size).all()):  # false for NaN
                return False
        return True


def measure(bench, apart, entries, args, flush):
    batch = Batch(bench, args.seed)
    out = batch.tokens[3]
    calls, wrong = {}, []
    for one in (bench, apart):
        call = batch.call(one, entries[one.name], args.build)
        out.poison()
        call()
        calls[one.name] = call
        if not batch.is_right(out.view[0]):
            wrong.append(one.name)
    batch.add_rival(calls)
    ms = contest(calls, args, flush)
    dims, heads = bench.spec["head_dim"], bench.spec["heads"]
    read = 2 * sum(batch.lengths) * heads["kv"] * (dims["qk"] + dims["v"])
    return {"case": bench.name, "commit": entries[bench.name]["commit"], "milliseconds": ms,
            "wrong": wrong, "seed": args.seed, "bytes": read,
            "schedule": entries[bench.name]["schedule"]}


def print_row(row, apart):
    ms, s = row["milliseconds"], row["schedule"]
    own = ms[row["case"]]

    def beside(name):
        return [f"{ms[name] * 1e3:.1f}", f"{ms[name] / own:.2f}"] if name in ms else ["", ""]

    marks = ("*" if s.get("pack_heads") else "") + ("+" if s.get("split_keys") else "")
    cells = [row["case"].removeprefix("storage_decode_").replace("_", " "), f"{own * 1e3:.1f}",
             f"{row['bytes'] / own * 1e-9:.2f}", *beside(apart), *beside("varlen_attn"),
             f"{64 * s['warpgroups']}x{s['tile_kv']}{marks}"]
    print(f"| {' | '.join(cells)} |", flush=True)


def main():
    benches = {bench.name: bench for bench in storage.decode_benches()}
    pairs = [(bench, benches[f"{name}_apart"]) for name, bench in benches.items()
             if f"{name}_apart" in benches]
    args = options("Times a few queries of packed sequences.", "bench_decode.json")
    return measure_beside(pairs, HEADER, measure, print_row, args)


if __name__ == "__main__":
    sys.exit(main())
