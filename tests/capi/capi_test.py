# SPDX-License-Identifier: Apache-2.0
"""The C ABI from outside: what it exports, who may compile its header, and hosts of every kind
(host.c) that do not see it. `capi_test.py --baseline` writes abidiff's baseline anew."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))

import managed_test  # noqa: E402
import session_harness  # noqa: E402
from harness import BOUND, SBX_RUN, SOURCE  # noqa: E402

LIBRARY = os.environ.get("SBX_LIBRARY", "")
BASELINE = os.path.join(HERE, "libsbx.so.1.abi")
STRICT = ["-pedantic", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror"]


def shape(directory):
    """A library with the header's functions alone, and the command line of abidw over it."""
    library = os.path.join(directory, "libshape.so")
    subprocess.run(
        ["cc", "-std=c99", *STRICT, "-Wmissing-prototypes", "-g", "-shared", "-fPIC",
         f"-I{SOURCE}/capi", os.path.join(HERE, "abi_shape.c"), "-o", library,
         "-Wl,-soname,libsbx.so.1"], check=True, timeout=BOUND)
    return library


class Header(session_harness.Case):
    def compile(self, language, standard):
        source = self.write("host." + ("c" if language == "c" else "cc"),
                            '#include "sbx.h"\nint main(void) { return sbx_abi_version(); }\n')
        done = subprocess.run(["cc", "-x", language, f"-std={standard}", *STRICT, "-fsyntax-only",
                               f"-I{SOURCE}/capi", source], capture_output=True, timeout=BOUND,
                              check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""), (language, standard))

    def test_compiles_as_every_c_and_cxx(self):
        for language, standard in (("c", "c99"), ("c", "c11"), ("c", "c17"), ("c++", "c++11"),
                                   ("c++", "c++20")):
            self.compile(language, standard)

    def test_exports_the_committed_list_and_nothing_else(self):
        with open(f"{SOURCE}/capi/symbols.txt") as file:
            committed = file.read().split()
        listed = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True,
                                text=True, timeout=BOUND, check=True).stdout
        exported = [line.split()[-1] for line in listed.splitlines() if line.split()[-2] != "A"]
        self.assertEqual(sorted(exported), [name + "@@SBX_1" for name in sorted(committed)])
        with open(f"{SOURCE}/capi/sbx.h") as file:
            declared = re.findall(r"^SBX_API .*?\b(sbx_\w+)\(", file.read(), re.MULTILINE)
        self.assertEqual(sorted(declared), sorted(committed))

    def test_needs_no_library_but_the_c_library(self):
        text = subprocess.run(["readelf", "-d", LIBRARY], capture_output=True, text=True,
                              timeout=BOUND, check=True).stdout
        needed = set(re.findall(r"NEEDED.*\[(.*)\]", text))
        self.assertLessEqual({re.sub(r"\.so.*", "", name) for name in needed},
                             {"libc", "libm", "ld-linux-x86-64", "ld-linux-aarch64"})
        self.assertIn("[libsbx.so.1]", text)

    def test_keeps_the_abi_of_the_first_release(self):
        if not shutil.which("abidw") or not shutil.which("abidiff"):
            self.skipTest("no abidiff here (package abigail-tools)")
        if os.uname().machine != "x86_64":
            self.skipTest("the committed baseline is of x86_64")
        done = subprocess.run(["abidiff", BASELINE, shape(self.base)], capture_output=True,
                              text=True, timeout=BOUND, check=False)
        # Bit 3: incompatible; bits 0 and 1: abidiff failed. An addition alone is bit 2.
        self.assertEqual(done.returncode & 0b1011, 0, done.stdout + done.stderr)

    def test_abidiff_would_notice(self):
        if not shutil.which("abidiff") or os.uname().machine != "x86_64":
            self.skipTest("no abidiff here (package abigail-tools), or not x86_64")
        library = os.path.join(self.base, "libother.so")
        with open(os.path.join(HERE, "abi_shape.c")) as file:
            text = file.read()
        with open(f"{SOURCE}/capi/sbx.h") as file:
            header = file.read()
        changed = header.replace("int timeout_ms", "long timeout_ms")
        self.assertNotEqual(header, changed)
        self.write("sbx.h", changed)
        source = self.write("shape.c", text.replace("int t,", "long t,"))
        subprocess.run(["cc", "-g", "-shared", "-fPIC", f"-I{self.base}", source, "-o", library,
                        "-Wl,-soname,libsbx.so.1"], check=True, timeout=BOUND)
        done = subprocess.run(["abidiff", BASELINE, library], capture_output=True, timeout=BOUND,
                              check=False)
        self.assertNotEqual(done.returncode & 0b1100, 0)


    def test_leaves_nothing_on_the_heap_when_it_is_unloaded(self):
        done = subprocess.run([sys.executable, "-c", """if 1:
            import _ctypes, ctypes, sys
            class Heap(ctypes.Structure):  # mallinfo(3): struct mallinfo2
                _fields_ = [(f"n{i}", ctypes.c_size_t) for i in range(10)]
            in_use = ctypes.CDLL(None).mallinfo2
            in_use.restype = Heap
            for i in range(60):
                if i == 10:
                    before = in_use().n7
                library = _ctypes.dlopen(sys.argv[1], 2)
                _ctypes.dlclose(library)
            print((in_use().n7 - before) // 50)
         """, LIBRARY], capture_output=True, text=True, timeout=BOUND, check=False)
        self.assertEqual(done.stderr, "")
        self.assertLess(int(done.stdout), 100, "bytes each time")


