# SPDX-License-Identifier: Apache-2.0
"""What the filter looks at in a call's arguments, seen from inside: no set-uid or set-gid bit is left
in a writable root for somebody outside to run, by whatever call, and programs go on without it."""

import os
import resource
import stat
import subprocess
import unittest

import harness

# Each way to give a file a mode, by the raw call: number by name, then its arguments. x86_64's own
# numbers are left out elsewhere.
WAYS = """
import ctypes, errno, os, platform
libc = ctypes.CDLL(None, use_errno=True)
AT = -100
old = platform.machine() == "x86_64"
new = {"fchmod": 91, "fchmodat": 268, "mknodat": 259, "openat": 257} if old else \\
      {"fchmod": 52, "fchmodat": 53, "mknodat": 33, "openat": 56}
open("f", "w").close()
fd = os.open("f", os.O_RDWR)
CREATE = os.O_CREAT | os.O_WRONLY
how = (ctypes.c_uint64 * 3)(CREATE, 0o2755, 0)
high = 1 << 40
ways = {}
for bits in (0o4755, 0o2755):
    ways.update({
        f"fchmod {bits:o}": (new["fchmod"], fd, bits),
        f"fchmod {bits:o} with a high half": (new["fchmod"], fd, ctypes.c_uint64(bits | high)),
        f"fchmodat {bits:o}": (new["fchmodat"], AT, b"f", bits),
        f"fchmodat2 {bits:o}": (452, AT, b"f", bits, 0),
        f"mknodat {bits:o}": (new["mknodat"], AT, b"n1", 0o100000 | bits, 0),
        f"openat {bits:o}": (new["openat"], AT, b"n2", CREATE, bits),
        f"O_TMPFILE {bits:o}": (new["openat"], AT, b".", os.O_TMPFILE | os.O_RDWR, bits)})
    if old:
        ways.update({f"chmod {bits:o}": (90, b"f", bits), f"creat {bits:o}": (85, b"n3", bits),
                     f"open {bits:o}": (2, b"n4", CREATE, bits),
                     f"mknod {bits:o}": (133, b"n5", 0o100000 | bits, 0)})
os.umask(0)
for name, way in ways.items():
    ctypes.set_errno(0)
    libc.syscall(*way)
    if ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS if "fchmodat2" in name else errno.EPERM):
        print(name, ctypes.get_errno())
libc.syscall(437, AT, b"n6", how, 24)
print("openat2", errno.errorcode[ctypes.get_errno()])
"""


class SetIdBits(harness.Case):
    def bits_left(self):
        """What lies in the workspace with a set-uid or set-gid bit."""
        found = []
        for top, directories, files in os.walk(self.work):
            for name in directories + files:
                mode = os.lstat(os.path.join(top, name)).st_mode
                if mode & (stat.S_ISUID | stat.S_ISGID):
                    found.append((name, oct(mode)))
        return found

    def test_no_call_sets_them(self):
        self.write("work/ways.py", WAYS)
        for flags in ((), ("--trace-denials",)):
            answer = self.sh("python3 ways.py", *flags)
            self.assertEqual(answer["stdout"], "openat2 ENOSYS\n", answer)
            self.assertEqual(self.bits_left(), [])
            refused = {denial["operation"]: denial for denial in answer["denials"]
                       if denial["layer"] == "seccomp"}
            self.assertLessEqual({"fchmod", "fchmodat", "openat", "mknodat"}, set(refused))
            self.assertEqual(refused["fchmodat"]["target"], "a set-uid or set-gid bit")
            self.assertEqual(refused["fchmodat"]["grant"], 'seccomp.allow += ["fchmodat"]')

    def test_a_denial_is_named_once_and_its_grant_helps(self):
        answer = self.sh("touch f; chmod u+s f; chmod g+s f; stat -c %a f")
        self.assertEqual(answer["stdout"], "644\n", answer)
        (denial,) = answer["denials"]
        self.assertEqual((denial["program"], denial["count"]), ("chmod", 2))
        name, granted = denial["grant"].split(" += ")
        self.assertEqual(name, "seccomp.allow")
        profile = self.profile({"seccomp": {"+allow": [granted.strip('["]')]}})
        self.assertEqual(self.out("chmod 4755 f; stat -c %a f", "--profile", profile), "4755\n")

    def test_other_modes_and_the_sticky_bit_are_set(self):
        self.assertEqual(self.out("mkdir d; chmod 1777 d; touch f; chmod 700 f; mkdir -m 750 e;"
                                  " install -m 640 f g; stat -c %a d f e g"),
                         "1777\n700\n750\n640\n")

    def test_programs_fail_or_go_on_without_them(self):
        command = """
            umask 022; mkdir in out; echo '#!/bin/sh' > in/prog; chmod 755 in/prog
            install -m 2755 in/prog out/p 2> /dev/null; echo "install $?"
            tar --mode=6755 -cf a.tar in; tar -C out -xpf a.tar 2> /dev/null; echo "tar $?"
            cat out/in/prog
            git init -q --shared=group repo 2> /dev/null; echo "git $?"
            git init -q plain && echo plain"""
        lines = self.out(command).split("\n")
        self.assertEqual(lines, ["install 1", "tar 2", "#!/bin/sh", "git 128", "plain", ""])
        self.assertEqual(self.bits_left(), [])

    def test_a_directory_that_has_the_bit_hands_it_on_and_can_be_copied(self):
        os.mkdir(self.work + "/shared")
        os.chmod(self.work + "/shared", 0o2775)
        self.assertEqual(self.out("mkdir shared/sub; touch shared/sub/f; stat -c %a shared/sub;"
                                  " cp -r shared copy && ls copy/sub"), "2755\nf\n")
        answer = self.sh("cp -a shared kept; ls kept/sub")
        self.assertEqual(answer["stdout"], "f\n", answer)
        self.assertIn("Operation not permitted", answer["stderr"])


