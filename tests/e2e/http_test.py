# SPDX-License-Identifier: Apache-2.0
"""The gateway speaks HTTP: rules of methods and paths, and credentials that are never inside."""

import json
import os
import shutil
import signal
import unittest

import harness
from network_test import Networked

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
            return [json.loads(line) for line in file]


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


if __name__ == "__main__":
    unittest.main()
