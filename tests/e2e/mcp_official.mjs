// SPDX-License-Identifier: Apache-2.0
// Drives `sbx-run mcp` by the protocol's own npm client: mcp_official.mjs DIRECTORY SBX_RUN, where
// DIRECTORY holds node_modules and SBX_MCP_PACKAGE names the package. Prints what it saw as JSON.
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [directory, sbxRun] = process.argv.slice(2);
const name = process.env.SBX_MCP_PACKAGE;
const resolver = createRequire(join(directory, "package.json"));
const load = (specifier) => import(pathToFileURL(resolver.resolve(specifier)).href);

const isLegacy = name === "@modelcontextprotocol/sdk";
const { Client } = await load(isLegacy ? `${name}/client/index.js` : name);
const { StdioClientTransport } = await load(`${name}${isLegacy ? "/client/stdio.js" : "/stdio"}`);

const elicited = [];
const client = new Client(
  { name: "official", version: "1" },
  {
    capabilities: { elicitation: { form: {} } },
    ...(isLegacy ? {} : { versionNegotiation: { mode: { pin: "2026-07-28" } } }),
  },
);
const answer = async (request) => {
  elicited.push(request.params.message);
  return { action: "accept", content: {} };
};
if (isLegacy) {
  const { ElicitRequestSchema } = await load(`${name}/types.js`);
  client.setRequestHandler(ElicitRequestSchema, answer);
} else {
  client.setRequestHandler("elicitation/create", answer);
}
await client.connect(
  new StdioClientTransport({ command: sbxRun, args: ["mcp"], stderr: "inherit" }),
);

// The clients check structuredContent against the output schema.
const call = (tool, args, options) =>
  isLegacy
    ? client.callTool({ name: tool, arguments: args }, undefined, options)
    : client.callTool({ name: tool, arguments: args }, options);
const bash = (command, options) => call("bash", { command, description: "d" }, options);

const report = { tools: (await client.listTools()).tools.map((tool) => tool.name) };
report.hello = (await bash("echo hi")).content[0].text;
const failing = await bash("exit 3");
report.failing = {
  isError: failing.isError ?? false,
  exit_code: failing.structuredContent.exit_code,
};
report.progress = 0;
await bash("echo one; sleep 0.4; echo two; sleep 0.4", { onprogress: () => (report.progress += 1) });

const abort = new AbortController();
const pending = bash("sleep 60", { signal: abort.signal, onprogress: () => {} });
setTimeout(() => abort.abort(), 300);
report.cancelled = await pending.then(
  () => false,
  () => true,
);

const started = await call("shell", { command: "cat", run_in_background: true });
const task = started.structuredContent.task_id;
report.killed = (await call("shell", { task_id: task, kill: true })).structuredContent.is_running;

const asks = await call("code_execution", { command: "rm -rf /data/work/old" });
report.approved = { elicited: elicited.length, exit_code: asks.structuredContent.exit_code };
report.version = isLegacy ? "" : client.getNegotiatedProtocolVersion();
await client.close();
console.log(JSON.stringify(report));
