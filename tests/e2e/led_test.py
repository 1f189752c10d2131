# SPDX-License-Identifier: Apache-2.0
"""What is shown under the caller's own name for it, where a symlink leads there."""

import os
import shutil
import socket
import subprocess
import threading
import time
import unittest

import harness


class Led(harness.Case):
    def setUp(self):
        super().setUp()
        self.data = os.path.join(self.base, "data")
        self.home = os.path.join(self.base, "home")
        self.write("data/.config/git/ignore", "*.o\n")
        self.write("data/.ssh/known_hosts", "known\n")
        os.symlink(self.data, self.home)
        self.environment = {**os.environ, "HOME": self.home}

    def test_presets_with_a_home_behind_a_symlink(self):
        command = f"cd; cat .config/git/ignore .ssh/known_hosts {self.data}/.ssh/known_hosts; ls -A .config"
        answer = self.out(command, "--with", "git", "--with", "ssh-agent", env=self.environment)
        self.assertEqual(answer, "*.o\nknown\nknown\ngit\n")

    def test_an_agent_behind_a_symlink(self):
        os.mkdir(self.base + "/real")
        os.symlink(self.base + "/real", self.base + "/link")
        with socket.socket(socket.AF_UNIX) as agent:
            agent.bind(self.base + "/real/agent")
            agent.listen(8)
            connect = ("import os, socket; s = socket.socket(socket.AF_UNIX); "
                       "s.connect(os.environ['SSH_AUTH_SOCK']); print('there')")
            environment = {**self.environment, "SSH_AUTH_SOCK": self.base + "/link/agent"}
            for flags in ((), ("--overlay",)):
                answer = self.out(f'/usr/bin/python3 -c "{connect}"', "--with", "ssh-agent", *flags, env=environment)
                self.assertEqual(answer, "there\n")

    def test_one_in_another(self):
        self.write("data/tool/bin/it", "it\n")
        flags = ("--ro", self.home + "/tool", "--ro", self.home + "/tool/bin")
        self.assertEqual(self.out("cd; cat tool/bin/it", *flags, env=self.environment), "it\n")

    def test_not_what_a_command_has_led_elsewhere(self):
        self.write("data/secret/f", "f\n")
        os.symlink(self.data + "/secret", self.work + "/link")
        answer = self.sh("true", "--ro", self.work + "/link/f")
        self.assert_error(answer, "path_refused")

    def test_nothing_by_the_name_of_what_is_hidden(self):
        os.mkdir(self.base + "/closed")
        os.symlink(self.data, self.base + "/closed/link")
        path = self.base + "/closed/link/.ssh"
        command = f"cat {self.data}/.ssh/known_hosts; cat {path}/known_hosts || echo no"
        answer = self.out(command, "--ro", self.base, "--hide", self.base + "/closed", "--ro", path)
        self.assertEqual(answer, "known\nno\n")

    def test_where_nothing_can_be_made(self):
        for parent in ("default", "readonly"):
            profile = self.profile({"name": "p", "extends": parent, "limits": {"tmp_mb": 0}})
            answer = self.out("echo runs", "--profile", profile, "--with", "git", env=self.environment)
            self.assertEqual(answer, "runs\n")


class LedLater(harness.Case):
    """Symlinks that lead nowhere yet: what is made there would be found by their names."""

    def told(self, answer):
        return {(d["operation"], os.path.relpath(d["target"], self.work)) for d in answer["denials"]}

    def test_what_is_protected_is_so_where_it_leads(self):
        profile = self.profile({"name": "p", "extends": "default",
                                "filesystem": {"+protect": ["cfg/conf", "tool.rc", "dir/x", "far", "chain"]}})
        for name, target in (("cfg/conf", "../newconf"), ("tool.rc", "other.rc"), ("dir", "made"), ("far", "a/../b/c"),
                             ("chain", "one"), ("one", self.work + "/two")):
            os.makedirs(os.path.dirname(f"{self.work}/{name}"), exist_ok=True)
            os.symlink(target, f"{self.work}/{name}")
        self.sh("echo x > newconf; echo x > other.rc; mkdir made; echo x > made/x; mkdir a b; echo x > b/c; echo x > two; "
                "echo x > free", "--profile", profile)
        for name in ("cfg/conf", "tool.rc", "dir/x", "far", "chain"):
            self.assertFalse(os.path.exists(f"{self.work}/{name}"), name)
        self.assertTrue(os.path.exists(self.work + "/free"))

    def test_git_s_hooks_that_are_elsewhere_are_told_of(self):
        for setting, link, target in (("", ".git/hooks", "../.githooks"), (".githooks", ".githooks", "tools/hooks")):
            with self.subTest(link):
                work = f"{self.work}/{link.replace('/', '-')}"
                subprocess.run(["git", "init", "-q", work], check=True)
                if setting:
                    subprocess.run(["git", "-C", work, "config", "core.hooksPath", setting], check=True)
                    os.makedirs(f"{work}/{target}")
                else:
                    shutil.rmtree(f"{work}/{link}", ignore_errors=True)
                os.symlink(target, f"{work}/{link}")
                hooks = target.removeprefix("../")
                answer = self.sh(f"mkdir -p {hooks}; echo x > {hooks}/pre-commit; chmod +x {hooks}/pre-commit",
                                 "--workspace", work)
                self.assertIn(("git_redirected", os.path.relpath(f"{work}/{link}/pre-commit", self.work)),
                              self.told(answer))

    def test_what_is_hidden_is_so_where_it_leads(self):
        os.symlink("later.env", self.work + "/.env")
        def make():
            while not os.path.exists(self.work + "/begun"):
                time.sleep(0.01)
            self.write("work/.env", "SECRET\n")  # through the link
            time.sleep(0.3)
            self.write("work/done", "")
        thread = threading.Thread(target=make)
        thread.start()
        answer = self.sh(": > begun; until [ -e done ]; do sleep 0.01; done; cat later.env", "--hide", ".env", "--timeout", "20")
        thread.join()
        self.assertNotIn("SECRET", answer["stdout"])
        self.assertIn(("mask_restored", "later.env"), self.told(answer))


if __name__ == "__main__":
    unittest.main()
