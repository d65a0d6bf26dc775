"""A code executor with a test's outcomes, which records its code."""

import asyncio

from teams.code_executor import CodeBlock, CodeExecutor, CodeResult
from teams.core import CancellationToken

Outcome = CodeResult | str | BaseException | asyncio.Event


class ScriptedExecutor(CodeExecutor):
    """Its outcomes depend on the code alone.

    Code without an outcome is a success that prints itself.
    """

    def __init__(self, **outcomes: Outcome) -> None:
        self.outcomes = outcomes
        self.executed: list[list[CodeBlock]] = []
        self.stopped = 0
        self._begun = asyncio.Event()

    async def begun(self) -> None:
        """Wait until an execution has begun."""
        await self._begun.wait()

    @property
    def codes(self) -> list[str]:
        """All code that was executed."""
        return [block.code.strip() for blocks in self.executed for block in blocks]

    async def execute_code_blocks(
        self, code_blocks: list[CodeBlock], cancellation_token: CancellationToken
    ) -> CodeResult:
        self.executed.append(code_blocks)
        self._begun.set()
        code = code_blocks[-1].code.strip()
        match self.outcomes.get(code, f"did {code}"):
            case CodeResult() as result:
                return result
            case str(text):
                return CodeResult(exit_code=0, output=text)
            case asyncio.Event() as event:
                await event.wait()
                return CodeResult(exit_code=0, output="")
            case BaseException() as error:
                raise error

    async def start(self) -> None: ...

    async def stop(self) -> None:
        self.stopped += 1

    async def restart(self) -> None: ...
