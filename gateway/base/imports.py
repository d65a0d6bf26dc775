"""Import paths of config.toml, `package.module:name`, turned into what they name."""

from __future__ import annotations

import importlib
import sys
import threading
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from gateway.base.suggest import did_you_mean

IMPORTING = threading.RLock()
"""Held while a config's modules are imported, or forgotten to be imported anew."""


class ImportPathError(ValueError):
    """An import path that leads to nothing."""


class Imports:
    """Imports from installed packages, then from the config file's folder."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._modules: dict[str, ModuleType] = {}
        """Modules as they were imported first: a later import of a changed one is another's."""

    def load(self, path: str) -> Any:
        """The object at the path. Raises ImportPathError."""
        module_name, _, name = path.partition(":")
        if not all(part.isidentifier() for part in [*module_name.split("."), *name.split(".")]):
            raise ImportPathError(f"found {path!r}, expected an import path, 'package.module:name'")
        value: Any = self._module(module_name)
        for part in name.split("."):
            try:
                value = getattr(value, part)
            except AttributeError as error:
                hint = did_you_mean(part, [each for each in dir(value) if not each.startswith("_")])
                where = getattr(value, "__file__", None) or module_name
                said = f"there is no {part!r} in {where}; {hint}".rstrip("; ")
                raise ImportPathError(said) from error
            except (Exception, SystemExit) as error:  # a package may import what it is asked for
                raise ImportPathError(_failed(module_name, error)) from error
        return value

    def load_callable(self, path: str) -> Any:
        """The function or class at the path. Raises ImportPathError."""
        value = self.load(path)
        if not callable(value):
            raise ImportPathError(f"{path!r} is {_kind(value)}, expected a function or a class")
        return value

    def _module(self, name: str) -> ModuleType:
        if (known := self._modules.get(name)) is not None:
            return known
        if self.folder and str(self.folder) not in sys.path:
            sys.path.append(str(self.folder))
        try:
            with IMPORTING:
                return self._modules.setdefault(name, importlib.import_module(name))
        except ModuleNotFoundError as error:
            if error.name and (name == error.name or name.startswith(f"{error.name}.")):
                raise ImportPathError(self._missing(error.name)) from error
            raise ImportPathError(_failed(name, error)) from error
        except (Exception, SystemExit) as error:
            raise ImportPathError(_failed(name, error)) from error

    def _missing(self, name: str) -> str:
        places = "among the installed packages"
        return f"there is no module {name!r} " + (
            f"in {self.folder} or {places}" if self.folder else places
        )


def _failed(module: str, error: BaseException) -> str:
    """The error inside the module, with its line."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "importlib" not in frame.filename]
    where = f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own[1:] else ""
    if isinstance(error, SyntaxError):
        where = f" ({Path(error.filename or '').name}, line {error.lineno})"
        return f"importing {module!r} failed: SyntaxError: {error.msg}{where}"
    return f"importing {module!r} failed: {type(error).__name__}: {error}{where}"


def _kind(value: object) -> str:
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"
