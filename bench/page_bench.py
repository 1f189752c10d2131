#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SBX_RUN=… page_bench.py [RECORDS]: what the pages of `report` and `explain --html` cost: bytes,
peak memory of the process that writes them (VmHWM), time. Logs are made as they are read."""

import json
import os
import subprocess
import sys
import tempfile
import time

SBX_RUN = os.environ["SBX_RUN"]


def record(number, **more):
    second = number % 60
    return {"time": f"2026-11-{number // 8640 % 28 + 1:02}T{number // 360 % 24:02}:{number // 6 % 60:02}:{second:02}.000Z",
            "session": None, "profile": "default", "profile_sha256": "0" * 64, "command": "make test",
            "description": None, "cwd": "/work", "verdict": "allow", "status": "exited", "exit_code": 0,
            "signal": None, "stdout_bytes": 100, "stderr_bytes": 0, "duration_ms": number % 5000, "denials": [],
            "redactions": {"count": 0, "rules": []}, "error": None, **more}


def denial(target):
    return {"layer": "network", "operation": "connect", "target": target, "count": 1, "program": "pip",
            "grant": f'network.allow += ["{target}"]'}


# Each with the number of a record.
KINDS = {
    "short commands": lambda i: record(i),
    "two refusals each": lambda i: record(i, denials=[denial("pypi.org:443"), denial("files.example:443")]),
    "every name another": lambda i: record(
        i, command=f"tool-{i} --name {i}", session=f"s{i}", denials=[denial(f"h{i}.example:443")],
        connections=[{"name": f"host{i}.example", "address": "192.0.2.1", "port": 443, "bytes_out": i, "bytes_in": i}]),
    "4 KB of characters to escape": lambda i: record(i, command="<&\"'" * 1000),
}


def peak_kb(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            return next((int(line.split()[1]) for line in status if line.startswith("VmHWM:")), 0)
    except OSError:
        return 0


def measure(*words):
    """(bytes of the page, peak in KiB as long as it had not been read whole, seconds)."""
    begin = time.monotonic()
    with subprocess.Popen([SBX_RUN, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        size = peak = 0
        while part := process.stdout.read1(1 << 16):
            size += len(part)
            peak = max(peak, peak_kb(process.pid))
    if process.returncode != 0:
        raise SystemExit(f"{words}: {process.returncode}")
    return size, peak, time.monotonic() - begin


def write_log(path, kind, records):
    with open(path, "w", encoding="ascii") as file:
        for i in range(records):
            file.write(json.dumps(KINDS[kind](i)) + "\n")
    return os.path.getsize(path)


def row(*cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def main():
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    row("page of", "log", "page", "peak memory", "time")
    row("---", "---:", "---:", "---:", "---:")
    with tempfile.TemporaryDirectory(prefix="sbx-pages-") as directory:
        path = directory + "/audit.jsonl"
        for kind in KINDS:
            log = write_log(path, kind, records)
            size, peak, seconds = measure("report", path)
            row(f"{records:,} records, {kind}", f"{log / 1e6:.1f} MB", f"{size / 1e6:.1f} MB",
                f"{peak / 1024:.1f} MiB", f"{seconds:.1f} s")
        flags = []
        for i in range(1000):
            os.mkdir(f"{directory}/d{i}")
            flags += ["--ro", f"{directory}/d{i}"]
        os.chdir(directory)
        size, peak, seconds = measure("explain", "--html", *flags, "-c", "true")
        row("a plan with 1,000 roots besides", "", f"{size / 1e6:.1f} MB", f"{peak / 1024:.1f} MiB", f"{seconds:.1f} s")


if __name__ == "__main__":
    main()
