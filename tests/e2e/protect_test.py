# SPDX-License-Identifier: Apache-2.0
"""Protected paths: what git would execute cannot be written from inside, nothing is left outside,
and git itself works."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import harness
import protect_harness
from protect_harness import GIT


class Git(protect_harness.Case):
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

    def test_a_protected_directory_stays_so_whatever_else_in_it_is_protected(self):
        os.makedirs(os.path.join(self.work, "a/b"))
        self.write("work/a/b/c", "old\n")
        for protect in (["a", "a/b/c"], ["a/b/c", "a"], ["a/b", "a/b/c", "a"]):
            answer = self.sh(
                "for p in a/x a/b/x a/b/c; do ! { : > $p; } 2>/dev/null || echo open $p; done; "
                "mv a/b a/d 2>/dev/null && echo moved; cat a/b/c",
                "--profile", self.profile({"filesystem": {"protect": protect}}))
            self.assertEqual(answer["stdout"], "old\n", protect)
            # Refused, and not found changed afterwards.
            self.assertEqual({(d["operation"], d["grant"]) for d in answer["denials"]},
                             {(call, "remove it from filesystem.protect") for call in ("open", "rename")}, protect)
        self.repository()
        answer = self.sh("{ : > .git/x; } 2>/dev/null && echo open; git status --short a",
                         "--profile", self.profile({"extends": "default",
                                                    "filesystem": {"protect": [".git"]}}))
        self.assertEqual(answer["stdout"], "?? a/\n", answer)

    def test_a_narrower_root_in_a_protected_directory_opens_nothing_of_it(self):
        """The mount points that hold the way to it are none of the protected directory's."""
        self.repository()
        held = [".claude", ".git/hooks"]
        for path in held:
            self.write(f"work/{path}/deep/secret", "hush")
            self.write(f"work/{path}/keep", "kept")
        spoil = "".join(f"for p in {path}/new {path}/keep {path}/deep/new; do echo x > $p; done; mv {path}/deep {path}/d;"
                        f"rm {path}/keep; chmod 777 {path}; cat {path}/deep/secret;" for path in held)
        paths = [os.path.join(self.work, path) for path in held]
        noexec = self.profile({"extends": "default", "filesystem": {"+roots": [
            {"path": "${workspace}/" + path + "/deep/secret", "access": "rw", "noexec": True} for path in held]}})
        for flags in (["--hide", ".claude/deep/secret", "--hide", ".git/hooks/deep/secret"],
                      ["--hide", "**/secret"], ["--ro", ".claude/deep/secret", "--ro", ".git/hooks/deep"],
                      ["--profile", noexec]):
            answer = self.unchanged(spoil + "true", *paths, flags=flags)
            self.assertEqual(self.created(answer), set(), flags)
            self.assertEqual("hush" in answer["stdout"], "--hide" not in flags, answer)

    def probe(self, roots, protect, *paths):
        """The paths that could be written."""
        profile = self.profile({"commands": {"ask": []}, "filesystem": {"protect": protect, "+roots": [
            {"path": self.work + "/" + path, "access": access} for path, access in roots.items()]}})
        return self.out("".join(f"{{ echo x >> {path}; }} 2> /dev/null && echo {path};" for path in paths) + "true",
                        "--profile", profile).split()

    def test_a_protected_path_beyond_a_read_only_root_opens_nothing_of_that(self):
        for path in ("a/f", "a/b/f", "a/b/c/f", "a/b/c/held"):
            self.write("work/" + path, "kept")
        self.assertEqual(self.probe({"a": "ro", "a/b/c": "rw"}, ["a/b/c/held"],
                                    "a/f", "a/b/f", "a/b/new", "a/b/c/held", "a/b/c/f"), ["a/b/c/f"])

    def test_a_protected_path_in_another_is_held_in_a_root_between(self):
        for path in ("a/f", "a/b/f", "a/b/held"):
            self.write("work/" + path, "kept")
        self.assertEqual(self.probe({"a/b": "rw"}, ["a", "a/b/held"], "a/f", "a/b/held", "a/b/f"), ["a/b/f"])

    def test_a_file_that_a_root_makes_writable_in_a_protected_directory_is(self):
        for path in ("a/f", "a/g"):
            self.write("work/" + path, "kept")
        self.assertEqual(self.probe({"a/f": "rw"}, ["a"], "a/g", "a/f"), ["a/f"])

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
        answer = self.sh("mkdir evil; echo ../evil > .git/commondir; echo > .git/config.worktree;"
                         "while test -e .git/commondir; do sleep 0.1; done; echo gone")
        self.assertEqual(self.created(answer), {self.work + "/.git/commondir",
                                                self.work + "/.git/config.worktree"})
        self.assertEqual((answer["stdout"], os.path.exists(self.work + "/.git/commondir")), ("gone\n", False), answer)

    def test_nor_does_it_stay_where_the_way_to_it_is_closed(self):
        self.repository()
        self.write("work/a.py", "import os, sys, time\nd = os.open('.git', 0)\nwith open('.git/t', 'w') as f: f.write('../evil')\n"
                   "os.rename('.git/t', '.git/commondir')\nos.fchmod(d, 0o500)\nos.chmod('.', int(sys.argv[1], 8))\ntime.sleep(1)")
        self.addCleanup(os.chmod, self.work, 0o700)
        for mode in (0o700, 0o500, 0):
            answer = self.sh(f"python3 a.py {mode:o}")
            self.assertEqual(os.stat(self.work).st_mode & 0o777, mode)
            os.chmod(self.work, 0o700)
            self.assertEqual(os.stat(self.work + "/.git").st_mode & 0o777, 0o500)
            self.assertEqual([n for n in os.listdir(self.work + "/.git") if n.startswith("commondir")], [], answer)
            os.chmod(self.work + "/.git", 0o700)

    def test_what_is_only_reported_is_named_wherever_writes_go(self):
        profile = self.profile({"filesystem": {"+protect": [{"path": "conf", "missing": "report"}]}})
        env = {**self.env, "XDG_STATE_HOME": self.base + "/state"}
        for flags in ([], ["--overlay"], ["--layer", "one"]):
            answer = self.sh("git init -q; mkdir conf; touch conf/a other", "--profile", profile, *flags, env=env)
            self.assertEqual(self.created(answer), {f"{self.work}/{name}" for name in
                                                    (".git/config", ".git/hooks", "conf")}, (flags, answer))
            for name in () if flags else (".git", "conf"):
                shutil.rmtree(f"{self.work}/{name}")

    def test_a_file_that_has_another_name_is_warned_of(self):
        self.repository()
        told = f"filesystem.protect: {self.work}/.git/config is protected by this name alone"
        self.assertNotIn(told, str(self.sh("true")["sandbox"]["warnings"]))
        os.link(self.work + "/.git/config", self.work + "/other")
        self.assertIn(told, str(self.sh("true")["sandbox"]["warnings"]))
        self.assertNotIn(told, str(self.sh("true", "--protect", self.work + "/other")["sandbox"]["warnings"]))

    def test_an_existing_redirection_cannot_be_changed(self):
        self.repository()
        self.write("work/.git/config.worktree", "")
        self.unchanged("echo x > .git/config.worktree", self.work + "/.git/config.worktree")


