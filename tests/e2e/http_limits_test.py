# SPDX-License-Identifier: Apache-2.0
"""The work that sbx-http has with what a command sends; headers that would undo rules; echoes in escapes,
and secrets so short that what is none looks like one."""

import json
import os
import unittest

import harness
from http_hostile_test import BEARER, Hostile, PRELUDE
from http_process_test import peaks_below
from http_test import HOST, URL
from network_harness import PYTHON


class Work(Hostile):
    # A placeholder is looked for however often it is escaped; nothing grows with that.
    NESTED = PRELUDE + """
    import time
    def upgraded():
        s = connected()
        s.sendall(request("/ws", "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                          "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="))
        got = b""
        while b"\\r\\n\\r\\n" not in got: got += s.recv(4096)
        return s
    def escaped(depth): return b"%" + b"25" * depth + b"%02x" % ord(TOKEN[0]) + TOKEN[1:].encode()
    beside = upgraded()
    for body in (b"%" + b"25" * 30000, escaped(3000)):
        got = ask("/", f"Content-Length: {len(body)}", "Connection: close", method="POST", body=body)
        print(got.split(b" ")[1].decode())
    nested = b"%" + b"25" * 60000
    s = upgraded()
    s.sendall(bytes([0x82, 0xff]) + struct.pack(">Q", len(nested)) + bytes(4) + nested)
    got = b""
    while got.count(b"2") < 60000 or got.count(b"5") < 60000:
        got += (part := s.recv(65536))
        assert part
    beside.sendall(bytes([0x81, 0x82]) + bytes(4) + b"hi")
    print(beside.recv(100)[-2:] == b"hi", flush=True)
    open("done", "w").close()
    while not os.path.exists("end"): time.sleep(0.05)
"""

    def test_escapes_in_escapes_cost_no_more_than_their_length(self):
        self.write("work/nested.py", self.NESTED)
        assigned = [f"{name}={value}" for name, value in self.ENV.items()]
        self.world.order(argv=["env", "SSL_CERT_FILE=" + os.path.join(self.place, "cert.pem"), *assigned,
                               harness.SBX_RUN, "run", "--json", *self.rules(credentials=(BEARER,)),
                               "--timeout", "110s", "--", PYTHON, "nested.py"],
                         cwd=self.work, background="long")
        harness.until(lambda: os.path.exists(os.path.join(self.work, "done")), 100)
        peaks = peaks_below(self.world.process.pid)
        open(os.path.join(self.work, "end"), "w").close()
        answer = json.loads(self.world.order(argv=["true"], cwd=self.work, wait="long")["stdout"])
        self.assertEqual(answer["stdout"].split(), ["200", "403", "True"], answer)
        self.assertLess(max(peaks), 40 << 10)  # KiB


