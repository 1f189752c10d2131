# SPDX-License-Identifier: Apache-2.0
"""sbx-http as a process: jailed, one a session, replaced; and that it alone holds a credential's value."""

import json
import os
import signal
import unittest

import harness
from http_test import HOST, SECRET, URL, Http
from network_harness import PYTHON

BEARER = {"name": "TOKEN", "host": HOST, "header": "Authorization", "value": "Bearer ${secret}",
          "from": {"env": "TOKEN"}}


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    except OSError:
        return ""


def descendants(root):
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as file:
                    parents[int(entry)] = int(file.read().rsplit(")", 1)[1].split()[1])
            except OSError:
                pass
    out, wanted = [], [root]
    while wanted:
        parent = wanted.pop(0)
        children = sorted(p for p, of in parents.items() if of == parent)
        out += children
        wanted += children
    return out


def peaks_below(root):
    """The most memory that each sbx-http has had, in KiB."""
    peaks = []
    for pid in descendants(root):
        if name_of(pid) == "sbx-http":
            with open(f"/proc/{pid}/status") as file:
                peaks += [int(line.split()[1]) for line in file if line.startswith("VmHWM")]
    return peaks


def holds_bytes(pid, value):
    """Whether the memory that all its threads share has the bytes; None: it could not be read."""
    was_read = False
    try:
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
            for line in maps:
                span, access = line.split()[:2]
                if "r" not in access or "[v" in line:
                    continue
                start, end = (int(x, 16) for x in span.split("-"))
                memory.seek(start)
                try:
                    # A read may give less than it was asked for.
                    text = b"".join(iter(lambda: memory.read(max(0, end - memory.tell())), b""))
                except OSError:
                    continue
                was_read = True
                if value in text:
                    return True
    except ProcessLookupError:
        return False  # it has ended, and has none
    except OSError:
        return None
    return False if was_read else None


class Process(Http):
    def started(self, command, *flags):
        """Whether a run in the background has its sbx-http; its pids."""
        self.world.order(argv=["env", "SSL_CERT_FILE=" + os.path.join(self.place, "cert.pem"),
                               harness.SBX_RUN, *flags, "-c", command], cwd=self.work,
                         background="long")
        self.assertTrue(harness.until(self.helpers))
        return self.helpers()

    def helpers(self):
        return [pid for pid in descendants(self.world.process.pid)
                if name_of(pid) == "sbx-http"]

    def waited(self):
        return json.loads(self.world.order(argv=["true"], cwd=self.work, wait="long")["stdout"])

    def test_it_is_one_it_is_jailed_and_it_goes_with_the_run(self):
        (pid,) = self.started("touch ready; sleep 2", *self.rules(({"host": HOST},)))
        self.assertTrue(harness.until(lambda: os.path.exists(os.path.join(self.work, "ready"))))
        with open(f"/proc/{pid}/status") as file:
            status = dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
        self.assertEqual((status["Seccomp"], status["NoNewPrivs"], int(status["CapEff"], 16),
                          int(status["CapBnd"], 16)), ("2", "1", 0, 0))
        with open(f"/proc/{pid}/limits") as file:
            limits = file.read()
        self.assertRegex(limits, r"core file size +0 +0")
        self.assertRegex(limits, rf"data size +{1 << 30} +{1 << 30}")
        self.assertEqual(os.getpgid(int(pid)), int(pid))  # a terminal's ^C is not for it
        if harness.is_root():
            for space in ("mnt", "net"):
                self.assertNotEqual(os.readlink(f"/proc/{pid}/ns/{space}"),
                                    os.readlink(f"/proc/self/ns/{space}"))
            self.assertEqual(os.listdir(f"/proc/{pid}/root/"), [])
            self.assertEqual(os.listdir(f"/proc/{pid}/cwd/"), [])
        self.waited()
        self.assertTrue(harness.until(lambda: not os.path.exists(f"/proc/{pid}")))

    def test_one_that_dies_or_stops_is_replaced(self):
        loop = (f"while [ ! -e end ]; do curl -sS -m 30 -o /dev/null -w '%{{http_code}}\\n'"
                f" {URL}/ >> codes; sleep 0.2; done")
        codes = os.path.join(self.work, "codes")

        def good():
            with open(codes) as file:
                return file.read().count("200\n")

        (first,) = self.started(loop, *self.rules(({"host": HOST},)), "--timeout", "100s")
        self.assertTrue(harness.until(lambda: os.path.exists(codes) and good() > 1))
        os.kill(first, signal.SIGKILL)
        self.assertTrue(harness.until(lambda: self.helpers() not in ([], [first])))
        before = good()
        self.assertTrue(harness.until(lambda: good() > before + 1))
        (second,) = self.helpers()
        os.kill(second, signal.SIGSTOP)
        self.assertTrue(harness.until(lambda: self.helpers() not in ([], [second]), 40))
        before = good()
        self.assertTrue(harness.until(lambda: good() > before + 1))
        open(os.path.join(self.work, "end"), "w").close()
        self.assertEqual(self.waited()["status"], "exited")


    def test_the_one_that_takes_its_place_knows_the_values_that_were_renewed(self):
        aside = os.path.join(self.base, "aside")
        os.mkdir(aside)
        script = self.write("aside/give", f"cd {aside}; echo >> count; n=$(wc -l < count)\n"
                            "printf 'secret-value-number-%d-' $n; [ $n != 1 ] || printf long; echo\n")
        bound = {**BEARER, "value": "${secret}", "from": {"command": ["/bin/sh", script], "ttl_s": 3}}
        command = (f"ask() {{ curl -sS -m 30 -H \"Authorization: $TOKEN\" {URL}/$1 >> out; }}; ask 1; sleep 3.1; ask 2;"
                   " touch ready; while [ ! -e go ]; do sleep 0.1; done; ask 3; ask canned/old")
        old = "secret-value-number-1-long"
        with open(os.path.join(self.place, "old"), "w") as file:
            file.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(old)}\r\n\r\n{old}")
        (first,) = self.started(command, *self.rules(credentials=(bound,)), "--timeout", "100s")
        self.assertTrue(harness.until(lambda: os.path.exists(os.path.join(self.work, "ready"))))
        os.kill(first, signal.SIGKILL)
        self.assertTrue(harness.until(lambda: self.helpers() not in ([], [first])))
        open(os.path.join(self.work, "go"), "w").close()
        self.assertEqual(self.waited()["exit_code"], 0)
        sent = [seen["headers"]["authorization"] for seen in self.seen()]
        self.assertEqual(sent[:3], [old, "secret-value-number-2-", "secret-value-number-2-"])
        with open(os.path.join(self.work, "out")) as file:
            self.assertNotIn("secret-value", file.read())


