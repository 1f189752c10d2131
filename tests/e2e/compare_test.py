# SPDX-License-Identifier: Apache-2.0
"""docs/comparison.md says that nothing but what should goes through sbx-run: its attempts, made here."""

import os
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ["SBX_SOURCE"]


def column(name):
    """{title of a row: whether it went through}"""
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run([sys.executable, os.path.join(SOURCE, "scripts", "compare"), "--only", name, "--out",
                               os.path.join(directory, "page.md")], capture_output=True, text=True, timeout=150,
                              check=False)
    lines = [line.split("\t") for line in done.stdout.splitlines() if line.startswith(name + "\t")]
    if not lines:
        raise AssertionError(done.stdout + done.stderr)
    return {title: through == "yes" for _, through, title, _ in lines}


class Compare(unittest.TestCase):
    def test_nothing_goes_through_that_should_not(self):
        rows = column("sbx")
        self.assertGreater(len(rows), 30)
        self.assertEqual([title for title, through in rows.items() if through],
                         ["write in the workspace (what should go through)"])


if __name__ == "__main__":
    unittest.main()
