"""Every using-declaration and namespace alias of a .cpp file is used: its name occurs once more.

clang-tidy's checks of these (misc-unused-using-decls, misc-unused-alias-decls) look at main files
alone, hence not at files that are compiled as one.

usage: using.py <source folder>
"""

import re
import sys
from pathlib import Path

DECLARATION = re.compile(r"^ *(?:using ([\w:]+::)?(\w+)|namespace (\w+) =.*);$", re.MULTILINE)


def main():
    source = Path(sys.argv[1]).resolve()
    bad = 0
    paths = sorted([*source.glob("src/**/*.cpp"), *source.glob("tests/**/*.cpp")])
    for path in paths:
        text = path.read_text()
        code = re.sub(r"//.*|#include.*", "", text)
        for match in DECLARATION.finditer(text):
            name = match[2] or match[3]
            if len(re.findall(rf"\b{name}\b", code)) == 1:
                bad += 1
                line = text.count("\n", 0, match.start()) + 1
                print(f"{path}:{line}: '{name}' is not used")
    sys.exit(not paths or bad != 0)


if __name__ == "__main__":
    main()
