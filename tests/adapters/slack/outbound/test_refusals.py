"""A refusal holds for whose property it is, for an hour."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adapters.slack.testing import HOME, Refusal
from tests.adapters.slack.desk import Desk, speech

SESSION = "agents.sessions.setStatus"


async def streams(desk: Desk, *, person: str, channel: str) -> bool:
    """True if a new thread's message is begun as a stream."""
    place = await desk.thread(person, channel)
    before = len(desk.methods())
    await desk.surface.post(place, speech("Hello ", key=f"{person}/{channel}/{before}"))
    return desk.methods()[before] == "startStream"


@pytest.mark.parametrize(
    ("code", "same", "other_asker", "other_channel"),
    [
        ("user_not_found", False, True, True),
        ("missing_recipient_user_id", False, True, True),
        ("missing_recipient_team_id", False, True, True),
        ("invalid_arguments", True, True, True),
        ("channel_type_not_supported", False, False, True),
        ("not_authorized", False, False, True),
        ("feature_disabled", False, False, False),
        ("unknown_method", False, False, False),
    ],
)
async def test_a_refused_stream_is_remembered_for_its_owner(
    desk: Desk, code: str, *, same: bool, other_asker: bool, other_channel: bool
) -> None:
    desk.slack.fail("chat.startStream", Refusal(code))
    await desk.surface.post(desk.place, speech("Hello "))
    assert desk.methods() == ["startStream", "postMessage"]
    assert await streams(desk, person="alice", channel="general") == same
    assert await streams(desk, person="bob", channel="general") == other_asker
    assert await streams(desk, person="alice", channel="random") == other_channel
    desk.slack.clock.advance(3601)
    assert await streams(desk, person="alice", channel="general")


async def test_a_bot_without_a_user_id_costs_the_others_no_stream(desk: Desk) -> None:
    bot = replace(desk.place, asker=f"slack:{HOME}:B0WORKFLOW")
    await desk.surface.post(bot, speech("Hello "))
    assert desk.methods() == ["startStream", "postMessage"]
    await desk.surface.post(await desk.thread(), speech("Hello ", key="k2"))
    assert desk.methods()[2:] == ["startStream"]


@pytest.mark.parametrize(
    ("code", "here", "elsewhere"),
    [
        ("invalid_arguments", True, True),
        ("thread_not_found_yet", True, True),
        ("not_authorized", False, True),
        ("feature_disabled", False, False),
    ],
)
async def test_a_refused_session_is_remembered_for_its_owner(
    desk: Desk, code: str, *, here: bool, elsewhere: bool
) -> None:
    desk.slack.fail(SESSION, Refusal(code))
    await desk.surface.busy(desk.place, "working")
    assert len(desk.slack.calls("assistant.threads.setStatus")) == 1
    for channel, again in (("general", here), ("random", elsewhere)):
        made = len(desk.slack.calls(SESSION))
        await desk.surface.busy(await desk.thread("alice", channel), "working")
        assert (len(desk.slack.calls(SESSION)) > made) == again
    desk.slack.clock.advance(3601)
    made = len(desk.slack.calls(SESSION))
    await desk.surface.busy(await desk.thread("alice", "general"), "working")
    assert len(desk.slack.calls(SESSION)) > made
