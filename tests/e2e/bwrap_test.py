# SPDX-License-Identifier: Apache-2.0
"""sbx-bwrap beside bubblewrap: the same command lines, run by both, give the same exit status,
stdout and stderr. What Debian 12's bubblewrap (0.8) does not know is compared with what 0.11 says.
"""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

from bwrap_harness import BOUND, REAL, ROOT, SBX_BWRAP, SYSTEM, Case, read, sh

def table():
    """(name, arguments, data): @ stands for a scratch directory that holds file, dir/, link."""
    both = ["--ro-bind", "/", "/"]
    yield "exit status", [*both, *sh("exit 7")]
    yield "signal", [*both, *sh("kill -SEGV $$")]
    yield "signal below PID 1", [*both, "--unshare-pid", *sh("kill -TERM $$")]
    yield "not found", [*both, "no-such-program"]
    yield "not found by path", [*both, "/no/such/program"]
    yield "not executable", [*both, "@/file"]
    yield "double dash", [*both, "--", "echo", "--version"]
    yield "no command", [*both]
    yield "nothing at all", []
    yield "unknown option", ["--foo", "true"]
    yield "one dash", ["-x"]
    for option in ("--args", "--tmpfs", "--proc", "--dev", "--dir", "--mqueue", "--chdir",
                   "--remount-ro", "--uid", "--gid", "--hostname", "--setenv", "--unsetenv",
                   "--lock-file", "--sync-fd", "--block-fd", "--userns-block-fd", "--info-fd",
                   "--json-status-fd", "--seccomp", "--add-seccomp-fd", "--userns", "--userns2",
                   "--pidns", "--cap-add", "--cap-drop", "--perms", "--size", "--bind",
                   "--bind-try", "--ro-bind", "--ro-bind-try", "--dev-bind", "--dev-bind-try",
                   "--symlink", "--file", "--bind-data", "--ro-bind-data", "--chmod",
                   "--exec-label", "--file-label"):
        yield f"{option} without its arguments", [option]
    yield "two arguments, one given", ["--bind", "/usr"]
    for option in ("--sync-fd", "--block-fd", "--info-fd", "--json-status-fd", "--seccomp",
                   "--add-seccomp-fd", "--userns", "--userns2", "--pidns", "--args"):
        yield f"{option} with no number", [option, "x", "true"]
        yield f"{option} with a negative one", [option, "-3", "true"]
    yield "bad uid", ["--uid", "x", "true"]
    yield "bad gid", ["--gid", "-2", "true"]
    yield "unknown capability", ["--cap-add", "CAP_NONSENSE", "true"]
    yield "bad perms", ["--perms", "888", "--dir", "/x", "true"]
    yield "perms too large", ["--perms", "10000", "--dir", "/x", "true"]
    yield "perms twice", ["--perms", "700", "--perms", "700", "true"]
    yield "perms for nothing", [*both, "--perms", "0700", "--proc", "/proc", "true"]
    yield "size of nothing", ["--size", "0", "--tmpfs", "/x", "true"]
    yield "size without tmpfs", ["--size", "10", "--dir", "/x", "true"]
    yield "size twice", ["--size", "10", "--size", "10", "--tmpfs", "/x", "true"]
    yield "size too large", ["--size", "18446744073709551615", "--tmpfs", "/x", "true"]
    yield "chmod of no mode", ["--chmod", "9", "/x", "true"]
    yield "label", ["--exec-label", "x", "true"]
    yield "hostname without uts", [*both, "--hostname", "x", "true"]
    yield "as-pid-1 without pid", [*both, "--as-pid-1", "true"]
    yield "as-pid-1 and locks", [*both, "--unshare-pid", "--as-pid-1", "--lock-file", "/x", "true"]
    yield "disable-userns alone", [*both, "--userns-block-fd", "5", "true"]
    yield "block without info", [*both, "--unshare-user", "--userns-block-fd", "5", "true"]
    yield "userns and unshare-user", ["--userns", "5", "--unshare-user", "true"]
    yield "userns and try", ["--userns", "5", "--unshare-user-try", "true"]
    yield "bad args fd", ["--args", "77", "true"]
    yield "args", ["--args", "20", "echo", "hello"], {20: b"--ro-bind\0/\0/\0"}
    yield "args within args", ["--args", "20", "true"], {20: b"--args\0003\0"}
    yield "args with an unknown option", ["--args", "20", "true"], {20: b"--nope\0"}
    yield "args that lack one", ["--args", "20", "true"], {20: b"--bind\0/\0"}
    yield "too many arguments", ["--args", "20", "true"], {20: b"--new-session\0" * 9001}
    yield "repeated chdir warns", [*both, "--chdir", "/", "--chdir", "/usr", "pwd"]
    yield "repeated seccomp", ["--seccomp", "20", "--add-seccomp-fd", "20", "true"]
    yield "seccomp of odd size", [*both, "--seccomp", "20", "true"], {20: b"abc"}
    yield "seccomp that is no program", [*both, "--seccomp", "20", "true"], {20: b"\xff" * 8}
    yield "seccomp that allows", [*both, "--seccomp", "20", "true"], {
        20: b"\x06\0\0\0\0\0\xff\x7f"}
    yield "seccomp under PID 1", [*both, "--unshare-pid", "--seccomp", "20",
                                  *sh("grep Seccomp: /proc/self/status")], {
        20: b"\x06\0\0\0\0\0\xff\x7f"}
    yield "two seccomp programs", [*both, "--add-seccomp-fd", "20", "--add-seccomp-fd", "21",
                                   *sh("grep Seccomp_filters /proc/self/status")], {
        20: b"\x06\0\0\0\0\0\xff\x7f", 21: b"\x06\0\0\0\0\0\xff\x7f"}
    yield "missing source", [*both, "--bind", "/no/such", "/tmp", "true"]
    yield "missing ro source", [*both, "--ro-bind", "/no/such", "/tmp", "true"]
    yield "missing source, try", [*both, "--bind-try", "/no/such", "/nowhere", "true"]
    yield "file over directory", [*both, "--bind", "@/file", "/tmp", "true"]
    yield "directory over file", [*both, "--bind", "@/dir", "@/file", "true"]
    yield "no place for a directory", [*both, "--bind", "@/dir", "/no-such-place/x", "true"]
    yield "no place for a file", [*both, "--bind", "@/file", "/no-such-file", "true"]
    yield "no place for a tmpfs", [*both, "--tmpfs", "/no-such-place", "true"]
    yield "dir", [*SYSTEM, "--perms", "0750", "--dir", "/a/b", *sh("stat -c %a /a /a/b")]
    yield "dir twice", [*SYSTEM, "--dir", "/a", "--perms", "0700", "--dir", "/a",
                        *sh("stat -c %a /a")]
    yield "dir over a file", [*SYSTEM, "--file", "20", "/f", "--dir", "/f", "true"], {20: b"x"}
    yield "file", [*SYSTEM, "--file", "20", "/d/f", *sh("cat /d/f; stat -c %a /d /d/f")], {
        20: b"hello\n"}
    yield "private file", [*SYSTEM, "--perms", "0600", "--file", "20", "/d/f",
                           *sh("stat -c %a /d /d/f")], {20: b"x"}
    yield "bad file fd", [*SYSTEM, "--file", "77", "/f", "true"]
    yield "bind-data", [*SYSTEM, "--bind-data", "20", "/f",
                        *sh("cat /f; stat -c %a /f; echo more >> /f; cat /f; ls /")], {20: b"data\n"}
    yield "ro-bind-data", [*SYSTEM, "--perms", "0444", "--ro-bind-data", "20", "/f",
                           *sh("stat -c %a /f; echo more >> /f; cat /f")], {20: b"data\n"}
    yield "symlink", [*SYSTEM, "--symlink", "/usr", "/x/y", *sh("readlink /x/y")]
    yield "chmod", [*SYSTEM, "--dir", "/x", "--chmod", "0711", "/x", *sh("stat -c %a /x")]
    yield "chmod of nothing", [*SYSTEM, "--chmod", "0711", "/x", "true"]
    yield "tmpfs", [*SYSTEM, "--perms", "1777", "--size", "65536", "--tmpfs", "/t",
                    *sh("stat -c %a /t; df -k --output=size /t; head -c 100000 /dev/zero > /t/x")]
    yield "remount-ro", [*SYSTEM, "--dir", "/d", "--remount-ro", "/", *sh("mkdir /d/x")]
    yield "remount-ro below", [*SYSTEM, "--tmpfs", "/t", "--dir", "/t/d", "--remount-ro", "/t",
                               *sh("mkdir /t/d/x")]
    yield "remount-ro of no mount", [*SYSTEM, "--dir", "/d", "--remount-ro", "/d", "true"]
    yield "remount-ro of nothing", [*SYSTEM, "--remount-ro", "/nothing", "true"]
    yield "dev", [*SYSTEM, "--dev", "/dev", *sh("ls -1 /dev; stat -c '%a %F' /dev/null /dev/shm")]
    yield "dev again and again", [*SYSTEM, "--dev", "/dev", "--dev", "/dev2", *sh("ls /dev2")]
    yield "dev works", [*SYSTEM, "--dev", "/dev", *sh(
        "echo x > /dev/null; head -c 3 /dev/zero | od -c; test -c /dev/pts/ptmx && echo ptmx")]
    yield "dev, own ids", [*SYSTEM, "--dev", "/dev", "--proc", "/proc", "--unshare-user", "--uid",
                           "1234", "--gid", "4321", *sh("id -u; id -g; cat /proc/self/uid_map")]
    yield "no dev, own ids", [*SYSTEM, "--proc", "/proc", "--unshare-user", "--uid", "1234",
                              *sh("id -u; id -g; cat /proc/self/uid_map /proc/self/setgroups")]
    yield "uid without userns", [*both, "--uid", "4242", "true"]
    yield "proc of one's own", [*SYSTEM, "--unshare-pid", "--proc", "/proc",
                                *sh("ls -d /proc/[0-9]*; echo $$")]
    yield "proc of the host", [*SYSTEM, "--proc", "/proc", *sh("test -d /proc/$$ && echo yes")]
    yield "proc's mounts", [*SYSTEM, "--unshare-pid", "--proc", "/proc",
                            *sh("cut -d' ' -f 2-6 /proc/mounts")]
    yield "mounts", [*SYSTEM, "--unshare-pid", "--proc", "/proc", "--tmpfs", "/tmp", "--bind",
                     "@/dir", "/w", "--dev-bind", "@", "/v", "--dev", "/dev",
                     *sh("cut -d' ' -f 1,2,3,4 /proc/mounts | sort")]
    yield "mqueue", [*SYSTEM, "--unshare-ipc", "--mqueue", "/q", *sh("ls -A /q | wc -l")]
    yield "as-pid-1", [*both, "--unshare-pid", "--as-pid-1", *sh("echo $$")]
    yield "pid 2", [*both, "--unshare-pid", *sh("echo $$ $PPID")]
    yield "unshare-all", [*both, "--unshare-all", "--proc", "/proc", "--tmpfs", "/tmp",
                          *sh("echo $$; cat /proc/net/dev | wc -l")]
    yield "unshare-all, share-net", [*both, "--unshare-all", "--share-net", *sh(
        "cat /proc/net/dev | wc -l")]
    yield "loopback", [*both, "--unshare-net", "--unshare-pid", "--proc", "/proc",
                       *sh("grep -c lo: /proc/net/dev; cat /proc/net/fib_trie | grep -c 127.0.0.1")]
    yield "hostname", [*both, "--unshare-uts", "--hostname", "box", *sh("uname -n")]
    yield "hostname too long", [*both, "--unshare-uts", "--hostname", "x" * 65, "true"]
    yield "every other namespace", [*both, "--unshare-user-try", "--unshare-cgroup",
                                    "--unshare-cgroup-try", "--unshare-ipc", "true"]
    yield "chdir", [*both, "--chdir", "/usr/bin", *sh("pwd; echo $PWD")]
    yield "chdir nowhere", [*both, "--chdir", "/no/such", "true"]
    yield "cwd that is not shown", [*SYSTEM, "--setenv", "HOME", "/usr/lib", *sh("pwd; echo $PWD")], {}, "@"
    yield "cwd and home not shown", [*SYSTEM, "--setenv", "HOME", "/no", *sh("pwd; echo $PWD")], {}, "@"
    yield "setenv", [*both, "--setenv", "A", "1", "--setenv", "B", "2", "--setenv", "A", "3",
                     "--unsetenv", "B", *sh("echo $A-$B")]
    yield "clearenv", [*both, "--clearenv", "--setenv", "Z", "26", "/usr/bin/env"]
    yield "setenv of no name", [*both, "--setenv", "", "x", "true"]
    yield "setenv of a bad name", [*both, "--setenv", "a=b", "x", "true"]
    yield "path of its own", [*both, "--setenv", "PATH", "/nowhere", "true"]
    yield "no path", [*both, "--unsetenv", "PATH", "true"]
    yield "new-session", [*both, "--unshare-pid", "--proc", "/proc", "--new-session",
                          *sh("cut -d' ' -f 6 /proc/self/stat")]
    yield "no new privileges", [*both, *sh("grep -E 'NoNewPrivs|Cap' /proc/self/status")]
    yield "capabilities in a userns", [*both, "--unshare-user", "--unshare-pid",
                                       *sh("grep -E 'Cap' /proc/self/status")]
    yield "cap-add ALL", [*both, "--unshare-user", "--uid", "0", "--cap-add", "ALL",
                          *sh("grep -E 'CapEff' /proc/self/status")]
    yield "cap-add one, not root", [*both, "--unshare-user", "--uid", "5", "--cap-add",
                                    "cap_net_admin", *sh("grep -E Cap /proc/self/status")]
    yield "cap-drop ALL", [*both, "--cap-drop", "ALL", *sh("grep -E 'Cap' /proc/self/status")]
    yield "cap-drop one", [*both, "--cap-drop", "CAP_KILL", *sh("grep -E Cap /proc/self/status")]
    yield "disable-userns", [*both, "--unshare-user", "--disable-userns",
                             *sh("unshare -U true && echo made")]
    yield "disable-userns with dev", [*both, "--dev", "/dev", "--unshare-user", "--disable-userns",
                                      *sh("unshare -U true && echo made; id -u")]
    yield "disable-userns needs a userns", [*both, "--userns", "77", "--disable-userns", "true"]
    yield "assert-userns-disabled fails", [*both, "--assert-userns-disabled", "true"]
    yield "assert-userns-disabled holds", [*both, "--unshare-user", "--disable-userns",
                                           "--assert-userns-disabled", "true"]
    yield "a userns inside", [*both, "--unshare-user", *sh("unshare -Ur id -u")]
    yield "a whole bwrap inside", [*both, "--unshare-user", "--dev-bind", "/", "/", REAL, "--ro-bind",
                                   "/", "/", "--unshare-pid", *sh("echo $$")]
    yield "lock-file that is not there", [*both, "--unshare-pid", "--lock-file", "/no/such",
                                          "sleep", "0.2"]
    yield "bind over the root again", [*both, "--bind", "/", "/", "--tmpfs", "/tmp",
                                       *sh("ls /tmp | wc -l")]
    yield "relative source", [*both, "--tmpfs", "/tmp", "--bind", "dir", "/tmp/x",
                              *sh("ls /tmp/x")], {}, "@"
    yield "relative destination", [*SYSTEM, "--dir", "a/b", *sh("ls -d /a/b")]
    yield "dots in a destination", [*SYSTEM, "--dir", "/a", "--dir", "/a/../b", *sh("ls -d /b")]
    yield "source behind a link", [*SYSTEM, "--bind", "@/link", "/l", *sh("ls /l")]
    yield "bind of a file, made on demand", [*SYSTEM, "--ro-bind", "@/file", "/p/q",
                                             *sh("cat /p/q; stat -c %a /p; echo x > /p/q")]
    yield "bind of /proc/self/fd", [*SYSTEM, "--ro-bind-try", "/proc/self/exe", "/exe",
                                    *sh("test -x /exe && echo yes")]
    yield "order: later hides", [*SYSTEM, "--bind", "@/dir", "/w", "--tmpfs", "/w", *sh("ls -A /w")]
    yield "order: later shows", [*SYSTEM, "--tmpfs", "/w", "--bind", "@/dir", "/w", *sh("ls -A /w")]
    yield "umask passes through", [*SYSTEM, "--dir", "/d", *sh("umask; mkdir /d/x; stat -c %a /d/x")]
    yield "descriptors pass through", [*both, *sh("cat <&33")], {33: b"passed\n"}
    yield "data descriptors do not", [*SYSTEM, "--file", "20", "/f", *sh("cat <&20")], {20: b"x"}
    yield "a script without #!", [*both, "@/script"]
    yield "flatpak", [
        "--args", "20", "--", "sh", "-c", "id -u; ls /app /run; cat /app/.ref /etc/group2; pwd"], {
        20: b"\0".join(b"""--unshare-user-try --unshare-pid --unshare-ipc --unshare-cgroup-try
            --die-with-parent --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib
            --symlink usr/lib64 /lib64 --lock-file /usr/bin/env --proc /proc --dev /dev
            --tmpfs /run --dir /run/user --perms 0700 --dir /run/user/1000 --dir /tmp --tmpfs /app
            --perms 0644 --ro-bind-data 21 /app/.ref --file 22 /etc/group2 --chdir /app
            --setenv XDG_RUNTIME_DIR /run/user/1000 --dir /var/tmp --symlink ../run /var/run
            --ro-bind-try /no/such /no/such --remount-ro /app --unsetenv LD_PRELOAD""".split())
            + b"\0", 21: b"ref\n", 22: b"group\n"}


