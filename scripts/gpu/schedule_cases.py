"""A few specs under many schedules."""

from dataclasses import replace

from gpu.case import (CAUSAL, DTYPES, HEADS, LAYOUTS, MASKS, WINDOW, Case, make_spec,
                      schedule)
from gpu.variant_parts import (ALIBI, DIFFERENTIAL, LAMBDA, RETENTION_ROWS, SAVED_MAX, SINK_ROWS,
                               SLOPES, SOFTPICK_ROWS, row_free)

# Each value of each field at least twice, 1 to 4 warpgroups, tiles that are no multiple of 64.
SCHEDULES = [
    schedule(2, 128, 2),
    schedule(2, 128, 2, grid="plain"),
    schedule(2, 128, 2, ping_pong=False),
    schedule(2, 128, 2, order="longest_first"),
    schedule(2, 64, 3, overlap="none"),
    schedule(2, 144, 2, ping_pong=False, grid="plain", order="longest_first"),
    schedule(2, 64, 2, weights="shared"),
    schedule(2, 96, 2, weights="shared", overlap="none", grid="plain"),
    schedule(1, 128, 2, ping_pong=False),
    schedule(1, 64, 4, weights="shared", ping_pong=False, grid="plain", order="longest_first"),
    schedule(1, 176, 2, overlap="none", ping_pong=False, order="longest_first"),
    schedule(3, 64, 2),
    schedule(3, 80, 2, overlap="none", ping_pong=False, grid="plain"),
    schedule(3, 64, 2, weights="shared", order="longest_first"),
    schedule(4, 32, 3, overlap="none", ping_pong=False),
]


# The producer walks: over documents in order and in none, and over two stretches of keys.
WALKS = {
    "agree_documents_d64": {
        "fills": {"doc": {"fill": "documents"}},
        "inputs": {"doc": {"dtype": "i32", "shape": ["batch", "seq_kv"], "sorted": True}},
        "mask": f"doc[b, q_pos] == doc[b, kv_idx] and {CAUSAL}"},
    "agree_ids_d64": {
        "fills": {"doc": {"fill": "documents_anyhow"}},
        "inputs": {"doc": {"dtype": "i32", "shape": ["batch", "seq_kv"]}},
        "mask": f"doc[b, q_pos] == doc[b, kv_idx] and {CAUSAL}",
        "without": (5, 11, 12, 14)},  # an id for each pair takes registers
    "agree_gaps_d64": {
        "fills": {"prefix": {"fill": "lengths"}},
        "inputs": {"prefix": {"dtype": "i32", "shape": ["batch"]}},
        "mask": f"{CAUSAL} and (kv_idx < prefix[b] or q_pos - kv_idx < {WINDOW})"},
}


def walk_cases():
    for data, walk in WALKS.items():
        for i, one in enumerate(SCHEDULES):
            if i in walk.get("without", ()):
                continue
            name = f"{data}_s{i}"
            spec = make_spec(name, (64, 64), HEADS["gqa4"], inputs=walk["inputs"],
                             mask=walk["mask"])
            yield Case(name, spec, "agree", walk["fills"], schedule=one, data=data)


def packed(*args, **rest):
    return {**schedule(*args, **rest), "pack_heads": True}


# Query heads packed into the tile: each kind of grid, order and overlap.
PACKED_SCHEDULES = [
    packed(2, 128, 2, order="longest_first"),
    packed(1, 64, 4, ping_pong=False),
    packed(2, 64, 2, overlap="none", grid="plain"),
    packed(3, 64, 2, ping_pong=False, order="longest_first"),
    packed(2, 64, 2, weights="shared"),
    packed(1, 176, 2, ping_pong=False, grid="plain", order="longest_first"),
    packed(4, 32, 2, ping_pong=False, order="longest_first"),
]


