"""The turn record of a CodeExecutorAgent: what its unfinished turn has taken, written and run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from teams._base.ids import new_id
from teams._contract.turn_record import Item
from teams._messages.base import BaseChatMessage
from teams.code_executor import CodeBlock

CodePhase = Literal["write", "run", "consider", "reflect", "done"]


@dataclass(slots=True)
class CodeTurn:
    """The record.

    Code is written (or found in the messages), run, and reflected on. If it failed, the model
    considers whether to try again.
    """

    message_id: str = field(default_factory=new_id)
    """Id of what the next model answer becomes; chunks name it."""
    phase: CodePhase = "write"
    attempt: int = 0
    taken: dict[str, None] = field(default_factory=dict[str, None])
    """Ids of the messages that are in the model context by now."""
    produced: list[Item] = field(default_factory=list[Item])
    """Ready but not yet handed out."""
    inner: list[Item] = field(default_factory=list[Item])
    """Handed out."""
    key: str = field(default_factory=new_id)
    """Names this execution of code."""
    blocks: list[CodeBlock] = field(default_factory=list[CodeBlock])
    approved: list[int] = field(default_factory=list[int])
    """Positions of the blocks that may run."""
    final: BaseChatMessage | None = None

    def dump(self, encode: Callable[[Item], Any]) -> dict[str, Any]:
        """The record as JSON data; `encode` writes one item."""
        return {
            "message_id": self.message_id,
            "phase": self.phase,
            "attempt": self.attempt,
            "taken": list(self.taken),
            "produced": [encode(item) for item in self.produced],
            "inner": [encode(item) for item in self.inner],
            "key": self.key,
            "blocks": [[block.language, block.code] for block in self.blocks],
            "approved": list(self.approved),
            "final": None if self.final is None else encode(self.final),
        }

    @classmethod
    def load(cls, data: Mapping[str, Any], decode: Callable[[Any], Item]) -> CodeTurn:
        """The inverse of `dump`. Raises KeyError, TypeError or ValueError for anything else."""
        final = None if data["final"] is None else decode(data["final"])
        if final is not None and not isinstance(final, BaseChatMessage):
            raise ValueError(
                f"A turn's answer must be a chat message, found {type(final).__name__}."
            )
        return cls(
            message_id=data["message_id"],
            phase=data["phase"],
            attempt=data["attempt"],
            taken=dict.fromkeys(data["taken"]),
            produced=[decode(item) for item in data["produced"]],
            inner=[decode(item) for item in data["inner"]],
            key=data["key"],
            blocks=[CodeBlock(language=language, code=code) for language, code in data["blocks"]],
            approved=list(data["approved"]),
            final=final,
        )
