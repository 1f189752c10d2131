# SPDX-License-Identifier: Apache-2.0
"""The gateway speaks HTTP: rules of methods and paths, and credentials that are never inside."""

import base64
import json
import os
import unittest

import harness
from network_harness import PYTHON, Networked

HOST = "allowed.test:8443"
URL = "https://allowed.test:8443"
SECRET = "ghp_abcdefghij0123456789ABCDEFGHIJ012345"


class Http(Networked):
    ENV = {}

    def setUp(self):
        super().setUp()
        self.log = os.path.join(self.place, "origin.log")
        open(self.log, "w").close()

    def raw(self, *arguments, **options):
        env = {"SSL_CERT_FILE": os.path.join(self.place, "cert.pem"), **self.ENV}
        assigned = [f"{name}={value}" for name, value in env.items()]
        reply = self.world.order(argv=["env", *assigned, harness.SBX_RUN, *arguments],
                                 cwd=self.work, **options)
        self.last_stderr = reply["stderr"]
        import subprocess
        return subprocess.CompletedProcess(arguments, reply["code"], reply["stdout"].encode(),
                                           reply["stderr"].encode())

    def rules(self, http=(), credentials=(), allow=(HOST,), **network):
        return "--profile", self.profile({"network": {
            "mode": "allowlist", "allow": list(allow), "http": list(http),
            "credentials": list(credentials), **network}})

    def seen(self):
        with open(self.log) as file:
            return [json.loads(line) for line in file if line.endswith("\n")]


