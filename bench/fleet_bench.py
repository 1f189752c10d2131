#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""fleet_bench.py [EACH [ALIVE]]: many sandboxes → Markdown tables on stdout, and fleet.svg beside this file.

ComputeSDK's protocol: EACH (100) sandboxes one after the other, every 200 ms, and all at once; of each the time
from its own start to its end. Then the rate of a batch on all cores, and ALIVE (1,000) sandboxes at once: time to
make, memory, and time to end. SBX_RUN and SBX_REFERENCE name the programs. Containers are measured as root, in a
mount namespace of the bench's own without a cgroup tree, where podman, crun and busybox are installed."""

import json
import math
import os
import resource
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Callable, Dict, List, Optional, Tuple

HERE = os.path.dirname(os.path.abspath(__file__))
SBX_RUN = os.environ["SBX_RUN"]
REFERENCE = os.environ.get("SBX_REFERENCE", "")
EACH = int(sys.argv[1]) if len(sys.argv) > 1 else 100
ALIVE = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
STAGGER = 0.2  # seconds, as the protocol has it
SLEEP = "86399"  # a second that nobody else sleeps for: by it a command is found in /proc
MODES = (("sequential", None), ("staggered", STAGGER), ("burst", 0.0))

Sample = Tuple[List[float], int]  # milliseconds of those that succeeded; how many did


class Processes:
    """A contender that is a process each."""

    def __init__(self, command: List[str]) -> None:
        self.command = command
        self.null = os.open(os.devnull, os.O_RDWR)

    def start(self) -> int:
        actions = [(os.POSIX_SPAWN_DUP2, self.null, fd) for fd in (0, 1, 2)]
        return os.posix_spawnp(self.command[0], self.command, os.environ, file_actions=actions, setsigmask=[])

    def measure(self, interval: Optional[float]) -> Sample:
        began: Dict[int, float] = {}
        took: List[float] = []
        due = time.monotonic()
        for left in range(EACH, -1, -1):
            while began and (left == 0 or interval is None or (interval and time.monotonic() < due)):
                pid, status = os.waitpid(-1, 0 if left == 0 or interval is None else os.WNOHANG)
                if pid == 0:
                    signal.sigtimedwait({signal.SIGCHLD}, max(0.0, due - time.monotonic()))
                elif status == 0:
                    took.append((time.monotonic() - began.pop(pid)) * 1000)
                else:
                    began.pop(pid)
            if left == 0:
                return took, len(took)
            time.sleep(max(0.0, due - time.monotonic()))
            due += interval or 0.0
            at = time.monotonic()
            began[self.start()] = at
        raise AssertionError

    def end(self) -> None:
        os.close(self.null)


class Session:
    """Runs of one server, over its standard input and output."""

    def __init__(self, workspace: str) -> None:
        self.server = subprocess.Popen([SBX_RUN, "serve", "--workspace", workspace], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE)
        self.pending = b""
        self.last = 0

    def send(self, method: str, **params: object) -> int:
        self.last += 1
        line = json.dumps({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}) + "\n"
        os.write(self.server.stdin.fileno(), line.encode())
        return self.last

    def hear(self, timeout: Optional[float] = None) -> Optional[dict]:
        """The next answer; None where none comes in time."""
        while b"\n" not in self.pending:
            if not select.select([self.server.stdout], [], [], timeout)[0]:
                return None
            more = os.read(self.server.stdout.fileno(), 1 << 20)
            if not more:
                raise SystemExit("the server has ended")
            self.pending += more
        line, self.pending = self.pending.split(b"\n", 1)
        return json.loads(line)

    def call(self, method: str, **params: object) -> dict:
        number = self.send(method, **params)
        while True:
            answer = self.hear()
            if answer is not None and answer.get("id") == number:
                return answer["result"]

    def measure(self, interval: Optional[float]) -> Sample:
        began: Dict[int, float] = {}
        took: List[float] = []
        good = 0
        due = time.monotonic()
        for left in range(EACH, -1, -1):
            while began and (left == 0 or interval is None or (interval and time.monotonic() < due)):
                waits = None if left == 0 or interval is None else max(0.0, due - time.monotonic())
                answer = self.hear(waits)
                if answer is None or answer.get("id") not in began:
                    continue
                took.append((time.monotonic() - began.pop(answer["id"])) * 1000)
                good += answer.get("result", {}).get("exit_code") == 0
            if left == 0:
                return took, good
            time.sleep(max(0.0, due - time.monotonic()))
            due += interval or 0.0
            at = time.monotonic()
            began[self.send("run", argv=["/bin/true"])] = at
        raise AssertionError

    def end(self) -> None:
        self.server.stdin.close()
        self.server.wait()


def bwrap(workspace: str) -> List[str]:
    command = ["bwrap", "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts",
               "--unshare-cgroup", "--die-with-parent", "--new-session"]
    for tree in ("usr", "etc", "opt", "var", "srv", "boot", "media", "sys"):
        command += ["--ro-bind", f"/{tree}", f"/{tree}"]
    for link in ("bin", "sbin", "lib", "lib64"):
        command += ["--symlink", f"usr/{link}", f"/{link}"]
    return command + ["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--bind", workspace, "/work", "--chdir",
                      "/work"]


