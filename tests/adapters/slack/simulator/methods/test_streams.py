"""Streams and sessions run, end, expire and stop as Slack's do."""

from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.testing import SlackSimulator

GENERAL = "C0GENERAL"


class Stream:
    def __init__(self, slack: SlackSimulator, client: AsyncWebClient) -> None:
        self.slack, self.client = slack, client
        self.alice = slack.person("alice")
        self.ts: Any = ""
        self.root = ""

    async def start(self, **more) -> None:
        asked = await self.alice.asks("general", "hello")
        self.root = asked.ts
        arguments: Any = {
            "channel": GENERAL,
            "thread_ts": asked.ts,
            "recipient_team_id": "T0HOME",
            "recipient_user_id": self.alice.id,
        }
        started = await self.client.chat_startStream(**arguments | more)
        self.ts = started["ts"]

    async def append(self, text: str, **more):
        arguments: Any = {"chunks": [{"type": "markdown_text", "text": text}]} | more
        return await self.client.chat_appendStream(channel=GENERAL, ts=self.ts, **arguments)

    async def stop(self, **more):
        return await self.client.chat_stopStream(channel=GENERAL, ts=self.ts, **more)

    @property
    def shown(self):
        return next(each for each in self.slack.messages("general") if each.ts == self.ts)

    @property
    def status(self) -> str:
        session = self.slack.session("general", self.root)
        return session.status if session else "none"


@pytest.fixture
def stream(slack: SlackSimulator, client: AsyncWebClient) -> Stream:
    return Stream(slack, client)


async def test_a_stream_keeps_the_session_processing_until_it_is_stopped(stream: Stream) -> None:
    await stream.start()
    assert stream.status == "processing"
    assert stream.slack.busy
    await stream.append("one ")
    await stream.append("two")
    assert stream.shown.text == "one two"
    assert stream.slack.open_streams
    await stream.stop()
    assert stream.shown.stream == "stopped"
    assert stream.status == "active"
    assert not stream.slack.busy
    with pytest.raises(SlackApiError, match="message_not_in_streaming_state"):
        await stream.append("late")


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"recipient_team_id": None}, "missing_recipient_team_id"),
        ({"recipient_user_id": None}, "missing_recipient_user_id"),
        ({"recipient_team_id": "T0OTHER"}, "user_not_found"),
        ({"recipient_user_id": "U0NOBODY"}, "user_not_found"),
        ({"thread_ts": None}, "invalid_arguments"),
        ({"thread_ts": "1.000001"}, "thread_not_found"),
        ({"markdown_text": "a", "chunks": [{"type": "markdown_text", "text": "b"}]},
         "cannot_provide_both_markdown_text_and_chunks"),
        ({"chunks": [{"type": "nonsense"}]}, "invalid_chunks"),
        ({"chunks": [{"type": "task_update", "id": "1", "title": "t", "status": "odd"}]},
         "invalid_chunks"),
        ({"markdown_text": "x" * 12_001}, "msg_too_long"),
        ({"chunks": [{"type": "blocks", "blocks": [{"type": "divider"}] * 51}]},
         "msg_blocks_too_many"),
    ],
)  # fmt: skip
async def test_a_start_is_refused(stream: Stream, more: dict, error: str) -> None:
    with pytest.raises(SlackApiError) as caught:
        await stream.start(**more)
    assert caught.value.response["error"] == error
    assert stream.slack.open_streams == []


async def test_text_and_chunks_do_not_mix_over_one_stream(stream: Stream) -> None:
    await stream.start(markdown_text="one")
    with pytest.raises(SlackApiError, match="streaming_mode_mismatch"):
        await stream.append("two")
    with pytest.raises(SlackApiError, match="markdown_text_or_chunks_required"):
        await stream.client.chat_appendStream(channel=GENERAL, ts=stream.ts)
    assert stream.shown.text == "one"


