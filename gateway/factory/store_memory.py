"""Memories in an operator's store: Chroma, Redis or Mem0, by scope."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Annotated, Any

from pydantic import BaseModel
from typing_extensions import override

from gateway.factory.memory import (
    LONGEST,
    NO_TURN,
    PURPOSE,
    REMEMBER,
    TOO_LONG,
    current_place,
    last_text,
    plain_line,
    tell,
    told_result,
)
from gateway.store.records import MemoPlace
from teams.memory import Memory, MemoryContent, MemoryQueryResult, UpdateContextResult
from teams.memory.kinds import StoreKind
from teams.model_context import ChatCompletionContext
from teams.tools import FunctionTool, ToolTraits


def make_part(config: StoreKind, place: MemoPlace, load: Callable[[str], Any]) -> Memory:
    """The store's part for a place.

    Raises ValueError for options that its class does not know, and what the class raises.
    """
    key, usual = config.part
    named = "\n".join((place.team, place.scope, place.key))
    options = dict(config.options)
    options[key] = f"{options.get(key, usual)}-{sha256(named.encode()).hexdigest()[:24]}"
    match options.get("embedding_function_config"):
        case {"function": str(path), **others}:
            function = load(path)
            options["embedding_function_config"] = {**others, "function": function}
        case _:
            pass
    provider = config.kind.made_by.replace(":", ".")
    part = Memory.load_component({"provider": provider, "config": options}, Memory)
    settings: BaseModel = getattr(part, "_config")  # noqa: B009 (private)
    known = {*type(settings).model_fields}
    if unknown := options.keys() - known:
        said = f"{config.type!r} has no option {', '.join(sorted(unknown))}"
        raise ValueError(f"{said}; known are {', '.join(sorted(known))}")
    return part


class ScopedMemory(Memory):
    """The present turn's part of an operator's store."""

    def __init__(self, team: str, config: StoreKind, load: Callable[[str], Any]) -> None:
        self._team = team
        self._config = config
        self._load = load
        self._part: tuple[MemoPlace, Memory] | None = None
        # It opens nothing, and finds what is wrong before anybody writes.
        make_part(config, MemoPlace(team=team, scope=config.scope, key=""), load)

    @override
    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        """Tell the best matches, in place of what earlier turns were told."""
        found = (await self.query(last_text(model_context.history))).results
        lines = [f"{n}. {plain_line(str(hit.content))}" for n, hit in enumerate(found, 1)]
        told = await tell(model_context, self._config.type, lines)
        return told_result([f"{len(found)} entries of {self._config.type}"] if told else [])

    @override
    async def query(
        self, query: str | MemoryContent, cancellation_token: Any = None, **kwargs: Any
    ) -> MemoryQueryResult:
        """The best matches of the turn's part."""
        part = await self._present()
        if part is None or not query:
            return MemoryQueryResult(results=[])
        return await part.query(query, cancellation_token, **kwargs)

    @override
    async def add(self, content: MemoryContent, cancellation_token: Any = None) -> None:
        """Remember in the turn's part. Raises ValueError outside of a turn."""
        if (part := await self._present()) is None:
            raise ValueError(NO_TURN)
        await part.add(content, cancellation_token)

    @override
    async def clear(self) -> None:
        """Delete the turn's part."""
        if (part := await self._present()) is not None:
            await part.clear()

    @override
    async def close(self) -> None:
        """Release the store; nothing is deleted."""
        part, self._part = self._part, None
        if part is not None:
            await part[1].close()

    def tools(self) -> list[FunctionTool]:
        """The tool that adds an entry; it may not be repeated."""
        purpose, traits = PURPOSE[self._config.scope], ToolTraits(own_output=True, serial=True)
        return [FunctionTool(self._remember, purpose, REMEMBER, traits=traits)]

    async def _remember(self, text: Annotated[str, "The fact, in one short sentence."]) -> str:
        line = plain_line(text)
        if not line or len(line) > LONGEST:
            return TOO_LONG
        await self.add(MemoryContent(content=line, mime_type="text/plain"))
        return "Remembered."

    async def _present(self) -> Memory | None:
        place = current_place(self._team, self._config.scope)
        if self._part is not None and self._part[0] != place:
            await self.close()
        if place is not None and self._part is None:
            self._part = place, make_part(self._config, place, self._load)
        return None if self._part is None else self._part[1]
