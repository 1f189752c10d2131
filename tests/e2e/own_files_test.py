# SPDX-License-Identifier: Apache-2.0
"""The rules and the record of a run lie where its command cannot write them."""

import json
import os
import signal
import stat
import struct
import subprocess
import unittest

import harness
import protect_harness


class OwnFiles(protect_harness.Case):
    """A command cannot write the rules or the record of this run or the next."""

    WRITING = ("default", "build", "network", "tool-bash", "tool-bash_exec", "tool-shell",
               "tool-execute_command", "tool-code_execution")

    @staticmethod
    def spoil(*paths):
        return "".join(f"echo x >> {path}; rm -f {path}; mv {path} moved; echo x > n; mv n {path};"
                       for path in paths) + "true"

    def test_what_runs_nothing_makes_nothing_in_a_home_that_shows(self):
        env = {**os.environ, "HOME": self.work}
        env.pop("XDG_STATE_HOME", None)
        env.pop("XDG_CONFIG_HOME", None)
        for words in (["check"], ["explain"], ["explain", "--json"]):
            self.raw(*words, "-c", "true", env=env)
            self.assertEqual(os.listdir(self.work), [], words)
        self.raw("-c", "true", env=env)  # whose command could make them
        self.assertEqual(sorted(os.listdir(self.work)), [".config", ".local"])

    def test_every_profile_of_the_chain_is_protected(self):
        base = self.write("work/rules/base.json", "{}")
        real = self.write("work/real/middle.json", '{"extends": "../rules/base.json"}')
        os.symlink("../real/middle.json", self.work + "/rules/middle.json")
        os.symlink("rules", self.work + "/led")
        top = self.write("work/top.json", '{"extends": "led/middle.json"}')
        self.unchanged(self.spoil("top.json", "real/middle.json", "rules/middle.json",
                                  "rules/base.json", "led", "led/base.json", "rules", "real"),
                       base, real, top, self.work + "/rules/middle.json", self.work + "/led",
                       flags=["--profile", "top.json"])

    def test_however_they_are_spelled_what_is_refused_is_told(self):
        os.makedirs(self.work + "/sub")
        for file in ("base.json", "own.json"):
            self.write("work/" + file, "{}")
        self.write("work/sub/top.json", '{"extends": "../own.json"}')
        self.write("work/beside.json", '{"extends": "./own.json"}')
        for flags, file in ((["--profile", "./own.json"], "own.json"), (["--profile", "sub/../own.json"], "own.json"),
                            (["--profile", "sub/top.json"], "own.json"), (["--profile", "./beside.json"], "own.json"),
                            (["--audit", "./sub/../audit.log"], "audit.log")):
            answer = self.sh(f"echo x > {file}", *flags)
            self.assertEqual([d["target"] for d in answer["denials"]], [f"{self.work}/{file}"], (flags, answer))

    def test_the_audit_log_and_the_result_file_are_protected(self):
        audit, result = self.work + "/log/audit", self.work + "/result.json"
        os.mkdir(self.work + "/log")
        command = "echo x >> log/audit; echo x >> result.json; mv log l; rm log/audit result.json"
        process = self.raw("exec", "--audit", "log/audit", "--result-file", "result.json", "-c",
                           command)
        self.assertEqual(process.returncode, 1, process)
        with open(audit) as file:
            self.assertEqual(json.loads(file.read())["command"], command)
        with open(result) as file:
            self.assertEqual(json.loads(file.read())["exit_code"], 1)

    def test_so_is_what_the_caller_names(self):
        kept = self.write("work/kept", "as it was")
        self.unchanged(self.spoil("kept"), kept, flags=["--protect", "kept"])

    def test_what_a_pattern_hides_stays_hidden_though_it_is_held(self):
        self.write("work/keys/a.env", "hush")
        answer = self.sh("cat keys/a.env; echo x >> keys/a.env", "--hide", "keys/*.env", "--protect", "keys/a.env")
        self.assertNotIn("hush", answer["stdout"], answer)
        with open(self.work + "/keys/a.env") as file:
            self.assertEqual(file.read(), "hush")

    def test_a_file_is_held_however_it_is_named(self):
        place = self.base + "/other"
        kept = self.write("other/d/kept", "as it was")
        os.symlink("d", place + "/led")
        profile = self.write("p.json", json.dumps({"extends": "default", "filesystem": {"+roots": [
            {"path": place + "/d/*", "access": "rw"}]}}))
        for name in ("d/kept", "./d/kept", "d/../d/kept", "led/kept"):
            self.unchanged(f"echo x >> {kept}; true", kept, flags=["--profile", profile, "--protect", f"{place}/{name}"])

    @unittest.skipIf(harness.is_root(), "root may look everywhere")
    def test_what_is_closed_to_the_caller_is_no_obstacle(self):
        closed = "/root/run" if not os.access("/root", os.X_OK) else "/nowhere/run"
        environment = {**os.environ, "XDG_RUNTIME_DIR": closed}
        for flags in ([], ["--profile", "readonly"], ["--hide", closed + "/x/*.pem"]):
            self.assertEqual(self.sh("true", *flags, env=environment)["status"], "exited", flags)

    def test_the_results_of_a_batch_are_protected(self):
        tasks = "".join(json.dumps({"id": str(i), "command": "echo forged >> r.jsonl; rm -f r.jsonl; sleep 0.2; echo forged > r.jsonl.held;"
                                                             "echo forged > r.jsonl"}) + "\n" for i in range(3))
        done = self.raw("batch", "--results", "r.jsonl", "--jobs", "3", "-", stdin=None, input=tasks.encode())
        self.assertEqual(done.returncode, 1, done)  # the commands' own
        with open(self.work + "/r.jsonl") as file:
            results = [json.loads(line) for line in file]
        self.assertEqual(sorted(result["id"] for result in results), ["0", "1", "2"])
        told = [d["operation"] for result in results for d in result["denials"]]
        self.assertFalse({"protected_changed", "protected_created"} & set(told), results)
        self.assertNotIn("r.jsonl.held", os.listdir(self.work))

    def test_the_users_own_profiles_are_protected_where_the_home_is_writable(self):
        """What later runs go by, by a name."""
        for there in (True, False):
            home = os.path.join(self.base, f"home{there}")
            os.mkdir(home)
            if there:
                self.write(f"home{there}/dot/sbx/profiles/team.json", '{"name": "team"}')
                os.symlink("dot", home + "/.config")
            environment = {**os.environ, "HOME": home}
            environment.pop("XDG_CONFIG_HOME", None)
            for root in (home, home + "/.c*"):
                profile = self.write("p.json", json.dumps({"extends": "default", "filesystem": {"+roots": [{"path": root, "access": "rw"}]}}))
                answer = self.sh(f"mkdir -p {home}/.config/sbx/profiles; echo '{{}}' > {home}/.config/sbx/profiles/team.json;"
                                 f"echo '{{}}' > {home}/.config/sbx/profiles/new.json;"
                                 f"rm -f {home}/.config; mkdir -p {home}/.config/sbx/profiles; echo '{{}}' > {home}/.config/sbx/profiles/new.json",
                                 "--profile", profile, env=environment)
                made = os.path.join(home, ".config/sbx/profiles")
                self.assertEqual(os.listdir(made) if os.path.isdir(made) else [], ["team.json"] if there else [], answer)
                if there:
                    with open(made + "/team.json") as file:
                        self.assertEqual(file.read(), '{"name": "team"}', answer)

    def test_nor_does_a_root_at_them_or_within_them_make_them_writable(self):
        kept = self.write("home/.config/sbx/profiles/team.json", '{"name": "team"}')
        state = os.path.dirname(self.write("state/sbx/approvals/x", ""))
        environment = {**os.environ, "HOME": self.base + "/home", "XDG_STATE_HOME": self.base + "/state"}
        environment.pop("XDG_CONFIG_HOME", None)
        for root in (kept, os.path.dirname(kept), os.path.dirname(os.path.dirname(kept)), state):
            profile = self.write("p.json", json.dumps({"extends": "default", "filesystem": {"+roots": [{"path": root, "access": "rw"}]}}))
            answer = self.sh(f"echo '{{}}' > {kept}; echo '{{}}' > {os.path.dirname(kept)}/new.json; rm -f {kept}; echo > {state}/y",
                             "--profile", profile, env=environment)
            self.assertEqual(os.listdir(os.path.dirname(kept)), ["team.json"], answer)
            self.assertEqual(os.listdir(state), ["x"], answer)
            with open(kept) as file:
                self.assertEqual(file.read(), '{"name": "team"}', root)
            self.assertNotIn("filesystem.roots", str([d["grant"] for d in answer["denials"]]), root)

    def test_a_pattern_of_a_root_shows_no_token_and_writes_no_state(self):
        runtime, state = os.path.join(self.base, "rt"), os.path.join(self.base, "rs")
        os.mkdir(runtime, 0o700)
        environment = {**os.environ, "XDG_RUNTIME_DIR": runtime, "XDG_STATE_HOME": state}
        for pattern in (self.base + "/r*", os.path.dirname(self.base) + "/*/r*", self.base + "/**"):
            profile = self.write("p.json", json.dumps({"extends": "default", "filesystem": {"+roots": [{"path": pattern, "access": "rw"}]}}))
            os.makedirs(runtime + "/sbx", 0o700, exist_ok=True)
            token = self.write("rt/sbx/x.token", "hush")
            os.makedirs(state + "/sbx/approvals", 0o700, exist_ok=True)
            answer = self.sh(f"cat {token}; echo x > {state}/sbx/approvals/x; ls {self.base}", "--profile", profile, env=environment)
            self.assertNotIn("hush", answer["stdout"], pattern)
            self.assertEqual(os.listdir(state + "/sbx/approvals"), [], pattern)

    def test_the_audit_log_that_a_profile_names_is_protected(self):
        audit = self.write("work/audit", "")
        self.write("work/p.json", json.dumps({"audit": {"file": audit}}))
        self.sh(self.spoil("audit", "p.json"), "--profile", "p.json")
        with open(audit) as file:
            self.assertEqual(len(file.read().splitlines()), 1)

    def test_a_projects_settings_cannot_be_written(self):
        shown = self.base + "/shown"
        settings = self.write("shown/.sbx/profile.json", "{}")
        for name in self.WRITING:
            self.unchanged(self.spoil(settings) + f"; touch {shown}/.sbx/x", settings,
                           flags=["--profile", name, "--rw", shown])
            self.assertEqual(os.listdir(shown + "/.sbx"), ["profile.json"])

    def test_a_projects_settings_that_are_missing_cannot_be_made(self):
        other = self.base + "/other"
        os.mkdir(other)
        for name in self.WRITING:
            answer = self.sh("for d in . " + other + "; do mkdir $d/.sbx; echo {} > $d/.sbx/a;"
                             "mv $d/.sbx $d/b; done; exit 3",
                             "--profile", name, "--rw", other)
            self.assertEqual(answer["exit_code"], 3, answer)
            self.assertEqual((os.listdir(self.work), os.listdir(other)), ([], []), name)

    def test_with_landlock_alone_made_settings_are_reported(self):
        profile = self.profile({"isolation": {"namespaces": [], "require": ["landlock"]}})
        answer = self.sh("mkdir .sbx .git; mkdir .git/hooks", "--profile", profile)
        self.assertEqual(self.created(answer), {self.work + "/.sbx", self.work + "/.git/hooks"})
        # Of .sbx no profile makes an exception.
        self.assertEqual({d["target"]: d["grant"] for d in answer["denials"]
                          if d["operation"] == "protected_created"}[self.work + "/.sbx"], "")

    def test_a_root_in_which_nothing_can_be_made_is_no_error(self):
        os.chmod(self.work, 0o555)
        self.addCleanup(os.chmod, self.work, 0o755)
        self.assertEqual(self.out("echo fine"), "fine\n")

    def below_a_trusted_profile(self):
        """Where to run: a directory below a project whose trusted profile hides `s` in it."""
        self.write("work/.sbx/profile.json", json.dumps(
            {"extends": "default", "filesystem": {"+roots": [{"path": "${workspace}/s", "access": "none"}]}}))
        place = {"cwd": os.path.dirname(self.write("work/sub/s", "secret")),
                 "env": {**self.env, "XDG_STATE_HOME": self.base + "/state"}}
        self.assertEqual(self.raw("trust", env=place["env"]).returncode, 0)
        return place

    def assert_still_hides(self, place):
        self.assertEqual(os.listdir(place["cwd"]), ["s"])
        answer = self.sh("cat s", **place)
        self.assertNotIn("secret", answer["stdout"], answer)

    def test_a_default_access_list_leaves_no_place_of_settings_behind(self):
        place = self.below_a_trusted_profile()
        entries = b"".join(struct.pack("<HHI", tag, 0, 0xffffffff) for tag in (1, 4, 32))
        script = f"import os; os.setxattr('.', 'system.posix_acl_default', {struct.pack('<I', 2) + entries})"
        self.out(f'python3 -c "{script}"', **place)
        self.assert_still_hides(place)
        self.assert_still_hides(place)

    def test_nor_can_settings_be_made_in_a_directory_that_is_closed_to_its_owner(self):
        place = self.below_a_trusted_profile()
        os.chmod(place["cwd"], 0o500)
        self.addCleanup(os.chmod, place["cwd"], 0o700)
        self.assertEqual(self.out("stat -c %a .", **place), "500\n")
        self.sh("chmod 700 .; mkdir .sbx; echo {} > .sbx/profile.json; chmod 500 .", **place)
        self.assert_still_hides(place)
        self.assertEqual(stat.S_IMODE(os.stat(place["cwd"]).st_mode), 0o500)

    def test_nothing_of_theirs_stays_in_a_directory_that_a_command_closes(self):
        self.addCleanup(os.chmod, self.work, 0o700)
        for mode in (0o500, 0):
            self.out(f"chmod {mode:o} .")
            self.assertEqual(stat.S_IMODE(os.stat(self.work).st_mode), mode)
            os.chmod(self.work, 0o700)
            self.assertEqual(os.listdir(self.work), [], mode)

    def test_nor_once_the_run_was_killed(self):
        self.addCleanup(os.chmod, self.work, 0o700)
        run = subprocess.Popen([harness.SBX_RUN, "-c", "chmod 500 .; sleep 30"], cwd=self.work,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(self.end, run)
        self.assertTrue(harness.until(lambda: os.stat(self.work).st_mode & 0o777 == 0o500))
        self.assertEqual(os.listdir(self.work), [".sbx"])
        run.send_signal(signal.SIGKILL)
        run.wait()
        self.assertTrue(harness.until(lambda: not os.listdir(self.work), 10))
        self.assertTrue(harness.until(lambda: os.stat(self.work).st_mode & 0o777 == 0o500))


if __name__ == "__main__":
    unittest.main()
