# SPDX-License-Identifier: Apache-2.0
"""A scripted MCP client over `sbx-run mcp`: sends what it is told, collects what comes, and keeps
no rule of the protocol by itself, so that tests can break them."""

import json
import queue
import subprocess
import threading
import time
from typing import Any, Optional

from harness import BOUND, SBX_RUN

MODERN = "2026-07-28"
Json = dict[str, Any]


def meta(capabilities: Optional[Json] = None, version: str = MODERN, **more: Any) -> Json:
    """The _meta of a request of revision 2026-07-28."""
    return {"io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": capabilities or {},
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"}, **more}


class Client:
    def __init__(self, *flags: str, cwd: str, env: Optional[dict[str, str]] = None) -> None:
        self.process = subprocess.Popen([SBX_RUN, "mcp", *flags], cwd=cwd, env=env,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.lines: queue.Queue[Optional[bytes]] = queue.Queue()
        self.seen: list[Json] = []  # in the order of arrival
        self.taken: set[int] = set()
        self.next_id = 1
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def send_line(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def send(self, message: Json) -> None:
        self.send_line(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def wait(self, wanted: Any) -> Json:
        """The first message, not given before, for which wanted(message) holds."""
        end = time.monotonic() + BOUND
        at = 0
        while True:
            while at < len(self.seen):
                if at not in self.taken and wanted(self.seen[at]):
                    self.taken.add(at)
                    return self.seen[at]
                at += 1
            line = self.lines.get(timeout=max(0.001, end - time.monotonic()))
            if line is None:
                raise EOFError(f"the server left; seen {self.seen}")
            self.seen.append(json.loads(line))

    def start(self, method: str, params: Optional[Json] = None) -> int:
        id_ = self.next_id
        self.next_id += 1
        self.send({"id": id_, "method": method, **({} if params is None else {"params": params})})
        return id_

    def answer(self, id_: Any) -> Json:
        return self.wait(lambda m: "method" not in m and m.get("id") == id_)

    def ask(self, method: str, params: Optional[Json] = None) -> Json:
        return self.answer(self.start(method, params))

    def initialize(self, capabilities: Optional[Json] = None, version: str = "2025-11-25") -> Json:
        answer = self.ask("initialize", {"protocolVersion": version,
                                         "capabilities": capabilities or {},
                                         "clientInfo": {"name": "test", "version": "1"}})
        self.send({"method": "notifications/initialized"})
        return answer

    def tool(self, name: str, arguments: Json, **more: Any) -> Json:
        """The result of tools/call over an opened connection."""
        return self.ask("tools/call", {"name": name, "arguments": arguments, **more})["result"]

    def modern(self, name: str, arguments: Json, capabilities: Optional[Json] = None,
               **more: Any) -> Json:
        """The result of tools/call of revision 2026-07-28."""
        return self.ask("tools/call", {"name": name, "arguments": arguments,
                                       "_meta": meta(capabilities), **more})["result"]

    def close(self) -> int:
        """Ends the server's stdin, as clients do; its exit status."""
        assert self.process.stdin is not None and self.process.stderr is not None
        assert self.process.stdout is not None
        if not self.process.stdin.closed:
            self.process.stdin.close()
        status = self.process.wait(timeout=BOUND)
        self.reader.join(timeout=BOUND)
        self.process.stdout.close()
        self.process.stderr.close()
        return status