# A call by `int $0x80`, whose number is this architecture's connect; one by an x32 number.
FOREIGN = """
import ctypes, mmap, signal, sys
if "ignored" in sys.argv:
    signal.signal(signal.SIGSYS, signal.SIG_IGN)
if "x32" in sys.argv:
    print(ctypes.CDLL(None).syscall(0x40000000 | 39))
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex("b82a000000" "cd80" "c3"))
print(ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))())
"""


@unittest.skipUnless(os.uname().machine == "x86_64", "another architecture has other foreign calls")
class ForeignCalls(harness.Case):
    def test_they_end_the_process_and_are_in_denials(self):
        self.write("work/foreign.py", FOREIGN)
        host = subprocess.run(["python3", self.work + "/foreign.py"], check=False, capture_output=True)
        cases = [("x32", "x32 getpid", "SIGSYS"), ("x32 ignored", "x32 getpid", "SIGKILL")]
        if host.returncode == 0:  # this kernel runs i386 calls
            cases += [("", "i386 pipe", "SIGSYS"), ("ignored", "i386 pipe", "SIGKILL")]
        for flags in ((), ("--trace-denials",), ("--allow-host", "example.com")):
            for words, target, signal in cases:
                answer = self.sh(f"exec python3 foreign.py {words}", *flags)
                self.assertEqual((answer["status"], answer["signal"], answer["stdout"]), ("signaled", signal, ""), words)
                told = [d for d in answer["denials"] if d["layer"] == "seccomp"]
                self.assertEqual(told, [{"layer": "seccomp", "operation": "foreign_architecture", "target": target,
                                         "count": 1, "program": "python3", "grant": ""}], words)

    def test_what_started_the_process_goes_on(self):
        self.write("work/foreign.py", FOREIGN)
        answer = self.sh("for i in 1 2 3; do python3 foreign.py x32; done 2> /dev/null; echo $?")
        self.assertEqual((answer["status"], answer["stdout"]), ("exited", "159\n"))
        self.assertEqual([(d["target"], d["count"]) for d in answer["denials"]], [("x32 getpid", 3)])


class Owners(harness.Case):
    def test_an_id_that_is_not_mapped_is_refused_as_without_privilege(self):
        self.write("work/give.py", '''
import errno, os
open("f", "w").close()
fd = os.open("f", os.O_RDWR)
own = os.getuid(), os.getgid()
for uid, gid in (own, (own[0], -1), (-1, own[1]), (-1, -1), (4242, -1), (-1, 4242), (4242, 4242)):
    for give in (os.chown, os.lchown, lambda f, u, g: os.fchown(fd, u, g),
                 lambda f, u, g: os.chown(f, u, g, follow_symlinks=False)):
        try:
            give("f", uid, gid)
            answer = 0
        except OSError as error:
            answer = error.errno
        foreign = 4242 in (uid, gid)
        if answer != (errno.EPERM if foreign else 0):
            print(uid, gid, answer)
''')
        for flags in ((), ("--trace-denials",)):
            answer = self.sh("python3 give.py", *flags)
            self.assertEqual((answer["stdout"], answer["stderr"]), ("", ""), answer)
            refused = [denial for denial in answer["denials"] if denial["layer"] == "seccomp"]
            self.assertLessEqual({"fchown"}, {denial["operation"] for denial in refused})
            self.assertEqual({denial["target"] for denial in refused},
                             {"an owner or group that is not mapped inside"})
            self.assertEqual({denial["grant"] for denial in refused}, {""}, "none would help")

    def test_it_is_one_denial_however_often(self):
        self.write("work/give.py", "import subprocess\n"
                   "print(subprocess.run(['chown', '4242', 'a', 'b', 'c']).returncode)\n")
        answer = self.sh("touch a b c; python3 give.py; stat -c %u a")
        self.assertEqual(answer["stdout"], "1\n%d\n" % os.getuid(), answer)
        self.assertIn("Operation not permitted", answer["stderr"])
        (denial,) = answer["denials"]
        self.assertEqual((denial["program"], denial["count"]), ("chown", 3))

    def test_the_operator_may_leave_the_answer_to_the_kernel(self):
        profile = self.profile({"seccomp": {"+allow": ["fchownat", "chown", "lchown", "fchown"]}})
        answer = self.sh("""touch a; python3 -c 'import os; os.chown("a", 4242, -1)'""",
                         "--profile", profile)
        self.assertIn("Invalid argument", answer["stderr"])
        self.assertEqual(answer["denials"], [])


