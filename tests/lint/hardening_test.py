#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hardening_test.py SOURCE_DIR BUILD_DIR: that scripts/lib/hardening.py sees a property that is not there, in
small programs which lack one each; and that a release has what docs/building.md claims, from how each
file would be compiled and from the smallest program, which is built in BUILD_DIR/hardening. The whole
release is held against the page by scripts/package."""

import os
import shutil
import subprocess
import sys
import tempfile

SOURCE, BUILD = sys.argv[1:]
CHECK = os.path.join(SOURCE, "scripts", "lib", "hardening.py")
SMALLEST = "sbx-screen"
GOOD = ["-O2", "-fPIE", "-static-pie", "-s", "-Wl,-z,relro", "-Wl,-z,now"]
DYNAMIC = [word.replace("-static-pie", "-pie") for word in GOOD]
# What each property's lack looks like.
LACKING = {
    "static": DYNAMIC,
    "pie": ["-O2", "-fno-pie", "-static", "-s"],
    "relro": [*GOOD, "-Wl,-z,norelro"],
    "now": ["-O2", "-fPIE", "-pie", "-s", "-Wl,-z,lazy"],
    "stack": [*GOOD, "-Wl,-z,execstack"],
    "w^x": [*GOOD, "-DWX"],
    "text": ["-O2", "-fno-pie", "-shared", "-Wl,-z,notext", "-mcmodel=large"],
    "rpath": [*DYNAMIC, "-Wl,-rpath,/nowhere"],
    "paths": [*GOOD, f'-DWHERE="{SOURCE}/x"'],
    "stripped": [word for word in GOOD if word != "-s"],
}


def build(directory, flags):
    source, program = os.path.join(directory, "main.c"), os.path.join(directory, "main")
    with open(source, "w", encoding="utf-8") as file:
        file.write('#include <stdio.h>\nint value; int *where = &value;\n#ifdef WX\n'
                   '__asm__(".pushsection .wx,\\"awx\\"\\n.long 1\\n.popsection");\n#endif\n'
                   '#ifndef WHERE\n#define WHERE "x"\n#endif\n'
                   'int main(void) { return puts(WHERE) + *where; }\n')
    subprocess.run(["gcc", *flags, source, "-o", program], check=True, timeout=60)
    return program


def checker_sees(directory):
    sys.path.insert(0, os.path.dirname(CHECK))
    import hardening  # pylint: disable=import-outside-toplevel
    good = hardening.Elf(build(directory, GOOD))
    wrong = [f"a program that has {name} is said to lack it"
             for name, has in hardening.IN_FILES.items() if not has(good)]
    for name, flags in LACKING.items():
        if name == "text" and os.uname().machine != "x86_64":
            continue
        if hardening.IN_FILES[name](hardening.Elf(build(directory, flags))):
            wrong.append(f"a program that lacks {name} is said to have it")
    big = hardening.Elf(build(directory, GOOD))
    big.size = hardening.MOST_BYTES + 1
    if hardening.IN_FILES["size"](big):
        wrong.append("a program that is too large is said not to be")
    return wrong


def release():
    """Empty, or what is wrong with it. In CMake's words: the preset's, in a tree of our own."""
    tree = os.path.join(BUILD, "hardening")
    launcher = [f"-DCMAKE_{language}_COMPILER_LAUNCHER=ccache" for language in ("C", "CXX")]
    steps = [["cmake", "--preset", "release", "-S", SOURCE, "-B", tree, "-DSBX_BENCH=OFF",
              *(launcher if shutil.which("ccache") else [])],
             ["cmake", "--build", tree, "--target", SMALLEST],
             [sys.executable, CHECK, tree, SMALLEST]]
    for step in steps:
        done = subprocess.run(step, cwd=SOURCE, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode != 0:
            return [f"{' '.join(step)}: exit {done.returncode}", done.stdout[-4000:], done.stderr[-2000:]]
    return []


def main():
    if not os.access(BUILD, os.W_OK):
        print(f"SKIPPED: a release is configured below {BUILD}, which is not ours")
        return 77
    with tempfile.TemporaryDirectory() as directory:
        wrong = checker_sees(directory)
    wrong += release()
    print(*wrong or ["so it is"], sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
