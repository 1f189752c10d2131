# SPDX-License-Identifier: Apache-2.0
"""What becomes of a command's output: redacted, searched for a result, kept within its cap."""

import base64
import json
import os
import re
import unittest

import harness

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1cE3gI5"


class Output(harness.Case):
    def test_a_token_of_a_known_format_does_not_reach_the_answer(self):  # B9
        answer = self.sh(f"echo token {TOKEN}; echo {TOKEN} >&2")
        self.assertNotIn(TOKEN, self.last.stdout.decode().replace(answer["command"], ""))
        self.assertEqual(answer["stdout"], "token [REDACTED]\n")
        self.assertEqual(answer["redactions"]["count"], 2)
        self.assertEqual(answer["stdout_bytes"], len(f"token {TOKEN}\n"))

    def test_a_token_that_is_written_in_two_halves_is_redacted_too(self):
        answer = self.sh(f"printf {TOKEN[:12]}; sleep 0.2; echo {TOKEN[12:]}")
        self.assertEqual(answer["stdout"], "[REDACTED]\n")

    def test_a_secret_is_found_wherever_a_long_line_is_cut_into_windows(self):
        code = ("print(''.join('x ' * n + 'DB_PASSWORD=Xk9vQz71hunter ' + 'x ' * (40000 - n) + chr(10)"
                " for n in range(24560, 24580)), end='')")
        answer = self.run_json("--max-output", "4M", "--", "python3", "-c", code)
        self.assertEqual(answer["stdout"].count("DB_PASSWORD=[REDACTED] x"), 20)
        self.assertNotIn("Xk9vQz71", answer["stdout"])
        self.assertEqual(answer["redactions"]["count"], 20)

    def test_an_argument_is_redacted_by_the_one_before_it_as_in_the_command(self):
        audit = os.path.join(self.base, "audit.jsonl")
        answer = self.run_json("--audit", audit, "--", "/bin/echo", "--password", "hunter2-Xk9vQz71", "x y")
        self.assertEqual(answer["argv"], ["/bin/echo", "--password", "[REDACTED]", "x y"])
        self.assertEqual(answer["command"], "/bin/echo --password [REDACTED] 'x y'")
        with open(audit) as file:
            self.assertNotIn("Xk9vQz71", file.read())

    def test_what_is_refused_before_there_is_a_policy_is_redacted_too(self):
        path = f"/nonexistent/{TOKEN}"
        for flags in (["--cwd", path], ["--ro", path], ["--workspace", path], ["--profile", path], ["--stdin", path],
                      ["--timeout", TOKEN], [f"--no-such-flag={TOKEN}"]):
            for verb in ("run", "exec", "check", "explain"):
                if (verb, flags[0]) == ("exec", "--stdin"):
                    continue
                done = self.raw(verb, *flags, *(["--", "true"] if verb == "exec" else ["-c", "true"]))
                if verb == "run" or flags[0] != "--stdin":
                    self.assertIn(b"[REDACTED]", done.stderr, (verb, flags))
                self.assertNotIn(TOKEN.encode(), done.stdout + done.stderr, (verb, flags))
        self.assert_error(self.sh("true", "--cwd", path), "cwd_not_visible")

    def test_the_value_of_a_secret_variable_is_redacted_in_its_forms(self):
        secret = "correct-horse-battery-staple"
        flags = ["--env", f"MY_SECRET={secret}"]
        answer = self.sh('echo "$MY_SECRET"; printf %s "$MY_SECRET" | base64', *flags)
        self.assertNotIn(secret, answer["stdout"])
        self.assertNotIn(base64.b64encode(secret.encode()).decode()[:-4], answer["stdout"])

    def test_a_secret_value_ends_with_its_nul_byte(self):
        command = r"printf 'A_TOKEN=k9d2x7Qw41pz\0NEXT=1\0B_TOKEN=x1y2z3w4q5\0LAST=2\0'"
        self.assertEqual(
            self.out(command.replace("\\\\", "\\")),
            "A_TOKEN=[REDACTED]\0NEXT=1\0B_TOKEN=[REDACTED]\0LAST=2\0",
        )

    def test_ordinary_output_is_left_alone(self):
        text = "commit 3f2504e04f8911d39a0c0305e82c3301aabbccdd in 1.25 s, 100%\n"
        self.assertEqual(self.out(f"printf '%s' '{text[:-1]}'; echo"), text)

    def test_a_profile_can_turn_redaction_off_and_add_patterns(self):
        off = self.profile({"output": {"redact": False}}, "off.json")
        self.assertEqual(self.out(f"echo {TOKEN}", "--profile", off), TOKEN + "\n")
        more = self.profile({"output": {"patterns": ["ticket-[0-9]+"]}}, "more.json")
        self.assertEqual(self.out("echo ticket-4711", "--profile", more), "[REDACTED]\n")

    def test_a_pattern_that_is_no_expression_is_an_error_before_the_start(self):
        bad = self.profile({"output": {"patterns": ["("]}})
        answer = self.sh("touch started", "--profile", bad)
        self.assert_error(answer, "bad_value")
        self.assertIn("/output/patterns/0", answer["error"]["where"])
        self.assertFalse(os.path.exists(os.path.join(self.work, "started")))

    def test_the_last_valid_result_line_is_in_the_answer(self):  # C2
        profile = self.profile({"output": {"result_json": True}})
        command = """echo '__RESULT__:{"n":1}'; echo text; echo '__RESULT__:{"n":2}'; echo '__RESULT__:{'"""
        answer = self.sh(command, "--profile", profile)
        self.assertEqual(answer["result_json"], {"n": 2})
        self.assertTrue(any("__RESULT__" in w for w in answer["sandbox"]["warnings"]), answer)

    def test_a_result_is_searched_once_its_escapes_are_read(self):
        secret = "Zq7tR2mW9xK4vB1n"
        profile = self.profile({"output": {"result_json": True}})
        escaped = "".join(f"\\u{ord(c):04x}" for c in secret)
        line = self.write("line", '__RESULT__:{"a":"x ' + escaped + '","n":1.50}\n')
        answer = self.sh("cat", "--stdin", line, "--profile", profile, "--env", f"MY_TOKEN={secret}")
        self.assertEqual(answer["result_json"], {"a": "x [REDACTED]", "n": 1.5})

    def test_a_key_goes_on_behind_lines_of_another_stream(self):
        body = "MIIEowIBAAKCAQEAx7Qd0Z3VS5JJcds3xfnYw9uKpL2mB8tRzC4vN1sHgJkFqWe0\n"
        key = self.write("key", "-----BEGIN RSA PRIVATE KEY-----\n" + 12 * body + "-----END RSA PRIVATE KEY-----\n")
        for command in ('while read l; do echo "$l"; echo "warn $l" | cut -c1-6 >&2; done',
                        'set -x; while read -r l; do echo "$l"; done'):
            answer = self.sh(command, "--merge", "--stdin", key)
            self.assertNotIn("x7Qd0Z3VS5JJ", self.last.stdout.decode())
            self.assertIn("-----END RSA PRIVATE KEY-----", answer["stdout"])

    def test_without_the_profile_asking_there_is_no_result(self):
        answer = self.sh("""echo '__RESULT__:{"n":1}'""")
        self.assertIsNone(answer["result_json"])

    def test_a_flood_keeps_its_head_and_tail_and_counts_what_is_left_out(self):  # A4
        answer = self.sh("seq 1 200000", "--max-output", "10K")
        text = answer["stdout"]
        self.assertTrue(answer["truncated"]["stdout"])
        self.assertTrue(text.startswith("1\n2\n"))
        self.assertTrue(text.endswith("199999\n200000\n"))
        left_out = int(re.search(r"(\d+) bytes", text).group(1))
        marker = re.search(r"[^\n]*\d+ bytes[^\n]*\n", text).group(0)
        # The marker begins a line of its own, by a newline where the head does not end with one.
        excess = left_out + len(text) - len(marker) - answer["stdout_bytes"]
        self.assertIn(excess, (0, 1))

    def test_a_line_of_fifty_megabytes_is_counted_and_cut(self):
        answer = self.sh("head -c 50000000 /dev/zero; echo end")
        self.assertEqual(answer["stdout_bytes"], 50000004)
        self.assertTrue(answer["stdout"].endswith("\0\0\0end\n"))
        self.assertLess(len(answer["stdout"]), 110 * 1024)

    def test_both_streams_flooded_at_once_are_both_kept(self):
        command = "seq 1 300000 & seq 1 300000 | sed s/^/e/ >&2; wait"
        answer = self.sh(command, "--max-output", "1K")
        size = sum(len(str(i)) + 1 for i in range(1, 300001))
        self.assertEqual(answer["stdout_bytes"], size)
        self.assertEqual(answer["stderr_bytes"], size + 300000)
        self.assertTrue(answer["stdout"].startswith("1\n2\n"))
        self.assertTrue(answer["stdout"].endswith("\n300000\n"))
        self.assertTrue(answer["stderr"].endswith("\ne300000\n"))

    def test_an_endless_flood_ends_with_its_time_and_keeps_its_end(self):
        answer = self.sh("yes", "--timeout", "500ms")
        self.assertEqual(answer["status"], "timed_out")
        self.assertGreater(answer["stdout_bytes"], 1 << 20)
        self.assertTrue(answer["truncated"]["stdout"])
        self.assertTrue(answer["stdout"].startswith("y\ny\n"))

    def test_a_line_limit_keeps_the_first_and_the_last_lines(self):
        profile = self.profile({"limits": {"output_lines": 8}})
        answer = self.sh("seq 1 1000", "--profile", profile)
        lines = answer["stdout"].splitlines()
        self.assertEqual(lines[:2], ["1", "2"])
        self.assertIn("992 lines left out", lines[2])
        self.assertEqual(lines[3:], [str(i) for i in range(995, 1001)])

    def test_a_child_that_keeps_the_pipe_open_does_not_hold_the_answer(self):
        answer = self.sh("sleep 50 & echo done")
        self.assertEqual((answer["status"], answer["stdout"]), ("exited", "done\n"))
        self.assertLess(answer["duration_ms"], 20000)

    def test_the_answer_is_valid_utf8_whatever_was_printed(self):
        answer = self.sh(r"printf 'a\xff\xfeb\xe2\x82\xac\x1b[2J\000'")
        self.assertEqual(answer["stdout"], "a\ufffd\ufffdb\u20ac\x1b[2J\x00")

    def test_json_shows_no_control_character_whichever_verb_prints_it(self):
        control = "\u009b2J\x7f"
        missing = os.path.join(self.work, control)
        for words in (("explain", "--json", "-c", "id # " + control), ("profile", "validate", missing + ".json"),
                      ("learn", "--json", "--out", missing + "/p.json", "--", "true")):
            done = self.raw(*words)
            self.assertIn(control, json.dumps(json.loads(done.stdout), ensure_ascii=False), done)
            self.assertFalse(set(done.stdout.decode()) & set(control[::3]), done.stdout)

    def test_exact_bytes_come_as_base64_where_the_profile_asks(self):
        profile = self.profile({"output": {"exact_bytes": True}})
        answer = self.sh(r"printf '\xff\x00'", "--profile", profile)
        self.assertEqual(answer["encoding"]["stdout"], "base64")
        self.assertEqual(base64.b64decode(answer["stdout"]), b"\xff\x00")

    def test_an_overlay_keeps_writes_apart_and_lists_them(self):
        self.write("work/keep", "a")
        self.write("work/old/file", "b")
        command = "echo new > made; rm keep; echo more >> old/file; mkdir dir"
        answer = self.sh(command, "--overlay")
        if answer["status"] == "error":
            self.skipTest("overlayfs in a user namespace: " + answer["error"]["message"])
        changes = {c["path"].removeprefix(self.work + "/"): c["kind"] for c in answer["changes"]}
        self.assertEqual(
            changes,
            {"made": "created", "keep": "deleted", "old/file": "modified", "dir": "created"},
        )
        self.assertEqual(sorted(os.listdir(self.work)), ["keep", "old"])
        with open(os.path.join(self.work, "old/file")) as file:
            self.assertEqual(file.read(), "b")


if __name__ == "__main__":
    unittest.main()
