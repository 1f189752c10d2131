# SPDX-License-Identifier: Apache-2.0
"""Clients of one server that mean it harm, or have gone mad: it answers each line as it deserves,
stays small, and serves the others."""

import json
import os
import socket
import threading
import time
import unittest

import session_harness

MIB = 1 << 20


class Hostile(session_harness.Case):
    """Issue 5: a slow or dead client hurts no other."""

    def setUp(self):
        super().setUp()
        self.process, self.path, _ = self.socket_server("--workspace", self.work)
        self.other = self.connect(self.path)
        self.assertEqual(self.other.call("run", command="echo hi")["stdout"], "hi\n")

    def resident(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024

    def assert_serves_others(self):
        self.assertEqual(self.other.call("list"), {"tasks": []})
        self.assertEqual(self.other.call("run", command="echo hi")["stdout"], "hi\n")

    def patient(self):
        """A connection, once the server has taken those that wait."""
        for _ in range(2000):
            try:
                return self.connect(self.path)
            except BlockingIOError:  # its backlog is full
                time.sleep(0.01)
        self.fail("the server takes nobody")

    def pour(self, peer, data):
        """Sends as much as the server takes; it may hang up."""
        try:
            peer.socket.sendall(data)
        except OSError:
            pass

    def test_lines_that_are_no_requests(self):
        peer = self.connect(self.path)
        lines = [b"\0" * 100, b"\xff\xfe{}", b'{"a":' * 100_000, b"[" * 200_000, b'"' * 1000,
                 b'{"jsonrpc":"2.0","id":1,"method":"run","params":{"command":"\xed\xa0\x80"}}',
                 b'{"jsonrpc":"2.0","id":1e400,"method":"list","params":[]}',
                 b'{"jsonrpc":"2.0","id":{},"method":"list"}', b"null", b"-", b"\\",
                 b'{"jsonrpc":"2.0","id":"' + b"i" * 2000 + b'","method":"list"}',
                 b'{"jsonrpc":"2.0","id":2,"method":"' + b"m" * 100_000 + b'"}',
                 b'{"jsonrpc":"2.0","id":3,"method":"cancel","params":{"id":"nobody"}}']
        for line in lines[:-1]:
            peer.say(line + b"\n")
            self.assertIn("error", peer.hear(), line[:60])
        peer.say(lines[-1] + b"\n")
        self.assertEqual(peer.hear(), {"jsonrpc": "2.0", "id": 3, "result": {"cancelled": False}})
        self.assert_serves_others()

    def test_an_id_in_use_is_refused_and_free_again_afterwards(self):
        peer = self.connect(self.path)
        request = (b'{"jsonrpc":"2.0","id":"a","method":"run",'
                   b'"params":{"command":"while [ ! -e go ]; do sleep 0.05; done; echo done"}}\n')
        peer.say(request)
        peer.say(b'{"jsonrpc":"2.0","id":"a","method":"list"}\n')
        self.assertEqual(peer.hear()["error"]["data"]["code"], "bad_message")
        # Another client's id of the same name is another's.
        self.assertEqual(self.other.call("cancel", id="a"), {"cancelled": False})
        self.write("work/go", "")
        self.assertEqual(peer.hear()["result"]["stdout"], "done\n")
        peer.say(request)
        self.assertEqual(peer.hear()["result"]["stdout"], "done\n")

    def test_calls_after_and_during_a_reset(self):
        peer = self.connect(self.path)
        task = peer.call("start", command="trap '' TERM; touch deaf; sleep 1000")["task_id"]
        self.assertTrue(session_harness.until(
            lambda: os.path.exists(os.path.join(self.work, "deaf"))))
        reset = peer.send("reset", grace_ms=300)
        during = peer.error("run", command="true")
        self.assertEqual(during["data"]["code"], "session_failed")
        self.assertIn("result", peer.answer(reset))
        self.assertEqual(peer.error("status", task_id=task)["data"]["code"], "task_not_found")
        self.assertEqual(peer.call("run", command="echo again")["stdout"], "again\n")
        self.assertEqual(peer.call("reset"), {"workspace_cleared": False})

    def test_many_long_lines_at_once_are_bounded_together(self):
        peers = [self.connect(self.path) for _ in range(40)]
        piece = b'{"jsonrpc":"2.0","id":1,"method":"run","params":{"command":"' + b"x" * (12 * MIB)
        threads = [threading.Thread(target=self.pour, args=(peer, piece)) for peer in peers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assert_serves_others()
        self.assertLess(self.resident(), 400 * MIB)

    def test_a_flood_of_requests_that_nobody_reads(self):
        peers = [self.connect(self.path) for _ in range(8)]
        flood = b"".join(b'{"jsonrpc":"2.0","id":%d,"method":"explain","params":{"command":"ls"}}\n' % i
                         for i in range(20_000))
        for peer in peers:
            peer.socket.settimeout(0.2)
        threads = [threading.Thread(target=self.pour, args=(peer, flood)) for peer in peers]
        for thread in threads:
            thread.start()
        self.assert_serves_others()
        for thread in threads:
            thread.join()
        self.assert_serves_others()
        self.assertLess(self.resident(), 200 * MIB)

    def test_waiters_for_a_task_with_much_output_that_nobody_reads(self):
        peers = [self.connect(self.path) for _ in range(4)]
        task = self.other.call(
            "start", command="head -c 900000 /dev/zero | tr '\\0' x; echo; touch ready; cat",
            follow=False)["task_id"]
        ready = os.path.join(self.work, "ready")
        self.assertTrue(session_harness.until(lambda: os.path.exists(ready)))
        for peer in peers:
            waits = "".join(json.dumps({"jsonrpc": "2.0", "id": 9000 + i, "method": "wait",
                                        "params": {"task_id": task}}) + "\n" for i in range(1000))
            peer.say(waits)
            peer.call("hello")  # all of them have been read
        self.other.call("stdin", task_id=task, close=True)
        self.assertEqual(self.other.call("wait", task_id=task)["exit_code"], 0)
        self.assertEqual(self.other.call("run", command="echo hi")["stdout"], "hi\n")
        self.assertLess(self.resident(), 300 * MIB)

    def test_clients_that_come_and_go_in_the_middle_of_everything(self):
        pieces = [b"", b"{", b'{"jsonrpc":"2.0","id":1,"method":"list"}\n',
                  b'{"jsonrpc":"2.0","id":1,"method":"run","params":{"command":"sleep 1000"}}\n',
                  b'{"jsonrpc":"2.0","id":1,"method":"wait","params":{"task_id":"x"}}\n{"json']
        for i in range(200):
            peer = self.patient()
            peer.socket.sendall(pieces[i % len(pieces)])
            if i % 3 == 0:
                peer.socket.shutdown(socket.SHUT_WR)
            if i % 7 == 0:
                peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
            peer.close()
            peer.socket.close()
        self.assert_serves_others()
        fds = os.path.join("/proc", str(self.process.pid), "fd")
        self.assertTrue(session_harness.until(lambda: len(os.listdir(fds)) < 60))

    def test_more_clients_than_it_takes(self):
        many = [self.connect(self.path) for _ in range(300)]
        refused = 0
        for peer in many:
            try:
                peer.say(b'{"jsonrpc":"2.0","id":1,"method":"hello"}\n')
                answer = peer.hear()
            except OSError:
                answer = None
            refused += answer is None or "error" in answer
        self.assertEqual(refused, 300 - 255)
        self.assert_serves_others()


if __name__ == "__main__":
    unittest.main()
