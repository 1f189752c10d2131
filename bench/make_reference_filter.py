#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The reference launcher's filter: a table of system calls (x86-64) -> reference_filter.h on stdout.

The table is frozen on purpose, so that the measuring stick does not change with sbx's own filter:
everything is allowed but what is named here. Run it after a change of the table:
    python3 bench/make_reference_filter.py > bench/reference_filter.h
"""

ALLOW, KILL, EPERM, ENOSYS, EAFNOSUPPORT = 0x7FFF0000, 0x80000000, 0x50001, 0x50026, 0x50061
AUDIT_ARCH_X86_64 = 0xC000003E
LOAD, JEQ, JGE, JSET, JUMP, RETURN = 0x20, 0x15, 0x35, 0x45, 0x05, 0x06
CLONE_NEW = 0x7E020000  # all namespace flags of clone
MSG_FASTOPEN, MFD_NOEXEC_SEAL = 0x20000000, 8
FIRST_UNKNOWN = 457  # and everything above, x32 numbers included


def argument(index):
    return (LOAD, 0, 0, 16 + 8 * index)  # the low 32 bits


def any_bit(index, bits, hit, miss):
    return [argument(index), (JSET, 0, 1, bits), (RETURN, 0, 0, hit), (RETURN, 0, 0, miss)]


def one_of(index, values, hit, miss):
    jumps = [(JEQ, len(values) - i, 0, value) for i, value in enumerate(values)]
    return [argument(index), *jumps, (RETURN, 0, 0, miss), (RETURN, 0, 0, hit)]


# First number, last number -> a verdict, or the instructions that look at the arguments.
TABLE = [
    (16, 16, one_of(1, [0x5412], EPERM, ALLOW)),  # ioctl TIOCSTI
    (41, 41, one_of(0, [1, 2, 10, 16], ALLOW, EAFNOSUPPORT)),  # socket: UNIX, INET, INET6, NETLINK
    (44, 44, any_bit(3, MSG_FASTOPEN, EPERM, ALLOW)),  # sendto
    (46, 46, any_bit(2, MSG_FASTOPEN, EPERM, ALLOW)),  # sendmsg
    (56, 56, any_bit(0, CLONE_NEW, EPERM, ALLOW)),  # clone
    (101, 101, EPERM),  # ptrace
    (103, 103, EPERM),  # syslog
    (134, 135, EPERM),  # uselib, personality
    (153, 153, EPERM),  # vhangup
    (155, 156, EPERM),  # pivot_root, _sysctl
    (159, 159, EPERM),  # adjtimex
    (163, 173, EPERM),  # acct … ioperm: mounts, swap, reboot, names, iopl
    (175, 176, EPERM),  # init_module, delete_module
    (179, 180, EPERM),  # quotactl, nfsservctl
    (212, 212, EPERM),  # lookup_dcookie
    (227, 227, EPERM),  # clock_settime
    (246, 246, EPERM),  # kexec_load
    (248, 250, EPERM),  # add_key, request_key, keyctl
    (272, 272, EPERM),  # unshare
    (298, 298, EPERM),  # perf_event_open
    (300, 300, EPERM),  # fanotify_init
    (304, 305, EPERM),  # open_by_handle_at, clock_adjtime
    (307, 307, any_bit(3, MSG_FASTOPEN, EPERM, ALLOW)),  # sendmmsg
    (308, 308, EPERM),  # setns
    (310, 313, EPERM),  # process_vm_readv, process_vm_writev, kcmp, finit_module
    (319, 319, any_bit(1, MFD_NOEXEC_SEAL, ALLOW, EPERM)),  # memfd_create
    (320, 321, EPERM),  # kexec_file_load, bpf
    (323, 323, EPERM),  # userfaultfd
    (335, 423, EPERM),  # not assigned
    (425, 433, EPERM),  # io_uring_*, open_tree … fspick
    (435, 435, ENOSYS),  # clone3: its flags cannot be seen, and glibc falls back to clone
    (442, 443, EPERM),  # mount_setattr, quotactl_fd
]


def ranges():
    """[(first number, verdict or block)] over all numbers, in order."""
    out, at = [], 0
    for first, last, what in TABLE:
        if at < first:
            out.append((at, ALLOW))
        out.append((first, what))
        at = last + 1
    return [*out, (at, ALLOW), (FIRST_UNKNOWN, EPERM)]


def tree(part, blocks):
    """A binary search over `part`; a leaf returns, or jumps to the block named in its last field."""
    if len(part) == 1:
        what = part[0][1]
        if isinstance(what, int):
            return [(RETURN, 0, 0, what)]
        blocks.append(what)
        return [(JUMP, 0, 0, what)]
    middle = len(part) // 2
    below, above = tree(part[:middle], blocks), tree(part[middle:], blocks)
    return [(JGE, len(below), 0, part[middle][0]), *below, *above]


def program():
    blocks = []
    code = [(LOAD, 0, 0, 4), (JEQ, 1, 0, AUDIT_ARCH_X86_64), (RETURN, 0, 0, KILL), (LOAD, 0, 0, 0)]
    code += tree(ranges(), blocks)
    for block in blocks:
        here = len(code)
        code = [(op, t, f, here - i - 1) if k is block else (op, t, f, k)
                for i, (op, t, f, k) in enumerate(code)]
        code += block
    assert all(0 <= t < 256 and 0 <= f < 256 for _, t, f, _ in code)
    return code


def main():
    code = program()
    print("// SPDX-License-Identifier: Apache-2.0")
    print("// Made by make_reference_filter.py: change that. x86-64 only.")
    print("#pragma once\n\n#include <linux/filter.h>\n")
    print("// clang-format off")
    print(f"static struct sock_filter reference_filter[{len(code)}] = {{")
    for i in range(0, len(code), 4):
        print("    " + " ".join(f"{{0x{op:02x}, {t}, {f}, 0x{k:x}}}," for op, t, f, k in code[i:i + 4]))
    print("};\n// clang-format on")


if __name__ == "__main__":
    main()
