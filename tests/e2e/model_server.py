# SPDX-License-Identifier: Apache-2.0
"""A model server on the loopback, in the form that OpenAI's chat completions have: it asks for one shell
command, and then says what came of it."""

import http.server
import json
import threading


class ModelServer(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, command, tool=None):  # None: the agent's own tool for commands
        super().__init__(("127.0.0.1", 0), Handler)
        self.command = command
        self.tool = tool
        self.requests = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def port(self):
        return self.server_address[1]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer("application/json", json.dumps({"object": "list", "data": [{"id": "m", "object": "model"}]}))

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(request)
        names = [tool["function"]["name"] for tool in request.get("tools", [])]
        shell = self.server.tool or next((name for name in names if name in ("bash", "shell", "run_shell_command")), None)
        results = [message for message in request["messages"] if message["role"] == "tool"]
        if shell is None or results:
            said = json.dumps(results[-1]["content"]) if results else "no tool"
            delta, why = {"role": "assistant", "content": "the-model-heard " + said}, "stop"
        else:
            more = {} if self.server.tool else {"description": "try it", "is_background": False}
            call = {"index": 0, "id": "call_1", "type": "function",
                    "function": {"name": shell, "arguments": json.dumps({"command": self.server.command, **more})}}
            delta, why = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
        head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        if not request.get("stream"):
            delta.get("tool_calls", [{}])[0].pop("index", None)
            choice = {"index": 0, "message": delta, "finish_reason": why}
            return self.answer("application/json", json.dumps({**head, "object": "chat.completion", "choices": [choice], "usage": usage}))
        chunks = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
                  {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": why}]},
                  {**head, "choices": [], "usage": usage}]
        lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + ["data: [DONE]\n\n"]
        return self.answer("text/event-stream", "".join(lines))

    def answer(self, kind, text):
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
