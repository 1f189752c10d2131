# SPDX-License-Identifier: Apache-2.0
"""Kept layers: changes are made real, taken back, or refused."""

import json
import os
import shutil
import subprocess
import time
import unittest

import harness
from kept_harness import Kept, tree



class Commits(Kept):
    @unittest.skipUnless(harness.is_root(), "another owner's file in a user's directory: made by root")
    def test_one_that_cannot_be_done_whole_gives_nothing_another_owner(self):
        user = 4321
        self.put("roots", "root's\n")
        self.put("closed/f", "root's\n")
        os.mkdir(self.state)
        for path in (self.base, self.work, self.state):
            os.chown(path, user, user)
        become = ("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", harness.SBX_RUN)
        environment = {"PATH": "/usr/bin:/bin", "HOME": self.base, "XDG_STATE_HOME": self.state}

        def as_user(*words):
            return subprocess.run([*become, *words], cwd=self.work, env=environment, check=False, capture_output=True,
                                  stdin=subprocess.DEVNULL, timeout=harness.BOUND, text=True)

        made = as_user("run", "--layer", "x", "-c", "rm -f roots closed/f && echo gone")
        if "cannot execute" in made.stderr or "failed to execute" in made.stderr:
            self.skipTest("the program lies where another user does not get: " + made.stderr)
        self.assertEqual(json.loads(made.stdout)["stdout"], "gone\n", made)
        done = as_user("layer", "commit", "x", "--dry-run")
        self.assertEqual((done.returncode, "would be" in done.stderr), (125, False), done)
        done = as_user("layer", "commit", "x")
        self.assertEqual(done.returncode, 125, done)
        self.assertIn("nothing was committed", done.stderr)
        self.assertEqual((os.stat(os.path.join(self.work, "roots")).st_uid, self.read("roots")), (0, "root's\n"))
        self.assertEqual(self.read("closed/f"), "root's\n")

    def test_what_git_wrote_in_a_linked_worktree(self):
        git = ("git", "-c", "user.name=x", "-c", "user.email=x@y")
        main, linked = os.path.join(self.base, "main"), os.path.join(self.base, "linked")
        for words in (("init", "-q", main), ("-C", main, "commit", "-q", "--allow-empty", "-m", "1"),
                      ("-C", main, "worktree", "add", "-q", linked)):
            subprocess.run([*git, *words], check=True, capture_output=True)
        answer = self.sh(f"echo m > m && git add m && {' '.join(git)} commit -qm 2", "--layer", "x", cwd=linked)
        self.assertEqual(answer["exit_code"], 0, answer)
        done = self.raw("layer", "commit", "x", cwd=linked)
        self.assertEqual(done.returncode, 0, done)
        told = subprocess.run([*git, "-C", linked, "log", "--format=%s"], check=True, capture_output=True, text=True)
        self.assertEqual(told.stdout, "2\n1\n")
        self.assertEqual(subprocess.run([*git, "-C", linked, "status", "--short"], check=True,
                                        capture_output=True).stdout, b"")

    def test_first_committer_wins(self):
        self.put("a", "1\n")
        self.put("b", "1\n")
        self.inside("echo layer > a; echo layer > b; echo c > c")
        self.put("a", "host\n")
        before = tree(self.work)
        answer = self.refused("layer_conflict", "commit", "x")
        self.assertEqual(answer["changes"], [{"path": self.work + "/a", "kind": "conflict"}])
        self.assertEqual(tree(self.work), before)
        self.layer("commit", "x", "c")  # a conflict elsewhere does not block it
        self.assertEqual(self.read("c"), "c\n")
        self.layer("commit", "x", "--ours", "a")
        self.assertEqual((self.read("a"), self.read("b")), ("host\n", "layer\n"))
        self.assertEqual(self.inside("cat a")["stdout"], "host\n")

    def test_theirs_takes_the_layers(self):
        self.put("a", "1\n")
        self.inside("echo layer > a")
        self.put("a", "host\n")
        self.layer("commit", "x", "--theirs", "a")
        self.assertEqual(self.read("a"), "layer\n")
        self.layer("undo", "x")
        self.assertEqual(self.read("a"), "host\n")

    def test_the_same_bytes_and_a_new_time_are_no_conflict(self):
        path = self.put("a", "1\n")
        self.inside("echo 2 > a")
        os.utime(path, (1, 1))
        self.layer("commit", "x")
        self.assertEqual(self.read("a"), "2\n")

    def test_changed_while_the_run_went_on(self):
        self.put("a", "1\n")
        self.put("b", "1\n")
        run = subprocess.Popen([harness.SBX_RUN, "--layer", "x", "-c",
                                "echo layer > a; echo > first; sleep 2; echo layer > b"],
                               cwd=self.work, env=self.environment, stdout=subprocess.DEVNULL)
        self.addCleanup(self.end, run)
        pool = os.path.join(self.state, "sbx/layers")
        self.assertTrue(harness.until(lambda: any(
            "first" in files for _, _, files in os.walk(pool))))
        self.put("a", "host\n")  # after the layer's first write
        self.put("b", "host\n")  # before it
        run.wait(timeout=harness.BOUND)
        answer = self.refused("layer_conflict", "commit", "x")
        self.assertEqual([change["path"] for change in answer["changes"]], [self.work + "/a"])

    def test_what_changed_before_the_layer_touched_it_is_no_conflict(self):
        self.put("a", "1\n")
        self.put("b", "1\n")
        self.put("d/c", "1\n")
        self.inside("echo layer > moved")
        self.put("b", "host\n")  # later than the file that takes its place was made
        time.sleep(0.1)  # a file's time moves in ticks of the clock
        run = subprocess.Popen([harness.SBX_RUN, "--layer", "x", "-c",
                                "mv moved b; rm a; echo > first; sleep 2; rm d/c"],
                               cwd=self.work, env=self.environment, stdout=subprocess.DEVNULL)
        self.addCleanup(self.end, run)
        pool = os.path.join(self.state, "sbx/layers")
        self.assertTrue(harness.until(lambda: any(
            "first" in files for _, _, files in os.walk(pool))))
        self.put("d/c", "host\n")  # later than the run's first removal
        run.wait(timeout=harness.BOUND)
        self.layer("commit", "x")
        self.assertEqual(sorted(os.listdir(self.work)), ["b", "d", "first"])
        self.assertEqual(self.read("b"), "layer\n")

    def test_new_files_in_a_removed_directory_are_a_conflict(self):
        self.put("d/a", "1\n")
        self.inside("rm -r d")
        self.put("d/b", "host\n")
        self.refused("layer_conflict", "commit", "x")
        self.assertEqual(sorted(os.listdir(os.path.join(self.work, "d"))), ["a", "b"])

    def test_what_came_into_a_removed_directory_is_a_conflict_whatever_runs_do_afterwards(self):
        for first, name in (("rm -r d", "d/theirs"), ("rm -r d", "d/s/theirs"), ("rm -r d/s", "d/s/theirs")):
            for later in ("true", "rm -rf d; echo > d", "mkdir -p d", "mkdir -p d/s; echo > d/s/own; rm -r d"):
                with self.subTest(first, later=later, name=name):
                    self.put("d/s/old", "1\n")
                    self.inside(first)
                    self.put(name, "theirs\n")
                    self.inside(later)
                    self.inside("rm -rf d; echo > d")
                    self.refused("layer_conflict", "commit", "x")
                    self.assertEqual((self.read("d/s/old"), self.read(name)), ("1\n", "theirs\n"))
                    os.unlink(os.path.join(self.work, name))
                    self.layer("commit", "x")
                    self.layer("undo", "x")
                    self.put(name, "theirs\n")
                    self.inside("rm d; mkdir d; rmdir d; echo > d")
                    self.refused("layer_conflict", "commit", "x")
                    self.layer("discard", "x")
                    shutil.rmtree(os.path.join(self.work, "d"))

    def test_what_came_into_a_removed_directory_is_not_written_over(self):
        for frozen in (False, True):
            for again in ("mkdir d; echo mine > d/theirs", "mkdir -p d/s; echo mine > d/s/theirs"):
                with self.subTest(again, frozen=frozen):
                    self.put("d/s/old", "1\n")
                    self.inside("rm -r d")
                    if frozen:
                        self.layer("checkpoint", "x")
                    name = again.split()[-1]
                    self.put(name, "theirs\n")
                    self.inside(again)
                    self.refused("layer_conflict", "commit", "x")
                    self.assertEqual(self.read(name), "theirs\n")
                    self.layer("commit", "x", "--theirs", name)
                    self.assertEqual(self.read(name), "mine\n")
                    self.layer("discard", "x")
                    shutil.rmtree(os.path.join(self.work, "d"))

    def test_what_is_discarded_of_a_directory_that_is_gone_is_seen_again_and_may_be_removed_anew(self):
        self.put("d/kept", "1\n")
        self.put("d/gone", "1\n")
        self.inside("rm -r d; mkdir d")
        self.layer("discard", "x", "d/kept")
        self.put("d/theirs", "theirs\n")
        self.assertEqual(self.inside("ls d")["stdout"], "kept\ntheirs\n")
        self.inside("rm -r d")
        self.layer("commit", "x")
        self.assertFalse(os.path.exists(os.path.join(self.work, "d")))

    def test_nothing_of_a_layer_hides_the_real_files_once_all_is_committed(self):
        self.put("touched", "1\n")
        self.put("d/f", "1\n")
        for also in ("echo > new", "true"):
            self.inside("touch touched; chmod 644 touched; touch d/f; rm -f d/x; " + also)
            self.layer("commit", "x")
            self.put("touched", "2\n")
            shutil.rmtree(os.path.join(self.work, "d"))
            answer = self.inside("cat touched; ls")
            self.assertEqual((answer["stdout"], answer["changes"]), ("2\nnew\ntouched\n", []))
            self.put("d/f", "1\n")
        self.layer("undo", "x")
        self.assertFalse(os.path.exists(os.path.join(self.work, "new")))

    def test_what_is_real_already_is_the_layers_no_more_once_it_is_committed(self):
        for kind in ("overlay", "copy"):
            with self.subTest(kind):
                for name in ("a", "b", "c"):
                    self.put(name, "1\n")
                if kind == "copy":
                    os.link(self.work + "/c", self.work + "/other")
                answer = self.inside("rm a; echo 2 > b")
                self.assertEqual(answer["layer"]["kind"], kind)
                os.unlink(self.work + "/a")
                self.layer("commit", "x", "a")
                self.inside("echo anew > a")
                self.layer("commit", "x", "a")
                self.assertEqual((self.read("a"), self.read("b")), ("anew\n", "1\n"))
                self.layer("discard", "x")

    def test_what_was_only_touched_stays_while_something_is_not_committed(self):
        self.put("touched", "1\n")
        self.inside("touch -d 2001-01-01 touched; echo > a; echo > b")
        self.layer("commit", "x", "a")
        self.assertEqual(self.inside("stat -c %y touched | cut -c1-4")["stdout"], "2001\n")
        self.layer("commit", "x", "b")
        self.assertNotEqual(self.inside("stat -c %y touched | cut -c1-4")["stdout"], "2001\n")

    def test_a_directory_that_an_earlier_run_has_touched_and_a_later_one_removes(self):
        for later in ("rm -r d", "rm -r d; mkdir d; echo x > d/x", "rm -r d; echo x > d"):
            with self.subTest(later):
                self.put("d/old", "1\n")
                self.put("d/s/t/deep", "1\n")
                self.inside("echo n > d/n; echo n > d/s/n")
                self.inside(later)
                self.assertIn("\n-1\n", self.layer("diff", "x"))
                names = self.layer("diff", "x", "--name-only").split("\n")
                self.assertTrue({"d/old", "d/s", "d/s/t", "d/s/t/deep"} <= set(names), names)
                wanted = self.inside("ls -R d 2>&1 || true")["stdout"]
                self.layer("commit", "x")
                self.assertEqual(self.inside("ls -R d 2>&1 || true")["stdout"], wanted)
                self.assertFalse(os.path.exists(self.work + "/d/old"))
                self.layer("undo", "x")
                self.assertEqual(self.read("d/s/t/deep"), "1\n")
                self.layer("discard", "x")

    def test_what_is_special_or_protected_is_refused_with_the_list(self):
        self.put(".git/hooks/pre-commit", "old\n", 0o755)
        self.put("secret", "s\n")
        self.inside("mkfifo pipe; echo evil > .git/hooks/pre-commit; echo fine > fine; "
                    "touch su; chmod 755 su; mkdir st; chmod 1777 st")
        # Inside the filter refuses it.
        for directory, _, files in os.walk(self.state):
            if "su" in files:
                os.chmod(os.path.join(directory, "su"), 0o4755)
        before = tree(self.work)
        answer = self.refused("path_refused", "commit", "x")
        self.assertEqual({change["path"][len(self.work) + 1:]: change["kind"]
                          for change in answer["changes"]},
                         {"pipe": "special", ".git/hooks/pre-commit": "protected"})
        self.assertEqual(tree(self.work), before)
        self.layer("commit", "x", "fine", "su", "st")
        self.assertEqual(os.stat(os.path.join(self.work, "su")).st_mode & 0o7777, 0o755)
        self.assertEqual(os.stat(os.path.join(self.work, "st")).st_mode & 0o7777, 0o777)
        self.refused("path_refused", "commit", "x", "pipe")

    def test_a_hidden_path_stays(self):
        self.put("secret", "s\n")
        self.inside("rm secret; echo other > secret")
        profile = self.profile({"filesystem": {"+roots": [
            {"path": "${workspace}/secret", "access": "none"}]}})
        self.refused("path_refused", "commit", "x", "--profile", profile)
        self.assertEqual(self.read("secret"), "s\n")

    def test_a_root_of_an_earlier_run_is_committed_only_where_it_may_be_written_now(self):
        self.put("sub/f", "real\n")
        self.put("sub/deep/f", "real\n")
        for name, root in (("x", "sub"), ("y", "sub/deep")):
            self.sh(f"echo changed > {root}/f", "--layer", name, "--rw", root, env=self.environment)
            for access in ("none", "ro"):
                profile = self.profile({"filesystem": {"+roots": [
                    {"path": "${workspace}/sub", "access": access}]}})
                answer = self.refused("path_refused", "commit", name, "--profile", profile)
                said = {"none": "hidden", "ro": "read-only"}[access]
                self.assertEqual([c["kind"] for c in answer["changes"]], [said])
        self.sh("true", "--layer", "y", "--hide", "sub", env=self.environment)
        self.refused("path_refused", "commit", "y")
        self.assertEqual((self.read("sub/f"), self.read("sub/deep/f")), ("real\n", "real\n"))
        self.layer("commit", "x")
        self.assertEqual(self.read("sub/f"), "changed\n")

    def test_what_was_hidden_before_it_was_there_stays(self):
        profile = self.profile({"filesystem": {"+roots": [
            {"path": "${workspace}/sek", "access": "none", "optional": True},
            {"path": "${workspace}/rof", "access": "ro", "optional": True}]}})
        self.inside("mkdir sek; echo mine > sek/x; echo mine > rof", "x", "--profile", profile)
        self.put("sek/x", "HOSTSECRET\n")
        self.put("rof", "HOST\n")
        self.assertNotIn("HOSTSECRET", self.layer("diff", "x"))
        for flags in ((), ("--theirs", "sek", "--theirs", "rof")):
            answer = self.refused("path_refused", "commit", "x", *flags)
        self.assertEqual((self.read("sek/x"), self.read("rof")), ("HOSTSECRET\n", "HOST\n"))

    def test_a_symlink_swapped_in_is_not_followed(self):
        self.put("d/a", "1\n")
        outside = os.path.join(self.base, "outside")
        os.mkdir(outside)
        self.inside("echo 2 > d/a; echo b > d/b")
        os.rename(os.path.join(self.work, "d"), os.path.join(self.work, "d2"))
        os.symlink(outside, os.path.join(self.work, "d"))
        self.refused("layer_conflict", "commit", "x")
        self.assertEqual(os.listdir(outside), [])

    def test_undo_only_while_nothing_else_changed_them(self):
        self.put("a", "1\n")
        self.inside("echo 2 > a; echo b > b")
        self.layer("commit", "x")
        self.put("b", "host\n")
        self.refused("layer_conflict", "undo", "x")
        self.put("b", "b\n")
        self.layer("undo", "x")
        self.assertEqual(tree(self.work), {b"a": ("file", 0o644, b"1\n")})
        self.assertEqual(self.inside("cat a b")["stdout"], "2\nb\n")
        self.refused("layer_not_found", "undo", "x")

    def test_a_directory_whose_entries_were_committed_by_name_stays_removed(self):
        self.put("d/a", "1\n")
        self.put("d/b", "1\n")
        self.put("e/a", "1\n")
        self.put("e/b", "1\n")
        self.inside("rm -r d e")
        self.layer("commit", "x", "d/a", "d/b")
        self.assertEqual(self.inside("ls")["stdout"], "")
        self.assertEqual(os.listdir(self.work + "/d"), [])
        self.layer("discard", "x", "e/a")  # and comes back for what is real in it
        self.assertEqual(self.inside("ls e")["stdout"], "a\n")
        self.layer("commit", "x")
        self.assertEqual(sorted(tree(self.work)), [b"e", b"e/a"])

    def test_an_undone_directory_has_the_layers_mode_again(self):
        self.put("d/a", "1\n")
        self.inside("chmod 775 d; rm d/a; mkdir -p n/m; echo 1 > n/m/f; chmod 711 n/m; chmod 500 n")
        shown = self.inside("stat -c %n:%a d n n/m")["stdout"]
        listed = self.layer("diff", "x", "--json")
        self.layer("commit", "x")
        self.layer("undo", "x")
        self.assertEqual(self.inside("stat -c %n:%a d n n/m")["stdout"], shown)
        self.assertEqual(self.layer("diff", "x", "--json"), listed)

    def test_a_directory_that_was_committed_is_changed_no_more(self):
        os.makedirs(self.work + "/d/s")
        os.makedirs(self.work + "/e/s")
        self.inside("chmod 700 d e; echo n > d/s/n; rm d/s/n; mkdir m; echo n > e/s/n; echo n > m/n")
        self.layer("commit", "x", "d", "m")
        names = self.layer("diff", "x", "--name-only")
        self.assertEqual(names, "e\ne/s/n\n")
        self.layer("discard", "x", "e")  # with all that is in it
        os.chmod(self.work + "/d", 0o750)
        self.assertEqual(json.loads(self.layer("diff", "x", "--json"))["changes"], [])
        self.inside("echo n > e/s/n; chmod 700 e; mkdir k; echo > k/a; echo > k/b")
        self.layer("commit", "x", "k/a")
        self.assertEqual(self.layer("diff", "x", "--name-only"), "e\ne/s/n\nk/b\n")

    def test_a_mode_that_changed_since_a_commit_is_not_taken_back(self):
        self.put("a", "1\n")
        self.inside("echo 2 > a; mkdir d; ln -s a l")
        self.layer("commit", "x")
        for name, other, committed in (("a", 0o600, 0o644), ("d", 0o700, 0o755)):
            os.chmod(os.path.join(self.work, name), other)
            answer = self.refused("layer_conflict", "undo", "x")
            self.assertEqual([change["path"] for change in answer["changes"]], [self.work + "/" + name])
            os.chmod(os.path.join(self.work, name), committed)
        self.layer("undo", "x")
        self.assertEqual(tree(self.work), {b"a": ("file", 0o644, b"1\n")})

    def test_other_names_are_warned_of_where_they_are_not_committed(self):
        self.put("a", "1\n")
        os.link(self.work + "/a", self.work + "/b")
        os.link(self.work + "/a", self.work + "/c")
        self.inside("for i in a b; do echo 2 > $i; done; rm c")

        def warned(*names):
            return json.loads(self.layer("commit", "x", *names, "--dry-run", "--json"))["warnings"]

        self.assertEqual(warned(), [])
        self.assertEqual(warned("a", "b"), [f"its other names keep the former content: {self.work}/{name}"
                                            for name in ("a", "b")])
        self.layer("commit", "x")
        self.assertEqual((self.read("a"), self.read("b")), ("2\n", "2\n"))

    def same(self, *names):
        return os.path.samefile(*(os.path.join(self.work, name) for name in names))

    def links(self, kind):
        for name, text in (("f", "f"), ("y", "y"), ("z", "other"), ("d/1", "1"), ("d/2", "22")):
            self.put(name, text + "\n")
        if kind == "copy":
            self.put("one", "1\n")
            os.link(self.work + "/one", self.work + "/two")
        before = tree(self.work)
        answer = self.inside("ln f a; cp -al d dd; ln -f y z; echo n > n; ln n m")
        self.assertEqual(answer["layer"]["kind"], kind)
        told = json.loads(self.layer("commit", "x", "--json"))
        self.assertEqual(told["warnings"], [])
        self.assertEqual([os.path.relpath(change["path"], self.work) for change in told["committed"]],
                         ["a", "dd", "dd/1", "dd/2", "m", "n", "z"])
        pairs = (("f", "a"), ("y", "z"), ("d/1", "dd/1"), ("d/2", "dd/2"), ("n", "m"))
        self.assertEqual([self.same(*pair) for pair in pairs], [True] * len(pairs))
        os.unlink(self.work + "/f")  # no change of the commit's
        self.put("f", "f\n")
        self.layer("undo", "x")
        self.assertEqual(tree(self.work), before)
        told = self.inside("".join(f"[ {one} -ef {other} ] || echo {one} {other};" for one, other in pairs))
        self.assertEqual(told["stdout"], "")
        self.layer("commit", "x")
        self.assertEqual([self.same(*pair) for pair in pairs], [True] * len(pairs))

    def test_another_name_of_a_file_that_is_unchanged_is_one_of_the_real_file(self):
        self.links("overlay")

    def test_another_name_of_a_file_that_is_unchanged_in_a_copy(self):
        self.links("copy")

    def test_a_name_that_a_directory_took_along_in_a_copy(self):
        self.put("d/b", "1\n")
        os.link(self.work + "/d/b", self.work + "/a")
        self.assertEqual(self.inside("mv d e")["layer"]["kind"], "copy")
        self.assertEqual(json.loads(self.layer("commit", "x", "--json"))["warnings"], [])
        self.assertTrue(self.same("a", "e/b"))
        self.layer("undo", "x")
        self.assertTrue(self.same("a", "d/b"))

    def test_no_other_name_is_made_of_what_may_not_be_committed(self):
        self.put("held", "1\n")
        self.inside("ln held a")
        profile = self.profile({"filesystem": {"protect": ["held"]}})
        told = json.loads(self.layer("commit", "x", "a", "--profile", profile, "--json"))
        self.assertEqual(told["warnings"], [f"its other names in the layer are names of it no more: {self.work}/a"])
        self.assertEqual((self.read("a"), self.same("held", "a")), ("1\n", False))

    def test_names_that_are_committed_by_name_without_the_others(self):
        self.inside("echo 1 > a; ln a b; ln a c")
        warning = f"its other names in the layer are names of it no more: {self.work}/a"
        self.assertEqual(json.loads(self.layer("commit", "x", "a", "--json"))["warnings"], [warning])
        self.assertEqual(json.loads(self.layer("commit", "x", "--json"))["warnings"], [])
        self.assertEqual((self.same("a", "b"), self.same("b", "c")), (False, True))

    def test_what_is_given_up_in_a_copy_is_the_real_file_again(self):
        self.put("one", "1\n")
        os.link(self.work + "/one", self.work + "/other")  # no overlay keeps both names together
        for name in ("a", "b", "d/c", "d/e"):
            self.put(name, "1\n")
        answer = self.inside("echo layer > a; echo layer > b; rm -r d; echo n > n")
        self.assertEqual(answer["layer"]["kind"], "copy")
        self.put("a", "host\n")
        self.layer("commit", "x", "a", "d/c", "n", "--ours", "a", "--ours", "d/c", "--ours", "n")
        self.assertEqual(self.inside("cat a b d/c; ls d; ls n || true")["stdout"], "host\nlayer\n1\nc\n")
        self.layer("commit", "x", "b")
        self.assertEqual((self.read("a"), self.read("b"), self.read("d/c")), ("host\n", "layer\n", "1\n"))
        self.assertEqual(self.layer("diff", "x", "--name-only"), "d/e\n")

    def test_sides_that_contradict_or_lie_elsewhere_are_refused(self):
        self.inside("echo 1 > a; echo 1 > b; mkdir d; echo 1 > d/c")
        for words, what in ((("--ours", "a", "--theirs", "a"), "both --ours and --theirs"),
                            (("--ours", "d", "--theirs", "d/c"), "both --ours and --theirs"),
                            (("a", "--ours", "b"), "not among the PATHs"),
                            (("a", "--theirs", "b"), "not among the PATHs")):
            with self.subTest(words):
                self.assertIn(what, self.refused("bad_value", "commit", "x", *words)["error"]["message"])
                self.assertEqual(os.listdir(self.work), [])
        self.layer("commit", "x", "a", "d", "--ours", "d/c", "--theirs", "a")
        self.assertEqual(sorted(tree(self.work)), [b"a", b"d"])

    def test_a_dry_run_changes_nothing(self):
        self.inside("echo 1 > a")
        told = json.loads(self.layer("commit", "x", "--dry-run", "--json"))
        self.assertEqual(told["committed"], [{"path": self.work + "/a", "kind": "created"}])
        self.assertEqual(os.listdir(self.work), [])
        self.layer("commit", "x")
        for words in (("commit", "x", "--undo"), ("undo", "x")):
            told = json.loads(self.layer(*words, "--dry-run", "--json"))
            self.assertEqual((told["dry_run"], len(told["undone"])), (True, 1))
            self.assertEqual(os.listdir(self.work), ["a"])
        self.layer("undo", "x")
        self.assertEqual(os.listdir(self.work), [])

    def test_undo_takes_no_paths(self):
        self.inside("echo 1 > a; echo 2 > b")
        self.layer("commit", "x")
        for words in (("a",), ("--ours", "a"), ("--theirs", "a")):
            self.refused("bad_flag", "commit", "x", "--undo", *words)
        self.assertEqual(sorted(os.listdir(self.work)), ["a", "b"])

    def test_undo_names_what_others_made_in_a_new_directory(self):
        self.inside("mkdir out; echo 1 > out/log")
        self.layer("commit", "x")
        self.put("out/.cache", "host\n")
        before = tree(self.work)
        answer = self.refused("layer_conflict", "undo", "x")
        self.assertEqual([change["path"] for change in answer["changes"]], [self.work + "/out/.cache"])
        self.assertEqual(tree(self.work), before)
        self.layer("list")
        os.unlink(self.work + "/out/.cache")
        self.layer("undo", "x")
        self.assertEqual(os.listdir(self.work), [])

    @unittest.skipIf(harness.is_root(), "root writes in every directory")
    def test_a_real_directory_that_is_closed_is_opened_for_the_commit_and_its_undo(self):
        self.put("e/old", "old\n")
        self.put("gone/in", "in\n")
        self.put("mode/in", "in\n")
        closed = [os.path.join(self.work, name) for name in ("e", "gone", "mode")]
        for path in closed:
            os.chmod(path, 0o555)
        self.addCleanup(lambda: [os.chmod(path, 0o755) for path in closed if os.path.exists(path)])
        before = tree(self.work)
        self.inside("chmod u+w e gone mode; echo n > e/f; rm e/old; chmod u-w e; rm -r gone; rm mode/in; "
                    "echo n > mode/n; chmod 500 mode; echo na > a")
        told = json.loads(self.layer("commit", "x", "--json"))
        names = sorted(change["path"][len(self.work) + 1:] for change in told["committed"])
        self.assertEqual(names, ["a", "e/f", "e/old", "gone", "gone/in", "mode", "mode/in", "mode/n"])
        after = tree(self.work)
        self.assertEqual(after, {b"a": ("file", 0o644, b"na\n"), b"e": ("directory", 0o555),
                                 b"e/f": ("file", 0o644, b"n\n"), b"mode": ("directory", 0o500),
                                 b"mode/n": ("file", 0o644, b"n\n")})
        self.layer("undo", "x")
        self.assertEqual(tree(self.work), before)
        self.layer("commit", "x")
        self.assertEqual(tree(self.work), after)

    @unittest.skipIf(harness.is_root(), "root looks into every directory")
    def test_what_cannot_be_seen_is_a_conflict(self):
        self.put("z/old", "old\n")
        self.inside("echo new > a; echo new > z/old")
        before = tree(self.work)
        os.chmod(self.work + "/z", 0)
        self.addCleanup(os.chmod, self.work + "/z", 0o755)
        self.refused("layer_conflict", "commit", "x", "--theirs", "z/old")
        os.chmod(self.work + "/z", 0o755)
        self.assertEqual(tree(self.work), before)
        self.layer("commit", "x")
        self.assertEqual(self.read("z/old"), "new\n")

    def test_times_and_attributes_are_kept_and_the_overlays_own_never(self):
        self.inside("echo 1 > a; touch -d @1000 a; mkdir d; rm -f nothing")
        self.layer("commit", "x")
        path = os.path.join(self.work, "a")
        self.assertEqual(os.stat(path).st_mtime, 1000)
        self.assertEqual([name for name in os.listxattr(os.path.join(self.work, "d"))
                          if "overlay" in name], [])

    def test_a_directory_that_the_layer_closes(self):
        self.inside("mkdir d; echo 1 > d/a; chmod 500 d; echo 2 > f; chmod 0 f")
        self.layer("commit", "x")
        self.assertEqual(tree(self.work)[b"d"], ("directory", 0o500))
        self.layer("undo", "x")
        self.assertEqual(os.listdir(self.work), [])