class LedElsewhere(protect_harness.Case):
    """However git is led to other settings or hooks than before, the answer says so."""

    def redirected(self, command, *flags, **options):
        answer = self.sh(command, *flags, **options)
        self.assertEqual(answer["status"], "exited", answer)
        found = {d["target"] for d in answer["denials"] if d["operation"] == "git_redirected"}
        return {os.path.relpath(path, self.work) for path in found}

    def plant(self, at):
        """A repository with settings that run a program."""
        return (f"{GIT} init -q {at}; git -C {at} config core.fsmonitor /tmp/x;"
                f"echo x > {at}/.git/hooks/post-checkout;")

    def test_a_root_made_a_bare_repository_is_reported(self):
        self.repository()
        found = self.redirected("rm .git/HEAD; git init -q --bare b; mv b/* .;"
                                "echo x > hooks/update")
        self.assertEqual(found, {".", "config", "hooks/update", ".git/HEAD"})

    def test_a_git_file_where_there_was_none_is_reported(self):
        found = self.redirected(self.plant("evil") + "mv evil/.git e; echo gitdir: e > .git")
        self.assertEqual(found, {".git", "e/config", "e/hooks/post-checkout"})

    def test_a_symlink_where_there_was_none_is_reported(self):
        found = self.redirected(self.plant("evil") + "ln -s evil/.git .git")
        self.assertEqual(found, {".git"})  # the rest is named as created

    def test_a_gitlink_to_a_nested_repository_is_reported(self):
        self.repository()
        for version in ("2", "4"):
            found = self.redirected(
                self.plant(f"nest{version}/in") + f"{GIT} -C nest{version}/in commit -q "
                f"--allow-empty -m x; git update-index --index-version {version};"
                f"{GIT} add nest{version}/in 2>/dev/null")
            self.assertEqual(found, {f"nest{version}/in/.git/config",
                                     f"nest{version}/in/.git/hooks/post-checkout"})
        self.assertEqual(self.redirected("git -C nest2/in config a.b c"), {"nest2/in/.git/config"})
        self.assertEqual(self.redirected(f"echo > f; {GIT} add f; {GIT} commit -qm second"), set())

    def test_included_settings_and_a_directory_of_hooks_in_the_root_are_looked_at(self):
        self.repository()
        self.git("config", "include.path", "../more")
        self.git("config", "core.hooksPath", ".own")
        found = self.redirected("printf '[include]\\n path = \"yet more\"\\n' > more;"
                                "echo > '.git/yet more'; echo > 'yet more'; mkdir .own;"
                                "echo > .own/pre-commit; echo > .own/pre-commit.sample")
        self.assertEqual(found, {"more", "yet more", ".own/pre-commit"})

    def test_ordinary_work_is_not_reported(self):
        self.repository()
        self.assertEqual(self.redirected(
            f"set -e; echo > f; {GIT} add f; {GIT} commit -qm f; {GIT} checkout -qb other;"
            f"{GIT} worktree add -q tree; {GIT} clone -q . copy; {GIT} gc -q; rm -rf tree copy;"
            f"{GIT} stash -q; mkdir objects refs; git pack-refs --all"), set())

    def test_what_leads_in_circles_ends(self):
        self.repository()
        self.assertEqual(self.redirected(
            "mkdir a; ln -s ../b a/x; ln -s a/x b; echo 'gitdir: ../b/c' > a/.git;"
            "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),a;"
            "ln -s config.worktree .git/commondir; ln -s commondir .git/config.worktree"),
            {"a/.git", "a/x", "b"})

    def test_modules_are_protected(self):
        store = self.base + "/store"
        os.mkdir(store)
        self.repository(at=store)
        self.repository()
        self.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", "--name", "a/b",
                 store, "sub")
        module = self.work + "/.git/modules/a/b"
        answer = self.unchanged(
            "cd sub; echo x > ../.git/modules/a/b/hooks/update; git config core.fsmonitor x;"
            "for d in modules/a/b/hooks modules/a/b modules/a modules; do "
            "perl -e 'exit !rename(shift, shift)' ../.git/$d ../.git/moved && echo moved; done;"
            f"set -e; echo > f; {GIT} add f; {GIT} commit -qm f; cd ..;"
            f"{GIT} add sub; {GIT} commit -qm sub", module + "/hooks", module + "/config")
        self.assertEqual((answer["exit_code"], answer["stdout"]), (0, ""), answer)
        told = {(d["operation"], d["target"], d["grant"]) for d in answer["denials"]}
        named = [one for one in told if one[0] != "write"]
        self.assertEqual(named, [("open", module + "/hooks/update", "remove it from filesystem.protect")], answer)
        self.assertLess(len(named), len(told))

    def test_more_modules_than_can_be_looked_at_are_all_read_only(self):
        self.repository()
        for number in range(300):
            self.write(f"work/.git/modules/{number}/HEAD", "")
        answer = self.sh("echo > .git/modules/0/config || mv .git/modules m || echo held")
        self.assertEqual(answer["stdout"], "held\n", answer)


