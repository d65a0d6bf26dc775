"""First messages with what earlier chats found."""

from __future__ import annotations

from typing import Any

import pytest

from teams.conversable import InvalidCarryOverType, IOStream
from tests.teams.conversable.pairs import Screen, agent

CONTEXT = {"type": "text", "text": "\nContext: \na\nb"}
IMAGE = {"type": "image_url", "image_url": {"url": "data:"}}


@pytest.mark.parametrize(
    ("message", "carryover", "expected"),
    [
        ("m", "a", "m\nContext: \na"),
        ("m", ["a", "b"], "m\nContext: \na\nb"),
        ("m", ["a", {"content": "b", "role": "user"}, 3], "m\nContext: \na\nb\n3"),
        ("m", [""], "m\nContext: \n"),
        ("m", "", "m"),
        ("m", [], "m"),
        ("m", None, "m"),
        ({"content": "m", "x": 1}, "a", {"content": "m\nContext: \na", "x": 1}),
        ({"content": [IMAGE]}, ["a", "b"], {"content": [CONTEXT, IMAGE]}),
        ({"content": "m"}, None, {"content": "m"}),
    ],
)
async def test_carryover_follows_the_message(message: Any, carryover: Any, expected: Any):
    al, before = agent(), repr(message)
    assert al.generate_init_message(message, carryover=carryover) == expected
    assert await al.a_generate_init_message(message, carryover=carryover) == expected
    assert repr(message) == before, "the caller's message is not touched"


@pytest.mark.parametrize(("message", "carryover"), [("m", 3), ("m", {"a": 1}), (5, "a")])
async def test_another_type_is_refused(message: Any, carryover: Any):
    with pytest.raises(InvalidCarryOverType) as refused:
        agent().generate_init_message(message, carryover=carryover)
    assert str(refused.value) == (
        "Carryover should be a string or a list of strings. Not adding carryover to the message."
    )
    with pytest.raises(InvalidCarryOverType):
        await agent().a_generate_init_message(message, carryover=carryover)


async def test_without_a_message_a_person_is_asked():
    screen = Screen("m", "n")
    with IOStream.set_default(screen):
        assert agent().generate_init_message(None, carryover="a") == "m\nContext: \na"
        assert await agent().a_generate_init_message(None) == "n"
    assert screen.prompts == [">", ">"]
