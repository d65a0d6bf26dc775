"""Parley's own packages, whose names another package may have taken."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]


class ForeignPackage(ImportError):
    """Another package is imported by the name of one of Parley's."""


def foreign_package(name: str) -> str:
    """A sentence on a package that hides Parley's, or ""."""
    origin = getattr(find_spec(name), "origin", None)
    if origin is None:
        return ""
    file = Path(origin).resolve()
    here = file.parent.parent if file.stem == "__init__" else file.parent
    if here == ROOT:
        return ""
    return (
        f"{name!r} is imported from {here}, and not from Parley's folder: leave that folder, take "
        "it out of PYTHONPATH, or uninstall the package"
    )


def import_own(name: str) -> ModuleType:
    """Import a module of one of Parley's packages. Raises ForeignPackage for another's."""
    if said := foreign_package(name.partition(".")[0]):
        raise ForeignPackage(said)
    return importlib.import_module(name)
