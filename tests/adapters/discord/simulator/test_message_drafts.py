"""Messages as requests write them."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.discord.simulator.errors import ApiError
from adapters.discord.simulator.message_drafts import Upload, check_not_empty, read

KNOWN = ("content", "attachments", "flags", "nonce")
FILE = Upload("a.txt", b"one", "text/plain")


def test_a_request_becomes_a_draft() -> None:
    body = {"content": "Hello", "nonce": "n", "attachments": [{"id": 0}]}
    draft = read(body, {"0": FILE}, KNOWN)
    assert (draft.content, draft.nonce, draft.uploads) == ("Hello", "n", {"0": FILE})
    check_not_empty(draft)
    with pytest.raises(ApiError):
        check_not_empty(read({}, {}, KNOWN))


@pytest.mark.parametrize("body", [[], {"content": "x" * 2001}, {"nonce": "n" * 26}])
def test_a_request_that_discord_refuses_is_refused(body: Any) -> None:
    with pytest.raises(ApiError):
        read(body, {}, KNOWN)
