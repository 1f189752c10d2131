# SPDX-License-Identifier: Apache-2.0
"""Protected paths: what git would execute cannot be written from inside, nothing is left outside,
and git itself works."""

import os
import signal
import subprocess
import time
import unittest

import harness

GIT = "git -c user.email=a@b -c user.name=n -c init.defaultBranch=main"


class ProtectCase(harness.Case):
    def setUp(self):
        super().setUp()
        self.env = {**os.environ, "HOME": self.base, "GIT_CONFIG_NOSYSTEM": "1"}

    def git(self, *arguments, at=None):
        subprocess.run([*GIT.split(), *arguments], cwd=at or self.work, env=self.env, check=True,
                       capture_output=True, timeout=60)

    def repository(self, at=None):
        self.git("init", "-q", at=at)
        self.git("commit", "-q", "--allow-empty", "-m", "first", at=at)

    def tree(self, *paths):
        """Contents and targets of everything git would run or be led by."""
        found = {}
        for path in paths:
            for at, _, files in os.walk(path) if not os.path.islink(path) else ():
                for name in files:
                    with open(os.path.join(at, name), "rb") as file:
                        found[os.path.join(at, name)] = file.read()
            if os.path.islink(path):
                found[path] = os.readlink(path)
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    found[path] = file.read()
        return found

    def created(self, answer):
        return {d["target"] for d in answer["denials"] if d["operation"] == "protected_created"}

    def unchanged(self, command, *paths, flags=(), **options):
        before = self.tree(*paths)
        answer = self.sh(command, *flags, **options)
        self.assertEqual(answer["status"], "exited", answer)
        self.assertEqual(self.tree(*paths), before, answer)
        return answer


class Git(ProtectCase):
    """Git works inside with the default profile; its hooks and configuration stand."""

    def test_ordinary_git_works(self):  # E7
        answer = self.sh(f"set -e; {GIT} init -q .; echo a > f; {GIT} add f; {GIT} commit -qm one;"
                         f"{GIT} status --short; {GIT} log --oneline | wc -l;"
                         f"{GIT} worktree add -q tree; ls tree; {GIT} branch other; {GIT} gc -q")
        self.assertEqual((answer["exit_code"], answer["stdout"]), (0, "1\nf\n"), answer)
        self.assertEqual(self.created(answer),
                         {self.work + "/.git/hooks", self.work + "/.git/config"})
        answer = self.sh(f"echo b >> f; {GIT} commit -qam two && {GIT} status --short;"
                         f"{GIT} worktree add -q second && cd second && echo c > f &&"
                         f"{GIT} commit -qam three; {GIT} log --oneline | wc -l")
        self.assertEqual((answer["exit_code"], answer["stdout"]), (0, "?? tree/\n3\n"), answer)
        self.assertEqual(answer["denials"], [])

    def test_hooks_and_configuration_cannot_be_written_or_replaced(self):
        self.repository()
        answer = self.unchanged(
            "echo x > .git/hooks/pre-commit; echo x >> .git/config; git config core.fsmonitor x;"
            "rm -f .git/config; rm -rf .git/hooks; mv .git/config c; mv .git/hooks h; mv .git g;"
            "ln -f .git/config l; chmod 777 .git/config .git/hooks; truncate -s0 .git/config;"
            "rmdir .git; mkdir evil; mv -T evil .git; cp -r .git copy && rm -rf .git/objects/zz;"
            "ln -sfn /tmp .git/hooks; touch -d @1 .git/config; true",
            self.work + "/.git/hooks", self.work + "/.git/config")
        self.assertTrue(os.path.isdir(self.work + "/.git"))
        self.assertGreaterEqual(answer["stderr"].count("\n"), 12)

    def test_exchanging_is_refused(self):
        self.repository()
        os.makedirs(self.work + "/evil/hooks")
        before = os.stat(self.work + "/.git").st_ino
        probe = harness.probe("escape")
        for one, other in ((".git", "evil"), (".git/hooks", "evil/hooks")):
            answer = self.run_json("--ro", probe, "--env", f"FROM={one}", "--env", f"TO={other}",
                                   "--", probe, "exchange")
            self.assertIn(answer["stdout"], ("exchange: EBUSY\n", "exchange: EXDEV\n"), answer)
        self.assertEqual(os.stat(self.work + "/.git").st_ino, before)

    def test_another_configuration_by_redirection_is_reported(self):
        self.repository()
        answer = self.sh("mkdir evil; echo ../evil > .git/commondir; echo > .git/config.worktree")
        self.assertEqual(self.created(answer), {self.work + "/.git/commondir",
                                                self.work + "/.git/config.worktree"})

    def test_an_existing_redirection_cannot_be_changed(self):
        self.repository()
        self.write("work/.git/config.worktree", "")
        self.unchanged("echo x > .git/config.worktree", self.work + "/.git/config.worktree")


