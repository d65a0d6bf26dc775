"""The line of a turn in the log: its end, its times and what it used."""

from __future__ import annotations

import logging

from gateway.budgets.ledger import Meter
from gateway.events import TurnStarted
from gateway.store.turn_records import ClaimedTurn

LOG = logging.getLogger("gateway")

SLOW = 30.0
"""Seconds from a message to its turn's end that are not routine."""


def log_turn(work: ClaimedTurn, meter: Meter | None, ended: str, took: float) -> None:
    """Log the end of a turn's run, in one line.

    `meter` is None for one that ended before it could use anything.
    """
    if not LOG.isEnabledFor(logging.INFO):
        return
    waited = _waited(work)
    facts: dict[str, object] = {
        "team": work.thread.team,
        "ended": ended,
        "waited": None if waited is None else round(waited, 3),
        "took": round(took, 3),
    }
    if meter is not None:
        first = meter.first_text
        facts |= {
            "first_text": None if first is None else round(first, 3),
            "tokens_in": meter.tokens_in,
            "tokens_out": meter.tokens_out,
            "model_calls": meter.model_calls,
            "tool_calls": meter.tool_calls,
        }
    routine = ended in ("done", "waiting") and (waited or 0.0) + took < SLOW
    event = work.messages[0].message_id if work.messages else ""
    extra = {"facts": facts, "routine": routine, "event": event}
    LOG.info("turn %s after %.3f s", ended, took, extra=extra)


def _waited(work: ClaimedTurn) -> float | None:
    """Seconds from the message to the turn; None for one that goes on."""
    for event in () if work.resumed else work.events:
        if isinstance(event, TurnStarted):
            return max(0.0, event.at - event.asked_at)
    return None
