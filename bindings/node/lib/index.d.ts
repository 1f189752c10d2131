// SPDX-License-Identifier: Apache-2.0
export interface OpenOptions {
  /** Name or file of the operator's profile. */
  profile?: string;
  /** Presets over it, such as 'node' or ['git', 'python'] (`sbx-run profile list`). */
  with?: string | string[];
  /** A directory; absent: one that the session makes and removes. */
  workspace?: string;
  /** In place of workspace: each command works in this directory through a layer of its own,
   *  which is thrown away at its end. */
  template?: string;
  /** With template: the layers stay, under the name that each result's `layer` has. */
  keep_layers?: boolean;
  /** Further options of `sbx-run serve`, such as ['--ro', '/data']. */
  flags?: string[];
  /** The sbx-run to start in place of the one that came with this package. */
  program?: string;
  /** How long sbx-run may take to come up (30000), in milliseconds; `session_failed` after it. */
  server_timeout_ms?: number;
  /** Absent: koffi where it is installed, else, and in a worker, a child process. */
  transport?: 'koffi' | 'child';
}

export interface CommandOptions {
  cwd?: string;
  env?: Record<string, string>;
  /** Milliseconds. */
  timeout?: number;
  input?: string;
  files?: Record<string, string | ArrayBufferView | ArrayBuffer>;
  network?: boolean;
  merge?: boolean;
  description?: string;
  outputKb?: number;
  fileKb?: number;
  approval?: string;
  /** Ends the command; the promise is rejected with the signal's reason. */
  signal?: AbortSignal;
}

export interface RunOptions extends CommandOptions {
  /** Reject with CommandFailed unless it exited with 0. */
  check?: boolean;
  /** In the session's one shell, where what earlier commands set is there (docs/terminals.md). */
  shell?: 'kept';
}

export interface ErrorData { code: string; message: string; where: string | null; hint: string | null }

/** docs/result.md */
export interface Result {
  status: 'exited' | 'signaled' | 'timed_out' | 'limit' | 'cancelled' | 'killed' | 'running'
    | 'denied' | 'needs_approval' | 'error';
  exit_code: number | null;
  signal: string | null;
  timed_out: boolean;
  stdout: string;
  stderr: string;
  stdout_bytes: number;
  stderr_bytes: number;
  truncated: { stdout: boolean; stderr: boolean };
  encoding: { stdout: 'utf-8' | 'base64'; stderr: 'utf-8' | 'base64' };
  output_path: string | null;
  result_json: unknown;
  command: string;
  argv: string[];
  cwd: string;
  description: string | null;
  started_at: string;
  duration_ms: number;
  usage: { user_ms: number; system_ms: number; max_rss_kb: number };
  limit: string | null;
  denials: Array<{ layer: string; operation: string; target: string; count: number; program: string;
    grant: string }>;
  redactions: { count: number; rules: string[] };
  /** Only where there are some. */
  connections?: Array<Record<string, unknown>>;
  unlisted_connections?: number;
  unlisted_requests?: number;
  /** Only of a call in the kept shell. */
  shell?: { kept: boolean; restarted: boolean; reason: string | null };
  sandbox: { profile: string; layers: Record<string, boolean | number>;
    limits: Record<string, string>; degraded: Array<{ what: string; reason: string }>;
    [more: string]: unknown };
  warnings: string[];
  layer: { name: string; kind: 'overlay' | 'copy' } | null;
  changes: Array<{ path: string; kind: string }> | null;
  approval: { digest: string; rules: unknown[] } | null;
  error: ErrorData | null;
}

export interface LayerChange { path: string; kind: 'created' | 'modified' | 'deleted' | 'replaced' }

export interface Layer {
  /** A patch for git apply and patch -p1. */
  diff(...paths: string[]): Promise<string>;
  changes(...paths: string[]): Promise<LayerChange[]>;
  /** Its label. */
  checkpoint(label?: string): Promise<string>;
  rollback(label: string): Promise<unknown>;
  branch(name: string): Promise<unknown>;
  commit(...paths: string[]): Promise<LayerChange[]>;
  undo(): Promise<LayerChange[]>;
  discard(...paths: string[]): Promise<unknown>;
}

export interface TaskStatus {
  task_id: string;
  pid: number;
  status: Result['status'];
  exit_code: number | null;
  signal: string | null;
  is_running: boolean;
  uptime_seconds: number;
  stdout?: string;
  stderr?: string;
  [more: string]: unknown;
}

