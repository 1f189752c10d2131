# SPDX-License-Identifier: Apache-2.0
"""What a command sees of the host, and what it can write: docs/profile.md, from inside."""

import itertools
import json
import os
import shutil
import socket
import subprocess
import tempfile
import unittest

import harness


def snapshot(directory):
    """Every name below a directory with its mode and inode: a run must leave it as it was."""
    found = {}
    for at, names, files in os.walk(directory):
        for name in names + files:
            path = os.path.join(at, name)
            info = os.lstat(path)
            found[path] = (info.st_mode, info.st_ino)
    return found


class ViewCase(harness.Case):
    def root(self, path, access, **more):
        return {"path": path, "access": access, **more}

    def with_roots(self, roots, **filesystem):
        return self.profile({"filesystem": {"roots": roots, **filesystem}})

    def can_read(self, path, *flags, **options):
        return self.sh(f'cat "{path}"', *flags, **options)["exit_code"] == 0

    def can_write(self, path, *flags, **options):
        return self.sh(f'echo x > "{path}"', *flags, **options)["exit_code"] == 0


class Roots(ViewCase):
    """The most specific path wins, whatever the order; what is not shown does not exist."""

    def test_what_no_root_shows_does_not_exist(self):  # E2
        self.write("outside/secret", "hidden")
        answer = self.sh(f"cat {self.base}/outside/secret; ls {self.base}")
        self.assertIn("No such file or directory", answer["stderr"])
        self.assertEqual(answer["stdout"], "work\n")

    def test_the_most_specific_root_wins_in_every_order(self):
        for path in ("work/a/b/c/file", "work/a/file", "work/a/b/file", "work/file"):
            self.write(path, "data")
        roots = [
            self.root(self.work, "rw"),
            self.root(self.work + "/a", "ro"),
            self.root(self.work + "/a/b", "none"),
            self.root(self.work + "/a/b/c", "rw"),
        ]
        for order in itertools.permutations(roots):
            profile = self.with_roots(list(order))
            answer = self.sh(
                "for f in file a/file a/b/file a/b/c/file; do"
                " cat $f >/dev/null 2>&1; r=$?; (echo x >> $f) 2>/dev/null; echo $f $r $?; done;"
                " ls a/b", "--profile", profile)
            self.assertEqual(
                answer["stdout"],
                "file 0 0\na/file 0 1\na/b/file 1 1\na/b/c/file 0 0\n",
                order)
            self.assertIn("ermission denied", answer["stderr"])

    def test_a_file_can_be_a_root(self):
        self.write("work/ro", "1")
        self.write("work/none", "2")
        self.write("other/rw", "3")
        flags = ["--ro", "work/ro", "--hide", "work/none", "--rw", "other/rw"]
        flags = [f"{self.base}/{f}" if "/" in f else f for f in flags]
        answer = self.sh("cat ro; echo x > ro; cat none; echo y > ../other/rw; mv ro moved;"
                         "rm none; ls", *flags)
        self.assertEqual(answer["stdout"], "1none\nro\n")
        self.assertIn("Read-only file system", answer["stderr"])
        self.assertIn("none: Permission denied", answer["stderr"])
        with open(f"{self.base}/other/rw") as file:
            self.assertEqual(file.read(), "y\n")

    def test_a_fifo_in_a_read_only_root_can_be_read_and_not_written(self):
        # Below /tmp, which is writable inside, Landlock could not tell it from its surroundings.
        with tempfile.TemporaryDirectory(dir="/var/tmp") as base:
            os.mkfifo(base + "/fifo")
            writer = os.open(base + "/fifo", os.O_RDWR)
            self.addCleanup(os.close, writer)
            host = self.profile({"filesystem": {"base": "host"}})
            for flags in (["--ro", base], ["--profile", host]):
                answer = self.run_json(*flags, "--", "timeout", "5", "python3", "-c",
                                       f"open('{base}/fifo', 'wb', 0).write(b'x')")
                self.assertIn("ermission denied", answer["stderr"])
            os.write(writer, b"hi\n")
            self.assertEqual(self.out(f"timeout 5 head -n 1 {base}/fifo", "--ro", base), "hi\n")

    def test_in_something_writable_a_fifo_of_a_read_only_root_is_hidden(self):
        for base in (self.base + "/shown", self.work + "/shown"):
            os.makedirs(base + "/deep/rw")
            fifos = [base + "/fifo", base + "/deep/fifo"]
            for fifo in [*fifos, base + "/deep/rw/fifo"]:
                os.mkfifo(fifo)
            program = ("import os, sys\nfor p in sys.argv[1:]:\n"
                       " try: os.open(p, os.O_RDWR); print('opened', p)\n"
                       " except PermissionError: print('refused', p)\n")
            answer = self.run_json("--ro", base, "--rw", base + "/deep/rw", "--", "python3", "-c",
                                   program, *fifos, base + "/deep/rw/fifo")
            self.assertEqual(answer["stdout"].split("\n")[:3],
                             [f"refused {fifos[0]}", f"refused {fifos[1]}",
                              f"opened {base}/deep/rw/fifo"], answer)

    def test_a_root_with_very_many_fifos_is_an_error(self):
        os.mkdir(self.base + "/many")
        for i in range(257):
            os.mkfifo(f"{self.base}/many/{i}")
        self.assert_error(self.sh("touch ran", "--ro", self.base + "/many"), "path_refused")
        self.assertFalse(os.path.exists(self.work + "/ran"))

    def test_a_hidden_path_is_refused_never_empty(self):
        self.write("work/secret/key", "hidden")
        self.write("work/.env", "hidden")
        answer = self.sh("cat .env; cat secret/key; ls secret; chmod 777 .env secret; cat .env;"
                         "cp .env copy; ln .env link; mv .env other; rm -rf secret .env",
                         "--hide", self.work + "/secret", "--hide", self.work + "/.env")
        self.assertEqual(answer["stdout"], "")
        self.assertEqual(answer["stderr"].count("ermission denied"), 5, answer["stderr"])
        self.assertEqual(sorted(os.listdir(self.work)), [".env", "secret"])

    def test_a_hidden_symlink_is_hidden_and_stays(self):
        self.write("other/env", "hidden")
        os.symlink("../other/env", self.work + "/.env")
        answer = self.sh("cat .env; readlink .env; cat ../other/env; rm .env; mv .env x;"
                         "ls -A", "--hide", self.work + "/.env", "--ro",
                         self.base + "/other")
        self.assertEqual((answer["status"], answer["stdout"]), ("exited", ".env\n.sbx\n"), answer)
        self.assertEqual(os.readlink(self.work + "/.env"), "../other/env")

    def test_hiding_the_private_tmp_or_an_unseen_path_changes_nothing(self):
        directory = self.base + "/unseen"
        os.mkdir(directory)
        for path in ("/tmp", directory, "/root" if harness.is_root() else "/var"):
            if path == "/tmp" and self.base.startswith("/tmp"):
                continue  # hides the workspace's own parents; a root stays a root below
            self.assertEqual(self.out("echo fine > /tmp/x && cat /tmp/x", "--hide", path), "fine\n")

    def test_a_missing_path_is_an_error_and_creates_nothing(self):
        before = snapshot(self.base)
        for flag in ("--ro", "--rw", "--hide"):
            for path in (self.base + "/missing", self.work + "/missing/deeper"):
                self.assert_error(self.sh("touch ran", flag, path), "path_not_found")
        profile = self.with_roots([self.root("${workspace}", "rw"),
                                   self.root(self.work + "/gone", "none", optional=True),
                                   self.root("/no/such/place", "rw", optional=True)])
        self.assertEqual(self.out("ls -A; ls /no 2>/dev/null || echo none", "--profile", profile),
                         ".sbx\nnone\n")
        os.remove(profile)
        self.assertEqual(snapshot(self.base), before)

    def test_refused_paths_are_refused(self):
        os.symlink("/etc", self.work + "/link")
        for path in (self.work + "/link", self.work + "/../work", "/dev/null", "/dev/shm",
                     "/proc/self", "/dev"):
            for flag in ("--ro", "--rw"):
                self.assert_error(self.sh("touch ran", flag, path), "path_refused")
        profile = self.with_roots([self.root("work", "rw")])
        self.assert_error(self.sh("touch ran", "--profile", profile), "bad_value")
        os.mkfifo(self.base + "/fifo")
        self.assert_error(self.sh("touch ran", "--ro", self.base + "/fifo"), "path_refused")
        self.assertEqual(os.listdir(self.work), ["link"])

    def test_the_way_to_a_narrower_root_cannot_be_moved_away(self):
        self.write("work/a/b/secret", "hidden")
        self.write("work/vendor/lib/code", "kept")
        flags = ["--hide", self.work + "/a/b/secret", "--ro", self.work + "/vendor/lib"]
        self.sh("mv a x; mv a/b a/x; mv vendor v; mkdir e; mv -T e a; echo y > a/ordinary;"
                "python3 -c 'import os; os.rename(\"vendor\", \"v\")'", *flags)
        self.assertEqual(sorted(os.listdir(self.work)), ["a", "e", "vendor"])
        self.assertEqual(sorted(os.listdir(self.work + "/a")), ["b", "ordinary"])

    def test_a_root_that_a_planted_symlink_leads_out_is_refused(self):
        self.write("outside/deep/file", "kept")
        os.symlink(self.base + "/outside", self.work + "/sub")
        for access in ("rw", "ro", "none"):
            profile = self.with_roots([self.root("${workspace}", "rw"),
                                       self.root("${workspace}/sub/deep", access)])
            self.assert_error(self.sh("echo x > sub/deep/file", "--profile", profile),
                              "path_refused")
        os.remove(self.work + "/sub")
        os.makedirs(self.work + "/real/deep")
        os.symlink("real", self.work + "/sub")
        answer = self.sh("ls sub/deep real/deep", "--profile", profile)
        self.assertEqual(answer["stdout"], "", answer)  # hidden, by both names

    def test_the_root_directory_can_be_a_root(self):
        with tempfile.TemporaryDirectory(dir="/var/tmp") as outside:
            for flag, written in (("--ro", False), ("--rw", True)):
                answer = self.sh(f"cat /etc/debian_version >/dev/null && ls -A /sys /run;"
                                 f"echo x > {outside}/f; cat /etc/os-release >&2",
                                 flag, "/", "--hide", os.path.realpath("/etc/os-release"),
                                 "--profile", self.profile({"commands": {"ask": []}}))
                self.assertEqual(answer["stdout"], "/run:\n\n/sys:\n", answer)
                self.assertIn("os-release: Permission denied", answer["stderr"])
                self.assertEqual(os.path.exists(outside + "/f"), written, answer)

    def test_a_run_leaves_the_host_as_it_was(self):
        self.write("work/sub/file", "x")
        before = snapshot(self.base)
        flags = ["--hide", self.work + "/sub", "--ro", self.base]
        self.sh("ls -R /; cat sub/file", *flags)
        self.assertEqual(snapshot(self.base), before)

    def test_odd_names_work(self):
        for name in ("with space", "new\nline", "comma,colon:", "back\\slash", "ünïcödé",
                     "quote'\"", "%s$HOME", "-dash", "\\040"):
            work = os.path.join(self.base, name, "work")
            os.makedirs(work)
            with open(work + "/hidden", "w") as file:
                file.write("secret")
            answer = self.sh("pwd -P; echo hi > made; cat hidden", "--hide", work + "/hidden",
                             cwd=work)
            self.assertEqual(answer["stdout"], work + "\n", answer)
            self.assertIn("Permission denied", answer["stderr"])
            with open(work + "/made") as file:
                self.assertEqual(file.read(), "hi\n")

    def test_devices_are_shown_only_when_listed(self):
        self.assertEqual(self.sh("ls /dev/kmsg /dev/fuse /dev/mem /dev/kvm 2>/dev/null")["stdout"],
                         "")
        for path in ("/dev/none", "/etc/passwd", "/dev/../etc/passwd"):
            profile = self.profile({"filesystem": {"devices": [path]}})
            self.assertEqual(self.sh("true", "--profile", profile)["status"], "error", path)


