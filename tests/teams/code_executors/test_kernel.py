"""Code that is interrupted, in a kernel of the test's own."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from teams.code_executor import CodeBlock
from teams.code_executors._kernel import ANEW, Kernel, KernelCodeExecutor
from teams.core import CancellationToken


class SlowKernel:
    """Ends its code so many seconds after an interrupt, or never."""

    def __init__(self, seconds: float | None) -> None:
        self.running, self._ended = asyncio.Event(), asyncio.Event()
        self.closed = False
        self._seconds, self._code = seconds, ""

    async def send(self, code: str) -> str:
        self._code = code
        (self._ended if code == "quick" else self.running).set()
        return code

    async def receive(self) -> Mapping[str, Any]:
        await self._ended.wait()
        return {
            "header": {"msg_type": "status"},
            "parent_header": {"msg_id": self._code},
            "content": {"execution_state": "idle"},
        }

    async def interrupt(self) -> None:
        if self._seconds is not None:
            asyncio.get_running_loop().call_later(self._seconds, self._ended.set)

    async def close(self) -> None:
        self.closed = True


class SlowExecutor(KernelCodeExecutor):
    def __init__(self, folder: Path, seconds: float | None) -> None:
        super().__init__("slow", 20, folder, None)
        self.kernels: list[SlowKernel] = []
        self._seconds = seconds

    async def open_kernel(self) -> Kernel:
        self.kernels.append(kernel := SlowKernel(self._seconds))
        return kernel

    async def run(self, code: str, token: CancellationToken) -> tuple[int, str]:
        result = await self.execute_code_blocks([CodeBlock(code, "python")], token)
        return result.exit_code, result.output


async def interrupted(executor: SlowExecutor) -> str:
    """The output of the code after one that was cancelled."""
    async with executor, asyncio.TaskGroup() as group:
        token = CancellationToken()
        running = group.create_task(executor.run("slow", token))
        await executor.kernels[0].running.wait()
        token.cancel()
        assert (await running)[0] == 125
        _, output = await executor.run("quick", CancellationToken())
    assert all(kernel.closed for kernel in executor.kernels)
    return output


async def test_code_may_take_a_moment_to_end_as_on_a_busy_machine(tmp_path: Path) -> None:
    executor = SlowExecutor(tmp_path, seconds=0.4)
    assert await interrupted(executor) == ""
    assert len(executor.kernels) == 1


async def test_a_kernel_whose_code_does_not_end_is_replaced_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("teams.code_executors._kernel.CANCEL_SECONDS", 0.01)
    executor = SlowExecutor(tmp_path, seconds=None)
    assert await interrupted(executor) == ANEW
    assert len(executor.kernels) == 2


class SayingKernel(SlowKernel):
    """Says half of a character, then the half of another."""

    def __init__(self) -> None:
        super().__init__(None)
        self._said = iter(("half \ud83d, ", "\ude00 half"))

    async def receive(self) -> Mapping[str, Any]:
        for text in self._said:
            return {
                "header": {"msg_type": "stream"},
                "parent_header": {"msg_id": self._code},
                "content": {"name": "stdout", "text": text},
            }
        return await super().receive()


async def test_what_a_kernel_says_in_halves_of_characters_is_whole(tmp_path: Path) -> None:
    class Executor(SlowExecutor):
        async def open_kernel(self) -> Kernel:
            return SayingKernel()

    async with Executor(tmp_path, None) as executor:
        result = await executor.run("quick", CancellationToken())
    assert result == (0, "half \ufffd, \ufffd half")
