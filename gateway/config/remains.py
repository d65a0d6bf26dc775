"""The data of a config without its unusable parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from gateway.config.problems import value_at
from gateway.config.toml import KeyPath

_REFERENCES = ("_env", "_file")


class Remains:
    """Data from which wrong parts are taken out, one after the other.

    Items of lists go alone. `in_file` gives those that stay the numbers that they have in the file.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        self._data = data
        self._gone: set[KeyPath] = set()
        self._causes: set[KeyPath] = set()
        self._meant: dict[KeyPath, str] = {}
        """Right names of misspelt keys, by their paths in the file."""
        self._numbers: dict[KeyPath, list[int]] = {}

    def data(self) -> dict[str, Any]:
        """All that is left."""
        self._numbers = {}
        return {} if () in self._gone else cast("dict[str, Any]", self._left(self._data, ()))

    def in_file(self, path: KeyPath) -> KeyPath:
        """The file's path for a path in the data that is left."""
        return self._in_file(path, self._numbers)

    def _in_file(self, path: KeyPath, kept: Mapping[KeyPath, list[int]]) -> KeyPath:
        misspelt: dict[KeyPath, KeyPath] = {
            (*wrong[:-1], right): wrong for wrong, right in self._meant.items()
        }
        found: KeyPath = ()
        for part in path:
            numbers = kept.get(found, ())
            known = isinstance(part, int) and part < len(numbers)
            found = (*found, numbers[cast("int", part)] if known else part)
            found = misspelt.get(found, found)
        return found

    def remove(self, paths: Iterable[KeyPath]) -> None:
        """Take out the values at the paths, or those around them.

        There always is something, so that repeated checks come to an end. Two things that one table
        lacks take out that table, and no more.
        """
        now: set[KeyPath] = set()
        for path in paths:
            while path and (path in self._gone or not self._has(path)):
                path = path[:-1]
            now.add(path)
        self._gone |= now

    def blame(self, path: KeyPath) -> None:
        """Remember a cause; its consequences are no mistakes of their own."""
        self._causes.add(path)
        name = path[-1] if path else ""
        for end in _REFERENCES:
            if isinstance(name, str) and name.endswith(end):
                self._causes.add((*path[:-1], name.removesuffix(end)))

    def rename(self, path: KeyPath, meant: str) -> bool:
        """Take a misspelt key for the right one, unless that is there."""
        right = (*path[:-1], meant)
        if path in self._meant or self._has(right) or self.in_file(right) != right:
            return False
        self._meant[path] = meant
        return True

    def is_cause(self, path: KeyPath) -> bool:
        """True if just this was wrong already."""
        return path in self._causes

    def is_known(self, path: KeyPath) -> bool:
        """True if this, or something inside it, was wrong already."""
        return any(cause[: len(path)] == path for cause in self._causes)

    def follows(self, table: KeyPath, keys: Iterable[str | tuple[str, ...]]) -> bool:
        """True if one of these keys of a table was wrong already."""
        inside = (key if isinstance(key, tuple) else (key,) for key in keys)
        return any(self.is_known((*table, *key)) for key in inside)

    def as_meant(self, written: Mapping[str, Any]) -> dict[str, Any]:
        """The file's tables, with misspelt keys under the names that were meant."""
        return cast("dict[str, Any]", self._renamed(dict(written), ()))

    def removed_tables(self, key: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """Tables that were taken out of a list, with their numbers."""
        items: object = self.as_meant(self._data).get(key)
        tables = cast("list[object]", items) if isinstance(items, list) else []
        for at, item in enumerate(tables):
            if (key, at) in self._gone and isinstance(item, dict):
                yield at, cast("dict[str, Any]", item)

    def misspelt(self, path: KeyPath) -> KeyPath:
        """The path with names as the file spells them."""
        return self._in_file(path, {})

    def _has(self, path: KeyPath) -> bool:
        try:
            value_at(self._data, path)
        except LookupError:
            return False
        return True

    def _left(self, value: Any, path: KeyPath) -> Any:
        match value:
            case dict():
                table = cast("dict[str, Any]", value)
                return {
                    self._meant.get((*path, key), key): self._left(each, (*path, key))
                    for key, each in table.items()
                    if (*path, key) not in self._gone
                }
            case list():
                items = cast("list[Any]", value)
                kept = [at for at in range(len(items)) if (*path, at) not in self._gone]
                self._numbers[path] = kept
                return [self._left(items[at], (*path, at)) for at in kept]
            case _:
                return value

    def _renamed(self, value: Any, path: KeyPath) -> Any:
        match value:
            case dict():
                table = cast("dict[str, Any]", value)
                return {
                    self._meant.get((*path, key), key): self._renamed(each, (*path, key))
                    for key, each in table.items()
                }
            case list():
                items = cast("list[Any]", value)
                return [self._renamed(each, (*path, at)) for at, each in enumerate(items)]
            case _:
                return value
