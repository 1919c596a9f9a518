"""Random valid specs and their data; what a family's kernels are drawn with beside is the family's
(random_mi250.py, random_hopper.py). Pure functions of the seed.
"""

import random
from dataclasses import dataclass, field

HEADS = [(1, 1), (2, 2), (4, 1), (4, 2), (6, 2), (6, 1), (8, 2), (3, 3)]
COMMON_DIMS = [40, 64, 80, 96, 128, 192, 256]
# How weights follow from scores: relative to the row's greatest; at most 1, but as small as scores make
# them; growing with them.
RELATIVE, LOGISTIC, GROWING = "relative", "logistic", "growing"


@dataclass
class Draft:
    """A spec as it grows: expressions, and the inputs they name."""

    random: random.Random
    score: str = "score"
    inputs: dict = field(default_factory=dict)
    fills: dict = field(default_factory=dict)

    def add_input(self, shape, fill, dtypes=("f32",), **rest):
        """The name of a new input. `fill`: a kind of data, or a number."""
        name = f"in{len(self.inputs)}"
        self.inputs[name] = {"dtype": self.random.choice(dtypes), "shape": list(shape), **rest}
        self.fills[name] = {"fill": fill} if isinstance(fill, str) else {"value": fill}
        return name

    def number(self, low, high):
        return round(self.random.uniform(low, high), 3)


# Scores: each takes the draft's score one step further.
FLOATS = ("f32", "bf16", "fp16")


def soft_cap(d):
    cap = d.number(2, 40)
    if d.random.random() < 0.5:
        cap = d.add_input([], cap)
    return f"{cap} * tanh(({d.score}) / {cap})"


def distance_slope(d):
    slopes = d.add_input(["heads"], "slopes", FLOATS)
    far = d.random.choice(["abs(kv_idx - q_pos)", "min(abs(q_pos - kv_idx), 50)"])
    return f"{d.score} - {slopes}[h] * {far}"


def log_distance(d):
    slopes = d.add_input(["heads"], "slopes")
    return f"{d.score} - {slopes}[h] * log(1 + abs(q_pos - kv_idx))"


def bias(d):
    indices = {"batch": "b", "heads": "h", "heads_kv": "h_kv", "seq_q": "q_idx", "seq_kv": "kv_idx"}
    dims = d.random.choice([["seq_kv"], ["heads", "seq_kv"], ["batch", "seq_kv"], ["seq_q"],
                            ["batch", "heads", "seq_q"], ["heads_kv", "seq_q", "seq_kv"],
                            ["seq_q", "seq_kv"], ["batch", "seq_q", "seq_kv"],
                            ["heads", "seq_q", "seq_kv"]])
    name = d.add_input(dims, "normal", FLOATS)
    return f"{d.score} + {name}[{', '.join(indices[dim] for dim in dims)}]"


def table(d):
    reach = d.random.choice([8, 31, 100])
    name = d.add_input(["heads", 2 * reach + 1], "normal", FLOATS)
    return f"{d.score} + {name}[h, clamp(q_pos - kv_idx, -{reach}, {reach}) + {reach}]"


def own_row(d):
    """A short row for each query, of which keys pick elements."""
    columns, n = d.random.choice([8, 33, 64, 200]), d.random.choice([3, 8, 14, 16, 64])
    dims, index = d.random.choice([(["batch", "heads", "seq_q"], "b, h, q_idx"),
                                   (["heads_kv", "seq_q"], "h_kv, q_idx"), (["seq_q"], "q_idx")])
    name = d.add_input([*dims, columns], "normal", FLOATS)
    reach = (columns - 1) // 2
    picked = d.random.choice([f"kv_idx % {n}", f"kv_idx // {n}", f"abs(q_pos - kv_idx) % {n}",
                              f"clamp(kv_idx - q_pos, -{reach}, {reach}) + {reach}",
                              "int(log2(1.3 + abs(q_pos - kv_idx)) * 1.7)"])
    return f"{d.score} + {name}[{index}, {picked}]"


def temperature(d):
    return f"({d.score}) * {d.add_input(['heads'], 'slopes')}[h]"


def decay(d):
    rate = d.add_input(["heads"], "log_decay")
    return f"({d.score}) * exp({rate}[h] * abs(q_pos - kv_idx))"


