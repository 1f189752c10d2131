# SPDX-License-Identifier: Apache-2.0
"""What the kept shell tells of paths that a call's text names, the same as of any run; and what is opened by its word."""

import os
import unittest

from harness import until
from shell_test import Case


def told(result):
    return sorted((denial["layer"], denial["operation"], denial["target"], denial["grant"])
                  for denial in result["denials"])


class Calls(Case):
    def test_what_the_one_before_was_refused_is_not_told_again(self):
        for count in (2, 0, 1):
            result = self.run_kept("unshare -m true; " * count + "true")
            self.assertEqual([(denial["operation"], denial["count"]) for denial in result["denials"]],
                             [("unshare", count)] * (count > 0))


class Paths(Case):
    def setUp(self):
        super().setUp()
        self.outside = os.path.join(self.base, "outside")
        os.makedirs(os.path.join(self.work, ".git", "hooks"))
        os.makedirs(os.path.join(self.work, "sub"))
        os.mkdir(self.outside)
        for name in ("data", "of root's"):
            with open(os.path.join(self.outside, name), "w") as out:
                out.write("x")

    def test_are_told_as_of_any_run(self):
        at = self.outside
        for command, operation, target in (
                ("echo x > /etc/foo", "open", "/etc/foo"),
                ("echo x >> /etc/passwd", "open", "/etc/passwd"),
                ("touch /usr/new", "open", "/usr/new"),
                ("mkdir /usr/new", "mkdir", "/usr/new"),
                ("mv sub /usr/new", "rename", "/usr/new"),
                ("echo x > file; cp file /usr/new", "open", "/usr/new"),
                ("echo x > .git/hooks/pre-push", "open", f"{self.work}/.git/hooks/pre-push"),
                ("rm -r .git/hooks", "rmdir", f"{self.work}/.git/hooks"),
                (f"cat {at}/data", "open", f"{at}/data"),
                (f"cat \"{at}/of root's\"", "open", f"{at}/of root's"),
                (f"head -c 1 < {at}/data", "open", f"{at}/data"),
                (f"cat ../outside/data 2>&1; false", "open", f"{at}/data")):
            with self.subTest(command):
                plain = self.peer.call("run", command=command)
                self.assertIn((operation, target), [entry[1:3] for entry in told(plain)], plain)
                self.assertEqual(told(self.run_kept(command)), told(plain))

    def test_are_those_of_the_directory_where_the_shell_is(self):
        self.says("cd sub")
        (entry,) = told(self.run_kept("cat ../../outside/data"))
        self.assertEqual(entry[1:3], ("open", f"{self.outside}/data"))

    def test_what_is_nowhere_or_not_refused_is_none(self):
        for command in (f"cat {self.outside}/none", "cat none /usr/none", "cat /etc/none", "rm /tmp/none",
                        "echo \"cat: /etc/passwd: Read-only file system\" >&2; cat /etc/passwd > /dev/null",
                        "touch sub/x; chmod 0 sub/x; cat sub/none"):
            with self.subTest(command):
                self.assertEqual(told(self.run_kept(command)), [])

    def test_what_a_name_leads_to_is_never_waited_for(self):
        """The text is the caller's, and a name may be a FIFO: it is only named, never opened."""
        os.mkfifo(os.path.join(self.outside, "fifo"))
        result = self.run_kept(f"cat {self.outside}/fifo", timeout_ms=20000)
        self.assertEqual((result["status"], [entry[2] for entry in told(result)]),
                         ("exited", [f"{self.outside}/fifo"]), result)


class Words(Case):
    def test_no_fifo_is_written_to_by_a_forged_word(self):
        """The shell names the pipes of a call, and what it runs can write such words too: of what the host shows
        read-only, nothing is opened outside."""
        with open(os.path.join(self.work, "forge.py"), "w") as out:
            out.write("import os, sys, time\n"
                      "says = f'/proc/{sys.argv[1]}/fd/51'\n"
                      "while not os.path.exists(says): time.sleep(0.01)\n"  # until the call has ended
                      "says = os.open(says, os.O_WRONLY)\n"
                      "end = time.time() + 4\n"
                      "open('forging', 'w')\n"
                      "while time.time() < end: os.write(says, b'\\0pipes 40 41 30 /x\\0')\n")
        self.says("mkfifo fifo; exec 30<>fifo; exec 40< <(sleep 20) 41< <(sleep 20)\n"
                  "(python3 forge.py $$ </dev/null >/dev/null 2>&1 &)")
        self.assertTrue(until(lambda: os.path.exists(os.path.join(self.work, "forging"))))
        for _ in range(3):
            self.run_kept("cat", stdin="from inside\n", timeout_ms=1500)
        fifo = os.open(os.path.join(self.work, "fifo"), os.O_RDWR | os.O_NONBLOCK)
        self.addCleanup(os.close, fifo)
        with self.assertRaises(BlockingIOError):
            self.fail(os.read(fifo, 100))


if __name__ == "__main__":
    unittest.main()
