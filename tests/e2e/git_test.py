# SPDX-License-Identifier: Apache-2.0
"""Git in a workspace that does not hold its repository: a linked worktree, a submodule, a directory
of a repository. What git needs is shown, what is another checkout's stands, nothing else shows."""

import json
import os
import shutil
import subprocess
import unittest

import harness

GIT = ("git -c user.email=a@b -c user.name=n -c init.defaultBranch=main "
       "-c protocol.file.allow=always")
COMMIT = "git -c user.email=a@b -c user.name=n commit -q -m"


class GitCase(harness.Case):
    def setUp(self):
        super().setUp()
        self.env = {**os.environ, "HOME": self.base + "/home", "GIT_CONFIG_NOSYSTEM": "1",
                    "PATH": "/usr/bin:/bin"}
        self.main = os.path.join(self.base, "main")
        self.wt = os.path.join(self.base, "wt")
        os.mkdir(self.main)
        self.git("init", "-q")
        self.write("main/secret.txt", "of the main checkout\n")
        self.write("main/sub/file", "one\n")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "first")

    def git(self, *arguments, at=None):
        return subprocess.run([*GIT.split(), *arguments], cwd=at or self.main, env=self.env,
                              check=True, capture_output=True, timeout=60).stdout.decode()

    def inside(self, command, at, *flags):
        return self.sh(command, *flags, cwd=at, env=self.env)

    def ok(self, command, at, *flags):
        answer = self.inside(command, at, *flags)
        self.assertEqual(answer["exit_code"], 0, answer)
        return answer

    def worktree(self):
        self.git("worktree", "add", "-q", "-b", "side", self.wt)
        self.git("worktree", "add", "-q", "-b", "other", self.base + "/other")

    def contents(self, *names):
        found = {}
        for name in names:
            path = os.path.join(self.main, ".git", name)
            for at, _, files in os.walk(path):
                for file in files:
                    with open(os.path.join(at, file), "rb") as opened:
                        found[os.path.join(at, file)] = opened.read()
            if os.path.isfile(path):
                with open(path, "rb") as opened:
                    found[path] = opened.read()
        return found


