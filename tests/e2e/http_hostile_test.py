# SPDX-License-Identifier: Apache-2.0
"""The gateway's HTTP under clients and origins that mean harm: what is framed in two ways, echoes of a
credential in every form, hellos that hide their name, streams that never end."""

import base64
import gzip
import json
import os
import re
import zlib

from http_test import HOST, SECRET, Http
from network_harness import PYTHON

PLAIN = "allowed.test:8081"
BEARER = {"name": "TOKEN", "host": HOST, "header": "Authorization", "value": "Bearer ${secret}",
          "from": {"env": "TOKEN"}}
# What the programs inside begin with.
PRELUDE = """if True:
    import os, socket, ssl, struct
    TOKEN = os.environ.get("TOKEN", "")
    def connected(protocols=(), port=8443, name="allowed.test", sni=None):
        context = ssl.create_default_context()
        context.check_hostname = sni is None
        if protocols: context.set_alpn_protocols(list(protocols))
        plain = socket.create_connection((name, port), timeout=20)
        return context.wrap_socket(plain, server_hostname=sni or name)
    def rest(s):
        got = b""
        try:
            while part := s.recv(65536): got += part
        except OSError: pass
        return got
    def request(target, *lines, method="GET", host="allowed.test:8443", body=b""):
        head = [f"{method} {target} HTTP/1.1", f"Host: {host}", *lines]
        return "\\r\\n".join([*head, "", ""]).encode("latin-1") + body
    def ask(*arguments, **named):
        with connected() as s:
            s.sendall(request(*arguments, **named))
            return rest(s)
"""


class Hostile(Http):
    ENV = {"TOKEN": SECRET}

    def inside(self, code, *flags):
        body = "".join(f"    {line}\n" for line in code.strip("\n").splitlines())
        answer = self.py(PRELUDE + body, *flags, "--timeout", "100s")
        self.assertEqual(answer["exit_code"], 0, answer)
        return answer

    def canned(self, name, data):
        with open(os.path.join(self.place, name), "wb") as file:
            file.write(data)

    def got(self, name):
        with open(os.path.join(self.work, name), "rb") as file:
            return file.read()


