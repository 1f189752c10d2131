#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_corpus.py npm|debian|maintainer DIRECTORY > FILE: real commands, one a line.

npm: a directory of NAME.json files as `npm view NAME scripts --json` prints them. debian: unpacked
source packages; recipes of makefiles, `run:` steps of CI files and shell scripts. maintainer:
/var/lib/dpkg/info. Lines are shell texts as a shell would be given them: a makefile's variables are
put in where the file itself gives them a plain value, else the line is left out, and so are
templates that a CI server fills in, lines that are only part of a statement, and duplicates. A
newline within a command is written as ⏎; "## NAME" begins what one package gives.
"""
import json
import pathlib
import re
import subprocess
import sys

MOST_BYTES = 1500
seen = set()


def parses(texts):
    """Those of the texts that an independent parser reads whole."""
    good = []
    for text in texts:
        done = subprocess.run(["shfmt", "-ln", "bash"], input=text, text=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        if done.returncode == 0:
            good.append(text)
    return good


def emit(name, texts):
    out = []
    for text in texts:
        text = text.strip()
        if re.match(r"^(then|else|elif|fi|do|done|esac|in)\b|^(;;|[)}])", text):
            continue  # a part of a statement
        if not text or len(text) > MOST_BYTES or text in seen or not text.isprintable() and any(
                ord(c) < 32 and c not in "\n\t" for c in text):
            continue
        seen.add(text)
        out.append(text)
    out = parses(out)
    if out:
        print("## " + name)
        for text in out:
            print(text.replace("\n", "⏎"))


def npm(root):
    for path in sorted(root.glob("*.json")):
        try:
            scripts = json.loads(path.read_text() or "{}")
        except ValueError:
            continue
        if isinstance(scripts, dict):
            emit(path.stem, [s for s in scripts.values() if isinstance(s, str)])


def make_recipes(text):
    variables = {"MAKE": "make", "RM": "rm -f", "CC": "cc", "CXX": "g++", "AR": "ar",
                 "CURDIR": "$PWD", "@": "target", "<": "source.c", "^": "a.o b.o"}
    for name, value in re.findall(r"^([A-Za-z_]\w*)\s*[:?]?=[ \t]*([^$#\n]*)$", text, re.M):
        variables[name] = value.strip()
    joined = re.sub(r"\\\n\t*", "\\\n", text)
    for line in re.findall(r"^\t((?:.*\\\n)*.*)$", joined, re.M):
        line = re.sub(r"^[@+-]+\s*", "", line)
        for _ in range(4):
            line = re.sub(r"\$[({](\w+|[@<^])[)}]|\$([@<^])",
                          lambda m: variables.get(m[1] or m[2], m[0]), line)
        if re.search(r"(?<!\$)\$[({]", line) or re.search(r"(?<!\$)\$[*?|+%a-zA-Z]", line):
            continue
        yield line.replace("$$", "$").replace("\\\n", " ")


def ci_steps(text):
    lines = text.split("\n")
    for at, line in enumerate(lines):
        found = re.match(r"^(\s*)(?:- )?(?:run|script|install|before_script):\s*(\|[-+]?|>[-+]?)?\s*(.*)$",
                         line)
        if not found:
            continue
        if found[3] and not found[2]:
            value = found[3].strip()
            if value[0] in "'\"" and value[-1] == value[0]:
                value = value[1:-1]
            yield value
            continue
        body = []
        for more in lines[at + 1:]:
            if more.strip() and len(more) - len(more.lstrip()) <= len(found[1]):
                break
            body.append(more)
        indent = min((len(l) - len(l.lstrip()) for l in body if l.strip()), default=0)
        if found[2]:
            yield "\n".join(l[indent:] for l in body).rstrip()
            for one in body:
                yield one.strip()
        else:
            for one in body:
                if one.strip().startswith("- "):
                    yield one.strip()[2:].strip("'\"")


def statements(text):
    """Single lines of a script that stand for themselves, and its ifs and loops as wholes."""
    lines = re.sub(r"\\\n\s*", " ", text).split("\n")
    for line in lines:
        line = line.strip()
        if line and not line.startswith("#"):
            yield line
    block = []
    for line in lines:
        if not block and re.match(r"^(if|for|while|case)\b", line):
            block = [line]
        elif block:
            block.append(line)
            if re.match(r"^(fi|done|esac)\b", line):
                yield "\n".join(block)
                block = []


def debian(root):
    for package in sorted(p for p in root.iterdir() if p.is_dir()):
        texts = []
        for path in sorted(p for p in package.rglob("*") if p.is_file() and not p.is_symlink()):
            text = path.read_text(errors="replace")
            if path.name == "Makefile.in":  # a template
                continue
            if path.name == "rules" or path.name.startswith("Makefile") or path.suffix == ".mk":
                texts += make_recipes(text)
            elif path.suffix in (".yml", ".yaml"):
                texts += [t for t in ci_steps(text) if "${{" not in t and "%" != t[:1]]
        emit(package.name, texts)


def maintainer(root):
    for path in sorted(root.iterdir()):
        if path.suffix in (".postinst", ".prerm", ".postrm", ".preinst"):
            text = path.read_text(errors="replace")
            if text.startswith("#!/bin/sh") or text.startswith("#!/bin/bash"):
                emit(path.name, statements(text))


if __name__ == "__main__":
    print("## SPDX-License-Identifier: Apache-2.0")
    print("## Made by make_corpus.py; each block is named by the package that the commands are from.")
    {"npm": npm, "debian": debian, "maintainer": maintainer}[sys.argv[1]](pathlib.Path(sys.argv[2]))
