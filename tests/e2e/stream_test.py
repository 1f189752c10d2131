# SPDX-License-Identifier: Apache-2.0
"""--stream: JSON lines while the command runs, bounded by its reader."""

import json
import os
import subprocess
import time
import unittest

import harness

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1cE3gI5"


class Stream(harness.Case):
    def start(self, command, *flags):
        process = subprocess.Popen(
            [harness.SBX_RUN, "--stream", *flags, "-c", command],
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def events(self, command, *flags):
        done = self.raw("--stream", *flags, "-c", command)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def text(self, events, stream):
        return "".join(e["text"] for e in events if e["event"] == "output" and e["stream"] == stream)

    def test_output_comes_while_the_command_runs_and_the_result_last(self):  # E9
        os.mkfifo(os.path.join(self.work, "go"))
        process = self.start("echo first; read line < go; echo second >&2; exit 4")
        first = json.loads(process.stdout.readline())
        self.assertEqual((first["event"], first["stream"]), ("output", "stdout"))
        self.assertEqual((first["text"], first["offset"]), ("first\n", 0))
        self.assertIsNone(process.poll())
        with open(os.path.join(self.work, "go"), "w") as pipe:
            pipe.write("\n")
        rest = [json.loads(line) for line in process.stdout]
        self.assertEqual(rest[0]["stream"], "stderr")
        self.assertEqual([e["event"] for e in rest], ["output", "result"])
        self.assertEqual(rest[-1]["exit_code"], 4)
        self.assertEqual(rest[-1]["stdout"], "first\n")
        self.assertEqual(process.wait(harness.BOUND), 4)

    def test_offsets_lead_from_one_event_to_the_next(self):
        events = self.events("for i in 1 2 3; do echo é$i; sleep 0.05; done; seq 1 50000")
        at = 0
        for event in events[:-1]:
            self.assertEqual(event["offset"], at)
            at += len(event["text"].encode())
        self.assertEqual(at, events[-1]["stdout_bytes"])

    def test_nothing_is_left_out_although_the_result_is_capped(self):
        events = self.events("seq 1 200000", "--max-output", "4K")
        self.assertTrue(events[-1]["truncated"]["stdout"])
        expected = "".join(f"{i}\n" for i in range(1, 200001))
        self.assertEqual(self.text(events, "stdout"), expected)

    def test_a_secret_in_two_halves_is_redacted_and_text_is_valid(self):
        command = f"printf {TOKEN[:9]}; sleep 0.1; echo {TOKEN[9:]}; printf '\\xe2\\x82'; sleep 0.1; printf '\\xac\\xff\\n'"
        events = self.events(command)
        self.assertEqual(self.text(events, "stdout"), "[REDACTED]\n€\ufffd\n")

    def test_text_that_is_cut_in_a_character_is_put_together(self):
        off = self.profile({"output": {"redact": False}})
        command = "printf '\\xe2\\x82'; sleep 0.2; printf '\\xac|'; sleep 0.2; printf '\\xe2'"
        self.assertEqual(self.text(self.events(command, "--profile", off), "stdout"), "€|\ufffd")

    def test_refused_calls_are_told_before_the_result(self):
        events = self.events("unshare -m true; true")
        denial = next(e for e in events if e["event"] == "denial")
        self.assertEqual((denial["layer"], denial["operation"]), ("seccomp", "unshare"))
        self.assertEqual(events[-1]["event"], "result")
        self.assertEqual(events[-1]["denials"][0]["operation"], "unshare")

    def test_a_slow_reader_holds_the_command_back(self):
        # 12 MB, of which the reader takes nothing for a while.
        process = self.start("yes 0123456789 | head -c 12000000; touch done", "--timeout", "50s")
        peak = 0
        for _ in range(20):
            time.sleep(0.05)
            self.assertFalse(os.path.exists(os.path.join(self.work, "done")))
            with open(f"/proc/{process.pid}/status") as status:
                fields = dict(line.split(":", 1) for line in status)
            peak = max(peak, int(fields["VmRSS"].split()[0]))
        self.assertLess(peak, 40 * 1024)
        size = 0
        last = None
        for line in process.stdout:
            last = json.loads(line)
            size += len(last.get("text", ""))
        self.assertEqual(size, 12000000)
        self.assertEqual((last["event"], last["status"]), ("result", "exited"))
        self.assertTrue(os.path.exists(os.path.join(self.work, "done")))

    def test_without_its_reader_the_command_ends(self):
        process = self.start("echo first; sleep 30; touch survived")
        process.stdout.readline()
        process.stdout.close()
        self.assertEqual(process.wait(harness.BOUND), 125)
        self.assertFalse(os.path.exists(os.path.join(self.work, "survived")))

    def test_an_error_is_a_result_event_too(self):
        (event,) = self.events("true", "--timeout", "soon")
        self.assertEqual(event["event"], "result")
        self.assert_error(event, "bad_flag")

    def test_exec_keeps_no_output(self):
        """All of it is the caller's: no limit holds it, and none is told to be in force."""
        done = self.raw("exec", "--max-output", "1K", "-c", "seq 3000")
        self.assertEqual((done.returncode, done.stdout), (125, b""))
        self.assertIn(b"exec cannot honour --max-output", done.stderr)
        profile = self.profile({"limits": {"output_kb": 1}})
        path = os.path.join(self.base, "result")
        self.raw("exec", "--profile", profile, "--result-file", path, "-c", "true")
        with open(path) as file:
            limits = json.load(file)["sandbox"]["limits"]
        self.assertIn("timeout", self.sh("true")["sandbox"]["limits"])
        self.assertIn("output", self.sh("true", "--profile", profile)["sandbox"]["limits"])
        self.assertNotIn("output", limits)

    def test_exec_does_not_stream(self):
        done = self.raw("exec", "--stream", "-c", "touch started")
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"--stream", done.stderr)
        self.assertEqual(os.listdir(self.work), [])


if __name__ == "__main__":
    unittest.main()
