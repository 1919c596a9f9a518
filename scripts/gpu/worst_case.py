"""Inputs that defeat the fixed maximum, and how often they do, by arithmetic on the host.

A kernel with the fixed maximum keeps a row's first maximum in full blocks, and computes a block
twice if the weights of a thread reach 2^15: a score exceeds the maximum in use by more than 10.4.
One column of the head dim carries a profile along the keys; blocks are visited from the last key to
the first, so that a profile must grow in that order to be met as growing.
"""

import numpy as np

LIMIT = 2.0 ** 15
MARGIN = float(np.log(LIMIT))  # 10.4
STEP = 16.0  # from block to block
GROWTH = 100.0  # from the last key to the first
HUGE = 100.0
NOISE = 0.25  # standard deviation of the scores around the profile
KINDS = {"step": "each block exceeds the last by more than 10.4",
         "grow": "scores grow steadily along the row",
         "one": "one huge score in the last block"}


def profile(kind, seq, tile_kv):
    """What each key adds to its scores, [seq]."""
    key = np.arange(seq, dtype=np.float32)
    if kind == "step":
        # Whole blocks; the last may be short, and is the first visited.
        return STEP * ((seq - 1) // tile_kv - key // tile_kv)
    if kind == "grow":
        return GROWTH * (seq - 1 - key) / (seq - 1)
    if kind == "one":
        return np.where(key == 0, np.float32(HUGE), np.float32(0))
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


def head_scores(kind, seq, head_dim, tile_kv, seed=1):
    """The scores [seq, seq] of one head; `kind` None: normal queries and keys."""
    random = np.random.default_rng(seed)
    q, k = (random.standard_normal((1, seq, 1, head_dim), np.float32) for _ in "qk")
    if kind:
        imprint(q, k, profile(kind, seq, tile_kv))
    return to_bf16(q)[0, :, 0] @ to_bf16(k)[0, :, 0].T * np.float32(head_dim ** -0.5)


def check(kind, scores, tile_kv):
    """Asserts that every row's scores are what the kind says."""
    firsts = range((len(scores[0]) - 1) // tile_kv * tile_kv, -1, -tile_kv)
    blocks = [scores[:, at:at + tile_kv] for at in firsts]  # as they are visited
    tops = np.stack([block.max(1) for block in blocks])
    if kind == "step":
        least = np.stack([block.min(1) for block in blocks])
        assert (least[1:] > tops[:-1] + MARGIN).all()
    elif kind == "grow":
        means = np.stack([block.mean(1) for block in blocks])
        assert (means[1:] > means[:-1]).all()
        assert (tops[1:] < tops[:-1] + MARGIN).all()  # no block alone is reason enough
    elif kind == "one":
        huge = blocks[-1] > tops[:-1].max(0)[:, None] + MARGIN
        assert (huge.sum(1) == 1).all()


def share_computed_twice(scores, causal, tile_kv, warpgroups):
    """Of the blocks that a head's warps visit, those whose weights do not fit. A warp has 16 rows,
    and decides as one; its threads have two columns of every eight (docs/kernel-anatomy.md).
    """
    seq, tile_q = len(scores), 64 * warpgroups
    warps = np.arange(seq // 16)
    first_row = warps * 16 // tile_q * tile_q  # of the tile
    last_row = np.minimum(first_row + tile_q, seq) - 1
    end = (last_row if causal else np.full_like(warps, seq - 1)) // tile_kv + 1  # in blocks
    full_end = (first_row + 1 if causal else np.full_like(warps, seq)) // tile_kv
    top = np.full((len(warps), 16), -np.inf, np.float32)  # the maximum in use
    twice = visited = 0
    row = np.arange(seq)[:, None]
    for block in range(-(-seq // tile_kv) - 1, -1, -1):
        key = np.arange(block * tile_kv, min((block + 1) * tile_kv, seq))
        part = scores[:, key]
        if causal:
            part = np.where(key <= row, part, -np.inf)
        part = part.reshape(len(warps), 16, -1, 4, 2)  # groups of eight, lanes of a row, a pair
        visits = block < end
        tries = visits & (block < full_end) & (block < end - 1)
        with np.errstate(over="ignore", invalid="ignore"):
            sums = np.exp(part - top[:, :, None, None, None]).sum((2, 4))
        fails = tries & ~(sums < LIMIT).all((1, 2))
        renews = visits & (fails | ~tries)
        top = np.where(renews[:, None], np.maximum(top, part.max((2, 3, 4))), top)
        twice, visited = twice + fails.sum(), visited + visits.sum()
    return float(twice / visited)
