# SPDX-License-Identifier: Apache-2.0
"""README.md's examples run as they are written, in a project that has what they name. What needs a
registry is explained in place of run."""

import json
import os
import re
import shutil
import subprocess
import tempfile

import session_harness
from harness import BOUND, SBX_RUN, SOURCE

NETWORK = ("npm ci", "pip download")


def examples():
    """The commands of the shell blocks that use sbx-run."""
    with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as file:
        blocks = re.findall(r"```sh\n(.*?)```", file.read(), re.DOTALL)
    return [[line for line in block.splitlines() if line and not line.startswith("#")]
            for block in blocks if "sbx-run" in block]


class Readme(session_harness.Case):
    def setUp(self):
        super().setUp()
        bin_directory = os.path.join(self.base, "bin")
        os.mkdir(bin_directory)
        os.symlink(SBX_RUN, os.path.join(bin_directory, "sbx-run"))
        self.env = {**self.env, "HOME": self.base, "PATH": f"{bin_directory}:/usr/local/bin:/usr/bin:/bin"}
        self.write("work/Makefile", "test:\n\t@echo tested\nclean:\n\t@true\nwatch:\n"
                                    "\t@for i in 1 2 3; do echo error: $$i; done\n")
        self.write("work/configure", "#!/bin/sh\necho configured\n", 0o755)
        self.write("work/train.py", "print(open('../data/x').read(), file=open('../scratch/y', 'w'))\n"
                                    "try:\n    open('.env')\n    raise SystemExit('shown')\n"
                                    "except PermissionError:\n    pass\n")
        self.write("work/.env", "secret")
        self.write("work/notes", "TODO")
        self.write("data/x", "1")
        os.mkdir(os.path.join(self.base, "scratch"))

    def shell(self, lines):
        return subprocess.run(["bash", "-ec", "\n".join(lines)], cwd=self.work, env=self.env,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=2 * BOUND, check=False)

    def test_there_are_examples(self):
        self.assertGreaterEqual(sum(len(block) for block in examples()), 15)

    def test_examples_of_single_runs(self):
        for line in examples()[0]:
            command = line.replace("sbx-run ", "sbx-run explain ", 1) if any(
                word in line for word in NETWORK) else line
            with self.subTest(line):
                done = self.shell([command])
                self.assertEqual(done.returncode, 0, (done.stdout, done.stderr))
        self.assertEqual(os.listdir(os.path.join(self.base, "scratch")), ["y"])

    def test_examples_for_agents(self):
        if not shutil.which("jq"):
            self.skipTest("no jq here (package jq)")
        lines = examples()[1]
        network = [line for line in lines if any(word in line for word in NETWORK)]
        for line in network:
            done = self.shell([line.replace("sbx-run ", "sbx-run explain ", 1)])
            self.assertEqual(done.returncode, 0, (line, done.stderr))
        asked = [line for line in lines if line.startswith("sbx-run check")]
        self.assertEqual([self.shell([line]).returncode for line in asked], [3])
        rest = [line for line in lines if line not in network + asked]
        self.assertEqual(len(rest), 5, rest)
        done = self.shell(rest)
        self.assertEqual(done.returncode, 0, (done.stdout, done.stderr))
        self.assertIn("error: 3", done.stdout)
        self.assert_nothing_left()

    def test_quickstart_runs_a_command_wherever_the_tree_lies(self):
        tree = tempfile.mkdtemp(dir="/var/tmp")
        self.addCleanup(shutil.rmtree, tree)
        for name in ("scripts", "build/release/bin"):
            os.makedirs(os.path.join(tree, name))
        shutil.copy(os.path.join(SOURCE, "scripts/quickstart"), os.path.join(tree, "scripts"))
        os.symlink(SBX_RUN, os.path.join(tree, "build/release/bin/sbx-run"))
        # It is built already, with all that building needs.
        for name in ("scripts/deps", "build/release/bin/cmake"):
            path = os.path.join(tree, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\n")
            os.chmod(path, 0o755)
        path = os.path.join(tree, "build/release/bin") + ":" + self.env["PATH"]
        done = subprocess.run(["scripts/quickstart"], cwd=tree, env={**self.env, "PATH": path},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=2 * BOUND, check=False)
        self.assertEqual(done.returncode, 0, (done.stdout, done.stderr))
        self.assertIn("hello from inside", json.loads(done.stdout.splitlines()[-1])["stdout"])


if __name__ == "__main__":
    import unittest
    unittest.main()
