// SPDX-License-Identifier: Apache-2.0
// Two ways to a session, one face: open(options) → { submit, cancel, close, onEvent, onEnd, token }.
// Options and params have been checked (request.js); params are JSON text.
// Over koffi the library's pollable descriptor is not one that libuv watches from JavaScript, so
// sbx_next waits on one of libuv's threads; over a child process lines come from its standard output.
'use strict';

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { isMainThread } = require('node:worker_threads');
const { errorOf, SbxError } = require('./errors.js');

const MOST_LINE = 16 << 20; // bytes, as the library
const PATIENCE_MS = 30_000; // as the library: for a server that does not come up
const START_ERRORS = {
  ENOENT: 'not_found', ENOTDIR: 'not_found', EACCES: 'not_executable', EPERM: 'not_executable',
  ENOEXEC: 'not_executable', EMFILE: 'setup_failed',
};
const LONGEST_END_MS = 10_000; // of a session, whose tasks have a grace of two seconds

// What the package of this platform carries; without that package, what the machine has.
function carried(name) {
  try {
    const file = path.join(path.dirname(require.resolve(`sbx-linux-${process.arch}/package.json`)), 'native', name);
    return fs.existsSync(file) ? file : undefined;
  } catch {
    return undefined;
  }
}

function program(options) {
  return options.program ?? carried('sbx-run') ?? 'sbx-run';
}

class ChildTransport {
  static open(options) {
    return new Promise((resolve, reject) => {
      const flags = [];
      if (options.profile !== undefined) flags.push(`--profile=${options.profile}`);
      if (options.workspace !== undefined) flags.push(`--workspace=${options.workspace}`);
      const argv = ['serve', ...flags, ...(options.flags ?? [])];
      const child = spawn(program(options), argv, { stdio: ['pipe', 'pipe', 'pipe'], detached: true });
      const transport = new ChildTransport(child);
      let said = '';
      const patience = options.server_timeout_ms ?? PATIENCE_MS;
      const late = setTimeout(() => {
        reject(new SbxError('session_failed', `sbx-run did not answer within ${patience} ms`,
          '/server_timeout_ms', 'see why it does not start, or give it more time'));
        child.kill('SIGKILL');
      }, patience);
      transport.closed.then(() => clearTimeout(late));
      child.stderr.setEncoding('utf8').on('data', (text) => { said = (said + text).slice(-4096); });
      child.once('error', (error) => reject(notExecuted(error)));
      child.once('close', () => reject(startError(said, options)));
      // Answered as soon as it serves; what it says at a bad start comes before its end.
      transport.first = (message) => {
        clearTimeout(late);
        if (message.error === undefined) resolve(transport);
        else reject(namedByOption(message.error.data ?? message.error, options));
      };
      transport.submit('list', '{}');
    });
  }

  constructor(child) {
    this.child = child;
    this.last = 0;
    this.onEvent = () => {};
    this.onEnd = () => {};
    this.pending = [];
    this.closed = new Promise((resolve) => child.once('close', resolve));
    this.closed.then(() => this.onEnd());
    child.stdin.on('error', () => {}); // EPIPE: its end is told by 'close'
    child.stdout.on('data', (bytes) => this.take(bytes));
  }

  // A session at rest does not keep the process alive; it ends with it.
  hold(on) {
    if (this.closing) return; // whoever closes waits for the end
    for (const handle of [this.child, this.child.stdin, this.child.stdout, this.child.stderr]) {
      if (on) handle.ref?.(); else handle.unref?.();
    }
  }

  take(bytes) {
    let begin = 0;
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, begin)) {
      const line = Buffer.concat([...this.pending, bytes.subarray(begin, end)]);
      this.pending = [];
      begin = end + 1;
      let message;
      try {
        message = JSON.parse(line.toString('utf8'));
      } catch {
        message = null;
      }
      if (message === null || typeof message !== 'object') { // some other program
        this.child.kill('SIGKILL');
        return;
      }
      this.message(message);
    }
    if (begin < bytes.length) this.pending.push(bytes.subarray(begin));
  }

  message(message) {
    if (message.method !== undefined) return this.onEvent(message);
    if (this.first !== undefined) {
      const first = this.first;
      this.first = undefined;
      return first(message);
    }
    const { id, result, error } = message;
    return this.onEvent(error === undefined ? { id, result } : { id, error: error.data ?? error });
  }

  submit(method, params) {
    const id = this.last + 1;
    const line = `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":${params}}\n`;
    const size = Buffer.byteLength(line);
    if (size > MOST_LINE) {
      throw new SbxError('too_large', `a call of ${size} bytes is more than the ${MOST_LINE} that a session takes`,
        '', 'write large files in parts');
    }
    this.last = id;
    this.child.stdin.write(line);
    return id;
  }

  cancel(id) { this.child.stdin.write(`{"jsonrpc":"2.0","method":"cancel","params":{"id":${id}}}\n`); }

  async close() {
    this.hold(true);
    this.closing = true;
    this.child.stdin.end();
    const late = setTimeout(() => this.child.kill('SIGKILL'), LONGEST_END_MS);
    await this.closed;
    clearTimeout(late);
  }

  get token() { return ''; } // the one on standard input is the operator
}

