# SPDX-License-Identifier: Apache-2.0
"""What goes on to a host with rules is in the record, whatever else a command does; and the record
stays small, whatever a command does."""

import json
import os
import unittest

import harness
from http_hostile_test import PLAIN
from http_test import HOST, URL, Http
from network_harness import PYTHON, requests_of

# Of the plain origin: `count` requests at once, and the codes of their answers.
PRELUDE = f"""if True:
    import collections, socket
    class Client:
        def __init__(self):
            self.socket = socket.create_connection(("allowed.test", 8081), timeout=30)
            self.file = self.socket.makefile("rb")
        def ask(self, target, method="GET", count=1):
            one = f"{{method}} {{target}} HTTP/1.1\\r\\nHost: {PLAIN}\\r\\nContent-Length: 0\\r\\n\\r\\n"
            self.socket.sendall(one.encode() * count)
            return collections.Counter(self.answer() for _ in range(count))
        def answer(self):
            code, size = int(self.file.readline().split()[1]), 0
            while line := self.file.readline().strip().lower():
                if line.startswith(b"content-length:"): size = int(line.split(b":")[1])
            self.file.read(size)
            return code
"""

# A server of JSON-RPC whose operator says nothing.
SILENT = """if True:
    import json, subprocess, sys
    server = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    server.stdin.write(json.dumps({"jsonrpc": "2.0", "method": "run", "id": 1,
                                   "params": {"command": sys.argv[1]}}) + "\\n")
    server.stdin.flush()
    for line in server.stdout:
        message = json.loads(line)
        if message.get("id") == 1: break
    print(json.dumps(message))
    server.stdin.close()
"""


