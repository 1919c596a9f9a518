"""What the emulated kernels' specs and schedules are put together of."""


def schedule(warpgroups, tile_kv, stages, weights="registers", overlap="intra_warpgroup",
             ping_pong=False, grid="persistent", order="longest_first", **rest):
    return {"warpgroups": warpgroups, "tile_kv": tile_kv, "stages": stages, "weights": weights,
            "overlap": overlap, "ping_pong": ping_pong, "grid": grid, "order": order, **rest}


def packed(*args, **rest):
    return schedule(*args, pack_heads=True, **rest)


def in_line(*args, **rest):
    return packed(*args, order="linear", **rest)


def split(*args, **rest):
    return schedule(*args, split_keys=True, **rest)


def turns(*args, **rest):
    return schedule(*args, overlap="none", weights="shared", **rest)


def spec(heads=(2, 1), head_dim=(64, 64), **rest):
    return {"attngen": 1, "name": "emulated", "dtype": rest.pop("dtype", "bf16"),
            "heads": {"q": heads[0], "kv": heads[1]},
            "head_dim": {"qk": head_dim[0], "v": head_dim[1]}, **rest}


AS_MASK = {"lists_as_mask": True}


def distinct(count):
    """Lists of keys, none of which stands twice."""
    return {"indices": count, "distinct": True}


def selected(queries, source="indices", per="heads_kv", **rest):
    """Blocks of 64 keys that so many queries keep."""
    return {"size": 64, "queries": queries, "from": source, "per": per, **rest}


def bias(dtype, *dims):
    return {"bias": {"dtype": dtype, "shape": [*dims, "seq_q", "seq_kv"]}}


def positions(dtype, *dims):
    return {"bd": {"dtype": dtype, "shape": dims}}


def gate(*dims, dtype="bf16"):
    return {"gate": {"dtype": dtype, "shape": [*dims, "dim"]}}


def rows_of(dtype, columns, *dims, name="rel"):
    return {name: {"dtype": dtype, "shape": [*dims, "seq_q", columns]}}


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
FALLING = "score - slopes[h] * abs(q_pos - kv_idx)"
TABLE = {"table": {"dtype": "f32", "shape": [200, "heads"]}}
NEAR = {"near": {"dtype": "i32", "shape": [180]}}
KEYS = {"key": {"dtype": "f32", "shape": ["batch", "seq_kv"]}}
GATES = {"gates": {"dtype": "f32", "shape": ["batch", "heads", "seq_kv"]}}
STEP = {"step": {"dtype": "f32", "shape": ["batch", "heads", "seq_kv"]}}
PACKED_GATES = {"gates": {"dtype": "f32", "shape": ["heads", "seq_kv"]}}
PACKED_STEP = {"step": {"dtype": "f32", "shape": ["heads", "seq_kv"]}}
ROWS = {"row": {"dtype": "f32", "shape": ["batch", "heads", "seq_q"]}}
SCALARS = {"gain": "bf16", "slope": "fp16", "shift": "f32", "period": "u8", "ahead": "i32"}
LAMBDA = {"lambda": {"dtype": "f32", "shape": ["heads"]}}
DIFFERENTIAL = {"rows": {"m": "rowmax(score)", "l": "rowsum(exp(score - m))"},
                "weight": "exp(score - m)", "output": "acc / l * (1 if map == 0 else -lambda[h])",
                "save": {"lse": "m + log(l)"}}
SAVED_MAX = {"rows": {"m": "rowmax(score)", "l": "rowsum(exp(score - m))"},
             "weight": "exp(score - m)", "output": "acc / l", "save": {"m": "m", "l": "l"}}
SINK = {"sink": {"dtype": "f32", "shape": ["heads"]}}
SINKS = {"rows": {"m": "max(rowmax(score), sink[h])",
                  "l": "rowsum(exp(score - m)) + exp(sink[h] - m)"},
         "weight": "exp(score - m)", "output": "acc / l", "save": {"lse": "m + log(l)"}}
