"""Random valid specs for Hopper, held to the oracle on the emulator (hold/random_check.py).

usage: check_random.py <attngen> <check> <c++> <folder> [--count N] [--seed S] [--only I] [--keep FOLDER]
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests" / "hold")]
from gpu.random_hopper import draw  # noqa: E402
from generate import generate  # noqa: E402
from random_check import Result, add_options, fill_options, run  # noqa: E402
from to_host import library_command, to_host  # noqa: E402

MOST_SECONDS = 300  # of one spec's calls: a kernel that waits for good says so itself, much sooner


def compile_host(args, drawn, folder):
    """The compiler's errors."""
    (folder / "emulated.cpp").write_text(to_host((folder / "emulated_h100.cu").read_text()))
    command = [*library_command(args.compiler, drawn.spec["dtype"], args.folder), "-shared",
               "emulated.cpp", "-o", "emulated.so"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stderr


def hold(args, drawn, seed, folder):
    generated = generate(args.attngen, "h100", drawn.spec, drawn.schedule, folder)
    if generated.returncode != 0:
        return Result(generated.returncode, generated.stderr)
    if errors := compile_host(args, drawn, folder):
        return Result(problems=errors)
    command = [args.check, "spec.json", "emulated.json", folder / "emulated.so", *drawn.shapes,
               "--seed", str(seed), *fill_options(drawn.fills)]
    try:
        result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False,
                                timeout=MOST_SECONDS)
    except subprocess.TimeoutExpired:
        return Result(problems=f"no end after {MOST_SECONDS} s")
    if result.returncode == 0:
        return Result()
    return Result(problems=f"{result.stdout}{result.stderr}check ended with {result.returncode}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("attngen", type=lambda p: str(Path(p).resolve()))
    parser.add_argument("check", type=lambda p: str(Path(p).resolve()))
    parser.add_argument("compiler")
    parser.add_argument("folder", type=lambda p: Path(p).resolve(),
                        help="folder of the emulator's header as to_host.py precompiles it, if so")
    parser.add_argument("--keep", type=Path, help="a folder for what is generated, with --only")
    add_options(parser)
    args = parser.parse_args()

    def hold_in_folder(drawn, seed):
        if args.keep:
            args.keep.mkdir(parents=True, exist_ok=True)
            return hold(args, drawn, seed, args.keep.resolve())
        with tempfile.TemporaryDirectory() as folder:
            return hold(args, drawn, seed, Path(folder))

    return run(args, draw, hold_in_folder)


if __name__ == "__main__":
    sys.exit(main())
