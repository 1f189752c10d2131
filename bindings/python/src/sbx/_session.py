# SPDX-License-Identifier: Apache-2.0
"""The blocking interface: run(), Session, Task. A thread of the session's own reads for everyone,
so a call can be left by KeyboardInterrupt, and its command ends with it."""

from __future__ import annotations

import concurrent.futures
import os
import select
import threading
import weakref
from types import TracebackType
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Type

from . import _result
from ._backlog import Backlog
from ._core import Core, let_go
from ._errors import SbxError, SessionEnded
from ._layer import Layer
from ._request import (Command, Files, Input, PathLike, Presets, Time, command_params, milliseconds,
                       options)
from ._result import Chunk, Output, Result, TaskStatus


def _open(given: Mapping[str, Any]) -> Core:
    """In a thread, so that KeyboardInterrupt can leave it: what opens later is closed there."""
    opening: "concurrent.futures.Future[Core]" = concurrent.futures.Future()

    def work() -> None:
        try:
            opening.set_result(Core(given))
        except BaseException as error:
            opening.set_exception(error)

    try:
        threading.Thread(target=work, name="sbx-open", daemon=True).start()
        return opening.result()
    except BaseException:
        opening.add_done_callback(let_go)
        raise


class _Reader:
    """A core and the thread that reads from it. Knows nothing of the session that it is for, so
    that a session that is forgotten can be collected."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self._wake_read, self._wake_write = os.pipe()
        self._is_left = False  # to be finished by the thread itself, at its end
        self._thread = threading.Thread(target=self._read, name="sbx", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        waiting = select.poll()
        waiting.register(self.core.fd, select.POLLIN)
        waiting.register(self._wake_read, select.POLLIN)
        while True:
            ready = {fd for fd, _ in waiting.poll()}
            if self._wake_read in ready or not self.core.take():
                break
        if self._is_left:
            self._finish()

    def close(self) -> None:
        """Called once, by the session's finalizer."""
        if self.core.is_mine:
            os.write(self._wake_write, b"x")
            if self._thread is threading.current_thread():
                self._is_left = True  # garbage collected here, maybe with the core's lock held
                return
            self._thread.join()
        self._finish()

    def _finish(self) -> None:
        self.core.close()
        os.close(self._wake_read)
        os.close(self._wake_write)


