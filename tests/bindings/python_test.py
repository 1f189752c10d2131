# SPDX-License-Identifier: Apache-2.0
"""The Python package: one command, sessions, tasks, pages."""

import os
import re
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from python_harness import BOUND, PACKAGE, PREFIX, SOURCE, Case, session_harness  # noqa: E402

# 24 lines of a million bytes
BIG = "for i in $(seq 24); do head -c 1000000 /dev/zero | tr '\\0' x; echo; sleep 0.02; done"


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
            assert (r.connections, r.unlisted_connections, r.unlisted_requests, r.shell) == ([], 0, 0, None)
        """)

    def test_results_have_every_field_of_the_page(self):
        with open(f"{SOURCE}/docs/result.md", encoding="utf-8") as file:
            tables = re.findall(r"^\| field \| type \|.*\n(?:\|.*\n)+", file.read(), re.MULTILINE)
        rows = [row.split("|")[1] for table in tables for row in table.splitlines()[2:]]
        names = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
        self.assertGreater(len(names), 20)
        names -= {"id", "line"}  # of batch
        self.script(f"import sbx\nmissing = {names!r} - set(sbx.Result.__dataclass_fields__)\n"
                    "assert not missing, missing")

    def test_keeps_a_shell(self):
        self.script("""if 1:
            import asyncio, sbx
            with sbx.Session() as s:
                s.run("x=1; cd /usr", shell="kept", check=True)
                r = s.run("echo $x $PWD", shell="kept")
                assert (r.stdout, r.shell["kept"]) == ("1 /usr\\n", True), r
                assert s.run("exit 3", shell="kept").shell["restarted"]
            async def main():
                async with sbx.AsyncSession() as s:
                    assert (await s.run("true", shell="kept")).shell["kept"]
            asyncio.run(main())
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

    def test_takes_paths_and_bytes_where_they_are_plain_and_names_the_argument_else(self):
        self.script("""if 1:
            import pathlib, sbx
            def raised(kind, call, *words):
                try:
                    raise SystemExit(f"taken: {call()}")
                except kind as error:
                    assert all(word in str(error) for word in words), error
            with sbx.Session() as s:
                assert s.run("cat", input=b"\\xc3\\xa9").stdout == "\u00e9"
                assert s.run("cat", input=bytearray(b"x")).stdout == "x"
                assert s.run(["test", "-d", pathlib.Path("/usr")]).ok
                assert s.run("pwd", cwd=pathlib.Path("/usr")).stdout == "/usr\\n"
                assert s.run("cat a", files={pathlib.Path("a"): "b"}).stdout == "b"
                raised(TypeError, lambda: s.run("cat", input=b"\\xff"), "input", "UTF-8")
                raised(TypeError, lambda: s.run("cat", input=5), "input")
                raised(TypeError, lambda: s.run(b"ls"), "command", "b'ls'")
                raised(TypeError, lambda: s.run(None), "command", "None")
                raised(TypeError, lambda: s.run(["ls", b"x"]), "command[1]", "b'x'")
                raised(TypeError, lambda: s.run("ls", cwd=b"/usr"), "cwd", "b'/usr'")
                raised(TypeError, lambda: s.run("ls", files={b"a": "b"}), "files", "b'a'")
                raised(TypeError, lambda: s.run("ls", files={"a": 5}), "files['a']", "5")
                raised(TypeError, lambda: s.run("ls", env={"A": 1}), "env['A']", "1")
                raised(TypeError, lambda: sbx.Session(profile=b"x"), "profile", "b'x'")
                raised(TypeError, lambda: sbx.Session(flags=["--ro", 5]), "flags[1]", "5")
                for endless in (float("inf"), float("-inf"), float("nan"), 1e308):
                    raised(sbx.InvalidRequest, lambda: s.run("true", timeout=endless),
                           "out_of_range", "/timeout_ms")
                raised(sbx.InvalidRequest, lambda: s.start("cat").kill(float("inf")), "/grace_ms")
                raised(sbx.InvalidRequest, lambda: s.call("list\\0x"), "unknown_method")
                raised(sbx.InvalidRequest, lambda: s.call("list\\udc80"), "unknown_method")
                raised(TypeError, lambda: s.call(5), "method")
        """)

    def test_takes_the_requests_own_names(self):
        self.script("""if 1:
            import asyncio, sbx
            assert sbx.run("sleep 60", timeout_ms=200).timed_out
            def twice(call):
                try:
                    raise SystemExit(f"taken: {call()}")
                except TypeError as error:
                    assert "one argument" in str(error), error
            with sbx.Session() as s:
                files = [{"path": "a", "content": "echo a", "mode": "755"}]
                assert s.run(["./a"], files=files).stdout == "a\\n"
                assert s.start("cat", stdin="x").wait(60).stdout == "x"
                twice(lambda: s.run("true", timeout=1, timeout_ms=1000))
                twice(lambda: s.start("true", input="", stdin=""))
            with sbx.Executor(1) as e:
                assert e.submit("cat", stdin="x", timeout_ms=60000).result(60).stdout == "x"
                twice(lambda: e.submit("true", timeout=1, timeout_ms=1000))
            async def main():
                async with sbx.AsyncSession() as s:
                    assert (await s.run("cat", stdin="x", timeout_ms=60000)).stdout == "x"
            asyncio.run(main())
        """)

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
            for name in ("profile", "workspace", "program", "template"):
                try:
                    sbx.Session(**{name: ""})
                    raise AssertionError(name)
                except sbx.InvalidRequest as error:
                    assert (error.code, error.where) == ("bad_value", "/" + name)
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

    def test_opening_is_left_by_an_interrupt(self):
        slow = self.write("slow", "#!/bin/sh\nsleep 4\n")
        os.chmod(slow, 0o755)
        self.script("if 1:" + f"""
            import os, sbx, signal, threading, time
            signal.signal(signal.SIGINT, signal.default_int_handler)
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
            begin = time.monotonic()
            try:
                sbx.Session(program={slow!r})
                raise AssertionError
            except KeyboardInterrupt:
                assert time.monotonic() - begin < 3
            while any(thread.name == "sbx-open" for thread in threading.enumerate()):
                time.sleep(0.05)
        """)


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

    def test_a_stream_counts_what_was_dropped_once(self):
        self.script("""if 1:
            import asyncio, sbx
            loud = "head -c 3000000 /dev/zero | tr '\\\\0' x | fold -w 80; echo y >&2"
            def check(chunks, lost):
                assert {c.stream for c in chunks} == {"stdout", "stderr"}
                assert sum(c.dropped for c in chunks) == lost > 0, ([c.dropped for c in chunks], lost)
            with sbx.Session() as s:
                t = s.start(loud)
                t.wait()
                check(list(t.stream()), t.output(since=0).dropped)
            async def main():
                async with sbx.AsyncSession() as s:
                    t = await s.start(loud)
                    await t.wait()
                    check([c async for c in t.stream()], (await t.output(since=0)).dropped)
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

    def test_forks_while_threads_use_it_never_hang(self):
        self.script("""if 1:
            import os, sys, threading, time, warnings, sbx
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads and fork
            s = sbx.Session()
            t = s.start("sleep 1000")
            stream = t.stream(since=0)
            watching = threading.Thread(target=lambda: [None for _ in stream])
            watching.start()
            going = True
            def busy():
                while going:
                    s.run("head -c 300000 /dev/zero | tr '\\\\0' x", output_kb=1000)
            threads = [threading.Thread(target=busy) for _ in range(4)]
            [thread.start() for thread in threads]
            def ended(call):
                try:
                    call()
                    os._exit(3)
                except sbx.SessionEnded:
                    pass
            def status_of(pid):
                until = time.monotonic() + 20
                while time.monotonic() < until:
                    found, status = os.waitpid(pid, os.WNOHANG)
                    if found:
                        return status
                    time.sleep(0.002)
                os.kill(pid, 9)
                return os.waitpid(pid, 0)[1]
            until = time.monotonic() + 4
            count = status = 0
            while time.monotonic() < until and status == 0:
                pid = os.fork()
                if pid == 0:
                    if count % 2:
                        ended(lambda: s.run("true"))
                        ended(lambda: next(t.stream()))
                        s.close()
                    sys.exit(0)  # closes what is open, as any child does
                status = status_of(pid)
                count += 1
            going = False
            [thread.join() for thread in threads]
            t.kill(0.1)
            watching.join()
            assert status == 0, (count, status)
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
                for bad in ([1], None, "x", 5, [["command", "ls"]]):
                    assert bash.handle(bad).is_error, bad
                closed = bash
            try:
                raise SystemExit(f"answered: {closed.handle({'command': 'true'})}")
            except sbx.SessionEnded:
                pass
            with sbx.Session() as s:
                for name, params in (
                        ("bash_exec", {"command": "x", "env": {"LD_PRELOAD": "b"}}),
                        ("bash", {"command": "cat", "stdin": "x" * (17 << 20)}),
                        ("shell", {"command": "cat", "stdin_text": "x" * (2 << 20)})):
                    answer = sbx.tools.tool(s, name).handle(params)
                    assert answer.is_error and answer.text, (name, answer)
            async def main():
                async with sbx.AsyncSession(profile="tool-bash") as s:
                    bash = sbx.tools.async_bash_tool(s)
                    answer = await bash.handle({"command": "echo hi", "description": "Say hi"})
                    assert "hi" in answer.text
                    for bad in ([1], None, "x"):
                        assert (await bash.handle(bad)).is_error, bad
                    tool = sbx.tools.async_tool(s, "bash_exec")
                    answer = await tool.handle({"command": "x", "env": {"LD_PRELOAD": "b"}})
                    assert answer.is_error, answer
            asyncio.run(main())
        """)


if __name__ == "__main__":
    import unittest
    unittest.main()
