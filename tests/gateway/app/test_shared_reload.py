"""A changed config on several nodes: all of them change, or none."""

import asyncio
import json
import logging
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import pytest

from gateway.app.audit import audit_lines
from gateway.app.load import load_config
from gateway.app.operator import reload
from gateway.app.serve import open_service
from gateway.app.shared_reload import OTHER_TEXT
from gateway.app.watched_files import shared_digest
from gateway.errors import GatewayError
from gateway.runtime.shared_nodes import OTHER_CONFIG
from gateway.store.nodes import Node
from gateway.store.postgres.database import Database
from gateway.store.postgres.store import PostgresStore
from gateway.store.reloads import Reload, Vote
from gateway.store.units import nodes as node_units
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.models.replay import ReplayChatCompletionClient
from tests.fakes.scripted_platform import Platform, installed

pytestmark = [pytest.mark.usefixtures("fresh_imports"), pytest.mark.chaos]  # seconds each

CONFIG = """
health = {{ port = 0 }}
[models.m]
provider = "demo"
[teams.solo]
type = "round_robin"
max_turns = 1
description = "{about}"
agents.one = {{ model = "m" }}
[adapters.scripted]
bot_token = "x"
[[routes]]
adapter = "scripted"
channels = "C1"
users = "members"
"""

SILENT = """
    INSERT INTO nodes (boot, name, version, platforms, since, beat, patience)
    VALUES (:boot, 'node b', '1', '["scripted"]', 0, server_time() - 10, 6)
"""
"""A node that nobody has declared dead yet."""


@pytest.fixture(autouse=True)
def platform():
    with installed(Platform()) as platform:
        yield platform


def write(folder: Path, about: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(CONFIG.format(about=about))


class Served:
    """A node with a folder and a config file of its own."""

    def __init__(self, gateway, store, folder: Path) -> None:
        self.gateway, self.store, self.folder = gateway, store, folder

    async def about(self) -> str:
        (team,) = await self.gateway.client.choices("team")
        return team.description.partition(":")[0]

    async def until(self, about: str) -> None:
        async with asyncio.timeout(10):
            while await self.about() != about:  # noqa: ASYNC110 (another node's doing)
                await asyncio.sleep(0.02)


@asynccontextmanager
async def serving(url: str, folder: Path, *, watch: bool = False):
    """A node that serves the folder's config."""
    if not (folder / "config.toml").exists():
        write(folder, "old")
    store = PostgresStore(Database(url=url), folder / "store")
    loaded = load_config(folder / "config.toml")
    async with open_service(loaded, store, watch=watch) as (gateway, _, _):
        yield Served(gateway, store, folder)


@asynccontextmanager
async def nodes(url: str, folder: Path, count: int, *, watch: bool = False):
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(serving(url, folder / str(n), watch=watch))
            for n in range(count)
        ]


async def test_all_nodes_use_what_one_of_them_reloads(tmp_path, postgres_url):
    async with nodes(postgres_url, tmp_path, 3) as all_nodes:
        for node in all_nodes:
            write(node.folder, "new")
        text = await reload(all_nodes[1].store, dry_run=True)
        assert "All 3 nodes can use it.\nThis was a dry run" in text
        assert [await node.about() for node in all_nodes] == ["old"] * 3
        text = await reload(all_nodes[1].store, dry_run=False)
        assert text.endswith("All 3 nodes use it.")
        for node in all_nodes:
            await node.until("new")
        lines = [json.loads(line) async for line in audit_lines(all_nodes[0].store)]
    assert [line["action"] for line in lines].count("config.reloaded") == 1


async def test_a_node_with_another_config_takes_no_threads_until_all_have_one(
    tmp_path, postgres_url
):
    write(tmp_path / "1", "other")
    async with nodes(postgres_url, tmp_path, 2) as (first, second):

        async def until(takes: bool) -> None:
            async with asyncio.timeout(10):
                while (OTHER_CONFIG not in await second.gateway.client.troubles()) != takes:  # noqa: ASYNC110 (the healing's doing)
                    await asyncio.sleep(0.02)

        await until(False)
        assert [each.takes_lanes for each in await first.store.run(node_units.nodes)] == [
            True,
            False,
        ]
        assert OTHER_CONFIG not in await first.gateway.client.troubles()
        write(first.folder, "other")
        await reload(first.store, dry_run=False)
        await until(True)
        assert [each.takes_lanes for each in await first.store.run(node_units.nodes)] == [
            True,
            True,
        ]


