#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How fast sbx-run takes a command's output, against `cat` through the same kind of pipe.

usage: capture_bench.py SBX_RUN [MEGABYTES]

Prints MB/s, the best of three rounds each: `cat FILES | cat > /dev/null`, then sbx-run over the
same `cat FILES` with and without redaction, on ordinary log lines and on zero bytes.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time

FILE_MB = 64
ROUNDS = 3


def log_text(size: int) -> bytes:
    """Lines of builds, tests and web servers, as a compiler and a test runner print them."""
    rng = random.Random(1)
    words = "build compile link test passed warning unused variable in function object file".split()
    lines: list[str] = []
    total = 0
    while total < 1 << 20:
        kind = rng.randrange(4)
        if kind == 0:
            name = rng.choice(words) + str(rng.randrange(1000))
            line = f"[{rng.randrange(900)}/900] Building CXX object src/CMakeFiles/{name}.dir/{name}.cc.o"
        elif kind == 1:
            line = f"2026-01-31T12:{rng.randrange(60):02}:{rng.randrange(60):02}Z INFO " + " ".join(
                rng.choices(words, k=8)
            )
        elif kind == 2:
            line = f"ok {rng.randrange(9999)} - {' '.join(rng.choices(words, k=5))} ({rng.random():.3f} s)"
        else:
            line = f"commit {rng.getrandbits(160):040x} sha256-{rng.getrandbits(128):032x}"
        lines.append(line)
        total += len(line) + 1
    block = ("\n".join(lines) + "\n").encode()
    return (block * (size // len(block) + 1))[:size]


def best(call) -> float:
    return min(call() for _ in range(ROUNDS))


def timed(command, **options) -> float:
    began = time.monotonic()
    done = subprocess.run(command, check=True, stdin=subprocess.DEVNULL, **options)
    elapsed = time.monotonic() - began
    if done.stdout:
        answer = json.loads(done.stdout)
        assert answer["status"] == "exited" and answer["exit_code"] == 0, answer
    return elapsed


def main() -> None:
    sbx_run = os.path.abspath(sys.argv[1])
    megabytes = int(sys.argv[2]) if len(sys.argv) > 2 else 1024
    repeats = max(1, megabytes // FILE_MB)
    size = repeats * FILE_MB
    with tempfile.TemporaryDirectory(dir="/dev/shm") as base:
        plain = os.path.join(base, "plain.json")
        with open(plain, "w") as file:
            json.dump({"output": {"redact": False}}, file)
        for name, content in (
            ("logs", log_text(FILE_MB << 20)),
            ("zeros", bytes(FILE_MB << 20)),
        ):
            path = os.path.join(base, name)
            with open(path, "wb") as file:
                file.write(content)
            files = [path] * repeats
            pipe = f"cat {' '.join(files)} | cat > /dev/null"
            rows = [("cat | cat", lambda: timed(["sh", "-c", pipe]))]
            for label, flags in (("sbx-run", []), ("sbx-run, no redaction", ["--profile", plain])):
                command = [sbx_run, "--workspace", base, *flags, "--", "cat", *files]
                rows.append(
                    (label, lambda command=command: timed(command, stdout=subprocess.PIPE))
                )
            for label, call in rows:
                print(f"{name:6} {label:24} {size * 1.048576 / best(call):8.0f} MB/s", flush=True)
            os.unlink(path)


if __name__ == "__main__":
    main()
