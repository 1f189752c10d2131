#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""options_test.py SBX_RUN SOURCE_DIR: every verb and option that --help shows stands in the man page
and in the completions of all three shells, and those of sbx-bwrap, beside it, in its own page."""
import os
import re
import subprocess
import sys

VERBS = ("run exec call start status output stdin wait kill list reset check explain doctor profile "
         "schema tool serve mcp").split()


def help_text(*command):
    return subprocess.run([*command, "--help"], stdout=subprocess.PIPE, check=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=20).stdout


def main(sbx_run, source):
    if not os.access(sbx_run, os.X_OK):
        print(f"SKIPPED: no {sbx_run}")
        return 77

    def read(path):
        with open(os.path.join(source, path), encoding="utf-8") as file:
            return file.read()

    # Page -> its text, and how it writes an option and a verb (regular expressions).
    pages = {
        "docs/man/sbx-run.1": (r"Fl -{}\b(?!-)", r"\.It Cm .*\b{}\b"),
        "completions/sbx-run.bash": (r"(?<![\w-])--{}(?![\w-])", r"(?<![\w-]){}(?![\w-])"),
        "completions/_sbx-run": (r"(?<![\w-])--{}(?![\w-])", r"'{}:"),
        "completions/sbx-run.fish": (r" -l {}(?![\w-])", r" -a {} "),
    }
    general = help_text(sbx_run)
    verbs = [verb for verb in VERBS if re.search(rf"^\s+(sbx-run )?{verb}\b", general, re.M)]
    options = set(re.findall(r"(?<![\w-])--([a-z][a-z-]+)", general))
    for verb in verbs:
        options |= set(re.findall(r"(?<![\w-])--([a-z][a-z-]+)", help_text(sbx_run, verb)))
    if "profile" not in options or not verbs:
        print(f"FAILED: --help shows neither verbs nor options:\n{general}")
        return 1

    missing = []
    for page, (option_form, verb_form) in pages.items():
        text = read(page)
        missing += [f"{page}: --{option}" for option in sorted(options)
                    if not re.search(option_form.format(re.escape(option)), text)]
        missing += [f"{page}: {verb}" for verb in verbs
                    if not re.search(verb_form.format(verb), text)]
    bwrap = os.path.join(os.path.dirname(sbx_run), "sbx-bwrap")
    if os.access(bwrap, os.X_OK):
        page = read("docs/man/sbx-bwrap.1")
        known = set(re.findall(r"^    --([a-z][a-z0-9-]+)", help_text(bwrap), re.M))
        if "ro-bind" not in known:
            missing.append("sbx-bwrap --help")
        missing += [f"docs/man/sbx-bwrap.1: --{option}" for option in sorted(known)
                    if not re.search(rf"^\.It Fl -{option}\b(?!-)", page, re.M)]
    for line in missing:
        print(f"FAILED: not in {line}")
    print(f"{len(options)} options, {len(verbs)} verbs, {len(missing)} missing")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
