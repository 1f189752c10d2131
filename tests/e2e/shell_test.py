# SPDX-License-Identifier: Apache-2.0
"""The kept shell: run with "shell": "kept", and the verb shell."""

import json
import os
import socket
import sys
import tempfile
import threading
import time
import unittest

import harness
import session_harness
from exec_test import Screen
from harness import until

KEPT = {"kept": True, "restarted": False, "reason": None}


class Case(session_harness.Case):
    def setUp(self):
        super().setUp()
        _, self.peer = self.server("--workspace", self.work)

    def run_kept(self, command, **more):
        return self.peer.call("run", command=command, shell="kept", **more)

    def says(self, command, stdout="", stderr="", code=0, **more):
        result = self.run_kept(command, **more)
        stderr = result["stderr"] if stderr is None else stderr
        self.assertEqual((result["stdout"], result["stderr"], result["exit_code"], result["shell"]),
                         (stdout, stderr, code, KEPT), result)
        return result

    def restarts(self, command, code, **more):
        result = self.run_kept(command, **more)
        self.assertEqual((result["exit_code"], result["shell"]["kept"], result["shell"]["restarted"]),
                         (code, False, True), result)
        self.assertTrue(result["shell"]["reason"])
        return result

    def shell_task(self):
        (task,) = [task for task in self.peer.call("list")["tasks"] if task["is_running"]]
        return task["task_id"]


