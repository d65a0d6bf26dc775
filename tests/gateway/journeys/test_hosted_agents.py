"""Agents over OpenAI's Responses API in a team of config.toml."""

import sys
from pathlib import Path
from typing import Any

import pytest

from gateway.app.assemble import own_gateway
from gateway.app.check import check_config
from gateway.app.load import load_config
from gateway.app.operator import owner_status
from gateway.client import Answer
from gateway.config.problems import ConfigError
from gateway.errors import LeaseLost
from gateway.events import InputRequested, MessageFinished, TextDelta, ToolFinished, Usage
from tests.fakes.new_store import new_store
from tests.fakes.openai_script import Call, Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.gateway.scripted import ends, of, turn, until

pytestmark = pytest.mark.usefixtures("fresh_imports")

MAIL = """
SENT = []


def send(to: str) -> str:
    "Send a mail."
    SENT.append(to)
    return f"sent to {to}"
"""
CONFIG = """
[models.m]
model = "gpt-4o"
base_url = "{url}"
api_key = "sk-of-a-test"
[teams.solo]
type = "round_robin"
max_turns = 1
[teams.solo.agents.clerk]
type = "openai"
instructions = "Be kind."
tools = ["mail:send"]
hosted_tools = ["web_search_preview"]
[limits]
shutdown_seconds = 0
[prices]
"gpt-4o" = {{ input = 1000, output = 1000 }}
"""
SENDING = Reply(calls=[Call(name="send", arguments='{"to": "ann"}')], usage=(60_000, 20_000))
DONE = Reply(text="All done.", usage=(15_000, 5_000))
SEARCHED = {"type": "web_search_call", "id": "ws_1", "status": "completed"}


class Office:
    """A config, and gateways on it that can be killed."""

    def __init__(self, folder: Path, server: FakeOpenAI, rules: str = "") -> None:
        self.folder = folder
        (folder / "mail.py").write_text(MAIL)
        (folder / "config.toml").write_text(CONFIG.format(url=server.url) + rules)

    def open(self):
        self.loaded = load_config(self.folder / "config.toml")
        self.store = new_store(self.folder / "store")
        return own_gateway(self.loaded, self.store)

    def kill(self) -> None:
        async def record(lease: Any, record: Any) -> Any:
            raise LeaseLost(lease.thread)

        self.store.record = record

    @property
    def sent(self) -> list[str]:
        return sys.modules["mail"].SENT


async def test_a_tool_waits_for_its_approval_over_the_death_of_the_process(tmp_path: Path) -> None:
    async with FakeOpenAI(SENDING, DONE) as server:
        office = Office(tmp_path, server)
        async with office.open() as gateway:
            thread = (await gateway.client.create_thread()).id
            asked = of(InputRequested, await turn(gateway, thread, "Write to Ann"))[0]
            office.kill()
        async with office.open() as gateway:
            after = (await gateway.client.thread(thread)).last_seq
            await gateway.client.answer(asked.request, Answer(kind="approve"))
            events = await until(gateway, thread, ends, after)
            _, status = await owner_status(office.store)
    assert (asked.request_kind, asked.tool) == ("approval", "send")
    assert office.sent == ["ann"]
    assert [event.text for event in of(MessageFinished, events)] == ["All done."]
    assert [event.failed for event in of(ToolFinished, events)] == [False]
    first, second = server.requests
    assert first.tools == ["web_search_preview", "send"]
    assert second.body["previous_response_id"] == "resp_1"
    assert [item["output"] for item in second.items] == ["sent to ann"]
    assert of(Usage, events)[-1].prompt_tokens == 15_000
    assert "100,000 tokens today at a cost of 100.00" in status


@pytest.mark.chaos
async def test_an_answer_that_was_under_way_is_asked_for_again(tmp_path: Path) -> None:
    async with FakeOpenAI() as server:
        server.script(Reply(text="One two three", gate=server.gate), DONE)
        office = Office(tmp_path, server)
        async with office.open() as gateway:
            thread = (await gateway.client.create_thread()).id
            await gateway.client.send(thread, "Hi")
            await server.gate.reached()
            server.gate.open(2)
            await until(gateway, thread, lambda event: isinstance(event, TextDelta))
            office.kill()
        async with office.open() as gateway:
            events = await until(gateway, thread, ends)
    assert [event.text for event in of(MessageFinished, events)] == ["All done."]
    first, second = (request.body for request in server.requests)
    assert first == second


@pytest.mark.parametrize(("output", "asks"), [("foreign", 1), ("trusted", 0)])
async def test_text_from_a_tool_at_the_provider_is_foreign(tmp_path, output, asks) -> None:
    search = f'{{ action = "allow", output = "{output}" }}'
    rules = f'[policies.tools]\nsend = "allow"\nweb_search = {search}'
    found = Reply(calls=SENDING.calls, items=[SEARCHED])
    async with FakeOpenAI(found, DONE) as server:
        office = Office(tmp_path, server, rules)
        async with office.open() as gateway:
            events = await turn(gateway, (await gateway.client.create_thread()).id, "Look it up")
    requests = of(InputRequested, events)
    assert len(requests) == asks
    assert len(office.sent) == 1 - asks
    assert all("results of web_search" in str(event) for event in requests)


def test_a_rule_that_cannot_hold_is_a_mistake(tmp_path: Path) -> None:
    server = FakeOpenAI()
    Office(tmp_path, server, '[policies.tools]\nweb_search = "deny"')
    with pytest.raises(ConfigError, match="take it out of hosted_tools"):
        load_config(tmp_path / "config.toml")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (("[models.m]", '[models.m]\nprovider = "ollama"'), "needs a model of the provider"),
        (("web_search_preview", "file_search"), "needs vector_store_ids"),
    ],
)
async def test_check_tells_what_the_agent_can_not_have(tmp_path: Path, change, text) -> None:
    Office(tmp_path, FakeOpenAI())
    path = tmp_path / "config.toml"
    path.write_text(
        path.read_text().replace('base_url = ""', 'base_url = "http://x/v1"').replace(*change)
    )
    loaded = load_config(path)
    report = await check_config(loaded, offline=True)
    assert text in str(report)
