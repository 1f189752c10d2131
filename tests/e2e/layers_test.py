# SPDX-License-Identifier: Apache-2.0
"""Each layer holds alone, and the answer tells which are in force."""

import os
import socket
import unittest

import harness

ALL = ["user", "mount", "pid", "net", "ipc", "uts", "cgroup"]
NAMES = {"user": "user", "mount": "mnt", "pid": "pid", "net": "net", "ipc": "ipc", "uts": "uts",
         "cgroup": "cgroup"}
TRUTH = ("for n in user mnt pid net ipc uts cgroup; do readlink /proc/self/ns/$n; done;"
         "grep -E '^(Seccomp|NoNewPrivs|CapEff|CapBnd):' /proc/self/status")


class LayerCase(harness.Case):
    def setUp(self):
        super().setUp()
        self.write("work/rw/file", "rw")
        self.write("ro/file", "ro")
        self.write("work/none/file", "hidden")
        self.write("outside/file", "hidden")

    def without(self, *layers, namespaces=None):
        """A profile with these layers off and nothing required."""
        if namespaces is None:
            namespaces = [name for name in ALL if name not in layers]
        # The text of a test that tries what it may not do would be asked about.
        document = {"isolation": {"namespaces": namespaces, "require": []},
                    "commands": {"ask": []}}
        if "seccomp" in layers:
            document["seccomp"] = {"mode": "off"}
        if "landlock" in layers:
            document["landlock"] = {"mode": "off"}
        return ["--profile", self.profile(document), "--ro", self.base + "/ro",
                "--hide", self.work + "/none"]

    def truth(self, *flags):
        """What /proc says inside, as the layers of the answer would."""
        answer = self.sh(TRUTH, *flags)
        self.assertEqual(answer["status"], "exited", answer)
        lines = answer["stdout"].split("\n")
        layers = {}
        for index, name in enumerate(ALL):
            layers[name] = lines[index] != os.readlink(f"/proc/self/ns/{NAMES[name]}")
        status = dict(line.split(":\t") for line in lines[7:] if line)
        layers["seccomp"] = status["Seccomp"] == "2"
        layers["no_new_privs"] = status["NoNewPrivs"] == "1"
        layers["capabilities"] = int(status["CapEff"], 16) == 0
        return answer, layers

    def file_policy_holds(self, *flags):
        answer = self.sh(
            "cat rw/file ../ro/file; echo; (echo x > rw/new) && echo wrote;"
            "(echo x > ../ro/file) 2>/dev/null && echo WROTE-RO;"
            "(echo x > ../outside/new) 2>/dev/null && echo WROTE-OUTSIDE;"
            "(echo x > /etc/sbx-test-new) 2>/dev/null && echo WROTE-ETC;"
            "cat none/file 2>/dev/null && echo READ-NONE;"
            "cat ../outside/file 2>/dev/null && echo READ-OUTSIDE;"
            "cat /etc/shadow /etc/machine-id 2>/dev/null && echo READ-ETC;"
            "ls ../outside none 2>/dev/null; ls /root /home 2>/dev/null | grep -v '^/' | head -3;"
            "true", *flags)
        self.assertEqual(answer["status"], "exited", answer)
        self.assertEqual(answer["stdout"].split("\n")[0:2], ["rwro", "wrote"], answer)
        self.assertNotRegex(answer["stdout"], "WROTE|READ|hidden", answer)
        return answer

    def attempts(self, names, *flags, **environment):
        probe = harness.probe("escape")
        extra = []
        for name, value in environment.items():
            extra += ["--env", f"{name}={value}"]
        answer = self.run_json(*flags, "--ro", probe, *extra, "--", probe, *names)
        self.assertEqual(answer["status"], "exited", answer)
        return dict(line.split(": ") for line in answer["stdout"].split("\n") if line)

    def assert_all_refused(self, results):
        self.assertEqual([name for name, value in results.items() if value == "ok"], [], results)


MOUNTS = ["mount", "umount", "remount", "pivot_root", "chroot", "open_tree", "fsopen",
          "mount_setattr", "setns", "mknod", "handle", "ptrace_init", "root_of_init"]
NESTING = ["userns", "mountns", "clone_userns"]


