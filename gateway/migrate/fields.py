"""Reading a component's config so that nothing in it is overlooked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

from gateway.migrate.stubs import SourceTool
from gateway.migrate.toml_text import plain


@dataclass(slots=True)
class Report:
    """Losses, work that is left, and the tools with source code."""

    lost: list[str] = field(default_factory=list[str])
    todo: list[str] = field(default_factory=list[str])
    tools: dict[str, SourceTool] = field(default_factory=dict[str, SourceTool])

    def lose(self, path: str, text: str) -> None:
        """Report a part that could not be taken."""
        self.lost.append(f"{path or 'the file'}: {text}")


class Fields:
    """The fields of a component's config; `rest` reports those nobody took."""

    def __init__(self, form: Mapping[str, Any], path: str, report: Report) -> None:
        self._config = cast("Mapping[str, Any]", form["config"])
        self._left = {key for key, value in self._config.items() if value not in (None, [], {})}
        self._report = report
        self.path = path

    def at(self, name: str) -> str:
        """The path of a field."""
        return f"{self.path}.{name}" if self.path else name

    def take(self, name: str, default: Any = None) -> Any:
        """The value of a field, or the default instead of null."""
        self._left.discard(name)
        value = self._config.get(name)
        return default if value is None else value

    def items(self, name: str) -> list[tuple[str, Any]]:
        """The entries of a list, each with its path."""
        value = self.take(name, [])
        entries = cast("list[Any]", value) if isinstance(value, list) else []
        return [(f"{self.at(name)}[{at}]", entry) for at, entry in enumerate(entries)]

    def component(self, name: str) -> Mapping[str, Any] | None:
        """The component in a field, or None."""
        value = self.take(name)
        return cast("Mapping[str, Any]", value) if is_component(value) else None

    def copy(self, *names: str) -> dict[str, Any]:
        """The fields of these names that are there."""
        taken = {name: self.take(name) for name in names}
        given = {name: value for name, value in taken.items() if value not in (None, [], {})}
        return {name: plain_value(value) for name, value in given.items()}

    def left(self) -> list[str]:
        """The fields that nobody took."""
        return sorted(self._left)

    def rest(self, *harmless: str) -> None:
        """Report every field that nobody took."""
        for name in sorted(self._left - {*harmless}):
            self._report.lose(self.at(name), "config.toml has no such setting")


def is_component(value: Any) -> bool:
    """True for component JSON."""
    match value:
        case {"provider": str(), "config": dict()}:
            return True
        case _:
            return False


def class_of(form: Mapping[str, Any]) -> str:
    """The bare name of the component's class."""
    short = {
        "openai_chat_completion_client": "OpenAIChatCompletionClient",
        "azure_openai_chat_completion_client": "AzureOpenAIChatCompletionClient",
    }
    provider = cast("str", form["provider"])
    root = provider.partition(".")[0]
    if root not in ("autogen_agentchat", "autogen_core", "autogen_ext", "teams", provider):
        return ""  # somebody's own class
    return short.get(provider, provider.rpartition(".")[2])


def plain_value(value: Any) -> Any:
    """The value without nulls and without `${` in its texts."""
    match value:
        case str():
            return plain(value)
        case list():
            items = cast("list[Any]", value)
            return [plain_value(item) for item in items if item is not None]
        case dict():
            pairs = cast("dict[str, Any]", value).items()
            return {key: plain_value(item) for key, item in pairs if item is not None}
        case _:
            return value


def without_password(address: str) -> str:
    """The address without a name and a password in it."""
    parts = urlsplit(address)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def variable(*words: str) -> str:
    """The name of an environment variable."""
    return re.sub(r"[^A-Z0-9]+", "_", "_".join(words).upper()).strip("_")


def slug(text: str, taken: Mapping[str, Any], otherwise: str) -> str:
    """A name of letters, digits and underscores that is not taken."""
    base = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_") or otherwise
    base = base if base.isidentifier() else f"{otherwise}_{base}"
    name, number = base, 2
    while name in taken:
        name, number = f"{base}_{number}", number + 1
    return name
