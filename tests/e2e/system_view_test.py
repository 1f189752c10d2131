# SPDX-License-Identifier: Apache-2.0
"""What a command sees of the system: devices, /proc, /etc, PATH, sockets, its own process and tools."""

import json
import os
import socket
import subprocess
import unittest

import harness
from view_harness import ViewCase


class Devices(ViewCase):
    """/dev holds what the contract lists; the nodes are the host's and cannot be changed."""

    def test_dev_is_minimal(self):
        out = self.out("cd /dev; ls; ls -A pts shm")
        names = "fd full mqueue null ptmx pts random shm stderr stdin stdout tty urandom zero"
        self.assertEqual(out.split("\n\n")[0].split("\n")[0:14], names.split())
        self.assertEqual(self.out("ls -A /dev/shm"), "")

    def test_nodes_keep_mode_owner_and_times(self):
        before = os.stat("/dev/null")
        answer = self.sh("chmod 600 /dev/null; chown 1 /dev/null; touch -d @1 /dev/null;"
                         "rm -f /dev/null; mv /dev/null /tmp/n; mknod /tmp/n c 1 3;"
                         "touch /dev/new; ln -sf /x /dev/fd; echo through > /dev/null; echo $?",
                         "--profile", self.profile({"commands": {"ask": []}}))
        self.assertEqual(answer["stdout"], "0\n")
        after = os.stat("/dev/null")
        self.assertEqual((before.st_mode, before.st_uid, before.st_mtime),
                         (after.st_mode, after.st_uid, after.st_mtime))
        self.assertEqual(answer["stderr"].count("\n"), 8, answer["stderr"])

    def test_terminals_are_private(self):
        self.assertEqual(self.out("ls /dev/pts"), "ptmx\n")
        self.assertEqual(self.out("python3 -c 'import os; m, s = os.openpty();"
                                  "print(os.ttyname(s))'"), "/dev/pts/0\n")


class Proc(ViewCase):
    """procfs shows the sandbox's processes and nothing of the kernel's knobs, to root either."""

    def test_flags_and_masks(self):
        out = self.out("grep ' /proc ' /proc/self/mountinfo")
        for flag in ("ro", "nosuid", "nodev", "noexec"):
            self.assertIn(flag, out.split()[5].split(","))
        answer = self.sh("for f in kcore keys kmsg sysrq-trigger timer_list; do"
                         " test -e /proc/$f || continue; head -c1 /proc/$f && echo READ $f;"
                         " (echo h > /proc/$f) && echo WROTE $f; done; true")
        self.assertEqual(answer["stdout"], "")

    def test_kernel_settings_cannot_be_written(self):
        answer = self.sh("find /proc/sys /proc/irq /proc/bus /proc/sysvipc -type f -perm /222 "
                         "2>/dev/null | while read f; do (cat /dev/null >> $f) 2>/dev/null &&"
                         " echo OPENED $f; done; echo 9 > /proc/self/oom_score_adj; true")
        self.assertEqual(answer["stdout"], "")
        self.assertIn("oom_score_adj", answer["stderr"])

    def test_only_its_own_processes_show_and_pid_1_tells_nothing(self):
        out = self.out("ls /proc | grep -c '^[0-9]'; tr '\\0' ' ' < /proc/1/cmdline;"
                       "cat /proc/1/environ 2>&1 | wc -c; readlink /proc/1/root /proc/1/exe"
                       " /proc/1/cwd /proc/1/fd/0; true", "--env", "MARK=tell-tale")
        self.assertLessEqual(int(out.split("\n")[0]), 8)
        self.assertNotIn("tell-tale", out)
        self.assertNotIn("sbx-run", out)

    def test_pid_1_tells_nothing_without_landlock_either(self):
        profile = self.profile({"landlock": {"mode": "off"}, "isolation": {"require": []},
                                "filesystem": {"replaced": "report"}, "network": {"mode": "outbound"}})
        answer = self.sh("for f in maps mem environ auxv; do head -c1 /proc/1/$f && echo READ $f; done; true",
                         "--profile", profile)
        self.assertEqual((answer["stdout"], answer["stderr"].count("\n")), ("", 4), answer)

    def test_sys_shows_the_limits_processors_and_memory_and_nothing_else_of_the_machine(self):
        shown = ("/sys/devices/system/cpu/", "/sys/devices/system/node/", "/sys/kernel/mm/")
        found = self.out("find /sys -type f -o -type l").split("\n")
        self.assertEqual(
            sorted(path for path in found if not path.startswith(shown)),
            ["", "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/pids.max"],
        )
        self.assertEqual(self.out("ls -A /sys /run", "--profile", "readonly"), "/run:\n\n/sys:\n")


