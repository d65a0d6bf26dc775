"""The base of all tables: strict fields, secrets and shorthands."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from string import Formatter
from typing import Annotated, Any, ClassVar, cast, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    SecretStr,
    ValidationInfo,
    model_validator,
)
from pydantic_core import PydanticCustomError

from gateway.base.suggest import did_you_mean

# What is shown of a wrong reference to a secret: nothing that may be the secret itself.
_VARIABLE = re.compile(r"[A-Z]{1,20}|(?=.{1,64}$)[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_KEY = re.compile(r"[^/.]{16,}|(?:sk|xox.|xapp)-.*")


class Section(BaseModel):
    """One table.

    Each of its secrets may be given as NAME, NAME_env (a variable) or NAME_file.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, validate_default=False
    )

    strangers_add_it: ClassVar[bool] = False
    """True for a platform where anybody may add the bot to a workspace of their own.

    Its routes for `users = "members"` have to name their workspaces.
    """

    @model_validator(mode="before")
    @classmethod
    def _read_secrets(cls, data: Any, info: ValidationInfo) -> Any:
        if not isinstance(data, Mapping):
            return data
        table = dict(cast("Mapping[str, Any]", data))
        for name in cls.secrets():
            for key, read in ((f"{name}_env", _from_environment), (f"{name}_file", _from_file)):
                if key in table:
                    value = read(key, table.pop(key), info)
                    if name in table:
                        raise setting_error(
                            key, f"gives {name} a second time; keep one of the settings"
                        )
                    table[name] = value
        return table

    @classmethod
    def secrets(cls) -> list[str]:
        """The names of the fields that hold a secret."""
        return [
            name
            for name, field in cls.model_fields.items()
            if SecretStr in (field.annotation, *get_args(field.annotation))
        ]

    @classmethod
    def settings(cls) -> list[str]:
        """Every key the table may have."""
        references = [f"{name}_{kind}" for name in cls.secrets() for kind in ("env", "file")]
        names = [field.alias or name for name, field in cls.model_fields.items()]
        return [*names, *references]


def config_folder(info: ValidationInfo) -> Path:
    """The folder that relative paths of the config are based on."""
    context = cast("Mapping[str, Any]", info.context or {})
    return cast("Path", context.get("folder") or Path.cwd())


def _based_on_folder(path: Path, info: ValidationInfo) -> Path:
    return config_folder(info) / path.expanduser()


ConfigPath = Annotated[Path, AfterValidator(_based_on_folder)]
"""A path; `~` is the home folder, and a relative one starts at the config file's folder."""


def shorthand(field: str) -> BeforeValidator:
    """Let a text stand for a table with only this field."""

    def expand(value: object) -> object:
        return {field: value} if isinstance(value, str) else value

    return BeforeValidator(expand)


def tag_of(key: str, default: str = "") -> Callable[[Any], str | None]:
    """Tell the members of a tagged union by the text under `key`."""

    def tag(value: object) -> str | None:
        found: object = default
        if isinstance(value, Mapping):
            found = cast("Mapping[str, object]", value).get(key, default)
        elif isinstance(value, BaseModel):
            found = getattr(value, key, default)
        return found if isinstance(found, str) and found else None

    return tag


def tag_by(*keys: str, or_type: bool = False) -> Callable[[Any], str | None]:
    """Tell members of a union by one of the keys, or `type`."""
    by_type = tag_of("type")

    def tag(value: object) -> str | None:
        given: object = value
        if isinstance(value, BaseModel):
            given = type(value).model_fields
        for key in keys:
            if isinstance(given, Mapping) and key in given:
                return key
        return by_type(value) if or_type else None

    return tag


def template(*fields: str) -> AfterValidator:
    """Let a text have these fields in braces, and no others."""

    def check(text: str) -> str:
        known = ", ".join(f"{{{field}}}" for field in fields)
        try:
            found = {field for _, field, _, _ in Formatter().parse(text) if field is not None}
        except ValueError as error:
            raise ValueError(
                f"expected a text with {known}: {error}; for a plain brace, write it twice"
            ) from error
        for field in sorted(found - {*fields}):
            hint = did_you_mean(field, fields) or f"known are {known}"
            raise ValueError(
                f"there is no field {{{field}}}; {hint} (for a plain brace, write it twice)"
            )
        return text

    return AfterValidator(check)


def _from_environment(key: str, variable: object, _: ValidationInfo) -> str:
    if not isinstance(variable, str) or not variable:
        raise setting_error(key, "expected the name of an environment variable")
    if value := os.environ.get(variable):
        return value
    if _VARIABLE.fullmatch(variable):
        raise setting_error(key, f"the environment variable {variable} is not set")
    raise setting_error(
        key,
        "no environment variable has this name. It is not shown, as it may be a secret: put the "
        f"secret into a variable, and the variable's name here, such as {key.upper()[:-4]}",
    )


def _from_file(key: str, name: object, info: ValidationInfo) -> str:
    if not isinstance(name, str) or not name:
        raise setting_error(key, "expected the path of a file")
    path = _based_on_folder(Path(name), info)
    try:
        value = path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        shown = "the file, whose name may be a secret" if _KEY.fullmatch(name) else path
        raise setting_error(key, f"cannot read {shown}: {reason}") from error
    if not value:
        raise setting_error(key, f"{path} is empty")
    return value


def setting_error(key: str, problem: str) -> PydanticCustomError:
    """A mistake in one key of the table that is being read."""
    return PydanticCustomError("setting", "{problem}", {"key": key, "problem": problem})
