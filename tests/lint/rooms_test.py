#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rooms_test.py SOURCE_DIR: the rooms of libsbx/ are those of ARCHITECTURE.md's table and those that
libsbx/CMakeLists.txt builds; a file of a room includes headers of its own room and of rooms that stand
above it in the table, never of one below; libraries only where the column "may touch" names them; and
where the column "never" says I/O, nothing of the system's but what touches nothing."""
import os
import re
import sys


# What a library's headers begin with -> its name in the table.
LIBRARIES = {"nlohmann/": "nlohmann_json", "re2/": "RE2", "fmt/": "fmt", "seccomp.h": "libseccomp",
             "cap-ng.h": "libcap-ng", "CLI/": "CLI11", "openssl/": "OpenSSL", "nghttp2/": "nghttp2", "vterm": "libvterm"}
# Of the headers that end in .h, those that touch nothing.
HARMLESS = {"fnmatch.h"}
# Of C++'s, those that touch something.
TOUCHING = {"fstream", "iostream", "filesystem", "cstdio", "thread", "csignal"}


def rooms_of_the_page(source):
    """Room -> (may touch, never), in the order of the page."""
    with open(os.path.join(source, "ARCHITECTURE.md"), encoding="utf-8") as page:
        rows = re.findall(r"^\| `(\w+)/` \|[^|]*\|([^|]*)\|([^|]*)\|$", page.read(), re.M)
    return {room: (may, never) for room, may, never in rows}


def system_headers(path):
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            found = re.match(r"\s*#\s*include <([^>]+)>", line)
            if found:
                yield number, found.group(1)


def breach(header, may, never):
    """Why a room may not include the header; None where it may."""
    for start, library in LIBRARIES.items():
        if header.startswith(start):
            return None if library in may else f"{library}, which the table does not grant it"
    is_touching = header in TOUCHING or (header.endswith(".h") and header not in HARMLESS)
    if re.search(r"(^|, )I/O", never.strip()) and is_touching:
        return "though the table says that it does no I/O"
    if "other I/O" in never and header in TOUCHING | {"unistd.h", "dirent.h", "poll.h", "sys/epoll.h"}:
        return "though the table says that it does no I/O but its libraries'"
    if "system calls" in never and is_touching and "other" not in never:
        return "though the table says that it makes no system calls"
    return None


def includes(path):
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            found = re.match(r'#include "(\w+)/', line)
            if found:
                yield number, found.group(1)


def main(source):
    table = rooms_of_the_page(source)
    rooms = list(table)
    library = os.path.join(source, "libsbx")
    there = sorted(name for name in os.listdir(library) if os.path.isdir(os.path.join(library, name)))
    wrong = []
    if sorted(rooms) != there:
        wrong.append(f"ARCHITECTURE.md's table has {sorted(rooms)}, libsbx/ has {there}")
    looked_at = 0
    for room in there:
        for name in sorted(os.listdir(os.path.join(library, room))):
            if not name.endswith((".h", ".cc")):
                continue
            looked_at += 1
            for number, header in system_headers(os.path.join(library, room, name)):
                why = breach(header, *table.get(room, ("", "")))
                if why:
                    wrong.append(f"libsbx/{room}/{name}:{number} includes <{header}>, {why}")
            for number, other in includes(os.path.join(library, room, name)):
                if other in rooms and room in rooms and rooms.index(other) > rooms.index(room):
                    wrong.append(f"libsbx/{room}/{name}:{number} includes {other}/, which stands "
                                 f"below {room}/ in ARCHITECTURE.md")
    launcher = os.path.join(source, "launcher")
    for name in sorted(os.listdir(launcher)):
        if name.endswith((".h", ".cc")) and name != "flags.cc":
            wrong += [f"launcher/{name}:{number} includes <{header}>: CLI11 is known to flags.cc alone"
                      for number, header in system_headers(os.path.join(launcher, name))
                      if header.startswith("CLI/")]
    for line in wrong:
        print(line)
    return 1 if wrong or looked_at < 100 else 0


sys.exit(main(sys.argv[1]))
