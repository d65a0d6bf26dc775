"""Ways to point at an app's message: each brings all of it.

The message is of the richest shape: blocks without a text, a legacy attachment, a file, and a voice
message, which nobody can read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from adapters.slack.action_ids import ASK_TEAM
from adapters.slack.simulator.state import Message
from adapters.slack.testing import SlackSimulator
from tests.adapters.slack.serving import EVERYWHERE, ServedSlack, served

ROUTE = {**EVERYWHERE, "bots": ["B0GRAFANA"]}
SETTINGS = {"reactions": ["eyes"]}
VOICE = {"subtype": "slack_audio", "duration_ms": 12_000}
BLOCKS = ["Disk full", "*Host:* db1", "see #general, @ann", "[Acknowledge]"]
CARD = ["98 of 100", "Grafana v11"]
FILE = "the last line of the log"
UNREADABLE = "a voice message of 12 s"


def alert(slack: SlackSimulator, state: str = "Disk full", mention: str = "") -> dict[str, Any]:
    """Blocks and attachments without a text, as alerting apps post them."""
    ann = slack.person("ann")
    written = [
        {"type": "text", "text": "see "},
        {"type": "channel", "channel_id": "C0GENERAL"},
        {"type": "text", "text": ", "},
        {"type": "user", "user_id": ann.id},
    ]
    if mention:
        written.append({"type": "user", "user_id": mention})
    blocks: list[dict[str, Any]] = [
        {"type": "header", "text": {"type": "plain_text", "text": state}},
        {"type": "section", "fields": [{"type": "mrkdwn", "text": "*Host:* db1"}]},
        {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": written}]},
        {
            "type": "actions",
            "elements": [
                {
                    "type": "button",
                    "action_id": "ack",
                    "text": {"type": "plain_text", "text": "Acknowledge"},
                }
            ],
        },
    ]
    attachment = {
        "fields": [{"title": "Used", "value": "98 of 100"}],
        "footer": "Grafana v11",
        "fallback": "?",
    }
    return {"blocks": blocks, "attachments": [attachment]}


async def posted(
    slack: SlackSimulator, *, mention: str = "", thread: str | Message = ""
) -> Message:
    owner = slack.world.user(slack.person("bob").id)
    log = slack.file("log.txt", FILE.encode(), user=owner, mimetype="text/plain")
    voice = slack.file("clip.m4a", b"m4a", user=owner, mimetype="audio/mp4")
    voice.facts = VOICE
    return await slack.bot_says(
        "grafana", "general", thread=thread, files=[log, voice], **alert(slack, mention=mention)
    )


async def itself(slack: SlackSimulator) -> None:
    await posted(slack, mention=slack.bot.id)


async def root(slack: SlackSimulator) -> None:
    await slack.person("ann").asks("general", "why?", thread=await posted(slack))


async def history(slack: SlackSimulator) -> None:
    first = await slack.person("bob").says("general", "look")
    await posted(slack, thread=first)
    await slack.person("ann").asks("general", "why?", thread=first)


async def share(slack: SlackSimulator) -> None:
    text = f"{slack.bot.mention} why?"
    await slack.person("ann").shares(await posted(slack), "general", text)


async def share_in_the_root(slack: SlackSimulator) -> None:
    shared = await slack.person("bob").shares(await posted(slack), "general", "look")
    await slack.person("ann").asks("general", "why?", thread=shared)


async def shortcut(slack: SlackSimulator) -> None:
    await slack.person("ann").uses_shortcut(await posted(slack), ASK_TEAM)


async def reaction(slack: SlackSimulator) -> None:
    await slack.person("ann").reacts(await posted(slack), "eyes")


async def reaction_to_a_reply(slack: SlackSimulator) -> None:
    first = await slack.person("bob").says("general", "look")
    await slack.person("ann").reacts(await posted(slack, thread=first), "eyes")


async def permalink(slack: SlackSimulator) -> None:
    await slack.person("ann").asks("general", f"why? {link_to(slack, await posted(slack))}")


async def permalink_to_a_reply(slack: SlackSimulator) -> None:
    first = await slack.person("bob").says("general", "look")
    reply = await posted(slack, thread=first)
    await slack.person("ann").asks("general", f"why? {link_to(slack, reply)}")


def link_to(slack: SlackSimulator, said: Message) -> str:
    root = f"?thread_ts={said.root}&cid={said.channel}" if said.root != said.ts else ""
    url = f"https://{slack.world.workspaces['T0HOME'].domain}.slack.com"
    return f"<{url}/archives/{said.channel}/p{said.ts.replace('.', '')}{root}>"


async def heard(run: ServedSlack) -> str:
    await run.until(lambda: run.asked)
    content = run.heard()[-1].content
    return content if isinstance(content, str) else "\n".join(map(str, content))


def notices(slack: SlackSimulator) -> list[str]:
    """Notices about parts that the team can't read."""
    found = slack.channel("general").messages.values()
    return [each.text for each in found if "can't read this part" in each.text]


