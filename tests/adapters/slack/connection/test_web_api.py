"""Slack's refusals and silences, as the gateway's errors."""

import asyncio
from dataclasses import replace

import pytest

from adapters.slack.connection.web_api import Calls
from adapters.slack.testing import (
    ConnectionReset,
    Delay,
    MalformedAnswer,
    Refusal,
    ServerError,
    TooManyRequests,
    TruncatedAnswer,
)
from gateway.adapter import AuthError
from gateway.errors import NodeCutOff
from gateway.surface import (
    BusyState,
    CallRejected,
    Line,
    MessageGone,
    OutcomeUnknown,
    PlatformUnreachable,
    RateLimited,
)
from tests.adapters.slack.desk import Desk, advancing, part, speech

HELLO = part(Line(text="Hello"))


@pytest.mark.chaos
@pytest.mark.parametrize(
    "fault",
    [
        ConnectionReset(applied=True),
        ConnectionReset(),
        ServerError(applied=True),
        ServerError(503),
        TruncatedAnswer(),
        MalformedAnswer(),
        Delay(60, applied=True),
        Refusal("internal_error"),
        Refusal("fatal_error"),
    ],
    ids=lambda fault: f"{type(fault).__name__} {getattr(fault, 'applied', '')}",
)
async def test_a_post_without_an_answer_is_made_once_and_looked_up(desk: Desk, fault) -> None:
    desk.surface = desk.restarted()
    desk.slack.fail("chat.postMessage", fault)
    with pytest.raises(OutcomeUnknown):
        await desk.surface.post(desk.place, HELLO)
    assert len(desk.slack.calls("chat.postMessage")) == 1
    stands = bool(desk.messages())
    assert bool(await desk.surface.find(desk.place, "k1", 0.0, speech=True)) == stands


async def test_no_answer_silences_the_bot_for_more_than_an_hour(desk: Desk) -> None:
    desk.slack.fail("chat.postMessage", TooManyRequests(10**12, plainly=True))
    with pytest.raises(RateLimited) as limited:
        await desk.surface.post(desk.place, HELLO)
    assert limited.value.retry_after == 3600


@pytest.mark.parametrize("limit", [TooManyRequests(17), TooManyRequests(17, plainly=True)])
async def test_a_rate_limit_says_for_how_long(desk: Desk, limit: TooManyRequests) -> None:
    desk.slack.fail("chat.postMessage", limit)
    with pytest.raises(RateLimited) as limited:
        await desk.surface.post(desk.place, HELLO)
    assert limited.value.retry_after == 17
    assert await desk.surface.find(desk.place, "k1", 0.0, speech=True) is None


@pytest.mark.parametrize(
    ("code", "words"),
    [("is_archived", "archived"), ("not_in_channel", "invite"), ("channel_not_found", "channel")],
)
async def test_a_place_that_is_closed_is_gone(desk: Desk, code: str, words: str) -> None:
    desk.slack.fail("*", Refusal(code), times=3)  # a stream's session is made before it
    for text in (HELLO, speech("Hello ")):
        with pytest.raises(CallRejected, match=words) as refused:
            await desk.surface.post(desk.place, text)
        assert refused.value.gone


async def test_a_scope_that_is_missing_is_named(desk: Desk) -> None:
    desk.slack.fail("chat.postMessage", Refusal("missing_scope", {"needed": "chat:write"}))
    with pytest.raises(CallRejected, match="lacks the scope chat:write") as refused:
        await desk.surface.post(desk.place, HELLO)
    assert not refused.value.gone


async def test_credentials_that_are_worth_nothing_end_the_adapter(desk: Desk) -> None:
    desk.slack.fail("chat.postMessage", Refusal("token_revoked"))
    with pytest.raises(AuthError, match="token_revoked") as refused:
        await desk.surface.post(desk.place, HELLO)
    assert desk.slack.bot_token not in str(refused.value)


async def test_a_message_that_was_removed_can_not_be_changed(desk: Desk) -> None:
    message = await desk.surface.post(desk.place, HELLO)
    desk.slack.channel("general").messages[message].hidden = True
    with pytest.raises(MessageGone):
        await desk.surface.edit(desk.place, message, part(Line(text="Goodbye")))


async def test_slack_that_can_not_be_reached_has_taken_nothing(desk: Desk) -> None:
    await desk.slack.__aexit__(None, None, None)
    for _ in range(10):  # what was open is known to be closed
        await asyncio.sleep(0)
    with pytest.raises(PlatformUnreachable):
        await desk.surface.post(desk.place, HELLO)


