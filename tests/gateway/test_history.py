"""Messages that a card covers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.conversation import ConversationKey
from gateway.history import OfferCard

ROOM = ConversationKey(platform="x", channel="C1", root="5")
CARD = OfferCard(place=ROOM, id="20", first="7", key=ROOM)


@pytest.mark.parametrize(
    ("message", "covered"),
    [("7", True), ("6.9", False), ("19", True), ("20", False), ("100", False)],
)
def test_a_card_covers_what_was_said_between_its_first_message_and_itself(
    message: str, covered: bool
) -> None:
    assert CARD.covers(ROOM, message) is covered
    assert CARD.covers(replace(ROOM, root="6"), message) is (message == "7")


@pytest.mark.parametrize(("message", "covered"), [("7", True), ("8", False)])
def test_without_its_conversation_a_card_covers_its_first_message(
    message: str, covered: bool
) -> None:
    assert replace(CARD, key=None).covers(ROOM, message) is covered
