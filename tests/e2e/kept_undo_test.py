# SPDX-License-Identifier: Apache-2.0
"""Kept layers: after an undo the workspace and the layer are what they were before the commit."""

import os
import subprocess

import harness
from kept_harness import Kept, tree

# What there is of each kind before the run, and what the run makes of it.
PREPARE = """
mkdir -p gone/in d was_file_dir empty; echo 1 > gone/a; echo 1 > gone/in/b; echo 1 > changed; echo 1 > removed
ln -s changed link; echo 1 > becomes_link; echo 1 > becomes_directory; echo 1 > was_file_dir/x; echo 1 > d/mode
echo 1 > closed
"""
CHANGE = """
rm -r gone; echo 2 > changed; rm removed; ln -sfn d link; rm becomes_link; ln -s changed becomes_link
rm becomes_directory; mkdir -p becomes_directory/deep; echo 2 > becomes_directory/deep/f
rm -r was_file_dir; echo 2 > was_file_dir; chmod 755 d/mode; chmod 700 d; mkdir -p new/deep; echo 2 > new/deep/f
ln new/deep/f new/other; mkfifo new/pipe; rmdir empty; echo 2 > closed; chmod 400 closed
touch -d @1000 changed
"""
SHOWN = r"""find . ! -name . -printf '%p %y %m %l\n' | grep -v ' d ' | sort; find . -type d -printf '%p %m\n' | sort
find . -type f -exec sha256sum {} + | sort -k 2; stat -c %Y changed; test ! new/deep/f -ef new/other || echo linked"""


class Undone(Kept):
    def shell(self, script):
        subprocess.run(["sh", "-ec", script], cwd=self.work, check=True)

    def begin(self, kind, prepare, link="echo 1 > name; ln name other_name"):
        self.raw("layer", "discard", "x")
        self.shell("chmod -R u+rwx .; rm -rf ./*\n" + prepare)
        if kind == "copy":
            self.shell(link)  # no overlay keeps both names together

    def changed(self, kind):
        self.begin(kind, PREPARE)
        self.assertEqual(self.inside(CHANGE)["layer"]["kind"], kind)

    def seen(self):
        return tree(self.work), self.layer("diff", "x", "--json"), self.inside(SHOWN)["stdout"]

    def test_what_ours_gave_up_is_in_the_layer_again(self):
        for kind in ("overlay", "copy"):
            for words in ((".",), ("gone", "new/pipe", "changed", "becomes_directory", "link"),
                          ("new", "was_file_dir", "d", "removed", "becomes_link", "closed")):
                with self.subTest(kind=kind, words=words):
                    self.changed(kind)
                    before = self.seen()
                    sides = [word for path in words for word in ("--ours", path)]
                    self.layer("commit", "x", *sides)
                    self.assertNotEqual(self.seen(), before)
                    self.layer("undo", "x")
                    self.assertEqual(self.seen(), before)

    def test_what_was_made_unreadable_is_taken_back(self):
        for kind in ("overlay", "copy"):
            with self.subTest(kind=kind):
                self.begin(kind, "echo 1 > a; echo 1 > b; echo 1 > c; mkdir d; echo 1 > d/f", "ln a other")
                before = tree(self.work)
                self.inside("echo 2 > a; chmod 200 a; chmod 0 b; echo 2 > c; chmod 0 c; echo 2 > d/f; mkdir -p e/e;"
                            "echo 2 > e/e/f; chmod 0 d/f d e/e/f e/e e")
                self.layer("commit", "x")
                self.assertEqual([os.stat(f"{self.work}/{name}").st_mode & 0o777 for name in "abcde"], [0o200] + [0] * 4)
                os.chmod(self.work + "/c", 0o200)
                self.put("c", "3\n", 0)
                answer = self.refused("layer_conflict", "undo", "x")
                self.assertEqual([one["path"] for one in answer["changes"]], [self.work + "/c"])
                self.assertEqual([os.stat(f"{self.work}/{name}").st_mode & 0o777 for name in "abcde"], [0o200] + [0] * 4)
                os.chmod(self.work + "/c", 0o200)
                self.put("c", "2\n", 0)
                self.layer("undo", "x")
                self.assertEqual(tree(self.work), before)
                self.layer("commit", "x")
                self.layer("undo", "x")
                self.assertEqual(tree(self.work), before)

    def test_what_is_special_comes_back(self):
        for kind in ("overlay", "copy"):
            with self.subTest(kind=kind):
                self.begin(kind, "mkfifo -m 640 a b; mkdir d; mkfifo d/c; echo 1 > f", "ln f g")
                before = tree(self.work), os.lstat(self.work + "/a").st_ino
                self.inside("rm a; echo 1 > a; rm b; rm -r d")
                self.layer("commit", "x")
                self.assertEqual(self.read("a"), "1\n")
                self.assertNotIn("b", os.listdir(self.work))
                self.layer("undo", "x")
                self.assertEqual((tree(self.work), os.lstat(self.work + "/a").st_ino), before)

    def test_a_large_file_is_committed_and_taken_back_and_committed_again(self):
        for kind in ("overlay", "copy"):
            with self.subTest(kind=kind):
                self.begin(kind, "truncate -s 200M big; printf 1 >> big; touch -d @1000 big")
                # Of the same size and time as before: it is another file all the same.
                change = ("printf 2 | dd of=big bs=1 seek=200M conv=notrunc status=none;"
                          "touch -d @1000 big; truncate -s 150M big2; tail -c 1 big")
                answer = self.inside(change)
                self.assertEqual((answer["layer"]["kind"], answer["stdout"]), (kind, "2"), answer)
                self.assertIn(" big2", self.layer("diff", "x", "--stat"))
                for _ in range(2):
                    self.layer("commit", "x")
                    self.assertEqual(self.layer("diff", "x", "--stat").count("big"), 0)
                    self.shell('test "$(tail -c 1 big)" = 2; test -e big2')
                    self.layer("undo", "x")
                    self.shell('test "$(tail -c 1 big)" = 1; test ! -e big2')
                self.layer("commit", "x")
                self.inside("printf 3 | dd of=big bs=1 seek=200M conv=notrunc status=none")
                self.layer("commit", "x")
                self.shell('test "$(tail -c 1 big)" = 3; touch -d @2000 big')
                self.refused("layer_conflict", "undo", "x")

    def test_what_was_written_since_stays_above_what_comes_back(self):
        for kind in ("overlay", "copy"):
            with self.subTest(kind=kind):
                self.changed(kind)
                self.layer("commit", "x", *(f"--ours={name}" for name in ("changed", "gone", "new", "removed")))
                self.layer("checkpoint", "x", "since")
                self.inside("echo since > changed; echo since > gone/a; mkdir new; echo since > new/since")
                self.layer("undo", "x")
                told = self.inside("cat changed gone/a new/since new/deep/f; ls new; ls removed gone/in || true")
                self.assertEqual(told["stdout"], "since\nsince\nsince\n2\ndeep\nother\npipe\nsince\n")
                self.layer("rollback", "x", "since")  # it has shown the commit, and shows what that made real
                self.assertEqual(self.inside("cat changed; ls gone || true")["stdout"], "2\n")


