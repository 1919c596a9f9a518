#!/usr/bin/env python3
"""Times block-sparse kernels and kernels of packed sequences against our own dense ones.

  scripts/build_gpu_cases.py --group bench_storage    first, where nvcc is
  scripts/bench_storage.py                            then, where the GPU is

bf16, head dim 128. Block-sparse: 8192 tokens, no mask; of each head a random fifth of the blocks is
kept, the diagonal among them, anywhere or by patterns (storage.PATTERNS); `group` has 32/8 heads
too, and those that share keys keep the same.
Packed: 65536 tokens, 32/8 heads, sequences of random lengths 128..8192. A kernel, its dense ones and
PyTorch's take turns in one process (bench_gpu.contest).

`share` is the time that the same work would take at the rates of the dense kernels, over the time
that it took. Of a part the dense kernel is the one at the length nearest to the part's:

  share = sum over parts of flop(part) / rate(dense kernel) / time

- Packed: a part is a sequence, and its flop are those of its own pairs, without padding. The dense
  kernels run 65536 tokens in sequences of 512, 1024, 2048, 4096 or 8192 under the same mask, each
  with the schedule that the search chose for just that. So `share` is that of the ideal without
  padding.
- Block-sparse: the only part is all pairs of the kept blocks, and the dense kernel runs the same
  heads at the same 8192. So `share` is the rate per visited tile over the dense kernel's. Blocks
  are counted, not tile rows: a warpgroup visits those that its own rows keep.

Every kernel's result, the dense ones' too, is first held to the formula in fp32.
"""

import argparse
import json
import sys
from itertools import accumulate
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from gpu.need import need  # noqa: E402

need("numpy", "torch")
import torch  # noqa: E402

from bench_gpu import FLUSH_BYTES, Emitted, contest, write_json  # noqa: E402
from gpu import fills, storage, tensors  # noqa: E402
from gpu.case import Shape  # noqa: E402
from gpu.guarded import Guarded, strides_of  # noqa: E402

ROW_STEP = 61  # of the rows checked: less than a block, and prime
TOLERANCE = 0.02  # of the largest element of a row
HEADER = ["forward, bf16", "ms", "TFLOP/s", "ideal TFLOP/s", "share", "rival", "rival ms",
          "times the rival", "tile"]


def options():
    parser = argparse.ArgumentParser(description="Times block-sparse and packed kernels.")
    parser.add_argument("--build", default="build-gpu", help="folder of build_gpu_cases.py")
    parser.add_argument("--filter", default="", help="only cases whose name contains this")
    parser.add_argument("--milliseconds", type=float, default=120,
                        help="timed, per contestant and round")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1, help="of the lengths, the blocks, the data")
    parser.add_argument("--no-rivals", action="store_true", help="our own kernels alone")
    parser.add_argument("--json", type=Path, help="default: in the build's folder")
    args = parser.parse_args()
    args.json = args.json or Path(args.build) / "bench_storage.json"
    return args


def draw_tokens(spec, queries, keys, seed, device, batch=1):
    """q, k, v and o as [batch, tokens, heads, dim]: of a batch of 1 any split into sequences may be
    laid over them.
    """
    random = torch.Generator(device=device)
    random.manual_seed(seed)

    def tensor(tokens, heads, dim):
        strides = strides_of("default", spec["layout"], tokens, heads, dim)
        return Guarded((batch, tokens, heads, dim), strides, spec["dtype"], device)

    heads, dims = spec["heads"], spec["head_dim"]
    q, k, v = (tensor(tokens, heads[h], dims[d])
               for tokens, h, d in ((queries, "q", "qk"), (keys, "kv", "qk"), (keys, "kv", "v")))
    for one in (q, k, v):
        one.view.copy_(torch.randn(one.view.shape, generator=random, device=device))
    tensors.share_columns(spec, k, v)
    return q, k, v, tensor(queries, heads["q"], dims["v"])


