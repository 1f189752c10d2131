# SPDX-License-Identifier: Apache-2.0
"""exec: transparent like env(1) on pipes, and a terminal of its own where the caller has one."""

import fcntl
import json
import os
import re
import select
import shutil
import signal
import struct
import socket
import subprocess
import termios
import time
import unittest

import harness

PYTHON = "/usr/bin/python3"


class Transparent(harness.Case):
    """Stdin, stdout, stderr and the exit status are the command's; the result goes only
    where it was asked to go."""

    def exec(self, *arguments, **options):
        return self.raw("exec", *arguments, **options)

    def test_the_three_streams_and_the_status_are_the_commands(self):
        done = self.exec("-c", "cat; echo err >&2; exit 5", stdin=None, input=b"in\n\0\xff")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (5, b"in\n\0\xff", b"err\n"))

    def test_a_signal_gives_128_plus_its_number(self):
        self.assertEqual(self.exec("-c", "kill -KILL $$").returncode, 137)

    def test_its_own_statuses_are_like_those_of_env(self):
        done = self.exec("--", "no-such-program-at-all")
        self.assertEqual((done.returncode, done.stdout), (127, b""))
        self.assertTrue(done.stderr.startswith(b"sbx-run: not_found: "))
        self.assertEqual(done.stderr.count(b"\n"), 1)
        self.write("work/plain", "text")
        self.assertEqual(self.exec("--", "./plain").returncode, 126)
        self.assertEqual(self.exec("--timeout", "200ms", "--", "sleep", "60").returncode, 124)
        self.assertEqual(self.exec("--nonsense", "--", "true").returncode, 125)

    def test_a_program_that_is_not_shown_comes_with_what_shows_it(self):
        tool = os.path.dirname(self.write("there/oddtool", "#!/bin/sh\n", 0o755))
        done = self.exec("--", "oddtool", env={**os.environ, "PATH": tool + ":" + os.environ["PATH"]})
        self.assertEqual(done.returncode, 127)
        self.assertIn(f"allow it with --ro {tool}".encode(), done.stderr)

    def test_arguments_arrive_as_they_are(self):
        done = self.exec("--", "printf", "%s|", "a b", "$HOME", "--", "-c", "", "ä\n")
        self.assertEqual(done.stdout.decode(), "a b|$HOME|--|-c||ä\n|")

    def test_output_of_a_hundred_megabytes_is_whole(self):
        process = subprocess.Popen(
            [harness.SBX_RUN, "exec", "--", "head", "-c", "100M", "/dev/zero"],
            cwd=self.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        )
        count = 0
        with process.stdout as stream:
            while part := stream.read(1 << 20):
                count += len(part)
        self.assertEqual((process.wait(harness.BOUND), count), (0, 100 << 20))

    def test_the_result_goes_to_a_file_or_a_descriptor_only(self):
        path = os.path.join(self.base, "result.json")
        done = self.exec("--result-file", path, "-c", "echo out; exit 3")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (3, b"out\n", b""))
        with open(path) as file:
            answer = json.load(file)
        self.assertEqual((answer["status"], answer["exit_code"]), ("exited", 3))
        read, write = os.pipe()
        done = self.exec("--result-fd", str(write), "-c", "ls -l /proc/self/fd | wc -l", pass_fds=(write,))
        os.close(write)
        with os.fdopen(read) as file:
            self.assertEqual(json.load(file)["exit_code"], 0)
        self.assertEqual(done.stdout, b"5\n")  # total, 0, 1, 2 and ls's own: not the result's

    def test_an_error_is_in_the_result_too(self):
        path = os.path.join(self.base, "result.json")
        self.exec("--result-file", path, "--", "no-such-program-at-all")
        with open(path) as file:
            self.assert_error(json.load(file), "not_found")

    def test_a_result_file_that_cannot_be_written_is_an_error_before_the_start(self):
        fifo = os.path.join(self.base, "fifo")
        os.mkfifo(fifo)
        target = self.write("target", "precious")
        link = os.path.join(self.base, "link")
        os.symlink(target, link)
        dangling = os.path.join(self.base, "dangling")
        os.symlink(os.path.join(self.base, "new"), dangling)
        for path in (fifo, link, dangling, self.base, "/nonexistent/x", "/dev/null", "/dev/full"):
            with self.subTest(path=path):
                done = self.exec("--result-file", path, "-c", "touch ran")
                self.assertEqual((done.returncode, done.stdout), (125, b""))
                self.assertIn(b"output_unwritable", done.stderr)
                self.assertFalse(os.path.exists(os.path.join(self.work, "ran")))
        with open(target) as file:
            self.assertEqual(file.read(), "precious")
        self.assertFalse(os.path.exists(os.path.join(self.base, "new")))

    def test_a_bad_flag_is_answered_where_an_older_answer_lies(self):
        path = os.path.join(self.base, "result.json")
        for words in (["--result-file", path, "--bogus"], ["--pids", "1", "--pids", "2", "--result-file=" + path],
                      ["--bogus", "--result-file", path], ["--result-file", path, "--memory"]):
            with self.subTest(words=words):
                self.assertEqual(self.exec("--result-file", path, "-c", "exit 9").returncode, 9)
                self.assertEqual(self.exec(*words, "-c", "touch ran").returncode, 125)
                with open(path) as file:
                    self.assert_error(json.load(file), "bad_flag")
        read, write = os.pipe()
        self.addCleanup(os.close, read)
        self.exec("--bogus", "--result-fd", str(write), "-c", "touch ran", pass_fds=(write,))
        os.close(write)
        self.assert_error(json.loads(os.read(read, 65536)), "bad_flag")
        self.exec("--bogus", "--", "true", "--result-file", self.base + "/no")
        self.assertEqual((os.listdir(self.work), os.path.exists(self.base + "/no")), ([], False))

    def test_a_result_descriptor_must_be_open_for_writing(self):
        reading = os.open("/dev/null", os.O_RDONLY)
        self.addCleanup(os.close, reading)
        for number in ("99", "x", "-1", str(reading)):
            with self.subTest(number=number):
                done = self.exec("--result-fd", number, "-c", "touch ran", pass_fds=(reading,))
                self.assertEqual((done.returncode, done.stdout), (125, b""))
                self.assertIn(b"--result-fd", done.stderr)
                self.assertFalse(os.path.exists(os.path.join(self.work, "ran")))

    def test_a_directory_as_standard_descriptor_is_refused(self):
        fd = os.open("/", os.O_RDONLY)
        self.addCleanup(os.close, fd)
        done = self.exec("-c", "touch ran", stdin=fd)
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"bad_descriptor", done.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.work, "ran")))

    def test_a_socket_of_the_hosts_network_as_standard_descriptor_is_refused(self):
        """Disconnected, it would reach the host's loopback. A Unix stream is as good as a pipe."""
        listener = socket.create_server(("127.0.0.1", 0))
        client = socket.create_connection(listener.getsockname())
        accepted, ours = listener.accept()[0], socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for handed in (accepted, datagrams, ours[0], listener):
            for arguments in (("exec", "-c", "touch ran"), ("--stdin", "-", "-c", "touch ran")):
                done = subprocess.run([harness.SBX_RUN, *arguments], cwd=self.work, stdin=handed, capture_output=True,
                                      timeout=harness.BOUND, check=False)
                self.assertEqual(done.returncode, 125, done)
                self.assertIn(b"bad_descriptor", done.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.work, "ran")))
        self.assertEqual(self.exec("--net", "open", "-c", "true", stdin=accepted).returncode, 0)
        theirs, stream = socket.socketpair()
        theirs.sendall(b"said")
        theirs.close()
        self.assertEqual(self.exec("-c", "cat", stdin=stream).stdout, b"said")
        for end in (listener, client, accepted, datagrams, stream, *ours):
            end.close()

    def test_term_ends_the_tree(self):
        path = os.path.join(self.base, "result.json")
        process = subprocess.Popen(
            [harness.SBX_RUN, "exec", "--result-file", path, "-c", "echo up; sleep 600 & wait"],
            cwd=self.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        )
        with process.stdout as stream:
            self.assertEqual(stream.readline(), b"up\n")
            process.terminate()
            self.assertEqual(stream.read(), b"")  # nobody holds it any more
        self.assertEqual(process.wait(harness.BOUND), 143)
        with open(path) as file:
            self.assertEqual(json.load(file)["status"], "cancelled")

    def test_one_terminal_among_pipes_is_passed_as_it_is(self):
        master, slave = os.openpty()
        self.addCleanup(os.close, master)
        done = self.exec(
            "-c", "test -t 0 || echo in; test -t 1 || echo out; test -t 2 && echo err;"
            " (: </dev/tty) 2>/dev/null || echo none",
            stdout=subprocess.PIPE, stderr=slave,
        )
        os.close(slave)
        self.assertEqual(done.stdout, b"in\nout\nerr\nnone\n")


