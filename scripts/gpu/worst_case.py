"""Inputs that defeat the fixed maximum, and how often they do, by arithmetic on the host.

A kernel with the fixed maximum keeps a row's first maximum in full blocks, and computes a block
twice if the weights of a thread reach 2^15: a score exceeds the maximum in use by more than 10.4.
One column of the head dim carries a profile along the keys, which grows in the order in which blocks
are visited: from the first key on under a causal mask (`ascending`), else from the last.
"""

import numpy as np

LIMIT = 2.0 ** 15
MARGIN = float(np.log(LIMIT))  # 10.4
STEP = 16.0  # from block to block
GROWTH = 100.0  # from the first key that is visited to the last
HUGE = 100.0
NOISE = 0.25  # standard deviation of the scores around the profile
KINDS = {"step": "each block exceeds the last by more than 10.4",
         "grow": "scores grow steadily along the row",
         "one": "one huge score after others"}


def profile(kind, seq, tile_kv, ascending):
    """What each key adds to its scores, [seq]."""
    key = np.arange(seq, dtype=np.float32)
    if kind == "step":
        block = key // tile_kv  # the last may be short
        return STEP * (block if ascending else block[-1] - block)
    if kind == "grow":
        return GROWTH * (key if ascending else seq - 1 - key) / (seq - 1)
    if kind == "one":  # of rows that begin at the first key, half come to the middle
        return np.where(key == (seq // 2 if ascending else 0), np.float32(HUGE), np.float32(0))
    raise ValueError(kind)


def imprint(q, k, keys):
    """Turns normal queries and keys [batch, seq, heads, dim], arrays or tensors, into ones whose
    scaled scores are `keys` plus noise.
    """
    scale = q.shape[-1] ** -0.5
    q *= NOISE
    q[..., 0] = 1 / scale
    k[..., 0] = keys.reshape(1, -1, 1)


def to_bf16(x):
    """Rounded to bf16, as float32."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).view(np.float32)


def head_scores(kind, seq, head_dim, tile_kv, ascending, seed=1):
    """The scores [seq, seq] of one head; `kind` None: normal queries and keys."""
    random = np.random.default_rng(seed)
    q, k = (random.standard_normal((1, seq, 1, head_dim), np.float32) for _ in "qk")
    if kind:
        imprint(q, k, profile(kind, seq, tile_kv, ascending))
    return to_bf16(q)[0, :, 0] @ to_bf16(k)[0, :, 0].T * np.float32(head_dim ** -0.5)


def visiting_order(seq, tile_kv, ascending):
    """The blocks' first keys."""
    firsts = range(0, seq, tile_kv)
    return list(firsts) if ascending else list(reversed(firsts))


def check(kind, scores, tile_kv, ascending):
    """Asserts that every row's scores are what the kind says."""
    blocks = [scores[:, at:at + tile_kv]
              for at in visiting_order(len(scores[0]), tile_kv, ascending)]
    tops = np.stack([block.max(1) for block in blocks])
    if kind == "step":
        least = np.stack([block.min(1) for block in blocks])
        assert (least[1:] > tops[:-1] + MARGIN).all()
    elif kind == "grow":
        means = np.stack([block.mean(1) for block in blocks])
        assert (means[1:] > means[:-1]).all()
        assert (tops[1:] < tops[:-1] + MARGIN).all()  # no block alone is reason enough
    elif kind == "one":
        first, second = np.sort(scores, 1)[:, [-1, -2]].T
        assert (first > second + MARGIN).all()
        assert (tops[0] <= second).all()  # it is not in the first block


def share_computed_twice(scores, causal, tile_kv):
    """Of the blocks that a head's warps visit, those whose weights do not fit. A warp has 16 rows,
    and decides as one; its threads have two columns of every eight (docs/kernel-anatomy.md). Causal
    warpgroups visit what one of their 64 rows needs.
    """
    seq = len(scores)
    warps = np.arange(seq // 16)
    last_row = np.minimum(warps // 4 * 64 + 63, seq - 1) if causal else np.full_like(warps, seq - 1)
    top = np.full((len(warps), 16), -np.inf, np.float32)  # the maximum in use
    twice = visited = 0
    row = np.arange(seq)[:, None]
    order = visiting_order(seq, tile_kv, ascending=causal)
    for first in order:
        key = np.arange(first, min(first + tile_kv, seq))
        part = scores[:, key]
        if causal:
            part = np.where(key <= row, part, -np.inf)
        part = part.reshape(len(warps), 16, -1, 4, 2)  # groups of eight, lanes of a row, a pair
        visits = first <= last_row
        tries = visits & (first != order[0])
        with np.errstate(over="ignore", invalid="ignore"):
            sums = np.exp(part - top[:, :, None, None, None]).sum((2, 4))
        fails = tries & ~(sums < LIMIT).all((1, 2))
        renews = visits & (fails | ~tries)
        top = np.where(renews[:, None], np.maximum(top, part.max((2, 3, 4))), top)
        twice, visited = twice + fails.sum(), visited + visits.sum()
    return float(twice / visited)
