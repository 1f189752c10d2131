# SPDX-License-Identifier: Apache-2.0
"""What every end-to-end test needs: sbx-run as a subprocess, its JSON answer, a workspace.

Tests are unittest cases in tests/e2e/*_test.py, one ctest a method (tests.cmake finds them). The
whole suite runs twice, as root and as an unprivileged user; a test asks is_root() where the two
differ. Everything is bounded: a run that does not end within its time is a failure.
"""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest

SBX_RUN = os.environ["SBX_RUN"]
SOURCE = os.environ["SBX_SOURCE"]
TOOLS = os.environ.get("SBX_TEST_TOOLS", "")  # where the compiled probes lie
SLOWER = int(os.environ.get("SBX_TEST_SLOWER", "1"))  # an emulated processor takes so many times as long
BOUND = 60 * SLOWER  # seconds that no run may exceed


def is_root():
    return os.geteuid() == 0


# In front of a command: it may mount, and nobody else sees that.
OWN_MOUNTS = ["unshare", "-m" if is_root() else "-Urm"]


def probe(name):
    """The path of a compiled probe of tests/probes/, a static program that runs inside."""
    return os.path.join(TOOLS, name)


def until(condition, seconds=30.0):
    """Polls; whether it came true in time."""
    end = time.monotonic() + seconds * SLOWER
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


class Case(unittest.TestCase):
    """A test with a fresh workspace, removed afterwards."""

    def setUp(self):
        self.base = tempfile.mkdtemp(prefix="sbx-e2e-")
        self.addCleanup(shutil.rmtree, self.base, ignore_errors=True)
        self.work = os.path.join(self.base, "work")
        os.mkdir(self.work)

    @staticmethod
    def end(process):
        """Kills what still runs, and closes its streams."""
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                with contextlib.suppress(BrokenPipeError):  # what was not written yet
                    stream.close()

    def write(self, relative, text, mode=0o644):
        path = os.path.join(self.base, relative)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def profile(self, document, name="test.json"):
        """Writes a profile (a dict, extending `default` unless it says otherwise)."""
        document = {"extends": "default", **document}
        return self.write(name, json.dumps(document))

    def raw(self, *arguments, **options):
        """Runs sbx-run with these arguments; a CompletedProcess with bytes."""
        options.setdefault("cwd", self.work)
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("timeout", BOUND)
        if "stdout" not in options and "stderr" not in options:
            options["capture_output"] = True
        return subprocess.run([SBX_RUN, *arguments], check=False, **options)

    def run_json(self, *arguments, **options):
        """Runs sbx-run and gives its answer; the process is in `self.last`."""
        self.last = self.raw(*arguments, **options)
        try:
            return json.loads(self.last.stdout)
        except ValueError:
            self.fail(f"no JSON on stdout: {self.last.stdout!r} {self.last.stderr!r}")

    def sh(self, command, *flags, **options):
        """The answer for `sbx-run FLAGS -c COMMAND`."""
        return self.run_json(*flags, "-c", command, **options)

    def out(self, command, *flags, **options):
        """The stdout of a command that must exit 0."""
        answer = self.sh(command, *flags, **options)
        self.assertEqual(answer["status"], "exited", answer)
        self.assertEqual(answer["exit_code"], 0, answer)
        return answer["stdout"]

    def after_mounts(self, mounts):
        """The answer of `true` where these shell commands have mounted something, for it alone."""
        done = subprocess.run([*OWN_MOUNTS, "sh", "-c", mounts + ' || exit 99; exec "$@"',
                               "sh", SBX_RUN, "-c", "true"], cwd=self.work, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=BOUND, check=False)
        if done.returncode == 99:
            self.skipTest(done.stderr.decode())
        return json.loads(done.stdout)

    def assert_error(self, answer, code):
        self.assertEqual(answer["status"], "error", answer)
        self.assertEqual(answer["error"]["code"], code, answer["error"])
