// SPDX-License-Identifier: Apache-2.0
// node pack.js [--prefix DIR] [--out DIR]: two npm tarballs, of the programs and the library of a build
// tree or an install prefix for this platform, and of what uses them; prints their paths. Runs and
// fetches nothing else, and the same files give the same bytes.
'use strict';

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');

const TOP = path.join(__dirname, '..', '..');
const { values } = parseArgs({ options: {
  prefix: { type: 'string', default: path.join(TOP, 'build', 'release') },
  out: { type: 'string', default: '.' },
} });
const version = /^project\(sbx VERSION ([0-9.]+)/m.exec(
  fs.readFileSync(path.join(TOP, 'CMakeLists.txt'), 'utf8'))[1];
const programs = fs.readFileSync(path.join(TOP, 'cmake', 'programs.txt'), 'utf8').trim().split('\n');
const own = JSON.parse(fs.readFileSync(path.join(__dirname, 'package.json'), 'utf8'));
const platform = `sbx-linux-${os.arch()}`;

function pack(description, fill) {
  const stage = fs.mkdtempSync(path.join(os.tmpdir(), 'sbx-pack-'));
  const file = path.join(path.resolve(values.out), `${description.name}-${version}.tgz`);
  try {
    fs.writeFileSync(path.join(stage, 'package.json'), `${JSON.stringify(description, null, 2)}\n`);
    fs.cpSync(path.join(TOP, 'LICENSE'), path.join(stage, 'LICENSE'));
    fill(stage);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    execFileSync('tar', ['-cf', `${file}.part`, '--use-compress-program=gzip -9n', '--owner=0', '--group=0',
      '--numeric-owner', '--sort=name', '--mtime=1985-10-26 08:15:00Z', '--mode=u+rw,go=rX',
      '--transform=s,^\\./,package/,', '-C', stage,
      ...fs.readdirSync(stage).sort().map((name) => `./${name}`)]);
    fs.renameSync(`${file}.part`, file);
    console.log(file);
  } finally {
    fs.rmSync(stage, { recursive: true });
  }
}

const library = ['lib', 'lib64', `lib/${os.arch() === 'x64' ? 'x86_64' : 'aarch64'}-linux-gnu`]
  .map((directory) => path.join(values.prefix, directory, 'libsbx.so.1'))
  .find((file) => fs.existsSync(file));
if (library === undefined) throw new Error(`no lib/libsbx.so.1 below ${values.prefix}: build sbx first`);

pack({
  name: platform,
  version,
  description: `What the package sbx runs on Linux, ${os.arch()}`,
  license: own.license,
  os: ['linux'],
  cpu: [os.arch()],
  files: ['native'],
  preferUnplugged: true,
}, (stage) => {
  const native = path.join(stage, 'native');
  fs.mkdirSync(native);
  fs.copyFileSync(library, path.join(native, 'libsbx.so.1'));
  fs.chmodSync(path.join(native, 'libsbx.so.1'), 0o644);
  for (const program of programs) {
    fs.copyFileSync(path.join(values.prefix, 'bin', program), path.join(native, program));
    fs.chmodSync(path.join(native, program), 0o755);
  }
});

// Only what is made here is named: a name that nobody has published is anybody's to publish.
pack({ ...own, version, optionalDependencies: { [platform]: version } }, (stage) => {
  for (const name of ['README.md', 'bin', 'lib']) {
    fs.cpSync(path.join(__dirname, name), path.join(stage, name), { recursive: true });
  }
});
