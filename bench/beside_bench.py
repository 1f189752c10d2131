#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What clients of one server wait for while others mean it harm: a task that does nothing but that, one
kind after the other, and requests of 15 MB, from as many connections as are asked for. Prints what
`list` and `run` of another client take alone and beside them; and beside the same work outside of the
server, where that harms nothing: what this costs is the machine's, which has fewer free processors.

    SBX_RUN=build/release/bin/sbx-run bench/beside_bench.py [--tasks] [CONNECTIONS]
"""

import base64
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

SBX_RUN = os.environ.get("SBX_RUN", "sbx-run")
BIG = 15 << 20
CALLS = {"list": 400, "run": 100}

PYTHON = "/usr/bin/python3 -c"
TASKS = {
    "a busy loop": "while :; do :; done",
    "output": "yes",
    "output in small pieces": "while :; do echo x; done",
    "result lines": """yes '__RESULT__:{"a": [1, 2, {"b": "c"}]}'""",
    "refused calls": f"""{PYTHON} 'import os
while True:
    try: os.chroot("/")
    except OSError: pass'""",
    "connects": f"""{PYTHON} 'import socket
while True:
    try: socket.create_connection(("127.0.0.1", 9)).close()
    except OSError: pass'""",
    "processes": "while :; do /bin/true; done",
}
OUTSIDE = ("a busy loop", "output in small pieces", "processes")


class Client:
    def __init__(self, path, token):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")
        self.call("hello", {"token": token} if token else {})

    def call(self, method, params):
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        return self.call_line(line.encode() + b"\n")

    def call_line(self, line):
        self.socket.sendall(line)
        while b'"method":' in (answer := self.file.readline())[:40]:
            pass  # a notification
        return answer


def requests():
    """Each kind of 15 MB: one string, many files, many small values, escapes."""
    text = base64.b64encode(os.urandom(BIG * 3 // 4)).decode()
    small = ["x" * 50] * (BIG // 56)
    for params in ({"command": "true", "stdin_base64": text[:len(text) // 4 * 4]},
                   {"command": "true", "files": [{"path": f"f{i}", "content": text[:BIG // 64]}
                                                 for i in range(64)]},
                   {"argv": ["true", *small[:250_000]]},
                   {"command": "true", "stdin": "\n\"\\" * (BIG // 6)},
                   {"command": "true", "env": {f"N{i * 7919 % 1000003}": "v" for i in range(400_000)}}):
        yield json.dumps({"jsonrpc": "2.0", "id": 1, "method": "run", "params": params}).encode() + b"\n"


def measure(client, method, params, count):
    times = []
    for _ in range(count):
        begun = time.perf_counter()
        client.call(method, params)
        times.append((time.perf_counter() - begun) * 1000)
    times.sort()
    return (f"{method}: median {statistics.median(times):.2f} ms, 99 % {times[int(len(times) * 0.99)]:.1f} ms,"
            f" longest {times[-1]:.1f} ms")


def beside_tasks(client, work):
    for name, command in TASKS.items():
        task = json.loads(client.call("start", {"command": command}))["result"]["task_id"]
        time.sleep(1)
        print("beside ", name, flush=True)
        for method, params in work:
            print("       ", measure(client, method, params, CALLS[method]), flush=True)
        client.call("kill", {"task_id": task, "grace_ms": 1})
        client.call("wait", {"task_id": task})
        if name in OUTSIDE:
            # A session of its own, as a task has: the scheduler counts by session.
            outside = subprocess.Popen(["bash", "-c", command], stdout=subprocess.DEVNULL, start_new_session=True)
            time.sleep(1)
            print("outside", measure(client, *work[-1], CALLS[work[-1][0]]), flush=True)
            outside.kill()
            outside.wait()
        print("alone  ", measure(client, *work[-1], CALLS[work[-1][0]]), flush=True)


def main():
    arguments = [word for word in sys.argv[1:] if word != "--tasks"]
    connections = int(arguments[0]) if arguments else 1
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "s")
        profile = os.path.join(directory, "p.json")
        with open(profile, "w") as file:
            json.dump({"extends": "default", "output": {"result_json": True}, "limits": {"timeout_ms": None}}, file)
        server = subprocess.Popen([SBX_RUN, "serve", "--socket", path, "--workspace", directory, "--profile", profile],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        token = json.loads(server.stdout.readline()).get("token", "")
        try:
            other = Client(path, token)
            work = [("list", {}), ("run", {"command": "true"})]
            for method, params in work:
                print("alone  ", measure(other, method, params, CALLS[method]), flush=True)
            beside_tasks(other, work)
            for line in () if "--tasks" in sys.argv else requests():
                stop = threading.Event()

                def pour(line=line, stop=stop):
                    client = Client(path, token)
                    while not stop.is_set():
                        client.call_line(line)

                threads = [threading.Thread(target=pour, daemon=True) for _ in range(connections)]
                for thread in threads:
                    thread.start()
                time.sleep(0.5)
                print("beside ", line[50:80], flush=True)
                for method, params in work:
                    print("       ", measure(other, method, params, CALLS[method] // 4), flush=True)
                stop.set()
                for thread in threads:
                    thread.join()
        finally:
            server.kill()
            server.wait()


if __name__ == "__main__":
    main()
