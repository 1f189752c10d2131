# SPDX-License-Identifier: Apache-2.0
"""Machines that refuse namespaces: nothing runs unless the operator allows a weaker tier, and what
that tier is gets named. Containers are simulated without privilege: Docker's filter by a helper, a
limit of user namespaces and a masked /proc by unshare(1)."""

import ctypes
import json
import os
import shutil
import signal
import struct
import subprocess
import time
import unittest

import harness
import refusing

LOST = ("user", "mount", "pid", "net", "ipc", "uts", "cgroup")
HELD = ("seccomp", "landlock", "no_new_privs", "capabilities")


def alive(marker):
    """Processes whose command line holds the marker."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if marker.encode() in file.read():
                    found.append(int(pid))
        except OSError:
            continue
    return found


class Degraded(harness.Case):
    def setUp(self):
        super().setUp()
        self.tmp = os.path.join(self.base, "tmp")
        os.mkdir(self.tmp)
        self.weak = self.profile({"isolation": {"require": ["seccomp", "landlock"],
                                                "fallback": "degrade"}})

    def under(self, wrapper, *arguments, **options):
        """The answer of sbx-run below a wrapper that takes something from it."""
        environment = {**os.environ, "TMPDIR": self.tmp, **options.pop("env", {})}
        done = subprocess.run([*wrapper, harness.SBX_RUN, *arguments], cwd=self.work,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False,
                              timeout=harness.BOUND, env=environment, **options)
        self.last = done
        try:
            return json.loads(done.stdout)
        except ValueError:
            self.fail(f"no JSON: {done.stdout!r} {done.stderr!r}")

    def docker(self, *arguments, **options):
        return self.under([harness.probe("docker_filter")], *arguments, **options)

    def weakly(self, command, *flags, **options):
        answer = self.docker("--profile", self.weak, *flags, "-c", command, **options)
        self.assertNotEqual(answer["status"], "error", answer["error"])
        return answer

    def assert_names_what_is_lost(self, answer):
        layers = answer["sandbox"]["layers"]
        named = {entry["what"]: entry["reason"] for entry in answer["sandbox"]["degraded"]}
        for layer in LOST:
            self.assertFalse(layers[layer], layer)
            self.assertTrue(named.get(layer), layer)
        for layer in HELD:
            self.assertTrue(layers[layer], layer)

    # --- refused ---

    def test_the_default_profile_runs_nothing_in_a_container(self):
        answer = self.docker("-c", ": > ran")
        self.assert_error(answer, "layer_unavailable")
        self.assertTrue(answer["error"]["hint"])
        self.assertEqual(self.last.returncode, 125)
        self.assertEqual(os.listdir(self.work), [])

    def test_allowing_degradation_alone_lowers_what_the_profile_requires(self):
        answer = self.docker("--allow-degraded", "-c", "echo fine")
        self.assertEqual(answer["stdout"], "fine\n", answer["error"])
        self.assert_names_what_is_lost(answer)

    def test_allowing_degradation_does_not_go_below_what_is_required_beside_it(self):
        for layer in ("pid", "seccomp"):  # with --require the profile's own list stands too
            answer = self.docker("--allow-degraded", "--require", layer, "-c", ": > ran")
            self.assert_error(answer, "layer_unavailable")
        self.assertEqual(os.listdir(self.work), [])

    def test_a_required_layer_on_the_command_line_is_required(self):
        answer = self.docker("--profile", self.weak, "--require", "pid", "-c", ": > ran")
        self.assert_error(answer, "layer_unavailable")
        self.assertEqual(os.listdir(self.work), [])

    # --- the weaker tier ---

    def test_the_weaker_tier_names_each_lost_layer_and_confirms_the_others(self):
        answer = self.weakly("echo fine")
        self.assertEqual(answer["stdout"], "fine\n")
        self.assert_names_what_is_lost(answer)

    def test_no_socket_of_the_hosts_network_can_be_had(self):
        """One that listens without having been bound is held by no Landlock."""
        for flags in (("--net", "outbound"), ("--allow-host", "example.org"), ("--host-port", "5000"), ()):
            answer = self.weakly("/usr/bin/python3 -c 'import socket; socket.socket().listen()'", *flags)
            self.assertIn("PermissionError", answer["stderr"], answer)
            self.assertEqual([d["grant"] for d in answer["denials"] if d["operation"] == "socket"],
                             ['network.mode = "open"'], answer)
            named = "network" in [entry["what"] for entry in answer["sandbox"]["degraded"]]
            self.assertEqual(named, flags != (), answer)

        # What that grants; and where it grants nothing, it is not offered.
        program = "import socket; socket.socket({}); print('had')"
        for kind, grant in (("", 'network.mode = "open"'), ("2, 2", 'network.mode = "open"'), ("10, 1, 6", 'network.mode = "open"'),
                            ("2, 3, 1", ""), ("2, 1, 132", ""), ("2, 2, 136", "")):
            answer = self.weakly(f'/usr/bin/python3 -c "{program.format(kind)}"')
            self.assertEqual([(d["operation"], d["grant"]) for d in answer["denials"]], [("socket", grant)], (kind, answer))
            for ports in ([], [5000]):
                opened = self.profile({"extends": self.weak, "network": {"mode": "open", "host_ports": ports}}, "opened.json")
                answer = self.docker("--profile", opened, "-c", f'/usr/bin/python3 -c "{program.format(kind)}"')
                self.assertEqual(answer["stdout"], "had\n" if grant else "", (kind, answer))

    def test_files_outside_are_held_by_landlock(self):
        secret = self.write("secret", "hidden")
        answer = self.weakly(f"cat {secret}; : > {self.base}/new; : > {self.tmp}/new; : > inside")
        self.assertNotIn("hidden", answer["stdout"])
        self.assertEqual(answer["stderr"].count("Permission denied"), 3, answer["stderr"])
        self.assertEqual(os.listdir(self.work), ["inside"])
        self.assertFalse(os.path.exists(f"{self.base}/new"))

    def test_a_hidden_directory_stays_hidden(self):
        self.write("work/hidden/key", "secret text")
        self.write("work/open/file", "public text")
        answer = self.weakly("cat hidden/key open/file", "--hide", f"{self.work}/hidden")
        self.assertEqual(answer["stdout"], "public text")

    def test_a_program_in_a_hidden_directory_of_path_does_not_stand_before_one_that_is_shown(self):
        self.write("tools/env", "#!/bin/sh\n", 0o755)
        path = f"{self.base}/tools:/usr/bin:/bin"
        answer = self.weakly("env | grep ^PATH=", env={"PATH": path})
        self.assertEqual(answer["stdout"], "PATH=/usr/bin:/bin\n", answer)
        self.assertIn(f"PATH: {self.base}/tools is not shown inside",
                      "".join(answer["sandbox"]["warnings"]))

    def test_a_protected_path_can_be_read_and_not_written(self):
        self.write("work/.git/hooks/sample", "a hook\n")
        answer = self.weakly("cat .git/hooks/sample; echo bad > .git/hooks/sample; "
                             "mv .git old; mkdir .git/hooks/more; ls -A")
        self.assertEqual(answer["stdout"], "a hook\n.git\n")
        with open(f"{self.work}/.git/hooks/sample") as file:
            self.assertEqual(file.read(), "a hook\n")

    def test_the_filter_is_in_force(self):
        answer = self.weakly("unshare -U true; echo $?")
        self.assertNotEqual(answer["stdout"], "0\n")
        self.assertIn("Operation not permitted", answer["stderr"])

    def test_system_v_ipc_of_the_host_is_out_of_reach(self):
        answer = self.weakly("/usr/bin/python3 -c 'import ctypes; libc = ctypes.CDLL(None, use_errno=True);"
                             "print(libc.shmget(0, 4096, 0o1600), ctypes.get_errno())'")
        self.assertEqual(answer["stdout"], "-1 1\n", answer)
        self.assertIn("seccomp.allow", answer["denials"][0]["grant"])

    def test_a_hidden_working_directory_is_refused(self):
        os.mkdir(f"{self.work}/hidden")
        answer = self.docker("--profile", self.weak, "--hide", f"{self.work}/hidden", "--cwd",
                             "hidden", "-c", "true")
        self.assert_error(answer, "cwd_not_visible")

    def test_a_profile_that_writes_nowhere_changes_no_attribute_either(self):
        """Landlock holds neither modes nor owners, times and attributes."""
        path = self.write("work/file", "kept")
        os.chmod(path, 0o640)
        before = os.stat(path)
        change = ("import fcntl, os\n"
                  "fd = os.open('file', os.O_RDONLY)\n"
                  "for change in (lambda: os.chmod('file', 0o600), lambda: os.fchmod(fd, 0o600), lambda: os.chown('file', -1, -1),\n"
                  "    lambda: os.utime('file', (1, 1)), lambda: os.utime(fd, (1, 1)), lambda: os.setxattr('file', 'user.a', b'b'),\n"
                  "    lambda: os.truncate('file', 0), lambda: os.open('file', os.O_RDONLY | os.O_TRUNC),\n"
                  "    lambda: fcntl.ioctl(fd, 0x40086602, bytes(8))):\n"
                  "    try:\n"
                  "        change()\n"
                  "    except PermissionError: print('refused')\n")
        answer = self.docker("--profile", "readonly", "--allow-degraded", "--trace-denials", "--", "/usr/bin/python3", "-c", change)
        self.assertEqual(answer["stdout"], "refused\n" * 9, answer)
        after = os.stat(path)
        self.assertEqual((after.st_mode, after.st_mtime_ns, after.st_ctime_ns, after.st_size),
                         (before.st_mode, before.st_mtime_ns, before.st_ctime_ns, 4))
        self.assertLessEqual({"fchmod", "utimensat", "setxattr", "truncate", "ioctl"},
                             {denial["operation"] for denial in answer["denials"] if denial["layer"] == "seccomp"})
        told = [entry["reason"] for entry in answer["sandbox"]["degraded"] if entry["what"] == "filesystem"]
        self.assertEqual(told, ["Landlock alone: names of files outside are not covered"])
        params = {"command": "chmod 600 file; touch -d 2001-01-01 file; echo x > file; cat file > /dev/null && echo on"}
        done = subprocess.run([harness.probe("docker_filter"), harness.SBX_RUN, "tool", "execute_command", "--allow-degraded"],
                              cwd=self.work, input=json.dumps(params), capture_output=True, text=True, check=False)
        self.assertIn("stdout:\non\nstderr:\n", done.stdout)
        self.assertEqual(os.stat(path).st_ctime_ns, before.st_ctime_ns)

    # --- temporary files ---

    def test_tmpdir_and_home_are_private_directories_that_are_removed(self):
        answer = self.weakly("echo $TMPDIR $HOME; stat -c %a $TMPDIR $HOME; "
                             "echo x > $TMPDIR/a && echo y > ~/b && cat $TMPDIR/a ~/b")
        lines = answer["stdout"].split("\n")
        for path in lines[0].split():
            self.assertTrue(path.startswith(self.tmp + "/sbx-run-"), path)
        self.assertEqual(lines[1:5], ["700", "700", "x", "y"])
        self.assertEqual(os.listdir(self.tmp), [])

    def test_whatever_lies_in_tmpdir_is_removed_and_no_symlink_is_followed(self):
        keep = self.write("keep/file", "kept")
        answer = self.weakly(
            f"cd $TMPDIR; ln -s {self.base}/keep link; ln -s {self.work} work; mkfifo fifo; "
            "mkdir -p shut/in/side; : > shut/in/side/file; : > \"$(printf 'new\\nline')\"; "
            "for i in $(seq 300); do mkdir d; cd d; : > f; done; cd $TMPDIR; "
            "chmod 0 shut/in; chmod 0 shut; echo done")
        self.assertEqual(answer["stdout"], "done\n", answer["stderr"])
        self.assertEqual(os.listdir(self.tmp), [])
        self.assertTrue(os.path.exists(keep))
        self.assertTrue(os.path.isdir(self.work))

    def test_tmpdir_is_removed_when_sbx_run_is_killed(self):
        with subprocess.Popen([harness.probe("docker_filter"), harness.SBX_RUN, "--profile",
                               self.weak, "-c", "mkdir $TMPDIR/d; : > $TMPDIR/d/f; : > up; "
                               "exec sleep 1000.125"],
                              cwd=self.work, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL,
                              env={**os.environ, "TMPDIR": self.tmp}) as process:
            self.wait_until(lambda: os.path.exists(f"{self.work}/up"))
            process.send_signal(signal.SIGKILL)
        self.wait_until(lambda: os.listdir(self.tmp) == [])
        self.wait_until(lambda: not alive("sleep\0" + "1000.125"))

    def wait_until(self, condition):
        end = time.monotonic() + 20
        while not condition():
            self.assertLess(time.monotonic(), end, "this never became true")
            time.sleep(0.02)

    # --- the tree ---

    def test_daemons_end_with_the_command(self):
        mark = f"1000.{os.getpid()}1"
        answer = self.weakly(f"(setsid sleep {mark} >/dev/null 2>&1 &) ; (sleep {mark} &); echo on")
        self.assertEqual(answer["stdout"], "on\n")
        self.assertEqual(alive(mark), [])

    def test_daemons_end_at_the_timeout(self):
        mark = f"1000.{os.getpid()}2"
        answer = self.weakly(f"(setsid setsid sleep {mark} &); (setsid sleep {mark} &); sleep {mark}",
                             "--timeout", "500ms")
        self.assertEqual((answer["status"], answer["timed_out"]), ("timed_out", True))
        self.wait_until(lambda: alive(mark) == [])

    # --- other ways to lose namespaces ---

    def test_a_limit_of_no_user_namespaces_is_named(self):
        shell = ["unshare", "-Ur", "sh", "-c",
                 'echo 0 > /proc/sys/user/max_user_namespaces || exit 99; exec "$@"', "sh"]
        self.skip_unless_it_runs([*shell, "true"])
        environment = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"]
        answer = self.under([*shell, *environment], "-c", ": > ran")
        self.assert_error(answer, "layer_unavailable")
        self.assertIn("max_user_namespaces", answer["error"]["message"] + answer["error"]["hint"])
        self.assertEqual(os.listdir(self.work), [])

    def test_an_outer_sandbox_that_allows_no_more_is_named_without_a_limit_of_the_hosts(self):
        shell = ["unshare", "-Ur", "sh", "-c", "echo 1 > /proc/sys/user/max_user_namespaces || exit 99; "
                 'exec unshare -Ur "$@"', "sh"]
        self.skip_unless_it_runs([*shell, "true"])
        environment = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"]
        self.assert_cause([*shell, *environment], "user", "sandbox or container forbids it", "start sbx-run outside")
        self.assertNotIn("sysctl", self.last.stdout.decode())

    def test_a_masked_proc_is_refused_since_it_would_list_every_process(self):
        masked = ["unshare", "-Urmpf", "--mount-proc", "sh", "-c",
                  'mount --bind /dev/null /proc/cpuinfo || exit 99; exec "$@"', "sh"]
        self.skip_unless_it_runs([*masked, "true"])
        # Required, or merely without leave to degrade.
        unrequired = self.profile({"isolation": {"require": ["seccomp"]}}, "unrequired.json")
        for flags in ([], ["--allow-degraded", "--require", "pid"], ["--profile", unrequired],
                      ["--profile", self.weak, "--require", "pid"]):
            answer = self.under(masked, *flags, "-c", ": > ran")
            self.assert_error(answer, "layer_unavailable")
            self.assertIn("mount(proc)", answer["error"]["message"])
            self.assertIn("systempaths=unconfined", answer["error"]["hint"])
            self.assertFalse(answer["sandbox"]["layers"]["pid"])
            self.assertEqual(os.listdir(self.work), [])
        # By itself the flag lowers what is required to what can be had.
        for flags in (["--profile", self.weak], ["--allow-degraded"]):
            answer = self.under(masked, *flags, "-c",
                                "test -r /proc/self/status && echo there; "
                                "echo 1 > /proc/sys/kernel/panic")
            self.assertEqual(answer["status"], "exited", answer["error"])
            self.assertEqual(answer["stdout"], "there\n")
            (entry,) = [one for one in answer["sandbox"]["degraded"] if one["what"] == "proc"]
            self.assertIn("lists every process outside", entry["reason"])

    def assert_cause(self, wrapper, layer, cause, mend, **options):
        answer = self.under(wrapper, "-c", ": > ran", **options)
        self.assert_error(answer, "layer_unavailable")
        self.assertIn(f"the required layer '{layer}'", answer["error"]["message"])
        self.assertIn(cause, answer["error"]["message"])
        self.assertIn(mend, answer["error"]["hint"])
        self.assertEqual(os.listdir(self.work), [])

    def test_ids_that_are_not_mapped_are_named(self):
        self.skip_unless_it_runs(["unshare", "-U", "true"])
        self.assert_cause(["unshare", "-U"], "user", "is not mapped", "--map-current-user")

    def test_a_root_that_may_not_map_itself_is_named(self):
        bare = ["unshare", "-Ur", "setpriv", "--bounding-set", "-all", "--inh-caps", "-all"]
        self.skip_unless_it_runs([*bare, "true"])
        self.assert_cause(bare, "user", "root without CAP_SETFCAP", "--cap-add SETFCAP")

    @unittest.skipIf(harness.is_root(), "root reads every file")
    def test_a_program_that_cannot_be_read_is_named(self):
        shutil.copy(harness.SBX_RUN, self.base + "/closed")
        os.chmod(self.base + "/closed", 0o111)
        self.assert_cause(["sh", "-c", f'shift; exec {self.base}/closed "$@"', "sh"], "user",
                          "cannot be read by the caller", "chmod a+r")

    def test_a_landlock_domain_is_named(self):
        libc = ctypes.CDLL(None)
        restrict = 446
        ruleset = libc.syscall(restrict - 2, struct.pack("Q", 1 << 11), ctypes.c_size_t(8), 0)
        if ruleset < 0:
            self.skipTest("no Landlock here")
        self.addCleanup(os.close, ruleset)

        def enter():
            if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.syscall(restrict, ruleset, 0) != 0:
                raise OSError("landlock_restrict_self")

        self.assert_cause([], "mount", "a Landlock domain in force", "outside of it", preexec_fn=enter)

    def test_a_call_that_a_filter_hides_is_no_matter_of_limits(self):
        for call in ("close_range", "signalfd4"):
            answer = self.under(refusing.wrapper(call + ":ENOSYS"), "-c", ": > ran")
            self.assert_error(answer, "setup_failed")
            self.assertIn("a seccomp filter hides that system call", answer["error"]["hint"])
        self.assertEqual(os.listdir(self.work), [])

    def test_a_proc_that_is_read_only_is_named(self):
        closed = ["unshare", "-Urm", "sh", "-c", "mount --rbind /proc /proc && mount -o "
                  'remount,bind,ro,nosuid,nodev,noexec /proc || exit 99; exec "$@"', "sh"]
        self.skip_unless_it_runs([*closed, "true"])
        self.assert_cause(closed, "user", "/proc is missing or read-only", "mount -t proc")

    def skip_unless_it_runs(self, command):
        if subprocess.run(command, capture_output=True, check=False).returncode != 0:
            self.skipTest("this kernel does not let an unprivileged process simulate that")


class WithoutNotifications(harness.Case):
    """A kernel, or a filter above, without a listener: what is refused is refused, and what is not told is named."""

    def deaf(self, *arguments):
        done = subprocess.run([*refusing.wrapper(*refusing.NO_LISTENER), harness.SBX_RUN, *arguments], cwd=self.work,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              timeout=harness.BOUND)
        self.assertTrue(done.stdout, done.stderr)
        return done.stdout

    def test_every_layer_holds_and_what_is_not_told_is_named(self):
        answer = json.loads(self.deaf("-c", "unshare -U true; echo $?; : >/usr/made; echo x >made"))
        self.assertEqual(answer["status"], "exited", answer["error"])
        self.assertEqual(answer["stdout"], "1\n")
        self.assertIn("Operation not permitted", answer["stderr"])
        self.assertEqual(answer["denials"], [])
        self.assertEqual(os.listdir(self.work), ["made"])
        self.assertTrue(all(answer["sandbox"]["layers"].values()), answer["sandbox"]["layers"])
        self.assertEqual([entry["what"] for entry in answer["sandbox"]["degraded"]], ["denials", "unix_sockets"])

    def test_an_allowed_host_is_not_reached_and_the_result_says_so(self):
        answer = json.loads(self.deaf("--allow-host", "127.0.0.1", "-c",
                                      "exec 3<>/dev/tcp/127.0.0.1/9 || echo not reached"))
        self.assertEqual(answer["stdout"], "not reached\n", answer["error"])
        self.assertIn("network", [entry["what"] for entry in answer["sandbox"]["degraded"]])

    def test_doctor_says_so(self):
        self.assertFalse(json.loads(self.deaf("doctor", "--json"))["seccomp"]["notify"])


class Nested(harness.Case):
    """sbx-run inside sbx-run: works, and says that a second listener cannot be had."""

    def test_a_sandbox_within_a_sandbox_runs_and_names_what_it_cannot_do(self):
        outer = self.profile({"seccomp": {"allow": [
            "unshare", "clone", "mount", "umount2", "pivot_root", "open_tree", "move_mount",
            "mount_setattr", "sethostname"]}}, "outer.json")
        answer = self.sh(f"{harness.SBX_RUN} --profile {self.inner()} -c 'echo inner; id -u'",
                         "--profile", outer, "--ro", os.path.dirname(harness.SBX_RUN), "--ro",
                         os.path.join(self.base, "inner.json"))
        self.assertEqual(answer["status"], "exited", answer)
        inner = json.loads(answer["stdout"])
        self.assertEqual(inner["status"], "exited", inner["error"])
        self.assertEqual(inner["stdout"], f"inner\n{os.getuid()}\n")
        self.assertTrue(inner["sandbox"]["layers"]["seccomp"])
        self.assertTrue(inner["sandbox"]["layers"]["landlock"])
        self.assertIn("denials", [entry["what"] for entry in inner["sandbox"]["degraded"]])

    def test_within_the_default_sandbox_which_hides_openat2_files_are_held_by_landlock(self):
        self.write("work/hidden", "a secret")
        os.mkdir(f"{self.work}/shown")
        answer = self.sh(f"{harness.SBX_RUN} --allow-degraded --hide hidden "
                         "-c 'cat hidden; : > shown/made; ls shown; : > made'",
                         "--ro", os.path.dirname(harness.SBX_RUN))
        self.assertEqual(answer["status"], "exited", answer)
        inner = json.loads(answer["stdout"])
        self.assertEqual(inner["status"], "exited", inner["error"])
        self.assertEqual(inner["stdout"], "made\n", inner)
        self.assertEqual(inner["stderr"].count("Permission denied"), 2, inner)
        self.assertEqual(os.listdir(f"{self.work}/shown"), ["made"])
        self.assertTrue(inner["sandbox"]["layers"]["landlock"])
        self.assertFalse(inner["sandbox"]["layers"]["mount"])

    def inner(self):
        return self.profile({"isolation": {"require": ["seccomp", "landlock"],
                                           "fallback": "degrade"}}, "inner.json")


if __name__ == "__main__":
    unittest.main()
