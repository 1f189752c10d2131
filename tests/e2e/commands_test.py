# SPDX-License-Identifier: Apache-2.0
"""The command policy from outside: verdicts, approvals, and what the kernel refuses whatever the
text says."""

import datetime
import json
import os
import pty
import select
import shutil
import subprocess
import time
import unittest
import unittest.mock

from harness import BOUND, SBX_RUN, Case, is_root

DENIED = ["su", "mount", "umount", "chroot"]


def made(case, name):
    """Shell text for a word that only the run knows: the reader does not open files."""
    case.write("work/.name", name)
    return "$(cat .name)"


def present(names):
    """The names that this machine has, as paths."""
    return [path for path in (shutil.which(n, path="/usr/sbin:/usr/bin") for n in names) if path]


class Check(Case):
    """`sbx-run check`."""

    def check(self, command, *flags, status):
        answer = self.run_json("check", *flags, "-c", command)
        self.assertEqual(self.last.returncode, status, answer)
        self.assertEqual(sorted(answer), ["rules", "unknown", "verdict"])
        return answer

    def test_allows_ordinary_work(self):
        answer = self.check("make clean && rm -rf build", status=0)
        self.assertEqual(answer, {"verdict": "allow", "rules": [], "unknown": []})

    def test_denies_with_the_words_at_fault(self):  # A9
        answer = self.check("echo a; sudo id", status=126)
        self.assertEqual(answer["verdict"], "deny")
        rule = answer["rules"][0]
        self.assertEqual((rule["id"], rule["verdict"], rule["span"]), ("denied-command", "deny", [8, 12]))
        self.assertIsNone(rule["grant"])

    def test_quoted_text_is_no_command(self):  # A9
        self.check("""echo "don't sudo" """, status=0)

    def test_asks_about_destruction(self):  # E4
        for command in ("rm -rf /data/work/old", "shred a", "chown root a", "dd of=/dev/sda if=a",
                        "git reset --hard", "mkswap /dev/sda"):
            answer = self.check(command, status=3)
            self.assertEqual(answer["verdict"], "ask", command)

    def test_dev_is_the_sandboxs_own_where_the_whole_host_is_writable(self):
        self.check("make >/dev/null 2>&1; echo x > /dev/stderr", "--rw", "/", status=0)
        self.check("dd if=a of=/dev/sda", "--rw", "/", status=3)

    def test_says_what_it_cannot_know(self):
        answer = self.check("$(cat name)", status=0)
        self.assertEqual(len(answer["unknown"]), 1)

    def test_a_file_that_is_read_in_is_unknown(self):
        self.write("work/env", "X=1")
        for command, span in (("source ./env; make", [7, 12]), (". nowhere", [2, 9]), (". /etc/profile", [2, 14])):
            answer = self.check(command, status=0)
            self.assertEqual([entry["span"] for entry in answer["unknown"]], [span])
        self.assertEqual(self.check("sh ./env; ./env", status=0)["unknown"], [])
        # So are a request's own files; they run.
        request = {"command": ". ./staged; echo $Y", "files": [{"path": "staged", "content": "Y=2"}]}
        call = lambda method: self.run_json("call", method, stdin=None, input=json.dumps(request).encode())
        self.assertEqual(len(call("check")["unknown"]), 1)
        self.assertEqual(call("run")["stdout"], "2\n")

    def test_reads_arguments(self):
        answer = self.run_json("check", "--", "bash", "-c", "sudo id")
        self.assertEqual((answer["verdict"], self.last.returncode), ("deny", 126))

    def test_names_the_root_to_add(self):  # B11
        profile = self.profile({"commands": {"confine_paths": True}})
        answer = self.check("cat /srv/secret", "--profile", profile, status=126)
        self.assertIn('"path": "/srv/secret"', answer["rules"][0]["grant"])

    def test_a_bad_flag_is_an_error(self):
        answer = self.run_json("check", "--nonsense", "-c", "id")
        self.assertEqual((answer["status"], self.last.returncode), ("error", 125))


