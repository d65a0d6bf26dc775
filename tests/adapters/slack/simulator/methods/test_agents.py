"""Sessions, notes, titles and prompts: what people see of an agent's work."""

from dataclasses import replace
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.simulator.state import Message
from adapters.slack.testing import SlackSimulator

GENERAL = "C0GENERAL"
PROMPT = {"title": "Plan", "message": "Plan my day"}


@pytest.fixture
async def asked(slack: SlackSimulator) -> Message:
    return await slack.person("alice").asks("general", "hello")


async def test_a_title_is_used_where_the_session_is_made_and_not_later(
    slack: SlackSimulator, client: AsyncWebClient, asked: Message
) -> None:
    where: Any = {"channel_id": GENERAL, "thread_ts": asked.ts}
    made: Any = await client.agents_sessions_setStatus(status="processing", title="One", **where)
    assert (made["status"], made["agent_status"], made["title"]) == (
        "processing", "processing", "One",
    )  # fmt: skip
    again: Any = await client.agents_sessions_setStatus(status="suspended", title="Two", **where)
    assert again["title"] == "One"
    renamed: Any = await client.agents_sessions_rename(title="Three", **where)
    assert renamed["title"] == "Three"
    session = slack.session("general", asked)
    assert session is not None
    assert (session.status, session.title) == ("suspended", "Three")


async def test_a_session_without_a_title_takes_none_with_a_status(
    slack: SlackSimulator, client: AsyncWebClient, asked: Message
) -> None:
    where: Any = {"channel_id": GENERAL, "thread_ts": asked.ts}
    await client.agents_sessions_setStatus(status="processing", **where)
    again: Any = await client.agents_sessions_setStatus(status="active", title="One", **where)
    assert again["title"] == ""


async def test_a_stream_makes_the_session_without_a_title(
    slack: SlackSimulator, client: AsyncWebClient, asked: Message
) -> None:
    where: Any = {"channel_id": GENERAL, "thread_ts": asked.ts}
    await client.chat_startStream(
        channel=GENERAL,
        thread_ts=asked.ts,
        recipient_team_id="T0HOME",
        recipient_user_id="U0ALICE",
    )
    later: Any = await client.agents_sessions_setStatus(status="active", title="One", **where)
    assert later["title"] == ""
    await client.agents_sessions_rename(title="Two", **where)


async def test_what_is_no_session_can_not_be_renamed(
    slack: SlackSimulator, client: AsyncWebClient, asked: Message
) -> None:
    where: Any = {"channel_id": GENERAL, "thread_ts": asked.ts}
    with pytest.raises(SlackApiError, match="session_not_found"):
        await client.agents_sessions_rename(title="One", **where)
    await client.assistant_threads_setStatus(status="is reading", **where)
    with pytest.raises(SlackApiError, match="session_not_found"):
        await client.agents_sessions_rename(title="One", **where)
    with pytest.raises(LookupError):
        await slack.person("alice").renames("general", asked, "Mine")


async def test_an_expired_stream_leaves_its_session_active(
    slack: SlackSimulator, client: AsyncWebClient, asked: Message
) -> None:
    await client.chat_startStream(
        channel=GENERAL,
        thread_ts=asked.ts,
        recipient_team_id="T0HOME",
        recipient_user_id="U0ALICE",
    )
    assert slack.busy != []
    slack.clock.advance(slack.world.stream_life + 1)
    assert slack.busy == []


@pytest.mark.parametrize("method", ["setStatus", "rename"])
async def test_both_methods_are_tier_3(
    slack: SlackSimulator, client: AsyncWebClient, asked: Message, method: str
) -> None:
    arguments = {"channel_id": GENERAL, "thread_ts": asked.ts, "status": "active", "title": "One"}
    await client.api_call("agents.sessions.setStatus", json=arguments)
    slack.clock.advance(60)
    for _ in range(50):
        await client.api_call(f"agents.sessions.{method}", json=arguments)
    with pytest.raises(SlackApiError, match="ratelimited"):
        await client.api_call(f"agents.sessions.{method}", json=arguments)


