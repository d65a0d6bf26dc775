"""Code executors by their names in `code_execution_config`, and scripts run without one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from teams._base.cancellation import CancellationToken
from teams._base.code import CodeBlock
from teams.code_executors._base import CodeExecutor
from teams.code_executors._process import TIMED_OUT
from teams.code_executors.local import LocalCommandLineCodeExecutor
from teams.conversable._protocols import Given, Settings

SCRIPT_SECONDS = 600


@runtime_checkable
class BlockingExecutor(Protocol):
    """A synchronous executor, as AG2 has them, with its own code extractor."""

    @property
    def code_extractor(self) -> Any:
        """Finds blocks with `code` and `language`: `extract_code_blocks(content)`."""
        ...

    def execute_code_blocks(self, code_blocks: list[Any], /) -> Any:
        """Run the blocks; the result has `exit_code` and `output`."""
        ...

    def restart(self) -> None:
        """Begin anew."""
        ...


Executor = CodeExecutor | BlockingExecutor


def executor_of(config: Given) -> Executor:
    """The executor that a `code_execution_config` names or holds."""
    match config["executor"]:
        case CodeExecutor() | BlockingExecutor() as given:
            return given
        case "commandline-local":
            return LocalCommandLineCodeExecutor(**config.get("commandline-local", {}))
        case "ipython-embedded":
            from teams.code_executors.jupyter import JupyterCodeExecutor  # few need it

            return JupyterCodeExecutor(**config.get("ipython-embedded", {}))
        case unknown:
            raise ValueError(f"Unknown code executor {unknown}")


async def run_script(
    code: str,
    *,
    fresh: Path,
    token: CancellationToken,
    lang: str = "python",
    filename: str | None = None,
    work_dir: Path | str | None = None,
    seconds: float | None = None,
    use_docker: bool | str | Sequence[str] | None = None,
) -> tuple[int, str, str | None]:
    """Run a script; return its exit code, output and container image.

    It runs in the folder `fresh` unless it is given a `work_dir`.
    """
    limit = max(1, int(seconds or SCRIPT_SECONDS))
    options: Settings = {"work_dir": work_dir or fresh, "timeout": limit}
    image = _image(use_docker)
    if image is None:
        executor: CodeExecutor = LocalCommandLineCodeExecutor(**options)
    else:
        executor = _container(image, options, is_fresh=not work_dir)
    if filename and not code.lstrip().startswith("# filename:"):
        code = f"# filename: {filename}\n{code}"
    async with executor:
        result = await executor.execute_code_blocks([CodeBlock(code, lang)], token)
    if result.exit_code == TIMED_OUT:
        return 1, "Timeout", None
    return result.exit_code, result.output, image


def _image(use_docker: bool | str | Sequence[str] | None) -> str | None:
    """The image that a config asks for; None for this machine."""
    if not use_docker:
        return None
    match use_docker:
        case True:
            return "python:3-slim"
        case str():
            return use_docker
        case _:
            return use_docker[0]


def _container(image: str, options: Settings, *, is_fresh: bool) -> CodeExecutor:
    # Here for start-up: whoever runs code on this machine does not pay for it.
    from teams.code_executors.docker import NOBODY, DockerCommandLineCodeExecutor

    if is_fresh and os.geteuid() == 0:  # where code runs as nobody
        os.chown(options["work_dir"], NOBODY, NOBODY)
    return DockerCommandLineCodeExecutor(image, **options)
