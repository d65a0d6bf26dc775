"""The world: the app, its workspaces and tokens, and their events."""

from __future__ import annotations

import asyncio

import pytest

from adapters.slack.simulator.errors import ApiError
from adapters.slack.simulator.state import Channel, Message, View
from adapters.slack.simulator.world import HOME, ResponseUrl, World
from adapters.slack.testing import SlackSimulator

GENERAL = "C0GENERAL"


def said(world: World, text: str, thread: str = "") -> Message:
    ann = next(each for each in world.workspaces[HOME].users.values() if not each.bot_id)
    return Message(
        ts=world.new_ts(), channel=GENERAL, user=ann.id, team=HOME, text=text, thread_ts=thread
    )


@pytest.fixture
async def world() -> World:
    async with SlackSimulator() as slack:
        slack.person("ann")
        return slack.world


def channel_of(world: World) -> Channel:
    return world.channel(HOME, GENERAL)


async def test_marks_and_ids_are_never_given_twice(world: World) -> None:
    assert world.new_id("C") != world.new_id("C")
    assert float(world.new_ts()) < float(world.new_ts())
    assert world.trigger("U1", HOME) != world.trigger("U1", HOME)
    reply = ResponseUrl(workspace=HOME, channel=GENERAL, user="U1", at=0.0)
    url = world.response_url("actions", reply)
    assert world.response_urls[url.removeprefix(world.base)] is reply


async def test_what_is_there_is_found_and_the_rest_refused(world: World) -> None:
    bot = world.bot(HOME)
    assert world.user(bot.id) is bot
    assert channel_of(world).id == GENERAL
    direct = world.direct(HOME, bot.id)
    assert world.direct(HOME, bot.id) is direct
    assert direct.members == {bot.id}
    assert world.view("V1") is None
    view = View(id="V1", user="U1", team=HOME, body={}, hash="h")
    world.workspaces[HOME].views["V1"] = view
    assert world.view("V1") is view
    with pytest.raises(ApiError):
        world.user("U0NONE")
    with pytest.raises(ApiError):
        world.channel(HOME, "C0NONE")


async def test_whoever_waits_is_woken_by_a_change(world: World) -> None:
    seen: list[int] = []
    waiting = asyncio.ensure_future(world.change())
    until = asyncio.ensure_future(world.until(lambda: seen, within=5))
    await asyncio.sleep(0)
    assert not waiting.done()
    seen.append(1)
    world.changed()
    await waiting
    await until
    with pytest.raises(TimeoutError):
        await world.until(lambda: False, within=0.01)


async def test_messages_are_told_changed_and_deleted(world: World) -> None:
    channel = channel_of(world)
    channel.members.add(world.bot(HOME).id)
    kinds: list[str] = []
    sent = world.deliveries.send

    def send(kind: object, payload: dict[str, dict[str, str]], *more: object) -> object:
        kinds.append(payload["event"].get("subtype", "message"))
        return sent(kind, payload, *more)  # type: ignore[arg-type]

    world.deliveries.send = send  # type: ignore[assignment,method-assign]
    root = said(world, "Hi")
    channel.messages[root.ts] = root
    world.new_message(channel, root)
    reply = said(world, "Ho", root.ts)
    channel.messages[reply.ts] = reply
    before = root.json()
    root.text = "Hello"
    world.changed_message(channel, root, before)
    world.delete(channel, root)
    assert root.tombstone
    world.delete(channel, reply)
    assert (root.hidden, reply.hidden) == (True, True)
    assert kinds == ["message", "message_changed", "message_changed", "message_deleted"]
    world.grants.clear()
    assert not world.installed(HOME)
    assert world.emit(HOME, {"type": "message"}, about=channel) is None


async def test_apps_share_their_workspaces(world: World) -> None:
    other = World(world.app, world.clock, rates=False)
    other.join(world)
    assert other.workspaces is world.workspaces
    assert world.apps == [world, other]
    told: list[str] = []
    other.emit = lambda workspace, event, **more: told.append(workspace)  # type: ignore
    world.publish(HOME, {"type": "message"}, channel_of(world))
    assert told == [HOME]
