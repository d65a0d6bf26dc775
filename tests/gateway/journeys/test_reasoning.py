"""Reasoning that people see while it grows, where a setting says so."""

import asyncio
import io
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from adapters.terminal.plain import PlainChat
from adapters.terminal.plain_text import PlainText
from adapters.terminal.settings import Settings
from gateway.access.authority import Access
from gateway.app.assemble import access_of
from gateway.app.load import load_config
from gateway.client import Client
from gateway.config.routes import Route
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.events import MessageFinished, TextDelta, Thought
from gateway.gateway import Gateway
from gateway.items import AgentItem, ThoughtItem
from gateway.picture import Picture
from gateway.values import PLAIN_MANNERS, Manners
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.base import Team
from teams.conditions import MaxMessageTermination
from teams.models import ThoughtPiece
from teams.models.openai import OpenAIChatCompletionClient
from tests.fakes.new_store import new_store
from tests.fakes.news import apply_all, news_of
from tests.fakes.openai_script import Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.scripted_model import Piece, ScriptedModel, says
from tests.gateway.scripted import ScriptedTeams, ends, of, opened, turn, until

PIECES: Sequence[Piece] = (
    ThoughtPiece("Hm.\n\x1b[31mWell,"),
    ThoughtPiece(" well."),
    "The an",
    "swer.",
    says("The answer.", thought="Hm.\n\x1b[31mWell, well."),
)


def streaming() -> Access:
    access = Access()
    access.terminal = Manners(reasoning="stream")
    return access


def team(model: Any) -> Team:
    agent = AssistantAgent("ann", model, model_client_stream=True)
    return RoundRobinGroupChat([agent], termination_condition=MaxMessageTermination(2))


@pytest.mark.parametrize("aloud", [True, False])
async def test_a_model_is_asked_to_think_aloud_where_the_setting_says_so(
    openai_server: FakeOpenAI, tmp_path: Path, aloud: bool
):
    client = OpenAIChatCompletionClient(model="gpt-4o", api_key="k", base_url=openai_server.url)
    openai_server.script(Reply(reasoning="Hm, well.", text="The answer."))
    access = streaming() if aloud else Access()
    async with opened(tmp_path, lambda: team(client), access=access) as gateway:
        thread = (await gateway.client.create_thread()).id
        events = await turn(gateway, thread, "go")
    await client.close()
    deltas = of(TextDelta, events)
    assert any(delta.thought for delta in deltas) is aloud
    assert not any(delta.replace for delta in deltas) or aloud


async def test_the_terminal_shows_it_until_the_answer_begins(tmp_path: Path):
    go = asyncio.Event()
    scripted = ScriptedModel([*PIECES[:2], go, *PIECES[2:]])
    async with opened(tmp_path, lambda: team(scripted)) as gateway:
        thread = (await gateway.client.create_thread()).id
        await gateway.client.send(thread, "go")
        thinking = await until(gateway, thread, lambda event: isinstance(event, TextDelta))
        go.set()
        ended = await until(gateway, thread, ends)
    model = Picture()
    apply_all(model, thinking)
    (open_one,) = (item for item in model.items.values() if isinstance(item, AgentItem))
    assert open_one.text.startswith("> *Thinking*\n> Hm.\n> ")
    assert "\x1b" not in open_one.text
    apply_all(model, ended)
    assert [each.text for each in model.items.values() if isinstance(each, AgentItem)] == [
        "The answer."
    ]
    assert [item.text for item in model.items.values() if isinstance(item, ThoughtItem)]


async def test_line_mode_prints_its_lines_and_then_the_answer(tmp_path: Path):
    out = io.StringIO()
    plain = PlainChat(
        Settings(data_dir=tmp_path),
        stdin=io.StringIO("go\n"),
        stdout=out,
        stderr=io.StringIO(),
    )

    @asynccontextmanager
    async def connect() -> AsyncGenerator[Client, None]:
        teams = ScriptedTeams(lambda: team(ScriptedModel(PIECES)))
        async with Gateway(new_store(tmp_path), teams) as gateway:
            yield gateway.client

    async with asyncio.timeout(8):
        await plain.run(connect)
    said = out.getvalue()
    assert "\x1b" not in said
    assert said.rstrip().endswith("The answer.")


