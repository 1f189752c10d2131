# SPDX-License-Identifier: Apache-2.0
"""Patterns in roots, protect and --hide, and caches that are kept between runs."""

import json
import os
import subprocess
import unittest

import harness


class Globs(harness.Case):
    def hiding(self, pattern, access="none"):
        return self.profile({"filesystem": {"roots": [
            {"path": "${workspace}", "access": "rw"}, {"path": pattern, "access": access}]}})

    def test_what_matches_is_hidden_however_deep(self):
        for path in (".env", "a/.env", "a/b/c/.env", "a/.envrc", "a/b/x.env"):
            self.write("work/" + path, "hush " + path)
        answer = self.sh("cat .env a/.env a/b/c/.env a/.envrc a/b/x.env 2>/dev/null; mv a/.env z;"
                         "mv a/b b2; true", "--profile", self.hiding("${workspace}/**/.env"))
        self.assertEqual(answer["stdout"], "hush a/.envrchush a/b/x.env", answer)
        self.assertEqual(sorted(os.listdir(self.work + "/a")), [".env", ".envrc", "b"])

    def test_also_in_what_is_shown_of_a_hidden_directory(self):
        """Hidden as a whole it is not looked into: what a root shows of it is, however that is named."""
        self.write("work/cache/shown/.env", "hush")
        self.write("work/cache/shown/plain", "plain\n")
        os.symlink("cache", self.work + "/link")
        for shown in ("cache/shown", "link/shown", "cache/sh*", "c*/shown"):
            profile = self.profile({"filesystem": {"roots": [
                {"path": "${workspace}", "access": "rw"}, {"path": "${workspace}/cache", "access": "none"},
                {"path": "${workspace}/" + shown, "access": "ro"}, {"path": "${workspace}/**/.env", "access": "none"}]}})
            answer = self.sh("cat cache/shown/.env cache/shown/plain", "--profile", profile)
            self.assertEqual(answer["stdout"], "plain\n", (shown, answer))

    def test_a_refused_write_to_a_match_is_told_of(self):
        keep = self.write("work/x/keep.txt", "kept\n")
        self.write("work/x/.env", "hush")
        for more in ([], [{"path": "${workspace}/**/.env", "access": "none"}]):
            profile = self.profile({"filesystem": {"+roots": [{"path": "${workspace}/x/*.txt", "access": "ro"}] + more}})
            answer = self.sh("cat x/.env; echo 1 > x/keep.txt", "--profile", profile)
            grant = f'filesystem.roots += [{{"path": "{keep}", "access": "rw"}}]'
            self.assertIn((keep, grant), [(d["target"], d["grant"]) for d in answer["denials"]], answer)
            self.assertEqual({d["target"] for d in answer["denials"]}, {keep} | {self.work + "/x/.env" for _ in more})

    def test_stars_stand_within_one_component(self):
        for path in ("k1.pem", "sub/k2.pem", "plain"):
            self.write("work/" + path, "hush " + path)
        answer = self.sh("cat k1.pem sub/k2.pem plain 2>/dev/null; true", "--hide", "*.pem")
        self.assertEqual(answer["stdout"], "hush sub/k2.pemhush plain", answer)
        answer = self.sh("cat k1.pem sub/k2.pem plain 2>/dev/null; true", "--hide", "**/*.pem",
                         "--hide", "none*")
        self.assertEqual(answer["stdout"], "hush plain", answer)

    def test_a_path_that_is_named_is_more_specific_whatever_the_order(self):
        self.write("work/a.pem", "a\n")
        self.write("work/b.pem", "b\n")
        roots = [{"path": "${workspace}", "access": "rw"}, {"path": "${workspace}/*.pem", "access": "none"},
                 {"path": self.work + "/a.pem", "access": "ro"}]
        for order in (roots, [roots[0], roots[2], roots[1]]):
            answer = self.sh("cat a.pem b.pem", "--profile", self.profile({"filesystem": {"roots": order}}))
            self.assertEqual(answer["stdout"], "a\n", answer)

    def test_a_link_that_matches_is_hidden_and_none_is_followed(self):
        self.write("other/.env", "hush")
        os.symlink("../other", self.work + "/link")
        os.symlink("../other/.env", self.work + "/.env")
        answer = self.sh("cat .env link/.env", "--hide", "**/.env", "--ro", self.base + "/other")
        self.assertEqual(answer["stdout"], "", answer)

    def test_read_only_patterns_and_protected_ones(self):
        for path in ("a/lock.json", "b/lock.json", "c/free"):
            self.write("work/" + path, "as it was")
        profile = self.hiding("${workspace}/*/lock.json", "ro")
        answer = self.sh("for d in a b c; do echo x > $d/lock.json; done 2>/dev/null; cat a/* b/*",
                         "--profile", profile)
        self.assertEqual(answer["stdout"], "as it wasas it was", answer)
        os.remove(self.work + "/c/lock.json")
        profile = self.profile({"filesystem": {"+protect": ["**/lock.json"]}})
        answer = self.sh("for d in a b c; do echo x > $d/lock.json; mv $d/lock.json $d/k; done;"
                         "mkdir d; echo x > d/lock.json", "--profile", profile)
        for name in "ab":
            self.assertEqual(os.listdir(f"{self.work}/{name}"), ["lock.json"], answer)
        told = {d["target"] for d in answer["denials"] if d["operation"] == "protected_created"}
        self.assertIn(self.work + "/d/lock.json", told)

    @unittest.skipIf(harness.is_root(), "root lists every directory")
    def test_what_cannot_be_listed_may_hide_nothing(self):
        """A name is enough to read what lies in it, and its owner can open it up."""
        for mode in (0o311, 0):
            place = os.path.join(self.work, f"d{mode}")
            self.write(f"work/d{mode}/.env", "hush")
            os.chmod(place, mode)
            self.addCleanup(os.chmod, place, 0o755)
            answer = self.sh(f"cat d{mode}/.env", "--hide", "**/.env")
            self.assert_error(answer, "path_refused")
            self.assertIn(f"d{mode}", answer["error"]["message"])
            os.chmod(place, 0o755)

    def test_nor_may_what_lies_too_deep(self):
        self.write("work/" + "d/" * 140 + ".env", "hush")
        self.assert_error(self.sh("true", "--hide", "**/.env"), "path_refused")
        self.assertEqual(self.sh("true", "--hide", "*.pem")["status"], "exited")

    def test_what_comes_to_match_is_named(self):
        self.write("work/.env", "hush")
        answer = self.sh("mkdir new; echo x > new/.env; echo x > other", "--hide", "**/.env")
        told = [d["target"] for d in answer["denials"] if d["operation"] == "hidden_appeared"]
        self.assertEqual(told, [self.work + "/new/.env"], answer)

    def test_so_is_a_directory_that_is_made_unlistable(self):
        """What it holds may match, and it is not for a look to open it. Root lists it all the same."""
        self.addCleanup(os.chmod, self.work, 0o700)
        for told, place, flags in (("hidden_appeared", "d", ("--hide", "**/.env")), ("hidden_appeared", ".", ("--hide", "*.env")),
                                   ("protected_created", "d", ("--profile", self.profile({"filesystem": {
                                       "+protect": [{"path": "**/.env", "missing": "report"}]}})))):
            answer = self.sh(f"mkdir d; echo x > {place}/.env; chmod 311 {place}", *flags)
            os.chmod(self.work, 0o700)
            target = os.path.normpath(os.path.join(self.work, place, ".env" if harness.is_root() else "."))
            self.assertEqual([d["target"] for d in answer["denials"] if d["operation"] == told], [target], answer)
            os.unlink(f"{self.work}/{place}/.env")
            os.rmdir(self.work + "/d")

    def test_what_the_run_itself_puts_there_is_not(self):
        answer = self.sh("true", "--hide", "*")
        self.assertEqual((answer["status"], answer["denials"]), ("exited", []), answer)

    def test_four_thousand_matches_are_hidden(self):
        for i in range(4096):
            self.write(f"work/{i}/.env", "hush")
        answer = self.sh("cat */.env 2>/dev/null; ulimit -n", "--hide", "**/.env")
        self.assertEqual((answer["status"], answer["stdout"]), ("exited", "1024\n"), answer["error"])

    def test_what_a_request_brings_along_is_hidden_and_held_too(self):
        profile = self.profile({"filesystem": {
            "roots": [{"path": "${workspace}", "access": "rw"},
                      {"path": "${workspace}/sub/*.secret", "access": "none"}],
            "protect": ["**/*.lock"]}})
        request = {"command": "cat sub/a.secret; echo x >> sub/a.lock; cat sub/b",
                   "files": [{"path": f"sub/{name}", "content": name} for name in ("a.secret", "a.lock", "b")]}
        done = self.raw("call", "run", "--workspace", self.work, "--profile", profile, stdin=None,
                        input=json.dumps(request).encode())
        answer = json.loads(done.stdout)
        self.assertEqual(answer["stdout"], "b", answer)
        self.assertNotIn("hidden_appeared", [denial["operation"] for denial in answer["denials"]])
        self.assertEqual(open(self.work + "/sub/a.lock").read(), "a.lock")

    def test_too_much_is_an_error_and_nothing_runs(self):
        for i in range(4097):
            self.write(f"work/d/{i}.pem", "")
        answer = self.sh("touch ran", "--hide", "**/*.pem")
        self.assert_error(answer, "path_refused")
        self.assertEqual(answer["error"]["where"], "--hide")
        self.assertFalse(os.path.exists(self.work + "/ran"))

    def test_a_star_in_the_workspaces_own_name_is_none(self):
        star = os.path.join(self.base, "a*b")
        os.mkdir(star)
        os.mkdir(os.path.join(self.base, "axb"))
        self.assertEqual(self.out("touch here; pwd", cwd=star), star + "\n")
        self.assertEqual(os.listdir(star), ["here"])


