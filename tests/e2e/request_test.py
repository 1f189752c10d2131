# SPDX-License-Identifier: Apache-2.0
"""Requests, as a caller sends them: what they may ask for, what they may not, and approvals."""

import base64
import itertools
import json
import os
import re
import subprocess
import unittest

import harness


class Request(harness.Case):
    """A request lowers a limit, and raises it only to its ceiling."""

    def ask(self, *flags, **request):
        done = self.raw("call", "run", *flags, "--workspace", self.work,
                        stdin=None,
                        input=json.dumps(request).encode())
        return json.loads(done.stdout), done.returncode

    def with_profile(self, **parts):
        return "--profile", self.profile(parts)

    def test_runs_a_command_or_an_argv(self):
        self.assertEqual(self.ask(command="echo $((1+1))")[0]["stdout"], "2\n")
        self.assertEqual(self.ask(argv=["echo", "a b"])[0]["stdout"], "a b\n")

    def test_its_page_has_every_field(self):
        schema = json.loads(self.raw("schema", "request").stdout)
        with open(os.path.join(harness.SOURCE, "docs", "request.md")) as page:
            named = {name for line in page if line.startswith("| `") for name in re.findall(r"`(\w+)`", line.split("|")[1])}
        self.assertEqual(named, set(schema["properties"]))

    def test_input_directory_and_merge_are_the_requests(self):
        os.mkdir(os.path.join(self.work, "sub"))
        answer, _ = self.ask(command="pwd; cat; echo err >&2", stdin="in\n", cwd="sub", merge=True)
        self.assertEqual(answer["stdout"], f"{self.work}/sub\nin\nerr\n")

    def test_what_costs_more_than_it_says_is_refused(self):
        answer, _ = self.ask(command="true", description="x" * 16385)
        self.assertEqual((answer.get("error") or answer)["code"], "too_large", answer)
        self.assertEqual((answer.get("error") or answer)["where"], "/description")
        self.assertEqual(self.ask(command="true", description="x" * 16384)[0]["status"], "exited")
        deep = "d/" * 1000 + "f"
        answer, _ = self.ask(command="true", files=[{"path": f"{i}{deep}", "content": ""} for i in range(101)])
        self.assertEqual((answer.get("error") or answer)["code"], "too_large", answer)
        self.assertEqual(os.listdir(self.work), [])

    def test_files_are_there_before_the_start(self):  # C1, C5
        answer, _ = self.ask(
            command="cat a/b.txt; ./run.sh; od -An -tx1 c",
            files=[{"path": "a/b.txt", "content": "text\n"},
                   {"path": "run.sh", "content": "#!/bin/sh\necho ran\n", "mode": "755"},
                   {"path": "c", "content_base64": base64.b64encode(b"\x00\xff").decode()}])
        self.assertEqual(answer["stdout"], "text\nran\n 00 ff\n")

    def test_files_go_to_the_overlay(self):
        self.write("work/q", "real\n")
        self.write("work/sub/f", "")
        self.write("work/dir/f", "in\n")
        os.chmod(self.work + "/dir", 0o700)
        answer, _ = self.ask(
            "--overlay", "--rw", self.work + "/sub", cwd="new/d",
            command="cd ../..; cat q new/d/x sub/g sub/e/h dir/f; ./r; stat -c '%n %a %u' new dir dir/g; echo more >> q",
            files=[{"path": "q", "content": "L\n"}, {"path": "new/d/x", "content": "X\n"},
                   {"path": "sub/g", "content": "G\n"}, {"path": "sub/e/h", "content": "H\n"},
                   {"path": "r", "content": "#!/bin/sh\necho ran\n", "mode": "755"},
                   {"path": "dir/g", "content": "", "mode": "600"}])
        uid = os.getuid()
        self.assertEqual(answer["stdout"], f"L\nX\nG\nH\nin\nran\nnew 755 {uid}\ndir 700 {uid}\ndir/g 600 {uid}\n", answer)
        self.assertEqual([(change["path"][len(self.work) + 1:], change["kind"]) for change in answer["changes"]],
                         [("dir/g", "created"), ("new", "created"), ("new/d", "created"), ("new/d/x", "created"),
                          ("q", "modified"), ("r", "created"), ("sub/e", "created"), ("sub/e/h", "created"),
                          ("sub/g", "created")])
        with open(self.work + "/q") as real:
            self.assertEqual(real.read(), "real\n")
        self.assertEqual(sorted(os.listdir(self.work) + os.listdir(self.work + "/sub")), ["dir", "f", "q", "sub"])

    def test_files_that_an_overlay_cannot_hold_are_refused(self):
        answer, _ = self.ask("--overlay", "--tmp-size", "1M", command="true", files=[{"path": "f", "content": "x" * 2**21}])
        self.assertIn("tmp_mb", answer["error"]["hint"])
        self.assertLess(len(answer["error"]["message"]), 1000)
        if harness.is_root():
            os.mkdir(self.work + "/theirs")
            os.chown(self.work + "/theirs", 65534, 65534)
            answer, _ = self.ask("--overlay", command="true", files=[{"path": "theirs/f", "content": ""}])
            self.assertEqual((answer["error"]["code"], answer["error"]["where"]), ("path_refused", "/files/0/path"), answer)

    def test_no_file_is_written_where_one_is_refused(self):  # C5
        os.symlink("/tmp", os.path.join(self.work, "out"))
        os.mkfifo(os.path.join(self.work, "fifo"))
        os.makedirs(os.path.join(self.work, ".git/hooks"))
        places = ("/etc/x", "../x", "a/../../x", "out/x", "fifo", ".git/hooks/x", "", "a\0b", ".")
        for path, flags in itertools.product(places, ((), ("--overlay",))):
            with self.subTest(path=path, flags=flags):
                answer, status = self.ask(*flags, command="true", files=[{"path": "good", "content": ""},
                                                                         {"path": path, "content": "x"}])
                self.assertEqual(status, 125)
                error = answer["error"]
                self.assertEqual(error["where"], "/files/1/path", error)
                self.assertFalse(os.path.exists(os.path.join(self.work, "good")))
        answer, status = self.ask(command="true", files=[{"path": "good", "content": ""},
                                                         {"path": "./good", "content": ""}])
        self.assertEqual(status, 125)
        self.assertFalse(os.path.exists(os.path.join(self.work, "good")))

    def test_no_file_is_written_where_a_missing_root_would_keep_commands_from_it(self):  # C5
        flags = self.with_profile(filesystem={"+roots": [
            {"path": "${workspace}/conf", "access": "ro", "optional": True},
            {"path": "${workspace}/.env", "access": "none", "optional": True}]})
        for path in ("conf/x", ".env", ".env/a"):
            for more in ((), ("--layer", "l"), ("--overlay",)):
                answer, _ = self.ask(*flags, *more, command="true", files=[{"path": path, "content": "x"}])
                self.assertEqual(answer["error"]["code"], "path_refused", answer)
        self.assertEqual(os.listdir(self.work), [])

    def test_a_limit_is_lowered_and_raised_to_its_ceiling_only(self):
        self.assertEqual(self.ask(command="sleep 20", timeout_ms=200)[0]["status"], "timed_out")
        flags = self.with_profile(limits={"timeout_ms": 1000}, ceilings={"timeout_ms": 5000})
        self.assertEqual(self.ask(*flags, command="true", timeout_ms=5000)[1], 0)
        answer, status = self.ask(*flags, command="true", timeout_ms=5001)
        self.assertEqual((answer["error"]["code"], answer["error"]["where"], status),
                         ("above_ceiling", "/timeout_ms", 125))
        self.assertIn("5001", answer["error"]["message"])
        self.assertIn("5000", answer["error"]["message"])
        for key, highest in (("timeout_ms", 5000), ("output_kb", 1024), ("file_kb", 16)):
            most = self.with_profile(limits={"timeout_ms": 1000, "file_kb": 16}, ceilings={"timeout_ms": 5000})
            for wanted in (highest + 1, 999999999, 2**53 - 1):
                error = self.ask(*most, command="true", **{key: wanted})[0]["error"]
                self.assertEqual((error["code"], error["where"]), ("above_ceiling", "/" + key))
                self.assertIn(f"{key} {wanted} is above the ceiling of {highest}", error["message"])
        free = self.with_profile(limits={"timeout_ms": None, "output_kb": None, "file_kb": None})
        self.assertEqual(self.ask(*free, command="true", timeout_ms=2**53 - 1, file_kb=2**53 - 1)[1], 0)

    def test_a_long_name_is_not_told_in_full(self):
        error = self.ask(**{"k" * 2_000_000: 1})[0]["error"]
        self.assertEqual((error["code"], error["where"][:3]), ("unknown_field", "/kk"))
        self.assertLess(len(json.dumps(error)), 60_000)

    def test_bad_params_are_named_with_their_place(self):
        for request, where in (({"command": "true", "argv": ["true"]}, "/argv"),
                               ({"command": "true", "timeout_ms": 0}, "/timeout_ms"),
                               ({"command": "true", "timeout_ms": -1}, "/timeout_ms"),
                               ({"command": "true", "timeout_ms": 1.5}, "/timeout_ms"),
                               ({"command": "true", "tiemout_ms": 5}, "/tiemout_ms"),
                               ({"command": 5}, "/command"),
                               ({"command": "true", "cwd": "no/such"}, "/cwd"),
                               ({"command": "true", "cwd": "/sys"}, "/cwd"),
                               ({"command": "true", "files": [{"path": "a"}]}, "/files/0")):
            with self.subTest(request=request):
                answer, status = self.ask(**request)
                self.assertEqual(status, 125)
                self.assertTrue(answer["error"]["where"].startswith(where), answer["error"])
        for slip in ("tiemout_ms", "timeout", "timeuot_ms"):
            hint = self.ask(command="true", **{slip: 5})[0]["error"]["hint"]
            self.assertEqual(hint, 'did you mean "timeout_ms"?')

    def test_null_is_absent(self):
        self.assertEqual(self.ask(command="true", timeout_ms=None, env=None, files=None)[1], 0)

    def test_the_environment_is_the_operators_to_open(self):
        answer, status = self.ask(command="echo $A", env={"A": "x"})
        self.assertEqual(status, 125)
        self.assertIn("environment.request", json.dumps(answer["error"]))
        flags = self.with_profile(environment={"request": True, "set": {"B": "operator"}})
        answer, _ = self.ask(*flags, command="echo $A $B", env={"A": "x", "B": "caller"})
        self.assertEqual(answer["stdout"], "x operator\n")
        answer, status = self.ask(*flags, command="true", env={"LD_PRELOAD": "/tmp/x.so"})
        self.assertEqual(status, 125)

    def test_a_network_that_is_not_granted_is_denied_with_the_grant(self):  # C4
        answer, status = self.ask(command="true", network=True)
        self.assertEqual((answer["status"], status), ("denied", 126))
        self.assertIn("network", answer["denials"][0]["grant"])


