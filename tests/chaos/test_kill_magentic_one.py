"""kill -9 of a Magentic-One that waits for people and models."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.chaos.process import Parley, Steps, set_up, stored_events
from tests.chaos.test_kill import assert_once, of_kind, spoken
from tests.fakes.openai_script import Call, Gate, Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.gateway.journeys.test_magentic_one import ORCHESTRATOR, found, ledger

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(90)]

TEAM = """
[teams.one]
type = "magentic_one"
agents.FileSurfer = { type = "file_surfer" }
agents.Coder = { type = "coder" }
agents.ComputerTerminal = { type = "code_executor", executor = { type = "local" } }
agents.User = { type = "user_proxy" }
"""
RULES = """
[policies.tools]
execute_code = "ask"
open_path = "allow"
default = "deny"
"""
SCRIPT = "```sh\necho 17 kinds > teas.txt\necho ran >> runs\n```"


async def test_killed_again_and_again_it_goes_on_and_runs_the_code_once(tmp_path: Path) -> None:
    async with FakeOpenAI() as model, Steps() as steps:
        set_up(tmp_path, model.url)
        text = (tmp_path / "config.toml").read_text()
        models, store = text.partition("[teams")[0], text[text.index("[store]") :]
        (tmp_path / "config.toml").write_text(models + TEAM + RULES + store)

        model.script(Reply(text="Facts."), Reply(text="Plan."), ledger("User", "Which shop?"))
        async with Parley(tmp_path, "chat", "--plain", "--new", steps=steps) as first:
            await first.shows("Parley in line mode")
            first.types("How many teas?\r")
            await first.shows("Type your answer")
            first.kill()

        model.script(
            *(ledger("Coder", "Write code."), Reply(text=SCRIPT)),
            ledger("ComputerTerminal", "Run it."),
        )
        async with Parley(tmp_path, "chat", "--plain", steps=steps) as second:
            await second.shows("Type your answer")
            second.types("The corner shop\r")
            await second.shows("Type approve")
            second.kill()
        assert found(tmp_path, "teas.txt") == []

        gate = Gate()
        model.script(
            ledger("FileSurfer", "Read teas.txt."),
            Reply(text="never seen", gate=gate, hold=True),
        )
        async with Parley(tmp_path, "chat", "--plain", steps=steps) as third:
            await third.shows("Type approve")
            third.types("approve\r")
            await gate.reached()
            await third.shows("Read teas.txt.")  # it is stored, so the ledger is not asked again
            third.kill()

        model.script(
            Reply(calls=[Call(name="open_path", arguments={"path": "teas.txt"})]),
            ledger("FileSurfer", done=True),
            Reply(text="Seventeen."),
        )
        async with Parley(tmp_path, "chat", "--plain", steps=steps) as last:
            await last.shows("Seventeen.")
            last.kill(signal.SIGTERM)
            assert await last.exited() == 128 + signal.SIGTERM

    [runs] = found(tmp_path, "runs")
    assert runs.read_text() == "ran\n"
    events = stored_events(tmp_path)
    assert [agent for agent, _ in spoken(events)][-3:] == [ORCHESTRATOR, "FileSurfer", ORCHESTRATOR]
    assert spoken(events)[-2][1].endswith("=\n17 kinds\n")
    assert len(of_kind(events, "input_requested")) == 2
    assert_once(events)
