"""A template compiles by itself, with its default values or others, and without a warning.

usage: check_template.py <file>[:<macro>=<value>[,...]]...
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
        for word in sys.argv[1:]:
            file, _, macros = word.partition(":")
            values = [f"-D{macro}" for macro in macros.split(",") if macro]
            toolchain.compile_device(Path(file), Path(work) / "code_object", values)


if __name__ == "__main__":
    main()
