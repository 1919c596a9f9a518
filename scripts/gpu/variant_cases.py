"""Scores, masks, normalisers, wide heads: what no fixed kernel has."""

from dataclasses import replace

from gpu.case import CAUSAL, MASKS, WINDOW, schedule
from gpu.storage_cases import sparse_cases, varlen_cases
from gpu.variant_parts import (ALIBI, DIFFERENTIAL, LAMBDA, PLUS_ONE_ROWS, RETENTION_ROWS,
                               SAVED_MAX, SINK_ROWS, SLOPES, SOFTPICK_ROWS, gated_rows, row_free,
                               variant)


def variant_cases():
    f32 = {"dtype": "f32", "shape": []}
    yield variant("softcap_input", 128, (8, 2), {"cap": {"value": 30.0}}, inputs={"cap": f32},
                  score="cap * tanh(score / cap)", mask=CAUSAL)
    yield variant("softcap_constant", 256, (4, 2), score="50 * tanh(score / 50)",
                  mask=MASKS["window"], dtype="fp16", layout="bhsd")
    # A row's own term, which may be large, is left out of scores whose cap is a cubic.
    yield variant("softcap_row", 128, (4, 2), {"row": {"fill": "normal"}}, mask=CAUSAL,
                  inputs={"row": {"dtype": "f32", "shape": ["batch", "heads", "seq_q"]}},
                  score="30 * tanh(score / 30) + row[b, h, q_idx]")
    yield variant("leaky", 128, (4, 2), score="score * (2 if score > 0 else 1)", mask=CAUSAL)
    yield variant("bias_decides", 64, (4, 2), {"bias": {"fill": "normal"}}, 1000,
                  inputs={"bias": {"dtype": "bf16", "shape": ["heads", "seq_q", "seq_kv"]}},
                  score="score + (1 if bias[h, q_idx, kv_idx] > 0 else 2)")
    yield variant("alibi", 64, (8, 8), {"slopes": {"fill": "slopes"}}, inputs=SLOPES, score=ALIBI,
                  mask=CAUSAL)
    yield variant("alibi_full", 128, (8, 1), {"slopes": {"fill": "slopes"}}, inputs=SLOPES,
                  score="score - slopes[h] * abs(kv_idx - q_pos)", dtype="fp16")
    # Maxima that rise from block to block: towards a row's own keys, away from them, to its middle.
    padded = {"len": {"dtype": "i32", "shape": ["batch"]}}
    yield variant("falling_padded", 64, (4, 4), {"slopes": {"fill": "slopes"},
                                                 "len": {"fill": "lengths"}},
                  inputs={**SLOPES, **padded}, mask="kv_idx < len[b]", layout="bhsd",
                  score="score - 4 * slopes[h] * abs(kv_idx - q_pos)")
    yield variant("rising", 128, (4, 2), {"slopes": {"fill": "slopes"}}, inputs=SLOPES,
                  score="score + slopes[h] * abs(kv_idx - q_pos)", dtype="fp16")
    yield variant("gaussian", 128, (4, 2), {"width": {"fill": "normal"}},
                  inputs={"width": {"dtype": "f32", "shape": ["batch", "heads", "seq_q"]}},
                  score="score - square((q_pos - kv_idx) / (10 + 100 * abs(width[b, h, q_idx])))")
    # Functions that the hardware has in part.
    yield variant("gelu_score", 64, (4, 2), score="gelu(score) + erf(score)", mask=CAUSAL)
    yield variant("gelu_weight", 128, (4, 2), normalize=row_free("gelu(score)", "acc / (q_pos + 1)"),
                  mask=CAUSAL, large=False)
    yield variant("gelu_fp16", 128, (4, 2), score="gelu(score)", dtype="fp16")
    yield variant("waves", 64, (4, 2), mask=CAUSAL,
                  score="sin(score) + cos(0.01 * (q_pos - kv_idx)) + cos(3 * score)")
    yield variant("powers", 128, (4, 2), {"p": {"fill": "slopes"}}, inputs={
        "p": {"dtype": "f32", "shape": ["heads"]}}, mask=CAUSAL, large=False, normalize={
            "rows": {"l": "rowsum(pow(relu(score) + 0.01, 1 + p[h]))"},
            "weight": "pow(relu(score) + 0.01, 1 + p[h])", "output": "acc / l"})
    yield variant("powers_fp16", 64, (4, 2), dtype="fp16", large=False,
                  score="pow(abs(score), 1.5) + 0.1 * pow(score, 1.0 + h)")
    # Masks that are added, beyond what exponents hold.
    lengths = {"len": {"dtype": "i32", "shape": ["batch"]}}
    yield variant("added_least", 128, (4, 2), {"len": {"fill": "lengths"}}, inputs=lengths,
                  score="score + (0 if kv_idx < len[b] else -3.3895314e38)")
    yield variant("added_fp16", 64, (4, 2), {"len": {"fill": "lengths"}}, inputs=lengths, dtype="fp16",
                  score="score + 1e9 * ((1 if kv_idx < len[b] else 0) - 1)")
    yield variant("added_causal", 64, (4, 2), score="score + (0 if kv_idx <= q_pos else -1e10)")
    # Steps of quotients, which stand at whole numbers.
    yield variant("steps", 64, (4, 2), mask=CAUSAL,
                  score="score + 0.5 * int(kv_idx / 121) + (1 if kv_idx / 3 >= q_pos / 7 else 0)")
    yield variant("sinks", 64, (16, 2), {"sink": {"fill": "normal"}},
                  inputs={"sink": {"dtype": "f32", "shape": ["heads"]}}, normalize=SINK_ROWS,
                  mask=MASKS["window"])
    # Rows whose first pairs stand in a full block, which is weighed against the sink alone.
    yield variant("sinks_by_frames", 128, (4, 2), {"sink": {"fill": "normal"}},
                  inputs={"sink": {"dtype": "f32", "shape": ["heads"]}}, normalize=SINK_ROWS,
                  mask="kv_idx // 64 <= q_idx // 32 and kv_idx // 64 % 3 != 1")
    # An output that reads inputs in its own column; another type, more columns, wide values, splits.
    gate = {"gate": {"dtype": "bf16", "shape": ["batch", "seq_q", "heads", "dim"]}}
    normal_gate = {"gate": {"fill": "normal"}}
    yield variant("gated", 128, (8, 2), normal_gate, inputs=gate, mask=CAUSAL, normalize=gated_rows(
        "acc / l * sigmoid(gate[b, q_idx, h, d])"))
    yield variant("gated_skip", (64, 72), (4, 2), {**normal_gate, "skip": {"fill": "normal"}},
                  inputs={"gate": {"dtype": "bf16", "shape": ["heads", "seq_q", 72]},
                          "skip": {"dtype": "f32", "shape": ["batch", "seq_q", "dim"]}},
                  dtype="fp16", layout="bhsd", mask=MASKS["window"], normalize=gated_rows(
                      "acc / l * gate[h, q_idx // 2, d] + skip[b, q_idx, d]"), large=False)
    yield variant("gated_twice", 96, (4, 2), normal_gate, mask=CAUSAL, inputs={
        "gate": {"dtype": "fp16", "shape": ["batch", "seq_q", "heads", 2, 96]}},
                  normalize=gated_rows("exp(2 * gate[b, q_idx, h, 0, d]) * gate[b, q_idx, h, 1, d] "
                                       "* acc / l"))
    yield variant("gated_wide", (128, 512), (2, 2), normal_gate, inputs=gate, normalize=gated_rows(
        "acc / l * sigmoid(gate[b, q_idx, h, d])"))
    yield variant("gated_few", 128, (16, 2), normal_gate, inputs=gate, mask=CAUSAL,
                  workload={"batch": 1, "seq_q": 1, "seq_kv": 16384}, normalize=gated_rows(
                      "acc / l * sigmoid(gate[b, q_idx, h, d])"))
    # Maxima that are saved may not fall behind.
    yield variant("saved_max", 64, (4, 2), normalize=SAVED_MAX, mask=MASKS["window"], dtype="fp16")
    yield variant("saved_max_alibi", 128, (4, 2), {"slopes": {"fill": "slopes"}}, inputs=SLOPES,
                  score=ALIBI, mask=CAUSAL, normalize=SAVED_MAX)
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
    # Batches that share one: rows of a pair representation, windows of a picture.
    yield variant("bias_of_rows", 32, (4, 4), {"bias": {"fill": "normal"}}, 1000,
                  inputs={"bias": {"dtype": "bf16", "shape": [3, "heads", "seq_q", "seq_kv"]}},
                  score="score + bias[b // 2, h, q_idx, kv_idx]")
    yield variant("bias_windows", 32, (4, 4), {"bias": {"fill": "normal"}}, 1000,
                  inputs={"bias": {"dtype": "f32", "shape": ["heads", 64, 64]}},
                  score="score + bias[h, q_idx, kv_idx]",
                  workload={"batch": 4096, "seq_q": 49, "seq_kv": 49})
    yield from position_cases()
    yield variant("keep_of_windows", 64, (4, 2), {"keep": {"fill": "bits"}}, 1000,
                  inputs={"keep": {"dtype": "u8", "shape": [2, "seq_q", "seq_kv"]}},
                  mask="keep[b % 2, q_idx, kv_idx] > 0")
    yield variant("bias_fp16_sigmoid", 64, (4, 2), {"bias": {"fill": "normal"}}, 1000, dtype="fp16",
                  inputs={"bias": {"dtype": "fp16", "shape": ["seq_q", "seq_kv"]}}, large=False,
                  normalize=row_free("sigmoid(score + bias[q_idx, kv_idx])"), mask=CAUSAL)
    yield variant("key_bias", 128, (8, 2), {"key": {"fill": "normal"}}, mask=CAUSAL,
                  inputs={"key": {"dtype": "f32", "shape": ["batch", "seq_kv"]}},
                  score="score + key[b, kv_idx]")
    yield variant("two_maxima", 64, (4, 2), {}, mask=CAUSAL, normalize={
        "rows": {"m": "rowmax(score)", "far": "rowmax(abs(score))", "l": "rowsum(exp(score - m))",
                 "e": "rowsum(score * exp(score - m))"},
        "weight": "exp(score - m)", "output": "acc / l",
        "save": {"far": "far", "mean": "e / l"}})
    yield variant("key_gate", 64, (4, 4), {"key": {"fill": "normal"}}, dtype="fp16", large=False,
                  inputs={"key": {"dtype": "bf16", "shape": ["heads", "seq_kv"]}},
                  normalize=row_free("sigmoid(score * key[h, kv_idx])"))
    gate = {"dtype": "f32", "shape": ["batch", "heads_kv", "seq_q", "seq_kv"]}
    # Strips: what pairs share, of a key and of a distance.
    key = {"key": {"dtype": "bf16", "shape": ["batch", "seq_kv"]}}
    table = {"table": {"dtype": "f32", "shape": [65, "heads"]}}
    yield variant("key_holes", 64, (4, 2), {"key": {"fill": "key_holes", "offset": 1}}, mask=CAUSAL,
                  dtype="fp16", inputs=key, score="score + key[b, kv_idx]")
    yield variant("strips", 128, (8, 2), {"key": {"fill": "normal"}, "table": {"fill": "normal"}},
                  inputs={**key, **table}, layout="bhsd",
                  score="table[clamp(kv_idx - q_pos, -32, 32) + 32, h] - key[b, kv_idx] + score")
    yield variant("strip_window", 256, (4, 4), {"slopes": {"fill": "slopes"}}, inputs=SLOPES,
                  mask=MASKS["window"], score="score - slopes[h] * log(1 + q_pos - kv_idx)")
    yield variant("strip_ids", 96, (4, 2), {"key": {"fill": "normal"},
                                            "doc": {"fill": "documents_anyhow"},
                                            "kind": {"fill": "documents_anyhow"}},
                  inputs={**key, "doc": {"dtype": "i32", "shape": ["batch", "seq_kv"]},
                          "kind": {"dtype": "i32", "shape": ["batch", "heads_kv", "seq_kv"]}},
                  score="score + key[b, kv_idx]",
                  mask="doc[b, q_pos] == doc[b, kv_idx] or kind[b, h_kv, kv_idx] > 20")
    yield variant("bias_gate", (256, 128), (4, 2), {"bias": {"fill": "normal"},
                                                    "slopes": {"fill": "slopes"}}, 1000,
                  inputs={"bias": gate, **SLOPES},
                  score="score * tanh(bias[b, h_kv, q_idx, kv_idx]) + slopes[h] * (kv_idx - q_pos)",
                  mask="kv_idx <= q_pos and q_pos - kv_idx < 300")
    yield variant("row_holes", 64, (4, 2), {"row": {"fill": "holes"}, "key": {"fill": "normal"}},
                  inputs={**key, "row": {"dtype": "f32", "shape": ["batch", "heads", "seq_q"]}},
                  mask=CAUSAL, score="key[b, kv_idx] + 30 * tanh(score / 30) + row[b, h, q_idx]")
    yield variant("token_kinds", 64, (4, 2), {"kind": {"fill": "bits"}, "shift": {"fill": "normal"}},
                  inputs={"kind": {"dtype": "u8", "shape": ["batch", "seq_kv"]},
                          "shift": {"dtype": "f32", "shape": [2]}},
                  score="score + shift[kind[b, kv_idx]]", mask=CAUSAL)
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
    # Searched ends without a softmax: the producer is told of each block.
    yield variant("documents_sigmoid", 64, (4, 2), {"doc": {"fill": "documents"}},
                  inputs={"doc": {"dtype": "i32", "shape": ["batch", "seq_kv"], "sorted": True}},
                  mask=f"doc[b, q_pos] == doc[b, kv_idx] and {CAUSAL}",
                  normalize=row_free("sigmoid(score)"))
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
    yield variant("frames", 128, (4, 4), mask="q_idx % 75 == kv_idx % 75")
    fade = {"fade": {"dtype": "f32", "shape": ["batch", "heads", "seq_kv"]}}
    yield variant("faded", 64, (4, 2), {"fade": {"fill": "broken_gates"}}, layout="bhsd",
                  dtype="fp16", inputs=fade,
                  mask="kv_idx <= q_pos and fade[b, h, q_pos] - fade[b, h, kv_idx] > -5")
    # Sides that are equal in some pairs, if both are rounded alike.
    gated = {"fills": {"gate": {"fill": "normal"}, "slope": {"fill": "normal"}},
             "inputs": {"gate": {"dtype": "f32", "shape": ["batch", "seq_kv"]},
                        "slope": {"dtype": "f32", "shape": ["heads"]}}}
    is_tie = "gate[b, kv_idx] * slope[h] - gate[b, q_pos] * slope[h] >= 0"
    yield variant("tied_products", 64, (4, 2), mask=f"{is_tie} and kv_idx <= q_pos", **gated)
    yield variant("tied_scores", 64, (4, 2), mask=CAUSAL, score=f"score + (5 if {is_tie} else 0)",
                  **gated)
    yield variant("tied_quotients", 64, (4, 2), mask="kv_idx / 3 >= q_pos / 7", dtype="fp16")
    yield variant("within", 128, (4, 4), {"fade": {"fill": "log_gates"}}, inputs=fade,
                  mask="abs(fade[b, h, q_pos] - fade[b, h, kv_idx]) < 4",
                  normalize=row_free("sigmoid(score)"))
    yield variant("kept_rows", 64, (4, 2), {"len": {"fill": "lengths"}}, inputs={
        "len": {"dtype": "i32", "shape": ["batch"]}},
                  mask="kv_idx <= q_idx and q_idx < len[b] and kv_idx < len[b]")
    yield variant("window_by_rows", 128, (4, 2),
                  mask="kv_idx <= q_pos and q_pos - kv_idx < (100 if q_pos < 700 else 400)")
    yield variant("radial", 64, (4, 4), mask=(
        "abs(q_idx % 75 - kv_idx % 75) * exp2(floor(log2(max(abs(q_idx // 75 - kv_idx // 75), 1)))) "
        "<= 75"))
    yield variant("dilated_window", 128, (4, 4), mask=(
        f"kv_idx <= q_pos and q_pos - kv_idx < {3 * WINDOW} and (q_pos - kv_idx) % 3 == 0"))
    yield variant("two_sided_window", 128, (8, 2), mask=f"abs(q_pos - kv_idx) <= {WINDOW}",
                  dtype="fp16")
    yield variant("window_sink_tokens", 256, (4, 2),
                  mask=f"kv_idx <= q_pos and (q_pos - kv_idx < {WINDOW} or kv_idx < 4)")
    yield variant("global_tokens", 64, (8, 4),
                  mask=f"q_idx < {WINDOW} or kv_idx < {WINDOW} or abs(q_idx - kv_idx) < {WINDOW}")
    yield variant("ahead", 128, (4, 2), mask="kv_idx >= q_pos")
    yield variant("prefix_input", 128, (4, 4), {"prefix": {"fill": "lengths"}},
                  inputs={"prefix": {"dtype": "i32", "shape": ["batch"]}},
                  mask="kv_idx <= q_pos or kv_idx < prefix[b]")
    yield variant("key_lengths", 64, (8, 2), {"kv_len": {"fill": "lengths"}},
                  inputs={"kv_len": {"dtype": "i32", "shape": ["batch"]}},
                  mask="kv_idx < kv_len[b]")
    yield variant("bitmask", 128, (4, 4), {"allowed": {"fill": "bits"}}, 1000,
                  inputs={"allowed": {"dtype": "u8", "shape": ["batch", "seq_q", "seq_kv"]}},
                  mask="allowed[b, q_idx, kv_idx] != 0")
    keep = {"keep": {"dtype": "u8", "shape": ["heads_kv", "seq_q", "seq_kv"]}}
    # A byte of 0 keeps a pair, and so stands behind the last key too.
    yield variant("unkept", 64, (8, 2), {"keep": {"fill": "bits"}}, 1000, inputs=keep, dtype="fp16",
                  mask="kv_idx <= q_pos and keep[h_kv, q_idx, kv_idx] != 1")
    yield variant("kept_sigmoid", 128, (4, 4), {"keep": {"fill": "bits"}}, 1000, inputs=keep,
                  mask="kv_idx <= q_pos and keep[h_kv, q_idx, kv_idx] > 0",
                  normalize=row_free("sigmoid(score - 5)"))
    yield variant("kept", 64, (4, 2), {"keep": {"fill": "bits"}}, 1000,
                  inputs={"keep": {"dtype": "u8", "shape": ["heads", "seq_q", "seq_kv"]}},
                  mask="keep[h, q_idx, kv_idx] > 0")
    # A second byte of each pair, which its thread loads.
    yield variant("kept_twice", 64, (4, 2), {name: {"fill": "bits"} for name in ("keep", "also")} | {
        "slopes": {"fill": "slopes"}}, 1000, score=ALIBI, inputs=SLOPES | {
            name: {"dtype": "u8", "shape": ["heads", "seq_q", "seq_kv"]} for name in ("keep", "also")},
                  mask="keep[h, q_idx, kv_idx] != 1 and also[h, q_idx, kv_idx] > 0")
    yield variant("kept_packed", 128, (16, 2), {"keep": {"fill": "bits"}}, 1000,
                  inputs={"keep": {"dtype": "u8", "shape": ["batch", "seq_q", "seq_kv"]}},
                  mask="keep[b, q_idx, kv_idx] > 0",
                  workload={"batch": 4, "seq_q": 8, "seq_kv": 8192})
    yield variant("scaled_d8", 8, (4, 4), scale=1.0, mask=CAUSAL)
    yield from sparse_cases()
    yield from varlen_cases()
    yield from wide_cases()
    yield from maps_cases()
    yield from far_cases()
    yield from scan_cases()
    yield from asked_cases()
    yield from table_cases()