class Program(session_harness.Case):
    def build(self, name, include):
        program = os.path.join(self.base, name)
        directory = os.path.dirname(LIBRARY)
        subprocess.run(["cc", "-std=c99", *STRICT, f"-I{include}", os.path.join(HERE, f"{name}.c"),
                        "-o", program, LIBRARY, f"-Wl,-rpath,{directory}", "-pthread"],
                       check=True, timeout=BOUND)
        return program

    def run_scenario(self, *words):
        done = subprocess.run(words, capture_output=True, text=True, timeout=BOUND, check=False,
                              env=self.env, cwd=self.base)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assert_nothing_left()


class Managed(Program, managed_test.ManagedCase):
    def test_is_held_by_the_machines_policy(self):
        self.managed({"filesystem": {"max": [{"path": self.work, "access": "ro"}]},
                      "profiles": {"forbid": ["unconfined"]}})
        host = self.build("host", f"{SOURCE}/capi")
        done = self.within([host, "managed", self.work], env={**self.env, "HOME": self.home})
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
        self.assertEqual(os.listdir(self.work), [])
        self.managed({"limits": {"pids": -1}})
        done = self.within([host, "run", self.work], env={**self.env, "HOME": self.home})
        self.assertEqual((done.returncode, b"managed_policy" in done.stderr), (1, True), done)
        self.assert_nothing_left()


class Host(Program):
    """One scenario of host.c each, as a process of its own."""

    def build(self, include):
        return super().build("host", include)

    def scenario(self, name, include=f"{SOURCE}/capi"):
        self.run_scenario(self.build(include), name, self.work)

    def test_gets_errors_with_codes_and_places(self):
        self.scenario("open_errors")
        self.scenario("call_errors")

    def test_runs_commands(self):
        self.scenario("run")

    def test_keeps_compares_and_commits_a_layer(self):
        self.env["XDG_STATE_HOME"] = os.path.join(self.base, "state")
        self.scenario("layer")

    def test_of_the_first_release_runs_on_this_library(self):
        self.scenario("run", os.path.join(HERE, "first_release"))

    def test_calls_from_sixteen_threads(self):
        self.scenario("threads")

    def test_polls_submits_takes_and_cancels(self):
        self.scenario("events")

    def test_that_ignores_sigchld_sees_no_child(self):
        self.scenario("sigchld_ignored")

    def test_that_handles_sigchld_sees_no_signal_and_no_child(self):
        self.scenario("sigchld_handled")

    def test_may_end_the_thread_that_opened(self):
        self.scenario("thread_ends")

    def test_may_have_a_heap_of_a_gigabyte(self):
        self.scenario("heap")

    def test_gets_all_its_descriptors_back(self):
        self.scenario("descriptors")

    def test_may_fork(self):
        self.scenario("forks")

    def test_may_be_a_subreaper(self):
        self.scenario("subreaper")

    def test_need_not_take_notifications(self):
        self.scenario("untaken")

    def stays(self, **options):
        host = subprocess.Popen([self.build(f"{SOURCE}/capi"), "stay", self.work], env=self.env,
                                cwd=self.base, stdout=subprocess.PIPE, text=True, **options)
        self.addCleanup(self.end, host)
        host.stdin = host.stderr = None
        self.assertEqual(host.stdout.readline(), "ready\n")
        return host

    def test_hands_its_helper_no_descriptor(self):
        with open(self.write("held", "")) as held:
            os.dup2(held.fileno(), 77)  # beyond those that it gets anew
            self.addCleanup(os.close, 77)
            host = self.stays(pass_fds=[77])
        holders = [pid for pid in session_harness.processes(self.marker)
                   if os.path.realpath(f"/proc/{pid}/fd/77") == held.name]
        self.assertEqual(holders, [host.pid])

    def test_killed_takes_everything_along_within_a_second(self):
        host = self.stays()
        # The helper, and the shells of the task and of the run, which name the workspace.
        self.assertGreaterEqual(len(session_harness.processes(self.work)), 3)
        host.send_signal(signal.SIGKILL)
        host.wait()
        ended = time.monotonic()
        self.assertTrue(session_harness.until(lambda: not session_harness.processes(self.work)))
        self.assert_nothing_left()
        # The promise is a second; the patience above is for a machine that is busy with more.
        print(f"everything was gone after {time.monotonic() - ended:.3f} s")

    def test_is_not_ended_by_a_signal_to_its_group_that_it_handles(self):
        """A ^C at the host's terminal is the host's to answer: the helper is in no group of its."""
        host = subprocess.Popen([self.build(f"{SOURCE}/capi"), "stay", self.work], env=self.env,
                                cwd=self.base, stdout=subprocess.PIPE, text=True,
                                start_new_session=True)
        self.addCleanup(self.end, host)
        host.stdin = host.stderr = None
        self.assertEqual(host.stdout.readline(), "ready\n")
        for pid in session_harness.processes(self.marker):
            if pid != host.pid:
                self.assertNotEqual(os.getpgid(pid), host.pid)


