# SPDX-License-Identifier: Apache-2.0
"""sbx-run batch: what has ended before its turn waits in RESULTS.held; signals while something waits; one layer."""

import os
import signal
import time
import unittest

import batch_test
from harness import BOUND, until


class Case(batch_test.Case):
    def begun(self, path, *arguments):
        """A batch whose first task has begun."""
        process = self.start(path, *arguments)
        begun = os.path.join(self.work, "begun")
        self.assertTrue(until(lambda: os.path.exists(begun)))
        os.unlink(begun)
        return process


class Held(Case):
    SLOW = {"id": "a", "command": "touch begun; sleep 600"}
    QUICK = ({"id": "b", "command": "echo x >> b"}, "bad", {"id": "c", "command": "echo x >> c; false"})

    def interrupted(self, *arguments):
        process = self.begun(self.tasks([self.SLOW, *self.QUICK]), "--order", "input", *arguments)
        self.assertTrue(until(lambda: self.held() == 3))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=BOUND)
        self.assertEqual((process.returncode, self.held()), (128 + signal.SIGINT, 3))

    def resumed(self, flag, *lines):
        self.batch("--order", "input", flag, "--results", self.out(), self.tasks(lines), status=1)
        self.assertIsNone(self.held())
        return [(result["id"], result["exit_code"]) for result in self.results(self.out())]

    def held(self):
        """How many lines wait. None: there is no such file."""
        try:
            with open(self.out("out.held")) as file:
                return len(file.readlines())
        except OSError:
            return None

    def ran(self, name):
        with open(os.path.join(self.work, name)) as file:
            return len(file.readlines())

    def test_what_has_ended_is_not_run_again(self):
        self.interrupted("--jobs", "4")
        self.interrupted("--jobs", "1", "--resume")
        found = self.resumed("--resume", {"id": "a", "command": "true"}, *self.QUICK)
        self.assertEqual(found, [("a", 0), ("b", 0), (None, None), ("c", 1)])
        self.assertEqual((self.ran("b"), self.ran("c")), (1, 1))

    def test_what_has_failed_is_run_again_where_that_is_asked_for(self):
        self.interrupted("--jobs", "4")
        for command, code in (("false", 1), ("true", 0)):
            found = self.resumed("--resume=failed", {"id": "a", "command": command}, *self.QUICK)
            self.assertEqual(found, [("a", code), ("b", 0), (None, None), ("c", 1)])
        self.assertEqual((self.ran("b"), self.ran("c")), (1, 3))

    def test_that_of_another_batch_is_left_alone(self):
        self.write("out.held", '{"id":"a","status":"exited"}\n')
        self.batch("--order", "input", "--results", self.out(), self.tasks([{"id": "a", "command": "touch ran"}]), status=125)
        self.assertEqual((self.held(), os.listdir(self.work)), (1, []))


class Layer(Case):
    def test_commands_in_one_run_one_after_the_other_without_being_told(self):
        environment = {**self.env, "XDG_STATE_HOME": os.path.join(self.base, "state")}
        tasks = self.tasks([{"id": name, "command": "sleep 0.2"} for name in "abc"])
        self.batch("--layer", "a", "--results", self.out(), tasks, env=environment)
        self.assertEqual([result["exit_code"] for result in self.results(self.out())], [0, 0, 0])


class Signals(Case):
    def test_a_second_one_does_not_wait_for_a_server_that_hangs(self):
        process = self.begun(self.tasks([Held.SLOW]))
        for server in batch_test.servers_of(self.marker):
            os.kill(server, signal.SIGSTOP)
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        self.assertIsNone(process.poll())
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=BOUND)
        self.assertEqual(process.returncode, 128 + signal.SIGINT)
        self.assertLess(time.monotonic() - began, 4)

    def test_what_was_to_be_tried_again_is_left(self):
        lines = [{"id": "a", "command": "touch begun; sleep 600"}, {"id": "b", "cwd": "made-later", "command": "true"}]
        process = self.begun(self.tasks(lines), "--jobs", "2", "--retries", "1000")
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=BOUND)
        self.assertRegex(said.decode(), r"0 tasks: .*; 2 left\n")
        self.assertEqual(self.results(self.out()), [])


if __name__ == "__main__":
    unittest.main()