def table_cases():
    """Rows of tables, of which each query has its own: rows that begin anywhere, in tiles that fit
    the numbers that keys are divided by and in others, of several heads, with split keys."""
    def one(name, head_dim, heads, columns, score, dims=("batch", "heads"), element="bf16", **spec):
        rel = {"dtype": element, "shape": [*dims, "seq_q", columns]}
        return variant(f"tables_{name}", head_dim, heads, {"rel": {"fill": "normal"}}, 2048,
                       inputs={"rel": rel}, score=score, **spec)

    shaw = "score + rel[b, h, q_idx, clamp(kv_idx - q_pos, -128, 128) + 128]"
    yield one("causal", 128, (8, 2), 257, shaw, mask=CAUSAL)
    yield one("odd", 64, (4, 4), 33, "score + rel[b, h, q_idx, abs(kv_idx - q_pos) % 33]", dtype="fp16")
    yield one("f32", 96, (4, 2), 40, "score + rel[h, q_idx, kv_idx // 14] * rel[h, q_idx, kv_idx % 14]",
              dims=("heads",), element="f32")
    yield one("sigmoid", 64, (4, 2), 256, "score + rel[b, q_idx, kv_idx // 16]", dims=("batch",),
              normalize=row_free("sigmoid(score - 6)"))
    yield one("wide", (64, 384), (2, 2), 64, "score + rel[b, h, q_idx, kv_idx % 64]")
    case = one("packed", 128, (8, 1), 257, shaw, mask=CAUSAL)
    yield replace(case, schedule={**schedule(1, 64, 2, ping_pong=False), "pack_heads": True})
    case = one("split", 64, (8, 2), 65, "score + rel[b, h, q_idx, kv_idx // 16 + 1]")
    yield replace(case, schedule={**schedule(1, 64, 2, ping_pong=False), "pack_heads": True,
                                  "split_keys": True})
    keep = {"keep": {"dtype": "u8", "shape": ["batch", "heads_kv", "seq_q", 128]}}
    yield variant("tables_kept", 128, (4, 2), {"keep": {"fill": "bits"}}, 2048, inputs=keep,
                  mask=f"{CAUSAL} and keep[b, h_kv, q_idx, kv_idx // 16] != 0")


