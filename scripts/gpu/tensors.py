"""The data of a call: random tensors in guarded memory, as the kernel stores them and as floats.

torch is the device's memory and its random numbers; nothing here computes attention.
"""

import math
from dataclasses import dataclass, field

import numpy as np
import torch

GUARD_BYTES = 4096  # before and after each tensor
POISON = 0xFF  # NaN in bf16, fp16 and fp32
STORAGE = {"bf16": torch.bfloat16, "fp16": torch.float16, "f32": torch.float32,
           "i32": torch.int32, "u8": torch.uint8}


class Guarded:
    """A strided tensor [batch, seq, heads, dim] inside poisoned memory: reading around it gives
    NaN, writing around it shows.
    """

    def __init__(self, shape, strides, dtype, device):
        batch, seq, heads, dim = shape
        stride_batch, stride_seq, stride_head = strides
        element = STORAGE[dtype].itemsize
        reach = (max(batch - 1, 0) * stride_batch + max(seq - 1, 0) * stride_seq
                 + max(heads - 1, 0) * stride_head + dim)
        self.bytes = torch.full((reach * element + 2 * GUARD_BYTES,), POISON, dtype=torch.uint8,
                                device=device)
        inner = self.bytes[GUARD_BYTES:GUARD_BYTES + reach * element].view(STORAGE[dtype])
        self.view = inner.as_strided(shape, (*strides, 1))
        self.strides = strides

    def pointer(self):
        return self.bytes.data_ptr() + GUARD_BYTES

    def poison(self):
        self.bytes.fill_(POISON)

    def take(self):
        """The tensor, contiguous, and whether the memory around it was left alone. Poisons it."""
        value = self.view.clone().contiguous()
        # As integers: a copy of a float NaN need not keep its bits.
        integer = {2: torch.int16, 4: torch.int32}[self.view.element_size()]
        inner = self.bytes[GUARD_BYTES:self.bytes.numel() - GUARD_BYTES].view(integer)
        inner.as_strided(self.view.shape, self.view.stride()).fill_(-1)
        return value, bool((self.bytes == POISON).all())


def strides_of(kind, layout, seq, heads, dim):
    """Strides (batch, seq, head) in elements, multiples of 8, of a tensor in the spec's layout."""
    seq = max(seq, 1)
    if kind == "swapped":
        layout = "bhsd" if layout == "bshd" else "bshd"
    pad = 0 if kind in ("default", "explicit") else 8
    inner = dim + pad
    if layout == "bshd":
        outer = heads * inner + 2 * pad
        return (seq * outer + 3 * pad, outer, inner)
    outer = seq * inner + 2 * pad
    return (heads * outer + 3 * pad, inner, outer)


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
            "seq_q": queries, "seq_kv": keys, "seq": keys, "dim": spec["head_dim"]["qk"]}


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

    def tensor(seq, heads, dim, scale):
        strides = strides_of(shape.strides, spec["layout"], seq, heads, dim)
        guarded = Guarded((batch, seq, heads, dim), strides, spec["dtype"], device)
        guarded.view.copy_(scale * torch.randn(guarded.view.shape, generator=random,
                                               device=device))
        return guarded

    heads_q, heads_kv = spec["heads"]["q"], spec["heads"]["kv"]
    maps = spec.get("maps", 1)
    dim_qk, dim_v = spec["head_dim"]["qk"], spec["head_dim"]["v"]
    q = tensor(total_q, maps * heads_q, dim_qk, spread)
    k = tensor(total_kv, maps * heads_kv, dim_qk, spread)
    v = tensor(total_kv, heads_kv, dim_v, V_SPREAD[spec["dtype"]]
               if shape.logits == "large_v" else 1.0)
    imprint(shape.logits, q.view, k.view, spec.get("scale", dim_qk**-0.5))
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
        value = FILLS[how["fill"]](dims, shape, random, device).to(STORAGE[declared["dtype"]])
        if problem.skipped >= 0:
            poison_input(value, declared["shape"], problem.skipped, q_begins, kv_begins)
        problem.inputs[name] = behind(value.contiguous(), how.get("offset", 0))
        if on_host:
            problem.host_inputs[name] = np.ascontiguousarray(value.double().cpu().numpy())
    if "blocks" in spec:
        for name, value in draw_blocks(spec, shape, random, device).items():
            problem.inputs[name] = value
            problem.host_inputs[name] = np.ascontiguousarray(value.double().cpu().numpy())
    return problem


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


