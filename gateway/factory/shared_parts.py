"""Parts that all threads share, closed when Parley ends."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any


class SharedParts:
    """Parts by their keys, each made when it is first needed."""

    def __init__(self) -> None:
        self._made: dict[Hashable, Any] = {}

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """The part of this key."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    async def aclose(self) -> None:
        """Close every part that was made."""
        while self._made:
            await self._made.popitem()[1].close()
