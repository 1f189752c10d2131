# SPDX-License-Identifier: Apache-2.0
"""Kept layers: real files that others change while they are committed, and whose files they are after a commit and its
undo: inode, names, group, access lists."""

import glob
import json
import os
import re
import shutil
import struct
import subprocess
import time
import unittest

import harness
from kept_harness import Kept, tree

ACCESS = "system.posix_acl_access"


def access_list(group, named, mask, user=1):
    """Of the owner (6), that user, the group, the mask and others (0)."""
    nobody = 0xffffffff
    entries = ((1, 6, nobody), (2, named, user), (4, group, nobody), (16, mask, nobody), (32, 0, nobody))
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


class Traced(Kept):
    def traced(self, inject, *words, path=None):
        """sbx-layer, with some of its calls, or those on a path, slowed down or failing."""
        if not shutil.which("strace"):
            self.skipTest("strace is not installed")
        return subprocess.Popen(
            ["strace", "-qq", "-o", "/dev/null", *(("-P", path) if path else ()), "--inject=" + inject,
             os.path.join(os.path.dirname(harness.SBX_RUN), "sbx-layer"), *words, "--workspace", self.work],
            env=self.environment, cwd=self.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)

    def ended(self, process):
        out, err = process.communicate(timeout=harness.BOUND)
        if b"ptrace" in err:
            self.skipTest("strace cannot trace here")
        return process.returncode, err.decode()


class Others(Traced):
    @unittest.skipUnless(harness.is_root(), "files of other users are made by root alone")
    def test_what_is_another_users_is_a_copy_for_root(self):
        """An overlay would show it as nobody's, whom root without capabilities is not."""
        self.put("d/a", "a\n")
        for path in ("", "/d", "/d/a"):
            os.chown(self.work + path, 4711, 4711)
        answer = self.inside("echo b >> d/a; chmod 600 d/a; touch d/n")
        self.assertEqual(answer["layer"], {"name": "x", "kind": "copy"}, answer)
        self.assertIn("another user's", " ".join(answer["sandbox"]["warnings"]))
        self.layer("commit", "x")
        self.assertEqual((self.read("d/a"), sorted(os.listdir(self.work + "/d"))), ("a\nb\n", ["a", "n"]))

    def test_a_directory_that_becomes_a_symlink_leads_no_further_name_outside(self):
        outside = os.path.join(self.base, "outside")
        os.mkdir(outside)
        with open(outside + "/x", "w") as file:
            file.write("secret\n")
        os.mkdir(self.work + "/a")
        self.inside("echo plain > a/x; ln a/x b")
        process = self.traced("linkat:delay_enter=600000", "commit", "x")
        if harness.until(lambda: os.path.exists(self.work + "/a/x") or process.poll() is not None):
            os.rename(self.work + "/a", self.base + "/was_a")
            os.symlink(outside, self.work + "/a")
        self.ended(process)
        self.assertEqual(os.stat(outside + "/x").st_nlink, 1)
        if os.path.exists(self.work + "/b"):
            self.assertEqual(self.read("b"), "plain\n")

    def test_a_file_that_goes_away_while_a_patch_is_made_is_as_if_it_were_not_there(self):
        self.inside("echo 1 > gone; echo 2 > stays")
        kept, = glob.glob(self.state + "/**/upper/gone", recursive=True)
        process = self.traced("openat:error=ENOENT", "diff", "x", path=kept)
        out, err = process.communicate(timeout=harness.BOUND)
        if b"ptrace" in err:
            self.skipTest("strace cannot trace here")
        self.assertEqual((process.returncode, re.findall(b"(?m)^diff.*", out), err),
                         (0, [b"diff --git a/stays b/stays"], b""))

    def replaced(self, inject, *words):
        """What `a` is, and what was said, where somebody replaces it while the call goes on."""
        process = self.traced(inject, *words)
        time.sleep(0.6)
        self.put("fresh", "host\n")
        os.rename(self.work + "/fresh", self.work + "/a")
        code, told = self.ended(process)
        self.assertEqual((code, sorted(os.listdir(self.work))), (125, ["a"]), told)
        self.assertIn("changed", told)
        self.assertEqual(self.read("a"), "host\n")

    def test_a_file_replaced_while_its_successor_is_written_stays(self):
        self.put("a", "1\n")
        self.inside("echo layer > a")
        self.replaced("utimensat:delay_enter=1500000", "commit", "x")

    def test_a_file_replaced_while_it_is_removed_stays(self):
        self.put("a", "1\n")
        self.inside("rm a")
        self.replaced("unlinkat,renameat2:delay_enter=1500000", "commit", "x")

    def test_a_file_replaced_during_an_undo_stays(self):
        self.put("a", "1\n")
        self.inside("echo layer > a")
        self.layer("commit", "x")
        self.replaced("utimensat,linkat:delay_enter=1500000", "undo", "x")


