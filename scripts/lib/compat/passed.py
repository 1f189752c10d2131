# Runs modules of CPython's own test suite and prints the tests that passed. What did not is tried
# once more, since many of them measure time on a machine that may be busy.
import subprocess
import sys
import xml.etree.ElementTree


def run(*arguments):
    subprocess.run(
        [sys.executable, "-m", "test", "--junit-xml", "result.xml", *arguments, *sys.argv[1:]],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    passed, failed = set(), set()
    for case in xml.etree.ElementTree.parse("result.xml").iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed.add(case.get("name"))
        elif case.get("result") == "completed" and case.find("skipped") is None:
            passed.add(case.get("name"))
    return passed, failed


passed, failed = run()
if failed:
    passed |= run(*[word for name in sorted(failed) for word in ("-m", name)])[0]
print(*sorted(passed), sep="\n")
