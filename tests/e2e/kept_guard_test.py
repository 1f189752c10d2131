# SPDX-License-Identifier: Apache-2.0
"""What a command cannot make of a layer: another one's state, and files that a pattern takes away."""

import json
import os
import shutil
import subprocess
import unittest

import harness
from kept_harness import Kept


class Beside(Kept):
    """Layers that lie at the top of the workspace's mount."""

    def mounted(self, script):
        """Runs a script at the top of a file system of its own, in which w is a workspace."""
        if shutil.which("unshare") is None:
            self.skipTest("unshare is not installed")
        script = ('set -e; mkdir "$PLACE/m"; mount -t tmpfs none "$PLACE/m"; cd "$PLACE/m"; mkdir w\n'
                  'run() { (cd "$1"; shift; "$SBX_RUN" run --json "$@" || true); }\n'
                  f'STORE=.sbx-layers-$(id -u)\n{script}')
        done = subprocess.run([*harness.OWN_MOUNTS, "sh", "-c", script],
                              env={**self.environment, "PLACE": self.base}, capture_output=True,
                              timeout=harness.BOUND, check=False)
        if b"mount" in done.stderr:
            self.skipTest(done.stderr.decode())
        self.assertEqual(done.returncode, 0, done)
        return done.stdout.decode()

    def test_what_they_hold_is_reached_from_no_run_over_them(self):
        """A forged state would have the next commit write wherever it says."""
        out = self.mounted("""
run w --layer x -- sh -c 'echo new > f' > /dev/null
test -d "$STORE"
run . -- sh -c 'ls -A .sbx-layers-*/*; echo x > $(echo .sbx-layers-*)/x; mv .sbx-layers-* q; true' > /dev/null
run .. --rw . -- sh -c 'ls -A m/.sbx-layers-*/*; rm -r m/.sbx-layers-*' > "$PLACE/run.json"
cd w; "$SBX_RUN" layer commit x > /dev/null; cat f
""")
        self.assertEqual(out, "new\n")
        with open(self.base + "/run.json") as file:
            self.assertEqual(json.load(file)["stdout"], "")

    def test_a_command_makes_none_for_later_runs(self):
        out = self.mounted("""
run . -- sh -c "mkdir -p $STORE/x && echo made" > "$PLACE/run.json"
ls -A
run w --layer x -- true | grep -o '"kind":"[a-z]*"'
""")
        self.assertEqual(out, 'w\n"kind":"overlay"\n')
        with open(self.base + "/run.json") as file:
            self.assertNotIn("made", json.load(file)["stdout"])

    def test_all_of_a_workspace_are_where_the_first_came_to_lie(self):
        """Also where that was made while a run held the name of the other place."""
        out = self.mounted("""
run . -- sh -c 'touch at; until test -e end; do sleep .05; done' > /dev/null &
until test -e at; do sleep .05; done
stat -c %a "$STORE"
run w --layer x -- sh -c 'echo new > f' | grep -o '"kind":"copy"'
touch end; wait; ls -A
run w --layer x -- cat f | grep -o '"stdout":"new.n"'
run w --layer y -- true | grep -o '"kind":"copy"'
cd w; "$SBX_RUN" layer discard x > /dev/null; "$SBX_RUN" layer discard y > /dev/null
run . --layer x -- true | grep -o '"kind":"overlay"'
""")
        self.assertEqual(out.split("\n"), ["1755", '"kind":"copy"', "at", "end", "w", '"stdout":"new\\n"',
                                           '"kind":"copy"', '"kind":"overlay"', ""])

    def test_one_that_sbx_did_not_make_is_not_trusted(self):
        """As it comes with a file system, or with another state directory."""
        out = self.mounted("""
mkdir -m 700 "$STORE"
run w --layer x -- sh -c 'echo new > f' | grep -o '"kind":"copy"'
ls -A "$STORE"; rmdir "$STORE"; mkdir v
run v --layer x -- sh -c 'echo new > f' | grep -o '"kind":"overlay"'
cd v; XDG_STATE_HOME="$PLACE/other" "$SBX_RUN" layer diff x 2>&1 > /dev/null | grep -c 'path_refused: .* holds layers'
""")
        self.assertEqual(out, '"kind":"copy"\n"kind":"overlay"\n1\n')


