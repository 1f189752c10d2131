# SPDX-License-Identifier: Apache-2.0
"""Kept layers: checkpoints, branches, and layers in sessions and tools."""

import concurrent.futures
import fcntl
import json
import os
import re
import shutil
import subprocess
import unittest

import harness
import mcp_client
import session_harness
from kept_harness import Kept


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

    def roots_since_a_checkpoint(self, kind):
        """One that came to the layer after a checkpoint is as it really is, once the layer is back there."""
        self.put("a", "a\n")
        self.write("other/f", "f\n")
        other = self.base + "/other"
        self.inside("true", "x", "--profile", "readonly")  # no root at all
        self.layer("checkpoint", "x", "none")
        self.assertEqual(self.inside("echo 1 >> a")["layer"]["kind"], kind)
        self.layer("checkpoint", "x", "one")
        self.inside(f"echo 1 >> {other}/f; echo n > {other}/new", "x", "--rw", other)
        for label, text in (("one", "a\n1\n"), ("none", "a\n")):
            self.layer("rollback", "x", label)
            answer = self.inside(f"cat a {other}/f; ls {other}", "x", "--rw", other)
            self.assertEqual(answer["stdout"], text + "f\nf\n", label)
        self.inside(f"echo 2 >> a; echo 2 >> {other}/f", "x", "--rw", other)
        self.layer("commit", "x")
        self.assertEqual(self.read("a"), "a\n2\n")
        with open(other + "/f", encoding="utf-8") as file:
            self.assertEqual(file.read(), "f\n2\n")

    def test_roots_since_a_checkpoint(self):
        self.roots_since_a_checkpoint("overlay")

    def test_roots_since_a_checkpoint_of_a_copy(self):
        self.put("one", "1\n")
        os.link(self.work + "/one", self.work + "/other")
        self.roots_since_a_checkpoint("copy")

    def test_a_checkpoint_since_a_commit_keeps_what_an_undo_takes_back(self):
        self.checkpoint_and_undo("overlay")

    def test_a_checkpoint_of_a_copy_since_a_commit(self):
        self.put("one", "1\n")
        os.link(self.work + "/one", self.work + "/other")  # no overlay keeps both names together
        self.checkpoint_and_undo("copy")

    def checkpoint_and_undo(self, kind):
        self.put("a", "a\n")
        self.assertEqual(self.inside("true")["layer"]["kind"], kind)
        self.layer("checkpoint", "x", "c1")
        self.inside("echo na > a")
        self.layer("commit", "x")
        self.layer("checkpoint", "x", "c2")
        self.inside("echo b > b")
        self.layer("undo", "x")
        self.assertEqual(self.read("a"), "a\n")
        self.layer("rollback", "x", "c2")
        self.assertEqual(self.inside("cat a; ls b || true")["stdout"], "na\n")
        self.layer("rollback", "x", "c1")
        self.assertEqual(self.inside("cat a")["stdout"], "a\n")
        self.layer("rollback", "x", "c2")
        self.layer("commit", "x")
        self.assertEqual(self.read("a"), "na\n")

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

    def test_a_layer_whose_state_is_damaged_is_named_and_can_be_discarded(self):
        for name in ("x", "other"):
            self.inside("echo 1 > a", name)
        names = self.store_of("names")
        pool = os.path.join(os.path.dirname(names), "pool")
        for damage in (b"garbage", b"", b"sbx-layer 1\0"):
            with open(os.path.join(names, "x", "state"), "wb") as file:
                file.write(damage)
            self.assertEqual({row["name"]: row["kind"] for row in json.loads(self.layer("list", "--json"))}["x"],
                             "damaged")
            self.refused("setup_failed", "discard", "x", "a")
            self.refused("setup_failed", "diff", "x")
            self.layer("discard", "x")
            self.assertEqual([row["name"] for row in json.loads(self.layer("list", "--json"))], ["other"])
            self.assertTrue(harness.until(lambda: len(os.listdir(pool)) == 1))  # what it used is collected
            self.inside("echo 1 > a")

    def test_the_hint_for_a_layer_in_use_is_one_that_helps(self):
        self.inside("echo 1 > a")
        with open(os.path.join(self.store_of("names"), "x", "lock")) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            answer = self.refused("layer_in_use", "commit", "x")
            self.refused("layer_in_use", "branch", "x", "y")
        self.assertEqual(answer["error"]["hint"], "wait for its end")

    @unittest.skipIf(harness.is_root(), "root writes in every directory")
    def test_a_state_directory_that_cannot_be_made_says_why(self):
        closed = os.path.join(self.base, "closed")
        os.mkdir(closed, 0o555)
        self.environment["XDG_STATE_HOME"] = closed + "/state"
        done = self.sh("true", "--layer", "x")
        if done["status"] == "exited":
            self.skipTest("the top of the mount can be written in")
        self.assert_error(done, "setup_failed")
        self.assertIn("EACCES", done["error"]["message"])
        self.assertIn("make it writable", done["error"]["hint"])

    def evening(self, test):
        """docs/layers.md's first example, as it stands there; what it did, and the real tree."""
        with open(os.path.join(harness.SOURCE, "docs/layers.md"), encoding="utf-8") as file:
            lines = re.search(r"## An agent's evening\n\n```sh\n(.*?)```", file.read(), re.DOTALL).group(1)
        for name in ("src/parser.c", "tests/parser_test.c"):
            self.put(name, "1\n")
        self.put("Makefile", "test:\n\t@" + test + "\n")
        self.write("work/my-agent", "#!/bin/sh\necho 2 >> src/parser.c; echo 2 >> tests/parser_test.c; echo > junk\n",
                   0o755)
        os.mkdir(self.base + "/bin")
        os.symlink(harness.SBX_RUN, self.base + "/bin/sbx-run")
        environment = {**self.environment, "PATH": self.base + "/bin:/usr/bin:/bin"}
        self.assertEqual(lines.count("my-agent"), 1)
        done = subprocess.run(["sh", "-ec", lines.replace("my-agent", "./my-agent")], cwd=self.work,
                              env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=harness.BOUND, check=False)
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("+2", done.stdout)
        self.assertEqual(json.loads(self.layer("list", "--json")), [])
        self.assertFalse(os.path.exists(self.work + "/junk"))

    @unittest.skipUnless(shutil.which("make"), "make is not installed")
    def test_the_manuals_evening_works_as_it_is_written(self):
        self.evening("true")
        self.assertEqual((self.read("src/parser.c"), self.read("tests/parser_test.c")), ("1\n2\n", "1\n2\n"))

    @unittest.skipUnless(shutil.which("make"), "make is not installed")
    def test_the_manuals_evening_with_a_test_that_fails(self):
        self.evening("false")
        self.assertEqual((self.read("src/parser.c"), self.read("tests/parser_test.c")), ("1\n", "1\n"))

    @unittest.skipUnless(shutil.which("unshare"), "unshare is not installed")
    def test_a_workspace_that_is_a_mount_of_its_own_keeps_its_layers_elsewhere(self):
        script = """
set -e
mount -t tmpfs none "$PLACE" && cd "$PLACE" && echo 1 > a
"$SBX_RUN" --layer x -c 'echo 2 > a; echo b > b'
cat a; ls -A; "$SBX_RUN" doctor | grep -A3 -i layer
"$SBX_RUN" layer commit x > "$OUT/commit"; cat a b; "$SBX_RUN" layer undo x > "$OUT/undo"; ls -A
"""
        done = subprocess.run([*harness.OWN_MOUNTS, "sh", "-c", script],
                              env={**self.environment, "PLACE": self.work, "OUT": self.base,
                                   "SBX_RUN": harness.SBX_RUN},
                              capture_output=True, timeout=harness.BOUND, check=False)
        if b"mount" in done.stderr and done.returncode == 32:
            self.skipTest(done.stderr.decode())
        self.assertEqual(done.returncode, 0, done)
        answer, end = json.JSONDecoder().raw_decode(done.stdout.decode())
        self.assertEqual(answer["layer"]["kind"], "copy")
        words = done.stdout.decode()[end:].split()
        self.assertEqual(words[:2], ["1", "a"])
        self.assertIn("whole copy", " ".join(words))  # doctor says so beforehand
        self.assertEqual(words[-3:], ["2", "b", "a"])

    def store_of(self, part):
        """That directory of the workspace's layers."""
        for directory, inner, _ in os.walk(os.path.join(self.state, "sbx/layers")):
            if part in inner:
                return os.path.join(directory, part)
        self.skipTest("the layers lie elsewhere")

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

    def test_names_of_one_file_stay_that_above_a_frozen_epoch(self):
        self.put("real", "r\n")
        self.inside("mkdir -m 750 -p p/q; echo x > f; ln f g; ln f p/q/h; ln real r2; chmod 600 f; echo 1 > one; "
                    "touch -d 2001-01-01 f p/q")
        text = "x\n"
        for action in (("checkpoint", "x", "A"), ("branch", "x", "y"), ("commit", "x", "one"), ("undo", "x"),
                       ("discard", "x", "one"), ("rollback", "x", "A"), ("commit", "x"), ("undo", "x")):
            self.layer(*action)
            if action[0] == "rollback":
                text = "x\n"
            if action == ("commit", "x"):
                continue
            for name in "xy" if action[0] == "branch" else "x":
                told = self.inside("stat -c '%a %Y' f p/q; echo more >> g; cat f g p/q/h; "
                                   "stat -c %i f g p/q/h | uniq | wc -l", name)
                if action[0] in ("checkpoint", "rollback"):
                    self.assertEqual(told["stdout"].splitlines()[:2], ["600 978307200", "750 978307200"])
                self.assertEqual(told["stdout"].split("\n", 2)[2], (text + "more\n") * 3 + "1\n", action)
                self.assertEqual([line for line in told["sandbox"]["warnings"] if line.startswith("layer")], [])
            text += "more\n"
        self.layer("rollback", "x", "A")
        self.assertEqual(self.inside("echo more >> r2; cat real")["stdout"], "r\nmore\n")
        self.assertEqual(self.read("real"), "r\n")

    def test_names_that_are_too_many_to_be_kept_together_are_told_when_they_part(self):
        self.inside("for i in $(seq 501); do echo $i > f$i; ln f$i g$i; done")
        self.layer("checkpoint", "x")
        told = self.inside("for i in $(seq 501); do echo more >> g$i; done; cat f* | grep -c more; "
                           "for i in $(seq 501); do grep -q more f$i || echo $i; done")
        count, parted = told["stdout"].split()
        self.assertEqual(count, "500")
        self.assertIn(f"layer: its other names keep the former content: {self.work}/g{parted}",
                      told["sandbox"]["warnings"])

    def test_a_part_is_thrown_away(self):
        self.put("d/a", "1\n")
        self.put("d/b", "1\n")
        self.inside("rm -r d; echo n > n; echo m > m")
        self.layer("discard", "x", "d/a", "n")
        self.assertEqual(self.inside("find . -type f | sort")["stdout"], "./d/a\n./m\n")

    def test_nothing_is_left_of_what_is_thrown_away_after_a_checkpoint(self):
        self.inside("mkdir -p d/s; echo > d/s/f; echo > kept")
        self.layer("checkpoint", "x")
        self.inside("rm -r d/s; mkdir d/t")
        self.layer("discard", "x", "d")
        self.assertEqual(self.layer("diff", "x", "--name-only"), "kept\n")
        self.assertEqual(self.inside("ls")["stdout"], "kept\n")

    def test_what_is_removed_has_no_name_where_its_directory_has_gone_too(self):
        steps = {"checkpoint": [("checkpoint", "x")] * 30, "discard": [("discard", "x", "d/b")],
                 "undo": [("commit", "x"), ("undo", "x")]}
        for name, actions in steps.items():
            with self.subTest(name):
                for path in ("d/a", "d/b", "d/kept"):
                    self.put(path, "1\n")
                self.inside("rm d/a d/b")
                for action in actions:
                    self.layer(*action)
                for path in ("d/a", "d/b", "d/kept"):
                    os.unlink(os.path.join(self.work, path))
                os.rmdir(os.path.join(self.work, "d"))
                self.assertEqual(self.inside("ls -A d")["stdout"], "")
                self.layer("discard", "x")

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
    def test_what_a_session_does_to_a_layer_is_in_its_audit_log(self):
        log = os.path.join(self.state, "audit.jsonl")
        server = subprocess.Popen(
            [harness.SBX_RUN, "serve", "--layer", "l", "--workspace", self.work, "--audit", log],
            cwd=self.work, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.end, server)
        peer = session_harness.Peer(server.stdout, server.stdin)
        peer.call("run", command="echo x > made")
        for method, more in (("diff", {}), ("checkpoint", {"label": "c"}), ("commit", {"paths": ["made"]}), ("discard", {})):
            peer.call("layer." + method, **more)
        self.assertIn("data", peer.error("layer.rollback", label="none"))
        with open(log) as lines:
            records = [json.loads(line) for line in lines]
        self.assertEqual([(r["command"], r["status"], r["exit_code"], r["cwd"]) for r in records[1:]],
                         [("layer checkpoint l c", "exited", 0, self.work), ("layer commit l made", "exited", 0, self.work),
                          ("layer discard l", "exited", 0, self.work), ("layer rollback l none", "error", None, self.work)])

    def test_what_a_person_does_to_a_layer_is_in_the_audit_log(self):
        log = os.path.join(self.state, "audit.jsonl")
        profile = self.profile({"audit": {"file": log}})
        self.put("a", "1\n")
        self.inside("echo 2 > a; echo 2 > b")
        for words in (("checkpoint", "x", "c"), ("diff", "x"), ("list",), ("commit", "x", "--dry-run"),
                      ("commit", "x", "--ours", "a"), ("undo", "x"), ("rollback", "x", "c"), ("branch", "x", "y"),
                      ("discard", "x", "b"), ("discard", "y")):
            self.layer(*words, "--profile", profile)
        self.refused("layer_not_found", "undo", "x", "--profile", profile)
        self.layer("discard", "x", "--audit", log)
        with open(log) as lines:
            records = [json.loads(line) for line in lines]
        self.assertEqual([(r["command"], r["status"]) for r in records],
                         [("layer checkpoint x c", "exited"), (f"layer commit x --ours={self.work}/a", "exited"),
                          ("layer undo x", "exited"), ("layer rollback x c", "exited"), ("layer branch x y", "exited"),
                          (f"layer discard x {self.work}/b", "exited"), ("layer discard y", "exited"),
                          ("layer undo x", "error"), ("layer discard x", "exited")])
        self.assertEqual({(r["cwd"], r["session"], r["exit_code"]) for r in records},
                         {(self.work, None, 0), (self.work, None, None)})
        self.assertEqual({len(r["profile_sha256"]) for r in records}, {64})
        self.assertEqual(records[-2]["error"]["code"], "layer_not_found")

    def test_without_its_audit_log_a_layer_stays_as_it_is(self):
        self.inside("echo 2 > b")
        os.mkdir(self.base + "/log")
        self.refused("output_unwritable", "commit", "x", "--audit", self.base + "/log")
        self.assertEqual(os.listdir(self.work), [])
        self.layer("commit", "x")

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
        for method, where, params in (
                ("branch", "/new", {"new": "y\0z"}), ("rollback", "/label", {"label": "one\0z"}),
                ("checkpoint", "/label", {"label": "a\nb"}), ("discard", "/name", {"name": "x\0z"}),
                ("diff", "/name", {"name": "a/b"}), ("diff", "/name", {"name": "x" * 201}),
                ("branch", "/new", {"new": "a/b"})):
            data = call("layer." + method, **params)["error"]["data"]
            self.assertEqual((data["code"], data["where"]), ("bad_value", where), (method, params))
        data = call("layer.diff", paths=["f", "../x"])["error"]["data"]
        self.assertEqual((data["code"], data["where"]), ("path_refused", "/paths/1"))
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
        call("layer.checkpoint", label="two")
        for method, params, where in (("rollback", {"label": "none"}, "/label"), ("checkpoint", {"label": "two"}, "/label"),
                                      ("checkpoint", {"label": "a/b"}, "/label"), ("branch", {"new": "a/b"}, "/new"),
                                      ("branch", {"new": "x"}, "/new"), ("commit", {"paths": ["nosuch"]}, "/paths"),
                                      ("diff", {"name": "nosuch"}, "/name")):
            error = call("layer." + method, **params)["error"]
            self.assertEqual(error["data"]["where"], where, error)
            self.assertNotEqual(error["data"]["code"], "bad_flag", error)
        started = call("start", command="sleep 30")["result"]
        refused = call("run", command="true")["result"]
        self.assertEqual(refused["error"]["code"], "layer_in_use")
        call("kill", task_id=started["task_id"])
        self.assertEqual(call("run", command="cat a")["result"]["stdout"], "0\n1\n2\n")

    def test_a_flag_that_an_action_does_not_know_is_an_error(self):
        self.inside("echo a > a")
        for words in (["discard", "x", "--dry-run"], ["checkpoint", "x", "l", "--dry-run"],
                      ["branch", "x", "y", "--dry-run"], ["rollback", "x", "l", "--dry-run"],
                      ["diff", "x", "--theirs", "a"], ["diff", "x", "--stat", "--name-only"],
                      ["undo", "x", "--ours", "a"], ["discard", "x", "--undo"]):
            self.assertEqual(self.raw("layer", *words).returncode, 125, words)
        self.assertEqual(self.layer("diff", "x", "--name-only"), "a\n")
        self.assertEqual([row["name"] for row in json.loads(self.layer("list"))], ["x"])

    def test_a_patch_shows_nothing_that_commands_do_not_see(self):
        token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
        self.put("d/a", "1\n")
        self.inside("rm -r d")
        self.put("d/.env", "TOPSECRET\n")
        profile = self.profile({"filesystem": {"+roots": [
            {"path": "${workspace}/**/.env", "access": "none"}]}})
        flags = ("--layer", "x", "--workspace", self.work, "--profile", profile)
        server = subprocess.Popen([harness.SBX_RUN, "serve", *flags], cwd=self.work,
                                  env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.end, server)
        peer = session_harness.Peer(server.stdout, server.stdin)
        ran = peer.answer(peer.send("run", command=(
            f"echo {token} > made; echo end >> made; touch {token}; ln -s /x made.link;"
            "echo db.example.com:5432:mydb:alice:s3cretPw99x > pass")))
        self.assertEqual(ran["result"]["exit_code"], 0, ran)
        told = peer.answer(peer.send("layer.diff"))["result"]
        self.assertEqual({c["path"][len(self.work) + 1:] for c in told["changes"]},
                         {"d", "d/a", "d/.env", "made", "[REDACTED]", "made.link", "pass"})
        self.assertIn("+[REDACTED]\n+end\n", told["patch"])
        self.assertIn("deleted file", told["patch"])
        self.assertIn("+++ b/pass\n@@ -0,0 +1 @@\n+", told["patch"])
        for secret in ("s3cretPw99x", token):
            self.assertNotIn(secret, json.dumps(told))
        self.assertNotIn("TOPSECRET", told["patch"])
        self.end(server)
        client = mcp_client.Client(*flags, cwd=self.work, env=self.environment)
        self.addCleanup(self.end, client.process)
        client.send({"id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}}})
        client.wait(lambda message: message.get("id") == 1)
        client.send({"id": 2, "method": "tools/call", "params": {"name": "layer_diff", "arguments": {}}})
        self.assertEqual(
            client.wait(lambda message: message.get("id") == 2)["result"]["structuredContent"], told)

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
            schemas = {tool["name"]: tool["outputSchema"] for tool in
                       client.wait(lambda message: message.get("id") == 2)["result"]["tools"]}
            def conforms(name, told):
                known = schemas[name]["properties"]
                kinds = {"string": str, "array": list, "object": dict, "integer": int, "boolean": bool, "null": type(None)}
                for key, value in told["structuredContent"].items():
                    types = known[key]["type"]
                    types = types if isinstance(types, list) else [types]
                    self.assertIsInstance(value, tuple(kinds[kind] for kind in types), (key, told))
            call(3, "bash", command="echo made > made", description="make")
            client.wait(lambda message: message.get("id") == 3)
            call(4, "layer_diff")
            told = client.wait(lambda message: message.get("id") == 4)["result"]
            self.assertIn("+made", told["content"][0]["text"])
            conforms("layer_diff", told)
            call(8, "layer_checkpoint", label="here\0there")
            told = client.wait(lambda message: message.get("id") == 8)
            self.assertIn("/label", json.dumps(told), told)
            call(7, "layer_checkpoint", label="here")
            conforms("layer_checkpoint", client.wait(lambda message: message.get("id") == 7)["result"])
            for number, name, empty in ((9, "layer_checkpoint", {"label": None}), (10, "layer_checkpoint", {"label": ""}),
                                        (11, "layer_diff", {"paths": None})):
                call(number, name, **empty)
                told = client.wait(lambda message: message.get("id") == number)["result"]
                self.assertFalse(told["isError"], told)
            call(6, "layer_commit", paths=["nope"])  # nothing to ask about
            told = client.wait(lambda message: message.get("id") == 6)["result"]
            self.assertTrue(told["content"][0]["text"].startswith("layer_commit: path_not_found: "), told)
            self.assertEqual(told["structuredContent"]["error"]["code"], "path_not_found")
            conforms("layer_commit", told)
            call(5, "layer_commit")
            asked = client.wait(lambda message: message.get("method") == "elicitation/create")
            self.assertIn("created " + self.work + "/made", asked["params"]["message"])
            client.send({"id": asked["id"], "result": {
                "action": "accept" if accepts else "decline", "content": {}}})
            done = client.wait(lambda message: message.get("id") == 5)["result"]
            self.assertEqual(done["isError"], not accepts, done)
            conforms("layer_commit", done)
            if not accepts: self.assertIn("layer_commit: denied: the user declined", done["content"][0]["text"])
            self.assertEqual(os.path.exists(os.path.join(self.work, "made")), accepts)
            self.end(client.process)