def draw_gates(spec, tokens, seed, device):
    """[heads, tokens]: running sums of the logarithms of forget gates."""
    random = torch.Generator(device=device)
    random.manual_seed(seed)
    return fills.log_gates((spec["heads"]["q"], tokens), None, random, device)


def draw_kept(heads, side, seed, pattern):
    """[heads, side, side]: in each head about storage.KEPT of the blocks, the diagonal among them."""
    random = torch.Generator()
    random.manual_seed(seed)
    row, key = torch.arange(side)[:, None], torch.arange(side)[None]
    if pattern == "stripes":  # a half each, of which a tenth is in both
        width = round(storage.KEPT / 2 * side)
        columns = torch.rand((heads, 1, side), generator=random).argsort(-1) < width
        return columns | ((row - key).abs() <= width // 2)
    if pattern == "slashes":
        runs = round(storage.KEPT * side / storage.SLASH)
        first = torch.randint(side, (heads, runs), generator=random)
        first[:, 0] = 0
        diagonal = (row - key - first[:, :, None, None]) % side  # [heads, runs, side, side]
        return (diagonal < storage.SLASH).any(1)
    order = torch.rand((heads, side, side), generator=random, dtype=torch.float64)
    order.diagonal(dim1=1, dim2=2).fill_(-1)
    last = order.flatten(1).kthvalue(round(storage.KEPT * side * side), dim=1).values
    return order <= last[:, None, None]


def offsets(lengths):
    return [0, *accumulate(lengths)]


class Contestant:
    """A kernel on the device over given tokens."""

    def __init__(self, bench, entry, tokens, args, device="cuda"):
        self.bench, self.entry = bench, entry
        self.lengths = bench.lengths(args.seed)
        inputs, self.kept = {}, None
        if "blocks" in bench.spec:
            side = bench.seq // bench.spec["blocks"]["size"]
            kept = draw_kept(tensors.block_heads(bench.spec), side, args.seed, bench.pattern)
            kept = kept.to(device)
            inputs = tensors.block_inputs(bench.spec, kept[None])
            self.kept = kept.repeat_interleave(bench.spec["heads"]["q"] // len(kept), 0)
        if "varlen" in bench.spec:
            begins = torch.tensor(offsets(self.lengths), dtype=torch.int32, device=device)
            inputs = {"cu_seqlens_q": begins, "cu_seqlens_kv": begins}
        self.gates = None
        if "inputs" in bench.spec:
            self.gates = inputs["gates"] = draw_gates(bench.spec, int(begins[-1]), args.seed, device)
        shape = Shape(len(self.lengths), max(self.lengths), max(self.lengths))
        self.problem = tensors.Problem(bench.case(), shape, *tokens, {}, inputs)
        self.call = Emitted(Path(args.build), entry, self.problem)

    def parts(self):
        """(length, flop) of each sequence; of a block-sparse kernel's only one."""
        spec = self.bench.spec
        flop_of_pair = 2.0 * sum(spec["head_dim"].values())
        if self.kept is not None:
            pairs = int(self.kept.sum()) * spec["blocks"]["size"] ** 2
            return [(self.bench.seq, pairs * flop_of_pair)]
        return [(length, storage.pairs(length, self.bench.causal) * spec["heads"]["q"]
                 * flop_of_pair) for length in self.lengths]

    def flop(self):
        return sum(flop for _, flop in self.parts())

    def keep(self, rows, length):
        """Which pairs exist, [heads or 1, rows, length]."""
        keys = torch.arange(length, device=rows.device)
        if self.kept is not None:
            size = self.bench.spec["blocks"]["size"]
            return self.kept[:, rows // size][:, :, keys // size]
        return keys <= rows[:, None] if self.bench.causal else (keys >= 0).expand(len(rows), -1)

    def is_right(self):
        """A guard against timing a wrong kernel; gpu_check.py is the check."""
        self.problem.o.poison()
        self.call()
        torch.cuda.synchronize()
        return self.agrees(self.problem.o.view[0])

    def agrees(self, out):
        """Whether rows of every sequence of `out`, [tokens, heads, dim], are what they should be,
        and all of it is numbers.
        """
        if bool(out.isnan().any()):
            return False
        q, k, v = (getattr(self.problem, name).view[0] for name in "qkv")
        for first, length in zip(offsets(self.lengths), self.lengths):
            rows = torch.arange(0, length, ROW_STEP, device=out.device)
            rows = torch.cat([rows, rows.new_tensor([length - 1])])
            keys = slice(first, first + length)
            term = None if self.gates is None else \
                self.gates[:, first + rows, None] - self.gates[:, None, keys]
            exact = attend(q[first + rows], k[keys], v[keys], self.keep(rows, length), term)
            got = out[first + rows].float().transpose(0, 1)
            error, size = ((x.abs().amax(-1)) for x in (got - exact, exact))
            if not bool((error <= TOLERANCE * size).all()):
                return False
        return True

    def rival(self):
        """(name, call) of what PyTorch users run, if this version has it and it is right."""
        if not self.bench.yardsticks:
            return "", None
        name, make = ("FlexAttention", self.flex_call) if self.kept is not None else \
            ("varlen_attn", self.varlen_call) if self.gates is None else \
            ("FlexAttention", self.gated_flex_call)
        try:
            call = make()
            if not self.agrees(call()):
                raise RuntimeError("its result is wrong")
            return name, call
        except Exception as error:  # older, or without a kernel for this card or these heads
            lines = str(error).splitlines() or [type(error).__name__]
            print(f"  {self.bench.name}: no rival: {lines[0]}")
            return "", None

    def varlen_call(self):
        """PyTorch's own kernel for packed sequences."""
        from torch.nn.attention.varlen import varlen_attn

        q, k, v = (getattr(self.problem, name).view[0] for name in "qkv")
        begins, longest = self.problem.inputs["cu_seqlens_q"], max(self.lengths)
        window = (-1, 0) if self.bench.causal else (-1, -1)
        return lambda: varlen_attn(q, k, v, begins, begins, longest, longest, window_size=window)

    def gated_flex_call(self):
        """Compiled FlexAttention over documents, whose mask, pruned or not, it has beforehand."""
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention

        gates, tokens = self.gates, self.gates.shape[1]
        document = torch.repeat_interleave(torch.tensor(self.lengths, device=gates.device))
        pruned = self.bench.pruned

        def exists(b, h, q, k):
            kept = (document[q] == document[k]) & (k <= q)
            return kept & (gates[h, q] - gates[h, k] > storage.LEAST_GATE) if pruned else kept

        mask = create_block_mask(exists, None, len(gates) if pruned else None, tokens, tokens,
                                 device=gates.device, _compile=True)
        compiled = torch.compile(flex_attention)
        q, k, v = (getattr(self.problem, name).view.transpose(1, 2) for name in "qkv")
        return lambda: compiled(q, k, v, block_mask=mask, enable_gqa=True,
                                score_mod=lambda score, b, h, q, k: score + gates[h, q]
                                - gates[h, k]).transpose(1, 2)[0]

    def flex_call(self):
        """Compiled FlexAttention over the same blocks, which it need not test."""
        from torch.nn.attention.flex_attention import BlockMask, flex_attention

        size = self.bench.spec["blocks"]["size"]
        counts = self.kept[None].sum(-1, dtype=torch.int32)
        kept_first = self.kept[None].int().argsort(dim=-1, descending=True, stable=True).int()
        mask = BlockMask.from_kv_blocks(torch.zeros_like(counts), kept_first, counts, kept_first,
                                        BLOCK_SIZE=size)
        tiles = {"BLOCK_M": size, "BLOCK_N": size} if size < 128 else None  # its own are larger
        compiled = torch.compile(flex_attention)
        q, k, v = (getattr(self.problem, name).view.transpose(1, 2) for name in "qkv")
        grouped = q.shape[1] != k.shape[1]
        return lambda: compiled(q, k, v, block_mask=mask, enable_gqa=grouped,
                                kernel_options=tiles).transpose(1, 2)[0]


def attend(q, k, v, keep, term=None):
    """Softmax attention in fp32 of rows [rows, heads, dim]: [heads, rows, dim]. `term`: of scores."""
    group = q.shape[1] // k.shape[1]
    q, k, v = (x.float().transpose(0, 1) for x in (q, k, v))
    k, v = (x.repeat_interleave(group, 0) if group > 1 else x for x in (k, v))
    score = q @ k.transpose(1, 2) * q.shape[-1] ** -0.5
    score = score if term is None else score + term
    return score.masked_fill(~keep, -torch.inf).softmax(-1) @ v


def measure(bench, benches, entries, args, flush):
    torch._dynamo.reset()  # or the rival would be compiled for any shape, once it has seen two
    total = sum(bench.lengths(args.seed))
    tokens = draw_tokens(bench.spec, total, total, args.seed, "cuda")
    one = Contestant(bench, entries[bench.name], tokens, args)
    dense = {name: Contestant(benches[name], entries[name], tokens, args)
             for name in bench.yardsticks}
    wrong = [each.bench.name for each in (one, *dense.values()) if not each.is_right()]
    calls = {"attngen": one.call, **{name: each.call for name, each in dense.items()}}
    rival, call = ("", None) if args.no_rivals else one.rival()
    if call is not None:
        calls[rival] = call
    ms = contest(calls, args, flush)
    rates = {each.bench.seq: each.flop() / ms[name] for name, each in dense.items()}
    ideal = storage.ideal_milliseconds(one.parts(), rates)
    row = {"case": bench.name, "commit": one.entry["commit"], "milliseconds": ms,
           "right": not wrong, "wrong": wrong, "rival": rival, "tflops": one.flop() / ms["attngen"] * 1e-9,
           "ideal_tflops": one.flop() / ideal * 1e-9, "share": ideal / ms["attngen"],
           "dense_tflops": {name: dense[name].flop() / ms[name] * 1e-9 for name in dense},
           "lengths": one.lengths, "seed": args.seed, "schedule": one.entry["schedule"],
           "dense_schedules": {name: each.entry["schedule"] for name, each in dense.items()}}
    if one.kept is not None:
        row["kept"] = float(one.kept.double().mean())
    if call is not None:
        row["times_rival"] = ms[rival] / ms["attngen"]
    return row


def print_row(row):
    s, ms, rival = row["schedule"], row["milliseconds"], row["rival"]
    cells = [row["case"].removeprefix("storage_").replace("_", " "), f"{ms['attngen']:.4f}",
             f"{row['tflops']:.1f}", f"{row['ideal_tflops']:.1f}", f"{row['share']:.3f}", rival,
             f"{ms[rival]:.4f}" if rival else "", f"{row['times_rival']:.2f}" if rival else "",
             f"{64 * s['warpgroups']}x{s['tile_kv']}, {s['stages']} stages"]
    print(f"| {' | '.join(cells)} |", flush=True)
    for name in row["wrong"]:
        print(f"WRONG RESULT: {name}", flush=True)


def main():
    args = options()
    index = json.loads((Path(args.build) / "index.json").read_text())
    entries = {entry["name"]: entry for entry in index["cases"]}
    benches = {bench.name: bench for bench in storage.storage_benches()}
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    rows, missing = [], 0
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}\n")
    print(f"| {' | '.join(HEADER)} |\n|{'---|' * len(HEADER)}")
    for bench in benches.values():
        if not bench.yardsticks or args.filter not in bench.name:
            continue
        absent = [name for name in (bench.name, *bench.yardsticks)
                  if "library" not in entries.get(name, {})]
        for name in absent:
            print(f"MISSING {name}: {entries.get(name, {}).get('error', 'not built')}")
        missing += len(absent)
        if absent:
            continue
        rows.append(measure(bench, benches, entries, args, flush))
        print_row(rows[-1])
        write_json(args.json, index["commit"], rows)  # each time: a later kernel may hang
        torch.cuda.empty_cache()
    return 1 if missing or not rows or not all(row["right"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
