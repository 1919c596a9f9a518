"""Groups of emulated kernels by what they compute of a pair and a row:
group -> (spec, schedules, calls, and how inputs are filled, if it matters).
"""

from specs import (ALIBI, BIASED, CALLS, CAUSAL, DECAYED, DIFFERENTIAL, DILATED, DOCUMENTS,
                   FADING, FALLING, FEW, GATED, GATES, HEAD_IDS, IDS, KEYS, LAMBDA, LENGTHS, LINEAR, LOG_DECAY,
                   LONG_FAR, LONG_PACKED, NARROW, NEAR, PACKED, PACKED_GATES, PACKED_STEP, RETAINED, RETENTION, ROWS, SAVED_MAX, SCALARS,
                   SELF, SIGMOID, SIGNED_SUM, SLOPES, SLOWLY, STEP, SUMS, TABLE, VALID, WINDOW, bias, gate, keep,
                   packed, positions, rows_of, schedule, spec, split)

FUNCTION_GROUPS = {
    "dense": [
        (spec(mask=CAUSAL), [schedule(2, 128, 2, ping_pong=True), schedule(3, 64, 2),
                             schedule(2, 64, 2, weights="shared", overlap="none", grid="plain")],
         CALLS),
        # Scores that begin as the mask; in the second kernel few fit the maximum of others.
        (spec(mask=WINDOW), [schedule(3, 64, 2), schedule(2, 144, 2, ping_pong=True)], CALLS),
        (spec(mask="abs(q_pos - kv_idx) < 40", scale=4), [schedule(2, 64, 2)], CALLS),
        # Chunks of 64 columns where others of the same width are of 32; an output wider in shared
        # memory than its queries, which have more columns.
        (spec((2, 2), (136, 136), mask=CAUSAL), [schedule(2, 64, 2)], CALLS[:2]),
        (spec((1, 1), (96, 72), layout="bhsd"), [schedule(2, 48, 2)], CALLS[:2]),
        # Keys and values that all batches share: a stride of 0.
        (spec((4, 2), layout="bhsd"), [schedule(2, 64, 2), packed(1, 64, 2, split_keys=True)],
         ["shared:3,70,130", "shared:2,1,900"]),
    ],
    # From a row's own keys down and then from the end: scores fall with the distance, or rise where
    # slopes are negative, so that each block has a new maximum.
    "nearest": [
        (spec(inputs={**SLOPES, **LENGTHS}, score=FALLING, mask="kv_idx < len[b]"),
         [schedule(2, 64, 2), schedule(3, 32, 3, ping_pong=True)], ["2,70,130", *CALLS[2:]],
         "len=290", "slopes=1.5"),
        (spec(inputs=SLOPES, score=FALLING), [schedule(2, 64, 2)], CALLS, "slopes=-1.5"),
        (spec(inputs=ROWS, score="score - square((q_pos - kv_idx) / (row[b, h, q_idx] + 9))",
              dtype="fp16", layout="bhsd"), [schedule(1, 80, 2, overlap="none", grid="plain")],
         CALLS[:3], "row=0.5"),
        (spec((4, 1), inputs=SLOPES, score=FALLING),
         [split(1, 64, 2), split(1, 64, 2, pack_heads=True)], ["1,1,900", "1,20,650"], "slopes=1.5"),
        (spec(inputs={**SLOPES, **bias("bf16", "heads")},
              score="score + bias[h, q_idx, kv_idx] - slopes[h] * abs(q_idx - kv_idx)"),
         [schedule(2, 64, 2)], BIASED, "slopes=1.5"),
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
        (spec(mask=CAUSAL, inputs=SLOPES, normalize={"weight": "exp(score) / slopes[h]"},
              score="score - log(1 + q_pos - kv_idx) / log(2 + q_pos)"), [schedule(2, 64, 2)], CALLS[:3]),
        # FIRE's three hidden units: nine constants of a row, of which a distance's logarithm is none.
        (spec(mask=CAUSAL, inputs={"w": {"dtype": "f32", "shape": [3]}, "u": {"dtype": "f32", "shape": ["heads", 3]},
                                   "bias": {"dtype": "f32", "shape": [3]}},
              score="score" + "".join(f" + u[h, {i}] * relu(w[{i}] * log(2 * (q_pos - kv_idx) + 1) / "
                                      f"log(2 * q_pos + 3) + bias[{i}])" for i in range(3))),
         [schedule(2, 64, 2)], CALLS[:3]),
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
        (spec((1, 1), scale=1e9, mask=NARROW), [schedule(2, 64, 2)], ["1,70,130", "1,300,300"]),
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
        # Of rows that have no pair yet the mean is 0 / 0: in their first blocks, and in a split.
        (spec(mask=NARROW, normalize={
            "rows": {"sum": "rowsum(score)", "n": "rowsum(1)", "l": "rowsum(exp(score - sum / n))"},
            "weight": "exp(score - sum / n)", "output": "acc / l", "save": {"total": "l"}}),
         [schedule(2, 64, 2), split(2, 64, 2)], ["1,200,300"]),
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
        # Maxima that weights do not read, without the scale, and of rows whose first block has
        # nothing finite.
        (spec(score="score if kv_idx >= 64 else -inf", normalize={
            "rows": {"m": "rowmax(score)", "l": "rowsum(exp(score - m))",
                     "far": "rowmax(min(abs(score), 9))", "least": "rowmax(exp(-m) * min(-1, score))"},
            "weight": "exp(score - m)", "output": "acc / l",
            "save": {"far": "far if far < 9 else m", "least": "least"}}),
         [schedule(2, 64, 2)], ["1,64,200"]),
        (spec(mask=CAUSAL, normalize={
            "rows": {"m": "rowmax(score)", "far": "rowmax(abs(score))", "l": "rowsum(exp(score - m))"},
            "weight": "exp(score - m)", "output": "acc / l", "save": {"far": "far"}}),
         [schedule(2, 64, 2), split(1, 64, 2)], CALLS[:3]),
        # Scores, and a sharpness, that leave nothing of a maximum but a weight of exactly 1.
        (spec((1, 1), scale=1e8, mask=CAUSAL, normalize={
            "rows": {"m": "rowmax(score)", "l": "rowsum(exp(score - m))",
                     "n": "rowsum(exp(2 * (score - m)))"},
            "weight": "exp(score - m)", "output": "acc / l", "save": {"l": "l", "n": "n"}}),
         [schedule(2, 64, 2)], ["1,70,130"]),
        (spec(normalize={
            "rows": {"m": "rowmax(score)", "l": "rowsum(exp(1e5 * (score - m)))"},
            "weight": "exp(1e5 * (score - m))", "output": "acc / l", "save": {"l": "l"}}),
         [schedule(2, 64, 2)], ["1,70,130"]),
        # The positive part of no number.
        (spec(score="score if kv_idx % 3 > 0 else -inf", normalize={
            "rows": {"m": "rowmax(score)", "l": "rowsum(exp(score - m))"},
            "weight": "relu(score * exp(score - m))", "output": "acc / l"}),
         [schedule(2, 64, 2)], ["1,70,130"]),
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
                           ({"top": "rowmax(score - m)"}, "exp(top)")]
    ] + [
        # What reads no score counts pairs before the first with a finite one, but none of a row
        # that has no such pair.
        (spec(score=f"score - (inf if kv_idx >= 100{empty} else 0)", normalize={
            "rows": {"last": "rowmax(kv_idx)", "m": maximum, "l": "rowsum(exp(score - m))" + more,
                     "n": "rowsum(1)", "far": "rowsum(kv_idx / 64)"},
            "weight": "exp(score - m)", "output": "acc / l * (1 if last > 150 else 0.5)",
            "save": {"n": "n", "last": "last", "far": "far"}}),
         [schedule(1, 64, 2)], ["1,3,200", "1,3,140", "1,3,40", "1,70,0"])
        for maximum, more, empty in [("rowmax(score)", "", " or q_idx == 1"),
                                     ("max(rowmax(score), -300)", " + exp(-300 - m)", "")]
    ] + [
        # Their output would be 0 times what overflows.
        (spec(mask=CAUSAL, normalize={
            "rows": {"m": "rowmax(score)", "l": "rowsum(exp(score - m))"},
            "weight": "exp(score - m)", "output": "acc / (l + 1e-30) * 1e10 / 1e10"}),
         [schedule(2, 64, 2)], ["1,70,30"])
    ],
    # An output that depends on its column: by itself, by inputs of two bytes, which come sixteen at a
    # time, by others.
    "columns": [
        (spec((4, 2), inputs=gate("batch", "seq_q", "heads"), mask=CAUSAL, normalize=GATED),
         [schedule(2, 64, 2), packed(1, 64, 2), packed(1, 64, 2, split_keys=True)],
         ["2,70,130", "1,200,90", "1,3,300", "1,64,0"]),
        # Three groups and a half of columns; another type; an element of each pair of rows.
        (spec(head_dim=(64, 40), dtype="fp16", inputs={
            "gate": {"dtype": "bf16", "shape": ["heads", "seq_q", 40]},
            "skip": {"dtype": "f32", "shape": ["batch", "seq_q", "dim"]}},
            normalize={**GATED, "output": "acc / l * gate[h, q_idx // 2, d] + skip[b, q_idx, d]"}),
         [schedule(2, 64, 2), split(2, 64, 2)], ["1,130,200", "2,70,300", "1,64,0"]),
        # A tensor with room for more, of which a row has two; what may be infinite, of an empty row.
        (spec(inputs={"gate": {"dtype": "bf16", "shape": ["batch", "seq_q", "heads", 2, 96]}},
              mask=NARROW, normalize={**GATED, "output": "exp(40 * gate[b, q_idx, h, 0, d]) * "
                                      "gate[b, q_idx, h, 1, d] * acc / l"}),
         [schedule(2, 64, 2)], ["1,130,70", "2,70,200"]),
        (spec((2, 1), (64, 384), inputs=gate("batch", "seq_q", "heads"), normalize=GATED),
         [schedule(2, 64, 2)], ["1,130,100"]),
        # Two parts of the values, the second narrower.
        (spec((2, 1), (64, 264), inputs={**gate("batch", "seq_q", "heads"),
                                         "skip": {"dtype": "f32", "shape": ["seq_q", "dim"]}},
              normalize={**GATED, "output": "acc / l * sigmoid(gate[b, q_idx, h, d]) + skip[q_idx, d]"}),
         [schedule(2, 64, 2)], ["1,130,100"]),
        (spec(maps=2, inputs={**LAMBDA, **gate("batch", "seq_q", "heads")}, mask=CAUSAL, normalize={
            **DIFFERENTIAL, "output": "acc / l * (1 if map == 0 else -lambda[h]) * "
                                      "sigmoid(gate[b, q_idx, h, d])"}),
         [schedule(2, 64, 2)], ["1,130,200"]),
        (spec((4, 2), varlen=True, inputs=gate("seq_q", "heads"), mask=CAUSAL,
              normalize={**GATED, "output": "acc / l * sigmoid(gate[q_idx, h, d])"}),
         [schedule(2, 64, 2), packed(1, 64, 2, split_keys=True)], [PACKED[2], *LONG_PACKED]),
        # Rows that are known at a tile's end alone, or where there are keys alone.
        (spec(inputs={"gate": {"dtype": "bf16", "shape": ["batch", 8, "dim"]}, **IDS}, mask=CAUSAL,
              normalize={**GATED, "output": "acc / l * gate[b, int(l), d] * gate[b, doc[b, q_pos], d]"}),
         [schedule(2, 64, 2)], ["2,70,130", "1,64,0"]),
        # No column of its own; a tensor along the keys, of which there may be none.
        (spec(normalize={**SIGMOID, "output": "acc * (2 if d < 20 else 0.5)"}),
         [schedule(2, 64, 2), split(1, 64, 2)], ["1,130,200", "1,64,0"]),
        (spec(inputs={"gate": {"dtype": "bf16", "shape": ["batch", "seq_kv", "dim"]}}, mask=CAUSAL,
              normalize={**SIGMOID, "output": "acc * gate[b, q_pos, 63 - d]"}),
         [schedule(2, 64, 2)], ["2,70,130", "1,64,0"]),
    ],
    # Rows of tables, of which each query has its own, in shared memory: keys' quotients and
    # remainders, in tiles that fit them and in others; an index beyond either end of the dimension.
    "tables": [
        (spec(inputs={**rows_of("bf16", 3, "batch", "heads", name="rel_h"),
                      **rows_of("bf16", 64, "batch", "heads", name="rel_w")},
              score="score + rel_h[b, h, q_idx, kv_idx // 64] + rel_w[b, h, q_idx, kv_idx % 64]"),
         [schedule(2, 64, 2), schedule(1, 128, 2), schedule(2, 96, 2, overlap="none"),
          schedule(3, 32, 2, ping_pong=True)], ["2,70,130", "1,200,333", "1,64,0"]),
        # Rows that begin anywhere; several heads in a tile.
        (spec((4, 2), inputs=rows_of("bf16", 33, "batch", "heads"), mask=CAUSAL,
              score="score + rel[b, h, q_idx, clamp(kv_idx - q_pos, -16, 16) + 16]"),
         [schedule(2, 64, 2), packed(1, 64, 2), packed(1, 64, 2, split_keys=True)],
         ["2,70,130", "1,200,90", "1,3,300"]),
        # Elements of -inf, of whole rows too, where blocks add the same to all products and elsewhere.
        (spec(mask=CAUSAL, inputs=rows_of("bf16", 9, "heads"),
              score="score + rel[h, q_idx, clamp(kv_idx - q_pos, -6, 2) + 6]"),
         [schedule(2, 64, 2), schedule(3, 32, 2, ping_pong=True), schedule(1, 48, 2, overlap="none")],
         ["2,70,130", "1,130,500"], "rel=holes"),
        (spec(dtype="fp16", inputs=rows_of("f32", 40, "heads"),
              normalize={"weight": "sigmoid(score - 4 + rel[h, q_idx, kv_idx // 7 - 3])"}),
         [schedule(2, 64, 2), split(1, 64, 2)], ["2,70,130", "1,130,300"]),
        # Two elements of one row, and a table for which there is no room beside it.
        (spec(inputs={**rows_of("f32", 150, "batch"), **rows_of("fp16", 301, "heads", name="far")},
              score="score + 0.5 * (rel[b, q_idx, kv_idx // 3] + rel[b, q_idx, kv_idx // 3 + 1]) + "
                    "far[h, q_idx, q_pos - kv_idx + 9]"), [schedule(2, 64, 2)], ["2,70,200"]),
        # What a query keeps of the keys; blocks that each map, or that nobody else, visits.
        (spec(inputs=rows_of("u8", 24, "batch", "heads"),
              mask=f"{CAUSAL} and rel[b, h, q_idx, kv_idx // 16] != 0"),
         [schedule(2, 64, 2), schedule(2, 64, 2, overlap="none")], ["2,70,130", "1,200,333"]),
        (spec(maps=2, inputs={**LAMBDA, **rows_of("bf16", 2, "heads"), **rows_of("i32", 5, name="by")},
              normalize=DIFFERENTIAL, mask=CAUSAL,
              score="score + rel[h, q_idx, map] * by[q_idx, kv_idx % 5]"),
         [schedule(2, 64, 2)], ["1,130,200"]),
        (spec((2, 1), blocks={"size": 64, "from": "bitmap", "per": "heads_kv"}, mask=CAUSAL,
              inputs=rows_of("bf16", 16), score="score + rel[q_idx, kv_idx // 16]"),
         [schedule(1, 128, 2), schedule(2, 64, 2)], CALLS),
        (spec((4, 2), varlen=True, inputs=rows_of("bf16", 33, "heads"), mask=CAUSAL,
              score="score + rel[h, q_idx, min(q_pos - kv_idx, 32)]"),
         [schedule(2, 64, 2), packed(1, 64, 2, split_keys=True)], [PACKED[2], *LONG_PACKED]),
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
        # Bytes that pick from a table, and that the mask reads too; others beside a bias.
        (spec(inputs={**keep("batch"), "table": {"dtype": "f32", "shape": ["heads", 64]}},
              score="score + table[h, keep[b, q_idx, kv_idx]]"),
         [schedule(2, 64, 2), schedule(1, 128, 2, overlap="none")], [*BIASED, "1,130,330"]),
        (spec(dtype="fp16", inputs={**keep("heads"), **bias("f32")}, mask="keep[h, q_idx, kv_idx] != 3",
              score="score * (keep[h, q_idx, kv_idx] // 16 + 1) + bias[q_idx, kv_idx]"),
         [schedule(2, 64, 2)], BIASED[:2]),
        (spec(inputs=keep("batch", "heads"), mask=f"{CAUSAL} and keep[b, h, q_idx, kv_idx] != 0",
              score="score - 0.1 * keep[b, h, q_idx, kv_idx]", normalize={"weight": "sigmoid(score - 3)"}),
         [schedule(2, 64, 2)], BIASED[:2]),
        # Of the matrix of a group of batches, as the rows of a pair representation share one.
        (spec((4, 2), inputs=bias("bf16", 3, "heads"), score="score + bias[b // 2, h, q_idx, kv_idx]"),
         [schedule(2, 64, 2)], ["5,70,136", "3,70,133"]),
    ],
    # One whose rows begin anywhere, and are clamped at their ends.
    "shifted": [
        (spec(inputs=positions("bf16", "batch", "heads", "seq_q", 600),
              score="score + bd[b, h, q_idx, kv_idx - q_idx + 300]"),
         [schedule(2, 128, 2, ping_pong=True), schedule(3, 48, 2, overlap="none")],
         [*BIASED, "1,205,333", "1,330,130"]),
        # All rows begin with a word, or none does.
        (spec(mask=CAUSAL, inputs=positions("bf16", "heads", "seq_q", 601),
              score="score + bd[h, q_idx, kv_idx - q_idx + 150]"), [schedule(1, 64, 2)],
         ["2,70,136", "1,205,333"]),
        (spec(inputs=positions("bf16", "heads", "seq_q", 601),
              score="score + bd[h, q_idx, kv_idx - q_idx + 151]"), [schedule(2, 64, 1)],
         ["1,130,200"]),
        # No pair that exists is beyond the end.
        (spec((4, 2), mask=CAUSAL, inputs=positions("f32", "batch", "heads_kv", "seq_q", "seq_kv"),
              score="score + bd[b, h_kv, q_idx, kv_idx - q_pos + seq_kv - 1]"),
         [schedule(2, 64, 3), split(1, 64, 2)], ["2,70,130", "1,130,333"]),
        (spec(dtype="fp16", mask=CAUSAL, inputs=positions("fp16", "seq_q", "seq_kv"),
              score="score - bd[q_idx, kv_idx - q_pos + seq_kv - 1]",
              normalize={"weight": "sigmoid(score)"}),
         [schedule(2, 64, 2)], ["2,70,131", "1,205,333"]),
        # Rows that are shorter or longer than there are keys; that begin further and further behind;
        # that are all beyond an end.
        (spec(inputs=positions("bf16", "seq_q", 600), score="score + bd[q_idx, kv_idx + 500]"),
         [schedule(2, 64, 2)], ["2,70,131", "1,77,200"]),
        (spec(inputs=positions("bf16", "heads", "seq_q", "seq_q"),
              score="score + bd[h, q_idx, kv_idx + 3 * q_idx - 70]"), [schedule(2, 64, 2)],
         ["2,70,131", "1,205,90"]),
        (spec(inputs=positions("f32", "batch", "seq_q", 300),
              score="score + bd[b, q_idx, kv_idx - q_idx + 250]"), [schedule(2, 64, 2)], ["2,70,131"]),
        # Also before the tensor and behind it.
        (spec(inputs=positions("bf16", "seq_q", 600), score="score + bd[q_idx, kv_idx - q_idx - 10]"),
         [schedule(2, 64, 2)], ["1,70,131"]),
        (spec(inputs=positions("bf16", "batch", "seq_q", 600),
              score="score + bd[b, q_idx, kv_idx - 2 * (q_idx - seq_q)]"), [schedule(2, 64, 2)],
         ["2,70,131", "1,205,190"]),
        (spec(inputs=positions("bf16", "seq_q", 600),
              score="score + bd[q_idx, kv_idx - q_idx + 1000] * bd[q_idx, kv_idx - q_idx - 1000]"),
         [schedule(1, 64, 2)], ["2,70,131"]),
        (spec(inputs={**positions("bf16", "heads", "seq_q", 600), **LENGTHS},
              score="score + bd[h, q_idx, kv_idx - q_idx + 90 + len[b]]", mask="kv_idx >= q_pos"),
         [schedule(2, 64, 2)], ["3,70,131"]),
        # Blocks that nobody knows ahead; a mask that reads it too.
        (spec(mask=DILATED, inputs={**positions("bf16", "batch", "heads", "seq_q", 600), **SLOPES},
              score="3 * tanh(score / 3) * bd[b, h, q_idx, kv_idx - q_idx + 200] + slopes[h] * kv_idx"),
         [schedule(2, 64, 3)], ["2,70,136", "1,205,333"]),
        (spec(mask=WINDOW, inputs=positions("bf16", "seq_q", 600), blocks={"size": 128, "from": "bitmap"},
              score="score + bd[q_idx, kv_idx - q_idx + 200]"), [schedule(2, 64, 2)], ["1,205,333"]),
        (spec(inputs=positions("bf16", "batch", "heads", "seq_q", 600),
              mask="bd[b, h, q_idx, kv_idx - q_idx + 200] > -1.6",
              score="score + bd[b, h, q_idx, kv_idx - q_idx + 200]"), [schedule(2, 64, 2)],
         ["1,130,200"]),
        (spec(maps=2, mask=CAUSAL, inputs={**LAMBDA, **positions("bf16", "heads", "seq_q", 601)},
              score="score + bd[h, q_idx, kv_idx - q_idx + 200]", normalize=DIFFERENTIAL),
         [schedule(2, 64, 2)], ["1,70,136"]),
        # Heads in one tile: then each thread loads its own.
        (spec((4, 2), inputs=positions("bf16", "heads", "seq_q", 600),
              score="score + bd[h, q_idx, kv_idx - q_idx + 200]"), [packed(2, 64, 2)], ["1,40,130"]),
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
        # Two and three values of a key, and divisors that are inverted once.
        (spec(mask=CAUSAL, inputs={**KEYS, "gain": {"dtype": "f32", "shape": ["heads", "seq_kv"]}},
              score="(score * gain[h, kv_idx] + key[b, kv_idx]) / (1 + log(1 + q_pos - kv_idx))"),
         [schedule(2, 64, 2), schedule(1, 160, 2, overlap="none")], CALLS[:4]),
        (spec(inputs={axis: {"dtype": "f32", "shape": ["batch", "seq_kv"]} for axis in "xyz"},
              score="score - " + " - ".join(f"square({axis}[b, q_idx] - {axis}[b, kv_idx])" for axis in "xyz")),
         [schedule(2, 64, 2)], SELF[:3]),
        (spec(mask=CAUSAL, inputs=KEYS, normalize={
            "rows": {"m": "rowmax(score)", "l": "rowsum(exp(score - m))"},
            "weight": "exp(score - m) * sigmoid(key[b, kv_idx])", "output": "acc / l"}),
         [schedule(2, 64, 2)], CALLS[:3]),
        # What a row's scores share, and take back to -inf: it is left out of them.
        (spec((4, 2), inputs={**KEYS, **ROWS}, mask=CAUSAL,
              score="score + key[b, kv_idx] - (inf if row[b, h, q_idx] > 1 else row[b, h, q_idx])"),
         [schedule(2, 64, 2), packed(2, 64, 2)], CALLS[:4]),
        # T5's buckets.
        (spec(inputs=TABLE, scale=0.125, score="score + table[8 + int(log2(max(abs(kv_idx - q_pos), 8)) * 2), h]"),
         [schedule(2, 64, 2)], CALLS[:1]),
        # Indices: of the distance, into rows of queries and of keys; of the key, and of both.
        (spec((4, 2), mask=CAUSAL, inputs={**rows_of("bf16", 33, "batch", "heads"), **NEAR,
                                           "turned": {"dtype": "bf16", "shape": ["batch", "seq_kv", 33]}},
              score="score + rel[b, h, q_idx, near[clamp(q_idx - kv_idx, -90, 89) + 90]] + "
                    "turned[b, kv_idx, near[clamp(q_idx - kv_idx, -90, 89) + 90]]"),
         [schedule(2, 64, 2), schedule(3, 48, 2, overlap="none"), packed(1, 64, 2)], CALLS[:4]),
        (spec(dtype="fp16", inputs=rows_of("f32", 9, "heads"),
              score="score + rel[h, q_idx, int(log2(1 + abs(q_idx - kv_idx)) * 1.3)]"),
         [schedule(2, 80, 2, ping_pong=True)], ["2,70,130", "1,300,300"]),
        (spec(inputs={**rows_of("bf16", 4, "batch"), **IDS},
              score="score + rel[b, q_idx, doc[b, kv_idx] * 2 - 1]"),
         [schedule(2, 64, 2), schedule(1, 96, 2)], CALLS[:4]),
        (spec(varlen=True, inputs={**rows_of("bf16", 9, "heads"), **TABLE,
                                   "doc": {"dtype": "i32", "shape": ["seq_kv"]}},
              score="score + rel[h, q_idx, clamp(4 * (doc[q_pos] - doc[kv_idx]) + 4, 0, 8)] + "
                    "table[kv_idx - q_pos + 100, h]"),
         [schedule(2, 64, 2)], PACKED[:3]),
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
        (spec((1, 1), (64, 128), layout="bhsd", mask="kv_idx <= q_pos or kv_idx < 700",
              inputs=LOG_DECAY, score=DECAYED, normalize=SUMS), [schedule(2, 64, 4)], ["1,600,1100"]),
        # Weights that fall along the keys, as an input says: heads without far keys.
        (spec(mask=CAUSAL, inputs=LOG_DECAY, score="score * exp(-log_decay[h] * kv_idx)",
              normalize=RETENTION), [schedule(2, 64, 4)], ["1,700,1300"], "log_decay=0.1"),
        (spec((1, 1), inputs=LOG_DECAY, score="score * exp(-log_decay[h] * kv_idx)", normalize=LINEAR),
         [schedule(2, 64, 4)], ["1,700,1300"], "log_decay=0.1"),
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
    # What a key's weight has of its key: of an exponent that falls along the keys, that grows, or that
    # a line adds to; a factor, alone too; pairs that are counted.
    "far_weights": [
        (spec(mask=CAUSAL, inputs={**GATES, **STEP}, score=FADING + " * step[b, h, kv_idx]", normalize=LINEAR),
         [schedule(3, 64, 4, ping_pong=True), schedule(2, 64, 4, grid="plain", order="linear")],
         ["1,700,1300", "opposed:1,700,1300", "2,600,400"], "gates=log_gates"),
        (spec((1, 1), (128, 64), layout="bhsd", mask=CAUSAL, inputs=GATES, score=FADING,
              normalize={"weight": "score", "output": "acc / (q_pos + 1)"}),
         [schedule(2, 64, 4, overlap="none")], ["1,600,1100"], "gates=log_gates"),
        (spec((1, 1), mask=CAUSAL, score="score * exp(-0.1 * kv_idx)", normalize=SIGNED_SUM),
         [schedule(2, 64, 4)], ["1,700,1300"]),
        (spec((1, 1), mask=CAUSAL, inputs=GATES, score="score * exp(0.1 * gates[b, h, kv_idx])",
              normalize=LINEAR), [schedule(2, 64, 4)], ["1,700,1300"], "gates=log_gates"),
        (spec((2, 1), (64, 128), inputs={**GATES, **STEP}, normalize=LINEAR,
              score=f"{SLOWLY} * exp(0.02 * (gates[b, h, 0] - gates[b, h, kv_idx]))"
                    " / (3 + abs(step[b, h, kv_idx]))"),
         [schedule(2, 64, 4)], ["1,520,1100", "1,600,0"], "gates=log_gates"),
        (spec((1, 1), (64, 384), mask=CAUSAL, inputs=STEP, score="score * step[b, h, kv_idx]",
              normalize={"rows": {"n": "rowsum(1)"}, "weight": "score", "output": "acc / n",
                         "save": {"n": "n"}}), [schedule(2, 64, 4)], ["1,600,1100"]),
        (spec((1, 1), mask=CAUSAL, scale=0.05, score=SLOWLY,
              normalize={"weight": "score", "output": "acc / (q_pos + 1)"}),
         [schedule(3, 64, 4, ping_pong=True)], ["1,600,1100"]),
    ],
    # Scans: of one chunk of rows and of many, ragged; by two parts of the values; weights of keys, in
    # the unit of the greatest, that fall along the keys, sums of them, counts; wide states, in one
    # place of shared memory. Fewer keys than queries go by tiles.
    "scan": [
        (spec(mask=CAUSAL, score=SLOWLY, normalize=LINEAR), [schedule(2, 64, 4, scan=True)],
         ["2,700,700", "1,256,256", "1,65,65", "opposed:1,700,700", "1,600,400"]),
        (spec((2, 2), (64, 128), layout="bhsd", mask=CAUSAL, normalize=LINEAR,
              score="score * pow(1 - exp2(-9 - h), q_pos - kv_idx) / 3"),
         [schedule(2, 64, 4, scan=True)], ["2,500,500"]),
        (spec(mask=CAUSAL, inputs={**GATES, **STEP}, score=FADING + " * step[b, h, kv_idx]", normalize=LINEAR),
         [schedule(2, 64, 4, scan=True)], ["2,700,700", "opposed:1,700,700"], "gates=log_gates"),
        (spec((2, 1), (128, 64), mask=CAUSAL, inputs={**GATES, **STEP}, normalize=LINEAR,
              score=FADING + " * step[b, h, kv_idx]"), [schedule(2, 64, 4, scan=True)], ["1,500,500"], "gates=log_gates"),
        (spec((1, 1), mask=CAUSAL, score="score * exp(-0.1 * kv_idx)", normalize=LINEAR),
         [schedule(2, 64, 4, scan=True)], ["1,1300,1300"]),
        (spec(mask=CAUSAL, inputs=LOG_DECAY, score="score * exp(-log_decay[h] * kv_idx)",
              normalize=SIGNED_SUM), [schedule(2, 64, 4, scan=True)], ["1,1300,1300"], "log_decay=0.1"),
        (spec((2, 1), mask=CAUSAL, inputs=GATES, score=FADING, normalize=SIGNED_SUM), [schedule(2, 64, 4, scan=True)],
         ["2,500,500"], "gates=log_gates"),
        (spec((1, 1), (128, 128), mask=CAUSAL, score=SLOWLY, normalize=SIGNED_SUM), [schedule(2, 64, 4, scan=True)],
         ["1,500,500"]),
        (spec((1, 1), mask=CAUSAL, inputs=STEP, score="score * step[b, h, kv_idx]",
              normalize={"rows": {"n": "rowsum(1)"}, "weight": "score", "output": "acc / n",
                         "save": {"n": "n"}}), [schedule(2, 64, 4, scan=True)], ["1,600,600"]),
        (spec((1, 1), (192, 128), mask=CAUSAL, score=SLOWLY, normalize=LINEAR), [schedule(2, 64, 2, scan=True)],
         ["1,300,300"]),
        (spec((1, 1), (256, 64), mask=CAUSAL, inputs=GATES, score=FADING, normalize=LINEAR),
         [schedule(2, 64, 2, scan=True)], ["1,300,300"], "gates=log_gates"),
        # Few slots, and warpgroups far apart.
        (spec((16, 16), (128, 64), mask=CAUSAL, score=SLOWLY, normalize=LINEAR), [schedule(2, 64, 4, scan=True)],
         ["1,512,512", "1,450,450"]),
    ],
    # The same of packed sequences: whose states begin anywhere, or that have none.
    "varlen_far": [
        (spec(mask=CAUSAL, score=RETAINED, normalize=RETENTION, varlen=True),
         [schedule(3, 64, 4, ping_pong=True)], LONG_FAR),
        (spec((2, 1), (64, 128), layout="bhsd", score=SLOWLY, normalize=LINEAR, varlen=True),
         [schedule(2, 64, 4, overlap="none")], LONG_FAR),
        (spec(mask=CAUSAL, inputs={**PACKED_GATES, **PACKED_STEP}, normalize=SIGNED_SUM, varlen=True,
              score="score * exp(0.02 * (gates[h, q_pos] - gates[h, kv_idx]) + 0.5 * step[h, kv_idx])"),
         [schedule(3, 64, 4, ping_pong=True)], LONG_FAR, "gates=log_gates"),
        (spec((1, 1), (128, 128), mask=CAUSAL, inputs=PACKED_STEP, score="score * step[h, kv_idx]",
              normalize=LINEAR, varlen=True), [schedule(2, 64, 4)], LONG_FAR),
        (spec((1, 1), (64, 384), mask=CAUSAL, score=SLOWLY, normalize=RETENTION, varlen=True),
         [schedule(2, 64, 2)], ["520x800+77x77"]),
        (spec((1, 1), mask=CAUSAL, inputs=LOG_DECAY, score="score * exp(-log_decay[h] * kv_idx)",
              normalize=LINEAR, varlen=True), [schedule(2, 64, 4)], ["520x1300+77x77"], "log_decay=0.1"),
    ],
    # Sums of scores, of the sum of the keys: of a decay, of none, of weights of the key; beside counted
    # pairs, of head dims whose sums take a block of 128 columns, of values in parts.
    "key_sums": [
        (spec(mask=CAUSAL, inputs={**GATES, **STEP}, score=FADING + " * exp(0.5 * step[b, h, kv_idx])",
              normalize=SIGNED_SUM), [schedule(3, 64, 4, ping_pong=True)],
         ["1,700,1300", "opposed:1,700,1300", "2,600,400"], "gates=log_gates"),
        (spec((2, 1), (64, 128), layout="bhsd", mask=CAUSAL, score=SLOWLY, normalize=SIGNED_SUM),
         [schedule(2, 64, 4, overlap="none"), schedule(2, 64, 4, grid="plain", order="linear")],
         ["1,600,1100"]),
        (spec((1, 1), (128, 64), inputs=STEP, score="score * step[b, h, kv_idx]",
              normalize={"rows": {"s": "rowsum(score)", "n": "rowsum(1)"}, "weight": "score",
                         "output": "acc / n + s / 9", "save": {"s": "s", "n": "n"}}),
         [schedule(2, 64, 4)], ["1,520,1100", "1,600,0"]),
        (spec((1, 1), (256, 256), mask=CAUSAL, score=SLOWLY, normalize=SIGNED_SUM),
         [schedule(2, 64, 2)], ["1,520,1100"]),
        (spec((1, 1), (64, 384), mask=CAUSAL, inputs=GATES, score=FADING, normalize=SIGNED_SUM),
         [schedule(2, 64, 2)], ["1,600,1100"], "gates=log_gates"),
        # Keys so wide that what makes states has the least room beside them.
        *((spec((1, 1), (qk, 64), mask=CAUSAL, inputs=GATES, score=FADING, normalize=SIGNED_SUM),
           [schedule(1, 64, 2)], ["1,520,1300"], "gates=log_gates") for qk in (192, 320, 384, 512)),
    ],
}