def asked_cases():
    """`--filter asked_`: masks that a kernel before asks of all pairs, which leave out blocks and
    keep others whole; bytes in memory that begin anywhere."""
    def one(name, head_dim, heads, fill="patches", offset=0, given=None, dims=("batch",),
            dtype="u8", **spec):
        inputs = {"keep": {"dtype": dtype, "shape": [*dims, "seq_q", "seq_kv"]},
                  **spec.pop("inputs", {})}
        fills = {"keep": {"fill": fill, "offset": offset}, **spec.pop("fills", {})}
        case = variant(f"asked_{name}", head_dim, heads, fills, 1000, inputs=inputs,
                       **{"mask": "keep[b, q_idx, kv_idx] > 0", **spec})
        return replace(case, schedule=given)

    yield one("d128", 128, (8, 8))
    yield one("d64", 64, (4, 2), dims=(), offset=1, mask="kv_idx <= q_pos and keep[q_idx, kv_idx] != 0")
    yield one("d256", 256, (8, 2), offset=3)
    yield one("narrow", 64, (4, 4), given=schedule(4, 32, 2, overlap="none"))
    yield one("narrowest", 128, (4, 4), given=schedule(1, 16, 2, ping_pong=False))
    yield one("wide", 128, (8, 2), offset=2, given=schedule(2, 144, 2, overlap="none"))
    yield one("widest", 40, (4, 2), given=schedule(1, 208, 2, weights="shared", ping_pong=False, grid="plain"))
    yield one("shared", 72, (4, 4), given=schedule(2, 96, 2, weights="shared"))
    yield one("turns", 128, (4, 4), given=schedule(2, 80, 2, ping_pong=True, order="longest_first"))
    yield one("heads", 128, (16, 4), dims=("batch", "heads_kv"),
              mask="keep[b, h_kv, q_idx, kv_idx] == 1")
    yield one("packed", 64, (8, 1), given={**schedule(1, 64, 2, ping_pong=False), "pack_heads": True})
    yield one("packed_sections", 64, (8, 2), dims=(), mask="keep[q_idx, kv_idx] > 0",
              given={**schedule(2, 64, 2, order="longest_first"), "pack_heads": True})
    yield one("unkept", 128, (4, 4), fill="bits", mask="keep[b, q_idx, kv_idx] == 0")
    yield one("floats", 128, (4, 4), fill="normal", dtype="bf16", mask="abs(keep[b, q_idx, kv_idx]) < 1")
    yield one("sigmoid", 128, (8, 8), normalize=row_free("sigmoid(score - 5)"))
    yield one("relu", 64, (4, 4), mask="kv_idx <= q_pos and keep[b, q_idx, kv_idx] > 0",
              normalize=row_free("relu(score)", "acc / (q_pos + 1)"))
    yield one("softcap", 128, (8, 2), score="30 * tanh(score / 30)")
    yield one("alibi", 64, (4, 4), fills={"slopes": {"fill": "slopes"}}, inputs=SLOPES, score=ALIBI)
    yield one("bias", 64, (4, 4), fills={"bias": {"fill": "normal"}}, score="score + bias[h, q_idx, kv_idx]",
              inputs={"bias": {"dtype": "bf16", "shape": ["heads", "seq_q", "seq_kv"]}})
    yield one("maps", (64, 128), (4, 4), maps=2, fills={"lambda": {"fill": "lambdas"}}, inputs=LAMBDA,
              normalize=DIFFERENTIAL)
    yield variant("asked_near", 128, (4, 2), {"near": {"fill": "stretches"}}, 1000,
                  inputs={"near": {"dtype": "u8", "shape": [3000]}},
                  mask="near[q_pos - kv_idx + 1000] > 0")


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
    yield one("packed", (64, 128), (8, 2), varlen=True, mask=CAUSAL)


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
    yield one("mean", 64, (4, 2), tall, normalize=row_free("score", "acc / (q_pos + 1)"))
    signed = {"rows": {"l": "max(abs(rowsum(score)), 1)", "s": "rowsum(score)"}, "weight": "score",
              "output": "acc / l", "save": {"sum": "s"}}
    yield one("signed_d128", 128, (4, 2), tall, normalize=signed)
    yield one("signed_d64", 64, (2, 2), schedule(4, 64, 6, overlap="none", ping_pong=False,
                                                 order="longest_first"), normalize=signed)
    yield one("signed_d256v512", (256, 512), (2, 1), wide, normalize=signed)
    yield one("signed_counted", (128, 64), (4, 4), tall, score="score", normalize={
        "rows": {"s": "rowsum(score)", "n": "rowsum(1)"}, "weight": "score",
        "output": "acc / n + s / 1024", "save": {"sum": "s"}})
    yield one("packed", 128, (4, 2), schedule(2, 64, 4, order="longest_first"), varlen=True)
    yield one("packed_linear", 64, (4, 4), tall, varlen=True, normalize=row_free("score"), layout="bhsd")
    yield one("packed_wide", (256, 512), (2, 1), wide, varlen=True)
    keys = {name: {"dtype": "f32", "shape": ["batch", "heads", "seq_kv"]} for name in ("gates", "step")}
    fills = {"gates": {"fill": "log_gates"}, "step": {"fill": "normal"}}
    slow = "exp(0.01 * (gates[b, h, q_pos] - gates[b, h, kv_idx]))"

    def gated(name, head_dim, heads, given, score, **spec):
        inputs = {key: declared for key, declared in keys.items() if key in score}
        case = variant(f"far_gated_{name}", head_dim, heads, {key: fills[key] for key in inputs},
                       large=False, inputs=inputs, score=score,
                       **{"mask": CAUSAL, "normalize": "none", **spec})
        return replace(case, schedule=given)

    yield gated("d128", 128, (4, 4), tall, f"score * {slow} * step[b, h, kv_idx]")
    yield gated("d64", 64, (4, 2), schedule(4, 64, 6, overlap="none", ping_pong=False,
                                            order="longest_first"), f"score * {slow}", layout="bhsd")
    yield gated("fast", (128, 64), (4, 4), tall, "score * exp(gates[b, h, q_pos] - gates[b, h, kv_idx])")
    yield gated("growing", 64, (2, 2), tall, "score * exp(0.01 * gates[b, h, kv_idx]) / 8")
    yield gated("steps", 128, (2, 1), tall, "score * step[b, h, kv_idx]", mask=MASKS["prefix"])
    yield gated("d256v512", (256, 512), (2, 1), wide, f"score * {slow} * step[b, h, kv_idx]")
    yield gated("signed", 128, (4, 4), tall, f"score * {slow} * step[b, h, kv_idx]", normalize=signed)
    packed = {name: {"dtype": "f32", "shape": ["heads", "seq_kv"]} for name in ("gates", "step")}
    case = variant("far_gated_packed", 128, (4, 4), fills, varlen=True, inputs=packed, mask=CAUSAL,
                   score="score * exp(0.01 * (gates[h, q_pos] - gates[h, kv_idx])) * step[h, kv_idx]",
                   normalize=signed, large=False)
    yield replace(case, schedule=schedule(2, 64, 4, order="longest_first"))
    yield gated("full", 128, (4, 2), schedule(3, 64, 4), f"score * {slow} * step[b, h, kv_idx]", mask=None,
                normalize=row_free("score", "acc / seq_kv"))


