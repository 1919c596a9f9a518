"""Packed sequences and block sparsity."""

from dataclasses import replace

from gpu.case import CAUSAL, MASKS, Case, make_spec, schedule
from gpu.variant_parts import ALIBI, DIFFERENTIAL, LAMBDA, SLOPES, row_free, variant

PAIR_BIAS = {"inputs": {"bias": {"dtype": "bf16", "shape": ["heads", "seq_q", "seq_kv"]}},
             "score": "score + bias[h, q_idx, kv_idx]", "longest": 2000}


def varlen_cases():
    """`--filter varlen_`: packed sequences, an empty one and one of NaN among them."""
    yield variant("varlen_causal", 128, (8, 2), varlen=True, mask=CAUSAL)
    yield variant("varlen_full", 64, (4, 4), varlen=True, layout="bhsd", dtype="fp16")
    yield variant("varlen_window", 256, (4, 1), varlen=True, mask=MASKS["window"])
    yield variant("varlen_ahead", 64, (4, 2), varlen=True, mask="kv_idx >= q_pos")
    yield variant("varlen_sigmoid", 128, (4, 4), varlen=True, mask=CAUSAL,
                  normalize=row_free("sigmoid(score)"))
    yield variant("varlen_alibi_lengths", 96, (8, 2),
                  {"slopes": {"fill": "slopes"}, "kv_len": {"fill": "lengths"}}, varlen=True,
                  inputs={**SLOPES, "kv_len": {"dtype": "i32", "shape": ["batch"]}}, score=ALIBI,
                  mask="kv_idx < kv_len[b]")
    yield from varlen_input_cases()
    yield from varlen_block_cases()


def varlen_input_cases():
    """`--filter varlen_of`: inputs along packed sequences, NaN where the sequence of NaN stands."""
    def one(name, shape, fill, dtype="f32", is_sorted=False, **spec):
        given = {"dtype": dtype, "shape": shape, **({"sorted": True} if is_sorted else {})}
        return variant(f"varlen_of_{name}", 128, (8, 2), {"x": {"fill": fill}}, varlen=True,
                       inputs={"x": given}, **spec)

    yield one("gates", ["heads", "seq_kv"], "log_gates", mask=CAUSAL,
              score="score + x[h, q_pos] - x[h, kv_idx]")
    yield one("pruned_gates", ["heads", "seq_kv"], "log_gates",
              score="score + x[h, q_pos] - x[h, kv_idx]",
              mask=f"{CAUSAL} and x[h, q_pos] - x[h, kv_idx] > -20")
    yield one("documents", ["seq_kv"], "documents", "i32", True,
              mask=f"{CAUSAL} and x[q_pos] == x[kv_idx]")
    yield one("ids", ["seq_kv"], "documents_anyhow", "i32", mask="x[q_pos] == x[kv_idx]")
    yield one("padding", ["seq_kv"], "bits", "u8", mask="x[kv_idx] != 0")
    yield one("limits", ["seq_q"], "lengths", "i32", mask="kv_idx <= x[q_idx]")
    yield one("key_bias", ["seq_kv", "heads_kv"], "normal", "bf16",
              score="score + x[kv_idx, h_kv]")
    yield one("output", ["seq_kv"], "normal", mask=CAUSAL,
              normalize={**row_free("sigmoid(score)"), "output": "acc * x[q_pos]"})


