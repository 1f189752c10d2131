# SPDX-License-Identifier: Apache-2.0
"""Commands that mean to hold up whoever supervises them: what waits because of them waits for
nobody else, and they can be ended as ever."""

import contextlib
import json
import os
import socket
import subprocess
import time
import unittest

import harness
import session_harness

PYTHON = "/usr/bin/python3"

# A TCP socket with a peer that never reads, whose last close would wait for an hour, lies in the
# queue of a Unix socket. The last one inside that holds it is killed while it connects that one to
# a full backlog; then there is room in the backlog, and whoever connected for it holds it alone.
LINGER = """
import os, signal, socket, struct, time
server = socket.socket(); server.bind(('127.0.0.1', 0)); server.listen()
tcp = socket.create_connection(server.getsockname())
tcp.setblocking(False)
try:
    while True: tcp.send(bytes(1 << 20))
except BlockingIOError: pass
tcp.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 3600))
full = socket.socket(socket.AF_UNIX); full.bind('/tmp/full'); full.listen(0)
first = socket.socket(socket.AF_UNIX); first.connect('/tmp/full')
one, two = socket.socketpair()
socket.send_fds(one, [b'x'], [tcp.fileno()])
child = os.fork()
if child == 0:
    os.close(tcp.fileno())
    two.connect('/tmp/full')
    os._exit(1)
CONNECT = {'x86_64': '42 ', 'aarch64': '203 '}[os.uname().machine]
while not open(f'/proc/{child}/syscall').read().startswith(CONNECT): time.sleep(0.01)
time.sleep(0.2)  # a connect that has not got so far shows nothing, and fails nothing
os.kill(child, signal.SIGKILL); os.waitpid(child, 0)
tcp.close(); two.close()
full.accept()
print('ready', flush=True)
time.sleep(1000)
"""

# More connects that wait for ever than are made at once, of a process that is gone; then one more.
GONE = """
import os, signal, socket, sys, threading, time
full = socket.socket(socket.AF_UNIX); full.bind('/tmp/full'); full.listen(0)
socket.socket(socket.AF_UNIX).connect('/tmp/full')
child = os.fork()
if child == 0:
    def go(): socket.socket(socket.AF_UNIX).connect('/tmp/full')
    for _ in range(200): threading.Thread(target=go, daemon=True).start()
    os.write(1, b'started ')
    time.sleep(1000)
server = socket.socket(); server.bind(('127.0.0.1', 0)); server.listen()
time.sleep(0.3)
os.kill(child, signal.SIGKILL); os.waitpid(child, 0)
socket.create_connection(server.getsockname())
print('connected')
"""

# A walk over the page tables of all its processes takes long, and each of its looks asks for one:
# shared pages count for each process, and are far beyond the limit then.
WALK = """
import mmap, os, time
fd = os.memfd_create('x'); os.ftruncate(fd, 40 << 20)
maps = [mmap.mmap(fd, 40 << 20) for _ in range(20)]
for n in range(40):
    if os.fork(): continue
    for m in maps:
        for at in range(0, 40 << 20, 4096): m[at]
    os.mkdir(f'seen{n}')
    time.sleep(1000)
time.sleep(1000)
"""

# Mounts a file system that never answers over argv[1], then runs the rest.
HUNG = """
import ctypes, os, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
fuse = os.open('/dev/fuse', os.O_RDWR)
options = f'fd={fuse},rootmode=40755,user_id=0,group_id=0'.encode()
if libc.mount(b'hung', sys.argv[1].encode(), b'fuse', 6, options) != 0:
    print('no FUSE here'); sys.exit(77)
done = subprocess.run(sys.argv[2:], timeout=50)
sys.exit(done.returncode)
"""

