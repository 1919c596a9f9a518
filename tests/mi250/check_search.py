"""The schedule that the search picks for MI250 is among the best by llvm-mca's account of its main loop.

For each point all schedules that fit are emitted and compiled; figure of merit are the issue slots a
wave takes for a pair of query and key, those that it cannot hide divided among the waves of its SIMD,
as the cost model has it. The pick must be within 5 % of the best.

usage: check_search.py <attngen>
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from mi250 import loops, toolchain  # noqa: E402

LONG = {"batch": 1, "seq_q": 8192, "seq_kv": 8192}
CAUSAL = "kv_idx <= q_pos"
POINTS = {  # (head_dim.qk, head_dim.v), dtype, rest
    "d128": ((128, 128), "bf16", {}),
    "d64_causal_fp16": ((64, 64), "fp16", {"mask": CAUSAL}),
    "d192_128": ((192, 128), "bf16", {"mask": CAUSAL}),
    "d256": ((256, 256), "bf16", {"mask": CAUSAL}),
    "softcap": ((128, 128), "bf16", {"mask": CAUSAL, "score": "50 * tanh(score / 50)"}),
}
TOLERANCE = 1.05


def schedules():
    for warpgroups in (1, 2, 4):
        for tile_kv in (32, 64, 128):
            yield {"warpgroups": warpgroups, "tile_kv": tile_kv, "stages": 1, "weights": "registers",
                   "overlap": "intra_warpgroup", "ping_pong": False, "grid": "plain",
                   "order": "linear"}


def emit(attngen, folder, name, schedule=None):
    """The manifest's entry, or None if the schedule does not fit."""
    command = [attngen, f"{name}.json", "--target", "mi250", "-o", "out"]
    if schedule:
        (folder / "schedule.json").write_text(json.dumps(schedule))
        command += ["--schedule", "schedule.json"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        return None
    return json.loads((folder / "out" / f"{name}.json").read_text())["targets"][0]


def merit(folder, name, entry):
    """Slots for a row of 32 queries and one key."""
    toolchain.compile_device(folder / "out" / f"{name}_mi250.hip", folder / "kernel.co")
    code = toolchain.listing(folder / "kernel.co")
    interior = min(loops.rounds(code), key=len)
    ideal = loops.MATRIX_SLOTS * loops.counts(interior)["matrix"]
    exposed = loops.slots(interior) - ideal
    return (ideal + exposed / entry["resources"]["waves_per_simd"]) / entry["schedule"]["tile_kv"]


def check_point(attngen, folder, name, point):
    head_dim, dtype, rest = point
    spec = {"attngen": 1, "name": name, "dtype": dtype, "heads": {"q": 16, "kv": 16},
            "head_dim": {"qk": head_dim[0], "v": head_dim[1]}, "workload": LONG, **rest}
    (folder / f"{name}.json").write_text(json.dumps(spec))
    picked = emit(attngen, folder, name)["schedule"]
    merits = {}
    for schedule in schedules():
        entry = emit(attngen, folder, name, schedule)
        if entry:
            tile = (64 * schedule["warpgroups"], schedule["tile_kv"])
            merits[tile] = merit(folder, name, entry)
    own = (64 * picked["warpgroups"], picked["tile_kv"])
    best = min(merits, key=merits.get)
    ratio = merits[own] / merits[best]
    print(f"{name}: picks {own[0]}x{own[1]}, {ratio:.3f} of the best, {best[0]}x{best[1]}, "
          f"of {len(merits)}", flush=True)
    return ratio <= TOLERANCE


def main():
    attngen = str(Path(sys.argv[1]).resolve())
    if lacking := toolchain.missing(("llvm-mca-15",)):
        print(f"skipped: {lacking} not found")
        return
    good = True
    for name, point in POINTS.items():
        with tempfile.TemporaryDirectory() as folder:
            good = check_point(attngen, Path(folder), name, point) and good
    sys.exit(not good)


if __name__ == "__main__":
    main()
