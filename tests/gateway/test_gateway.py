import asyncio
from contextlib import aclosing

import pytest

from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.errors import GatewayClosed, NotFound, StoreFull
from gateway.events import (
    HumanText,
    MessageFinished,
    MessageQueued,
    MessageWithdrawn,
    Notice,
    TextDelta,
    ThreadRenamed,
    ToolFinished,
    TurnFinished,
    TurnStarted,
)
from gateway.gateway import Gateway, Limits
from gateway.store.records import Thread
from teams.base import Team
from teams.models import RateLimited
from tests.fakes.new_store import new_store
from tests.fakes.tested_store import everything_in
from tests.gateway.scripted import (
    Door,
    ScriptedTeams,
    calls,
    ends,
    kinds,
    model,
    of,
    opened,
    solo,
    turn,
    until,
)


async def test_a_message_becomes_a_turn_and_the_answer_is_watched_as_it_streams(tmp_path):
    async with opened(
        tmp_path, lambda: solo("Good morning to you.", model_client_stream=True)
    ) as gateway:
        thread = await gateway.client.create_thread()
        receipt = await gateway.client.send(thread.id, "Hello there")
        events = await until(gateway, thread.id, ends)
        replayed = await until(gateway, thread.id, ends)
    assert receipt.outcome == "turn"
    assert receipt.thread == thread.id
    assert [event for event in events if not isinstance(event, TextDelta)] == replayed
    assert kinds(replayed) == [
        "thread_renamed",
        "turn_started",
        "speaker_started",
        "message_finished",
        "usage",
        "turn_finished",
    ]
    renamed, started, speaker, finished, _, end = replayed
    assert renamed.title == "Hello there"
    assert started.messages == (
        HumanText(
            inbox=receipt.inbox, author="operator", text="Hello there", author_id="local:operator"
        ),
    )
    assert (speaker.agent, speaker.model) == ("solo", "replay")
    assert finished.text == "Good morning to you."
    assert end.outcome == "done"
    assert [event.seq for event in replayed] == [1, 2, 3, 4, 5, 6]


async def test_the_team_remembers_in_the_same_process_and_in_the_next(tmp_path):
    asked = []

    def make():
        team = solo("one", "two", "three")
        asked.append(team)
        return team

    async with opened(tmp_path, make) as gateway:
        thread = await gateway.client.create_thread()
        await turn(gateway, thread.id, "first")
        await turn(gateway, thread.id, "second")
    async with opened(tmp_path, make) as gateway:
        await turn(gateway, thread.id, "third")
        state = await asked[1].save_state()
    assert len(asked) == 2
    thread_of_team = state["agent_states"]["RoundRobinGroupChatManager"]["message_thread"]
    texts = [message["content"] for message in thread_of_team]
    assert texts == ["first", "one", "second", "two", "third", "one"]


async def test_messages_during_a_turn_wait_visibly_and_run_in_order(tmp_path):
    door = Door()

    async def wait() -> str:
        await door.pass_through()
        return "ok"

    async with opened(
        tmp_path, lambda: solo(calls("wait"), "first", "second", "third", tools=[wait])
    ) as gateway:
        thread = (await gateway.client.create_thread()).id
        await gateway.client.send(thread, "a")
        await door.reached.wait()
        receipts = [await gateway.client.send(thread, text) for text in "bc"]
        door.open()
        seen = []
        async with aclosing(gateway.client.events(thread)) as events:
            async for event in events:
                seen.append(event)
                if len(of(TurnFinished, seen)) == 3:
                    break
    assert [receipt.outcome for receipt in receipts] == ["queued", "queued"]
    assert [event.message.text for event in of(MessageQueued, seen)] == ["b", "c"]
    told = [event.messages[0].text for event in of(TurnStarted, seen)]
    assert told == ["a", "b", "c"]
    assert [event.text for event in of(MessageFinished, seen)] == ["first", "second", "third"]
    assert [event.seq for event in seen] == sorted({event.seq for event in seen})


async def test_a_waiting_message_can_be_taken_back_once(tmp_path):
    door = Door()

    async def wait() -> str:
        await door.pass_through()
        return "ok"

    async with opened(
        tmp_path, lambda: solo(calls("wait"), "first", "second", tools=[wait])
    ) as gateway:
        thread = (await gateway.client.create_thread()).id
        await gateway.client.send(thread, "a")
        await door.reached.wait()
        queued = await gateway.client.send(thread, "never mind")
        assert await gateway.client.withdraw(thread, queued.inbox) == "never mind"
        assert await gateway.client.withdraw(thread, queued.inbox) is None
        door.open()
        events = await until(gateway, thread, ends)
        found = await gateway.client.threads(search="never mind")
    assert [event.inbox for event in of(MessageWithdrawn, events)] == [queued.inbox]
    assert len(of(TurnStarted, events)) == 1
    assert found == []


