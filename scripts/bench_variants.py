#!/usr/bin/env python3
"""Times variants of attention beside what PyTorch users run, in one process.

  scripts/build_gpu_cases.py --group bench_variant    first, where nvcc is
  scripts/bench_variants.py                           then, where the GPU is

FlexAttention (compiled) where it has the variant, else the formula under torch.compile; for two maps
of scores what stands in their place today, a call for each map and a subtraction, with whatever
attention runs fastest (differential_calls). All calls of a case take turns (bench_gpu.turns), and
with them the yardstick: our own kernel of plain softmax at the same shape. `pair` is the variant's
rate over the yardstick's, per pair of the blocks that each visits, so that it says what the user's
function costs.
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from gpu.need import need  # noqa: E402

need("numpy", "torch")
import torch  # noqa: E402

from bench_gpu import FLUSH_BYTES, Emitted, turns, write_json  # noqa: E402
from gpu import tensors  # noqa: E402
from gpu.case import Shape  # noqa: E402
from gpu.file_benches import file_benches  # noqa: E402
from gpu.variant_benches import causal, variant_benches  # noqa: E402

CHECKED_ROWS = 128
HEADER = ["forward, bf16", "ms", "TFLOP/s", "rival", "rival ms", "times the rival", "of plain",
          "pair", "tile"]


def options():
    parser = argparse.ArgumentParser(description="Times variants of attention.")
    parser.add_argument("--build", default="build-gpu", help="folder of build_gpu_cases.py")
    parser.add_argument("--filter", default="", help="only cases whose name contains this")
    parser.add_argument("--milliseconds", type=float, default=120,
                        help="timed, per contestant and round")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--rivals", nargs="*", choices=("flex", "compile", "pair"),
                        default=("flex", "compile", "pair"),
                        help="whom to time beside; none: nobody")
    parser.add_argument("--json", type=Path, help="default: in the build's folder")
    args = parser.parse_args()
    args.json = args.json or Path(args.build) / "bench_variants.json"
    return args


def indices(bench, rows, device, batches=None, heads=None):
    """b, h, q, k as tensors that broadcast to [batch, heads, rows, keys]."""
    def along(values, dim):
        return values.view([-1 if i == dim else 1 for i in range(4)])

    b = torch.arange(bench.batch if batches is None else batches, device=device)
    h = torch.arange(bench.spec["heads"]["q"] if heads is None else heads, device=device)
    return (along(b, 0), along(h, 1), along(rows, 2),
            along(torch.arange(bench.seq, device=device), 3))


def formula(bench, q, k, v, rows, inputs, scale):
    """What the variant computes for these query rows [batch, heads, rows, dim], in q's type."""
    if bench.maps == 1:
        out = formula_of_map(bench, q, k, v, rows, inputs, scale)
        return bench.gate(out, inputs, rows) if bench.gate else out
    first, second = (formula_of_map(bench, q[:, m::2], k[:, m::2], v, rows, inputs, scale)
                     for m in range(2))
    return difference(first, second, inputs)


def difference(first, second, inputs):
    return first - inputs["lambda"].to(first.dtype).view(1, -1, 1, 1) * second


def formula_of_map(bench, q, k, v, rows, inputs, scale):
    at = indices(bench, rows, q.device, q.shape[0], q.shape[1])
    group = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(group, 1) if group > 1 else x for x in (k, v))
    score = bench.score(q @ k.transpose(-1, -2) * scale, *at, inputs)
    keep = bench.keep(*at, inputs)
    if bench.weigh is not None:
        return bench.weigh(score, keep, inputs).to(v.dtype) @ v
    return score.masked_fill(~keep, -torch.inf).softmax(-1).to(v.dtype) @ v


def visited_pairs(bench, inputs, tile_q, tile_kv, device):
    """Pairs of the blocks of tile_q x tile_kv that hold one, in all batches and heads."""
    blocks = 0
    for b in range(bench.batch):
        for first in range(0, bench.seq_q, tile_q):
            rows = torch.arange(first, min(first + tile_q, bench.seq_q), device=device)
            at = indices(bench, rows, device, 1, 1)
            keep = bench.keep(at[0] + b, *at[1:], inputs).expand(1, 1, len(rows), bench.seq)
            keys = keep.any(2).flatten().nonzero().flatten() // tile_kv
            blocks += int(keys.unique().numel())
    return blocks * tile_q * tile_kv * bench.spec["heads"]["q"]


def kept_pairs(bench, inputs, device):
    total = 0
    for b in range(bench.batch):
        for first in range(0, bench.seq_q, 1024):
            rows = torch.arange(first, min(first + 1024, bench.seq_q), device=device)
            at = indices(bench, rows, device, 1, 1)
            keep = bench.keep(at[0] + b, *at[1:], inputs)
            total += int(keep.expand(1, 1, len(rows), bench.seq).sum())
    return total * bench.spec["heads"]["q"]


