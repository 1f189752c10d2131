# SPDX-License-Identifier: Apache-2.0
"""The managed policy, in a mount namespace of the test's own with a directory bound over /etc/sbx.

The caller is root there, of the machine or of its own user namespace: the files are root's."""

import hashlib
import json
import os
import re
import shlex
import subprocess
import unittest

import harness

BWRAP = os.path.join(os.path.dirname(harness.SBX_RUN), "sbx-bwrap")
LIBRARY = os.path.join(os.path.dirname(os.path.dirname(harness.SBX_RUN)), "lib")


class ManagedCase(harness.Case):
    def setUp(self):
        super().setUp()
        self.etc = os.path.join(self.base, "etc-sbx")
        os.makedirs(self.etc + "/managed.d")
        self.home = os.path.join(self.base, "home")
        os.mkdir(self.home)

    def managed(self, document, name="site.json", mode=0o644):
        text = document if isinstance(document, str) else json.dumps(document)
        return self.write(f"etc-sbx/managed.d/{name}", text, mode)

    def within(self, argv, before="true", **options):
        """Runs argv as root of a namespace where /etc/sbx is what the test wrote."""
        there = "/etc/sbx"
        if not os.path.isdir(there):
            # The name cannot be made on the machine: /etc is a copy of its names.
            place = shlex.quote(self.base + "/etc")
            make = (f"mkdir -p {place} && mount -t tmpfs none {place} && cp -a /etc/. {place}/ "
                    f"2>/dev/null; mkdir -p {place}/sbx; mount --rbind {place} /etc && ")
        else:
            make = ""
        script = (make + f"mount --bind {shlex.quote(self.etc)} {there} && {before} && exec \"$@\"")
        env = {k: v for k, v in os.environ.items()
               if not k.startswith("SBX_") or k.startswith("SBX_TEST")}
        options.setdefault("env", {**env, "HOME": self.home})
        options.setdefault("cwd", self.work)
        return subprocess.run([*harness.OWN_MOUNTS, "sh", "-c", script, "sh", *argv],
                              stdin=options.pop("stdin", subprocess.DEVNULL), capture_output=True,
                              timeout=harness.BOUND, check=False, **options)

    def answer(self, *arguments, **options):
        done = self.within([harness.SBX_RUN, *arguments], **options)
        try:
            return json.loads(done.stdout)
        except ValueError:
            self.fail(f"no JSON: {done}")

    def fine(self, *arguments, **options):
        answer = self.answer(*arguments, **options)
        self.assertEqual((answer["status"], answer["exit_code"]), ("exited", 0), answer)
        return answer

    def refused(self, words, *arguments, **options):
        answer = self.answer(*arguments, **options)
        self.assert_error(answer, "managed_policy")
        self.assertIn(words, answer["error"]["message"])
        return answer

    def said(self, answer, *words):
        lines = [line for line in answer["sandbox"]["warnings"] if "/etc/sbx/managed.d" in line]
        for word in words:
            self.assertTrue(any(word in line for line in lines), (word, answer))

class WithoutHome(ManagedCase):
    def test_a_run_makes_nothing_of_the_machines(self):
        env = {**os.environ, "HOME": "relative"}
        for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
            env.pop(name, None)
        self.fine("--rw", "/etc", "-c", "true", env=env)
        self.assertEqual(os.listdir(self.etc), ["managed.d"])


