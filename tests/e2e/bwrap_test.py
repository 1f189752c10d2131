# SPDX-License-Identifier: Apache-2.0
"""sbx-bwrap beside bubblewrap: the same command lines, run by both, give the same exit status,
stdout and stderr. What Debian 12's bubblewrap (0.8) does not know is compared with what 0.11 says.
"""

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

SBX_BWRAP = os.environ.get("SBX_BWRAP") or os.path.join(
    os.path.dirname(os.environ["SBX_RUN"]), "sbx-bwrap"
)
REAL = shutil.which("bwrap")
BOUND = 60
ROOT = ["--ro-bind", "/", "/"]
# A small root as flatpak builds one.
SYSTEM = ["--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib",
          "--symlink", "usr/lib64", "/lib64", "--symlink", "usr/sbin", "/sbin"]


def sh(text):
    return ["sh", "-c", text]


def is_root():
    return os.geteuid() == 0


class Case(unittest.TestCase):
    def setUp(self):
        self.base = os.path.realpath(tempfile.mkdtemp(prefix="sbx-bwrap-"))
        self.addCleanup(shutil.rmtree, self.base, ignore_errors=True)

    def run_it(self, program, arguments, data=None, **options):
        """`data` maps a descriptor number inside to the bytes that it gives."""
        fds = {}
        for number, content in (data or {}).items():
            fd = os.memfd_create("data")
            os.write(fd, content)
            os.lseek(fd, 0, os.SEEK_SET)
            fds[number] = fcntl.fcntl(fd, fcntl.F_DUPFD, 200)
            os.close(fd)
        def place():
            for number, fd in fds.items():
                os.dup2(fd, number)
        try:
            return subprocess.run(
                [program, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                timeout=BOUND, check=False, preexec_fn=place, close_fds=False,
                **{"cwd": "/", **options})
        finally:
            for fd in fds.values():
                os.close(fd)

    def sbx(self, *arguments, **options):
        return self.run_it(SBX_BWRAP, arguments, **options)

    def ok(self, *arguments, **options):
        done = self.sbx(*arguments, **options)
        self.assertEqual((done.returncode, done.stderr), (0, ""), arguments)
        return done.stdout

    def fails(self, words, *arguments, status=1, **options):
        done = self.sbx(*arguments, **options)
        self.assertEqual((done.returncode, done.stderr), (status, words), arguments)

    def write(self, relative, text=""):
        path = os.path.join(self.base, relative)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        return path


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


if __name__ == "__main__":
    unittest.main()
