# SPDX-License-Identifier: Apache-2.0
"""sbx-http against programs and origins that mean harm, over HTTP/2."""

import json
import os

import harness
from http_hostile_test import PRELUDE
from http_process_test import peaks_below
from http_record_test import SILENT
from http2_test import OverHttp2
from network_harness import PYTHON, requests_of


class Streams(OverHttp2):
    """HTTP/2 written by hand: nothing that a library would refuse to send is missing."""

    FRAMES = """
def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload
def text(value): return (bytes([len(value)]) if len(value) < 127 else b"\\x7f" + varint(len(value) - 127)) + value
def varint(n):
    out = b""
    while n > 127: out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])
def block(*fields): return b"".join(b"\\0" + text(name) + text(value) for name, value in fields)
GET = ((b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"own.test:8445"), (b":path", b"/x"))
POST = ((b":method", b"POST"), *GET[1:])
def spoken(*frames, end=True):
    s = connected(["h2"], 8445, "own.test")
    assert s.selected_alpn_protocol() == "h2"
    s.sendall(b"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n" + frame(4, 0, 0) + b"".join(frames))
    return s
def statuses(s, count=1):
    # What is answered on each stream: 200, another status, or how it ended.
    s.settimeout(5)
    data, out = b"", {}
    try:
        while len(out) < count:
            part = s.recv(65536)
            if not part: break
            data += part
            while len(data) >= 9 and len(data) >= 9 + (size := int.from_bytes(data[:3], "big")):
                kind, stream, payload = data[3], int.from_bytes(data[5:9], "big"), data[9:9 + size]
                data = data[9 + size:]
                if kind == 1: out.setdefault(stream, "200" if payload[:1] == b"\\x88" else "refused")
                if kind == 3: out.setdefault(stream, "reset")
                if kind == 7: return "gone"
    except OSError: pass
    return " ".join(out[stream] for stream in sorted(out)) or "closed"
"""

    def spoken(self, code, **rule):
        body = "".join(f"    {line}\n" for line in (self.FRAMES + code).splitlines())
        answer = self.py(PRELUDE + body, *self.ruled({"host": self.HOST, **rule}), "--timeout", "100s")
        self.assertEqual(answer["exit_code"], 0, answer)
        return answer

    def test_each_stream_is_recorded_once(self):
        answer = self.spoken("""
other = GET[:3] + ((b":path", b"/y"),)
s = spoken(frame(1, 5, 1, block(*GET)), frame(1, 4, 3, block(*POST)), frame(1, 5, 5, block(*other)))
os._exit(0)
""")
        found = requests_of(answer)
        self.assertEqual([one[:2] for one in found], [("GET", "/x"), ("POST", "/x"), ("GET", "/y")], answer)

    def test_answers_in_another_order_are_those_of_their_requests(self):
        answer = self.spoken("""
head = ((b":method", b"HEAD"),) + GET[1:]
s = spoken(frame(1, 4, 1, block(*POST)), frame(1, 5, 3, block(*head)))
statuses(s)
s.sendall(frame(0, 1, 1, b"body"))
statuses(s)
""")
        self.assertEqual(requests_of(answer), [("POST", "/x", 200), ("HEAD", "/x", 200)], answer)

    def test_what_would_be_more_than_one_request_elsewhere_is_none(self):
        answer = self.spoken("""
tried = [
    (*GET, (b"x", b"a\\r\\nHost: other.test")), (*GET, (b"x", b"a\\nb")), (*GET, (b"x", b"a\\0b")), (*GET, (b"x\\r\\ny", b"a")),
    (*GET, (b"x: y", b"a")), (*GET, (b"X", b"a")), (*GET, (b"", b"a")), (*GET, (b"transfer-encoding", b"chunked")),
    (*GET, (b"connection", b"close")), (*GET, (b"content-length", b"5")), (*GET, (b":path", b"/y")), (*GET, (b"te", b"gzip")),
    (*GET, (b"host", b"other.test")), (*GET[:3], (b":path", b"/x HTTP/1.1\\r\\nHost: other.test")), (*GET[:3], (b":path", b"")),
    (*GET[:3], (b":path", b"x")), (*GET[:3], (b":path", b"https://other.test/")), (*GET[:3], (b":path", b"/x\\r\\ny")), GET[:3],
    ((b":method", b"GET / HTTP/1.1\\r\\n"), *GET[1:]), ((b"x", b"a"), *GET), (*GET, (b":unknown", b"a")),
    (*GET[:2], (b":authority", b"other.test"), GET[3]), (*GET[:2], (b":authority", b"own.test:8445@other.test"), GET[3]),
    ((b":method", b"CONNECT"), (b":authority", b"own.test:8445")), ((b":method", b"CONNECT"), (b":protocol", b"websocket"), *GET[1:]),
    (GET[0], (b":scheme", b"http://other.test/?"), *GET[2:]), (*GET, (b"host", b"own.test:8445"), (b"host", b"own.test:8445")),
    (*GET, (b"content_length", b"5")), (*GET[:2], (b":authority", b"other.test"), GET[3], (b"host", b"own.test:8445")),
]
print(statuses(spoken(frame(1, 5, 1, block(*GET)))))
for fields in tried:
    print(statuses(spoken(frame(1, 5, 1, block(*fields)))))
for length, body in ((b"3", b"hello"), (b"9", b"hello"), (b"5, 5", b"hello"), (b"-5", b"hello")):
    print(statuses(spoken(frame(1, 4, 1, block(*POST, (b"content-length", length))), frame(0, 1, 1, body))))
""")
        lines = answer["stdout"].splitlines()
        self.assertEqual((lines[0], len(lines)), ("200", 35), answer)
        self.assertEqual([i for i, line in enumerate(lines[1:]) if "200" in line], [], lines)

    def test_a_client_that_reads_nothing_has_little_held_for_it(self):
        """And one that reads gets all of it, on many streams at once."""
        answer = self.spoken("""
import select, time
part = GET[:3] + ((b":path", b"/part"),)
asked = b"".join(frame(1, 5, 1 + 2 * i, block(*part)) for i in range(100))
def read(s, count):
    left, data = {}, b""
    while count:
        got = s.recv(65536)
        assert got
        data += got
        while len(data) >= 9 and len(data) >= 9 + (size := int.from_bytes(data[:3], "big")):
            kind, flags, stream = data[3], data[4], int.from_bytes(data[5:9], "big")
            if kind == 0 and size:
                left[stream] = left.get(stream, 0) + size
                more = struct.pack(">I", size)
                s.sendall(frame(8, 0, 0, more) + (b"" if flags & 1 else frame(8, 0, stream, more)))
            if kind == 0 and flags & 1: count -= 1
            assert kind not in (3, 7), (kind, data[9:9 + size])
            data = data[9 + size:]
    return sorted(set(left.values()))
one = spoken(asked)
print(read(one, 100), flush=True)
one.close()
two = spoken(asked)
time.sleep(3)
os._exit(0)
""")
        self.assertEqual(answer["stdout"], f"[{200 << 10}]\n", answer)
        read, unread = sorted(answer["connections"], key=lambda each: -each["bytes_in"])
        self.assertGreater(read["bytes_in"], 20_000_000, answer)
        self.assertLess(unread["bytes_in"], 3_000_000, answer)

    def test_many_large_heads_are_not_held_at_once(self):
        answer = self.spoken("""
large = block(*POST) + b"\\x40" + text(b"x") + text(b"y" * 4000) + b"\\xbe" * 14
again = block(*POST) + b"\\xbe" * 15
s = spoken(frame(1, 4, 1, large), *(frame(1, 4, 1 + 2 * i, again) for i in range(1, 40)))
how = statuses(s, 22).split()
print(sorted(set(how)))
s.sendall(b"".join(frame(0, 1, 1 + 2 * i) for i in range(10)))
print(statuses(s, 10))
""")
        self.assertEqual(answer["stdout"].splitlines(), ["['reset']", " ".join(["200"] * 10)], answer)

    def test_no_header_and_no_trailer_stands_for_another_method(self):
        answer = self.spoken("""
said = (b"x-http-method-override", b"DELETE")
print(statuses(spoken(frame(1, 5, 1, block(*POST, said)))))
print(statuses(spoken(frame(1, 4, 1, block(*POST)), frame(0, 0, 1, b"body"), frame(1, 5, 1, block(said)))))
""", methods=["POST"])
        self.assertEqual(answer["stdout"].split(), ["refused", "refused"], answer)
        self.assertEqual([one[2] for one in requests_of(answer)], [400, 400], answer)

    def test_no_trailer_reads_as_what_frames_a_request(self):
        answer = self.spoken("""
for trailers in (((b"x-a", b"1"), (b"x_a", b"2")), ((b"content_length", b"5"),), ((b"transfer_encoding", b"x"),),
                 ((b"trailer", b"x-a"),), ((b"content-length", b"4"),)):
    print(statuses(spoken(frame(1, 4, 1, block(*POST)), frame(0, 0, 1, b"body"), frame(1, 5, 1, block(*trailers)))))
print(statuses(spoken(frame(1, 4, 1, block(*POST)), frame(0, 0, 1, b"body"), frame(1, 5, 1, block((b"x-a", b"1"))))))
""")
        self.assertEqual(answer["stdout"].split(), ["refused"] * 5 + ["200"], answer)
        self.assertEqual([one[2] for one in requests_of(answer)], [400] * 5 + [200], answer)

    def test_what_cannot_be_read_is_recorded_with_what_could_be(self):
        answer = self.spoken("""
for fields in ((*GET, (b"X", b"a")), (*GET[:3], (b":path", b"/large?q"), *[(b"x", b"y" * 4000)] * 20),
               ((b":method", b"CONNECT"), (b":authority", b"own.test:8445")), GET[:3],
               (*GET[:3], (b":path", b"x y")), ((b":method", b"GE T"), *GET[1:])):
    statuses(spoken(frame(1, 1 if len(fields) > 20 else 5, 1, block(*fields)[:16000]),
                    *[frame(9, 4 if size + 16000 >= len(block(*fields)) else 0, 1, block(*fields)[size:size + 16000])
                      for size in range(16000, len(block(*fields)), 16000)]))
""")
        self.assertEqual(requests_of(answer), [("GET", "/x", 400), ("GET", "/large", 400),
                                               ("CONNECT", "own.test:8445", 403), ("GET", "/", 400),
                                               ("GET", "/", 400), ("(unreadable)", "/", 400)], answer)
        self.assertEqual(set(self.denials(answer, "http")),
                         {f"GET {self.URL}/x", f"GET {self.URL}/large", f"CONNECT {self.URL}/own.test:8445",
                          f"GET {self.URL}/", f"(unreadable) {self.URL}/"})

    def test_what_nobody_was_there_to_allow_is_refused_though_the_run_has_ended(self):
        reply = self.world.order(
            argv=["env", "SSL_CERT_FILE=" + self.cert, PYTHON, "-c", SILENT,
                  f"curl -sS -m 1 -d abc {self.URL}/x; true", harness.SBX_RUN, "serve",
                  *self.ruled({"host": self.HOST, "ask": True})], cwd=self.work)
        answer = json.loads(reply["stdout"])["result"]
        self.assertEqual(requests_of(answer), [("POST", "/x", 403)], answer)
        self.assertIn("ask = false", self.denials(answer, "http")[f"POST {self.URL}/x"]["grant"])

    def test_what_is_refused_while_a_value_is_renewed_is_named(self):
        place = os.path.join(self.base, "aside")
        os.mkdir(place)
        script = self.write("aside/give", f"cd {place}; [ ! -e once ] || sleep 2; touch once; echo secret-value-1\n")
        bound = {"name": "TOKEN", "host": self.HOST, "header": "Authorization",
                 "from": {"command": ["/bin/sh", script], "ttl_s": 1}}
        code = PRELUDE + "".join(f"    {line}\n" for line in (self.FRAMES + """
import time
time.sleep(1.1)
print(statuses(spoken(frame(1, 4, 1, block(*POST)), frame(0, 1, 1, TOKEN.encode()))))
""").splitlines())
        answer = self.py(code, *self.ruled(credentials=(bound,)), "--timeout", "60s")
        self.assertEqual(answer["stdout"], "refused\n", answer)
        self.assertEqual(requests_of(answer), [("POST", "/x", 403)], answer)
        self.assertEqual(set(self.denials(answer, "http")), {f"POST {self.URL}/x"})

    FLOODS = """
reset = struct.pack(">I", 8)
bomb = block(*GET) + b"\\x40" + text(b"x") + text(b"y" * 4000) + b"\\xbe" * 16000
def thousand(*frames): return b"".join(f(1 + 2 * i) for i in range(2000) for f in frames)
floods = {
    "rapid reset": thousand(lambda id: frame(1, 5, id, block(*GET)), lambda id: frame(3, 0, id, reset)),
    "reset of what is refused": thousand(lambda id: frame(1, 5, id, block(*GET[:3], (b":path", b"/%2e%2e/"))),
                                         lambda id: frame(3, 0, id, reset)),
    "streams": thousand(lambda id: frame(1, 4, id, block(*POST))),
    "ping": frame(6, 0, 0, bytes(8)) * 200000, "settings": frame(4, 0, 0) * 200000,
    "settings of many": frame(4, 0, 0, struct.pack(">HI", 3, 100) * 2000),
    "continuations": frame(1, 0, 1, block(*GET)) + frame(9, 0, 1, block((b"x", b"y" * 120)) * 100) * 1000,
    "continuations of nothing": frame(1, 0, 1, block(*GET)) + frame(9, 0, 1) * 100000,
    "continuation of none": frame(9, 4, 1, block(*GET)), "data": frame(0, 0, 1, b"x") * 1000,
    "nothing": frame(1, 4, 1, block(*POST)) + frame(0, 0, 1) * 200000,
    "bomb": frame(1, 5, 1, bomb), "bombs": b"".join(frame(1, 5, 1 + 2 * i, bomb if i == 0 else block(*GET) + b"\\xbe" * 16000)
                                                    for i in range(100)),
    "table": frame(1, 5, 1, b"\\x3f\\xe1\\xff\\xff\\xff\\x0f" + block(*GET)),
    "window": frame(8, 0, 0, struct.pack(">I", 0x7fffffff)) * 2, "no window": frame(8, 0, 0, bytes(4)),
    "priorities": b"".join(frame(2, 0, 1 + 2 * i, bytes(5)) for i in range(50000)),
    "large": frame(0, 0, 1, bytes(20000)), "push": frame(5, 4, 1, struct.pack(">I", 2) + block(*GET)),
    "even": frame(1, 5, 2, block(*GET)), "backwards": frame(1, 5, 5, block(*GET)) + frame(1, 5, 3, block(*GET)),
    "itself": frame(1, 0x25, 1, struct.pack(">IB", 1, 1) + block(*GET)), "padding": frame(1, 0xd, 1, b"\\xff" + block(*GET)),
}
"""

    # The others end their connection.
    SURVIVED = {"streams", "nothing", "priorities", "backwards"}
    EITHER = {"ping", "settings"}  # by how many are read at once

    def test_an_origin_that_never_comes_to_its_answer_is_not_waited_for(self):
        answer = self.spoken("""
s = spoken(frame(1, 5, 1, block(*GET[:3], (b":path", b"/hints"))))
data = b""
while b"without end" not in data: data += (got := s.recv(65536)); assert got
print(statuses(spoken(frame(1, 5, 1, block(*GET)))))
""")
        self.assertEqual(answer["stdout"], "200\n", answer)
        self.assertRegex(" ".join(self.denials(answer, "upstream")), "interim answers without end")

    def test_a_thousand_resets_and_floods_leave_the_others_alone(self):
        """Each ends, or is passed over; the connections beside it stay, and so does the process, in little memory."""
        code = PRELUDE + "".join(f"    {line}\n" for line in (self.FRAMES + self.FLOODS + """
import select, time
def outcome(s, flood):
    # Whether it still answers once all of that has been read. One thread reads and writes: two are
    # more than a TLS connection takes.
    s.setblocking(False)
    unsent, data = memoryview(flood + frame(6, 0, 0, b"are you?")), b""
    poll, until = select.poll(), time.monotonic() + 20
    while time.monotonic() < until:
        poll.register(s, select.POLLIN | (select.POLLOUT if unsent else 0))
        poll.poll(1000)
        try:
            while part := s.recv(65536): data += part
            return "ended"
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError): pass
        except OSError: return "ended"
        while len(data) >= 9 and len(data) >= 9 + (size := int.from_bytes(data[:3], "big")):
            kind, payload = data[3], data[9:9 + size]
            if kind == 7: return "ended"
            if kind == 6 and payload == b"are you?": return "survived"
            data = data[9 + size:]
        try:
            if unsent: unsent = unsent[s.send(unsent[:65536]):]
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError): pass
        except OSError: unsent = unsent[:0]
    return "hangs"
kept = spoken(frame(1, 4, 1, block(*POST)))
for name, flood in floods.items():
    s = spoken()
    print(f"{name}: {outcome(s, flood)}")
    s.close()
kept.sendall(frame(0, 1, 1, b"body"))
print("kept:", statuses(kept))
print("new:", statuses(spoken(frame(1, 5, 1, block(*GET)))), flush=True)
open("done", "w").close()
while not os.path.exists("end"): time.sleep(0.05)
""").splitlines())
        self.write("work/flood.py", "if True:\n" + code.split("\n", 1)[1])
        self.world.order(argv=["env", f"SSL_CERT_FILE={self.cert}", harness.SBX_RUN, "run", "--json",
                               *self.ruled({"host": self.HOST}), "--timeout", "110s", "--", PYTHON, "flood.py"],
                         cwd=self.work, background="long")
        harness.until(lambda: os.path.exists(os.path.join(self.work, "done")), 100)
        peaks = peaks_below(self.world.process.pid)
        open(os.path.join(self.work, "end"), "w").close()
        answer = json.loads(self.world.order(argv=["true"], cwd=self.work, wait="long")["stdout"])
        said = dict(line.split(": ") for line in answer["stdout"].splitlines())
        self.assertEqual((said.pop("kept"), said.pop("new")), ("200", "200"), answer)
        self.assertEqual(len(said), 23)
        self.assertEqual({name for name, how in said.items() if how == "survived"} - self.EITHER, self.SURVIVED)
        self.assertNotIn("hangs", said.values())
        self.assertLess(max(peaks), 40 << 10)  # KiB
        self.assertFalse([d for d in answer["denials"] if d["operation"] == "upstream"], answer["denials"])
