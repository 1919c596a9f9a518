"""Random valid specs for MI250, held to the oracle in the interpreter.

A spec that attngen refuses must be refused by an error that names its place (exit status 1), or for
want of a schedule that fits (3), which only a drawn schedule may cause. A kernel may spill, since the
search estimates the registers of the user's functions; it is not run then. At most a few of either.
The seed is that of --seed, or ATTNGEN_SEED, or else it comes from the commit: one commit always runs
the same specs, the next one others.

usage: check_random.py <attngen> <mi250_check> [--count N] [--seed S] [--only I]
"""

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from hold import Tools, hold  # noqa: E402
from mi250 import toolchain  # noqa: E402
from random_specs import draw  # noqa: E402

WRONG_SPEC, NO_SCHEDULE = 1, 3
MOST_NOT_RUN = 0.3  # of all


def default_seed():
    if seed := os.environ.get("ATTNGEN_SEED"):
        return seed
    result = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True,
                            check=False)
    return result.stdout[:8] or "1"


def is_clear(result, drawn):
    if result.status == NO_SCHEDULE:
        return drawn.schedule is not None
    return result.status == WRONG_SPEC and re.search(r"^spec.json:\d+:\d+: error: ", result.errors)


def check(tools, seed, index):
    """(what went wrong or "", why it was not run or "")"""
    drawn = draw(seed, index)
    result = hold(tools, drawn.spec, drawn.fills, drawn.schedule, drawn.shapes, seed=index + 1)
    problem, reason = result.problems, ""
    if result.status != 0 and is_clear(result, drawn):
        reason = result.errors.splitlines()[0]
    elif result.status != 0:
        problem = f"attngen ended with {result.status}\n{result.errors}"
    elif result.spilled:
        reason = f"{result.spilled} registers spilled"
    if problem:
        problem = f"--seed {seed} --only {index}: {json.dumps(drawn.spec)}\n" \
                  f"schedule {drawn.schedule}, fills {drawn.fills}, shapes {drawn.shapes}\n{problem}"
    return problem, reason


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("attngen", type=lambda p: str(Path(p).resolve()))
    parser.add_argument("check", type=lambda p: str(Path(p).resolve()))
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", default=default_seed())
    parser.add_argument("--only", type=int, help="one of the seed's specs, by its number")
    args = parser.parse_args()
    if lacking := toolchain.missing():
        print(f"skipped: {lacking} not found")
        return 0
    print(f"seed {args.seed}", flush=True)
    indices = range(args.count) if args.only is None else [args.only]
    failed = not_run = 0
    for index in indices:
        problem, reason = check(Tools(args.attngen, args.check), args.seed, index)
        if problem:
            failed += 1
            print(problem, flush=True)
        elif reason:
            not_run += 1
            print(f"{index} is not run: {reason}", flush=True)
    print(f"{len(indices)} specs, {not_run} not run, {failed} with problems, seed {args.seed}")
    if args.only is None and not_run > max(1, MOST_NOT_RUN * len(indices)):
        print("too many are not run: the test shows little")
        failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
