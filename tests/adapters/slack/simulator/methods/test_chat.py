"""Messages: valid places, valid contents, and reading them back."""

from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.testing import AppSettings, SlackSimulator

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


async def test_every_kind_of_block_is_shown(slack: SlackSimulator, client: AsyncWebClient) -> None:
    def plain(text: str) -> dict:
        return {"type": "plain_text", "text": text}

    bold = {"type": "text", "text": "rich", "style": {"bold": True}}
    link = {"type": "link", "url": "https://example.com", "text": "link"}
    section = {"type": "rich_text_section", "elements": [bold, link]}
    task = {"type": "task_card", "task_id": "1", "title": "Look", "status": "complete"}
    blocks = [
        {"type": "header", "text": plain("Header")},
        text_block("text") | {"fields": [plain("field")]},
        {"type": "context", "elements": [plain("one"), plain("two")]},
        {"type": "divider"},
        {"type": "markdown", "text": "**markdown**"},
        {"type": "rich_text", "elements": [section]},
        {"type": "table", "rows": [[{"type": "raw_text", "text": "a"},
                                    {"type": "rich_text", "elements": [section]}]]},
        task,
        {"type": "plan", "title": "Plan", "tasks": [task]},
        button(),
    ]  # fmt: skip
    await client.chat_postMessage(channel=GENERAL, text="fallback", blocks=blocks)
    (shown,) = slack.messages("general")
    assert shown.text.split("\n") == [
        "Header", "text", "field", "one two", "---", "**markdown**", "richlink", "a | richlink",
        "[complete] Look", "Plan", "[complete] Look",
    ]  # fmt: skip
    assert (shown.fallback, shown.buttons) == ("fallback", ("Go",))
    assert shown.tasks == (("Look", "complete"),) * 2


@pytest.mark.parametrize(
    "block",
    [
        {"type": "section"},
        {"type": "section", "fields": [{"type": "mrkdwn", "text": "x"}] * 11},
        {"type": "header", "text": {"type": "mrkdwn", "text": "x"}},
        {"type": "context", "elements": [{"type": "mrkdwn", "text": "x"}] * 11},
        {"type": "actions", "elements": [button()["elements"][0]] * 26},
        {"type": "context_actions", "elements": []},
        {"type": "task_card", "task_id": "1", "title": ""},
        {"type": "task_card", "task_id": "1", "title": "x", "status": "odd"},
        {"type": "input", "label": {"type": "plain_text", "text": "x"}},
        {"type": "divider", "block_id": "x" * 256},
        {"type": "section", "text": {"type": "mrkdwn", "text": "x"},
         "accessory": {"type": "static_select", "options": [
             {"text": {"type": "plain_text", "text": "o"}, "value": "v"}] * 101}},
        {"type": "actions", "elements": [{"type": "static_select", "options": [
            {"text": {"type": "plain_text", "text": "o" * 76}, "value": "v" * 151}]}]},
    ],
    ids=lambda block: block["type"],
)  # fmt: skip
async def test_a_block_that_slack_would_not_take_is_refused(
    slack: SlackSimulator, client: AsyncWebClient, block: dict
) -> None:
    with pytest.raises(SlackApiError, match="invalid_blocks") as caught:
        await client.chat_postMessage(channel=GENERAL, text="x", blocks=[block])
    assert "/blocks/0" in str(caught.value.response.data)


async def test_a_message_can_be_deleted(slack: SlackSimulator, client: AsyncWebClient) -> None:
    asked = await slack.person("alice").says("general", "one")
    sent: Any = await client.chat_postMessage(
        channel="#general", text="two", thread_ts=asked.ts, reply_broadcast=True
    )
    await client.chat_delete(channel=GENERAL, ts=sent["ts"])
    assert [each.text for each in slack.messages("general")] == ["one"]
    with pytest.raises(SlackApiError, match="message_not_found"):
        await client.chat_update(channel=GENERAL, ts=sent["ts"], text="three")


async def test_a_post_to_a_person_is_a_direct_message(
    slack: SlackSimulator, client: AsyncWebClient
) -> None:
    alice = slack.person("alice")
    await client.chat_postMessage(channel=alice.id, text="psst")
    assert [each.text for each in slack.messages(alice.direct)] == ["psst"]
    with pytest.raises(SlackApiError, match="user_not_found"):
        await client.chat_postMessage(channel="U0NOBODY", text="psst")


async def test_what_is_private_can_not_be_read_without_its_scope(
    slack: SlackSimulator, client: AsyncWebClient
) -> None:
    alice = slack.person("alice")
    slack.add_channel("secret", "group", members=[alice])
    said = await alice.says("secret", "one")
    await slack.use_app(AppSettings(scopes=slack.world.app.scopes - {"groups:history"}))
    with pytest.raises(SlackApiError) as caught:
        await client.conversations_replies(channel="C0SECRET", ts=said.ts)
    assert caught.value.response["needed"] == "groups:history"


async def test_a_deleted_root_leaves_a_tombstone_until_its_last_reply_is_gone(
    slack: SlackSimulator, client: AsyncWebClient
) -> None:
    ann = slack.person("ann")
    root = await ann.says("general", "secret plans")
    reply = await ann.says("general", "a reply", thread=root)
    await ann.deletes(root)
    event = slack.deliveries[-1].event
    assert (event["subtype"], event["message"]["subtype"]) == ("message_changed", "tombstone")
    assert event["previous_message"]["text"] == "secret plans"
    answer = await client.conversations_replies(channel=root.channel, ts=root.ts)
    stands: list[dict[str, Any]] = answer["messages"] or []
    assert [each["text"] for each in stands] == ["This message was deleted.", "a reply"]
    assert stands[0]["hidden"] is True
    await client.chat_postMessage(channel=root.channel, text="still here", thread_ts=root.ts)
    mine = slack.messages("general", root)[-1]
    await ann.deletes(reply)
    await client.chat_delete(channel=root.channel, ts=mine.ts)
    with pytest.raises(SlackApiError, match="thread_not_found"):
        await client.conversations_replies(channel=root.channel, ts=root.ts)