def wave(d):
    return f"{d.score} + {d.number(0.1, 1)} * {d.random.choice(['sin', 'cos'])}" \
           f"({d.number(0.01, 0.5)} * (q_pos - kv_idx))"


def by_index(d):
    n = d.random.randint(2, 5)
    what = d.random.choice([f"(kv_idx + h) % {n} != 0", f"q_idx % {n} == 0", f"kv_idx // {n} > q_pos",
                            "h_kv == 0", "kv_idx + 7 < seq_kv", "b == 0 or h > 0"])
    return f"({d.score}) * {d.number(0.2, 0.9)} if {what} else {d.score}"


def bend(d):
    form = d.random.choice(["where(({0}) > 0, {0}, 0.125 * ({0}))", "clamp({0}, -2, 3)",
                            "gelu({0})", "silu({0})", "2 * erf({0})",
                            "3 * sigmoid({0})", "abs({0})", "max({0}, -1)",
                            "0.5 * ({0}) + 0.25 * relu({0})",
                            "({0}) * (2 if ({0}) > 0 else 1)"])
    return form.format(d.score)


def steps_for(normaliser, dtype):
    """What a score may go through. Known limits (docs/cdna2.md): small fp16 weights are zero but for
    plain softmax; soft caps are exact to 2^-22 of the cap, not of the score; differences of powers
    are exact to about 2^-22 of the powers (docs/spec.md), so that softpick's scores must not be tiny.
    """
    kind = NORMALISERS[normaliser]
    if normaliser == softpick:
        return [by_index, bend]
    if kind == GROWING:
        return [by_index, bend, temperature, decay]
    if kind == LOGISTIC and dtype == "fp16":
        return [by_index, bend, soft_cap, wave]
    return [by_index, bend, soft_cap, wave, bias, table, own_row, temperature, decay,
            distance_slope, log_distance]


# Masks: conditions on a pair.
def stretch(d):
    n = d.random.choice([1, 5, 31, 32, 64, 100])
    return d.random.choice(["kv_idx <= q_pos", "kv_idx <= q_pos", "kv_idx >= q_pos",
                            f"q_pos - kv_idx < {n}", f"abs(q_pos - kv_idx) <= {n}",
                            f"kv_idx < {n}", f"kv_idx + {n} >= seq_kv", f"q_idx >= {n}",
                            f"kv_idx <= q_idx + {n}", "2 * kv_idx <= q_pos + 40"])


def pattern(d):
    n = d.random.choice([2, 3, 16, 32])
    return d.random.choice([f"(q_pos - kv_idx) % {n} == 0", f"q_pos // {n} == kv_idx // {n}",
                            f"(q_pos // {n} - kv_idx // {n}) % 2 == 0", f"kv_idx % {n} != 1",
                            f"h % 2 == 0 or kv_idx < {10 * n}", f"(kv_idx + h) % {n} == 0 or b == 0"])


def lengths(d):
    dims, index = d.random.choice([(["batch"], "b"), (["heads"], "h"), (["batch", "heads"], "b, h")])
    name = d.add_input(dims, "lengths", ("i32",))
    return d.random.choice([f"kv_idx < {name}[{index}]", f"kv_idx >= {name}[{index}]",
                            f"q_pos - kv_idx < {name}[{index}]"])


def frames(d):
    """Of a size that the call brings, beside multiples of keys by a number."""
    size = d.add_input(["heads"], d.random.choice([-3, 0, 1, 7, 32, 100]), ("i32",)) + "[h]"
    n = d.random.choice([2, 3, 16])
    return d.random.choice([f"kv_idx // {size} <= q_pos // {size}",
                            f"q_pos // {size} - kv_idx // {size} < 3",
                            f"kv_idx >= q_pos - q_pos % {size}",
                            f"kv_idx < (q_idx // {size} + 1) * {size}",
                            f"kv_idx * {size} <= q_pos", f"{n} * kv_idx + {size} <= q_pos * {n}"])


def documents(d):
    rest = {"sorted": True} if d.random.random() < 0.5 else {}
    name = d.add_input(["batch", "seq_kv"], "documents", ("i32",), **rest)
    return f"{name}[b, q_pos] {d.random.choice(['==', '==', '>=', '!='])} {name}[b, kv_idx]"


