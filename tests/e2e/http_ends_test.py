# SPDX-License-Identifier: Apache-2.0
"""Requests and answers through the gateway of which one ends before the other, or neither as it should."""

import os
import signal
import unittest

import harness
from http_process_test import descendants, name_of
from http_hostile_test import PRELUDE
from http2_test import OverHttp2
from network_harness import PYTHON, requests_of

SIZE = 3_000_000


class Ends(OverHttp2):
    TLS1, PLAIN1, BROKEN2 = "own.test:8446", "own.test:8447", "own.test:8448"

    BROKEN = ("/break", "/stop", "/short", "/refuse-once")

    # Of HTTP/1.1, as its comments say; and one of HTTP/2 that never says anything right.
    ORIGIN = """if True:
        import os, socket, ssl, struct, sys, threading, time
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1], sys.argv[2])
        h2 = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        h2.load_cert_chain(sys.argv[1], sys.argv[2])
        h2.set_alpn_protocols(["h2"])
        def frame(kind, flags, stream, payload=b""):
            return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload
        def answer(s, plain):
            data = b""
            while b"\\r\\n\\r\\n" not in data: data += s.recv(1)
            target = data.split()[1].decode()
            if target.startswith("/at-once"):  # answered, and then read
                s.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\nearly")
                count = 0
                while count < %d and (part := s.recv(65536)):
                    count += len(part)
                    if target.endswith("slowly"): time.sleep(0.001)
                with open("uploaded", "w") as file: file.write(str(count))
            if target.startswith("/until-end"):  # and to it, or not quite
                s.sendall(b"HTTP/1.1 200 OK\\r\\n\\r\\npart")
                time.sleep(0.3)
                if target == "/until-end": return
                if target == "/until-end-never": time.sleep(30)
                plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                os.close(plain.detach())
        def broken(s, plain):
            s.recv(65536)
            s.sendall(frame(4, 0, 0))
            time.sleep(0.3)
            s.recv(65536)
            s.sendall(frame(0, 0, 1, b"data before its head"))
            time.sleep(30)
        def serve(port, wrapped, how):
            listening = socket.create_server(("10.77.0.2", port))
            def one(plain):
                try:
                    with (wrapped.wrap_socket(plain, server_side=True) if wrapped else plain) as s: how(s, s)
                except OSError: pass
            while True: threading.Thread(target=one, args=(listening.accept()[0],), daemon=True).start()
        for words in ((8446, context, answer), (8447, None, answer), (8448, h2, broken)):
            threading.Thread(target=serve, args=words).start()
    """ % SIZE

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.world.order(argv=[PYTHON, "-c", cls.ORIGIN, cls.cert, cls.cert.replace(".pem", ".key")],
                        cwd=cls.place, background="ends")
        for port in (8446, 8447, 8448):
            cls.world.order(argv=["bash", "-c", f"until exec 3<>/dev/tcp/10.77.0.2/{port}; do sleep 0.05; done"],
                            cwd=cls.place)

    def flags(self, *more):
        hosts = (self.HOST, self.TLS1, self.PLAIN1, self.BROKEN2)
        return *self.rules([{"host": host, "paths": ["/at-once*", "/give-up", "/until-end*", "/x", *self.BROKEN]} for host in hosts],
                           allow=(*hosts, *(host.replace("own.test", "10.77.0.2") for host in hosts))), *more

    def uploaded(self):
        path = os.path.join(self.place, "uploaded")
        self.assertTrue(harness.until(lambda: os.path.exists(path) and os.path.getsize(path)))
        with open(path) as file:
            size = int(file.read())
        os.unlink(path)
        return size

    # curl's own HTTP/2 may wait for ever where an answer comes before its upload has ended.
    UPLOAD2 = """
        const http2 = require("node:http2"), fs = require("node:fs");
        const session = http2.connect("%s", {ca: fs.readFileSync(process.env.SSL_CERT_FILE)});
        const stream = session.request({":path": process.argv[2], ":method": "PUT"}, {endStream: false});
        let status = 0, text = "";
        stream.on("response", (h) => { status = h[":status"]; });
        stream.on("data", (d) => { text += d; });
        stream.on("error", (e) => console.log(e.code));
        stream.on("close", () => {
          console.log(status, text.slice(0, 5), stream.rstCode);
          session.close();
        });
        stream.end(Buffer.alloc(%d, "x"));
    """

    def upload(self, url):
        if url.startswith(self.URL):
            self.write("work/upload.js", self.UPLOAD2 % (self.URL, SIZE))
            return self.sh(f"node upload.js {url.removeprefix(self.URL)}", *self.flags("--with", "node"))
        self.write("work/body", "x" * SIZE)
        return self.sh(f"curl -sS -m 30 -H Expect: -T body -o out -w '%{{http_code}} ' {url}; head -c 5 out; echo ' 0'",
                       *self.flags())

    def test_what_was_answered_early_still_arrives(self):
        for url in (f"https://{self.TLS1}/at-once", f"http://{self.PLAIN1}/at-once", f"https://{self.TLS1}/at-once-slowly",
                    f"{self.URL}/at-once"):
            with self.subTest(url):
                answer = self.upload(url)
                self.assertEqual(answer["stdout"], "200 early 0\n", answer)
                self.assertEqual(self.uploaded(), SIZE)
                self.assertEqual(requests_of(answer), [("PUT", url[url.index("/", 8):], 200)])
                self.assertEqual(answer["connections"][0]["requests"][0]["bytes_sent"], SIZE)

    def test_an_upload_that_is_given_up_or_refused_has_its_answer(self):
        answer = self.upload(f"{self.URL}/give-up")
        self.assertEqual(answer["stdout"], "200 early 0\n", answer)
        self.write("work/body", "x" * SIZE)
        for url, version in ((f"https://{self.TLS1}/refused", "1.1"), (f"{self.URL}/refused", "2")):
            with self.subTest(url):
                answer = self.sh("curl -sS -m 30 -H Expect: -T body -o out -w '%{http_code} %{http_version}' " + url,
                                 *self.flags())
                self.assertEqual((answer["stdout"], answer["exit_code"]), (f"403 {version}", 0), answer)

    def test_an_answer_that_only_its_end_completes_is_reset_where_that_is_none(self):
        code = PRELUDE + """
    for target in ("/until-end", "/until-end-reset"):
        with socket.create_connection(("own.test", 8447), timeout=20) as s:
            s.sendall(request(target, host="own.test:8447"))
            got = b""
            try:
                while part := s.recv(65536): got += part
                print(got[-4:].decode(), "end")
            except ConnectionResetError: print(got[-4:].decode(), "reset")
"""
        answer = self.py(code, *self.flags())
        self.assertEqual(answer["stdout"].splitlines(), ["part end", "part reset"], answer)

    def test_so_it_is_where_sbx_http_dies(self):
        self.write("work/wait.py", PRELUDE + """
    with socket.create_connection(("own.test", 8447), timeout=20) as s:
        s.sendall(request("/until-end-never", host="own.test:8447"))
        while not s.recv(65536).endswith(b"part"): pass
        open("there", "w").close()
        try: open("how", "w").write(repr(s.recv(65536)))
        except ConnectionResetError: open("how", "w").write("reset")
""")
        self.world.order(argv=["env", f"SSL_CERT_FILE={self.cert}", harness.SBX_RUN, *self.flags(), "--", PYTHON,
                               "wait.py"], cwd=self.work, background="long")
        self.assertTrue(harness.until(lambda: os.path.exists(os.path.join(self.work, "there"))))
        (helper,) = [pid for pid in descendants(self.world.process.pid) if name_of(pid) == "sbx-http"]
        os.kill(helper, signal.SIGKILL)
        self.world.order(argv=["true"], cwd=self.work, wait="long")
        with open(os.path.join(self.work, "how")) as file:
            self.assertEqual(file.read(), "reset")

    # What a program is told of an answer, as Node has it.
    ANSWER2 = """
        const http2 = require("node:http2"), fs = require("node:fs");
        const session = http2.connect("%s", {ca: fs.readFileSync(process.env.SSL_CERT_FILE)});
        session.on("error", () => {});
        const stream = session.request({":path": process.argv[2]});
        let how = "no error";
        stream.on("error", (e) => { how = e.code; });
        stream.on("close", () => { console.log(how, stream.rstCode); session.destroy(); });
        stream.resume();
    """

    def test_an_answer_over_http2_that_is_broken_off_has_no_end(self):
        self.write("work/answer.js", self.ANSWER2 % self.URL)
        for path, code in (("/break", 2), ("/stop", 2), ("/short", 1)):
            with self.subTest(path):
                answer = self.sh(f"node answer.js {path}", *self.flags("--with", "node"))
                self.assertEqual(answer["stdout"], f"ERR_HTTP2_STREAM_ERROR {code}\n", answer)
                (told,) = self.denials(answer, "upstream")
                self.assertIn(f"GET {self.URL}{path} (the origin's answer ends too early: ", told)

    def test_a_request_that_the_origin_did_not_look_at_can_be_made_again(self):
        self.write("work/answer.js", self.ANSWER2 % self.URL)
        answer = self.sh(f"node answer.js /refuse-once; node answer.js /refuse-once; curl -sS --http2 -m 20 -o out"
                         f" -w '%{{http_code}}' {self.URL}/refuse-once", *self.flags("--with", "node"))
        self.assertEqual(answer["stdout"], "ERR_HTTP2_STREAM_ERROR 7\nno error 0\n200", answer)
        self.assertEqual(self.denials(answer, "upstream"), {})

    def test_an_origin_that_breaks_http2_is_an_answer_though_it_stays(self):
        answer = self.sh(f"curl -sS -m 10 -o out -w '%{{http_code}}' https://{self.BROKEN2}/x", *self.flags())
        self.assertEqual((answer["stdout"], answer["exit_code"]), ("502", 0), answer)
        self.assertEqual(len(self.denials(answer, "upstream")), 1, answer)


if __name__ == "__main__":
    unittest.main()
