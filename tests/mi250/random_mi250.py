"""Random specs for MI250, with schedules and shapes."""

import random

from gpu.random_hopper import PACKED, is_packable, pack
from gpu.random_specs import HEADS, LOGISTIC, Draft, Drawn, draw_dim, draw_meaning


def draw_schedule(d, spec):
    """Mostly one that fits."""
    qk, v = spec["head_dim"]["qk"], spec["head_dim"]["v"]
    schedule = {"warpgroups": d.random.choice([1, 2, 4]),
                "tile_kv": d.random.choice([32, 64, 128] if qk + v <= 160 else [32, 64]),
                "stages": 1, "weights": "registers", "overlap": "intra_warpgroup", "ping_pong": False,
                "grid": "plain", "order": d.random.choice(["linear", "longest_first"])}
    if is_packable(spec) and d.random.random() < 0.7:
        schedule["pack_heads"] = True
    return schedule


def draw_shapes(d, large):
    """Ragged; the second one odd: fewer keys than queries, a single query, no key."""
    strides = ["default", "padded", "swapped", "shared"]
    ragged = (d.random.randint(1, 2), d.random.randint(1, 200), d.random.randint(1, 260))
    odd = d.random.choice([(3, 1, d.random.randint(1, 300)), (1, 150, d.random.randint(0, 40)),
                           (2, d.random.randint(1, 70), 64 * d.random.randint(1, 3))])
    size = "large" if large and d.random.random() < 0.3 else "normal"
    for shape, logits in ((ragged, "normal"), (odd, size)):
        yield ",".join(map(str, shape)) + f",{d.random.choice(strides)},{logits}"


def draw_packed(d):
    for _ in range(2):
        yield f"{d.random.choice(PACKED)},{d.random.choice(['default', 'padded', 'swapped', 'shared'])}"


def draw(seed, index):
    d = Draft(random.Random(f"{seed}.{index}"))
    meaning, kind = draw_meaning(d)
    qk = draw_dim(d)
    v = qk if d.random.random() < 0.7 else draw_dim(d)
    heads = d.random.choice(HEADS)
    spec = {"attngen": 1, "name": f"random_{index}", "heads": {"q": heads[0], "kv": heads[1]},
            "head_dim": {"qk": qk, "v": v}, "layout": d.random.choice(["bshd", "bhsd"]), **meaning}
    if d.random.random() < 0.15:
        pack(spec)
    elif d.random.random() < 0.1:
        spec["blocks"] = {"size": d.random.choice([64, 128, 192]), "queries": d.random.choice([64, 128]),
                          "from": d.random.choice(["bitmap", "indices"]),
                          "per": d.random.choice(["heads", "heads_kv"])}
    if d.random.random() < 0.2:
        spec["kv_cache"] = {"paged": d.random.choice([1, 1, 4, 8, 12, 16, 24, 64, 80, 256])}
    if kind != LOGISTIC and d.random.random() < 0.2:
        spec["scale"] = d.number(0.02, 0.3)
    schedule = draw_schedule(d, spec) if d.random.random() < 0.3 else None
    shapes = (draw_packed(d) if spec.get("varlen") else
              draw_shapes(d, meaning["normalize"] == "softmax"))
    return Drawn(spec, d.fills, schedule, list(shapes))