class BesideBubblewrap(Case):
    def outcome(self, program, row):
        _, arguments, data, cwd = (*row, *({}, "/")[len(row) - 2:])
        base = tempfile.mkdtemp(prefix="case", dir=self.base)
        os.mkdir(os.path.join(base, "dir"))
        for name, content in (("file", "content\n"), ("dir/inside", ""), ("script", "echo ran\n")):
            with open(os.path.join(base, name), "w") as file:
                file.write(content)
        os.chmod(os.path.join(base, "script"), 0o755)
        os.symlink("dir", os.path.join(base, "link"))
        done = self.run_it(program, [a.replace("@", base) for a in arguments], data,
                           cwd=cwd.replace("@", base))
        found = sorted(os.path.relpath(os.path.join(top, name), base)
                       for top, dirs, files in os.walk(base) for name in dirs + files)
        text = (done.stdout + "\0" + done.stderr).replace(base, "@").replace(program, "bwrap")
        return done.returncode, *text.split("\0"), found

    def test_every_command_line_does_what_it_does_with_bubblewrap(self):
        if REAL is None:
            self.skipTest("bubblewrap is not installed: nothing to compare with")
        count = 0
        for row in table():
            with self.subTest(row[0]):
                real, sbx = (self.outcome(program, row) for program in (REAL, SBX_BWRAP))
                if "usage: " in real[2]:  # 0.8 lists fewer options
                    real, sbx = ((*o[:2], o[2].splitlines()[0], o[3]) for o in (real, sbx))
                self.assertEqual(sbx, real)
                count += 1
        self.assertGreater(count, 150)


