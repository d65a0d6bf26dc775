"""Messages: where they may go, what they may hold, and how they are read back."""

from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.simulator import AppSettings, SlackSimulator

GENERAL = "C0GENERAL"


def text_block(text: str) -> dict:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def button(**more) -> dict:
    element = {"type": "button", "action_id": "a", "text": {"type": "plain_text", "text": "Go"}}
    return {"type": "actions", "elements": [element | more]}


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"text": ""}, "no_text"),
        ({"blocks": [text_block("x")] * 51}, "msg_blocks_too_many"),
        ({"blocks": [text_block("x" * 3001)]}, "invalid_blocks"),
        ({"blocks": [text_block("x" * 2900)] * 5}, "msg_blocks_too_long"),
        ({"blocks": [button(value="v" * 2001)]}, "invalid_blocks"),
        ({"blocks": [button(action_id="v" * 256)]}, "invalid_blocks"),
        ({"blocks": [{"type": "actions", "elements": []}]}, "invalid_blocks"),
        ({"blocks": [{"type": "no_such"}]}, "invalid_blocks"),
        ({"blocks": [{"type": "header", "text": {"type": "plain_text", "text": "x" * 151}}]},
         "invalid_blocks"),
        ({"blocks": [text_block("x") | {"block_id": "b"}] * 2}, "invalid_blocks"),
        ({"blocks": "no json"}, "invalid_blocks_format"),
        ({"markdown_text": "x" * 12_001}, "msg_too_long"),
        ({"markdown_text": "x", "text": "y"}, "markdown_text_conflict"),
        ({"text": "x", "metadata": {"event_type": "t"}}, "invalid_metadata_schema"),
        ({"text": "x", "metadata": {"event_type": "t", "event_payload": {"p": "x" * 9000}}},
         "metadata_too_large"),
        ({"text": "x", "thread_ts": "1.000001"}, "thread_not_found"),
        ({"text": "x", "channel": "C0PRIVATE"}, "channel_not_found"),
        ({"text": "x", "channel": "C0OUTSIDE"}, "not_in_channel"),
        ({"text": "x", "channel": "C0OLD"}, "is_archived"),
    ],
)  # fmt: skip
async def test_a_message_is_refused(
    slack: SlackSimulator, client: AsyncWebClient, arguments: dict, error: str
) -> None:
    slack.add_channel("outside", with_app=False)
    slack.add_channel("old")
    slack.archive("old")
    with pytest.raises(SlackApiError) as caught:
        await client.api_call("chat.postMessage", json={"channel": GENERAL} | arguments)
    assert caught.value.response["error"] == error
    assert slack.messages("general") == []


async def test_a_reply_names_the_root_of_its_thread(
    slack: SlackSimulator, client: AsyncWebClient
) -> None:
    asked = await slack.person("alice").says("general", "one")
    reply: Any = await client.chat_postMessage(channel=GENERAL, text="two", thread_ts=asked.ts)
    with pytest.raises(SlackApiError, match="cannot_reply_to_message"):
        await client.chat_postMessage(channel=GENERAL, text="three", thread_ts=reply["ts"])
    assert [each.text for each in slack.messages("general", asked)] == ["one", "two"]


async def test_text_beyond_the_limit_is_cut_off(
    slack: SlackSimulator, client: AsyncWebClient
) -> None:
    await client.chat_postMessage(channel=GENERAL, text="x" * 50_000)
    assert len(slack.messages("general")[0].text) == 40_000


async def test_only_ones_own_messages_can_be_changed(
    slack: SlackSimulator, client: AsyncWebClient
) -> None:
    alice = slack.person("alice")
    said = await alice.says("general", "mine")
    for call, error in (
        (client.chat_update(channel=GENERAL, ts=said.ts, text="x"), "cant_update_message"),
        (client.chat_delete(channel=GENERAL, ts=said.ts), "cant_delete_message"),
        (client.chat_update(channel=GENERAL, ts="1.0", text="x"), "message_not_found"),
    ):
        with pytest.raises(SlackApiError, match=error):
            await call


