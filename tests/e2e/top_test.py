# SPDX-License-Identifier: Apache-2.0
"""sbx-run top, driven in a terminal that people use: tmux."""

import os
import shutil
import subprocess
import unittest

import harness
import session_harness
from harness import until


class Top(session_harness.Case):
    def setUp(self):
        super().setUp()
        if shutil.which("tmux") is None:
            self.skipTest("tmux is not installed")
        self.tmux_socket = self.base + "/tmux"
        self.addCleanup(self.tmux, "kill-server")

    def tmux(self, *words):
        done = subprocess.run(["tmux", "-S", self.tmux_socket, "-f", "/dev/null", *words], env={**self.env, "LC_ALL": "C.UTF-8", "SHELL": "/bin/sh"},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=False)
        return done.stdout

    def top(self, *more, columns=110, rows=35):
        self.tmux("new-session", "-d", "-x", str(columns), "-y", str(rows), "-c", self.work,
                  " ".join([harness.SBX_RUN, "top", *more]) + "; echo EXIT=$?; cat")

    def text(self):
        return self.tmux("capture-pane", "-p")

    def shows(self, *texts):
        shown = lambda: all(text in self.text() for text in texts)  # noqa: E731
        self.assertTrue(until(shown), (texts, self.text()))

    def keys(self, *keys):
        for key in keys:
            self.tmux("send-keys", key)

    def start(self, session, command, *more):
        return self.verb("start", "--session", session, *more, "-c", command)["task_id"]

    def test_all_sessions_their_tasks_and_output_are_shown(self):
        self.start("first", "echo from-the-first; exec sleep 1000")
        self.start("second", "while :; do :; done")
        self.top()
        self.shows("2 sessions, 2 running", "first", "second", "from-the-first", "q quits")
        self.keys("q")
        self.shows("EXIT=0")

    def test_only_the_session_that_is_named(self):
        self.start("first", "sleep 1000")
        self.start("second", "sleep 1001")
        self.top("--session", "second")
        self.shows("1 session, 1 running", "sleep 1001")
        self.assertNotIn("sleep 1000", self.text())

    def test_what_comes_and_goes_is_seen(self):
        self.top()
        self.shows("0 sessions")
        task = self.start("later", "sleep 1000")
        self.shows("1 session, 1 running")
        self.verb("kill", "--session", "later", task)
        self.shows("0 running", "killed")

    def test_a_task_is_opened_followed_and_killed(self):
        task = self.start("one", "for i in 1 2 3; do echo line-$i; done; cat /root/x /etc/shadow; exec sleep 1000")
        self.top()
        self.shows("line-3")
        self.keys("Enter")
        self.shows("task " + task, "state     running", "command   for i in")
        self.keys("f")
        self.shows("output of " + task, "line-1")
        self.keys("Escape", "k")
        self.shows("killed")
        self.assertEqual(self.verb("wait", "--session", "one", task, status=143)["status"], "killed")

    def test_a_screen_is_drawn_by_its_cells(self):
        self.start("one", "printf '\\033[2J\\033[4;10Hhere\\033[1;1Hthere\\033[?1049h\\033[3;3Hlast'; exec sleep 1000", "--pty")
        self.top()
        self.shows("  last", "sbx-run top: 1 session")
        self.assertNotIn("there", self.text().split("output of")[1])

    def test_a_command_is_approved_once_all_that_it_covers_was_in_view(self):
        self.start("one", "sleep 1000")
        asked = self.verb("call", "run", "--session", "one", status=3, stdin=None,
                          input=b'{"command": "rm -rf /opt/not-there", "env": {}}')
        self.assertEqual(asked["status"], "needs_approval")
        self.top()
        self.shows("1 approval waiting", "approve?", "rm -rf /opt/not-there")
        self.keys("Enter")
        self.shows(asked["approval"]["digest"], "PageDown shows more", 'request.command = "rm -rf /opt/not-there"')
        self.keys("a")
        self.shows("not yet")
        for _ in range(20):
            if "all has been in view" in self.text():
                break
            before = self.text()
            self.keys("PageDown")
            until(lambda: self.text() != before)  # noqa: B023
        self.shows("all has been in view")
        self.keys("a")
        self.shows("approved")
        done = self.verb("call", "run", "--session", "one", status=None, stdin=None,
                         input=b'{"command": "rm -rf /opt/not-there", "env": {}}')
        self.assertEqual(done["status"], "exited")

    def test_a_refused_one_is_gone_and_stays_asked(self):
        self.start("one", "sleep 1000")
        wanted = b'{"command": "rm -rf /opt/not-there"}'
        self.verb("call", "run", "--session", "one", status=3, stdin=None, input=wanted)
        self.top()
        self.shows("approve?")
        self.keys("r")
        self.shows("refused")
        self.assertTrue(until(lambda: "approve?" not in self.text()))
        again = self.verb("call", "run", "--session", "one", status=3, stdin=None, input=wanted)
        self.assertEqual(again["status"], "needs_approval")

    def test_a_small_terminal_will_do(self):
        self.start("one", "sleep 1000")
        self.top(columns=30, rows=8)
        self.shows("sleep 100", "? helps")
        self.keys("?")
        self.shows("keys")
        self.keys("q")
        self.shows("EXIT=0")

    def test_without_a_terminal_it_is_one_line(self):
        done = self.cli("top")
        self.assertEqual((done.returncode, done.stdout), (125, b""))
        self.assertEqual(done.stderr.count(b"\n"), 1)
        self.assertIn(b"no terminal", done.stderr)
        ours, theirs = os.openpty()
        self.addCleanup(os.close, ours)
        with open(theirs, "r+b", buffering=0) as terminal:
            for options in ({"stdin": terminal}, {"stdout": terminal}):
                done = subprocess.run([harness.SBX_RUN, "top"], env={**self.env, "TERM": "xterm"}, timeout=harness.BOUND, check=False,
                                      **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options})
                self.assertEqual((done.returncode, done.stdout or b""), (125, b""), options)

    def test_a_server_that_hangs_holds_up_nobody(self):
        self.start("hung", "sleep 1000")
        self.start("well", "sleep 1001")
        server = next(s["pid"] for s in self.verb("list")["sessions"] if s["session"] == "hung")
        os.kill(server, 19)
        self.addCleanup(os.kill, server, 18)
        self.top()
        self.shows("1 session, 1 running", "sleep 1001", "hung")
        self.keys("q")
        self.shows("EXIT=0")


