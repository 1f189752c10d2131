# SPDX-License-Identifier: Apache-2.0
"""sbx-bwrap: its processes, descriptors and namespaces, beside what bubblewrap does."""

import fcntl
import json
import os
import signal
import struct
import subprocess
import time

import harness
from bwrap_harness import (BOUND, DEVICES, ROOT, SBX_BWRAP, SYSTEM, Case, children, is_root, read,
                           sh)


class Life(Case):
    def start(self, *arguments, **options):
        process = subprocess.Popen([SBX_BWRAP, *arguments], stdin=subprocess.DEVNULL, cwd="/",
                                   **options)
        self.addCleanup(process.wait, BOUND)
        self.addCleanup(process.kill)
        return process

    def ends_within(self, condition, seconds=10):
        end = time.monotonic() + seconds
        while not condition() and time.monotonic() < end:
            time.sleep(0.01)
        return condition()

    def pipe(self):
        ends = os.pipe()
        self.open_fds.update(ends)
        return ends

    def close(self, fd):
        self.open_fds.discard(fd)
        os.close(fd)

    def setUp(self):
        super().setUp()
        self.open_fds = set()
        self.addCleanup(lambda: [os.close(fd) for fd in self.open_fds])

    def test_info_and_status_are_told(self):
        info, info_w = self.pipe()
        status, status_w = self.pipe()
        done = self.start(*ROOT, "--unshare-pid", "--unshare-ipc", "--info-fd", str(info_w),
                          "--json-status-fd", str(status_w), *sh("exit 5"),
                          pass_fds=(info_w, status_w))
        self.close(info_w)
        self.close(status_w)
        text = os.read(info, 4096).decode()
        self.assertRegex(text, r'^\{\n    "child-pid": \d+,\n    "ipc-namespace": \d+,\n'
                         r'    "mnt-namespace": \d+,\n    "pid-namespace": \d+\n\}\n$')
        self.assertEqual(done.wait(BOUND), 5)
        with os.fdopen(os.dup(status)) as file:
            lines = file.read().splitlines()
        self.assertEqual(len(lines), 2)
        self.assertEqual({**json.loads(text)}, json.loads(lines[0]))
        self.assertEqual(lines[1], '{ "exit-code": 5 }')

    def test_no_exit_code_is_told_where_nothing_ran(self):
        status, status_w = self.pipe()
        done = self.start(*ROOT, "--json-status-fd", str(status_w), "no-such-program",
                          pass_fds=(status_w,), stderr=subprocess.DEVNULL)
        self.close(status_w)
        self.assertEqual(done.wait(BOUND), 1)
        self.assertNotIn("exit-code", os.read(status, 4096).decode() + os.read(status, 99).decode())

    def test_block_fd_holds_the_command_back(self):
        block, block_w = self.pipe()
        out, out_w = self.pipe()
        done = self.start(*ROOT, "--block-fd", str(block), "echo", "ran", stdout=out_w,
                          pass_fds=(block,))
        self.close(out_w)
        self.assertFalse(self.ends_within(lambda: done.poll() is not None, 0.2))
        os.write(block_w, b"x")
        self.assertEqual(done.wait(BOUND), 0)
        self.assertEqual(os.read(out, 100), b"ran\n")

    def test_userns_block_fd_lets_another_write_the_maps(self):
        info, info_w = self.pipe()
        block, block_w = self.pipe()
        out, out_w = self.pipe()
        uid, gid = os.getuid(), os.getgid()
        self.start(*ROOT, "--unshare-user", "--info-fd", str(info_w), "--userns-block-fd",
                   str(block), *sh("cat /proc/self/uid_map"), stdout=out_w,
                   pass_fds=(info_w, block))
        self.close(out_w)
        pid = json.loads(os.read(info, 4096))["child-pid"]
        for name, line in (("uid_map", f"7 {uid} 1"), ("setgroups", "deny"),
                           ("gid_map", f"7 {gid} 1")):
            with open(f"/proc/{pid}/{name}", "w") as file:
                file.write(line)
        os.write(block_w, b"x")
        self.assertEqual(os.read(out, 100).split()[:2], [b"7", str(uid).encode()])

    def test_its_user_can_join_the_namespaces_of_a_sandbox(self):
        info, info_w = self.pipe()
        out, out_w = self.pipe()
        block, block_w = self.pipe()
        ready = f"until readlink /proc/1/ns/pid; do :; done; read line <&{block}"
        self.start(*ROOT, "--unshare-user", "--unshare-pid", "--proc", "/proc", "--info-fd",
                   str(info_w), *sh(ready), stdout=out_w, pass_fds=(info_w, block))
        pid = json.loads(os.read(info, 4096))["child-pid"]
        inside = os.read(out, 100).decode()
        self.assertTrue(inside.startswith("pid:["), inside)
        with open(f"/proc/{pid}/ns/user", "rb") as user, open(f"/proc/{pid}/ns/pid", "rb") as pids:
            second = subprocess.run(
                [SBX_BWRAP, *ROOT, "--userns", str(user.fileno()), "--pidns", str(pids.fileno()),
                 "--proc", "/proc", "readlink", "/proc/self/ns/pid"],
                pass_fds=(user.fileno(), pids.fileno()), capture_output=True, text=True,
                timeout=BOUND, check=False)
        self.assertEqual((second.stdout, second.stderr), (inside, ""))
        os.write(block_w, b"\n")

    def test_pid_1_is_under_the_filters_of_the_command(self):
        # One program that allows everything: load, return SECCOMP_RET_ALLOW.
        program = struct.pack("HBBI", 0x06, 0, 0, 0x7fff0000)
        # It can be traced (its links be read) once it is, and not before.
        script = "until readlink /proc/1/ns/user; do :; done; grep Seccomp: /proc/1/status"
        out = self.ok(*ROOT, "--unshare-pid", "--proc", "/proc", "--seccomp", "9", "timeout", "30",
                      *sh(script), data={9: program})
        self.assertEqual(out.split("\n")[-2], "Seccomp:\t2")

    def test_sync_fd_lasts_as_long_as_anything_inside(self):
        sync, sync_w = self.pipe()
        done = self.start(*DEVICES, "--unshare-pid", "--sync-fd", str(sync_w),
                          *sh(f"test -e /proc/self/fd/{sync_w} && exit 3; sleep 3 & exit 0"),
                          pass_fds=(sync_w,), stdout=subprocess.DEVNULL)
        self.close(sync_w)
        self.assertEqual(done.wait(BOUND), 0)
        os.set_blocking(sync, False)
        self.assertRaises(BlockingIOError, os.read, sync, 1)
        os.set_blocking(sync, True)
        self.assertEqual(os.read(sync, 1), b"")

    def test_what_is_left_inside_outlives_the_command_but_not_its_caller_where_asked(self):
        for flags, outlives in (([], True), (["--die-with-parent"], False)):
            alive, alive_w = self.pipe()
            done = self.start(*DEVICES, "--unshare-pid", *flags,
                              *sh(f"sleep {4 if outlives else 60} & exit 0"),
                              stdout=alive_w)
            self.close(alive_w)
            self.assertEqual(done.wait(BOUND), 0)
            os.set_blocking(alive, False)
            ended = self.ends_within(lambda: self.at_end(alive), 0.5 if outlives else 10)
            self.assertEqual(ended, not outlives, flags)

    @staticmethod
    def at_end(fd):
        try:
            return os.read(fd, 1) == b""
        except BlockingIOError:
            return False

    def test_die_with_parent_kills_everything(self):
        for flags in ([], ["--unshare-pid"]):
            alive, alive_w = self.pipe()
            done = self.start(*ROOT, "--die-with-parent", *flags, *sh("echo up; exec sleep 30"),
                              stdout=alive_w)
            self.close(alive_w)
            self.assertEqual(os.read(alive, 3), b"up\n")
            done.send_signal(signal.SIGKILL)
            os.set_blocking(alive, False)
            self.assertTrue(self.ends_within(lambda: self.at_end(alive)), flags)

    def test_die_with_parent_holds_while_it_waits(self):
        for flags in ([], ["--unshare-pid"]):
            for wait in (["--block-fd"], ["--perms", "0600", "--dir", "/f", "--file"]):
                held, held_w = self.pipe()
                out, out_w = self.pipe()
                destination = ["/f/f"] if wait[-1] == "--file" else []
                done = self.start(*SYSTEM, "--die-with-parent", *flags, *wait, str(held),
                                  *destination, "echo", "ran", stdout=out_w, pass_fds=(held,))
                self.close(out_w)
                self.close(held)
                self.assertTrue(self.ends_within(lambda: children(done.pid)))
                child = children(done.pid)[0]
                self.assertTrue(self.ends_within(lambda: "pipe" in read(f"/proc/{child}/wchan")))
                done.kill()
                done.wait(BOUND)
                # Of the first the parent's death is the signal; the second finds it dead.
                if not destination:
                    os.set_blocking(out, False)
                    self.assertTrue(self.ends_within(lambda: self.at_end(out)), flags)
                    os.set_blocking(out, True)
                self.close(held_w)
                self.assertEqual(os.read(out, 100), b"", (flags, wait))

    def test_a_launcher_that_cannot_tell_leaves_nothing_behind(self):
        """A descriptor that cannot be written, and one that nobody reads, which is a signal."""
        unread, unread_w = self.pipe()
        self.close(unread)
        null = os.open("/dev/null", os.O_RDONLY)
        self.addCleanup(os.close, null)
        for told, status in ((null, 1), (unread_w, -signal.SIGPIPE)):
            for flag in ("--info-fd", "--json-status-fd"):
                alive, alive_w = self.pipe()
                done = self.start(*ROOT, "--unshare-pid", flag, str(told), "echo", "ran",
                                  stdout=alive_w, stderr=subprocess.DEVNULL, pass_fds=(told,))
                self.close(alive_w)
                self.assertEqual(done.wait(BOUND), status, flag)
                os.set_blocking(alive, False)
                self.assertTrue(self.ends_within(lambda: self.at_end(alive)), flag)

    # Over what PID 1 shares with the launcher.
    TAMPER = """if True:
        import sys
        pages = [line.split("-")[0] for line in open("/proc/1/maps") if "rw-s" in line]
        with open("/proc/1/mem", "r+b", buffering=0) as memory:
            for begin in pages:
                memory.seek(int(begin, 16))
                memory.write(bytes.fromhex(sys.argv[1]))
        sys.exit(7 if pages else 8)
    """

    def test_a_command_that_writes_into_pid_1_is_not_believed(self):
        yama = "/proc/sys/kernel/yama/ptrace_scope"
        if os.path.exists(yama) and read(yama) != "0\n" and not is_root():
            self.skipTest("Yama keeps the command from PID 1")
        script = 'until readlink /proc/1/ns/user; do :; done; exec /usr/bin/python3 -c "$0" "$1"'
        for data in ("0100000002000000", "01" * 4096, "ff" * 4096):
            done = self.sbx(*ROOT, "--unshare-pid", "--proc", "/proc", "timeout", "30",
                            *sh(script), self.TAMPER, data)
            self.assertEqual((done.returncode, done.stderr), (7, ""), data[:16])

    def test_lock_files_are_locked_while_it_runs(self):
        path = self.write("lock")
        ready, ready_w = self.pipe()
        done = self.start(*ROOT, "--lock-file", path, *sh("echo up; exec sleep 30"), stdout=ready_w)
        self.close(ready_w)
        os.read(ready, 3)
        with open(path, "r+") as file:
            self.assertRaises(OSError, fcntl.lockf, file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for init in children(done.pid):
                for pid in children(init):
                    os.kill(int(pid), signal.SIGKILL)
            self.assertEqual(done.wait(BOUND), 137)

            def is_free():  # once the process between, which holds it, has ended too
                try:
                    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    return False
                return True

            self.assertTrue(harness.until(is_free))

    def test_sigchld_ignored_by_the_caller_does_not_lose_the_status(self):
        done = self.start(*ROOT, "--unshare-pid", *sh("exit 9"),
                          preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual(done.wait(BOUND), 9)


class Namespaces(Case):
    def holder(self, *flags):
        """A process in namespaces of its own, and descriptors of those."""
        told, write = os.pipe()
        process = subprocess.Popen(["unshare", *flags, "sh", "-c", "echo up; read x"],
                                   stdin=subprocess.PIPE, stdout=write)
        os.close(write)
        self.addCleanup(process.wait, BOUND)
        self.addCleanup(process.stdin.close)
        up = os.read(told, 3)
        os.close(told)
        if up != b"up\n":
            self.skipTest(f"unshare {' '.join(flags)} does not work here")
        return process.pid

    def fd(self, path):
        fd = os.open(path, os.O_RDONLY)
        os.set_inheritable(fd, True)
        self.addCleanup(os.close, fd)
        return fd

    def test_userns_is_joined(self):
        pid = self.holder("-Ur")
        fd = self.fd(f"/proc/{pid}/ns/user")
        inside = self.ok(*ROOT, "--userns", str(fd), "--uid", "0", "--gid", "0",
                         "readlink", "/proc/self/ns/user")
        self.assertEqual(inside.strip(), os.readlink(f"/proc/{pid}/ns/user"))

    def test_pidns_is_joined_and_one_below_it_is_made(self):
        if not is_root():
            self.skipTest("only root owns a pid namespace that it can join without a userns")
        pid = self.holder("-pf")
        child = children(pid)[0]
        fd = self.fd(f"/proc/{child}/ns/pid")
        there = os.readlink(f"/proc/{child}/ns/pid")
        done = self.ok(*ROOT, "--pidns", str(fd), *sh("readlink /proc/self/ns/pid; exit 0"))
        self.assertEqual(done.strip(), there)
        told, write = os.pipe()
        below = self.sbx(*SYSTEM, "--pidns", str(fd), "--unshare-pid", "--proc", "/proc",
                         "--json-status-fd", str(write), *sh("echo $$; exit 4"), pass_fds=(fd, write),
                         close_fds=True)
        os.close(write)
        self.assertEqual((below.returncode, below.stdout), (4, "2\n"), below.stderr)
        text = os.read(told, 4096).decode()
        os.close(told)
        self.assertIn('"exit-code": 4', text)

    def test_a_userns_that_is_none(self):
        fd = self.fd("/dev/null")
        done = self.sbx(*ROOT, "--userns", str(fd), "true")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "^bwrap: Joining (the )?specified user namespace failed")

    def test_it_runs_as_proc_self_exe_and_within_itself(self):
        nest = ["--unshare-user", "--unshare-pid", *DEVICES]
        done = self.run_it("/bin/sh", ["-c", 'exec 9<"$1"; shift; exec /proc/self/fd/9 "$@"', "sh",
                                       SBX_BWRAP, *nest, SBX_BWRAP, *nest, SBX_BWRAP, *nest,
                                       "--dev", "/dev", *sh("echo $$; exit 6")])
        self.assertEqual((done.returncode, done.stdout, done.stderr), (6, "2\n", ""))

    def test_a_thousand_binds_work(self):
        arguments = []
        for i in range(1000):
            arguments += ["--ro-bind", "/usr/bin/env", f"/many/{i}"]
        self.assertEqual(self.ok(*SYSTEM, *arguments, *sh("ls /many | wc -l")), "1000\n")
