# SPDX-License-Identifier: Apache-2.0
"""What a kept shell holds for its calls has bounds: those that wait, and the pipes of those that are over."""

import os
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


if __name__ == "__main__":
    unittest.main()
