# SPDX-License-Identifier: Apache-2.0
"""A project's own profile counts as the user has trusted it, and never otherwise."""

import json
import os
import pty
import shutil
import stat
import subprocess
import threading

import harness

PRINT = 'echo "${WHOSE-nobodys}"'


class TrustTest(harness.Case):
    def setUp(self):
        super().setUp()
        self.home = os.path.join(self.base, "home")
        os.mkdir(self.home)
        self.settings = self.write("work/.sbx/profile.json", "")
        self.says("projects")

    def says(self, whose, **more):
        document = {"environment": {"set": {"WHOSE": whose}}, **more}
        with open(self.settings, "w") as file:
            json.dump(document, file)

    def env(self, **more):
        plain = {k: v for k, v in os.environ.items() if k not in ("SBX_PROFILE", "XDG_STATE_HOME")}
        return {**plain, "HOME": self.home, **more}

    def used(self, *flags, command=PRINT, **options):
        """Whose profile counted, and what is said of the project's."""
        options.setdefault("env", self.env())
        answer = self.sh(command, *flags, **options)
        self.assertEqual((answer["status"], answer["exit_code"]), ("exited", 0), answer)
        said = [text for text in answer["sandbox"]["warnings"] if ".sbx/profile.json" in text]
        return answer["stdout"].strip(), said

    def change(self, verb, *arguments, status=0, **options):
        done = self.raw(verb, *arguments, env=self.env(), **options)
        self.assertEqual(done.returncode, status, done)
        return json.loads(done.stdout)

    def assert_without(self, words="sbx-run trust " + "{work}", **options):
        whose, said = self.used(**options)
        self.assertEqual(whose, "nobodys")
        self.assertEqual(len(said), 1, said)
        self.assertIn(words.format(work=self.work), said[0])

    def assert_with(self, whose="projects", **options):
        self.assertEqual(self.used(**options), (whose, []))

    def test_counts_only_once_it_is_trusted_and_until_it_is_not(self):
        self.assert_without()
        answer = self.change("trust")
        self.assertEqual((answer["path"], answer["trusted"]), (self.settings, True))
        self.assert_with()
        os.makedirs(self.work + "/a/b")
        self.assert_with(cwd=self.work + "/a/b")
        self.assertTrue(self.change("untrust")["was_trusted"])
        self.assert_without("is not trusted")
        self.assertFalse(self.change("untrust")["was_trusted"])

    def test_is_named_by_a_directory_or_its_file(self):
        for name in (self.work, self.settings):
            self.change("trust", name, cwd=self.base)
            self.assert_with()
            self.change("untrust", name, cwd=self.base)
            self.assert_without()

    def test_changed_content_needs_trust_again(self):
        self.change("trust")
        with open(self.settings, "a") as file:
            file.write("\n")
        self.assert_without("has changed")
        self.change("trust")
        self.assert_with()

    def test_every_file_of_the_chain_counts(self):
        self.says("projects", extends="../rules/base.json")
        base = self.write("work/rules/base.json", '{"extends": "default"}')
        self.change("trust")
        self.assert_with()
        # It lies in the workspace, where the command can make another of nearly everything.
        answer = self.sh("echo '{}' > rules/base.json; mv rules other; ln -sf /etc/passwd "
                         "rules/base.json; rm -f rules/base.json; cat rules/base.json",
                         env=self.env())
        self.assertEqual(answer["stdout"], '{"extends": "default"}', answer)
        self.write("work/rules/base.json", '{"extends": "unconfined"}')
        self.assert_without("has changed")
        os.remove(base)
        self.assert_without("has changed")

    def test_trust_is_for_the_path_too(self):
        self.change("trust")
        other = os.path.join(self.base, "other")
        subprocess.run(["cp", "-r", self.work, other], check=True)
        self.assert_without("sbx-run trust " + other, cwd=other)

    def test_a_nearer_one_that_is_empty_is_told_of(self):
        os.makedirs(self.work + "/sub/deep")
        os.mkdir(self.work + "/sub/.sbx")
        for at in ("/sub", "/sub/deep"):
            warnings = self.run_json("--workspace", self.work + at, "--", "true", env=self.env())["sandbox"]["warnings"]
            said = [line for line in warnings if line.startswith("profile: ")]
            self.assertEqual(len(said), 1, warnings)
            self.assertIn(f"{self.work}/sub/.sbx, which holds no profile.json, is nearer than {self.settings}", said[0])
        shutil.rmtree(self.work + "/.sbx")
        answer = self.run_json("--workspace", self.work + "/sub", "--", "true", env=self.env())
        self.assertNotIn("profile: ", str(answer["sandbox"]["warnings"]))

    def test_the_nearest_decides_and_none_above_it(self):
        self.change("trust")
        nearer = self.work + "/nearer"
        os.makedirs(nearer + "/.sbx")
        whose, warnings = self.used(cwd=nearer)
        self.assertEqual((whose, len(warnings)), ("nobodys", 1), warnings)
        self.assertIn("which holds no profile.json, is nearer than", warnings[0])
        self.write("work/nearer/.sbx/profile.json", "{}")
        self.assert_without("sbx-run trust " + nearer, cwd=nearer)

    def test_what_the_operator_names_stands_over_it_without_a_warning(self):
        named = self.profile({"environment": {"set": {"WHOSE": "mine"}}})
        for _ in range(2):
            self.assertEqual(self.used("--profile", named), ("mine", []))
            self.assertEqual(self.used(env=self.env(SBX_PROFILE=named)), ("mine", []))
            self.change("trust")

    def test_the_workspace_is_where_it_is_looked_for(self):
        self.change("trust")
        self.assertEqual(self.used("--workspace", self.work, cwd=self.work), ("projects", []))
        os.mkdir(self.base + "/elsewhere")
        self.assertEqual(self.used("--workspace", self.base + "/elsewhere", cwd=self.base + "/elsewhere"),
                         ("nobodys", []))

    def test_what_a_repository_can_plant_is_used_by_nobody(self):
        os.remove(self.settings)
        fifo = os.path.join(self.base, "fifo")
        os.mkfifo(fifo)
        for target in (fifo, "/dev/zero", "/nonexistent", self.base, "/etc/shadow"):
            with self.subTest(target=target):
                os.symlink(target, self.settings)
                self.assert_without("is not trusted")
                self.change("trust", status=125)
                os.remove(self.settings)
        for text in ("{", '{"extends": "/dev/zero"}', '{"extends": "./profile.json"}', '{"x": 1}',
                     "[" * 100000, '{"environment": {"set": {"WHOSE": 1}}}'):
            with self.subTest(text=text[:40]):
                self.write("work/.sbx/profile.json", text)
                self.assert_without("is not trusted")
                self.assertEqual(self.change("trust", status=125)["status"], "error")
                self.assert_without("is not trusted")

    def test_whatever_lies_where_settings_should_is_read_by_nobody_and_stays(self):
        os.remove(self.settings)
        place = self.work + "/.sbx"
        os.rmdir(place)
        for make in (lambda: os.mkfifo(place), lambda: self.write("work/.sbx", "x"),
                     lambda: os.symlink("nowhere", place), lambda: os.symlink(".sbx", place),
                     lambda: os.symlink("/dev", place)):
            make()
            kind = os.lstat(place)
            answer = self.sh("mkdir nowhere; echo '{}' > nowhere/profile.json; rm -rf .sbx; "
                             "mv .sbx other; mkdir .sbx; echo x > .sbx/profile.json; true",
                             env=self.env())
            self.assertEqual((answer["status"], answer["exit_code"]), ("exited", 0), answer)
            self.assertTrue(os.path.samestat(os.lstat(place), kind))
            shutil.rmtree(self.work + "/nowhere", ignore_errors=True)
            self.change("trust", status=125)
            os.remove(place)
        os.mkdir(place)
        with open(self.settings, "w") as file:
            file.truncate(20 << 30)
        self.assert_without("is not trusted")
        self.assertEqual(self.change("trust", status=125)["error"]["code"], "too_large")

    def test_a_branch_that_brings_another_is_no_longer_trusted(self):
        def git(*words):
            subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True,
                           cwd=self.work, capture_output=True, env=self.env())
        git("init", "-q", "-b", "main")
        git("add", "-f", ".")
        git("commit", "-qm", "ours")
        self.change("trust")
        git("checkout", "-qb", "theirs")
        self.says("theirs")
        git("commit", "-qam", "theirs")
        self.assert_without("has changed")
        git("checkout", "-q", "main")
        self.assert_with()
        # Nor is it changed by a command that switches branches inside.
        self.sh("git checkout -q theirs; git checkout -qf theirs; git reset -q --hard theirs",
                "--profile", self.profile({"commands": {"ask": []}}), env=self.env())
        self.assert_with()

    def test_records_that_sbx_did_not_write_trust_for_nobody(self):
        self.change("trust")
        place = self.home + "/.local/state/sbx/trust"
        record = os.path.join(place, os.listdir(place)[0])
        good = open(record, "rb").read()
        for text in (b"", good[:-2], good[1:], good.replace(b"\0", b"\n"), good * 2, b"\0" * 4096,
                     b"\xff" * (2 << 20), good[:64] + b"0" + good[64:]):
            with self.subTest(text=text[:80]), open(record, "wb") as file:
                file.write(text)
                file.flush()
                self.assert_without()
        os.remove(record)
        for make in (lambda: os.mkfifo(record), lambda: os.mkdir(record),
                     lambda: os.symlink("/dev/zero", record)):
            make()
            self.assert_without()
            os.rmdir(record) if os.path.isdir(record) else os.remove(record)
        self.change("trust")
        self.assert_with()

    def test_a_symlink_counts_by_what_it_leads_to(self):
        kept = self.write("work/kept.json", '{"environment": {"set": {"WHOSE": "projects"}}}')
        os.remove(self.settings)
        os.symlink("../kept.json", self.settings)
        self.change("trust")
        self.assert_with(command="(echo '{}' > kept.json) 2>/dev/null; " + PRINT)
        self.assert_with()
        # A hard link writes to the same file under a name that nobody protects.
        os.link(kept, self.work + "/second")
        self.used(command="echo '{\"environment\": {\"set\": {\"WHOSE\": \"theirs\"}}}' > second")
        self.assert_without("has changed")

    def test_what_is_used_is_what_was_held_against_the_digest(self):
        """Swapped all the while, it is the trusted one or none."""
        self.change("trust")
        other = self.write("other.json", '{"environment": {"set": {"WHOSE": "theirs"}}}')
        trusted = self.write("trusted.json", open(self.settings).read())
        done = threading.Event()

        def swap():
            while not done.is_set():
                for source in (other, trusted):
                    os.link(source, self.settings + ".new")
                    os.rename(self.settings + ".new", self.settings)

        os.remove(self.settings)
        os.link(trusted, self.settings)
        swapper = threading.Thread(target=swap)
        swapper.start()
        try:
            seen = {self.used()[0] for _ in range(20)}
        finally:
            done.set()
            swapper.join()
        self.assertLessEqual(seen, {"projects", "nobodys"})

    def test_a_command_cannot_trust_for_the_user(self):
        """Where the home is the workspace, what is written down there cannot be written inside."""
        state = self.home + "/.local/state/sbx"
        self.change("trust")
        record = os.path.join(state, "trust", os.listdir(state + "/trust")[0])
        before = open(record, "rb").read()
        for command in ("echo x > .local/state/sbx/trust/x", "mv .local .other",
                        "rm -rf .local/state/sbx", "mv .local/state/sbx/trust .local/state/other"):
            answer = self.sh(command, "--workspace", self.home, "--profile",
                             self.profile({"commands": {"ask": []}}), cwd=self.home, env=self.env())
            self.assertNotEqual(answer["exit_code"], 0, (command, answer))
        self.assertEqual((os.listdir(state + "/trust"), open(record, "rb").read()),
                         ([os.path.basename(record)], before))

    def test_nor_where_nothing_was_written_down_yet(self):
        answer = self.sh("mkdir -p .local/state/sbx/trust && echo x > .local/state/sbx/trust/x",
                         "--workspace", self.home, cwd=self.home, env=self.env())
        self.assertNotEqual(answer["exit_code"], 0, answer)
        self.assertFalse(os.path.exists(self.home + "/.local/state/sbx/trust/x"))

    def test_what_another_could_write_trusts_for_nobody(self):
        self.change("trust")
        place = self.home + "/.local/state/sbx/trust"
        os.chmod(place, 0o777)
        self.assert_without()
        self.change("trust", status=125)
        os.chmod(place, 0o700)
        if harness.is_root():
            os.chown(place, 12345, 12345)
            self.assert_without()
            os.chown(place, 0, 0)
        os.rename(place, place + "s")
        os.symlink("trusts", place)
        self.assert_without()
        os.remove(place)
        os.rename(place + "s", place)
        self.assertEqual(stat.S_IMODE(os.stat(place + "/" + os.listdir(place)[0]).st_mode), 0o600)
        self.assert_with()

    def test_what_a_run_holds_in_the_place_of_a_nearer_one_is_none(self):
        self.change("trust")
        sub = self.work + "/sub"
        os.mkdir(sub)
        with subprocess.Popen([harness.SBX_RUN, "exec", "-c", "touch at; read -r end"], cwd=sub, env=self.env(),
                              stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as run:
            try:
                self.assertTrue(harness.until(lambda: os.path.exists(sub + "/at")))
                self.assertTrue(os.path.lexists(sub + "/.sbx"))
                self.assert_with(cwd=sub)
            finally:
                run.stdin.close()
        self.assertEqual(os.listdir(sub), ["at"])

    def test_a_nearer_one_that_is_not_trusted_does_not_hide_the_trusted_one_without_a_word(self):
        self.change("trust")
        self.write("work/sub/.sbx/profile.json", "{}")
        whose, said = self.used(cwd=self.work + "/sub")
        self.assertEqual((whose, len(said)), ("nobodys", 1))
        self.assertIn(f"{self.work}/sub/.sbx/profile.json, is not trusted", said[0])
        self.assertIn(f"without {self.settings} too", said[0])
        self.change("untrust")
        self.assertNotIn(" too", self.used(cwd=self.work + "/sub")[1][0])

    def test_a_trusted_one_further_down_cannot_be_changed_nor_moved(self):
        nearer = self.write("work/sub/.sbx/profile.json", '{"extends": "./more.json"}')
        more = self.write("work/sub/.sbx/more.json", "{}")
        self.change("trust", self.work + "/sub")

        def texts():
            return subprocess.run(["cat", nearer, more], capture_output=True, check=True).stdout

        before = texts()
        for command in ("echo x > sub/.sbx/profile.json", "echo x > sub/.sbx/more.json", "mv sub/.sbx sub/q", "mv sub q",
                        "rm -f sub/.sbx/more.json"):
            answer = self.sh(command, env=self.env())
            self.assertNotEqual(answer["exit_code"], 0, (command, answer))
        self.assertEqual(texts(), before)

    def test_a_request_writes_none_further_down(self):
        for path in (".sbx/profile.json", "other/deep/.sbx/profile.json", "a/.sbx"):
            request = json.dumps({"command": "true", "files": [{"path": path, "content": "{}"}]})
            done = self.raw("call", "run", input=request.encode(), stdin=None, env=self.env())
            answer = json.loads(done.stdout)
            self.assert_error(answer, "path_refused")
            self.assertEqual(answer["error"]["where"], "/files/0/path")
        self.assertEqual(os.listdir(self.work), [".sbx"])

    def test_a_strangers_names_move_no_cursor(self):
        odd = os.path.join(self.work, "a\x1b[2J\nb\a")
        self.write(odd + "/.sbx/profile.json", '{"extends": "./m\\u001b\\u0007.json"}')
        self.write(odd + "/.sbx/m\x1b\a.json", "{}")
        for verb in ("trust", "untrust"):
            person, program = pty.openpty()
            with os.fdopen(person, "rb", buffering=0) as screen:
                done = self.raw(verb, odd, env=self.env(), stdout=program)
                os.close(program)
                self.assertEqual(done.returncode, 0, done)
                shown = screen.read(65536)
            self.assertNotRegex(shown, b"[\x1b\a]")
            self.assertIn(b"a\\x1b[2J\\x0ab\\x07/.sbx/profile.json", shown)
        done = self.raw("exec", "-c", "true", cwd=odd, env=self.env())
        self.assertNotRegex(done.stderr, b"[\x1b\a]")
        self.assertIn(b"a\\x1b[2J\\x0ab\\x07/.sbx/profile.json", done.stderr)

    def test_says_what_is_wrong(self):
        answer = self.change("trust", cwd="/", status=125)
        self.assert_error(answer, "profile_not_found")
        done = self.raw("trust", env={"PATH": os.environ["PATH"]})
        self.assertEqual(done.returncode, 125)
        self.assertIn("XDG_STATE_HOME", done.stderr.decode())
        self.assertEqual(self.raw("trust", "--", "true", env=self.env()).returncode, 125)

    def test_sessions_and_check_go_by_it(self):
        self.says("projects", commands={"deny": ["wget"]})
        check = ("check", "-c", "wget x")
        self.assertEqual(self.raw(*check, env=self.env()).returncode, 0)
        self.change("trust")
        self.assertEqual(self.raw(*check, env=self.env()).returncode, 126)
        done = self.raw("call", "run", input=json.dumps({"command": PRINT}).encode(), stdin=None,
                        env=self.env())
        self.assertEqual(json.loads(done.stdout)["stdout"], "projects\n", done)
