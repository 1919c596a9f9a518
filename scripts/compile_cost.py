#!/usr/bin/env python3
"""Measures what it costs to compile each emitted kernel, and to generate each spec's.

  scripts/compile_cost.py                      the kernels of generated/, the specs of specs/models
  scripts/compile_cost.py --check              exit status 1 if any exceeds its limit
  scripts/compile_cost.py --kernels folder --specs folder --attngen build/release/attngen

One command at a time; of --runs runs the least wall and CPU (user + system) time, since other work
on the machine only adds to them, and the most memory. Limits are of wall time. Memory is of the
whole process tree: the resident sizes summed every few milliseconds, and never less than the
largest process by the system's account (wait4's ru_maxrss). Pages that processes share count once
for each, so that it errs upwards. The account starts at this script's own size, some 20 MB: a
program that needs less shows as that.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
from build_gpu_cases import NVCC_FLAGS, find_one  # noqa: E402

SAMPLE_SECONDS = 0.005
MB = 1e6


class Cost(NamedTuple):
    wall: float  # seconds
    cpu: float  # seconds, user + system, of all processes
    memory: float  # bytes

    def exceeds(self, limit):
        return self.wall > limit.wall or self.memory > limit.memory


COMPILE_LIMIT = Cost(5, 5, 1000 * MB)
GENERATE_LIMIT = Cost(0.2, 0.2, 100 * MB)


def resident_bytes(pid):
    """Of a process and its descendants. One that has just ended counts nothing."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(resident_bytes(child) for child in children)


def measure(command):
    """Runs a command; exits with its output if it fails."""
    with tempfile.TemporaryFile("w+") as output:
        began = time.perf_counter()
        process = subprocess.Popen([str(c) for c in command], stdout=output,
                                   stderr=subprocess.STDOUT)
        ended, samples = threading.Event(), [0]

        def sample():
            while not ended.wait(SAMPLE_SECONDS):
                samples.append(resident_bytes(process.pid))

        sampler = threading.Thread(target=sample)
        sampler.start()
        _, status, usage = os.wait4(process.pid, 0)  # of the process and all that it waited for
        wall = time.perf_counter() - began
        ended.set()
        sampler.join()
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            output.seek(0)
            sys.exit(f"{' '.join(map(str, command))}\n{output.read()}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, max(usage.ru_maxrss * 1024, *samples))


def best(command, runs):
    costs = [measure(command) for _ in range(runs)]
    return Cost(min(c.wall for c in costs), min(c.cpu for c in costs),
                max(c.memory for c in costs))


def table(title, paths, limit, runs, command):
    """Prints a Markdown table of the files. Returns those that exceed the limit."""
    print(f"| {title} | lines | wall, s | CPU, s | memory, MB |\n|---|---|---|---|---|")
    exceeding = []
    for path in paths:
        cost = best(command(path), runs)
        lines = len(path.read_text().splitlines())
        digits = 1 if limit.wall > 1 else 3
        print(f"| {path.stem} | {lines} | {cost.wall:.{digits}f} | {cost.cpu:.{digits}f} | "
              f"{cost.memory / MB:.0f} |", flush=True)
        if cost.exceeds(limit):
            exceeding.append(f"{path.name}: more than {limit.wall} s or {limit.memory / MB:.0f} MB")
    print()
    return exceeding


def options():
    parser = argparse.ArgumentParser(description="Measures what generating and compiling cost.")
    parser.add_argument("--kernels", type=Path, default=ROOT / "generated")
    parser.add_argument("--specs", type=Path, default=ROOT / "specs" / "models")
    parser.add_argument("--attngen", type=Path, help="default: that of the preset release")
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--check", action="store_true",
                        help="fail beyond 5 s or 1 GB a kernel, 0.2 s or 100 MB a spec")
    return parser.parse_args()


def main():
    args = options()
    attngen = args.attngen or find_one(ROOT / "build" / "release", "attngen")
    kernels, specs = sorted(args.kernels.glob("*.cu")), sorted(args.specs.glob("*.yaml"))
    if not kernels or not specs:
        sys.exit(f"no kernels in {args.kernels}, or no specs in {args.specs}")
    with tempfile.TemporaryDirectory() as folder:
        exceeding = table("nvcc -O3, sm_90a", kernels, COMPILE_LIMIT, args.runs, lambda kernel: [
            args.nvcc, *NVCC_FLAGS, "-c", kernel, "-o", Path(folder) / "kernel.o"])
        # A folder of its own for each, so that nothing is there to be compared with.
        exceeding += table("attngen", specs, GENERATE_LIMIT, args.runs, lambda spec: [
            attngen, spec, "-o", Path(folder) / spec.stem])
    for text in exceeding:
        print(f"LIMIT {text}")
    return 1 if args.check and exceeding else 0


if __name__ == "__main__":
    sys.exit(main())
