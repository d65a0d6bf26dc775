"""Execute code as processes of this machine, with the user's rights."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

from pydantic import BaseModel
from typing_extensions import override

from teams._base.code import CodeResult
from teams._base.environment import environment_for_code
from teams._components.component import Component
from teams.code_executors._command_line import CommandLineCodeExecutor
from teams.code_executors._functions import GivenFunction
from teams.code_executors._process import run_process


class LocalCommandLineCodeExecutorConfig(BaseModel, defer_build=True):
    """See `LocalCommandLineCodeExecutor` for what the fields mean."""

    timeout: int = 60
    work_dir: str | None = None
    functions_module: str = "functions"
    cleanup_temp_files: bool = True
    work_mb: float | None = None


class LocalCommandLineCodeExecutor(
    CommandLineCodeExecutor, Component[LocalCommandLineCodeExecutorConfig]
):
    """Executes code on this machine, with all your rights.

    Run only code that you trust, or use Docker. Python, sh, bash and PowerShell, each script a
    process group of its own that is killed as a whole at its end, at its timeout and when it is
    cancelled. Of the environment it gets a list of usual variables alone (PATH, HOME, LANG, proxies
    without a user ...), and on Linux it can't read this process's own. Files and other processes of
    yours it can read, such as those of an MCP server: it has your rights.

    Args:
        timeout: seconds a block may run.
        work_dir: where scripts are kept and run, made if missing; a temporary folder by default.
        functions: what the code may import from `functions_module`.
        functions_module: the name of that module.
        cleanup_temp_files: remove scripts after they ran, except those the code names itself.
        virtual_env_context: an environment of its own for Python code, as
            `venv.EnvBuilder.ensure_directories` returns it; relative paths are of the folder in
            which the executor is made.
        work_mb: megabytes that the work folder may have; code that writes more is stopped. It is
            measured each second while code runs, and after.

    Functions and a virtual environment cannot be dumped.
    """

    component_only_ours: ClassVar = {"work_mb": ...}

    component_config_schema = LocalCommandLineCodeExecutorConfig

    def __init__(
        self,
        timeout: int = 60,
        work_dir: Path | str | None = None,
        functions: Sequence[GivenFunction] = (),
        functions_module: str = "functions",
        cleanup_temp_files: bool = True,
        virtual_env_context: SimpleNamespace | None = None,
        *,
        work_mb: float | None = None,
    ) -> None:
        super().__init__(
            timeout=timeout,
            work_dir=work_dir,
            functions=functions,
            functions_module=functions_module,
            delete_scripts=cleanup_temp_files,
            work_mb=work_mb,
        )
        self._virtual_env_context = (
            None if virtual_env_context is None else _absolute(virtual_env_context)
        )
        self._cleanup_temp_files = cleanup_temp_files

    @property
    def cleanup_temp_files(self) -> bool:
        """True if scripts are removed after their run."""
        return self._cleanup_temp_files

    @override
    async def start(self) -> None:
        """Nothing needs to be started: executing makes the folder it needs."""

    @override
    async def stop(self) -> None:
        """Remove the temporary work folder, if there is one."""
        self.remove_temporary()

    @override
    async def restart(self) -> None:
        """Nothing of earlier code is in memory."""

    @override
    async def run_script(self, program: str, script: Path) -> CodeResult:
        command = [self._python, "-u"] if program == "python" else [program]
        return await self._run([*command, str(script)])

    @override
    async def install(self, packages: Sequence[str]) -> CodeResult:
        return await self._run([self._python, "-m", "pip", "install", "--quiet", *packages])

    async def _run(self, command: Sequence[str]) -> CodeResult:
        return await run_process(
            command, folder=self.work_dir, environment=self._environment(), seconds=self._timeout
        )

    @property
    def _python(self) -> str:
        context = self._virtual_env_context
        return sys.executable if context is None else str(context.env_exe)

    def _environment(self) -> dict[str, str]:
        found = environment_for_code()
        # For scripts in subfolders, too, which the code named itself.
        found["PYTHONPATH"] = _path(self.work_dir, found.get("PYTHONPATH"))
        if (context := self._virtual_env_context) is not None:
            found["PATH"] = _path(context.bin_path, found.get("PATH", os.defpath))
            found["VIRTUAL_ENV"] = str(context.env_dir)
        return found

    @override
    def _to_config(self) -> LocalCommandLineCodeExecutorConfig:
        if self._virtual_env_context is not None:
            raise NotImplementedError(
                "A code executor with a virtual environment cannot be dumped."
            )
        return super()._to_config()


def _absolute(context: SimpleNamespace) -> SimpleNamespace:
    """The environment, found from any working directory."""
    # Not resolved: the interpreter is a link, and its place is what makes the environment.
    return SimpleNamespace(
        env_dir=os.path.abspath(getattr(context, "env_dir", None) or f"{context.bin_path}/.."),
        bin_path=os.path.abspath(context.bin_path),
        env_exe=os.path.abspath(context.env_exe),
    )


def _path(first: Path | str, rest: str | None) -> str:
    return os.pathsep.join([str(first), rest] if rest else [str(first)])


__all__ = ["LocalCommandLineCodeExecutor", "LocalCommandLineCodeExecutorConfig"]