class Approvals(session_harness.Case):
    """The methods that it uses."""

    def test_they_are_the_operators(self):
        process, path, token = self.socket_server("--workspace", self.work)
        peer = self.connect(path)
        for method, params in (("approvals", {}), ("decline", {"digest": "0" * 64})):
            self.assertEqual(peer.error(method, **params)["data"]["code"], "not_granted")
        peer.call("hello", token=token)
        self.assertEqual(peer.call("approvals"), {"approvals": []})
        self.assertEqual(process.poll(), None)

    def test_they_list_what_waits_and_show_what_it_covers(self):
        _, peer = self.server("--workspace", self.work)
        asked = peer.call("run", command="rm -rf /opt/a", stdin="in", files=[{"path": "f", "content_base64": "/w=="}])
        digest = asked["approval"]["digest"]
        (listed,) = peer.call("approvals")["approvals"]
        self.assertEqual((listed["kind"], listed["digest"], listed["command"]), ("command", digest, "rm -rf /opt/a"))
        self.assertEqual(listed["rules"], asked["approval"]["rules"])
        self.assertNotIn("covers", listed)
        (one,) = peer.call("approvals", digest=digest)["approvals"]
        self.assertEqual(one["covers"]["cwd"], self.work)
        self.assertEqual(one["covers"]["request"]["stdin"], "in")
        self.assertEqual(one["covers"]["request"]["files"][0]["content_base64"], "/w==")
        self.assertEqual(one["covers"]["policy"]["sandbox"]["workspace"], self.work)
        self.assertEqual(peer.call("decline", digest=digest), {"declined": True})
        self.assertEqual(peer.call("approvals"), {"approvals": []})
        self.assertEqual(peer.call("decline", digest=digest), {"declined": False})

    def test_what_is_granted_waits_no_longer(self):
        _, peer = self.server("--workspace", self.work)
        digest = peer.call("run", command="rm -rf /opt/a")["approval"]["digest"]
        peer.call("approve", digest=digest)
        self.assertEqual(peer.call("approvals"), {"approvals": []})

    def test_a_task_that_runs_tells_what_was_refused_to_it(self):
        _, peer = self.server("--workspace", self.work)
        task = peer.call("start", command="python3 -c 'import ctypes; ctypes.CDLL(None).mount(0, 0, 0, 0, 0)'; echo tried; exec sleep 1000", follow=False)["task_id"]
        self.assertTrue(until(lambda: "tried" in peer.call("output", task_id=task)["stdout"]))
        self.assertTrue(until(lambda: peer.call("status", task_id=task)["denials"]))
        (listed,) = peer.call("list")["tasks"]
        self.assertGreaterEqual(listed["denials"], 1)
        self.assertEqual((listed["connections"], listed["has_terminal"]), (0, False))


if __name__ == "__main__":
    unittest.main()
