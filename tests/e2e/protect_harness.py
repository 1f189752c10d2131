# SPDX-License-Identifier: Apache-2.0
"""What the tests of protected paths share."""

import os
import subprocess

import harness

GIT = "git -c user.email=a@b -c user.name=n -c init.defaultBranch=main"


class Case(harness.Case):
    def setUp(self):
        super().setUp()
        self.env = {**os.environ, "HOME": self.base, "GIT_CONFIG_NOSYSTEM": "1"}

    def git(self, *arguments, at=None):
        subprocess.run([*GIT.split(), *arguments], cwd=at or self.work, env=self.env, check=True,
                       capture_output=True, timeout=60)

    def repository(self, at=None):
        self.git("init", "-q", at=at)
        self.git("commit", "-q", "--allow-empty", "-m", "first", at=at)

    def tree(self, *paths):
        """Contents and targets of everything git would run or be led by."""
        found = {}
        for path in paths:
            for at, _, files in os.walk(path) if not os.path.islink(path) else ():
                for name in files:
                    with open(os.path.join(at, name), "rb") as file:
                        found[os.path.join(at, name)] = file.read()
            if os.path.islink(path):
                found[path] = os.readlink(path)
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    found[path] = file.read()
        return found

    def created(self, answer):
        return {d["target"] for d in answer["denials"] if d["operation"] == "protected_created"}

    def unchanged(self, command, *paths, flags=(), **options):
        before = self.tree(*paths)
        answer = self.sh(command, *flags, **options)
        self.assertEqual(answer["status"], "exited", answer)
        self.assertEqual(self.tree(*paths), before, answer)
        return answer
