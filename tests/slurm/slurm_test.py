# SPDX-License-Identifier: Apache-2.0
"""sbx-run batch --on slurm, on a real cluster of two nodes (scripts/cluster). As root only."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))

from harness import SBX_RUN, SOURCE, until  # noqa: E402

PATIENCE = 120
TASKS = int(os.environ.get("SBX_TEST_SLURM_TASKS", "200"))  # while a node dies; 10000 by hand
# Two at once, of two classes or two people, have ports of their own.
PORT = 16000 + os.getpid() % 500 * 20


@unittest.skipUnless(os.geteuid() == 0, "a cluster is started as root")
@unittest.skipUnless(shutil.which("slurmctld") and shutil.which("slurmd"),
                     "no Slurm here (scripts/deps slurm)")
class Cluster(unittest.TestCase):
    BARE = ""  # nodes without namespaces

    @classmethod
    def setUpClass(cls):
        cls.base = tempfile.mkdtemp(prefix="sbx-slurm-")
        os.chmod(cls.base, 0o755)
        cls.addClassCleanup(shutil.rmtree, cls.base, ignore_errors=True)
        cls.cluster = os.path.join(cls.base, "cluster")
        cls.private = os.path.join(cls.base, "private")  # the nodes do not have it
        os.mkdir(cls.private)
        cls.env = {**os.environ, "SBX_CLUSTER_PORT": str(PORT), "SBX_CLUSTER_EMPTY": cls.private,
                   "SBX_CLUSTER_BARE": cls.BARE, "SLURM_CONF": f"{cls.cluster}/slurm.conf"}
        cls.addClassCleanup(cls.command, f"{SOURCE}/scripts/cluster", "down", cls.cluster)
        done = cls.command(f"{SOURCE}/scripts/cluster", "up", cls.cluster, "2")
        assert done.returncode == 0, done.stderr

    @classmethod
    def command(cls, *words, **options):
        options.setdefault("env", cls.env)
        return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False,
                              **options)

    def setUp(self):
        self.assertTrue(until(lambda: self.idle() == 2, 60), self.command("sinfo", "-N").stdout)
        self.out = os.path.join(self.private, "out")
        self.addCleanup(lambda: os.path.exists(self.out) and os.unlink(self.out))
        self.work = tempfile.mkdtemp(dir=self.private)

    def idle(self):
        return len(self.command("sinfo", "-h", "-p", "main", "-N", "-t", "idle", "-o", "%N").stdout.split())

    def tasks(self, lines):
        path = os.path.join(self.work, "tasks.jsonl")
        with open(path, "w") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        return path

    def arguments(self, *more):
        return [SBX_RUN, "batch", "--on", "slurm", "--nodes", "2", "--results", self.out, *more]

    def start(self, *more):
        process = subprocess.Popen(self.arguments(*more), env=self.env, cwd=self.work,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process

    def results(self):
        with open(self.out) as file:
            return [json.loads(line) for line in file]

    def jobs(self):
        return self.command("squeue", "-h", "-t", "PD,R,CF,S").stdout.split()

    def assert_nothing_left(self):
        self.assertTrue(until(lambda: not self.jobs(), 15), self.jobs())


class Batch(Cluster):
    def test_runs_on_all_nodes_and_shares_nothing_but_streams(self):
        lines = [{"id": str(i), "command": "cat; cat in.txt; uname -n; sleep 0.05", "stdin": f"{i} ",
                  "files": [{"path": "in.txt", "content": f"file {i}\n"}]} for i in range(40)]
        done = self.command(*self.arguments("--jobs", "1", self.tasks(lines)), cwd=self.work)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("40 tasks: 40 done", done.stderr)
        found = {result["id"]: result for result in self.results()}
        self.assertEqual(len(found), 40)
        self.assertEqual(os.listdir(self.work), ["tasks.jsonl"])
        self.assertEqual({result["cwd"] for result in found.values()} & {self.work}, set())
        self.assertGreater(len({result["cwd"] for result in found.values()}), 1)
        for number, result in found.items():
            self.assertEqual(result["stdout"].split()[0], number)
        self.assert_nothing_left()

    def test_refuses_more_nodes_than_are_up_and_partitions_that_are_not(self):
        path = self.tasks([{"id": "a", "command": "true"}])
        for arguments in (["--nodes", "3"], ["--partition", "nowhere"]):
            words = [SBX_RUN, "batch", "--on", "slurm", *arguments, path]
            done = self.command(*words, cwd=self.work)
            self.assertEqual(done.returncode, 125, done)
        # What the controller does not allow is its refusal, with its words.
        done = self.command(SBX_RUN, "batch", "--on", "slurm", "--nodes", "2", "--partition", "narrow", path,
                            cwd=self.work)
        self.assertEqual(done.returncode, 125, done)
        self.assertIn("ode count", done.stderr)
        done = self.command(SBX_RUN, "batch", "--nodes", "2", path)
        self.assertEqual(done.returncode, 125, done)
        self.assert_nothing_left()

    def test_a_template_is_named_from_here(self):
        shared = tempfile.mkdtemp(dir=self.base)  # the nodes have it
        self.addCleanup(shutil.rmtree, shared, ignore_errors=True)
        os.mkdir(os.path.join(shared, "tp"))
        with open(os.path.join(shared, "tp", "seed"), "w") as file:
            file.write("there\n")
        path = self.tasks([{"id": str(i), "command": "cat seed; rm seed"} for i in range(4)])
        done = self.command(*self.arguments("--template", "tp", path), cwd=shared)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({result["stdout"] for result in self.results()}, {"there\n"})
        self.assertEqual(os.listdir(os.path.join(shared, "tp")), ["seed"])

    def test_says_why_a_server_does_not_come_up(self):
        path = self.tasks([{"id": "a", "command": "true"}])
        for _ in range(6):
            done = self.command(*self.arguments("--profile", "no-such-profile", path), cwd=self.work)
            self.assertEqual(done.returncode, 125, done)
            self.assertIn("no-such-profile", done.stderr)

    def test_survives_the_death_of_a_node(self):
        count = TASKS
        path = self.tasks([{"id": str(i), "command": "sleep 0.1"} for i in range(count)])
        process = self.start("--jobs", "2", path)
        self.assertTrue(until(lambda: os.path.exists(self.out) and len(self.results()) > count / 10, PATIENCE))
        with open(f"{self.cluster}/node2.pid") as file:
            os.kill(int(file.read().split()[0]), signal.SIGKILL)
        _, said = process.communicate(timeout=PATIENCE + count)
        self.assertEqual(process.returncode, 0, said)
        self.assertEqual(sorted(int(result["id"]) for result in self.results()), list(range(count)))
        self.assert_nothing_left()
        self.command(f"{SOURCE}/scripts/cluster", "node", self.cluster, "node2")

    def test_ends_with_its_client(self):
        path = self.tasks([{"id": "quick", "command": "true"},
                           {"id": "slow", "command": "sleep 600"}])
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)):
            process = self.start(path)
            self.assertTrue(until(lambda: os.path.exists(self.out) and self.results(), 60))
            began = time.monotonic()
            process.send_signal(number)
            process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, status)
            self.assert_nothing_left()
            self.assertLess(time.monotonic() - began, 20)
            self.assertEqual([result["id"] for result in self.results()], ["quick"])
            os.unlink(self.out)


class Bare(Cluster):
    """One of the two nodes gives no namespaces, neither to root nor to users."""
    BARE = "node2"

    def run_all(self, *flags):
        count = 40
        path = self.tasks([{"id": str(i), "command": "sleep 0.1"} for i in range(count)])
        done = self.command(*self.arguments("--jobs", "1", *flags, path), cwd=self.work)
        results = self.results()
        self.assertEqual(sorted(int(result["id"]) for result in results), list(range(count)))
        self.assert_nothing_left()
        return done, results

    def test_its_tasks_are_refused_with_the_reason(self):
        done, results = self.run_all()
        self.assertEqual(done.returncode, 1, done.stderr)
        refused = [result for result in results if result["status"] == "error"]
        self.assertGreater(len(refused), 0)
        self.assertEqual({result["error"]["code"] for result in refused}, {"layer_unavailable"})
        self.assertTrue(all(result["error"]["hint"] for result in refused), refused[0])
        for result in results:
            self.assertTrue(result["status"] == "error" or result["exit_code"] == 0, result)

    def test_they_run_in_the_tier_that_is_left_where_that_is_allowed(self):
        done, results = self.run_all("--allow-degraded")
        self.assertEqual(done.returncode, 0, done.stderr)
        weaker = [result for result in results if result["sandbox"]["degraded"]]
        self.assertTrue(0 < len(weaker) < len(results), len(weaker))
        for result in weaker:
            self.assertTrue(result["sandbox"]["layers"]["seccomp"], result["sandbox"])
            self.assertFalse(result["sandbox"]["layers"]["mount"], result["sandbox"])
