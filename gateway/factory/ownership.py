"""Parts that belong to one thread alone, and may not be shared."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain, compress
from operator import methodcaller
from typing import Any, Protocol, cast

from gateway.access.tool_policy import argument_names
from gateway.content.sign_off import WORD
from gateway.factory.store_memory import ScopedMemory
from gateway.registry import Closer, Holdings
from teams.base import ChatAgent, Team, TerminationCondition
from teams.code_executor import CodeExecutor
from teams.memory import ListMemory, Memory
from teams.model_context import AutoChatCompletionContext, ChatCompletionContext
from teams.models import ChatCompletionClient
from teams.tools import BaseTool, FunctionTool, StaticWorkbench, Workbench

_OWN = (
    ChatAgent,
    Team,
    TerminationCondition,
    ChatCompletionContext,
    Memory,
    Workbench,
    CodeExecutor,
)
_HOLDERS: tuple[type, ...] = (*_OWN, BaseTool)
_OURS = (
    "teams.agents",
    "teams.conversable",
    "teams.tools",
    "teams._",
    "gateway.factory.conversable",
)
"""Beginnings of the modules whose objects may hold parts."""
_LOCAL = (
    ("teams.code_executors.jupyter", "JupyterCodeExecutor"),
    ("teams.code_executors.local", "LocalCommandLineCodeExecutor"),
)
"""Executors that run code on this machine."""
_MESSAGES = ("teams._base.", "teams._messages.")
"""Beginnings of the modules of ours whose objects hold messages and texts at most."""


@dataclass(frozen=True, slots=True)
class TeamTools:
    """A team's own tools, its servers, and whether it may have others.

    `arguments` are those of all known tools, None for one that takes any.
    """

    own: frozenset[str]
    arguments: Mapping[str, Collection[str] | None]
    servers: frozenset[str]
    has_others: bool


@dataclass(frozen=True, slots=True)
class _Role:
    """The use of a type's parts, and the method that releases them."""

    acts: bool
    closed_by: str


class _Agent(Protocol):
    """An agent, be it of a chat of two."""

    @property
    def name(self) -> str: ...


class OwnedParts:
    """Remembers what teams were given, for as long as that lives."""

    def __init__(self) -> None:
        self._seen: dict[int, weakref.ref[Any]] = {}

    def refuse_shared(self, factory: str, team: Team) -> None:
        """Record the team's own parts. Raises ValueError for shared ones."""
        own = list(own_parts(team))
        for part in own:
            if (known := self._seen.get(id(part))) is not None and known() is part:
                raise ValueError(
                    f"{factory!r} returned the same {_named(part)} twice; each call must make new "
                    "agents and memories, because threads do not share them"
                )
        for part in own:
            self._remember(part)

    def _remember(self, part: object) -> None:
        place = id(part)
        self._seen[place] = weakref.ref(part, lambda _: self._seen.pop(place, None))


def all_parts(team: object, *, but: tuple[type, ...] = ()) -> Iterator[object]:
    """Parts of a team at any depth, others' included; team first.

    The parts of such as are one of `but` are left out.
    """
    left: list[object] = [team] if _contents(type(team)) else []
    seen: dict[int, object] = {}
    while left:
        part = left.pop()
        if id(part) in seen:
            continue
        seen[id(part)] = part
        yield part
        if part is not team and isinstance(part, but):
            continue
        if (contents := _contents(type(part))) and (found := contents(part)):
            left += compress(found, map(_contents, map(type, found)))


def own_parts(team: Team) -> Iterator[object]:
    """A thread's own parts of a team, at any depth; team first."""
    return (part for part in all_parts(team) if _is_own(type(part)))


def model_clients(team: object) -> Iterator[ChatCompletionClient]:
    """The model clients of a team, at any depth."""
    return (part for part in all_parts(team) if isinstance(part, ChatCompletionClient))


def holdings_of(team: object) -> Holdings:
    """Executors, workbenches, tools, memories and own agents, at any depth."""
    closes: list[Closer] = []
    memories: set[str] = set()
    agents, told = set[str](), set[str]()
    contexts: dict[int, tuple[str, AutoChatCompletionContext]] = {}
    acts = everybody = False
    for part in all_parts(team):
        if isinstance(part, TerminationCondition):
            everybody = everybody or _names_word(part, "text")
        elif isinstance(part, ChatAgent) or hasattr(type(part), "system_message"):
            agent = cast("_Agent", part)
            agents.add(agent.name)
            if _names_word(part, "system_message"):
                told.add(agent.name)
        if (context := _summarising(part)) is not None:
            reader = str(getattr(part, "manager_name", getattr(part, "name", "")))
            contexts.setdefault(id(context), (reader, context))
        if (role := _role(type(part))) is None:
            continue
        acts = acts or role.acts
        if role.closed_by:
            closes.append(getattr(part, role.closed_by))
        if isinstance(part, ListMemory):
            memories.update(str(each.content) for each in part.content)
    signs_off = frozenset(agents if everybody else told)
    in_order = tuple(reversed(contexts.values()))  # the last part of a list comes first
    return Holdings(tuple(closes), acts, frozenset(memories), signs_off, in_order)


