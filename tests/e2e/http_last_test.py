# SPDX-License-Identifier: Apache-2.0
"""What a program wrote last to a host with rules: it arrives, and is recorded, though nobody is left
inside for the answer."""

import unittest

import harness
from http_hostile_test import BEARER, PLAIN, PRELUDE
from http_test import HOST, SECRET, URL, Http
from network_harness import requests_of


class Last(Http):
    ENV = {"TOKEN": SECRET}

    def arrived(self, count=1):
        self.assertTrue(harness.until(lambda: len(self.seen()) >= count))
        return self.seen()

    def test_a_request_whose_program_is_gone_at_once_is_recorded(self):
        code = PRELUDE + """
    connected().sendall(request("/fire?x", f"Authorization: Bearer {TOKEN}"))
    os._exit(0)
"""
        for _ in range(5):
            answer = self.py(code, *self.rules(credentials=(BEARER,)))
            ((method, path, status),) = requests_of(answer)
            self.assertEqual((method, path), ("GET", "/fire"))
            self.assertIn(status, (0, 200))
        for seen in self.arrived(5):
            self.assertEqual(seen["headers"]["authorization"], f"Bearer {SECRET}")

    def test_one_that_was_not_waited_for_has_no_status(self):
        rules = self.rules(({"host": HOST},))
        answer = self.sh(f"curl -sS -m 1 {URL}/late; sleep 0.2", *rules)
        self.assertEqual(requests_of(answer), [("GET", "/late", 0)], answer)
        answer = self.sh(f"curl -sS {URL}/late & sleep 0.7; kill -9 $!", *rules)
        self.assertEqual(requests_of(answer), [("GET", "/late", 0)], answer)
        answer = self.sh(f"curl -sS {URL}/late", *rules, "--timeout", "1s")
        self.assertEqual((answer["status"], requests_of(answer)), ("timed_out", [("GET", "/late", 0)]))
        self.assertLess(answer["duration_ms"], 1500)  # the origin is not waited for
        self.arrived(3)

    def test_a_body_arrives_whole(self):
        code = PRELUDE + f"""
    s = socket.create_connection(("allowed.test", 8081))
    s.sendall(request("/", "Content-Length: 1000000", method="POST", host="{PLAIN}", body=b"x" * 1000000))
    os._exit(0)
"""
        for count in range(1, 6):
            answer = self.py(code, *self.rules(({"host": PLAIN},), allow=(PLAIN,)))
            self.assertEqual(len(self.arrived(count)[-1]["body"]), 1000000)
            (made,) = answer["connections"]
            self.assertGreater(made["bytes_out"], 1000000)
            self.assertEqual(made["requests"][0]["bytes_sent"], 1000000)


if __name__ == "__main__":
    unittest.main()