def containers(base: str) -> Dict[str, Callable[[], Processes]]:
    """podman and crun, with a root of busybox alone."""
    busybox = shutil.which("busybox")
    if os.geteuid() != 0 or not busybox:
        return {}
    root = os.path.join(base, "root")
    for name in ("bin", "proc", "sys", "dev", "etc", "tmp"):
        os.makedirs(os.path.join(root, name))
    shutil.copy(busybox, f"{root}/bin/busybox")
    os.symlink("busybox", f"{root}/bin/true")
    found: Dict[str, Callable[[], Processes]] = {}
    if shutil.which("crun"):
        bundle = os.path.join(base, "bundle")
        os.mkdir(bundle)
        subprocess.run(["crun", "spec"], cwd=bundle, check=True)
        with open(f"{bundle}/config.json") as text:
            spec = json.load(text)
        spec["process"].update(terminal=False, args=["/bin/true"])
        spec["root"]["path"] = root
        spec["linux"].pop("resources", None)
        spec["mounts"] = [one for one in spec["mounts"] if one["type"] != "cgroup"]
        with open(f"{bundle}/config.json", "w") as out:
            json.dump(spec, out)

        class Crun(Processes):
            made = 0

            def start(self) -> int:
                Crun.made += 1
                self.command = ["crun", f"--root={base}/crun", "--cgroup-manager=disabled", "run",
                                f"--bundle={bundle}", f"bench-{os.getpid()}-{Crun.made}"]
                return super().start()

        found["crun run"] = lambda: Crun([])
    if shutil.which("podman"):
        found["podman run"] = lambda: Processes(
            ["podman", f"--root={base}/storage", f"--runroot={base}/run", "--cgroup-manager=cgroupfs", "--runtime",
             "crun", "--events-backend=none", "run", "--rm", "--network=none", "--cgroups=disabled",
             "--ulimit=nofile=1024:1024", "--ulimit=nproc=4096:4096", "--rootfs", root, "/bin/true"])
    return found


def at(values: List[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, math.ceil(share * len(values)) - 1)]


# --- the plot: for each mode and contender a line from the median to p99, with a mark at p95 ---

def plot(rows: Dict[str, Dict[str, List[float]]]) -> str:
    names = list(rows)
    left, width, step, top = 150, 560, 18, 46
    every = [value for row in rows.values() for values in row.values() for value in values]
    low = math.floor(math.log10(min(every)))
    high = math.ceil(math.log10(max(every)))

    def x(value: float) -> float:
        return left + (math.log10(value) - low) / (high - low) * width

    block = step * (len(names) + 2)
    height = top + block * len(MODES)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 30} {height}" '
           'font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="#fff"/>',
           f'<text x="{left}" y="18">ms from a sandbox\'s start to its end: median (dot), p95 (bar), p99 (end of the '
           'line)</text>']
    for power in range(low, high + 1):
        out.append(f'<line x1="{x(10 ** power):.1f}" x2="{x(10 ** power):.1f}" y1="{top - 10}" y2="{height - 8}" '
                   f'stroke="#ddd"/><text x="{x(10 ** power):.1f}" y="{top - 14}" text-anchor="middle" fill="#666">'
                   f'{10 ** power:g}</text>')
    for index, (mode, _) in enumerate(MODES):
        y = top + index * block + step
        out.append(f'<text x="8" y="{y}" font-weight="bold">{mode}</text>')
        for name in names:
            y += step
            colour = "#c33" if name.startswith("sbx-run") else "#357"
            out.append(f'<text x="16" y="{y}">{name}</text>')
            values = rows[name].get(mode)
            if not values:
                continue
            median, p95, p99 = (x(at(values, share)) for share in (0.5, 0.95, 0.99))
            out.append(f'<path d="M{median:.1f} {y - 4}H{p99:.1f}M{p95:.1f} {y - 9}v10" stroke="{colour}" '
                       f'stroke-width="2"/><circle cx="{median:.1f}" cy="{y - 4}" r="4" fill="{colour}"/>')
    return "\n".join([*out, "</svg>", ""])


def protocol(workspace: str, base: str) -> None:
    contenders: Dict[str, Callable[[], object]] = {
        "fork and exec alone": lambda: Processes(["/bin/true"])}
    if REFERENCE:
        contenders["reference"] = lambda: Processes([REFERENCE, workspace, "/bin/true"])
    contenders["sbx-run"] = lambda: Processes([SBX_RUN, "--workspace", workspace, "--", "/bin/true"])
    contenders["sbx-run serve"] = lambda: Session(workspace)
    contenders["bwrap"] = lambda: Processes([*bwrap(workspace), "/bin/true"])
    contenders.update(containers(base))
    rows: Dict[str, Dict[str, List[float]]] = {}
    print(f"| contender | mode | median ms | p95 | p99 | success of {EACH} |\n|---|---|---:|---:|---:|---:|")
    for name, make in contenders.items():
        contender = make()
        rows[name] = {}
        for mode, interval in MODES:
            took, good = contender.measure(interval)
            if took:
                rows[name][mode] = took
                print(f"| {name} | {mode} | {at(took, 0.5):.1f} | {at(took, 0.95):.1f} | {at(took, 0.99):.1f} | "
                      f"{good} |", flush=True)
            else:
                print(f"| {name} | {mode} | | | | 0 |", flush=True)
        contender.end()
    with open(os.path.join(os.environ.get("SBX_FIGURES", HERE), "fleet.svg"), "w") as out:
        out.write(plot(rows))


