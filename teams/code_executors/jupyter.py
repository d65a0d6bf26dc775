"""Execute code in a Jupyter kernel, with the user's rights."""

from __future__ import annotations

import asyncio
import importlib
import queue
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel
from typing_extensions import override

from teams._base.code import JupyterCodeResult
from teams._base.environment import environment_for_code
from teams._base.extras import require_packages
from teams._components.component import Component
from teams.code_executors._kernel import (
    LARGEST_MESSAGE,
    START_SECONDS,
    Kernel,
    KernelCodeExecutor,
    KernelDied,
)

ALIVE_SECONDS = 0.2
"""Seconds of silence between two looks at whether the kernel lives."""


class JupyterCodeExecutorConfig(BaseModel, defer_build=True):
    """See `JupyterCodeExecutor` for what the fields mean."""

    kernel_name: str = "python3"
    timeout: int = 60
    output_dir: str | None = None
    work_mb: float | None = None


class JupyterCodeExecutor(KernelCodeExecutor, Component[JupyterCodeExecutorConfig]):
    """Executes code in a kernel that keeps variables between executions.

    It runs on this machine, with all your rights, in `output_dir`, and with the environment
    variables that `LocalCommandLineCodeExecutor` lets through. The kernel starts with
    the first code and ends with `stop`, or soon after this process.

    Args:
        kernel_name: the kernel's name, as `jupyter kernelspec list` has it.
        timeout: seconds a block may run.
        output_dir: where the code runs, and the PNG, JPEG, SVG and HTML that it shows are saved; a
            temporary folder by default.
        work_mb: megabytes that this folder may have; code that writes more is stopped.

    Raises ImportError if the extra `jupyter-executor` is missing.
    """

    component_only_ours: ClassVar = {"work_mb": ...}

    component_config_schema = JupyterCodeExecutorConfig

    def __init__(
        self,
        kernel_name: str = "python3",
        timeout: int = 60,
        output_dir: Path | str | None = None,
        *,
        work_mb: float | None = None,
    ) -> None:
        needs = "Code execution in notebooks needs"
        require_packages(needs, "jupyter-executor", "jupyter_client", "ipykernel")
        super().__init__(kernel_name, timeout, output_dir, work_mb)

    @override
    async def open_kernel(self) -> Kernel:
        kernel = _LocalKernel(self._kernel_name)
        try:
            async with asyncio.timeout(START_SECONDS):
                await kernel.start(self.output_dir)
        except BaseException as error:
            await kernel.close()
            if not isinstance(error, Exception):
                raise
            reason = f"{type(error).__name__}: {error}"
            raise RuntimeError(
                f"The kernel {self._kernel_name!r} does not start: {reason}"
            ) from error
        return kernel

    def _config_value(self, name: str) -> Any:
        value = self._folder.given if name == "output_dir" else super()._config_value(name)
        return str(value) if isinstance(value, Path) else value


class _LocalKernel:
    """A kernel of this machine, with sockets for this user alone."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._sockets = Path(tempfile.mkdtemp(prefix="parley-kernel-"))
        self._manager: Any = None
        self._client: Any = None

    async def start(self, folder: Path) -> None:
        # The import takes a quarter of a second.
        manager = await asyncio.to_thread(importlib.import_module, "jupyter_client.manager")
        self._manager = manager.AsyncKernelManager(
            kernel_name=self._name,
            transport="ipc",
            connection_file=str(self._sockets / "kernel.json"),
        )
        # Its own folder: history and start-up scripts of the user are none of the code's business.
        environment = {**environment_for_code(), "IPYTHONDIR": str(self._sockets)}
        # ipykernel looks after this process once a second, and ends with it.
        await self._manager.start_kernel(cwd=str(folder), env=environment)
        zmq: Any = importlib.import_module("zmq")
        self._client = self._manager.client()
        self._client.context.setsockopt(zmq.MAXMSGSIZE, LARGEST_MESSAGE)
        self._client.start_channels(hb=False)
        await self._client.wait_for_ready(timeout=START_SECONDS)

    async def send(self, code: str) -> str:
        return self._client.execute(code, allow_stdin=False, stop_on_error=False)

    async def receive(self) -> Mapping[str, Any]:
        while True:
            try:
                return await self._client.get_iopub_msg(timeout=ALIVE_SECONDS)
            except queue.Empty:
                if not await self._manager.is_alive():
                    raise KernelDied("its process is gone.") from None

    async def interrupt(self) -> None:
        await self._manager.interrupt_kernel()

    async def close(self) -> None:
        if self._client is not None:
            self._client.stop_channels()
        if self._manager is not None and self._manager.has_kernel:
            await self._manager.shutdown_kernel(now=True)
        shutil.rmtree(self._sockets, ignore_errors=True)


__all__ = ["JupyterCodeExecutor", "JupyterCodeExecutorConfig", "JupyterCodeResult"]
