# SPDX-License-Identifier: Apache-2.0
"""Every system call of the set-up made to fail, one at a time, by strace's injection: the command
must never start without a layer that was promised, and sbx-run must answer and never hang.

strace counts calls for each process, so one K hits the K-th such call of the supervisor, of PID 1
and of the command's process: a run counts as failed as soon as one of the three has been hit.
"""

import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import harness

TIME_LIMIT = 20  # seconds that one run may take, slowed by strace
ERROR_CODES = {"layer_unavailable", "setup_failed", "cwd_not_visible", "not_found",
               "not_executable", "path_not_found", "path_refused", "output_unwritable",
               "profile_not_found", "internal", "bad_flag", "bad_descriptor"}
CALL = re.compile(r"^(\d+) +(?:<\.\.\. )?([a-z0-9_]+)(?:\(| resumed)")


def traced(options, work, trace="/dev/null"):
    """sbx-run under strace with these options: (returncode, stdout, whether the command ran)."""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(work)) as base:
        inside = os.path.join(base, "work")
        os.mkdir(inside)
        done = subprocess.run(
            ["strace", "-f", "-qq", "-o", trace, *options, harness.SBX_RUN, "-c",
             "echo ran; : > marker"],
            cwd=inside, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIME_LIMIT,
            check=False)
        return done.returncode, done.stdout, os.path.exists(os.path.join(inside, "marker"))


def count_calls(work):
    """How often each process made each call before the command began; the most, by name. And the
    same for the time before there was a second process."""
    trace = os.path.join(work, "trace")
    traced([], work, trace)
    counts = {}
    alone = None
    shells = set()  # processes whose execve of the shell has not come back yet
    with open(trace, errors="replace") as file:
        for line in file:
            match = CALL.match(line)
            if not match:
                continue
            pid, name = match.groups()
            if name == "execve" and "bash" in line:
                shells.add(pid)
            if name == "execve" and pid in shells and line.rstrip().endswith("= 0"):
                break
            if "resumed" in line[:60]:
                continue
            if name == "clone3" and alone is None:
                alone = {call: count for (call, _), count in counts.items()}
            counts[name, pid] = counts.get((name, pid), 0) + 1
    most = {}
    for (name, _), count in counts.items():
        most[name] = max(most.get(name, 0), count)
    return most, alone or most


