# SPDX-License-Identifier: Apache-2.0
"""learn: the profile that it writes is enough, and little more than that."""

import contextlib
import json
import os
import pty
import shutil
import socket
import subprocess

import harness
import network_harness
import world


class LearnTest(harness.Case):
    def setUp(self):
        super().setUp()
        self.home = os.path.join(self.base, "home")
        self.file = os.path.join(self.base, "learned.json")
        self.data = os.path.dirname(self.write("data/one", "1\n"))
        for name in ("two", "three", "four", "five", "six"):
            self.write("data/" + name, name + "\n")
        self.write("other/secret", "other\n")
        self.write("home/.ssh/id_rsa", "PRIVATE\n")
        self.write("work/.env", "TOKEN=1\n")
        self.write("work/in", "in\n")
        self.env = {**{k: v for k, v in os.environ.items() if k not in ("PWD", "OLDPWD")},
                    "HOME": self.home}

    def learn(self, *argv, flags=("--yes",), status=0):
        done = self.raw("learn", "--out", self.file, *flags, "--", *argv, env=self.env)
        self.assertEqual(done.returncode, status, done)
        return json.loads(done.stdout)

    def roots(self):
        profile = json.load(open(self.file))
        return {root["path"]: root["access"]
                for root in profile.get("filesystem", {}).get("+roots", [])}

    def run_learned(self, *argv):
        return self.run_json("--profile", self.file, "--trace-denials", "--overlay", "--", *argv,
                             env=self.env)

    def test_learns_a_program_that_is_not_shown(self):
        path = self.write("home/odd/bin/oddp", "#!/bin/sh\necho hi\n", 0o755)
        self.env["PATH"] = os.path.dirname(path) + ":" + self.env["PATH"]
        answer = self.learn("oddp")
        self.assertTrue(answer["proven"] and answer["written"], answer)
        self.assertEqual(list(self.roots().values()), ["ro"])
        self.assertNotIn("asked for by ,", json.dumps(answer))
        self.assertEqual(self.run_learned("oddp")["stdout"], "hi\n")

    def test_learns_a_limit_that_a_program_met_as_an_error(self):
        many = ("python3", "-c", "import os\nfor i in range(1500): os.open('/dev/null', 0)")
        answer = self.learn(*many)
        self.assertTrue(answer["proven"], answer)
        self.assertEqual(answer["second_run"]["exit_code"], 0)
        with open(self.file) as file:
            self.assertEqual(json.load(file)["limits"], {"open_files": 2048})

    def test_learns_what_is_read_outside_and_no_more(self):
        answer = self.learn("cat", "in", self.data + "/one")
        self.assertTrue(answer["proven"] and answer["written"], answer)
        self.assertEqual(self.roots(), {self.data + "/one": "ro"})
        self.assertEqual(self.run_learned("cat", "in", self.data + "/one")["stdout"], "in\n1\n")
        for other in (self.data + "/two", self.base + "/other/secret", self.home + "/.ssh/id_rsa"):
            refused = self.run_learned("cat", other)
            self.assertEqual(refused["exit_code"], 1, refused)

    def test_needs_nothing_for_what_the_parent_grants(self):
        answer = self.learn("sh", "-c", "cat in; echo x > out; mkdir made; ls /usr/bin > /dev/null")
        self.assertEqual(answer["profile"], {"extends": "default"})
        self.assertEqual(sorted(os.listdir(self.work)), [".env", "in"])

    def test_writes_go_to_a_layer_that_is_thrown_away(self):
        self.learn("sh", "-c", f"echo changed > {self.data}/one; rm {self.data}/two; echo x > in")
        self.assertEqual(self.roots().get(self.data), "rw")
        self.assertEqual(open(self.data + "/one").read(), "1\n")
        self.assertEqual(open(self.work + "/in").read(), "in\n")
        self.assertTrue(os.path.exists(self.data + "/two"))

    def test_what_it_writes_elsewhere_goes_to_one_as_well(self):
        # /srv is the test's own: /tmp, the home and the workspace are written in any case.
        script = ("mount -t tmpfs none /srv && mkdir /srv/out && echo 1 > /srv/out/old && \"$@\" && "
                  "ls /srv/out && cat /srv/out/old")
        command = "echo 2 >> /srv/out/old; cp /srv/out/old /srv/out/new; wc -l < /srv/out/new"
        done = subprocess.run(
            [*harness.OWN_MOUNTS, "sh", "-c", script, "sh",
             harness.SBX_RUN, "learn", "--out", self.file, "--yes", "--", "sh", "-c", command],
            cwd=self.work, env=self.env, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=harness.BOUND, check=False)
        self.assertEqual(done.returncode, 0, done)
        answer, *there = done.stdout.decode().splitlines()
        self.assertTrue(json.loads(answer)["proven"], answer)
        self.assertEqual((json.loads(answer)["exit_code"], there), (0, ["old", "1"]))
        self.assertEqual(self.roots(), {"/srv/out": "rw"})

    def test_secrets_are_masked_and_learned_by_nobody(self):
        answer = self.learn("sh", "-c", f"cat {self.home}/.ssh/id_rsa .env; cat {self.data}/one")
        self.assertEqual(self.roots(), {self.data + "/one": "ro"})
        self.assertEqual((answer["status"], answer["exit_code"]), ("exited", 0))
        self.assertNotIn("PRIVATE", json.dumps(answer))
        self.assertEqual(self.learn("sh", "-c", "cat .env && exit 9; exit 0")["exit_code"], 0)

    def test_nor_where_a_place_is_a_symlink_or_HOME_another(self):
        secret = self.write("dot/aws/credentials", "PRIVATE\n")
        os.symlink("../dot/aws", self.home + "/.aws")
        answer = self.learn("sh", "-c", f"cat {secret}; cat {self.data}/one")
        self.assertEqual(self.roots(), {self.data + "/one": "ro"})
        self.assertNotIn("PRIVATE", json.dumps(answer))
        self.assertTrue(any("holds credentials of a cloud" in line for line in answer["refused"]), answer)
        answer = self.learn("sh", "-c", "cat /etc/machine-id; true")
        self.assertEqual(self.roots(), {})

    def test_ends_as_the_command_does(self):
        for script, code in (("exit 3", 3), (f"cat {self.data}/one && exit 7", 7)):
            answer = self.learn("sh", "-c", script)
            self.assertEqual((answer["exit_code"], answer["proven"]), (code, True))
            self.assertEqual(self.run_learned("sh", "-c", script)["exit_code"], code)

    def test_many_files_of_a_directory_stand_for_it(self):
        self.learn("sh", "-c", f"cat {self.data}/one {self.data}/two {self.data}/three "
                               f"{self.data}/four {self.data}/five")
        self.assertEqual(self.roots(), {self.data: "ro"})

    def test_merges_without_taking_anything_out(self):
        self.learn("cat", self.data + "/one")
        self.learn("cat", self.data + "/two", flags=("--yes", "--merge", self.file))
        self.assertEqual(self.roots(), {self.data + "/one": "ro", self.data + "/two": "ro"})
        self.assertEqual(self.run_learned("cat", self.data + "/one")["exit_code"], 0)

    def test_paths_of_the_home_are_named_by_it(self):
        self.write("home/tools/run", "tool\n")
        self.learn("cat", self.home + "/tools/run")
        self.assertEqual(self.roots(), {"${home}/tools/run": "ro"})

    def test_writes_nothing_without_yes_or_a_terminal(self):
        answer = self.learn("cat", self.data + "/one", flags=(), status=125)
        self.assertEqual((answer["proven"], answer["written"]), (True, False))
        self.assertFalse(os.path.exists(self.file))

    def test_the_hosts_loopback_is_not_reached(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            answer = self.learn("bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{port}", status=125,
                                flags=())
        self.assertNotEqual(answer["exit_code"], 0, answer)

    def test_the_hosts_unix_sockets_are_not_reached(self):
        path = self.data + "/socket"
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path)
            server.listen()
            connect = f"import socket; socket.socket(socket.AF_UNIX).connect('{path}')"
            answer = self.learn("/usr/bin/python3", "-c", connect, status=125, flags=())
            self.assertNotEqual(answer["exit_code"], 0, answer)
            server.setblocking(False)
            self.assertRaises(BlockingIOError, server.accept)

    def test_nor_is_any_learned(self):
        """Beside files that are: what its refusal would grant stays with the person."""
        path = self.data + "/socket"
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path)
            server.listen()
            code = ("import os, socket\ns = socket.socket(socket.AF_UNIX)\n"
                    f"print(os.listdir('{self.data}'), s.connect_ex('{path}'))")
            answer = self.learn("/usr/bin/python3", "-c", code)
            server.setblocking(False)
            self.assertRaises(BlockingIOError, server.accept)
        self.assertNotIn("network", answer["profile"])
        self.assertTrue(any("left to you: network.unix_sockets" in line for line in answer["refused"]),
                        answer)

    def test_a_command_line_a_parent_and_presets(self):
        self.write("home/.cargo/bin/tool", "#!/bin/sh\necho tool\n", 0o755)
        command = ("-c", self.home + "/.cargo/bin/tool | cat")
        done = self.raw("learn", "--out", self.file, "--yes", *command, env=self.env)
        answer = json.loads(done.stdout)
        self.assertTrue(answer["written"], done)
        self.assertEqual(self.roots(), {"${home}/.cargo/bin/tool": "ro"})
        self.assertEqual([preset["name"] for preset in answer["presets"]], ["rust"])
        self.assertIn(b"--with rust would stand for 1", done.stderr)
        done = self.raw("learn", "--out", self.file, "--yes", "--profile", "strict", "--with", "rust",
                        *command, env=self.env)
        answer = json.loads(done.stdout)
        self.assertEqual(answer["profile"], {"extends": ["strict", "rust"]}, done)
        own = self.write("own.json", '{"extends": "default", "network": {"allow": []}}')
        done = self.raw("learn", "--yes", "--out", self.file, "--profile", "../own.json", "--", "true",
                        env=self.env)
        self.assertEqual(json.load(open(self.file)), {"extends": own}, done)

    def test_programs_where_the_parent_has_a_list_of_them(self):
        for base in ("system", "tools"):
            parent = self.profile({"filesystem": {"base": base}, "commands": {"allow": ["echo", "sort"]}})
            command = "cat in | sort | tr a-z A-Z"
            done = self.raw("learn", "--out", self.file, "--yes", "--profile", parent, "-c", command,
                            env=self.env)
            answer = json.loads(done.stdout)
            self.assertTrue(answer["written"], done)
            self.assertEqual(sorted(json.load(open(self.file))["commands"]["+allow"]), ["cat", "tr"])
            tiers = {line["tier"] for line in answer["lines"]}
            self.assertEqual(tiers if base == "system" else tiers & {"program"}, {"program"}, answer)
            self.assertEqual(self.run_json("--profile", self.file, "-c", command)["stdout"], "IN\n")
            for other in ("head in", "cat in | rev", "awk 1 in"):
                self.assertEqual(self.run_json("--profile", self.file, "-c", other)["status"], "denied")
            less = self.profile({"extends": parent, "commands": {"+allow": ["cat"]}}, "less.json")
            self.assertEqual(self.run_json("--profile", less, "-c", command)["status"], "denied")

    def test_a_preset_takes_the_place_of_lines_where_a_person_says_so(self):
        self.write("home/.cargo/bin/tool", "#!/bin/sh\necho tool\n", 0o755)
        for said, profile in (("n", {"extends": "default", "filesystem": {"+roots": [
                {"path": "${home}/.cargo/bin/tool", "access": "ro", "optional": True}]}}),
                              ("y", {"extends": ["default", "rust"]})):
            pid, fd = pty.fork()
            if pid == 0:
                os.chdir(self.work)
                os.execve(harness.SBX_RUN, [harness.SBX_RUN, "learn", "--out", self.file, "-c",
                                            self.home + "/.cargo/bin/tool | cat"], self.env)
            seen = b""
            for question, answer in ((b"Put --with rust in the place of 1 lines? [y/N] ", said),
                                     (b"Write this to ", "y")):
                while question not in seen or not seen.endswith(b"? [y/N] "):
                    seen += os.read(fd, 4096)
                os.write(fd, answer.encode() + b"\n")
            self.assertIn(b"rust opens filesystem.roots: ", seen)
            with contextlib.suppress(OSError):
                while text := os.read(fd, 4096):
                    seen += text
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0, seen)
            os.close(fd)
            self.assertIn(b"proven, and written to ", seen)
            self.assertEqual(json.load(open(self.file)), profile)

    def test_an_edit_of_the_profile_while_it_learns_stays(self):
        self.write("learned.json", '{"extends": "default"}')
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(self.work)
            os.execve(harness.SBX_RUN, [harness.SBX_RUN, "learn", "--merge", self.file, "-c",
                                        f"cat {self.data}/one"], self.env)
        seen = b""
        while not seen.endswith(b"? [y/N] "):
            seen += os.read(fd, 4096)
        edited = {"extends": "default", "limits": {"pids": 77}}
        self.write("learned.json", json.dumps(edited))
        os.write(fd, b"y\n")
        with contextlib.suppress(OSError):
            while text := os.read(fd, 4096):
                seen += text
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 125, seen)
        os.close(fd)
        self.assertIn(b"somebody else has changed it meanwhile", seen)
        with open(self.file) as file:
            self.assertEqual(json.load(file), edited)

    def test_what_is_reached_through_symlinks(self):
        """No root is a symlink: what holds it is shown, and what it leads to."""
        self.write("far/away/file", "far\n")
        self.write("far/beside", "beside\n")
        self.write("links/x", "x\n")
        os.symlink("../far/away", self.base + "/links/directory")
        os.symlink(self.base + "/links/directory/file", self.base + "/links/file")
        for path, written in (("/links/directory/file", "far\n"), ("/links/file", "far\n")):
            answer = self.learn("cat", self.base + path)
            self.assertEqual(self.roots(), {self.base + "/links": "ro", self.base + "/far/away/file": "ro"})
            self.assertEqual(self.run_learned("cat", self.base + path)["stdout"], written, answer)
            self.assertEqual(self.run_learned("cat", self.base + "/far/beside")["exit_code"], 1)
        self.learn("sh", "-c", f"echo more >> {self.base}/links/file")
        self.assertEqual(self.roots(), {self.base + "/links": "ro", self.base + "/far/away/file": "rw"})
        # Where that holds what is never granted, nothing is.
        os.symlink(self.base + "/far/away/file", self.home + "/link")
        answer = self.learn("cat", self.home + "/link", status=125)
        self.assertIn("holds the whole home", "".join(answer["refused"]))

    def test_each_line_is_explained(self):
        answer = self.learn("sh", "-c", f"cat {self.data}/one; head -1 {self.data}/one; ls {self.base}/other")
        lines = {line["value"]["path"]: line for line in answer["lines"]}
        self.assertEqual(lines[self.data + "/one"]["tier"], "file")
        self.assertEqual(lines[self.data + "/one"]["programs"], ["cat", "head"])
        self.assertEqual(lines[self.base + "/other"]["tier"], "directory")
        self.assertIn("file, asked for by cat", lines[self.data + "/one"]["why"])

    def test_a_cache_is_one_line(self):
        for i in range(3):
            self.write(f"home/.cache/pip/{i}/file", "x")
        self.learn("cat", *(f"{self.home}/.cache/pip/{i}/file" for i in range(3)))
        self.assertEqual(self.roots(), {"${home}/.cache/pip": "ro"})

    def test_no_directory_with_secrets_stands_for_its_files(self):
        self.write("data/.env", "TOKEN=1\n")
        names = ("one", "two", "three", "four", "five")
        self.learn("cat", *(f"{self.data}/{name}" for name in names))
        self.assertEqual(self.roots(), {f"{self.data}/{name}": "ro" for name in names})

    def test_nor_does_one_with_another_name_for_a_secret(self):
        os.link(self.write("home/.ssh/deep/key", "PRIVATE\n"), self.data + "/hard")
        names = ("one", "two", "three", "four", "five")
        answer = self.learn("cat", *(f"{self.data}/{name}" for name in (*names, "hard")), status=125)
        self.assertEqual([root["path"] for root in answer["profile"]["filesystem"]["+roots"]],
                         [f"{self.data}/{name}" for name in names])
        self.assertIn("another name for a file of secrets", str(answer["refused"]))

    def test_nor_what_a_symlink_of_theirs_leads_to(self):
        self.write("dot/id2", "PRIVATE\n")
        os.symlink(self.base + "/dot/id2", self.home + "/.ssh/id2")
        self.write("work/cfg/real.env", "HIDDEN\n")
        os.unlink(self.work + "/.env")
        os.symlink("cfg/real.env", self.work + "/.env")
        answer = self.learn("sh", "-c", f"cat {self.base}/dot/id2 cfg/real.env; cat {self.data}/one")
        self.assertEqual(self.roots(), {self.data + "/one": "ro"})
        self.assertIn("holds keys of ssh", str(answer["refused"]))
        self.assertIn("cfg/real.env is hidden in the workspace", str(answer["refused"]))
        told = self.run_learned("sh", "-c", "cat cfg/real.env")
        self.assertNotIn("PRIVATE", json.dumps(answer) + json.dumps(told))

    def test_nor_what_the_parent_hides(self):
        self.write("work/hid/a", "HIDDEN\n")
        parent = self.profile({"filesystem": {"+roots": [{"path": "${workspace}/hid", "access": "none"},
                                                         {"path": self.data + "/two", "access": "none"}]}})
        done = self.raw("learn", "--out", self.file, "--yes", "--profile", parent, "--", "sh", "-c",
                        f"cat hid/a {self.data}/two > seen; cat {self.data}/one; test ! -s seen", env=self.env)
        self.assertEqual(done.returncode, 0, done)  # nor were they shown while it learned
        self.assertEqual(self.roots(), {self.data + "/one": "ro"})
        self.assertIn("is hidden by the profile it stands on", str(json.loads(done.stdout)["refused"]))

    def test_nor_is_a_call_granted_that_is_for_the_whole_machine(self):
        call = "import ctypes; ctypes.CDLL(None).swapoff(b'/x')"
        answer = self.learn("/usr/bin/python3", "-c", call)
        self.assertIn("swapoff is for the whole machine", str(answer["refused"]))
        self.assertNotIn("swapoff", str(answer["profile"]))

    def test_limits_are_raised_to_what_it_takes(self):
        parent = self.profile({"limits": {"timeout_ms": 600, "pids": 20}})
        script = "for i in $(seq 40); do sleep 1 & done; wait"
        done = self.raw("learn", "--out", self.file, "--yes", "--profile", parent, "-c", script,
                        env=self.env)
        self.assertEqual(done.returncode, 0, done)
        limits = json.load(open(self.file))["limits"]
        self.assertGreaterEqual(limits["pids"], 40)
        self.assertGreaterEqual(limits["timeout_ms"], 1000)

    def test_what_the_private_places_hold_counts_as_in_a_run(self):
        parent = self.profile({"limits": {"tmp_mb": 4}})
        script = "head -c 20M /dev/zero > /tmp/big && cp in out"
        done = self.raw("learn", "--out", self.file, "--yes", "--profile", parent, "-c", script,
                        env=self.env)
        self.assertEqual(done.returncode, 0, done)
        if b"limits.tmp_mb is not held" in done.stdout:
            self.skipTest("no layer on the disk can be had")
        self.assertGreaterEqual(json.load(open(self.file))["limits"]["tmp_mb"], 20)
        answer = self.run_json("--profile", self.file, "-c", script, env=self.env)
        self.assertEqual((answer["exit_code"], os.path.exists(self.work + "/out")), (0, True), answer)
        self.assertEqual(json.loads(self.raw("layer", "list", env=self.env).stdout), [])

    def test_what_cannot_be_proven_says_how_it_differs(self):
        answer = self.learn("sh", "-c", "ls /boot; true", status=125)
        self.assertFalse(answer["proven"] or answer["written"], answer)
        self.assertIn("refused under the profile: stat /boot", answer["differs"])
        self.assertFalse(os.path.exists(self.file))
        # How it ends depends on what no profile shows.
        answer = self.learn("sh", "-c", "exit $(ls -A / | wc -l)", status=125)
        self.assertTrue(answer["differs"][0].startswith("exit_code: "), answer)
        self.assertIn("where everything is shown", answer["differs"][0])

    def test_what_learn_keeps_is_seen_by_nobody(self):
        for state, where in ((self.home, self.home + "/sbx/learn/*/*"),
                             ("/proc/nowhere", f"/tmp/sbx-learn-{os.geteuid()}/*/*")):
            self.env["XDG_STATE_HOME"] = state
            answer = self.learn("bash", "-c", f"cat {where}; echo x >> {where}")
            self.assertEqual((answer["exit_code"], answer["profile"]), (1, {"extends": "default"}),
                             answer)

    def test_says_what_is_wrong(self):
        self.assertEqual(self.raw("learn", env=self.env).returncode, 125)
        done = self.raw("learn", "--out", self.file, "--yes", "--", "no-such-program", env=self.env)
        self.assertEqual(done.returncode, 125, done)
        self.assertFalse(os.path.exists(self.file))
        self.write("broken.json", "{")
        done = self.raw("learn", "--merge", self.base + "/broken.json", "--", "true", env=self.env)
        self.assertEqual(done.returncode, 125, done)

    def test_real_programs(self):
        """Each runs under what was learned of it; under that, what it did not use is refused."""
        self.write("data/main.c", '#include <stdio.h>\nint main(void) { puts("built"); }\n')
        self.write("data/script.py", "import json, sys\nprint(json.load(open(sys.argv[1])))\n")
        self.write("data/x.json", "{}")
        self.write("data/Makefile", "all:\n\t@cat one > made && echo made\n")
        data = self.data
        programs = [
            ["gcc", "-o", "main", data + "/main.c"], ["python3", data + "/script.py", data + "/x.json"],
            ["make", "-f", data + "/Makefile", "-n"], ["tar", "-cf", "a.tar", "-C", data, "one", "two"],
            ["sed", "s/1/2/", data + "/one"], ["awk", "{print}", data + "/one"],
            ["grep", "-r", "o", data], ["sort", data + "/two", data + "/three"],
            ["perl", "-ne", "print", data + "/one"], ["sha256sum", data + "/one"],
            ["find", data, "-name", "*.c"], ["diff", data + "/one", data + "/two"],
            ["gzip", "-c", data + "/one"], ["cp", "-r", data, "copy"], ["head", data + "/six"],
            ["git", "diff", "--no-index", "--stat", data + "/one", data + "/two"]]
        learned = 0
        for argv in programs:
            if not shutil.which(argv[0], path="/usr/bin:/bin"):
                continue
            with self.subTest(argv=argv):
                answer = self.learn(*argv)
                ran = self.run_learned(*argv)
                self.assertEqual((ran["status"], ran["exit_code"], ran["denials"]),
                                 (answer["status"], answer["exit_code"], []), ran)
                for other in ("/other/secret", "/home/.ssh/id_rsa"):
                    refused = self.run_learned("cat", self.base + other)
                    self.assertEqual(refused["exit_code"], 1, refused)
                refused = self.run_learned("sh", "-c", f"echo x > {self.base}/other/secret")
                self.assertNotEqual(refused["exit_code"], 0, refused)
                refused = self.run_learned("bash", "-c", "exec 3<>/dev/tcp/192.0.2.1/80")
                self.assertNotEqual(refused["exit_code"], 0, refused)
                learned += 1
        self.assertGreaterEqual(learned, 12)
        self.assertEqual(subprocess.check_output(["ls", self.work]).split(), [b"in"])