class HostileHost(Program):
    """One scenario of hostile.c each: what a host may do, and what the library must stand."""

    def scenario(self, name, *more):
        self.run_scenario(self.build("hostile", f"{SOURCE}/capi"), name, self.work, *more)

    def against_a_server_that_is(self, name):
        fake = os.path.join(self.base, name)
        os.symlink(os.path.join(HERE, "fake_server.py"), fake)
        self.scenario(name, fake)

    def test_gives_up_a_server_that_never_answers(self):
        self.against_a_server_that_is("silent")

    def test_ends_a_program_that_speaks_something_else(self):
        self.against_a_server_that_is("nonsense")

    def test_gives_up_a_server_whose_line_does_not_end(self):
        self.against_a_server_that_is("endless")

    def test_gives_up_a_server_that_reads_no_calls(self):
        self.against_a_server_that_is("deaf")

    def test_gives_up_a_server_whose_answer_cannot_be_read(self):
        self.against_a_server_that_is("unreadable")

    def test_fails_the_call_alone_whose_answer_is_too_long(self):
        self.against_a_server_that_is("overlong")

    def test_keeps_a_bounded_part_of_notifications_and_counts_the_rest(self):
        self.against_a_server_that_is("flood")

    def test_refuses_more_calls_where_answers_wait(self):
        self.against_a_server_that_is("big")

    def test_sends_any_text(self):
        self.scenario("texts")

    def test_gives_null_everywhere(self):
        self.scenario("nothings")

    def test_closes_while_threads_are_in_calls(self):
        self.scenario("closed_meanwhile")

    def test_calls_from_a_hundred_threads_at_once(self):
        self.scenario("callers")

    def test_cancels_a_thread_in_a_call(self):
        self.scenario("cancelled_thread")

    def test_cancels_a_call_of_a_thread_that_is_no_more(self):
        self.scenario("cancelled_call")

    def test_is_interrupted_all_the_time(self):
        self.scenario("interrupted")

    def test_holds_two_sessions(self):
        self.scenario("two_sessions")

    def test_forks_while_threads_are_in_calls(self):
        self.scenario("forked_meanwhile")

    def test_has_closed_its_standard_descriptors(self):
        self.scenario("without_standard_descriptors")

    def test_has_no_descriptors_left(self):
        self.scenario("without_descriptors")

    def test_calls_from_a_thread_of_a_small_stack(self):
        self.scenario("small_stack")

    def test_that_loaded_the_library_by_a_relative_name_starts_the_program_beside_it(self):
        """Not one in a directory of that name below the working directory of today."""
        for place in ("host", "work"):
            os.makedirs(os.path.join(self.base, place, "lib"), exist_ok=True)
        shutil.copy(LIBRARY, os.path.join(self.base, "host", "lib", "libsbx.so.1"))
        os.symlink(SBX_RUN, os.path.join(self.base, "host", "lib", "sbx-run"))
        planted = os.path.join(self.base, "work", "lib", "sbx-run")
        with open(planted, "w") as file:
            file.write(f"#!/bin/sh\necho planted > {self.base}/planted\n")
        os.chmod(planted, 0o755)
        done = subprocess.run(
            [sys.executable, "-c", """if 1:
                import ctypes, os
                library = ctypes.CDLL("lib/libsbx.so.1")
                os.chdir("../work")
                session = ctypes.c_void_p()
                library.sbx_close.argtypes = [ctypes.c_void_p]
                assert library.sbx_open(None, ctypes.byref(session), None) == 0
                library.sbx_close(session)
             """], cwd=os.path.join(self.base, "host"), env=self.env, capture_output=True,
            text=True, timeout=BOUND, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertFalse(os.path.exists(os.path.join(self.base, "planted")))


if __name__ == "__main__":
    if sys.argv[1:] != ["--baseline"]:
        import unittest
        unittest.main()
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(["abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs",
                        "--out-file", BASELINE, shape(scratch)], check=True, timeout=BOUND)
