# SPDX-License-Identifier: Apache-2.0
"""A kept layer in runs that may only read."""

import unittest

import kept_harness


class Look(kept_harness.Kept):
    def setUp(self):
        super().setUp()
        self.put("a", "a\n")

    def look(self):
        answer = self.inside("cat a; echo x > a || echo no", "x", "--profile", "readonly")
        self.assertEqual(answer["stdout"], "a\nno\n")
        return [warning for warning in answer["warnings"] if warning.startswith(f"layer: {self.work} is read-only")]

    def test_a_look_leaves_what_the_layer_holds_to_be_committed(self):
        self.inside("echo 1 >> a; echo n > new")
        self.assertEqual(len(self.look()), 1)
        self.inside("echo 2 >> a")
        self.layer("commit", "x")
        self.assertEqual((self.read("a"), self.read("new")), ("a\n1\n2\n", "n\n"))

    def test_a_look_that_comes_first(self):
        self.look()
        self.inside("echo 1 >> a")
        self.layer("commit", "x")
        self.assertEqual(self.read("a"), "a\n1\n")

    def test_another_root_that_was_read_only_meanwhile(self):
        self.write("other/f", "f\n")
        other = self.base + "/other"
        self.inside(f"echo 1 >> {other}/f", "x", "--rw", other)
        self.inside("true", "x", "--ro", other)
        self.layer("commit", "x")
        with open(other + "/f") as file:
            self.assertEqual(file.read(), "f\n1\n")

    def test_a_read_only_part_of_a_writable_root_stays_refused(self):
        self.put("sub/a", "a\n")
        self.inside("echo 1 >> sub/a")
        self.inside("true", "x", "--ro", "sub")
        self.refused("path_refused", "commit", "x")
        self.assertEqual(self.read("sub/a"), "a\n")


if __name__ == "__main__":
    unittest.main()
