"""Random valid specs for MI250, held to the oracle in the interpreter (hold/random_check.py).

A kernel may spill, since the search estimates the registers of the user's functions; it is not run
then.

usage: check_random.py <attngen> <mi250_check> [--count N] [--seed S] [--only I]
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from hold import Tools, hold  # noqa: E402
from mi250 import toolchain  # noqa: E402
from random_mi250 import draw  # noqa: E402
from random_check import add_options, run  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("attngen", type=lambda p: str(Path(p).resolve()))
    parser.add_argument("check", type=lambda p: str(Path(p).resolve()))
    add_options(parser)
    args = parser.parse_args()
    if lacking := toolchain.missing():
        print(f"skipped: {lacking} not found")
        return 0
    tools = Tools(args.attngen, args.check)
    return run(args, draw, lambda drawn, seed: hold(tools, drawn.spec, drawn.fills, drawn.schedule,
                                                    drawn.shapes, seed))


if __name__ == "__main__":
    sys.exit(main())