class Refused(Case):
    """Runs that the policy keeps from starting."""

    def test_a_denied_command_does_not_run(self):  # A9
        answer = self.sh("touch ran; sudo id")
        self.assertEqual(answer["status"], "denied", answer)
        self.assertEqual(self.last.returncode, 126)
        self.assertEqual(answer["error"]["code"], "denied")
        denial = answer["denials"][0]
        self.assertEqual((denial["layer"], denial["operation"], denial["program"]),
                         ("command", "sudo", "sudo"))
        self.assertFalse(os.path.exists(os.path.join(self.work, "ran")))

    def test_the_list_of_the_profile_is_added_to(self):
        profile = self.profile({"commands": {"deny": ["make"]}})
        self.assertEqual(self.sh("make", "--profile", profile)["denials"][0]["grant"],
                         'commands.deny -= "make"')
        self.assertEqual(self.sh("sudo id", "--profile", profile)["status"], "denied")

    def test_an_allow_list_names_what_it_allows(self):  # C6
        profile = self.profile({"commands": {"allow": ["cat", "ls"]}})
        answer = self.sh("perl -e 1", "--profile", profile)
        self.assertEqual(answer["status"], "denied")
        self.assertIn("cat, ls", answer["error"]["message"])
        self.assertEqual(answer["denials"][0]["grant"], 'commands.allow += "perl"')

    def test_what_the_callers_stack_has_no_room_for_is_not_asked_about(self):
        request = {"argv": ["rm", "-rf", "/srv", *["x" * 100_000] * 3]}
        for limit, code in (("512", "too_large"), ("8192", "needs_approval")):
            done = subprocess.run(["bash", "-c", f'ulimit -Ss {limit}; exec "$0" call run --workspace .', SBX_RUN],
                                  input=json.dumps(request).encode(), cwd=self.work, capture_output=True, timeout=BOUND, check=False)
            answer = json.loads(done.stdout)
            self.assertEqual((answer.get("error") or answer)["code"], code, done)

    def test_a_program_named_like_a_pattern_is_granted_to_nobody(self):
        profile = self.profile({"commands": {"allow": ["cat", "ls"]}})
        for command in ("'*' x", "'p[a-z]rl' x", r"\? x"):
            answer = self.sh(command, "--profile", profile)
            self.assertEqual(answer["status"], "denied", command)
            self.assertEqual(answer["denials"][0]["grant"], "", answer)

    def test_readonly_refuses_writing_programs(self):  # B10
        profile = self.profile({"commands": {"readonly": True, "ask": []}})
        for command in ("rm a", "touch a", "echo a > b"):
            self.assertEqual(self.sh(command, "--profile", profile)["status"], "denied", command)
        self.assertEqual(self.sh("ls", "--profile", profile)["status"], "exited")

    def test_the_deny_list_stands_in_unconfined(self):
        self.assertEqual(self.sh("sudo -n id", "--profile", "unconfined")["status"], "denied")


