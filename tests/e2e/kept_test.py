# SPDX-License-Identifier: Apache-2.0
"""Kept layers (--layer, sbx-run layer): what runs write is kept apart, shown as a patch, made real,
taken back, branched and thrown away; a kill at any call loses nothing."""

import concurrent.futures
import json
import os
import random
import re
import shutil
import stat
import subprocess
import tempfile
import unittest

import harness
import mcp_client
import session_harness

PATCH = shutil.which("patch")
PATCHED = []  # what patch(1) took of git's
CALL = re.compile(r"^([a-z0-9_]+)\(")
# Calls that change nothing: a kill at one of them is a kill at the next one that does.
SAME = ("close", "newfstatat", "fstat", "statx", "getdents64", "pread64", "brk", "read", "lseek",
        "readlinkat", "readlink", "fgetxattr", "flistxattr", "prlimit64", "access", "faccessat",
        "getrandom", "mmap", "munmap", "mprotect", "umask", "rseq", "statfs", "arch_prctl",
        "set_tid_address", "set_robust_list", "rt_sigaction", "geteuid", "getuid", "openat2")


def tree(top, modes=0o777, skip=()):
    """Path -> what is there: (type, mode, content)."""
    found = {}
    for directory, inner, files in os.walk(os.fsencode(top)):
        for name in inner + files:
            path = os.path.join(directory, name)
            info = os.lstat(path)
            key = os.path.relpath(path, os.fsencode(top))
            if key.split(b"/")[0] in skip:
                continue
            if stat.S_ISLNK(info.st_mode):
                found[key] = ("link", os.readlink(path))
            elif stat.S_ISDIR(info.st_mode):
                found[key] = ("directory", info.st_mode & modes)
            elif stat.S_ISREG(info.st_mode):
                readable = os.access(path, os.R_OK)
                with open(path if readable else os.devnull, "rb") as file:
                    found[key] = ("file", info.st_mode & modes, file.read())
            else:
                found[key] = ("other",)
    return found


class Kept(harness.Case):
    def setUp(self):
        super().setUp()
        self.state = os.path.join(self.base, "state")
        self.environment = {**os.environ, "XDG_STATE_HOME": self.state}

    def raw(self, *arguments, **options):
        options.setdefault("env", self.environment)
        return super().raw(*arguments, **options)

    def inside(self, command, name="x", *flags, **options):
        answer = self.sh(command, "--layer", name, *flags, **options)
        self.assertEqual(answer["status"], "exited", answer)
        self.assertEqual(answer["exit_code"], 0, answer)
        return answer

    def layer(self, *arguments, **options):
        """The text of `sbx-run layer …`, which must succeed."""
        done = self.raw("layer", *arguments, **options)
        self.assertEqual(done.returncode, 0, done)
        return done.stdout.decode(errors="surrogateescape")

    def refused(self, code, *arguments):
        done = self.raw("layer", *arguments)
        self.assertEqual(done.returncode, 125, done)
        answer = json.loads(done.stdout)
        self.assert_error(answer, code)
        return answer

    def put(self, name, text, mode=0o644):
        return self.write("work/" + name, text, mode)

    def read(self, name):
        with open(os.path.join(self.work, name)) as file:
            return file.read()


