"""Access: every action in Slack meets the same authority."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.slack.action_ids import ASK_TEAM, action_id
from adapters.slack.inbound.handler import NOTED, REFUSED
from adapters.slack.outbound.blocks import feedback_block
from adapters.slack.simulator.state import Message
from adapters.slack.testing import Person, Refusal, SlackSimulator
from gateway.adapter import NOT_ALLOWED
from gateway.backfill.offers import NOTHING
from gateway.inbound.answers import NOT_YOURS
from gateway.registry import ToolRule
from gateway.store.units import threads
from tests.adapters.slack.serving import ServedSlack, served
from tests.gateway.scripted import calls, solo

STAFF = "S0STAFF"
TITLE = "Another title"
ROUTE = {"adapter": "slack", "channels": ["*"], "users": ["U0ANN"], "groups": [STAFF]}
Act = Callable[[SlackSimulator, Person, Message, str], Awaitable[object]]


def person(slack: SlackSimulator, who: str) -> Person:
    match who:
        case "operator":
            return slack.person("boss")
        case "allowed":
            return slack.person("ann")
        case "guest":
            return slack.person("gus", guest=True)
        case "external":
            return slack.person("ext", workspace="T0EXT")
        case "bot":
            return slack.person("jenkins")
        case _:
            return slack.person("eve")


async def says(slack: SlackSimulator, who: Person, thread: Message, card: str) -> object:
    return await who.says("team", "hello", thread=thread)


async def edits(slack: SlackSimulator, who: Person, thread: Message, card: str) -> object:
    said = await who.says("team", "hallo", thread=thread)
    await slack.until(lambda: not slack.unacknowledged)
    return await who.edits(said, "hello")


async def commands(slack: SlackSimulator, who: Person, thread: Message, card: str) -> object:
    await who.says("team", "!retry", thread=thread)
    return await who.commands("team", "/parley", "begin another thread")


async def clicks(slack: SlackSimulator, who: Person, thread: Message, card: str) -> object:
    return await who.clicks(card, "Approve")


async def fills_in(slack: SlackSimulator, who: Person, thread: Message, card: str) -> object:
    return await who.clicks(card, "Deny with a note")


async def reacts(slack: SlackSimulator, who: Person, thread: Message, card: str) -> object:
    return await who.reacts(thread, "eyes")


async def uses_shortcut(slack: SlackSimulator, who: Person, thread: Message, card: str) -> object:
    return await who.uses_shortcut(thread, ASK_TEAM)


async def uploads(slack: SlackSimulator, who: Person, thread: Message, card: str) -> object:
    return await who.uploads("team", "a.txt", b"CANARY", text="take this", thread=thread)


async def stops(slack: SlackSimulator, who: Person, thread: Message, card: str) -> object:
    event = {
        "type": "agent_session_stopped",
        "channel": thread.channel,
        "user": who.id,
        "thread_ts": thread.ts,
        "streaming_message_ts": [],
    }
    return slack.world.emit("T0HOME", event, about=slack.channel("team"))


async def rates(slack: SlackSimulator, who: Person, thread: Message, card: str) -> object:
    _, shown = slack.find(card)
    shown.blocks.append({**feedback_block("a part"), "block_id": "thumbs"})
    return await who.clicks(card, "Good answer")


async def retitles(slack: SlackSimulator, who: Person, thread: Message, card: str) -> object:
    event = {
        "type": "agent_session_title_changed",
        "channel": thread.channel,
        "user": who.id,
        "thread_ts": thread.ts,
        "title": TITLE,
    }
    return slack.world.emit("T0HOME", event, about=slack.channel(thread.channel))


async def asks_for_missed(slack: SlackSimulator, who: Person, thread: Message, card: str) -> object:
    button = {
        "type": "button",
        "action_id": action_id("missed"),
        "value": "0.000001",
        "text": {"type": "plain_text", "text": "Answer now"},
    }
    _, shown = slack.find(card)
    shown.blocks.append({"type": "actions", "block_id": "missed", "elements": [button]})
    return await who.clicks(card, "Answer now")


ACTS: dict[str, Act] = {
    "message": says,
    "edit": edits,
    "command": commands,
    "click": clicks,
    "modal": fills_in,
    "reaction": reacts,
    "shortcut": uses_shortcut,
    "file": uploads,
    "stop": stops,
    "rate": rates,
    "retitle": retitles,
    "missed": asks_for_missed,
}


def scene(slack: SlackSimulator, who: str) -> Person:
    slack.add_workspace("T0EXT", "Elsewhere")
    slack.add_channel("team", shared_with="T0EXT")
    actor = person(slack, who)
    slack.user_group("staff", person(slack, "guest"), person(slack, "external"))
    slack.join("team", slack.person("boss"), slack.person("ann"), actor)
    if who == "bot":
        slack.world.user(actor.id).bot_id = "B0JENKINS"
    return actor


async def waiting(run: ServedSlack) -> tuple[Message, str]:
    """A thread with a team that waits for approval, and its card."""
    slack = run.slack
    opened = await slack.person("boss").asks("team", "go")
    await run.until(lambda: card_of(slack, opened))
    await run.settled()
    return opened, card_of(slack, opened)


def texts(slack: SlackSimulator, person: Person) -> list[str]:
    return [each.text for each in slack.private(person)]


async def rated(run: ServedSlack) -> int:
    """Number of ratings of an answer."""
    count = "SELECT COUNT(*) FROM feedback"
    return await run.store.write(lambda c: c.fetch(count)[0][0])


async def title(run: ServedSlack) -> str:
    return (await run.store.run(threads.threads))[0].title


def card_of(slack: SlackSimulator, opened: Message) -> str:
    return card_in(slack, "team", opened)


def card_in(slack: SlackSimulator, channel: str, opened: Message) -> str:
    shown = slack.messages(channel, opened)
    return next((each.ts for each in shown if "Approve" in each.buttons), "")


@pytest.mark.parametrize("who", ["unlisted", "guest", "external", "bot"])
async def test_who_may_not_moves_nothing(tmp_path: Path, who: str) -> None:
    sent: list[str] = []

    async def send() -> str:
        sent.append("sent")
        return "sent"

    async with SlackSimulator(rates=False) as slack:
        actor = scene(slack, who)
        async with served(
            slack,
            tmp_path,
            lambda client: solo(client, tools=[send]),
            answers=[calls("send"), "done"],
            routes=[ROUTE],
            rules={"send": ToolRule(action="ask")},
            settings={"reactions": ["eyes"]},
        ) as run:
            opened, card = await waiting(run)
            shown = len(slack.messages("team"))
            for kind, act in ACTS.items():
                before = len(await run.inbox())
                await act(slack, actor, opened, card)
                await run.settled()
                after = (await run.inbox())[before:]
                assert set(after) <= {"refused"}, kind
                if kind == "message":  # another bot is not even heard where none is let in
                    assert after == ([] if who == "bot" else ["refused"])
                if kind == "modal":
                    assert actor.modal is None
            assert "CANARY" not in str(await run.inbox("text"))
            assert (await rated(run), await title(run)) == (0, "go")
            assert (run.asked, sent) == (1, [])
            said = slack.messages("team")[shown:]
            assert {each.author for each in said} == {actor.id}
            if who in ("unlisted", "guest"):
                await run.until(lambda: NOT_ALLOWED in texts(slack, actor))
                # Outside of its thread, and in it: once for what they said, and for each action.
                await run.until(lambda: texts(slack, actor).count(NOT_ALLOWED) == 7)
                await run.until(lambda: texts(slack, actor).count(REFUSED) == 1)


@pytest.mark.parametrize(
    ("organisation", "home", "heard"),
    [
        ("", "T0HOME", True),
        ("", "T0EXT", False),
        ("", "E0ORG", False),
        ("E0ORG", "T0HOME", True),
        ("E0ORG", "E0ORG", True),
        ("E0ORG", "T0EXT", False),
        ("E0ORG", "E0OTHER", False),
    ],
)
async def test_a_clicks_team_must_be_its_authors(
    tmp_path: Path, organisation: str, home: str, heard: bool
) -> None:
    """Ids are each workspace's own: the operator's id elsewhere is somebody else."""
    sent: list[str] = []

    async def send() -> str:
        sent.append("sent")
        return "sent"

    async with SlackSimulator(rates=False) as slack:
        eve = scene(slack, "unlisted")
        slack.world.workspaces["T0HOME"].enterprise = organisation
        async with served(
            slack,
            tmp_path,
            lambda client: solo(client, tools=[send]),
            answers=[calls("send"), "done"],
            routes=[ROUTE],
            rules={"send": ToolRule(action="ask")},
        ) as run:
            _, card = await waiting(run)
            clicked = (await eve.clicks(card, "Approve")).payload
            await run.settled()
            before = len(await run.inbox())
            user = {**clicked["user"], "id": slack.person("boss").id, "team_id": home}
            entry = {**clicked["actions"][0], "action_ts": slack.world.new_ts()}
            forged = {**clicked, "user": user, "actions": [entry]}
            slack.world.deliver("interactive", forged)
            await run.settled()
            (outcome,) = (await run.inbox())[before:]
            assert outcome == ("answer" if heard else "refused")
            if heard:
                await run.until(lambda: sent == ["sent"])
        assert sent == (["sent"] if heard else [])


@pytest.mark.parametrize("kind", ACTS)
@pytest.mark.parametrize("who", ["operator", "allowed"])
async def test_who_may_is_heard(tmp_path: Path, who: str, kind: str) -> None:
    sent: list[str] = []

    async def send() -> str:
        sent.append("sent")
        return "sent"

    async with SlackSimulator(rates=False) as slack:
        actor = scene(slack, who)
        async with served(
            slack,
            tmp_path,
            lambda client: solo(client, tools=[send]),
            answers=[calls("send"), *["done"] * 9],
            routes=[ROUTE],
            rules={"send": ToolRule(action="ask")},
            settings={"reactions": ["eyes"]},
        ) as run:
            opened, card = await waiting(run)
            before = len(await run.inbox())
            await ACTS[kind](slack, actor, opened, card)
            await run.settled()
            if kind == "modal":
                if who == "allowed":
                    await run.until(lambda: texts(slack, actor) == [NOT_YOURS])
                    assert not slack.calls("views.open")
                    return
                await run.until(lambda: actor.modal)
                await actor.submits({"answer": "too risky"})
                await run.settled()
                assert actor.modal is None
            outcomes = (await run.inbox())[before:]
            if kind in ("rate", "missed"):
                word = NOTED if kind == "rate" else NOTHING
                await run.until(lambda: texts(slack, actor) == [word])
            assert await rated(run) == (kind == "rate")
            assert (await title(run) == TITLE) == (kind == "retitle")
            assert outcomes or kind in ("rate", "retitle", "missed")
            assert "refused" not in outcomes
            if (who, kind) == ("operator", "click"):
                await run.until(lambda: run.asked == 2)
            assert sent == ["sent"] * ((who, kind) == ("operator", "click"))
            if (who, kind) == ("allowed", "click"):
                await run.until(lambda: slack.private(actor))
                assert slack.private(actor)[0].text == NOT_YOURS


async def test_members_of_a_user_group_are_let_in_and_no_other_group_is_asked_for(
    tmp_path: Path,
) -> None:
    route = {"adapter": "slack", "channels": ["*"], "groups": [STAFF]}
    async with SlackSimulator(rates=False) as slack:
        ann, bob = slack.person("ann"), slack.person("bob")
        slack.user_group("staff", ann)
        slack.user_group("others", bob)
        async with served(slack, tmp_path, routes=[route]) as run:
            await ann.asks("general", "hello")
            await run.accepted(1)
            await bob.asks("general", "hello")
            await run.accepted(2)
            await run.settled()
            assert sorted(await run.inbox()) == ["refused", "turn"]
            asked = slack.calls("usergroups.users.list")
            assert [each.arguments["usergroup"] for each in asked] == [STAFF]
            assert await run.inbox("author_groups") == [f'["{STAFF}"]', "[]"]


@pytest.mark.parametrize("code", ["no_permission", "ekm_access_denied", "no_such_subteam"])
async def test_who_is_in_by_a_group_that_slack_does_not_tell_is_refused_at_once(
    tmp_path: Path, code: str
) -> None:
    route = {"adapter": "slack", "channels": ["*"], "groups": [STAFF]}
    async with SlackSimulator(rates=False) as slack:
        ann = slack.person("ann")
        slack.user_group("staff", ann)
        slack.fail("usergroups.users.list", Refusal(code), times=99)
        async with served(slack, tmp_path, routes=[route]) as run:
            await ann.asks("general", "hello")
            await run.accepted(1)
            assert await run.inbox() == ["refused"]
            assert len(slack.calls("usergroups.users.list")) == 1


async def test_people_from_outside_are_known_by_their_own_workspace(tmp_path: Path) -> None:
    route = {"adapter": "slack", "channels": ["*"], "users": ["members"], "external": True}
    async with SlackSimulator(rates=False) as slack:
        ext = scene(slack, "external")
        async with served(slack, tmp_path, routes=[route]) as run:
            asked = await ext.asks("team", "hello")
            await run.until(lambda: slack.messages("team", asked)[1:])
            assert await run.inbox("author") == [f"slack:T0EXT:{ext.id}"]
            assert await run.inbox("author_kind") == ["external"]


@pytest.mark.parametrize("by", ["B0JENKINS", "slack:T0HOME:B0JENKINS", "its user", "B0OTHER"])
async def test_another_bot_is_let_in_by_the_id_of_its_bot_or_of_its_user(
    tmp_path: Path, by: str
) -> None:
    async with SlackSimulator(rates=False) as slack:
        jenkins, boss = scene(slack, "bot"), slack.person("boss")
        name = jenkins.id if by == "its user" else by
        route = {"adapter": "slack", "channels": ["*"], "users": [boss.id], "bots": [name]}
        async with served(slack, tmp_path, routes=[route]) as run:
            await jenkins.asks("team", "hello")
            await run.settled()
            await boss.asks("team", "hello")
            await run.accepted(1 if by == "B0OTHER" else 2)
            await run.settled()
            kinds = await run.inbox("author_kind")
            assert kinds == (["member"] if by == "B0OTHER" else ["bot", "member"])


async def test_without_the_scope_to_tell_guests_everybody_is_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    route = {"adapter": "slack", "channels": ["*"], "users": ["members", "U0ANN"]}
    async with SlackSimulator(rates=False) as slack:
        scopes = slack.world.app.scopes - {"users:read"}
        await slack.use_app(replace(slack.world.app, scopes=scopes))
        async with served(slack, tmp_path, routes=[route]) as run:
            for n, name in enumerate(("ann", "bob"), start=1):
                await slack.person(name).asks("general", "hello")
                await run.accepted(n)
            assert await run.inbox() == ["turn", "refused"]
        assert "the app lacks the scope users:read" in caplog.text


@pytest.mark.parametrize("who", ["paired", "unlisted"])
async def test_in_a_direct_channel_only_those_who_were_let_in_may_act(
    tmp_path: Path, who: str
) -> None:
    async def send() -> str:
        return "sent"

    async with SlackSimulator(rates=False) as slack:
        actor = slack.person("eve")
        async with served(
            slack,
            tmp_path,
            lambda client: solo(client, tools=[send]),
            answers=[calls("send"), "done"],
            routes=[{"adapter": "slack", "dm": True, "pairing": True}],
            rules={"send": ToolRule(action="ask")},
        ) as run:
            person = f"slack:T0HOME:{actor.id}"
            await let_in(run, person)
            opened = await actor.tells("go")
            await run.until(lambda: card_in(slack, actor.direct, opened))
            card = card_in(slack, actor.direct, opened)
            if who == "unlisted":  # not any more
                assert await run.gateway.client.unpair(person)
            await asks_for_missed(slack, actor, opened, card)
            await rates(slack, actor, opened, card)
            await retitles(slack, actor, opened, card)
            await run.settled()
            words = [NOTHING, NOTED] if who == "paired" else [NOT_ALLOWED, REFUSED]
            await run.until(lambda: sorted(texts(slack, actor)) == sorted(words))
            assert await rated(run) == (who == "paired")
            assert (await title(run) == TITLE) == (who == "paired")


async def let_in(run: ServedSlack, person: str) -> None:
    """As an operator does it with a code."""
    row = "INSERT INTO people (person, name, paired_at) VALUES (:person, 'Eve', 0)"
    await run.store.write(lambda c: c.execute(row, {"person": person}))
