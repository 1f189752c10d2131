# SPDX-License-Identifier: Apache-2.0
"""What a kept shell holds for its calls has bounds: those that wait, and the pipes of those that are over.
Its own end is that of the call in it."""

import json
import os
import signal
import time
import unittest

from harness import until
from shell_test import Case


class Bounds(Case):
    def setUp(self):
        super().setUp()
        self.process, self.peer = self.server("--workspace", self.work)

    def refused(self, calls, **more):
        """Those of so many calls that are refused while the shell is busy."""
        self.peer.send("run", command="touch up; sleep 1000", shell="kept")
        self.assertTrue(until(lambda: os.path.exists(self.work + "/up")))
        sent = [self.peer.send("run", command="true", shell="kept", **more) for _ in range(calls)]
        self.peer.call("list")  # whatever is refused is so at once
        answers = [event for event in self.peer.events if "method" not in event]
        for answer in answers:
            self.assertEqual((answer["error"]["data"]["code"], answer["error"]["message"]),
                             ("too_many", "the kept shell has too much to do"))
        return [sent.index(answer["id"]) for answer in answers]

    def memory(self):
        """What the server has held at most, in KiB."""
        with open(f"/proc/{self.process.pid}/status") as file:
            return int(next(line for line in file if line.startswith("VmHWM:")).split()[1])

    def test_so_many_calls_wait_and_no_more(self):
        self.assertEqual(self.refused(1001), [1000])

    def test_so_many_bytes_wait_and_no_more(self):
        refused = self.refused(4, stdin="x" * (15 << 20))  # which are kept more than once
        self.assertIn(3, refused)
        self.assertNotIn(0, refused)

    def test_what_is_left_in_the_background_holds_so_many_pipes_and_no_more(self):
        for _ in range(80):
            self.run_kept("sleep 1000 &")
        self.assertLess(len(os.listdir(f"/proc/{self.process.pid}/fd")), 150)

    def test_of_a_message_that_does_not_end_little_is_kept(self):
        self.run_kept("(until [ -e go ]; do sleep 0.02; done; head -c 24M /dev/zero | tr '\\0' x >/proc/$$/fd/51; rm go) &")
        before = self.memory()
        self.write("work/go", "")
        self.assertTrue(until(lambda: not os.path.exists(self.work + "/go")))
        self.assertLess(self.memory() - before, 8 << 10)
        self.assertEqual(self.run_kept("echo on")["stdout"], "on\n")

    def test_a_call_whose_words_go_elsewhere_ends_soon_after_its_time(self):
        self.run_kept("(trap '' HUP TERM; exec cat <&15) >/dev/null 2>&1 & disown")
        for _ in range(50):  # until that program reads, the words come to the shell
            begun = time.monotonic()
            result = self.run_kept("echo taken", timeout_ms=1000)
            if result["stdout"] != "taken\n":
                break
        self.assertEqual((result["status"], result["stdout"]), ("timed_out", ""), result)
        self.assertLess(time.monotonic() - begun, 8)
        self.says("echo new", "new\n")


class Background(Case):
    def test_what_is_written_after_a_call_is_redacted_too(self):
        secret = "Zq7tR2mW9xK4vB1n"
        self.env["MY_TOKEN"] = secret
        _, self.peer = self.server("--workspace", self.work, "--pass-env", "MY_TOKEN")
        self.run_kept("(until [ -e go ]; do sleep 0.02; done; echo one $MY_TOKEN; echo two $MY_TOKEN >&2) &")
        self.write("work/go", "")
        wrote = lambda: self.peer.call("output", task_id=self.shell_task())  # noqa: E731
        self.assertTrue(until(lambda: "one" in wrote()["stdout"] and "two" in wrote()["stderr"]), wrote())
        self.assertNotIn(secret, json.dumps(wrote()))


class Ends(Case):
    def ends(self, status, end, command):
        """The answer to a call that waits behind one that is ended so, with the shell."""
        process, self.peer = self.server("--workspace", self.work)
        self.run_kept("x=5; trap 'echo bye > bye' EXIT")
        running = self.peer.send("run", command=f"touch up; {command}; echo no > no; echo no", shell="kept")
        waiting = self.peer.send("run", command="echo -$x-", shell="kept")
        self.assertTrue(until(lambda: os.path.exists(self.work + "/up")))
        end(process)
        result = self.peer.answer(running)["result"]
        self.assertEqual((result["status"], result["exit_code"], result["stdout"]), (status, None, ""), (command, result))
        self.assertEqual((result["shell"]["kept"], result["shell"]["restarted"]), (False, True), result)
        self.assertIn(status, result["shell"]["reason"])
        answer = self.peer.answer(waiting)["result"]
        self.assertFalse(os.path.exists(self.work + "/no"))
        for name in ("up", "bye"):
            os.remove(f"{self.work}/{name}")
        self.end(process)
        return answer

    COMMANDS = ("sleep 1000", "while :; do sleep 0.1; done", "while :; do :; done", "trap : INT; sh -c 'trap : INT; sleep 1000'",
                "read -r line < /dev/tty", "sleep 1000 & wait")

    def test_kill_ends_the_call_and_the_next_has_a_new_shell(self):
        for command in self.COMMANDS:
            answer = self.ends("killed", lambda _: self.peer.send("kill", task_id=self.shell_task()), command)
            self.assertEqual((answer["stdout"], answer["exit_code"]), ("--\n", 0), answer)

    def test_the_sessions_end_cancels_its_calls(self):
        for end in (lambda _: self.peer.send("reset"), lambda _: self.peer.send("shutdown"),
                    lambda process: process.send_signal(signal.SIGTERM)):
            for command in self.COMMANDS[:2]:
                answer = self.ends("cancelled", end, command)
                self.assertEqual((answer["status"], answer["stdout"]), ("cancelled", ""), answer)


if __name__ == "__main__":
    unittest.main()
