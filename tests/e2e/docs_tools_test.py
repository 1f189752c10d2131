# SPDX-License-Identifier: Apache-2.0
"""Every example of docs/tools.md and docs/migrating.md, run as it stands there. A comment before a
block says how: run (by sh), python, mcp (a client's configuration), file: NAME (written first)."""

import json
import os
import re
import subprocess
import sys
import unittest

from harness import BOUND, SBX_RUN, SOURCE, Case
from mcp_client import Client

BLOCK = re.compile(r"<!-- (run|python|mcp|file: \S+) -->\n```\w+\n(.*?)```\n(?:```(text|json)\n(.*?)```\n)?",
                   re.DOTALL)


class DocsCase(Case):
    def examples(self, page):
        with open(os.path.join(SOURCE, "docs", page)) as file:
            return BLOCK.findall(file.read())

    def run_page(self, page, least):
        examples = self.examples(page)
        self.assertGreaterEqual(len(examples), least)
        for kind, text, form, expected in examples:
            with self.subTest(kind=kind, text=text):
                if kind.startswith("file: "):
                    self.write("work/" + kind.removeprefix("file: "), text)
                elif kind == "mcp":
                    self.run_server(json.loads(text))
                else:
                    command = ["sh", "-c", text] if kind == "run" else [sys.executable, "-c", text]
                    self.compare(self.output_of(command), form, expected)

    def output_of(self, command):
        path = os.path.dirname(SBX_RUN) + ":" + os.environ["PATH"]
        done = subprocess.run(command, cwd=self.work, env={**os.environ, "PATH": path},
                              capture_output=True, timeout=BOUND, check=False)
        return done.stdout.decode()

    def compare(self, output, form, expected):
        if form == "json":
            self.assertEqual(json.loads(output), json.loads(expected))
        else:
            self.assertEqual(output, expected)

    def run_server(self, configuration):
        server = configuration["mcpServers"]["sbx"]
        self.assertEqual((server["command"], server["args"][0]), ("sbx-run", "mcp"))
        self.assertIn("/home/you/project", server["args"])
        here = [self.work if word == "/home/you/project" else word for word in server["args"][1:]]
        client = Client(*here, cwd="/")
        self.addCleanup(client.close)
        client.initialize()
        tools = client.ask("tools/list")["result"]["tools"]
        self.assertEqual([tool["name"] for tool in tools], ["bash", "bash_output", "kill_shell"])
        result = client.tool("bash", {"command": "echo hi", "description": "d"})
        self.assertEqual(result["content"][0]["text"], "hi")


class DocsTest(DocsCase):
    def test_the_tools_page(self):
        self.run_page("tools.md", 9)

    def test_the_migrating_page(self):
        self.run_page("migrating.md", 1)


if __name__ == "__main__":
    unittest.main()
