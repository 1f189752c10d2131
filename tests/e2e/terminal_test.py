# SPDX-License-Identifier: Apache-2.0
"""Tasks with a terminal: start --pty, attach, screen, resize, stdin --keys."""

import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
import unittest

import harness
import session_harness
from exec_test import Screen
from harness import until


class ScreenPrograms(unittest.TestCase):
    def test_one_that_has_too_much_to_do_ends(self):
        ours, its = socket.socketpair()
        with ours, its:
            screen = subprocess.Popen([os.path.join(os.path.dirname(harness.SBX_RUN), "sbx-screen")],
                                      close_fds=False, preexec_fn=lambda: os.dup2(its.fileno(), 3))
            its.close()
            rows = b"\x1b[H\x1b[L" * 8000  # each moves the whole of the largest screen
            for kind, text in ((b"R", struct.pack("<HH", 1000, 500)), (b"D", rows), (b"S", b"")):
                ours.sendall(kind + struct.pack("<I", len(text)) + text)
            self.assertEqual(screen.wait(60), -signal.SIGVTALRM)


class HostileScreens(session_harness.Case):
    """A program in the place of sbx-screen, as one is that a command has taken over."""

    def setUp(self):
        super().setUp()
        shutil.copy(harness.SBX_RUN, self.base)

    def screen_of(self, does, is_ended):
        """What is said of its screen; the server and the task go on."""
        self.write("sbx-screen", "#!/usr/bin/python3\nimport os, socket, time\npeer = socket.socket(fileno=3)\n"
                   f"with open('{self.base}/pid', 'w') as file: print(os.getpid(), file=file)\n{does}\ntime.sleep(1000)\n", 0o755)
        process = subprocess.Popen([self.base + "/sbx-run", "serve", "--workspace", self.work], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=self.env)
        self.addCleanup(self.end, process)
        peer = session_harness.Peer(process.stdout, process.stdin)
        task = peer.call("start", command="read x; exit 3", pty=True, follow=False)["task_id"]
        if is_ended:
            self.assertTrue(until(lambda: os.path.exists(self.base + "/pid") and os.path.getsize(self.base + "/pid")))
            with open(self.base + "/pid") as file:
                pid = file.read().strip()
            self.assertTrue(until(lambda: not os.path.exists("/proc/" + pid)))
        said = peer.error("screen", task_id=task)["data"]["message"]
        peer.call("stdin", task_id=task, text="x\n")
        self.assertEqual(peer.call("wait", task_id=task, timeout_ms=20000)["exit_code"], 3)
        return said

    def test_an_answer_that_nobody_asked_for_is_its_end(self):
        self.assertEqual(self.screen_of("peer.sendall(b'S\\x04\\0\\0\\0more')", True),
                         "sbx-screen, which follows the task's terminal, answers what nobody asked")

    def test_an_answer_without_an_end_is_its_end(self):
        self.assertEqual(self.screen_of("peer.sendall(b'O\\xff\\xff\\xff\\xff')", True),
                         "sbx-screen, which follows the task's terminal, answers with too much")

    def test_an_answer_that_is_no_screen_is_an_error(self):
        does = "while b'S\\0\\0\\0\\0' not in peer.recv(65536): pass\npeer.sendall(b'S\\x03\\0\\0\\0abc')"
        self.assertEqual(self.screen_of(does, False), "sbx-screen gave no screen")


class Case(session_harness.Case):
    def setUp(self):
        super().setUp()
        _, self.peer = self.server("--workspace", self.work)

    def task(self, command, **more):
        return self.peer.call("start", command=command, pty=True, follow=False, **more)["task_id"]

    def screen(self, task):
        return self.peer.call("screen", task_id=task)["text"]

    def shows(self, task, text):
        shown = lambda: text in self.screen(task)  # noqa: E731
        self.assertTrue(until(shown), (text, self.screen(task)))

    def keys(self, task, keys, text=None):
        params = {"text": text} if text is not None else {}
        return self.peer.call("stdin", task_id=task, keys=keys, **params)

    def ended(self, task):
        return self.peer.call("wait", task_id=task, timeout_ms=20000)


