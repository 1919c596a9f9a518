#!/usr/bin/env python3
"""Holds the workspace that --explain tells of to what the emitted function returns.

usage: workspace.py <attngen> <c++> <folder>
"""

import ctypes
import itertools
import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "hold")]
from emulate import run  # noqa: E402
from generate import generate  # noqa: E402
from specs import (CAUSAL, HEAD_IDS, IDS, LINEAR, RETAINED, RETENTION, SIGNED_SUM, VALID, WINDOW,  # noqa: E402
                   distinct, in_line, keep, packed, packed_input, schedule, spec)
from to_host import library_command, to_host  # noqa: E402

LONG = [{"batch": 3, "seq_q": 1024, "seq_kv": 1025}, {"batch": 1, "seq_q": 5000, "seq_kv": 9000}]
CASES = [
    (spec((4, 2), mask=CAUSAL, score=RETAINED, normalize=RETENTION, workload=LONG), schedule(2, 64, 4)),
    (spec((4, 2), score=RETAINED, normalize=LINEAR, workload=[{"batch": 2, "seq_q": 1500, "seq_kv": 2048}]),
     schedule(2, 64, 4, order="linear")),
    # Scans have no states: of enough heads, of queries enough, as many as keys.
    (spec((14, 7), mask=CAUSAL, score=RETAINED, normalize=LINEAR,
          workload=[{"batch": b, "seq_q": q, "seq_kv": kv} for b, q, kv in
                    ((4, 2048, 2048), (3, 2048, 2048), (4, 2048, 2049), (4, 511, 511), (9, 512, 512))]),
     schedule(2, 64, 4, scan=True)),
    (spec((12, 12), (128, 128), mask=CAUSAL, score=RETAINED, normalize=SIGNED_SUM,
          workload=[{"batch": b, "seq_q": 2048, "seq_kv": 2048} for b in (2, 3)]), schedule(2, 64, 4, scan=True)),
    # Wider states, values in two parts.
    (spec((2, 1), (192, 384), mask=CAUSAL, score=RETAINED, normalize=RETENTION,
          workload=[{"batch": 1, "seq_q": 4096, "seq_kv": 4097}]), schedule(2, 64, 2)),
    (spec((8, 2), inputs=IDS, mask="doc[b, q_pos] == doc[b, kv_idx] and kv_idx <= q_pos",
          workload=[{"batch": 2, "seq_q": 9000, "seq_kv": 10000}]), schedule(3, 48, 2)),
    (spec((4, 2), inputs=HEAD_IDS, mask="mine[b, h_kv, q_idx] == their[b, h, kv_idx]",
          workload=[{"batch": 2, "seq_q": 5000, "seq_kv": 7000}]), schedule(2, 32, 2, order="linear")),
    (spec((8, 2), inputs={**VALID, **IDS},
          mask="valid[b, kv_idx] != 0 and doc[b, q_pos] >= doc[b, kv_idx]",
          workload=[{"batch": 7, "seq_q": 700, "seq_kv": 7000}]), packed(2, 64, 2)),
    (spec((8, 2), inputs=keep("batch", "heads_kv"), mask="keep[b, h_kv, q_idx, kv_idx] > 0",
          workload=[{"batch": 3, "seq_q": 777, "seq_kv": 5001}]), packed(2, 144, 2)),
    (spec((4, 2), inputs=keep(), mask="keep[q_idx, kv_idx] > 0",
          workload=[{"batch": 3, "seq_q": 1000, "seq_kv": 2000}]),
     schedule(3, 48, 2, order="linear")),
    (spec((4, 2), tokens=distinct(100), workload=[{"batch": 3, "seq_q": 777, "seq_kv": 5001}]),
     schedule(2, 80, 2, lists_as_mask=True)),
    (spec(varlen=True, mask=CAUSAL, workload=[{"batch": 1000, "seq_q": 100, "seq_kv": 100}]),
     schedule(2, 64, 2)),
    (spec((4, 2), varlen=True, inputs=packed_input("i32", "heads_kv", "seq_kv"),
          mask="x[h_kv, q_pos] == x[h_kv, kv_idx]",
          workload=[{"batch": 33, "seq_q": 1000, "seq_kv": 1100}]), schedule(3, 64, 2)),
    (spec((16, 2), varlen=True, tokens={"indices": 900}, mask=CAUSAL,
          workload=[{"batch": 700, "seq_q": 3, "seq_kv": 5000}]), in_line(1, 64, 2)),
    # Shares of a list, whatever the keys.
    (spec((16, 2), (128, 128), tokens={"indices": 2048}, mask=CAUSAL,
          workload=[{"batch": 2, "seq_q": 2, "seq_kv": 32768}]), in_line(1, 64, 2, split_keys=True)),
    (spec((16, 2), (128, 128), varlen=True, tokens={"indices": 2048},
          workload=[{"batch": 2, "seq_q": 2, "seq_kv": 32768}]), in_line(1, 64, 2, split_keys=True)),
    (spec((16, 1), (128, 128), varlen=True, tokens={"indices": 2048},
          workload=[{"batch": 30, "seq_q": 2, "seq_kv": 32768}]), in_line(1, 64, 2, split_keys=True)),
    # As many splits as there are places for tiles, or fewer: every number of the rule counts.
    (spec((8, 2), (64, 40), mask=CAUSAL, normalize=RETENTION,
          workload=[{"batch": 3, "seq_q": 7, "seq_kv": 4000000}]),
     packed(2, 64, 2, split_keys=True)),
    (spec((8, 2), inputs=IDS, mask="doc[b, q_pos] == doc[b, kv_idx]",
          workload=[{"batch": 2, "seq_q": 5, "seq_kv": 4000000}]), schedule(1, 64, 2, split_keys=True)),
    (spec((8, 8), blocks={"size": 128, "from": "bitmap"}, mask=WINDOW,
          workload=[{"batch": 1, "seq_q": 16, "seq_kv": 65536}]), schedule(1, 64, 2, split_keys=True)),
    (spec((8, 2), (128, 128), workload=[{"batch": 1, "seq_q": 1, "seq_kv": 65536}]),
     packed(1, 128, 2, split_keys=True)),
    (spec((8, 8), (128, 128), workload=[{"batch": 1, "seq_q": 1, "seq_kv": 8192}]),
     schedule(1, 128, 2, split_keys=True)),
    (spec((8, 8), (128, 128), workload=[{"batch": 1, "seq_q": 128, "seq_kv": 8192}]),
     schedule(1, 128, 2, split_keys=True)),
    (spec((8, 8), mask=CAUSAL, workload=[{"batch": 1, "seq_q": 700, "seq_kv": 4096}]),
     schedule(2, 64, 2, split_keys=True)),
    # Of values in two parts.
    (spec((7, 1), (64, 320), normalize=RETENTION, workload=[{"batch": 3, "seq_q": 7, "seq_kv": 40000}]),
     packed(1, 64, 2, split_keys=True)),
    (spec((8, 2), (64, 512), varlen=True, workload=[{"batch": 64, "seq_q": 1, "seq_kv": 8192}]),
     packed(1, 64, 2, split_keys=True)),
    (spec((8, 2), (128, 128), varlen=True, workload=[{"batch": 3, "seq_q": 1, "seq_kv": 65536}]),
     packed(1, 128, 2, split_keys=True)),
    (spec((8, 8), (72, 40), varlen=True, mask=CAUSAL, normalize=RETENTION,
          workload=[{"batch": 2, "seq_q": 100, "seq_kv": 9000}]), schedule(2, 64, 2, split_keys=True)),
    (spec((4, 2), varlen=True, inputs=packed_input("i32", "heads_kv", "seq_kv"),
          mask="x[h_kv, q_pos] == x[h_kv, kv_idx]",
          workload=[{"batch": 2, "seq_q": 5, "seq_kv": 400000}]),
     schedule(1, 64, 2, split_keys=True)),
    (spec((8, 2), (128, 64), varlen=True, mask=CAUSAL, normalize=LINEAR,
          inputs=packed_input("f32", "heads", "seq_kv"), score="score * exp(x[h, kv_idx])",
          workload=[{"batch": 7, "seq_q": 700, "seq_kv": 900}]), schedule(2, 64, 4)),
    (spec((8, 2), varlen=True, mask=CAUSAL, normalize=SIGNED_SUM,
          workload=[{"batch": 2, "seq_q": 4096, "seq_kv": 5000}]), schedule(2, 64, 4)),
    (spec((8, 2), varlen=True, blocks={"size": 64, "from": "indices", "per": "heads_kv"}, mask=CAUSAL,
          workload=[{"batch": 3, "seq_q": 5, "seq_kv": 65536}]), packed(1, 64, 2, split_keys=True)),
    # Of the mean length none would be split: a longer one may be, of few tiles and of many, but not
    # of many sequences.
    (spec((32, 8), (128, 128), varlen=True, workload=[{"batch": 64, "seq_q": 1, "seq_kv": 8192}]),
     packed(1, 128, 2, split_keys=True)),
    (spec((8, 8), varlen=True, mask=CAUSAL, workload=[{"batch": 40, "seq_q": 20, "seq_kv": 9000}]),
     schedule(2, 64, 2, split_keys=True)),
    (spec((8, 1), varlen=True, workload=[{"batch": 257, "seq_q": 1, "seq_kv": 65536}]),
     packed(1, 64, 2, split_keys=True)),
]