class Links(ProtectCase):
    """A `.git` that is a file or a symlink is followed to what it leads to, within the roots."""

    def test_a_git_file_cannot_be_changed_and_its_directories_are_protected(self):
        main, tree = self.work + "/main", self.work + "/tree"
        os.mkdir(main)
        self.repository(at=main)
        self.git("worktree", "add", "-q", tree, at=main)
        flags = ["--workspace", tree, "--rw", main]
        answer = self.unchanged(
            "echo x > .git; rm -f .git; mv .git g; ln -sf /x .git; echo x > ../main/.git/hooks/x;"
            "echo x >> ../main/.git/config; mv ../main/.git ../main/g;"
            "echo x > ../main/.git/worktrees/tree/commondir; mv ../main/.git/worktrees ../main/.git/w;"
            f"echo t > t; {GIT} add t && {GIT} commit -qm in-tree", tree + "/.git",
            main + "/.git/hooks", main + "/.git/config", main + "/.git/worktrees/tree/commondir",
            flags=flags, cwd=tree)
        self.assertEqual(answer["exit_code"], 0, answer)

    def test_a_worktree_whose_repository_is_a_subdirectory_alone_is_followed(self):
        store = self.work + "/store"
        os.mkdir(store)
        self.git("init", "-q", "--separate-git-dir", store)
        self.unchanged("echo x > store/hooks/x; echo x >> store/config; mv store s; rm .git;"
                       "git config a.b c", store + "/hooks", store + "/config", self.work + "/.git")

    def test_a_submodule_is_followed(self):
        sub = self.work + "/sub"
        os.makedirs(self.work + "/.git/modules/sub/hooks")
        self.repository()
        os.mkdir(sub)
        self.write("work/sub/.git", "gitdir: ../.git/modules/sub\n")
        self.write("work/.git/modules/sub/config", "[core]\n")
        self.unchanged("echo x > ../.git/modules/sub/hooks/x; echo x > ../.git/modules/sub/config;"
                       "mv ../.git/modules ../.git/m; rm .git", self.work + "/.git/modules",
                       sub + "/.git", flags=["--rw", sub], cwd=sub)

    def test_a_git_file_that_leads_out_of_the_roots_stays_and_gives_nothing(self):
        outside = self.base + "/outside"
        os.makedirs(outside + "/hooks")
        self.write("outside/config", "")
        self.write("work/.git", f"gitdir: {outside}\n")
        self.unchanged(f"echo x > .git; echo x > {outside}/hooks/x; mv .git g; rm .git",
                       outside, self.work + "/.git")

    def test_hostile_git_files_are_no_error(self):
        os.mkfifo(self.base + "/fifo")
        for text in ("gitdir: /\n", "gitdir: .\n", "gitdir: \n", "gitdir: .git\n", "", "x" * 9000,
                     f"gitdir: {self.base}/fifo\n", "gitdir: /proc/self\n", "gitdir: \0\n",
                     "gitdir: ../../../../../../../../..\n"):
            self.write("work/.git", text)
            self.assertEqual(self.out("echo fine"), "fine\n", text)

    def test_a_symlink_within_the_root_is_followed_and_held(self):
        self.repository()
        os.rename(self.work + "/.git", self.work + "/real")
        os.symlink("real", self.work + "/.git")
        answer = self.unchanged(
            "echo x > .git/hooks/x; echo x >> real/config; rm .git; mv real r; mv .git g;"
            f"ln -sfn evil .git; echo f > f; {GIT} add f && {GIT} commit -qm second",
            self.work + "/.git", self.work + "/real/hooks", self.work + "/real/config")
        self.assertEqual(answer["exit_code"], 0, answer)

    def test_a_protected_path_that_is_a_symlink_is_held_with_its_target(self):
        self.repository()
        os.rename(self.work + "/.git/config", self.work + "/conf")
        os.symlink("../conf", self.work + "/.git/config")
        self.unchanged("echo x >> .git/config; echo x >> conf; rm .git/config; mv conf c;"
                       "ln -sf /x .git/config", self.work + "/conf", self.work + "/.git/config")

    def test_a_symlink_out_of_the_root_is_never_followed_to_write(self):
        outside = self.base + "/outside"
        os.mkdir(outside)
        self.repository(at=outside)
        os.symlink(outside + "/.git", self.work + "/.git")
        self.unchanged(f"echo x > .git/hooks/x; echo x > {outside}/.git/config; rm .git; mv .git g",
                       outside, self.work + "/.git")

    def test_a_dangling_symlink_never_comes_to_lead_somewhere(self):
        os.symlink("later", self.work + "/.git")
        answer = self.sh("mkdir -p later/hooks; echo x > .git/hooks/x; rm .git; readlink .git")
        self.assertEqual((answer["status"], answer["stdout"]), ("exited", ""), answer)
        self.assertEqual(os.readlink(self.work + "/.git"), "later")
        self.assertEqual(os.listdir(self.work + "/later/hooks"), [])

    def test_loops_and_special_files_are_no_error(self):
        os.symlink(".git", self.work + "/.git")
        self.assertEqual(self.out("echo fine"), "fine\n")
        os.remove(self.work + "/.git")
        os.mkfifo(self.work + "/.git")
        self.assertEqual(self.out("rm .git 2>/dev/null; test -p .git && echo there"), "there\n")


