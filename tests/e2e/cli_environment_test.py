# SPDX-License-Identifier: Apache-2.0
"""The command line: the operator's SBX_* variables, and what of the environment the command gets."""

import os
import unittest

import harness


class Variables(harness.Case):
    """SBX_* are the operator's; flags win over them."""

    def with_variables(self, command, *flags, **variables):
        return self.sh(command, *flags, env={**os.environ, **variables})

    def test_profile(self):
        self.assertEqual(
            self.with_variables("true", SBX_PROFILE="strict")["sandbox"]["profile"], "strict"
        )
        answer = self.with_variables("true", "--profile", "default", SBX_PROFILE="strict")
        self.assertEqual(answer["sandbox"]["profile"], "default")

    def test_a_directory_of_profiles_that_cannot_be_searched_holds_none(self):
        os.symlink("loop", self.base + "/loop")
        for place in (self.base + "/loop", self.base + "/" + "x" * 300):
            answer = self.with_variables("true", "--profile", "readonly", "--with", "git", XDG_CONFIG_HOME=place)
            self.assertEqual((answer["status"], answer["exit_code"]), ("exited", 0), answer)

    def test_allowed_roots(self):
        roots = [os.path.join(self.base, name) for name in ("one", "two")]
        for root in roots:
            os.mkdir(root)
        answer = self.with_variables(
            f"touch {roots[0]}/x {roots[1]}/x && echo ok", SBX_ALLOWED_ROOTS=",".join(roots)
        )
        self.assertEqual(answer["stdout"], "ok\n", answer)
        self.assertTrue(os.path.exists(os.path.join(roots[1], "x")))

    def test_output_and_file_limits(self):
        answer = self.with_variables("seq 10000", SBX_MAX_OUTPUT_KB="2")
        self.assertTrue(answer["truncated"]["stdout"])
        self.assertLess(len(answer["stdout"]), 2200)
        answer = self.with_variables("seq 10000", "--max-output", "64K", SBX_MAX_OUTPUT_KB="2")
        self.assertFalse(answer["truncated"]["stdout"])
        answer = self.with_variables("exec head -c 8K /dev/zero > f", SBX_MAX_FILE_KB="4")
        self.assertEqual((answer["status"], answer["limit"]), ("limit", "file_size"))

    def test_scrub_mode_and_fallback(self):
        answer = self.with_variables("echo $MY_TOKEN", SBX_SCRUB_MODE="off", MY_TOKEN="t")
        self.assertEqual(answer["stdout"], "t\n")
        answer = self.with_variables("echo $MY_TOKEN", "--scrub", "default", SBX_SCRUB_MODE="off", MY_TOKEN="t")
        self.assertEqual(answer["stdout"], "\n")
        for value in ("refuse", "degrade"):
            self.assertEqual(self.with_variables("true", SBX_FALLBACK=value)["exit_code"], 0)
        for value in ("true", "false", "1", "0"):
            self.assertEqual(self.with_variables("true", SBX_ALLOW_NETWORK=value)["exit_code"], 0)

    def test_they_do_not_reach_the_command(self):
        answer = self.with_variables("env | grep ^SBX_ || echo none", SBX_FALLBACK="refuse")
        self.assertEqual(answer["stdout"], "none\n")


