"""Connection failures of all kinds lose no message."""

import asyncio
import time
from functools import partial
from pathlib import Path

import pytest
from pydantic import SecretStr

from adapters.discord import Config, build
from adapters.discord.connection import event_queue as events
from adapters.discord.connection.connection import Connection, make_client
from adapters.discord.testing import DiscordSimulator, Refusal, ServerError
from gateway.access.authority import RoutedAccess
from gateway.adapter import AuthError
from gateway.config.routes import Route
from gateway.gateway import Gateway
from gateway.store.sqlite.store import SqliteStore
from tests.adapters.discord.serving import (
    all_told,
    config_of,
    own,
    response_of,
    said,
    serving,
    taken,
    thread_of,
)
from tests.fakes.scripted_model import ScriptedModel
from tests.gateway.scripted import ScriptedTeams, solo

pytestmark = pytest.mark.chaos


async def refused(config: Config, folder: Path) -> str:
    teams = ScriptedTeams(lambda: solo("."))
    async with Gateway(SqliteStore(folder), teams, access=RoutedAccess([])) as gateway:
        with pytest.raises(AuthError) as error:
            await build(config).run(gateway)
    return str(error.value)


async def noted(gateway: Gateway) -> None:
    """Wait until the store says until when everything was heard."""
    async with asyncio.timeout(5):
        while "seen" not in await gateway.store.marks("discord"):  # noqa: ASYNC110 (in the store)
            await asyncio.sleep(0.01)


async def test_a_wrong_token_is_said_in_words(discord: DiscordSimulator, tmp_path: Path) -> None:
    config = config_of(discord).model_copy(update={"token": SecretStr("wrong.token.at-all")})
    said = await refused(config, tmp_path)
    assert said.startswith("Discord refused the bot's token")
    assert "wrong.token" not in said


