# SPDX-License-Identifier: Apache-2.0
"""The network policy, from inside: what is allowed works with ordinary programs, all else fails at
once and is named. Servers and name servers are those of world.py."""

import json
import os
import shutil
import subprocess
import threading

import world
from network_harness import Networked


class Allowlist(Networked):
    ALLOW = ("--allow-host", "allowed.test")

    def test_an_allowed_name_is_reached_by_ordinary_programs(self):  # E5
        answer = self.sh(
            "curl -sS http://allowed.test/c; wget -qO- http://allowed.test/w;"
            " python3 -c 'import urllib.request as u;"
            " print(u.urlopen(\"http://allowed.test/p\").read().decode(), end=\"\")';"
            " exec 3<>/dev/tcp/allowed.test/80; printf 'GET /b HTTP/1.0\\r\\nHost: h\\r\\n\\r\\n' >&3;"
            " tail -n1 <&3", *self.ALLOW)
        self.assertEqual(answer["stdout"], "allowed.test/c outside\nallowed.test/w outside\n"
                         "allowed.test/p outside\nh/b outside\n", answer)
        self.assertEqual(answer["denials"], [])
        self.assertEqual(answer["sandbox"]["degraded"], [])
        self.assertTrue(answer["sandbox"]["layers"]["net"])

    def test_what_was_let_through_is_in_the_audit_log_with_its_bytes(self):
        log = os.path.join(self.base, "audit")
        self.sh("curl -sS http://allowed.test/c", *self.ALLOW, "--audit", log)
        with open(log) as file:
            (line,) = [json.loads(text) for text in file]
        (connection,) = line["connections"]
        self.assertEqual((connection["name"], connection["port"]), ("allowed.test", 80))
        self.assertGreater(connection["bytes_out"], 20)
        self.assertGreater(connection["bytes_in"], 20)

    def test_another_name_does_not_resolve_and_is_named_with_its_grant(self):
        answer = self.sh("curl -sS http://other.test/; getent hosts other.test || echo none",
                         *self.ALLOW)
        self.assertEqual(answer["stdout"], "none\n")
        self.assertIn("Could not resolve", answer["stderr"])
        found = self.denials(answer, "dns")
        self.assertIn("other.test", found)
        self.assertIn("other.test", found["other.test"]["grant"])
        self.assertIn(found["other.test"]["program"], ("curl", "getent"))
        self.sh("getent hosts allowed.test", *self.ALLOW)
        with open(os.path.join(self.place, "dns.log")) as file:
            forwarded = file.read().split()
        self.assertIn("allowed.test", forwarded)
        self.assertNotIn("other.test", forwarded)

    def test_what_ssh_looks_up_is_granted_with_its_port(self):
        answer = self.sh("cp /usr/bin/getent ssh; ./ssh hosts other.test", *self.ALLOW)
        self.assertEqual(self.denials(answer, "dns")["other.test"]["grant"],
                         'network.allow += ["other.test:22"]')

    def test_a_port_that_is_not_allowed_is_refused_at_once(self):
        answer = self.sh("curl -sS http://allowed.test:8080/; curl -sS http://10.77.0.1/", *self.ALLOW)
        self.assertEqual(answer["stdout"], "")
        found = self.denials(answer)
        self.assertEqual(set(found), {"allowed.test:8080", "10.77.0.1:80"})
        self.assertEqual(found["allowed.test:8080"]["program"], "curl")
        self.assertIn("allowed.test:8080", found["allowed.test:8080"]["grant"])

    def test_wildcards_addresses_and_networks(self):
        answer = self.sh("curl -sS http://sub.wild.test/; curl -sS http://10.77.0.1:8080/;"
                         " curl -sS 'http://[fd77::1]:8080/'; curl -sS http://six.test/",
                         "--allow-host", "*.wild.test", "--allow-host", "10.77.0.0/24:8080",
                         "--allow-host", "[fd77::1]:8080", "--allow-host", "six.test")
        self.assertEqual(answer["stdout"], "sub.wild.test/ outside\n10.77.0.1:8080/ outside-8080\n"
                         "[fd77::1]:8080/ outside-8080\nsix.test/ outside\n", answer)

    def test_names_that_lead_to_the_host_or_to_metadata_are_refused(self):
        names = ("loop.test:8088", "meta.test", "own.test:8089")
        flags = [flag for name in names for flag in ("--allow-host", name)]
        answer = self.sh("for u in loop.test:8088 meta.test own.test:8089; do"
                         " curl -sS -m 5 http://$u/; done", *flags)
        self.assertEqual(answer["stdout"], "", answer)
        self.assertEqual(set(self.denials(answer, "dns")),
                         {"loop.test (127.0.0.1)", "meta.test (169.254.169.254)",
                          "own.test (10.77.0.2)"}, answer["denials"])
        answer = self.sh("curl -sS http://own.test:8089/", "--allow-host", "own.test:8089",
                         "--allow-host", "10.77.0.2:8089")
        self.assertEqual(answer["stdout"], "own.test:8089/ hub-own\n")

    def test_each_address_that_a_name_is_refused_for_is_told_with_its_port(self):
        """Also where another one of them is allowed and nobody answers there."""
        four, six = world.ROUTED4 + ":8089", f"[{world.ROUTED6}]:8089"
        for flags, operation, told in (([], "dns", [four, six]), ([six], "connect", [four]), ([four], "connect", [])):
            flags = [f"--allow-host={name}" for name in ["routed.test:8089", *flags]]
            answer = self.sh("curl -sS -m 5 http://routed.test:8089/ || echo not", *flags)
            self.assertEqual(answer["stdout"] == "not\n", told != [], answer)
            self.assertEqual(sorted(d["grant"] for d in answer["denials"]), [f'network.allow += ["{a}"]' for a in told])
            self.assertEqual({d["operation"] for d in answer["denials"]}, {operation} if told else set(), answer)

    def test_tls_to_an_allowed_name_with_another_in_its_sni_is_refused(self):
        shutil.copy(os.path.join(self.place, "cert.pem"), self.work)
        answer = self.sh("curl -sS --cacert cert.pem https://allowed.test/good;"
                         " curl -sS --cacert cert.pem --connect-to other.test:443:allowed.test:443"
                         " https://other.test/bad", *self.ALLOW)
        self.assertEqual(answer["stdout"], "allowed.test/good tls\n", answer)
        self.assertEqual([(d["target"], d["grant"]) for d in answer["denials"] if d["operation"] == "tls_sni"],
                         [("other.test:443 at allowed.test:443", "")], answer["denials"])

    def test_plain_http_for_another_name_is_refused(self):
        answer = self.sh("curl -sS -m 5 http://allowed.test/a; curl -sS -m 5 -H 'Host: other.test'"
                         " http://allowed.test/b; curl -sS -m 5 -x http://allowed.test:80"
                         " http://other.test/c; printf ping", *self.ALLOW)
        self.assertEqual(answer["stdout"], "allowed.test/a outside\nping", answer)
        # No entry would let it pass there.
        self.assertEqual([(target, d["grant"]) for target, d in self.denials(answer, "http_host").items()],
                         [("other.test:80 at allowed.test:80", "")])

    def test_http2_without_tls_is_refused_to_a_name(self):
        """Its hosts are not seen."""
        answer = self.sh("exec 3<>/dev/tcp/allowed.test/80; cat <&3 &"
                         " printf 'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n' >&3; wait", *self.ALLOW)
        self.assertEqual(answer["stdout"], "", answer)
        self.assertEqual(set(self.denials(answer, "http_host")), {"(http/2.0):80 at allowed.test:80"})

    def test_plain_http_is_read_as_the_loosest_server_reads_it(self):
        good, other = "Host: allowed.test", "Host: other.test"
        spoken = [("GET / HTTP/1.1", good), ("PROPFIND /a HTTP/1.1", good), ("PROPFIND / HTTP/1.1", other),
                  ("get / HTTP/1.1", other), ("GET / HTTP/1.1", good, other), ("\r\nGET / HTTP/1.1", other),
                  ("GET http://allowed.test/ HTTP/1.1", other), ("GET / HTTP/1.1", other.replace(":", " :"))]
        texts = ["\r\n".join([*lines, "", ""]) for lines in spoken]
        code = f"""if True:
            import socket
            for port, text in [(80, text) for text in {texts!r}] + [(7000, "NICK a\\n"), (7000, "83 <1>a")]:
                with socket.create_connection(("allowed.test", port), timeout=5) as s:
                    s.sendall(text.encode())
                    try: print(s.recv(100).split(b"\\r")[0])
                    except OSError: print("reset")
        """
        answer = self.py(code, "--allow-host", "allowed.test", "--allow-host", "allowed.test:7000")
        lines = answer["stdout"].splitlines()
        self.assertNotIn("reset", lines[:2] + lines[-2:], answer)
        self.assertEqual(lines[2:-2], ["reset"] * 6, answer)
        self.assertEqual(set(self.denials(answer, "http_host")), {"other.test:80 at allowed.test:80"})

    # A client that writes TLS by hand, to a server that sends everything back.
    RAW_TLS = """if True:
        import socket, struct
        def record(kind, payload):
            return bytes([kind, 3, 1]) + struct.pack(">H", len(payload)) + payload
        def hello(name, step=0):
            entry = b"\\0" + struct.pack(">H", len(name)) + name.encode()
            names = struct.pack(">H", len(entry)) + entry
            extension = struct.pack(">HH", 0, len(names)) + names
            body = (b"\\3\\3" + bytes(32) + b"\\0" + b"\\0\\2\\x13\\1" + b"\\1\\0"
                    + struct.pack(">H", len(extension)) + extension)
            message = b"\\1" + struct.pack(">I", len(body))[1:] + body
            step = step or len(message)
            return b"".join(record(22, message[i:i + step]) for i in range(0, len(message), step))
        def say(what, *flights):
            client, got = socket.create_connection(("allowed.test", 7000), timeout=20), b""
            try:
                for flight in flights:
                    client.sendall(flight)
                    want = len(got) + len(flight)
                    while len(got) < want:
                        part = client.recv(65536)
                        if not part:
                            break
                        got += part
                print(what, "passed")
            except ConnectionError:
                print(what, "cut after", sum(len(f) for f in flights[:-1]) == len(got))
        alert, change = record(21, b"\\1\\x70"), record(20, b"\\1")
        good, other = hello("allowed.test"), hello("other.test")
        say("good", good, change + hello("allowed.test", 30), record(23, bytes(900)), bytes(99))
        say("alert first", alert + other)
        say("data first", record(23, b"x") + other)
        say("major 4", b"\\x16\\x04" + other[2:])
        say("minor 9", b"\\x16\\x03\\x09" + other[3:])
        say("second", good, other)
        say("second in pieces", good, change, hello("other.test", 9))
        say("after an alert", good, alert, other)
        """

    def test_no_hello_for_another_name_passes_first_or_later(self):
        answer = self.py(self.RAW_TLS, "--allow-host", "allowed.test:7000")
        cut = ["alert first", "data first", "major 4", "minor 9", "second", "second in pieces",
               "after an alert"]
        self.assertEqual(answer["stdout"].splitlines(),
                         ["good passed"] + [f"{name} cut after True" for name in cut], answer)
        self.assertEqual({target: denial["count"]
                          for target, denial in self.denials(answer, "tls_sni").items()},
                         {"(unreadable) at allowed.test:7000": 3,
                          "other.test:7000 at allowed.test:7000": 4}, answer["denials"])

    def test_git_clones_over_http(self):
        repo = os.path.join(self.place, "repo.git")
        if not os.path.exists(repo):
            seed = os.path.join(self.base, "seed")
            for command in (["git", "init", "-q", seed],
                            ["git", "-C", seed, "-c", "user.name=a", "-c", "user.email=a@b.c",
                             "commit", "-q", "--allow-empty", "-m", "first"],
                            ["git", "clone", "-q", "--bare", seed, repo],
                            ["git", "-C", repo, "update-server-info"]):
                subprocess.run(command, check=True, env={**os.environ, "HOME": self.base})
        self.assertIn("first", self.out("git clone -q http://allowed.test/repo.git c"
                                        " && git -C c log --oneline", *self.ALLOW))

    def programs_reach_the_allowed_host(self, commands):
        """Each of the programs that are here, as they are; the names of those that ran."""
        ran = []
        for program, command, expected in commands:
            if shutil.which(program, path="/usr/bin:/bin") is None:
                continue
            with self.subTest(program=program):
                answer = self.sh(command, *self.ALLOW, "--env", "PATH=/usr/bin:/bin",
                                 "--memory", "4G")
                self.assertIn(expected, answer["stdout"] + answer["stderr"], answer)
                ran.append(program)
        return ran

    def test_a_static_program_and_interpreters_of_every_kind(self):
        self.write("work/Get.java", """
            public class Get {
              public static void main(String[] a) throws Exception {
                try (var in = new java.net.URL("http://allowed.test/java").openStream()) {
                  System.out.print(new String(in.readAllBytes()));
                }
              }
            }""")
        os.makedirs(os.path.join(self.place, "registry"), exist_ok=True)
        with open(os.path.join(self.place, "registry", "leftpad"), "w") as file:
            json.dump({"name": "leftpad", "dist-tags": {"latest": "1.2.3"},
                       "versions": {"1.2.3": {"name": "leftpad", "version": "1.2.3"}}}, file)
        ran = self.programs_reach_the_allowed_host((
            ("busybox", "busybox wget -qO- http://allowed.test/static", "allowed.test/static"),
            ("perl", "perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(\"allowed.test:80\")"
             " or die $!; print $s \"GET /perl HTTP/1.0\\r\\nHost: h\\r\\n\\r\\n\"; print <$s>'",
             "h/perl outside"),
            ("node", "node -e 'fetch(\"http://allowed.test/node\").then(r => r.text())"
             ".then(t => console.log(t))'", "allowed.test/node"),
            ("npm", "npm view leftpad version --registry http://allowed.test/registry/", "1.2.3"),
            ("java", "java Get.java", "allowed.test/java"),
            # The other side is an echo server: what is shown is that ssh gets there.
            ("ssh", "ssh -v -o BatchMode=yes -o ConnectTimeout=5 -p 80 x@allowed.test true",
             "Connection established")))
        self.assertIn("perl", ran)

    def test_non_blocking_connects_half_close_and_many_at_once(self):
        answer = self.py(
            "import asyncio, socket\n"
            "async def one(i):\n"
            "    r, w = await asyncio.open_connection('allowed.test', 7000)\n"
            "    w.write(b'%d' % i); w.write_eof()\n"
            "    assert await r.read() == b'%d<end>' % i\n"
            "    w.close()\n"
            "async def main():\n"
            "    for _ in range(4): await asyncio.gather(*(one(i) for i in range(100)))\n"
            "asyncio.run(main())\n"
            "s = socket.create_connection(('allowed.test', 7000), timeout=5)\n"
            "port = s.getpeername()[1]; s.settimeout(None); s.sendall(b'x'); s.shutdown(socket.SHUT_WR)\n"
            "print(s.makefile().read(), port)\n", "--allow-host", "allowed.test:7000")
        self.assertEqual((answer["stdout"], answer["stderr"]), ("x<end> 7000\n", ""), answer)

    def test_a_large_answer_arrives_whole(self):
        self.assertEqual(self.out("curl -sS http://allowed.test/big | wc -c", *self.ALLOW).strip(),
                         str(world.BIG))

    def test_what_was_written_last_arrives_though_the_command_has_ended(self):
        self.out("head -c 3000000 /dev/zero > /dev/tcp/allowed.test/7001",
                 "--allow-host", "allowed.test:7001")
        path = os.path.join(self.place, "sink")
        for _ in range(200):
            if os.path.exists(path) and os.path.getsize(path) == 3000000:
                return
            threading.Event().wait(0.02)
        self.fail("the end is missing")

    def test_servers_inside_keep_their_ports(self):
        answer = self.py(
            "import socket, urllib.request as u\n"
            "print(u.urlopen('http://allowed.test:8080/').read().decode(), end='')\n"
            "s = socket.create_server(('127.0.0.1', 8080)); s6 = socket.create_server(('0.0.0.0', 80))\n"
            "c = socket.create_connection(('127.0.0.1', 8080)); s.accept()[0].sendall(b'mine')\n"
            "print(c.recv(9))\n", "--allow-host", "allowed.test:8080")
        self.assertEqual(answer["stdout"], "allowed.test:8080/ outside-8080\nb'mine'\n", answer)

    def test_a_port_that_was_used_outside_is_free_again_for_a_server(self):
        answer = self.py(
            "import socket, time, urllib.request as u\n"
            "u.urlopen('http://allowed.test:8080/').read()\n"
            "for _ in range(200):\n"
            "    try: s = socket.create_server(('0.0.0.0', 8080)); print('bound'); break\n"
            "    except OSError: time.sleep(0.05)\n", "--allow-host", "allowed.test:8080")
        self.assertEqual(answer["stdout"], "bound\n", answer)

    def test_udp_and_ping_reach_nobody(self):
        answer = self.py(
            "import socket\n"
            "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(3)\n"
            "s.connect(('10.77.0.1', 9999)); s.send(b'x')\n"
            "try: s.recv(9)\n"
            "except ConnectionRefusedError: print('refused')\n"
            "try: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); print('raw')\n"
            "except PermissionError: print('no raw')\n", *self.ALLOW)
        self.assertEqual(answer["stdout"], "refused\nno raw\n", answer)
        self.assertEqual(self.denials(answer, "udp")["10.77.0.1:9999"]["grant"], "")  # no entry lets it through

    def test_the_literal_address_of_an_answer_stands_for_its_name(self):
        answer = self.sh("a=$(getent ahostsv4 allowed.test | head -n1 | cut -d' ' -f1);"
                         " curl -sS -H 'Host: h' http://$a/", *self.ALLOW)
        self.assertEqual(answer["stdout"], "h/ outside\n", answer)

    def test_a_program_that_races_its_own_connect_gets_no_further(self):
        # The address and the descriptor change while the call is looked at.
        answer = self.py(
            "import ctypes, os, socket, threading\n"
            "libc = ctypes.CDLL(None, use_errno=True)\n"
            "good = socket.inet_aton('127.0.0.1'); bad = socket.inet_aton('10.77.0.1')\n"
            "buf = ctypes.create_string_buffer(b'\\x02\\0' + (8080).to_bytes(2, 'big') + good + bytes(8), 16)\n"
            "done = False\n"
            "def flip():\n"
            "    while not done:\n"
            "        buf[4:8] = bad; buf[4:8] = good\n"
            "threading.Thread(target=flip).start()\n"
            "n = 0\n"
            "for _ in range(2000):\n"
            "    s = socket.socket()\n"
            "    n += libc.connect(s.fileno(), buf, 16) == 0\n"
            "    s.close()\n"
            "done = True\n"
            "print(n)\n", *self.ALLOW)
        self.assertEqual(answer["stdout"], "0\n", answer)


