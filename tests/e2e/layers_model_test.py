# SPDX-License-Identifier: Apache-2.0
"""Random histories of two layers and of somebody who changes the real files meanwhile: what is seen inside, what a
layer changes, what a commit does or refuses is what a model of dictionaries says. A seed that fails is named, and
makes the same history again."""

import copy
import json
import os
import random
import shutil
import unittest

from kept_harness import Kept

SEEDS = 60

TREE = r"""
import json, os, shutil, sys
def tree(top):
    found = {}
    for directory, directories, files in os.walk(top):
        for name in directories + files:
            path = os.path.join(directory, name)
            mode = os.lstat(path).st_mode & 0o777
            key = os.path.relpath(path, top)
            if os.path.islink(path):
                found[key] = ["l", os.readlink(path)]
            elif os.path.isdir(path):
                found[key] = ["d", mode]
            else:
                with open(path) as file:
                    found[key] = ["f", file.read(), mode]
    return found
"""
DONE_INSIDE = TREE + r"""
top, calls = sys.argv[1:]
for call, path, *rest in json.loads(calls):
    at = os.path.join(top, path)
    if call in ("write", "append"):
        with open(at, call[0]) as file:
            file.write(rest[0])
    elif call in ("rename", "move"):
        {"rename": os.rename, "move": shutil.move}[call](at, os.path.join(top, rest[0]))
    elif call == "symlink":
        os.symlink(rest[0], at)
    else:
        {"unlink": os.unlink, "rmtree": shutil.rmtree, "mkdir": os.mkdir, "chmod": os.chmod}[call](at, *rest)
print(json.dumps(tree(top)))
"""
exec(TREE)  # pylint: disable=exec-used


def above(path):
    while "/" in path:
        path = path.rsplit("/", 1)[0]
        yield path


def below(top, paths):
    return [path for path in paths if path == top or path.startswith(top + "/")]


def is_directory(tree, path):
    return path == "" or (tree.get(path) or "-")[0] == "d"