class Newer(Case):
    """What Debian 12's bubblewrap does not have, or does otherwise."""

    def test_version_and_help_are_understood(self):
        self.assertEqual(self.ok("--version"), "bubblewrap 0.11.0\n")
        text = self.ok("--help")
        self.assertIn(" [OPTIONS...] [--] COMMAND [ARGS...]\n", text)
        for option in ("--overlay-src", "--tmp-overlay", "--argv0", "--level-prefix",
                       "--disable-userns", "--bind-fd", "--json-status-fd", "--size"):
            self.assertIn(f"    {option} ", text)
        if REAL is not None:
            real = subprocess.run([REAL, "--help"], capture_output=True, text=True, check=True)
            for line in real.stdout.splitlines()[1:]:
                self.assertIn(line, text)

    def test_argv0_names_the_program(self):
        self.assertEqual(self.ok(*ROOT, "--argv0", "other", *sh("echo $0")), "other\n")
        self.fails("bwrap: --argv0 used multiple times\n", "--argv0", "a", "--argv0", "b", "true")

    def test_level_prefix_stands_before_messages(self):
        self.fails("<4>bwrap: Only the last --chdir option will take effect\n"
                   "<3>bwrap: Can't chdir to /no: No such file or directory\n",
                   "--level-prefix", *ROOT, "--chdir", "/", "--chdir", "/no", "true")

    def test_a_symlink_that_is_there_already(self):
        self.ok(*SYSTEM, "--symlink", "a", "/x", "--symlink", "a", "/x", "true")
        self.fails("bwrap: Can't make symlink at /x: existing destination is a\n",
                   *SYSTEM, "--symlink", "a", "/x", "--symlink", "b", "/x", "true")
        self.fails("bwrap: Can't make symlink at /x: destination exists and is not a symlink\n",
                   *SYSTEM, "--dir", "/x", "--symlink", "b", "/x", "true")

    def test_bind_fd_shows_the_directory_that_is_open(self):
        self.write("dir/inside", "x")
        fd = os.open(os.path.join(self.base, "dir"), os.O_PATH | os.O_DIRECTORY)
        os.set_inheritable(fd, True)
        self.addCleanup(os.close, fd)
        self.assertEqual(self.ok(*SYSTEM, "--bind-fd", str(fd), "/d", *sh("ls /d")), "inside\n")
        done = self.sbx(*SYSTEM, "--ro-bind-fd", str(fd), "/d", *sh("echo x > /d/y"))
        self.assertIn("Read-only file system", done.stderr)
        # Not the one that has its name now.
        os.rename(os.path.join(self.base, "dir"), os.path.join(self.base, "old"))
        self.write("dir/other")
        self.assertEqual(self.ok(*SYSTEM, "--bind-fd", str(fd), "/d", *sh("ls /d")), "inside\n")

    def overlay_or_skip(self):
        self.write("low/a", "low a\n")
        self.write("low/b", "low b\n")
        self.write("high/b", "high b\n")
        sources = ["--overlay-src", f"{self.base}/low", "--overlay-src", f"{self.base}/high"]
        done = self.sbx(*SYSTEM, *sources, "--ro-overlay", "/o", "true")
        if done.returncode != 0:
            self.skipTest(f"overlayfs cannot be mounted here: {done.stderr.strip()}")
        return sources

    def test_overlays(self):
        sources = self.overlay_or_skip()
        self.assertEqual(self.ok(*SYSTEM, *sources, "--ro-overlay", "/o", *sh("cat /o/*")),
                         "low a\nhigh b\n")
        self.assertEqual(
            self.ok(*SYSTEM, *sources, "--tmp-overlay", "/o", *sh("echo new > /o/a; cat /o/*")),
            "new\nhigh b\n")
        self.assertEqual(read(f"{self.base}/low/a"), "low a\n")
        for name in ("up,per", "work:dir"):
            os.mkdir(f"{self.base}/{name}")
        self.ok(*SYSTEM, *sources, "--overlay", f"{self.base}/up,per", f"{self.base}/work:dir", "/o",
                *sh("echo new > /o/c"))
        self.assertEqual(os.listdir(f"{self.base}/up,per"), ["c"])

    def test_overlay_errors(self):
        self.fails("bwrap: --overlay requires at least one --overlay-src\n",
                   "--overlay", "/a", "/b", "/c", "true")
        self.fails("bwrap: --tmp-overlay requires at least one --overlay-src\n",
                   "--tmp-overlay", "/c", "true")
        self.fails("bwrap: --ro-overlay requires at least two --overlay-src\n",
                   "--overlay-src", "/", "--ro-overlay", "/c", "true")
        lonely = ("bwrap: --overlay-src must be followed by another --overlay-src or one of "
                  "--overlay, --tmp-overlay, or --ro-overlay\n")
        self.fails(lonely, "--overlay-src", "/", "--tmpfs", "/c", "true")
        self.fails(lonely, "--overlay-src", "/", "true")
        self.fails(lonely, "--overlay-src")
        self.fails("bwrap: Can't find source path /no/such: No such file or directory\n", *SYSTEM,
                   "--overlay-src", "/no/such", "--tmp-overlay", "/c", "true")


