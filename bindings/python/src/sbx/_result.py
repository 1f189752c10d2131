# SPDX-License-Identifier: Apache-2.0
"""The answers as dataclasses (docs/result.md). `raw` holds the whole answer, with what a later
version may add."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Dict, Iterator, List, Mapping, Optional, Type, TypeVar

from ._errors import ApprovalNeeded, CommandFailed, CommandRefused, CommandTimedOut

_T = TypeVar("_T")


def _read(kind: Type[_T], document: Mapping[str, Any]) -> _T:
    names = {item.name for item in fields(kind)}
    known = {key: value for key, value in document.items() if key in names}
    return kind(**known, raw=dict(document))  # type: ignore[call-arg]


def _cut(text: str, most: int = 400) -> str:
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


@dataclass(frozen=True, repr=False)
class Result:
    """How a command ended, what it wrote, what the sandbox did."""
    status: str
    exit_code: Optional[int] = None
    signal: Optional[str] = None
    timed_out: bool = False
    stdout: str = field(default="", repr=False)
    stderr: str = field(default="", repr=False)
    stdout_bytes: int = 0
    stderr_bytes: int = 0
    truncated: Dict[str, bool] = field(default_factory=dict, repr=False)
    encoding: Dict[str, str] = field(default_factory=dict, repr=False)
    output_path: Optional[str] = None
    result_json: Any = None
    command: str = ""
    argv: List[str] = field(default_factory=list, repr=False)
    cwd: str = ""
    description: Optional[str] = None
    started_at: str = ""
    duration_ms: float = 0.0
    usage: Dict[str, float] = field(default_factory=dict, repr=False)
    limit: Optional[str] = None
    denials: List[Dict[str, Any]] = field(default_factory=list)
    redactions: Dict[str, Any] = field(default_factory=dict, repr=False)
    connections: List[Dict[str, Any]] = field(default_factory=list, repr=False)
    unlisted_connections: int = 0
    unlisted_requests: int = 0
    shell: Optional[Dict[str, Any]] = None
    sandbox: Dict[str, Any] = field(default_factory=dict, repr=False)
    warnings: List[str] = field(default_factory=list, repr=False)
    layer: Optional[Dict[str, str]] = None
    changes: Optional[List[Dict[str, str]]] = None
    approval: Optional[Dict[str, Any]] = None
    error: Optional[Dict[str, Any]] = None
    raw: Dict[str, Any] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        """How it ended and what it wrote, cut; what else there is to say."""
        shown: Dict[str, Any] = {"status": self.status}
        for name in ("exit_code", "signal", "limit", "stdout", "stderr", "denials", "approval",
                     "error"):
            value = getattr(self, name)
            if value not in (None, "", []) or name == "stdout":
                shown[name] = value
        return f"Result({', '.join(f'{name}={_cut(repr(value))}' for name, value in shown.items())})"

    @property
    def ok(self) -> bool:
        """Whether it exited with 0."""
        return self.status == "exited" and self.exit_code == 0

    @property
    def was_run(self) -> bool:
        """Whether the command was started at all."""
        return self.status not in ("denied", "needs_approval", "error")

    def check(self) -> "Result":
        """Itself, if ok. Raises: CommandFailed and what derives from it."""
        if self.ok:
            return self
        error = self.error or {}
        message = error.get("message") or self._ending()
        kind = {"timed_out": CommandTimedOut, "denied": CommandRefused,
                "needs_approval": ApprovalNeeded}.get(self.status, CommandFailed)
        raise kind(error.get("code") or self.status, message, self, error.get("where") or "",
                   error.get("hint") or "")

    def _ending(self) -> str:
        how = (f"exited with {self.exit_code}" if self.status == "exited" else
               f"was ended by {self.signal}" if self.status == "signaled" else
               f"ran into its limit: {self.limit}" if self.status == "limit" else self.status)
        last = self.stderr.strip().rsplit("\n", 1)[-1]
        return f"{self.command!r} {how}" + (f": {last}" if last else "")


@dataclass(frozen=True)
class TaskStatus:
    """A task's state and what is kept of its output; `raw` has a result's members at its end."""
    task_id: str
    status: str
    exit_code: Optional[int] = None
    signal: Optional[str] = None
    is_running: bool = False
    uptime_seconds: float = 0.0
    stdout: str = field(default="", repr=False)
    stderr: str = field(default="", repr=False)
    raw: Dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Output:
    """What is new of a task's output; `dropped` bytes before it are no longer kept."""
    stdout: str
    stderr: str
    next: int
    dropped: int
    is_running: bool
    exit_code: Optional[int] = None
    raw: Dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Chunk:
    """A piece of output as it came; with a match, one line without its newline."""
    stream: str
    text: str
    offset: int = 0
    dropped: int = 0
    raw: Dict[str, Any] = field(default_factory=dict, repr=False)


def result(document: Mapping[str, Any]) -> Result:
    return _read(Result, document)


def task_status(document: Mapping[str, Any]) -> TaskStatus:
    return _read(TaskStatus, document)


def output(document: Mapping[str, Any]) -> Output:
    return _read(Output, document)


def chunk(document: Mapping[str, Any]) -> Chunk:
    return _read(Chunk, document)


def chunks(answer: Output, since: int) -> Iterator[Chunk]:
    """One for each stream that has text; what was dropped is of both together, so the first has it."""
    dropped = answer.dropped
    for name, text in (("stdout", answer.stdout), ("stderr", answer.stderr)):
        if text:
            yield Chunk(name, text, since, dropped)
            dropped = 0