class Etc(ViewCase):
    """/etc is what any user may read there, less what is private."""

    def test_no_secrets_and_only_the_mapped_user(self):
        out = self.out("cat /etc/passwd")
        users = [line.split(":")[0] for line in out.split("\n") if line.count(":") == 6]
        me = "root" if harness.is_root() else None
        self.assertLessEqual(len(users), 3)
        self.assertTrue({"root", "nobody"} <= set(users) if me is None else users[0] == me)
        for name in ("shadow", "gshadow", "shadow-", "passwd-", "subuid", "machine-id", "fstab",
                     "security/opasswd"):
            answer = self.sh(f"cat /etc/{name}")
            self.assertEqual((answer["exit_code"], answer["stdout"]), (1, ""), answer)
        for name in ("ssl/private", "cron.d", "cron.daily", "sudoers.d"):
            self.assertEqual(self.sh(f"ls /etc/{name}")["exit_code"], 2)
        self.assertEqual(self.out("id -u").strip(), str(os.geteuid()))

    def test_what_any_user_may_read_is_there(self):
        self.assertEqual(self.out("cat /etc/debian_version /etc/profile"),
                         self.text("/etc/debian_version") + self.text("/etc/profile"))
        self.assertEqual(self.out("dpkg-query -W -f '${Status}' base-files"),
                         "install ok installed")
        self.assertEqual(self.out("lscpu | grep -c 'Model name'; ls /sys/devices"), "1\nsystem\n")
        self.assertEqual(sorted(self.out("ls /sys/devices/system/cpu").split()),
                         sorted(os.listdir("/sys/devices/system/cpu")))
        answer = self.sh("echo 0 > /sys/devices/system/cpu/cpu0/online;"
                         "echo x > /var/lib/dpkg/x; ls /sys/class")
        self.assertEqual((answer["exit_code"], answer["stderr"].count("\n")), (2, 3), answer)

    @staticmethod
    def text(path):
        with open(path) as file:
            return file.read()

    # Runs a script in a mount namespace of its own, where /etc is `files` of {name: (text, mode)}.
    def in_own_etc(self, files, script, *prefix):
        etc = os.path.join(self.base, "etc")
        for name, (text, mode) in files.items():
            path = os.path.join(etc, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(text)
            os.chmod(path, mode)
        for name in ("passwd", "group", "alternatives", "ld.so.cache"):
            subprocess.run(["cp", "-a", f"/etc/{name}", etc], check=True)
        os.chmod(self.base, 0o755)
        os.chmod(etc, 0o755)
        whole = f"set -e; mount --bind {etc} /etc; cd {self.work}; set +e; {script}"
        return subprocess.run(["unshare", "-m", "sh", "-c", whole], capture_output=True, timeout=60,
                              check=False, text=True)

    @unittest.skipUnless(harness.is_root(), "only root may read what others may not")
    def test_root_sees_only_what_others_may_read(self):
        done = self.in_own_etc({"app/open": ("open", 0o644), "app/secret": ("secret", 0o640),
                                "app/shut/inner": ("inner", 0o644), "wireguard/wg0": ("wg", 0o644)},
                               f"chmod 700 /etc/app/shut; {harness.SBX_RUN} -c 'cat /etc/app/open"
                               " /etc/app/secret /etc/app/shut/inner /etc/wireguard/wg0'")
        answer = json.loads(done.stdout)
        self.assertEqual((answer["stdout"], answer["stderr"].count("\n")), ("open", 3), answer)

    @unittest.skipUnless(harness.is_root(), "only root makes members of groups")
    def test_members_of_a_group_see_only_what_others_may_read(self):
        run = ("setpriv --reuid 65534 --regid 65534 --groups 4 --inh-caps=-all env HOME=/nonexistent"
               f" {harness.SBX_RUN} --workspace {self.work} -c 'cat /etc/app/secret; id -G'")
        os.chmod(self.work, 0o777)
        done = self.in_own_etc({"app/secret": ("secret", 0o640)},
                               f"chgrp 4 /etc/app/secret; {run}")
        answer = json.loads(done.stdout)
        self.assertNotIn("secret", answer["stdout"], answer)
        self.assertIn("app/secret", answer["stderr"], answer)

    @unittest.skipUnless(harness.is_root(), "only root may read what others may not")
    def test_what_the_host_replaces_meanwhile_stays_hidden(self):
        script = ("for i in $(seq 1000); do [ -e begun ] && break; sleep 0.01; done;"
                  " cp -a /etc/shadow /etc/shadow.new; mv /etc/shadow.new /etc/shadow; touch moved")
        inside = ("touch begun; while [ ! -e moved ]; do sleep 0.01; done; sleep 0.1;"
                  " cat /etc/shadow; true")
        done = self.in_own_etc({"shadow": ("root:secret", 0o600)},
                               f"({script}) & {harness.SBX_RUN} --timeout 20s -c '{inside}'; wait")
        answer = json.loads(done.stdout)
        self.assertEqual((answer["status"], answer["stdout"]), ("exited", ""), answer)
        self.assertIn("Permission denied", answer["stderr"], answer)

    def test_what_is_mounted_there_and_has_been_deleted_is_told_as_that(self):
        hosts = self.write("hosts", "127.0.0.1 localhost\n")
        answer = self.after_mounts(f"mount --bind {hosts} /etc/hosts && rm {hosts}")
        self.assert_error(answer, "setup_failed")
        self.assertIn("/etc/hosts", answer["error"]["message"])
        self.assertIn("has been deleted outside", answer["error"]["hint"])

    def test_a_root_of_the_profile_shows_what_it_names(self):
        path = "/etc/ssl/private" if harness.is_root() else "/etc/cron.d"
        answer = self.sh(f"ls {path} > /dev/null && echo seen", "--ro", path)
        self.assertEqual(answer["stdout"], "seen\n", answer)

    def test_names_certificates_alternatives_time_and_locale_work(self):
        self.assertEqual(self.out("getent hosts localhost | awk '{print $2}'"), "localhost\n")
        self.assertEqual(self.out("awk 'BEGIN {print 1}'"), "1\n")
        out = self.out("python3 -c 'import ssl, pwd, os, time, locale;"
                       "print(len(ssl.create_default_context().get_ca_certs()) > 0,"
                       "pwd.getpwuid(os.getuid()).pw_dir == os.environ[\"HOME\"])'")
        expected = os.path.exists("/etc/ssl/certs/ca-certificates.crt")
        self.assertEqual(out, f"{expected} True\n")
        self.assertEqual(self.out("test -r /etc/ld.so.cache && date +%Z").strip() != "", True)

    def test_etc_cannot_be_written(self):
        answer = self.sh("echo x >> /etc/passwd; touch /etc/new; mv /etc/hosts /tmp/h; true")
        self.assertEqual(answer["stderr"].count("\n"), 3, answer["stderr"])


class SearchPath(ViewCase):
    """What PATH names and does not show is told, with what would show it."""

    def setUp(self):
        super().setUp()
        os.chmod(self.base, 0o755)
        self.home = os.path.join(self.base, "home")
        self.write("home/.cargo/bin/own-cargo", "#!/bin/sh\necho built\n", 0o755)
        self.write("home/kit/bin/kit", "#!/bin/sh\necho kit\n", 0o755)
        os.mkdir(self.home + "/bin")
        os.symlink("../kit/bin/kit", self.home + "/bin/kit")
        self.path = f"{self.home}/.cargo/bin:{self.home}/bin:/usr/bin:/bin"

    def run_here(self, command, *flags):
        return self.sh(command, *flags,
                       env={**os.environ, "HOME": self.home, "PATH": self.path})

    def test_directories_that_are_not_shown_are_warned_of(self):
        warnings = "\n".join(self.run_here("true")["sandbox"]["warnings"])
        self.assertIn(f"{self.home}/.cargo/bin is not shown inside; --with rust", warnings)
        self.assertIn(f"{self.home}/bin is not shown inside; --ro {self.home}/bin", warnings)
        # A symlink is no root.
        os.mkdir(self.home + "/dotfiles")
        os.rename(self.home + "/bin", self.home + "/dotfiles/bin")
        os.symlink("dotfiles/bin", self.home + "/bin")
        warnings = "\n".join(self.run_here("true")["sandbox"]["warnings"])
        self.assertIn(f"{self.home}/bin is not shown inside; it leads to {self.home}/dotfiles/bin: --ro", warnings)
        self.assertEqual(self.run_here("true", "--with", "rust", "--ro", self.home + "/dotfiles/bin")
                         ["sandbox"]["warnings"], [])
        os.unlink(self.home + "/bin")
        os.rename(self.home + "/dotfiles/bin", self.home + "/bin")
        explained = self.raw("explain", "-c", "true",
                             env={**os.environ, "HOME": self.home, "PATH": self.path})
        self.assertIn(b".cargo/bin is not shown inside", explained.stdout)
        self.assertEqual(self.run_here("true", "--with", "rust", "--ro", self.home + "/bin")
                         ["sandbox"]["warnings"], [])

    def test_a_program_that_the_caller_has_is_a_denial_whose_grant_shows_it(self):
        for command in ("own-cargo build", "kit --version"):
            answer = self.run_here(command)
            self.assertEqual(answer["exit_code"], 127, answer)
            denial, = [d for d in answer["denials"] if d["operation"] == "exec"]
            key, value = denial["grant"].split(" += ")
            self.assertEqual(key, "filesystem.roots")
            profile = self.profile({"filesystem": {"+roots": json.loads(value)}})
            granted = self.run_here(command, "--profile", profile)
            self.assertEqual((granted["exit_code"], granted["denials"]), (0, []), granted)

    def test_nothing_is_said_of_programs_that_nobody_has(self):
        answer = self.run_here("no-such-program-anywhere")
        self.assertEqual((answer["exit_code"], answer["denials"]), (127, []), answer)


class Sockets(ViewCase):
    """The host's sockets are out of reach unless a root shows them."""

    def serve(self, family, address, kind=socket.SOCK_STREAM):
        server = socket.socket(family, kind)
        self.addCleanup(server.close)
        server.bind(address)
        if kind == socket.SOCK_STREAM:
            server.listen(4)
        return server

    def connect_all(self, addresses, *flags):
        text = json.dumps(addresses)
        code = ("import json, socket, sys\nfor a in json.loads(sys.argv[1]):\n"
                " s = socket.socket(socket.AF_UNIX if isinstance(a, str) else socket.AF_INET)\n"
                " try: s.connect(a if isinstance(a, str) else tuple(a)); print('REACHED', a)\n"
                " except OSError as e: pass\nprint('done')")
        return self.run_json(*flags, "--", "python3", "-c", code, text)

    def test_abstract_tmp_run_and_tcp_sockets_are_out_of_reach(self):
        name = os.path.basename(self.base)
        self.serve(socket.AF_UNIX, "\0" + name)
        self.serve(socket.AF_UNIX, self.base + "/sock")
        tcp = self.serve(socket.AF_INET, ("127.0.0.1", 0))
        addresses = ["\0" + name, self.base + "/sock", list(tcp.getsockname())]
        if harness.is_root():
            path = f"/run/{name}"
            self.serve(socket.AF_UNIX, path)
            self.addCleanup(os.remove, path)
            addresses.append(path)
        for flags in ([], ["--profile", "readonly"]):
            given = [a for a in addresses if not flags or a != self.base + "/sock"]
            answer = self.connect_all(given, *flags)
            self.assertEqual(answer["stdout"], "done\n", answer)


class Process(ViewCase):
    """A command starts clean, whatever state the caller was in."""

    PROBE = ("import os, signal; s = open('/proc/self/status').read();"
             "m = os.umask(0);"
             "f = {l.split(':')[0]: l.split()[1] for l in s.splitlines() if l.startswith('Sig')};"
             "print(oct(m), f['SigBlk'], sorted(int(x) for x in os.listdir('/proc/self/fd'))[:-1])")

    def test_umask_signals_and_descriptors(self):
        def spoil():
            os.umask(0o777)
            import signal
            signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
            for number in (signal.SIGPIPE, signal.SIGUSR1, signal.SIGCHLD, signal.SIGQUIT):
                signal.signal(number, signal.SIG_IGN)

        held = [os.open("/", os.O_RDONLY | os.O_DIRECTORY) for _ in range(20)]
        held += [os.open("/etc/passwd", os.O_RDONLY), *os.pipe()]
        self.addCleanup(lambda: [os.close(fd) for fd in held])
        for verb in ([], ["exec"]):
            done = self.raw(*verb, "--", "python3", "-c", self.PROBE, pass_fds=held,
                            preexec_fn=spoil)
            out = done.stdout.decode() if verb else json.loads(done.stdout)["stdout"]
            self.assertEqual(out, "0o22 0000000000000000 [0, 1, 2]\n", done.stderr)
            done = self.raw(*verb, "-c", "grep SigIgn /proc/self/status", pass_fds=held,
                            preexec_fn=spoil)
            text = done.stdout.decode() if verb else json.loads(done.stdout)["stdout"]
            self.assertEqual(text, "SigIgn:\t0000000000000000\n")

    def test_a_directory_or_path_descriptor_as_a_standard_one_is_refused(self):
        for flags in (os.O_RDONLY | os.O_DIRECTORY, os.O_PATH, os.O_PATH | os.O_DIRECTORY):
            fd = os.open("/" if flags & os.O_DIRECTORY else "/etc/passwd", flags)
            done = self.raw("exec", "-c", "touch ran", stdin=fd)
            os.close(fd)
            self.assertEqual(done.returncode, 125)
            self.assertIn(b"bad_descriptor", done.stderr)
        self.assertEqual(os.listdir(self.work), [])

    def test_a_descriptor_handed_in_cannot_be_reopened_for_more(self):
        path = self.write("outside/input", "kept")
        with open(path) as file:
            done = self.raw("exec", "-c", "cat; echo x > /dev/stdin; echo x > /proc/self/fd/0",
                            stdin=file)
        self.assertEqual(done.stdout, b"kept")
        with open(path) as file:
            self.assertEqual(file.read(), "kept")

    def test_a_descriptor_handed_in_can_be_opened_anew_as_it_is(self):
        path, log = self.write("outside/in.py", "print(1)\n"), self.base + "/outside/log"
        again = ("python3 /dev/stdin; echo w > /dev/stderr; echo x > /dev/stdout;"
                 " { cat < /dev/stdout; cat < /dev/stderr; echo y > /dev/stdin; } 2> /dev/null")
        with open(path) as file, open(log, "w") as out, open(log + "2", "w") as err:
            self.raw("exec", "-c", again, stdin=file, stdout=out, stderr=err)
        with open(path) as file, open(log) as out:
            self.assertEqual((file.read(), out.read()), ("print(1)\n", "x\n"))
        with open(log + "2") as err:
            self.assertEqual(err.readline(), "w\n")
        # What is written at the end of a file is not to be written over.
        with open(log, "a") as out:
            self.raw("exec", "-c", "echo lost > /dev/stdout; echo lost >> /dev/stdout; echo end", stdout=out)
        with open(log) as out:
            self.assertEqual(out.read(), "x\nend\n")
        answer = self.sh("cat /proc/self/fd/0 /dev/stdin", "--stdin", path, "--trace-denials")
        self.assertEqual((answer["stdout"], answer["denials"]), ("print(1)\n" * 2, []), answer)
        answer = self.sh(f"cat {path}; echo z > /dev/stdin", "--stdin", path)
        self.assertNotIn("print", answer["stdout"], answer)

    def test_no_capabilities_and_no_new_privileges(self):
        out = self.out("grep -E '^(Cap|NoNewPrivs)' /proc/self/status | awk '{print $2}' | sort -u")
        self.assertEqual(out, "0000000000000000\n1\n")

    @unittest.skipUnless(harness.is_root(), "only root sets supplementary groups")
    def test_supplementary_groups_reach_no_further_than_the_view(self):
        # The kernel lets nobody drop them in a user namespace of one id; they are not named
        # inside, cannot be given to files, and reach only what the view shows.
        self.write("work/mine", "")
        command = ("id -G; chgrp 4 mine; python3 -c 'import os; os.setgroups([4])'; ls /var/log")
        done = subprocess.run(["setpriv", "--groups", "4", harness.SBX_RUN, "-c", command],
                              cwd=self.work, capture_output=True, timeout=60, check=False)
        answer = json.loads(done.stdout)
        self.assertEqual(answer["stdout"], "0 65534\n")
        self.assertIn("PermissionError", answer["stderr"])
        self.assertNotEqual(os.stat(self.work + "/mine").st_gid, 4)


class Tools(ViewCase):
    """Base `tools` shows the executables of commands.allow and what they load, nothing else."""

    def test_only_the_allowed_programs_exist(self):
        profile = self.profile({"filesystem": {"base": "tools"},
                                "commands": {"allow": ["cat", "ls"]}})
        self.write("work/f", "data")
        answer = self.sh("cat f; /usr/bin/id; id; perl -e1; ls /usr/bin | tr '\\n' ' '", "--profile",
                         profile)
        if answer["status"] == "denied":
            answer = self.sh("cat f; ls /usr/bin", "--profile", profile)
        self.assertTrue(answer["stdout"].startswith("data"), answer)
        self.assertNotIn("uid=", answer["stdout"])
        names = set(answer["stdout"][4:].split())
        self.assertLessEqual(names, {"bash", "cat", "ls", "sh", "dash"})

    def test_base_none_shows_the_roots_only(self):
        profile = self.profile({"filesystem": {"base": "none"}})
        answer = self.sh("true", "--profile", profile)
        self.assert_error(answer, "not_found")
        answer = self.run_json("--profile", profile, "--ro", harness.probe("escape"), "--",
                               harness.probe("escape"), "mount")
        self.assertEqual(answer["stdout"], "mount: EPERM\n", answer)

    def test_base_host_shows_the_host_read_only(self):
        profile = self.profile({"filesystem": {"base": "host"}})
        self.write("outside/f", "seen")
        if not self.base.startswith("/tmp"):
            self.assertEqual(self.out(f"cat {self.base}/outside/f", "--profile", profile), "seen")
        self.assertEqual(self.out("cat /etc/debian_version >/dev/null; echo x > made; cat made",
                                  "--profile", profile), "x\n")
        self.assertEqual(self.sh("touch /var/tmp/x", "--profile", profile)["exit_code"], 1)


if __name__ == "__main__":
    unittest.main()
