# SPDX-License-Identifier: Apache-2.0
"""Diffs of layers that are made large: they hold up no server, cost no more memory than is said,
and end with whoever asked."""

import json
import os
import resource
import signal
import socket
import subprocess
import unittest

import harness
import kept_harness
import session_harness


class Busy(kept_harness.Kept):
    def serve(self, *flags):
        process = subprocess.Popen([harness.SBX_RUN, "serve", "--layer", "x", "--workspace", self.work, *flags],
                                   cwd=self.work, env=self.environment, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(self.end, process)
        return process, session_harness.Peer(process.stdout, process.stdin)

    @staticmethod
    def end(process):
        process.kill()
        process.wait()
        if not process.stdin.closed:
            process.stdin.close()

    def helpers(self):
        """The processes of sbx-layer for this workspace."""
        found = []
        for pid in session_harness.processes(self.work):
            try:
                with open(f"/proc/{pid}/comm") as file:
                    if file.read() == "sbx-layer\n":
                        found.append(pid)
            except OSError:
                continue
        return found

    def text(self, megabytes):
        self.inside(f"yes 'a line of some text, x = 1' | head -c {megabytes}000000 > text")

    def test_a_server_ends_while_a_diff_runs_and_leaves_the_layer_free(self):
        self.text(30)
        for how in ("end of input", signal.SIGTERM):
            process, peer = self.serve()
            peer.send("layer.diff")
            if how == "end of input":
                process.stdin.close()
            else:
                peer.call("list")
                process.send_signal(how)
            self.assertEqual(process.wait(session_harness.PATIENCE), 0, how)
            self.assertEqual(self.helpers(), [])
            self.assertEqual(self.inside("echo free")["stdout"], "free\n")

    def test_an_answer_that_is_too_large_is_an_error_and_the_session_goes_on(self):
        self.text(30)
        self.inside("echo small > small")
        _, peer = self.serve()
        task = peer.call("start", command="sleep 300")["task_id"]
        error = peer.error("layer.diff")
        self.assertEqual(error["data"]["code"], "too_large", error)
        self.assertIs(peer.call("status", task_id=task)["is_running"], True)
        # By name there is no limit but the file's own.
        self.assertIn("+small\n", peer.call("layer.diff", paths=["small"])["patch"])
        self.assertEqual(self.helpers(), [])

    def test_a_diff_is_cancelled_and_goes_with_its_client_and_its_server(self):
        self.text(120)  # of which a diff takes far longer than it may be left
        process, peer = self.serve()
        call = peer.send("layer.diff")
        self.assertEqual(peer.call("cancel", id=call), {"cancelled": True})
        self.assertEqual(peer.answer(call)["error"]["data"]["code"], "cancelled")
        self.assertEqual(self.helpers(), [])
        peer.send("layer.diff")
        self.assertTrue(harness.until(self.helpers))
        process.kill()
        self.assertTrue(harness.until(lambda: not self.helpers(), 3))

    def test_a_commit_holds_the_layer_when_its_server_is_killed(self):
        self.put("old", "1\n")
        self.inside("for i in $(seq 2000); do echo x > n$i; done; echo 2 > old")
        process, peer = self.serve()
        peer.send("layer.commit")
        self.assertTrue(harness.until(self.helpers))
        helper, = self.helpers()
        process.kill()
        process.wait()
        os.kill(helper, signal.SIGSTOP)  # now: as one whose parent dies while it is stopped it would be sent SIGHUP
        try:
            for verb in ("commit", "undo", "discard"):
                self.refused("layer_in_use", verb, "x")
        finally:
            os.kill(helper, signal.SIGCONT)
        self.assertTrue(harness.until(lambda: not self.helpers()))
        self.layer("commit", "x")  # nothing, or all
        self.assertEqual((self.read("old"), len(os.listdir(self.work))), ("2\n", 2001))
        self.layer("undo", "x")
        self.assertEqual((self.read("old"), os.listdir(self.work)), ("1\n", ["old"]))

    def test_nor_does_it_outlast_its_client(self):
        self.text(120)
        path = self.base + "/socket"
        process, peer = self.serve("--socket", path)
        self.assertIsNotNone(peer.hear())  # it is ready
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
            client.sendall(b'{"jsonrpc": "2.0", "id": 77, "method": "layer.diff", "params": {}}\n')
            self.assertTrue(harness.until(self.helpers))
            for _ in range(2):  # another client cancels nothing of it, nor does the end of one
                with socket.socket(socket.AF_UNIX) as other:
                    other.connect(path)
                    with other.makefile("rwb") as file:
                        answer = session_harness.Peer(file, file).call("cancel", id=77)
                self.assertEqual(answer, {"cancelled": False})
                self.assertNotEqual(self.helpers(), [])
        self.assertTrue(harness.until(lambda: not self.helpers(), 3))
        self.assertIsNone(process.poll())

    def test_so_many_at_once_and_no_more(self):
        self.inside("head -c 100000000 /dev/zero > zeros")
        _, peer = self.serve()
        calls = [peer.send("layer.diff") for _ in range(9)]
        error = peer.answer(calls[8])["error"]
        self.assertEqual(error["data"]["code"], "too_many", error)
        for call in calls[:8]:
            self.assertEqual(peer.call("cancel", id=call), {"cancelled": True})
        self.assertIn("changes", peer.call("layer.diff", paths=["none"]))

    def test_without_memory_it_says_so(self):
        self.inside("head -c 100000000 /dev/urandom > noise")
        done = self.raw("layer", "diff", "x", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (64 << 20, 64 << 20)))
        self.assertEqual((done.returncode, done.stdout), (125, b""))
        self.assertRegex(done.stderr, rb"^sbx-run: setup_failed: there is no memory left")

    def test_what_takes_no_disk_takes_no_memory(self):
        self.inside("truncate -s 5G big; echo a > small")
        peak = "import resource, subprocess, sys\n" \
               "done = subprocess.run(sys.argv[1:], capture_output=True)\n" \
               "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, done.returncode)\n" \
               "sys.stdout.write(done.stdout.decode())\n"
        def diff(*flags):
            done = subprocess.run(["/usr/bin/python3", "-c", peak, harness.SBX_RUN, "layer", "diff", "x", *flags],
                                  cwd=self.work, env=self.environment, capture_output=True, check=True)
            first, _, text = done.stdout.decode().partition("\n")
            kilobytes, status = first.split()
            self.assertLess(int(kilobytes), 1 << 20, flags)
            return int(status), text
        status, text = diff("--stat")
        self.assertEqual(status, 0)
        self.assertIn(f" big | Bin 0 -> {5 << 30} bytes\n", text)
        status, text = diff()
        self.assertEqual((status, json.loads(text)["error"]["code"]), (125, "too_large"))
        self.assertEqual(diff("small")[0], 0)


if __name__ == "__main__":
    unittest.main()
