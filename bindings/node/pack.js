// SPDX-License-Identifier: Apache-2.0
// node pack.js [--prefix DIR] [--out DIR]: the npm package with sbx-run and libsbx.so.1 of a build
// tree or an install prefix in it; prints the tarball's path. Fetches nothing.
'use strict';

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');

const { values } = parseArgs({ options: {
  prefix: { type: 'string', default: path.join(__dirname, '..', '..', 'build', 'release') },
  out: { type: 'string', default: '.' },
} });
// By npm; where there is only node, the same files in the same places.
function pack(out) {
  try {
    return execFileSync('npm', ['pack', '--silent', '--pack-destination', out], { cwd: stage })
      .toString().trim().split('\n').pop();
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  const { name, version } = JSON.parse(fs.readFileSync(path.join(stage, 'package.json')));
  const tarball = `${name}-${version}.tgz`;
  execFileSync('tar', ['-czf', path.join(out, tarball), '--owner=0', '--group=0', '--sort=name',
    '--transform=s,^\\./,package/,', '--mode=u+rw,go=u-w', '-C', stage,
    './package.json', './README.md', './lib', './native']);
  return tarball;
}

const stage = fs.mkdtempSync(path.join(os.tmpdir(), 'sbx-pack-'));
try {
  for (const name of ['package.json', 'README.md', 'lib']) {
    fs.cpSync(path.join(__dirname, name), path.join(stage, name), { recursive: true });
  }
  fs.mkdirSync(path.join(stage, 'native'));
  const library = ['lib', 'lib64', `lib/${os.arch() === 'x64' ? 'x86_64' : 'aarch64'}-linux-gnu`]
    .map((directory) => path.join(values.prefix, directory, 'libsbx.so.1'))
    .find((file) => fs.existsSync(file));
  if (library === undefined) throw new Error(`no lib/libsbx.so.1 below ${values.prefix}: build sbx first`);
  fs.copyFileSync(library, path.join(stage, 'native', 'libsbx.so.1'));
  // What sbx-run looks for beside itself goes along.
  const programs = fs.readFileSync(path.join(__dirname, '..', '..', 'cmake', 'programs.txt'), 'utf8');
  for (const program of programs.trim().split('\n')) {
    fs.copyFileSync(path.join(values.prefix, 'bin', program), path.join(stage, 'native', program));
    fs.chmodSync(path.join(stage, 'native', program), 0o755);
  }
  const out = path.resolve(values.out);
  fs.mkdirSync(out, { recursive: true });
  console.log(path.join(out, pack(out)));
} finally {
  fs.rmSync(stage, { recursive: true });
}
