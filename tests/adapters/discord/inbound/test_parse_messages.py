"""Messages, from the gateway's events and from REST."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.discord.connection.values import BotIdentity
from adapters.discord.inbound import parse_messages as parsers
from adapters.discord.inbound.parse_messages import (
    as_integer,
    as_mapping,
    ignored_reason,
    in_words,
    names_places,
    object_list,
    parse_any_message,
    parse_deletion,
    parse_history,
    parse_message,
    parse_page,
    parse_sender,
    quoted,
    value_list,
)
from gateway.visible import VisibleContent

ME = BotIdentity(user="100000", application="100000", roles=frozenset({"700000"}))
USER = {"id": "200000", "username": "ann", "global_name": "Ann"}
OWN = {"id": "500000", "author": {"id": "100000", "username": "parley"}, "content": "Hello."}
MESSAGE: dict[str, Any] = {
    "id": "400000",
    "channel_id": "600000",
    "guild_id": "800000",
    "type": 0,
    "content": "<@100000> hi",
    "author": USER,
    "mentions": [{"id": "100000", "username": "parley"}],
}


def test_a_message_is_read_with_what_it_is_about() -> None:
    found = parse_message(MESSAGE, ME)
    assert found is not None
    assert (found.id, found.channel, found.guild) == ("400000", "600000", "800000")
    assert (found.sender.id, found.sender.name) == ("200000", "Ann")
    assert (found.mentioned, found.to_others, found.own_text) == (True, False, "hi")
    assert not found.is_bare
    bare = parse_message({**MESSAGE, "content": "<@100000>"}, ME)
    assert bare is not None
    assert bare.is_bare
    pointed = found.as_pointed("forward")
    assert (pointed.kind, pointed.content, pointed.sender) == (
        "forward",
        found.content,
        found.sender,
    )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"author": OWN["author"]}, "own"),
        ({"flags": parsers.EPHEMERAL}, "own"),
        ({"type": 7}, "system message"),
    ],
)
def test_what_nobody_wrote_is_ignored(changes: dict[str, Any], reason: str | None) -> None:
    assert ignored_reason({**MESSAGE, **changes}, ME) == reason
    assert (parse_message({**MESSAGE, **changes}, ME) is None) == (reason is not None)


def test_a_reply_to_the_bot_is_known_as_that() -> None:
    reply = {
        **MESSAGE,
        "type": 19,
        "message_reference": {"message_id": "500000"},
        "referenced_message": OWN,
    }
    found = parse_any_message(reply, ME)
    assert (found.answers, found.chain, found.pointed) == ("500000", "500000", ())
    other = {**OWN, "author": USER}
    found = parse_any_message({**reply, "referenced_message": other}, ME)
    assert (found.answers, found.pointed) == ("", (quoted(other),))
    assert quoted(other).content.text == "Hello."


def test_a_page_is_read_in_order_without_what_is_unreadable() -> None:
    page = [{**MESSAGE, "id": "400002"}, {"id": "400003"}, {**MESSAGE, "id": "400001"}]
    history = parse_history(page, "800000", "", ME)
    assert [each.id for each in history] == ["400001", "400002"]
    assert [each.id for each in parse_page(page, "800000", ME)] == ["400002", "400001"]


@pytest.mark.parametrize(
    ("payload", "ids"), [({"id": "1"}, ("1",)), ({"ids": ["1", "2"]}, ("1", "2"))]
)
def test_a_deletion_names_its_messages(payload: dict[str, Any], ids: tuple[str, ...]) -> None:
    found = parse_deletion({**payload, "channel_id": "5"})
    assert (found.ids, found.channel, found.guild) == (ids, "5", "")


def test_a_sender_may_be_a_bot_or_a_guest() -> None:
    found = parse_sender(USER, {"nick": "Annie", "roles": ["3"], "flags": parsers.GUEST})
    assert (found.name, found.roles, found.guest, found.bot) == (
        "Annie",
        frozenset({"3"}),
        True,
        False,
    )
    assert parse_sender(USER, webhook=True).bot


def test_marks_are_shown_in_words() -> None:
    text = "<@200000> in <#600000> with <@&700000> <:smile:123456> </ask:123456> <@300000>"
    shown = in_words(text, {"200000": "Ann"}, lambda _: "general", lambda _: "")
    assert shown == "@Ann in #general with <@&700000> :smile: /ask <@300000>"


def test_places_are_named_by_ids() -> None:
    assert names_places(VisibleContent(text="see <#600000>"))
    assert not names_places(VisibleContent(text="see <@200000>"))


def test_values_are_what_they_should_be_or_refused() -> None:
    assert as_mapping({"a": 1}) == {"a": 1}
    assert as_integer("5") == 5
    assert object_list({"a": [{"b": 1}]}, "a") == [{"b": 1}]
    assert [*value_list({"a": [1]}, "a")] == [1]
    assert [*value_list({}, "a")] == []
    with pytest.raises(TypeError):
        as_mapping([])
    with pytest.raises(ValueError, match="whole number"):
        as_integer(float("inf"))
    with pytest.raises(TypeError):
        object_list({"a": [1]}, "a")
    with pytest.raises(TypeError):
        value_list({"a": "b"}, "a")
