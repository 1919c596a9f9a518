"""Which rows of a call the oracle checks: all if they are few, else tile edges and a sample."""

import numpy as np

EDGES = [0, 1, 2, 7, 8, 15, 16, 63, 64, 65, 127, 128, 129, 191, 192, 193, 255, 256, 319, 320, 383,
         384]


def choose_rows(batch, heads, seq_q, seq_kv, most_pairs, seed):
    """Rows [count, 3] of (batch, head, query), int64, sorted, with about `most_pairs` pairs."""
    total = batch * heads * seq_q
    most = max(most_pairs // max(seq_kv, 1), 64)
    if total <= most:
        flat = np.arange(total)
    else:
        random = np.random.default_rng(seed)
        edges = [q for q in EDGES + [seq_q - 1, seq_q - 2, seq_q - 64, seq_q - 65]
                 if 0 <= q < seq_q]
        first = np.array([(random.integers(batch) * heads + random.integers(heads)) * seq_q + q
                          for q in edges])
        last = np.array([total - 1, 0])
        sample = random.choice(total, max(most - len(first) - 2, 0), replace=False)
        flat = np.unique(np.concatenate([first, last, sample]))
    return np.stack([flat // (heads * seq_q), flat // seq_q % heads, flat % seq_q],
                    axis=1).astype(np.int64)
