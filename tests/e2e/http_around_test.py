# SPDX-License-Identifier: Apache-2.0
"""Ways around a ruled host, past other hosts of its port and its address; and what hosts without
rules keep beside it."""

import os
import re
import unittest

from http_hostile_test import HOST, Hostile, PLAIN
from http_test import URL

BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem")


class Around(Hostile):
    OTHERS = ("other.test", "10.77.0.1")

    def plain(self, code, allow=("other.test:8081", "10.77.0.1:8081"), http=PLAIN):
        prelude = """
def told(s):
    s.settimeout(2)
    said, more = b"", b""
    try:
        while not said or (said.startswith(b"HTTP/") and more and not is_whole(said)):
            more = s.recv(65536)
            said += more
            if not more: break
        return said.split(b" ")[1:2]
    except OSError: return "cut"
def is_whole(said):
    head, end, body = said.partition(b"\\r\\n\\r\\n")
    size = head.lower().partition(b"content-length:")[2].split(b"\\r\\n")[0]
    return end and len(body) >= int(size or 0)
def talk(name, *pieces, port=8081):
    with socket.create_connection((name, port), timeout=20) as s:
        out = []
        for piece in pieces:
            try: s.sendall(piece.replace(b"OWN", name.encode()))
            except OSError: pass
            out.append(told(s))
        return out
OWN = b"GET /free HTTP/1.1\\r\\nHost: OWN:8081\\r\\n\\r\\n"
RULED = b"GET /no HTTP/1.1\\r\\nHost: allowed.test:8081\\r\\n\\r\\n"
"""
        return self.inside(prelude + code, *self.rules(({"host": http, "paths": ["/ok"]},), allow=(http, *allow)))

    def test_no_later_request_names_the_ruled_host_on_another_connection(self):
        answer = self.plain(f"""
for name in {self.OTHERS}:
    talk(name, OWN + RULED)
    print(talk(name, OWN, RULED))
    print(talk(name, OWN, RULED[:40], RULED[40:])[-1])
    talk(name, OWN, b"POST /free HTTP/1.1\\r\\nHost: OWN\\r\\nContent-Length: 3\\r\\n\\r\\nabc" + RULED)
    talk(name, OWN, b"GET http://allowed.test:8081/no HTTP/1.1\\r\\nHost: OWN\\r\\n\\r\\n")
    talk(name, OWN, b"GET /" + b"x" * 30000 + b" HTTP/1.1\\r\\nHost: allowed.test\\r\\n\\r\\n")
    talk(name, OWN.replace(b"\\r\\n\\r\\n", b"\\r\\nUpgrade: h2c\\r\\n\\r\\n"), b"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n")
""")
        self.assertEqual(answer["stdout"].splitlines(), ["[[b'200'], 'cut']", "cut"] * 2, answer)
        self.assertEqual({seen["target"] for seen in self.seen()}, {"/free"})
        denied = self.denials(answer, "http_host")
        self.assertEqual(set(denied), {f"{host}:8081 at {name}:8081" for name in self.OTHERS
                                       for host in ("allowed.test", "(http/2.0)")})

    def test_no_first_request_that_reads_as_none_opens_the_way_to_it(self):
        """To a server that reads more loosely than the gateway."""
        answer = self.plain("""
for line in (b"A" * 300 + b" /free HTTP/1.1", b"G@T /free HTTP/1.1", b"G\\x80T /free HTTP/1.1",
             b"GET ?free HTTP/1.1", b"GET /free\\rHTTP/1.1"):
    print(talk("other.test", line + b"\\r\\nHost: OWN\\r\\n\\r\\n", RULED))
    print(talk("other.test", line[:2], line[2:] + b"\\r\\nHost: allowed.test:8081\\r\\n\\r\\n")[-1])
for size in (16370, 20000):
    print(talk("other.test", OWN, RULED.replace(b": ", b":" + b" " * size)[:-20], RULED[-20:])[-1])
""")
        self.assertEqual(answer["stdout"].splitlines(), ["[[b'200'], 'cut']", "cut"] * 5 + ["cut"] * 2, answer)
        self.assertNotIn("/no", [seen["target"] for seen in self.seen()])
        self.assertEqual(set(self.denials(answer, "http_host")), {"allowed.test:8081 at other.test:8081"})

    def test_what_else_goes_over_such_a_port_stays_as_it_is(self):
        """Bodies, many requests, and what is no HTTP; other ports are not looked at."""
        answer = self.plain(f"""
text = b"see\\r\\nHost: allowed.test\\r\\n\\r\\nhttp://allowed.test/ " * 20000
for name in {self.OTHERS}:
    post = b"POST /free HTTP/1.1\\r\\nHost: OWN\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(text)
    with socket.create_connection((name, 8081), timeout=20) as s:
        for piece in (OWN, post, text, b"GET /free?u=http://allowed.test/ HTTP/1.1\\r\\nHost: OWN\\r\\n\\r\\n"):
            s.sendall(piece.replace(b"OWN", name.encode()))
        s.shutdown(socket.SHUT_WR)
        rest(s)
""")
        self.assertEqual([(seen["target"], len(seen["body"])) for seen in self.seen()],
                         [("/free", 0), ("/free", 960000), ("/free?u=http://allowed.test/", 0)] * 2, answer)
        self.assertNotIn("requests", answer["connections"][0])
        answer = self.plain("""
for port in (7000, 8081):
    with socket.create_connection(("other.test", port), timeout=20) as s:
        s.sendall(b"EHLO x\\r\\n" + RULED if port == 7000 else OWN.replace(b"OWN", b"other.test") + RULED)
        s.shutdown(socket.SHUT_WR)
        print(len(rest(s)) > 20)
""", http="allowed.test:7000", allow=("other.test:7000", "other.test:8081"))
        self.assertEqual(answer["stdout"].split(), ["True", "True"], answer)
        self.assertIn("/no", [seen["target"] for seen in self.seen()])

    def test_tls_without_a_name_does_not_reach_a_ruled_host_by_its_address(self):
        rules = self.rules(({"host": HOST, "paths": ["/ok"]},), allow=(HOST, "10.77.0.1:8443", "10.77.0.3:443"))
        answer = self.inside("""
for address, port in (("10.77.0.1", 8443), ("10.77.0.3", 443)):
    context = ssl._create_unverified_context()
    try:
        with context.wrap_socket(socket.create_connection((address, port), timeout=20)) as s:
            s.sendall(request("/no", "Connection: close"))
            print(s.recv(100).split(b" ")[1])
    except OSError: print("cut")
""", *rules)
        self.assertEqual(answer["stdout"].splitlines(), ["cut", "b'200'"], answer)
        self.assertEqual(set(self.denials(answer, "tls_sni")), {"(no name) at 10.77.0.1:8443"})

    def test_without_a_ruled_host_at_the_address_it_goes_on(self):
        """Another port has the rule, or another address."""
        allow = ("10.77.0.1:8443", "10.77.0.3:443", "api.github.com:8443", "allowed.test:443")
        rules = self.rules(({"host": "api.github.com:8443"}, {"host": "allowed.test:443"}), allow=allow)
        answer = self.sh("for i in 10.77.0.1:8443 10.77.0.3:443; do curl -sSk -o out -w '%{http_code} '"
                         " https://$i/free; done", *rules)
        self.assertEqual(answer["stdout"].split(), ["200", "200"], answer)


