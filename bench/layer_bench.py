#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What layers cost: checkpoint, rollback and branch in a workspace of many files; a run and a build in
a layer beside the same without one, in turns. Prints a table in Markdown.

    SBX_RUN=build/release/bin/sbx-run bench/layer_bench.py [FILES] [ROUNDS]
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SBX_RUN = os.path.abspath(os.environ.get("SBX_RUN", "sbx-run"))
FILES = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 15
SOURCES = 6


def grow(work):
    """FILES files of a few bytes, 500 a directory."""
    for i in range(FILES):
        if i % 500 == 0:
            directory = os.path.join(work, f"d{i // 500}")
            os.mkdir(directory)
        with open(os.path.join(directory, str(i)), "w") as file:
            file.write("x\n")


def sources(work):
    os.mkdir(os.path.join(work, "src"))
    functions = "".join(f"int f{n}(int a) {{ int s = {n}; while (a-- > 0) s = s * 31 + a; return s; }}\n"
                        for n in range(60))
    for i in range(SOURCES):
        with open(os.path.join(work, "src", f"s{i}.c"), "w") as file:
            file.write(functions)
    with open(os.path.join(work, "src", "Makefile"), "w") as file:
        file.write("all: " + " ".join(f"s{i}.o" for i in range(SOURCES)) + "\nclean:\n\trm -f *.o\n")


def timed(work, environment, *words):
    begin = time.perf_counter()
    done = subprocess.run([SBX_RUN, *words], cwd=work, env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{words}: {done.stdout[-800:]!r} {done.stderr!r}")
    return (time.perf_counter() - begin) * 1e3


def row(name, values):
    print(f"| {name} | {statistics.median(values):.1f} | {min(values):.1f} |")


def main():
    base = tempfile.mkdtemp(prefix="sbx-layer-bench-", dir=os.environ.get("BENCH_DIR"))
    work = os.path.join(base, "work")
    os.mkdir(work)
    environment = {**os.environ, "XDG_STATE_HOME": os.path.join(base, "state")}
    try:
        grow(work)
        sources(work)
        os.sync()  # or the file system is busy with them for the next half minute
        times = {name: [] for name in ("checkpoint", "rollback", "branch", "without", "with",
                                       "build without", "build with")}
        timed(work, environment, "--layer", "x", "-c", "echo 1 > one; echo 2 > d0/0")
        for i in range(ROUNDS):
            timed(work, environment, "--layer", "x", "-c", f"echo {i} > f{i}")
            times["checkpoint"].append(timed(work, environment, "layer", "checkpoint", "x", f"l{i}"))
            times["rollback"].append(timed(work, environment, "layer", "rollback", "x", f"l{i}"))
            times["branch"].append(timed(work, environment, "layer", "branch", "x", f"b{i}"))
        pair = [("without", ()), ("with", ("--layer", "run"))]
        for kind, rounds, script in (("", 4 * ROUNDS, "cat d1/500 > /dev/null"),
                                     ("build ", ROUNDS, "make -s -C src clean all CFLAGS=-O1")):
            for i in range(rounds):
                for name, flags in pair[::1 if i % 2 else -1]:
                    times[kind + name].append(timed(work, environment, *flags, "-c", script))
        print(f"{FILES} files, {ROUNDS} rounds\n\n| | median ms | least ms |\n|---|---|---|")
        for name, values in times.items():
            row(name, values)
        for name in ("", "build "):
            ratios = [b / a for a, b in zip(times[name + "without"], times[name + "with"])]
            print(f"\n{name or 'run '}in a layer / without: {statistics.median(ratios):.3f} (median of the rounds)")
    finally:
        shutil.rmtree(base, ignore_errors=True)


main()
