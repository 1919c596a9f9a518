"""What a kernel of the GPU check is made of, and the calls that it is held to the oracle on."""

import json
from dataclasses import dataclass, field, replace

HEADS = {"mha": (4, 4), "gqa4": (8, 2), "gqa8": (16, 2), "mqa": (6, 1)}
LAYOUTS = ["bshd", "bhsd"]
DTYPES = ["bf16", "fp16"]

# Constants that divide no tile, so that their edges fall inside tiles.
WINDOW = 100
PREFIX = 90
MASKS = {
    "full": None,
    "causal": "kv_idx <= q_pos",
    "window": f"kv_idx <= q_pos and q_pos - kv_idx < {WINDOW}",
    "prefix": f"kv_idx <= q_pos or kv_idx < {PREFIX}",
}
CAUSAL = MASKS["causal"]

LENGTHS = [1, 3, 64, 77, 113, 128, 197, 239, 799, 1000, 2048, 8191]
UNEQUAL = [(1, 77), (77, 1), (64, 1000), (113, 64), (239, 799), (1000, 197), (3, 2048), (128, 0)]
# Packed: sequences, and the longest; of the others some are empty.
VARLEN_QUICK = [(1, 1, 1), (7, 77, 77), (16, 300, 300), (6, 239, 239), (3, 64, 1000), (3, 128, 0)]
VARLEN = [(5, 3, 2048), (9, 1000, 1000), (4, 1000, 64), (130, 40, 40), (2500, 20, 30),
          (4, 2048, 2048), (5, 8191, 8191)]
VARLEN_SPLIT = [(1, 1, 8191), (4, 1, 8191), (9, 7, 2048), (3, 130, 5000)]
LARGE = [113, 799]  # lengths run once more with scores in the hundreds
# And at the last of them what a guess about the scores would get wrong: scores that grow by 200 along
# the row (2^288) in the order of visit, one huge score in the block visited last, huge values.
ADVERSARIAL = ["growing", "spike", "large_v"]
# The last: keys and values are the same of all batches, whose stride is 0.
STRIDES = ["default", "padded", "explicit", "swapped", "shared"]


@dataclass(frozen=True)
class Shape:
    """One call. `strides`: default (all zero), explicit, padded, or swapped (the other layout)."""

    batch: int
    seq_q: int
    seq_kv: int
    strides: str = "default"
    logits: str = "normal"  # or "large", or one of ADVERSARIAL

    def text(self):
        return f"{self.batch},{self.seq_q},{self.seq_kv},{self.strides},{self.logits}"

    @staticmethod
    def parse(text):
        batch, seq_q, seq_kv, strides, logits = text.split(",")
        return Shape(int(batch), int(seq_q), int(seq_kv), strides, logits)


@dataclass(frozen=True)
class Case:
    """One kernel: its spec, the data of its inputs (fills.FILLS), and what it is run on."""

    name: str
    spec: dict
    group: str  # base, variant, packed, split, agree, random, sanitize, bench, bench_variant, bench_storage
    fills: dict = field(default_factory=dict)
    mask: str = ""  # a key of MASKS if this is plain softmax under it
    longest: int = 8191  # inputs of seq_q x seq_kv elements do not fit beyond
    large: bool = True  # large logits keep the outputs in the range of the type
    schedule: dict = None
    # Cases with one `data` name get the same data, so that their outputs can be compared.
    data: str = ""

    def spec_text(self):
        return json.dumps(self.spec, indent=2) + "\n"

    def first_map_text(self):
        """Of two maps' sum the first alone; "" where a name says what the output is, and both have
        the same sign.
        """
        normalize = self.spec["normalize"]
        if isinstance(normalize, str):
            return ""
        first = f"({normalize['output']}) if map == 0 else 0"
        return json.dumps({**self.spec, "normalize": {**normalize, "output": first}}) + "\n"


def make_spec(name, head_dim, heads, dtype="bf16", layout="bshd", **rest):
    spec = {
        "attngen": 1,
        "name": name,
        "dtype": dtype,
        "heads": {"q": heads[0], "kv": heads[1]},
        "head_dim": {"qk": head_dim[0], "v": head_dim[1]},
        "layout": layout,
    }
    spec.update({key: value for key, value in rest.items() if value is not None})
    return spec


def tile_text(spec, given):
    """Queries x keys of a step: the warpgroups of two maps, or of two sides of values, share rows."""
    sides = 2 if "share_kv" in spec and spec["head_dim"]["v"] > 256 else 1
    rows = 64 * given["warpgroups"] // (spec.get("maps", 1) * sides)
    return f"{rows}x{given['tile_kv']}, {given['stages']}"


def dim_text(head_dim):
    qk, v = head_dim
    return f"d{qk}" if qk == v else f"d{qk}v{v}"


def schedule(warpgroups, tile_kv, stages, weights="registers", overlap="intra_warpgroup",
             ping_pong=True, grid="persistent", order="linear"):
    return {"warpgroups": warpgroups, "tile_kv": tile_kv, "stages": stages, "weights": weights,
            "overlap": overlap, "ping_pong": ping_pong, "grid": grid, "order": order}


def shapes_of(case, quick=False):
    """The calls of a case, each once: of those of any lengths what the spec fixes is replaced."""
    fixed = case.spec.get("fixed", {})
    return list(dict.fromkeys(replace(shape, **fixed) for shape in free_shapes_of(case, quick)))


def free_shapes_of(case, quick):
    """Lengths, and in turn the kinds of strides."""
    if case.spec.get("varlen"):
        more = VARLEN_SPLIT if case.group == "split" else []
        return [Shape(*one, STRIDES[i % len(STRIDES)])
                for i, one in enumerate(VARLEN_QUICK if quick else VARLEN_QUICK + VARLEN + more)]
    pairs = [(n, n) for n in LENGTHS] + UNEQUAL
    if quick:
        pairs = [(1, 1), (77, 77), (128, 128), (239, 239), (1000, 1000), (64, 1000), (113, 64),
                 (128, 0)]
    elif case.group == "packed":
        pairs = [(1, 1), (1, 77), (3, 2048), (7, 799), (16, 8191), (17, 239), (64, 1000), (77, 77),
                 (113, 64), (128, 128), (128, 0), (239, 239), (1000, 1000)]
    elif case.group == "split":
        pairs = [(1, 8191), (1, 2048), (3, 5000), (17, 2048), (130, 3001), (300, 1500), (1, 77), (64, 1000),
                 (113, 64), (239, 239), (128, 0), (1000, 1000)]
    elif case.group == "agree":
        pairs = [(77, 77), (239, 239), (1000, 1000), (64, 1000), (113, 64), (2048, 2048)]
    # Every case starts the cycle of strides elsewhere.
    turn = sum(case.data.encode())
    shapes = []
    for i, (seq_q, seq_kv) in enumerate(pairs):
        if max(seq_q, seq_kv) > case.longest:
            continue
        longer = max(seq_q, seq_kv)
        batch = 3 if longer <= 128 else 2 if longer <= 1000 else 1
        shapes.append(Shape(batch, seq_q, seq_kv, STRIDES[(turn + i) % len(STRIDES)]))
    if case.large and not quick:
        shapes += [Shape(2, n, n, STRIDES[turn % len(STRIDES)], "large") for n in LARGE]
        shapes += [Shape(1, LARGE[-1], LARGE[-1], STRIDES[turn % len(STRIDES)], kind)
                   for kind in ADVERSARIAL]
    return shapes
