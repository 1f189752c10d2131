# SPDX-License-Identifier: Apache-2.0
"""sbx-run batch: its file of results while it runs, which somebody may take away."""

import json
import os
import subprocess
import unittest

import batch_test
from harness import BOUND, SBX_RUN, until


class Case(batch_test.Case):
    def during(self, change, *arguments, profile=None, command="while [ ! -e go ]; do sleep 0.02; done"):
        """A batch of three tasks, of which the second waits for `change`; its end."""
        path = self.tasks([{"id": "a", "command": "true"}, {"id": "b", "command": "touch begun; " + command},
                           {"id": "c", "command": "true"}])
        flags = ["--profile", self.profile(profile)] if profile else []
        process = self.start(path, "--jobs", "1", *flags, *arguments)
        self.assertTrue(until(lambda: os.path.exists(self.work + "/begun")))
        change()
        self.write("work/go", "")
        _, said = process.communicate(timeout=BOUND)
        self.assertEqual(process.returncode, 125, said)
        self.assertIn(b"sbx-run: output_unwritable: the results cannot be written: ", said)
        self.assertIn(b"moved, removed or replaced", said)
        os.unlink(self.work + "/go")

    def replace(self):
        with open(self.out() + ".new", "w") as file:
            file.write("mine\n")
        os.rename(self.out() + ".new", self.out())


class Gone(Case):
    """Nothing that went to a file without a name is a success."""

    def test_a_file_that_is_removed_or_replaced_ends_the_batch(self):
        for name, change in (("removed", lambda: os.unlink(self.out())), ("replaced", self.replace)):
            with self.subTest(name):
                self.during(change, profile={"filesystem": {"replaced": "report"}})
                if os.path.exists(self.out()):
                    os.unlink(self.out())
                os.unlink(self.work + "/begun")

    def test_so_does_one_that_is_removed_under_the_last_task(self):
        path = self.tasks([{"id": "a", "command": "touch begun; while [ ! -e go ]; do sleep 0.02; done"}])
        process = self.start(path, "--profile", self.profile({"filesystem": {"replaced": "report"}}))
        self.assertTrue(until(lambda: os.path.exists(self.work + "/begun")))
        os.unlink(self.out())
        self.write("work/go", "")
        process.communicate(timeout=BOUND)
        self.assertEqual(process.returncode, 125)

    def test_what_is_held_for_its_turn_is_looked_after_as_well(self):
        self.during(lambda: os.unlink(self.out() + ".held"), "--order", "input",
                    profile={"filesystem": {"replaced": "report"}})


class Protected(Case):
    """In the workspace, where no task changes them: who does ends the tasks."""

    def out(self, name="out"):
        return os.path.join(self.work, name)

    def test_a_task_that_was_ended_for_its_sake_is_done_again(self):
        aside = os.path.join(self.base, "aside")
        self.during(lambda: os.rename(self.out(), aside), command="sleep 60")
        with open(aside) as file:
            self.assertEqual([json.loads(line)["id"] for line in file], ["a"])
        os.rename(aside, self.out())
        self.batch("--resume", "--results", self.out(), self.tasks([{"id": name, "command": "true"} for name in "abc"]))
        self.assertEqual(batch_test.ids(self.results(self.out())), ["a", "b", "c"])


class Short(batch_test.Case):
    def test_a_write_that_is_cut_short_says_what_cut_it(self):
        path = self.tasks([{"id": str(i), "command": "head -c 1500 /dev/zero | tr '\\0' x"} for i in range(9)])
        done = subprocess.run(["bash", "-c", 'ulimit -f 8; exec "$@"', "-", SBX_RUN, "batch",
                               "--workspace", self.work, "--results", self.out(), path],
                              env=self.env, capture_output=True, timeout=BOUND, check=False)
        self.assertEqual(done.returncode, 125, done)
        self.assertIn(b"EFBIG", done.stderr)
        self.assertIn(b"ulimit -f", done.stderr)


if __name__ == "__main__":
    unittest.main()
