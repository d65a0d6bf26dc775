"""Preparation of first turns: imports and model clients, in a worker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from threading import Lock

from gateway.base.background import giving_way
from gateway.base.imports import ImportPathError, Imports
from gateway.config.mcp import McpConfig, McpReference
from gateway.config.nesting import with_inner
from gateway.config.root import Config
from gateway.config.teams import ComponentTeam
from gateway.factory.component_files import import_classes, read_component
from gateway.factory.model_clients import ModelClients
from teams.bounded import load_http
from teams.kinds import Kind, Section, tables_in

PRICES = ("genai_prices.data", "genai_prices.data_units")
"""The catalog of prices, which the end of the first turn looks into; an extra."""
TURN = ("markdown_it", "teams._snapshot.snapshot")
"""For the first text, and the end of the first step."""
MCP = ("teams.tools.mcp", "mcp", "mcp.client.session", "mcp.client.stdio")


class Preparation:
    """Prepares each team of a config once, in any worker.

    A model's SDK takes a second to import: nobody could write, read or stop anything meanwhile.
    """

    def __init__(self, config: Config, models: ModelClients, imports: Imports) -> None:
        self._config = config
        self._models = models
        self._imports = imports
        self._lock = Lock()
        self._done: set[tuple[str, str, bool]] = set()

    def is_done(self, team: str, model: str = "", *, trial: bool = False) -> bool:
        """True if the first turn imports nothing more."""
        return (team, model, trial) in self._done

    def prepare(self, team: str, model: str = "", *, trial: bool = False) -> None:
        """Import and make what the team needs.

        With a `model`, it is made, too; for a `trial`, what it takes to build the team. Whoever
        builds it is told what can't be made.
        """
        with self._lock:
            if not self.is_done(team, model, trial=trial):
                with giving_way():
                    for section in sections(self._config, team):
                        self._prepare_section(section, trial=trial)
                    if model:
                        self._make(model, trial=trial)
                    if not trial:
                        _import(TURN)
                self._done.add((team, model, trial))

    def _prepare_section(self, section: Section, *, trial: bool) -> None:
        model: object = getattr(section, "model", None)
        if isinstance(model, str):
            self._make(model, trial=trial)
        if isinstance(section, ComponentTeam):
            with suppress(Exception, SystemExit):
                import_classes(read_component(section))
        if isinstance(kind := getattr(section, "kind", None), Kind):
            with suppress(ImportPathError):
                self._imports.load(kind.made_by)
            if kind.slow:
                load_http(kind.slow)
            if not trial:
                _import(kind.sdk)
        if isinstance(section, McpConfig | McpReference):
            _import(MCP)

    def _make(self, model: str, *, trial: bool) -> None:
        with suppress(Exception, SystemExit):
            self._models.make_slow(model, trial=trial)
            name = model or self._config.model_name()
            if not trial and not self._config.models[name].resolved().is_local:
                _import(PRICES)


def sections(config: Config, team: str) -> Iterator[Section]:
    """All tables of a team and of the teams inside it."""
    for name, _ in with_inner(team, config.teams):
        yield from (table for _, table in tables_in(config.teams[name]))


def _import(modules: Iterable[str]) -> None:
    """Import the modules that are there."""
    for module in modules:
        with suppress(ImportError):
            import_module(module)
