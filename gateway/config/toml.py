"""A TOML reader with lines of keys and `${VARIABLE}` in texts."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

KeyPath: TypeAlias = "tuple[str | int, ...]"

_VARIABLE = re.compile(r"\$?\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_TOKEN = re.compile(
    r"""
    (?P<skip>  [^\S\n]+ | \#[^\n]* )
  | (?P<line>  \n )
  | (?P<text>  \"\"\"(?:[^\\]|\\.)*?\"{3,5} | '''.*?'{3,5} | "(?:[^"\\\n]|\\.)*" | '[^'\n]*' )
  | (?P<sign>  [][{},=.] )
  | (?P<bare>  [^][{},=.\s"'\#]+ )
    """,
    re.VERBOSE | re.DOTALL,
)


DEEPEST = 50
"""Levels of tables and lists in a config; no setting needs more than about ten."""

LARGEST = 2**63


def read_toml(text: str) -> dict[str, Any]:
    """The tables of a text.

    Raises ValueError for what is not valid TOML, has a number of more than 64 bits, or is too deep
    for recursion.
    """
    try:
        table = tomllib.loads(text)
        level: list[Any] = [table]
    except RecursionError:
        table, level = {}, [None]
    else:
        for _ in range(DEEPEST):
            level = [inner for each in level for inner in _inside(each)]
            if any(type(each) is int and not -LARGEST <= each < LARGEST for each in level):
                raise ValueError("a number has more than 64 bits")
    if level:
        raise ValueError(f"tables or lists are nested more than {DEEPEST} levels deep")
    return table


def _inside(value: Any) -> Iterable[Any]:
    match value:
        case dict():
            return cast("dict[str, Any]", value).values()
        case list():
            return cast("list[Any]", value)
        case _:
            return ()


def substitute(data: Any, missing: Callable[[KeyPath, str], None], path: KeyPath = ()) -> Any:
    """The data with `${NAME}` replaced from the environment.

    `$${` becomes `${`.

    `missing` is told where a variable that is not set stands; its text is left as it is.
    """
    match data:
        case str():

            def value(found: re.Match[str]) -> str:
                if found[0].startswith("$$"):
                    return found[0][1:]
                if (text := os.environ.get(found[1])) is None:
                    missing(path, found[1])
                    return found[0]
                return text

            return _VARIABLE.sub(value, data)
        case dict():
            table = cast("dict[str, Any]", data)
            return {key: substitute(each, missing, (*path, key)) for key, each in table.items()}
        case list():
            items = cast("list[Any]", data)
            return [substitute(each, missing, (*path, at)) for at, each in enumerate(items)]
        case _:
            return data


def variables_in(data: Any) -> Iterator[str]:
    """Names of the variables that texts of the data refer to."""
    match data:
        case str():
            yield from (name for name in _VARIABLE.findall(data))
        case dict():
            for each in cast("dict[str, Any]", data).values():
                yield from variables_in(each)
        case list():
            for each in cast("list[Any]", data):
                yield from variables_in(each)
        case _:
            pass


def locate(text: str) -> dict[KeyPath, int]:
    """The line of each key and list item of valid TOML.

    Tables are at their first line.
    """
    return _Locator(text).locate()


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    line: int


class _Locator:
    """A walk over the tokens of a valid text, without checks."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._next = 0
        self._lines: dict[KeyPath, int] = {}
        self._counts: dict[KeyPath, int] = {}

    def locate(self) -> dict[KeyPath, int]:
        table: KeyPath = ()
        while (token := self._peek()).kind != "end":
            if token.kind == "line":
                self._next += 1
            elif token.text == "[" and token.kind == "sign":
                table = self._header()
            else:
                self._pair(table)
        return self._lines

    def _header(self) -> KeyPath:
        line = self._advance().line
        is_list = self._accept("[")
        keys = self._keys()
        self._next += 2 if is_list else 1
        path: KeyPath = ()
        for key in keys[:-1]:
            path = self._last_item((*path, key))
            self._lines.setdefault(path, line)
        path = (*path, keys[-1])
        self._lines.setdefault(path, line)
        if is_list:
            self._counts[path] = self._counts.get(path, -1) + 1
            path = (*path, self._counts[path])
            self._lines.setdefault(path, line)
        return path

    def _last_item(self, path: KeyPath) -> KeyPath:
        return (*path, self._counts[path]) if path in self._counts else path

    def _pair(self, table: KeyPath) -> None:
        line = self._peek().line
        path = table
        for key in self._keys():
            path = (*path, key)
            self._lines.setdefault(path, line)
        self._accept("=")
        self._value(path)

    def _value(self, path: KeyPath) -> None:
        if self._accept("["):
            self._items(path)
        elif self._accept("{"):
            while not self._accept("}"):
                self._skip_lines()
                if self._peek().text != "}":
                    self._pair(path)
                self._accept(",")
                self._skip_lines()
        else:
            while self._peek().kind != "line" and self._peek().text not in {",", "]", "}", ""}:
                self._next += 1

    def _items(self, path: KeyPath) -> None:
        at = 0
        self._skip_lines()
        while not self._accept("]"):
            self._lines[*path, at] = self._peek().line
            self._value((*path, at))
            at += 1
            self._skip_lines()
            self._accept(",")
            self._skip_lines()

    def _keys(self) -> list[str]:
        keys = [self._key()]
        while self._accept("."):
            keys.append(self._key())
        return keys

    def _key(self) -> str:
        token = self._advance()
        if token.kind == "text":
            return cast("str", tomllib.loads(f"key = {token.text}")["key"])
        return token.text

    def _skip_lines(self) -> None:
        while self._peek().kind == "line":
            self._next += 1

    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _advance(self) -> _Token:
        self._next += 1
        return self._tokens[self._next - 1]

    def _accept(self, sign: str) -> bool:
        found = self._peek().kind == "sign" and self._peek().text == sign
        self._next += found
        return found


def _tokens(text: str) -> Iterator[_Token]:
    line = 1
    for found in _TOKEN.finditer(text):
        kind = found.lastgroup or ""
        if kind != "skip":
            yield _Token(kind, found[0], line)
        line += found[0].count("\n")
    yield _Token("end", "", line)
