#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hardening.py BUILD_DIR [PROGRAM…]: holds the programs of a release build (default: all, and the library)
against the table of docs/building.md, "Hardening": each property of each program, but where the row
names the program in its last column. Reads ELF files and compile_commands.json; prints what is not so.
Exit status: 0 when all is so, 1 otherwise."""

from __future__ import annotations

import json
import os
import re
import struct
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIBRARY = "libsbx.so"
MOST_BYTES = 4 << 20  # of sbx-run
# elf.h
ET_EXEC, ET_DYN = 2, 3
PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_GNU_STACK, PT_GNU_RELRO = 1, 2, 3, 0x6474e551, 0x6474e552
PF_X, PF_W = 1, 2
SHT_SYMTAB = 2
DT_NEEDED, DT_TEXTREL, DT_BIND_NOW, DT_RPATH, DT_RUNPATH, DT_FLAGS, DT_FLAGS_1 = 1, 22, 24, 15, 29, 30, 0x6ffffffb
DF_TEXTREL, DF_BIND_NOW, DF_1_NOW, DF_1_PIE = 4, 8, 1, 0x08000000


class Elf:
    """What a 64-bit little-endian ELF file says of itself."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        if data[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path} is no 64-bit little-endian ELF file")
        self.size = len(data)
        self.says_where = f"{SOURCE}/".encode() in data
        self.type, = struct.unpack_from("<H", data, 16)
        segments, sections = struct.unpack_from("<QQ", data, 32)
        step, count, section_step, section_count = struct.unpack_from("<HHHH", data, 54)
        self.segments = [struct.unpack_from("<IIQQQQ", data, segments + i * step) for i in range(count)]
        self.section_types = [struct.unpack_from("<I", data, sections + i * section_step + 4)[0]
                              for i in range(section_count)]
        self.dynamic = []
        for kind, _, offset, _, _, size in self.segments:
            if kind == PT_DYNAMIC:
                self.dynamic = [struct.unpack_from("<qQ", data, offset + i) for i in range(0, size, 16)]

    def has(self, kind):
        return any(segment[0] == kind for segment in self.segments)

    def flags(self, kind):
        return [segment[1] for segment in self.segments if segment[0] == kind]

    def entry(self, tag):
        return next((value for found, value in self.dynamic if found == tag), None)


def flag_of(tag, bit):
    return lambda elf: bool((elf.entry(tag) or 0) & bit)


def bound_at_start(elf):
    # What is static and lies where it was linked to has nothing to bind.
    return elf.type == ET_EXEC or elf.entry(DT_BIND_NOW) is not None or \
        flag_of(DT_FLAGS, DF_BIND_NOW)(elf) or flag_of(DT_FLAGS_1, DF_1_NOW)(elf)


IN_FILES = {
    "static": lambda elf: not elf.has(PT_INTERP) and elf.entry(DT_NEEDED) is None,
    "pie": lambda elf: elf.type == ET_DYN and flag_of(DT_FLAGS_1, DF_1_PIE)(elf),
    "relro": lambda elf: elf.has(PT_GNU_RELRO),
    "now": bound_at_start,
    "stack": lambda elf: elf.has(PT_GNU_STACK) and not any(flags & PF_X for flags in elf.flags(PT_GNU_STACK)),
    "w^x": lambda elf: not any(flags & PF_W and flags & PF_X for flags in elf.flags(PT_LOAD)),
    "text": lambda elf: elf.entry(DT_TEXTREL) is None and not flag_of(DT_FLAGS, DF_TEXTREL)(elf),
    "rpath": lambda elf: elf.entry(DT_RPATH) is None and elf.entry(DT_RUNPATH) is None,
    "stripped": lambda elf: SHT_SYMTAB not in elf.section_types,
    "size": lambda elf: elf.size <= MOST_BYTES,
    "paths": lambda elf: not elf.says_where,
}
IN_COMMANDS = {
    "fortify": ("-D_FORTIFY_SOURCE=3",),
    "stack-protector": ("-fstack-protector-strong",),
    "stack-clash": ("-fstack-clash-protection",),
}


def claims(page):
    """{property: programs that it is not claimed of}, from the rows of the page's table."""
    with open(page, encoding="utf-8") as file:
        section = file.read().partition("\n## Hardening\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([^`]+)` \|[^|]*\| *(.*?) *\|$", section, re.M)
    return {name: set(re.findall(r"`(sbx-[a-z]+|libsbx\.so)`", exceptions)) for name, exceptions in rows}


def program_files(build, wanted):
    with open(os.path.join(SOURCE, "cmake", "programs.txt"), encoding="utf-8") as file:
        programs = file.read().split()
    found = {name: os.path.join(build, "bin", name) for name in programs}
    found[LIBRARY] = os.path.join(build, "lib", LIBRARY)
    return {name: path for name, path in found.items() if not wanted or name in wanted}


def wrong_commands(build, claimed):
    """Compilations of the project's own sources that lack a flag."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    for name in IN_COMMANDS.keys() & claimed:
        for command in commands:
            words = command["command"].split()
            # The launcher that sbx is measured against is nobody's to run.
            if "/bench/" not in command["file"] and not set(IN_COMMANDS[name]) <= set(words):
                yield f"{os.path.relpath(command['file'], SOURCE)}: not compiled with {' '.join(IN_COMMANDS[name])}"


def main():
    build, wanted = sys.argv[1], sys.argv[2:]
    claimed = claims(os.path.join(SOURCE, "docs", "building.md"))
    wrong = [f"docs/building.md claims {name}, which nobody looks at"
             for name in claimed.keys() - IN_FILES.keys() - IN_COMMANDS.keys()]
    wrong += [f"docs/building.md does not say whether {name} is so"
              for name in (IN_FILES.keys() | IN_COMMANDS.keys()) - claimed.keys()]
    files = program_files(build, wanted)
    for program, path in files.items():
        elf = Elf(path)
        for name in IN_FILES.keys() & claimed:
            so = IN_FILES[name](elf)
            if not so and program not in claimed[name]:
                wrong.append(f"{program}: not {name}")
            if so and program in claimed[name]:
                wrong.append(f"{program}: {name}, though docs/building.md excepts it")
    wrong += wrong_commands(build, claimed)
    print(*sorted(wrong) or [f"{len(files)} files, {len(claimed)} properties"], sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
