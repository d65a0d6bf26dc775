"""Ends of runs that no config sets, by kind of team."""

import json
from pathlib import Path

import pytest

from gateway.app.assemble import team_factory
from gateway.app.check import check_config, dump_team
from gateway.app.load import load_config

PARTS = """
from teams.core import FunctionCall
from teams.models import CreateResult, RequestUsage
from teams.models.replay import ReplayChatCompletionClient


def call(name):
    made = FunctionCall(id="1", name=name, arguments="{}")
    usage = RequestUsage(prompt_tokens=0, completion_tokens=0)
    return CreateResult(finish_reason="function_calls", content=[made], usage=usage, cached=False)


def Texts(**_):
    return ReplayChatCompletionClient(["one"] * 60, INFO)


def Choices(**_):
    return ReplayChatCompletionClient(["a", "b"] * 30, INFO)


def Hands(**_):
    return ReplayChatCompletionClient([call("transfer_to_b"), "done"], INFO)


def Asks(**_):
    return ReplayChatCompletionClient([call("transfer_to_user"), "done"], INFO)


def Ring(**_):
    return ReplayChatCompletionClient(
        [call("transfer_to_b"), call("transfer_to_a")] * 40, INFO
    )


INFO = dict(vision=False, function_calling=True, json_output=True, family="unknown",
            structured_output=False)
"""
CONFIG = """
[models.m]
provider = "ends_parts:{model}"
[models.texts]
provider = "ends_parts:Texts"
[teams.t]
type = "{kind}"
{more}
[teams.t.agents.a]
model = "{of}"
model_client_stream = false
handoffs = [{handoffs}]
[teams.t.agents.b]
model = "{of}"
model_client_stream = false
handoffs = [{back}]
"""


def written(folder: Path, kind: str, model: str = "Texts", more: str = "", **given: str) -> Path:
    (folder / "ends_parts.py").write_text(PARTS)
    settings = {"handoffs": "", "back": "", "of": "m", **given}
    (folder / "config.toml").write_text(
        CONFIG.format(kind=kind, model=model, more=more, **settings)
    )
    return folder / "config.toml"


async def ran(config: Path) -> list[tuple[str, str]]:
    loaded = load_config(config)
    folder = config.parent
    team = (await team_factory(loaded, folder).build("t", workdir=folder)).team
    result = await team.run(task="Begin.")
    return [(each.source, type(each).__name__) for each in result.messages[1:]]


@pytest.mark.usefixtures("fresh_imports")
async def test_a_round_robin_ends_after_one_round(tmp_path: Path):
    said = await ran(written(tmp_path, "round_robin"))
    assert said == [("a", "TextMessage"), ("b", "TextMessage")]


@pytest.mark.usefixtures("fresh_imports")
async def test_a_selector_ends_at_ten_messages(tmp_path: Path):
    config = written(tmp_path, "selector", "Choices", 'model = "m"', of="texts")
    assert len(await ran(config)) == 9


TO_B, TO_USER = '"b"', '"b", "user"'


@pytest.mark.usefixtures("fresh_imports")
@pytest.mark.parametrize(
    ("model", "handoffs", "back", "last", "speakers"),
    [
        ("Texts", TO_B, "", "TextMessage", {"a"}),
        ("Hands", TO_B, "", "TextMessage", {"a", "b"}),
        ("Asks", TO_USER, "", "HandoffMessage", {"a"}),
        ("Ring", TO_B, '"a"', "HandoffMessage", {"a", "b"}),
    ],
)
async def test_a_swarm_ends_at_a_text_at_the_user_or_at_forty_messages(
    tmp_path: Path, model: str, handoffs: str, back: str, last: str, speakers: set[str]
):
    said = await ran(written(tmp_path, "swarm", model, handoffs=handoffs, back=back))
    assert said[-1][1] == last
    assert {source for source, _ in said} == speakers
    assert len(said) < 130


@pytest.mark.usefixtures("fresh_imports")
@pytest.mark.parametrize("more", ["max_turns = 3", "termination = 'MaxMessage(4)'"])
async def test_an_end_of_the_config_s_own_stays_alone(tmp_path: Path, more: str):
    config = written(tmp_path, "round_robin", more=more)
    assert len(await ran(config)) == 3


@pytest.mark.usefixtures("fresh_imports")
@pytest.mark.parametrize(
    ("kind", "held"),
    [("round_robin", {"max_turns": 2}), ("selector", "MaxMessage"), ("swarm", "TextMessage")],
)
async def test_a_dumped_team_holds_its_end(tmp_path: Path, kind: str, held: object):
    path = written(tmp_path, kind, handoffs=TO_B)
    config = json.loads((await dump_team(load_config(path), "t")).text)["config"]
    if isinstance(held, dict):
        assert config["max_turns"] == held["max_turns"]
    else:
        assert str(held) in json.dumps(config["termination_condition"])
        assert config.get("max_turns") is None


PERSON = """
[teams.t.agents.{name}]
type = "user_proxy"
"""
NESTED = """
[teams.t.agents.c]
type = "message_filter"
agent = {model = "m", handoffs = [{target = "user"}]}
per_source = [{source = "a"}]
"""


@pytest.mark.usefixtures("fresh_imports")
@pytest.mark.parametrize(
    ("handoffs", "back", "others", "awaits_user"),
    [
        (TO_B, "", "", False),
        (TO_B, '"a"', PERSON.format(name="human"), False),
        (TO_USER, "", PERSON.format(name="user"), False),
        (TO_B, '"user"', "", True),
        (TO_B, '{target = "user", name = "ask"}', "", True),
        (TO_B, "", NESTED, True),
    ],
)
async def test_a_swarm_waits_for_the_user_that_is_handed_over_to(
    tmp_path: Path, handoffs: str, back: str, others: str, *, awaits_user: bool
):
    path = written(tmp_path, "swarm", handoffs=handoffs, back=back)
    path.write_text(path.read_text() + others)
    found = await check_config(load_config(path), offline=True)
    assert [each.text for each in found if not each.good] == []
    [note] = [each.text for each in found if "as no end is set" in each.text]
    assert ("Handoff('user')" in note) == awaits_user
    assert "TextMessage('a')" in note
    assert "TextMessage('user')" not in note
