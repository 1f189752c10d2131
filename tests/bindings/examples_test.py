# SPDX-License-Identifier: Apache-2.0
"""examples/, built against an installed sbx as a user builds them, and run."""

import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))

import session_harness  # noqa: E402
from harness import BOUND, SBX_RUN, SOURCE  # noqa: E402

EXAMPLES = os.path.join(SOURCE, "examples")
BUILD = os.path.dirname(os.path.dirname(SBX_RUN))


class Installed(session_harness.Case):
    def setUp(self):
        super().setUp()
        if not os.access(BUILD, os.W_OK):
            self.skipTest(f"cmake --install writes a manifest to {BUILD}, which is not ours")
        self.prefix = os.path.join(self.base, "prefix")
        self.tool("cmake", "--install", BUILD, "--prefix", self.prefix)
        self.lib = os.path.join(self.prefix, "lib")
        for found, _, files in os.walk(self.prefix):
            if "libsbx.so" in files:
                self.lib = found
        self.env["PKG_CONFIG_PATH"] = os.path.join(self.lib, "pkgconfig")

    def tool(self, *arguments, **environment):
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=2 * BOUND,
                              check=False, env={**self.env, **environment}, cwd=self.base)
        self.assertEqual(done.returncode, 0, (arguments, done.stdout, done.stderr))
        return done.stdout

    def need(self, program):
        if not shutil.which(program):
            self.skipTest(f"no {program} here")

    def built(self, *compiler):
        self.tool(*compiler)
        return os.path.join(self.base, "example")

    def test_c_through_pkg_config(self):
        self.need("pkg-config")
        flags = self.tool("pkg-config", "--cflags", "--libs", "sbx").split()
        example = self.built("cc", "-std=c99", "-pedantic", "-Wall", "-Werror",
                             f"{EXAMPLES}/run.c", *flags, f"-Wl,-rpath,{self.lib}", "-o", "example")
        result = json.loads(self.tool(example, 'echo "a\\b"\nexit 3'))
        self.assertEqual((result["exit_code"], result["stdout"]), (3, "a\\b\n"))

    def test_cxx_through_find_package(self):
        self.tool("cmake", "-S", f"{EXAMPLES}/cxx", "-B", "cxx",
                  f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.tool("cmake", "--build", "cxx")
        lines = [json.loads(line) for line in self.tool("cxx/events").splitlines()]
        self.assertEqual(sorted(line["result"]["stdout"] for line in lines),
                         ["answer 0\n", "answer 1\n", "answer 2\n"])

    def test_rust(self):
        self.need("rustc")
        if subprocess.run(["rustc", "--version"], capture_output=True, check=False,
                          env=self.env).returncode != 0:
            self.skipTest("no rustc for this user")
        example = self.built("rustc", f"{EXAMPLES}/run.rs", "-L", self.lib, "-o", "example")
        result = json.loads(self.tool(example, '{"command": "echo rust"}',
                                      LD_LIBRARY_PATH=self.lib))
        self.assertEqual(result["stdout"], "rust\n")

    def test_go(self):
        self.need("go")
        example = self.built("env", f"CGO_LDFLAGS=-L{self.lib} -lsbx", f"HOME={self.base}",
                             "GOFLAGS=-mod=mod", "go", "build", "-o", "example",
                             f"{EXAMPLES}/run.go")
        self.assertEqual(self.tool(example, "echo go", LD_LIBRARY_PATH=self.lib), "go\n")

    def test_agent_loop_in_python(self):
        out = self.tool(sys.executable, f"{EXAMPLES}/agent_loop.py",
                        PYTHONPATH=f"{SOURCE}/bindings/python/src", LD_LIBRARY_PATH=self.lib,
                        PYTHONDONTWRITEBYTECODE="1", PATH=f"{self.prefix}/bin:{os.environ['PATH']}")
        self.assertEqual(out.splitlines()[-1], "The program printed 42.")
        self.assertIn("refused: ", out)

    def test_the_installed_tree_has_what_was_promised(self):
        names = {os.path.relpath(os.path.join(top, name), self.prefix)
                 for top, _, files in os.walk(self.prefix) for name in files}
        library = os.path.relpath(self.lib, self.prefix)
        for name in ("bin/sbx-run", "include/sbx.h", f"{library}/libsbx.so.1",
                     f"{library}/pkgconfig/sbx.pc", f"{library}/cmake/sbx/sbx-config.cmake",
                     "share/man/man1/sbx-run.1", "share/sbx/schemas/request.json",
                     "share/sbx/profiles/default.json", "share/sbx/schemas/result.json",
                     "share/bash-completion/completions/sbx-run"):
            self.assertIn(name, names)
        for name in names:
            if name.endswith((".cmake", ".pc")):
                with open(os.path.join(self.prefix, name)) as file:
                    self.assertIsNone(re.search(re.escape(SOURCE), file.read()), name)


if __name__ == "__main__":
    import unittest
    unittest.main()
