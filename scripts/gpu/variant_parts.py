"""What the specs of variants are put together of."""

from gpu.case import Case, make_spec

ALIBI = "score + slopes[h] * (kv_idx - q_pos)"
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
SAVED_MAX = {
    "rows": {"m": "rowmax(score)", "l": "rowsum(exp(score - m))"},
    "weight": "exp(score - m)",
    "output": "acc / l",
    "save": {"m": "m", "lse": "m + log(l)"},
}
# Of two maps.
LAMBDA = {"lambda": {"dtype": "f32", "shape": ["heads"]}}
DIFFERENTIAL = {
    "rows": {"m": "rowmax(score)", "l": "rowsum(exp(score - m))"},
    "weight": "exp(score - m)",
    "output": "acc / l * (1 if map == 0 else -lambda[h])",
    "save": {"lse": "m + log(l)"},
}


def gated_rows(output):
    return {**SAVED_MAX, "output": output, "save": {"lse": "m + log(l)"}}


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