class Approval(Case):
    """What a person has to decide (E4)."""

    def setUp(self):
        super().setUp()
        self.profile_path = self.profile({})
        state = {"XDG_STATE_HOME": os.path.join(self.base, "state")}
        patch = unittest.mock.patch.dict(os.environ, state)
        patch.start()
        self.addCleanup(patch.stop)
        self.command = "touch ran; rm -rf ."

    def ask(self, *flags, command=None):
        return self.sh(command or self.command, "--profile", self.profile_path, *flags)

    def ran(self):
        return os.path.exists(os.path.join(self.work, "ran"))

    def test_needs_approval_runs_nothing(self):
        answer = self.ask()
        self.assertEqual((answer["status"], self.last.returncode), ("needs_approval", 3), answer)
        self.assertRegex(answer["approval"]["digest"], "^[0-9a-f]{64}$")
        self.assertEqual(answer["approval"]["rules"][0]["id"], "destructive.rm-outside")
        self.assertEqual(answer["error"]["code"], "needs_approval")
        self.assertFalse(self.ran())

    def test_the_operator_approves_exactly_that(self):
        digest = self.ask()["approval"]["digest"]
        other = self.ask("--approve", digest, command="touch ran;  rm -rf .")
        self.assertEqual(other["status"], "needs_approval")
        self.assertFalse(self.ran())
        for flags in (("--net", "open"), ("--env", "A=1"), ("--ro", "/usr")):
            self.assertEqual(self.ask("--approve", digest, *flags)["status"], "needs_approval", flags)
        answer = self.ask("--approve", digest)
        self.assertEqual(answer["status"], "exited", answer)
        self.assertTrue(answer["sandbox"]["layers"]["seccomp"])

    def test_what_changes_nothing_of_the_command_does_not_void_an_approval(self):
        audit = os.path.join(self.base, "audit")
        for flags in (("--audit", audit), ("--trace-denials",), ("--timeout", "5s"), ("--max-output", "5K"),
                      ("--workspace", self.work), ("--workspace", ".")):
            digest = self.ask()["approval"]["digest"]
            self.assertEqual(self.ask("--approve", digest, *flags)["status"], "exited", flags)
        digest = self.ask()["approval"]["digest"]
        for command, is_good in ((self.command + " ", False), (self.command, True), (self.command, False)):
            done = self.raw("exec", "--profile", self.profile_path, "--approve", digest, "-c", command)
            self.assertEqual(done.returncode != 3, is_good, done)

    def test_an_approval_is_for_what_the_command_reads_too(self):
        """A variable that its text names, and the file that is its input."""
        command = 'rm -rf "$FOO"'
        def ask(value, *flags):
            return self.sh(command, "--profile", self.profile_path, "--pass-env", "FOO", *flags,
                           env={**os.environ, "FOO": value})
        approve = ("--approve", ask("/nothing")["approval"]["digest"])
        self.assertEqual(ask("/other", *approve)["status"], "needs_approval")
        self.assertEqual(ask("/nothing", *approve)["status"], "exited")
        names, flags = self.write("names", "one\n"), ("--stdin", self.base + "/names")
        command = "xargs rm -rf"
        approve = ("--approve", ask("", *flags)["approval"]["digest"])
        with open(names, "a") as file:
            file.write("two\n")
        self.assertEqual(ask("", *flags, *approve)["status"], "needs_approval")
        self.assertEqual(ask("", *flags, "--approve", ask("", *flags)["approval"]["digest"])["status"], "exited")

    def test_an_approval_counts_once(self):
        digest = self.ask()["approval"]["digest"]
        other = self.ask()["approval"]["digest"]
        self.assertNotEqual(digest, other)
        self.assertEqual(self.ask("--approve", digest)["status"], "exited")
        again = self.ask("--approve", digest)
        self.assertEqual(again["status"], "needs_approval")
        self.assertIn("used up", again["error"]["message"])
        self.assertEqual(self.ask("--approve", other)["status"], "exited")

    def test_an_approval_counts_once_of_many_at_the_same_time(self):
        digest = self.ask()["approval"]["digest"]
        command = [SBX_RUN, "--profile", self.profile_path, "--approve", digest, "-c",
                   self.command]
        runs = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                 stdin=subprocess.DEVNULL, cwd=self.work) for _ in range(8)]
        answers = [json.loads(run.communicate()[0])["status"] for run in runs]
        self.assertEqual(sorted(answers), ["exited"] + 7 * ["needs_approval"])

    def test_an_approval_that_cannot_be_recorded_is_refused(self):
        digest = self.ask()["approval"]["digest"]
        state = self.write("no-directory", "a file")
        answer = self.sh(self.command, "--profile", self.profile_path, "--approve", digest,
                         env={**os.environ, "XDG_STATE_HOME": state})
        self.assertEqual(answer["status"], "needs_approval")
        self.assertIn("the approval is not used: the directory " + state, answer["error"]["message"])
        text = self.raw("--profile", self.profile_path, "--format", "text", "--approve", digest, "-c", self.command,
                        env={**os.environ, "XDG_STATE_HOME": state})
        self.assertRegex(text.stdout + text.stderr, b"the approval is not used: .*set XDG_STATE_HOME.*run it once with")
        self.assertFalse(self.ran())
        self.assertEqual(self.ask("--approve", digest)["status"], "exited")

    def test_a_wrong_digest_approves_nothing(self):
        self.assertEqual(self.ask("--approve", "0" * 64)["status"], "needs_approval")
        text = self.raw("--profile", self.profile_path, "--format", "text", "--approve", "0" * 64, "-c", self.command)
        self.assertIn(b"; the approval named is for another request, or used up, or too old; run it once with",
                      text.stdout + text.stderr)

    def at_terminal(self, answer, before=b"",
                    command="touch ran; echo done; git reset --hard 2>/dev/null; true"):
        """exec on a terminal where something was typed before; what was shown, and the exit status."""
        held, typed = os.pipe()
        pid, fd = pty.fork()
        if pid == 0:
            os.close(typed)
            os.read(held, 1)
            os.chdir(self.work)
            os.execv(SBX_RUN, [SBX_RUN, "exec", "--profile", self.profile_path, "--result-file",
                               self.base + "/result.json", "-c", command])
        os.close(held)
        os.write(fd, before)
        os.close(typed)
        shown = b""
        sent = False
        while True:
            ready, _, _ = select.select([fd], [], [], BOUND)
            self.assertTrue(ready, shown)
            try:
                data = os.read(fd, 4096)
            except OSError:
                break
            if not data:
                break
            shown += data
            if b"[y/N]" in shown and not sent:
                time.sleep(0.5)
                self.answered = time.time()
                os.write(fd, answer)
                sent = True
        _, status = os.waitpid(pid, 0)
        os.close(fd)
        return shown.decode(), os.waitstatus_to_exitcode(status)

    def test_a_person_at_the_terminal_says_yes(self):
        shown, status = self.at_terminal(b"yes\n")
        self.assertIn("git reset --hard", shown)
        self.assertEqual(status, 0, shown)
        self.assertTrue(self.ran())
        # A person's time is not the command's.
        with open(self.base + "/result.json") as file:
            started = datetime.datetime.fromisoformat(json.load(file)["started_at"].replace("Z", "+00:00"))
        self.assertGreater(started.timestamp(), self.answered - 0.01)

    def test_what_was_typed_before_the_question_is_no_answer(self):
        shown, status = self.at_terminal(b"no\n", before=b"yes\n")
        self.assertEqual((status, self.ran()), (3, False), shown)

    def test_the_question_shows_the_command_as_it_is(self):
        shown, status = self.at_terminal(b"no\n", command="touch ran; rm -rf build \"$X\" # \x1b[2K\x1b[31mX")
        self.assertEqual((status, self.ran()), (3, False), shown)
        self.assertNotIn("\x1b", shown)
        self.assertIn("rm -rf build \"$X\" # \\x1b[2K\\x1b[31mX", shown)

    def test_anything_but_yes_is_a_no(self):
        for answer in (b"\n", b"no\n", b"yess\n", b"\x04", b"\x03"):
            shown, status = self.at_terminal(answer)
            self.assertIn(status, (3, 130), shown)
            self.assertFalse(self.ran(), answer)


