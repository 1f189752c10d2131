# SPDX-License-Identifier: Apache-2.0
"""Filters above that refuse single calls: doctor says what run does, and a weaker tier says what it lacks."""

import json
import os
import socket
import subprocess
import unittest

import harness
import refusing

OF_THE_VIEW = ("open_tree:ENOSYS", "mount_setattr:ENOSYS", "move_mount", "pivot_root", "umount2")


class RefusedCalls(harness.Case):
    def under(self, rules, *arguments):
        tmp = os.path.join(self.base, "tmp")
        os.makedirs(tmp, exist_ok=True)
        done = subprocess.run([*refusing.wrapper(*rules), harness.SBX_RUN, *arguments], cwd=self.work,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              timeout=harness.BOUND, env={**os.environ, "TMPDIR": tmp})
        self.assertTrue(done.stdout, done.stderr)
        return json.loads(done.stdout)

    def weakly(self, rules, command, *flags):
        """What it printed, and what its tier lacks: one string of each kind."""
        weak = self.profile({"isolation": {"require": [], "fallback": "degrade"}}, "weak.json")
        answer = self.under(rules, "--profile", weak, *flags, "-c", command)
        self.assertEqual(answer["status"], "exited", answer["error"])
        lacks = {}
        for entry in answer["sandbox"]["degraded"]:
            lacks[entry["what"]] = lacks.get(entry["what"], "") + entry["reason"] + "\n"
        return answer["stdout"], lacks

    # --- doctor and run agree ---

    def assert_lacks(self, layer, rule):
        doctor = self.under([rule], "doctor", "--json")
        self.assertIn(rule.partition(":")[0] + "(", doctor["layers"][layer]["reason"])
        self.assertIs(doctor["default_profile_runs"], False)
        refused = self.under([rule], "-c", ": > ran")
        self.assert_error(refused, "layer_unavailable")
        self.assertIn(f"'{layer}'", refused["error"]["message"])
        self.assertEqual(os.listdir(self.work), [])
        return doctor

    def assert_runs_without(self, layer, rule):
        answer = self.under([rule], "--allow-degraded", "-c", "echo ran")
        self.assertEqual(answer["stdout"], "ran\n", answer["error"])
        self.assertIs(answer["sandbox"]["layers"][layer], False)

    def test_a_call_that_the_mount_view_is_made_with_is_a_missing_layer(self):
        for rule in OF_THE_VIEW:
            with self.subTest(rule):
                doctor = self.assert_lacks("mount", rule)
                self.assertIn("seccomp filter", doctor["layers"]["mount"]["reason"])
                for call in OF_THE_VIEW:
                    self.assertIn(call.partition(":")[0], doctor["layers"]["mount"]["mend"])
                self.assert_runs_without("mount", rule)

    def test_a_network_namespace_is_made_by_unshare(self):
        self.assert_lacks("net", "unshare")
        self.assert_runs_without("net", "unshare")

    def test_the_default_profile_needs_the_layers_that_it_does_not_require(self):
        self.assert_lacks("uts", "sethostname")
        self.assert_runs_without("uts", "sethostname")

    def test_nothing_runs_with_capabilities_that_cannot_be_dropped(self):
        self.assert_lacks("capabilities", "capset")
        answer = self.under(["capset"], "--allow-degraded", "-c", ": > ran")
        self.assert_error(answer, "layer_unavailable")
        self.assertIn("seccomp filter", answer["error"]["message"])
        self.assertEqual(os.listdir(self.work), [])

    # --- what a weaker tier lacks ---

    def test_without_a_pid_namespace_what_can_be_done_to_processes_outside_is_named(self):
        # The kernel keeps those that have capabilities from being moved by those that have none.
        bare = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"] if harness.is_root() else []
        outside = subprocess.Popen([*bare, "sleep", "1000.375"])
        self.addCleanup(self.end, outside)
        tries = (f"taskset -p 1 {outside.pid} >/dev/null && echo pinned; "
                 f"prlimit --cpu=100:100 -p {outside.pid} && echo limited; exit 0")
        out, lacks = self.weakly(refusing.NO_PID, tries)
        self.assertEqual(out, "pinned\n")
        self.assertIn("affinity", lacks["processes"])
        self.assertNotIn("prlimit", lacks["processes"])
        out, lacks = self.weakly([*refusing.NO_PID, "seccomp"], tries)
        self.assertEqual(out, "pinned\nlimited\n")
        self.assertIn("prlimit", lacks["processes"])
        self.assertNotIn("processes", self.weakly([], "true")[1])

    def test_without_a_pid_namespace_user_namespaces_are_bounded_all_the_same(self):
        for rules in (refusing.NO_PID, [*refusing.NO_PID, "seccomp"]):
            out, _ = self.weakly(rules, "cat /proc/sys/user/max_user_namespaces; unshare -U echo made; exit 0")
            self.assertEqual(out, "0\n")

    def test_a_socket_of_the_host_that_can_be_connected_to_is_named(self):
        path = os.path.join(self.base, "outside.sock")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path)
            server.listen(5)
            connect = ("/usr/bin/python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' "
                       f"{path} 2>/dev/null && echo reached; exit 0")
            for rules in ([], refusing.NO_LISTENER, refusing.NO_NAMESPACES, [*refusing.NO_NAMESPACES, "seccomp"],
                          [*refusing.NO_NAMESPACES, *refusing.NO_LISTENER]):
                with self.subTest(rules):
                    out, lacks = self.weakly(rules, connect)
                    is_named = "in a root or not" in lacks.get("unix_sockets", "")
                    self.assertEqual(is_named, out == "reached\n", lacks)

    def test_a_directory_that_cannot_be_listed_is_named(self):
        self.write("work/hidden", "a secret")
        out, lacks = self.weakly(["mount"], "ls . || echo no", "--hide", "hidden")
        self.assertEqual(out, "no\n")
        self.assertRegex(lacks["files"], f"cannot be listed.*{self.work}")
        out, lacks = self.weakly(["mount"], "ls . >/dev/null && echo yes")
        self.assertEqual(out, "yes\n")
        self.assertNotIn(self.work, lacks.get("files", "").partition("cannot be listed")[2])


if __name__ == "__main__":
    unittest.main()
