"""A check of a config's names, hand-offs and imports."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, assert_never

from pydantic import ValidationError

from gateway.base.imports import Imports
from gateway.base.suggest import did_you_mean
from gateway.config.nesting import cycles
from gateway.config.problems import Problem
from gateway.config.root import Config
from gateway.config.teams import ComponentTeam, DemoTeam, FactoryTeam, GroupTeam
from gateway.config.toml import KeyPath
from gateway.references.groups import GroupChecker
from gateway.references.lookup import Lookup, known
from teams.models.openai import OpenAIClientConfigurationConfigModel

PROVIDERS = ("openai", "demo", "auto")


def check_references(config: Config, written: Mapping[str, Any], imports: Imports) -> list[Problem]:
    """Names and import paths that lead nowhere, and hand-offs to nobody.

    A name counts as known if `written`, the data as it stands in the file, has it: what is wrong
    with the thing itself is reported where it is written.
    """
    return list(_Checker(Lookup(config, written, imports)).check())


class _Checker:
    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._config = lookup.config

    def check(self) -> Iterator[Problem]:
        config = self._config
        yield from self._lookup.team(("default_team",), config.default_team)
        yield from self._lookup.model(("default_model",), config.default_model)
        for name, model in config.models.items():
            path: KeyPath = ("models", name)
            named = model.model or self._lookup.written(*path, "model")
            if model.provider in ("openai", "auto") and not named:
                yield Problem(path=(*path, "model"), text="is missing")
            if ":" in model.provider:
                yield from self._lookup.function((*path, "provider"), model.provider)
            else:
                yield from known((*path, "provider"), model.provider, PROVIDERS, "a provider")
                yield from _options((*path, "options"), model.options)
        yield from self._routes()
        yield from self._budgets()
        for name, team in config.teams.items():
            path = ("teams", name)
            match team:
                case GroupTeam():
                    yield from GroupChecker(self._lookup, path, team).check()
                case DemoTeam():
                    yield from self._lookup.model((*path, "model"), team.model)
                case ComponentTeam():
                    yield from self._component(path, team)
                case FactoryTeam():
                    yield from self._lookup.function((*path, "factory"), team.factory)
                    yield from self._lookup.model((*path, "model"), team.model)
                case _:
                    assert_never(team)
        yield from cycles(config.teams)

    def _routes(self) -> Iterator[Problem]:
        """Routes and tools' cases with unknown platforms or teams."""
        adapters = self._lookup.names("adapters") or list(self._config.adapters)
        for at, route in enumerate(self._config.routes):
            path: KeyPath = ("routes", at)
            yield from known((*path, "adapter"), route.adapter, adapters, "a key of [adapters]")
            yield from self._lookup.team((*path, "team"), route.team)
        for at, channel in enumerate(self._config.policies.approvals):
            platform, path = channel.partition(":")[0], ("policies", "approvals", at)
            yield from known(path, platform, adapters, "a channel of a platform in [adapters]")
        for tool, policy in self._config.policies.tools.named().items():
            for at, case in enumerate(policy.cases):
                for n, team in enumerate(case.teams):
                    path = ("policies", "tools", tool, "cases", at, "teams", n)
                    yield from self._lookup.team(path, team)

    def _budgets(self) -> Iterator[Problem]:
        """Budgets with unknown teams or without prices."""
        config = self._config
        for at, budget in enumerate(config.budgets):
            for n, name in enumerate(budget.only if budget.per == "team" else ()):
                yield from self._lookup.team(("budgets", at, "only", n), name)
        if not any(budget.cost for budget in config.budgets):
            return
        for name, model in config.models.items():
            if model.model and model.provider != "demo" and model.model not in config.prices:
                text = f"a budget limits the cost, and [prices] does not say that of {model.model}"
                yield Problem(path=("models", name, "model"), text=text)

    def _component(self, path: KeyPath, team: ComponentTeam) -> Iterator[Problem]:
        try:
            json.loads(team.component.read_text(encoding="utf-8"))
        except OSError as error:
            text = f"cannot read {team.component}: {error.strerror}"
            yield Problem(path=(*path, "component"), text=text)
        except ValueError as error:
            text = f"{team.component} is not JSON: {error}"
            yield Problem(path=(*path, "component"), text=text)
        for tool, target in team.tool_overrides.items():
            yield from self._lookup.function((*path, "tool_overrides", tool), target)


def _options(path: KeyPath, options: dict[str, Any]) -> Iterator[Problem]:
    """Settings that the OpenAI client refuses.

    The demo model takes and ignores the same.
    """
    known = OpenAIClientConfigurationConfigModel.model_fields
    try:
        OpenAIClientConfigurationConfigModel.model_validate({"model": "any", **options})
    except ValidationError as error:
        for details in error.errors():
            place: KeyPath = (*path, *details["loc"])
            if details["type"] == "extra_forbidden":
                name = str(details["loc"][-1])
                hint = did_you_mean(name, known) or "anything the API takes can stand in extra_body"
                yield Problem(path=place, text=f"there is no option {name!r}; {hint}")
            else:
                yield Problem(path=place, text=f"{details['msg']}, found {details['input']!r}")
