# SPDX-License-Identifier: Apache-2.0
"""Files that match a pattern come and go on the host while sandboxes are made."""

import itertools
import os
import threading
import time
import unittest

import harness


class Vanishing(harness.Case):
    def test_a_run_starts_though_what_matched_goes_meanwhile(self):
        ended = threading.Event()

        def come_and_go():
            for number in itertools.count():
                if ended.is_set():
                    return
                path = f"{self.work}/b{number}.tmp"
                with open(path, "w"):
                    time.sleep(0.01)
                os.unlink(path)

        thread = threading.Thread(target=come_and_go)
        thread.start()
        try:
            for _ in range(12):
                answer = self.sh("true", "--hide", "*.tmp")
                self.assertEqual((answer["status"], answer["exit_code"]), ("exited", 0), answer["error"])
        finally:
            ended.set()
            thread.join()


if __name__ == "__main__":
    unittest.main()