class Worktree(GitCase):
    def test_git_works_in_a_linked_worktree(self):
        self.worktree()
        answer = self.ok(f"git status --porcelain; echo x > new; git add new; {COMMIT} second;"
                         "git log --oneline | wc -l; git branch made; git pack-refs --all;"
                         "git branch -d made; git gc -q; git worktree list | wc -l", self.wt)
        self.assertEqual(answer["stdout"].split("\n")[0], "2", answer)
        self.assertIn("3\n", answer["stdout"])
        self.assertEqual(self.git("log", "--oneline", "side").count("\n"), 2)
        self.assertEqual(self.git("status", "--porcelain"), "")
        self.git("fsck", "--strict")
        # Deleting a branch looks for its settings, and would write the configuration anew; gc locks
        # the other worktree's HEAD.
        self.assertEqual([d["operation"] for d in answer["denials"]], ["write", "open"], answer)

    def test_the_main_checkout_does_not_show_and_stands(self):
        self.worktree()
        held = ("HEAD", "index", "config", "hooks", "info", "worktrees/other")
        before = self.contents(*held)
        answer = self.inside(
            f"ls -A {self.main}; cd {self.main}/.git; for f in HEAD index config hooks/pre-commit "
            "info/attributes worktrees/other/HEAD worktrees/new; do echo x > $f; done 2>&1 "
            "| wc -l; mv config c; mv hooks h; rm -f HEAD; mv worktrees w; mkdir worktrees/z;"
            "echo x > worktrees/wt/gitdir; echo x > worktrees/wt/commondir; cat ../secret.txt",
            self.wt)
        self.assertEqual(answer["stdout"], ".git\n7\n", answer)
        self.assertEqual(self.contents(*held), before)
        self.assertEqual(sorted(os.listdir(self.main + "/.git/worktrees")), ["other", "wt"])
        self.git("status", at=self.wt)

    def test_what_would_lead_the_main_checkout_elsewhere_cannot_be_made(self):
        self.worktree()
        git = self.main + "/.git/"
        for name in ("hooks", "info"):
            shutil.rmtree(git + name)
        before = sorted(os.listdir(git))
        answer = self.inside(f"cd {git}; mkdir hooks; ln -s /tmp hooks; echo x > hooks/post-checkout;"
                             "mkdir info modules; echo x > config.worktree; mv HEAD hooks; ls -d hooks/*", self.wt)
        self.assertEqual(answer["stdout"], "", answer)
        self.assertEqual(sorted(os.listdir(git)), before)
        self.assertEqual([d for d in answer["denials"] if d["operation"] == "protected_created"], [])

    def test_settings_that_git_goes_by_already_are_named(self):
        self.worktree()
        self.git("config", "extensions.worktreeConfig", "true")
        answer = self.inside(f"echo x > {self.main}/.git/config.worktree; git config --worktree a.b c", self.wt)
        self.addCleanup(os.unlink, self.main + "/.git/config.worktree")
        told = [d["target"] for d in answer["denials"] if d["operation"] == "protected_created"]
        self.assertIn(self.main + "/.git/config.worktree", told, answer)
        self.assertEqual(self.git("config", "a.b", at=self.wt), "c\n")

    def test_another_common_directory_is_taken_away_at_once(self):
        self.worktree()
        place = self.main + "/.git/commondir"
        gone = f"for i in 1 2 3 4 5 6 7 8 9; do test -e {place} || break; sleep 0.2; done; test -e {place} || echo gone"
        for make in (f"echo /tmp > {place}", f"ln -s /etc/passwd {place}",
                     f"echo /tmp > {self.main}/.git/x; mv {self.main}/.git/x {place}"):
            answer = self.inside(f"{make}; {gone}; git log --oneline | wc -l", self.wt)
            self.assertEqual(answer["stdout"], "gone\n1\n", answer)
            told = [d["target"] for d in answer["denials"] if d["operation"] == "protected_created"]
            self.assertEqual(told, [place], answer)
        self.inside(f"echo /tmp > {place}", self.wt)
        self.assertFalse(os.path.lexists(place))
        answer = self.inside(f"while :; do echo /tmp > {place}; done", self.wt)
        self.assertEqual((answer["status"], answer["error"]["code"]), ("killed", "path_refused"), answer)
        self.assertIn(place, answer["error"]["message"])
        self.assertFalse(os.path.lexists(place))
        answer = self.inside(f"mkdir {place}; sleep 0.3; rmdir {place}; echo /tmp > {place}; {gone}", self.wt)
        self.assertEqual(answer["stdout"], "gone\n", answer)
        answer = self.inside(f"mkdir {place}; {gone}", self.wt)
        self.assertEqual(answer["stdout"], "gone\n", answer)

    def test_another_common_directory_that_holds_something_is_moved_aside(self):
        self.worktree()
        git = self.main + "/.git"
        answer = self.inside(f"mkdir -p {git}/x/y; mv {git}/x {git}/commondir; sleep 30", self.wt)
        self.assertEqual((answer["status"], answer["error"]["code"]), ("killed", "path_refused"), answer)
        aside, = (name for name in os.listdir(git) if name.startswith("commondir"))
        self.assertTrue(aside.startswith("commondir.sbx-"), aside)
        self.assertEqual(os.listdir(f"{git}/{aside}"), ["y"])
        self.git("status")

    def test_git_in_the_main_checkout_works_meanwhile(self):
        self.worktree()
        self.git("clone", "-q", self.main, self.base + "/library")
        git = self.main + "/.git/"
        for name in ("hooks", "info"):
            shutil.rmtree(git + name)
        run = subprocess.Popen(
            [harness.SBX_RUN, "-c", "touch started; until test -e go; do sleep 0.05; done;"
             f"cd {git}; echo x > info/attributes; mkdir modules/x hooks/x; ls -A info modules hooks"],
            cwd=self.wt, env=self.env, stdout=subprocess.PIPE)
        self.addCleanup(self.end, run)
        self.assertTrue(harness.until(lambda: os.path.exists(self.wt + "/started")))
        self.git("submodule", "add", "-q", self.base + "/library", "sm")
        self.git("commit", "-q", "-m", "with sm")
        self.write("main/.git/info/exclude", "x\n")
        self.write("wt/go", "")
        answer = json.loads(run.communicate(timeout=harness.BOUND)[0])
        self.assertEqual((answer["status"], answer["stdout"]), ("exited", "hooks:\n\ninfo:\n\nmodules:\n"), answer)
        self.assertEqual([os.listdir(git + name) for name in ("info", "modules")], [["exclude"], ["sm"]])
        self.assertEqual([os.stat(git + name).st_mode & 0o1000 for name in ("info", "modules")], [0, 0])
        self.assertFalse(os.path.exists(git + "hooks"))
        self.assertEqual(self.git("status", "--porcelain"), "")

    def test_it_is_only_named_where_what_is_replaced_is(self):
        self.worktree()
        place = self.main + "/.git/commondir"
        self.write("p.json", json.dumps({"extends": "default", "filesystem": {"replaced": "report"}}))
        answer = self.inside(f"echo . > {place}; sleep 0.3; cat {place}", self.wt, "--profile", self.base + "/p.json")
        self.assertEqual(answer["stdout"], ".\n", answer)
        told = [d["target"] for d in answer["denials"] if d["operation"] == "protected_created"]
        self.assertEqual(told, [place], answer)
        os.unlink(place)

    def test_what_is_refused_there_is_named_by_itself(self):
        self.worktree()
        for call, name in (("mkdir('.git/worktrees/z')", "z"), ("rmdir('.git/worktrees/other')", "other"),
                           ("rename('.git/worktrees/other', '.git/x')", "other")):
            script = f"import os; os.chdir('{self.main}'); os.{call}"
            answer = self.inside(f'python3 -c "{script}"', self.wt)
            self.assertEqual([d["target"] for d in answer["denials"]], [f"{self.main}/.git/worktrees/{name}"], answer)

    def test_what_the_main_checkout_would_go_on_with_is_named(self):
        self.worktree()
        made = ("MERGE_HEAD", "index.lock", "rebase-merge")
        answer = self.inside(f"cd {self.main}/.git; mkdir rebase-merge; echo x > MERGE_HEAD; : > index.lock",
                             self.wt)
        told = [d["target"] for d in answer["denials"] if d["operation"] == "git_redirected"]
        self.assertEqual(told, [f"{self.main}/.git/{name}" for name in made], answer)

    def test_hooks_that_cannot_be_read_or_listed_are_named(self):
        """Git executes them all the same."""
        self.git("config", "core.hooksPath", "hooks")
        os.mkdir(self.main + "/hooks")
        self.addCleanup(os.chmod, self.main + "/.git", 0o755)
        copy, both = "cp " + shutil.which("true"), ["hooks/pre-commit", "hooks/update"]
        for command, by_root, by_user in (
                (f"{copy} hooks/pre-commit; chmod 111 hooks/pre-commit", both[:1], both[:1]),
                (f"{copy} hooks/update; chmod 311 hooks", both[1:], ["hooks"]),
                ("chmod 755 hooks; chmod 700 hooks/update; chmod 311 .git", both[1:], both)):
            answer = self.ok(command, self.main)
            told = [os.path.relpath(d["target"], self.main) for d in answer["denials"] if d["operation"] == "git_redirected"]
            self.assertEqual(told, by_root if harness.is_root() else by_user, answer)

    def test_a_repository_that_does_not_name_the_workspace_is_not_shown(self):
        self.worktree()
        for target in (self.main + "/.git", self.main + "/.git/worktrees/wt", "/nonexistent",
                       self.base + "/other/../main/.git/worktrees/other"):
            self.write("work/.git", f"gitdir: {target}\n")
            answer = self.inside("git status; git log", self.work)
            self.assertNotEqual(answer["exit_code"], 0)
            told = [d for d in answer["denials"] if d["operation"] == "git_outside"]
            self.assertEqual([d["target"] for d in told], [target], answer)
            self.assertIn("git worktree repair", told[0]["grant"])
            self.assertIn(f'"path": "{os.path.normpath(target)}"', told[0]["grant"])
            self.assertIn("No such file", self.inside(f"ls {self.main}", self.work)["stderr"])

    def test_a_symlink_for_git_is_not_followed_out(self):
        os.symlink(self.main + "/.git", self.work + "/.git")
        answer = self.inside("git log", self.work)
        self.assertNotEqual(answer["exit_code"], 0)
        self.assertEqual([d["target"] for d in answer["denials"]
                          if d["operation"] == "git_outside"], [self.work + "/.git"], answer)
        for text in (self.main + "/.git", "../main/.git"):
            os.unlink(self.work + "/.git")
            os.symlink(text, self.work + "/.git")
            (told,) = [d for d in self.inside("git log", self.work)["denials"] if d["operation"] == "git_outside"]
            self.assertIn(f'"path": "{self.main}/.git"', told["grant"])
        self.ok("git log", self.work, "--rw", self.main + "/.git")

    def test_a_repository_whose_parts_lead_out_is_told_of(self):
        own = self.work + "/.git"
        subprocess.run(["git", "init", "-q", self.work], check=True)

        def told():
            answer = self.inside("git status", self.work)
            return [(d["target"], d["grant"]) for d in answer["denials"] if d["operation"] == "git_outside"]

        self.assertEqual(told(), [])
        for part in ("HEAD", "objects", "refs"):
            os.rename(f"{own}/{part}", self.base + "/kept")
            for text, leads in ((f"{self.main}/.git/{part}", 1), (f"../../main/.git/{part}", 1), ("config", 0)):
                os.symlink(text, f"{own}/{part}")
                found = told()
                self.assertEqual([target for target, _ in found], [f"{self.main}/.git/{part}"] * leads, (part, text))
                for _, grant in found:
                    self.assertIn(f'"path": "{self.main}/.git/{part}"', grant)
                os.unlink(f"{own}/{part}")
            os.rename(self.base + "/kept", f"{own}/{part}")
        self.write("work/.git/commondir", "../../main/.git\n")
        self.assertEqual([target for target, _ in told()], [self.main + "/.git"])
        os.unlink(own + "/commondir")
        for text, leads in ((self.main, 1), ("../../main", 1), ("..", 0), (self.work, 0)):
            subprocess.run(["git", "-C", self.work, "config", "core.worktree", text], check=True)
            self.assertEqual([target for target, _ in told()], [self.main] * leads, text)
        os.makedirs(self.work + "/below")
        answer = self.inside("git status", self.work + "/below")
        self.assertEqual([d for d in answer["denials"] if d["operation"] == "git_outside"], [], answer)

    def test_a_worktree_that_is_shown_read_only_reads(self):
        self.worktree()
        profile = self.profile({"filesystem": {"roots": [
            {"path": "${workspace}", "access": "ro"}]}})
        answer = self.ok(f"git log --oneline; echo x > {self.main}/.git/refs/x || true", self.wt,
                         "--profile", profile)
        self.assertIn("first", answer["stdout"])
        self.assertFalse(os.path.exists(self.main + "/.git/refs/x"))

    def test_a_hidden_repository_stays_hidden(self):
        self.worktree()
        answer = self.inside("git log", self.wt, "--hide", self.main)
        self.assertNotEqual(answer["exit_code"], 0)
        self.assertIn("git_outside", [d["operation"] for d in answer["denials"]], answer)

    def test_a_bare_repository_serves_its_worktrees(self):
        bare = self.base + "/bare.git"
        self.git("clone", "-q", "--bare", self.main, bare)
        self.git("worktree", "add", "-q", "-b", "side", self.wt, at=bare)
        self.ok(f"echo x > new; git add new; {COMMIT} second", self.wt)
        self.assertEqual(self.git("log", "--oneline", "side", at=bare).count("\n"), 2)

    def test_objects_borrowed_from_elsewhere_are_named(self):
        self.git("clone", "-q", "--shared", self.main, self.base + "/clone")
        answer = self.inside("git log", self.base + "/clone")
        told = [d for d in answer["denials"] if d["operation"] == "git_alternates"]
        self.assertEqual([d["target"] for d in told], [self.main + "/.git/objects"], answer)
        self.ok("git log", self.base + "/clone", "--ro", self.main + "/.git/objects")
        self.write("clone/.git/objects/info/alternates", "../../../main/.git/objects\n")
        told = self.inside("git log", self.base + "/clone")["denials"]
        self.assertEqual([d["target"] for d in told], [self.main + "/.git/objects"])


    def test_settings_that_are_included_from_elsewhere_are_named(self):
        there = self.write("elsewhere.inc", "[user]\n\tnickname = there\n")
        self.write("main/.git/near.inc", "[user]\n\tnickname = near\n")
        for path in (there, "near.inc", "~/none.inc", "/etc/none.inc"):
            self.git("config", "--add", "include.path", path)
        self.git("config", "--add", "includeIf.gitdir:/.path", self.base + "/missing.inc")
        answer = self.inside("git config --includes user.nickname", self.main)
        told = [d for d in answer["denials"] if d["operation"] == "git_include"]
        self.assertEqual([d["target"] for d in told], [there, self.base + "/missing.inc"], answer)
        self.assertEqual(answer["stdout"], "near\n")
        self.assertEqual(self.inside("true", self.main)["denials"], [])
        answer = self.inside("git config --get-all --includes user.nickname", self.main, "--ro", there)
        self.assertEqual(answer["stdout"], "there\nnear\n")
        self.assertNotIn(there, [d["target"] for d in answer["denials"]])


    def test_hooks_and_templates_that_lie_elsewhere_are_named(self):
        hooks, template = self.base + "/hooks", self.write("template", "x\n")
        os.mkdir(hooks)
        self.git("config", "core.hooksPath", hooks)
        self.git("config", "core.excludesFile", "/dev/null")
        self.git("config", "commit.template", "../template")
        answer = self.inside("git status", self.main)
        self.assertEqual([(d["operation"], d["target"]) for d in answer["denials"]],
                         [("git_setting", hooks), ("git_setting", template)], answer)
        self.assertEqual(answer["denials"][1]["grant"],
                         f'filesystem.roots += [{{"path": "{template}", "access": "ro"}}]')
        for command in ("true", "grep -r digit sub", "cat .gitignore; cat .git/HEAD"):
            self.assertEqual(self.inside(command, self.main)["denials"], [], command)
        self.assertEqual(self.inside("git status", self.main, "--ro", hooks, "--ro", template)["denials"], [])

    def test_a_remote_that_is_a_directory_is_named(self):
        clone = self.base + "/clone"
        self.git("clone", "-q", self.main, clone)
        self.git("config", "remote.other.url", "https://example.org/x", at=clone)
        self.assertEqual(self.ok("git status", clone)["denials"], [])
        (told,) = self.inside("git fetch -q", clone)["denials"]
        self.assertEqual((told["operation"], told["target"], told["grant"]),
                         ("git_remote", self.main, f'filesystem.roots += [{{"path": "{self.main}", "access": "ro"}}]'))
        self.ok("git fetch -q", clone, "--ro", self.main)
        self.git("config", "remote.never.url", "../never", at=clone)
        self.git("config", "remote.file.url", "file://" + self.main, at=clone)
        for remote, target in (("never", self.base + "/never"), ("file", self.main), ("origin", self.main)):
            told = self.inside("git fetch -q " + remote, clone)["denials"]
            self.assertEqual({d["target"] for d in told}, {target}, remote)
        told = self.inside("git push -q origin HEAD:new", clone)["denials"]
        self.assertEqual({d["grant"] for d in told},
                         {f'filesystem.roots += [{{"path": "{self.main}", "access": "rw"}}]'})
        self.ok("git push -q origin HEAD:new", clone, "--rw", self.main)

    def test_a_clone_into_the_workspace_itself_says_why_it_cannot_be(self):
        clone = ("git clone -q ../main .", self.work, "--ro", self.main)
        (told,) = self.inside(*clone)["denials"]
        self.assertEqual((told["operation"], told["target"]), ("git_clone", self.work + "/.sbx"))
        self.assertIn("git clone URL DIR", told["grant"])
        self.assertEqual(self.inside(*clone, "--merge")["denials"], [told])
        self.ok("git clone -q ../main dir; test -f dir/sub/file", self.work, "--ro", self.main)
        self.assertEqual(self.inside(*clone)["denials"], [])  # not empty of its own


