# SPDX-License-Identifier: Apache-2.0
"""What a run used counts what was ended with it; and what one user's runs use up together."""

import contextlib
import json
import os
import signal
import subprocess
import unittest

import harness
import session_harness

PYTHON = "/usr/bin/python3"
BUSY = "while :; do :; done"


class Usage(harness.Case):
    def assert_busy(self, answer, status, limit=None):
        self.assertEqual((answer["status"], answer["limit"]), (status, limit), answer)
        usage = answer["usage"]
        self.assertGreater(usage["user_ms"] + usage["system_ms"], 300, answer)
        self.assertGreater(usage["max_rss_kb"], 1000, answer)

    def test_what_was_ended_counts(self):
        self.assert_busy(self.sh(BUSY, "--cpu-time", "500ms"), "limit", "cpu")
        self.assert_busy(self.sh(BUSY, "--timeout", "1s"), "timed_out")
        self.assert_busy(self.sh(f"({BUSY}) & ({BUSY}) & wait", "--timeout", "1s"), "timed_out")

    def test_what_the_command_left_counts(self):
        self.assert_busy(self.sh(f"({BUSY}) & sleep 1"), "exited")
        self.assert_busy(self.sh(f"setsid sh -c '{BUSY}' & sleep 1"), "exited")

    def test_what_held_most_memory_is_the_largest_of_all(self):
        hog = f"{PYTHON} -c 'b = bytearray(60 << 20); import time; time.sleep(9)'"
        for command in (hog, f"{hog} & sleep 1"):
            answer = self.sh(command, "--timeout", "2s")
            self.assertGreater(answer["usage"]["max_rss_kb"], 60 << 10, answer)
            self.assertLess(answer["usage"]["max_rss_kb"], 90 << 10, answer)

    def test_a_pid_1_that_does_not_answer_is_ended_all_the_same(self):
        """It is asked to end the rest and to count; one that is stopped does neither."""
        run = subprocess.Popen([harness.SBX_RUN, "run", "--timeout", "2s", "-c", "exec sleep 60"], cwd=self.work,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(run.stdout.close)

        def last_child(pid):  # behind the watchdog
            with open(f"/proc/{pid}/task/{pid}/children") as children:
                return int(children.read().split()[-1])

        def sleeps():
            with contextlib.suppress(OSError, IndexError), open(f"/proc/{last_child(last_child(run.pid))}/comm") as name:
                return name.read() == "sleep\n"

        self.assertTrue(session_harness.until(sleeps))
        first = last_child(run.pid)
        os.kill(first, signal.SIGSTOP)
        answer = json.loads(run.stdout.read())
        self.assertEqual((answer["status"], run.wait()), ("timed_out", 124), answer)
        self.assertLess(answer["duration_ms"], 6000)
        self.assertFalse(os.path.exists(f"/proc/{first}"))

    def test_the_time_before_the_command_does_not(self):
        usage = self.sh("true")["usage"]
        self.assertLess(usage["user_ms"] + usage["system_ms"], 100)


class InFlight(harness.Case):
    """The kernel counts the descriptors that a user has sent and nobody has received, and refuses to send more than
    one process may have open."""

    FLOOD = """
import array, socket, sys
held, null = [], open("/dev/null")
try:
    for i in range(200):
        pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        held.append(pair)
        pair[0].setblocking(False)
        try:
            while True:
                pair[0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [null.fileno()] * 250))])
        except BlockingIOError:
            pass
except OSError as error:
    print(error, flush=True)
sys.stdin.read()
"""

    @contextlib.contextmanager
    def flooded(self, *flags):
        self.write("work/flood.py", self.FLOOD)
        flood = subprocess.Popen([harness.SBX_RUN, "exec", "--workspace", self.work, *flags, "--", PYTHON, "flood.py"],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=self.work)
        try:
            yield flood.stdout.readline()
        finally:
            flood.stdin.close()
            flood.stdout.close()
            self.assertEqual(flood.wait(), 0)

    def test_one_sandbox_does_not_keep_others_from_starting(self):
        small = self.profile({"extends": "default", "limits": {"open_files": 64}})
        for flags in ((), ("--profile", small)):
            with self.flooded(*flags) as said:
                self.assertIn("Too many references", said)
                for others in ((), ("--profile", small), ("--profile", "strict"), ("--net", "open")):
                    answer = self.sh("ulimit -n; ulimit -Hn", *others)
                    self.assertEqual((answer["status"], answer["exit_code"]), ("exited", 0), (flags, others, answer))
                    files = answer["stdout"].split()
                    self.assertEqual(files[0], files[1])
                    self.assertLessEqual(int(files[0]), 1024)


if __name__ == "__main__":
    unittest.main()
