#!/usr/bin/env python3
"""Times emitted kernels beside cuDNN (PyTorch's scaled_dot_product_attention) in one process.

  scripts/build_gpu_cases.py --group bench     first, where nvcc is
  scripts/bench_gpu.py                         then, where the GPU is
  scripts/bench_gpu.py --filter d128_s4096 --flex

Medians of event timings, the L2 flushed before each call, random normal inputs. The two take turns
in rounds, so that a drift of the clock meets both alike. Causal counts half the pairs.
"""

import argparse
import ctypes
import datetime
import json
import random
import shlex
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from gpu.need import need  # noqa: E402

need("numpy", "torch")
import torch  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402

from gpu import full, tensors  # noqa: E402
from gpu.case import Shape, tile_text  # noqa: E402
from gpu.forward import FA3_TFLOPS, FA3_TO_CUDNN, FLASH_MLA_MS, bench_cases  # noqa: E402
from gpu.guarded import Guarded  # noqa: E402
from gpu.kernel import Kernel  # noqa: E402

FLUSH_BYTES = 256 << 20  # several times the L2


def options():
    parser = argparse.ArgumentParser(description="Times emitted kernels beside cuDNN.")
    parser.add_argument("--build", default="build-gpu", help="folder of build_gpu_cases.py")
    parser.add_argument("--filter", default="", help="only cases whose name contains this")
    parser.add_argument("--milliseconds", type=float, default=120,
                        help="timed, per contestant and round")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--flex", action="store_true", help="compiled FlexAttention as well")
    parser.add_argument("--json", type=Path, help="default: in the build's folder")
    args = parser.parse_args()
    args.json = args.json or Path(args.build) / "bench_gpu.json"
    return args