class Upkeep(GitCase):
    def test_what_gc_cannot_write_of_another_worktree_is_named(self):
        self.worktree()
        other = self.main + "/.git/worktrees/other"
        answer = self.inside("git gc -q", self.wt)
        self.assertEqual(answer["exit_code"], 128, answer)
        self.assertEqual([(d["target"], d["grant"]) for d in answer["denials"]],
                         [(other, f'filesystem.roots += [{{"path": "{other}", "access": "rw"}}]')])
        self.assertEqual(self.ok("git gc -q", self.wt, "--rw", other)["denials"], [])

    def test_the_main_checkout_holds_worktrees_that_are_not_shown(self):
        self.worktree()
        self.git("worktree", "add", "-q", "-b", "inner", self.main + "/inner")
        shutil.rmtree(self.wt)  # whether it is there is not told
        held = self.contents("worktrees")
        answer = self.inside(
            "/usr/bin/python3 -c 'import shutil; shutil.rmtree(\".git/worktrees\", True)'; "
            "mv .git/worktrees .git/w; echo x > .git/worktrees/other/HEAD; ls .git/worktrees", self.main)
        self.assertEqual(answer["stdout"], "other\nwt\n", answer)
        self.assertIn("Read-only file system", answer["stderr"])
        self.assertEqual(self.contents("worktrees/other", "worktrees/wt"),
                         {path: text for path, text in held.items() if "/inner/" not in path})
        self.git("worktree", "add", "-q", "-f", "-B", "inner", self.main + "/inner2")
        self.ok(f"{GIT} -C inner2 commit -q --allow-empty -m i; {GIT} commit -q --allow-empty -m m", self.main)
        answer = self.inside("git gc -q", self.main)
        self.assertIn(answer["denials"][0]["target"], [self.main + "/.git/worktrees/" + n for n in ("other", "wt")])

    def test_what_is_only_printed_is_not(self):
        self.worktree()
        for path in (self.main, "/etc", self.main + "/.git/worktrees/../hooks", self.main + "/.git/worktrees/none",
                     self.base + "/home/worktrees/x"):
            answer = self.inside(f"echo \"Unable to create '{path}/HEAD.lock': Read-only file system\" >&2", self.wt)
            self.assertEqual(answer["denials"], [], path)


