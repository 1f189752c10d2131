# SPDX-License-Identifier: Apache-2.0
"""Python arguments → the params of run and start, and the options of a session. Pure."""

from __future__ import annotations

import base64
import math
import os
import re
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Union

from ._errors import InvalidRequest

# Path → text or bytes; or as docs/request.md has it.
Files = Union[Mapping[Any, Union[str, bytes]], Sequence[Mapping[str, Any]]]
PathLike = Union[str, "os.PathLike[str]"]
Command = Union[str, Sequence[PathLike]]
Input = Union[str, bytes]
Presets = Union[PathLike, Sequence[PathLike]]
# Seconds, or as the command line takes it: "10s", "500ms", "2m".
Time = Union[float, str]


def _text(name: str, value: PathLike) -> str:
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(text, str):
        raise TypeError(f"{name} is a str or a path, not {value!r}")
    return text


def _texts(name: str, values: Iterable[PathLike]) -> List[str]:
    return [_text(f"{name}[{i}]", value) for i, value in enumerate(values)]


def _name(name: str, value: PathLike) -> str:
    text = _text(name, value)
    if not text:
        raise InvalidRequest("bad_value", f'"{name}" is empty', f"/{name}",
                             "name one, or leave it out")
    return text


def options(profile: Optional[PathLike], presets: Presets, workspace: Optional[PathLike],
            flags: Sequence[PathLike], program: Optional[PathLike],
            template: Optional[PathLike] = None, keep_layers: bool = False) -> Dict[str, Any]:
    out: Dict[str, Any] = {}
    if profile is not None:
        out["profile"] = _name("profile", profile)
    if workspace is not None:
        out["workspace"] = os.path.abspath(_name("workspace", workspace))
    names = [presets] if isinstance(presets, (str, os.PathLike)) else presets
    if isinstance(flags, (str, bytes)):
        raise TypeError(f"flags is a list of strings, not {flags!r}")
    given = [f"--with={name}" for name in _texts("with_", names)] + _texts("flags", flags)
    if template is not None:
        given.append("--template=" + os.path.abspath(_name("template", template)))
    if keep_layers:
        given.append("--keep-layers")
    if given:
        out["flags"] = given
    if program is not None:
        out["program"] = _name("program", program)
    return out


_UNITS = {"ms": 0.001, "": 1, "s": 1, "m": 60, "h": 3600}


def milliseconds(time: Optional[Time], where: str = "/timeout_ms") -> Optional[int]:
    if time is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|)", time) if isinstance(time, str) else None
    if isinstance(time, bool) or not isinstance(time, (int, float)) and found is None:
        raise TypeError(f"a time is a number of seconds or a text such as '10s', not {time!r}")
    seconds = float(found[1]) * _UNITS[found[2]] if found else float(time)
    if not math.isfinite(seconds * 1000):
        raise InvalidRequest("out_of_range", f"a time has an end, {time!r} has none", where)
    whole = round(seconds * 1000)
    return max(whole, 1) if seconds > 0 else whole


def _once(name: str, value: Any, own_name: str, own: Any) -> Any:
    """The value of an argument that has a second name, the request's own."""
    if value is not None and own is not None:
        raise TypeError(f"{name} and {own_name} are one argument: give one of them")
    return own if value is None else value


def _input(value: Optional[Input]) -> Optional[str]:
    if value is None or isinstance(value, str):
        return value
    try:
        return bytes(memoryview(value)).decode()
    except (TypeError, UnicodeDecodeError) as error:
        raise TypeError(f"input is a str, or bytes that are UTF-8: {error}") from None


def _file(path: PathLike, content: Union[str, bytes]) -> Dict[str, str]:
    name = _text("a path in files", path)
    if isinstance(content, str):
        return {"path": name, "content": content}
    try:
        return {"path": name, "content_base64": base64.b64encode(content).decode()}
    except TypeError:
        raise TypeError(f"files[{name!r}] is a str or bytes, not {content!r}") from None


def _files(files: Files) -> List[Mapping[str, Any]]:
    if isinstance(files, Mapping):
        return [_file(*item) for item in files.items()]
    return list(files)


def command_params(command: Command, *, cwd: Optional[PathLike] = None,
                   env: Optional[Mapping[str, str]] = None, timeout: Optional[Time] = None,
                   input: Optional[Input] = None, files: Optional[Files] = None,
                   network: Optional[bool] = None, merge: Optional[bool] = None,
                   description: Optional[str] = None, output_kb: Optional[int] = None,
                   file_kb: Optional[int] = None, approval: Optional[str] = None,
                   timeout_ms: Optional[int] = None, stdin: Optional[Input] = None,
                   shell: Optional[str] = None) -> Dict[str, Any]:
    """What is None is left to the profile. A str goes to the profile's shell, a list to no shell."""
    if isinstance(command, (bytes, bytearray, Mapping)) or not isinstance(command, Iterable):
        raise TypeError(f"command is a str or a list of them, not {command!r}")
    params: Dict[str, Any] = {
        "command" if isinstance(command, str) else "argv":
            command if isinstance(command, str) else _texts("command", command),
        "cwd": None if cwd is None else _text("cwd", cwd),
        "env": None if env is None else {name: _text(f"env[{name!r}]", value)
                                         for name, value in dict(env).items()},
        "timeout_ms": _once("timeout", milliseconds(timeout), "timeout_ms", timeout_ms),
        "stdin": _input(_once("input", input, "stdin", stdin)),
        "files": None if files is None else _files(files),
        "network": network, "merge": merge, "description": description,
        "output_kb": output_kb, "file_kb": file_kb, "approval": approval,
        "shell": shell}
    return {key: value for key, value in params.items() if value is not None}
