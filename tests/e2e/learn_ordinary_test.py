# SPDX-License-Identifier: Apache-2.0
"""learn of ordinary commands: what a person would be asked about, system calls, what lies beside a
profile, and profiles that it cannot learn under."""

import json
import os
import shutil
import stat
import subprocess
import unittest

import harness


class OrdinaryTest(harness.Case):
    def setUp(self):
        super().setUp()
        self.home = os.path.join(self.base, "home")
        os.mkdir(self.home)
        self.file = os.path.join(self.base, "learned.json")
        self.env = {**{k: v for k, v in os.environ.items() if k not in ("PWD", "OLDPWD")}, "HOME": self.home}

    def learn(self, *words, status=0, **options):
        done = self.raw("learn", *words, env=self.env, **options)
        self.assertEqual(done.returncode, status, done)
        return json.loads(done.stdout)

    def learn_outside(self, command):
        """In a /srv of the test's own: /tmp, the home and the workspace are written to in any case."""
        script = ("mount -t tmpfs none /srv && mkdir -p /srv/out/d/e && echo 1 > /srv/out/old && "
                  "echo 1 > /srv/out/d/e/f && \"$@\" && find /srv/out -type f")
        done = subprocess.run(
            [*harness.OWN_MOUNTS, "sh", "-c", script, "sh", harness.SBX_RUN,
             "learn", "--out", self.file, "--yes", "--", *command],
            cwd=self.work, env=self.env, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=harness.BOUND, check=False)
        self.assertEqual(done.returncode, 0, done)
        answer, *there = done.stdout.decode().splitlines()
        self.assertEqual(sorted(there), ["/srv/out/d/e/f", "/srv/out/old"])  # none of it happened
        answer = json.loads(answer)
        self.assertEqual((answer["proven"], answer["exit_code"]), (True, 0), answer)
        return answer, done.stderr.decode()

    def roots(self, answer):
        return {line["value"]["path"]: line["value"]["access"] for line in answer["lines"]}

    def test_an_answer_that_nobody_gets_is_a_failure(self):
        for flags in ((), ("--out", self.file, "--yes")):
            for to in ("/dev/full", "&-"):
                with self.subTest(flags=flags, to=to):
                    done = subprocess.run(["sh", "-c", f'exec "$@" >{to}', "sh", harness.SBX_RUN, "learn", *flags,
                                           "--", "true"], cwd=self.work, env=self.env, stdin=subprocess.DEVNULL,
                                          stderr=subprocess.PIPE, timeout=harness.BOUND, check=False)
                    self.assertEqual(done.returncode, 125, done)
                    self.assertIn(b"output_unwritable", done.stderr)
                    if flags:
                        os.unlink(self.file)

    def test_learns_under_a_profile_with_caches(self):
        os.mkdir(self.home + "/.npm")
        own = self.profile({"extends": ["default", "caches"], "limits": {"pids": 77}}, "own.json")
        for flags in (("--with", "caches"), ("--profile", own)):
            answer = self.learn(*flags, "-c", "echo 1 > ~/.npm/x && cat ~/.npm/x")
            self.assertEqual((answer["proven"], answer["exit_code"], answer["lines"]), (True, 0, []), answer)
            self.assertEqual(os.listdir(self.home + "/.npm"), [])

    def test_learns_where_the_accounts_own_home_may_not_be_searched(self):
        key = self.write("shut/.ssh/id_rsa", "PRIVATE\n")
        shut = self.base + "/shut"
        begin, uid, gid = ["unshare", "-Urm"], os.geteuid(), os.getegid()
        become = f"unshare -U --map-user={uid} --map-group={gid}"
        if harness.is_root():
            begin, uid, gid = ["unshare", "-m"], 4711, 4711
            become = f"setpriv --reuid {uid} --regid {gid} --clear-groups"
            os.chmod(self.base, 0o755)
            for path in (shut, shut + "/.ssh", key, self.work, self.home):
                os.chown(path, uid, gid)
        os.chmod(shut, 0)
        self.addCleanup(os.chmod, shut, 0o700)
        accounts = self.write("passwd", f"one:x:{uid}:{gid}::{shut}:/bin/sh\n")
        script = f'mount --bind {accounts} /etc/passwd && exec {become} "$@"'

        def learn(command):
            done = subprocess.run([*begin, "sh", "-c", script, "sh", harness.SBX_RUN, "learn", "-c", command],
                                  cwd=self.work, env=self.env, stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=harness.BOUND, check=False)
            return json.loads(done.stdout)

        answer = learn("echo hi")
        self.assertTrue(answer.get("proven"), answer)
        # Nor does its owner's command, which could open it, get to what is hidden.
        answer = learn(f"chmod 700 {shut}; ! cat {key}")
        self.assertEqual((answer["exit_code"], answer["profile"]), (0, {"extends": "default"}), answer)

    def test_a_program_that_is_named_by_its_path(self):
        tool = self.write("kit/tool", "#!/bin/sh\nexit 3\n", 0o755)
        answer = self.learn("--out", self.file, "--yes", "--", tool)
        self.assertEqual((answer["proven"], answer["exit_code"], self.roots(answer)), (True, 3, {tool: "ro"}), answer)

    def test_what_a_run_asks_about_is_learned_and_told(self):
        for command, root, rule in (("echo hi > /srv/out/new", "/srv/out", "destructive.truncate-outside"),
                                    ("echo hi | tee /srv/out/old", "/srv/out/old", "destructive.truncate-outside"),
                                    ("sed -i s/1/2/ /srv/out/old", "/srv/out", "destructive.truncate-outside"),
                                    ("rm -f /srv/out/old", "/srv/out", "destructive.rm-outside"),
                                    ("mv /srv/out/old /srv/out/new", "/srv/out", None)):
            with self.subTest(command=command):
                answer, told = self.learn_outside(["sh", "-c", command])
                self.assertEqual(self.roots(answer), {root: "rw"})
                self.assertEqual([asked["id"] for asked in answer["asks"]], [rule] if rule else [])
                if rule:
                    self.assertIn(f"a run asks first ({rule}): ", told)
                # The profile itself goes on asking.
                self.assertNotIn("commands", answer["profile"])

    def test_a_tree_is_removed_with_its_top(self):
        remove = "import shutil; shutil.rmtree('/srv/out/d')"
        answer, _ = self.learn_outside(["/usr/bin/python3", "-c", remove])
        self.assertEqual(self.roots(answer), {"/srv/out": "rw"})

    def test_settings_of_git_are_learned_where_it_asks_for_them(self):
        with open(os.path.join(self.home, ".gitconfig"), "w", encoding="utf-8") as file:
            file.write("[user]\n name = U\n email = u@x\n")
        subprocess.run(["git", "init", "-q", self.work], env=self.env, check=True)
        for command in (["git", "commit", "-q", "--allow-empty", "-m", "x"],
                        ["git", "config", "--global", "user.name"]):
            answer = self.learn("--yes", "--out", self.file, "--", *command)
            self.assertEqual((answer["proven"], answer["profile"]["filesystem"]),
                             (True, {"git_config": "user"}), answer)
            os.unlink(self.file)

    def test_sockets_of_every_family_are_left_to_a_person(self):
        code = ("import socket\n"
                "for kind in ((socket.AF_UNIX, socket.SOCK_DGRAM), (38, socket.SOCK_SEQPACKET)):\n"
                "    try: socket.socket(*kind)\n"
                "    except PermissionError: pass\n")
        answer = self.learn("--yes", "--out", self.file, "--", "/usr/bin/python3", "-c", code)
        self.assertEqual((answer["proven"], answer["profile"].get("seccomp")), (True, None), answer)
        self.assertIn('not granted: seccomp.allow += ["socket"]: socket lets every family of sockets pass',
                      answer["refused"])

    def test_calls_that_it_learns_are_had_by_the_first_run_too(self):
        code = ("import ctypes, errno\n"
                "ctypes.CDLL(None, use_errno=True).syscall(298, None, 0, -1, -1, 0)\n"
                "exit(ctypes.get_errno() == errno.EPERM)")
        if os.uname().machine != "x86_64":
            self.skipTest("the number of perf_event_open is another one")
        with open("/proc/sys/kernel/perf_event_paranoid") as file:
            if int(file.read()) > 2:
                self.skipTest("perf_event_open is refused by the machine, too")
        answer = self.learn("--yes", "--out", self.file, "--", "/usr/bin/python3", "-c", code)
        self.assertEqual((answer["proven"], answer["exit_code"]), (True, 0), answer)
        self.assertEqual(answer["profile"]["seccomp"], {"+allow": ["perf_event_open"]})

    def test_a_profile_that_extends_one_beside_it_is_merged(self):
        self.write("team/base.json", '{"extends": "default", "limits": {"tmp_mb": 77}}')
        seen = self.write("outside/seen", "x")
        own = self.write("team/p.json", '{"extends": "./base.json"}')
        answer = self.learn("--yes", "--merge", "../team/p.json", "--", "cat", seen)
        self.assertTrue(answer["written"], answer)
        with open(own) as file:
            self.assertEqual(json.load(file)["extends"], "./base.json")
        self.assertEqual(self.run_json("--profile", own, "--", "cat", seen)["stdout"], "x")
        # Elsewhere it is named from /.
        self.learn("--yes", "--merge", own, "--out", self.file, "--", "cat", seen)
        with open(self.file) as file:
            self.assertEqual(json.load(file)["extends"], self.base + "/team/base.json")
        self.assertEqual(self.run_json("--profile", self.file, "--", "cat", seen)["stdout"], "x")

    def test_profiles_that_nothing_is_learned_under_are_named(self):
        for profile, words in (("tool-bash_exec", "makes a workspace for each run"),
                               ("unconfined", "under the profile nothing is hidden")):
            error = self.learn("--profile", profile, "--", "true", status=125)["error"]
            self.assertEqual((error["code"], error["where"]), ("bad_flag", "--profile"))
            self.assertIn(words, error["message"])

    def test_limits_that_are_wide_are_not_lowered(self):
        """Nor raised where the machine's own are met."""
        many = "import os\nfor i in range(2100): os.open('/dev/null', 0)"
        done = subprocess.run(["bash", "-c", 'ulimit -n 2000 && exec "$@"', "sh", harness.SBX_RUN, "learn",
                               "--profile", "build", "--", "/usr/bin/python3", "-c", many],
                              cwd=self.work, env=self.env, capture_output=True, stdin=subprocess.DEVNULL,
                              timeout=harness.BOUND, check=False)
        answer = json.loads(done.stdout)
        self.assertEqual((answer["proven"], answer["exit_code"], answer["profile"]),
                         (True, 1, {"extends": "build"}), answer)
        self.assertIn("left to you: limits.open_files = 16384", answer["refused"])

    def test_a_symlink_of_the_profile_stays_one_and_its_file_its_owners(self):
        os.symlink("learned.json", self.base + "/link.json")
        self.write("learned.json", "{}", 0o640)
        if harness.is_root():
            os.chown(self.file, 12345, 23456)
        seen = self.write("outside/seen", "x")
        self.learn("--yes", "--merge", self.base + "/link.json", "--", "cat", seen)
        self.assertTrue(os.path.islink(self.base + "/link.json"))
        with open(self.file) as file:
            self.assertIn(seen, file.read())
        info = os.stat(self.file)
        owner = (12345, 23456) if harness.is_root() else (os.geteuid(), os.getegid())
        self.assertEqual((info.st_uid, info.st_gid, info.st_mode & 0o777), (*owner, 0o640))

    def test_what_is_no_file_is_not_written_over(self):
        self.write("victim", "kept\n")
        os.symlink("victim", self.base + "/planted.json")
        os.mkfifo(self.base + "/fifo")
        os.mkdir(self.base + "/directory")
        for name in ("planted.json", "fifo", "directory"):
            done = self.raw("learn", "--yes", "--out", self.base + "/" + name, "--", "touch", self.work + "/ran", env=self.env)
            self.assertEqual((done.returncode, json.loads(done.stdout)["error"]["code"]), (125, "output_unwritable"), done)
            self.assertTrue(done.stderr.startswith(b"sbx-run: output_unwritable: "), done)  # before anything is learned
        with open(self.base + "/victim") as file:
            self.assertEqual(file.read(), "kept\n")
        self.assertTrue(stat.S_ISFIFO(os.stat(self.base + "/fifo").st_mode))

    def test_nor_what_comes_to_be_there_while_it_learns(self):
        self.write("victim", "kept\n")
        out = self.base + "/late"
        for make in (lambda path: os.symlink("victim", path), os.mkfifo):
            process = subprocess.Popen([harness.SBX_RUN, "learn", "--yes", "--out", out, "--", "sleep", "1.0625"],
                                       cwd=self.work, env=self.env, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            self.assertTrue(harness.until(self.sleeps))
            make(out)
            answer = json.loads(process.communicate(timeout=harness.BOUND)[0])
            self.assertEqual((process.returncode, answer["error"]["code"]), (125, "output_unwritable"), answer)
            os.unlink(out)
        with open(self.base + "/victim") as file:
            self.assertEqual(file.read(), "kept\n")

    @staticmethod
    def sleeps():
        """Whether the command itself runs by now."""
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    if file.read() == b"sleep\x001.0625\0":
                        return True
            except OSError:
                continue
        return False

    @unittest.skipUnless(harness.is_root(), "directories of other users are made by root alone")
    def test_a_users_directory_below_one_of_roots(self):
        """The layer over /var/tmp cannot copy that up; a layer over the user's own need not."""
        if not shutil.which("setpriv"):
            self.skipTest("no setpriv")
        top = "/var/tmp/sbx-e2e-" + os.path.basename(self.base)
        self.addCleanup(shutil.rmtree, top, ignore_errors=True)
        os.chmod(self.base, 0o755)
        for path, uid in ((top, 0), (top + "/mine", 4711), (self.work, 4711), (self.home, 4711)):
            os.makedirs(path, 0o755, exist_ok=True)
            os.chown(path, uid, uid)
        with open(top + "/mine/roots", "w") as file:
            file.write("x")
        os.chmod(top + "/mine/roots", 0o666)

        def learn(script):
            done = subprocess.run(["setpriv", "--reuid", "4711", "--regid", "4711", "--clear-groups",
                                   harness.SBX_RUN, "learn", "-c", script],
                                  cwd=self.work, env=self.env, capture_output=True,
                                  stdin=subprocess.DEVNULL, timeout=harness.BOUND, check=False)
            return json.loads(done.stdout)

        answer = learn(f"mkdir {top}/mine/new")
        self.assertEqual((answer["proven"], answer["exit_code"]), (True, 0), answer)
        self.assertEqual(self.roots(answer), {top + "/mine": "rw"})
        answer = learn(f"echo y >> {top}/mine/roots")
        self.assertIn(f"{top}/mine/roots is not written to while it learns: no layer can copy what is "
                      "another user's", answer["refused"])
        self.assertEqual(os.listdir(top + "/mine"), ["roots"])


if __name__ == "__main__":
    unittest.main()
