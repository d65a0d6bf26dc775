"""Replies to commands whose outcome only the store knows: facts made into sentences for people."""

from __future__ import annotations

from gateway.budgets.usage import UsageRules
from gateway.store.rulebook import Fact, UsageFound


def reply_to(fact: Fact, usage: UsageRules) -> str:
    """The sentences that a command's sender is told."""
    match fact:
        case UsageFound(thread=thread, used=used):
            return usage.text(thread, used)
