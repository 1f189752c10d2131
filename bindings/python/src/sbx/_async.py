# SPDX-License-Identifier: Apache-2.0
"""The asyncio interface: the loop polls the session's descriptor, no thread reads. Cancelling the
asyncio task that awaits a command ends the command."""

from __future__ import annotations

import asyncio
import concurrent.futures
import weakref
from types import TracebackType
from typing import Any, AsyncIterator, Callable, Dict, List, Mapping, Optional, Sequence, Type

from . import _result
from ._backlog import Backlog
from ._core import Core, let_go
from ._errors import SbxError, SessionEnded
from ._layer import AsyncLayer
from ._request import (Command, Files, Input, PathLike, Presets, Time, command_params, milliseconds,
                       options)
from ._result import Chunk, Output, Result, TaskStatus


class AsyncSession:
    """As Session, for asyncio: `async with AsyncSession(…) as session`. Belongs to one loop."""

    def __init__(self, *, profile: Optional[PathLike] = None, with_: Presets = (),
                 workspace: Optional[PathLike] = None, flags: Sequence[PathLike] = (),
                 program: Optional[PathLike] = None, template: Optional[PathLike] = None,
                 keep_layers: bool = False) -> None:
        self._options = options(profile, with_, workspace, flags, program, template,
                                keep_layers)
        self.program: Optional[str] = self._options.get("program")
        self._open_core: Optional[Core] = None
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._end: Optional[Callable[[], Any]] = None

    async def __aenter__(self) -> "AsyncSession":
        await self.open()
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await self.close()

    async def open(self) -> None:
        """Of no effect on one that is open. Belongs to the loop that runs."""
        if self._open_core is not None:
            return
        loop = asyncio.get_running_loop()
        # A thread that the loop's end does not take away: where this is cancelled, it closes.
        opener = concurrent.futures.ThreadPoolExecutor(1, "sbx-open")
        opening = opener.submit(Core, self._options)
        try:
            core = await asyncio.shield(asyncio.wrap_future(opening))
            if self._open_core is not None:  # another open() was faster
                opener.submit(core.close)
                return
        except asyncio.CancelledError:
            opener.submit(let_go, opening)
            raise
        finally:
            opener.shutdown(wait=False)
        self._loop, self._open_core = loop, core
        # One that is never closed is so when its loop has ended, which knows it through the reader.
        self._end = weakref.finalize(self, core.close)
        loop.add_reader(core.fd, self._take)

    def _take(self) -> None:
        core = self._open_core
        if core is not None and not core.take() and self._loop is not None:
            self._loop.remove_reader(core.fd)

    async def close(self) -> None:
        """Ends every task (SIGTERM, after two seconds SIGKILL) and waits for it."""
        core, self._open_core = self._open_core, None
        if core is None or self._loop is None or self._end is None:
            return
        if not core.is_mine:  # the loop is the parent's as well
            self._end()
            return
        self._loop.remove_reader(core.fd)
        for number in list(core._answers):
            core.cancel(number)
        await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, self._end))

    @property
    def _core(self) -> Core:
        if self._open_core is None:
            raise SessionEnded("session_failed", "the session is not open")
        return self._open_core

    @property
    def operator_token(self) -> str:
        """Shows its bearer to be the operator; never hand it to a model."""
        return self._core.token

    async def call(self, method: str, params: Optional[Mapping[str, Any]] = None) -> Any:
        """Any method of docs/sessions.md, its answer as it came. Raises RuntimeError in a loop that
        is not the session's: there no answer would come."""
        core = self._core
        core.check_mine()
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            raise RuntimeError("the session belongs to another event loop: open one in this")
        future: "asyncio.Future[Any]" = loop.create_future()

        def settle(value: Any, error: Optional[SbxError]) -> None:
            if future.done():
                if error is None:
                    core.let_go(method, value)
            elif error is None:
                future.set_result(value)
            else:
                future.set_exception(error)

        def answer(value: Any, error: Optional[SbxError]) -> None:
            # From the loop itself, or from the thread in which the session is closed.
            _soon(loop, settle, value, error)

        number = core.submit(method, params or {}, answer)
        try:
            return await future
        except asyncio.CancelledError:
            core.cancel(number)
            if not future.cancelled() and future.exception() is None:
                core.let_go(method, future.result())
            raise

    async def run(self, command: Command, *, check: bool = False, cwd: Optional[PathLike] = None,
                  env: Optional[Mapping[str, str]] = None, timeout: Optional[Time] = None,
                  input: Optional[Input] = None, files: Optional[Files] = None,
                  network: Optional[bool] = None, merge: Optional[bool] = None,
                  description: Optional[str] = None, output_kb: Optional[int] = None,
                  file_kb: Optional[int] = None, approval: Optional[str] = None,
                  timeout_ms: Optional[int] = None, stdin: Optional[Input] = None,
                  shell: Optional[str] = None) -> Result:
        """As Session.run()."""
        outcome = _result.result(await self.call("run", command_params(
            command, cwd=cwd, env=env, timeout=timeout, input=input, files=files, network=network,
            merge=merge, description=description, output_kb=output_kb, file_kb=file_kb,
            approval=approval, timeout_ms=timeout_ms, stdin=stdin, shell=shell)))
        return outcome.check() if check else outcome

    async def start(self, command: Command, *, cwd: Optional[PathLike] = None,
                    env: Optional[Mapping[str, str]] = None, timeout: Optional[Time] = None,
                    input: Optional[Input] = None, files: Optional[Files] = None,
                    network: Optional[bool] = None, merge: Optional[bool] = None,
                    description: Optional[str] = None, output_kb: Optional[int] = None,
                    file_kb: Optional[int] = None, approval: Optional[str] = None,
                    timeout_ms: Optional[int] = None, stdin: Optional[Input] = None) -> "AsyncTask":
        """As Session.start()."""
        params = command_params(
            command, cwd=cwd, env=env, timeout=timeout, input=input, files=files, network=network,
            merge=merge, description=description, output_kb=output_kb, file_kb=file_kb,
            approval=approval, timeout_ms=timeout_ms, stdin=stdin)
        answer = await self.call("start", {**params, "follow": False})
        if "task_id" not in answer:
            _result.result(answer).check()
        return AsyncTask(self, answer)

    async def task(self, task_id: str) -> "AsyncTask":
        """A task of this session by its id. Raises InvalidRequest where there is none."""
        return AsyncTask(self, await self.call("status", {"task_id": task_id}))

    async def list(self) -> "list[TaskStatus]":
        """As Session.list()."""
        return [_result.task_status(task) for task in (await self.call("list"))["tasks"]]

    async def reset(self, *, grace: Optional[Time] = None) -> bool:
        """Ends every task and forgets it; whether the workspace was cleared, too."""
        params = {} if grace is None else {"grace_ms": milliseconds(grace, "/grace_ms")}
        return bool((await self.call("reset", params))["workspace_cleared"])

    async def check(self, command: Command) -> Dict[str, Any]:
        """The command policy's verdict; runs nothing."""
        return dict(await self.call("check", command_params(command)))

    async def explain(self, command: Command) -> Dict[str, Any]:
        """What would be built; runs nothing."""
        return dict(await self.call("explain", command_params(command)))

    async def tool(self, name: str, params: Mapping[str, Any]) -> Dict[str, Any]:
        """A tool's answer (docs/tools.md)."""
        return dict(await self.call("tool", {"name": name, "params": dict(params)}))

    @property
    def layer(self) -> AsyncLayer:
        """The layer that the session holds, with flags=["--layer", NAME]."""
        return AsyncLayer(self.call, self._be_operator)

    async def layers(self) -> "List[Dict[str, Any]]":
        """The layers of the workspace."""
        return list(await self.call("layer.list"))

    async def _be_operator(self) -> None:
        await self.call("hello", {"token": self._core.token})

    async def approve(self, digest: str) -> None:
        """Grants what `result.approval` asked for, once. The operator's: not for a model."""
        await self._be_operator()
        await self.call("approve", {"digest": digest})


