"""The teams of docs/teams.md: each runs as the page says.

Each also comes back from its own JSON.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gateway.app.check import dump_team
from gateway.app.load import load_config
from gateway.errors import GatewayError
from gateway.factory.component_files import allow_line, needs_of
from gateway.factory.teams import TeamFactory
from teams.base import run_hooks
from teams.core import CancellationToken
from teams.messages import BaseAgentEvent, BaseChatMessage
from tests.fakes.openai_script import parse_script
from tests.fakes.openai_server import FakeOpenAI

pytestmark = pytest.mark.usefixtures("fresh_imports")

PAGE = Path(__file__).resolve().parents[3] / "docs" / "teams.md"
TEXT = PAGE.read_text()
FUNCTIONS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)[0]
EXAMPLE = re.compile(
    r"<!-- run: (.*?) -->\n```toml\n(.*?)```\n\n(`{3,})text\n(.*?)^\3$", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Example:
    config: str
    task: str
    answers: list[dict[str, Any]]
    shown: str
    says: str = ""
    side_by_side: tuple[str, ...] = ()
    """The agents that speak at the same time, in the order of the page."""

    def lines(self, messages: Sequence[BaseAgentEvent | BaseChatMessage]) -> str:
        """The messages, each up to its first empty line."""
        said = [each for each in messages if isinstance(each, BaseChatMessage)]
        places = [at for at, each in enumerate(said) if each.source in self.side_by_side]
        ordered = sorted(
            (said[at] for at in places), key=lambda each: self.side_by_side.index(each.source)
        )
        for at, each in zip(places, ordered, strict=True):
            said[at] = each
        return "".join(f"{each.source}: {shortened(each.to_text().strip())}\n" for each in said)


def shortened(text: str) -> str:
    first, rest, _ = text.partition("\n\n")
    return f"{first} [...]" if rest else first


def ledger(next_speaker: list[str] | None) -> str:
    """An orchestrator's ledger: the next speaker, or that the request is satisfied."""
    speaker, instruction = next_speaker or ["", ""]
    answers = {
        "is_request_satisfied": next_speaker is None,
        "is_in_loop": False,
        "is_progress_being_made": True,
        "next_speaker": speaker,
        "instruction_or_question": instruction,
    }
    return json.dumps({key: {"reason": "-", "answer": value} for key, value in answers.items()})


def examples() -> list[Example]:
    found: list[Example] = []
    for run, config, _, shown in EXAMPLE.findall(TEXT):
        data = json.loads(run)
        answers = [
            {"text": ledger(each["ledger"])} if "ledger" in each else each
            for each in data.get("answers", ())
        ]
        data |= {"answers": answers, "side_by_side": tuple(data.get("side_by_side", ()))}
        found.append(Example(config=config, shown=shown, **data))
    return found


EXAMPLES = examples()


@pytest.fixture
def folder(tmp_path: Path, openai_server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-docs")
    monkeypatch.setenv("OPENAI_BASE_URL", openai_server.url)
    openai_server.models.add("gpt-4.1-mini")
    (tmp_path / "my_tools.py").write_text(FUNCTIONS)
    return tmp_path


def test_every_example_of_the_page_is_run():
    assert len(EXAMPLES) == len(re.findall(r"```toml\n(?!\[faces\.)", TEXT))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: each.config.splitlines()[0])
async def test_an_example_runs_as_the_page_says(
    folder: Path, openai_server: FakeOpenAI, example: Example
):
    ordered, rules = parse_script(example.answers, openai_server.gate)
    openai_server.script(*ordered)
    openai_server.rule(*rules)
    (folder / "config.toml").write_text(example.config)
    loaded = load_config(folder / "config.toml")
    source = TeamFactory(loaded.config, loaded.imports, start_folder=folder)

    async def ask(prompt: str, token: CancellationToken | None) -> str:
        return example.says

    team = (await source.build(source.default, workdir=folder)).team
    with run_hooks(ask=ask):
        result = await team.run(task=example.task)
    await source.aclose()
    assert example.lines(result.messages) == example.shown
    assert [request.refused for request in openai_server.requests if request.refused] == []


@pytest.mark.parametrize(
    "example",
    [each for each in EXAMPLES if '"conversable"' not in each.config],
    ids=lambda each: each.config.splitlines()[0],
)
async def test_the_json_of_an_example_is_a_team_with_the_same_json(folder: Path, example: Example):
    (folder / "config.toml").write_text(example.config)
    written = load_config(folder / "config.toml")
    for name in written.config.teams:
        text = (await dump_team(written, name)).text
        assert "sk-docs" not in text
        await asyncio.to_thread((folder / "team.json").write_text, text)
        (folder / "again.toml").write_text(
            "[teams.again]\ncomponent = 'team.json'\n"
            "tool_overrides = { find_order = 'my_tools:find_order' }\n"
            f"{allow_line(needs_of(json.loads(text)))}"
        )
        assert (await dump_team(load_config(folder / "again.toml"), "again")).text == text


async def test_a_chat_of_two_agents_can_not_be_written_as_json(folder: Path):
    [chat] = [each for each in EXAMPLES if each.config.startswith("[teams.comedy]")]
    (folder / "config.toml").write_text(chat.config)
    with pytest.raises(GatewayError, match="The team 'comedy' can't be written as JSON"):
        await dump_team(load_config(folder / "config.toml"), "comedy")


async def test_a_team_on_the_demo_model_comes_back_from_its_json(tmp_path: Path):
    team = "[teams.t]\ntype = 'round_robin'\nmax_turns = 1\nagents.a = {}\n"
    (tmp_path / "config.toml").write_text(f"{team}[teams.again]\ncomponent = 'team.json'")
    (tmp_path / "team.json").write_text("{}")
    loaded = load_config(tmp_path / "config.toml")
    text = (await dump_team(loaded, "t")).text
    (tmp_path / "team.json").write_text(text)
    assert (await dump_team(loaded, "again")).text == text


async def test_what_json_has_no_place_for_is_said_with_what_stands_in_for_source_code(folder: Path):
    (folder / "config.toml").write_text(
        """
        [teams.outer]
        type = "graph"
        edges = [{ source = "a", target = "b", condition_function = "my_tools:after_a_tester" }]
        agents.a = { tools = [{ path = "my_tools:find_order", name = "find", strict = true }] }
        agents.b = { type = "society_of_mind", team = "inner" }
        [teams.inner]
        type = "selector"
        max_turns = 2
        selector_func = "my_tools:after_a_tester"
        [teams.inner.agents.you]
        type = "message_filter"
        per_source = []
        agent = { type = "user_proxy", input_func = "my_tools:find_order" }
        [teams.inner.agents.c]
        tool_call_summary_formatter = "my_tools:find_order"
        """
    )
    dumped = await dump_team(load_config(folder / "config.toml"), "outer")
    assert dumped.notes.splitlines() == [
        "JSON can't hold these settings, so they are left out: "
        "teams.outer.edges[0].condition_function, teams.outer.agents.a.tools[0].strict, "
        "teams.inner.selector_func, teams.inner.agents.you.agent.input_func, "
        "teams.inner.agents.c.tool_call_summary_formatter",
        "Source code is never executed. To load it: "
        'tool_overrides = { find = "my_tools:find_order" }',
        "Conditions that are functions are not part of the dumped graph; without them these edges "
        "are always taken: a -> b.",
    ]
