# SPDX-License-Identifier: Apache-2.0
"""A concurrent.futures.Executor whose work is commands in sandboxes of one session. Commands take
no thread each: the session's own thread hands their answers on, and one of the executor's calls
what was to be called when they are done."""

from __future__ import annotations

import concurrent.futures.thread
import logging
import os
import queue
import threading
import time
import weakref
from collections import deque
from typing import Any, Callable, Deque, Dict, Iterator, Optional

from . import _result
from ._errors import SbxError, SessionEnded, error_of
from ._request import command_params
from ._session import Session

# The command's own: there was nothing to be run. Every other error is ours.
_COMMANDS_OWN = {"not_found", "not_executable"}


def _not_asked_yet() -> None:
    pass


class CommandFuture(concurrent.futures.Future):  # type: ignore[type-arg]
    """A future whose cancel() also ends a command that runs: it is then cancelled()."""

    def __init__(self, call_later: Callable[[Callable[[], None]], None]) -> None:
        super().__init__()
        self._end: Optional[Callable[[], None]] = None  # of a command, until it has ended
        self._call_later = call_later

    def cancel(self) -> bool:
        if super().cancel():
            return True
        if self._end is None:
            return False
        own: Any = self  # the parts of a Future that its own cancel() works on
        with own._condition:
            if own._state != "RUNNING":
                return False
            own._state = "CANCELLED"
            own._condition.notify_all()
        end = self._end  # only now: whoever asks sets it, and looks at the state after that
        if end is not None:
            end()
        self.set_running_or_notify_cancel()  # tells who waits
        own._invoke_callbacks()
        return True

    def _invoke_callbacks(self) -> None:
        """Of Future's, once it is done: not in the thread that reads for all, since they may wait."""
        base: Any = super()
        if self.cancelled():
            base._invoke_callbacks()
        else:
            self._call_later(base._invoke_callbacks)

    def settle(self, value: Any, error: Optional[BaseException]) -> None:
        """Of no effect on one that was cancelled."""
        try:
            if error is None:
                self.set_result(value)
            else:
                self.set_exception(error)
        except concurrent.futures.InvalidStateError:
            pass


