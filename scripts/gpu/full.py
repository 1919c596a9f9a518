"""Plain softmax attention over whole tensors by torch, against rows that the oracle did not see."""

import torch

from gpu.case import PREFIX, WINDOW


def keeps(mask, seq_q, seq_kv, device):
    q_pos = torch.arange(seq_q, device=device)[:, None] + (seq_kv - seq_q)
    kv = torch.arange(seq_kv, device=device)[None, :]
    if mask == "full":
        return (kv >= 0).expand(seq_q, seq_kv)
    causal = kv <= q_pos
    if mask == "causal":
        return causal
    if mask == "window":
        return causal & (q_pos - kv < WINDOW)
    if mask == "prefix":
        return causal | (kv < PREFIX)
    raise ValueError(mask)


def attend(q, k, v, keep, scale, storage):
    """q [rows, dim], k, v [keys, dim]. In double; and with scores in fp32 but weights and output
    rounded to the storage type, the least that any kernel for the tensor cores rounds.
    """
    scores = (q.double() @ k.double().T) * scale
    scores.masked_fill_(~keep, -torch.inf)
    top = scores.amax(dim=1, keepdim=True)
    top = torch.where(top == -torch.inf, 0.0, top)
    weights = torch.exp(scores - top)
    total = weights.sum(dim=1, keepdim=True)
    safe = torch.where(total > 0, total, 1.0)
    exact = (weights @ v.double()) / safe
    rounded = ((weights.to(storage).float() @ v.float()) / safe.float()).to(storage)
    return exact, rounded.double()


def worst_excess(problem, out, roundoff):
    """The largest error over what the rule allows it, of any (batch, head); 1 or less is right.
    `out` is [batch, seq_q, heads, dim]. Returns (ratio, batch, head).
    """
    spec, shape = problem.case.spec, problem.shape
    heads_q, heads_kv = spec["heads"]["q"], spec["heads"]["kv"]
    scale = spec.get("scale", spec["head_dim"]["qk"] ** -0.5)
    keep = keeps(problem.case.mask, shape.seq_q, shape.seq_kv, out.device)
    worst = (0.0, 0, 0)
    for b in range(shape.batch):
        for h in range(heads_q):
            kv_head = h // (heads_q // heads_kv)
            exact, rounded = attend(problem.q.view[b, :, h], problem.k.view[b, :, kv_head],
                                    problem.v.view[b, :, kv_head], keep, scale, out.dtype)
            error = (out[b, :, h].double() - exact).abs().max()
            allowed = 2 * (rounded - exact).abs().max() + roundoff * exact.abs().max()
            if error > 0 or not torch.isfinite(error):
                ratio = float(error / allowed) if torch.isfinite(error) else float("inf")
                worst = max(worst, (ratio, b, h))
    return worst
