# SPDX-License-Identifier: Apache-2.0
"""libsbx.so through ctypes: texts and numbers in and out, errors as exceptions. Nothing here knows
what a method means."""

from __future__ import annotations

import ctypes
import ctypes.util
import json
import os
from typing import Any, Mapping, Optional

from ._errors import InvalidRequest, SbxError, error_of

_HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_native")


def _find() -> str:
    carried = os.path.join(_HERE, "libsbx.so.1")
    return carried if os.path.exists(carried) else "libsbx.so.1"


def _declare(library: ctypes.CDLL) -> ctypes.CDLL:
    text, handle, out = ctypes.c_char_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)
    number = ctypes.c_uint64
    for name, result, arguments in (
            ("sbx_open", ctypes.c_int, [text, out, out]),
            ("sbx_submit", ctypes.c_int, [handle, text, text, ctypes.POINTER(number), out]),
            ("sbx_next", ctypes.c_int, [handle, ctypes.c_int, out, out]),
            ("sbx_fd", ctypes.c_int, [handle]),
            ("sbx_cancel", ctypes.c_int, [handle, number, out]),
            ("sbx_operator_token", text, [handle]),
            ("sbx_close", None, [handle]),
            ("sbx_free", None, [handle]),
            ("sbx_error_code", text, [handle]),
            ("sbx_error_message", text, [handle]),
            ("sbx_error_where", text, [handle]),
            ("sbx_error_hint", text, [handle]),
            ("sbx_error_free", None, [handle]),
            ("sbx_version", text, [])):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


_library: Optional[ctypes.CDLL] = None


def library() -> ctypes.CDLL:
    global _library
    if _library is None:
        try:
            _library = _declare(ctypes.CDLL(_find()))
        except OSError as error:
            raise SbxError("not_found", f"libsbx.so.1 cannot be loaded: {error}", "",
                           "install the sbx wheel for this machine, or sbx itself") from None
    return _library


def version() -> str:
    """The version of libsbx.so."""
    return str(library().sbx_version().decode())


def program() -> str:
    """The sbx-run that a wheel carries, else the one on the PATH."""
    carried = os.path.join(_HERE, "sbx-run")
    return carried if os.path.exists(carried) else "sbx-run"


def _raise(error: ctypes.c_void_p) -> None:
    native = library()
    parts = [getattr(native, f"sbx_error_{part}")(error).decode("utf-8", "replace")
             for part in ("code", "message", "where", "hint")]
    native.sbx_error_free(error)
    raise error_of(dict(zip(("code", "message", "where", "hint"), parts)))


def _encode(document: Mapping[str, Any]) -> bytes:
    # A lone surrogate has no UTF-8: it becomes an escape, which the server refuses by name.
    return json.dumps(document, ensure_ascii=True).encode()


class Handle:
    """One sbx_session. Its caller serialises close() against everything else."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._pointer = ctypes.c_void_p()
        error = ctypes.c_void_p()
        if library().sbx_open(_encode(options), ctypes.byref(self._pointer), ctypes.byref(error)):
            _raise(error)

    def submit(self, method: str, params: Mapping[str, Any]) -> int:
        if not isinstance(method, str):
            raise TypeError(f"a method is a str, not {method!r}")
        if not (method.isascii() and method.isprintable()):  # a NUL would end it
            raise InvalidRequest("unknown_method", f"there is no method {method!r}", "/method")
        number, error = ctypes.c_uint64(), ctypes.c_void_p()
        if library().sbx_submit(self._pointer, method.encode(), _encode(params),
                                ctypes.byref(number), ctypes.byref(error)) < 0:
            _raise(error)
        return int(number.value)

    def next(self) -> Optional[Mapping[str, Any]]:
        """An event, or None where none is waiting. Does not block."""
        event, error = ctypes.c_void_p(), ctypes.c_void_p()
        got = library().sbx_next(self._pointer, 0, ctypes.byref(event), ctypes.byref(error))
        if got < 0:
            _raise(error)
        if got == 0:
            return None
        try:
            document: Mapping[str, Any] = json.loads(ctypes.string_at(event.value or 0))
        finally:
            library().sbx_free(event)
        return document

    def cancel(self, number: int) -> None:
        error = ctypes.c_void_p()
        if library().sbx_cancel(self._pointer, number, ctypes.byref(error)) < 0:
            _raise(error)

    def fileno(self) -> int:
        return int(library().sbx_fd(self._pointer))

    def token(self) -> str:
        return str(library().sbx_operator_token(self._pointer).decode())

    def close(self) -> None:
        pointer, self._pointer = self._pointer, ctypes.c_void_p()
        library().sbx_close(pointer)
