# SPDX-License-Identifier: Apache-2.0
"""An agent's loop with the bash tool: a model asks for commands until it has an answer. The model
here is scripted; replace `ScriptedModel.ask` by a call of yours."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Union

import sbx


@dataclass
class ToolUse:
    id: str
    name: str
    input: Dict[str, Any]


@dataclass
class ScriptedModel:
    """Writes a program, runs it, is refused sudo, and reports what it saw."""
    turns: List[Dict[str, str]] = field(default_factory=lambda: [
        {"command": "echo 'print(6 * 7)' > a.py && python3 a.py", "description": "Try it"},
        {"command": "sudo rm -rf /", "description": "Misbehave"},
    ])

    def ask(self, messages: List[Dict[str, Any]], tools: List[Dict[str, Any]],
            ) -> Union[ToolUse, str]:
        done = sum(message["role"] == "tool" for message in messages)
        if done < len(self.turns):
            return ToolUse(f"call-{done}", tools[0]["name"], self.turns[done])
        return f"The program printed {messages[2]['content'].strip()}."


def loop(model: ScriptedModel, task: str, most_turns: int = 20) -> str:
    with sbx.Session(profile="tool-bash") as session:
        bash = sbx.tools.bash_tool(session)
        messages: List[Dict[str, Any]] = [{"role": "user", "content": task}]
        for _ in range(most_turns):
            reply = model.ask(messages, [bash.definition])
            if isinstance(reply, str):
                return reply
            answer = bash.handle(reply.input)
            print(f"$ {reply.input['command']}\n{'refused: ' if answer.is_error else ''}{answer.text}")
            messages.append({"role": "assistant", "tool_use": reply})
            messages.append({"role": "tool", "id": reply.id, "content": answer.text,
                             "is_error": answer.is_error})
    raise RuntimeError(f"no answer in {most_turns} turns")


if __name__ == "__main__":
    print(loop(ScriptedModel(), "What is six times seven?"))
