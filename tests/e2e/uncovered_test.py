# SPDX-License-Identifier: Apache-2.0
"""The host replaces a file below a mask, or a protected or read-only one, while a command runs: it is
covered again, or the run ends, and the answer names it. A warm sandbox that lost one is not used."""

import json
import os
import shutil
import subprocess
import threading
import time
import unittest

import harness

SECRET = "the-new-secret"
ALL = {"roots": [{"path": "${workspace}", "access": "rw"},
                 {"path": "${workspace}/.env", "access": "none", "optional": True},
                 {"path": "${workspace}/ro.txt", "access": "ro", "optional": True},
                 {"path": "${workspace}/late/.env", "access": "none", "optional": True}]}


class Uncovered(harness.Case):
    def setUp(self):
        super().setUp()
        subprocess.run(["git", "init", "-q", "."], cwd=self.work, check=True)
        self.write("work/.env", "old\n")
        self.write("work/ro.txt", "old\n")

    def replace(self, name, text):
        self.write(f"work/{name}.new", text)
        os.rename(os.path.join(self.work, name + ".new"), os.path.join(self.work, name))

    def during(self, change, command, filesystem=None, meanwhile="", restored=None):
        """The answer of a command that runs after `change` was made during its run, and after what
        it took away is there again: on a busy machine PID 1 is not woken at once."""
        if restored:
            command = (f"until grep -q '/{restored} ' /proc/self/mountinfo; do sleep 0.01; done; "
                       + command)
        profile = self.profile({"filesystem": {**ALL, **(filesystem or {})}})
        begun, done = (os.path.join(self.work, name) for name in ("begun", "done"))

        def host():
            if harness.until(lambda: os.path.exists(begun), 20):
                change()
                with open(done, "w"):
                    pass

        thread = threading.Thread(target=host)
        thread.start()
        answer = self.sh(
            meanwhile + "touch begun; until [ -e done ]; do sleep 0.01; done; " + command,
            "--profile", profile, "--timeout", "20")
        thread.join()
        return answer

    def operations(self, answer):
        return {(denial["operation"], os.path.relpath(denial["target"], self.work))
                for denial in answer["denials"] if denial["layer"] == "mount"}

    def test_a_masked_file_that_the_host_renames_over_is_covered_again(self):
        answer = self.during(lambda: self.replace(".env", SECRET), "cat .env", restored=".env")
        self.assertNotIn(SECRET, answer["stdout"])
        self.assertEqual(answer["exit_code"], 1, answer)
        self.assertIn(("mask_restored", ".env"), self.operations(answer))

    def test_a_masked_file_that_the_host_removes_and_makes_anew_is_covered_again(self):
        def change():
            os.unlink(os.path.join(self.work, ".env"))
            self.write("work/.env", SECRET)
        answer = self.during(change, "cat .env", restored=".env")
        self.assertNotIn(SECRET, answer["stdout"])
        self.assertIn(("mask_restored", ".env"), self.operations(answer))

    def test_a_hidden_file_that_appears_is_covered_in_a_directory_that_appears(self):
        answer = self.during(lambda: self.write("work/late/.env", SECRET), "cat late/.env",
                             restored="late/.env")
        self.assertNotIn(SECRET, answer["stdout"])
        self.assertIn(("mask_restored", "late/.env"), self.operations(answer))

    def test_what_appears_below_an_overlay_is_named(self):
        done = self.base + "/out/done"
        os.mkdir(self.base + "/out")
        profile = self.profile({"filesystem": {"roots": [
            *ALL["roots"], {"path": self.base + "/out", "access": "ro"}]}})

        def host():
            self.write("work/late/.env", SECRET)
            self.write("out/done", "")

        timer = threading.Timer(0.3 * harness.SLOWER, host)
        timer.start()
        answer = self.sh(f"until [ -e {done} ]; do sleep 0.01; done", "--profile", profile, "--overlay")
        timer.join()
        self.assertIn(("hidden_appeared", "late/.env"), self.operations(answer))
        again = self.sh("cat late/.env", "--profile", profile, "--overlay")
        self.assertEqual(again["stdout"], "")
        self.assertNotIn(("hidden_appeared", "late/.env"), self.operations(again))

    @unittest.skipIf(harness.is_root(), "nothing is closed to root")
    def test_what_lies_in_a_closed_directory_stays_hidden_when_it_is_opened(self):
        closed = os.path.dirname(self.write("closed/key", SECRET))
        os.chmod(closed, 0)
        self.addCleanup(os.chmod, closed, 0o755)
        answer = self.during(lambda: os.chmod(closed, 0o755), f"ls {closed}; cat {closed}/key",
                             {"roots": [{"path": self.base, "access": "ro"}, *ALL["roots"],
                                        {"path": closed + "/key", "access": "none", "optional": True}]})
        self.assertEqual((answer["status"], answer["exit_code"], answer["stdout"]), ("exited", 1, ""), answer)

    def test_a_read_only_file_stays_read_only_when_the_host_replaces_it(self):
        answer = self.during(lambda: self.replace("ro.txt", "new\n"), "echo x >> ro.txt",
                             restored="ro.txt")
        self.assertNotEqual(answer["exit_code"], 0, answer)
        with open(os.path.join(self.work, "ro.txt")) as file:
            self.assertEqual(file.read(), "new\n")
        self.assertIn(("mask_restored", "ro.txt"), self.operations(answer))

    def test_git_config_on_the_host_does_not_open_the_protected_file(self):
        answer = self.during(
            lambda: subprocess.run(["git", "config", "a.b", "c"], cwd=self.work, check=True),
            "echo '[core]' >> .git/config", restored=".git/config")
        self.assertNotEqual(answer["exit_code"], 0, answer)
        self.assertIn(("mask_restored", ".git/config"), self.operations(answer))
        self.assertIn(("protected_changed", ".git/config"), self.operations(answer))

    def save(self, steps):
        """A protected file is saved as an editor does it; then the command goes on and may not
        write it."""
        path = os.path.join(self.work, ".git/config")
        answer = self.during(
            lambda: steps(path),
            "echo go; { echo x >> .git/config; } 2>/dev/null && echo written; cat .git/config",
            restored=".git/config")
        self.assertEqual((answer["status"], answer["stdout"]), ("exited", "go\n[new]\n"), answer)
        self.assertIn(("mask_restored", ".git/config"), self.operations(answer))
        self.assertIsNone(answer["error"])

    @staticmethod
    def write_new(path):
        with open(path, "w") as file:
            file.write("[new]\n")

    def test_a_protected_file_saved_by_a_rename_over_it_is_protected_again(self):
        def steps(path):
            self.write_new(path + ".new")
            os.rename(path + ".new", path)
        self.save(steps)

    def test_a_protected_file_saved_by_removal_and_creation_is_protected_again(self):
        def steps(path):
            os.unlink(path)
            time.sleep(0.05)  # as long as a slow editor needs: PID 1 sees the name empty
            self.write_new(path)
        self.save(steps)

    def test_a_protected_file_saved_by_a_backup_and_creation_is_protected_again(self):
        def steps(path):
            os.rename(path, path + "~")
            time.sleep(0.05)
            self.write_new(path)
            os.unlink(path + "~")
        self.save(steps)

    def test_a_directory_on_the_way_that_is_replaced_leaves_the_file_protected(self):
        def steps(path):
            directory = os.path.dirname(path)
            os.rename(directory, directory + ".old")
            time.sleep(0.05)
            shutil.copytree(directory + ".old", directory)
            self.write_new(path + ".new")
            os.rename(path + ".new", path)
        answer = self.during(lambda: steps(os.path.join(self.work, ".git/config")),
                             "{ echo x >> .git/config; } 2>/dev/null && echo written",
                             restored=".git/config")
        self.assertEqual(answer["stdout"], "", answer)
        with open(os.path.join(self.work, ".git/config")) as file:
            self.assertEqual(file.read(), "[new]\n")

    def test_nothing_inside_can_take_the_name_while_an_editor_has_it_empty(self):
        path = os.path.join(self.work, ".git/config")

        def change():
            os.unlink(path)
            time.sleep(0.3)
            self.taken = os.path.exists(path)
            self.write_new(path)
        # Not all the time: it might look before PID 1 is woken.
        answer = self.during(
            change, "wait; echo go; cat .git/config", restored=".git/config",
            meanwhile="while [ ! -e done ]; do sleep 0.05; [ -e .git/config ] || "
                      "echo evil > .git/config; done & ")
        self.assertFalse(self.taken)
        self.assertEqual(answer["stdout"], "go\n[new]\n", answer)

    def test_a_protected_file_that_the_host_removes_ends_the_run(self):
        answer = self.during(lambda: os.unlink(os.path.join(self.work, ".git/config")),
                             "sleep 10; echo x > .git/config")
        self.assertEqual(answer["status"], "killed", answer)
        self.assertIn(("mask_lost_run_ended", ".git/config"), self.operations(answer))
        self.assertEqual(answer["error"]["code"], "path_refused")
        self.assertIn(".git/config", answer["error"]["message"])
        self.assertIn("filesystem.replaced", answer["error"]["hint"])
        self.assertFalse(os.path.exists(os.path.join(self.work, ".git/config")))

    def test_the_policy_may_end_the_run_instead(self):
        answer = self.during(lambda: self.replace(".env", SECRET), "sleep 10; cat .env",
                             {"replaced": "stop"})
        self.assertEqual(answer["status"], "killed", answer)
        self.assertNotIn(SECRET, answer["stdout"])
        self.assertIn(("mask_lost_run_ended", ".env"), self.operations(answer))

    def test_a_directory_that_was_replaced_is_watched_from_then_on(self):
        directory = os.path.join(self.work, ".git")
        sub = os.path.join(self.work, "sub")  # what happens in there wakes nobody
        os.mkdir(sub)

        def host():
            self.assertTrue(harness.until(lambda: os.path.exists(sub + "/begun"), 20))
            os.rename(directory, directory + ".old")
            shutil.copytree(directory + ".old", directory)
            self.write("work/sub/again", "")
            if harness.until(lambda: os.path.exists(sub + "/held"), 20):
                self.replace(".git/config", "[new]\n")
            self.write("work/sub/done", "")

        thread = threading.Thread(target=host)
        thread.start()
        held = "grep -q '/.git/config ' /proc/self/mountinfo"
        answer = self.sh(
            f"touch sub/begun; until [ -e sub/again ] && {held}; do sleep 0.01; done; touch sub/held;"
            f"until [ -e sub/done ] && {held}; do sleep 0.01; done;"
            "{ echo x >> .git/config; } 2>/dev/null && echo written; cat .git/config",
            "--profile", self.profile({"filesystem": ALL}), "--timeout", "20")
        thread.join()
        self.assertEqual((answer["status"], answer["stdout"]), ("exited", "[new]\n"), answer)

    def test_a_link_in_the_place_of_a_hidden_file_ends_the_run(self):
        def change():
            self.write("work/elsewhere", SECRET)
            os.symlink("elsewhere", os.path.join(self.work, ".env.new"))
            os.rename(os.path.join(self.work, ".env.new"), os.path.join(self.work, ".env"))
        answer = self.during(change, "sleep 10; cat .env")
        self.assertEqual(answer["status"], "killed", answer)
        self.assertNotIn(SECRET, answer["stdout"])

    def test_nor_does_a_directory_that_becomes_a_link_end_it_without_a_word(self):
        self.write("work/d/.env", "old")
        self.write("work/real/.env", SECRET)

        def change():
            os.rename(self.work + "/d", self.work + "/d.old")
            os.symlink("real", self.work + "/d")
        answer = self.during(change, "sleep 5; cat d/.env", {"roots": [
            *ALL["roots"], {"path": "${workspace}/d/.env", "access": "none"}]})
        self.assertNotIn(SECRET, answer["stdout"])
        self.assertIn("mask_lost_run_ended", {operation for operation, _ in self.operations(answer)}, answer)

    def test_the_policy_may_only_report_it(self):
        answer = self.during(lambda: self.replace(".env", SECRET), "cat .env",
                             {"replaced": "report"})
        self.assertEqual(answer["stdout"], SECRET, answer)
        self.assertIn(("mask_lost", ".env"), self.operations(answer))

    def test_the_command_has_none_of_the_rights_that_put_a_mask_back(self):
        answer = self.sh("grep CapEff /proc/self/status; ls /proc/1/fd; cat .env",
                         "--profile", self.profile({"filesystem": ALL}))
        self.assertIn("0000000000000000", answer["stdout"])
        self.assertNotIn("old", answer["stdout"])

    def test_what_guards_has_no_right_but_that(self):
        # In the sandbox's own namespace: CAP_SYS_ADMIN, and CAP_NET_BIND_SERVICE for listeners.
        kept = {"restore": 1 << 21 | 1 << 10, "report": 1 << 10}
        self.write("work/rights.py", """
import time
def rights():
    with open("/proc/1/status") as status:
        return [int(line.split()[1], 16) for line in status if line.startswith(("CapEff", "CapPrm"))]
for _ in range(1000):  # it lets go of them once the command has begun
    if max(rights()) < 1 << 40: break
    time.sleep(0.01)
print(*rights())
""")
        for replaced, capabilities in kept.items():
            profile = self.profile({"filesystem": {**ALL, "replaced": replaced}})
            for rights in self.out("python3 rights.py", "--profile", profile).split():
                self.assertEqual(int(rights) & ~capabilities, 0, replaced)

    def test_an_undisturbed_run_reports_nothing(self):
        answer = self.sh("touch a; mkdir b; mv a b; rm -r b; cat ro.txt; git status >/dev/null",
                         "--profile", self.profile({"filesystem": ALL}))
        self.assertEqual((answer["exit_code"], answer["denials"]), (0, []), answer)


