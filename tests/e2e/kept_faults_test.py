# SPDX-License-Identifier: Apache-2.0
"""Kept layers: a commit is finished or undone after a kill at any call and on a full disk."""

import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import harness
from kept_harness import Kept, tree

CALL = re.compile(r"^([a-z0-9_]+)\(")
# Calls that change nothing: a kill at one of them is a kill at the next one that does.
SAME = ("close", "newfstatat", "fstat", "statx", "getdents64", "pread64", "brk", "read", "lseek",
        "readlinkat", "readlink", "fgetxattr", "flistxattr", "prlimit64", "access", "faccessat",
        "getrandom", "mmap", "munmap", "mprotect", "umask", "rseq", "statfs", "arch_prctl",
        "set_tid_address", "set_robust_list", "rt_sigaction", "geteuid", "getuid", "openat2")


@unittest.skipUnless(shutil.which("strace"), "strace is not installed")
class Kills(Kept):
    """SIGKILL of sbx-layer at each of its system calls."""

    def prepare(self, base, kind="overlay"):
        work = os.path.join(base, "work")
        os.makedirs(os.path.join(work, "d"))
        for name in ("a", "gone", "d/in", "d/two", "stays", "mode"):
            with open(os.path.join(work, name), "w") as file:
                file.write(name + "\n")
            os.utime(os.path.join(work, name), (3000, 3000))
        os.symlink("a", os.path.join(work, "link"))
        os.symlink("d", os.path.join(work, "turns"))
        os.mkdir(os.path.join(work, "e"))
        with open(os.path.join(work, "e/in"), "w") as file:
            file.write("in\n")
        if kind == "copy":
            os.link(os.path.join(work, "a"), os.path.join(work, "same"))
        environment = {**os.environ, "XDG_STATE_HOME": os.path.join(base, "state")}
        self.inside("echo new > a; rm gone; rm -r d; echo file > d; mkdir -p n/m; echo o > n/m/o; "
                    "rm link; ln -s n link; chmod 500 n/m; rm turns; mkdir -p turns/m; echo t > turns/m/t; "
                    "rm -r e; ln -s n e; ln stays another; chmod 600 mode; touch -d @1000 mode", "x", cwd=work, env=environment)
        return work, environment

    @staticmethod
    def shown(work):
        """The tree, and whether a name that the layer made is one of the real file, and a time."""
        names = [os.path.join(work, name) for name in ("stays", "another")]
        return (tree(work), all(map(os.path.exists, names)) and os.path.samefile(*names),
                os.stat(os.path.join(work, "mode")).st_mtime)

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
        before = self.shown(work)
        trace = os.path.join(template, "trace")
        done = self.call(work, environment, "commit", "x",
                         inject=["strace", "-qq", "-o", trace])
        if not os.path.exists(trace) or not os.path.getsize(trace):
            self.skipTest("strace cannot trace here")
        self.assertEqual(done.returncode, 0, done)
        after = self.shown(work)
        self.assertNotEqual(before, after)
        self.assertEqual((before[1:], after[1:]), ((False, 3000), (True, 1000)))
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
            now = self.shown(place)
            if back and not pending and now == before:
                return None  # killed before it began
            if end.returncode != 0:
                return points[number], end
            return None if now == (before if back else after) else (points[number], back, now)

        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            wrong = [told for told in pool.map(one, range(len(points))) if told]
        self.assertEqual(wrong, [])


    def killed_at_the_second_rename(self, make="echo a > a; echo b > b", real=()):
        """A workspace of which a commit has made `a` real, and `b` not yet."""
        work = os.path.join(tempfile.mkdtemp(dir=self.base), "work")
        os.mkdir(work)
        for name in real:
            self.write(os.path.join(work, name), "real\n")
        environment = {**os.environ, "XDG_STATE_HOME": os.path.join(os.path.dirname(work), "state")}
        self.inside(make, "x", cwd=work, env=environment)
        self.call(work, environment, "commit", "x", inject=[
            "strace", "-qq", "-o", "/dev/null", "--inject=renameat2:signal=KILL:when=2"])
        if os.path.exists(os.path.join(work, "b")) or not os.path.exists(os.path.join(work, "a")):
            self.skipTest("strace cannot kill here")
        return work, environment

    def test_a_large_file_that_is_real_already_is_known_again(self):
        for words in ((), ("--undo",)):
            work, environment = self.killed_at_the_second_rename("truncate -s 200M a b")
            done = self.call(work, environment, "commit", "x", *words)
            self.assertEqual(done.returncode, 0, done)
            left = sorted(os.listdir(work))
            self.assertEqual(left, [] if words else ["a", "b"])

    def test_a_dry_run_with_an_unfinished_commit_changes_nothing(self):
        work, environment = self.killed_at_the_second_rename()
        before = tree(work)
        for words in ((), ("--undo",)):
            done = self.call(work, environment, "commit", "x", "--dry-run", *words)
            self.assertEqual(done.returncode, 0, done)
            self.assertIn(b"would be", done.stderr)
            self.assertEqual(tree(work), before)
        done = self.call(work, environment, "commit", "x")
        self.assertEqual((done.returncode, sorted(set(os.listdir(work)))), (0, ["a", "b"]), done)

    def test_what_others_made_during_an_unfinished_commit_does_not_block_the_layer(self):
        for words in (("commit", "x", "--undo"), ("undo", "x")):
            work, environment = self.killed_at_the_second_rename()
            with open(os.path.join(work, "b"), "w") as file:
                file.write("mine\n")
            told = self.call(work, environment, "commit", "x")
            self.assertIn(b"--undo takes the commit back", told.stderr)
            done = self.call(work, environment, *words)
            self.assertEqual(done.returncode, 0, done)
            self.assertIn(b"left as somebody else has made it", done.stderr)
            self.assertEqual(tree(work), {b"b": ("file", 0o644, b"mine\n")})
            self.assertEqual(self.call(work, environment, "commit", "x", work + "/a").returncode, 0)
            self.assertEqual(self.call(work, environment, "discard", "x").returncode, 0)

    def test_a_commit_or_an_undo_that_fails_midway_is_gone_back(self):
        work = os.path.join(self.base, "midway")
        os.mkdir(work)
        environment = {**os.environ, "XDG_STATE_HOME": self.state}
        self.inside("echo a > a; echo b > b; mkdir d; echo c > d/c", "x", cwd=work, env=environment)
        trees = [{}, {b"a": ("file", 0o644, b"a\n"), b"b": ("file", 0o644, b"b\n"),
                      b"d": ("directory", 0o755), b"d/c": ("file", 0o644, b"c\n")}]
        for number, (words, call, said) in enumerate((
                (("commit", "x"), "renameat2:error=EIO:when=3", b"nothing was committed; "),
                (("undo", "x"), "unlinkat:error=EIO:when=3", b"nothing was undone; "))):
            self.assertEqual(tree(work), trees[number])
            done = self.call(work, environment, *words, inject=["strace", "-qq", "-o", "/dev/null", "--inject=" + call])
            if done.returncode == 0:
                self.skipTest("strace cannot inject here")
            self.assertIn(said, done.stderr)
            self.assertNotIn(b"XDG_STATE_HOME", done.stderr)  # it is about real files
            self.assertEqual(tree(work), trees[number])
            self.assertEqual(self.call(work, environment, "checkpoint", "x").returncode, 0)  # nothing is unfinished
            done = self.call(work, environment, *words)
            self.assertEqual((done.returncode, tree(work)), (0, trees[1 - number]), done)

    def test_an_undo_that_others_have_got_into_can_be_left(self):
        work, environment = self.killed_at_the_second_rename()
        with open(os.path.join(work, "a"), "w") as file:
            file.write("a\n")
        self.assertEqual(self.call(work, environment, "commit", "x").returncode, 0)
        self.call(work, environment, "undo", "x", inject=[
            "strace", "-qq", "-o", "/dev/null", "--inject=unlinkat:signal=KILL:when=2"])
        with open(os.path.join(work, "a"), "w") as file:
            file.write("mine\n")
        told = self.call(work, environment, "undo", "x")
        self.assertIn(b"leaves it committed", told.stderr)
        done = self.call(work, environment, "commit", "x")
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(tree(work), {b"a": ("file", 0o644, b"mine\n"), b"b": ("file", 0o644, b"b\n")})
        self.assertEqual(self.call(work, environment, "discard", "x").returncode, 0)

    def test_a_commit_finished_later_forgets_what_was_given_up(self):
        work, environment = self.prepare(tempfile.mkdtemp(dir=self.base))
        self.call(work, environment, "commit", "x", "--ours", work + "/a", inject=[
            "strace", "-qq", "-o", "/dev/null", "--inject=renameat2:signal=KILL:when=1"])
        pending = any("pending" in files for _, _, files in os.walk(environment["XDG_STATE_HOME"]))
        if not pending:
            self.skipTest("strace cannot trace here")
        self.assertEqual(self.call(work, environment, "commit", "x").returncode, 0)
        self.assertEqual(self.inside("cat a", "x", cwd=work, env=environment)["stdout"], "a\n")
        self.assertEqual(self.call(work, environment, "diff", "x", "--name-only").stdout, b"")

    def test_a_commit_finished_later_leaves_nothing_over_the_real_files(self):
        for left, shown in (("", "new\n"), ("; echo c > c", "real\n")):
            work, environment = self.killed_at_the_second_rename("touch z; echo a > a; echo b > b" + left, ["z"])
            if left:
                self.call(work, environment, "commit", "x", "--undo")
                done = self.call(work, environment, "commit", "x", work + "/a", work + "/b")
            else:
                done = self.call(work, environment, "commit", "x")
            self.assertEqual(done.returncode, 0, done)
            self.write(os.path.join(work, "z"), "new\n")
            self.assertEqual(self.inside("cat z", "x", cwd=work, env=environment)["stdout"], shown)

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
        ours = [word for name in ("gone", "link", "n/m/o")
                for word in ("--ours", os.path.join(work, name))]
        for words in ((["commit", "x", *ours],) if action[0] == "undo" else (["checkpoint", "x", "first"],)):
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
        first = self.seen(*self.prepare(tempfile.mkdtemp(dir=self.base), kind))
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
            if self.seen(work, environment) != after or (action[0] == "undo" and after != first):
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


