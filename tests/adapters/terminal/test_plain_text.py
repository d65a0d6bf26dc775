"""The agents' texts as one plain text that only grows."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.terminal.plain_text import PlainText
from gateway.events import MessageFinished, Notice, SessionEvent, TextDelta
from gateway.picture import Picture
from tests.fakes.news import news_of


def delta(text: str, message: str = "1", *, replace: bool = False) -> TextDelta:
    return TextDelta(thread="t", agent=f"a{message}", message=message, text=text, replace=replace)


def finished(text: str, message: str = "1") -> MessageFinished:
    return MessageFinished(thread="t", agent=f"a{message}", message=message, text=text)


def pieces(events: Sequence[SessionEvent], *, names: bool = False) -> list[str]:
    text, picture, written = PlainText(names=names), Picture(), list[str]()
    for event in events:
        picture.apply(event)
        written.append("".join(map(text.append, picture.news)))
    return [*written, text.close()]


def test_a_message_grows_with_its_deltas_and_ends_its_line():
    events = [delta("Hel"), delta("lo"), Notice(thread="t", text="x"), finished("Hello")]
    assert pieces(events) == ["Hel", "lo", "", "\n", ""]


@pytest.mark.parametrize(
    ("events", "text"),
    [
        pytest.param([finished("Hello")], "Hello\n", id="not-streamed"),
        pytest.param([finished("Hello\n")], "Hello\n", id="ends-its-line-itself"),
        pytest.param([delta("Hel"), finished("Hello")], "Hello\n", id="final-text-has-more"),
        pytest.param([delta("Hel")], "Hel\n", id="never-finished"),
        pytest.param([finished(""), finished("b", "2")], "b\n", id="empty-leaves-no-trace"),
        pytest.param([delta("", "1"), finished("b", "2"), finished("")], "b\n", id="empty-first"),
        pytest.param([finished("a"), finished("b", "2")], "a\n\nb\n", id="two-messages"),
        pytest.param(
            [delta("a"), delta("x", "2"), delta("y", "2"), delta("b"), finished("ab")],
            "ab\n\nxy\n",
            id="side-by-side-one-after-the-other",
        ),
        pytest.param(
            [delta("Helo wor"), delta("Hello", replace=True), finished("Hello!")],
            "Helo wor\n\nHello!\n",
            id="written-anew",
        ),
        pytest.param([delta("old"), finished("new")], "old\n\nnew\n", id="final-text-differs"),
    ],
)
def test_messages_stand_one_after_the_other(events, text):
    assert "".join(pieces(events)) == text


def test_each_message_stands_below_its_agents_name():
    events = [delta("Hi"), finished("Hi"), finished("Bye", "2"), delta("Ag", "3")]
    assert "".join(pieces(events, names=True)) == "a1:\nHi\n\na2:\nBye\n\na3:\nAg\n"


def test_it_knows_whether_a_message_is_open():
    text = PlainText(names=True)
    assert not text.mid_message
    growing, whole = news_of([delta("Hi"), finished("Hi there")])
    text.append(growing)
    assert text.mid_message
    text.append(whole)
    assert not text.mid_message


@given(st.lists(st.tuples(st.sampled_from("12"), st.text("ab\n", min_size=1)), max_size=8))
def test_every_streamed_text_is_there_whole_however_it_was_cut(parts):
    texts: dict[str, str] = {}
    events: list[SessionEvent] = []
    for message, part in parts:
        texts[message] = texts.get(message, "") + part
        events.append(delta(part, message))
    events += [finished(text, message) for message, text in texts.items()]
    ended = (text if text.endswith("\n") else f"{text}\n" for text in texts.values())
    assert "".join(pieces(events)) == "\n".join(ended)
