// SPDX-License-Identifier: Apache-2.0
// The same objects for `import`.
import sbx from './index.js';

export const {
  run, createPool, Pool, Session, Task, SbxError, CommandFailed, tool, bashTool, toolDefinition,
} = sbx;
export default sbx;