class Runs(Kept):
    def test_later_runs_see_what_earlier_ones_wrote_and_the_real_files_stay(self):
        self.put("a", "old\n")
        self.put("d/e/f", "deep\n")
        before = tree(self.work)
        answer = self.inside("echo new > a; echo b > b; rm -r d; mkdir d; echo g > d/g")
        self.assertEqual(answer["layer"], {"name": "x", "kind": "overlay"})
        self.assertIn("layer", answer["sandbox"]["limits"])
        kinds = {change["path"]: change["kind"] for change in answer["changes"]}
        self.assertEqual(kinds[self.work + "/a"], "modified")
        self.assertEqual(kinds[self.work + "/b"], "created")
        self.assertEqual(tree(self.work), before)
        self.assertEqual(self.inside("cat a b; find d | sort")["stdout"], "new\nb\nd\nd/g\n")
        self.assertEqual(self.inside("cat a", "another")["stdout"], "old\n")
        plain = self.sh("cat a")
        self.assertEqual((plain["stdout"], plain["layer"]), ("old\n", None))

    def test_the_end_of_a_run_does_not_wait_for_the_disk(self):
        for i in range(3):
            mounts = self.inside(f"grep ' {self.work} ' /proc/self/mounts; echo {i} >> a")["stdout"]
            self.assertRegex(mounts, "^overlay .*volatile")
        # Nor does the mark of one that was killed refuse the next.
        killed = subprocess.Popen([harness.SBX_RUN, "--layer", "x", "-c", "echo killed >> a; sleep 60"],
                                  cwd=self.work, env=self.environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(self.end, killed)
        upper = [os.path.join(top, "upper/a") for top, inner, _ in os.walk(self.state) if "upper" in inner]

        def text():
            with open(upper[0]) as file:
                return file.read()

        self.assertTrue(harness.until(lambda: "killed" in text()))
        killed.kill()
        killed.wait()
        self.assertEqual(self.inside("cat a")["stdout"], "0\n1\n2\nkilled\n")

    def test_what_the_layer_has_not_touched_shows_through(self):
        self.put("a", "1\n")
        self.inside("echo x > x")
        self.put("a", "2\n")
        self.assertEqual(self.inside("cat a")["stdout"], "2\n")

    def test_a_requests_files_go_to_the_layer(self):
        self.put("d/old", "old\n")
        server = subprocess.Popen(
            [harness.SBX_RUN, "serve", "--layer", "x", "--workspace", self.work],
            cwd=self.work, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.end, server)
        peer = session_harness.Peer(server.stdout, server.stdin)
        told = peer.answer(peer.send("run", command="cat d/old d/new n/m/f; ls d", files=[
            {"path": "d/old", "content": "1\n"}, {"path": "d/new", "content": "2\n"},
            {"path": "n/m/f", "content": "3\n"}]))["result"]
        self.assertEqual(told["stdout"], "1\n2\n3\nnew\nold\n", told)
        self.assertEqual((self.read("d/old"), os.listdir(self.work)), ("old\n", ["d"]))

    def test_a_directory_that_cannot_be_moved_is_a_denial(self):
        self.put("d/a", "1\n")
        answer = self.sh("python3 -c 'import os; os.rename(\"d\", \"e\")'", "--layer", "x")
        if answer["exit_code"] != 0:
            self.assertIn(("rename", self.work + "/d"),
                          [(denial["operation"], denial["target"]) for denial in answer["denials"]])
        self.assertEqual(self.inside("mv d f; cat f/a; ls")["stdout"], "1\nf\n")

    def test_several_roots_are_kept(self):
        other = os.path.join(self.base, "other")
        os.mkdir(other)
        self.inside(f"echo 1 > {other}/one; echo 2 > two", "x", "--rw", other)
        self.assertEqual(os.listdir(other), [])
        self.layer("commit", "x")
        self.assertEqual((os.listdir(other), os.listdir(self.work)), (["one"], ["two"]))

    def test_a_second_run_at_the_same_time_is_refused(self):
        first = subprocess.Popen([harness.SBX_RUN, "exec", "--layer", "x", "-c",
                                  "echo ready; exec sleep 30"], cwd=self.work,
                                 env=self.environment, stdout=subprocess.PIPE,
                                 stdin=subprocess.DEVNULL)
        self.addCleanup(self.end, first)
        self.assertEqual(first.stdout.readline(), b"ready\n")
        self.assert_error(self.sh("true", "--layer", "x"), "layer_in_use")
        self.refused("layer_in_use", "discard", "x")

    def test_it_ends_at_its_size(self):
        profile = self.profile({"limits": {"layer_mb": 8}})
        answer = self.sh("head -c 64M /dev/zero > big; sleep 20", "--layer", "x",
                         "--profile", profile)
        self.assertEqual((answer["status"], answer["limit"]), ("limit", "disk"), answer)
        self.assertEqual(os.listdir(self.work), [])

    def test_bad_names_are_one_error(self):
        for name in ("a/b", ".", "..", "x" * 201, "a\nb"):
            self.assert_error(self.sh("true", "--layer", name), "bad_flag")
        self.assertEqual(self.inside("true", "x" * 200)["layer"]["name"], "x" * 200)
        self.assert_error(self.sh("true", "--layer", "x", "--overlay"), "bad_flag")

    def test_layers_in_their_own_workspace_are_refused(self):
        answer = self.sh("true", "--layer", "x", "--workspace", self.base)
        self.assert_error(answer, "path_refused")

    @unittest.skipIf(harness.is_root(), "root may write everywhere")
    def test_a_state_directory_that_cannot_be_written_is_one_error(self):
        os.mkdir(self.state, 0o555)
        shutil.rmtree(os.path.join("/dev/shm", "none"), ignore_errors=True)
        answer = self.sh("true", "--layer", "x")
        # Another place at the top of the mount may serve.
        if answer["status"] == "error":
            self.assert_error(answer, "setup_failed")


class Copies(Kept):
    """Trees that the kernel's overlay cannot stand for."""

    def setUp(self):
        super().setUp()
        self.put("one", "1\n")
        os.link(os.path.join(self.work, "one"), os.path.join(self.work, "two"))
        self.put("gone", "g\n")

    def test_names_of_one_file_stay_names_of_one_file(self):
        before = tree(self.work)
        answer = self.inside("echo 2 >> one; cat two; rm gone; echo n > new")
        self.assertEqual(answer["layer"]["kind"], "copy")
        self.assertEqual(answer["stdout"], "1\n2\n")
        self.assertEqual(tree(self.work), before)
        self.assertEqual(sorted(self.layer("diff", "x", "--name-only").split()),
                         ["gone", "new", "one", "two"])
        self.layer("commit", "x")
        self.assertEqual(sorted(os.listdir(self.work)), ["new", "one", "two"])
        self.assertEqual(self.read("two"), "1\n2\n")
        self.assertTrue(os.path.samefile(*(os.path.join(self.work, name) for name in ("one", "two"))))
        self.assertEqual(self.layer("diff", "x", "--name-only"), "")
        self.layer("undo", "x")
        self.assertEqual(self.read("two"), "1\n")
        self.assertEqual(self.inside("cat one; ls")["stdout"], "1\n2\nnew\none\ntwo\n")

    def test_they_have_a_history_too(self):
        self.inside("echo 2 > one")
        self.layer("checkpoint", "x", "c")
        self.inside("echo 3 > one; rm two")
        self.layer("branch", "x", "y")
        self.layer("rollback", "x", "c")
        self.assertEqual(self.inside("cat one two")["stdout"], "2\n2\n")
        self.assertEqual(self.inside("cat one; ls", "y")["stdout"], "3\ngone\none\n")
        self.assertEqual(sorted(self.layer("diff", "x", "--name-only").split()), ["one", "two"])

    def test_a_tree_larger_than_its_limit_is_one_error_and_leaves_nothing(self):
        for i in range(40):
            self.put(f"f{i}", "x" * 100_000)
        profile = self.profile({"limits": {"layer_mb": 1}})
        answer = self.sh("true", "--layer", "x", "--profile", profile)
        self.assert_error(answer, "setup_failed")
        self.assertIn("limits.layer_mb", answer["error"]["message"])
        self.assertTrue(harness.until(lambda: self.left() == []), self.left())
        self.assertEqual(json.loads(self.layer("list")), [])
        self.inside("true")

    def left(self):
        """What lies in the store."""
        return [name for top, inner, files in os.walk(os.path.join(self.state, "sbx/layers"))
                for name in inner + files if top.endswith(("/pool", "/trash", "/names"))]

    def test_what_a_killed_run_left_of_its_copy_goes_with_the_next(self):
        self.inside("true", "other")
        (store,) = [top for top, _, _ in os.walk(self.state) if top.endswith("/pool")]
        os.makedirs(store + "/0123456789abcdef/0/tree/d")
        self.inside("true")
        self.assertNotIn("0123456789abcdef", os.listdir(store))
        self.assertEqual(len(os.listdir(store)), 2)

    @unittest.skipIf(harness.is_root(), "root reads everything")
    def test_what_cannot_be_read_is_named(self):
        for i in range(20):
            self.put(f"d/{i}", "x", 0 if i == 10 else 0o644)
        answer = self.inside("ls d | wc -l")
        self.assertEqual(answer["stdout"], "19\n")
        self.assertIn("not in the copy", str(answer["sandbox"]["warnings"]))
        self.assertIn("/d/10", str(answer["sandbox"]["warnings"]))
        self.assertEqual(self.layer("diff", "x", "--name-only"), "")
        self.inside("rm d/1")
        self.layer("commit", "x")
        self.assertTrue(os.path.exists(self.work + "/d/10"))

    def test_what_its_command_shuts_stays_in_its_checkpoints(self):
        self.inside("mkdir shut; echo in > shut/file; echo u > unread; chmod 0 shut unread")
        self.layer("checkpoint", "x", "c")
        self.inside("chmod 700 shut; rm -r shut unread")
        self.layer("rollback", "x", "c")
        told = self.inside("stat -c %a shut unread; chmod 700 shut unread; cat shut/file unread")
        self.assertEqual(told["stdout"], "0\n0\nin\nu\n")

    @unittest.skipUnless(harness.is_root(), "needs another user's files")
    def test_owners_that_are_not_mapped(self):
        os.unlink(os.path.join(self.work, "two"))
        path = self.put("theirs", "t\n", 0o666)
        os.chown(path, 1234, 1234)
        answer = self.inside("echo more >> theirs; cat theirs")
        self.assertEqual((answer["layer"]["kind"], answer["stdout"]), ("copy", "t\nmore\n"))


class Hostile(Kept):
    """What a command can put into a layer to break who merges it."""

    MAKE = r"""
import os, sys
many = int(sys.argv[1])
for i in range(many // 1000):
    os.mkdir(f"many{i}")
    for j in range(1000):
        os.close(os.open(f"many{i}/{j}", os.O_CREAT | os.O_WRONLY))
os.symlink(".", "loop")
os.symlink("two", "one"); os.symlink("one", "two")
os.symlink("..", "many0/up")
os.symlink("/", "all")
os.mkdir("names")
for name in (b"n" * 255, b"\xff\n\x1b[2J", b" ", b"-rf", b"\\", b"a\tb"):
    open(b"names/" + name, "w").close()
os.mkdir("deep"); os.chdir("deep")
for i in range(400):
    os.mkdir("d"); os.chdir("d")
open("end", "w").close()
"""

    def test_many_files_cycles_and_depth(self):
        many = 10000
        self.write("make.py", self.MAKE)
        answer = self.inside(f"/usr/bin/python3 {self.base}/make.py {many}", "x", "--ro",
                             self.base + "/make.py")
        self.assertLessEqual(len(answer["changes"]), many + 1000)
        stat_lines = self.layer("diff", "x", "--name-only")
        self.assertGreater(stat_lines.count("\n"), many)
        self.layer("checkpoint", "x", "full")
        self.assertEqual(os.listdir(self.work), [])
        self.layer("commit", "x")
        self.assertEqual(len(os.listdir(self.work + "/many7")), 1000)
        self.assertEqual(os.readlink(self.work + "/loop"), ".")
        self.assertEqual(sorted(os.listdir(os.fsencode(self.work) + b"/names"))[0], b" ")
        self.assertTrue(os.path.exists(self.work + "/deep" + "/d" * 400 + "/end"))
        self.layer("undo", "x")
        self.assertEqual(os.listdir(self.work), [])
        self.layer("discard", "x")

    LONG = r"""
import os
os.mkdir("long"); os.chdir("long")
for i in range(20):
    os.mkdir("n" * 255); os.chdir("n" * 255)
open("end", "w").close()
"""

    def test_paths_too_long_for_any_call_are_one_error_and_lose_nothing(self):
        self.put("a", "1\n")
        script = self.write("long.py", self.LONG)
        self.inside(f"echo 2 > a; echo b > b; /usr/bin/python3 {script}", "x", "--ro", script)
        for words in (("commit", "x"), ("commit", "x", "b"), ("discard", "x", "b")):
            self.assertIn("too long", self.refused("path_refused", *words)["error"]["message"])
        self.assertEqual((os.listdir(self.work), self.read("a")), (["a"], "1\n"))
        for i in range(26):
            self.layer("checkpoint", "x")
        self.layer("branch", "x", "y")
        told = self.inside("cat a b; find long -type d | wc -l; rm -r long", "y")
        self.assertEqual(told["stdout"], "2\nb\n21\n")
        self.layer("commit", "y")
        self.assertEqual((sorted(os.listdir(self.work)), self.read("a")), (["a", "b"], "2\n"))
        self.assertEqual(self.inside("find long -type d | wc -l")["stdout"], "21\n")
        self.layer("discard", "x")

    def test_an_overlay_over_an_overlay(self):
        """As in a container: no upper directory can lie on one, so the layer is a copy."""
        script = """
set -e
cd "$PLACE" && mkdir lower upper scratch top && mkdir lower/work && echo low > lower/work/a
mount -t overlay -o "userxattr,lowerdir=lower,upperdir=upper,workdir=scratch" none top 2> /dev/null ||
  mount -t overlay -o "lowerdir=lower,upperdir=upper,workdir=scratch" none top
export XDG_STATE_HOME="$PLACE/top/state" && cd top/work
"$SBX_RUN" --layer x -c 'echo more >> a; echo b > b; mkdir d; mv d e; cat a' > "$PLACE/run.json"
cat a; "$SBX_RUN" layer commit x > /dev/null; cat a b
"$SBX_RUN" --overlay -c 'echo gone >> a; tail -1 a' > "$PLACE/overlay.json"
tail -1 a
"""
        done = subprocess.run(["unshare", "-m" if harness.is_root() else "-Urm", "sh", "-c", script],
                              env={**os.environ, "PLACE": self.base}, capture_output=True,
                              timeout=harness.BOUND, check=False)
        if b"mount" in done.stderr:
            self.skipTest(done.stderr.decode())
        self.assertEqual((done.returncode, done.stdout), (0, b"low\nlow\nmore\nb\nmore\n"), done)
        with open(self.base + "/run.json") as file:
            answer = json.load(file)
        self.assertEqual((answer["stdout"], answer["layer"]["kind"]), ("low\nmore\n", "copy"), answer)
        with open(self.base + "/overlay.json") as file:
            answer = json.load(file)
        self.assertTrue(answer["stdout"] == "gone\n" or answer["error"], answer)


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
        self.inside(f"python3 -c \"$(cat)\" {seed}", "x", "--stdin", program, cwd=work)
        self.assertEqual(tree(work), before)
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


class Commits(Kept):
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

    def test_new_files_in_a_removed_directory_are_a_conflict(self):
        self.put("d/a", "1\n")
        self.inside("rm -r d")
        self.put("d/b", "host\n")
        self.refused("layer_conflict", "commit", "x")
        self.assertEqual(sorted(os.listdir(os.path.join(self.work, "d"))), ["a", "b"])

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

    def test_a_dry_run_changes_nothing(self):
        self.inside("echo 1 > a")
        told = json.loads(self.layer("commit", "x", "--dry-run", "--json"))
        self.assertEqual(told["committed"], [{"path": self.work + "/a", "kind": "created"}])
        self.assertEqual(os.listdir(self.work), [])

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
        if not harness.is_root():  # that nobody changed it cannot be seen
            self.refused("layer_conflict", "undo", "x")
            os.chmod(self.work + "/f", 0o600)
        self.layer("undo", "x")
        self.assertEqual(os.listdir(self.work), [])


@unittest.skipUnless(shutil.which("strace"), "strace is not installed")
class Kills(Kept):
    """SIGKILL of sbx-layer at each of its system calls."""

    def prepare(self, base, kind="overlay"):
        work = os.path.join(base, "work")
        os.makedirs(os.path.join(work, "d"))
        for name in ("a", "gone", "d/in", "d/two"):
            with open(os.path.join(work, name), "w") as file:
                file.write(name + "\n")
        os.symlink("a", os.path.join(work, "link"))
        if kind == "copy":
            os.link(os.path.join(work, "a"), os.path.join(work, "same"))
        environment = {**os.environ, "XDG_STATE_HOME": os.path.join(base, "state")}
        self.inside("echo new > a; rm gone; rm -r d; echo file > d; mkdir -p n/m; echo o > n/m/o; "
                    "rm link; ln -s n link; chmod 500 n/m", "x", cwd=work, env=environment)
        return work, environment

    def call(self, work, environment, *arguments, inject=()):
        return subprocess.run(
            [*inject, os.path.join(os.path.dirname(harness.SBX_RUN), "sbx-layer"), *arguments,
             "--workspace", work], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=harness.BOUND, check=False)

    def test_a_commit_killed_anywhere_is_finished_or_taken_back(self):
        self.kill_commit("overlay")

    def test_a_commit_of_a_copy_killed_anywhere(self):
        self.kill_commit("copy")

    def kill_commit(self, kind):
        template = tempfile.mkdtemp(dir=self.base)
        work, environment = self.prepare(template, kind)
        before = tree(work)
        trace = os.path.join(template, "trace")
        done = self.call(work, environment, "commit", "x",
                         inject=["strace", "-qq", "-o", trace])
        if not os.path.exists(trace) or not os.path.getsize(trace):
            self.skipTest("strace cannot trace here")
        self.assertEqual(done.returncode, 0, done)
        after = tree(work)
        self.assertNotEqual(before, after)
        with open(trace, errors="replace") as file:
            calls = [match.group(1) for match in map(CALL.match, file) if match]
        seen, points = {}, []
        for name in calls:
            seen[name] = seen.get(name, 0) + 1
            if name not in SAME:
                points.append((name, seen[name]))
        self.assertGreater(len(points), 80)

        def one(number):
            name, when = points[number]
            base = tempfile.mkdtemp(dir=self.base)
            place, own = self.prepare(base, kind)
            self.call(place, own, "commit", "x", inject=[
                "strace", "-qq", "-o", "/dev/null", f"--inject={name}:signal=KILL:when={when}"])
            back = number % 2 == 0
            pending = any("pending" in files for _, _, files in os.walk(own["XDG_STATE_HOME"]))
            end = self.call(place, own, "commit", "x", *(["--undo"] if back else []))
            now = tree(place)
            if back and not pending and now == before:
                return None  # killed before it began
            if end.returncode != 0:
                return points[number], end
            return None if now == (before if back else after) else (points[number], back, now)

        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            wrong = [told for told in pool.map(one, range(len(points))) if told]
        self.assertEqual(wrong, [])


    def points(self, work, environment, action, trace):
        """(call, how often it was made by then) of each that could change something."""
        done = self.call(work, environment, *action, inject=["strace", "-qq", "-o", trace])
        if not os.path.exists(trace) or not os.path.getsize(trace):
            self.skipTest("strace cannot trace here")
        self.assertEqual(done.returncode, 0, (action, done))
        seen, points = {}, []
        with open(trace, errors="replace") as file:
            for name in (match.group(1) for match in map(CALL.match, file) if match):
                seen[name] = seen.get(name, 0) + 1
                if name not in SAME:
                    points.append((name, seen[name]))
        return points

    def prepared(self, action, kind):
        """A workspace and its layer, as they are before the action; and its words."""
        work, environment = self.prepare(tempfile.mkdtemp(dir=self.base), kind)
        for words in ((["commit", "x"],) if action[0] == "undo" else (["checkpoint", "x", "first"],)):
            done = self.call(work, environment, *words)
            self.assertEqual(done.returncode, 0, done)
        if action[0] != "undo":
            self.inside("echo later > later", cwd=work, env=environment)
        return work, environment, [os.path.join(work, word) if word in ("a", "d") else word
                                   for word in action]

    def seen(self, work, environment, name="x"):
        """The real tree, and what the layer makes of it."""
        done = self.call(work, environment, "diff", name)
        return tree(work), done.stdout if done.returncode == 0 else None

    def kill_everywhere(self, action, kind):
        work, environment, words = self.prepared(action, kind)
        before = self.seen(work, environment)
        points = self.points(work, environment, words, os.path.join(os.path.dirname(work), "trace"))
        after = self.seen(work, environment)
        self.assertGreater(len(points), 5, action)

        def one(point):
            work, environment, words = self.prepared(action, kind)
            self.call(work, environment, *words, inject=[
                "strace", "-qq", "-o", "/dev/null",
                f"--inject={point[0]}:signal=KILL:when={point[1]}"])
            real, patch = self.seen(work, environment)
            wrong = []
            if self.call(work, environment, "list").returncode != 0:
                wrong.append("list")
            if action[0] == "undo":
                # Each file is what it was or what it becomes, whole.
                wrong += [path for path, now in real.items() if now[0] == "file" and
                          not path.rpartition(b"/")[2].startswith(b".sbx-") and
                          now not in (before[0].get(path), after[0].get(path))]
            elif real != before[0] or patch not in (before[1], after[1]):
                wrong.append((real, patch))
            again = self.call(work, environment, *words)
            if again.returncode != 0:  # it was done when it was killed
                told = again.stderr + again.stdout
                codes = ((b"layer_not_found", b"path_not_found") if action[0] in ("undo", "discard")
                         else (b"bad_value",))
                if not any(code in told for code in codes):
                    wrong.append(again)
            if self.seen(work, environment) != after:
                wrong.append(("after", self.seen(work, environment)))
            if action[0] == "branch" and self.seen(work, environment, "y") != after:
                wrong.append("the branch")
            # And it is a layer as any other.
            if self.call(work, environment, "list").returncode != 0:
                wrong.append("list")
            return (action, kind, point, wrong) if wrong else None

        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            self.assertEqual([told for told in pool.map(one, points) if told], [])

    def test_undo(self):
        self.kill_everywhere(["undo", "x"], "overlay")
        self.kill_everywhere(["undo", "x"], "copy")

    def test_discard(self):
        self.kill_everywhere(["discard", "x"], "overlay")

    def test_discard_of_paths(self):
        self.kill_everywhere(["discard", "x", "a", "d"], "overlay")

    def test_discard_of_paths_in_a_copy(self):
        self.kill_everywhere(["discard", "x", "a", "d"], "copy")

    def test_checkpoint(self):
        self.kill_everywhere(["checkpoint", "x", "second"], "overlay")
        self.kill_everywhere(["checkpoint", "x", "second"], "copy")

    def test_rollback(self):
        self.kill_everywhere(["rollback", "x", "first"], "overlay")
        self.kill_everywhere(["rollback", "x", "first"], "copy")

    def test_branch(self):
        self.kill_everywhere(["branch", "x", "y"], "overlay")
        self.kill_everywhere(["branch", "x", "y"], "copy")


class FullDisk(Kept):
    @unittest.skipUnless(shutil.which("unshare"), "unshare is not installed")
    def test_a_full_disk_is_one_error_and_loses_nothing(self):
        flags = "-m" if harness.is_root() else "-Urm"
        script = """
set -e
mount -t tmpfs -o size=24m none "$PLACE" && cd "$PLACE" && mkdir work state && cd work
echo real > a
export XDG_STATE_HOME="$PLACE/state"
"$SBX_RUN" --layer x -c 'echo layer > a; head -c 6000000 /dev/zero | tr "\\0" y > big; echo z > z' > ../run.json
head -c 30000000 /dev/zero > ../ballast || true
if LAYER commit x > "$OUT/commit.json" 2> "$OUT/error"; then echo committed; fi
wc -l < "$OUT/error"; cat a; ls
rm ../ballast
if test -n "$1"; then LAYER commit x --undo || true; cat a; ls; fi
LAYER commit x > /dev/null; cat a; ls; wc -c < big
"""
        script = script.replace("LAYER", '"$SBX_RUN" layer')
        place = os.path.join(self.base, "disk")
        os.mkdir(place)
        for undo in ("", "undo"):
            done = subprocess.run(["unshare", flags, "sh", "-c", script, "sh", undo],
                                  env={**os.environ, "PLACE": place, "OUT": self.base}, capture_output=True,
                                  timeout=harness.BOUND, check=False)
            if b"mount" in done.stderr:
                self.skipTest(done.stderr.decode())
            self.assertEqual(done.returncode, 0, done)
            out = done.stdout.decode().split()
            self.assertNotIn("committed", out)
            self.assertEqual(out[0], "1", "one line says so")
            self.assertEqual(out[-5:], ["layer", "a", "big", "z", "6000000"], done)


    @unittest.skipUnless(shutil.which("unshare"), "unshare is not installed")
    def test_a_disk_that_fills_while_a_tree_is_copied(self):
        script = """
set -e
mount -t tmpfs -o size=24m none "$PLACE" && cd "$PLACE" && mkdir work state && cd work
for i in $(seq 40); do head -c 400000 /dev/zero | tr "\\0" y > f$i; done; ln f1 g1
export XDG_STATE_HOME="$PLACE/state"
"$SBX_RUN" --layer x -c true > "$OUT/run.json" || true
for i in $(seq 50); do find ../state -name tree | grep -q . || break; sleep 0.1; done
find ../state -name tree; ls | wc -l; "$SBX_RUN" layer list --json
rm f3*; "$SBX_RUN" --layer x -c 'ls | wc -l' > "$OUT/again.json"
"""
        place = os.path.join(self.base, "disk")
        os.mkdir(place)
        done = subprocess.run(["unshare", "-m" if harness.is_root() else "-Urm", "sh", "-c", script],
                              env={**os.environ, "PLACE": place, "OUT": self.base}, capture_output=True,
                              timeout=harness.BOUND, check=False)
        if b"mount" in done.stderr:
            self.skipTest(done.stderr.decode())
        self.assertEqual((done.returncode, done.stdout.split()), (0, [b"41", b"[]"]), done)
        with open(self.base + "/run.json") as file:
            answer = json.load(file)
        self.assert_error(answer, "setup_failed")
        self.assertIn("No space left", answer["error"]["message"])
        with open(self.base + "/again.json") as file:
            self.assertEqual(json.load(file)["stdout"], "30\n")


class History(Kept):
    def test_checkpoint_rollback_and_branch(self):
        self.put("a", "0\n")
        self.inside("echo 1 > a; echo one > one")
        self.assertEqual(self.layer("checkpoint", "x", "first"), "first\n")
        self.inside("echo 2 > a; rm one; echo two > two")
        label = self.layer("checkpoint", "x").strip()
        self.layer("branch", "x", "y")
        self.inside("echo 3 > a")
        self.layer("rollback", "x", "first")
        self.assertEqual(self.inside("cat a; ls")["stdout"], "1\na\none\n")
        self.layer("rollback", "x", label)  # later ones stay
        self.assertEqual(self.inside("cat a; ls")["stdout"], "2\na\ntwo\n")
        self.layer("discard", "x")
        self.assertEqual(self.inside("cat a; ls", "y")["stdout"], "2\na\ntwo\n")
        self.assertEqual(self.read("a"), "0\n")

    def test_labels_and_names_that_are_wrong(self):
        self.inside("echo 1 > a")
        self.layer("checkpoint", "x", "l")
        self.refused("bad_value", "checkpoint", "x", "l")
        self.refused("layer_not_found", "rollback", "x", "other")
        self.refused("layer_not_found", "diff", "none")
        self.refused("bad_value", "branch", "x", "x")
        self.refused("bad_flag", "branch", "x", "a/b")
        self.refused("path_not_found", "commit", "x", "nothing")
        self.refused("path_not_found", "discard", "x", "/etc")
        self.refused("bad_flag", "frobnicate", "x")
        for path in ("/etc", "../..", "../other"):
            self.refused("path_not_found", "diff", "x", path) if path != "../.." else None
            self.refused("path_not_found", "commit", "x", path) if path != "../.." else None
        for flag in ("--theirs", "--ours"):
            self.refused("path_not_found", "commit", "x", flag, "nothing")
        self.assertEqual(self.layer("diff", "x", "nothing"), "")
        self.assertFalse(os.path.exists(self.work + "/a"))

    def test_a_hundred_branches_run_at_once(self):
        self.put("base", "0\n")
        self.inside("echo 1 > base; echo one > one")
        for i in range(100):
            self.layer("branch", "x", f"b{i}")
        command = "cat base one; echo {0} > own; echo {0} >> base; sleep 0.3; cat own; ls | wc -l"

        def run(i):
            return self.inside(command.format(i), f"b{i}")["stdout"]

        with concurrent.futures.ThreadPoolExecutor(100) as pool:
            for i, out in enumerate(pool.map(run, range(100))):
                self.assertEqual(out, f"1\none\n{i}\n3\n")
        self.layer("discard", "x")
        for i in range(0, 100, 9):
            self.assertEqual(self.layer("diff", f"b{i}", "--name-only"), "base\none\nown\n")
            self.assertEqual(self.inside("tail -n 1 base", f"b{i}")["stdout"], f"{i}\n")
        self.assertEqual(os.listdir(self.work), ["base"])

    def test_a_high_stack_is_merged(self):
        for i in range(30):
            self.inside(f"echo {i} > f{i}; echo {i} > same; rm -f f{i - 5}")
            self.layer("checkpoint", "x")
        listed = self.inside("ls; cat same")["stdout"].split()
        self.assertEqual(sorted(listed), sorted([f"f{i}" for i in range(25, 30)] + ["same", "29"]))

    def test_a_part_is_thrown_away(self):
        self.put("d/a", "1\n")
        self.put("d/b", "1\n")
        self.inside("rm -r d; echo n > n; echo m > m")
        self.layer("discard", "x", "d/a", "n")
        self.assertEqual(self.inside("find . -type f | sort")["stdout"], "./d/a\n./m\n")

    def test_explain_names_the_layer_and_its_kind(self):
        explained = json.loads(self.raw("explain", "--json", "--layer", "x").stdout)
        self.assertEqual(explained["layer"], {"name": "x", "kind": "overlay"})
        self.assertIsNone(json.loads(self.raw("explain", "--json").stdout)["layer"])
        self.assertIn("layer      x (overlay)", self.raw("explain", "--layer", "x").stdout.decode())
        self.assertEqual(json.loads(self.layer("list", "--json")), [], "nothing was made")
        self.put("one", "1\n")
        os.link(self.work + "/one", self.work + "/two")
        explained = json.loads(self.raw("explain", "--json", "--layer", "x").stdout)
        self.assertEqual(explained["layer"], {"name": "x", "kind": "copy"})
        self.assertEqual(self.inside("true")["layer"], explained["layer"])
        os.remove(self.work + "/two")
        explained = json.loads(self.raw("explain", "--json", "--layer", "x").stdout)
        self.assertEqual(explained["layer"]["kind"], "copy", "as it was made")

    def test_doctor_says_beforehand_which_kind_there_would_be(self):
        def row():
            return json.loads(self.raw("doctor", "--json").stdout)["kept_layers"]
        self.assertEqual((row()["workspace"], row()["kind"], row()["reason"]),
                         (os.path.realpath(self.work), "overlay", None))
        self.assertIn("overlay (userxattr)", self.raw("doctor").stdout.decode())
        self.put("one", "1\n")
        os.link(self.work + "/one", self.work + "/two")
        self.assertEqual((row()["kind"], row()["reason"]), ("copy", "files in it have several names"))
        told = self.inside("true")
        self.assertEqual(told["layer"]["kind"], "copy")
        self.assertIn("why:  files in it have several names", self.raw("doctor").stdout.decode())
        self.assertIsNone(json.loads(self.raw("doctor", "--json", cwd="/").stdout)["kept_layers"]["kind"])

    def test_the_list(self):
        self.assertEqual(json.loads(self.layer("list")), [])
        self.inside("echo 1 > a; echo 2 > b")
        self.inside("true")
        (row,) = json.loads(self.layer("list"))
        self.assertEqual((row["name"], row["files"], row["runs"], row["kind"]),
                         ("x", 2, 2, "overlay"))
        self.assertGreater(row["size"], 0)
        self.assertGreaterEqual(row["age_s"], 0)

    def test_a_discarded_layer_leaves_nothing(self):
        self.inside("mkdir -p a/b; echo 1 > a/b/" + "n" * 255 + "; chmod 0 a/b a; "
                    "mkdir d; cd d; for i in $(seq 300); do mkdir d; cd d; done")
        self.layer("discard", "x")
        pool = os.path.join(self.state, "sbx/layers")

        def left():
            return [name for top, inner, files in os.walk(pool) for name in inner + files
                    if top.endswith(("/pool", "/trash", "/names"))]

        self.assertTrue(harness.until(lambda: not left()), left())


class Sessions(Kept):
    def test_a_session_holds_a_layer_and_its_methods_act_on_it(self):
        server = subprocess.Popen(
            [harness.SBX_RUN, "serve", "--layer", "x", "--workspace", self.work],
            cwd=self.work, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.end, server)
        peer = session_harness.Peer(server.stdout, server.stdin)

        def call(method, **params):
            return peer.answer(peer.send(method, **params))

        for i in range(3):
            told = call("run", command=f"echo {i} >> a; cat a")["result"]
            self.assertEqual(told["layer"], {"name": "x", "kind": "overlay"})
        self.assertEqual(told["stdout"], "0\n1\n2\n")
        self.refused("layer_in_use", "commit", "x")
        self.assertEqual(call("layer.checkpoint", label="one")["result"]["label"], "one")
        call("run", command="rm a; echo b > b")
        self.assertIn("+++ b/b", call("layer.diff")["result"]["patch"])
        call("layer.rollback", label="one")
        self.assertEqual(call("run", command="cat a")["result"]["stdout"], "0\n1\n2\n")
        self.assertEqual(call("layer.branch", new="y")["result"]["new"], "y")
        self.assertEqual([row["name"] for row in call("layer.list")["result"]], ["x", "y"])
        self.assertEqual(os.listdir(self.work), [])
        told = call("layer.commit")["result"]
        self.assertEqual(told["committed"], [{"path": self.work + "/a", "kind": "created"}])
        self.assertEqual(self.read("a"), "0\n1\n2\n")
        call("layer.undo")
        self.assertEqual(os.listdir(self.work), [])
        self.assertEqual(call("layer.rollback", label="none")["error"]["data"]["code"],
                         "layer_not_found")
        started = call("start", command="sleep 30")["result"]
        refused = call("run", command="true")["result"]
        self.assertEqual(refused["error"]["code"], "layer_in_use")
        call("kill", task_id=started["task_id"])
        self.assertEqual(call("run", command="cat a")["result"]["stdout"], "0\n1\n2\n")

    def test_mcp_asks_the_user_before_it_commits(self):
        for accepts in (False, True):
            client = mcp_client.Client("--layer", "x", "--workspace", self.work, cwd=self.work,
                                       env=self.environment)
            self.addCleanup(self.end, client.process)
            client.send({"id": 1, "method": "initialize", "params": {
                "protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
                "clientInfo": {"name": "test", "version": "1"}}})
            client.wait(lambda message: message.get("id") == 1)

            def call(number, name, **arguments):
                client.send({"id": number, "method": "tools/call",
                             "params": {"name": name, "arguments": arguments}})

            client.send({"id": 2, "method": "tools/list"})
            names = [tool["name"] for tool in
                     client.wait(lambda message: message.get("id") == 2)["result"]["tools"]]
            self.assertIn("layer_diff", names)
            call(3, "bash", command="echo made > made", description="make")
            client.wait(lambda message: message.get("id") == 3)
            call(4, "layer_diff")
            told = client.wait(lambda message: message.get("id") == 4)["result"]
            self.assertIn("+made", told["content"][0]["text"])
            call(5, "layer_commit")
            asked = client.wait(lambda message: message.get("method") == "elicitation/create")
            self.assertIn("created " + self.work + "/made", asked["params"]["message"])
            client.send({"id": asked["id"], "result": {
                "action": "accept" if accepts else "decline", "content": {}}})
            done = client.wait(lambda message: message.get("id") == 5)["result"]
            self.assertEqual(done["isError"], not accepts, done)
            self.assertEqual(os.path.exists(os.path.join(self.work, "made")), accepts)
            self.end(client.process)


if __name__ == "__main__":
    unittest.main()