class Kernel(Case):
    """Names made at run time, and other ways round the text (A10)."""

    def refused(self, command, *flags):
        env = {**os.environ, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        answer = self.sh(command, *flags, env=env)
        self.assertEqual(answer["status"], "exited", answer)
        self.assertEqual(answer["exit_code"], 126, answer)
        self.assertIn("Permission denied", answer["stderr"])

    def test_a_name_made_at_run_time(self):
        for path in present(DENIED):
            self.refused(made(self, os.path.basename(path)) + " --version")
            self.refused(made(self, path) + " --version")

    def test_what_the_page_misses_is_refused_from_the_text_too(self):
        for command in ("$(echo sudo) id", 'bash -c "sudo id"'):
            self.assertEqual(self.sh(command)["status"], "denied", command)

    def test_from_another_language(self):
        path = present(["mount"])
        if not path:
            self.skipTest("no mount here")
        answer = self.sh("python3 -c 'import os; os.execv(\"/usr/bin/\" + \"mou\" + \"nt\", [\"m\"])'")
        self.assertIn("PermissionError", answer["stderr"], answer)

    def test_cannot_be_copied_either(self):
        for path in present(DENIED):
            answer = self.sh(f"cp {path} ./copy")
            self.assertNotEqual(answer["exit_code"], 0, answer)

    def test_by_an_unusual_path(self):
        for path in present(["umount"]):
            self.refused(f"p={made(self, path)}; /../$p")
            self.refused(f"n={made(self, 'umount')}; cd /usr/bin; ./$n")

    def test_a_profile_s_own_name(self):
        profile = self.profile({"commands": {"deny": ["tac", "sha5*"]}})
        self.refused(made(self, "tac") + " /dev/null", "--profile", profile)
        self.refused(made(self, "sha512sum") + " /dev/null", "--profile", profile)
        self.assertEqual(self.out("$(echo sha1sum) </dev/null", "--profile", profile)[:4], "da39")

    def test_a_link_is_masked_and_not_what_it_leads_to(self):
        links = [p for p in present(["reboot", "halt"]) if os.path.islink(p)]
        if not links:
            self.skipTest("no such links here")
        self.refused(made(self, links[0]) + " --help")
        target = os.path.realpath(links[0])
        self.assertEqual(self.sh(f"test -s {target}")["exit_code"], 0)

    def test_under_landlock_alone(self):
        profile = self.profile({"isolation": {"namespaces": [], "require": ["seccomp", "landlock"],
                                              "fallback": "degrade"}})
        for path in present(DENIED):
            self.refused(made(self, path) + " --version", "--profile", profile)
        self.assertEqual(self.out("$(echo cat) /dev/null; echo ok", "--profile", profile), "ok\n")

    def test_with_a_read_only_host(self):
        for path in present(["mount"]):
            self.refused(made(self, path), "--profile", "readonly")

    @unittest.skipIf(is_root(), "root may put programs anywhere itself")
    def test_with_a_writable_host(self):
        for path in present(["mount"]):
            self.refused(made(self, path), "--rw", "/")


class AllowList(Case):
    """Base `tools`: only the listed programs exist, and nothing else can be made one (C6)."""

    def setUp(self):
        super().setUp()
        self.tools = self.profile({
            "filesystem": {"base": "tools"},
            "commands": {"allow": ["cat", "cp", "echo", "env", "ls", "chmod", "mkdir", "python3",
                                   "find", "rm"], "ask": []}})

    def inside(self, command):
        # Not through the shims of a version manager, which are scripts of programs not listed.
        return self.sh(command, "--profile", self.tools,
                       env={**os.environ, "PATH": "/usr/bin:/bin"})

    def test_what_is_listed_runs(self):
        self.assertEqual(self.inside("cat /dev/null && echo $(echo cat) && ls /")["exit_code"], 0)

    def test_nothing_else_exists(self):
        for name in ("perl", "mount", "id", "git"):
            self.assertEqual(self.inside(made(self, name))["exit_code"], 127, name)

    def test_a_copy_does_not_run(self):
        for place in (".", "/tmp", "/dev/shm", "$HOME"):
            answer = self.inside(f"cp /usr/bin/cat {place}/mine; chmod 755 {place}/mine; "
                                 f"n={made(self, 'mine')}; {place}/$n /dev/null")
            self.assertEqual(answer["exit_code"], 126, (place, answer))

    def test_a_script_does_not_run_by_itself(self):
        self.write("work/script", "#!/bin/sh\necho ran\n", 0o755)
        answer = self.inside(made(self, "./script"))
        self.assertEqual((answer["exit_code"], answer["stdout"]), (126, ""))

    def test_the_dynamic_linker_does_not_run_a_copy(self):
        answer = self.inside("cp /usr/bin/cat mine; for l in /lib64/ld-linux-*.so.2 "
                             "/lib/ld-linux-*.so.1; do test -e $l && $l ./mine /dev/null; "
                             "done; echo $?")
        self.assertNotEqual(answer["stdout"], "0\n", answer)
        self.assertIn("failed to map segment", answer["stderr"])

    def python(self, code):
        self.write("work/probe.py", code)
        return self.inside("python3 probe.py")

    def test_a_memory_file_does_not_run(self):
        answer = self.python(
            "import os\n"
            "for flags in (0, 1, 8, 16):\n"
            "    try:\n"
            "        fd = os.memfd_create('x', flags)\n"
            "        os.write(fd, open('/usr/bin/cat', 'rb').read())\n"
            "        os.execve(fd, ['cat', '/dev/null'], {})\n"
            "    except OSError as error:\n"
            "        print(error.errno in (1, 13, 22))\n")
        self.assertEqual(answer["stdout"], "True\n" * 4, answer)

    def test_a_descriptor_of_a_copy_does_not_run(self):
        answer = self.python(
            "import os\n"
            "open('mine', 'wb').write(open('/usr/bin/cat', 'rb').read())\n"
            "os.chmod('mine', 0o755)\n"
            "fd = os.open('mine', os.O_RDONLY)\n"
            "for target in (fd, f'/proc/self/fd/{fd}', os.open('mine', os.O_PATH)):\n"
            "    try:\n"
            "        os.execve(target, ['cat', '/dev/null'], {})\n"
            "    except OSError as error:\n"
            "        print(error.errno)\n")
        self.assertEqual(answer["stdout"], "13\n" * 3, answer)

    def test_the_workspace_is_not_executable(self):
        answer = self.inside("cat /proc/self/mountinfo")
        for line in answer["stdout"].splitlines():
            fields = line.split()
            if fields[4] in (self.work, "/tmp", "/dev/shm"):
                self.assertIn("noexec", fields[5], line)

    def test_under_landlock_alone(self):
        profile = self.profile({
            "filesystem": {"base": "tools", "protect": []},
            "isolation": {"namespaces": [], "require": ["seccomp", "landlock"],
                          "fallback": "degrade"},
            "commands": {"allow": ["cat", "cp", "chmod", "echo"], "ask": []}}, "bare.json")
        answer = self.sh("cp /usr/bin/cat mine; chmod 755 mine; " + made(self, "./mine") +
                         " /dev/null", "--profile", profile)
        self.assertEqual(answer["exit_code"], 126, answer)
        self.assertEqual(self.sh(made(self, "perl") + " -e 1", "--profile", profile)["exit_code"], 126)
        self.assertIn("programs", [d["what"] for d in answer["sandbox"]["degraded"]])


class Explain(Case):
    def test_shows_the_verdict(self):
        text = self.raw("explain", "-c", "sudo id").stdout.decode()
        self.assertIn("verdict    deny", text)
        answer = json.loads(self.raw("explain", "--json", "-c", "git clean -f").stdout)
        self.assertEqual(answer["check"]["verdict"], "ask")


if __name__ == "__main__":
    unittest.main()
