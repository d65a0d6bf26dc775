"""Code of others can't read this process's own environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from teams.code_executor import CodeBlock
from teams.code_executors.local import LocalCommandLineCodeExecutor
from teams.core import CancellationToken


async def test_local_code_gets_no_other_environment(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("SLACK_BOT", "canary")
    executor = LocalCommandLineCodeExecutor(work_dir=tmp_path)
    result = await executor.execute_code_blocks(
        [CodeBlock(code="env; echo ended", language="sh")], CancellationToken()
    )
    assert "canary" not in result.output
    assert result.output.endswith("ended\n")


LOOKING = """
import asyncio, sys
from teams.code_executor import CodeBlock
from teams.code_executors.local import LocalCommandLineCodeExecutor
from teams.core import CancellationToken

async def main():
    code = "for f in environ mem maps; do cat /proc/$PPID/$f; done | tr '\\\\0' '\\\\n'; echo ended"
    executor = LocalCommandLineCodeExecutor(work_dir=sys.argv[1])
    block = CodeBlock(code=code, language="sh")
    print((await executor.execute_code_blocks([block], CancellationToken())).output)

asyncio.run(main())
"""

UNPRIVILEGED = """
import ctypes, os, sys
PR_CAPBSET_DROP = 24
for capability in range(41):  # with some of them, root's code would read everything
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
os.execv(sys.executable, [sys.executable, "-c", *sys.argv[1:]])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone has /proc/PID/environ")
def test_local_code_cannot_read_the_environment_of_its_parent(tmp_path: Path):
    ran = subprocess.run(
        [sys.executable, "-c", UNPRIVILEGED, LOOKING, str(tmp_path)],
        env={"SLACK_BOT": "canary", "PATH": os.defpath, "HOME": str(tmp_path)},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "canary" not in ran.stdout
    assert ran.stdout.count("Permission denied") == 3
    assert ran.stdout.endswith("ended\n\n")