# All of its mappings are looked through, some seconds long, since enough is mapped for much to hide
# in; meanwhile it takes what it can get.
MAPPED = """
import ctypes, mmap, os, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + 3 * [ctypes.c_int] + [ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
NORESERVE = 0x4000
libc.mmap(None, 1 << 33, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
at = libc.mmap(None, 30000 << 13, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NORESERVE, -1, 0)
for i in range(15000): libc.mprotect(at + (i << 14), 4096, 1)
for n in range(60):
    if os.fork() == 0: time.sleep(1000)
time.sleep(2)  # so that a look goes on
kept = []
for i in range(64):
    kept.append(mmap.mmap(-1, 32 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
    for page in range(0, 32 << 20, 4096): kept[-1][page] = 1
    os.mkdir(f'seen{i}')
time.sleep(1000)
"""

# Some thousands of directories, each with what argv[2] says in it.
TREE = """
import os, sys
for n in range(20000): os.makedirs(f'{sys.argv[1]}/{n}{sys.argv[2]}')
"""


class Starve(session_harness.Case):
    def test_a_trace_of_a_path_that_never_answers_holds_up_only_its_caller(self):
        os.mkdir(os.path.join(self.work, "hung"))
        script = self.write("hung.py", HUNG)
        own = ["unshare", "--user", "--map-root-user", "--mount", PYTHON, script,
               os.path.join(self.work, "hung")]
        if subprocess.run([*own, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no FUSE in a user namespace here")
        # One waits for ever; another's refusal is told as ever, by the next that looks.
        command = "(cat hung/x &); sleep 0.2; cat /etc/shadow-; echo ran; sleep 1000"
        ran = subprocess.run([*own, harness.SBX_RUN, "--trace-denials", "--timeout", "5s",
                              "-c", command], cwd=self.work, capture_output=True, text=True,
                             timeout=harness.BOUND, check=False)
        answer = json.loads(ran.stdout)
        self.assertEqual((answer["status"], answer["stdout"]), ("timed_out", "ran\n"), ran)

    def test_a_socket_that_lingers_when_it_is_closed_last_holds_up_only_itself(self):
        self.write("work/linger.py", LINGER)
        answer = self.run_json("--timeout", "3s", "--", PYTHON, "linger.py")
        self.assertEqual((answer["status"], answer["stdout"]), ("timed_out", "ready\n"), answer)

    def test_a_server_goes_on_while_a_socket_of_a_task_lingers(self):
        self.write("work/linger.py", LINGER)
        process, peer = self.server("--workspace", self.work)
        task = peer.call("start", argv=[PYTHON, "linger.py"])["task_id"]
        peer.call("wait", task_id=task, timeout_ms=2000)
        self.assertEqual(peer.call("run", command="echo hi")["stdout"], "hi\n")
        self.assertEqual(peer.call("kill", task_id=task)["task_id"], task)
        self.assertEqual(peer.call("wait", task_id=task)["status"], "killed")

    def test_connects_that_wait_for_ever_leave_room_once_their_callers_are_gone(self):
        self.write("work/gone.py", GONE)
        self.assertEqual(self.out(f"{PYTHON} gone.py"), "started connected\n")

    def test_a_line_without_an_end_that_is_looked_through_takes_little_memory_of_its_server(self):
        process, peer = self.server("--workspace", self.work)
        peer.call("run", command="true")
        before = self.peak(process)
        task = peer.call("start", argv=["head", "-c", "48M", "/dev/zero"], match="never")["task_id"]
        self.assertEqual(peer.call("wait", task_id=task, timeout_ms=100_000)["stdout_bytes"], 48 << 20)
        self.assertLess(self.peak(process) - before, 24 << 10)

    def test_a_task_that_is_slow_to_look_at_takes_no_time_of_its_server(self):
        self.write("work/walk.py", WALK)
        process, peer = self.server("--workspace", self.work)
        task = peer.call("start", argv=[PYTHON, "walk.py"])["task_id"]
        self.assertTrue(harness.until(lambda: len(os.listdir(self.work)) > 40, 50))
        before = self.worked(process)
        peer.call("wait", task_id=task, timeout_ms=3000)
        self.assertLess(self.worked(process) - before, 0.5)
        self.assertEqual(peer.call("run", command="echo hi")["stdout"], "hi\n")
        self.assertEqual(peer.call("list")["tasks"][0]["status"], "running")

    def test_a_flood_of_output_takes_a_part_of_its_servers_time(self):
        process, peer = self.server("--workspace", self.work)
        flood = peer.call("start", command="yes")["task_id"]
        other = peer.call("start", command="sleep 100")["task_id"]
        peer.call("wait", task_id=other, timeout_ms=500)  # its burst
        before = self.worked(process)
        peer.call("wait", task_id=other, timeout_ms=3000)
        self.assertLess(self.worked(process) - before, 1.5)
        peer.call("kill", task_id=flood)

    def test_what_is_held_back_beside_others_comes_whole(self):
        _, peer = self.server("--workspace", self.work)
        peer.call("start", command="sleep 100")
        task = peer.call("start", command="head -c 12M /dev/zero; echo end")["task_id"]
        answer = peer.call("wait", task_id=task, timeout_ms=100_000)
        self.assertEqual((answer["stdout_bytes"], answer["stdout"][-5:]), ((12 << 20) + 4, "\0end\n"), answer["status"])

    def test_millions_of_words_are_refused_before_they_are_decoded(self):
        process, peer = self.server("--workspace", self.work)
        before = self.worked(process)
        answer = peer.error("run", argv=["a"] * 3_000_000)
        self.assertEqual(answer["data"]["code"], "too_large")
        self.assertLess(self.worked(process) - before, 4)  # 8 where each is decoded
        self.assertEqual(peer.call("run", command="echo hi")["stdout"], "hi\n")

    def test_a_path_of_megabytes_is_refused_before_it_is_looked_at(self):
        _, peer = self.server("--workspace", self.work)
        for path in ("a/" * 4_000_000, "/" * 8_000_000, "../" * 2_000_000):
            answer = peer.error("check", command="true", cwd=path)
            self.assertEqual((answer["message"], answer["data"]["where"]),
                             ("a path must be shorter than 4096 bytes", "/cwd"))

    def test_long_texts_of_tasks_are_cut_in_their_list(self):
        process, path, _ = self.socket_server("--workspace", self.work)
        peer = self.connect(path)
        secret = "AKIAQYLPMN5HHHFPZAM2"
        whole, about = {}, "x" + "ü" * 8_000
        for command in ("true #" + "\x01" * 100_000, "sleep 100 # " + "é" * 10_000,
                        "sleep 100 #" + "x" * 1_000 + " " + secret + " y" * 100):
            task = peer.call("start", command=command, description=about)["task_id"]
            if command.startswith("true"):
                peer.call("wait", task_id=task, timeout_ms=20_000)
            whole[task] = peer.call("status", task_id=task)["command"]
            self.assertEqual(whole[task], command.replace(secret, "[REDACTED]"))
        before = self.worked(process)
        for _ in range(10):
            listed = self.connect(path).call("list")["tasks"]
        self.assertLess(self.worked(process) - before, 1)
        for task in listed:
            for shown, text in ((task["command"], whole[task["task_id"]]), (task["description"], about)):
                text = text.encode()
                kept = text[:1024].decode(errors="ignore")
                self.assertEqual(shown, f"{kept} [... {len(text) - len(kept.encode())} bytes left out ...]")
        self.assertEqual(len(listed), 3)

    def test_an_expression_that_is_large_is_refused(self):
        _, peer = self.server("--workspace", self.work)
        task = peer.call("start", command="echo ab01", follow=False)["task_id"]
        large = peer.error("output", task_id=task, match="(?:(?:a?b?){1,31}){1,31}c")
        self.assertEqual((large["data"]["code"], large["data"]["where"]), ("bad_value", "/match"))
        peer.call("output", task_id=task, since=0, follow=True, match="[ab01]{0,490}c")

    def test_memory_that_is_taken_while_a_look_goes_on_is_found_before_its_end(self):
        self.write("work/mapped.py", MAPPED)
        answer = self.run_json("--memory", "128M", "--timeout", "60s", "--", PYTHON, "mapped.py")
        self.assertEqual((answer["status"], answer["limit"]), ("limit", "memory"), answer)
        self.assertLess(len(os.listdir(self.work)), 32)

    # What is as long as commands have made it is done beside the server's own thread.

    def test_a_walk_for_a_pattern_takes_no_time_of_its_server(self):
        self.make_tree(os.path.join(self.work, "tree"), "/d")
        self.write("work/tree/7/d/k.secret", "hidden")
        profile = self.profile({"filesystem": {"roots": [
            {"path": self.work, "access": "rw"}, {"path": self.work + "/**/*.secret", "access": "none"}]}})
        process, peer = self.server("--workspace", self.work, "--profile", profile)
        with self.done_beside(process):
            plan = peer.call("explain", command="true")
        self.assertIn(self.work + "/tree/7/d/k.secret", json.dumps(plan))
        for command in ("cat tree/7/d/k.secret", "touch tree/8/d/new.secret"):
            with self.done_beside(process):
                answer = peer.call("run", command=command)
        self.assertEqual([(d["operation"], d["target"]) for d in answer["denials"]],
                         [("hidden_appeared", self.work + "/tree/8/d/new.secret")])
        self.assertEqual(peer.call("run", command="cat tree/8/d/new.secret; echo $?")["stdout"][-2:], "1\n")
        # Ended while it is looked for, it never begins.
        task = peer.send("start", command="touch began; sleep 100")
        listed = peer.call("list")["tasks"]
        self.assertEqual([entry["status"] for entry in listed], ["running"])
        peer.call("kill", task_id=listed[0]["task_id"])
        peer.answer(task)
        self.assertEqual(peer.call("wait", task_id=listed[0]["task_id"], timeout_ms=50_000)["status"], "killed")
        run = peer.send("run", command="touch began")
        peer.call("cancel", id=run)
        self.assertEqual(peer.answer(run)["result"]["status"], "cancelled")
        self.assertFalse(os.path.exists(self.work + "/began"))

    def test_a_pattern_whose_directory_is_another_after_the_look_is_looked_for_again(self):
        self.make_tree(os.path.join(self.work, "one"), "")
        for tree in ("one", "two"):
            self.write(f"work/{tree}/k.secret", "hidden")
        link = os.path.join(self.work, "link")
        profile = self.profile({"filesystem": {"roots": [
            {"path": self.work, "access": "rw"}, {"path": link + "/*.secret", "access": "none"}]}})
        os.symlink("one", link)
        _, peer = self.server("--workspace", self.work, "--profile", profile)
        shown = []
        for n in range(16):
            os.symlink("one", link + ".new")
            os.rename(link + ".new", link)
            run = peer.send("run", command="cat link/k.secret")
            time.sleep(n * 0.004)  # while "one" is read
            os.symlink("two", link + ".new")
            os.rename(link + ".new", link)
            answer = peer.answer(run)["result"]
            self.assertEqual(answer["status"], "exited", answer)
            shown.append("hidden" in answer["stdout"])  # what it leads to once the command is there is its own affair
        self.assertIn(False, shown)

    def test_no_action_takes_a_layer_from_a_run_that_has_not_begun(self):
        self.make_tree(os.path.join(self.work, "tree"), "/d")
        profile = self.profile({"filesystem": {"roots": [
            {"path": self.work, "access": "rw"}, {"path": self.work + "/**/*.secret", "access": "none"}]}})
        process, peer = self.server("--workspace", self.work, "--layer", "l", "--profile", profile)
        peer.call("run", command="true")
        run = peer.send("run", command="echo one")
        self.assertEqual(peer.error("layer.checkpoint", label="c")["data"]["code"], "layer_in_use")
        self.assertEqual(peer.answer(run)["result"]["stdout"], "one\n")
        self.assertEqual(peer.call("layer.checkpoint", label="c")["label"], "c")
        with self.done_beside(process):
            self.assertEqual(peer.call("layer.commit")["committed"], [])
        # Another layer in place of one that is discarded: whoever comes meanwhile is told.
        with self.done_beside(process):
            discard = peer.send("layer.discard")
            self.assertEqual(peer.call("run", command="true")["error"]["code"], "layer_in_use")
            self.assertNotIn("error", peer.answer(discard))
        self.assertEqual(peer.call("run", command="echo two")["stdout"], "two\n")
        self.assertIsNone(process.poll())

    def test_a_look_at_a_layer_takes_no_time_of_its_server(self):
        process, peer = self.server("--workspace", self.work, "--layer", "l")
        with self.done_beside(process):
            answer = peer.call("run", argv=[PYTHON, "-c", TREE, "tree", ""])
        self.assertEqual((answer["status"], len(answer["changes"]) > 100), ("exited", True))

    def test_a_look_at_what_git_reads_takes_no_time_of_its_server(self):
        subprocess.run(["git", "init", "-q", self.work], check=True)
        os.makedirs(self.work + "/.git/hooks", exist_ok=True)
        for n in range(250):
            self.write(f"work/.git/hooks/{n}", "x" * 60_000)
        process, peer = self.server("--workspace", self.work)
        peer.call("run", command="true")  # as long as any
        with self.done_beside(process):
            for _ in range(4):
                self.assertEqual(peer.call("run", command="echo hi")["stdout"], "hi\n")
        peer.send("start", command="touch began; sleep 100")
        task = peer.call("list")["tasks"][0]["task_id"]
        peer.call("kill", task_id=task)
        self.assertEqual(peer.call("wait", task_id=task, timeout_ms=50_000)["status"], "killed")

    def test_the_removal_of_a_fresh_workspace_takes_no_time_of_its_server(self):
        profile = self.profile({"workspace": {"mode": "fresh"}})
        process, peer = self.server("--profile", profile)
        peer.call("run", command="true")
        before = os.listdir(self.cache + "/sbx/workspaces")  # the session's own
        with self.done_beside(process):
            answer = peer.call("run", argv=[PYTHON, "-c", TREE, "tree", "/d"])
        self.assertEqual(answer["status"], "exited", answer)
        self.assertEqual(os.listdir(self.cache + "/sbx/workspaces"), before)

    def make_tree(self, *arguments):
        subprocess.run([PYTHON, "-c", TREE, *arguments], check=True)

    @contextlib.contextmanager
    def done_beside(self, process):
        """Most of the server's work meanwhile is not its main thread's."""
        main = f"task/{process.pid}/"
        before = self.worked(process), self.worked(process, main)
        yield
        whole = self.worked(process) - before[0]
        self.assertLess(self.worked(process, main) - before[1], whole / 2)

    @staticmethod
    def worked(process, part=""):
        """Seconds of CPU time of the server itself."""
        with open(f"/proc/{process.pid}/{part}stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @staticmethod
    def peak(process):
        """The most memory that it has had at once, in KiB."""
        with open(f"/proc/{process.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

    @unittest.skipUnless(harness.is_root(), "the rights that root has over others' files")
    def test_connect_tells_nothing_of_anothers_closed_directory(self):
        closed = os.path.join(self.work, "closed")
        os.mkdir(closed, 0o700)
        here = socket.socket(socket.AF_UNIX)
        self.addCleanup(here.close)
        here.bind(os.path.join(closed, "here"))
        os.chown(closed, 65534, 65534)
        self.write("work/c.py", "import socket, sys\n"
                   "for name in sys.argv[1:]:\n"
                   "    try: socket.socket(socket.AF_UNIX).connect(name)\n"
                   "    except OSError as e: print(e.__class__.__name__)\n")
        self.assertEqual(self.out(f"{PYTHON} c.py closed/here closed/gone"),
                         "PermissionError\nPermissionError\n")


if __name__ == "__main__":
    unittest.main()
