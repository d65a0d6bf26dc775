"""Items of a transcript: a closed union of frozen values.

A changed item is a new value under the same key, so a view redraws what is not the same object.
All text in them is sanitised. No Textual.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from gateway.events import GrantKind
    from gateway.render.arguments import Argument

_LIST_ITEM = re.compile(r"^ *(?:[-*+]|\d+[.)]) ", re.MULTILINE)

ToolState: TypeAlias = Literal[
    "running", "asking", "decided", "done", "denied", "failed", "unknown", "stopped"
]
Asking: TypeAlias = Literal["text", "choice", "approval"]
Level: TypeAlias = Literal["info", "warning", "error"]


NOBODY = "somebody"
"""The author of a message whose name the platform did not tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent's name and its colour number, fixed within a thread."""

    name: str
    colour: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Item:
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanItem(_Item):
    """A person's message in a turn, or `sending` on its way there."""

    author: str
    text: str
    sending: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentItem(_Item):
    """An agent's message; it grows while `open`, unless it is `broken` off."""

    agent: Agent
    text: str
    model: str = ""
    open: bool = False
    broken: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ThoughtItem(_Item):
    """Reasoning, shown folded."""

    agent: Agent
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolItem(_Item):
    """A tool call with its outcome.

    `duration` is in seconds, `summary` the arguments in a row.
    """

    agent: Agent
    tool: str
    arguments: str = ""
    summary: str = ""
    state: ToolState = "running"
    result: str = ""
    duration: float = 0.0
    decision: str = ""
    """The person's decision, if one was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffItem(_Item):
    """One agent passed the work on."""

    agent: Agent
    target: Agent
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestItem(_Item):
    """The team asked a person; `outcome` is empty while it waits."""

    request: str
    kind: Asking
    agent: Agent
    prompt: str
    options: tuple[str, ...] = ()
    tool: str = ""
    arguments: tuple[Argument, ...] = ()
    replaced: tuple[Argument, ...] = ()
    """Arguments in whose place a diff stands."""
    grants: tuple[tuple[GrantKind, str], ...] = ()
    """Approvals for the rest of the thread, with the arguments of each."""
    awaited: bool = False
    """True if a call waits for it in its midst."""
    outcome: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeItem(_Item):
    """A notice of the gateway or terminal; `command` is its cause."""

    text: str
    level: Level = "info"
    incident: str = ""
    command: str = ""


Item: TypeAlias = (
    HumanItem | AgentItem | ThoughtItem | ToolItem | HandoffItem | RequestItem | NoticeItem
)


def is_shown_for(item: Item, agent: str) -> bool:
    """True for the agent's items and for those to everybody."""
    match item:
        case HumanItem() | NoticeItem():
            return True
        case HandoffItem():
            return agent in (item.agent.name, item.target.name)
        case _:
            return item.agent.name == agent


def weight(item: Item) -> int:
    """Approximate number of widgets for an item: Markdown mounts one per block."""
    match item:
        case AgentItem(text=text):
            return 3 + text.count("\n\n") + 4 * len(_LIST_ITEM.findall(text)) + text.count("|")
        case _:
            return 1
