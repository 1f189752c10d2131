# SPDX-License-Identifier: Apache-2.0
"""learn where the machine is in its way: file systems that are mounted below what it lays its layer
over, and a managed policy that takes away again what it grants."""

import json
import os
import unittest

import harness
from managed_test import ManagedCase


class LearnCase(ManagedCase):
    def learn(self, command, before="true", status=0):
        out = self.base + "/learned.json"
        done = self.within([harness.SBX_RUN, "learn", "--out", out, "--yes", "-c", command], before)
        self.assertEqual(done.returncode, status, done)
        answer = json.loads(done.stdout)
        self.assertEqual(answer["proven"], status == 0, answer)
        return answer

    def roots(self, answer):
        return {line["value"]["path"]: line["value"]["access"] for line in answer["lines"]}


class Mounts(LearnCase):
    def test_a_home_with_another_file_system_in_it_is_only_read(self):
        self.write("home/read/file", "x")
        self.write("home/made/file", "x")
        os.mkdir(self.home + "/mnt")
        answer = self.learn(f"cat {self.home}/read/file > {self.home}/made/new && mktemp",
                            before=f"mount -t tmpfs none {self.home}/mnt")
        self.assertIn(f"not written to by the first run: {self.home}: a file system is mounted at "
                      f"{self.home}/mnt", answer["refused"])
        self.assertEqual(self.roots(answer), {"${home}/made": "rw", "${home}/read/file": "ro"})
        self.assertEqual(os.listdir(self.home + "/made"), ["file"])

    def test_what_is_read_in_a_tmp_with_one_is_found(self):
        if not self.base.startswith("/tmp/"):
            self.skipTest("the test's own files lie elsewhere")
        file = self.write("data/file", "x")
        os.mkdir(self.base + "/mnt")
        answer = self.learn(f"cat {file} && echo x > /tmp/new",
                            before=f"mount -t tmpfs none {self.base}/mnt")
        self.assertTrue(any("by the first run: /tmp:" in line for line in answer["refused"]), answer)
        self.assertEqual((answer["exit_code"], self.roots(answer)), (0, {file: "ro"}), answer)

    def test_a_workspace_with_one_is_copied(self):
        os.mkdir(self.work + "/mnt")
        self.write("data/file", "x")
        answer = self.learn(f"cat mnt/inner {self.base}/data/file > new; echo x > mnt/new; ls mnt",
                            before=f"mount -t tmpfs none {self.work}/mnt && echo > {self.work}/mnt/inner")
        self.assertEqual(self.roots(answer), {self.base + "/data/file": "ro"})
        self.assertEqual(os.listdir(self.work), ["mnt"])

    def test_a_directory_with_one_is_not_learned_for_writing(self):
        self.write("home/made/mnt/file", "x")
        answer = self.learn(f"touch {self.home}/made/new",
                            before=f"mount -t tmpfs none {self.home}/made/mnt")
        self.assertEqual(self.roots(answer), {})
        self.assertTrue(any("which no layer can lie over" in line for line in answer["refused"]), answer)


class Managed(LearnCase):
    def test_what_the_policy_takes_away_again_is_no_line(self):
        hidden = os.path.dirname(self.write("hidden/file", "x"))
        for name in "abcd":
            self.write("hidden/all/" + name, "x")
        kept = os.path.dirname(self.write("kept/file", "x"))
        shown = self.write("shown/file", "x")
        self.managed({"filesystem": {"max": [{"path": hidden, "access": "none"},
                                             {"path": kept, "access": "ro"}]}})
        answer = self.learn(f"cat {hidden}/file {hidden}/all/*; cat {hidden}/all/a {hidden}/all/b"
                            f" {hidden}/all/c {hidden}/all/d; cat {kept}/file; echo x >> {kept}/file;"
                            f" cat {shown}")
        self.assertEqual(self.roots(answer), {shown: "ro", kept + "/file": "ro"}, answer)
        self.assertTrue(any(f"{hidden}/file: it is refused all the same" in line
                            for line in answer["refused"]), answer)


if __name__ == "__main__":
    unittest.main()
