# SPDX-License-Identifier: Apache-2.0
"""Where a command works: the directories that are no workspace unless they are named, the home, the
directory that it starts in, and what is said when it cannot be started."""

import json
import os
import subprocess
import unittest

import harness
import mcp_client
import session_harness

SYSTEM = ["/", "/usr", "/usr/share", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/var", "/var/lib",
          "/opt", "/boot", "/dev", "/dev/shm", "/proc", "/sys"]


class DefaultWorkspace(harness.Case):
    def refused(self, answer):
        self.assert_error(answer, "path_refused")
        self.assertEqual(answer["error"]["where"], "--workspace")
        self.assertIn("--workspace DIR", answer["error"]["hint"])

    def test_a_system_directory_is_none_unless_it_is_named(self):
        for directory in filter(os.path.isdir, SYSTEM):
            with self.subTest(directory):
                self.refused(self.sh("true", cwd=directory))
        self.assertEqual(self.sh("pwd", "--workspace", ".", cwd="/usr/share")["stdout"],
                         "/usr/share\n")
        self.assertEqual(self.sh("pwd", "--workspace", self.work, cwd="/")["stdout"],
                         self.work + "\n")
        self.assertEqual(self.sh("pwd", cwd="/var/tmp")["stdout"], "/var/tmp\n")

    def test_a_link_to_one_is_followed(self):
        os.symlink("/usr/share", self.base + "/link")
        self.refused(self.sh("true", cwd=self.base + "/link"))

    def test_every_verb_that_runs_something_refuses_it(self):
        run = {"input": b'{"command": "true"}', "stdin": None}
        for verb in (["exec", "-c", "true"], ["call", "run"], ["tool", "bash"], ["mcp"],
                     ["check", "-c", "true"], ["explain", "-c", "true"]):
            with self.subTest(verb[0]):
                options = dict(run) if verb[0] in ("call", "tool") else {}
                done = self.raw(*verb, cwd="/usr/share", **options)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(b"belongs to the system", done.stdout + done.stderr)

    def test_a_workspace_of_the_servers_own_needs_none(self):
        done = self.raw("serve", cwd="/", input=b'{"jsonrpc":"2.0","id":1,"method":"run",'
                        b'"params":{"command":"echo hi"}}\n', stdin=None)
        answer = [json.loads(line) for line in done.stdout.splitlines()][-1]
        self.assertEqual(answer["result"]["stdout"], "hi\n", done)

    def test_one_that_goes_with_its_session_has_no_layer(self):
        for words in (["serve", "--layer", "x"], ["serve", "--layer", "x", "--workspace", "own"]):
            done = self.raw(*words, cwd=self.work)
            self.assertEqual(done.returncode, 125, done)
            self.assertIn(b"has no layers [--layer] (name one that stays: --workspace DIR)", done.stderr)

    def test_the_whole_home_gives_a_warning(self):
        home = self.base + "/home"
        os.makedirs(home + "/project")
        env = {**os.environ, "HOME": home, "PATH": "/usr/bin:/bin"}
        for directory in (home, self.base):
            (warning,) = self.sh("true", cwd=directory, env=env)["sandbox"]["warnings"]
            self.assertIn("the whole home directory", warning)
        (warning,) = self.sh("true", "--workspace", home, cwd=home, env=env)["sandbox"]["warnings"]
        self.assertIn("the whole home directory", warning)
        self.assertEqual(self.sh("true", cwd=home + "/project", env=env)["sandbox"]["warnings"], [])
        done = self.raw("exec", "-c", "echo hi", cwd=home, env=env)
        self.assertEqual((done.returncode, done.stdout), (0, b"hi\n"))
        self.assertTrue(done.stderr.startswith(b"sbx-run: warning: workspace: "), done.stderr)
        self.assertEqual(done.stderr.count(b"\n"), 1)


