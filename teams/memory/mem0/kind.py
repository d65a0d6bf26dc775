"""Memories in Mem0 as tables of config.toml."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from typing_extensions import override

from teams._base.kinds import Kind, Want, wants_at
from teams.memory.kinds import StoreKind


class Mem0Kind(StoreKind):
    """`"mem0"`: Mem0's service, or a store of yours; needs the extra `mem0`."""

    kind: ClassVar = Kind("memory", "mem0", "teams.memory.mem0:Mem0Memory", has_form=False)
    part: ClassVar = ("user_id", "parley")

    type: Literal["mem0"]  # pyright: ignore[reportIncompatibleVariableOverride]
    """Kind of store."""

    @staticmethod
    @override
    def wants(config: Any) -> Iterator[Want]:
        if not config.is_cloud:
            said = "a component file may not set up a store of Mem0's: do it in a factory."
            raise ValueError(said)
        yield from wants_at("https://api.mem0.ai", "" if config.given_key else "MEM0_API_KEY")
