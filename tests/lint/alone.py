"""Every source file of src compiles by itself: the presets compile many as one, and so hide an
include that is missing from those of whoever builds otherwise.

usage: alone.py <c++ compiler> <source folder>
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FLAGS = ["-std=c++20", "-fsyntax-only", "-DATTNGEN_VERSION=\"0\""]


def main():
    compiler, source = sys.argv[1], Path(sys.argv[2]).resolve()

    def errors_of(path):
        done = subprocess.run([compiler, *FLAGS, f"-I{source / 'src'}", path],
                              stderr=subprocess.PIPE, text=True, check=False)
        return done.stderr if done.returncode else ""

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(errors_of, sorted(source.glob("src/**/*.cpp"))))
    print("".join(found), end="")
    sys.exit(not found or any(found))


if __name__ == "__main__":
    main()
