# SPDX-License-Identifier: Apache-2.0
"""Kept layers whose state directory a symlink leads to, and names that are quoted."""

import os
import unittest

import kept_harness


class Led(kept_harness.Kept):
    def setUp(self):
        super().setUp()
        self.put("a", "a\n")

    def test_the_state_directory_is_led_to_by_a_symlink(self):
        os.makedirs(self.base + "/real/inner")
        os.symlink("real", self.base + "/led")
        for name, more in (("h", {"HOME": self.base + "/led", "XDG_STATE_HOME": ""}),
                           ("s", {"XDG_STATE_HOME": self.base + "/led/inner"}),
                           ("d", {"XDG_STATE_HOME": self.work + "/../real"})):
            self.environment = {**os.environ, **more}
            self.inside("echo 1 >> a", name)
            self.assertEqual(self.inside("cat a", name)["stdout"], "a\n1\n")
        os.symlink("work", self.base + "/into")
        answer = self.sh("true", "--layer", "w", env={**os.environ, "XDG_STATE_HOME": self.base + "/into"})
        self.assert_error(answer, "path_refused")

    def test_names_are_quoted_as_git_quotes_them(self):
        self.inside(r"""touch $'n\nl' $'t\tb' $'\a\b\v\f\r' $'\x01\x7f' 'q"\'""")
        self.assertEqual(sorted(self.layer("diff", "x", "--name-only").splitlines()),
                         sorted([r'"n\nl"', r'"t\tb"', r'"\a\b\v\f\r"', r'"\001\177"', r'"q\"\\"']))


if __name__ == "__main__":
    unittest.main()
