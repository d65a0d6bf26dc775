"""Findings of `parley check` about names in rules."""

from pathlib import Path

import pytest

from gateway.app.check import check_config
from gateway.app.load import load_config
from tests.fakes.changing_server import DESK, ChangingServer

pytestmark = pytest.mark.timeout(40)  # a server is started

RULE = """
[policies.tools."shop/add"]
action = "ask"
cases = [{ arguments = { itme = "secret.*" }, action = "deny" }]
"""


async def found(
    folder: Path, text: str, *, offline: bool = True, kind: str = "rule"
) -> list[tuple[str, bool, str]]:
    path = folder / "config.toml"
    path.write_text(text)
    findings = await check_config(load_config(path), offline=offline)
    return [(each.name, each.good, each.text) for each in findings if each.kind == kind]


async def test_an_argument_of_a_server_s_tool_is_known_once_it_is_asked(tmp_path):
    text = DESK + ChangingServer(tmp_path).table() + RULE
    [(name, good, said)] = await found(tmp_path, text)
    assert (name, good) == ("shop/add", True)
    assert said.startswith("note: its arguments itme are compared once its server has told")
    [(name, good, said)] = await found(tmp_path, text, offline=False)
    assert (name, good) == ("shop/add", False)
    assert said.endswith("expected an argument of shop/add; did you mean 'item'?")
    right = text.replace("itme", "item")
    assert await found(tmp_path, right, offline=False) == []


@pytest.mark.parametrize(
    ("policies", "name", "said"),
    [
        ('operators = ["slack:T1:U1"]', "policies.operators[0]", "add [adapters.slack]"),
        (
            'tools.x = { action = "ask", approvers = ["slack:T1:U1", "asker", "operators"] }',
            "policies.tools.x.approvers",
            "'slack:T1:U1' is on no platform",
        ),
    ],
)
async def test_people_of_no_platform_are_noted(tmp_path, policies, name, said):
    (tmp_path / "made.py").write_text("def x() -> str:\n    'Do.'\n    return ''\n")
    desk = "[teams.desk]\ntype = 'round_robin'\nmax_turns = 1\nagents.a.tools = ['made:x']\n"
    config = f"{desk}[policies]\n{policies}\n"
    [(place, good, text)] = await found(tmp_path, config, offline=True, kind="person")
    assert (place, good) == (name, True)
    assert said in text


async def test_operators_at_the_terminal_need_no_platform(tmp_path):
    text = '[policies]\noperators = ["local:operator"]\n'
    assert await found(tmp_path, text, offline=True, kind="person") == []
