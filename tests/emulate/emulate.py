#!/usr/bin/env python3
"""Emits kernels, runs them on the emulator (emulator.h) and holds them to the oracle.

Head dims and head counts are small, since a core is emulated thread by thread. Schedules are given,
so that each way through the template's loops is taken, whatever the search would choose.

usage: emulate.py <attngen> <check> <c++> <folder> <group>
"""

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "hold")]
from generate import generate  # noqa: E402
from to_host import library_command, to_host  # noqa: E402


def schedule(warpgroups, tile_kv, stages, weights="registers", overlap="intra_warpgroup",
             ping_pong=False, grid="persistent", order="longest_first", **rest):
    return {"warpgroups": warpgroups, "tile_kv": tile_kv, "stages": stages, "weights": weights,
            "overlap": overlap, "ping_pong": ping_pong, "grid": grid, "order": order, **rest}


def packed(*args, **rest):
    return schedule(*args, pack_heads=True, **rest)


def spec(heads=(2, 1), head_dim=(64, 64), **rest):
    return {"attngen": 1, "name": "emulated", "dtype": rest.pop("dtype", "bf16"),
            "heads": {"q": heads[0], "kv": heads[1]},
            "head_dim": {"qk": head_dim[0], "v": head_dim[1]}, **rest}


def bias(dtype, *dims):
    return {"bias": {"dtype": dtype, "shape": [*dims, "seq_q", "seq_kv"]}}


def keep(*dims):
    return {"keep": {"dtype": "u8", "shape": [*dims, "seq_q", "seq_kv"]}}


def also(*dims):
    return {"also": {"dtype": "u8", "shape": [*dims, "seq_q", "seq_kv"]}}


def packed_input(dtype, *dims, **rest):
    return {"x": {"dtype": dtype, "shape": dims, **rest}}


CAUSAL = "kv_idx <= q_pos"
DILATED = "kv_idx <= q_pos and (q_pos // 64 - kv_idx // 64) % 4 == 0"
WINDOW = "kv_idx <= q_pos and q_pos - kv_idx < 300"
NARROW = "kv_idx <= q_pos and q_pos - kv_idx < 100"
SLOPES = {"slopes": {"dtype": "f32", "shape": ["heads"]}}
# More limits than one search has bits for.
FAR_DOCUMENTS = " or ".join(f"doc[b, q_pos] - {2 * i} == doc[b, kv_idx]" for i in range(16, -1, -1))
DOCUMENTS = {"doc": {"dtype": "i32", "shape": ["batch", "seq_kv"], "sorted": True}}
IDS = {"doc": {"dtype": "i32", "shape": ["batch", "seq_kv"]}}
HEAD_IDS = {"mine": {"dtype": "i32", "shape": ["batch", "heads_kv", "seq_q"]},
            "their": {"dtype": "i32", "shape": ["batch", "heads", "seq_kv"]}}
VALID = {"valid": {"dtype": "u8", "shape": ["batch", "seq_kv"]}}
ALIBI = "score + slopes[h] * (q_pos - kv_idx)"
TABLE = {"table": {"dtype": "f32", "shape": [200, "heads"]}}
KEYS = {"key": {"dtype": "f32", "shape": ["batch", "seq_kv"]}}
ROWS = {"row": {"dtype": "f32", "shape": ["batch", "heads", "seq_q"]}}
SCALARS = {"gain": "bf16", "slope": "fp16", "shift": "f32", "period": "u8", "ahead": "i32"}
LAMBDA = {"lambda": {"dtype": "f32", "shape": ["heads"]}}
DIFFERENTIAL = {"rows": {"m": "rowmax(score)", "l": "rowsum(exp(score - m))"},
                "weight": "exp(score - m)", "output": "acc / l * (1 if map == 0 else -lambda[h])",
                "save": {"lse": "m + log(l)"}}
SAVED_MAX = {"rows": {"m": "rowmax(score)", "l": "rowsum(exp(score - m))"},
             "weight": "exp(score - m)", "output": "acc / l", "save": {"m": "m", "l": "l"}}
SIGMOID = {"weight": "sigmoid(score)", "output": "acc"}
LOG_DECAY = {"log_decay": {"dtype": "f32", "shape": ["heads"]}}
DECAYED = "score * exp(log_decay[h] * (q_pos - kv_idx))"
RETAINED = "score * exp((q_pos - kv_idx) * log(1 - exp2(-5 - h)))"
SLOWLY = "score * exp((q_pos - kv_idx) * log(1 - exp2(-9 - h))) / 3"
LENGTHS = {"len": {"dtype": "i32", "shape": ["batch"]}}
RETENTION = {"rows": {"l": "max(rowsum(abs(score)), 1)"}, "weight": "score", "output": "acc / l"}
SUMS = {"rows": {"a": "rowsum(score)", "l": "rowsum(abs(score))"}, "weight": "score",
        "output": "acc / max(l, 1)", "save": {"sum": "a", "absolute": "l"}}
# Without rows: what states hold needs no product of single keys.
LINEAR = {"weight": "score", "output": "acc"}
FEW = ["1,130,200", "1,1,1", "1,64,0"]
BIASED = ["2,70,136", "1,130,131", "1,1,1", "1,64,0"]
CALLS = ["2,70,130", "1,1,1", "1,300,300", "1,64,0", "1,650,1000"]
SELF = ["2,130,130", "1,1,1", "1,300,300", "1,77,200", "1,64,0"]
# Of packed sequences; the second one's keys and values are NaN.
PACKED = ["70x130+1x77+64x64", "1x1", "130x130+0x50+3x0+65x200+128x128+64x1+300x31",
          "0x0+128x64+0x0", "+".join(["9x7"] * 70)]

# Offsets that descend and lie far outside leave the one sequence its rows.
WILD = "wild:0x0+0x0+70x130+0x0+0x0"

