# SPDX-License-Identifier: Apache-2.0
"""The Python package, from its wheel, in a directory with nothing else."""

import os
import re
import signal
import subprocess
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))

import session_harness  # noqa: E402
from harness import BOUND, SBX_RUN, SOURCE  # noqa: E402

PACKAGE = os.path.join(SOURCE, "bindings", "python")
PREFIX = os.path.dirname(os.path.dirname(SBX_RUN))
# 24 lines of a million bytes
BIG = "for i in $(seq 24); do head -c 1000000 /dev/zero | tr '\\0' x; echo; sleep 0.02; done"


class Case(session_harness.Case):
    def setUp(self):
        super().setUp()
        done = subprocess.run([sys.executable, f"{PACKAGE}/build_wheel.py", "--prefix", PREFIX,
                               "--out", self.base], capture_output=True, text=True,
                              timeout=BOUND, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.wheel = done.stdout.strip()
        self.site = os.path.join(self.base, "site")
        with zipfile.ZipFile(self.wheel) as wheel:
            wheel.extractall(self.site)
            for info in wheel.infolist():
                os.chmod(os.path.join(self.site, info.filename), info.external_attr >> 16 & 0o777)

    def python(self, script, *arguments, **options):
        options.setdefault("timeout", BOUND)
        return subprocess.run(
            [sys.executable, "-s", "-X", "dev", "-W", "error", "-c", script, *arguments],
            env={**self.env, "PYTHONPATH": self.site}, cwd=self.work, capture_output=True,
            text=True, check=False, **options)

    def script(self, text, *arguments, out=None):
        """Runs a script that must end well and leave nothing behind."""
        done = self.python(text, *arguments)
        # What asyncio says in development mode on a machine that is busy with more.
        said = re.sub(r"^Executing <.*> took [\d.]+ seconds\n", "", done.stderr, flags=re.MULTILINE)
        self.assertEqual((done.returncode, said), (0, ""), done.stdout)
        if out is not None:
            self.assertEqual(done.stdout, out)
        self.assert_nothing_left()
        return done.stdout


class Wheel(Case):
    def test_is_the_same_from_the_same_files(self):
        with open(self.wheel, "rb") as file:
            first = file.read()
        done = subprocess.run([sys.executable, f"{PACKAGE}/build_wheel.py", "--prefix", PREFIX,
                               "--out", self.work], capture_output=True, timeout=BOUND, check=True)
        with open(done.stdout.decode().strip(), "rb") as file:
            self.assertEqual(file.read() == first, True)

    def test_is_installed_by_pip(self):
        target = os.path.join(self.base, "target")
        pip = [sys.executable, "-m", "pip"]
        if subprocess.run([*pip, "--version"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no pip here (package python3-pip)")
        subprocess.run([*pip, "install", "-q", "--no-index", "--no-deps", "--no-cache-dir",
                        "--target", target, self.wheel], check=True, timeout=BOUND,
                       capture_output=True, env={**self.env, "HOME": self.base})
        self.site = target
        self.script("import sbx; print(sbx.run('echo installed').stdout, end='')",
                    out="installed\n")
        done = subprocess.run([sys.executable, "-s", "-m", "sbx", "exec", "-c", "echo as it is; exit 5"],
                              capture_output=True, text=True, timeout=BOUND, check=False,
                              cwd=self.work, env={**self.env, "PYTHONPATH": target})
        self.assertEqual((done.returncode, done.stdout, done.stderr), (5, "as it is\n", ""))

    def test_works_in_an_environment_of_its_own(self):
        venv = os.path.join(self.base, "venv")
        made = subprocess.run([sys.executable, "-m", "venv", venv], capture_output=True, text=True,
                              timeout=2 * BOUND, check=False, env={**self.env, "HOME": self.base})
        if made.returncode != 0:
            self.skipTest("no venv here (package python3-venv)")
        python = os.path.join(venv, "bin", "python")
        subprocess.run([python, "-m", "pip", "install", "-q", "--no-index", "--no-cache-dir",
                        self.wheel], check=True, timeout=2 * BOUND, capture_output=True,
                       env={**self.env, "HOME": self.base})
        done = subprocess.run(
            [python, "-I", "-c", "import sbx; print(sbx.run('echo clean').stdout, sbx.__file__)"],
            capture_output=True, text=True, timeout=BOUND, check=False, cwd=self.work, env=self.env)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        said, _, place = done.stdout.partition("\n ")
        command = subprocess.run([os.path.join(venv, "bin", "sbx-run"), "exec", "--", "echo", "x"],
                                 capture_output=True, text=True, timeout=BOUND, check=False,
                                 cwd=self.work, env=self.env)
        self.assertEqual((command.returncode, command.stdout), (0, "x\n"), command)
        self.assertEqual((said, place.startswith(venv)), ("clean", True))
        self.assert_nothing_left()

    def test_types_are_checked(self):
        mypy = [sys.executable, "-m", "mypy"]
        if subprocess.run([*mypy, "--version"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no mypy here (package python3-mypy)")
        done = subprocess.run([*mypy, "--strict", "--cache-dir", self.base,
                               os.path.join(self.site, "sbx")], capture_output=True, text=True,
                              timeout=BOUND, check=False, cwd=self.base)
        self.assertEqual(done.returncode, 0, done.stdout)


class Run(Case):
    def test_gives_results_as_dataclasses(self):
        self.script("""if 1:
            import sbx
            r = sbx.run("echo out; echo err >&2; exit 3")
            assert (r.status, r.exit_code, r.stdout, r.stderr) == ("exited", 3, "out\\n", "err\\n")
            assert not r.ok and r.was_run and r.raw["exit_code"] == 3
            assert r.sandbox["layers"]["seccomp"] is True
            assert sbx.run(["printf", "%s", "a  b"]).stdout == "a  b"
            assert sbx.run("cat", input="a\\0\\u00e9").stdout == "a\\0\\u00e9"
            assert sbx.run("cat d/x; cat b", files={"d/x": "1", "b": b"2"}).stdout == "12"
            assert sbx.run("echo 1; echo 2 >&2", merge=True).stdout == "1\\n2\\n"
            r = sbx.run("sleep 100", timeout=0.2)
            assert r.timed_out and r.status == "timed_out"
            assert sbx.run("kill -SEGV $$").signal == "SIGSEGV"
            assert sbx.run(["/no/such/program"]).error["code"] == "not_found"
        """)

    def test_a_layer_is_compared_committed_and_taken_back(self):
        with open(self.work + "/a", "w") as file:
            file.write("old\n")
        self.env["XDG_STATE_HOME"] = self.base + "/state"
        self.script("""if 1:
            import os, pathlib, sbx
            with sbx.Session(workspace=".", flags=["--layer", "x"]) as session:
                r = session.run("echo new > a; echo b > b")
                assert r.layer == {"name": "x", "kind": "overlay"}, r.layer
                assert pathlib.Path("a").read_text() == "old\\n" and not os.path.exists("b")
                assert "+new" in session.layer.diff() and "+new" not in session.layer.diff("b")
                assert [c["kind"] for c in session.layer.changes()] == ["modified", "created"]
                assert session.layer.checkpoint("one") == "one"
                session.run("rm b")
                session.layer.rollback("one")
                session.layer.branch("y")
                assert [layer["name"] for layer in session.layers()] == ["x", "y"]
                assert len(session.layer.commit("b")) == 1 and os.path.exists("b")
                assert len(session.layer.undo()) == 1 and not os.path.exists("b")
                session.layer.discard("b")
                assert len(session.layer.changes()) == 1
                try:
                    session.layer.rollback("none")
                    raise SystemExit("a label that is none is taken")
                except sbx.SbxError as error:
                    assert error.code == "layer_not_found", error
                pathlib.Path("a").write_text("theirs\\n")
                try:
                    session.layer.commit()
                    raise SystemExit("a conflict is committed")
                except sbx.SbxError as error:
                    assert error.code == "layer_conflict", error
                assert pathlib.Path("a").read_text() == "theirs\\n"
        """)

    def test_shows_what_was_written(self):
        self.script("import sbx\n"
                    "result = sbx.run('echo hi; echo no >&2; exit 3')\n"
                    "assert repr(result) == (\"Result(status='exited', exit_code=3, stdout='hi\\\\n', \"\n"
                    "                        \"stderr='no\\\\n')\"), repr(result)\n"
                    "assert len(repr(sbx.run('seq 100000'))) < 1000\n")

    def test_times_are_numbers_or_texts_and_nothing_else(self):
        self.script("import sbx\n"
                    "assert sbx.run('sleep 60', timeout='200ms').timed_out\n"
                    "assert sbx.run('true', timeout='10s').ok and sbx.run('true', timeout='1.5m').ok\n"
                    "for bad in ('10 s', 'soon', '', True, [1], b'1'):\n"
                    "    try:\n"
                    "        sbx.run('true', timeout=bad)\n"
                    "        raise SystemExit(f'{bad!r} is taken')\n"
                    "    except TypeError as error:\n"
                    "        assert repr(bad) in str(error), error\n")

    def test_takes_presets(self):
        self.script("import sbx\n"
                    "assert sbx.run('true', with_='python').ok\n"
                    "assert sbx.run('true', with_=['node', 'python'], flags=['--trace-denials']).ok\n"
                    "try:\n"
                    "    sbx.Session(with_=['no-such'])\n"
                    "except sbx.SbxError as error:\n"
                    "    assert error.code == 'profile_not_found', error\n"
                    "else:\n"
                    "    raise SystemExit('taken')\n")

    def test_raises_what_check_asks_for(self):
        self.script("""if 1:
            import sbx
            def raised(kind, *args, **kwargs):
                try:
                    sbx.run(*args, **kwargs)
                except kind as error:
                    return error
                raise AssertionError(kind)
            e = raised(sbx.CommandFailed, "echo why >&2; exit 2", check=True)
            assert e.result.exit_code == 2 and "why" in str(e), e
            raised(sbx.CommandTimedOut, "sleep 9", timeout=0.1, check=True)
            raised(sbx.CommandFailed, ["/no/such"], check=True)
            e = raised(sbx.InvalidRequest, "true", timeout=-1)
            assert (e.code, e.where) == ("out_of_range", "/timeout_ms")
            e = raised(sbx.SbxError, "true", profile="no-such")
            assert "no-such" in e.message
            e = raised(sbx.SbxError, "true", program="/nonexistent")
            assert e.code == "not_found" and e.hint
            e = raised(sbx.InvalidRequest, "echo \\ud800")
            raised(sbx.SessionEnded, "true", program="/bin/true")
        """)

    def test_uses_the_workspace_and_the_operators_flags(self):
        with open(os.path.join(self.work, "here"), "w") as file:
            file.write("seen")
        self.script("""if 1:
            import sbx, sys
            assert sbx.run("cat here", workspace=".").stdout == "seen"
            r = sbx.run("echo x > here", workspace=".", flags=["--ro", sys.argv[1]])
            assert not r.ok, r
        """, self.work)

    def test_left_by_an_interrupt_ends_the_command(self):
        script = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n" \
                 f"import sbx; sbx.run('sleep 1000; : {self.base}', workspace='.')"
        host = subprocess.Popen([sys.executable, "-c", script], cwd=self.work, text=True,
                                env={**self.env, "PYTHONPATH": self.site}, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, host)
        inside = f"sleep 1000; : {self.base}"
        self.assertTrue(session_harness.until(lambda: len(session_harness.processes(inside)) > 1))
        host.send_signal(signal.SIGINT)
        self.assertIn("KeyboardInterrupt", host.communicate(timeout=BOUND)[1])
        self.assertTrue(session_harness.until(lambda: not session_harness.processes(inside)))
        self.assert_nothing_left()


class Session(Case):
    def test_holds_tasks(self):
        self.script("""if 1:
            import sbx
            with sbx.Session() as s:
                t = s.start("while read l; do echo got $l; echo e >&2; done; exit 4")
                assert t.status().is_running
                t.stdin("one\\n")
                seen = ""
                while "got one" not in seen:
                    seen += t.output().stdout
                assert t.output().stdout == ""
                assert t.wait(timeout=0.05).is_running
                assert [x.task_id for x in s.list()] == [t.id]
                assert s.task(t.id).pid == t.pid
                t.stdin(close=True)
                assert t.wait().exit_code == 4
                k = s.start("trap '' TERM; sleep 1000 & wait; sleep 1000")
                assert k.kill(grace=0.1).status == "killed"
                assert s.reset() is True
                assert s.list() == []
                try:
                    t.status()
                    raise AssertionError
                except sbx.InvalidRequest as error:
                    assert error.code == "task_not_found"
        """)

    def test_streams_output_and_matches(self):
        self.script("""if 1:
            import sbx
            with sbx.Session() as s:
                t = s.start("for i in 1 2 3; do echo out $i; echo err $i >&2; sleep 0.05; done")
                chunks = list(t.stream())
                text = lambda n: "".join(c.text for c in chunks if c.stream == n)
                assert text("stdout") == "out 1\\nout 2\\nout 3\\n"
                assert text("stderr") == "err 1\\nerr 2\\nerr 3\\n"
                assert [c.text for c in t.stream(match="[23]$") if c.stream == "stdout"] == [
                    "out 2", "out 3"]
                assert [c.text for c in t][0].startswith("out 1")
        """)

    def test_a_start_that_cannot_begin_raises(self):
        self.script("""if 1:
            import sbx
            with sbx.Session() as s:
                try:
                    s.start(["no-such-program"])
                    raise AssertionError
                except sbx.CommandFailed as failed:
                    assert failed.result.error["code"] == "not_found", failed
                assert s.list() == []
        """)

    def test_a_slow_reader_of_a_stream_holds_a_bounded_amount(self):
        self.script(f"""if 1:
            import asyncio, sbx
            big = {BIG!r}
            def check(chunks):
                read = sum(len(c.text) for c in chunks)
                assert read + sum(c.dropped for c in chunks) == 24_000_024, read
                assert read <= 7 << 20, read
                assert chunks[-1].text.endswith("x\\n")
            with sbx.Session() as s:
                t = s.start(big)
                reader = t.stream()
                chunks = [next(reader)]
                t.wait()
                check(chunks + list(reader))
            async def main():
                async with sbx.AsyncSession() as s:
                    t = await s.start(big)
                    reader = t.stream()
                    chunks = [await reader.__anext__()]
                    await t.wait()
                    check(chunks + [c async for c in reader])
            asyncio.run(main())
        """)

    def test_serves_threads_and_outlives_the_one_that_opened_it(self):
        self.script("""if 1:
            import sbx, threading
            box = []
            opener = threading.Thread(target=lambda: box.append(sbx.Session()))
            opener.start(); opener.join()
            s, wrong = box[0], []
            def work(i):
                for k in range(5):
                    if s.run(f"echo {i}.{k}").stdout != f"{i}.{k}\\n":
                        wrong.append((i, k))
            threads = [threading.Thread(target=work, args=(i,)) for i in range(16)]
            [t.start() for t in threads]; [t.join() for t in threads]
            assert not wrong, wrong
            waiting = threading.Thread(target=lambda: box.append(caught(s)))
            def caught(s):
                try:
                    return s.run("sleep 1000")
                except sbx.SbxError as error:
                    return error
            waiting.start()
            while not threading.active_count() > 2: pass
            s.close(); waiting.join(30); s.close()
            assert isinstance(box[1], sbx.SessionEnded) or box[1].status == "cancelled", box[1]
            try:
                s.run("true")
                raise AssertionError
            except sbx.SessionEnded:
                pass
        """)

    def test_is_closed_when_forgotten_and_at_exit(self):
        self.script("""if 1:
            import gc, os, sbx
            before = len(os.listdir("/proc/self/fd"))
            for _ in range(10):
                s = sbx.Session()
                s.start("sleep 1000")
                del s
                gc.collect()
            assert len(os.listdir("/proc/self/fd")) == before
            kept = sbx.Session()
            kept.start("sleep 1000")
        """)

    def test_belongs_to_the_process_that_opened_it(self):
        self.script("""if 1:
            import os, pathlib, sbx
            s = sbx.Session()
            pid = os.fork()
            if pid == 0:
                try:
                    s.run("true")
                    os._exit(1)
                except sbx.SessionEnded:
                    pass
                s.close()
                os._exit(0 if sbx.run("exit 0").ok else 2)
            assert os.waitpid(pid, 0)[1] == 0
            assert s.run("echo whole").stdout == "whole\\n"
            s.close()
        """)

    def test_checks_explains_and_calls_anything(self):
        self.script("""if 1:
            import sbx
            with sbx.Session() as s:
                assert len(s.operator_token) >= 32
                assert s.call("list") == {"tasks": []}
                try:
                    s.call("no_such")
                    raise AssertionError
                except sbx.InvalidRequest as error:
                    assert error.code == "unknown_method"
                try:
                    assert s.check("sudo ls")["verdict"] == "deny"
                    assert "mounts" in str(s.explain("ls"))
                except sbx.InvalidRequest as error:
                    print("no check:", error)
        """)


class Asyncio(Case):
    def test_runs_streams_and_cancels(self):
        self.script("""if 1:
            import asyncio, sbx, time
            async def main():
                async with sbx.AsyncSession() as s:
                    got = await asyncio.gather(*(s.run(f"echo {i}") for i in range(20)))
                    assert [r.stdout for r in got] == [f"{i}\\n" for i in range(20)]
                    running = asyncio.create_task(s.run("touch started; sleep 1000"))
                    while not (await s.run("test -e started")).ok:
                        pass
                    running.cancel()
                    try:
                        await running
                        raise AssertionError
                    except asyncio.CancelledError:
                        pass
                    t = await s.start("echo a; sleep 0.05; echo b >&2")
                    assert sorted([c.text async for c in t.stream()]) == ["a\\n", "b\\n"]
                    assert (await t.wait()).exit_code == 0
                    t = await s.start("cat")
                    await t.stdin("x\\n", close=True)
                    assert (await t.wait(30)).stdout == "x\\n"
                    assert (await t.output()).stdout == "x\\n"
                    assert len(await s.list()) == 2
                    assert await s.reset()
                    left = asyncio.create_task(s.run("sleep 1000"))
                    await asyncio.sleep(0.1)
                try:
                    assert (await left).status == "cancelled"
                except sbx.SessionEnded:
                    pass
                try:
                    await s.run("true")
                    raise AssertionError
                except sbx.SessionEnded:
                    pass
            asyncio.run(main())
        """)


class Pages(Case):
    def test_examples_of_the_page_run(self):
        with open(f"{SOURCE}/docs/python.md") as file:
            examples = re.findall(r"<!-- run -->\n```python\n(.*?)```", file.read(), re.DOTALL)
        self.assertGreaterEqual(len(examples), 4)
        with open(f"{PACKAGE}/README.md") as file:
            examples += re.findall(r"```python\n(.*?)```", file.read(), re.DOTALL)
        self.assertGreaterEqual(len(examples), 5)
        for example in examples:
            self.script(example)

    def test_tools_answer_an_agent(self):
        self.script("""if 1:
            import asyncio, sbx
            with sbx.Session(profile="tool-bash") as s:
                bash = sbx.tools.bash_tool(s)
                assert bash.definition["name"] == "bash" and bash.definition["input_schema"]
                answer = bash.handle({"command": "echo hi", "description": "Say hi"})
                assert "hi" in answer.text and not answer.is_error, answer
                answer = bash.handle({"command": "sudo ls", "description": "Try"})
                assert answer.is_error, answer
                answer = bash.handle({"comand": "x"})
                assert answer.is_error and "command" in answer.text, answer
                assert "function" in sbx.tools.definition("bash", style="openai")
            async def main():
                async with sbx.AsyncSession(profile="tool-bash") as s:
                    bash = sbx.tools.async_bash_tool(s)
                    answer = await bash.handle({"command": "echo hi", "description": "Say hi"})
                    assert "hi" in answer.text
            asyncio.run(main())
        """)


class Executor(Case):
    def test_gives_results_and_exceptions(self):
        self.script("""
import concurrent.futures, sbx
with sbx.Executor(2) as e:
    ok, failed, missing = e.submit("echo hi"), e.submit("exit 3"), e.submit(["no-such-program"])
    bad, worse = e.submit("true", timeout=-1), e.submit("true", cwd="/nowhere/at/all")
    assert ok.result(60).stdout == "hi\\n"
    assert failed.result(60).exit_code == 3
    assert missing.result(60).error["code"] == "not_found"
    assert isinstance(bad.exception(60), sbx.InvalidRequest)
    assert isinstance(worse.exception(60), sbx.SbxError), worse.result()
    assert [r.stdout for r in e.map([f"printf {i}" for i in range(30)])] == [
        str(i) for i in range(30)]
    try:
        e.submit("true", bogus=1)
    except TypeError:
        pass
    else:
        raise AssertionError
try:
    e.submit("true")
except RuntimeError:
    pass
else:
    raise AssertionError
for count in (0, -1):
    try:
        sbx.Executor(count)
    except ValueError:
        pass
    else:
        raise AssertionError
""")

    def test_each_command_has_a_layer_of_its_own_over_a_template(self):
        self.script("""
import os, tempfile, sbx
with tempfile.TemporaryDirectory() as base:
    template = os.path.join(base, "t")
    os.mkdir(template)
    open(os.path.join(template, "a"), "w").close()
    with sbx.Executor(2, template=template) as e:
        for r in e.map(["ls; echo $RANDOM > b; rm a"] * 6):
            assert (r.stdout, r.exit_code) == ("a\\n", 0), r
            assert r.layer and len(r.changes) == 2, r
    assert os.listdir(template) == ["a"]
    with sbx.Executor(2, template=template, keep_layers=True) as e:
        names = {r.layer["name"] for r in e.map(["echo > b"] * 3)}
        assert len(names) == 3, names
    assert os.listdir(template) == ["a"]
    with sbx.Executor(1, template=template, workspace=base) as e:
        assert "--workspace" in str(e.submit("true").exception(60))
""")

    def test_runs_no_more_than_its_workers_at_a_time(self):
        self.script("""
import sbx
with sbx.Executor(2) as e:
    count = "mkdir d-$$-$RANDOM; ls -d d-* | wc -l; sleep 0.05; rmdir d-$$-*"
    most = max(int(r.stdout) for r in e.map([count] * 12))
assert most <= 2, most
""")

    def test_cancels_what_waits_and_what_runs(self):
        self.script("""
import concurrent.futures, time, sbx
with sbx.Executor(1) as e:
    running, waiting = e.submit("sleep 1000"), e.submit("echo no")
    while not running.running():
        time.sleep(0.01)
    assert waiting.cancel() and waiting.cancelled()
    time.sleep(0.2)
    called = []
    running.add_done_callback(called.append)
    assert running.cancel() and running.cancelled() and called == [running]
    done, _ = concurrent.futures.wait([running, waiting], timeout=30)
    assert len(done) == 2
    after = e.submit("echo after")
    assert after.result(60).stdout == "after\\n" and not after.cancel()
e = sbx.Executor(1)
futures = [e.submit("sleep 0.3; echo x")] + [e.submit("echo y") for _ in range(5)]
while not futures[0].running():
    time.sleep(0.01)
e.shutdown(wait=True, cancel_futures=True)
assert futures[0].result(0).stdout == "x\\n" and all(f.cancelled() for f in futures[1:])
e = sbx.Executor(1)
futures = [e.submit("echo z") for _ in range(3)]
e.shutdown(wait=False)
assert all(f.result(60).stdout == "z\\n" for f in futures)
""")

    def test_does_what_concurrent_futures_asks_of_every_executor(self):
        self.script("""
import concurrent.futures, time, weakref, sbx
def fails():
    raise ZeroDivisionError
with sbx.Executor(3) as e:
    assert e.submit(pow, 2, 8).result() == 256
    assert e.submit(int, "7", base=8).result() == 7
    assert isinstance(e.submit(fails).exception(), ZeroDivisionError)
    assert list(e.map(pow, range(10), range(10))) == list(map(pow, range(10), range(10)))
    i = e.map(divmod, [1, 1, 1, 1], [2, 3, 0, 5])
    assert (next(i), next(i)) == ((0, 1), (0, 1))
    try:
        next(i)
    except ZeroDivisionError:
        pass
    else:
        raise AssertionError
    try:
        list(e.map(["sleep 1000"], timeout=0.1))
    except concurrent.futures.TimeoutError:
        pass
    else:
        raise AssertionError
    futures = [e.submit("true") for _ in range(8)]
    assert {f for f in concurrent.futures.as_completed(futures, timeout=60)} == set(futures)
    first = concurrent.futures.wait([e.submit("true"), e.submit("sleep 3")], timeout=60,
                                    return_when=concurrent.futures.FIRST_COMPLETED)
    assert len(first.done) == 1 and len(first.not_done) == 1
    for future in first.not_done:
        assert future.cancel()
""")

    def test_works_in_process_pools_and_gathers_a_thousand(self):
        self.script("""
import asyncio, concurrent.futures, sbx
def work(executor, i):
    with executor:
        return executor.submit(f"echo {i}").result(60).stdout
if __name__ == "__main__":
    shared = sbx.Executor(2)
    assert shared.submit("true").result(60).ok
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        assert list(pool.map(work, [shared] * 4, range(4))) == [f"{i}\\n" for i in range(4)]
    async def main():
        return await asyncio.gather(*(asyncio.wrap_future(shared.submit(["true"]))
                                      for _ in range(1000)))
    assert all(r.ok for r in asyncio.run(main()))
    shared.shutdown()
""")

    def test_works_in_the_workers_of_dask(self):
        if subprocess.run([sys.executable, "-c", "import distributed"], capture_output=True,
                          check=False).returncode != 0:
            self.skipTest("no Dask here (package python3-distributed)")
        path = self.write("dask_host.py", """
import dask.distributed, sbx
def work(executor, i):
    with executor:
        return executor.submit(f"echo {i}").result(60).stdout
if __name__ == "__main__":
    cluster = dask.distributed.LocalCluster(n_workers=2, threads_per_worker=1,
                                            dashboard_address=None)
    with cluster, dask.distributed.Client(cluster) as client:
        futures = client.map(work, [sbx.Executor(1)] * 6, range(6))
        assert client.gather(futures) == [f"{i}\\n" for i in range(6)]
    print("well")
""")
        done = subprocess.run([sys.executable, path], cwd=self.base, capture_output=True, text=True,
                              timeout=3 * BOUND, check=False,
                              env={**self.env, "PYTHONPATH": self.site, "HOME": self.base})
        self.assertEqual((done.returncode, done.stdout), (0, "well\n"), done.stderr)



if __name__ == "__main__":
    import unittest
    unittest.main()
