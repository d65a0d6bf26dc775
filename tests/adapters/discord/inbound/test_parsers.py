"""Fuzzed Discord payloads raise the parsers' own errors only."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.discord.connection.values import BotIdentity
from adapters.discord.custom_ids import custom_id, parse_button
from adapters.discord.inbound.parse_interactions import parse_interaction
from adapters.discord.inbound.parse_messages import (
    in_words,
    parse_deletion,
    parse_message,
)
from gateway.interactions import Button

pytestmark = pytest.mark.chaos

ME = BotIdentity(user="100000", application="100000", roles=frozenset({"700000"}))
USER = {"id": "200000", "username": "ann", "global_name": "Ann"}
MEMBER = {"nick": None, "roles": ["300000"], "flags": 0, "pending": False}
FILE = {"id": "1", "filename": "a.txt", "url": "https://cdn.discordapp.com/a", "size": 3}
ROW = {"type": 1, "components": [{"type": 2, "custom_id": "g:approve:0123456789ab"}]}
OWN = {"id": "500000", "author": {"id": "100000", "username": "parley"}, "components": [ROW]}
MESSAGE = {
    "id": "400000",
    "channel_id": "600000",
    "guild_id": "800000",
    "type": 19,
    "flags": 0,
    "content": "<@100000> hi <@200000> <#600000> <t:1700000000:R> <:smile:123456>",
    "author": USER,
    "member": MEMBER,
    "mentions": [{"id": "100000", "username": "parley", "member": MEMBER}, USER],
    "mention_roles": ["700000"],
    "attachments": [FILE],
    "embeds": [{"title": "t", "fields": [{"name": "n", "value": "v"}]}],
    "message_reference": {"type": 0, "message_id": "500000"},
    "referenced_message": OWN,
    "message_snapshots": [{"message": {"content": "psst", "attachments": [FILE]}}],
    "edited_timestamp": None,
}
CLICK = {
    "id": "900000",
    "token": "t",
    "application_id": "100000",
    "channel_id": "600000",
    "guild_id": "800000",
    "type": 3,
    "member": {**MEMBER, "user": USER},
    "data": {"custom_id": "g:menu:0123456789ab:0", "values": ["3"], "component_type": 3},
    "message": {"id": "500000", "message_reference": {"message_id": "400000"}},
}
TYPED = {
    **CLICK,
    "type": 2,
    "data": {"name": "ask", "type": 1, "options": [{"name": "text", "value": "hi"}]},
}
POINTED = {
    **CLICK,
    "type": 2,
    "data": {
        "name": "Ask the team",
        "type": 3,
        "target_id": "400000",
        "resolved": {"messages": {"400000": MESSAGE}},
    },
}
FORM = {
    **CLICK,
    "type": 5,
    "data": {"custom_id": "g:note:0123456789ab", "components": [{"components": [{"value": "no"}]}]},
}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=5,
)


def unknown(_: str) -> str:
    """No name."""
    return ""


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something could stand instead."""
    if not isinstance(value, dict | list):
        return [path]
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    return [path, *(place for key, each in inner for place in places(each, (*path, key)))]


@st.composite
def spoiled(draw: st.DrawFn, payload: dict[str, Any]) -> Any:
    """The payload with one to three places replaced, or removed."""
    value: Any = copy.deepcopy(payload)
    for _ in range(draw(st.integers(1, 3))):
        if not isinstance(value, dict):
            break
        path = draw(st.sampled_from([each for each in places(value) if each] or [("id",)]))
        target: Any = value
        for key in path[:-1]:
            target = target[key]
        if draw(st.booleans()) or isinstance(target, list):
            cast("Any", target)[path[-1]] = draw(JSON)
        else:
            target.pop(path[-1], None)
    return value


@settings(max_examples=60)
@given(spoiled(MESSAGE))
def test_messages(payload: dict[str, Any]) -> None:
    with suppress(KeyError, TypeError, ValueError):
        said = parse_message(payload, ME)
        if said is not None:
            said.content.map(lambda text: in_words(text, said.names, unknown, unknown))
        parse_deletion(payload)


@settings(max_examples=80)
@given(st.sampled_from([CLICK, TYPED, POINTED, FORM]).flatmap(spoiled))
def test_interactions(payload: dict[str, Any]) -> None:
    with suppress(KeyError, TypeError, ValueError):
        parse_interaction(payload)


ODD = (None, True, 1.5, float("inf"), "", "x", [], [1], {}, {"a": 1})
"""JSON as Python reads it: `Infinity` is a number, too."""


@pytest.mark.parametrize(
    ("payload", "parse"),
    [
        (MESSAGE, lambda payload: parse_message(payload, ME)),
        ({"ids": ["1"], "channel_id": "2", "guild_id": "3"}, parse_deletion),
        *((each, parse_interaction) for each in (CLICK, TYPED, POINTED, FORM)),
    ],
    ids=["message", "removal", "click", "command", "menu", "form"],
)
def test_no_odd_value_anywhere_raises_anything_but_what_is_documented(
    payload: dict[str, Any], parse: Callable[[Any], object]
) -> None:
    for place in filter(None, places(payload)):
        for odd in ODD:
            spoilt: Any = copy.deepcopy(payload)
            target = spoilt
            for key in place[:-1]:
                target = target[key]
            target[place[-1]] = odd
            with suppress(KeyError, TypeError, ValueError):
                parse(spoilt)


@given(st.text() | st.from_regex(r"g:(approve|menu|choice|command):.{0,90}", fullmatch=True))
def test_ids_of_buttons(text: str) -> None:
    button = parse_button(text)
    if button is not None:
        assert parse_button(custom_id(button)) == button


@given(st.sampled_from(["approve", "choice", "command"]), st.text(min_size=1), st.integers(0, 99))
def test_an_action_comes_back_as_it_was(kind: Any, what: str, number: int) -> None:
    button = Button(kind=kind, about=what, number=number if kind == "choice" else 0)
    assert parse_button(custom_id(button)) == button


def test_the_payloads_themselves_are_read() -> None:
    said = parse_message(MESSAGE, ME)
    assert said is not None
    assert (said.answers, said.request, said.chain) == ("500000", "0123456789ab", "500000")
    assert said.mentioned
    text = in_words(said.own_text, said.names, lambda channel: "general", unknown)
    assert text == "hi @Ann #general 2023-11-14 22:13 UTC :smile:"
    assert all(parse_interaction(each) for each in (CLICK, TYPED, POINTED, FORM))
