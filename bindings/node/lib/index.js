// SPDX-License-Identifier: Apache-2.0
// run(), Session and Task over either transport (transport.js). Types: index.d.ts.
'use strict';

const { execFile } = require('node:child_process');
const events = require('node:events');
const os = require('node:os');
const path = require('node:path');
const { SbxError, CommandFailed, errorOf } = require('./errors.js');
const {
  OPENING, COMMAND, RUN, known, checkText, milliseconds, commandParams, encode, openOptions,
} = require('./request.js');
const { openTransport, program, notExecuted } = require('./transport.js');

function throwIfAborted(signal) {
  if (signal == null) return;
  if (typeof signal.throwIfAborted !== 'function' || typeof signal.addEventListener !== 'function') {
    throw new TypeError(`signal is an AbortSignal, not ${JSON.stringify(signal)}`);
  }
  signal.throwIfAborted();
}

// Calls `abort` when the signal is; gives what takes that back. Many that wait for one are no leak.
function onAbort(signal, abort) {
  if (signal == null) return () => {};
  try {
    events.setMaxListeners(0, signal);
  } catch { /* not one of Node's own, which warns of none */ }
  signal.addEventListener('abort', abort, { once: true });
  return () => signal.removeEventListener('abort', abort);
}

// Whether a task's events end with it.
function isLast(event) { return event.method !== 'task.output' && event.method !== 'task.match'; }

class Session {
  #transport;
  #answers = new Map();
  #watchers = new Map();
  #closed;

  static async open(options = {}) {
    return new Session(await openTransport(openOptions(options)));
  }

  constructor(transport) {
    this.#transport = transport;
    transport.onEvent = (event) => this.#take(event);
    transport.onEnd = () => this.#end();
    transport.hold(false);
  }

  #take(event) {
    if (event.method !== undefined) {
      const id = event.params.task_id;
      for (const notify of this.#watchers.get(id) ?? []) notify(event);
      if (isLast(event)) { // nothing more comes, also for who has left off reading
        this.#watchers.delete(id);
        this.#hold();
      }
      return;
    }
    // null: what was asked could not be read, so it may be any of those that wait.
    for (const id of event.id === null ? [...this.#answers.keys()] : [event.id]) {
      const answer = this.#answers.get(id);
      this.#answers.delete(id);
      if (event.error !== undefined) answer?.reject(errorOf(event.error));
      else answer?.resolve(event.result);
    }
    this.#hold();
  }

  #hold() { this.#transport.hold(this.#answers.size > 0 || this.#watchers.size > 0); }

  #end() {
    this.#closed ??= Promise.resolve();
    this.#fail();
  }

  #fail() {
    const gone = new SbxError('session_failed', 'the session has ended', '', 'open another');
    for (const answer of this.#answers.values()) answer.reject(gone);
    for (const group of this.#watchers.values()) for (const notify of group) notify(null);
    this.#answers.clear();
    this.#watchers.clear();
  }

  #submit(method, text) {
    try {
      return this.#transport.submit(method, text);
    } catch (error) {
      if (error.code === 'session_failed') this.#end();
      throw error;
    }
  }

