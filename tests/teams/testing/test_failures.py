"""Checks of what a client makes of failures: each can fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from teams.testing._failures import FAILURES
from tests.fakes.spoiled_clients import Silent, Stubborn, finds, without

MISTAKES: Mapping[str, Mapping[str, Any]] = {
    "refused_key_is_bad_credentials": {"kind": Silent},
    "unknown_model_is_told": {"kind": Silent},
    "bad_request_is_told": {"kind": Silent},
    "too_long_request_is_context_overflow": {"kind": Silent},
    "rate_limit_says_how_long": {"kind": Silent},
    "failed_server_is_unavailable": {"kind": Silent},
    "cut_answer_is_disconnected": {"kind": Silent},
    "garbage_is_a_bad_answer": {"kind": Silent},
    "error_within_a_stream_is_raised": {"kind": Silent},
    "stalled_answer_times_out": {"kind": Silent},
    "stalled_stream_times_out": {"kind": Silent},
    "cancelling_ends_the_request": {"kind": Stubborn},
    "cancelled_token_asks_nothing": {"request": without("cancellation_token")},
}


def test_each_check_has_its_mistake():
    assert [check.__name__ for check in FAILURES] == [*MISTAKES]  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", MISTAKES)
async def test_a_check_finds_its_mistake(name: str):
    await finds(name, MISTAKES[name])