def bits(d):
    dims, index = d.random.choice([(["batch", "seq_kv"], "b, kv_idx"),
                                   (["batch", "seq_q", "seq_kv"], "b, q_idx, kv_idx"),
                                   (["heads_kv", "seq_q"], "h_kv, q_idx"),
                                   (["heads_kv", "seq_q", 24], "h_kv, q_idx, kv_idx // 8")])
    return f"{d.add_input(dims, 'bits', ('u8',))}[{index}] != 0"


def rows(d):
    """Of rows by themselves, and choices by them."""
    n, m = d.random.choice([1, 20, 64, 90]), d.random.randint(1, 150)
    limit = d.random.choice([str(m), f"{d.add_input(['batch'], 'lengths', ('i32',))}[b]"])
    return d.random.choice([f"q_idx < {limit}", f"q_idx >= {limit} or kv_idx < {n}",
                            f"q_pos - kv_idx < ({n} if q_idx < {limit} else {2 * n})",
                            f"kv_idx // 16 <= (q_idx // 8 if q_pos < {limit} else q_idx // 16)"])


def products(d):
    n, m = d.random.choice([7, 16, 50]), d.random.randint(0, 60)
    near = f"abs(q_idx % {n} - kv_idx % {n})"
    return d.random.choice([f"{near} * abs(q_idx // {n} - kv_idx // {n}) <= {m}",
                            f"{near} * 0.5 * max(abs(q_pos - kv_idx), 1) > {m}",
                            f"kv_idx * q_idx <= {m * m}"])


def ties(d):
    """Numbers of a key and of a query that are equal in some pairs, if both are rounded alike."""
    n, m, factor = d.random.randint(3, 130), d.random.randint(3, 130), d.number(0.1, 3)
    if d.random.random() < 0.5:
        return d.random.choice([f"kv_idx / {n} <= q_pos / {n}", f"kv_idx / {n} >= q_pos / {m}",
                                f"kv_idx * {factor} - q_pos * {factor} <= 0"])
    gate, slope = d.add_input(["batch", "seq_kv"], "normal"), d.add_input(["heads"], "normal")
    return f"{gate}[b, kv_idx] * {slope}[h] - {gate}[b, q_pos] * {slope}[h] >= 0"


MASKS = [stretch, stretch, stretch, pattern, lengths, frames, documents, bits, ties, rows, products]


def keeps_a_pair(mask):
    """Whether it does in the first head of some call; attngen refuses a mask that never does."""
    code = compile(mask, "mask", "eval")
    seq_q, seq_kv = 110, 170
    return any(eval(code, {"b": 0, "h": 0, "q_idx": q, "q_pos": q + seq_kv - seq_q, "kv_idx": kv,
                           "seq_kv": seq_kv})
               for q in range(seq_q) for kv in range(seq_kv))


def draw_mask(d):
    while True:
        inputs, fills = dict(d.inputs), dict(d.fills)
        mask, known = "", ""  # known: with the best of what inputs say
        for _ in range(d.random.choice([0, 1, 1, 1, 2, 2, 3])):
            part = d.random.choice(MASKS)(d)
            part = f"not ({part})" if d.random.random() < 0.1 else f"({part})"
            part_known = "True" if "[" in part else part
            word = d.random.choice(["and", "and", "or"])
            mask = f"({mask} {word} {part})" if mask else part
            known = f"({known} {word} {part_known})" if known else part_known
        if not mask or keeps_a_pair(known):
            return mask
        d.inputs, d.fills = inputs, fills


# Normalisers: the `normalize` of the spec.
def softmax_by_hand(d, floor, extra):
    """With a logit `floor` that takes part in the maximum, and `extra` in the sum."""
    lse = {"save": {"lse": "m + log(l)"}} if d.random.random() < 0.5 else {}
    return {"rows": {"m": floor, "l": f"rowsum(exp(score - m)){extra}"}, "weight": "exp(score - m)",
            "output": "acc / l", **lse}


def sinks(d):
    sink = f"{d.add_input(['heads'], 'normal', FLOATS)}[h]"
    return softmax_by_hand(d, f"max(rowmax(score), {sink})", f" + exp({sink} - m)")


