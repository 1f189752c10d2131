# SPDX-License-Identifier: Apache-2.0
"""Kept layers: what is no content: modes, times and user attributes, of directories and symlinks too; and what is told
by times."""

import json
import os
import shutil
import subprocess

import harness
from kept_harness import Kept, tree

ATTRIBUTES = """python3 -c '
import os
os.setxattr("file", "user.note", b"layer"); os.setxattr("d", "user.note", b"layer"); os.removexattr("old", "user.old")
os.mkdir("new"); os.setxattr("new", "user.note", b"layer"); open("new/f", "w").write("1\\n"); os.symlink("f", "new/link")
os.utime("new/link", (1000, 1000), follow_symlinks=False); os.utime("new", (2000, 2000))
'"""
SHOWN = """python3 -c '
import os
for path in ("file", "d", "old", "new"):
    print(path, {name: os.getxattr(path, name) for name in sorted(os.listxattr(path)) if "overlay" not in name})
print(os.lstat("new/link").st_mtime, os.lstat("new").st_mtime)
'"""


class Attributes(Kept):
    def kinds(self, changes):
        return {change["path"][len(self.work) + 1:]: change["kind"] for change in changes}

    def attributes(self, kind):
        for name in ("file", "old"):
            self.put(name, "1\n")
        os.mkdir(self.work + "/d")
        self.put("d/in", "1\n")
        try:
            os.setxattr(self.work + "/old", "user.old", b"real")
            os.setxattr(self.work + "/d", "user.old", b"real")
        except OSError as error:
            self.skipTest(f"no user attributes here: {error}")
        if kind == "copy":
            self.put("name", "1\n")
            os.link(self.work + "/name", self.work + "/other_name")

    def real(self):
        return subprocess.run(["sh", "-c", SHOWN], cwd=self.work, capture_output=True, check=False).stdout

    def committed_and_undone(self, kind):
        self.attributes(kind)
        before = tree(self.work), self.real()
        answer = self.inside(ATTRIBUTES)
        self.assertEqual(answer["layer"]["kind"], kind)
        wanted = {"file": "modified", "d": "modified", "old": "modified", "new": "created", "new/f": "created",
                  "new/link": "created"}
        self.assertEqual(self.kinds(answer["changes"]), wanted)
        self.assertEqual(self.kinds(json.loads(self.layer("diff", "x", "--json"))["changes"]), wanted)
        shown = self.inside(SHOWN)["stdout"]
        self.assertIn("d {'user.note': b'layer', 'user.old': b'real'}", shown)
        self.assertIn("1000.0 2000.0", shown)
        told = json.loads(self.layer("commit", "x", "--json"))
        self.assertEqual(self.kinds(told["committed"]), wanted)
        self.assertEqual(self.real().decode(), shown)
        self.assertEqual(self.inside("true")["changes"], [])
        self.layer("undo", "x")
        self.assertEqual((tree(self.work), self.real()), before)
        self.assertEqual(self.inside(SHOWN)["stdout"], shown)
        self.layer("commit", "x")
        self.assertEqual(self.real().decode(), shown)

    def test_attributes_and_times_are_committed_and_taken_back(self):
        self.committed_and_undone("overlay")

    def test_attributes_and_times_in_a_copy(self):
        self.committed_and_undone("copy")

    def test_attributes_of_a_directory_on_the_way_stay(self):
        self.attributes("overlay")
        self.inside("echo 2 > d/in; echo n > d/n")
        self.layer("commit", "x", "d/n")
        self.layer("undo", "x")
        self.layer("checkpoint", "x")
        self.assertEqual(self.layer("diff", "x", "--name-only"), "d/in\nd/n\n")
        self.assertIn("d {'user.old': b'real'}", self.inside(SHOWN.replace(', "new"', "").replace(
            'print(os.lstat', '#'))["stdout"])

    def times_with_modes(self, kind):
        for name in ("f", "mode"):
            os.utime(self.put(name, "1\n"), (3000, 3000))
        if kind == "copy":
            self.put("one", "1\n")
            os.link(self.work + "/one", self.work + "/other")
        self.inside("chmod 600 f mode; touch -d @1000 f")
        def shown():
            return [(oct(os.stat(f"{self.work}/{name}").st_mode & 0o777), os.stat(f"{self.work}/{name}").st_mtime)
                    for name in ("f", "mode")]
        for _ in range(2):
            self.layer("commit", "x")
            self.assertEqual(shown(), [("0o600", 1000), ("0o600", 3000)])
            self.layer("undo", "x")
            self.assertEqual(shown(), [("0o644", 3000), ("0o644", 3000)])
        self.assertEqual(self.inside("stat -c '%a %Y' f")["stdout"], "600 1000\n")

    def test_a_time_goes_along_with_a_mode(self):
        self.times_with_modes("overlay")

    def test_a_time_goes_along_with_a_mode_in_a_copy(self):
        self.times_with_modes("copy")

    def test_what_no_patch_carries_is_named(self):
        for name in ("chmod", "attribute", "fifo/in"):
            self.put(name, "1\n")
        os.makedirs(self.work + "/gone/deep")
        self.inside("chmod 600 chmod; chmod 700 fifo; mkfifo fifo/p; mkdir empty; rmdir gone/deep; "
                    "python3 -c 'import os; os.setxattr(\"attribute\", \"user.x\", b\"1\")'")
        done = self.raw("layer", "diff", "x")
        self.assertEqual((done.stdout, done.stderr),
                         (b"", b"6 changes that no patch carries are left out: --stat names them\n"))
        self.assertEqual(self.layer("diff", "x", "--stat"), """ attribute (mode or attributes)
 chmod (mode or attributes)
 empty/ (empty directory)
 fifo/ (mode or attributes)
 fifo/p (special file)
 gone/deep/ (empty directory, deleted)
""")

    def test_another_attribute_since_is_a_conflict(self):
        self.attributes("overlay")
        self.inside("echo 2 > old; echo 2 > file")
        os.setxattr(self.work + "/old", "user.old", b"host")
        answer = self.refused("layer_conflict", "commit", "x")
        self.assertEqual([change["path"] for change in answer["changes"]], [self.work + "/old"])

    def test_other_names_of_a_changed_file_are_named(self):
        self.put("objects/a", "1\n", 0o444)
        self.put("objects/c", "1\n", 0o444)
        for name in ("a", "c"):
            os.link(f"{self.work}/objects/{name}", f"{self.work}/other_{name}")
        answer = self.inside("chmod u+w objects/a; echo 2 > objects/a; chmod u-w objects/a; cat other_a")
        self.assertEqual((answer["layer"]["kind"], answer["stdout"]), ("overlay", "1\n"))
        warning = f"layer: its other names keep the former content: {self.work}/objects/a"
        self.assertIn(warning, answer["sandbox"]["warnings"])
        self.assertIn(warning + " and 1 more", self.inside("chmod 600 objects/c")["sandbox"]["warnings"])
        self.layer("discard", "x")
        self.assertNotIn("other names", str(self.inside("touch objects/c; rm objects/a")["sandbox"]["warnings"]))

    def test_what_was_only_touched_is_no_change(self):
        for name in ("touched", "same", "chmod", "changed", "d/in"):
            self.put(name, "1\n")
        os.symlink("same", self.work + "/link")
        command = ("touch touched; echo 1 > same; chmod 600 chmod; echo 2 > changed; touch -h link; touch -d @1000 d; "
                   "touch d/in")
        wanted = {"chmod": "modified", "changed": "modified"}
        self.assertEqual(self.kinds(self.inside(command)["changes"]), wanted)
        self.assertEqual(self.kinds(self.sh(command, "--overlay")["changes"]), wanted)
        self.assertEqual(self.layer("diff", "x", "--name-only"), "changed\nchmod\n")
        self.put("name", "1\n")
        os.link(self.work + "/name", self.work + "/other_name")
        answer = self.inside(command, "copied")
        self.assertEqual((answer["layer"]["kind"], self.kinds(answer["changes"])), ("copy", wanted))

    def test_a_directory_that_is_closed_is_changed_with_a_name_and_without(self):
        self.put("closed/in", "1\n")
        for flags in (["--layer", "x"], ["--overlay"]):
            answer = self.sh("chmod 0 closed; echo 1 > new", *flags)
            kinds = {change["path"]: change["kind"] for change in answer["changes"]}
            self.assertEqual((kinds.get(self.work + "/closed"), kinds.get(self.work + "/new")),
                             ("modified", "created"), flags)

    def test_an_attribute_alone_is_a_change_with_a_name_and_without(self):
        for name in ("file", "empty", "d/in"):
            self.put(name, "" if name == "empty" else "1\n")
        code = "import os; [os.setxattr(name, 'user.x', b'1') for name in ('file', 'empty', 'd')]"
        command = f'python3 -c "{code}"'
        wanted = dict.fromkeys(("file", "empty", "d"), "modified")
        self.assertEqual(self.kinds(self.inside(command)["changes"]), wanted)
        answer = self.sh(command, "--overlay")
        if "Operation not supported" in answer["stderr"]:
            self.skipTest("tmpfs has no user attributes before Linux 6.6")
        self.assertEqual(self.kinds(answer["changes"]), wanted)


