"""Executors on this machine."""

import asyncio
import os
from pathlib import Path

from teams.code_executor import CodeBlock
from teams.code_executors.local import LocalCommandLineCodeExecutor
from teams.core import CancellationToken


def python(code: str) -> CodeBlock:
    return CodeBlock(code=code, language="python")


def shell(code: str, language: str = "sh") -> CodeBlock:
    return CodeBlock(code=code, language=language)


async def run(executor: LocalCommandLineCodeExecutor, *blocks: CodeBlock):
    return await executor.execute_code_blocks(list(blocks), CancellationToken())


async def pid_in(path: Path) -> int:
    """The number in a file, once a process has written it."""
    while (number := read_number(path)) is None:  # noqa: ASYNC110 (another process's doing)
        await asyncio.sleep(0)
    return number


def read_number(path: Path) -> int | None:
    return int(path.read_text()) if path.exists() else None


BEFORE: set[str] = set()
"""Processes that other tests have left running on purpose; of ours none may be left."""


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())