def packed_cases():
    """`--group packed`: ratios, head dims, masks and layouts, and what reads the head of a row."""
    names = [(ratio, dim, mask) for ratio in ("gqa4", "gqa8") for dim in (64, 128)
             for mask in ("full", "causal", "window")]
    for i, (ratio, dim, mask) in enumerate(names):
        one = PACKED_SCHEDULES[i % len(PACKED_SCHEDULES)]
        # 256 rows leave 112 registers a thread, too few for an accumulator of 128 columns.
        one = PACKED_SCHEDULES[0] if one["warpgroups"] == 4 and dim > 64 else one
        layout, dtype = LAYOUTS[(i + i // 2) % 2], DTYPES[i // 2 % 2]
        name = f"packed_{ratio}_d{dim}_{mask}_{dtype}_{layout}"
        spec = make_spec(name, (dim, dim), HEADS[ratio], dtype, layout, mask=MASKS[mask])
        yield Case(name, spec, "packed", mask=mask, schedule=one, data=name)

    def one(name, head_dim, heads, given, fills, **rest):
        dims = (head_dim, head_dim) if isinstance(head_dim, int) else head_dim
        spec = make_spec(name, dims, heads, **rest)
        return Case(name, spec, "packed", fills, schedule=given, data=name)

    yield one("packed_alibi", 128, (8, 2), PACKED_SCHEDULES[1], {"slopes": {"fill": "slopes"}},
              inputs=SLOPES, score=ALIBI, mask=CAUSAL)
    yield one("packed_sinks", 64, (16, 2), PACKED_SCHEDULES[0], {"sink": {"fill": "normal"}},
              inputs={"sink": {"dtype": "f32", "shape": ["heads"]}}, normalize=SINK_ROWS,
              mask=MASKS["window"], layout="bhsd")
    yield one("packed_lengths", 64, (32, 1), PACKED_SCHEDULES[3], {"kv_len": {"fill": "lengths"}},
              inputs={"kv_len": {"dtype": "i32", "shape": ["batch"]}}, mask="kv_idx < kv_len[b]")
    yield one("packed_sigmoid", 128, (4, 2), PACKED_SCHEDULES[2], {}, mask=CAUSAL,
              normalize=row_free("sigmoid(score - 4)"), dtype="fp16")
    # Groups that leave rows void.
    yield one("packed_by_7", 128, (14, 2), PACKED_SCHEDULES[0], {}, mask=CAUSAL)
    yield one("packed_by_5", 64, (10, 2), PACKED_SCHEDULES[4], {"slopes": {"fill": "slopes"}},
              inputs=SLOPES, score=ALIBI, mask=MASKS["window"], layout="bhsd")
    yield one("packed_by_3", 128, (3, 1), PACKED_SCHEDULES[2], {}, dtype="fp16")
    yield one("packed_by_12", 64, (12, 1), PACKED_SCHEDULES[3], {}, mask=CAUSAL,
              normalize=row_free("sigmoid(score - 4)"))
    yield one("packed_split_by_7", 128, (7, 1), SPLIT_SCHEDULES[6], {}, mask=CAUSAL)
    # Groups of which a tile has a part.
    yield one("packed_of_71", 64, (71, 1), PACKED_SCHEDULES[0], {}, mask=CAUSAL)
    yield one("packed_of_128", 64, (128, 1), PACKED_SCHEDULES[2], {}, dtype="fp16")
    yield one("packed_split_of_142", 64, (142, 2), SPLIT_SCHEDULES[6], {}, mask=CAUSAL)
    # Values in two parts.
    yield one("packed_wide_by_7", 320, (14, 2), packed(1, 64, 2, ping_pong=False), {}, mask=CAUSAL)
    yield one("packed_wide_of_128", 512, (128, 1), packed(1, 48, 2, ping_pong=False), {})
    yield one("packed_split_wide", 512, (128, 1), {**split(1, 32, 2, ping_pong=False), "pack_heads": True}, {})
    # Values of keys that each head has of its own.
    gates = {"gates": {"dtype": "f32", "shape": ["batch", "heads", "seq_kv"]}}
    filled = {"gates": {"fill": "log_gates"}}
    forget = "score + gates[b, h, q_pos] - gates[b, h, kv_idx]"
    yield one("packed_gates", 128, (8, 2), PACKED_SCHEDULES[1], filled, inputs=gates, score=forget,
              mask=CAUSAL)
    yield one("packed_gates_by_7", 64, (14, 2), PACKED_SCHEDULES[3], filled, inputs=gates,
              score="score * exp(gates[b, h, kv_idx]) + gates[b, h, kv_idx]", dtype="fp16")
    yield one("packed_split_gates", 128, (16, 2), SPLIT_SCHEDULES[6], filled, inputs=gates,
              score=forget)
    # Biases of pairs, of which heads have neighbouring matrices, or one.
    for name, head_dim, heads, given, element, shape, rest in (
            ("packed_biases", 128, (8, 2), PACKED_SCHEDULES[1], "bf16", ["batch", "heads"], {}),
            ("packed_biases_by_7", 64, (14, 2), PACKED_SCHEDULES[2], "fp16", ["heads"],
             {"dtype": "fp16", "mask": MASKS["window"]}),
            ("packed_shared_bias", 64, (8, 2), PACKED_SCHEDULES[0], "bf16", ["batch"], {}),
            ("packed_shared_f32_bias", 128, (16, 1), PACKED_SCHEDULES[1], "f32", [], {"mask": CAUSAL}),
            ("packed_split_biases", 128, (8, 1), SPLIT_SCHEDULES[6], "bf16", ["batch", "heads"], {})):
        bias = {"bias": {"dtype": element, "shape": [*shape, "seq_q", "seq_kv"]}}
        load = ", ".join([{"batch": "b", "heads": "h"}[dim] for dim in shape] + ["q_idx", "kv_idx"])
        yield replace(one(name, head_dim, heads, given, {"bias": {"fill": "normal"}}, inputs=bias,
                          score=f"score + bias[{load}]", **rest), longest=2048)
    # Two maps: TMA takes every second head of queries.
    maps = {"maps": 2, "inputs": LAMBDA, "normalize": DIFFERENTIAL}
    for name, dims, heads, given, rest in (
            ("packed_maps", (64, 128), (8, 2), packed(4, 32, 2, overlap="none"), {"mask": CAUSAL}),
            ("packed_maps_by_7", (72, 40), (14, 2), packed(2, 64, 2),
             {"mask": MASKS["window"], "dtype": "fp16", "layout": "bhsd"})):
        yield one(name, dims, heads, given, {"lambda": {"fill": "lambdas"}}, **maps, **rest)
    # Blocks of keys that are searched, or tested.
    yield one("packed_documents", 128, (8, 2), PACKED_SCHEDULES[1], {"doc": {"fill": "documents"}},
              inputs={"doc": {"dtype": "i32", "shape": ["batch", "seq_kv"], "sorted": True}},
              mask=f"doc[b, q_pos] == doc[b, kv_idx] and {CAUSAL}")
    yield one("packed_sink_window", 64, (7, 1), PACKED_SCHEDULES[1], {},
              mask=f"{CAUSAL} and (kv_idx < 40 or q_pos - kv_idx < 300)")
    # Packed sequences.
    for name, heads, given in (("packed_varlen", (8, 2), PACKED_SCHEDULES[0]),
                               ("packed_varlen_by_7", (7, 1), PACKED_SCHEDULES[3]),
                               ("packed_varlen_of_71", (71, 1), PACKED_SCHEDULES[3])):
        yield one(name, 128, heads, given, {}, varlen=True, mask=CAUSAL)


def split(*args, **rest):
    return {**schedule(*args, **rest), "split_keys": True}


# Keys of a tile in splits: each kind of grid, order and overlap, with heads packed too.
SPLIT_SCHEDULES = [
    split(2, 128, 2),
    split(1, 64, 4, ping_pong=False, order="longest_first"),
    split(2, 64, 2, overlap="none", grid="plain"),
    split(3, 64, 2, ping_pong=False, order="longest_first"),
    split(2, 64, 2, weights="shared", ping_pong=False),
    split(1, 176, 2, ping_pong=False, grid="plain"),
    {**split(1, 128, 2, ping_pong=False), "pack_heads": True},
    {**split(2, 64, 2, order="longest_first"), "pack_heads": True},
]
# What a split leaves of a row, and how two of them become one: by normaliser.
SPLIT_FORMS = {
    "alibi": ({"slopes": {"fill": "slopes"}}, {"inputs": SLOPES, "score": ALIBI, "mask": CAUSAL}),
    "sinks": ({"sink": {"fill": "normal"}},
              {"inputs": {"sink": {"dtype": "f32", "shape": ["heads"]}}, "normalize": SINK_ROWS,
               "mask": MASKS["window"]}),
    "saved_max": ({}, {"normalize": SAVED_MAX, "mask": CAUSAL, "dtype": "fp16"}),
    "softcap": ({}, {"score": "30 * tanh(score / 30)", "mask": CAUSAL}),
    "softpick": ({}, {"normalize": SOFTPICK_ROWS}),
    "squares": ({}, {"normalize": {
        "rows": {"m": "rowmax(score)", "last": "rowmax(kv_idx)", "n": "rowsum(1)",
                 "l": "rowsum(square(exp(score - m)))"},
        "weight": "exp(score - m)", "output": "acc * rsqrt(l)",
        "save": {"last": "last", "n": "n", "m": "m"}}, "mask": MASKS["prefix"]}),
    "retention": ({}, {"normalize": RETENTION_ROWS, "mask": CAUSAL,
                       "score": "score * exp((kv_idx - q_pos) / 100)"}),
    "sigmoid": ({}, {"normalize": row_free("sigmoid(score - 8)")}),
    "bias": ({"bias": {"fill": "normal"}},
             {"inputs": {"bias": {"dtype": "bf16", "shape": ["seq_q", "seq_kv"]}},
              "score": "score + bias[q_idx, kv_idx]"}),
}
# What the scout finds of a split: by a search, a test, tables, bits, bitmaps and lists.
SPLIT_WALKS = {
    "documents": ({"doc": {"fill": "documents"}}, {
        "inputs": WALKS["agree_documents_d64"]["inputs"],
        "mask": WALKS["agree_documents_d64"]["mask"]}, 0),
    "ids": ({"doc": {"fill": "documents_anyhow"}}, {
        "inputs": WALKS["agree_ids_d64"]["inputs"], "mask": WALKS["agree_ids_d64"]["mask"]}, 1),
    "gaps": ({}, {"mask": f"{CAUSAL} and (q_pos // 64 - kv_idx // 64) % 4 == 0"}, 3),
    "asked": ({"keep": {"fill": "patches"}}, {
        "inputs": {"keep": {"dtype": "u8", "shape": ["batch", "seq_q", "seq_kv"]}},
        "mask": f"{CAUSAL} and keep[b, q_idx, kv_idx] > 0"}, 0),
    "bitmap": ({}, {"blocks": {"size": 64, "from": "bitmap"}}, 1),
    "lists": ({}, {"blocks": {"size": 64, "from": "indices", "per": "heads_kv"},
                   "mask": CAUSAL}, 7),
    "packed_lists": ({}, {"blocks": {"size": 64, "from": "indices", "per": "heads_kv"},
                          "varlen": True, "mask": CAUSAL}, 7),
}
FEW_SUMS = ("softpick", "retention", "sigmoid", "squares")  # large scores overflow what they sum


def split_cases():
    """`--group split`: calls of few tiles and many keys."""
    names = [(ratio, dims, mask) for dims in ((128, 128), (64, 64), (72, 40), (256, 256))
             for ratio, mask in (("gqa4", "full"), ("gqa8", "causal"), ("gqa4", "window"))]
    for i, (ratio, dims, mask) in enumerate(names):
        one = SPLIT_SCHEDULES[i % len(SPLIT_SCHEDULES)]
        one = SPLIT_SCHEDULES[2] if dims[0] == 256 else one  # others do not fit
        layout, dtype = LAYOUTS[i % 2], DTYPES[i // 2 % 2]
        name = f"split_{ratio}_d{dims[0]}_{mask}_{dtype}_{layout}"
        spec = make_spec(name, dims, HEADS[ratio], dtype, layout, mask=MASKS[mask])
        yield Case(name, spec, "split", mask=mask, schedule=one, data=name)
    for i, (form, (fills, rest)) in enumerate(SPLIT_FORMS.items()):
        name, dim = f"split_{form}", (64, 128)[i % 2]
        one = SPLIT_SCHEDULES[(0, 1, 6, 4, 7)[i % 5]]
        yield Case(name, make_spec(name, (dim, dim), (8, 2), **rest), "split", fills, schedule=one,
                   longest=5000 if form == "bias" else 8191, large=form not in FEW_SUMS, data=name)
    for walk, (fills, rest, i) in SPLIT_WALKS.items():
        name = f"split_{walk}"
        yield Case(name, make_spec(name, (64, 64), (8, 2), **rest), "split", fills,
                   schedule=SPLIT_SCHEDULES[i], longest=5000 if walk == "asked" else 8191, data=name)
    for name, heads, i, mask in (("split_varlen", (8, 2), 1, "causal"),
                                 ("split_varlen_packed", (7, 1), 7, "full")):
        yield Case(name, make_spec(name, (128, 128), heads, varlen=True, mask=MASKS[mask],
                                   normalize=SAVED_MAX), "split", schedule=SPLIT_SCHEDULES[i],
                   data=name)
    yield from split_maps_cases()


def split_maps_cases():
    """Each map of a row leaves parts of its own."""
    both = {**split(2, 64, 2, order="longest_first"), "pack_heads": True}
    for name, dims, given, rest in (
            ("split_maps", (64, 128), split(2, 128, 2), {"mask": CAUSAL}),
            ("split_maps_pairs", (64, 64), split(4, 64, 2, ping_pong=False), {"dtype": "fp16"}),
            ("split_maps_packed", (128, 256), both, {}),
            ("split_maps_varlen", (64, 128), both, {"mask": CAUSAL, "varlen": True})):
        spec = make_spec(name, dims, (8, 2), maps=2, inputs=LAMBDA, normalize=DIFFERENTIAL, **rest)
        yield Case(name, spec, "split", {"lambda": {"fill": "lambdas"}}, schedule=given, data=name)


def agree_cases():
    specs = [("agree_full_d128", (128, 128), "mha", "full"),
             ("agree_causal_d64", (64, 64), "gqa4", "causal")]
    for data, head_dim, ratio, mask in specs:
        for i, one in enumerate(SCHEDULES):
            name = f"{data}_s{i}"
            spec = make_spec(name, head_dim, HEADS[ratio], mask=MASKS[mask])
            yield Case(name, spec, "agree", mask=mask, schedule=one, data=data)