@unittest.skipUnless(shutil.which("strace"), "strace is not installed")
class Faults(harness.Case):
    maxDiff = None
    """Field notes: inject every errno into every set-up call, and the command must never start."""

    counts = None
    alone = None

    def setUp(self):
        super().setUp()
        if Faults.counts is None:
            Faults.counts, Faults.alone = count_calls(self.work)
        if not Faults.counts:
            self.skipTest("strace cannot trace here")

    def one(self, call, error, k, may_have_begun=False):
        """One injected failure. A complaint, or None where all is well."""
        what = f"{call}:error={error}:when={k}"
        try:
            status, stdout, ran = traced([f"--inject={what}", f"--trace={call}"], self.work)
        except subprocess.TimeoutExpired:
            return f"{what}: sbx-run hangs"
        if not stdout:  # the answer itself could not be written, or the launcher did not begin
            return None if status != 0 and not ran else f"{what}: no answer, exit {status}, {ran}"
        try:
            answer = json.loads(stdout)
        except ValueError:
            return f"{what}: no JSON: {stdout!r}"
        if answer["status"] == "error":
            if ran and not may_have_begun:
                return f"{what}: the command ran, though the answer is {answer['error']}"
            if answer["error"]["code"] not in ERROR_CODES:
                return f"{what}: the code {answer['error']['code']}"
            return None
        layers = answer["sandbox"]["layers"]
        missing = [name for name, there in layers.items() if not there]
        if missing or answer["sandbox"]["degraded"]:
            return f"{what}: ran without {missing}, {answer['sandbox']['degraded']}"
        return None

    def inject(self, matrix, most=1000, may_have_begun=False, counts=None):
        """matrix: call → errnos. Each occurrence is made to fail with one of them in turn."""
        jobs = []
        for call, errors in matrix.items():
            count = (counts or self.counts).get(call, 0)
            if count > most:  # spread evenly, the first and the last among them
                chosen = sorted({1 + i * (count - 1) // (most - 1) for i in range(most)})
            else:
                chosen = range(1, count + 1)
            jobs += [(call, errors[k % len(errors)], k) for k in chosen]
        self.assertTrue(jobs, "none of these calls is made: the test has lost its subject")
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            complaints = [found for found in pool.map(
                lambda job: self.one(*job, may_have_begun), jobs) if found]
        self.assertEqual(complaints, [])

    def test_a_failed_mount_call_keeps_the_command_from_starting(self):
        self.inject({"mount": ["EPERM", "EINVAL"], "open_tree": ["EPERM", "ENOSYS", "EMFILE"],
                     "move_mount": ["EPERM", "EBUSY"], "mount_setattr": ["EPERM", "EINVAL"],
                     "pivot_root": ["EPERM", "EBUSY"], "umount2": ["EPERM", "EBUSY"]})

    def test_a_failed_file_call_of_the_set_up_keeps_the_command_from_starting(self):
        self.inject({"mkdir": ["EACCES", "ENOSPC"], "symlink": ["EEXIST", "EACCES"],
                     "openat2": ["ENOENT", "ENOSYS", "ELOOP"], "chdir": ["ENOENT", "EACCES"],
                     "fstat": ["EIO"], "newfstatat": ["EIO", "ENOMEM"]}, most=12)

    def test_a_look_that_fails_never_leaves_anything_uncovered(self):
        """A denied program, a hidden file named through a symlink, hooks that a symlink leads to,
        those of a submodule, and a FIFO in what is read-only."""
        for directory in ("real/deep", "hooks", ".git/modules/sub/hooks", "shown/deep"):
            os.makedirs(os.path.join(self.work, directory))
        os.mkfifo(os.path.join(self.work, "shown/deep/fifo"))
        os.symlink("real/deep", os.path.join(self.work, "way"))
        os.symlink("../hooks", os.path.join(self.work, ".git/hooks"))
        self.write("work/real/deep/hidden", "secret")
        self.write("work/.git/modules/sub/HEAD", "")
        self.write("work/.git/modules/sub/config", "")
        profile = self.profile({"filesystem": {"roots": [
            {"path": "${workspace}", "access": "rw"},
            {"path": "${workspace}/shown", "access": "ro"},
            {"path": "${workspace}/way/hidden", "access": "none", "optional": True}]}})
        command = ("for p in /usr/bin/s[u] real/deep/hidde[n]; do test ! -s $p || echo open $p; "
                   "done; for p in hooks .git/modules/sub/hooks; do "
                   "(: > $p/x) && echo open $p; rm -f $p/x; done; "
                   "(: <> shown/deep/fifo) && echo open fifo")

        def traced_with(*options):
            return subprocess.run(
                ["strace", "-f", "-qq", *options, harness.SBX_RUN, "--profile", profile, "-c",
                 command], cwd=self.work, stdin=subprocess.DEVNULL, capture_output=True,
                timeout=TIME_LIMIT, check=False).stdout

        def one(what):
            stdout = traced_with("-o", "/dev/null", f"--inject={what}",
                                 f"--trace={what.split(':')[0]}")
            return f"{what}" if b"open " in stdout.split(b'"stderr"')[0] else ""

        # The supervisor's own looks come first: all before there is a second process.
        trace = os.path.join(self.base, "trace")
        calls = ("newfstatat", "stat", "lstat", "readlink", "openat", "open", "getdents64")
        traced_with("-o", trace, "-e", "trace=clone3," + ",".join(calls))
        with open(trace, errors="replace") as file:
            names = [match.group(2) for match in map(CALL.match, file) if match]
        names = names[:names.index("clone3")]
        jobs = [f"{call}:error=ENOMEM:when={k}"
                for call in calls for k in range(1, names.count(call) + 1)]
        self.assertGreater(len(jobs), 100)
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            self.assertEqual([found for found in pool.map(one, jobs) if found], [])

    def test_a_descriptor_that_cannot_be_sent_is_a_failed_set_up(self):
        status, stdout, ran = traced(["--inject=sendmsg:error=ENOBUFS:when=1", "--trace=sendmsg"],
                                     self.work)
        answer = json.loads(stdout)
        self.assertEqual((status, ran, answer["error"]["code"]), (125, False, "setup_failed"))

    def test_a_failed_open_or_write_keeps_the_command_from_starting(self):
        self.inject({"openat": ["EACCES", "EMFILE", "ENOENT"], "open": ["EACCES"],
                     "write": ["EPERM", "ENOSPC"], "read": ["EIO"]}, most=40)

    def test_a_failed_prctl_keeps_the_command_from_starting(self):
        self.inject({"prctl": ["EINVAL", "EPERM"]})
        self.inject({"prctl": ["EPERM", "EINVAL"]}, most=12)

    def test_a_failed_landlock_or_seccomp_call_keeps_the_command_from_starting(self):
        self.inject({"landlock_create_ruleset": ["EINVAL", "ENOSYS", "EOPNOTSUPP"],
                     "landlock_add_rule": ["EINVAL", "ENOMEM"],
                     "landlock_restrict_self": ["E2BIG"],
                     "seccomp": ["EINVAL", "EBUSY"]}, most=8)
        for error in ("EPERM", "ENOSYS", "ENOMEM"):
            self.inject({"seccomp": [error], "landlock_restrict_self": [error]})

    def test_a_failed_capability_limit_or_session_call_keeps_the_command_from_starting(self):
        for error in ("EPERM", "EINVAL"):
            self.inject({"capget": [error], "capset": [error], "setsid": [error],
                         "sethostname": [error], "socket": [error], "ioctl": [error],
                         "prlimit64": [error], "close_range": [error], "dup2": [error],
                         "dup3": [error]})

    def test_a_failed_descriptor_message_keeps_the_command_from_starting(self):
        for error in ("ENOBUFS", "EAGAIN", "EMFILE"):
            self.inject({"sendmsg": [error]})

    def test_a_failed_clone_is_an_error(self):
        for error in ("EAGAIN", "EPERM", "ENOSPC"):
            self.inject({"clone3": [error], "clone": [error]})

    def test_a_failed_call_of_the_supervisor_never_hangs(self):
        self.inject({"pipe2": ["EMFILE"], "epoll_create1": ["EMFILE"],
                     "socketpair": ["EMFILE"], "fcntl": ["EMFILE", "EINVAL"],
                     "signalfd4": ["EMFILE"], "pidfd_open": ["EMFILE"],
                     "getcwd": ["ENOENT"], "mmap": ["ENOMEM"], "poll": ["EINTR"]}, most=14)
        self.inject({"epoll_ctl": ["ENOSPC", "ENOMEM"]}, counts=self.alone)

    def test_a_call_that_fails_while_the_command_runs_never_hangs(self):
        # The listener of refused calls enters the loop when every layer stands and the command may
        # have begun: a failure there ends it.
        self.inject({"wait4": ["ECHILD"], "recvmsg": ["ENOBUFS", "EMFILE"],
                     "epoll_ctl": ["ENOSPC", "ENOMEM"],
                     "epoll_wait": ["EBADF", "EINTR"]}, most=14, may_have_begun=True)

    def test_calls_that_fail_for_good_never_hang_the_supervisor(self):
        for call, error in (("epoll_wait", "EBADF"), ("epoll_ctl", "ENOMEM"),
                            ("recvmsg", "ENOBUFS"), ("wait4", "ECHILD"), ("fcntl", "EINVAL")):
            self.assertIsNone(self.one(call, error, "1+", may_have_begun=True))


if __name__ == "__main__":
    unittest.main()
