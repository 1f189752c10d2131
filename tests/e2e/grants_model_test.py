# SPDX-License-Identifier: Apache-2.0
"""Random roots and one operation on a path: what is refused is told, and what would allow it does, until the command
goes through or nothing is offered any more. A seed that fails is named, and makes the same again."""

import json
import os
import random
import subprocess
import unittest

import harness
from grants_told_test import below_var

SEEDS = 60
ON_FILES = ("cat {file}", "echo x >> {file}", "truncate -s 0 {file}", "touch {file}", "chmod 600 {file}",
            "rm {file}", "mv {file} {file}.moved", "mv {file} {other}/", "cp {file} {other}/copy")
ON_DIRECTORIES = ("ls {directory}", "echo x > {directory}/new", "mkdir {directory}/new", "ln -s x {directory}/link",
                  "rm -rf {directory}", "mv {directory} {directory}.moved",
                  "cp /bin/true {directory}/program; {directory}/program")
# Left to a person, or beyond what any root could change.
LAST_WORDS = {"", "remove it from filesystem.protect"}


class Grants(harness.Case):
    def setUp(self):
        below_var(self)
        super().setUp()

    def tree(self):
        """Directories and files of two trees, one of them the workspace."""
        directories = [top + below for top in (self.work, self.base + "/outside")
                       for below in ("", "/a", "/b", "/a/c", "/b/c")]
        files = [directory + "/file" for directory in directories]
        subprocess.run(["rm", "-rf", *directories], check=True)
        for directory, file in zip(directories, files):
            os.makedirs(directory, exist_ok=True)
            with open(file, "w") as stream:
                stream.write("text\n")
        return directories, files

    def document(self, choose, places):
        roots = {choose.choice(places): choose.choice(["ro", "none", "rw"]) for _ in range(choose.randint(0, 4))}
        roots.pop(self.work, None)
        within = [path[len(self.work) + 1:] for path in places if path.startswith(self.work + "/")]
        return {"extends": "default", "commands": {"ask": []}, "filesystem": {
            "+roots": [{"path": path, "access": access} for path, access in roots.items()],
            "+protect": [choose.choice(within) for _ in range(choose.choice([0, 0, 1]))]}}

    def go_through(self, seed):
        choose = random.Random(seed)
        directories, files = self.tree()
        profile = self.profile(self.document(choose, directories + files))
        directory, file = choose.choice(directories[1:5] + directories[6:]), choose.choice(files)
        others = [each for each in directories if each != os.path.dirname(file)]
        command = choose.choice(ON_FILES + ON_DIRECTORIES).format(
            file=file, directory=directory, other=choose.choice(others))
        for _ in range(6):
            answer = self.sh(command, "--profile", profile)
            self.assertEqual(answer["status"], "exited", answer)
            if answer["exit_code"] == 0:
                return
            self.assertTrue(answer["denials"], (command, answer["stderr"]))
            if {denial["grant"] for denial in answer["denials"]} <= LAST_WORDS:
                return
            with open(profile) as stream:
                before = stream.read()
            granted = self.raw("profile", "grant", profile, "--yes", "--from",
                               self.write("result.json", json.dumps(answer)))
            with open(profile) as stream:
                self.assertNotEqual(stream.read(), before, (command, answer["denials"], granted))
        self.fail(f"six rounds of grants did not do: {command}: {answer['denials']}")

    def test_what_is_refused_is_told_and_what_is_told_helps(self):
        for seed in range(SEEDS):
            with self.subTest(seed=seed):
                self.go_through(seed)


if __name__ == "__main__":
    unittest.main()
