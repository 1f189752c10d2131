// SPDX-License-Identifier: Apache-2.0
// The errors of sbx: a stable code, what failed, where, what would mend it.
'use strict';

class SbxError extends Error {
  constructor(code, message, where, hint) {
    const place = where ? ` [${where}]` : '';
    super(`${code}: ${message}${place}${hint ? ` (${hint})` : ''}`);
    this.name = this.constructor.name;
    this.code = code;
    this.where = where ?? '';
    this.hint = hint ?? '';
  }
}

class CommandFailed extends SbxError {
  constructor(result) {
    const error = result.error ?? {};
    super(error.code ?? result.status, error.message ?? `${result.command}: ${result.status}${
      result.exit_code === null ? '' : ` with ${result.exit_code}`}`, error.where, error.hint);
    this.result = result;
  }
}

function errorOf(data) {
  return new SbxError(data.code || 'internal', data.message ?? '', data.where, data.hint);
}

module.exports = { SbxError, CommandFailed, errorOf };
