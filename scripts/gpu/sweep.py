"""The points and schedules of scripts/sweep_gpu.py, as data.

A point is a kernel's spec and a workload. Its schedules are all that the search considers, or the
first of them.
"""

from dataclasses import dataclass, replace

from gpu.case import CAUSAL, Case, Shape, dim_text, make_spec
from gpu.file_benches import file_benches
from gpu.variant_benches import VariantBench, variant_benches

TOKENS, WIDTH = 16384, 2048  # batch * length; heads * head dim of values
WINDOW = 1024
SIGMOID = "sigmoid(score - 8.3)"  # the bias about -log(4096)


# Masks with gaps, whose blocks the kernel asks about one by one.
GAPS = {
    "dilated": "kv_idx <= q_pos and (q_pos // 64 - kv_idx // 64) % 4 == 0",
    "others": "not (q_pos // 32 == kv_idx // 32)",
    "global": "q_idx < 256 or kv_idx < 256 or abs(q_idx - kv_idx) < 256",
    "stripes": "kv_idx <= q_pos and (q_pos - kv_idx < 256 or kv_idx % 512 < 64)",
}


@dataclass(frozen=True)
class SweepSpec:
    spec: dict

    @property
    def name(self):
        return self.spec["name"]

    def case(self, one, name=""):
        name = name or f"{self.name}_{short_name(one)}"
        return Case(name, {**self.spec, "name": name}, "sweep", schedule=one, data=self.name)


@dataclass(frozen=True)
class Point:
    sweep: SweepSpec
    batch: int
    seq: int

    @property
    def name(self):
        return f"{self.sweep.name}_s{self.seq}"

    def workload(self):
        return {"batch": self.batch, "seq_q": self.seq, "seq_kv": self.seq}

    def shape(self):
        return Shape(self.batch, self.seq, self.seq)


@dataclass(frozen=True)
class VariantPoint:
    """A case of bench_variants.py, in the place of a point and of its spec."""
    index: int
    bench: VariantBench

    @property
    def sweep(self):
        return self

    @property
    def name(self):
        return self.bench.name

    @property
    def spec(self):
        return self.bench.spec

    def case(self, one, name=""):
        name = name or f"variant{self.index}_{short_name(one)}"  # of 64 characters at most
        return replace(self.bench.case(), name=name, spec={**self.spec, "name": name},
                       group="sweep", schedule=one)

    def workload(self):
        return {"batch": self.bench.batch, "seq_q": self.bench.seq_q, "seq_kv": self.bench.seq}

    def shape(self):
        return Shape(self.bench.batch, self.bench.seq_q, self.bench.seq)


def sweep_spec(name, head_dim, heads=None, mask="full", **rest):
    heads = heads or (WIDTH // head_dim[1],) * 2
    text = {"full": None, "causal": CAUSAL,
            "window": f"kv_idx <= q_pos and q_pos - kv_idx < {WINDOW}",
            **GAPS}[mask]
    return SweepSpec(make_spec(name, head_dim, heads, mask=text, **rest))


def grid_points():
    """Lengths up under one mask and down under the next: of every second point, which is held
    out, each length and each mask gets its share.
    """
    for i, dim in enumerate((64, 128, 256)):
        for j, mask in enumerate(("full", "causal")):
            one = sweep_spec(f"d{dim}_{mask}", (dim, dim), mask=mask)
            lengths = (512, 1024, 4096, 16384)
            for seq in reversed(lengths) if (i + j) % 2 else lengths:
                yield Point(one, TOKENS // seq, seq)


def other_points():
    softcap = "50 * tanh(score / 50)"
    listed = [
        *((sweep_spec(f"{dim_text(dims)}_causal", dims, mask="causal"), (1024, 4096))
          for dims in ((96, 96), (192, 128))),
        (sweep_spec("d128_causal_gqa", (128, 128), (32, 8), "causal"), (2048, 8192)),
        (sweep_spec("d128_window", (128, 128), mask="window"), (8192,)),
        (sweep_spec("d256_softcap", (256, 256), mask="causal", score=softcap), (4096,)),
        *((sweep_spec(f"d{dim}_sigmoid", (dim, dim), score=SIGMOID, normalize="none"), (4096,))
          for dim in (64, 128)),
        (sweep_spec("d128_causal_fp16", (128, 128), mask="causal", dtype="fp16"), (4096,)),
    ]
    for one, lengths in listed:
        for seq in lengths:
            yield Point(one, TOKENS // seq, seq)


SCORED = {
    "distance": {"score": "score - 0.01 * (q_pos - kv_idx)"},
    "cap": {"score": "30 * tanh(score / 30)"},
    "relu": {"normalize": {"weight": "relu(score)", "output": "acc / (q_pos + 1)"}},
    "decay": {"score": "score * exp((q_pos - kv_idx) * log(1 - exp2(-5 - h)))",
              "normalize": {"rows": {"l": "max(rowsum(abs(score)), 1)"}, "weight": "score",
                            "output": "acc / l"}},
}


def scored(name):
    return sweep_spec(f"scored_{name}", (128, 128), mask="causal", **SCORED[name])


def scored_points():
    """What users write between the two products."""
    for name in SCORED:
        yield Point(scored(name), TOKENS // 4096, 4096)


def later_points():
    """Tiles of very different lengths, many of a head; weights that depend on no other pair."""
    for seq in (12288, 8192):
        yield Point(sweep_spec("d128_causal", (128, 128), mask="causal"), TOKENS // seq, seq)
    for one in (sweep_spec("d128_sigmoid", (128, 128), score=SIGMOID, normalize="none"),
                scored("relu")):
        for seq in (2048, 8192):
            yield Point(one, TOKENS // seq, seq)


def gap_points():
    for name, dim in (("dilated", 128), ("others", 64), ("stripes", 128), ("global", 64)):
        yield Point(sweep_spec(f"gaps_{name}", (dim, dim), mask=name), 2, 8192)


def sweep_points():
    """In a fixed order: a point's index says whether it is held out."""
    return [*grid_points(), *other_points(), *scored_points(), *later_points(), *gap_points()]


def variant_points():
    benches = [*variant_benches(), *file_benches()]
    return [VariantPoint(i, bench) for i, bench in enumerate(benches) if not bench.yardstick]


def shape_of(one):
    return (one["warpgroups"], one["tile_kv"], one["weights"], one["overlap"],
            one.get("pack_heads", False), one.get("split_keys", False))


def first_shapes(ranking, count):
    """Of the first shapes of a ranking the best schedule, and the best with ping-pong."""
    shapes = list({shape_of(one): None for one in ranking})[:count]
    best = {}
    for one in ranking:
        if shape_of(one) in shapes:
            best.setdefault((shape_of(one), one["ping_pong"]), one)
    return list(best.values())


def short_name(one):
    """"w2_k128_s2_reg_intra_pp_pers_long": unique for a schedule, and part of a C identifier."""
    return "_".join([
        f"w{one['warpgroups']}_k{one['tile_kv']}_s{one['stages']}",
        {"registers": "reg", "shared": "smem"}[one["weights"]],
        {"intra_warpgroup": "intra", "none": "seq"}[one["overlap"]],
        "pp" if one["ping_pong"] else "free",
        {"persistent": "pers", "plain": "plain"}[one["grid"]],
        {"longest_first": "long", "linear": "lin"}[one["order"]],
        *(["packed"] if one.get("pack_heads") else []),
        *(["split"] if one.get("split_keys") else [])])


def distinct(schedules):
    return list({short_name(one): one for one in schedules}.values())
