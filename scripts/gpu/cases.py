"""The kernels that the GPU check holds to the oracle, as data.

A covering design, not the full product: every head dim with both storage types and every mask, the
head ratios and layouts spread over them (Latin squares), then the scores, masks and normalisers
that no fixed kernel has, and two specs under a dozen schedules each.
"""

import json
from dataclasses import dataclass, field, replace

HEAD_DIMS = [(40, 40), (64, 64), (72, 72), (80, 80), (96, 96), (128, 128), (160, 160), (192, 128),
             (256, 256)]
HEADS = {"mha": (4, 4), "gqa4": (8, 2), "gqa8": (16, 2), "mqa": (6, 1)}
LAYOUTS = ["bshd", "bhsd"]
DTYPES = ["bf16", "fp16"]

# Constants that divide no tile, so that their edges fall inside tiles.
WINDOW = 100
PREFIX = 90
MASKS = {
    "full": None,
    "causal": "kv_idx <= q_pos",
    "window": f"kv_idx <= q_pos and q_pos - kv_idx < {WINDOW}",
    "prefix": f"kv_idx <= q_pos or kv_idx < {PREFIX}",
}

LENGTHS = [1, 3, 64, 77, 113, 128, 197, 239, 799, 1000, 2048, 8191]
UNEQUAL = [(1, 77), (77, 1), (64, 1000), (113, 64), (239, 799), (1000, 197), (3, 2048), (128, 0)]
# Packed: sequences, and the longest; of the others some are empty.
VARLEN_QUICK = [(1, 1, 1), (7, 77, 77), (16, 300, 300), (6, 239, 239), (3, 64, 1000), (3, 128, 0)]
VARLEN = [(5, 3, 2048), (9, 1000, 1000), (4, 1000, 64), (130, 40, 40), (2500, 20, 30),
          (4, 2048, 2048), (5, 8191, 8191)]
LARGE = [113, 799]  # lengths run once more with scores in the hundreds
# And at the last of them what a guess about the scores would get wrong: scores that grow by 200 along
# the row (2^288) in the order of visit, one huge score in the block visited last, huge values.
ADVERSARIAL = ["growing", "spike", "large_v"]
STRIDES = ["default", "padded", "explicit", "swapped"]


@dataclass(frozen=True)
class Shape:
    """One call. `strides`: default (all zero), explicit, padded, or swapped (the other layout)."""

    batch: int
    seq_q: int
    seq_kv: int
    strides: str = "default"
    logits: str = "normal"  # or "large", or one of ADVERSARIAL

    def text(self):
        return f"{self.batch},{self.seq_q},{self.seq_kv},{self.strides},{self.logits}"

    @staticmethod
    def parse(text):
        batch, seq_q, seq_kv, strides, logits = text.split(",")
        return Shape(int(batch), int(seq_q), int(seq_kv), strides, logits)


@dataclass(frozen=True)
class Case:
    """One kernel: its spec, the data of its inputs (tensors.FILLS), and what it is run on."""

    name: str
    spec: dict
    group: str  # base, variant, packed, agree, sanitize, bench, bench_variant, bench_storage
    fills: dict = field(default_factory=dict)
    mask: str = ""  # a key of MASKS if this is plain softmax under it
    longest: int = 8191  # inputs of seq_q x seq_kv elements do not fit beyond
    large: bool = True  # large logits keep the outputs in the range of the type
    schedule: dict = None
    # Cases with one `data` name get the same data, so that their outputs can be compared.
    data: str = ""

    def spec_text(self):
        return json.dumps(self.spec, indent=2) + "\n"


def make_spec(name, head_dim, heads, dtype="bf16", layout="bshd", **rest):
    spec = {
        "attngen": 1,
        "name": name,
        "dtype": dtype,
        "heads": {"q": heads[0], "kv": heads[1]},
        "head_dim": {"qk": head_dim[0], "v": head_dim[1]},
        "layout": layout,
    }
    spec.update({key: value for key, value in rest.items() if value is not None})
    return spec


def dim_text(head_dim):
    qk, v = head_dim
    return f"d{qk}" if qk == v else f"d{qk}v{v}"