class Missing(ProtectCase):
    """A protected path that does not exist cannot be created, and leaves nothing on the host."""

    def held(self, protect):
        return self.profile({"filesystem": {"protect": protect}})

    def test_it_cannot_be_created(self):
        os.mkdir(self.work + "/.vscode")
        profile = self.held([".git/hooks", ".envrc", ".vscode/tasks.json"])
        answer = self.sh("mkdir -p .git/hooks; echo x > .git; echo x > .envrc;"
                         "echo x > .vscode/tasks.json; mv .vscode v; rmdir .git .envrc; echo y > f",
                         "--profile", profile)
        self.assertEqual(answer["exit_code"], 0)
        self.assertEqual(sorted(os.listdir(self.work)), [".vscode", "f"])
        self.assertEqual(os.listdir(self.work + "/.vscode"), [])

    def test_nothing_is_left_after_a_kill(self):
        profile = self.held([".git/hooks"])
        process = subprocess.Popen([harness.SBX_RUN, "--profile", profile, "-c",
                                    "touch started; sleep 60"], cwd=self.work,
                                   stdout=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.poll(lambda: os.path.exists(self.work + "/started"))
        process.send_signal(signal.SIGKILL)
        self.poll(lambda: sorted(os.listdir(self.work)) == ["started"])

    def test_runs_at_the_same_time_hold_it_until_the_last_has_ended(self):
        profile = self.held([".git/hooks"])
        first = subprocess.Popen([harness.SBX_RUN, "--profile", profile, "-c",
                                  "touch started; until test -e go; do sleep 0.05; done"],
                                 cwd=self.work, stdout=subprocess.DEVNULL)
        self.addCleanup(first.wait)
        self.poll(lambda: os.path.exists(self.work + "/started"))
        second = subprocess.Popen([harness.SBX_RUN, "--profile", profile, "-c",
                                   "touch second; until test -e ended; do sleep 0.05; done;"
                                   "mkdir -p .git/hooks; touch tried"],
                                  cwd=self.work, stdout=subprocess.DEVNULL)
        self.addCleanup(second.wait)
        self.poll(lambda: os.path.exists(self.work + "/second"))
        self.write("work/go", "")
        first.wait(timeout=20)
        self.write("work/ended", "")
        second.wait(timeout=20)
        self.assertEqual(sorted(os.listdir(self.work)),
                         ["ended", "go", "second", "started", "tried"])

    def test_one_that_may_be_created_is_reported(self):
        profile = self.held([{"path": ".git/hooks", "missing": "report"}])
        answer = self.sh("mkdir -p .git/hooks; echo x > .git/hooks/x", "--profile", profile)
        self.assertEqual(self.created(answer), {self.work + "/.git/hooks"})
        self.assertEqual(answer["denials"][0]["layer"], "mount")
        answer = self.sh("true", "--profile", profile)
        self.assertEqual(answer["denials"], [])

    def poll(self, condition):
        until = time.monotonic() + 20
        while not condition():
            self.assertLess(time.monotonic(), until, "it did not come about within 20 s")
            time.sleep(0.02)


class Several(ProtectCase):
    """Each rw root has its protected paths, nested ones too; narrower roots stand."""

    def test_every_rw_root_is_protected(self):
        other, nested = self.base + "/other", self.work + "/nested"
        for path in (other, nested):
            os.mkdir(path)
            self.repository(at=path)
        self.repository()
        self.unchanged("for d in . nested ../other; do echo x > $d/.git/hooks/x;"
                       "echo x >> $d/.git/config; mv $d/.git $d/g; done; true",
                       *[p + f for p in (self.work, other, nested)
                         for f in ("/.git/hooks", "/.git/config")],
                       flags=["--rw", other, "--rw", nested])

    def test_a_hidden_repository_stays_hidden(self):
        self.repository()
        answer = self.sh("cat .git/config; ls .git/hooks; ls .git", "--hide", self.work + "/.git")
        self.assertEqual(answer["stdout"], "")

    def test_a_read_only_repository_stays_so(self):
        self.repository()
        self.unchanged("echo x > .git/x; echo x > .git/hooks/x; rm -rf .git; mv .git g",
                       self.work + "/.git", flags=["--ro", self.work + "/.git"])

    def test_landlock_alone_protects_too(self):  # E1
        self.repository()
        self.write("work/src/f", "x")
        profile = self.profile({"isolation": {"namespaces": [], "require": ["landlock"]}})
        answer = self.unchanged("echo x > .git/hooks/x; echo x >> .git/config; mv .git g;"
                                "rm -rf .git/hooks; echo fine > src/g; cat src/g",
                                self.work + "/.git/hooks", self.work + "/.git/config",
                                flags=["--profile", profile])
        self.assertEqual(answer["stdout"], "fine\n", answer)
        self.assertFalse(answer["sandbox"]["layers"]["mount"])


if __name__ == "__main__":
    unittest.main()
