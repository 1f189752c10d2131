# SPDX-License-Identifier: Apache-2.0
"""Fresh workspaces and full logs: what sbx keeps on the host for one run."""

import json
import os
import signal
import stat
import subprocess
import time
import unittest

import harness

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1cE3gI5"
FRESH = {"workspace": {"mode": "fresh"}}


class Closed(harness.Case):
    def test_a_workspace_that_cannot_be_entered_is_named_and_nothing_that_is_looked_for_in_it(self):
        closed = os.path.join(self.work, "closed")
        os.mkdir(closed, 0)
        as_user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] if os.geteuid() == 0 else []
        os.chmod(self.base, 0o755)
        done = subprocess.run([*as_user, "env", "HOME=/nonexistent", harness.SBX_RUN, "--workspace", closed,
                               "-c", "true"], cwd="/", stdin=subprocess.DEVNULL, capture_output=True, check=False)
        error = json.loads(done.stdout)["error"]
        self.assertEqual(error["code"], "path_refused", error)
        self.assertRegex(error["message"], f"^the workspace {closed} cannot be entered: EACCES")
        self.assertIn("--workspace", error["hint"])


class Fresh(harness.Case):
    def setUp(self):
        super().setUp()
        self.cache = os.path.join(self.base, "cache")
        self.env = {**os.environ, "XDG_CACHE_HOME": self.cache}
        self.fresh = self.profile(FRESH, "fresh.json")

    def left(self):
        place = os.path.join(self.cache, "sbx/workspaces")
        return os.listdir(place) if os.path.isdir(place) else []

    def run_fresh(self, command, *flags):
        return self.sh(command, "--profile", self.fresh, *flags, env=self.env)

    def test_each_run_has_a_directory_of_its_own_and_leaves_nothing(self):  # C5
        first = self.run_fresh("pwd; ls -A; echo x > file; stat -c %a .")
        second = self.run_fresh("pwd; ls -A")
        lines = first["stdout"].splitlines()
        self.assertTrue(lines[0].startswith(os.path.realpath(self.cache) + "/sbx/workspaces/"))
        self.assertEqual(lines[1:], ["700"])
        self.assertEqual(first["cwd"], lines[0])
        self.assertNotEqual(first["stdout"].splitlines()[0], second["stdout"].splitlines()[0])
        self.assertEqual(self.left(), [])
        self.assertEqual(os.listdir(self.work), [])

    def test_the_current_directory_is_not_shown(self):
        self.write("work/secret", "hidden")
        answer = self.run_fresh(f"cat {self.work}/secret")
        self.assertNotEqual(answer["exit_code"], 0)
        self.assertNotIn("hidden", answer["stdout"])

    def test_whatever_the_command_leaves_is_removed(self):
        for command in (
            "mkdir -p a/b; touch a/b/c; chmod 0 a/b/c a/b a; chmod 0 .",
            "mkfifo pipe; ln -s /etc link; ln -s loop loop; mkdir -p 'odd\nname'; touch -- -x",
            "python3 -c 'import os\nfor i in range(5000): os.mkdir(\"d\"); os.chdir(\"d\")'",
        ):
            answer = self.run_fresh(command)
            self.assertEqual(answer["status"], "exited", answer)
            self.assertEqual(self.left(), [], command)
            told = [w for w in answer["sandbox"]["warnings"] if not w.startswith("PATH: ")]
            self.assertEqual(told, [])
        self.assertTrue(os.path.isdir("/etc"))

    def test_a_killed_sbx_run_leaves_nothing_either(self):
        process = subprocess.Popen(
            [harness.SBX_RUN, "--profile", self.fresh, "-c", "touch file; sleep 30"],
            cwd=self.work,
            env=self.env,
            stdout=subprocess.DEVNULL,
        )
        until = time.monotonic() + harness.BOUND
        while not any(
            os.path.exists(os.path.join(self.cache, "sbx/workspaces", name, "file"))
            for name in self.left()
        ):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        while self.left():
            self.assertLess(time.monotonic(), until, self.left())
            time.sleep(0.01)

    def test_without_a_cache_directory_the_temporary_one_serves(self):
        env = {"PATH": os.environ["PATH"], "TMPDIR": self.base}
        answer = self.sh("pwd", "--profile", self.fresh, env=env)
        self.assertTrue(answer["stdout"].startswith(os.path.realpath(self.base)), answer)
        self.assertEqual(self.sh("pwd", "--profile", self.fresh, env={})["exit_code"], 0)

    def test_no_home_is_made_and_the_temporary_directory_serves(self):
        profile = self.profile({**FRESH, "output": {"spill_mb": 1}})
        missing = os.path.join(self.base, "missing")
        tmp, home = os.path.join(self.base, "tmp"), os.path.join(self.base, "home")
        os.mkdir(tmp)
        os.mkdir(home)
        of_xdg = {"XDG_CACHE_HOME": missing + "/a/cache", "XDG_STATE_HOME": missing + "/a/state"}
        for variables in ({"HOME": missing}, {"HOME": home, **of_xdg}, {"HOME": missing, **of_xdg}):
            env = {"PATH": os.environ["PATH"], "TMPDIR": tmp, **variables}
            answer = self.sh("pwd; seq 9", "--profile", profile, env=env)
            for path in (answer["stdout"].splitlines()[0], answer["output_path"]):
                self.assertTrue(path.startswith(os.path.realpath(tmp) + "/sbx-"), (variables, answer))
            self.assertFalse(os.path.exists(missing), variables)

    def test_it_has_no_layers(self):
        answer = self.run_fresh(": > ran", "--layer", "one")
        self.assert_error(answer, "bad_value")
        self.assertEqual(answer["error"]["where"], "--layer")
        self.assertEqual(self.left(), [])

    def test_a_cwd_lies_below_the_fresh_workspace(self):
        answer = self.run_fresh("pwd", "--cwd", "no/such")
        self.assertEqual(answer["status"], "error")
        self.assertEqual(self.left(), [])

    def test_check_explain_and_run_judge_in_one_directory(self):
        # Below it, beside it and above it: what is beside a directory of the workspace is in it.
        for command, verdict in (("rm -rf x", "allow"), ("rm -rf ../x", "allow"),
                                 ("rm -rf ../../x", "ask")):
            flags = ["--profile", self.fresh, "--cwd", "sub"]
            check = self.run_json("check", *flags, "-c", command)
            self.assertEqual(check["verdict"], verdict, (command, check))
            done = self.raw("explain", "--json", *flags, "-c", command, env=self.env)
            self.assertEqual(json.loads(done.stdout)["check"]["verdict"], verdict, command)
            # The directory is not there: that is what stops a command that nobody is asked about.
            answer = self.sh(command, *flags, env=self.env)
            asked = answer["status"] == "needs_approval"
            self.assertEqual(asked, verdict == "ask", (command, answer))

    def test_nothing_in_a_workspace_of_bash_exec_can_be_executed(self):
        answer = self.sh(
            "cp /bin/true mine; echo ./mine > name; $(cat name); echo $?",
            "--profile", "tool-bash_exec", env=self.env
        )
        self.assertEqual(answer["stdout"], "126\n", answer)
        answer = self.sh("./mine", "--profile", "tool-bash_exec", env=self.env)
        self.assertEqual(answer["status"], "denied", answer)

    def test_a_root_can_be_made_unexecutable(self):
        profile = self.profile(
            {"filesystem": {"roots": [{"path": "${workspace}", "access": "rw", "noexec": True}]}}
        )
        answer = self.sh("cp /bin/true mine && ./mine", "--profile", profile)
        self.assertEqual(answer["exit_code"], 126, answer)
        self.assertEqual(self.sh("cp /bin/true mine && ./mine")["exit_code"], 0)
        # So it stays where its writes are kept apart.
        environment = {**self.env, "XDG_STATE_HOME": os.path.join(self.base, "state")}
        for flags in (("--overlay",), ("--layer", "x")):
            for command in ("./mine", "cp /bin/true other && ./other"):
                answer = self.sh(command, "--profile", profile, *flags, env=environment)
                self.assertEqual(answer["exit_code"], 126, (flags, answer))
            self.assertEqual(self.sh("./mine", *flags, env=environment)["exit_code"], 0)

    def test_explain_leaves_no_workspace(self):
        done = self.raw("explain", "--profile", self.fresh, "--json", env=self.env)
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(self.left(), [])


