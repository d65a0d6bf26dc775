"""Costs that are counted, not timed: growth fails on any machine.

Others stand with what they belong to: the widgets of a long transcript, the bytes of a turn's rows,
what the terminal imports before it paints.
"""

import asyncio
import gc
import json
import re
import sqlite3
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.engine.api import imports
from benchmarks.gateway.teams import DoNothing
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.store.decisions import Decision, MessageEdit, MessageWithdrawal
from gateway.store.sqlite.store import SqliteStore
from gateway.store.units import inbox
from gateway.store.units.heard import context
from teams import RoundRobinGroupChat, Swarm
from teams.agents import AssistantAgent
from teams.messages import HandoffMessage, ModelClientStreamingChunkEvent
from teams.models.openai import OpenAIChatCompletionClient
from tests.fakes.counted_calls import Calls
from tests.fakes.decided import decided
from tests.fakes.openai_script import Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.pty_process import PtyProcess
from tests.fakes.scripted_model import ScriptedModel, calls
from tests.gateway.scripted import model, opened, solo, turn

ROOT = Path(__file__).parents[1]
WATCHED_CHAT = str(ROOT / "tests/adapters/terminal/watched_chat.py")
NEWER_PYTHON = sys.version_info >= (3, 13)
"""It imports two more modules itself, and keeps the names of a message's fields with each
message, since pydantic's classes have slots.
"""
SAYING = "a sentence of some length that stands for what people say " * 3


def pair(*answers: Any, stream: bool = False, turns: int = 2) -> RoundRobinGroupChat:
    """A team whose two agents give all of these answers in turn."""
    agents = [
        AssistantAgent(name, ScriptedModel(*answers), model_client_stream=stream)
        for name in ("ann", "bob")
    ]
    return RoundRobinGroupChat(agents, max_turns=turns)


def quiet_pair(*, turns: int) -> RoundRobinGroupChat:
    """Two agents on a model that ignores its messages."""
    agents = [AssistantAgent(name, DoNothing()) for name in ("ann", "bob")]
    return RoundRobinGroupChat(agents, max_turns=turns)


@pytest.mark.parametrize(("everything", "modules"), [(False, 281), (True, 360)])
def test_the_engine_is_imported_with_few_modules(everything: bool, modules: int):
    # Six of them check what models, tools and files send where it comes in.
    # Python 3.12 imports one more itself.
    most = modules + (sys.version_info >= (3, 12))
    assert len(loaded_by(imports("parley", everything=everything))) < most


def test_a_round_robin_loads_no_other_team_and_makes_nothing_that_it_may_not_need():
    loaded = loaded_by(imports("parley", everything=False))
    assert "teams._group_chats.round_robin" in loaded
    assert not loaded & {
        "teams._group_chats.graph_flow",
        "teams._group_chats.magentic_one",
        "teams._group_chats.selector",
        "teams._group_chats.swarm",
        "teams.agents._code_executor",
        "teams.agents._message_filter",
        "teams.agents._society_of_mind",
        "teams.agents._user_proxy",
        "teams._tools.function",
        "teams.code_executors",
        "pydantic.plugin._loader",  # a class was built before its first use
    }


