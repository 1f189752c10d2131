# Runs modules of CPython's own test suite and prints the tests that passed.
import subprocess
import sys
import xml.etree.ElementTree

subprocess.run(
    [sys.executable, "-m", "test", "--junit-xml", "result.xml", *sys.argv[1:]],
    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
passed = sorted(
    case.get("name")
    for case in xml.etree.ElementTree.parse("result.xml").iter("testcase")
    if case.get("result") == "completed" and case.find("failure") is None
    and case.find("error") is None and case.find("skipped") is None)
print(*passed, sep="\n")