def told(attngen, place):
    """The bytes that --explain names, and of which call."""
    text = run([attngen, place / "spec.json", "--target", "h100", "--schedule", place / "schedule.json",
                "--explain"])
    found = re.search(r"batch (\d+), seq_q (\d+), seq_kv (\d+) a workspace of (\d+) bytes",
                      " ".join(text.split()))
    if not found:
        sys.exit(f"{place}: no workspace is told\n{text}")
    batch, seq_q, seq_kv, size = map(int, found.groups())
    return {"batch": batch, "seq_q": seq_q, "seq_kv": seq_kv}, size


def arguments_of(place):
    """What an emitted function takes, all zero."""
    manifest = json.loads((place / "emulated.json").read_text())
    types = {"size_t": ctypes.c_size_t, "int64_t": ctypes.c_int64, "int32_t": ctypes.c_int32,
             "uint8_t": ctypes.c_uint8, "float": ctypes.c_float}
    fields = [(field["name"], types.get(field["c_type"], ctypes.c_void_p))
              for field in manifest["passes"][0]["args"]["fields"]]
    return type("Args", (ctypes.Structure,), {"_fields_": fields})()


def returned(compiler, folder, place, calls):
    """What the emitted function says of each call. One whose numbers overflow ends the test."""
    library = place / "emulated.so"
    host = place / "emulated.cpp"
    host.write_text(to_host((place / "emulated_h100.cu").read_text(), shorter=False))
    run([*library_command(compiler, "checked", folder), "-shared", host, "-o", library])
    function = ctypes.CDLL(str(library)).emulated_forward_workspace
    function.restype = ctypes.c_size_t
    args = arguments_of(place)
    sizes = []
    for call in calls:
        for name, value in call.items():
            if hasattr(args, name):
                setattr(args, name, value)
        sizes.append(function(ctypes.byref(args)))
    return sizes


