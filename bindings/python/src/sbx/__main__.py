# SPDX-License-Identifier: Apache-2.0
"""`python -m sbx …`, and the command sbx-run that a wheel installs: the sbx-run that it carries."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from ._library import program


def main() -> NoReturn:
    path = program()
    if not os.path.isabs(path):
        # By its name alone it could be this very command.
        sys.exit("sbx-run: not_found: this package carries no sbx-run (install the sbx wheel for "
                 "this machine)")
    os.execv(path, ["sbx-run", *sys.argv[1:]])


if __name__ == "__main__":
    main()
