#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sbom.py BUILD_DIR VERSION: what is in the static programs of a build tree, as CycloneDX 1.5. Which
archives a program was linked from, and which headers it was compiled from, is what ninja knows of the
build; which package of which version they are, dpkg. The same build gives the same bytes."""

import datetime
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
# Linked without being named: the C library and the compiler's own.
IMPLICIT = ("libc.a", "libm.a", "libstdc++.a", "libgcc.a", "libgcc_eh.a")
# Their headers come with what is linked, or hold constants only.
WITHOUT_CODE = ("linux", "glibc", "gcc-12")


def lines(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()


class Packages:
    """Files of this machine -> the source packages that they are of."""

    def __init__(self):
        self._of = {}

    def learn(self, paths):
        wanted = sorted({os.path.realpath(path) for path in paths} - self._of.keys())
        for start in range(0, len(wanted), 500):
            found = subprocess.run(["dpkg", "-S", *wanted[start:start + 500]], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True, check=False).stdout
            for line in found.splitlines():
                packages, path = line.rsplit(": ", 1)
                self._of[path] = packages.split(", ")[0]

    def of(self, path):
        return self._of.get(os.path.realpath(path))


def licences(package):
    """Of a machine-readable copyright file, else none."""
    try:
        with open(f"/usr/share/doc/{package.split(':')[0]}/copyright", encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return []
    if not text.startswith("Format:"):
        return []
    names = {name.strip() for name in re.findall(r"^License:[ \t]*(\S[^\n]*)$", text, re.MULTILINE)}
    return [{"license": {"name": name}} for name in sorted(names)]


def component(package):
    name, version = lines("dpkg-query", "-W", "-f", "${source:Package} ${source:Version}\n",
                          package)[0].split()
    purl = f"pkg:deb/debian/{name}@{urllib.parse.quote(version, safe='')}?arch=source"
    found = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
    if licences(package):
        found["licenses"] = licences(package)
    return found


def archives(build, program):
    """Those of the system on the program's link line."""
    link = lines("ninja", "-C", build, "-t", "commands", "-s", f"bin/{program}")[-1]
    compiler = re.search(r"\S*(?:g\+\+|c\+\+|clang\+\+)\S*", link).group(0)
    named = [word for word in shlex.split(link.split("&&")[1] if "&&" in link else link)
             if word.startswith("/") and word.endswith(".a")]
    return named + [path for name in IMPLICIT
                    for path in lines(compiler, f"-print-file-name={name}") if os.path.isabs(path)]


def headers(build):
    """Object -> the headers of the system that it was compiled from."""
    found, current = {}, None
    for line in lines("ninja", "-C", build, "-t", "deps"):
        if line and not line.startswith(" "):
            current = found.setdefault(line.split(":")[0], [])
        elif line.strip().startswith("/usr/"):
            current.append(line.strip())
    return found


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def main(build, version):
    with open(f"{HERE}/../../cmake/programs.txt", encoding="utf-8") as file:
        programs = file.read().split()
    of_object, packages, components, dependencies = headers(build), Packages(), {}, []
    packages.learn({path for paths in of_object.values() for path in paths})
    whole = f"pkg:generic/sbx@{version}"
    applications = []
    for program in programs:
        linked = archives(build, program)
        packages.learn(linked)
        inputs = set(lines("ninja", "-C", build, "-t", "inputs", f"bin/{program}"))
        included = {packages.of(path) for name, paths in of_object.items() if name in inputs
                    for path in paths}
        refs = set()
        for package in {packages.of(path) for path in linked} | included:
            if package is None:
                continue
            one = component(package)
            if package not in {packages.of(path) for path in linked} and one["name"] in WITHOUT_CODE:
                continue
            components.setdefault(one["bom-ref"], one)
            refs.add(one["bom-ref"])
        ref = f"{whole}#bin/{program}"
        applications.append({"type": "application", "bom-ref": ref, "name": program, "version": version,
                             "hashes": [{"alg": "SHA-256", "content": sha256(f"{build}/bin/{program}")}]})
        dependencies.append({"ref": ref, "dependsOn": sorted(refs)})
    time = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")),
                                           datetime.timezone.utc)
    print(json.dumps({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
                     "component": {"type": "application", "bom-ref": whole, "name": "sbx",
                                   "version": version,
                                   "licenses": [{"license": {"id": "Apache-2.0"}}]}},
        "components": applications + sorted(components.values(), key=lambda one: one["bom-ref"]),
        "dependencies": [{"ref": whole, "dependsOn": sorted(a["bom-ref"] for a in applications)},
                         *dependencies]}, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
