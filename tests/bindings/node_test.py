# SPDX-License-Identifier: Apache-2.0
"""The Node package, from its tarball, as ESM and CommonJS, over a child process and over koffi.
SBX_TEST_KOFFI names a node_modules that holds koffi (scripts/test fetches it where there is npm);
without it, that transport is skipped."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))

import session_harness  # noqa: E402
from harness import BOUND, SBX_RUN, SOURCE  # noqa: E402

PREFIX = os.path.dirname(os.path.dirname(SBX_RUN))
with open(f"{SOURCE}/cmake/programs.txt", encoding="utf-8") as _list:
    PROGRAMS = _list.read().split()
KOFFI = os.environ.get("SBX_TEST_KOFFI") or os.environ.get("SBX_KOFFI", "")

BODY = r"""
const assert = (holds, what) => { if (!holds) throw new Error(`does not hold: ${what}`); };
const rejected = (promise) => promise.then(() => { throw new Error('was not rejected'); }, (e) => e);
const o = { transport: TRANSPORT };
const fs = await import('node:fs');
let r = await sbx.run('echo out; echo err >&2; exit 3', o);
assert(r.status === 'exited' && r.exit_code === 3 && r.stdout === 'out\n' && r.stderr === 'err\n', 'run');
r = await sbx.run('cat d/x b', { ...o, files: { 'd/x': '1', b: new Uint8Array([50]) } });
assert(r.stdout === '12', 'files');
let e = await rejected(sbx.run('true', { ...o, timeout: -1 }));
assert(e instanceof sbx.SbxError && e.code === 'out_of_range' && e.where === '/timeout_ms', e);
for (const bad of [5, null, { argv: ['ls'] }]) {
  e = await rejected(sbx.run(bad, o));
  assert(e instanceof TypeError && e.message.startsWith('a command is a string or an array'), e);
}
e = await rejected(sbx.run('true', { ...o, timeout: '10s' }));
assert(e instanceof TypeError && e.message === 'timeout is a number of milliseconds, not "10s"', e);
for (const signal of [{}, 5, 'now']) {
  e = await rejected(sbx.run('true', { ...o, signal }));
  assert(e instanceof TypeError && e.message.startsWith('signal is an AbortSignal, not '), e);
}
e = await rejected(sbx.Session.open({ ...o, workspace: '/no/such' }));
assert(e.code === 'path_not_found' && e.where === '/workspace' && e.message.includes('no such directory: /no/such'), e);
e = await rejected(sbx.run('exit 2', { ...o, check: true }));
assert(e instanceof sbx.CommandFailed && e.result.exit_code === 2, e);
for (const bad of [sbx.run('true', { ...o, timout: 1 }), sbx.run('true', 5),
  sbx.Session.open({ ...o, worspace: '.' })]) {
  e = await rejected(bad);
  assert(e instanceof TypeError, e);
}
e = await rejected(sbx.run('true', { ...o, timout: 1 }));
assert(e.message.startsWith("unknown option 'timout'; there are ") && e.message.includes('timeout'), e);
r = await sbx.run('true', { ...o, with: 'python', flags: ['--trace-denials'] });
assert(r.exit_code === 0, r);
e = await rejected(sbx.run('true', { ...o, with: ['node', 'no-such'] }));
assert(e.code === 'profile_not_found' && e.message.includes('no-such'), e);
e = await rejected(sbx.Session.open({ ...o, profile: 'no-such' }));
assert(e.code === 'profile_not_found' && e.where === '/profile', e);
e = await rejected(sbx.Session.open({ ...o, flags: ['--profile=no-such'] }));
assert(e.code === 'profile_not_found' && e.where === '--profile', e);
e = await rejected(sbx.Session.open({ ...o, program: '/nonexistent' }));
assert(e.code === 'not_found' && e.where === '/program', e);
e = await rejected(sbx.Session.open({ ...o, program: '/etc/passwd' }));
assert(e.code === 'not_executable' && e.where === '/program', e);
e = await rejected(sbx.Session.open({ ...o, program: '/bin/echo' }));
assert(e.code === 'session_failed', e);
e = await rejected(sbx.Session.open({ ...o, program: SILENT, server_timeout_ms: 300 }));
assert(e.code === 'session_failed' && e.where === '/server_timeout_ms', e);
const slowly = { ...o, program: SILENT, server_timeout_ms: 3000 };
const before = Date.now();
e = await rejected(sbx.run('true', { ...slowly, signal: AbortSignal.abort() }));
assert(e.name === 'AbortError', e);
e = await rejected(sbx.run('true', { ...slowly, signal: AbortSignal.timeout(50) }));
assert(e.name === 'TimeoutError' && Date.now() - before < 2500, 'opening is left at once');
for (const name of ['profile', 'workspace', 'template', 'program']) {
  for (const open of [sbx.Session.open, sbx.createPool]) {
    e = await rejected(open({ ...o, [name]: '' }));
    assert(e.code === 'bad_value' && e.where === `/${name}`, e);
  }
}
for (const [name, bad, code] of [['profile', 5, 'wrong_type'], ['workspace', 5, 'wrong_type'],
  ['template', 5, 'wrong_type'], ['program', 5, 'wrong_type'], ['with', [5], 'wrong_type'],
  ['flags', [5], 'wrong_type'], ['flags', 'ab', 'wrong_type'], ['flags', ['a\0'], 'bad_value'],
  ['server_timeout_ms', 'x', 'wrong_type'], ['server_timeout_ms', 1.5, 'wrong_type'],
  ['server_timeout_ms', 0, 'out_of_range'], ['server_timeout_ms', 3600001, 'out_of_range']]) {
  e = await rejected(sbx.Session.open({ ...o, [name]: bad }));
  assert(e.code === code && e.where === `/${name}`, `${name}: ${bad} gives ${e}`);
}
const warned = [];
process.on('warning', (warning) => warned.push(warning));
const own = await sbx.Session.open(o);
const shared = new AbortController();
const sharing = Array.from({ length: 12 }, () => rejected(own.run('sleep 1000', { signal: shared.signal })));
await new Promise((resolve) => { setImmediate(resolve); });
shared.abort();
assert((await Promise.all(sharing)).every((error) => error.name === 'AbortError'), 'one signal for many');
await own.run('x=1; cd /usr', { shell: 'kept' });
r = await own.run('echo $x $PWD', { shell: 'kept' });
assert(r.stdout === '1 /usr\n' && r.shell.kept === true, JSON.stringify(r));
assert((await rejected(own.start('true', { shell: 'kept' }))) instanceof TypeError, 'only run');
await own.close();
const s = await sbx.Session.open(o);
const beside = s.run('sleep 0.5; echo unharmed');
for (const bad of [s.run('echo \ud800'), s.run(['echo', '\udc00']), s.run('cat', { input: 'x\ud800x' }),
  s.run('ls', { files: { '\ud800': '' } }), s.call('list', { '\ud800': 1 })]) {
  assert((e = await rejected(bad)).code === 'bad_json', e);
}
for (const bad of [s.run('cat', { input: 'x'.repeat(17 << 20) }), s.run('cat', { input: 'é'.repeat(9 << 20) }),
  s.run('ls', { files: { a: Buffer.alloc(14 << 20) } })]) {
  assert((e = await rejected(bad)).code === 'too_large', e);
}
const bash = await sbx.bashTool(s);
for (const [name, options, code, where] of [['nope', {}, 'unknown_method', '/name'],
  ['bash', { style: 'x' }, 'bad_flag', '--for'], ['bash', { program: '' }, 'bad_value', '/program'],
  ['bash', { program: '/nonexistent' }, 'not_found', '/program'],
  ['bash', { program: '/etc/passwd' }, 'not_executable', '/program'], ['bash', { program: '/bin/echo' }, 'internal', '']]) {
  e = await rejected(sbx.toolDefinition(name, options));
  assert(e.code === code && e.where === where, e);
}
for (const bad of [{ command: 'echo \ud800' }, [1], null, undefined, 'x', 5]) {
  assert((await bash.handle(bad)).isError, `a tool answers a model: ${bad}`);
}
for (const [bad, code] of [['list\0x', 'unknown_method'], ['list\ud800', 'unknown_method'], [5, 'bad_message']]) {
  assert((e = await rejected(s.call(bad))).code === code && e.where === '/method', e);
}
assert((await s.run('printf %s "$0" "\\ud800 😀"')).stdout.endsWith('\\ud800 😀'), 'what is well formed');
assert((await beside).stdout === 'unharmed\n', 'beside');
for (const timeout of [NaN, Infinity, -Infinity]) {
  e = await rejected(s.run('true', { timeout }));
  assert(e.code === 'out_of_range' && e.where === '/timeout_ms', e);
}
const shorts = new Uint16Array([0, 0x4241, 0x4443]).subarray(1);
r = await s.run('cat a b c', { files: { a: shorts, b: new DataView(shorts.buffer, 2, 1), c: shorts.buffer.slice(4) } });
assert(r.stdout === 'ABCDACD', r.stdout);
for (const files of ['ab', ['a'], null, { a: 5 }, { a: null }]) {
  assert((e = await rejected(s.run('true', { files }))) instanceof TypeError && /files/.test(e.message), e);
}
const many = await Promise.all([...Array(20).keys()].map((i) => s.run(`echo ${i}`)));
assert(many.every((m, i) => m.stdout === `${i}\n`), 'many');
const big = await s.run('head -c 3000000 /dev/zero | tr "\\0" x');
assert(big.stdout_bytes === 3000000, 'big');
const t = await s.start('echo a; sleep 0.05; echo b');
let text = '';
for await (const c of t) text += c.text;
assert(text === 'a\nb\n', text);
const lines = [];
for await (const c of t.stream({ match: 'b' })) lines.push(c.text);
for await (const c of t.stream({ match: null })) lines.push(c.text);
assert(lines.join() === 'b,a\nb\n', lines);
const slow = await s.start("for i in $(seq 24); do head -c 1000000 /dev/zero | tr '\\0' x; echo; sleep 0.02; done");
const reader = slow.stream();
const chunks = [(await reader.next()).value];
await slow.wait();
for await (const c of reader) chunks.push(c);
const read = chunks.reduce((sum, c) => sum + c.text.length, 0);
const lost = chunks.reduce((sum, c) => sum + c.dropped, 0);
assert(read + lost === 24000024 && read <= 7 * 2 ** 20, [read, lost]);
const loud = await s.start("head -c 3000000 /dev/zero | tr '\\0' x | fold -w 80; echo y >&2");
await loud.wait();
let once = 0;
for await (const c of loud) once += c.dropped;
assert(once > 0 && once === (await loud.output(0)).dropped, 'what was dropped is counted once');
const cat = await s.start('cat');
await cat.stdin('x\n', { close: true });
assert((await cat.wait({ timeout: 30000 })).stdout === 'x\n', 'cat');
assert((await cat.output()).stdout === 'x\n' && (await cat.output()).stdout === '', 'output');
assert((await s.task(cat.id)).pid === cat.pid, 'task');
const a = new AbortController();
const going = s.run('touch started; sleep 1000', { signal: a.signal });
while (!(await s.run('test -e started')).exit_code === 0);
a.abort();
assert((await rejected(going)).name === 'AbortError', 'abort');
assert((await rejected(s.run('true', { signal: a.signal }))).name === 'AbortError', 'aborted before');
const forever = await s.start('sleep 1000');
for (const bad of [s.run('true', { outputKB: 1 }), s.start('true', { check: true }),
  forever.wait({ timeoutMs: 1 }), forever.kill({ graceMs: 1 }), forever.stdin('', { end: true }),
  forever.stream({ matches: 'x' }).next(), s.reset({ graceMs: 1 }), s.reset({ grace: '1s' }),
  forever.wait({ timeout: '1s' })]) assert((await rejected(bad)) instanceof TypeError, 'unknown');