class Screens(Case):
    def test_a_screen_holds_what_can_be_seen(self):
        task = self.task("printf '\\033[2J\\033[3;5Hx\\303\\244y'; sleep 100")
        self.shows(task, "xäy")
        screen = self.peer.call("screen", task_id=task)
        self.assertEqual(set(screen), {"text", "cols", "rows", "cursor"})
        self.assertEqual((screen["cols"], screen["rows"]), (80, 24))
        self.assertEqual(screen["text"].split("\n")[:3], ["", "", "    xäy"])
        self.assertEqual(len(screen["text"].splitlines()), 24)
        self.assertEqual(screen["cursor"], {"row": 2, "col": 7, "visible": True})

    def test_the_type_size_and_terminal_are_its_own(self):
        task = self.task("echo $TERM; stty size; tty; test -t 0 -a -t 1 -a -t 2 && echo all", cols=100, rows=30)
        self.assertEqual(self.ended(task)["exit_code"], 0)
        self.assertEqual(self.screen(task).split("\n")[:4], ["xterm-256color", "30 100", "/dev/pts/0", "all"])

    def test_programs_may_ask_in_a_task_and_not_in_a_call_of_the_kept_shell(self):
        task = self.task("echo \"<${CI-}${EDITOR-}>\"")
        self.assertEqual(self.ended(task)["exit_code"], 0)
        self.shows(task, "<>")
        self.assertEqual(self.peer.call("run", command="echo $CI $EDITOR", shell="kept")["stdout"], "1 false\n")

    def test_resize_reaches_the_program_and_the_screen(self):
        task = self.task("trap 'stty size' WINCH; echo up; while :; do sleep 0.05; done")
        self.shows(task, "up")
        self.assertEqual(self.peer.call("resize", task_id=task, cols=70, rows=20), {"cols": 70, "rows": 20})
        self.shows(task, "20 70")
        self.assertEqual(self.peer.call("screen", task_id=task)["cols"], 70)
        for cols, rows in ((0, 20), (20, 0), (100000, 20), (20, 100000), (-1, 5)):
            self.assertIn("data", self.peer.error("resize", task_id=task, cols=cols, rows=rows))

    def test_what_is_wrong_is_refused(self):
        plain = self.peer.call("start", command="sleep 100", follow=False)["task_id"]
        for method, more in (("screen", {}), ("resize", {"cols": 5, "rows": 5}), ("attach", {}),
                             ("stdin", {"keys": "Up"})):
            self.assertEqual(self.peer.error(method, task_id=plain, **more)["data"]["where"], "/task_id")
            self.assertEqual(self.peer.error(method, task_id="nope", **more)["data"]["code"], "task_not_found")
        self.assertEqual(self.peer.error("start", command="true", cols=5)["data"]["where"], "/pty")
        over = self.task("true")
        self.ended(over)
        for method, more in (("resize", {"cols": 5, "rows": 5}), ("stdin", {"text": "x"})):
            error = self.peer.error(method, task_id=over, **more)["data"]
            self.assertEqual((error["code"], error["message"]), ("bad_value", "the task has ended"))
        task = self.task("cat")
        self.assertIn("Escape", self.peer.error("stdin", task_id=task, keys="Escpe")["data"]["hint"])

    def test_keys_are_those_that_the_program_asked_for(self):
        task = self.task("stty raw -echo; echo up; cat -v")
        self.shows(task, "up")
        self.keys(task, "Up F1 C-c M-x S-Tab C-Left PageDown Enter é")
        self.shows(task, "^[[A^[OP^C^[x^[[Z^[[1;5D^[[6~^MM-CM-)")
        task = self.task("stty raw -echo; printf '\\033[?1h'; echo up; cat -v")
        self.shows(task, "up")
        self.keys(task, "Up", text="ab")
        self.shows(task, "ab^[OA")

    def test_control_c_is_a_signal(self):
        task = self.task("trap 'exit 7' INT; echo up; while :; do sleep 0.05; done")
        self.shows(task, "up")
        self.keys(task, "C-c")
        self.assertEqual(self.ended(task)["exit_code"], 7)

    def test_the_end_of_input_is_a_key(self):
        task = self.task("cat; echo ended")
        self.peer.call("stdin", task_id=task, text="line\n", close=True)
        self.assertEqual(self.ended(task)["exit_code"], 0)
        self.assertIn("ended", self.screen(task))

    def test_secrets_are_redacted_on_the_screen_too(self):
        secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
        # In two pieces with a rest between them: the stream alone would not see it whole.
        task = self.task(f"printf 'token {secret[:20]}'; sleep 0.3; printf '{secret[20:]}'; sleep 100")
        self.shows(task, "[REDACTED]")
        self.assertNotIn(secret, self.screen(task))

    def test_secrets_are_redacted_across_the_margin_too(self):
        secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
        pieces = "; sleep 0.1; ".join(f"printf {secret[at:at + 14]}" for at in range(0, len(secret), 14))
        for before, shown in (("", "[REDACTED]\n\n\n"), ("printf '%12s' x;", " " * 11 + "x\n[REDACTED]\n\n\n")):
            task = self.task(f"{before} echo; {pieces}; echo; printf next; sleep 100", cols=17, rows=7)
            self.shows(task, "next")
            self.assertEqual(self.screen(task).strip("\n"), (shown + "next").strip("\n"))
            drawn = self.peer.call("attach", task_id=task)["repaint"]
            for at in range(0, len(secret), 7):
                self.assertNotIn(secret[at:at + 5], drawn)
            self.assertIn("\x1b[5;1Hnext", drawn)

    def test_a_prompt_shows_without_a_newline(self):
        task = self.task("read -p 'your name? ' x; echo got $x")
        self.shows(task, "name?")
        self.keys(task, "Enter", text="me")
        self.shows(task, "got me")

    def test_a_flood_leaves_the_last_of_it(self):
        task = self.task("seq 300000; echo the-end; sleep 100")
        self.shows(task, "the-end")
        self.assertIn("300000\nthe-end", self.screen(task))

    def test_the_death_of_sbx_screen_is_an_error_of_screen_alone(self):
        task = self.task("echo up; read x; echo got $x")
        self.shows(task, "up")
        screens = [pid for pid in os.listdir("/proc") if pid.isdigit() and self.is_screen(pid)]
        self.assertEqual(len(screens), 1)
        os.kill(int(screens[0]), signal.SIGKILL)
        error = self.peer.error("screen", task_id=task)["data"]
        self.assertIn("sbx-screen", error["message"])
        self.keys(task, "Enter", text="it")
        self.assertEqual(self.ended(task)["exit_code"], 0)
        self.assertIn("got it", self.peer.call("output", task_id=task)["stdout"])

    def test_a_kept_shell_at_its_prompt_ends_by_itself(self):
        self.peer.call("run", command="trap 'echo bye > bye' EXIT", shell="kept")
        (task,) = [task["task_id"] for task in self.peer.call("list")["tasks"] if task["is_running"]]
        self.peer.call("attach", task_id=task)
        self.assertTrue(until(lambda: self.screen(task).strip()))
        self.peer.call("kill", task_id=task)
        self.assertIn("bye", os.listdir(self.work))

    def test_sbx_screen_has_nothing(self):
        task = self.task("echo up; sleep 100")
        self.shows(task, "up")
        pid = next(pid for pid in os.listdir("/proc") if pid.isdigit() and self.is_screen(pid))
        with open(f"/proc/{pid}/status") as status:
            fields = dict(line.split(":\t", 1) for line in status.read().splitlines() if ":\t" in line)
        self.assertEqual((fields["Seccomp"], fields["NoNewPrivs"]), ("2", "1"))
        self.assertEqual(int(fields["CapEff"], 16), 0)
        self.assertEqual(os.getpgid(int(pid)), int(pid))  # a ^C at its server is not for it
        if harness.is_root():
            self.assertEqual(os.listdir(f"/proc/{pid}/root"), [])
        self.peer.call("kill", task_id=task)
        self.assertTrue(until(lambda: not self.is_screen(pid)))

    def is_screen(self, pid):
        try:
            with open(f"/proc/{pid}/comm") as name, open(f"/proc/{pid}/stat") as stat:
                parent = stat.read().rsplit(")", 1)[1].split()[1]
                if name.read() != "sbx-screen\n":
                    return False
            with open(f"/proc/{parent}/environ", "rb") as variables:
                return self.marker.encode() in variables.read()
        except OSError:
            return False