class Workspaces(ViewCase):
    """A workspace works wherever it lies."""

    def check(self, work, *flags, **environment):
        env = {**os.environ, **environment}
        self.assertEqual(self.out("echo hi > made && cat made && pwd -P", *flags, cwd=work, env=env),
                         f"hi\n{os.path.realpath(work)}\n")
        self.assertTrue(os.path.exists(work + "/made"))

    def test_below_tmp_below_home_equal_to_home_and_in_shm(self):
        self.check(self.work)
        os.makedirs(self.base + "/home/project")
        self.check(self.base + "/home/project", HOME=self.base + "/home")
        self.check(self.base + "/home", HOME=self.base + "/home")
        shm = tempfile.mkdtemp(dir="/dev/shm")
        self.addCleanup(shutil.rmtree, shm)
        self.check(shm, "--workspace", ".")

    def test_home_may_be_missing_unset_odd_or_within_a_root(self):
        for home in ("/nonexistent", "/no/such/dir", self.work + "/no/home", "", "relative", "/",
                     "/dev/null", "/proc"):
            env = {**os.environ, "HOME": home}
            out = self.out('echo x > "$HOME/f" && cat "$HOME/f"', env=env)
            self.assertEqual(out, "x\n", home)
        env = dict(os.environ)
        for name in ("HOME", "XDG_RUNTIME_DIR"):
            env.pop(name, None)
        self.assertEqual(self.out("echo fine", env=env), "fine\n")
        self.assertEqual(os.listdir(self.work), [])

    def test_a_home_below_a_writable_root_that_does_not_exist_is_no_error(self):
        with tempfile.TemporaryDirectory(dir="/var/tmp") as work:
            env = {**os.environ, "HOME": work + "/no/home"}
            self.assertEqual(self.out("echo fine", cwd=work, env=env), "fine\n")
            self.assertEqual(os.listdir(work), [])

    def test_a_home_whose_place_a_root_shows_without_it_is_in_tmp(self):
        if os.path.exists("/home/sandbox") or not os.path.isdir("/home"):
            self.skipTest("needs a /home without /home/sandbox")
        env = {name: value for name, value in os.environ.items() if name != "HOME"}
        for flags in (("--ro", "/home"), ("--rw", "/home")):
            self.assertEqual(self.out('echo x > "$HOME/f" && echo "$HOME"', *flags, env=env), "/tmp\n")
        self.assertFalse(os.path.exists("/home/sandbox"))

    def test_a_working_directory_that_is_not_shown_is_an_error(self):
        other = self.base + "/other"
        os.mkdir(other)
        flags = ["--workspace", self.work]
        self.assert_error(self.sh("touch ran", *flags, "--cwd", other), "cwd_not_visible")
        os.mkdir(self.work + "/hidden")
        self.assert_error(self.sh("touch ran", "--hide", self.work + "/hidden", "--cwd", "hidden"),
                          "cwd_not_visible")
        self.assertEqual(os.listdir(other), [])


