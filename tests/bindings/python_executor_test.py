# SPDX-License-Identifier: Apache-2.0
"""sbx.Executor."""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from python_harness import BOUND, Case  # noqa: E402


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

    def test_stays_where_it_was_made(self):
        self.script("""
import os, pickle, sbx
os.makedirs("a/t"), os.mkdir("b"), os.mkdir("b/t")
open("a/here", "w").close(), open("a/t/here", "w").close()
os.chdir("a")
executors = [sbx.Executor(1, workspace="."), sbx.Executor(1, template="t")]
copies = [pickle.dumps(e) for e in executors]
os.chdir("../b")
for e in executors + [pickle.loads(copy) for copy in copies]:
    with e:
        assert e.submit("test -e here").result(60).ok
for name in ("workspace", "template"):
    with sbx.Executor(1, **{name: ""}) as e:
        assert e.submit("true").exception(60).where == "/" + name
""")

    def test_maps_commands_with_a_time(self):
        self.script("""
import concurrent.futures, sbx
with sbx.Executor(2) as e:
    assert [r.ok for r in e.map(["true"], 60)] == [r.ok for r in e.map(["true"], None)] == [True]
    try:
        raise SystemExit(list(e.map(["sleep 1000"], 0.1)))
    except concurrent.futures.TimeoutError:
        pass
    for wrong in (lambda: e.map(["true"], ["x"]), lambda: e.map(["true"], 1, 2), lambda: e.map("ls", 1)):
        try:
            raise SystemExit(wrong())
        except TypeError:
            pass
""")

    def test_runs_no_more_than_its_workers_at_a_time(self):
        self.script("""
import sbx
with sbx.Executor(2) as e:
    count = "mkdir d-$$-$RANDOM; ls -d d-* | wc -l; sleep 0.05; rmdir d-$$-*"
    most = max(int(r.stdout) for r in e.map([count] * 12))
assert most <= 2, most
""")

    def test_cancels_what_is_just_being_asked_for(self):
        self.script("""
import sbx, time
for _ in range(25):
    e = sbx.Executor(max_workers=1)
    first, second = e.submit("true"), e.submit("sleep 333")
    first.result(60)
    assert second.cancel() and second.cancelled(), second
    assert e.submit("echo on").result(60).stdout == "on\\n"
    e.shutdown()
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

    def test_opens_another_session_when_its_own_has_died(self):
        self.script("""
import os, pathlib, time, sbx
def servers():
    mine, parents = f"--owner-pid\\0{os.getpid()}\\0", {}
    for place in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if mine in (place / "cmdline").read_text():
                status = (place / "status").read_text()
                parents[int(place.name)] = int(status.split("PPid:")[1].split()[0])
        except OSError:
            pass
    return [pid for pid, parent in parents.items() if parent not in parents]
def is_gone(pid):  # its descriptors are closed: /proc names no command long before
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().split(") ")[-1][0] in "ZX"
    except OSError:
        return True
def kill_the_server():
    (server,) = servers()
    os.kill(server, 9)
    while not is_gone(server):
        pass
with sbx.Executor(2) as e:
    assert e.submit("echo a").result(60).stdout == "a\\n"
    for seconds in (0, 0.5):
        kill_the_server()
        time.sleep(seconds)
        for _ in range(3):
            assert e.submit("echo b").result(60).stdout == "b\\n"
    running = e.submit("sleep 1000")
    while not running.running():
        time.sleep(0.01)
    time.sleep(0.2)
    kill_the_server()
    assert isinstance(running.exception(60), sbx.SessionEnded)
    assert e.submit("echo c").result(60).stdout == "c\\n"
""")

    def test_a_callback_may_wait_for_other_commands(self):
        self.script("""
import threading, sbx
seen, main = [], threading.current_thread()
def waits(future):
    seen.append(e.submit("echo two").result(30).stdout)
    seen.append(threading.current_thread() is not main)
e = sbx.Executor(1)
first = e.submit("sleep 0.2")
first.add_done_callback(waits)
e.submit("true").result(30)
assert e.submit("echo three").result(30).stdout == "three\\n"
e.submit("sleep 0.1").add_done_callback(lambda future: seen.append(future.result().ok))
e.shutdown()  # not before what was to be called has been
assert seen == ["two\\n", True, True], seen
assert not [t for t in threading.enumerate() if t.name.startswith("sbx")]
""")

    def test_a_callback_that_asks_to_exit_stops_no_other(self):
        self.script("""
import logging, sys, sbx
logged = []
handler = logging.Handler()
handler.emit = lambda record: logged.append(record.exc_info[0])
logging.getLogger("concurrent.futures").addHandler(handler)
seen = []
with sbx.Executor(1) as e:
    e.submit("sleep 0.1").add_done_callback(lambda future: sys.exit(1))
    e.submit("sleep 0.1").add_done_callback(lambda future: seen.append(future.result().ok))
assert (seen, logged) == ([True], [SystemExit]), (seen, logged)
""")

    def test_what_was_submitted_is_done_before_the_interpreter_ends(self):
        self.script("""
import sbx
e = sbx.Executor(1, workspace=".")
for i in range(3):
    e.submit(f"sleep 0.2; echo {i} >> done").add_done_callback(lambda future: print("called"))
del e
""", out="called\n" * 3)
        with open(os.path.join(self.work, "done")) as file:
            self.assertEqual(file.read(), "0\n1\n2\n")

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
