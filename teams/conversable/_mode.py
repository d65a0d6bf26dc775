"""One engine for sync and async chats."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from teams.conversable._facade import run_unsuspended
from teams.conversable._protocols import Function

if TYPE_CHECKING:
    from types import CoroutineType

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Mode:
    """Sync or async: the form of members that the engine calls.

    In a sync chat the engine's coroutines never suspend: they need no loop, and every callback runs
    in the caller's worker.
    """

    is_async: bool

    async def call(self, plain: Function, coroutine: Function, *args: Any, **kwargs: Any) -> Any:
        """Call the form of a member that belongs to this mode."""
        if not self.is_async:
            return plain(*args, **kwargs)
        return await self.settle(coroutine(*args, **kwargs))

    async def settle(self, result: object) -> Any:
        """Await a result that has to be awaited."""
        return await result if self.is_async and inspect.isawaitable(result) else result


SYNC = Mode(is_async=False)
ASYNC = Mode(is_async=True)


def forms(
    engine: Callable[Concatenate[S, Mode, P], CoroutineType[Any, Any, R]],
) -> tuple[Callable[Concatenate[S, P], R], Callable[Concatenate[S, P], CoroutineType[Any, Any, R]]]:
    """Make NAME and a_NAME of an engine's method `_NAME`."""

    def plain(self: S, *args: P.args, **kwargs: P.kwargs) -> R:
        return run_unsuspended(engine(self, SYNC, *args, **kwargs))

    async def coroutine(self: S, *args: P.args, **kwargs: P.kwargs) -> R:
        return await engine(self, ASYNC, *args, **kwargs)

    name = engine.__name__.lstrip("_")
    prefix = engine.__qualname__.removesuffix(engine.__name__)
    signature = inspect.signature(engine)
    parameters = [each for each in signature.parameters.values() if each.name != "mode"]
    for form, its_name in ((plain, name), (coroutine, f"a_{name}")):
        form.__name__, form.__qualname__ = its_name, prefix + its_name
        form.__module__, form.__doc__ = engine.__module__, engine.__doc__
        form.__signature__ = signature.replace(parameters=parameters)
    return plain, coroutine
