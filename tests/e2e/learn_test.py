# SPDX-License-Identifier: Apache-2.0
"""learn: the profile that it writes is enough, and little more than that."""

import json
import os
import shutil
import socket
import subprocess

import harness


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

    def test_secrets_are_masked_and_learned_by_nobody(self):
        answer = self.learn("sh", "-c", f"cat {self.home}/.ssh/id_rsa .env; cat {self.data}/one")
        self.assertEqual(self.roots(), {self.data + "/one": "ro"})
        self.assertEqual((answer["status"], answer["exit_code"]), ("exited", 0))
        self.assertNotIn("PRIVATE", json.dumps(answer))

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
