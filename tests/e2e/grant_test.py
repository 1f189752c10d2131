# SPDX-License-Identifier: Apache-2.0
"""profile grant: what the denials of a result name, into a profile's file."""

import json
import os
import pty
import socket
import subprocess
import unittest

import harness


class GrantTest(harness.Case):
    def setUp(self):
        super().setUp()
        self.home = os.path.join(self.base, "home")
        os.mkdir(self.home)
        self.file = self.write("own.json", '{\n    "name": "own",\n    "extends": "default"\n}\n')

    def result(self, *grants):
        return json.dumps({"denials": [
            {"layer": "mount", "operation": "open", "target": "x", "count": 1, "program": "cat",
             "grant": grant} for grant in grants]})

    def grant(self, *flags, result="", status=0, file=None):
        done = self.raw("profile", "grant", file or self.file, *flags, stdin=None,
                        input=result.encode(), env={**os.environ, "HOME": self.home})
        self.assertEqual(done.returncode, status, done)
        return done

    def test_values_are_set(self):
        path = self.profile({"limits": {"tmp_mb": 8}})
        answer = self.sh("head -c 12M /dev/zero > /tmp/x", "--profile", path)
        self.profile({"limits": {"tmp_mb": 8, "file_kb": 100}})
        for grant in (answer["denials"][0]["grant"], "limits.file_kb = 200", "limits.open_files = 2048",
                      'filesystem.git_config = "user"'):
            result = self.write("one.json", json.dumps({"denials": [{"grant": grant}]}))
            done = self.raw("profile", "grant", path, "--from", result, "--yes")
            self.assertEqual(done.returncode, 0, done)
        with open(path) as file:
            profile = json.load(file)
        self.assertEqual((profile["limits"], profile["filesystem"]["git_config"]),
                         ({"tmp_mb": 16, "file_kb": 200, "open_files": 2048}, "user"))
        self.assertEqual(self.sh("head -c 12M /dev/zero > /tmp/x", "--profile", path)["denials"], [])

    def test_what_is_wider_already_stays(self):
        """In the file, by what it extends, or without a limit."""
        for document, grants in (({"extends": "build", "limits": {"tmp_mb": 4096}}, ["limits.tmp_mb = 2"]),
                                 ({"extends": "build"}, ["limits.open_files = 2048", "limits.file_kb = 9"]),
                                 ({"network": {"mode": "open"}}, ['network.mode = "outbound"']),
                                 ({"filesystem": {"git_config": "user"}}, ['filesystem.git_config = "none"']),
                                 ({"filesystem": {"+roots": [{"path": "/srv", "access": "rw"}]}},
                                  ['filesystem.roots += [{"path": "/srv/a", "access": "ro"}]'])):
            file = self.profile(document)
            with open(file) as opened:
                before = opened.read()
            done = self.grant("--yes", result=self.result(*grants), file=file)
            self.assertIn(b"nothing to add", done.stdout, grants)
            with open(file) as opened:
                self.assertEqual(opened.read(), before)
        self.grant("--yes", result=self.result("limits.tmp_mb = 900", "limits.tmp_mb = 300"))
        with open(self.file) as opened:
            self.assertEqual(json.load(opened)["limits"], {"tmp_mb": 900})

    def test_the_denials_of_a_move_lead_to_its_profile(self):
        """Its file is no root of its own any more once its directory is one: a mount point stays."""
        old = self.write("home/data/old", "1")
        os.mkdir(self.home + "/data/sub")
        env = {**os.environ, "HOME": self.home}
        move = (f"cat {old}; mv {old} {self.home}/data/new && rmdir {self.home}/data/sub",)
        flags = ["--profile", self.file, "--trace-denials", "-c", *move]
        self.grant("--yes", result=self.result(
            f'filesystem.roots += [{{"path": "{self.home}/data/sub", "access": "rw"}}]'))
        for _ in range(4):
            done = self.raw(*flags, env=env)
            if json.loads(done.stdout)["exit_code"] == 0:
                break
            self.grant("--yes", result=done.stdout.decode())
        self.assertEqual(json.loads(done.stdout)["exit_code"], 0, done)
        with open(self.file) as file:
            self.assertEqual(json.load(file)["filesystem"]["+roots"],
                             [{"path": self.home + "/data", "access": "rw"}])

    def test_a_refused_run_passes_once_its_grants_are_in(self):
        data = self.write("data/file", "hello")
        flags = ["--profile", self.file, "--trace-denials"]
        refused = self.raw(*flags, "-c", f"cat {data}", env={**os.environ, "HOME": self.home})
        self.assertNotEqual(json.loads(refused.stdout)["exit_code"], 0)
        self.grant("--yes", result=refused.stdout.decode())
        self.assertEqual(self.out(f"cat {data}", *flags), "hello")
        text = open(self.file).read()
        self.assertTrue(text.startswith('{\n    "name": "own",\n    "extends": "default",\n'), text)

    def test_a_path_with_a_star_grants_itself_alone(self):
        for name in ("a*b", "axb"):
            self.write(f"data/{name}/file", name)
        flags = ["--profile", self.file, "--trace-denials"]
        read = f"cat {self.base}/data/'a*b'/file {self.base}/data/axb/file"
        refused = self.raw(*flags, "-c", f"cat {self.base}/data/'a*b'/file", env={**os.environ, "HOME": self.home})
        self.grant("--yes", result=refused.stdout.decode())
        answer = self.sh(read, *flags)
        self.assertEqual((answer["stdout"], answer["exit_code"]), ("a*b", 1), answer)

    def test_without_a_terminal_it_shows_and_writes_nothing(self):
        before = open(self.file).read()
        shown = self.grant(result=self.result('seccomp.allow += ["bpf"]')).stdout.decode()
        self.assertIn('+            "bpf"', shown)
        self.assertEqual(open(self.file).read(), before)

    def test_a_rule_of_a_host_brings_what_it_needs_or_nothing(self):
        rule = self.result('network.http += {"host":"a.test:443"}')
        self.grant("--yes", result=rule)
        with open(self.file) as file:
            self.assertEqual(json.load(file)["network"], {
                "+http": [{"host": "a.test:443"}], "+allow": ["a.test:443"], "mode": "allowlist"})
        self.assertIn('"valid":true', self.raw("profile", "validate", self.file).stdout.decode())
        wide = self.profile({"network": {"mode": "outbound"}})
        with open(wide) as file:
            before = file.read()
        done = self.grant("--yes", result=rule, status=125, file=wide)
        self.assertIn(b"only the mode allowlist", done.stderr)
        with open(wide) as file:
            self.assertEqual(file.read(), before)
        listed = self.profile({"network": {"mode": "allowlist", "allow": ["*.test"]}})
        self.grant("--yes", result=rule, file=listed)
        with open(listed) as file:
            self.assertEqual(json.load(file)["network"]["allow"], ["*.test"])

    def test_takes_the_result_from_a_file(self):
        source = self.write("result.json", self.result('network.allow += ["example.org:443"]'))
        self.grant("--yes", "--from", source)
        self.assertEqual(json.load(open(self.file))["network"],
                         {"+allow": ["example.org:443"], "mode": "allowlist"})
        self.assertIn(b"nothing to add", self.grant("--yes", "--from", source).stdout)

    def test_asks_at_a_terminal(self):
        source = self.write("result.json", self.result('seccomp.allow += ["bpf"]'))
        for answer, is_written in (("n", False), ("y", True)):
            self.at_the_terminal(source, lambda answer=answer: answer)
            self.assertEqual("bpf" in open(self.file).read(), is_written)

    def test_the_question_moves_no_cursor(self):
        self.file = self.write("own\x1b[31m.json", '{"extends": "default"}')
        shown = self.at_the_terminal(self.write("result.json", self.result('seccomp.allow += ["bpf"]')), lambda: "n")
        self.assertNotIn(b"\x1b", shown)
        self.assertIn(b"own\\x1b[31m.json? [y/N] ", shown)

    def at_the_terminal(self, source, *answers):
        """What was shown until the last answer."""
        pid, fd = pty.fork()
        if pid == 0:
            os.environ["HOME"] = self.home
            os.execv(harness.SBX_RUN, [harness.SBX_RUN, "profile", "grant", self.file, "--from", source])
        shown = b""
        for answer in answers:
            seen = b""
            while b"[y/N] " not in seen:
                seen += os.read(fd, 4096)
            os.write(fd, answer().encode() + b"\n")
            shown += seen
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        os.close(fd)
        return shown

    def test_an_edit_while_it_asks_stays_and_it_asks_again(self):
        source = self.write("result.json", self.result('seccomp.allow += ["bpf"]'))

        def edited(write):
            write('{"name": "own", "extends": "default", "limits": {"pids": 7}}\n')
            return "y"

        def renamed(text):
            os.rename(self.write("new.json", text.replace("7", "8")), self.file)

        self.at_the_terminal(source, lambda: edited(lambda text: self.write("own.json", text)),
                             lambda: edited(renamed), lambda: "y")
        with open(self.file) as file:
            self.assertEqual(json.load(file), {"name": "own", "extends": "default", "limits": {"pids": 8},
                                               "seccomp": {"+allow": ["bpf"]}})

    def test_ten_at_once_all_count(self):
        hosts = [f"h{i}.example:443" for i in range(10)]
        sources = [self.write(f"{host}.json", self.result(f'network.allow += ["{host}"]')) for host in hosts]
        running = [subprocess.Popen([harness.SBX_RUN, "profile", "grant", self.file, "--from", source, "--yes"],
                                    env={**os.environ, "HOME": self.home}, stdin=subprocess.DEVNULL,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for source in sources]
        for one in running:
            said = one.communicate(timeout=harness.BOUND)[1]
            self.assertEqual(one.returncode, 0, said)
        with open(self.file) as file:
            self.assertEqual(sorted(json.load(file)["network"]["+allow"]), hosts)
        self.assertFalse([name for name in os.listdir(self.base) if name.startswith("own.json.")])

    def test_refuses_what_is_never_granted(self):
        for path, access in (("/", "ro"), (self.home, "ro"), (self.home + "/.ssh/id_rsa", "ro"),
                             ("/etc/shadow", "ro"), ("/usr", "rw"), (self.file, "rw"),
                             (self.base, "rw"), (self.home + "/.local/state/sbx", "rw")):
            text = f'filesystem.roots += [{{"path": "{path}", "access": "{access}"}}]'
            before = open(self.file).read()
            done = self.grant("--yes", result=self.result(text), status=125)
            self.assertIn(b"refused: ", done.stderr, path)
            self.assertEqual(open(self.file).read(), before)
        self.grant("--yes", result=self.result('filesystem.roots += [{"path": "/etc/shadow"}]',
                                               'seccomp.allow += ["bpf"]'), status=125)
        self.assertEqual(json.load(open(self.file))["seccomp"], {"+allow": ["bpf"]})

    def test_nor_by_another_name(self):
        """What a symlink or a hard link leads to, wherever it stands; a pattern; what is no socket."""
        self.write("home/.ssh/id_rsa", "PRIVATE")
        self.write("dot/aws/credentials", "PRIVATE")
        os.symlink("../dot/aws", self.home + "/.aws")
        os.symlink(self.home + "/.ssh", self.base + "/link")
        os.link(self.write("home/.ssh/deep/key", "PRIVATE"), self.base + "/hard")
        with socket.socket(socket.AF_UNIX) as daemon:
            daemon.bind(self.base + "/docker.sock")
        os.symlink("docker.sock", self.base + "/plain")
        before = open(self.file).read()
        root = 'filesystem.roots += [{"path": "%s", "access": "ro"}]'
        for text in (root % (self.base + "/link/id_rsa"), root % (self.base + "/hard"),
                     root % (self.base + "/dot/aws"),
                     root % (self.base + "/*/.ssh"), root % (self.home + "/.s*"),
                     f'network.unix_sockets += ["{self.home}/.ssh"]',
                     f'network.unix_sockets += ["{self.base}/link/id_rsa"]',
                     f'network.unix_sockets += ["{self.base}/plain"]',
                     'network.unix_sockets += ["${ssh_agent}"]', 'filesystem.devices += ["/dev/*"]',
                     'network.allow += ["169.0.0.0/8:80"]', 'network.allow += ["[fe80::1]:80"]'):
            done = self.grant("--yes", result=self.result(text), status=125)
            self.assertIn(b"refused: ", done.stderr, text)
            self.assertEqual(open(self.file).read(), before, text)

    def test_nor_is_what_runs_outside_written(self):
        """Directories of the system and of programs; terminals, disks and sockets of daemons."""
        before = open(self.file).read()
        root = 'filesystem.roots += [{"path": "%s", "access": "rw"}]'
        tools = os.path.dirname(self.write("tools/x", ""))
        for text in (*(root % path for path in ("/run", "/run/systemd/system", "/run/udev", "/var/cache",
                                                "/var", "/var/mail", tools, tools + "/x",
                                                self.home + "/bin", self.home + "/.pyenv/shims")),
                     *(f'filesystem.devices += ["/dev/{name}"]' for name in (
                         "tty1", "console", "vcs", "kmsg", "loop0")),
                     *(f'network.unix_sockets += ["{path}"]' for path in (
                         "/run/user/1000/bus-1", "/run/user/1000/at-spi/bus_0", "/tmp/tmux-0/default",
                         "/run/libvirt/virtqemud-sock", "/run/screen/S-root/1.x", self.base))):
            done = self.raw("profile", "grant", self.file, "--yes", stdin=None,
                            input=self.result(text).encode(),
                            env={**os.environ, "HOME": self.home, "PATH": tools + ":" + os.environ["PATH"]})
            self.assertEqual((done.returncode, b"refused: " in done.stderr), (125, True), (text, done))
            self.assertEqual(open(self.file).read(), before, text)
        for path in ("/var/tmp/x", self.base + "/other"):
            self.grant("--yes", result=self.result(root % path))

    def test_homes_are_those_of_the_machines_accounts_too(self):
        """HOME may be anything, or nothing."""
        self.write("user/.ssh/id_rsa", "PRIVATE")
        accounts = self.write("passwd", f"u:x:0:0::{self.base}/user:/bin/sh\n"
                                        f"v:x:4711:4711::{self.base}/other:/bin/sh\n")
        self.write("other/.npmrc", "PRIVATE")
        bind = f"mount --bind {accounts} /etc/passwd && exec \"$@\""
        for path in ("/user/.ssh/id_rsa", "/user", "/other/.npmrc"):
            text = self.result('filesystem.roots += [{"path": "%s", "access": "ro"}]'
                               % (self.base + path))
            for home in ({}, {"HOME": self.home}):
                done = subprocess.run(
                    [*harness.OWN_MOUNTS, "sh", "-c", bind, "sh", harness.SBX_RUN, "profile", "grant",
                     self.file, "--yes"], input=text.encode(), capture_output=True, check=False,
                    env={"PATH": os.environ["PATH"], **home}, timeout=harness.BOUND)
                self.assertEqual((done.returncode, b"refused: " in done.stderr), (125, True), done)

    def in_own_mounts(self, script, grant):
        """What `profile grant` of this says where the script has changed what is mounted."""
        done = subprocess.run([*harness.OWN_MOUNTS, "sh", "-c",
                               f'({script}) || exit 77; exec "$@"', "sh",
                               harness.SBX_RUN, "profile", "grant", self.file, "--yes"],
                              input=self.result(grant).encode(), capture_output=True, check=False,
                              env={**os.environ, "HOME": self.home}, timeout=harness.BOUND)
        if done.returncode == 77:
            self.skipTest(done.stderr.decode())
        return done

    def test_nor_what_is_private_in_etc(self):
        """By its mode alone: no table names it."""
        mount = "set -e; mount -t tmpfs none /etc/default; cd /etc/default; echo x > %s; chmod %s %s"
        root = 'filesystem.roots += [{"path": "/etc/default/%s", "access": "ro"}]'
        for name, mode, status in (("shut", "600", 125), ("open", "644", 0)):
            done = self.in_own_mounts(mount % (name, mode, name), root % name)
            self.assertEqual((done.returncode, b"refused: " in done.stderr), (status, status != 0), done)

    @unittest.skipUnless(harness.is_root(), "only root makes a node of a disk")
    def test_nor_a_disk_under_any_name(self):
        done = self.in_own_mounts("set -e; mount -t tmpfs none /dev/shm; mknod /dev/shm/plain b 254 0",
                                  'filesystem.devices += ["/dev/shm/plain"]')
        self.assertEqual((done.returncode, b"refused: " in done.stderr), (125, True), done)

    def test_programs_go_into_a_list_that_is_there(self):
        """Where there is none, one would take away every other program."""
        command = ("-c", "cat /etc/os-release | tr a-z A-Z")
        done = self.grant("--yes", result=self.result('commands.allow += "cat"'))
        self.assertIn(b"left to you: commands.allow", done.stderr)
        self.assertIn(b"nothing to add", done.stdout)
        file = self.profile({"commands": {"allow": ["echo"]}})
        refused = self.raw("--profile", file, *command)
        self.assertEqual(json.loads(refused.stdout)["status"], "denied")
        self.grant("--yes", result=refused.stdout.decode(), file=file)
        self.assertEqual(self.run_json("--profile", file, *command)["exit_code"], 0)
        self.assertEqual(json.load(open(file))["commands"]["allow"], ["echo", "cat", "tr"])
        refused = self.run_json("--profile", file, "-c", "sudo true")
        self.assertEqual(refused["status"], "denied")

    def test_a_change_that_nobody_can_be_shown_is_none(self):
        before = open(self.file).read()
        with open("/dev/full", "wb") as full:
            done = self.raw("profile", "grant", self.file, "--yes", input=self.result('seccomp.allow += ["bpf"]').encode(),
                            stdin=None, stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 125, done)
        self.assertEqual(open(self.file).read(), before)

    def test_what_is_advice_is_left_to_the_person(self):
        done = self.grant("--yes", result=self.result("show it: it is hidden by --hide"))
        self.assertIn(b"left to you: show it", done.stderr)

    def test_bad_results_and_profiles_change_nothing(self):
        before = open(self.file).read()
        for text in ("", "{", "[]", '{"denials": 1}', '{"denials": [1]}', '{"denials": [{}]}',
                     '{"denials": [{"grant": 1}]}', "[" * 100000):
            self.grant("--yes", result=text, status=125)
        self.grant("--yes", result=self.result('seccomp.allow += ["no such call"]'), status=125)
        self.grant("--yes", result=self.result('network.host_ports += [99999999]'), status=125)
        self.assertEqual(open(self.file).read(), before)
        self.grant("--yes", result=self.result(), status=125, file=self.base + "/missing.json")
        self.write("broken.json", "{")
        self.grant("--yes", result=self.result(), status=125, file=self.base + "/broken.json")
        self.assertEqual(self.raw("profile", "grant").returncode, 125)

    def test_controls_of_a_path_do_not_reach_the_terminal(self):
        text = 'filesystem.roots += [{"path": "/srv/\\u001b[2J", "access": "ro"}]'
        self.assertNotIn(b"\x1b", self.grant(result=self.result(text)).stdout)

    def test_follows_the_files_symlink_and_keeps_its_mode(self):
        os.chmod(self.file, 0o640)
        os.symlink(self.file, self.base + "/link.json")
        self.grant("--yes", result=self.result('seccomp.allow += ["bpf"]'),
                   file=self.base + "/link.json")
        self.assertTrue(os.path.islink(self.base + "/link.json"))
        self.assertEqual(os.stat(self.file).st_mode & 0o777, 0o640)
        self.assertIn("bpf", open(self.file).read())
        self.assertEqual(sorted(subprocess.check_output(["ls", self.base]).split()),
                         [b"home", b"link.json", b"own.json", b"work"])

    @unittest.skipUnless(harness.is_root(), "a file of another user is replaced by root alone")
    def test_keeps_the_files_owner(self):
        os.chown(self.file, 12345, 23456)
        self.grant("--yes", result=self.result('seccomp.allow += ["bpf"]'))
        info = os.stat(self.file)
        self.assertEqual((info.st_uid, info.st_gid, info.st_mode & 0o777), (12345, 23456, 0o644))
        self.assertIn("bpf", open(self.file).read())