assert((e = await rejected(s.reset({ grace: 0 }))).code === 'out_of_range', e);
assert((await forever.kill({ grace: 100 })).is_running === false, 'kill');
assert((await s.list()).length === 5 && (await s.reset({ grace: 500 })).workspace_cleared === true, 'reset');
const left = rejected(s.run('sleep 1000'));
const streamed = (await s.start('echo begun; sleep 1000')).stream();
assert((await streamed.next()).value.text === 'begun\n', 'begun');
const cutStream = rejected(streamed.next());
await s.close();
assert((await left).code === 'session_failed', 'a command ends with its session');
assert((await cutStream).code === 'session_failed', 'a stream ends with its session');
assert((await rejected(s.run('true'))).code === 'session_failed', 'closed');
const pool = await sbx.createPool({ ...o, size: 2 });
const counted = await pool.map(Array(12).fill('mkdir d-$$-$RANDOM; ls -d d-* | wc -l; sleep 0.05; rmdir d-$$-*'));
assert(counted.length === 12 && Math.max(...counted.map((c) => Number(c.stdout))) <= 2, 'no more than its size');
const ordered = await pool.map((async function* lines() { for (let i = 0; i < 9; i += 1) yield `echo ${i}`; }()));
assert(ordered.map((c) => c.stdout.trim()).join('') === '012345678', 'ordered');
const stop = new AbortController();
const ending = [1, 2, 3].map(() => rejected(pool.run('sleep 1000', { signal: stop.signal })));
stop.abort();
assert((await Promise.all(ending)).every((error) => error.name === 'AbortError'), 'pool abort');
assert((await rejected(pool.map(['true', 'sleep 1000'], { timeout: -1 }))).code === 'out_of_range', 'map rejects');
e = await rejected(pool.map(['true'], { cwd: '/nope' }));
assert(e instanceof sbx.SbxError && e.where === '/cwd', e);
assert((await pool.map([['no-such-program'], 'exit 3']))[0].error.code === 'not_found', 'the command is at fault');
assert((await pool.run('echo on')).stdout === 'on\n', 'pool goes on');
assert((await rejected(sbx.createPool({ ...o, size: 0 }))).where === '/size', 'size');
assert((await rejected(pool.map('ab'))) instanceof TypeError, 'a string is not mapped');
let returned = 0;
function* source() { try { for (;;) yield 'true'; } finally { returned += 1; } }
await rejected(pool.map(source(), { timeout: -1 }));
async function* slowSource() { try { for (;;) yield 'true'; } finally { returned += 1; } }
await rejected(pool.map(slowSource(), { timeout: -1 }));
await new Promise((resolve) => { setTimeout(resolve, 50); });
assert(returned === 2, 'a source is given back');
const mortal = await sbx.createPool({ ...o, size: 1, program: RECORDING });
for (let i = 0; i < 2; i += 1) {
  for (const word of ['one', 'two']) assert((await mortal.run(`echo ${word}`)).stdout === `${word}\n`, word);
  process.kill(Number(fs.readFileSync('server.pid')), 'SIGKILL');
  await new Promise((resolve) => { setTimeout(resolve, 300); });
}
assert((await mortal.map(['echo 1', 'echo 2'])).map((m) => m.stdout).join('') === '1\n2\n', 'another session');
await mortal.close();
fs.mkdirSync('a/a', { recursive: true });
const settled = await sbx.createPool({ ...o, size: 1, program: RECORDING, workspace: 'a' });
process.chdir('a');
process.kill(Number(fs.readFileSync('../server.pid')), 'SIGKILL');
await new Promise((resolve) => { setTimeout(resolve, 300); });
assert((await settled.run('pwd')).stdout === `${process.cwd()}\n`, 'a pool stays where it was made');
await settled.close();
process.chdir('..');
const cut = rejected(Promise.all([pool.run('sleep 1000'), pool.run('sleep 1000'), pool.run('true')]));
await pool.close();
assert(/session|cancelled|closed/.test((await cut).message), 'pool close');
assert((await rejected(pool.run('true'))).code === 'session_failed', 'pool closed');
const wide = await sbx.createPool({ ...o, size: 12 });
assert((await wide.map(Array(24).fill('true'))).every((m) => m.exit_code === 0), 'a wide pool');
await wide.close();
assert(warned.length === 0, warned.join());
const starting = await sbx.Session.open(o);
for (let i = 0; i < 30; i += 1) {
  const leaving = new AbortController();
  const begun = starting.start('sleep 333', { signal: leaving.signal }).then((t) => t.kill(), () => {});
  const until = Date.now() + (i % 10) * 3;
  while (Date.now() < until) ; // no answer is taken meanwhile
  leaving.abort();
  await begun;
}
for (let tries = 0; (await starting.list()).some((t) => t.status === 'running'); tries += 1) {
  assert(tries < 600, 'nobody waits for a task, and it runs');
  await new Promise((resolve) => { setTimeout(resolve, 50); });
}
await starting.close();
const template = fs.mkdtempSync('template-');
fs.writeFileSync(`${template}/a`, 'a');
const graders = await sbx.createPool({ ...o, size: 2, template });
const marks = await graders.map(Array(6).fill('ls; echo $RANDOM > b; rm a'));
assert(marks.every((m) => m.exit_code === 0 && m.stdout === 'a\n' && m.layer && m.changes.length === 2), JSON.stringify(marks[0]));
await graders.close();
assert(fs.readdirSync(template).join() === 'a', 'the template stays');
fs.rmSync(template, { recursive: true });
// One at rest keeps nobody: the process ends here, and the session with it.
const kept = await sbx.Session.open(o);
await kept.start('sleep 1000');
// Nor does a stream that nobody reads any more, once its task has ended.
await (await kept.start('echo 1; sleep 0.5; echo 2')).stream().next();
"""


class Package(session_harness.Case):
    def setUp(self):
        super().setUp()
        if not shutil.which("node"):
            self.skipTest("no node here (package nodejs)")
        self.env |= {"HOME": self.base, "npm_config_cache": f"{self.base}/npm",
                     "npm_config_update_notifier": "false"}
        self.tarballs = self.tool("node", f"{SOURCE}/bindings/node/pack.js", "--prefix", PREFIX,
                                  "--out", self.base).split()
        self.modules = os.path.join(self.work, "node_modules")
        os.mkdir(self.modules)
        for tarball in self.tarballs:  # what npm install does, without a registry
            with tarfile.open(tarball) as archive:
                archive.extractall(self.modules)
            name = re.sub(r"-[0-9.]+\.tgz$", "", os.path.basename(tarball))
            os.rename(os.path.join(self.modules, "package"), os.path.join(self.modules, name))

    def tool(self, *arguments):
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=2 * BOUND,
                              check=False, env=self.env, cwd=self.work)
        self.assertEqual(done.returncode, 0, (done.stdout, done.stderr))
        return done.stdout

    def body(self, transport):
        silent = self.program("silent", "exec sleep 1000")
        recording = self.program("recording", f'echo $$ > server.pid; exec {SBX_RUN} "$@"')
        return ("import * as sbx from 'sbx';\n" + BODY.replace("TRANSPORT", f"'{transport}'")
                .replace("SILENT", f"'{silent}'").replace("RECORDING", f"'{recording}'"))

    def program(self, name, line):
        path = self.write(name, f"#!/bin/sh\n{line}\n")
        os.chmod(path, 0o755)
        return path

    def script(self, text, name="test.mjs"):
        out = self.tool("node", self.write(f"work/{name}", text))
        self.assert_nothing_left()
        return out

    def test_holds_every_program_and_the_same_bytes_each_time(self):
        again = os.path.join(self.base, "again")
        self.tool("node", f"{SOURCE}/bindings/node/pack.js", "--prefix", PREFIX, "--out", again)
        for tarball in self.tarballs:
            with open(tarball, "rb") as one, open(f"{again}/{os.path.basename(tarball)}", "rb") as other:
                self.assertTrue(one.read() == other.read(), tarball)
        with tarfile.open(self.tarballs[0]) as archive:
            modes = {member.name: member.mode & 0o777 for member in archive if member.isfile()}
        for program in PROGRAMS:
            self.assertEqual(modes[f"package/native/{program}"], 0o755)
        for tarball in self.tarballs:
            with tarfile.open(tarball) as archive:
                description = json.load(archive.extractfile("package/package.json"))
            self.assertNotIn("scripts", description)

    def test_is_installed_by_npm(self):
        self.need_npm()
        shutil.rmtree(self.modules)
        self.tool("npm", "install", "--offline", "--no-audit", "--no-fund", "--omit=peer",
                  "--prefix", self.work, *self.tarballs)
        out = self.script("const sbx = require('sbx');\n"
                          "sbx.run('echo npm').then((r) => console.log(r.stdout));", "test.cjs")
        self.assertEqual(out, "npm\n\n")
        said = self.tool("npx", "--offline", "sbx-run", "exec", "--", "echo", "npx")
        self.assertEqual(said, "npx\n")

    def need_npm(self):
        if not shutil.which("npm"):
            self.skipTest("no npm here (package npm): the tarball is made without it")

    def take_koffi(self):
        for name in ("koffi", "@koromix"):
            if os.path.exists(os.path.join(KOFFI, name)):
                shutil.copytree(os.path.join(KOFFI, name), os.path.join(self.modules, name))

    def test_over_a_child_process(self):
        self.script(self.body("child"))

    def test_a_session_ends_with_its_worker(self):
        self.take_koffi()
        self.script("""
