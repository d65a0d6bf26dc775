"""The base of executors that run code as scripts of a folder."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar
from uuid import uuid4

from teams._base.cancellation import CancellationToken
from teams._base.code import CodeBlock, CodeResult, CommandLineCodeResult
from teams._base.safe_files import UnsafePathError, remove_file, write_file
from teams.code_executors._base import CodeExecutor
from teams.code_executors._functions import (
    GivenFunction,
    module_source,
    offered_function,
    required_packages,
    stubs,
)
from teams.code_executors._output import append_result, filled_until_cancelled
from teams.code_executors._work_folder import WorkFolder, check_limits, within_size

# Language -> the program that runs it, and its files' suffix.
_LANGUAGES = {
    "bash": ("bash", "sh"),
    "shell": ("sh", "sh"),
    "sh": ("sh", "sh"),
    "pwsh": ("pwsh", "ps1"),
    "powershell": ("pwsh", "ps1"),
    "ps1": ("pwsh", "ps1"),
    "python": ("python", "py"),
    "python3": ("python", "py"),
    "py": ("python", "py"),
}
_FILENAME = "# filename:"

logger = logging.getLogger("teams")


class CommandLineCodeExecutor(CodeExecutor, ABC):
    """Runs code blocks as scripts, by a subclass's `run_script` and `install`."""

    SUPPORTED_LANGUAGES: ClassVar[Sequence[str]] = tuple(_LANGUAGES)
    FUNCTION_PROMPT_TEMPLATE: ClassVar[str] = (
        "Your code can import these functions from the module `$module_name`; for example, write "
        "`from $module_name import a_function`.\n\n$functions"
    )

    def __init__(
        self,
        *,
        timeout: int,
        work_dir: Path | str | None,
        functions: Sequence[GivenFunction],
        functions_module: str,
        delete_scripts: bool,
        work_mb: float | None,
    ) -> None:
        check_limits(timeout, work_mb)
        if not functions_module.isidentifier():
            raise ValueError(f"functions_module must be an identifier, found {functions_module!r}.")
        self._timeout = timeout
        self._folder = WorkFolder(work_dir)
        self._offered = [offered_function(function) for function in functions]
        self._functions_module = functions_module
        self._delete_scripts = delete_scripts
        self._work_mb = work_mb
        self._functions_ready = not functions

    @property
    def timeout(self) -> int:
        """The longest a block may run, in seconds."""
        return self._timeout

    @property
    def functions_module(self) -> str:
        """The module from which code imports the functions it may use."""
        return self._functions_module

    @property
    def work_dir(self) -> Path:
        """The folder of the scripts; a temporary one by default."""
        return self._folder.path

    def format_functions_for_prompt(self, prompt_template: str = FUNCTION_PROMPT_TEMPLATE) -> str:
        """The functions for a model; $module_name and $functions are filled in."""
        text = prompt_template.replace("$module_name", self._functions_module)
        return text.replace("$functions", stubs(self._offered))

    async def execute_code_blocks(
        self, code_blocks: list[CodeBlock], cancellation_token: CancellationToken
    ) -> CommandLineCodeResult:
        """Run the blocks in order, up to the first that fails.

        A first line `# filename: NAME` names the script, which is then kept in the work folder. A
        block that takes longer than `timeout` ends with exit code 124, one that fills the folder
        beyond `work_mb` with 122. Once the token is cancelled, nothing of the code runs on, and the
        result has the exit code 125 and the output of earlier blocks. Of a block's output the first
        and the last 64 KiB are kept. Raises ValueError where the functions cannot be set up.
        """
        done = CommandLineCodeResult(exit_code=0, output="")
        return await filled_until_cancelled(
            self._execute(code_blocks, done), done, cancellation_token
        )

    async def _execute(self, blocks: Sequence[CodeBlock], done: CommandLineCodeResult) -> None:
        await self.start()
        if not self._functions_ready:
            await self._set_up_functions()
            self._functions_ready = True
        for block in blocks:
            append_result(done, await self._execute_block(block, done))
            if done.exit_code != 0:
                break

    async def _execute_block(self, block: CodeBlock, done: CommandLineCodeResult) -> CodeResult:
        language = _LANGUAGES.get(block.language.lower())
        if language is None:
            return CodeResult(1, f"Code in the language {block.language!r} cannot be run.\n")
        program, suffix = language
        wanted, folder = _wanted_name(block.code), self.work_dir
        name = wanted or f"code_{uuid4().hex[:12]}.{suffix}"
        try:
            write_file(folder, name, block.code.encode())
        except UnsafePathError:
            return CodeResult(1, f"The file {name!r} is not in the work folder.\n")
        except OSError as error:
            return CodeResult(1, f"The file {name!r} could not be written: {error.strerror}.\n")
        done.code_file = done.code_file or str(folder / name)
        try:
            return await within_size(self.run_script(program, folder / name), folder, self._work_mb)
        finally:
            if wanted is None and self._delete_scripts:
                _remove(folder, name)

    async def _set_up_functions(self) -> None:
        if packages := required_packages(self._offered):
            _demand(await self.install(packages), f"Installing {', '.join(packages)} failed")
        folder, name = self.work_dir, f"{self._functions_module}.py"
        try:
            write_file(folder, name, module_source(self._offered).encode())
        except (UnsafePathError, OSError) as error:
            raise ValueError(f"The functions cannot be written: {error}") from error
        _demand(await self.run_script("python", folder / name), "The functions cannot be imported")

    def _to_config(self) -> Any:
        if self._offered:
            raise NotImplementedError("A code executor with functions cannot be dumped.")
        return super()._to_config()

    def _config_value(self, name: str) -> Any:
        value = self._folder.given if name == "work_dir" else super()._config_value(name)
        return str(value) if isinstance(value, Path) else value

    @abstractmethod
    async def run_script(self, program: str, script: Path) -> CodeResult:
        """Run a script of the folder; after cancellation nothing of it runs."""

    @abstractmethod
    async def install(self, packages: Sequence[str]) -> CodeResult:
        """Install Python packages where the code runs."""

    def remove_temporary(self) -> None:
        """Remove the temporary work folder, if there is one."""
        if self._folder.remove():
            self._functions_ready = not self._offered


def _wanted_name(code: str) -> str | None:
    first = code.lstrip().partition("\n")[0].strip()
    return first.removeprefix(_FILENAME).strip() or None if first.startswith(_FILENAME) else None


def _demand(result: CodeResult, otherwise: str) -> None:
    if result.exit_code != 0:
        raise ValueError(f"{otherwise}: {result.output.strip()}")


def _remove(folder: Path, name: str) -> None:
    """Remove a script; where that fails, its result counts all the same."""
    try:
        remove_file(folder, name)
    except (UnsafePathError, OSError) as error:
        logger.warning("The script %r could not be removed: %s", name, error)
