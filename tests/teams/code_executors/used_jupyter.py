"""Servers of kernels."""

from typing import Any

from teams.code_executor import CodeBlock
from teams.code_executors.docker_jupyter import DockerJupyterCodeExecutor
from teams.core import CancellationToken


async def run(executor: DockerJupyterCodeExecutor, *codes: str) -> Any:
    blocks = [CodeBlock(code=code, language="python") for code in codes]
    return await executor.execute_code_blocks(blocks, CancellationToken())
