#!/usr/bin/env python3
"""Generates and compiles the kernels that scripts/gpu_check.py, bench_gpu.py, bench_variants.py,
bench_storage.py and gpu_sanitize.sh run, into build-gpu/. Needs nvcc and no GPU; the folder can then
be carried to a machine with one.

  scripts/build_gpu_cases.py                    builds attngen and the oracle first (preset release)
  scripts/build_gpu_cases.py --filter alibi     only these kernels; the others stay as they are
  scripts/build_gpu_cases.py --specs mine/*.yaml --out build-mine    specs of yours, for gpu_check.py
                                                and bench_specs.py
"""

import argparse
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
from gpu import own_specs  # noqa: E402
from gpu.cases import GROUPS, all_cases  # noqa: E402
from gpu.file_benches import file_benches  # noqa: E402
from gpu.forward import bench_cases  # noqa: E402
from gpu.storage import (decode_benches, list_benches, packed_list_benches,  # noqa: E402
                         paged_benches, selected_benches, storage_benches)
from gpu.variant_benches import variant_benches  # noqa: E402

NVCC_FLAGS = ["-std=c++17", "-O3", "-gencode", "arch=compute_90a,code=sm_90a"]
BENCH_GROUPS = ["bench", "bench_variant", "bench_storage"]
# Kernels that the sanitizer runs: the driver calls them by name.
SANITIZE = ["sanitize_full", "sanitize_causal", "sanitize_window", "sanitize_sigmoid",
            "sanitize_maps", "sanitize_bias", "sanitize_far", "sanitize_wide", "sanitize_sparse",
            "sanitize_selected", "sanitize_lists", "sanitize_listed", "sanitize_paged",
            "sanitize_strips", "sanitize_nearest", "sanitize_tables", "sanitize_shifted",
            "sanitize_ids", "sanitize_mask", "sanitize_bits", "sanitize_split", "sanitize_heads",
            "sanitize_maps_split", "sanitize_latent", "sanitize_sides"]
SANITIZE_DRIVER = ROOT / "tests" / "gpu" / "sanitize_driver.cpp"
CEILINGS = ROOT / "scripts" / "gpu" / "ceilings.cu"  # of bench_ceilings.py


def options():
    parser = argparse.ArgumentParser(description="Builds the kernels of the GPU scripts.")
    parser.add_argument("--out", type=Path, default=ROOT / "build-gpu")
    parser.add_argument("--attngen", type=Path, help="the generator; default: builds it")
    parser.add_argument("--commit", help="of --attngen; default: this tree's")
    parser.add_argument("--oracle", type=Path, help="the oracle's library; default: builds it")
    parser.add_argument("--target", default="h200")
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--filter", default="", help="only cases whose name contains this")
    parser.add_argument("--group", default="", choices=[*GROUPS, *BENCH_GROUPS],
                        help="only this group")
    parser.add_argument("--draw", default="", metavar="SEED:COUNT", help="so many random specs of "
                        "another draw, and nothing else; wants an --out of its own")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--specs", type=Path, nargs="+", default=[], metavar="FILE",
                        help="specs of yours, and nothing else; want an --out of their own")
    parser.add_argument("--fill", nargs="+", default=[], metavar="INPUT=HOW", type=own_specs.fill_of,
                        help="what inputs of --specs hold, a number or a name of scripts/gpu/fills.py, "
                        "where the guess by type and shape will not do: window=1024 doc=documents")
    args = parser.parse_args()
    if args.draw and not re.fullmatch(r"[a-z0-9]+:[0-9]+", args.draw):
        parser.error(f"--draw {args.draw}: want a seed and a count, as 7:100")
    return args