def varlen_block_cases():
    """`--filter varlen_blocks`: blocks that packed sequences keep, of tensors with room for the longest
    and of packed rows; where some of a tile's warpgroups alone keep a sequence's last block, which holds
    keys of the next one, and where it comes as one of two.
    """
    def one(name, heads, size, source, dim=128, per="heads_kv", given=None, queries=None, most=None,
            **spec):
        more = {"queries": queries, "most": most}
        blocks = {"size": size, "from": source, "per": per, **{k: n for k, n in more.items() if n}}
        case = variant(f"varlen_blocks_{name}", dim, heads, varlen=True, blocks=blocks, **spec)
        return replace(case, schedule=given and {**given, "order": "longest_first"})

    yield one("bitmap", (4, 2), 64, "bitmap", per="heads")
    yield one("lists", (4, 4), 128, "indices", mask=CAUSAL, dtype="fp16", layout="bhsd")
    yield one("group", (8, 2), 64, "indices", mask=CAUSAL)
    yield one("wide", (4, 2), 64, "bitmap", dim=256, mask=MASKS["window"])
    yield one("tall", (4, 2), 64, "bitmap", queries=256, normalize=row_free("sigmoid(score)"))
    yield one("most", (4, 2), 64, "indices", most=5, per="heads")
    yield one("selected", (16, 1), 64, "indices", queries=1, most=8, mask=CAUSAL)
    yield one("selected_bitmap", (8, 2), 64, "bitmap", queries=1, layout="bhsd")
    yield one("selected_few", (4, 2), 128, "indices", queries=16, mask=CAUSAL)
    given = {"two_blocks": schedule(1, 128, 2, ping_pong=False),
             "turns": {**schedule(2, 128, 2), "pack_heads": True},
             "three_rows": schedule(3, 64, 2, ping_pong=False)}
    for name, tile in given.items():
        yield one(name, (4, 1), 64, "indices", mask=CAUSAL, given=tile)


def sparse_cases():
    """`--filter sparse_`: blocks as wide as a tile, smaller (warpgroups keep different ones), and
    larger; both ways to give them; under masks; in both types.
    """
    for size in (64, 128, 192, 256):
        for source in ("bitmap", "indices"):
            yield variant(f"sparse_{source}_{size}", 128, (4, 2),
                          blocks={"size": size, "from": source},
                          dtype="fp16" if size == 192 else "bf16")
    for source in ("bitmap", "indices"):  # tiles of one row of blocks, and of three
        for warpgroups, stages in ((1, 2), (3, 4)):
            spec = make_spec(f"sparse_{warpgroups}_rows_{source}", (128, 128), (4, 2),
                             blocks={"size": 64, "from": source})
            yield Case(spec["name"], spec, "variant", data=spec["name"],
                       schedule=schedule(warpgroups, 64, stages, ping_pong=False,
                                         order="longest_first"))
    yield variant("sparse_causal_64", 64, (8, 2), mask=CAUSAL, layout="bhsd",
                  blocks={"size": 64, "from": "bitmap"})
    yield variant("sparse_window_128", 128, (4, 1), mask=MASKS["window"],
                  blocks={"size": 128, "from": "indices"})
    yield variant("sparse_sigmoid_64", 128, (4, 4), normalize=row_free("sigmoid(score)"),
                  blocks={"size": 64, "from": "bitmap"})
    yield from sparse_rows_cases()
    yield from sparse_maps_cases()
    yield variant("sparse_softcap_64", 256, (4, 2), score="30 * tanh(score / 30)", mask=CAUSAL,
                  blocks={"size": 64, "from": "indices"})
    yield from group_cases()
    yield from selected_cases()
    yield from list_cases()
    yield from listed_cases()
    yield from latent_cases()
    yield from paged_cases()


def sparse_rows_cases():
    """`--filter sparse_rows`: what scores read of blocks that one of a tile's warpgroups passes over."""
    def one(name, given, fills, **spec):
        case = variant(f"sparse_rows_{name}", 64, (4, 2), fills, 1000, mask=CAUSAL,
                       blocks={"size": 64, "from": "indices"}, **spec)
        return replace(case, schedule={**given, "ping_pong": False, "order": "longest_first"})

    yield one("bias", schedule(3, 32, 2, overlap="none"),
              {"bias": {"fill": "normal"}, "slopes": {"fill": "slopes"}},
              inputs={"bias": {"dtype": "bf16", "shape": ["heads", "seq_q", "seq_kv"]}, **SLOPES},
              score=f"{ALIBI} + bias[h, q_idx, kv_idx]")
    yield one("strips", schedule(2, 64, 2, weights="shared"), {"table": {"fill": "normal"}},
              large=False, inputs={"table": {"dtype": "f32", "shape": ["heads", 65]}},
              normalize=row_free("relu(score + table[h, clamp(q_pos - kv_idx, -32, 32) + 32])",
                                 "acc / (q_pos + 1)"))


