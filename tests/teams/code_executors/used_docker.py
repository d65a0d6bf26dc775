"""Executors over an engine that is a fake."""

from teams.code_executor import CodeBlock, CodeExecutor, CodeResult
from teams.core import CancellationToken


def block(code: str, language: str = "python") -> CodeBlock:
    return CodeBlock(code=code, language=language)


async def run(executor: CodeExecutor, *blocks: CodeBlock) -> CodeResult:
    return await executor.execute_code_blocks(list(blocks), CancellationToken())
