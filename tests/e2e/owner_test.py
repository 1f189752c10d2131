# SPDX-License-Identifier: Apache-2.0
"""Root in another user's directory: a command, which has no capabilities, works there as that user would."""

import json
import os
import tempfile
import unittest

import harness

OWNER = 4321
OTHER = 4322


@unittest.skipUnless(harness.is_root(), "for root: another caller has files of their own only")
class AnothersWorkspace(harness.Case):
    def setUp(self):
        super().setUp()
        self.write("work/theirs", "old\n", 0o600)
        self.write("work/roots", "root's\n", 0o600)
        self.write("work/others", "other's\n", 0o666)
        self.give("work", "work/theirs")
        os.chown(os.path.join(self.base, "work/others"), OTHER, OTHER)
        os.chmod(self.base, 0o700)  # as a home directory is: shut to all others
        os.chown(self.base, OWNER, OWNER)

    def give(self, *names):
        for name in names:
            os.chown(os.path.join(self.base, name), OWNER, OWNER)

    def owner(self, name):
        info = os.lstat(os.path.join(self.work, name))
        return info.st_uid, info.st_gid

    def shown(self, *flags):
        answer = self.sh("echo new >> theirs && cat theirs", *flags)
        if any("is another user's" in warning for warning in answer["sandbox"]["warnings"]):
            self.skipTest("no mount here that maps ids: " + answer["sandbox"]["warnings"][0])
        return answer

    def served(self, *runs, flags=()):
        """The answers of a session to these, in any order."""
        lines = [{"jsonrpc": "2.0", "id": n, "method": "run", "params": run} for n, run in enumerate(runs)]
        served = self.raw("serve", "--workspace", self.work, *flags, stdin=None,
                          input="".join(json.dumps(line) + "\n" for line in lines).encode())
        answers = [answer["result"] for answer in map(json.loads, served.stdout.splitlines()) if "id" in answer]
        self.assertEqual([answer["exit_code"] for answer in answers], [0] * len(runs), served)
        return answers

    def test_its_files_are_roots_inside(self):
        self.assertEqual(self.shown()["stdout"], "old\nnew\n")
        self.assertEqual(self.out("stat -c %u:%g . theirs"), "0:0\n0:0\n")
        self.assertEqual(self.owner("theirs"), (OWNER, OWNER))

    def test_what_is_made_there_is_the_owners(self):
        self.shown()
        self.out("mkdir d && echo x > d/f && ln -s f d/l && chmod 700 d/f")
        for name in ("d", "d/f", "d/l"):
            self.assertEqual(self.owner(name), (OWNER, OWNER), name)
        self.assertEqual(self.out("./d/f; cat d/l; rm -r d; ls"), "x\nothers\nroots\ntheirs\n")

    def test_roots_own_files_there_are_not_its_commands(self):
        self.shown()
        answer = self.sh("cat roots; echo x >> roots; chmod 666 roots; cat others; echo more >> others")
        self.assertEqual(answer["stdout"], "other's\n")
        self.assertEqual(answer["stderr"].count("ermission denied") + answer["stderr"].count("not permitted"), 3, answer)
        with open(os.path.join(self.work, "others")) as file:
            self.assertEqual(file.read(), "other's\nmore\n")

    def test_a_file_gets_no_owner_and_no_set_user_id_bit(self):
        self.shown()
        script = f"import os\nfor change in (lambda: os.chown('theirs', {OTHER}, -1), lambda: os.chmod('theirs', 0o4755)):\n" \
                 "    try: change()\n    except OSError as error: print(error.strerror)\n"
        answer = self.sh(f'/usr/bin/python3 -c "{script}"; stat -c %a theirs')
        self.assertEqual(answer["stdout"].splitlines()[-1], "600", answer)
        self.assertEqual(len(answer["stdout"].splitlines()), 3, answer)
        self.assertEqual(self.owner("theirs"), (OWNER, OWNER))

    def test_protected_paths_hold(self):
        os.makedirs(os.path.join(self.work, ".git/hooks"))
        self.write("work/.git/config", "[core]\n")
        self.give("work/.git", "work/.git/hooks", "work/.git/config")
        self.shown()
        answer = self.sh("echo x > .git/hooks/a; echo x >> .git/config; mv .git g; mkdir .sbx; touch .sbx/a; cat .git/config")
        self.assertEqual(answer["stdout"], "[core]\n", answer)
        self.assertEqual(os.listdir(os.path.join(self.work, ".git/hooks")), [])
        self.assertEqual(sorted(os.listdir(self.work)), [".git", "others", "roots", "theirs"])

    def test_a_directory_of_roots_that_is_shut_is_protected_as_a_whole(self):
        os.makedirs(os.path.join(self.work, "in/.git/hooks"))
        self.write("work/in/.git/config", "[core]\n")
        self.give("work/in")
        os.chmod(os.path.join(self.work, "in/.git"), 0o700)
        self.shown()
        profile = self.profile({"filesystem": {"protect": ["in/.git/config", "in/.git/hooks"]}})
        answer = self.sh("cat in/.git/config; echo x >> in/.git/config; mv in/.git in/g; mv in h; rmdir in/.git; touch in/new",
                         "--profile", profile)
        self.assertEqual((answer["exit_code"], answer["stdout"]), (0, ""), answer)
        self.assertEqual(sorted(os.listdir(self.work + "/in")), [".git", "new"])
        self.assertEqual(sorted(os.listdir(self.work)), ["in", "others", "roots", "theirs"])
        with open(os.path.join(self.work, "in/.git/config")) as file:
            self.assertEqual(file.read(), "[core]\n")
        os.chmod(os.path.join(self.work, "in/.git"), 0o755)
        self.assertEqual(self.out("cat in/.git/config", "--profile", profile), "[core]\n")

    def test_what_is_made_in_anothers_home_is_theirs(self):
        self.shown()
        state = os.path.join(self.work, ".local/state/sbx")
        for _ in range(2):
            answer = self.run_json("--workspace", self.work, "--", "true", env={"PATH": os.environ["PATH"], "HOME": self.work})
            self.assertEqual(answer["exit_code"], 0, answer)
            for name in (".config/sbx/profiles", ".config", ".local/state", ".local", ".local/state/sbx"):
                self.assertEqual(self.owner(name), (OWNER, OWNER), name)
                self.assertEqual(os.stat(os.path.join(self.work, name)).st_mode & 0o777, 0o700)
        # What root alone may use is root's.
        self.assertEqual(os.stat(state + "/layers").st_uid, 0)

    def test_narrower_roots_hold(self):
        for name in ("ro", "none"):
            self.write(f"work/{name}/f", "f\n", 0o600)
            self.give(f"work/{name}", f"work/{name}/f")
        self.shown()
        answer = self.sh("cat ro/f; echo x >> ro/f; touch ro/g; ls none; touch none/g",
                         "--ro", self.work + "/ro", "--profile",
                         self.profile({"filesystem": {"roots": [{"path": "${workspace}", "access": "rw"},
                                                              {"path": "${workspace}/none", "access": "none"}]}}))
        self.assertEqual(answer["stdout"], "f\n", answer)
        self.assertEqual(os.listdir(os.path.join(self.work, "ro")), ["f"])
        self.assertEqual(os.listdir(os.path.join(self.work, "none")), ["f"])

    def test_a_root_that_is_only_read(self):
        self.shown()
        aside = tempfile.mkdtemp()
        self.addCleanup(os.rmdir, aside)
        answer = self.sh(f"cat {self.work}/theirs; cat {self.work}/roots; echo x >> {self.work}/theirs",
                         "--ro", self.work, cwd=aside)
        self.assertEqual(answer["stdout"], "old\nnew\n", answer)

    def test_another_writable_root(self):
        os.mkdir(os.path.join(self.base, "more"))
        self.give("more")
        self.shown()
        path = os.path.join(self.base, "more/f")
        self.out(f"echo x > {path}", "--rw", os.path.dirname(path))
        self.assertEqual((os.stat(path).st_uid, os.stat(path).st_gid), (OWNER, OWNER))

    def test_files_of_a_request(self):
        self.shown()
        answer, = self.served({"command": "cat a/in && echo more >> a/in && rm -r a && echo gone",
                               "files": [{"path": "a/in", "content": "text\n"}]})
        self.assertEqual(answer["stdout"], "text\ngone\n", answer)

    def test_files_of_a_request_in_a_layer(self):
        state = tempfile.TemporaryDirectory()
        self.addCleanup(state.cleanup)
        os.environ["XDG_STATE_HOME"] = state.name
        self.addCleanup(os.environ.pop, "XDG_STATE_HOME")
        answer, = self.served({"command": "echo more >> a/in && cat a/in", "files": [{"path": "a/in", "content": "text\n"}]},
                              flags=("--layer", "l"))
        self.assertEqual(answer["stdout"], "text\nmore\n", answer)

    def test_a_session(self):
        self.shown()
        self.served(*({"command": f"echo {n} >> theirs"} for n in (1, 2, 3)))
        self.assertEqual(self.owner("theirs"), (OWNER, OWNER))
        self.assertEqual(self.out("wc -l < theirs"), "5\n")

    def test_a_workspace_that_stays_its_owners_is_told_of(self):
        answer = self.sh("echo x >> theirs", "--profile", self.profile({"filesystem": {"overlay": True}}))
        self.assertNotEqual(answer["exit_code"], 0, answer)
        told = [warning for warning in answer["sandbox"]["warnings"] if "is another user's" in warning]
        self.assertEqual(len(told), 1, answer)
        self.assertIn(self.work, told[0])
        self.assertFalse(any("is another user's" in warning for warning in self.sh("true", "--rw", "/tmp", cwd="/tmp")["sandbox"]["warnings"]))