class Layer:
    """`own`: what it holds, None for a removal; `base`: what was real when it was first touched; `opaque`: directories
    that hide the real one; `frozen`: what a checkpoint or a branch holds."""

    def __init__(self, real):
        self.real = real
        self.own, self.base, self.opaque, self.frozen = {}, {}, set(), set()
        self.labels = {}
        self.commit = None  # the last one: what was real before, what was seen, what became real
        self.has_branch = False

    def state(self):
        return copy.deepcopy((self.own, self.base, self.opaque))

    def freeze(self):
        self.frozen = {path for path, entry in self.own.items() if entry is not None}

    def go_back(self, state):
        self.own, self.base, self.opaque = copy.deepcopy(state)
        self.freeze()

    def hides(self, path):
        return any(a in self.opaque or a in self.own and not is_directory(self.own, a) for a in above(path))

    def shows(self, path):
        return path in self.real and not self.hides(path) and all(is_directory(self.real, a) for a in above(path))

    def view(self):
        seen = {}
        for path in sorted({*self.real, *self.own}, key=lambda path: (path.count("/"), path)):
            if not all(is_directory(seen, a) for a in above(path)):
                continue
            if path in self.own:
                if self.own[path] is not None:
                    seen[path] = self.own[path]
            elif self.shows(path):
                seen[path] = self.real[path]
        return seen

    def touch(self, path):
        self.base.setdefault(path, None if self.hides(path) else self.real.get(path))

    def touch_parents(self, path):
        seen = self.view()
        for a in above(path):
            self.touch(a)
            self.own.setdefault(a, seen[a])

    def put(self, path, entry):
        self.touch_parents(path)
        self.touch(path)
        self.own[path] = entry

    def make_directory(self, path, mode=0o755):
        was_removed = self.own.get(path, 0) is None
        self.put(path, ["d", mode])
        if was_removed:
            self.opaque.add(path)

    def remove(self, path):
        self.touch_parents(path)
        leaves_mark = self.shows(path) or path in self.frozen or path in self.real and (
            self.base.get(path) is not None or path in self.own and path not in self.opaque)
        for q in below(path, self.real):  # what lies in a directory that both have made is not told of
            if self.shows(q) and not any(a in self.base and self.base[a] is None for a in above(q)):
                self.touch(q)
        for q in below(path, list(self.own)):
            if q != path:
                del self.own[q]
        self.opaque -= set(below(path, self.opaque))
        if leaves_mark:
            self.touch(path)
            self.own[path] = None
            return
        self.own.pop(path, None)
        for q in below(path, list(self.base)):
            del self.base[q]

    def do(self, call, path, *rest):
        seen = self.view()
        if call == "write":
            self.put(path, ["f", rest[0], seen[path][2] if path in seen else 0o644])
        elif call == "append":
            self.put(path, ["f", seen[path][1] + rest[0], seen[path][2]])
        elif call in ("unlink", "rmtree"):
            self.remove(path)
        elif call == "mkdir":
            self.make_directory(path)
        elif call == "symlink":
            self.put(path, ["l", rest[0]])
        elif call == "chmod":
            self.put(path, [*seen[path][:-1], rest[0]])
        elif call == "rename":
            self.remove(path)
            if rest[0] in seen:
                self.remove(rest[0])
            self.put(rest[0], seen[path])
        elif call == "move":
            self.remove(path)
            for q in sorted(below(path, seen)):
                to = rest[0] + q[len(path):]
                if seen[q][0] == "d":
                    self.make_directory(to, seen[q][1])
                else:
                    self.put(to, seen[q])

    def known(self, paths):
        """Of paths, without what others have put into directories that are gone here."""
        return {path for path in paths if path in self.own or self.base.get(path) is not None}

    def changes(self):
        """Against the real tree."""
        seen = self.view()
        return self.known(path for path in {*seen, *self.real} if seen.get(path) != self.real.get(path))

    def touched(self):
        seen = self.view()
        return {path for path in {*self.own, *self.base} if seen.get(path) != self.base.get(path)}

    def tops(self):
        touched = self.touched()
        return [path for path in sorted(touched) if not any(a in touched for a in above(path))]

    def conflicts(self, wanted):
        seen, out = self.view(), set()
        for path in wanted:
            entry, real, was = seen.get(path), self.real.get(path), self.base.get(path)
            parent = path.rpartition("/")[0]
            if entry == real:
                continue
            if was != real and not (was and real and was[:-1] == real[:-1]):  # a mode alone is none
                out.add(path)
            elif entry is not None and parent not in wanted and not is_directory(self.real, parent):
                out.add(path)
            elif real and real[0] == "d" and not (entry and entry[0] == "d"):
                out |= {q for q in self.real if q.rpartition("/")[0] == path and q not in wanted}
        return out

    def forget(self, gone):
        """What an opaque directory hides is hidden name by name from now on."""
        for path in gone:
            self.own.pop(path, None)
            self.base.pop(path, None)
        for directory in sorted(self.opaque):
            for path in sorted(below(directory, self.base)):
                if self.base[path] is not None and path not in self.own and path != directory and not any(
                        a in self.own and not is_directory(self.own, a) for a in above(path)):
                    self.own[path] = None
        self.opaque = set()
        self.freeze()


    def take_back(self, passages):
        """Is below what was written since; of the directories on the way it knows nothing."""
        for path, (was, entry) in passages.items():
            self.base[path] = was
            self.own.setdefault(path, entry)
            for a in above(path):
                if a not in passages:
                    self.own.setdefault(a, self.real.get(a, ["d", 0o755]))
        self.freeze()


class Copy:
    """A layer that is a copy: `own` is its whole tree, `base` that of the time at which it was made."""

    def __init__(self, real):
        self.real = real
        self.own, self.base = dict(real), dict(real)
        self.labels, self.commit, self.has_branch = {}, None, False

    tops, conflicts = Layer.tops, Layer.conflicts

    def state(self):
        return dict(self.own), dict(self.base)

    def go_back(self, state):
        self.own, self.base = map(dict, state)

    def freeze(self):
        pass

    def view(self):
        return dict(self.own)

    def do(self, call, path, *rest):
        moved = {q: self.own[q] for q in below(path, self.own)}
        if call in ("unlink", "rmtree", "rename", "move"):
            for q in moved:
                del self.own[q]
        if call == "write":
            self.own[path] = ["f", rest[0], moved[path][2] if path in moved else 0o644]
        elif call == "append":
            self.own[path] = ["f", moved[path][1] + rest[0], moved[path][2]]
        elif call == "mkdir":
            self.own[path] = ["d", 0o755]
        elif call == "symlink":
            self.own[path] = ["l", rest[0]]
        elif call == "chmod":
            self.own[path] = [*moved[path][:-1], rest[0]]
        elif call in ("rename", "move"):
            self.own.update({rest[0] + q[len(path):]: entry for q, entry in moved.items()})

    def touched(self):
        return {path for path in {*self.own, *self.base} if self.own.get(path) != self.base.get(path)}

    def known(self, paths):
        return self.touched() & set(paths)

    def changes(self):
        return {path for path in self.touched() if self.own.get(path) != self.real.get(path)}

    def settle(self, paths):
        for path in paths:
            self.base.pop(path, None)
            if path in self.real:
                self.base[path] = self.real[path]

    def forget(self, paths):
        self.settle(paths)
        for path in paths:
            self.own.pop(path, None)
            if path in self.real:
                self.own[path] = self.real[path]

    def take_back(self, passages):
        for path, (was, _) in passages.items():
            self.base.pop(path, None)
            if was is not None:
                self.base[path] = was


