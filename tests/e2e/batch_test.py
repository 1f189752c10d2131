# SPDX-License-Identifier: Apache-2.0
"""sbx-run batch: every id exactly once, whatever ends it."""

import fcntl
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import termios
import unittest

import session_harness
from harness import BOUND, SBX_RUN, until


def servers_of(marker):
    """The sessions that a batch has started, whose parents are gone."""
    return [pid for pid in session_harness.processes(marker)
            if b"serve" in open(f"/proc/{pid}/cmdline", "rb").read().split(b"\0")]


class Case(session_harness.Case):
    def tasks(self, lines, name="tasks.jsonl"):
        """A file of these lines: dicts, or text as it stands."""
        return self.write(name, "".join(
            (line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))

    def batch(self, *arguments, status=0, **options):
        done = self.cli("batch", "--workspace", self.work, *arguments, **options)
        self.assertEqual(done.returncode, status, (done.stdout[-2000:], done.stderr))
        return done

    def results(self, path):
        with open(path) as file:
            return [json.loads(line) for line in file]

    def out(self, name="out"):
        return os.path.join(self.base, name)

    def start(self, path, *arguments):
        process = subprocess.Popen(
            [SBX_RUN, "batch", "--workspace", self.work, "--results", self.out(), *arguments, path],
            env=self.env, cwd=self.work, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE)
        self.addCleanup(self.end, process)
        return process


def ids(results):
    return sorted(result["id"] for result in results)


class Lines(Case):
    def test_each_is_a_result_with_its_id_first(self):
        done = self.batch(self.tasks([{"id": "a", "command": "echo one"},
                                      {"argv": ["echo", "two"], "id": "b"}]))
        lines = done.stdout.decode().splitlines()
        for line in lines:
            self.assertEqual(next(iter(json.loads(line))), "id")
        found = {result["id"]: result for result in map(json.loads, lines)}
        self.assertEqual(found["a"]["stdout"], "one\n")
        self.assertEqual(found["b"]["stdout"], "two\n")
        self.assertEqual(found["a"]["status"], "exited")
        self.assertRegex(done.stderr.decode(), r"\A[^\n]*2 tasks: 2 done, 0 failed, 0 refused, "
                         r"0 errors, [\d.]+ s, [\d.]+/s, median [\d.]+ ms, p95 [\d.]+ ms\n\Z")

    def test_that_are_no_requests_are_results_with_their_number(self):
        path = self.tasks(["", "nonsense\r", '{"id": "a", "command": "true"}\r', "   ",
                           '{"id": "", "command": "true"}', '{"id": null, "command": "true"}',
                           '{"command": "touch ran"}', '{"id": "a", "command": "touch ran"}',
                           '{"id": "b", "command": "touch ran", "bogus": 1}',
                           '{"id": "c", "command": "touch ran", "id": "d"}', '["a"]'])
        done = self.batch(path, status=1)
        results = [json.loads(line) for line in done.stdout.splitlines()]
        bad = {result["line"]: result for result in results if "line" in result}
        self.assertEqual(sorted(bad), [2, 5, 6, 7, 8, 9, 10, 11])
        self.assertEqual({line: result["id"] for line, result in bad.items() if result["id"]},
                         {9: "b"})
        for result in bad.values():
            self.assertEqual(result["status"], "error")
        self.assertEqual(bad[9]["error"]["code"], "unknown_field")
        good = [result for result in results if "line" not in result]
        self.assertEqual([(result["id"], result["exit_code"]) for result in good], [("a", 0)])
        self.assertFalse(os.path.exists(os.path.join(self.work, "ran")))
        self.assertIn(b"9 tasks: 1 done, 0 failed, 0 refused, 8 errors", done.stderr)

    def test_that_are_no_requests_keep_an_id_of_their_own(self):
        twice = '{"id": "%s", "command": "true", "command": "false"}'
        path = self.tasks([{"id": "a", "command": "true"}, twice % "a", twice % "b", twice % "b",
                           {"id": "b", "command": "touch ran"}])
        for _ in range(2):
            done = self.batch("--order", "input", "--resume", "--results", self.out(), path, status=1)
            self.assertEqual([(result["id"], result.get("line")) for result in self.results(self.out())],
                             [("a", None), (None, 2), ("b", 3), (None, 4), (None, 5)])
        self.assertIn(b"0 tasks: ", done.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.work, "ran")))

    def test_of_almost_the_greatest_length_are_run_or_refused(self):
        """What a session would not read any more is never sent to it."""
        most = 16 << 20
        lines = []
        for i, less in enumerate((0, 60, 90, 120, 200)):
            head = f'{{"id": "{i}", "command": "wc -c", "stdin": "'
            lines.append(head + "x" * (most - less - len(head) - 2) + '"}')
        path = self.tasks(lines + [{"id": "last", "command": "true"}])
        self.batch("--jobs", "1", "--results", self.out(), path, status=1)
        found = {result["id"]: result for result in self.results(self.out())}
        self.assertEqual(sorted(found), ["0", "1", "2", "3", "4", "last"])
        refused = [result["line"] for result in found.values() if result["status"] == "error"
                   and result["error"]["code"] == "too_large"]
        self.assertIn(1, refused)
        self.assertNotIn(5, refused)
        self.assertEqual(found["last"]["exit_code"], 0)

    def test_that_are_too_long_keep_their_id(self):
        long = '", "stdin": "' + "x" * (17 << 20) + '"}'
        path = self.tasks(['{"command": "true", "id": "a' + long, '{"id": "b' + long, '{"command": "true' + long])
        self.batch("--order", "input", "--results", self.out(), path, status=1)
        self.assertEqual([(each["id"], each["line"], each["error"]["code"]) for each in self.results(self.out())],
                         [("a", 1, "too_large"), ("b", 2, "too_large"), (None, 3, "too_large")])

    def test_leave_the_progress_on_a_terminal_alone_where_results_go_elsewhere(self):
        master, slave = os.openpty()
        self.addCleanup(os.close, master)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 20, 0, 0))
        path = self.tasks([{"id": str(i), "command": "sleep 0.1"} for i in range(10)])
        subprocess.run([SBX_RUN, "batch", "--jobs", "1", "--workspace", self.work, "--results", self.out(), path],
                       env={**self.env, "TERM": "xterm"}, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave,
                       check=True, timeout=BOUND)
        os.close(slave)
        _, *bars, last = os.read(master, 65536).split(b"\r\x1b[K")
        self.assertIn(b"10 tasks: 10 done", last)
        self.assertNotIn(b"", bars)
        self.assertLess(max(map(len, bars)), 20, bars)

    def test_come_from_a_pipe_as_they_are_written(self):
        process = subprocess.Popen([SBX_RUN, "batch", "--workspace", self.work], env=self.env,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, cwd=self.work)
        self.addCleanup(self.end, process)
        for name in ("first", "second"):
            process.stdin.write(json.dumps({"id": name, "command": "true"}).encode() + b"\n")
            process.stdin.flush()
            self.assertEqual(json.loads(process.stdout.readline())["id"], name)
        process.stdin.close()
        self.assertEqual(process.wait(BOUND), 0)

    def test_are_parted_by_shards(self):
        path = self.tasks([{"id": str(i), "command": "true"} for i in range(10)] +
                          ["bad", "", '{"id": "3", "command": "true"}'])
        found = []
        for part in (1, 2, 3):
            done = self.cli("batch", "--workspace", self.work, "--shard", f"{part}/3", path)
            found += [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(sorted(result["id"] for result in found if result["id"]),
                         [str(i) for i in range(10)])
        self.assertEqual(sorted(result["line"] for result in found if "line" in result), [11, 13])

    def test_keep_their_order_where_that_is_asked_for(self):
        # The first is the last to end.
        lines = [{"id": "slow", "command": "while [ ! -e go ]; do sleep 0.01; done"}]
        lines += [{"id": str(i), "command": "true"} for i in range(40)]
        lines += [{"id": "last", "command": "touch go"}]
        path = self.out()
        self.batch("--order", "input", "--jobs", "4", "--results", path, self.tasks(lines))
        self.assertEqual([result["id"] for result in self.results(path)],
                         [line["id"] for line in lines])
        self.assertEqual(sorted(os.listdir(self.base)),
                         ["cache", "out", "runtime", "tasks.jsonl", "work"])
        os.unlink(os.path.join(self.work, "go"))
        done = self.batch("--order", "input", "--jobs", "4", self.tasks(lines))
        self.assertEqual([json.loads(line)["id"] for line in done.stdout.splitlines()],
                         [line["id"] for line in lines])


class Exit(Case):
    def refused(self, *arguments, word=b""):
        done = self.cli("batch", *arguments)
        self.assertEqual(done.returncode, 125, (arguments, done.stdout, done.stderr))
        self.assertEqual(json.loads(done.stdout)["status"], "error")
        self.assertTrue(done.stderr.startswith(b"sbx-run: "), done.stderr)
        self.assertIn(word, done.stderr)

    def test_125_for_what_is_wrong_with_flags_and_files(self):
        path = self.tasks([{"id": "a", "command": "touch ran"}])
        for value in ("0", "-1", "1.5", "x", "4097"):
            self.refused(f"--jobs={value}", path, word=b"--jobs")
        for value in ("0/2", "3/2", "1", "1/0", "a/b"):
            self.refused("--shard", value, path, word=b"--shard")
        self.refused("--retries=-1", path)
        self.refused("--retries=1001", path)
        self.refused("--order", "sideways", path)
        self.refused("--on", "sideways", path, word=b"--on")
        self.refused("--nodes", "2", path, word=b"--on slurm")
        self.refused("--partition", "a", path, word=b"--on slurm")
        self.refused("--layer", "a", "--jobs", "2", path, word=b"--jobs")
        self.refused("--resume", path, word=b"--results")
        self.refused("--bogus", path)
        self.refused("--cwd", "/", path, word=b"cannot honour")
        self.refused("--profile", "no-such-profile", path)
        closed = subprocess.run(["sh", "-c", 'exec "$0" batch <&-', SBX_RUN], env=self.env, capture_output=True, check=False)
        self.assertEqual((closed.returncode, json.loads(closed.stdout)["error"]["code"]), (125, "bad_descriptor"))
        self.refused(self.base, word=b"is a directory")
        self.refused(self.out("missing"))
        self.refused("--results", "/no/such/directory/out", path)
        self.assertFalse(os.path.exists(os.path.join(self.work, "ran")))

    def test_125_for_results_that_are_there_or_are_links(self):
        path = self.tasks([{"id": "a", "command": "touch ran"}])
        other = self.write("other", "precious")
        os.symlink(other, self.out("link"))
        os.symlink(self.out("nowhere"), self.out("dangling"))
        os.mkfifo(self.out("fifo"))
        for name in ("other", "link", "dangling", "fifo"):
            self.refused("--results", self.out(name), path)
            self.refused("--results", self.out(name), "--resume", path)
        with open(other) as file:
            self.assertEqual(file.read(), "precious")
        self.refused("--results", path, "--resume", path, word=b"no result")
        self.assertFalse(os.path.exists(os.path.join(self.work, "ran")))

    def test_125_where_nobody_reads(self):
        path = self.tasks([{"id": str(i), "command": "true"} for i in range(200)])
        read, write = os.pipe()
        os.close(read)
        done = self.cli("batch", "--workspace", self.work, path, stdout=write,
                        stderr=subprocess.PIPE)
        os.close(write)
        self.assertEqual(done.returncode, 125, done.stderr)
        done = self.cli("batch", "--workspace", self.work, path, stdout=open("/dev/full", "wb"),
                        stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 125, done.stderr)

    def test_1_for_a_failure_and_no_more_begins_with_fail_fast(self):
        lines = [{"id": "a", "command": "exit 3"}] + [
            {"id": str(i), "command": f"touch {i}"} for i in range(50)]
        self.batch("--jobs", "1", "--fail-fast", self.tasks(["bad", lines[1]]), status=1)
        path = self.tasks(lines)
        self.batch("--jobs", "1", "--fail-fast", "--results", self.out(), path, status=1)
        self.assertEqual(ids(self.results(self.out())), ["a"])
        self.assertEqual(os.listdir(self.work), [])
        # What failed counts still; the rest is done.
        self.batch("--results", self.out(), "--resume", path, status=1)
        self.assertEqual(len(self.results(self.out())), 51)
        # Once more, and only what failed.
        os.unlink(path)
        path = self.tasks([{"id": "a", "command": "exit 0"}] + lines[1:])
        for name in os.listdir(self.work):
            os.unlink(os.path.join(self.work, name))
        self.batch("--results", self.out(), "--resume=failed", path)
        self.assertEqual(ids(self.results(self.out())), sorted(line["id"] for line in lines))
        self.assertEqual(os.listdir(self.work), [])

    def test_tries_again_what_can_pass_and_nothing_else(self):
        lines = [{"id": "late", "cwd": "made-later", "command": "true"},
                 {"id": "bad", "command": "true", "bogus": 1},
                 {"id": "fails", "command": "echo x >> tries; exit 1"},
                 {"id": "maker", "command": "sleep 0.3; mkdir made-later"}]
        self.batch("--jobs", "4", "--retries", "20", "--results", self.out(), self.tasks(lines),
                   status=1)
        found = {result["id"]: result for result in self.results(self.out())}
        self.assertEqual(found["late"]["exit_code"], 0, found["late"]["error"])
        self.assertEqual(found["bad"]["error"]["code"], "unknown_field")
        with open(os.path.join(self.work, "tries")) as file:
            self.assertEqual(file.read(), "x\n")
        self.batch("--results", self.out("once"),
                   self.tasks([{"id": "never", "cwd": "nowhere", "command": "true"}]), status=1)
        self.assertEqual(self.results(self.out("once"))[0]["status"], "error")


class Ends(Case):
    def test_by_signals_cleanly_and_says_what_is_left(self):
        for number, name in ((signal.SIGINT, "int"), (signal.SIGTERM, "term")):
            lines = [{"id": "quick", "command": "true"},
                     {"id": "slow", "command": f"touch begun-{name}; sleep 600"},
                     {"id": "rest", "command": "true"}]
            path = self.tasks(lines)
            process = self.start(path, "--jobs", "1")
            self.assertTrue(until(lambda: os.path.exists(
                os.path.join(self.work, f"begun-{name}"))))
            process.send_signal(number)
            _, said = process.communicate(timeout=BOUND)
            self.assertEqual(process.returncode, 128 + number)
            self.assertRegex(said.decode(), r"1 tasks: 1 done.*; 2 left\n")
            self.assertEqual(ids(self.results(self.out())), ["quick"])
            self.assert_nothing_left()
            path = self.tasks([line if line["id"] != "slow" else {**line, "command": "true"}
                               for line in lines])
            self.batch("--results", self.out(), "--resume", path)
            self.assertEqual(ids(self.results(self.out())), ["quick", "rest", "slow"])
            os.unlink(self.out())

    def check_once_each(self, count, order):
        """Every id once, the bad line once, and every line whole."""
        results = self.results(self.out())
        self.assertEqual(ids([result for result in results if result["id"]]),
                         sorted(str(i) for i in range(count)))
        self.assertEqual([result["line"] for result in results if not result["id"]], [count + 1])
        if order == "input":
            self.assertEqual([result["id"] for result in results],
                             [str(i) for i in range(count)] + [None])
        os.unlink(self.out())

    def test_by_a_hundred_kills_at_random_moments_lose_and_double_nothing(self):
        count = 300
        path = self.tasks([{"id": str(i), "command": "echo $$"} for i in range(count)] + ["bad"])
        choose = random.Random(7)
        for order in ("end", "input"):
            kills = 0
            while kills < 50:
                process = self.start(path, "--resume", "--jobs", "3", "--order", order)
                try:
                    process.wait(choose.uniform(0.02, 0.25))
                    self.check_once_each(count, order)  # it got through: from the start again
                except subprocess.TimeoutExpired:
                    process.kill()
                    kills += 1
                process.communicate(timeout=BOUND)
            # A line that was being written.
            with open(self.out(), "a") as file:
                file.write('{"id":"torn","stat')
            done = self.start(path, "--resume", "--order", order)
            done.communicate(timeout=BOUND)
            self.check_once_each(count, order)
            self.assert_nothing_left()

    def test_between_two_files_leave_a_result_in_both_that_is_given_once(self):
        path = self.tasks([{"id": name, "command": "true"} for name in "ab"])
        ordered = ["--order", "input", "--results", self.out(), path]
        self.batch(*ordered)
        with open(self.out()) as file:
            self.write("out.held", file.readline())
        self.batch("--resume", *ordered)
        self.assertEqual([result["id"] for result in self.results(self.out())], ["a", "b"])

    def test_of_every_server_that_is_started_are_an_error(self):
        shutil.copy(os.path.join(os.path.dirname(SBX_RUN), "sbx-batch"), self.base)
        self.write("sbx-run", "#!/usr/bin/python3\nimport socket\n"
                   "peer = socket.socket(fileno=3)\nlines = peer.makefile()\nlines.readline()\n"
                   "peer.sendall(b'{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}\\n')\nlines.readline()\n", 0o755)
        done = subprocess.run([os.path.join(self.base, "sbx-batch"), "--retries=4",
                               self.tasks([{"id": "a", "command": "true"}])],
                              env=self.env, capture_output=True, timeout=BOUND, check=False)
        self.assertEqual(done.returncode, 125, done)
        self.assertIn(b"again and again", done.stderr)

    def test_are_not_those_of_the_server(self):
        path = self.tasks([{"id": "a", "command": "echo x >> tries; sleep 600"},
                           {"id": "b", "command": "true"}])
        process = self.start(path, "--jobs", "1")
        begun = os.path.join(self.work, "tries")
        self.assertTrue(until(lambda: os.path.exists(begun)))
        with open(f"/proc/{process.pid}/comm") as name:
            self.assertEqual(name.read(), "sbx-batch\n")
        os.kill(servers_of(self.marker)[0], signal.SIGKILL)
        process.communicate(timeout=BOUND)
        self.assertEqual(process.returncode, 1)
        found = {result["id"]: result for result in self.results(self.out())}
        self.assertEqual(found["a"]["error"]["code"], "session_failed")
        self.assertEqual(found["b"]["exit_code"], 0)

    def test_two_at_once_do_not_write_one_file(self):
        path = self.tasks([{"id": "a", "command": "touch begun; sleep 600"}])
        process = self.start(path)
        self.assertTrue(until(lambda: os.path.exists(os.path.join(self.work, "begun"))))
        done = self.batch("--results", self.out(), "--resume", path, status=125)
        self.assertIn(b"another batch", done.stderr)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=BOUND)