class Truth(LayerCase):
    """`sandbox.layers` says what /proc says, for every combination."""

    def check(self, *layers, namespaces=None):
        answer, seen = self.truth(*self.without(*layers, namespaces=namespaces))
        said = answer["sandbox"]["layers"]
        for name, value in seen.items():
            self.assertEqual(bool(said[name]), value, f"{name} with {layers} off")
        self.assertEqual(bool(said["landlock"]), "landlock" not in layers, layers)
        return said

    def test_everything_on(self):
        said = self.check()
        self.assertTrue(all(said.values()), said)

    def test_each_one_off(self):
        for layer in ["mount", "pid", "net", "ipc", "uts", "cgroup", "seccomp", "landlock"]:
            with self.subTest(layer):
                self.assertFalse(self.check(layer)[layer])

    def test_several_off(self):
        for layers in (("seccomp", "landlock"), ("mount", "pid"), ("mount", "net", "seccomp")):
            with self.subTest(layers):
                self.check(*layers)
        self.check(namespaces=[])
        self.check("seccomp", namespaces=[])
        self.check("landlock", namespaces=[])

    @unittest.skipUnless(harness.is_root(), "only root makes the others without a user namespace")
    def test_user_off(self):
        self.check("user")

    def test_requiring_what_is_off_runs_nothing(self):
        for layer in ["mount", "pid", "net", "seccomp", "landlock"]:
            flags = self.without(layer)
            answer = self.sh("touch ran", *flags, "--require", layer)
            self.assert_error(answer, "layer_unavailable")
            self.assertEqual(self.last.returncode, 125)
        self.assertFalse(os.path.exists(self.work + "/ran"))


class Alone(LayerCase):
    """With one layer off the others still deny what each of them holds."""

    def test_the_file_policy_holds_with_any_one_layer_off(self):
        for layer in [*ALL[1:], "seccomp", "landlock"]:
            with self.subTest(layer):
                self.file_policy_holds(*self.without(layer))

    def test_mounts_alone_hold_the_file_policy(self):
        self.file_policy_holds(*self.without("seccomp", "landlock"))

    def test_landlock_alone_holds_the_file_policy(self):
        answer = self.file_policy_holds(*self.without(namespaces=[]))
        self.assertIn("filesystem", str(answer["sandbox"]["degraded"]))
        self.file_policy_holds(*self.without("seccomp", namespaces=[]))

    @unittest.skipUnless(harness.is_root(), "only root makes the others without a user namespace")
    def test_the_file_policy_holds_without_a_user_namespace(self):
        self.file_policy_holds(*self.without("user"))
        self.file_policy_holds(*self.without("user", "landlock"))
        self.assert_all_refused(self.attempts(MOUNTS + NESTING, *self.without("user", "landlock")))

    def test_mount_calls_are_refused_whatever_is_off(self):  # E3
        for layers in ((), ("seccomp",), ("landlock",), ("seccomp", "landlock"), ("pid",),
                       ("pid", "landlock"), ("mount", "pid")):
            with self.subTest(layers):
                self.assert_all_refused(self.attempts(MOUNTS, *self.without(*layers)))

    def test_without_seccomp_no_namespace_can_be_nested(self):
        for layers in (("seccomp",), ("seccomp", "landlock"), ("seccomp", "pid"),
                       ("seccomp", "mount", "pid")):
            with self.subTest(layers):
                results = self.attempts(NESTING, *self.without(*layers))
                self.assert_all_refused(results)
                self.assertEqual(results["userns"], "ENOSPC")

    def test_processes_outside_are_out_of_reach(self):
        names = ["root_of_outer", "signal_outer"]
        for layers in ((), ("pid",), ("pid", "seccomp"), ("mount", "pid", "seccomp")):
            with self.subTest(layers):
                self.assert_all_refused(
                    self.attempts(names, *self.without(*layers), OUTER=os.getpid()))
        results = self.attempts(["root_of_outer"], *self.without("pid", "landlock"),
                                OUTER=os.getpid())
        self.assert_all_refused(results)

    def test_the_network_is_closed_with_or_without_a_namespace(self):
        tcp = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(tcp.close)
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(udp.close)
        udp.bind(("127.0.0.1", tcp.getsockname()[1]))
        udp.setblocking(False)
        tcp.setblocking(False)
        port = tcp.getsockname()[1]
        for layers in ((), ("net",), ("net", "landlock"), ("seccomp",), ("seccomp", "landlock")):
            with self.subTest(layers):
                self.attempts(["tcp", "udp", "fast_open"], *self.without(*layers), PORT=port)
                for server in (tcp.accept, lambda: udp.recv(1)):
                    self.assertRaises(BlockingIOError, server)
        results = self.attempts(["tcp"], *self.without("net", "seccomp"), PORT=port)
        self.assertEqual(results["tcp"], "EACCES")

    def test_what_no_layer_holds_is_named(self):
        for layers, namespaces, part in ((("landlock",), [], "filesystem"),
                                         (("seccomp", "net"), None, "network")):
            answer = self.sh("true", *self.without(*layers, namespaces=namespaces))
            self.assertIn(part, str(answer["sandbox"]["degraded"]))

    def test_unconfined_says_so(self):
        answer = self.sh("true", "--profile", "unconfined")
        self.assertIn("unconfined", str(answer["sandbox"]["warnings"]))
        self.assertFalse(any(answer["sandbox"]["layers"].values()))


if __name__ == "__main__":
    unittest.main()