class Upstream(Networked):
    PROXY = ("--upstream-proxy", "http://127.0.0.1:3128")

    # Nothing was asked of it where there is no file yet.
    def asked(self):
        with open(os.path.join(self.place, "proxy.log"), "a+") as file:
            file.seek(0)
            return file.read()

    def test_what_is_allowed_goes_through_it_and_names_are_its_to_resolve(self):
        answer = self.sh("curl -sS http://allowed.test/; curl -sS http://secret.test/;"
                         " curl -sSk https://allowed.test/; curl -sS http://10.77.0.1:8080/;"
                         " exec 3<>/dev/tcp/allowed.test/7000; printf hi >&3; head -c2 <&3",
                         "--allow-host", "allowed.test", "--allow-host", "secret.test",
                         "--allow-host", "allowed.test:7000", "--allow-host", "10.77.0.1:8080",
                         *self.PROXY)
        self.assertEqual(answer["stdout"], "allowed.test/ outside\nsecret.test/ outside\n"
                         "allowed.test/ tls\n10.77.0.1:8080/ outside-8080\nhi", answer)
        for line in ("allowed.test:80", "secret.test:80", "allowed.test:443", "10.77.0.1:8080"):
            self.assertIn(f"CONNECT {line}\n", self.asked())
        self.assertEqual(answer["denials"], [])
        self.assertEqual({(c["name"], c["address"]) for c in answer["connections"]},  # never the proxy's
                         {("allowed.test", None), ("secret.test", None), (None, "10.77.0.1")})
        self.assertNotIn("secret.test", self.looked_up())

    def test_the_callers_own_proxy_variables_are_not_tried_inside(self):
        env = {**os.environ, "http_proxy": "http://127.0.0.1:3128", "HTTPS_PROXY": "http://127.0.0.1:3128"}
        answer = self.sh("curl -sS http://allowed.test/; echo ${http_proxy-} ${HTTPS_PROXY-}", "--allow-host",
                         "allowed.test", *self.PROXY, env=env)
        self.assertEqual(answer["stdout"], "allowed.test/ outside\n\n", answer)

    def test_what_is_not_allowed_never_gets_to_it(self):
        answer = self.sh("curl -sS http://other.test/; curl -sS http://10.77.0.1/;"
                         " curl -sS -m5 http://127.0.0.1:3128/",
                         "--allow-host", "allowed.test", *self.PROXY)
        self.assertEqual(answer["stdout"], "")
        self.assertNotIn("other.test", self.asked())

    def test_what_it_refuses_is_said(self):
        answer = self.sh("curl -sS http://refused.test/ || echo no", "--allow-host", "refused.test",
                         *self.PROXY)
        self.assertEqual(answer["stdout"], "no\n")
        self.assertIn("refused.test:80 (upstream proxy: it answered 403)", self.denials(answer))
        answer = self.sh("curl -sS http://allowed.test/ || echo no", "--allow-host", "allowed.test",
                         "--upstream-proxy", "http://127.0.0.1:9")
        self.assertIn("allowed.test:80 (upstream proxy: not reached)", self.denials(answer))

    def test_its_password_is_sent_and_never_shown(self):
        url = "http://ann:p%40ss@127.0.0.1:3129"
        answer = self.sh("curl -sS http://allowed.test/; env; cat /proc/*/cmdline",
                         "--allow-host", "allowed.test", "--upstream-proxy", url)
        self.assertTrue(answer["stdout"].startswith("allowed.test/ outside\n"), answer)
        self.assertNotIn("p%40ss", json.dumps(answer))
        answer = self.sh("curl -sS http://allowed.test/ || echo no", "--allow-host", "allowed.test",
                         "--upstream-proxy", "http://ann:wrong@127.0.0.1:3129")
        self.assertIn("allowed.test:80 (upstream proxy: it answered 407)", self.denials(answer))
        self.assertNotIn("wrong", self.raw("explain", "--allow-host", "a.test", "--upstream-proxy",
                                           "http://ann:wrong@127.0.0.1:3129").stdout.decode())

    def test_what_cannot_be_is_refused(self):
        for flags in (("--upstream-proxy", "socks5://h:1"), ("--upstream-proxy", "http://"),
                      ("--upstream-proxy", "http://a:secret%zz@h"), ("--upstream-proxy", "http://*.h"),
                      ("--net", "open", *self.PROXY), ("--net", "none", *self.PROXY)):
            done = self.raw(*flags, "-c", "true")
            error = json.loads(done.stdout)["error"]
            self.assertEqual((done.returncode, error["code"]), (125, "bad_flag"), flags)
            self.assertNotIn("secret", json.dumps(error))
