"""The executor of code where nobody names one."""

from __future__ import annotations

import warnings
from pathlib import Path

from teams.code_executors._base import CodeExecutor


def create_default_code_executor(work_dir: Path | str | None = None) -> CodeExecutor:
    """A Docker executor if an engine answers, else (UserWarning) a local one."""
    # Here for start-up: whoever takes one of them does not pay for the other.
    from teams.code_executors.docker import DockerCommandLineCodeExecutor, engine_problem
    from teams.code_executors.local import LocalCommandLineCodeExecutor

    problem = engine_problem()
    if problem is None:
        return DockerCommandLineCodeExecutor(work_dir=work_dir)
    warnings.warn(
        f"Code will be executed on this machine, with your rights, not in a container: {problem}",
        UserWarning,
        stacklevel=2,
    )
    return LocalCommandLineCodeExecutor(work_dir=work_dir)
