# SPDX-License-Identifier: Apache-2.0
"""The command line: bad input is one clear error and nothing runs; every verb answers."""

import json
import os
import signal
import socket
import subprocess
import unittest

import harness

try:
    import jsonschema
except ImportError:
    jsonschema = None


class BadInput(harness.Case):
    """One error with code, where and hint, as JSON on stdout and as a line on
    stderr; exit 125; nothing runs."""

    def refuse(self, *arguments, code="bad_flag", where=None, env=None):
        extra = {} if env is None else {"env": {**os.environ, **env}}
        answer = self.run_json(*arguments, **extra)
        self.assert_error(answer, code)
        self.assertEqual(self.last.returncode, 125)
        error = answer["error"]
        self.assertTrue(error["message"] and error["hint"], error)
        if where is not None:
            self.assertEqual(error["where"], where, error)
        stderr = self.last.stderr.decode()
        self.assertTrue(stderr.startswith(f"sbx-run: {code}: "), stderr)
        self.assertEqual(stderr.count("\n"), 1, stderr)
        self.assertEqual(os.listdir(self.work), [])
        return error

    COMMAND = ("-c", "touch ran")
    BAD_VALUES = {
        "--timeout": ("", "0", "-1", "1.5", "x", "10", None, "1d", "99999999999999999999s",
                      "168.1h", "200h"),
        "--cpu-time": ("", "0", "-1s", "5 s", "200h"),
        "--memory": ("", "0", "-5", "1.5G", "lots", "512X", "9999999999T", "512", "16777215",
                     "17T"),
        "--tmp-size": ("", "0", "-1M", "1025G"),
        "--file-size": ("", "0", "x", "1025G"),
        "--max-output": ("", "0", "-64K", "64KK", "1025M", "1048577K"),
        "--pids": ("", "0", "-3", "2.5", "many", "4194305"),
        "--net": ("", "foo", "NONE"),
        "--allow-host": ("",),
        "--scrub": ("", "on", "Default"),
        "--env": ("", "NAME", "=x"),
        "--pass-env": ("", "TOKEN=secret", "A-B", "1A"),
        "--require": ("", "x", "user,", "user,x"),
        "--stdin": ("",),
        "--owner-pid": ("", "x", "-1", "1.5", "99999999999"),
        "--workspace": ("",),
        "--cwd": ("",),
        "--profile": ("",),
        "--ro": ("",),
        "--rw": ("",),
        "--hide": ("",),
    }

    def test_bad_values_name_the_flag(self):
        for flag, values in self.BAD_VALUES.items():
            for value in values:
                if value is None or (flag, value) == ("--timeout", "10"):
                    continue  # seconds without a unit are fine
                with self.subTest(flag=flag, value=value):
                    self.refuse(flag, value, *self.COMMAND, where=flag)
                    self.refuse(f"{flag}={value}", *self.COMMAND, where=flag)

    def test_a_flag_without_its_value_names_the_flag(self):
        for flag in self.BAD_VALUES:
            with self.subTest(flag=flag):
                self.refuse(*self.COMMAND, flag, where=flag)

    def test_a_switch_that_is_given_a_value_is_named(self):
        for verb, flag in ((), "--overlay"), ((), "--json"), (("batch",), "--resume"):
            error = self.run_json(*verb, flag + "=x", *(() if verb else self.COMMAND))["error"]
            self.assertEqual((error["message"], error["where"]), (flag + " takes no value", flag))
        self.assertIn("--resume=failed", error["hint"])

    def test_a_word_that_a_verb_cannot_honour_is_refused(self):
        for words in (("profile", "list", "default"), ("schema", "result", "shell"), ("layer", "list", "x"),
                      ("schema", "result", "--for", "mcp")):
            done = self.raw(*words)
            self.assertEqual(done.returncode, 125, done)
            self.assertIn(b"sbx-run: bad_flag: ", done.stderr, words)
        self.assertIn(b'"inputSchema"', self.raw("schema", "tool", "shell").stdout)

    def test_a_flag_that_may_stand_once_is_refused_twice(self):
        self.refuse("--timeout", "5s", "--timeout", "6s", *self.COMMAND, where="--timeout")

    def test_switches_take_no_value(self):
        for flag in ("--merge=5", "--allow-degraded=false", "--overlay=no"):
            with self.subTest(flag=flag):
                self.refuse(flag, *self.COMMAND)

    def test_an_unknown_flag_names_the_nearest(self):
        error = self.refuse("--timeuot", "5s", *self.COMMAND, where="--timeuot")
        self.assertIn("--timeout", error["hint"])
        error = self.refuse("--memroy=5M", *self.COMMAND, where="--memroy")
        self.assertIn("--memory", error["hint"])
        self.refuse("--xyzzyxyzzy", *self.COMMAND, where="--xyzzyxyzzy")

    def test_a_program_without_the_two_dashes_is_refused(self):
        error = self.refuse("touch", "ran", where="touch")
        self.assertIn("--", error["hint"])

    def test_command_and_program_exclude_each_other(self):
        self.refuse("-c", "touch ran", "--", "touch", "ran", where="-c")
        self.refuse("--merge", where="-c")
        self.refuse("--", where="-c")

    def test_a_missing_command_is_asked_for_by_the_own_verb(self):
        for verb in ("exec", "start", "check"):
            self.assertIn(f"sbx-run {verb} -c COMMAND", self.raw(verb).stderr.decode())

    def test_a_missing_or_unknown_word_names_what_there_is(self):
        for verb, where, named in (("layer", "action", "checkpoint"), ("profile", "action", "grant"),
                                   ("cache", "action", "clear"), ("schema", "schema", "managed"),
                                   ("tool", "name", "bash_exec"), ("call", "method", "attach")):
            said = self.raw(verb).stderr.decode()
            self.assertRegex(said, rf"{where} is required \[{where}\] \(one of .*{named}")
        self.assertIn("such as: sbx-run kill", self.raw("kill").stderr.decode())
        self.refuse("help", "nosuch", where="nosuch")

    def test_paths_that_cannot_be_shown(self):
        for flag in ("--ro", "--rw", "--hide"):
            with self.subTest(flag=flag):
                self.refuse(flag, "relative", *self.COMMAND, code="path_not_found", where=flag)
                self.refuse(flag, "../up", *self.COMMAND, code="path_refused", where=flag)
                self.refuse(flag, "/usr/../etc", *self.COMMAND, code="path_refused", where=flag)
                missing = os.path.join(self.base, "missing")
                self.refuse(flag, missing, *self.COMMAND, code="path_not_found", where=flag)
                self.assertFalse(os.path.exists(missing))
                for path in ("/proc", "/proc/self/fd", "/dev", "/dev/pts", "/dev/shm"):
                    self.refuse(flag, path, *self.COMMAND, code="path_refused", where=flag)
        fifo, link = os.path.join(self.base, "fifo"), os.path.join(self.base, "link")
        os.mkfifo(fifo)
        os.symlink(self.work, link)
        for path in (fifo, link):
            for flag in ("--ro", "--rw"):
                self.refuse(flag, path, *self.COMMAND, code="path_refused", where=flag)
            self.assertEqual(self.out("echo ran", "--hide", path), "ran\n")
        self.refuse("--workspace", "/nonexistent", *self.COMMAND, code="path_not_found", where="--workspace")
        self.refuse("--cwd", "/nonexistent", *self.COMMAND, code="cwd_not_visible", where="--cwd")
        self.refuse("--cwd", "/sys", *self.COMMAND, code="cwd_not_visible", where="--cwd")
        self.refuse("--stdin", "/nonexistent", *self.COMMAND, code="path_not_found", where="--stdin")
        for path in (self.base, self.listening()):
            self.refuse("--stdin", path, *self.COMMAND, code="path_refused", where="--stdin")

    def listening(self):
        path = os.path.join(self.base, "socket")
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(path)
        return path

    def test_stdin_may_come_from_whatever_can_be_read(self):
        fifo = os.path.join(self.base, "fifo")
        os.mkfifo(fifo)
        process = subprocess.Popen([harness.SBX_RUN, "--stdin", fifo, "--", "cat"], cwd=self.work,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.addCleanup(self.end, process)
        with open(fifo, "w") as writer:  # waits for its reader
            writer.write("late\n")
        answer = json.loads(process.communicate(timeout=harness.BOUND)[0])
        self.assertEqual((answer["status"], answer["stdout"]), ("exited", "late\n"), answer)
        self.assertEqual(self.out("head -c 3 | wc -c", "--stdin", "/dev/zero"), "3\n")
        self.assertEqual(self.out("wc -c", "--stdin", "/dev/null"), "0\n")
        for name in ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
            self.assertEqual(self.out("cat", "--stdin", name, stdin=None, input=b"given\n"), "given\n", name)
        read_end, write_end = os.pipe()
        self.addCleanup(os.close, read_end)
        os.write(write_end, b"by number\n")
        os.close(write_end)
        self.assertEqual(self.out("cat", "--stdin", f"/dev/fd/{read_end}", pass_fds=[read_end]), "by number\n")

    def test_a_fifo_that_nobody_writes_to_hangs_nobody(self):
        fifo = os.path.join(self.base, "fifo")
        os.mkfifo(fifo)
        answer = self.run_json("--timeout", "100ms", "--stdin", fifo, *self.COMMAND)
        self.assert_error(answer, "path_refused")
        self.assertEqual(answer["error"]["where"], "--stdin")
        for end in (signal.SIGTERM, signal.SIGQUIT):
            process = subprocess.Popen([harness.SBX_RUN, "--stdin", fifo, "--", "cat"], cwd=self.work,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            self.addCleanup(self.end, process)
            # It waits once it has opened the FIFO: only then does one open for writing not fail.
            self.assertTrue(harness.until(lambda: self.has_reader(fifo)))
            process.send_signal(end)
            answer = json.loads(process.communicate(timeout=harness.BOUND)[0])
            self.assertEqual((answer["status"], answer["error"]["code"]), ("cancelled", "cancelled"), answer)
            self.assertEqual(process.returncode, 128 + end)

    @staticmethod
    def has_reader(fifo):
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if any(os.readlink(f"/proc/{pid}/fd/{fd}") == fifo for fd in os.listdir(f"/proc/{pid}/fd")):
                    return True
            except OSError:
                continue
        return False

    def test_what_is_required_by_name_is_not_given_up_for_another_flag(self):
        for flags in (("--net", "open", "--require", "net"), ("--profile", "unconfined", "--require", "seccomp")):
            self.refuse(*flags, *self.COMMAND, code="layer_unavailable", where="/isolation/require")

    def test_profiles_that_do_not_exist(self):
        self.refuse("--profile", "nope", *self.COMMAND, code="profile_not_found", where="--profile")
        self.refuse(*self.COMMAND, code="profile_not_found", where="SBX_PROFILE", env={"SBX_PROFILE": "nope"})

    def test_an_owner_that_does_not_run(self):
        self.refuse("--owner-pid", "4194000", *self.COMMAND, where="--owner-pid")

    def test_variables_with_bad_values_are_named(self):
        for name, values in {
            "SBX_SCRUB_MODE": ("on", "OFF"),
            "SBX_FALLBACK": ("maybe",),
            "SBX_ALLOW_NETWORK": ("maybe",),
            "SBX_MAX_OUTPUT_KB": ("0", "-1", "1.5", "64K", "1048577"),
            "SBX_MAX_FILE_KB": ("0", "x"),
        }.items():
            for value in values:
                with self.subTest(name=name, value=value):
                    self.refuse(*self.COMMAND, env={name: value}, where=name)
        self.refuse(*self.COMMAND, code="path_refused", where="SBX_ALLOWED_ROOTS", env={"SBX_ALLOWED_ROOTS": "/usr,rel"})

    def test_control_bytes_of_bad_input_reach_no_terminal(self):
        self.refuse("--net", "\x1b[2Jx", *self.COMMAND, where="--net")
        self.assertNotIn(b"\x1b", self.last.stderr + self.last.stdout)

    def test_bad_words_of_other_verbs(self):
        for words in (("profile", "frob"), ("profile", "show"), ("schema", "frob"), ("explain", "--frob"),
                      ("doctor", "--frob"), ("version", "--frob"), ("profile",), ("schema",)):
            with self.subTest(words=words):
                self.refuse(*words)


class Values(harness.Case):
    """What a flag or a variable may hold."""

    def test_times_have_fractions_and_none(self):
        self.assertEqual(self.sh("sleep 60", "--timeout", "0.25s")["status"], "timed_out")
        self.assertEqual(self.out("echo on", "--timeout", "none"), "on\n")
        plan = json.loads(self.raw("explain", "--json", "--timeout", "none", "-c", "true").stdout)
        self.assertIsNone(plan["limits"].get("timeout_ms"), plan["limits"])
        for bad in ("0.5", ".5s", "0", "-1s", "0s"):
            self.assert_error(self.run_json("--timeout=" + bad, "--", "true"), "bad_flag")

    def test_contradictory_flags_are_an_error_that_names_both(self):
        for flags in (["--net", "none", "--allow-host", "a.test"],
                      ["--net", "open", "--host-port", "8080"],
                      ["--ro", "/usr/share", "--rw", "/usr/share/"],
                      ["--ro", self.work, "--hide", self.work],
                      ["--ro", os.path.join(self.work, "data"), "--rw", "data"],
                      ["--ro", "data", "--hide", "./data"],
                      ["--rw", "${workspace}/data", "--hide", os.path.join(self.work, "data")],
                      ["--ro", "data", "--hide", "data", "--workspace", "."],
                      ["--net", "open", "--upstream-proxy", "http://a.test:1"],
                      ["--net", "none", "--upstream-proxy", "http://a.test:1"]):
            error = self.run_json(*flags, "--", "true")["error"]
            self.assertEqual((error["code"], error["where"]), ("bad_flag", flags[0]), error)
            self.assertIn(flags[2], error["message"])
        for words, both in ((["exec", "--result-file", "a", "--result-fd", "3", "--", "true"], (b"--result-file", b"--result-fd")),
                            (["explain", "--json", "--html", "--", "true"], (b"--json", b"--html"))):
            done = self.raw(*words)
            self.assertEqual(done.returncode, 125, done)
            for flag in both:
                self.assertIn(flag, done.stderr)
        error = self.run_json("--overlay", "--layer", "a", "--", "true")["error"]
        self.assertEqual((error["code"], error["where"]), ("bad_flag", "--overlay"), error)
        for flags in (["--net", "allowlist", "--allow-host", "a.test"],
                      ["--ro", "/usr/share", "--ro", "/usr/share"],
                      ["--net", "none", "--host-port", "8080"]):
            self.assertEqual(self.run_json(*flags, "--", "true")["status"], "exited", flags)

    def test_the_help_names_what_stands_without_a_dash(self):
        for verb, word in (("status", "task_id"), ("profile", "action"), ("schema", "schema"), ("trust", "directory"),
                           ("report", "audit_log")):
            said = self.raw(verb, "--help").stdout.decode()
            self.assertRegex(said, f"\n +{word} ")
            self.assertNotRegex(said, f"{word} TEXT")

    def test_no_port_is_none_and_no_description_is_one(self):
        for flag, value in (("--publish", "0"), ("--publish", "80:0"), ("--host-port", "0"), ("--upstream-proxy", "a.test")):
            error = self.run_json(flag, value, "--", "true")["error"]
            self.assertEqual((error["code"], error["where"]), ("bad_flag", flag), error)
        self.assertEqual(self.run_json("--description", "", "--", "true")["status"], "exited")

    def test_a_command_line_that_is_a_flag_is_none(self):
        for flags in (["--net", "none"], ["--json"], ["--net=none"], ["-c", "true"]):
            error = self.run_json("-c", *flags)["error"]
            self.assertEqual((error["code"], error["message"]), ("bad_flag", "-c is given without its value"), error)
        self.assertEqual(self.run_json("-c", "--no-such")["status"], "exited")

    def test_a_tools_name_stands_for_its_profile(self):
        for name in ("bash", "bash_output", "kill_shell", "shell", "bash_exec", "execute_command", "code_execution"):
            answer = self.run_json("explain", "--json", "--profile", name)
            self.assertEqual(answer["profile"], "tool-" + name)
        answer = self.run_json("--profile", "shell", "--", "true")
        self.assertEqual(answer["sandbox"]["profile"], "tool-shell", answer["error"])

    def test_allowed_commands_may_have_spaces_and_must_not_be_empty(self):
        env = {**os.environ, "SBX_ALLOWED_CMDS": "echo , true"}
        self.assertEqual(self.sh("true && echo on", env=env)["stdout"], "on\n")
        self.assertEqual(self.sh("id", env=env)["status"], "denied")
        for empty in ("", " ", ","):
            env["SBX_ALLOWED_CMDS"] = empty
            self.assert_error(self.sh("true", env=env), "bad_flag")

    def test_an_answer_for_nobody_is_a_failure(self):
        self.write("work/tasks.jsonl", '{"id": "a", "command": "true"}\n')
        for words in (["--stream", "--", "true"], ["--format", "text", "-c", "echo a"], ["run", "--", "true"],
                      ["explain", "--", "true"], ["check", "-c", "true"], ["schema", "result"], ["--version"],
                      ["layer", "list"], ["profile", "list"], ["batch", "tasks.jsonl"], ["call", "list"]):
            done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", harness.SBX_RUN, *words], cwd=self.work,
                                  stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60)
            self.assertEqual(done.returncode, 125, (words, done.stderr))

    def test_nothing_hides_behind_a_nul_byte(self):
        done = self.raw("call", "run", input=b'{"command": "echo hi"}\0{"x":', stdin=None)
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"NUL", done.stderr)
        path = self.write("work/nul.json", '{"extends": "default"}\0{')
        self.assert_error(self.run_json("--profile", path, "--", "true"), "bad_json")

    def test_a_shipped_profiles_time_limit_does_not_count_for_exec(self):
        own = self.profile({"limits": {"timeout_ms": 300}})
        done = self.raw("exec", "--profile", own, "-c", "sleep 60")
        self.assertEqual(done.returncode, 124)
        result = os.path.join(self.base, "result")
        for profile in ("default", self.profile({"extends": "default"}, "inherits.json")):
            self.raw("exec", "--profile", profile, "--result-file", result, "-c", "true")
            with open(result) as file:
                self.assertNotIn("timeout", json.load(file)["sandbox"]["limits"], profile)


