#!/usr/bin/env python3
"""The code that docs/kernel-anatomy.md quotes is that of the file which it walks through.

usage: quotes.py <root>
"""

import re
import sys
from pathlib import Path


def lines(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def main():
    root = Path(sys.argv[1])
    page = root / "docs" / "kernel-anatomy.md"
    text = page.read_text()
    walked = re.search(r"A walk through \[[^]]*\]\(([^)]*)\)", text).group(1)
    there = lines((page.parent / walked).read_text())
    blocks = re.findall(r"```cuda\n(.*?)```", text, re.S)
    strange = 0
    for block in blocks:
        quoted = lines(block)
        if any(there[at:at + len(quoted)] == quoted for at in range(len(there))):
            continue
        strange += 1
        print(f"{page.relative_to(root)}: {walked} has no such lines:\n{block}")
    print(f"{len(blocks)} quotations, {strange} of them not of {walked}")
    return 1 if strange or not blocks else 0


if __name__ == "__main__":
    sys.exit(main())
