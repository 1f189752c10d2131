# SPDX-License-Identifier: Apache-2.0
"""Runs in the network of world.py."""

import os
import shutil
import subprocess
import tempfile
import unittest

import harness
import world

PYTHON = "/usr/bin/python3"


def requests_of(answer):
    return [(r["method"], r["path"], r["status"])
            for c in answer["connections"] for r in c["requests"]]


class Networked(harness.Case):
    @classmethod
    def setUpClass(cls):
        for tool in ("ip", "unshare", "openssl"):
            if shutil.which(tool) is None:
                raise unittest.SkipTest(f"{tool} is not installed")
        cls.place = tempfile.mkdtemp(prefix="sbx-world-")
        cls.world = world.World(cls.place)

    @classmethod
    def tearDownClass(cls):
        cls.world.close()
        shutil.rmtree(cls.place, ignore_errors=True)

    def raw(self, *arguments, **options):
        reply = self.world.order(argv=[harness.SBX_RUN, *arguments], cwd=self.work, **options)
        return subprocess.CompletedProcess(arguments, reply["code"], reply["stdout"].encode(),
                                           reply["stderr"].encode())

    def py(self, code, *flags):
        """The answer of a Python program that runs inside."""
        self.write("work/program.py", code)
        return self.run_json(*flags, "--", PYTHON, "program.py")

    def looked_up(self):
        """The names that the world's name server was asked for."""
        path = os.path.join(self.place, "dns.log")
        if not os.path.exists(path):
            return ""
        with open(path) as file:
            return file.read()

    def denials(self, answer, operation="connect"):
        return {d["target"]: d for d in answer["denials"]
                if d["layer"] == "network" and d["operation"] == operation}