  call(method, params = {}, { signal } = {}) {
    return new Promise((resolve, reject) => {
      throwIfAborted(signal);
      if (this.#closed) throw new SbxError('session_failed', 'the session is closed', '', 'open another');
      const id = this.#submit(method, encode(method, params));
      let isGone = false;
      const abort = () => {
        if (!this.#answers.has(id)) return;
        isGone = true;
        this.#transport.cancel(id);
        reject(signal.reason);
      };
      const done = (settle) => (value) => {
        stay();
        settle(value);
        // What was started all the same has nobody who could end it.
        if (isGone && method === 'start' && value?.task_id) {
          this.call('kill', { task_id: value.task_id }).catch(() => {});
        }
      };
      this.#answers.set(id, { resolve: done(resolve), reject: done(reject) });
      const stay = onAbort(signal, abort);
      this.#hold();
    });
  }

  async run(command, options = {}) {
    known(options, ...RUN);
    const result = await this.call('run', commandParams(command, options), options);
    if (options.check && !(result.status === 'exited' && result.exit_code === 0)) {
      throw new CommandFailed(result);
    }
    return result;
  }

  async start(command, options = {}) {
    known(options, ...COMMAND, 'signal');
    const answer = await this.call('start', { ...commandParams(command, options), follow: false }, options);
    if (answer.task_id === undefined) throw new CommandFailed(answer);
    return new Task(this, answer);
  }

  async task(id) { return new Task(this, await this.call('status', { task_id: id })); }
  async list() { return (await this.call('list')).tasks; }

  async reset(options = {}) {
    known(options, 'grace');
    return this.call('reset', { grace_ms: milliseconds('grace', options.grace) });
  }

  async check(command) { return this.call('check', commandParams(command)); }
  async explain(command) { return this.call('explain', commandParams(command)); }
  tool(name, params) { return this.call('tool', { name, params }); }

  /** The layer that the session holds, with flags: ['--layer', NAME]. */
  get layer() {
    const act = (action, params) => this.call(`layer.${action}`, params);
    const asOperator = async (action, params) => {
      await this.#beOperator();
      return act(action, params);
    };
    return {
      diff: async (...paths) => (await act('diff', { paths })).patch,
      changes: async (...paths) => (await act('diff', { paths })).changes,
      checkpoint: async (label) => (await act('checkpoint', { label })).label,
      rollback: (label) => act('rollback', { label }),
      branch: (name) => act('branch', { new: name }),
      commit: async (...paths) => (await asOperator('commit', { paths })).committed,
      undo: async () => (await asOperator('undo', {})).undone,
      discard: (...paths) => asOperator('discard', { paths }),
    };
  }

  layers() { return this.call('layer.list'); }

  async #beOperator() {
    if (this.#transport.token !== '') await this.call('hello', { token: this.#transport.token });
  }

  async approve(digest) {
    await this.#beOperator();
    await this.call('approve', { digest });
  }

  /** @internal */
  watch(taskId, notify) {
    if (!this.#watchers.has(taskId)) this.#watchers.set(taskId, new Set());
    this.#watchers.get(taskId).add(notify);
    this.#hold();
    return () => {
      const group = this.#watchers.get(taskId);
      group?.delete(notify);
      if (group?.size === 0) this.#watchers.delete(taskId);
      this.#hold();
    };
  }

  /** @internal */
  get hasEnded() { return this.#closed !== undefined; }

  close() {
    if (this.#closed === undefined) {
      this.#fail();
      this.#closed = this.#transport.close();
    }
    return this.#closed;
  }
}
if (Symbol.asyncDispose) {
  Object.defineProperty(Session.prototype, Symbol.asyncDispose, { value() { return this.close(); } });
}

const MOST_TEXT = 4 << 20; // UTF-16 units that may wait for a reader

// What has come for a reader that may be slow: the oldest output goes first, and the chunk that comes
// next counts it in `dropped`.
class Backlog {
  #events = [];
  #waiting = 0;
  #lost = 0;

  get isEmpty() { return this.#events.length === 0; }

  put(event) {
    this.#events.push(event);
    this.#waiting += Backlog.#size(event);
    while (this.#waiting > MOST_TEXT && this.#events.length > 1) {
      const { dropped = 0, offset = 0, next = 0 } = this.#shift().params;
      this.#lost += dropped + next - offset;
    }
  }

  take() {
    const event = this.#shift();
    if (this.#lost === 0 || Backlog.#size(event) === 0) return event;
    const dropped = (event.params.dropped ?? 0) + this.#lost;
    this.#lost = 0;
    return { ...event, params: { ...event.params, dropped } };
  }

  #shift() {
    const event = this.#events.shift();
    this.#waiting -= Backlog.#size(event);
    return event;
  }

  static #size(event) { return event?.params?.text?.length ?? 0; }
}

class Task {
  #session;
  #next = 0;

  constructor(session, answer) {
    this.#session = session;
    this.id = answer.task_id;
    this.pid = answer.pid;
  }

  status() { return this.#session.call('status', { task_id: this.id }); }

  async output(since = this.#next) {
    const answer = await this.#session.call('output', { task_id: this.id, since });
    this.#next = answer.next;
    return answer;
  }

  async stdin(text = '', options = {}) {
    known(options, 'close');
    const { close = false } = options;
    await this.#session.call('stdin', { task_id: this.id, text, close });
  }

  async wait(options = {}) {
    known(options, 'timeout', 'signal');
    const { timeout, signal } = options;
    return this.#session.call('wait', { task_id: this.id, timeout_ms: milliseconds('timeout', timeout) }, { signal });
  }

  async kill(options = {}) {
    known(options, 'grace');
    return this.#session.call('kill', { task_id: this.id, grace_ms: milliseconds('grace', options.grace ?? 2000) });
  }

  async* stream(options = {}) {
    known(options, 'match', 'since', 'signal');
    const { match, since = 0, signal } = options;
    const backlog = new Backlog();
    let wake = () => {};
    const unwatch = this.#session.watch(this.id, (event) => { backlog.put(event); wake(); });
    const stay = onAbort(signal, () => wake());
    try {
      const params = { task_id: this.id, since, follow: true, match };
      const first = await this.#session.call('output', params, { signal });
      if (match == null) { // what there is comes in the answer, only what is new as events
        let { dropped } = first; // of both together
        for (const stream of ['stdout', 'stderr']) {
          if (!first[stream]) continue;
          yield { stream, text: first[stream], offset: since, dropped };
          dropped = 0;
        }
      }
      for (;;) {
        throwIfAborted(signal);
        if (backlog.isEmpty) {
          // eslint-disable-next-line no-await-in-loop
          await new Promise((resolve) => { wake = resolve; });
          continue;
        }
        const event = backlog.take();
        if (event === null) throw new SbxError('session_failed', 'the session has ended', '', '');
        if (isLast(event)) return;
        const { stream, text, offset, dropped } = event.params;
        yield { stream, text, offset, dropped };
      }
    } finally {
      stay();
      unwatch();
    }
  }

  [Symbol.asyncIterator]() { return this.stream(); }
}

// A session that nobody waits for any more is closed as soon as it is open.
function openUnless(signal, options) {
  return new Promise((resolve, reject) => {
    throwIfAborted(signal);
    const opening = Session.open(options);
    const stay = onAbort(signal, () => {
      reject(signal.reason);
      opening.then((session) => session.close(), () => {});
    });
    opening.finally(stay).then(resolve, reject);
  });
}

async function run(command, options = {}) {
  known(options, ...OPENING, ...RUN);
  const pick = (isOpening) => Object.fromEntries(Object.entries(options)
    .filter(([name, value]) => value !== undefined && OPENING.includes(name) === isOpening));
  const session = await openUnless(options.signal, pick(true));
  try {
    return await session.run(command, pick(false));
  } finally {
    await session.close();
  }
}

// The command's own: there was nothing to be run. Every other error is ours.
const COMMANDS_OWN = ['not_found', 'not_executable'];

// Many commands, at most `size` at a time, in one session. What waits has not been sent anywhere.
class Pool {
  #session; // a promise of it
  #options;
  #size;
  #free;
  #waiting = [];
  #closed = false;

  constructor(session, options, size) {
    this.#session = Promise.resolve(session);
    this.#options = options;
    this.#size = size;
    this.#free = size;
  }

  get size() { return this.#size; }

  #take(signal) {
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const place = { resolve: () => { stay(); resolve(); }, reject };
      const stay = onAbort(signal, () => {
        this.#waiting.splice(this.#waiting.indexOf(place), 1);
        reject(signal.reason);
      });
      this.#waiting.push(place);
    });
  }

  #give() {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next.resolve();
  }

  // Another in place of one that has ended, which all share.
  async #opened() {
    const held = this.#session;
    const session = await held;
    this.#checkOpen();
    if (!session.hasEnded) return session;
    if (this.#session === held) {
      this.#session = Session.open(this.#options).catch((error) => {
        this.#session = held;
        throw error;
      });
    }
    return this.#session;
  }

