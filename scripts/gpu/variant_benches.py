"""The kernels of bench_variants.py, and what PyTorch users write in their place."""

import math
from dataclasses import dataclass

from gpu.case import CAUSAL, Case, dim_text, make_spec
from gpu.variants import read


# A formula is what PyTorch users write: score and keep read broadcast index tensors b, h, q,
# k (q is the query's place among the keys) and the inputs by name; weigh turns scores into weights.
def causal(b, h, q, k, inputs):
    return k <= q


def plain(score, b, h, q, k, inputs):
    return score


@dataclass(frozen=True)
class VariantBench:
    name: str
    spec: dict
    batch: int
    seq: int
    keep: object = causal
    score: object = plain
    weigh: object = None  # None: softmax
    flex: bool = False  # FlexAttention has it
    fills: tuple = ()
    rival: str = ""  # the case whose rate per visited pair is the yardstick
    maps: int = 1  # two: the first less lambda times the second
    rescale: object = None  # of FlexAttention's output, by its lse: what has no value
    gate: object = None  # of the output, the inputs and its rows: what becomes of its elements
    queries: int = 0  # if they are not as many as keys
    attn_mask: object = None  # of the inputs: what PyTorch's own call takes for it
    yardstick: bool = False  # no row of its own

    @property
    def seq_q(self):
        return self.queries or self.seq

    def case(self):
        return Case(self.name, self.spec, "bench_variant", dict(self.fills), data=self.name)


def softcap_30(score, b, h, q, k, inputs):
    return 30 * (score / 30).tanh()


def alibi(score, b, h, q, k, inputs):
    return score + inputs["slopes"][h] * (k - q)


def pair_bias(score, b, h, q, k, inputs):
    return score + inputs["bias"][h, q, k]


def key_bias(score, b, h, q, k, inputs):
    return score + inputs["key"][b, k]


def temperature(score, b, h, q, k, inputs):
    return score * inputs["temperature"][h]


def window_1024(b, h, q, k, inputs):
    return (k <= q) & (q - k < 1024)


def same_document(b, h, q, k, inputs):
    return (k <= q) & (inputs["doc"][b, q] == inputs["doc"][b, k])


def prefix(b, h, q, k, inputs):
    return (k <= q) | (k < inputs["prefix"][b])


# On the six cases of FlexAttention and one more.
FLEX = {
    "causal": {},
    "alibi": {"score": alibi, "fills": (("slopes", {"fill": "slopes"}),)},
    "softcap": {"score": softcap_30},
    "sliding_window": {"keep": window_1024},
    "documents": {"keep": same_document, "fills": (("doc", {"fill": "documents_1024"}),)},
    "unsorted_documents": {"keep": same_document,
                           "fills": (("doc", {"fill": "documents_1024_anyhow"}),)},
    "prefix_lm": {"keep": prefix, "fills": (("prefix", {"fill": "prefix_2048"}),)},
}


def bias_benches():
    """A bias for each pair: bf16, fp32, rows that TMA cannot take. One for each key."""
    shape = {key: read("causal")[key] for key in ("heads", "head_dim", "mask", "workload")}
    for name, dtype, seq in (("pair_bias", "bf16", 8192), ("pair_bias_fp32", "f32", 8192),
                             ("pair_bias_ragged", "bf16", 8190), ("pair_bias_odd", "bf16", 8191),
                             ("pair_bias_fp32_odd", "f32", 8191)):
        spec = {**read("pair_bias"), "name": f"variant_{name}", "layout": "bshd", **shape,
                "workload": {"batch": 2, "seq_q": seq, "seq_kv": seq}}
        spec["inputs"] = {"bias": {**spec["inputs"]["bias"], "dtype": dtype}}
        yield VariantBench(spec["name"], spec, 2, seq, score=pair_bias, flex=True,
                           rival="variant_causal", fills=(("bias", {"fill": "normal"}),))
    spec = {**read("broadcast_bias"), "name": "variant_key_bias", "layout": "bshd", **shape,
            "inputs": {"key": {"dtype": "f32", "shape": ["batch", "seq_kv"]}},
            "score": "score + key[b, kv_idx]"}
    yield VariantBench(spec["name"], spec, 2, 8192, score=key_bias, flex=True,
                       rival="variant_causal", fills=(("key", {"fill": "normal"}),))


def flex_benches():
    for name, more in FLEX.items():
        spec = {**read(name), "name": f"variant_{name}", "layout": "bshd"}
        yield VariantBench(spec["name"], spec, 2, 8192, flex=True, rival="variant_causal", **more)
    yield from bias_benches()
    spec = {**read("temperature"), "name": "variant_temperature", "layout": "bshd"}
    yield VariantBench(spec["name"], spec, 2, 8192, score=temperature, rival="variant_causal",
                       fills=(("temperature", {"fill": "slopes"}),))


def sigmoid(score, keep, inputs):
    """The bias is -log(seq_kv), so that a row's weights sum to about 1."""
    return (score - math.log(keep.shape[-1])).sigmoid().where(keep, 0)


def sigmoid_large(score, keep, inputs):
    return (score - 4).sigmoid().where(keep, 0)


def relu(score, keep, inputs):
    return score.relu().where(keep, 0)


def retention(score, keep, inputs):
    score = score.where(keep, 0)
    return score / score.abs().sum(-1, keepdim=True).clamp(min=1)


def linear(score, keep, inputs):
    return score.where(keep, 0)


def decay(score, b, h, q, k, inputs):
    return score * ((q - k) * (1 - 2.0 ** (-5.0 - h)).log()).exp()


