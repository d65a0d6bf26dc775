"""Kinds of tools, agents and other parts, each declared once.

A kind is a table of config.toml (a `Section`) with a `Kind` in it. Its annotations say what its
settings mean, and everything else follows from them: the check of names, what is built, and what
`parley teams import` makes of a component file.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Protocol,
    Self,
    TypeAlias,
    cast,
)

from pydantic import Field, SecretStr
from pydantic.fields import FieldInfo
from typing_extensions import override

from teams._base.kind_names import Family
from teams._base.meanings import (
    Always,
    Chatter,
    EmptyIsNone,
    Given,
    ImportPath,
    InThread,
    Meaning,
    Named,
    TextOrPath,
    is_import_path,
    meanings_in,
)
from teams._base.tables import Section

Place: TypeAlias = tuple[str | int, ...]
Load: TypeAlias = Callable[[str], Any]
"""A follower of import paths. Raises ValueError."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of part: its family, its name and its class."""

    family: Family
    name: str
    """The text of `type`, or the key that tells it."""

    made_by: str
    """Import path of its class; of the base class for parts of somebody's own."""

    unread: tuple[str, ...] | None = ()
    """Fields of a component file that need no setting; None for all others."""

    has_form: bool = True
    """False if no component becomes its table."""

    slow: str = ""
    """HTTP library that its first use loads, which takes time."""

    sdk: tuple[str, ...] = ()
    """Modules of an SDK that its first use imports, which takes time."""


@dataclass(slots=True)
class NetworkRules:
    """Hosts that a part's `network` reaches, and those that may be private."""

    reaches: Callable[[str], bool] = lambda _: True
    is_private_allowed: Callable[[str], bool] = lambda _: False


class Want(NamedTuple):
    """A power that a component file asks for."""

    what: Literal["command", "address", "code", "folder", "hosted", "variable"]
    value: Any
    read_only: bool = False
    server: str = ""
    """Address that a variable's value is sent to."""


def wants_at(server: str, *variables: str) -> Iterator[Want]:
    """An address, or the variables that are sent there, without empty names."""
    names = [*filter(None, variables)]
    yield from (Want("variable", name, server=server) for name in names)
    if not names:
        yield Want("address", server)


def if_set(variable: str) -> str:
    """The variable's name; "" if it is not set."""
    return variable if os.environ.get(variable) else ""


