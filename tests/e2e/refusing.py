# SPDX-License-Identifier: Apache-2.0
"""Executes a program under a filter that refuses system calls, as those of containers do.
Each rule is CALL[:ERRNO[:ARGUMENT&MASK]]: EPERM where no other is named, and with a mask only where a bit
of it is set in the lower half of that argument."""

import ctypes
import errno
import os
import struct
import sys

NUMBERS = {
    "x86_64": {"capset": 126, "clone": 56, "mount": 165, "pivot_root": 155, "seccomp": 317, "sethostname": 170,
               "signalfd4": 289, "umount2": 166, "unshare": 272},
    "aarch64": {"capset": 91, "clone": 220, "mount": 40, "pivot_root": 41, "seccomp": 277, "sethostname": 161,
                "signalfd4": 74, "umount2": 39, "unshare": 97},
}
NEWER = {"clone3": 435, "close_range": 436, "mount_setattr": 442, "move_mount": 429, "open_tree": 428}  # the same everywhere

NO_PID = ("clone:EPERM:0&0x20000000", "clone3:ENOSYS")
NO_NAMESPACES = ("clone:EPERM:0&0x7e020000", "clone3:ENOSYS", "unshare")
NO_LISTENER = ("seccomp:EINVAL:1&8",)  # an unknown flag, as to a kernel without notifications

LOAD, EQUALS, HAS_BITS, ANSWER = 0x20, 0x15, 0x45, 0x06
REFUSED, ALLOWED = 0x00050000, 0x7fff0000


def wrapper(*rules):
    """What goes in front of a command."""
    return [sys.executable, __file__, *rules, "--"]


def rows(rule):
    """Begins, and goes on to the next, with the call's number loaded."""
    call, _, rest = rule.partition(":")
    code, _, mask = rest.partition(":")
    number = {**NUMBERS[os.uname().machine], **NEWER}[call]
    refuse = (ANSWER, 0, 0, REFUSED | getattr(errno, code or "EPERM"))
    if not mask:
        return [(EQUALS, 0, 1, number), refuse]
    argument, bits = mask.split("&")
    return [(EQUALS, 0, 4, number), (LOAD, 0, 0, 16 + 8 * int(argument)), (HAS_BITS, 0, 1, int(bits, 0)), refuse,
            (LOAD, 0, 0, 0)]


def main():
    end = sys.argv.index("--")
    program = [(LOAD, 0, 0, 0), *(row for rule in sys.argv[1:end] for row in rows(rule)), (ANSWER, 0, 0, ALLOWED)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in program))
    libc = ctypes.CDLL(None)
    header = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, header):  # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP
        sys.exit("no filter")
    os.execvp(sys.argv[end + 1], sys.argv[end + 1:])


if __name__ == "__main__":
    main()
