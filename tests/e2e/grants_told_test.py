# SPDX-License-Identifier: Apache-2.0
"""What a denial says would allow it does, and nothing more: beside the workspace, where git and renames are refused,
and under a managed policy."""

import os
import subprocess
import tempfile
import unittest

import harness
import managed_test


def rw(path):
    return f'filesystem.roots += [{{"path": "{path}", "access": "rw"}}]'


def below_var(case):
    """What case.setUp() makes, not below /tmp, which the sandbox has its own of."""
    former = tempfile.tempdir
    tempfile.tempdir = "/var/tmp"
    case.addCleanup(setattr, tempfile, "tempdir", former)


class Beside(harness.Case):
    def setUp(self):
        below_var(self)
        super().setUp()
        self.outside = self.base + "/outside"
        os.mkdir(self.outside)
        self.env = {**os.environ, "HOME": self.base + "/home", "PATH": "/usr/bin:/bin"}

    def sh(self, command, *flags, **options):
        return super().sh(command, *flags, **{"env": self.env, **options})

    def test_of_what_a_pattern_or_a_loop_asks_for_the_directory_is_named(self):
        self.write("outside/a.py", "1")
        self.write("outside/rep/file", "1")
        subprocess.run(["git", "init", "-q"], cwd=self.work, check=True)
        out = self.outside
        for command, target in ((f"cat {out}/*.py", out), (f"ls -d {out}/*", out), (f"cat {out}/re*/f*", out),
                                (f"for i in {out}/*; do cat $i; done", out),
                                (f"tar -xf{out}/t.tar", None), (f"tar -xf{out}/a.py", out + "/a.py"),
                                (f"git --work-tree={out}/rep status", out + "/rep")):
            answer = self.sh(command)
            told = {(d["target"], d["grant"]) for d in answer["denials"]}
            grant = f'filesystem.roots += [{{"path": "{target}", "access": "ro"}}]'
            self.assertEqual(told, {(target, grant)} if target else set(), answer)

    def test_of_what_is_hidden_what_a_program_says_it_may_not_open_is_named(self):
        """Where neither the command's text nor a layer tells of it."""
        self.write("work/sub/.env", "KEY=1")
        self.write("work/read.py", "import os\nfor base, _, names in os.walk('.'):\n    for name in names: open(base + '/' + name)\n")
        hidden = self.work + "/sub/.env"
        for command in ("grep -r KEY .", "tar cf t.tar sub", "find . -name '.e*' -exec cat {} +", "cp -r sub copy",
                        "python3 read.py"):
            with self.subTest(command=command):
                answer = self.sh(command, "--hide", "sub/.env")
                self.assertEqual([(d["layer"], d["operation"], d["target"], d["count"], d["program"], d["grant"])
                                  for d in answer["denials"]],
                                 [("mount", "open", hidden, 1, "", rw(hidden).replace("rw", "ro"))], answer)
        # Nor is it lost where both streams are one; what a command prints that goes well is not looked through.
        for command, flags in (("grep -r KEY .", ["--merge"]), ("grep -r KEY . 2>&1", [])):
            answer = self.sh(command, "--hide", "sub/.env", *flags)
            self.assertEqual([d["target"] for d in answer["denials"]], [hidden], answer)
        self.assertEqual(self.sh("grep -r KEY .; true", "--merge", "--hide", "sub/.env")["denials"], [])
        self.assertEqual(self.sh("grep -r KEY .")["denials"], [])
        # Nothing that is not shown is told of, whatever is printed of it, nor twice what is.
        self.write("outside/secret", "s")
        said = self.sh(f"echo 'cat: {self.outside}/secret: Permission denied' >&2")
        self.assertEqual(said["denials"], [])
        answer = self.sh("cat sub/.env; grep -r KEY .", "--hide", "sub/.env")
        self.assertEqual({(d["target"], d["program"]) for d in answer["denials"]}, {(hidden, "cat"), (hidden, "grep")}, answer)

    def test_another_name_in_the_directory_of_a_named_one_is_not_it(self):
        command = "python3 -c \"open('/etc/b'+'b', 'w')\"; cat /etc/fstab"
        told = {(d["program"], d["target"]) for d in self.sh(command)["denials"]}
        self.assertEqual({target for program, target in told if program.startswith("python")}, set())
        (entry,) = [d for d in self.sh("sed -i s/a/b/ /etc/hosts")["denials"] if d["program"] == "sed"]
        self.assertEqual((entry["target"], entry["operation"]), ("/etc/hosts", "open"))

    def test_of_what_the_host_has_that_alone_is_granted(self):
        self.write("outside/secret", "s")
        self.write("work/own", "o")
        for command in (f"cp own {self.outside}/", f"mkdir -p {self.outside}/x/y", "mkdir -p ../outside/d/e",
                        f"git init -q {self.outside}/repo", f"install -D own {self.outside}/q/h",
                        f"python3 -c 'import os; os.makedirs(\"{self.outside}/h/i\")'", "mkdir -p ../outside",
                        "mv ../outside/secret ../outside/moved", "mv own ../outside"):
            with self.subTest(command=command):
                for flags in ([], ["--trace-denials"]):
                    answer = self.sh(command, *flags)
                    self.assertNotEqual(answer["exit_code"], 0, answer)
                    grants = {d["grant"] for d in answer["denials"] if '"rw"' in d["grant"]}
                    self.assertEqual(grants, {rw(self.outside)}, answer)
                answer = self.sh(command, "--rw", self.outside)
                self.assertEqual((answer["exit_code"], answer["denials"]), (0, []), answer)

    def test_what_is_new_beside_the_workspace_needs_the_directory(self):
        self.write("file", "x")
        for command, grant in (("echo x > ../file", rw(self.base + "/file")), ("echo x > ../new", rw(self.base)),
                               ("mkdir ../new", rw(self.base)), ("touch a; mv a ../file", rw(self.base))):
            grants = {d["grant"] for d in self.sh(command)["denials"] if '"rw"' in d["grant"]}
            self.assertEqual(grants, {grant}, command)

    def test_a_root_that_stands_in_the_way_of_a_removal(self):
        """It is a mount point: EBUSY. Made writable a file is none any more; a directory stays one."""
        file, directory = self.write("work/a/b/file", "x"), self.work + "/a/b"
        for access in ("ro", "none"):
            profile = self.profile({"commands": {"ask": []}, "filesystem": {"+roots": [{"path": file, "access": access}]}})
            for command, told in (("rm -rf a", {rw(file)}), ("mv a/b c", {"", rw(file)} if access == "ro" else {""}),
                                  ("mv a d", {""}),
                                  ("rm -f a/b/file", {rw(file)})):
                answer = self.sh(command, "--profile", profile)
                self.assertNotEqual(answer["exit_code"], 0, answer)
                self.assertEqual({d["grant"] for d in answer["denials"] if '"ro"' not in d["grant"]}, told, answer)
                subprocess.run(["rm", "-rf", self.work + "/c", self.work + "/d"], check=True)
        profile = self.profile({"commands": {"ask": []}, "filesystem": {"+roots": [{"path": directory, "access": "none"}]}})
        answer = self.sh("cp /dev/null a/b/new; mv a e", "--profile", profile)
        self.assertEqual({(d["operation"], d["target"], d["grant"]) for d in answer["denials"] if d["operation"] != "open"}, {
            ("stat", directory + "/new", f'filesystem.roots += [{{"path": "{directory}", "access": "ro"}}]'),
            ("rename", self.work + "/a", "")}, answer)

    def test_a_move_into_the_place_of_a_root_is_none_onto_it(self):
        """mv asks with RENAME_NOREPLACE first: EEXIST."""
        os.mkdir(self.work + "/sub")
        self.write("work/own", "x")
        answer = self.sh("mv own sub", "--rw", self.work + "/sub", "--trace-denials")
        self.assertEqual(answer["exit_code"], 0, answer)
        self.assertNotIn(self.work + "/sub", {d["target"] for d in answer["denials"]}, answer)

    def test_what_is_protected_in_a_root_within_another_is_told_of(self):
        file = self.write("work/a/b/file", "x")
        profile = self.profile({"filesystem": {"+roots": [{"path": self.work + "/a", "access": "rw"}],
                                               "+protect": ["a/b/file"]}})
        for command in ("echo x >> a/b/file", "rm a/b/file", "mv a/b c"):
            answer = self.sh(command, "--profile", profile)
            self.assertIn((file, "remove it from filesystem.protect"),
                          {(d["target"], d["grant"]) for d in answer["denials"]}, command)

    def test_a_symlink_is_granted_by_what_it_leads_to(self):
        os.symlink(self.outside, self.base + "/link")
        (denial,) = self.sh("mkdir -p ../link/x")["denials"]
        self.assertIn(f'{{"path": "{self.outside}", "access": "rw"}}', denial["grant"])
        self.assertNotIn(f'{{"path": "{self.base}", "access": "rw"}}', denial["grant"])

    def test_what_is_made_on_the_way_to_a_named_path_is_told_of(self):
        answer = self.sh("mkdir -p /usr/sbx-none/a/b; mkdir -p made/a/b")
        self.assertEqual([(d["operation"], d["target"], d["grant"]) for d in answer["denials"]],
                         [("mkdir", "/usr/sbx-none", rw("/usr") if harness.is_root() else "")], answer)

    def test_a_full_overlay_is_named_where_it_was_written_to(self):
        for command, target in (("head -c 20M /dev/zero > all", self.work), ("echo x > x; head -c 20M /dev/zero > /tmp/all", "/tmp")):
            answer = self.sh(command, "--overlay", "--tmp-size", "16M")
            self.assertEqual([(denial["target"], denial["grant"]) for denial in answer["denials"]],
                             [(target, "limits.tmp_mb = 32")], answer)

    def test_what_choom_could_not_do_is_told(self):
        answer = self.sh("choom -n 500 -- true")
        self.assertEqual([(d["target"], d["grant"]) for d in answer["denials"]], [("/proc/PID/oom_score_adj", "")])

    def test_more_open_files_are_granted_as_asked_for(self):
        few = self.profile({"limits": {"open_files": 1024}}, "few.json")
        for command in ("ulimit -n 5000", "bash -c 'ulimit -Sn 100; ulimit -SHn 5000'"):
            (entry,) = self.sh(command, "--profile", few)["denials"]
            self.assertEqual(entry["grant"], "limits.open_files = 5000", command)
        own = self.sh("ulimit -n 32; python3 -c 'import os; [os.open(\"/\", 0) for i in range(99)]'", "--profile", few)
        self.assertIn("oo many open files", own["stderr"])
        self.assertEqual(own["denials"], [], own)

    def test_a_program_that_is_named_by_its_path(self):
        tool = self.write("outside/tool", "#!/bin/sh\necho ran\n", 0o755)
        os.symlink(tool, self.work + "/link")
        self.write("work/script", f"#!  {tool} -x\n", 0o755)
        self.write("work/none", "#!/nonexistent/sh\n", 0o755)
        os.mkfifo(self.work + "/fifo")
        os.chmod(self.work + "/fifo", 0o755)
        for name, shown in ((tool, tool), ("./link", self.outside), (self.work + "/link", self.outside), ("./script", tool)):
            for words in (("--", name), ("-c", name), ("-c", f"sh -c {name}")):
                with self.subTest(words=words):
                    answer = self.run_json(*words, env=self.env)
                    told = [denial for denial in answer["denials"] if denial["operation"] == "exec"]
                    self.assertEqual([(denial["layer"], denial["target"]) for denial in told], [("mount", tool)], answer)
                    self.assertEqual(told[0]["grant"], f'filesystem.roots += [{{"path": "{shown}", "access": "ro"}}]')
                    if words[0] == "--":
                        self.assertIn("interpreter", answer["error"]["hint"])
            done = self.raw("exec", "--ro", shown, "--", name, env=self.env)
            self.assertEqual((done.returncode, done.stdout), (0, b"ran\n"), done)
        for name in ("./none", "./fifo", "./absent"):
            self.assertEqual(self.run_json("--", name, env=self.env)["denials"], [], name)

    def test_of_what_is_read_only_what_a_program_says_it_cannot_write_is_named(self):
        """Where neither the command's text nor a layer tells of it."""
        os.mkdir(self.outside + "/dir")
        self.write("outside/file", "x")
        part = f"import os; at = '/'.join({self.outside.split('/')!r}); "
        for call, target, place in (("open(at + '/new', 'w')", "/new", ""), ("open(at + '/file', 'a')", "/file", "/file"),
                                    ("os.mkdir(at + '/dir/x')", "/dir/x", "/dir")):
            answer = self.sh(f'python3 -c "{part}{call}"', "--ro", self.outside)
            self.assertEqual([(d["layer"], d["operation"], d["target"], d["grant"]) for d in answer["denials"]],
                             [("mount", "open", self.outside + target, rw(self.outside + place))], answer)
        self.assertEqual(self.sh(f'python3 -c "{part}open(at + {"/new"!r}, {"w"!r})"', "--rw", self.outside)["denials"], [])
        answer = self.sh("/usr/sbin/ldconfig")
        self.assertEqual([(d["target"], d["grant"]) for d in answer["denials"]],
                         [("/etc/ld.so.cache~", rw("/etc") if harness.is_root() else "")], answer)
        # Nor twice what is told already, nor what is not there, or not read-only.
        for command in (f"touch {self.outside}/new", "sed -i s/a/b/ /etc/hosts", "mkdir /usr/a/b /usr/x"):
            told = [d for d in self.sh(command, "--ro", self.outside)["denials"] if d["program"] == ""]
            self.assertEqual(told, [], command)
        for path in (self.base + "/none", self.work + "/x", "x"):
            self.assertEqual(self.sh(f"echo 'touch: {path}: Read-only file system' >&2; false")["denials"], [], path)
        self.assertEqual(self.sh("echo 'touch: /usr/x: Read-only file system' >&2")["denials"], [])  # it went well

    @unittest.skipIf(harness.is_root(), "root may")
    def test_nothing_is_offered_that_the_caller_may_not_do_itself(self):
        for command in ("touch /etc/hostname", "touch /var/lib/dpkg/x", "mkdir /opt/z", "ls /root", "ln -s x /usr/bin/x",
                        "man -w ls; touch /var/cache/man/x"):
            answer = self.sh(command)
            self.assertTrue(answer["denials"], answer)
            self.assertEqual({d["grant"] for d in answer["denials"]}, {""}, answer)
        self.assertEqual({d["grant"] for d in self.sh("cat /opt/*; ls /opt")["denials"]},
                         {rw("/opt").replace("rw", "ro")})
        self.write("outside/own", "x")
        os.chmod(self.outside + "/own", 0o444)
        (told,) = self.sh(f"chmod 600 {self.outside}/own", "--ro", self.outside)["denials"]
        self.assertEqual(told["grant"], rw(self.outside + "/own"))

    @unittest.skipUnless(harness.is_root(), "another may")
    def test_no_namespace_is_offered_to_a_command_of_roots(self):
        for command in ("unshare -n true", "unshare -U true"):
            answer = self.sh(command)
            self.assertEqual([(d["operation"], d["target"], d["grant"]) for d in answer["denials"]],
                             [("unshare", "a namespace, which no command of root's may make", "")], answer)

    def test_git_that_may_not_write_where_it_runs_is_told_of(self):
        os.mkdir(self.work + "/sub")
        for command, at in (("git init -q .", ""), ("git init -q new", ""), ("git -c a.b=c init", ""),
                            ("cd sub; git init -q", "/sub")):
            answer = self.sh(command, "--profile", "readonly")
            self.assertNotEqual(answer["exit_code"], 0, answer)
            self.assertEqual({(d["target"], d["grant"]) for d in answer["denials"]},
                             {(self.work + at, rw(self.work + at))}, command)
        self.assertEqual(self.sh("git init -q new; cd new; touch a; git add a; git status")["denials"], [])
        self.assertEqual(self.sh("git status; git log", "--profile", "readonly")["denials"], [])

    def test_a_move_between_two_roots(self):
        self.write("outside/file", "x")
        answer = self.sh("python3 -c 'import os; os.rename(\"../outside/file\", \"here\")';"
                         "mv ../outside/file ../outside/b", "--rw", self.outside, "--trace-denials")
        self.assertIn("Errno 18", answer["stderr"])
        self.assertEqual([(d["operation"], d["target"], d["program"]) for d in answer["denials"]],
                         [("rename", self.outside + "/file", "python3")], answer)
        self.assertIn(self.work + "/here", answer["denials"][0]["grant"])