class PageTest(ManagedCase):
    """docs/policy.md, step by step."""

    def setUp(self):
        super().setUp()
        with open(os.path.join(harness.SOURCE, "docs/policy.md"), encoding="utf-8") as file:
            self.page = file.read()

    def test_each_step_does_what_the_page_says(self):
        steps = re.findall(r"```sh\n(.*?)```", self.page, re.DOTALL)
        self.assertEqual(len(steps), 4)
        os.mkdir(self.base + "/bin")
        os.symlink(harness.SBX_RUN, self.base + "/bin/sbx-run")
        env = {"HOME": self.home, "PATH": self.base + "/bin:/usr/bin:/bin:/usr/sbin:/sbin"}

        def shell(text, cwd):
            done = subprocess.run(["bash", "-ec", text], cwd=cwd, env=env, capture_output=True,
                                  text=True, stdin=subprocess.DEVNULL, timeout=harness.BOUND,
                                  check=False)
            self.assertEqual(done.returncode, 0, done)
            return done.stdout

        project = self.work + "/project"
        shell(steps[0], self.work)
        grants = json.load(open(project + "/result.json"))["denials"]
        self.assertTrue(any("data/greeting" in denial["grant"] for denial in grants), grants)
        shown = shell(steps[1], project)
        self.assertEqual(shown.count("greeting"), 2, shown)
        self.assertIn('"valid":true', shown)
        answer = json.loads(shell(steps[2], project).splitlines()[-1])
        self.assertEqual(answer["stdout"], "hello\n")
        answer = json.loads(shell(steps[3], project).splitlines()[-1])
        self.assertEqual((answer["stdout"], answer["sandbox"]["profile"]), ("hello\n", "project"))
        (site,) = re.findall(r"```json\n(.*?)```", self.page, re.DOTALL)
        log = self.base + "/log.jsonl"
        self.managed(site.replace("/var/log/sbx/audit.jsonl", log))
        answer = self.fine("--net", "outbound", "--", "true")
        self.assertEqual([mark["path"] for mark in answer["sandbox"]["managed"]],
                         ["/etc/sbx/managed.d/site.json"])
        self.said(answer, "network.mode", "limits.memory_mb", self.work + " lowered")
        self.assertEqual(len(open(log).readlines()), 1)
        self.refused("forbidden", "--profile", "unconfined", "--", "true")

    def test_names_every_place_of_secrets_and_every_key(self):
        with open(os.path.join(harness.SOURCE, "learn/secrets.cc"), encoding="utf-8") as file:
            table = file.read().split("kSecrets = ")[1].split("});")[0]
        for place in re.findall(r'{"([~/][^"]*)"', table):
            self.assertIn(f"`{place}`", self.page)
        schema = json.loads(self.within([harness.SBX_RUN, "schema", "managed"]).stdout)
        for key in schema["properties"]:
            if key not in ("$schema", "name", "description", "limits"):
                self.assertIn(f"`{key}.", self.page)