async def test_what_each_node_sets_for_itself_is_no_other_config(tmp_path, postgres_url):
    write(tmp_path / "0", "old")
    own = "[logging]\nlevel = 'debug'\n[limits]\nparallel_turns = 2\n# here\n"
    path = tmp_path / "1" / "config.toml"
    write(path.parent, "old")
    path.write_text(path.read_text() + own)
    async with nodes(postgres_url, tmp_path, 2) as (first, _):
        assert [each.takes_lanes for each in await first.store.run(node_units.nodes)] == [
            True,
            True,
        ]


@pytest.mark.parametrize(("written", "why"), [("other", OTHER_TEXT), ('"', "config.toml")])
async def test_one_node_that_can_not_use_it_lets_none_change(tmp_path, postgres_url, written, why):
    async with nodes(postgres_url, tmp_path, 3) as all_nodes:
        for node, about in zip(all_nodes, ("new", written, written), strict=True):
            write(node.folder, about)
        with pytest.raises(GatewayError) as error:
            await reload(all_nodes[0].store, dry_run=False)
        assert "has changed no node" in str(error.value)
        assert str(error.value).count(why) == 2
        assert "no answer" not in str(error.value)
        assert [await node.about() for node in all_nodes] == ["old"] * 3
        for node in all_nodes:
            write(node.folder, "new")
        await reload(all_nodes[2].store, dry_run=False)
        for node in all_nodes:
            await node.until("new")


@asynccontextmanager
async def other_node(url: str, folder: Path, boot: str):
    """A node that says nothing by itself."""
    store = PostgresStore(Database(url=url), folder)
    async with store.own(Node(boot=boot, name=f"node {boot}", platforms=("scripted",))):
        yield store


async def state_of(store: PostgresStore, reload: str) -> Reload:
    found = await store.reload_state(reload)
    assert found is not None
    return found


async def settled(store: PostgresStore, reload: str, seconds: float) -> Reload:
    found = await store.vote(reload, reload, "", seconds)  # its proposer has the same name
    assert found is not None
    return found


def proposal(proposer: str, about: str) -> Reload:
    return Reload(
        id=proposer,
        digest=shared_digest(Path("config.toml"), CONFIG.format(about=about)),
        proposer=proposer,
        source="config.toml",
        changes="teams",
        dry=False,
    )


async def test_others_end_the_reload_of_a_node_that_is_gone(tmp_path, postgres_url):
    async with nodes(postgres_url, tmp_path, 2) as all_nodes:
        for node in all_nodes:
            write(node.folder, "new")
        async with other_node(postgres_url, tmp_path / "other", "gone") as store:
            assert not await store.propose_reload(proposal("gone", "new"), 15.0)
            async with asyncio.timeout(10):
                while (await state_of(store, "gone")).missing != ["node gone"]:  # noqa: ASYNC110 (in the store)
                    await asyncio.sleep(0.02)
            assert [await node.about() for node in all_nodes] == ["old"] * 2
        for node in all_nodes:
            await node.until("new")


async def test_a_reload_is_refused_while_another_is_open(tmp_path, postgres_url):
    async with (
        serving(postgres_url, tmp_path / "first") as node,
        other_node(postgres_url, tmp_path / "other", "slow") as store,
    ):
        assert not await store.propose_reload(proposal("slow", "elsewhere"), 15.0)
        with pytest.raises(GatewayError, match="Another reload is under way, begun by"):
            await reload(node.store, dry_run=False)


async def test_a_node_that_does_not_answer_in_time_lets_none_change(tmp_path, postgres_url):
    async with (
        other_node(postgres_url, tmp_path / "a", "a") as store,
        other_node(postgres_url, tmp_path / "b", "b") as mute,
    ):
        await store.propose_reload(proposal("a", "new"), 15.0)
        assert (await settled(store, "a", 15.0)).state == "open"
        ended = await settled(store, "a", 0.0)
        assert (ended.state, ended.votes[1]) == (
            "off",
            Vote("node b", "no answer within 0 seconds"),
        )
        await mute.vote("a", "b", "", 15.0)
        assert (await settled(store, "a", 0.0)).state == "off"


async def test_a_node_that_is_silent_is_waited_for_until_it_is_gone(tmp_path, postgres_url):
    async with other_node(postgres_url, tmp_path / "a", "a") as store:
        await store.write(lambda c: c.execute(SILENT, {"boot": "b"}))
        await store.propose_reload(proposal("a", "new"), 15.0)
        # It may come back, and has to change with the others then.
        assert (await settled(store, "a", 15.0)).state == "open"
        await store.write(lambda c: c.execute("DELETE FROM nodes WHERE boot = 'b'"))
        assert (await settled(store, "a", 15.0)).state == "go"


