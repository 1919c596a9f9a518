"""The data of a call: random tensors in guarded memory, as the kernel stores them and as floats.

torch is the device's memory and its random numbers; nothing here computes attention.
"""

from dataclasses import dataclass, field

import numpy as np
import torch

from gpu.fills import fill
from gpu.guarded import STORAGE, Guarded, strides_of
from gpu.pages import Pages, page_size


def floats(tensor):
    """To float32 on the host, exactly."""
    return np.ascontiguousarray(tensor.float().cpu().numpy())


@dataclass
class Problem:
    """One call's data on both sides. Arrays of floats are [batch, seq, heads, dim]; of packed
    sequences the batch of the tensors is 1, and `q_begins` says where each begins.
    """

    case: object
    shape: object
    q: Guarded
    k: Guarded
    v: Guarded
    o: Guarded
    saves: dict  # name -> Guarded [batch, maps * heads, seq_q] as one row
    inputs: dict  # name -> device tensor, or a number for a scalar
    host_q: np.ndarray = None
    host_k: np.ndarray = None
    host_v: np.ndarray = None
    host_inputs: dict = field(default_factory=dict)  # name -> float64 array in its declared shape
    q_begins: np.ndarray = None  # [batch + 1]
    skipped: int = -1  # the sequence whose keys and values are NaN
    pages: Pages = None  # which hold the keys and values of a paged cache

    def places(self, rows):
        """Of rows [count, 3] of (batch, head, query): those that are there and are looked at, and
        where their results stand: (batch, query) of the tensors.
        """
        if self.q_begins is None:
            return rows, rows[:, 0], rows[:, 2]
        b, q = rows[:, 0], rows[:, 2]
        rows = rows[(q < np.diff(self.q_begins)[b]) & (b != self.skipped)]
        return rows, np.zeros_like(rows[:, 0]), self.q_begins[rows[:, 0]] + rows[:, 2]


def dim_lengths(spec, batch, queries, keys):
    return {"batch": batch, "heads": spec["heads"]["q"], "heads_kv": spec["heads"]["kv"],
            "seq_q": queries, "seq_kv": keys, "seq": keys, "dim": spec["head_dim"]["v"]}


# Ten times more would leave the type's range, or with weights of 2^17 in sum the accumulator's.
V_SPREAD = {"bf16": 2.0**100, "fp16": 2.0**12}
GROWTH, SPIKE = 200.0, 100.0


def imprint(logits, q, k, scale):
    """Adds a profile along the keys to the scores, through one column of the head dim. Kernels visit
    keys from the last to the first: "growing" grows in that order, "spike" comes last.
    """
    seq = k.shape[1]
    if logits == "growing":
        profile = GROWTH * torch.arange(seq - 1, -1, -1, device=k.device) / max(seq - 1, 1)
    elif logits == "spike":
        profile = torch.zeros(seq, device=k.device)
        profile[:1] = SPIKE
    else:
        return
    q[..., 0] = 1 / scale
    k[..., 0] = profile.reshape(1, -1, 1).to(k.dtype)


