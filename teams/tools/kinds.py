"""Tools as tables of config.toml: functions, agents, teams and code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, cast

from typing_extensions import override

from teams._base.kind_family import KindsOf
from teams._base.kinds import Kind, Load, Maker, Part, Place, ReadyTool, Shown, Tool
from teams._base.meanings import Named, PythonOnly

if TYPE_CHECKING:
    from teams._tools.base import BaseTool

_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class FunctionToolKind(ReadyTool):
    """A tool made from a Python function.

    `"package.module:function"` is short for its `path`.
    """

    kind: ClassVar = Kind("tool", "path", "teams.tools:FunctionTool")

    path: str
    """Import path of a function, or of a tool class, "package.module:name"."""

    name: str | None = None
    """Name for the model; the function's own name if not given."""

    description: str | None = None
    """Description for the model; the function's docstring if not given."""

    strict: Annotated[bool, PythonOnly()] = False
    """Ask the model to follow the arguments' schema exactly.

    The function's parameters must have no defaults then.
    """

    @override
    def made(self, load: Load) -> BaseTool[Any, Any]:
        from teams._tools.base import BaseTool  # the engine's
        from teams._tools.function import FunctionTool  # the engine's

        found = load(self.path)
        if isinstance(found, type) and issubclass(found, BaseTool):
            found = cast("Callable[[], BaseTool[Any, Any]]", found)()
        elif isinstance(found, BaseTool) and not isinstance(found, FunctionTool):
            raise ValueError(
                f"{self.path!r} is one tool for all threads; name its class, or a function"
            )
        if isinstance(found, BaseTool):
            if self.name or self.description or self.strict:
                raise ValueError(
                    f"{self.path!r} is a tool with a name, description and schema of its own"
                )
            return cast("BaseTool[Any, Any]", found)
        function = cast("Any", found)
        if not callable(function):
            raise ValueError(f"{self.path!r} is not a function")
        return FunctionTool(function, self.description, self.name, strict=self.strict)


class AgentToolKind(Tool):
    """An agent as a tool: its answer is the result.

    Each agent with this tool has its own copy, which remembers earlier tasks.
    """

    kind: ClassVar = Kind("tool", "agent", "teams.tools:AgentTool")

    agent: Annotated[str, Named("agents")]
    """Name of another agent of this team.

    The model sees the agent's own name and description.
    """

    return_value_as_last_message: bool = False
    """Return only the last message, not all messages."""

    @override
    def shown(self, load: Load) -> Shown:
        return Shown.taking(self.agent, "task")


class TeamToolKind(Tool):
    """A team as a tool: its messages are the result."""

    kind: ClassVar = Kind("tool", "team", "teams.tools:TeamTool")

    team: Annotated[str, Named("teams")]
    """Name of another team of the config."""

    name: str | None = None
    """Name for the model; the team's name if not given."""

    description: str | None = None
    """Description for the model; the team's description if not given."""

    return_value_as_last_message: bool = False
    """Return only the last message, not all messages."""

    @override
    async def arguments(self, maker: Maker) -> dict[str, Any]:
        from teams._engine.group_chat import BaseGroupChat  # the engine's

        given = await super().arguments(maker)
        if not isinstance(team := given["team"], BaseGroupChat):
            raise TypeError(f"the team {self.team!r} is not a BaseGroupChat, as a tool must be")
        description = self.description or team.description
        return given | {"name": self.name or self.team, "description": description}

    @override
    def shown(self, load: Load) -> Shown:
        return Shown.taking(self.name or self.team, "task")

    @override
    def mistakes(self, load: Load) -> Iterator[tuple[Place, str]]:
        name = self.name or self.team
        if not _TOOL_NAME.fullmatch(name):
            text = f"found {name!r}, expected a name of letters, digits, _ and - for the model"
            yield ("name",), text


class CodeToolKind(Tool):
    """The tool `CodeExecutor`, with which the model runs Python code.

    It is denied unless [policies.tools] allows it.
    """

    kind: ClassVar = Kind(
        "tool",
        "executor",
        "teams.tools.code_execution:PythonCodeExecutionTool",
        unread=("description",),
    )

    executor: Annotated[Part, KindsOf("executor")]
    """Executor of the code."""

    @override
    def shown(self, load: Load) -> Shown:
        return Shown.taking("CodeExecutor", "code")