class Branched(Kept):
    """Branches that were made between a commit and its undo."""

    def committed(self, kind):
        self.put("a", "1\n")
        self.put("b", "1\n")
        if kind == "copy":
            os.link(self.work + "/b", self.work + "/c")  # no overlay keeps both together
        self.assertEqual(self.inside("echo 2 > a; echo 2 > n; echo 2 > b")["layer"]["kind"], kind)
        self.layer("commit", "x", "--ours", "b")
        self.layer("branch", "x", "y")
        self.layer("branch", "y", "z")

    def test_they_go_on_showing_what_they_showed(self):
        for kind in ("overlay", "copy"):
            with self.subTest(kind=kind):
                self.raw("layer", "discard", "x")
                self.raw("layer", "discard", "y")
                self.raw("layer", "discard", "z")
                self.committed(kind)
                self.inside("echo 3 > n", "z")
                self.layer("checkpoint", "y", "since")
                self.inside("echo y > y", "y")
                self.layer("undo", "x")
                self.assertEqual((self.read("a"), os.path.exists(self.work + "/n")), ("1\n", False))
                self.assertEqual(self.inside("cat a n y", "y")["stdout"], "2\n2\ny\n")
                self.assertEqual(self.inside("cat a n", "z")["stdout"], "2\n3\n")
                self.assertEqual(self.inside("cat a n b", "x")["stdout"], "2\n2\n2\n")
                self.layer("rollback", "y", "since")
                self.assertEqual(self.inside("cat a n; ls y || true", "y")["stdout"], "2\n2\n")
                self.assertTrue({"a", "n"} <= set(self.layer("diff", "y", "--name-only").split()))
                self.layer("commit", "z", "a", "n")
                self.assertEqual((self.read("a"), self.read("n")), ("2\n", "3\n"))
                self.layer("undo", "z")
                self.layer("discard", "x")  # the others live on
                self.assertEqual(self.inside("cat a n", "y")["stdout"], "2\n2\n")

    def test_one_that_is_in_use_keeps_the_commit(self):
        self.committed("overlay")
        run = subprocess.Popen(
            [harness.SBX_RUN, "--layer", "y", "--stdin", "-", "-c", "echo > begun; read line"],
            cwd=self.work, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self.addCleanup(self.end, run)
        self.assertTrue(harness.until(lambda: any("begun" in files for _, _, files in os.walk(self.state))))
        answer = self.refused("layer_in_use", "undo", "x")
        self.assertIn("'y', branched off since the commit", answer["error"]["message"])
        self.assertEqual(self.read("a"), "2\n")
        run.communicate(b"\n", timeout=harness.BOUND)
        self.layer("undo", "x")
        self.assertEqual(self.inside("cat a", "y")["stdout"], "2\n")
