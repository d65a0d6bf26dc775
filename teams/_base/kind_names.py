"""The names of kinds, by family."""

from collections.abc import Mapping
from typing import NamedTuple


class Declared(NamedTuple):
    """A kind's declaration, and the class that it makes."""

    path: str
    """Import path of its table."""

    makes: str
    """Name of the class."""

    by_key: bool = False
    """True if a key of this name tells it, and no `type`."""


_TOOLS = "teams.tools.kinds"
_EXECUTORS = "teams.code_executors.kinds"

KINDS: Mapping[str, Mapping[str, Declared]] = {
    "tool": {
        "path": Declared(f"{_TOOLS}:FunctionToolKind", "FunctionTool", by_key=True),
        "agent": Declared(f"{_TOOLS}:AgentToolKind", "AgentTool", by_key=True),
        "team": Declared(f"{_TOOLS}:TeamToolKind", "TeamTool", by_key=True),
        "executor": Declared(f"{_TOOLS}:CodeToolKind", "PythonCodeExecutionTool", by_key=True),
        "http": Declared("teams.tools.http.kind:HttpToolKind", "HttpTool", by_key=True),
    },
    "executor": {
        "docker": Declared(f"{_EXECUTORS}:DockerKind", "DockerCommandLineCodeExecutor"),
        "local": Declared(f"{_EXECUTORS}:LocalKind", "LocalCommandLineCodeExecutor"),
        "jupyter": Declared(f"{_EXECUTORS}:JupyterKind", "JupyterCodeExecutor"),
        "docker_jupyter": Declared(f"{_EXECUTORS}:DockerJupyterKind", "DockerJupyterCodeExecutor"),
        "path": Declared(f"{_EXECUTORS}:OwnExecutorKind", "CodeExecutor", by_key=True),
    },
}
"""A test compares them with the declarations."""
