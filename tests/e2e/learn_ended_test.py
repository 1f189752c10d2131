# SPDX-License-Identifier: Apache-2.0
"""learn that is ended before its time: what it would have thrown away is thrown away."""

import contextlib
import json
import os
import pty
import signal
import subprocess

import harness


class LearnEndedTest(harness.Case):
    def setUp(self):
        super().setUp()
        self.state = os.path.join(self.base, "state")
        self.env = {**os.environ, "XDG_STATE_HOME": self.state}

    def begin(self, *argv):
        """A learn in a group of its own, once its command runs."""
        learn = subprocess.Popen([harness.SBX_RUN, "learn", "--yes", "--out", self.base + "/out.json",
                                  "--", *argv],
                                 cwd=self.work, env=self.env, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0)
        self.addCleanup(self.end, learn)
        # The first run keeps its layer in memory: what is left behind is that of a later one.
        self.assertTrue(harness.until(lambda: self.layers() != []))
        return learn

    def layers(self):
        return [layer["name"] for layer in json.loads(self.raw("layer", "list", env=self.env).stdout)]

    def kept(self):
        return os.listdir(self.state + "/sbx/learn")

    def waits(self):
        """At once where all is shown, as the profile's own tmp_mb tells; else for ever."""
        self.write("outside/seen", "x")
        return ("sh", "-c", f"test -e {self.base}/outside/seen && exit; exec sleep 1000")

    def test_a_signal_ends_it_with_nothing_left(self):
        for number, whom in ((signal.SIGINT, os.killpg), (signal.SIGTERM, os.killpg),
                             (signal.SIGHUP, os.killpg), (signal.SIGTERM, os.kill)):
            learn = self.begin(*self.waits())
            whom(learn.pid, number)
            out, _ = learn.communicate(timeout=harness.BOUND)
            self.assertEqual((learn.returncode, json.loads(out)["status"]), (128 + number, "cancelled"))
            self.assertEqual((self.layers(), self.kept()), ([], []), number)
            self.assertFalse(os.path.exists(self.base + "/out.json"))

    def test_nor_is_anything_left_by_one_at_the_question(self):
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(self.work)
            os.execve(harness.SBX_RUN, [harness.SBX_RUN, "learn", "--out", self.base + "/out.json", "--",
                                        "true"], self.env)
        seen = b""
        while not seen.endswith(b"? [y/N] "):
            seen += os.read(fd, 4096)
        os.write(fd, b"\x03")
        with contextlib.suppress(OSError):
            while text := os.read(fd, 4096):
                seen += text
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 130, seen)
        os.close(fd)
        self.assertIn(b"sbx-run: cancelled: ", seen)
        self.assertEqual((self.layers(), self.kept()), ([], []))

    def test_what_a_killed_one_leaves_the_next_one_removes(self):
        learn = self.begin(*self.waits())
        learn.kill()
        learn.wait()
        self.assertEqual(len(self.kept()), 1)
        other = self.base + "/other"
        os.mkdir(other)

        def is_gone():  # the killed one's own run ends within a second, and holds its layer till then
            done = self.raw("learn", "--", "true", cwd=other, env=self.env)
            self.assertEqual(done.returncode, 0, done)
            return self.kept() == []

        self.assertTrue(harness.until(is_gone))
        self.assertEqual(self.layers(), [])

    def test_one_that_goes_on_is_no_leftover(self):
        learn = self.begin(*self.waits())
        kept, layers = self.kept(), self.layers()
        self.assertEqual(self.raw("learn", "--", "true", env=self.env).returncode, 0)
        self.assertEqual((self.kept(), self.layers()), (kept, layers))
        learn.terminate()
        learn.communicate(timeout=harness.BOUND)


if __name__ == "__main__":
    import unittest
    unittest.main()