def rates(workspace: str) -> None:
    """Whole processes, as many at once as there are cores; the batch is one process that does the same."""
    count, cores = 10 * EACH, os.cpu_count() or 1
    many = {"bwrap, in parallel": [*bwrap(workspace), "/bin/true"],
            "sbx-run, in parallel": [SBX_RUN, "--workspace", workspace, "--", "/bin/true"]}
    if REFERENCE:
        many["reference, in parallel"] = [REFERENCE, workspace, "/bin/true"]
    lines = "".join(json.dumps({"id": str(index), "argv": ["/bin/true"]}) + "\n" for index in range(count))
    numbers = "".join(f"{index}\n" for index in range(count))

    def seconds(command: List[str], text: str) -> float:
        began = time.monotonic()
        subprocess.run(command, input=text, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       check=True)
        return time.monotonic() - began

    found: Dict[str, List[float]] = {}
    for _ in range(5):  # in turns
        found.setdefault("sbx-run batch", []).append(
            seconds([SBX_RUN, "batch", "--workspace", workspace, "--jobs", str(cores)], lines))
        for name, command in many.items():
            found.setdefault(name, []).append(seconds(["xargs", "-n", "1", "-P", str(cores), *command], numbers))
    batch = found["sbx-run batch"]
    print(f"\n| {count} times `/bin/true`, {cores} at once | runs/s | the batch's rate, of this |\n|---|---:|---:|")
    for name, took in found.items():
        ratio = statistics.median(other / own for own, other in zip(batch, took))
        print(f"| {name} | {count / statistics.median(took):.0f} | {ratio:.2f} |", flush=True)


def sleepers() -> List[int]:
    """A pidfd of each command that there is."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/cmdline", "rb") as text:
                if text.read() == f"sleep\0{SLEEP}\0".encode():
                    found.append(os.pidfd_open(int(name)))
        except OSError:
            continue
    return found


def until_gone(commands: List[int], began: float) -> float:
    """Seconds until the last of them has ended."""
    waiting = select.poll()
    for pidfd in commands:
        waiting.register(pidfd, select.POLLIN)
    left = len(commands)
    while left:
        ended = waiting.poll(60_000)
        if not ended:
            raise SystemExit(f"{left} commands are still there")
        for pidfd, _ in ended:
            waiting.unregister(pidfd)
            os.close(pidfd)
        left -= len(ended)
    return time.monotonic() - began


def available_kb() -> int:
    with open("/proc/meminfo") as text:
        return next(int(line.split()[1]) for line in text if line.startswith("MemAvailable"))


def alive(workspace: str) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    session = Session(workspace)

    def fill() -> List[int]:
        for _ in range(ALIVE):
            session.call("start", argv=["sleep", SLEEP])
        commands = sleepers()
        if len(commands) != ALIVE:
            raise SystemExit(f"{len(commands)} commands, not {ALIVE}")
        return commands

    session.call("run", argv=["/bin/true"])
    free = available_kb()
    began = time.monotonic()
    commands = fill()
    made = time.monotonic() - began
    used = (free - available_kb()) / ALIVE
    began = time.monotonic()
    session.call("reset")
    ended = until_gone(commands, began)
    commands = fill()
    began = time.monotonic()
    session.server.send_signal(signal.SIGKILL)
    killed = until_gone(commands, began)
    session.server.wait()
    print(f"\n| {ALIVE} sandboxes alive in one session | |\n|---|---:|\n| each is made in | {made / ALIVE * 1000:.1f} ms |\n"
          f"| memory of the machine, each | {used:.0f} KiB |\n| all ended by `reset` in | {ended:.2f} s |\n"
          f"| all ended after the server's SIGKILL in | {killed:.2f} s |")


def main() -> None:
    if os.geteuid() == 0 and not os.environ.get("SBX_FLEET_APART"):
        os.environ["SBX_FLEET_APART"] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", "sh", "-c",
                              'mount -t tmpfs tmpfs /sys/fs/cgroup && exec "$@"', "sh", sys.executable, *sys.argv])
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    base = tempfile.mkdtemp(prefix="sbx-fleet-", dir="/var/tmp")
    try:
        workspace = os.path.join(base, "work")
        os.mkdir(workspace)
        os.chdir(workspace)
        protocol(workspace, base)
        rates(workspace)
        alive(workspace)
    finally:
        os.chdir("/")
        subprocess.run(["rm", "-rf", base], check=False)


if __name__ == "__main__":
    main()
