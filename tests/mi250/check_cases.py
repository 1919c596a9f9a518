"""Holds MI250 kernels to the oracle: generates, compiles, and runs each case in the interpreter.

The cases are those of the GPU check (scripts/gpu/cases.py), in shapes that an interpreter can afford.

usage: check_cases.py <attngen> <mi250_check> [--filter TEXT] [--part I/N] [--full] [--jobs N]
"""

import argparse
import concurrent.futures
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from gpu.cases import base_cases  # noqa: E402
from gpu.schedule_cases import agree_cases, packed_cases, walk_cases  # noqa: E402
from gpu.variant_cases import variant_cases  # noqa: E402
from hold import Tools, hold  # noqa: E402
from mi250 import toolchain  # noqa: E402

SHAPES = [(1, 77, 77), (2, 33, 130), (1, 150, 300)]
FULL_SHAPES = [(3, 1, 1), (1, 64, 64), (3, 77, 1), (2, 113, 64), (1, 3, 2048), (2, 128, 0),
               (2, 239, 799), (1, 1000, 1000)]

# Packed sequences: none of queries, none of keys, one of NaN; more than a tile; many; wild offsets.
SEQUENCES = ["33x130+70x77+150x64", "1x1", "77x33+0x50+3x0+65x200+128x128", "+".join(["9x7"] * 12),
             "wild:0x0+0x0+150x130+0x0+0x0"]

# Of blocks that are kept: several rows of them, and columns; more than the 64 that are looked at at once.
SPARSE_SHAPES = [(1, 150, 300), (2, 333, 700), (1, 70, 0), (1, 64, 4500)]

# Of heads packed into a tile: half a wave, waves without a row, a second tile.
PACKED_SHAPES = [(2, 1, 300), (1, 3, 77), (2, 17, 130)]

SCHEDULES = [{"warpgroups": warpgroups, "tile_kv": tile_kv, "stages": 1, "weights": "registers",
              "overlap": "intra_warpgroup", "ping_pong": False, "grid": "plain", "order": order}
             for warpgroups, tile_kv, order in [(1, 32, "linear"), (1, 64, "longest_first"),
                                                (2, 32, "longest_first"), (2, 128, "linear"),
                                                (4, 64, "longest_first"), (4, 32, "linear")]]


# Scores below -2.3e38 count as -inf there.
LEAST = ["added_least"]


def is_emitted(spec):
    """What this family refuses is tests/emit's to test."""
    blocks = spec.get("blocks")
    by_rows = blocks is None or (not spec.get("varlen")
                                 and blocks.get("queries", blocks["size"]) % 64 == 0)
    return (by_rows and not {"maps", "tokens", "share_kv"} & set(spec)
            and max(spec["head_dim"].values()) <= 256)


# The waves meet before the first product of queries and keys.
SHORT = {"attngen": 1, "dtype": "fp16", "heads": {"q": 2, "kv": 1}, "head_dim": {"qk": 16, "v": 16},
         "mask": "kv_idx <= q_pos"}

# The kernel's argument ends in single bytes: an input's, and no saved value's.
BYTE = {"attngen": 1, "name": "byte", "dtype": "bf16", "heads": {"q": 2, "kv": 1},
        "head_dim": {"qk": 32, "v": 32}, "inputs": {"first": {"dtype": "u8", "shape": []}},
        "mask": "kv_idx >= first", "normalize": {"weight": "sigmoid(score)"}}

# Weights that the matrix instructions would take for zero; of a sum those of 0.03 and more.
SMALL = {"attngen": 1, "name": "small", "dtype": "fp16", "heads": {"q": 2, "kv": 1},
         "head_dim": {"qk": 64, "v": 64}, "inputs": {"bias": {"dtype": "f32", "shape": []}},
         "normalize": {"weight": "sigmoid(score + bias)"}}
SHARES = {**SMALL, "name": "shares", "normalize": {
    "rows": {"l": "rowsum(sigmoid(score + bias))"}, "weight": "sigmoid(score + bias)",
    "output": "acc / l", "save": {"l": "l"}}}

# Each lane loads biases of its own row's head.
BIAS = {"attngen": 1, "name": "packed_bias", "dtype": "fp16", "heads": {"q": 4, "kv": 2},
        "head_dim": {"qk": 64, "v": 64}, "mask": "kv_idx <= q_pos",
        "inputs": {"bias": {"dtype": "f32", "shape": ["heads", "seq_q", "seq_kv"]}},
        "score": "score + bias[h, q_idx, kv_idx]"}


# Caches in pages: of one key, of parts of a tile, of no multiple of one and of none of the other, of
# whole tiles. Some sequences share pages, and some numbers in the table are of none.
PAGES = {"attngen": 1, "heads": {"q": 4, "kv": 2}, "head_dim": {"qk": 64, "v": 72},
         "mask": "kv_idx <= q_pos"}
PAGE_SIZES = (1, 16, 48, 64, 128)


# What Hopper's kernels do in many ways and this family's in one: one case in four.
IN_ONE_WAY = ("asked_", "documents_", "far_", "gated_", "kept", "positions_", "sparse_", "strip", "tables_")
# All masks at these head dims; at others the two that cut blocks.
ALL_MASKS = ("d40_", "d64_", "d128_", "d256_")