def flex_call(bench, q, k, v, inputs):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    def score_mod(score, b, h, i, j):
        return bench.score(score, b, h, i, j, inputs)

    def mask_mod(b, h, i, j):
        return bench.keep(b, h, i, j, inputs)

    by_batch = bench.batch if bench.fills and any(
        "seq_kv" in i["shape"] or "batch" in i["shape"]
        for i in bench.spec.get("inputs", {}).values()) else None
    mask = create_block_mask(mask_mod, by_batch, None, bench.seq_q, bench.seq)
    compiled = torch.compile(flex_attention)
    modified = None if bench.score.__name__ == "plain" else score_mod
    grouped = q.shape[1] != k.shape[1]
    if bench.gate is not None:
        every = torch.arange(bench.seq_q, device=q.device)
        gated = torch.compile(lambda q, k, v: bench.gate(
            flex_attention(q, k, v, block_mask=mask, enable_gqa=grouped), inputs, every))
        return lambda: gated(q, k, v)
    if bench.rescale is None:
        return lambda: compiled(q, k, v, score_mod=modified, block_mask=mask, enable_gqa=grouped)

    @torch.compile
    def rescaled(q, k, v):
        out, lse = flex_attention(q, k, v, score_mod=modified, block_mask=mask, enable_gqa=grouped,
                                  return_lse=True)
        return out * bench.rescale(lse, inputs)[..., None].to(out.dtype)

    return lambda: rescaled(q, k, v)


def sdpa_call(bench, q, k, v, inputs):
    """PyTorch's own choice of a kernel for plain softmax, and what becomes of its output."""
    def attend():
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=bench.keep is causal, enable_gqa=q.shape[1] != k.shape[1])

    if bench.gate is None:
        return attend
    every = torch.arange(bench.seq_q, device=q.device)
    gate = torch.compile(bench.gate)
    return lambda: gate(attend(), inputs, every)


def masked_call(bench, q, k, v, inputs):
    """The same under a mask with an element for each pair."""
    mask = bench.attn_mask(inputs)
    return lambda: torch.nn.functional.scaled_dot_product_attention(
        q, k, v, attn_mask=mask, enable_gqa=q.shape[1] != k.shape[1])


def compiled_call(bench, q, k, v, inputs, scale):
    compiled = torch.compile(lambda q, k, v, rows: formula(bench, q, k, v, rows, inputs, scale))
    rows = torch.arange(bench.seq_q, device=q.device)
    return lambda: compiled(q, k, v, rows)


def differential_calls(bench, q, k, v, inputs):
    """name -> call: a call of attention for each map and a subtraction. The maps lie apart, as
    whoever writes it so would have them. "halves" is for kernels that want values as wide as the
    keys.
    """
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    maps = [(q[:, m::2].contiguous(), k[:, m::2].contiguous()) for m in range(2)]
    grouped = maps[0][0].shape[1] != maps[0][1].shape[1]
    mask = create_block_mask(lambda b, h, i, j: bench.keep(b, h, i, j, inputs), None, None,
                             bench.seq_q, bench.seq)
    subtract = torch.compile(difference)

    @torch.compile
    def flex(maps, v):
        return difference(*(flex_attention(q, k, v, block_mask=mask, enable_gqa=grouped)
                            for q, k in maps), inputs)

    def sdpa(backend):
        def attend(q, k, v):
            with sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(
                    q, k, v, is_causal=bench.keep is causal, enable_gqa=grouped)
        return attend

    cudnn, flash = sdpa(SDPBackend.CUDNN_ATTENTION), sdpa(SDPBackend.FLASH_ATTENTION)
    halves = [x.contiguous() for x in v.split(q.shape[-1], -1)]

    def by_halves(attend):
        return subtract(*(torch.cat([attend(q, k, half) for half in halves], -1)
                          for q, k in maps), inputs)

    return {"flex, two calls": lambda: flex(maps, v),
            "cudnn, two calls": lambda: subtract(*(cudnn(q, k, v) for q, k in maps), inputs),
            "cudnn, halves": lambda: by_halves(cudnn),
            "flash, halves": lambda: by_halves(flash)}


