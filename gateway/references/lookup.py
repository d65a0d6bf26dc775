"""A look-up of a config's names and import paths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from gateway.base.imports import ImportPathError, Imports
from gateway.base.suggest import did_you_mean
from gateway.config.mcp import McpConfig, McpReference, McpServer
from gateway.config.problems import Problem, value_at
from gateway.config.root import Config
from gateway.config.toml import KeyPath


class Lookup:
    """The names of a config.

    One counts as known if `written`, the data as it stands in the file, has it: what is wrong with
    the thing itself is reported where it is written.
    """

    def __init__(self, config: Config, written: Mapping[str, Any], imports: Imports) -> None:
        self.config = config
        self.imports = imports
        self._written = written
        self.models = self.names("models") or list(config.models)
        self.servers = self.names("mcp")
        self.teams = self.names("teams") or list(config.teams)

    def names(self, *path: str) -> list[str]:
        """The keys of a table of the file."""
        table = self.written(*path)
        return list(cast("dict[str, Any]", table)) if isinstance(table, dict) else []

    def written(self, *path: str | int) -> object:
        """The file's value there, right or wrong; None for nothing."""
        try:
            return value_at(self._written, path)
        except LookupError:
            return None

    def model(self, path: KeyPath, name: str) -> Iterator[Problem]:
        """Check that the name is a model's, or empty."""
        return check_name(path, name, self.models, "the name of a model")

    def server(self, path: KeyPath, entry: McpReference | McpConfig) -> Iterator[Problem]:
        """Check a server's name, which no table of an agent may share."""
        match entry:
            case McpReference():
                yield from check_name(path, entry.server, self.servers, "a server in [mcp]")
            case McpConfig():
                if entry.name in self.servers:
                    said = f"found {entry.name!r}, which is the name of a server in [mcp]; "
                    text = f'{said}expected another name, or "{entry.name}" instead of the table'
                    yield Problem(path=(*path, "name"), text=text)
                yield from self.sampling(path, entry)

    def sampling(self, path: KeyPath, server: McpServer) -> Iterator[Problem]:
        """Check that a server's model, if one is named, is one."""
        if isinstance(server.sampling, str):
            yield from self.model((*path, "sampling"), server.sampling)

    def team(self, path: KeyPath, name: str) -> Iterator[Problem]:
        """Check that the name is a team's, or empty."""
        return check_name(path, name, self.teams, "a team")

    def function(self, path: KeyPath, target: str | None) -> Iterator[Problem]:
        """Check that the import path, if any, leads to a callable."""
        try:
            if target:
                self.imports.load_callable(target)
        except ImportPathError as error:
            yield Problem(path=path, text=str(error))


def check_name(path: KeyPath, name: str, names: Iterable[str], what: str) -> Iterator[Problem]:
    """Check that the name is known, or empty."""
    names = list(names)
    if name and name not in names:
        hint = did_you_mean(name, names) or f"there is {', '.join(map(repr, names)) or 'none'}"
        yield Problem(path=path, text=f"found {name!r}, expected {what}; {hint}")
