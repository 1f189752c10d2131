# SPDX-License-Identifier: Apache-2.0
"""What a caller hands down to the process that it starts: descriptors, limits and signals."""

import os
import resource
import unittest

import harness


class HandedDown(harness.Case):
    def test_an_error_says_what_a_standard_descriptor_is(self):
        for path, flags, said in (("/", os.O_RDONLY, b"descriptor 0 is a directory"),
                                  ("/etc/passwd", os.O_PATH, b"descriptor 0 is opened with O_PATH")):
            fd = os.open(path, flags)
            done = self.raw("exec", "-c", "true", stdin=fd)
            os.close(fd)
            self.assertEqual(done.returncode, 125)
            self.assertIn(said, done.stderr)

    def test_a_hard_limit_stays_below_the_callers(self):
        def lower():
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (1 << 16, 1 << 16))

        self.assertEqual(self.out("ulimit -Hl", preexec_fn=lower), "64\n")


if __name__ == "__main__":
    unittest.main()
