#!/usr/bin/env python3
"""Where the time of an MI250 kernel's main loop goes, without the card.

  scripts/mi250_timing.py generated/mi250/*.hip
  scripts/mi250_timing.py --stalls --json out.json build/x_mi250.hip

Compiles for gfx90a with clang-15 and asks llvm-mca-15 how many issue slots (4 clk) one wave of 32
queries takes for a step of the main loop, with the corrections that it needs: an exponential takes
4 slots (it charges 1), s_nop N takes N + 1, and a load by a 64-bit address is waited for as memory
alone (it has it waited for as LDS too). A 32x32x8 matrix instruction keeps its unit
busy for 16 slots, so 16 slots a product are ideal. The tool models one wave in order: no other
waves, no LDS bandwidth, no real memory latency. Ratios between kernels mean something, absolute
times do not.

`interior` is the shortest way through the main loops, a block of keys that no mask cuts, in which no
maximum moves; `edge` the longest that raises no maximum: a block that the mask cuts.

What llvm-mca does not see, the interpreter counts from real addresses: bank conflicts of the main
loop's LDS reads and writes, in cycles beyond those without, and 64-byte transactions of its loads;
each a step of one wave. The interpreter, mi250_check, must be built (`cmake --preset release`,
`cmake --build --preset release --target mi250_check`), or left out by --without-counts. A kernel
needs its manifest beside it and its spec in the folder of --specs, or has no counts.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from mi250 import loops, toolchain  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
REGISTERS, SIMDS, LDS = 512, 4, 65536


def waves_per_simd(notes):
    """By registers and LDS, of a kernel whose blocks have `max_flat_workgroup_size` threads."""
    waves = max(1, notes["max_flat_workgroup_size"] // 64)
    by_registers = SIMDS * (REGISTERS // (-(-notes["vgpr_count"] // 8) * 8)) // waves
    blocks = min(by_registers, LDS // max(1, notes["group_segment_fixed_size"]))
    return blocks * waves / SIMDS


def is_raise(path):
    """A maximum that moves is exchanged between lanes."""
    return any(text.startswith("ds_bpermute") for text in path)


def counted(source, code_object, args):
    """The interpreter's counts of a main loop's step, or {} if not wanted or without the spec."""
    source = Path(source)
    name = source.stem.removesuffix("_mi250")
    manifest, spec = source.with_name(f"{name}.json"), Path(args.specs) / f"{name}.yaml"
    if args.without_counts or not (manifest.exists() and spec.exists()):
        return {}
    result = subprocess.run([args.check, spec, manifest, code_object, "--main-loop", "--pairs", "1",
                             "--shape", args.shape], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"{source}: {result.stdout}{result.stderr}")
    return json.loads(result.stdout.splitlines()[0])


def measure(source, args):
    with tempfile.TemporaryDirectory() as folder:
        code_object = Path(folder) / "kernel.co"
        toolchain.compile_device(source, code_object)
        notes, code = toolchain.notes(code_object), toolchain.listing(code_object)
        counters = counted(source, code_object, args)
    ways = loops.rounds(code)
    ways = [way for way in ways if not is_raise(way)] or ways
    interior, edge = min(ways, key=len), max(ways, key=len)
    count = loops.counts(interior)
    result = {"kernel": Path(source).stem, "registers": notes["vgpr_count"],
              "accumulators": notes.get("agpr_count", 0), "lds": notes["group_segment_fixed_size"],
              "waves": waves_per_simd(notes), **count, "slots": loops.slots(interior)}
    result["slots_per_product"] = result["slots"] / count["matrix"]
    result["share"] = loops.MATRIX_SLOTS / result["slots_per_product"]
    result["edge"] = (loops.slots(edge) if edge is not interior else result["slots"]) / result["slots"]
    result.update(counters)
    if args.stalls:
        result["vmem_stall"] = result["slots"] - loops.slots(interior, ("vmcnt",))
        result["lds_stall"] = result["slots"] - loops.slots(interior, ("lgkmcnt",))
        result["floor"] = loops.slots(interior, ("vmcnt", "lgkmcnt"))
    return result


TITLES = ("| kernel | registers | LDS KiB | waves/SIMD | MFMA | VALU | exp | LDS r/w | waits/barriers "
          "| slots | per MFMA | MFMA share | edge | conflicts r/w | 64 B |")


def row(r):
    memory = (f"{r['lds_read_conflicts']:g}/{r['lds_write_conflicts']:g} | {r['transactions_64']:g}"
              if "rounds" in r else "- | -")
    return (f"| {r['kernel']} | {r['registers']} | {r['lds'] / 1024:g} | {r['waves']:g} | {r['matrix']} "
            f"| {r['valu']} | {r['special']} | {r['lds_reads']}/{r['lds_writes']} "
            f"| {r['waits']}/{r['barriers']} | {r['slots']:.0f} | {r['slots_per_product']:.2f} "
            f"| {100 * r['share']:.0f} % | {r['edge']:.2f} "
            f"| {memory} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="+", help=".hip files")
    parser.add_argument("--stalls", action="store_true", help="and what waits for memory and LDS")
    parser.add_argument("--check", default=ROOT / "build/release/tests/mi250/mi250_check",
                        help="the program that runs the interpreter")
    parser.add_argument("--without-counts", action="store_true",
                        help="leave out what the interpreter counts: the last two columns")
    parser.add_argument("--specs", default=ROOT / "specs/models", help="a folder of <kernel>.yaml")
    parser.add_argument("--shape", default="1,512,512", help="batch,seq_q,seq_kv that it runs")
    parser.add_argument("--json", help="a file for all figures")
    args = parser.parse_args()
    if lacking := toolchain.missing(("llvm-mca-15",)):
        sys.exit(f"not found: {lacking}")
    if not args.without_counts and not Path(args.check).exists():
        sys.exit(f"not found: {args.check}, which counts for the last two columns\n"
                 "build it: cmake --preset release && "
                 "cmake --build --preset release --target mi250_check\n"
                 "or leave them out: --without-counts")
    print(TITLES)
    print("|---" * (TITLES.count("|") - 1) + "|")
    results = []
    for source in args.sources:
        results.append(measure(source, args))
        print(row(results[-1]), flush=True)
    if args.stalls:
        for r in results:
            print(f"{r['kernel']}: {r['vmem_stall']:.0f} slots wait for memory, {r['lds_stall']:.0f} "
                  f"for LDS; {r['floor']:.0f} are left without either")
    if args.json:
        Path(args.json).write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
