# SPDX-License-Identifier: Apache-2.0
"""What a person sees of `run`: the command's output as it comes, then an account on stderr; and the
one line of `exec`. On pipes and on a terminal."""

import fcntl
import hashlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import time
import unittest

import harness
import session_harness

MARK = "¶ ".encode()
UNSHARE = ("unshare a namespace, which no command of root's may make" if harness.is_root()
           else 'unshare; allow it with seccomp.allow += ["unshare"] in the profile')
ENVIRONMENT = {**{name: value for name, value in os.environ.items() if name != "NO_COLOR"},
               "TERM": "xterm-256color"}


class Terminal:
    """A process on a terminal of its own; what it wrote so far is in `output`."""

    def __init__(self, arguments, cwd, env):
        self.output = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                os.chdir(cwd)
                os.execve(arguments[0], arguments, env)
            finally:
                os._exit(99)

    def read_some(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            part = os.read(self.fd, 65536)
        except OSError:
            part = b""
        self.output += part
        return bool(part)

    def has_ended(self):
        """After a read, or a second without anything to read."""
        return bool(select.select([self.fd], [], [], 1.0)[0]) and not self.read_some(0)

    def until(self, text):
        end = time.monotonic() + harness.BOUND
        while text not in self.output and time.monotonic() < end:
            if self.has_ended():
                break
        return text in self.output

    def finish(self):
        """The exit status."""
        end = time.monotonic() + harness.BOUND
        while time.monotonic() < end and not self.has_ended():
            pass
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


class OnATerminal(harness.Case):
    def start(self, *arguments, **variables):
        return Terminal([harness.SBX_RUN, *arguments], self.work, {**ENVIRONMENT, **variables})

    def seen(self, *arguments, status=0, **variables):
        terminal = self.start(*arguments, **variables)
        self.assertEqual(terminal.finish(), status, terminal.output)
        return terminal.output.replace(b"\r\n", b"\n")

    def account(self, seen):
        return [line[len(MARK):].decode() for line in seen.split(b"\n") if line.startswith(MARK)]

    def test_output_comes_as_it_is_written_and_an_account_below_it(self):
        terminal = self.start("-c", "echo first; read line; echo second")
        terminal.finish()
        terminal = self.start("-c", "echo first; sleep 1; printf second; exit 3")
        self.assertTrue(terminal.until(b"first\r\n"))
        self.assertNotIn(b"second", terminal.output)
        self.assertEqual(terminal.finish(), 3)
        seen = terminal.output.replace(b"\r\n", b"\n")
        self.assertRegex(seen, rb"^first\nsecond\n\xc2\xb6 \x1b\[1;31msbx-run\x1b\[0m: exited with 3 "
                               rb"after 1\.\d s\n")
        self.assertNotIn(b'{"', seen)

    def test_lines_that_have_not_ended_come_too_and_secrets_in_them_do_not(self):
        secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
        terminal = self.start("-c", "printf 'working...'; sleep 1; printf ' more' >&2; sleep 1; printf '\\r50%%'; sleep 1; "
                                    f"printf 'token {secret}'; sleep 1; echo; echo done")
        for shown, later in ((b"working...", b"more"), (b" more", b"50%"), (b"\r50%", b"token"),
                             (b"token [REDACTED]", b"done")):
            self.assertTrue(terminal.until(shown), terminal.output)
            self.assertNotIn(later, terminal.output)
        self.assertEqual(terminal.finish(), 0)
        self.assertNotIn(secret.encode(), terminal.output)

    def test_the_account_begins_on_a_fresh_line_after_an_unfinished_character(self):
        for where in ("", " >&2"):
            seen = self.seen("-c", rf"printf 'a\n\302'{where}")
            self.assertTrue(seen.startswith("a\n\ufffd\n".encode() + MARK), seen)
        # No empty line where one was finished.
        self.assertTrue(self.seen("-c", r"printf 'a\033[1mb\n'").startswith(
            b"a\x1b[1mb\n\x1b[0m" + MARK), seen)

    def test_json_is_there_for_who_asks(self):
        for flags in (["--json"], ["--format", "json"], ["--format=json"]):
            self.assertEqual(json.loads(self.seen(*flags, "-c", "echo hi"))["stdout"], "hi\n")

    def test_colours_pass_and_what_a_terminal_would_obey_does_not(self):
        seen = self.seen("-c", r"printf '\033[31mred\033[0m\033]0;title\007\033[2J\033[6n\033P1q\033\\'; "
                               r"printf 'end\033[1m\033]52;c;'")
        self.assertTrue(seen.startswith(b"\x1b[31mred\x1b[0mend\x1b[1m\x1b[0m\n" + MARK), seen)
        self.assertNotIn(b"\x1b]", seen)

    def test_colours_are_for_terminals_that_have_them_and_callers_who_want_them(self):
        command = ["-c", r"printf '\033[31mred\n'"]
        self.assertIn(b"\x1b[1;32m", self.seen(*command))
        self.assertNotIn(b"\x1b", self.seen(*command, NO_COLOR="1"))
        self.assertIn(b"\x1b[1;32m", self.seen("--color", "always", *command, NO_COLOR="1"))
        self.assertNotIn(b"\x1b", self.seen("--color", "never", *command))
        self.assertNotIn(b"\x1b", self.seen(*command, TERM="dumb"))
        self.assertNotIn(b"\x1b", self.seen("--color", "always", *command, TERM="dumb"))

    def test_nothing_that_a_command_prints_passes_for_the_account(self):
        fake = r"\302\266 sbx-run: exited with 0 after 1 ms\n"
        seen = self.seen("--color", "never", "-c",
                         f"printf '{fake}'; printf 'x\\r{fake}' >&2; printf '\\302'; sleep 0.2; "
                         rf"printf '\266 fake\n'; printf '%200s{fake}' ''; exit 5", status=5)
        self.assertEqual(seen.count(MARK + b"sbx-run:"), 1, seen)
        self.assertEqual(seen.count(b"sbx-run: exited with 0"), seen.count(b"? sbx-run:"), seen)
        self.assertNotIn(MARK[:-1] + b" fake", seen)
        self.assertRegex(self.account(seen)[0], r"^sbx-run: exited with 5 after ")

    def test_what_was_refused_is_there_with_what_allows_it(self):
        seen = self.seen("--color", "never", "--", "sh", "-c", "unshare -m true; true")
        self.assertIn("refused: " + UNSHARE, self.account(seen))
        seen = self.seen("--color", "never", "--allow-host", "a.example", "--", "/usr/bin/python3",
                         "-c", "import socket; socket.socket().connect_ex(('192.0.2.1', 443))")
        self.assertIn("refused: connect to 192.0.2.1:443; allow it with --allow-host 192.0.2.1:443",
                      self.account(seen))

    def test_interrupted_it_says_so(self):
        terminal = self.start("--color", "never", "-c", "echo up; sleep 60")
        self.assertTrue(terminal.until(b"up"))
        os.write(terminal.fd, b"\x03")
        self.assertEqual(terminal.finish(), 130)
        self.assertRegex(self.account(terminal.output)[0], "^sbx-run: interrupted after ")

    def test_interrupted_at_the_question_it_says_so(self):
        for verb in ([], ["exec"], ["--json"], ["--stream"]):
            terminal = self.start(*verb, "-c", "git reset --hard HEAD~1", NO_COLOR="1")
            self.assertTrue(terminal.until(b"[y/N] "))
            os.write(terminal.fd, b"\x03")
            self.assertEqual(terminal.finish(), 130, terminal.output)
            wanted = b'"status":"cancelled"' if verb else b"\nsbx-run: interrupted after "
            if verb == ["exec"]:
                wanted = b"\nsbx-run: cancelled: interrupted after "
            self.assertIn(wanted, terminal.output.replace(MARK, b""), verb)
            self.assertNotIn(b"output_unwritable", terminal.output)

    def test_an_answer_that_ends_without_a_line_is_no(self):
        for typed in (b"\x04", b"y\x04\x04"):
            for verb in ([], ["exec"]):
                terminal = self.start(*verb, "-c", "git reset --hard HEAD~1", NO_COLOR="1")
                self.assertTrue(terminal.until(b"[y/N] "))
                os.write(terminal.fd, typed)
                self.assertEqual(terminal.finish(), 3, terminal.output)
                below = terminal.output.partition(b"[y/N] ")[2].replace(b"\r\n", b"\n")
                self.assertRegex(below, b"^y?\n(" + MARK + b")?sbx-run: (waits for |needs_)approval")

    def test_what_is_typed_before_the_question_is_no_answer(self):
        script = f"read line; sleep 1; exec {harness.SBX_RUN} -c 'rm -rf /opt/none'"
        terminal = Terminal(["/bin/sh", "-c", script], self.work, ENVIRONMENT)
        os.write(terminal.fd, b"go\ny\n")
        self.assertTrue(terminal.until(b"[y/N] "))
        self.assertFalse(terminal.read_some(0.5), terminal.output)
        os.write(terminal.fd, b"n\n")
        self.assertEqual(terminal.finish(), 3, terminal.output)

    def test_errors_are_one_line_and_no_json(self):
        for arguments, status in ((["--nonsense"], 125), (["--", "no-such-program"], 127),
                                  (["--stream", "--format", "text", "--", "true"], 125),
                                  (["--profile", "no-such", "--", "true"], 125)):
            seen = self.seen("--color", "never", *arguments, status=status)
            if "--stream" not in arguments:
                self.assertNotIn(b'{"', seen)
            self.assertEqual(seen.count(b"sbx-run: "), 1, seen)


    def test_so_are_those_of_the_other_verbs(self):
        for words in (["layer", "lst"], ["layer", "diff", "nosuch"], ["layer", "--nonsense"], ["help", "nosuch"],
                      ["doctor", "x"], ["trust", "/nope"], ["untrust", "/nope"], ["cache", "lst"], ["check", "--nonsense"],
                      ["explain", "--nonsense"], ["explain", "--profile", "nosuch"], ["schema", "nosuch"],
                      ["profile", "show", "nosuch"], ["learn"], ["batch", "/nope"], ["version", "x"],
                      ["serve", "--idle", "x"]):
            seen = self.seen(*words, status=125)
            self.assertEqual((seen.count(b"\n"), seen.count(b'{"')), (1, 0), seen)
            self.assertTrue(seen.startswith(b"sbx-run: "), seen)
            # Where it prints text, JSON is asked for.
            asked = ["--json"] if words in (["cache", "lst"], ["explain", "--profile", "nosuch"]) else []
            self.assertEqual(self.run_json(*words, *asked)["status"], "error", words)
        self.assertIn(b'{"', self.seen("layer", "lst", "--json", status=125))

    def test_what_check_trust_validate_and_learn_say_is_text(self):
        self.write("work/bad.json", '{"command": {}}')
        self.write("work/good.json", "{}")
        self.write("work/.sbx/profile.json", "{}")
        digest = hashlib.sha256(b"{}").hexdigest()
        project = self.work + "/.sbx/profile.json"
        env = {"XDG_STATE_HOME": self.base, "XDG_CONFIG_HOME": self.base}
        reason = "removes what is not known to lie inside the workspace or /tmp (destructive.rm-outside): /opt/x"
        for words, status, text in (
                (["check", "-c", "ls"], 0, "verdict    allow\n"),
                (["check", "-c", "rm -rf /opt/x"], 3, f"verdict    ask\n  ask        {reason}\n"),
                (["check", "-c", 'sudo "$x"'], 126, "verdict    deny\n  deny       'sudo' is on the list of commands that no "
                                                   "profile allows (denied-command)\n  unknown    the program's name is made at run time\n"),
                (["profile", "validate", "./good.json"], 0, "./good.json is a profile\n"),
                (["profile", "validate", "./bad.json"], 125, 'sbx-run: unknown_field: unknown key "command" [/command] (did you '
                                                             'mean "commands"?)\n'),
                (["trust"], 0, f"{project} is trusted as it is now\n  {digest}  {project}\n"),
                (["untrust"], 0, f"{project} is trusted no more\n"),
                (["untrust"], 0, f"{project} was not trusted\n")):
            self.assertEqual(self.seen(*words, status=status, **env).decode(), text, words)
            asked = json.loads(self.seen(*words, "--json", status=status, **env).split(b"\n")[0])
            self.assertIsInstance(asked, dict, words)
        denied = self.profile({"commands": {"deny": ["ls"]}})
        self.assertEqual(self.seen("check", "--profile", denied, "-c", "ls", status=126).decode(),
                         "verdict    deny\n  deny       'ls' is denied by the profile (denied-command); allow it with "
                         'commands.deny -= "ls" in the profile\n')

    def test_learn_says_what_is_proven(self):
        seen = self.seen("learn", "--", "true")
        self.assertTrue(seen.endswith(b"\nsbx-run: proven, and not written; --out FILE says where\n"), seen)
        self.assertNotIn(b'{"proven"', seen)
        self.assertIn(b'{"proven":true', self.seen("learn", "--json", "--", "true"))
        seen = self.seen("learn", "--out", "new.json", "--yes", "--", "true")
        self.assertTrue(seen.endswith(b"proven, and written to new.json\n"), seen)

    def test_no_at_the_question_is_told_as_that(self):
        result = self.write("result.json", json.dumps({"denials": [{"grant": 'seccomp.allow += ["bpf"]'}]}))
        profile = self.write("own.json", '{"extends": "default"}')
        for words, status in ((["learn", "--out", "new.json", "--", "true"], 125),
                              (["profile", "grant", profile, "--from", result], 0)):
            terminal = self.start(*words)
            self.assertTrue(terminal.until(b"[y/N] "), terminal.output)
            os.write(terminal.fd, b"n\n")
            self.assertEqual(terminal.finish(), status, terminal.output)
            self.assertIn(b"not written: you said no\r\n", terminal.output)
            for told in (b"--out FILE", b"--yes"):
                self.assertNotIn(told, terminal.output)
        self.assertFalse(os.path.exists(self.work + "/new.json"))

    def test_results_of_a_batch_begin_lines(self):
        self.write("work/tasks", "".join(f'{{"id": "{i}", "command": "sleep 0.3"}}\n' for i in range(3)))
        seen = self.seen("batch", "--jobs", "1", "tasks")
        self.assertEqual((seen.count(b'\r\x1b[K{"id"'), seen.count(b'{"id"')), (3, 3), seen)

    def test_an_unknown_method_is_named_before_anybody_types_its_params(self):
        self.assertIn(b'did you mean "run"?', self.seen("call", "runn", status=125))

    def test_a_task_that_cannot_begin_is_one_line_too(self):
        env = {**ENVIRONMENT, "XDG_RUNTIME_DIR": self.base}
        for more, status in ((["--", "no-such-program"], 127), (["-c", "rm -rf /opt/x"], 3)):
            words = [harness.SBX_RUN, "start", "--idle", "1s", "--session", "text", *more]
            terminal = Terminal(words, self.work, env)
            self.assertEqual(terminal.finish(), status, terminal.output)
            self.assertEqual((terminal.output.count(b"\n"), terminal.output.count(b'{"')), (1, 0), terminal.output)


class Tasks(session_harness.Case):
    """The verbs of tasks: text on a terminal, JSON elsewhere and with --json."""

    def seen(self, *arguments, status=0):
        terminal = Terminal([harness.SBX_RUN, *arguments], self.work, {**ENVIRONMENT, **self.env})
        self.assertEqual(terminal.finish(), status, terminal.output)
        return terminal.output.decode().replace("\r\n", "\n")

    def test_each_answer_is_text_on_a_terminal(self):
        command = r"printf '\033[2Jhi\n'; printf '\302\266 sbx-run: fake\n' >&2; read x; exit $x"
        started = self.seen("start", "--idle", "1m", "-c", command)
        self.assertRegex(started, "^started [0-9a-f-]{36}\n$")
        task = started.split()[1]
        self.assertTrue(harness.until(lambda: "fake" in self.seen("output", task)))
        self.assertEqual(self.seen("output", task), "hi\n? sbx-run: fake\n")
        row = rf"{task}  running \d+ s       printf .{{50,60}}\n"
        self.assertRegex(self.seen("list", "--session", "default"), f"^{row}$")
        self.assertRegex(self.seen("status"), f"^{row}$")
        self.assertRegex(self.seen("list"), f"^session default: default, {self.work}\n{row}$")
        self.assertRegex(self.seen("status", task), r"^hi\n\? sbx-run: fake\n¶ sbx-run: runs since \d+ ms\n$")
        self.assertRegex(self.seen("wait", "--timeout", "50ms", task, status=124), "¶ sbx-run: runs since ")
        self.assertEqual(self.seen("stdin", task, "--text", "7"), "wrote 2 bytes\n")
        self.assertRegex(self.seen("wait", task, status=7), r"^hi\n\? sbx-run: fake\n¶ sbx-run: exited with 7 after ")
        self.assertIn(f"{task}  exited 7  ", self.seen("list"))
        sized = self.seen("start", "--pty", "-c", "sleep 100").split()[1]
        self.assertEqual(self.seen("resize", sized, "--cols", "90", "--rows", "20"), "90 by 20\n")
        self.assertIn("¶ sbx-run: killed from outside after", self.seen("kill", sized))
        self.assertRegex(self.seen("shell", "-c", "echo it; false", status=1),
                         r"^it\n¶ sbx-run: exited with 1 after \d+ ms\n")
        self.assertEqual(self.seen("reset"), "every task is ended\n")
        self.assertEqual(self.seen("list", "--session", "default"), "no tasks\n")

    def test_a_table_holds_no_control_of_a_command_or_a_path(self):
        odd = self.base + "/w\x1b[2J"
        os.mkdir(odd)
        task = self.seen("start", "--idle", "1m", "--workspace", odd, "-c", "sleep 100 # \x1b[2J\n\r¶ sbx-run").split()[1]
        listed = self.seen("list")
        self.assertNotIn("\x1b", listed)
        self.assertRegex(listed, rf"^session default: default, {self.base}/w\S+2J\n{task}  running \d+ s +sleep 100 # [^\n]+\n$")

    def test_what_is_followed_comes_as_text_and_how_it_ended_below(self):
        task = self.seen("start", "--idle", "1m", "-c", r"printf 'a\033[2Jb\n\302\266 sbx-run: fake\n'; sleep 0.5; echo c >&2; unshare -m true; "
                         "printf end; exit 3").split()[1]
        terminal = Terminal([harness.SBX_RUN, "output", task, "--follow"], self.work, {**ENVIRONMENT, **self.env})
        self.assertTrue(terminal.until(b"fake\r\n"))
        self.assertEqual(terminal.finish(), 0)
        seen = terminal.output.decode().replace("\r\n", "\n")
        self.assertRegex(seen, r"^ab\n\? sbx-run: fake\nc\n(?s:.*)end\n¶ sbx-run: exited with 3 after \d+ ms\n"
                               "¶ refused: " + re.escape(UNSHARE))
        self.assertRegex(self.seen("output", task, "--match", "^[ac]"), r"^ab\nc\n¶ sbx-run: exited with 3 after \d+ ms\n¶ refused: ")
        events = [json.loads(line) for line in self.seen("output", task, "--json", "--follow").splitlines()]
        self.assertEqual((events[0]["event"], events[-1]["event"], events[-1]["exit_code"]), ("output", "exit", 3))
        killed = self.seen("start", "-c", "echo up; sleep 100").split()[1]
        terminal = Terminal([harness.SBX_RUN, "output", killed, "--follow"], self.work, {**ENVIRONMENT, **self.env})
        self.assertTrue(terminal.until(b"up\r\n"))
        self.seen("kill", killed)
        self.assertEqual(terminal.finish(), 0)
        self.assertIn("¶ sbx-run: killed from outside after ".encode(), terminal.output)

    def test_and_json_where_that_is_asked_for(self):
        task = json.loads(self.seen("start", "--json", "--idle", "1m", "-c", "echo hi"))["task_id"]
        self.assertEqual(json.loads(self.seen("wait", "--json", task))["stdout"], "hi\n")
        self.assertEqual(json.loads(self.seen("list", "--json"))["sessions"][0]["session"], "default")
        self.assertEqual(self.verb("output", task)["stdout"], "hi\n")

    def test_no_session_is_said_so(self):
        self.assertEqual(self.seen("list"), "no sessions\n")


class OnPipes(harness.Case):
    def text(self, *arguments, status=0, **options):
        done = self.raw("--format", "text", *arguments, **options)
        self.assertEqual(done.returncode, status, done)
        return done

    def test_it_is_json_unless_text_is_asked_for(self):
        self.assertEqual(self.sh("echo hi")["stdout"], "hi\n")
        self.assertEqual(self.text("-c", "echo hi").stdout, b"hi\n")

    def test_the_bytes_are_exact_and_the_account_is_on_stderr(self):
        data = bytes(range(256)) + MARK
        self.write("work/data", "")
        with open(os.path.join(self.work, "data"), "wb") as file:
            file.write(data * 1000)
        done = self.text("-c", "cat data; echo err >&2; exit 7", status=7)
        self.assertEqual(done.stdout, data * 1000)
        self.assertRegex(done.stderr, rb"^err\n\xc2\xb6 sbx-run: exited with 7 after \d+ ms\n")

    def test_stderr_holds_one_account_alone(self):
        done = self.text("-c", r"printf '\302\266 sbx-run: exited with 0\n\302' >&2; sleep 0.1; "
                               r"printf '\266' >&2; exit 1", status=1)
        self.assertEqual(done.stderr.count(MARK[:-1]), len(
            [line for line in done.stderr.split(b"\n") if line.startswith(MARK)]))
        self.assertTrue(done.stderr.startswith(b"? sbx-run: exited with 0\n?\n" + MARK), done.stderr)

    def test_below_in_one_file_the_account_begins_on_a_line_of_its_own(self):
        done = self.text("-c", "printf half", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertTrue(done.stdout.startswith(b"half\n" + MARK), done.stdout)

    def test_colours_where_they_are_asked_for(self):
        self.assertNotIn(b"\x1b", self.text("--", "true").stderr)
        self.assertIn(b"\x1b[1;32m", self.text("--color", "always", "--", "true").stderr)

    def test_a_hundred_megabytes_pass_whole(self):
        with subprocess.Popen([harness.SBX_RUN, "--format", "text", "--", "head", "-c", "100M",
                               "/dev/zero"], cwd=self.work, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            count = 0
            while part := process.stdout.read(1 << 20):
                count += len(part)
            self.assertEqual((process.wait(harness.BOUND), count), (0, 100 << 20))

    def test_a_reader_that_leaves_ends_the_command(self):
        process = subprocess.Popen([harness.SBX_RUN, "--format", "text", "--", "yes"],
                                   cwd=self.work, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, process)
        process.stdout.read(10)
        process.stdout.close()
        self.assertEqual(process.wait(harness.BOUND), 125)

    def test_every_end_has_its_sentence(self):
        def last(*arguments, status):
            return self.text(*arguments, status=status).stderr.decode()
        self.assertRegex(last("--timeout", "200ms", "--", "sleep", "60", status=124),
                         r"¶ sbx-run: timed out after \d+ ms; --timeout TIME gives it more")
        self.assertRegex(last("--memory", "64M", "--", "/usr/bin/python3", "-c",
                              "bytearray(300 << 20)", status=137),
                         r"¶ sbx-run: ran out of memory after .*; --memory SIZE gives more")
        self.assertRegex(last("-c", "kill -SEGV $$", status=139), "¶ sbx-run: ended by SIGSEGV after")
        self.assertRegex(last("-c", "git push --force", status=3),
                         "¶ sbx-run: waits for approval: .*; run it once with --approve [0-9a-f]+\n")
        self.assertRegex(last("-c", "sudo true", status=126), "¶ sbx-run: denied: ")
        self.assertRegex(last("--", "no-such", status=127), "¶ sbx-run: not_found: ")

    def test_every_limit_has_its_sentence(self):
        fill = "head -c 40M /dev/zero"
        for flags, command, said in (
                (["--pids", "20"], "for i in $(seq 200); do sleep 5 & done 2>/dev/null; wait",
                 "ran out of processes.*; --pids COUNT gives more"),
                (["--cpu-time", "1s"], "while :; do :; done", "ran out of CPU time after .*; --cpu-time TIME gives more"),
                (["--file-size", "1M"], f"exec {fill} > large", "a file grew too large after .*; --file-size SIZE gives more"),
                (["--tmp-size", "16M"], f"{fill} > /tmp/large",
                 "the private /tmp and home are full.*; --tmp-size SIZE gives more\n"
                 "¶ refused: write /tmp; allow it with --tmp-size 32M")):
            account = self.raw("--format", "text", *flags, "-c", command).stderr.decode()
            self.assertRegex(account, f"¶ (sbx-run|limit): {said}", flags)

    def test_what_a_weaker_tier_lacks_is_said(self):
        done = subprocess.run([harness.probe("docker_filter"), harness.SBX_RUN, "--format", "text", "--allow-degraded",
                               "--", "true"], cwd=self.work, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=harness.BOUND, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        for layer in ("user", "mount", "pid", "net"):
            self.assertRegex(done.stderr.decode(), f"¶ degraded: {layer}: .*EPERM.*seccomp filter")

    def test_what_another_run_holds_the_place_with_is_not_noticed(self):
        def said(command):
            done = subprocess.run([harness.probe("docker_filter"), harness.SBX_RUN, "--format", "text",
                                   "--allow-degraded", "-c", command], cwd=self.work, stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=harness.BOUND, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stderr
        os.mkdir(os.path.join(self.work, ".sbx"))
        os.chmod(os.path.join(self.work, ".sbx"), 0o1500)
        held = os.open(os.path.join(self.work, ".sbx"), os.O_RDONLY)
        self.addCleanup(os.close, held)
        fcntl.flock(held, fcntl.LOCK_SH)
        self.assertNotIn(b"protected created", said("true"))
        os.rmdir(os.path.join(self.work, ".sbx"))
        self.assertIn(b"protected created", said("mkdir .sbx"))

    def test_the_nearest_name_is_said_of_what_is_unknown(self):
        typo = self.profile({"netwrk": {"mode": "none"}})
        deeper = self.profile({"limits": {"memory_bm": 5}}, "deeper.json")
        for arguments, hint in ((["lst"], "did you mean sbx-run list?"), (["statsu", "x"], "did you mean sbx-run status?"),
                                (["--memry", "5M", "--", "true"], "did you mean --memory?"),
                                (["list", "--sesion", "x"], "did you mean --session?"),
                                (["help", "explian"], "explain"),
                                (["--profile", "defalt", "--", "true"], 'did you mean "default"?'),
                                (["--profile", typo, "--", "true"], 'did you mean "network"?'),
                                (["--profile", deeper, "--", "true"], 'did you mean "memory_mb"?'),
                                (["--with", "rst", "--", "true"], 'did you mean "rust"?'),
                                (["call", "runn"], 'did you mean "run"?'), (["schema", "profle"], "did you mean profile?"),
                                (["profile", "shw"], "did you mean show?"), (["profile", "show"], "profile show NAME"),
                                (["cache", "lst"], "did you mean list?"), (["cache", "clear"], "cache --help"),
                                (["layer", "lst"], "did you mean list?")):
            done = self.raw(*arguments)
            self.assertEqual(done.returncode, 125, done)
            self.assertIn(hint, done.stderr.decode(), arguments)

    def test_bad_choices_are_refused(self):
        for flags in (["--format", "xml"], ["--color", "red"], ["--json", "--format", "text"]):
            self.assertEqual(self.raw(*flags, "--", "true").returncode, 125)


class Exec(harness.Case):
    def test_an_ordinary_end_is_silent_and_any_other_one_line(self):
        self.assertEqual(self.raw("exec", "-c", "exit 3").stderr, b"")
        done = self.raw("exec", "--timeout", "200ms", "--", "sleep", "60")
        self.assertEqual(done.returncode, 124)
        self.assertRegex(done.stderr, rb"^sbx-run: timed_out: timed out after \d+ ms; --timeout TIME .*\n$")
        done = self.raw("exec", "--memory", "64M", "--", "/usr/bin/python3", "-c",
                        "bytearray(300 << 20)")
        self.assertRegex(done.stderr, rb"^sbx-run: limit: ran out of memory after .*\n$")

    def test_what_was_refused_follows_a_command_that_failed(self):
        done = self.raw("exec", "--", "sh", "-c", "unshare -m true 2>/dev/null; exit 1")
        self.assertEqual(done.stderr.decode(), f"sbx-run: refused: {UNSHARE}\n")
        self.assertEqual(self.raw("exec", "-c", "unshare -m true 2>/dev/null; true").stderr, b"")

    def test_a_signal_that_asks_it_to_end_is_said(self):
        process = subprocess.Popen([harness.SBX_RUN, "exec", "-c", "echo up; sleep 60"],
                                   cwd=self.work, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, process)
        self.assertEqual(process.stdout.readline(), b"up\n")
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=harness.BOUND)
        self.assertEqual(process.returncode, 143)
        self.assertRegex(said, rb"^sbx-run: cancelled: told to end by SIGTERM after .*\n$")


if __name__ == "__main__":
    unittest.main()
