#!/usr/bin/env python3
"""Every relative link of README.md and docs/*.md leads to a file or folder, every anchor to a heading.

usage: links.py <root>
"""

import re
import sys
from pathlib import Path


def prose(page):
    """Without what is quoted."""
    return re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)


def anchors(page):
    """As GitHub and GitLab make them of headings."""
    for heading in re.findall(r"^#+ +(.*?) *$", prose(page), re.M):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        yield re.sub(r"[^\w -]", "", text).replace(" ", "-")


def what_is_wrong(page, link):
    path, _, anchor = link.partition("#")
    there = page.parent / path if path else page
    if not there.exists():
        return "no such file"
    return "no such heading" if anchor and anchor not in anchors(there) else ""


def main():
    root = Path(sys.argv[1])
    links = [(page, link) for page in [root / "README.md", *sorted(root.glob("docs/*.md"))]
             for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)) if "://" not in link]
    wrong = 0
    for page, link in links:
        if problem := what_is_wrong(page, link):
            wrong += 1
            print(f"{page.relative_to(root)}: {link}: {problem}")
    print(f"{len(links)} links, {wrong} of them wrong")
    return 1 if wrong or not links else 0


if __name__ == "__main__":
    sys.exit(main())
