# SPDX-License-Identifier: Apache-2.0
"""Runs one method of one end-to-end test file: run.py FILE CLASS.METHOD. Exit 0 passed or skipped
(with the reason on a line of its own), 1 failed."""

import importlib.util
import os
import sys
import unittest

# What a test may see of its caller's environment: a CI's own CI=true, a person's EDITOR or proxies
# are no test's.
KEPT = ("PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "LANG")
KEPT_ENDS = ("_OPTIONS",)  # of the sanitizers
KEPT_STARTS = ("SBX_", "LC_", "PYTHON")


def main():
    path, name = sys.argv[1:3]
    for variable in list(os.environ):
        if not (variable in KEPT or variable.startswith(KEPT_STARTS) or variable.endswith(KEPT_ENDS)):
            del os.environ[variable]
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location("case", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    suite = unittest.defaultTestLoader.loadTestsFromName(name, module)
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    for _, reason in result.skipped:
        print(f"SKIPPED: {reason}")
    if result.testsRun != 1:
        print(f"{name}: {result.testsRun} tests were run in place of one")
        return 1
    return 0 if result.wasSuccessful() else 1


sys.exit(main())
