"""The kernels of bench_storage.py: block-sparse and packed ones, and the dense ones that they are
held to. Every spec is derived from a file of specs/variants.
"""

import random
from dataclasses import dataclass

from gpu.case import CAUSAL, Case, schedule
from gpu.variants import read

HEADS = {"mha": {"q": 32, "kv": 32}, "gqa": {"q": 32, "kv": 8}}
BLOCK_SIZES = (64, 128)
BLOCK_SOURCES = ("bitmap", "indices")
KEPT = 0.2  # of a head's blocks
# Which are kept: anywhere, so that no two rows are alike; a band and stripes of keys; slashes, runs
# of diagonals. Real masks (local windows, sinks, top-k of scores) are rather like the latter two.
PATTERNS = ("anywhere", "stripes", "slashes")
SLASH = 5  # blocks wide
SPARSE_SEQ = 8192
TOKENS = 65536  # of all packed sequences, and of each dense call beside them
SHORTEST, LONGEST = 128, 8192  # of packed sequences
DENSE_LENGTHS = (512, 1024, 2048, 4096, 8192)
DECODE_KEYS = (512, 16384)  # of each sequence of a batch that is decoded
SHORT_KEYS = 2048  # of each but one, where that is long
LEAST_GATE = -20  # below which a pair is left out
PRUNED = f"{CAUSAL} and gates[h, q_pos] - gates[h, kv_idx] > {LEAST_GATE}"


@dataclass(frozen=True)
class StorageBench:
    name: str
    spec: dict
    batch: int = 0  # 0: packed sequences of random lengths
    seq: int = 0
    yardsticks: tuple = ()  # names of the dense kernels; none: this is one
    pattern: str = "anywhere"  # of kept blocks

    def case(self):
        return Case(self.name, self.spec, "bench_storage", data=self.name)

    @property
    def causal(self):
        return "mask" in self.spec

    @property
    def pruned(self):
        return self.spec.get("mask") == PRUNED

    def lengths(self, seed):
        """Of its sequences."""
        return [self.seq] * self.batch if self.batch else random_lengths(seed)


def random_lengths(seed):
    """Uniform in SHORTEST..LONGEST; the last is cut so that all hold TOKENS."""
    draw, lengths, left = random.Random(seed), [], TOKENS
    while left:
        lengths.append(min(draw.randint(SHORTEST, LONGEST), left))
        left -= lengths[-1]
    return lengths


def pairs(length, causal):
    """Of one sequence and head."""
    return length * (length + 1) / 2 if causal else length * length


def ideal_milliseconds(parts, rates):
    """Of `parts`, (length, flop), each at the rate of the dense kernel at the nearest length.
    `rates`: length -> flop per ms.
    """
    return sum(flop / rates[min(rates, key=lambda at: abs(at - length))] for length, flop in parts)


def derive(file, name, causal, **changes):
    """The file's spec under another name, in the layout bshd, with a causal mask or none."""
    spec = {**read(file), "name": name, "layout": "bshd", **changes}
    for key in ("doc", "mask"):  # of the file's own case
        spec.pop(key, None)
    return {**spec, "mask": CAUSAL} if causal else spec


def dense(ratio, batch, seq, causal=False):
    name = f"storage_dense_{ratio}_b{batch}_s{seq}_{'causal' if causal else 'full'}"
    spec = derive("causal", name, causal, heads=HEADS[ratio],
                  workload={"batch": batch, "seq_q": seq, "seq_kv": seq})
    return StorageBench(name, spec, batch, seq)


def sparse_bench(kind, source, heads, size, per, pattern, yardstick):
    anywhere = pattern == "anywhere"
    name = f"storage_sparse_{kind}" + ("" if anywhere else f"_{pattern}")
    spec = derive(f"block_{source}", name, False, heads=heads,
                  blocks={"size": size, "from": source, "per": per,
                          "rows": "apart" if anywhere else "alike"},
                  workload={"batch": 1, "seq_q": SPARSE_SEQ})
    return StorageBench(name, spec, 1, SPARSE_SEQ, (yardstick.name,), pattern)


def sparse_benches():
    for ratio, heads in HEADS.items():
        yardstick = dense(ratio, 1, SPARSE_SEQ)
        yield yardstick
        for who, per in (ratio, "heads"), ("group", "heads_kv"):
            if who == "group" and ratio == "mha":
                continue  # a group of one
            for size in BLOCK_SIZES:
                for source in BLOCK_SOURCES:
                    for pattern in PATTERNS if size == 64 and per == "heads" else PATTERNS[:1]:
                        yield sparse_bench(f"{who}_{source}_{size}", source, heads, size, per,
                                           pattern, yardstick)


