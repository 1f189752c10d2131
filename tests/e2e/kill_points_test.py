# SPDX-License-Identifier: Apache-2.0
"""SIGKILL of sbx-run at each system call around what it makes on the host, by strace's injection:
nothing of it is left. Only sbx-run itself is traced and killed, as by `kill -9` of its pid."""

import concurrent.futures
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import harness

CALL = re.compile(r"^([a-z0-9_]+)\((.*)")
BEFORE, AFTER = 4, 6  # calls around the first and the last mkdir


def calls_of(trace):
    with open(trace, errors="replace") as file:
        return [match.groups() for match in map(CALL.match, file) if match]


@unittest.skipUnless(shutil.which("strace"), "strace is not installed")
class KillPoints(harness.Case):
    """What is protected, sessions and fresh workspaces, whoever is killed when."""

    def one(self, arguments, inject, wrapper=()):
        """A run in places of its own, killed as `inject` says: (its trace, what is left of it)."""
        base = tempfile.mkdtemp(dir=self.base)
        places = [os.path.join(base, name) for name in ("work", "cache", "tmp")]
        for place in places:
            os.mkdir(place, 0o700)
        trace = os.path.join(base, "trace")
        environment = {**os.environ, "XDG_CACHE_HOME": places[1], "TMPDIR": places[2]}
        subprocess.run([*wrapper, "strace", "-qq", "-o", trace, *inject, harness.SBX_RUN, *arguments,
                        "-c", "true"], cwd=places[0], env=environment, stdin=subprocess.DEVNULL,
                       capture_output=True, timeout=harness.BOUND, check=False)

        def left():
            found = []
            for place in places:
                for directory, inner, files in os.walk(place):
                    found += [os.path.join(directory, name) for name in inner + files]
            # What the cache directory is for may stay: its parents, made once.
            return [path for path in found
                    if not places[1] + "/" in path + "/" or os.path.basename(path).startswith("run-")]

        harness.until(lambda: not left())
        return calls_of(trace), left()

    def kill_everywhere(self, made, *arguments, wrapper=()):
        """`made` stands in the path that is made."""
        calls, left = self.one(arguments, [], wrapper)
        self.assertEqual(left, [])
        if not calls:
            self.skipTest("strace cannot trace here")
        at = [i for i, (name, rest) in enumerate(calls) if name.startswith("mkdir") and made in rest]
        self.assertTrue(at, "it is not made any more: the test has lost its subject")
        seen = {}
        points = []
        for i, (name, _) in enumerate(calls):
            seen[name] = seen.get(name, 0) + 1
            if at[0] - BEFORE <= i <= at[-1] + AFTER:
                points.append(f"--inject={name}:signal=KILL:when={seen[name]}")
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            answers = list(pool.map(lambda point: (point, self.one(arguments, [point], wrapper)),
                                    points))
        self.assertEqual([(point, left) for point, (_, left) in answers if left], [])
        # Some were killed before, some after.
        made_by = [any(name.startswith("mkdir") and made in rest for name, rest in calls)
                   for _, (calls, _) in answers]
        self.assertTrue(any(made_by) and not all(made_by), points)

    def test_no_stub_of_a_protected_path_is_left(self):
        profile = self.profile({"filesystem": {"protect": ["held", "too"]}})
        self.kill_everywhere('held"', "--profile", profile)

    def test_no_fresh_workspace_is_left(self):
        profile = self.profile({"workspace": {"mode": "fresh"}})
        self.kill_everywhere("/run-", "--profile", profile)

    @unittest.skipUnless(harness.TOOLS, "the probes are not built")
    def test_no_directory_for_temporary_files_is_left_by_the_weak_tier(self):
        profile = self.profile({"isolation": {"namespaces": [], "require": ["seccomp", "landlock"],
                                              "fallback": "degrade"}})
        self.kill_everywhere("/sbx-run-", "--profile", profile)


if __name__ == "__main__":
    unittest.main()
