#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rooms_test.py SOURCE_DIR: the rooms of libsbx/ are those of ARCHITECTURE.md's table and those that
libsbx/CMakeLists.txt builds, and a file of a room includes headers of its own room and of rooms that
stand above it in the table, never of one below."""
import os
import re
import sys


def rooms_of_the_page(source):
    with open(os.path.join(source, "ARCHITECTURE.md"), encoding="utf-8") as page:
        return re.findall(r"^\| `(\w+)/` \|", page.read(), re.M)


def includes(path):
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            found = re.match(r'#include "(\w+)/', line)
            if found:
                yield number, found.group(1)


def main(source):
    rooms = rooms_of_the_page(source)
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
            for number, other in includes(os.path.join(library, room, name)):
                if other in rooms and room in rooms and rooms.index(other) > rooms.index(room):
                    wrong.append(f"libsbx/{room}/{name}:{number} includes {other}/, which stands "
                                 f"below {room}/ in ARCHITECTURE.md")
    for line in wrong:
        print(line)
    return 1 if wrong or looked_at < 100 else 0


sys.exit(main(sys.argv[1]))