class Session:
    """One profile, one workspace, the commands in it. May be used by any number of threads.

    profile: name or file of the operator's profile.
    with_: presets over it, such as "node" or ["git", "python"] (`sbx-run profile list`).
    workspace: a directory; None: one that the session makes and removes.
    flags: further options of `sbx-run serve`, such as ["--ro", "/data"].
    program: the sbx-run to start in place of the one that came with this package.
    template: in place of workspace: each command works in this directory through a layer of its
        own, which is thrown away at its end; with keep_layers it stays, under the name that the
        result's `layer` has.
    """

    def __init__(self, *, profile: Optional[PathLike] = None, with_: Presets = (),
                 workspace: Optional[PathLike] = None, flags: Sequence[PathLike] = (),
                 program: Optional[PathLike] = None, template: Optional[PathLike] = None,
                 keep_layers: bool = False) -> None:
        given = options(profile, with_, workspace, flags, program, template, keep_layers)
        self.program: Optional[str] = given.get("program")
        self._reader = _Reader(_open(given))
        self._core = self._reader.core
        self._end = weakref.finalize(self, self._reader.close)

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def close(self) -> None:
        """Ends every task (SIGTERM, after two seconds SIGKILL) and waits for it."""
        self._end()

    @property
    def operator_token(self) -> str:
        """Shows its bearer to be the operator; never hand it to a model."""
        return self._core.token

    def call(self, method: str, params: Optional[Mapping[str, Any]] = None) -> Any:
        """Any method of docs/sessions.md, its answer as it came."""
        future: "concurrent.futures.Future[Any]" = concurrent.futures.Future()

        def answer(value: Any, error: Optional[SbxError]) -> None:
            if error is None:
                future.set_result(value)
            else:
                future.set_exception(error)

        number = self._core.submit(method, params or {}, answer)
        try:
            return future.result()
        except BaseException:
            if not future.done() or future.exception() is None:  # nobody gets the answer
                self._core.cancel(number)
                future.add_done_callback(lambda done: done.exception() is None and
                                         self._core.let_go(method, done.result()))
            raise

    def run(self, command: Command, *, check: bool = False, cwd: Optional[PathLike] = None,
            env: Optional[Mapping[str, str]] = None, timeout: Optional[Time] = None,
            input: Optional[Input] = None, files: Optional[Files] = None,
            network: Optional[bool] = None, merge: Optional[bool] = None,
            description: Optional[str] = None, output_kb: Optional[int] = None,
            file_kb: Optional[int] = None, approval: Optional[str] = None,
            timeout_ms: Optional[int] = None, stdin: Optional[Input] = None,
            shell: Optional[str] = None) -> Result:
        """Runs a command (a str through the shell, a list without one) and waits for its end. With
        shell="kept": in the session's one shell, where what earlier commands set is there.

        With check: raises CommandFailed, CommandTimedOut, CommandRefused or ApprovalNeeded unless
        it exited with 0. Raises: InvalidRequest, SessionEnded.
        """
        outcome = _result.result(self.call("run", command_params(
            command, cwd=cwd, env=env, timeout=timeout, input=input, files=files, network=network,
            merge=merge, description=description, output_kb=output_kb, file_kb=file_kb,
            approval=approval, timeout_ms=timeout_ms, stdin=stdin, shell=shell)))
        return outcome.check() if check else outcome

    def start(self, command: Command, *, cwd: Optional[PathLike] = None,
              env: Optional[Mapping[str, str]] = None, timeout: Optional[Time] = None,
              input: Optional[Input] = None, files: Optional[Files] = None,
              network: Optional[bool] = None, merge: Optional[bool] = None,
              description: Optional[str] = None, output_kb: Optional[int] = None,
              file_kb: Optional[int] = None, approval: Optional[str] = None,
              timeout_ms: Optional[int] = None, stdin: Optional[Input] = None) -> "Task":
        """Starts a command in the background. Raises CommandFailed and what derives from it where
        it is refused or cannot start."""
        params = command_params(
            command, cwd=cwd, env=env, timeout=timeout, input=input, files=files, network=network,
            merge=merge, description=description, output_kb=output_kb, file_kb=file_kb,
            approval=approval, timeout_ms=timeout_ms, stdin=stdin)
        answer = self.call("start", {**params, "follow": False})
        if "task_id" not in answer:
            _result.result(answer).check()
        return Task(self, answer)

    def task(self, task_id: str) -> "Task":
        """A task of this session by its id. Raises InvalidRequest where there is none."""
        return Task(self, self.call("status", {"task_id": task_id}))

    def list(self) -> "list[TaskStatus]":
        """The tasks of this session, without their output. Raises: SessionEnded."""
        return [_result.task_status(task) for task in self.call("list")["tasks"]]

    def reset(self, *, grace: Optional[Time] = None) -> bool:
        """Ends every task and forgets it; whether the workspace was cleared, too."""
        params = {} if grace is None else {"grace_ms": milliseconds(grace, "/grace_ms")}
        return bool(self.call("reset", params)["workspace_cleared"])

    def check(self, command: Command) -> Dict[str, Any]:
        """The command policy's verdict; runs nothing."""
        return dict(self.call("check", command_params(command)))

    def explain(self, command: Command) -> Dict[str, Any]:
        """What would be built; runs nothing."""
        return dict(self.call("explain", command_params(command)))

    def tool(self, name: str, params: Mapping[str, Any]) -> Dict[str, Any]:
        """A tool's answer (docs/tools.md)."""
        return dict(self.call("tool", {"name": name, "params": dict(params)}))

    @property
    def layer(self) -> Layer:
        """The layer that the session holds, with flags=["--layer", NAME]."""
        return Layer(self.call, self._be_operator)

    def layers(self) -> "List[Dict[str, Any]]":
        """The layers of the workspace."""
        return list(self.call("layer.list"))

    def _be_operator(self) -> None:
        self.call("hello", {"token": self._core.token})

    def approve(self, digest: str) -> None:
        """Grants what `result.approval` asked for, once. The operator's: not for a model."""
        self._be_operator()
        self.call("approve", {"digest": digest})