class Own(Case):
    def test_results_with_another_name_are_refused(self):
        self.batch("--results", self.out(), self.tasks([{"id": "a", "command": "true"}]))
        os.link(self.out(), self.work + "/alias")
        done = self.cli("batch", "--workspace", self.work, "--resume", "--results", self.out(),
                        self.tasks([{"id": "a", "command": "true"}, {"id": "b", "command": "true"}]))
        self.assertEqual(done.returncode, 125, done)
        self.assertIn(b"several names", done.stderr)

    def test_no_task_adds_another(self):
        path = self.tasks([{"id": "a", "command": "echo '{\"id\": \"x\", \"command\": \"true\"}' >> tasks.jsonl; sleep 0.3"}],
                          "work/tasks.jsonl")
        self.batch("--jobs", "1", "--results", self.out(), path)
        self.assertEqual(ids(self.results(self.out())), ["a"])

    def test_no_task_adds_a_task_or_a_result_where_those_are_redirected(self):
        forge = "for f in tasks out; do echo '{\"id\": \"x\", \"command\": \"true\"}' >> $f.jsonl; done; sleep 0.3"
        path = self.tasks([{"id": "a", "command": forge}], "work/tasks.jsonl")
        out = self.work + "/out.jsonl"
        for remove in (False, True):  # where they have no name any more, nothing is to be held
            with open(path) as tasks, open(out, "a") as results:
                if remove:
                    os.unlink(path)
                    os.unlink(out)
                done = subprocess.run([SBX_RUN, "batch", "--workspace", self.work, "--jobs", "1"],
                                      env=self.env, stdin=tasks, stdout=results,
                                      stderr=subprocess.PIPE, timeout=BOUND, check=False)
                self.assertIn(b"1 tasks: ", done.stderr)
            if not remove:
                self.assertEqual(ids(self.results(out)), ["a"])
                self.assertEqual(len(self.results(path)), 1)

    def test_a_result_that_was_not_written_is_not_counted(self):
        path = self.tasks([{"id": str(i), "command": "head -c 1500 /dev/zero | tr '\\0' x"}
                           for i in range(9)])
        done = subprocess.run(["bash", "-c", 'ulimit -f 8; exec "$@"', "-", SBX_RUN, "batch",
                               "--workspace", self.work, "--results", self.out(), path],
                              env=self.env, capture_output=True, timeout=BOUND, check=False)
        self.assertEqual(done.returncode, 125, done)
        self.assertIn(b"%d tasks: %d done" % ((len(self.results(self.out())),) * 2), done.stderr)

    def test_a_kept_shell_has_no_layer_of_its_own(self):
        done = self.cli("batch", "--template", self.work, "--results", self.out(),
                        self.tasks([{"id": "a", "command": "x=1", "shell": "kept"}, {"id": "b", "command": "echo $x"}]),
                        env={**self.env, "XDG_STATE_HOME": self.base + "/state"})
        self.assertEqual(done.returncode, 1, done)
        found = {result["id"]: result for result in self.results(self.out())}
        self.assertEqual((found["a"]["status"], found["a"]["error"]["where"]), ("error", "/shell"))
        self.assertEqual(found["b"]["stdout"], "\n")


