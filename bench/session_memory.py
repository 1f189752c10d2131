#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""session_memory.py SBX_RUN [SESSIONS]: what an idle session and each of its warm sandboxes hold → a
Markdown table. Root only: PID 1 of a sandbox is nobody's to look into.

Memory that processes share counts once: of each process its part (Pss) and its page tables; the two
processes of a warm sandbox have one memory. What no process shows (namespaces, mounts, tmpfs, filters,
kernel stacks) is the difference that SESSIONS sessions make to the machine's kernel memory."""

import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any, Dict, List

PROFILES = ("default", "build")


def children(pid: int) -> List[int]:
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        direct = [int(word) for word in file.read().split()]
    return direct + [below for child in direct for below in children(child)]


def kib(path: str, key: str) -> int:
    with open(path) as file:
        return next((int(line.split()[1]) for line in file if line.startswith(key + ":")), 0)


def held(pid: int) -> int:
    """KiB of one memory: its part of what is mapped, and its page tables."""
    return kib(f"/proc/{pid}/smaps_rollup", "Pss") + kib(f"/proc/{pid}/status", "VmPTE")


class Session:
    def __init__(self, program: str, profile: str, directory: str) -> None:
        self.process = subprocess.Popen(
            [program, "serve", "--profile", profile, "--workspace", directory],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.call("run", command="true")

    def call(self, method: str, **params: Any) -> Dict[str, Any]:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write((json.dumps(request) + "\n").encode())
        self.process.stdin.flush()
        while True:
            message = json.loads(self.process.stdout.readline())
            if message.get("id") == 1:
                return dict(message["result"])

    def end(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def kernel() -> int:
    """KiB that no process shows and that are no cache of files."""
    fields: Dict[str, int] = {}
    with open("/proc/meminfo") as file:
        for line in file:
            name, value = line.split(":")
            fields[name] = int(value.split()[0])
    return sum(fields[name] for name in
               ("SUnreclaim", "KernelStack", "Percpu", "Shmem"))


def measure(program: str, profile: str, directory: str, count: int) -> None:
    session = Session(program, profile, directory)
    time.sleep(1)  # its pool is full
    pid = session.process.pid
    warm, others = [], [held(pid)]
    for child in (int(word) for word in open(f"/proc/{pid}/task/{pid}/children").read().split()):
        (warm if children(child) else others).append(held(child))
    print(f"| `{profile}`: the server and its watchdog | {sum(others):.0f} |")
    print(f"| … each of {len(warm)} warm sandboxes | {max(warm):.0f} |")
    print(f"| … together | {sum(others) + sum(warm):.0f} |")
    session.end()
    time.sleep(1)
    before = kernel()
    sessions = [Session(program, profile, directory) for _ in range(count)]
    time.sleep(1)
    grown = (kernel() - before) / count
    print(f"| … of the kernel, for each of {count} such sessions | {grown:.0f} |", flush=True)
    for session in sessions:
        session.end()


def main() -> None:
    program = os.path.abspath(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    print("| what | KiB |\n|---|---:|")
    with tempfile.TemporaryDirectory() as directory:
        for profile in PROFILES:
            measure(program, profile, directory, count)


if __name__ == "__main__":
    main()