SOFTPICK = {"rows": {"m": "max(rowmax(score), 0)", "l": "rowsum(abs(exp(score - m) - exp(-m)))"},
            "weight": "relu(exp(score - m) - exp(-m))", "output": "acc / (l + 1e-6)"}
# Maxima that no weight reads, and that one does; a count.
LENGTH = {"rows": {"m": "rowmax(score)", "last": "rowmax(kv_idx)", "n": "rowsum(1)",
                   "l": "rowsum(square(exp(score - m)))"},
          "weight": "exp(score - m)", "output": "acc * rsqrt(l)",
          "save": {"last": "last", "n": "n", "m": "m"}}
GATED = {"rows": {"m": "rowmax(score)", "l": "rowsum(exp(score - m))"}, "weight": "exp(score - m)",
         "output": "acc / l * sigmoid(gate[b, q_idx, h, d])", "save": {"lse": "m + log(l)"}}
SIGMOID = {"weight": "sigmoid(score)", "output": "acc"}
LOG_DECAY = {"log_decay": {"dtype": "f32", "shape": ["heads"]}}
DECAYED = "score * exp(log_decay[h] * (q_pos - kv_idx))"
RETAINED = "score * exp((q_pos - kv_idx) * log(1 - exp2(-5 - h)))"
FADING = "score * exp(0.02 * (gates[b, h, q_pos] - gates[b, h, kv_idx]))"
SLOWLY = "score * exp((q_pos - kv_idx) * log(1 - exp2(-9 - h))) / 3"
LENGTHS = {"len": {"dtype": "i32", "shape": ["batch"]}}
FRAME = "(50 * (len[b] - 1))"
RETENTION = {"rows": {"l": "max(rowsum(abs(score)), 1)"}, "weight": "score", "output": "acc / l"}
SUMS = {"rows": {"a": "rowsum(score)", "l": "rowsum(abs(score))"}, "weight": "score",
        "output": "acc / max(l, 1)", "save": {"sum": "a", "absolute": "l"}}
# Without rows: what states hold needs no product of single keys.
LINEAR = {"weight": "score", "output": "acc"}
SIGNED_SUM = {"rows": {"l": "max(abs(rowsum(score)), 1)", "s": "rowsum(score)"}, "weight": "score",
              "output": "acc / l", "save": {"s": "s"}}
# The second's longest sequence has too few queries for states.
LONG_FAR = ["600x1100+130x130+0x50+3x0+515x777+700x700", "9x1200+600x1100+9x900+520x1037+1x800",
            "77x900+64x64", "600x0+3x200", "1x1"]
FEW = ["1,130,200", "1,1,1", "1,64,0"]
BIASED = ["2,70,136", "1,130,131", "1,1,1", "1,64,0"]
CALLS = ["2,70,130", "1,1,1", "1,300,300", "1,64,0", "1,650,1000"]
SELF = ["2,130,130", "1,1,1", "1,300,300", "1,77,200", "1,64,0"]
# Of packed sequences; the second one's keys and values are NaN.
PACKED = ["70x130+1x77+64x64", "1x1", "130x130+0x50+3x0+65x200+128x128+64x1+300x31",
          "0x0+128x64+0x0", "+".join(["9x7"] * 70)]
# The first queries, with a few keys each that are split.
LONG_PACKED = ["1x700+1x300", "1x900+0x40+1x5+3x0+2x400", "70x500+1x800+0x0"]
# Many, of which one has keys for several.
ONE_LONG = "+".join(["1x9"] * 40 + ["2x2000"] + ["1x9"] * 30)

# Longer than max_seq_q and max_seq_kv.
EXCEEDING = "exceeding:70x130+1x77+200x330+65x20"

# Offsets that descend and lie far outside leave the one sequence its rows.
WILD = "wild:0x0+0x0+70x130+0x0+0x0"
WILD_LONG = "wild:0x0+0x0+20x900+0x0+0x0"
