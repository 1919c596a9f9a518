"""What bench_variants.py times of the other files of specs/variants: each as its file has it, at a
length that its doc line suggests, beside our own plain softmax of the same heads and dims.
"""

import math
from dataclasses import replace

from gpu.case import CAUSAL, dim_text, make_spec
from gpu.variant_benches import VariantBench, causal, everything
from gpu.variants import read

NORMAL, SLOPES = {"fill": "normal"}, {"fill": "slopes"}


def t5_bias(score, b, h, q, k, inputs):
    distance = (k - q).abs()
    far = (2 + ((k - q).square().log2() + 0.001).int()).clamp(max=15)
    bucket = (k > q) * 16 + distance.where(distance < 8, far)
    return score + inputs["table"][bucket, h]


def image_positions(score, b, h, q, k, inputs):
    return score + inputs["rel_h"][b, h, q, k // 64] + inputs["rel_w"][b, h, q, k % 64]


def relative_keys(score, b, h, q, k, inputs):
    return score + inputs["rel"][b, h, q, (k - q).clamp(-128, 128) + 128]


def disentangled(score, b, h, q, k, inputs):
    bucket = inputs["bucket"][(q - k).clamp(-512, 512) + 512]
    return score + inputs["c2p"][b, h, q, bucket] + inputs["p2c"][b, h, k, bucket]


def graph_distances(score, b, h, q, k, inputs):
    return score + inputs["spatial"][h, inputs["dist"][b, q, k].int()]


def both_sides(score, b, h, q, k, inputs):
    return score - inputs["slopes"][h] * (q - k).abs()


def log_distance(score, b, h, q, k, inputs):
    return score - inputs["slopes"][h] * (1 + q - k).log()


def forgetting(score, b, h, q, k, inputs):
    return score + inputs["gates"][b, h, q] - inputs["gates"][b, h, k]


def relative_positions(score, b, h, q, k, inputs):
    return score + inputs["bd"][b, h, q, k - q + 2048]


def tanh_clip(score, b, h, q, k, inputs):
    return 10 * score.tanh()


def broadcast_bias(score, b, h, q, k, inputs):
    return score + inputs["pair"][q, k] + inputs["key"][b, k]


def two_sided_window(b, h, q, k, inputs):
    return (q - k).abs() <= 512


def dilated(b, h, q, k, inputs):
    return (k <= q) & ((q // 64 - k // 64) % 4 == 0)


def global_and_window(b, h, q, k, inputs):
    return (k <= q) & ((k < inputs["prefix"][b]) | (q - k < 1024))


def global_tokens(b, h, q, k, inputs):
    return (q < 128) | (k < 128) | ((q - k).abs() <= 256)


def pruned(b, h, q, k, inputs):
    return (k <= q) & (inputs["gates"][b, h, q] - inputs["gates"][b, h, k] > -20)


def key_padding(b, h, q, k, inputs):
    return k < inputs["kv_len"][b]


def image_spans(b, h, q, k, inputs):
    span = inputs["span"]
    return (k <= q) | ((span[b, q] == span[b, k]) & (inputs["image"][b, q] != 0))


def not_self(b, h, q, k, inputs):
    return q // 32 != k // 32


def pair_mask(b, h, q, k, inputs):
    return inputs["keep"][b, q, k] > 0


def added(score, b, h, q, k, inputs):
    return score + inputs["attn_mask"][b, q, k]


def exists(b, h, q, k, inputs):
    return inputs["attn_mask"][b, q, k] > -10000


def added_mask(inputs):
    return inputs["attn_mask"].unsqueeze(1)


def attn_mask(inputs):
    return inputs["keep"].unsqueeze(1) > 0


def with_logit(score, keep, logit):
    """Softmax in which a logit [.., heads, 1, 1] takes part that has no value."""
    score = score.masked_fill(~keep, -math.inf)
    largest = score.amax(-1, keepdim=True).maximum(logit)
    weight = (score - largest).exp()
    return weight / (weight.sum(-1, keepdim=True) + (logit - largest).exp())


def sinks(score, keep, inputs):
    return with_logit(score, keep, inputs["sink"].view(1, -1, 1, 1))


def sink_factor(lse, inputs):
    return (lse - inputs["sink"].view(1, -1, 1)).sigmoid()


def gated(out, inputs, rows):
    return out * inputs["gate"][:, rows].transpose(1, 2).to(out.dtype).sigmoid()


def softmax_plus_one(score, keep, inputs):
    return with_logit(score, keep, score.new_zeros(()))


def plus_one_factor(lse, inputs):
    return lse.sigmoid()


def softpick(score, keep, inputs):
    weight = (score.exp() - 1).where(keep, 0)
    return weight.relu() / (weight.abs().sum(-1, keepdim=True) + 1e-6)


def squared_relu(score, keep, inputs):
    return score.relu().square().where(keep, 0) / keep.sum(-1, keepdim=True)


def polynomial(score, keep, inputs):
    weight = score.square().square().where(keep, 0)
    return weight / (1 + weight.sum(-1, keepdim=True))


def l2_normalised(score, keep, inputs):
    score = score.where(keep, 0)
    return score * (score.square().sum(-1, keepdim=True) + 1e-6).rsqrt()


# name of the file -> batch, length of keys, and what VariantBench wants to know; `changes`: what the
# spec has in the place of the file's.
FILES = {
    "two_sided_window": (4, 8192, {"keep": two_sided_window, "flex": True}),
    "dilated": (2, 8192, {"keep": dilated, "flex": True}),
    "global_and_window": (2, 8192, {"keep": global_and_window, "flex": True,
                                    "fills": (("prefix", {"fill": "prefix_64"}),)}),
    "global_tokens": (4, 8192, {"keep": global_tokens, "flex": True}),
    "not_self": (4, 8192, {"keep": not_self, "flex": True}),
    "key_padding": (64, 512, {"keep": key_padding, "flex": True,
                              "fills": (("kv_len", {"fill": "some_lengths"}),)}),
    "encoder_alibi": (16, 2048, {"keep": key_padding, "score": both_sides, "flex": True,
                                 "fills": (("slopes", SLOPES),
                                           ("kv_len", {"fill": "some_lengths"}))}),
    "image_spans": (2, 8192, {"keep": image_spans, "flex": True,
                              "fills": (("span", {"fill": "documents_1024"}),
                                        ("image", {"fill": "every_other_1024"}))}),
    "pair_mask": (2, 4096, {"keep": pair_mask, "flex": True, "attn_mask": attn_mask,
                            "fills": (("keep", {"fill": "coins"}),)}),
    "additive_mask": (2, 4096, {"keep": exists, "score": added, "flex": True,
                                "attn_mask": added_mask,
                                "fills": (("attn_mask", {"fill": "biased_triangle"}),)}),
    # T5 has no scale, but queries whose scores have a deviation of about one.
    "t5_bias": (8, 2048, {"keep": everything, "score": t5_bias, "flex": True,
                          "fills": (("table", NORMAL),), "changes": {"scale": 0.125}}),
    "image_positions": (1, 4096, {"keep": everything, "score": image_positions, "flex": True,
                                  "fills": (("rel_h", NORMAL), ("rel_w", NORMAL))}),
    "relative_keys": (2, 2048, {"keep": everything, "score": relative_keys, "flex": True,
                                "fills": (("rel", NORMAL),)}),
    "disentangled": (32, 512, {"keep": everything, "score": disentangled, "flex": True,
                               "fills": (("bucket", {"fill": "buckets"}), ("c2p", NORMAL),
                                         ("p2c", NORMAL))}),
    "graph_distances": (8, 1024, {"keep": everything, "score": graph_distances, "flex": True,
                                  "fills": (("dist", {"fill": "hops"}), ("spatial", NORMAL))}),
    "log_distance": (2, 8192, {"score": log_distance, "flex": True,
                               "fills": (("slopes", SLOPES),)}),
    "forgetting": (2, 8192, {"score": forgetting, "flex": True,
                             "fills": (("gates", {"fill": "log_gates"}),)}),
    "pruned_forgetting": (2, 8192, {"keep": pruned, "score": forgetting, "flex": True,
                                    "fills": (("gates", {"fill": "log_gates"}),)}),
    "broadcast_bias": (4, 4096, {"keep": everything, "score": broadcast_bias, "flex": True,
                                 "fills": (("pair", NORMAL), ("key", NORMAL))}),
    "relative_positions": (2, 2048, {"keep": everything, "score": relative_positions, "flex": True,
                                     "fills": (("bd", NORMAL),)}),
    "tanh_clip": (64, 1024, {"keep": everything, "score": tanh_clip, "flex": True}),
    "sinks": (2, 8192, {"weigh": sinks, "rescale": sink_factor, "flex": True,
                        "fills": (("sink", NORMAL),)}),
    "gated_output": (2, 4096, {"gate": gated, "flex": True, "fills": (("gate", NORMAL),)}),
    "softmax_plus_one": (1, 4096, {"weigh": softmax_plus_one, "rescale": plus_one_factor,
                                   "flex": True}),
    "softpick": (1, 4096, {"weigh": softpick}),
    "squared_relu": (1, 4096, {"weigh": squared_relu}),
    "polynomial": (1, 4096, {"weigh": polynomial}),
    "l2_normalised": (1, 4096, {"keep": everything, "weigh": l2_normalised}),
    "unequal_dims": (2, 8192, {"flex": True}),
    "head_dim_512": (4, 4096, {"keep": everything, "flex": True}),
    "cross_attention": (16, 77, {"keep": everything, "flex": True, "queries": 4096}),
}


def mask_benches():
    """pair_mask at head dim 64, of rows that begin anywhere, and of masks that leave blocks out."""
    batch, _, more = FILES["pair_mask"]
    for dim, seq in ((64, 4096), (128, 4088), (128, 4091), (64, 4088), (64, 4091)):
        name = f"variant_pair_mask_d{dim}_s{seq}"
        spec = {**read("pair_mask"), "name": name, "layout": "bshd",
                "head_dim": {"qk": dim, "v": dim},
                "workload": {"batch": batch, "seq_q": seq, "seq_kv": seq}}
        yield VariantBench(name, spec, batch, seq, **more)
    for fill in ("lower_triangle", "squares_1024"):
        name = f"variant_pair_mask_{fill}"
        spec = {**read("pair_mask"), "name": name, "layout": "bshd",
                "workload": {"batch": batch, "seq_q": 4096, "seq_kv": 4096}}
        yield VariantBench(name, spec, batch, 4096, **{**more, "fills": (("keep", {"fill": fill}),)})


def gate_benches():
    """gated_output at head dim 128, of other lengths."""
    _, _, more = FILES["gated_output"]
    for batch, seq in ((8, 1024), (2, 4096), (2, 8192)):
        name = f"variant_gated_output_d128_s{seq}"
        spec = {**read("gated_output"), "name": name, "layout": "bshd",
                "heads": {"q": 32, "kv": 8}, "head_dim": {"qk": 128, "v": 128},
                "workload": {"batch": batch, "seq_q": seq, "seq_kv": seq}}
        yield VariantBench(name, spec, batch, seq, **more)


def is_causal(spec):
    """Whether every query sees keys up to itself alone."""
    return "kv_idx <= q_pos and" in spec.get("mask", "") or spec.get("mask") == CAUSAL


def plain_bench(bench):
    """Plain softmax of the same type, heads, dims and lengths."""
    spec, masked = bench.spec, is_causal(bench.spec)
    heads, dims = (spec["heads"]["q"], spec["heads"]["kv"]), tuple(spec["head_dim"].values())
    name = (f"variant_plain_{spec['dtype']}_b{bench.batch}_h{heads[0]}_{heads[1]}_q{bench.seq_q}"
            f"_s{bench.seq}_{dim_text(dims)}_{'causal' if masked else 'full'}")
    workload = {"batch": bench.batch, "seq_q": bench.seq_q, "seq_kv": bench.seq}
    return VariantBench(name, make_spec(name, dims, heads, spec["dtype"], workload=workload,
                                        mask=CAUSAL if masked else None),
                        bench.batch, bench.seq, keep=causal if masked else everything,
                        queries=bench.queries, yardstick=True, rival=name)


def is_plain(spec):
    return not {"score", "normalize"} & set(spec) and spec.get("mask", CAUSAL) == CAUSAL


def file_benches():
    """The files' benches, and once each the plain ones that they are held to."""
    plain_ones = {}

    def beside_plain(bench):
        beside = plain_bench(bench)
        plain_ones[beside.name] = beside
        return replace(bench, rival=beside.name)

    for file, (batch, seq, more) in FILES.items():
        name = f"variant_{file}"
        changes, more = more.get("changes", {}), {k: more[k] for k in more if k != "changes"}
        spec = {**read(file), "name": name, "layout": "bshd", **changes}
        spec["workload"] = {"batch": batch, "seq_q": more.get("queries", seq), "seq_kv": seq}
        bench = VariantBench(name, spec, batch, seq, rival=name, **more)
        yield bench if is_plain(spec) else beside_plain(bench)
    yield from map(beside_plain, [*mask_benches(), *gate_benches()])
    yield from plain_ones.values()
