"""Teams as sessions get them: their source, resources and tool rules.

`gateway.factory.teams` builds both from config.toml; tests hand in their own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from gateway.conversation import Author
from gateway.values import Origin, value
from teams.base import Instructions, Team, ToolCall
from teams.model_context import AutoChatCompletionContext
from teams.models import ChatCompletionClient

Closer: TypeAlias = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Holdings:
    """Resources of a team.

    `closes` release them; one that `acts` may do more than ask models. `memories` are the texts
    that its memories begin with: they are the operator's own. `signs_off` are the agents that end
    the team's work with a word that people are not shown. `contexts` are those that summarise, with
    the names of their agents. `instructions` reads what all agents are told, or raises
    TeamUnusable. `titler` is the model that titles threads, if one does.
    """

    closes: tuple[Closer, ...] = ()
    acts: bool = False
    memories: frozenset[str] = frozenset()
    signs_off: frozenset[str] = frozenset()
    contexts: tuple[tuple[str, AutoChatCompletionContext], ...] = ()
    instructions: Callable[[], Awaitable[Instructions]] | None = None
    titler: ChatCompletionClient | None = None


@value
class BuiltTeam:
    """A team just made, and what it holds."""

    team: Team
    holds: Holdings


ToolAction = Literal["allow", "ask", "deny"]
ToolOutput = Literal["foreign", "trusted"]


@value
class DiffRule:
    """Arguments shown as a diff: `old` and `new`, or `path` and `content`."""

    old: str = ""
    new: str = ""
    path: str = ""
    content: str = ""


@value
class ToolRule:
    """Permission of a tool: run, ask an approver first, or never.

    `idempotent`: after a crash the call may be repeated. `read_only`: it changes nothing.
    `approvers` are who may decide, the operators if nobody is named; `always_allowed`: also for the
    rest of the thread at once, for `paths` below their folders, too. `quorum` people have to
    approve. `expires` is in seconds, after which nobody's approval is a denial; 0 for never, None
    for what holds for all requests. `output` says whether its results are foreign text. One that
    changes the asker's `own_memory` is not asked because of what memories told, but of others'
    words. `because`
    tells people why it is stricter than the policy is for the author of the message. `diff` are
    the arguments of which people are shown the change. `pin` is the name under which the texts of
    the tool's server are kept, "" for a tool whose text may change; `pinned` says whether it is
    held to them. `mistake` says what is wrong with the tool's own rule, which then denies it.
    """

    action: ToolAction
    idempotent: bool = False
    read_only: bool = False
    reason: str = ""
    approvers: tuple[str, ...] = ()
    always_allowed: bool = True
    paths: tuple[str, ...] = ()
    diff: DiffRule | None = None
    quorum: int = 1
    expires: float | None = None
    output: ToolOutput = "foreign"
    own_memory: bool = False
    because: str = ""
    pin: str = ""
    pinned: bool = True
    mistake: str = ""


@value
class TeamInfo:
    """A team as lists show it.

    `models` maps each agent's name to the name of its model ("" for none).
    """

    name: str
    description: str
    participants: tuple[str, ...]
    models: dict[str, str]
    definition: str
    """Hash of the definition; a thread stores the one it was made with."""


def described(team: TeamInfo) -> str:
    """The team's description and its agents, on one line."""
    description = " ".join(team.description.split())
    return ": ".join(filter(None, (description.rstrip("."), ", ".join(team.participants))))


@value
class ModelChoice:
    """A model of the config, for a team.

    `label` is its name at the provider. `problem` says why the team can't use it, "" if it can as
    far as is known. It `is_blind` if it is known to take no images.
    """

    name: str
    label: str
    problem: str = ""
    is_blind: bool = False


class TeamSource(Protocol):
    """Builds a fresh team for a thread.

    Nothing built is shared between threads except model clients.
    """

    @property
    def default(self) -> str:
        """The team for threads that name none."""
        ...

    @property
    def origin(self) -> Origin:
        """The config that they are from."""
        ...

    def readers(self, team: str, *, model: str = "") -> tuple[str, ...]:
        """Models that read the team's threads, with servers. Raises KeyError.

        With a `model`, all agents use that one.
        """
        ...

    def names(self) -> list[str]:
        """All teams."""
        ...

    def models(self) -> dict[str, str]:
        """All models of the config, each with its label."""
        ...

    def info(self, name: str, *, model: str = "") -> TeamInfo:
        """Raises KeyError for an unknown name.

        With a `model`, all agents use that one.
        """
        ...

    def model_choices(self, team: str) -> tuple[ModelChoice, ...]:
        """The models that the team could use. Raises KeyError."""
        ...

    async def build(self, name: str, *, workdir: Path, model: str = "") -> BuiltTeam:
        """A new team whose tools may write below `workdir`.

        The folder exists and is private to the thread. With a `model`, one of `models`, all agents
        use that one.
        """
        ...

    def rule(self, team: str, call: ToolCall, asker: Author) -> ToolRule:
        """The policy's rule for this call, made on the asker's behalf."""
        ...

    def remembers_elsewhere(self) -> bool:
        """True if agents may remember people outside of Parley's store."""
        ...

    async def forget(self, person: str) -> None:
        """Delete what agents remember of a person (Author.id) outside of Parley's store.

        Raises GatewayError if something is left.
        """
        ...

    def explain(self, error: BaseException) -> str:
        """The error and the setting to change, for the operator alone."""
        ...

    async def aclose(self) -> None:
        """Close what is shared: model clients, workbenches."""
        ...


def model_label(client: ChatCompletionClient) -> str:
    """Label of the client's model, for people."""
    name = getattr(client, "model", "")
    return name if isinstance(name, str) and name else type(client).__name__
