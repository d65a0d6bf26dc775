"""Values that the parts of the gateway exchange; they never change."""

from __future__ import annotations

from dataclasses import dataclass, field
from os.path import dirname
from typing import TypeAlias, TypeVar, dataclass_transform

T = TypeVar("T")

Folders: TypeAlias = tuple[tuple[str, str], ...]
"""Names of arguments, each with a folder below a thread's work folder; "" is that itself."""


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
def value(kind: type[T]) -> type[T]:
    """Make a keyword-only dataclass with slots, read-only for the type checker.

    Python could refuse it, too, but then making one takes three times as long, and a message makes
    about seventy.
    """
    return dataclass(slots=True, kw_only=True, unsafe_hash=True)(kind)


@value
class Manners:
    """The way a turn is carried out and shown, by its route.

    `instructions` are told to all its agents; `reasoning` is "stream", "fold" or "hide".
    """

    instructions: str = ""
    reasoning: str = "fold"


PLAIN_MANNERS = Manners()


@value
class Offers:
    """The teams and first messages that a place offers."""

    teams: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()


NO_OFFERS = Offers()


BUILT_IN = "built-in"
"""Stands for the path of the config that has no file."""


@value
class Origin:
    """A config as threads remember it: real path, digest of the text."""

    path: str = ""
    digest: str = ""

    def owns(self, config: str, digest: str) -> bool:
        """True if a thread with this path or digest is the config's."""
        return config == self.path or (digest != "" and digest == self.digest)

    def differs(self, other: Origin) -> bool:
        """True for another config, as far as that is known."""
        return other.path != "" and not self.owns(other.path, other.digest)


NO_ORIGIN = Origin()
"""That of teams from no config, and of threads from before their configs were kept."""


def begun_with(config: str) -> str:
    """A sentence naming the config of a thread."""
    if not config:
        return "It is not known with which config this thread was begun."
    return f"This thread was begun with {config_name(config)}."


def config_name(config: str) -> str:
    """The config for people."""
    return "the built-in config" if config == BUILT_IN else repr(config)


def config_folder(config: str) -> str:
    """The folder of a config, as lists name it."""
    if config == BUILT_IN:
        return "of the built-in config"
    folder = dirname(config)
    return f"of {folder}" if folder else "of an unknown config"


@value
class ArgumentDiff:
    """The change that arguments make, as lines of a diff.

    It stands in the place of these `arguments`; without any, it is the change of the tool. Without
    `lines` they are shown as they are, and `note` says why.
    """

    arguments: tuple[str, ...] = ()
    lines: str = ""
    note: str = ""
