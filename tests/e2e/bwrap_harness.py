# SPDX-License-Identifier: Apache-2.0
"""Runs of sbx-bwrap, and of bubblewrap beside it."""

import fcntl
import os
import shutil
import subprocess
import tempfile
import unittest



SBX_BWRAP = os.environ.get("SBX_BWRAP") or os.path.join(
    os.path.dirname(os.environ["SBX_RUN"]), "sbx-bwrap"
)
REAL = shutil.which("bwrap")
BOUND = 60
ROOT = ["--ro-bind", "/", "/"]
DEVICES = ["--dev-bind", "/", "/"]
# A small root as flatpak builds one.
SYSTEM = ["--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib",
          "--symlink", "usr/lib64", "/lib64", "--symlink", "usr/sbin", "/sbin"]


def sh(text):
    return ["sh", "-c", text]


def read(path):
    with open(path) as file:
        return file.read()


def children(pid):
    return read(f"/proc/{pid}/task/{pid}/children").split()


def is_root():
    return os.geteuid() == 0


class Case(unittest.TestCase):
    def setUp(self):
        self.base = os.path.realpath(tempfile.mkdtemp(prefix="sbx-bwrap-"))
        self.addCleanup(shutil.rmtree, self.base, ignore_errors=True)

    def run_it(self, program, arguments, data=None, **options):
        """`data` maps a descriptor number inside to the bytes that it gives."""
        fds = {}
        for number, content in (data or {}).items():
            fd = os.memfd_create("data")
            os.write(fd, content)
            os.lseek(fd, 0, os.SEEK_SET)
            fds[number] = fcntl.fcntl(fd, fcntl.F_DUPFD, 200)
            os.close(fd)
        def place():
            for number, fd in fds.items():
                os.dup2(fd, number)
        try:
            return subprocess.run(
                [program, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                timeout=BOUND, check=False, preexec_fn=place,
                **{"cwd": "/", "close_fds": False, **options})
        finally:
            for fd in fds.values():
                os.close(fd)

    def sbx(self, *arguments, **options):
        return self.run_it(SBX_BWRAP, arguments, **options)

    def ok(self, *arguments, **options):
        done = self.sbx(*arguments, **options)
        self.assertEqual((done.returncode, done.stderr), (0, ""), arguments)
        return done.stdout

    def fails(self, words, *arguments, status=1, **options):
        done = self.sbx(*arguments, **options)
        self.assertEqual((done.returncode, done.stderr), (status, words), arguments)

    def write(self, relative, text=""):
        path = os.path.join(self.base, relative)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        return path
