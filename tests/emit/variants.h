// Specs that between them use every hook of the templates.
#pragma once

namespace attngen::emit {

struct Variant {
  const char* name;
  const char* lines;
};

inline const Variant kVariants[] = {
    {"full", ""},
    {"llama", "mask: kv_idx <= q_pos\n"},
    {"gemma",
     "inputs: {cap: {dtype: f32, shape: []}}\nconstants: {window: 4096}\n"
     "score: cap * tanh(score / cap)\nmask: kv_idx <= q_pos and q_pos - kv_idx < window\n"},
    {"gpt_oss",
     "inputs: {sink: {dtype: f32, shape: [heads]}}\n"
     "mask: kv_idx <= q_pos and q_pos - kv_idx < 128\n"
     "normalize:\n  rows:\n    m: max(rowmax(score), sink[h])\n"
     "    l: rowsum(exp(score - m)) + exp(sink[h] - m)\n"
     "  weight: exp(score - m)\n  output: acc / l\n  save: {lse: m + log(l)}\n"},
    {"mpt",
     "inputs: {slopes: {dtype: f32, shape: [heads]}}\n"
     "score: score + slopes[h] * (kv_idx - q_pos)\nmask: kv_idx <= q_pos\n"},
    {"documents",
     "inputs: {doc: {dtype: i32, shape: [batch, seq_kv], sorted: true}}\n"
     "mask: doc[b, kv_idx] == doc[b, q_pos] and kv_idx <= q_pos\n"},
    {"bias",
     "inputs:\n  bias: {dtype: bf16, shape: [batch, heads, seq_q, seq_kv]}\n"
     "  half_bias: {dtype: fp16, shape: [64]}\n  keep: {dtype: u8, shape: [batch, 2, seq_kv]}\n"
     "score: score + bias[b, h, q_idx, kv_idx] + half_bias[h - 3] + bias[b // 2, 0, 0, 0]\n"
     "mask: keep[b, 1, kv_idx] != 0\n"},
    {"sigmoid", "normalize:\n  weight: sigmoid(score)\n  output: acc\nmask: kv_idx <= q_pos\n"},
    {"softpick",
     "mask: kv_idx <= q_pos\nnormalize:\n  rows:\n    m: rowmax(score)\n"
     "    l: rowsum(abs(exp(score - m) - exp(-m))) + 1e-6\n"
     "  weight: relu(exp(score - m) - exp(-m))\n  output: acc / l\n"},
    {"retention",
     "inputs: {decay: {dtype: f32, shape: [heads]}}\n"
     "score: score * exp(decay[h] * (q_pos - kv_idx))\nmask: kv_idx <= q_pos\n"
     "normalize:\n  rows:\n    l: max(rowsum(abs(score)), 1)\n  weight: score\n"
     "  output: acc / l\n  save: {norm: l}\n"},
    {"general",
     "mask: (kv_idx + q_pos) % 2 == 0\nnormalize:\n  rows:\n    m: rowmax(abs(score))\n"
     "    l: rowsum(exp(score - m))\n  weight: exp(score - m)\n  output: tanh(acc / l)\n"
     "  save: {ratio: l / l}\n"},
    {"first_keys",
     "inputs: {prefix: {dtype: i32, shape: [batch]}}\n"
     "mask: kv_idx <= q_pos and (kv_idx < prefix[b] or q_pos - kv_idx < 8)\n"},
    {"ids",
     "inputs:\n  mine: {dtype: i32, shape: [batch, seq_q]}\n"
     "  theirs: {dtype: i32, shape: [batch, heads, seq_kv]}\n"
     "  kind: {dtype: u8, shape: [batch, heads_kv, seq_kv]}\n"
     "mask: mine[b, q_idx] == theirs[b, h, kv_idx] and kind[b, h_kv, kv_idx] > 0\n"},
    {"maps",
     "maps: 2\ninputs: {shift: {dtype: f32, shape: [2, heads]}}\n"
     "score: score * (1 + map) - shift[map, h]\nmask: kv_idx <= q_pos\nnormalize:\n  rows:\n"
     "    m: max(rowmax(score), map)\n    l: rowsum(exp(score - m)) + map\n"
     "  weight: exp(score - m)\n  output: shift[map, h] * acc / l * (2 - map)\n"
     "  save: {lse: m + log(l), total: l + map}\n"},
    {"slanted",
     "inputs: {slopes: {dtype: f32, shape: [heads]}}\n"
     "mask: 0.75 * kv_idx <= q_pos + 3 * slopes[h]\n"},
    {"faded",
     "inputs:\n  fade: {dtype: f32, shape: [batch, heads, seq_kv]}\n"
     "mask: kv_idx <= q_pos and abs(fade[b, h, q_pos] - 2 * fade[b, h, kv_idx]) < 1.5\n"},
    {"mean", "mask: kv_idx <= q_pos\nnormalize: {weight: 1, output: acc / (q_pos + 1)}\n"},
    // What a condition guards, and reads itself again and again.
    {"nested",
     "inputs:\n  doc: {dtype: i32, shape: [batch, seq_kv], sorted: true}\n"
     "  key: {dtype: f32, shape: [batch, seq_kv]}\n"
     "score: score if kv_idx == q_idx else silu(silu(silu(silu(score + key[b, kv_idx]))))\n"
     "mask: kv_idx == 0 or "
     "abs(abs(abs(abs(abs(doc[b, kv_idx] - q_idx) - 5) - 4) - 3) - 2) < 2\n"},
    // Names that emitted code has as well: of parameters, of members and of a type.
    {"names",
     "inputs: {int4: {dtype: i32, shape: [batch, seq_kv]}}\n"
     "mask: kv_idx <= q_pos and int4[b, q_pos] == int4[b, kv_idx]\n"
     "normalize:\n  rows:\n    q_last: rowmax(score)\n"
     "    q_first: rowsum(exp(score - q_last))\n    kv_first: q_first + 1\n"
     "    kv_last: kv_first + 2\n    empty: kv_last + 3\n    empty_: empty + 4\n"
     "    output_scale: empty_ + 5\n    output_scale_: output_scale + 6\n"
     "  weight: exp(score - q_last)\n  output: acc / q_first\n"
     "  save: {ratio: q_first / q_first, last: output_scale_, empty_: empty_}\n"},
};

}  // namespace attngen::emit
