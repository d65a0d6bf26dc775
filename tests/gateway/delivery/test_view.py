"""A thread's picture as messages on a platform."""

from dataclasses import replace

from gateway.conversation import ConversationKey
from gateway.delivery.items import CardItem, LineItem, SpeechItem
from gateway.delivery.view import ThreadView, card_id
from gateway.events import (
    InputRequested,
    MessageFinished,
    Notice,
    SessionEvent,
    TurnFinished,
    TurnStarted,
)
from gateway.surface import Line
from tests.gateway.delivery.delivered import ANN

BEGIN = TurnStarted(thread="", asker=ANN.id, asked_at=2_000_000.0)
DONE = TurnFinished(thread="", outcome="done")


def said(agent: str, message: str, text: str) -> MessageFinished:
    return MessageFinished(thread="", agent=agent, message=message, text=text)


def test_a_view_forgets_what_is_told() -> None:
    view = ThreadView()
    for seq, event in enumerate((BEGIN, said("a", "m", "Hi."), DONE), 1):
        view.apply(replace(event, seq=seq))
    assert view.forget_before(None) == 3
    assert view.items == []


AWAY = ConversationKey(platform="x", channel="approvals")
OFFER = Notice(thread="", text="It failed.", retry=True)


def seen(view: ThreadView, *events: SessionEvent) -> ThreadView:
    """The view after these events, too."""
    for event in events:
        view.apply(replace(event, seq=view.seq + 1))
    return view


def test_a_view_knows_who_asked_and_whether_the_team_rests() -> None:
    view = ThreadView()
    assert (view.seq, view.asker, view.busy) == (0, "", None)
    seen(view, BEGIN)
    assert (view.seq, view.asker, view.busy, view.resting) == (1, ANN.id, "working", False)
    seen(view, said("a", "m", "Hi."), DONE)
    assert (view.seq, view.busy, view.resting) == (3, "idle", True)
    [speech] = view.items
    assert isinstance(speech, SpeechItem)
    assert (speech.id, speech.agent, speech.text, speech.growing) == ("m:m", "a", "Hi.", False)


def test_a_muted_view_shows_nothing_and_tells_which_request_nobody_sees() -> None:
    view = seen(ThreadView(), BEGIN)
    view.mute()
    assert view.muted
    asked = InputRequested(
        thread="", request="r1", agent="a", request_kind="text", prompt="?", awaited=True
    )
    seen(view, said("a", "m", "Hi."), asked)
    assert (view.items, view.unseen) == ([], "r1")


def test_what_was_shown_is_muted_with_the_rest() -> None:
    view = seen(ThreadView(), BEGIN, said("a", "m", "Hi."))
    view.mute()
    assert view.items == []


def test_an_offer_of_before_is_withdrawn_when_it_is_over() -> None:
    view = ThreadView()
    view.recall(replace(OFFER, seq=4))
    assert view.items == []
    seen(view, BEGIN)
    [line] = view.items
    assert isinstance(line, LineItem)
    assert (line.id, line.outdated, line.line.command) == ("n:4", True, "/retry")


def test_a_line_is_added_after_its_item() -> None:
    view = seen(ThreadView(), BEGIN, said("a", "m", "Hi."), said("b", "n", "Ho."))
    view.add_line_after(view.items[0], "x:1", Line(text="A file could not be shown."))
    assert [item.id for item in view.items] == ["m:m", "x:1", "m:n"]


def test_a_card_has_an_id_in_each_place() -> None:
    asked = InputRequested(
        thread="", request="r1", agent="a", request_kind="approval", prompt="May I?"
    )
    view = seen(ThreadView(away=[AWAY]), BEGIN, asked)
    cards = [item for item in view.items if isinstance(item, CardItem)]
    assert [card.id for card in cards] == [card_id("r1", None), card_id("r1", AWAY)]
    assert [card.id for card in cards] == ["c:r1", f"c:r1:{AWAY}"]
    assert [card.place for card in cards] == [None, AWAY]
