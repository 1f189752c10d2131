# SPDX-License-Identifier: Apache-2.0
"""Where Landlock alone holds the files: what a root takes from the one around it, which Landlock cannot take away."""

import os
import shutil
import unittest

import harness

RUNS = "nx/t; echo $?"
REFUSED = "126\n"


class LandlockAlone(harness.Case):
    def alone(self, roots, command):
        """The answer of a command under a profile without namespaces."""
        profile = self.profile({"isolation": {"namespaces": [], "require": []},
                                "filesystem": {"roots": roots}})
        answer = self.sh(command, "--profile", profile)
        self.assertEqual(answer["status"], "exited", answer)
        self.assertFalse(answer["sandbox"]["layers"]["mount"], answer)
        return answer

    def place(self, *names):
        """Directories of the workspace with a program each."""
        for name in names:
            os.mkdir(f"{self.work}/{name}")
            shutil.copy("/bin/true", f"{self.work}/{name}/t")

    def test_nothing_in_a_noexec_root_is_executed(self):
        self.place("nx")
        for access in ("ro", "rw"):
            answer = self.alone([{"path": "${workspace}", "access": access, "noexec": True}], RUNS)
            self.assertEqual(answer["stdout"], REFUSED, answer)
            self.assertIn("Permission denied", answer["stderr"])

    def test_nor_where_it_lies_in_a_root_whose_programs_run(self):
        self.place("nx", "side")
        self.write("work/nx/script", "echo read\n")
        for outer, inner in (("rw", "ro"), ("rw", "rw"), ("ro", "ro"), ("ro", "rw")):
            answer = self.alone([{"path": "${workspace}", "access": outer},
                                 {"path": "${workspace}/nx", "access": inner, "noexec": True}],
                                f"{RUNS}; side/t; echo $?; sh nx/script; mv nx other 2>&- || ls")
            self.assertEqual(answer["stdout"], f"{REFUSED}0\nread\nnx\nside\n", (outer, inner, answer))

    def test_what_is_hidden_there_too_stays_hidden(self):
        self.place("nx", "side")
        self.write("work/hidden", "a secret")
        answer = self.alone([{"path": "${workspace}", "access": "rw"}, {"path": "${workspace}/hidden", "access": "none"},
                             {"path": "${workspace}/nx", "access": "rw", "noexec": True}],
                            f"{RUNS}; side/t; echo $?; cat hidden; ls . || : > nx/made")
        self.assertEqual((answer["stdout"], answer["stderr"].count("Permission denied")), (f"{REFUSED}0\n", 3), answer)
        self.assertTrue(os.path.exists(f"{self.work}/nx/made"))

    def test_a_program_runs_where_a_root_lies_in_a_noexec_one(self):
        self.place("nx")
        answer = self.alone([{"path": "${workspace}", "access": "rw", "noexec": True}, {"path": "${workspace}/nx", "access": "ro"}],
                            RUNS)
        self.assertEqual(answer["stdout"], "0\n", answer)

    def test_what_the_system_shows_around_such_a_root_stays(self):
        workspace = {"path": "${workspace}", "access": "rw"}
        answer = self.alone([workspace, {"path": "/usr/bin/env", "access": "ro", "noexec": True}],
                            "env true; echo $?; ls > /dev/null; echo $?")
        self.assertEqual(answer["stdout"], "126\n0\n", answer)
        answer = self.alone([workspace, {"path": "/usr/share/doc", "access": "none"}],
                            "ls /usr/share/misc > /dev/null; echo $?; ls /usr/share/doc")
        self.assertEqual(answer["stdout"], "0\n", answer)
        self.assertIn("Permission denied", answer["stderr"])


if __name__ == "__main__":
    unittest.main()