class Rules(Http):
    GET = ({"host": HOST, "methods": ["GET"], "paths": ["/repos/acme/**"]},)

    def test_what_a_rule_allows_goes_through_and_the_rest_is_answered_with_its_grant(self):
        answer = self.sh(f"curl -sS -w '%{{http_code}}' -o a {URL}/repos/acme/x?q=1;"
                         f" curl -sS -w '%{{http_code}}' -o b -X POST -d x {URL}/repos/acme/x;"
                         f" curl -sS -w '%{{http_code}}' {URL}/repos/other", *self.rules(self.GET))
        self.assertTrue(answer["stdout"].startswith("200403"), answer)
        (seen,) = self.seen()
        self.assertEqual((seen["method"], seen["target"]), ("GET", "/repos/acme/x?q=1"))
        body = json.loads(answer["stdout"][6:-3])
        self.assertEqual((body["method"], body["path"]), ("GET", "/repos/other"))
        self.assertIn("network.http", body["grant"])
        found = self.denials(answer, "http")
        self.assertEqual(set(found), {f"POST {URL}/repos/acme/x", f"GET {URL}/repos/other"})
        self.assertIn("network.http", found[f"GET {URL}/repos/other"]["grant"])
        requests = [r for c in answer["connections"] for r in c["requests"]]
        self.assertEqual([(r["method"], r["path"], r["status"], r["rule"]) for r in requests],
                         [("GET", "/repos/acme/x", 200, "/network/http/0"),
                          ("POST", "/repos/acme/x", 403, None), ("GET", "/repos/other", 403, None)])

    def test_a_path_with_a_star_is_granted_to_nobody(self):
        """As a rule it would be a pattern."""
        answer = self.sh(f"curl -sS -g '{URL}/*' '{URL}/**'", *self.rules(self.GET))
        found = self.denials(answer, "http")
        self.assertEqual(set(found), {f"GET {URL}/*", f"GET {URL}/**"}, answer)
        self.assertFalse([denial for denial in found.values() if "+=" in denial["grant"]], found)

    def test_paths_are_judged_in_their_normal_form(self):
        rules = self.rules(({"host": HOST, "paths": ["/a/*", "/deep/**", "/@s*/pkg", "/@s%2fpkg"]},))
        allowed = ["/a/b", "/a/%62", "/a/x/../y", "//a//b", "/deep/1/2/3", "/deep/", "/@s%2fpkg",
                   "/a/b?x=/../%00", "/a/./c"]
        refused = ["/", "/a", "/a/", "/a/b/c", "/A/b", "/deep", "/a/%2e%2e/x", "/deep/..%2fx",
                   "/deep/..%5cx", "/deep/..;/x", "/deep/%00", "/deep/%0d%0aX", "/deep/%zz",
                   "/deep/%c0%af", "/deep/%u002e", "/a/b%2fc", "/deep/%252e%252e/x", "/../a/b",
                   "/deep/\\\\x", "/deep/%"]
        lines = [f"curl -sS --path-as-is -o /dev/null -w '%{{http_code}} ' '{URL}{path}'"
                 for path in allowed + refused]
        answer = self.sh("\n".join(lines), *rules)
        codes = answer["stdout"].split()
        for path, code in zip(allowed, codes):
            self.assertEqual(code, "200", path)
        for path, code in zip(refused, codes[len(allowed):]):
            self.assertIn(code, ("400", "403"), path)
        self.assertEqual([r["target"] for r in self.seen()],
                         ["/a/b", "/a/%62", "/a/y", "/a/b", "/deep/1/2/3", "/deep/", "/@s%2fpkg",
                          "/a/b?x=/../%00", "/a/c"])

    def test_methods_have_case_and_some_are_always_refused(self):
        rules = self.rules(({"host": HOST, "methods": ["GET"]},))
        answer = self.sh("for m in GET get HEAD TRACE OPTIONS; do curl -sS -m 5 -o /dev/null"
                         f" -w '%{{http_code}} ' -X $m {URL}/; done", *rules)
        self.assertEqual(answer["stdout"].split(), ["200", "403", "403", "403", "403"], answer)
        answer = self.sh(f"curl -sS -o /dev/null -w '%{{http_code}} ' -X TRACE {URL}/;"
                         f" curl -sS -o /dev/null -w '%{{http_code}} ' {URL}/",
                         *self.rules(({"host": HOST},)))
        self.assertEqual(answer["stdout"].split(), ["403", "200"])

    # What two servers could frame, or address, in two ways.
    AMBIGUOUS = [
        "POST / HTTP/1.1\r\nHost: H\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: H\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n12345",
        "POST / HTTP/1.1\r\nHost: H\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n12345",
        "POST / HTTP/1.1\r\nHost: H\r\nContent-Length: +5\r\n\r\n12345",
        "POST / HTTP/1.1\r\nHost: H\r\nContent-Length: 5, 5\r\n\r\n12345",
        "POST / HTTP/1.1\r\nHost: H\r\nContent_Length: 5\r\n\r\n12345",
        "POST / HTTP/1.1\r\nHost: H\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: H\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: H\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: H\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.0\r\nHost: H\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: H\r\nHost: H\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: other.test\r\n\r\n",
        "GET / HTTP/1.1\r\nX: y\r\n\r\n",
        "GET https://other.test/ HTTP/1.1\r\nHost: H\r\n\r\n",
        "GET / HTTP/1.1\nHost: H\n\n",
        "GET / HTTP/1.1\r\nHost: H\nX: y\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: H\r\nX: a\rb\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: H\r\nX-A: 1\r\nX_A: 2\r\n\r\n",
        "GET  / HTTP/1.1\r\nHost: H\r\n\r\n",
        "GET / HTTP/2.0\r\nHost: H\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: H\r\nConnection: Authorization\r\n\r\n",
        "\r\nGET / HTTP/1.1\r\nHost: H\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET /\x80 HTTP/1.1\r\nHost: H\r\n\r\n",
    ]

    def test_ambiguous_framing_is_refused_before_a_byte_goes_on(self):
        texts = [text.replace("Host: H", f"Host: {HOST}") for text in self.AMBIGUOUS]
        code = f"""if True:
            import socket, ssl
            context = ssl.create_default_context()
            for text in {texts!r}:
                with socket.create_connection(("allowed.test", 8443)) as plain:
                    with context.wrap_socket(plain, server_hostname="allowed.test") as s:
                        s.settimeout(5)
                        s.sendall(text.encode("latin-1"))
                        print(s.recv(4096).split(b" ")[1:2])
        """
        answer = self.py(code, *self.rules(({"host": HOST},)))
        lines = answer["stdout"].splitlines()
        self.assertEqual(len(lines), len(self.AMBIGUOUS), answer["stderr"])
        for text, line in zip(self.AMBIGUOUS, lines):
            self.assertIn(line, ("[b'400']", "[b'403']"), text)
        self.assertEqual(self.seen(), [])

    def test_the_target_of_a_denial_is_a_url_whatever_was_asked_for(self):
        code = f"""if True:
            import socket, ssl
            context = ssl.create_default_context()
            for text in ("CONNECT allowed.test:8443", "GET http://other.test/x?q", "OPTIONS *"):
                with socket.create_connection(("allowed.test", 8443)) as plain:
                    with context.wrap_socket(plain, server_hostname="allowed.test") as s:
                        s.sendall(f"{{text}} HTTP/1.1\\r\\nHost: {HOST}\\r\\n\\r\\n".encode())
                        print(s.recv(4096).split(b" ")[1].decode())
        """
        answer = self.py(code, *self.rules(({"host": HOST},)))
        self.assertEqual(answer["stdout"].split(), ["403", "403", "400"], answer)
        self.assertEqual(set(self.denials(answer, "http")),
                         {f"CONNECT {URL}/allowed.test:8443", f"GET {URL}/http://other.test/x",
                          f"OPTIONS {URL}/*"})

    def test_the_grant_for_a_literal_address_is_a_host_that_works(self):
        host = "[fd77::1]:80"
        answer = self.sh("curl -sS -g -o out 'http://[fd77::1]/a'; curl -sS -g -o out 'http://[fd77::1]/b'",
                         *self.rules(({"host": host, "paths": ["/b"]},), allow=(host,)))
        (denial,) = self.denials(answer, "http").values()
        rule = json.loads(denial["grant"].removeprefix("network.http += "))
        self.assertEqual(rule, {"host": host, "methods": ["GET"], "paths": ["/a"]})
        answer = self.sh("curl -sS -g 'http://[fd77::1]/a'", *self.rules((rule,), allow=(host,)))
        self.assertEqual((answer["stdout"], answer["denials"]), ("[fd77::1]/a outside\n", []), answer)

    def test_a_token_in_a_path_is_redacted_in_what_is_recorded(self):
        log = os.path.join(self.base, "audit")
        answer = self.sh(f"curl -sS -o out {URL}/hook/{SECRET}; curl -sS -o out {URL}/no/{SECRET}",
                         *self.rules(({"host": HOST, "paths": ["/hook/*"]},)), "--audit", log)
        self.assertEqual([r["target"] for r in self.seen()], [f"/hook/{SECRET}"])
        requests = [r for c in answer["connections"] for r in c["requests"]]
        self.assertEqual([r["path"] for r in requests], ["/hook/[REDACTED]", "/no/[REDACTED]"])
        self.assertNotIn(SECRET, json.dumps(answer))
        with open(log) as file:
            self.assertNotIn(SECRET, file.read())

    def test_hosts_without_a_rule_stay_opaque_and_nothing_is_started_for_them(self):
        answer = self.sh("curl -sSk https://allowed.test/x; echo \"$SSL_CERT_FILE\"; ls /proc",
                         "--allow-host", "allowed.test")
        self.assertTrue(answer["stdout"].startswith("allowed.test/x tls\n"), answer)
        self.assertNotIn("requests", answer["connections"][0])

    def test_a_name_that_has_rules_is_not_reached_under_another(self):
        rules = self.rules(({"host": HOST, "paths": ["/a"]},),
                           allow=(HOST, "10.77.0.1:8443", "six.test"))
        answer = self.sh(f"curl -sSk -m 5 --connect-to allowed.test:8443:10.77.0.1:8443 {URL}/b;"
                         f" curl -sSk -m 5 --resolve x.test:8443:127.0.0.1 {URL}/a >/dev/null; echo",
                         *rules)
        self.assertEqual([r["target"] for r in self.seen()], ["/a"])
        # What is allowed already is no grant.
        self.assertEqual([d["grant"] for d in self.denials(answer, "tls_sni").values()], [""], answer["denials"])

    def test_a_wrong_certificate_is_an_answer_and_no_way_around(self):
        rules = self.rules(({"host": "sub.wild.test:8443"},), allow=("sub.wild.test:8443",))
        answer = self.sh("curl -sSk -w '%{http_code}' https://sub.wild.test:8443/x", *rules)
        self.assertTrue(answer["stdout"].endswith("502"), answer)
        (target,) = self.denials(answer, "upstream")
        self.assertIn("sub.wild.test", target)
        self.assertIn("hostname mismatch", target)
        self.assertEqual(self.seen(), [])

    def test_bodies_trailers_and_interim_answers(self):
        answer = self.sh(
            f"head -c 300000 /dev/zero | tr '\\0' x > big; curl -sS -T big {URL}/put | tail -c 40;"
            f" curl -sS -H 'Expect: 100-continue' -d hello {URL}/post;"
            f" curl -sS -H 'Transfer-Encoding: chunked' -d chunks {URL}/post", *self.rules(({"host": HOST},)))
        self.assertEqual([(r["method"], len(r["body"])) for r in self.seen()],
                         [("PUT", 300000), ("POST", 5), ("POST", 6)], answer)

    def test_a_websocket_is_a_tunnel_once_it_is_confirmed(self):
        code = """if True:
            import socket, ssl
            context = ssl.create_default_context()
            s = context.wrap_socket(socket.create_connection(("allowed.test", 8443)),
                                    server_hostname="allowed.test")
            s.sendall(b"GET /ws HTTP/1.1\\r\\nHost: allowed.test:8443\\r\\nUpgrade: websocket\\r\\n"
                      b"Connection: Upgrade\\r\\nSec-WebSocket-Version: 13\\r\\n"
                      b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\\r\\n\\r\\n")
            got = b""
            while b"\\r\\n\\r\\n" not in got: got += s.recv(4096)
            s.sendall(b"GET /not-http")
            print(got.split()[1], s.recv(100))
        """.replace("\\\\", "\\")
        answer = self.py(code, *self.rules(({"host": HOST, "paths": ["/ws"]},)))
        self.assertEqual(answer["stdout"], "b'101' b'GET /not-http'\n", answer)

    def test_malformed_answers_are_an_error_and_surplus_is_no_answer(self):
        canned = {"surplus": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n"
                             b"Content-Length: 3\r\n\r\nbad",
                  "two": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nokx",
                  "lf": b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
                  "both": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n"
                          b"2\r\nok\r\n0\r\n\r\n",
                  "switch": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
                  "nothing": b""}
        for name, data in canned.items():
            with open(os.path.join(self.place, name), "wb") as file:
                file.write(data)
        answer = self.sh("for n in surplus two lf both switch nothing; do curl -sS -m 5 -o out -w"
                         f" '%{{http_code}} ' {URL}/canned/$n; done; curl -s -m 5 {URL}/canned/surplus"
                         f" {URL}/after | head -c 2", *self.rules(({"host": HOST},)))
        self.assertEqual(answer["stdout"], "200 502 502 502 502 502 ok", answer)


    def test_learn_stands_on_rules_and_adds_to_them(self):
        """A wider network has none, so the parents' stays what it is, and what it refuses is asked for by name."""
        out = os.path.join(self.base, "learned.json")
        command = (f"set -e; for i in {URL}/repos/acme/x {URL}/elsewhere https://other.test:8443/y;"
                   " do curl -sSf -o a $i; done")
        done = self.raw("learn", "--out", out, "--yes", *self.rules(self.GET), "-c", command)
        answer = json.loads(done.stdout)
        self.assertEqual((answer["exit_code"], answer["proven"], answer["written"]), (0, True, True), done)
        network = answer["profile"]["network"]
        self.assertEqual(network["+allow"], ["other.test:8443"], network)
        self.assertEqual([rule["paths"] for rule in network["+http"]], [["/elsewhere"]], network)
        ran = self.run_json("--profile", out, "-c", command)
        self.assertEqual(ran["exit_code"], 0, ran)
        for other in (f"{URL}/third", f"{URL}/repos/other"):
            self.assertNotEqual(self.run_json("--profile", out, "-c", f"curl -sSf {other}")["exit_code"], 0)
        done = self.raw("learn", *self.rules(self.GET), "-c", "curl -sS https://own.test:8443/")
        answer = json.loads(done.stdout)
        self.assertNotEqual(answer["exit_code"], 0, answer)
        self.assertNotIn("network", answer["profile"])