class Programs(Case):
    """What people run on terminals, driven by keys and seen on the screen."""

    def needs(self, program):
        if shutil.which(program) is None:
            self.skipTest(f"{program} is not installed")

    def test_vim(self):
        self.needs("vim.tiny")
        task = self.task("vim.tiny -u NONE file.txt")
        self.shows(task, '"file.txt" [New')
        self.keys(task, "i f i r s t Enter", text="")
        self.keys(task, "Escape Up x", text="second")
        self.keys(task, "Enter", text=":wq")
        self.assertEqual(self.ended(task)["exit_code"], 0)
        with open(self.work + "/file.txt") as file:
            self.assertEqual(file.read().split(), ["firs", "second"])

    def test_less(self):
        task = self.task("seq 1000 | less")
        self.shows(task, "23")
        self.keys(task, "PageDown")
        self.shows(task, "46")
        self.keys(task, "Enter", text="/777")
        self.shows(task, "777")
        self.keys(task, "q")
        self.assertEqual(self.ended(task)["exit_code"], 0)

    def test_top(self):
        task = self.task("htop --no-color" if shutil.which("htop") else "top")
        self.shows(task, "PID")
        self.keys(task, "q")
        self.assertEqual(self.ended(task)["exit_code"], 0)

    def test_python(self):
        task = self.task("python3 -q")
        self.shows(task, ">>>")
        self.keys(task, "Enter", text="6*7")
        self.shows(task, "42")
        self.keys(task, "Up BSpace 8 Enter")  # readline's history
        self.shows(task, "48")
        self.keys(task, "C-d")
        self.assertEqual(self.ended(task)["exit_code"], 0)

    def test_node(self):
        self.needs("node")
        task = self.task("node")
        self.shows(task, ">")
        self.keys(task, "Enter", text="6*7")
        self.shows(task, "42")
        self.keys(task, "C-d")
        self.assertEqual(self.ended(task)["exit_code"], 0)

    def test_npm_init(self):
        self.needs("npm")
        task = self.task("npm init --no-update-notifier")
        for question, answer in (("package name:", "named"), ("version:", "2.0.0"), ("description:", "by keys"),
                                 ("entry point:", ""), ("test command:", "true"), ("git repository:", ""),
                                 ("keywords:", ""), ("author:", ""), ("license:", "MIT")):
            self.shows(task, question)
            self.keys(task, "Enter", text=answer)
        self.assertTrue(until(lambda: re.search("type:|Is this OK", self.screen(task))), self.screen(task))
        if "type:" in self.screen(task):  # npm since 10.9 asks for that too
            self.keys(task, "Enter")
        self.shows(task, "Is this OK?")
        self.assertIn('"version": "2.0.0"', self.screen(task))
        self.keys(task, "Enter")
        self.assertEqual(self.ended(task)["exit_code"], 0)
        with open(self.work + "/package.json") as file:
            made = json.load(file)
        self.assertEqual((made["name"], made["version"], made["license"], made["scripts"]),
                         ("named", "2.0.0", "MIT", {"test": "true"}))

    def test_gdb(self):
        self.needs("gdb")
        task = self.task("gdb -q -nx -ex 'set pagination off' -ex 'set startup-with-shell off' /bin/true")
        self.shows(task, "(gdb)")
        self.keys(task, "Enter", text="print 6*7")
        self.shows(task, "= 42")
        self.keys(task, "Enter", text="quit")
        self.assertEqual(self.ended(task)["exit_code"], 0)


