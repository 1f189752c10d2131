# SPDX-License-Identifier: Apache-2.0
"""What a run takes from its caller's process and shows the command, whatever its state."""

import json
import os
import resource
import signal
import subprocess
import time
import unittest

import harness

PYTHON = "/usr/bin/python3"


class Surroundings(harness.Case):
    """A plain run works whatever state the caller left its process in."""

    def test_any_of_the_standard_descriptors_may_be_closed(self):
        for closed in range(8):
            fds = [fd for fd in range(3) if closed & (1 << fd)]
            with self.subTest(closed=fds):
                # The descriptors of the caller must not turn up in the command's places.
                script = (
                    "import os,sys\n"
                    + "".join(f"os.close({fd})\n" for fd in fds)
                    + "os.execv(sys.argv[1], sys.argv[1:])\n"
                )
                done = subprocess.run(
                    [PYTHON, "-c", script, harness.SBX_RUN, "-c", "touch ran; cat; echo out; echo err >&2"],
                    cwd=self.work,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=harness.BOUND,
                    check=False,
                )
                if 1 in fds:
                    self.assertEqual((done.returncode, done.stdout), (125, b""))
                else:
                    answer = json.loads(done.stdout)
                    self.assertEqual((done.returncode, answer["stdout"], answer["stderr"]), (0, "out\n", "err\n"))

    def test_an_answer_that_cannot_be_written_is_said(self):
        for words in (["explain", "-c", "true"], ["doctor"], ["profile", "list"], ["schema", "result"],
                      ["--version"], ["--help"], ["layer", "list"], ["layer", "--help"], ["cache", "list"]):
            with open("/dev/full", "wb") as full:
                done = self.raw(*words, stdout=full, stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 125, words)
            self.assertEqual(done.stderr.count(b"sbx-run: output_unwritable: "), 1, (words, done.stderr))

    def test_a_server_whose_answers_cannot_be_written_says_so(self):
        hello = {"jsonrpc": "2.0", "id": 1}
        for words, call in ((["serve"], {"method": "list", "params": {}}),
                            (["mcp"], {"method": "ping"})):
            line = (json.dumps({**hello, **call}) + "\n").encode()
            with open("/dev/full", "wb") as full:
                done = self.raw(*words, stdin=None, input=line, stdout=full, stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 125, words)
            self.assertEqual(done.stderr.count(b"sbx-run: output_unwritable: "), 1, (words, done.stderr))
            done = self.raw(*words, stdin=None, input=line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            self.assertEqual((done.returncode, done.stderr), (0, b""), words)

    def test_a_batch_says_that_its_stdin_is_closed(self):
        done = self.raw("batch", preexec_fn=lambda: os.close(0))
        self.assertEqual((done.returncode, json.loads(done.stdout)["error"]["where"]), (125, "stdin"), done)

    def test_few_descriptors_suffice_or_the_error_is_clear(self):
        for soft, hard in ((22, 22), (24, 24), (16, 4096)):
            with self.subTest(soft=soft, hard=hard):
                done = self.raw(
                    "-c", "echo ok",
                    preexec_fn=lambda s=soft, h=hard: resource.setrlimit(resource.RLIMIT_NOFILE, (s, h)),
                )
                answer = json.loads(done.stdout)
                self.assertEqual((done.returncode, answer["stdout"]), (0, "ok\n"), answer)

    def test_too_few_descriptors_are_an_error_and_nothing_runs(self):
        for limit in range(4, 12):
            done = self.raw(
                "-c", "touch ran",
                preexec_fn=lambda n=limit: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)),
            )
            ran = os.path.exists(os.path.join(self.work, "ran"))
            if done.returncode == 0:
                self.assertTrue(ran)
                return
            self.assertEqual(done.returncode, 125, (limit, done.stdout, done.stderr))
            self.assertFalse(ran, limit)

    def test_each_limit_of_open_files_is_told_as_that(self):
        for limit in range(6, 40):
            done = self.raw("-c", "true", preexec_fn=lambda n=limit: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)))
            answer = json.loads(done.stdout)
            if done.returncode == 0:
                return
            self.assert_error(answer, "setup_failed")
            self.assertRegex(answer["error"]["hint"], "limits? of open files", limit)
        self.fail("it takes more than 40")

    @unittest.skipIf(harness.is_root(), "of root no processes are counted")
    def test_a_limit_of_processes_is_told_as_that(self):
        done = self.raw("-c", "true", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (1, 1)))
        answer = json.loads(done.stdout)
        self.assertIn("(ulimit -u)", answer["error"]["hint"], answer)

    def test_a_host_without_dev_null_is_told_as_that(self):
        answer = self.after_mounts("mount -t tmpfs none /dev")
        self.assert_error(answer, "setup_failed")
        self.assertIn("open(/dev/null): ENOENT", answer["error"]["message"])

    def test_state_made_under_any_umask_can_be_entered_again(self):
        env = {**os.environ, "XDG_STATE_HOME": self.base + "/state", "HOME": self.base}
        log = self.base + "/log"
        for mask in (0o777, 0o022):
            answer = self.sh("echo x >> f; cat f", "--layer", "a", "--audit", log, env=env,
                             preexec_fn=lambda mask=mask: os.umask(mask))
            self.assertEqual((answer["status"], answer["error"]), ("exited", None), answer)
        self.assertEqual(answer["stdout"], "x\nx\n")
        with open(log) as lines:
            self.assertEqual(len(lines.readlines()), 2)
        self.assertEqual(os.stat(log).st_mode & 0o777, 0o600)

    def test_sigchld_ignored_by_the_caller_loses_no_status(self):
        done = self.raw(
            "-c", "exit 9", preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        )
        self.assertEqual(done.returncode, 9)

    def test_home_may_be_missing_unset_or_relative(self):
        for home in (None, "", "/nonexistent/home", "relative"):
            with self.subTest(home=home):
                environment = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_RUNTIME_DIR")}
                if home is not None:
                    environment["HOME"] = home
                answer = self.sh('cd "$HOME" && touch x && echo ok', env=environment)
                self.assertEqual(answer["stdout"], "ok\n", answer)

    def test_tmp_of_the_host_need_not_be_writable(self):
        # TMPDIR of the caller has no say, and nothing is written to the host's /tmp.
        environment = {**os.environ, "TMPDIR": "/nonexistent"}
        answer = self.sh('echo x > "$TMPDIR/y" && cat /tmp/y', env=environment)
        self.assertEqual(answer["stdout"], "x\n", answer)

    def test_a_read_only_tmp_of_the_host_is_fine(self):
        mounts = "mount --bind /tmp /tmp && mount -o remount,bind,ro /tmp"
        wrapper = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
        possible = subprocess.run([*wrapper, mounts], capture_output=True, check=False)
        if possible.returncode != 0:
            self.skipTest(f"no user namespace for the test itself: {possible.stderr!r}")
        script = mounts + '; ! touch /tmp/x 2>/dev/null && cd / && exec "$@"'
        done = subprocess.run(
            [*wrapper, script, "sh", harness.SBX_RUN, "--workspace", "/usr", "--cwd", "/usr",
             "-c", "echo ok > /tmp/x && cat /tmp/x"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=harness.BOUND,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(json.loads(done.stdout)["stdout"], "ok\n")

    def test_descriptors_of_the_caller_stay_outside(self):
        secret = self.write("secret", "x")
        fd = os.open(secret, os.O_RDONLY)
        os.set_inheritable(fd, True)
        self.addCleanup(os.close, fd)
        for verb in ([], ["exec"]):
            done = self.raw(*verb, "-c", "ls /proc/self/fd | tr '\\n' ' '", pass_fds=(fd,))
            text = json.loads(done.stdout)["stdout"] if not verb else done.stdout.decode()
            self.assertEqual(text.split(), ["0", "1", "2", "3"])  # 3: ls's own


class Inside(harness.Case):
    """PID 1 of the sandbox, and what a command sees of its terminal."""

    def test_pid_1_can_be_neither_read_nor_traced(self):
        program = (
            "import ctypes,os\n"
            "for name in ('mem', 'exe', 'environ', 'maps', 'auxv', 'io', 'syscall', 'stack',"
            " 'cwd/', 'root/', 'map_files', 'ns/mnt') + tuple(f'fd/{n}' for n in range(16)):\n"
            "    try:\n"
            "        fd = os.open(f'/proc/1/{name}', os.O_RDONLY)\n"
            "        print('opened', name, os.listdir(fd) if name[-1] in '/s' and os.path.isdir("
            "f'/proc/1/{name}') else os.read(fd, 1))\n"
            "    except OSError: pass\n"
            "for name in ('exe', 'cwd', 'root', 'ns/mnt'):\n"
            "    try: os.readlink(f'/proc/1/{name}'); print('read', name)\n"
            "    except OSError: pass\n"
            "libc = ctypes.CDLL(None, use_errno=True)\n"
            "if libc.ptrace(16, 1, 0, 0) == 0: print('attached')\n"
            "if libc.ptrace(0x4206, 1, 0, 0) == 0: print('seized')\n"
            "print('end')\n"
        )
        self.write("work/p.py", program)
        self.assertEqual(self.out(f"{PYTHON} p.py"), "end\n")

    def test_signals_from_inside_do_not_end_pid_1(self):
        self.assertEqual(
            self.out("for i in $(seq 1 64); do kill -$i 1 2>/dev/null; done; sleep 0.2; echo alive"),
            "alive\n",
        )

    def test_pid_1_reaps_orphans(self):
        program = (
            "import os,time\n"
            "for i in range(300):\n"
            "    p = os.fork()\n"
            "    if p == 0:\n"
            "        if os.fork() == 0: os._exit(0)\n"
            "        os._exit(0)\n"
            "    os.waitpid(p, 0)\n"
            "end = time.monotonic() + 20\n"
            "def left():  # still running, or not reaped\n"
            "    n = 0\n"
            "    for d in os.listdir('/proc'):\n"
            "        n += d.isdigit() and int(d) not in (1, os.getpid(), os.getppid())\n"
            "    return n\n"
            "while left() and time.monotonic() < end: time.sleep(0.02)\n"
            "print(left())\n"
        )
        self.write("work/z.py", program)
        self.assertEqual(self.out(f"{PYTHON} z.py"), "0\n")

    def test_no_process_of_the_host_shows(self):
        pids = self.out("ls /proc | grep -E '^[0-9]+$'").split()
        self.assertLess(max(int(pid) for pid in pids), 64)
        self.assertEqual(self.out(f"kill -0 {os.getpid()} 2>&1 || echo none").splitlines()[-1], "none")

    # E11
    def test_prompts_and_editors_get_no_terminal_and_end_at_once(self):
        program = (
            "import errno,os\n"
            "try: os.open('/dev/tty', os.O_RDWR)\n"
            "except OSError as error: print(errno.errorcode[error.errno])\n"
            "print(os.getsid(0) != 1, os.isatty(0), open('/proc/self/stat').read().split()[6])\n"
        )
        self.write("work/t.py", program)
        self.assertEqual(self.out(f"{PYTHON} t.py"), "ENXIO\nTrue False 0\n")
        began = time.monotonic()
        self.assertEqual(self.out("read -p 'Continue? ' x; echo $?"), "1\n")
        self.assertEqual(self.out("bash -c 'read -s -p Password: x </dev/tty' 2>/dev/null; echo $?"), "1\n")
        self.assertEqual(self.out("$EDITOR file; echo $?"), "1\n")
        self.assertLess(time.monotonic() - began, 20)

    def test_git_takes_the_commands_editor_before_none_and_the_callers_before_that(self):
        for line in ("init -q .", "config user.name a", "config user.email a@b.example",
                     "commit -q --allow-empty -m first"):
            subprocess.run(["git", *line.split()], cwd=self.work, check=True)
        amend, env = "git commit -q --allow-empty --amend", {**os.environ, "HOME": self.base}
        # None, and no one's terminal: also where the repository names one, which would wait for it.
        for command in (amend, f"git -c core.editor='sleep 60' {amend[4:]}"):
            answer = self.sh(command, env=env)
            self.assertEqual(answer["exit_code"], 1, answer)
            self.assertIn("problem with the editor", answer["stderr"])
        for word, said in (("EDITOR=true", "first"), ("GIT_EDITOR=true", "first"),
                           ("""EDITOR="sed -i 's/^first$/two words/'" """, "two words"),
                           ("""VISUAL="sed -i s/two/2/" EDITOR=false""", "2 words")):
            self.assertEqual(self.out(f"{word} {amend} && git log --format=%s", env=env), said + "\n", word)
        editor = "sed -i s/words/said/"
        self.assertEqual(self.out(f"{amend} && git log --format=%s; git var GIT_EDITOR",
                                  env={**env, "EDITOR": editor}), f"2 said\n{editor}\n")
        self.assertEqual(self.out("git var GIT_EDITOR; git var GIT_PAGER; echo ${VISUAL-}${GIT_EDITOR-}${GIT_PAGER-}",
                                  "--pass-env", "EDITOR", "--env", "PAGER=more", "--scrub", "strict",
                                  env={**env, "EDITOR": editor}), f"{editor}\nmore\n\n")
        done = self.raw("exec", "--env", "EDITOR=true", "-c", amend, env=env)
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_a_command_started_from_a_terminal_has_no_terminal(self):
        # The caller's terminal is never the controlling one inside.
        master, slave = os.openpty()
        self.addCleanup(os.close, master)
        script = (
            "import fcntl,os,sys,termios\nos.setsid()\nfcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
            "os.execv(sys.argv[1], sys.argv[1:])\n"
        )
        done = subprocess.run(
            [
                PYTHON, "-c", script, harness.SBX_RUN, "--stdin", "-", "-c",
                "(: </dev/tty) 2>/dev/null && echo opened; cut -d' ' -f7 /proc/self/stat",
            ],
            cwd=self.work,
            stdin=slave,
            stdout=subprocess.PIPE,
            timeout=harness.BOUND,
            check=True,
        )
        os.close(slave)
        self.assertEqual(json.loads(done.stdout)["stdout"], "0\n")


if __name__ == "__main__":
    unittest.main()