class Caches(harness.Case):
    def setUp(self):
        super().setUp()
        self.home = os.path.join(self.base, "home")
        os.mkdir(self.home)
        self.write("home/.cache/x/theirs", "the host's")
        self.env = {**os.environ, "HOME": self.home, "PATH": "/usr/bin:/bin"}
        self.env.pop("XDG_STATE_HOME", None)
        self.cached = self.profile({"caches": {
            "x": {"path": "~/.cache/x"}, "all": {"path": "~/.all", "share": "user"}}})

    def inside(self, command, at=None):
        return self.out(command, "--profile", self.cached, env=self.env, cwd=at or self.work)

    def test_a_cache_is_kept_for_its_workspace_or_for_all(self):
        other = os.path.join(self.base, "second")
        os.mkdir(other)
        self.assertEqual(self.inside("ls -A ~/.cache/x; ls -A ~/.all; echo 1 > ~/.cache/x/f;"
                                     "echo 2 > ~/.all/f"), "")
        self.assertEqual(self.inside("cat ~/.cache/x/f ~/.all/f"), "1\n2\n")
        self.assertEqual(self.inside("cat ~/.cache/x/f ~/.all/f 2>/dev/null || true", other), "2\n")
        self.assertEqual(os.listdir(self.home + "/.cache/x"), ["theirs"])
        self.assertFalse(os.path.exists(self.home + "/.all"))

    def test_one_that_a_command_closes_or_opens_is_there_for_the_next(self):
        for mode in ("0", "777", "500"):
            self.inside(f"echo {mode} > ~/.all/f; chmod {mode} ~/.all")
            self.assertEqual(self.inside("cat ~/.all/f; stat -c %a ~/.all"), f"{mode}\n700\n")

    def test_a_layer_lies_over_those_that_are_new_as_well(self):
        flags = ("--layer", "one", "--profile", self.cached)
        self.assertEqual(self.out("echo 1 > ~/.cache/x/f; cat ~/.cache/x/f", *flags, env=self.env), "1\n")
        self.assertEqual(self.out("cat ~/.cache/x/f", *flags, env=self.env), "1\n")

    def test_they_are_listed_and_cleared_for_all_workspaces(self):
        self.inside("echo 1 > ~/.cache/x/f; mkdir -p ~/.all/d; echo 2 > ~/.all/d/f")
        listed = json.loads(self.raw("cache", "list", "--json", env=self.env).stdout)
        self.assertEqual([entry["name"] for entry in listed], ["all", "x"])
        self.assertTrue(all(entry["size"] > 0 for entry in listed))
        self.assertEqual(self.raw("cache", "clear", "x", env=self.env).returncode, 0)
        self.assertEqual(self.inside("ls -A ~/.cache/x; cat ~/.all/d/f"), "2\n")
        self.assertEqual(self.raw("cache", "clear", "nothing", env=self.env).returncode, 125)
        self.assertEqual(self.raw("cache", "clear", "../x", env=self.env).returncode, 125)

    def test_a_cache_that_a_command_turned_into_a_link_leads_nowhere(self):
        self.inside("ln -s / ~/.cache/x/link; rmdir ~/.cache/x || true")
        self.assertEqual(self.raw("cache", "clear", "x", env=self.env).returncode, 0)
        self.assertTrue(os.path.exists("/usr"))

    def test_one_that_a_writable_root_would_hold_is_refused(self):
        answer = self.sh("true", "--profile", self.cached, "--rw", self.home, env=self.env)
        self.assert_error(answer, "path_refused")
        self.assertEqual(answer["error"]["where"], "/caches")

    def test_bad_ones_are_refused(self):
        for caches in ({"a/b": {"path": "~/x"}}, {"..": {"path": "~/x"}}, {"a": {"path": "/x"}},
                       {"a": {"path": "~/../x"}}, {"a": {"path": "~"}}, {"a": {}},
                       {"a": {"path": "~/x", "share": "all"}}):
            answer = self.sh("true", "--profile", self.profile({"caches": caches}), env=self.env)
            self.assertEqual(answer["status"], "error", caches)

    def test_a_session_sees_what_a_run_left_and_goes_on_after_a_clear(self):
        self.inside("echo 1 > ~/.cache/x/f")
        server = subprocess.Popen(
            [harness.SBX_RUN, "serve", "--workspace", self.work, "--profile",
             self.cached], cwd=self.work, env=self.env,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(self.end, server)

        def ask(command):
            server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "run",
                                           "params": {"command": command}}) + "\n")
            server.stdin.flush()
            while True:
                message = json.loads(server.stdout.readline())
                if message.get("id") == 1:
                    return message["result"]["stdout"]

        self.assertEqual(ask("cat ~/.cache/x/f"), "1\n")
        self.raw("cache", "clear", "x", env=self.env)
        self.assertEqual(ask("ls -A ~/.cache/x; echo 2 > ~/.cache/x/g"), "")
        self.assertEqual(self.inside("cat ~/.cache/x/g"), "2\n")


if __name__ == "__main__":
    unittest.main()