def sparse_maps_cases():
    """`--filter sparse_maps`: blocks that both maps of a head keep; pairs of warpgroups pass over blocks."""
    def one(name, head_dim, heads, given=None, fills=None, **spec):
        case = variant(f"sparse_maps_{name}", head_dim, heads,
                       {"lambda": {"fill": "lambdas"}, **(fills or {})}, maps=2, normalize=DIFFERENTIAL,
                       **{"inputs": LAMBDA, **spec})
        return replace(case, schedule=given and {**given, "order": "longest_first"})

    each, group = {"size": 64, "from": "bitmap"}, {"size": 64, "from": "indices", "per": "heads_kv"}
    yield one("causal", (64, 128), (4, 2), mask=CAUSAL, blocks=each)
    yield one("group", (128, 256), (8, 2), blocks=group, dtype="fp16")
    yield one("pairs", 64, (4, 4), schedule(4, 32, 2, ping_pong=False, overlap="none"), blocks=each,
              mask=CAUSAL)
    yield one("varlen", (72, 40), (4, 2), varlen=True, layout="bhsd", mask=MASKS["window"],
              blocks={"size": 128, "from": "indices"})
    yield one("selected", 64, (16, 1), mask=CAUSAL, blocks={**group, "queries": 1, "most": 8})
    yield one("bias", 64, (4, 2), fills={"bias": {"fill": "normal"}}, blocks=each, longest=2000,
              inputs={**LAMBDA, **PAIR_BIAS["inputs"]}, score="score + bias[h, q_idx, kv_idx] * (1 + map)")


def selected_cases():
    """`--filter sparse_selected`: blocks of keys that a warpgroup's rows do not keep together."""
    def blocks(queries, source="indices", per="heads_kv", **rest):
        return {"size": 64, "queries": queries, "from": source, "per": per, **rest}

    yield variant("sparse_selected_nsa", (192, 128), (32, 2), mask=CAUSAL, blocks=blocks(1, most=8))
    yield variant("sparse_selected_full", 128, (8, 2), blocks=blocks(1), dtype="fp16")
    yield variant("sparse_selected_bitmap", 64, (16, 2), mask=CAUSAL, blocks=blocks(1, "bitmap"),
                  layout="bhsd")
    yield variant("sparse_selected_heads", 128, (4, 2), mask=CAUSAL,
                  blocks=blocks(4, "bitmap", per="heads"))
    yield variant("sparse_selected_single", 128, (2, 2), blocks=blocks(1, per="heads"))
    yield variant("sparse_selected_sigmoid", 128, (8, 2), normalize=row_free("sigmoid(score)"),
                  mask=MASKS["window"], blocks=blocks(2))
    yield variant("sparse_selected_small", 128, (8, 2), mask=MASKS["window"], blocks=blocks(2),
                  normalize=row_free("sigmoid(score - 8)"))
    yield variant("sparse_selected_wide", 128, (8, 2), mask=CAUSAL,
                  blocks={**blocks(1, most=3), "size": 256})
    yield variant("sparse_selected_tall", 128, (4, 2), mask=CAUSAL,
                  blocks=blocks(256, per="heads"))
    yield variant("sparse_selected_alibi", 128, (16, 2), {"slopes": {"fill": "slopes"}},
                  inputs=SLOPES, score=ALIBI, mask=CAUSAL, blocks=blocks(1, most=8))
    for warpgroups, stages in ((1, 2), (2, 3), (3, 4)):
        spec = make_spec(f"sparse_selected_{warpgroups}", (128, 128), (16, 1), mask=CAUSAL,
                         blocks=blocks(1, most=8))
        given = schedule(warpgroups, 64, stages, ping_pong=False, order="longest_first")
        yield Case(spec["name"], spec, "variant", schedule={**given, "pack_heads": True},
                   data=spec["name"])


