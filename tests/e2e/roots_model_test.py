# SPDX-License-Identifier: Apache-2.0
"""Random trees, roots and protected paths: what a command can do is what a model of ten lines says.

The model: of all roots the deepest at or above a path decides; a protected path is written by
nobody, nor is what lies in it, but where a root further down says so. Nothing that leads to either
is moved. A seed that fails is named, and makes the same tree again."""

import json
import os
import random
import subprocess
import unittest

import harness

SEEDS = 40

# Tries each path one by one, then takes everything away that can be taken.
PROBE = r"""
import json, os, sys
top, paths = sys.argv[1], json.loads(sys.argv[2])
def tried(call):
    try:
        return call() or True
    except OSError:
        return None
def append(path):
    with open(path, "a") as file:
        file.write("W")
def text(path):
    with open(path) as file:
        return file.read()
found = {}
for path, is_directory in paths:
    at = os.path.join(top, path)
    new = os.path.join(at, "new")
    found[path] = [tried(lambda: os.listdir(at) and None if is_directory else text(at)),
                   tried(lambda: append(new) or os.unlink(new) if is_directory else append(at))]
seen = []
for at, _, names in os.walk(top):
    seen += filter(None, (tried(lambda: text(os.path.join(at, name))) for name in names))
print(json.dumps([found, seen]), flush=True)
for path, _ in paths[::-1] + paths:
    at = os.path.join(top, path)
    for call in (lambda: os.chmod(at, 0o700), lambda: os.truncate(at, 0), lambda: os.rename(at, at + ".m"),
                 lambda: os.unlink(at), lambda: os.rmdir(at), lambda: os.symlink("/etc", at)):
        tried(call)
"""


def below(path, above):
    return above in ("", path) or path.startswith(above + "/")


class Tree:
    """Paths relative to the workspace; its file's text is "C:" and the path."""

    def __init__(self, seed, work):
        self.random = random.Random(seed)
        self.work = work
        self.paths = []  # (path, whether it is a directory)
        self.fill("", 0)
        self.roots = {"": "rw"}
        self.protect = []
        self.document = {"extends": "default", "commands": {"ask": [], "deny": []},
                         "filesystem": {"+roots": []}}
        self.choose()

    def fill(self, directory, depth):
        for name in [*self.random.sample(["a", "b", "c", ".claude"], 3), "f"]:
            path = os.path.join(directory, name)
            is_directory = name != "f" and depth < 3 and self.random.random() < 0.75
            self.paths.append((path, is_directory))
            if is_directory:
                os.mkdir(os.path.join(self.work, path))
                self.fill(path, depth + 1)
            else:
                with open(os.path.join(self.work, path), "w") as file:
                    file.write("C:" + path)

    def choose(self):
        filesystem = self.document["filesystem"]
        for path, _ in self.random.sample(self.paths, min(5, len(self.paths))):
            self.roots[path] = self.random.choice(["ro", "rw", "none"])
            root = {"path": os.path.join(self.work, path), "access": self.roots[path]}
            if self.roots[path] != "none" and self.random.random() < 0.2:
                root["noexec"] = True
            filesystem["+roots"].append(root)
        if self.random.random() < 0.3:
            name, access = self.random.choice("abcf"), self.random.choice(["ro", "none"])
            filesystem["+roots"].append({"path": f"{self.work}/**/{name}", "access": access})
            for path, _ in self.paths:
                if os.path.basename(path) == name:
                    self.roots.setdefault(path, access)
        self.protect = [path for path, _ in self.random.sample(self.paths, self.random.randint(0, 3))]
        filesystem["protect"] = [self.random.choice([path, {"path": path, "missing": "report"}])
                                 for path in self.protect]
        if self.random.random() < 0.25:
            filesystem["base"] = "host"

    def root_of(self, path):
        return max((root for root in self.roots if below(path, root)), key=len)

    def held_at(self, root, protect):
        """A file on the way is held in place of what could not lie in it."""
        parts = os.path.join(root, protect).split("/")
        ways = ["/".join(parts[:i]) for i in range(1, len(parts) + 1)]
        return next((way for way in ways if (way, False) in self.paths), ways[-1])

    def is_writable(self, path):
        own = self.root_of(path)
        held = [self.held_at(root, protect) for protect in self.protect
                for root, access in self.roots.items() if access == "rw" and self.is_directory(root)]
        return self.roots[own] == "rw" and not any(below(path, at) and not below(own, at) for at in held)

    def is_directory(self, path):
        return path == "" or (path, True) in self.paths

    def is_hidden(self, path):
        return self.roots[self.root_of(path)] == "none"

    def is_as_it_was(self, path, is_directory):
        at = os.path.join(self.work, path)
        if os.path.islink(at) or is_directory:
            return os.path.isdir(at) and not os.path.islink(at)
        with open(at) as file:
            return file.read() == "C:" + path


class Roots(harness.Case):
    def probe(self, tree, *flags, **options):
        """What could be read and written, path by path, and all texts that were found."""
        answer = self.run_json(*flags, "--profile", self.profile(tree.document), "--", "/usr/bin/python3", "-c", PROBE,
                               self.work, json.dumps(tree.paths), **options)
        if answer["status"] != "exited":
            return answer, None, []
        found, seen = json.loads(answer["stdout"])
        return answer, found, {str(text).rstrip("W") for text in seen}  # an empty one: true

    def compare(self, seed):
        tree = Tree(seed, self.work)
        answer, found, seen = self.probe(tree)
        self.assertEqual((answer["status"], answer["exit_code"]), ("exited", 0), answer)
        for path, is_directory in tree.paths:
            if tree.is_hidden(path):
                self.assertTrue(is_directory or found[path] == [None, None], path)
                continue
            can_read, can_write = found[path]
            self.assertTrue(can_read, path)
            self.assertEqual(bool(can_write), tree.is_writable(path), path)
        self.look_again(tree, seen)
        # What the first has moved stands open to no second, which may be refused.
        self.look_again(tree, self.probe(tree)[2])

    def look_again(self, tree, seen):
        for path, is_directory in tree.paths:
            if not tree.is_writable(path):
                self.assertTrue(tree.is_as_it_was(path, is_directory), path)
            if tree.is_hidden(path):
                self.assertNotIn("C:" + path, seen)

    def begin(self):
        subprocess.run(["rm", "-rf", self.work], check=True)
        os.mkdir(self.work)

    def test_random_trees(self):
        for seed in range(SEEDS):
            with self.subTest(seed=seed):
                self.begin()
                self.compare(seed)

    def test_a_layer_commits_what_could_be_written_alone(self):
        """With a profile that knows nothing of the run's: refused as a whole, or without what the run held."""
        for seed in range(SEEDS):
            with self.subTest(seed=seed):
                self.begin()
                tree = Tree(seed, self.work)
                if any(tree.roots[path] == "rw" for path, is_directory in tree.paths
                       if path in tree.roots and not is_directory):
                    continue  # no layer lies over a file
                options = {"env": {**os.environ, "XDG_STATE_HOME": f"{self.base}/state{seed}"}}
                answer, _, seen = self.probe(tree, "--layer", "x", **options)
                self.assertEqual(answer["status"], "exited", answer)
                before = [tree.is_as_it_was(path, is_directory) for path, is_directory in tree.paths]
                self.assertTrue(all(before), answer)
                own = [os.path.join(self.work, path) for path, _ in tree.paths if tree.is_writable(path)]
                for paths in ([], own):
                    self.raw("layer", "commit", "x", *paths, **options)
                self.look_again(tree, seen)


if __name__ == "__main__":
    unittest.main()
