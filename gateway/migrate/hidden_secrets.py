"""Texts like secrets, taken out of tables before they are written."""

from __future__ import annotations

import re
from typing import Any, cast

from gateway.base.redaction import HIDDEN, names_secret, without_tokens
from gateway.migrate.fields import Report

_SPACE = re.compile(r"\s")
_SETTING = re.compile(r"(?P<name>[\w-]+)=(?P<value>[^&\s]+)")


def hide_secrets(value: Any, path: str, report: Report) -> Any:
    """The value without secrets; each place is reported."""
    match value:
        case str():
            hidden = _hide(value)
            if hidden != value:
                report.lose(path, "what looks like a secret; name a variable there: ${NAME}")
            return hidden
        case dict():
            return {
                key: _hide_named(key, each, f"{path}.{key}" if path else key, report)
                for key, each in cast("dict[str, Any]", value).items()
            }
        case list():
            items = cast("list[Any]", value)
            names = ["", *map(_option, items)]
            named = enumerate(zip(names, items, strict=False))
            return [_hide_named(name, item, f"{path}[{at}]", report) for at, (name, item) in named]
        case _:
            return value


def _hide_named(name: str, value: Any, path: str, report: Report) -> Any:
    """The value of a setting, or the word after an option."""
    if isinstance(value, str) and _is_secret(name, value):
        report.lose(path, "what looks like a secret; name a variable there: ${NAME}")
        return HIDDEN
    return hide_secrets(value, path, report)


def _hide(text: str) -> str:
    def hide(found: re.Match[str]) -> str:
        named = _is_secret(found["name"], found["value"])
        return f"{found['name']}={HIDDEN}" if named else found[0]

    bare = without_tokens(text)
    return bare if _SPACE.search(text) else _SETTING.sub(hide, bare)  # prose may say "key=value"


def _option(word: Any) -> str:
    """The name of the option that a word is, or ""."""
    return word.lstrip("-") if isinstance(word, str) and word.startswith("-") else ""


def _is_secret(name: str, value: str) -> bool:
    """True for the value of a setting called like a secret."""
    return names_secret(name.replace("-", "_")) and not value.startswith("${")