class Submounts(ViewCase):
    """Read-only is recursive: a mount within a root is as read-only as the root."""

    def test_mounts_below_a_root_follow_it(self):
        for name in ("ro/deep/mnt", "work/mnt"):
            os.makedirs(os.path.join(self.base, name))
        flag = "-m" if harness.is_root() else "-Urm"
        script = (f"mount -t tmpfs none {self.base}/ro/deep/mnt && echo s > {self.base}/ro/deep/mnt/f"
                  f" && mount -t tmpfs none {self.work}/mnt && cd {self.work} && "
                  f"{harness.SBX_RUN} --ro {self.base}/ro --hide {self.work}/mnt -c "
                  f"'cat ../ro/deep/mnt/f; echo x > ../ro/deep/mnt/f; echo x > ../ro/deep/mnt/g;"
                  f" touch mnt/x; ls mnt'")
        done = subprocess.run(["unshare", flag, "sh", "-c", script], capture_output=True,
                              timeout=60, check=False)
        if not done.stdout:
            self.skipTest(f"no private mount namespace here: {done.stderr!r}")
        answer = json.loads(done.stdout)
        self.assertEqual(answer["stdout"], "s\n", answer)
        self.assertEqual(answer["stderr"].count("Read-only file system"), 2, answer)
        self.assertEqual(answer["stderr"].count("ermission denied"), 2, answer)

    @unittest.skipUnless(harness.is_root(), "only root mounts without a user namespace")
    def test_without_a_user_namespace_nothing_propagates_to_the_host(self):
        profile = self.profile({"isolation": {
            "namespaces": ["mount", "pid", "net", "ipc", "uts", "cgroup"], "require": ["mount"]}})
        script = (f"cd {self.work}; wc -l < /proc/self/mountinfo; "
                  f"{harness.SBX_RUN} --profile {profile} -c 'echo inside' >{self.base}/answer;"
                  "wc -l < /proc/self/mountinfo; cat /proc/sys/user/max_user_namespaces")
        with open("/proc/sys/user/max_user_namespaces") as file:
            limit = file.read()
        done = subprocess.run(["unshare", "-m", "--propagation", "shared", "sh", "-c", script],
                              capture_output=True, timeout=60, check=True, text=True)
        before, after, inside_limit = done.stdout.split()
        with open(self.base + "/answer") as file:
            answer = json.load(file)
        self.assertEqual(before, after)
        self.assertEqual(inside_limit, limit.strip())
        self.assertEqual((answer["status"], answer["stdout"]), ("exited", "inside\n"), answer)
        self.assertEqual(answer["sandbox"]["layers"]["user"], False)