class Choices(Kept):
    def begin_anew(self, copy):
        """An empty workspace without a layer; a new one is a copy, or none."""
        if json.loads(self.layer("list")):
            self.layer("discard", "x")
        shutil.rmtree(self.work)
        os.mkdir(self.work)
        if copy:
            os.link(self.put("one", ""), self.work + "/two")

    def test_each_path_of_a_conflict_in_a_removed_directory_can_be_chosen(self):
        cases = ((("--ours", "d/a"), {b"d", b"d/a"}), (("--ours", "d/n"), {b"d", b"d/n"}),
                 (("--ours", "d/s/n"), {b"d", b"d/s", b"d/s/n"}), (("--theirs", "d"), set()),
                 (("--theirs", "d/a", "--theirs", "d/n", "--theirs", "d/s"), set()))
        for copy in (False, True):
            for goes in ("rm -r d", "rm -r d; echo 1 > d"):
                for words, stays in cases:
                    with self.subTest(words, goes=goes, copy=copy):
                        self.begin_anew(copy)
                        self.put("d/a", "1\n")
                        self.put("d/b", "1\n")
                        self.inside(goes)
                        self.put("d/a", "host\n")
                        self.put("d/n", "host\n")
                        self.put("d/s/n", "host\n")
                        before = tree(self.work)
                        answer = self.refused("layer_conflict", "commit", "x")
                        listed = [change["path"][len(self.work) + 1:] for change in answer["changes"]]
                        self.assertEqual(sorted(listed), ["d/a", "d/n", "d/s", "d/s/n"])
                        # All others are the layer's.
                        rest = [name for name in listed if os.fsencode(name) not in stays]
                        more = [word for name in rest for word in ("--theirs", name) if words[0] == "--ours"]
                        self.layer("commit", "x", *words, *more)
                        goes_to = {b"d"} if goes != "rm -r d" and not stays else set()
                        now = {name for name in tree(self.work) if name.startswith(b"d")}
                        self.assertEqual(now, stays | goes_to)
                        seen = self.inside("test ! -e d || find d")["stdout"].split()
                        self.assertEqual({os.fsencode(name) for name in seen}, now)
                        self.layer("undo", "x")
                        self.assertEqual(tree(self.work), before)
                        self.assertEqual(self.inside("find d -type d || true")["stdout"], "")
                        if words[0] == "--ours":
                            self.refused("layer_conflict", "commit", "x")

    def test_others_files_in_a_removed_directory_can_be_named_alone(self):
        self.put("d/a", "1\n")
        self.inside("rm -r d")
        self.put("d/n", "host\n")
        self.refused("layer_conflict", "commit", "x", "d/n")
        self.layer("commit", "x", "d/n", "--ours", "d/n")
        self.assertEqual(self.inside("ls d")["stdout"], "n\n")
        self.layer("undo", "x")
        self.layer("commit", "x", "d/n", "--theirs", "d/n")
        self.assertEqual(os.listdir(self.work + "/d"), ["a"])
        self.layer("commit", "x")
        self.assertEqual(os.listdir(self.work + "/d"), [])

    def test_a_mode_that_the_layer_has_not_changed_stays(self):
        for copy in (False, True):
            with self.subTest(copy=copy):
                self.begin_anew(copy)
                self.put("a", "1\n")
                self.put("b", "1\n")
                self.inside("echo 2 >> a; echo 2 >> b; chmod 600 b")
                os.chmod(self.work + "/a", 0o755)
                os.chmod(self.work + "/b", 0o755)
                self.assertEqual(self.layer("diff", "x", "a").count("mode 100644"), 0)
                modes = lambda: [os.stat(os.path.join(self.work, name)).st_mode & 0o777 for name in "ab"]
                for again in range(2):
                    self.layer("commit", "x")
                    self.assertEqual((self.read("a"), modes()), ("1\n2\n", [0o755, 0o600]))
                    self.layer("undo", "x")
                    self.assertEqual((self.read("a"), modes()), ("1\n", [0o755, 0o755]))
                self.layer("commit", "x")
                self.inside("echo 3 >> a")
                self.layer("commit", "x")
                self.assertEqual((self.read("a"), modes()), ("1\n2\n3\n", [0o755, 0o600]))

    def test_theirs_makes_the_directory_again_whatever_has_become_of_it(self):
        outside = os.path.join(self.base, "outside")
        os.mkdir(outside)
        for copy in (False, True):
            for becomes in (lambda path: None, lambda path: os.symlink(outside, path),
                            lambda path: self.put("s/d", "theirs\n")):
                self.begin_anew(copy)
                self.put("s/d/f", "1\n")
                self.put("s/d/other", "1\n")
                os.chmod(self.work + "/s/d", 0o750)
                self.inside("echo 2 > s/d/f; echo a > a")
                shutil.rmtree(self.work + "/s/d")
                becomes(self.work + "/s/d")
                before = tree(self.work)
                self.refused("layer_conflict", "commit", "x")
                self.layer("commit", "x", "s/d/f", "--theirs", "s/d/f")
                self.assertEqual(tree(self.work), {**before, b"s/d": ("directory", 0o750),
                                                   b"s/d/f": ("file", 0o644, b"2\n")})
                self.assertEqual((os.listdir(outside), self.layer("diff", "x", "--name-only")), ([], "a\n"))
                self.layer("undo", "x")
                self.assertEqual(tree(self.work), before)
                self.layer("commit", "x", "--theirs", ".")
                self.assertEqual((self.read("s/d/f"), self.read("a"), os.listdir(outside)), ("2\n", "a\n", []))

    def test_a_root_that_is_missing_keeps_nothing_else_from_being_done(self):
        for copy in (False, True):
            with self.subTest(copy=copy):
                self.begin_anew(copy)
                more = os.path.join(self.base, f"more-{copy}")
                os.mkdir(more)
                self.inside(f"echo 1 > f; echo 2 > g; chmod 700 {more}; echo y > {more}/h", "x", "--rw", more)
                shutil.rmtree(more)
                answer = self.refused("layer_conflict", "commit", "x")
                self.assertEqual([change["path"] for change in answer["changes"]], [more + "/h"])
                self.assertNotIn("--theirs", answer["error"]["hint"])
                self.layer("commit", "x", "f")
                self.assertEqual(self.read("f"), "1\n")
                self.layer("undo", "x")
                self.layer("discard", "x", "f")
                self.layer("checkpoint", "x")
                self.layer("commit", "x", "g")
                self.assertFalse(os.path.exists(self.work + "/f"))
                os.mkdir(more)
                self.assertEqual(self.inside(f"cat {more}/h; stat -c %a {more}", "x", "--rw", more)["stdout"],
                                 "y\n700\n")
                self.layer("commit", "x")
                self.assertEqual(os.listdir(more), ["h"])

    def test_a_path_is_resolved_as_far_as_the_root_and_no_further(self):
        os.mkdir(self.work + "/other")
        os.symlink("other", self.work + "/lnk")
        way = os.path.join(self.base, "way")
        os.symlink(self.work, way)
        into = os.path.join(self.base, "into")
        os.symlink(self.work + "/other", into)
        self.inside("rm lnk; mkdir lnk; for n in 1 2 3; do echo x > lnk/$n; done; echo y > other/y; echo z > other/z")
        for words in (("lnk/1",), (way + "/lnk/2",), ("./other/../lnk/3",), (into + "/y",)):
            self.layer("commit", "x", *words, cwd=way)
        self.layer("commit", "x", "--workspace", self.work, "z", cwd=into)
        self.assertEqual(sorted(tree(self.work)), [b"lnk", b"lnk/1", b"lnk/2", b"lnk/3", b"other", b"other/y",
                                                   b"other/z"])
        self.assertFalse(os.path.islink(self.work + "/lnk"))

    def test_the_mode_of_the_root_itself_is_not_dropped_in_silence(self):
        os.chmod(self.work, 0o755)
        self.inside("chmod 700 .")
        for verb in ("diff", "commit"):
            told = self.raw("layer", verb, "x").stderr.decode()
            self.assertIn(f"the mode of the root itself, 700 in the layer, is not committed: {self.work}\n", told)


