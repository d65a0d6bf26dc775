"""A rulebook for tests of stores: what is decided is given."""

from __future__ import annotations

from gateway.conversation import InboundMessage
from gateway.store.decisions import Decision, NewThread, QueueEntry
from gateway.store.records import Situation
from gateway.store.rulebook import Fact, JudgedMessage, MessageMissed, Offer
from gateway.values import value

WAITS = QueueEntry()


@value
class Decided:
    """Decides the same about every message."""

    decision: Decision = WAITS

    def decide(self, situation: Situation) -> Decision:
        """The decision that was given."""
        return self.decision

    def reply(self, fact: Fact) -> str:
        """Nothing: no test of a store asks for words."""
        return ""

    def offer(self, missed: MessageMissed) -> Offer:
        """Nothing in words, either."""
        return Offer(text="", command="", label="")


def decided(message: InboundMessage, decision: Decision = WAITS, *, thread: str) -> JudgedMessage:
    """A message with its decision, and the id of a new thread."""
    return JudgedMessage(
        message=message,
        rulebook=Decided(decision=decision),
        new=NewThread(id=thread, team="demo", definition=""),
        kind="message",
    )
