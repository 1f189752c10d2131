# SPDX-License-Identifier: Apache-2.0
"""What waits for the operator: each answer is for the request that was asked about, while that waits."""

import json
import os
import unittest

import harness
from http_test import HOST, URL, Http
from http2_test import OverHttp2
from network_harness import PYTHON

PLAIN = "allowed.test:8081"

# A server of JSON-RPC and its operator, who does what is behind it.
SERVER = """if True:
    import json, os, signal, subprocess, sys, threading, time
    url, server = sys.argv[1], subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    answers, asked, changed = {}, [], threading.Condition()
    def read():
        for line in server.stdout:
            message = json.loads(line)
            with changed:
                if message.get("method") == "approval.requested": asked.append(message["params"])
                if "id" in message: answers[message["id"]] = message
                changed.notify_all()
    threading.Thread(target=read, daemon=True).start()
    def until(is_so):
        with changed: assert changed.wait_for(is_so, 25), (answers, asked)
    sent = []
    def send(method, **params):
        sent.append(method)
        server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": len(sent), "method": method, "params": params}) + "\\n")
        server.stdin.flush()
        return len(sent)
    def answer(id):
        until(lambda: id in answers)
        return answers[id]["result"]
    def call(method, **params): return answer(send(method, **params))
    def post(path, then=""):
        return send("run", command=f"curl -sS -m 50 -o out -w '%{{http_code}}' -d a=1 {url}{path}; {then}")
    def waiting(): return [one["path"] for one in call("approvals")["approvals"]]
    def approve(question):
        id = send("approve", digest=question["digest"])
        until(lambda: id in answers)
        return answers[id].get("result") or answers[id]["error"]["data"]["where"]
    def decline(question): return call("decline", digest=question["digest"])["declined"]
    said = []
"""


class Operated:
    def operated(self, code):
        """What the code has put into `said`."""
        body = "".join(f"    {line}\n" for line in code.strip("\n").splitlines())
        reply = self.world.order(
            argv=["env", f"SSL_CERT_FILE={self.trusted()}", PYTHON, "-c",
                  SERVER + body + "    print(json.dumps(said))\n    server.stdin.close()\n    server.wait()\n",
                  self.URL, harness.SBX_RUN, "serve", "--workspace", self.work, *self.asking()], cwd=self.work)
        self.assertEqual(reply["code"], 0, reply)
        return json.loads(reply["stdout"])

    def look_whether_a_question_goes_with_whoever_asked(self):
        said = self.operated("""
run = send("run", command=f"curl -sS -m 1 -d a=1 {url}/left; touch over; sleep 40")
while not os.path.exists("over"): time.sleep(0.05)
until(lambda: asked)
while waiting(): time.sleep(0.05)
said += [asked[0]["path"], approve(asked[0]), decline(asked[0])]
call("cancel", id=run)
run = post("/cancelled")
until(lambda: len(asked) == 2)
said.append(waiting())
call("cancel", id=run)
answer(run)
said += [waiting(), approve(asked[1]), len(asked)]
""")
        self.assertEqual(said, ["/left", "/digest", False, ["/cancelled"], [], "/digest", 2])
        self.assertEqual(self.seen(), [])

    def look_whether_one_answer_counts(self):
        said = self.operated("""
runs = [post("/first"), post("/second")]
until(lambda: len(asked) == 2)
asked.sort(key=lambda one: one["path"])
said += [sorted(waiting()), approve(asked[0]), approve(asked[0]), waiting(), decline(asked[1]), decline(asked[1])]
said += [approve(asked[1]), waiting(), *(answer(run)["stdout"] for run in runs)]
""")
        self.assertEqual(said, [["/first", "/second"], {"approved": True}, "/digest", ["/second"], True, False,
                                "/digest", [], "200", "403"])

    def look_whether_an_answer_is_of_no_use_to_another_process(self):
        """It begins to number its questions anew."""
        said = self.operated("""
run = post("/harmless", "sleep 40")
until(lambda: asked)
with open(f"/proc/{server.pid}/task/{server.pid}/children") as file: children = file.read().split()
(helper,) = [pid for pid in children if open(f"/proc/{pid}/comm").read() == "sbx-http\\n"]
os.kill(int(helper), signal.SIGKILL)
while waiting(): time.sleep(0.05)
other = post("/dangerous")
until(lambda: len(asked) == 2)
said += [waiting(), approve(asked[0]), decline(asked[0]), waiting(), decline(asked[1]), answer(other)["stdout"]]
""")
        self.assertEqual(said, [["/dangerous"], "/digest", False, ["/dangerous"], True, "403"])
        self.assertEqual(self.seen(), [])


class Asking(Operated, Http):
    URL = URL

    def trusted(self):
        return os.path.join(self.place, "cert.pem")

    def asking(self):
        return self.rules(tuple({"host": host, "methods": ["POST"], "ask": True} for host in (HOST, PLAIN)),
                          allow=(HOST, PLAIN))

    def test_a_question_goes_with_whoever_asked(self):
        self.look_whether_a_question_goes_with_whoever_asked()

    def test_one_answer_counts(self):
        self.look_whether_one_answer_counts()

    def test_an_answer_is_of_no_use_to_another_process(self):
        self.look_whether_an_answer_is_of_no_use_to_another_process()

    def test_one_run_leaves_room_for_the_questions_of_others(self):
        self.write("work/many.py", f"""if True:
    import socket, time
    all = [socket.create_connection(("allowed.test", 8081)) for _ in range(70)]
    for i, s in enumerate(all):
        s.sendall(b"POST /%d HTTP/1.1\\r\\nHost: {PLAIN}\\r\\nContent-Length: 0\\r\\n\\r\\n" % i)
    time.sleep(40)
""")
        said = self.operated("""
many = send("run", argv=[sys.executable, "many.py"])
until(lambda: len(asked) == 64)
other = post("/other")
until(lambda: len(asked) == 65)
said += [asked[64]["path"], approve(asked[64]), answer(other)["stdout"], len(waiting())]
call("cancel", id=many)
ended = answer(many)
refused = [one["status"] for connection in ended["connections"] for one in connection["requests"]].count(403)
said += [len(asked), len(waiting()), refused]
""")
        self.assertEqual(said, ["/other", {"approved": True}, "200", 64, 65, 0, 70])


class Asking2(Operated, OverHttp2):
    def trusted(self):
        return self.cert

    def asking(self):
        return self.ruled({"host": self.HOST, "ask": True})

    def test_a_question_goes_with_whoever_asked(self):
        self.look_whether_a_question_goes_with_whoever_asked()

    def test_one_answer_counts(self):
        self.look_whether_one_answer_counts()

    def test_an_answer_is_of_no_use_to_another_process(self):
        self.look_whether_an_answer_is_of_no_use_to_another_process()


if __name__ == "__main__":
    unittest.main()