class Places(Kept):
    @unittest.skipUnless(shutil.which("unshare"), "unshare is not installed")
    def test_one_that_is_kept_where_a_view_is_built_first(self):
        script = ('mount --bind "$0" /mnt && export XDG_STATE_HOME=/mnt/state && cd "$1" &&'
                  '"$2" exec --layer x -c "echo hi > made; cat made" && ls -A .')
        place = os.path.join(self.base, "place")
        os.mkdir(place)
        done = subprocess.run(
            [*harness.OWN_MOUNTS, "sh", "-c", script, place, self.work,
             harness.SBX_RUN], capture_output=True, timeout=harness.BOUND, check=False)
        if b"mount:" in done.stderr:
            self.skipTest(done.stderr.decode())
        self.assertEqual((done.returncode, done.stdout), (0, b"hi\n"), done)
        self.assertTrue(os.listdir(place + "/state/sbx/layers"))


class Owned(Traced):
    def test_an_undo_gives_the_very_file_back(self):
        self.put("a", "1\n")
        os.link(self.work + "/a", self.work + "/b")
        os.link(self.work + "/a", self.base + "/outside")
        self.put("c", "1\n", 0o640)
        if harness.is_root():
            os.chown(self.work + "/c", 4321, 4322)
        before = {name: os.stat(os.path.join(self.work, name)) for name in "abc"}
        self.inside("echo 2 > a; rm b; echo 2 > c")
        self.layer("commit", "x")
        told = json.loads(self.layer("undo", "x", "--json"))
        self.assertEqual(told["warnings"], [])
        for name, was in before.items():
            now = os.stat(os.path.join(self.work, name))
            self.assertEqual([getattr(now, key) for key in ("st_ino", "st_uid", "st_gid", "st_nlink", "st_mode")],
                             [getattr(was, key) for key in ("st_ino", "st_uid", "st_gid", "st_nlink", "st_mode")])
        self.assertEqual(self.inside("cat a c; ls")["stdout"], "2\n2\na\nc\n")

    def linked_symlink(self):
        os.symlink("t", self.work + "/l")
        os.link(self.work + "/l", self.work + "/other", follow_symlinks=False)
        if harness.is_root():
            os.chown(self.work + "/l", 4321, 4322, follow_symlinks=False)
        self.inside("rm l; echo x > l")

    def test_nor_is_a_symlink_another_one_after_an_undo(self):
        self.linked_symlink()
        before = os.lstat(self.work + "/other")
        for verb in ("commit", "undo"):
            self.assertEqual(json.loads(self.layer(verb, "x", "--json"))["warnings"], [])
        now = os.lstat(self.work + "/l")
        self.assertEqual([getattr(now, key) for key in ("st_ino", "st_uid", "st_gid", "st_nlink")],
                         [getattr(before, key) for key in ("st_ino", "st_uid", "st_gid", "st_nlink")])

    def test_a_symlink_that_an_undo_makes_anew_is_named(self):
        self.linked_symlink()
        status, told = self.ended(self.traced("linkat:error=EPERM", "commit", "x"))
        self.assertEqual(status, 0, told)
        self.assertIn(f"warning: an undo makes it anew, without its owner, group or other names: {self.work}/l\n", told)

    def test_another_name_of_a_file_that_gets_another_mode_is_one_of_the_real_file(self):
        self.put("e", "x\n")
        was = os.stat(self.work + "/e")
        self.inside("ln e a; ln e z; chmod 444 e")
        self.assertEqual(json.loads(self.layer("commit", "x", "--json"))["warnings"], [])
        for name in "aez":
            now = os.stat(os.path.join(self.work, name))
            self.assertEqual((now.st_ino, now.st_nlink, now.st_mode & 0o777), (was.st_ino, 3, 0o444))
        self.layer("undo", "x")
        now = os.stat(self.work + "/e")
        self.assertEqual((os.listdir(self.work), now.st_ino, now.st_mode), (["e"], was.st_ino, was.st_mode))
        self.assertEqual(self.inside("stat -c '%h %a' a e z")["stdout"], "3 444\n" * 3)

    def test_files_that_only_get_another_mode_stay_two_and_that_is_said(self):
        for name in "ab":
            self.put(name, "x\n")
        self.inside("ln -f a b; chmod 444 a")
        self.assertEqual(json.loads(self.layer("commit", "x", "--json"))["warnings"],
                         [f"its other names in the layer are names of it no more: {self.work}/a"])

    def test_one_that_was_written_to_under_another_name_is_made_anew_and_said(self):
        self.put("a", "1\n")
        os.link(self.work + "/a", self.base + "/outside")
        self.inside("echo 2 > a")
        self.layer("commit", "x")
        with open(self.base + "/outside", "w") as file:
            file.write("others\n")
        told = json.loads(self.layer("undo", "x", "--json"))
        self.assertEqual(told["warnings"],
                         [f"made anew, without its former owner, group or other names: {self.work}/a"])

    def test_a_commit_of_a_mode_or_one_that_fails_leaves_no_further_name(self):
        self.put("a", "1\n")
        self.put("b", "1\n")
        self.inside("chmod 600 a")
        self.layer("commit", "x")
        self.assertEqual(os.stat(self.work + "/a").st_nlink, 1)
        self.inside("echo 2 > a; echo 2 > b")
        process = self.traced("renameat2:error=EIO:when=2", "commit", "x")
        self.ended(process)
        self.assertEqual((self.read("a"), self.read("b")), ("1\n", "1\n"))
        self.assertEqual([os.stat(os.path.join(self.work, name)).st_nlink for name in "ab"], [1, 1])
        self.assertEqual(json.loads(self.layer("commit", "x", "--dry-run", "--json"))["warnings"], [])
        self.layer("discard", "x")
        self.assertEqual(os.stat(self.work + "/a").st_mode & 0o777, 0o600)

    def test_what_is_kept_for_an_undo_is_no_other_name(self):
        self.put("a", "1\n")
        os.link(self.work + "/a", self.work + "/b")
        self.inside("echo 2 > a")
        self.assertEqual(len(json.loads(self.layer("commit", "x", "a", "--json"))["warnings"]), 1)
        self.inside("echo 3 > b")
        self.assertEqual(json.loads(self.layer("commit", "x", "--json"))["warnings"], [])


