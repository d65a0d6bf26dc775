"""An agent in a thread's picture, and what answers have used."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway.events import Usage
    from gateway.items import Agent


@dataclass(slots=True)
class Used:
    """Tokens of answers, and their cost as far as prices are known."""

    read: int = 0
    written: int = 0
    cost: float = 0.0
    unpriced: int = 0
    """Tokens of answers whose price is not known."""

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        return self.read + self.written

    def add(self, usage: Usage) -> None:
        """Add those of one answer."""
        self.read += usage.prompt_tokens
        self.written += usage.completion_tokens
        if usage.cost is None:
            self.unpriced += usage.prompt_tokens + usage.completion_tokens
        else:
            self.cost += usage.cost


@dataclass(slots=True)
class AgentState:
    """An agent's state in this thread; `doing` is for people."""

    agent: Agent
    model: str = ""
    doing: str = ""
    used: Used = field(default_factory=Used)
