"""Families of kinds, as annotations of settings."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import chain
from typing import Any, ClassVar, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationInfo
from pydantic_core import PydanticKnownError, SchemaValidator, core_schema
from typing_extensions import override

from teams._base.kind_model import ModelKind
from teams._base.kind_names import KINDS, Family
from teams._base.kinds import Agent, Kind, Load, Part, Tool, meanings_of
from teams._base.meanings import Named
from teams._base.plugins import Plugin, load_plugin, plugins_of
from teams._base.tables import Section, setting_error

OTHERS: dict[tuple[Family, str], type[Part]] = {}
"""Declarations of others by what a config has named them with last."""

_BASES: Mapping[Family, type[Part]] = {"agent": Agent, "tool": Tool, "model": ModelKind}


@dataclass(frozen=True, slots=True)
class KindsOf:
    """An annotation: the setting takes a table of any of its kinds.

    `otherwise` is the kind of a table that does not say its own; with `only`, no others are taken.
    """

    family: Family
    otherwise: str = ""
    only: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The key that tells a kind."""
        return _key(self.family)

    def __get_pydantic_core_schema__(self, _source: Any, _handler: Any) -> core_schema.CoreSchema:
        return core_schema.with_info_plain_validator_function(self._checked)

    @property
    def members(self) -> Mapping[str, type[Part]]:
        """The tables by type or key, imported when they are taken."""
        paths = {name: KINDS[self.family][name].path for name in self._names}
        return _Members(paths, None if self.only else self.family)

    @property
    def _names(self) -> Collection[str]:
        return self.only or KINDS[self.family]

    @property
    def plugins(self) -> Mapping[str, Sequence[Plugin]]:
        """Kinds of installed packages by name, none imported."""
        if self.only:
            return {}
        found = plugins_of(self.family).items()
        return {name: plugins for name, plugins in found if name not in self._names}

    def table(self, **settings: Any) -> Any:
        """A table of the family with these settings."""
        tag = self.tag(settings)
        return _validator(tag, self.members[tag]).validate_python(settings)

    def tag(self, value: object) -> str:
        """The type or key that tells the table's kind, or ""."""
        if not isinstance(value, Mapping):
            return ""
        table = cast("Mapping[str, object]", value)
        found = table.get(self.key, self.otherwise)
        given = found if isinstance(found, str) else ""
        if ":" in given:
            return given
        for name, declared in KINDS[self.family].items():
            if declared.by_key and name in table and name in self._names:
                return name
        return given

    def _checked(self, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, BaseModel):
            return value
        tag, load = self.tag(value), cast("Mapping[str, Load]", info.context or {}).get("load")
        if tag in self._names:
            table = self.members[tag]
        elif (":" in tag and not self.only) or tag in self.plugins:
            table = self._foreign(tag, load)
        elif self.family == "model":
            table = ModelKind  # the check of names tells it
        elif tag:
            known = {"discriminator": "type", "tag": tag, "expected_tags": ""}
            raise PydanticKnownError("union_tag_invalid", known)
        else:
            raise PydanticKnownError("union_tag_not_found", {"discriminator": "type"})
        validator = _validator(self.otherwise if table.kind.name == "" else tag, table)
        if info.mode == "python":
            return validator.validate_python(value, context=info.context)
        # As strict as all of the file.
        return validator.validate_json(json.dumps(value), strict=True, context=info.context)

    def _foreign(self, tag: str, load: Load | None) -> type[Part]:
        untold = _UntoldModel if self.family == "model" else _Untold
        if load is None:
            return untold
        try:
            return self.others(tag, load)
        except ValueError as error:
            if self.family == "model":
                return untold  # the check of names tells it
            raise setting_error("type", str(error)) from error

    def others(self, tag: str, load: Load | None = None) -> type[Part]:
        """Import a plugin's kind, or one by its import path. Raises ValueError."""
        found = load(tag) if load and ":" in tag else load_plugin(self.plugins[tag])
        base = _BASES.get(self.family, Part)
        if self.family == "model" and not (isinstance(found, type) and issubclass(found, Part)):
            return ModelKind  # it is a client's class
        table = found if isinstance(found, type) and issubclass(found, base) else None
        kind = getattr(table, "kind", None)
        if table is None or not isinstance(kind, Kind) or kind.family != self.family:
            raise ValueError(f"found {tag!r}, expected a kind of {self.family} that it declares")
        if not isinstance(cast("object", kind.made_by), str):
            said = f"found made_by = {kind.made_by!r}, expected an import path"
            raise ValueError(f"the kind {tag!r}: {said}, 'package.module:Class'")
        try:
            table.model_rebuild()
        except Exception as error:  # it is somebody else's
            said = str(error).partition("\n")[0]
            raise ValueError(f"the settings of {tag!r}: {type(error).__name__}: {said}") from error
        OTHERS[self.family, tag] = table
        return table


class _Untold(Agent, Tool):
    """A table of a kind whose code is not run."""

    kind: ClassVar[Kind] = Kind("agent", "", "")

    model_config = ConfigDict(extra="allow")


class _UntoldModel(ModelKind):
    """A model whose code is not run."""

    model_config = ConfigDict(extra="allow")


class _Members(Mapping[str, type[Part]]):
    def __init__(self, paths: Mapping[str, str], others: Family | None) -> None:
        self._paths = paths
        self._others: Family | None = others

    @override
    def __getitem__(self, name: str) -> type[Part]:
        if name in self._paths:
            return _declared(self._paths[name])
        if self._others is None:
            raise KeyError(name)
        return OTHERS[self._others, name]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    @override
    def __len__(self) -> int:
        return len(self._paths)


@cache
def _declared(path: str) -> type[Part]:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


@cache
def _validator(tag: str, table: type[Section]) -> SchemaValidator:
    """A validator whose mistakes stand under the tag."""
    schema = table.__pydantic_core_schema__
    choice = core_schema.tagged_union_schema({tag: schema}, discriminator=lambda _: tag)
    return SchemaValidator(choice)


def family_of(table: type[Section], setting: str) -> Family | None:
    """The family of the tables that a setting takes."""
    field = table.model_fields[setting]
    inner = [getattr(each, "__metadata__", ()) for each in get_args(field.annotation)]
    found = chain(field.metadata, *inner) if get_origin(field.annotation) is not list else ()
    return next((each.family for each in found if isinstance(each, KindsOf)), None)


def _key(family: Family) -> str:
    return "provider" if family == "model" else "type"


def is_others(table: Part) -> bool:
    """True for a table of somebody's own kind, or a plugin's."""
    return (table.kind.family, getattr(table, _key(table.kind.family), "")) in OTHERS


def needs_part(table: type[Section], setting: str) -> bool:
    """True for a setting whose argument is something that is made."""
    meanings = meanings_of(table)[setting]
    made = any(Named(each) in meanings for each in ("models", "teams", "agents"))
    return made or family_of(table, setting) is not None
