"""A rulebook for tests of stores: what is decided is given."""

from __future__ import annotations

from gateway.store.decisions import Decision, QueueEntry, Situation
from gateway.store.rulebook import Fact, MessageMissed, Offer
from gateway.values import value


@value
class Decided:
    """Decides the same about every message."""

    decision: Decision = QueueEntry()

    def decide(self, situation: Situation) -> Decision:
        """The decision that was given."""
        return self.decision

    def reply(self, fact: Fact) -> str:
        """Nothing: no test of a store asks for words."""
        return ""

    def offer(self, missed: MessageMissed) -> Offer:
        """Nothing in words, either."""
        return Offer(text="", command="", label="")
