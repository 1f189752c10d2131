# SPDX-License-Identifier: Apache-2.0
"""Life and death of a run: what ends it, how soon, and that nothing of it is left."""

import ctypes
import json
import os
import resource
import select
import signal
import subprocess
import time
import unittest

import harness
from harness import until

PYTHON = "/usr/bin/python3"
SOON = 5.0  # seconds; what is promised within one


def marked(marker):
    """The processes of the whole machine that carry the marker in their arguments."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        # A shell that was given the marker as a part of its script is not what is looked for.
        if marker.encode() in words:
            found.append(int(name))
    return found


class Life(harness.Case):
    """No process outlives its run."""

    def setUp(self):
        super().setUp()
        # An argument of sleep(1) that nobody else on the machine uses.
        self.marker = f"9{os.getpid()}{time.time_ns()}"

    def start(self, *arguments, **options):
        options.setdefault("cwd", self.work)
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.DEVNULL)
        process = subprocess.Popen([harness.SBX_RUN, *arguments], **options)
        self.addCleanup(self.end, process)
        return process

    def assert_appears(self, count=1):
        self.assertTrue(until(lambda: len(marked(self.marker)) >= count), "it never started")

    def assert_gone(self, seconds=SOON):
        self.assertTrue(until(lambda: not marked(self.marker), seconds), marked(self.marker))

    def every_kind_of_child(self):
        """Background, own session, double fork with every signal ignored, stopped."""
        deaf = (
            "import os,signal,sys\n"
            "for n in range(1, 65):\n"
            "    try: signal.signal(n, signal.SIG_IGN)\n"
            "    except (OSError, ValueError): pass\n"
            "if os.fork(): sys.exit()\n"
            "os.setsid()\n"
            "if os.fork(): sys.exit()\n"
            f"os.execvp('sleep', ['sleep', '{self.marker}'])\n"
        )
        self.write("work/deaf.py", deaf)
        return (
            f"sleep {self.marker} & setsid sleep {self.marker} & setsid setsid sleep {self.marker} &"
            f" {PYTHON} deaf.py; sleep {self.marker} & p=$!; (sleep 0.3; kill -STOP $p) &"
            f" (trap '' INT TERM HUP; sleep {self.marker}) &"
        )

    # A3
    def test_the_timeout_ends_daemons_stopped_children_and_those_that_ignore_signals(self):
        process = self.start("--timeout", "3s", "-c", self.every_kind_of_child() + " wait")
        self.assert_appears(6)
        answer = json.loads(process.communicate(timeout=harness.BOUND)[0])
        self.assertEqual((answer["status"], process.returncode), ("timed_out", 124))
        self.assert_gone()

    def test_two_hundred_children_are_gone_after_the_timeout(self):
        loop = f"for i in $(seq 200); do sleep {self.marker} & done; wait"
        process = self.start("--timeout", "3s", "-c", loop)
        answer = json.loads(process.communicate(timeout=harness.BOUND)[0])
        self.assertEqual(answer["status"], "timed_out")
        self.assert_gone()

    # D5
    def test_int_quit_term_and_hup_cancel_and_still_answer(self):
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number):
                process = self.start(
                    "-c", "echo before; " + self.every_kind_of_child() + " wait"
                )
                self.assert_appears(6)
                process.send_signal(number)
                answer = json.loads(process.communicate(timeout=harness.BOUND)[0])
                self.assertEqual(answer["status"], "cancelled", answer)
                self.assertEqual(answer["stdout"], "before\n")
                self.assertEqual(process.returncode, 128 + number)
                self.assertIsNone(answer["exit_code"])
                self.assert_gone()

    def test_other_signals_end_it_and_all_of_it_as_they_end_any_program(self):
        for number in (signal.SIGUSR1, signal.SIGUSR2):
            with self.subTest(signal=number):
                process = self.start("-c", self.every_kind_of_child() + " wait")
                self.assert_appears(6)
                process.send_signal(number)
                self.assertEqual(process.communicate(timeout=harness.BOUND)[0], b"")
                self.assertEqual(process.returncode, -number)
                self.assert_gone()

    def limited(self, number, soft, hard, command, *flags):
        """The answer under a resource limit of the caller's."""
        def lower():
            resource.setrlimit(number, (soft, hard))

        done = self.raw(*flags, "-c", command, preexec_fn=lower)
        self.assertTrue(done.stdout, (done.returncode, done.stderr))
        return json.loads(done.stdout)

    def test_a_small_limit_on_files_is_the_commands_not_the_set_ups(self):
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        for soft in (0, 16):
            answer = self.limited(resource.RLIMIT_FSIZE, soft, hard, "ulimit -Hf; ulimit -Sf; head -c 20 /dev/zero > f")
            self.assertEqual(answer["status"], "exited", answer)
            self.assertEqual(answer["stdout"].splitlines(),
                             ["unlimited" if hard < 0 else str(hard // 1024), "0"])
            self.assertNotEqual(answer["exit_code"], 0)
            self.assertEqual(os.path.getsize(os.path.join(self.work, "f")), soft)
        answer = self.limited(resource.RLIMIT_FSIZE, 4096, hard, "ulimit -Sf", "--file-size", "2K")
        self.assertEqual(answer["stdout"], "2\n")

    @unittest.skipIf(harness.is_root(), "root may raise a hard limit")
    def test_a_hard_limit_on_files_that_is_too_small_is_named(self):
        answer = self.limited(resource.RLIMIT_FSIZE, 0, 0, "echo ran")
        self.assertEqual(answer["status"], "error", answer)
        self.assertIn("EFBIG", answer["error"]["message"])
        self.assertIn("ulimit -f", answer["error"]["hint"])
        self.assertEqual(answer["stdout"], "")

    def test_a_small_stack_is_enough(self):
        for verb in (["run"], []):
            answer = self.limited(resource.RLIMIT_STACK, 65536, 65536, "ulimit -s; echo {1..1000} | wc -w", *verb)
            self.assertEqual((answer["status"], answer["stdout"]), ("exited", "64\n1000\n"), answer)

    def test_a_signal_that_the_caller_blocked_cancels_all_the_same(self):
        def block():
            signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))

        process = self.start("-c", f"sleep {self.marker}", preexec_fn=block)
        self.assert_appears()
        process.send_signal(signal.SIGTERM)
        answer = json.loads(process.communicate(timeout=harness.BOUND)[0])
        self.assertEqual((answer["status"], process.returncode), ("cancelled", 143))

    def test_a_signal_that_the_caller_ignores_cancels_nothing(self):
        # As under nohup.
        def ignore():
            signal.signal(signal.SIGHUP, signal.SIG_IGN)

        gate = self.write("work/gate", "")
        process = self.start(
            "-c", "touch ready; while [ -e gate ]; do sleep 0.02; done; echo done", preexec_fn=ignore
        )
        self.assertTrue(until(lambda: os.path.exists(os.path.join(self.work, "ready"))))
        process.send_signal(signal.SIGHUP)
        os.unlink(gate)
        answer = json.loads(process.communicate(timeout=harness.BOUND)[0])
        self.assertEqual((answer["status"], answer["stdout"]), ("exited", "done\n"))

    def test_nothing_runs_for_a_caller_that_ended_before_it_had_said_what(self):
        for verb in (("call", "run"), ("tool", "bash")):
            reading, writing = os.pipe()
            out = os.path.join(self.base, verb[0])
            caller = subprocess.Popen(["sh", "-c", f'"$@" <&{reading} > {out} 2>&1 & exec sleep 60', "sh", harness.SBX_RUN,
                                       *verb], cwd=self.work, pass_fds=(reading,))
            os.close(reading)

            def knows_its_caller(pid=caller.pid):
                try:
                    with open(f"/proc/{pid}/task/{pid}/children") as file:
                        fds = f"/proc/{file.read().split()[0]}/fd"
                    return any("pidfd" in os.readlink(f"{fds}/{fd}") for fd in os.listdir(fds))
                except (OSError, IndexError):
                    return False

            self.assertTrue(until(knows_its_caller))
            caller.kill()
            caller.wait()
            os.write(writing, b'{"command": "touch ran"}')
            os.close(writing)
            self.assertTrue(until(lambda path=out: "the caller has ended" in open(path).read()))
            self.assertEqual(os.listdir(self.work), [])

    def test_the_command_has_default_dispositions_and_an_empty_mask(self):
        libc = ctypes.CDLL(None)

        def spoil():
            for number in (signal.SIGINT, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE):
                signal.signal(number, signal.SIG_IGN)
            ignored = (ctypes.c_ulong * 4)(1)  # SIG_IGN, of those too that the C library keeps for itself
            for number in (32, 33):
                libc.syscall({"x86_64": 13, "aarch64": 134}[os.uname().machine], number, ignored, None, 8)
            signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
            os.umask(0o077)

        for verb in ([], ["exec"]):
            process = self.start(
                *verb, "-c", "grep -E '^Sig(Blk|Ign)' /proc/self/status; umask", preexec_fn=spoil
            )
            text = process.communicate(timeout=harness.BOUND)[0].decode()
            self.assertEqual(process.returncode, 0, text)
            if not verb:
                text = json.loads(text)["stdout"]
            for line in text.splitlines()[:2]:
                self.assertEqual(int(line.split()[1], 16), 0, text)
            self.assertEqual(text.splitlines()[2], "0022")

    # E10
    def test_sigkill_of_sbx_run_leaves_no_process_mount_or_file(self):
        profile = self.profile({"filesystem": {"protect": [".locked"]}})
        # /tmp and the table of mounts are other tests' as well.
        own_tmp = os.path.join(self.base, "own-tmp")
        os.mkdir(own_tmp)
        process = self.start(
            "--profile", profile, "-c", self.every_kind_of_child() + " touch /tmp/left; wait",
            env={**os.environ, "TMPDIR": own_tmp},
        )
        self.assert_appears(6)
        process.kill()
        process.wait()
        self.assert_gone()
        self.assertTrue(until(lambda: not os.path.lexists(os.path.join(self.work, ".locked"))))
        with open("/proc/self/mountinfo") as file:
            self.assertEqual([line for line in file if self.base in line], [])
        self.assertFalse(os.path.exists("/tmp/left"))
        self.assertEqual(os.listdir(own_tmp), [])

    def caller_that_is_killed(self, *arguments, before=""):
        """A process that starts sbx-run; its pid and its Popen."""
        script = (
            f"import subprocess,sys,time\n{before}\n"
            "child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL,"
            " stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
            "print(child.pid, flush=True)\ntime.sleep(600)\n"
        )
        caller = subprocess.Popen(
            [PYTHON, "-c", script, harness.SBX_RUN, *arguments],
            cwd=self.work,
            stdout=subprocess.PIPE,
        )
        self.addCleanup(self.end, caller)
        launcher = int(caller.stdout.readline())
        self.addCleanup(self.kill_quietly, launcher)
        return caller, launcher

    @staticmethod
    def kill_quietly(pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                ours = harness.SBX_RUN.encode() in file.read()
            if ours:
                os.kill(pid, signal.SIGKILL)
        except OSError:
            pass

    def test_a_run_ends_with_its_caller(self):
        caller, launcher = self.caller_that_is_killed("-c", f"sleep {self.marker} & sleep {self.marker}")
        self.assert_appears(2)
        caller.kill()
        caller.wait()
        self.assert_gone()
        self.assertTrue(until(lambda: not self.is_running(launcher), SOON))

    @staticmethod
    def is_running(pid):
        try:
            with open(f"/proc/{pid}/stat") as file:
                return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
        except OSError:
            return False

    def test_owner_zero_and_exec_are_not_tied_to_the_caller(self):
        for arguments in (["--owner-pid", "0"], ["exec"]):
            with self.subTest(arguments=arguments):
                caller, launcher = self.caller_that_is_killed(
                    *arguments, "-c", f"sleep {self.marker} & wait"
                )
                self.assert_appears()
                caller.kill()
                caller.wait()
                # Long enough for the death to be noticed, if anybody looked.
                time.sleep(0.5)
                self.assertTrue(marked(self.marker))
                os.kill(launcher, signal.SIGTERM)
                self.assert_gone()

    def test_exec_ends_with_the_owner_that_was_named(self):
        owner = subprocess.Popen(["sleep", "600"])
        self.addCleanup(self.end, owner)
        process = self.start("exec", "--owner-pid", str(owner.pid), "-c", f"sleep {self.marker}",
                             stderr=subprocess.PIPE)
        self.assert_appears()
        owner.kill()
        owner.wait()
        self.assert_gone()
        self.assertEqual(process.wait(harness.BOUND), 128 + signal.SIGHUP)
        self.assertEqual(process.stderr.read(), b"sbx-run: cancelled: its owner has ended\n")

    def test_the_thread_that_started_a_run_may_end(self):
        # PDEATHSIG would follow the thread; the caller is the process.
        before = (
            "import threading\n"
            "def start():\n"
            "    global P\n"
            "    P = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL,"
            " stdout=subprocess.PIPE)\n"
            "t = threading.Thread(target=start); t.start(); t.join()\n"
            "sys.stdout.buffer.write(P.communicate()[0]); sys.exit()\n"
        )
        done = subprocess.run(
            [PYTHON, "-c", "import subprocess,sys\n" + before, harness.SBX_RUN, "-c", "sleep 0.3; echo ok"],
            cwd=self.work,
            capture_output=True,
            timeout=harness.BOUND,
            check=True,
        )
        self.assertEqual(json.loads(done.stdout)["stdout"], "ok\n")


class Answering(harness.Case):
    """The answer comes as soon as the main process ends, and is whole."""

    def test_background_children_that_hold_the_pipes_do_not_delay_the_answer(self):
        began = time.monotonic()
        answer = self.sh("echo main; sleep 600 & setsid sleep 600 & exit 4")
        self.assertEqual((answer["status"], answer["exit_code"]), ("exited", 4))
        self.assertEqual(answer["stdout"], "main\n")
        self.assertLess(time.monotonic() - began, 10)

    def test_a_process_outside_that_holds_the_pipe_delays_the_answer_for_two_seconds_at_most(self):
        # With the host's network an abstract socket leads out, and with it a descriptor.
        server = (
            "import array,os,socket,sys,time\n"
            "s = socket.socket(socket.AF_UNIX)\n"
            "s.bind(sys.argv[1]); s.listen(1); print('ready', flush=True)\n"
            "c = s.accept()[0]\n"
            "m, a, _, _ = c.recvmsg(1, socket.CMSG_SPACE(4))\n"
            "c.send(b'x'); time.sleep(60)\n"
        )
        path = os.path.join(self.base, "work", "sock")
        holder = subprocess.Popen([PYTHON, "-c", server, path], stdout=subprocess.PIPE)
        self.addCleanup(Life.end, holder)
        holder.stdout.readline()
        client = (
            "import array,socket\n"
            "c = socket.socket(socket.AF_UNIX); c.connect('sock')\n"
            "c.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [1, 2]))])\n"
            "c.recv(1); print('sent')\n"
        )
        self.write("work/client.py", client)
        began = time.monotonic()
        answer = self.sh(f"{PYTHON} client.py", "--profile", "unconfined")
        self.assertEqual((answer["exit_code"], answer["stdout"]), (0, "sent\n"), answer)
        spent = time.monotonic() - began
        self.assertGreater(spent, 1.5)  # else nobody held it, and nothing was shown
        self.assertLess(spent, 12)

    def test_merged_output_keeps_the_order_in_which_it_was_written(self):
        answer = self.sh("for i in $(seq 500); do echo o$i; echo e$i >&2; done", "--merge")
        wanted = "".join(f"o{i}\ne{i}\n" for i in range(1, 501))
        self.assertEqual((answer["stdout"], answer["stderr"]), (wanted, ""))

    def test_two_hundred_megabytes_on_both_streams_need_no_memory(self):
        process = subprocess.Popen(
            [
                harness.SBX_RUN,
                "-c",
                "head -c 209715200 /dev/zero & head -c 209715200 /dev/zero >&2; wait; echo end",
            ],
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        self.addCleanup(Life.end, process)
        peak = 0

        def look():
            # Without the pages of the program's own file, which are many in a build for tests.
            nonlocal peak
            try:
                with open(f"/proc/{process.pid}/status") as file:
                    sizes = dict(line.split()[:2] for line in file if "kB" in line)
                peak = max(peak, int(sizes["VmHWM:"]) - int(sizes["RssFile:"]))
            except (OSError, KeyError):
                pass
            return bool(select.select([process.stdout], [], [], 0)[0])

        self.assertTrue(until(look, harness.BOUND))
        answer = json.loads(process.communicate(timeout=harness.BOUND)[0])
        self.assertEqual(answer["stdout_bytes"], 209715204)
        self.assertEqual(answer["stderr_bytes"], 209715200)
        self.assertTrue(answer["truncated"]["stdout"] and answer["truncated"]["stderr"])
        self.assertTrue(answer["stdout"].endswith("end\n"))
        self.assertGreater(peak, 0)
        self.assertLess(peak, 8 * 1024)

    def test_a_slow_reader_of_the_answer_gets_all_of_it(self):
        read, write = os.pipe()
        process = subprocess.Popen(
            [harness.SBX_RUN, "--max-output", "1M", "-c", "head -c 400000 /dev/zero | tr '\\0' x"],
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            stdout=write,
        )
        self.addCleanup(Life.end, process)
        os.close(write)
        text = b""
        while True:
            part = os.read(read, 4096)
            if not part:
                break
            text += part
            time.sleep(0.001)
        os.close(read)
        self.assertEqual(json.loads(text)["stdout"], "x" * 400000)
        self.assertEqual(process.wait(harness.BOUND), 0)

    def test_a_pipe_that_never_blocks_gets_the_whole_answer(self):
        read, write = os.pipe()
        os.set_blocking(write, False)
        process = subprocess.Popen(
            [harness.SBX_RUN, "--max-output", "1M", "-c", "head -c 400000 /dev/zero | tr '\\0' x"],
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            stdout=write,
        )
        self.addCleanup(Life.end, process)
        os.close(write)
        with os.fdopen(read, "rb") as file:
            self.assertEqual(len(json.loads(file.read())["stdout"]), 400000)
        self.assertEqual(process.wait(harness.BOUND), 0)

    def test_a_reader_that_never_reads_does_not_make_sbx_run_deaf_to_term(self):
        read, write = os.pipe()
        process = subprocess.Popen(
            [
                harness.SBX_RUN, "--max-output", "1M",
                "-c", "head -c 400000 /dev/zero | tr '\\0' x; touch done",
            ],
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            stdout=write,
        )
        self.addCleanup(Life.end, process)
        os.close(write)
        self.addCleanup(os.close, read)
        poller = select.poll()
        poller.register(read, select.POLLIN)
        self.assertTrue(poller.poll(30000))  # the answer is being written
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(SOON), 128 + signal.SIGTERM)

    def test_an_answer_that_cannot_be_written_is_exit_125(self):
        with open("/dev/full", "wb") as full:
            done = self.raw("-c", "true", stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"output_unwritable", done.stderr)

    def test_a_closed_reader_is_exit_125_and_no_death_by_sigpipe(self):
        read, write = os.pipe()
        os.close(read)
        done = self.raw("-c", "true", stdout=write, stderr=subprocess.PIPE)
        os.close(write)
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"output_unwritable", done.stderr)


if __name__ == "__main__":
    unittest.main()