# group -> (spec, schedules, calls, and how inputs are filled, if it matters)
GROUPS = {
    "dense": [
        (spec(mask=CAUSAL), [schedule(2, 128, 2, ping_pong=True), schedule(3, 64, 2),
                             schedule(2, 64, 2, weights="shared", overlap="none", grid="plain")],
         CALLS),
        # Scores that begin as the mask; in the second kernel few fit the maximum of others.
        (spec(mask=WINDOW), [schedule(3, 64, 2), schedule(2, 144, 2, ping_pong=True)], CALLS),
        (spec(mask="abs(q_pos - kv_idx) < 40", scale=4), [schedule(2, 64, 2)], CALLS),
    ],
    # What a call gives beside tensors: lengths that the spec has pinned, scalars of every type.
    "arguments": [
        (spec((1, 1), fixed={"batch": 2, "seq_q": 70, "seq_kv": 130}, mask=CAUSAL),
         [schedule(2, 64, 2)],
         ["2,70,130", "bad_length:1,70,130", "bad_length:2,130,130", "bad_length:2,70,70"]),
        (spec((1, 1), inputs={name: {"dtype": dtype, "shape": []} for name, dtype in SCALARS.items()},
              score="score * gain + slope * (kv_idx - q_pos) + (shift if kv_idx % period == 3 else 0)",
              mask="kv_idx <= q_pos + ahead"), [schedule(2, 64, 2)], ["1,70,130"],
         *"gain=0.75 slope=0.015625 shift=-0.3 period=200 ahead=-9".split()),
    ],
    # Scores that are a multiply-add of the product, terms taken out of rows and blocks, pairs of
    # reciprocals.
    "scores": [
        (spec(mask=CAUSAL, inputs=SLOPES, score=ALIBI), [schedule(2, 64, 2)], CALLS),
        (spec(mask=WINDOW, inputs=SLOPES, score="-30 * score * slopes[h]"),
         [schedule(3, 32, 2, ping_pong=True)], CALLS[:3]),
        (spec(mask=CAUSAL, inputs=SLOPES, score="score * exp(slopes[h] * (q_pos - kv_idx))",
              normalize={"rows": {"l": "max(rowsum(abs(score)), 1)"}, "weight": "score",
                         "output": "acc / l"}), [schedule(2, 64, 2)], CALLS),
        (spec(mask=CAUSAL, score="3 * tanh(score / 3)"), [schedule(2, 64, 2)], CALLS),
        # Masks that are added, beyond what exponents hold; of rows without another pair too.
        (spec(inputs=LENGTHS, score="score + (0 if kv_idx < len[b] else -3.3895314e38)"),
         [schedule(2, 64, 2), schedule(1, 80, 2, overlap="none")],
         ["2,70,130", "1,64,300", "1,64,20"], "len=30"),
        (spec(inputs=LENGTHS, score="score + (0 if kv_idx < len[b] else -1e10)", mask=CAUSAL),
         [schedule(3, 64, 2)], ["2,70,130", "1,200,300"], "len=30"),
        (spec(inputs=LENGTHS, dtype="fp16", score="score + 1e9 * ((1 if kv_idx < len[b] else 0) - 1)"),
         [schedule(2, 64, 2)], ["2,70,130", "1,64,300"], "len=30"),
        (spec(inputs=LENGTHS, score="score - 1e9 * (kv_idx - len[b])"), [schedule(2, 64, 2)],
         ["2,70,130"], "len=0"),
        (spec((1, 1), scale=1e9, mask=CAUSAL), [schedule(2, 64, 2)], ["1,70,130"]),
        # Whole numbers that the score or its bias decides.
        (spec(mask=CAUSAL, score="score * (2 if score > 0 else 1)"), [schedule(2, 64, 2)],
         CALLS[:3]),
        (spec(inputs=bias("bf16", "heads"),
              score="score + (1 if bias[h, q_idx, kv_idx] > 0 else 2)"),
         [schedule(2, 64, 2)], CALLS[:3]),
        (spec(normalize={"weight": "score * (3 if score > 0 else 1)"}), [schedule(2, 64, 2)],
         CALLS[:3]),
        # Quotients of which a step is made stand at whole numbers: no other rounding may be made of
        # them, neither in a line along the keys nor in a constant of the row.
        (spec(score="score + (5 if kv_idx / 3 >= q_pos / 7 else 0)"), [schedule(2, 64, 2)],
         ["1,77,77"]),
        (spec((16, 2), mask=CAUSAL, score="score + 0.5 * int(kv_idx / 121)"), [packed(1, 64, 2)],
         ["1,4,600"]),
        (spec(mask=CAUSAL, inputs={"row": {"dtype": "f32", "shape": ["seq_q", 64]}},
              score="score + row[q_idx, int((q_pos - kv_idx) / 7)]"), [schedule(2, 64, 2)],
         ["1,200,200"]),
        # A byte is an index.
        (spec(mask=CAUSAL, inputs={"kind": {"dtype": "u8", "shape": ["batch", "seq_kv"]},
                                   "shift": {"dtype": "f32", "shape": [2]}},
              score="score + shift[kind[b, kv_idx]]"), [schedule(2, 64, 2)], CALLS[:3],
         "kind=bits"),
        # Near forms: they hold, and they do not.
        (spec(mask=CAUSAL, score="30 * tanh(score / 30)"), [schedule(2, 64, 2)], CALLS),
        (spec(mask=CAUSAL, score="40 * tanh(score / 4)"), [schedule(2, 64, 2)], CALLS[:3]),
        # Of scores that a row's own term may make large.
        (spec(mask=CAUSAL, inputs=ROWS, score="30 * tanh(score / 30) + row[b, h, q_idx]"),
         [schedule(2, 64, 2)], [*CALLS[:3], "large:1,130,200"]),
        (spec(mask=CAUSAL, normalize={"weight": "sigmoid(score - 8)"}), [schedule(2, 64, 2)], CALLS),
        (spec(mask=CAUSAL, normalize={"weight": "sigmoid(4 * score - 8)"}), [schedule(2, 64, 2)],
         CALLS[:3]),
        (spec(mask=CAUSAL, dtype="fp16",
              normalize={"weight": "relu(score)", "output": "acc / (q_pos + 1)"}),
         [schedule(2, 64, 2, overlap="none"), schedule(1, 64, 2, weights="shared")], CALLS[:3]),
    ],
    # Rows whose running maximum is far below what it becomes.
    "rows": [
        (spec(score="score - (100 if kv_idx < 70 or kv_idx >= 130 else 0)", normalize={
            "rows": {"m": "max(rowmax(score), 0)", "l": "rowsum(abs(exp(score - m) - exp(-m)))"},
            "weight": "relu(exp(score - m) - exp(-m))", "output": "acc / (l + 1e-6)"}),
         [schedule(2, 64, 2)], ["1,70,200"]),
        (spec(score="score + (10 if kv_idx >= 64 else 0)", normalize={
            "rows": {"m": "rowmax(score)", "l": "rowsum(exp(score - m))"},
            "weight": "exp(score - m)", "output": "acc / l * (1 if m < 10 else 0.5)",
            "save": {"peak": "max(m, 6.5)"}}), [schedule(2, 64, 2)], ["1,70,200"]),
        (spec(mask=CAUSAL, inputs=SLOPES, normalize={
            "rows": {"m": "max(rowmax(score), slopes[h] if h == 0 else -inf)",
                     "l": "rowsum(exp(score - m)) + exp((slopes[h] if h == 0 else -inf) - m)"},
            "weight": "exp(score - m)", "output": "acc / l", "save": {"lse": "m + log(l)"}}),
         [schedule(2, 64, 2)], ["1,130,70"]),
        # A row whose only pairs stand in full blocks, behind a first one in which it has none: there
        # they are weighed against the sink alone.
        (spec(inputs=SLOPES, mask="kv_idx // 64 <= q_idx // 32 and kv_idx // 64 % 3 != 1",
              normalize={"rows": {"m": "max(rowmax(score), slopes[h])",
                                  "l": "rowsum(exp(score - m)) + exp(slopes[h] - m)"},
                         "weight": "exp(score - m)", "output": "acc / l",
                         "save": {"lse": "m + log(l)"}}),
         [schedule(1, 64, 2)], ["1,130,200"]),
        # Without keys there is no element of an input along them.
        (spec(inputs=KEYS, mask=CAUSAL, normalize={
            "rows": {"m": "rowmax(score)", "l": "rowsum(exp(score - m))"},
            "weight": "exp(score - m)", "output": "acc / l * key[b, q_pos]",
            "save": {"lse": "m + log(l)", "gate": "key[b, q_pos]"}}),
         [schedule(2, 64, 2)], ["2,70,130", "2,70,0"]),
        (spec(normalize={"rows": {"m": "rowmax(score)"}, "weight": "exp(score - m)",
                         "output": "acc"}), [schedule(2, 64, 2)], CALLS[:2]),
        # A maximum that is saved is none that may fall behind.
        (spec(inputs=DOCUMENTS, mask="doc[b, q_pos] == doc[b, kv_idx]", score="-score",
              normalize=SAVED_MAX), [schedule(1, 64, 2)], SELF[:3]),
    ],
    # Rows that are infinite or no number until a pair has come, whatever they are computed from.
    "begin": [
        (spec(mask=NARROW, normalize={"rows": rows, "weight": weight, "output": "acc / l"}),
         [schedule(2, 64, 2)], ["1,130,270"])
        for rows, weight in [
            ({"n": "rowsum(1)", "s": "rowsum(score)", "mu": "s / n", "l": "rowsum(exp(score - mu))"},
             "exp(score - mu)"),
            ({"low": "rowmax(-score)", "m": "-low", "l": "rowsum(exp(score - m))"},
             "exp(score - m)"),
            ({"top": "rowmax(score)", "m": "top - 5", "l": "rowsum(exp(score - m))"},
             "exp(score - m)"),
            ({"top": "rowmax(score)", "m": "clamp(top, -50, 50)", "l": "rowsum(exp(score - m))"},
             "exp(score - m)"),
            ({"m": "rowmax(score)", "l": "rowsum(exp(score - m))", "lse": "m + log(l)"},
             "exp(score - lse) * l"),
        ]
    ] + [
        # Of rows without pairs sums are 0 and maxima -inf, whatever factor waits for them.
        (spec(mask=CAUSAL, normalize={
            "rows": {"m": "rowmax(score)", "l": "rowsum(exp(score - m))", **row},
            "weight": "exp(score - m)", "output": "acc / l", "save": {"saved": saved}}),
         [schedule(2, 64, 2)], ["1,70,30"])
        for row, saved in [({"p": "rowsum(square(exp(score - m) / l))"}, "p"),
                           ({"d": "rowmax(score - m)"}, "exp(d)")]
    ] + [
        # Their output would be 0 times what overflows.
        (spec(mask=CAUSAL, normalize={
            "rows": {"m": "rowmax(score)", "l": "rowsum(exp(score - m))"},
            "weight": "exp(score - m)", "output": "acc / (l + 1e-30) * 1e10 / 1e10"}),
         [schedule(2, 64, 2)], ["1,70,30"])
    ],
    # An input with an element for each pair comes by tiles; where its rows begin anyhow, by threads.
    "bias": [
        (spec(mask=CAUSAL, inputs=bias("bf16", "heads"), score="score + bias[h, q_idx, kv_idx]"),
         [schedule(2, 128, 2, ping_pong=True), schedule(3, 48, 2, overlap="none")],
         [*BIASED, "1,205,333", "1,130,330"]),
        # With one stage the next block's may come only when the last one's have been read.
        (spec(mask=CAUSAL, inputs=bias("bf16", "heads"), score="score + bias[h, q_idx, kv_idx]",
              normalize={"weight": "sigmoid(score)"}), [schedule(2, 64, 1)], ["1,130,331"]),
        (spec(inputs=bias("f32"), score="score + bias[q_idx, kv_idx]"), [schedule(1, 64, 1)],
         ["1,70,331"]),
        (spec(mask=DILATED, inputs={**bias("f32", "batch", "heads_kv"), **SLOPES},
              score="3 * tanh(score / 3) * bias[b, h_kv, q_idx, kv_idx] + slopes[h] * kv_idx"),
         [schedule(2, 64, 3)], BIASED[:2]),
        (spec(dtype="fp16", inputs=bias("fp16"), score="bias[q_idx, kv_idx] - score",
              normalize={"weight": "sigmoid(score)"}), [schedule(2, 64, 2)], BIASED[:2]),
        (spec(mask=CAUSAL, inputs=bias("f32", "batch", "heads"),
              normalize={"weight": "sigmoid(score - 8 + bias[b, h, q_idx, kv_idx])"}),
         [schedule(1, 80, 2)], BIASED[:2]),
        (spec(mask=WINDOW, inputs=bias("bf16"), blocks={"size": 128, "from": "bitmap"},
              score="score + bias[q_idx, kv_idx]"), [schedule(2, 64, 2)], BIASED[:2]),
    ],
    # A byte for each pair, that the mask reads, comes by tiles too, and by threads where its rows do
    # not begin at multiples of 16; with packed heads each thread loads its own.
    "masks": [
        (spec(inputs=keep("batch"), mask="keep[b, q_idx, kv_idx] > 0"),
         [schedule(2, 128, 2), schedule(3, 48, 2, overlap="none")], ["2,70,144", "1,205,336", "1,1,1"],
         "keep=bits"),
        # Pairs behind the last key have zeros, which this mask keeps.
        (spec((4, 2), inputs=keep("heads"), mask="kv_idx <= q_pos and keep[h, q_idx, kv_idx] != 1"),
         [schedule(2, 64, 2)], ["2,130,144", "1,70,71"], "keep=bits"),
        (spec(inputs={**IDS, **keep()}, mask="doc[b, q_pos] == doc[b, kv_idx] and keep[q_idx, kv_idx] > 0"),
         [schedule(2, 64, 2)], ["2,70,144", "1,130,131"], "keep=bits"),
        (spec(inputs={**SLOPES, **keep("batch")}, score=ALIBI, mask="keep[b, q_idx, kv_idx] == 1"),
         [schedule(2, 64, 2)], ["2,70,144", "1,130,131"], "keep=bits"),
        (spec(inputs=keep("heads"), mask=f"{CAUSAL} and keep[h, q_idx, kv_idx] > 0",
              normalize={"weight": "sigmoid(score - 8)"}), [schedule(1, 64, 2)],
         ["1,130,144", "1,70,71"], "keep=bits"),
        (spec(maps=2, inputs={**LAMBDA, **keep()}, mask="keep[q_idx, kv_idx] > 0",
              normalize=DIFFERENTIAL), [schedule(2, 64, 2)], ["1,130,132", "1,130,144", "1,70,71"],
         "keep=bits"),
        # A second one each thread loads.
        (spec(inputs={**keep("heads"), **also("heads")},
              mask="keep[h, q_idx, kv_idx] != 1 and also[h, q_idx, kv_idx] > 0"),
         [schedule(2, 64, 2)], ["1,130,144", "1,70,71", "1,64,0"], "keep=bits", "also=bits"),
        (spec(inputs=bias("bf16", "heads"), mask="bias[h, q_idx, kv_idx] > 0.3"),
         [schedule(2, 64, 2)], ["1,130,144", "1,70,71"]),
        (spec((8, 2), inputs=keep("batch"), mask="kv_idx <= q_pos and keep[b, q_idx, kv_idx] > 0"),
         [packed(1, 64, 2)], ["1,5,144"], "keep=bits"),
    ],
    # What pairs share: a value for a key, one for a distance, both.
    "strips": [
        (spec(inputs=TABLE, score="score + table[kv_idx - q_pos + 100, h]"),
         [schedule(2, 128, 2, ping_pong=True), schedule(3, 80, 2, overlap="none")], CALLS[:4]),
        (spec((4, 2), mask=WINDOW, inputs=SLOPES, score="score - slopes[h] * log(1 + q_pos - kv_idx)"),
         [schedule(2, 48, 3), packed(2, 64, 2)], CALLS[:3]),
        (spec(mask=CAUSAL, inputs=KEYS, score="score + key[b, kv_idx]"),
         [schedule(2, 64, 2, ping_pong=True), schedule(1, 96, 2, weights="shared")], CALLS[:4]),
        (spec(inputs={**KEYS, **TABLE, **bias("f32", "heads")},
              score="table[abs(kv_idx - q_pos), h] - key[b, kv_idx] + score + bias[h, q_idx, kv_idx]"),
         [schedule(2, 64, 2)], BIASED),
        # What a row's scores share, and take back to -inf: it is left out of them.
        (spec((4, 2), inputs={**KEYS, **ROWS}, mask=CAUSAL,
              score="score + key[b, kv_idx] - (inf if row[b, h, q_idx] > 1 else row[b, h, q_idx])"),
         [schedule(2, 64, 2), packed(2, 64, 2)], CALLS[:4]),
        # T5's buckets.
        (spec(inputs=TABLE, scale=0.125, score="score + table[8 + int(log2(max(abs(kv_idx - q_pos), 8)) * 2), h]"),
         [schedule(2, 64, 2)], CALLS[:1]),
        # Other row normalisers; a key's value that is a factor; rows that are further than the last.
        (spec(mask=CAUSAL, inputs=KEYS, score="score * key[b, kv_idx]", normalize=RETENTION),
         [schedule(3, 64, 2, ping_pong=True)], CALLS[:3]),
        (spec(dtype="fp16", layout="bhsd", inputs=SLOPES, normalize={
            "weight": "sigmoid(score - sqrt(1 + abs(q_pos - kv_idx)) * slopes[h])"}),
         [schedule(2, 112, 2)], CALLS[:3]),
        (spec(mask=CAUSAL, normalize={
            "weight": "sigmoid(score - 8 - sqrt(1 + q_pos - kv_idx))"}),
         [schedule(2, 64, 2)], CALLS[:3]),
        (spec(varlen=True, inputs=TABLE, score="score + table[kv_idx - q_pos + 100, h]"),
         [schedule(2, 64, 2)], PACKED[:3]),
        (spec(maps=2, inputs={**LAMBDA, **TABLE, **KEYS}, normalize=DIFFERENTIAL, mask=CAUSAL,
              score="score + table[q_pos - kv_idx, h] * (1 + map) + key[b, kv_idx]"),
         [schedule(4, 32, 2)], FEW),
        (spec((2, 1), blocks={"size": 64, "from": "bitmap"}, inputs=TABLE,
              score="score + table[kv_idx - q_pos + 100, h]"),
         [schedule(2, 64, 2), schedule(1, 128, 2, weights="shared")], CALLS[:3]),
        # Ids of keys that a mask reads, beside a value; two of them, three, in cut blocks alone.
        (spec(inputs={**KEYS, **IDS}, score="score + key[b, kv_idx]",
              mask="doc[b, q_pos] == doc[b, kv_idx]"),
         [schedule(2, 64, 2), schedule(1, 160, 2, overlap="none")], SELF),
        (spec((4, 2), inputs={**VALID, **IDS, **HEAD_IDS}, normalize=SIGMOID,
              mask="valid[b, kv_idx] != 0 and (doc[b, q_pos] == doc[b, kv_idx] or "
                   "their[b, h, kv_idx] < 0)"),
         [schedule(2, 64, 2)], ["2,70,130", "1,1,1", "1,64,0"]),
    ],
    # Keys far behind as states, which calls of 512 queries or more keep here (to_host.py).
    "far": [
        (spec(mask=CAUSAL, score=RETAINED, normalize=RETENTION),
         [schedule(3, 64, 4, ping_pong=True)], ["1,1100,1100", "1,130,200"]),
        (spec((1, 1), (128, 128), mask=CAUSAL, score=RETAINED, normalize=RETENTION),
         [schedule(3, 64, 4, ping_pong=True)], ["1,600,1100"]),
        (spec(layout="bhsd", mask=CAUSAL, inputs=LOG_DECAY, score=DECAYED, normalize=RETENTION),
         [schedule(4, 64, 6, overlap="none")], ["2,550,1037"]),
        # Weights that hardly fall, so that a state is most of the output.
        (spec(mask=CAUSAL, score=SLOWLY, normalize=LINEAR), [schedule(3, 64, 4, ping_pong=True)],
         ["1,700,1300", "opposed:1,700,1300", "1,600,400"]),
        (spec((1, 1), (128, 64), mask=CAUSAL, score=SLOWLY, normalize=SUMS),
         [schedule(2, 64, 4, overlap="none", ping_pong=True)], ["1,600,1100"]),
        # Weights that grow towards the keys behind.
        (spec((1, 1), (64, 128), layout="bhsd", mask="kv_idx <= q_pos or kv_idx < 700",
              score="score * exp((q_pos - kv_idx) / 500)", normalize=SUMS),
         [schedule(2, 64, 4)], ["1,600,1100"]),
        # Values in two parts; states whose columns take two blocks of the kernel that makes them.
        (spec((2, 1), (192, 384), mask=CAUSAL, score=RETAINED, normalize=RETENTION),
         [schedule(2, 64, 2), schedule(1, 64, 2, grid="plain")], ["1,520,800", "1,70,200"]),
        (spec((1, 1), (256, 256), mask=CAUSAL, score=SLOWLY, normalize=RETENTION),
         [schedule(2, 64, 2)], ["1,520,1100"]),
        (spec((1, 1), (256, 384), mask=CAUSAL, score=SLOWLY, normalize=LINEAR),
         [schedule(2, 64, 2)], ["1,520,1100"]),
        # A row that divides by its sum counts its pairs.
        (spec((1, 1), mask=CAUSAL, score=SLOWLY,
              normalize={"rows": {"l": "rowsum(abs(score))"}, "weight": "score",
                         "output": "acc / l", "save": {"l": "l"}}),
         [schedule(2, 64, 4, ping_pong=True)], ["1,600,1100"]),
        # Without a decay, and the sum that of the weights themselves.
        (spec((1, 1), mask=CAUSAL, scale=0.05, normalize=SUMS),
         [schedule(2, 64, 4, ping_pong=True)], ["1,600,1100"]),
        # Tiles all of whose keys a state holds.
        (spec((1, 1), score=SLOWLY, normalize=RETENTION),
         [schedule(2, 64, 4, grid="plain", order="linear")],
         ["1,520,1024", "1,520,1100", "1,600,0"]),
        (spec((1, 1), score=SLOWLY, normalize=LINEAR, inputs=LENGTHS,
              mask="kv_idx <= q_pos and kv_idx < 600 * len[b]"),
         [schedule(2, 64, 4, overlap="none")], ["3,520,1100"]),
    ],
    # Keys between ends that take a search.
    "search": [
        (spec(inputs=DOCUMENTS, mask="doc[b, q_pos] == doc[b, kv_idx] and kv_idx <= q_pos"),
         [schedule(2, 64, 2, ping_pong=True), schedule(3, 32, 2, overlap="none")], SELF),
        (spec((4, 2), inputs={**DOCUMENTS, **SLOPES}, score=ALIBI,
              mask="doc[b, q_pos] == doc[b, kv_idx]"), [schedule(2, 32, 3)], SELF),
        # Ends that fall from row to row, or that no input's value may overflow.
        (spec(inputs=DOCUMENTS, mask="doc[b, kv_idx] <= doc[b, seq_kv - 1 - q_pos]"),
         [schedule(2, 64, 2)], SELF[:3]),
        (spec(inputs=LENGTHS, mask="kv_idx <= (2147483647 if len[b] % 2 == 0 else len[b]) and "
                                   "q_pos - kv_idx < (2147483647 if len[b] % 2 == 1 else 70)"),
         [schedule(2, 64, 2)], ["2,70,130", "2,200,90"]),
        # No search, but an input that has no element where there is no key.
        (spec((1, 1), inputs=IDS, mask="kv_idx < doc[b, 0] + 90"), [schedule(1, 64, 2)], FEW),
        (spec((1, 1), inputs=DOCUMENTS, mask=FAR_DOCUMENTS), [schedule(1, 16, 2)], ["1,64,1300"]),
    ],
    # Of four heads and more that share the mask, which a kernel before makes into bits.
    "pairs": [
        (spec((4, 2), inputs=keep("batch"), mask="keep[b, q_idx, kv_idx] > 0"),
         [schedule(2, 128, 2), schedule(3, 48, 2, overlap="none"),
          schedule(2, 64, 2, ping_pong=True, grid="plain", order="linear")],
         ["1,250,400", "1,205,331", "1,1,1", "1,64,0"], "keep=patches"),
        # Keys and values of blocks without a pair are NaN, as in "ids".
        (spec((4, 2), inputs=keep("batch"), mask="keep[b, q_idx, kv_idx] > 0"),
         [schedule(2, 64, 2), schedule(1, 128, 2, overlap="none")], ["2,70,400", "1,130,331"]),
        (spec((4, 4), inputs=keep("batch"), mask=f"{CAUSAL} and keep[b, q_idx, kv_idx] > 0"),
         [schedule(2, 112, 2, weights="shared")], ["1,130,144", "1,70,71"], "keep=bits"),
        (spec((4, 2), inputs={**SLOPES, **keep()}, score=ALIBI, mask="keep[q_idx, kv_idx] == 1"),
         [schedule(2, 64, 2)], ["2,170,300"], "keep=patches"),
        (spec((4, 4), inputs=keep("batch"), mask="keep[b, q_idx, kv_idx] == 0", score="score + square(q_pos - kv_idx) / 10000"),
         [schedule(1, 80, 2)], ["1,100,300"], "keep=patches"),
        (spec((4, 2), inputs=keep("batch"), mask=f"{CAUSAL} and keep[b, q_idx, kv_idx] > 0",
              normalize={"weight": "sigmoid(score - 8)"}), [schedule(1, 64, 2)],
         ["1,230,300"], "keep=patches"),
        (spec((8, 2), inputs=keep("batch", "heads_kv"), mask="keep[b, h_kv, q_idx, kv_idx] > 0",
              normalize={"weight": "relu(score)", "output": "acc"}),
         [packed(2, 64, 2), packed(1, 16, 3)], ["2,70,144", "1,5,300"], "keep=patches"),
        # Bits of fewer bytes than the weights behind them begin at a multiple of.
        (spec((8, 2), inputs=keep("batch"), mask="keep[b, q_idx, kv_idx] > 0"),
         [packed(1, 128, 2, weights="shared")], ["2,17,300"], "keep=patches"),
        (spec((8, 2), inputs=keep(), mask="keep[q_idx, kv_idx] > 0"), [packed(2, 64, 2)],
         ["3,17,144", "2,70,71"], "keep=patches"),
        (spec((4, 4), maps=2, inputs={**LAMBDA, **keep()}, mask="keep[q_idx, kv_idx] > 0",
              normalize=DIFFERENTIAL), [schedule(2, 64, 2)], ["1,130,144"], "keep=patches"),
        (spec((4, 2), inputs={**keep("batch"), **bias("bf16", "heads")},
              score="score + bias[h, q_idx, kv_idx]", mask="keep[b, q_idx, kv_idx] > 0"),
         [schedule(2, 64, 2)], ["2,130,144", "1,70,71"], "keep=patches"),
        (spec((4, 2), inputs=bias("bf16", "batch"), score="score + bias[b, q_idx, kv_idx]",
              mask="bias[b, q_idx, kv_idx] > -10000"), [schedule(2, 64, 2)], ["2,70,136"],
         "bias=holes"),
        (spec((4, 2), inputs=bias("f32", "batch"), mask="bias[b, q_idx, kv_idx] > 0.3"),
         [schedule(2, 64, 2)], ["2,70,136"]),
        # Loads by pair that are no matrix: each lane loads its own.
        (spec((4, 2), inputs={"near": {"dtype": "u8", "shape": [700]}},
              mask="near[q_pos - kv_idx + 300] > 0"),
         [schedule(2, 64, 2), schedule(3, 32, 2, overlap="none")], ["2,210,300", "1,1,1", "1,64,0"],
         "near=stretches"),
    ],
    # Ids in no order, of which another kernel makes tables. Keys and values of blocks that no query
    # sees are NaN where `valid` says so (data.cpp): they must not be visited.
    "ids": [
        (spec(inputs=IDS, mask="doc[b, q_pos] == doc[b, kv_idx] and kv_idx <= q_pos"),
         [schedule(2, 64, 2, ping_pong=True), schedule(3, 32, 2, overlap="none"),
          schedule(2, 128, 2, weights="shared", grid="plain", order="linear")], SELF),
        (spec((4, 2), inputs=HEAD_IDS, normalize=SIGMOID,
              mask="mine[b, h_kv, q_idx] == their[b, h, kv_idx] or kv_idx == q_pos"),
         [schedule(2, 32, 2, order="linear")], ["2,70,130", "1,1,1", "1,200,300", "1,64,0"]),
        (spec((8, 2), inputs=VALID, mask="valid[b, kv_idx] != 0"),
         [packed(2, 64, 2, ping_pong=True), schedule(2, 128, 2)], ["2,70,130", "1,3,900", "1,64,0"]),
        (spec((8, 2), inputs={**VALID, **IDS},
              mask="valid[b, kv_idx] != 0 and kv_idx <= q_pos and doc[b, q_pos] >= doc[b, kv_idx]"),
         [packed(2, 64, 2), packed(1, 32, 2, grid="plain", order="linear")],
         ["1,33,400", "2,20,20"]),
        # What else a mask may need of a key: its place in a frame, a float.
        (spec(inputs={"page": {"dtype": "i32", "shape": [2, "seq_kv"]}},
              mask="q_idx % 75 == kv_idx % 75 or page[b % 2, kv_idx] == 1"), [schedule(2, 64, 2)],
         ["3,100,170", "1,64,0"]),
        (spec(inputs={"fade": {"dtype": "f32", "shape": ["batch", "heads", "seq_kv"]}},
              mask="kv_idx <= q_pos and fade[b, h, q_pos] - fade[b, h, kv_idx] > -5"),
         [schedule(3, 32, 2)], ["2,400,400", "1,33,600"], "fade=broken_gates"),
        (spec((8, 2), inputs={"fade": {"dtype": "f32", "shape": ["batch", "heads_kv", "seq_kv"]}},
              mask="abs(fade[b, h_kv, q_pos] - fade[b, h_kv, kv_idx]) < 5"),
         [packed(2, 64, 2)], ["1,33,400", "2,20,20"], "fade=broken_gates"),
    ],
    "walk": [
        (spec(mask=DILATED), [schedule(2, 64, 2, ping_pong=True), schedule(3, 32, 2, overlap="none")],
         CALLS),
        (spec(mask="q_idx < 70 or kv_idx < 70 or abs(q_idx - kv_idx) < 40"),
         [schedule(1, 64, 2), schedule(2, 128, 2)], CALLS[:4]),
        (spec(mask=DILATED, varlen=True), [schedule(2, 64, 2)], PACKED),
        (spec(mask=DILATED, blocks={"size": 128, "from": "bitmap"}), [schedule(2, 64, 2)], CALLS),
    ],
    "sparse": [
        (spec(blocks={"size": 128, "from": "bitmap"}),
         [schedule(2, 128, 2, ping_pong=True), schedule(2, 64, 2, overlap="none", ping_pong=True)],
         CALLS),
        (spec(blocks={"size": 64, "from": "bitmap"}, mask=CAUSAL),
         [schedule(2, 64, 2), schedule(3, 64, 3, overlap="none", order="linear"),
          schedule(2, 32, 2, weights="shared", grid="plain", order="linear")], CALLS),
        (spec(blocks={"size": 64, "from": "indices"}, mask=WINDOW),
         [schedule(2, 64, 2), schedule(4, 32, 2, overlap="none")], CALLS),
        (spec(blocks={"size": 64, "from": "bitmap"}), [schedule(3, 64, 4)], CALLS),
        (spec(blocks={"size": 192, "from": "indices"}, normalize=SIGMOID),
         [schedule(2, 96, 2), schedule(3, 48, 2, ping_pong=True)], CALLS),
        # Biases of blocks that one warpgroup passes over.
        (spec(blocks={"size": 64, "from": "indices"}, inputs={**SLOPES, **bias("bf16", "heads")},
              mask=CAUSAL, score=f"{ALIBI} + bias[h, q_idx, kv_idx]"),
         [schedule(2, 64, 2), schedule(3, 32, 2, overlap="none")], BIASED[:2]),
        # More blocks than are marked at once: 1024 of lists, 128 of bitmaps.
        (spec((1, 1), blocks={"size": 64, "from": "indices"}), [schedule(2, 64, 2)], ["1,5,66000"]),
        (spec((1, 1), blocks={"size": 64, "from": "bitmap"}), [schedule(2, 64, 2)], ["1,70,17000"]),
    ],
    # Blocks that the query heads of a key head share, and steps of two blocks that stand apart.
    "groups": [
        (spec((4, 1), blocks={"size": 64, "from": "indices", "per": "heads_kv"}, mask=CAUSAL),
         [packed(2, 128, 2, ping_pong=True), packed(3, 64, 2), schedule(1, 128, 2)], CALLS),
        (spec((4, 2), blocks={"size": 64, "from": "bitmap", "per": "heads_kv"}),
         [packed(2, 128, 2, overlap="none"), packed(4, 64, 2, weights="shared"),
          schedule(1, 128, 2, weights="shared", grid="plain", order="linear")], CALLS),
        (spec((2, 1), blocks={"size": 64, "from": "indices"}, mask=WINDOW, score="30 * tanh(score / 30)"),
         [schedule(1, 128, 3), schedule(2, 64, 2)], CALLS),
        (spec((2, 1), blocks={"size": 64, "from": "bitmap", "per": "heads_kv"}, mask=CAUSAL,
              inputs=SLOPES, score=ALIBI), [packed(2, 128, 2)], CALLS),
        (spec((2, 1), blocks={"size": 64, "from": "indices"}, mask=DILATED, normalize=SIGMOID),
         [schedule(1, 128, 2, overlap="none")], CALLS),
        (spec((2, 1), blocks={"size": 64, "from": "indices"}, mask=CAUSAL,
              score="score - log(1 + abs(q_pos - kv_idx))", normalize={"weight": "sigmoid(score - 5)"}),
         [schedule(1, 128, 2)], CALLS),
        (spec((4, 2), blocks={"size": 128, "from": "bitmap", "per": "heads_kv"}, normalize=SIGMOID,
              mask=CAUSAL), [packed(2, 64, 2, ping_pong=True), schedule(2, 128, 2)], CALLS[:3]),
        (spec((4, 2), blocks={"size": 64, "from": "indices", "per": "heads_kv"}, mask=DILATED),
         [packed(2, 128, 2), packed(1, 64, 2)], CALLS[:4]),
    ],
    "wide": [
        (spec(head_dim=(64, 320), mask=CAUSAL), [schedule(2, 48, 2)], CALLS[:3]),
        (spec(head_dim=(512, 512), normalize=SIGMOID), [schedule(2, 32, 2, order="linear")],
         ["1,70,130"]),
        (spec(head_dim=(72, 264), varlen=True, mask=CAUSAL), [schedule(1, 64, 2)], PACKED[:3]),
        (spec(head_dim=(64, 512), blocks={"size": 64, "from": "bitmap"}), [schedule(2, 32, 2)],
         ["1,200,200"]),
    ],
    "varlen": [
        (spec(varlen=True), [schedule(2, 128, 2, ping_pong=True)], [*PACKED, WILD]),
        (spec(varlen=True, mask=CAUSAL),
         [schedule(1, 256, 2, weights="shared"), schedule(3, 64, 2),
          schedule(2, 96, 2, overlap="none", ping_pong=True)], PACKED),
        (spec(varlen=True, mask="kv_idx >= q_pos"), [schedule(1, 64, 2)], PACKED),
        (spec((4, 2), (72, 40), varlen=True, normalize=SIGMOID,
              inputs={"len": {"dtype": "i32", "shape": ["batch"]}},
              mask="kv_idx <= q_pos and q_pos - kv_idx < 100 * (1 + len[b])"),
         [schedule(2, 64, 2)], PACKED),
    ],
    # Inputs along packed sequences: ends by searches, strips, block tests, key rows, row values.
    "along": [
        (spec((4, 2), varlen=True, inputs=packed_input("i32", "seq_kv", sorted=True),
              mask=f"{CAUSAL} and x[q_pos] == x[kv_idx]"), [schedule(2, 64, 2)], PACKED),
        (spec(varlen=True, inputs=packed_input("f32", "heads", "seq_kv"), mask=CAUSAL,
              score="score + x[h, q_pos] - x[h, kv_idx]"),
         [schedule(2, 64, 2), schedule(1, 128, 2)], PACKED, "x=log_gates"),
        (spec(varlen=True, inputs=packed_input("i32", "seq_kv"), mask="x[q_pos] == x[kv_idx]"),
         [schedule(2, 64, 2)], PACKED),
        # Keys and values of blocks that no query sees are NaN, as in "ids".
        (spec(varlen=True, inputs=packed_input("u8", "seq_kv"), mask="x[kv_idx] != 0"),
         [schedule(2, 64, 2, overlap="none"), schedule(2, 128, 2, weights="shared")], PACKED),
        (spec((4, 2), varlen=True, inputs=packed_input("i32", "heads_kv", "seq_kv"),
              mask="x[h_kv, kv_idx] == x[h_kv, q_pos] and kv_idx <= q_pos"),
         [schedule(3, 48, 2)], PACKED),
        (spec(varlen=True, inputs=packed_input("f32", "heads", "seq_kv"),
              mask=f"{CAUSAL} and x[h, q_pos] - x[h, kv_idx] > -5"),
         [schedule(2, 64, 2), schedule(1, 32, 2)], PACKED, "x=broken_gates"),
        (spec((2, 2), (72, 40), varlen=True, inputs=packed_input("bf16", "seq_kv", "heads"),
              score="score * x[q_pos - kv_idx, h]", normalize=RETENTION),
         [schedule(2, 64, 2)], PACKED[2:3]),
        (spec(varlen=True, inputs=packed_input("i32", "seq_q"), mask="kv_idx <= 40 * x[q_idx]"),
         [schedule(1, 64, 2)], PACKED[:3]),
        (spec(varlen=True, inputs=packed_input("f32", "seq_kv"), mask=CAUSAL,
              normalize={**SIGMOID, "output": "acc * x[q_pos]", "save": {"gate": "x[q_pos]"}}),
         [schedule(2, 64, 2)], PACKED),
    ],
    # Two maps of scores over one V: pairs of warpgroups, whose outputs are added.
    "maps": [
        (spec(maps=2, head_dim=(64, 128), mask=CAUSAL, inputs=LAMBDA, normalize=DIFFERENTIAL),
         [schedule(2, 64, 2), schedule(4, 32, 2, overlap="none", ping_pong=True),
          schedule(2, 128, 2, weights="shared", ping_pong=True, grid="plain", order="linear")],
         CALLS[:4]),
        (spec((4, 2), maps=2, dtype="fp16", layout="bhsd", mask=NARROW, inputs=LAMBDA,
              normalize=DIFFERENTIAL), [schedule(4, 32, 3, ping_pong=True)], FEW),
        (spec((4, 1), (72, 40), maps=2, inputs=LAMBDA, normalize=DIFFERENTIAL),
         [schedule(2, 64, 2, ping_pong=True, order="linear"), schedule(4, 32, 2)], FEW),
        # A bias tile serves both maps.
        (spec(maps=2, mask=CAUSAL, inputs={**LAMBDA, **bias("bf16", "heads")},
              score="score + bias[h, q_idx, kv_idx] * (1 + map)", normalize=DIFFERENTIAL),
         [schedule(2, 64, 2), schedule(4, 32, 2, overlap="none", ping_pong=True)], BIASED[1:3]),
        # Scores that leave the range of the maximum in use: the way back.
        (spec(maps=2, mask=CAUSAL, scale=2, inputs=LAMBDA, normalize=DIFFERENTIAL),
         [schedule(2, 64, 2)], CALLS[:3]),
        # Each map has scores, rows and weights of its own.
        (spec(maps=2, inputs={**LAMBDA, **SLOPES}, mask=CAUSAL, score="score - map * slopes[h]",
              normalize={"rows": {"l": "rowsum(abs(score)) + map"}, "weight": "score * (1 + map)",
                         "output": "acc / (l + 1) + lambda[h] * map * acc",
                         "save": {"total": "l + map"}}), [schedule(2, 64, 2)], FEW),
        (spec(head_dim=(64, 32), maps=2, mask=DILATED, inputs=LAMBDA, normalize=DIFFERENTIAL),
         [schedule(4, 32, 2, overlap="none")], FEW),
        (spec(maps=2, mask="doc[b, q_pos] == doc[b, kv_idx] and kv_idx <= q_pos",
              inputs={**LAMBDA, **DOCUMENTS}, normalize=DIFFERENTIAL),
         [schedule(4, 32, 2, ping_pong=True)], FEW),
    ],
    # Query heads packed into the tile: a query's 2, 4, 8 or 64 heads are neighbouring rows.
    "gqa": [
        (spec((4, 2), mask=CAUSAL), [packed(2, 128, 2, ping_pong=True), packed(1, 64, 2)], CALLS),
        (spec((8, 2), (72, 40), dtype="fp16", layout="bhsd"),
         [packed(2, 64, 2, ping_pong=True, order="linear"), packed(1, 128, 2, grid="plain")],
         CALLS[:4]),
        (spec((16, 2), mask=NARROW, inputs=SLOPES, score=ALIBI),
         [packed(3, 64, 2), packed(2, 64, 2, weights="shared", overlap="none", order="linear")],
         ["2,17,300", "1,1,77", "1,100,200", "1,8,0"]),
        (spec((8, 1), layout="bhsd", normalize=SIGMOID, mask=CAUSAL),
         [packed(4, 32, 2, overlap="none")], ["3,5,33", "1,70,70"]),
        (spec((64, 1)), [packed(1, 64, 2, grid="plain", order="linear")], ["1,3,70"]),
    ],
}
# Kernels whose order of tiles is checked by itself (sections.cpp): their lengths would take hours.
SECTIONS = [
    (spec((4, 2), mask=CAUSAL), schedule(3, 64, 2)),
    (spec((8, 2), mask=CAUSAL), packed(2, 64, 2)),
    (spec((4, 2), maps=2, mask=CAUSAL, inputs=LAMBDA, normalize=DIFFERENTIAL), schedule(4, 32, 2)),
    (spec((4, 2), blocks={"size": 64, "from": "bitmap"}), schedule(2, 64, 2)),
    (spec((4, 2), mask=CAUSAL, inputs=bias("bf16", "heads"), score="score + bias[h, q_idx, kv_idx]"),
     schedule(2, 64, 2), "-DBATCHES_SHARE"),
    (spec((8, 2), inputs={"keep": {"dtype": "u8", "shape": ["seq_q", "seq_kv"]}},
          mask="kv_idx <= q_pos and keep[q_idx, kv_idx] > 0"), packed(2, 64, 2), "-DBATCHES_SHARE"),
]
# And those whose last tiles come in an order of their own (ranks.cpp).
RANKS = [
    (spec((4, 2), blocks={"size": 64, "from": "bitmap"}), schedule(3, 64, 2)),
    (spec((4, 2), blocks={"size": 128, "from": "indices"}), schedule(2, 64, 2)),
    (spec((4, 2), blocks={"size": 64, "from": "indices", "per": "heads_kv"}), packed(2, 128, 2)),
]
# What the check must find in a kernel: a line, what makes it a little wrong.
WRONG = {
    "one key less": ("keys.end - kv_first};", "keys.end - kv_first - 1};"),
    "the scale": ("kScale = 0.125f;", "kScale = 0.125125f;"),
    "what is saved": ("return values.m + __logf(values.l);", "return values.m + __logf(values.l) + 1e-4f;"),
    "outputs": ("return acc * values.output_scale;", "return acc * values.output_scale * 1.004f;"),
}