import fs from 'node:fs';
import { Worker } from 'node:worker_threads';
const worker = new Worker(`const sbx = require('sbx');
  sbx.Session.open().then(async (s) => {
    s.run('sleep 1000').catch(() => {});
    require('worker_threads').parentPort.postMessage((await s.call('hello')).pid);
  });`, { eval: true });
const pid = await new Promise((resolve) => { worker.on('message', resolve); });
await worker.terminate();
const isThere = () => {
  try {
    return !/^State:\\tZ/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};
for (let tries = 0; isThere(); tries += 1) {
  if (tries > 400) throw new Error('the server runs on');
  await new Promise((resolve) => { setTimeout(resolve, 50); });
}
""")

    def test_an_answer_that_names_no_call_fails_those_that_wait(self):
        data = '{"code":"bad_json","message":"cannot be read","where":"","hint":""}'
        server = self.program("server", f"""
read line; echo '{{"jsonrpc":"2.0","id":1,"result":{{}}}}'
read line; read line
echo '{{"jsonrpc":"2.0","id":null,"error":{{"code":-32700,"message":"","data":{data}}}}}'
read line""")
        out = self.script(f"""
import {{ Session }} from 'sbx';
const s = await Session.open({{ transport: 'child', program: '{server}' }});
const codes = await Promise.all([s.run('a'), s.run('b')].map((call) => call.catch((error) => error.code)));
console.log(codes.join());
await s.close();
""")
        self.assertEqual(out, "bad_json,bad_json\n")

    def test_over_koffi(self):
        if not KOFFI:
            self.skipTest("no koffi here: SBX_TEST_KOFFI=…/node_modules of `npm install koffi`")
        self.take_koffi()
        self.script(self.body("koffi"))

    def test_a_layer_is_compared_committed_and_taken_back(self):
        self.env["XDG_STATE_HOME"] = self.base + "/state"
        os.mkdir(self.base + "/tree")
        self.script("""
import * as sbx from 'sbx';
import fs from 'node:fs';
const assert = (holds, what) => { if (!holds) throw new Error(`does not hold: ${what}`); };
const s = await sbx.Session.open({ workspace: '../tree', flags: ['--layer', 'x'] });
const r = await s.run('echo new > a; echo b > b');
assert(r.layer.name === 'x' && r.layer.kind === 'overlay', r.layer);
assert(fs.readdirSync('../tree').length === 0, 'the real tree');
assert((await s.layer.diff()).includes('+new') && !(await s.layer.diff('b')).includes('+new'), 'diff');
assert((await s.layer.changes()).every((c) => c.kind === 'created'), 'changes');
assert(await s.layer.checkpoint('one') === 'one', 'checkpoint');
await s.run('rm b');
await s.layer.rollback('one');
await s.layer.branch('y');
assert((await s.layers()).map((l) => l.name).join() === 'x,y', 'layers');
assert((await s.layer.commit('b')).length === 1 && fs.existsSync('../tree/b'), 'commit');
assert((await s.layer.undo()).length === 1 && !fs.existsSync('../tree/b'), 'undo');
await s.layer.discard('b');
assert((await s.layer.changes()).length === 1, 'discard');
const e = await s.layer.rollback('none').then(() => null, (error) => error);
assert(e instanceof sbx.SbxError && e.code === 'layer_not_found', e);
await s.close();
""")

    def test_the_types_name_the_options_there_are(self):
        with open(f"{SOURCE}/bindings/node/lib/index.d.ts", encoding="utf-8") as file:
            types = file.read()
        def named(interface):
            body = re.search(rf"interface {interface} (?:extends \w+ )?{{(.*?)\n}}", types, re.DOTALL)
            return re.findall(r"^  (\w+)\?:", body[1], re.MULTILINE)
        out = self.script("const r = require('./node_modules/sbx/lib/request.js');\n"
                          "console.log(JSON.stringify([r.OPENING, r.COMMAND, r.RUN]));", "test.cjs")
        opening, command, run = json.loads(out)
        self.assertEqual(sorted(named("OpenOptions")), sorted(opening))
        self.assertEqual(sorted(named("CommandOptions")), sorted([*command, "signal"]))
        self.assertEqual(sorted([*named("CommandOptions"), *named("RunOptions")]), sorted(run))

    def test_by_require(self):
        out = self.script("const sbx = require('sbx');\n"
                          "sbx.run('echo cjs').then((r) => console.log(r.stdout));", "test.cjs")
        self.assertEqual(out, "cjs\n\n")

    def test_examples_of_the_page_run(self):
        with open(f"{SOURCE}/docs/node.md") as file:
            examples = re.findall(r"<!-- run -->\n```js\n(.*?)```", file.read(), re.DOTALL)
        self.assertGreaterEqual(len(examples), 2)
        with open(f"{SOURCE}/bindings/node/README.md") as file:
            examples += re.findall(r"```js\n(.*?)```", file.read(), re.DOTALL)
        self.assertGreaterEqual(len(examples), 3)
        for example in examples:
            self.script(example)

    def test_agent_loop(self):
        with open(f"{SOURCE}/examples/agent_loop.mjs") as file:
            out = self.script(file.read())
        self.assertEqual(out.splitlines()[-1], "The program printed 42.")
        self.assertIn("refused: ", out)


if __name__ == "__main__":
    import unittest
    unittest.main()