async def test_a_node_that_began_with_the_earlier_text_takes_the_new_one(tmp_path, postgres_url):
    async with nodes(postgres_url, tmp_path, 1) as (first,):
        late = tmp_path / "late"
        write(late, "old")
        loaded = load_config(late / "config.toml")
        write(late, "new")
        write(first.folder, "new")
        await reload(first.store, dry_run=False)
        store = PostgresStore(Database(url=postgres_url), late / "store")
        async with open_service(loaded, store) as (gateway, _, _):
            await Served(gateway, store, late).until("new")


def write_team(folder: Path, about: str) -> None:
    """A component file, and a config that names it."""
    folder.mkdir(parents=True, exist_ok=True)
    agent = AssistantAgent("made", ReplayChatCompletionClient([]), description=about)
    team = RoundRobinGroupChat([agent], max_turns=1).dump_component().model_dump_json()
    (folder / "team.json").write_text(team)
    (folder / "config.toml").write_text(CONFIG.format(about="old") + COMPONENT)


COMPONENT = '[teams.made]\ncomponent = "team.json"\n'


async def test_nodes_whose_team_files_differ_do_not_change(tmp_path, postgres_url):
    for n in range(2):
        write_team(tmp_path / str(n), "old")
    async with nodes(postgres_url, tmp_path, 2) as all_nodes:
        write_team(all_nodes[0].folder, "new")
        with pytest.raises(GatewayError, match=OTHER_TEXT):
            await reload(all_nodes[0].store, dry_run=False)
        write_team(all_nodes[1].folder, "new")
        text = await reload(all_nodes[0].store, dry_run=False)
        assert text.endswith("All 2 nodes use it.")


async def test_nodes_that_watch_their_files_change_together(tmp_path, postgres_url):
    async with nodes(postgres_url, tmp_path, 2, watch=True) as all_nodes:
        write(all_nodes[0].folder, "new")
        write(all_nodes[1].folder, "new")
        for node in all_nodes:
            await node.until("new")


async def test_files_that_a_reload_has_just_taken_are_not_taken_again(
    tmp_path, postgres_url, caplog
):
    caplog.set_level(logging.INFO, "gateway")
    async with nodes(postgres_url, tmp_path, 2, watch=True) as all_nodes:
        for node in all_nodes:
            write(node.folder, "new")
        await reload(all_nodes[0].store, dry_run=False)
        async with asyncio.timeout(20):
            while caplog.text.count("config.toml changed") < 2:  # noqa: ASYNC110 (the watch's looks)
                await asyncio.sleep(0.02)
        lines = [json.loads(line) async for line in audit_lines(all_nodes[0].store)]
    assert [line["action"] for line in lines].count("config.reloaded") == 1
    assert "can't be used" not in caplog.text


async def test_who_asks_for_a_reload_and_hangs_up_leaves_all_nodes_with_one_config(
    tmp_path, postgres_url
):
    async with nodes(postgres_url, tmp_path, 2) as all_nodes:
        for node in all_nodes:
            write(node.folder, "new")
        asked = asyncio.ensure_future(reload(all_nodes[0].store, dry_run=False))
        async with asyncio.timeout(10):
            while await all_nodes[0].store.reload_state() is None:  # noqa: ASYNC110 (in the store)
                await asyncio.sleep(0.001)
        asked.cancel()
        with suppress(asyncio.CancelledError):
            await asked
        for node in all_nodes:
            await node.until("new")


async def reloaded_by(store: PostgresStore, boot: str = "") -> str:
    """The proposer of the last reload, once that is `boot`, if given."""
    async with asyncio.timeout(10):
        while True:
            found = await store.reload_state()
            if found is not None and found.state == "go" and boot in {"", found.proposer}:
                return found.proposer
            await asyncio.sleep(0.02)


async def test_a_file_that_changes_just_after_a_reload_of_another_node_is_used(
    tmp_path, postgres_url
):
    async with nodes(postgres_url, tmp_path, 2, watch=True) as all_nodes:
        for node in all_nodes:
            (node.folder / "token").write_text("x")
            text = CONFIG.format(about="new").replace('bot_token = "x"', 'bot_token_file = "token"')
            (node.folder / "config.toml").write_text(text)
        for node in all_nodes:
            await node.until("new")
        first = await reloaded_by(all_nodes[0].store)
        [told] = [node for node in all_nodes if node.gateway.boot != first]
        (told.folder / "token").write_text("y")
        assert await reloaded_by(told.store, told.gateway.boot)
