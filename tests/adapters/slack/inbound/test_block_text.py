"""Blocks that somebody has shaped to be read wrongly, or without end."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.slack.connection.payload import plain
from adapters.slack.inbound.block_text import BlockReader, Budget, link_mark


def read(*blocks: dict[str, Any]) -> tuple[str, list[str]]:
    reader = BlockReader(Budget())
    text = plain(reader.read(blocks), {"U2": "Bob"})
    return text, [str(each) for each in reader.unread]


def inline(*elements: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "rich_text",
        "elements": [{"type": "rich_text_section", "elements": [*elements]}],
    }


def nested(levels: int) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "markdown", "text": "deep"}
    for _ in range(levels):
        block = {"type": "container", "child_blocks": [block]}
    return block


def test_what_is_too_deep_is_left_out_and_named() -> None:
    assert read(nested(500), nested(5)) == ("deep", ["the rest of a long message"])


def test_a_budget_is_shared_by_all_readers_of_a_payload() -> None:
    budget = Budget(parts=2, characters=5)
    first, second = BlockReader(budget), BlockReader(budget)
    texts = [{"type": "markdown", "text": each} for each in ("ab", "cd", "ef")]
    assert (first.read(texts), second.read(texts), second.take("x")) == ("ab\ncd", "", "")
    assert [*first.unread] == [*second.unread] != []


@pytest.mark.parametrize("url", ["javascript", "#C1", "@U2", "!here", "https://a.b/<x>", "", "a b"])
def test_what_is_no_address_makes_no_mark(url: str) -> None:
    assert read(inline({"type": "link", "url": url, "text": "here"})) == ("here", [])
    assert plain(link_mark(url), {}) == url


def test_a_label_makes_no_mark() -> None:
    assert link_mark("https://a.b", "x>\n<@U2>") == "<https://a.b|x&gt; &lt;@U2&gt;>"


def test_an_id_that_is_none_makes_no_mark() -> None:
    elements = [
        {"type": "user", "user_id": "U2> <!here"},
        {"type": "channel", "channel_id": 7},
        {"type": "usergroup", "usergroup_id": "S1|x"},
        {"type": "user", "user_id": "U2"},
    ]
    assert read(inline(*elements)) == ("U2> <!hereS1|x@Bob", [])


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ({"type": "section", "text": ["x"], "fields": {"type": 7}}, "x"),
        ({"type": "table", "rows": [["x", [{"type": "raw_text", "text": 3}]], "y"]}, "x | 3\ny"),
        ({"type": "rich_text", "elements": {"type": "rich_text_section"}}, ""),
        ({"type": ["x"]}, ""),
        ({"type": "call", "call": "x"}, "(call: x)"),
        ({"type": "actions", "elements": [None, True, {"type": "button", "text": None}]}, ""),
    ],
)
def test_a_block_of_another_shape_is_read_as_far_as_it_goes(
    block: dict[str, Any], text: str
) -> None:
    assert read(block)[0] == text


def test_a_block_of_a_kind_to_come_is_read_by_the_names_of_its_fields() -> None:
    block = {
        "type": "hologram",
        "title": {"type": "plain_text", "text": "Earth"},
        "elements": [{"type": "mrkdwn", "text": "*seen* from <@U2>"}],
        "action_id": "x",
        "value": "hidden",
    }
    assert read(block) == ("Earth\n*seen* from @Bob", [])
