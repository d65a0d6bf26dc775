"""Cards of threads that offer an answer to missed messages."""

from __future__ import annotations

from adapters.slack.action_ids import Block, action_id, actions, button_element, section
from adapters.slack.connection.payload import TS, Payload, ts_at
from adapters.slack.inbound.message_content import button_values
from gateway.conversation import ConversationKey
from gateway.history import OfferCard
from gateway.interactions import Button

BUTTON = action_id("missed")
STEP = 0.000001
"""Between two ts: the button has the one before the first message."""


def find_card(said: Payload, key: ConversationKey) -> OfferCard | None:
    """The card that a message is."""
    after = next(filter(TS.fullmatch, button_values(said, BUTTON)), "")
    return card_of(key, ts_at(said, "ts"), after) if after else None


def card_of(key: ConversationKey, ts: str, after: str) -> OfferCard:
    """The card with this value of its button."""
    return OfferCard(place=key, id=ts, first=f"{float(after) + STEP:.6f}", key=key)


def before(first: str) -> str:
    """The ts before this one."""
    return f"{float(first) - STEP:.6f}"


def card_blocks(text: str, after: str) -> list[Block]:
    """A text, and a button that has missed messages answered."""
    button = Button(kind="missed", about=after, label="Answer now")
    return [section(text), *([actions(button_element(button))] if after else [])]
