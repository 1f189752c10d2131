# SPDX-License-Identifier: Apache-2.0
"""Two batches at once over one directory."""

import json
import os
import subprocess
import unittest

import batch_test
from harness import BOUND, SBX_RUN, until


class Together(batch_test.Case):
    def test_a_layer_in_use_is_not_thrown_away_by_another_batch(self):
        """Which throws away what one that was killed has left."""
        state = os.path.join(self.base, "state")
        environment = {**self.env, "XDG_STATE_HOME": state}
        shared = os.path.join(self.base, "shared")
        os.mkdir(shared)
        self.write("work/real", "as it was\n")
        command = (f"touch up; until [ -e {shared}/go ]; do sleep 0.05; done;"
                   " ls; cat real; echo new > real; cat real")
        flags = ["batch", "--template", self.work, "--jobs", "1", "--ro", shared, "--timeout", "50s"]
        first = subprocess.Popen(
            [SBX_RUN, *flags, self.tasks([{"id": "a", "command": command}])],
            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(self.end, first)
        self.assertTrue(until(lambda: any("up" in files for _, _, files in os.walk(state))))
        second = self.cli(*flags, self.tasks([{"id": "b", "command": "ls"}], "second.jsonl"), env=environment)
        self.write("shared/go", "")
        self.assertEqual(json.loads(second.stdout)["stdout"], "real\n", second)
        answer = json.loads(first.communicate(timeout=BOUND)[0])
        self.assertEqual(answer["stdout"], "real\nup\nas it was\nnew\n", answer)
        self.assertEqual({os.path.basename(change["path"]): change["kind"] for change in answer["changes"]},
                         {"real": "modified", "up": "created"}, answer)
        self.assertEqual(os.listdir(self.work), ["real"])


if __name__ == "__main__":
    unittest.main()