async def test_what_a_run_prints_has_no_thought(tmp_path: Path):
    async with opened(tmp_path, lambda: team(ScriptedModel(PIECES))) as gateway:
        thread = (await gateway.client.create_thread()).id
        events = await turn(gateway, thread, "go")
    text = PlainText(names=False)
    assert "".join(map(text.append, news_of(events))) == "The answer.\n"


ANN, BOB = Author(id="slack:T1:ANN", name="Ann"), Author(id="slack:T1:BOB", name="Bob")
ROUTES = [
    {"users": ["ANN"], "channels": ["C1"], "reasoning": "stream"},
    {"users": ["BOB"], "channels": ["C1"]},
    {"users": ["BOB"], "dm": True, "reasoning": "stream"},
]


@pytest.mark.parametrize(
    ("person", "channel", "direct", "streams"),
    [
        (ANN, "C1", False, True),
        (BOB, "C1", False, False),
        (BOB, "D1", True, True),
        (ANN, "C2", False, False),
        (BOB, "C2", False, False),
    ],
)
def test_the_route_of_who_asks_says_it(person: Author, channel: str, direct: bool, streams: bool):
    routes = [Route.model_validate({"adapter": "slack", **route}) for route in ROUTES]
    access = Access(routes=routes)
    key = ConversationKey(platform="slack", workspace="T1", channel=channel, root="1")
    assert (access.manners(key, person, direct).reasoning == "stream") is streams
    assert access.has_manners
    assert access.manners(ConversationKey.local("t"), ANN, direct=False) == PLAIN_MANNERS


def test_whom_a_code_has_let_in_is_not_told_what_another_route_says():
    of_ann = {"users": ["ANN"], "dm": True, "instructions": "Ann is told all."}
    paired = {"users": [], "dm": True, "pairing": True, "reasoning": "hide"}
    routes = [Route.model_validate({"adapter": "slack", **each}) for each in (of_ann, paired)]
    key = ConversationKey(platform="slack", workspace="T1", channel="D1", root="1")
    manners = Access(routes=routes).manners(key, BOB, direct=True)
    assert (manners.instructions, manners.reasoning) == ("", "hide")
    assert Access(routes=routes).manners(key, ANN, direct=True).instructions == "Ann is told all."
    operator = Access([BOB.id], routes=routes).manners(key, BOB, direct=True)
    assert operator.instructions == "Ann is told all."


@pytest.mark.parametrize(
    ("text", "here", "anywhere"),
    [
        ("", False, False),
        ('[terminal]\nreasoning = "fold"', False, False),
        ('[terminal]\nreasoning = "stream"', True, True),
        ('[terminal]\nreasoning = "hide"', False, True),
    ],
)
def test_the_terminal_has_a_setting_of_its_own(
    tmp_path: Path, text: str, here: bool, anywhere: bool
):
    path = tmp_path / "config.toml"
    path.write_text(text)
    access = access_of(load_config(path).config)
    key = ConversationKey.local("t")
    assert (access.manners(key, ANN, direct=False).reasoning == "stream") is here
    assert access.has_manners is anywhere


@pytest.mark.parametrize("reasoning", ["fold", "hide"])
async def test_a_route_can_keep_it_out_of_the_threads_history(tmp_path: Path, reasoning: Any):
    route = Route(adapter="slack", users=["ANN"], channels=["C1"], reasoning=reasoning)
    key = ConversationKey(platform="slack", workspace="T1", channel="C1", root="1")
    access = Access(routes=[route])
    async with opened(tmp_path, lambda: team(ScriptedModel(PIECES)), access=access) as gateway:
        said = await gateway.accept(InboundMessage(key=key, author=ANN, text="go"))
        events = await until(gateway, said.thread, ends)
    assert [event.text for event in of(MessageFinished, events)] == ["The answer."]
    assert bool(of(Thought, events)) is (reasoning == "fold")