class Screen:
    """A terminal with sbx-run exec on its slave, driven from its master."""

    def __init__(self, case, *arguments, rows=30, columns=90, shell=None):
        self.case = case
        self.text = b""
        self.pid, self.master = os.forkpty()
        if self.pid == 0:
            try:
                os.chdir(case.work)
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
                program = shell or [harness.SBX_RUN, "exec", *arguments]
                os.execv(program[0], program)
            finally:
                os._exit(99)
        self.status = None
        case.addCleanup(self.close)

    def close(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.master)

    def pump(self, seconds):
        if not select.select([self.master], [], [], seconds)[0]:
            return True
        try:
            part = os.read(self.master, 65536)
        except OSError:  # EIO: nobody has the slave open
            return False
        self.text += part
        return bool(part)

    def expect(self, pattern, seconds=30):
        """Waits for the pattern, and takes everything up to its end off the text."""
        end = time.monotonic() + seconds
        while True:
            match = re.search(pattern, self.text)
            if match:
                self.text = self.text[match.end():]
                return match
            if time.monotonic() > end or not self.pump(1):
                self.case.fail(f"{pattern!r} is not in {self.text[-2000:]!r}")

    def type(self, text):
        os.write(self.master, text.encode())

    def wait(self, seconds=30):
        """The exit status, once everything that was written has been read."""
        end = time.monotonic() + seconds
        while self.pump(0.1) and time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
                while select.select([self.master], [], [], 0)[0] and self.pump(0):
                    pass
                return self.status
        pid, status = os.waitpid(self.pid, 0 if time.monotonic() < end else os.WNOHANG)
        self.case.assertTrue(pid, f"it does not end: {self.text[-2000:]!r}")
        self.status = os.waitstatus_to_exitcode(status)
        return self.status

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


