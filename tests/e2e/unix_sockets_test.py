# SPDX-License-Identifier: Apache-2.0
"""Unix sockets of the host, from inside: only those that are listed can be connected to."""

import json
import os
import socket
import subprocess
import unittest

import harness
from network_harness import PYTHON


class UnixSockets(harness.Case):
    def listen(self, path, kind=socket.SOCK_STREAM):
        server = socket.socket(socket.AF_UNIX, kind)
        server.bind(path)
        os.chmod(path, 0o777)
        self.addCleanup(server.close)
        if kind != socket.SOCK_DGRAM:
            server.listen()
            server.settimeout(0.2)
        return server

    CONNECT = ("import socket, sys\n"
               "s = socket.socket(socket.AF_UNIX)\n"
               "try: s.connect(sys.argv[1]); print('connected')\n"
               "except OSError as e: print(e.__class__.__name__)\n")

    def connect(self, path, *flags):
        self.write("work/c.py", self.CONNECT)
        return self.run_json(*flags, "--", PYTHON, "c.py", path)

    def test_a_hosts_socket_in_a_root_cannot_be_connected_to(self):
        path = os.path.join(self.work, "host.sock")
        server = self.listen(path)
        os.symlink("host.sock", os.path.join(self.work, "link"))
        for flags in ((), ("--net", "open"), ("--net", "outbound"), ("--ro", self.work)):
            for name in (path, "host.sock", "./link", "../work/host.sock"):
                answer = self.connect(name, *flags)
                self.assertNotEqual(answer["stdout"], "connected\n", (flags, name, answer))
        with self.assertRaises(TimeoutError):
            server.accept()
        answer = self.connect(path)
        self.assertEqual(answer["stdout"], "PermissionError\n", answer)
        denial = [d for d in answer["denials"] if d["target"] == path][0]
        self.assertEqual((denial["layer"], denial["operation"]), ("network", "connect"))
        self.assertEqual(denial["grant"], f'network.unix_sockets += ["{path}"]')
        # However it was named, the grant is one that a profile takes.
        for name in ("host.sock", "../work/./host.sock"):
            denial = [d for d in self.connect(name)["denials"] if d["target"] == name][0]
            self.assertEqual(denial["grant"], f'network.unix_sockets += ["{path}"]')

    def test_nor_through_an_overlay(self):
        path = os.path.join(self.work, "host.sock")
        self.listen(path)
        env = {**os.environ, "XDG_STATE_HOME": self.base + "/state"}
        own = ("s = socket.socket(socket.AF_UNIX); s.bind('own.sock'); s.listen()\n"
               "socket.socket(socket.AF_UNIX).connect('own.sock')\n")
        for flags in (("--overlay",), ("--layer", "x")):
            for name in (path, "host.sock"):
                answer = self.run_json(*flags, "--", PYTHON, "-c", self.CONNECT, name, env=env)
                self.assertEqual(answer["stdout"], "PermissionError\n", (flags, answer))
                self.assertEqual([(d["layer"], d["operation"], d["target"], d["grant"]) for d in answer["denials"]],
                                 [("network", "connect", name, f'network.unix_sockets += ["{path}"]')])
            answer = self.run_json(*flags, "--", PYTHON, "-c", self.CONNECT + own, "none.sock", env=env)
            self.assertEqual((answer["exit_code"], answer["denials"]), (0, []), answer)

    def test_a_sockets_path_adds_nothing_to_the_grant(self):
        path = os.path.join(self.work, 'a"], network.mode = "open", x += ["b\n*')
        self.listen(path)
        answer = self.connect(path)
        self.assertEqual(answer["stdout"], "PermissionError\n", answer)
        (denial,) = [d for d in answer["denials"] if d["operation"] == "connect"]
        setting, _, value = denial["grant"].partition(" += ")
        self.assertEqual((setting, json.loads(value)), ("network.unix_sockets", [path]))

    def test_a_listed_socket_can_be_connected_to(self):
        path = os.path.join(self.work, "host.sock")
        self.listen(path)
        for mode in ("none", "open"):
            profile = self.profile({"network": {"mode": mode, "unix_sockets": [path]}})
            self.assertEqual(self.connect(path, "--profile", profile)["stdout"], "connected\n")

    @unittest.skipUnless(harness.is_root(), "only a supervisor of root's has rights to lay down")
    def test_it_is_connected_to_with_no_more_rights_than_the_command_has(self):
        path = os.path.join(self.work, "host.sock")
        self.listen(path)
        os.chmod(path, 0o700)
        os.chown(path, 65534, 65534)
        profile = self.profile({"network": {"unix_sockets": [path]}})
        self.assertEqual(self.connect(path, "--profile", profile)["stdout"], "PermissionError\n")

    def test_a_listed_socket_is_connected_to_through_an_overlay(self):
        path = os.path.join(self.work, "host.sock")
        self.listen(path)
        profile = self.profile({"network": {"unix_sockets": [path]}})
        for flags in (("--overlay",), ("--layer", "x")):
            answer = self.run_json("--profile", profile, *flags, "--", PYTHON, "-c", self.CONNECT, path,
                                   env={**os.environ, "XDG_STATE_HOME": self.base + "/state"})
            self.assertEqual(answer["stdout"], "connected\n", answer)

    def test_a_listed_socket_is_connected_to_in_a_layer_that_is_a_copy(self):
        path = os.path.join(self.work, "host.sock")
        self.listen(path)
        script = """
mkdir m && mount -t tmpfs none m || exit
for i in 1 2; do "$SBX_RUN" --profile "$PROFILE" --layer x -- /usr/bin/python3 -c "$CONNECT" "$PWD/host.sock"; done
"""
        env = {**os.environ, "XDG_STATE_HOME": self.base + "/state", "CONNECT": self.CONNECT,
               "PROFILE": self.profile({"network": {"unix_sockets": [path]}})}
        done = subprocess.run([*harness.OWN_MOUNTS, "sh", "-c", script], cwd=self.work,
                              env=env, capture_output=True, timeout=harness.BOUND, check=False)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([(answer["layer"]["kind"], answer["stdout"], answer["changes"]) for answer in answers],
                         [("copy", "connected\n", [])] * 2, done)

    def test_a_listed_socket_outside_of_every_root_is_shown(self):
        path = os.path.join(self.base, "agent.sock")
        self.listen(path)
        profile = self.profile({"network": {"unix_sockets": [path]}})
        self.assertEqual(self.connect(path, "--profile", profile)["stdout"], "connected\n")

    def test_one_that_is_not_shown_is_a_refusal_that_helps(self):
        os.mkdir(self.base + "/services")
        path = os.path.join(self.base, "services/agent.sock")
        self.listen(path)
        os.symlink("services", self.base + "/srv")
        self.write("services/file", "")
        for name in (path, self.base + "/srv/agent.sock"):
            answer = self.connect(name)
            self.assertEqual(answer["stdout"], "FileNotFoundError\n", answer)
            self.assertEqual([(d["layer"], d["operation"], d["target"], d["grant"]) for d in answer["denials"]],
                             [("network", "connect", name, f'network.unix_sockets += ["{path}"]')])
        profile = self.profile({"network": {"unix_sockets": [path]}})
        self.assertEqual(self.connect(path, "--profile", profile)["stdout"], "connected\n")
        # What is no socket, and what the policy hides.
        for name, *flags in ((self.base + "/services/none",), (self.base + "/services/file",),
                             (path, "--hide", self.base + "/services")):
            answer = self.connect(name, *flags)
            self.assertIn(answer["stdout"], ("FileNotFoundError\n", "PermissionError\n"), answer)
            self.assertEqual([d for d in answer["denials"] if d["operation"] == "connect"], [], answer)
        # What a program asks for by itself is not told of: it could go through the host's.
        self.write("work/by_itself.py", self.CONNECT.replace("sys.argv[1]", repr(path)))
        for flags, told in (((), []), (("--trace-denials",), [path])):
            answer = self.sh("python3 by_itself.py", *flags)
            self.assertEqual(answer["stdout"], "FileNotFoundError\n", answer)
            self.assertEqual([d["target"] for d in answer["denials"] if d["operation"] == "connect"], told)

    def test_what_is_put_in_the_place_of_a_listed_socket_is_not_listed(self):
        listed, other = (os.path.join(self.work, name) for name in ("listed", "other"))
        self.listen(listed)
        self.listen(other)
        profile = self.profile({"network": {"unix_sockets": [listed]}})
        self.write("work/c.py", self.CONNECT)
        answer = self.sh("mv -f other listed; python3 c.py listed", "--profile", profile)
        self.assertEqual(answer["stdout"], "PermissionError\n", answer)

    def test_sockets_made_inside_work_wherever_they_lie(self):
        code = ("import os, socket, sys\n"
                "for path in ('s.sock', '/tmp/s.sock', '\\0abstract'):\n"
                "  for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):\n"
                "    s = socket.socket(socket.AF_UNIX, kind); s.bind(path); s.listen()\n"
                "    c = socket.socket(socket.AF_UNIX, kind); c.connect(path)\n"
                "    a = s.accept()[0]; a.sendall(b'hi'); print(c.recv(2))\n"
                "    s.close()\n"
                "    if path[0] != '\\0': os.unlink(path)\n"
                "a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1))\n")
        self.write("work/p.py", code)
        for flags in ((), ("--net", "open"), ("--net", "outbound")):
            answer = self.run_json(*flags, "--", PYTHON, "p.py")
            self.assertEqual(answer["stdout"], "b'hi'\n" * 6 + "b'x'\n", (flags, answer))
            self.assertEqual(answer["denials"], [])

    # Opens the directory and the socket of its argument, and connects by each way to it there is.
    WAYS = ("import errno, os, socket, sys, threading\n"
            "name = sys.argv[1]; top = os.open('.', os.O_PATH); own = os.open(name, os.O_PATH)\n"
            "def go(way):\n"
            "  s = socket.socket(socket.AF_UNIX)\n"
            "  try: s.connect(way); print('connected', flush=True)\n"
            "  except OSError as e: print(errno.errorcode[e.errno], flush=True)\n"
            "def each():\n"
            "  for me in ('/proc/self', '/proc/thread-self'):\n"
            "    go(f'{me}/cwd/{name}'); go(f'{me}/fd/{top}/./{name}'); go(f'{me}/fd/{own}')\n"
            "    go(f'{me}/root{os.getcwd()}/{name}')\n"
            "  go(f'/dev/fd/{top}/{name}'); go(f'/dev/fd/{own}')\n"
            "each(); t = threading.Thread(target=each); t.start(); t.join()\n")

    def test_a_socket_made_inside_is_reached_by_the_links_of_its_callers_own(self):
        self.write("work/w.py", self.WAYS)
        code = ("import os, socket, subprocess, sys\n"
                "s = socket.socket(socket.AF_UNIX); s.bind('own.sock'); s.listen(100)\n"
                "subprocess.run([sys.executable, 'w.py', 'own.sock']); os.unlink('own.sock')\n")
        for flags in ((), ("--net", "open"), ("--net", "outbound"), ("--overlay",)):
            answer = self.run_json(*flags, "--", PYTHON, "-c", code)
            self.assertEqual(answer["stdout"], "connected\n" * 20, (flags, answer))
            self.assertEqual(answer["denials"], [])

    def test_a_hosts_socket_is_not_reached_by_them(self):
        path = os.path.join(self.work, "host.sock")
        server = self.listen(path)
        self.write("work/w.py", self.WAYS)
        for flags in ((), ("--net", "open"), ("--net", "outbound"), ("--ro", self.work)):
            answer = self.run_json(*flags, "--", PYTHON, "w.py", "host.sock")
            self.assertEqual(answer["stdout"], "EACCES\n" * 20, (flags, answer))
            self.assertEqual({d["grant"] for d in answer["denials"]}, {f'network.unix_sockets += ["{path}"]'})
        with self.assertRaises(TimeoutError):
            server.accept()
        # Nor one that is not shown: what these links lead to is inside.
        hidden = os.path.join(self.base, "hidden.sock")
        server = self.listen(hidden)
        for way in ("/proc/self/root" + hidden, "/proc/self/cwd/../hidden.sock", "/proc/self/cwd/" + hidden):
            self.assertEqual(self.connect(way)["stdout"], "FileNotFoundError\n", way)
        with self.assertRaises(TimeoutError):
            server.accept()

    def test_no_other_link_of_proc_is_followed_and_says_so_as_connect_does(self):
        code = ("import errno, os, socket\n"
                "s = socket.socket(socket.AF_UNIX); s.bind('own.sock'); s.listen(9)\n"
                "os.symlink('/proc/self/cwd', 'link')\n"
                "r, w = os.pipe()\n"
                "for way in (f'/proc/{os.getpid()}/cwd/own.sock', '/proc/1/root/own.sock', 'link/own.sock',\n"
                "            f'/proc/self/fd/{r}', f'/proc/self/fd/{r}/x', '/proc/self/fd/999/own.sock',\n"
                "            '/proc/self/fd',\n"
                "            '/dev/cwd/own.sock', '/proc/self/cwd', '/proc/selfcwd/own.sock'):\n"
                "  try: socket.socket(socket.AF_UNIX).connect(way); print('connected')\n"
                "  except OSError as e: print(errno.errorcode[e.errno])\n"
                "os.unlink('own.sock')\n")
        words = self.run_json("--", PYTHON, "-c", code)["stdout"].split()
        self.assertLessEqual(set(words), {"EACCES", "ENOENT", "ECONNREFUSED"}, words)
        self.assertEqual((len(words), words[0], words[-2]), (10, "EACCES", "ECONNREFUSED"), words)

    def test_a_socket_that_nobody_listens_on_is_refused_as_ever(self):
        stale = socket.socket(socket.AF_UNIX)
        stale.bind(os.path.join(self.work, "stale"))
        stale.close()
        self.assertEqual(self.connect("stale")["stdout"], "ConnectionRefusedError\n")
        self.assertEqual(self.connect("missing")["stdout"], "FileNotFoundError\n")
        self.write("work/plain", "")
        self.assertEqual(self.connect("plain")["stdout"], "ConnectionRefusedError\n")

    def test_pairs_of_datagram_sockets_are_of_the_sandboxs_own_network(self):
        self.write("work/program.py", """
import array, fcntl, socket, struct
SO_NETNS_COOKIE, SIOCGIFCONF = 71, 0x8912
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
c = socket.socket(socket.AF_UNIX)
try:
    print(a.getsockopt(socket.SOL_SOCKET, SO_NETNS_COOKIE, 8) == c.getsockopt(socket.SOL_SOCKET, SO_NETNS_COOKIE, 8))
except OSError:
    print(True)  # Linux 5.14; the interfaces tell as well
found = array.array("B", bytes(4096))
size, _ = struct.unpack("iL", fcntl.ioctl(a, SIOCGIFCONF, struct.pack("iL", 4096, found.buffer_info()[0])))
print({found.tobytes()[i:i + 16].split(b"\\0")[0].decode() for i in range(0, size, 40)} <= {"lo"})
a.bind("\\0" + "sbx-test-of-pairs"); print("bound")
""")
        taken = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        taken.bind("\0sbx-test-of-pairs")
        self.addCleanup(taken.close)
        for flags in ((), ("--net", "outbound"), ("--profile", "readonly")):
            answer = self.run_json(*flags, "--", PYTHON, "program.py")
            self.assertEqual(answer["stdout"], "True\nTrue\nbound\n", answer)

    def test_pairs_of_datagram_sockets_carry_messages_and_reach_nobody_else(self):
        path = os.path.join(self.work, "log")
        listener = self.listen(path, socket.SOCK_DGRAM)
        self.write("work/program.py", """
import ctypes, errno, fcntl, os, resource, socket
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
a.send(b"one"); a.send(b""); a.send(b"three" * 999); b.send(b"back")
print(b.recv(99), b.recv(99), len(b.recv(9999)), a.recv(99))
print(fcntl.fcntl(a, fcntl.F_GETFD), fcntl.fcntl(a, fcntl.F_GETFL) & os.O_NONBLOCK)
for send in (lambda: a.sendto(b"x", "log"), lambda: a.sendmsg([b"x"], [], 0, "log"),
             lambda: (a.connect("log"), a.send(b"x"))):
    try:
        send(); print(b.recv(9))  # whatever address it was given
    except OSError as error:
        print(errno.errorcode[error.errno])
libc = ctypes.CDLL(None, use_errno=True)
pair = (ctypes.c_int * 2)()
kinds = socket.SOCK_DGRAM | socket.SOCK_NONBLOCK
print(libc.socketpair(1, kinds, 0, pair), fcntl.fcntl(pair[0], fcntl.F_GETFD),
      fcntl.fcntl(pair[1], fcntl.F_GETFL) & os.O_NONBLOCK)
count = len(os.listdir("/proc/self/fd"))
print(libc.socketpair(1, kinds, 0, None), errno.errorcode[ctypes.get_errno()],
      len(os.listdir("/proc/self/fd")) - count)
resource.setrlimit(resource.RLIMIT_NOFILE, (pair[1] + 1,) * 2)
try:
    socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); print("made")
except OSError as error:
    print(errno.errorcode[error.errno])
""")
        answer = self.run_json("--", "/usr/bin/python3", "program.py")
        self.assertEqual(answer["stdout"].splitlines(),
                         ["b'one' b'' 4995 b'back'", "1 0", "b'x'", "b'x'", "EACCES",
                          "0 0 2048", "-1 EFAULT 0", "EMFILE"], answer)
        listener.setblocking(False)
        with self.assertRaises(BlockingIOError):
            listener.recv(9)
        self.assertEqual([each for each in answer["denials"] if each["layer"] == "seccomp"], [])

    def test_datagrams_reach_no_socket_of_the_host(self):
        path = os.path.join(self.work, "log")
        server = self.listen(path, socket.SOCK_DGRAM)
        server.setblocking(False)
        self.write("work/d.py", "import socket\n"
                   "for make in (lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM),\n"
                   "             lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0]):\n"
                   "  try: make().sendto(b'x', 'log'); print('sent')\n"
                   "  except OSError as e: print(e.__class__.__name__)\n")
        self.assertEqual(self.out("python3 d.py"), "PermissionError\nBrokenPipeError\n")
        with self.assertRaises(BlockingIOError):
            server.recv(1)

    def test_descriptor_and_path_raced_against_the_look_reach_no_socket_of_the_host(self):
        path = os.path.join(self.work, "host.sock")
        server = self.listen(path)
        # One thread swaps what the number stands for and what the address says.
        self.write("work/r.py",
                   "import ctypes, os, socket, threading\n"
                   "libc = ctypes.CDLL(None, use_errno=True)\n"
                   "good = b'\\x02\\0\\x1f\\x90' + socket.inet_aton('127.0.0.1') + bytes(100)\n"
                   "bad = b'\\x01\\0' + b'host.sock' + bytes(97)\n"
                   "buf = ctypes.create_string_buffer(good, 108)\n"
                   "inet = socket.socket(); fd = os.dup(inet.fileno()); done = False\n"
                   "def flip():\n"
                   "    while not done:\n"
                   "        u = socket.socket(socket.AF_UNIX)\n"
                   "        os.dup2(u.fileno(), fd); ctypes.memmove(buf, bad, 108)\n"
                   "        ctypes.memmove(buf, good, 108); os.dup2(inet.fileno(), fd); u.close()\n"
                   "threading.Thread(target=flip).start()\n"
                   "n = sum(libc.connect(fd, buf, 108) == 0 for _ in range(3000))\n"
                   "done = True\n"
                   "print(n)\n")
        self.assertEqual(self.out("python3 r.py"), "0\n")
        with self.assertRaises(TimeoutError):
            server.accept()

    def test_a_connect_that_blocks_blocks_nobody_but_its_caller(self):
        # A full queue that is never emptied: the time limit still holds, and so does the answer.
        self.write("work/b.py", "import socket, threading\n"
                   "s = socket.socket(socket.AF_UNIX); s.bind('/tmp/s'); s.listen(0)\n"
                   "def go(): socket.socket(socket.AF_UNIX).connect('/tmp/s')\n"
                   "for _ in range(100): threading.Thread(target=go, daemon=True).start()\n"
                   "import time; time.sleep(1000)\n")
        answer = self.run_json("--timeout", "1s", "--", PYTHON, "b.py")
        self.assertEqual(answer["status"], "timed_out", answer)
        self.assertLess(answer["duration_ms"], 20_000)


if __name__ == "__main__":
    unittest.main()
