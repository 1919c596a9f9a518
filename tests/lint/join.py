#!/usr/bin/env python3
"""Every file that joins a range by fmt includes its <fmt/ranges.h>: older versions of fmt have
fmt::join in <fmt/format.h> too, and so hide that it is missing.

usage: join.py <source folder>
"""

import sys
from pathlib import Path


def main():
    source = Path(sys.argv[1]).resolve()
    joining = [path for folder in ("src", "tests") for end in ("cpp", "h")
               for path in sorted(source.glob(f"{folder}/**/*.{end}"))
               if "fmt::join(" in path.read_text()]
    bad = [path for path in joining if "#include <fmt/ranges.h>" not in path.read_text()]
    for path in bad:
        print(f"{path}: fmt::join without <fmt/ranges.h>")
    sys.exit(not joining or bool(bad))


if __name__ == "__main__":
    main()
