# SPDX-License-Identifier: Apache-2.0
"""The Debian package: made by cpack from this build tree, unpacked, used, and looked at by lintian.
The packages as they are published."""

import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))

import session_harness  # noqa: E402
from harness import BOUND, SBX_RUN, SOURCE  # noqa: E402

BUILD = os.path.dirname(os.path.dirname(SBX_RUN))


class Debian(session_harness.Case):
    def setUp(self):
        super().setUp()
        if not os.access(BUILD, os.W_OK):
            self.skipTest(f"cpack writes a manifest to {BUILD}, which is not ours")
        for program in ("cpack", "dpkg-deb", "dpkg-shlibdeps", "file"):
            if not shutil.which(program):
                self.skipTest(f"no {program} here (packages cmake, dpkg, dpkg-dev, file)")
        self.tool("cpack", "-G", "DEB", "--config", f"{BUILD}/CPackConfig.cmake", "-B", self.work)
        found = [name for name in os.listdir(self.work) if name.endswith(".deb")]
        self.assertEqual(len(found), 1, found)
        self.package = os.path.join(self.work, found[0])

    def tool(self, *arguments, **environment):
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=2 * BOUND,
                              check=False, env={**self.env, **environment}, cwd=self.base)
        self.assertEqual(done.returncode, 0, (arguments, done.stdout, done.stderr))
        return done.stdout

    def test_holds_what_was_promised_and_works_where_it_is_unpacked(self):
        root = os.path.join(self.base, "root")
        self.tool("dpkg-deb", "-x", self.package, root)
        names = {os.path.relpath(os.path.join(top, name), root)
                 for top, _, files in os.walk(root) for name in files}
        for name in ("usr/bin/sbx-run", "usr/bin/sbx-bwrap", "usr/include/sbx.h",
                     "usr/share/man/man1/sbx-run.1.gz", "usr/share/sbx/profiles/default.json",
                     "usr/share/sbx/schemas/result.json", "usr/share/doc/sbx/copyright",
                     "usr/share/bash-completion/completions/sbx-run", "etc/apparmor.d/sbx-run",
                     "etc/apparmor.d/sbx-bwrap"):
            self.assertIn(name, names)
        library = [name for name in names if os.path.basename(name).startswith("libsbx.so.0")]
        self.assertEqual(len(library), 1, names)
        lib = os.path.join(root, os.path.dirname(library[0]))
        self.assertTrue(os.path.islink(os.path.join(lib, "libsbx.so.1")))
        self.assertIn("static", self.tool("file", os.path.join(root, "usr/bin/sbx-run")))
        fields = self.tool("dpkg-deb", "-f", self.package)
        self.assertIn("Package: sbx\n", fields)
        self.assertRegex(fields, r"Depends: .*libc6")
        # A program against the package's library finds the package's sbx-run.
        self.tool("cc", f"{SOURCE}/examples/run.c", f"-I{root}/usr/include", f"-L{lib}", "-lsbx",
                  f"-Wl,-rpath,{lib}", "-o", f"{self.base}/example")
        self.assertIn('"stdout":"packed\\n"', self.tool(f"{self.base}/example", "echo packed"))
        self.assert_nothing_left()

    def test_has_neither_errors_nor_warnings_of_lintian(self):
        if not shutil.which("lintian"):
            self.skipTest("no lintian here (package lintian)")
        done = subprocess.run(["lintian", "--allow-root", "--fail-on", "none", "--tag-display-limit",
                               "0", self.package], capture_output=True, text=True,
                              timeout=2 * BOUND, check=False, env=self.env, cwd=self.base)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([line for line in done.stdout.splitlines() if line.startswith(("E:", "W:"))],
                         [])


if __name__ == "__main__":
    import unittest
    unittest.main()