class KeptShell(Programs):
    """The same programs, started at the prompt of the kept shell."""

    count = 0

    def task(self, command, **more):
        task = self.peer.call("shell")["task_id"]
        self.peer.call("attach", task_id=task)
        self.keys(task, "Enter", text=f"clear; echo rea''dy={self.count}")
        self.shows(task, f"ready={self.count}")  # and nothing of the program before
        self.count += 1
        self.keys(task, "Enter", text=f"{command}; echo sta''tus=$?")
        return task

    def ended(self, task):
        self.assertTrue(until(lambda: re.search(r"status=\d+", self.screen(task))), self.screen(task))
        said = self.peer.call("run", command="echo still here", shell="kept")
        self.assertEqual((said["stdout"], said["shell"]["kept"]), ("still here\n", True))
        return {"exit_code": int(re.findall(r"status=(\d+)", self.screen(task))[-1])}

    def test_each_runs_and_leaves_the_shell(self):
        for name in [name for name in vars(Programs) if name.startswith("test_")]:
            with self.subTest(program=name):
                getattr(self, name)()


class Answers(session_harness.Case):
    ASKS = """stty -icanon -echo
        while :; do
          until [ -e ask ]; do sleep 0.05; done
          read -r seconds < ask; rm ask
          printf '\\033[6n'; x=; IFS= read -r -t "$seconds" -d R x; echo "got<${x#?}>"
        done"""

    def test_the_screen_answers_only_while_nobody_is_attached(self):
        _, path, _ = self.socket_server("--workspace", self.work)
        self.peer = self.connect(path)
        self.task = self.peer.call("start", argv=["bash", "-c", self.ASKS], pty=True, follow=False)["task_id"]
        self.assertRegex(self.answer(20), r"\[\d+;\d+")
        watcher = self.connect(path)
        watcher.call("attach", task_id=self.task)
        self.assertEqual(self.answer(1), "")
        watcher.close()
        watcher.socket.close()
        self.assertTrue(until(lambda: self.answer(1) != ""))

    def test_who_has_left_before_the_screen_answers_is_no_watcher(self):
        process, path, _ = self.socket_server("--workspace", self.work)
        self.peer = self.connect(path)
        self.task = self.peer.call("start", argv=["bash", "-c", self.ASKS], pty=True, follow=False)["task_id"]
        self.assertRegex(self.answer(20), r"\[\d+;\d+")
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
            children = file.read().split()
        (screen,) = [int(pid) for pid in children if self.name_of(pid) == "sbx-screen"]
        descriptors = lambda: len(os.listdir(f"/proc/{process.pid}/fd"))  # noqa: E731
        for method in ("attach", "screen"):
            before = descriptors()
            os.kill(screen, signal.SIGSTOP)
            for _ in range(20):
                other = self.connect(path)
                other.send(method, task_id=self.task)
                other.close()
                other.socket.close()
            self.assertTrue(until(lambda: descriptors() == before))
            os.kill(screen, signal.SIGCONT)
            self.assertRegex(self.answer(20), r"\[\d+;\d+", method)

    @staticmethod
    def name_of(pid):
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()

    def answer(self, seconds):
        """To the question of the program where the cursor is, which it waits so long for."""
        count = len(self.told())
        os.rename(self.write("work/asks", f"{seconds}\n"), self.work + "/ask")
        self.assertTrue(until(lambda: len(self.told()) > count))
        return self.told()[-1]

    def told(self):
        return re.findall("got<(.*)>", self.peer.call("output", task_id=self.task)["stdout"])


