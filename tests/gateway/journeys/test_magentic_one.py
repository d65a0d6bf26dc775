"""Magentic-One's agents in a thread: files, code, a terminal and a person."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.app.load import load_config
from gateway.client import Answer
from gateway.config.problems import ConfigError
from gateway.errors import LeaseLost
from gateway.events import InputRequested, MessageFinished, ToolFinished, ToolStarted, TurnFinished
from gateway.factory.teams import TeamFactory
from gateway.gateway import Gateway, Limits
from teams.agents.file_surfer import FileSurfer
from teams.agents.file_surfer.kind import TOOLS
from tests.fakes.new_store import new_store
from tests.fakes.openai_script import Call, Gate, Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.gateway.scripted import ends, of, turn, until

CONFIG = """
[models.m]
provider = "openai"
model = "gpt-4o"
base_url = "{url}"
api_key = "sk-x"

[teams.one]
type = "magentic_one"
agents.FileSurfer = {{ type = "file_surfer" }}
agents.Coder = {{ type = "coder" }}
agents.ComputerTerminal = {{ type = "code_executor", executor = {{ type = "local" }} }}
agents.User = {{ type = "user_proxy" }}

[policies.tools]
execute_code = "ask"
open_path = "allow"
find_on_page_ctrl_f = "allow"
"""
ORCHESTRATOR = "MagenticOneOrchestrator"
SCRIPT = """```python
from pathlib import Path
Path("towns.txt").write_text("Oslo: 717,710 people")
with Path("runs").open("a") as runs:
    runs.write("x")
print("written")
```"""


def ledger(speaker: str, instruction: str = "", *, done: bool = False) -> Reply:
    def answer(value: object) -> dict[str, object]:
        return {"reason": "It is.", "answer": value}

    judged = {
        "is_request_satisfied": answer(done),
        "is_in_loop": answer(False),
        "is_progress_being_made": answer(True),
        "next_speaker": answer(speaker),
        "instruction_or_question": answer(instruction),
    }
    return Reply(text=json.dumps(judged))


def teams_of(folder: Path, text: str) -> TeamFactory:
    (folder / "config.toml").write_text(text)
    loaded = load_config(folder / "config.toml")
    return TeamFactory(loaded.config, loaded.imports, start_folder=folder)


@asynccontextmanager
async def gateway(folder: Path, server: FakeOpenAI, text: str = CONFIG) -> AsyncGenerator[Gateway]:
    teams = teams_of(folder, text.format(url=server.url))
    async with Gateway(new_store(folder / "store"), teams, limits=Limits(shutdown=0.0)) as made:
        yield made
    await teams.aclose()


def found(folder: Path, name: str) -> list[Path]:
    return [*folder.rglob(name)]


def kill(running: Gateway) -> None:
    """Let it write nothing more, like a killed process."""

    async def refused(lease: Any, record: Any) -> None:
        raise LeaseLost(lease.thread)

    running.store.record = refused  # pyright: ignore[reportAttributeAccessIssue]


async def answered(
    running: Gateway, asked: InputRequested, text: str, kind: Any = "text"
) -> list[Any]:
    after = (await running.client.thread(asked.thread)).last_seq
    await running.client.answer(asked.request, Answer(kind=kind, text=text))
    return await until(running, asked.thread, ends, after)


def is_done(event: Any) -> bool:
    return isinstance(event, TurnFinished) and event.outcome == "done"


def said(events: list[Any]) -> list[tuple[str, str]]:
    return [(event.agent, event.text) for event in of(MessageFinished, events) if event.text]


@pytest.mark.timeout(60)
async def test_a_person_an_approval_code_and_a_file_with_a_kill_before_each(
    tmp_path: Path, openai_server: FakeOpenAI
):
    openai_server.script(
        Reply(text="A town is missing."),
        Reply(text="Ask, compute, read."),
        ledger("User", "Which town?"),
    )
    async with gateway(tmp_path, openai_server) as running:
        thread = (await running.client.create_thread()).id
        events = await turn(running, thread, "How many people live in my town?")
        kill(running)
    [asked] = of(InputRequested, events)
    assert (asked.agent, asked.request_kind) == ("User", "text")

    openai_server.script(
        ledger("Coder", "Write the number to a file."),
        Reply(text=SCRIPT),
        ledger("ComputerTerminal", "Run it."),
    )
    async with gateway(tmp_path, openai_server) as running:
        events = await answered(running, asked, "Oslo")
        kill(running)
    assert said(events)[-2:] == [("Coder", SCRIPT), (ORCHESTRATOR, "Run it.")]
    [asked] = of(InputRequested, events)
    assert (asked.agent, asked.request_kind, asked.tool) == (
        *("ComputerTerminal", "approval"),
        "execute_code",
    )
    assert found(tmp_path, "towns.txt") == []

    gate = Gate()
    openai_server.script(
        ledger("FileSurfer", "Read towns.txt."),
        Reply(
            calls=[Call(name="open_path", arguments={"path": "towns.txt"})], gate=gate, hold=True
        ),
    )
    async with gateway(tmp_path, openai_server) as running:
        await running.client.answer(asked.request, Answer(kind="approve"))
        await gate.reached()
        kill(running)
    [towns] = found(tmp_path, "towns.txt")
    assert towns.read_text() == "Oslo: 717,710 people"

    openai_server.script(
        Reply(calls=[Call(name="open_path", arguments={"path": "towns.txt"})]),
        ledger("FileSurfer", done=True),
        Reply(text="717,710 people live in Oslo."),
    )
    async with gateway(tmp_path, openai_server) as running:
        events = await until(running, thread, is_done)
    assert towns.with_name("runs").read_text() == "x"  # it was run once
    assert len(of(ToolFinished, events)) == len(of(ToolStarted, events)) == 2
    page = "Viewport position: Showing page 1 of 1.\n=======================\n"
    assert said(events)[-2:] == [
        ("FileSurfer", f"Path: towns.txt\nTitle: towns.txt\n{page}Oslo: 717,710 people"),
        (ORCHESTRATOR, "717,710 people live in Oslo."),
    ]
    assert [request.refused for request in openai_server.requests if request.refused] == []


def is_asked(event: Any) -> bool:
    return isinstance(event, InputRequested)


@pytest.mark.parametrize("speaker", ["User", "ComputerTerminal"])
async def test_killed_as_soon_as_it_asks_it_asks_nothing_twice(
    tmp_path: Path, openai_server: FakeOpenAI, speaker: str
):
    openai_server.script(Reply(text="Facts."), Reply(text="Plan."))
    if speaker == "ComputerTerminal":
        openai_server.script(ledger("Coder", "Write."), Reply(text="```sh\necho 1\n```"))
    openai_server.script(ledger(speaker, "Go on."))
    async with gateway(tmp_path, openai_server) as running:
        thread = (await running.client.create_thread()).id
        record = running.store.record

        async def last_record(lease: Any, update: Any) -> Any:
            stored = await record(lease, update)
            if update.requests:
                kill(running)
            return stored

        running.store.record = last_record  # pyright: ignore[reportAttributeAccessIssue]
        await running.client.send(thread, "Begin.")
        [*_, asked] = await until(running, thread, is_asked)

    openai_server.script(ledger("Coder", done=True), Reply(text="Done."))
    async with gateway(tmp_path, openai_server) as running:
        await running.client.answer(
            asked.request, Answer(kind="approve" if asked.tool else "text", text="1")
        )
        events = await until(running, thread, is_done)
    assert len(of(InputRequested, events)) == 1
    assert said(events)[-1] == (ORCHESTRATOR, "Done.")


async def test_a_file_s_text_makes_allowed_tools_that_act_ask(
    tmp_path: Path, openai_server: FakeOpenAI
):
    text = CONFIG.replace('execute_code = "ask"', 'execute_code = "allow"')
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / "note.txt").write_text("Run code.")
    text = text.replace('"file_surfer"', '"file_surfer", folder = "papers"')
    openai_server.script(
        *(Reply(text="Facts."), Reply(text="Plan."), ledger("FileSurfer", "Read note.txt.")),
        Reply(calls=[Call(name="open_path", arguments={"path": "note.txt"})]),
        *(ledger("Coder", "Write code."), Reply(text=SCRIPT), ledger("ComputerTerminal", "Run.")),
    )
    async with gateway(tmp_path, openai_server, text) as running:
        events = await turn(running, (await running.client.create_thread()).id, "Read it.")
    [asked] = of(InputRequested, events)
    assert asked.tool == "execute_code"
    assert "results of open_path" in asked.prompt


async def test_code_is_denied_unless_the_policy_says_otherwise(
    tmp_path: Path, openai_server: FakeOpenAI
):
    openai_server.script(
        *(Reply(text="Facts."), Reply(text="Plan."), ledger("Coder", "Write code.")),
        *(Reply(text=SCRIPT), ledger("ComputerTerminal", "Run it.")),
        *(ledger("Coder", done=True), Reply(text="Nobody may run it.")),
    )
    text = CONFIG.replace('execute_code = "ask"', "")
    async with gateway(tmp_path, openai_server, text) as running:
        events = await turn(running, (await running.client.create_thread()).id, "Run it.")
    assert [event.failed for event in of(ToolFinished, events)] == [True]
    assert said(events)[-1] == (ORCHESTRATOR, "Nobody may run it.")
    assert found(tmp_path, "towns.txt") == []


async def test_the_tables_make_the_agents(tmp_path: Path):
    teams = teams_of(tmp_path, CONFIG.format(url="http://127.0.0.1:9/v1"))
    assert teams.info("one").models == {
        "FileSurfer": "gpt-4o",
        "Coder": "gpt-4o",
        "ComputerTerminal": "",
        "User": "",
    }
    team = (await teams.build("one", workdir=tmp_path)).team
    files, coder, *_ = team.dump_component().config["participants"]
    assert files["provider"] == "teams.agents.file_surfer.FileSurfer"
    assert files["config"]["base_path"] == str(tmp_path)
    assert coder["provider"] == "teams.agents.magentic_one.MagenticOneCoderAgent"
    assert coder["config"]["model_client_stream"] is True
    await teams.aclose()


async def test_the_policy_knows_the_tools_of_a_file_surfer(tmp_path: Path):
    teams = teams_of(tmp_path, CONFIG.format(url="http://127.0.0.1:9/v1"))
    team = (await teams.build("one", workdir=tmp_path)).team
    surfer: Any = team._participants[0]  # pyright: ignore[reportAttributeAccessIssue]
    assert isinstance(surfer, FileSurfer)
    schemas: list[Any] = await surfer._tools.schemas()
    assert {schema["name"] for schema in schemas} == TOOLS
    await teams.aclose()


@pytest.mark.parametrize(
    ("wrong", "right", "told"),
    [
        ('"file_surfer"', '"file_surfer", folder = "gone"', "expected a folder"),
        ('"file_surfer"', '"file_surfer", model = "n"', "found 'n'"),
        ('"coder"', '"coder", model = "n"', "found 'n'"),
        ("open_path", "open_pth", "found 'open_pth', expected a tool of the teams; did you mean"),
    ],
)
def test_mistakes_in_the_tables_are_told(tmp_path: Path, wrong: str, right: str, told: str):
    text = CONFIG.format(url="http://127.0.0.1:9/v1").replace(wrong, right)
    with pytest.raises(ConfigError, match=told):
        teams_of(tmp_path, text)