class Patterns(Kept):
    PROFILE = {"filesystem": {"+roots": [{"path": "${workspace}/**/.env", "access": "none"}],
                              "+protect": ["**/Makefile"]}}
    MAKE = "mkdir y; echo hush > y/.env; echo all: > y/Makefile; echo 1 > y/plain"

    def denied(self, answer):
        return sorted((one["operation"], os.path.relpath(one["target"], self.work))
                      for one in answer["denials"])

    def test_a_run_names_what_has_come_to_match(self):
        profile = self.profile(self.PROFILE)
        named = [("hidden_appeared", "y/.env"), ("protected_created", "y/Makefile")]
        self.assertEqual(self.denied(self.inside(self.MAKE, "x", "--profile", profile)), named)
        self.assertEqual(self.denied(self.sh(self.MAKE, "--overlay", "--profile", profile)), named)

    def test_neither_a_patch_nor_a_commit_has_it(self):
        """By the runs that filled the layer, or by the profile of the commit."""
        profile = self.profile(self.PROFILE)
        self.inside(self.MAKE, "x", "--profile", profile)
        self.inside(self.MAKE, "later")
        for name, flags in (("x", ()), ("later", ("--profile", profile))):
            answer = self.refused("path_refused", "commit", name, *flags)
            self.assertEqual([(os.path.relpath(one["path"], self.work), one["kind"])
                              for one in answer["changes"]],
                             [("y/.env", "hidden"), ("y/Makefile", "protected")])
        self.assertNotIn("hush", self.layer("diff", "x"))
        self.layer("commit", "x", "y/plain")
        self.assertEqual(os.listdir(self.work + "/y"), ["plain"])

    def test_a_server_that_hides_shows_no_patch_of_it(self):
        self.inside(self.MAKE)
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "layer.diff", "params": {}})
        with open(self.write("request", line + "\n")) as file:
            done = self.raw("serve", "--layer", "x", "--workspace", self.work, "--hide", "**/.env", stdin=file)
        answer = json.loads(done.stdout.splitlines()[-1])
        self.assertIn("all:", answer["result"]["patch"])
        self.assertNotIn("hush", answer["result"]["patch"])


class Closed(Kept):
    def test_a_closed_directory_is_read(self):
        """Mode 000, by a user other than root: the rest of the layer could not be had either."""
        self.inside("mkdir -p c/d; echo 1 > c/d/f; echo 2 > y; chmod 0 c/d c")
        self.assertIn("+1", self.layer("diff", "x"))
        self.layer("commit", "x", "y")
        # What stays in the layer keeps its mode.
        self.assertEqual(self.inside("stat -c %a c")["stdout"], "0\n")
        self.layer("commit", "x")
        self.assertEqual(os.stat(self.work + "/c").st_mode & 0o777, 0)
        os.chmod(self.work + "/c", 0o700)
        os.chmod(self.work + "/c/d", 0o700)
        self.assertEqual(self.read("c/d/f"), "1\n")

    def test_one_is_given_up(self):
        self.inside("mkdir c; echo 1 > c/f; echo 2 > y; chmod 0 c")
        self.layer("commit", "x", "--ours", self.work + "/c")
        self.assertEqual(os.listdir(self.work), ["y"])

    def test_the_root_itself(self):
        self.put("f", "1\n")
        self.inside("echo 2 > f; chmod 0 .")
        self.assertIn("+2", self.layer("diff", "x"))
        self.assertEqual([one["path"] for one in json.loads(self.layer("diff", "x", "--json"))["changes"]],
                         [self.work + "/f"])
        self.layer("commit", "x")
        self.assertEqual((self.read("f"), os.stat(self.work).st_mode & 0o700), ("2\n", 0o700))

    def test_one_that_was_opened_again(self):
        self.inside("mkdir c; echo 1 > c/f; chmod 0 c")
        self.layer("checkpoint", "x", "a")
        self.inside("chmod 700 c")
        self.assertIn("+1", self.layer("diff", "x"))
        self.layer("commit", "x")
        self.assertEqual(self.read("c/f"), "1\n")


class Protected(Kept):
    def test_what_a_layer_changes_of_it_is_told_of(self):
        """No commit makes it real. Nothing else was refused, though git may just have tried in vain."""
        subprocess.run(["git", "init", "-q", self.work], check=True)
        command = "git config user.name x; echo x > .git/hooks/post-commit; mkdir .sbx; echo x > ordinary"
        answer = self.run_json("-c", command)
        self.assertIn(("write", self.work + "/.git/config"), [(d["operation"], d["target"]) for d in answer["denials"]])
        answer = self.run_json("--layer", "x", "-c", command)
        self.assertEqual({(d["operation"], d["target"]) for d in answer["denials"]},
                         {("protected_changed", f"{self.work}/{name}")
                          for name in (".git/config", ".git/hooks/post-commit", ".sbx")}, answer)
        self.assertEqual(self.run_json("--overlay", "-c", command)["denials"], [])

    def test_what_a_run_held_is_committed_under_no_other_profile(self):
        """A root within the workspace, of which the commit's own profile knows nothing, has a .claude of its own; and
        what is held where it is there, and else only reported, is held."""
        self.put("a/b/.claude", "mine\n")
        self.put("named", "mine\n")
        profile = self.profile({"commands": {"ask": []}, "filesystem": {
            "+roots": [{"path": self.work + "/a/b", "access": "rw"}],
            "+protect": [{"path": "named", "missing": "report"}]}})
        for number, change in enumerate(("echo x > {0}", "rm {0}", "mv {0} {0}.m; ln -s /etc {0}")):
            for path in ("a/b/.claude", "named"):
                name = f"l{number}{path.count('/')}"
                self.inside(change.format(path), name, "--profile", profile)
                self.refused("path_refused", "commit", name)
                self.assertEqual(self.read(path), "mine\n")

    def test_what_the_commits_profile_protects_is_not_committed(self):
        """Though the runs that filled the layer did not."""
        self.put("named", "mine\n")
        self.inside("echo x > named; echo x > free")
        profile = self.profile({"filesystem": {"+protect": ["named"]}})
        answer = self.refused("path_refused", "commit", "x", "--profile", profile)
        self.assertEqual(answer["changes"], [{"path": self.work + "/named", "kind": "protected"}])
        self.assertEqual((self.read("named"), os.listdir(self.work)), ("mine\n", ["named"]))


