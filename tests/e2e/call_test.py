# SPDX-License-Identifier: Apache-2.0
"""call: one method, in a session or without one."""

import json
import subprocess
import unittest

import harness
import session_harness

S = ("--session", "s")


class Call(session_harness.Case):
    def call(self, method, params, *flags, status=0):
        done = self.cli("call", method, *flags, input=json.dumps(params).encode(), stdin=None)
        self.assertEqual(done.returncode, status, (done.stdout, done.stderr))
        return json.loads(done.stdout)

    def test_a_run_of_its_own_and_in_a_session(self):
        for flags in ([], S):
            self.assertEqual(self.call("run", {"command": "echo hi"}, *flags)["stdout"], "hi\n")
            self.call("run", {"command": "exit 9"}, *flags, status=9)
            self.call("run", {"command": "kill -9 $$"}, *flags, status=137)
            self.call("run", {"command": "sleep 9", "timeout_ms": 100}, *flags, status=124)
            self.assertEqual(self.call("list", {}, *flags)["tasks"], [])

    def test_errors(self):
        for flags in ([], S):
            for method, params, code in (("run", {"comand": "x"}, "unknown_field"),
                                         ("nothing", {}, "unknown_method"),
                                         ("run", {}, "missing_field"),
                                         ("wait", {"task_id": "x"}, "task_not_found")):
                answer = self.call(method, params, *flags, status=125)
                self.assertEqual(answer["error"]["code"], code)
                self.assertEqual(set(answer), {"error"})

    def test_what_is_longer_than_a_message_is_an_error(self):
        for flags in ([], S):
            done = self.cli("call", "list", *flags, input=b" " * ((16 << 20) + 1), stdin=None)
            error = json.loads(done.stdout)["error"]
            self.assertEqual((done.returncode, error["code"], error["where"]), (125, "too_large", "--params"))

    def test_a_network_that_the_call_left_out_is_the_callers_to_ask_for(self):
        commands = {"allow": ["ls"], "network_allow": ["curl"]}
        for mode, mend in (("outbound", "\"network\": true"), ("none", "the operator may set network.mode = \"outbound\"")):
            profile = self.profile({"network": {"mode": mode}, "commands": commands}, mode + ".json")
            answer = self.call("run", {"command": "curl --version", "network": False}, "--profile", profile, status=126)
            self.assertIn(mend, answer["error"]["hint"])
            (denial,) = answer["denials"]
            self.assertEqual(denial["grant"], "" if mode == "outbound" else "network.mode = \"outbound\"")
        for variables, mend in (({"SBX_ALLOW_NETWORK": "true"}, "\"allow_network\": true"), ({}, "the operator may set ")):
            done = self.cli("tool", "bash_exec", input=b'{"command": "curl --version"}', stdin=None,
                            env={**self.env, **variables})
            self.assertIn(mend, json.loads(done.stdout)["error"]["hint"])

    def test_what_an_error_or_a_verdict_repeats_is_redacted(self):
        secret = "Zq7tR2mW9xK4vB1n"
        self.env["MY_TOKEN"] = secret
        pass_it = ["--pass-env", "MY_TOKEN"]
        for flags in (pass_it, [*pass_it, *S]):
            for method, params in (("status", {"task_id": secret}), ("run", {secret: 1}),
                                   ("run", {"command": "x", "cwd": f"../{secret}/.."}),
                                   ("run", {"command": "x", "files": [{"path": "a", "content": "", "mode": secret}]}),
                                   ("tool", {"name": "bash", "params": {secret: 1}})):
                done = self.cli("call", method, *flags, input=json.dumps(params).encode(), stdin=None)
                self.assertEqual(done.returncode, 125, done)
                self.assertNotIn(secret.encode(), done.stdout + done.stderr, method)
            checked = self.call("check", {"command": f"rm -rf /{secret}"}, *flags)
            self.assertEqual(checked["rules"][0]["target"], "/[REDACTED]")
        done = self.cli("check", *pass_it, "-c", f"rm -rf /{secret}")
        self.assertEqual(json.loads(done.stdout)["rules"][0]["target"], "/[REDACTED]")
        done = self.cli("tool", "bash", *pass_it, input=json.dumps({secret: 1}).encode(), stdin=None)
        self.assertNotIn(secret.encode(), done.stdout + done.stderr)

    def test_an_unknown_flag_is_named_where_a_word_is_missing(self):
        for verb in ("output", "status", "kill"):
            self.assertEqual(self.verb(verb, "--zzz", status=125)["error"]["where"], "--zzz")
        self.assertEqual(self.verb("output", status=125)["error"]["message"], "task_id is required")

    def test_a_bad_flag_gives_the_whole_result(self):
        for flags in (["--params", "/nope"], ["--params", "/nope", *S], ["--owner-pid", "x"]):
            answer = self.call("run", {}, *flags, status=125)
            self.assertEqual((answer["status"], answer["error"]["where"]), ("error", flags[0]))

    def test_params_from_a_file_or_none(self):
        path = self.write("params", '{\n "command":\n "echo hi"}\n')
        for flags in ([], S):
            done = self.cli("call", "run", "--params", path, *flags)
            self.assertEqual(json.loads(done.stdout)["stdout"], "hi\n")
            self.assertEqual(json.loads(self.cli("call", "list", *flags).stdout), {"tasks": []})

    def test_without_another_the_workspace_is_the_current_directory(self):
        for flags in ([], S):
            self.assertEqual(self.call("run", {"command": "pwd"}, *flags)["stdout"], self.work + "\n")
            done = self.cli("tool", "bash", *flags, input=b'{"command": "pwd", "description": "where"}', stdin=None)
            self.assertEqual(done.stdout.decode(), self.work + "\n", done)
        self.assertEqual(self.verb("reset", *S), {"workspace_cleared": False})

    def test_a_signal_ends_it_and_all_of_it(self):
        process = subprocess.Popen([harness.SBX_RUN, "call", "run"], env=self.env, cwd=self.work,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.end, process)
        process.stdin.write(json.dumps({"command": f"sleep 1000; : {self.marker}x"}).encode())
        process.stdin.close()
        process.stdin = None
        self.assertTrue(session_harness.until(
            lambda: len(session_harness.processes(self.marker + "x")) >= 1))
        process.terminate()
        answer = json.loads(process.communicate(timeout=30)[0])
        self.assertEqual((process.returncode, answer["status"]), (143, "cancelled"))
        self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main()