def draw(case, shape, save_names, seed, device, on_host=True):
    """The same data for the same case.data, shape and seed. `on_host`: as floats too."""
    spec = case.spec
    random = torch.Generator(device=device)
    random.manual_seed(seed * 1_000_003 + sum((i + 1) * c for i, c in
                                              enumerate((case.data + shape.text()).encode())))
    # q . k has a variance of head_dim; times 8 each, scores have a deviation of 64.
    spread = 8.0 if shape.logits == "large" else 1.0

    varlen = spec.get("varlen", False)
    batch, total_q, total_kv = shape.batch, shape.seq_q, shape.seq_kv
    if varlen:
        q_begins, kv_begins = (draw_begins(shape.batch, n, random, device)
                               for n in (shape.seq_q, shape.seq_kv))
        batch, total_q, total_kv = 1, int(q_begins[-1]), int(kv_begins[-1])

    def tensor(seq, heads, dim, scale, shares=False):
        strides = strides_of(shape.strides, spec["layout"], seq, heads, dim)
        if shares and shape.strides == "shared":
            strides = (0, *strides[1:])
        guarded = Guarded((batch, seq, heads, dim), strides, spec["dtype"], device)
        guarded.own.copy_(scale * torch.randn(guarded.own.shape, generator=random, device=device))
        return guarded

    heads_q, heads_kv = spec["heads"]["q"], spec["heads"]["kv"]
    maps = spec.get("maps", 1)
    dim_qk, dim_v = spec["head_dim"]["qk"], spec["head_dim"]["v"]
    q = tensor(total_q, maps * heads_q, dim_qk, spread)
    k = tensor(total_kv, maps * heads_kv, dim_qk, spread, shares=True)
    v = tensor(total_kv, heads_kv, dim_v, V_SPREAD[spec["dtype"]]
               if shape.logits == "large_v" else 1.0, shares=True)
    share_columns(spec, k, v)
    imprint(shape.logits, q.own, k.own, spec.get("scale", dim_qk**-0.5))
    o = Guarded((batch, total_q, heads_q, dim_v),
                strides_of(shape.strides, spec["layout"], total_q, heads_q, dim_v),
                spec["dtype"], device)
    flat = batch * maps * heads_q * total_q
    saves = {name: Guarded((1, 1, 1, flat), (flat, flat, flat), "f32", device)
             for name in save_names}
    problem = Problem(case, shape, q, k, v, o, saves, {})
    if varlen:
        pack(problem, q_begins, kv_begins, device)
    if on_host:
        problem.host_q, problem.host_k, problem.host_v = (floats(x.view) for x in (q, k, v))
    lengths = dim_lengths(spec, shape.batch, total_q, total_kv)
    for name, declared in spec.get("inputs", {}).items():
        dims = [d if isinstance(d, int) else lengths[d] for d in declared["shape"]]
        how = case.fills[name]
        if not dims:
            problem.inputs[name] = how["value"]
            problem.host_inputs[name] = np.array([how["value"]], np.float64)
            continue
        value = fill(how, dims, shape, random, device).to(STORAGE[declared["dtype"]])
        if problem.skipped >= 0:
            poison_input(value, declared["shape"], problem.skipped, q_begins, kv_begins)
        problem.inputs[name] = behind(value.contiguous(), how.get("offset", 0))
        if on_host:
            problem.host_inputs[name] = np.ascontiguousarray(value.double().cpu().numpy())
    if "blocks" in spec:
        for name, value in draw_blocks(spec, shape, total_q, random, device).items():
            problem.inputs[name] = value
            problem.host_inputs[name] = np.ascontiguousarray(value.double().cpu().numpy())
        for name, value in max_lengths(spec, shape).items():
            problem.inputs[name] = value
            problem.host_inputs[name] = np.array([value], np.float64)
    if "tokens" in spec:
        for name, value in draw_lists(spec, shape, total_q, random, device).items():
            problem.inputs[name] = value
            problem.host_inputs[name] = np.ascontiguousarray(value.double().cpu().numpy())
    if page_size(spec):
        problem.pages = Pages(problem, kv_begins if varlen else None, random)
    return problem


def share_columns(spec, k, v):
    """Where values are the keys' first columns, what is seen of v is these; its memory nobody reads."""
    if "share_kv" in spec:
        v.view = k.view[..., :spec["head_dim"]["v"]]


def behind(value, offset):
    """The same so many elements behind where memory is aligned."""
    memory = value.new_empty(value.numel() + offset)
    memory[offset:] = value.flatten()
    return memory[offset:].view(value.shape)


def draw_begins(batch, longest, random, device):
    """[batch + 1]: of sequences of up to `longest` elements; the first is as long, the fourth empty."""
    lengths = torch.randint(0, longest + 1, (batch,), generator=random, device=device)
    lengths[0] = longest
    lengths[3:4] = 0
    return np.concatenate([[0], np.cumsum(lengths.cpu().numpy())]).astype(np.int64)


def pack(problem, q_begins, kv_begins, device):
    """What one sequence holds must not reach another: the second one's keys and values are NaN and
    infinite, and its own results are not looked at.
    """
    problem.q_begins = q_begins
    for name, begins in (("cu_seqlens_q", q_begins), ("cu_seqlens_kv", kv_begins)):
        problem.inputs[name] = torch.tensor(begins, dtype=torch.int32, device=device)
        problem.host_inputs[name] = begins.astype(np.float64)
    if problem.shape.batch > 2:
        problem.skipped = 1
        keys = slice(int(kv_begins[1]), int(kv_begins[2]))
        problem.k.view[0, keys] = torch.nan
        problem.v.view[0, keys, :, ::2] = torch.nan
        problem.v.view[0, keys, :, 1::2] = torch.inf


