# SPDX-License-Identifier: Apache-2.0
"""The errors of the library as exceptions: a stable code, what failed, where, what would mend it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping

if TYPE_CHECKING:
    from ._result import Result


class SbxError(Exception):
    """`code` is one of `sbx-run schema errors`; `where` and `hint` may be empty."""

    def __init__(self, code: str, message: str, where: str = "", hint: str = "") -> None:
        super().__init__(code, message, where, hint)
        self.code = code
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        place = f" [{self.where}]" if self.where else ""
        mend = f" ({self.hint})" if self.hint else ""
        return f"{self.code}: {self.message}{place}{mend}"


class InvalidRequest(SbxError):
    """A mistake in what was asked: an unknown field, a wrong type, a value out of range."""


class SessionEnded(SbxError):
    """The session is closed, or its process has ended."""


class CommandFailed(SbxError):
    """With check=True: the command did not exit with 0. `result` says how it ended."""

    def __init__(self, code: str, message: str, result: "Result", where: str = "",
                 hint: str = "") -> None:
        super().__init__(code, message, where, hint)
        self.result = result


class CommandTimedOut(CommandFailed):
    """The wall-clock limit ended it."""


class CommandRefused(CommandFailed):
    """The command policy refused it; nothing ran."""


class ApprovalNeeded(CommandFailed):
    """A person has to approve it first; nothing ran. `result.approval` holds the digest."""


_INVALID = {"bad_json", "unknown_field", "wrong_type", "out_of_range", "bad_value", "duplicate_key",
            "missing_field", "too_deep", "too_large", "bad_message", "unknown_method",
            "above_ceiling", "task_not_found"}


def error_of(data: Mapping[str, Any]) -> SbxError:
    """The exception for {"code", "message", "where", "hint"}."""
    code = data.get("code") or "internal"
    kind = (InvalidRequest if code in _INVALID else
            SessionEnded if code == "session_failed" else SbxError)
    return kind(code, data.get("message") or "", data.get("where") or "", data.get("hint") or "")
