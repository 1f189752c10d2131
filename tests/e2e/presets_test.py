# SPDX-License-Identifier: Apache-2.0
"""What --with adds to a profile: toolchains below the home, sockets, hosts; and what it leaves.

The home of these tests is a directory of their own, named by HOME.
"""

import json
import os
import socket
import unittest

import harness
import session_harness


class PresetsTest(harness.Case):
    def setUp(self):
        super().setUp()
        self.home = os.path.join(self.base, "home")
        os.mkdir(self.home)
        self.env = {**os.environ, "HOME": self.home}
        for name in ("SSH_AUTH_SOCK", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XAUTHORITY"):
            self.env.pop(name, None)

    def listen(self, name):
        path = os.path.join(self.base, name)
        server = socket.socket(socket.AF_UNIX)
        self.addCleanup(server.close)
        server.bind(path)
        server.listen()
        return path

    def explain(self, *flags):
        return self.run_json("explain", "--json", *flags, env=self.env)

    def test_an_error_of_one_that_is_no_profile_names_the_flag(self):
        self.write("work/broken.json", "{bad")
        for name, code in (("./broken.json", "bad_json"), ("./none.json", "profile_not_found"), ("no-such", "profile_not_found")):
            for flags in ((), ("--profile", "strict")):
                error = self.sh("true", *flags, "--with", name)["error"]
                self.assertEqual((error["code"], error["where"]), (code, "--with"), error)
                self.assertNotIn("shipped:", error["message"])

    def test_a_toolchain_below_the_home_runs_and_cannot_be_written(self):
        tools = os.path.dirname(self.write("home/.nvm/bin/mytool", "#!/bin/sh\necho ran\n", 0o755))
        env = {**self.env, "PATH": f"{tools}:/usr/bin:/bin", "NVM_DIR": self.home + "/.nvm"}
        self.assertEqual(self.sh("mytool", env=env)["exit_code"], 127)
        self.assertEqual(self.out("mytool", "--with", "node", env=env), "ran\n")
        answer = self.sh(f"echo x > {tools}/mytool", "--with", "node", env=env)
        self.assertNotEqual(answer["exit_code"], 0, answer)
        strict = self.out("echo $NVM_DIR", "--profile", "strict", "--with", "node", env=env)
        self.assertEqual(strict, self.home + "/.nvm\n")

    def test_a_preset_raises_the_network_and_a_flag_has_the_last_word(self):
        network = self.explain("--with", "node", "--with", "python")["network"]
        self.assertEqual(network["mode"], "allowlist")
        for host in ("registry.npmjs.org:443", "pypi.org:443"):
            self.assertIn(host, network["allow"])
        self.assertEqual(self.explain("--with", "node", "--profile", "network")["network"]["mode"],
                         "outbound")
        self.assertEqual(self.explain("--with", "node", "--net", "none")["network"]["mode"], "none")
        self.assertEqual(self.explain()["network"]["mode"], "none")

    def test_a_symlink_where_a_toolchain_would_be_is_left_out_and_told(self):
        os.mkdir(os.path.join(self.base, "elsewhere"))
        os.symlink("../elsewhere", self.home + "/.nvm")
        answer = self.sh("true", "--with", "node", env=self.env)
        self.assertEqual(answer["exit_code"], 0, answer)
        self.assertTrue(any(".nvm" in warning for warning in answer["sandbox"]["warnings"]), answer)

    def test_the_ssh_agent_is_reached_by_its_variable_and_only_with_its_preset(self):
        path = self.listen("agent")
        self.write("home/.ssh/id_rsa", "private")
        self.write("home/.ssh/known_hosts", "hosts\n")
        env = {**self.env, "SSH_AUTH_SOCK": path}
        program = ("import os, socket\ns = socket.socket(socket.AF_UNIX)\n"
                   "s.connect(os.environ.get('SSH_AUTH_SOCK', '" + path + "'))\nprint('in')")
        self.write("work/ask.py", program)
        self.assertNotEqual(self.sh("python3 ask.py", env=env)["exit_code"], 0)
        self.assertEqual(self.out("python3 ask.py", "--with", "ssh-agent", env=env), "in\n")
        self.assertEqual(self.out("echo $SSH_AUTH_SOCK", "--with", "ssh-agent", env=env), env["SSH_AUTH_SOCK"] + "\n")
        seen = self.out(f"ls {self.home}/.ssh", "--with", "ssh-agent", env=env)
        self.assertEqual(seen, "known_hosts\n")
        without = self.sh("true", "--with", "ssh-agent", env=self.env)
        self.assertEqual(without["exit_code"], 0, without)

    def test_a_container_runtimes_socket_is_warned_of(self):
        path = self.listen("docker.sock")
        profile = self.profile({"network": {"unix_sockets": [path]}})
        warnings = self.sh("true", "--profile", profile)["sandbox"]["warnings"]
        self.assertTrue(any("docker.sock" in text and "no sandbox" in text for text in warnings),
                        warnings)

    def test_settings_of_agents_are_held_where_they_are_and_told_where_they_are_made(self):
        self.write("work/.claude/settings.json", "mine\n")
        self.write("work/.envrc", "mine\n")
        command = ("echo x > .claude/settings.json; echo x > .envrc; mv .claude c; rm -f .envrc;"
                   "echo x > .mcp.json; mkdir -p .github/workflows; cat .claude/* .envrc")
        answer = self.sh(command, "--with", "agent-settings")
        self.assertEqual(answer["stdout"], "mine\nmine\n", answer)
        told = {denial["target"] for denial in answer["denials"]}
        self.assertLessEqual({self.work + "/.mcp.json", self.work + "/.github/workflows"}, told)

    def test_every_preset_runs_alone_and_all_of_them_together(self):
        listed = json.loads(self.raw("profile", "list", "--json").stdout)
        presets = [entry for entry in listed if "opens" in entry]
        together = []
        for preset in presets:
            self.assertTrue(preset["opens"], preset)
            self.assertEqual(preset["source"], "preset:" + preset["name"])
            together += ["--with", preset["name"]]
            with self.subTest(preset=preset["name"]):
                answer = self.sh("true", "--with", preset["name"], env=self.env)
                self.assertEqual((answer["status"], answer["exit_code"]), ("exited", 0), answer)
                self.assertEqual(answer["sandbox"]["profile"], "default")
        answer = self.sh("true", *together, env=self.env)
        self.assertEqual((answer["status"], answer["exit_code"]), ("exited", 0), answer)
        text = self.raw("profile", "list").stdout.decode()
        self.assertIn("network.allow: pypi.org:443, files.pythonhosted.org:443", text)
        self.assertIn("caches.npm: ~/.npm (rw, kept between runs)\n", text)
        self.assertIn("${home}/.cargo/bin (ro)", text)

    def test_what_a_package_manager_fetched_is_there_in_the_next_run_with_the_preset_for_it(self):
        os.makedirs(self.home + "/.npm")
        self.write("home/.npm/theirs", "the host's")
        fetch = "ls -A ~/.npm ~/.cargo/registry; echo 1 > ~/.npm/got; echo 2 > ~/.cargo/registry/got"
        flags = ("--with", "rust", "--with", "caches", "--with", "node")
        first = self.out(fetch, *flags, env=self.env)
        self.assertNotIn("got", first)
        self.assertNotIn("theirs", first)
        self.assertEqual(self.out("cat ~/.npm/got ~/.cargo/registry/got", *flags, env=self.env),
                         "1\n2\n")
        self.assertNotIn("got", self.out("ls -A ~/.npm || true", "--with", "node", env=self.env))
        self.assertEqual(os.listdir(self.home + "/.npm"), ["theirs"])

    def test_who_explains_or_checks_makes_nothing(self):
        for words in (("explain", "--with", "caches"), ("check", "--with", "caches", "--layer", "z"),
                      ("explain", "--profile", "tool-bash_exec")):
            done = self.raw(*words, "-c", "true", env=self.env)
            self.assertEqual(done.returncode, 0, done)
            self.assertEqual(os.listdir(self.home), [], words)
        self.assertEqual(self.raw("cache", "list", env=self.env).stdout, b"no caches\n")
        self.assertEqual(os.listdir(self.home), [])
        shown = str(self.explain("--with", "caches"))
        self.assertIn(self.home + "/.local/state/sbx/caches/npm/", shown)

    def test_a_cache_of_the_profiles_own_stays_as_it_has_it(self):
        own = {"npm": {"path": "~/mine", "share": "user"}, "gradle": {"path": "~/.gradle"}}
        profile = self.profile({"caches": own})
        shown = self.out("ls -d ~/mine ~/.gradle ~/.npm ~/.gradle/wrapper ~/.cache/pip 2>/dev/null; true",
                         "--profile", profile, "--with", "caches", env=self.env).split()
        self.assertEqual([os.path.relpath(path, self.home) for path in shown],
                         [".cache/pip", ".gradle", "mine"])
        self.assertEqual(os.listdir(self.home + "/.local/state/sbx/caches/npm"), ["user"])

    def test_a_file_is_laid_over_the_profile_and_protected_as_the_profile_is(self):
        more = self.write("work/more.json", '{"environment": {"set": {"MORE": "yes"}}}')
        self.assertEqual(self.out("echo $MORE", "--with", "./more.json"), "yes\n")
        answer = self.sh("echo '{}' > more.json", "--with", more)
        self.assertNotEqual(answer["exit_code"], 0, answer)

    def test_a_preset_that_is_not_known_is_named_with_the_nearest(self):
        answer = self.sh("true", "--with", "pyton")
        self.assert_error(answer, "profile_not_found")
        self.assertEqual(answer["error"]["where"], "--with")
        self.assertIn("python", answer["error"]["hint"])

    def test_an_installed_profile_does_not_take_a_presets_place(self):
        self.write("home/.config/sbx/profiles/node.json", "{}")
        env = {**self.env}
        env.pop("XDG_CONFIG_HOME", None)
        answer = self.sh("true", "--with", "node", env=env)
        self.assert_error(answer, "bad_value")

    def test_roots_on_the_command_line_may_be_relative(self):
        self.write("data/file", "there\n")
        self.write("work/secret/key", "hidden\n")
        flags = ("--workspace", self.work, "--ro", "data", "--hide", "secret")
        answer = self.sh(f"cat {self.base}/data/file; ls -A secret | wc -l", *flags, "--cwd", ".",
                         cwd=self.base)
        self.assertEqual(answer["stdout"], "there\n0\n", answer)
        both = self.sh("true", "--ro", "data", "--rw", "/data", cwd=self.base)
        self.assertNotEqual(both["error"]["code"], "bad_flag", both)

    def test_gits_settings_stand_and_fall_in_pairs(self):
        settings = (("http.https://git.test/.extraheader", "AUTHORIZATION: basic c2VjcmV0"), ("user.name", "Ann"))
        env = {**self.env, "GIT_CONFIG_COUNT": str(len(settings))}
        for number, (key, value) in enumerate(settings):
            env.update({f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value})
        answer = self.sh("git config user.name; git config --get-regexp extraheader; env", env=env)
        self.assertEqual((answer["stdout"].splitlines()[0], answer["stderr"]), ("Ann", ""), answer)
        self.assertNotIn("c2VjcmV0", answer["stdout"])
        self.assertNotIn("extraheader", answer["stdout"])


class SessionPresetsTest(session_harness.Case):
    def test_a_session_has_its_presets_and_its_relative_roots(self):
        self.write("more.json", '{"environment": {"set": {"MORE": "yes"}}}')
        self.write("data/file", "there\n")
        task = self.verb("start", "--session", "p", "--with", "./more.json", "--with", "node",
                         "--ro", "data", "-c", f"echo $MORE; cat {self.base}/data/file",
                         cwd=self.base)["task_id"]
        self.assertEqual(self.verb("wait", "--session", "p", task)["stdout"], "yes\nthere\n")


if __name__ == "__main__":
    unittest.main()
