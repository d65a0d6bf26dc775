"""Types of settings: members of unions, types at paths."""

from __future__ import annotations

from collections.abc import Mapping
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from pydantic import Tag
from pydantic.fields import FieldInfo

from gateway.config.descriptions import described_fields
from gateway.config.toml import KeyPath
from teams.kinds import KindsOf, Section


def type_at(kind: Any, location: KeyPath) -> tuple[KeyPath, Any, FieldInfo | None]:
    """Pydantic's location without unions' tags, and the expected type with its setting."""
    path: KeyPath = ()
    field: FieldInfo | None = None
    for part in location:
        members = members_of(kind)
        if len(members) > 1 and part in members:
            kind = members[part]
        else:
            path = (*path, part)
            parent = single(kind)
            if isinstance(parent, type) and issubclass(parent, Section):
                field = described_fields(parent).get(str(part))
            kind = _child(parent, part)
    return path, single(kind), field


def members_of(kind: Any) -> Mapping[Any, Any]:
    """The types of a union by tag; others under ""."""
    if isinstance(kind, KindsOf):
        return kind.members
    if get_origin(kind) is Annotated:
        base, *metadata = get_args(kind)
        for each in metadata:
            if isinstance(each, KindsOf):
                return each.members
        tags = [each.tag for each in metadata if isinstance(each, Tag)]
        return {tags[0]: base} if tags else members_of(base)
    if get_origin(kind) in (Union, UnionType):
        given = [each for each in get_args(kind) if each is not type(None)]
        if len(given) == 1:
            return members_of(given[0])
        return {tag: each for member in given for tag, each in members_of(member).items()}
    return {"": kind}


def single(kind: Any) -> Any:
    """The type without wrappers, unless it is a union of several."""
    members = members_of(kind)
    return next(iter(members.values())) if len(members) == 1 else kind


def settings_of(kind: Any) -> list[str]:
    """The keys that a table may have; none for another type."""
    return kind.settings() if isinstance(kind, type) and issubclass(kind, Section) else []


def tag_keys(union: Any) -> list[str]:
    """The keys by one of which a table names its union's member."""
    members = members_of(union)
    keys = [str(tag) for tag, kind in members.items() if not _has_type(kind)]
    return keys if len(keys) == len(members) else ["type", *keys]


def kinds_text(union: Any) -> str:
    """The ways in which a table names its union's member, in words."""
    members = members_of(union)
    types = [repr(tag) for tag, kind in members.items() if _has_type(kind)]
    types += map(repr, plugin_names(union))
    keys = [repr(tag) for tag, kind in members.items() if not _has_type(kind)]
    if not types:
        return f"the key {_any_of(keys)}"
    return f"type = {_any_of(types)}" + (f", or the key {_any_of(keys)}" if keys else "")


def plugin_names(union: Any) -> list[str]:
    """The names of installed kinds that a setting takes, too."""
    if isinstance(union, KindsOf):
        return list(union.plugins)
    return [name for each in get_args(union) for name in plugin_names(each)]


def _any_of(names: list[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def _has_type(kind: Any) -> bool:
    return "type" in settings_of(kind)


def _child(kind: Any, part: str | int) -> Any:
    """The type of a table's key or of a list's items."""
    if isinstance(kind, type) and issubclass(kind, Section):
        field = kind.model_fields.get(str(part))
        return annotation_of(field) if field else _free_child(kind)
    return arguments[-1] if (arguments := get_args(kind)) else object


def annotation_of(field: FieldInfo) -> Any:
    """The type of a setting, or its family of kinds."""
    return next((each for each in field.metadata if isinstance(each, KindsOf)), field.annotation)


def _free_child(kind: type[Section]) -> Any:
    """The type of keys that a table has no setting for."""
    if kind.model_config.get("extra") != "allow":
        return object
    hints = get_type_hints(kind, include_extras=True)
    return get_args(hints["__pydantic_extra__"])[-1]