class FailedAgain(Case):
    """--resume=failed"""

    def again(self, lines, *arguments):
        path = self.tasks(lines)
        self.batch("--jobs", "3", "--results", self.out(), *arguments, path, status=1)
        self.write("work/mended", "")
        self.batch("--jobs", "3", "--results", self.out(), "--resume=failed", *arguments, path)
        return [result["id"] for result in self.results(self.out())]

    LINES = [{"id": str(i), "command": "test -e mended" if i in (2, 4) else f"echo {i} >> ran"}
             for i in range(6)]

    def test_does_nothing_twice_and_leaves_nothing(self):
        self.assertEqual(sorted(self.again(self.LINES)), list("012345"))
        with open(self.work + "/ran") as file:
            self.assertEqual(sorted(file.read().split()), list("0135"))
        self.assertEqual(sorted(os.listdir(self.base)), ["cache", "out", "runtime", "tasks.jsonl", "work"])

    def test_keeps_the_order_of_the_input(self):
        self.assertEqual(self.again(self.LINES, "--order", "input"), list("012345"))
        with open(self.work + "/ran") as file:
            self.assertEqual(sorted(file.read().split()), list("0135"))
        self.assertEqual(sorted(os.listdir(self.base)), ["cache", "out", "runtime", "tasks.jsonl", "work"])

    def test_takes_no_file_of_anybody_elses(self):
        self.write("out.new", "precious")
        self.again(self.LINES)
        with open(self.out("out.new")) as file:
            self.assertEqual(file.read(), "precious")

    def test_is_not_kept_from_it_by_what_a_task_made(self):
        lines = [{"id": "maker", "command": "mkdir out.new"}, {"id": "fails", "command": "test -e mended"}]
        path = self.tasks(lines)
        self.batch("--results", self.work + "/out", path, status=1)
        self.write("work/mended", "")
        self.batch("--results", self.work + "/out", "--resume=failed", path)
        self.assertEqual(ids(self.results(self.work + "/out")), ["fails", "maker"])

    def test_survives_kills_in_the_order_of_the_input(self):
        count = 200
        lines = [{"id": str(i), "command": "test -e mended" if i % 3 == 1 else "true"} for i in range(count)]
        path = self.tasks(lines)
        self.batch("--results", self.out(), "--order", "input", path, status=1)
        self.write("work/mended", "")
        choose = random.Random(5)
        again = [SBX_RUN, "batch", "--workspace", self.work, "--results", self.out(), "--order", "input",
                 "--resume=failed", path]
        for _ in range(15):
            process = subprocess.Popen(again, env=self.env, cwd=self.work, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.addCleanup(self.end, process)
            try:
                process.wait(choose.uniform(0.005, 0.15))
            except subprocess.TimeoutExpired:
                process.kill()
            process.communicate(timeout=BOUND)
        self.batch(*again[4:])
        self.assertEqual([result["id"] for result in self.results(self.out())], [str(i) for i in range(count)])
        self.assertEqual({result["exit_code"] for result in self.results(self.out())}, {0})

    def test_an_id_is_not_the_number_of_a_bad_line(self):
        path = self.tasks([{"id": "a", "command": "true"}, "bad"])
        self.batch("--results", self.out(), path, status=1)
        path = self.tasks([{"id": "a", "command": "true"}, "bad", {"id": "\n2", "command": "true"},
                           {"id": "\u00ff2", "command": "true"}])
        self.batch("--results", self.out(), "--resume", path, status=1)
        self.assertEqual(ids(result for result in self.results(self.out()) if result["id"]),
                         ["\n2", "a", "\u00ff2"])


class Template(Case):
    def setUp(self):
        super().setUp()
        self.state = os.path.join(self.base, "state")
        self.environment = {**self.env, "XDG_STATE_HOME": self.state}
        self.write("work/real", "as it was\n")

    def over(self, *arguments, status=0):
        done = self.cli("batch", "--template", self.work, "--results", self.out(), *arguments,
                        env=self.environment)
        self.assertEqual(done.returncode, status, (done.stdout[-2000:], done.stderr))
        return self.results(self.out()) if status < 2 else json.loads(done.stdout)["error"]

    def layers(self):
        done = self.cli("layer", "list", "--workspace", self.work, "--json", env=self.environment)
        self.assertEqual(done.returncode, 0, done)
        return {layer["name"] for layer in json.loads(done.stdout)}

    def kept_files(self):
        return [name for _, _, files in os.walk(self.state) for name in files if name != "lock"]

    def test_every_task_has_a_layer_that_is_thrown_away(self):
        path = self.tasks([{"id": str(i), "command": "ls; cat own; echo $$ > real; rm own; touch n",
                            "files": [{"path": "own", "content": f"{i}\n"}]} for i in range(12)])
        for result in self.over("--jobs", "4", path):
            self.assertEqual(result["stdout"], f"own\nreal\n{result['id']}\n", result)
            self.assertEqual(result["layer"]["kind"], "overlay")
            self.assertEqual([(os.path.basename(change["path"]), change["kind"])
                              for change in result["changes"]],
                             [("n", "created"), ("real", "modified")])
        self.assertEqual(os.listdir(self.work), ["real"])
        with open(os.path.join(self.work, "real")) as file:
            self.assertEqual(file.read(), "as it was\n")
        self.assertEqual(self.layers(), set())
        self.assertTrue(until(lambda: not self.kept_files()), self.kept_files())

    def test_layers_that_are_kept_are_named(self):
        path = self.tasks([{"id": str(i), "command": f"echo {i} > real"} for i in range(3)])
        results = self.over("--keep-layers", path)
        self.assertEqual({result["layer"]["name"] for result in results}, self.layers())
        self.assertEqual(len(self.layers()), 3)
        for result in results:
            diff = self.cli("layer", "diff", result["layer"]["name"], "--workspace", self.work,
                            env=self.environment)
            self.assertIn(f"-as it was\n+{result['id']}\n", diff.stdout.decode())

    def test_what_a_kill_left_goes_with_the_next(self):
        path = self.tasks([{"id": "a", "command": "echo 1 > real; echo up; sleep 600"}])
        process = subprocess.Popen(
            [SBX_RUN, "batch", "--jobs", "1", "--template", self.work, "--results", self.out(), path],
            env=self.environment, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(self.end, process)
        self.assertTrue(until(lambda: "upper" in str(list(os.walk(self.state)))
                              and "real" in str([files for _, _, files in os.walk(self.state)])))
        # The server stands still meanwhile: neither it nor a successor clears anything away.
        servers = servers_of(self.marker)
        self.assertEqual(len(servers), 1)
        for pid in servers:
            os.kill(pid, signal.SIGSTOP)
        process.kill()
        process.wait(BOUND)
        for pid in servers:
            os.kill(pid, signal.SIGKILL)
        self.assertEqual(len(self.layers()), 1)
        os.unlink(self.out())
        self.over(self.tasks([{"id": "a", "command": "true"}]))
        self.assertEqual(self.layers(), set())
        self.assertTrue(until(lambda: not self.kept_files()), self.kept_files())

    def test_what_contradicts_it_is_refused(self):
        path = self.tasks([{"id": "a", "command": "true"}])
        for flags in (["--workspace", self.work], ["--overlay"], ["--layer", "x"]):
            error = self.over(*flags, path, status=125)
            self.assertEqual((error["code"], error["where"]), ("bad_flag", "--template"))
        done = self.cli("batch", "--keep-layers", path)
        self.assertEqual(json.loads(done.stdout)["error"]["where"], "--keep-layers")


class Size(Case):
    def test_memory_does_not_grow_with_the_tasks(self):
        """But for 16 to 28 bytes an id. Of a shard that has the last line alone."""
        def peak(count):
            path = self.tasks({"id": f"{i}-{'x' * 200}", "command": "true"} for i in range(count))
            process = subprocess.Popen(
                [SBX_RUN, "batch", "--workspace", self.work, "--shard", f"{count}/{count}", path],
                env=self.env, cwd=self.work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(process.returncode, 0)
            return usage.ru_maxrss

        self.assertLess(peak(20_000) - peak(200), 2048)


if __name__ == "__main__":
    unittest.main()
