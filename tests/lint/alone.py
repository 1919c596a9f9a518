"""Every source file of src compiles by itself: the presets compile many as one, and so hide an
include that is missing from those of whoever builds otherwise. A third of the files, which the commit
chooses; with --all each.

usage: alone.py <c++ compiler> <source folder> [--all]
"""

import os
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "hold"))
from random_check import default_seed  # noqa: E402

FLAGS = ["-std=c++20", "-fsyntax-only", "-DATTNGEN_VERSION=\"0\""]
PARTS = 3


def main():
    compiler, source = sys.argv[1], Path(sys.argv[2]).resolve()
    files = sorted(source.glob("src/**/*.cpp"))
    if "--all" not in sys.argv[3:]:
        files = files[zlib.crc32(default_seed().encode()) % PARTS::PARTS]

    def errors_of(path):
        done = subprocess.run([compiler, *FLAGS, f"-I{source / 'src'}", path],
                              stderr=subprocess.PIPE, text=True, check=False)
        return done.stderr if done.returncode else ""

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(errors_of, files))
    print("".join(found), end="")
    sys.exit(not found or any(found))


if __name__ == "__main__":
    main()