class Links(protect_harness.Case):
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


class Missing(protect_harness.Case):
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

    def test_git_and_find_do_not_complain_of_it(self):
        self.repository()
        profile = self.held([".envrc", ".vscode/tasks.json", ".git/hooks/x"])
        answer = self.sh("git status --short; find . -name .git -prune -o -print | sort;"
                         "ls -A .envrc", "--profile", profile)
        self.assertEqual((answer["stderr"], answer["stdout"]),
                         ("", ".\n./.envrc\n./.sbx\n./.vscode\n"), answer)

    def test_what_would_make_it_is_named_where_denials_are_traced(self):
        answer = self.sh("mkdir .envrc", "--trace-denials", "--profile",
                         self.held([".envrc"]))
        grants = {(d["target"], d["grant"]) for d in answer["denials"]}
        self.assertIn((self.work + "/.envrc", "remove it from filesystem.protect"), grants)

    def test_what_the_text_names_in_its_place_is_told_of_without_tracing(self):
        profile = self.held(["far/deep/x"])
        for command, operation, target in (
                ("mkdir far", "mkdir", "far"), ("mkdir -p far/deep", "mkdir", "far/deep"),
                ("echo x > far/other", "open", "far/other"), ("mkdir far/other", "mkdir", "far/other"),
                ("cp /etc/hostname far/deep", "open", "far/deep"), ("ln -s /tmp far/y", "symlink", "far/y")):
            answer = self.sh(command, "--profile", profile)
            told = [(d["operation"], d["target"], d["grant"]) for d in answer["denials"]]
            self.assertIn((operation, f"{self.work}/{target}", "remove it from filesystem.protect"), told, command)
        # Beside what is there nothing is refused.
        self.write("work/far/deep/file", "a")
        answer = self.sh("sed -i s/a/b/ far/deep/file; mkdir far/other; echo x > far/deep/y", "--profile", profile)
        self.assertEqual((answer["stderr"], answer["denials"]), ("", []), answer)

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

    @unittest.skipUnless(harness.is_root(), "for root: another caller can become nobody else")
    def test_runs_of_two_users_hold_it_until_the_last_has_ended(self):
        os.chmod(self.base, 0o755)
        home = os.path.join(self.base, "home")
        os.mkdir(home)
        for path in (self.work, home):
            os.chown(path, 4321, 4321)
        os.chmod(self.work, 0o777)
        profile = self.held(["a/b"])

        def start(command, **options):
            run = subprocess.Popen([harness.SBX_RUN, "--profile", profile, "-c", command], cwd=self.work,
                                   stdout=subprocess.PIPE, **options)
            self.addCleanup(self.end, run)
            return run

        first = start("touch first; until test -e go; do sleep 0.05; done")
        self.poll(lambda: os.path.exists(self.work + "/first"))
        second = start("touch second; until test -e ended; do sleep 0.05; done; mkdir -p a/b .sbx/c; echo end",
                       user=4321, group=4321, extra_groups=[], env={"PATH": "/usr/bin:/bin", "HOME": home})
        self.poll(lambda: os.path.exists(self.work + "/second") or second.poll() is not None)
        self.write("work/go", "")
        first.wait(timeout=20)
        self.write("work/ended", "")
        answer = json.loads(second.communicate(timeout=20)[0])
        self.assertEqual((answer["status"], answer["stdout"]), ("exited", "end\n"), answer)
        self.assertEqual(sorted(os.listdir(self.work)), ["ended", "first", "go", "second"])

    def test_it_goes_with_its_directory_where_another_run_has_moved_that(self):
        profile, elsewhere = self.held([".envrc"]), self.base + "/elsewhere"
        os.mkdir(self.work + "/sub")
        os.makedirs(elsewhere + "/.envrc")
        first = subprocess.Popen([harness.SBX_RUN, "--profile", profile, "-c",
                                  "touch started; until test -e go; do sleep 0.05; done"],
                                 cwd=self.work + "/sub", stdout=subprocess.DEVNULL)
        self.addCleanup(first.wait)
        self.poll(lambda: os.path.exists(self.work + "/sub/started"))
        answer = self.sh(f"mv sub moved && ln -s {elsewhere} sub", "--profile", profile)
        self.assertEqual(answer["exit_code"], 0, answer)
        self.write("work/moved/go", "")
        first.wait(timeout=20)
        self.assertEqual(os.listdir(elsewhere), [".envrc"])
        self.assertEqual(sorted(os.listdir(self.work + "/moved")), ["go", "started"])

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