async def test_stop_ends_the_turn_at_once_and_the_thread_goes_on(tmp_path):
    door = Door()

    async def wait() -> str:
        await door.pass_through()
        return "ok"

    shared = model(calls("wait"), "after")
    async with opened(tmp_path, lambda: solo(shared, tools=[wait])) as gateway:
        thread = (await gateway.client.create_thread()).id
        await gateway.client.send(thread, "a")
        await door.reached.wait()
        assert await gateway.client.stop(thread)
        stopped = await until(gateway, thread, ends)
        assert not await gateway.client.stop(thread)
        went_on = await turn(gateway, thread, "b")
    assert stopped[-1].outcome == "stopped"
    assert [event.failed for event in of(ToolFinished, stopped)] == [True]
    assert went_on[-1].outcome == "done"
    assert [event.text for event in of(MessageFinished, went_on)] == ["after"]


async def test_threads_run_side_by_side(tmp_path):
    doors = [Door(), Door()]
    waiting = iter(doors)

    async def wait() -> str:
        await next(waiting).pass_through()
        return "ok"

    async with opened(tmp_path, lambda: solo(calls("wait"), "done", tools=[wait])) as gateway:
        threads = [(await gateway.client.create_thread()).id for _ in doors]
        for thread in threads:
            await gateway.client.send(thread, "go")
        for door in doors:
            await door.reached.wait()
        for door in doors:
            door.open()
        for thread in threads:
            await until(gateway, thread, ends)


