"""The base of executors that run code in a Jupyter kernel."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from typing_extensions import override

from teams._base.cancellation import CancellationToken
from teams._base.code import CodeBlock, CodeResult, JupyterCodeResult
from teams._base.whole_text import whole_texts
from teams.code_executors._base import CodeExecutor
from teams.code_executors._cell import CellOutput
from teams.code_executors._output import append_result, filled_until_cancelled
from teams.code_executors._process import TIMED_OUT
from teams.code_executors._work_folder import WorkFolder, check_limits, within_size

START_SECONDS = 60
"""Seconds until a kernel has to be ready."""
INTERRUPT_SECONDS = 3.0
"""Seconds in which interrupted code has to end; else its kernel is killed, with all variables."""
CANCEL_SECONDS = 0.8
"""The same where somebody waits for the end: a cancellation is over within a second."""
LARGEST_MESSAGE = 64 * 1024 * 1024
"""Bytes of one message of a kernel."""
ANEW = "The kernel was started anew: variables and imports of earlier code are gone.\n"

_SHELLS = {"sh": "%%sh", "shell": "%%sh", "bash": "%%bash"}
"""Languages of shells -> IPython's line that hands a cell to them."""


class KernelDied(RuntimeError):
    """The kernel has ended, and its variables with it."""


class Kernel(Protocol):
    """A connection to a running kernel."""

    async def send(self, code: str) -> str:
        """Have code run; return the id of the request."""
        ...

    async def receive(self) -> Mapping[str, Any]:
        """The next message for everybody. Raises KernelDied."""
        ...

    async def interrupt(self) -> None:
        """Interrupt the running code."""
        ...

    async def close(self) -> None:
        """End the kernel, whatever it does."""
        ...


class KernelCodeExecutor(CodeExecutor, ABC):
    """Runs code blocks in one kernel, by a subclass's `open_kernel`."""

    result_type: type[JupyterCodeResult] = JupyterCodeResult

    def __init__(
        self, kernel_name: str, timeout: int, output_dir: Path | str | None, work_mb: float | None
    ) -> None:
        check_limits(timeout, work_mb)
        self._kernel_name = kernel_name
        self._timeout = timeout
        self._work_mb = work_mb
        self._folder = WorkFolder(output_dir)
        self._kernel: Kernel | None = None
        self._ending: asyncio.Task[None] | None = None
        self._has_run = False
        self._busy = asyncio.Lock()

    @property
    def timeout(self) -> int:
        """The longest a block may run, in seconds."""
        return self._timeout

    @property
    def output_dir(self) -> Path:
        """The folder of what code shows, by default temporary."""
        return self._folder.path

    @abstractmethod
    async def open_kernel(self) -> Kernel:
        """Start a kernel and connect to it. Raises RuntimeError."""

    async def execute_code_blocks(
        self, code_blocks: list[CodeBlock], cancellation_token: CancellationToken
    ) -> JupyterCodeResult:
        """Run the blocks in order, up to the first that fails.

        Exit codes: 1 for code that fails, 124 for what takes longer than `timeout`, 122 for what
        fills the folder beyond `work_mb`, 125 once the token is cancelled. The result says so if a
        kernel had to be started anew. Blocks in a shell's language go to that shell.
        """
        done = self.result_type(exit_code=0, output="")
        return await filled_until_cancelled(
            self._execute(code_blocks, done), done, cancellation_token
        )

    async def _execute(self, blocks: Sequence[CodeBlock], done: JupyterCodeResult) -> None:
        async with self._busy:
            for block in blocks:
                running = self._run(block, done)
                append_result(done, await within_size(running, self.output_dir, self._work_mb))
                if done.exit_code != 0:
                    break

    async def _run(self, block: CodeBlock, done: JupyterCodeResult) -> CodeResult:
        is_anew = self._kernel is None and self._has_run
        kernel = self._kernel = self._kernel or await self.open_kernel()
        self._has_run = True
        magic = _SHELLS.get(block.language.lower())
        exit_code, ended = 0, ""
        output = CellOutput()
        try:
            async with asyncio.timeout(self._timeout):
                output.request = await kernel.send(
                    f"{magic}\n{block.code}" if magic else block.code
                )
                await until_idle(kernel, output)
        except TimeoutError:
            await self._interrupt(kernel, output.request, within=INTERRUPT_SECONDS)
            exit_code = TIMED_OUT
            ended = f"Stopped after {self._timeout} s: it took too long."
        except KernelDied as error:
            await self._drop_kernel()
            exit_code, ended = 1, f"The kernel ended: {error}"
        except asyncio.CancelledError:
            await self._interrupt(kernel, output.request, within=CANCEL_SECONDS)
            raise
        self._save(output, done)
        if ended:
            output.add_line(ended)
        return CodeResult(
            exit_code or int(output.failed), (ANEW if is_anew else "") + output.text()
        )

    async def _interrupt(self, kernel: Kernel, request: str, *, within: float) -> None:
        """Stop the code; a kernel that does not obey is killed."""
        has_ended = False
        try:
            async with asyncio.timeout(within):
                await kernel.interrupt()
                await until_idle(kernel, CellOutput(request))
                has_ended = True
        except (TimeoutError, KernelDied):
            pass
        finally:
            if not has_ended:
                await self._drop_kernel()

    async def _drop_kernel(self) -> None:
        kernel, self._kernel = self._kernel, None
        if kernel is not None:
            loop = asyncio.get_running_loop()
            self._ending = loop.create_task(kernel.close(), name="end of a kernel")
        if (ending := self._ending) is not None:
            await asyncio.wait({ending})  # whoever waits may be cancelled: the end goes on
            self._ending = None
            ending.result()

    def _save(self, output: CellOutput, done: JupyterCodeResult) -> None:
        """Write what was shown into files, and say so."""
        for item in output.items:
            try:
                path = item.save(self.output_dir)
            except (OSError, ValueError) as error:
                output.add_line(f"{item.mime_type} could not be saved: {error}")
            else:
                done.output_files.append(path)
                output.add_line(f"{item.mime_type} saved as {path.name}")

    @override
    async def start(self) -> None:
        """Start the kernel, unless it runs."""
        async with self._busy:
            self._kernel = self._kernel or await self.open_kernel()

    @override
    async def stop(self) -> None:
        """End the kernel, and remove a temporary folder."""
        self._has_run = False
        await self._drop_kernel()
        self._folder.remove()

    @override
    async def restart(self) -> None:
        """Replace the kernel by a new one, without variables."""
        self._has_run = False
        await self._drop_kernel()
        await self.start()

    @override
    async def save_state(self) -> Mapping[str, Any]:
        return {"has_run": True} if self._has_run else {}

    @override
    async def load_state(self, state: Mapping[str, Any]) -> None:
        self._has_run = bool(state.get("has_run"))


async def until_idle(kernel: Kernel, output: CellOutput) -> None:
    while not output.take(whole_texts(await kernel.receive())):
        pass