def list_cases():
    """`--filter lists_`: lists of keys for each query, in tiles of one query's heads."""
    def one(name, head_dim, heads, room, *rest, **spec):
        return variant(f"lists_{name}", head_dim, heads, *rest, tokens={"indices": room}, **spec)

    yield one("causal", 128, (16, 2), 200, mask=CAUSAL)
    yield one("full", 64, (8, 2), 64, dtype="fp16")
    yield one("nsa", (192, 128), (32, 2), 130, mask=CAUSAL)
    yield one("wide", 256, (8, 1), 96, layout="bhsd")
    yield one("single", 128, (2, 2), 70, mask=MASKS["window"])
    yield one("many", 128, (128, 1), 150, mask=CAUSAL)
    yield one("parts", 64, (71, 1), 150, normalize=row_free("sigmoid(score)"))
    yield one("odd", (72, 40), (64, 1), 33, mask=CAUSAL, score="30 * tanh(score / 30)")
    yield one("valid", 128, (8, 2), 100, {"valid": {"fill": "stretches"}},
              inputs={"valid": {"dtype": "u8", "shape": ["batch", "seq_kv"]}},
              mask="valid[b, kv_idx] != 0 and kv_idx <= q_pos")
    yield one("alibi", 128, (16, 2), 200, {"slopes": {"fill": "slopes"}}, inputs=SLOPES, score=ALIBI,
              mask=CAUSAL)
    yield one("bias", 64, (8, 2), 130, {"bias": {"fill": "normal"}}, **PAIR_BIAS)
    yield one("decay", 128, (8, 2), 130, mask=CAUSAL, score="score * exp2((kv_idx - q_pos) / 64)",
              normalize=row_free("sigmoid(score)"))
    few = {"batch": 2, "seq_q": 1, "seq_kv": 8192}
    yield one("split", 128, (16, 2), 700, mask=CAUSAL, longest=2000, workload=few)
    yield one("split_sigmoid", (72, 40), (64, 1), 1500, dtype="fp16", longest=2000, workload=few,
              normalize=row_free("sigmoid(score - 6)"))
    yield one("varlen", 128, (16, 1), 200, varlen=True, mask=CAUSAL)
    yield one("varlen_odd", (72, 40), (6, 3), 133, {"x": {"fill": "normal"}}, dtype="fp16",
              varlen=True, inputs={"x": {"dtype": "f32", "shape": ["seq_kv"]}},
              score="score + x[kv_idx] - 0.1 * abs(q_pos - kv_idx)", layout="bhsd")
    yield one("varlen_split", 128, (16, 2), 700, varlen=True, mask=CAUSAL, longest=2000, workload=few)
    yield one("varlen_paged", 128, (16, 2), 200, varlen=True, mask=CAUSAL, kv_cache={"paged": 16},
              normalize=row_free("sigmoid(score - 4)"))
    yield one("varlen_latent", (576, 512), (128, 1), 300, varlen=True, mask=CAUSAL,
              share_kv={"v_prefix": 512}, kv_cache={"paged": 1}, workload=few)
    for tile_kv, stages in ((32, 4), (96, 2), (160, 2)):
        spec = make_spec(f"lists_{tile_kv}", (128, 128), (16, 1), mask=CAUSAL,
                         tokens={"indices": 300})
        given = schedule(1, tile_kv, stages, ping_pong=False)
        yield Case(spec["name"], spec, "variant", schedule={**given, "pack_heads": True},
                   data=spec["name"])


def listed_cases():
    """`--filter listed_`: lists of distinct keys, as the search has them, which mostly takes them for a
    mask, and by schedules that do.
    """
    def one(name, head_dim, heads, room, *rest, **spec):
        return variant(f"listed_{name}", head_dim, heads, *rest,
                       tokens={"indices": room, "distinct": True}, **spec)

    yield one("causal", 128, (8, 2), 200, mask=CAUSAL)
    yield one("full", 64, (4, 4), 64, dtype="fp16")
    yield one("window", 128, (4, 2), 130, mask=MASKS["window"], normalize=row_free("sigmoid(score - 8)"))
    yield one("wide", 256, (2, 1), 96, layout="bhsd")
    yield one("odd", (72, 40), (3, 1), 133, mask=CAUSAL, score="30 * tanh(score / 30)")
    yield one("alibi", 128, (4, 2), 200, {"slopes": {"fill": "slopes"}}, inputs=SLOPES, score=ALIBI,
              mask=CAUSAL)
    yield one("bias", 64, (8, 2), 130, {"bias": {"fill": "normal"}}, **PAIR_BIAS)
    yield one("paged", 128, (4, 2), 200, mask=CAUSAL, kv_cache={"paged": 16})
    yield one("latent", (576, 512), (8, 1), 200, mask=CAUSAL, share_kv={"v_prefix": 512})
    yield one("split", 128, (4, 2), 700, mask=CAUSAL, longest=2000,
              workload={"batch": 2, "seq_q": 16, "seq_kv": 8192})
    for warpgroups, tile_kv, stages, rest in ((2, 128, 2, {}), (3, 64, 3, {}), (4, 48, 2, {}),
                                              (1, 176, 2, {}), (1, 128, 2, {"pack_heads": True}),
                                              (2, 64, 2, {"split_keys": True})):
        name = "_".join(["listed", str(warpgroups), str(tile_kv), *rest])
        spec = make_spec(name, (64, 64), (8, 2), mask=CAUSAL, tokens={"indices": 300, "distinct": True})
        given = schedule(warpgroups, tile_kv, stages, ping_pong=False, order="longest_first")
        yield Case(name, spec, "variant", schedule={**given, **rest, "lists_as_mask": True}, data=name)