def _names_word(part: object, attribute: str) -> bool:
    """True if a text names the word for the part's team."""
    try:
        return WORD in str(getattr(part, attribute, ""))
    except Exception:  # it may be somebody else's
        return False


def _summarising(part: object) -> AutoChatCompletionContext | None:
    """The context of an agent or selector, if it summarises."""
    try:
        context = getattr(part, "model_context", None)
    except Exception:  # it may be somebody else's
        return None
    return context if isinstance(context, AutoChatCompletionContext) else None


def local_executors(team: Team) -> list[str]:
    """Classes of a team's executors that run code on this machine."""
    known = [(sys.modules.get(module), name) for module, name in _LOCAL]
    local = tuple(getattr(module, name) for module, name in known if module)  # else nobody made one
    found = (part for part in own_parts(team) if isinstance(part, local))
    return list(dict.fromkeys(type(part).__name__ for part in found))


@lru_cache(maxsize=1024)
def _contents(kind: type[object]) -> Callable[[Any], Iterable[object]] | None:
    """The way to such a part's contents; None: it holds nothing."""
    if kind.__module__.startswith(_MESSAGES):
        return None
    if issubclass(kind, list | tuple | set | frozenset):
        return _itself
    if issubclass(kind, dict):
        return methodcaller("values")
    if kind is FunctionTool or issubclass(kind, ChatCompletionClient):
        return _nothing
    return partial(_attributes, _slots(kind)) if _may_hold(kind) else None


@lru_cache(maxsize=1024)
def _is_own(kind: type) -> bool:
    return issubclass(kind, _OWN)


@lru_cache(maxsize=1024)
def _role(kind: type) -> _Role | None:
    """The use of such a part; None for none."""
    closed_by, remembers = _closed_by(kind), issubclass(kind, Memory)
    acts = not remembers and (bool(closed_by) or issubclass(kind, BaseTool))
    return _Role(acts, closed_by) if acts or closed_by or remembers else None


def _closed_by(kind: type) -> str:
    """The method that releases such a part; "" if there is none."""
    if issubclass(kind, Memory) and (kind.__module__.startswith("teams.") or kind is ScopedMemory):
        return "" if issubclass(kind, ListMemory) else "close"
    if issubclass(kind, CodeExecutor | Workbench) and not issubclass(kind, StaticWorkbench):
        # One that was never needed refuses to be stopped.
        return "close" if hasattr(kind, "close") else "stop"
    ours = kind.__module__.startswith("teams.") and not getattr(
        cast("type", kind), "holds_own", False
    )
    return "close" if issubclass(kind, ChatAgent) and not ours else ""


def _may_hold(kind: type[object]) -> bool:
    """True for parts with contents, and the engine's helper objects."""
    return kind.__module__.startswith(_OURS) or issubclass(kind, _HOLDERS)


def _itself(part: Iterable[object]) -> Iterable[object]:
    return part


def _nothing(_: object) -> Iterable[object]:
    return ()


def _attributes(slots: Iterable[str], part: object) -> Iterable[object]:
    values: Iterable[object] = getattr(part, "__dict__", {}).values()
    return [*values, *[getattr(part, name, None) for name in slots]] if slots else values


def _slots(kind: type) -> tuple[str, ...]:
    found = (each.__dict__.get("__slots__", ()) for each in kind.__mro__)
    names = chain.from_iterable((slots,) if isinstance(slots, str) else slots for slots in found)
    return tuple(name for name in names if name != "__weakref__")


def _named(part: object) -> str:
    name = getattr(part, "name", None)
    return repr(name) if isinstance(name, str) else type(part).__name__


def tools_of(team: Team) -> TeamTools:
    """The names of a team's own tools, and where others come from."""
    parts = list(all_parts(team))
    tools = [cast("BaseTool[Any, Any]", part) for part in parts if isinstance(part, BaseTool)]
    benches = [
        part
        for part in parts
        if isinstance(part, Workbench) and not isinstance(part, StaticWorkbench)
    ]
    servers = [server for bench in benches if (server := bench.tool_traits("").server)]
    return TeamTools(
        own=frozenset(tool.name for tool in tools if not tool.traits.server),
        arguments={
            f"{tool.traits.server}/{tool.name}".lstrip("/"): argument_names(tool.schema)
            for tool in tools
        },
        servers=frozenset(servers).union(filter(None, (tool.traits.server for tool in tools))),
        has_others=len(benches) > len(servers),
    )
