# SPDX-License-Identifier: Apache-2.0
"""sbx-run serve: JSON-RPC on standard input and output, on a socket, on a descriptor."""

import contextlib
import json
import os
import signal
import socket
import stat
import subprocess
import time
import unittest

import harness
import session_harness


class Stream(session_harness.Case):
    def test_answers_a_file_of_requests_and_leaves(self):
        requests = "".join(
            json.dumps({"jsonrpc": "2.0", "id": i, "method": "run",
                        "params": {"command": f"echo {i}"}}) + "\n" for i in range(5))
        done = self.cli("serve", input=requests.encode(), stdin=None)
        self.assertEqual(done.returncode, 0, done.stderr)
        answers = {m["id"]: m["result"] for m in map(json.loads, done.stdout.splitlines())}
        self.assertEqual({i: answers[i]["stdout"] for i in answers}, {i: f"{i}\n" for i in range(5)})
        with open(self.write("requests", requests)) as file:
            done = self.cli("serve", stdin=file)
        self.assertEqual(len(done.stdout.splitlines()), 5)
        self.assert_nothing_left()

    def test_runs_are_concurrent(self):
        _, peer = self.server("--workspace", self.work)
        slow = peer.send("run", command="while [ ! -e go ]; do sleep 0.02; done; echo slow")
        self.assertEqual(peer.call("run", command="touch go; echo fast")["stdout"], "fast\n")
        self.assertEqual(peer.answer(slow)["result"]["stdout"], "slow\n")

    def test_a_call_is_cancelled_by_its_id(self):
        _, peer = self.server()
        slow = peer.send("run", command="sleep 1000")
        self.assertEqual(peer.call("cancel", id=slow), {"cancelled": True})
        self.assertEqual(peer.answer(slow)["result"]["status"], "cancelled")
        self.assertEqual(peer.call("cancel", id=slow), {"cancelled": False})
        slow = peer.send("run", command="sleep 1000")
        peer.say(json.dumps({"jsonrpc": "2.0", "method": "cancel", "params": {"id": slow}}) + "\n")
        self.assertEqual(peer.answer(slow)["result"]["status"], "cancelled")

    def test_what_ends_with_its_owner_says_so(self):
        owner = subprocess.Popen(["/usr/bin/sleep", "1000"])
        _, peer = self.server("--owner-pid", str(owner.pid))
        peer.call("start", command="sleep 1000")
        owner.kill()
        owner.wait()
        messages = iter(peer.hear, None)
        (told,) = [m["params"] for m in messages if m.get("method") == "task.cancelled"]
        self.assertEqual(told["reason"], "owner")

    def test_errors_carry_their_code_and_place(self):
        _, peer = self.server()
        for line, code, name in (
            (b"{\n", -32700, "bad_json"),
            (b'{"a":"\xff"}\n', -32700, "bad_json"),
            (b"[" * 100_000 + b"\n", -32700, "bad_json"),
            (b"[]\n", -32600, "bad_message"),
            (b'{"id":1,"method":"list"}\n', -32600, "bad_message"),
        ):
            peer.say(line)
            message = peer.hear()
            self.assertIsNone(message["id"] if name == "bad_json" else None)
            self.assertEqual((message["error"]["code"], message["error"]["data"]["code"]),
                             (code, name), line[:50])
        error = peer.error("nothing")
        self.assertEqual((error["code"], error["data"]["code"]), (-32601, "unknown_method"))
        error = peer.error("run", command="true", timeout_ms=-1)
        self.assertEqual((error["code"], error["data"]["where"]), (-32602, "/timeout_ms"))
        self.assertEqual(set(error["data"]), {"code", "message", "where", "hint"})
        error = peer.error("run", comand="true")
        self.assertIn("command", error["data"]["hint"])
        error = peer.error("status", task_id="nobody")
        self.assertEqual(error["data"]["code"], "task_not_found")
        error = peer.error("output")
        self.assertEqual(error["data"]["where"], "/task_id")
        error = peer.error("list", nothing=1)
        self.assertEqual(error["data"]["hint"], "no key is known here")
        error = peer.error("tool", name="nothing", params={})
        self.assertEqual((error["code"], error["data"]["code"], error["data"]["where"]),
                         (-32602, "unknown_method", "/name"))
        result = peer.call("run", command="true", cwd="nowhere")
        self.assertEqual((result["error"]["code"], result["error"]["where"]),
                         ("cwd_not_visible", "/cwd"))
        error = peer.error("explain", command="true", cwd="/nowhere")
        self.assertEqual((error["code"], error["data"]["where"]), (-32602, "/cwd"))
        peer.say(b'{"jsonrpc":"2.0","id":7,"method":"run","params":{"command":"a","command":"b"}}\n')
        self.assertEqual(peer.hear()["error"]["data"]["code"], "duplicate_key")
        bomb = b'{"jsonrpc":"2.0","id":8,"method":"run","params":{"env":' + b'{"a":' * 5000
        peer.say(bomb + b"1" + b"}" * 5000 + b"}}\n")
        message = peer.hear()
        self.assertEqual((message["id"], message["error"]["data"]["code"]), (8, "too_deep"))
        self.assertEqual(peer.call("list"), {"tasks": []})

    def test_neither_a_notification_nor_a_response_is_ever_answered(self):
        _, peer = self.server()
        for response in (b'"result":{}', b'"error":{"code":1,"message":"x"}'):
            peer.say(b'{"jsonrpc":"2.0","id":1,' + response + b"}\n")
        for params in (b"5", b'{"nothing":1}', b'{"a":1,"a":2}'):
            for method in (b"list", b"hello", b"nothing"):
                peer.say(b'{"jsonrpc":"2.0","method":"' + method + b'","params":' + params + b"}\n")
        peer.send("list")
        self.assertEqual(peer.hear().get("result"), {"tasks": []})

    def test_a_line_over_16_mib_is_answered_and_skipped(self):
        _, peer = self.server()
        peer.say(b"x" * (17 << 20) + b"\n")
        message = peer.hear()
        self.assertIsNone(message["id"])
        self.assertEqual(message["error"]["data"]["code"], "too_large")
        self.assertEqual(peer.call("list"), {"tasks": []})

    # E9
    def test_output_and_end_of_a_task_are_told(self):
        _, peer = self.server()
        task = peer.call("start", command="echo one; echo two >&2; exit 4")["task_id"]
        events = list(peer.events)
        while not events or events[-1].get("method") != "task.exit":
            events.append(peer.hear())
        texts = {e["params"]["stream"]: e["params"]["text"]
                 for e in events if e.get("method") == "task.output"}
        self.assertEqual(texts, {"stdout": "one\n", "stderr": "two\n"})
        self.assertEqual(events[-1]["params"]["task_id"], task)
        self.assertEqual(events[-1]["params"]["exit_code"], 4)

    def test_a_line_that_was_cut_is_no_match(self):
        _, peer = self.server("--profile", self.profile({"limits": {"output_kb": 64}}))
        task = peer.call("start", command="yes begin | tr '\\n' ' ' | head -c 20000 >long; "
                         "for i in {1..200}; do cat long; echo; done", follow=False)["task_id"]
        peer.call("wait", task_id=task)
        for pattern, count in (("^begin", 52), ("^(egin|gin|in|n| |$)", 0)):
            peer.events.clear()
            peer.call("output", task_id=task, match=pattern, follow=True, since=0)
            while not peer.events or peer.events[-1].get("method") != "task.exit":
                peer.events.append(peer.hear())
            self.assertEqual([len(event["params"]["text"]) for event in peer.events[:-1]], [16384] * count)

    def test_the_end_of_input_ends_tasks_and_exits_0(self):
        process, peer = self.server()
        peer.call("start", command="trap '' TERM; sleep 1000 & wait; sleep 1000")
        peer.call("start", command="sleep 1000")
        process.stdin.close()
        self.assertEqual(process.wait(session_harness.PATIENCE), 0)
        self.assert_nothing_left()

    def test_shutdown_and_signals_end_it_with_0(self):
        for end in ("shutdown", signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(end=end):
                process, peer = self.server()
                peer.call("start", command="sleep 1000")
                if end == "shutdown":
                    peer.call("shutdown")
                else:
                    process.send_signal(end)
                self.assertEqual(process.wait(session_harness.PATIENCE), 0)
                self.assert_nothing_left()

    def test_nobody_reads_so_it_ends(self):
        process, peer = self.server()
        peer.call("start", command="sleep 1000")
        process.stdout.close()
        # What the task's start still had to tell may have ended it before this is written.
        with contextlib.suppress(BrokenPipeError):
            peer.say('{"jsonrpc":"2.0","id":1,"method":"list"}\n')
        self.assertEqual(process.wait(session_harness.PATIENCE), 0)
        self.assert_nothing_left()

    # E8
    def test_a_workspace_of_its_own_lasts_as_long_as_the_session(self):
        process, peer = self.server()
        where = peer.call("run", command="echo kept > file; touch /tmp/gone; pwd")["stdout"].strip()
        self.assertTrue(where.startswith(self.cache), where)
        self.assertEqual(peer.call("run", command="cat file; ls /tmp/gone 2>&1")["stdout"][:5], "kept\n")
        peer.call("reset")
        self.assertEqual(peer.call("run", command="ls")["stdout"], "")
        process.stdin.close()
        process.wait(session_harness.PATIENCE)
        self.assertFalse(os.path.exists(where))

    def test_a_given_workspace_is_left_alone(self):
        process, peer = self.server("--workspace", self.work)
        peer.call("run", command="echo kept > file")
        peer.call("reset")
        process.stdin.close()
        process.wait(session_harness.PATIENCE)
        self.assertTrue(os.path.exists(os.path.join(self.work, "file")))

    def test_what_cannot_start_says_so_as_a_result(self):
        for flags in (["--profile", "nope"], ["--net", "x"], ["--fd", "0"], ["--session", "../x"],
                      ["--socket", "/a", "--fd", "9"], ["--socket", "/a/s", "--session", "a"], ["-c", "true"],
                      ["--idle", "soon"], ["--layer", "a"]):
            done = self.cli("serve", *flags)
            self.assertEqual(done.returncode, 125, flags)
            self.assertEqual(json.loads(done.stdout)["status"], "error", flags)
            self.assertEqual(done.stderr.count(b"\n"), 1)
        self.assert_nothing_left()

    def test_no_descriptor_of_its_own_is_taken_for_one_that_was_handed_over(self):
        for number in range(3, 24):
            done = self.cli("serve", "--fd", str(number))
            self.assertEqual((done.returncode, json.loads(done.stdout)["error"]["code"]), (125, "bad_flag"), number)

    def test_a_descriptor_that_is_standard_or_no_stream_is_refused(self):
        ours, stream = socket.socketpair()
        _, datagrams = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        for number, theirs in ((0, stream), (datagrams.fileno(), datagrams)):
            done = subprocess.run([harness.SBX_RUN, "serve", "--fd", str(number)], env=self.env, cwd=self.work,
                                  stdin=theirs, pass_fds=[theirs.fileno()], capture_output=True,
                                  timeout=harness.BOUND, check=False)
            self.assertEqual((done.returncode, json.loads(done.stdout)["error"]["code"]), (125, "bad_flag"), number)
        ours.setblocking(False)
        self.assertRaises(BlockingIOError, ours.recv, 1)

    def test_a_descriptor_that_was_handed_over(self):
        ours, theirs = socket.socketpair()
        ours.settimeout(session_harness.PATIENCE)
        process = subprocess.Popen(
            [harness.SBX_RUN, "serve", "--fd", str(theirs.fileno())], env=self.env, cwd=self.work,
            pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.addCleanup(self.end, process)
        theirs.close()
        peer = session_harness.Peer(ours.makefile("rb"), ours.makefile("wb"))
        ready = peer.hear()
        self.assertEqual(ready["method"], "server.ready")
        self.assertFalse(peer.call("hello")["operator"])
        self.assertTrue(peer.call("hello", token=ready["params"]["operator_token"])["operator"])
        self.assertEqual(peer.call("run", command="echo hi")["stdout"], "hi\n")
        peer.call("start", command="sleep 1000")
        peer.close()
        ours.close()
        self.assertEqual(process.wait(session_harness.PATIENCE), 0)
        self.assert_nothing_left()


class Socket(session_harness.Case):
    def test_the_socket_is_ours_alone(self):
        _, path, _ = self.socket_server()
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode), 0o700)

    def test_a_missing_directory_is_made_and_an_open_one_refused(self):
        path = os.path.join(self.base, "made", "s.sock")
        process = subprocess.Popen([harness.SBX_RUN, "serve", "--socket", path], env=self.env,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd=self.work)
        self.addCleanup(self.end, process)
        process.stdout.readline()
        self.assertEqual(stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode), 0o700)
        os.chmod(self.work, 0o777)
        link = os.path.join(self.base, "link")
        os.symlink(self.runtime, link)
        for bad in (self.work, link):
            done = self.cli("serve", "--socket", os.path.join(bad, "s.sock"))
            self.assertEqual(json.loads(done.stdout)["error"]["code"], "session_failed", bad)
        self.assertEqual(os.listdir(self.work), [])

    def test_a_path_longer_than_a_socket_address(self):
        deep = os.path.join(self.base, "d" * 100, "e" * 100)
        os.makedirs(deep, 0o700)
        process = subprocess.Popen(
            [harness.SBX_RUN, "serve", "--socket", os.path.join(deep, "s.sock")], env=self.env,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd=self.work)
        self.addCleanup(self.end, process)
        process.stdout.readline()
        self.assertEqual(self.connect(os.path.join(deep, "s.sock")).call("list"), {"tasks": []})

    def test_another_user_is_refused(self):
        if not harness.is_root():
            self.skipTest("needs two users")
        _, path, _ = self.socket_server()
        for place in (self.base, self.runtime):
            os.chmod(place, 0o755)
        os.chmod(path, 0o666)
        script = ("import os,socket,sys; os.setuid(12345); s=socket.socket(socket.AF_UNIX);"
                  f"s.connect({path!r}); print(s.makefile().read())")
        done = subprocess.run(["/usr/bin/python3", "-c", script], capture_output=True, timeout=60,
                              check=False)
        self.assertIn(b"not_granted", done.stdout, done.stderr)

    def test_the_second_server_on_a_path_is_refused_and_a_dead_ones_socket_replaced(self):
        process, path, _ = self.socket_server()
        done = self.cli("serve", "--socket", path)
        self.assertEqual(json.loads(done.stdout)["error"]["code"], "session_failed")
        self.connect(path).call("list")
        process.kill()
        process.wait()
        _, path, _ = self.socket_server()
        self.connect(path).call("list")

    def test_the_end_of_one_leaves_the_socket_of_one_that_came_later(self):
        first, path, _ = self.socket_server()
        os.unlink(path)
        self.socket_server()
        first.terminate()
        self.assertEqual(first.wait(session_harness.PATIENCE), 0)
        self.connect(path).call("list")

    def test_a_stale_socket_without_a_watchdog_is_replaced(self):
        path = os.path.join(self.runtime, "s.sock")
        stale = socket.socket(socket.AF_UNIX)
        stale.bind(path)
        stale.close()
        self.socket_server()
        self.connect(path).call("list")

    def test_what_stands_in_the_way_and_is_no_socket_is_left_alone(self):
        path = self.write("runtime/s.sock", "precious")
        done = self.cli("serve", "--socket", path)
        self.assertEqual(json.loads(done.stdout)["error"]["code"], "session_failed")
        with open(path) as file:
            self.assertEqual(file.read(), "precious")

    def test_tasks_outlive_their_client_and_runs_do_not(self):
        _, path, _ = self.socket_server()
        first = self.connect(path)
        task = first.call("start", command="sleep 1000; echo never", follow=False)["task_id"]
        first.send("run", command=f"sleep 1000; : {self.marker}run")
        second = self.connect(path)
        self.assertTrue(session_harness.until(
            lambda: session_harness.processes(self.marker + "run")))
        first.close()
        first.socket.close()
        self.assertTrue(session_harness.until(
            lambda: not session_harness.processes(self.marker + "run")))
        self.assertTrue(second.call("status", task_id=task)["is_running"])

    def test_a_client_that_does_not_read_hurts_no_other(self):
        process, path, _ = self.socket_server()
        slow = self.connect(path)
        slow.call("start", command="yes")
        for _ in range(200):
            slow.send("explain", command="true")
        other = self.connect(path)
        for i in range(20):
            self.assertEqual(other.call("run", command=f"echo {i}")["stdout"], f"{i}\n")
        with open(f"/proc/{process.pid}/status") as status:
            resident = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
        self.assertLess(resident, 200_000)

    def test_an_empty_approval_is_a_bad_value(self):
        _, path, _ = self.socket_server()
        error = self.connect(path).error("run", command="true", approval="")["data"]
        self.assertEqual((error["code"], error["where"]), ("bad_value", "/approval"))

    # A digest is granted by whoever showed the token.
    def test_only_the_token_makes_an_operator(self):
        _, path, token = self.socket_server()
        peer = self.connect(path)
        self.assertFalse(peer.call("hello")["operator"])
        self.assertEqual(peer.error("approve", digest="a" * 64)["data"]["code"], "not_granted")
        self.assertEqual(peer.error("hello", token="0" * 64)["data"]["where"], "/token")
        self.assertEqual(peer.error("hello", above_ceilings=True)["data"]["where"], "/above_ceilings")
        above = {"command": "true", "timeout_ms": 7_200_000}
        self.assertEqual(peer.error("run", **above)["data"]["code"], "above_ceiling")
        self.assertTrue(peer.call("hello", token=token)["operator"])
        self.assertEqual(peer.error("run", **above)["data"]["code"], "above_ceiling")
        self.assertEqual(peer.error("run", **above, above_ceilings=True)["data"]["where"], "/above_ceilings")
        peer.call("hello", token=token, above_ceilings=True)
        self.assertEqual(peer.call("run", **above)["status"], "exited")

    def test_an_idle_server_leaves_after_ten_seconds(self):
        process, path, _ = self.socket_server()
        began = time.monotonic()
        peer = self.connect(path)
        peer.call("run", command="true")
        peer.close()
        peer.socket.close()
        process.wait(60)
        self.assertEqual(process.returncode, 0)
        self.assertGreater(time.monotonic() - began, 9)
        self.assert_nothing_left()


class Verbs(session_harness.Case):
    def test_a_signal_cancels_what_a_session_runs_for_it(self):
        text = f"bash -c 'sleep 1000; : {self.marker}x'"
        command = json.dumps({"command": text}).encode()
        for words, params in ((["call", "--session", "s", "run"], command), (["tool", "--session", "s", "bash"], command),
                              (["shell", "--session", "s"], text.encode())):
            process = subprocess.Popen([harness.SBX_RUN, *words], env=self.env, cwd=self.work,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            self.addCleanup(self.end, process)
            process.stdin.write(params)
            process.stdin.close()
            process.stdin = None
            self.assertTrue(session_harness.until(lambda: session_harness.processes(self.marker + "x")), words)
            process.send_signal(signal.SIGINT)
            answer = process.communicate(timeout=30)[0]
            self.assertEqual(process.returncode, 130, (words, answer))
            self.assertIn(b"cancelled", answer, words)
            self.assertTrue(session_harness.until(lambda: not session_harness.processes(self.marker + "x")), words)


if __name__ == "__main__":
    unittest.main()