class LedByGit(Kept):
    def git(self, *words):
        subprocess.run(["git", *words], cwd=self.work, check=True)

    def test_what_leads_it_elsewhere_is_not_committed(self):
        self.git("init", "-q")
        for name, command in (("commondir", "cp -r .git .cache; echo ../.cache > .git/commondir"),
                              ("config.worktree", "echo > .git/config.worktree")):
            self.inside(command + "; echo > ordinary", name)
            answer = self.refused("path_refused", "commit", name)
            self.assertEqual(answer["changes"], [{"path": f"{self.work}/.git/{name}", "kind": "protected"}])
            self.assertFalse(os.path.exists(f"{self.work}/.git/{name}"))

    def test_a_commit_says_what_it_goes_by_from_then_on(self):
        def warned(command):
            self.inside(command)
            warnings = json.loads(self.layer("commit", "x", "--json"))["warnings"]
            return [os.path.relpath(line.split(": ")[1], self.work) for line in warnings
                    if line.startswith("git goes by it now: ")]
        self.assertEqual(warned("git init -q --bare b; mv b/* .; rmdir b"), [".", "config"])
        self.assertEqual(warned("rm HEAD"), ["HEAD"])
        self.git("init", "-q")
        self.git("config", "core.hooksPath", "tools/hooks")
        self.assertEqual(warned("mkdir -p tools/hooks; echo > tools/hooks/pre-commit"), ["tools/hooks/pre-commit"])
        self.assertEqual(warned("echo > ordinary"), [])


class Shown(Kept):
    """Runs that are shown the state directory, as by a home that is a root."""

    def while_another_holds_a_layer(self, *arguments, **options):
        with subprocess.Popen([harness.SBX_RUN, "exec", "--layer", "x", "-c", "echo hush > .env; read -r"],
                              env=self.environment, cwd=self.work, stdin=subprocess.PIPE,
                              stdout=subprocess.DEVNULL) as run:
            try:
                self.assertTrue(harness.until(lambda: self.layers_seen("work/work")))
                return self.raw("run", *arguments, **options)
            finally:
                run.stdin.close()

    def layers_seen(self, ending):
        return any(os.path.join(top, name).endswith(ending)
                   for top, names, _ in os.walk(self.state + "/sbx/layers") for name in names)

    def test_a_pattern_holds_while_another_run_has_a_layer(self):
        """The kernel's own directory in an overlay lets nobody but root list it."""
        self.write("other/a/.env", "hush")
        self.write("other/a/plain", "plain\n")
        profile = self.profile({"filesystem": {
            "roots": [{"path": "${workspace}", "access": "rw"}, {"path": self.base, "access": "ro"},
                      {"path": self.base + "/**/.env", "access": "none"}],
            "protect": ["**/lock.json"]}})
        done = self.while_another_holds_a_layer(
            "--profile", profile, "-c",
            f"cat a/.env; cat a/plain; ls {self.state}/sbx; ls {self.state}/sbx/layers", cwd=self.base + "/other")
        answer = json.loads(done.stdout)
        self.assertEqual(answer["stdout"], "plain\nlayers\n", answer)
        self.assertEqual({d["operation"] for d in answer["denials"]}, {"open"}, answer)

    def test_no_layer_is_read_by_a_run_of_another_workspace(self):
        self.inside("echo hush > secret")
        other = os.path.dirname(self.write("other/plain", ""))
        for flags in (["--ro", self.state], ["--rw", self.state], ["--ro", self.base]):
            done = self.raw("run", *flags, "-c", f"find {self.state}/ -name secret; mkdir -p {self.state}/sbx/layers/x",
                            cwd=other)
            answer = json.loads(done.stdout)
            self.assertEqual((answer["status"], answer["stdout"]), ("exited", ""), answer)
        self.assertEqual(self.inside("cat secret")["stdout"], "hush\n")

    def test_a_root_that_names_one_shows_it(self):
        self.inside("echo seen > secret")
        other = os.path.dirname(self.write("other/plain", ""))
        store = self.state + "/sbx/layers"
        for named in (store, os.path.join(store, os.listdir(store)[0])):
            done = self.raw("run", "--ro", named, "-c", f"find {named} -name secret", cwd=other)
            self.assertIn("/secret\n", json.loads(done.stdout)["stdout"], done)


if __name__ == "__main__":
    unittest.main()