class PidOne(harness.Case):
    """PID 1 keeps the guard, and is a process of the caller's ids: nothing inside may disturb it."""

    TOUCH = """
import ctypes, os, platform, resource, struct
libc = ctypes.CDLL(None, use_errno=True)
call = libc.syscall
x86 = platform.machine() == "x86_64"
mask, zero = ctypes.byref(ctypes.c_ulong(~0)), ctypes.byref(ctypes.c_int(0))
batch = struct.pack("IIQiIQQQ", 48, 3, 0, 0, 0, 0, 0, 0)
high = ctypes.c_ulong(1 | 1 << 40)
none = ctypes.byref((ctypes.c_ulong * 2)(0, 0))
PRLIMIT, SETAFFINITY, SETPARAM, SETSCHEDULER, SETATTR, SETPRIORITY, IOPRIO = (
    (302, 203, 142, 144, 314, 141, 251) if x86 else (261, 122, 118, 119, 274, 140, 30))
touches = {
    "prlimit": (PRLIMIT, 1, 7, none, None), "prlimit with a high half": (PRLIMIT, high, 7, none, None),
    "its CPU time": (PRLIMIT, 1, 0, none, None), "affinity": (SETAFFINITY, 1, 8, mask),
    "param": (SETPARAM, 1, zero), "scheduler": (SETSCHEDULER, 1, 3, zero),
    "attributes": (SETATTR, 1, batch, 0), "priority": (SETPRIORITY, 0, 1, 10),
    "everybody's priority": (SETPRIORITY, 2, os.getuid(), 10), "io priority": (IOPRIO, 1, 1, 3 << 13),
    "everybody's io priority": (IOPRIO, 3, os.getuid(), 3 << 13)}
done = [name for name, touch in touches.items() if call(*touch) >= 0]
print("touched", done)
own = os.getpid()
resource.prlimit(own, resource.RLIMIT_CORE, (0, 0))
os.sched_setaffinity(own, os.sched_getaffinity(own))
os.setpriority(os.PRIO_PROCESS, own, 5)
os.setpriority(os.PRIO_PGRP, 0, 6)
print("own", os.getpriority(os.PRIO_PROCESS, 0))
"""

    def test_its_limits_and_priority_cannot_be_set(self):
        self.write("work/touch.py", self.TOUCH)
        for replaced in ("restore", "report"):  # with the one it has a capability, and none without
            profile = self.profile({"filesystem": {"replaced": replaced}})
            answer = self.sh("python3 touch.py; touch new; echo on", "--profile", profile)
            self.assertEqual(answer["stdout"], "touched []\nown 6\non\n", answer)
            self.assertEqual(answer["status"], "exited", answer)
            named = {denial["operation"] for denial in answer["denials"]}
            self.assertLessEqual({"prlimit64", "sched_setattr", "setpriority", "ioprio_set"}, named)

    def test_without_a_pid_namespace_no_other_process_has_its_limits_set(self):
        self.write("work/other.py", "import os, resource\n"
                                    "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
                                    "resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (9, 9))\n")
        profile = self.profile({"isolation": {
            "namespaces": ["user", "mount", "net", "ipc", "uts", "cgroup"], "require": []}})
        answer = self.sh("python3 other.py", "--profile", profile)
        self.assertIn("PermissionError", answer["stderr"])
        self.assertEqual([denial["operation"] for denial in answer["denials"]], ["prlimit64"])


class Queues(harness.Case):
    USE = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
queue = libc.mq_open(b"/sbx-test", os.O_CREAT | os.O_RDWR, 0o600, None)
if queue < 0:
    print(errno.errorcode[ctypes.get_errno()])
else:
    libc.mq_send(queue, b"hello", ctypes.c_size_t(5), 0)
    got = ctypes.create_string_buffer(8192)
    print(libc.mq_receive(queue, got, ctypes.c_size_t(8192), None), got.value, os.listdir("/dev/mqueue"))
    print(libc.mq_unlink(b"/sbx-test"))
"""

    def test_message_queues_are_the_sandbox_s_own(self):
        self.write("work/queue.py", self.USE)
        self.assertEqual(self.out("python3 queue.py"), "5 b'hello' ['sbx-test']\n0\n")
        self.assertEqual(self.out("touch /dev/mqueue/left; ls /dev/mqueue"), "left\n")
        self.assertEqual(self.out("ls /dev/mqueue"), "", "another sandbox has its own")

    def test_a_core_limit_is_nothing_that_can_be_raised_to_the_caller_s(self):
        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        self.assertEqual(
            self.out("python3 -c 'import resource as r; print(*r.getrlimit(r.RLIMIT_CORE));"
                     " r.setrlimit(r.RLIMIT_CORE, (r.getrlimit(r.RLIMIT_CORE)[1],) * 2);"
                     " print(*r.getrlimit(r.RLIMIT_CORE))'"), f"0 {hard}\n{hard} {hard}\n")


if __name__ == "__main__":
    unittest.main()