class Credentials(Http):
    ENV = {"TOKEN": SECRET, "OTHER_NAME": f"x{SECRET}"}
    BEARER = {"name": "TOKEN", "host": HOST, "header": "Authorization", "value": "Bearer ${secret}",
              "from": {"env": "TOKEN"}}

    def bound(self, *more, **changes):
        return self.rules(credentials=({**self.BEARER, **changes}, *more),
                          allow=(HOST, "other.test:8443", "allowed.test:8081"))

    def test_the_value_is_put_in_where_it_belongs_and_echoes_are_not_shown(self):
        answer = self.sh(f"curl -sS -H \"Authorization: Bearer $TOKEN\" {URL}/x > out; grep -c"
                         f" \"$TOKEN\" out; printf %s \"$TOKEN\" | wc -c; printf %.4s \"$TOKEN\";"
                         " env | grep -c OTHER_NAME", *self.bound())
        self.assertEqual(answer["stdout"], "1\n40\nghp_0\n", answer)
        (seen,) = self.seen()
        self.assertEqual(seen["headers"]["authorization"], f"Bearer {SECRET}")
        with open(os.path.join(self.work, "out")) as file:
            self.assertNotIn(SECRET, file.read())

    def test_a_placeholder_anywhere_else_is_refused_and_named(self):
        answer = self.sh(
            "c() { curl -sS -m 5 -o out -w '%{http_code} ' \"$@\"; grep -c TOKEN out >> named; };"
            f"c -H \"X-Api: $TOKEN\" {URL}/; c {URL}/$TOKEN; c {URL}/?q=$TOKEN; c -d a=$TOKEN {URL}/;"
            f"c -H \"Cookie: t=$TOKEN\" {URL}/; c -u \"me:$TOKEN\" {URL}/;"
            f"c -H 'Transfer-Encoding: chunked' -d \"$TOKEN\" {URL}/;"
            f"c -H \"Authorization: Basic $TOKEN\" {URL}/;"
            f"c {URL}/?q=%67${{TOKEN#g}}; c -X $TOKEN {URL}/; sort named | uniq -c", *self.bound())
        self.assertEqual(answer["stdout"].split(), ["403"] * 10 + ["10", "1"], answer)
        self.assertEqual([r for r in self.seen() if r["body"]], [])
        self.assertTrue(all("TOKEN" in d["grant"] for d in answer["denials"] if d["operation"] == "http"), answer)

    def test_a_bound_value_goes_to_no_other_host_and_not_without_tls(self):
        rules = self.rules(http=({"host": "other.test:8443"}, {"host": "allowed.test:8081"}),
                           credentials=(self.BEARER,), allow=(HOST, "other.test:8443", "allowed.test:8081"))
        answer = self.sh("c() { curl -sS -m 5 -o out -w '%{http_code} ' -H \"Authorization: Bearer $TOKEN\" \"$@\"; };"
                         "c https://other.test:8443/; c http://allowed.test:8081/", *rules)
        self.assertEqual((answer["stdout"], self.seen()), ("403 403 ", []), answer)

    def test_basic_query_file_and_command(self):
        secret = self.write("secret", "file-secret-0123456789\n")
        more = ({"name": "B", "host": HOST, "basic": "me", "from": {"file": secret}},
                {"name": "Q", "host": HOST, "query": "key",
                 "from": {"command": ["/bin/echo", "command+secret/0123"]}})
        answer = self.sh(f"curl -sS -u \"me:$B\" '{URL}/?key='\"$Q\"'&z=1' -o out; cat {secret}; echo $?",
                         *self.bound(*more), "--ro", self.base)
        (seen,) = self.seen()
        self.assertEqual(base64.b64decode(seen["headers"]["authorization"][6:]), b"me:file-secret-0123456789")
        self.assertEqual(seen["target"], "/?key=command%2Bsecret%2F0123&z=1")
        with open(os.path.join(self.work, "out")) as file:
            out = file.read()
        self.assertNotIn("file-secret", out)
        self.assertNotIn(seen["headers"]["authorization"][10:], out)
        self.assertNotIn("file-secret", json.dumps(answer))
        self.assertEqual([(d["operation"], d["grant"]) for d in answer["denials"] if d["target"] == secret],
                         [("open", "")])  # no root would show it

    def test_sources_that_give_nothing_are_an_error_with_their_place(self):
        empty = self.write("empty", "")
        lines = self.write("lines", "a\nb\n")
        blank = self.write("blank", "secret \n")
        for source in ({"env": "NOT_SET"}, {"file": empty}, {"file": lines}, {"file": blank}, {"file": "/nonexistent/x"},
                       {"command": ["/bin/false"]}, {"command": ["/nonexistent"]},
                       {"command": ["/bin/true"]}, {"file": "/dev/zero"}):
            answer = self.sh("true", *self.bound(**{"from": source}))
            self.assertEqual((answer["status"], answer["error"]["where"]),
                             ("error", "/network/credentials/0/from"), (source, answer["error"]))

    def test_no_program_that_the_command_could_write_gives_a_secret(self):
        given = self.write("work/give", "#!/bin/sh\necho secret-value-number-1\n", 0o755)
        self.write("work/bin/give", "#!/bin/sh\necho secret-value-number-1\n", 0o755)
        env = {**os.environ, "PATH": self.work + "/bin:" + os.environ["PATH"]}
        for command in ([given], ["/bin/sh", given], ["./give"], ["give"]):
            answer = self.sh("true", *self.bound(**{"from": {"command": command}}), env=env)
            self.assertEqual((answer["status"], answer["error"]["where"]),
                             ("error", "/network/credentials/0/from"), (command, answer["error"]))
        # Nor does it find one by PATH, or in a directory that it begins in.
        shell = self.write("aside/give", "#!/usr/bin/env sh\nls give 2>&1; echo $PATH | tr : _\n", 0o755)
        self.write("work/bin/sh", "#!/bin/sh\necho planted >&2; exit 1\n", 0o755)
        answer = self.sh("true", *self.bound(**{"from": {"command": [shell]}}), env=env)
        self.assertIn("more than one line", answer["error"]["message"])

    def test_a_commands_value_is_asked_for_anew_once_it_is_old(self):
        place = os.path.join(self.base, "aside")
        os.mkdir(place)
        os.chmod(place, 0o777)
        script = self.write("aside/give", "cd %s; echo >> count; n=$(wc -l < count)\n"
                            "[ $n -lt 3 ] || exec sleep 3600.0625\necho secret-value-number-$n\n" % place)
        bound = {**self.BEARER, "value": "${secret}", "from": {"command": ["/bin/sh", script], "ttl_s": 1}}
        code = f"curl -sS -m 20 -H \"Authorization: $TOKEN\" {URL}/"
        answer = self.sh(f"{code} >a; sleep 1.1; {code} >b; sleep 1.1; curl -sS -m 1"
                         f" -H \"Authorization: $TOKEN\" {URL}/ >c; true", *self.rules(credentials=(bound,)))
        first, *_, last = [seen["headers"]["authorization"][:-1] for seen in self.seen()]
        self.assertEqual((first, last), ("secret-value-number-",) * 2, answer)
        self.assertEqual(self.seen()[-1]["headers"]["authorization"][-1], "2", answer)
        for name in "ab":
            with open(os.path.join(self.work, name)) as file:
                self.assertNotIn("secret-value-number", file.read())
        # One that hangs has gone with the run.
        self.assertTrue(harness.until(lambda: not any(map(self.sleeps, filter(str.isdigit, os.listdir("/proc"))))))

    @staticmethod
    def sleeps(pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                return b"sleep\0003600.0625" in file.read()
        except OSError:
            return False

    def test_a_plan_shows_rules_and_whose_credentials_without_what_they_say(self):
        rules = self.rules(
            http=({"host": HOST, "methods": ["GET", "HEAD"], "paths": ["/repos/**", "/x"], "query": ["page=*"], "ask": True},
                  {"host": HOST, "methods": ["POST"], "query": []}, {"host": HOST}),
            credentials=({**self.BEARER, "value": "unsaid ${secret}"},
                         {"name": "OTHER", "host": HOST, "basic": "unsaid-user",
                          "from": {"command": ["/bin/echo", "unsaid-words"]}}))
        plan = self.raw("explain", "--json", *rules, "-c", "true").stdout
        network = json.loads(plan)["network"]
        nothing = {"methods": None, "paths": None, "query": None, "ask": False}
        self.assertEqual(network["http"], [
            {"host": HOST, "methods": ["GET", "HEAD"], "paths": ["/repos/**", "/x"], "query": ["page=*"], "ask": True},
            {"host": HOST, **nothing, "methods": ["POST"], "query": []}, {"host": HOST, **nothing}])
        self.assertEqual(network["credentials"], [{"name": "TOKEN", "host": HOST}, {"name": "OTHER", "host": HOST}])
        text = self.raw("explain", *rules, "-c", "true").stdout
        for line in (f"http GET HEAD of /repos/** /x at {HOST}, query page=*, asks",
                     f"http POST of any path at {HOST}, without a query", f"http any method of any path at {HOST}",
                     f"credential TOKEN for {HOST}", f"credential OTHER for {HOST}"):
            self.assertIn(f"\n  {line}\n".encode(), text)
        page = self.raw("explain", "--html", *rules, "-c", "true").stdout
        for word in (b"/repos/**", b"page=*", b"TOKEN", b"OTHER"):
            self.assertIn(word, page)
        for said in (plan, text, page):
            self.assertNotIn(b"unsaid", said)
            self.assertNotIn(SECRET.encode(), said)
        plain = json.loads(self.raw("explain", "--json", "-c", "true").stdout)["network"]
        self.assertEqual((plain["http"], plain["credentials"]), ([], []))

    def test_a_plan_names_the_variables_that_the_run_has(self):
        ran = self.run_json(*self.bound(), "--", "/usr/bin/env", "-0")["stdout"].split("\0")
        plan = json.loads(self.raw("explain", "--json", *self.bound(), "--", "/usr/bin/env", "-0").stdout)
        self.assertIn("SSL_CERT_FILE", plan["environment"])
        self.assertEqual(sorted(plan["environment"]), sorted(each.split("=", 1)[0] for each in ran if each))

    def test_neither_plan_nor_record_nor_file_holds_the_value(self):
        audit = os.path.join(self.base, "audit.jsonl")
        command = (f"curl -sS -H \"Authorization: Bearer $TOKEN\" {URL}/ -o out; env > env; ulimit -c unlimited;"
                   f" curl -sS -d $TOKEN {URL}/; kill -SEGV $$")
        reply = self.raw("run", "--json", *self.bound(), "--audit", audit, "-c", command)
        explained = self.raw("explain", "--json", *self.bound(), "-c", command)
        texts = [reply.stdout, reply.stderr, explained.stdout, explained.stderr]
        for root, _, names in os.walk(self.base):
            for name in names:
                with open(os.path.join(root, name), "rb") as file:
                    texts.append(file.read())
        self.assertEqual([seen["body"] for seen in self.seen()][1:], [""] * (len(self.seen()) - 1))
        self.assertIn(b"network", explained.stdout)
        self.assertTrue(any(b"http_exchanges" in text or b'"requests"' in text for text in texts))
        for text in texts:
            self.assertNotIn(SECRET.encode(), text)
            self.assertNotIn(SECRET[8:].encode(), text)


class Asking(Http):
    RULE = ({"host": HOST, "methods": ["POST"], "ask": True}, {"host": HOST, "methods": ["GET"]})

    # A server of JSON-RPC, whose operator allows the first request and no other.
    SERVE = """if True:
        import json, subprocess, sys
        server = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        def send(method, params, id):
            message = {"jsonrpc": "2.0", "method": method, "params": params, "id": id}
            server.stdin.write(json.dumps(message) + "\\n"); server.stdin.flush()
        send("run", {"command": sys.argv[1]}, 1)
        asked = []
        for line in server.stdout:
            message = json.loads(line)
            if message.get("method") == "approval.requested":
                asked.append(message["params"])
                if len(asked) == 1: send("approve", {"digest": message["params"]["digest"]}, 2)
                else: break
            if message.get("id") == 1: break
        print(json.dumps({"asked": asked}))
        server.stdin.close()
    """

    def test_a_server_asks_its_operator_and_one_answer_is_for_one_request(self):
        command = (f"curl -sS -m 70 -o out -w '%{{http_code}} ' -d abc {URL}/first;"
                   f" curl -sS -m 70 -w '%{{http_code}}' -d abcd {URL}/second")
        reply = self.world.order(
            argv=["env", "SSL_CERT_FILE=" + os.path.join(self.place, "cert.pem"), PYTHON, "-c",
                  self.SERVE, command, harness.SBX_RUN, "serve", *self.rules(self.RULE)],
            cwd=self.work)
        self.assertEqual(reply["code"], 0, reply)
        asked = json.loads(reply["stdout"])["asked"]
        self.assertEqual([(a["method"], a["host"], a["path"], a["size"], a["rule"]) for a in asked],
                         [("POST", HOST, "/first", 3, "/network/http/0"),
                          ("POST", HOST, "/second", 4, "/network/http/0")])
        self.assertEqual(len(asked[0]["digest"]), 64)
        self.assertEqual([(r["target"], r["body"]) for r in self.seen()], [("/first", "abc")])

    # A client of MCP that is asked, and accepts the first request alone.
    MCP = """if True:
        import json, subprocess, sys
        server = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        def send(**message):
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\\n"); server.stdin.flush()
        send(id=1, method="initialize", params={"protocolVersion": "2025-11-25",
             "capabilities": {"elicitation": {}}, "clientInfo": {"name": "t", "version": "1"}})
        asked = []
        for line in server.stdout:
            message = json.loads(line)
            if message.get("id") == 1 and "result" in message:
                send(method="notifications/initialized")
                send(id=2, method="tools/call", params={"name": "bash", "arguments": {"command": sys.argv[1]}})
            elif message.get("method") == "elicitation/create":
                asked.append(message["params"]["message"])
                send(id=message["id"], result={"action": "accept" if len(asked) == 1 else "decline", "content": {}})
            elif message.get("id") == 2: break
        print(json.dumps({"asked": asked, "answer": message}))
        server.stdin.close()
        server.wait()
    """

    def test_a_client_of_mcp_is_asked_during_the_call(self):
        command = f"for b in abc abcd; do curl -sS -m 70 -o out -w '%{{http_code}} ' -d $b '{URL}/first?k=v'; done"
        reply = self.world.order(
            argv=["env", "SSL_CERT_FILE=" + os.path.join(self.place, "cert.pem"), PYTHON, "-c", self.MCP,
                  command, harness.SBX_RUN, "mcp", "--tool", "bash", *self.rules(self.RULE)], cwd=self.work)
        self.assertEqual(reply["code"], 0, reply)
        said = json.loads(reply["stdout"])
        self.assertIn("200 403", json.dumps(said["answer"]), said)
        self.assertEqual(len(said["asked"]), 2, said)
        for word in ("POST", HOST, "/first", "3"):
            self.assertIn(word, said["asked"][0])
        self.assertEqual([seen["body"] for seen in self.seen()], ["abc"])

    def test_where_nobody_can_be_asked_it_is_refused_at_once(self):
        answer = self.sh(f"curl -sS -m 5 -o out -w '%{{http_code}} ' -d abc {URL}/x;"
                         f" curl -sS -m 5 -o out -w '%{{http_code}}' {URL}/x", *self.rules(self.RULE))
        self.assertEqual(answer["stdout"], "403 200", answer)
        self.assertIn("network.http", self.denials(answer, "http")[f"POST {URL}/x"]["grant"])


if __name__ == "__main__":
    unittest.main()