class Approval(harness.Case):
    """Only the operator's side grants, once, exactly that request."""

    def serve(self, *flags):
        server = subprocess.Popen([os.environ["SBX_RUN"], "serve", "--workspace", self.work,
                                   *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.stdin.close)
        self.last = 0
        return server

    def call(self, server, method, **params):
        self.last += 1
        message = {"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}
        server.stdin.write((json.dumps(message) + "\n").encode())
        server.stdin.flush()
        while True:
            answer = json.loads(server.stdout.readline())
            if answer.get("id") == self.last:
                return answer

    def test_a_granted_request_runs_once_inside_the_sandbox(self):  # E4
        server = self.serve()
        request = {"command": "git reset --hard; rm -rf /nonexistent-sbx; echo ran"}
        asked = self.call(server, "run", **request)["result"]
        self.assertEqual(asked["status"], "needs_approval")
        digest = asked["approval"]["digest"]
        self.assertTrue(asked["approval"]["rules"])
        # The caller's naming of it grants nothing.
        again = self.call(server, "run", **request, approval=digest)["result"]
        self.assertEqual(again["status"], "needs_approval")
        self.assertIn("result", self.call(server, "approve", digest=digest))
        other = self.call(server, "run", command=request["command"] + " ", approval=digest)
        self.assertEqual(other["result"]["status"], "needs_approval")
        done = self.call(server, "run", **request, approval=digest)["result"]
        self.assertEqual((done["status"], done["stdout"]), ("exited", "ran\n"))
        spent = self.call(server, "run", **request, approval=digest)["result"]
        self.assertEqual(spent["status"], "needs_approval")

    def test_check_answers_as_the_verb_does(self):
        server = self.serve()
        for command, verdict in (("ls", "allow"), ("sudo ls", "deny"), ("rm -rf /", "ask")):
            by_method = self.call(server, "check", command=command)["result"]
            self.assertEqual(by_method["verdict"], verdict)
            done = self.raw("check", "--workspace", self.work, "-c", command)
            self.assertEqual(json.loads(done.stdout), by_method)

    def test_a_digest_that_is_none_is_an_error(self):
        answer = self.call(self.serve(), "approve", digest="abc")
        self.assertEqual(answer["error"]["data"]["where"], "/digest")


if __name__ == "__main__":
    unittest.main()
