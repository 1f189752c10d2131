# SPDX-License-Identifier: Apache-2.0
"""Who waits for which event of a session: answers by number, notifications by task. Shared by the
blocking session, where a thread reads, and the asyncio one, where the loop does."""

from __future__ import annotations

import concurrent.futures
import os
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional

from ._errors import SbxError, SessionEnded, error_of
from ._library import Handle

Answer = Callable[[Any, Optional[SbxError]], None]
Notify = Callable[[Optional[Mapping[str, Any]]], None]  # None: the session has ended


class Core:
    """Every use of the handle is under one lock, so that closing never meets a call in progress.
    A fork may have copied the lock while another thread held it: there nobody waits for it."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._handle: Optional[Handle] = Handle(options)
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._answers: Dict[int, Answer] = {}
        self._watchers: Dict[str, List[Notify]] = {}
        self.fd = self._handle.fileno()
        self.token = self._handle.token()

    @property
    def is_mine(self) -> bool:
        """False in a fork of the process that opened it."""
        return self._owner == os.getpid()

    def check_mine(self) -> None:
        if not self.is_mine:
            raise SessionEnded("session_failed", "the session belongs to the process that forked",
                               "", "open another in this one")

    def submit(self, method: str, params: Mapping[str, Any], answer: Answer) -> int:
        """`answer` is called once, by whoever reads. Where this raises, nothing was asked."""
        self.check_mine()
        with self._lock:
            if self._handle is None:
                raise SessionEnded("session_failed", "the session is closed")
            number = self._handle.submit(method, params)
            self._answers[number] = answer
            return number

    def cancel(self, number: int) -> None:
        """Of no effect on what has been answered, or a session that is gone."""
        if not self.is_mine:
            return
        with self._lock:
            if self._handle is None or number not in self._answers:
                return
            try:
                self._handle.cancel(number)
            except SbxError:
                pass

    def let_go(self, method: str, value: Any) -> None:
        """The answer to a call that nobody waits for any more: what it started is ended."""
        if method == "start" and "task_id" in value:
            try:
                self.submit("kill", {"task_id": value["task_id"]}, lambda *_: None)
            except SbxError:
                pass  # it ends with its session

    def watch(self, task_id: str, notify: Notify) -> None:
        self.check_mine()
        with self._lock:
            self._watchers.setdefault(task_id, []).append(notify)

    def unwatch(self, task_id: str, notify: Notify) -> None:
        if not self.is_mine:
            return
        with self._lock:
            watchers = self._watchers.get(task_id, [])
            if notify in watchers:
                watchers.remove(notify)
            if not watchers:
                self._watchers.pop(task_id, None)

    def take(self) -> bool:
        """Hands on every event that has come. False: the session has ended, and everyone was told."""
        self.check_mine()
        while True:
            with self._lock:
                if self._handle is None:
                    return False
                try:
                    event = self._handle.next()
                except SbxError as error:
                    ended: Optional[SbxError] = error
                    break
                if event is None:
                    return True
                if "method" in event:
                    task = str(event["params"].get("task_id"))
                    notified = list(self._watchers.get(task, ()))
                    answer = None
                else:
                    notified = []
                    answer = self._answers.pop(event["id"], None)
            if answer is not None:
                failed = event.get("error")
                answer(event.get("result"), error_of(failed) if failed is not None else None)
            for notify in notified:
                notify(event)
        self._tell_all(ended)
        return False

    def _tell_all(self, error: Optional[SbxError]) -> None:
        with self._lock:
            answers, self._answers = self._answers, {}
            watchers, self._watchers = self._watchers, {}
        for answer in answers.values():
            answer(None, error or SessionEnded("session_failed", "the session was closed"))
        for group in watchers.values():
            for notify in group:
                notify(None)

    def close(self) -> None:
        """Blocks until nothing of the session is left. In a fork: lets its copies go."""
        if not self.is_mine:
            self._lock = threading.Lock()
        with self._lock:
            handle, self._handle = self._handle, None
        if handle is not None:
            handle.close()
            if self.is_mine:
                self._tell_all(None)


def let_go(opening: "concurrent.futures.Future[Core]") -> None:
    """What becomes of a core that nobody waits for any more."""
    if opening.exception() is None:
        opening.result().close()