class Record(Http):
    def inside(self, code, *rules, allow=(PLAIN,)):
        body = "".join(f"    {line}\n" for line in code.strip("\n").splitlines())
        answer = self.py(PRELUDE + body, *self.rules(rules, allow=allow), "--timeout", "200s")
        self.assertEqual(answer["exit_code"], 0, answer["stderr"])
        return answer

    def test_a_request_behind_many_on_a_connection_is_listed(self):
        answer = self.inside("""
client = Client()
for _ in range(12): client.ask("/ok", count=100)
print(client.ask("/exfil", "POST"))
""", {"host": PLAIN})
        requests = requests_of(answer)
        self.assertEqual(len(requests), 1201)
        self.assertEqual(requests[-1], ("POST", "/exfil", 200))
        self.assertNotIn("unlisted_requests", answer)

    def test_is_there_where_nothing_was_asked_for(self):
        self.assertEqual(self.inside("pass", {"host": PLAIN})["connections"], [])

    def test_connects_that_fail_take_the_room_of_no_other(self):
        answer = self.inside("""
there = socket.getaddrinfo("allowed.test", 9999, socket.AF_INET)[0][4]
for _ in range(1300):
    with socket.socket() as failing:
        try:
            failing.connect(there)
            failing.recv(1)
        except OSError: pass
with socket.create_connection(("allowed.test", 7000)) as plain: plain.sendall(b"x")
Client().ask("/exfil", "POST")
""", {"host": PLAIN}, allow=(PLAIN, "allowed.test:9999", "allowed.test:7000"))
        failed = [c for c in answer["connections"] if c["address"] is None]
        made = [c for c in answer["connections"] if c["address"] is not None]
        self.assertEqual(({c["port"] for c in failed}, len(failed)), ({9999}, 256))
        self.assertEqual([c["port"] for c in made], [7000, 8081], made)
        self.assertEqual(made[1]["requests"][0]["path"], "/exfil")
        self.assertEqual(answer["unlisted_connections"], 1300 - 256)

    def test_refused_ones_are_counted_and_take_the_room_of_no_other(self):
        answer = self.inside("""
for _ in range(4):
    client = Client()
    for _ in range(20): client.ask("/" + "x" * 6000, count=50)
print(client.ask("/ok", "POST"))
""", {"host": PLAIN, "paths": ["/ok"]})
        requests = requests_of(answer)
        self.assertEqual(requests[-1], ("POST", "/ok", 200))
        self.assertEqual(len(requests) + answer["unlisted_requests"], 4001)
        self.assertLess(len(requests), 2000)
        self.assertEqual(requests[0][1], "/" + "x" * 511 + "… (5489 bytes more)")

    def test_a_long_path_is_cut_in_a_denial_as_in_the_record(self):
        answer = self.inside("""
Client().ask("/" + "x" * 6000)
""", {"host": PLAIN, "paths": ["/ok"]})
        self.assertEqual(set(self.denials(answer, "http")),
                         {f"GET http://{PLAIN}/" + "x" * 511 + "… (5489 bytes more)"})

    def test_a_value_that_cannot_be_renewed_is_told_of(self):
        place = os.path.join(self.base, "aside")
        os.mkdir(place)
        os.chmod(place, 0o777)
        code = f"curl -sS -o out -H \"Authorization: $TOKEN\" {URL}/"
        # What one that has failed has printed is no value, be it in the form of one.
        for last, why in (("exit 0", "gives nothing"), ("exit 1", "has failed"), ("echo error: expired; exit 1", "has failed"),
                          ("echo part; kill -9 $$", "has failed")):
            with self.subTest(last):
                script = self.write("aside/give", f"cd {place}; [ ! -e once ] || {{ {last}; }}; touch once; echo secret-value-1\n")
                bound = {"name": "TOKEN", "host": HOST, "header": "Authorization",
                         "from": {"command": ["/bin/sh", script], "ttl_s": 1}}
                answer = self.sh(f"{code}; sleep 1.2; {code}", *self.rules(credentials=(bound,)))
                sent = [seen["headers"]["authorization"] for seen in self.seen()]
                self.assertEqual(sent[-2:], ["secret-value-1"] * 2, answer)
                self.assertEqual([(d["target"], d["grant"]) for d in self.denials(answer, "upstream").values()],
                                 [(f"{HOST} (the value of TOKEN is an old one: the command {why})", "")])
                os.unlink(os.path.join(place, "once"))

    def test_what_nobody_was_there_to_allow_is_refused_though_the_run_has_ended(self):
        rules = self.rules(({"host": HOST, "ask": True},))
        reply = self.world.order(
            argv=["env", "SSL_CERT_FILE=" + os.path.join(self.place, "cert.pem"), PYTHON, "-c",
                  SILENT, f"curl -sS -m 1 -d abc {URL}/x; true", harness.SBX_RUN, "serve", *rules], cwd=self.work)
        answer = json.loads(reply["stdout"])["result"]
        self.assertEqual(requests_of(answer), [("POST", "/x", 403)], answer)
        self.assertIn("ask = false", self.denials(answer, "http")[f"POST {URL}/x"]["grant"])
        self.assertEqual(self.seen(), [])

    def test_what_cannot_be_listed_does_not_go_on(self):
        log = os.path.join(self.base, "audit")
        self.write("work/program.py", PRELUDE + """
    from concurrent.futures import ThreadPoolExecutor
    def fill(client):
        total = collections.Counter()
        while total[403] == 0: total += client.ask("/" + "x" * 600, count=20)
        return total
    idle = Client()
    with ThreadPoolExecutor(16) as pool:
        total = sum(pool.map(fill, [Client() for _ in range(16)]), collections.Counter())
    total += idle.ask("/exfil", "POST")
    try: Client().ask("/exfil", "POST")
    except (OSError, IndexError): print("refused")
    print(total[200], total[403])
""")
        answer = self.run_json(*self.rules(({"host": PLAIN},), allow=(PLAIN,)), "--timeout", "200s",
                               "--audit", log, "--", "/usr/bin/python3", "program.py")
        self.assertTrue(answer["stdout"].startswith("refused\n"), answer["stdout"] + answer["stderr"])
        went, refused = map(int, answer["stdout"].split()[1:])
        statuses = [status for _, _, status in requests_of(answer)]
        self.assertEqual((statuses.count(200), statuses.count(403)), (went, refused))
        self.assertEqual(len(self.seen()), went)
        self.assertIn("another run", self.denials(answer, "http")[f"POST http://{PLAIN}/exfil"]["grant"])
        self.assertIn(f"{PLAIN} (the run's record of requests is full)",
                      self.denials(answer, "connections"))
        self.assertLess(len(json.dumps(answer)), 8 << 20)
        with open(log) as file:
            (line,) = [json.loads(text) for text in file]
        self.assertEqual(requests_of(line), requests_of(answer))

    def test_a_connection_that_sbx_http_cannot_take_is_refused_and_named(self):
        """Its descriptors are those of a session, the gateway's bound is a run's."""
        self.write("work/program.py", """if True:
    import os, socket, sys, time
    held, refused = [], 0
    for _ in range(50):
        one = socket.create_connection(("allowed.test", 8081), timeout=30)
        one.settimeout(0.05)
        try: refused += one.recv(1) == b""
        except TimeoutError: held.append(one)
        except OSError: refused += 1
    print(refused)
    open(sys.argv[1], "w").close()
    for _ in range(600):
        if refused or len([x for x in os.listdir() if x.startswith("over")]) == 4: break
        time.sleep(0.05)
""")
        tasks = [{"id": str(i), "command": f"/usr/bin/python3 program.py over{i}"} for i in range(4)]
        path = self.write("tasks", "".join(json.dumps(task) + "\n" for task in tasks))
        reply = self.world.order(argv=["prlimit", "--nofile=300:300", harness.SBX_RUN, "batch",
                                       "--jobs", "4", *self.rules(({"host": PLAIN},), allow=(PLAIN,)),
                                       path or os.path.join(self.base, "tasks")], cwd=self.work)
        answers = [json.loads(line) for line in reply["stdout"].splitlines()]
        self.assertEqual([a["status"] for a in answers], ["exited"] * 4, reply)
        refused = sum(int(a["stdout"]) for a in answers)
        named = [self.denials(a, "connections") for a in answers]
        self.assertGreater(refused, 0)
        self.assertEqual(sum(d["count"] for each in named for d in each.values()), refused, named)
        self.assertEqual({target for each in named for target in each},
                         {f"{PLAIN} (sbx-http can take no more)"})


if __name__ == "__main__":
    unittest.main()
