"""Receipts of messages, for their senders and the log."""

from __future__ import annotations

import logging

from gateway.client import Receipt, SentFile
from gateway.conversation import Attachment, InboundMessage
from gateway.store.decisions import AcceptedMessage, CommandReply, MemoReply

LOG = logging.getLogger("gateway")


def attachment_of(file: SentFile) -> Attachment:
    """A client's file as a part of its message."""
    return Attachment(
        name=file.name, media_type=file.media_type, data=file.data, left_out=file.left_out
    )


def receipt_of(accepted: AcceptedMessage) -> Receipt:
    """The receipt of an accepted message."""
    outcome = accepted.outcome
    if outcome == "queued" and not accepted.busy:
        outcome = "turn"
    decision = accepted.decision
    return Receipt(
        inbox=accepted.inbox,
        thread=accepted.thread,
        outcome=outcome,
        reply=accepted.reply,
        private=isinstance(decision, MemoReply),
        choices=decision.choices if isinstance(decision, CommandReply) else (),
    )


def log_receipt(message: InboundMessage, receipt: Receipt) -> None:
    """Log a receipt, quietly if it is one of many."""
    LOG.log(
        logging.DEBUG if receipt.outcome in ("turn", "queued", "merged") else logging.INFO,
        "accepted as %s",
        receipt.outcome,
        extra={"thread_id": receipt.thread, "event": next(iter(message.dedupe), "")},
    )