class ManagedTest(ManagedCase):
    def test_without_files_nothing_changes(self):
        self.assertIsNone(self.fine("--", "true")["sandbox"]["managed"])

    def test_is_named_with_its_digest_everywhere(self):
        path = self.managed({"name": "site", "limits": {"pids": 100}})
        mark = {"path": "/etc/sbx/managed.d/site.json",
                "sha256": hashlib.sha256(open(path, "rb").read()).hexdigest()}
        log = os.path.join(self.base, "log.jsonl")
        self.assertEqual(self.fine("--audit", log, "--", "true")["sandbox"]["managed"], [mark])
        self.assertEqual(json.loads(open(log).read())["managed"], [mark])
        self.assertEqual(self.answer("explain", "--json")["managed"], [mark])
        self.assertIn(mark["sha256"], self.within([harness.SBX_RUN, "explain"]).stdout.decode())
        self.assertEqual(self.answer("doctor", "--json")["managed"], [{**mark, "name": "site"}])
        denied = self.answer("-c", "sudo true")
        self.assertEqual((denied["status"], denied["sandbox"]["managed"]), ("denied", [mark]))

    def test_what_is_wrong_stops_every_run_and_says_so_once(self):
        path = self.managed({"limits": {"pids": 100}})
        place = "/etc/sbx/managed.d"
        cases = [("others than root may write it", f"chmod 666 {place}/site.json"),
                 ("others than root may write it", f"chmod 777 {place}"),
                 ("others than root may write it", "chmod 775 /etc/sbx"),
                 ("not a regular file", f"rm {place}/site.json; mkfifo {place}/site.json"),
                 ("symbolic links", f"rm {place}/site.json; ln -s /etc/passwd {place}/site.json"),
                 ("/limits/pids", f"echo '{{\"limits\": {{\"pids\": -1}}}}' > {place}/site.json"),
                 ("/limit", f"echo '{{\"limit\": {{}}}}' > {place}/site.json"),
                 ("site.json", f"echo '{{' > {place}/site.json"),
                 ("there twice", f"echo '{{\"filesystem\": {{\"max\": [{{\"path\": \"/a\", \"access\": "
                                 f"\"ro\"}}, {{\"path\": \"/a/\", \"access\": \"rw\"}}]}}}}' "
                                 f"> {place}/site.json")]
        if harness.is_root():
            cases.append(("it belongs to user 12345", f"chown 12345 {place}/site.json"))
            cases.append(("it belongs to user 12345", f"chown 12345 {place}"))
        for words, spoil in cases:
            with self.subTest(words=words, spoil=spoil):
                subprocess.run(["rm", "-rf", path], check=True)
                os.chmod(self.etc, 0o755)
                os.chmod(self.etc + "/managed.d", 0o755)
                if harness.is_root():
                    os.chown(self.etc + "/managed.d", 0, 0)
                self.managed({"limits": {"pids": 100}})
                for verb in (["--"], ["exec", "--"], ["explain", "--json", "--"], ["check", "-c"]):
                    done = self.within([harness.SBX_RUN, *verb, "true"], before=spoil)
                    self.assertEqual(done.returncode, 125, (verb, done))
                    self.assertEqual(done.stderr.count(b"\n"), 1, done)
                    self.assertIn(b"managed_policy", done.stderr)
                    self.assertIn(words.encode(), done.stderr)
                done = self.within([BWRAP, "--ro-bind", "/", "/", "true"], before=spoil)
                self.assertEqual((done.returncode, words.encode() in done.stderr), (1, True), done)
                for still in (["--version"], ["--help"], ["schema", "managed"]):
                    self.assertEqual(self.within([harness.SBX_RUN, *still], before=spoil).returncode, 0)
                doctor = self.within([harness.SBX_RUN, "doctor", "--json"], before=spoil)
                self.assertIn(words, json.loads(doctor.stdout)["managed_error"])

    def test_paths_are_shown_as_the_most_that_they_may_be(self):
        shared = self.base + "/shared"
        self.write("shared/a", "a")
        self.write("shared/secret/key", "s")
        self.write("shared/free/b", "b")
        os.symlink(shared, self.base + "/link")
        self.managed({"filesystem": {"max": [{"path": shared, "access": "ro"},
                                             {"path": shared + "/secret", "access": "none"},
                                             {"path": shared + "/free", "access": "rw"},
                                             {"path": shared + "/later", "access": "none"}]}})
        script = (f"cd {shared}; cat a free/b; cat secret/key; echo x > a; echo x > new; echo x > "
                  "free/new; ls secret; echo x > later; true")
        for flags in (("--rw", shared), ("--rw", self.base), ("--rw", self.base + "/link/free",
                                                              "--ro", shared)):
            with self.subTest(flags=flags):
                answer = self.fine(*flags, "-c", script)
                self.assertEqual(answer["stdout"], "ab", answer)
                self.assertEqual(open(shared + "/a").read(), "a")
                self.assertTrue(os.path.exists(shared + "/free/new"), answer)
                self.assertFalse(os.path.exists(shared + "/new"))
                self.assertFalse(os.path.exists(shared + "/later"))
                os.remove(shared + "/free/new")
        said = self.fine("--rw", shared, "--", "true")
        self.said(said, shared + " lowered from rw to ro")
        self.assertNotIn("/free made read-only", str(said["sandbox"]["warnings"]))
        # What none names is free; files intersect.
        self.managed({"filesystem": {"max": [{"path": shared + "/free", "access": "ro"}]}}, "zz.json")
        self.fine("--rw", shared, "-c", f"cat {shared}/free/b; ! touch {shared}/free/new")

    def test_what_is_missing_cannot_be_made_in_a_writable_root(self):
        """Nor by a request's files."""
        self.managed({"filesystem": {"max": [{"path": self.work + "/.ssh", "access": "ro"},
                                             {"path": self.work + "/.key", "access": "none"}]}})
        self.fine("-c", "mkdir t; touch t/a; for n in .ssh .key; do mv t $n; mkdir $n; echo x > $n; echo x > $n/a; "
                  "ln -s t $n; [ -e $n/a ] && exit 1; done; [ -e t/a ]")
        self.assertEqual(os.listdir(self.work), ["t"])
        for name in (".ssh", ".key"):
            request = json.dumps({"command": "true", "files": [{"path": name + "/a", "content": "x"}]}).encode()
            done = self.within([harness.SBX_RUN, "call", "run"], stdin=None, input=request)
            self.assertEqual(json.loads(done.stdout)["error"]["code"], "path_refused", done)
        self.assertEqual(os.listdir(self.work), ["t"])

    def test_a_symlink_is_held_for_what_it_leads_to(self):
        real = os.path.dirname(self.write("real/file", "x"))
        os.symlink(real, self.base + "/name")
        self.managed({"filesystem": {"max": [{"path": self.base + "/name", "access": "none"}]}})
        self.fine("--ro", self.base, "-c", f"! cat {real}/file")

    def test_a_symlink_on_the_way_is_followed_and_stops_nothing(self):
        for path in ("/bin/less", "/var/run/lock", "/var/run/sbxno", "/var/run/sbxno/deep"):
            self.managed({"filesystem": {"max": [{"path": path, "access": "none"}]}})
            for profile in ("default", "readonly"):
                answer = self.fine("--profile", profile, "-c", f"cat {path}/. /bin/less | wc -c")
                self.assertEqual(answer["stdout"] == "0\n", path == "/bin/less", answer)
        os.makedirs(self.base + "/real")
        os.symlink(self.base + "/real", self.work + "/link")
        self.managed({"filesystem": {"max": [{"path": self.work + "/link/no", "access": "none"}]}})
        self.fine("--rw", self.base + "/real", "-c", f"! mkdir {self.base}/real/no && mkdir {self.base}/real/yes")

    def test_the_system_is_narrowed_too(self):
        self.managed({"filesystem": {"max": [{"path": "/usr/share", "access": "none"},
                                             {"path": "/etc/passwd", "access": "none"}]}})
        for profile in ("default", "readonly"):
            answer = self.fine("--profile", profile, "-c", "ls /usr/share; ls /usr/bin | head -1")
            self.assertEqual(answer["stdout"].count("\n"), 1, answer)
        host = self.profile({"filesystem": {"base": "host"}})
        answer = self.fine("--profile", host, "-c", "ls /usr/share; cat /etc/passwd; true")
        self.assertEqual(answer["stdout"], "", answer)

    def test_a_path_that_the_caller_may_not_look_at_stops_nothing(self):
        self.managed({"filesystem": {"max": [{"path": "/root/.missing", "access": "none"}]}})
        self.fine("--ro", "/", "--", "true")

    def test_a_hidden_workspace_is_an_error(self):
        self.managed({"filesystem": {"max": [{"path": self.base, "access": "none"}]}})
        self.refused("is hidden by /etc/sbx/managed.d/site.json", "--", "true")

    def test_forbidden_profiles_count_along_the_chain(self):
        self.managed({"profiles": {"forbid": ["unconfined", "docker"]}})
        own = self.write("own.json", '{"extends": "./middle.json"}')
        self.write("middle.json", '{"extends": "unconfined"}')
        for flags in (["--profile", "unconfined"], ["--profile", own], ["--with", "docker"]):
            self.refused("is forbidden by /etc/sbx/managed.d/site.json", *flags, "--", "true")
        self.fine("--profile", "strict", "--", "true")
        done = self.within([harness.SBX_RUN, "exec", "--profile", "unconfined", "--", "true"])
        self.assertEqual(done.returncode, 125)
        self.managed({"profiles": {"forbid": [self.base + "/middle.json"]}})
        self.write("work/heir.json", '{"extends": "../middle.json"}')
        os.symlink("../middle.json", self.work + "/soft.json")
        os.link(self.base + "/middle.json", self.work + "/hard.json")
        for flag, name in [("--profile", "../middle.json"), ("--with", "../work/../middle.json"),
                           ("--profile", "./soft.json"), ("--profile", "hard.json"),
                           ("--profile", "heir.json")]:
            self.refused("is forbidden by", flag, name, "--", "true")

    def test_a_forbidden_preset_forbids_what_ships_with_it(self):
        self.managed({"profiles": {"forbid": ["agent-settings"]}})
        for flags in ([], ["--profile", "default"], ["--profile", "strict"], ["--with", "git"]):
            self.refused("the profile agent-settings is forbidden by", *flags, "--", "true")

    def test_a_forbidden_default_does_not_run_and_doctor_says_so(self):
        self.managed({"profiles": {"forbid": ["default"]}})
        self.assertIs(self.answer("doctor", "--json")["default_profile_runs"], False)
        text = self.within([harness.SBX_RUN, "doctor"]).stdout.decode()
        self.assertIn("the profile default is forbidden by /etc/sbx/managed.d/site.json", text)

    def test_a_time_limit_is_each_calls_of_a_kept_shell_and_not_the_shells(self):
        self.managed({"limits": {"timeout_ms": 1500}})
        calls = [{"command": "X=1"}, {"command": "sleep 30"}, {"command": "echo $X"}]
        requests = "".join(json.dumps({"jsonrpc": "2.0", "id": i, "method": "run",
                                       "params": {**call, "shell": "kept"}}) + "\n"
                           for i, call in enumerate(calls))
        done = self.within(["sh", "-c", f"(cat; sleep 5) | {harness.SBX_RUN} serve"], stdin=None,
                           input=requests.encode())
        answers = {}
        for line in done.stdout.splitlines():
            message = json.loads(line)
            if "id" in message:
                answers[message["id"]] = message.get("result", message)
        self.assertEqual(answers[1]["status"], "timed_out", answers)
        self.assertEqual((answers[2]["stdout"], answers[2]["shell"]["restarted"]), ("1\n", False),
                         answers)

    def test_network_and_its_hosts(self):
        self.managed({"network": {"mode": "none"}})
        for flags in (["--net", "outbound"], ["--allow-host", "example.org"], ["--net", "open"]):
            answer = self.fine(*flags, "-c", "! (exec 3<>/dev/tcp/127.0.0.1/9)")
            self.said(answer, "network.mode")
            self.assertTrue(answer["sandbox"]["layers"]["net"])
        self.refused("requires the layer net", "--profile", "unconfined", "--", "true")
        self.managed({"network": {"allow": ["*.example.org:443", "10.0.0.0/8:5432"]}})
        explain = self.answer("explain", "--json", "--allow-host", "a.example.org", "--allow-host",
                              "example.com:443", "--allow-host", "10.1.0.0/16:5432")
        self.assertEqual(explain["network"]["allow"], ["a.example.org:443", "10.1.0.0/16:5432"])
        self.refused("is not allowed by", "--net", "outbound", "--upstream-proxy", "http://10.0.0.1:3128", "--", "true")
        self.fine("--net", "outbound", "--upstream-proxy", "http://10.0.0.1:5432", "--", "true")
        explain = self.answer("explain", "--json", "--net", "outbound")
        self.assertEqual((explain["network"]["mode"], explain["network"]["allow"]),
                         ("allowlist", ["*.example.org:443", "10.0.0.0/8:5432"]))

    def test_layers_limits_and_requests(self):
        self.managed({"isolation": {"require": ["seccomp", "pid"]},
                      "limits": {"pids": 50, "timeout_ms": 2000, "memory_mb": 256, "file_kb": 64}})
        off = self.profile({"seccomp": {"mode": "off"}, "isolation": {"require": []}})
        self.refused("requires the layer seccomp", "--profile", off, "--", "true")
        explain = self.answer("explain", "--json", "--pids", "500", "--memory", "1G", "--file-size",
                              "1G", "--timeout", "none")
        self.assertEqual({name: explain["limits"][name]["value"]
                          for name in ("pids", "memory", "timeout", "file")},
                         {"pids": "50", "memory": "256 MiB", "timeout": "2000 ms",
                          "file": "65536 bytes"})
        self.said(self.fine("--pids", "500", "--", "true"), "limits.pids", "limits.timeout_ms")
        params = json.dumps({"command": "true", "timeout_ms": 5000})
        answer = self.within(["sh", "-c", f"echo '{params}' | {harness.SBX_RUN} call run"])
        self.assertIn(b"ceiling of 2000, which /etc/sbx/managed.d/", answer.stdout)

    def test_what_is_hidden_within_what_is_shown_is_told(self):
        self.write("work/sub/f", "x")
        self.managed({"filesystem": {"max": [{"path": self.work + "/sub", "access": "none"}]}})
        answer = self.fine("--", "true")
        self.assertTrue(any(warning.startswith(f"filesystem: {self.work}/sub hidden by /etc/sbx/managed.d/")
                            for warning in answer["sandbox"]["warnings"]), answer)

    def test_a_layer_from_before_is_not_committed_where_it_may_not_write_now(self):
        # A directory of the state that lasts from one command to the next.
        env = {**os.environ, "HOME": self.home, "XDG_STATE_HOME": self.base + "/state"}
        self.write("work/data/old", "old\n")
        run = [harness.SBX_RUN, "run", "--layer", "l", "-c",
               "echo x > data/old; echo y > data/new; mkdir -p later/on; echo > later/on/file; echo z > free"]
        commit = f"{harness.SBX_RUN} layer commit l --json"
        self.assertEqual(self.within(run, env=env).returncode, 0)
        self.managed({"filesystem": {"max": [{"path": self.work + "/data", "access": "ro"},
                                             {"path": self.work + "/later", "access": "ro"}]}})
        answer = json.loads(self.within(["sh", "-c", commit], env=env).stdout)
        self.assertEqual(answer["error"]["code"], "path_refused", answer)
        self.assertEqual({(change["path"], change["kind"]) for change in answer["changes"]},
                         {(f"{self.work}/{name}", kind) for kind, names in
                          (("read-only", ("data/old", "data/new")), ("protected", ("later", "later/on", "later/on/file")))
                          for name in names}, answer)
        self.assertEqual(open(self.work + "/data/old").read(), "old\n")
        self.assertEqual(sorted(os.listdir(self.work)), ["data"])

    def test_every_run_is_in_the_required_log_too(self):
        required, own = self.base + "/required.jsonl", self.base + "/own.jsonl"
        self.managed({"audit": {"file": required}})
        self.fine("--audit", own, "-c", "echo one")
        self.within([harness.SBX_RUN, "exec", "-c", "echo two"])
        self.within(["sh", "-c", "echo '{\"command\": \"echo three\"}' | "
                                 f"{harness.SBX_RUN} call run"])
        lines = [json.loads(line) for line in open(required)]
        self.assertEqual([line["command"] for line in lines], ["echo one", "echo two", "echo three"])
        self.assertEqual(len(open(own).readlines()), 1)
        # Where it lies in the workspace, no command writes to it.
        within = self.work + "/log.jsonl"
        self.managed({"audit": {"file": within}})
        self.fine("--", "true")
        self.fine("-c", "! (echo forged >> log.jsonl); ! mv log.jsonl other; ! rm -f log.jsonl")
        self.assertEqual([json.loads(line)["status"] for line in open(within)], ["exited"] * 2)
        self.managed({"audit": {"file": self.base + "/nowhere/log"}})
        self.assert_error(self.answer("--", "true"), "output_unwritable")

    def test_sessions_batch_and_tools_are_held(self):
        self.managed({"filesystem": {"max": [{"path": self.work, "access": "ro"}]},
                      "profiles": {"forbid": ["unconfined"]}})
        touch = "touch " + self.work + "/made"
        tasks = self.write("tasks.jsonl", json.dumps({"id": "1", "command": touch}) + "\n")
        request = json.dumps({"command": touch, "description": "x"})
        for argv in ([harness.SBX_RUN, "batch", tasks],
                     ["sh", "-c", f"echo '{request}' | {harness.SBX_RUN} call run"],
                     ["sh", "-c", f"echo '{request}' | {harness.SBX_RUN} tool bash"],
                     [harness.SBX_RUN, "exec", "-c", touch]):
            done = self.within(argv)
            self.assertFalse(os.path.exists(self.work + "/made"), (argv, done))
            self.assertIn(b"Read-only", done.stdout + done.stderr, argv)

    @unittest.skipUnless(os.path.exists(LIBRARY + "/libsbx.so.1"), "libsbx was not built")
    def test_who_calls_the_library_is_held(self):
        self.managed({"filesystem": {"max": [{"path": self.work, "access": "ro"}]},
                      "profiles": {"forbid": ["unconfined"]}})
        script = ("import sbx\n"
                  "with sbx.Session(workspace='.') as session:\n"
                  "    print(session.run('touch made').stderr)\n"
                  "    print([mark['path'] for mark in session.run('true').raw['sandbox']['managed']])\n"
                  "try:\n"
                  "    sbx.run('touch made', workspace='.', profile='unconfined')\n"
                  "except sbx.SbxError as error:\n"
                  "    print(error.code)\n")
        env = {"PYTHONPATH": harness.SOURCE + "/bindings/python/src", "LD_LIBRARY_PATH": LIBRARY,
               "PATH": os.path.dirname(harness.SBX_RUN) + ":" + os.environ["PATH"], "HOME": self.home,
               "PYTHONDONTWRITEBYTECODE": "1"}
        done = self.within(["python3", "-c", script], env=env)
        self.assertFalse(os.path.exists(self.work + "/made"), done)
        said = done.stdout.decode().split("\n")
        self.assertIn("Read-only", said[0], done)
        self.assertEqual([said[-3], said[-2]], ["['/etc/sbx/managed.d/site.json']", "managed_policy"], done)

    def test_a_session_is_held_and_goes_by_what_was_there_when_it_started(self):
        place = self.managed({"filesystem": {"max": [{"path": self.work, "access": "ro"}]},
                              "limits": {"pids": 50}, "profiles": {"forbid": ["unconfined"]}})
        runtime = self.base + "/runtime"
        os.mkdir(runtime, 0o700)
        run = f"{harness.SBX_RUN} call run --session s --params {self.base}/touch.json"
        self.write("touch.json", json.dumps({"command": "touch made"}))
        script = (f"export XDG_RUNTIME_DIR={runtime}; sbx=$1; "
                  "$sbx start --session u --profile unconfined -c true; "
                  "$sbx start --session s --owner-pid $$ --pids 500 -c 'touch made; ulimit -u; sleep 60'; "
                  f"{run}; echo '{{}}' > {place}; {run}; $sbx explain --session s --json; "
                  "$sbx reset --session s; $sbx call shutdown --session s < /dev/null")
        done = self.within(["sh", "-c", script, "sh", harness.SBX_RUN])
        answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{")]
        self.assertEqual(answers[0]["error"]["code"], "managed_policy", done)
        runs = [answer for answer in answers if "exit_code" in answer and "sandbox" in answer]
        self.assertEqual(len([run for run in runs if run["status"] == "exited"]), 2, done)
        for answer in runs:
            if answer["status"] != "exited":
                continue
            self.assertEqual((answer["exit_code"], "Read-only" in answer["stderr"]), (1, True), answer)
            self.assertEqual([mark["path"] for mark in answer["sandbox"]["managed"]],
                             ["/etc/sbx/managed.d/site.json"])
        self.assertEqual(os.listdir(self.work), [])

    def test_who_is_not_root_is_held_as_well(self):
        """The files are root's, and the caller is somebody else."""
        if not harness.is_root():
            self.skipTest("the namespace of a user has no second one; root drops to one here")
        os.chmod(self.base, 0o755)
        for path in (self.work, self.home):
            os.chown(path, 12345, 12345)
        drop = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", harness.SBX_RUN]
        path = self.managed({"filesystem": {"max": [{"path": self.work, "access": "ro"}]}})
        done = self.within([*drop, "-c", "touch made; id -u"])
        self.assertIn("Read-only", json.loads(done.stdout)["stderr"], done)
        for make in (lambda: os.chown(path, 12345, 12345), lambda: os.chmod(path, 0o600),
                     lambda: os.chmod(self.etc, 0o700), lambda: os.chmod(self.etc + "/managed.d", 0o700)):
            os.chown(path, 0, 0)
            os.chmod(path, 0o644)
            os.chmod(self.etc, 0o755)
            make()
            done = self.within([*drop, "-c", "touch made"])
            self.assertEqual(json.loads(done.stdout)["error"]["code"], "managed_policy", done)
            self.assertIn(b"managed.d", done.stderr)
        self.assertFalse(os.path.exists(self.work + "/made"))

    def test_bwrap_is_held(self):
        shared = os.path.dirname(self.write("shared/a", "a"))
        self.write("shared/secret/key", "s")
        self.managed({"filesystem": {"max": [{"path": shared, "access": "ro"},
                                             {"path": shared + "/secret", "access": "none"}]}})
        script = f"cat {shared}/a; cat {shared}/secret/key; echo x > {shared}/a; true"
        for binds in (["--bind", "/", "/"], ["--ro-bind", "/", "/", "--bind", shared, shared]):
            done = self.within([BWRAP, *binds, "--dev", "/dev", "sh", "-c", script])
            self.assertEqual((done.stdout, open(shared + "/a").read()), (b"a", "a"), done)
        done = self.within([BWRAP, "--ro-bind", "/", "/", "--bind", shared + "/secret", "/mnt", "true"])
        self.assertEqual(done.returncode, 1, done)
        for document in ({"network": {"mode": "none"}}, {"limits": {"pids": 5}},
                         {"isolation": {"require": ["seccomp"]}}, {"audit": {"file": "/tmp/x"}}):
            self.managed(document)
            done = self.within([BWRAP, "--bind", "/", "/", "true"])
            self.assertEqual((done.returncode, b"site.json" in done.stderr), (1, True), done)
        self.managed({"network": {"mode": "none"}})
        self.assertEqual(self.within([BWRAP, "--bind", "/", "/", "--unshare-net", "true"]).returncode, 0)

    def test_nothing_in_the_environment_leads_elsewhere(self):
        """The one directory is looked at, whatever the caller says."""
        self.managed({"profiles": {"forbid": ["default"]}})
        env = {**os.environ, "HOME": self.home, "XDG_CONFIG_HOME": "/nonexistent",
               "XDG_CONFIG_DIRS": "/nonexistent", "SBX_MANAGED": "/nonexistent"}
        self.refused("is forbidden", "--", "true", env=env)


if __name__ == "__main__":
    unittest.main()