def base_cases():
    """Every head dim under every mask; type, ratio and layout alternate so that pairs are met."""
    ratios = list(HEADS)
    for i, head_dim in enumerate(HEAD_DIMS):
        for j, mask in enumerate(MASKS):
            dtype = DTYPES[(i + j) % 2]
            ratio = ratios[(i + (0, 1, 3, 2)[j]) % 4]
            layout = LAYOUTS[(i // 4 + j // 2) % 2]
            name = f"{dim_text(head_dim)}_{mask}_{ratio}_{dtype}_{layout}"
            spec = make_spec(name, head_dim, HEADS[ratio], dtype, layout, mask=MASKS[mask])
            yield Case(name, spec, "base", mask=mask, data=name)


ALIBI = "score + slopes[h] * (kv_idx - q_pos)"
CAUSAL = MASKS["causal"]
SLOPES = {"slopes": {"dtype": "f32", "shape": ["heads"]}}
SINK_ROWS = {
    "rows": {
        "m": "max(rowmax(score), sink[h])",
        "l": "rowsum(exp(score - m)) + exp(sink[h] - m)",
    },
    "weight": "exp(score - m)",
    "output": "acc / l",
    "save": {"lse": "m + log(l)"},
}
PLUS_ONE_ROWS = {
    "rows": {"m": "max(rowmax(score), 0)", "l": "rowsum(exp(score - m)) + exp(-m)"},
    "weight": "exp(score - m)",
    "output": "acc / l",
    "save": {"lse": "m + log(l)"},
}
# relu(e^s - 1) / sum |e^s - 1|, with e^m taken out of both.
SOFTPICK_ROWS = {
    "rows": {"m": "rowmax(score)", "l": "rowsum(abs(exp(score - m) - exp(-m)))"},
    "weight": "relu(exp(score - m) - exp(-m))",
    "output": "acc / (l + 1e-6)",
}
RETENTION_ROWS = {
    "rows": {"l": "rowsum(abs(score))"},
    "weight": "score",
    "output": "acc / max(l, 1)",
    "save": {"norm": "l"},
}


def row_free(weight, output="acc"):
    return {"weight": weight, "output": output}


def variant(name, head_dim, heads, fills=None, longest=8191, large=True, **spec):
    head_dim = (head_dim, head_dim) if isinstance(head_dim, int) else head_dim
    return Case(name, make_spec(name, head_dim, heads, **spec), "variant", fills or {},
                longest=longest, large=large, data=name)


def variant_cases():
    f32 = {"dtype": "f32", "shape": []}
    yield variant("softcap_input", 128, (8, 2), {"cap": {"value": 30.0}}, inputs={"cap": f32},
                  score="cap * tanh(score / cap)", mask=CAUSAL)
    yield variant("softcap_constant", 256, (4, 2), score="50 * tanh(score / 50)",
                  mask=MASKS["window"], dtype="fp16", layout="bhsd")
    yield variant("alibi", 64, (8, 8), {"slopes": {"fill": "slopes"}}, inputs=SLOPES, score=ALIBI,
                  mask=CAUSAL)
    yield variant("alibi_full", 128, (8, 1), {"slopes": {"fill": "slopes"}}, inputs=SLOPES,
                  score="score - slopes[h] * abs(kv_idx - q_pos)", dtype="fp16")
    yield variant("sinks", 64, (16, 2), {"sink": {"fill": "normal"}},
                  inputs={"sink": {"dtype": "f32", "shape": ["heads"]}}, normalize=SINK_ROWS,
                  mask=MASKS["window"])
    yield variant("softmax_plus_one", 128, (4, 4), normalize=PLUS_ONE_ROWS, mask=CAUSAL)
    yield variant("softpick", 64, (4, 4), normalize=SOFTPICK_ROWS, mask=CAUSAL, large=False)
    yield variant("sigmoid", 128, (4, 4), {"bias": {"value": -3.0}}, inputs={"bias": f32},
                  score="score + bias", normalize=row_free("sigmoid(score)"))
    yield variant("sigmoid_causal", 64, (8, 2), normalize=row_free("sigmoid(score - 4)"),
                  mask=CAUSAL, dtype="fp16", layout="bhsd")
    yield variant("sigmoid_small", 128, (8, 2), normalize=row_free("sigmoid(score - 8)"),
                  mask=CAUSAL)
    yield variant("relu", 128, (4, 4), normalize=row_free("relu(score)", "acc / seq_kv"),
                  large=False)
    yield variant("relu_d64_causal", 64, (4, 4),
                  normalize=row_free("relu(score)", "acc / (q_pos + 1)"), mask=CAUSAL, large=False)
    yield variant("squared_relu", 256, (4, 1), mask=CAUSAL, large=False,
                  normalize=row_free("square(relu(score))", "acc / max(q_pos + 1, 1)"))
    yield variant("linear", 128, (4, 4), normalize="none", scale=0.05, mask=CAUSAL, large=False)
    yield variant("retention", (256, 256), (4, 4), {"log_decay": {"fill": "log_decay"}},
                  inputs={"log_decay": {"dtype": "f32", "shape": ["heads"]}},
                  score="score * exp(log_decay[h] * (q_pos - kv_idx))", normalize=RETENTION_ROWS,
                  mask=CAUSAL, large=False)
    pair_bias = {"dtype": "f32", "shape": ["heads", "seq_q", "seq_kv"]}
    yield variant("bias", 128, (4, 4), {"bias": {"fill": "normal"}}, 1000,
                  inputs={"bias": pair_bias}, score="score + bias[h, q_idx, kv_idx]")
    yield variant("bias_holes", 64, (4, 2), {"bias": {"fill": "holes", "offset": 1}}, 1000,
                  inputs={"bias": pair_bias}, score="score + bias[h, q_idx, kv_idx]", dtype="fp16")
    yield variant("bias_bf16_batch", 96, (4, 4), {"bias": {"fill": "normal", "offset": 3}}, 1000,
                  inputs={"bias": {"dtype": "bf16", "shape": ["batch", "seq_q", "seq_kv"]}},
                  score="score + bias[b, q_idx, kv_idx]", mask=CAUSAL)
    yield variant("bias_fp16_sigmoid", 64, (4, 2), {"bias": {"fill": "normal"}}, 1000, dtype="fp16",
                  inputs={"bias": {"dtype": "fp16", "shape": ["seq_q", "seq_kv"]}}, large=False,
                  normalize=row_free("sigmoid(score + bias[q_idx, kv_idx])"), mask=CAUSAL)
    yield variant("key_bias", 128, (8, 2), {"key": {"fill": "normal"}}, mask=CAUSAL,
                  inputs={"key": {"dtype": "f32", "shape": ["batch", "seq_kv"]}},
                  score="score + key[b, kv_idx]")
    yield variant("key_gate", 64, (4, 4), {"key": {"fill": "normal"}}, dtype="fp16", large=False,
                  inputs={"key": {"dtype": "bf16", "shape": ["heads", "seq_kv"]}},
                  normalize=row_free("sigmoid(score * key[h, kv_idx])"))
    gate = {"dtype": "f32", "shape": ["batch", "heads_kv", "seq_q", "seq_kv"]}
    yield variant("bias_gate", (256, 128), (4, 2), {"bias": {"fill": "normal"},
                                                    "slopes": {"fill": "slopes"}}, 1000,
                  inputs={"bias": gate, **SLOPES},
                  score="score * tanh(bias[b, h_kv, q_idx, kv_idx]) + slopes[h] * (kv_idx - q_pos)",
                  mask="kv_idx <= q_pos and q_pos - kv_idx < 300")
    yield variant("relative_table", 80, (4, 4), {"table": {"fill": "normal"}},
                  inputs={"table": {"dtype": "f32", "shape": ["heads", 65]}},
                  score="score + table[h, clamp(q_pos - kv_idx, -32, 32) + 32]")
    documents = {"q_doc": {"fill": "documents"}, "kv_doc": {"fill": "documents"}}
    yield variant("documents", 128, (8, 2), documents,
                  inputs={"q_doc": {"dtype": "i32", "shape": ["batch", "seq_q"]},
                          "kv_doc": {"dtype": "i32", "shape": ["batch", "seq_kv"]}},
                  mask="q_doc[b, q_idx] == kv_doc[b, kv_idx] and kv_idx <= q_pos")
    yield variant("documents_sorted", 64, (4, 4), documents, layout="bhsd",
                  inputs={"q_doc": {"dtype": "i32", "shape": ["batch", "seq_q"], "sorted": True},
                          "kv_doc": {"dtype": "i32", "shape": ["batch", "seq_kv"],
                                     "sorted": True}},
                  mask="q_doc[b, q_idx] == kv_doc[b, kv_idx]")
    anyhow = {"q_doc": {"fill": "documents_anyhow"}, "kv_doc": {"fill": "documents_anyhow"}}
    yield variant("documents_by_head", 64, (4, 2), anyhow, layout="bhsd",
                  inputs={"q_doc": {"dtype": "i32", "shape": ["batch", "heads_kv", "seq_q"]},
                          "kv_doc": {"dtype": "i32", "shape": ["batch", "heads", "seq_kv"]}},
                  mask="q_doc[b, h_kv, q_idx] == kv_doc[b, h, kv_idx]",
                  normalize={"weight": "sigmoid(score)"})
    yield variant("valid_keys", 128, (16, 2), {"valid": {"fill": "stretches"}},
                  inputs={"valid": {"dtype": "u8", "shape": ["batch", "seq_kv"]}},
                  mask="valid[b, kv_idx] != 0", dtype="fp16",
                  workload={"batch": 4, "seq_q": 8, "seq_kv": 8192})
    yield variant("dilated_window", 128, (4, 4), mask=(
        f"kv_idx <= q_pos and q_pos - kv_idx < {3 * WINDOW} and (q_pos - kv_idx) % 3 == 0"))
    yield variant("two_sided_window", 128, (8, 2), mask=f"abs(q_pos - kv_idx) <= {WINDOW}",
                  dtype="fp16")
    yield variant("window_sink_tokens", 256, (4, 2),
                  mask=f"kv_idx <= q_pos and (q_pos - kv_idx < {WINDOW} or kv_idx < 4)")
    yield variant("prefix_input", 128, (4, 4), {"prefix": {"fill": "lengths"}},
                  inputs={"prefix": {"dtype": "i32", "shape": ["batch"]}},
                  mask="kv_idx <= q_pos or kv_idx < prefix[b]")
    yield variant("key_lengths", 64, (8, 2), {"kv_len": {"fill": "lengths"}},
                  inputs={"kv_len": {"dtype": "i32", "shape": ["batch"]}},
                  mask="kv_idx < kv_len[b]")
    yield variant("bitmask", 128, (4, 4), {"allowed": {"fill": "bits"}}, 1000,
                  inputs={"allowed": {"dtype": "u8", "shape": ["batch", "seq_q", "seq_kv"]}},
                  mask="allowed[b, q_idx, kv_idx] != 0")
    yield variant("scaled_d8", 8, (4, 4), scale=1.0, mask=CAUSAL)
    yield from sparse_cases()
    yield from varlen_cases()
    yield from wide_cases()
    yield from maps_cases()
    yield from far_cases()


LAMBDA = {"lambda": {"dtype": "f32", "shape": ["heads"]}}
DIFFERENTIAL = {
    "rows": {"m": "rowmax(score)", "l": "rowsum(exp(score - m))"},
    "weight": "exp(score - m)",
    "output": "acc / l * (1 if map == 0 else -lambda[h])",
    "save": {"lse": "m + log(l)"},
}


def maps_cases():
    """`--filter maps_`: two maps of scores over one V, of pairs of warpgroups and of two pairs."""
    def one(name, head_dim, heads, given=None, fills=None, **spec):
        inputs = {**LAMBDA, **spec.pop("inputs", {})}
        case = variant(f"maps_{name}", head_dim, heads,
                       {"lambda": {"fill": "lambdas"}, **(fills or {})}, maps=2, inputs=inputs,
                       **{"normalize": DIFFERENTIAL, **spec})
        return replace(case, schedule=given)

    yield one("d64v128_causal", (64, 128), (4, 4), mask=CAUSAL)
    yield one("d64v128_full", (64, 128), (4, 2), dtype="fp16", layout="bhsd")
    yield one("d64v128_pairs", (64, 128), (4, 2), schedule(4, 32, 2, overlap="none"), mask=CAUSAL)
    yield one("d64v128_window", (64, 128), (4, 2), schedule(2, 128, 2, order="longest_first"),
              mask=MASKS["window"])
    yield one("d64v128_plain", (64, 128), (4, 2),
              schedule(2, 64, 2, weights="shared", grid="plain"), mask=CAUSAL, dtype="fp16")
    yield one("d128v256_causal", (128, 256), (4, 2), mask=CAUSAL)
    yield one("d128v256_full", (128, 256), (2, 2), dtype="fp16")
    yield one("d64_causal", 64, (8, 4), schedule(4, 64, 2, order="longest_first"), mask=CAUSAL)
    yield one("d64_window", 64, (4, 2), schedule(4, 32, 3, ping_pong=False, order="longest_first"),
              mask=MASKS["window"], dtype="fp16", layout="bhsd")
    yield one("d64_full", 64, (4, 4), schedule(4, 64, 2, grid="plain"))
    yield one("d72v40_prefix", (72, 40), (4, 1), mask=MASKS["prefix"])
    yield one("alibi", (64, 128), (4, 4), fills={"slopes": {"fill": "slopes"}}, inputs=SLOPES,
              score=ALIBI, mask=CAUSAL)
    yield replace(one("bias", 64, (4, 2), schedule(4, 32, 2, overlap="none"),
                      fills={"bias": {"fill": "normal"}},
                      inputs={"bias": {"dtype": "bf16", "shape": ["heads", "seq_q", "seq_kv"]}},
                      score="score + bias[h, q_idx, kv_idx]", mask=CAUSAL), longest=1000)
    yield one("softcap", (64, 128), (4, 4), score="30 * tanh(score / 30)", mask=CAUSAL)
    yield one("sigmoid", (64, 128), (4, 4), mask=CAUSAL, normalize=row_free(
        "sigmoid(score - 4)", "acc * (1 if map == 0 else -lambda[h])"))
    yield one("documents", (64, 128), (4, 4), schedule(4, 32, 2, overlap="none",
                                                       order="longest_first"),
              fills={"doc": {"fill": "documents"}},
              inputs={"doc": {"dtype": "i32", "shape": ["batch", "seq_kv"], "sorted": True}},
              mask=f"doc[b, q_pos] == doc[b, kv_idx] and {CAUSAL}")
    yield one("ids", (64, 128), (4, 4), fills={"doc": {"fill": "documents_anyhow"}},
              inputs={"doc": {"dtype": "i32", "shape": ["batch", "seq_kv"]}},
              mask=f"doc[b, q_pos] == doc[b, kv_idx] and {CAUSAL}")


def far_cases():
    """`--filter far_`: decays whose keys far behind come as states, in calls of many queries; by all
    schedules that differ in how tiles come, over masks with such keys.
    """
    decay = "score * exp(log_decay[h] * (q_pos - kv_idx))"
    both = {"rows": {"l": "rowsum(abs(score))", "s": "rowsum(score)"}, "weight": "score",
            "output": "acc / max(l, 1) + s / 1024", "save": {"norm": "l", "sum": "s"}}

    def one(name, head_dim, heads, given, score=decay, **spec):
        inputs = {"log_decay": {"dtype": "f32", "shape": ["heads"]}} if "decay" in score else {}
        fills = {name: {"fill": name} for name in inputs}
        case = variant(f"far_{name}", head_dim, heads, fills, large=False, inputs=inputs,
                       score=score, **{"mask": CAUSAL, "normalize": RETENTION_ROWS,
                                       "workload": {"batch": 1, "seq_q": 8192, "seq_kv": 8192},
                                       **spec})
        return replace(case, schedule=given)

    tall = schedule(3, 64, 4, order="longest_first")
    yield one("d128", 128, (4, 4), tall)
    yield one("d64", 64, (4, 2), schedule(4, 64, 6, overlap="none", ping_pong=False,
                                          order="longest_first"), layout="bhsd")
    yield one("d128v64", (128, 64), (4, 1), tall)
    yield one("d64v128", (64, 128), (2, 2), schedule(2, 64, 4), layout="bhsd")
    yield one("linear", 128, (4, 2), tall, normalize=row_free("score"))
    yield one("undecayed", 64, (4, 4), tall, score="score", scale=0.05,
              normalize=row_free("score", "acc / seq_kv"))
    yield one("two_sums", 64, (4, 4), tall, normalize=both)
    yield one("counted", 128, (4, 2), tall, normalize={
        "rows": {"l": "rowsum(abs(score))"}, "weight": "score", "output": "acc * rsqrt(l)",
        "save": {"norm": "l"}})
    yield one("prefix", 128, (4, 2), tall, mask=MASKS["prefix"])
    yield one("plain", 128, (4, 2), schedule(2, 64, 2, grid="plain"))
    yield one("full", 128, (4, 2), schedule(3, 64, 4), mask=None,
              score="score * exp(log_decay[h] * (seq_kv - kv_idx))")
    yield one("shared", 64, (4, 4), schedule(3, 64, 2, weights="shared", order="longest_first"))
    yield one("in_turn", 128, (2, 2), schedule(1, 64, 2, overlap="none", ping_pong=False))
    wide = schedule(2, 64, 2, ping_pong=False, order="longest_first")
    yield one("d192", 192, (2, 1), wide)
    yield one("d256", 256, (2, 2), wide, layout="bhsd")
    yield one("d256v512", (256, 512), (2, 1), wide)
    yield one("wide_linear", (256, 512), (2, 2), wide, normalize=row_free("score"))


def wide_cases():
    """`--filter wide_`: values wider than one accumulator, in two parts."""
    yield variant("wide_d512", 512, (2, 1))
    yield variant("wide_d512_causal", 512, (2, 2), mask=CAUSAL, dtype="fp16", layout="bhsd")
    yield variant("wide_d64v264", (64, 264), (4, 2), mask=CAUSAL)
    yield variant("wide_d384v320", (384, 320), (2, 2), mask=MASKS["window"])
    yield variant("wide_varlen", (128, 512), (4, 2), varlen=True, mask=CAUSAL)
    yield variant("wide_sparse", (128, 512), (4, 2), blocks={"size": 128, "from": "indices"})


def varlen_cases():
    """`--filter varlen_`: packed sequences, an empty one and one of NaN among them."""
    yield variant("varlen_causal", 128, (8, 2), varlen=True, mask=CAUSAL)
    yield variant("varlen_full", 64, (4, 4), varlen=True, layout="bhsd", dtype="fp16")
    yield variant("varlen_window", 256, (4, 1), varlen=True, mask=MASKS["window"])
    yield variant("varlen_sigmoid", 128, (4, 4), varlen=True, mask=CAUSAL,
                  normalize=row_free("sigmoid(score)"))
    yield variant("varlen_alibi_lengths", 96, (8, 2),
                  {"slopes": {"fill": "slopes"}, "kv_len": {"fill": "lengths"}}, varlen=True,
                  inputs={**SLOPES, "kv_len": {"dtype": "i32", "shape": ["batch"]}}, score=ALIBI,
                  mask="kv_idx < kv_len[b]")


def sparse_cases():
    """`--filter sparse_`: blocks as wide as a tile, smaller (warpgroups keep different ones), and
    larger; both ways to give them; under masks; in both types.
    """
    for size in (64, 128, 192, 256):
        for source in ("bitmap", "indices"):
            yield variant(f"sparse_{source}_{size}", 128, (4, 2),
                          blocks={"size": size, "from": source},
                          dtype="fp16" if size == 192 else "bf16")
    yield variant("sparse_causal_64", 64, (8, 2), mask=CAUSAL, layout="bhsd",
                  blocks={"size": 64, "from": "bitmap"})
    yield variant("sparse_window_128", 128, (4, 1), mask=MASKS["window"],
                  blocks={"size": 128, "from": "indices"})
    yield variant("sparse_sigmoid_64", 128, (4, 4), normalize=row_free("sigmoid(score)"),
                  blocks={"size": 64, "from": "bitmap"})
    yield variant("sparse_softcap_64", 256, (4, 2), score="30 * tanh(score / 30)", mask=CAUSAL,
                  blocks={"size": 64, "from": "indices"})


def schedule(warpgroups, tile_kv, stages, weights="registers", overlap="intra_warpgroup",
             ping_pong=True, grid="persistent", order="linear"):
    return {"warpgroups": warpgroups, "tile_kv": tile_kv, "stages": stages, "weights": weights,
            "overlap": overlap, "ping_pong": ping_pong, "grid": grid, "order": order}


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


def sanitize_cases():
    """Small kernels for tests/gpu/sanitize_driver.cpp, which knows one input: bias."""
    specs = [("full", (128, 128), (2, 2), "bf16", {}),
             ("causal", (64, 64), (4, 1), "fp16", {"mask": MASKS["causal"]}),
             ("window", (72, 72), (2, 1), "bf16", {"mask": MASKS["window"], "layout": "bhsd"}),
             ("sigmoid", (128, 128), (2, 2), "bf16", {"normalize": row_free("sigmoid(score)")})]
    for what, head_dim, heads, dtype, rest in specs:
        name = f"sanitize_{what}"
        yield Case(name, make_spec(name, head_dim, heads, dtype, **rest), "sanitize", data=name)
    maps = make_spec("sanitize_maps", (64, 64), (2, 1), maps=2, mask=CAUSAL, normalize={
        **DIFFERENTIAL, "output": "acc / l * (1 if map == 0 else -0.5)"})
    yield Case(maps["name"], maps, "sanitize", data=maps["name"],
               schedule=schedule(4, 64, 2, order="longest_first"))
    far = make_spec("sanitize_far", (128, 128), (2, 1), mask=CAUSAL, normalize={
        key: value for key, value in RETENTION_ROWS.items() if key != "save"},
                    score="score * exp((kv_idx - q_pos) / 100)")
    yield Case(far["name"], far, "sanitize", data=far["name"],
               schedule=schedule(3, 64, 4, order="longest_first"))
    bias = make_spec("sanitize_bias", (64, 64), (2, 2), mask=CAUSAL, inputs={
        "bias": {"dtype": "bf16", "shape": ["heads", "seq_q", "seq_kv"]}},
        score="score + bias[h, q_idx, kv_idx]")
    yield Case(bias["name"], bias, "sanitize", {"bias": {"fill": "normal"}}, longest=1000,
               data=bias["name"])


def all_cases():
    from gpu.variants import file_cases  # which makes Cases

    return [*base_cases(), *variant_cases(), *file_cases(), *packed_cases(), *agree_cases(),
            *walk_cases(), *sanitize_cases()]


def shapes_of(case, quick=False):
    """The calls of a case: lengths, and in turn the kinds of strides."""
    if case.spec.get("varlen"):
        return [Shape(*one, STRIDES[i % len(STRIDES)])
                for i, one in enumerate(VARLEN_QUICK if quick else VARLEN_QUICK + VARLEN)]
    pairs = [(n, n) for n in LENGTHS] + UNEQUAL
    if quick:
        pairs = [(1, 1), (77, 77), (128, 128), (239, 239), (1000, 1000), (64, 1000), (113, 64),
                 (128, 0)]
    elif case.group == "packed":
        pairs = [(1, 1), (1, 77), (3, 2048), (7, 799), (16, 8191), (17, 239), (64, 1000), (77, 77),
                 (113, 64), (128, 128), (128, 0), (239, 239), (1000, 1000)]
    elif case.group == "agree":
        pairs = [(77, 77), (239, 239), (1000, 1000), (64, 1000), (113, 64), (2048, 2048)]
    # Every case starts the cycle of strides elsewhere.
    turn = sum(case.data.encode())
    shapes = []
    for i, (seq_q, seq_kv) in enumerate(pairs):
        if max(seq_q, seq_kv) > case.longest:
            continue
        longer = max(seq_q, seq_kv)
        batch = 3 if longer <= 128 else 2 if longer <= 1000 else 1
        shapes.append(Shape(batch, seq_q, seq_kv, STRIDES[(turn + i) % len(STRIDES)]))
    if case.large and not quick:
        shapes += [Shape(2, n, n, STRIDES[turn % len(STRIDES)], "large") for n in LARGE]
        shapes += [Shape(1, LARGE[-1], LARGE[-1], STRIDES[turn % len(STRIDES)], kind)
                   for kind in ADVERSARIAL]
    return shapes


# The speed cases: a kernel for each, since the search optimises for a workload.
@dataclass(frozen=True)
class BenchCase:
    name: str
    head_dim: tuple
    heads: tuple
    batch: int
    seq: int
    causal: bool
    dtype: str = "bf16"
    rows: int = 0  # queries, if fewer than keys
    schedule: dict = None  # or the search's

    @property
    def seq_q(self):
        return self.rows or self.seq

    def case(self):
        spec = make_spec(self.name, self.head_dim, self.heads, self.dtype,
                         mask=CAUSAL if self.causal else None,
                         workload={"batch": self.batch, "seq_q": self.seq_q, "seq_kv": self.seq})
        return Case(self.name, spec, "bench", mask="causal" if self.causal else "full",
                    schedule=self.schedule, data=self.name)

    def flop(self):
        """Causal counts half the pairs, as is usual."""
        qk, v = self.head_dim
        pairs = self.seq_q * self.seq / (2 if self.causal else 1)
        return 2.0 * self.batch * self.heads[0] * pairs * (qk + v)


BENCH_TOKENS, BENCH_WIDTH = 16384, 2048  # batch * length, heads * head dim


def multi_head_bench(dim, seq, dtype="bf16"):
    heads = BENCH_WIDTH // dim
    for causal in (False, True):
        kind = "" if dtype == "bf16" else f"{dtype}_"
        name = f"bench_{kind}d{dim}_s{seq}_{'causal' if causal else 'full'}"
        yield BenchCase(name, (dim, dim), (heads, heads), BENCH_TOKENS // seq, seq, causal, dtype)


# FlashAttention-3's time to cuDNN's, measured on an H200 (2026-11-20, FlashAttention 0251105a, nvcc
# 13.0): it is not run beside these. At 512 keys its own TFLOP/s that day, without cuDNN beside it.
FA3_TO_CUDNN = {
    "d64_s1024_full": 0.87, "d64_s1024_causal": 0.88, "d64_s4096_full": 1.04,
    "d64_s4096_causal": 1.05, "d64_s16384_full": 1.13, "d64_s16384_causal": 1.15,
    "d128_s1024_full": 1.03, "d128_s1024_causal": 1.04, "d128_s4096_full": 1.08,
    "d128_s4096_causal": 1.10, "d128_s16384_full": 1.08, "d128_s16384_causal": 1.13,
    "d256_s1024_full": 1.04, "d256_s1024_causal": 1.03, "d256_s4096_full": 1.03,
    "d256_s4096_causal": 1.09, "d256_s16384_full": 1.09, "d256_s16384_causal": 1.17,
    "llama8b_s2048_causal": 1.16, "llama8b_s8192_causal": 1.14, "llama70b_s16384_causal": 1.12,
    "llama70b_s16384_full": 1.13}
FA3_TFLOPS = {"d64_s512_full": 323.7, "d64_s512_causal": 222.8, "d128_s512_full": 511.8,
              "d128_s512_causal": 324.0, "d256_s512_full": 520.7, "d256_s512_causal": 338.8}


def few_rows_bench():
    """Few queries against many keys: as the search has it, and the same tile with the query heads
    apart and packed.
    """
    for rows, tile in ((16, (1, 128, 3)), (128, (2, 128, 2))):
        given = schedule(*tile, ping_pong=tile[0] > 1)
        for kind, one in (("", None), ("_apart", given), ("_packed", {**given, "pack_heads": True})):
            yield BenchCase(f"bench_llama70b_q{rows}_s8192_full{kind}", (128, 128), (64, 8), 8, 8192,
                            False, rows=rows, schedule=one)


def bench_cases():
    for dim in (64, 128, 256):
        for seq in (512, 1024, 4096, 16384):
            yield from multi_head_bench(dim, seq)
    for dim in (96, 192):
        for seq in (1024, 4096, 16384):
            yield from multi_head_bench(dim, seq)
    for dim in (64, 128):
        yield from multi_head_bench(dim, 4096, "fp16")
    for seq in (2048, 8192):
        yield BenchCase(f"bench_llama8b_s{seq}_causal", (128, 128), (32, 8), BENCH_TOKENS // seq,
                        seq, True)
    for causal in (True, False):
        yield BenchCase(f"bench_llama70b_s16384_{'causal' if causal else 'full'}", (128, 128),
                        (64, 8), 1, 16384, causal)
    yield from few_rows_bench()
    yield BenchCase("bench_mla_prefill_s4096_causal", (192, 128), (16, 16), BENCH_TOKENS // 4096,
                    4096, True)