class History:
    """One seed's: `real` is the workspace, `layers` by their names."""

    def __init__(self, test, seed, kind):
        self.test, self.work, self.random, self.kind = test, test.work, random.Random(seed), kind
        self.real, self.layers, self.log = {}, {}, [f"seed {seed}"]
        if kind is Copy:  # two names of one file, which an overlay would part
            self.write("two", "real")
            os.link(self.at("two"), self.at("names"))
            self.real["names"] = self.real["two"]
        for _ in range(self.random.randint(5, 14)):
            path = self.new_path(self.real)
            if path is None or path in self.real:
                continue
            if self.random.random() < .4:
                os.mkdir(self.at(path), 0o755)
                self.real[path] = ["d", 0o755]
            else:
                self.write(path, "real " + path)

    def at(self, path):
        return os.path.join(self.work, path)

    def write(self, path, text):
        with open(self.at(path), "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(self.at(path), self.real[path][2] if path in self.real else 0o644)
        self.real[path] = ["f", text, self.real[path][2] if path in self.real else 0o644]

    def equal(self, got, wanted):
        self.test.assertEqual(got, wanted, "\n" + "\n".join(map(str, self.log)))

    def new_path(self, seen, names="abc"):
        directories = ["", *(path for path in seen if seen[path][0] == "d")]
        gone = [path for path in directories if any(path not in layer.view() for layer in self.layers.values())]
        if seen is self.real and len(gone) > 1:
            directories = gone
        path = os.path.join(self.random.choice(directories), self.random.choice(names))
        return path if path.count("/") < 3 else None

    @staticmethod
    def files(seen):
        return [path for path in seen if seen[path][0] == "f" and path not in ("two", "names")]

    def call(self, seen):
        """One that works in what is seen, or None."""
        pick = self.random
        files = self.files(seen)
        directories = [path for path in seen if seen[path][0] == "d"]
        others = files + [path for path in seen if seen[path][0] == "l"]
        new = self.new_path(seen)
        is_new = new is not None and new not in seen
        call = pick.choice(["write", "append", "unlink", "rmtree", "rmtree", "mkdir", "mkdir", "rename", "move", "symlink",
                            "chmod"])
        if call == "write":
            path = pick.choice(files) if files and pick.random() < .5 else new
            return (call, path, f"t{pick.randrange(999)}") if path and not is_directory(seen, path) and (
                path not in seen or seen[path][0] == "f") else None
        if call == "append" and files:
            return call, pick.choice(files), "+"
        if call == "unlink" and others:
            return call, pick.choice(others)
        if call == "rmtree" and directories:
            return call, pick.choice(directories)
        if call == "mkdir" and is_new:
            return call, new
        if call == "rename" and others and new:
            path = pick.choice(others)
            return (call, path, new) if path != new and not is_directory(seen, new) else None
        if call == "move" and directories and is_new:
            path = pick.choice(directories)
            deep = max(q.count("/") - path.count("/") for q in below(path, seen))
            return (call, path, new) if not below(path, [new]) and new.count("/") + deep < 4 else None
        if call == "symlink" and is_new:
            return call, new, pick.choice(["a", "../b", "/etc/passwd", "nowhere"])
        if call == "chmod" and files + directories:
            path = pick.choice(files + directories)
            return call, path, pick.choice([0o700, 0o755] if path in directories else [0o600, 0o644, 0o755])
        return None

    def run(self, name):
        layer = self.layers.setdefault(name, self.kind(self.real))
        calls = []
        for _ in range(self.random.randint(0, 3)):
            call = self.call(layer.view())
            if call:
                layer.do(*call)
                calls.append(call)
        self.log.append(("run", name, calls))
        layer.commit = None
        answer = self.test.run_json("--layer", name, "--", "python3", "-c", DONE_INSIDE, self.work, json.dumps(calls))
        self.equal((answer["exit_code"], answer["stderr"]), (0, ""))
        self.equal(answer["layer"]["kind"], self.kind.__name__.lower().replace("layer", "overlay"))
        self.equal(json.loads(answer["stdout"]), layer.view())
        self.equal(layer.known(os.path.relpath(change["path"], self.work) for change in answer["changes"]),
                   layer.changes())

    def somebody_else(self):
        files = self.files(self.real)
        call = self.random.choice(["write", "new", "new", "unlink"])
        path = self.new_path(self.real, "abcx") if call == "new" else self.random.choice(files) if files else None
        if path is None or call == "new" and path in self.real:
            return
        self.log.append(("somebody else", call, path))
        if call == "unlink":
            os.unlink(self.at(path))
            del self.real[path]
        else:
            self.write(path, f"theirs{self.random.randrange(999)}")

    def layer(self, *words, code=None):
        self.log.append(words)
        done = self.test.raw("layer", *words)
        self.equal((done.returncode, json.loads(done.stdout)["error"]["code"] if done.returncode else None),
                   (125, code) if code else (0, None))
        return done.stdout

    def commit(self, name, layer, paths):
        touched, seen = layer.touched(), layer.view()
        wanted = touched if not paths else set(below(paths[0], touched))
        if layer.conflicts(wanted):
            return self.layer("commit", name, *paths, code="layer_conflict")
        self.layer("commit", name, *paths)
        before = dict(self.real)
        for path in wanted:
            self.real.pop(path, None)
            if path in seen:
                self.real[path] = seen[path]
        if self.kind is Copy:
            layer.settle(wanted)
        else:
            layer.forget([*layer.own, *layer.base] if wanted == touched else wanted)
        if any(before.get(path) != self.real.get(path) for path in wanted):
            layer.commit = before, seen, {path: self.real.get(path) for path in wanted}
        return None

    def undo(self, name, layer):
        before, seen, made = layer.commit
        new = [path for path in made if is_directory(self.real, path) and not is_directory(before, path)]
        if any(self.real.get(path) != entry for path, entry in made.items()) or any(
                q not in made for path in new for q in below(path, self.real)):
            return self.layer("undo", name, code="layer_conflict")
        self.layer("undo", name)
        for path in made:
            self.real.pop(path, None)
            if path in before:
                self.real[path] = before[path]
        layer.take_back({path: (before.get(path), seen.get(path)) for path in made})
        layer.commit = None
        return None

    def step(self):
        name = self.random.choice("xy")
        what = self.random.choice(["run", "run", "run", "run", "somebody", "somebody", "somebody", "checkpoint", "rollback", "branch",
                                   "commit", "commit one", "undo", "discard one", "discard"])
        layer = self.layers.get(name)
        if what == "somebody":
            return self.somebody_else()
        if what == "run":
            self.run(name)
        elif layer is None:
            return None
        elif what == "checkpoint":
            label = f"c{len(layer.labels)}"
            self.layer("checkpoint", name, label)
            layer.labels[label] = layer.state()
            layer.freeze()
        elif what == "rollback" and layer.labels:
            label = self.random.choice(sorted(layer.labels))
            self.layer("rollback", name, label)
            layer.go_back(layer.labels[label])
            layer.commit = None
        elif what == "branch" and len(self.layers) == 1:
            new = "y" if name == "x" else "x"
            self.layer("branch", name, new)
            layer.freeze()
            layer.has_branch = True
            self.layers[new] = self.kind(self.real)
            self.layers[new].go_back(layer.state())
        elif what == "commit" or what == "commit one" and layer.tops():
            self.commit(name, layer, [self.random.choice(layer.tops())] if what == "commit one" else [])
        elif what == "undo" and layer.commit and not layer.has_branch:
            self.undo(name, layer)
        elif what == "discard one" and layer.tops():
            top = self.random.choice(layer.tops())
            self.layer("discard", name, top)
            layer.forget(below(top, layer.touched() if self.kind is Copy else {*layer.own, *layer.base, *self.real}))
            layer.commit = None
        elif what == "discard":
            self.layer("discard", name)
            del self.layers[name]
        self.equal(tree(self.work), self.real)  # pylint: disable=undefined-variable
        if name in self.layers:
            layer = self.layers[name]
            told = json.loads(self.layer("diff", name, "--json"))["changes"]
            self.equal(layer.known(os.path.relpath(change["path"], self.work) for change in told),
                       layer.touched() & layer.changes())
        return None


class Histories(Kept):
    def go_through(self, kind):
        for seed in range(SEEDS):
            with self.subTest(seed=seed):
                for name in os.listdir(self.work):
                    path = os.path.join(self.work, name)
                    (shutil.rmtree if os.path.isdir(path) and not os.path.islink(path) else os.unlink)(path)
                shutil.rmtree(self.state, ignore_errors=True)
                history = History(self, seed, kind)
                for _ in range(history.random.randint(8, 20)):
                    history.step()

    def test_random_histories(self):
        self.go_through(Layer)

    def test_random_histories_of_copies(self):
        self.go_through(Copy)


if __name__ == "__main__":
    unittest.main()