def gated(score, b, h, q, k, inputs):
    gates, step = inputs["gates"], inputs["step"]
    return score * (gates[b, h, q] - gates[b, h, k]).where(k <= q, 0).exp() * step[b, h, k]


def mlstm(score, b, h, q, k, inputs):
    gates, entry = inputs["gates"], inputs["entry"]
    return score * ((gates[b, h, q] - gates[b, h, k]).where(k <= q, 0) + entry[b, h, k]).exp()


def signed_sum(score, keep, inputs):
    score = score.where(keep, 0)
    return score / score.sum(-1, keepdim=True).abs().clamp(min=1)


WEIGHTS = {
    "softmax": ({}, {}),
    "sigmoid": ({"inputs": {"bias": {"dtype": "f32", "shape": []}},
                 "normalize": {"weight": "sigmoid(score + bias)"}}, {"weigh": sigmoid}),
    "sigmoid_large": ({"normalize": {"weight": "sigmoid(score - 4)"}}, {"weigh": sigmoid_large}),
    "relu": ({"normalize": {"weight": "relu(score)"}}, {"weigh": relu}),
    "retention": ({"score": "score * exp((q_pos - kv_idx) * log(1 - exp2(-5 - h)))",
                   "normalize": {"rows": {"l": "max(rowsum(abs(score)), 1)"}, "weight": "score",
                                 "output": "acc / l"}},
                  {"weigh": retention, "score": decay}),
    "linear": ({"score": "score * exp((q_pos - kv_idx) * log(1 - exp2(-5 - h)))",
                "normalize": "none"}, {"weigh": linear, "score": decay}),
    "gated": ({"inputs": {name: {"dtype": "f32", "shape": ["batch", "heads", "seq_kv"]}
                          for name in ("gates", "step")}, "normalize": "none",
               "score": "score * exp(gates[b, h, q_pos] - gates[b, h, kv_idx]) * step[b, h, kv_idx]"},
              {"weigh": linear, "score": gated, "fills": (("gates", {"fill": "log_gates"}),
                                                          ("step", {"fill": "normal"}))}),
    "mlstm": ({key: read("mlstm")[key] for key in ("inputs", "score", "normalize")},
              {"weigh": signed_sum, "score": mlstm, "fills": (("gates", {"fill": "log_gates"}),
                                                              ("entry", {"fill": "normal"}))}),
}
DECAYS = ("retention", "linear", "gated", "mlstm")
# batch, heads, length, head dim, causal: peers.md's shapes, and long rows.
SHAPES = [(1, 32, 2048, 128, True), (1, 32, 4096, 128, True), (4, 16, 4096, 64, True),
          (1, 16, 16384, 128, False), (1, 32, 16384, 64, False), (1, 16, 16384, 128, True),
          (1, 32, 16384, 64, True)]
# Of decays alone: RetNet's own widths, and heads as state space models have them.
DECAY_SHAPES = [(8, 16, 2048, (256, 256), True), (4, 8, 4096, (256, 512), True),
                (8, 80, 2048, (128, 64), True)]


def everything(b, h, q, k, inputs):
    return k >= 0


def weight_benches():
    for shape in SHAPES + DECAY_SHAPES:
        batch, heads, seq, dim, is_causal = shape
        dims = dim if isinstance(dim, tuple) else (dim, dim)
        where = f"b{batch}_h{heads}_s{seq}_{dim_text(dims)}_{'causal' if is_causal else 'full'}"
        for name, (spec, more) in WEIGHTS.items():
            decays = name in DECAYS
            if decays and not is_causal:
                continue  # towards the past alone
            if not decays and name != "softmax" and (
                    seq == 16384 and is_causal or shape in DECAY_SHAPES):
                continue
            if name == "sigmoid_large" and (batch, is_causal) != (1, True):
                continue
            if name == "sigmoid":
                more = {**more, "fills": (("bias", {"value": -math.log(seq)}),)}
            full_name = f"variant_{name}_{where}"
            workload = {"batch": batch, "seq_q": seq, "seq_kv": seq}
            yield VariantBench(full_name, make_spec(full_name, dims, (heads, heads),
                                                    mask=CAUSAL if is_causal else None,
                                                    workload=workload, **spec),
                               batch, seq, keep=causal if is_causal else everything,
                               rival=f"variant_softmax_{where}", **more)


def differential_benches():
    """Heads of both maps as wide as a usual head's, and twice that; then one query of each batch."""
    def bench(where, heads, dims, batch, queries, keys, more):
        name = f"variant_differential_{where}"
        spec = {**read("differential"), "name": name, "layout": "bshd",
                "heads": dict(zip(("q", "kv"), heads)), "head_dim": dict(zip(("qk", "v"), dims)),
                "workload": {"batch": batch, "seq_q": queries, "seq_kv": keys}}
        return VariantBench(name, spec, batch, keys, fills=(("lambda", {"fill": "lambdas"}),),
                            maps=2, queries=queries, **more)

    for heads, qk, v in ((16, 64, 128), (8, 128, 256)):
        yield bench(f"b1_h{heads}_s8192_d{qk}v{v}_causal", (heads, heads), (qk, v), 1, 8192, 8192, {})
    for batch, keys in ((64, 4096), (8, 16384), (1, 65536)):
        yield bench(f"b{batch}_h32_8_q1_s{keys}_d64v128", (32, 8), (64, 128), batch, 1, keys,
                    {"keep": everything})


def variant_benches():
    return [*flex_benches(), *weight_benches(), *differential_benches()]
