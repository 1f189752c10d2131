# SPDX-License-Identifier: Apache-2.0
"""`sbx-run mcp` from outside: both eras of the protocol in one process, by a scripted client."""

import json
import os
import shutil
import signal
import subprocess
import time
import unittest

from harness import Case, SBX_RUN, SOURCE
from mcp_client import MODERN, Client, meta

NAMES = ["bash", "bash_output", "kill_shell", "shell", "bash_exec", "execute_command",
         "code_execution"]


class McpCase(Case):
    def client(self, *flags, **options):
        client = Client(*flags, cwd=self.work, **options)
        self.addCleanup(client.close)
        return client

    def assert_conforms(self, schema, value):
        """The part of JSON Schema that the output schemas use."""
        types = schema.get("type", [])
        types = types if isinstance(types, list) else [types]
        known = {"object": dict, "array": list, "string": str, "integer": int,
                 "number": (int, float), "boolean": bool, "null": type(None)}
        if types:
            self.assertTrue(any(isinstance(value, known[name]) for name in types),
                            f"{value!r} is not {types}")
        for key in schema.get("required", []):
            self.assertIn(key, value)
        for key, part in schema.get("properties", {}).items():
            if isinstance(value, dict) and key in value:
                self.assert_conforms(part, value[key])


class ModernTest(McpCase):
    """Revision 2026-07-28: no handshake, everything in _meta."""

    def test_discover_names_the_revision(self):
        result = self.client().ask("server/discover", {"_meta": meta()})["result"]
        self.assertEqual(result["supportedVersions"], [MODERN])
        self.assertEqual(result["resultType"], "complete")
        self.assertIn("tools", result["capabilities"])
        self.assertEqual(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "sbx")
        self.assertIsInstance(result["ttlMs"], int)
        self.assertIn(result["cacheScope"], ("public", "private"))

    def test_lists_tools_with_both_schemas(self):
        result = self.client().ask("tools/list", {"_meta": meta()})["result"]
        self.assertEqual([tool["name"] for tool in result["tools"]], NAMES)
        self.assertEqual(result["resultType"], "complete")
        self.assertIsInstance(result["ttlMs"], int)
        for tool in result["tools"]:
            self.assertEqual(tool["inputSchema"]["type"], "object")
            self.assertEqual(tool["outputSchema"]["type"], "object")

    def test_answers_have_content_and_structured_content(self):
        client = self.client()
        tools = {tool["name"]: tool
                 for tool in client.ask("tools/list", {"_meta": meta()})["result"]["tools"]}
        for name, arguments in (("bash", {"command": "echo hi", "description": "d"}),
                                ("shell", {"command": "echo hi"}),
                                ("execute_command", {"command": "echo hi"}),
                                ("code_execution", {"command": "echo hi"}),
                                ("bash", {"command": 3}),
                                ("shell", {"command": "x", "timeout": 0}),
                                ("bash_output", {"shell_id": "none"}),
                                ("code_execution", {})):
            result = client.modern(name, arguments)
            self.assertEqual(result["resultType"], "complete")
            self.assertEqual([part["type"] for part in result["content"]], ["text"])
            self.assert_conforms(tools[name]["outputSchema"], result["structuredContent"])
        shell = client.modern("shell", {"command": "echo hi"})
        self.assertEqual(json.loads(shell["content"][0]["text"]), shell["structuredContent"])

    def test_a_failing_command_is_an_ordinary_answer(self):
        result = self.client().modern("bash", {"command": "exit 3", "description": "d"})
        self.assertFalse(result["isError"])
        self.assertEqual(result["content"][0]["text"], "exit: 3")
        self.assertEqual(result["structuredContent"]["exit_code"], 3)

    def test_timed_out_refused_and_wrong_are_errors_for_the_model(self):
        client = self.client()
        late = client.modern("bash", {"command": "sleep 60", "description": "d", "timeout": 0.3})
        self.assertTrue(late["isError"])
        self.assertIn("bash: timed out after 0.3s\nexit: 124", late["content"][0]["text"])
        wrong = client.modern("bash", {"command": "x", "description": "d", "timeout": "soon"})
        self.assertTrue(wrong["isError"])
        self.assertIn("/timeout", wrong["content"][0]["text"])
        missing = client.modern("execute_command", {"command": "cd /", "timeout_ms": 99999999999})
        self.assertTrue(missing["isError"])

    def test_protocol_errors(self):
        client = self.client("--tool", "bash")
        def code(method, params):
            return client.ask(method, params)["error"]["code"]
        self.assertEqual(code("tools/call", {"name": "nope", "_meta": meta()}), -32602)
        self.assertEqual(code("tools/call", {"name": "shell", "arguments": {"command": "id"},
                                             "_meta": meta()}), -32602)  # not offered
        self.assertEqual(code("tools/call", {"_meta": meta()}), -32602)
        self.assertEqual(code("tools/call", {"name": "bash", "arguments": [], "_meta": meta()}),
                         -32602)
        self.assertEqual(code("tools/list", {"cursor": "x", "_meta": meta()}), -32602)
        self.assertEqual(code("prompts/list", {"_meta": meta()}), -32601)
        self.assertEqual(code("tools/list", {}), -32602)  # neither _meta nor initialize
        self.assertEqual(code("tools/list", None), -32602)
        no_capabilities = meta()
        del no_capabilities["io.modelcontextprotocol/clientCapabilities"]
        self.assertEqual(code("tools/list", {"_meta": no_capabilities}), -32602)
        error = client.ask("tools/list", {"_meta": meta(version="1900-01-01")})["error"]
        self.assertEqual(error["code"], -32022)
        self.assertEqual(error["data"], {"supported": [MODERN], "requested": "1900-01-01"})
        # Every other error carries ours.
        data = client.ask("prompts/list", {"_meta": meta()})["error"]["data"]
        self.assertEqual(set(data), {"code", "message", "where", "hint"})
        self.assertEqual(data["code"], "unknown_method")

    def test_protocol_errors_point_into_params(self):
        client = self.client("--tool", "bash")
        def say(where, *pairs):
            for code, method, params in pairs:
                data = client.ask(method, params)["error"]["data"]
                self.assertEqual((data["code"], data["where"]), (code, where), data)
        version = "/_meta/io.modelcontextprotocol~1protocolVersion"
        say(version, ("missing_field", "tools/list", {}))
        say(version, ("wrong_type", "tools/list",
                      {"_meta": {"io.modelcontextprotocol/protocolVersion": 5}}))
        say("/protocolVersion", ("wrong_type", "initialize", {"protocolVersion": 5}),
            ("missing_field", "initialize", {}))
        client.initialize()
        say("/name", ("missing_field", "tools/call", {}),
            ("wrong_type", "tools/call", {"name": 5}),
            ("unknown_method", "tools/call", {"name": "nope"}))
        say("/arguments", ("wrong_type", "tools/call", {"name": "bash", "arguments": []}))
        say("/requestState", ("bad_value", "tools/call", {"name": "bash", "requestState": "x"}))
        say("/cursor", ("bad_value", "tools/list", {"cursor": "x"}))
        say("/level", ("missing_field", "logging/setLevel", {}),
            ("wrong_type", "logging/setLevel", {"level": 1}),
            ("bad_value", "logging/setLevel", {"level": "loud"}))
        say("/_meta/progressToken",
            ("wrong_type", "tools/list", {"_meta": {"progressToken": {}}}))

    def test_every_request_whose_id_can_be_read_is_answered_under_it(self):
        client = self.client()
        big = b"123456789012345678901234567890"
        client.send_line(b'{"jsonrpc":"2.0","id":' + big + b',"method":"server/discover",'
                         b'"params":{"_meta":' + json.dumps(meta()).encode() + b"}}")
        self.assertEqual(client.wait(lambda m: "result" in m)["id"], int(big))
        for line in (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":1e999}}',
                     b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":1,"x":2}}'):
            client.send_line(line)
            self.assertEqual(client.wait(lambda m: "error" in m)["id"], 7)
        client.send_line(b'{"jsonrpc":"2.0","id":1e999,"method":"ping"}')  # beyond any reader's numbers
        self.assertIsNone(client.wait(lambda m: "error" in m)["id"])
        client.send_line(b'{"jsonrpc":"2.0","id":8.0,"method":"ping"}')
        self.assertEqual(client.wait(lambda m: "result" in m)["id"], 8)
        client.send_line(b'{"jsonrpc":"2.0","id":8.5,"method":"ping"}')
        self.assertEqual(client.wait(lambda m: "error" in m)["id"], 8.5)

    def test_a_notification_is_never_answered_and_null_is_absent(self):
        client = self.client()
        for params in (b"5", b"[]", b'{"requestId":1,"requestId":2}', b'{"requestId":{}}'):
            client.send_line(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":'
                             + params + b"}")
        result = client.ask("tools/list", {"_meta": meta(), "cursor": None})["result"]
        self.assertEqual([tool["name"] for tool in result["tools"]], NAMES)
        self.assertEqual(len(client.seen), 1, client.seen)
        self.assertIn("result", client.ask("ping", {"_meta": None}))
        result = client.modern("bash", {"command": "echo hi"}, requestState=None)
        self.assertFalse(result["isError"], result)

    def test_malformed_lines_are_answered_and_survived(self):
        client = self.client()
        for line, code in ((b"{", -32700), (b"\xff", -32700), (b"[]", -32600), (b"3", -32600),
                           (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
                           (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
                           (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
                           (b"[" * 5000, -32700)):
            client.send_line(line)
            self.assertEqual(client.wait(lambda m: "error" in m)["error"]["code"], code, line)
        client.send_line(b'{"jsonrpc":"2.0","id":9,"method":"' + b"x" * (17 << 20) + b'"}')
        refused = client.wait(lambda m: "error" in m)
        self.assertIsNone(refused["id"])
        self.assertEqual((refused["error"]["code"], refused["error"]["data"]["code"]), (-32600, "too_large"))
        self.assertIn("parts", refused["error"]["data"]["hint"])
        client.send_line(b"")
        self.assertIn("result", client.ask("server/discover", {"_meta": meta()}))

    def test_calls_run_beside_each_other(self):
        client = self.client()
        slow = client.start("tools/call", {"name": "bash", "_meta": meta(), "arguments": {
            "command": "until test -e go; do sleep 0.02; done", "description": "d"}})
        fast = client.modern("bash", {"command": "touch go; echo fast", "description": "d"})
        self.assertEqual(fast["content"][0]["text"], "fast")
        self.assertFalse(client.answer(slow)["result"]["isError"])

    def test_ids_may_be_strings(self):
        client = self.client()
        client.send({"id": "a\"b", "method": "server/discover", "params": {"_meta": meta()}})
        self.assertIn("result", client.answer("a\"b"))


class ProgressTest(McpCase):
    def test_progress_grows_and_carries_the_output(self):
        """E9: output is streamed while a long command runs."""
        client = self.client()
        id_ = client.start("tools/call", {
            "name": "bash", "_meta": meta(progressToken="tok"),
            "arguments": {"command": "echo one; until test -e go; do sleep 0.02; done; echo two",
                          "description": "d"}})
        first = client.wait(lambda m: m.get("method") == "notifications/progress"
                            and "one" in m["params"]["message"])
        self.assertEqual(first["params"]["progressToken"], "tok")
        second = client.wait(lambda m: m.get("method") == "notifications/progress")
        self.assertGreater(second["params"]["progress"], first["params"]["progress"])
        self.write("work/go", "", 0o644)
        self.assertEqual(client.answer(id_)["result"]["content"][0]["text"], "one\ntwo")

    def test_there_is_none_where_none_was_asked_for(self):
        client = self.client()
        client.modern("bash", {"command": "echo x; sleep 1.2", "description": "d"})
        self.assertEqual([m for m in client.seen if "method" in m], [])


class CancelTest(McpCase):
    def processes(self, mark):
        found = []
        for pid in os.listdir("/proc"):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    if mark.encode() in file.read():
                        found.append(pid)
            except OSError:
                continue
        return found

    def gone(self, mark):
        end = time.monotonic() + 30
        while time.monotonic() < end:
            if not self.processes(mark):
                return True
            time.sleep(0.02)
        return False

    def test_a_cancelled_call_is_killed_and_never_answered(self):
        client = self.client()
        mark = f"7{os.getpid()}1"
        id_ = client.start("tools/call", {"name": "bash", "_meta": meta(progressToken=1),
                                          "arguments": {"command": f"echo up; sleep {mark}",
                                                        "description": "d"}})
        client.wait(lambda m: m.get("method") == "notifications/progress")
        client.send({"method": "notifications/cancelled", "params": {"requestId": id_}})
        self.assertTrue(self.gone(f"sleep\0{mark}"))
        client.ask("server/discover", {"_meta": meta()})
        self.assertFalse([m for m in client.seen if m.get("id") == id_])

    def test_an_unknown_id_is_ignored(self):
        client = self.client()
        client.send({"method": "notifications/cancelled", "params": {"requestId": 99}})
        client.send({"method": "notifications/cancelled"})
        self.assertIn("result", client.ask("server/discover", {"_meta": meta()}))

    def test_the_end_of_stdin_ends_everything(self):
        client = self.client()
        mark = f"7{os.getpid()}2"
        started = client.modern("bash", {"command": f"trap '' TERM; sleep {mark}",
                                         "description": "d", "run_in_background": True})
        self.assertIn("shell_id", started["structuredContent"])
        client.start("tools/call", {"name": "bash", "_meta": meta(), "arguments": {
            "command": f"trap '' TERM; sleep {mark}", "description": "d"}})
        self.assertEqual(client.close(), 0)
        self.assertTrue(self.gone(f"sleep\0{mark}"))

    def test_what_came_before_the_end_is_answered(self):
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "bash", "arguments": {"command": "echo hi", "description": "d"},
            "_meta": meta()}}
        done = self.raw("mcp", input=json.dumps(call).encode(), stdin=None)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["result"]["content"][0]["text"], "hi")

    def test_sigterm_ends_it_at_once(self):
        client = self.client()
        client.ask("server/discover", {"_meta": meta()})
        client.process.send_signal(signal.SIGTERM)
        self.assertEqual(client.close(), 128 + signal.SIGTERM)


class LegacyTest(McpCase):
    """Clients that open with `initialize`."""

    def test_the_handshake_agrees_on_the_revision(self):
        for wanted, agreed in (("2025-11-25", "2025-11-25"), ("2025-06-18", "2025-06-18"),
                               ("2024-01-01", "2025-11-25")):
            result = self.client().initialize(version=wanted)["result"]
            self.assertEqual(result["protocolVersion"], agreed)
            self.assertIn("tools", result["capabilities"])
            self.assertEqual(result["serverInfo"]["name"], "sbx")

    def test_results_have_no_members_of_the_later_revision(self):
        client = self.client()
        client.initialize()
        self.assertEqual(set(client.ask("tools/list")["result"]), {"tools"})
        result = client.tool("bash", {"command": "echo hi", "description": "d"})
        self.assertEqual(set(result), {"content", "structuredContent", "isError"})

    def test_ping_and_levels(self):
        client = self.client()
        self.assertEqual(client.ask("ping")["result"], {})
        client.initialize()
        self.assertEqual(client.ask("ping")["result"], {})
        self.assertEqual(client.ask("logging/setLevel", {"level": "error"})["result"], {})
        for params in ({"level": "loud"}, {"level": 1}, {}):
            self.assertEqual(client.ask("logging/setLevel", params)["error"]["code"], -32602)

    def test_both_eras_in_one_process(self):
        client = self.client()
        client.initialize()
        self.assertIn("resultType", client.modern("bash", {"command": "true", "description": "d"}))
        self.assertNotIn("resultType", client.tool("bash", {"command": "true", "description": "d"}))


class TaskTest(McpCase):
    def test_background_shells_by_their_ids(self):
        """A7, A8 over MCP; what one poll gave the next does not."""
        client = self.client()
        started = client.modern("bash", {"command": "echo one; sleep 1000; echo two",
                                         "description": "d", "run_in_background": True})
        shell_id = started["structuredContent"]["shell_id"]
        self.assertEqual(started["content"][0]["text"],
                         f"shell_id: {shell_id}\nstarted in background: echo one; sleep 1000; echo two")
        text = ""
        while "one" not in text:
            text = client.modern("bash_output", {"shell_id": shell_id})["content"][0]["text"]
            self.assertTrue(text.startswith("status: running"), text)
        again = client.modern("bash_output", {"shell_id": shell_id})
        self.assertEqual(again["content"][0]["text"], "status: running")
        killed = client.modern("kill_shell", {"shell_id": shell_id})
        self.assertFalse(killed["isError"], killed)
        last = client.modern("bash_output", {"shell_id": shell_id})["content"][0]["text"]
        self.assertTrue(last.startswith("status: killed"), last)
        gone = client.modern("bash_output", {"shell_id": "nope"})
        self.assertTrue(gone["isError"])

    def test_the_shells_modes(self):
        """B3 to B7 over MCP."""
        client = self.client()
        client.initialize()
        started = client.tool("shell", {
            "command": "while read x; do echo got $x; echo ERROR $x; done",
            "run_in_background": True})["structuredContent"]
        self.assertEqual(set(started), {"task_id", "pid", "started_at"})
        task = started["task_id"]
        status = client.tool("shell", {"task_id": task})["structuredContent"]
        self.assertEqual(set(status), {"stdout", "stderr", "exit_code", "uptime_seconds",
                                       "is_running"})
        self.assertIsNone(status["exit_code"])
        stream = client.start("tools/call", {"name": "shell", "arguments": {
            "task_id": task, "stream": True, "stream_pattern": "ERROR|WARN"}})
        client.tool("shell", {"task_id": task, "stdin_text": "yes"})
        pushed = client.wait(lambda m: m.get("method") == "notifications/message")["params"]
        self.assertEqual(pushed["data"], {"task_id": task, "text": "ERROR yes"})
        killed = client.tool("shell", {"task_id": task, "kill": True})["structuredContent"]
        self.assertFalse(killed["is_running"])
        self.assertEqual(killed["exit_code"], 143)  # null only while it runs
        self.assertIn("got yes", killed["stdout"])
        self.assertFalse(client.answer(stream)["result"]["structuredContent"]["is_running"])


class ApprovalTest(McpCase):
    """E4: what asks, asks the user where the client can."""
    ASKS = {"command": "rm -rf /data/work/old"}

    def test_without_elicitation_it_is_an_error(self):
        result = self.client().modern("code_execution", self.ASKS)
        self.assertTrue(result["isError"])
        self.assertEqual(result["structuredContent"]["type"], "hitl_request")
        self.assertIn("digest", result["structuredContent"]["approval"])

    def asked(self, client):
        result = client.modern("code_execution", self.ASKS, {"elicitation": {}})
        self.assertEqual(result["resultType"], "input_required", result)
        request = result["inputRequests"]["approval"]
        self.assertEqual(request["method"], "elicitation/create")
        self.assertEqual(request["params"]["mode"], "form")
        self.assertIn("rm -rf /data/work/old", request["params"]["message"])
        self.assertEqual(request["params"]["requestedSchema"]["type"], "object")
        return result["requestState"]

    def retry(self, client, state, action="accept", arguments=None):
        return client.ask("tools/call", {
            "name": "code_execution", "arguments": arguments or self.ASKS,
            "_meta": meta({"elicitation": {}}), "requestState": state,
            "inputResponses": {"approval": {"action": action, "content": {}}}})

    def test_a_question_and_an_answer(self):
        client = self.client()
        done = self.retry(client, self.asked(client))["result"]
        self.assertEqual(done["resultType"], "complete")
        self.assertFalse(done["isError"], done)
        self.assertEqual(done["structuredContent"]["exit_code"], 0)

    def test_declined(self):
        client = self.client()
        for action in ("decline", "cancel"):
            done = self.retry(client, self.asked(client), action)["result"]
            self.assertTrue(done["isError"])
            self.assertIn("declined", done["content"][0]["text"])
            self.assertEqual(done["structuredContent"]["exit_code"], 126)  # refused, as elsewhere

    def test_what_is_asked_moves_no_terminal(self):
        """A command that would show the user another one than the one that runs."""
        command = "rm -rf /data/work/old\n# \x1b[2K\u009b2K\u202egnihton"
        result = self.client().modern("code_execution", {"command": command}, {"elicitation": {}})
        message = result["inputRequests"]["approval"]["params"]["message"]
        self.assertIn("rm -rf /data/work/old\n    # \\x1b[2K\\xc2\\x9b2K\\xe2\\x80\\xaegnihton", message)
        self.assertFalse(set(message) & set("\x1b\u009b\u202e"))

    def test_a_name_adds_no_line_to_the_reasons(self):
        command = "git -c $'alias.x=!echo\n- nothing is lost' push --force origin $'a\n- harmless'"
        result = self.client().modern("code_execution", {"command": command}, {"elicitation": {}})
        message = result["inputRequests"]["approval"]["params"]["message"]
        lines = message.splitlines()
        reasons = [line for line in lines if line.startswith("-")]
        self.assertTrue(reasons, message)
        self.assertFalse([line for line in lines if line.startswith(("- nothing is lost", "- harmless"))], message)
        self.assertEqual(lines[-3:], ["    " + line for line in command.splitlines()])

    def test_the_state_is_good_once(self):
        client = self.client()
        state = self.asked(client)
        self.retry(client, state)
        self.assertEqual(self.retry(client, state)["error"]["code"], -32602)

    def test_the_state_is_for_this_call_and_signed(self):
        client = self.client()
        state = self.asked(client)
        other = self.retry(client, state, arguments={"command": "rm -rf /data/other"})
        self.assertEqual(other["error"]["code"], -32602)
        forged = state[:-1] + ("0" if state[-1] != "0" else "1")
        self.assertEqual(self.retry(client, forged)["error"]["code"], -32602)
        self.assertEqual(self.retry(self.client(), state)["error"]["code"], -32602)

    def test_a_missing_answer_is_asked_for_again(self):
        client = self.client()
        result = client.modern("code_execution", self.ASKS, {"elicitation": {}},
                               requestState=self.asked(client))
        self.assertEqual(result["resultType"], "input_required")

    def test_a_client_of_before_is_asked_by_a_request(self):
        client = self.client()
        client.initialize({"elicitation": {}})
        for action, is_error in (("accept", False), ("decline", True)):
            id_ = client.start("tools/call", {"name": "code_execution", "arguments": self.ASKS})
            question = client.wait(lambda m: m.get("method") == "elicitation/create")
            self.assertIn("rm -rf", question["params"]["message"])
            client.send({"id": question["id"], "result": {"action": action, "content": {}}})
            self.assertEqual(client.answer(id_)["result"]["isError"], is_error)

    def test_all_that_the_caller_wrote_is_asked_about(self):
        profile = self.profile({"extends": "tool-code_execution", "environment": {"request": True}})
        client = self.client("--profile", profile)
        result = client.modern("bash_exec", {"command": 'rm -rf "$D"/x', "env": {"D": "/etc\nRun this"},
                                             "files": [{"path": "x.sh", "content": "evil"}]}, {"elicitation": {}})
        message = result["inputRequests"]["approval"]["params"]["message"]
        for line in ("    /etc", "    Run this", "    evil", "the variable D:", "the file x.sh:"):
            self.assertIn(line, message.split("\n"))
        result = client.modern("shell", {"command": "rm -rf ../x", "cwd": "/var", "run_in_background": True},
                               {"elicitation": {}})
        message = result["inputRequests"]["approval"]["params"]["message"]
        self.assertIn("in the background", message)
        self.assertIn("    /var", message.split("\n"))

    def test_a_client_of_before_that_cannot_answer(self):
        client = self.client()
        client.initialize({"elicitation": {}})
        id_ = client.start("tools/call", {"name": "code_execution", "arguments": self.ASKS})
        question = client.wait(lambda m: m.get("method") == "elicitation/create")
        client.send({"id": question["id"], "error": {"code": -32603, "message": "no"}})
        self.assertTrue(client.answer(id_)["result"]["isError"])


class FlagsTest(McpCase):
    def test_an_unknown_tool_is_named(self):
        done = self.raw("mcp", "--tool", "bassh")
        self.assertEqual(done.returncode, 125)
        self.assertEqual(done.stdout, b"")
        self.assertIn(b"did you mean bash?", done.stderr)

    def test_the_operators_flags_count(self):
        client = self.client("--timeout", "300ms")
        result = client.modern("shell", {"command": "sleep 60"})
        self.assertTrue(result["isError"])
        self.assertTrue(result["structuredContent"]["timed_out"])


class OfficialClientTest(McpCase):
    """The npm clients of the protocol's own project, where they are installed (SBX_MCP_CLIENTS names
    the directory that holds node_modules)."""

    def run_script(self, package):
        node = shutil.which("node")
        base = os.environ.get("SBX_MCP_CLIENTS", "")
        if node is None or not os.path.isdir(os.path.join(base, "node_modules", package)):
            self.skipTest(f"node with {package} is not here (SBX_MCP_CLIENTS)")
        script = os.path.join(SOURCE, "tests", "e2e", "mcp_official.mjs")
        env = {**os.environ, "SBX_MCP_PACKAGE": package}
        done = subprocess.run([node, script, base, SBX_RUN], cwd=self.work, env=env, timeout=120,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout.decode() + done.stderr.decode())
        return json.loads(done.stdout)

    def check_report(self, report):
        self.assertEqual(report["tools"], NAMES)
        self.assertEqual(report["hello"], "hi")
        self.assertEqual(report["failing"], {"isError": False, "exit_code": 3})
        self.assertTrue(report["progress"] > 0)
        self.assertTrue(report["cancelled"])

    def test_the_sdk_of_the_handshake(self):
        self.check_report(self.run_script("@modelcontextprotocol/sdk"))

    def test_the_client_of_the_current_revision(self):
        report = self.run_script("@modelcontextprotocol/client")
        self.check_report(report)
        self.assertEqual(report["version"], MODERN)


if __name__ == "__main__":
    unittest.main()
