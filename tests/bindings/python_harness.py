# SPDX-License-Identifier: Apache-2.0
"""For tests of the Python package: from its wheel, in a directory with nothing else."""

import os
import re
import subprocess
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))

import session_harness  # noqa: E402
from harness import BOUND, SBX_RUN, SOURCE  # noqa: E402

PACKAGE = os.path.join(SOURCE, "bindings", "python")
PREFIX = os.path.dirname(os.path.dirname(SBX_RUN))


class Case(session_harness.Case):
    def setUp(self):
        super().setUp()
        done = subprocess.run([sys.executable, f"{PACKAGE}/build_wheel.py", "--prefix", PREFIX,
                               "--out", self.base], capture_output=True, text=True,
                              timeout=BOUND, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.wheel = done.stdout.strip()
        self.site = os.path.join(self.base, "site")
        with zipfile.ZipFile(self.wheel) as wheel:
            wheel.extractall(self.site)
            for info in wheel.infolist():
                os.chmod(os.path.join(self.site, info.filename), info.external_attr >> 16 & 0o777)

    def python(self, script, *arguments, **options):
        options.setdefault("timeout", BOUND)
        return subprocess.run(
            [sys.executable, "-s", "-X", "dev", "-W", "error", "-c", script, *arguments],
            env={**self.env, "PYTHONPATH": self.site}, cwd=self.work, capture_output=True,
            text=True, check=False, **options)

    def script(self, text, *arguments, out=None):
        """Runs a script that must end well and leave nothing behind."""
        done = self.python(text, *arguments)
        # What asyncio says in development mode on a machine that is busy with more.
        said = re.sub(r"^Executing <.*> took [\d.]+ seconds\n", "", done.stderr, flags=re.MULTILINE)
        self.assertEqual((done.returncode, said), (0, ""), done.stdout + said)
        if out is not None:
            self.assertEqual(done.stdout, out)
        self.assert_nothing_left()
        return done.stdout