def scan_cases():
    """`--filter scan_`: calls with heads enough for the cores, which go along them; shorter ones and
    those of other lengths go by tiles.
    """
    decay = {"log_decay": {"dtype": "f32", "shape": ["heads"]}}
    keys = {name: {"dtype": "f32", "shape": ["batch", "heads", "seq_kv"]} for name in ("gates", "step")}
    fills = {"gates": {"fill": "log_gates"}, "step": {"fill": "normal"}, "log_decay": {"fill": "log_decay"}}
    fading = "score * exp(log_decay[h] * (q_pos - kv_idx))"
    slow = "score * exp(0.01 * (gates[b, h, q_pos] - gates[b, h, kv_idx]))"
    stepped = f"{slow} * step[b, h, kv_idx]"
    signed = {"rows": {"l": "max(abs(rowsum(score)), 1)", "s": "rowsum(score)"}, "weight": "score",
              "output": "acc / l", "save": {"sum": "s"}}

    def one(name, head_dim, heads, score, **spec):
        inputs = {key: declared for key, declared in {**decay, **keys}.items() if key in score}
        case = variant(f"scan_{name}", head_dim, heads, {key: fills[key] for key in inputs}, large=False,
                       inputs=inputs, score=score, **{"mask": CAUSAL, "normalize": "none", **spec})
        qk = head_dim if isinstance(head_dim, int) else head_dim[0]
        given = schedule(2, 64, 2 if qk > 128 else 4, order="longest_first")
        return replace(case, schedule={**given, "scan": True})

    yield one("d64", 64, (64, 8), fading)
    yield one("d128", 128, (40, 40), fading, layout="bhsd")
    yield one("d128v64", (128, 64), (64, 64), fading, normalize=row_free("score", "acc / (q_pos + 1)"))
    yield one("d192v128", (192, 128), (36, 4), fading)
    yield one("d256", 256, (32, 32), fading)
    yield one("gated_d64", 64, (64, 64), stepped, layout="bhsd")
    yield one("gated_d128", 128, (40, 8), stepped)
    yield one("gated_d256v64", (256, 64), (64, 64), slow)
    yield one("fast", (128, 64), (64, 64), "score * exp(gates[b, h, q_pos] - gates[b, h, kv_idx])")
    yield one("falling", 64, (64, 64), "score * exp(0.01 * log_decay[h] * (kv_idx - 1000))")
    yield one("growing", 64, (64, 64), "score * exp(0.01 * gates[b, h, kv_idx]) / 8")
    yield one("signed_d64", 64, (64, 64), fading, normalize=signed)
    yield one("signed_gated_d128", 128, (40, 40), stepped, normalize=signed)
    yield one("counted", (64, 128), (48, 48), "score * step[b, h, kv_idx]", normalize={
        "rows": {"s": "rowsum(score)", "n": "rowsum(1)"}, "weight": "score",
        "output": "acc / n + s / 1024", "save": {"sum": "s"}})


