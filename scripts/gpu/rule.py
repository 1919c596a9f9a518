"""The FlashAttention rule: an output may err by twice what the same mathematics done naively in the
storage type errs, plus a small absolute term. numpy alone.
"""

import math
import re
from dataclasses import dataclass

import numpy as np

# The special function unit flushes what is below 2^-126, the least normal number: here a thousand
# of a sum's weights.
UNDERFLOW = 2.0**-116
# Of lg2.approx around 1, where a logarithm is next to 0 (PTX ISA: 2^-22 of an exponent of two).
LOG_ERROR = 2.0**-22 * math.log(2)
# Half a unit in the last place at 1: the error of rounding once.
ROUNDOFF = {"bf16": 2.0**-8, "fp16": 2.0**-11, "f32": 2.0**-24}
# fp32 saves: sums of head_dim products and the special functions' errors, relative to the largest.
SAVE_ROUNDOFF = 1e-5
# Of what saves err whose scores are rounded to the storage type, by 2^-9 or 2^-12: kernels keep
# scores in fp32. That is 2^-13 or 2^-16, 2^8 or more roundoffs, for the sum of a score's products
# and the functions that it goes through. The largest seen is a hundredth (emulated; on a GPU, with
# the roundoff, a fiftieth).
SAVE_SHARE = 1 / 16
# What a kernel rounds one after the other: its weights, its result. Naive weights may err nothing:
# that of a row's only pair, divided by itself, is 1.
ROUNDINGS = 2
# Of a tanh in an fp16 kernel, of 1; so a soft cap errs that much of its cap (docs/spec.md section 4).
TANH_ERROR = 2.0**-22
# How far a bf16 soft cap may be from its tanh (docs/spec.md section 4): 2^-8 of an exponent of two.
CAP_EXPONENT = 2.0**-8 * math.log(2)


@dataclass
class Verdict:
    """`error` and `allowed` are in the output's unit; `where` is the index of the worst element."""

    output: str
    error: float
    allowed: float
    where: tuple

    @property
    def ok(self):
        return bool(self.error <= self.allowed)  # false for NaN

    @property
    def ratio(self):
        """Of the error to what is allowed; 0 / 0 is 0."""
        if self.error == 0:
            return 0.0
        return float(self.error / self.allowed) if self.allowed > 0 else float("inf")


def difference(got, exact):
    """|got - exact|, equal infinities counting as no difference and NaN as an infinite one."""
    got, exact = np.asarray(got, np.float64), np.asarray(exact, np.float64)
    with np.errstate(invalid="ignore"):
        error = np.abs(got - exact)
    error = np.where(got == exact, 0.0, error)
    return np.where(np.isnan(error), np.inf, error)


def finite_max(values):
    values = values[np.isfinite(values)]
    return float(values.max()) if values.size else 0.0


def hold_largest(output, got, exact, naive, roundoff, share=2, roundings=ROUNDINGS):
    """The rule itself, over all elements at once; so many roundings are allowed in any case."""
    error = difference(got, exact)
    if error.size == 0:
        return Verdict(output, 0.0, 0.0, ())
    # Where the naive computation overflows it gives no yardstick.
    size = roundoff * finite_max(np.abs(exact))
    allowed = max(share * finite_max(difference(naive, exact)) + size, roundings * size)
    where = np.unravel_index(int(error.argmax()), error.shape)
    return Verdict(output, float(error.max()), allowed, tuple(int(i) for i in where))


def hold_by_magnitude(output, got, exact, naive, roundoff, sizes=None):
    """The same in the mean square, for rows [rows, n] of like magnitude: late rows of a causal
    mask are small, and a key left out there hides below the first rows' rounding errors. Rows of
    zeros must be zero. The worst verdict of all groups. A kernel rounds twice, its weights and its
    result; naive weights may cancel against their own sum (one key, divided by its absolute score),
    so that this rule allows both roundings beside the naive error: rounding one weight of 1 + 2^-8
    may take 2^-8 of a whole row, and rounding that row about as much again. `sizes`: of what is
    rounded, where it is not the result itself, but terms that may cancel.
    """
    exact = np.asarray(exact, np.float64)
    sizes = np.abs(exact) if sizes is None else sizes
    error, naive_error = difference(got, exact), difference(naive, exact)
    naive_error = np.where(np.isfinite(naive_error), naive_error, 0.0)
    size = np.sqrt(np.mean(np.square(exact), axis=1))
    group = np.where(size > 0, np.floor(np.log2(np.maximum(size, 1e-300))), -np.inf)
    worst = Verdict(output, 0.0, 0.0, ())
    for one in np.unique(group):
        rows = np.flatnonzero(group == one)
        root = [float(np.sqrt(np.mean(np.square(x[rows])))) for x in (error, naive_error, sizes)]
        row = int(rows[error[rows].max(axis=1).argmax()])
        allowed = 2 * root[1] + ROUNDINGS * roundoff * root[2] + UNDERFLOW
        verdict = Verdict(output, root[0], allowed, (row,))
        if not verdict.ratio <= worst.ratio:
            worst = verdict
    return worst


def hold_output(got, exact, naive, dtype, sizes=None):
    """Both verdicts on O, rows [rows, head_dim]."""
    roundoff = ROUNDOFF[dtype]
    return [hold_largest("o", got, exact, naive, roundoff),
            hold_by_magnitude("o in the mean", got, exact, naive, roundoff, sizes)]


def hold_save(name, got, exact, naive, spec):
    verdict = hold_largest(name, got, exact, naive, SAVE_ROUNDOFF, SAVE_SHARE, roundings=0)
    normalize = spec.get("normalize", "softmax")
    if normalize == "softmax" or "log" in str(normalize):
        verdict.allowed += LOG_ERROR
    if "tanh(" not in f"{spec.get('score')} {normalize}":
        return verdict
    if spec["dtype"] == "bf16":
        # The hardware's tanh errs by a quarter of what a bf16's rounding does, all pairs alike.
        verdict = hold_largest(name, got, exact, naive, SAVE_ROUNDOFF, roundings=0)
        verdict.allowed += CAP_EXPONENT
    else:
        verdict.allowed += TANH_ERROR * largest_cap(spec)
    return verdict


def largest_cap(spec):
    """Of the numbers and constants that some tanh of the score is multiplied by; at least 1."""
    factors = re.findall(r"([\w.]+) \* tanh\(", str(spec.get("score")))
    numbers = {**spec.get("constants", {}), **{f: float(f) for f in factors if f[0].isdigit()}}
    return max([1.0, *(numbers[f] for f in factors if f in numbers)])
