"""What a user's input is filled with, by name: each makes a tensor of `dims` in a call of `shape`."""

import math

import torch


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


def hops(dims, shape, random, device):
    """Distances of nodes in a graph, most of them two to six."""
    return (4 + 1.5 * normal(dims, shape, random, device)).round().clamp(0, 63)


def buckets(dims, shape, random, device):
    """Of distances from -n / 2 on: DeBERTa's 512, exact up to 128 and logarithmic up to 511."""
    distance = torch.arange(dims[-1], device=device) - dims[-1] // 2
    steps = (distance.abs().clamp(min=128) / 128).log() / math.log(511 / 128) * 127
    far = distance.sign() * (steps.ceil() + 128)
    return far.where(distance.abs() > 128, distance).add(256).clamp(0, 511).expand(dims)


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
         "prefix_2048": prefix_2048, "bits": bits, "coins": coins, "patches": patches, "hops": hops,
         "buckets": buckets, "lower_triangle": lower_triangle, "biased_triangle": biased_triangle,
         "squares_1024": squares_1024}


def fill(how, dims, shape, random, device):
    """As a case says how: {"fill": name}, or {"value": number} for each element."""
    if "value" in how:
        return torch.full(dims, how["value"], device=device)
    if how["fill"] not in FILLS:
        raise ValueError(f"{how['fill']} fills nothing; want one of {', '.join(FILLS)}")
    return FILLS[how["fill"]](dims, shape, random, device)
