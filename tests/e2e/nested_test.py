# SPDX-License-Identifier: Apache-2.0
"""Sandboxes of others inside: the presets nested and browser."""

import os
import shutil
import unittest

import harness

AS_USER = "for root the kernel refuses a namespace inside with a root of its own"


class Nested(harness.Case):
    @unittest.skipIf(harness.is_root(), AS_USER)
    def test_unshare_has_a_root_inside_and_only_with_the_preset(self):
        self.assertEqual(self.out("unshare -Ur id -u", "--with", "nested"), "0\n")
        self.assertNotEqual(self.sh("unshare -Ur id -u")["exit_code"], 0)

    @unittest.skipUnless(harness.is_root(), "a user's cgroups are the kernel's to hold")
    def test_a_command_of_roots_makes_no_namespace_that_shows_the_hosts_cgroups(self):
        for preset in ("nested", "browser"):
            answer = self.sh("unshare -U true", "--with", preset)
            self.assertNotEqual(answer["exit_code"], 0, answer)
            self.assertTrue(any("no namespaces for a command of root's" in text
                                for text in answer["sandbox"]["warnings"]), answer)

    @unittest.skipIf(harness.is_root(), AS_USER)
    def test_memory_that_nothing_counts_is_told_of(self):
        answer = self.sh("true", "--with", "nested")
        is_bounded = answer["sandbox"]["limits"]["memory"] == "cgroup"
        told = [row for row in answer["sandbox"]["degraded"] if "mounted inside" in row["reason"]]
        self.assertEqual(bool(told), not is_bounded, answer)
        self.assertTrue(any("what covers it" in row["reason"] for row in answer["sandbox"]["degraded"]), answer)
        self.assertEqual(self.sh("true")["sandbox"]["degraded"], [])

    @unittest.skipIf(harness.is_root(), AS_USER)
    def test_mounts_work_inside_and_what_is_hidden_stays_hidden(self):
        self.write("work/secret", "hush")
        self.write("work/m.py", "import ctypes, os\n"
                   "os.makedirs('d', exist_ok=True)\n"
                   "libc = ctypes.CDLL(None, use_errno=True)\n"
                   "print(libc.mount(b'x', b'd', b'tmpfs', 0, None))\n"
                   "print(libc.umount2(b'secret', 2), open('secret').read())\n")
        answer = self.sh("unshare -Urm python3 m.py", "--with", "nested", "--hide", "secret")
        self.assertEqual(answer["stdout"].splitlines()[0], "0", answer)
        self.assertNotIn("hush", answer["stdout"])
        self.assertEqual(bool(answer["sandbox"]["layers"]["landlock"]), True)

    @unittest.skipIf(harness.is_root(), AS_USER)
    @unittest.skipUnless(shutil.which("bwrap"), "bubblewrap is not installed")
    def test_bubblewrap_runs_with_a_proc_of_its_own(self):
        answer = self.sh("bwrap --ro-bind / / --proc /proc --dev /dev --unshare-all --tmpfs /tmp "
                         "ls -d /usr", "--with", "nested")
        self.assertEqual(answer["stdout"], "/usr\n", answer)

    @unittest.skipIf(harness.is_root(), "as root Chromium runs without a sandbox of its own only")
    @unittest.skipUnless(shutil.which("chromium"), "chromium is not installed")
    def test_chromium_takes_a_screenshot_with_its_own_sandbox(self):
        page = self.write("work/a.html", "<h1>hello</h1>")
        answer = self.sh(f"chromium --headless --disable-gpu --screenshot={self.work}/shot.png "
                         f"file://{page}", "--with", "browser", "--timeout", "50s")
        self.assertEqual(answer["exit_code"], 0, answer)
        with open(os.path.join(self.work, "shot.png"), "rb") as shot:
            self.assertTrue(shot.read(8).startswith(b"\x89PNG"))


if __name__ == "__main__":
    unittest.main()