class Variables(Http):
    ENV = {"TOKEN": SECRET}

    def test_none_that_is_set_holds_the_value(self):
        rules = {"network": {"mode": "allowlist", "allow": [HOST], "credentials": [BEARER]},
                 "environment": {"set": {"OF_PROFILE": SECRET, "FREE": "free"}}}
        answer = self.sh("env > out; printf '%s ' \"$FREE\" \"$SAME$LONGER$OF_PROFILE\"",
                         "--profile", self.profile(rules), "--env", f"SAME={SECRET}",
                         "--env", f"LONGER=user:{SECRET}@host", "--env", f"TOKEN={SECRET}")
        self.assertEqual(answer["stdout"], "free  ", answer)
        with open(os.path.join(self.work, "out")) as file:
            self.assertNotIn(SECRET, file.read())

    def test_without_the_network_the_secrets_stay_outside_too(self):
        source = self.write("work/secret", "file-secret-value")
        rules = {"network": {"mode": "allowlist", "allow": [HOST], "credentials": [
                    {**BEARER, "name": "FILED", "from": {"file": source}},
                    {**BEARER, "name": "PLAIN", "from": {"env": "PLAIN"}}]},
                 "environment": {"pass": ["PLAIN", "OTHER", "FILED", "COPY"]}, "output": {"redact": False}}
        self.ENV = {"PLAIN": "plain-value-1", "OTHER": "x plain-value-1 y", "FILED": "mine",
                    "COPY": "a:file-secret-value"}
        for flags, env in ((["--net", "none"], {}), ([], {"SBX_ALLOW_NETWORK": "false"})):
            self.ENV = {**self.ENV, **env}
            answer = self.sh('cat secret; echo "$PLAIN$OTHER$FILED$COPY"', "--profile", self.profile(rules), *flags)
            self.assertEqual((answer["status"], answer["stdout"]), ("exited", "\n"), answer)

    def test_a_source_that_a_symlink_leads_to_is_hidden_whatever_names_it(self):
        real = self.write("work/sub/real", "file-secret-value")
        os.symlink("sub/real", self.work + "/link")
        os.symlink("sub", self.work + "/way")
        for name in ("link", "way/real"):
            bound = {**BEARER, "name": "FILED", "from": {"file": os.path.join(self.work, name)}}
            for flags in ([], ["--ro", real], ["--rw", real], ["--net", "none"]):
                answer = self.sh(f"cat sub/real {name}; cat < sub/real", *self.rules(credentials=(bound,)), *flags)
                self.assertEqual((answer["status"], answer["stdout"]), ("exited", ""), (name, flags, answer))
                told = {denial["target"]: denial["grant"] for denial in answer["denials"]}
                self.assertEqual(told, {real: "", os.path.join(self.work, name): ""}, (name, flags))

    def test_none_that_is_set_is_a_source(self):
        bound = {**BEARER, "name": "OTHER", "from": {"env": "UNSET"}}
        answer = self.run_json(*self.rules(credentials=(bound,)), "--env", "UNSET=x", "--", "true")
        self.assertEqual(answer["error"]["where"], "/network/credentials/0/from", answer)

    def test_spaces_count_as_forms_spell_them(self):
        words = "correct horse battery staple"
        self.ENV = {"TOKEN": words}
        bound = {"name": "TOKEN", "host": HOST, "from": {"env": "TOKEN"}, "query": "key"}
        answer = self.sh(f"curl -sS -G --data-urlencode \"key=$TOKEN\" {URL}/echo -o out -w '%{{http_code}} ';"
                         f"curl -sS --data-urlencode \"o=$TOKEN\" {URL}/ -o body -w '%{{http_code}} ';"
                         "echo \"$TOKEN\"", *self.rules(credentials=(bound,)))
        self.assertEqual(answer["stdout"].split()[:2], ["200", "403"], answer)
        (seen,) = [one for one in self.seen() if one["method"] == "GET"]
        self.assertEqual(seen["target"], "/echo?key=correct%20horse%20battery%20staple")
        with open(os.path.join(self.work, "out")) as file:
            self.assertNotIn("horse", file.read())


