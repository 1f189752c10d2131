# SPDX-License-Identifier: Apache-2.0
"""start, status, output, stdin, wait, kill, list and reset: sessions on the command line."""

import hashlib
import json
import os
import signal
import socket
import stat
import subprocess
import threading
import time
import unittest

import harness
import session_harness

S = ("--session", "s")


class Tasks(session_harness.Case):
    """Background tasks of a session, by the verbs."""

    def start(self, command, *flags, session="s"):
        answer = self.verb("start", "--session", session, *flags, "-c", command)
        self.assertEqual(set(answer), {"task_id", "pid", "started_at"})
        return answer["task_id"]

    def test_what_a_running_task_is_and_was_refused_is_redacted(self):
        secret = "correcthorse77zzq"
        profile = self.profile({"environment": {"set": {"MY_API_TOKEN": secret}}})
        task = self.start(f"mkdir /usr/$MY_API_TOKEN; read line; : {secret}", "--profile", profile,
                          "--trace-denials")
        def refused():
            return self.verb("status", "--session", "s", task)["denials"]
        self.assertTrue(session_harness.until(refused))
        self.assertEqual(refused()[0]["target"], "/usr/[REDACTED]")
        (listed,) = self.verb("list", "--session", "s")["tasks"]
        for told in (listed, self.verb("status", "--session", "s", task)):
            self.assertNotIn(secret, json.dumps(told))
            self.assertTrue(told["command"].endswith("; : [REDACTED]"), told)

    def test_what_is_refused_before_there_is_a_run_is_redacted(self):
        token = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
        answer = self.cli("call", "run", *S, input=json.dumps({"command": f"echo {token}", "network": True}).encode(),
                          stdin=None)
        told = json.loads(answer.stdout)
        self.assertEqual((told["status"], told["command"]), ("denied", "echo [REDACTED]"), told)
        self.assertNotIn(token, json.dumps(told))

    # A7, B3, B4, B6
    def test_a_task_from_start_to_end(self):
        task = self.start("echo one; read line; echo got $line; exit 5")
        self.assertTrue(session_harness.until(
            lambda: self.verb("status", *S, task)["stdout"] == "one\n"))
        status = self.verb("status", *S, task)
        self.assertTrue(status["is_running"])
        self.assertIsNone(status["exit_code"])
        self.assertGreaterEqual(status["uptime_seconds"], 0)
        first = self.verb("output", *S, task)
        self.assertEqual(first["stdout"], "one\n")
        self.verb("wait", *S, "--timeout", "50ms", task, status=124)
        self.verb("stdin", *S, "--text", "two", task)
        ended = self.verb("wait", *S, task, status=5)
        self.assertEqual((ended["status"], ended["exit_code"]), ("exited", 5))
        second = self.verb("output", *S, "--since", str(first["next"]), task)
        self.assertEqual(second["stdout"], "got two\n")
        self.assertEqual(self.verb("output", *S, "--since", str(second["next"]), task)["stdout"], "")
        listed = self.verb("list", *S)["tasks"]
        self.assertEqual([(t["task_id"], t["exit_code"]) for t in listed], [(task, 5)])

    def test_a_server_that_is_stopped_holds_no_verb_for_ever(self):
        self.start("sleep 1000")
        (one,) = self.verb("list")["sessions"]
        os.kill(one["pid"], signal.SIGSTOP)
        self.addCleanup(os.kill, one["pid"], signal.SIGCONT)
        answer = self.cli("status", *S, timeout=60)
        self.assertEqual(answer.returncode, 125, answer)
        self.assertIn(b"does not answer", answer.stdout + answer.stderr)
        began = time.monotonic()
        listed = self.cli("list")
        self.assertEqual((listed.returncode, json.loads(listed.stdout)), (0, {"sessions": []}))
        self.assertIn(f"{one['session']}: ".encode(), listed.stderr)
        self.assertIn(b"does not answer", listed.stderr)
        self.assertLess(time.monotonic() - began, 10)

    def test_what_is_shown_of_a_task_is_held_to_its_cap(self):
        """As a run's is; what a reader of `output` gets is not."""
        text = "".join(f"{i}\n" for i in range(1, 5001))
        flags = ("--merge", "--max-output", "1K")
        wanted = json.loads(self.raw("run", *flags, "-c", "seq 5000").stdout)
        self.assertIn("[... 22869 bytes left out ...]", wanted["stdout"])
        def shown(answer):
            return [answer[key] for key in ("stdout", "stdout_bytes", "truncated", "encoding")]
        task = self.start("seq 5000; read x", *flags)
        self.assertTrue(session_harness.until(lambda: self.verb("output", *S, task)["stdout"] == text))
        self.assertEqual(shown(self.verb("status", *S, task)), shown(wanted))
        self.assertEqual(shown(self.verb("kill", *S, task)), shown(wanted))
        self.assertEqual(shown(self.verb("wait", *S, task, status=None)), shown(wanted))
        self.assertEqual(self.verb("output", *S, task)["stdout"], text)
        task = self.start("seq 400000; echo end >&2", session="many")
        ended = self.verb("wait", "--session", "many", task)
        self.assertTrue(ended["stdout"].startswith("1\n2\n") and ended["stdout"].endswith("\n400000\n"))
        self.assertLess(len(ended["stdout"]), 101 << 10)
        self.assertEqual((ended["stdout_bytes"], ended["stderr"], ended["truncated"]),
                         (2688895, "end\n", {"stdout": True, "stderr": False}))

    def test_stdin_takes_what_comes_on_stdin(self):
        task = self.start("cat")
        self.verb("stdin", *S, "--close", task, input=b"some\ntext", stdin=None)
        self.assertEqual(self.verb("wait", *S, task)["stdout"], "some\ntext")

    def test_stdin_takes_more_than_may_wait(self):
        """In parts, none of which ends within a character."""
        text = "äöü€" * (300 << 10)
        task = self.start("sha256sum; sleep 0")
        self.verb("stdin", *S, "--close", task, input=text.encode(), stdin=None)
        self.assertEqual(self.verb("wait", *S, task)["stdout"].split()[0], hashlib.sha256(text.encode()).hexdigest())

    # B5
    def test_an_empty_text_is_nothing_written(self):
        task = self.start("cat; echo end")
        self.assertEqual(self.verb("stdin", *S, task, "--text", ""), {"written": 0, "closed": False})
        self.assertEqual(self.verb("stdin", *S, task, "--text", "", "--close"), {"written": 0, "closed": True})
        self.assertEqual(self.verb("wait", *S, task)["stdout"], "end\n")

    def test_a_time_limit_on_the_command_line_is_the_operators(self):
        task = self.start("sleep 1000", "--timeout", "2h")
        self.assertEqual(self.verb("shell", *S, "--timeout", "2h", "-c", "echo hi")["stdout"], "hi\n")
        self.assertEqual(self.verb("shell", *S, "--timeout", "none", "-c", "echo hi")["stdout"], "hi\n")
        for method in ("run", "start"):
            answer = self.verb("call", *S, method, status=125, stdin=None,
                               input=b'{"command": "true", "timeout_ms": 7200000}')
            self.assertEqual(answer["error"]["code"], "above_ceiling", method)
        late = self.start("sleep 1000", "--timeout", "300ms")
        self.assertEqual(self.verb("wait", *S, late, status=124)["status"], "timed_out")
        self.assertTrue(self.verb("status", *S, task)["is_running"])

    def test_kill_ends_what_ignores_sigterm(self):
        task = self.start(
            f"trap '' TERM; (echo deaf; sleep 1000; : {self.marker}x) & sleep 1000")
        self.assertTrue(session_harness.until(
            lambda: self.verb("output", *S, task)["stdout"] == "deaf\n"))
        self.assertEqual(self.verb("kill", *S, "--grace", "200ms", task)["status"], "killed")
        self.assertEqual(session_harness.processes(self.marker + "x"), [])
        self.verb("wait", *S, task, status=137)

    def test_a_prompt_is_seen_and_answered(self):
        task = self.start("printf 'Continue? [y/N] '; read answer; printf 'half AKIAIOSFOD'; read more; echo NN7EXAMPLZ got $answer")
        seen = lambda text: session_harness.until(lambda: self.verb("output", *S, task)["stdout"] == text)
        self.assertTrue(seen("Continue? [y/N] "))
        self.verb("stdin", *S, "--text", "y", task)
        self.assertTrue(seen("Continue? [y/N] half "))
        self.verb("stdin", *S, "--text", "on", task)
        self.assertEqual(self.verb("wait", *S, task)["stdout"], "Continue? [y/N] half [REDACTED] got y\n")

    def test_kill_says_how_what_ended_by_itself_did(self):
        task = self.start("trap 'echo bye; exit 7' TERM; echo here; while :; do sleep 0.05; done")
        self.assertTrue(session_harness.until(
            lambda: self.verb("output", *S, task)["stdout"] == "here\n"))
        killed = self.verb("kill", *S, "--grace", "20s", task)
        self.assertEqual((killed["status"], killed["exit_code"], killed["signal"]), ("killed", 7, None))
        self.assertEqual(self.verb("wait", *S, task, status=7)["stdout"], "here\nbye\n")

    # B7, E9
    def test_follow_streams_and_match_filters(self):
        task = self.start("echo a1; echo b2 >&2; echo a3; exit 2")
        done = self.cli("output", *S, "--follow", task)
        events = [json.loads(line) for line in done.stdout.splitlines()]
        texts = {"stdout": "", "stderr": ""}
        for event in events[:-1]:
            self.assertEqual(event["event"], "output")
            texts[event["stream"]] += event["text"]
        self.assertEqual(texts, {"stdout": "a1\na3\n", "stderr": "b2\n"})
        self.assertEqual((events[-1]["event"], events[-1]["exit_code"]), ("exit", 2))
        done = self.cli("output", *S, "--follow", "--match", "^a", task)
        events = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([e.get("text") for e in events], ["a1", "a3", None])
        self.assertTrue(all(e["task_id"] == task for e in events))
        done = self.cli("output", *S, "--match", "(", task)
        self.assertEqual((done.returncode, json.loads(done.stdout)["error"]["code"]),
                         (125, "bad_value"))

    def test_what_verbs_make_of_answers_shows_no_control_character(self):
        control = "\u009b2J\x7f"
        task = self.start(f"echo A '{control}'")
        self.verb("wait", *S, task)
        for words in (("output", *S, task, "--follow"), ("output", *S, task, "--match", "A"), ("list",)):
            told = self.cli(*words).stdout.decode()
            self.assertTrue(any(control in json.dumps(json.loads(line), ensure_ascii=False)
                                for line in told.splitlines()), told)
            self.assertFalse(set(told) & set(control[::3]), told)
        done = self.cli("call", control, *S)
        self.assertFalse(set(done.stdout.decode()) & set(control[::3]), done)

    def test_follow_tells_what_was_refused_before_the_end(self):
        task = self.start("unshare -m true; echo done")
        for words in ((), ("--match", "^done")):
            done = self.cli("output", *S, "--follow", *words, task)
            events = [json.loads(line) for line in done.stdout.splitlines()]
            self.assertEqual([event["event"] for event in events][-2:], ["denial", "exit"], events)
            (denial,) = self.verb("status", *S, task)["denials"]
            self.assertEqual(events[-2], {"event": "denial", "task_id": task, **denial})

    def test_a_task_has_begun_at_one_time(self):
        tasks = [self.verb("start", *S, "-c", "true") for _ in range(20)]
        for task in tasks:
            for verb in ("wait", "status"):
                self.assertEqual(self.verb(verb, *S, task["task_id"])["started_at"], task["started_at"])

    # B13
    def test_follow_tells_what_there_was_in_its_order(self):
        """Each offset is where the text stands among the bytes of both streams."""
        task = self.start("for i in 1 2 3; do echo out$i; read x; echo err$i >&2; read x; done")
        for i in (1, 2, 3):
            for stream, text in (("stdout", f"out{i}\n"), ("stderr", f"err{i}\n")):
                self.assertTrue(session_harness.until(
                    lambda: self.verb("status", *S, task)[stream].endswith(text)))
                self.verb("stdin", *S, "--text", "on", task)
        self.verb("wait", *S, task)
        done = self.cli("output", *S, "--follow", task)
        events = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(events.pop()["event"], "exit")
        self.assertEqual("".join(event["text"] for event in events),
                         "out1\nerr1\nout2\nerr2\nout3\nerr3\n")
        at = 0
        for event in events:
            self.assertEqual((event["event"], event["offset"]), ("output", at))
            at += len(event["text"])
        done = self.cli("output", *S, "--follow", "--since", "20", task)
        events = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([(event["stream"], event["text"], event["offset"]) for event in events[:-1]],
                         [("stdout", "out3\n", 20), ("stderr", "err3\n", 25)])

    def test_reset_of_a_session_with_fresh_workspaces_ends_everything(self):
        fresh = self.profile({"workspace": {"mode": "fresh"}})
        self.verb("start", *S, "--profile", fresh, "-c", f"sleep 1000; : {self.marker}x")
        self.assertTrue(session_harness.until(
            lambda: session_harness.processes(self.marker + "x")))
        self.assertEqual(self.verb("reset", *S), {"workspace_cleared": False})
        self.assertEqual(session_harness.processes(self.marker + "x"), [])

    def test_what_is_no_offset_and_no_command_is_said_before_a_session_is_asked(self):
        for words, where in ((("output", "--since", "x", "none"), "--since"), (("shell",), "-c")):
            answer = self.verb(*words, status=125)
            self.assertEqual((answer["error"]["code"], answer["error"]["where"]), ("bad_flag", where))
        self.assertEqual(self.verb("list"), {"sessions": []})

    def test_an_empty_task_id_is_a_bad_value(self):
        task = self.start("sleep 1000")
        for method in ("status", "output", "stdin", "wait", "kill"):
            answer = self.verb("call", *S, method, status=125, input=b'{"task_id": ""}', stdin=None)
            self.assertEqual((answer["error"]["code"], answer["error"]["where"]),
                             ("bad_value", "/task_id"), method)
        self.assertTrue(self.verb("status", *S, task)["is_running"])

    def test_reset_ends_everything_and_clears_its_own_workspace(self):
        self.start(f"echo x > file; echo begun; sleep 1000; : {self.marker}x",
                   "--workspace", "own")
        follower = subprocess.Popen([harness.SBX_RUN, "output", *S, "--follow",
                                     self.verb("list", *S)["tasks"][0]["task_id"]],
                                    env=self.env, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.addCleanup(self.end, follower)
        self.assertTrue(session_harness.until(
            lambda: session_harness.processes(self.marker + "x")))
        # What it follows it tells: it is connected before the reset.
        self.assertEqual(json.loads(follower.stdout.readline())["text"], "begun\n")
        self.verb("reset", *S)
        self.assertEqual(session_harness.processes(self.marker + "x"), [])
        self.assertEqual(self.verb("list", *S)["tasks"], [])
        events = [json.loads(line)["event"] for line in follower.communicate(timeout=30)[0].splitlines()]
        self.assertIn("cancelled", events)
        task = self.start("ls")
        self.assertEqual(self.verb("wait", *S, task)["stdout"], "")

    # E8
    def test_the_workspace_lasts_and_tmp_does_not(self):
        self.verb("wait", *S, self.start("echo kept > file; echo gone > /tmp/file"))
        task = self.start("cat file; test ! -e /tmp/file")
        self.assertEqual(self.verb("wait", *S, task)["stdout"], "kept\n")

    def test_without_a_workspace_it_is_the_current_directory_which_reset_leaves_alone(self):
        task = self.start("pwd; echo kept > file")
        self.assertEqual(self.verb("wait", *S, task)["stdout"], self.work + "\n")
        self.verb("reset", *S)
        self.assertEqual(os.listdir(self.work), ["file"])
        # One that runs stays where it is.
        task = json.loads(self.cli("start", *S, "-c", "pwd", cwd="/").stdout)["task_id"]
        self.assertEqual(self.verb("wait", *S, task)["stdout"], self.work + "\n")

    def test_own_is_a_workspace_of_its_own(self):
        task = self.start("pwd", "--workspace", "own")
        self.start("true", "--workspace", "own")
        place = self.verb("wait", *S, task)["stdout"].strip()
        self.assertTrue(place.startswith(self.cache), place)
        self.start("true", "--workspace", place)
        answer = self.verb("start", *S, "--workspace", self.work, "-c", "true", status=125)
        self.assertEqual(answer["error"]["where"], "--workspace")

    def test_a_system_directory_is_no_workspace_unless_it_is_named(self):
        for place in ("/", "/usr/share", "/etc"):
            answer = self.verb("start", *S, "-c", "true", status=125, cwd=place)
            self.assertEqual((answer["error"]["code"], answer["error"]["where"]),
                             ("path_refused", "--workspace"), place)
        self.assertEqual(self.verb("list")["sessions"], [])
        # Where every run has a fresh one, it does not matter.
        profile = self.profile({"workspace": {"mode": "fresh"}})
        self.verb("start", "--session", "fresh", "--profile", profile, "-c", "true", cwd="/")

    def test_list_without_a_session_lists_the_sessions(self):
        self.assertEqual(self.verb("list"), {"sessions": []})
        task = self.start("sleep 1000", session="b")
        self.start("true", "--profile", "readonly", session="a")
        found = self.verb("list")["sessions"]
        self.assertEqual([(one["session"], one["profile"], one["workspace"]) for one in found],
                         [("a", "readonly", self.work), ("b", "default", self.work)])
        self.assertEqual([one["task_id"] for one in found[1]["tasks"]], [task])
        self.assertEqual(self.verb("list", "--session", "b")["tasks"][0]["task_id"], task)

    def test_a_verb_refuses_a_flag_that_it_cannot_honour(self):
        for verb, flags in {"start": ("--stream",),
                            "exec": ("--stream", "--merge", "--stdin"),
                            "check": ("--stream", "--approve", "--audit", "--owner-pid"),
                            "explain": ("--stream", "--approve", "--audit", "--owner-pid")}.items():
            for flag in flags:
                value = [] if flag in ("--stream", "--merge") else ["x"]
                done = self.cli(verb, flag, *value, "-c", "touch ran")
                self.assertEqual(done.returncode, 125, (verb, flag))
                self.assertIn(f"sbx-run {verb} cannot honour {flag} ", done.stderr.decode())
        for verb in ("call", "tool", "serve", "mcp"):
            for flag in ("-c", "--cwd", "--stdin", "--description"):
                done = self.cli(verb, f"{flag}=x" if flag != "-c" else "-cx", "run")
                self.assertEqual(done.returncode, 125, (verb, flag))
                self.assertIn(f"sbx-run {verb} cannot honour {flag} ", done.stderr.decode())
            done = self.cli(verb, "run", "--", "touch", "ran")
            self.assertEqual(done.returncode, 125, verb)
            self.assertIn("runs no command of its own", done.stderr.decode())
        self.assertEqual(os.listdir(self.work), [])

    def test_help_shows_what_the_verb_takes_with_the_names_of_the_values(self):
        text = self.cli("start", "--help").stdout.decode()
        self.assertIn("--allow-host HOST[:PORT]", text)
        self.assertNotIn("--stream", text)
        self.assertIn("--stream", self.cli("run", "--help").stdout.decode())
        self.assertNotIn("TEXT", self.cli("mcp", "--help").stdout.decode())

    def test_start_publishes_a_port(self):
        program = ("import http.server as h; s = h.HTTPServer(('127.0.0.1', 8000), "
                   "h.SimpleHTTPRequestHandler); print('up', flush=True); s.handle_request()")
        task = self.verb("start", *S, "--publish", "0:8000", "--", "python3", "-c", program)["task_id"]
        self.assertTrue(session_harness.until(
            lambda: self.verb("output", *S, task)["stdout"] == "up\n"))
        self.verb("kill", *S, task, "--grace", "10ms")
        published = self.verb("wait", *S, task, status=None)["sandbox"]["published"]
        self.assertEqual([port["port"] for port in published], [8000], published)
        answer = self.verb("start", *S, "--publish", "0:8001", "-c", "true", status=125)
        self.assertEqual(answer["error"]["where"], "--publish")

    def test_start_with_an_approval_runs_it_once(self):
        command = ("--", "sh", "-c", "rm -rf /nonexistent-sbx; echo ran")
        asked = self.verb("start", *S, *command, status=3)
        digest = asked["approval"]["digest"]
        task = self.verb("start", *S, "--approve", digest, *command)["task_id"]
        self.assertEqual(self.verb("wait", *S, task)["stdout"], "ran\n")
        again = self.verb("start", *S, "--approve", digest, *command, status=3)
        self.assertIn("used up", again["error"]["message"])
        answer = self.verb("start", *S, "--approve", "x", *command, status=125)
        self.assertEqual(answer["error"]["where"], "--approve")

    def test_a_given_workspace_is_used(self):
        task = self.start("pwd", "--workspace", self.work)
        self.assertEqual(self.verb("wait", *S, task)["stdout"], self.work + "\n")

    def test_a_session_keeps_what_it_was_started_with(self):
        self.start("true", "--profile", "readonly", "--workspace", self.work)
        self.start("true")
        self.start("true", "--profile", "readonly", "--workspace", os.path.join(self.work, "."))
        for flags in (["--profile", "default"], ["--workspace", self.base], ["--net", "open"],
                      ["--overlay"]):
            answer = self.verb("start", *S, *flags, "-c", "true", status=125)
            self.assertEqual(answer["error"]["code"], "session_failed", flags)
            self.assertEqual(answer["error"]["where"], flags[0])

    def test_what_a_session_runs_with_is_told_without_its_secrets(self):
        self.start("true", "--env", "MY_TOKEN=Zq7tR2mW9xK4vB1n", "--net", "outbound",
                   "--upstream-proxy", "http://joe:pw12345678@127.0.0.1:9")
        for flags, has in ((["--env", "OTHER=1"], "with --env MY_TOKEN=..., not with --env OTHER=..."),
                           (["--upstream-proxy", "http://127.0.0.1:8"], "with --upstream-proxy http://127.0.0.1:9")):
            answer = self.verb("start", *S, *flags, "-c", "true", status=125)
            self.assertIn(has, answer["error"]["message"])
            for secret in (b"Zq7tR2mW9xK4vB1n", b"pw12345678"):
                self.assertNotIn(secret, json.dumps(answer).encode())
        self.start("true", "--env", "MY_TOKEN=Zq7tR2mW9xK4vB1n")
        greeting = self.cli("call", *S, "hello").stdout
        self.assertIn(b"MY_TOKEN=", greeting)
        for secret in (b"Zq7tR2mW9xK4vB1n", b"pw12345678", b"joe"):
            self.assertNotIn(secret, greeting)

    def test_sessions_are_apart(self):
        task = self.start("true", session="one")
        self.start("true", session="two")
        answer = self.verb("status", "--session", "two", task, status=125)
        self.assertEqual(answer["error"]["code"], "task_not_found")

    def test_what_start_refuses_exits_as_run_does(self):
        for program in ("no-such-program", "/etc/passwd", "/no/such/path"):
            started = self.cli("start", *S, "--", program)
            run = self.raw("--", program)
            self.assertEqual((started.returncode, started.stderr), (run.returncode, run.stderr))
            answer = json.loads(started.stdout)
            self.assertEqual(answer["error"], json.loads(run.stdout)["error"])
            self.assertEqual(answer["status"], "error")
            self.assertNotIn("task_id", answer)
        self.assertEqual(self.verb("list", *S)["tasks"], [])
        self.verb("start", *S, status=125)
        for command, status, code in (("sudo id", 126, "denied"),
                                      ("rm -rf /data", 3, "needs_approval")):
            refused = self.cli("start", *S, "-c", command)
            self.assertEqual((refused.returncode, json.loads(refused.stdout)["status"]),
                             (status, code))
            lines = refused.stderr.decode().splitlines()
            self.assertEqual(len(lines), 1, lines)
            self.assertTrue(lines[0].startswith(f"sbx-run: {code}: "), lines)
        self.verb("start", *S, "--cwd", "/nowhere", "-c", "true", status=125)
        self.verb("start", *S, "--nonsense", "-c", "true", status=125)
        self.verb("start", "--session", "new", "--profile", "nope", "-c", "true", status=125)

    def test_verbs_do_not_start_a_session(self):
        for verb in (["status"], ["list"], ["reset"], ["wait", "x"], ["kill", "x"], ["output", "x"]):
            answer = self.verb(*verb, *S, status=125)
            self.assertEqual(answer["error"]["code"], "session_failed", verb)
        self.assertEqual(os.listdir(os.path.join(self.runtime, "sbx")), [])

    def test_names_are_checked(self):
        for name in ("../x", "a/b", ".x", "-x", "a" * 65, "a b", "ä", "a\n"):
            answer = self.verb("start", f"--session={name}", "-c", "true", status=125)
            self.assertEqual(answer["error"]["code"], "bad_flag", name)
        self.verb("list", "--session", "a" * 64, status=125)

    def test_a_hundred_tasks(self):
        tasks = [self.start(f"echo {i}") for i in range(100)]
        self.assertEqual(len(set(tasks)), 100)
        for i in (0, 50, 99):
            self.assertEqual(self.verb("wait", *S, tasks[i])["stdout"], f"{i}\n")

    # Two starters at once come to one server.
    def test_many_starters_at_once_share_one_server(self):
        for _ in range(5):
            answers = []

            def start():
                answers.append(self.cli("start", *S, "-c", "sleep 1000"))

            threads = [threading.Thread(target=start) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual([a.returncode for a in answers], [0] * 8, answers)
            self.assertEqual(len(self.verb("list", *S)["tasks"]), 8)
            self.verb("call", "shutdown", *S)
            self.assert_nothing_left()

    def test_a_task_started_without_input_reads_end_of_file(self):
        task = self.start("cat; echo end", "--stdin", "none")
        self.assertEqual(self.verb("wait", *S, "--timeout", "20s", task)["stdout"], "end\n")

    def test_owner_pid_ties_the_session_to_a_process(self):
        owner = subprocess.Popen(["/usr/bin/sleep", "1000"])
        self.addCleanup(self.end, owner)
        self.start(f"sleep 1000; : {self.marker}x", "--owner-pid", str(owner.pid))
        owner.kill()
        owner.wait()
        self.assert_nothing_left()

    def test_an_idle_session_leaves(self):
        self.verb("wait", *S, self.start("true"))
        self.assertTrue(session_harness.until(lambda: not self.left(), 40), self.left())

    def test_the_server_holds_nothing_of_its_starter(self):
        read_end, write_end = os.pipe()
        self.cli("start", *S, "-c", "sleep 1000", pass_fds=[write_end], stdout=subprocess.DEVNULL)
        os.close(write_end)
        self.assertEqual(os.read(read_end, 1), b"")  # it has no copy
        os.close(read_end)
        pid = json.loads(self.cli("call", "hello", *S).stdout)["pid"]
        self.assertEqual(os.readlink(f"/proc/{pid}/cwd"), "/")
        self.assertEqual(os.getsid(pid) == os.getsid(0), False)
        for fd in (0, 1, 2):
            self.assertEqual(os.readlink(f"/proc/{pid}/fd/{fd}"), "/dev/null")

    def test_sigterm_ends_a_server_whose_starter_ignored_it(self):
        self.cli("start", *S, "-c", "sleep 1000", stdout=subprocess.DEVNULL,
                 preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN))
        os.kill(json.loads(self.cli("call", "hello", *S).stdout)["pid"], signal.SIGTERM)
        self.assert_nothing_left()


class Place(session_harness.Case):
    """The runtime directory and what an attacker may have put there."""

    def test_it_is_made_private(self):
        self.verb("start", *S, "-c", "true")
        top = os.path.join(self.runtime, "sbx")
        self.assertEqual(stat.S_IMODE(os.stat(top).st_mode), 0o700)
        for name in os.listdir(top):
            self.assertEqual(stat.S_IMODE(os.stat(os.path.join(top, name)).st_mode), 0o600, name)

    def test_no_task_can_read_the_operators_token(self):
        """Not even where a root shows the directory: who has the token may approve."""
        place = self.runtime
        for flags in (["--ro", place], ["--rw", self.base], ["--profile", "readonly", "--ro", place]):
            session = ["--session", f"hidden-{len(flags)}-{flags[0][2:]}"]
            self.verb("start", *session, *flags, "-c", "true")
            sockets = os.path.join(place, "sbx")
            self.assertTrue([name for name in os.listdir(sockets) if name.endswith(".token")])
            task = self.verb("start", *session, "-c",
                             f"ls {place}; cat {sockets}/{session[1]}.sock.token")["task_id"]
            answer = self.cli("wait", *session, task)
            answer = json.loads(answer.stdout)
            self.assertEqual(answer["stdout"], "sbx\n", answer)
            self.assertIn("Permission denied", answer["stderr"])

    def test_one_that_is_open_to_others_or_a_symlink_is_refused(self):
        top = os.path.join(self.runtime, "sbx")
        os.mkdir(top)
        os.chmod(top, 0o755)
        self.assertEqual(self.verb("list", *S, status=125)["error"]["code"], "session_failed")
        os.rmdir(top)
        os.mkdir(os.path.join(self.base, "elsewhere"), 0o700)
        os.symlink(os.path.join(self.base, "elsewhere"), top)
        answer = self.verb("start", *S, "-c", "true", status=125)
        self.assertEqual(answer["error"]["code"], "session_failed")
        self.assertEqual(os.listdir(os.path.join(self.base, "elsewhere")), [])

    def test_a_symlink_in_place_of_the_socket_is_not_followed(self):
        top = os.path.join(self.runtime, "sbx")
        os.mkdir(top, 0o700)
        target = self.write("target", "precious")
        os.symlink(target, os.path.join(top, "s.sock.token"))
        self.verb("start", *S, "-c", "true")
        with open(target) as file:
            self.assertEqual(file.read(), "precious")

    def test_a_stale_socket_is_replaced(self):
        top = os.path.join(self.runtime, "sbx")
        os.mkdir(top, 0o700)
        stale = socket.socket(socket.AF_UNIX)
        os.chdir(top)
        stale.bind("s.sock")
        os.chdir("/")
        stale.close()
        self.verb("start", *S, "-c", "true")

    def test_another_protocol_is_said(self):
        top = os.path.join(self.runtime, "sbx")
        os.mkdir(top, 0o700)
        listener = socket.socket(socket.AF_UNIX)
        os.chdir(top)
        listener.bind("s.sock")
        os.chdir("/")
        listener.listen()
        self.addCleanup(listener.close)

        def serve():
            connection, _ = listener.accept()
            connection.makefile("rb").readline()
            connection.sendall(b'{"jsonrpc":"2.0","id":1,"result":{"version":"9","protocol":9}}\n')
            connection.close()

        thread = threading.Thread(target=serve)
        thread.start()
        answer = self.verb("start", *S, "-c", "true", status=125)
        thread.join()
        self.assertIn("another version", answer["error"]["message"])


if __name__ == "__main__":
    unittest.main()
