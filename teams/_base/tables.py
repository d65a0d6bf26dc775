"""Tables of config.toml: strict fields, secrets, shorthands and mistakes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, cast, get_args

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationInfo,
    model_validator,
)
from pydantic_core import PydanticCustomError

# What is shown of a wrong reference to a secret: nothing that may be the secret itself.
_VARIABLE = re.compile(r"[A-Z]{1,20}|(?=.{1,64}$)[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_KEY = re.compile(r"[^/.]{16,}|(?:sk|xox.|xapp)-.*")
# Instead of a secret: copied from a page that hides it, or from instructions.
_STANDS_FOR = re.compile(
    r"(?:[a-z]+-)*[*•●·x.…]{3,}|.*(?:\*{3}|•{2}|●{2}|\.{3}|…).*|<.*>|(?:xox[bp]|xapp|sk)-?"
    r"|your[ _-].*|.*[ _-]here|change[ _-]?me",
    re.IGNORECASE,
)


class Section(BaseModel):
    """One table.

    Each of its secrets may be given as NAME, NAME_env (a variable) or NAME_file.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=False)

    @model_validator(mode="before")
    @classmethod
    def _read_secrets(cls, data: Any, info: ValidationInfo) -> Any:
        if not isinstance(data, Mapping):
            return data
        table = dict(cast("Mapping[str, Any]", data))
        if not cast("Mapping[str, Any]", info.context or {}).get("secrets", True):
            kept = {f"{name}{end}" for name in cls.secrets() for end in ("", "_env", "_file")}
            return {key: value for key, value in table.items() if key not in kept}
        wrong: list[SettingMistake] = []
        for name in cls.secrets():
            for key, read in ((f"{name}_env", _from_environment), (f"{name}_file", _from_file)):
                if key not in table:
                    continue
                try:
                    value = _real(read(key, table.pop(key), info))
                except _Unusable as error:
                    wrong.append(SettingMistake((key,), str(error)))
                    continue
                if name in table:
                    said = f"found {name} beside it, expected one of the two"
                    wrong.append(SettingMistake((key,), said))
                table.setdefault(name, value)
            if isinstance(given := table.get(name), str) and name in data:
                try:
                    _real(given)
                except _Unusable as error:
                    wrong.append(SettingMistake((name,), f'{error}, or give {name}_env = "NAME"'))
        if wrong:
            raise setting_errors(wrong)
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
        names = [each for name in cls.model_fields for each in cls.names_of(name)]
        return [*names, *references]

    @classmethod
    def names_of(cls, name: str) -> list[str]:
        """The names under which the table may have a field."""
        field = cls.model_fields[name]
        if isinstance(field.validation_alias, AliasChoices):
            return [each for each in field.validation_alias.choices if isinstance(each, str)]
        return [field.alias or name]


def config_folder(info: ValidationInfo) -> Path:
    """The folder that relative paths of the config are based on."""
    context = cast("Mapping[str, Any]", info.context or {})
    return cast("Path", context.get("folder") or Path.cwd())


def _based_on_folder(path: Path, info: ValidationInfo) -> Path:
    return config_folder(info) / path.expanduser()


Method: TypeAlias = Literal["GET", "POST", "PUT", "DELETE", "PATCH"]
"""Methods of HTTP requests."""

Secret = Annotated[SecretStr, Field()]
"""The value of a table whose names are free."""

ConfigPath = Annotated[Path, AfterValidator(_based_on_folder)]
"""A path; `~` is the home folder, and a relative one starts at the config file's folder."""


def shorthand(field: str) -> BeforeValidator:
    """Let a text stand for a table with only this field."""

    def expand(value: object) -> object:
        return {field: value} if isinstance(value, str) else value

    vars(expand)["shorthand"] = field
    return BeforeValidator(expand)


def shorthand_of(function: object) -> str:
    """The field that a shorthand's function stands for; "" for another one."""
    return getattr(function, "shorthand", "")


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


def _from_environment(key: str, variable: object, _: ValidationInfo) -> str:
    if not isinstance(variable, str) or not variable:
        example = key.upper()[:-4]
        raise _Unusable(f"expected the name of an environment variable, such as {example!r}")
    if value := os.environ.get(variable):
        return value
    if _VARIABLE.fullmatch(variable):
        state = "is not set" if variable not in os.environ else "is empty"
        raise _Unusable(
            f"the environment variable {variable} {state}; set it where Parley starts, as with "
            f"`export {variable}=...`"
        )
    raise _Unusable(
        "no environment variable has this name. It is not shown, as it may be a secret: put the "
        f"secret into a variable, and the variable's name here, such as {key.upper()[:-4]}",
    )


def _from_file(key: str, name: object, info: ValidationInfo) -> str:
    if not isinstance(name, str) or not name:
        raise _Unusable("expected the path of a file that holds the secret alone")
    path = _based_on_folder(Path(name), info)
    try:
        value = path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        shown = "the file, whose name may be a secret" if _KEY.fullmatch(name) else path
        raise _Unusable(f"cannot read {shown}: {reason}") from error
    if not value:
        raise _Unusable(f"{path} is empty; it has to hold the secret")
    return value


def _real(secret: str) -> str:
    """The secret. Raises _Unusable for an empty or a masked one."""
    if not secret.strip():
        raise _Unusable("found an empty text, expected the secret itself; paste it")
    if _STANDS_FOR.fullmatch(secret.strip()):
        raise _Unusable(
            "found what stands for a secret, such as asterisks or YOUR_TOKEN, expected the secret "
            "itself; copy it where it is shown in full"
        )
    return secret


class _Unusable(Exception):
    """A secret that can't be had, with the reason."""


class SettingMistake(NamedTuple):
    """A mistake in one key of a table.

    It is not reported if one of the keys in `given` was wrong already: it would only follow.
    """

    key: tuple[str | int, ...]
    problem: str
    given: tuple[str | tuple[str, ...], ...] = ()


def setting_error(key: str, problem: str, *, given: Iterable[str] = ()) -> PydanticCustomError:
    """A mistake in one key of the table that is being read."""
    return setting_errors([SettingMistake((key,), problem, tuple(given))])


def setting_errors(mistakes: Iterable[SettingMistake]) -> PydanticCustomError:
    """Mistakes in keys of the table that is being read."""
    found = tuple(mistakes)
    said = "; ".join(f"{each.key[0]}: {each.problem}" for each in found)
    return PydanticCustomError("setting", "{said}", {"said": said, "mistakes": found})