@pytest.mark.parametrize(
    ("method", "arguments", "error"),
    [
        ("agents.sessions.setStatus", {"status": "thinking hard"}, "invalid_status"),
        ("agents.sessions.setStatus", {"status": "active", "thread_ts": ""}, "thread_ts_required"),
        ("agents.sessions.setStatus", {"status": "active", "channel_id": "C0OUT"},
         "not_authorized"),
        ("agents.sessions.setStatus", {"status": "active", "initiator_user_id": "U0NOBODY"},
         "user_not_found"),
        ("agents.sessions.setStatus", {"status": "active", "title": "x" * 201},
         "invalid_arguments"),
        ("agents.sessions.rename", {"title": "x" * 201}, "invalid_arguments"),
        ("assistant.threads.setStatus", {"status": "x", "loading_messages": ["x"] * 11},
         "invalid_arguments"),
        ("assistant.threads.setStatus", {"status": "x", "channel_id": "C0OUT"},
         "channel_not_found"),
        ("assistant.threads.setSuggestedPrompts", {"prompts": []}, "invalid_arguments"),
        ("assistant.threads.setSuggestedPrompts", {"prompts": [PROMPT] * 5}, "invalid_arguments"),
        ("assistant.threads.setSuggestedPrompts", {"prompts": [{"title": "x"}]},
         "invalid_arguments"),
    ],
)  # fmt: skip
async def test_what_no_agent_may_say_is_refused(
    slack: SlackSimulator,
    client: AsyncWebClient,
    asked: Message,
    method: str,
    arguments: dict[str, Any],
    error: str,
) -> None:
    slack.add_channel("out", with_app=False)
    with pytest.raises(SlackApiError, match=error):
        await client.api_call(
            method, json={"channel_id": GENERAL, "thread_ts": asked.ts} | arguments
        )
    assert slack.busy == []


async def test_a_note_ends_with_the_next_message(
    slack: SlackSimulator, client: AsyncWebClient, asked: Message
) -> None:
    where: Any = {"channel_id": GENERAL, "thread_ts": asked.ts}
    await client.assistant_threads_setStatus(
        status="is reading", loading_messages=["Reading...", "Still reading..."], **where
    )
    session = slack.session("general", asked)
    assert session is not None
    assert (session.note, len(session.loading)) == ("is reading", 2)
    await client.chat_postMessage(channel=GENERAL, thread_ts=asked.ts, text="Read.")
    assert slack.busy == []


async def test_an_empty_note_ends_the_status_it_was_written_over(
    slack: SlackSimulator, client: AsyncWebClient, asked: Message
) -> None:
    where: Any = {"channel_id": GENERAL, "thread_ts": asked.ts}
    await client.agents_sessions_setStatus(status="processing", **where)
    await client.assistant_threads_setStatus(status="", **where)
    assert slack.busy == []


async def test_titles_and_prompts_are_kept_with_the_thread(
    slack: SlackSimulator, client: AsyncWebClient
) -> None:
    alice = slack.person("alice")
    await alice.opens_app()
    await client.assistant_threads_setSuggestedPrompts(
        channel_id=alice.direct, thread_ts="", prompts=[PROMPT]
    )
    offered = slack.session(alice.direct, "")
    assert offered is not None
    assert offered.prompts == [PROMPT]
    asked = await alice.tells("Plan my day")
    await client.assistant_threads_setTitle(
        channel_id=alice.direct, thread_ts=asked.ts, title="My day"
    )
    session = slack.session(alice.direct, asked)
    assert session is not None
    assert session.title == "My day"


async def test_without_the_event_people_get_no_stop_button(
    slack: SlackSimulator, client: AsyncWebClient, asked: Message
) -> None:
    app = slack.world.app
    await slack.use_app(replace(app, events=app.events - {"agent_session_stopped"}))
    set_status: Any = await client.agents_sessions_setStatus(
        channel_id=GENERAL, thread_ts=asked.ts, status="processing"
    )
    assert set_status["warning"] == "missing_agent_session_stopped_event_subscription"
    assert set_status["response_metadata"] == {"warnings": [set_status["warning"]]}
    with pytest.raises(LookupError, match="no Stop button"):
        await slack.person("alice").stops("general", asked)


async def test_a_workspace_may_have_no_agents(
    slack: SlackSimulator, client: AsyncWebClient, asked: Message
) -> None:
    slack.world.workspaces["T0HOME"].agents = False
    with pytest.raises(SlackApiError, match="feature_disabled"):
        await client.agents_sessions_setStatus(
            channel_id=GENERAL, thread_ts=asked.ts, status="processing"
        )
    await client.chat_startStream(
        channel=GENERAL,
        thread_ts=asked.ts,
        recipient_team_id="T0HOME",
        recipient_user_id="U0ALICE",
    )
    assert slack.busy == []