class Scratch(ViewCase):
    """/tmp, /dev/shm and home are private, bounded together, and do not persist."""

    def test_tmp_does_not_persist_and_is_not_the_hosts(self):  # E8
        name = os.path.basename(self.base) + "-mark"
        with open(f"/tmp/{name}", "w") as file:
            file.write("host")
        self.addCleanup(os.remove, f"/tmp/{name}")
        self.assertEqual(self.out(f"test ! -e /tmp/{name}; echo in > /tmp/{name}-2; echo ok"), "ok\n")
        self.assertEqual(self.out(f"test ! -e /tmp/{name}-2 && echo ok"), "ok\n")
        self.assertFalse(os.path.exists(f"/tmp/{name}-2"))

    def test_one_bound_for_all_of_them(self):
        out = self.out("for d in /tmp /dev/shm $HOME; do"
                       " dd if=/dev/zero of=$d/fill bs=64K count=400 2>/dev/null; done;"
                       " cat /tmp/fill /dev/shm/fill $HOME/fill 2>/dev/null | wc -c",
                       "--tmp-size", "8M")
        self.assertGreater(int(out), 7 << 20)
        self.assertLessEqual(int(out), (8 << 20) + (64 << 10))  # what /etc leaves of its pages

    def test_inodes_are_bounded(self):
        answer = self.sh("cd /tmp && python3 -c \"\nfor i in range(200000):\n"
                         " open(str(i), 'w').close()\"", "--tmp-size", "1M")
        self.assertEqual((answer["status"], answer["limit"]), ("limit", "disk"), answer)
        self.assertIn("No space left", answer["stderr"])

    def test_readonly_blocks_every_write(self):  # D3
        self.write("work/file", "x")
        before = snapshot(self.base)
        out = self.out(
            "for f in ./new ./file /tmp/x $HOME/x /dev/shm/x /var/tmp/x /run/x /x /etc/x /usr/x;"
            " do (echo x > $f) 2>/dev/null && echo WROTE $f; done;"
            "mkdir d 2>/dev/null && echo MADE; rm -f file 2>/dev/null && echo REMOVED;"
            "chmod 600 file 2>/dev/null && echo CHMOD; touch -d @1 file 2>/dev/null && echo TOUCH;"
            "ln -s a b 2>/dev/null && echo LINKED; echo y > /dev/null && cat file; true",
            "--profile", "readonly")
        self.assertEqual(out, "x")
        self.assertEqual(snapshot(self.base), before)


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
