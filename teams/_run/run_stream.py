"""A run's stream and duration, in which errors become TeamErrors."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable
from typing import ClassVar, TypeVar

from teams._base.cancellation import CancellableStream, CancellationToken
from teams._contract.team import TaskResult, TeamError
from teams._run.merge import is_being_cancelled

T = TypeVar("T")


class RunStream(CancellableStream[T]):
    """The stream that a run hands out."""

    last_item: ClassVar[type | None] = TaskResult


class UnderWay:
    """The duration of a run, in which errors become TeamErrors.

    A cancellation from outside stays one.
    """

    __slots__ = ("_rest", "_token")

    def __init__(self, token: CancellationToken, rest: Callable[[], None]) -> None:
        self._token = token
        self._rest = rest

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            match error:
                case TeamError():
                    return
                case asyncio.CancelledError():
                    if self._token.is_cancelled() or is_being_cancelled():
                        return
                    raise TeamError(_account(error)) from error  # a participant's own doing
                case Exception():
                    raise TeamError(_account(error)) from error
                case _:
                    return
        finally:
            self._rest()


def _account(error: BaseException) -> str:
    lines = "".join(traceback.format_exception(error))
    return f"{type(error).__name__}: {error}\n{lines}"
