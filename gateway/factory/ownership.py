"""Parts that belong to one thread alone, and may not be shared."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any, Literal, cast

from gateway.registry import Closer, Holdings
from teams.base import ChatAgent, Team, TerminationCondition
from teams.code_executor import CodeExecutor
from teams.memory import Memory
from teams.model_context import ChatCompletionContext
from teams.models import ChatCompletionClient
from teams.tools import BaseTool, StaticWorkbench, Workbench

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


class OwnedParts:
    """Remembers what teams were given, for as long as that lives."""

    def __init__(self) -> None:
        self._seen: dict[int, weakref.ref[Any]] = {}

    def refuse_shared(self, factory: str, team: Team) -> None:
        """Record the team's own parts. Raises ValueError for shared ones."""
        own = list(owned(team))
        for part in own:
            if (known := self._seen.get(id(part))) is not None and known() is part:
                raise ValueError(
                    f"{factory!r} returned the same {_named(part)} twice; it must make new agents "
                    "at each call, with all that they remember, because threads share none"
                )
        for part in own:
            self._remember(part)

    def _remember(self, part: object) -> None:
        place = id(part)
        self._seen[place] = weakref.ref(part, lambda _: self._seen.pop(place, None))


def owned(team: Team) -> Iterator[object]:
    """A thread's own parts of a team, at any depth; team first."""
    return (part for part in _everything(team) if _is_own(type(part)))


def model_clients(team: Team) -> Iterator[ChatCompletionClient]:
    """The model clients of a team, at any depth."""
    return (part for part in _everything(team) if isinstance(part, ChatCompletionClient))


def held_by(team: object) -> Holdings:
    """Executors, workbenches, tools and own agents in a team, at any depth."""
    closes: list[Closer] = []
    acts = False
    for part in _everything(team):
        kind: type[object] = type(part)
        acts = acts or _can_act(kind)
        if method := _closed_by(kind):
            closes.append(getattr(part, method))
    return Holdings(tuple(closes), acts)


def local_executors(team: Team) -> list[str]:
    """Classes of a team's executors that run code on this machine."""
    from teams.code_executors.local import LocalCommandLineCodeExecutor

    found = (part for part in owned(team) if isinstance(part, LocalCommandLineCodeExecutor))
    return list(dict.fromkeys(type(part).__name__ for part in found))


def _everything(team: object) -> Iterator[object]:
    left: list[object] = [team]
    seen: dict[int, object] = {}
    while left:
        part = left.pop()
        shape = _shape(type(part))
        if shape == "dull" or id(part) in seen:
            continue
        seen[id(part)] = part
        yield part
        match shape:
            case "items":
                left += cast("Iterable[object]", part)
            case "values":
                left += cast("Mapping[object, object]", part).values()
            case "parts":
                left += _attributes(part)
            case "closed":
                pass


@lru_cache(maxsize=1024)
def _shape(kind: type[object]) -> Literal["items", "values", "parts", "closed", "dull"]:
    """The way to the contents of such a part.

    Most parts of a team are "dull": they hold nothing and nobody looks for them.
    """
    if issubclass(kind, list | tuple | set | frozenset):
        return "items"
    if issubclass(kind, dict):
        return "values"
    if _may_hold(kind):
        return "parts"
    return "closed" if issubclass(kind, ChatCompletionClient) else "dull"


@lru_cache(maxsize=1024)
def _is_own(kind: type) -> bool:
    return issubclass(kind, _OWN)


@lru_cache(maxsize=1024)
def _closed_by(kind: type) -> str:
    """The method that releases such a part; "" if there is none."""
    if issubclass(kind, CodeExecutor | Workbench) and not issubclass(kind, StaticWorkbench):
        return "stop"
    own_agent = issubclass(kind, ChatAgent) and not kind.__module__.startswith("teams.")
    return "close" if own_agent else ""


@lru_cache(maxsize=1024)
def _can_act(kind: type) -> bool:
    return bool(_closed_by(kind)) or issubclass(kind, BaseTool)


def _may_hold(kind: type[object]) -> bool:
    """True for parts with contents, and the engine's helper objects.

    The engine's messages and settings hold none.
    """
    if issubclass(kind, ChatCompletionClient):
        return False
    ours = kind.__module__.startswith(("teams.agents", "teams.tools", "teams._"))
    return ours or issubclass(kind, _HOLDERS)


def _attributes(part: object) -> Iterable[object]:
    slots = [getattr(part, name) for name in _slots(type(part)) if hasattr(part, name)]
    return [*getattr(part, "__dict__", {}).values(), *slots]


@lru_cache(maxsize=1024)
def _slots(kind: type) -> tuple[str, ...]:
    found = (each.__dict__.get("__slots__", ()) for each in kind.__mro__)
    names = chain.from_iterable((slots,) if isinstance(slots, str) else slots for slots in found)
    return tuple(name for name in names if name != "__weakref__")


def _named(part: object) -> str:
    name = getattr(part, "name", None)
    return repr(name) if isinstance(name, str) else type(part).__name__
