#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""links_test.py SOURCE_DIR: every relative link of the Markdown pages leads to a file that is there,
and to a heading that is there where it names one. Reads pages; follows no link out of the tree.
"""
from __future__ import annotations

import os
import re
import sys
from pathlib import Path

SKIPPED = {"build", ".git", "node_modules"}
FENCE = re.compile(r"^```.*?^```", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)", re.M)


def pages(root: Path) -> list[Path]:
    found: list[Path] = []
    for directory, names, files in os.walk(root):
        names[:] = sorted(set(names) - SKIPPED)
        found += [Path(directory, file) for file in sorted(files) if file.endswith(".md")]
    return found


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """As GitHub makes them: lower case, spaces become dashes, punctuation goes."""
    headings = re.findall(r"^#+ +(.+?) *$", prose(page), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def main() -> int:
    root = Path(sys.argv[1]).resolve()
    found = pages(root)
    links = 0
    broken: list[str] = []
    for page in found:
        for match in LINK.finditer(prose(page)):
            link = match[1] or match[2]
            if re.match(r"[a-z]+:", link):
                continue
            links += 1
            name, _, anchor = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            if not target.exists():
                broken.append(f"{page.relative_to(root)}: {link}: no such file")
            elif anchor and target.suffix == ".md" and anchor not in anchors(target):
                broken.append(f"{page.relative_to(root)}: {link}: no such heading")
    if len(found) < 10 or links < 10:
        broken.append(f"found only {len(found)} pages with {links} links")
    print(*broken or [f"{len(found)} pages, {links} links"], sep="\n")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