class Parents(protect_harness.Case):
    """Nothing that leads to a narrower root can be moved, so that it is found in the next run."""

    def test_parents_of_hidden_and_read_only_roots_below_a_writable_root_stay(self):
        for access, flag in (("none", "--hide"), ("ro", "--ro")):
            secret = self.write(f"work/{access}/a/secret", "text")
            os.symlink(f"{access}/a", self.work + f"/led-{access}")
            named = self.work + f"/led-{access}/secret"
            answer = self.sh(f"mv {access}/a b; mv {access} c; rm led-{access}; mv led-{access} d;"
                             f"ln -sfn /x led-{access}; echo x > {access}/a/secret", flag, named)
            self.assertEqual(answer["status"], "exited", answer)
            with open(named) as file:
                self.assertEqual(file.read(), "text")
            self.assertEqual(os.path.realpath(named), secret)

    def test_parents_of_a_writable_root_stay_too(self):
        """Another in its place would hold nothing that is protected in it."""
        self.write("work/out/deep/project/.claude/settings.json", "{}")
        answer = self.sh("mv out/deep out/d; mv out o; mkdir -p out/deep/project/.claude; echo made > out/deep/f;"
                         "echo x > out/deep/project/.claude/settings.json; echo x > out/deep/project/g; mv out/f out/deep/f",
                         "--rw", self.work + "/out/deep/project")
        self.assertEqual(answer["status"], "exited", answer)
        self.assertEqual(sorted(os.listdir(self.work + "/out/deep/project")), [".claude", "g"])
        self.assertEqual(sorted(os.listdir(self.work + "/out/deep")), ["f", "project"])
        with open(self.work + "/out/deep/project/.claude/settings.json") as file:
            self.assertEqual(file.read(), "{}")

    def test_parents_of_a_hidden_root_stay_where_the_whole_host_is_writable(self):
        # /var/tmp is the host's with `/`, as /tmp is not.
        base = tempfile.mkdtemp(prefix="sbx-e2e-", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, base, ignore_errors=True)
        os.makedirs(base + "/a/b")
        with open(base + "/a/b/secret", "w") as file:
            file.write("text")
        answer = self.sh(f"cd {base} && mv a/b a/c; mv a d; mkdir e; echo made > e/f;"
                         "cat */*/secret", "--rw", "/", "--hide", base + "/a/b/secret",
                         "--profile", self.profile({"commands": {"ask": []}}))
        self.assertEqual((answer["status"], answer["stdout"]), ("exited", ""), answer)
        with open(base + "/a/b/secret") as file:
            self.assertEqual(file.read(), "text")
        self.assertTrue(os.path.exists(base + "/e/f"))


