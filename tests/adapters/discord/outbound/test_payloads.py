"""The body of the Discord message for each part."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adapters.discord.connection.message_body import CONTENT
from adapters.discord.outbound.payloads import UNSURE, file_name, render_part, room_of, user_ids
from gateway.events import InputRequested
from gateway.surface import Card, Document, File, Line, Part, Speech

SPEECH = Speech(agent="writer", text="Hello")
ASKED = InputRequested(
    thread="t", request="0123456789ab", agent="writer", request_kind="text", prompt="Where to?"
)


def test_a_speech_has_its_agents_name_above() -> None:
    message = render_part(Part(key="k", content=SPEECH))
    assert message.content == "-# **writer**\nHello"
    assert render_part(Part(key="k", content=SPEECH), named=False).content == "Hello"
    unsure = render_part(Part(key="k", content=SPEECH, unsure=True))
    assert unsure.content.endswith(UNSURE)


def test_a_card_asks_with_buttons_until_it_has_an_outcome() -> None:
    card = Card(request=ASKED, mentions=("discord:5", "slack:T1:U1"))
    message = render_part(Part(key="k", content=card))
    assert message.content == "<@5> **writer** asks:\nWhere to?"
    assert (len(message.components), message.users) == (1, ("5",))
    ended = render_part(Part(key="k", content=replace(card, outcome="Berlin", by="Ann")))
    assert "Berlin" in ended.content
    assert (ended.components, ended.users) == ((), ())


def test_a_line_has_its_command_as_a_button() -> None:
    line = Line(text="It failed.", level="error", command="/retry", label="Try again")
    message = render_part(Part(key="k", content=line))
    assert message.content == "-# \u274c It failed."
    [row] = message.components
    assert [each["label"] for each in row["components"]] == ["Try again"]


def test_files_go_under_names_that_lead_nowhere() -> None:
    document = Document(files=(File(name="../a b?.md", data=b"x"),), agent="writer")
    message = render_part(Part(key="k", content=document))
    assert [(each.name, each.data) for each in message.files] == [("a b_.md", b"x")]
    assert message.content == "-# **writer**"


@pytest.mark.parametrize(
    ("name", "shown"), [("a/b.md", "b.md"), ("..\\x", "x"), ("", "file"), ("a\nb", "a_b")]
)
def test_a_file_has_a_plain_name(name: str, shown: str) -> None:
    assert file_name(name) == shown


def test_there_is_room_for_a_text_beside_all_else() -> None:
    whole = room_of(SPEECH)
    assert 0 < whole < CONTENT
    assert room_of(replace(SPEECH, growing=True)) < whole
    assert room_of(replace(SPEECH, mark="It was stopped.")) < whole
    text = "x" * whole
    shown = render_part(Part(key="k", content=replace(SPEECH, text=text), unsure=True)).content
    assert text in shown
    assert len(shown) <= CONTENT


def test_people_on_discord_are_known_by_their_ids() -> None:
    people = ["discord:5", "slack:T1:U1", "discord:5", "discord:x", "discord:6"]
    assert user_ids(people) == ("5", "6")
