"""A thread that runs on one node, watched and changed from others."""

import asyncio
import json
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path

import pytest

from benchmarks.gateway.teams import DoNothing
from gateway.app.operator import delete_thread, owner_status, reload, status_json
from gateway.app.threads import retry
from gateway.control.metrics_page import metrics_page
from gateway.control.socket_server import serve_control
from gateway.errors import GatewayClosed
from gateway.events import MessageFinished, TextDelta, TurnFinished
from gateway.gateway import Gateway
from gateway.store.postgres.database import Database
from gateway.store.postgres.store import PostgresStore
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.conditions import MaxMessageTermination
from tests.gateway.journeys.test_nodes import message
from tests.gateway.scripted import ScriptedTeams

pytestmark = pytest.mark.chaos  # seconds of waiting each

WORDS = [f"word{number:02} " for number in range(14)]
PAUSE = 0.25


class Deaf(PostgresStore):
    """The store of a node whose signals are all lost."""

    async def signal(self, text):
        pass


class Speaker(DoNothing):
    """A model that says a word now and then, and notes when."""

    def __init__(self) -> None:
        super().__init__(*WORDS, pause=PAUSE)
        self.said: dict[str, float] = {}

    async def create_stream(self, messages, **options):
        async for piece in super().create_stream(messages, **options):
            if isinstance(piece, str):
                self.said[piece] = asyncio.get_running_loop().time()
            yield piece


def streaming(client):
    agent = AssistantAgent("solo", client, model_client_stream=True)
    return RoundRobinGroupChat([agent], termination_condition=MaxMessageTermination(2))


@asynccontextmanager
async def node(url: str, folder: Path, client, *, platforms=("slack",), store=PostgresStore):
    """A gateway at the database, with a folder of its own."""
    teams = ScriptedTeams(lambda: streaming(client))
    async with Gateway(store(Database(url=url), folder), teams, platforms=platforms) as gateway:
        yield gateway


@pytest.mark.parametrize("store", [PostgresStore, Deaf], ids=["told", "signals lost"])
async def test_a_watcher_on_another_node_has_each_word_in_two_seconds(
    tmp_path, postgres_url, store
):
    speaker, seen, seqs, shown = Speaker(), {}, [], ""
    loop = asyncio.get_running_loop()
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(
            node(postgres_url, tmp_path / "a", speaker, store=store)
        )
        second = await stack.enter_async_context(node(postgres_url, tmp_path / "b", DoNothing()))
        receipt = await first.accept(message(1, 0))
        events = await stack.enter_async_context(aclosing(second.client.events(receipt.thread)))
        async with asyncio.timeout(30):
            async for event in events:
                if isinstance(event, TextDelta):
                    shown = event.text if event.replace else shown + event.text
                elif isinstance(event, MessageFinished):
                    shown, _ = event.text, seqs.append(event.seq)
                else:
                    seqs.append(event.seq)
                for word in WORDS:
                    if word.strip() in shown:
                        seen.setdefault(word, loop.time())
                if isinstance(event, TurnFinished):
                    break
    assert seqs == [*range(1, len(seqs) + 1)]
    late = {word: seen[word] - at for word, at in speaker.said.items()}
    assert max(late.values()) < 2.0 + PAUSE, late


async def next_turn(events) -> list[str]:
    """Answers until the turn ends."""
    answers = []
    async with asyncio.timeout(30):
        async for event in events:
            if isinstance(event, MessageFinished):
                answers.append(event.text)
            if isinstance(event, TurnFinished):
                return answers
    raise AssertionError("the events ended")


async def test_a_chat_on_a_machine_without_a_node_answers_in_threads_of_platforms(
    tmp_path, postgres_url
):
    async with (
        node(postgres_url, tmp_path / "a", DoNothing("from the node")) as serving,
        node(postgres_url, tmp_path / "b", DoNothing("from the chat"), platforms=()) as chat,
    ):
        receipt = await serving.accept(message(1, 0))
        async with aclosing(chat.client.events(receipt.thread)) as events:
            assert await next_turn(events) == ["from the node"]
            sent = await chat.client.send(receipt.thread, "and from the terminal")
            assert sent.outcome == "turn"
            assert await next_turn(events) == ["from the node"]
        own = await chat.client.create_thread()
        await chat.client.send(own.id, "a thread of the terminal's own")
        async with aclosing(chat.client.events(own.id)) as events:
            assert await next_turn(events) == ["from the chat"]


async def test_a_command_on_a_machine_without_a_node_reaches_the_node_of_a_thread(
    tmp_path, postgres_url
):
    elsewhere = PostgresStore(Database(url=postgres_url), tmp_path / "c")
    async with node(postgres_url, tmp_path / "a", Speaker()) as serving:
        receipt = await serving.accept(message(1, 0))
        async with aclosing(serving.client.events(receipt.thread)) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    break
            await delete_thread(elsewhere, receipt.thread)
            async with asyncio.timeout(5):
                assert [event async for event in events if isinstance(event, TurnFinished)] == []
        async with asyncio.timeout(5):
            while (await serving.client.status()).running:  # noqa: ASYNC110 (figures tell nobody)
                await asyncio.sleep(0.02)


class Failing(DoNothing):
    """A model that fails at first."""

    fails = True

    async def create_stream(self, messages, **options):
        if self.fails:
            self.fails = False
            raise RuntimeError("no answer")
        async for piece in super().create_stream(messages, **options):
            yield piece


async def test_a_retry_from_a_machine_without_a_node_runs_on_a_node(tmp_path, postgres_url):
    elsewhere = PostgresStore(Database(url=postgres_url), tmp_path / "c")
    async with node(postgres_url, tmp_path / "a", Failing("again")) as serving:
        receipt = await serving.accept(message(1, 0))
        async with aclosing(serving.client.events(receipt.thread)) as events:
            assert await next_turn(events) == []
            assert await retry(elsewhere, receipt.thread) == "Trying again from where it stopped."
            assert await next_turn(events) == ["again"]


async def test_the_status_lists_all_nodes_from_any_machine(tmp_path, postgres_url):
    elsewhere = PostgresStore(Database(url=postgres_url), tmp_path / "c")
    beside = PostgresStore(Database(url=postgres_url), tmp_path / "b")
    runs, text = await owner_status(elsewhere)
    assert (runs, text.splitlines()[0]) == (False, "Parley is not running on any node.")
    async with (
        node(postgres_url, tmp_path / "a", DoNothing()) as first,
        node(postgres_url, tmp_path / "b", DoNothing()) as second,
        serve_control(second),
    ):
        assert await first.leases.hold("shard 0")
        runs, text = await owner_status(elsewhere)
        assert runs
        assert text.startswith("Parley runs on 2 nodes, none of them with this folder.\nNODE ")
        assert "(answers)" not in text
        runs, text = await owner_status(beside)
        heads, *lines = [line for line in text.splitlines() if " on " in line or "NODE" in line]
        assert heads.split()[:4] == ["NODE", "VERSION", "SINCE", "HEARTBEAT"]
        assert ["(answers)" in line for line in lines[:2]] == [False, True]
        assert "shard 0" in lines[0]
        runs, text = await status_json(beside)
        told = json.loads(text)
        assert (told["boot"], len(told["nodes"])) == (second.boot, 2)
        assert told["nodes"][0]["leases"][:1] == ["shard 0"]
        page = metrics_page(second.vitals, await second.client.status(), second.store.folder, None)
        assert b"parley_nodes 2.0\n" in page
        with pytest.raises(GatewayClosed, match="Reload on one of those that run: process "):
            await reload(elsewhere, dry_run=True)
    assert not (await status_json(elsewhere))[0]
