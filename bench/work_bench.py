#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What work costs inside beside outside, in turns, the launch left out: a C++ build, `git status` in a
repository of many files, `npm ci` from a cache. Each side is one program that does the work some times
over and says how long one took. Prints a table in Markdown. Run it as an unprivileged user.

    SBX_RUN=build/release/bin/sbx-run bench/work_bench.py [ROUNDS]
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

SBX_RUN = os.path.abspath(os.environ.get("SBX_RUN", "sbx-run"))
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 15
FILES = 20_000
PACKAGES = 60

# Does argv[2:] argv[1] times over, and prints the seconds of each.
TIMER = """
import subprocess, sys, time
begin = time.perf_counter()
for _ in range(int(sys.argv[1])):
    subprocess.run(sys.argv[2:], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
print((time.perf_counter() - begin) / int(sys.argv[1]))
"""


def make_build(work):
    for i in range(4):
        with open(os.path.join(work, f"s{i}.cc"), "w") as file:
            file.write("#include <map>\n#include <string>\n"
                       f"std::map<std::string, int> f{i}(const std::string& s)\n"
                       "{ return {{s + s, 1}, {s, 2}}; }\n")
    return 1, ["sh", "-c", "rm -f *.o && g++ -std=c++20 -O1 -c s0.cc s1.cc s2.cc s3.cc"]


def make_repository(work):
    for i in range(FILES):
        directory = os.path.join(work, f"d{i // 100}")
        os.makedirs(directory, exist_ok=True)
        with open(os.path.join(directory, str(i)), "w") as file:
            file.write("x\n")
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "all"]):
        subprocess.run(["git", *words], cwd=work, check=True)
    return 10, ["git", "status"]


def make_packages(work):
    """A project whose packages all are archives beside it: nothing is asked of a registry."""
    names = [f"package-{i}" for i in range(PACKAGES)]
    os.mkdir(os.path.join(work, "archives"))
    for name in names:
        source = os.path.join(work, "source", "package")
        os.makedirs(source)
        with open(os.path.join(source, "package.json"), "w") as file:
            json.dump({"name": name, "version": "1.0.0"}, file)
        for i in range(30):
            with open(os.path.join(source, f"{i}.js"), "w") as file:
                file.write(f"module.exports = {i};\n" * 50)
        subprocess.run(["tar", "czf", f"../archives/{name}.tgz", "package"],
                       cwd=os.path.dirname(source), check=True)
        shutil.rmtree(os.path.join(work, "source"))
    with open(os.path.join(work, "package.json"), "w") as file:
        json.dump({"name": "work", "version": "1.0.0", "dependencies":
                   {name: f"file:archives/{name}.tgz" for name in names}}, file)
    npm = ["npm", "--offline", "--no-audit", "--no-fund", "--no-update-notifier",
           "--cache", os.path.join(work, ".npm-cache")]
    subprocess.run([*npm, "install", "--silent"], cwd=work, check=True)
    return 1, [*npm, "ci", "--silent"]


def seconds(inside, work, environment, times, words):
    words = ["python3", "-c", TIMER, str(times), *words]
    if inside:
        words = [SBX_RUN, "exec", "--", *words]
    done = subprocess.run(words, cwd=work, env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{words}: {done.stdout[-400:]} {done.stderr[-800:]}")
    return float(done.stdout)


def main():
    environment = {name: os.environ[name] for name in ("HOME", "LANG", "USER") if name in os.environ}
    environment["PATH"] = "/usr/bin:/bin"
    base = tempfile.mkdtemp(prefix="sbx-work-bench-", dir=os.environ.get("BENCH_DIR"))
    print("| work | outside ms | inside ms | median of the pairs' ratios | p10 – p90 "
          "| ratio of the least |\n|---|---:|---:|---:|---:|---:|")
    try:
        for name, make in (("a C++ build", make_build), ("`git status`, 20,000 files", make_repository),
                           ("`npm ci`, 60 packages", make_packages)):
            work = os.path.join(base, make.__name__)
            os.mkdir(work)
            times, words = make(work)
            os.sync()
            took = {False: [], True: []}
            for i in range(ROUNDS + 1):
                for inside in (False, True)[::1 if i % 2 else -1]:
                    took[inside].append(seconds(inside, work, environment, times, words) * 1e3)
            out, within = (took[side][1:] for side in (False, True))  # the first one warms up
            ratios = sorted(b / a for a, b in zip(out, within))
            print(f"| {name} | {statistics.median(out):.1f} | {statistics.median(within):.1f} | "
                  f"{statistics.median(ratios):.3f} | {ratios[len(ratios) // 10]:.2f} – "
                  f"{ratios[-1 - len(ratios) // 10]:.2f} | {min(within) / min(out):.3f} |", flush=True)
    finally:
        shutil.rmtree(base, ignore_errors=True)


main()
