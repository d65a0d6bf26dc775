"""People's actions reach the app in Slack's form."""

from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.testing import SlackSimulator


def events(slack: SlackSimulator) -> list[dict[str, Any]]:
    return [each.event for each in slack.deliveries]


async def test_a_mention_is_told_twice_with_one_ts(slack: SlackSimulator) -> None:
    said = await slack.person("alice").says("general", "@parley and @bob, hello")
    message, mention = events(slack)
    assert (message["type"], mention["type"]) == ("message", "app_mention")
    assert message["ts"] == mention["ts"] == said.ts
    assert message["client_msg_id"] == mention["client_msg_id"]
    ids = [each.payload["event_id"] for each in slack.deliveries]
    assert ids[0] != ids[1]
    assert message["text"] == "<@U0PARLEY> and @bob, hello"
    assert message["channel_type"] == "channel"


async def test_a_direct_message_is_told_once(slack: SlackSimulator) -> None:
    alice = slack.person("alice")
    await alice.tells("@parley hello")
    (message,) = events(slack)
    assert message["channel_type"] == "im"
    assert message["channel"] == alice.direct


async def test_a_reply_names_its_thread_and_who_began_it(slack: SlackSimulator) -> None:
    root = await slack.person("alice").says("general", "one")
    await slack.person("bob").says("general", "two", thread=root)
    _, reply = events(slack)
    assert reply["thread_ts"] == root.ts
    assert reply["parent_user_id"] == "U0ALICE"


async def test_edits_unfurls_and_deletions_are_told_apart(slack: SlackSimulator) -> None:
    alice = slack.person("alice")
    said = await alice.says("general", "see https://example.com")
    await slack.unfurls(said)
    await alice.edits(said, "see nothing")
    await alice.deletes(said)
    _, unfurled, edited, deleted = events(slack)
    assert unfurled["subtype"] == edited["subtype"] == "message_changed"
    assert "edited" not in unfurled["message"]
    assert unfurled["message"]["text"] == unfurled["previous_message"]["text"]
    assert edited["message"]["edited"]["user"] == alice.id
    assert edited["previous_message"]["text"] == "see https://example.com"
    assert (deleted["subtype"], deleted["deleted_ts"]) == ("message_deleted", said.ts)
    assert slack.messages("general") == []


async def test_the_apps_own_messages_come_back_as_echoes(
    slack: SlackSimulator, client: AsyncWebClient
) -> None:
    sent = await client.chat_postMessage(channel="C0GENERAL", text="hello")
    await client.chat_update(channel="C0GENERAL", ts=str(sent["ts"]), text="hello again")
    posted, changed = events(slack)
    assert posted["bot_id"] == changed["message"]["bot_id"] == "B0PARLEY"


async def test_another_bot_writes_as_one(slack: SlackSimulator, client: AsyncWebClient) -> None:
    await slack.bot_says("ci", "general", "@parley the build is broken")
    message, mention = events(slack)
    assert message["bot_id"] == mention["bot_id"] == "B0CI"
    assert "client_msg_id" not in message
    found: Any = await client.users_info(user=message["user"])
    assert found["user"]["is_bot"]


async def test_people_of_other_workspaces_and_guests_are_marked(
    slack: SlackSimulator, client: AsyncWebClient
) -> None:
    slack.add_workspace("T0THEM", "Them")
    eve = slack.person("eve", workspace="T0THEM")
    gus = slack.person("gus", guest=True)
    slack.add_channel("shared", shared_with="T0THEM")
    slack.join("shared", eve, gus)
    await eve.asks("shared", "hello")
    message, mention = events(slack)
    assert message["user_team"] == mention["user_team"] == "T0THEM"
    assert slack.deliveries[0].payload["team_id"] == "T0HOME"
    assert slack.deliveries[0].payload["is_ext_shared_channel"]
    stranger: Any = await client.users_info(user=eve.id)
    guest: Any = await client.users_info(user=gus.id)
    assert stranger["user"]["is_stranger"]
    assert guest["user"]["is_restricted"]


async def test_the_app_hears_nothing_of_places_where_it_is_not(slack: SlackSimulator) -> None:
    slack.add_channel("elsewhere", with_app=False)
    alice = slack.person("alice")
    slack.join("elsewhere", alice)
    await alice.says("elsewhere", "hello")
    assert slack.deliveries == []
    slack.remove_app_from("general")
    await alice.says("general", "hello")
    assert [each["type"] for each in events(slack)] == ["member_left_channel"]


async def test_only_subscribed_events_are_told(slack: SlackSimulator) -> None:
    app = slack.world.app
    slack.world.app = app.with_manifest(
        {"settings": {"event_subscriptions": {"bot_events": ["message.im"]}}}
    )
    alice = slack.person("alice")
    await alice.asks("general", "hello")
    await alice.tells("hello")
    assert [each["channel_type"] for each in events(slack)] == ["im"]


async def test_reactions_files_titles_and_opening_are_told(slack: SlackSimulator) -> None:
    alice = slack.person("alice")
    said = await alice.tells("hello")
    await alice.reacts(said, "eyes")
    await alice.unreacts(said, "eyes")
    await alice.uploads("general", "plan.md", b"# Plan", text="look")
    await alice.opens_app()
    message, added, removed, shared, opened = events(slack)
    assert message["type"] == "message"
    assert (added["type"], added["item"]["ts"]) == ("reaction_added", said.ts)
    assert removed["type"] == "reaction_removed"
    assert (shared["subtype"], shared["files"][0]["name"]) == ("file_share", "plan.md")
    assert (opened["type"], opened["tab"]) == ("app_home_opened", "messages")


async def test_a_session_can_be_renamed(slack: SlackSimulator, client: AsyncWebClient) -> None:
    alice = slack.person("alice")
    asked = await alice.asks("general", "hello")
    await client.agents_sessions_setStatus(
        channel_id="C0GENERAL", thread_ts=asked.ts, status="processing", title="Hello"
    )
    delivery = await alice.renames("general", asked, "Greetings")
    assert delivery is not None
    assert delivery.event["title"] == "Greetings"
    session = slack.session("general", asked)
    assert session is not None
    assert session.title == "Greetings"


async def test_user_groups_have_members(slack: SlackSimulator, client: AsyncWebClient) -> None:
    group = slack.user_group("ops", slack.person("alice"))
    members: Any = await client.usergroups_users_list(usergroup=group)
    assert members["users"] == ["U0ALICE"]


async def test_nobody_clicks_what_is_not_there(
    slack: SlackSimulator, client: AsyncWebClient
) -> None:
    sent: Any = await client.chat_postMessage(channel="C0GENERAL", text="no buttons")
    alice = slack.person("alice")
    with pytest.raises(LookupError, match="no buttons"):
        await alice.clicks(sent["ts"], "Go")
    with pytest.raises(LookupError, match="no modal"):
        await alice.submits({})
    slack.add_channel("secret", "group", members=[])
    with pytest.raises(LookupError, match="not in secret"):
        await alice.says("secret", "hello")


async def test_buttons_of_a_card_are_seen_and_clicked(slack: SlackSimulator) -> None:
    button = {"type": "button", "action_id": "yes", "text": {"type": "plain_text", "text": "Yes"}}
    blocks = [{"type": "card", "block_id": "asked", "actions": [button]}]
    said = await slack.bot_says("other", "general", blocks=blocks)
    assert slack.messages("general")[-1].buttons == ("Yes",)
    clicked = await slack.person("alice").clicks(said, "Yes")
    (action,) = clicked.payload["actions"]
    assert (action["action_id"], action["block_id"]) == ("yes", "asked")
