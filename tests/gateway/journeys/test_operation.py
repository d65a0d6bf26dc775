"""An operator's guarantees: retries, backups, and complete deletion."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.access.authority import Access, Admission
from gateway.app.stores import AnyStore
from gateway.base.logging import log_to
from gateway.client import Answer
from gateway.config.budgets import Budget
from gateway.config.routes import Route
from gateway.control.socket_client import SocketClient
from gateway.conversation import (
    LOCAL_OPERATOR,
    Attachment,
    Author,
    ConversationKey,
    InboundMessage,
    Quote,
)
from gateway.delivery.service import delivering
from gateway.events import InputRequested, TurnFinished
from gateway.gateway import Gateway, Limits
from gateway.inbound.policy import NOT_YOURS_ALONE
from gateway.interactions import Click
from gateway.registry import ToolRule
from gateway.store.connection import Connection
from gateway.store.units import adapters as adapter_units
from gateway.store.units import deletion, people
from teams import RoundRobinGroupChat
from teams.agents import BaseChatAgent
from teams.base import Response
from teams.core import EVENT_LOGGER_NAME, TRACE_LOGGER_NAME
from teams.messages import TextMessage
from tests.fakes.new_store import is_on_postgres, new_store
from tests.fakes.scripted_surface import Board, Surface
from tests.fakes.tested_store import change_in, everything_in, tables_of
from tests.gateway.delivery.delivered import all_told
from tests.gateway.scripted import ScriptedTeams, calls, ends, model, of, opened, solo, turn, until

DAY = 86400.0
ANNA, BEN = Author(id="slack:T1:U1", name="Anna"), Author(id="slack:T1:U2", name="Ben")
SECRET = "xyzzy-7391"


class Moody(BaseChatAgent):
    """Fails as long as it is told to, then answers."""

    def __init__(self, failures: int) -> None:
        super().__init__("solo", "moody")
        self.failures = failures

    @property
    def produced_message_types(self):
        return (TextMessage,)

    async def on_messages(self, messages, cancellation_token):
        if self.failures:
            self.failures -= 1
            raise RuntimeError("not now")
        return Response(chat_message=TextMessage(content="done", source=self.name))

    async def on_reset(self, cancellation_token):
        pass


async def test_what_failed_is_tried_again_on_demand_with_the_same_message(tmp_path):
    moody = Moody(1)
    async with opened(tmp_path, lambda: RoundRobinGroupChat([moody], max_turns=1)) as gateway:
        thread = (await gateway.client.create_thread()).id
        assert (await turn(gateway, thread, "go"))[-1].outcome == "failed"
        seq = (await gateway.client.thread(thread)).last_seq
        receipt = await gateway.client.send(thread, "/retry")
        events = await until(gateway, thread, ends, seq)
        again = await gateway.client.send(thread, "/retry")
    assert (receipt.outcome, receipt.reply) == (
        "command",
        "Trying again from where it stopped.",
    )
    assert [event.outcome for event in of(TurnFinished, events)] == ["done"]
    assert again.reply == "No turn has failed, so there is none to try again."


async def test_a_question_of_a_turn_that_failed_is_asked_anew_when_it_is_tried_again(tmp_path):
    async def delete() -> str:
        """Delete."""
        return "gone"

    shared = model(calls("delete"), "ok")
    teams = ScriptedTeams(
        lambda: solo(shared, tools=[delete]),
        rules={"delete": ToolRule(action="ask")},
    )
    async with opened(tmp_path, teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        first = of(InputRequested, await turn(gateway, thread, "go"))[0]
    as_parked(tmp_path, thread)
    async with opened(tmp_path, teams) as gateway:
        seq = (await gateway.client.thread(thread)).last_seq
        await gateway.client.send(thread, "/retry")
        second = of(InputRequested, await until(gateway, thread, ends, seq))[0]
        assert second.request != first.request
        await gateway.client.send(thread, f"/approve {second.request}")
        events = await until(gateway, thread, lambda e: ends(e) and e.outcome == "done", seq)
    assert events


def as_parked(folder: Path, thread: str) -> None:
    """The waiting turn, as if it had been interrupted once too often."""
    change_in(
        folder,
        "UPDATE turns SET status = 'interrupted' WHERE thread = :thread",
        "UPDATE requests SET state = 'closed' WHERE thread = :thread",
        "UPDATE threads SET state = 'parked' WHERE id = :thread",
        thread=thread,
    )


@pytest.mark.sqlite
async def test_a_running_gateway_is_backed_up_and_the_copy_opens_as_a_store(tmp_path):
    async with opened(tmp_path / "store", lambda: solo("one", "two")) as gateway:
        thread = (await gateway.client.create_thread(title="Kept")).id
        await turn(gateway, thread, "first")
        remote = await SocketClient.connect(tmp_path / "store")
        await remote.backup(tmp_path / "parley.db")
        await turn(gateway, thread, "second")
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["parley.db"]
    assert (tmp_path / "parley.db").stat().st_mode & 0o777 == 0o600
    async with opened(tmp_path, lambda: solo("three")) as gateway:
        assert (await gateway.client.thread(thread)).title == "Kept"
        assert (await turn(gateway, thread, "third"))[-1].outcome == "done"


@pytest.fixture
def own_log() -> Iterator[None]:
    """Restore the root logger's handlers and the engine loggers' levels."""
    root = logging.getLogger()
    loggers = [root, *map(logging.getLogger, (EVENT_LOGGER_NAME, TRACE_LOGGER_NAME))]
    handlers, levels = root.handlers[:], [logger.level for logger in loggers]
    root.handlers = []  # or the new log would close those of the tests
    yield
    for handler in root.handlers:
        handler.close()
    root.handlers = handlers
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)
    logging.captureWarnings(False)


async def a_thread_with_traces(gateway: Gateway, folder: Path) -> str:
    """A thread with a secret in every place that a thread writes."""
    thread = (await gateway.client.create_thread(title=f"About {SECRET}")).id
    seq = (await gateway.client.thread(thread)).last_seq
    await gateway.accept(
        InboundMessage(
            key=ConversationKey.local(thread),
            thread=thread,
            author=LOCAL_OPERATOR,
            text=f"the word is {SECRET} " * 500,
            attachments=(
                Attachment(
                    name="a.txt", media_type="text/plain", data=f"{SECRET} inside".encode() * 900
                ),
            ),
        )
    )
    asked = of(InputRequested, await until(gateway, thread, ends, seq))[0]
    await gateway.client.send(thread, f"/deny {asked.request} because of {SECRET}")
    await until(gateway, thread, lambda e: ends(e) and e.outcome == "done", seq)
    (folder / "work" / thread / "note.txt").write_text(SECRET)
    assert everything_in(folder).count(SECRET.encode()) > 1000
    return thread


async def tell(text: str) -> str:
    """Tell."""
    return text


def tattlers() -> ScriptedTeams:
    return ScriptedTeams(
        lambda: solo(
            calls("tell", tell=f'{{"text": "{SECRET}"}}'), f"It is {SECRET}.", tools=[tell]
        ),
        rules={"tell": ToolRule(action="ask")},
    )


@pytest.mark.parametrize("how", ["thread", "person", "command", "age"])
async def test_what_is_deleted_leaves_no_trace_on_the_disk(tmp_path, own_log, how):
    now = [1e9]
    limits = Limits(retention=90 * DAY)
    teams = tattlers()
    log_to(tmp_path / "parley.log", "info")
    async with opened(tmp_path, teams, limits=limits, clock=lambda: now[0]) as gateway:
        thread = await a_thread_with_traces(gateway, tmp_path)
        if not is_on_postgres():  # a copy from before an upgrade
            (tmp_path / "parley.v1.db").write_text(SECRET)
        match how:
            case "thread":
                await gateway.client.delete_thread(thread)
            case "person":
                assert await gateway.client.delete_person(LOCAL_OPERATOR.id) == [thread]
            case "command":
                receipt = await gateway.client.send(thread, "/forget")
                assert receipt.outcome == "command"
                assert receipt.thread != thread
                assert SECRET.encode() not in everything_in(tmp_path)
            case _:
                pass  # a clock that jumps while it runs would not be believed
    if how == "age":
        now[0] = 1e11
    async with opened(tmp_path, teams, limits=limits, clock=lambda: now[0]) as gateway:
        gateway.health.compare_time("scripted", now[0])
        await gateway._life.tidy()
        assert SECRET.encode() not in everything_in(tmp_path)
        assert [each.id for each in await gateway.client.threads()] != [thread]
    assert SECRET.encode() not in everything_in(tmp_path)
    assert "nothing had happened" in (tmp_path / "parley.log").read_text() or how != "age"


PLACE = ConversationKey(platform="scripted", workspace="T1", channel="C1", root="1")
DORA = Author(id="scripted:T1:DORACANARY", name="Doracanary")
EMIL = Author(id="scripted:T1:EMIL", name="Emil")
EVERYWHERE = {
    "adapter": "scripted",
    "channels": ["C1", "C2"],
    "users": ["DORACANARY", "EMIL"],
}
TRACES = (
    *("inbox", "turns", "events", "checkpoints", "tool_calls", "requests", "supports", "grants"),
    *("audit", "outbox", "deliveries", "feedback", "usage", "marks", "pairing_codes"),
)
"""The tables in which somebody leaves a trace who works with a team on a platform."""


async def dora_has_left_traces(gateway: Gateway, board: Board) -> str:
    """Dora's thread with a word in it and a delivered approval.

    Two people approve it for good.
    """
    said = await gateway.accept(
        InboundMessage(key=PLACE, author=DORA, text=f"tell {SECRET}", dedupe=("said",))
    )
    asked = of(InputRequested, await until(gateway, said.thread, ends))[0]
    for author in (DORA, EMIL):
        click = Click(request=asked.request, answer=Answer(kind="approve_always"))
        await gateway.accept(InboundMessage(key=PLACE, author=author, event="click", click=click))
    await until(gateway, said.thread, lambda e: ends(e) and e.outcome == "done")
    await all_told(gateway, platform="scripted")
    assert SECRET in str(board.texts)
    await gateway.store.run(people.rate, said.thread, "part", DORA.id, good=True)
    await gateway.store.run(adapter_units.mark, "scripted", f"thread of {DORA.id}", "C1", of=PLACE)
    for place, direct in (
        (replace(PLACE, channel="C9"), False),
        (
            ConversationKey(platform="scripted", workspace="T1", channel="D1", user="DORACANARY"),
            True,
        ),
    ):
        refused = InboundMessage(key=place, author=DORA, text=SECRET, direct=direct)
        assert (await gateway.accept(refused)).outcome == "refused"
    return said.thread


async def tables_with(store: AnyStore, *texts: str) -> set[str]:
    """The tables in which a row has one of the texts."""

    def found(connection: Connection) -> set[str]:
        return {
            name
            for name in tables_of(connection)
            for row in connection.fetch(f"SELECT * FROM {name}")
            if any(text in repr(tuple(row)) for text in texts)
        }

    return await store.read(found)


@pytest.mark.parametrize("how", ["thread", "person"])
async def test_what_is_deleted_of_a_platform_leaves_no_trace_of_its_person(tmp_path, how):
    async def tell(text: str) -> str:
        """Tell."""
        return text

    shared = model(calls("tell", tell=f'{{"text": "{SECRET}"}}'), f"It is {SECRET}.", *["ok"] * 5)
    rule = ToolRule(action="ask", quorum=2, approvers=(DORA.id, EMIL.id))
    teams = ScriptedTeams(lambda: solo(shared, tools=[tell]), rules={"tell": rule})
    routes = [EVERYWHERE, {"adapter": "scripted", "dm": True, "pairing": True}]
    access = Access(routes=[Route.model_validate(each) for each in routes])
    store, board = new_store(tmp_path), Board()
    limits = Limits(budgets=[Budget(per="person", tokens=100_000)])
    async with (
        Gateway(store, teams, access=access, limits=limits) as gateway,
        delivering(gateway.delivery, Surface(board)),
    ):
        thread = await dora_has_left_traces(gateway, board)
        assert await tables_with(store, thread, DORA.id, DORA.name, SECRET) >= {*TRACES}
        elsewhere = replace(PLACE, channel="C2")
        quote = Quote(text="about lunch", author=DORA.name)
        await gateway.accept(
            InboundMessage(key=elsewhere, author=EMIL, text="see this", quotes=(quote,))
        )
        await all_told(gateway, platform="scripted")
        if how == "thread":
            await gateway.client.delete_thread(thread)
            assert await tables_with(store, SECRET) == set()
        else:
            assert await gateway.client.delete_person(DORA.id) == [thread]
            assert await tables_with(store, "DORACANARY", SECRET) == set()
            # What others quoted is theirs, with the name that stood there.
            assert await tables_with(store, DORA.name) <= {"inbox", "events", "checkpoints"}
        # Nothing but the audit knows that the thread was there, and not a word of it.
        assert await tables_with(store, thread) == {"audit"}
    kept = everything_in(tmp_path)
    assert SECRET.encode() not in kept
    assert how == "thread" or b"DORACANARY" not in kept


async def test_threads_that_are_used_or_wait_are_kept(tmp_path):
    async with opened(tmp_path, lambda: solo("one")) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "go")
        assert (await gateway.store.run(deletion.expire, 0.0)).threads == ()
        assert await gateway.client.threads()


async def test_work_folders_of_threads_that_are_gone_are_removed_at_the_start(tmp_path):
    (tmp_path / "work" / "gone").mkdir(parents=True)
    async with opened(tmp_path, lambda: solo("one", tools=[tell])) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "go")
        [folder] = (tmp_path / "work").iterdir()
        assert folder.name == thread
        assert folder.stat().st_mode & 0o777 == 0o700


async def test_a_thread_whose_team_only_asks_models_has_no_work_folder(tmp_path):
    async with opened(tmp_path, lambda: solo("one")) as gateway:
        await turn(gateway, (await gateway.client.create_thread()).id, "go")
        assert not (tmp_path / "work").exists()


async def test_a_person_may_forget_a_thread_of_their_own_and_none_that_others_wrote_in(tmp_path):
    class Everybody(Access):
        def judge(self, message):
            return Admission()

    def said(author: Author, text: str) -> InboundMessage:
        key = ConversationKey(platform="slack", workspace="T1", channel="C1", root="1")
        return InboundMessage(key=key, author=author, text=text)

    teams = ScriptedTeams(lambda: solo("one", "two"))
    async with Gateway(new_store(tmp_path), teams, access=Everybody()) as gateway:
        first = (await gateway.accept(said(ANNA, "hello"))).thread
        fresh = await gateway.accept(said(ANNA, "/forget"))
        assert fresh.reply == "All messages and files of this thread are deleted."
        assert [each.id for each in await gateway.client.threads()] == [fresh.thread] != [first]
        await gateway.accept(said(ANNA, "hello again"))
        refused = await gateway.accept(said(BEN, "/forget"))
        assert refused.reply == NOT_YOURS_ALONE
        assert [each.id for each in await gateway.client.threads()] == [fresh.thread]


async def test_idle_teams_are_let_go_and_loaded_again(tmp_path):
    teams = ScriptedTeams(lambda: solo(model("one", "two")))
    async with opened(tmp_path, teams) as gateway:
        sessions = gateway._sessions
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "go")
        while not sessions.live:
            await until(gateway, thread, ends)
        sessions.evict(idle=3600)
        assert sessions.live == 1
        sessions.evict(idle=-1)
        assert sessions.live == 0
        assert (await turn(gateway, thread, "on"))[-1].outcome == "done"
    assert teams.built == 2
