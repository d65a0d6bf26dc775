"""Python modules of a folder, forgotten when their files have changed."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.util import cache_from_source
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

from gateway.base.imports import IMPORTING

OWN = frozenset(("adapters", "gateway", "teams"))
"""Packages of this program, which may lie in the folder, too."""

Stamp: TypeAlias = tuple[int, int, int]


class FolderModules:
    """Modules imported from a folder, with their files' states."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stamps = self._read()

    @property
    def files(self) -> frozenset[Path]:
        """Files of the modules that are imported now."""
        return frozenset(map(_file, _modules_in(self._folder).values()))

    def forget_changed(self) -> Mapping[str, ModuleType]:
        """Let all be imported anew if a file has changed.

        All, since they import each other: a class must not be there twice. Returns what was
        forgotten.
        """
        with IMPORTING:
            now = {path: _stamp(path) for path in self._stamps}
            if now == self._stamps:
                return {}
            return self._forget()

    def bring_back(self, forgotten: Mapping[str, ModuleType]) -> None:
        """Put modules in the place of those that were imported since."""
        if forgotten:
            with IMPORTING:
                self._forget()
                sys.modules.update(forgotten)

    def note(self) -> None:
        """Note the files as they are now."""
        self._stamps = self._read()

    def _read(self) -> dict[Path, Stamp | None]:
        return {path: _stamp(path) for path in self.files}

    def _forget(self) -> dict[str, ModuleType]:
        found = _modules_in(self._folder)
        for name, module in found.items():
            del sys.modules[name]
            # Compiled code is known by size and second alone: a quick change would be missed.
            with suppress(OSError):
                Path(cache_from_source(str(_file(module)))).unlink()
        importlib.invalidate_caches()
        return found


def _modules_in(folder: Path) -> dict[str, ModuleType]:
    """The modules found in this folder by their names."""
    return dict(_found(folder.absolute()))


def _found(folder: Path) -> Iterator[tuple[str, ModuleType]]:
    inside = os.path.join(folder, "")
    for name, module in [*sys.modules.items()]:
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or not file.startswith(inside):
            continue
        at = folder.joinpath(*name.split("."))
        if file in (f"{at}.py", str(at / "__init__.py")) and name.split(".")[0] not in OWN:
            yield name, module


def _file(module: ModuleType) -> Path:
    return Path(str(module.__file__))


def _stamp(path: Path) -> Stamp | None:
    try:
        now = path.stat()
    except OSError:
        return None
    return now.st_mtime_ns, now.st_size, now.st_ino
