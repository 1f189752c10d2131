# SPDX-License-Identifier: Apache-2.0
"""Programs that are masked are in `denials`, however they are called."""

import os
import time
import unittest

import denials_test
import harness
import session_harness

# A text that leaves a program's name open: only then does anybody listen to execs.
OPEN = "$(echo eurt | rev); "


def hidden(text):
    """The word, as shell text whose value is known at run time only."""
    return "$(echo " + text[::-1] + " | rev)"


MOUNT = "/usr/bin/mount"


@unittest.skipUnless(os.path.exists(MOUNT), "no mount(8) here")
class MaskedPrograms(denials_test.Case):
    def test_of_two_named_neighbours_the_refused_one_is_told(self):
        for name in ("read", "written"):
            self.write("work/" + name, name)
        answer = self.sh("cat read; echo w > written", "--ro", self.work + "/written")
        self.assertEqual([(d["target"], d["program"]) for d in answer["denials"]],
                         [(self.work + "/written", "bash")], answer)

    def test_an_exec_by_a_hidden_name_is_reported(self):
        answer = self.sh(f"m={hidden('mount')}; $m; $m; exit 7")
        self.assertEqual(answer["exit_code"], 7, answer)
        entry = self.only(answer, "exec", MOUNT)
        self.assertEqual(entry, {"layer": "mount", "operation": "exec", "target": MOUNT, "count": 2,
                                 "program": "bash", "grant": ""})

    def test_what_a_program_says_it_may_not_execute_is_named(self):
        profile = self.profile({"commands": {"deny": ["tac"]}})
        self.write("work/Makefile", "all:\n\ttac Makefile\n")
        self.write("work/x.sh", "#!/bin/sh\nmount -l\n", 0o755)
        for command, target, grant in (
                ("make -s", "/usr/bin/tac", 'commands.deny -= ["tac"]'), ("./x.sh", MOUNT, ""),
                ("python3 -c 'import subprocess as s; s.run([\"tac\"])'", "/usr/bin/tac", 'commands.deny -= ["tac"]')):
            answer = self.sh(command, "--profile", profile)
            self.assertEqual([(d["layer"], d["operation"], d["target"], d["grant"]) for d in answer["denials"]],
                             [("mount", "exec", target, grant)], answer)
        self.assertEqual(self.sh("echo 'make: /bin/nosuch: Permission denied' >&2")["denials"], [])

    def test_a_name_of_the_profile_s_own_comes_with_its_grant(self):
        profile = self.profile({"commands": {"deny": ["ta[c]"]}})
        answer = self.sh(hidden("tac") + " /dev/null", "--profile", profile)
        self.assertEqual(answer["exit_code"], 126)
        entry = self.only(answer, "exec", "/usr/bin/tac")
        self.assertEqual(entry["grant"], 'commands.deny -= ["ta[c]"]')

    def test_every_way_to_it_leads_to_the_same_entry(self):
        os.symlink(MOUNT, os.path.join(self.work, "link"))
        script = """import os
def attempt(call):
    pid = os.fork()
    if pid == 0:
        try:
            call()
        except OSError as error:
            os._exit(error.errno)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
name = "mou" + "nt"
calls = [
    lambda: os.execve("/bin/" + name, [name], {}),
    lambda: os.execve("/usr/../usr//bin/./" + name, [name], {}),
    lambda: os.execve("./link", [name], {}),
    lambda: (os.chdir("/usr/bin"), os.execve(name, [name], {})),
    lambda: os.execve(os.open("/usr/bin/" + name, os.O_PATH), [name], {}),
]
print([attempt(call) for call in calls])
"""
        self.write("work/try.py", script)
        answer = self.sh(OPEN + "python3 try.py")
        self.assertEqual(answer["stdout"], "[13, 13, 13, 13, 13]\n")
        self.assertEqual(self.only(answer, "exec", MOUNT)["count"], 5)

    def test_under_landlock_alone(self):
        profile = self.profile({"isolation": {"namespaces": [], "require": ["seccomp", "landlock"],
                                              "fallback": "degrade"}})
        answer = self.sh(f"m={hidden('mount')}; $m", "--profile", profile)
        self.assertEqual(answer["exit_code"], 126)
        self.assertEqual(self.only(answer, "exec", MOUNT)["layer"], "landlock")

    def test_what_may_run_and_what_is_not_there_are_not_reported(self):
        self.write("work/script", "#!/bin/sh\necho ran\n", 0o755)
        self.write("work/plain", "x", 0o644)
        answer = self.sh(OPEN + "./script; ./plain; /nowhere/program; env true; cat " + MOUNT)
        self.assertIn("ran", answer["stdout"])
        self.assertEqual(answer["denials"], [])

    def test_hostile_arguments_and_storms_stop_nothing(self):
        script = """import ctypes, os, signal
libc = ctypes.CDLL(None, use_errno=True)
argv = (ctypes.c_char_p * 2)(b"x", None)
for address in (0, 8, 2**63, 2**64 - 1, 2**47 - 4096):
    assert libc.syscall(59, ctypes.c_void_p(address), argv, None, 0) == -1
    assert ctypes.get_errno() == 14, ctypes.get_errno()
assert libc.syscall(59, b"/" * 5000, argv, None, 0) == -1 and ctypes.get_errno() == 36
for _ in range(1000):
    libc.syscall(59, b"/usr/bin/none", argv, None, 0)
for n in range(100):
    os.symlink("/usr/bin/mou" + "nt", "l%d" % n)
    assert libc.syscall(59, b"l%d" % n, argv, None, 0) == -1
print("done")
"""
        if os.uname().machine != "x86_64":
            self.skipTest("names x86-64 numbers")
        self.write("work/storm.py", script)
        answer = self.sh(OPEN + "python3 storm.py", "--timeout", "50s")
        self.assertEqual((answer["status"], answer["stdout"].strip()), ("exited", "done"), answer)
        self.assertEqual(self.only(answer, "exec", MOUNT)["count"], 100)

    def test_a_storm_does_not_outlive_its_time(self):
        self.write("work/storm.py", "import os\n"
                   "for _ in range(3): os.fork()\n"
                   "while True:\n"
                   "    try: os.execv('/usr/bin/none', ['x'])\n"
                   "    except OSError: pass\n")
        begin = time.monotonic()
        answer = self.sh(OPEN + "python3 storm.py", "--timeout", "1s")
        self.assertEqual(answer["status"], "timed_out")
        self.assertLess(time.monotonic() - begin, harness.BOUND / 2)

    def test_a_filter_that_is_off_changes_nothing(self):
        profile = self.profile({"seccomp": {"mode": "off"},
                                "isolation": {"require": ["mount", "landlock"]}})
        answer = self.sh(f"m={hidden('mount')}; $m", "--profile", profile)
        self.assertEqual((answer["exit_code"], answer["denials"]), (126, []))

    def test_an_operator_who_denies_exec_is_obeyed(self):
        profile = self.profile({"seccomp": {"deny": ["execveat"]}})
        self.write("work/try.py",
                   "import os\nos.execve(os.open('/usr/bin/true', os.O_PATH), ['x'], {})\n")
        answer = self.sh(OPEN + "python3 try.py", "--profile", profile)
        self.assertNotEqual(answer["exit_code"], 0)
        self.assertEqual(self.only(answer, "execveat", "")["layer"], "seccomp")

    def test_nobody_listens_where_the_text_names_every_program(self):
        answer = self.sh("python3 -c 'import os; os.execv(\"/usr/bin/mou\" + \"nt\", [\"x\"])'")
        self.assertIn("PermissionError", answer["stderr"])
        self.assertEqual(answer["denials"], [])


@unittest.skipUnless(os.path.exists(MOUNT), "no mount(8) here")
class MaskedProgramsInASession(session_harness.Case):
    def test_a_session_with_warm_sandboxes_reports_them_too(self):
        _, server = self.server()
        for _ in range(4):
            result = server.call("run", command=f"m={hidden('mount')}; $m")
            self.assertEqual(result["exit_code"], 126)
            self.assertEqual([(d["operation"], d["target"]) for d in result["denials"]],
                             [("exec", MOUNT)])


if __name__ == "__main__":
    unittest.main()
