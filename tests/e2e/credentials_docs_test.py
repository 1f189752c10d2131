# SPDX-License-Identifier: Apache-2.0
"""Each profile of docs/credentials.md, and its command as it stands there, against a server of that
service's name."""

import base64
import json
import os
import re
import shutil
import subprocess

import harness
from http_test import Http

SECRETS = {
    "GITHUB_TOKEN": "ghp_abcdefghij0123456789ABCDEFGHIJ012345",
    "GIT_PASSWORD": "gldt-Zx81kq_pLm20vRt93Ws",
    "NPM_TOKEN": "npm_0123456789abcdefghijABCDEFGHIJ012345",
    "TWINE_PASSWORD": "pypi-AgEIcHlwaS5vcmcCJDAxMjM0NTY3LWFiY2QtZWYwMS0yMzQ1LTY3ODlhYmNkZWYwMQ",
    "ANTHROPIC_API_KEY": "sk-ant-api03-" + "Ab1" * 30 + "-QwErTyAA",
    "OPENAI_API_KEY": "sk-proj-" + "Zy9" * 30,
    "AWS_BEARER_TOKEN_BEDROCK": "ABSK" + base64.b64encode(b"BedrockAPIKey-k3y7-at-111122223333:" + b"q7" * 24).decode(),
    "CODEARTIFACT_AUTH_TOKEN": "eyJ2ZXIiOjEsImlzdSI6MTYwMDAwMDAwMH0." + "Kd8" * 60,
}
ROW = re.compile(r"^\| ([^|]+) \| `(\{\"name\".*?\})` \| `(.*)` \|$", re.M)


class Profiles(Http):
    ENV = SECRETS

    def setUp(self):
        super().setUp()
        # For git: a repository that answers where a password comes with the request.
        source, bare = self.base + "/source", os.path.join(self.place, "private", "app.git")
        if not os.path.exists(bare):
            for words in (("init", "-q", source),
                          ("-C", source, "-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "m",
                           "--allow-empty"),
                          ("clone", "-q", "--bare", source, bare), ("-C", bare, "update-server-info")):
                subprocess.run(["git", *words], check=True, capture_output=True)

    def test_each_works_as_it_is_written_and_the_command_never_has_the_secret(self):
        with open(os.path.join(harness.SOURCE, "docs", "credentials.md")) as file:
            rows = ROW.findall(file.read())
        self.assertEqual(len(rows), 9)
        for service, entry, command in rows:
            program = command.split()[-2 if "npm" in command else 0]
            if shutil.which(program) is None:
                print(f"{service}: {program} is not installed")
                continue
            with self.subTest(service):
                self.works(json.loads(entry), command)

    def works(self, entry, command):
        open(self.log, "w").close()
        secret = SECRETS[entry["from"]["env"]]
        answer = self.sh(f"{command}; echo; env | sort", "--timeout", "60s",
                         *self.rules(credentials=(entry,), allow=(entry["host"],)))
        self.assertEqual(answer["denials"], [], answer)
        self.assertNotIn(secret, json.dumps(answer))
        if "basic" in entry:
            pair = f"{entry['basic']}:{secret}".encode()
            header, wanted = "authorization", "Basic " + base64.b64encode(pair).decode()
        else:
            header = entry["header"].lower()
            wanted = entry.get("value", "${secret}").replace("${secret}", secret)
        self.assertIn(wanted, [seen["headers"].get(header) for seen in self.seen()], answer)
        for other in set(SECRETS.values()) - {secret}:
            self.assertNotIn(other, json.dumps(answer))
