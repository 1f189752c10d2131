# SPDX-License-Identifier: Apache-2.0
"""Ready tools for an agent's loop: a definition to hand to a model, and a handler for its calls.

    bash = sbx.tools.bash_tool(session)
    reply = client.messages.create(tools=[bash.definition], …)
    for block in reply.content:
        if block.type == "tool_use":
            answer = bash.handle(block.input)   # .text, .is_error
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import Any, Awaitable, Callable, Dict, Mapping, Optional

from ._async import AsyncSession
from ._errors import InvalidRequest, SbxError, SessionEnded, error_of
from ._library import program
from ._session import Session


@dataclass(frozen=True)
class ToolAnswer:
    """What goes back to the model."""
    text: str
    is_error: bool
    raw: Dict[str, Any]


@dataclass(frozen=True)
class Tool:
    """tool() makes it. `handle` waits for the tool's answer; any number of threads may call it."""
    name: str
    definition: Dict[str, Any]
    handle: Callable[[Mapping[str, Any]], ToolAnswer]


@dataclass(frozen=True)
class AsyncTool:
    """async_tool() makes it. `handle` belongs to the session's loop."""
    name: str
    definition: Dict[str, Any]
    handle: Callable[[Mapping[str, Any]], Awaitable[ToolAnswer]]


def definition(name: str, *, style: str = "anthropic",
               sbx_run: Optional[str] = None) -> Dict[str, Any]:
    """A tool's definition; style: "anthropic", "openai" or "mcp"."""
    path = sbx_run or program()
    try:
        done = subprocess.run([path, "schema", "tool", name, "--for", style],
                              capture_output=True, text=True, check=False, timeout=60)
    except OSError as error:
        raise SbxError("not_found", f"{path} cannot be started: {error.strerror}", "/program",
                       "install the sbx wheel for this machine, or sbx itself") from None
    try:
        document: Dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        document = {"error": {"code": "internal", "message": done.stderr.strip()}}
    if done.returncode != 0:
        raise error_of(document.get("error") or {})
    return document


def _answer(document: Dict[str, Any]) -> ToolAnswer:
    about = document.get("tool", {})
    body = {key: value for key, value in document.items() if key != "tool"}
    text = body["text"] if "text" in body else json.dumps(body, ensure_ascii=False)
    return ToolAnswer(str(text), bool(about.get("is_error", False)), document)


def _checked(params: Any) -> Mapping[str, Any]:
    if isinstance(params, Mapping):
        return params
    raise InvalidRequest("wrong_type", f"a tool's params are an object, not {params!r:.200}")


def _mistake(error: SbxError) -> ToolAnswer:
    """A model's own mistake goes back to it, in words."""
    if isinstance(error, SessionEnded):
        raise error
    return ToolAnswer(str(error), True, {})


def tool(session: Session, name: str, *, style: str = "anthropic",
         sbx_run: Optional[str] = None) -> Tool:
    """One of docs/tools.md, run in this session. Mistakes of the model are answers; only the end of
    the session is raised. sbx_run: what tells the definition, in place of the session's program."""
    def handle(params: Mapping[str, Any]) -> ToolAnswer:
        try:
            return _answer(session.tool(name, _checked(params)))
        except SbxError as error:
            return _mistake(error)
    return Tool(name, definition(name, style=style, sbx_run=sbx_run or session.program), handle)


def async_tool(session: AsyncSession, name: str, *, style: str = "anthropic",
               sbx_run: Optional[str] = None) -> AsyncTool:
    """As tool(), for asyncio."""
    async def handle(params: Mapping[str, Any]) -> ToolAnswer:
        try:
            return _answer(await session.tool(name, _checked(params)))
        except SbxError as error:
            return _mistake(error)
    return AsyncTool(name, definition(name, style=style, sbx_run=sbx_run or session.program),
                     handle)


def bash_tool(session: Session, *, style: str = "anthropic",
              sbx_run: Optional[str] = None) -> Tool:
    """The `bash` tool. With the session's profile `tool-bash` it follows that tool's page exactly."""
    return tool(session, "bash", style=style, sbx_run=sbx_run)


def async_bash_tool(session: AsyncSession, *, style: str = "anthropic",
                    sbx_run: Optional[str] = None) -> AsyncTool:
    """As bash_tool(), for asyncio."""
    return async_tool(session, "bash", style=style, sbx_run=sbx_run)
