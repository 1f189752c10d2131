# SPDX-License-Identifier: Apache-2.0
"""sbx.AsyncSession."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from python_harness import Case  # noqa: E402

# What a script begins with that calls leaves_nothing(coroutine).
LEAVES = """
import asyncio, gc, os, pathlib, time, sbx
def helpers():
    mine = f"--owner-pid\\0{os.getpid()}\\0"
    found = 0
    for place in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += mine in place.read_text(errors="replace")
        except OSError:
            pass
    return found
def descriptors():
    return len(os.listdir("/proc/self/fd"))
sbx.run("true")
before = descriptors()
def leaves_nothing(main):
    asyncio.run(main)
    gc.collect()
    until = time.monotonic() + 20
    while helpers() or descriptors() != before:  # a thread may still be closing them
        assert time.monotonic() < until, (helpers(), descriptors(), before)
        time.sleep(0.05)
"""


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

    def test_a_layer_is_compared_committed_and_taken_back(self):
        self.env["XDG_STATE_HOME"] = self.base + "/state"
        self.script("""if 1:
            import asyncio, os, sbx
            async def main():
                async with sbx.AsyncSession(workspace=".", flags=["--layer", "x"]) as session:
                    await session.run("echo new > a; echo b > b")
                    layer = session.layer
                    assert "+new" in await layer.diff() and "+new" not in await layer.diff("b")
                    assert [c["kind"] for c in await layer.changes()] == ["created", "created"]
                    assert await layer.checkpoint("one") == "one"
                    await session.run("rm b")
                    await layer.rollback("one")
                    await layer.branch("y")
                    assert [each["name"] for each in await session.layers()] == ["x", "y"]
                    assert len(await layer.commit("b")) == 1 and os.path.exists("b")
                    assert len(await layer.undo()) == 1 and not os.path.exists("b")
                    await layer.discard("b")
                    assert len(await layer.changes()) == 1
            asyncio.run(main())
        """)

    def test_has_what_the_blocking_interface_has(self):
        self.script("""if 1:
            import inspect, sbx
            from sbx import _layer, _request
            for own, other in ((sbx.Session, sbx.AsyncSession), (sbx.Task, sbx.AsyncTask),
                               (_layer.Layer, _layer.AsyncLayer)):
                public = {name for name in vars(own) if not name.startswith("_")}
                assert public <= set(vars(other)), public - set(vars(other))
                for name in public:
                    one, two = getattr(own, name), getattr(other, name)
                    assert one.__doc__ and two.__doc__, name
                    if callable(one):
                        assert list(inspect.signature(one).parameters) == list(
                            inspect.signature(two).parameters), name
            # The keywords of a command stand in five places.
            def keywords(function, *besides):
                return {name: (its.annotation, its.default) for name, its
                        in inspect.signature(function).parameters.items()
                        if its.kind == its.KEYWORD_ONLY and name not in besides}
            whole = keywords(_request.command_params)
            started = {name: its for name, its in whole.items() if name != "shell"}
            opening = set(keywords(sbx.Session))
            for session in (sbx.Session, sbx.AsyncSession):
                assert keywords(session.run, "check") == whole
                assert keywords(session.start) == started
            assert keywords(sbx.run, "check", *opening) == started
        """)

    def test_leaves_nothing_where_it_is_not_closed(self):
        self.script(LEAVES + """
async def main():
    s = sbx.AsyncSession()
    await s.open()
    await s.start("sleep 1000")
    asyncio.ensure_future(s.run("sleep 1000"))
    await asyncio.sleep(0.1)
leaves_nothing(main())
""")

    def test_leaves_nothing_where_it_is_opened_twice(self):
        self.script(LEAVES + """
async def main():
    s = sbx.AsyncSession()
    await asyncio.gather(s.open(), s.open())
    await s.open()
    assert (await s.run("true")).ok
    await s.close()
leaves_nothing(main())
""")

    def test_a_start_that_nobody_waits_for_any_more_leaves_no_task(self):
        self.script("""if 1:
            import asyncio, sbx, time
            async def main():
                async with sbx.AsyncSession() as s:
                    for i in range(60):
                        starting = asyncio.ensure_future(s.start("sleep 333"))
                        await asyncio.sleep(0)
                        until = time.monotonic() + i % 20 / 500
                        while time.monotonic() < until:  # the loop takes no answer meanwhile
                            pass
                        starting.cancel()
                        try:
                            await (await starting).kill(0)
                        except asyncio.CancelledError:
                            pass
                    until = time.monotonic() + 30
                    while any(task.is_running for task in await s.list()):
                        assert time.monotonic() < until
                        await asyncio.sleep(0.05)
            asyncio.run(main())
        """)

    def test_belongs_to_one_loop_and_is_closed_in_any(self):
        self.script(LEAVES + """
session = sbx.AsyncSession()
async def first():
    await session.open()
    return await session.start("sleep 1000")
task = asyncio.run(first())
async def second():
    for call in (session.run("true"), task.wait(), task.stream().__anext__()):
        try:
            await asyncio.wait_for(call, 30)
            raise AssertionError
        except RuntimeError as error:
            assert "another event loop" in str(error), error
    await session.close()
    try:
        await session.run("true")
        raise AssertionError
    except sbx.SessionEnded:
        pass
leaves_nothing(second())
""")

    def test_leaves_nothing_where_opening_is_cancelled(self):
        self.script(LEAVES + """
async def main(stays):
    try:
        await asyncio.wait_for(sbx.AsyncSession().open(), 0.001)
    except asyncio.TimeoutError:
        await asyncio.sleep(stays)
    else:
        raise SystemExit("opened in a millisecond")
leaves_nothing(main(0))
leaves_nothing(main(0.5))
""")


if __name__ == "__main__":
    import unittest
    unittest.main()