def latent_cases():
    """`--filter latent_`: values that are the keys' first columns, of one accumulator and of two."""
    def one(name, dims, heads, *rest, **spec):
        return variant(f"latent_{name}", dims, heads, *rest, share_kv={"v_prefix": dims[1]}, **spec)

    yield one("narrow", (192, 128), (8, 2), mask=CAUSAL)
    yield one("odd", (104, 72), (4, 4), dtype="fp16", layout="bhsd")
    yield one("varlen", (192, 128), (8, 1), varlen=True, mask=CAUSAL)
    yield one("causal", (576, 512), (16, 1), mask=CAUSAL)
    yield one("full", (576, 512), (128, 1), longest=2000, dtype="fp16")
    yield one("query", (576, 512), (16, 1), mask=CAUSAL,
              workload={"batch": 8, "seq_q": 1, "seq_kv": 8192})
    yield one("packed", (576, 512), (16, 2), varlen=True, mask=CAUSAL)
    yield one("query_packed", (576, 512), (16, 1), varlen=True,
              workload={"batch": 8, "seq_q": 1, "seq_kv": 8192})
    yield one("square", (512, 512), (8, 1), {"slopes": {"fill": "slopes"}}, inputs=SLOPES,
              score=ALIBI, mask=MASKS["window"])
    yield one("sigmoid", (448, 384), (4, 1), normalize=row_free("sigmoid(score)"), mask=CAUSAL)
    yield one("softcap", (576, 512), (4, 2), score="30 * tanh(score / 30)", mask=CAUSAL)
    yield one("ids", (448, 384), (4, 1), {"doc": {"fill": "documents_anyhow"}},
              inputs={"doc": {"dtype": "i32", "shape": ["batch", "seq_kv"]}},
              mask="doc[b, q_pos] == doc[b, kv_idx]")
    yield one("lists", (576, 512), (128, 1), mask=CAUSAL, tokens={"indices": 200})
    yield one("lists_parts", (576, 512), (71, 1), tokens={"indices": 90},
              normalize=row_free("sigmoid(score)"))
    yield one("lists_valid", (448, 384), (16, 2), {"valid": {"fill": "stretches"}}, dtype="fp16",
              inputs={"valid": {"dtype": "u8", "shape": ["batch", "seq_kv"]}},
              mask="valid[b, kv_idx] != 0 and kv_idx <= q_pos", tokens={"indices": 130})
    yield one("lists_narrow", (192, 128), (16, 2), mask=CAUSAL, tokens={"indices": 130})
    yield one("lists_alibi", (576, 512), (16, 1), {"slopes": {"fill": "slopes"}}, inputs=SLOPES,
              score=ALIBI, mask=CAUSAL, tokens={"indices": 200})
    yield one("lists_split", (576, 512), (128, 1), mask=CAUSAL, tokens={"indices": 900}, longest=2000,
              workload={"batch": 1, "seq_q": 2, "seq_kv": 8192})
    blocks = {"size": 64, "from": "indices"}
    chosen = {**blocks, "queries": 1, "most": 8, "per": "heads_kv"}
    yield one("blocks", (192, 128), (8, 2), mask=CAUSAL, blocks=blocks)
    yield one("blocks_group", (104, 72), (8, 2), dtype="fp16", layout="bhsd", varlen=True, mask=CAUSAL,
              blocks={**blocks, "per": "heads_kv"})
    yield one("blocks_wide", (576, 512), (4, 1), mask=MASKS["window"],
              blocks={"size": 128, "from": "bitmap"})
    yield one("blocks_chosen", (576, 512), (128, 1), mask=CAUSAL, blocks=chosen)
    yield one("blocks_chosen_split", (576, 512), (64, 1), mask=CAUSAL, blocks=chosen, longest=2000,
              workload={"batch": 2, "seq_q": 1, "seq_kv": 8192})
    yield one("blocks_chosen_paged", (448, 384), (16, 1), varlen=True, mask=CAUSAL, blocks=chosen,
              kv_cache={"paged": 16}, normalize=row_free("sigmoid(score)"))
    for tile_kv, stages in ((32, 4), (48, 2)):
        spec = make_spec(f"latent_{tile_kv}", (576, 512), (16, 1), mask=CAUSAL,
                         share_kv={"v_prefix": 512})
        given = schedule(2, tile_kv, stages, weights="shared", overlap="none", ping_pong=False,
                         order="longest_first")
        yield Case(spec["name"], spec, "variant", schedule=given, data=spec["name"])