class Home(harness.Case):
    def setUp(self):
        super().setUp()
        self.home = self.base + "/home"
        os.mkdir(self.home)
        self.write("home/kept", "kept\n")
        self.env = {**os.environ, "HOME": self.home}

    def test_the_hosts_home_is_shown_read_only_by_every_layer(self):
        for isolation in ({}, {"namespaces": ["user", "pid", "net"], "require": ["seccomp"]}):
            for landlock in ("require", "off"):
                if isolation and landlock == "off":
                    continue
                profile = self.profile({
                    "filesystem": {"home": "host"}, "isolation": isolation or {
                        "require": ["mount", "seccomp"]}, "landlock": {"mode": landlock}})
                answer = self.sh('echo "$HOME"; cat "$HOME/kept"; ls "$HOME"; touch "$HOME/made"',
                                 "--profile", profile, env=self.env)
                self.assertEqual(answer["stdout"], f"{self.home}\nkept\nkept\n", answer)
                self.assertEqual(os.listdir(self.home), ["kept"])

    def test_a_root_within_the_hosts_home_stands(self):
        os.mkdir(self.home + "/mine")
        self.write("home/secret", "secret\n")
        profile = self.profile({"filesystem": {"home": "host", "+roots": [
            {"path": "${home}/mine", "access": "rw"}, {"path": "${home}/secret", "access": "none"}]}})
        answer = self.sh('echo x > "$HOME/mine/f"; cat "$HOME/kept"; cat "$HOME/secret"',
                         "--profile", profile, env=self.env)
        self.assertEqual(answer["stdout"], "kept\n", answer)
        self.assertEqual(os.listdir(self.home + "/mine"), ["f"])

    def test_a_home_that_is_a_link_is_followed(self):
        os.symlink(self.home, self.base + "/link")
        profile = self.profile({"filesystem": {"home": "host"}})
        self.assertEqual(self.out('cat "$HOME/kept"', "--profile", profile,
                                  env={**os.environ, "HOME": self.base + "/link"}), "kept\n")

    def test_the_operators_home_wins_in_every_mode(self):
        for mode in ("host", "private", "none"):
            plain = self.profile({"filesystem": {"home": mode}})
            own = self.profile({"filesystem": {"home": mode},
                                "environment": {"set": {"HOME": self.work}}}, "own.json")
            with self.subTest(mode):
                self.assertEqual(self.out('echo "$HOME" ~', "--profile", plain, "--env",
                                          "HOME=" + self.work, env=self.env),
                                 f"{self.work} {self.work}\n")
                self.assertEqual(self.out('echo "$HOME"', "--profile", own, env=self.env),
                                 self.work + "\n")

    def test_command_policy_knows_that_home(self):
        os.mkdir(self.work + "/d")
        flags = ("--env", "HOME=" + self.work)
        self.assertEqual(self.sh("rm -r ~/d", *flags)["status"], "exited")
        self.assertEqual(self.sh("rm -r ~/d", "--env", "HOME=/srv")["status"], "needs_approval")


class Start(harness.Case):
    def test_below_the_workspace_it_is_where_the_caller_stands(self):
        os.makedirs(self.work + "/a/b")
        for here in ("", "/a", "/a/b"):
            self.assertEqual(self.sh("pwd", "--workspace", self.work, cwd=self.work + here)["stdout"],
                             self.work + here + "\n")
        done = self.raw("exec", "--workspace", self.work, "-c", "pwd", cwd=self.work + "/a")
        self.assertEqual(done.stdout.decode(), self.work + "/a\n")
        self.assertEqual(self.sh("pwd", "--workspace", self.work, "--cwd", "a/b",
                                 cwd=self.work + "/a")["stdout"], self.work + "/a/b\n")

    def test_in_a_directory_that_the_policy_does_not_show_nothing_runs(self):
        os.mkdir(self.base + "/other")
        os.mkdir(self.work + "/hidden")
        for here, flags in ((self.base + "/other", ()),
                            (self.work + "/hidden", ("--hide", self.work + "/hidden"))):
            answer = self.sh("touch ran", "--workspace", self.work, *flags, cwd=here)
            self.assert_error(answer, "cwd_not_visible")
            self.assertIn(here, answer["error"]["message"])
        self.assertEqual(os.listdir(self.work), ["hidden"])
        self.assertEqual(self.sh("pwd", "--workspace", self.work, "--cwd", ".",
                                 cwd=self.base + "/other")["stdout"], self.work + "\n")

    @unittest.skipIf(harness.is_root(), "root searches every directory")
    def test_one_below_what_cannot_be_entered_is_told_as_that(self):
        os.makedirs(self.work + "/closed/here")
        done = subprocess.run(["sh", "-c", 'cd closed/here && chmod 0 .. && "$@"; chmod 700 ..', "sh",
                               harness.SBX_RUN, "-c", "true"], cwd=self.work, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=harness.BOUND, check=False)
        answer = json.loads(done.stdout)
        self.assert_error(answer, "path_not_found")
        self.assertIn("a directory above it cannot be entered: .: EACCES", answer["error"]["message"])

    def test_a_visible_one_elsewhere_means_the_workspace(self):
        for here in ("/", "/usr", "/tmp"):
            self.assertEqual(self.sh("pwd", "--workspace", self.work, cwd=here)["stdout"],
                             self.work + "\n")


