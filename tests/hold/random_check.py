"""Random specs held to the oracle: what the families' checks share.

attngen may refuse none of them: they are valid. Only a drawn schedule may not fit (exit status 3), or a
kernel spill where it cannot be run then; at most a few are not run.
The seed is that of --seed, or ATTNGEN_SEED, or else always the same one: a commit's tests must not fail
by what they happen to draw.
"""

import json
import os
from dataclasses import dataclass

NO_SCHEDULE = 3
MOST_NOT_RUN = 0.3  # of all


@dataclass(frozen=True)
class Result:
    status: int = 0  # attngen's
    errors: str = ""  # and what it said; nothing was run unless the status is 0
    problems: str = ""  # "" if every call was right
    spilled: int = 0  # registers that did not fit, where such a kernel cannot be run


def fill_options(fills):
    """Options of the check programs. `fills`: for each input, {"fill": a kind of data} or
    {"value": a number}."""
    for name, how in fills.items():
        yield "--fill"
        yield f"{name}={how.get('fill', how.get('value'))}"


def check(draw, hold, seed, index):
    """(what went wrong or "", why it was not run or "")"""
    drawn = draw(seed, index)
    result = hold(drawn, index + 1)
    problem, reason = result.problems, ""
    if result.status == NO_SCHEDULE and drawn.schedule is not None:
        reason = result.errors.splitlines()[0]
    elif result.status != 0:
        problem = f"attngen ended with {result.status}\n{result.errors}"
    elif result.spilled:
        reason = f"{result.spilled} registers spilled"
    if problem:
        problem = f"--seed {seed} --only {index}: {json.dumps(drawn.spec)}\n" \
                  f"schedule {json.dumps(drawn.schedule)}, fills {drawn.fills}, " \
                  f"shapes {drawn.shapes}\n{problem}"
    return problem, reason


def add_options(parser):
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", default=os.environ.get("ATTNGEN_SEED", "1"))
    parser.add_argument("--only", type=int, help="one of the seed's specs, by its number")


def run(args, draw, hold):
    """`draw(seed, index)` a Drawn; `hold(drawn, data seed)` a Result. The exit status."""
    print(f"seed {args.seed}", flush=True)
    indices = range(args.count) if args.only is None else [args.only]
    failed = not_run = 0
    for index in indices:
        problem, reason = check(draw, hold, args.seed, index)
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