class Symlinks(Case):
    """Where sbx keeps its own way: nothing inside leads a write out."""

    def test_a_link_at_a_destination_is_followed_inside_only(self):
        outside = self.write("outside/file", "untouched\n")
        os.makedirs(f"{self.base}/bound")
        os.symlink(f"{self.base}/outside", f"{self.base}/bound/escape")
        # The old root's name while the new one is built: bubblewrap itself follows this one.
        os.symlink(f"/oldroot{self.base}/outside", f"{self.base}/bound/deep")
        os.symlink("/inside", f"{self.base}/bound/stay")
        bound = [*SYSTEM, "--dir", "/inside", "--bind", f"{self.base}/bound", "/w"]
        for link in ("escape", "deep"):
            for option in (["--file", "20", f"/w/{link}/file"], ["--dir", f"/w/{link}/new"],
                           ["--symlink", "x", f"/w/{link}/new"], ["--tmpfs", f"/w/{link}/new"],
                           ["--bind-data", "20", f"/w/{link}/new"],
                           ["--chmod", "0", f"/w/{link}/file"],
                           ["--bind", "/usr", f"/w/{link}/new"]):
                self.sbx(*bound, *option, "true", data={20: b"overwritten"})
                self.assertEqual(os.listdir(os.path.dirname(outside)), ["file"], option)
                self.assertEqual(read(outside), "untouched\n", option)
                self.assertNotEqual(os.stat(outside).st_mode & 0o777, 0, option)
        self.assertEqual(
            self.ok(*bound, "--file", "20", "/w/stay/f", *sh("cat /inside/f"), data={20: b"in\n"}),
            "in\n")

    def test_dots_do_not_lead_out(self):
        self.ok(*SYSTEM, "--dir", f"/../../../../..{self.base}/made", "true")
        self.assertEqual(os.listdir(self.base), [])


