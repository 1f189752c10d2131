#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The printed schema and the decoder give the same verdict on thousands of documents.

usage: schema_agrees.py PROFILE_DECODE PROFILES_DIRECTORY

Valid documents are built from the schema itself; each is also mutated. The seed is fixed. Exit 0:
they agree; 1: they do not; 77: python3-jsonschema is missing.
"""
import copy
import glob
import json
import posixpath
import random
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    print("SKIPPED: python3-jsonschema is missing, so nothing was compared")
    sys.exit(77)

VALID = 1200
MUTATIONS_EACH = 3

# Strings for each pattern, found by the pattern's own verdict: the decoder must share it.
STRINGS = [
    "", " ", "a", "A_1", "9a", "a b", "a\n", "\n", "\t", "\u0000", "a\u0000b", "\u007f", "é", "日本",
    "😀", "/", "//", "/a", "/a/", "/a/..", "/a/../b", "/..", "/...", "/a/..\n", "..", ".", "./a", "a/.",
    "a/b", "a//b", "a/..", "/a\n", ".git/hooks", ".git/hooks/", "~", "~/.npm", "~/.cache/pip", "npm", "$HOME", "/x$y", "/a/${home}",
    "${workspace}", "${workspace}/", "${workspace}/.env", "${workspace}x", "${workspace}/..",
    "${home}/.ssh", "${tmp}", "${root}", "${home}${tmp}", "${home}\n", "${workspace", "/dev", "/dev/",
    "/dev/fuse", "/dev/fuse\n", "/dev/dri/renderD128", "/dev/..", "/dev/.", "/dev//a", "/dev/a/",
    "/dev/a/../b", "/device", "/run/x.sock", "mount", "io_uring_setup", "Mount", "mount\n", "PATH",
    "LD_PRELOAD", "GET", "get", "A-B", "A=B", "sudo", "mkfs.*", "default", "strict",
    "github.com", "github.com:443", "GitHub.com", "*.pypi.org", "*.pypi.org:443", "*", "*.", "*x.org",
    "a.*.org", "localhost", "a_b.org", "-a.org", "a-.org", "a-b.org", "a..org", ".a", "a.org.",
    "a.org\n", "a.org:0", "a.org:1", "a.org:65535", "a.org:65536", "a.org:99999", "a.org:080",
    "a.org:", "a.org:x", "a.org:443\n", "a.org:1:2", "http://a.org", "a.org/b", "1.2.3.4",
    "1.2.3.4:80", "1.2.3.4\n", "255.255.255.255", "256.1.1.1", "1.2.3", "1.2.3.4.5", "01.2.3.4",
    "1.2.3.4/0", "1.2.3.4/32", "1.2.3.4/33", "1.2.3.4/", "1.2.3.4/01", "10.1.0.0/16:5432",
    "10.1.0.0/16:", "1.2.3.x", "123", "a.123", "123.a", "::", "::1", "::1/128", "::1/129", "fd00::/8",
    "2001:db8::1", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::", "::1:2:3:4:5:6:7", "1::2:3:4:5:6:7:8",
    "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7", ":::", "1::2::3", "12345::", "g::", "::ffff:1.2.3.4",
    "[::1]", "[::1]:443", "[::1]:0", "[::1", "::1]", "[::1]x", "[::1/64]:1", "[a.org]", "[1.2.3.4]",
    "[]", "fe80::1%eth0", "a" * 63 + ".org", "a" * 64 + ".org", ".".join(["a" * 49] * 5) + ".org",
    ".".join(["a" * 49] * 5) + ".orgs", "*." + ".".join(["a" * 49] * 5) + ".org",
    "*." + ".".join(["a" * 49] * 5) + ".orgs",
]
NUMBERS = [0, 1, -1, 2, 1.0, 1.5, 1.9, 2e3, 65535, 65536, 1 << 31, 1 << 53, (1 << 63) - 1, 1 << 63,
           (1 << 64) - 1, 1e300, -0.0, 604800000, 604800001, 1048576, 1048577]
ODD = [None, True, False, 0, -3, 1.9, "", "x", [], {}, [None], [0], ["x"], {"x": 1}]


def build(rng, schema):
    """A document that the schema accepts."""
    if "anyOf" in schema:
        return build(rng, rng.choice(schema["anyOf"]))
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    kind = rng.choice(kinds)
    if kind == "null":
        return None
    if kind == "boolean":
        return rng.random() < 0.5
    if kind in ("integer", "number"):
        low, high = schema["minimum"], schema["maximum"]
        return rng.choice([low, high, rng.randint(low, high), float(rng.randint(low, high))])
    if kind == "array":
        return [build(rng, schema["items"]) for _ in range(rng.randrange(schema.get("minItems", 0), 4))]
    if kind == "object":
        return build_object(rng, schema)
    if "enum" in schema:
        return rng.choice([name for name in schema["enum"] if name is not None])
    return rng.choice(strings_of(schema))


CACHE = {}


def strings_of(schema):
    pattern = schema.get("pattern", "")
    if pattern not in CACHE:
        validator = jsonschema.Draft7Validator(schema)
        CACHE[pattern] = [text for text in STRINGS if validator.is_valid(text)]
    return CACHE[pattern]


def build_object(rng, schema):
    if "properties" not in schema:
        names = strings_of({"type": "string", **schema.get("propertyNames", {})})
        return {rng.choice(names): build(rng, schema["additionalProperties"])
                for _ in range(rng.randrange(3))}
    document = {}
    for name, inner in schema["properties"].items():
        wanted = name in schema.get("required", []) or rng.random() < 0.4
        other = name[1:] if name.startswith("+") else "+" + name
        if not wanted or other in document:
            continue
        if name == "extends":
            known = ["default", "strict", "tool-bash_exec"]
            document[name] = rng.choice(known + [rng.sample(known, rng.randrange(3)) + ["node"]])
        elif name.lstrip("+") in ("http", "credentials"):
            continue  # go with the mode and the list of hosts: a schema cannot say that
        elif name == "+allow" and "network_allow" in schema["properties"]:
            continue  # appends to a null of the parent's: a schema cannot say that
        else:
            document[name] = build(rng, inner)
    return document


def places(value, path=()):
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, path + (key,))
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from places(inner, path + (index,))


def mutate(rng, document):
    """One change at a random place: a value, a key, a misspelling, a removal."""
    changed = copy.deepcopy(document)
    path = rng.choice(list(places(changed)))
    if not path:
        return rng.choice(ODD)
    parent = changed
    for step in path[:-1]:
        parent = parent[step]
    key = path[-1]
    change = rng.randrange(6)
    if change == 0:
        parent[key] = copy.deepcopy(rng.choice(ODD))
    elif change == 1 and not isinstance(parent[key], (dict, list)):
        parent[key] = rng.choice(STRINGS)
    elif change == 2:
        parent[key] = rng.choice(NUMBERS)
    elif change == 3:
        del parent[key]
    elif isinstance(parent, dict):
        new = rng.choice([key + "s", key[:-1], "+" + key, key.lstrip("+"), key.upper(), "x"])
        parent[new] = parent[key] if change == 4 else parent.pop(key)
    else:
        parent.insert(0, copy.deepcopy(rng.choice(ODD + STRINGS)))
    return changed


def beyond_a_schema(document):
    """What the decoder judges and a schema cannot: other documents. docs/profile.md lists it."""
    if not isinstance(document, dict):
        return False
    commands = document.get("commands")
    appends_to_null = isinstance(commands, dict) and "+allow" in commands
    extends = document.get("extends", "default")
    names = extends if isinstance(extends, list) else [extends]
    known = ("default", "strict", "tool-bash_exec", "node")
    return (appends_to_null or names_a_root_twice(document) or
            any(isinstance(name, str) and name not in known for name in names))


def names_a_root_twice(document):
    filesystem = document.get("filesystem")
    lists = [filesystem.get(key) for key in ("roots", "+roots")] if isinstance(filesystem, dict) else []
    paths = [[posixpath.normpath(str(root.get("path"))).lstrip("/") for root in one if isinstance(root, dict)]
             for one in lists if isinstance(one, list)]
    return any(len(set(one)) < len(one) for one in paths)


def main():
    decoder, profiles = sys.argv[1:3]
    schema = json.loads(subprocess.run([decoder, "--schema"], check=True,
                                       capture_output=True).stdout)
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    rng = random.Random(20260131)

    shipped = [json.load(open(path, encoding="utf-8")) for path in sorted(
        glob.glob(profiles + "/*.json") + glob.glob(profiles + "/presets/*.json"))]
    built = [one for one in (build(rng, schema) for _ in range(VALID)) if not names_a_root_twice(one)]
    documents = shipped + built
    strings = [{"network": {"allow": [text]}} for text in STRINGS]
    strings += [{"filesystem": {key: [text]}} for text in STRINGS for key in ("devices", "protect")]
    strings += [{"filesystem": {"roots": [{"path": text}]}} for text in STRINGS]
    strings += [{"environment": {"set": {text: text}, "pass": [text]}} for text in STRINGS]
    strings += [{"network": {"http": [{"host": "a", key: [text]}]}} for text in STRINGS for key in ("methods", "paths")]
    strings += [{"network": {"mode": "allowlist", "allow": ["a"], "http": [{"host": "a", "methods": one, "paths": ["/"]}]}}
                for one in ([], ["GET"], ["get"])]
    strings += [{"commands": {"deny": [text]}} for text in STRINGS]
    strings += [{"audit": {"file": text}, "name": text} for text in STRINGS]
    mutated = [mutate(rng, document) for document in documents for _ in range(MUTATIONS_EACH)]
    documents += strings + [one for one in mutated if not beyond_a_schema(one)]

    lines = "".join(json.dumps(document) + "\n" for document in documents)
    answers = subprocess.run([decoder], input=lines, check=True, capture_output=True,
                             encoding="utf-8").stdout.splitlines()
    assert len(answers) == len(documents), (len(answers), len(documents))
    accepted = wrong = 0
    for index, (document, answer) in enumerate(zip(documents, answers)):
        by_schema = validator.is_valid(document)
        by_decoder = answer == "accept"
        accepted += by_decoder
        must_accept = index < len(shipped) + len(built)
        if by_schema != by_decoder or (must_accept and not by_decoder):
            wrong += 1
            if wrong <= 10:
                print("schema", by_schema, "decoder", answer, json.dumps(document))
    print(f"{len(documents)} documents, {accepted} accepted by both, {wrong} judged differently")
    return 1 if wrong or accepted < VALID or len(documents) - accepted < 1000 else 0


if __name__ == "__main__":
    sys.exit(main())