class Warm(harness.Case):
    def make_anew(self, path):
        os.unlink(path)
        self.write("work/.env", SECRET)

    def replace_and_back(self, path):
        """The mount is gone, and the file is the one that it was."""
        os.link(path, path + ".kept")
        os.unlink(path)
        os.rename(path + ".kept", path)

    def test_a_warm_sandbox_that_lost_a_mask_is_not_used(self):
        # The same inode number on many file systems.
        self.lose_masks(ALL, "old\n", self.make_anew)

    def test_nor_is_one_that_only_reports_it(self):
        self.lose_masks({**ALL, "replaced": "report"}, SECRET, self.replace_and_back)

    def lose_masks(self, filesystem, text, lose):
        self.write("work/.env", text)
        profile = self.profile({"filesystem": filesystem})
        server = subprocess.Popen([harness.SBX_RUN, "serve", "--profile", profile], cwd=self.work,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end, server)
        for number in range(6):
            server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": "run",
                                           "params": {"command": "cat .env; echo end"}}) + "\n")
            server.stdin.flush()
            answer = json.loads(server.stdout.readline())["result"]
            self.assertEqual((answer["status"], answer["stdout"]), ("exited", "end\n"), answer)
            lose(os.path.join(self.work, ".env"))


if __name__ == "__main__":
    unittest.main()
