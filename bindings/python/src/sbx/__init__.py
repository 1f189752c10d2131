# SPDX-License-Identifier: Apache-2.0
"""Run shell commands in a sandbox of their own.

    import sbx
    print(sbx.run("make test", workspace=".", timeout=60).stdout)

    with sbx.Session(workspace="/home/me/project") as session:
        session.run(["pytest", "-q"], check=True)
        for chunk in session.start("make serve").stream(): ...

Everything that opens a session (profile, workspace, flags) is the operator's; everything that goes
into a command is the caller's, and may come from a model.
"""

from ._errors import (ApprovalNeeded, CommandFailed, CommandRefused, CommandTimedOut, InvalidRequest,
                      SbxError, SessionEnded)
from ._library import version
from ._request import Files
from ._result import Chunk, Output, Result, TaskStatus
from ._session import Session, Task, run
from ._async import AsyncSession, AsyncTask
from ._executor import Executor
from . import tools

__all__ = ["ApprovalNeeded", "AsyncSession", "AsyncTask", "Chunk", "CommandFailed",
           "CommandRefused", "CommandTimedOut", "Executor", "Files", "InvalidRequest", "Output",
           "Result", "SbxError", "Session", "SessionEnded", "Task", "TaskStatus", "run", "tools",
           "version"]