def run(command):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(str(c) for c in command)}\n{done.stdout}")
    return done.stdout


def emulated(attngen, one, given, place):
    """Emits the kernel and makes a C++ source of it."""
    place.mkdir(parents=True, exist_ok=True)
    generated = generate(Path(attngen).resolve(), "h100", one, given, place)
    if generated.returncode:
        sys.exit(f"{json.dumps(one)}\n{generated.stderr}")
    host = place / "emulated.cpp"
    host.write_text(to_host((place / "emulated_h100.cu").read_text()))
    return host


def check_order(attngen, compiler, folder, kernels, source):
    for i, (one, given, *defined) in enumerate(kernels):
        host = emulated(attngen, one, given, folder / str(i))
        program = folder / str(i) / "order"
        command = library_command(compiler, one["dtype"], folder.parent)
        run([*command, f'-DEMITTED="{host}"', *defined, HERE / source, "-o", program])
        print(json.dumps(one), run([program]), sep="\n")


def check_outputs(attngen, check, compiler, folder, group):
    for i, (one, schedules, calls, *fills) in enumerate(GROUPS[group]):
        options = [text for fill in fills for text in ("--fill", fill)]
        if group == "dense":
            options.append("--replay")
        for j, given in enumerate(schedules):
            place = folder / f"{i}_{j}"
            host = emulated(attngen, one, given, place)
            if group == "far" and "_forward_states(" not in host.read_text():
                sys.exit(f"{json.dumps(one)}\na kernel without states")
            library = place / "emulated.so"
            run([*library_command(compiler, one["dtype"], folder.parent), "-shared", host, "-o", library])
            print(json.dumps(one), json.dumps(given), sep="\n")
            print(run([check, place / "spec.json", place / "emulated.json", library, *calls,
                       *options]), flush=True)


