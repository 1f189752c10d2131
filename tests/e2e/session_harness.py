# SPDX-License-Identifier: Apache-2.0
"""For tests of sessions and servers: a runtime directory and a cache of their own, JSON-RPC peers,
and the search for what a session may have left behind."""

import json
import os
import socket
import subprocess
import time

import harness
from harness import until

PATIENCE = 20.0  # seconds that anything may take on a busy machine


def processes(marker):
    """The processes of the whole machine that carry the marker in their arguments or environment."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        for file in ("cmdline", "environ"):
            try:
                with open(f"/proc/{name}/{file}", "rb") as text:
                    if marker.encode() in text.read():
                        found.append(int(name))
                        break
            except OSError:
                continue
    return found


class Peer:
    """One end of a JSON-RPC connection over two files or a socket."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.last = 0
        self.events = []

    def say(self, text):
        self.writer.write(text.encode() if isinstance(text, str) else text)
        self.writer.flush()

    def send(self, method, **params):
        self.last += 1
        self.say(json.dumps({"jsonrpc": "2.0", "id": self.last, "method": method,
                             "params": params}) + "\n")
        return self.last

    def hear(self):
        """The next message, or None at the end."""
        line = self.reader.readline()
        return json.loads(line) if line else None

    def answer(self, number):
        """The answer to a call; notifications and other answers before it go to self.events."""
        for event in self.events:
            if event.get("id") == number and "method" not in event:
                self.events.remove(event)
                return event
        while True:
            message = self.hear()
            if message is None or (message.get("id") == number and "method" not in message):
                return message
            self.events.append(message)

    def call(self, method, **params):
        """The result; an error is a failure."""
        message = self.answer(self.send(method, **params))
        assert message is not None and "result" in message, message
        return message["result"]

    def error(self, method, **params):
        message = self.answer(self.send(method, **params))
        assert message is not None and "error" in message, message
        return message["error"]

    def close(self):
        for file in (self.reader, self.writer):
            try:
                file.close()
            except OSError:
                pass


class Case(harness.Case):
    """Sessions in a runtime directory of the test's own, found again by a marker in the
    environment of everything that it starts."""

    def setUp(self):
        super().setUp()
        self.runtime = os.path.join(self.base, "runtime")
        self.cache = os.path.join(self.base, "cache")
        os.mkdir(self.runtime, 0o700)
        os.mkdir(self.cache, 0o700)
        self.marker = f"sbxtest{os.getpid()}x{time.time_ns()}"
        self.env = {**os.environ, "XDG_RUNTIME_DIR": self.runtime, "XDG_CACHE_HOME": self.cache,
                    "SBX_TEST_MARKER": self.marker}
        self.addCleanup(self.end_all)

    def end_all(self):
        for pid in processes(self.marker):
            try:
                os.kill(pid, 9)
            except OSError:
                pass

    def cli(self, *arguments, **options):
        options.setdefault("env", self.env)
        return self.raw(*arguments, **options)

    def verb(self, *arguments, status=0, **options):
        """The JSON that a verb prints, which must exit with `status`; None: with any."""
        done = self.cli(*arguments, **options)
        if status is not None:
            self.assertEqual(done.returncode, status, (arguments, done.stdout, done.stderr))
        return json.loads(done.stdout)

    def server(self, *arguments, **options):
        """A server on standard input and output."""
        options.setdefault("env", self.env)
        options.setdefault("cwd", self.work)
        process = subprocess.Popen([harness.SBX_RUN, "serve", *arguments], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        self.addCleanup(self.end, process)
        return process, Peer(process.stdout, process.stdin)

    def socket_server(self, *arguments):
        """A server on a socket; the process, its path and its token."""
        path = os.path.join(self.runtime, "s.sock")
        process = subprocess.Popen(
            [harness.SBX_RUN, "serve", "--socket", path, *arguments], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.env, cwd=self.work)
        self.addCleanup(self.end, process)
        ready = json.loads(process.stdout.readline())
        self.assertEqual(ready["socket"], path)
        return process, path, ready["operator_token"]

    def connect(self, path):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(PATIENCE)
        # sun_path holds 108 bytes.
        directory = os.open(os.path.dirname(path), os.O_PATH)
        limit = time.monotonic() + PATIENCE
        while True:
            try:
                connection.connect(f"/proc/self/fd/{directory}/{os.path.basename(path)}")
                break
            except BlockingIOError:  # more wait to be taken than the socket holds
                if time.monotonic() > limit:
                    raise
                time.sleep(0.01)
        os.close(directory)
        peer = Peer(connection.makefile("rb"), connection.makefile("wb"))
        peer.socket = connection
        self.addCleanup(connection.close)
        self.addCleanup(peer.close)
        return peer

    def left(self):
        """Everything of the test's sessions that is still there."""
        found = [f"process {pid}" for pid in processes(self.marker)]
        for top in (os.path.join(self.runtime, "sbx"), self.cache):
            for directory, _, files in os.walk(top):
                depth = os.path.relpath(directory, top)
                if "workspaces/run-" in depth:
                    found.append(directory)
                found += [os.path.join(directory, file) for file in files]
        sockets = os.path.join(self.runtime, "s.sock")
        found += [path for path in (sockets, sockets + ".lock") if os.path.exists(path)]
        with open("/proc/self/mountinfo") as mounts:
            found += [line for line in mounts if self.base in line]
        return found

    def assert_nothing_left(self, seconds=PATIENCE):
        self.assertTrue(until(lambda: not self.left(), seconds), self.left())
