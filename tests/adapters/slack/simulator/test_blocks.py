"""Checks of blocks, text and metadata, and the texts in blocks."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.slack.simulator.blocks import (
    LONGEST_MARKDOWN,
    MOST_BLOCKS,
    check_blocks,
    check_markdown,
    check_metadata,
    stored_blocks,
    texts,
)
from adapters.slack.simulator.errors import ApiError

SECTION = {"type": "section", "text": {"type": "mrkdwn", "text": "hi"}}


def test_a_text_may_not_be_too_long() -> None:
    assert check_markdown("hi") == "hi"
    with pytest.raises(ApiError, match="msg_too_long"):
        check_markdown("x" * (LONGEST_MARKDOWN + 1))


@pytest.mark.parametrize(
    ("metadata", "error"),
    [
        ("text", "invalid_metadata_format"),
        ({"event_type": "t"}, "invalid_metadata_schema"),
        ({"event_type": "t", "event_payload": {"a": "x" * 9000}}, "metadata_too_large"),
    ],
)
def test_metadata_has_a_form_and_a_size(metadata: Any, error: str) -> None:
    check_metadata({})
    with pytest.raises(ApiError, match=error):
        check_metadata(metadata)


@pytest.mark.parametrize(
    ("blocks", "error"),
    [
        ([SECTION] * (MOST_BLOCKS + 1), "msg_blocks_too_many"),
        ([{"type": "none"}], "invalid_blocks"),
        ([{**SECTION, "text": {"text": "x" * 2900}}] * 5, "msg_blocks_too_long"),
    ],
)
def test_blocks_that_slack_refuses_are_refused(blocks: list[Any], error: str) -> None:
    check_blocks([SECTION])
    with pytest.raises(ApiError, match=error):
        check_blocks(blocks)


def test_blocks_are_stored_with_ids_and_flags() -> None:
    [kept, own] = stored_blocks([SECTION, {**SECTION, "block_id": "mine"}])
    assert (kept["block_id"], own["block_id"]) == ("b0", "mine")
    assert kept["text"]["verbatim"] is False


def test_every_text_of_a_block_is_found() -> None:
    block = {"type": "actions", "elements": [{"text": {"text": "Go"}, "alt_text": "there"}]}
    assert [*texts(block)] == ["Go", "there"]