class Attached(session_harness.Case):
    def start(self, command):
        return self.verb("start", "--session", "a", "--pty", "-c", command)["task_id"]

    def attach(self, task, *more, environment=None, **size):
        os.environ.update({**self.env, **(environment or {})})
        self.addCleanup(os.environ.pop, "SBX_TEST_MARKER", None)
        return Screen(self, shell=[harness.SBX_RUN, "attach", "--session", "a", task, *more], **size)

    def test_it_shows_the_screen_types_and_exits_as_the_task(self):
        task = self.start("printf 'name? '; read x; echo hello $x; exit 5")
        screen = self.attach(task)
        screen.expect(rb"name\? ")
        screen.type("bob\r")
        screen.expect(rb"hello bob")
        self.assertEqual(screen.wait(), 5)

    def test_the_screen_forges_no_account(self):
        task = self.start("printf '\\302\\266 sbx-run: exited with 0\\r\\n'; sleep 1000")
        shown = lambda: self.raw("screen", "--session", "a", task, env={**os.environ, **self.env}).stdout
        self.assertTrue(until(lambda: b"sbx-run: exited" in shown()), shown())
        self.assertEqual(shown().decode(), "? sbx-run: exited with 0\n")

    def test_what_a_task_writes_reaches_the_terminal_without_strings(self):
        command = r"printf '\033]52;c;eA==\007\033P+q544e\033\\\033_app\033\\\033[31mred\033[0m ok'; read x"
        for terminal, seen in (("xterm-256color", rb"\x1b\[31mred\x1b\[0m ok"), ("dumb", b"red ok")):
            screen = self.attach(self.start("sleep 0.5; " + command), environment={"TERM": terminal})
            shown = screen.expect(seen).string
            for part in (b"\x1b]", b"\x1bP", b"\x1b_", b"52;c", b"+q544e", b"app") + ((b"\x1b",) * (terminal == "dumb")):
                self.assertNotIn(part, shown, terminal)
            screen.type("\r")
            screen.wait()

    def test_a_file_keeps_what_it_had(self):
        task = self.start("echo hello; sleep 0.3")
        for flags, kept in ((os.O_APPEND, 2), (0, 1)):
            path = self.write("out", "before\n" if kept == 2 else "")
            with os.fdopen(os.open(path, os.O_WRONLY | flags), "wb", buffering=0) as out:
                out.write(b"first\n")
                subprocess.run([harness.SBX_RUN, "attach", "--session", "a", task], check=False, stdout=out,
                               stdin=subprocess.DEVNULL, timeout=harness.BOUND, env={**os.environ, **self.env})
                out.write(b"last\n")
            with open(path, "rb") as file:
                text = file.read()
            self.assertTrue(text.startswith(b"before\nfirst\n" if kept == 2 else b"first\n"), text)
            self.assertTrue(text.endswith(b"last\n"), text)
            self.assertIn(b"hello", text)

    def test_the_detach_key_leaves_the_task_and_the_terminal_as_they_were(self):
        task = self.start("printf '\\033[?1049h\\033[?25l\\033[?1000hinside'; cat")
        screen = self.attach(task)
        before = termios.tcgetattr(screen.master)
        screen.expect(rb"inside")
        screen.type("\x1d")
        screen.expect(rb"\x1b\[\?25h[^z]*\x1b\[\?1000l[^z]*\x1b\[\?1049l")
        self.assertEqual(screen.wait(), 0)
        self.assertTrue(self.verb("status", "--session", "a", task)["is_running"])
        again = self.attach(task, "--detach-key", "ctrl-a")
        again.expect(rb"\x1b\[\?1049h[^z]*inside")
        again.type("\x1dx")
        again.expect(rb"\^\]x")
        after = termios.tcgetattr(again.master)
        self.assertNotEqual(before, after)  # raw
        again.type("\x01")
        self.assertEqual(again.wait(), 0)

    def test_several_watch_and_the_last_size_counts(self):
        task = self.start('while :; do now=$(stty size); [ "$now" = "$old" ] || echo "$now"; old=$now; sleep 0.05; done')
        one = self.attach(task, rows=30, columns=90)
        one.expect(rb"30 90")
        two = self.attach(task, rows=40, columns=100)
        two.expect(rb"40 100")
        one.expect(rb"40 100")
        one.resize(33, 99)
        two.expect(rb"33 99")
        one.type("\x1d")
        self.assertEqual(one.wait(), 0)
        self.verb("kill", "--session", "a", task)
        self.assertEqual(two.wait(), 143)

    def test_a_terminal_of_any_size_takes_part(self):
        task = self.start('while :; do now=$(stty size); [ "$now" = "$old" ] || echo "$now"; old=$now; sleep 0.05; done')
        screen = self.attach(task, rows=2000, columns=3000)
        screen.expect(rb"500 1000")
        screen.type("\x1d")
        self.assertEqual(screen.wait(), 0)
        Screen(self, "-c", "stty size", rows=24, columns=0).expect(rb"24 80")

    def test_a_signal_gives_the_terminal_back(self):
        task = self.start("printf '\\033[?1049hinside'; cat")
        screen = self.attach(task)
        screen.expect(rb"inside")
        os.kill(screen.pid, signal.SIGTERM)
        screen.expect(rb"\x1b\[\?1049l")
        self.assertEqual(screen.wait(), 143)

    def test_the_verbs(self):
        task = self.start("stty size; read x; stty size; read x")
        screen = lambda: self.cli("screen", "--session", "a", task).stdout.decode()  # noqa: E731
        self.assertTrue(until(lambda: screen() == "24 80\n"))
        self.verb("resize", "--session", "a", task, "--cols", "50", "--rows", "12")
        self.verb("stdin", "--session", "a", task, "--keys", "Enter")
        self.assertTrue(until(lambda: "12 50" in screen()), screen())
        self.assertEqual(self.verb("screen", "--session", "a", task, "--json")["rows"], 12)
        self.verb("resize", "--session", "a", task, "--cols", "50", status=125)
        for key in ("meta-x", "ctrl-1", "ctrl-", "^aa"):
            self.assertEqual(self.verb("attach", "--session", "a", task, "--detach-key", key, status=125)["error"]["where"], "--detach-key")
        self.assertIn(b"ctrl-]", self.cli("attach", "--help").stdout)

    def test_on_a_terminal_an_error_is_one_line(self):
        self.start("sleep 100")
        os.environ.update(self.env)
        self.addCleanup(os.environ.pop, "SBX_TEST_MARKER", None)
        screen = Screen(self, shell=[harness.SBX_RUN, "status", "--session", "a", "nope"])
        self.assertEqual(screen.wait(), 125)
        self.assertNotIn(b"{", screen.text)
        self.assertEqual(screen.text.count(b"\n"), 1)


if __name__ == "__main__":
    sys.exit(unittest.main())