def plus_one(d):
    return softmax_by_hand(d, "max(rowmax(score), 0)", " + exp(-m)")


def scaled_output(d):
    gain = d.add_input(["batch", "heads"], "normal")
    return {**softmax_by_hand(d, "rowmax(score)", ""), "output": f"acc / l * {gain}[b, h]"}


def base_two(d):
    return {"rows": {"m": "rowmax(score)", "l": "rowsum(exp2(score - m))"},
            "weight": "exp2(score - m)", "output": "acc / l", "save": {"l": "l", "m": "m"}}


def sigmoid(d):
    return {"weight": f"sigmoid(score - {d.number(0, 4)})"}


def counted(d):
    """Of weights that grow: the mean, so that the output stays in range."""
    weight = d.random.choice(["relu(score)", "square(relu(score))", "score", "square(score)"])
    return {"weight": weight, "output": f"acc / {d.random.choice(['seq_kv', '(kv_idx_count + 1)'])}"
            .replace("kv_idx_count", "max(q_pos, 0)")}


def absolute_sum(d):
    rows = d.random.choice(["max(rowsum(abs(score)), 1)", "1 + rowsum(abs(score))"])
    return {"rows": {"l": rows}, "weight": "score", "output": "acc / l", "save": {"norm": "l"}}


def signed_sum(d):
    rows = d.random.choice(["max(abs(rowsum(score)), 1)", "2 + square(rowsum(score))"])
    return {"rows": {"l": rows}, "weight": "score", "output": "acc / l"}


def unit_length(d):
    return {"rows": {"m": "rowmax(abs(score))", "l": "rowsum(square(score))"}, "weight": "score",
            "output": "acc * rsqrt(l + 1)", "save": {"length": "sqrt(l)", "largest": "m"}}


def softpick(d):
    return {"rows": {"m": "rowmax(score)", "l": "rowsum(abs(exp(score - m) - exp(-m)))"},
            "weight": "relu(exp(score - m) - exp(-m))", "output": "acc / (l + 1e-6)"}


NORMALISERS = {"softmax": RELATIVE, sinks: LOGISTIC, plus_one: LOGISTIC, base_two: RELATIVE,
               scaled_output: RELATIVE, sigmoid: LOGISTIC, softpick: GROWING, counted: GROWING,
               absolute_sum: GROWING, unit_length: GROWING}


def with_columns(d, normalize):
    """The same with an output that differs by column."""
    factor = d.random.choice(["{}", "sigmoid({})", "(1 + {})", "(1 if d < 20 else 0.5)"])
    if "{}" in factor:
        shape, at = d.random.choice([(["heads", "seq_q", "dim"], "h, q_idx, d"), (["dim"], "d"),
                                     (["batch", "heads", 2, "dim"], "b, h, 1, d")])
        factor = factor.format(f"{d.add_input(shape, 'normal', FLOATS)}[{at}]")
    if normalize == "softmax":
        return {"output": f"acc / l * {factor}"}
    return {**normalize, "output": f"({normalize.get('output', 'acc')}) * {factor}"}


def draw_dim(d, largest=256):
    return d.random.choice(COMMON_DIMS) if d.random.random() < 0.6 else \
        8 * d.random.randint(1, largest // 8)


def draw_meaning(d):
    """What the spec says of a pair and of a row, and the kind of its weights."""
    normaliser = d.random.choice([*NORMALISERS, "softmax", "softmax"])
    kind = NORMALISERS[normaliser]
    dtype = "bf16" if kind == GROWING else d.random.choice(["bf16", "fp16", "fp16"])
    normalize = normaliser if isinstance(normaliser, str) else normaliser(d)
    if d.random.random() < 0.15:
        normalize = with_columns(d, normalize)
    for _ in range(d.random.choice([0, 0, 1, 1, 2, 3])):
        d.score = d.random.choice(steps_for(normaliser, dtype))(d)
    mask = draw_mask(d)
    meaning = {"dtype": dtype, "score": d.score, "normalize": normalize, "inputs": d.inputs}
    if mask:
        meaning["mask"] = mask
    return meaning, kind


@dataclass(frozen=True)
class Drawn:
    spec: dict
    fills: dict
    schedule: dict  # or None
    shapes: list