class Verbs(harness.Case):
    """The verbs that run nothing, and the profiles that are shipped."""

    def text(self, *arguments):
        done = self.raw(*arguments)
        self.assertEqual((done.returncode, done.stderr), (0, b""), done)
        return done.stdout.decode()

    def verbs(self):
        hint = self.run_json("help", "no-such-verb")["error"]["hint"]
        names = hint.removeprefix("one of ").split(", ")
        self.assertGreater(len(names), 30)
        return names

    def test_every_verb_has_help(self):
        self.assertIn("--help", self.text("--help"))
        for verb in self.verbs():
            with self.subTest(verb=verb):
                said = self.text("help", verb)
                self.assertIn("--help", said)
                self.assertIn("\nExample:\n", said)
                self.assertEqual(self.text(verb, "--help"), said)

    def test_every_verb_complains_in_one_line(self):
        for verb in self.verbs():
            with self.subTest(verb=verb):
                done = self.raw(verb, "--no-such-flag")
                self.assertEqual(done.returncode, 125)
                self.assertRegex(done.stderr, rb"^sbx-run: bad_flag: [^\n]+ \([^\n]+\)\n$")

    @unittest.skipUnless(harness.is_root(), "chroot(2) needs privilege")
    def test_doctor_knows_a_chroot_whose_directory_is_a_mount_point(self):
        root = os.path.join(self.base, "root")
        os.mkdir(root)
        done = subprocess.run(
            ["unshare", "-m", "-p", "-f", "--mount-proc", "sh", "-ec",
             f"mount -t tmpfs none {root}; cd {root}; : > .dockerenv; mkdir usr proc; ln -s usr/bin usr/lib usr/lib64 .;"
             f" cp {harness.SBX_RUN} sbx-run; mount --rbind /usr usr; mount --rbind /proc proc;"
             " chroot . /sbx-run doctor --json || test $? = 1"],
            capture_output=True, check=False)
        self.assertEqual(json.loads(done.stdout)["surroundings"]["kind"], "chroot", done)

    def test_version_and_doctor_answer_as_text_and_json(self):
        self.assertTrue(self.text("--version").startswith("sbx-run "))
        version = json.loads(self.text("--version", "--json"))
        self.assertIn("libraries", version)
        features = version["features"]
        self.assertEqual(len(features), len(set(features)))
        for name in ("run", "batch", "learn", "trust", "layers", "credentials", "terminals", "kept_shell"):
            self.assertIn(name, features)
        self.assertTrue(self.text("doctor"))
        said = json.loads(self.text("doctor", "--json"))["limits"]
        # In the words of the results.
        limits = self.sh("true", "--cpu-time", "5s", "--file-size", "1M")["sandbox"]["limits"]
        self.assertEqual(said, limits)

    def test_explain_runs_nothing_and_shows_the_view_as_a_tree(self):
        text = self.text("explain", "--ro", self.base, "-c", "touch ran")
        self.assertEqual(os.listdir(self.work), [])
        lines = text.splitlines()
        outer = next(line for line in lines if line.endswith(os.path.basename(self.base)))
        inner = next(line for line in lines if line.endswith("work") and line.strip().startswith("rw"))
        self.assertIn("ro ", outer)
        # The deeper path stands further in.
        self.assertGreater(inner.index("/"), outer.index("/"))
        document = json.loads(self.text("explain", "--json", "--", "touch", "ran"))
        self.assertEqual(document["argv"], ["touch", "ran"])
        self.assertIn({"path": self.work, "access": "rw"}, document["mounts"])
        self.assertEqual(os.listdir(self.work), [])

    def test_profiles_can_be_listed_shown_and_validated(self):
        names = [entry["name"] for entry in json.loads(self.text("profile", "list", "--json"))]
        for name in names:
            with self.subTest(name=name):
                shown = self.text("profile", "show", name)
                self.assertNotIn("extends", json.loads(shown))
                path = self.write(f"{name}.json", shown)
                self.assertEqual(json.loads(self.text("profile", "validate", path))["valid"], True)
        bad = self.write("bad.json", '{"name": "bad", "limits": {"pids": -1}, "nmae": 1}')
        done = self.raw("profile", "validate", bad)
        answer = json.loads(done.stdout)
        self.assertEqual((done.returncode, answer["valid"]), (125, False))
        self.assertTrue(answer["errors"])

    def test_validate_says_what_every_run_would(self):
        rules = {"mode": "allowlist", "allow": ["a.test:443"]}
        credential = {"name": "TOKEN", "host": "a.test:443", "header": "Authorization", "from": {"env": "T"}}
        for document, where in (
            ({"network": {"mode": "none", "http": [{"host": "a.test:443"}]}}, "/network/http"),
            ({"network": {**rules, "http": [{"host": "b.test:443"}]}}, "/network/http/0/host"),
            ({"network": {**rules, "allow": ["127.0.0.1:8080"], "host_ports": [8080],
                          "http": [{"host": "127.0.0.1:8080"}]}}, "/network/http/0/host"),
            *(({"network": {**rules, "http": [{"host": "a.test", **rule}]}}, "/network/http/0/" + where)
              for rule, where in (({"methods": []}, "methods"), ({"paths": []}, "paths"),
                                  ({"methods": ["GET", "CONNECT"]}, "methods/1"), ({"methods": ["TRACE"]}, "methods/0"),
                                  ({"paths": ["/a/../b"]}, "paths/0"), ({"paths": ["/a//b"]}, "paths/0"),
                                  ({"paths": ["/a/", "/a/."]}, "paths/1"),
                                  *(({"paths": ["/a%2eb/%c3%a4/%20", path]}, "paths/1") for path in (
                                      "/a/%2e%2E/b", "/a/..%2f", "/a%", "/%zz", "/%00", "/%5c", "/%ff")))),
            ({"network": {**rules, "credentials": [{**credential, "header": "Accept_Encoding"}]}}, "/network/credentials/0/header"),
            ({"network": {**rules, "credentials": [{**credential, "header": "Host"}]}}, "/network/credentials/0/header"),
            ({"network": {**rules, "credentials": [{**credential, "value": "${secret} "}]}}, "/network/credentials/0/value"),
            ({"network": {**rules, "credentials": [{"name": "TOKEN", "host": "a.test:443", "basic": "a\nb", "from": {"env": "T"}}]}},
             "/network/credentials/0/basic"),
            *(({"network": {**rules, "credentials": [{**credential, "name": name}]}}, "/network/credentials/0/name")
              for name in ("PATH", "GIT_SSL_CAINFO", "SSL_CERT_FILE", "http_proxy", "ALL_PROXY", "JAVA_TOOL_OPTIONS",
                           "SBX_PROFILE")),
            ({"network": {**rules, "credentials": [credential, credential]}}, "/network/credentials/1/name"),
            ({"caches": {"a": {"path": "~/x"}, "b": {"path": "~/x/y"}}}, "/caches/b/path"),
            *(({"network": {**rules, "http": [{"host": "a.test", "methods": ["GET", name]}]}}, "/network/http/0/methods/1")
              for name in ("get", "Post")),
            *(({"network": {**rules, "credentials": [{"name": "TOKEN", "host": "a.test:443", "query": name, "from": {"env": "T"}}]}},
               "/network/credentials/0/query") for name in ("a&b", "a#b", "a%b", "a+b")),
            *(({"commands": {"ask": ["rm", name]}}, "/commands/ask/1")
              for name in ("destructiv", "destructive.rm-outside", "Destructive")),
            *(({"filesystem": {key: [{"path": "/srv/a", "access": "none"}, {"path": "/srv", "optional": True},
                                     {"path": other, "access": "rw"}]}}, f"/filesystem/{key}/2/path")
              for key in ("roots", "+roots") for other in ("/srv/a", "/srv/a/", "//srv/./a")),
        ):
            with self.subTest(where=where):
                path = self.profile(document)
                told = json.loads(self.raw("profile", "validate", path).stdout)
                self.assertEqual((told["valid"], [error["where"] for error in told["errors"]]), (False, [where]))
                answer = self.sh("true", "--profile", path)
                self.assertEqual(answer["error"]["where"], where, answer)

    def test_what_validate_calls_valid_can_be_run(self):
        for document, where in (({"seccomp": {"allow": ["opne"]}}, "/seccomp/allow/0"),
                                ({"seccomp": {"deny": ["read", "no_such"]}}, "/seccomp/deny/1"),
                                ({"output": {"patterns": ["ok", "(broken"]}}, "/output/patterns/1")):
            with self.subTest(where=where):
                path = self.write("unusable.json", json.dumps(document))
                done = self.raw("profile", "validate", path)
                self.assertEqual(done.returncode, 125)
                self.assertEqual([error["where"] for error in json.loads(done.stdout)["errors"]], [where])
                self.assertEqual(self.run_json("--profile", path, "--", "true")["error"]["where"], where)

    def test_an_overlay_without_mounts_is_not_valid(self):
        path = self.profile({"filesystem": {"overlay": True},
                             "isolation": {"namespaces": ["user", "pid", "net"], "require": []}})
        errors = json.loads(self.raw("profile", "validate", path).stdout)["errors"]
        self.assertEqual([error["where"] for error in errors], ["/filesystem/overlay"])
        self.assert_error(self.run_json("--profile", path, "--", "true"), "layer_unavailable")

    def test_no_overlay_lies_over_a_writable_host(self):
        path = self.profile({"filesystem": {"base": "host", "roots": [{"path": "/", "access": "rw"}]}})
        self.assert_error(self.sh("true", "--overlay", "--profile", path), "path_refused")

    def test_every_shipped_profile_runs_or_explains_or_says_why_not(self):
        names = [entry["name"] for entry in json.loads(self.text("profile", "list", "--json"))]
        for name in ("default", "readonly", "strict", "build", "network", "unconfined"):
            self.assertIn(name, names)
            with self.subTest(profile=name):
                answer = self.sh("true", "--profile", name)
                self.assertEqual((answer["status"], answer["exit_code"]), ("exited", 0), answer)
                self.assertEqual(answer["sandbox"]["profile"], name)
        for name in (name for name in names if name.startswith("tool-")):
            with self.subTest(profile=name):
                done = self.raw("explain", "--json", "--profile", name)
                document = json.loads(done.stdout)
                if done.returncode == 0:
                    self.assertEqual(document["profile"], name)
                else:
                    self.assert_error(document, "unsupported")

    def test_unconfined_says_so(self):
        answer = self.sh("true", "--profile", "unconfined")
        self.assertIn("unconfined", answer["warnings"][0])
        self.assertEqual(answer["warnings"], answer["sandbox"]["warnings"])

    def test_errors_lists_each_code_once(self):
        codes = [entry["code"] for entry in json.loads(self.text("schema", "errors"))]
        self.assertEqual(len(codes), len(set(codes)))
        self.assertIn("layer_unavailable", codes)

    @unittest.skipIf(jsonschema is None, "python3-jsonschema is not installed")
    def test_real_answers_match_the_result_schema(self):
        schema = json.loads(self.text("schema", "result"))
        jsonschema.Draft7Validator.check_schema(schema)
        exact = self.profile({"output": {"exact_bytes": True}}, "exact.json")
        for arguments in (
            ("-c", "echo x"), ("-c", "kill -9 $$"), ("--timeout", "100ms", "-c", "sleep 9"),
            ("--nonsense",), ("--", "no-such-program"), ("--max-output", "1K", "-c", "seq 10000"),
            ("--file-size", "1K", "-c", "exec head -c 4K /dev/zero > f"), ("-c", "mount -t tmpfs x /tmp"),
            ("--overlay", "-c", "touch made"), ("--profile", "unconfined", "-c", "true"),
            ("--profile", "network", "-c", "true"), ("--profile", exact, "-c", "printf '\\377'"),
            ("--merge", "--description", "why", "--", "echo", "a b"), ("--profile", "nope", "-c", "x"),
        ):
            with self.subTest(arguments=arguments):
                jsonschema.validate(self.run_json(*arguments), schema, cls=jsonschema.Draft7Validator)

    @unittest.skipIf(jsonschema is None, "python3-jsonschema is not installed")
    def test_lines_of_batch_match_the_schemas(self):
        lines = [{"id": "a", "command": "echo x"}, {"id": "b", "command": "true", "shell": "kept"}]
        schema = json.loads(self.text("schema", "request"))
        for line in lines:
            jsonschema.validate(line, schema, cls=jsonschema.Draft7Validator)
        jsonschema.validate({"command": "true", "follow": True, "pty": True}, schema, cls=jsonschema.Draft7Validator)
        fits = jsonschema.Draft7Validator(schema).is_valid
        def fits_file(**file):
            return fits({"argv": ["true"], "command": None, "files": [{"path": "a", **file}]})
        self.assertFalse(fits({}) or fits({"command": None}) or fits({"command": "true", "argv": ["true"]}))
        self.assertTrue(fits_file(content="") and fits_file(content=None, content_base64="", mode="755"))
        self.assertFalse(fits_file() or fits_file(content=None) or fits_file(content="", content_base64=""))
        text = "\n".join(json.dumps(line) for line in lines) + "\nnonsense\n"
        done = self.raw("batch", stdin=None, input=text.encode())
        schema = json.loads(self.text("schema", "result"))
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual({answer["id"]: answer.get("line") for answer in answers}, {"a": None, "b": None, None: 3}, done)
        for answer in answers:
            jsonschema.validate(answer, schema, cls=jsonschema.Draft7Validator)

    def test_commands_arrive_as_they_are_written(self):
        for command in ("[ 1 = 1 ] && echo yes", "echo yes # {a,b}", "--version; echo yes", "'[' a = a ']' && echo yes",
                        "echo \"yes\"", "[a,b]; echo yes"):
            with self.subTest(command=command):
                answer = self.sh(command)
                self.assertEqual((answer["argv"][0], answer["argv"][-1]), ("bash", command))
                self.assertTrue(answer["stdout"].endswith("yes\n"), answer)


if __name__ == "__main__":
    unittest.main()
