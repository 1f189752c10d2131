# SPDX-License-Identifier: Apache-2.0
"""What many binds cost: bwrap_binds.py SBX_BWRAP [BINDS] [ROUNDS]

Launches `true` in a root with so many read-only binds, by sbx-bwrap and by bubblewrap in turn, and
prints the median of each and the median of the ratios taken round by round.
"""

import shutil
import statistics
import subprocess
import sys
import time


def command(program, binds):
    arguments = [program, "--dev-bind", "/", "/", "--tmpfs", "/tmp"]
    for i in range(binds):
        arguments += ["--ro-bind", "/usr/bin/env", f"/tmp/{i}"]
    return [*arguments, "true"]


def launch_ms(arguments):
    start = time.monotonic()
    subprocess.run(arguments, check=True)
    return (time.monotonic() - start) * 1000


def main():
    sbx = sys.argv[1]
    binds = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        sys.exit("bubblewrap is not installed: nothing to compare with")
    times = {sbx: [], bwrap: []}
    for turn in range(rounds):
        for program in (sbx, bwrap) if turn % 2 == 0 else (bwrap, sbx):
            times[program].append(launch_ms(command(program, binds)))
    ratio = statistics.median(a / b for a, b in zip(times[sbx], times[bwrap]))
    half = statistics.median(launch_ms(command(sbx, binds // 2)) for _ in range(rounds))
    print(f"{binds} binds: sbx-bwrap {statistics.median(times[sbx]):.1f} ms, "
          f"bwrap {statistics.median(times[bwrap]):.1f} ms, ratio {ratio:.3f}; "
          f"{binds // 2} binds: sbx-bwrap {half:.1f} ms")


main()
