"""The line of a turn in the log: end, times and use."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from gateway.budgets.ledger import Meter
from gateway.events import MessageFinished, SessionEvent, TurnStarted
from gateway.store.turn_records import ClaimedTurn

LOG = logging.getLogger("gateway")

SLOW = 30.0
"""Seconds from a message to its turn's end that are not routine."""


def log_turn(work: ClaimedTurn, meter: Meter, ended: str, took: float) -> None:
    """Log the end of a turn's run."""
    if not LOG.isEnabledFor(logging.INFO):
        return
    begun = (each for each in work.events if isinstance(each, TurnStarted) and not each.resumed)
    waited = next((each.at - each.asked_at for each in begun), 0.0)
    facts = {
        "team": work.thread.team,
        "ended": ended,
        "waited": waited,
        "first_text": meter.first_text,
        "took": took,
        "tokens_in": meter.tokens_in,
        "tokens_out": meter.tokens_out,
        "model_calls": meter.model_calls,
        "tool_calls": meter.tool_calls,
    }
    routine = ended in ("done", "waiting") and waited + took < SLOW
    event = work.messages[0].message_id if work.messages else ""
    extra = {"facts": facts, "routine": routine, "event": event}
    LOG.info("turn %s after %.3f s", ended, took, extra=extra)


def log_endings(events: Sequence[SessionEvent]) -> None:
    """Log which answers did not end by themselves."""
    for event in events:
        if isinstance(event, MessageFinished) and event.ending:
            LOG.warning("an answer of %s is %s", event.agent, event.ending)