class SandboxRuntime(Case):
    """Anthropic's sandbox-runtime with sbx-bwrap as its bwrap, where it is installed:
    SBX_SANDBOX_RUNTIME names the directory that `npm install @anthropic-ai/sandbox-runtime` made.
    """

    def test_it_runs_on_sbx_bwrap(self):
        where = os.environ.get("SBX_SANDBOX_RUNTIME", "")
        srt = os.path.join(where, "node_modules/.bin/srt")
        if not where or not os.path.exists(srt):
            self.skipTest("set SBX_SANDBOX_RUNTIME to where npm installed sandbox-runtime")
        for tool in ("socat", "rg", "node"):
            if shutil.which(tool) is None:
                self.skipTest(f"sandbox-runtime needs {tool}")
        self.write("bin/bwrap", f'#!/bin/sh\necho used >> {self.base}/used\nexec {SBX_BWRAP} "$@"\n')
        os.chmod(f"{self.base}/bin/bwrap", 0o755)
        os.mkdir(f"{self.base}/work")
        settings = self.write("settings.json", json.dumps({
            "network": {"allowedDomains": [], "deniedDomains": []},
            "filesystem": {"denyRead": [f"{self.base}/secret"], "allowWrite": ["."],
                           "denyWrite": []}}))
        self.write("secret", "hidden")
        done = subprocess.run(
            [srt, "--settings", settings, "-c",
             f"echo ran > made; cat {self.base}/secret; echo no > {self.base}/outside; id -u"],
            cwd=f"{self.base}/work", capture_output=True, text=True, timeout=BOUND, check=False,
            env={**os.environ, "PATH": f"{self.base}/bin:{os.environ['PATH']}"})
        self.assertEqual(read(f"{self.base}/work/made"), "ran\n", done)
        self.assertIn("used", read(f"{self.base}/used"))
        self.assertNotIn("hidden", done.stdout)
        self.assertFalse(os.path.exists(f"{self.base}/outside"))


if __name__ == "__main__":
    unittest.main()