class Submodule(GitCase):
    def test_git_works_in_a_submodule_and_its_settings_stand(self):
        above = self.base + "/above"
        os.mkdir(above)
        self.git("init", "-q", at=above)
        self.git("submodule", "add", "-q", self.main, "lib", at=above)
        self.git("commit", "-q", "-m", "with a submodule", at=above)
        self.write("above/private", "not shown")
        own = above + "/.git/modules/lib"
        with open(own + "/config", encoding="utf-8") as file:
            config = file.read()
        answer = self.ok(f"echo x > new; git add new; {COMMIT} second; git log --oneline | wc -l;"
                         f"(echo x >> {own}/config; echo x > {own}/hooks/pre-commit) 2>&1 | wc -l;"
                         f"ls -A {above} {above}/.git", above + "/lib")
        self.assertEqual(answer["stdout"].split(), ["2", "2", above + ":", ".git", "lib",
                                                    above + "/.git:", "modules"], answer)
        with open(own + "/config", encoding="utf-8") as file:
            self.assertEqual(file.read(), config)
        self.assertFalse(os.path.exists(own + "/hooks/pre-commit"))


class Subdirectory(GitCase):
    def test_git_works_below_the_top_and_the_answer_names_what_was_added(self):
        answer = self.ok(f"echo two > file; git add file; {COMMIT} second; git log --oneline | wc -l;"
                         f"ls -A ..; echo x >> ../.git/config; echo x > ../.git/hooks/pre-commit;"
                         "cat ../secret.txt || true", self.main + "/sub")
        self.assertEqual(answer["stdout"].split(), ["2", ".git", "sub"], answer)
        self.assertTrue(answer["sandbox"]["warnings"][0].startswith(f"git: {self.main}/.git "),
                        answer)
        self.assertEqual(self.git("show", "HEAD:sub/file"), "two\n")
        self.assertEqual(self.git("show", "HEAD:secret.txt"), "of the main checkout\n")
        self.assertFalse(os.path.exists(self.main + "/.git/hooks/pre-commit"))
        with open(self.main + "/.git/config", encoding="utf-8") as file:
            self.assertNotIn("x", file.read().split())

    def test_what_would_record_the_rest_as_deleted_is_asked_about(self):
        sub = self.main + "/sub"
        self.write("main/sub/file", "two\n")
        for command in ("git commit -qam x", "git add -A", "git stash", "cd . && git commit --all -m x"):
            answer = self.inside(command, sub)
            self.assertEqual((answer["status"], [r["id"] for r in answer["approval"]["rules"]]),
                             ("needs_approval", ["destructive.git-above"]), answer)
        self.ok(f"git add -A . && {GIT} commit -qm x", sub)
        self.assertEqual(self.git("show", "--stat", "--format=").split()[0], "sub/file")
        self.write("main/sub/file", "three\n")
        self.ok(f"{GIT} commit -qam y", sub, "--workspace", self.main, "--cwd", "sub")
        self.ok(f"{GIT} commit -qam z --allow-empty", self.main)

    def test_below_the_top_of_a_worktree(self):
        self.worktree()
        self.ok(f"echo two > file; git add file; {COMMIT} second", self.wt + "/sub")
        self.assertEqual(self.git("show", "side:sub/file"), "two\n")

    def test_a_new_worktree_from_within_another_is_told_of(self):
        self.worktree()
        answer = self.inside("git worktree add new 2>&1", self.wt)
        holder = self.main + "/.git/worktrees"
        self.assertEqual([(d["operation"], d["target"], d["grant"]) for d in answer["denials"]],
                         [("mkdir", holder + "/new",
                           f'filesystem.roots += [{{"path": "{holder}", "access": "rw"}}]')], answer)

    def test_no_repository_adds_nothing(self):
        answer = self.ok("true", self.work)
        self.assertEqual(answer["sandbox"]["warnings"], [])