async def test_a_private_message_is_seen_by_one_person_and_can_not_be_changed(
    slack: SlackSimulator, client: AsyncWebClient
) -> None:
    alice, bob = slack.person("alice"), slack.person("bob")
    sent: Any = await client.chat_postEphemeral(channel=GENERAL, user=alice.id, text="for you")
    assert [each.text for each in slack.private(alice)] == ["for you"]
    assert slack.private(bob) == []
    assert slack.messages("general") == []
    with pytest.raises(SlackApiError, match="message_not_found"):
        await client.chat_update(channel=GENERAL, ts=sent["message_ts"], text="x")


async def test_an_update_keeps_blocks_only_if_it_brings_no_text(
    slack: SlackSimulator, client: AsyncWebClient
) -> None:
    sent: Any = await client.chat_postMessage(
        channel=GENERAL, text="f", blocks=[text_block("shown")]
    )
    await client.chat_update(
        channel=GENERAL, ts=sent["ts"], attachments=[{"text": "below", "fallback": "b"}]
    )
    assert slack.messages("general")[0].text == "shown"
    await client.chat_update(channel=GENERAL, ts=sent["ts"], text="plain")
    assert slack.messages("general")[0].text == "plain"
    assert slack.messages("general")[0].edited


async def test_a_name_is_shown_only_with_the_scope_for_it(
    slack: SlackSimulator, client: AsyncWebClient
) -> None:
    await client.chat_postMessage(channel=GENERAL, text="x", username="Planner")
    scopes = slack.world.app.scopes - {"chat:write.customize"}
    await slack.use_app(AppSettings(scopes=scopes))
    await client.chat_postMessage(channel=GENERAL, text="x", username="Planner")
    assert [each.name for each in slack.messages("general")] == ["Planner", "parley"]


async def test_a_thread_is_read_back_with_metadata_where_that_is_asked_for(
    slack: SlackSimulator, client: AsyncWebClient
) -> None:
    asked = await slack.person("alice").says("general", "one")
    metadata = {"event_type": "turn", "event_payload": {"id": "t1"}}
    await client.chat_postMessage(
        channel=GENERAL, text="two", thread_ts=asked.ts, metadata=metadata
    )
    found: Any = await client.conversations_replies(channel=GENERAL, ts=asked.ts)
    assert [each["text"] for each in found["messages"]] == ["one", "two"]
    assert found["messages"][0]["reply_count"] == 1
    assert "metadata" not in found["messages"][1]
    found = await client.conversations_replies(
        channel=GENERAL, ts=asked.ts, include_all_metadata=True
    )
    assert found["messages"][1]["metadata"] == metadata


async def test_history_comes_in_pages_from_the_newest(
    slack: SlackSimulator, client: AsyncWebClient
) -> None:
    alice = slack.person("alice")
    for number in range(5):
        await alice.says("general", str(number))
    pages: Any = await client.conversations_history(channel=GENERAL, limit=2)
    texts = [[each["text"] for each in page["messages"]] async for page in pages]
    assert texts == [["4", "3"], ["2", "1"], ["0"]]


async def test_a_reaction_is_added_once(slack: SlackSimulator, client: AsyncWebClient) -> None:
    said = await slack.person("alice").says("general", "one")
    where = {"channel": GENERAL, "timestamp": said.ts}
    await client.reactions_add(name="eyes", **where)
    with pytest.raises(SlackApiError, match="already_reacted"):
        await client.reactions_add(name="eyes", **where)
    assert slack.messages("general")[0].reactions == ("eyes",)
    await client.reactions_remove(name="eyes", **where)
    with pytest.raises(SlackApiError, match="no_reaction"):
        await client.reactions_remove(name="eyes", **where)