def told_apart(cases):
    alike = [case.name for case in cases if case.name.startswith(IN_ONE_WAY)]
    left_out = {name for i, name in enumerate(alike) if i % 4 != 0}
    return [case for case in cases if case.name not in left_out]


def mi250_cases(full=False):
    """(name, spec, fills, schedule, longest length, large logits are right)"""
    walks = [case for case in walk_cases() if case.name.endswith("_s0")]
    base = [case for case in base_cases()
            if case.name.startswith(ALL_MASKS) or case.mask in ("causal", "window")]
    for case in [*base, *told_apart(list(variant_cases())), *walks]:
        if is_emitted(case.spec) and case.name not in LEAST:
            yield case.name, case.spec, case.fills, None, case.longest, case.large
    yield "byte", BYTE, {"first": {"value": 7}}, SCHEDULES[1], 8191, True
    for spec in SMALL, SHARES:
        bias = -3 if spec is SHARES else -11
        yield spec["name"], spec, {"bias": {"value": bias}}, None, 8191, True
    for case in agree_cases():
        if not case.name.endswith("_s0"):
            continue
        for i, schedule in enumerate(SCHEDULES):
            if schedule["tile_kv"] == 128 and case.spec["head_dim"]["qk"] > 64:
                continue  # does not fit
            name = f"{case.data}_m{i}"
            yield name, {**case.spec, "name": name}, {}, schedule, 8191, True
    for i, schedule in enumerate(SCHEDULES):
        name = f"d16_m{i}"
        yield name, {**SHORT, "name": name}, {}, schedule, 8191, True
    yield from packed_heads()
    yield from pages(full)


def pages(full):
    """Sizes by schedules, of which without `full` each size has one."""
    for i, size in enumerate(PAGE_SIZES):
        for j, schedule in enumerate(SCHEDULES):
            if not full and j != i:
                continue
            name = f"pages_{size}_m{j}"
            storage = {"dtype": ("fp16", "bf16")[(i + j // 2) % 2], "varlen": j % 2 == 1,
                       "layout": ("bshd", "bhsd")[(i + j) // 2 % 2], "kv_cache": {"paged": size}}
            yield name, {**PAGES, **storage, "name": name}, {}, schedule, 8191, True


def packed_heads():
    """Query heads packed into a tile: this family's schedules in the place of Hopper's."""
    for i, case in enumerate(packed_cases()):
        wide = case.spec["head_dim"]["qk"] > 64
        if not is_emitted(case.spec) or "split_keys" in case.schedule:
            continue
        if wide and case.mask in ("full", "window") or "gqa8_d64" in case.name:
            continue  # the narrow ones do, and other groups of 8
        # Of the wide ones 128 keys do not fit.
        schedule = SCHEDULES[(0, 1, 2, 4, 5)[i % 5] if wide else i % len(SCHEDULES)]
        yield (case.name, case.spec, case.fills, {**schedule, "pack_heads": True}, case.longest,
               case.large)
    schedule = {**SCHEDULES[1], "pack_heads": True}
    yield "packed_bias", BIAS, {"bias": {"fill": "normal"}}, schedule, 8191, True


def shapes_of(name, spec, packed, longest, large, full):
    """As mi250_check takes them; every case starts the cycle of strides elsewhere."""
    turn = sum(name.encode())
    if spec.get("varlen"):
        for i, sequences in enumerate(SEQUENCES):
            yield f"{sequences},{('default', 'padded', 'swapped', 'shared')[(turn + i) % 4]}"
        return
    shapes = (SPARSE_SHAPES if "blocks" in spec else PACKED_SHAPES if packed else SHAPES) + (
        FULL_SHAPES if full else [])
    for i, (batch, seq_q, seq_kv) in enumerate(shapes):
        strides = ("default", "padded", "swapped", "shared")[(turn + i) % 4]
        if max(seq_q, seq_kv) <= longest:
            yield f"{batch},{seq_q},{seq_kv},{strides}"
    if large:
        yield f"1,{13 if packed else 113},190,default,large"


def run_case(case, args):
    """What went wrong, or ""."""
    name, spec, fills, schedule, longest, large = case
    packed = schedule is not None and schedule.get("pack_heads", False)
    result = hold(Tools(args.attngen, args.check), spec, fills, schedule,
                  shapes_of(name, spec, packed, longest, large, args.full), args.seed,
                  ["--conflict-free"])
    if result.status != 0:
        return f"{name}: {result.errors}"
    return f"{name}: {result.spilled} registers spilled" if result.spilled else result.problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("attngen", type=lambda p: str(Path(p).resolve()))
    parser.add_argument("check", type=lambda p: str(Path(p).resolve()))
    parser.add_argument("--filter", default="")
    parser.add_argument("--part", default="0/1", help="of the cases: those whose number is I mod N")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    if lacking := toolchain.missing():
        print(f"skipped: {lacking} not found")
        return 0
    part, parts = map(int, args.part.split("/"))
    cases = [case for i, case in enumerate(mi250_cases(args.full))
             if i % parts == part and args.filter in case[0]]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for problem in pool.map(lambda case: run_case(case, args), cases):
            if problem:
                failed += 1
                print(problem, flush=True)
    print(f"{len(cases)} kernels, {failed} with problems, seed {args.seed}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
