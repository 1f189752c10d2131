#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What clients of one server wait for while others mean it harm: requests of 15 MB, one after the
other, from as many connections as are asked for. Prints what `list` and `run` of another client take
alone and beside them.

    SBX_RUN=build/release/bin/sbx-run bench/beside_bench.py [CONNECTIONS]
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
        return self.file.readline()


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


def main():
    connections = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "s")
        server = subprocess.Popen([SBX_RUN, "serve", "--socket", path, "--workspace", directory],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        token = json.loads(server.stdout.readline()).get("token", "")
        try:
            other = Client(path, token)
            work = [("list", {}), ("run", {"command": "true"})]
            for method, params in work:
                print("alone  ", measure(other, method, params, CALLS[method]), flush=True)
            for line in requests():
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
