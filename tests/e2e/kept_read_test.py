# SPDX-License-Identifier: Apache-2.0
"""A kept layer in runs that may only read."""

import fcntl
import glob
import json
import os
import unittest

import kept_harness


class Look(kept_harness.Kept):
    def setUp(self):
        super().setUp()
        self.put("a", "a\n")

    def look(self, command, *flags, name="x"):
        answer = self.inside(command, name, "--profile", "readonly", *flags)
        self.assertEqual([warning for warning in answer["warnings"] if "layer" in warning], [])
        return answer

    def store(self):
        """All that is kept, without what tells of who uses it."""
        return kept_harness.tree(self.state)

    def test_it_sees_what_runs_with_the_layer_wrote(self):
        self.put("gone", "g\n")
        self.put("d/real", "r\n")
        self.inside("echo 1 >> a; mkdir n; echo n > n/new; rm gone; echo l > d/late")
        before = self.store()
        answer = self.look("cat a n/new d/real d/late; ls; echo x > a || echo no; mkdir m || echo none; rm a || echo kept")
        self.assertEqual(answer["stdout"], "a\n1\nn\nr\nl\na\nd\nn\nno\nnone\nkept\n")
        self.assertEqual(answer["layer"], {"name": "x", "kind": "overlay"})
        self.assertEqual(self.store(), before)
        self.assertEqual((self.read("a"), self.read("gone")), ("a\n", "g\n"))

    def test_it_sees_what_lies_above_a_checkpoint_and_in_it(self):
        self.inside("echo 1 >> a; echo n > new; echo o > old")
        self.layer("checkpoint", "x", "one")
        self.inside("echo 2 >> a; rm old")
        self.assertEqual(self.look("cat a new; ls")["stdout"], "a\n1\n2\nn\na\nnew\n")

    def test_a_copy(self):
        os.link(os.path.join(self.work, "a"), os.path.join(self.work, "b"))
        made = self.inside("echo 1 >> a; echo n > new")
        self.assertEqual(made["layer"]["kind"], "copy")
        answer = self.look("cat b new; echo x > new || echo no; ls")
        self.assertEqual(answer["stdout"], "a\n1\nn\nno\na\nb\nnew\n")
        answer = self.look("cat a; ls", "--ro", self.base)
        self.assertEqual(answer["stdout"], "a\n1\na\nb\nnew\n")

    def test_a_copy_keeps_what_directories_hand_down(self):
        os.link(os.path.join(self.work, "a"), os.path.join(self.work, "b"))
        for name, mode in (("given", 0o2775), ("kept", 0o1777)):
            os.mkdir(f"{self.work}/{name}")
            os.chmod(f"{self.work}/{name}", mode)
        answer = self.inside("stat -c %a given kept; touch given/x kept/x")
        self.assertEqual((answer["layer"]["kind"], answer["stdout"]), ("copy", "2775\n1777\n"))
        self.layer("commit", "x")
        for name, mode in (("given", 0o2775), ("kept", 0o1777)):
            self.assertEqual(os.stat(f"{self.work}/{name}").st_mode & 0o7777, mode)

    def test_a_root_that_lies_in_a_wider_one(self):
        self.write("other/f", "f\n")
        other = self.base + "/other"
        self.inside(f"echo 1 >> a; echo 1 >> {other}/f; echo 2 > {other}/g", "x", "--rw", other)
        answer = self.look(f"cat a {other}/f {other}/g", "--ro", self.base)
        self.assertEqual(answer["stdout"], "a\n1\nf\n1\n2\n")

    def test_what_is_narrower_than_the_root(self):
        self.put("sub/a", "a\n")
        self.put("sub/file", "f\n")
        self.inside("echo 1 >> sub/a; echo n > sub/new; echo 1 >> sub/file")
        command = "cat sub/a sub/new sub/file; echo x > sub/a || echo no"
        expected = "a\n1\nn\nf\n1\nno\n"
        self.assertEqual(self.look(command, "--ro", "sub", "--ro", "sub/file")["stdout"], expected)
        self.assertEqual(self.inside(command, "x", "--ro", "sub")["stdout"], expected)

    def test_a_part_within_a_hidden_one(self):
        self.put("sub/part/a", "a\n")
        self.inside("echo 1 >> sub/part/a; echo s > sub/secret")
        for flags in ((), ("--profile", "readonly")):
            answer = self.inside("cat sub/part/a; cat sub/secret || echo no", "x", "--hide", "sub", "--ro", "sub/part", *flags)
            self.assertEqual(answer["stdout"], "a\n1\nno\n")

    def test_hidden_paths_hold(self):
        self.put("secret", "real\n")
        self.put("later/.env", "e\n")
        self.inside("echo s > secret; mkdir in; echo t > in/.env; echo k > in/key; echo u > later/.env; echo m > made")
        profile = self.write("p.json", json.dumps({
            "name": "p", "extends": "readonly",
            "filesystem": {"roots": [
                {"path": "${workspace}", "access": "ro"},
                {"path": "${workspace}/secret", "access": "none"},
                {"path": "${workspace}/made", "access": "none", "optional": True},
                {"path": "${workspace}/**/.env", "access": "none"},
            ]},
        }))
        command = "for f in secret made in/.env later/.env; do cat $f || echo no; done 2>/dev/null; cat in/key"
        answer = self.inside(command, "x", "--profile", profile)
        self.assertEqual(answer["stdout"], "no\nno\nno\nno\nk\n")

    def test_a_symlink_in_the_place_of_what_is_shown(self):
        self.put("sub/a", "a\n")
        self.inside("rm -r sub; ln -s /etc sub")
        answer = self.sh("true", "--layer", "x", "--profile", "readonly", "--ro", "sub")
        self.assert_error(answer, "path_refused")

    def test_while_the_layer_is_in_use(self):
        self.inside("true")
        found = glob.glob(self.state + "/**/names/x/lock", recursive=True)
        with open(found[0]) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            answer = self.sh("true", "--layer", "x", "--profile", "readonly")
        self.assert_error(answer, "layer_in_use")

    def test_files_of_a_request(self):
        self.inside("true")
        before = self.store()
        request = {"command": "true", "files": [{"path": "n/f", "content": "x"}]}
        answer = self.run_json("run", "--layer", "x", "--profile", "readonly", stdin=None, input=json.dumps(request).encode())
        self.assertEqual(answer["status"], "error")
        self.assertEqual(self.store(), before)

    def test_a_look_leaves_what_the_layer_holds_to_be_committed(self):
        self.inside("echo 1 >> a; echo n > new")
        self.look("true", "--hide", "a")
        self.inside("echo 2 >> a")
        self.layer("commit", "x")
        self.assertEqual((self.read("a"), self.read("new")), ("a\n1\n2\n", "n\n"))

    def test_a_look_that_comes_first(self):
        self.assertEqual(self.look("cat a; echo x > a || echo no")["stdout"], "a\nno\n")
        self.inside("echo 1 >> a")
        self.layer("commit", "x")
        self.assertEqual(self.read("a"), "a\n1\n")

    def test_what_comes_after_a_first_look_is_kept_as_the_tree_can_be(self):
        self.put("b", "b\n")
        os.link(self.work + "/b", self.work + "/c")  # of which an overlay would change one
        self.look("true")
        self.assertEqual(self.inside("echo 1 >> b; cat c")["stdout"], "b\n1\n")
        self.assertEqual([layer["kind"] for layer in json.loads(self.layer("list", "--json"))], ["copy"])

    def test_another_root_that_no_overlay_can_show(self):
        for name in ("other", "plain"):
            self.write(f"{name}/b", "b\n")
        os.link(self.base + "/other/b", self.base + "/other/c")
        self.inside("echo 1 >> a")
        answer = self.run_json("run", "--layer", "x", "--rw", self.base + "/other", "-c", "true")
        self.assertEqual((answer["status"], answer["error"]["code"]), ("error", "path_refused"))
        self.assertIn("/other: files in it have several names", answer["error"]["message"])
        self.assertEqual(self.inside("echo 1 >> b; cat b", "x", "--rw", self.base + "/plain")["exit_code"], 0)

    def roots_in_turn(self):
        """A narrower root, the wider one, the narrower one again: of both kinds of layers."""
        self.write("other/out/f", "f\n")
        wide, narrow = self.base + "/other", self.base + "/other/out"
        self.inside(f"echo 1 >> {narrow}/f", "x", "--rw", narrow)
        answer = self.inside(f"cat {narrow}/f; echo 2 >> {narrow}/f; echo n > {wide}/new; echo n > {narrow}/new",
                             "x", "--rw", wide)
        self.assertEqual(answer["stdout"], "f\n1\n")
        answer = self.inside(f"cat {narrow}/f; echo 3 >> {narrow}/f", "x", "--rw", narrow)
        self.assertEqual(answer["stdout"], "f\n1\n2\n")
        self.layer("commit", "x")
        for name, text in (("out/f", "f\n1\n2\n3\n"), ("new", "n\n"), ("out/new", "n\n")):
            with open(f"{wide}/{name}", encoding="utf-8") as file:
                self.assertEqual(file.read(), text, name)
        return answer["layer"]["kind"]

    def test_roots_that_hold_each_other_are_written_in_one_place(self):
        self.assertEqual(self.roots_in_turn(), "overlay")

    def test_roots_that_hold_each_other_in_a_copy(self):
        os.link(os.path.join(self.work, "a"), os.path.join(self.work, "b"))
        self.assertEqual(self.roots_in_turn(), "copy")

    def test_a_writable_part_of_what_is_only_read(self):
        self.put("sub/a", "a\n")
        self.put("sub/gone/x", "x\n")
        self.inside("echo 1 >> sub/a; echo 1 >> a; rm -r sub/gone; ln -s /etc sub/led; mkdir sub/deep; echo d > sub/deep/d")
        sub = os.path.join(self.work, "sub")
        self.assertEqual(self.look(f"cat a sub/a sub/deep/d; ls sub; echo 2 >> sub/a; echo n > sub/deep/n; echo x >> a || echo no",
                                   "--rw", sub)["stdout"], "a\n1\na\n1\nd\na\ndeep\nled\nno\n")
        answer = self.inside("cat sub/a sub/deep/n; echo 3 >> sub/a; ls sub/gone || echo gone")
        self.assertEqual(answer["stdout"], "a\n1\n2\nn\ngone\n")
        self.layer("commit", "x")
        self.assertEqual(self.read("sub/a"), "a\n1\n2\n3\n")

    def test_a_writable_part_that_the_layer_has_not(self):
        self.put("sub/gone/x", "x\n")
        self.put("sub/led/x", "x\n")
        self.inside("rm -r sub/gone sub/led; ln -s /etc sub/led")
        for name in ("gone", "led"):
            answer = self.run_json("run", "--layer", "x", "--profile", "readonly", "--rw", f"{self.work}/sub/{name}", "-c", "true")
            self.assertEqual(answer["error"]["code"], "path_refused", name)

    def test_a_look_is_none_of_its_runs(self):
        self.inside("echo 1 >> a")
        self.look("cat a")
        self.assertEqual([layer["runs"] for layer in json.loads(self.layer("list", "--json"))], [1])

    def test_another_root_that_was_read_only_meanwhile(self):
        self.write("other/f", "f\n")
        other = self.base + "/other"
        self.inside(f"echo 1 >> {other}/f", "x", "--rw", other)
        self.inside("true", "x", "--ro", other)
        self.layer("commit", "x")
        with open(other + "/f") as file:
            self.assertEqual(file.read(), "f\n1\n")

    def test_a_read_only_part_of_a_writable_root_stays_refused(self):
        self.put("sub/a", "a\n")
        self.inside("echo 1 >> sub/a")
        self.inside("true", "x", "--ro", "sub")
        self.refused("path_refused", "commit", "x")
        self.assertEqual(self.read("sub/a"), "a\n")


if __name__ == "__main__":
    unittest.main()