  #checkOpen() {
    if (this.#closed) throw new SbxError('session_failed', 'the pool is closed', '', 'open another');
  }

  async #ask(command, options) {
    const session = await this.#opened();
    const result = session.run(command, options);
    if (!session.hasEnded) return result;
    // It had died at rest, which shows when it is asked: nothing was sent.
    result.catch(() => {});
    return (await this.#opened()).run(command, options);
  }

  async run(command, options = {}) {
    throwIfAborted(options.signal);
    this.#checkOpen();
    await this.#take(options.signal);
    try {
      return await this.#ask(command, options);
    } finally {
      this.#give();
    }
  }

  // Results in the order of the commands. The first error of ours rejects, and nothing more begins.
  async map(commands, options = {}) {
    if (typeof commands === 'string') throw new TypeError('map takes an iterable of commands, not one');
    const results = [];
    const failed = new AbortController();
    const abort = () => failed.abort(options.signal.reason);
    if (options.signal?.aborted) abort();
    const stay = onAbort(options.signal, abort);
    let index = 0;
    const source = commands[Symbol.asyncIterator]?.() ?? commands[Symbol.iterator]();
    // One reader at a time: an async source need not allow more.
    let reading = Promise.resolve();
    const work = async () => {
      for (;;) {
        // eslint-disable-next-line no-loop-func
        const step = reading.then(async () => ({ ...await source.next(), at: index++ }));
        reading = step.catch(() => {});
        // eslint-disable-next-line no-await-in-loop
        const { done, value, at } = await step;
        if (done) return;
        // eslint-disable-next-line no-await-in-loop
        const result = await this.run(value, { ...options, signal: failed.signal });
        if (result.status === 'error' && !COMMANDS_OWN.includes(result.error.code)) throw errorOf(result.error);
        results[at] = result;
      }
    };
    try {
      await Promise.all(Array.from({ length: this.#size }, work));
    } catch (error) {
      failed.abort(error);
      reading.then(() => source.return?.()).catch(() => {}); // not awaited: it may never give another
      throw error;
    } finally {
      stay();
    }
    return results;
  }

  async close() {
    this.#closed = true;
    const gone = new SbxError('session_failed', 'the pool is closed', '', 'open another');
    for (const place of this.#waiting.splice(0)) place.reject(gone);
    const session = await this.#session.catch(() => undefined); // undefined: it could not be opened again
    await session?.close();
  }
}
if (Symbol.asyncDispose) {
  Object.defineProperty(Pool.prototype, Symbol.asyncDispose, { value() { return this.close(); } });
}

async function createPool({ size = os.availableParallelism?.() ?? os.cpus().length, ...options } = {}) {
  if (!Number.isInteger(size) || size < 1) {
    throw new SbxError('out_of_range', `"size" must be a whole number from 1, not ${size}`, '/size', '');
  }
  // What is relative is so to the directory of now, whenever a session is opened.
  const fixed = { ...options };
  for (const name of ['workspace', 'template']) {
    if (fixed[name] && typeof fixed[name] === 'string') fixed[name] = path.resolve(fixed[name]);
  }
  return new Pool(await Session.open(fixed), fixed, size);
}

async function toolDefinition(name, options = {}) {
  known(options, 'style', 'program');
  const { style = 'anthropic', program: named } = options;
  checkText('program', named);
  return new Promise((resolve, reject) => {
    execFile(program({ program: named }), ['schema', 'tool', name, '--for', style], (error, out, said) => {
      try {
        const document = JSON.parse(out);
        if (error) reject(errorOf(document.error));
        else resolve(document);
      } catch {
        reject(typeof error?.code === 'string' ? notExecuted(error)
          : new SbxError('internal', said.trim() || error?.message || 'no JSON came', '', ''));
      }
    });
  });
}

async function tool(session, name, options = {}) {
  return {
    name,
    definition: await toolDefinition(name, options),
    async handle(params) {
      try {
        const { tool: about, ...body } = await session.tool(name, params);
        return { text: body.text ?? JSON.stringify(body), isError: about.is_error };
      } catch (error) {
        // A model's own mistake goes back to it, in words.
        if (error.code === 'session_failed') throw error;
        return { text: error.message, isError: true };
      }
    },
  };
}

const bashTool = (session, options) => tool(session, 'bash', options);

module.exports = { run, createPool, Pool, Session, Task, SbxError, CommandFailed, tool, bashTool, toolDefinition };