def paged_cases():
    """`--filter paged_`: keys in pages of a tile's size, of several, of parts of one."""
    def one(name, page, head_dim, heads, *rest, **spec):
        return variant(f"paged_{name}", head_dim, heads, *rest, kv_cache={"paged": page}, **spec)

    few = {"batch": 8, "seq_q": 1, "seq_kv": 8192}
    yield one("causal", 64, 128, (8, 2), mask=CAUSAL)
    yield one("full", 16, 64, (4, 4), dtype="fp16")
    yield one("small", 16, (72, 40), (4, 2), mask=MASKS["window"], layout="bhsd")
    yield one("large", 1024, 256, (2, 1), mask=CAUSAL)
    yield one("odd", 48, (192, 128), (4, 4), normalize=row_free("sigmoid(score)"))
    yield one("query", 16, 128, (8, 2), mask=CAUSAL, workload=few)
    yield one("lengths", 64, 128, (16, 2), {"len": {"fill": "lengths"}}, workload=few,
              inputs={"len": {"dtype": "i32", "shape": ["batch"]}}, mask="kv_idx < len[b]")
    yield one("varlen", 16, 128, (8, 2), varlen=True, mask=CAUSAL)
    yield one("varlen_query", 64, 64, (8, 1), varlen=True, mask=CAUSAL, dtype="fp16", workload=few)
    yield one("ids", 128, 128, (4, 2), {"doc": {"fill": "documents_anyhow"}},
              inputs={"doc": {"dtype": "i32", "shape": ["batch", "seq_kv"]}},
              mask="doc[b, q_pos] == doc[b, kv_idx]")
    yield one("bias", 32, 64, (4, 2), {"bias": {"fill": "normal"}}, **PAIR_BIAS)
    yield one("maps", 64, 64, (4, 2), {"lambda": {"fill": "normal"}}, maps=2, mask=CAUSAL,
              normalize=DIFFERENTIAL, inputs={"lambda": {"dtype": "f32", "shape": ["heads"]}})
    yield one("blocks", 16, 128, (4, 2), mask=CAUSAL,
              blocks={"size": 64, "from": "indices", "per": "heads_kv"})
    yield one("blocks_varlen", 128, 64, (2, 1), varlen=True, mask=CAUSAL,
              blocks={"size": 128, "from": "bitmap"})
    yield one("selected", 64, (192, 128), (16, 1), mask=CAUSAL,
              blocks={"size": 64, "queries": 1, "from": "indices", "most": 8, "per": "heads_kv"})
    yield one("lists", 64, 128, (16, 2), mask=CAUSAL, tokens={"indices": 200})
    yield one("lists_split", 16, 128, (16, 2), mask=CAUSAL, tokens={"indices": 700}, longest=2000,
              workload={"batch": 2, "seq_q": 1, "seq_kv": 8192})
    yield one("latent_lists", 64, (576, 512), (128, 1), mask=CAUSAL, tokens={"indices": 200},
              share_kv={"v_prefix": 512})
    yield one("wide", 64, (128, 512), (2, 1), mask=CAUSAL)
    yield one("latent", 64, (576, 512), (16, 1), share_kv={"v_prefix": 512}, mask=CAUSAL)
    yield one("rows", 1, 128, (8, 2), mask=CAUSAL)
    yield one("rows_small", 4, (72, 40), (4, 2), mask=MASKS["window"], layout="bhsd", dtype="fp16")
    yield one("rows_query", 1, 128, (8, 2), mask=CAUSAL, varlen=True, workload=few)
    yield one("rows_odd", 40, (192, 128), (4, 4), normalize=row_free("sigmoid(score)"))
    yield one("rows_wide", 3, (128, 512), (2, 1), mask=CAUSAL)
    yield one("rows_bias", 1, 64, (4, 2), {"bias": {"fill": "normal"}}, **PAIR_BIAS)
    yield one("rows_maps", 2, 64, (4, 2), {"lambda": {"fill": "normal"}}, maps=2, mask=CAUSAL,
              normalize=DIFFERENTIAL, inputs={"lambda": {"dtype": "f32", "shape": ["heads"]}})
    yield one("rows_blocks", 1, 128, (4, 2), mask=CAUSAL,
              blocks={"size": 64, "from": "indices", "per": "heads_kv"})
    yield one("rows_latent", 8, (576, 512), (16, 1), share_kv={"v_prefix": 512}, mask=CAUSAL)
    yield one("rows_latent_query", 1, (576, 512), (128, 1), share_kv={"v_prefix": 512}, varlen=True,
              mask=CAUSAL, workload=few)
    yield one("latent_query", 64, (576, 512), (16, 1), share_kv={"v_prefix": 512}, varlen=True,
              mask=CAUSAL, workload=few)