async def test_a_failing_model_is_said_in_a_sentence_and_the_next_message_goes_on(tmp_path, caplog):
    teams = ScriptedTeams(lambda: solo("never", messages=3))

    class Busy:
        left = 1

    def make():
        team = solo("Here I am.", messages=3)
        gateway = team._participants[0]._model_client  # pyright: ignore[reportAttributeAccessIssue]
        create = gateway.create

        async def failing(*args, **kwargs):
            if Busy.left:
                Busy.left -= 1
                raise RateLimited("429 from https://model.example/v1 with key sk-0123456789")
            return await create(*args, **kwargs)

        gateway.create = failing
        return team

    teams.make = make
    async with opened(tmp_path, teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        failed = await turn(gateway, thread, "hello")
        went_on = await turn(gateway, thread, "still there?")
    [notice] = of(Notice, failed)
    assert notice.text == "The model is busy. Try again in a minute."
    assert notice.incident
    assert notice.incident in caplog.text
    assert "with key [secret]" in notice.for_operator
    assert "sk-0" not in repr(failed)
    assert failed[-1].outcome == "failed"
    assert [event.text for event in of(MessageFinished, went_on)] == ["Here I am."]


def broken() -> Team:
    raise ZeroDivisionError


async def test_a_team_that_cannot_be_built_fails_the_turn_and_gets_the_message_later(tmp_path):
    teams = ScriptedTeams(lambda: solo("Hello both.", messages=3))
    make, teams.make = teams.make, broken
    async with opened(tmp_path, teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        failed = await turn(gateway, thread, "first")
        teams.make = make
        went_on = await turn(gateway, thread, "second")
    assert failed[-1].outcome == "failed"
    assert [event.text for event in of(MessageFinished, went_on)] == ["Hello both."]
    assert [message.text for message in went_on[0].messages] == ["second"]


async def test_a_team_that_is_gone_from_the_config_is_named(tmp_path):
    teams = ScriptedTeams(lambda: solo("Hello."))
    async with opened(tmp_path, teams) as gateway:
        thread = (await gateway.client.create_thread(team="other")).id
        teams.names = lambda: ["demo"]
        failed = await turn(gateway, thread, "hello")
        with pytest.raises(NotFound, match="no team 'other'"):
            await gateway.client.create_thread(team="other")
    assert "The team 'other' is no longer configured." in of(Notice, failed)[0].text


async def test_new_begins_a_thread_without_memory_and_leaves_the_old_one(tmp_path):
    async with opened(tmp_path, lambda: solo("one", "two")) as gateway:
        old = (await gateway.client.create_thread()).id
        await turn(gateway, old, "first")
        receipt = await gateway.client.send(old, "/new")
        await turn(gateway, receipt.thread, "fresh")
        await turn(gateway, old, "on with the old one")
        threads = await gateway.client.threads()
    assert receipt.outcome == "command"
    assert receipt.thread != old
    assert {thread.id for thread in threads} == {old, receipt.thread}


async def test_on_a_platform_new_gives_the_conversation_another_thread(tmp_path):
    key = ConversationKey(platform="slack", workspace="T", channel="C", root="1")
    me = Author(id="local:operator")

    def say(text, n):
        return InboundMessage(key=key, author=me, text=text, dedupe=(key.dedupe("create", n),))

    teams = ScriptedTeams(lambda: solo("one", "two"))
    async with Gateway(new_store(tmp_path), teams) as gateway:
        first = await gateway.accept(say("hello", "1"))
        await until(gateway, first.thread, ends)
        same = await gateway.accept(say("again", "2"))
        fresh = await gateway.accept(say("/new", "3"))
        assert not fresh.reply
        [told] = await until(gateway, fresh.thread, lambda event: isinstance(event, Notice))
        assert told.text.startswith("A new thread has started.")
        later = await gateway.accept(say("anew", "4"))
        await until(gateway, later.thread, ends)
    assert same.thread == first.thread
    assert fresh.thread == later.thread != first.thread


async def test_whoever_is_not_an_operator_is_refused_without_a_trace_of_the_text(tmp_path):
    stranger = Author(id="slack:T:U9", name="Eve")
    key = ConversationKey(platform="slack", channel="C")
    teams = ScriptedTeams(lambda: solo("never"))
    async with Gateway(new_store(tmp_path), teams) as gateway:
        receipts = [
            await gateway.accept(InboundMessage(key=key, author=stranger, text="let me in"))
            for _ in range(2)
        ]
        assert await gateway.client.threads() == []
    assert [receipt.outcome for receipt in receipts] == ["refused", "refused"]
    assert [bool(receipt.reply) for receipt in receipts] == [True, False]
    assert teams.built == 0
    assert b"let me in" not in everything_in(tmp_path)


@pytest.mark.sqlite
async def test_a_full_disk_takes_nothing_and_the_same_message_goes_through_later(tmp_path):
    store = new_store(tmp_path)
    key = ConversationKey(platform="x", root="1")
    message = InboundMessage(
        key=key, author=Author(id="local:operator"), text="x" * 200_000, dedupe=("d",)
    )

    def limit(pages):
        return store.write(lambda c: c.fetch(f"PRAGMA max_page_count = {pages}")[0][0])

    async with Gateway(store, ScriptedTeams(lambda: solo("taken"))) as gateway:
        await limit(await store.write(lambda c: c.fetch("PRAGMA page_count")[0][0]) + 2)
        with pytest.raises(StoreFull, match="disk is full"):
            await gateway.accept(message)
        await limit(1_000_000)
        receipt = await gateway.accept(message)
        events = await until(gateway, receipt.thread, ends)
    assert [event.text for event in of(MessageFinished, events)] == ["taken"]


@pytest.mark.sqlite
async def test_a_disk_that_fills_up_in_a_turn_delays_it(tmp_path):
    store = new_store(tmp_path)
    door = Door()

    async def wait() -> str:
        await door.pass_through()
        return "y" * 300_000

    def limit(pages):
        return store.write(lambda c: c.fetch(f"PRAGMA max_page_count = {pages}")[0][0])

    teams = ScriptedTeams(lambda: solo(calls("wait"), "done", tools=[wait]))
    async with Gateway(store, teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        await gateway.client.send(thread, "go")
        await door.reached.wait()
        await limit(await store.write(lambda c: c.fetch("PRAGMA page_count")[0][0]) + 4)
        door.open()
        while gateway._sessions.running:  # noqa: ASYNC110 (nothing tells of it)
            await asyncio.sleep(0)
        assert (await gateway.client.thread(thread)).state == "working"
        await limit(1_000_000)
        events = await until(gateway, thread, ends)
    assert events[-1].outcome == "done"
    assert events[-1].reason


async def test_deleting_a_thread_removes_its_rows_its_folder_and_its_work(tmp_path):
    door = Door()

    async def wait() -> str:
        await door.pass_through()
        return "ok"

    teams = ScriptedTeams(lambda: solo(calls("wait"), "never", tools=[wait]))
    async with opened(tmp_path, teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        await gateway.client.send(thread, "a secret")
        await door.reached.wait()
        (teams.workdirs[0] / "notes.txt").write_text("secret")
        watching = asyncio.ensure_future(until(gateway, thread, ends))
        await asyncio.sleep(0.01)
        await gateway.client.delete_thread(thread)
        with pytest.raises(AssertionError, match="the events ended"):
            await watching
        with pytest.raises(NotFound):
            await gateway.client.thread(thread)
        with pytest.raises(NotFound):
            await gateway.client.send(thread, "still there?")
    assert not teams.workdirs[0].exists()
    assert b"a secret" not in everything_in(tmp_path)


async def test_each_thread_has_a_team_and_a_private_folder_of_its_own(tmp_path):
    async def shout(word: str) -> str:
        """Shout."""
        return word.upper()

    teams = ScriptedTeams(lambda: solo("one", tools=[shout]))
    async with opened(tmp_path, teams) as gateway:
        for _ in range(2):
            await turn(gateway, (await gateway.client.create_thread()).id, "hello")
    assert len(set(teams.workdirs)) == teams.built == 2
    assert {folder.stat().st_mode & 0o777 for folder in teams.workdirs} == {0o700}


async def test_idle_teams_beyond_the_limit_are_loaded_again_when_needed(tmp_path):
    teams = ScriptedTeams(lambda: solo("one", "two"))
    async with opened(tmp_path, teams, limits=Limits(live_teams=1)) as gateway:
        threads = [(await gateway.client.create_thread()).id for _ in range(2)]
        for thread in threads:
            await turn(gateway, thread, "hello")
        assert teams.built == 2
        await turn(gateway, threads[1], "kept")
        assert teams.built == 2
        await turn(gateway, threads[0], "loaded again")
        assert teams.built == 3


async def test_idle_teams_that_are_too_large_together_are_dropped_and_remember_everything(tmp_path):
    shared = model(*["x" * 50_000] * 3, "short", "last")
    teams = ScriptedTeams(lambda: solo(shared))
    async with opened(tmp_path, teams, limits=Limits(live_bytes=120_000)) as gateway:
        threads = [(await gateway.client.create_thread()).id for _ in range(3)]
        for n, thread in enumerate(threads):
            await turn(gateway, thread, f"the number is {n}")
        status = await gateway.client.status()
        assert status.live == 2
        assert 100_000 < status.live_bytes < 120_000
        await turn(gateway, threads[1], "kept")
        assert teams.built == 3
        await turn(gateway, threads[0], "loaded again")
        assert teams.built == 4
    heard = [message.content for message in shared.create_calls[-1]["messages"]]
    assert heard[-3:] == ["the number is 0", "x" * 50_000, "loaded again"]


async def test_a_team_that_is_too_large_for_itself_is_dropped_after_each_turn(tmp_path):
    teams = ScriptedTeams(lambda: solo("x" * 50_000, "short"))
    async with opened(tmp_path, teams, limits=Limits(live_bytes=10_000)) as gateway:
        thread = (await gateway.client.create_thread()).id
        for text in ("one", "two"):
            await turn(gateway, thread, text)
            assert (await gateway.client.status()).live == 0


async def test_renaming_is_seen_by_who_watches(tmp_path):
    async with opened(tmp_path, lambda: solo("one")) as gateway:
        thread = (await gateway.client.create_thread(title="Old")).id
        await gateway.client.rename_thread(thread, "New")
        events = await until(gateway, thread, lambda event: isinstance(event, ThreadRenamed))
        assert (await gateway.client.thread(thread)).title == "New"
    assert events[-1].title == "New"


async def test_after_the_end_nothing_is_taken_and_watchers_are_let_go(tmp_path):
    async with opened(tmp_path, lambda: solo("one")) as gateway:
        thread = (await gateway.client.create_thread()).id
        watching = asyncio.ensure_future(until(gateway, thread, lambda _: False))
        await asyncio.sleep(0.01)
    with pytest.raises(AssertionError, match="the events ended"):
        await watching
    with pytest.raises(GatewayClosed):
        await gateway.client.send(thread, "hello")


async def test_a_cancelled_caller_does_not_lose_the_turn_of_its_message(tmp_path):
    async with opened(tmp_path, lambda: solo("here")) as gateway:
        thread = await gateway.client.create_thread()
        assert isinstance(thread, Thread)
        message = InboundMessage(
            key=thread.key, thread=thread.id, author=Author(id="local:operator"), text="hi"
        )
        sending = asyncio.ensure_future(gateway.accept(message))
        await asyncio.sleep(0)
        sending.cancel()
        events = await until(gateway, thread.id, ends)
        assert sending.cancelled()
    assert events[-1].outcome == "done"
