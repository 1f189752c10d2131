#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tidy.py BUILD_DIR [FILE…]: clang-tidy over all that is compiled, or over these files.

Most of clang-tidy's time goes into the headers: it matches every check against every declaration of
the standard library and of nlohmann_json, for each file anew (17 s a file, of which the file's own
lines take one). So files with the same flags are included by one made-up unit, a few dozen at a
time. Files that give one name to two things go to different units; where that was not seen
beforehand, the compiler says in which files, and those make up other units. Findings go to stdout;
exit status 1 where there are any. Writes below a temporary directory only.
"""
from __future__ import annotations

import concurrent.futures
import functools
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field

# As cmake/options.cmake gives clang, which the flags of a build by GCC do not hold.
CLANG_ONLY = ["-fconstexpr-steps=20000000"]
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
    names: set[str] = field(default_factory=set)  # what the files themselves name
    own: set[str] = field(default_factory=set)  # of these, what no header of theirs names
    headers: set[str] = field(default_factory=set)  # what their headers name
    lines: int = 0

    def has_room_for(self, other: Unit) -> bool:
        return not (self.names & other.names or self.own & other.headers or
                    self.headers & other.own or self.lines + other.lines > MOST_LINES)

    def add(self, other: Unit) -> None:
        self.files += other.files
        self.names |= other.names
        self.own |= other.own
        self.headers |= other.headers
        self.lines += other.lines


def flags_of(entry: dict[str, str]) -> tuple[str, ...]:
    """A compile command without its compiler, its input and its output, and what GCC has parsed already."""
    words = shlex.split(entry["command"])
    while words and not words[0].startswith("-"):
        words.pop(0)  # ccache, the compiler
    kept: list[str] = []
    skip = False
    for word in words:
        if skip or word in ("-c", "-Winvalid-pch", entry["file"]):
            skip = False
        elif word in ("-o", "-MF", "-MT", "-include"):
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


def text_of(file: str) -> str:
    with open(file, encoding="utf-8") as source:
        return source.read()


def names_in(text: str) -> set[str]:
    return {name for pattern in DEFINED for name in pattern.findall(text)}


@functools.cache
def names_in_headers(file: str) -> frozenset[str]:
    """What the project's own headers name that this file includes."""
    names: set[str] = set()
    for name in re.findall(r'^#include "([^"]+\.h)"', text_of(file), re.M):
        for directory in (os.path.dirname(file), "libsbx", "tests", "."):
            header = os.path.normpath(os.path.join(directory, name))
            if os.path.exists(header):
                names |= names_in(text_of(header)) | names_in_headers(header)
                break
    return frozenset(names)


def alone(file: str, flags: tuple[str, ...]) -> Unit:
    text = text_of(file)
    names, headers = names_in(text), set(names_in_headers(file))
    return Unit(flags, [file], names, names - headers, headers, text.count("\n"))


def units_of(files: Iterable[str], flags: dict[str, tuple[str, ...]]) -> list[Unit]:
    units: list[Unit] = []
    for file in files:
        one = alone(file, flags[file])
        for unit in units if file.endswith(".cc") else []:
            together = joined(unit.flags, one.flags)
            if together and unit.has_room_for(one):
                unit.flags = together
                unit.add(one)
                break
        else:
            units.append(one)
    return units


def written(unit: Unit, directory: str) -> str:
    """The path of one source that is the whole unit."""
    if len(unit.files) == 1:
        return unit.files[0]
    descriptor, path = tempfile.mkstemp(dir=directory, suffix=".cc")
    with os.fdopen(descriptor, "w", encoding="utf-8") as made_up:
        for file in unit.files:
            made_up.write(f'#include "{os.path.abspath(file)}"  '
                          "// NOLINT(bugprone-suspicious-include)\n")
    return path


def misfits(unit: Unit, directory: str) -> list[str]:
    """Files of a unit that do not compile beside its others, by a name of the standard library."""
    if len(unit.files) == 1:
        return []
    done = subprocess.run(
        ["clang++", "-fsyntax-only", "-w", "-ferror-limit=0", "-fno-caret-diagnostics",
         *unit.flags, *CLANG_ONLY, written(unit, directory)],
        check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    named = set(re.findall(r"^([^:\n]+):\d+:\d+: (?:fatal )?error:", done.stderr, re.M))
    found = [file for file in unit.files if os.path.abspath(file) in named]
    return found if found or done.returncode == 0 else unit.files[1:]


def tidy(unit: Unit, directory: str) -> tuple[int, str]:
    # Names of one file hide those of another here; that a file hides its own, GCC finds.
    done = subprocess.run(["clang-tidy", "--quiet", "--config-file=.clang-tidy",
                           written(unit, directory), "--", *unit.flags, *CLANG_ONLY,
                           "-Wno-shadow"],
                          check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    # What it finds is on stdout; its count of warnings in system headers on stderr.
    return done.returncode, done.stdout or (done.stderr if done.returncode else "")


def main() -> int:
    with open(os.path.join(sys.argv[1], "compile_commands.json"), encoding="utf-8") as database:
        flags = {os.path.relpath(entry["file"]): flags_of(entry) for entry in json.load(database)}
    compiled = sorted(file for file in flags if not file.startswith("build"))
    files = [file for file in compiled if file in sys.argv[2:] or len(sys.argv) == 2]
    worst = 0
    with (tempfile.TemporaryDirectory() as directory,
          concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool):
        units: list[Unit] = []
        untried = units_of(files, flags)
        while untried:
            apart: list[str] = []
            retried: list[Unit] = []
            tried = pool.map(lambda unit: misfits(unit, directory), untried)
            for unit, out in zip(untried, tried):
                apart += out
                unit.files = [file for file in unit.files if file not in out]
                (retried if out else units).append(unit)
            untried = [unit for unit in retried if unit.files] + units_of(apart, flags)
        units.sort(key=lambda unit: -unit.lines)
        print(f"clang-tidy: {len(files)} files in {len(units)} units", flush=True)
        for status, text in pool.map(lambda unit: tidy(unit, directory), units):
            print(text, end="", flush=True)
            worst = max(worst, status)
    return 1 if worst else 0


if __name__ == "__main__":
    sys.exit(main())