class Calls(Case):
    def test_state_stays_and_answers_are_each_calls_own(self):
        self.says("mkdir -p sub; cd sub; x=5; f() { echo f$1; }; declare -A m=([a]=b); export E=1; alias l=pwd")
        self.says("echo $x ${m[a]}; f 2; pwd; echo bad >&2", f"5 b\nf2\n{self.work}/sub\n", "bad\n")
        self.says("(exit 3)", code=3)
        self.says("echo $?; false", "3\n", code=1)
        self.says("sh -c 'echo $E $?'", "1 0\n")
        self.says("cat; tty -s; echo $?", "1\n")

    def test_limits_are_named_as_of_any_run(self):
        _, self.peer = self.server("--workspace", self.work, "--profile", self.profile({"limits": {
            "memory_mb": 200, "file_kb": 1000}}))
        for command, limit in (("python3 -c 'x = b\"a\" * 400000000'", "memory"),
                               ("head -c 3000000 /dev/zero > big; exit $?", "file_size"),
                               ("head -c 3000000 /dev/zero > big", "file_size")):
            result = self.run_kept(command)
            self.assertEqual((result["status"], result["limit"]), ("limit", limit), result)
        self.assertTrue(result["shell"]["kept"], result)
        result = self.run_kept("python3 -c 'import signal; signal.signal(25, 1); "
                               "open(\"big\", \"w\").write(\"a\" * 2000000)'")
        self.assertEqual([denial["grant"] for denial in result["denials"]], ["limits.file_kb = 2000"])
        self.assertEqual(self.run_kept("true")["denials"], [])

    def test_a_result_is_one(self):
        result = self.says("echo ä; printf 'no newline'", "ä\nno newline")
        plain = self.peer.call("run", command="true")
        self.assertEqual(set(result), set(plain) | {"shell"})
        self.assertEqual(result["status"], "exited")
        self.assertEqual((result["stdout_bytes"], result["cwd"]), (len("ä\nno newline".encode()), self.work))
        self.assertEqual(result["sandbox"]["layers"], plain["sandbox"]["layers"])
        self.assertEqual(self.says("echo x", "x\n")["sandbox"]["profile"], plain["sandbox"]["profile"])

    def test_exit_exec_and_a_dead_shell_are_followed_by_a_new_one(self):
        for command, code in (("echo out; exit 7", 7), ("exec sh -c 'echo out; exit 9'", 9),
                              ("set -e; echo out; (exit 4); echo no", 4)):
            self.says("x=1")
            self.assertEqual(self.restarts(command, code)["stdout"], "out\n")
            self.says("echo $x-$-", stdout=self.flags())
        result = self.run_kept("kill -9 $$")
        self.assertEqual((result["status"], result["signal"]), ("signaled", "SIGKILL"), result)
        self.assertTrue(result["shell"]["restarted"])
        self.says("echo again", "again\n")

    def test_connections_are_each_calls_own(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        port = listener.getsockname()[1]
        _, self.peer = self.server("--workspace", self.work, "--net", "allowlist", "--host-port", str(port))
        connect = f"exec 9<>/dev/tcp/127.0.0.1/{port}; exec 9>&-"
        for _ in range(2):
            self.assertEqual([entry["port"] for entry in self.run_kept(connect)["connections"]], [port])
        self.assertNotIn("connections", self.run_kept("true"))

    def test_usage_is_each_calls_own(self):
        busy = "python3 -c 'import time\nwhile time.process_time() < 0.3: pass'"
        used = self.run_kept(busy)["usage"]
        self.assertGreaterEqual(used["user_ms"] + used["system_ms"], 290, used)
        self.assertGreater(used["max_rss_kb"], 1000, used)
        less = self.run_kept("true")["usage"]
        self.assertLess(less["user_ms"] + less["system_ms"], 150, less)
        used = self.run_kept(busy + "; exit 3")["usage"]  # it ends the shell
        self.assertGreaterEqual(used["user_ms"] + used["system_ms"], 290, used)

    def flags(self):
        return "-" + self.run_kept("echo $-")["stdout"]

    def test_errors_that_leave_the_shell(self):
        self.says("set -e; echo one; if false; then :; fi; false || echo two", "one\ntwo\n")
        self.says("set +e; true | (exit 5)", code=5)
        result = self.run_kept("x=kept; echo ${nothing:?unset}; echo no")
        self.assertEqual((result["exit_code"], result["stdout"], result["shell"]), (1, "", KEPT))
        self.assertIn("unset", result["stderr"])
        with open(self.work + "/bad", "w") as file:
            file.write("if fi")
        result = self.run_kept("echo before; . ./bad; echo after")
        self.assertEqual((result["stdout"], result["shell"]), ("before\nafter\n", KEPT), result)
        self.assertIn("syntax error", result["stderr"])
        self.says("echo $x", "kept\n")
        self.says("(exit 5)", code=5)
        self.says("set -e", code=0)  # $? of the call before ends no shell
        self.says("set +e; echo <<E\nhere $x\nE\ncat <<'E'\n$x\nE", "\n$x\n")

    def test_traps_and_signals(self):
        self.says("trap 'echo T' USR1; kill -USR1 $$; trap 'echo D >> debug' DEBUG; trap - DEBUG", "T\n")
        self.says("trap 'echo bye > bye' EXIT")
        self.assertFalse(os.path.exists(self.work + "/bye"))
        self.restarts("exit 0", 0)
        with open(self.work + "/bye") as file:
            self.assertEqual(file.read(), "bye\n")
        self.says("trap 'echo end > end' EXIT")
        self.peer.call("kill", task_id=self.shell_task())
        with open(self.work + "/end") as file:
            self.assertEqual(file.read(), "end\n")

    def test_jobs_are_what_is_in_the_background(self):
        self.run_kept("ls /nope")
        self.says("sleep 50 &")
        self.says("jobs", "[1]+  Running                 sleep 50 &\n")
        self.says("(exit 3)", code=3)
        self.says("echo $?; kill %1; echo rc $?", "3\nrc 0\n")

    def test_the_last_job_of_a_call_is_that_of_the_next(self):
        self.says("echo -$!-", "--\n")
        self.says("(exit 7) & echo $! > job; wait $!", code=7)
        self.says("sleep 50 & echo $! > job; false", code=1)
        self.says("echo $?; cat; [[ $! = $(<job) ]] || echo other", "1\nin", stdin="in")
        self.says("[[ $! = $(<job) ]]; kill $!; wait $! 2> /dev/null", code=143)
        self.says("(sleep 0.2; exit 9) &")
        self.says("wait $!", code=9)
        # Before 5.1 bash had no such pipes.
        self.says("BASH_COMPAT=50")
        self.says("cat; echo err >&2", "in", "err\n", stdin="in")

    def test_traps_are_run_for_what_a_call_says_alone(self):
        self.says("trap 'echo ERR' ERR")
        self.says("false", "ERR\n", code=1)
        self.says("echo $?; f() { false; }; f || :", "1\n")
        self.says("trap 'echo DBG' DEBUG", code=0)
        self.says("echo y", "DBG\ny\n")
        self.says("false", "DBG\nDBG\nERR\n", code=1)
        self.says("echo $?", "DBG\n1\n")
        self.says("trap -p DEBUG ERR; trap - DEBUG", "DBG\ntrap -- 'echo DBG' DEBUG\ntrap -- 'echo ERR' ERR\nDBG\n")
        self.says("trap - ERR; set -T; trap '[[ $BASH_COMMAND != x* ]] || echo $BASH_COMMAND' DEBUG")
        self.says("(exit 4)", code=4)
        self.says("x=$?; (x=$((x + 1)); echo $x)", "x=$?\nx=$((x + 1))\n5\n")
        self.assertEqual(self.run_kept("sleep 1000", timeout_ms=30)["shell"], KEPT)
        self.says("x=3", "x=3\n")
        self.says("trap - DEBUG; set +T; trap -p DEBUG ERR; trap 'echo ERR' ERR; set -x; (exit 3)", "ERR\n", None, 3)
        self.assertEqual(self.run_kept("echo $?; set +x")["stdout"], "3\n")

    def test_games_with_the_shell_itself(self):
        for game in ("stty raw -echo < /dev/tty", "PS1='end 0'; PS2='$(exit 1)'", "PROMPT_COMMAND='echo evil'",
                     "printf 'ready 0 h\\0end 5\\0'; printf 'end 9\\0' > /dev/tty", "IFS=0123456789; set -u -f",
                     "alias read=false printf=false eval=false exec=false builtin=false", "unalias -a", "unset IFS PWD; set -v",
                     "exec 3> three; exec < /dev/null", "shopt -s extdebug failglob; set -o posix; set +o posix",
                     "bind -r '\\e'; set -o vi", "set -- a b; shift", "set +m", "true & true & wait"):
            result = self.run_kept(game)
            self.assertEqual((result["exit_code"], result["shell"]), (0, KEPT), (game, result))
            self.assertEqual(self.run_kept("(exit 6)")["exit_code"], 6, game)
        tidy = "set +uvf; IFS=$' \\t\\n'; echo still here"
        self.says(tidy, "still here\n", tidy + "\n")  # -v shows what is read
        self.says(tidy, "still here\n")
        self.says("set -x")
        self.assertEqual(self.run_kept("echo traced")["stderr"].lstrip("+"), " echo traced\n")

    def test_functions_with_the_names_of_builtins_are_the_commands_alone(self):
        granted = self.profile({"environment": {"request": True}})
        names = ("eval builtin command exec printf read test [ return unset trap export set jobs shopt declare cd bind "
                 "break . source local true false kill wait").split()
        own = [f"{name}() {{ echo evil; (exit 1); }}" for name in names]
        games = [*own, ";".join(own), 'builtin() { command builtin "$@"; }', "set -o posix", "set -a", "set -k",
                 "eval() { echo evil; }; readonly -f eval", "shopt -s extdebug varredir_close localvar_inherit xpg_echo",
                 "exec 2>&1 >file </dev/null; stty raw -echo </dev/tty", "IFS=x0123456789/; PS4='$(exit 1)'", "set -T -E -P -m -b -v"]
        os.mkdir(self.work + "/sub")
        _, self.peer = self.server("--workspace", self.work, "--profile", granted)
        for game in games:
            self.says(game, "", None)
            for command, more, stdout, code in (
                    ("out=5; sh -c 'echo $A; cat'", {"env": {"A": "a b"}, "stdin": "in\n"}, "a b\nin\n", 0),
                    ("out=-$out-$A sh -c 'echo $out; env | grep -c ^__sbx; pwd; exit 6'", {"cwd": "sub"},
                     f"-5-\n0\n{self.work}/sub\n", 6)):
                result = self.run_kept(command, **more)
                self.assertEqual((result["stdout"], result["exit_code"], result["shell"]), (stdout, code, KEPT), (game, result))
            self.peer.call("reset")

    def test_functions_that_are_put_away_come_back_under_aliases_as_they_were(self):
        for name in ("command", "exec"):
            self.says(f"{name}() {{ echo mine; }}; shopt -s expand_aliases")
            self.says(f"alias {name}=false echo=false")
            self.says("unalias echo; printf x", "x")
            self.says(f"\\{name}; shopt -q expand_aliases", "mine\n")
            self.says("shopt -u expand_aliases")
            self.says("shopt -q expand_aliases", code=1)
            self.says(f"unset -f {name}; unalias -a; shopt -s expand_aliases")

    def test_a_limit_of_reads_is_not_the_sessions(self):
        self.says("x=5; readonly TMOUT=1")
        time.sleep(1.2)
        self.says("echo $x; read -u 9 9<>/dev/ptmx; [ $? -gt 128 ] && echo ended", "5\nended\n", stderr=None)

    def test_a_limit_of_reads_does_not_end_a_shell_that_a_time_out_has_interrupted(self):
        self.says("TMOUT=1; X=5; shopt -u expand_aliases")
        self.assertEqual(self.run_kept("sleep 5", timeout_ms=300)["status"], "timed_out")
        self.says("sleep 1.5; echo $X; shopt -q expand_aliases || shopt -qo posix", "5\n", code=1)
        self.says("echo $X; trap -p ALRM", "5\n")

    def test_what_has_no_end_is_an_error_and_what_ends_the_shell_is_said(self):
        anything = self.profile({"commands": {"ask": []}})
        _, self.peer = self.server("--workspace", self.work, "--profile", anything)
        self.says("x=kept")
        for text, code in (("echo 'open", 2), ("echo $(open", 2), ("if true; then", 2), ("}", 2), ("echo a; ;; b", 2),
                           ("case x in", 2), ("((", 2), ("[[ a", 2), ("\\", 127), ("# only that", 0), ("   ", 0)):
            result = self.run_kept(text)
            self.assertEqual((result["exit_code"], result["stdout"], result["shell"]), (code, "", KEPT), (text, result))
            self.assertEqual(result["stderr"] == "", code == 0, result)
            self.says("echo $x", "kept\n")
        self.says("cat <<E\nno end", "no end\n", None)
        self.says(f"y={'z' * 131000}; echo ${{#y}}", "131000\n")
        result = self.run_kept("y=" + "z" * (1 << 20))
        self.assertEqual((result["error"]["code"], result["error"]["where"], result["shell"]), ("too_large", "/command", KEPT))
        self.says("echo $x", "kept\n")
        for text, code in (("exit 300", 44), ("exec true", 0), ("trap 'exit 9' EXIT; exit 4", 9), ("set -e; (exit 3)", 3)):
            self.restarts(text, code)
            self.says("echo -$x", "-\n")

    def test_nothing_else_on_the_drivers_pipe_keeps_it_from_being_heard(self):
        self.says("(for i in {1..300}; do echo evil; printf 'end 9\\0evil'; sleep 0.002; done) >/proc/$$/fd/51 2>/dev/null &")
        for i in range(20):
            result = self.run_kept(f"echo {i}")
            self.assertEqual((result["stdout"], result["exit_code"], result["shell"]), (f"{i}\n", 0, KEPT), result)

    def test_what_is_said_on_the_drivers_pipe_between_calls_is_not_heard(self):
        for said in ("begun N", "end 0 N", "nowhere 1", "pipes 9 9 9 /", "ready 0 N h", "ready 0 99 h"):
            said = said.replace("N", "'$__sbx_word_number'")
            self.says(f"x=5; (until [ -e go ]; do sleep 0.02; done; printf '\\0{said}\\0' >/proc/$$/fd/51; rm go) 2>/dev/null &")
            self.write("work/go", "")
            self.assertTrue(until(lambda: not os.path.exists(self.work + "/go")))
            self.says("echo $x", "5\n")

    def test_a_shell_that_cannot_take_calls_is_made_anew(self):
        for game in ("eval() { false; }", "builtin() { false; }", "builtin() { :; }"):
            self.says(game)
            self.says("echo ran; false", "ran\n", code=1)
        for game in ("enable -n printf", "enable -n eval", "enable -n builtin", "unset __sbx_word_number"):
            self.restarts(game + "; echo out; (exit 3)", 3, timeout_ms=9000)
            self.says("echo new", "new\n", timeout_ms=9000)
        for game in ("set -r", "readonly __sbx_out"):
            self.says(game)
            result = self.run_kept("echo x > no", timeout_ms=9000)
            self.assertEqual((result["error"]["code"], result["stdout"]), ("setup_failed", ""), result)
            self.assertTrue(result["shell"]["restarted"] and not result["shell"]["kept"], result)
            self.assertFalse(os.path.exists(self.work + "/no"))
            self.says("echo new", "new\n")

    def test_another_file_is_not_taken_for_a_pipe_of_a_call(self):
        self.write("work/other", "another file's\n")
        said = r"printf '\0pipes 9 9 0 /\0' > /proc/$$/fd/51"
        self.says("exec 9<other", "")
        self.says(f"(exec 9<&-; while [ ! -e over ]; do {said}; done) >/dev/null 2>&1 &")
        for i in range(50):
            result = self.run_kept(f"echo {i}")
            self.assertEqual((result["stdout"], result["stderr"], result["exit_code"]), (f"{i}\n", "", 0), result)
        self.says("touch over")

    def test_break_outside_of_a_loop_ends_the_call_alone(self):
        self.assertEqual(self.run_kept("x=2; break; echo no")["shell"], KEPT)
        self.says("for i in 1 2; do break; done; echo $i $x", "1 2\n")

    def test_own_stdin_env_cwd_merge(self):
        os.mkdir(self.work + "/sub")
        self.says("cat; echo", "line 'quoted'\n", stdin="line 'quoted'")
        self.says("cat | wc -c; cat", "900000\n", stdin="x" * 900000)
        self.says("head -c 3", "xxx", stdin="x" * 900000)  # and nothing waits for the rest
        self.says("cat; exec 2>&1", "", stdin="")
        self.says("cat", "a\0b", stdin="a\0b")
        granted = self.profile({"environment": {"request": True}})
        _, self.peer = self.server("--workspace", self.work, "--profile", granted)
        self.says("A=mine")
        self.says("echo $A; sh -c 'echo $A'", "it's $A\nit's $A\n", env={"A": "it's $A"})
        self.says("echo $A; sh -c 'echo -$A'", "mine\n-\n")
        self.assertEqual(self.says("pwd", self.work + "/sub\n", cwd="sub")["cwd"], self.work + "/sub")
        self.says("pwd; cd sub", self.work + "\n")
        self.says("pwd", self.work + "/sub\n")
        self.assertEqual(self.run_kept("true", cwd="nowhere")["error"]["where"], "/cwd")
        self.says("pwd", self.work + "/sub\n")
        self.says("echo a; echo b >&2; echo c", "a\nb\nc\n", merge=True)

    def test_what_cannot_be_is_refused(self):
        for params, where in (({"argv": ["true"]}, "/argv"), ({"command": "x", "files": [{"path": "f", "content": ""}]}, "/files"),
                              ({"command": "x", "network": False}, "/network"), ({"command": "x", "file_kb": 5}, "/file_kb")):
            error = self.peer.error("run", shell="kept", **params)
            self.assertEqual((error["data"]["code"], error["data"]["where"]), ("bad_value", where))
        self.assertEqual(self.peer.error("run", shell="other", command="x")["data"]["where"], "/shell")
        self.assertNotIn("shell", self.peer.call("run", command="x=1"))

    def test_the_command_policy_holds_for_each_call(self):
        denied = self.peer.call("run", command="rm -rf /")
        kept = self.run_kept("rm -rf /")
        self.assertIn(denied["status"], ("denied", "needs_approval"))
        self.assertEqual((kept["status"], kept["error"]["where"]), (denied["status"], denied["error"]["where"]))
        self.assertEqual(kept["shell"], KEPT)
        self.assertEqual(self.peer.call("list")["tasks"], [])

    def test_the_command_policy_goes_by_where_the_shell_is(self):
        place = tempfile.TemporaryDirectory(dir="/var/tmp")
        self.addCleanup(place.cleanup)
        outside = place.name
        os.makedirs(outside + "/victim")
        os.makedirs(self.work + "/a/b")
        _, self.peer = self.server("--workspace", self.work, "--rw", outside)
        self.says(f"cd {outside}")
        asked = self.run_kept("pwd; rm -rf victim")
        self.assertEqual((asked["status"], asked["cwd"]), ("needs_approval", outside), asked)
        self.assertTrue(os.path.isdir(outside + "/victim"))
        # One that waits its turn is judged where it runs, too.
        self.says(f"cd {self.work}")
        first = self.peer.send("run", command=f"sleep 0.5; cd {outside}", shell="kept")
        second = self.peer.send("run", command="rm -rf victim", shell="kept")
        self.assertEqual(self.peer.answer(first)["result"]["exit_code"], 0)
        self.assertEqual(self.peer.answer(second)["result"]["status"], "needs_approval")
        self.assertTrue(os.path.isdir(outside + "/victim"))
        # So is one where nobody can tell where that is.
        name = "n" * 200
        self.says(f"cd {outside}; for i in {{1..30}}; do mkdir {name}; cd {name}; done; mkdir victim", stderr=None)
        asked_there = self.run_kept("rm -rf victim")
        self.assertEqual(asked_there["status"], "needs_approval", asked_there)
        # An approval is good for there, and by a shell's call alone.
        digest = asked["approval"]["digest"]
        self.says(f"cd {self.work}/a/b; PWD={outside}")
        self.assertEqual(self.run_kept("pwd; rm -rf victim", approval=digest)["exit_code"], 0)
        plain = self.peer.call("run", command=f"rm -rf {outside}/victim")
        kept = self.run_kept(f"rm -rf {outside}/victim", approval=plain["approval"]["digest"])
        self.assertEqual(kept["status"], "needs_approval")
        self.says("rm -rf ../b && cd ../..")
        self.assertFalse(os.path.exists(self.work + "/a/b"))
        self.assertTrue(os.path.isdir(outside + "/victim"))

    def test_large_output_is_bounded_and_whole(self):
        self.says("head -c 3000000 /dev/zero | tr '\\0' x | wc -c", "3000000\n")
        result = self.run_kept("head -c 3000000 /dev/zero | tr '\\0' x")
        self.assertEqual((result["stdout_bytes"], result["truncated"]["stdout"]), (3000000, True))
        self.says("yes | head -1", "y\n")


class Ends(Case):
    def test_a_time_out_ends_the_foreground_and_keeps_the_shell(self):
        self.says("x=5")
        for command in ("sleep 1000", "while :; do sleep 0.2; done", "(while :; do :; done)",
                        "trap '' INT; sleep 1000; trap - INT", "sleep 1000 | cat", "true | (trap '' INT; sleep 1000; sleep 1000)", "python3 -c 'import signal, time;"
                        "signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(1000)'", "sleep 1000 & wait"):
            result = self.run_kept("echo begun; " + command, timeout_ms=300)
            self.assertEqual((result["status"], result["timed_out"], result["stdout"], result["shell"]),
                             ("timed_out", True, "begun\n", KEPT), (command, result))
            self.says("echo $x", "5\n")

    def test_a_time_out_ends_what_the_shell_itself_waits_for(self):
        os.mkfifo(self.work + "/ff")
        self.says("x=5")
        for command in ("read y < ff", "echo > ff", "exec 8< ff", ". ff", "mapfile < ff", "read y < /dev/tty", "read -n1 y < /dev/tty",
                        "select y in 1 2; do :; done < /dev/tty", "set +m; python3 -c 'import signal, time;"
                        "signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(1000)'; set -m"):
            result = self.run_kept(command, timeout_ms=300)
            self.assertEqual((result["status"], result["shell"]), ("timed_out", KEPT), (command, result))
            self.says("echo $x", "5\n")
        self.says("set +m; sleep 1000 & echo $! > job")
        self.assertEqual(self.run_kept("(trap '' INT; sleep 1000); :", timeout_ms=300)["shell"], KEPT)
        self.says("kill -0 $(<job) && echo there", "there\n")  # the job of another call

    def test_a_cwd_is_that_calls_own_however_it_ends(self):
        os.makedirs(self.work + "/gone/sub")
        self.says("cd /tmp; cd $OLDPWD")
        for command in ("true", "false", "cd /etc", "cd /etc; break", "sleep 1000", "read y < /dev/tty", "kill -INT $$", "echo ${no:?}"):
            self.assertEqual(self.run_kept(command, cwd="/usr", timeout_ms=300)["shell"], KEPT, command)
            self.says("echo $PWD $OLDPWD; pwd -P", f"{self.work} /tmp\n{self.work}\n")
        number = self.peer.send("run", command="touch up; sleep 1000", shell="kept", cwd="gone")
        self.assertTrue(until(lambda: os.path.exists(self.work + "/gone/up")))
        self.peer.call("cancel", id=number)
        self.assertEqual(self.peer.answer(number)["result"]["status"], "cancelled")
        self.says("pwd -P; cd gone/sub", self.work + "\n")
        self.says(f"rmdir {self.work}/gone/sub", cwd="/usr")
        self.says("pwd -P", self.work + "/gone\n")

    def test_a_shell_that_hangs_itself_is_made_anew(self):
        self.says("x=5")
        result = self.run_kept("while :; do :; done", timeout_ms=300)
        self.assertEqual((result["status"], result["shell"]["restarted"]), ("timed_out", True))
        self.says("echo -$x", "-\n")

    def test_a_prompt_command_that_a_call_sets_lasts_for_that_call(self):
        self.says("x=5")
        for game in ("PROMPT_COMMAND=true", "unset PROMPT_COMMAND", 'PROMPT_COMMAND="true; $PROMPT_COMMAND"',
                     "PROMPT_COMMAND=(true 'history -a')", "PROMPT_COMMAND+=(true)", "set -a; PROMPT_COMMAND=; set +a"):
            for command in ("kill -INT $$", "sh -c 'kill -INT $$'"):
                self.says(game)
                self.says(command, code=130, timeout_ms=5000)
            self.says(game)
            result = self.run_kept("sleep 1000", timeout_ms=300)
            self.assertEqual((result["status"], result["shell"]), ("timed_out", KEPT), (game, result))
            self.says("echo $x", "5\n")
        for game in ("echo mine", "sleep 1000"):
            result = self.run_kept(f"PROMPT_COMMAND='{game}'; y=6; sleep 1000", timeout_ms=300)
            self.assertEqual((result["status"], result["shell"]), ("timed_out", KEPT), (game, result))
            self.says("echo $x $y", "5 6\n")
        self.says("unset PROMPT_COMMAND; readonly PROMPT_COMMAND=true")
        self.says("echo $x; (exit 3)", "5\n", code=3)

    def test_background_output_is_the_shells(self):
        self.says("(sleep 0.3; echo late; echo err >&2) & echo now", "now\n")
        for _ in range(5):
            self.says("sleep 0.1; echo mine", "mine\n")
        task = self.shell_task()
        shown = lambda: self.peer.call("output", task_id=task)["stdout"]  # noqa: E731
        self.assertTrue(until(lambda: "late" in shown()), shown())
        self.assertIn("err", self.peer.call("output", task_id=task)["stderr"])

    def test_calls_queue_in_order(self):
        numbers = [self.peer.send("run", command=f"sleep 0.05; echo {i} >> order; echo {i}", shell="kept")
                   for i in range(8)]
        for i, number in enumerate(numbers):
            self.assertEqual(self.peer.answer(number)["result"]["stdout"], f"{i}\n")
        with open(self.work + "/order") as file:
            self.assertEqual(file.read().split(), [str(i) for i in range(8)])

    def test_a_call_can_be_cancelled_and_so_can_one_that_waits(self):
        self.says("x=1")
        first = self.peer.send("run", command="sleep 1000", shell="kept")
        second = self.peer.send("run", command="echo no > no", shell="kept")
        for number in (second, first):
            self.peer.call("cancel", id=number)
            self.assertEqual(self.peer.answer(number)["result"]["status"], "cancelled")
        for _ in range(10):  # at any moment
            number = self.peer.send("run", command="sleep 1000; echo no > no", shell="kept")
            self.peer.call("cancel", id=number)
            self.assertEqual(self.peer.answer(number)["result"]["status"], "cancelled")
        self.says("echo $x", "1\n")
        self.assertFalse(os.path.exists(self.work + "/no"))

    def test_no_word_is_lost_to_ctrl_c_at_any_moment(self):
        self.run_kept("x=1; (for i in {1..200}; do kill -INT $$; sleep 0.00$((RANDOM % 10)); done; echo > over) &")
        for i in range(40):
            result = self.run_kept(f"echo $x {i}")
            self.assertEqual((result["shell"], result["stderr"]), (KEPT, ""), result)
            self.assertIn((result["exit_code"], result["stdout"]), [(0, f"1 {i}\n"), (130, f"1 {i}\n"), (130, "")], result)
        self.assertTrue(until(lambda: os.path.exists(self.work + "/over")))
        self.says("echo $x", "1\n")

    def test_calls_that_are_cut_off_leave_no_descriptor_open(self):
        count = lambda: int(self.run_kept("ls /proc/$$/fd | wc -l")["stdout"])  # noqa: E731
        before = count()
        for _ in range(5):
            self.assertEqual(self.run_kept("sleep 1000", timeout_ms=30)["status"], "timed_out")
        self.assertEqual(count(), before)

    def test_streaming(self):
        number = self.peer.send("run", command="echo a; sleep 0.1; echo b", shell="kept", stream=True)
        self.assertEqual(self.peer.answer(number)["result"]["stdout"], "a\nb\n")
        text = "".join(e["params"]["text"] for e in self.peer.events if e.get("method") == "task.output")
        self.assertEqual(text, "a\nb\n")

    def test_secrets_are_redacted(self):
        secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
        result = self.run_kept(f"echo token {secret}")
        self.assertNotIn(secret, json.dumps(result))

    def test_nothing_is_left_when_the_session_ends(self):
        process, peer = self.server("--workspace", self.work)
        peer.call("run", command="sleep 1000 & trap 'echo bye > bye' EXIT", shell="kept")
        process.stdin.close()
        process.wait(timeout=30)
        self.assertTrue(until(lambda: os.path.exists(self.work + "/bye")))


class Interactive(session_harness.Case):
    def shell(self, *more, **size):
        os.environ.update(self.env)
        self.addCleanup(os.environ.pop, "SBX_TEST_MARKER", None)
        return Screen(self, shell=[harness.SBX_RUN, "shell", "--session", "s", "--workspace", self.work, *more], **size)

    def run_kept(self, command, status=0, **more):
        text = json.dumps({"command": command, "shell": "kept", **more}).encode()
        return self.verb("call", "--session", "s", "run", input=text, stdin=None, status=status)

    def test_a_person_and_calls_share_one_shell(self):
        screen = self.shell()
        screen.expect(rb"[#$] ")
        screen.type("x=typed; mkdir sub; cd sub; echo do''ne\r")
        screen.expect(rb"done")
        result = self.run_kept("echo $x; pwd; y=called")
        self.assertEqual(result["stdout"], f"typed\n{self.work}/sub\n", result)
        screen.type("echo -$y-\r")
        screen.expect(rb"-called-")
        screen.type("trap 'echo T''RAP' ERR; echo read''y\r")
        screen.expect(rb"ready")
        self.assertEqual(self.run_kept("false", 1)["stdout"], "TRAP\n")
        screen.type("false\r")
        screen.expect(rb"TRAP\r\n")
        screen.type("builtin() { echo mi''ne; }; echo defi''ned\r")
        screen.expect(rb"defined")
        self.assertEqual(self.run_kept("echo $y", 0)["stdout"], "called\n")
        screen.type("trap - ERR; echo of''f\r")
        screen.expect(rb"off\r\n")
        screen.type("half")
        self.assertEqual(self.run_kept("echo z; false", 1)["stdout"], "z\n")
        screen.type("\x15sleep 0.5; z=after\r")
        self.assertTrue(until(lambda: self.run_kept("echo $z")["stdout"] == "after\n"))
        screen.type("\x1d")
        self.assertEqual(screen.wait(), 0)
        for i in range(3):
            self.assertEqual(self.run_kept(f"echo $x {i}")["stdout"], f"typed {i}\n")
        again = self.shell()
        again.type("exit 6\r")
        self.assertEqual(again.wait(), 6)
        self.assertEqual(self.run_kept("echo -$x")["stdout"], "-\n")

    def test_what_a_person_is_asked_is_not_answered_by_a_call(self):
        screen = self.shell()
        screen.expect(rb"[#$] ")
        for ask in ("read -n1 -p 'sure''? ' x", "read -s -n1 -p 'sure''? ' x", "read -p 'sure''? ' x", "PS3='sure''? '; select x in n; do break; done"):
            screen.type(ask + "; echo =$x\r")
            screen.expect(rb"\rsure\? |\nsure\? ")
            call = threading.Thread(target=self.run_kept, args=("echo called >> calls; stty sane < /dev/tty",))
            call.start()
            time.sleep(1.2)
            self.assertFalse(os.path.exists(self.work + "/calls"))
            screen.type("1\r" if "select" in ask else ("n" if "-n1" in ask else "n\r"))
            screen.expect(rb"=n\r\n")
            call.join()
            os.remove(self.work + "/calls")
            # Readline reads on, whatever a call did to the terminal.
            self.assertEqual(self.run_kept("stty sane < /dev/tty; echo ok")["stdout"], "ok\n")

    def test_return_ends_a_call_alone_where_a_person_has_been(self):
        screen = self.shell()
        screen.expect(rb"[#$] ")
        for _ in range(3):
            self.assertEqual(self.run_kept("x=2; return 5; x=3", 5)["shell"], KEPT)
            self.assertEqual(self.run_kept("echo $x")["stdout"], "2\n")
        screen.type("echo -$x-\r")
        screen.expect(rb"-2-")

    def test_programs_of_a_person_run_on_the_terminal(self):
        screen = self.shell(rows=30, columns=90)
        screen.expect(rb"[#$] ")
        screen.type("sh -c 'stty size; tty; exec sleep 1000'\r")
        screen.expect(rb"30 90\r\n/dev/pts/\d+\r\n")
        screen.type("\x03")
        screen.expect(rb"\^C\r\n")
        screen.type("echo =$?\r")
        screen.expect(rb"=130")
        screen.type("sh -c 'echo u''p; exec sleep 1000'\r")
        screen.expect(rb"\rup\r\n")
        screen.type("\x1a")
        screen.expect(rb"Stopped")
        self.assertEqual(self.run_kept("echo ok")["stdout"], "ok\n")
        screen.type("kill %1\r")
        screen.expect(rb"Terminated|Stopped")
        screen.type("\x1d")
        self.assertEqual(screen.wait(), 0)

    def test_without_a_terminal_it_is_a_call(self):
        run = ("shell", "--session", "s", "--workspace", self.work)
        self.assertEqual(self.verb(*run, "-c", "cd /usr; x=3; exec 2>&1", status=0)["shell"]["kept"], True)
        self.assertEqual(self.verb(*run, status=4, input=b"pwd; echo $x; (exit 4)", stdin=None)["stdout"], "/usr\n3\n")
        self.assertEqual(self.verb(*run, "-c", "sleep 1000", "--timeout", "200ms", status=124)["status"], "timed_out")
        self.assertEqual(self.cli(*run, "true").returncode, 125)


if __name__ == "__main__":
    sys.exit(unittest.main())
