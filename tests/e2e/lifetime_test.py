# SPDX-License-Identifier: Apache-2.0
"""Whoever dies, at whatever moment: nothing of a session is left.

SBX_LIFE_ROUNDS raises how often each party is killed, SBX_LEAK_RUNS how many runs one server does."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
import unittest

import harness
import session_harness

ROUNDS = int(os.environ.get("SBX_LIFE_ROUNDS", "12"))
LEAK_RUNS = int(os.environ.get("SBX_LEAK_RUNS", "300"))
SEED = int(os.environ.get("SBX_LIFE_SEED", str(time.time_ns() % 1_000_000)))

# Ignores SIGTERM, leaves its session, has a child that does the same.
STUBBORN = ("trap '' TERM; setsid setsid sleep 1000 & (trap '' TERM HUP; sleep 1000) & "
            "echo x > file; sleep 1000; : {}")


class Killed(session_harness.Case):
    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED)
        self.cgroups_before = self.cgroups()

    @staticmethod
    def cgroups():
        """Boxes of sbx in the whole hierarchy."""
        found = set()
        for directory, names, _ in os.walk("/sys/fs/cgroup"):
            found |= {os.path.join(directory, n) for n in names if n.startswith("sbx-")}
        return found

    def pause(self, at_most=0.25):
        time.sleep(self.random.random() * at_most)

    def assert_nothing_left_of_round(self, round_):
        # A second is promised; a busy machine gets more.
        if not session_harness.until(lambda: not self.left(), 30):
            self.fail(f"round {round_} of seed {SEED}: {self.left()}")

    def command(self):
        return STUBBORN.format(self.marker)

    def test_the_server_of_a_stream(self):
        for round_ in range(ROUNDS):
            process, peer = self.server()
            for _ in range(3):
                peer.send("start", command=self.command())
            peer.send("run", command=self.command())
            self.pause()
            process.kill()
            process.wait()
            self.assert_nothing_left_of_round(round_)

    def test_the_server_of_a_socket(self):
        for round_ in range(ROUNDS):
            process, path, _ = self.socket_server()
            peer = self.connect(path)
            for _ in range(3):
                peer.send("start", command=self.command())
            self.pause()
            process.kill()
            process.wait()
            self.assert_nothing_left_of_round(round_)

    @unittest.skipUnless(shutil.which("strace"), "strace is not installed")
    def test_a_server_at_each_call_that_it_makes_from_its_start_to_its_end(self):
        """strace kills it on its way into the call; the watchdog is not traced."""
        for ways in (["--socket", os.path.join(self.runtime, "s.sock")], ["--session", "s"]):
            calls = self.calls_of_a_server(ways, [])
            self.assertGreater(len(calls), 100)
            moments = [(call, calls[:i + 1].count(call)) for i, call in enumerate(calls)]
            if ROUNDS < len(moments):
                moments = self.random.sample(moments, ROUNDS)
            for call, nth in moments:
                with self.subTest(call=call, nth=nth, ways=ways):
                    done = self.calls_of_a_server(ways, [f"--inject={call}:signal=KILL:when={nth}"])
                    self.assertLess(len(done), 2 * len(calls))
                    self.assert_nothing_left_of_round(nth)

    @unittest.skipUnless(shutil.which("strace"), "strace is not installed")
    def test_a_server_at_each_removal(self):
        """All of them, where the test above takes some calls: what is removed first matters."""
        for ways in (["--socket", os.path.join(self.runtime, "s.sock")], ["--session", "s"]):
            count = self.calls_of_a_server(ways, []).count("unlinkat")
            self.assertGreater(count, 0)
            for nth in range(1, count + 1):
                with self.subTest(nth=nth, ways=ways):
                    self.calls_of_a_server(ways, [f"--inject=unlinkat:signal=KILL:when={nth}"])
                    self.assert_nothing_left_of_round(nth)

    def calls_of_a_server(self, ways, inject):
        """The calls that a server makes that is started, runs a command and is ended."""
        trace = os.path.join(self.base, "trace")
        process = subprocess.Popen(
            ["strace", "-qq", "-o", trace, *inject, harness.SBX_RUN, "serve", *ways],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=self.env, cwd=self.work)
        self.addCleanup(self.end, process)
        ready = process.stdout.readline()
        if ready:
            try:
                peer = self.connect(json.loads(ready)["socket"])
                peer.send("run", command=f"touch file; : {self.marker}")
                peer.send("shutdown")
                while peer.hear():
                    pass
            except OSError:
                pass  # it died first
        process.wait(session_harness.PATIENCE)
        with open(trace, errors="replace") as lines:
            return [line.split("(")[0] for line in lines if re.match(r"[a-z0-9_]+\(", line)]

    def test_the_caller_of_a_server_on_a_stream(self):
        # The caller is killed; its pipes stay open in this process, so only the pidfd tells.
        script = ("import subprocess,sys;"
                  f"subprocess.run([{harness.SBX_RUN!r}, 'serve'])")
        for round_ in range(ROUNDS):
            caller = subprocess.Popen(["/usr/bin/python3", "-c", script], env=self.env,
                                      cwd=self.work, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.addCleanup(self.end, caller)
            peer = session_harness.Peer(caller.stdout, caller.stdin)
            peer.call("hello")  # it knows its caller now
            peer.send("start", command=self.command())
            peer.send("run", command=self.command())
            self.pause(0.4)
            caller.kill()
            caller.wait()
            self.assert_nothing_left_of_round(round_)

    def test_the_owner_of_a_session(self):
        for round_ in range(ROUNDS):
            owner = subprocess.Popen(["/usr/bin/sleep", "1000"])
            self.addCleanup(self.end, owner)
            start = subprocess.Popen(
                [harness.SBX_RUN, "start", "--session", "s", "--owner-pid", str(owner.pid), "-c",
                 self.command()], env=self.env, cwd=self.work, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if self.random.random() < 0.5:
                start.wait()
            self.pause()
            owner.kill()
            owner.wait()
            start.wait()
            self.assert_nothing_left_of_round(round_)

    def test_the_command_line_that_starts_a_session(self):
        for round_ in range(ROUNDS):
            start = subprocess.Popen(
                [harness.SBX_RUN, "start", "--session", "s", "-c", self.command()], env=self.env,
                cwd=self.work, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL)
            self.pause(0.05)
            start.kill()
            start.wait()
            # Whatever came up is a whole session, or none; one that comes up later leaves when idle.
            self.cli("call", "shutdown", "--session", "s")
            gone = session_harness.until(lambda: not self.left(), 40)
            self.assertTrue(gone, f"round {round_} of seed {SEED}")

    def test_the_server_of_a_session_on_the_command_line(self):
        for round_ in range(ROUNDS):
            self.verb("start", "--session", "s", "-c", self.command())
            pid = self.verb("call", "hello", "--session", "s")["pid"]
            self.pause()
            os.kill(pid, signal.SIGKILL)
            self.assert_nothing_left_of_round(round_)

    def test_clients(self):
        _, path, _ = self.socket_server()
        for _ in range(ROUNDS):
            client = subprocess.Popen(
                ["/usr/bin/python3", "-c",
                 "import socket,sys,time; s=socket.socket(socket.AF_UNIX);"
                 f"s.connect({path!r});"
                 "s.sendall(sys.stdin.buffer.read()); time.sleep(1000)"],
                stdin=subprocess.PIPE)
            request = {"jsonrpc": "2.0", "id": 1, "method": "run",
                       "params": {"command": f"sleep 1000; : {self.marker}run"}}
            client.stdin.write((json.dumps(request) + "\n").encode() * 2 + b'{"half')
            client.stdin.close()
            self.pause()
            client.kill()
            client.wait()
            self.assertTrue(session_harness.until(
                lambda: not session_harness.processes(self.marker + "run")))
        peer = self.connect(path)
        self.assertEqual(peer.call("run", command="echo hi")["stdout"], "hi\n")

    def tearDown(self):
        self.end_all()
        new = lambda: self.cgroups() - self.cgroups_before
        # Other tests of this machine make boxes too: only those that stay are ours to explain.
        self.assertTrue(session_harness.until(lambda: not new(), 30), new())
        super().tearDown()


class Leaks(session_harness.Case):
    """One server, many runs: descriptors, memory and children stay what they were."""

    @staticmethod
    def state(pid):
        with open(f"/proc/{pid}/status") as status:
            resident = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
        with open(f"/proc/{pid}/task/{pid}/children") as children:
            return len(os.listdir(f"/proc/{pid}/fd")), resident, len(children.read().split())

    def rested(self, pid):
        """Its state once the sandboxes are ready that it makes in advance: the same for a second."""
        seen = []

        def is_still():
            time.sleep(0.1)
            seen.append(self.state(pid))
            return len({(fds, children) for fds, _, children in seen[-10:]}) == 1 and len(seen) >= 10

        self.assertTrue(session_harness.until(is_still), seen)
        return seen[-1]

    def test_many_runs_leave_nothing_in_the_server(self):
        process, peer = self.server()

        def some(count):
            for i in range(count):
                answer = peer.call("run", command=f"echo {i}")
                self.assertEqual(answer["stdout"], f"{i}\n")

        some(max(20, LEAK_RUNS // 10))
        before = self.rested(process.pid)
        some(LEAK_RUNS)
        self.assertTrue(session_harness.until(lambda: self.state(process.pid)[0] <= before[0] + 4),
                        (before, self.state(process.pid)))
        after = self.state(process.pid)
        self.assertLess(after[1], before[1] + 4096, (before, after))
        self.assertLessEqual(after[2], before[2] + 2, (before, after))

    def test_clients_that_come_and_go_leave_nothing_in_the_server(self):
        process, path, _ = self.socket_server()
        last = self.connect(path)
        last.call("list")
        before = self.state(process.pid)
        for _ in range(LEAK_RUNS):
            peer = self.connect(path)
            peer.call("hello")
            peer.close()
            peer.socket.close()
        last.call("list")
        self.assertTrue(session_harness.until(lambda: self.state(process.pid)[0] <= before[0] + 1),
                        (before, self.state(process.pid)))
        self.assertLess(self.state(process.pid)[1], before[1] + 4096)

    def test_a_command_holds_no_copy_of_the_servers_memory(self):
        process, peer = self.server()
        for _ in range(30):
            peer.call("start", command="exec sleep 100")

        def children(pid):
            with open(f"/proc/{pid}/task/{pid}/children") as file:
                return file.read().split()

        def anonymous(pid):  # KiB
            with open(f"/proc/{pid}/status") as file:
                return next(int(line.split()[1]) for line in file if line.startswith("RssAnon:"))

        # Those that wait for a command have no child, and may hold what they were made with.
        working = [pid for pid in children(process.pid) if children(pid)]
        self.assertEqual(len(working), 30)
        self.assertLess(max(map(anonymous, working)), anonymous(process.pid) // 2)


if __name__ == "__main__":
    unittest.main()
