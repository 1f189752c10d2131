#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""differential.py READ_TOOL [--all]: the shell reader against shfmt, an independent parser of the
same grammar, over the shell scripts of this machine and the nasty ones beside this file.

Every simple command that shfmt finds must be found by the reader at the same bytes with the same
words, and none besides. Known deviations are counted by class; anything else fails.
Without shfmt the test is skipped (77)."""
import collections
import json
import os
import shutil
import subprocess
import sys

PLACES = ("/etc", "/lib/init", "/lib/udev", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/libexec",
          "/usr/share", "/var/lib/dpkg/info")
MAX_BYTES = 40_000     # a larger script costs more time than it adds
MAX_SCRIPTS = 300      # of the machine's, evenly chosen, unless --all
MIN_SCRIPTS = 150      # a bare Debian 12 with the packages of scripts/deps has 309
BATCH = 25
SHIFTED = "shfmt miscounts escapes inside backquotes"
DECLARATIONS = ("declare", "local", "export", "readonly", "typeset", "nameref", "let")


def is_shell_script(path):
    try:
        if os.path.islink(path) or not 16 < os.path.getsize(path) < MAX_BYTES:
            return False
        with open(path, "rb") as file:
            first = file.readline(120)
            if not first.startswith(b"#!") or not first.split(b"/")[-1].split()[0:1]:
                return False
            name = first.split(b"/")[-1].split()
            if name[0] == b"env" and len(name) > 1:
                name = name[1:]
            text = file.read()
            # shfmt drops carriage returns, which are letters to a shell: `do\r` begins no loop.
            return name[0] in (b"sh", b"bash", b"dash") and b"\0" not in text and b"\r\n" not in text
    except OSError:
        return False


def machine_scripts():
    seen = set()
    for place in PLACES:
        for folder, folders, names in os.walk(place):
            folders.sort()
            for name in sorted(names):
                path = os.path.join(folder, name)
                if path not in seen and is_shell_script(path):
                    seen.add(path)
    return sorted(seen)


def run_shfmt(path):
    """The tree of a script, or None where shfmt does not parse it."""
    with open(path, "rb") as file:
        run = subprocess.run(["shfmt", "-ln", "bash", "--to-json"], stdin=file, timeout=120,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return json.loads(run.stdout) if run.returncode == 0 else None


def span(node, text):
    """A literal of shfmt's holds the end of a line that is continued behind it, an expansion does not."""
    begin, end = node["Pos"]["Offset"], node["End"]["Offset"]
    while end > begin + 2 and text[end - 2:end] == b"\\\n":
        end -= 2
    return begin, end


def shfmt_commands(tree, text):
    """[[word span…]…] of all simple commands, by place."""
    found = []
    stack = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack.extend(node)
        elif isinstance(node, dict):
            kind = node.get("Type")
            if kind == "CallExpr" and node.get("Args"):
                found.append([span(word, text) for word in node["Args"]])
            elif kind == "DeclClause":
                found.append([span(node["Variant"], text)])
            elif kind == "LetClause":
                found.append([(node["Pos"]["Offset"], node["Pos"]["Offset"] + 3)])
            stack.extend(value for value in node.values() if isinstance(value, (dict, list)))
    return sorted(found)


def reader_commands(reading):
    found = []
    for command in reading["commands"]:
        if command["via"] or not command["words"]:
            continue
        spans = []
        for begin, end, _, _ in command["words"]:
            if not spans or spans[-1] != (begin, end):  # braces and splitting make several of one
                spans.append((begin, end))
        if command["words"][0][2] in DECLARATIONS:
            spans = spans[:1]
        found.append(spans)
    return sorted(found)


def deviation(theirs, ours, text):
    """The class of a deviation, or None where there is none."""
    if theirs == ours:
        return None
    if len(theirs) == len(ours) and all(left == right or shifts_behind_escapes(left, right, text)
                                        for left, right in zip(theirs, ours)):
        return SHIFTED
    their_map = {spans[0]: spans for spans in theirs}
    our_map = {spans[0]: spans for spans in ours}
    classes = set()
    for first in their_map.keys() | our_map.keys():
        left, right = their_map.get(first), our_map.get(first)
        if left == right:
            continue
        if left and right and shifts_behind_escapes(left, right, text):
            classes.add(SHIFTED)
            continue
        if left is not None and set(right or ()) < set(left) and all(
                b"$" in text[begin:end] or b"`" in text[begin:end]
                for begin, end in set(left) - set(right or ())):
            classes.add("a word that expands to nothing is none")
            continue
        if left and right and len(left) <= len(right) and left[-1][0] == right[len(left) - 1][0] \
                and text[left[-1][1] - 1:left[-1][1] + 1] in (b'"#', b"'#"):
            classes.add("shfmt takes # behind a quote for a comment")
            continue
        at = first[0]
        line = text.count(b"\n", 0, at) + 1
        return f"UNEXPLAINED at byte {at}, line {line}: shfmt {show(left, text)}, " \
               f"the reader {show(right, text)}"
    return ", ".join(sorted(classes)) or "UNEXPLAINED: a command stands twice"


def shifts_behind_escapes(left, right, text):
    """Whether the command's line has escapes inside backquotes: shfmt 3.6 counts the bytes there
    without the backslashes."""
    begin = text.rfind(b"\n", 0, right[0][0]) + 1
    line = text[begin:(text.find(b"\n", begin) + 1) or len(text)]
    return b"`" in line and b"\\" in line and len(left) == len(right)


def show(spans, text):
    return [text[begin:end][:60].decode(errors="replace") for begin, end in spans or []] or "nothing"


def main(arguments):
    if shutil.which("shfmt") is None:
        print("SKIPPED: no shfmt on this machine (scripts/deps test installs it)")
        return 77
    tool = arguments[0]
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "scripts")
    own = sorted(os.path.join(here, name) for name in os.listdir(here))
    scripts = machine_scripts()
    total = len(scripts)
    if "--all" not in arguments and total > MAX_SCRIPTS:
        scripts = [scripts[i * total // MAX_SCRIPTS] for i in range(MAX_SCRIPTS)]
    scripts = own + scripts

    counts = collections.Counter()
    failures = []
    commands = 0
    for start in range(0, len(scripts), BATCH):
        batch = scripts[start:start + BATCH]
        output = subprocess.run([tool, *batch], stdout=subprocess.PIPE, timeout=300, check=True).stdout
        for path, line in zip(batch, output.splitlines(), strict=True):
            tree = run_shfmt(path)
            reading = json.loads(line)
            if tree is None:
                counts["not parsed by shfmt"] += 1
                if path in own:
                    failures.append(f"{path}: shfmt does not parse it")
                continue
            counts["compared"] += 1
            with open(path, "rb") as file:
                text = file.read()
            if not reading["complete"]:
                failures.append(f"{path}: not read whole: {reading['unknown'][-1]}")
                continue
            theirs = shfmt_commands(tree, text)
            commands += len(theirs)
            found = deviation(theirs, reader_commands(reading), text)
            if found is None:
                counts["equal"] += 1
            elif found.startswith("UNEXPLAINED"):
                failures.append(f"{path}: {found}")
            else:
                counts[found] += 1

    for failure in failures[:40]:
        print(f"FAILED: {failure}")
    print(f"{total} scripts on the machine; {commands} commands in {dict(counts)}; "
          f"{len(failures)} failures")
    if counts["compared"] < MIN_SCRIPTS:
        print(f"FAILED: only {counts['compared']} scripts to compare, expected {MIN_SCRIPTS}")
        return 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
