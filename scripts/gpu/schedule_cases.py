"""A few specs under many schedules."""

from gpu.case import (CAUSAL, DTYPES, HEADS, LAYOUTS, MASKS, WINDOW, Case, make_spec,
                      schedule)
from gpu.variant_cases import ALIBI, SINK_ROWS, SLOPES, row_free

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
        spec = make_spec(name, (head_dim, head_dim), heads, **rest)
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


def agree_cases():
    specs = [("agree_full_d128", (128, 128), "mha", "full"),
             ("agree_causal_d64", (64, 64), "gqa4", "causal")]
    for data, head_dim, ratio, mask in specs:
        for i, one in enumerate(SCHEDULES):
            name = f"{data}_s{i}"
            spec = make_spec(name, head_dim, HEADS[ratio], mask=MASKS[mask])
            yield Case(name, spec, "agree", mask=mask, schedule=one, data=data)
