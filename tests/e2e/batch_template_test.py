# SPDX-License-Identifier: Apache-2.0
"""Two batches at once over one directory, and one that waits for another's layers."""

import fcntl
import json
import os
import signal
import subprocess
import unittest

import batch_test
from harness import BOUND, SBX_RUN, until


class Together(batch_test.Case):
    def test_a_layer_in_use_is_not_thrown_away_by_another_batch(self):
        """Which throws away what one that was killed has left."""
        state = os.path.join(self.base, "state")
        environment = {**self.env, "XDG_STATE_HOME": state}
        shared = os.path.join(self.base, "shared")
        os.mkdir(shared)
        self.write("work/real", "as it was\n")
        command = (f"touch up; until [ -e {shared}/go ]; do sleep 0.05; done;"
                   " ls; cat real; echo new > real; cat real")
        flags = ["batch", "--template", self.work, "--jobs", "1", "--ro", shared, "--timeout", "50s"]
        first = subprocess.Popen(
            [SBX_RUN, *flags, self.tasks([{"id": "a", "command": command}])],
            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(self.end, first)
        self.assertTrue(until(lambda: any("up" in files for _, _, files in os.walk(state))))
        second = self.cli(*flags, self.tasks([{"id": "b", "command": "ls"}], "second.jsonl"), env=environment)
        self.write("shared/go", "")
        self.assertEqual(json.loads(second.stdout)["stdout"], "real\n", second)
        answer = json.loads(first.communicate(timeout=BOUND)[0])
        self.assertEqual(answer["stdout"], "real\nup\nas it was\nnew\n", answer)
        self.assertEqual({os.path.basename(change["path"]): change["kind"] for change in answer["changes"]},
                         {"real": "modified", "up": "created"}, answer)
        self.assertEqual(os.listdir(self.work), ["real"])


class Waiting(batch_test.Case):
    """Somebody makes a layer of the workspace, and holds its lock."""

    def setUp(self):
        super().setUp()
        state = os.path.join(self.base, "state")
        self.env["XDG_STATE_HOME"] = state
        self.cli("--layer", "first", "--workspace", self.work, "--", "true")
        self.store, = [top for top, _, files in os.walk(state) if "lock" in files and top.count("/names/") == 0]
        lock = open(self.store + "/lock")
        self.addCleanup(lock.close)
        fcntl.flock(lock, fcntl.LOCK_EX)

    def layers(self):
        return sorted(os.listdir(self.store + "/names"))

    def start(self, *words):
        process = subprocess.Popen([SBX_RUN, *words], env=self.env, cwd=self.work, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(self.end, process)
        self.assertTrue(until(lambda: len(self.layers()) == 2 or batch_test.servers_of(self.base)))
        return process

    def test_a_signal_ends_it_before_it_begins(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = self.start("--layer", "second", "--", "true")
            process.send_signal(number)
            answer = json.loads(process.communicate(timeout=BOUND)[0])
            self.assertEqual((process.returncode, answer["status"], answer["exit_code"], answer["error"]),
                             (128 + number, "cancelled", None, None), answer)
            self.assertEqual(self.layers(), ["first"])

    def test_the_end_of_the_owner_ends_it_before_it_begins(self):
        with subprocess.Popen(["sleep", "300"]) as owner:
            process = self.start("--layer", "second", "--owner-pid", str(owner.pid), "--", "true")
            owner.kill()
            answer = json.loads(process.communicate(timeout=BOUND)[0])
            self.assertEqual((process.returncode, answer["status"]), (129, "cancelled"), answer)

    def test_servers_end_with_their_batch(self):
        tasks = self.tasks([{"id": i, "command": "true"} for i in "ab"])
        for number, status in ((signal.SIGKILL, -9), (signal.SIGTERM, 143)):
            process = self.start("batch", "--jobs", "2", "--template", self.work, tasks)
            process.send_signal(number)
            self.assertEqual(process.wait(BOUND), status)
            self.assertTrue(until(lambda: not batch_test.servers_of(self.base), 3))
            self.assertTrue(until(lambda: self.layers() == ["first"], 3), self.layers())


if __name__ == "__main__":
    unittest.main()