class _Caller:
    """Calls what it is given, in order, in a thread that knows nothing of the executor."""

    def __init__(self) -> None:
        calls: "queue.SimpleQueue[Optional[Callable[[], None]]]" = queue.SimpleQueue()
        self.call = calls.put
        self._end = weakref.finalize(self, calls.put, None)
        self._thread = threading.Thread(target=_call_all, args=(calls,), name="sbx-callbacks",
                                        daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Waits until all was called, but for who is called itself."""
        self._end()
        if self._thread is not threading.current_thread():
            self._thread.join()


def _call_all(calls: "queue.SimpleQueue[Optional[Callable[[], None]]]") -> None:
    for call in iter(calls.get, None):
        try:
            call()
        except BaseException:  # such as SystemExit, which is nobody's here; a Future catches the rest
            logging.getLogger("concurrent.futures").critical("a callback ended by", exc_info=True)


class _Work:
    def __init__(self, future: CommandFuture, begin: "Callable[[CommandFuture], None]") -> None:
        self.future, self.begin = future, begin


class Executor(concurrent.futures.Executor):
    """Executor(max_workers=None, **session_options): at most `max_workers` commands at a time
    (default: one a processor), in a session that is opened by the first of them. The options are
    Session's.

    submit("make test", timeout=60) gives a future of a Result: what becomes of the command is a
    result; an error of ours (a bad request, a sandbox that cannot be made, a session that has
    ended) is its exception. A function is called in a thread of this process, as a
    ThreadPoolExecutor does, in no sandbox. Can be pickled: the copy opens a session of its own.
    """

    def __init__(self, max_workers: Optional[int] = None, **session_options: Any) -> None:
        if max_workers is not None and max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        self._max_workers = max_workers or len(os.sched_getaffinity(0))
        # What is relative is so to the directory of now, whenever a session is opened.
        self._options = {name: os.path.abspath(value) if name in ("workspace", "template") and
                         value and isinstance(value, (str, os.PathLike)) else value
                         for name, value in session_options.items()}
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._owner = os.getpid()
        self._lock = threading.Condition()
        self._queue: Deque[_Work] = deque()
        self._running = 0
        self._session: Optional[Session] = None
        self._threads: Optional[concurrent.futures.ThreadPoolExecutor] = None
        self._caller: Optional[_Caller] = None
        self._is_shut = False
        _executors.add(self)

    def __getstate__(self) -> Dict[str, Any]:
        return {"max_workers": self._max_workers, "options": self._options}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self._max_workers = state["max_workers"]
        self._options = state["options"]
        self._begin_anew()

    # --- what concurrent.futures asks for

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> CommandFuture:
        """A command (a str or a list) with the keywords of Session.run(), or a function."""
        if callable(fn):
            begin = self._beginning_of_call(fn, args, kwargs)
        elif args:
            raise TypeError("a command takes no arguments but keywords: give a list")
        else:
            begin = self._beginning_of_command(command_params(fn, **kwargs))
        if self._owner != os.getpid():
            self._begin_anew()  # in a fork nothing of the parent's can be used
        with self._lock:
            if self._is_shut:
                raise RuntimeError("cannot schedule new futures after shutdown")
            if self._caller is None:
                self._caller = _Caller()
            future = CommandFuture(self._caller.call)
            if not callable(fn):
                future._end = _not_asked_yet
            self._queue.append(_Work(future, begin))
        self._begin_some()
        return future

    def map(self, fn: Any, *iterables: Any, timeout: Optional[float] = None,
            chunksize: int = 1, **request: Any) -> Iterator[Any]:
        """map(commands, timeout=None): their results in order. map(function, …): as
        concurrent.futures has it."""
        if callable(fn):
            return super().map(fn, *iterables, timeout=timeout, chunksize=chunksize)
        if len(iterables) == 1 and timeout is None and (
                iterables[0] is None or isinstance(iterables[0], (int, float))):
            (timeout,), iterables = iterables, ()
        if isinstance(fn, str) or iterables:
            raise TypeError("map takes one iterable of commands, or a function and its arguments")
        return _results([self.submit(command, **request) for command in fn], timeout)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """As concurrent.futures has it: no more is taken; with `wait`, returns when what was
        submitted and its callbacks are done and the session is closed. With `cancel_futures`, what
        has not begun is cancelled. Of no effect in a fork."""
        if self._owner != os.getpid():
            return
        with self._lock:
            self._is_shut = True
            dropped = list(self._queue) if cancel_futures else []
            if cancel_futures:
                self._queue.clear()
        for work in dropped:
            if work.future.cancel():
                work.future.set_running_or_notify_cancel()
        if not wait:
            threading.Thread(target=self._close, name="sbx-shutdown").start()
            return
        self._close()

    # --- how it goes on

    def _close(self) -> None:
        with self._lock:
            self._lock.wait_for(lambda: self._running == 0 and not self._queue)
            session, self._session = self._session, None
            threads, self._threads = self._threads, None
            caller, self._caller = self._caller, None
        if session is not None:
            session.close()
        if threads is not None:
            threads.shutdown()
        if caller is not None:
            caller.finish()

    def _begin_some(self) -> None:
        while True:
            with self._lock:
                if self._running >= self._max_workers or not self._queue:
                    return
                work = self._queue.popleft()
                self._running += 1
            if not work.future.set_running_or_notify_cancel():
                self._one_has_ended()
                continue
            try:
                work.begin(work.future)
            except BaseException as error:
                work.future.settle(None, error)
                self._one_has_ended()

    def _one_has_ended(self) -> None:
        with self._lock:
            self._running -= 1
            self._lock.notify_all()

    def _open_session(self) -> Session:
        with self._lock:
            if self._session is None:
                self._session = Session(**self._options)
            return self._session

    def _forget(self, session: Session) -> None:
        """It has ended: the next command opens another."""
        with self._lock:
            if self._session is session:
                self._session = None

    def _beginning_of_command(self, params: Dict[str, Any]) -> Callable[[CommandFuture], None]:
        def begin(future: CommandFuture) -> None:
            session = self._open_session()
            try:
                ask(future, session)
            except SessionEnded:  # while nobody asked it for anything
                self._forget(session)
                ask(future, self._open_session())

        def ask(future: CommandFuture, session: Session) -> None:
            def answer(value: Any, error: Optional[SbxError]) -> None:
                future._end = None
                if isinstance(error, SessionEnded):
                    self._forget(session)
                if error is None and value["status"] == "error" and (
                        value["error"]["code"] not in _COMMANDS_OWN):
                    error = error_of(value["error"])
                future.settle(None if error else _result.result(value), error)
                self._one_has_ended()
                self._begin_some()

            if future.cancelled():
                self._one_has_ended()
                return
            core = session._core
            number = core.submit("run", params, answer)
            future._end = lambda: core.cancel(number)
            if future.cancelled():
                core.cancel(number)
            if future.done():
                future._end = None

        return begin

    def _beginning_of_call(self, fn: Callable[..., Any], args: Any,
                           kwargs: Any) -> Callable[[CommandFuture], None]:
        def begin(future: CommandFuture) -> None:
            with self._lock:
                if self._threads is None:
                    self._threads = concurrent.futures.ThreadPoolExecutor(self._max_workers)
                threads = self._threads

            def call() -> None:
                value: Any = None
                failure: Optional[BaseException] = None
                try:
                    value = fn(*args, **kwargs)
                except BaseException as error:  # it is the future's
                    failure = error
                future.settle(value, failure)
                self._one_has_ended()
                self._begin_some()

            threads.submit(call)

        return begin


# As concurrent.futures has it, what was submitted is done before the interpreter ends: asked for
# after its own, so that this comes first.
_executors: "weakref.WeakSet[Executor]" = weakref.WeakSet()


def _finish_all() -> None:
    for executor in list(_executors):
        executor.shutdown()


_at_exit = getattr(threading, "_register_atexit", None)
if _at_exit is not None:
    _at_exit(_finish_all)


def _results(futures: "list[CommandFuture]", timeout: Optional[float]) -> Iterator[Any]:
    end = None if timeout is None else timeout + time.monotonic()

    def results() -> Iterator[Any]:
        try:
            for future in futures:
                yield future.result(None if end is None else end - time.monotonic())
        finally:
            for future in futures:
                future.cancel()

    return results()