def group_cases():
    """`--filter sparse_group`: blocks that the query heads of a key head share, packed into tiles
    and not; steps of two blocks that stand apart; tiles that stand in two rows of blocks.
    """
    def group(size, source):
        return {"size": size, "from": source, "per": "heads_kv"}

    yield variant("sparse_group_full", 128, (8, 2), blocks=group(64, "bitmap"))
    yield variant("sparse_group_causal", 128, (16, 2), mask=CAUSAL, layout="bhsd",
                  blocks=group(64, "indices"))
    yield variant("sparse_group_d64", 64, (4, 2), mask=MASKS["window"], dtype="fp16",
                  blocks=group(64, "indices"))
    yield variant("sparse_group_sigmoid", 128, (8, 2), normalize=row_free("sigmoid(score)"),
                  blocks=group(64, "bitmap"))
    yield variant("sparse_group_alibi", 128, (8, 2), {"slopes": {"fill": "slopes"}}, inputs=SLOPES,
                  score=ALIBI, mask=CAUSAL, blocks=group(64, "bitmap"))
    yield variant("sparse_group_gaps", 64, (8, 2), blocks=group(64, "indices"),
                  mask=f"{CAUSAL} and (q_pos // 64 - kv_idx // 64) % 2 == 0")
    yield variant("sparse_group_apart", 128, (6, 2), blocks=group(128, "bitmap"), mask=CAUSAL)
    row = {"row": {"dtype": "f32", "shape": ["batch", "heads", "seq_q"]}}
    yield variant("sparse_group_softcap", 128, (4, 1), {"row": {"fill": "normal"}}, mask=CAUSAL,
                  inputs=row, score="30 * tanh(score / 30) + row[b, h, q_idx]",
                  blocks=group(64, "indices"))
    given = {"two_blocks": schedule(1, 128, 2, ping_pong=False, order="longest_first"),
             "turns": {**schedule(2, 128, 2, order="longest_first"), "pack_heads": True},
             "two_rows": {**schedule(3, 64, 2, ping_pong=False, order="longest_first"),
                          "pack_heads": True}}
    for name, one in given.items():
        spec = make_spec(f"sparse_group_{name}", (128, 128), (4, 1), mask=CAUSAL,
                         blocks=group(64, "indices"))
        yield Case(spec["name"], spec, "variant", schedule=one, data=spec["name"])
