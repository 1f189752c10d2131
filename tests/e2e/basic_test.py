# SPDX-License-Identifier: Apache-2.0
"""The first promises: a command runs, its answer is whole, its exit status is its own."""

import unittest

import harness


class Basic(harness.Case):
    def test_a_command_runs_and_its_output_is_in_the_answer(self):
        answer = self.sh("echo out; echo err >&2; exit 7")
        self.assertEqual((answer["status"], answer["exit_code"]), ("exited", 7))
        self.assertEqual((answer["stdout"], answer["stderr"]), ("out\n", "err\n"))
        self.assertEqual(self.last.returncode, 7)

    def test_what_is_written_is_written_and_no_change_is_kept_apart(self):
        answer = self.sh("echo x > f")
        self.assertIsNone(answer["changes"])
        self.assertIsNone(answer["layer"])
        text = self.raw("--format", "text", "-c", "cat f").stderr.decode()
        self.assertNotIn("kept apart", text)

    def test_a_signal_is_named_and_gives_128_plus_its_number(self):
        answer = self.sh("kill -SEGV $$")
        self.assertEqual((answer["status"], answer["signal"]), ("signaled", "SIGSEGV"))
        self.assertIsNone(answer["exit_code"])
        self.assertEqual(self.last.returncode, 139)

    def test_a_program_that_does_not_exist_gives_127(self):
        answer = self.run_json("--", "no-such-program-at-all")
        self.assert_error(answer, "not_found")
        self.assertEqual(self.last.returncode, 127)

    def test_stdin_is_at_its_end_at_once(self):
        self.assertEqual(self.out("cat; echo done"), "done\n")

    def test_the_time_limit_kills_the_whole_tree(self):
        answer = self.sh("sleep 1000 & setsid sleep 1000 & sleep 1000", "--timeout", "300ms")
        self.assertEqual((answer["status"], answer["timed_out"]), ("timed_out", True))
        self.assertEqual(self.last.returncode, 124)


if __name__ == "__main__":
    unittest.main()
