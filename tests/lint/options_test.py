#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""options_test.py SBX_RUN SOURCE_DIR: every verb and option that --help shows stands in the man page
and in the completions of all three shells that were built with it, bash completes by them, and those
of sbx-bwrap stand in its own page."""
import os
import re
import subprocess
import sys

# What is typed, the last word being completed, and what must be among what is offered.
COMPLETIONS = [(["--net", "al"], ["allowlist"]), (["ki"], ["kill"]), (["--timeo"], ["--timeout"]),
               (["kill", "--gr"], ["--grace"]), (["schema", "err"], ["errors"]),
               (["--profile", "readon"], ["readonly"]), (["tool", "bash_o"], ["bash_output"]),
               (["profile", "show", "defau"], ["default"]), (["--require", "secc"], ["seccomp"])]
NOT_COMPLETED = [["kill", "--mem"], ["doctor", "--pro"], ["mcp", "--sess"]]



def help_text(*command):
    return subprocess.run([*command, "--help"], stdout=subprocess.PIPE, check=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=20).stdout


def bash_completes(sbx_run, page, words):
    script = ('source "$1"; shift; COMP_WORDS=(sbx-run "$@"); COMP_CWORD=$#; _sbx_run; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    path = os.path.dirname(sbx_run) + ":" + os.environ["PATH"]
    return subprocess.run(["bash", "-c", script, "bash", page, *words], stdout=subprocess.PIPE,
                          check=True, text=True, timeout=20, cwd="/",
                          env={**os.environ, "PATH": path}).stdout.split()


def main(sbx_run, source):
    sbx_run = os.path.abspath(sbx_run)
    if not os.access(sbx_run, os.X_OK):
        print(f"SKIPPED: no {sbx_run}")
        return 77

    def read(path, top=source):
        with open(os.path.join(top, path), encoding="utf-8") as file:
            return file.read()

    built = os.path.dirname(os.path.dirname(sbx_run))
    # Page -> its text, and how it writes an option and a verb (regular expressions).
    pages = {
        "docs/man/sbx-run.1": (r"Fl -{}\b(?!-)", r"\.It Cm .*\b{}\b"),
        "completions/sbx-run.bash": (r"(?<![\w-])--{}(?![\w-])", r"(?<![\w-]){}(?![\w-])"),
        "completions/_sbx-run": (r"(?<![\w-])--{}(?![\w-])", r"'{}:"),
        "completions/sbx-run.fish": (r" -l {}(?![\w-])", r" -a {} "),
    }
    general = help_text(sbx_run)
    verbs = re.findall(r"^  ([a-z]+) {2,}", general.split("Verbs:\n")[-1], re.M)
    options = set(re.findall(r"(?<![\w-])--([a-z][a-z-]+)", general))
    missing = []
    for verb in verbs:
        said = help_text(sbx_run, verb)
        own = set(re.findall(r"^  (?:-h,)?--([a-z][a-z-]+)", said, re.M))
        options |= own
        page = read(f"docs/man/verbs/sbx-run-{verb}.1", built)
        missing += [f"sbx-run-{verb}(1): --{option}" for option in sorted(own - {"help"})
                    if not re.search(rf"^\.It Fl -{option}\b(?!-)", page, re.M)]
        example = re.search(r"^Example:\n  (.*sbx-run .*)$", said, re.M)
        if example is None or example[1] not in page:
            missing.append(f"sbx-run-{verb}(1), or its help: an example")
        if subprocess.run([sbx_run, "help", verb], stdout=subprocess.PIPE, check=False,
                          text=True, timeout=20).stdout != said:
            missing.append(f"sbx-run help {verb}")
    if "profile" not in options or len(verbs) < 20:
        print(f"FAILED: --help shows neither verbs nor options:\n{general}")
        return 1

    for page, (option_form, verb_form) in pages.items():
        text = read(page, built)
        missing += [f"{page}: --{option}" for option in sorted(options)
                    if not re.search(option_form.format(re.escape(option)), text)]
        missing += [f"{page}: {verb}" for verb in verbs
                    if not re.search(verb_form.format(verb), text)]
    bash_page = os.path.join(built, "completions/sbx-run.bash")
    for words, wanted in COMPLETIONS:
        offered = bash_completes(sbx_run, bash_page, words)
        missing += [f"what bash offers for {words}: {word}, {offered}" for word in wanted
                    if word not in offered]
    missing += [f"what is refused: bash completes {words}" for words in NOT_COMPLETED
                if bash_completes(sbx_run, bash_page, words)]
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