def draw_blocks(spec, shape, random, device):
    """A third of the blocks; every fifth row of blocks keeps none, every seventh all."""
    size = spec["blocks"]["size"]
    height, width = -(-shape.seq_q // size), -(-shape.seq_kv // size)
    kept = torch.rand((shape.batch, block_heads(spec), height, width), generator=random,
                      device=device) < 1 / 3
    kept[:, :, 6::7] = True
    kept[:, :, 4::5] = False
    return block_inputs(spec, kept)


def block_inputs(spec, kept):
    """Of the blocks kept, [batch, heads, rows, columns], what the kernel reads. A list has its blocks
    in any order, and behind its count those that are not kept.
    """
    if spec["blocks"]["from"] == "bitmap":
        # Any value but 0 keeps a block.
        return {"block_mask": (kept * 3).to(torch.uint8).contiguous()}
    random = torch.Generator(device=kept.device)
    random.manual_seed(1)
    place = torch.rand(kept.shape, generator=random, device=kept.device) + ~kept
    return {"block_counts": kept.sum(dim=-1, dtype=torch.int32).contiguous(),
            "block_indices": place.argsort(dim=-1).to(torch.int32).contiguous()}


def normal(dims, shape, random, device):
    return torch.randn(dims, generator=random, device=device)


def holes(dims, shape, random, device):
    """An additive bias with -inf: a tenth of all pairs, the first tiles of every fifth row, and all
    of every seventh, which is an empty row then.
    """
    bias = normal(dims, shape, random, device)
    bias[torch.rand(dims, generator=random, device=device) < 0.1] = -torch.inf
    bias[..., 1::5, :min(200, dims[-1] // 2)] = -torch.inf
    bias[..., 3::7, :] = -torch.inf
    return bias


def key_holes(dims, shape, random, device):
    """An additive bias of keys that are padding, or not: a third, and the first 150 of a batch."""
    bias = torch.zeros(dims, device=device)
    bias[torch.rand(dims, generator=random, device=device) < 1 / 3] = -torch.inf
    bias[0, :150] = -torch.inf
    return bias


def slopes(dims, shape, random, device):
    heads = dims[0]
    return 2.0 ** (-8.0 * (torch.arange(heads, device=device) + 1) / heads)


def lambdas(dims, shape, random, device):
    """What differential attention starts from, 0.2 in the first layer to 0.8 in the last."""
    return 0.2 + 0.6 * torch.rand(dims, generator=random, device=device)


def log_decay(dims, shape, random, device):
    return torch.log(1 - 2.0 ** (-5.0 - torch.arange(dims[0], device=device)))


def log_gates(dims, shape, random, device):
    """Running sums of the logarithms of gates, which are 0.93 in the mean."""
    return torch.nn.functional.logsigmoid(3 + normal(dims, shape, random, device)).cumsum(-1)


def broken_gates(dims, shape, random, device):
    """The same; now and then one is no finite number."""
    gates = log_gates(dims, shape, random, device)
    shares = torch.rand(dims, generator=random, device=device)
    for share, value in ((0.006, math.inf), (0.004, -math.inf), (0.002, math.nan)):
        gates = gates.masked_fill(shares < share, value)
    return gates


def documents(dims, shape, random, device):
    """Ascending ids of documents of about 100 tokens."""
    starts = torch.rand(dims, generator=random, device=device) < 0.01
    return torch.cumsum(starts.int(), dim=-1)


def documents_1024(dims, shape, random, device):
    """Ascending ids of documents of 1024 tokens."""
    return (torch.arange(dims[-1], device=device) // 1024).expand(dims)


def documents_anyhow(dims, shape, random, device):
    """Documents of about 100 tokens, their ids in no order, some of several documents."""
    ids = documents(dims, shape, random, device)
    return torch.randint(-40, 40, (dims[-1] + 1,), generator=random, device=device)[ids]


def documents_1024_anyhow(dims, shape, random, device):
    """Documents of 1024 tokens, their ids in no order."""
    return 5 * documents_1024(dims, shape, random, device) % 17


def stretches(dims, shape, random, device):
    """Bits: stretches of zeros and ones, of about 100 each; nothing but zeros in the last batch."""
    value = documents(dims, shape, random, device) % 2
    if len(value) > 1:
        value[-1] = 0
    return value


def every_other_1024(dims, shape, random, device):
    """Bits: of stretches of 1024 tokens every second one has ones."""
    return documents_1024(dims, shape, random, device) % 2


def prefix_64(dims, shape, random, device):
    return torch.full(dims, 64, device=device)


def prefix_2048(dims, shape, random, device):
    return torch.full(dims, 2048, device=device)


def lengths(dims, shape, random, device):
    """In [0, seq_kv]; the last is 0, so that all its rows may be empty."""
    value = torch.randint(0, shape.seq_kv + 1, dims, generator=random, device=device)
    if len(value) > 1:
        value[-1] = 0
    return value


def some_lengths(dims, shape, random, device):
    """In [1, seq_kv]."""
    return torch.randint(1, shape.seq_kv + 1, dims, generator=random, device=device)


def bits(dims, shape, random, device):
    """Half of all pairs; every seventh row has none."""
    value = torch.randint(0, 2, dims, generator=random, device=device)
    if len(dims) > 1:
        value[..., 3::7, :] = 0
    return value


def coins(dims, shape, random, device):
    """Half of all pairs; every row has some."""
    return torch.randint(0, 2, dims, generator=random, device=device)


def patches(dims, shape, random, device):
    """Of 80 rows and 112 columns: zeros, ones or both."""
    row = torch.arange(dims[-2], device=device)[:, None]
    column = torch.arange(dims[-1], device=device)
    kind = (row // 80 * 5 + column // 112 * 3) % 7
    return coins(dims, shape, random, device).masked_fill(kind < 3, 0).masked_fill(
        (kind >= 3) & (kind < 5), 1)


def lower_triangle(dims, shape, random, device):
    """A causal mask as ones."""
    return torch.ones(dims, device=device).tril(dims[-1] - dims[-2])


def biased_triangle(dims, shape, random, device):
    """An additive causal mask, with a bias where it leaves pairs."""
    kept = lower_triangle(dims, shape, random, device) > 0
    return normal(dims, shape, random, device).masked_fill(~kept, -torch.inf)


def squares_1024(dims, shape, random, device):
    """Ones for the pairs within documents of 1024 tokens."""
    document = torch.arange(max(dims[-2:]), device=device) // 1024
    return (document[:dims[-2], None] == document[:dims[-1]]).expand(dims)


FILLS = {"normal": normal, "holes": holes, "key_holes": key_holes, "slopes": slopes,
         "log_decay": log_decay, "log_gates": log_gates, "broken_gates": broken_gates,
         "lambdas": lambdas,
         "documents": documents, "documents_1024": documents_1024,
         "documents_anyhow": documents_anyhow, "documents_1024_anyhow": documents_1024_anyhow,
         "stretches": stretches, "lengths": lengths, "some_lengths": some_lengths,
         "every_other_1024": every_other_1024, "prefix_64": prefix_64,
         "prefix_2048": prefix_2048, "bits": bits, "coins": coins, "patches": patches,
         "lower_triangle": lower_triangle, "biased_triangle": biased_triangle,
         "squares_1024": squares_1024}
