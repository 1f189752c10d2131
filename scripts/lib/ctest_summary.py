#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ctest_summary.py NAME=JUNIT.xml...: which tests were skipped and why, and the totals.

ctest itself prints that a test was skipped, not the reason, which the test wrote to its output:
GTEST_SKIP() after "FILE:LINE: Skipped", a script after "SKIPPED: ".
"""
import os
import re
import sys
import xml.etree.ElementTree as xml


def reason(case):
    text = case.findtext("system-out") or ""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if line.startswith("SKIPPED: "):
            return line.removeprefix("SKIPPED: ")
        if re.search(r":\d+: Skipped$", line) and number + 1 < len(lines):
            return lines[number + 1].strip() or "no reason given"
    return "no reason given"


def main(arguments):
    passed = failed = skipped = 0
    for argument in arguments:
        name, path = argument.split("=", 1)
        if not os.path.exists(path):
            print(f"{name}: did not run")
            failed += 1
            continue
        cases = xml.parse(path).getroot().findall("testcase")
        skips = [case for case in cases if case.find("skipped") is not None]
        bad = sum(case.find("failure") is not None for case in cases)
        failed += bad
        skipped += len(skips)
        passed += len(cases) - bad - len(skips)
        print(f"{name}: {len(skips)} of {len(cases)} tests skipped")
        for case in skips:
            print(f"  {case.get('name')}: {reason(case)}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")


if __name__ == "__main__":
    main(sys.argv[1:])
