"""Messages that were missed while disconnected."""

import asyncio
import re
import shutil
import time
from functools import partial
from pathlib import Path

import pytest

from adapters.discord.connection import event_queue
from adapters.discord.testing import Delay, DiscordSimulator, Refusal, ServerError
from gateway.backfill import work_list
from gateway.config.routes import Mention, Route
from gateway.gateway import Gateway
from gateway.store.units import counts
from tests.adapters.discord.serving import (
    EVERYWHERE,
    bot_messages,
    bot_texts,
    config_of,
    mark_heard,
    serving,
    thread_of,
    wait_accepted,
    wait_caught_up,
    wait_commands,
    wait_delivered,
    wait_seen_mark,
)
from tests.fakes.new_store import new_store
from tests.fakes.scripted_model import ScriptedModel
from tests.gateway.scripted import solo

pytestmark = pytest.mark.chaos

HISTORY = "/channels/{channel_id}/messages"


async def test_a_lost_session_is_caught_up_with_over_rest(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    async with serving(discord, tmp_path, lambda: solo("One.", "Two.", "Three.")) as gateway:
        asked = await alice.mentions(general, "hello")
        await alice.says(alice.direct, "psst")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        await discord.until(lambda: bot_texts(discord, alice.direct))
        discord.gateway.invalidate()
        await discord.until(lambda: not discord.gateway.open_sessions)
        new = await alice.mentions(general, "lost?")
        await alice.says(thread_of(asked), "lost here?")
        await alice.says(alice.direct, "and here?")
        await discord.until(lambda: new.thread and bot_texts(discord, new.thread), seconds=8)
        await discord.until(lambda: len(bot_texts(discord, thread_of(asked))) == 2)
        await discord.until(lambda: len(bot_texts(discord, alice.direct)) == 2)
        await wait_delivered(gateway)
    assert len(bot_texts(discord, thread_of(new))) == 1


async def test_what_can_not_be_read_is_read_once_it_can_be(
    discord: DiscordSimulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_list, "RETRY_SECONDS", (0.01, 0.02))
    general, alice = discord.channel("general"), discord.person("alice")
    await serve_once(discord, tmp_path)
    lost = await alice.mentions(general, "lost?")
    broken = discord.faults.plan(ServerError(503), method="GET", path=HISTORY, times=9)
    async with serving(discord, tmp_path, lambda: solo("One.")) as gateway:
        await discord.until(lambda: lost.thread and bot_texts(discord, lost.thread))
        await wait_delivered(gateway)
        await wait_caught_up(gateway, answer=1)
    assert broken.times == 0
    assert len(bot_texts(discord, thread_of(lost))) == 1


async def test_a_refusal_that_is_not_discords_own_is_no_end(
    discord: DiscordSimulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_list, "RETRY_SECONDS", (0.01, 0.02))
    await serve_once(discord, tmp_path)
    lost = await discord.person("alice").mentions(discord.channel("general"), "lost?")
    page = Refusal(status=403, code=0, message="Blocked by a proxy")
    broken = discord.faults.plan(page, method="GET", path=HISTORY, times=9)
    async with serving(discord, tmp_path, lambda: solo("One.")) as gateway:
        await discord.until(lambda: lost.thread and bot_texts(discord, lost.thread))
        await wait_delivered(gateway)
        (remark,) = gateway.vitals.remarks
    assert broken.times == 0
    assert remark.endswith("can't be read: Discord refused: Blocked by a proxy (403).")


async def test_a_channel_that_may_not_be_read_is_left_and_said(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    await serve_once(discord, tmp_path)
    general = discord.channel("general")
    await discord.person("alice").mentions(general, "lost?")
    refusal = Refusal(status=403, code=50001, message="Missing Access")
    discord.faults.plan(refusal, method="GET", path=f"/channels/{general.id}/messages", times=-1)
    async with serving(discord, tmp_path, lambda: solo("One.")) as gateway:
        await discord.until(lambda: gateway.vitals.remarks)
        await wait_caught_up(gateway)
        (remark,) = gateway.vitals.remarks
    assert f"channel {general.id} can't be read: Discord refused: Missing Access" in remark


async def test_what_was_said_while_the_process_was_away_is_one_turn(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    async with serving(discord, tmp_path, lambda: solo("One.")) as gateway:
        asked = await alice.mentions(general, "begin")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        await wait_delivered(gateway)
        await wait_seen_mark(gateway)
    await discord.until(lambda: not discord.gateway.open_sessions)
    for text in ("first", "second", "third"):
        await alice.says(thread_of(asked), text)
    model = ScriptedModel("All of it.")
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        await discord.until(lambda: len(bot_texts(discord, thread_of(asked))) == 2)
        await wait_delivered(gateway)
    assert len(model.requests) == 1
    assert "first\n\nsecond\n\nthird" in model.texts()[-1]


@pytest.mark.parametrize(
    "live",
    [(), (0,), (1,), (2,), (3,), (1, 0), (3, 1), (2, 3, 0), (0, 1, 2, 3), (3, 2, 1, 0)],
    ids=str,
)
async def test_what_discord_delivers_while_catch_up_reads_hides_nothing(
    discord: DiscordSimulator, tmp_path: Path, live: tuple[int, ...]
) -> None:
    general, alice, bob = (
        discord.channel("general"),
        discord.person("alice"),
        discord.person("bob"),
    )
    async with serving(discord, tmp_path, lambda: solo("One.")) as gateway:
        asked = await alice.mentions(general, "begin")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        await wait_delivered(gateway)
        await wait_seen_mark(gateway)
    await discord.until(lambda: not discord.gateway.open_sessions)
    texts = [f"missed {number}" for number in range(4)]
    missed = [
        await person.says(thread_of(asked), text)
        for person, text in zip((alice, alice, bob, alice), texts, strict=True)
    ]

    async def deliver(_: Gateway) -> None:
        for number in live:
            discord.repeat(missed[number])

    model = ScriptedModel(*["Fine."] * 9)
    again = partial(solo, model)
    async with serving(discord, tmp_path, again, meanwhile=deliver) as gateway:
        await wait_accepted(gateway, 5)
        for message in missed:
            discord.repeat(message)
        await discord.until(lambda: model.requests and set(texts) <= said_in(model))
        await wait_delivered(gateway)
        heard = "".join(model.texts())
        assert [heard.count(text) for text in texts] == [1, 1, 1, 1]
        assert sum((await gateway.store.run(counts.counts)).inbox.values()) == 5


async def test_what_is_older_waits_below_a_button(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    async with serving(discord, tmp_path, lambda: solo("One.")) as gateway:
        await wait_seen_mark(gateway)
    await discord.until(lambda: not discord.gateway.open_sessions)
    asked = await alice.mentions(general, "hours ago")
    await alice.says(general, "not for the bot")
    model = ScriptedModel("Late, but here.")
    later = partial(lambda ahead: time.time() + ahead, 3600.0)
    async with serving(discord, tmp_path, partial(solo, model), clock=later) as gateway:
        (offer,) = await discord.until(lambda: bot_messages(discord, general))
        assert offer.referenced is asked
        assert model.requests == []
        await discord.answered(await alice.clicks(offer, "Answer now"))
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        await wait_delivered(gateway)
    assert bot_texts(discord, thread_of(asked)) == ["-# 🐺 **solo**\nLate, but here."]
    (button,) = [each for row in offer.components for each in row["components"]]
    assert (button["label"], button["disabled"]) == ("Answered", True)


async def test_who_may_not_write_is_offered_nothing(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice, mallory = (
        discord.channel("general"),
        discord.person("alice"),
        discord.person("mallory"),
    )
    only_alice = Route(adapter="discord", channels=["*"], users=[str(alice.id)])
    await serve_once(discord, tmp_path)
    await mallory.mentions(general, "hours ago")
    asked = await alice.mentions(general, "hours ago, too")
    later = partial(lambda ahead: time.time() + ahead, 3600.0)
    team = lambda: solo("One.")  # noqa: E731
    async with serving(discord, tmp_path, team, routes=[only_alice], clock=later) as gateway:
        await discord.until(lambda: bot_messages(discord, general))
        await wait_delivered(gateway)
    assert [offer.referenced for offer in bot_messages(discord, general)] == [asked]


async def test_who_has_left_meanwhile_is_no_member_any_more(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice, mallory = (
        discord.channel("general"),
        discord.person("alice"),
        discord.person("mallory"),
    )
    await serve_once(discord, tmp_path)
    await mallory.mentions(general, "delete everything")
    discord.kick(mallory)
    asked = await alice.mentions(general, "are you there?")
    model = ScriptedModel("Yes.")
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        await wait_delivered(gateway)
        refused = (await gateway.store.run(counts.counts)).refused
    assert refused == {"not allowed": 1}
    assert len(model.requests) == 1


async def test_what_others_say_to_each_other_does_not_hide_what_was_missed(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    await serve_once(discord, tmp_path)
    asked = await alice.mentions(general, "hours ago")
    for number in range(60):
        await alice.says(general, f"chatter {number}")
    later = partial(lambda ahead: time.time() + ahead, 3600.0)
    async with serving(discord, tmp_path, lambda: solo("Late."), clock=later) as gateway:
        (offer,) = await discord.until(lambda: bot_messages(discord, general))
        await wait_delivered(gateway)
    assert offer.referenced is asked


@pytest.mark.parametrize("mention", ["thread", "always"])
async def test_what_people_said_to_each_other_is_not_offered(
    discord: DiscordSimulator, tmp_path: Path, mention: Mention
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    routes = [EVERYWHERE.model_copy(update={"mention": mention})]
    async with serving(discord, tmp_path, lambda: solo("One."), routes=routes) as gateway:
        await wait_seen_mark(gateway)
        await wait_commands(discord)
        asked = await alice.mentions(general, "hello")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        muted = thread_of(asked)
        await alice.slash(muted, "mute")
        await discord.until(lambda: "is muted" in str(bot_texts(discord, muted)))
        await wait_delivered(gateway)
    await discord.until(lambda: not discord.gateway.open_sessions)
    before = len(bot_messages(discord, muted))
    await alice.says(muted, "lunch?")
    for_the_team = await alice.mentions(muted, "are you there?")
    later = partial(lambda ahead: time.time() + ahead, 3600.0)
    model = ScriptedModel("Late.")
    async with serving(
        discord, tmp_path, partial(solo, model), routes=routes, clock=later
    ) as gateway:
        await discord.until(lambda: bot_messages(discord, muted)[before:])
        await wait_delivered(gateway)
        (offer,) = bot_messages(discord, muted)[before:]
        assert offer.referenced is for_the_team
        assert offer.content == "I was away when a message was written here. Should I answer now?"
        assert model.requests == []


async def test_what_was_said_in_a_muted_thread_stays_unanswered_once_it_answers_again(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice, bob = discord.channel("general"), discord.person("alice"), discord.person("bob")
    async with serving(discord, tmp_path, lambda: solo("One.")) as gateway:
        await wait_commands(discord)
        asked = await alice.mentions(general, "hello")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        thread = thread_of(asked)
        await alice.slash(thread, "mute")
        await discord.until(lambda: "is muted" in str(bot_texts(discord, thread)))
        await bob.says(thread, "lunch?")
        await discord.until(lambda: gateway.vitals.ignored["not addressed"] == 1)
        await alice.slash(thread, "unmute")
        await discord.until(lambda: "no longer muted" in str(bot_texts(discord, thread)))
        await wait_delivered(gateway)
    await discord.until(lambda: not discord.gateway.open_sessions)
    await bob.says(thread, "and now?")  # the time before it is read once more, too
    model = ScriptedModel("Now.")
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        await discord.until(lambda: "Now." in str(bot_texts(discord, thread)))
        await wait_delivered(gateway)
    assert "lunch?" not in str(model.requests)


async def test_the_newest_is_answered_however_much_was_said_before(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    await serve_once(discord, tmp_path)
    for number in range(510):
        await alice.says(general, f"chatter {number}")
    asked = await alice.mentions(general, "just now")
    async with serving(discord, tmp_path, lambda: solo("Here.")) as gateway:
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        await wait_delivered(gateway)


async def test_an_answer_to_what_was_missed_takes_all_of_it_and_tells_how_much(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    config = config_of(discord, threads="none")
    async with serving(discord, tmp_path, lambda: solo("One."), config=config) as gateway:
        await alice.mentions(general, "begin")
        (answer,) = await discord.until(lambda: bot_messages(discord, general))
        await wait_delivered(gateway)
        await wait_seen_mark(gateway)
    await discord.until(lambda: not discord.gateway.open_sessions)
    await alice.says(general, "the first", reply_to=answer)
    for number in range(120):
        await alice.says(general, f"chatter {number}")
    await alice.says(general, "the last", reply_to=answer)
    model = ScriptedModel("Late.", "Late.")
    later = partial(lambda ahead: time.time() + ahead, 3600.0)
    again = partial(solo, model)
    async with serving(discord, tmp_path, again, config=config, clock=later) as gateway:
        await wait_caught_up(gateway, offer=2)
        (offer,) = bot_messages(discord, general)[1:]
        clicked = await alice.clicks(offer, "Answer now")
        await discord.answered(clicked)
        await discord.until(lambda: model.requests and "the last" in "".join(model.texts()))
        await wait_delivered(gateway)
    assert "2 messages were written here. I am answering now." in offer.content


async def test_an_edit_of_a_missed_message_finds_its_own_part(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice, go_on = discord.channel("general"), discord.person("alice"), asyncio.Event()
    async with serving(discord, tmp_path, lambda: solo("One.")) as gateway:
        asked = await alice.mentions(general, "begin")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        await wait_delivered(gateway)
        await wait_seen_mark(gateway)
    await discord.until(lambda: not discord.gateway.open_sessions)
    bob, thread = discord.person("bob"), thread_of(asked)
    await bob.says(thread, "bob is first")
    said = [await alice.says(thread, text) for text in ("first", "secnd", "third")]
    model = ScriptedModel(["Hm ", go_on, "."], "All of it.")
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        await model.asked()
        await wait_accepted(gateway, 5)
        await alice.edits(said[1], "second, corrected")
        await alice.deletes(said[2])
        await wait_accepted(gateway, 7)
        go_on.set()
        await discord.until(lambda: len(bot_texts(discord, thread)) == 3)
        await wait_delivered(gateway)
    assert "first" in model.texts()[-1]
    assert "second, corrected" in model.texts()[-1]
    assert "third" not in "".join(model.texts())


async def test_what_follows_a_mention_in_a_thread_of_ones_own_is_not_forgotten(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    await serve_once(discord, tmp_path)
    thread = await alice.starts_thread(await alice.says(general, "the server is down"), "outage")
    await alice.mentions(thread, "help us")
    await alice.says(thread, "it is the one in Paris")
    model = ScriptedModel("I see.")
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        await discord.until(lambda: bot_texts(discord, thread))
        await wait_caught_up(gateway, answer=2)
        await wait_delivered(gateway)
    assert "help us\nit is the one in Paris" in model.texts()[-1]


async def test_a_reply_that_came_before_its_threads_mention_was_found_is_taken_after_it(
    discord: DiscordSimulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_list, "RETRY_SECONDS", (0.01, 0.02))
    general, alice = discord.channel("general"), discord.person("alice")
    await serve_once(discord, tmp_path)
    thread = await alice.starts_thread(await alice.says(general, "the server is down"), "outage")
    await alice.mentions(thread, "help us")
    broken = discord.faults.plan(ServerError(503), method="GET", path=HISTORY, times=-1)
    model = ScriptedModel("I see.", "I see that, too.")
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        discord.advance(120.0)  # reading what was missed takes that long
        await alice.says(thread, "it is the one in Paris")
        await discord.until(lambda: gateway.vitals.ignored["not addressed"])
        broken.times = 0
        await wait_caught_up(gateway, answer=2)
        await wait_delivered(gateway)
    assert "it is the one in Paris" in model.texts()[-1]


async def test_a_further_pause_makes_what_was_said_in_it_no_younger(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    robot = discord.person("robot", bot=True)
    await serve_once(discord, tmp_path)
    thread = await alice.starts_thread(await alice.says(general, "the server is down"), "outage")
    asked = await alice.mentions(thread, "help us")
    for _ in range(110):
        await robot.says(thread, "beep")
    path = f"/channels/{thread.id}/messages"
    second = lambda call: int(call.query.get("after", "0")) > asked.id  # noqa: E731
    broken = discord.faults.plan(ServerError(503), method="GET", path=path, when=second, times=-1)
    async with serving(discord, tmp_path, lambda: solo("One.")) as gateway:
        await discord.until(lambda: bot_texts(discord, thread))
        await wait_delivered(gateway)
    await discord.until(lambda: not discord.gateway.open_sessions)
    broken.times = 0
    missed, model = await alice.says(thread, "hours ago"), ScriptedModel("Two.")
    later = partial(lambda ahead: time.time() + ahead, 3600.0)
    async with serving(discord, tmp_path, partial(solo, model), clock=later) as gateway:
        await wait_caught_up(gateway, answer=1, offer=2)  # it stands in two gaps
    (offer,) = bot_messages(discord, thread)[1:]
    assert offer.referenced is missed
    assert model.requests == []


async def test_a_mark_in_the_future_hides_no_pause(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    await serve_once(discord, tmp_path)
    store = new_store(tmp_path)
    async with store.own():  # the clock was five days ahead
        await mark_heard(store, time.time() + 5 * 86_400)
    lost = await discord.person("alice").mentions(discord.channel("general"), "lost?")
    async with serving(discord, tmp_path, lambda: solo("One.")) as gateway:
        await discord.until(lambda: lost.thread and bot_texts(discord, lost.thread))
        await wait_delivered(gateway)


@pytest.mark.parametrize("away", [600.0, 7200.0])
async def test_places_that_nobody_knew_are_found(
    away: float, discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice, ahead = discord.channel("general"), discord.person("alice"), 0.0
    config = config_of(discord, threads="private")
    clock = lambda: time.time() + ahead  # noqa: E731
    async with serving(discord, tmp_path, lambda: solo("One."), config=config) as gateway:
        await alice.mentions(general, "begin")
        (private,) = await discord.until(lambda: discord.threads(general))
        await discord.until(lambda: bot_texts(discord, private))
        await wait_delivered(gateway)
        await wait_seen_mark(gateway)
    await discord.until(lambda: not discord.gateway.open_sessions)
    ahead = away - 300.0
    discord.advance(ahead)
    thread = await alice.starts_thread(await alice.says(general, "a talk"), "talk")
    await alice.mentions(thread, "archived since")
    await alice.says(private, "archived, too")
    discord.archive(thread)
    discord.archive(private)
    news = discord.channel("news")
    await alice.mentions(news, "a new channel")
    ahead = away
    discord.advance(300.0)
    team = lambda: solo("Here.")  # noqa: E731
    async with serving(discord, tmp_path, team, config=config, clock=clock) as gateway:
        await wait_caught_up(gateway, answer=3)
        await discord.until(lambda: bot_texts(discord, thread))
        await discord.until(lambda: len(bot_texts(discord, private)) == 2)
        await discord.until(
            lambda: discord.threads(news) and bot_texts(discord, discord.threads(news)[0])
        )
        await wait_delivered(gateway)


async def test_a_thread_that_wakes_before_the_archive_is_listed_is_read(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice, ahead = discord.channel("general"), discord.person("alice"), 0.0
    clock = lambda: time.time() + ahead  # noqa: E731
    async with serving(discord, tmp_path, lambda: solo("One."), clock=clock) as gateway:
        asked = await alice.mentions(general, "begin")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        await wait_delivered(gateway)
        await wait_seen_mark(gateway)
    await discord.until(lambda: not discord.gateway.open_sessions)
    missed = await alice.says(thread_of(asked), "days ago")
    ahead = 3 * 86_400.0
    discord.advance(ahead)
    discord.archive(thread_of(asked))
    go_on = asyncio.Event()
    discord.faults.plan(Delay(until=go_on), method="GET", path="/threads/archived/public")
    async with serving(discord, tmp_path, lambda: solo("Two."), clock=clock) as gateway:
        await discord.until(lambda: discord.calls("GET", "/threads/archived/public"))
        await alice.says(thread_of(asked), "awake")
        await discord.until(lambda: len(bot_texts(discord, thread_of(asked))) > 1)
        go_on.set()
        await wait_caught_up(gateway, offer=1)
        await wait_delivered(gateway)
    assert missed in [each.referenced for each in bot_messages(discord, thread_of(asked))]


@pytest.mark.parametrize("served", [False, True])
async def test_a_thread_that_wakes_is_read_even_if_the_process_ends_before_it_is_noted(
    served: bool, discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice, ahead = discord.channel("general"), discord.person("alice"), 0.0
    clock = lambda: time.time() + ahead  # noqa: E731
    async with serving(discord, tmp_path, lambda: solo("One."), clock=clock) as gateway:
        asked = await alice.mentions(general, "begin")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        await wait_delivered(gateway)
        await wait_seen_mark(gateway)
    await discord.until(lambda: not discord.gateway.open_sessions)
    missed = await alice.says(thread_of(asked), "days ago")
    ahead = 3 * 86_400.0
    discord.advance(ahead)
    discord.archive(thread_of(asked))
    go_on = asyncio.Event()
    archive = "/threads/archived/public"
    discord.faults.plan(Delay(until=go_on), method="GET", path=archive, times=1 + served)
    listed = len(discord.calls("GET", archive))  # by the first process, in some of the runs
    async with serving(discord, tmp_path, lambda: solo("-"), clock=clock):
        await discord.until(lambda: len(discord.calls("GET", archive)) > listed)
    await discord.until(lambda: not discord.gateway.open_sessions)
    store = new_store(tmp_path)
    async with store.own():  # all events were handled by the end, but none told of the thread
        await mark_heard(store, clock())
    ahead += 7200.0
    discord.advance(7200.0)
    if not served:
        await alice.says(thread_of(asked), "awake")
    async with serving(discord, tmp_path, lambda: solo("Two."), clock=clock) as gateway:
        if served:
            await discord.until(lambda: len(discord.calls("GET", archive)) > listed + 1)
            await alice.says(thread_of(asked), "awake")
        await discord.until(lambda: "Two." in str(bot_texts(discord, thread_of(asked))))
        go_on.set()
        await wait_caught_up(gateway, offer=1, **({} if served else {"answer": 1}))
        await wait_delivered(gateway)
    assert missed in [each.referenced for each in bot_messages(discord, thread_of(asked))]


async def test_what_is_too_old_for_a_button_is_counted(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    await serve_once(discord, tmp_path)
    await alice.mentions(general, "weeks ago")
    model = ScriptedModel("One.")
    later = partial(lambda ahead: time.time() + ahead, 8 * 86_400.0)
    async with serving(discord, tmp_path, partial(solo, model), clock=later) as gateway:
        await wait_caught_up(gateway, too_old=1)
    assert bot_messages(discord, general) == []
    assert model.requests == []


async def test_nothing_is_asked_of_a_channel_that_the_bot_may_not_read(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice, secret, ahead = discord.person("alice"), discord.channel("secret"), 7200.0
    general = discord.channel("general")
    await serve_once(discord, tmp_path)
    discord.advance(ahead)
    await alice.mentions(secret, "nobody hears this")
    discord.deny(secret, discord.bot, "read_message_history")
    asked = await alice.mentions(general, "hello")
    later = partial(lambda ahead: time.time() + ahead, ahead)
    async with serving(discord, tmp_path, lambda: solo("Hello."), clock=later) as gateway:
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        await wait_caught_up(gateway, answer=1)
        await wait_delivered(gateway)
    assert discord.calls("GET", f"/channels/{secret.id}") == []


async def test_reading_keeps_to_the_rate_that_discord_grants(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    discord.limits.set(f"GET {HISTORY}", 2, 0.5)
    places, alice = [discord.channel(f"place{n}") for n in range(6)], discord.person("alice")
    await serve_once(discord, tmp_path)
    for place in places:
        for number in range(210):
            await alice.says(place, f"chatter {number}")
        await alice.mentions(place, "just now")
    async with serving(discord, tmp_path, lambda: solo("Here.")) as gateway:
        await wait_caught_up(gateway, answer=len(places))
        await wait_delivered(gateway)
    assert discord.avoidable_429s == []


async def test_an_edit_while_a_page_is_read_finds_its_message(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice, go_on = discord.channel("general"), discord.person("alice"), asyncio.Event()
    await serve_once(discord, tmp_path)
    asked = await alice.mentions(general, "helo")
    slow = discord.faults.plan(Delay(until=go_on), path="/members/")
    model = ScriptedModel("I see.")
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        await discord.until(lambda: slow.times == 0)
        await alice.edits(asked, f"{discord.bot.mention} hello")
        go_on.set()
        await wait_accepted(gateway, 2)
        await wait_delivered(gateway)
    assert len(model.requests) == 1


@pytest.mark.sqlite
async def test_what_a_store_that_went_back_may_have_answered_is_offered(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    await serve_once(discord, tmp_path)
    shutil.copy(tmp_path / "parley.db", tmp_path / "copy.db")
    async with serving(discord, tmp_path, lambda: solo("One.")) as gateway:
        asked = await alice.mentions(general, "hello")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        await wait_delivered(gateway)
    await discord.until(lambda: not discord.gateway.open_sessions)
    (tmp_path / "copy.db").replace(tmp_path / "parley.db")
    async with serving(discord, tmp_path, lambda: solo("Two.")) as gateway:
        (offer,) = await discord.until(lambda: bot_messages(discord, general))
        await wait_caught_up(gateway, offer=1)
    assert offer.referenced is asked
    assert bot_texts(discord, thread_of(asked)) == ["-# 🐺 **solo**\nOne."]


async def test_a_message_that_can_not_be_taken_for_long_is_read_later(
    discord: DiscordSimulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_queue, "RETRY_SECONDS", (0.01,))
    monkeypatch.setattr(work_list, "RETRY_SECONDS", (0.01,))
    alice = discord.person("alice")
    broken = discord.faults.plan(ServerError(503), path="/members/", times=6)
    async with serving(discord, tmp_path, lambda: solo("One.")) as gateway:
        await alice.says(alice.direct, "hello")
        await discord.until(lambda: bot_texts(discord, alice.direct))
        await wait_delivered(gateway)
    assert broken.times == 0
    assert len(bot_texts(discord, alice.direct)) == 1


def said_in(model: ScriptedModel) -> set[str]:
    """The missed messages of which the model knows."""
    return set(re.findall(r"missed \d", "".join(model.texts())))


async def serve_once(discord: DiscordSimulator, folder: Path) -> None:
    """Serve once, and end: what is said from then on is missed."""
    async with serving(discord, folder, lambda: solo("One.")) as gateway:
        await wait_seen_mark(gateway)
    await discord.until(lambda: not discord.gateway.open_sessions)
