# SPDX-License-Identifier: Apache-2.0
"""The wheel: the package, sbx-run and libsbx.so, zipped. A PEP 517 backend with no dependency, and
a command: build_wheel.py [--prefix DIR] [--out DIR], where DIR holds bin/sbx-run and lib/libsbx.so
(a build tree or an install prefix; default: the release build). The environment variable
SBX_BUILD_PREFIX says the same to `pip wheel`."""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import re
import sys
import zipfile
from typing import Mapping, Optional

HERE = os.path.dirname(os.path.abspath(__file__))
RELEASE = os.path.join(HERE, "..", "..", "build", "release")
# sbx-run, and what it looks for beside itself.
with open(os.path.join(HERE, "..", "..", "cmake", "programs.txt"), encoding="utf-8") as _list:
    PROGRAMS = _list.read().split()
TIME = (2026, 1, 1, 0, 0, 0)  # the same wheel from the same files


def _version() -> str:
    with open(os.path.join(HERE, "..", "..", "CMakeLists.txt"), encoding="utf-8") as file:
        found = re.search(r"^project\(sbx VERSION ([0-9.]+)", file.read(), re.MULTILINE)
    assert found is not None
    return found.group(1)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _library(prefix: str) -> str:
    machine = os.uname().machine
    for directory in ("lib", f"lib/{machine}-linux-gnu", "lib64"):
        path = os.path.join(prefix, directory, "libsbx.so.1")
        if os.path.exists(path):
            return path
    raise SystemExit(f"build_wheel: no lib/libsbx.so.1 below {prefix}: build sbx first, or --prefix")


def _tag(library: bytes) -> str:
    """The oldest glibc that has every symbol version that the library names."""
    versions = [int(minor) for minor in re.findall(rb"\0GLIBC_2\.(\d+)", library)]
    return f"manylinux_2_{max(versions, default=17)}_{os.uname().machine}"


def _metadata() -> bytes:
    lines = ["Metadata-Version: 2.1", "Name: sbx", f"Version: {_version()}",
             "Summary: Run shell commands in a sandbox of their own", "License: Apache-2.0",
             "Requires-Python: >=3.9", "Classifier: Typing :: Typed",
             "Classifier: Operating System :: POSIX :: Linux",
             "Description-Content-Type: text/markdown", ""]
    return "\n".join(lines).encode() + b"\n" + _read(os.path.join(HERE, "README.md"))


def _record_line(name: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def _write(path: str, files: Mapping[str, bytes], record: str) -> None:
    lines = ""
    with zipfile.ZipFile(path + ".part", "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in files.items():
            lines += _record_line(name, data)
            _add(wheel, name, data)
        _add(wheel, record, (lines + f"{record},,\n").encode())
    os.replace(path + ".part", path)


def _add(wheel: zipfile.ZipFile, name: str, data: bytes) -> None:
    info = zipfile.ZipInfo(name, TIME)
    info.compress_type = zipfile.ZIP_DEFLATED
    mode = 0o755 if os.path.basename(name) in PROGRAMS else 0o644
    info.external_attr = (0o100000 | mode) << 16
    wheel.writestr(info, data)


def make(prefix: str, out: str) -> str:
    """Writes the wheel into `out`; its name."""
    library = _read(_library(prefix))
    files = {}
    package = os.path.join(HERE, "src", "sbx")
    for name in sorted(os.listdir(package)):
        if name.endswith(".py") or name == "py.typed":
            files[f"sbx/{name}"] = _read(os.path.join(package, name))
    files["sbx/_native/libsbx.so.1"] = library
    for program in PROGRAMS:
        files[f"sbx/_native/{program}"] = _read(os.path.join(prefix, "bin", program))
    tag = f"py3-none-{_tag(library)}"
    info = f"sbx-{_version()}.dist-info"
    files[f"{info}/METADATA"] = _metadata()
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: sbx build_wheel.py\n"
                              f"Root-Is-Purelib: false\nTag: {tag}\n").encode()
    files[f"{info}/entry_points.txt"] = b"[console_scripts]\nsbx-run = sbx.__main__:main\n"
    name = f"sbx-{_version()}-{tag}.whl"
    os.makedirs(out, exist_ok=True)
    _write(os.path.join(out, name), files, f"{info}/RECORD")
    return name


def build_wheel(wheel_directory: str, config_settings: Optional[Mapping[str, str]] = None,
                metadata_directory: Optional[str] = None) -> str:
    """PEP 517."""
    return make(os.environ.get("SBX_BUILD_PREFIX", RELEASE), wheel_directory)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prefix", default=RELEASE)
    parser.add_argument("--out", default=os.path.join(HERE, "dist"))
    arguments = parser.parse_args()
    name = make(arguments.prefix, arguments.out)
    print(os.path.join(arguments.out, name))


if __name__ == "__main__":
    sys.exit(main())
