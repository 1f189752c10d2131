#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Writes utf8_vectors.txt: "hex of bytes, hex of what Python's decoder makes of them", a line each.
import pathlib
import random

random.seed(1)
EDGES = [0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1,
         0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF]
PIECES = [bytes([b]) for b in EDGES] + [c.encode() for c in "é€한𝄞😀"] + [b"plain text, "]
lines = []
for i in range(1500):
    data = b"".join(random.choice(PIECES) for _ in range(1 + i % 24))
    lines.append(data.hex() + " " + data.decode("utf-8", "replace").encode().hex())
pathlib.Path(__file__).with_name("utf8_vectors.txt").write_text("\n".join(lines) + "\n")
