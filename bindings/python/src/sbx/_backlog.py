# SPDX-License-Identifier: Apache-2.0
"""What has come for a reader that may be slow. Bounded: the oldest output goes first, and the chunk
that comes next counts it in `dropped`."""

from __future__ import annotations

import collections
import threading
from typing import Any, Deque, Dict, Mapping, Optional, Tuple

MOST_TEXT = 4 << 20  # characters that may wait

Event = Optional[Mapping[str, Any]]  # None: the session has ended


class Backlog:
    def __init__(self, most: int = MOST_TEXT) -> None:
        self._most = most
        self._events: Deque[Event] = collections.deque()
        self._waiting = 0  # characters
        self._lost = 0  # bytes
        self._changed = threading.Condition()

    def put(self, event: Event) -> None:
        with self._changed:
            self._events.append(event)
            self._waiting += _size(event)
            while self._waiting > self._most and len(self._events) > 1:
                oldest = self._events.popleft()
                self._waiting -= _size(oldest)
                params = (oldest or {}).get("params", {})
                self._lost += params.get("dropped", 0) + params.get("next", 0) - params.get("offset", 0)
            self._changed.notify()

    def poll(self) -> Tuple[bool, Event]:
        """Whether there was one, and which."""
        with self._changed:
            return self._take()

    def get(self) -> Event:
        """Waits for one."""
        with self._changed:
            while not self._events:
                self._changed.wait()
            return self._take()[1]

    def _take(self) -> Tuple[bool, Event]:
        if not self._events:
            return False, None
        event = self._events.popleft()
        self._waiting -= _size(event)
        if event is None or not self._lost or "text" not in event["params"]:
            return True, event
        params: Dict[str, Any] = dict(event["params"])
        params["dropped"] = params.get("dropped", 0) + self._lost
        self._lost = 0
        return True, {**event, "params": params}


def _size(event: Event) -> int:
    return len((event or {}).get("params", {}).get("text", ""))