class Sessions(protect_harness.Case):
    """A session that starts while a command runs does not show inside, whatever root holds it."""

    def test_the_directory_of_a_later_session_is_covered(self):
        runtime = self.base + "/runtime"
        os.mkdir(runtime, 0o700)
        env = {**os.environ, "XDG_RUNTIME_DIR": runtime}
        for access in ("--ro", "--rw"):
            process = subprocess.Popen(
                [harness.SBX_RUN, access, runtime, "-c",
                 f"touch started; until test -e go; do sleep 0.05; done; cat {runtime}/sbx/*;"
                 f"ls -A {runtime}/sbx; mv {runtime}/sbx {runtime}/s && echo moved"],
                cwd=self.work, env=env, stdout=subprocess.PIPE)
            self.addCleanup(self.end, process)
            self.assertTrue(harness.until(lambda: os.path.exists(self.work + "/started")))
            name = f"later-{os.getpid()}-{access[2:]}"
            subprocess.run([harness.SBX_RUN, "start", "--session", name, "-c", "true"], env=env,
                           cwd=self.base, check=True, capture_output=True, timeout=60)
            self.addCleanup(subprocess.run, [harness.SBX_RUN, "end", "--session", name], env=env,
                            cwd=self.base, capture_output=True, timeout=60)
            self.assertIn(name + ".sock.token", os.listdir(runtime + "/sbx"))
            self.write("work/go", "")
            answer = json.loads(process.communicate(timeout=60)[0])
            self.assertEqual((answer["status"], answer["stdout"]), ("exited", ""), answer)
            os.remove(self.work + "/started")
            os.remove(self.work + "/go")


class Several(protect_harness.Case):
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
