"""Random specs for Hopper, with schedules and with calls that an emulator can afford."""

import random
import re

from gpu.case import Case
from gpu.random_specs import (LOGISTIC, RELATIVE, Draft, Drawn, absolute_sum, counted, draw_dim,
                              draw_mask, draw_meaning, plus_one, scaled_output, signed_sum,
                              sinks, unit_length)

HEADS = [(1, 1), (2, 2), (2, 1), (4, 1), (4, 2), (3, 3), (3, 1), (8, 1), (7, 1), (10, 2)]
PACKED = ["70x130+1x77+64x64", "1x1", "130x130+0x50+3x0+65x200", "0x0+90x64+0x0+1x9+5x5"]
BLOCK_SIZES = {64: [32, 64, 128], 128: [32, 64, 128], 192: [48, 64, 96]}


def draw_tile_kv(d, spec, warpgroups, widest):
    if size := spec.get("blocks", {}).get("size"):
        return d.random.choice([n for n in BLOCK_SIZES[size] if warpgroups < 4 or n <= 64])
    most = min(256, 12000 * min(1, 2 / warpgroups) // widest)
    sizes = [16, 32, 48, 64, 64, 64, 80, 96, 128, 176, 256]
    return d.random.choice([n for n in sizes if n <= max(most, 32)])


def is_packable(spec):
    """Whether the heads of a tile may share their keys."""
    group = spec["heads"]["q"] // spec["heads"]["kv"]
    one_mask = not re.search(r"\bh\b", spec.get("mask", ""))
    return group > 1 and one_mask and spec.get("blocks", {}).get("per") != "heads"


def takes_lists(spec):
    """Whether the heads of a key head share a mask, and values fit a tile of one query."""
    by_head = spec["heads"]["q"] > spec["heads"]["kv"] and re.search(r"\bh\b", spec.get("mask", ""))
    fits = spec["head_dim"]["v"] <= 256 or "share_kv" in spec
    return not by_head and fits


def draw_lists(d):
    count = d.random.randint(1, 200)
    return {"indices": count, "distinct": True} if d.random.random() < 0.5 else {"indices": count}


def draw_schedule_of_lists(d, spec):
    widest = sum(spec["head_dim"].values())
    return {"warpgroups": 1,
            "tile_kv": d.random.choice([32, 64, 64, 96] if widest <= 256 else [32, 64]),
            "stages": d.random.choice([2, 2, 3] if widest <= 256 else [2]),
            "weights": d.random.choice(["registers", "registers", "shared"]),
            "overlap": d.random.choice(["intra_warpgroup", "intra_warpgroup", "none"]),
            "ping_pong": False,
            "grid": "persistent" if spec.get("varlen") else
                    d.random.choice(["persistent", "persistent", "plain"]),
            "order": "linear", "pack_heads": True}


def draw_schedule_of_sides(d, spec):
    lists = "tokens" in spec
    packs = lists or (is_packable(spec) and d.random.random() < 0.5)
    return {"warpgroups": 2, "tile_kv": d.random.choice([32, 32, 64] if lists else [32, 48, 64]),
            "stages": 2, "weights": "shared", "overlap": "none", "ping_pong": False,
            "grid": "persistent", "order": "linear" if lists else "longest_first",
            **({"pack_heads": True} if packs else {})}


def draw_schedule(d, spec):
    """Mostly one that fits."""
    if "share_kv" in spec and spec["head_dim"]["v"] > 256:
        return draw_schedule_of_sides(d, spec)
    may_be_mask = spec.get("tokens", {}).get("distinct") and not spec.get("varlen")
    if "tokens" in spec and not (may_be_mask and d.random.random() < 0.6):
        return draw_schedule_of_lists(d, spec)
    dims = spec["head_dim"]
    widest = dims["qk"] + dims["v"]
    maps = spec.get("maps", 1)
    warpgroups = d.random.choice([2, 4] if maps == 2 and widest <= 128 else [2] if maps == 2 else
                                 [1, 2, 2, 3, 4] if widest <= 128 else [1, 2])
    packs = is_packable(spec) and d.random.random() < 0.3
    group = spec["heads"]["q"] // spec["heads"]["kv"]
    size = spec.get("blocks", {}).get("size")
    group_rows = 1 << (group - 1).bit_length() if packs else 1
    queries = spec.get("blocks", {}).get("queries", size)
    one_row = not size or queries % (64 * warpgroups // group_rows) == 0
    turns = warpgroups > maps and one_row
    schedule = {"warpgroups": warpgroups,
                "tile_kv": draw_tile_kv(d, spec, warpgroups, widest),
                "stages": d.random.choice([2, 2, 3, 4] if widest <= 128 else [2]),
                "weights": d.random.choice(["registers", "registers", "shared"]),
                "overlap": d.random.choice(["intra_warpgroup", "intra_warpgroup", "none"]),
                "ping_pong": turns and d.random.random() < 0.4,
                "grid": d.random.choice(["persistent", "persistent", "plain"]),
                "order": d.random.choice(["linear", "longest_first"])}
    if spec.get("varlen") or schedule["order"] == "longest_first":
        schedule |= {"grid": "persistent", "order": "longest_first"}
    if packs:
        schedule["pack_heads"] = True
    if "tokens" in spec:
        schedule["lists_as_mask"] = True
    return schedule


def draw_prefix(d, large):
    return d.random.choice(["", "", "padded:", "swapped:", "shared:"]) + \
        ("large:" if large and d.random.random() < 0.4 else "")


def draw_calls(d, spec):
    """Ragged; the last one odd: fewer keys than queries, a single query, no key."""
    large = spec["normalize"] == "softmax"
    if spec.get("varlen"):
        return [draw_prefix(d, large) + d.random.choice(PACKED)]
    heads = spec["heads"]["q"] * spec.get("maps", 1)
    batch = d.random.randint(1, 2) if heads <= 3 else 1
    ragged = (batch, d.random.randint(1, 600 // heads), d.random.randint(1, 400))
    odd = d.random.choice([(2, 1, d.random.randint(1, 300)), (1, 70, d.random.randint(0, 40)),
                           (1, d.random.randint(1, 70), 64 * d.random.randint(1, 3))])
    return [draw_prefix(d, large) + ",".join(map(str, call)) for call in (ragged, odd)]


def draw_dims(d):
    common = [(64, 64), (64, 64), (128, 128), (64, 128), (128, 64), (72, 40), (40, 96), (192, 128)]
    if d.random.random() < 0.8:
        return d.random.choice(common)
    qk = draw_dim(d)
    return qk, d.random.choice([qk, draw_dim(d, 512)])


def pack(spec):
    """Makes a spec's sequences packed, and its inputs, unless one has an element for each pair."""
    lengths = {"seq_q", "seq_kv"}
    along = {name: given for name, given in spec["inputs"].items()
             if lengths & set(map(str, given["shape"]))}
    if any(lengths <= set(map(str, given["shape"])) for given in along.values()):
        return
    spec["varlen"] = True
    for name, given in along.items():
        if given["shape"][0] != "batch":
            continue
        given["shape"] = given["shape"][1:]
        for key in {"score", "mask"} & spec.keys():
            spec[key] = spec[key].replace(f"{name}[b, ", f"{name}[")


def reads_map(d, spec):
    """Two maps that differ, by what the spec says of them."""
    spec["maps"] = 2
    if d.random.random() < 0.5:
        spec["score"] = f"({spec['score']}) * (1 + 0.5 * map)"
    if isinstance(spec["normalize"], dict):
        output = spec["normalize"].get("output", "acc")
        spec["normalize"]["output"] = f"({output}) * (1 if map == 0 else -0.4)"


def keep_blocks(d, spec):
    spec["blocks"] = {"size": d.random.choice(list(BLOCK_SIZES)),
                      "from": d.random.choice(["bitmap", "indices"]),
                      "per": d.random.choice(["heads", "heads_kv"])}
    if d.random.random() < 0.5:
        spec["blocks"]["queries"] = d.random.choice([1, 2, 8, 32, 64, 128])
    if spec["blocks"]["from"] == "indices" and d.random.random() < 0.3:
        spec["blocks"]["most"] = d.random.randint(1, 6)
    if d.random.random() < 0.3:
        pack(spec)


def share_columns(d, spec):
    """Values become columns of the keys: where two sides have them, few keys, which take long here."""
    dims = spec["head_dim"]
    if d.random.random() < 0.4:
        dims["qk"], dims["v"] = d.random.choice([(576, 512), (448, 384), (512, 512)])
    dims["v"] = min(dims["qk"], dims["v"])
    if dims["v"] > 256 and dims["v"] % 128:
        dims["v"] = 256
    spec["share_kv"] = {"v_prefix": dims["v"]}
    if takes_lists(spec) and d.random.random() < 0.3:
        spec["tokens"] = draw_lists(d)
    elif d.random.random() < 0.3:
        keep_blocks(d, spec)
    elif d.random.random() < 0.2:
        pack(spec)


def draw_storage(d, spec):
    """One of what only this family has."""
    which = d.random.choice(["", "", "varlen", "blocks", "maps", "tokens", "share_kv"])
    if which == "share_kv":
        share_columns(d, spec)
    elif which == "varlen":
        pack(spec)
    elif which == "blocks":
        keep_blocks(d, spec)
    elif which == "tokens" and takes_lists(spec):
        spec["tokens"] = draw_lists(d)
        if d.random.random() < 0.3:
            pack(spec)
    elif which == "maps" and spec["head_dim"]["v"] <= 256:
        reads_map(d, spec)
        if d.random.random() < 0.3:
            keep_blocks(d, spec)
        elif d.random.random() < 0.3:
            pack(spec)


def draw_far(d):
    """Keys far behind as states: calls of 512 queries have them here (to_host.py)."""
    rate = d.random.choice(["log(1 - exp2(-5 - h))", "log(1 - exp2(-9 - h))", "-0.002", "0.001",
                            f"{d.add_input(['heads'], 'log_decay')}[h]"])
    score = d.random.choice(["score", f"score * {d.number(0.2, 1)}"])
    if d.random.random() < 0.3:  # of the key
        score += f" * exp({d.add_input(['batch', 'heads', 'seq_kv'], 'normal')}[b, h, kv_idx])"
    spec = {"attngen": 1, "name": "emulated", "dtype": "bf16",
            "layout": d.random.choice(["bshd", "bhsd"]),
            "score": f"{score} * exp((q_pos - kv_idx) * {rate})", "inputs": d.inputs,
            "normalize": d.random.choice([{"weight": "score"}, absolute_sum(d), absolute_sum(d),
                                          signed_sum(d), signed_sum(d), unit_length(d),
                                          counted(d)])}
    heads = d.random.choice([(1, 1), (2, 1)])
    qk, v = d.random.choice([(64, 64), (64, 64), (64, 128), (128, 64), (128, 128), (192, 128),
                             (64, 384)])
    spec |= {"heads": {"q": heads[0], "kv": heads[1]}, "head_dim": {"qk": qk, "v": v}}
    n = d.random.randint(0, 700)
    mask = d.random.choice(["", "kv_idx <= q_pos", "kv_idx <= q_pos",
                            f"kv_idx <= q_pos or kv_idx < {n}",
                            f"kv_idx <= q_pos and kv_idx >= {n}", f"kv_idx + {n} > q_pos"])
    if mask:
        spec["mask"] = mask
    schedule = draw_schedule(d, spec) | {"tile_kv": 64} if d.random.random() < 0.6 else None
    queries, keys = d.random.randint(515, 700), d.random.randint(500, 1300)
    if not schedule and d.random.random() < 0.7:  # the search's have scans
        keys = queries
    return Drawn(spec, d.fills, schedule, [draw_prefix(d, False) + f"1,{queries},{keys}"])


def draw_near(d):
    """What has a near form, as draw_meaning's hardly do: a wide cap of the product alone, beside at
    most a term of the row, and small sigmoids.
    """
    if d.random.random() < 0.3:
        kind, score = LOGISTIC, "score"
        normalize = {"weight": f"sigmoid(score - {d.number(6.5, 9)})"}
    else:
        kind, cap = RELATIVE, d.number(25, 60)
        score = f"{cap} * tanh(score / {cap})"
        if d.random.random() < 0.4:
            score += f" + {d.add_input(['batch', 'heads', 'seq_q'], 'normal')}[b, h, q_idx]"
        other = d.random.choice([sinks, plus_one, scaled_output])
        normalize = "softmax" if d.random.random() < 0.6 else other(d)
    meaning = {"dtype": "bf16", "score": score, "normalize": normalize}
    if mask := draw_mask(d):
        meaning["mask"] = mask
    return meaning | {"inputs": d.inputs}, kind  # the mask's too


def draw(seed, index):
    d = Draft(random.Random(f"{seed}.{index}"))
    which = d.random.random()
    if which < 0.1:
        return draw_far(d)
    meaning, kind = draw_near(d) if which < 0.2 else draw_meaning(d)
    qk, v = draw_dims(d)
    heads = d.random.choice(HEADS)
    spec = {"attngen": 1, "name": "emulated", "heads": {"q": heads[0], "kv": heads[1]},
            "head_dim": {"qk": qk, "v": v}, "layout": d.random.choice(["bshd", "bhsd"]), **meaning}
    draw_storage(d, spec)
    if d.random.random() < 0.2:
        spec["kv_cache"] = {"paged": d.random.choice([1, 1, 4, 8, 12, 16, 24, 64, 80, 256])}
    if kind != LOGISTIC and d.random.random() < 0.2:
        spec["scale"] = d.number(0.02, 0.3)
    schedule = draw_schedule(d, spec) if d.random.random() < 0.7 else None
    calls = draw_calls(d, spec)
    if schedule and spec["head_dim"]["v"] <= 256 and d.random.random() < 0.25:
        schedule["split_keys"] = True
    return Drawn(spec, d.fills, schedule, calls)


def random_cases(seed="gpu", count=24):
    """`--group random`: of the check on a GPU, as the search has them. `seed` is part of the names
    of others than the check's own.
    """
    for i in range(count):
        drawn = draw(seed, i)
        name = f"random_{i}" if seed == "gpu" else f"random_{seed}_{i}"
        yield Case(name, {**drawn.spec, "name": name}, "random", drawn.fills, longest=1000,
                   large=drawn.spec["normalize"] == "softmax", data=name)
