// SPDX-License-Identifier: Apache-2.0
// An agent's loop with the bash tool: a model asks for commands until it has an answer. The model
// here is scripted; replace `ask` by a call of yours.
import { Session, bashTool } from 'sbx';

const turns = [
  { command: "echo 'print(6 * 7)' > a.py && python3 a.py", description: 'Try it' },
  { command: 'sudo rm -rf /', description: 'Misbehave' },
];

function ask(messages, tools) {
  const done = messages.filter((message) => message.role === 'tool').length;
  if (done < turns.length) return { id: `call-${done}`, name: tools[0].name, input: turns[done] };
  return `The program printed ${messages[2].content.trim()}.`;
}

async function loop(task, mostTurns = 20) {
  const session = await Session.open({ profile: 'tool-bash' });
  try {
    const bash = await bashTool(session);
    const messages = [{ role: 'user', content: task }];
    for (let turn = 0; turn < mostTurns; ++turn) {
      const reply = ask(messages, [bash.definition]);
      if (typeof reply === 'string') return reply;
      const answer = await bash.handle(reply.input);
      console.log(`$ ${reply.input.command}\n${answer.isError ? 'refused: ' : ''}${answer.text}`);
      messages.push({ role: 'assistant', toolUse: reply });
      messages.push({ role: 'tool', id: reply.id, content: answer.text, isError: answer.isError });
    }
    throw new Error(`no answer in ${mostTurns} turns`);
  } finally {
    await session.close();
  }
}

console.log(await loop('What is six times seven?'));