def varlen_benches():
    for causal in (True, False):
        yardsticks = [dense("gqa", TOKENS // seq, seq, causal) for seq in DENSE_LENGTHS]
        yield from yardsticks
        name = f"storage_varlen_{'causal' if causal else 'full'}"
        names = tuple(one.name for one in yardsticks)
        yield StorageBench(name, derive("varlen", name, causal), yardsticks=names)
        if causal:  # beside the plain dense kernels
            for name, mask in ("gated", CAUSAL), ("pruned", PRUNED):
                name = f"storage_varlen_{name}"
                spec = derive("packed_forgetting", name, causal)
                yield StorageBench(name, {**spec, "mask": mask}, yardsticks=names)


@dataclass(frozen=True)
class DecodeBench:
    """A few queries of each of many packed sequences: the next tokens of a batch of texts."""

    name: str
    spec: dict
    batch: int
    queries: int  # of each sequence
    longest: int = 0  # of one, the others are short; 0: all have random lengths
    schedule: dict = None

    def case(self):
        return Case(self.name, self.spec, "bench_storage", data=self.name,
                    schedule=self.schedule)

    def lengths(self, seed):
        """Keys of each."""
        if self.longest:
            return [SHORT_KEYS] * (self.batch - 1) + [self.longest]
        draw = random.Random(seed)
        return [draw.randint(*DECODE_KEYS) for _ in range(self.batch)]


def decode_benches():
    """As the search has them, and beside that the tile with the query heads apart."""
    apart = schedule(1, 128, 2, ping_pong=False, order="longest_first")
    for batch, q, kv, queries, longest in (
            (64, 32, 8, 1, 0), (64, 32, 8, 4, 0), (64, 28, 4, 1, 0), (64, 28, 4, 4, 0),
            (64, 64, 8, 1, 0), (64, 64, 8, 4, 0), (1, 32, 8, 1, 0), (4, 32, 8, 1, 0),
            (4, 28, 4, 4, 0), (8, 32, 8, 1, 0), (16, 32, 8, 1, 0), (2, 64, 8, 512, 0),
            (8, 32, 8, 1, 65536), (16, 32, 8, 1, 65536), (64, 32, 8, 1, 131072)):
        mean = sum(DECODE_KEYS) // 2
        if longest:
            mean = ((batch - 1) * SHORT_KEYS + longest) // batch
        for kind, given in (("", None), ("_apart", apart)):
            lengths = f"_k{longest}" if longest else ""
            name = f"storage_decode_b{batch}_h{q}_{kv}_q{queries}{lengths}{kind}"
            spec = derive("varlen", name, True, heads={"q": q, "kv": kv},
                          workload={"batch": batch, "seq_q": queries, "seq_kv": mean})
            yield DecodeBench(name, spec, batch, queries, longest, given)


@dataclass(frozen=True)
class PagedBench(DecodeBench):
    """The same of caches in pages; `page` 0: packed keys, without pages."""

    page: int = 0
    yardstick: str = ""  # without pages


PAGE_SIZES = (1, 8, 16, 64, 256)


def paged_benches():
    """Next tokens, and chunks of texts, over caches in pages, and beside them over packed keys."""
    mean = sum(DECODE_KEYS) // 2
    latent = {"share_kv": {"v_prefix": 512}}
    for kind, heads, dims, rest in (("h32_8", (32, 8), (128, 128), {}), ("mla", (128, 1), (576, 512), latent)):
        for batch, queries in ((1, 1), (8, 1), (64, 1), (8, 512)):
            call = f"storage_paged_{kind}_b{batch}_q{queries}"
            shape = {"heads": dict(zip(("q", "kv"), heads)), "head_dim": dict(zip(("qk", "v"), dims)),
                     **rest, "workload": {"batch": batch, "seq_q": queries, "seq_kv": mean}}
            packed = f"{call}_packed"
            yield PagedBench(packed, derive("varlen", packed, True, **shape), batch, queries)
            for page in PAGE_SIZES:
                name = f"{call}_p{page}"
                spec = derive("varlen", name, True, **shape, kv_cache={"paged": page})
                yield PagedBench(name, spec, batch, queries, page=page, yardstick=packed)


def packed_list_benches():
    """Lists of keys of packed texts, as lists of one sequence and over pages too, and the dense kernel."""
    mean = sum(DECODE_KEYS) // 2
    latent = {"share_kv": {"v_prefix": 512}}
    for kind, heads, dims, rest in (("h64_4", (64, 4), (128, 128), {}), ("mla", (128, 1), (576, 512), latent)):
        for batch, queries in ((8, 1), (64, 1), (8, 512)):
            call = f"storage_packed_lists_{kind}_b{batch}_q{queries}"
            shape = {"heads": dict(zip(("q", "kv"), heads)), "head_dim": dict(zip(("qk", "v"), dims)), **rest}
            packed = {**shape, "workload": {"batch": batch, "seq_q": queries, "seq_kv": mean}}
            one = {"batch": 1, "seq_q": batch * queries, "seq_kv": batch * mean}
            for suffix, spec in (
                    ("", derive("top_keys", call, True, **packed, varlen=True)),
                    ("_dense", derive("varlen", call, True, **packed)),
                    ("_one", derive("top_keys", call, False, **shape, workload=one)),
                    *((f"_p{page}", derive("top_keys", call, True, **packed, varlen=True,
                                           kv_cache={"paged": page})) for page in (64, 1))):
                name = call + suffix
                yield DecodeBench(name, {**spec, "name": name}, batch, queries)


@dataclass(frozen=True)
class SelectedBench:
    """Blocks of keys that each query of a key head chooses, as native sparse attention has them."""

    name: str
    spec: dict
    seq: int
    alike: bool  # whether a query chooses mostly what the one before does
    yardstick: str  # the dense kernel

    def case(self):
        return Case(self.name, self.spec, "bench_storage", data=self.name)


def selected_benches():
    latent = {"share_kv": {"v_prefix": 512}}
    for kind, heads, dims, size, most, rest in (("nsa", (64, 4), (192, 128), 64, 16, {}),
                                                ("h32", (32, 8), (128, 128), 64, 16, {}),
                                                ("wide", (32, 8), (128, 128), 512, 8, {}),
                                                ("mla", (128, 1), (576, 512), 64, 32, latent)):
        for seq in (8192, 32768, *([] if rest else [65536])):
            shape = {"heads": dict(zip(("q", "kv"), heads)), "head_dim": dict(zip(("qk", "v"), dims)), **rest,
                     "workload": {"batch": 1, "seq_q": seq, "seq_kv": seq}}
            dense = f"storage_selected_{kind}_s{seq}_dense"
            yield SelectedBench(dense, derive("causal", dense, True, **shape), seq, True, "")
            for rows in ("alike", "apart"):
                name = f"storage_selected_{kind}_s{seq}_{rows}"
                blocks = {"size": size, "queries": 1, "from": "indices", "most": most,
                          "per": "heads_kv", "rows": rows}
                yield SelectedBench(name, derive("selected_blocks", name, True, blocks=blocks, **shape),
                                    seq, rows == "alike", dense)


@dataclass(frozen=True)
class ListBench:
    """Keys that each query of a key head has a list of, as in top-k attention."""

    name: str
    spec: dict
    batch: int
    queries: int  # the last ones of each batch's keys
    seq: int
    yardstick: str  # the dense kernel

    def case(self):
        return Case(self.name, self.spec, "bench_storage", data=self.name)


def list_bench(kind, heads, dims, batch, queries, seq, rest):
    """The dense kernel, that of lists, and of lists of distinct keys, as the search has them."""
    shape = {"heads": dict(zip(("q", "kv"), heads)), "head_dim": dict(zip(("qk", "v"), dims)), **rest,
             "workload": {"batch": batch, "seq_q": queries, "seq_kv": seq}}
    dense = f"storage_lists_{kind}_s{seq}_dense"
    yield ListBench(dense, derive("causal", dense, True, **shape), batch, queries, seq, "")
    name = f"storage_lists_{kind}_s{seq}"
    yield ListBench(name, derive("top_keys", name, True, **shape), batch, queries, seq, dense)
    distinct = f"{name}_distinct"
    yield ListBench(distinct, derive("distinct_top_keys", distinct, True, **shape), batch, queries, seq,
                    dense)


def list_benches():
    latent = {"share_kv": {"v_prefix": 512}}
    for kind, heads, dims, rest in (("h64_4", (64, 4), (128, 128), {}), ("h32_8", (32, 8), (128, 128), {}),
                                    ("h64_1", (64, 1), (128, 128), {}), ("d64", (64, 4), (64, 64), {}),
                                    ("mla", (128, 1), (576, 512), latent)):
        for seq in (8192, 32768, *([131072] if kind == "h64_1" else [])):
            yield from list_bench(kind, heads, dims, 1, seq, seq, rest)
    for batch, queries in ((1, 1), (1, 4), (8, 1), (64, 1)):
        decode = f"decode_b{batch}_q{queries}"
        yield from list_bench(f"{decode}_mla", (128, 1), (576, 512), batch, queries, 32768, latent)
        yield from list_bench(f"{decode}_h64_4", (64, 4), (128, 128), batch, queries, 32768, {})


def storage_benches():
    return [*sparse_benches(), *varlen_benches()]
