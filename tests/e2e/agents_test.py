# SPDX-License-Identifier: Apache-2.0
"""docs/agents.md: every configuration is one of its format, and the servers in it start; and agents from
npm, whole, in exec, with a model server of ours."""

import fcntl
import json
import os
import re
import shlex
import shutil
import struct
import subprocess
import tempfile
import termios
import tomllib
import unittest

import harness
import nested_test
from exec_test import Screen
from model_server import ModelServer

PAGE = os.path.join(os.environ.get("SBX_SOURCE", "."), "docs/agents.md")

PROJECT = "/home/you/project"


def blocks(language):
    with open(PAGE, encoding="utf-8") as page:
        return re.findall(rf"^```{language}\n(.*?)^```$", page.read(), re.M | re.S)


def servers(value):
    """Every list of words that begins with sbx-run, wherever the format has it."""
    if isinstance(value, dict):
        program = value.get("command", value.get("cmd"))
        if program == "sbx-run":
            yield [program, *value["args"]]
        for item in value.values():
            yield from servers(item)
    elif isinstance(value, list):
        if value[:1] == ["sbx-run"]:
            yield value
        for item in value:
            yield from servers(item)


class Configuration(harness.Case):
    def serve(self, words):
        """The tools of the MCP server that these words start."""
        say = "".join(json.dumps(message) + "\n" for message in (
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}))
        done = self.raw(*words[1:], stdin=None, input=say.encode())
        answers = {answer.get("id"): answer for answer in map(json.loads, done.stdout.splitlines())}
        return [tool["name"] for tool in answers[2]["result"]["tools"]]

    def check(self, language, parse, count):
        found = [parse(block) for block in blocks(language)]
        self.assertGreaterEqual(len(found), count)
        started = [words for value in found for words in servers(value)]
        self.assertGreaterEqual(len(started), count)
        for words in started:
            self.assertIn(PROJECT, words)  # whole: nobody knows where a client starts its servers
            here = [self.work if word == PROJECT else word for word in words]
            self.assertEqual(self.serve(here), ["shell"], words)

    def test_json(self):
        self.check("json", json.loads, 4)

    def test_toml(self):
        self.check("toml", tomllib.loads, 1)

    def test_yaml(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("python3-yaml is not installed")
        self.check("yaml", yaml.safe_load, 2)

    def test_the_hook_refuses_what_the_policy_asks_about(self):
        if shutil.which("jq") is None:
            self.skipTest("jq is not installed")
        (hook,) = re.findall(r'"command": ("c=.*?")\}$', "\n".join(blocks("json")), re.M)
        bin_directory = self.base + "/bin"
        os.mkdir(bin_directory)
        os.symlink(harness.SBX_RUN, bin_directory + "/sbx-run")
        bash = lambda command: {"tool_name": "Bash", "tool_input": {"command": command}}  # noqa: E731
        for call, status in ((bash("ls"), 0), (bash("rm -rf /"), 2), (bash("rm -rf /opt/x"), 2), ({}, 2), (None, 2),
                             ({"tool_name": "Bash", "tool_input": {}}, 2), (bash(None), 2), (bash(["ls"]), 2)):
            text = b"" if call is None else json.dumps(call).encode()
            done = subprocess.run(["sh", "-c", json.loads(hook)], input=text, cwd=self.work,
                                  env={**os.environ, "PATH": bin_directory + ":" + os.environ["PATH"]},
                                  capture_output=True, timeout=30, check=False)
            self.assertEqual(done.returncode, status, (call, done.stderr))

    def test_the_wrappers_flags_are_there(self):
        lines = [line for block in blocks("sh") for line in block.splitlines()]
        self.assertGreaterEqual(len(lines), 4)
        for line in lines:
            words = [word.replace("~", self.base) for word in line.split()]
            for i, word in enumerate(words):
                if word == "--rw":
                    os.makedirs(words[i + 1], exist_ok=True)
            words = [*words[1:words.index("--")], "--", "true"]
            done = self.raw(*words)
            self.assertEqual((done.returncode, done.stdout), (0, b""), (line, done.stderr))


def callers_environment():
    """As this process was started: run.py keeps what leads npm to its registry (proxies, certificates) from tests."""
    with open("/proc/self/environ", encoding="utf-8", errors="surrogateescape") as file:
        return dict(entry.split("=", 1) for entry in file.read().split("\0") if "=" in entry)


def fetch(place, package, version):
    """Whether it lies in PLACE, a directory of its own: no other package's installation moves its files."""
    made = os.path.join(place, "made")
    with open(os.path.join(place, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(made):
            return True
        done = subprocess.run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", place,
                               f"{package}@{version}"], stdin=subprocess.DEVNULL, capture_output=True,
                              env=callers_environment(), timeout=90, check=False)
        if done.returncode == 0:
            with open(made, "w", encoding="utf-8"):
                pass
        return done.returncode == 0


def installed(package, version, program):
    """The program's file; None where npm cannot fetch it. Kept beside the tests' tools."""
    shared = os.path.join(os.environ.get("SBX_TEST_TOOLS", "/nonexistent"), "agents")
    own = os.path.join(tempfile.gettempdir(), f"sbx-agents-{os.getuid()}")
    places = [os.path.join(place, package.replace("/", "_")) for place in (shared, own)]
    file = os.path.join("node_modules", package, program)
    for place in places:
        if os.path.exists(os.path.join(place, "made")):
            return place, os.path.join(place, file)
    for place in places:
        try:
            os.makedirs(place, mode=0o755, exist_ok=True)
            if os.stat(place).st_uid != os.getuid():
                continue
            place = os.path.realpath(place)
            return (place, os.path.join(place, file)) if fetch(place, package, version) else None
        except subprocess.TimeoutExpired:
            return None
        except OSError:
            continue
    return None


class Agents(harness.Case):
    def setUp(self):
        super().setUp()
        for program in ("node", "npm"):
            if shutil.which(program) is None:
                self.skipTest(f"{program} is not installed")
        self.model = ModelServer("echo from-the-child; pwd")
        self.addCleanup(self.model.server_close)
        self.addCleanup(self.model.shutdown)

    def agent(self, package, version, program):
        found = installed(package, version, program)
        if found is None:
            self.skipTest(f"npm cannot fetch {package}@{version}")
        return found

    def flags(self, place):
        url = f"http://127.0.0.1:{self.model.port}/v1"
        values = {"PI_CODING_AGENT_DIR": self.work + "/.agent", "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": url, "OPENAI_MODEL": "m"}
        words = ["exec", "--timeout", "100s", "--with", "node", "--with", "git", "--net", "allowlist",
                 "--host-port", str(self.model.port), "--ro", place]
        for name, value in values.items():
            words += ["--env", f"{name}={value}"]
        return words

    def pi(self):
        place, file = self.agent("@mariozechner/pi-coding-agent", "0.73.1", "dist/cli.js")
        provider = {"baseUrl": f"http://127.0.0.1:{self.model.port}/v1", "api": "openai-completions", "apiKey": "k",
                    "models": [{"id": "m"}]}
        self.write("work/.agent/models.json", json.dumps({"providers": {"ours": provider}}))
        return [*self.flags(place), "--", "node", file, "--provider", "ours", "--model", "m", "--no-session"]

    def qwen(self):
        place, file = self.agent("@qwen-code/qwen-code", "0.24.4", "cli.js")
        return [*self.flags(place), "--", "node", file, "--auth-type", "openai", "--yolo"]

    def once(self, words):
        self.heard(self.raw(*words, "-p", "do it", timeout=120))

    def heard(self, done):
        self.assertEqual(done.returncode, 0, (done.stdout[-2000:], done.stderr[-2000:]))
        said = done.stdout.decode()
        self.assertIn("the-model-heard", said)
        self.assertIn("from-the-child", said)
        self.assertGreaterEqual(len(self.model.requests), 2)

    def test_pi_runs_its_child_commands(self):
        self.once(self.pi())

    def test_qwen_runs_its_child_commands(self):
        self.once(self.qwen())

    def mcp_settings(self):
        """sbx-run as an MCP server of qwen's, as docs/agents.md has it."""
        (server,) = [server for block in blocks("json") for server in [json.loads(block).get("mcpServers")] if server]
        words = [self.work if word == PROJECT else word for word in server["sbx"]["args"]]
        server["sbx"] = {"command": harness.SBX_RUN, "args": words}
        self.write("work/.qwen/settings.json", json.dumps({"mcpServers": server}))
        self.model.tool = "mcp__sbx__shell"
        self.model.command = "echo from-the-child; echo filters=$(awk '/^Seccomp_filters/ { print $2 }' /proc/self/status)"

    def runs_in(self, sandboxes, done):
        self.heard(done)
        with open("/proc/self/status", encoding="ascii") as status:
            here = int(re.search(r"^Seccomp_filters:\s+(\d+)", status.read(), re.M).group(1))
        self.assertIn(f"filters={here + sandboxes}".encode(), done.stdout)

    def test_qwen_outside_starts_sbx_as_its_mcp_server(self):
        words = self.qwen()
        self.mcp_settings()
        pairs = [words[i + 1].split("=", 1) for i, word in enumerate(words) if word == "--env"]
        done = subprocess.run([*words[words.index("--") + 1:], "-p", "do it"], cwd=self.work, stdin=subprocess.DEVNULL,
                              env={**os.environ, **dict(pairs), "HOME": self.work}, capture_output=True, timeout=120,
                              check=False)
        self.runs_in(1, done)

    @unittest.skipIf(harness.is_root(), nested_test.AS_USER)
    def test_qwen_inside_starts_sbx_as_its_mcp_server(self):
        words = self.qwen()
        self.mcp_settings()
        shown = ["--with", "nested", "--ro", os.path.dirname(harness.SBX_RUN), "--env", f"HOME={self.work}"]
        self.runs_in(2, self.raw(*words[:1], *shown, *words[1:], "-p", "do it", timeout=120))

    def interactive(self, words, ready):
        screen = Screen(self, shell=[harness.SBX_RUN, *words], rows=40, columns=120)
        screen.expect(ready, 60)
        fcntl.ioctl(screen.master, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 70, 0, 0))
        screen.type("do it")
        screen.pump(1)
        screen.type("\r")
        screen.expect(rb"the-model-heard", 60)
        return screen

    def test_pi_on_a_terminal_is_resized_interrupted_and_left(self):
        screen = self.interactive(self.pi(), rb"\x1b\[\?2004h")
        for _ in range(2):  # ^C clears the line; twice it leaves
            screen.type("\x03")
        self.assertEqual(screen.wait(60), 0)

    def test_qwen_on_a_terminal_is_resized_interrupted_and_left(self):
        screen = self.interactive(self.qwen(), rb"Type your message")
        screen.type("\x03")
        screen.expect(rb"again")  # to leave
        screen.type("\x03")
        self.assertEqual(screen.wait(60), 0)

    def test_pi_is_stopped_and_goes_on(self):
        shell = Screen(self, shell=["/bin/bash", "--norc", "--noprofile", "-i"], rows=40, columns=120)
        shell.type("export TERM=xterm-256color PS1='outs''ide> '\r")
        shell.expect(rb"outside> $")
        shell.type(shlex.join([harness.SBX_RUN, *self.pi()]) + "\r")
        shell.expect(rb"--no-session")
        shell.expect(rb"0\.0%|\(ours\)", 60)
        shell.type("\x1a")
        shell.expect(rb"Stopped(?s:.*)outside> ", 30)
        shell.type("fg\r")
        shell.expect(rb"\(ours\)", 60)
        shell.type("\x03\x03")
        shell.expect(rb"outside> ", 60)

    def test_pi_is_stopped_in_a_shell_inside_and_goes_on(self):
        words = self.pi()
        at = words.index("--")
        shell = Screen(self, shell=[harness.SBX_RUN, *words[:at], "--", "bash", "--norc", "-i"], rows=40, columns=120)
        shell.type("PS1='ready'\"> \"\r")
        shell.expect(rb"ready> $")
        shell.type(" ".join(words[at + 1:]) + "\r")
        shell.expect(rb"--no-session")
        shell.expect(rb"0\.0%|\(ours\)", 60)
        shell.type("\x1a")
        shell.expect(rb"ready> ", 30)
        shell.type("fg\r")
        shell.expect(rb"\(ours\)", 60)


if __name__ == "__main__":
    unittest.main()