class WorkingDirectory(session_harness.Case):
    """PWD is where the command starts, whatever the caller's says."""

    def test_every_way_to_run_a_command_says_it(self):
        sub = os.path.join(self.work, "sub")
        os.mkdir(sub)
        env = {**self.env, "PWD": self.work, "OLDPWD": self.base}
        seen = ["/usr/bin/python3", "-c", "import os; e = os.environ; print(e['PWD'], 'OLDPWD' in e)"]
        flags = ["--workspace", self.work]
        self.assertEqual(self.run_json(*flags, "--cwd", "sub", "--", *seen, env=env)["stdout"], f"{sub} False\n")
        self.assertEqual(self.run_json("--workspace", sub, "--", *seen, env=env, cwd="/")["stdout"], f"{sub} False\n")
        self.assertEqual(self.raw("exec", "--cwd", "sub", "--", *seen, env=env).stdout, f"{sub} False\n".encode())
        self.assertEqual(self.run_json(*flags, "--env", "PWD=/x", "--", *seen, env=env)["stdout"], "/x False\n")
        request = json.dumps({"argv": seen, "cwd": "sub"})
        called = self.run_json("call", "run", *flags, stdin=None, input=request.encode(), env=env)
        self.assertEqual(called["stdout"], f"{sub} False\n")
        started = self.verb("start", *flags, "--cwd", "sub", "--", *seen, env=env)
        self.verb("wait", started["task_id"], env=env)
        self.assertEqual(self.verb("output", started["task_id"], env=env)["stdout"], f"{sub} False\n")
        line = json.dumps({"id": "a", "argv": seen, "cwd": "sub"}) + "\n"
        batch = self.run_json("batch", *flags, stdin=None, input=line.encode(), env=env)
        self.assertEqual(batch["stdout"], f"{sub} False\n")

    def test_a_warm_sandbox_and_a_tool_say_it_too(self):
        os.mkdir(self.work + "/sub")
        process, peer = self.server("--workspace", self.work, cwd="/", env={**self.env, "PWD": "/"})
        for _ in range(3):
            self.assertEqual(peer.call("run", command="pwd; echo $PWD", cwd="sub")["stdout"],
                             f"{self.work}/sub\n" * 2)
        peer.close()
        self.assertEqual(process.wait(harness.BOUND), 0)
        client = mcp_client.Client("--workspace", self.work, cwd="/", env={**self.env, "PWD": "/"})
        self.addCleanup(client.process.kill)
        client.send({"id": 1, "method": "tools/call", "params": {
            "name": "code_execution", "arguments": {"command": "printenv PWD", "description": "see"},
            "_meta": mcp_client.meta()}})
        answer = client.wait(lambda message: message.get("id") == 1)
        self.assertIn(self.work, json.dumps(answer["result"]))


class Errors(harness.Case):
    """One line, what failed, and what mends it; never a bare system call."""

    def clear(self, answer, code, *words):
        self.assert_error(answer, code)
        error = answer["error"]
        self.assertNotRegex(error["message"], r"^\w+\(")
        self.assertTrue(error["hint"], error)
        for word in words:
            self.assertIn(word, error["message"] + error["hint"])

    def test_a_command_that_is_too_long(self):
        request = json.dumps({"command": "echo " + "x" * 200_000}).encode()
        done = self.raw("call", "run", input=request, stdin=None)
        self.clear(json.loads(done.stdout), "too_large", "131071", "standard input")

    def test_a_directory_that_is_not_there_inside(self):
        with_tmp = os.path.join("/tmp", "not-inside")
        done = self.raw("call", "run", "--params", self.write("params", json.dumps(
            {"command": "true", "cwd": with_tmp})))
        self.clear(json.loads(done.stdout), "cwd_not_visible", with_tmp)

    def test_what_is_no_program(self):
        self.write("work/data", "data\n")
        self.clear(self.run_json("--", "./data"), "not_executable", "noexec")
        os.mkdir(self.work + "/d")
        self.clear(self.run_json("--", "./d"), "not_executable", "./d cannot be executed")


class Validate(harness.Case):
    def validate(self, document):
        done = self.raw("profile", "validate", self.profile(document))
        return done.returncode, json.loads(done.stdout)

    def test_a_layer_that_is_required_and_off_is_an_error(self):
        for off in ({"seccomp": {"mode": "off"}}, {"landlock": {"mode": "off"}},
                    {"isolation": {"namespaces": ["user", "mount", "pid"]}}):
            status, answer = self.validate(off)
            self.assertEqual((status, answer["valid"]), (125, False), off)
            (error,) = answer["errors"]
            self.assertEqual((error["code"], error["where"]), ("bad_value", "/isolation/require"))
            self.assertIn("run nowhere", error["message"])
            self.assert_error(self.sh("true", "--profile", self.base + "/test.json"),
                              "layer_unavailable")

    def test_what_the_network_mode_takes_away_is_none(self):
        self.assertEqual(self.validate({"network": {"mode": "open"}})[0], 0)
        self.assertEqual(self.validate({"landlock": {"mode": "off"}, "isolation": {
            "require": ["seccomp"]}})[0], 0)

    def test_every_shipped_profile_can_run_somewhere(self):
        directory = os.path.join(harness.SOURCE, "profiles")
        for name in sorted(os.listdir(directory)):
            if name.endswith(".json"):
                done = subprocess.run([harness.SBX_RUN, "profile", "validate",
                                       os.path.join(directory, name)], capture_output=True,
                                      timeout=harness.BOUND, check=False)
                self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main()