class Maker(Protocol):
    """Maker of the parts of one thread's team."""

    name: str
    """The team's name."""

    folder: Path | None
    """Where code runs that has no other place; None for a temporary one."""

    work_mb: float
    """Megabytes that it may have."""

    def load(self, path: str) -> Any:
        """Follow an import path. Raises ValueError."""
        ...

    def function(self, path: str) -> Any:
        """Follow an import path to a function or class. Raises ValueError."""
        ...

    def client(self, name: str) -> Any:
        """The model client of this name."""
        ...

    def openai(self, name: str) -> tuple[Any, str]:
        """The SDK's client of an OpenAI model, and the model's name."""
        ...

    async def context(
        self, config: Part | None, tools: Sequence[Any] = (), *, model: str | None
    ) -> Any:
        """The model context of an agent with this model and these tools."""
        ...

    async def agent(self, name: str) -> Any:
        """A new agent of this team."""
        ...

    async def team(self, name: str) -> Any:
        """Another team of the config."""
        ...

    def shared(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """A part that all threads share, closed when Parley ends."""
        ...

    def masked(self, text: str) -> str:
        """The text without known secrets and what looks like a token."""
        ...

    async def make(self, table: Any, **more: Any) -> Any:
        """Make the part of a table that can not itself."""
        ...


class Item(Section):
    """A table that stands for a value."""

    made_by: ClassVar[str] = ""
    """Import path of the value's class."""

    async def build(self, maker: Maker, **more: Any) -> Any:
        """Make the value, also of `more` arguments. Raises what its class raises."""
        return maker.load(self.made_by)(**await self.arguments(maker), **more)

    async def arguments(self, maker: Maker) -> dict[str, Any]:
        """The arguments of its class."""
        return {
            argument: await _argument(value, meanings, maker)
            for argument, value, meanings in self.given(maker.folder)
        }

    def given(self, folder: Path | None = None) -> Iterator[tuple[str, Any, tuple[Meaning, ...]]]:
        """Its class's arguments, with the settings' values and meanings."""
        for name, field in type(self).model_fields.items():
            meanings, value = meanings_of(type(self))[name], getattr(self, name)
            argument = argument_of(name, meanings)
            if InThread() in meanings:
                value = value or folder
            if argument and value == "" and EmptyIsNone() in meanings:
                yield argument, None, meanings
            elif argument and (Always() in meanings or not _is_unset(value, field, meanings)):
                yield argument, value, meanings


class Part(Item):
    """A table that stands for a part."""

    kind: ClassVar[Kind]

    @override
    async def build(self, maker: Maker, **more: Any) -> Any:
        """Make the part, also of `more` arguments. Raises what its class raises."""
        return maker.load(self.kind.made_by)(**await self.arguments(maker), **more)

    @staticmethod
    def wants(config: Any) -> Iterator[Want]:
        """The powers of a component with this config."""
        yield from ()

    @staticmethod
    def require() -> None:
        """Raise ImportError where a package is missing."""

    def mistakes(self, load: Load) -> Iterator[tuple[Place, str]]:
        """Check what its names don't tell."""
        yield from ()


class SummarisingPart(Part):
    """A table of what summarises, though its class takes no context."""

    @override
    async def build(self, maker: Maker, **more: Any) -> Any:
        made = await super().build(maker, **more)
        made.use_context(await maker.context(None, model=vars(self)["model"]))
        return made


class OwnPart(Part):
    """A table that names somebody's own class."""

    path: Annotated[str, ImportPath()]
    """Import path of its class, or of a function that returns one; called once per thread."""

    options: dict[str, Any] = Field(default_factory=dict)
    """Its arguments."""

    @override
    async def build(self, maker: Maker, **more: Any) -> Any:
        return own_part(maker, self.path, self.kind.made_by, **self.options, **more)


def own_part(maker: Maker, path: str, made_by: str, **options: Any) -> Any:
    """The result of somebody's class or function. Raises ValueError for another."""
    made, expected = maker.function(path)(**options), maker.load(made_by)
    if inspect.isawaitable(made) or not isinstance(made, expected):
        found = type(made).__name__
        raise ValueError(f"{path!r} returned a {found}, expected a {expected.__name__}")
    return made


class Agent(Part):
    """A table of an agent."""

    provider: ClassVar[str] = ""
    """The provider that keeps its conversation and runs its hosted tools."""

    @property
    def speaker(self) -> Agent:
        """The agent that speaks in the end."""
        return self

    def called(self) -> Sequence[Tool] | None:
        """The tools of its table; None if only building tells."""
        return ()

    def built_in(self) -> Collection[str]:
        """Names of the tools that an agent of this kind always has."""
        return ()

    def hosted_names(self) -> Collection[str]:
        """Names of tools that run at its provider."""
        return ()

    def own_model(self) -> tuple[str, str]:
        """A model outside of [models], and its server; empty for none."""
        return "", ""


class DescribedAgent(Agent):
    """A table of an agent with a description."""

    description: str | None = None
    """Description for the other agents."""


class Shown(NamedTuple):
    """A tool's name and schema for the model."""

    name: str
    schema: Mapping[str, object]

    @classmethod
    def taking(cls, name: str, *arguments: str) -> Self:
        """A tool with these arguments."""
        return cls(name, {"parameters": {"properties": dict.fromkeys(arguments)}})


class Tool(Part):
    """A table of `tools`."""

    def shown(self, load: Load) -> Shown | None:
        """Tell what the model sees; None if only building tells."""
        return None


class ReadyTool(Tool):
    """A table of a tool without a thread: a check makes it."""

    blames: ClassVar[Place] = ()
    """The setting that is wrong if it can't be made."""

    def made(self, load: Load) -> Any:
        """A new tool. Raises ValueError, TypeError, AttributeError and ImportError."""
        raise NotImplementedError

    @override
    async def build(self, maker: Maker, **more: Any) -> Any:
        return self.made(maker.load)

    @override
    def shown(self, load: Load) -> Shown:
        made = self.made(load)
        return Shown(made.name, made.schema)

    @override
    def mistakes(self, load: Load) -> Iterator[tuple[Place, str]]:
        try:
            _ = self.made(load).schema  # made when asked for
        except (ValueError, TypeError, AttributeError, ImportError) as error:
            yield self.blames, str(error)


def argument_of(name: str, meanings: tuple[Meaning, ...]) -> str | None:
    """The class's argument for a setting; None if it has none."""
    own = None if name in ("type", "provider") else name
    return next((each.argument for each in meanings if isinstance(each, Given)), own)


def _is_unset(value: Any, field: FieldInfo, meanings: tuple[Meaning, ...]) -> bool:
    if value == "" and field.default in ("", None):
        return Named("models") not in meanings  # there is a default one
    usual = field.get_default(call_default_factory=True) if value in ([], {}) else None
    return value is None or value == usual


async def _argument(value: Any, meanings: tuple[Meaning, ...], maker: Maker) -> Any:
    made: Any = value
    match value:
        case Item():
            made = await value.build(maker)
        case list():
            items = cast("list[Any]", value)
            made = [await _argument(each, meanings, maker) for each in items]
        case str() if Named("teams") in meanings:
            made = await maker.team(value)
        case str() if Named("agents") in meanings or Chatter() in meanings:
            made = await maker.agent(value)
        case _:
            made = plain_argument(value, meanings, maker.function, maker.client)
    return made


def plain_argument(
    value: object, meanings: tuple[Meaning, ...], load: Load, client: Load
) -> object:
    """The argument for a value that takes no waiting to be made."""
    made = value
    match value:
        case SecretStr():
            made = value.get_secret_value()
        case str() if Named("models") in meanings:
            made = client(value)
        case str() if ImportPath() in meanings:
            made = load(value)
        case str() if TextOrPath() in meanings and is_import_path(value):
            made = load(value)
        case _:
            pass
    form = next((each.form for each in meanings if isinstance(each, Given)), None)
    return form(made) if form else made


@dataclass(frozen=True, slots=True)
class Use:
    """A setting with a meaning, and its place."""

    place: Place
    value: str
    meaning: Meaning
    by: Section
    """The table that has it."""


def uses_of(table: Section, place: Place = ()) -> Iterator[Use]:
    """The settings with a meaning, in the tables inside, too.

    What an item of a list names itself is told of the whole item.
    """
    for where, each in tables_in(table, place):
        is_item = bool(where) and isinstance(where[-1], int)
        for name, meanings in meanings_of(type(each)).items():
            for at, value in _leaves(getattr(each, name), (*where, name)):
                for meaning in meanings if isinstance(value, str | Path) and value else ():
                    shown = at if meaning.is_precise or not is_item else where
                    yield Use(shown, str(value), meaning, each)


def tables_in(value: object, place: Place = ()) -> Iterator[tuple[Place, Section]]:
    """The tables in a value with their places, outer ones first."""
    for at, each in _leaves(value, place):
        if isinstance(each, Section):
            yield at, each
            for name, inner in each:
                yield from tables_in(inner, (*at, name))


def _leaves(value: object, place: Place) -> Iterator[tuple[Place, object]]:
    match value:
        case list():
            for at, each in enumerate(cast("list[object]", value)):
                yield from _leaves(each, (*place, at))
        case dict():
            for key, each in cast("dict[str, object]", value).items():
                yield from _leaves(each, (*place, key))
        case _:
            yield place, value


@cache
def meanings_of(table: type[Section]) -> Mapping[str, tuple[Meaning, ...]]:
    """The meanings of a table's settings."""
    return {
        name: tuple(meanings_in(field.annotation, field.metadata))
        for name, field in table.model_fields.items()
    }


Model = Annotated[str, Named("models"), Given("model_client")]
"""Name of a model in [models]; the default one if empty."""
