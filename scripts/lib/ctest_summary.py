#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ctest_summary.py NAME=JUNIT.xml...: which tests were skipped and why, and the totals.

ctest itself prints that a test was skipped, not the reason, which the test wrote to its output:
GTEST_SKIP() after "FILE:LINE: Skipped", a script after "SKIPPED: ". Beside JUNIT.xml, again.xml has
what failed and was run once more, alone: it counts, and each one that passed then is named.
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


def cases_of(path):
    return {case.get("name"): case for case in xml.parse(path).getroot().findall("testcase")}


def main(arguments):
    passed = failed = skipped = 0
    unsteady = []
    for argument in arguments:
        name, path = argument.split("=", 1)
        if not os.path.exists(path):
            print(f"{name}: did not run")
            failed += 1
            continue
        by_name = cases_of(path)
        again = os.path.join(os.path.dirname(path), "again.xml")
        for test, case in (cases_of(again) if os.path.exists(again) else {}).items():
            by_name[test] = case
            if case.find("failure") is None:
                unsteady.append(f"{name}: {test}")
        cases = list(by_name.values())
        skips = [case for case in cases if case.find("skipped") is not None]
        bad = sum(case.find("failure") is not None for case in cases)
        failed += bad
        skipped += len(skips)
        passed += len(cases) - bad - len(skips)
        print(f"{name}: {len(skips)} of {len(cases)} tests skipped")
        for case in skips:
            print(f"  {case.get('name')}: {reason(case)}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    if unsteady:
        print("UNSTEADY, passed only when run again, alone; each is a defect:")
        print("".join(f"  {test}\n" for test in unsteady), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
