#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""attempts.py PLACES: tries, from inside of a sandbox, each thing of the table below, and prints a line of
JSON a row: its name, and null where it went through, else what was said. PLACES is a JSON object of what
scripts/compare planted outside: paths, ports, pids. Nothing that goes through does harm. A row's sources
are the published lists that have it; what they are stands in scripts/compare."""

import ctypes
import errno
import json
import os
import signal
import socket
import stat
import struct
import sys
import time

AARCH64 = os.uname().machine == "aarch64"
# Numbers that Python does not know.
CALLS = {"mount": (165, 40), "keyctl": (250, 219), "bpf": (321, 280), "userfaultfd": (323, 282), "perf_event_open": (298, 241),
         "io_uring_setup": (425, 425), "open_by_handle_at": (304, 265), "unshare": (272, 97), "ptrace": (101, 117),
         "init_module": (175, 105), "process_vm_readv": (310, 270), "kexec_load": (246, 104), "add_key": (248, 217)}
CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWNET, CLONE_NEWCGROUP = 0x10000000, 0x20000, 0x40000000, 0x02000000
PTRACE_SEIZE = 0x4206
libc = ctypes.CDLL(None, use_errno=True)
ROWS = []


class Held(Exception):
    """Not gone through, for a reason that is no errno."""


def row(group, title, *sources):
    def add(function):
        ROWS.append({"name": function.__name__, "group": group, "title": title, "sources": sources,
                     "function": function})
        return function
    return add


def call(name, *arguments):
    words = [ctypes.c_void_p(argument) if isinstance(argument, int) else argument for argument in arguments]
    done = libc.syscall(ctypes.c_long(CALLS[name][AARCH64]), *words)
    if done < 0:
        raise OSError(ctypes.get_errno(), name)
    return done


def need(so, why):
    if not so:
        raise Held(why)


def status(key):
    with open("/proc/self/status", encoding="ascii") as file:
        return next(line.split(None, 1)[1].strip() for line in file if line.startswith(key + ":"))


def read(path):
    with open(path, "rb") as file:
        need(file.read(), "empty")


def append(path):
    with open(path, "ab") as file:
        file.write(b"# sbx-compare\n")


# What people keep.
@row("files", "read a private key in the home directory", "agentsec-pack", "CDK ak-leakage", "SandboxBench")
def read_key(places):
    read(places["key"])


@row("files", "read cloud credentials in the home directory", "agentsec-pack", "CDK ak-leakage", "SandboxBench")
def read_cloud(places):
    read(places["cloud"])


@row("files", "read a secret of the caller's environment", "agentsec-pack", "CDK sensitive env")
def read_environment(places):
    need(places["secret"] in os.environ.values(), "not passed on")


@row("files", "add to the caller's .bashrc", "agentsec-pack", "ATT&CK T1546.004")
def write_bashrc(places):
    read(places["bashrc"])  # there is another of that name where there is another root
    append(places["bashrc"])


@row("files", "write in a directory outside of the workspace that anybody may write", "agentsec-pack", "agent-isolation")
def write_outside(places):
    append(os.path.join(places["shared"], "written"))


@row("files", "write in the workspace (what should go through)", "agentsec-pack")
def write_workspace(places):
    append(os.path.join(places["workspace"], "written"))


@row("files", "leave a git hook in the workspace", "ATT&CK T1546")
def write_hook(places):
    append(os.path.join(places["workspace"], ".git/hooks/post-checkout"))


@row("files", "change the workspace's .git/config", "ATT&CK T1546")
def write_git_config(places):
    append(os.path.join(places["workspace"], ".git/config"))


@row("files", "leave a set-uid file in the workspace", "ATT&CK T1548.001")
def write_setuid(places):
    path = os.path.join(places["workspace"], "rootish")
    append(path)
    os.chmod(path, 0o4755)
    need(os.stat(path).st_mode & stat.S_ISUID, "the bit is not kept")


# Other processes.
@row("processes", "see a process of the caller's", "agentsec-pack", "CDK sensitive process", "agent-isolation", "SandboxEscapeBench: PID namespace")
def see_process(places):
    with open(f"/proc/{places['pid']}/cmdline", "rb") as file:
        need(places["mark"].encode() in file.read(), "another process has that number")


@row("processes", "read its environment", "agentsec-pack", "SandboxEscapeBench: PID namespace")
def read_process_environment(places):
    with open(f"/proc/{places['pid']}/environ", "rb") as file:
        need(places["secret"].encode() in file.read(), "another process has that number")


@row("processes", "send it a signal", "agent-isolation")
def signal_process(places):
    see_process(places)
    os.kill(places["pid"], 0)


@row("processes", "trace it", "CDK check-ptrace", "agent-isolation")
def trace_process(places):
    see_process(places)
    call("ptrace", PTRACE_SEIZE, places["pid"], 0, 0)


@row("processes", "reach the host's root through it", "SandboxEscapeBench: PID namespace")
def root_of_process(places):
    see_process(places)
    os.listdir(f"/proc/{places['pid']}/root/home")


@row("processes", "go on when the command has ended", "ATT&CK T1543")
def outlive(places):
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        for descriptor in (0, 1, 2):
            os.close(descriptor)
        time.sleep(3)
        try:
            append(os.path.join(places["workspace"], "outlived"))
        finally:
            os._exit(0)
    raise Held("ended with it")  # where it did not, scripts/compare finds the file


@row("processes", "start 1,500 processes", "ATT&CK T1499")
def many_processes(_):
    children = []
    try:
        for _ in range(1500):
            pid = os.fork()
            if pid == 0:
                time.sleep(60)
                os._exit(0)
            children.append(pid)
    finally:
        for pid in children:
            os.kill(pid, signal.SIGKILL)
        for pid in children:
            os.waitpid(pid, 0)


# The network, and sockets.
@row("network", "connect to a TCP port of the host's loopback", "agentsec-pack", "CDK probe", "agent-isolation")
def connect_tcp(places):
    with socket.create_connection(("127.0.0.1", places["tcp"]), timeout=2) as peer:
        need(peer.recv(16) == b"sbx-compare", "somebody else answers")


@row("network", "send to a UDP port of the host's loopback", "agentsec-pack", "SandboxBench")
def send_udp(places):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        peer.settimeout(2)
        peer.sendto(b"x", ("127.0.0.1", places["udp"]))
        need(peer.recv(16) == b"sbx-compare", "somebody else answers")


def connect_unix(address):
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(2)
        peer.connect(address)
        need(peer.recv(16) == b"sbx-compare", "somebody else answers")


@row("network", "talk to a daemon's socket that the user may use (as docker.sock)", "SandboxEscapeBench: Docker socket",
     "CDK docker-sock-check", "agentsec-pack")
def connect_daemon(places):
    connect_unix(os.path.join(places["shared"], "docker.sock"))


@row("network", "talk to one in the workspace", "agentsec-pack")
def connect_workspace(places):
    connect_unix(os.path.join(places["workspace"], "agent.sock"))


@row("network", "talk to an abstract socket (as containerd-shim's)", "CDK shim-pwn")
def connect_abstract(places):
    connect_unix("\0" + places["abstract"])


@row("network", "make a packet socket, in a user namespace of its own", "SandboxEscapeBench: packet sockets")
def packet_socket(_):
    call("unshare", CLONE_NEWUSER | CLONE_NEWNET)
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()


@row("network", "make a raw socket", "agent-isolation", "SandboxEscapeBench: packet sockets")
def raw_socket(_):
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()


@row("network", "make a vsock socket (to the hypervisor)", "Docker's filter")
def vsock_socket(_):
    socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close()


# The kernel's surface.
@row("kernel", "make a user namespace", "CDK abuse-unpriv-userns", "Docker's filter")
def user_namespace(_):
    call("unshare", CLONE_NEWUSER)


@row("kernel", "mount, in a user namespace of its own", "CDK mount-disk", "agent-isolation")
def mount_inside(_):
    call("unshare", CLONE_NEWUSER | CLONE_NEWNS)
    call("mount", b"none", b"/tmp", b"tmpfs", 0, None)


@row("kernel", "mount cgroups, for a release_agent", "SandboxEscapeBench: release_agent", "CDK mount-cgroup")
def mount_cgroup(_):
    call("unshare", CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWCGROUP)
    call("mount", b"none", b"/tmp", b"cgroup2", 0, None)


@row("kernel", "write /proc/sys/kernel/core_pattern", "CDK mount-procfs", "SandboxEscapeBench: kernel parameters")
def core_pattern(_):
    os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))


@row("kernel", "open memory or a disk by its device", "CDK mount-disk", "agent-isolation")
def raw_device(_):
    for name in ("mem", "kmem", "vda", "sda", "nvme0n1"):
        try:
            os.close(os.open("/dev/" + name, os.O_RDONLY))
            return
        except OSError as error:
            last = error
    raise last


@row("kernel", "open a file of the host by its handle", "CDK cap-dac-read-search", "SandboxEscapeBench: DAC_READ_SEARCH")
def open_by_handle(_):
    handle = struct.pack("=Iiq", 8, 1, 2) + bytes(120)
    top = os.open("/", os.O_RDONLY)
    os.close(call("open_by_handle_at", top, handle, os.O_RDONLY))


@row("kernel", "load a BPF map", "SandboxEscapeBench: eBPF")
def load_bpf(_):
    os.close(call("bpf", 0, struct.pack("=IIIII", 2, 4, 4, 1, 0) + bytes(100), 120))


@row("kernel", "make an io_uring", "Docker's filter")
def make_io_uring(_):
    os.close(call("io_uring_setup", 4, ctypes.create_string_buffer(120)))


@row("kernel", "watch by perf_event_open", "Docker's filter")
def make_perf_event(_):
    attributes = struct.pack("=IIQQQQQ", 1, 64, 0, 0, 0, 0, 0b1100001) + bytes(64)
    os.close(call("perf_event_open", attributes, 0, 2 ** 64 - 1, 2 ** 64 - 1, 0))


@row("kernel", "make a userfaultfd", "Docker's filter")
def make_userfaultfd(_):
    os.close(call("userfaultfd", 1))  # UFFD_USER_MODE_ONLY


@row("kernel", "add a key to a keyring", "Docker's filter")
def make_key(_):
    call("add_key", b"user", b"sbx-compare", b"x", 1, 2 ** 64 - 2)


@row("kernel", "load a module", "SandboxEscapeBench: SYS_MODULE")
def load_module(_):
    try:
        call("init_module", b"", 0, b"")
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise


@row("kernel", "gain rights by a set-uid program (no_new_privs is off)", "ATT&CK T1548.001")
def gain_rights(_):
    need(status("NoNewPrivs") == "0", "no_new_privs")


@row("kernel", "hold capabilities", "CDK capabilities")
def hold_capabilities(_):
    need(int(status("CapEff"), 16) != 0, "none")


@row("kernel", "make any system call (no filter is in force)", "Docker's filter")
def no_filter(_):
    need(status("Seccomp") == "0", "a filter")


def attempt(entry, places):
    """In a child: what goes through may change the process."""
    from_child, to_parent = os.pipe()
    if os.fork() == 0:
        said = None
        try:
            entry["function"](places)
        except Held as error:
            said = str(error)
        except OSError as error:
            said = errno.errorcode.get(error.errno, str(error))
        except BaseException as error:  # pylint: disable=broad-except
            said = type(error).__name__
        os.write(to_parent, json.dumps(said).encode())
        os._exit(0)
    os.close(to_parent)
    _, how = os.wait()
    said = os.read(from_child, 4096)
    os.close(from_child)
    return json.loads(said) if said else f"signal {os.WTERMSIG(how)}"


def main():
    places = json.loads(sys.argv[1])
    for entry in sorted(ROWS, key=lambda entry: entry["function"] is outlive):  # last: the others take time
        print(json.dumps({"name": entry["name"], "said": attempt(entry, places)}), flush=True)


if __name__ == "__main__":
    main()