class Framing(Hostile):
    # After the published lists of ways to hide a transfer coding from one of two servers.
    CODINGS = ["Transfer-Encoding: xchunked", "Transfer-Encoding : chunked", "Transfer-Encoding:\tchunked",
               " Transfer-Encoding: chunked", "X: x\nTransfer-Encoding: chunked",
               "Transfer-Encoding\n: chunked", "Transfer-Encoding: chunked\r\nTransfer-Encoding: x",
               "Transfer-Encoding: x\r\nTransfer-Encoding: chunked", "Transfer-Encoding: \x0bchunked",
               "Transfer-Encoding: 'chunked'", 'Transfer-Encoding: "chunked"', "Transfer-Encoding: chunked\x00",
               "Transfer-Encoding: identity, chunked", "Transfer-Encoding: chunked, identity",
               "Transfer_Encoding: chunked", "TRANSFER-ENCODING: CHUNKED", "Transfer-Encoding: chunk",
               "Transfer-Encoding:\xffchunked", "Transfer-Encoding:\r\n chunked", "Transfer-Encoding: ,chunked",
               "X: y\r\n\tTransfer-Encoding: chunked", "\x00Transfer-Encoding: chunked",
               "Transfer-Encoding: chunked;q=1", "Transfer-Encoding: gzip, chunked"]
    LENGTHS = ["Content-Length: 0x5", "Content-Length: 5 5", "Content-Length: -5", "Content-Length: 5\x00",
               "Content-Length: 5\r\ncontent-length: 5", "Content-Length: ,5", "Content-Length : 5",
               "Content-Length: 5\r\nContent_Length: 50", "Content-Length: 99999999999999999999",
               "Content-Length: 5\n", "Content-Length:\r\n 5", "Content-Length: \xb2"]
    CHUNKS = ["0x5\r\nhello\r\n0\r\n\r\n", "+5\r\nhello\r\n0\r\n\r\n", "5 \r\nhello\r\n0\r\n\r\n",
              "5\nhello\r\n0\r\n\r\n", "5\r\nhelloX\r\n0\r\n\r\n", "-0\r\n\r\n", "\r\n0\r\n\r\n",
              "FFFFFFFFFFFFFFFF5\r\nhello\r\n0\r\n\r\n", "5\r\nhello\n0\r\n\r\n", "5;a\rb\r\nhello\r\n0\r\n\r\n",
              "0\r\nContent-Length: 5\r\n\r\n", "0\r\nX: a\nb\r\n\r\n", "0\r\nTransfer_Encoding: x\r\n\r\n",
              "5;" + "x" * 5000 + "\r\nhello\r\n0\r\n\r\n"]

    def test_no_spelling_of_a_length_or_a_coding_passes_beside_another(self):
        code = """
def status(*lines, body):
    got = ask("/", *lines, "Connection: close", method="POST", body=body.encode("latin-1"))
    print(got.split(b" ")[1].decode() if got else "closed")
for coding in %r:
    status("Content-Length: 5", coding, body="0\\r\\n\\r\\n")
for length in %r:
    status(length, body="hello")
for chunks in %r:
    status("Transfer-Encoding: chunked", body=chunks)
""" % (self.CODINGS, self.LENGTHS, self.CHUNKS)
        answer = self.inside(code, *self.rules(({"host": HOST},)))
        lines = answer["stdout"].splitlines()
        tried = self.CODINGS + self.LENGTHS + self.CHUNKS
        self.assertEqual(len(lines), len(tried), answer)
        for line, what in zip(lines, tried):
            self.assertIn(line, ("400", "403"), what)
        # A coding of its own ends the head before a byte of it has gone on.
        self.assertEqual([seen["body"] for seen in self.seen()], [], answer)

    def test_another_spelling_of_the_host_is_another_host(self):
        hosts = ["[allowed.test]:8443", "allowed.test", "allowed.test:08443", "allowed.test:8443:8443",
                 "u@allowed.test:8443", "allowed.test..:8443", "allowed.test:8443, allowed.test:8443"]
        answer = self.inside("""
for host in %r:
    print(ask("/", "Connection: close", host=host).split(b" ")[1].decode())
""" % hosts, *self.rules(({"host": HOST},)))
        for line, host in zip(answer["stdout"].split(), hosts, strict=True):
            self.assertIn(line, ("400", "403"), host)
        self.assertEqual(self.seen(), [])

    def test_a_head_that_is_too_large_is_refused(self):
        answer = self.inside("""
for lines in (["X: " + "a" * 70000], [f"X-{i}: {i}" for i in range(300)]):
    print(ask("/", *lines).split(b" ")[1].decode())
""", *self.rules(({"host": HOST},)))
        self.assertEqual(answer["stdout"].split(), ["400", "400"], answer)
        self.assertEqual(self.seen(), [])

    def test_trailers_go_on_both_ways(self):
        self.canned("trailers", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-End\r\n\r\n"
                                b"2\r\nok\r\n0\r\nX-End: yes\r\n\r\n")
        answer = self.inside("""
ask("/", "Transfer-Encoding: chunked", "Connection: close", method="POST",
    body=b"2\\r\\nhi\\r\\n0\\r\\nX-Sent: too\\r\\n\\r\\n")
print(ask("/canned/trailers").decode())
""", *self.rules(({"host": HOST},)))
        self.assertIn("X-End: yes", answer["stdout"])
        self.assertEqual(self.seen()[0]["trailers"], ["X-Sent: too"])

    def test_slow_half_closed_and_early(self):
        """A body that comes byte by byte holds nobody up; an end of what is asked is none of the answer;
        an answer that is there before the request is whole is passed on."""
        answer = self.inside("""
slow = connected()
slow.sendall(request("/slow", "Content-Length: 20", "Connection: close", method="POST", body=b"x"))
print(ask("/other", "Connection: close").split(b" ")[1].decode())
for _ in range(19): slow.sendall(b"x")
print(rest(slow).split(b" ")[1].decode())
with socket.create_connection(("allowed.test", 8081), timeout=20) as half:
    half.sendall(request("/half", host="allowed.test:8081"))
    half.shutdown(socket.SHUT_WR)
    print(rest(half).split(b" ")[1].decode())
with connected() as early:
    early.sendall(request("/early", "Content-Length: 100000000", method="POST", body=b"x" * 1000))
    early.settimeout(2)  # the origin still waits for the rest
    print(rest(early).split(b" ")[1].decode())
""", *self.rules(({"host": HOST}, {"host": PLAIN}), allow=(HOST, PLAIN)))
        self.assertEqual(answer["stdout"].split(), ["200", "200", "200", "413"], answer)
        self.assertEqual([(seen["target"], seen["body"]) for seen in self.seen()],
                         [("/other", ""), ("/slow", "x" * 20), ("/half", "")])

    # What an origin could say that two readers would take apart in two ways, or that has no end.
    ANSWERS = ["HTTP/1.1 200 OK\r\nX: a\nSet-Cookie: b\r\nContent-Length: 2\r\n\r\nok",
               "HTTP/1.1 200 OK\r\nX: a\rSet-Cookie: b\r\nContent-Length: 2\r\n\r\nok",
               "HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 2\r\n\r\nok",
               "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\nok",
               "HTTP/1.1 200 OK\r\nX : a\r\nContent-Length: 2\r\n\r\nok",
               "HTTP/1.1 200 O\rK\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.1 200 O\0K\r\nContent-Length: 2\r\n\r\nok",
               "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent_Length: 3\r\n\r\nokx",
               "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok", "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok",
               "HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, identity\r\n\r\n2\r\nok\r\n0\r\n\r\n",
               "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
               "HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n\r\nok",
               "HTTP/1.1 099 OK\r\nContent-Length: 2\r\n\r\nok", "ok", "\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
               "HTTP/1.1 204 No\r\nContent-Length: 2\r\n\r\nok", "\x16\x03\x01\0\x05hello\r\n\r\n",
               "HTTP/1.1 200 OK\r\nX: " + "x" * 70000 + "\r\nContent-Length: 2\r\n\r\nok", "x" * 200000,
               "HTTP/1.1 200 OK\r\n" + "X: y\r\n" * 300 + "Content-Length: 2\r\n\r\nok",
               "HTTP/1.1 103 Hint\r\n\r\n" * 100 + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"]

    def test_no_answer_passes_that_could_be_read_in_two_ways(self):
        for i, text in enumerate(self.ANSWERS):
            self.canned(str(i), text.encode("latin-1"))
        answer = self.inside(f"""
for i in range({len(self.ANSWERS)}):
    got = ask(f"/canned/{{i}}")
    while got.startswith(b"HTTP/1.1 103"): got = got[got.index(b"\\r\\n\\r\\n") + 4:]
    print(got.split(b" ")[1].decode() if got else "closed", b"Set-Cookie" in got)
""", *self.rules(({"host": HOST},)))
        for text, line in zip(self.ANSWERS, answer["stdout"].splitlines(), strict=True):
            self.assertEqual(line, "502 False", text[:100])

    def test_what_is_wrong_behind_the_head_of_an_answer_is_told(self):
        body = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2"
        for name, rest in (("extension", ";" + "x" * 200000), ("trailers", "\r\nok\r\n0\r\n" + "X: y\r\n" * 20000),
                           ("cut", "\r\nok\r\n"), ("whole", "\r\nok\r\n0\r\n\r\n")):
            self.canned(name, (body + rest).encode())
        answer = self.inside("for name in ('extension', 'trailers', 'cut', 'whole'): ask('/canned/' + name)",
                             *self.rules(({"host": HOST},)))
        told = sorted(denial["target"] for denial in answer["denials"] if denial["operation"] == "upstream")
        self.assertEqual([re.sub(r".*/canned/(\w+) \(.+\)", r"\1", target) for target in told],
                         ["cut", "extension", "trailers"], answer)

    def test_many_that_are_slow_hold_nobody_up(self):
        """Three hundred connections that each have said a part of something: a hello, a head, a body, a chunk."""
        answer = self.inside("""
waiting = []
for i in range(100):
    waiting.append(socket.create_connection(("allowed.test", 8081), timeout=20))
    waiting[-1].sendall(b"\\x16\\x03\\x01\\x02")
for part in (b"GET / HT", b"GET / HTTP/1.1\\r\\nHo", request("/", "Content-Length: 9", method="POST", body=b"x"),
             request("/", "Transfer-Encoding: chunked", method="POST", body=b"5\\r\\nhe")):
    for i in range(50):
        waiting.append(connected())
        waiting[-1].sendall(part)
for i in range(20): print(ask("/x", "Connection: close").split(b" ")[1].decode())
""", *self.rules(({"host": HOST}, {"host": PLAIN}), allow=(HOST, PLAIN)))
        self.assertEqual(answer["stdout"].split(), ["200"] * 20, answer)

    def test_what_is_compressed_is_not_unpacked(self):
        """Without a credential nothing is looked for, and a bomb is for whoever asked for it."""
        bomb = gzip.compress(bytes(20 << 20))
        self.canned("bomb", b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
                    + bomb)
        answer = self.inside("""
got = ask("/canned/bomb")
print(len(got) - got.index(b"\\r\\n\\r\\n") - 4)
""", *self.rules(({"host": HOST},)))
        self.assertEqual(answer["stdout"], f"{len(bomb)}\n", answer)


def chunked(*pieces, end=b"\r\n"):
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n" + end


class Echoes(Hostile):
    VALUE = SECRET.encode()
    BASIC = base64.b64encode(b"me:" + VALUE)
    INNER = base64.b64encode(b"x=" + VALUE + b"&")
    HEAD = b"HTTP/1.1 200 OK\r\n"
    SPLIT = b"Transfer-Encoding: chunked\r\n\r\n"
    FORMS = {
        "plain": HEAD + b"Content-Length: %d\r\n\r\n" % (len(VALUE) + 2) + b"<" + VALUE + b">",
        "until-end": HEAD + b"\r\n<" + VALUE + b">",
        "bytewise": HEAD + SPLIT + chunked(*map(bytes, zip(b"<" + VALUE + b">"))),
        "base64": HEAD + SPLIT + chunked(BASIC[:7], BASIC[7:14], BASIC[14:35], BASIC[35:]),
        "inner-base64": HEAD + SPLIT + chunked(INNER[:9], INNER[9:]),
        "percent": HEAD + SPLIT + chunked(VALUE.replace(b"_", b"%5f")),
        "header": HEAD + b"X-Echo: " + VALUE + b"\r\nContent-Length: 2\r\n\r\nok",
        "cookie": HEAD + b"Set-Cookie: t=" + VALUE + b"; Path=/\r\nContent-Length: 2\r\n\r\nok",
        "reason": b"HTTP/1.1 200 " + VALUE + b"\r\nContent-Length: 2\r\n\r\nok",
        "trailer": HEAD + SPLIT + chunked(b"ok", end=b"X-Echo: " + VALUE + b"\r\n\r\n"),
        "extension": HEAD + SPLIT + b"2;x=" + VALUE + b"\r\nok\r\n0;y=" + VALUE + b"\r\n\r\n",
        "interim": b"HTTP/1.1 103 Early Hints\r\nLink: " + VALUE + b"\r\n\r\n" + HEAD
                   + b"Content-Length: 2\r\n\r\nok",
        "error": b"HTTP/1.1 401 No\r\nContent-Length: %d\r\n\r\n" % len(VALUE) + VALUE,
    }
    ENCODED = {
        "gzip": b"Content-Encoding: gzip\r\n", "x-gzip": b"Content-Encoding: x-gzip\r\n",
        "deflate": b"Content-Encoding: deflate\r\n", "twice": b"Content-Encoding: gzip, gzip\r\n",
        "two-lines": b"Content-Encoding: identity\r\nContent-Encoding: gzip\r\n",
        "unknown": b"Content-Encoding: zz\r\n",
    }

    def test_every_form_is_redacted_or_refused(self):
        for name, data in self.FORMS.items():
            self.canned(name, data)
        packed = {"deflate": zlib.compress(self.VALUE), "twice": gzip.compress(gzip.compress(self.VALUE))}
        for name, field in self.ENCODED.items():
            body = packed.get(name, gzip.compress(self.VALUE))
            self.canned(name, self.HEAD + field + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.canned("coding", self.HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n"
                    + chunked(gzip.compress(self.VALUE)))
        names = [*self.FORMS, *self.ENCODED, "coding"]
        answer = self.inside(f"""
for name in {names!r}:
    open(name, "wb").write(ask("/canned/" + name, "Authorization: Bearer " + TOKEN))
open("placeholder", "w").write(TOKEN)
""", *self.rules(credentials=(BEARER,)))
        forms = [self.VALUE, self.BASIC[4:-4], self.INNER[4:-4]]
        placeholder = self.got("placeholder")
        for name in names:
            got = self.got(name)
            for form in forms:
                self.assertNotIn(form, got, name)
            if name in self.FORMS:
                self.assertRegex(got, rb"^HTTP/1.1 (103|200|401) ", name)
            else:
                self.assertRegex(got, rb"^HTTP/1.1 502 ", name)
        for name in ("plain", "until-end", "header", "reason", "trailer", "interim", "error"):
            self.assertIn(placeholder, self.got(name), name)
        self.assertEqual({seen["headers"]["accept-encoding"] for seen in self.seen()}, {"identity"})
        self.assertNotIn(SECRET, json.dumps(answer))

    def test_no_other_host_with_rules_shows_a_value(self):
        """The same server by another port, another name: it may know what it was sent elsewhere."""
        others = (("allowed.test", 8081), ("other.test", 8443))
        packed = gzip.compress(self.VALUE)
        self.canned("packed", self.HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed) + packed)
        for name in ("plain", "until-end", "bytewise", "trailer"):
            self.canned(name, self.FORMS[name])
        hosts = [f"{name}:{port}" for name, port in others]
        answer = self.inside(f"""
for name, port in {others!r}:
    for form in ("plain", "until-end", "bytewise", "trailer", "packed"):
        s = connected(port=port, name=name) if port == 8443 else socket.create_connection((name, port), timeout=20)
        s.sendall(request("/canned/" + form, "Accept-Encoding: gzip", host=f"{{name}}:{{port}}"))
        open(f"{{form}}-{{name}}", "wb").write(rest(s))
        s.close()
open("placeholder", "w").write(TOKEN)
""", *self.rules([{"host": host} for host in hosts], (BEARER,), allow=(HOST, *hosts)))
        for name, _ in others:
            for form in ("plain", "until-end", "bytewise", "trailer"):
                got = self.got(f"{form}-{name}").replace(b"\r\n1\r\n", b"")
                self.assertTrue(got.startswith(b"HTTP/1.1 200 "), (form, answer))
                self.assertNotIn(self.VALUE[20:], got, form)
            self.assertIn(self.got("placeholder"), self.got(f"plain-{name}"))
            self.assertRegex(self.got(f"packed-{name}"), b"^HTTP/1.1 502 ")
        self.assertEqual({seen["headers"]["accept-encoding"] for seen in self.seen()}, {"identity"})

    def test_no_head_shows_a_value_whatever_its_status(self):
        value = SECRET.encode()
        echo = b"X-Echo: " + value + b"\r\n" + value + b": y\r\n\r\n"
        self.canned("early", b"HTTP/1.1 103 " + value + b"\r\n" + echo
                    + b"HTTP/1.1 200 " + value + b"\r\nContent-Length: 0\r\n" + echo)
        self.canned("upgrade", b"HTTP/1.1 101 " + value + b"\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n" + echo + b"\x81\x02ok")
        answer = self.inside("""
for name in ("early", "upgrade"):
    got = ask("/canned/" + name, "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
              "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Authorization: Bearer " + TOKEN)
    print(got.count(TOKEN.encode()), got.count(b"x-redacted"))
    open(name, "wb").write(got)
""", *self.rules(credentials=(BEARER,)))
        self.assertEqual(answer["stdout"].split("\n"), ["4 2", "2 1", ""], answer)
        self.assertTrue(self.got("upgrade").endswith(b"ok"), self.got("upgrade"))
        for name in ("early", "upgrade"):
            self.assertNotIn(value[20:].lower(), self.got(name).lower(), name)

    def test_websockets_are_searched_message_by_message(self):
        answer = self.inside("""
def upgraded(target):
    s = connected()
    s.sendall(request(target, "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Authorization: Bearer " + TOKEN,
                      "Sec-WebSocket-Extensions: permessage-deflate"))
    got = b""
    while b"\\r\\n\\r\\n" not in got: got += s.recv(4096)
    assert b" 101 " in got, got
    return s, got.split(b"\\r\\n\\r\\n", 1)[1]
def frame(first, text, key=b"abcd"):
    return bytes([first, 0x80 | len(text)]) + key + bytes(c ^ key[i % 4] for i, c in enumerate(text))
def message(data):
    text, pings = b"", b""
    while data:
        size = data[1] & 0x7f
        if data[0] & 8: pings += data[2:2 + size]
        else: text += data[2:2 + size]
        data = data[2 + size:]
    return text, pings
s, got = upgraded("/ws-cut")
while not got.endswith(b" end"): got += s.recv(4096)
print(message(got) == (b"Bearer " + TOKEN.encode() + b" end", b"Bearer " + TOKEN.encode()))
open("cut", "wb").write(got)
s.close()
s, got = upgraded("/ws")
s.sendall(frame(0x81, b"hello"))
print(s.recv(100) and "echoed")
word = TOKEN.encode()
s.sendall(frame(0x01, b"x" + word[:9], b"1234") + frame(0x00, word[9:], b"5678") + frame(0x80, b"y"))
print(len(rest(s)) < len(word))
for wrong in (frame(0xc1, b"hi"), frame(0x83, b"hi"), frame(0x80, b"hi"), frame(0x09, b"hi"), b"GET / HTTP/1.1"):
    s, got = upgraded("/ws")
    s.sendall(wrong)
    print(s.recv(100) == wrong)
    s.sendall(word)
    print(len(rest(s)) < len(word))
""", *self.rules(credentials=(BEARER,)))
        self.assertEqual(answer["stdout"].split(), ["True", "echoed", "True"] + ["True"] * 10, answer)
        self.assertNotIn(SECRET.encode()[20:], self.got("cut"))
        self.assertTrue(all("sec-websocket-extensions" not in seen["headers"] for seen in self.seen()))
        found = self.denials(answer, "http")
        self.assertTrue(any("TOKEN" in each["grant"] for each in found.values()), found)


class Hellos(Hostile):
    def test_no_hello_makes_a_ruled_host_opaque(self):
        """The server sends back what it is sent: a hello that comes back was passed on."""
        code = """
def record(payload, version=1):
    return bytes([22, 3, version]) + struct.pack(">H", len(payload)) + payload
def extension(kind, data): return struct.pack(">HH", kind, len(data)) + data
def names(*entries):
    listed = b"".join(bytes([kind]) + struct.pack(">H", len(name)) + name for kind, name in entries)
    return extension(0, struct.pack(">H", len(listed)) + listed)
def alpn(*entries):
    listed = b"".join(bytes([len(entry)]) + entry for entry in entries)
    return extension(16, struct.pack(">H", len(listed)) + listed)
def hello(*extensions, version=b"\\3\\3", step=0):
    data = b"".join(extensions)
    body = (version + bytes(32) + b"\\0" + b"\\0\\4\\xc0\\x2b\\x13\\1" + b"\\1\\0" + struct.pack(">H", len(data)) + data)
    message = b"\\1" + struct.pack(">I", len(body))[1:] + body
    step = step or len(message)
    return b"".join(record(message[i:i + step]) for i in range(0, len(message), step))
good = names((0, b"allowed.test"))
ech = extension(0xfe0d, b"\\0\\0\\1\\0\\1\\7" + struct.pack(">H", 32) + bytes(32) + struct.pack(">H", 64) + bytes(64))
tried = {
    "plain": hello(good), "ech": hello(good, ech), "ech first": hello(ech, good),
    "ech of another": hello(ech, names((0, b"other.test"))), "none": hello(), "upper": hello(names((0, b"ALLOWED.test"))),
    "dot": hello(names((0, b"allowed.test."))), "two": hello(names((0, b"allowed.test"), (0, b"other.test"))),
    "kind": hello(names((7, b"allowed.test"))), "empty": hello(names((0, b""))), "twice": hello(good, good),
    "nul": hello(names((0, b"allowed.test\\0.other.test"))), "in pieces": hello(good, step=7),
    "h3": hello(good, alpn(b"h3")), "acme": hello(good, alpn(b"acme-tls/1")), "no protocol": hello(good, alpn()),
    "empty protocol": hello(good, alpn(b"")), "old": hello(good, version=b"\\3\\1"), "ssl2": b"\\x80\\x2e\\1\\0\\2" + bytes(43),
    "more": hello(good) + record(b"\\1" * 40), "data first": b"\\x17\\3\\3\\0\\1x" + hello(good),
    "alert first": b"\\x15\\3\\1\\0\\2\\1\\0" + hello(good), "text first": b"x\\r\\n" + hello(good),
}
for name, data in tried.items():
    with socket.create_connection(("allowed.test", 7000), timeout=20) as s:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        got = rest(s)
    print(name, "passed" if data[:20] in got or b"<end>" in got else "ended")
"""
        answer = self.inside(code, *self.rules(({"host": "allowed.test:7000"},), allow=("allowed.test:7000",)))
        lines = answer["stdout"].splitlines()
        self.assertEqual(len(lines), 23, answer)
        self.assertEqual([line for line in lines if not line.endswith(" ended")], [])

    def test_a_protocol_that_was_not_agreed_on_is_not_spoken(self):
        answer = self.inside("""
preface = b"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n" + bytes(3) + b"\\4" + bytes(5)
for protocols in ([], ["http/1.1"], ["h2"], ["h2", "http/1.1"], ["h3"], ["http/1.1", "h2", "spdy/3"]):
    with connected(protocols) as s:
        s.sendall(preface)
        got = rest(s)
        print(s.selected_alpn_protocol(), got.split(b" ")[1].decode() if got else "closed")
""", *self.rules(({"host": HOST},)))
        lines = answer["stdout"].splitlines()
        self.assertEqual(len(lines), 6, answer)
        for line in lines:
            self.assertIn(line.split(), (["None", "400"], ["http/1.1", "400"]), answer)
        self.assertEqual(self.seen(), [])

    def test_a_connection_is_not_negotiated_anew(self):
        answer = self.sh("(printf 'R\\n'; sleep 2) | openssl s_client -tls1_2 -connect allowed.test:8443"
                         " -servername allowed.test 2>&1 | grep -ci 'no renegotiation'",
                         *self.rules(({"host": HOST},)))
        self.assertEqual(answer["stdout"], "1\n", answer)


class Certificates(Hostile):
    """Origins of the host's own, each wrong in a way of its own."""

    SERVER = """if True:
        import socket, ssl, sys, threading
        def serve(port, path, is_old):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.set_ciphers("DEFAULT@SECLEVEL=0")
            context.minimum_version = ssl.TLSVersion.TLSv1
            if is_old: context.maximum_version = ssl.TLSVersion.TLSv1_1
            context.load_cert_chain(path + ".pem", path + ".key")
            listening = socket.create_server(("10.77.0.2", port))
            while True:
                plain, _ = listening.accept()
                try:
                    with context.wrap_socket(plain, server_side=True) as s:
                        s.recv(4096)
                        s.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
                except OSError: pass
        for port, name in enumerate(sys.argv[2:], 9001):
            threading.Thread(target=serve, args=(port, f"{sys.argv[1]}/{name}", name == "old")).start()
    """
    # What is wrong with each: its names, its use, more words for openssl-ca, who has signed it; and the reason.
    OWN, SERVES = "subjectAltName=DNS:own.test", "extendedKeyUsage=serverAuth"
    DATED = lambda begin, end: ("-startdate", begin + "0101000000Z", "-enddate", end + "0101000000Z")
    KINDS = {
        "good": ((OWN, SERVES), (), "ca", None),
        "name": (("subjectAltName=DNS:another.test", SERVES), (), "ca", "hostname mismatch"),
        "subject": ((SERVES,), (), "ca", "hostname mismatch"),
        "partial": (("subjectAltName=DNS:o*n.test,DNS:*.own.test", SERVES), (), "ca", "hostname mismatch"),
        "address": (("subjectAltName=IP:10.77.0.2,email:a@own.test,URI:https://own.test", SERVES), (), "ca", "hostname mismatch"),
        "nul": (("subjectAltName=DNS:own.testx.other.test", SERVES), (), "ca", "hostname mismatch"),
        "expired": ((OWN, SERVES), DATED("2020", "2021"), "ca", "has expired"),
        "future": ((OWN, SERVES), DATED("2090", "2091"), "ca", "not yet valid"),
        "client": ((OWN, "extendedKeyUsage=clientAuth"), (), "ca", "purpose"),
        "sha1": ((OWN, SERVES), ("-md", "sha1"), "ca", "too weak"),
        "small": ((OWN, SERVES), (), "ca", "key too weak"),
        "old": ((OWN, SERVES), (), "ca", "protocol"),
        "critical": ((OWN, SERVES, "1.2.3.4=critical,ASN1:NULL"), (), "ca", "unhandled critical extension"),
        "stranger": ((OWN, SERVES), (), "stranger-ca", "unable to get local issuer"),
        "same name": ((OWN, SERVES), (), "same-ca", "signature failure|local issuer"),
        "of a leaf": ((OWN, SERVES), (), "good", "invalid CA|issuer|basic constraints"),
        "constrained": ((OWN, SERVES), (), "narrow-ca", "permitted subtree"),
        "old authority": ((OWN, SERVES), (), "old-ca", "has expired"),
        "unsigned": ((OWN,), (), None, "self-signed|self signed"),
        "altered": ((OWN, SERVES), (), "ca", "signature failure|bad signature|asn1"),
    }

    def make(self, name, extensions, more, issuer, subject="own.test"):
        order, place = self.world.order, self.place
        openssl = lambda *words: self.assertEqual(order(argv=["openssl", *words], cwd=place)["code"], 0, words)
        kind = ("rsa:1024",) if name == "small" else ("ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
        openssl("req", "-newkey", *kind, "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={subject}")
        files = {"own.conf": "[ca]\ndefault_ca=c\n[c]\ndatabase=index\nserial=serial\nnew_certs_dir=.\ndefault_md=sha256\n"
                             "policy=p\nunique_subject=no\n[p]\ncommonName=supplied\n[e]\n" + "\n".join(extensions) + "\n",
                 "index": "", "serial": "%x\n" % (len(os.listdir(place)) + 16)}
        for file, text in files.items():
            with open(os.path.join(place, file), "w") as out:
                out.write(text)
        signer = ("-selfsign", "-keyfile", f"{name}.key") if issuer is None else \
            ("-cert", f"{issuer}.pem", "-keyfile", f"{issuer}.key")
        openssl("ca", "-batch", "-config", "own.conf", "-extensions", "e", *signer, "-in", f"{name}.csr", "-out",
                f"{name}.pem", "-notext", *(more if "-startdate" in more else (*more, "-days", "2")))

    def test_each_is_refused_with_its_reason(self):
        order, place = self.world.order, self.place
        path = lambda name: os.path.join(place, name)
        is_authority = ("basicConstraints=critical,CA:TRUE", "keyUsage=keyCertSign")
        self.make("ca", is_authority, (), None, "an authority")
        self.make("stranger-ca", is_authority, (), None, "a stranger")
        self.make("same-ca", is_authority, (), None, "an authority")
        self.make("narrow-ca", (*is_authority, "nameConstraints=critical,permitted;DNS:other.test"), (), "ca", "narrow")
        self.make("old-ca", is_authority, Certificates.DATED("2020", "2021"), "ca", "old")
        for name, (extensions, more, issuer, _) in self.KINDS.items():
            self.make(name, extensions, more, issuer)
            if issuer in ("good", "narrow-ca", "old-ca"):
                with open(path(f"{name}.pem"), "a") as file, open(path(f"{issuer}.pem")) as chain:
                    file.write(chain.read())
        with open(path("altered.pem")) as file:
            lines = file.read().splitlines()
        last = bytearray(base64.b64decode("".join(lines[1:-1])))
        last[-1] ^= 1
        with open(path("altered.pem"), "w") as file:
            file.write("\n".join([lines[0], base64.b64encode(last).decode(), lines[-1], ""]))
        order(argv=[PYTHON, "-c", self.SERVER, place, *self.KINDS], cwd=place, background="wrong")
        ports = range(9001, 9001 + len(self.KINDS))
        for port in ports:
            order(argv=["bash", "-c", f"until exec 3<>/dev/tcp/10.77.0.2/{port}; do sleep 0.05; done"], cwd=place)
        self.ENV = {"SSL_CERT_FILE": path("ca.pem")}
        hosts = [f"own.test:{port}" for port in ports]
        answer = self.sh("".join(f"curl -sSk -m 20 -o out -w '%{{http_code}} ' https://{host}/; " for host in hosts),
                         *self.rules([{"host": host} for host in hosts],
                                     allow=(*hosts, *(f"10.77.0.2:{port}" for port in ports))))
        reasons = self.denials(answer, "upstream")
        for port, code, (name, kind) in zip(ports, answer["stdout"].split(), self.KINDS.items()):
            with self.subTest(name):
                self.assertEqual(code, "502" if kind[3] else "200", reasons)
                if kind[3]:
                    (reason,) = [each for each in reasons if f":{port}/" in each]
                    self.assertRegex(reason, kind[3])