class FullLog(harness.Case):
    def setUp(self):
        super().setUp()
        self.env = {**os.environ, "XDG_STATE_HOME": os.path.join(self.base, "state")}
        self.spilling = self.profile({"output": {"spill_mb": 1}}, "spill.json")

    def spilled(self, command, *flags):
        answer = self.sh(command, "--profile", self.spilling, *flags, env=self.env)
        with open(answer["output_path"]) as file:
            return answer, file.read()

    def test_the_full_log_holds_both_streams_in_their_order_redacted(self):
        command = f"for i in 1 2 3; do echo out $i; sleep 0.05; echo err $i {TOKEN} >&2; sleep 0.05; done"
        answer, text = self.spilled(command)
        self.assertEqual(
            text, "".join(f"out {i}\nerr {i} [REDACTED]\n" for i in range(1, 4)), answer
        )
        info = os.stat(answer["output_path"])
        self.assertEqual(stat.S_IMODE(info.st_mode), 0o600)
        self.assertTrue(answer["output_path"].startswith(self.env["XDG_STATE_HOME"] + "/sbx/logs/"))

    def test_it_holds_what_the_answer_leaves_out(self):
        answer, text = self.spilled("seq 1 50000", "--max-output", "1K")
        self.assertTrue(answer["truncated"]["stdout"])
        self.assertEqual(text, "".join(f"{i}\n" for i in range(1, 50001)))

    def test_the_cap_holds_and_is_said(self):
        answer, text = self.spilled("head -c 3000000 /dev/zero")
        head, _, marker = text.partition("\n")
        self.assertEqual(len(head), 1 << 20)
        self.assertIn(f"{3000000 - (1 << 20)} bytes left out", marker)
        self.assertTrue(any("spill_mb" in w for w in answer["sandbox"]["warnings"]))
        self.assertIsNone(answer["error"])

    def test_without_spill_there_is_no_log(self):
        answer = self.sh("echo hi", env=self.env)
        self.assertIsNone(answer["output_path"])
        self.assertFalse(os.path.exists(self.env["XDG_STATE_HOME"]))

    def test_a_log_that_cannot_be_written_does_not_lose_the_answer(self):
        profile = self.profile({"output": {"spill_mb": 9}}, "large.json")
        limited = [
            "prlimit", "--fsize=1000000:1000000", "--", harness.SBX_RUN, "--profile", profile, "-c",
            "yes 0123456789 | head -c 1500000; exit 7",
        ]  # fmt: skip
        done = subprocess.run(
            limited, cwd=self.work, env=self.env, capture_output=True, timeout=harness.BOUND
        )
        answer = json.loads(done.stdout)
        self.assertEqual(answer["stdout_bytes"], 1500000)
        self.assertEqual(os.stat(answer["output_path"]).st_size, 1000000)
        self.assertEqual((answer["status"], answer["exit_code"]), ("exited", 7))
        self.assertEqual(answer["error"]["code"], "spill_failed")
        self.assertEqual(done.returncode, 7)

    def test_a_planted_link_is_not_followed(self):
        target = os.path.join(self.base, "target")
        os.mkdir(target)
        os.makedirs(os.path.join(self.base, "state/sbx"))
        os.symlink(target, os.path.join(self.base, "state/sbx/logs"))
        env = {**self.env, "TMPDIR": self.base}
        answer = self.sh("echo hi", "--profile", self.spilling, env=env)
        self.assertEqual(os.listdir(target), [])
        self.assertTrue(answer["output_path"].startswith(self.base + "/sbx-logs-"), answer)


if __name__ == "__main__":
    unittest.main()
