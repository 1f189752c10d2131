#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""extract_vmlinux.py BZIMAGE VMLINUX: unpacks the kernel, which QEMU then boots by its PVH entry.

That saves the guest from unpacking itself in emulation, which takes longer than everything else.
The payload's place is in the setup header (Documentation/arch/x86/boot.rst).
"""
import gzip
import lzma
import struct
import subprocess
import sys


def unpack(payload):
    if payload.startswith(b"\xfd7zXZ"):
        return lzma.LZMADecompressor().decompress(payload)
    if payload.startswith(b"\x28\xb5\x2f\xfd"):
        # The last four bytes are the unpacked size, which zstd does not know.
        return subprocess.run(["zstd", "-dc"], input=payload[:-4], stdout=subprocess.PIPE,
                              check=True).stdout
    return gzip.decompress(payload[:-4])


def main(source, target):
    with open(source, "rb") as file:
        image = file.read()
    if image[0x202:0x206] != b"HdrS":
        sys.exit(f"{source}: not a bzImage")
    setup_sectors = image[0x1F1] or 4
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = (setup_sectors + 1) * 512 + offset
    kernel = unpack(image[start:start + length])
    if not kernel.startswith(b"\x7fELF"):
        sys.exit(f"{source}: the payload is not an ELF file")
    with open(target, "wb") as file:
        file.write(kernel)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
