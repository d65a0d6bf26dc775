"""Tables as the text of a TOML file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

TABLES = frozenset({"models", "teams", "agents", "nodes"})
"""Keys whose values are tables of tables; anything else stands on one line."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_text(tables: Mapping[str, Any]) -> str:
    """The tables as TOML, in their order."""
    return "\n".join(_table((), tables)).strip("\n") + "\n"


def plain(text: str) -> str:
    """The text for a setting, in which `${` would name a variable."""
    return text.replace("${", "$${")


def _table(path: tuple[str, ...], table: Mapping[str, Any]) -> Iterator[str]:
    inner = {key: value for key, value in table.items() if key in TABLES}
    own = {key: value for key, value in table.items() if key not in TABLES}
    if own and path:
        yield f"\n[{'.'.join(map(_key, path))}]"
    for key, value in own.items():
        yield f"{_key(key)} = {_value(value, lines=True)}"
    for key, group in inner.items():
        for name, each in cast("Mapping[str, Any]", group).items():
            yield from _table((*path, key, name), each)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _value(value: Any, *, lines: bool = False) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return _long_text(value) if lines and "\n" in value else _text(value)
        case list():
            items = cast("list[Any]", value)
            if lines and any(isinstance(item, dict) for item in items):
                return "[\n" + "".join(f"  {_value(item)},\n" for item in items) + "]"
            return f"[{', '.join(map(_value, items))}]"
        case dict():
            items = cast("dict[str, Any]", value).items()
            return f"{{ {', '.join(f'{_key(key)} = {_value(item)}' for key, item in items)} }}"
        case _:
            raise TypeError(f"TOML has no {type(value).__name__}.")


def _text(text: str) -> str:
    sound = text.encode("utf-8", "replace").decode()
    return json.dumps(sound, ensure_ascii=False).replace("\x7f", "\\u007F")


def _long_text(text: str) -> str:
    """A text of several lines, which stay lines."""
    return '"""\n' + "\n".join(_text(line)[1:-1] for line in text.split("\n")) + '"""'