export interface Output {
  stdout: string;
  stderr: string;
  next: number;
  dropped: number;
  is_running: boolean;
  exit_code: number | null;
}

export interface Chunk { stream: 'stdout' | 'stderr'; text: string; offset: number; dropped: number }

export class SbxError extends Error {
  /** One of `sbx-run schema errors`. */
  code: string;
  where: string;
  hint: string;
}

export class CommandFailed extends SbxError { result: Result }

export class Session {
  private constructor(transport: unknown);
  static open(options?: OpenOptions): Promise<Session>;
  run(command: string | string[], options?: RunOptions): Promise<Result>;
  start(command: string | string[], options?: CommandOptions): Promise<Task>;
  task(id: string): Promise<Task>;
  list(): Promise<TaskStatus[]>;
  /** Ends every task, SIGKILL after `grace` milliseconds (2000), and forgets it. */
  reset(options?: { grace?: number }): Promise<{ workspace_cleared: boolean }>;
  check(command: string | string[]): Promise<Record<string, unknown>>;
  explain(command: string | string[]): Promise<Record<string, unknown>>;
  tool(name: string, params: object): Promise<Record<string, unknown>>;
  /** The operator's: not for a model. */
  approve(digest: string): Promise<void>;
  /** Of a session with flags: ['--layer', NAME]; docs/layers.md. commit, undo and discard are the operator's. */
  readonly layer: Layer;
  /** The layers of the workspace. */
  layers(): Promise<Array<{ name: string; size: number; files: number; runs: number; age_s: number;
    kind: 'overlay' | 'copy' | 'damaged' }>>;
  /** Any method of docs/sessions.md. */
  call(method: string, params?: object, options?: { signal?: AbortSignal }): Promise<any>;
  /** Ends every task and waits for it. Also Symbol.asyncDispose. */
  close(): Promise<void>;
}

export class Task implements AsyncIterable<Chunk> {
  private constructor(session: Session, answer: object);
  readonly id: string;
  readonly pid: number;
  status(): Promise<TaskStatus>;
  output(since?: number): Promise<Output>;
  stdin(text?: string, options?: { close?: boolean }): Promise<void>;
  /** Its status at its end, or after `timeout` milliseconds; absent: however long it takes. */
  wait(options?: { timeout?: number; signal?: AbortSignal }): Promise<TaskStatus>;
  /** SIGTERM, SIGKILL after `grace` milliseconds (2000), until nothing is left. */
  kill(options?: { grace?: number }): Promise<TaskStatus>;
  /**
   * What there is, then what comes, until the task ends; with `match`, lines that match. While nobody
   * reads, 4 MiB wait; beyond, the oldest go, and `dropped` of the next chunk counts them.
   */
  stream(options?: { match?: string; since?: number; signal?: AbortSignal }): AsyncGenerator<Chunk>;
  [Symbol.asyncIterator](): AsyncGenerator<Chunk>;
}

/** Many commands, at most `size` at a time (default: one a processor), in one session. */
export class Pool {
  private constructor(session: Session, options: OpenOptions, size: number);
  readonly size: number;
  run(command: string | string[], options?: RunOptions): Promise<Result>;
  /** Results in the order of the commands; rejects with the first error of ours, and then
   *  begins no more. A command's failure is a result. */
  map(commands: Iterable<string | string[]> | AsyncIterable<string | string[]>,
    options?: RunOptions): Promise<Result[]>;
  /** Ends what runs, rejects what waits. Also Symbol.asyncDispose. */
  close(): Promise<void>;
}
export function createPool(options?: OpenOptions & { size?: number }): Promise<Pool>;

export function run(command: string | string[], options?: OpenOptions & RunOptions): Promise<Result>;

export interface ToolOptions { style?: 'anthropic' | 'openai' | 'mcp'; program?: string }
export interface Tool {
  name: string;
  definition: Record<string, unknown>;
  handle(params: object): Promise<{ text: string; isError: boolean }>;
}
export function toolDefinition(name: string, options?: ToolOptions): Promise<Record<string, unknown>>;
export function tool(session: Session, name: string, options?: ToolOptions): Promise<Tool>;
export function bashTool(session: Session, options?: ToolOptions): Promise<Tool>;
