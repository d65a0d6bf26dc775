"""A check of a config's names, hand-offs and imports."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import assert_never

from gateway.base.paths import store_folder
from gateway.budgets.price_list import PriceList, more_prices
from gateway.config.conversable import ConversableTeam
from gateway.config.mcp import NAME, server_name
from gateway.config.nesting import cycles, servers_of
from gateway.config.problems import Problem
from gateway.config.teams import ComponentTeam, DemoTeam, FactoryTeam, GroupTeam
from gateway.config.toml import KeyPath
from gateway.references.conversable import ConversableChecker
from gateway.references.faces import check_faces
from gateway.references.groups import GroupChecker
from gateway.references.lookup import Lookup, check_name
from gateway.references.models import ModelChecker
from gateway.references.routes import check_route_names


def check_references(lookup: Lookup) -> list[Problem]:
    """Names and import paths that lead nowhere, and hand-offs to nobody."""
    return list(_Checker(lookup).check())


class _Checker:
    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._config = lookup.config

    def check(self) -> Iterator[Problem]:
        config = self._config
        yield from self._lookup.team(("default_team",), config.default_team)
        yield from self._lookup.model(("default_model",), config.default_model)
        yield from self._lookup.model(("title_model",), config.title_model)
        yield from ModelChecker(self._lookup).check()
        yield from self._routes()
        yield from check_faces(self._lookup)
        yield from self._budgets()
        yield from self._backup()
        for name, team in config.teams.items():
            path: KeyPath = ("teams", name)
            match team:
                case GroupTeam():
                    yield from GroupChecker(self._lookup, path, team).check()
                case ConversableTeam():
                    yield from ConversableChecker(self._lookup, path, team).check()
                case DemoTeam():
                    yield from self._lookup.model((*path, "model"), team.model)
                case ComponentTeam():
                    yield from self._component(path, team)
                case FactoryTeam():
                    yield from self._lookup.function((*path, "factory"), team.factory)
                    yield from self._lookup.model((*path, "model"), team.model)
                case _:
                    assert_never(team)
        for table, named in (("mcp", config.mcp), ("knowledge", config.knowledge)):
            for name in named:
                if not re.match(NAME, name):
                    text = f"found {name!r}, expected a name of letters, digits, - and _"
                    yield Problem(path=(table, name), text=text)
        yield from self._knowledge()
        for name, server in config.mcp.items():
            yield from self._lookup.sampling(("mcp", name), server)
        yield from cycles(config.teams)

    def _knowledge(self) -> Iterator[Problem]:
        store, backup = self._config.store.folder or store_folder(), self._config.backup
        kept = [store.resolve(), *([backup.folder.resolve()] if backup else [])]
        for name, knowledge in self._config.knowledge.items():
            shown = knowledge.folder and knowledge.folder.resolve()
            if shown and any(each.is_relative_to(shown) for each in kept):
                text = (
                    "found a folder of the store or its backups: agents would be shown its threads"
                )
                yield Problem(path=("knowledge", name, "folder"), text=text)

    def _routes(self) -> Iterator[Problem]:
        """Routes and tools' cases with unknown platforms or teams."""
        yield from check_route_names(enumerate(self._config.routes), self._lookup)
        adapters = self._lookup.names("adapters") or list(self._config.adapters)
        for at, channel in enumerate(self._config.policies.approvals):
            platform = channel.partition(":")[0]
            path: KeyPath = ("policies", "approvals", at)
            yield from check_name(path, platform, adapters, "a channel of a platform in [adapters]")
        servers = {"mcp", *self._servers()}  # "mcp" in component files and in Python
        for tool, policy in self._config.policies.tools.named().items():
            server, slash, _ = tool.rpartition("/")
            if slash:
                place: KeyPath = ("policies", "tools", tool)
                yield from check_name(place, server, servers, "a server in [mcp] or of an agent")
            for at, case in enumerate(policy.cases):
                for n, team in enumerate(case.teams):
                    path = ("policies", "tools", tool, "cases", at, "teams", n)
                    yield from self._lookup.team(path, team)

    def _servers(self) -> Iterator[str]:
        """Names of all servers."""
        yield from self._config.mcp
        for team in self._config.teams.values():
            if isinstance(team, GroupTeam):
                yield from map(server_name, servers_of(team))

    def _budgets(self) -> Iterator[Problem]:
        """Budgets with unknown teams or without prices."""
        config = self._config
        for at, budget in enumerate(config.budgets):
            for n, name in enumerate(budget.only if budget.per == "team" else ()):
                yield from self._lookup.team(("budgets", at, "only", n), name)
        if not any(budget.cost for budget in config.budgets):
            return
        prices = PriceList(config)
        for name, model in config.models.items():
            if model.model and not model.is_local and model.model not in prices:
                wanted = f"expected {model.model} in [prices]{more_prices()}"
                text = f"found no price, {wanted}: a budget limits the cost"
                yield Problem(path=("models", name, "model"), text=text)

    def _backup(self) -> Iterator[Problem]:
        """Backups of a file, where there is a database."""
        if self._config.backup is not None and self._config.store.url is not None:
            text = (
                "found it beside `url` in [store], expected one of the two: Parley backs up its "
                "own file alone; use the backups of your database, such as pg_dump"
            )
            yield Problem(path=("backup",), text=text)

    def _component(self, path: KeyPath, team: ComponentTeam) -> Iterator[Problem]:
        try:
            json.loads(team.component.read_text(encoding="utf-8"))
        except OSError as error:
            text = f"cannot read {team.component}: {error.strerror}"
            yield Problem(path=(*path, "component"), text=text)
        except RecursionError:
            text = f"{team.component} is nested too deep"
            yield Problem(path=(*path, "component"), text=text)
        except ValueError as error:
            text = f"{team.component} is not JSON: {error}"
            yield Problem(path=(*path, "component"), text=text)
        for tool, target in team.tool_overrides.items():
            yield from self._lookup.function((*path, "tool_overrides", tool), target)
