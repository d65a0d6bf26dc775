"""Parts of agents: tools, hand-offs, memories, contexts and executors."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, TypeVar

from pydantic import AfterValidator, Field

from teams.kinds import (
    ConfigPath,
    Given,
    KindsOf,
    Part,
    PythonOnly,
    Section,
    Tool,
    setting_error,
    shorthand,
)

T = TypeVar("T")

ModelContextConfig: TypeAlias = Annotated[Part, KindsOf("context"), shorthand("type")]
MemoryConfig: TypeAlias = Annotated[Part, KindsOf("memory")]
ExecutorConfig: TypeAlias = Annotated[Part, KindsOf("executor")]
AnyToolConfig: TypeAlias = Annotated[Tool, KindsOf("tool")]


def _check_names(agents: dict[str, T]) -> dict[str, T]:
    for name in agents:
        if not name.isidentifier():
            said = f"found {name!r}, expected a name of letters, digits and underscores"
            raise setting_error(name, said)
    return agents


named_agents = AfterValidator(_check_names)
"""Let agents have names that are Python's."""


class InstructedTeam(Section):
    """A team whose agents can be told what files say."""

    instruction_files: Annotated[list[ConfigPath], PythonOnly(), Given(None)] = Field(
        default_factory=list, max_length=20
    )
    """Files whose text all its agents are told first, such as ["AGENTS.md"].

    They are read at each turn: UTF-8, together at most 64 kB. Agents of teams inside it, and those
    of a component file or a Python function, are told, too.
    """


class TeamMemoryConfig(Section):
    """Things that a team's assistants remember from one conversation to the next.

    They get the tools `remember` and `forget`, and are told the entries before they answer.
    `/memory` shows a person what is remembered of them, and deletes it.
    """

    scope: Literal["thread", "person", "team", "workspace"] = "person"
    """People who are told an entry.

    "thread": those of its thread, "person": the one it was written for, in all of the team's
    threads, "team": everybody, "workspace": everybody in its workspace.
    """

    max_entries: int = Field(default=100, ge=1, le=1000)
    """Entries that a thread, person, team or workspace may have."""
