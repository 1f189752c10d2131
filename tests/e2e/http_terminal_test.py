# SPDX-License-Identifier: Apache-2.0
"""A rule of HTTP that asks, and the person at the terminal of `run`."""

import json
import os

import harness
from http_test import HOST, URL, Http
from network_harness import PYTHON


class AtTheTerminal(Http):
    # A terminal whose person agrees to the first question and to no other; what it showed.
    PERSON = """if True:
        import json, os, pty, sys
        pid, fd = pty.fork()
        if pid == 0: os.execv(sys.argv[1], sys.argv[1:])
        shown, answers = b"", [b"y\\n", b"n\\n"]
        while True:
            try: part = os.read(fd, 65536)
            except OSError: break
            if not part: break
            shown += part
            if shown.count(b"[y/N]") > 2 - len(answers): os.write(fd, answers.pop(0))
        os.waitpid(pid, 0)
        print(json.dumps(shown.decode()))
    """

    def test_the_question_says_method_place_and_size(self):
        rules = self.rules(({"host": HOST, "methods": ["POST"], "ask": True},))
        command = f"for b in abc abcd; do curl -sS -m 70 -o out -d $b '{URL}/first?k=v'; done"
        reply = self.world.order(
            argv=["env", "SSL_CERT_FILE=" + os.path.join(self.place, "cert.pem"), PYTHON, "-c",
                  self.PERSON, harness.SBX_RUN, "--json", *rules, "-c", command], cwd=self.work)
        self.assertEqual(reply["code"], 0, reply)
        shown = json.loads(reply["stdout"])
        for size in (3, 4):
            self.assertIn(f"  POST {URL}/first ({size} bytes)\r\n", shown)
        self.assertEqual([seen["body"] for seen in self.seen()], ["abc"])
