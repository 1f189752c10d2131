# SPDX-License-Identifier: Apache-2.0
"""Kept layers: what a layer changes, as git would write it."""

import concurrent.futures
import json
import os
import random
import re
import shutil
import subprocess
import tempfile
import unittest

import harness
from kept_harness import Kept, tree

PATCH = shutil.which("patch")
PATCHED = []  # what patch(1) took of git's


class Diffs(Kept):
    NAMES = ["plain", "with space", "quote\"s", "tab\there", "new\nline", "ümlaut", "-dash",
             "back\\slash", "a", "b", "c.txt"]

    def content(self, source):
        kind = source.randrange(5)
        if kind == 0:
            return b""
        if kind == 1:
            return source.randbytes(source.randrange(1, 400))
        lines = [b"line %d\n" % source.randrange(40) for _ in range(source.randrange(1, 60))]
        text = b"".join(lines)
        return text[:-1] if kind == 2 else text

    def grow(self, source, top, depth=0):
        for name in source.sample(self.NAMES, source.randrange(1, 5)):
            path = os.path.join(top, name)
            kind = source.randrange(8)
            if kind < 2 and depth < 2:
                os.mkdir(path)
                self.grow(source, path, depth + 1)
            elif kind == 2:
                os.symlink(source.choice(["a", "/nowhere", "../b", "x y"]), path)
            else:
                with open(path, "wb") as file:
                    file.write(self.content(source))
                os.chmod(path, source.choice([0o644, 0o755]))

    # What is done to a tree, by a program that runs inside and, for comparison, outside.
    CHANGE = r"""
import os, random, shutil, sys
def content(source):
    kind = source.randrange(5)
    if kind == 0: return b""
    if kind == 1: return source.randbytes(source.randrange(1, 400))
    text = b"".join(b"line %d\n" % source.randrange(40) for _ in range(source.randrange(1, 60)))
    return text[:-1] if kind == 2 else text
source = random.Random(int(sys.argv[1]))
paths = sorted(os.path.join(d, n) for d, i, f in os.walk(".") for n in i + f)
for path in paths:
    if not os.path.lexists(path): continue
    act = source.randrange(9)
    folder = os.path.isdir(path) and not os.path.islink(path)
    if act == 0:
        shutil.rmtree(path) if folder else os.unlink(path)
    elif act == 1 and not folder:
        os.rename(path, path + " moved")
    elif act == 2 and not folder and not os.path.islink(path):
        os.chmod(path, os.stat(path).st_mode ^ 0o111)
    elif act == 3 and not folder and not os.path.islink(path):
        with open(path, "ab") as file: file.write(content(source))
    elif act == 4:
        shutil.rmtree(path) if folder else os.unlink(path)
        with open(path, "wb") as file: file.write(content(source))
    elif act == 5 and not folder:
        os.unlink(path); os.mkdir(path)
        with open(path + "/in", "wb") as file: file.write(content(source))
    elif act == 6 and not folder:
        os.unlink(path); os.symlink("elsewhere", path)
    elif act == 7 and folder:
        shutil.copytree(path, path + " copy", symlinks=True); os.mkdir(path + "/empty")
"""

    def one(self, seed):
        source = random.Random(seed)
        base = tempfile.mkdtemp(dir=self.base)
        work, wanted, applied, patched = (os.path.join(base, name)
                                          for name in ("work", "wanted", "applied", "patched"))
        os.mkdir(work)
        self.grow(source, work)
        for copy in (wanted, applied, patched):
            shutil.copytree(work, copy, symlinks=True)
        program = os.path.join(base, "change.py")
        with open(program, "w") as file:
            file.write(self.CHANGE)
        before = tree(work)
        python = shutil.which("python3", path="/usr/bin:/bin")
        subprocess.run([python, program, str(seed)], cwd=wanted, check=True,
                       timeout=harness.BOUND)
        wants = tree(wanted)
        answer = self.inside(f"python3 -c \"$(cat)\" {seed}", "x", "--stdin", program, cwd=work)
        self.assertEqual(tree(work), before)
        self.assertEqual({c["path"]: c["kind"] for c in answer["changes"]},
                         self.differences(work, before, wants), seed)
        thrown = self.sh(f"python3 -c \"$(cat)\" {seed}", "--overlay", "--stdin", program, cwd=work)
        self.assertEqual(thrown["changes"], answer["changes"], seed)
        listed = json.loads(self.layer("diff", "x", "--json", cwd=work))["changes"]
        self.assertEqual([{"path": c["path"], "kind": c["kind"]} for c in listed],
                         answer["changes"], seed)
        patch = self.raw("layer", "diff", "x", cwd=work).stdout
        # git has no empty directories.
        files = {k: v for k, v in wants.items() if v[0] != "directory"}
        if patch:
            subprocess.run(["git", "apply", "--whitespace=nowarn", "-"], input=patch, cwd=applied,
                           check=True, timeout=harness.BOUND)
        got = {k: v for k, v in tree(applied).items() if v[0] != "directory"}
        self.assertEqual(got, files, seed)
        if PATCH:
            self.patched_as_git_s(patch, wanted, patched, base)
        self.layer("commit", "x", cwd=work)
        self.assertEqual(tree(work), wants, seed)
        self.assertEqual(self.layer("diff", "x", cwd=work), "")
        self.layer("undo", "x", cwd=work)
        self.assertEqual(tree(work), before, seed)
        self.layer("commit", "x", cwd=work)
        self.assertEqual(tree(work), wants, seed)
        return True

    @staticmethod
    def differences(top, before, after):
        """Path -> what the result is to call it."""
        found = {}
        for name in before.keys() | after.keys():
            was, now = before.get(name), after.get(name)
            if was != now:
                found[os.path.join(top, os.fsdecode(name))] = (
                    "created" if was is None else "deleted" if now is None
                    else "modified" if was[0] == now[0] else "replaced")
        return found

    def patched_as_git_s(self, patch, wanted, patched, base):
        """patch -p1 takes whatever it takes of git's own patch, and makes the same of it."""
        theirs = os.path.join(base, "theirs")
        shutil.copytree(patched, theirs, symlinks=True)
        repository = os.path.join(base, "repository")
        shutil.copytree(patched, repository, symlinks=True)

        def git(*words, tree):
            return subprocess.run(["git", "-c", "core.quotePath=true", f"--git-dir={base}/git",
                                   f"--work-tree={tree}", *words], cwd=tree, check=True,
                                  capture_output=True, timeout=harness.BOUND).stdout

        git("init", "-q", tree=repository)
        git("add", "-f", "-A", ".", tree=repository)
        git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x", "--allow-empty",
            tree=repository)
        git("add", "-f", "-A", ".", tree=wanted)
        whole = git("diff", "--cached", "-M", "--full-index", "--binary", tree=wanted)

        def pieces(text):
            parts = re.split(rb"(?m)^(?=diff --git )", text)
            return {part.split(b"\n", 1)[0]: part for part in parts if part.startswith(b"diff")}

        ours = pieces(patch)
        for name, piece in pieces(whole).items():
            if name not in ours:
                continue  # another pairing of what was renamed
            results = []
            for top, text in ((theirs, piece), (patched, ours[name])):
                done = subprocess.run([PATCH, "-p1", "-s", "-f", "--no-backup-if-mismatch", "-r", "-"],
                                      input=text, cwd=top, check=False, capture_output=True,
                                      timeout=harness.BOUND)
                results.append(done.returncode)
            self.assertLessEqual(results[1], results[0], (piece, ours[name]))
            if results[0] == 0:
                PATCHED.append(name)
                self.assertEqual(tree(patched), tree(theirs), name)

    def test_applied_to_the_real_tree_it_gives_the_layers(self):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            self.assertTrue(all(pool.map(self.one, range(12))))
        if PATCH:
            self.assertGreater(len(PATCHED), 20)

    @unittest.skipUnless(shutil.which("patch"), "patch is not installed")
    def test_patch_takes_it(self):
        self.put("a", "".join(f"{i}\n" for i in range(50)))
        self.put("gone", "g\n")
        copy = os.path.join(self.base, "copy")
        shutil.copytree(self.work, copy)
        self.inside("sed -i 's/^25$/changed/' a; rm gone; mkdir d; printf 'no end' > d/new")
        subprocess.run(["patch", "-p1", "-s"], input=self.layer("diff", "x").encode(), cwd=copy,
                       check=True, timeout=harness.BOUND)
        self.layer("commit", "x")
        self.assertEqual(tree(copy), tree(self.work))

    def test_names_and_content_move_no_terminal(self):
        self.inside("""printf 'a\\tb\\n\\033[2J\\n' > $'c\\n 1 file changed\\033[2J'; echo > $(printf 'n%0.s' $(seq 200))""")
        stat = self.layer("diff", "x", "--stat")
        self.assertEqual(stat.count("\n"), 3, stat)
        self.assertIn("c\\x0a 1 file changed\\x1b[2J", stat)
        self.assertLess(len(stat.splitlines()[0]), 100)  # not as long as the longest name
        ours, theirs = os.openpty()
        self.addCleanup(os.close, ours)
        process = subprocess.Popen([harness.SBX_RUN, "layer", "diff", "x"], env=self.environment, cwd=self.work,
                                   stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 65536): shown += part
        except OSError:
            pass
        self.assertEqual(process.wait(harness.BOUND), 0)
        self.assertIn(b"+a\tb", shown)
        self.assertIn(b"+\\x1b[2J", shown)
        self.assertNotIn(b"\x1b[2J", shown)
        self.assertIn("\x1b[2J", self.layer("diff", "x"))  # a program's are the bytes

    def test_what_is_real_already_is_listed_nowhere(self):
        self.put("a", "1\n")
        self.put("gone", "1\n")
        self.put("mode", "1\n")
        self.inside("echo 2 > a; rm gone; echo 2 > b; chmod 600 mode; mkdir -p d/e; ln -s a l")
        self.put("a", "2\n")
        self.put("b", "3\n")
        os.unlink(self.work + "/gone")
        os.makedirs(self.work + "/d/e")
        os.chmod(self.work + "/d", 0o755)
        os.chmod(self.work + "/d/e", 0o755)
        os.symlink("a", self.work + "/l")
        self.assertEqual(self.layer("diff", "x", "--name-only"), "b\nmode\n")
        listed = json.loads(self.layer("diff", "x", "--json"))["changes"]
        self.assertEqual([change["path"] for change in listed], [self.work + "/b", self.work + "/mode"])
        self.assertNotIn("empty directory", self.layer("diff", "x", "--stat"))
        self.put("b", "2\n")
        told = json.loads(self.layer("commit", "x", "--dry-run", "--json"))
        self.assertEqual([change["path"] for change in told["committed"]], [self.work + "/mode"])

    def changed(self):
        return {os.path.relpath(change["path"], self.work): change["kind"]
                for change in json.loads(self.layer("diff", "x", "--json"))["changes"]}

    CHANGES = "echo more >> a; rm b; mv d/1 d/2"
    CHANGED = {"a": "modified", "b": "deleted", "d/1": "deleted", "d/2": "created"}

    def has_all(self):
        return self.raw("layer", "diff", "x", "--name-only").stdout.count(b"\n") == len(self.CHANGED)

    def fill(self):
        for name in ("a", "b", "d/1"):
            self.put(name, "1\n")

    def test_what_a_run_has_changed_while_it_goes_on_and_after_it_was_killed(self):
        self.fill()
        run = subprocess.Popen([harness.SBX_RUN, "--layer", "x", "-c", self.CHANGES + "; echo done; sleep 300"],
                               cwd=self.work, env=self.environment, stdout=subprocess.PIPE)
        self.addCleanup(run.stdout.close)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        self.assertTrue(harness.until(self.has_all))
        self.assertEqual(self.changed(), self.CHANGED)
        run.kill()
        run.wait()
        self.assertEqual(self.changed(), self.CHANGED)
        told = json.loads(self.layer("commit", "x", "--json"))["committed"]
        self.assertEqual({os.path.relpath(change["path"], self.work): change["kind"] for change in told},
                         self.CHANGED)

    def test_what_a_run_has_changed_in_a_root_that_is_gone_at_its_end(self):
        self.fill()
        away = self.work + ".away"
        self.addCleanup(lambda: os.path.exists(away) and os.rename(away, self.work))
        run = subprocess.Popen([harness.SBX_RUN, "--json", "--stdin", "-", "--layer", "x",
                                "-c", self.CHANGES + "; cat; echo end > e"], cwd=self.work,
                               env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(run.kill)
        self.assertTrue(harness.until(self.has_all))
        os.rename(self.work, away)
        answer = json.loads(run.communicate()[0])
        self.assertEqual((answer["exit_code"], answer["changes"]), (0, []), answer)
        self.assertIn(f"layer: cannot list what is changed in {self.work}: ENOENT: No such file or directory",
                      answer["sandbox"]["warnings"])
        os.rename(away, self.work)
        self.assertEqual(self.changed(), {**self.CHANGED, "e": "created"})
        self.assertEqual({os.path.relpath(change["path"], self.work): change["kind"]
                          for change in self.inside("true")["changes"]}, {**self.CHANGED, "e": "created"})

    def test_names_only_are_quoted_as_git_does(self):
        names = [b"plain x", "\u00fcmlaut".encode(), b"a\xffb", b"new\nline", b'quote"s', b"back\\slash", b"\xc2\x85"]
        for name in names:
            self.inside("touch -- " + "$'" + "".join("\\x%02x" % byte for byte in name) + "'")
        told = self.raw("layer", "diff", "x", "--name-only").stdout
        self.assertEqual(sorted(told.splitlines()), sorted([
            b"plain x", "\u00fcmlaut".encode(), b'"a\\377b"', b'"new\\nline"', b'"quote\\"s"',
            b'"back\\\\slash"', b'"\\302\\205"']))

    def test_the_forms(self):
        self.put("a", "1\n")
        self.put(".git/HEAD", "ref\n")
        self.inside("echo 2 >> a; echo x > .git/new; mkdir empty")
        self.assertIn("a | 1 +", self.layer("diff", "x", "--stat"))
        self.assertIn("empty", self.layer("diff", "x", "--stat"))
        patch = self.raw("layer", "diff", "x")
        self.assertNotIn(b".git/new", patch.stdout)
        self.assertIn(b"1 changes in .git", patch.stderr)
        told = json.loads(self.layer("diff", "x", "--json"))
        self.assertIn({"path": self.work + "/empty", "kind": "created", "type": "directory"},
                      told["changes"])
        self.assertEqual(told["git_left_out"], 1)
        self.assertEqual(self.layer("diff", "x", "--name-only", "a"), "a\n")

    def applied(self):
        """The workspace as it was when `self.copy` was made, with the patch."""
        patch = self.raw("layer", "diff", "x").stdout
        subprocess.run(["git", "apply", "--whitespace=nowarn", "-"], input=patch, cwd=self.copy, check=True,
                       timeout=harness.BOUND)
        return tree(self.copy)

    def keep_copy(self):
        self.copy = os.path.join(self.base, "copy")
        shutil.copytree(self.work, self.copy, symlinks=True)

    def test_a_binary_file_that_is_only_renamed_or_has_another_mode(self):
        for name in ("i.png", "tool"):
            with open(os.path.join(self.work, name), "wb") as file:
                file.write(random.Random(name).randbytes(3000))
        self.put("a", "1\n")
        self.keep_copy()
        self.inside("mv i.png j.png; chmod +x tool; echo 2 > a")
        now = self.applied()
        self.assertEqual(sorted(now), [b"a", b"j.png", b"tool"])
        self.assertEqual(now[b"tool"][1], 0o755)
        self.assertEqual(now[b"a"][2], b"2\n")

    def test_directories_whose_names_end_in_a_space(self):
        os.mkdir(self.work + "/d ")
        for name in ("d /mode", "d /text", "d /gone", "d /was", " s "):
            self.put(name, f"{name}\n")
        self.put("d /bin", "1\0")
        self.keep_copy()
        self.inside("cd 'd '; chmod +x mode; echo 2 > text; rm gone; mv was is; printf '2\\0' > bin; printf '\\0' > new; "
                    "touch empty; chmod +x '../ s '; touch ' '")
        want = self.applied()
        self.layer("commit", "x")
        self.assertEqual(want, tree(self.work))

    @unittest.skipUnless(shutil.which("patch"), "patch is not installed")
    def test_patch_takes_a_mode_in_a_directory_whose_name_ends_in_a_space(self):
        self.put("d /mode", "1\n")
        self.keep_copy()
        self.inside("chmod +x 'd /mode'; touch 'd /empty'")
        patch = self.raw("layer", "diff", "x").stdout
        subprocess.run(["patch", "-p1", "-s"], input=patch, cwd=self.copy, check=True, timeout=harness.BOUND)
        self.assertEqual(sorted(os.listdir(self.copy + "/d ")), ["empty", "mode"])
        self.assertEqual(os.stat(self.copy + "/d /mode").st_mode & 0o777, 0o755)

    def test_files_and_symlinks_that_change_places(self):
        for name in ("real", "f"):
            self.put(name, "".join(f"{name} {i}\n" for i in range(2000)))
        for name, to in (("link", "real"), ("l1", "q"), ("l2", "q2")):
            os.symlink(to, os.path.join(self.work, name))
        self.keep_copy()
        self.inside("rm link; mv real link; ln -s link real; rm l1 l2; cp f l1; cp f l2; rm f; ln -s l1 f")
        applied = self.applied()
        self.layer("commit", "x")
        self.assertEqual(applied, tree(self.work))

    def test_what_cannot_be_shown_so_is_an_error(self):
        more = os.path.join(self.base, "more")
        os.mkdir(more)
        self.inside(f"echo 1 > a; echo 2 > {more}/b", "x", "--rw", more)
        answer = self.refused("bad_value", "diff", "x", more + "/b")
        self.assertIn("--root " + more, answer["error"]["hint"])
        self.assertIn("+2\n", self.layer("diff", "x", "--root", more, more + "/b"))
        self.assertEqual(self.layer("diff", "x", "--name-only", more + "/b"), more + "/b\n")
        for forms in (("--stat", "--name-only"), ("--stat", "--json"), ("--name-only", "--json")):
            answer = self.refused("bad_flag", "diff", "x", *forms)
            self.assertIn("one at a time", answer["error"]["message"])

    def test_names_that_git_refuses_are_left_out_and_counted(self):
        self.keep_copy()
        self.inside("echo 1 > a; echo 2 > git~1; echo 3 > .git.; echo 4 > '.git '; echo 5 > '.git::$INDEX_ALLOCATION';"
                    "ln -s a .gitmodules; mkdir d; echo 6 > d/GIT~1")
        self.assertEqual(list(self.applied()), [b"a"])
        for form in ((), ("--stat",)):
            told = self.raw("layer", "diff", "x", *form)
            self.assertEqual(told.returncode, 0, told)
            self.assertIn(b"6 changes under names that git refuses are left out", told.stderr)
        told = json.loads(self.layer("diff", "x", "--json"))
        self.assertEqual((told["git_left_out"], len(told["changes"])), (6, 8))

    @unittest.skipIf(harness.is_root(), "root reads every file")
    def test_a_real_file_that_cannot_be_read_is_left_out_and_counted(self):
        self.put("closed", "1\n", 0)
        self.inside("rm -f closed; echo 2 > a")
        for form in ((), ("--stat",)):
            told = self.raw("layer", "diff", "x", *form)
            self.assertEqual(told.returncode, 0, told)
            self.assertIn(b"1 changes of files that cannot be read are left out", told.stderr)
            self.assertIn(b"a", told.stdout)
            self.assertNotIn(b"closed", told.stdout)

    def test_what_others_made_in_a_removed_directory_goes_with_it(self):
        for name in ("d/a", "d/sub/b", "e/a"):
            self.put(name, "1\n")
        self.inside("rm -r d e; echo file > e")
        for name in ("d/new", "d/sub/new", "d/own/deep", "e/new"):
            self.put(name, "host\n")
        self.keep_copy()
        now = {path: what for path, what in self.applied().items() if what[0] != "directory"}
        self.assertEqual(now, {b"e": ("file", 0o644, b"file\n")})
        named = self.layer("diff", "x", "--name-only").split()
        for name in ("d/new", "d/sub/new", "d/own/deep", "e/new"):
            self.assertIn(name, named)
        changes = json.loads(self.layer("diff", "x", "--json", "d/own"))["changes"]
        self.assertEqual([(change["kind"], change["type"]) for change in changes],
                         [("deleted", "directory"), ("deleted", "file")])
