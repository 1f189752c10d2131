# SPDX-License-Identifier: Apache-2.0
"""sbx.tools: which sbx-run tells a tool's definition."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from python_harness import SBX_RUN, Case  # noqa: E402


class Program(Case):
    def test_a_definition_comes_from_the_sessions_program(self):
        own = os.path.join(self.base, "own-sbx-run")
        with open(own, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n"
                       "[ \"$1\" = schema ] && exec echo '{\"name\": \"own\"}'\n"
                       f"exec {SBX_RUN} \"$@\"\n")
        os.chmod(own, 0o755)
        self.script("""if 1:
            import asyncio, sbx, sys
            own, carried = sys.argv[1:]
            with sbx.Session(program=own) as s:
                bash = sbx.tools.bash_tool(s)
                assert bash.definition == {"name": "own"}, bash
                assert "hi" in bash.handle({"command": "echo hi", "description": "Say"}).text
                assert sbx.tools.bash_tool(s, sbx_run=carried).definition["name"] == "bash"
                try:
                    raise SystemExit(sbx.tools.bash_tool(s, sbx_run="/nonexistent"))
                except sbx.SbxError as error:
                    assert (error.code, error.where) == ("not_found", "/program"), error
            with sbx.Session() as s:
                assert sbx.tools.bash_tool(s).definition["name"] == "bash"
            async def main():
                async with sbx.AsyncSession(program=own) as s:
                    assert sbx.tools.async_bash_tool(s).definition == {"name": "own"}
            asyncio.run(main())
        """, own, SBX_RUN)


if __name__ == "__main__":
    import unittest
    unittest.main()