async def test_intents_that_are_not_granted_are_said_in_words(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    discord.gateway.granted = 0
    assert "Message Content Intent" in await refused(config_of(discord), tmp_path)


async def test_without_the_intent_mentions_and_direct_messages_are_heard(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    discord.gateway.granted = 0
    general, alice = discord.channel("general"), discord.person("alice")
    config = config_of(discord, message_content=False)
    async with serving(discord, tmp_path, lambda: solo("One.", "Two."), config=config) as gateway:
        asked = await alice.mentions(general, "hello")
        await discord.until(lambda: asked.thread and said(discord, asked.thread))
        await alice.mentions(thread_of(asked), "and?")
        await discord.until(lambda: len(said(discord, thread_of(asked))) == 2)
        await all_told(gateway)


async def test_a_cut_connection_is_resumed_and_nothing_is_taken_twice(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice = discord.person("alice")
    model = ScriptedModel(*[f"Answer {n}." for n in range(5)])
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        await alice.says(alice.direct, "hello")
        await discord.until(lambda: len(said(discord, alice.direct)) == 1)
        discord.gateway.abort()
        await discord.until(lambda: not discord.gateway.open_sessions)
        await alice.says(alice.direct, "while you were away")
        await discord.until(lambda: len(said(discord, alice.direct)) == 2)
        discord.gateway.duplicate()
        await alice.says(alice.direct, "twice?")
        await discord.until(lambda: len(said(discord, alice.direct)) == 3)
        await all_told(gateway)
    assert len(model.requests) == 3
    assert discord.gateway.resumes == 1


async def test_a_lost_session_is_caught_up_with_over_rest(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    async with serving(discord, tmp_path, lambda: solo("One.", "Two.", "Three.")) as gateway:
        asked = await alice.mentions(general, "hello")
        await alice.says(alice.direct, "psst")
        await discord.until(lambda: asked.thread and said(discord, asked.thread))
        await discord.until(lambda: said(discord, alice.direct))
        discord.gateway.invalidate()
        await discord.until(lambda: not discord.gateway.open_sessions)
        new = await alice.mentions(general, "lost?")
        await alice.says(thread_of(asked), "lost here?")
        await alice.says(alice.direct, "and here?")
        await discord.until(lambda: new.thread and said(discord, new.thread), seconds=8)
        await discord.until(lambda: len(said(discord, thread_of(asked))) == 2)
        await discord.until(lambda: len(said(discord, alice.direct)) == 2)
        await all_told(gateway)
    assert len(said(discord, thread_of(new))) == 1


@pytest.mark.timeout(30)  # a connection begins five seconds after another, twice
async def test_a_history_that_can_not_be_read_for_long_is_read_with_the_next_connection(
    discord: DiscordSimulator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(events, "WAITS", (0.01, 0.02))
    general, alice, ahead = discord.channel("general"), discord.person("alice"), 0.0
    async with serving(
        discord, tmp_path, lambda: solo("One.", "Two."), clock=lambda: time.time() + ahead
    ) as gateway:
        await alice.says(alice.direct, "hello")
        await discord.until(lambda: said(discord, alice.direct))
        discord.faults.plan(
            ServerError(503), method="GET", path="/channels/{channel_id}/messages", times=-1
        )
        discord.gateway.invalidate()
        await discord.until(lambda: not discord.gateway.open_sessions)
        lost = await alice.mentions(general, "lost?")
        await discord.until(lambda: "GUILD_CREATE was not taken: " in caplog.text, seconds=15)
        discord.faults.clear()
        ahead = 600.0  # what follows is heard, so that nothing but the loss says where to begin
        await alice.says(alice.direct, "am I heard?")
        await discord.until(lambda: len(said(discord, alice.direct)) == 2)
        discord.gateway.invalidate()
        await discord.until(lambda: lost.thread and said(discord, lost.thread), seconds=15)
        await all_told(gateway)


async def test_what_was_edited_and_deleted_while_the_session_was_lost_is_caught_up_with(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice, go_on = discord.channel("general"), discord.person("alice"), asyncio.Event()
    model = ScriptedModel(["One ", go_on, "."], "Two.", "Three.")
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        asked = await alice.mentions(general, "first")
        await discord.until(lambda: asked.thread)
        await model.asked()
        edited = await alice.says(thread_of(asked), "secnd")
        deleted = await alice.says(thread_of(asked), "third")
        await taken(gateway, 3)
        discord.gateway.invalidate()
        await discord.until(lambda: not discord.gateway.open_sessions)
        await alice.edits(edited, "second, corrected")
        await alice.deletes(deleted)
        await taken(gateway, 5)
        go_on.set()
        await discord.until(lambda: len(said(discord, thread_of(asked))) >= 2)
        await all_told(gateway)
    heard = "".join(model.texts())
    assert "second, corrected" in heard
    assert "third" not in heard
    assert len(model.requests) == 2


async def test_what_was_edited_while_the_process_was_away_is_offered_to_be_run_again(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice = discord.person("alice")
    async with serving(discord, tmp_path, lambda: solo("One.", "Welcome.")) as gateway:
        asked = await alice.says(alice.direct, "count to tne")
        await discord.until(lambda: said(discord, alice.direct))
        removed = await alice.says(alice.direct, "thanks")
        await discord.until(lambda: len(said(discord, alice.direct)) == 2)
        await all_told(gateway)
        await noted(gateway)
    await discord.until(lambda: not discord.gateway.open_sessions)
    await alice.edits(asked, "count to ten")
    await alice.deletes(removed)
    for _ in range(2):  # the same edit is found again by the next one
        async with serving(discord, tmp_path, lambda: solo("Ten.")) as gateway:
            await taken(gateway, 4)
            await discord.until(lambda: len(said(discord, alice.direct)) == 3)
            await all_told(gateway)
    assert len(said(discord, alice.direct)) == 3
    assert own(discord, alice.direct)[2].components
    assert len(discord.calls("GET", f"/messages/{removed.id}")) == 1


async def test_a_channel_that_can_not_be_read_any_more_deletes_nothing(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice, go_on = discord.channel("general"), discord.person("alice"), asyncio.Event()
    model = ScriptedModel(["One ", go_on, "."], "Two.")
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        asked = await alice.mentions(general, "first")
        await discord.until(lambda: asked.thread)
        await model.asked()
        second = await alice.says(thread_of(asked), "second")
        await taken(gateway, 2)
        discord.deny(general, discord.bot, "read_message_history")
        discord.gateway.invalidate()
        looked_at = f"{thread_of(asked).id}/messages/{second.id}"
        await discord.until(lambda: any(c.status for c in discord.calls("GET", looked_at)))
        go_on.set()
        await discord.until(lambda: len(said(discord, thread_of(asked))) == 2)
        await all_told(gateway)
    assert "second" in "".join(model.texts())


async def test_an_event_that_ends_the_library_does_not_end_the_bot(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    async with serving(discord, tmp_path, lambda: solo("Alive.")) as gateway:
        discord.gateway.malformed("CHANNEL_UPDATE", {"guild_id": "nothing of that kind"})
        discord.gateway.malformed("MESSAGE_CREATE", {"id": "x", "author": None})
        discord.gateway.malformed("INTERACTION_CREATE", {"type": 3, "data": {}})
        await discord.until(lambda: not discord.gateway.open_sessions)
        asked = await alice.mentions(general, "still there?")
        await discord.until(lambda: asked.thread and said(discord, asked.thread))
        await all_told(gateway)
    assert discord.gateway.identifies == 2


class DeafHost:
    """A Wire that takes no notice of anything."""

    def on_frame(self, text: str) -> None: ...

    def on_lost(self, shard: int) -> None: ...

    def on_resumed(self, shard: int) -> None: ...


async def test_a_connection_that_falls_silent_is_replaced(discord: DiscordSimulator) -> None:
    config = config_of(discord)
    connection = Connection(
        lambda wire: make_client(config, 1, wire),
        discord.token,
        DeafHost(),
        silent=0.4,
        first_wait=0.01,
    )
    async with asyncio.TaskGroup() as group:
        keeping = group.create_task(connection.run())
        await discord.until(lambda: connection.replaced >= 2)
        assert discord.gateway.identifies >= 2
        keeping.cancel()


async def test_two_shards_hear_everything(discord: DiscordSimulator, tmp_path: Path) -> None:
    discord.gateway.shards = 2
    alice, other = discord.person("alice"), discord.guild("other")
    far = discord.channel("far", guild=other)
    bob = discord.person("bob", guild=other)
    config = config_of(discord, shards=2)
    async with serving(discord, tmp_path, lambda: solo("Here."), config=config) as gateway:
        await discord.until(lambda: len(discord.gateway.open_sessions) == 2, seconds=8)
        asked = await bob.mentions(far, "hello")
        await alice.says(alice.direct, "hi")
        await discord.until(lambda: asked.thread and said(discord, asked.thread))
        await discord.until(lambda: said(discord, alice.direct))
        await all_told(gateway)


async def test_what_was_said_while_the_process_was_away_is_one_turn(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    async with serving(discord, tmp_path, lambda: solo("One.")) as gateway:
        asked = await alice.mentions(general, "begin")
        await discord.until(lambda: asked.thread and said(discord, asked.thread))
        await all_told(gateway)
        await noted(gateway)
    await discord.until(lambda: not discord.gateway.open_sessions)
    for text in ("first", "second", "third"):
        await alice.says(thread_of(asked), text)
    model = ScriptedModel("All of it.")
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        await discord.until(lambda: len(said(discord, thread_of(asked))) == 2)
        await all_told(gateway)
    assert len(model.requests) == 1
    assert "first\n\nsecond\n\nthird" in model.texts()[-1]


async def test_what_is_older_waits_below_a_button(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    async with serving(discord, tmp_path, lambda: solo("One.")) as gateway:
        await noted(gateway)
    await discord.until(lambda: not discord.gateway.open_sessions)
    asked = await alice.mentions(general, "hours ago")
    await alice.says(general, "not for the bot")
    model = ScriptedModel("Late, but here.")
    later = partial(lambda ahead: time.time() + ahead, 3600.0)
    async with serving(discord, tmp_path, partial(solo, model), clock=later) as gateway:
        (offer,) = await discord.until(lambda: own(discord, general))
        assert offer.referenced is asked
        assert model.requests == []
        await discord.answered(await alice.clicks(offer, "Answer now"))
        await discord.until(lambda: asked.thread and said(discord, asked.thread))
        await all_told(gateway)
    assert said(discord, thread_of(asked)) == ["**solo**\nLate, but here."]


async def test_who_may_not_write_is_offered_nothing(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice, mallory = (
        discord.channel("general"),
        discord.person("alice"),
        discord.person("mallory"),
    )
    only_alice = Route(adapter="discord", channels=["*"], users=[str(alice.id)])
    await away(discord, tmp_path)
    await mallory.mentions(general, "hours ago")
    asked = await alice.mentions(general, "hours ago, too")
    later = partial(lambda ahead: time.time() + ahead, 3600.0)
    team = lambda: solo("One.")  # noqa: E731
    async with serving(discord, tmp_path, team, routes=[only_alice], clock=later) as gateway:
        await discord.until(lambda: own(discord, general))
        await all_told(gateway)
    assert [offer.referenced for offer in own(discord, general)] == [asked]


async def test_who_has_left_meanwhile_is_no_member_any_more(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice, mallory = (
        discord.channel("general"),
        discord.person("alice"),
        discord.person("mallory"),
    )
    await away(discord, tmp_path)
    await mallory.mentions(general, "delete everything")
    discord.kick(mallory)
    asked = await alice.mentions(general, "are you there?")
    model = ScriptedModel("Yes.")
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        await discord.until(lambda: asked.thread and said(discord, asked.thread))
        await all_told(gateway)
        refused = (await gateway.store.counts()).refused
    assert refused == {"not allowed": 1}
    assert len(model.requests) == 1


async def away(discord: DiscordSimulator, folder: Path) -> None:
    """Serve once, and end: what is said from then on is missed."""
    async with serving(discord, folder, lambda: solo("One.")) as gateway:
        await noted(gateway)
    await discord.until(lambda: not discord.gateway.open_sessions)


async def test_what_others_say_to_each_other_does_not_hide_what_was_missed(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    await away(discord, tmp_path)
    asked = await alice.mentions(general, "hours ago")
    for number in range(60):
        await alice.says(general, f"chatter {number}")
    later = partial(lambda ahead: time.time() + ahead, 3600.0)
    async with serving(discord, tmp_path, lambda: solo("Late."), clock=later) as gateway:
        (offer,) = await discord.until(lambda: own(discord, general))
        await all_told(gateway)
    assert offer.referenced is asked


async def test_the_newest_is_answered_however_much_was_said_before(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    await away(discord, tmp_path)
    for number in range(510):
        await alice.says(general, f"chatter {number}")
    asked = await alice.mentions(general, "just now")
    async with serving(discord, tmp_path, lambda: solo("Here.")) as gateway:
        await discord.until(lambda: asked.thread and said(discord, asked.thread))
        await all_told(gateway)


async def test_an_answer_to_what_was_missed_takes_all_of_it_and_tells_how_much(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    config = config_of(discord, threads="none")
    async with serving(discord, tmp_path, lambda: solo("One."), config=config) as gateway:
        await alice.mentions(general, "begin")
        (answer,) = await discord.until(lambda: own(discord, general))
        await all_told(gateway)
        await noted(gateway)
    await discord.until(lambda: not discord.gateway.open_sessions)
    await alice.says(general, "the first", reply_to=answer)
    for number in range(120):
        await alice.says(general, f"chatter {number}")
    await alice.says(general, "the last", reply_to=answer)
    model = ScriptedModel("Late.", "Late.")
    later = partial(lambda ahead: time.time() + ahead, 3600.0)
    again = partial(solo, model)
    async with serving(discord, tmp_path, again, config=config, clock=later) as gateway:
        offer = (await discord.until(lambda: own(discord, general)[1:]))[0]
        clicked = await alice.clicks(offer, "Answer now")
        await discord.answered(clicked)
        await discord.until(lambda: model.requests and "the last" in "".join(model.texts()))
        await all_told(gateway)
    assert response_of(clicked).content == "The team answers 2 messages."


async def test_a_message_that_can_not_be_taken_just_now_is_taken_later(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice = discord.person("alice")
    async with serving(discord, tmp_path, lambda: solo("One.")) as gateway:
        discord.faults.plan(ServerError(503), path="/members/{user_id}")
        await alice.says(alice.direct, "who am I?")
        await discord.until(lambda: said(discord, alice.direct) == ["**solo**\nOne."])
        await all_told(gateway)


async def test_a_thread_that_people_have_opened_keeps_its_name(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    started = await alice.says(general, "let us talk")
    thread = await alice.starts_thread(started, "our plans")
    async with serving(discord, tmp_path, lambda: solo("One.", "Two.")) as gateway:
        await alice.mentions(thread, "what do you think?")
        await discord.until(lambda: said(discord, thread))
        await alice.says(thread, "go on")
        await discord.until(lambda: len(said(discord, thread)) == 2)
        await all_told(gateway)
    assert thread.name == "our plans"


async def test_a_bad_beginning_is_tried_again(discord: DiscordSimulator, tmp_path: Path) -> None:
    alice = discord.person("alice")
    discord.faults.plan(ServerError(503), path="/users/@me")
    discord.faults.plan(Refusal(400, 50035, "Invalid Form Body"), method="PUT", path="/commands")
    async with serving(discord, tmp_path, lambda: solo("Here.")) as gateway:
        await discord.until(lambda: discord.calls("PUT", "/commands"))
        await alice.says(alice.direct, "there?")
        await discord.until(lambda: said(discord, alice.direct))
        await all_told(gateway)