def timed(call, flush):
    """The events around one call that finds nothing in the L2."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    flush.zero_()
    begin.record()
    call()
    end.record()
    return begin, end


def time_calls(call, milliseconds, flush, estimate):
    """Milliseconds of each of several calls."""
    count = max(5, min(500, int(milliseconds / max(estimate, 1e-3))))
    events = [timed(call, flush) for _ in range(count)]
    torch.cuda.synchronize()
    return [begin.elapsed_time(end) for begin, end in events]


def contest(calls, args, flush):
    """Median milliseconds of each call by name; A B A B ..., after a warm-up of both."""
    times = {name: [] for name in calls}
    estimates = {}
    for name, call in calls.items():
        time_calls(call, 0, flush, 1)
        estimates[name] = statistics.median(time_calls(call, 0, flush, 1))
    for _ in range(args.rounds):
        for name, call in calls.items():
            times[name] += time_calls(call, args.milliseconds, flush, estimates[name])
    return {name: statistics.median(values) for name, values in times.items()}


def turns(calls, args, flush):
    """The same, but another order of all calls each round: for kernels so alike that a card at its
    power limit would part them, if one of them ran for long.
    """
    estimates = {}
    for name, call in calls.items():
        time_calls(call, 0, flush, 1)
        estimates[name] = statistics.median(time_calls(call, 0, flush, 1))
    budget = args.milliseconds * args.rounds * len(calls)
    draw = random.Random(1)
    events = {name: [] for name in calls}
    for _ in range(max(8, min(200, int(budget / sum(estimates.values()))))):
        for name in draw.sample(list(calls), len(calls)):
            events[name].append(timed(calls[name], flush))
    torch.cuda.synchronize()
    return {name: statistics.median(begin.elapsed_time(end) for begin, end in pairs)
            for name, pairs in events.items()}


class Emitted:
    """A call of the emitted kernel on a drawn problem."""

    def __init__(self, folder, entry, problem):
        self.problem = problem  # args hold addresses alone
        self.kernel = Kernel(folder / entry["library"], folder / entry["manifest"])
        problem.saves = {name: Guarded((1, 1, 1, n), (n, n, n), "f32", "cuda")
                         for n in [problem.shape.batch * problem.case.spec.get("maps", 1)
                                   * problem.case.spec["heads"]["q"] * problem.shape.seq_q]
                         for name in self.kernel.save_names()}
        self.args = self.kernel.args(problem)
        size = self.kernel.workspace_bytes(ctypes.byref(self.args))
        self.workspace = torch.empty(max(size, 16), dtype=torch.uint8, device="cuda")

    def __call__(self):
        status = self.kernel.forward(ctypes.byref(self.args), self.workspace.data_ptr(),
                                     torch.cuda.current_stream().cuda_stream)
        if status != 0:
            raise RuntimeError(self.kernel.status_string(status))


def torch_calls(bench, problem, with_flex):
    """What PyTorch users run, on the same tensors as [batch, heads, seq, dim] views. Where queries
    are the last of the keys, its causal mask is another: there is FlexAttention alone.
    """
    q, k, v = (getattr(problem, name).view.transpose(1, 2) for name in "qkv")
    grouped = bench.heads[0] != bench.heads[1]

    def cudnn():
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return torch.nn.functional.scaled_dot_product_attention(
                q, k, v, is_causal=bench.causal, enable_gqa=grouped)

    ahead = bench.seq - bench.seq_q
    calls = {} if bench.causal and ahead else {"cudnn": cudnn}
    if with_flex:
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention

        torch._dynamo.reset()  # or it would be compiled for any shape, once it has seen two
        compiled = torch.compile(flex_attention)
        block_mask = create_block_mask(lambda b, h, i, j: j <= i + ahead, None, None, bench.seq_q,
                                       bench.seq) if bench.causal else None
        calls["flex"] = lambda: compiled(q, k, v, block_mask=block_mask, enable_gqa=grouped)
    return calls


def first_rows_agree(problem, out):
    """A guard against timing a wrong kernel; gpu_check.py is the check."""
    rows = min(128, problem.shape.seq_q)
    scale = problem.case.spec["head_dim"]["qk"] ** -0.5
    for at in (0, problem.shape.seq_q - rows):
        keep = full.keeps(problem.case.mask, problem.shape.seq_q, problem.shape.seq_kv,
                          "cuda")[at:at + rows]
        exact, _ = full.attend(problem.q.view[0, at:at + rows, 0], problem.k.view[0, :, 0],
                               problem.v.view[0, :, 0], keep, scale, out.dtype)
        error = (out[0, at:at + rows, 0].double() - exact).abs().max()
        if not error <= 0.02 * exact.abs().max():
            return False
    return True


def measure(bench, entry, args, flush):
    case = bench.case()
    shape = Shape(bench.batch, bench.seq_q, bench.seq)
    problem = tensors.draw(case, shape, [], 1, "cuda", on_host=False)
    emitted = Emitted(Path(args.build), entry, problem)
    emitted()
    torch.cuda.synchronize()
    right = first_rows_agree(problem, problem.o.view)
    calls = {"attngen": emitted}
    for name, call in torch_calls(bench, problem, args.flex).items():
        try:
            call()
            calls[name] = call
        except RuntimeError as error:  # this backend has no kernel for the case
            print(f"  {name}: {str(error).splitlines()[0]}")
    medians = contest(calls, args, flush)
    tflops = {name: bench.flop() / ms * 1e-9 for name, ms in medians.items()}
    return {"case": bench.name, "commit": entry["commit"], "milliseconds": medians,
            "tflops": tflops, "right": right,
            "ratio": tflops["attngen"] / tflops["cudnn"] if "cudnn" in tflops else None,
            "schedule": entry["schedule"], "tile": tile_text(case.spec, entry["schedule"]),
            "predicted": entry["predicted"]}


def to_better(row):
    """Our speed over the better of cuDNN and FlashAttention-3, where the latter is known."""
    name = row["case"].removeprefix("bench_")
    if row["ratio"] is None:
        return None
    if name in FA3_TFLOPS:
        return row["tflops"]["attngen"] / max(row["tflops"]["cudnn"], FA3_TFLOPS[name])
    return row["ratio"] / max(1, FA3_TO_CUDNN[name]) if name in FA3_TO_CUDNN else None


def to_flash_mla(row):
    name = row["case"].removeprefix("bench_")
    return FLASH_MLA_MS[name] / row["milliseconds"]["attngen"] if name in FLASH_MLA_MS else None


def print_row(row, peers):
    """A row of a Markdown table, as docs/performance.md has it."""
    cells = [row["case"].removeprefix("bench_").replace("_", " "),
             f"{row['tflops']['attngen']:.0f}",
             *(f"{row['tflops'][peer]:.0f}" if peer in row["tflops"] else "" for peer in peers),
             f"{row['ratio']:.2f}" if row["ratio"] else "",
             f"{to_better(row):.2f}" if to_better(row) else "",
             f"{to_flash_mla(row):.2f}" if to_flash_mla(row) else "", row["tile"]]
    print(f"| {' | '.join(cells)} |{'' if row['right'] else ' WRONG RESULT'}", flush=True)


def print_means(rows):
    for what, ratio in (("cuDNN", lambda row: row["ratio"]),
                        ("the better of cuDNN and FlashAttention-3", to_better)):
        ratios = [ratio(row) for row in rows if ratio(row)]
        if ratios:
            print(f"geometric mean {statistics.geometric_mean(ratios):.3f} of {what} over "
                  f"{len(ratios)} rows, least {min(ratios):.2f}")


def write_json(path, commit, rows):
    Path(path).write_text(json.dumps({
        "device": torch.cuda.get_device_name(), "torch": torch.__version__,
        "cudnn": torch.backends.cudnn.version(), "commit": commit,
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": shlex.join(sys.argv), "rows": rows}, indent=1) + "\n")


def measure_beside(pairs, header, measure, print_row, args):
    """Of `pairs`, a kernel's bench and that of one beside it: rows of a table, and args.json. Returns
    the exit status.
    """
    index = json.loads((Path(args.build) / "index.json").read_text())
    entries = {entry["name"]: entry for entry in index["cases"] if "library" in entry}
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    rows, missing = [], 0
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}\n")
    print(f"| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for bench, beside in pairs:
        if args.filter not in bench.name:
            continue
        if not {bench.name, beside.name} <= entries.keys():
            print(f"MISSING {bench.name}")
            missing += 1
            continue
        rows.append(measure(bench, beside, entries, args, flush))
        print_row(rows[-1], beside.name)
        for name in rows[-1]["wrong"]:
            print(f"WRONG RESULT: {name}", flush=True)
        write_json(args.json, index["commit"], rows)  # each time: a later kernel may hang
        torch.cuda.empty_cache()
    return 1 if missing or not rows or any(row["wrong"] for row in rows) else 0


def main():
    args = options()
    index = json.loads((Path(args.build) / "index.json").read_text())
    entries = {entry["name"]: entry for entry in index["cases"]}
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    rows, missing = [], 0
    peers = ["cudnn", "flex"] if args.flex else ["cudnn"]
    header = ["forward, TFLOP/s", "attngen", *peers, "ratio to cudnn", "to the better",
              "to FlashMLA", "tile, stages"]
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}\n")
    print(f"| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for bench in bench_cases():
        if args.filter not in bench.name:
            continue
        entry = entries.get(bench.name, {})
        if "library" not in entry:
            print(f"MISSING {bench.name}: {entry.get('error', 'not built')}")
            missing += 1
            continue
        rows.append(measure(bench, entry, args, flush))
        print_row(rows[-1], peers)
        write_json(args.json, index["commit"], rows)  # each time: a later kernel may hang
    print_means(rows)
    return 1 if missing or not rows or not all(row["right"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
