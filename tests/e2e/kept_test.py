# SPDX-License-Identifier: Apache-2.0
"""Kept layers (--layer): what runs write is kept apart, by an overlay or a copy."""

import json
import os
import shutil
import subprocess
import unittest

import harness
import session_harness
from kept_harness import Kept, tree


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
        os.makedirs(self.work + "/.git/hooks")
        answer = peer.answer(peer.send("run", command="true", files=[{"path": ".git/hooks/pre", "content": ""}]))
        self.assertIn(f"the file {self.work}/.git/hooks/pre is protected", json.dumps(answer))

    def test_a_directory_that_cannot_be_moved_is_a_denial(self):
        self.put("d/a", "1\n")
        answer = self.sh("python3 -c 'import os; os.rename(\"d\", \"e\")'", "--layer", "x")
        if answer["exit_code"] != 0:
            self.assertIn(("rename", self.work + "/d"),
                          [(denial["operation"], denial["target"]) for denial in answer["denials"]])
        self.assertEqual(self.inside("mv d f; cat f/a; ls")["stdout"], "1\nf\n")

    def test_nor_can_one_that_a_checkpoint_has(self):
        self.inside("mkdir -p p/q new; echo 1 > p/q/in")
        self.layer("checkpoint", "x")
        def moved(command):
            answer = self.sh(command + "python3 -c 'import os; os.rename(\"p\", \"r\")'", "--layer", "x")
            return answer["exit_code"], [(denial["operation"], denial["target"]) for denial in answer["denials"]]
        code, denials = moved("")
        if code != 0:
            self.assertEqual(denials, [("rename", self.work + "/p")])
        self.assertEqual(moved("rm -r p; mkdir -p p/q;"), (0, []))

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

    def test_nor_is_it_larger_after_a_command_that_ends_at_once(self):
        profile = self.profile({"limits": {"layer_mb": 1}})
        answer = self.sh("head -c 3M /dev/zero > big", "--layer", "x", "--profile", profile)
        self.assertEqual((answer["status"], answer["limit"]), ("limit", "disk"), answer)
        self.assertEqual([change["path"] for change in answer["changes"]], [self.work + "/big"])
        # Only what grows further is named again.
        answer = self.sh("sleep 0.3; cat big | wc -c", "--layer", "x", "--profile", profile)
        self.assertEqual((answer["status"], answer["stdout"]), ("exited", f"{3 << 20}\n"), answer)
        answer = self.sh("head -c 1M /dev/zero > more", "--layer", "x", "--profile", profile)
        self.assertEqual((answer["status"], answer["limit"]), ("limit", "disk"), answer)
        self.assertEqual(self.sh("rm big more", "--layer", "x", "--profile", profile)["status"], "exited")

    def test_bad_names_are_one_error(self):
        for name in ("a/b", ".", "..", "x" * 201, "a\nb", "a\x85b", "a\udcff"):
            self.assert_error(self.sh("true", f"--layer={name}"), "bad_flag")
        for name in ("a/b", "..", "x" * 201):
            self.refused("bad_flag", "discard", name)
        self.assertEqual(self.inside("true", "x" * 200)["layer"]["name"], "x" * 200)
        self.assert_error(self.sh("true", "--layer", "x", "--overlay"), "bad_flag")

    def test_a_name_may_begin_with_a_dash(self):
        answer = self.sh("echo 1 > new", "--layer=-x")
        self.assertEqual(answer["layer"]["name"], "-x", answer)
        self.layer("checkpoint", "--", "-x", "-label")
        self.layer("branch", "--", "-x", "-y")
        self.assertEqual(self.layer("diff", "--name-only", "--", "-y"), "new\n")

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


class Roots(Kept):
    """One layer, used with other roots, or with a tree that has become another. Both kinds."""
    LINKED = False

    def setUp(self):
        super().setUp()
        self.put("keep", "k\n")
        if self.LINKED:
            os.link(self.work + "/keep", self.work + "/keep2")

    def refuses(self, *flags):
        answer = self.sh("true", "--layer", "x", *flags)
        self.assert_error(answer, "path_refused")
        self.assertIn("layer discard", answer["error"]["hint"])

    def test_a_root_within_a_root_is_part_of_it(self):
        self.put("a/n/k", "k\n")
        self.inside("echo one > a/n/k")
        answer = self.inside("cat a/n/k; echo two > a/n/k", "x", "--rw", "a/n")
        self.assertEqual(answer["stdout"], "one\n")
        self.assertEqual([c["path"] for c in answer["changes"]], [self.work + "/a/n/k"])
        self.layer("commit", "x")
        self.assertEqual(self.read("a/n/k"), "two\n")

    def test_something_else_in_a_root_s_place_is_one_error(self):
        self.put("data/f", "f\n")
        self.inside("rm -r data; echo x > data")
        self.refuses("--ro", "data")
        self.inside("cat data", "x", "--hide", "keep")
        self.assertEqual(self.sh("cat data", "--layer", "x", "--hide", "data")["stdout"], "")
        self.layer("discard", "x", "data")
        self.inside("cat data/f", "x", "--ro", "data")

    def test_no_root_is_mounted_through_a_symlink_of_the_layer(self):
        self.put("bin/tool", "good\n")
        profile = self.profile({"filesystem": {"roots": [
            {"path": "${workspace}", "access": "rw"}, {"path": "${workspace}/bin", "access": "ro"},
            {"path": "${workspace}/cache", "access": "rw", "optional": True, "noexec": True}]}})
        self.inside("ln -s bin cache", "x", "--profile", profile)
        os.mkdir(self.work + "/cache")
        self.refuses("--profile", profile)
        self.assertEqual(self.read("bin/tool"), "good\n")