Way = Callable[[SlackSimulator], Awaitable[None]]


@pytest.mark.parametrize(
    ("way", "brings"),
    [
        (itself, True),
        (root, True),
        (history, False),
        (share, True),
        (share_in_the_root, True),
        (shortcut, True),
        (reaction, True),
        (reaction_to_a_reply, True),
        (permalink, True),
        (permalink_to_a_reply, True),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
async def test_all_that_people_see_reaches_the_team(tmp_path: Path, way: Way, brings: bool) -> None:
    async with (
        SlackSimulator(rates=False) as slack,
        served(slack, tmp_path, routes=[ROUTE], settings=SETTINGS) as run,
    ):
        await way(slack)
        told = await heard(run)
        # A share has the blocks of its message; no documentation shows other attachments in one.
        seen = [*BLOCKS, *([] if way in (share, share_in_the_root) else CARD)]
        assert [told.count(each) for each in seen] == [1] * len(seen)
        assert (FILE in told) == brings
        assert UNREADABLE in told
        await run.delivered()
        assert len(notices(slack)) == brings
        assert all(UNREADABLE in each for each in notices(slack))
        assert ("(file: log.txt)" in told) == (not brings)


async def test_an_alert_that_is_resolved_while_it_waits_is_told_as_resolved(tmp_path: Path) -> None:
    async with (
        SlackSimulator(rates=False) as slack,
        served(slack, tmp_path, routes=[ROUTE]) as run,
    ):
        slack.files.hold()
        said = await posted(slack, mention=slack.bot.id)
        await run.accepted(1)
        await slack.bot_edits(said, **alert(slack, "Resolved", slack.bot.id))
        await run.settled()
        slack.files.release()
        told = await heard(run)
        await run.delivered()
        assert run.asked == 1
    assert "Resolved" in told
    assert "Disk full" not in told


async def test_an_alert_that_is_resolved_after_its_answer_begins_no_turn(tmp_path: Path) -> None:
    async with (
        SlackSimulator(rates=False) as slack,
        served(slack, tmp_path, routes=[ROUTE]) as run,
    ):
        said = await posted(slack, mention=slack.bot.id)
        await heard(run)
        await run.delivered()
        await slack.bot_edits(said, **alert(slack, "Resolved", slack.bot.id))
        await run.settled()
        await slack.unfurls(said)
        await run.settled()
        await run.delivered()
        assert run.asked == 1
        # A later question in the thread finds it as it is now.
        assert await run.inbox("outcome") == ["turn", "merged"]


@pytest.mark.parametrize("may", [True, False])
async def test_a_link_shows_no_more_than_its_author_sees(tmp_path: Path, may: bool) -> None:
    async with (
        SlackSimulator(rates=False) as slack,
        served(slack, tmp_path, routes=[ROUTE], settings=SETTINGS) as run,
    ):
        ann, bob = slack.person("ann"), slack.person("bob")
        slack.add_channel("board", "group", members=[bob, ann] if may else [bob])
        secret = await bob.says("board", "We sell the company.")
        await ann.asks("general", f"What is {link_to(slack, secret)}?")
        told = await heard(run)
        await run.delivered()
        assert ("We sell" in told) == may
        assert ("the message behind a link" in told) == (not may)


@pytest.mark.parametrize("there", ["gone", "no bot", "another workspace"])
async def test_a_link_that_leads_nowhere_is_named(tmp_path: Path, there: str) -> None:
    async with (
        SlackSimulator(rates=False) as slack,
        served(slack, tmp_path, routes=[ROUTE], settings=SETTINGS) as run,
    ):
        said = await slack.person("bob").says("general", "hello")
        link = link_to(slack, said)
        match there:
            case "gone":
                await slack.person("bob").deletes(said)
            case "no bot":
                slack.remove_app_from("general")
            case _:
                link = "<https://elsewhere.slack.com/archives/C0ELSEWHERE/p1700000000000100>"
        await slack.person("ann").asks("random", f"What is {link}?")
        told = await heard(run)
        await run.delivered()
        assert "the message behind a link" in told


async def test_a_shared_channels_link_may_have_the_address_of_the_other_workspace(
    tmp_path: Path,
) -> None:
    async with (
        SlackSimulator(rates=False) as slack,
        served(slack, tmp_path, routes=[ROUTE], settings=SETTINGS) as run,
    ):
        said = await slack.person("bob").says("general", "The fair is in May.")
        link = link_to(slack, said).replace("home.slack.com", "partner.slack.com")
        await slack.person("ann").asks("general", f"What is {link}?")
        assert "The fair is in May." in await heard(run)
        await run.delivered()