@unittest.skipUnless(shutil.which("unshare"), "unshare is not installed")
class FullDisk(Kept):
    def on_disk(self, megabytes, script, *arguments):
        """The script, in the workspace of a disk of that size that nobody else sees."""
        script = f"""
mount -t tmpfs -o size={megabytes}m none "$PLACE" && cd "$PLACE" && mkdir work state && cd work || exit 125
export XDG_STATE_HOME="$PLACE/state"
{script}"""
        place = os.path.join(self.base, "disk")
        os.makedirs(place, exist_ok=True)
        done = subprocess.run([*harness.OWN_MOUNTS, "sh", "-c", script, "sh", *arguments],
                              env={**os.environ, "PLACE": place, "OUT": self.base}, capture_output=True,
                              timeout=harness.BOUND, check=False)
        if b"mount" in done.stderr:
            self.skipTest(done.stderr.decode())
        return done

    def test_a_full_disk_is_one_error_and_loses_nothing(self):
        script = """set -e
echo real > a
"$SBX_RUN" --layer x -c 'echo layer > a; head -c 6000000 /dev/zero | tr "\\0" y > big; echo z > z' > ../run.json
head -c 30000000 /dev/zero > ../ballast || true
if LAYER commit x > "$OUT/commit.json" 2> "$OUT/error"; then echo committed; fi
wc -l < "$OUT/error"; cat a; ls
rm ../ballast
if test -n "$1"; then LAYER commit x --undo || true; cat a; ls; fi
LAYER commit x > /dev/null; cat a; ls; wc -c < big
"""
        script = script.replace("LAYER", '"$SBX_RUN" layer')
        for undo in ("", "undo"):
            done = self.on_disk(24, script, undo)
            self.assertEqual(done.returncode, 0, done)
            out = done.stdout.decode().split()
            self.assertNotIn("committed", out)
            self.assertEqual(out[0], "1", "one line says so")
            self.assertEqual(out[-5:], ["layer", "a", "big", "z", "6000000"], done)

    def test_a_layer_that_fills_the_disk_can_be_discarded(self):
        done = self.on_disk(6, """
"$SBX_RUN" --layer x -c 'head -c 30000000 /dev/zero > big' > "$OUT/run.json"
df --output=avail . | tail -1; "$SBX_RUN" layer commit x > /dev/null; echo $?
"$SBX_RUN" layer discard x --json; "$SBX_RUN" layer list --json
""")
        self.assertEqual(done.stdout.split(b"\n"), [b"    0", b"125", b'{"name":"x","discarded":"x"}', b"[]", b""], done)

    def test_a_disk_that_fills_while_a_tree_is_copied(self):
        done = self.on_disk(24, """set -e
for i in $(seq 40); do head -c 400000 /dev/zero | tr "\\0" y > f$i; done; ln f1 g1
"$SBX_RUN" --layer x -c true > "$OUT/run.json" || true
for i in $(seq 50); do find ../state -name tree | grep -q . || break; sleep 0.1; done
find ../state -name tree; ls | wc -l; "$SBX_RUN" layer list --json
rm f3*; "$SBX_RUN" --layer x -c 'ls | wc -l' > "$OUT/again.json"
""")
        self.assertEqual((done.returncode, done.stdout.split()), (0, [b"41", b"[]"]), done)
        with open(self.base + "/run.json") as file:
            answer = json.load(file)
        self.assert_error(answer, "setup_failed")
        self.assertIn("No space left", answer["error"]["message"])
        with open(self.base + "/again.json") as file:
            self.assertEqual(json.load(file)["stdout"], "30\n")