def run(command, **more):
    return subprocess.run([str(c) for c in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, **more)


def build_host(args):
    """The generator and the oracle's library, unless both are given."""
    if not (args.attngen and args.oracle):
        for command in (["cmake", "--preset", "release"],
                        ["cmake", "--build", "--preset", "release", "--target", "attngen",
                         "attngen_oracle"]):
            done = run(command, cwd=ROOT)
            if done.returncode:
                sys.exit(done.stdout)
    release = ROOT / "build" / "release"
    args.attngen = args.attngen or find_one(release, "attngen")
    args.oracle = args.oracle or find_one(release, "libattngen_oracle.so")
    for path in (args.attngen, args.oracle):  # before minutes of compiling
        if not Path(path).is_file():
            sys.exit(f"build_gpu_cases: no such file: {path}")


def find_one(folder, name):
    found = [p for p in folder.rglob(name) if p.is_file()]
    if not found:
        sys.exit(f"{folder}: no {name}")
    return found[0]


def read_own(args):
    """The cases of --specs, which the generator has found right: its errors say where they are not."""
    if not args.specs:
        return []
    with tempfile.TemporaryDirectory() as folder:
        done = run([args.attngen, *args.specs, "-o", folder, "--target", args.target])
    if done.returncode:
        sys.exit(done.stdout)
    try:
        return own_specs.read_cases(args.specs, args.fill)
    except ValueError as error:
        sys.exit(f"build_gpu_cases: {error}")


def generate(case, args):
    """Runs attngen in the case's folder. Returns what it printed if it refused."""
    folder = args.out / "kernels" / case.name
    folder.mkdir(parents=True, exist_ok=True)
    spec = folder / "spec.json"
    spec.write_text(case.spec_text())
    command = [args.attngen, spec, "-o", folder, "--target", args.target]
    if case.schedule:
        (folder / "schedule.json").write_text(json.dumps(case.schedule) + "\n")
        command += ["--schedule", folder / "schedule.json"]
    done = run(command)
    return folder, "" if done.returncode == 0 else done.stdout.strip()


@functools.cache
def nvcc_version(nvcc):
    return run([nvcc, "--version"]).stdout


def compile_library(source, library, args):
    """Skips what is newer than its source and was compiled so: attngen leaves equal files untouched."""
    log, stamp = library.with_suffix(".log"), library.with_suffix(".stamp")
    # The CUDA runtime stays shared, so that a library is small and PyTorch's own serves.
    command = [args.nvcc, *NVCC_FLAGS, "-Xcompiler", "-fPIC", "-shared", "-cudart", "shared",
               "-Xlinker", "-s", "-Xptxas", "-v", source, "-o", library]
    how = " ".join(map(str, command)) + "\n" + nvcc_version(args.nvcc)
    if (library.exists() and library.stat().st_mtime > source.stat().st_mtime
            and stamp.exists() and stamp.read_text() == how):
        return ""
    done = run(command)
    log.write_text(done.stdout)
    if done.returncode:
        return f"nvcc: {done.stdout.strip()[-2000:]}"
    stamp.write_text(how)
    return ""


def compiler_notes(log):
    """What costs speed: spills, and matrix instructions that ptxas serialised."""
    notes = [f"{a} bytes of spill stores, {b} of spill loads" for a, b in
             re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads", log)
             if (a, b) != ("0", "0")]
    return notes + sorted(set(re.findall(r"\(C75\d\d\)[^\n]*", log)))


def build(case, args):
    entry = {"name": case.name, "group": case.group, "commit": args.commit, "target": args.target}
    folder, error = generate(case, args)
    if not error:
        source = folder / f"{case.name}_{args.target}.cu"
        library = folder / f"{case.name}.so"
        error = compile_library(source, library, args)
    if error:
        entry["error"] = error
        print(f"FAIL {case.name}: {error}", flush=True)
        return entry
    notes = compiler_notes(library.with_suffix(".log").read_text())
    print(f"{'note' if notes else 'ok  '} {case.name} {'; '.join(notes)}".rstrip(), flush=True)
    manifest = folder / f"{case.name}.json"
    chosen = json.loads(manifest.read_text())["targets"][0]
    return {**entry, "library": str(library.relative_to(args.out)),
            "manifest": str(manifest.relative_to(args.out)), "schedule": chosen["schedule"],
            "predicted": chosen["predicted"], **({"notes": notes} if notes else {})}


def build_sanitize_driver(entries, args):
    """One program of a few kernels, with line numbers. Their C entry points are linked in. Returns
    whether that failed."""
    built = {entry["name"]: entry for entry in entries}
    if any(name not in built for name in SANITIZE):
        return False  # not asked for
    driver = args.out / "sanitize_driver"
    driver.unlink(missing_ok=True)  # an old one would be run in its place
    if any("library" not in built[name] for name in SANITIZE):
        return True
    folders = [args.out / "kernels" / name for name in SANITIZE]
    sources = [folder / f"{folder.name}_{args.target}.cu" for folder in folders]
    includes = [flag for folder in folders for flag in ("-I", folder)]
    done = run([args.nvcc, "-std=c++20", *NVCC_FLAGS[1:], "-lineinfo", *includes, SANITIZE_DRIVER,
                *sources, "-o", driver])
    print(f"FAIL sanitize_driver: {done.stdout.strip()}" if done.returncode
          else "ok   sanitize_driver")
    return done.returncode != 0


def build_ceilings(args):
    """Returns an error, or nothing."""
    error = compile_library(CEILINGS, args.out / "ceilings.so", args)
    print(f"FAIL ceilings: {error}" if error else "ok   ceilings")
    return error


def commit():
    done = run(["git", "describe", "--always", "--abbrev=40", "--dirty"], cwd=ROOT)
    return done.stdout.strip() if done.returncode == 0 else ""


def main():
    args = options()
    args.out = args.out.resolve()
    args.out.mkdir(parents=True, exist_ok=True)
    build_host(args)
    args.commit = args.commit or commit()
    index_path = args.out / "index.json"
    index = json.loads(index_path.read_text()) if index_path.exists() else {"cases": []}
    benches = [*bench_cases(), *variant_benches(), *file_benches(), *storage_benches(),
               *decode_benches(), *selected_benches(), *list_benches(), *packed_list_benches(),
               *paged_benches()]
    own = read_own(args)
    cases = own or all_cases(args.draw) + ([] if args.draw else [bench.case() for bench in benches])
    chosen = [c for c in cases if args.filter in c.name and args.group in ("", c.group)]
    began = time.monotonic()
    with ThreadPoolExecutor(args.jobs) as pool:
        entries = list(pool.map(lambda case: build(case, args), chosen))
    known = {case.name for case in cases}
    fresh = {entry["name"]: entry for entry in entries}
    before = {key: index.get(key, "") for key in ("commit", "target")}  # of an index without its own
    kept = [{**before, **e} for e in index["cases"] if e["name"] in known and e["name"] not in fresh]
    if args.oracle.resolve() != args.out / args.oracle.name:
        shutil.copy2(args.oracle, args.out / args.oracle.name)
    # These are of this call: kernels that it kept have their own.
    index = {"commit": args.commit, "target": args.target, "draw": args.draw,
             "specs": own_specs.to_index(own), "oracle": args.oracle.name,
             "cases": sorted([*kept, *entries], key=lambda e: e["name"])}
    index_path.write_text(json.dumps(index, indent=1) + "\n")
    others_failed = build_sanitize_driver(entries, args)
    if not (args.draw or own) and args.group in ("", "bench_storage") and build_ceilings(args):
        others_failed = True
    failed = sum("error" in entry for entry in entries)
    size = sum(f.stat().st_size for f in args.out.rglob("*") if f.is_file())
    print(f"{len(entries) - failed} kernels in {args.out.name}, {failed} failed, "
          f"{time.monotonic() - began:.0f} s, {size / 2**20:.0f} MiB")
    return 1 if failed or others_failed else 0


if __name__ == "__main__":
    sys.exit(main())