class Settings(GitCase):
    """The user's git, and a repository's configuration."""

    def write_user(self, text):
        self.write("home/.gitconfig", text)

    def test_identity_comes_along_and_nothing_secret_or_run(self):
        self.write_user("[user]\n name = U\n email = u@x\n[alias]\n st = status\n sh = !id\n"
                        "[credential]\n helper = store\n[http]\n extraHeader = hush-hush\n"
                        "[include]\n path = ~/more\n[core]\n pager = false\n editor = e\n")
        self.write("home/.config/git/config", "[user]\n name = First\n[init]\n"
                   "defaultBranch = trunk\n")
        self.assertNotEqual(self.inside("git config user.name", self.main)["exit_code"], 0)
        answer = self.ok("git config user.name; git config init.defaultBranch; git st >/dev/null;"
                         "cat ~/.gitconfig; echo x >> ~/.gitconfig; git config --global a.b c;"
                         "git config a.b; git commit -q --allow-empty -m by-me", self.main,
                         "--with", "git")
        lines = answer["stdout"].splitlines()
        self.assertEqual((lines[:2], lines[-1]), (["U", "trunk"], "c"), answer)
        for word in ("hush", "store", "!id", "include", "pager", "editor"):
            self.assertNotIn(word, answer["stdout"])
        (told,) = answer["sandbox"]["warnings"]
        self.assertIn(f"{self.base}/home/.gitconfig includes from ~/more", told)
        self.assertIn("ermission denied", answer["stderr"])
        self.assertEqual(self.git("log", "-1", "--format=%an <%ae>"), "U <u@x>\n")
        with open(self.base + "/home/.gitconfig", encoding="utf-8") as file:
            self.assertIn("hush-hush", file.read())

    def test_a_missing_identity_names_what_would_show_it(self):
        told = []
        for text in ("[init]\n defaultBranch = x\n", "[user]\n name = U\n email = u@x\n"):
            self.write_user(text)
            answer = self.inside("git commit -q --allow-empty -m x", self.main)
            self.assertEqual(answer["exit_code"], 128, answer)
            told.append([(d["target"], d["grant"]) for d in answer["denials"]])
        self.assertEqual(told, [[], [(self.base + "/home/.gitconfig", 'filesystem.git_config = "user"')]])
        self.assertEqual(self.ok("git commit -q --allow-empty -m x", self.main, "--with", "git")["denials"], [])

    def test_a_root_shows_the_whole_file_all_the_same(self):
        self.write_user("[user]\n name = U\n[core]\n pager = p\n")
        answer = self.ok("git config user.name; git config core.pager", self.main, "--with", "git",
                         "--ro", self.base + "/home/.gitconfig")
        self.assertEqual(answer["stdout"], "U\np\n")

    def test_a_setting_that_is_asked_for_in_vain_names_what_would_show_it(self):
        self.write_user("[user]\n name = U\n email = u@x\n[core]\n pager = p\n")
        shown = [(self.base + "/home/.gitconfig", 'filesystem.git_config = "user"')]
        for command, told in (("git config --global user.name", shown), ("git config --get User.Name", shown),
                              ("git config core.pager", []), ("git config user.name | cat", []),
                              ("false; git status; echo user.name; false", [])):
            answer = self.inside(command, self.main)
            self.assertEqual([(d["target"], d["grant"]) for d in answer["denials"]], told, answer)

    def refused(self, answer):
        return [(d["target"], d["grant"]) for d in answer["denials"] if d["operation"] == "write"]

    def test_a_branch_that_tracks_another_is_told_of_whatever_is_printed(self):
        self.git("update-ref", "refs/remotes/origin/up", "HEAD")
        self.git("remote", "add", "origin", self.main)
        for command in ("checkout -b a --track", "switch -c b -t", "branch --track c"):
            answer = self.ok(f"git {command} origin/up 2>&1", self.main)
            self.assertEqual([target for target, _ in self.refused(answer)], [self.main + "/.git/config"], answer)

    def test_a_refused_setting_says_how_it_is_allowed_once(self):
        config = self.main + "/.git/config"
        script = self.write("main/set.sh", "git config in.script yes\n")
        for command in ("git remote add origin x", "git config a.b c", f"sh {script}",
                        "git -C sub config --add a.b c"):
            answer = self.inside(command + " 2>&1 >/dev/null; true", self.main)
            if command.startswith("sh"):
                answer = self.inside(command, self.main)
            told = self.refused(answer)
            self.assertEqual([target for target, _ in told], [config], answer)
            self.assertIn(f'"path": "{config}", "access": "rw"', told[0][1])
        answer = self.ok("git remote add origin x", self.main, "--rw", config)
        self.assertEqual(answer["denials"], [], answer)
        self.assertEqual(self.git("remote"), "origin\n")
        for command in ("git config --get remote.origin.url", "git status", "git commit -qm x "
                        "--allow-empty || true"):
            self.assertEqual(self.refused(self.inside(command, self.main)), [])

    def test_in_a_worktree_it_is_the_main_configuration(self):
        self.worktree()
        config = self.main + "/.git/config"
        answer = self.inside("git remote add origin x", self.wt)
        self.assertEqual([target for target, _ in self.refused(answer)], [config], answer)
        self.ok("git remote add origin x", self.wt, "--rw", config)
        self.assertEqual(self.git("remote"), "origin\n")


if __name__ == "__main__":
    unittest.main()
