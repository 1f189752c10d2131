# SPDX-License-Identifier: Apache-2.0
"""Python arguments → the params of run and start, and the options of a session. Pure."""

from __future__ import annotations

import base64
import os
import re
from typing import Any, Dict, Mapping, Optional, Sequence, Union

# Path → text or bytes.
Files = Mapping[str, Union[str, bytes]]
Command = Union[str, Sequence[str]]
PathLike = Union[str, "os.PathLike[str]"]
Presets = Union[PathLike, Sequence[PathLike]]
# Seconds, or as the command line takes it: "10s", "500ms", "2m".
Time = Union[float, str]


def options(profile: Optional[PathLike], presets: Presets, workspace: Optional[PathLike],
            flags: Sequence[str], program: Optional[PathLike],
            template: Optional[PathLike] = None, keep_layers: bool = False) -> Dict[str, Any]:
    out: Dict[str, Any] = {}
    if profile is not None:
        out["profile"] = os.fspath(profile)
    if workspace is not None:
        out["workspace"] = os.path.abspath(os.fspath(workspace))
    names = [presets] if isinstance(presets, (str, os.PathLike)) else presets
    if isinstance(flags, str):
        raise TypeError(f"flags is a list of strings, not {flags!r}")
    given = [f"--with={os.fspath(name)}" for name in names] + list(flags)
    if template is not None:
        given.append("--template=" + os.path.abspath(os.fspath(template)))
    if keep_layers:
        given.append("--keep-layers")
    if given:
        out["flags"] = given
    if program is not None:
        out["program"] = os.fspath(program)
    return out


_UNITS = {"ms": 0.001, "": 1, "s": 1, "m": 60, "h": 3600}


def milliseconds(time: Optional[Time]) -> Optional[int]:
    if time is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|)", time) if isinstance(time, str) else None
    if isinstance(time, bool) or not isinstance(time, (int, float)) and found is None:
        raise TypeError(f"a time is a number of seconds or a text such as '10s', not {time!r}")
    seconds = float(found[1]) * _UNITS[found[2]] if found else float(time)
    whole = round(seconds * 1000)
    return max(whole, 1) if seconds > 0 else whole


def _file(path: str, content: Union[str, bytes]) -> Dict[str, str]:
    if isinstance(content, str):
        return {"path": path, "content": content}
    return {"path": path, "content_base64": base64.b64encode(content).decode()}


def command_params(command: Command, *, cwd: Optional[PathLike] = None,
                   env: Optional[Mapping[str, str]] = None, timeout: Optional[Time] = None,
                   input: Optional[str] = None, files: Optional[Files] = None,
                   network: Optional[bool] = None, merge: Optional[bool] = None,
                   description: Optional[str] = None, output_kb: Optional[int] = None,
                   file_kb: Optional[int] = None, approval: Optional[str] = None,
                   ) -> Dict[str, Any]:
    """What is None is left to the profile. A str goes to the profile's shell, a list to no shell."""
    params: Dict[str, Any] = {
        "command" if isinstance(command, str) else "argv":
            command if isinstance(command, str) else list(command),
        "cwd": None if cwd is None else os.fspath(cwd),
        "env": None if env is None else dict(env),
        "timeout_ms": milliseconds(timeout),
        "stdin": input,
        "files": None if files is None else [_file(*item) for item in files.items()],
        "network": network, "merge": merge, "description": description,
        "output_kb": output_kb, "file_kb": file_kb, "approval": approval}
    return {key: value for key, value in params.items() if value is not None}
