# SPDX-License-Identifier: Apache-2.0
"""What the kernel refuses is in `denials`."""

import glob
import json
import os
import subprocess
import tempfile
import unittest

import harness
import session_harness

KEYS = ["count", "grant", "layer", "operation", "program", "target"]


class Case(harness.Case):
    def entries(self, answer, operation, target=None):
        for entry in answer["denials"]:
            self.assertEqual(sorted(entry), KEYS)
        return [e for e in answer["denials"]
                if e["operation"] == operation and target in (None, e["target"])]

    def only(self, answer, operation, target):
        found = self.entries(answer, operation, target)
        self.assertEqual(len(found), 1, answer["denials"])
        return found[0]


class Trace(Case):
    def setUp(self):
        super().setUp()
        self.outside = os.path.join(self.base, "outside")
        os.mkdir(self.outside)
        self.secret = self.write("outside/secret", "s")

    def trace(self, command, *flags):
        return self.sh(command, "--trace-denials", *flags)

    def test_without_the_flag_only_what_the_text_names_is_told(self):
        self.write("work/script", f"cat {self.secret}; echo x > /usr/x")
        self.assertEqual(self.sh("sh ./script; true")["denials"], [])
        may = "root" if harness.is_root() else ""  # what the host refuses no grant allows
        answer = self.sh(f"cat {self.secret}; echo x > /usr/x; cat /etc/hosts ./script /nowhere; sed -i s/a/b/ /etc/hosts")
        self.assertEqual([(d["operation"], d["target"], d["grant"]) for d in answer["denials"]],
                         [("open", self.secret, f'filesystem.roots += [{{"path": "{self.secret}", "access": "ro"}}]'),
                          ("open", "/usr/x", may and 'filesystem.roots += [{"path": "/usr", "access": "rw"}]'),
                          ("open", "/etc/hosts", may and 'filesystem.roots += [{"path": "/etc", "access": "rw"}]')])
        # Nor is what the text does name told of where it is nobody's but the command's.
        self.assertEqual(self.sh("echo x > out; cat out /etc/hosts; ls /tmp ~ > /dev/null")["denials"], [])

    def test_what_is_to_be_made_directly_below_the_root_is_told_of(self):
        for command, target in (("echo x > /sbx-new", "/sbx-new"), ("mkdir /sbx-new", "/sbx-new"),
                                ("touch /sbx-new", "/sbx-new"), ("cp /bin/true /sbx-new", "/sbx-new"),
                                ("echo x | tee /sbx-new", "/sbx-new"), ("touch /dev/sbx-new", "/dev/sbx-new")):
            told = {d["target"] for d in self.sh(command)["denials"]}
            self.assertEqual(told, {target}, command)
        for command in ("echo a | awk '/sbx-new/'; ls /sbx-new", "touch /tmp; echo x > /dev/null"):
            self.assertEqual(self.sh(command)["denials"], [], command)

    def test_what_is_written_where_only_the_host_s_tmp_has_it_is_told_of_and_can_be_granted(self):
        with tempfile.TemporaryDirectory(dir="/tmp") as job:
            with open(f"{job}/a", "w", encoding="utf-8") as file:
                file.write("kept\n")
            os.chmod(f"{job}/a", 0o644)
            for command, operation, target in ((f"echo x >> {job}/a", "open", "a"), (f"mkdir {job}/b", "mkdir", "b"),
                                               (f"rm {job}/a", "unlink", "a"), (f"chmod 600 {job}/a", "stat", "a"),
                                               (f"cd /tmp; cp /bin/true {job[5:]}/b", "open", "b")):
                answer = self.sh(command)
                self.assertNotEqual(answer["exit_code"], 0, command)
                self.only(answer, operation, f"{job}/{target}")
            # What is the sandbox's own after all is nobody's loss.
            for command in (f"mkdir -p {job}/b; echo x > {job}/a", f"mkdir {job}; echo x > {job}/a", f"rm -rf {job}",
                            f"echo x > {job}.txt", f"echo x > {job}-none/a"):
                self.assertEqual(self.sh(command)["denials"], [], command)
            grant = self.only(self.sh(f"echo x >> {job}/a"), "open", f"{job}/a")["grant"]
            roots = json.loads(grant.removeprefix("filesystem.roots += "))
            profile = self.profile({"filesystem": {"+roots": roots}})
            answer = self.sh(f"echo x >> {job}/a", "--profile", profile)
            self.assertEqual((answer["exit_code"], answer["denials"]), (0, []))
            with open(f"{job}/a", encoding="utf-8") as file:
                self.assertEqual(file.read(), "kept\nx\n")

    def test_what_is_private_of_etc_is_told_of_and_can_be_granted(self):
        private = [path for path in ("/etc/passwd-", "/etc/fstab", "/etc/machine-id") if os.path.isfile(path) and os.access(path, os.R_OK)]
        if not private:
            self.skipTest("nothing of /etc that anybody may read is private here")
        # Root reads what others may not.
        private += ["/etc/shadow"] if os.geteuid() == 0 and os.path.isfile("/etc/shadow") else []
        for path in private:
            grant = f'filesystem.roots += [{{"path": "{path}", "access": "ro"}}]'
            for flags in ([], ["--trace-denials"]):
                answer = self.sh(f"cat {path}", *flags)
                self.assertEqual([(d["layer"], d["operation"], d["target"], d["grant"]) for d in answer["denials"]],
                                 [("mount", "open", path, grant)], (path, flags, answer["stderr"]))
            self.assertEqual(self.sh(f"cat {path} >&2", "--ro", path)["exit_code"], 0)
        self.assertEqual(self.sh("cat /etc/passwd /etc/nowhere /etc/shadow-of; ls -d /etc/fstab")["denials"], [])
        # Nor is what the host keeps from the user.
        if os.geteuid() != 0:
            self.assertEqual(self.sh("cat /etc/shadow", "--trace-denials")["denials"], [])

    def test_what_lies_in_a_private_directory_of_etc_is_told_of(self):
        held = [path for path in glob.glob("/etc/cron.*/*") if os.path.isfile(path) and os.access(path, os.R_OK)]
        if not held:
            self.skipTest("no job of cron is readable here")
        for flags in ([], ["--trace-denials"]):
            (denial,) = self.sh(f"cat {held[0]}", *flags)["denials"]
            self.assertEqual((denial["target"], denial["grant"]),
                             (held[0], f'filesystem.roots += [{{"path": "{held[0]}", "access": "ro"}}]'))

    def test_protected_and_hidden_paths_in_the_text_are_told_of_without_the_flag(self):
        grant = "remove it from filesystem.protect"
        for path in (".envrc", ".claude/settings.json", ".mcp.json", "src/own", ".env"):
            self.write("work/" + path, "a\n")
        for command, operation, target in (
                ("echo x > .mcp.json", "open", ".mcp.json"), ("rm .envrc", "unlink", ".envrc"),
                ("mv .claude x", "rename", ".claude"), ("sed -i s/a/b/ .envrc", "rename", ".envrc"),
                ("mv src/own .mcp.json", "rename", ".mcp.json"), ("cp src/own .claude/", "open", ".claude"),
                (f"rm {self.work}/.envrc", "unlink", ".envrc"), ("rm -r .claude", "unlink", ".claude")):
            answer = self.sh(command)
            self.assertNotEqual(answer["exit_code"], 0, command)
            told = [(d["operation"], d["target"], d["grant"]) for d in answer["denials"]]
            self.assertIn((operation, os.path.join(self.work, target), grant), told, command)
            self.assertEqual({d["grant"] for d in answer["denials"]}, {grant}, command)
        for hide in ("/etc/services", "/usr/bin/tac"):
            for command in (f"cat {hide}", f"{hide} x", os.path.basename(hide) + " x"):
                for d in self.sh(command, "--hide", hide)["denials"]:
                    self.assertEqual((d["target"], d["grant"]), (hide, f'filesystem.roots += [{{"path": "{hide}", "access": "ro"}}]'), command)
            self.assertEqual(len(self.sh(f"cat {hide}", "--hide", hide)["denials"]), 1)
        for hide in (".env", "*.env", "**/.env"):
            answer = self.sh("cat .env", "--hide", hide)
            self.assertEqual([d["target"] for d in answer["denials"]], [os.path.join(self.work, ".env")], hide)
        self.assertEqual(self.sh("cat .envrc > out; sed -n 1p .envrc; cp .envrc y; rm y; mv src/own own; echo x > .zshenvx")
                         ["denials"], [])

    def test_temporary_files_that_nobody_may_write_are_told_of(self):
        (denial,) = self.sh("echo x > /tmp/f", "--profile", "readonly")["denials"]
        self.assertEqual((denial["operation"], denial["target"], denial["grant"]),
                         ("open", "/tmp/f", "limits.tmp_mb = 256"))
        none = self.profile({"limits": {"tmp_mb": 0}})
        for path in ("/tmp/f", "/dev/shm/f"):
            (denial,) = self.sh(f"echo x > {path}", "--profile", none)["denials"]
            self.assertEqual((denial["target"], denial["grant"]), (path, "limits.tmp_mb = 256"))
        allowed = self.profile({"extends": "readonly", "limits": {"tmp_mb": 256}})
        answer = self.sh("echo x > /tmp/f; cat /tmp/f", "--profile", allowed)
        self.assertEqual((answer["stdout"], answer["denials"]), ("x\n", []))
        with tempfile.TemporaryDirectory(dir="/var/tmp") as home:  # the host's, and no private one
            open(home + "/x", "w").close()
            (denial,) = self.sh("echo x > ~/x", "--profile", "readonly", env={**os.environ, "HOME": home})["denials"]
            self.assertEqual(denial["grant"], f'filesystem.roots += [{{"path": "{home}/x", "access": "rw"}}]')

    def test_what_steers_a_run_in_the_text_is_told_of_without_a_grant(self):
        self.write("work/.sbx/profile.json", "{}\n")
        self.write("work/own.json", '{"extends": "default"}')
        flags = ("--profile", self.work + "/own.json", "--audit", self.work + "/audit.jsonl")
        for command, operation, target in (
                ("echo x > .sbx/profile.json", "open", ".sbx/profile.json"), ("mkdir .sbx/more", "mkdir", ".sbx/more"),
                ("mv .sbx x", "rename", ".sbx"), ("rm -r .sbx", "unlink", ".sbx"),
                ("echo x >> own.json", "open", "own.json"), ("rm own.json", "unlink", "own.json"),
                ("echo x > audit.jsonl", "open", "audit.jsonl")):
            answer = self.sh(command, *flags)
            self.assertNotEqual(answer["exit_code"], 0, command)
            told = [(d["operation"], d["target"], d["grant"]) for d in answer["denials"]]
            self.assertIn((operation, os.path.join(self.work, target), ""), told, command)
        self.assertEqual(self.sh("cat own.json .sbx/profile.json; echo x > other.json", *flags)["denials"], [])

    def test_proc_is_read_only_and_no_profile_changes_that(self):
        for command in ("echo x > /proc/self/comm", "echo 5 > /proc/self/oom_score_adj"):
            for flags in ([], ["--trace-denials"]):
                answer = self.sh(command, *flags)
                self.assertNotEqual(answer["exit_code"], 0)
                told = [(d["layer"], d["operation"], d["target"], d["grant"]) for d in answer["denials"]]
                self.assertEqual(told, [("mount", "open", command.split()[-1], "")], command)
        answer = self.trace("echo x > /proc/self/fd/1; echo y > /dev/stderr; cat /proc/self/comm")
        self.assertEqual((answer["exit_code"], answer["denials"]), (0, []), answer)

    def test_programs_that_a_makefile_calls_and_that_links_lead_to(self):
        home = self.base + "/home"
        self.write("home/go/bin/gopls-x", "#!/bin/sh\n", 0o755)
        self.write("home/kit/bin/ruff-x", "#!/bin/sh\n", 0o755)
        os.makedirs(home + "/.local/bin")
        os.symlink("../../kit/bin/ruff-x", home + "/.local/bin/ruff-x")
        self.write("work/run.sh", "gopls-x\n")
        env = {**os.environ, "HOME": home, "PATH": f"{home}/.local/bin:{home}/go/bin:/usr/bin:/bin"}

        def told(command, *flags):
            answer = self.sh(command, *flags, env=env)
            return [(d["target"], d["grant"]) for d in answer["denials"]]

        def grant(path):
            return f'filesystem.roots += [{{"path": "{path}", "access": "ro"}}]'
        self.assertEqual(told("sh ./run.sh"), [(home + "/go/bin/gopls-x", grant(home + "/go/bin"))])
        self.assertEqual(told("ruff-x", "--ro", home + "/.local/bin"),
                         [(home + "/kit/bin/ruff-x", grant(home + "/kit/bin"))])
        self.assertEqual(told("ruff-x", "--ro", home + "/.local/bin", "--ro", home + "/kit/bin"), [])

    def test_as_an_argument_too(self):
        answer = self.run_json("--", "cat", self.secret)
        self.assertEqual([d["target"] for d in answer["denials"]], [self.secret])

    def test_what_is_not_shown(self):
        answer = self.trace(f"cat {self.secret}; cat {self.secret}; test -e {self.outside}")
        self.assertEqual(
            self.only(answer, "open", self.secret),
            {"layer": "mount", "operation": "open", "target": self.secret, "count": 2,
             "program": "cat",
             "grant": f'filesystem.roots += [{{"path": "{self.secret}", "access": "ro"}}]'})
        self.assertEqual(self.only(answer, "stat", self.outside)["program"], "bash")

    def test_the_grant_is_one(self):
        grant = self.only(self.trace(f"cat {self.secret}"), "open", self.secret)["grant"]
        root = json.loads(grant.removeprefix("filesystem.roots += "))
        profile = self.profile({"filesystem": {"+roots": root}})
        answer = self.trace(f"cat {self.secret}", "--profile", profile)
        self.assertEqual((answer["stdout"], answer["denials"]), ("s", []))

    def test_a_link_that_leads_out_names_what_it_leads_to(self):
        os.symlink(self.secret, os.path.join(self.work, "link"))
        answer = self.trace("cat link")
        self.only(answer, "open", self.secret)

    def test_hidden_paths(self):
        self.write("work/hidden/file", "x")
        self.write("work/alone", "x")
        answer = self.trace("cat hidden/file; cat alone; ls hidden",
                            "--hide", f"{self.work}/hidden", "--hide", f"{self.work}/alone")
        self.only(answer, "open", f"{self.work}/hidden/file")
        entry = self.only(answer, "open", f"{self.work}/alone")
        self.assertIn("filesystem.roots", entry["grant"])
        self.only(answer, "open", f"{self.work}/hidden")

    def test_what_an_overlay_cannot_copy_up(self):
        groups = [7] if harness.is_root() else [g for g in os.getgroups() if g != os.getegid()]
        if not groups:
            self.skipTest("no second group to give a file to")
        foreign, inner = self.write("work/foreign", "x"), os.path.join(self.work, "dir")
        os.mkdir(inner)
        self.write("work/own", "x")
        for path in (foreign, inner):
            os.chown(path, -1, groups[0])
        answer = self.trace("echo x > own; echo x > new; cat foreign; ls dir; echo x >> foreign;"
                            "echo x > dir/new", "--overlay")
        if answer["error"]:
            self.skipTest(f"overlayfs cannot be mounted here: {answer['error']['message']}")
        self.assertEqual([(d["operation"], d["target"], d["grant"]) for d in answer["denials"]],
                         [("open", path, "filesystem.overlay = false") for path in (foreign, inner)])

    def test_nor_does_that_go_unsaid_without_a_trace(self):
        groups = [7] if harness.is_root() else [g for g in os.getgroups() if g != os.getegid()]
        self.write("work/own", "x")
        self.write("work/dir/in", "x")
        command = ("cat /nowhere foreign; echo x >> own; (echo x >> foreign); (echo x > dir/new); cat own;"
                   "mv foreign moved; ln foreign linked; rm -f foreign")
        answer = self.sh(command, "--overlay")
        self.assertEqual([d for d in answer["denials"] if d["operation"] == "open"], [], answer)
        if not groups:
            self.skipTest("no second group to give a file to")
        foreign = self.write("work/foreign", "x")
        os.chmod(foreign, 0o664)
        for path in (foreign, self.work + "/dir"):
            os.chown(path, -1, groups[0])
        answer = self.sh(command, "--overlay")
        self.assertEqual([(d["operation"], d["target"], d["grant"]) for d in answer["denials"]],
                         [(operation, path, "filesystem.overlay = false") for operation, path in (
                             ("open", foreign), ("open", self.work + "/dir"), ("rename", foreign),
                             ("link", foreign))])
        self.assertEqual(answer["stdout"], "xxx\n", answer)
        self.assertEqual(answer["stderr"].count("Value too large"), 4, answer)

    @unittest.skipUnless(harness.is_root(), "only root gives files away")
    def test_nor_of_a_file_that_can_only_be_moved(self):
        foreign = self.write("work/foreign", "x")
        os.chmod(foreign, 0o644)
        os.chown(foreign, 7, 7)
        answer = self.sh("mv foreign moved; ln foreign linked; cat foreign; rm -f foreign", "--overlay")
        self.assertEqual([(d["operation"], d["target"]) for d in answer["denials"]],
                         [("rename", foreign), ("link", foreign)], answer)
        answer = self.sh("mv foreign moved", "--layer", "x", env={**os.environ, "XDG_STATE_HOME": self.base + "/state"})
        self.assertEqual((answer["layer"]["kind"], answer["exit_code"]), ("copy", 0), answer)

    def test_nor_of_an_own_file_in_a_directory_that_is_not(self):
        groups = [7] if harness.is_root() else [g for g in os.getgroups() if g != os.getegid()]
        if not groups:
            self.skipTest("no second group to give a directory to")
        self.write("work/d/e/own", "x")
        os.chown(self.work + "/d", -1, groups[0])
        answer = self.sh("echo x >> d/e/own", "--overlay")
        self.assertEqual([(d["operation"], d["target"]) for d in answer["denials"]],
                         [("open", self.work + "/d")], answer)

    def test_nor_of_a_file_that_is_only_held(self):
        groups = [7] if harness.is_root() else [g for g in os.getgroups() if g != os.getegid()]
        if not groups:
            self.skipTest("no second group to give a file to")
        script = self.write("calls.py", r"""
import os, sys
fd = os.open("held", os.O_RDONLY)
for call in (lambda: os.fchmod(fd, 0o600), lambda: os.fchown(fd, -1, os.getegid()),
             lambda: os.utime(fd, (1, 1)), lambda: os.setxattr(fd, "user.a", b"a")):
    try:
        call()
        print("ok")
    except OSError as error:
        print(error.strerror)
""")
        command = f"/usr/bin/python3 {script}"
        held = self.write("work/held", "x")
        own = self.sh(command, "--overlay", "--ro", script)
        self.assertEqual((own["denials"], own["stdout"]), ([], "ok\n" * 4), own)
        os.chown(held, -1, groups[0])
        answer = self.sh(command, "--overlay", "--ro", script)
        self.assertEqual([(d["operation"], d["target"], d["grant"]) for d in answer["denials"]],
                         [(operation, held, "filesystem.overlay = false")
                          for operation in ("chmod", "chown", "utime", "setxattr")], answer)
        self.assertEqual(answer["stdout"], "Value too large for defined data type\n" * 4)

    def test_nor_in_a_tree_that_no_launch_waits_for(self):
        groups = [7] if harness.is_root() else [g for g in os.getgroups() if g != os.getegid()]
        if not groups:
            self.skipTest("no second group to give a file to")
        deep = self.write("work/" + "d/" * 60 + "foreign", "x")
        os.mkdir(self.work + "/many")
        for i in range(9000):
            os.symlink("x", f"{self.work}/many/{i}")
        # So many that the look between calls has come to its end.
        writes = "i=0; while [ $i -lt 3000 ]; do : > new; i=$((i+1)); done; "
        answer = self.sh(f"{writes} cat {deep} > out; mkdir dir; mv dir d/; mv d e", "--overlay")
        self.assertEqual([d["operation"] for d in answer["denials"]], ["rename"], answer)
        os.chown(deep, -1, groups[0])
        for before in ("", writes):
            answer = self.sh(f"{before}(echo x >> {deep}); cat {deep}", "--overlay")
            self.assertEqual([(d["operation"], d["target"]) for d in answer["denials"]],
                             [("open", deep)], answer)

    def test_a_read_only_place(self):
        self.write("outside/dir/file", "x")
        answer = self.trace(
            f"cd {self.outside}; echo x > secret; echo x > new; rm -f secret; mkdir d; mv secret s;"
            "ln -s a l; ln secret k; chmod 600 secret; touch secret; rmdir dir; cat secret;"
            "truncate -s 0 secret; ls dir",
            "--ro", self.outside)
        at = f"{self.outside}/"
        for operation, name in (("open", "secret"), ("open", "new"), ("unlink", "secret"),
                                ("mkdir", "d"), ("rename", "secret"), ("symlink", "l"),
                                ("link", "k"), ("chmod", "secret"), ("rmdir", "dir")):
            entry = self.entries(answer, operation, at + name)[0]
            self.assertEqual(entry["layer"], "mount")
            self.assertIn('"access": "rw"', entry["grant"])
        self.assertEqual(answer["stdout"], "sfile\n")
        # What lets an entry be made or removed is the directory: the entry may be nowhere yet.
        for operation, name in (("open", "new"), ("mkdir", "d"), ("unlink", "secret")):
            grant = self.entries(answer, operation, at + name)[0]["grant"]
            self.assertIn(json.dumps(self.outside), grant)

    def test_a_directory_that_shows_only_the_way_to_a_root(self):
        self.write("outside/inner/file", "x")
        flags = ("--ro", f"{self.outside}/inner/file")
        answer = self.trace(f"ls {self.outside}; ls {self.outside}/inner; cd {self.outside}", *flags)
        self.assertEqual(answer["stdout"], "inner\nfile\n")
        entry = self.only(answer, "open", self.outside)
        self.assertIn('"access": "ro"', entry["grant"])
        self.assertEqual(len(answer["denials"]), 1, answer["denials"])

    def test_a_program_that_lies_outside(self):
        self.write("outside/tool", "#!/bin/sh\n", 0o755)
        answer = self.trace(f"{self.outside}/tool; python3 -c 'import os; os.execv("
                            f"\"{self.outside}/tool\", [\"x\"])'")
        found = self.entries(answer, "exec", f"{self.outside}/tool")
        self.assertEqual([entry["program"] for entry in found],
                         ["bash", "python3"])

    def test_protected_paths(self):
        os.makedirs(os.path.join(self.work, ".git/hooks"))
        profile = self.profile({"filesystem": {"protect": [".git/hooks", "locked"]}})
        answer = self.trace("echo x > .git/hooks/pre; mv .git away; rmdir .git/hooks; mkdir locked;"
                            "echo x > .git/other", "--profile", profile)
        for operation, name in (("open", ".git/hooks/pre"), ("rename", ".git"),
                                ("rmdir", ".git/hooks"), ("mkdir", "locked")):
            entry = self.only(answer, operation, f"{self.work}/{name}")
            self.assertEqual(entry["grant"], "remove it from filesystem.protect")
        self.assertEqual(self.entries(answer, "open", f"{self.work}/.git/other"), [])

    def test_paths_that_stand_within_a_word(self):
        self.write("outside/file", "x")
        self.write("outside/tool", "#!/bin/sh\n", 0o755)
        for command, operation, name in (
            ("{tool}", "exec", "tool"), ("time {tool} | cat", "exec", "tool"), ("if {tool}; then :; fi", "exec", "tool"),
            ("dd if={file} of=/dev/null", "open", "file"), ("grep -f{file} x", "open", "file"),
            ("grep --file={file} x", "open", "file"), ("A={file} sh -c 'cat $A'", "open", "file"),
            ("/usr/bin/python3 -c \"open('{file}')\"", "open", "file"),
        ):
            with self.subTest(command=command):
                places = {"tool": self.outside + "/tool", "file": self.outside + "/file"}
                answer = self.sh(command.format(**places))
                entry = self.only(answer, operation, places[name])
                self.assertEqual(entry["grant"], f'filesystem.roots += [{{"path": "{places[name]}", "access": "ro"}}]')
        for command in ("sed -n '/nowhere/p' /etc/hosts", "echo http://host/srv/x", "echo a/b /usr/bin:/bin", "true '//x'"):
            self.assertEqual(self.sh(command)["denials"], [], command)

    def test_a_hard_link_between_two_roots(self):
        os.mkdir(self.base + "/store")
        stored = self.write("store/file", "x")
        answer = self.trace("ln ../store/file here; ln ../store/file ../store/near; touch a; ln a b",
                            "--rw", self.base + "/store")
        told = [(d["operation"], d["target"], d["program"]) for d in answer["denials"]]
        self.assertEqual(told, [("link", stored, "ln")], answer)
        self.assertIn(self.work + "/here", answer["denials"][0]["grant"])
        self.assertEqual(sorted(os.listdir(self.base + "/store")), ["file", "near"])

    def test_a_device_that_is_not_shown(self):
        if not os.path.exists("/dev/kmsg"):
            self.skipTest("no /dev/kmsg here")
        answer = self.trace("cat /dev/kmsg")
        self.assertEqual(self.only(answer, "open", "/dev/kmsg")["grant"],
                         'filesystem.devices += ["/dev/kmsg"]')

    def test_under_landlock_alone(self):
        profile = self.profile({"isolation": {"namespaces": [], "require": ["seccomp", "landlock"],
                                              "fallback": "degrade"}})
        answer = self.trace(f"cat {self.secret}; echo x > {self.outside}/new; rm -f {self.secret};"
                            f"mkdir {self.outside}/d; echo x > mine; cat mine; rm mine",
                            "--profile", profile)
        self.assertEqual(self.only(answer, "open", self.secret)["layer"], "landlock")
        for operation, name in (("open", "new"), ("unlink", "secret"), ("mkdir", "d")):
            entry = self.only(answer, operation, f"{self.outside}/{name}")
            self.assertEqual(entry["layer"], "landlock")
        self.assertEqual([d for d in answer["denials"] if "/work/" in d["target"]], [])
        self.assertEqual(answer["stdout"], "x\n")

    def test_ordinary_work_is_not_listed(self):
        answer = self.trace(
            "echo x > a; cp a b; mkdir -p d/e; mv b d; rm -r d; ls -la /usr/bin > /tmp/list;"
            "cat /nowhere/at/all; cat missing; nosuchprogram; echo y > /dev/null;"
            "echo z > /dev/stderr; cat < /dev/fd/0; python3 -c 'import json, ssl'; git init -q r",
            "--env", "PATH=/usr/bin:/bin")
        mine = [d for d in answer["denials"]
                if not d["target"].startswith(("/sys/", "/etc/", os.path.expanduser("~")))]
        self.assertEqual(mine, [])

    def test_the_list_is_bounded_and_counted(self):
        self.write("work/many.py", "import os\n"
                   "for n in range(600):\n"
                   "    try: os.mkdir('/usr/n%d' % n)\n"
                   "    except OSError: pass\n")
        answer = self.trace("python3 many.py")
        made = self.entries(answer, "mkdir")
        self.assertLessEqual(len(answer["denials"]), 300)
        self.assertEqual(sum(d["count"] for d in made), 600)

    def test_where_there_is_no_listener_that_is_said(self):
        profile = self.profile({"seccomp": {"mode": "off"},
                                "isolation": {"require": ["mount", "landlock"]}})
        answer = self.trace(f"cat {self.secret}", "--profile", profile)
        self.assertEqual(answer["denials"], [])
        self.assertIn("denials", [d["what"] for d in answer["sandbox"]["degraded"]])

    def test_exec_traces_too(self):
        result = os.path.join(self.base, "result.json")
        subprocess.run([harness.SBX_RUN, "exec", "--trace-denials", "--result-file", result, "-c",
                        f"cat {self.secret}"], cwd=self.work, check=False, timeout=harness.BOUND,
                       stdin=subprocess.DEVNULL, capture_output=True)
        with open(result) as file:
            self.only(json.load(file), "open", self.secret)


class TraceInASession(session_harness.Case):
    def test_a_server_s_flag_is_for_all_of_its_runs(self):
        secret = self.write("outside/secret", "s")
        _, server = self.server("--trace-denials")
        for _ in range(3):
            result = server.call("run", command=f"cat {secret}")
            self.assertIn(("open", secret),
                          [(d["operation"], d["target"]) for d in result["denials"]])


if __name__ == "__main__":
    unittest.main()
