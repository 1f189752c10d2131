#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""suite.py FILE[:CLASS[.METHOD]]…: the tests of those files of tests/e2e, one after the other in one process, a line
each: where a Python takes seconds to start, one for each test would be most of the time. Exit status: 0 when
none failed."""

import importlib.util
import os
import sys
import time
import traceback
import unittest

E2E = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e")


class Lines(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.start = 0.0
        self.counts = {"ok": 0, "FAILED": 0, "skipped": 0}

    def startTest(self, test):
        super().startTest(test)
        self.start = time.monotonic()

    def say(self, how, test, more=""):
        self.counts[how] += 1
        print(f"{how}: {test.id()} ({time.monotonic() - self.start:.0f} s) {more}", flush=True)

    def addSuccess(self, test):
        self.say("ok", test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.say("skipped", test, reason)

    def addFailure(self, test, error):
        self.say("FAILED", test, "".join(traceback.format_exception(*error))[-1500:])

    addError = addFailure

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.addFailure(subtest, error)


def load(word):
    name, _, part = word.partition(":")
    spec = importlib.util.spec_from_file_location(name.removesuffix(".py"), os.path.join(E2E, name))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    loader = unittest.defaultTestLoader
    return loader.loadTestsFromName(part, module) if part else loader.loadTestsFromModule(module)


def main():
    sys.path.insert(0, E2E)
    sys.dont_write_bytecode = True
    result = Lines()
    for word in sys.argv[1:]:
        load(word).run(result)
    print(", ".join(f"{count} {how}" for how, count in result.counts.items()), flush=True)
    return 1 if result.counts["FAILED"] else 0


if __name__ == "__main__":
    sys.exit(main())
