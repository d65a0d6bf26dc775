"""Servers that ask back during a call, also over restarts."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.app.check import dump_team
from gateway.app.load import load_config
from gateway.client import Answer
from gateway.events import (
    InputRequested,
    InputResolved,
    MessageFinished,
    Notice,
    SessionEvent,
    ToolFinished,
    TurnFinished,
)
from gateway.factory.component_files import allow_line, needs_of
from gateway.factory.teams import TeamFactory
from gateway.gateway import Gateway, Limits
from tests.fakes.new_store import new_store
from tests.fakes.openai_script import Call, Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.gateway.scripted import ends, of, until

pytestmark = pytest.mark.timeout(40)  # servers are started

ROOT = Path(__file__).resolve().parents[3]
CONFIG = """
[models.m]
provider = "openai"
model = "gpt-4o"
base_url = "{url}"
api_key = "key"
options = {{ max_retries = 0 }}

[mcp.shop]
command = "{python}"
args = ["-m", "tests.fakes.quick_mcp_server", "--more"]
cwd = "{root}"
env = {{ NOTES = "{notes}" }}
{server}

[teams.desk]
type = "round_robin"
participants = ["clerk"]
max_turns = 1

[teams.desk.agents.clerk]
mcp = ["shop"]

[policies.tools]
default = "allow"
{policies}
"""


class Desk:
    """A thread whose team can reach the shop's server.

    Its store outlives its gateways.
    """

    def __init__(self, folder: Path, model: FakeOpenAI, server: str, policies: str) -> None:
        self.model = model
        self.notes = folder / "notes"
        text = CONFIG.format(
            url=model.url,
            python=sys.executable,
            root=ROOT,
            notes=self.notes,
            server=server,
            policies=policies,
        )
        self._folder = folder
        self.use(text)
        self.thread = ""

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Gateway]:
        config = self._loaded.config
        teams = TeamFactory(config, self._loaded.imports, start_folder=self._folder)
        limits = Limits(shutdown=0.05, budgets=tuple(config.budgets))
        store = new_store(self._folder / "store")
        async with Gateway(store, teams, limits=limits) as self.gateway:
            if not self.thread:
                self.thread = (await self.gateway.client.create_thread()).id
            yield self.gateway
        await teams.aclose()

    def use(self, text: str) -> None:
        """Take another config from now on."""
        (self._folder / "config.toml").write_text(text)
        self._loaded = load_config(self._folder / "config.toml")

    async def dumped(self) -> str:
        """The team as a component file."""
        return (await dump_team(self._loaded, "desk")).text

    def allow(self, data: Any) -> str:
        """The line that allows all that a component file wants."""
        return allow_line(needs_of(data))

    async def ask(self, tool: str, **arguments: Any) -> None:
        self.model.script(
            Reply(calls=[Call(name=tool, arguments=json.dumps(arguments))]), Reply(text="done")
        )
        await self.gateway.client.send(self.thread, "go")

    async def next(self, kind: type, after: int = 0) -> Any:
        return (await until(self.gateway, self.thread, lambda e: isinstance(e, kind), after))[-1]

    async def end(self) -> list[SessionEvent]:
        return await until(self.gateway, self.thread, ends)


Open = Callable[..., AbstractAsyncContextManager[Desk]]


@pytest.fixture
def desk(tmp_path: Path) -> Open:
    @asynccontextmanager
    async def opened(server: str = "", policies: str = "") -> AsyncGenerator[Desk]:
        async with FakeOpenAI() as model:
            yield Desk(tmp_path, model, server, policies)

    return opened


def result(events: list[SessionEvent], tool: str) -> ToolFinished:
    [found] = [each for each in of(ToolFinished, events) if each.tool == tool]
    return found


async def test_a_servers_form_is_asked_field_by_field_in_the_thread(desk: Open) -> None:
    async with desk("elicitation = true") as shop, shop.open() as gateway:
        await shop.ask("order")
        size = await shop.next(InputRequested)
        assert size.prompt == "The server shop asks: Which shirt?\nsize: The size."
        assert size.awaited
        assert size.options == ("S", "M", "Decline", "Cancel")
        await gateway.client.send(shop.thread, "m")
        number = await shop.next(InputRequested, size.seq)
        assert number.prompt.splitlines()[1:] == [
            "number: How many (a whole number)",
            "Write an answer, or one of: Decline, Cancel.",
        ]
        assert number.options == ()
        await gateway.client.send(shop.thread, "two")
        again = await shop.next(InputRequested, number.seq)
        assert again.prompt.endswith("'two' is not a whole number.")
        await gateway.client.send(shop.thread, "2")
        events = await shop.end()
    assert of(TurnFinished, events)[0].outcome == "done"
    answer = json.loads(result(events, "shop/order").result)
    assert answer == {"action": "accept", "content": {"size": "M", "number": 2}}
    assert len(of(InputResolved, events)) == 3


@pytest.mark.parametrize(("words", "action"), [("decline", "decline"), ("4", "cancel")])
async def test_a_form_can_be_refused(desk: Open, words: str, action: str) -> None:
    async with desk("elicitation = true") as shop, shop.open() as gateway:
        await shop.ask("order")
        await shop.next(InputRequested)
        await gateway.client.send(shop.thread, words)
        events = await shop.end()
    assert json.loads(result(events, "shop/order").result) == {"action": action}


async def test_a_server_may_ask_nothing_unless_its_table_lets_it(desk: Open) -> None:
    async with desk() as shop, shop.open():
        await shop.ask("abilities")
        events = await shop.end()
    assert result(events, "shop/abilities").result == ""
    assert not of(InputRequested, events)


async def test_a_request_for_a_model_waits_for_its_approval(desk: Open) -> None:
    policies = '"shop/sampling" = "ask"'
    async with desk("sampling = true", policies) as shop, shop.open() as gateway:
        shop.model.script(
            Reply(calls=[Call(name="think", arguments='{"text": "Well?"}')]),
            Reply(text="a thought"),
            Reply(text="done"),
        )
        await gateway.client.send(shop.thread, "go")
        asked = await shop.next(InputRequested)
        assert (asked.request_kind, asked.tool) == ("approval", "shop/sampling")
        assert "Well?" in asked.arguments
        assert len(shop.model.requests) == 1
        assert await gateway.client.answer(asked.request, Answer(kind="approve")) is None
        events = await shop.end()
    assert result(events, "shop/think").result == "a thought (endTurn)"
    assert result(events, "shop/sampling").result == "a thought"
    sampled = shop.model.requests[1].body
    assert [each["content"] for each in sampled["messages"]] == ["Be brief.", "Well?"]
    assert "tools" not in sampled
    assert sampled["stop"] == ["END"]


async def test_budgets_hold_for_requests_for_a_model(desk: Open) -> None:
    budget = '[[budgets]]\nper = "team"\nwindow = "day"\ntokens = 1'
    async with desk("sampling = true", budget) as shop, shop.open():
        await shop.ask("think", text="Well?")
        events = await shop.end()
    assert "BudgetSpent" in result(events, "shop/think").result
    assert of(TurnFinished, events)[0].outcome == "failed"
    assert len(shop.model.requests) == 1


async def test_a_request_for_a_model_can_be_denied(desk: Open) -> None:
    policies = '"shop/sampling" = "ask"'
    async with desk("sampling = true", policies) as shop, shop.open() as gateway:
        await shop.ask("think", text="Well?")
        asked = await shop.next(InputRequested)
        await gateway.client.answer(asked.request, Answer(kind="deny", text="too dear"))
        events = await shop.end()
    assert "too dear" in result(events, "shop/think").result
    assert len(shop.model.requests) == 2


async def test_the_policy_forbids_requests_for_a_model(desk: Open) -> None:
    async with desk('sampling = "m"', '"shop/sampling" = "deny"') as shop, shop.open():
        await shop.ask("think", text="Well?")
        events = await shop.end()
    assert "policy forbids" in result(events, "shop/think").result
    assert not of(InputRequested, events)


async def test_folders_prompts_and_resources_of_the_table(desk: Open, tmp_path: Path) -> None:
    server = 'roots = ["."]\nresources = true\nprompts = true'
    async with desk(server) as shop, shop.open():
        shop.model.script(
            Reply(calls=[Call(name="where", arguments="{}")]),
            Reply(calls=[Call(name="read_resource", arguments='{"uri": "note://1"}')]),
            Reply(text="done"),
        )
        await shop.gateway.client.send(shop.thread, "go")
        events = await shop.end()
    assert result(events, "shop/where").result == tmp_path.as_uri()
    assert result(events, "shop/read_resource").result.startswith("the note note://1")
    offered = [tool["function"]["name"] for tool in shop.model.requests[0].body["tools"]]
    assert offered[-4:] == ["list_resources", "read_resource", "list_prompts", "get_prompt"]


async def test_a_turn_that_is_stopped_ends_the_servers_question(desk: Open) -> None:
    async with desk("elicitation = true") as shop, shop.open() as gateway:
        await shop.ask("order")
        asked = await shop.next(InputRequested)
        await gateway.client.stop(shop.thread)
        events = await shop.end()
        [closed] = of(InputResolved, events)
        assert closed.request == asked.request
        assert "closed" in closed.outcome
    assert "ordered" not in shop.notes.read_text()


async def test_after_a_restart_the_call_is_unknown_and_its_question_closed(desk: Open) -> None:
    async with desk("elicitation = true") as shop:
        async with shop.open():
            await shop.ask("order")
            asked = await shop.next(InputRequested)
        async with shop.open() as gateway:
            events = await shop.end()
            late = await gateway.client.answer(asked.request, Answer(kind="text", text="M"))
    [closed] = of(InputResolved, events)
    assert (closed.request, closed.outcome) == (
        asked.request,
        "closed: the call that asked is over",
    )
    assert late is not None
    assert "settled" in late
    assert any("its effect is unknown" in notice.text for notice in of(Notice, events))
    assert [each.text for each in of(MessageFinished, events)] == ["done"]
    assert shop.notes.read_text().count("order\n") == 1


async def test_a_call_that_may_be_repeated_finds_its_answers_after_a_restart(desk: Open) -> None:
    policies = '"shop/order" = { action = "allow", idempotent = true }'
    async with desk("elicitation = true", policies) as shop:
        async with shop.open() as gateway:
            await shop.ask("order")
            size = await shop.next(InputRequested)
            await gateway.client.send(shop.thread, "M")
            number = await shop.next(InputRequested, size.seq)
        async with shop.open() as gateway:
            assert (
                await gateway.client.answer(number.request, Answer(kind="text", text="2")) is None
            )
            events = await shop.end()
    assert [each.request for each in of(InputRequested, events)] == [size.request, number.request]
    answer = json.loads(result(events, "shop/order").result)
    assert answer["content"] == {"size": "M", "number": 2}


async def test_a_component_files_server_obeys_the_policy_for_its_model(
    desk: Open, tmp_path: Path
) -> None:
    async with desk("sampling = true") as shop:
        dumped = json.loads(await shop.dumped())
        [bench] = dumped["config"]["participants"][0]["config"]["workbench"]
        assert "sampler" in bench["config"]["host"]["config"]
        (tmp_path / "team.json").write_text(json.dumps(dumped))
        text = (tmp_path / "config.toml").read_text()
        before, _, policies = text.partition("[teams.desk]")[2].partition("[policies.tools]")
        allow = shop.allow(dumped)
        team = f'[teams.desk]\ncomponent = "team.json"\n{allow}\n'
        kept = text.partition("[mcp.shop]")[0]
        assert before
        shop.use(f'{kept}{team}[policies.tools]{policies}\n"mcp/sampling" = "deny"\n')
        async with shop.open():
            await shop.ask("think", text="Well?")
            events = await shop.end()
    assert "policy forbids" in result(events, "mcp/think").result