class Bundle(Hostile):
    def test_holds_the_systems_authorities_and_the_operators(self):
        """Opaque hosts are held against the first; Java's store has all of them."""
        system = next((path for path in BUNDLES if os.path.exists(path)), None)
        if system is None:
            self.skipTest("the system has no bundle")
        answer = self.sh(f'cat "$SSL_CERT_FILE" > bundle; echo "$JAVA_TOOL_OPTIONS"; curl -sS -o out {URL}/x'
                         " && cp $(echo $JAVA_TOOL_OPTIONS | sed 's/.*trustStore=//; s/ .*//') store",
                         *self.rules(({"host": HOST},)))
        self.assertEqual(answer["exit_code"], 0, answer)
        bundle = self.got("bundle")
        for path in (system, os.path.join(self.place, "cert.pem")):
            with open(path, "rb") as file:
                self.assertIn(file.read().strip(), bundle)
        count = bundle.count(b"BEGIN CERTIFICATE")
        listed = self.world.order(argv=["openssl", "pkcs12", "-in", "store", "-nokeys", "-passin", "pass:changeit"],
                                  cwd=self.work)
        self.assertEqual(len(re.findall("BEGIN CERTIFICATE", listed["stdout"])), count, listed["stderr"])
        # What is not trusted upstream is so only by the operator's.
        self.ENV = {"SSL_CERT_FILE": system}
        answer = self.sh(f"curl -sS -w '%{{http_code}}' -o out {URL}/x; grep -c BEGIN $SSL_CERT_FILE",
                         *self.rules(({"host": HOST},)))
        self.assertEqual(answer["stdout"].split(), [f"502{count - 1}"], answer)


if __name__ == "__main__":
    unittest.main()