class AccessLists(Kept):
    def access(self, name):
        path = os.path.join(self.work, name)
        held = os.getxattr(path, ACCESS) if ACCESS in os.listxattr(path) else None
        return os.stat(path).st_mode & 0o777, held

    def prepare(self, kind):
        self.raw("layer", "discard", "x")
        shutil.rmtree(self.work)
        os.mkdir(self.work)
        for name in ("f", "g", "plain"):
            self.put(name, "1\n", 0o600)
        os.mkdir(self.work + "/d", 0o700)
        try:
            for name in ("f", "g", "d"):
                os.setxattr(os.path.join(self.work, name), ACCESS, access_list(0, 6, 6))
        except OSError as error:
            self.skipTest(f"no access lists here: {error}")
        if kind == "copy":
            self.put("name", "1\n")
            os.link(self.work + "/name", self.work + "/other_name")

    def test_they_are_committed_and_taken_back(self):
        for kind in ("overlay", "copy"):
            with self.subTest(kind=kind):
                self.prepare(kind)
                before = [self.access(name) for name in ("f", "g", "d", "plain")]
                answer = self.inside("echo 2 > f; chmod 640 g; chmod 750 d")
                self.assertEqual(answer["layer"]["kind"], kind)
                self.layer("commit", "x")
                self.assertEqual(self.read("f"), "2\n")
                self.assertEqual([self.access(name) for name in ("f", "g")],
                                 [(0o660, access_list(0, 6, 6)), (0o640, access_list(0, 6, 4))])
                self.assertIn(struct.pack("<HHI", 4, 0, 0xffffffff), self.access("d")[1])  # the group has nothing
                self.layer("undo", "x")
                self.assertEqual([self.access(name) for name in ("f", "g", "d", "plain")], before)

    def test_one_that_the_layer_gives_or_takes(self):
        self.prepare("overlay")
        self.inside(f"""python3 -c '
import os
os.setxattr("plain", "{ACCESS}", bytes.fromhex("{access_list(0, 6, 6, os.getuid()).hex()}"))
os.removexattr("g", "{ACCESS}"); os.chmod("g", 0o644)'""")
        self.layer("commit", "x")
        mode, held = self.access("plain")
        self.assertEqual(mode, 0o660)
        self.assertIn(struct.pack("<HHI", 4, 0, 0xffffffff), held)  # 0660 is the mask, not the group's
        self.assertEqual(self.access("g"), (0o644, None))
        self.layer("undo", "x")
        self.assertEqual(self.access("plain"), (0o600, None))
        self.assertEqual(self.access("g"), (0o660, access_list(0, 6, 6)))
