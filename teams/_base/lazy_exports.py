"""Public names that are loaded when somebody takes them.

A round robin's imports take 162 ms of CPU, all public names 195 (`docs/benchmarks/results.md`).

A package says where its names stand, for type checkers under `if TYPE_CHECKING:`, for everybody in
`__all__`, and here:

    __getattr__, __dir__ = lazy_exports(__name__, {"package._module": ("Name", "OtherName")})

What only AutoGen has is explained when it is missed: `AbsentModules`, `refuse_absent`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import FrameType, ModuleType


def lazy_exports(
    package: str, homes: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make the `__getattr__` and `__dir__` of a package."""
    module = sys.modules[package]
    home_of = {name: home for home, names in homes.items() for name in names}

    def load(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}", name=name, obj=module
            )
        value = getattr(import_module(home_of[name]), name)
        setattr(module, name, value)  # not asked again
        return value

    def names() -> list[str]:
        return sorted({*vars(module), *home_of})

    return load, names


def lazy_exports_in(
    package: str, *homes: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make them for `__all__`, each from the first home that has it."""
    module = sys.modules[package]

    def load(name: str) -> Any:
        for home in map(import_module, homes if name in module.__all__ else ()):
            if hasattr(home, name):
                setattr(module, name, value := getattr(home, name))  # not asked again
                return value
        raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=module)

    return load, lambda: sorted({*vars(module), *module.__all__})


def refuse_absent(module: str) -> Callable[[str], Any]:
    """Make the `__getattr__` of a module: its errors explain AutoGen's names.

    `from module import Name` asks the finder below for a submodule only where there is a path.
    """
    vars(sys.modules[module]).setdefault("__path__", [])

    def missing(name: str) -> Any:
        from teams._base.absent import missing_name  # here for start-up

        raise missing_name(module, name)

    return missing


class AbsentModules:
    """The last finder: says what to use instead of AutoGen's other modules."""

    @staticmethod
    def find_spec(
        fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        # Who only asks, with importlib.util.find_spec(), is told None as ever.
        if fullname.startswith("teams.") and _is_import():
            from teams._base.absent import explain_import  # here for start-up

            explain_import(fullname)
        return None


def _is_import() -> bool:
    """True if a statement or import_module() called the finder."""
    asked: FrameType | None = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    while asked is not None and asked.f_code.co_name == "_find_spec":
        asked = asked.f_back
    return asked is not None and asked.f_code.co_name == "_find_and_load_unlocked"