def check_wrong(attngen, check, compiler, folder):
    # In fp16, whose roundings hide less.
    host = emulated(attngen, spec((1, 1), dtype="fp16", mask=CAUSAL), schedule(2, 64, 2), folder)
    right, library = host.read_text(), folder / "emulated.so"
    command = [check, folder / "spec.json", folder / "emulated.json", library, "1,70,130"]
    for name, (line, wrong) in {"nothing": ("", ""), **WRONG}.items():
        if line and right.count(line) != 1:
            sys.exit(f"{right.count(line)} of {line}")
        host.write_text(right.replace(line, wrong) if line else right)
        run([*library_command(compiler, "fp16", folder.parent), "-shared", host, "-o", library])
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        print(f"{name} is wrong: {done.returncode}, {done.stdout}", end="", flush=True)
        if done.returncode != (1 if line else 0):
            sys.exit(done.stderr or 1)


def main():
    attngen, check, compiler, folder, group = sys.argv[1:]
    folder = Path(folder) / group
    if group == "sections":
        check_order(attngen, compiler, folder, SECTIONS, "sections.cpp")
    elif group == "ranks":
        check_order(attngen, compiler, folder, RANKS, "ranks.cpp")
    elif group == "wrong":
        check_wrong(attngen, check, compiler, folder)
    else:
        check_outputs(attngen, check, compiler, folder, group)


if __name__ == "__main__":
    main()
