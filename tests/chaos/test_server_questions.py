"""kill -9 of a gateway while a server waits for a person."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from gateway.app.load import load_config
from gateway.client import Answer
from gateway.events import InputRequested, InputResolved, MessageFinished, ToolFinished
from gateway.factory.teams import TeamFactory
from gateway.gateway import Gateway
from tests.fakes.new_store import new_store
from tests.fakes.openai_script import Call, Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.gateway.scripted import ends, of, until

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(60)]

ROOT = Path(__file__).resolve().parents[2]
CONFIG = """
[models.m]
provider = "openai"
model = "gpt-4o"
base_url = "{url}"
api_key = "key"

[mcp.shop]
command = "{python}"
args = ["-m", "tests.fakes.quick_mcp_server", "--more"]
cwd = "{root}"
env = {{ NOTES = "{notes}" }}
elicitation = true

[teams.desk]
type = "round_robin"
participants = ["clerk"]
max_turns = 1

[teams.desk.agents.clerk]
mcp = ["shop"]

[policies.tools]
default = "allow"
"""


async def ordering(folder: Path) -> None:
    """Order a shirt up to the second question, and wait for ever."""
    loaded = load_config(folder / "config.toml")
    teams = TeamFactory(loaded.config, loaded.imports, start_folder=folder)
    async with Gateway(new_store(folder / "store"), teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        await gateway.client.send(thread, "a shirt, please")
        size = (await until(gateway, thread, lambda e: isinstance(e, InputRequested)))[-1]
        await gateway.client.answer(size.request, Answer(kind="text", text="M"))
        await until(gateway, thread, lambda e: isinstance(e, InputRequested), size.seq)
        sys.stdout.write(f"{thread}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


async def test_after_a_kill_the_call_is_unknown_and_its_question_closed(tmp_path: Path) -> None:
    async with FakeOpenAI() as model:
        model.script(Reply(calls=[Call(name="order", arguments="{}")]))
        notes = tmp_path / "notes"
        (tmp_path / "config.toml").write_text(
            CONFIG.format(url=model.url, python=sys.executable, root=ROOT, notes=notes)
        )
        running = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.chaos.test_server_questions", str(tmp_path)),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
        )
        assert running.stdout is not None
        thread = (await running.stdout.readline()).decode().strip()
        running.kill()
        await running.wait()

        model.script(Reply(text="I can't tell whether it was ordered."))
        loaded = load_config(tmp_path / "config.toml")
        teams = TeamFactory(loaded.config, loaded.imports, start_folder=tmp_path)
        async with Gateway(new_store(tmp_path / "store"), teams) as gateway:
            events = await until(gateway, thread, ends)
        await teams.aclose()
    asked = [event.request for event in of(InputRequested, events)]
    assert {event.request: event.outcome for event in of(InputResolved, events)} == {
        asked[0]: "M",
        asked[1]: "closed: the call that asked is over",
    }
    assert [event.unknown for event in of(ToolFinished, events)] == [True]
    assert of(MessageFinished, events)[-1].text == "I can't tell whether it was ordered."
    noted = notes.read_text().splitlines()
    assert noted.count("order") == 1
    assert not any(line.startswith("ordered {") for line in noted)


if __name__ == "__main__":
    asyncio.run(ordering(Path(sys.argv[1])))