def wide_cases():
    """`--filter wide_`: values wider than one accumulator, in two parts."""
    yield variant("wide_d512", 512, (2, 1))
    yield variant("wide_d512_causal", 512, (2, 2), mask=CAUSAL, dtype="fp16", layout="bhsd")
    yield variant("wide_d64v264", (64, 264), (4, 2), mask=CAUSAL)
    yield variant("wide_d384v320", (384, 320), (2, 2), mask=MASKS["window"])
    yield variant("wide_varlen", (128, 512), (4, 2), varlen=True, mask=CAUSAL)
    yield variant("wide_sparse", (128, 512), (4, 2), blocks={"size": 128, "from": "indices"})


def position_cases():
    """`--filter positions_`: rows that begin anywhere, and are clamped at their ends."""
    def one(name, head_dim, heads, given, place, offset=0, **spec):
        return variant(f"positions_{name}", head_dim, heads,
                       {"bd": {"fill": "normal", "offset": offset}}, 1000,
                       inputs={"bd": dict(zip(("dtype", "shape"), given))},
                       score=f"score + bd[{place}]", **spec)

    yield one("both_ends", 64, (4, 4), ("bf16", ["batch", "heads", "seq_q", 700]),
              "b, h, q_idx, kv_idx - q_idx + 350")
    yield one("odd_columns", 128, (4, 2), ("bf16", ["heads", "seq_q", 1999]),
              "h, q_idx, kv_idx - q_idx + 999", offset=1)
    yield one("fp32", 128, (4, 2), ("f32", ["batch", "heads", "seq_q", 1200]),
              "b, h, q_idx, kv_idx - q_idx + 600")
    yield one("causal", 64, (4, 4), ("bf16", ["batch", "heads", "seq_q", "seq_kv"]),
              "b, h, q_idx, kv_idx - q_pos + seq_kv - 1", mask=CAUSAL, layout="bhsd")
    yield one("fp16_sigmoid", 64, (4, 2), ("fp16", ["seq_q", "seq_q"]),
              "q_idx, kv_idx - q_idx + seq_q - 1", dtype="fp16", large=False, mask=MASKS["window"],
              normalize=row_free("sigmoid(score)"))