class Environment(harness.Case):
    """What of the caller's environment the command gets."""

    CALLER = {
        "PATH": "/usr/bin:/bin", "HOME": "/nonexistent/h", "LANG": "C.UTF-8", "LC_TIME": "C",
        "TERM": "xterm", "TZ": "UTC", "PROJECT": "p", "GITHUB_TOKEN": "t", "AWS_REGION": "r",
        "MY_API_KEY": "k", "DB_PASSWORD": "w", "SSH_AUTH_SOCK": "/s", "AUTHOR": "me",
        "LD_PRELOAD": "", "PYTHONPATH": "/p", "BASH_ENV": "/nonexistent/b", "NODE_OPTIONS": "--x",
        "GIT_SSH_COMMAND": "evil", "PROMPT_COMMAND": "x", "SBX_FALLBACK": "refuse",
    }
    NEVER = {
        "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "PYTHONPATH", "PYTHONSTARTUP", "NODE_OPTIONS",
        "BASH_ENV", "ENV", "PROMPT_COMMAND", "CDPATH", "PERL5LIB", "RUBYOPT", "GIT_SSH_COMMAND",
    }

    def inside(self, *flags, env=()):
        answer = self.run_json(*flags, "--", "/usr/bin/env", "-0", env={**self.CALLER, **dict(env)})
        self.assertEqual(answer["exit_code"], 0, answer)
        return dict(entry.split("=", 1) for entry in answer["stdout"].split("\0") if entry)

    def test_default_strips_credentials_and_what_loads_code(self):
        seen = self.inside()
        for name in ("GITHUB_TOKEN", "MY_API_KEY", "DB_PASSWORD", "SSH_AUTH_SOCK", "AWS_REGION"):
            self.assertNotIn(name, seen)
        self.assertFalse(self.NEVER & set(seen))
        for name in ("PROJECT", "AUTHOR", "LANG", "LC_TIME", "TERM", "TZ", "PATH"):
            self.assertEqual(seen[name], self.CALLER[name])

    def test_passwords_are_taken_out_of_urls_under_any_name(self):
        seen = self.inside("--env", "SET=ftp://a:set@h", env={"SITE": "ftp://ann:secret@h.test/x"})
        self.assertEqual((seen["SITE"], seen["SET"]), ("ftp://h.test/x", "ftp://a:[REDACTED]@h"))

    def test_what_a_credential_comes_from_stays_outside_without_a_network_too(self):
        """Also where another name holds its value."""
        profile = self.profile({"network": {"mode": "allowlist", "allow": ["api.test"], "credentials": [
            {"name": "API", "host": "api.test", "header": "X-Api", "from": {"env": "SOURCE"}}]}})
        seen = self.inside("--profile", profile, "--net", "none",
                           env={"SOURCE": "abcdefgh12345678", "OTHER": "xx-abcdefgh12345678-yy"})
        self.assertEqual({"SOURCE", "OTHER", "API", "PROJECT"} & set(seen), {"PROJECT"})

    def test_strict_keeps_safe_names_only(self):
        seen = self.inside("--scrub", "strict")
        self.assertNotIn("PROJECT", seen)
        self.assertNotIn("AUTHOR", seen)
        for name in ("PATH", "LANG", "LC_TIME", "TERM", "TZ"):
            self.assertEqual(seen[name], self.CALLER[name])
        self.assertFalse(self.NEVER & set(seen))

    def test_off_keeps_everything(self):
        seen = self.inside("--scrub", "off")
        for name in set(self.CALLER) - {"HOME"}:
            self.assertEqual(seen[name], self.CALLER[name], name)

    def test_a_name_is_passed_or_set_by_the_operator(self):
        seen = self.inside("--pass-env", "GITHUB_TOKEN", "--pass-env", "UNSET_NAME", "--env", "A=b=c",
                           "--env", "EMPTY=", "--env", "PROJECT=q", "--scrub", "strict")
        self.assertEqual(
            (seen["GITHUB_TOKEN"], seen["A"], seen["EMPTY"], seen["PROJECT"]), ("t", "b=c", "", "q")
        )
        self.assertNotIn("UNSET_NAME", seen)

    def test_nothing_asks_a_question(self):
        for mode in ("off", "default", "strict"):
            seen = self.inside("--scrub", mode)
            for name, value in {
                "CI": "1", "DEBIAN_FRONTEND": "noninteractive", "GIT_TERMINAL_PROMPT": "0",
                "PAGER": "cat", "GIT_PAGER": "cat", "EDITOR": "false", "NO_COLOR": "1",
                "PIP_NO_INPUT": "1",
            }.items():
                self.assertEqual(seen[name], value, (mode, name))


if __name__ == "__main__":
    unittest.main()