def _soon(loop: asyncio.AbstractEventLoop, function: Callable[..., Any], *arguments: Any) -> None:
    """Of no effect where the loop has ended, and with it whoever waited."""
    try:
        loop.call_soon_threadsafe(function, *arguments)
    except RuntimeError:
        pass


class AsyncTask:
    """A command that goes on in the background. `id` is its UUID."""

    def __init__(self, session: AsyncSession, answer: Mapping[str, Any]) -> None:
        self._session = session
        self.id = str(answer["task_id"])
        self.pid = int(answer["pid"])
        self._next = 0

    def __repr__(self) -> str:
        return f"<sbx.AsyncTask {self.id}>"

    async def status(self) -> TaskStatus:
        """As Task.status()."""
        return _result.task_status(await self._session.call("status", {"task_id": self.id}))

    async def output(self, since: Optional[int] = None) -> Output:
        """What is new since the last call, or since an earlier `next`."""
        answer = _result.output(await self._session.call(
            "output", {"task_id": self.id, "since": self._next if since is None else since}))
        self._next = answer.next
        return answer

    async def stdin(self, text: str = "", *, close: bool = False) -> None:
        """Writes to the task's standard input; returns when its pipe has taken the text."""
        await self._session.call("stdin", {"task_id": self.id, "text": text, "close": close})

    async def wait(self, timeout: Optional[Time] = None) -> TaskStatus:
        """The status at its end, or after `timeout` seconds (is_running is then still true)."""
        params = {"task_id": self.id, "timeout_ms": milliseconds(timeout)}
        return _result.task_status(await self._session.call("wait", params))

    async def kill(self, grace: Time = 2.0) -> TaskStatus:
        """SIGTERM to all of it, SIGKILL after the grace; returns when nothing is left."""
        params = {"task_id": self.id, "grace_ms": milliseconds(grace, "/grace_ms")}
        return _result.task_status(await self._session.call("kill", params))

    async def stream(self, *, match: Optional[str] = None, since: int = 0) -> AsyncIterator[Chunk]:
        """The output from `since` on, as it comes, until the task ends: first what there is, one
        chunk a stream. With `match`, an RE2 expression: lines that match. One stream of a task at a
        time. While nobody reads, 4 MiB wait; beyond, the oldest go, and `dropped` of the next chunk
        counts them."""
        events = Backlog()
        changed = asyncio.Event()
        loop = asyncio.get_running_loop()
        core = self._session._core

        def notify(event: Optional[Mapping[str, Any]]) -> None:
            events.put(event)
            _soon(loop, changed.set)

        core.watch(self.id, notify)
        try:
            params = {"task_id": self.id, "since": since, "follow": True, "match": match}
            first = _result.output(await self._session.call("output", params))
            if match is None:  # what there is comes in the answer, only what is new as events
                for chunk in _result.chunks(first, since):
                    yield chunk
            while True:
                changed.clear()
                has_come, event = events.poll()
                if not has_come:
                    await changed.wait()
                    continue
                if event is None:
                    raise SessionEnded("session_failed", "the session has ended")
                if event["method"] in ("task.exit", "task.cancelled"):
                    return
                yield _result.chunk(event["params"])
        finally:
            core.unwatch(self.id, notify)

    def __aiter__(self) -> AsyncIterator[Chunk]:
        return self.stream()
