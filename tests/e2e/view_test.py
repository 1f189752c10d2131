# SPDX-License-Identifier: Apache-2.0
"""What a command sees of the host, and what it can write: docs/profile.md, from inside."""

import itertools
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import harness
from view_harness import ViewCase


def snapshot(directory):
    """Every name below a directory with its mode and inode: a run must leave it as it was."""
    found = {}
    for at, names, files in os.walk(directory):
        for name in names + files:
            path = os.path.join(at, name)
            info = os.lstat(path)
            found[path] = (info.st_mode, info.st_ino)
    return found


class Roots(ViewCase):
    """The most specific path wins, whatever the order; what is not shown does not exist."""

    def test_a_writable_file_keeps_its_content_under_an_overlay(self):
        file = self.write("apart/file", "1\n")
        beside = self.write("apart/beside", "b\n")
        answer = self.sh(f"ls {self.base}/apart; echo 2 >> {file}; cat {file}; echo 3 > {beside}",
                         "--rw", file, "--overlay")
        self.assertEqual(answer["stdout"], "file\n1\n2\n", answer)
        self.assertEqual(answer["changes"], [{"path": file, "kind": "modified"}])
        for path, content in ((file, "1\n"), (beside, "b\n")):
            with open(path) as there:
                self.assertEqual(there.read(), content)
        self.assertEqual(self.sh("true", "--rw", file, "--overlay")["changes"], [])

    def test_an_overlay_takes_neither_devices_nor_other_users_programs(self):
        options = self.out("grep ' - overlay ' /proc/self/mountinfo", "--overlay").split()[5].split(",")
        self.assertLessEqual({"nosuid", "nodev"}, set(options))

    def test_no_overlay_lies_over_the_whole_system(self):
        answer = self.sh(f"echo 2 > {self.work}/ran", "--rw", "/", "--overlay")
        self.assert_error(answer, "path_refused")
        self.assertEqual(answer["error"]["where"], "--rw")
        self.assertEqual(os.listdir(self.work), [])

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
                answer = self.run_json(*flags, "--", "timeout", str(5 * harness.SLOWER), "python3", "-c",
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

    def test_other_names_of_a_hidden_file_are_told_of_unless_they_are_hidden_too(self):
        os.link(self.write("work/key", "hidden"), self.work + "/other")
        flags = ["--hide", self.work + "/key"]
        for number in (1, 0):
            told = [w for w in self.sh("true", *flags)["sandbox"]["warnings"] if "hard links" in w]
            self.assertEqual([self.work + "/key is hidden" in w for w in told], [True] * number, told)
            flags += ["--hide", self.work + "/other"]

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
        there = [os.path.exists(path) for path in ("/.config", "/.local")]
        for home in ("/nonexistent", "/no/such/dir", self.work + "/no/home", "", "relative", "/",
                     "/dev/null", "/proc"):
            env = {**os.environ, "HOME": home}
            out = self.out('echo x > "$HOME/f" && cat "$HOME/f"', env=env)
            self.assertEqual(out, "x\n", home)
        env = dict(os.environ)
        for name in ("HOME", "XDG_RUNTIME_DIR"):
            env.pop(name, None)
        self.assertEqual(self.out("echo fine", env=env), "fine\n")
        self.assertEqual([os.path.exists(path) for path in ("/.config", "/.local")], there)
        self.assertEqual(os.listdir(self.work), [])

    def test_a_home_below_var_is_where_it_is(self):
        for home in ("/var/lib/sbx-no-such/home", "/var/home/sbx-no-such"):
            env = {**os.environ, "HOME": home}
            for flags in ((), ("--profile", "strict"), ("--with", "rust")):
                out = self.out('echo x > "$HOME/f" && ls "$HOME" && echo "$HOME"; ls -d /var/lib/dpkg', *flags, env=env)
                self.assertEqual(out, f"f\n{home}\n/var/lib/dpkg\n", flags)
            self.assertFalse(os.path.exists(home))

    def test_a_home_below_tmp_is_where_it_is(self):
        """Else what presets show of it is not where programs look for it."""
        with tempfile.TemporaryDirectory() as home:
            os.makedirs(home + "/.cargo/bin")
            env = {**os.environ, "HOME": home}
            for flags in ((), ("--overlay",), ("--profile", "strict"), ("--ro", "/tmp")):
                out = self.out('echo x > "$HOME/f" && ls -A ~; ls -d ~/.cargo/bin; echo "$HOME"',
                               *flags, "--with", "rust", env=env)
                self.assertEqual(out, f".cargo\nf\n{home}/.cargo/bin\n{home}\n", flags)
            self.assertEqual(os.listdir(home), [".cargo"])

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
        script = (f"mount -t tmpfs none {self.base}/ro/deep/mnt && echo s > {self.base}/ro/deep/mnt/f"
                  f" && mount -t tmpfs none {self.work}/mnt && cd {self.work} && "
                  f"{harness.SBX_RUN} --ro {self.base}/ro --hide {self.work}/mnt -c "
                  f"'cat ../ro/deep/mnt/f; echo x > ../ro/deep/mnt/f; echo x > ../ro/deep/mnt/g;"
                  f" touch mnt/x; ls mnt'")
        done = subprocess.run([*harness.OWN_MOUNTS, "sh", "-c", script], capture_output=True,
                              timeout=60, check=False)
        if not done.stdout:
            self.skipTest(f"no private mount namespace here: {done.stderr!r}")
        answer = json.loads(done.stdout)
        self.assertEqual(answer["stdout"], "s\n", answer)
        self.assertEqual(answer["stderr"].count("Read-only file system"), 2, answer)
        self.assertEqual(answer["stderr"].count("ermission denied"), 2, answer)

    def test_so_do_those_below_the_system(self):
        place = "/usr/local/share"
        script = f"mount --bind {place} {place} && exec {harness.SBX_RUN} -c 'grep \" {place} \" /proc/self/mountinfo'"
        done = subprocess.run([*harness.OWN_MOUNTS, "sh", "-c", script], cwd=self.work, capture_output=True,
                              timeout=60, check=False)
        if not done.stdout:
            self.skipTest(f"no private mount namespace here: {done.stderr!r}")
        options = json.loads(done.stdout)["stdout"].split()[5].split(",")
        self.assertLessEqual({"ro", "nosuid", "nodev"}, set(options))

    def test_what_the_host_mounts_later_does_not_appear_inside(self):
        """In a directory that is shown, or below the system's, where the host's mounts are shared."""
        own = [*harness.OWN_MOUNTS, "--propagation", "private"]
        os.mkdir(self.work + "/sub")
        if subprocess.run([*own, "mount", "-t", "tmpfs", "none", self.work + "/sub"], capture_output=True,
                          timeout=60, check=False).returncode != 0:
            self.skipTest("no mounts in a mount namespace of one's own here")
        look = ("touch begun; until [ -e mounted ]; do sleep 0.05; done; touch looked;"
                " ls -d */of-the-host /usr/share/of-the-host")
        script = (f"set -e; mount --make-rshared /; cd {self.work};"
                  f" {harness.SBX_RUN} --timeout 30s -c '{look}' & until [ -e begun ]; do sleep 0.05; done;"
                  " for at in sub /usr/share; do mount -t tmpfs none $at; touch $at/of-the-host; done;"
                  " touch mounted; wait")
        done = subprocess.run([*own, "sh", "-c", script], capture_output=True, timeout=60, check=False)
        self.assertTrue(os.path.exists(self.work + "/looked"), done)
        self.assertEqual(json.loads(done.stdout)["stdout"], "", done)

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

    def test_what_is_only_read_takes_no_lease_that_its_readers_outside_wait_for(self):
        self.write("work/own", "1")
        for profile, path in (("default", "own"), ("readonly", "own"), ("strict", "/usr/bin/env")):
            answer = self.sh("python3 -c 'import fcntl; fcntl.fcntl(open(\"" + path + "\"),"
                             "fcntl.F_SETLEASE, fcntl.F_WRLCK)'", "--profile", profile)
            self.assertIn("PermissionError: [Errno 1]", answer["stderr"], answer)
