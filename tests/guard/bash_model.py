#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bash_model.py READ_TOOL [FIRST COUNT]: the command policy against bash itself, over random scripts.

A script that is allowed removes nothing outside the workspace and /tmp, neither of those nor all that
is in one of them, whatever directories there are and whatever the environment gives the variables that
the script does not set: bash runs it in several such worlds, and an `rm` that only writes down what it
is given tells. Of scripts with programs that only the run knows nothing is promised. One that fails is
named by its seed, which makes it again."""
import json
import os
import posixpath
import random
import subprocess
import sys
import tempfile

SCRIPTS = 1500
WORLDS = 3
MOST_SHOWN = 5
HOME = "/home/me"
WORK = f"{HOME}/project"
PLACES = [f"{WORK}/build", f"{WORK}/src", f"{WORK}/x", f"{WORK}/build/x", "/tmp/x", "/data/x", f"{HOME}/x"]
ALL = (f"{WORK}/README", "/tmp/rest")  # no script names them: who removes them removes all

# Inside: [[script, directories, environment]…] on standard input → what each gave rm, a line each.
DRIVER = r"""
import json, os, shutil, subprocess, sys
log, work = "/run/log", sys.argv[1]
for script, places, environment in json.load(sys.stdin):
    for top in (os.path.dirname(work), "/tmp", "/data"):
        shutil.rmtree(top, ignore_errors=True)
        os.makedirs(top, exist_ok=True)
        for name in os.listdir(top):
            at = os.path.join(top, name)
            shutil.rmtree(at) if os.path.isdir(at) else os.unlink(at)
    for place in [work] + places:
        os.makedirs(place, exist_ok=True)
    for name in sys.argv[2:]:
        open(name, "w").close()
    open(log, "w").close()
    try:
        subprocess.run(["bash", "-c", script], cwd=work, env={**os.environ, **environment}, timeout=10,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        pass
    with open(log, errors="replace") as file:
        print(json.dumps([call.split("\0")[:-1] for call in file.read().split("\1")[:-1]]), flush=True)
"""
RM = r"""#!/bin/sh
{ printf '%s\0' "$(pwd -P)" "$@"; printf '\1'; } >> /run/log
"""


class Writer:
    """Scripts of a few lines. `careful`: how seldom they name what should not be removed."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.careful = self.pick(1, 1, 0.9, 0.7)
        self.functions = []
        self.is_in_function = False

    def pick(self, *of):
        return self.random.choice(of)

    def chance(self, part):
        return self.random.random() < part

    def quoted(self, text):
        return f'"{text}"' if self.chance(0.6) else text

    def name(self):
        return self.pick("a", "b", "c")

    def path(self):
        if self.chance(self.careful):
            return self.pick("build", "build", "build", "src", "src", "build/x", "x", "./src", "/tmp/x",
                             f"{WORK}/build", "../project", "src/..", "/tmp")
        return self.pick("/data", "/data/x", "/", "..", ".", HOME, WORK, "../other", "build/../..", "")

    def literal(self):
        path = self.path()
        return path if path and not self.chance(0.2) else f"'{path}'"

    def parameter(self):
        name = self.name() if self.chance(0.8) else self.pick("1", "2", "U", "PWD", "OLDPWD", "HOME")
        if self.chance(0.5):
            return self.pick("$%s", "${%s}") % name
        kind = self.pick("default", "default", "suffix", "prefix", "replace", "slice", "length", "indirect")
        if kind == "default":
            operations = [":-", "-", ":+", "+"] + ([":?"] if name.isdigit() else [":=", "="])
            operation = self.random.choice(operations)
            return "${%s%s%s}" % (name, operation, self.pick("build", "x", "/data", "", "$" + self.name(), "/tmp/y"))
        if kind == "suffix":
            return "${%s%s%s}" % (name, self.pick("%", "%%"), self.pick("/*", "x", "/", "*", "?"))
        if kind == "prefix":
            return "${%s%s%s}" % (name, self.pick("#", "##"), self.pick("*/", "/", "/*", "b*"))
        if kind == "replace":
            by = self.pick("", "x", "..", "/")
            return "${%s%s%s/%s}" % (name, self.pick("/", "//"), self.pick("b", "/", "src"), by)
        if kind == "slice":
            return "${%s:%s}" % (name, self.pick("1", "0:1", "1:2"))
        return "${#%s}" % name if kind == "length" else "${!%s}" % self.name()

    def substitution(self, depth):
        forms = ["$(echo {w})", "$(dirname {p})", "$(basename {p})", "$(pwd)", "$(printf '%s/%s' {w} {w})",
                 "$(cd {w} && pwd)", "`echo {p}`", "$(mktemp -d)", "$(cat <<E\n{w}\nE\n)",
                 "$(mktemp -d || echo {w})", "$(echo {w} || echo {w})", "$(false || echo {w})", "$(date -d {w} || echo x)",
                 "$(find {w} -name x || echo {w})", "$(date %s)" % self.pick("+%F", "-d x", "+%n", "-u +%s", "+%p", "+%s/..")]
        if self.functions:
            forms.append("$(%s {w})" % self.random.choice(self.functions))
        return self.filled(self.random.choice(forms), depth)

    def word(self, depth=0):
        kind = self.random.random()
        if kind < 0.35:
            return self.literal()
        if kind < 0.65:
            return self.quoted(self.parameter())
        if kind < 0.75:
            return self.quoted(self.parameter() + "/" + self.pick("x", "build", "..", "*"))
        if kind < 0.8 and depth < 2:
            return self.quoted(self.substitution(depth + 1))
        if kind < 0.85:
            return self.pick('"$@"', '"${arr[@]}"', "${arr[0]}", '"$*"', "${arr[1]}", "${arr[@]: -1}", "$@")
        if kind < 0.89:
            return self.pick("*", "./*", "build/*", f"{WORK}/*", "*/", ".*")
        if kind < 0.92:
            return self.pick("~", "~/x", "$PWD/x", '"$OLDPWD"', "~+", "${PWD%/*}", '"$(dirname "$0")"/x')
        if kind < 0.95:
            return self.pick("{build,src}", "{x,/data}", "build{1..2}", "{,/tmp/}x")
        return self.quoted(self.parameter() + self.parameter())

    def removal(self, depth=0):
        plain = self.pick("", "-r ", "-rf ", "-f ", "-rf -- ") + self.word(depth)
        if self.chance(0.7):
            return f"rm {plain}"
        return self.pick("command rm %s", "env rm %s", "timeout 5 rm %s", "\\rm %s", "R=rm; $R %s",
                         "env -C build rm %s", "(cd build && rm %s)", "(cd /; rm %s)", "cd build && rm %s && cd -", "! rm %s",
                         "rm %s &\nwait",
                         "mkdir -p x && cd x && rm %s", "bash <<E\nrm %s\nE", "bash <<'E'\ncd build\nrm %s\nE",
                         "if ! rm %s; then exit; fi", "eval \"cd build; rm %s\"") % plain

    def condition(self):
        return self.filled(self.pick("[ -d {p} ]", "true", "false", '[ -n "{p}" ]', "cd {w}", '[ "{p}" = build ]',
                                     "[[ {p} == */* ]]", "mkdir -p x", "((i++ < 2))", "read -r {n} <<< {w}"), 1)

    def filled(self, form, depth):
        """A form with its holes filled: names, words, parameters, lists, conditions, removals."""
        name = self.name()
        makers = {"{f}": lambda: self.pick("{}", "{}", "{}/x", "./{}", "{}x", "{}/../x", "{}..", ".{}", "build/{}",
                                           "x{}", "/{}", "/data/{}", "../{}", "{p}/{}", "{p}{}", "{}{}", "{}/../../y"),
                  "{t}": lambda: self.pick("-name x", "-name x", "-path '*/x'", "-type d", "-name '*x'", "-mindepth 1"),
                  "{n}": lambda: name, "{w}": lambda: self.word(depth), "{p}": lambda: self.quoted(self.parameter()),
                  "{l}": lambda: self.list(depth), "{c}": self.condition, "{r}": lambda: self.removal(depth),
                  "{r'}": lambda: self.removal(depth).replace("'", '"'),
                  "{l'}": lambda: self.list(depth).replace("'", '"')}
        for hole, make in makers.items():
            while hole in form:
                form = form.replace(hole, make(), 1)
        return form

    def list(self, depth):
        return "; ".join(self.statement(depth + 1) for _ in range(self.pick(1, 1, 2, 3)))

    SIMPLE = ("{n}={w}", "{n}={w}", "{n}={w}", "{n}+={w}", "export {n}={w}", "declare {n}={w}", "cd {w}", "cd {w}",
              "cd ..", "cd -", "cd", "pushd build", "pushd {w}", "popd", "unset {n}", "set -- {w}", "set -- {w} {w}", "shift",
              "set -e", "set -u", "IFS=/", "IFS=:", "unset IFS", "shopt -s nullglob", "set -f", "arr=({w})",
              "arr=({w} {w})", "arr+=({w})", "arr[1]={w}", ": ${{n}:={w}}", "mapfile -t arr <<< {w}", "read -r {n} <<< {w}",
              "printf -v {n} %s {w}", "{n}=$((1 + 1))", "(({n} = 2))", "(({n} == 2))", "let {n}=1", "{n}=1 {r}",
              "trap '{r'}' EXIT", "declare -n ref={n}; ref={w}", "readonly {n}", "{c} || exit", "{c} || return",
              "{c} && {r}", "! {c} && {r}", "{c} || {c} && {r}", "{c} || {c} || exit", "{c} || { {l}; exit; }",
              "{c} || { {l}; return; }", "{c} && {c} || exit", "! {c} || exit")
    COMPOUND = ("if {c}; then {l}; fi", "if {c}; then {l}; else {l}; fi", "if {c}; then {l}; elif {c}; then {l}; fi",
                "for {n} in {w} {w}; do {l}; done", "for {n} in build src; do {l}; done", "for {n}; do {l}; done",
                "for {n} in \"${arr[@]}\"; do {l}; done", "for ((i = 0; i < 2; i++)); do {l}; done",
                "for {n} in {w}; do {l}; break; done", "echo {w} | while read -r {n}; do {l}; done",
                "while read -r {n}; do {l}; done <<< {w}", "while read -r {n}; do {l}; done < <(echo {w})",
                "i=0; while ((i++ < 2)); do {l}; done", "case {p} in build) {l};; *) {l};; esac",
                "case {p} in /*) {l};& x) {l};; *) {l};; esac", "({l})", "{ {l}; }", "{l} && {l}", "{l} || {l}",
                "if ! {c}; then {l}; exit; fi", "if ! {c}; then exit; else {l}; fi", "{c} && { {l}; }",
                "{c} && for {n} in {w}; do {l}; done", "{c} && if {c}; then {l}; fi", "{c} && {l} | cat", "{c} && {c} & {l}",
                "if {c}; then [[ {p} ]]; fi && { {l}; }", "if {c} && {c}; then {l}; fi", "{c} && [[ {p} ]] && {r}",
                "eval '{r'}'", "bash -c '{l'}' {w} {w}", "bash -ec '{l'}'", "echo {w} | xargs rm -rf",
                "echo {w} | xargs -I@ rm -rf @/x", "find {w} -name x -exec rm -rf {} +",
                "find {w} -name x -exec sh -c '{r'}' _ {} \\;", "echo {w} | xargs sh -c '{r'}' _", "coproc { {l}; }; wait",
                "find {w} -name x | while read -r {n}; do {l}; done", "trap '{l'}' EXIT",
                "find {w} {t} -exec rm -rf {f} \\;", "find {w} {t} -execdir rm -r {f} \\;",
                "find {w} {t} | xargs -I{} rm -rf {f}", "find {w} {t} -print0 | xargs -0 rm -rf",
                "find {w} {t} -printf '/data\\n' | xargs rm -rf", "find {w} {t} -exec echo {w} \\; | xargs rm -rf",
                "find {w} {t} -exec sh -c 'rm -rf {f}' \\;", "bash -c \"find build {t} -exec rm -rf {f} \\;\"")

    def statement(self, depth=0):
        kind = self.random.random() * (0.6 if depth > 2 else 1)
        if kind < 0.2:
            return self.removal(depth)
        if kind < 0.6:
            form = self.random.choice(self.SIMPLE)
            if self.is_in_function and self.chance(0.1):
                form = self.pick("local {n}={w}", "local {n}", "return")
            return self.filled(form, depth + 1)
        if kind < 0.7:
            if self.functions and self.chance(0.6):
                return self.filled(self.random.choice(self.functions) + self.pick("", " {w}", " {w} {w}"), depth)
            function = self.pick("f", "g")
            outer, self.is_in_function = self.is_in_function, True
            body = self.list(depth)
            self.is_in_function = outer
            self.functions.append(function)
            return f"{function}() {{ {body}; }}"
        return self.filled(self.random.choice(self.COMPOUND), depth + 1)

    def script(self):
        lines = [f"{name}={self.literal()}" for name in "abc" if self.chance(0.85)]
        if self.chance(0.3):
            lines.append(f"set -- {self.literal()} {self.literal()}")
        if self.chance(0.2):
            lines.append(f"arr=({self.literal()})")
        if self.chance(0.2):
            lines.append(f"cd {self.literal()} || exit")
        lines += [self.statement() for _ in range(self.pick(1, 1, 2, 2, 3))]
        return "\n".join(lines + [self.removal()] * self.chance(0.5))


def world(seed):
    """Directories that are there, and variables of the environment."""
    chosen = random.Random(seed)
    values = ("/", "/data", "build", "", "..", "x", "-rf", "src /data")
    return ([place for place in PLACES if chosen.random() < 0.6],
            {name: chosen.choice(values) for name in "Ui" if chosen.random() < 0.3})


def harm(calls):
    """The first path that should not have been given to rm, or None."""
    for directory, *arguments in calls:
        operands, is_recursive = [], False
        while arguments and arguments[0].startswith("-") and arguments[0] != "-":
            option = arguments.pop(0)
            is_recursive = is_recursive or "r" in option
            if option == "--":
                break
        operands = [argument for argument in arguments if argument]
        for operand in operands:
            path = posixpath.normpath(posixpath.join(directory, operand))
            path = "/" + path.lstrip("/")
            holds = any(top == path or top.startswith(path.rstrip("/") + "/") for top in (WORK, "/tmp"))
            if holds and not is_recursive:
                continue  # rm removes no directory
            if holds or path in ALL or not path.startswith((WORK + "/", "/tmp/", "/dev/")):
                return directory, operand
    return None


def verdicts(tool, scripts):
    with tempfile.TemporaryDirectory() as folder:
        names = [os.path.join(folder, str(number)) for number in range(len(scripts))]
        for name, script in zip(names, scripts):
            with open(name, "w", encoding="utf-8") as file:
                file.write(script)
        output = subprocess.run([tool, *names], stdout=subprocess.PIPE, timeout=300, check=True).stdout
    readings = [json.loads(line) for line in output.splitlines()]
    return ["unknown" if reading["unknown"] else reading["verdict"] for reading in readings]


def run_in_bash(jobs):
    """What each job gives rm."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        with open(os.path.join(folder, "rm"), "w", encoding="utf-8") as file:
            file.write(RM)
        os.chmod(file.name, 0o755)
        links = [part for name in ("bin", "lib", "lib64", "sbin") for part in ("--symlink", f"usr/{name}", f"/{name}")]
        inside = ["bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr", *links, "--proc", "/proc", "--dev",
                  "/dev", "--tmpfs", "/home", "--tmpfs", "/tmp", "--tmpfs", "/run", "--tmpfs", "/data", "--ro-bind", folder,
                  "/fake", "--clearenv", "--setenv", "PATH", "/fake:/usr/bin", "--setenv", "HOME", HOME, "/usr/bin/python3",
                  "-c", DRIVER, WORK, *ALL]
        done = subprocess.run(inside, input=json.dumps(jobs), capture_output=True, text=True, timeout=500, check=False)
    if done.returncode != 0:
        sys.exit(f"FAILED: the sandbox for bash: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def main(tool, first="0", count=str(SCRIPTS)):
    seeds = range(int(first), int(first) + int(count))
    scripts = [Writer(seed).script() for seed in seeds]
    found = verdicts(tool, scripts)
    allowed = [i for i, verdict in enumerate(found) if verdict == "allow"]
    asked = [i for i, verdict in enumerate(found) if verdict == "ask"][:100]
    jobs = [(i, turn) for turn in range(WORLDS) for i in allowed] + [(i, 0) for i in asked]
    calls = run_in_bash([[scripts[i], *world(seeds[i] * WORLDS + turn)] for i, turn in jobs])
    removals = sum(bool(each) for each in calls)
    harmful = [(i, turn, harm(each)) for (i, turn), each in zip(jobs, calls, strict=True) if harm(each)]
    failures = [each for each in harmful if found[each[0]] == "allow"]
    for i, turn, path in failures[:MOST_SHOWN]:
        print(f"FAILED: seed {seeds[i]} is allowed, and gives rm {path} with {world(seeds[i] * WORLDS + turn)}:\n{scripts[i]}")
    rightly = len(harmful) - len(failures)
    print(f"{len(scripts)} scripts, {len(allowed)} allowed, {removals} of {len(jobs)} runs that remove; "
          f"{rightly} of {len(asked)} asked about would do harm; {len(failures)} failures")
    if len(allowed) < len(scripts) / 5 or removals < len(jobs) / 4 or rightly < len(asked) / 5:
        print("FAILED: the scripts are no measure")
        return 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
