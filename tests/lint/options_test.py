#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""options_test.py SBX_RUN SOURCE_DIR: every verb and option that --help shows stands in the man page
and in the completions of all three shells that were built with it, the shells complete by them, and
those of sbx-bwrap stand in its own page."""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

# What is typed, the last word being completed, and what must be among what is offered, or must not be.
COMPLETIONS = [(["--net", "al"], "allowlist"), (["ki"], "kill"), (["--timeo"], "--timeout"),
               (["kill", "--gr"], "--grace"), (["schema", "err"], "errors"), (["layer", "d"], "diff"),
               (["--profile", "readon"], "readonly"), (["tool", "bash_o"], "bash_output"),
               (["profile", "show", "defau"], "default"), (["--require", "secc"], "seccomp"),
               (["--timeout", "3s", "sche"], "schema"),
               (["layer", "--workspace", "/tmp", "di"], "diff"), (["schema", "tool", "she"], "shell"),
               (["--", "sbx-run", "schema", "err"], "errors"),
               (["run", "--timeout", "3s", "--", "sbx-run", "kill", "--gr"], "--grace")]
NOT_COMPLETED = [(["kill", "--mem"], "--memory"), (["doctor", "--pro"], "--profile"),
                 (["mcp", "--sess"], "--session"), (["schema", "she"], "shell"),
                 (["layer", "diff", "di"], "diff"), (["--timeout", "sche"], "schema"), (["--", "sche"], "schema")]


def help_text(*command):
    return subprocess.run([*command, "--help"], stdout=subprocess.PIPE, check=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=20).stdout


def synopsis(page):
    """As it is read; None without what shows it."""
    if shutil.which("mandoc") is None:
        return None
    shown = subprocess.run(["mandoc", "-Tascii", "-O", "width=200", page], stdout=subprocess.PIPE, check=True, text=True,
                           timeout=20).stdout
    return re.search(r"^SYNOPSIS\n(.*?)^\S", re.sub(".\b", "", shown), re.S | re.M)[1]


def run(sbx_run, words, **more):
    """With sbx-run on the path, in a home of its own, since a shell writes there what it learns."""
    path = os.path.dirname(sbx_run) + ":" + os.environ["PATH"]
    with tempfile.TemporaryDirectory() as home:
        return subprocess.run(words, stdout=subprocess.PIPE, check=True, text=True, timeout=60,
                              env={**os.environ, "PATH": path, "HOME": home, "TERM": "dumb"}, cwd=home, **more).stdout


def bash_offers(sbx_run, completions, lines):
    script = ('source "$1"; shift; COMP_WORDS=(sbx-run "$@"); COMP_CWORD=$#; _sbx_run; '
              'printf "%s\n" "${COMPREPLY[@]}"')
    return [run(sbx_run, ["bash", "-c", script, "bash", f"{completions}/sbx-run.bash", *line]).split()
            for line in lines]


def fish_offers(sbx_run, completions, lines):
    return [[one.split("\t")[0] for one in
             run(sbx_run, ["fish", "-c", 'source $argv[1]; complete -C "$argv[2]"', f"{completions}/sbx-run.fish",
                           " ".join(["sbx-run", *line])]).splitlines()] for line in lines]


# zsh completes nowhere but in its line editor: every tab writes down what would be offered and empties the line.
# The keys may come before the editor is there.
ZSH = r"""
offered() {
  local -a found
  [[ " $* " == *\ -[OAD]\ * ]] || { builtin compadd -A found "$@"; print -rl -- $found; } >>offered
  builtin compadd "$@"
}
compadd() { offered "$@" }
offer() { print -r -- "= $BUFFER" >>offered; zle list-choices; BUFFER= }
zle -N offer; bindkey '^I' offer
fpath=(COMPLETIONS $fpath); autoload -Uz compinit; compinit -uD
"""


def zsh_offers(sbx_run, completions, lines):
    setup = ZSH.replace("COMPLETIONS", shlex.quote(completions))
    keys = "".join(" ".join(["sbx-run", *line]) + "\t" for line in lines)
    said = run(sbx_run, ["bash", "-c", """printf %s "$1" >setup; { printf '. ./setup\n'; cat; printf 'exit\n'; } |
                         script -qec 'zsh -f -i' /dev/null >/dev/null; cat offered""", "bash", setup], input=keys)
    offered = [one.split("\n")[1:] for one in ("\n" + said).split("\n= ")[1:]]
    return offered if len(offered) == len(lines) else [[said]] * len(lines)


def executed(completions):
    """What a shell makes of names that a command's caller has chosen is the name."""
    wrong = []
    with tempfile.TemporaryDirectory() as place:
        stub, mark = f"{place}/sbx-run", f"{place}/executed"
        name = f"$(echo>{mark})"
        with open(stub, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\ncase $1 in layer) echo '[{{\"name\":\"{name}\"}}]' ;; *) echo '{name} one' ;; esac\n")
        os.chmod(stub, 0o755)
        for shell, offers in (("bash", bash_offers), ("zsh", zsh_offers), ("fish", fish_offers)):
            if shutil.which(shell) is None or shutil.which("script") is None:
                continue
            lines = [["--layer", ""], ["layer", "diff", ""], ["--profile", ""]]
            offered = offers(stub, completions, lines)
            if os.path.exists(mark):
                wrong.append(f"{shell} executes a name that it completes")
                os.unlink(mark)
            wrong += [f"{shell} offers no {name} for {line}: {had}" for line, had in zip(lines, offered)
                      if not any(mark in one for one in had)]
    return wrong


def wrongly_completed(sbx_run, completions):
    wrong = executed(completions)
    for shell, offers in (("bash", bash_offers), ("zsh", zsh_offers), ("fish", fish_offers)):
        absent = [name for name in (shell, "script") if shutil.which(name) is None]
        if absent:
            print(f"left out: what {shell} completes, no {' and no '.join(absent)}")
            continue
        known = [(words, wanted) for words, wanted in COMPLETIONS if shell != "bash" or "--" not in words]
        offered = offers(sbx_run, completions, [words for words, _ in known])
        wrong += [f"what {shell} offers for {words}: {wanted}, {had}"
                  for (words, wanted), had in zip(known, offered) if wanted not in had]
        offered = offers(sbx_run, completions, [words for words, _ in NOT_COMPLETED])
        wrong += [f"what is refused: {shell} completes {words} with {refused}"
                  for (words, refused), had in zip(NOT_COMPLETED, offered) if refused in had]
    return wrong


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
        usage = synopsis(os.path.join(built, f"docs/man/verbs/sbx-run-{verb}.1"))
        if usage and " -- " in usage and not usage.endswith("] -- program [arg ...] | -c command\n\n"):
            missing.append(f"sbx-run-{verb}(1): a synopsis that is true, {usage}")
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
    # What sbx-layer knows, by its own table, is what sbx-run's says of it.
    refused = json.loads(run(sbx_run, ["sh", "-c", "sbx-run layer 0 2>&- || test $? = 125"]))["error"]
    if refused["where"] != "ACTION" or f"  {refused['hint']}\n" not in help_text(sbx_run, "layer"):
        missing.append(f"sbx-run layer --help: {refused}")
    missing += wrongly_completed(sbx_run, os.path.join(built, "completions"))
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
