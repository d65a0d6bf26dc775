"""Adapters' tables of a config, checked by the adapters themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

from pydantic import create_model

from gateway.adapter import Adapter, NameSearch, SettingsCheck
from gateway.app.find_adapters import AdapterError, adapter_names, find_adapter
from gateway.config.powers import platform_of
from gateway.config.problems import Problem
from gateway.config.table import AdapterSection
from gateway.config.toml import KeyPath
from gateway.config.validation import validate
from gateway.conversation import LOCAL
from gateway.references.routes import Platforms
from gateway.values import value
from teams.kinds import Section

_ACCOUNT = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}")
UNFIT = (
    "{name!r} can't be the name of an account on {platform}: expected letters, digits, - and _, at "
    "most 32, and no other platform's name"
)


@value
class AdapterSettings:
    """A table of [adapters], and what makes an adapter of it."""

    name: str
    platform: str
    config: AdapterSection
    build: Callable[[Any], Adapter]
    check: SettingsCheck | None = None
    people_named: NameSearch | None = None

    def adapter(self) -> Adapter:
        """A new adapter with these settings. Raises AdapterError."""
        made = self.build(self.config)
        if made.name != self.name:
            raise AdapterError(
                f"The adapter of {self.platform} serves one account, [adapters.{made.name}]; "
                f"[adapters.{self.name}] is another one."
            )
        return made


@value
class ReadAdapters:
    """Valid tables of [adapters], the types of all, and mistakes."""

    settings: Mapping[str, AdapterSettings]
    platforms: Platforms
    problems: list[Problem]


def read_adapters(
    tables: Mapping[str, dict[str, Any]],
    written: Mapping[str, Any],
    folder: Path,
    known: Iterable[KeyPath] = (),
) -> ReadAdapters:
    """The settings of every platform, and what is wrong with them.

    `written` is [adapters] as it stands in the file; places in `known` were reported before.
    """
    problems: list[Problem] = []
    found: dict[str, Any] = {}
    platforms = {name: platform_of(name, table) for name, table in tables.items()}
    for name, platform in platforms.items():
        try:
            found[name] = _resolve(name, platform)
        except AdapterError as error:
            problems.append(Problem(path=("adapters", name), text=str(error)))
    read = Platforms(
        kinds={platforms[name]: module.Config for name, module in found.items()},
        accounts={name: platforms[name] for name in found},
    )
    if not found:
        return ReadAdapters(settings={}, platforms=read, problems=problems)
    fields: dict[str, Any] = {name: (module.Config | None, None) for name, module in found.items()}
    whole = create_model("Adapters", __base__=Section, **fields)
    data = {name: tables[name] for name in found}
    checked = validate(whole, data, written=dict(written), folder=folder, known=known)
    problems += [
        Problem(path=("adapters", *each.path), text=each.text) for each in checked.problems
    ]
    settings = {
        name: AdapterSettings(
            name=name,
            platform=platforms[name],
            config=config.named(name),
            build=module.build,
            check=getattr(module, "check", None),
            people_named=getattr(module, "people_named", None),
        )
        for name, module in found.items()
        if (config := getattr(checked.value, name)) is not None
    }
    problems += _shared(settings)
    return ReadAdapters(settings=settings, platforms=read, problems=problems)


def _resolve(name: str, platform: str) -> Any:
    """The module of an account's platform, with Config and build. Raises AdapterError."""
    module = find_adapter(platform)
    kind: Any = getattr(module, "Config", None)
    is_table = isinstance(kind, type) and issubclass(kind, AdapterSection)
    if not (is_table and callable(getattr(module, "build", None))):
        raise AdapterError(f"{platform!r} is not a chat platform that Parley can serve")
    if name != platform and (not _ACCOUNT.fullmatch(name) or name in (LOCAL, *adapter_names())):
        raise AdapterError(UNFIT.format(name=name, platform=platform))
    return module


def _shared(settings: Mapping[str, AdapterSettings]) -> Iterator[Problem]:
    """Bots and ports that two accounts have."""
    for before, each in combinations(settings.values(), 2):
        both = {*each.config.app_ids} & {*before.config.app_ids}
        if both and each.platform == before.platform:
            text = f"found the {min(both)} of [adapters.{before.name}], expected one of its own"
            yield Problem(path=("adapters", each.name), text=text)
        if (at := each.config.listens_at) and at[1] and at == before.config.listens_at:
            text = f"found {at[1]} as in [adapters.{before.name}], expected a port of its own"
            yield Problem(path=("adapters", each.name, "port"), text=text)