class UnderAManagedPolicy(managed_test.ManagedCase):
    FILE = "/etc/sbx/managed.d/site.json"

    def setUp(self):
        below_var(self)
        super().setUp()

    def told(self, *arguments):
        answer = self.answer(*arguments)
        is_said = any(line.startswith("denials: ") and self.FILE in line for line in answer["sandbox"]["warnings"])
        return {(d["target"], d["grant"]) for d in answer["denials"]}, is_said

    def test_a_grant_that_could_not_help_is_not_told(self):
        for name in ("none", "ro", "free"):
            self.write(name + "/f", "x")
        self.managed({"filesystem": {"max": [{"path": self.base + "/none", "access": "none"},
                                             {"path": self.base + "/ro", "access": "ro"}]}})
        for name in ("none", "ro", "free"):
            path = f"{self.base}/{name}/f"
            reads = f'filesystem.roots += [{{"path": "{path}", "access": "ro"}}]'
            for command, grant, is_held in ((f"cat {path}", reads, name == "none"),
                                            (f"echo x >> {path}", rw(path), name != "free")):
                self.assertEqual(self.told("-c", command), ({(path, "" if is_held else grant)}, is_held), command)

    def test_a_root_that_it_lowers_is_told_of_and_nobody_asked_about_it(self):
        for place in ("data", "work/src"):
            os.makedirs(f"{self.base}/{place}", exist_ok=True)
        maxima = [{"path": self.base, "access": "ro"}, {"path": self.work, "access": "rw"},
                  {"path": self.work + "/src", "access": "ro"}, {"path": self.base + "/data/free", "access": "rw"}]
        self.managed({"filesystem": {"max": maxima}})
        data = self.base + "/data"
        for command, target in (("touch src/n", self.work + "/src/n"), (f"touch {data}/n", data + "/n"),
                                ("mv src moved", self.work + "/src"),
                                (f"echo 1 > {data}/n", data + "/n")):
            answer = self.answer("--rw", data, "-c", command)
            told = [(d["target"], d["grant"]) for d in answer["denials"]]
            self.assertEqual((answer["status"], told), ("exited", [(target, "")]), answer)
            self.said(answer, f"filesystem.roots: {data} lowered from rw to ro by {self.FILE}")
        os.makedirs(data + "/free")
        self.assertEqual(self.answer("--rw", data, "-c", f"echo 1 > {data}/free/n")["status"], "needs_approval")

    def test_nor_of_the_network(self):
        command = "exec 3<>/dev/tcp/192.0.2.1/9"
        grant = 'network.allow += ["192.0.2.1:9"]'
        for network, is_held in (({"allow": ["198.51.100.1:9"]}, True), ({"allow": ["192.0.2.0/24:9"]}, False),
                                 ({"mode": "allowlist"}, False)):
            self.managed({"network": network})
            found = self.told("--allow-host", "198.51.100.1:9", "-c", command)
            self.assertEqual(found, ({("192.0.2.1:9", "" if is_held else grant)}, is_held), network)

    def test_nor_of_a_limit(self):
        profile = self.profile({"limits": {"open_files": 64}})
        for most, is_held in ((64, True), (512, False)):
            self.managed({"limits": {"open_files": most}})
            found, is_said = self.told("--profile", profile, "-c", "for i in $(seq 80); do exec {fd}</dev/null; done")
            grants = {grant for _, grant in found}
            self.assertEqual((grants, is_said), ({"" if is_held else "limits.open_files = 128"}, is_held))

    def test_hidden_settings_of_git_stay_hidden(self):
        os.makedirs(self.home + "/dots")
        for file, text in (("/dots/git", "[user]\n name = Hidden\n"), ("/.gitconfig", "[user]\n name = Hidden\n")):
            with open(self.home + file, "w") as opened:
                opened.write(text)
        profile = self.profile({"filesystem": {"git_config": "user"}})

        def name():
            answer = self.answer("--profile", profile, "-c", "git config -f ~/.gitconfig user.name")
            said = answer["sandbox"]["warnings"]
            return answer["stdout"].strip(), [line for line in said if line.startswith("git: ")]

        self.managed({})
        self.assertEqual(name(), ("Hidden", []))
        said = [f"git: not taken inside: {self.home}/.gitconfig is hidden by {self.FILE}"]
        self.managed({"filesystem": {"max": [{"path": self.home, "access": "none"}]}})
        self.assertEqual(name(), ("", said))
        os.unlink(self.home + "/.gitconfig")
        os.symlink("dots/git", self.home + "/.gitconfig")
        self.managed({"filesystem": {"max": [{"path": self.home + "/dots", "access": "none"}]}})
        self.assertEqual(name(), ("", said))