class Task:
    """A command that goes on in the background. `id` is its UUID."""

    def __init__(self, session: Session, answer: Mapping[str, Any]) -> None:
        self._session = session
        self.id = str(answer["task_id"])
        self.pid = int(answer["pid"])
        self._next = 0

    def __repr__(self) -> str:
        return f"<sbx.Task {self.id}>"

    def status(self) -> TaskStatus:
        """Now, without waiting: with the output that is kept so far, from its start. Raises
        InvalidRequest where the session keeps the task no longer."""
        return _result.task_status(self._session.call("status", {"task_id": self.id}))

    def output(self, since: Optional[int] = None) -> Output:
        """What is new since the last call, or since an earlier `next`."""
        answer = _result.output(self._session.call(
            "output", {"task_id": self.id, "since": self._next if since is None else since}))
        self._next = answer.next
        return answer

    def stdin(self, text: str = "", *, close: bool = False) -> None:
        """Writes to the task's standard input; returns when its pipe has taken the text."""
        self._session.call("stdin", {"task_id": self.id, "text": text, "close": close})

    def wait(self, timeout: Optional[Time] = None) -> TaskStatus:
        """The status at its end, or after `timeout` seconds (is_running is then still true)."""
        params = {"task_id": self.id, "timeout_ms": milliseconds(timeout)}
        return _result.task_status(self._session.call("wait", params))

    def kill(self, grace: Time = 2.0) -> TaskStatus:
        """SIGTERM to all of it, SIGKILL after the grace; returns when nothing is left."""
        params = {"task_id": self.id, "grace_ms": milliseconds(grace, "/grace_ms")}
        return _result.task_status(self._session.call("kill", params))

    def stream(self, *, match: Optional[str] = None, since: int = 0) -> Iterator[Chunk]:
        """The output from `since` on, as it comes, until the task ends: first what there is, one
        chunk a stream. With `match`, an RE2 expression: lines that match. One stream of a task at a
        time. While nobody reads, 4 MiB wait; beyond, the oldest go, and `dropped` of the next chunk
        counts them."""
        events = Backlog()
        core = self._session._core
        core.watch(self.id, events.put)
        try:
            params = {"task_id": self.id, "since": since, "follow": True, "match": match}
            first = _result.output(self._session.call("output", params))
            if match is None:  # what there is comes in the answer, only what is new as events
                yield from _result.chunks(first, since)
            while True:
                core.check_mine()  # in a fork nothing more comes
                event = events.get()
                if event is None:
                    raise SessionEnded("session_failed", "the session has ended")
                if event["method"] in ("task.exit", "task.cancelled"):
                    return
                yield _result.chunk(event["params"])
        finally:
            core.unwatch(self.id, events.put)

    __iter__ = stream


def run(command: Command, *, profile: Optional[PathLike] = None, with_: Presets = (),
        workspace: Optional[PathLike] = None, flags: Sequence[PathLike] = (),
        program: Optional[PathLike] = None, check: bool = False, cwd: Optional[PathLike] = None,
        env: Optional[Mapping[str, str]] = None, timeout: Optional[Time] = None,
        input: Optional[Input] = None, files: Optional[Files] = None,
        network: Optional[bool] = None, merge: Optional[bool] = None,
        description: Optional[str] = None, output_kb: Optional[int] = None,
        file_kb: Optional[int] = None, approval: Optional[str] = None,
        timeout_ms: Optional[int] = None, stdin: Optional[Input] = None) -> Result:
    """Runs one command in a session of its own; otherwise as Session.run().

    Without `workspace` the command sees an empty directory that is removed afterwards; "." gives it
    the current one.
    """
    with Session(profile=profile, with_=with_, workspace=workspace, flags=flags,
                 program=program) as session:
        return session.run(
            command, check=check, cwd=cwd, env=env, timeout=timeout, input=input, files=files,
            network=network, merge=merge, description=description, output_kb=output_kb,
            file_kb=file_kb, approval=approval, timeout_ms=timeout_ms, stdin=stdin)