class Memory(Http):
    # Processes and threads that each have what the command had: a fork, an exec, threads, an orphan.
    INSIDE = """if True:
        import os, subprocess, sys, threading, time
        def rest(): time.sleep(30)
        for _ in range(3): threading.Thread(target=rest, daemon=True).start()
        if os.fork() == 0:
            if os.fork() == 0: rest()
            rest()
        subprocess.Popen(["sleep", "30"])
        import urllib.request as u
        head = {"Authorization": "Bearer " + os.environ["TOKEN"]}
        kept = u.urlopen(u.Request(sys.argv[1] + "/", headers=head)).read()
        open("done", "w").close()
        rest()
    """

    def test_nothing_inside_holds_the_value(self):
        """The memory of every process of the sandbox, of PID 1 and of the supervisor."""
        self.write("work/hold.py", self.INSIDE)
        self.world.order(argv=["env", f"TOKEN={SECRET}", f"OTHER={SECRET}", "SSL_CERT_FILE=" +
                               os.path.join(self.place, "cert.pem"), harness.SBX_RUN, *self.rules(credentials=(BEARER,)),
                               "--", PYTHON, "hold.py", URL], cwd=self.work, background="long")
        self.assertTrue(harness.until(lambda: os.path.exists(os.path.join(self.work, "done"))))
        tree = descendants(self.world.process.pid)
        supervisor = next(pid for pid in tree if name_of(pid) == "sbx-run")
        below = descendants(supervisor)
        helpers = [pid for pid in below if name_of(pid) == "sbx-http"]
        inside = [pid for pid in below if pid not in helpers]
        looked_at = {(pid, name_of(pid)): holds_bytes(pid, SECRET.encode())
                     for pid in [supervisor, *inside]}
        # The search finds what is there: the placeholder, in the command's own memory.
        command = next(pid for pid in inside if name_of(pid).startswith("python"))
        with open(f"/proc/{command}/environ", "rb") as file:
            (placeholder,) = [entry[6:] for entry in file.read().split(b"\0") if entry.startswith(b"TOKEN=")]
        finds = holds_bytes(command, placeholder)
        threads = len(os.listdir(f"/proc/{command}/task"))
        os.kill(supervisor, signal.SIGKILL)
        self.world.order(argv=["true"], cwd=self.work, wait="long")
        self.assertEqual(self.seen()[0]["headers"]["authorization"], f"Bearer {SECRET}")
        self.assertEqual(len(helpers), 1)
        self.assertGreaterEqual(len(inside), 5, looked_at)  # PID 1, the command, two forks, sleep
        self.assertEqual(threads, 4)
        self.assertTrue(finds)
        self.assertEqual([what for what, holds in looked_at.items() if holds], [])
        # PID 1's is closed to all but root.
        self.assertTrue(not harness.is_root() or None not in looked_at.values(), looked_at)


if __name__ == "__main__":
    unittest.main()
