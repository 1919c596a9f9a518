"""clang-tidy over the parts of the target attngen_lint, side by side on all cores.

usage: tidy.py <clang-tidy> <source folder> <build folder>
"""

import concurrent.futures
import json
import os
import subprocess
import sys
from pathlib import Path

TIDY, SOURCE, BUILD = sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve()


def check(part):
    """What clang-tidy finds in a part and what it includes of src/ and tests/, or ""."""
    command = [TIDY, "-quiet", "-p", BUILD, f"--config-file={SOURCE}/.clang-tidy",
               f"--header-filter=^{SOURCE}/(src|tests)/", "-extra-arg=-Wno-unknown-warning-option",
               part]
    result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, check=False)
    return result.stdout + (result.stderr if result.returncode != 0 else "")


def main():
    database = json.loads((BUILD / "compile_commands.json").read_text())
    parts = [entry["file"] for entry in database if "attngen_lint" in entry["file"]]
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(check, parts):
            bad += found != ""
            print(found, end="", flush=True)
    print(f"{len(parts)} parts, {bad} with findings")
    sys.exit(bad != 0 or not parts)


if __name__ == "__main__":
    main()
