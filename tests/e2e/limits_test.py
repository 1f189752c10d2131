# SPDX-License-Identifier: Apache-2.0
"""Limits: each holds for the whole tree, ends what goes beyond it, and is named in the answer."""

import os
import resource
import unittest

import harness

PYTHON = "/usr/bin/python3"
ALL = ["user", "mount", "pid", "net", "ipc", "uts", "cgroup"]


class Limits(harness.Case):
    """Fork bombs and memory bombs do not reach the host; `limit` says what ended it."""

    def script(self, text, name="s.py"):
        self.write("work/" + name, text)
        return f"{PYTHON} {name}"

    def assert_limit(self, answer, limit):
        self.assertEqual((answer["status"], answer["limit"]), ("limit", limit), answer)
        self.assertIsNone(answer["exit_code"])
        self.assertGreater(self.last.returncode, 128)

    def enforcer(self, answer, limit):
        return answer["sandbox"]["limits"].get(limit)

    # --- processes ---

    FORKS = (
        "import os,time\n"
        "made = 0\n"
        "for i in range({count}):\n"
        "    try:\n"
        "        if os.fork() == 0:\n"
        "            time.sleep({life}); os._exit(0)\n"
        "        made += 1\n"
        "    except OSError: break\n"
        "print(made, flush=True)\n"
        "time.sleep({rest} if made > {limit} else 0)\n"  # where only looks hold it: until one comes
    )

    def forks(self, limit, rest=5, count=2000, life=30):
        return self.script(self.FORKS.format(limit=limit, rest=rest, count=count, life=life))

    def test_two_thousand_forks_stop_at_the_limit(self):
        answer = self.sh(self.forks(64), "--pids", "64")
        if self.enforcer(answer, "pids") == "watch":
            self.assert_limit(answer, "pids")
        else:  # the fork is refused, and the program says so
            self.assertEqual(answer["status"], "exited", answer)
            self.assertLess(int(answer["stdout"]), 64)
            self.assertEqual(answer["limit"], "pids")

    def test_one_that_ends_at_the_limit_before_a_look_has_met_it(self):
        for _ in range(10):  # a look may come in time
            answer = self.sh("exec " + self.forks(40), "--pids", "40")
            if self.enforcer(answer, "pids") == "watch":
                return self.assert_limit(answer, "pids")
            self.assertEqual(answer["limit"], "pids", answer)

    def test_where_ids_run_out_before_a_look_that_is_named(self):
        for _ in range(10):  # root's, which looks hold: more than the limit is made where none comes in time
            answer = self.sh("exec " + self.forks(40, rest=0), "--pids", "40")
            if self.enforcer(answer, "pids") == "watch" and answer["status"] == "exited" and int(answer["stdout"]) < 300:
                continue
            self.assertEqual(answer["limit"], "pids", answer)

    THREADS = (
        "import os,threading,time\n"
        "threading.stack_size(1 << 17)\n"
        "end = threading.Event()\n"
        "made = 0\n"
        "try:\n"
        "    for i in range({count}):\n"
        "        threading.Thread(target=end.wait, daemon=True).start()\n"
        "        made += 1\n"
        "except RuntimeError: pass\n"
        "print(made, flush=True)\n"
        "time.sleep(5 if made == {count} else 0.3)\n"
        "os._exit(0)\n"
    )

    def test_threads_count_as_processes_do(self):
        answer = self.sh(self.script(self.THREADS.format(count=1500)), "--pids", "32")
        if self.enforcer(answer, "pids") == "watch":
            self.assert_limit(answer, "pids")
        else:
            self.assertEqual((answer["status"], answer["limit"]), ("exited", "pids"), answer)
            self.assertLess(int(answer["stdout"]), 32)

    def test_the_kernel_itself_bounds_what_is_made_between_two_looks(self):
        # Root is exempt from RLIMIT_NPROC; ids are what runs out.
        bound = int(self.out("cat /proc/sys/kernel/pid_max", "--pids", "32"))
        kernel = tuple(int(part) for part in os.uname().release.split(".")[:2])
        if self.enforcer(self.sh("true"), "pids") == "watch" and kernel >= (6, 14):
            self.assertEqual(bound, 366)
        else:
            self.assertGreater(bound, 366)

    def test_the_bash_fork_bomb_is_over_in_time(self):
        answer = self.sh(
            "bomb() { bomb | bomb & }; bomb; sleep 20", "--pids", "100", "--timeout", "3s",
            "--profile", self.profile({"commands": {"ask": []}})
        )
        self.assertIn(answer["status"], ("limit", "timed_out", "exited"), answer)
        if answer["status"] == "limit":
            self.assertEqual(answer["limit"], "pids")

    def test_as_many_processes_as_the_limit_says_are_fine(self):
        answer = self.sh(self.forks(39, rest=1.5, count=40, life=1), "--pids", "64")
        self.assertEqual((answer["status"], answer["stdout"]), ("exited", "40\n"), answer)

    # --- memory ---

    def memory_bomb(self, program, *flags):
        return self.sh(self.script(program), "--memory", "128M", "--timeout", "40s", *flags)

    SLOWLY = "for i in range(600):\n    {step}\n    time.sleep(0.005)\ntime.sleep(10)\n"

    def test_anonymous_memory(self):
        answer = self.memory_bomb(
            "import time\nkept = []\n" + self.SLOWLY.format(step="kept.append(bytearray(2**20))")
        )
        self.assert_limit(answer, "memory")

    def test_memory_in_private_tmpfs(self):
        for place in ("/tmp", "/dev/shm", "$HOME"):
            with self.subTest(place=place):
                answer = self.sh(
                    f"for i in $(seq 60); do head -c 10M /dev/zero >> {place}/big || exit 1; done;"
                    " sleep 5",
                    "--memory", "128M", "--tmp-size", "1G", "--timeout", "40s",
                )
                self.assert_limit(answer, "memory")

    def test_memory_in_a_memory_file(self):
        step = "os.write(fd, bytes(2**20))"
        answer = self.memory_bomb(
            "import os,time\nfd = os.memfd_create('x')\n" + self.SLOWLY.format(step=step)
        )
        self.assert_limit(answer, "memory")

    def test_memory_in_shared_anonymous_mappings(self):
        answer = self.memory_bomb(
            "import mmap,time\nm = mmap.mmap(-1, 600 * 2**20)\n"
            + self.SLOWLY.format(step="m[i * 2**20:(i + 1) * 2**20] = bytes(2**20)")
        )
        self.assert_limit(answer, "memory")

    def test_shared_memory_whose_pages_were_let_go_of(self):
        program = (
            "import mmap,time\n"
            "kept = []\n"
            "for i in range(60):\n"
            "    m = mmap.mmap(-1, 10 * 2**20)\n"
            "    m[:] = b'x' * (10 * 2**20)\n"
            "    m.madvise(mmap.MADV_DONTNEED)\n"
            "    kept.append(m)\n"
            "    time.sleep(0.01)\n"
            "time.sleep(20)\n"
        )
        self.assert_limit(self.memory_bomb(program), "memory")

    def test_memory_files_that_are_mapped_and_no_longer_open(self):
        program = (
            # mmap.mmap() would keep a copy of the descriptor.
            "import ctypes,os,time\n"
            "libc = ctypes.CDLL(None)\n"
            "libc.mmap.restype = ctypes.c_void_p\n"
            "for i in range(60):\n"
            "    fd = os.memfd_create('x')\n"
            "    os.write(fd, bytes(10 * 2**20))\n"
            "    libc.mmap(None, ctypes.c_size_t(10 * 2**20), 1, 1, fd, 0)\n"
            "    os.close(fd)\n"
            "    time.sleep(0.01)\n"
            "time.sleep(20)\n"
        )
        self.assert_limit(self.memory_bomb(program), "memory")

    def test_mappings_far_into_their_files_hide_no_memory(self):
        program = (
            # Two ends of 2^63 - 2^30 add up to less than nothing.
            "import ctypes,mmap,os,time\n"
            "libc = ctypes.CDLL(None)\n"
            "libc.mmap.restype = ctypes.c_void_p\n"
            "for i in range(2):\n"
            "    fd = os.memfd_create('x')\n"
            "    at = ctypes.c_long(2**63 - 2**30 - i * 4096)\n"
            "    assert libc.mmap(None, ctypes.c_size_t(4096), 1, 1, fd, at) != 2**64 - 1\n"
            "    os.close(fd)\n"
            "kept = []\n"
            "for i in range(60):\n"
            "    m = mmap.mmap(-1, 10 * 2**20)\n"
            "    m[:] = b'x' * (10 * 2**20)\n"
            "    m.madvise(mmap.MADV_DONTNEED)\n"
            "    kept.append(m)\n"
            "    time.sleep(0.01)\n"
        )
        self.assert_limit(self.memory_bomb(program), "memory")

    SOCKETS = (
        "import socket,time\n"
        "kept = []\n"
        "for i in range({count}):\n"
        "    a, b = socket.socketpair()\n"
        "    a.setblocking(False)\n"
        "    try:\n"
        "        while True: a.send(bytes(65536))\n"
        "    except BlockingIOError: pass\n"
        "    kept.append(b)\n"
        "    {then}\n"
        "    time.sleep(0.002)\n"
        "time.sleep({rest})\n"
        "print('done')\n"
    )

    def test_memory_in_sockets(self):
        for then in ("kept.append(a)", "a.close()"):
            with self.subTest(then=then):
                program = self.SOCKETS.format(count=900, then=then, rest=20)
                profile = self.profile({"limits": {"open_files": 4096}})
                self.assert_limit(self.memory_bomb(program, "--profile", profile), "memory")

    def test_sockets_within_the_limit_are_left_alone(self):
        program = self.SOCKETS.format(count=20, then="kept.append(a)", rest=1)
        answer = self.memory_bomb(program)
        self.assertEqual((answer["status"], answer["stdout"]), ("exited", "done\n"), answer)

    def test_a_large_private_reservation_is_no_memory(self):
        program = (
            "import mmap,time\n"
            "m = mmap.mmap(-1, 4 * 2**30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)\n"
            "time.sleep(1)\nprint('done')\n"
        )
        answer = self.memory_bomb(program)
        self.assertEqual((answer["status"], answer["stdout"]), ("exited", "done\n"), answer)

    def test_memory_in_detached_system_v_segments(self):
        program = (
            "import ctypes,time\n"
            "libc = ctypes.CDLL(None, use_errno=True)\n"
            "libc.shmat.restype = ctypes.c_void_p\n"
            "libc.shmdt.argtypes = [ctypes.c_void_p]\n"
            "for i in range(40):\n"
            "    shm = libc.shmget(0, 10 * 2**20, 0o1600)\n"
            "    if shm < 0: raise SystemExit('refused')\n"
            "    at = libc.shmat(shm, None, 0)\n"
            "    ctypes.memset(at, 1, 10 * 2**20)\n"
            "    libc.shmdt(at)\n"
            "    time.sleep(0.01)\n"
            "time.sleep(10)\n"
        )
        self.assert_limit(self.memory_bomb(program), "memory")

    def test_memory_spread_over_many_processes(self):
        program = (
            "import os,time\n"
            "for i in range(30):\n"
            "    if os.fork() == 0:\n"
            "        kept = bytearray(os.urandom(1) * (10 * 2**20))\n"
            "        time.sleep(15); os._exit(0)\n"
            "time.sleep(15)\n"
        )
        self.assert_limit(self.memory_bomb(program), "memory")

    def test_pages_that_children_share_with_their_parent_count_once(self):
        program = (
            "import os,time\n"
            "kept = bytearray(os.urandom(1) * (60 * 2**20))\n"
            "children = []\n"
            "for i in range(8):\n"
            "    pid = os.fork()\n"
            "    if pid == 0:\n"
            "        time.sleep(1.5); os._exit(0)\n"
            "    children.append(pid)\n"
            "print([os.waitpid(p, 0)[1] for p in children])\n"
        )
        answer = self.memory_bomb(program)
        self.assertEqual(answer["status"], "exited", answer)
        self.assertEqual(answer["stdout"], str([0] * 8) + "\n")

    def test_a_program_within_its_memory_is_left_alone(self):
        answer = self.memory_bomb("import time\nx = bytearray(80 * 2**20)\ntime.sleep(1)\nprint(1)\n")
        self.assertEqual((answer["status"], answer["stdout"]), ("exited", "1\n"), answer)

    # --- CPU ---

    def test_cpu_time_of_one_process(self):
        answer = self.sh("while :; do :; done", "--cpu-time", "500ms", "--timeout", "30s")
        self.assert_limit(answer, "cpu")
        self.assertLess(answer["usage"]["user_ms"] + answer["usage"]["system_ms"], 3000)

    BURN = "end = time.process_time() + 0.1\n{indent}while time.process_time() < end: pass\n"

    def test_cpu_time_of_many_short_children(self):
        program = (
            "import os,time\n"
            "for i in range(200):\n"
            "    pid = os.fork()\n"
            "    if pid == 0:\n        " + self.BURN.format(indent="        ")
            + "        os._exit(0)\n"
            "    os.waitpid(pid, 0)\n"
        )
        answer = self.sh(self.script(program), "--cpu-time", "1s", "--timeout", "40s")
        self.assert_limit(answer, "cpu")

    def test_cpu_time_of_orphans_that_have_ended(self):
        # Nobody but PID 1 waited for them, so no other process's children time holds theirs.
        program = (
            "import os,time\n"
            "for i in range(200):\n"
            "    read, write = os.pipe()\n"
            "    pid = os.fork()\n"
            "    if pid == 0:\n"
            "        if os.fork(): os._exit(0)\n        " + self.BURN.format(indent="        ")
            + "        os._exit(0)\n"
            "    os.close(write)\n"
            "    os.waitpid(pid, 0)\n"
            "    os.read(read, 1)\n"
            "    os.close(read)\n"
        )
        answer = self.sh(self.script(program), "--cpu-time", "1s", "--timeout", "40s")
        self.assert_limit(answer, "cpu")

    def test_sleeping_costs_no_cpu_time(self):
        answer = self.sh("sleep 1.5; echo rested", "--cpu-time", "1s")
        self.assertEqual((answer["status"], answer["stdout"]), ("exited", "rested\n"))

    # --- files ---

    def test_open_files(self):
        profile = self.profile({"limits": {"open_files": 20}})
        answer = self.sh("ulimit -n; ulimit -Hn; ulimit -n 21 2>&1 || echo fixed", "--profile", profile)
        self.assertEqual(answer["stdout"].split()[:2], ["20", "20"], answer)
        self.assertTrue(answer["stdout"].endswith("fixed\n"))
        self.assertEqual(self.enforcer(answer, "open_files"), "rlimit")

    def test_a_program_that_ran_out_of_open_files_is_told_of_the_limit(self):
        profile = self.profile({"limits": {"open_files": 20}})
        answer = self.sh("for i in {3..30}; do eval \"exec $i</dev/null\" || exit 1; done", "--profile", profile)
        self.assertEqual((answer["status"], answer["limit"]), ("exited", None), answer)
        self.assertEqual(
            [(denial["layer"], denial["target"], denial["grant"]) for denial in answer["denials"]],
            [("command", "more than 20 open files", "limits.open_files = 40")],
            answer,
        )

    def test_the_size_that_ended_a_child_is_named(self):
        answer = self.sh("head -c 2M /dev/zero > big; echo went on", "--file-size", "1M")
        self.assertEqual((answer["status"], answer["stdout"]), ("exited", "went on\n"), answer)
        self.assertIn("limits.file_kb = 2048", [denial["grant"] for denial in answer["denials"]], answer)

    def test_a_file_beyond_its_size_ends_the_writer(self):
        answer = self.sh("exec head -c 2M /dev/zero > big", "--file-size", "1M")
        self.assert_limit(answer, "file_size")
        self.assertEqual(os.path.getsize(os.path.join(self.work, "big")), 1 << 20)
        self.assertEqual(self.enforcer(answer, "file"), "rlimit")

    def test_a_shell_that_says_so_of_its_last_program(self):
        answer = self.sh("head -c 2M /dev/zero > big", "--file-size", "1M")
        self.assert_limit(answer, "file_size")

    def test_a_file_of_exactly_its_size_is_fine(self):
        self.assertEqual(self.out("head -c 1M /dev/zero > big && echo ok", "--file-size", "1M"), "ok\n")

    def test_scratch_space_is_one_bound_for_tmp_shm_and_home(self):
        answer = self.sh(
            "head -c 6M /dev/zero > /tmp/a && head -c 6M /dev/zero > /dev/shm/b &&"
            ' head -c 3M /dev/zero > "$HOME/c" && echo fits;'
            " head -c 3M /dev/zero > /tmp/d || stat -c %s /tmp/d",
            "--tmp-size", "16M",
        )
        self.assertIn("No space left on device", answer["stderr"])
        lines = answer["stdout"].split()
        self.assertEqual(lines[0], "fits")
        self.assertLess(int(lines[1]), 3 << 20)

    def test_scratch_space_is_exactly_what_was_promised(self):
        for size, blocks in (("1M", 256), ("16M", 4096)):
            answer = self.sh(
                "dd if=/dev/zero of=/tmp/all bs=4096 2>/dev/null; stat -c %s /tmp/all",
                "--tmp-size", size,
            )
            self.assertEqual(int(answer["stdout"]), blocks * 4096, answer)

    def test_a_full_scratch_space_is_the_limit_of_a_command_that_failed(self):
        answer = self.sh("head -c 20M /dev/zero > /tmp/all", "--tmp-size", "16M")
        self.assertEqual((answer["status"], answer["limit"]), ("limit", "disk"), answer)
        self.assertIsNone(answer["exit_code"])
        self.assertIn("limits.tmp_mb = 32", [denial["grant"] for denial in answer["denials"]])

    def test_a_full_scratch_space_is_named_where_the_command_got_over_it(self):
        answer = self.sh("head -c 20M /dev/zero > /tmp/all; true", "--tmp-size", "16M")
        self.assertEqual((answer["status"], answer["exit_code"]), ("exited", 0), answer)
        self.assertEqual(answer["limit"], "disk")

    def test_scratch_space_that_was_full_in_between_is_named(self):
        answer = self.sh("head -c 20M /dev/zero 2>/dev/null > /tmp/all; cp /tmp/all /tmp/more; rm /tmp/all /tmp/more",
                         "--tmp-size", "16M")
        self.assertEqual((answer["status"], answer["exit_code"]), ("exited", 0), answer)
        self.assertIn(answer["limit"], (None, "disk"), answer)  # "disk" where a look has seen it
        self.assertEqual(["limits.tmp_mb = 32"], [denial["grant"] for denial in answer["denials"]], answer)

    def test_scratch_space_without_room_for_another_file_is_a_full_one(self):
        answer = self.sh("cd /tmp; touch {1..6000}", "--tmp-size", "1M")
        self.assertEqual((answer["status"], answer["limit"]), ("limit", "disk"), answer)
        self.assertIn("limits.tmp_mb = 2", [denial["grant"] for denial in answer["denials"]])

    def test_a_full_overlay_is_a_limit(self):
        answer = self.sh("head -c 20M /dev/zero > all", "--overlay", "--tmp-size", "16M")
        self.assertEqual((answer["status"], answer["limit"]), ("limit", "disk"), answer)

    def test_a_failure_with_room_left_is_no_limit(self):
        answer = self.sh("head -c 2M /dev/zero > /tmp/some; false", "--tmp-size", "16M")
        self.assertEqual((answer["status"], answer["limit"]), ("exited", None), answer)
        self.assertEqual((answer["exit_code"], answer["denials"]), (1, []))

    def test_no_scratch_space_at_all_is_not_a_full_one(self):
        answer = self.sh("false", "--profile", self.profile({"limits": {"tmp_mb": 0}}))
        self.assertEqual((answer["status"], answer["limit"]), ("exited", None), answer)
        self.assertEqual(answer["denials"], [])

    # --- signals that limits send ---

    def test_a_signal_of_a_limit_that_is_not_in_force_is_a_signal(self):
        for name, flags in (("XCPU", ()), ("XFSZ", ()), ("XFSZ", ("--cpu-time", "5s"))):
            answer = self.sh(f"kill -{name} $$", *flags)
            self.assertEqual((answer["status"], answer["signal"]), ("signaled", "SIG" + name), answer)
            self.assertIsNone(answer["limit"])

    # --- what the kernel counts for a whole user ---

    def test_half_of_what_the_user_may_watch_is_left_to_the_host(self):
        for own, machine in (
            ("max_inotify_instances", "inotify/max_user_instances"),
            ("max_inotify_watches", "inotify/max_user_watches"),
            ("max_fanotify_groups", "fanotify/max_user_groups"),
            ("max_fanotify_marks", "fanotify/max_user_marks"),
        ):
            with open("/proc/sys/fs/" + machine) as file:
                whole = int(file.read())
            for namespaces in (ALL, ["user", "mount"], ["user", "pid"], ["user"]):
                profile = self.profile({"isolation": {"namespaces": namespaces, "require": []}})
                self.assertEqual(
                    int(self.out("cat /proc/sys/user/" + own, "--profile", profile)), whole // 2,
                    (own, namespaces))

    def test_inotify_instances_end_before_the_users_do(self):
        program = (
            "import ctypes,os\n"
            "libc = ctypes.CDLL(None)\n"
            "made = 0\n"
            "while made < 2000 and libc.inotify_init() >= 0: made += 1\n"
            "print(made)\n"
        )
        with open("/proc/sys/fs/inotify/max_user_instances") as file:
            whole = int(file.read())
        self.assertLessEqual(int(self.out(self.script(program))), whole // 2)

    def test_queued_signals_message_queues_and_priorities_are_bounded(self):
        program = (
            "import resource\n"
            "for number in (11, 12, 8, 13, 14):\n"
            "    print(resource.getrlimit(number)[1])\n"
        )
        signals, queues, locked, nice, realtime = (
            int(line) for line in self.out(self.script(program)).split()
        )
        self.assertTrue(0 < signals <= 4096)
        self.assertTrue(0 < queues <= 409600)
        self.assertTrue(0 < locked <= 4 << 20)
        self.assertEqual((nice, realtime), (0, 0))

    def test_little_is_left_of_real_time_that_the_caller_has(self):
        program = "import resource; print(*resource.getrlimit(15))\n"
        self.assertEqual(self.out(self.script(program), preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_RTTIME, (5_000_000, 5_000_000))), "1000000 2000000\n")

    # --- where runtimes look ---

    def test_the_limits_stand_where_runtimes_look_for_them(self):
        self.assertEqual(
            self.out("cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/pids.max; ls /sys/fs/cgroup;"
                     " touch /sys/fs/cgroup/pids.max 2>/dev/null || echo fixed",
                     "--memory", "96M", "--pids", "77"),
            f"{96 << 20}\n77\nmemory.max\npids.max\nfixed\n",
        )
        profile = self.profile({"limits": {"memory_mb": None, "pids": None}})
        self.assertEqual(self.out("cat /sys/fs/cgroup/*.max", "--profile", profile), "max\nmax\n")

    def test_the_default_memory_is_at_most_half_of_the_machines(self):
        half = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
        shown = int(self.out("cat /sys/fs/cgroup/memory.max"))
        self.assertLessEqual(shown, half)
        self.assertGreater(shown, min(half, 4 << 30) - (2 << 20))

    # --- a scope of systemd's ---

    def with_systemd(self, script):
        """The environment of a user session whose systemd-run is `script`."""
        self.write("bin/systemd-run", script, 0o755)
        os.makedirs(self.base + "/run/systemd")
        self.write("run/systemd/private", "")
        return {
            **os.environ,
            "PATH": self.base + "/bin:" + os.environ["PATH"],
            "XDG_RUNTIME_DIR": self.base + "/run",
        }

    def scope_is_needless(self):
        return self.enforcer(self.sh("true"), "memory") == "cgroup2"

    def test_a_scope_is_asked_of_systemd_once(self):
        if self.scope_is_needless() or os.path.exists("/run/systemd/private"):
            self.skipTest("there is a systemd, or a cgroup")
        log = self.base + "/asked"
        environment = self.with_systemd(
            f'#!/bin/sh\nprintf "%s\\n" "$@" >> {log}\n'
            'while [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n'
        )
        answer = self.sh("echo 'a  b'", "--scope", env=environment)
        self.assert_error(answer, "layer_unavailable")  # the scope of this one is empty
        self.assertIn("scope", answer["error"]["message"])
        with open(log) as file:
            words = file.read().splitlines()
        self.assertEqual(
            words[:6], ["--user", "--scope", "--quiet", "--collect", "--property=Delegate=yes", "--"]
        )
        self.assertEqual(words[7:], ["--scope", "-c", "echo 'a  b'"])

    def test_without_systemd_a_scope_is_an_error(self):
        if self.scope_is_needless() or os.path.exists("/run/systemd/private"):
            self.skipTest("there is a systemd, or a cgroup")
        environment = {**os.environ, "XDG_RUNTIME_DIR": self.base}
        answer = self.sh("true", "--scope", env=environment)
        self.assert_error(answer, "layer_unavailable")
        self.assertEqual(answer["error"]["where"], "--scope")

    # --- output ---

    def test_output_is_cut_in_the_middle_with_the_exact_count(self):
        answer = self.sh("seq 100000; seq 50000 >&2", "--max-output", "4K")
        for stream, last, total in (("stdout", "100000", 588895), ("stderr", "50000", 288894)):
            text = answer[stream]
            self.assertTrue(answer["truncated"][stream])
            self.assertEqual(answer[stream + "_bytes"], total)
            self.assertTrue(text.startswith("1\n2\n"))
            self.assertTrue(text.endswith(last + "\n"))
            marker = [line for line in text.splitlines() if "left out" in line]
            self.assertEqual(len(marker), 1)
            kept = len(text) - len(marker[0]) - 1 - (0 if f"\n{marker[0]}" in text else 0)
            left_out = int(marker[0].split()[1])
            # A newline may stand before the marker that the command did not write.
            self.assertIn(left_out + kept - total, (0, 1))
            self.assertLessEqual(kept, 4097)
        self.assertEqual(self.enforcer(answer, "output"), "watch")

    def test_output_within_the_cap_is_whole(self):
        answer = self.sh("head -c 4096 /dev/zero | tr '\\0' x", "--max-output", "4K")
        self.assertEqual((answer["stdout"], answer["truncated"]["stdout"]), ("x" * 4096, False))

    def test_output_lines(self):
        profile = self.profile({"limits": {"output_lines": 40}})
        answer = self.sh("seq 1000", "--profile", profile)
        lines = answer["stdout"].splitlines()
        self.assertEqual(len(lines), 41)
        self.assertEqual((lines[0], lines[9], lines[11], lines[-1]), ("1", "10", "971", "1000"))
        self.assertIn("960 lines left out", lines[10])

    def test_merged_output_has_one_cap(self):
        answer = self.sh("seq 5000; seq 5000 >&2", "--merge", "--max-output", "2K")
        self.assertLess(len(answer["stdout"]), 2200)
        self.assertEqual((answer["stderr"], answer["stdout_bytes"]), ("", 47786))

    # --- what is said ---

    def test_each_limit_in_force_names_its_enforcer(self):
        answer = self.sh(
            "true", "--cpu-time", "5s", "--memory", "256M", "--pids", "50", "--file-size", "1M"
        )
        limits = answer["sandbox"]["limits"]
        self.assertEqual(
            set(limits),
            {"timeout", "cpu", "memory", "pids", "open_files", "file", "tmp", "output"},
        )
        self.assertIn(limits["memory"], ("cgroup2", "watch"))
        if limits["memory"] == "watch":
            self.assertEqual(limits["pids"], "watch" if harness.is_root() else "rlimit")
        self.assertEqual((limits["cpu"], limits["open_files"], limits["file"]), ("watch", "rlimit", "rlimit"))

    def test_a_limit_that_is_not_in_force_is_not_named(self):
        limits = self.sh("true", "--profile", "unconfined")["sandbox"]["limits"]
        self.assertEqual(set(limits), {"timeout", "output"})


if __name__ == "__main__":
    unittest.main()