class RootsOfCopies(Roots):
    LINKED = True


class Copies(Kept):
    """Trees that the kernel's overlay cannot stand for."""

    def setUp(self):
        super().setUp()
        self.put("one", "1\n")
        os.link(os.path.join(self.work, "one"), os.path.join(self.work, "two"))
        self.put("gone", "g\n")

    def test_a_file_of_several_names_is_held_against_its_limit_once(self):
        os.link(self.put("big", "x" * (3 << 20)), self.work + "/again")
        profile = self.profile({"limits": {"layer_mb": 5}})
        answer = self.sh("sleep 0.3; echo > n", "--layer", "x", "--profile", profile)
        self.assertEqual((answer["status"], answer["layer"]["kind"]), ("exited", "copy"), answer)

    def test_no_directory_above_what_is_hidden_moves(self):
        self.put("sec/deep/.env", "TOPSECRET\n")
        hide = ("--hide", "**/.env")
        answer = self.inside("mv sec s2; mv sec/deep sec/d2; echo n > sec/deep/n; ls", "x", *hide)
        self.assertEqual(answer["layer"]["kind"], "copy")
        self.assertEqual(answer["stdout"], "gone\none\nsec\ntwo\n", answer)
        self.assertEqual([c["path"] for c in answer["changes"]], [self.work + "/sec/deep/n"])
        self.assertEqual(os.listdir(os.path.join(self.work, "sec/deep")), [".env"])
        found = self.inside("grep -r TOPSECRET . ; cat sec/deep/n", "x", *hide)
        self.assertEqual(found["stdout"], "n\n", found)

    def test_what_is_hidden_comes_without_its_content(self):
        self.put("sec/.env", "TOPSECRET\n")
        os.link(os.path.join(self.work, "sec/.env"), os.path.join(self.work, "sec/name"))
        self.put("keys/deep/id", "TOPSECRET\n")
        hide = ("--hide", "**/.env", "--hide", "keys")
        answer = self.inside("echo n > new", "x", *hide)
        self.assertEqual(answer["layer"]["kind"], "copy")
        self.assertEqual([c["path"] for c in answer["changes"]], [self.work + "/new"])
        self.assertEqual(self.layer("diff", "x", "--name-only"), "new\n")
        os.unlink(os.path.join(self.work, "sec/.env"))
        shutil.rmtree(os.path.join(self.work, "keys/deep"))
        self.assertEqual(self.inside("cat sec/name; grep -rl TOPSECRET .; ls keys; wc -c < sec/.env",
                                     "x", *hide)["stdout"], "TOPSECRET\n./sec/name\n0\n")
        self.assertEqual(self.layer("diff", "x", "--name-only"), "new\n")

    @unittest.skipIf(harness.is_root(), "nothing is closed to root")
    def test_a_closed_directory_uncovers_nothing(self):
        self.put("d/.env", "TOPSECRET\n")
        self.inside("true")  # not hidden yet: it is in the copy
        self.inside("chmod 0 d", "x", "--hide", "**/.env")
        answer = self.sh("chmod 755 d; ls d; cat d/.env", "--layer", "x", "--hide", "**/.env")
        self.assertEqual((answer["status"], answer["stdout"]), ("exited", ""), answer)

    def test_a_copy_of_a_directory_that_its_owner_may_not_write(self):
        self.put("a", "one\n")
        os.link(self.work + "/a", self.work + "/b")
        os.mkdir(self.work + "/d")
        before = os.listdir(self.work)
        os.chmod(self.work, 0o555)
        self.addCleanup(os.chmod, self.work, 0o755)
        answer = self.inside("cat a b; stat -c %a .")
        self.assertEqual((answer["layer"]["kind"], answer["stdout"]), ("copy", "one\none\n555\n"), answer)
        self.inside("chmod 755 . && echo two > c")
        self.assertEqual(os.listdir(self.work), before)

    def test_what_comes_to_be_hidden_after_the_copy_was_made(self):
        self.put("ro/deep/a", "a\n")
        flags = ("--ro", "ro", "--hide", "**/.env")
        self.inside("echo n > new", "x", *flags)
        self.put("ro/deep/.env", "TOPSECRET\n")
        self.put("late/.env", "TOPSECRET\n")
        self.assertEqual(self.inside("ls; ls ro/deep; grep -r TOPSECRET .; true", "x", *flags)["stdout"],
                         "gone\nnew\none\nro\ntwo\na\n")

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

    def test_a_file_system_that_is_mounted_within(self):
        """A layer is a copy; without a name there is none, and the error says so."""
        script = """
set -e
mkdir "$PLACE/work/m" && mount -t tmpfs none "$PLACE/work/m" && cd "$PLACE/work" && echo 1 > m/a
"$SBX_RUN" --layer x -c 'cat m/a; echo 2 > m/a' > "$PLACE/run.json"
"$SBX_RUN" --overlay -- true > "$PLACE/overlay.json" 2> /dev/null || true
cat m/a
"""
        done = subprocess.run([*harness.OWN_MOUNTS, "sh", "-c", script],
                              env={**os.environ, "PLACE": self.base, "XDG_STATE_HOME": self.state},
                              capture_output=True, timeout=harness.BOUND, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, b"1\n"), done)
        with open(self.base + "/run.json") as file:
            answer = json.load(file)
        self.assertEqual((answer["stdout"], answer["layer"]["kind"]), ("1\n", "copy"), answer)
        with open(self.base + "/overlay.json") as file:
            error = json.load(file)["error"]
        self.assertEqual(error["code"], "setup_failed", error)
        self.assertIn("--layer NAME, which takes a copy", error["hint"])

    def test_what_is_bound_within_from_the_same_file_system(self):
        script = """
set -e
cd "$PLACE/work" && mkdir d m && echo 1 > d/a && : > f && mount --bind $1 $2
"$SBX_RUN" --layer x -c "cat $3; echo 2 > $3" > "$PLACE/run.json"
"$SBX_RUN" layer list > "$PLACE/list.json"
cat $3; rm d/a; umount $2; rm -r d m f; "$SBX_RUN" layer discard x > /dev/null
"""
        for bound in (("d", "m", "m/a"), ("d/a", "f", "f")):
            done = subprocess.run([*harness.OWN_MOUNTS, "sh", "-c", script, "sh", *bound],
                                  env={**os.environ, "PLACE": self.base, "XDG_STATE_HOME": self.state},
                                  capture_output=True, timeout=harness.BOUND, check=False)
            self.assertEqual((done.returncode, done.stdout), (0, b"1\n"), done)
            with open(self.base + "/run.json") as file:
                answer = json.load(file)
            self.assertEqual((answer["stdout"], answer["layer"]["kind"]), ("1\n", "copy"), answer)
            self.assertIn(f"a file system is mounted at {self.work}/{bound[1]}", str(answer["warnings"]))
            with open(self.base + "/list.json") as file:
                self.assertEqual([layer["kind"] for layer in json.load(file)], ["copy"])

    def test_what_lies_on_a_noexec_mount_is_not_executed(self):
        script = """
set -e
mkdir "$PLACE/m"
for work in "$PLACE/m/w" "$PLACE/work"; do
  mount -t tmpfs -o noexec none "${work%/w}"; mkdir -p "$work"; cd "$work"; cp /bin/true program
  for flags in '' --overlay --layer=x '--layer=x --profile=readonly' "--layer=x --profile=readonly --ro=$PLACE"; do
    "$SBX_RUN" $flags -c './program 2> /dev/null; echo $?' > "$PLACE/run.json"; cat "$PLACE/run.json"; echo
  done
done
"""
        done = subprocess.run([*harness.OWN_MOUNTS, "sh", "-c", script],
                              env={**os.environ, "PLACE": self.base, "XDG_STATE_HOME": self.state},
                              capture_output=True, timeout=harness.BOUND, check=False)
        self.assertEqual(done.returncode, 0, done)
        answers = [json.loads(line) for line in done.stdout.splitlines() if line]
        self.assertEqual([answer["stdout"] for answer in answers], ["126\n"] * 10, answers)
        self.assertEqual([(answer["layer"] or {}).get("kind") for answer in answers],
                         [None, None, *["overlay"] * 3, None, None, *["copy"] * 3])

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
        done = subprocess.run([*harness.OWN_MOUNTS, "sh", "-c", script],
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
