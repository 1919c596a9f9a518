"""A template compiles by itself, with its default values, and without a warning.

usage: check_template.py <file>...
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from mi250 import toolchain  # noqa: E402


def main():
    if lacking := toolchain.missing():
        print(f"skipped: {lacking} not found")
        return
    with tempfile.TemporaryDirectory() as work:
        for file in map(Path, sys.argv[1:]):
            toolchain.compile_device(file, Path(work) / "code_object")


if __name__ == "__main__":
    main()