class Overrides(Hostile):
    HEADERS = ["X-HTTP-Method: DELETE", "x-http-method-override: DELETE", "X-Method-Override: PUT",
               "X-Original-URL: /admin", "X-Rewrite-Url: /admin", "X_Http_Method_Override: DELETE"]

    def answers(self, *rules):
        code = """
def status(*lines, **named):
    got = ask("/ok", *lines, "Connection: close", method="POST", **named)
    print(got.split(b" ")[1].decode() if got else "closed")
for header in %r:
    status("Content-Length: 0", header)
    status("Transfer-Encoding: chunked", body=b"2\\r\\nhi\\r\\n0\\r\\n" + header.encode() + b"\\r\\n\\r\\n")
""" % self.HEADERS
        answer = self.inside(code, *self.rules(rules))
        return answer["stdout"].split(), answer

    def test_no_header_stands_for_another_method_or_path_than_was_judged(self):
        for rule in ({"methods": ["POST"]}, {"paths": ["/ok"]}):
            codes, answer = self.answers({"host": HOST, **rule})
            self.assertEqual(codes, ["400"] * 12, answer)
            self.assertIn(f"POST {URL}/ok", self.denials(answer, "http"))
            self.assertEqual(self.seen(), [])

    def test_where_every_request_is_allowed_they_go_on(self):
        codes, answer = self.answers({"host": HOST})
        self.assertEqual(codes, ["200"] * 12, answer)


    def test_no_credential_stands_in_a_header_that_frames(self):
        for name in ("Content_Length", "transfer_encoding", "Content-Length"):
            answer = self.sh("true", *self.rules(credentials=({**BEARER, "header": name},)))
            self.assertEqual((answer["status"], answer["error"]["where"]), ("error", "/network/credentials/0/header"))


    def test_trailers_are_still_asked_for_where_answers_are_searched(self):
        answer = self.sh(f"for te in trailers Trailers gzip 'gzip, trailers'; do"
                         f" curl -sS -o out -H \"TE: $te\" -H 'Connection: TE' {URL}/; done",
                         *self.rules(credentials=(BEARER,)))
        self.assertEqual([seen["headers"].get("te") for seen in self.seen()],
                         ["trailers", "Trailers", None, None], answer)

    def test_a_body_that_is_framed_in_two_ways_keeps_its_head_from_the_origin(self):
        sink = os.path.join(self.place, "sink")
        for chunks, arrives in (("5\r\nhelloX\r\n0\r\n\r\n", False), ("2\r\nhi\r\n0\r\nContent-Length: 5\r\n\r\n", False),
                                ("0x2\r\nhi\r\n0\r\n\r\n", False), ("2\r\nhi\r\n0\r\n\r\n", True)):
            open(sink, "w").close()
            self.inside(f"""
with socket.create_connection(("allowed.test", 7001), timeout=20) as s:
    s.sendall(request("/", "Transfer-Encoding: chunked", method="POST", host="allowed.test:7001", body={chunks!r}.encode()))
    s.shutdown(socket.SHUT_WR)
    s.settimeout(3)
    print(rest(s)[:12])
""", *self.rules(({"host": "allowed.test:7001"},), allow=("allowed.test:7001",)))
            harness.until(lambda: os.path.getsize(sink) > 0, 10 if arrives else 0.3)
            self.assertEqual(os.path.getsize(sink) > 0, arrives, chunks)


class Values(Hostile):
    VALUE = "pa&ss<wor>d+12='x"

    def test_echoes_in_the_escapes_of_json_and_html_are_not_shown(self):
        self.ENV = {"TOKEN": self.VALUE}
        said = [r"pa\u0026ss\u003cwor\u003ed+12='x", r"pa\u0026ss\u003Cwor\u003Ed\u002B12=\u0027x",
                r"pa\u0026ss\u003cwor\u003ed+12\u003d\u0027x", "pa&amp;ss&lt;wor&gt;d&#43;12=&#39;x",
                "pa&amp;ss&lt;wor&gt;d&#x2B;12=&#x27;x", "pa&amp;ss&lt;wor&gt;d&#x2b;12=&#x27;x"]
        body = "\n".join(said).encode()
        self.canned("echo", b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        answer = self.sh(f"curl -sS -H \"Authorization: Bearer $TOKEN\" {URL}/canned/echo -o out",
                         *self.rules(credentials=(BEARER,)))
        self.assertEqual(answer["exit_code"], 0, answer)
        got = self.got("out")
        self.assertEqual((len(got), got.count(b"\n")), (len(body), len(said) - 1))
        self.assertNotIn(b"wor", got)

    def test_a_short_value_is_warned_of(self):
        for value, is_short in (("test", True), ("test1234", False)):
            self.ENV = {"TOKEN": value}
            answer = self.sh("true", *self.rules(credentials=(BEARER,)))
            told = [line for line in answer["sandbox"]["warnings"] if "TOKEN" in line]
            self.assertEqual(len(told), int(is_short), answer["sandbox"])


if __name__ == "__main__":
    unittest.main()