class Moved(Kept):
    def test_a_directory_with_old_times_in_the_place_of_the_real_one_is_a_conflict(self):
        self.put("d/a", "1\n")
        self.put("d/s/deep", "1\n")
        self.put("e/a", "1\n")
        self.put("e/gone", "1\n")
        for name in ("d", "e"):
            shutil.copytree(f"{self.work}/{name}", f"{self.base}/{name}")
        self.put("../d/a", "host\n")
        self.put("../d/s/deep", "host\n")
        self.put("../e/gone", "host\n")
        self.inside("true")
        run = subprocess.Popen([harness.SBX_RUN, "--layer", "x", "--stdin", "-", "-c",
                                "echo 2 > d/a; echo 2 > d/s/deep; rm -r e; echo > first; read line"],
                               cwd=self.work, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self.addCleanup(self.end, run)
        pool = os.path.join(self.state, "sbx/layers")
        self.assertTrue(harness.until(lambda: any("first" in files for _, _, files in os.walk(pool))))
        for name in ("d", "e"):
            os.rename(f"{self.work}/{name}", f"{self.base}/was_{name}")
            os.rename(f"{self.base}/{name}", f"{self.work}/{name}")
        run.communicate(b"\n", timeout=harness.BOUND)
        answer = self.refused("layer_conflict", "commit", "x")
        self.assertEqual(sorted(change["path"][len(self.work) + 1:] for change in answer["changes"]),
                         ["d/a", "d/s/deep", "e/a", "e/gone"])