def with_totals(call):
    """The same if its sequences are packed."""
    return {**call, **{f"total_{x}": call["batch"] * call[f"seq_{x}"] for x in ("q", "kv")}}


def extreme_calls():
    """Of lengths that no call may have, too."""
    ends = [-2**63, 0, 1, 2**20, 2**31 - 2**16, 2**31 - 1, 2**63 - 1]
    for batch, q, kv in itertools.product(ends, ends, ends):
        yield {"batch": batch, "seq_q": q, "seq_kv": kv, "total_q": q, "total_kv": kv}


def growing_calls():
    """Each of which needs no less than the one before; the last more than 64 bits count."""
    for batch in (1, 2**10, 2**20, 2**27):
        q, kv = 2**20, 2**30 + 1
        yield {"batch": batch, "seq_q": q, "seq_kv": kv, "total_q": q, "total_kv": kv}


def main():
    attngen, compiler, folder = Path(sys.argv[1]).resolve(), sys.argv[2], Path(sys.argv[3])
    for i, (one, given) in enumerate(CASES):
        place = folder / "workspace" / str(i)
        place.mkdir(parents=True, exist_ok=True)
        done = generate(attngen, "h100", one, given, place)
        if done.returncode:
            sys.exit(f"{json.dumps(one)}\n{done.stderr}")
        call, size = told(attngen, place)
        growing = list(growing_calls())
        got, *sizes = returned(compiler, folder, place, [with_totals(call), *growing, *extreme_calls()])
        print(json.dumps(one), call, size, sep="\n")
        if got != size:
            sys.exit(f"the emitted function returns {got}")
        sizes = sizes[:len(growing)]
        if sizes != sorted(sizes):
            sys.exit(f"of calls that grow the emitted function returns {sizes}")


if __name__ == "__main__":
    main()
