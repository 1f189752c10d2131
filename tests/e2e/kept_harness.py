# SPDX-License-Identifier: Apache-2.0
"""What the tests of kept layers share."""

import json
import os
import stat

import harness


def tree(top, modes=0o777, skip=()):
    """Path -> what is there: (type, mode, content)."""
    found = {}
    for directory, inner, files in os.walk(os.fsencode(top)):
        for name in inner + files:
            path = os.path.join(directory, name)
            info = os.lstat(path)
            key = os.path.relpath(path, os.fsencode(top))
            if key.split(b"/")[0] in skip:
                continue
            if stat.S_ISLNK(info.st_mode):
                found[key] = ("link", os.readlink(path))
            elif stat.S_ISDIR(info.st_mode):
                found[key] = ("directory", info.st_mode & modes)
            elif stat.S_ISREG(info.st_mode):
                readable = os.access(path, os.R_OK)
                with open(path if readable else os.devnull, "rb") as file:
                    found[key] = ("file", info.st_mode & modes, file.read())
            else:
                found[key] = ("other",)
    return found


class Kept(harness.Case):
    def setUp(self):
        super().setUp()
        self.state = os.path.join(self.base, "state")
        self.environment = {**os.environ, "XDG_STATE_HOME": self.state}

    def raw(self, *arguments, **options):
        options.setdefault("env", self.environment)
        return super().raw(*arguments, **options)

    def inside(self, command, name="x", *flags, **options):
        answer = self.sh(command, "--layer", name, *flags, **options)
        self.assertEqual(answer["status"], "exited", answer)
        self.assertEqual(answer["exit_code"], 0, answer)
        return answer

    def layer(self, *arguments, **options):
        """The text of `sbx-run layer …`, which must succeed."""
        done = self.raw("layer", *arguments, **options)
        self.assertEqual(done.returncode, 0, done)
        return done.stdout.decode(errors="surrogateescape")

    def refused(self, code, *arguments):
        done = self.raw("layer", *arguments)
        self.assertEqual(done.returncode, 125, done)
        answer = json.loads(done.stdout)
        self.assert_error(answer, code)
        return answer

    def put(self, name, text, mode=0o644):
        return self.write("work/" + name, text, mode)

    def read(self, name):
        with open(os.path.join(self.work, name)) as file:
            return file.read()