class Terminal(harness.Case):
    """Where all three descriptors are the caller's terminal, the command gets a pty of
    its own, with job control, window size and signals; the caller's is never the controlling one."""

    def bash(self, *flags):
        screen = Screen(self, *flags, "--", "bash", "--norc", "--noprofile", "-i")
        screen.type("PS1='ready''> '\r")
        screen.expect(rb"ready> ")
        return screen

    def test_the_terminal_inside_is_its_own_and_has_the_window_size(self):
        screen = Screen(self, "-c", "tty; stty size; ls /dev/pts | tr '\\n' ' '; echo; exec true </dev/tty")
        self.assertEqual(screen.wait(), 0)
        self.assertEqual(
            screen.text.replace(b"\r", b"").splitlines(), [b"/dev/pts/0", b"30 90", b"0 ptmx "]
        )

    def test_programs_may_ask_on_a_terminal_and_nowhere_else(self):
        command = "echo \"<${CI-} ${EDITOR-} ${PAGER-} ${NO_COLOR-}>\""
        screen = Screen(self, "-c", command)
        self.assertEqual(screen.wait(), 0)
        self.assertIn(b"<   >", screen.text)
        screen = Screen(self, "--env", "CI=2", "--env", "PAGER=p", "-c", command)
        self.assertEqual(screen.wait(), 0)
        self.assertIn(b"<2  p >", screen.text)
        self.assertEqual(self.raw("exec", "-c", command).stdout, b"<1 false cat 1>\n")

    def test_a_new_window_size_arrives_with_sigwinch(self):
        screen = Screen(
            self, "-c", "trap 'stty size; exit 6' WINCH; echo up; while :; do sleep 0.05; done"
        )
        screen.expect(rb"up")
        screen.resize(41, 123)
        screen.expect(rb"41 123")
        self.assertEqual(screen.wait(), 6)

    def test_control_c_interrupts_the_program_inside_and_not_sbx_run(self):
        screen = self.bash()
        screen.type("sh -c 'echo he''re; exec sleep 600'\r")
        screen.expect(rb"here\r\n")
        screen.type("\x03")
        screen.expect(rb"ready> ")
        screen.type("echo status=$?; exit 7\r")
        screen.expect(rb"status=130")
        self.assertEqual(screen.wait(), 7)

    def test_control_z_at_a_program_stops_sbx_run_and_fg_goes_on(self):
        screen = self.outer_shell()
        screen.type(f"{harness.SBX_RUN} exec -c 'printf \"\\033[?1049h\"; echo he\"\"re; exec cat'\r")
        screen.expect(rb"\x1b\[\?1049hhere\r\n")
        screen.type("\x1a")
        screen.expect(rb"\x1b\[\?1049l\r\n\[1\]\+  Stopped")
        screen.expect(rb"outside> ")
        screen.type("stty -g | cmp - before && echo sa''me\r")
        screen.expect(rb"same\r\n")
        screen.type("fg\r")
        screen.expect(rb"exec cat'\r\n\x1b\[\?1049h")
        screen.type("again\r")
        screen.expect(rb"again\r\nagain\r\n")
        screen.type("\x04")
        screen.expect(rb"\x1b\[\?1049l(?s:.*)outside> ")
        screen.type("exit\r")
        self.assertEqual(screen.wait(), 0)

    def outer_shell(self):
        """A shell with job control that runs sbx-run."""
        screen = Screen(self, shell=["/bin/bash", "--norc", "--noprofile", "-i"])
        screen.type("export TERM=xterm-256color PS1='outs''ide> '; stty -g >before\r")
        screen.expect(rb"outside> ")
        return screen

    def left(self, screen):
        """After a stop or an end: the outer shell's terminal is as it was."""
        screen.expect(rb"outside> ")
        screen.type("stty -g | cmp - before && echo sa''me\r")
        screen.expect(rb"same\r\n(?s:.*)outside> ")

    def test_an_editor_is_stopped_and_goes_on(self):
        if shutil.which("vim.tiny") is None:
            self.skipTest("vim.tiny is not installed")
        screen = self.outer_shell()
        screen.type(f"{harness.SBX_RUN} exec -- vim.tiny -u NONE -N file.txt\r")
        screen.expect(rb"\x1b\[\?1049h(?s:.*)~")
        screen.type("ifirst\x1b")
        for line in ("second", "third"):
            screen.type("\x1a")
            screen.expect(rb"\x1b\[\?1049l(?s:.*)\[1\]\+  Stopped")
            self.left(screen)
            screen.type("fg\r")
            screen.expect(rb"\x1b\[\?1049h(?s:.*)first")
            screen.type(f"o{line}\x1b")
        screen.type(":wq\r")
        self.left(screen)
        with open(self.work + "/file.txt") as file:
            self.assertEqual(file.read(), "first\nsecond\nthird\n")
        screen.type("exit\r")
        self.assertEqual(screen.wait(), 0)

    def test_a_program_that_stops_itself_in_raw_mode_goes_on(self):
        self.write("work/raw.py", (
            "import os, signal, sys, termios, tty\n"
            "before = termios.tcgetattr(0)\n"
            "tty.setraw(0)\n"
            "os.write(1, b'up')\n"
            "while (got := os.read(0, 1)) != b'q':\n"
            "    if got == b'\\x1a':\n"
            "        termios.tcsetattr(0, termios.TCSADRAIN, before)\n"
            "        os.kill(0, signal.SIGTSTP)\n"
            "        tty.setraw(0)\n"
            "        os.write(1, b'again')\n"))
        screen = self.outer_shell()
        screen.type(f"{harness.SBX_RUN} exec -c '{PYTHON} raw.py; echo st''atus=$?'\r")
        for said in (rb"up", rb"again"):
            screen.expect(said)
            screen.type("\x1a")
            screen.expect(rb"\[1\]\+  Stopped")
            self.left(screen)
            screen.type("fg\r")
        screen.expect(rb"again")
        screen.type("q")
        screen.expect(rb"status=0(?s:.*)outside> ")
        screen.type("exit\r")
        self.assertEqual(screen.wait(), 0)

    def test_nothing_runs_inside_while_sbx_run_is_stopped(self):
        # By its command: its time and memory would not be watched.
        screen = self.outer_shell()
        screen.type(f"{harness.SBX_RUN} exec -c 'setsid sh -c \"while :; do echo >>ticks; done\" & "
                    "until [ -s ticks ]; do sleep 0.01; done; kill -STOP $$; echo st''ill here'\r")
        screen.expect(rb"\[1\]\+  Stopped")
        self.left(screen)
        ticks = self.work + "/ticks"

        def is_still():
            before = os.path.getsize(ticks)
            time.sleep(0.2)
            return os.path.getsize(ticks) == before

        self.assertTrue(harness.until(is_still))
        before = os.path.getsize(ticks)
        screen.type("fg\r")
        screen.expect(rb"still here\r\n(?s:.*)outside> ")
        self.assertGreaterEqual(os.path.getsize(ticks), before)
        screen.type("exit\r")
        self.assertEqual(screen.wait(), 0)

    def test_what_is_stopped_ends_with_its_terminal(self):
        screen = self.outer_shell()
        screen.type(f"{harness.SBX_RUN} exec -c 'echo u''p $$; exec sleep 600'\r")
        screen.expect(rb"up \d+\r\n")
        screen.type("\x1a")
        screen.expect(rb"Stopped")
        screen.expect(rb"outside> ")
        screen.type("jobs -p; echo\r")
        pid = int(screen.expect(rb"[\r\n](\d+)\r\n").group(1))
        self.assertEqual(os.readlink(f"/proc/{pid}/exe"), os.path.realpath(harness.SBX_RUN))
        screen.close()
        screen.status, screen.master = -signal.SIGKILL, os.open("/dev/null", os.O_RDONLY)
        self.assertTrue(harness.until(lambda: not os.path.exists(f"/proc/{pid}")))

    def test_a_shell_inside_keeps_what_it_stops(self):
        screen = self.outer_shell()
        screen.type(f"{harness.SBX_RUN} exec -- bash --norc --noprofile -i\r")
        screen.type("PS1='ins''ide> '\r")
        screen.expect(rb"inside> ")
        screen.type("sh -c 'echo he''re; exec sleep 600'\r")
        screen.expect(rb"here\r\n")
        screen.type("\x1a")
        screen.expect(rb"Stopped(?s:.*)inside> ")
        screen.type("suspend\r")  # the shell itself
        screen.expect(rb"\[1\]\+  Stopped")
        self.left(screen)
        screen.type("fg\r")
        screen.expect(rb"inside> ")
        screen.type("kill -KILL %1; exit 6; exit 6\r")  # with a job that is stopped it has to be said twice
        screen.expect(rb"outside> ")
        screen.type("echo =$?\r")
        screen.expect(rb"=6\r\n(?s:.*)outside> ")
        screen.type("exit\r")
        self.assertEqual(screen.wait(), 0)

    def test_control_z_where_nobody_could_go_on_changes_nothing(self):
        screen = Screen(self, "-c", "echo here; exec cat")
        screen.expect(rb"here\r\n")
        screen.type("\x1a")
        screen.type("again\r")
        screen.expect(rb"again\r\nagain\r\n")
        screen.type("\x04")
        self.assertEqual(screen.wait(), 0)

    def test_the_screen_is_left_as_it_was(self):
        screen = Screen(self, "--timeout", "1s", "-c",
                        r"printf '\033[?1049h\033[?25l\033[?1000h\033[31mx'; sleep 60")
        self.assertEqual(screen.wait(), 124)
        self.assertTrue(screen.text.endswith(b"; --timeout TIME gives it more, --timeout none all it "
                                             b"takes\r\n"), screen.text)
        self.assertIn(b"\x1b[31mx\x1b[0m\x1b[?25h\x1b[?1000l\x1b[?1049l\r\nsbx-run: timed_out: timed out",
                      screen.text)

    def test_control_z_stops_and_fg_goes_on(self):
        screen = self.bash()
        screen.type("sh -c 'echo he''re; exec cat'\r")
        screen.expect(rb"here\r\n")  # before, the line would go through readline
        screen.type("first\r")
        screen.expect(rb"first\r\nfirst\r\n")
        screen.type("\x1a")
        screen.expect(rb"Stopped")
        screen.expect(rb"ready> ")
        screen.type("jobs; fg\r")
        screen.expect(rb"Stopped.*\n(?s:.*)exec cat'\r\n")
        screen.type("again\r")
        screen.expect(rb"again\r\nagain\r\n")
        screen.type("\x04")
        screen.expect(rb"ready> ")
        screen.type("exit\r")
        self.assertEqual(screen.wait(), 0)

    def test_control_d_ends_the_input(self):
        screen = Screen(self, "-c", "cat; echo over")
        screen.type("line\r")
        screen.expect(rb"line\r\nline\r\n")
        screen.type("\x04")
        screen.expect(rb"over")
        self.assertEqual(screen.wait(), 0)

    def test_a_python_prompt_works(self):
        screen = Screen(self, "--", PYTHON, "-q")
        screen.expect(rb">>> ")
        screen.type("6 * 7\r")
        screen.expect(rb"42\r\n")
        screen.type("exit(4)\r")
        self.assertEqual(screen.wait(), 4)

    def test_a_program_in_raw_mode_gets_each_byte(self):
        program = (
            "import os,tty,termios\n"
            "old = termios.tcgetattr(0)\n"
            "tty.setraw(0)\n"
            "os.write(1, b'raw')\n"
            "got = b''\n"
            "while len(got) < 4: got += os.read(0, 1)\n"
            "termios.tcsetattr(0, termios.TCSANOW, old)\n"
            "print(got)\n"
        )
        self.write("work/raw.py", program)
        screen = Screen(self, "--", PYTHON, "raw.py")
        screen.expect(rb"raw")
        screen.type("\x03q\r\x1b")
        screen.expect(re.escape(rb"b'\x03q\r\x1b'"))
        self.assertEqual(screen.wait(), 0)

    def test_large_output_is_complete(self):
        screen = Screen(self, "--", "seq", "200000")
        self.assertEqual(screen.wait(60), 0)
        lines = screen.text.replace(b"\r", b"").split()
        self.assertEqual((len(lines), lines[0], lines[-1]), (200000, b"1", b"200000"))

    def settings(self, *command, after, stdout=None):
        """Terminal settings before and after; `after` acts on the running sbx-run."""
        master, slave = os.openpty()
        self.addCleanup(os.close, master)
        self.addCleanup(os.close, slave)
        before = termios.tcgetattr(slave)
        script = (
            "import fcntl,os,sys,termios\nos.setsid()\nfcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
            "os.execv(sys.argv[1], sys.argv[1:])\n"
        )
        process = subprocess.Popen(
            [PYTHON, "-c", script, harness.SBX_RUN, "exec", *command],
            cwd=self.work, stdin=slave, stdout=stdout or slave, stderr=slave,
        )
        try:
            text = b""
            while b"up" not in text:
                self.assertTrue(select.select([master], [], [], 30)[0], text)
                text += os.read(master, 4096)
            self.assertFalse(termios.tcgetattr(slave)[3] & termios.ICANON)  # raw meanwhile
            after(process)
            status = process.wait(harness.BOUND)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        self.assertEqual(termios.tcgetattr(slave), before)
        return status

    def test_settings_come_back_where_stdout_is_no_terminal(self):
        status = self.settings("-c", "stty raw -echo; echo up >&2; sleep 0.5; exit 3",
                               after=lambda process: None, stdout=subprocess.DEVNULL)
        self.assertEqual(status, 3)

    def test_the_terminals_settings_come_back(self):
        self.assertEqual(
            self.settings("-c", "stty -echo raw; echo up; sleep 0.3", after=lambda p: None), 0
        )
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            with self.subTest(signal=number):
                status = self.settings("-c", "echo up; sleep 600", after=lambda p: p.send_signal(number))
                self.assertEqual(status, 128 + number)
        self.assertEqual(
            self.settings("--timeout", "1s", "-c", "echo up; sleep 600", after=lambda p: None), 124
        )

    def test_input_cannot_be_pushed_into_a_terminal(self):
        program = (
            "import errno,fcntl,termios\n"
            "for request in (termios.TIOCSTI, termios.TIOCSTI | 1 << 32, 0x541c):\n"
            "    for name in ('/dev/tty', '/dev/stdin'):\n"
            "        try:\n"
            "            with open(name) as tty: fcntl.ioctl(tty, request, b'x'); print('pushed')\n"
            "        except OSError as error: print(errno.errorcode[error.errno])\n"
            "        except OverflowError: print('EPERM')\n"
        )
        self.write("work/push.py", program)
        screen = Screen(self, "--", PYTHON, "push.py")
        self.assertEqual(screen.wait(), 0)
        self.assertEqual(screen.text.split(), [b"EPERM"] * 6)

    def test_a_reader_that_stops_reading_does_not_stop_the_time_limit(self):
        screen = Screen(self, "--timeout", "1s", "--", "yes")
        end = time.monotonic() + 20
        pid = 0
        while not pid and time.monotonic() < end:
            time.sleep(0.05)
            pid, status = os.waitpid(screen.pid, os.WNOHANG)
        self.assertTrue(pid, "sbx-run waits for the terminal")
        screen.status = os.waitstatus_to_exitcode(status)
        self.assertEqual(screen.status, 124)

    def test_a_terminal_that_goes_away_ends_the_command(self):
        screen = Screen(self, "-c", "echo up; sleep 600")
        screen.expect(rb"up")
        os.close(screen.master)
        screen.master = os.open("/dev/null", os.O_RDONLY)
        end = time.monotonic() + 20
        pid = 0
        while not pid and time.monotonic() < end:
            time.sleep(0.02)
            pid, status = os.waitpid(screen.pid, os.WNOHANG)
        self.assertTrue(pid)
        screen.status = os.waitstatus_to_exitcode(status)
        self.assertEqual(screen.status, 128 + signal.SIGHUP)


if __name__ == "__main__":
    unittest.main()
