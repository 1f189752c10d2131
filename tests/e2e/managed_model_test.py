# SPDX-License-Identifier: Apache-2.0
"""The managed policy against the same runs without it."""

import json
import os
import random
import shutil
import socket
import unittest

import managed_test


class NarrowingTest(managed_test.ManagedCase):
    """For random profiles, flags and files of the policy: with the files nothing is seen, written,
    reached or called that is not without them."""

    SEED = 20263
    PLACES = ("", "/a", "/b", "/a/a", "/a/b", "/b/a")
    CALLS = ("bpf", "unshare", "mount", "ptrace", "keyctl", "userfaultfd", "personality")
    LOOK = r"""
import ctypes, errno, json, os, socket, sys
places, calls, targets = json.loads(sys.argv[1])
out = []
for place in places:
    for name in ("file", "secret"):
        path = place + "/" + name
        try:
            if open(path).read() != "host's\n":
                continue  # what covers it
            out.append("read " + path)
            open(path, "r+").close()
            out.append("write " + path)
        except OSError:
            pass
    try:
        # Where a root of its own begins, sbx holds this name.
        out += ["list " + place + "/" + name for name in os.listdir(place) if name != ".sbx"]
    except OSError:
        pass
libc = ctypes.CDLL(None, use_errno=True)
for name, number in calls.items():
    ctypes.set_errno(0)
    libc.syscall(number, -1, -1, -1, -1, -1, -1)
    if ctypes.get_errno() != errno.EPERM:
        out.append("call " + name)
for host, port in targets:
    with socket.socket() as peer:
        peer.settimeout(2)
        if peer.connect_ex((host, port)) == 0:
            out.append(f"connect {port}")
print(json.dumps(out))
"""
    NUMBERS = {"x86_64": (321, 272, 165, 101, 250, 323, 135), "aarch64": (280, 97, 40, 117, 219, 282, 92)}

    def setUp(self):
        super().setUp()
        self.random = random.Random(self.SEED)
        self.tree = self.base + "/tree"
        for place in self.PLACES:
            for name in ("file", "secret"):
                self.write("tree" + place + "/" + name, "host's\n")
        self.calls = dict(zip(self.CALLS, self.NUMBERS[os.uname().machine]))

    def place(self):
        return self.tree + self.random.choice(self.PLACES) + self.random.choice(("", "", "/secret"))

    def some(self, make, most):
        return [make() for _ in range(self.random.randint(0, most))]

    def rules(self, key="access"):
        accesses = ("none", "ro", "rw")
        by_path = {self.place(): self.random.choice(accesses) for _ in range(self.random.randint(0, 4))}
        return [{"path": path, key: access} for path, access in by_path.items()]

    def document(self, port):
        chance = self.random.random
        document = {"filesystem": {"roots": [{"path": "${workspace}", "access": "rw"}, *self.rules()]},
                    "seccomp": {"allow": sorted(set(self.some(lambda: self.random.choice(self.CALLS), 3)))},
                    "network": {"mode": self.random.choice(("none", "outbound", "allowlist"))}}
        if chance() < 0.5:
            document["network"]["host_ports"] = [port]
        if chance() < 0.3:
            document["filesystem"]["base"] = "host"
        return document

    def flags(self):
        out = []
        for path in {self.place() for _ in range(self.random.randint(0, 2))}:
            out += [self.random.choice(("--ro", "--rw", "--hide")), path]
        return out

    def policy(self, port):
        document = {"filesystem": {"max": self.rules()}}
        if self.random.random() < 0.5:
            document["network"] = {"mode": self.random.choice(("none", "allowlist", "outbound"))}
        if self.random.random() < 0.3:
            document["network"] = {"allow": self.random.choice(([], [f"127.0.0.1:{port}"]))}
        if self.random.random() < 0.3:
            document["isolation"] = {"require": self.random.sample(("seccomp", "pid", "net"), 1)}
        return document

    def look(self, flags, port):
        words = json.dumps([[self.tree + place for place in self.PLACES], self.calls,
                            [["127.0.0.1", port]]])
        # The namespace of the listener is the one in which sbx-run is.
        answer = self.answer(*flags, "--", "/usr/bin/python3", "-c", self.LOOK, words)
        self.assertEqual((answer["status"], answer["exit_code"]), ("exited", 0), answer)
        return set(json.loads(answer["stdout"]))

    def test_nothing_is_there_that_is_not_there_without_it(self):
        lost = kept = 0
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            for number in range(25):
                profile = self.profile(self.document(port))
                flags = ["--profile", profile, *self.flags()]
                shutil.rmtree(self.etc + "/managed.d")
                os.mkdir(self.etc + "/managed.d")
                whole = self.look(flags, port)
                policies = [self.policy(port) for _ in range(self.random.randint(1, 2))]
                for name, policy in zip(("a.json", "b.json"), policies):
                    self.managed(policy, name)
                narrowed = self.look(flags, port)
                self.assertLessEqual(narrowed, whole, (number, flags, open(profile).read(), policies))
                lost += len(whole - narrowed)
                kept += len(narrowed)
        self.assertGreater(lost, 50)
        self.assertGreater(kept, 50)


if __name__ == "__main__":
    unittest.main()
