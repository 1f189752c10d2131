# SPDX-License-Identifier: Apache-2.0
"""The audit log: one line a run, whole, redacted, and written before anything can go wrong."""

import json
import os
import re
import stat
import subprocess
import unittest

import harness
import session_harness

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1cE3gI5"
KEYS = [
    "time",
    "session",
    "profile",
    "profile_sha256",
    "command",
    "description",
    "cwd",
    "verdict",
    "status",
    "exit_code",
    "signal",
    "stdout_bytes",
    "stderr_bytes",
    "duration_ms",
    "denials",
    "redactions",
    "error",
]


class Audit(harness.Case):
    def setUp(self):
        super().setUp()
        self.log = os.path.join(self.base, "audit.jsonl")

    def records(self):
        with open(self.log) as file:
            return [json.loads(line) for line in file]

    def test_a_run_leaves_one_record_with_the_keys_of_the_contract(self):  # A2 B14 C9
        command = "echo out; echo err >&2; exit 3"
        self.sh(command, "--audit", self.log, "--description", "three")
        (record,) = self.records()
        self.assertEqual(list(record), KEYS)
        self.assertRegex(record["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertIsNone(record["session"])
        self.assertEqual(record["profile"], "default")
        self.assertRegex(record["profile_sha256"], r"^[0-9a-f]{64}$")
        self.assertEqual(record["command"], command)
        self.assertEqual(record["description"], "three")
        self.assertEqual(record["cwd"], self.work)
        self.assertEqual(record["verdict"], "allow")
        self.assertEqual(record["status"], "exited")
        self.assertEqual(record["exit_code"], 3)
        self.assertIsNone(record["signal"])
        self.assertEqual((record["stdout_bytes"], record["stderr_bytes"]), (4, 4))
        self.assertGreater(record["duration_ms"], 0)
        self.assertEqual(record["denials"], [])
        self.assertEqual(record["redactions"], {"count": 0, "rules": []})
        self.assertIsNone(record["error"])
        self.assertEqual(stat.S_IMODE(os.stat(self.log).st_mode), 0o600)

    def test_the_profile_can_name_the_log_and_exec_is_recorded_too(self):
        profile = self.profile({"audit": {"file": self.log}})
        self.raw("exec", "--profile", profile, "-c", "kill -SEGV $$")
        self.sh("true", "--profile", profile)
        first, second = self.records()
        self.assertEqual((first["status"], first["signal"]), ("signaled", "SIGSEGV"))
        self.assertEqual(second["status"], "exited")
        self.assertEqual(first["profile_sha256"], second["profile_sha256"])

    def test_the_hash_is_that_of_the_resolved_profile(self):
        self.sh("true", "--audit", self.log)
        self.sh("true", "--audit", self.log, "--timeout", "5s")
        self.sh("true", "--audit", self.log, "--profile", "strict")
        first, second, third = [record["profile_sha256"] for record in self.records()]
        self.assertEqual(first, second)
        self.assertNotEqual(first, third)

    def test_secrets_do_not_reach_the_log(self):
        self.sh(f"echo {TOKEN}", "--audit", self.log, "--description", f"prints {TOKEN}")
        self.run_json("--audit", self.log, "--", f"/no/such/program {TOKEN}")
        with open(self.log) as file:
            self.assertNotIn(TOKEN, file.read())
        record = self.records()[0]
        self.assertEqual(record["command"], "echo [REDACTED]")
        self.assertEqual(record["redactions"]["count"], 1)

    def test_what_is_refused_before_it_runs_is_redacted_and_dated(self):
        secret = "Zq7tR2mW9xK4vB1n"
        env = {**os.environ, "MY_TOKEN": secret}
        cases = [({"command": f"echo {secret}", "description": secret}, ["--pass-env", "MY_TOKEN"]),
                 ({"argv": ["echo", secret]}, ["--scrub", "off"]),
                 ({"command": f"echo {secret}", "env": {"MY_TOKEN": secret}}, []),
                 ({"command": f"echo {secret}", "shell": "kept"}, ["--env", f"MY_TOKEN={secret}"])]
        for request, flags in cases:
            done = self.raw("call", "run", "--audit", self.log, *flags, env=env, stdin=None,
                            input=json.dumps({**request, "network": True}).encode())
            answer = json.loads(done.stdout)
            self.assertEqual((answer["status"], answer["error"]["code"]), ("denied", "not_granted"))
            self.assertNotIn(secret, done.stdout.decode() + done.stderr.decode(), request)
            self.assertGreater(answer["started_at"], "2020")
        with open(self.log) as file:
            self.assertNotIn(secret, file.read())
        self.assertEqual(len(self.records()), len(cases))
        for record in self.records():
            self.assertGreater(record["time"], "2020")

    def test_a_call_that_is_refused_for_its_params_is_recorded(self):  # B2 B14
        log = os.path.join(self.base, "refused.jsonl")
        for tool, params, command, where in (("bash", {"command": 7}, "", "/command"),
                                             ("shell", {"command": f"ls {TOKEN}", "timeout": 0}, "ls [REDACTED]", "/timeout")):
            done = self.raw("tool", tool, "--audit", log, input=json.dumps(params).encode(), stdin=None)
            self.assertEqual(done.returncode, 125)
            with open(log) as file:
                record = json.loads(file.readlines()[-1])
            self.assertEqual((record["command"], record["status"], record["exit_code"], record["error"]["where"]),
                             (command, "error", None, where))
            self.assertEqual(record["cwd"], os.path.realpath(self.work))
        self.assertEqual(json.loads(done.stdout)["command"], "ls [REDACTED]")

    def test_a_record_stands_on_a_line_of_its_own(self):
        torn = '{"status":"ex'
        with open(self.log, "w") as file:
            file.write(torn)
        self.sh("true", "--audit", self.log)
        self.sh("true", "--audit", self.log)
        with open(self.log) as file:
            first, *others = file.read().splitlines()
        self.assertEqual((first, [json.loads(line)["status"] for line in others]), (torn, ["exited"] * 2))

    def test_the_log_is_not_the_result_file(self):
        for name in (self.log, os.path.join(self.base, ".", "audit.jsonl")):
            done = self.raw("exec", "--result-file", name, "--audit", self.log, "-c", "true")
            self.assertEqual(done.returncode, 125, done)
            self.assertIn(b"--result-file and --audit name the same file", done.stderr)
            with open(self.log, "a") as file:
                file.write("kept\n")
        with open(self.log) as file:
            self.assertEqual(file.read(), "kept\nkept\n")

    def test_a_run_that_cannot_start_is_recorded(self):
        self.run_json("--audit", self.log, "--", "/no/such/program")
        (record,) = self.records()
        self.assertEqual(record["status"], "error")
        self.assertEqual(record["error"]["code"], "not_found")

    def test_what_a_flag_names_and_is_missing_is_recorded(self):
        flags = [(flag, "/no/such") for flag in ("--cwd", "--ro", "--rw", "--hide", "--stdin")]
        for flag, path in flags:
            self.raw(flag, path, "--audit", self.log, "-c", f"echo {TOKEN}")
        self.raw("exec", "--cwd", "/no/such", "--audit", self.log, "-c", "true")
        records = self.records()
        self.assertEqual([record["error"]["where"] for record in records], [flag for flag, _ in flags] + ["--cwd"])
        for record in records:
            self.assertEqual((record["status"], record["verdict"]), ("error", None))
            self.assertNotIn(TOKEN, record["command"])

    def test_a_log_that_cannot_be_written_is_an_error_before_the_start(self):
        real = self.write("real", "")
        os.symlink(real, os.path.join(self.base, "link"))
        os.mkfifo(os.path.join(self.base, "fifo"))
        for name in ("link", "fifo", "work", "no/such"):
            answer = self.sh("touch started", "--audit", os.path.join(self.base, name))
            self.assert_error(answer, "output_unwritable")
            self.assertEqual(answer["error"]["where"], "audit.file")
            self.assertEqual(self.last.returncode, 125)
        self.assertEqual(os.listdir(self.work), [])
        self.assertEqual(os.stat(real).st_size, 0)

    def test_records_of_concurrent_runs_stay_whole(self):
        command = "true # " + "x" * 6000
        runs = [
            subprocess.Popen(
                [harness.SBX_RUN, "--audit", self.log, "-c", command],
                cwd=self.work,
                stdout=subprocess.DEVNULL,
            )
            for _ in range(6)
        ]
        for run in runs:
            self.assertEqual(run.wait(harness.BOUND), 0)
        self.assertEqual([record["command"] for record in self.records()], [command] * 6)

    def test_the_command_cannot_forge_a_record(self):
        command = "echo '{\"status\": \"forged\"}'\ntrue"
        self.sh(command, "--audit", self.log, "--description", 'a"}\n{"status":"forged"}')
        (record,) = self.records()
        self.assertEqual(record["command"], command)
        self.assertEqual(record["status"], "exited")

    def test_other_fields_of_the_answer_are_redacted_too(self):
        answer = self.sh(f"true {TOKEN}", "--description", f"with {TOKEN}")
        self.assertEqual(answer["command"], "true [REDACTED]")
        self.assertEqual(answer["argv"][-1], "true [REDACTED]")
        self.assertEqual(answer["description"], "with [REDACTED]")
        self.assertFalse(re.search(TOKEN, self.last.stdout.decode()))


class Rotated(session_harness.Case):
    """The log of a session is moved, removed or replaced while it runs."""

    def setUp(self):
        super().setUp()
        self.log = os.path.join(self.base, "audit.jsonl")

    def commands(self, path):
        with open(path) as file:
            return [json.loads(line)["command"] for line in file]

    def goes_on_in_a_new_one(self, *flags):
        _, peer = self.server("--workspace", self.work, *flags)
        for i, take_away in enumerate((lambda: os.rename(self.log, self.log + ".1"), lambda: os.unlink(self.log))):
            peer.call("run", command=f"echo {i}")
            take_away()
            peer.call("run", command=f"echo then {i}")
            self.assertEqual(self.commands(self.log), [f"echo then {i}"])
            os.unlink(self.log)
        self.assertEqual(self.commands(self.log + ".1"), ["echo 0"])
        return peer

    def test_goes_on_in_a_new_one(self):
        self.goes_on_in_a_new_one("--audit", os.path.relpath(self.log, self.work))

    def test_what_ends_later_is_in_the_one_that_is_there_then(self):
        _, peer = self.server("--workspace", self.work, "--audit", self.log)
        task = peer.call("start", command="read x; exit 3")["task_id"]
        os.rename(self.log, self.log + ".1")
        peer.call("stdin", task_id=task, text="x\n")
        peer.call("wait", task_id=task)
        self.assertEqual((self.commands(self.log), self.commands(self.log + ".1")), (["read x; exit 3"], []))

    def test_what_changes_a_layer_is_recorded(self):
        _, peer = self.server("--workspace", self.work, "--layer", "a", "--audit", self.log)
        peer.call("run", command="echo x > made")
        peer.call("layer.diff")
        peer.call("layer.checkpoint", label="first")
        self.assertEqual(peer.error("layer.rollback", label="none")["data"]["code"], "layer_not_found")
        with open(self.log) as file:
            records = [json.loads(line) for line in file]
        self.assertEqual([(record["command"], record["status"]) for record in records],
                         [("echo x > made", "exited"), ("layer checkpoint a first", "exited"),
                          ("layer rollback a none", "error")])

    def test_nothing_runs_where_no_new_one_can_be_had(self):
        peer = self.goes_on_in_a_new_one("--audit", self.log)
        real = self.write("real", "")
        for put in (lambda: os.symlink(real, self.log), lambda: os.mkfifo(self.log), lambda: os.mkdir(self.log)):
            put()
            for method, more in (("run", {}), ("run", {"shell": "kept"}), ("start", {})):
                error = peer.error(method, command="touch ran", **more)["data"]
                self.assertEqual((error["code"], error["where"]), ("output_unwritable", "audit.file"))
            for method, more in (("shell", {}), ("layer.checkpoint", {"name": "none"}),
                                 ("layer.rollback", {"name": "none", "label": "a"}), ("layer.commit", {"name": "none"}),
                                 ("layer.undo", {"name": "none"}), ("layer.discard", {"name": "none"})):
                error = peer.error(method, **more)["data"]
                self.assertEqual((error["code"], error["where"]), ("output_unwritable", "audit.file"), method)
            self.assertEqual(peer.call("list"), {"tasks": []})
            (os.rmdir if os.path.isdir(self.log) else os.unlink)(self.log)
        self.assertNotIn("ran", os.listdir(self.work))
        self.assertEqual(os.stat(real).st_size, 0)
        peer.call("run", command="echo last")
        self.assertEqual(self.commands(self.log), ["echo last"])


if __name__ == "__main__":
    unittest.main()