async def test_a_stream_expires_and_is_stuck_until_its_message_is_updated(stream: Stream) -> None:
    await stream.start()
    await stream.append("one")
    stream.slack.clock.advance(305)
    await stream.append(" two")
    stream.slack.clock.advance(1)
    for call in (stream.append(" three"), stream.stop()):
        with pytest.raises(SlackApiError, match="message_not_in_streaming_state"):
            await call
    assert stream.shown.stream == "expired"
    await stream.client.chat_update(channel=GENERAL, ts=stream.ts, markdown_text="one two three")
    assert stream.shown.text == "one two three"
    assert stream.slack.open_streams == []


async def test_a_running_stream_can_not_be_updated(stream: Stream) -> None:
    await stream.start()
    with pytest.raises(SlackApiError, match="streaming_state_conflict"):
        await stream.client.chat_update(channel=GENERAL, ts=stream.ts, text="x")


async def test_stop_ends_the_streams_and_leaves_the_status_to_the_app(stream: Stream) -> None:
    await stream.start()
    await stream.append("one")
    delivery = await stream.alice.stops("general", stream.root)
    assert delivery is not None
    assert delivery.event["type"] == "agent_session_stopped"
    assert delivery.event["streaming_message_ts"] == [stream.ts]
    assert stream.status == "processing"
    with pytest.raises(SlackApiError, match="stopped_by_user"):
        await stream.append("two")
    await stream.client.agents_sessions_setStatus(
        channel_id=GENERAL, status="active", thread_ts=stream.root
    )
    assert stream.slack.busy == []
    with pytest.raises(LookupError, match="no Stop button"):
        await stream.alice.stops("general", stream.root)


async def test_tasks_replace_their_title_and_append_their_details(stream: Stream) -> None:
    def update(**more) -> dict:
        return {"type": "task_update", "id": "t", "title": "Search", **more}

    await stream.start(chunks=[update(status="in_progress", details="one ")])
    await stream.append("", chunks=[update(title="Searched", status="complete", details="two")])
    assert stream.shown.tasks == (("Searched", "complete"),)
    assert stream.shown.blocks[0]["details"] == "one two"


async def test_a_plan_shows_its_tasks_together(stream: Stream) -> None:
    tasks = [{"type": "task_update", "id": i, "title": f"Step {i}"} for i in "12"]
    await stream.start(task_display_mode="plan", chunks=[*tasks])
    await stream.append("", chunks=[{"type": "plan_update", "title": "The plan"}])
    assert stream.shown.text == "The plan\n[pending] Step 1\n[pending] Step 2"


async def test_tasks_that_grow_too_large_can_not_be_stopped(stream: Stream) -> None:
    await stream.start()
    for _ in range(6):
        task = {"type": "task_update", "id": "t", "title": "x", "details": "y" * 10_000}
        await stream.append("", chunks=[task])
    with pytest.raises(SlackApiError, match="msg_too_long"):
        await stream.stop()


async def test_the_last_of_several_streams_releases_the_session(
    stream: Stream, slack: SlackSimulator, client: AsyncWebClient
) -> None:
    await stream.start()
    other: Any = await client.chat_startStream(
        channel=GENERAL,
        thread_ts=stream.root,
        recipient_team_id="T0HOME",
        recipient_user_id=stream.alice.id,
    )
    await stream.stop()
    assert stream.status == "processing"
    await client.chat_stopStream(channel=GENERAL, ts=other["ts"])
    assert stream.status == "active"


async def test_a_note_and_a_status_end_by_themselves_in_the_end(
    stream: Stream, client: AsyncWebClient
) -> None:
    asked = await stream.alice.asks("general", "hello")
    await client.assistant_threads_setStatus(
        channel_id=GENERAL, thread_ts=asked.ts, status="is thinking..."
    )
    assert stream.slack.busy
    stream.slack.clock.advance(121)
    assert not stream.slack.busy
    await client.agents_sessions_setStatus(
        channel_id=GENERAL, thread_ts=asked.ts, status="processing"
    )
    stream.slack.clock.advance(121)
    assert stream.slack.busy
    stream.slack.clock.advance(3600)
    assert not stream.slack.busy
