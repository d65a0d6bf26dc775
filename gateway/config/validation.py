"""A check of the tables against their types, with readable mistakes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from gateway.config.mistakes import Mistake
from gateway.config.problems import Problem
from gateway.config.remains import Remains
from gateway.config.toml import KeyPath
from teams.kinds import Section, SettingMistake

S = TypeVar("S", bound=Section)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked(Generic[S]):
    """A config's valid parts, its mistakes, and the rest of its file."""

    value: S
    problems: list[Problem]
    remains: Remains


def validate(
    kind: type[S],
    data: dict[str, Any],
    *,
    written: dict[str, Any],
    folder: Path,
    known: Iterable[KeyPath] = (),
    secrets: bool = True,
    load: Callable[[str], Any] | None = None,
) -> Checked[S]:
    """The data as its type without wrong parts, and the mistakes.

    `written` is the data as it stands in the file, so that no value of a variable is ever shown.
    Places in `known` were reported before. Without `secrets`, none is read. `load` follows import
    paths of kinds.
    """
    problems: list[Problem] = []
    remains = Remains(data)
    context = {"folder": folder, "secrets": secrets} | ({"load": load} if load else {})
    for place in known:
        remains.blame(place)
    while True:
        try:
            text = json.dumps(remains.data(), default=str)
            value = kind.model_validate_json(text, strict=True, context=context)
        except ValidationError as error:
            mistakes = [
                mistake
                for details in error.errors()
                for mistake in _mistakes(kind, details, written, remains)
            ]
        else:
            return Checked(value=value, problems=problems, remains=remains)
        now = _first(mistakes)
        told = [each for each in now if not each.follows(remains)]
        problems += [Problem(path=each.path, text=each.describe()) for each in told]
        remains.remove([each.unusable for each in now if not each.rename(remains)])


def _mistakes(
    root: type[Section], details: ErrorDetails, written: dict[str, Any], remains: Remains
) -> Iterator[Mistake]:
    """One of pydantic's errors, which may stand for several mistakes of ours."""
    if details["type"] != "setting":
        yield Mistake(root, details, written, remains)
        return
    found: tuple[SettingMistake, ...] = details.get("ctx", {})["mistakes"]
    for each in found:
        yield Mistake(root, details, written, remains, each)


def _first(mistakes: list[Mistake]) -> list[Mistake]:
    """The mistakes without those that may only follow from a misspelt name.

    A table's settings are known once its type is; what lacks because of a name, once it is renamed.
    """
    unknown = [each for each in mistakes if each.is_unknown_name]
    return [each for each in unknown if each.means_the_type] or unknown or mistakes
