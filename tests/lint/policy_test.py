#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""policy_test.py SOURCE_DIR: nothing outside libsbx/policy/ changes a Policy once it is made: no
reference to one that is not const, no value set in one, nothing added."""
import os
import re
import sys

REFERENCE = re.compile(r"(?<!const )\b(?:Sandbox|Run)?Policy& \w")
CHANGE = re.compile(r"(?:\.|->)(?:sandbox|run)\.[\w.]+(?:\[[^\]]*\])?(?:\.[a-z_]+)? *"
                    r"(?:=(?!=)|\.?\b(?:push_back|emplace\w*|insert\w*|erase|clear|reset|swap)\()")
OTHERS = re.compile(r"(?:outcome\w*\.sandbox|options_?\.run)\.")  # of other types


def main(source):
    wrong = []
    looked_at = 0
    for top in ("libsbx", "launcher"):
        for directory, _, names in os.walk(os.path.join(source, top)):
            if directory == os.path.join(source, "libsbx", "policy"):
                continue
            for name in sorted(names):
                if not name.endswith((".h", ".cc")):
                    continue
                looked_at += 1
                with open(os.path.join(directory, name), encoding="utf-8") as file:
                    for number, line in enumerate(file, 1):
                        if REFERENCE.search(line) or CHANGE.search(OTHERS.sub("", line)):
                            wrong.append(f"{directory}/{name}:{number}: {line.strip()}")
    for line in wrong:
        print(line)
    return 1 if wrong or looked_at < 200 else 0


sys.exit(main(sys.argv[1]))
