# SPDX-License-Identifier: Apache-2.0
"""`sbx-run tool NAME` from outside: the tools of mission A to E as their pages describe them. Rows
that need a background task are in mcp_test.py and in SessionTest."""

import json
import os
import signal
import subprocess
import time
import unittest

from harness import BOUND, SBX_RUN, Case


class ToolCase(Case):
    def tool(self, name, params, *flags, env=None, **options):
        """The answer's text; the process is in self.last."""
        text = params if isinstance(params, bytes) else json.dumps(params).encode()
        environment = {**os.environ, **(env or {})}
        self.last = self.raw("tool", name, *flags, input=text, stdin=None, env=environment,
                             **options)
        return self.last.stdout.decode()

    def json_tool(self, name, params, *flags, **options):
        text = self.tool(name, params, *flags, **options)
        try:
            return json.loads(text)
        except ValueError:
            self.fail(f"no JSON: {text!r} {self.last.stderr!r}")

    def bash(self, command, *flags, **more):
        options = {key: more.pop(key) for key in ("env", "cwd") if key in more}
        return self.tool("bash", {"command": command, "description": "test", **more}, *flags,
                         **options)


class BashTest(ToolCase):
    def test_a1_runs_bash_in_the_workspace_with_stdin_closed(self):
        text = self.bash("echo $0; pwd; cat; echo end")
        self.assertEqual(text, f"bash\n{os.path.realpath(self.work)}\nend\n")
        self.assertEqual(self.last.returncode, 0)

    def test_a2_a_command_is_required_and_a_description_may_be_left_out(self):
        for params in ({"command": "echo on"}, {"command": "echo on", "description": ""}):
            self.assertEqual(self.tool("bash", params), "on\n")
        for params in ({"description": "d"}, {}):
            text = self.tool("bash", params)
            self.assertTrue(text.startswith("bash: the key"), text)
            self.assertEqual(self.last.returncode, 125)
            self.assertIn(b"sbx-run: missing_field: ", self.last.stderr)

    def test_a_misspelt_param_is_named_with_the_nearest_one(self):
        text = self.tool("bash", {"comand": "true", "description": "d"})
        self.assertIn('unknown key "comand"', text)
        self.assertIn('did you mean "command"?', text)

    def test_one_number_is_said_and_exited_with_after_a_signal(self):
        process = subprocess.Popen([SBX_RUN, "tool", "bash"], stdin=subprocess.PIPE, cwd=self.work,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, process)
        process.stdin.write(json.dumps({"command": "touch here; sleep 60"}).encode())
        process.stdin.close()
        deadline = time.monotonic() + BOUND
        while not os.path.exists(os.path.join(self.work, "here")):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        self.assertIn(b"exit: 143\n", process.stdout.read())
        self.assertEqual(process.wait(BOUND), 143)

    def test_a_real_time_signal_gives_the_same_number_everywhere(self):
        command = "kill -35 $$"
        self.assertEqual(self.raw("-c", command).returncode, 163)
        call = self.raw("call", "run", input=json.dumps({"command": command}).encode(), stdin=None)
        self.assertEqual(call.returncode, 163)
        self.assertIn("exit: 163\n", self.bash(command))
        self.assertEqual(self.json_tool("shell", {"command": command})["exit_code"], 163)

    def test_empty_optional_params_are_absent_and_a_hidden_cwd_names_the_setting(self):
        empty = {"task_id": "", "cwd": "", "stdin_text": ""}
        answer = self.json_tool("shell", {"command": "echo x", **empty})
        self.assertEqual(answer["stdout"], "x\n", answer)
        self.assertEqual(self.json_tool("shell", empty)["error"]["where"], "/command")
        error = self.json_tool("shell", {"command": "pwd", "cwd": "/srv"})["error"]
        self.assertEqual(error["code"], "cwd_not_visible", error)
        self.assertIn("filesystem.roots", error["hint"])

    def test_a2_a_timeout_beyond_600_is_clamped(self):
        self.assertEqual(self.bash("echo ok", timeout=100000), "ok\n")

    def test_a2_a_timeout_is_clamped_however_large(self):
        for timeout in ("1e15", "1e300", "9007199254740993"):
            text = self.tool("bash", b'{"command":"echo ok","description":"d","timeout":%s}'
                             % timeout.encode())
            self.assertEqual(text, "ok\n", timeout)

    def test_a2_the_operators_ceiling_is_never_passed(self):
        profile = self.profile({"extends": "tool-bash", "limits": {"timeout_ms": 200},
                                "ceilings": {"timeout_ms": 300}})
        text = self.bash("sleep 60", "--profile", profile, timeout=600)
        self.assertEqual(text, "bash: timed out after 0.3s\nexit: 124\n")

    def test_a3_nothing_survives_the_timeout(self):
        mark = f"8{os.getpid()}3"
        self.bash(f"setsid sleep {mark} & (sleep {mark} & disown); sleep {mark}", timeout=0.5)
        found = [pid for pid in os.listdir("/proc") if pid.isdigit()
                 and self.command_line(pid) == f"sleep\0{mark}\0".encode()]
        self.assertEqual(found, [])

    @staticmethod
    def command_line(pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                return file.read()
        except OSError:
            return b""

    def test_a4_one_stream_in_the_order_written(self):
        self.assertEqual(self.bash("echo 1; echo 2 >&2; echo 3; echo 4 >&2"), "1\n2\n3\n4\n")

    def test_a4_the_output_is_capped_at_100_kib(self):
        text = self.bash("head -c 300000 /dev/zero | tr '\\0' x; echo; echo last")
        self.assertLess(len(text), 101 * 1024)
        self.assertGreater(len(text), 99 * 1024)
        self.assertTrue(text.endswith("last\n"))

    def test_a5_every_failure_ends_with_its_number(self):
        self.assertEqual(self.bash("echo out; exit 3"), "out\nexit: 3\n")
        self.assertEqual(self.bash("printf out; false"), "out\nexit: 1\n")
        self.assertEqual(self.bash("kill -SEGV $$"), "exit: 139\n")
        self.assertEqual(self.bash("no_such_program").splitlines()[-1], "exit: 127")
        self.assertEqual(self.last.returncode, 0)

    def test_a6_the_pages_example(self):
        text = self.bash("echo some stdout; echo some stderr interleaved >&2; sleep 60", timeout=2)
        self.assertEqual(
            text,
            "some stdout\nsome stderr interleaved\nbash: timed out after 2s\nexit: 124\n")

    def test_a7_a_background_shell_needs_a_session(self):
        text = self.bash("sleep 1", run_in_background=True)
        self.assertTrue(text.startswith("bash: a background command needs a session"), text)
        self.assertEqual(self.last.returncode, 125)

    def test_a9_the_denylist(self):
        for command in ("sudo id", "su -", "id; shutdown now", "id && reboot", "id | halt",
                        "(poweroff)", "id &chroot /", "true\nmount /dev/sda /mnt", "umount /",
                        "mkfs /dev/sda", "mkfs.ext4 /dev/sda"):
            text = self.bash(command)
            self.assertTrue(text.startswith("bash: "), (command, text))
            self.assertEqual(self.last.returncode, 126, command)
        self.assertEqual(self.bash('echo "don\'t sudo"'), "don't sudo\n")

    def test_a10_what_the_text_hides_the_kernel_refuses(self):
        text = self.bash("x=$(head -c 5 /usr/share/doc/mount/copyright | tr -dc q)mount;"
                         " $x -t tmpfs none /tmp && echo mounted")
        self.assertNotIn("mounted\n", text)
        self.assertIn("exit: ", text)
        self.assertNotIn("uid=0(root) gid=0(root) euid", self.bash("$(echo sudo) -n id"))


class ShellTest(ToolCase):
    def test_b2_a_foreground_command(self):
        answer = self.json_tool("shell", {"command": "echo out; echo err >&2; exit 4"})
        self.assertEqual(set(answer),
                         {"stdout", "stderr", "exit_code", "duration", "cwd", "command"})
        self.assertEqual(answer["stdout"], "out\n")
        self.assertEqual(answer["stderr"], "err\n")
        self.assertEqual(answer["exit_code"], 4)
        self.assertEqual(answer["cwd"], os.path.realpath(self.work))
        self.assertEqual(answer["command"], "echo out; echo err >&2; exit 4")
        self.assertIsInstance(answer["duration"], (int, float))
        self.assertEqual(self.last.returncode, 0)

    def test_b8_timeout_and_directory(self):
        os.mkdir(os.path.join(self.work, "sub"))
        answer = self.json_tool("shell", {"command": "pwd", "cwd": "sub"})
        self.assertEqual(answer["stdout"], os.path.realpath(self.work) + "/sub\n")
        self.assertEqual(answer["cwd"], os.path.realpath(self.work) + "/sub")
        late = self.json_tool("shell", {"command": "sleep 60", "timeout": 1})
        self.assertEqual((late["exit_code"], late["timed_out"]), (124, True))
        for timeout in (0, 0.9, 1801, "5"):
            refused = self.json_tool("shell", {"command": "true", "timeout": timeout})
            self.assertEqual(refused["error"]["where"], "/timeout")
            self.assertEqual(self.last.returncode, 125)

    def test_b9_secrets_are_redacted(self):
        token = "ghp_" + "a1B2" * 9
        answer = self.json_tool("shell", {"command": f"echo token {token}"})
        self.assertNotIn(token, json.dumps(answer))
        self.assertIn("[REDACTED]", answer["stdout"])
        profile = self.profile({"extends": "tool-shell",
                                "output": {"patterns": ["internal-[0-9]+"]}})
        answer = self.json_tool("shell", {"command": "echo internal-12345 x"}, "--profile", profile)
        self.assertEqual(answer["stdout"], "[REDACTED] x\n")

    def test_b10_lists_and_readonly(self):
        for commands, command in (({"deny": ["curl"]}, "curl x"), ({"allow": ["ls"]}, "cat f"),
                                  ({"readonly": True}, "rm f"), ({"readonly": True}, "mkdir d")):
            profile = self.profile({"extends": "tool-shell", "commands": commands})
            answer = self.json_tool("shell", {"command": command}, "--profile", profile)
            self.assertEqual(answer["error"]["code"], "denied", (commands, answer))
            self.assertEqual(answer["exit_code"], 126)

    def test_b11_paths_are_confined_and_the_error_names_the_setting(self):
        answer = self.json_tool("shell", {"command": "cat /srv/data/x"})
        self.assertEqual(answer["error"]["code"], "denied", answer)
        self.assertIn("filesystem.roots", json.dumps(answer["error"]))
        profile = self.profile({"extends": "tool-shell", "commands": {"confine_paths": False}})
        answer = self.json_tool("shell", {"command": "cat /srv/data/x"}, "--profile", profile)
        self.assertNotIn("error", answer)

    def test_b14_audit(self):
        log = os.path.join(self.base, "audit.jsonl")
        self.json_tool("shell", {"command": "exit 5", "description": "d"}, "--audit", log)
        with open(log) as file:
            record = json.loads(file.read())
        self.assertEqual((record["command"], record["exit_code"]), ("exit 5", 5))
        self.assertEqual(record["cwd"], os.path.realpath(self.work))
        self.assertIn("time", record)
        self.assertIn("error", record)


class BashExecTest(ToolCase):
    def run_it(self, command, *flags, env=None, **params):
        return self.json_tool("bash_exec", {"command": command, **params}, *flags, env=env)

    def test_c1_unknown_params_are_refused(self):
        answer = self.run_it("true", timeout_m=5)
        self.assertEqual(answer["error"]["code"], "unknown_field")
        self.assertEqual(answer["error"]["where"], "/timeout_m")
        self.assertEqual(answer["error"]["hint"], "did you mean \"timeout_ms\"?")
        self.assertEqual(self.last.returncode, 125)

    def test_c1_variables_of_the_call(self):
        self.assertEqual(self.run_it("echo $A", env=None)["stdout"], "\n")
        answer = self.json_tool("bash_exec", {"command": "echo $A", "env": {"A": "b"}})
        self.assertEqual(answer["stdout"], "b\n", answer)
        refused = self.json_tool("bash_exec", {"command": "true", "env": {"LD_PRELOAD": "x"}})
        self.assertIn("error", refused)

    def test_c1_the_timeout_is_two_seconds(self):
        answer = self.run_it("sleep 60")
        self.assertEqual((answer["exit_code"], answer["timed_out"]), (124, True))
        self.assertEqual(self.run_it("sleep 60", timeout_ms=100)["timed_out"], True)

    def test_c2_the_pages_example(self):
        answer = self.run_it("echo '__RESULT__:{\"status\":\"ok\",\"count\":3}'")
        self.assertEqual(answer["result_json"], {"status": "ok", "count": 3})
        self.assertEqual(answer["exit_code"], 0)
        self.assertNotIn("result_json", self.run_it("echo none"))

    def test_c3_bounds(self):
        answer = self.run_it("head -c 200000 /dev/zero | tr '\\0' x; echo last")
        self.assertLess(len(answer["stdout"]), 65 * 1024)
        self.assertTrue(answer["stdout"].endswith("last\n"))
        small = self.run_it("head -c 200000 /dev/zero | tr '\\0' x", max_output_kb=1)
        self.assertLess(len(small["stdout"]), 1200)
        refused = self.run_it("true", max_output_kb=5000)
        self.assertEqual(refused["error"]["code"], "above_ceiling")
        self.assertEqual(refused["error"]["where"], "/max_output_kb")
        self.assertIn("max_output_kb", refused["error"]["message"])
        big = self.run_it("head -c 300000 /dev/zero > f; wc -c f")
        self.assertIn("262144", big["stdout"])
        self.assertIn("300000", self.run_it("head -c 300000 /dev/zero > f; wc -c f",
                                            max_file_kb=512)["stdout"])

    def test_c4_the_network_needs_both_words(self):
        for env, asked in (({}, True), ({"SBX_ALLOW_NETWORK": "true"}, False)):
            answer = self.run_it("cat /proc/net/dev", env=env, allow_network=asked)
            interfaces = [line.split(":")[0].strip() for line in answer["stdout"].splitlines()[2:]]
            self.assertLessEqual(set(interfaces), {"lo"}, answer)
        answer = self.run_it("true", allow_network=True)
        self.assertEqual(answer["exit_code"], 126)
        self.assertEqual(answer["error"]["where"], "/allow_network")

    def test_c5_a_fresh_directory_for_each_run(self):
        first = self.run_it("pwd; ls; touch left")["stdout"]
        second = self.run_it("pwd; ls")["stdout"]
        self.assertNotEqual(first, second)
        self.assertEqual(len(second.splitlines()), 1)
        self.assertFalse(os.path.exists(first.splitlines()[0]))

    def test_c5_files_are_written_first_and_stay_inside(self):
        answer = self.run_it("cat a/b.txt", files=[{"path": "a/b.txt", "content": "hello"}])
        self.assertEqual(answer["stdout"], "hello", answer)
        for path in ("../x", "/tmp/x", "a/../../x"):
            refused = self.run_it("true", files=[{"path": path, "content": ""}])
            self.assertIn("error", refused, path)
        self.assertFalse(os.path.exists("/tmp/x"))

    def test_c6_an_error_lists_what_is_allowed(self):
        answer = self.run_it("gcc -v")
        self.assertEqual(answer["error"]["code"], "denied")
        self.assertEqual(len(answer["allowed"]), 33)
        self.assertIn("uniq", answer["allowed"])
        self.assertEqual(self.last.returncode, 126)

    def test_c6_the_kernel_has_only_the_listed_programs(self):
        answer = self.run_it("$(printf g)cc -v; echo $?")
        self.assertTrue(answer["exit_code"] == 126 or "127" in answer["stdout"], answer)

    def test_c7_the_operators_variables(self):
        answer = self.run_it("uname", env={"SBX_ALLOWED_CMDS": "uname,ls"})
        self.assertEqual(answer["stdout"], "Linux\n", answer)
        capped = self.run_it("head -c 9000 /dev/zero | tr '\\0' x", env={"SBX_MAX_OUTPUT_KB": "1"})
        self.assertLess(len(capped["stdout"]), 1200)
        small = self.run_it("head -c 9000 /dev/zero > f; wc -c f", env={"SBX_MAX_FILE_KB": "4"})
        self.assertIn("4096", small["stdout"])
        for name in ("SBX_ALLOW_NETWORK", "SBX_MAX_OUTPUT_KB", "SBX_FALLBACK"):
            bad = self.run_it("true", env={name: "nonsense"})
            self.assertEqual(bad["error"]["code"], "bad_flag", name)
            self.assertIn(name, bad["error"]["message"])

    def test_c9_audit(self):
        log = os.path.join(self.base, "audit.jsonl")
        self.run_it("echo hi", "--audit", log)
        with open(log) as file:
            record = json.loads(file.read())
        self.assertEqual(record["command"], "echo hi")
        self.assertEqual((record["exit_code"], record["stdout_bytes"]), (0, 3))
        self.assertIn("duration_ms", record)


class ExecuteCommandTest(ToolCase):
    def run_it(self, command, *flags, **params):
        return self.tool("execute_command", {"command": command, **params}, *flags)

    def test_d1_runs_sh(self):
        self.assertEqual(self.run_it("echo $0"), "Exit code: 0\nstdout:\nsh\nstderr:\n")
        late = self.run_it("sleep 60", timeout_ms=200)
        self.assertTrue(late.startswith("Exit code: 124\nstdout:\nstderr:\n"), late)
        self.assertIn("timed out after 200 ms", late)

    def test_d2_the_pages_format(self):
        self.assertEqual(self.run_it("echo out; echo err >&2; exit 2"),
                         "Exit code: 2\nstdout:\nout\nstderr:\nerr\n")
        self.assertEqual(self.last.returncode, 0)

    def test_d3_read_mode_writes_nowhere(self):
        inside = self.write("work/file", "kept")
        for target in (inside, "/tmp/d3", os.path.expanduser("~/d3"), "/dev/shm/d3", "/var/tmp/d3"):
            text = self.run_it(f"echo x > {target}")
            self.assertNotIn("Exit code: 0", text, target)
            self.assertFalse(os.path.exists(target) and target != inside, target)
        self.assertIn("kept", self.run_it(f"cat {inside}"))
        self.assertIn("Exit code: 0", self.run_it("ls / > /dev/null"))

    def test_d4_write_mode_is_an_explicit_choice(self):
        params = {"command": "echo $0; echo x > new", "timeout_ms": 3600000}  # the page's, not the profile's most
        text = self.tool("execute_command", params, "--profile", "unconfined")
        self.assertEqual(text, "Exit code: 0\nstdout:\nsh\nstderr:\n")
        self.assertTrue(os.path.exists(os.path.join(self.work, "new")))

    def test_d5_an_interrupt_kills_the_tree_and_still_answers(self):
        process = subprocess.Popen([SBX_RUN, "tool", "execute_command"], cwd=self.work,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        mark = f"8{os.getpid()}5"
        process.stdin.write(json.dumps({"command": f"sleep {mark}; true"}).encode())
        process.stdin.close()
        deadline = time.monotonic() + BOUND
        while not self.find(mark) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        text = process.stdout.read().decode()
        process.stdout.close()
        self.assertEqual(process.wait(timeout=BOUND), 128 + signal.SIGINT)
        self.assertTrue(text.startswith("Exit code: 130\nstdout:\nstderr:\n"), text)
        self.assertEqual(self.find(mark), [])

    def test_d5_a_signal_ends_it_while_it_waits_for_its_params(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            process = subprocess.Popen([SBX_RUN, "tool", "execute_command"], cwd=self.work,
                                       stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
            with process.stdin:
                time.sleep(0.2)  # until it reads
                process.send_signal(number)
                self.assertEqual(process.wait(timeout=BOUND), -number)

    @staticmethod
    def find(mark):
        return [pid for pid in os.listdir("/proc") if pid.isdigit()
                and BashTest.command_line(pid) == f"sleep\0{mark}\0".encode()]


class CodeExecutionTest(ToolCase):
    def run_it(self, command, *flags, **options):
        return self.json_tool("code_execution", {"command": command}, *flags, **options)

    def test_e_answers_in_json(self):
        self.assertEqual(self.run_it("echo out; echo err >&2; exit 2"),
                         {"stdout": "out\n", "stderr": "err\n", "exit_code": 2})

    def test_e2_only_the_allowed_roots_are_there(self):
        root = os.path.join(self.base, "given")
        os.mkdir(root)
        self.write("given/file", "seen")
        self.write("other/file", "unseen")
        answer = self.run_it(f"cat {root}/file; ls {self.base}/other",
                             env={"SBX_ALLOWED_ROOTS": root})
        self.assertEqual(answer["stdout"], "seen")
        self.assertNotEqual(answer["exit_code"], 0)

    def test_e4_destructive_commands_come_back_for_approval(self):
        for command in ("rm -rf /data/work/old", "shred f", "chown -R a /srv", "git reset --hard"):
            answer = self.run_it(command)
            self.assertEqual(answer["type"], "hitl_request", command)
            self.assertIn("digest", answer["approval"])
            self.assertEqual(self.last.returncode, 3)

    def test_e4_an_operator_grants_it_by_its_digest(self):
        digest = self.run_it("rm -rf /data/work/old")["approval"]["digest"]
        answer = self.run_it("rm -rf /data/work/old", "--approve", digest)
        self.assertEqual(answer["exit_code"], 0, answer)

    def test_e6_the_environment_is_scrubbed(self):
        env = {"MY_API_KEY": "k3y-value-0123", "PLAIN": "p"}
        for mode, plain, key in (("off", True, True), ("default", True, False),
                                 ("strict", False, False)):
            names = self.run_it("env | cut -d= -f1", env={**env, "SBX_SCRUB_MODE": mode})["stdout"]
            self.assertEqual("PLAIN" in names.split(), plain, mode)
            self.assertEqual("MY_API_KEY" in names.split(), key, mode)

    def test_e7_the_usual_programs_are_inside(self):
        answer = self.run_it("for p in bash sh ls cat cp mv rm grep sed awk python3; do "
                             "command -v $p >/dev/null || echo no $p; done")
        self.assertEqual(answer["stdout"], "")

    def test_e8_the_workspace_lasts_and_tmp_does_not(self):
        self.run_it("echo kept > file; echo lost > /tmp/file")
        answer = self.run_it("cat file; cat /tmp/file")
        self.assertEqual(answer["stdout"], "kept\n")
        self.assertNotEqual(answer["exit_code"], 0)

    def test_e10_nothing_outlives_the_caller(self):
        mark = f"8{os.getpid()}6"
        params = json.dumps({"command": f"setsid sleep {mark} & sleep {mark}"})
        process = subprocess.Popen([SBX_RUN, "tool", "code_execution"], cwd=self.work,
                                   stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        process.stdin.write(params.encode())
        process.stdin.close()
        deadline = time.monotonic() + BOUND
        while len(ExecuteCommandTest.find(mark)) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        process.kill()
        process.wait(timeout=BOUND)
        while ExecuteCommandTest.find(mark) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(ExecuteCommandTest.find(mark), [])

    def test_e11_editors_fail_at_once(self):
        answer = self.run_it("export GIT_EDITOR= ; test -t 0 || echo none; ${EDITOR:-vi} x; echo $?")
        self.assertIn("none", answer["stdout"])


class SessionTest(ToolCase):
    """Background tasks of `--session`, each call a process of its own."""

    def setUp(self):
        super().setUp()
        runtime = os.path.join(self.base, "run")
        os.mkdir(runtime, 0o700)
        self.env = {"XDG_RUNTIME_DIR": runtime}
        self.addCleanup(self.raw, "call", "shutdown", "--session", "t", input=b"{}", stdin=None,
                        env={**os.environ, **self.env})

    def ask(self, name, params):
        return self.tool(name, params, "--session", "t", env=self.env)

    def ask_json(self, params):
        return self.json_tool("shell", params, "--session", "t", env=self.env)

    def test_a7_a8_a_background_shell(self):
        started = self.ask("bash", {"command": "echo one; sleep 600", "description": "d",
                                    "run_in_background": True})
        lines = started.splitlines()
        self.assertTrue(lines[0].startswith("shell_id: "), started)
        self.assertEqual(lines[1], "started in background: echo one; sleep 600")
        shell_id = lines[0].removeprefix("shell_id: ")
        text, end = "", time.monotonic() + BOUND
        while "one" not in text and time.monotonic() < end:
            text = self.ask("bash_output", {"shell_id": shell_id})
        self.assertEqual(text, "status: running\none\n")
        self.assertEqual(self.ask("bash_output", {"shell_id": shell_id}), "status: running\n")
        self.assertEqual(self.ask("kill_shell", {"shell_id": shell_id}), f"killed: {shell_id}\n")
        last = self.ask("bash_output", {"task_id": shell_id})
        self.assertTrue(last.startswith("status: killed\nexit: "), last)

    def test_a1_a_background_shell_reads_end_of_file(self):
        started = self.ask("bash", {"command": "read x; echo r=$?; cat; echo end", "run_in_background": True})
        shell_id = started.splitlines()[0].removeprefix("shell_id: ")
        text, end = "", time.monotonic() + BOUND
        while "exit" not in text and time.monotonic() < end:
            text += self.ask("bash_output", {"shell_id": shell_id}).replace("status: running\n", "")
        self.assertEqual(text.replace("status: exited\n", ""), "r=1\nend\nexit: 0\n")

    def test_b12_an_unfinished_line_is_one_of_the_ten_thousand(self):
        id_ = self.ask_json({"command": "seq 10000; printf partial", "run_in_background": True})["task_id"]
        done = self.ask_json({"task_id": id_, "wait": True})
        lines = done["stdout"].splitlines()
        self.assertEqual((len(lines), lines[0], lines[-1], done["dropped"]), (10000, "2", "partial", 2))

    def test_b3_to_b6_the_shells_modes(self):
        task = self.ask_json({"command": "read x; echo got $x; exit 3",
                              "run_in_background": True})
        self.assertEqual(set(task), {"task_id", "pid", "started_at"})
        id_ = task["task_id"]
        self.assertTrue(self.ask_json({"task_id": id_})["is_running"])
        self.ask_json({"task_id": id_, "stdin_text": "yes"})
        done = self.ask_json({"task_id": id_, "wait": True})
        self.assertEqual(set(done), {"stdout", "stderr", "exit_code", "uptime_seconds",
                                     "is_running"})
        self.assertEqual((done["stdout"], done["exit_code"]), ("got yes\n", 3))
        missing = self.ask_json({"task_id": "nope"})
        self.assertEqual(missing["error"]["code"], "task_not_found")

    def test_b5_a_stubborn_task_is_killed_after_the_grace(self):
        id_ = self.ask_json({"command": "trap '' TERM; while :; do sleep 0.1; done",
                             "run_in_background": True})["task_id"]
        killed = self.ask_json({"task_id": id_, "kill": True})
        self.assertFalse(killed["is_running"])

    def test_b7_lines_that_match_are_pushed(self):
        id_ = self.ask_json({"command": "read x; echo fine; echo ERROR bad; echo WARN odd",
                             "run_in_background": True})["task_id"]
        with subprocess.Popen([SBX_RUN, "tool", "shell", "--session", "t"], cwd=self.work,
                              env={**os.environ, **self.env}, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as stream:
            stream.stdin.write(json.dumps({"task_id": id_, "stream": True,
                                           "stream_pattern": "ERROR|WARN"}).encode())
            stream.stdin.close()
            self.ask_json({"task_id": id_, "stdin_text": "go"})
            lines = [json.loads(line) for line in stream.stdout]
        self.assertEqual([line["text"] for line in lines[:-1]], ["ERROR bad", "WARN odd"])
        self.assertEqual({line["event"] for line in lines[:-1]}, {"match"})
        self.assertFalse(lines[-1]["is_running"])

    def test_the_method_tool(self):
        params = {"name": "shell", "params": {"command": "echo hi"}}
        answer = self.run_json("call", "tool", input=json.dumps(params).encode(), stdin=None)
        self.assertEqual(answer["stdout"], "hi\n")
        self.assertEqual(answer["tool"], {"name": "shell", "is_error": False, "exit_status": 0})
        params = {"name": "bash", "params": {"command": "exit 3", "description": "d"}}
        answer = self.run_json("call", "tool", input=json.dumps(params).encode(), stdin=None)
        self.assertEqual(answer["text"], "exit: 3\n")


class WireTest(ToolCase):
    def test_bad_input_is_named(self):
        for params, code in ((b"{", "bad_json"), (b"[]", "wrong_type"), (b"", "missing_field"),
                             (b'{"command":"a","command":"b"}', "duplicate_key"),
                             (b'{"command":' + b"[" * 100 + b"]" * 100 + b"}", "too_deep")):
            answer = self.json_tool("code_execution", params)
            self.assertEqual(answer["error"]["code"], code, params[:40])
            self.assertEqual(self.last.returncode, 125)

    # `where` is the field's pointer; a diagnostic is one line on stderr.
    def test_what_is_missing_is_pointed_at(self):
        for tool, params, where in (("bash", {"description": "id"}, "/command"),
                                    ("execute_command", {}, "/command"),
                                    ("bash_exec", {"command": "ls", "files": [{"path": "a"}]},
                                     "/files/0/content")):
            answer = self.tool(tool, params)
            self.assertIn(where, answer)
            self.assertIn("sbx-run: missing_field: ", self.last.stderr.decode())
            self.assertIn(f"[{where}]", self.last.stderr.decode())

    def test_a_refusal_is_told_on_stderr_too(self):
        for tool, params, status, code in (
                ("bash", {"command": "sudo id", "description": "d"}, 126, "denied"),
                ("shell", {"command": "ls", "cwd": "nowhere"}, 125, "cwd_not_visible"),
                ("code_execution", {"command": "rm -rf /data"}, 3, "needs_approval")):
            self.tool(tool, params)
            self.assertEqual(self.last.returncode, status)
            lines = self.last.stderr.decode().splitlines()
            self.assertEqual(len(lines), 1, lines)
            self.assertTrue(lines[0].startswith(f"sbx-run: {code}: "), lines)
        self.tool("bash", {"command": "exit 3", "description": "d"})
        self.assertEqual(self.last.stderr, b"")

    def test_a_directory_of_the_call_is_pointed_at_as_its_param(self):
        error = self.json_tool("shell", {"command": "ls", "cwd": "nowhere"})["error"]
        self.assertEqual((error["code"], error["where"]), ("cwd_not_visible", "/cwd"))

    def test_an_unknown_tool(self):
        text = self.tool("bash_exce", {})
        self.assertIn("did you mean bash_exec?", text)
        self.assertEqual(self.last.returncode, 125)

    def test_definitions_are_printed(self):
        for form, key in (("anthropic", "input_schema"), ("mcp", "inputSchema")):
            done = self.raw("schema", "tool", "bash", "--for", form)
            self.assertEqual(json.loads(done.stdout)[key]["required"], ["command", "description"])
        done = self.raw("schema", "tool", "bash", "--for", "openai")
        self.assertEqual(json.loads(done.stdout)["function"]["name"], "bash")
        self.assertEqual(self.raw("schema", "tool", "nope").returncode, 125)


if __name__ == "__main__":
    unittest.main()