class Contestant:
    """A bench case on the device: its kernel's call, its data as [batch, heads, seq, dim]."""

    def __init__(self, bench, entry, build):
        self.bench, self.entry = bench, entry
        shape = Shape(bench.batch, bench.seq_q, bench.seq)
        self.problem = tensors.draw(bench.case(), shape, [], 1, "cuda", on_host=False)
        self.call = Emitted(Path(build), entry, self.problem)
        self.q, self.k, self.v = (getattr(self.problem, x).view.transpose(1, 2) for x in "qkv")
        self.inputs = self.problem.inputs
        self.scale = bench.spec.get("scale", bench.spec["head_dim"]["qk"] ** -0.5)

    def is_right(self):
        """A guard against timing a wrong kernel; gpu_check.py is the check."""
        self.call()
        torch.cuda.synchronize()
        out = self.problem.o.view.transpose(1, 2)
        count = min(CHECKED_ROWS, self.bench.seq_q)
        for first in (0, self.bench.seq_q - count):
            rows = torch.arange(first, first + count, device="cuda")
            exact = formula(self.bench, self.q[:, :, rows].float(), self.k.float(), self.v.float(),
                            rows, self.inputs, self.scale)
            error = (out[:, :, rows].float() - exact).abs().amax()
            if not error <= 0.02 * exact.abs().amax():
                return False
        return True

    def flop(self):
        return 2.0 * self.bench.maps * kept_pairs(self.bench, self.inputs, "cuda") * sum(
            self.bench.spec["head_dim"].values())

    def visited(self):
        s = self.entry["schedule"]
        return visited_pairs(self.bench, self.inputs, 64 * s["warpgroups"] // self.bench.maps,
                             s["tile_kv"], "cuda")

    def rival_calls(self):
        data = (self.bench, self.q, self.k, self.v, self.inputs)
        if self.bench.maps > 1:
            return differential_calls(*data)
        if self.bench.flex:
            is_plain = self.bench.rival == self.bench.name or self.bench.gate
            plain = {"sdpa": sdpa_call(*data)} if is_plain else {}
            masked = {"sdpa": masked_call(*data)} if self.bench.attn_mask else {}
            return {"flex": flex_call(*data), **plain, **masked}
        return {"compile": compiled_call(*data, self.scale)}

    def rivals(self):
        """name -> call of what PyTorch users run, as far as it runs here."""
        torch._dynamo.reset()  # every case compiles anew, and none meets the limit of compilations
        running = {}
        for name, call in self.attempt("rival", self.rival_calls, {}).items():
            if self.attempt(name, lambda: call() is not None, False):
                running[name] = call
        return running

    def attempt(self, what, call, otherwise):
        try:
            result = call()
            torch.cuda.synchronize()
            return result
        except Exception as error:  # out of memory, or not supported by this version
            lines = str(error).splitlines() or [type(error).__name__]
            print(f"  {self.bench.name}: no {what}: {lines[0]}")
            torch.cuda.empty_cache()
            return otherwise


def measure(bench, benches, entries, args, flush):
    one = Contestant(bench, entries[bench.name], args.build)
    right = one.is_right()
    calls = {"attngen": one.call}
    kind = "pair" if bench.maps > 1 else "flex" if bench.flex else "compile"
    rivals = one.rivals() if kind in args.rivals else {}
    calls.update(rivals)
    plain = None
    if bench.rival != bench.name and "library" in entries.get(bench.rival, {}):
        plain = Contestant(benches[bench.rival], entries[bench.rival], args.build)
        calls["plain"] = plain.call
    ms = turns(calls, args, flush)
    rival = min(rivals, key=ms.get, default="")
    row = {"case": bench.name, "commit": one.entry["commit"], "milliseconds": ms,
           "right": right, "rival": rival,
           "tflops": one.flop() / ms["attngen"] * 1e-9, "schedule": one.entry["schedule"],
           "tile_q": 64 * one.entry["schedule"]["warpgroups"] // bench.maps}
    if rival:
        row["times_rival"] = ms[rival] / ms["attngen"]
    if plain is not None:
        row["of_plain"] = ms["plain"] / ms["attngen"]
        row["per_pair"] = row["of_plain"] * one.visited() / plain.visited()
    return row


def print_row(row):
    s, ms = row["schedule"], row["milliseconds"]

    def ratio(key):
        return f"{row[key]:.2f}" if key in row else ""

    cells = [row["case"].removeprefix("variant_"), f"{ms['attngen']:.4f}", f"{row['tflops']:.1f}",
             row["rival"], f"{ms[row['rival']]:.4f}" if row["rival"] in ms else "",
             ratio("times_rival"), ratio("of_plain"), ratio("per_pair"),
             f"{row['tile_q']}x{s['tile_kv']}, {s['stages']} stages"]
    print(f"| {' | '.join(cells)} |{'' if row['right'] else ' WRONG RESULT'}", flush=True)


def main():
    args = options()
    index = json.loads((Path(args.build) / "index.json").read_text())
    entries = {entry["name"]: entry for entry in index["cases"]}
    benches = {bench.name: bench for bench in [*variant_benches(), *file_benches()]}
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    rows, missing = [], 0
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}\n")
    print(f"| {' | '.join(HEADER)} |\n|{'---|' * len(HEADER)}")
    for bench in benches.values():
        if args.filter not in bench.name or bench.yardstick:
            continue
        if "library" not in entries.get(bench.name, {}):
            print(f"MISSING {bench.name}: {entries.get(bench.name, {}).get('error', 'not built')}")
            missing += 1
            continue
        rows.append(measure(bench, benches, entries, args, flush))
        print_row(rows[-1])
        write_json(args.json, index["commit"], rows)  # each time: a later kernel may hang
        torch.cuda.empty_cache()
    return 1 if missing or not rows or not all(row["right"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