def loaded_by(statements: list[str]) -> set[str]:
    """The modules that a fresh Python loads for these imports."""
    code = "\n".join(
        (
            "import sys",
            "before = set(sys.modules)",
            *statements,
            "print(*sys.modules.keys() - before)",
        )
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_command_line_has_loaded_nothing_heavy_when_the_chat_begins():
    code = (
        "import sys, adapters.terminal\n"
        "def begun(*_, **__):\n"
        "    print(*sys.modules)\n"
        "    return 0\n"
        "adapters.terminal.run_chat = begun\n"
        "from gateway.cli import main\n"
        "main(['chat'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {"pydantic", "aiosqlite", "openai", "textual", "gateway.base.redaction"}
    assert len(loaded) < 330


@pytest.mark.timeout(60)
def test_the_composer_is_painted_with_few_modules(tmp_path: Path):
    out = tmp_path / "imported.json"
    with PtyProcess(WATCHED_CHAT, str(out), "chat", folder=tmp_path) as terminal:
        terminal.until("Message the team")
        terminal.type("/quit\r")
        assert terminal.ended() == 0
    # Each command of `parley` has a module; files, keys, notices and the clipboard have seven.
    assert len(json.loads(out.read_text())["painted"]) < (501 if NEWER_PYTHON else 498)


async def test_a_turn_calls_as_many_functions_after_1000_messages_as_after_20():
    counted: dict[int, int] = {}
    for size in (20, 1000):
        team = quiet_pair(turns=size)
        await team.run(task="Begin.")
        state = await team.save_state()
        team = quiet_pair(turns=4)
        await team.load_state(state)
        await team.run()
        with Calls() as seen:
            await team.run()
        counted[size] = seen.count
    assert 100 < counted[20] < 1200  # a few more where the collector runs
    assert abs(counted[1000] - counted[20]) < 100


@pytest.mark.chaos
async def test_saving_calls_as_many_functions_for_1000_messages_as_for_20():
    saving: dict[int, int] = {}
    loading: dict[int, int] = {}
    for size in (20, 1000):
        team = quiet_pair(turns=size)
        await team.run(task="Begin.")
        await team.save_state()  # what is made once is not counted
        with Calls() as seen:
            state = await team.save_state()
        saving[size] = seen.count
        fresh = quiet_pair(turns=size)
        with Calls() as seen:
            await fresh.load_state(state)
        loading[size] = seen.count
    assert abs(saving[1000] - saving[20]) < 20
    assert loading[1000] < 1000 * 5  # the usage of each message, and a look for open calls


def test_a_team_of_three_that_has_said_nothing_takes_less_than_six_kilobytes():
    model = DoNothing()

    def team() -> RoundRobinGroupChat:
        agents = [AssistantAgent(name, model) for name in ("ann", "bob", "cid")]
        return RoundRobinGroupChat(agents, max_turns=3)

    team()  # what is made once is not counted
    tracemalloc.start()
    try:
        teams = [team() for _ in range(20)]
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held < len(teams) * (6200 if NEWER_PYTHON else 6000)


async def test_a_message_takes_less_than_a_kilobyte_and_saving_adds_nothing_to_it():
    said = 200
    team = quiet_pair(turns=said)
    await team.run(task="Begin.")  # what is made once is not counted
    await team.reset()
    tracemalloc.start()
    try:
        await team.run(task="Begin.")
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
        await team.save_state()
        gc.collect()
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held < said * (1600 if NEWER_PYTHON else 1000)
    assert after - held < said * 100


class Tasks:
    """Counts the tasks that are made while it is entered."""

    def __init__(self) -> None:
        self.count = 0

    def _made(self, loop: asyncio.AbstractEventLoop, work: Any, **more: Any) -> asyncio.Task[Any]:
        self.count += 1
        return asyncio.Task(work, loop=loop, **more)

    def __enter__(self) -> "Tasks":
        asyncio.get_running_loop().set_task_factory(self._made)  # pyright: ignore[reportArgumentType]
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.get_running_loop().set_task_factory(None)


async def test_no_task_is_made_for_a_streamed_piece():
    made: dict[int, int] = {}
    for pieces in (10, 1000):
        team = pair("word " * pieces, stream=True, turns=1)
        with Tasks() as tasks:
            items = [item async for item in team.run_stream(task="Begin.")]
        made[pieces] = tasks.count
        chunks = [item for item in items if isinstance(item, ModelClientStreamingChunkEvent)]
        assert len(chunks) >= pieces
    assert made[10] == made[1000] <= 1


def handing(name: str) -> AssistantAgent:
    other = "bob" if name == "ann" else "ann"
    answers = [calls((f"transfer_to_{other}", {}))] * 3
    return AssistantAgent(name, ScriptedModel(*answers), handoffs=[other])


async def test_no_task_is_made_for_a_hand_off_that_nobody_judges():
    with Tasks() as tasks:
        result = await Swarm([handing("ann"), handing("bob")], max_turns=6).run(task="Begin.")
    assert sum(isinstance(message, HandoffMessage) for message in result.messages) == 6
    assert tasks.count == 0


async def test_a_run_leaves_no_task_behind():
    before = asyncio.all_tasks()
    await Swarm([handing("ann"), handing("bob")], max_turns=6).run(task="Begin.")
    assert asyncio.all_tasks() == before


async def test_a_delta_is_as_long_after_1000_messages_as_after_20():
    written: dict[int, int] = {}
    for size in (20, 1000):
        team = quiet_pair(turns=size)
        await team.run(task="Begin.")
        fresh = quiet_pair(turns=4)
        await fresh.load_snapshot([await team.save_snapshot()])
        await fresh.run()
        written[size] = len(await fresh.save_delta())
    assert written[20] > 1000
    assert abs(written[1000] - written[20]) < 50


@pytest.mark.chaos
async def test_loading_a_snapshot_calls_as_many_functions_for_1000_messages_as_for_20():
    loading: dict[int, int] = {}
    answering: dict[int, int] = {}
    for size in (20, 1000):
        team = quiet_pair(turns=size)
        await team.run(task="Begin.")
        snapshot = await team.save_snapshot()
        fresh = quiet_pair(turns=1)
        with Calls() as seen:
            await fresh.load_snapshot([snapshot])
        loading[size] = seen.count
        with Calls() as seen:
            await fresh.run()
            await fresh.save_delta()
        answering[size] = seen.count
    # The inbox is in the last block, which is read; what the speaker's model is sent is made.
    assert loading[1000] - loading[20] < 300
    assert answering[1000] - answering[20] < 1000 * 1.2


async def test_a_loaded_team_holds_less_than_the_bytes_it_was_loaded_from():
    team = quiet_pair(turns=500)
    await team.run(task="Begin.")
    snapshot = await team.save_snapshot()
    await quiet_pair(turns=1).load_snapshot([snapshot])  # what is made once is not counted
    fresh = quiet_pair(turns=1)
    tracemalloc.start()
    try:
        await fresh.load_snapshot([snapshot])
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held < len(snapshot) * 1.2


async def test_a_streamed_answer_is_one_request(openai_server: FakeOpenAI):
    openai_server.script(Reply(text="word " * 50, chunks=50))
    client = OpenAIChatCompletionClient(model="gpt-4o", api_key="key", base_url=openai_server.url)
    agent = AssistantAgent("ann", client, model_client_stream=True)
    await RoundRobinGroupChat([agent], max_turns=1).run(task="Begin.")
    await client.close()
    assert len(openai_server.requests) == 1


@pytest.mark.sqlite
async def test_a_turn_makes_the_same_statements_after_200_messages_as_after_10(tmp_path: Path):
    shared = model(*[SAYING] * 110)
    said: dict[int, list[str]] = {}
    async with opened(tmp_path, lambda: solo(shared)) as gateway:
        store = gateway.store
        assert isinstance(store, SqliteStore)
        tasks: set[asyncio.Task[Any]] = set()
        thread = (await gateway.client.create_thread()).id
        for number in range(1, 101):
            statements: list[str] = []
            if number in (5, 100):
                await store.write(traced(statements.append))
            commits = store.commits
            await turn(gateway, thread, SAYING)
            if number in (5, 100):
                await store.write(traced(None))
                said[number] = work_of(statements)
                assert store.commits - commits <= 4
                tasks = tasks or asyncio.all_tasks()
        assert asyncio.all_tasks() == tasks
    # Two take the message, five begin the turn, seven end it with the answer. SQLite tells of a
    # statement again for each step of its triggers, which keep the figures (13 times) and note a
    # thread whose words are to be indexed (8 times).
    assert len(said[5]) == 14 + 13 + 8
    assert said[100] == said[5]


READS_A_TABLE = re.compile(
    "SCAN (?!CONSTANT|always|dedupe|said|people|answered|heard|used|waiting|begun|running)"
)
"""A step that does, unless it names a part of its own statement."""


@pytest.mark.sqlite
async def test_no_statement_of_a_turn_reads_a_whole_table(tmp_path: Path):
    statements: list[str] = []
    async with opened(tmp_path, lambda: solo(model(SAYING, SAYING))) as gateway:
        store = gateway.store
        assert isinstance(store, SqliteStore)
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, SAYING)
        await store.write(traced(statements.append))
        await turn(gateway, thread, SAYING)
        await store.write(lambda connection: context(connection, thread))  # a tool needs it
        await store.write(traced(None))
    plans = plans_of(statements, tmp_path / "parley.db")
    assert any("inbox_heard" in plan for plan in plans)
    assert [plan for plan in plans if READS_A_TABLE.match(plan)] == []


@pytest.mark.parametrize("decision", [MessageEdit(anybody=True), MessageWithdrawal(anybody=True)])
async def test_an_edit_and_a_deletion_find_their_message_by_an_index(
    tmp_path: Path, decision: Decision
):
    store = SqliteStore(tmp_path)
    key = ConversationKey(platform="x", root="1")
    said = InboundMessage(
        key=key, author=Author(id="ann"), text=SAYING, message_id="m1", dedupe=("x/1",)
    )
    statements: list[str] = []
    async with store.own():
        await store.run(inbox.accept, decided(said, thread="t"))
        await store.write(traced(statements.append))
        later = replace(said, text="changed", dedupe=("x/2",))
        await store.run(inbox.accept, decided(later, decision, thread="t"))
        await store.write(traced(None))
    plans = plans_of(statements, store.path)
    assert any("inbox_message" in plan for plan in plans)
    assert [plan for plan in plans if READS_A_TABLE.match(plan)] == []


def plans_of(statements: list[str], path: Path) -> list[str]:
    """The steps by which SQLite runs these statements."""
    with closing(sqlite3.connect(path)) as connection:
        return [
            str(step[3])
            for statement in statements
            if statement.lstrip().startswith(("SELECT", "WITH", "UPDATE", "DELETE"))
            for step in connection.execute(f"EXPLAIN QUERY PLAN {statement}")
        ]


async def test_a_message_is_taken_in_the_same_few_statements_however_many_wait(tmp_path: Path):
    store = SqliteStore(tmp_path)
    said: dict[int, list[str]] = {}
    async with store.own():
        for number in range(60):
            statements: list[str] = []
            await store.write(traced(statements.append if number in (2, 59) else None))
            message = InboundMessage(
                key=ConversationKey(platform="x", root="1"),
                author=Author(id="ann"),
                text=SAYING,
                dedupe=(f"x/{number}",),
            )
            await store.run(inbox.accept, decided(message, thread="t"))
            said[number] = work_of(statements)
    # One to know what it meets, it and its key, and that it waits: two, and two to show it there.
    # Six steps of triggers.
    assert len(said[2]) == 7 + 6
    assert said[59] == said[2]


def traced(trace: Callable[[str], None] | None) -> Callable[[Any], None]:
    return lambda connection: connection.raw.set_trace_callback(trace)


def work_of(statements: list[str]) -> list[str]:
    """The statements' work, sorted.

    How many of them share a transaction, which counts itself, is a matter of time.
    """
    words = [statement.split()[:3] for statement in statements]
    work = ("SELECT", "WITH", "INSERT", "UPDATE", "DELETE")
    found = sorted(" ".join(first) for first in words if first[0] in work)
    return [each for each in found if each != "UPDATE commits SET"]
