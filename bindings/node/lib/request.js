// SPDX-License-Identifier: Apache-2.0
// JavaScript arguments → the params of a method, as text, and the options of a session. Pure.
'use strict';

const path = require('node:path');
const { SbxError } = require('./errors.js');

const OPENING = ['profile', 'with', 'workspace', 'template', 'keep_layers', 'flags', 'program',
  'server_timeout_ms', 'transport'];
const COMMAND = ['cwd', 'env', 'timeout', 'input', 'files', 'network', 'merge', 'description',
  'outputKb', 'fileKb', 'approval'];
const RUN = [...COMMAND, 'shell', 'signal', 'check'];

// A misspelt option would be one that silently does nothing.
function known(options, ...names) {
  if (options === null || typeof options !== 'object' || Array.isArray(options)) {
    throw new TypeError(`options are an object, not ${JSON.stringify(options)}`);
  }
  for (const name of Object.keys(options)) {
    if (!names.includes(name)) {
      throw new TypeError(`unknown option '${name}'; there are ${names.join(', ')}`);
    }
  }
}

function wrongType(name, wanted) { return new SbxError('wrong_type', `"${name}" must be ${wanted}`, `/${name}`, ''); }

// Of an option that names something; null is absent.
function checkText(name, text) {
  if (text == null) return;
  if (typeof text !== 'string') throw wrongType(name, 'a string');
  if (text === '') throw new SbxError('bad_value', `"${name}" is empty`, `/${name}`, 'name one, or leave it out');
}

function bytesOf(name, content) {
  if (ArrayBuffer.isView(content)) return Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  if (content instanceof ArrayBuffer) return Buffer.from(content);
  throw new TypeError(`files['${name}'] is a string or bytes, not ${content}`);
}

function fileList(files) {
  if (files === undefined) return undefined;
  if (files === null || typeof files !== 'object' || Array.isArray(files)) {
    throw new TypeError(`files are an object of paths, not ${JSON.stringify(files)}`);
  }
  return Object.entries(files).map(([name, content]) => (
    typeof content === 'string' ? { path: name, content }
      : { path: name, content_base64: bytesOf(name, content).toString('base64') }));
}

function milliseconds(name, time) {
  if (time == null || typeof time === 'number') return time;
  throw new TypeError(`${name} is a number of milliseconds, not ${JSON.stringify(time)}`);
}

// What a request calls otherwise, or has in another form.
const RENAMED = { timeout: 'timeout_ms', input: 'stdin', outputKb: 'output_kb', fileKb: 'file_kb' };
const FORMED = { files: fileList, timeout: (time) => milliseconds('timeout', time) };

function commandParams(command, options = {}) {
  if (typeof command !== 'string' && !Array.isArray(command)) {
    throw new TypeError(`a command is a string or an array of them, not ${JSON.stringify(command)}`);
  }
  const params = { [typeof command === 'string' ? 'command' : 'argv']: command };
  for (const name of [...COMMAND, 'shell']) {
    const value = options[name];
    if (value !== undefined) params[RENAMED[name] ?? name] = FORMED[name]?.(value) ?? value;
  }
  return params;
}

const LONE_SURROGATE = /\p{Surrogate}/u;

// Checked before anything is sent: an answer to what cannot be read would not say to which call.
function encode(method, params) {
  if (typeof method !== 'string') throw new SbxError('bad_message', 'a method is a string', '/method', '');
  if (/[^\x20-\x7e]/.test(method)) { // a NUL would end it
    throw new SbxError('unknown_method', `there is no method ${JSON.stringify(method)}`, '/method', '');
  }
  const given = params ?? {};
  if (typeof given !== 'object') throw new SbxError('wrong_type', 'params must be an object', '', '');
  return JSON.stringify(given, function check(name, value) {
    const where = this === given ? `/${name}` : '';
    if (typeof value === 'number' && !Number.isFinite(value)) { // null in JSON: as if it were absent
      throw new SbxError('out_of_range', `a number, not ${value}, is wanted`, where, '');
    }
    if (LONE_SURROGATE.test(name) || (typeof value === 'string' && LONE_SURROGATE.test(value))) {
      throw new SbxError('bad_json', 'a text with half a surrogate pair has no UTF-8', where, 'mend the text');
    }
    return value;
  });
}

// As the library reads them (capi/sbx.h); null is absent.
function openOptions(options) {
  known(options, ...OPENING);
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value != null));
  for (const name of ['profile', 'workspace', 'template', 'program']) checkText(name, given[name]);
  const { workspace, template, keep_layers: keeps, with: presets = [], flags = [], ...rest } = given;
  if (![presets].flat().every((name) => typeof name === 'string')) {
    throw wrongType('with', 'a string or an array of them');
  }
  if (!Array.isArray(flags) || !flags.every((flag) => typeof flag === 'string')) {
    throw wrongType('flags', 'an array of strings');
  }
  const patience = rest.server_timeout_ms ?? 1;
  if (!Number.isInteger(patience)) throw wrongType('server_timeout_ms', 'a whole number');
  if (patience < 1 || patience > 3_600_000) {
    throw new SbxError('out_of_range', '"server_timeout_ms" must be 1 to 3600000', '/server_timeout_ms', '');
  }
  const all = [...[presets].flat().map((name) => `--with=${name}`), ...flags];
  if (template !== undefined) all.push(`--template=${path.resolve(template)}`);
  if (keeps) all.push('--keep-layers');
  if (all.length > 0) rest.flags = all;
  if (workspace !== undefined) rest.workspace = path.resolve(workspace);
  if ([...all, rest.workspace, rest.profile, rest.program].some((text) => text?.includes('\0'))) {
    throw new SbxError('bad_value', 'an option holds a NUL byte', '/flags', '');
  }
  return rest;
}

module.exports = { OPENING, COMMAND, RUN, known, checkText, milliseconds, commandParams, encode, openOptions };