class LearnNetworkTest(network_harness.Networked):
    """What is connected to becomes a line, and nothing beside it is reached."""

    CONNECT = ("import socket, sys\n"
               "for name in sys.argv[1:]:\n"
               "    host, port = name.rsplit(':', 1)\n"
               "    socket.create_connection((host, int(port)), timeout=10).close()\n")

    def connect(self, *targets):
        return [network_harness.PYTHON, "-c", self.CONNECT, *targets]

    def learn(self, *targets, flags=()):
        out = os.path.join(self.base, "learned.json")
        done = self.raw("learn", "--out", out, "--yes", *flags, "--", *self.connect(*targets))
        answer = json.loads(done.stdout)
        return out, answer

    def test_names_are_names_and_addresses_are_addresses(self):
        out, answer = self.learn("allowed.test:80", world.OUTSIDE4 + ":443")
        self.assertTrue(answer["written"], answer)
        hosts = ["allowed.test:80", world.OUTSIDE4 + ":443"]
        self.assertEqual(json.load(open(out)),
                         {"extends": "default", "network": {"+allow": hosts, "mode": "allowlist"}})
        for target, code in (("allowed.test:80", 0), ("allowed.test:443", 1), ("other.test:80", 1),
                             (world.OUTSIDE4 + ":443", 0), ("sub.wild.test:80", 1)):
            ran = self.run_json("--profile", out, "--", *self.connect(target))
            self.assertEqual(ran["exit_code"], code, (target, ran))
        for host in hosts:
            document = json.load(open(out))
            document["network"]["+allow"].remove(host)
            less = self.profile(document)
            ran = self.run_json("--profile", less, "--", *self.connect("allowed.test:80",
                                                                        world.OUTSIDE4 + ":443"))
            self.assertEqual(ran["exit_code"], 1, (host, ran))

    def test_programs_that_fetch(self):
        """Each with its own host and port, and what it read; another of each is refused."""
        self.write("other/file", "other\n")
        tool = self.write("other/tool", "#!/bin/sh\necho ran\n", 0o755)
        self.write("data/urls", "url = http://allowed.test/listed\n")
        listener = self.base + "/data/socket"
        learned = []
        for program, command in (
                ("curl", "curl -sS http://allowed.test/c"),
                ("curl", f"curl -sS -K {self.base}/data/urls -o got; cat got"),
                ("wget", "wget -qO- http://sub.wild.test/w"),
                ("python3", f"{network_harness.PYTHON} -c 'import urllib.request as u;"
                            " print(u.urlopen(\"http://allowed.test/p\").read())'"),
                ("perl", "perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(\"allowed.test:80\")"
                         " or die $!; print $s \"GET /perl HTTP/1.0\\r\\nHost: h\\r\\n\\r\\n\"; print <$s>'"),
                ("busybox", "busybox wget -qO- http://allowed.test/static"),
                ("bash", f"exec 3<>/dev/tcp/{world.OUTSIDE4}/80 && printf 'GET / HTTP/1.0\\r\\nHost: h\\r\\n\\r\\n'"
                         " >&3 && cat <&3")):
            if shutil.which(program, path="/usr/bin:/bin") is None:
                continue
            with self.subTest(command=command), socket.socket(socket.AF_UNIX) as server:
                out = os.path.join(self.base, "learned.json")
                done = self.raw("learn", "--out", out, "--yes", "-c", command)
                answer = json.loads(done.stdout)
                self.assertEqual((answer["exit_code"], answer["written"]), (0, True), done)
                host = {"wget": "sub.wild.test", "bash": world.OUTSIDE4}.get(program, "allowed.test")
                self.assertEqual(answer["profile"]["network"],
                                 {"+allow": [host + ":80"], "mode": "allowlist"})
                ran = self.run_json("--profile", out, "--trace-denials", "-c", command)
                self.assertEqual((ran["exit_code"], self.denials(ran)), (0, {}), ran)
                os.makedirs(os.path.dirname(listener), exist_ok=True)
                server.bind(listener)
                server.listen()
                for other in (f"cat {self.base}/other/file", "curl -sS http://other.test/c",
                              f"exec 3<>/dev/tcp/{host}/443", tool,
                              f"{network_harness.PYTHON} -c 'import socket as s;"
                              f" s.socket(s.AF_UNIX).connect(\"{listener}\")'"):
                    ran = self.run_json("--profile", out, "-c", other)
                    self.assertNotEqual(ran["exit_code"], 0, (other, ran))
                os.unlink(listener)
                learned.append(program)
        self.assertGreaterEqual(len(learned), 5)

    def test_neither_the_loopback_nor_the_hosts_addresses(self):
        for target in ("127.0.0.1:80", world.HUB4 + ":80", "own.test:80", "loop.test:80",
                       "169.254.169.254:80"):
            _, answer = self.learn(target)
            self.assertEqual(answer["exit_code"], 1, (target, answer))
            self.assertNotIn("network", answer["profile"], target)

    def test_nor_beside_what_is_allowed(self):
        code = self.CONNECT.replace("socket.create_connection(", "socket.socket().connect_ex(") \
                           .replace(", timeout=10).close()", ")")
        out = os.path.join(self.base, "learned.json")
        done = self.raw("learn", "--out", out, "--yes", "--", network_harness.PYTHON, "-c", code,
                        "allowed.test:80", "127.0.0.1:8088", world.HUB4 + ":8089")
        answer = json.loads(done.stdout)
        self.assertEqual(answer["profile"].get("network"),
                         {"+allow": ["allowed.test:80"], "mode": "allowlist"}, done)
        self.assertTrue(answer["written"], done)

    def test_what_the_parent_allows_is_no_line(self):
        parent = self.profile({"network": {"mode": "allowlist", "allow": ["*.wild.test:80"]}})
        _, answer = self.learn("sub.wild.test:80", flags=("--profile", parent))
        self.assertEqual(answer["profile"], {"extends": parent}, answer)
        self.assertTrue(answer["written"], answer)