async def test_a_thread_that_can_not_be_read_leaves_it_unclear(desk: Desk) -> None:
    desk.slack.fail("conversations.replies", Refusal("missing_scope"))
    with pytest.raises(OutcomeUnknown):
        await desk.surface.find(desk.place, "k1", 0.0, speech=True)


async def test_where_reading_is_scarce_one_waits_and_the_others_are_told_so(desk: Desk) -> None:
    other = await desk.thread()
    desk.slack.fail("conversations.replies", TooManyRequests(60))
    with pytest.raises(RateLimited):
        await desk.surface.find(desk.place, "k1", 0.0, speech=True)
    with pytest.raises(OutcomeUnknown):
        await desk.surface.find(other, "k2", 0.0, speech=True)
    desk.slack.clock.advance(61)
    assert await desk.surface.find(desk.place, "k1", 0.0, speech=True) is None


async def test_of_two_streams_that_nobody_knows_none_is_taken(desk: Desk) -> None:
    await desk.surface.post(desk.place, speech("A ", key="k1"))
    await desk.surface.post(desk.place, speech("B ", key="k2"))
    with pytest.raises(OutcomeUnknown):
        await desk.restarted().find(desk.place, "k2", 0.0, speech=True)


async def test_a_stream_that_this_process_has_made_is_no_other_part(desk: Desk) -> None:
    await desk.surface.post(desk.place, speech("A ", key="k1"))
    assert await desk.surface.find(desk.place, "k2", 0.0, speech=True) is None


async def test_what_stood_there_before_is_not_what_is_looked_for(desk: Desk) -> None:
    await desk.surface.post(desk.place, speech("A ", key="k1"))
    since = desk.slack.clock.time() + 1
    assert await desk.restarted().find(desk.place, "k2", since, speech=True) is None


async def test_the_status_is_shown_and_taken_away(desk: Desk) -> None:
    shown: dict[BusyState, str] = {
        "working": "processing",
        "waiting": "suspended",
        "idle": "active",
    }
    for state, status in shown.items():
        await desk.surface.busy(desk.place, state)
        session = desk.slack.session("general", desk.asked)
        assert session is not None
        assert session.status == status
    assert desk.slack.busy == []


async def test_a_stream_that_ends_while_the_team_works_leaves_the_status(desk: Desk) -> None:
    await desk.surface.busy(desk.place, "working")
    message = await desk.surface.post(desk.place, speech("A "))
    await desk.surface.edit(desk.place, message, speech("A.", growing=False))
    assert [session.status for session in desk.slack.busy] == ["processing"]
    await desk.surface.busy(desk.place, "idle")
    assert desk.slack.busy == []


async def test_an_app_without_sessions_shows_a_line_and_takes_it_away(desk: Desk) -> None:
    await desk.slack.use_app(replace(desk.slack.world.app, agent=False))
    await desk.surface.busy(desk.place, "working")
    session = desk.slack.session("general", desk.asked)
    assert session is not None
    assert session.note
    await desk.surface.busy(desk.place, "idle")
    assert not session.note
    assert len(desk.slack.calls("agents.sessions.setStatus")) == 1


@pytest.mark.parametrize("fault", [TooManyRequests(5), ConnectionReset(), ServerError(503)])
async def test_a_status_is_taken_away_even_if_slack_does_not_listen_at_first(
    desk: Desk, fault
) -> None:
    await desk.surface.busy(desk.place, "working")
    desk.slack.fail("agents.sessions.setStatus", fault)
    await desk.surface.busy(desk.place, "idle")
    async with desk.surface.maintained(), advancing(desk.slack, 1.0):
        await desk.slack.until(lambda: not desk.slack.busy)


async def test_a_node_that_is_cut_off_reads_and_changes_nothing(desk: Desk) -> None:
    def refuse() -> None:
        raise NodeCutOff

    posted = await desk.surface.post(desk.place, HELLO)
    desk.clients.check_speaking = refuse
    before = [each.method for each in desk.slack.calls()]
    with pytest.raises(NodeCutOff):
        await desk.surface.post(desk.place, speech("Hello "))
    with pytest.raises(NodeCutOff):
        await desk.surface.edit(desk.place, posted, part(Line(text="Bye")))
    with pytest.raises(NodeCutOff):
        await Calls(desk.clients).send(f"{desk.slack.api_url}upload", b"a file")
    assert [each.method for each in desk.slack.calls()] == before
    assert await desk.surface.find(desk.place, "k1", 0.0, speech=True) == posted
