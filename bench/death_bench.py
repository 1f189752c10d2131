#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""death_bench.py SBX_RUN [ROUNDS [LIBSBX]]: each party of a session is killed by SIGKILL at a random
moment, and everything that was there because of it is looked for until none of it is left → a
Markdown table of how long that took. Touches nothing but a temporary directory of its own."""

import json
import os
import random
import statistics
import subprocess
import sys
import time
from typing import Callable, List, Set

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(HERE)
os.environ["SBX_RUN"] = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "")
os.environ["SBX_SOURCE"] = SOURCE
sys.path.insert(0, os.path.join(SOURCE, "tests", "e2e"))
sys.path.insert(0, os.path.join(SOURCE, "bindings", "python", "src"))

import harness  # noqa: E402
import session_harness  # noqa: E402

ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 20
LIBRARY = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else ""
# Ignores SIGTERM, leaves its session, has a child that does the same, writes in the workspace.
COMMAND = ("trap '' TERM; setsid setsid sleep 1000 & (trap '' TERM HUP; sleep 1000) & "
           "mkdir -p a/b/c; for i in $(seq 50); do echo x > a/b/c/$i; done; sleep 1000; : {}")
TASKS = 3


def cgroups() -> Set[str]:
    return {os.path.join(directory, name) for directory, names, _ in os.walk("/sys/fs/cgroup")
            for name in names if name.startswith("sbx-")}


class World(session_harness.Case):
    """One round: what is started is found again by the marker in its environment or command."""

    def runTest(self) -> None:
        pass

    def command(self) -> str:
        return COMMAND.format(self.marker)

    def shells(self) -> int:
        """How many commands run."""
        found = 0
        for pid in session_harness.processes(self.marker):
            try:
                with open(f"/proc/{pid}/comm") as comm:
                    found += comm.read() == "bash\n"
            except OSError:
                continue
        return found

    def begin(self) -> None:
        self.cgroups_before = cgroups()

    def is_something_left(self) -> bool:
        return bool(self.left() or cgroups() - self.cgroups_before)

    # Each answers the process to be killed.

    def stream_server(self) -> int:
        process, peer = self.server()
        for _ in range(TASKS):
            peer.send("start", command=self.command())
        return process.pid

    def caller(self) -> int:
        script = f"import subprocess;subprocess.run([{harness.SBX_RUN!r}, 'serve'])"
        caller = subprocess.Popen([sys.executable, "-c", script], env=self.env, cwd=self.work,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.end, caller)
        peer = session_harness.Peer(caller.stdout, caller.stdin)
        for _ in range(TASKS):
            peer.send("start", command=self.command())
        return caller.pid

    def sessions_server(self) -> int:
        for _ in range(TASKS):
            self.verb("start", "--session", "s", "-c", self.command())
        return int(self.verb("call", "hello", "--session", "s")["pid"])

    def owner(self) -> int:
        owner = subprocess.Popen(["/usr/bin/sleep", "1000"])
        self.addCleanup(self.end, owner)
        for _ in range(TASKS):
            self.verb("start", "--session", "s", "--owner-pid", str(owner.pid), "-c",
                      self.command())
        return owner.pid

    def runtime_host(self) -> int:
        script = (
            "import sys,sbx,time\n"
            f"session = sbx.Session(program={harness.SBX_RUN!r})\n"
            f"for i in range({TASKS}): session.start(sys.argv[1])\n"
            "time.sleep(1000)\n")
        env = {**self.env, "PYTHONPATH": os.path.join(SOURCE, "bindings", "python", "src"),
               "LD_LIBRARY_PATH": os.path.dirname(LIBRARY)}
        host = subprocess.Popen([sys.executable, "-c", script, self.command()], env=env,
                                cwd=self.work)
        self.addCleanup(self.end, host)
        return host.pid

    def plain_run(self) -> int:
        process = subprocess.Popen([harness.SBX_RUN, "-c", self.command()], env=self.env,
                                   cwd=self.work, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL)
        self.addCleanup(self.end, process)
        return process.pid

    def client(self) -> int:
        _, path, _ = self.socket_server()
        script = ("import socket,sys,time; s=socket.socket(socket.AF_UNIX);"
                  f"s.connect({path!r}); s.sendall(sys.stdin.buffer.read()); time.sleep(1000)")
        client = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE)
        self.addCleanup(self.end, client)
        for i in range(TASKS):
            client.stdin.write(json.dumps(
                {"jsonrpc": "2.0", "id": i, "method": "run",
                 "params": {"command": self.command() + "client"}}).encode() + b"\n")
        client.stdin.close()
        return client.pid


def reap(pid: int) -> None:
    """A dead child of this process is found in /proc until it is waited for."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass


def one(party: Callable[[World], int], tasks: int, chance: random.Random) -> float:
    """Seconds from the kill to the end of everything."""
    world = World()
    world.setUp()
    try:
        world.begin()
        pid = party(world)
        if not session_harness.until(lambda: world.shells() >= tasks, 20):
            raise SystemExit(f"{party.__name__}: the commands did not start")
        time.sleep(chance.random() * 0.2)
        began = time.monotonic()
        os.kill(pid, 9)

        def is_over() -> bool:
            reap(pid)
            if party is World.client:  # its server stays
                return not session_harness.processes(world.marker + "client")
            return not world.is_something_left()

        if not session_harness.until(is_over, 30):
            raise SystemExit(f"{party.__name__}: {world.left()}")
        return time.monotonic() - began
    finally:
        world.doCleanups()


def main() -> None:
    chance = random.Random(1)
    parties = [("the server, on standard input", World.stream_server, TASKS),
               ("the caller of that server, its pipes held open by others", World.caller, TASKS),
               ("the server of a session", World.sessions_server, TASKS),
               ("the owner of a session", World.owner, TASKS),
               ("a client with commands that run", World.client, TASKS),
               ("sbx-run with one command", World.plain_run, 1)]
    if LIBRARY:
        parties.append(("the host of the C ABI (Python)", World.runtime_host, TASKS))
    print("| who is killed | median ms | worst ms |\n|---|---:|---:|")
    for name, party, tasks in parties:
        took: List[float] = [one(party, tasks, chance) * 1000 for _ in range(ROUNDS)]
        print(f"| {name} | {statistics.median(took):.0f} | {max(took):.0f} |", flush=True)


if __name__ == "__main__":
    main()