def poison_input(value, dims, sequence, q_begins, kv_begins):
    """What one sequence has of an input along sequences must not reach another either."""
    for axis, dim in enumerate(dims):
        if dim not in ("seq_q", "seq_kv"):
            continue
        begins = q_begins if dim == "seq_q" else kv_begins
        begin, end = int(begins[sequence]), int(begins[sequence + 1])
        if value.is_floating_point():
            value.narrow(axis, begin, end - begin).fill_(torch.nan)
        elif value.dtype == torch.int32:
            value.narrow(axis, begin, end - begin).add_(1_000_000)  # ascending if it was


def block_heads(spec):
    """How many heads keep blocks of their own."""
    return spec["heads"]["kv" if spec["blocks"].get("per") == "heads_kv" else "q"]


def max_lengths(spec, shape):
    """Of packed sequences what says how their blocks are laid out: a little more than the longest has."""
    if not spec.get("varlen"):
        return {}
    return {"max_seq_q": shape.seq_q + 100, "max_seq_kv": shape.seq_kv + 100}


def draw_blocks(spec, shape, total_q, random, device):
    """A third of the blocks; every fifth row of blocks keeps none, every seventh all. Rows are [batch,
    heads, rows of blocks], those of packed single queries [heads, total_q].
    """
    blocks, longest = spec["blocks"], max_lengths(spec, shape)
    size, queries = blocks["size"], blocks.get("queries", blocks["size"])
    height = -(-longest.get("max_seq_q", shape.seq_q) // queries)
    width = -(-longest.get("max_seq_kv", shape.seq_kv) // size)
    rows = (shape.batch, block_heads(spec), height)
    if longest and queries == 1:
        rows = (block_heads(spec), total_q)
    kept = torch.rand((*rows, width), generator=random, device=device) < 1 / 3
    kept[..., 6::7, :] = True
    kept[..., 4::5, :] = False
    return block_inputs(spec, kept)


def draw_lists(spec, shape, total_q, random, device):
    """Keys in no order, some that do not exist, and some twice where that may be; every fifth list is
    empty, every seventh counts more than it has room for. [batch, heads_kv, seq_q], of packed
    sequences [heads_kv, total_q].
    """
    room, heads = spec["tokens"]["indices"], spec["heads"]["kv"]
    rows = (heads, total_q) if spec.get("varlen") else (shape.batch, heads, shape.seq_q)
    counts = torch.randint(0, room + 1, rows, generator=random, device=device, dtype=torch.int32)
    counts[..., 6::7] = room + 5
    counts[..., 4::5] = 0
    if spec["tokens"].get("distinct"):
        places = max(room, shape.seq_kv + 3)
        keys = torch.rand((*rows, places), generator=random, device=device).argsort(-1)[..., :room] - 1
        keys = torch.where(keys < shape.seq_kv + 2, keys, -1).to(torch.int32).contiguous()
    else:
        keys = torch.randint(-1, shape.seq_kv + 2, (*rows, room), generator=random, device=device,
                             dtype=torch.int32)
    return {"token_counts": counts, "token_indices": keys}


def block_inputs(spec, kept):
    """Of the blocks kept, [..., rows, columns], what the kernel reads. A list has its blocks in any
    order, and behind its count those that are not kept; one that has no room for all of them counts
    more than it has, and keeps those that it has.
    """
    if spec["blocks"]["from"] == "bitmap":
        # Any value but 0 keeps a block.
        return {"block_mask": (kept * 3).to(torch.uint8).contiguous()}
    random = torch.Generator(device=kept.device)
    random.manual_seed(1)
    place = torch.rand(kept.shape, generator=random, device=kept.device) + ~kept
    lists = place.argsort(dim=-1).to(torch.int32)
    if most := spec["blocks"].get("most"):
        room = torch.nn.functional.pad(lists, (0, max(0, most - lists.shape[-1])), value=-1)
        lists = room[..., :most]
    return {"block_counts": kept.sum(dim=-1, dtype=torch.int32).contiguous(),
            "block_indices": lists.contiguous()}
