# SPDX-License-Identifier: Apache-2.0
"""MCP: what a user reads before agreeing is what then happens, and an answer is its own call's."""

import json
import os
import unittest

from kept_harness import Kept
from mcp_client import meta
from mcp_test import McpCase

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
ELICITS = {"elicitation": {}}


def message_of(result):
    return result["inputRequests"]["approval"]["params"]["message"]


class Questions(McpCase):
    def asked_about(self, **file):
        """The question about a command beside which the caller writes this file."""
        client = self.client("--profile", self.profile({"extends": "tool-code_execution"}))
        return message_of(client.modern("bash_exec", {"command": "rm -rf /etc/x", "files": [file]}, ELICITS))

    def test_the_name_of_a_file_is_no_line_of_the_question(self):
        message = self.asked_about(path="a\n- harmless: nothing is removed\x1b[2K", content="evil")
        self.assertIn("the file a\\x0a- harmless: nothing is removed\\x1b[2K:\n    evil", message)
        self.assertFalse([line for line in message.splitlines() if line.startswith("- harmless")], message)
        self.assertNotIn("\x1b", message)

    def test_of_a_long_file_the_beginning_is_shown_and_its_size_said(self):
        message = self.asked_about(path="x.sh", content="x" * 9000)
        self.assertIn("    xxxx", message)
        self.assertIn("\n(9000 bytes in all)", message)
        self.assertLess(len(message), 5000)


class Commits(McpCase, Kept):
    def layered(self):
        return self.client("--layer", "x", "--workspace", self.work, env=self.environment)

    @staticmethod
    def make(client, command):
        result = client.modern("bash", {"command": command, "description": "make"})
        assert result["structuredContent"]["exit_code"] == 0, result

    def test_what_was_made_after_the_question_is_not_agreed_to(self):
        client = self.layered()
        client.initialize(ELICITS)
        self.make(client, "echo made > made")
        call = client.start("tools/call", {"name": "layer_commit", "arguments": {}})
        asked = client.wait(lambda m: m.get("method") == "elicitation/create")
        self.make(client, "echo evil > evil")
        client.send({"id": asked["id"], "result": {"action": "accept", "content": {}}})
        self.refused(client.answer(call)["result"])

    def test_nor_where_the_client_calls_again(self):
        client = self.layered()
        self.make(client, "echo made > made")
        state = client.modern("layer_commit", {}, ELICITS)["requestState"]
        self.make(client, "echo evil > evil")
        self.refused(client.modern("layer_commit", {}, ELICITS, requestState=state,
                                   inputResponses={"approval": {"action": "accept", "content": {}}}))

    def refused(self, result):
        self.assertTrue(result["isError"], result)
        self.assertEqual(result["structuredContent"]["error"]["code"], "needs_approval", result)
        self.assertEqual(os.listdir(self.work), [])

    def test_a_path_moves_no_terminal_and_adds_no_line(self):
        client = self.layered()
        self.make(client, r"echo x > $'a\nb\e[31mc'")
        message = message_of(client.modern("layer_commit", {}, ELICITS))
        self.assertIn(f"created {self.work}/a\\x0ab\\x1b[31mc", message.splitlines())
        self.assertNotIn("\x1b", message)

    def test_of_many_paths_forty_are_shown_and_the_rest_counted(self):
        client = self.layered()
        self.make(client, "for i in {1..45}; do : > f$i; done")
        lines = message_of(client.modern("layer_commit", {}, ELICITS)).splitlines()
        self.assertEqual(len([line for line in lines if line.startswith("created ")]), 40)
        self.assertEqual(lines[-1], "and 5 more")


class Ids(McpCase):
    @staticmethod
    def call(client, command, **more):
        client.send({"id": 7, "method": "tools/call", "params": {
            "name": "bash", "arguments": {"command": command, "description": "d"}, "_meta": meta(**more)}})

    def test_the_end_of_a_cancelled_call_answers_no_other_under_its_id(self):
        client = self.client()
        self.call(client, "echo up; sleep 1000", progressToken=1)
        client.wait(lambda m: m.get("method") == "notifications/progress")
        client.send({"method": "notifications/cancelled", "params": {"requestId": 7}})
        self.call(client, "sleep 0.5; echo second")
        self.assertEqual(client.answer(7)["result"]["content"][0]["text"], "second")

    def test_an_id_whose_call_runs_is_refused(self):
        client = self.client()
        self.call(client, "until [ -e go ]; do sleep 0.02; done; echo first")
        self.call(client, "echo second")
        self.assertEqual(client.answer(7).get("error", {}).get("code"), -32600, client.seen)
        self.write("work/go", "")
        self.assertEqual(client.answer(7)["result"]["content"][0]["text"], "first")


class Redacted(McpCase):
    def test_a_task_that_is_not_there_is_not_repeated_with_its_secrets(self):
        client = self.client()
        for name, arguments in (("bash_output", {"shell_id": TOKEN}), ("kill_shell", {"shell_id": TOKEN}),
                                ("shell", {"task_id": TOKEN}), ("shell", {"task_id": TOKEN, "kill": True})):
            result = client.modern(name, arguments)
            self.assertTrue(result["isError"], result)
            self.assertIn("[REDACTED]", result["content"][0]["text"])
            self.assertNotIn(TOKEN, json.dumps(result), name)
        # What holds no secret is said as it was given.
        self.assertEqual(client.modern("kill_shell", {"shell_id": "nope"})["structuredContent"]["shell_id"], "nope")


if __name__ == "__main__":
    unittest.main()
