# SPDX-License-Identifier: Apache-2.0
"""The gateway speaks HTTP/2 where the origin does."""

import os
import shutil
import unittest

import harness
from http_test import SECRET, Http


class OverHttp2(Http):
    HOST = "own.test:8445"
    URL = "https://own.test:8445"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        node = shutil.which("node")
        if node is None:
            raise unittest.SkipTest("node is not installed")
        cls.cert, key = (os.path.join(cls.place, name) for name in ("own.pem", "own.key"))
        order = cls.world.order
        order(argv=["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", cls.cert,
                    "-days", "2", "-subj", "/CN=own.test", "-addext", "subjectAltName=DNS:own.test"],
              cwd=cls.place)
        order(argv=[node, os.path.join(harness.SOURCE, "tests/e2e/http2_origin.mjs"), cls.cert, key,
                    "10.77.0.2", "8445"], cwd=cls.place, background="origin")
        order(argv=["bash", "-c", "until exec 3<>/dev/tcp/10.77.0.2/8445; do sleep 0.05; done"],
              cwd=cls.place)
        cls.ENV = {"SSL_CERT_FILE": cls.cert, "TOKEN": SECRET}

    def ruled(self, *http, **more):
        return self.rules(http or ({"host": self.HOST, "methods": ["GET", "POST"]},),
                          allow=(self.HOST, "10.77.0.2:8445"), **more)

    def bound(self):
        """The rules of a credential."""
        return self.ruled(credentials=({"name": "TOKEN", "host": self.HOST, "header": "authorization",
                                        "value": "Bearer ${secret}", "from": {"env": "TOKEN"}},))


class Http2(OverHttp2):
    def test_streams_are_judged_one_by_one(self):
        answer = self.sh(
            "c() { curl -sS --http2 -m 20 -o out -w '%{http_code}/%{http_version} ' \"$@\"; };"
            f"c {self.URL}/a?b=c; c -X DELETE {self.URL}/a; c -d hello {self.URL}/p;"
            f"c {self.URL}/big; stat -c %s out; c {self.URL}/early; c --path-as-is {self.URL}/%2e%2e/x;"
            f"c -H 'Host: other.test' {self.URL}/", *self.ruled())
        self.assertEqual(answer["stdout"].split(),
                         ["200/2", "403/2", "200/2", "200/2", str(8 << 20), "200/2", "400/2", "403/2"],
                         answer)
        requests = [r for c in answer["connections"] for r in c["requests"]]
        self.assertEqual([r["status"] for r in requests], [200, 403, 200, 200, 200, 400, 403])
        self.assertEqual(requests[3]["bytes_received"], 8 << 20)
        self.assertEqual(requests[2]["bytes_sent"], 5)

    # Many at once, then one with the credential, then three that carry it where it must not be.
    CLIENT = """
        const http2 = require("node:http2"), fs = require("node:fs");
        const session = http2.connect("%s", {ca: fs.readFileSync(process.env.SSL_CERT_FILE)});
        const ask = (path, headers, body) => new Promise((done) => {
          const stream = session.request({":path": path, ":method": body ? "POST" : "GET", ...headers});
          let status = 0, text = "", end = "";
          stream.on("response", (h) => { status = h[":status"]; });
          stream.on("trailers", (h) => { end = h["x-end"]; });
          stream.on("data", (d) => { text += d; });
          stream.on("error", (e) => done([e.code]));
          stream.on("close", () => done([status, text, end]));
          stream.end(body);
        });
        (async () => {
          const token = process.env.TOKEN;
          const all = await Promise.all([...Array(60).keys()].map((i) =>
            ask("/" + i, {}, "x".repeat(50000))));
          console.log(all.filter((a) => a[0] === 200 && JSON.parse(a[1]).body === 50000
                                 && a[2] === "yes").length);
          const good = await ask("/auth", {authorization: "Bearer " + token});
          console.log(good[0], JSON.parse(good[1]).headers.authorization === "Bearer " + token);
          for (const [path, headers, body] of [["/?q=" + token, {}], ["/", {"x-api": token}],
                                               ["/", {}, "a" + token]]) {
            console.log((await ask(path, headers, body))[0]);
          }
          session.close();
        })();
    """

    def test_credentials_and_many_streams_at_once(self):
        self.write("work/c.js", self.CLIENT % self.URL)
        answer = self.sh("node c.js", *self.bound(), "--with", "node")
        self.assertEqual(answer["stdout"].split(), ["60", "200", "true", "403", "403", "403"], answer)

    def test_no_head_trailer_or_packed_body_of_an_answer_shows_a_value(self):
        ask = "curl -sS --http2 -m 20 -o out -D heads -w '%{http_code} ' -H \"Authorization: Bearer $TOKEN\""
        answer = self.sh(f"{ask} {self.URL}/; mv heads plain; {ask} {self.URL}/packed;"
                         " grep -c \"^x-[a-z]*: Bearer $TOKEN\" plain", *self.bound())
        self.assertEqual(answer["stdout"].split(), ["200", "502", "2"], answer)
        with open(self.work + "/plain") as file:
            text = file.read()
        self.assertNotIn(SECRET, text)
        for name in ("x-head", "x-trailer"):
            self.assertIn(f"{name}: Bearer ", text)


if __name__ == "__main__":
    unittest.main()