function notExecuted(error) {
  return new SbxError(START_ERRORS[error.code] ?? 'session_failed', error.message, '/program',
    'install sbx-run, or name it with "program"');
}

// What sbx-run says of a flag, said of the option that it was, as the library does.
function namedByOption(error, options) {
  const name = ['profile', 'workspace'].find((each) => options[each] !== undefined && error.where === `--${each}`);
  if (name === undefined) return errorOf(error);
  return errorOf({ ...error, where: `/${name}`, code: error.code === 'bad_flag' ? 'bad_value' : error.code });
}

// What a server that did not start wrote: "sbx-run: CODE: message [where] (hint)".
function startError(said, options) {
  const found = /^sbx-run: ([a-z_]+): (.*?)(?: \[(.*?)\])?(?: \((.*)\))?$/m.exec(said);
  return found ? namedByOption({ code: found[1], message: found[2], where: found[3], hint: found[4] }, options)
    : new SbxError('session_failed', 'the session has ended', '', said.trim());
}

function loadKoffi() {
  try {
    return require('koffi');
  } catch {
    return undefined;
  }
}

let native;

function library() {
  if (native !== undefined) return native;
  native = null;
  const koffi = loadKoffi();
  if (koffi === undefined) return native;
  try {
    const lib = koffi.load(carried('libsbx.so.1') ?? 'libsbx.so.1');
    native = {
      koffi,
      open: lib.func('int sbx_open(const char *, _Out_ void **, _Out_ void **)'),
      submit: lib.func('int sbx_submit(void *, const char *, const char *, _Out_ uint64_t *, _Out_ void **)'),
      next: lib.func('int sbx_next(void *, int, _Out_ void **, _Out_ void **)'),
      cancel: lib.func('int sbx_cancel(void *, uint64_t, void *)'),
      close: lib.func('void sbx_close(void *)'),
      free: lib.func('void sbx_free(void *)'),
      token: lib.func('const char *sbx_operator_token(void *)'),
      errorFree: lib.func('void sbx_error_free(void *)'),
      parts: ['code', 'message', 'where', 'hint'].map((part) => [
        part, lib.func(`const char *sbx_error_${part}(void *)`)]),
    };
  } catch {
    native = null; // no library for this machine: the child process does the same
  }
  return native;
}

function taken(lib, error) {
  const data = Object.fromEntries(lib.parts.map(([part, read]) => [part, read(error)]));
  lib.errorFree(error);
  if (data.where.startsWith('execve(')) data.where = '/program'; // as over a child process
  return errorOf(data);
}

const WAIT_MS = 200; // one of libuv's threads waits this long at a time, so that closing is prompt

class LibraryTransport {
  static open(options) {
    const lib = library();
    return new Promise((resolve, reject) => {
      const session = [null];
      const error = [null];
      lib.open.async(JSON.stringify(options), session, error, (failed, status) => {
        if (failed) return reject(failed);
        if (status !== 0) return reject(taken(lib, error[0]));
        return resolve(new LibraryTransport(lib, session[0]));
      });
    });
  }

  constructor(lib, session) {
    Object.assign(this, { lib, session, ended: false, closing: false, waiting: null });
    this.onEvent = () => {};
    this.onEnd = () => {};
    this.token = lib.token(session);
    this.held = 0;
  }

  // Waits only while somebody does: a session at rest keeps neither the process nor a thread busy.
  hold(on) {
    this.wanted = on;
    if (on && this.waiting === null && !this.ended && !this.closing) {
      this.waiting = this.wait().finally(() => {
        this.waiting = null;
        if (this.wanted) this.hold(true); // asked for between its last look and its end
      });
    }
  }

  async wait() {
    while (this.wanted && !this.closing && !this.ended) {
      const event = [null];
      const error = [null];
      // eslint-disable-next-line no-await-in-loop
      const got = await new Promise((resolve, reject) => {
        this.lib.next.async(this.session, WAIT_MS, event, error,
          (failed, status) => (failed ? reject(failed) : resolve(status)));
      });
      if (got < 0) {
        this.ended = true;
        taken(this.lib, error[0]);
        this.onEnd();
      } else if (got > 0) {
        const text = this.lib.koffi.decode(event[0], 'char', -1);
        this.lib.free(event[0]);
        this.onEvent(JSON.parse(text));
      }
    }
  }

  submit(method, params) {
    const id = [0];
    const error = [null];
    if (this.lib.submit(this.session, method, params, id, error) !== 0) {
      throw taken(this.lib, error[0]);
    }
    return Number(id[0]);
  }

  cancel(id) { this.lib.cancel(this.session, id, null); }

  async close() {
    this.closing = true;
    await this.waiting;
    await new Promise((resolve) => { this.lib.close.async(this.session, resolve); });
    this.onEnd();
  }
}

function openTransport(options) {
  const { transport, ...rest } = options;
  // A worker that is terminated closes no session of the library's; a child sees its end.
  const useLibrary = transport === 'koffi' || (transport === undefined && isMainThread && library() !== null);
  if (!useLibrary) return ChildTransport.open(rest);
  if (library() === null) {
    return Promise.reject(new SbxError('unsupported', 'koffi or libsbx.so.1 cannot be loaded', '',
      'npm install koffi'));
  }
  return LibraryTransport.open(rest);
}

module.exports = { openTransport, program, notExecuted };
