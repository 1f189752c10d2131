#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tidy.py BUILD_DIR [FILE…]: clang-tidy over all that is compiled, or over these files.

Most of clang-tidy's time goes into the headers: it matches every check against every declaration of
the standard library and of nlohmann_json, for each file anew (17 s a file, of which the file's own
lines take one). So files with the same flags are included by one made-up unit, a few dozen at a
time. Files that give the same name to two things go to different units; where that was not seen
beforehand and the unit does not compile, each half of it is tried. Findings go to stdout;
exit status 1 where there are any. Writes below a temporary directory only.
"""
from __future__ import annotations

import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

MOST_LINES = 6000  # of one unit: what two processors hold in memory, and share evenly

# Everything stands at the left margin in this tree, inside of namespaces too.
DEFINED = [
    re.compile(r"^(?:template <.*> *)?(?:struct|class|union|enum(?: class)?) (\w+)", re.M),
    re.compile(r"^#define (\w+)", re.M),
    re.compile(r'^(?:extern "C" )?(?!namespace |using )[A-Za-z][\w:<>,&*\[\] ]*?[ &*>]'
               r"(\w+)(?:\[\w*\])? *(?:=|\{|;|\()", re.M),
    re.compile(r"^(TEST(?:_[FP])?\(\w+, *\w+)\)", re.M),
]


@dataclass
class Unit:
    """Files that one run of clang-tidy looks at."""

    flags: tuple[str, ...]
    files: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    lines: int = 0


def flags_of(entry: dict[str, str]) -> tuple[str, ...]:
    """A compile command without its compiler, its input and its output."""
    words = shlex.split(entry["command"])
    while words and not words[0].startswith("-"):
        words.pop(0)  # ccache, the compiler
    kept: list[str] = []
    skip = False
    for word in words:
        if skip or word in ("-c", entry["file"]):
            skip = False
        elif word in ("-o", "-MF", "-MT"):
            skip = True
        else:
            kept.append(word)
    return tuple(kept)


def joined(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...] | None:
    """Flags for both: definitions and directories are added up, all else has to be the same."""
    def rest(flags: tuple[str, ...]) -> list[str]:
        return [flag for flag in flags if flag[:2] not in ("-D", "-I")]
    if rest(one) != rest(other):
        return None
    values = dict(flag.partition("=")[::2] for flag in one if flag.startswith("-D"))
    for flag in other:
        name, _, value = flag.partition("=")
        if values.get(name, value) != value:
            return None
    return tuple(dict.fromkeys(one + other))


def names_in(text: str) -> set[str]:
    return {name for pattern in DEFINED for name in pattern.findall(text)}


def units_of(files: Iterable[str], flags: dict[str, tuple[str, ...]]) -> Iterator[Unit]:
    units: list[Unit] = []
    for file in files:
        with open(file, encoding="utf-8") as source:
            text = source.read()
        names, lines = names_in(text), text.count("\n")
        for unit in units if file.endswith(".cc") else []:
            together = joined(unit.flags, flags[file])
            if together and not names & unit.names and unit.lines + lines <= MOST_LINES:
                unit.flags = together
                break
        else:
            unit = Unit(flags[file])
            units.append(unit)
        unit.files.append(file)
        unit.names |= names
        unit.lines += lines
    return iter(sorted(units, key=lambda unit: -unit.lines))


def tidy(unit: Unit, directory: str) -> tuple[int, str]:
    command = ["clang-tidy", "--quiet", "--config-file=.clang-tidy"]
    if len(unit.files) == 1:
        path = unit.files[0]
    else:
        descriptor, path = tempfile.mkstemp(dir=directory, suffix=".cc")
        with os.fdopen(descriptor, "w", encoding="utf-8") as made_up:
            for file in unit.files:
                made_up.write(f'#include "{os.path.abspath(file)}"  '
                              "// NOLINT(bugprone-suspicious-include)\n")
    # Names of one file hide those of another here; that a file hides its own, GCC finds.
    done = subprocess.run([*command, path, "--", *unit.flags, "-Wno-shadow"], check=False,
                          capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if len(unit.files) > 1 and "[clang-diagnostic-error]" in done.stdout:
        print("not in one unit:", *unit.files, done.stdout, sep="\n  ", file=sys.stderr)
        middle = len(unit.files) // 2
        parts = [tidy(Unit(unit.flags, files), directory)
                 for files in (unit.files[:middle], unit.files[middle:])]
        return max(status for status, _ in parts), "".join(text for _, text in parts)
    # What it finds is on stdout; its count of warnings in system headers on stderr.
    return done.returncode, done.stdout or (done.stderr if done.returncode else "")


def main() -> int:
    with open(os.path.join(sys.argv[1], "compile_commands.json"), encoding="utf-8") as database:
        flags = {os.path.relpath(entry["file"]): flags_of(entry) for entry in json.load(database)}
    compiled = sorted(file for file in flags if not file.startswith("build"))
    files = [file for file in compiled if file in sys.argv[2:] or len(sys.argv) == 2]
    units = list(units_of(files, flags))
    print(f"clang-tidy: {len(files)} files in {len(units)} units", flush=True)
    worst = 0
    with (tempfile.TemporaryDirectory() as directory,
          concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool):
        for status, text in pool.map(lambda unit: tidy(unit, directory), units):
            print(text, end="", flush=True)
            worst = max(worst, status)
    return 1 if worst else 0


if __name__ == "__main__":
    sys.exit(main())
