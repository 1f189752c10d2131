#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What stands in for sbx-run where a test wants one that misbehaves: the name of this file's link is
what it does. Called as sbx-run is: serve … --fd N --owner-pid P."""

import json
import os
import select
import socket
import sys
import time

READY = {"jsonrpc": "2.0", "method": "server.ready",
         "params": {"socket": None, "pid": os.getpid(), "operator_token": "t"}}
TEXT = "x" * 900
OUTPUTS = 40_000
BIG = 8 << 20


class Fake:
    def __init__(self):
        number = int(sys.argv[sys.argv.index("--fd") + 1])
        self.socket = socket.socket(fileno=number)
        self.lines = self.socket.makefile("rb")

    def say(self, message):
        self.socket.sendall(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    def calls(self):
        for line in self.lines:
            yield json.loads(line)

    def answer(self, call, result):
        self.say({"jsonrpc": "2.0", "id": call["id"], "result": result})

    # --- what it may be

    def silent(self):
        time.sleep(1000)

    def endless(self):
        while True:
            self.socket.sendall(b"x" * 65536)

    def nonsense(self):
        self.say({"hello": "world"})
        time.sleep(1000)

    def unreadable(self):
        self.say(READY)
        for call in self.calls():
            self.socket.sendall(b'{"jsonrpc":"2.0","id":%d,"result":{"a":"\xff"}}\n' % call["id"])

    def nameless(self):
        self.say(READY)
        for _ in self.calls():
            self.say({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "no"}})

    def deaf(self):
        self.say(READY)
        hung_up = select.poll()
        hung_up.register(self.socket, 0)
        hung_up.poll()

    def flood(self):
        """Many notifications before each answer, then the one that must not be lost."""
        self.say(READY)
        for call in self.calls():
            line = json.dumps({"jsonrpc": "2.0", "method": "task.output",
                               "params": {"task_id": "t", "text": TEXT}}).encode() + b"\n"
            for _ in range(OUTPUTS // 100):
                self.socket.sendall(line * 100)
            self.say({"jsonrpc": "2.0", "method": "task.exit", "params": {"task_id": "t"}})
            self.answer(call, {})

    def overlong(self):
        """An answer beyond what the library takes, in one line; "small" brings a small one."""
        self.say(READY)
        for call in self.calls():
            if call["method"] == "small":
                self.answer(call, "s")
                continue
            self.socket.sendall(b'{"jsonrpc":"2.0","id":%d,"result":"' % call["id"])
            for _ in range(257):
                self.socket.sendall(b"x" * (1 << 20))
            self.socket.sendall(b'"}\n')

    def big(self):
        """Answers of 8 MiB each; "small" brings a small one."""
        self.say(READY)
        for call in self.calls():
            self.answer(call, "s" if call["method"] == "small" else "b" * BIG)


if __name__ == "__main__":
    try:
        getattr(Fake(), os.path.basename(sys.argv[0]).removesuffix(".py"))()
    except OSError:
        pass
