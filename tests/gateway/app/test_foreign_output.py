"""`parley check` says which allowed tools will ask, and because of which."""

from pathlib import Path

import pytest

from gateway.app.check import check_config
from gateway.app.load import load_config

pytestmark = pytest.mark.usefixtures("fresh_imports")

TOOLS = """
from teams.memory import ListMemory

def find(n: str) -> str:
    "Find."
    return n

def pay(n: str) -> str:
    "Pay."
    return n

class Recall(ListMemory):
    pass
"""
TEAM = """
[models.m]
provider = "demo"

[teams.t]
type = "swarm"
termination = "MaxMessage(9)"
agents.a = {{ tools = [{tools}], handoffs = ["b"]{more} }}
agents.b = {{}}

[policies.tools]
{policies}
"""
FIND, PAY = '"parts:find"', '"parts:pay"'
READS = 'find = { action = "allow", read_only = true }'
TRUSTED = 'find = { action = "allow", read_only = true, output = "trusted" }'
PAYS = 'pay = { action = "allow", output = "trusted" }'
CASE = 'cases = [{ teams = ["t"], action = "allow" }]'
WITH_CASE = f'pay = {{ action = "ask", output = "trusted", {CASE} }}'
DENIED = 'find = "deny"'
SERVER = ', mcp = [{ command = "sh" }]'


async def notes(folder: Path, tools: str, policies: str, more: str = "") -> list[str]:
    (folder / "parts.py").write_text(TOOLS)
    path = folder / "config.toml"
    path.write_text(TEAM.format(tools=tools, policies=policies, more=more))
    findings = await check_config(load_config(path), offline=True)
    assert all(finding.good for finding in findings), findings
    return [finding.text for finding in findings if finding.text.startswith("note: ")]


@pytest.mark.parametrize(
    ("tools", "policies", "more", "said"),
    [
        (f"{FIND}, {PAY}", f"{READS}\n{PAYS}", "", "pay will ask after results of find:"),
        (f"{FIND}, {PAY}", f"{READS}\n{WITH_CASE}", "", "pay will ask after results of find:"),
        (PAY, 'pay = "allow"', "", "pay will ask after results of pay:"),
        (PAY, PAYS, SERVER, "pay will ask after results of tools of mcp:"),
        (f"{FIND}, {PAY}", f"{TRUSTED}\n{PAYS}", "", ""),
        (f"{FIND}, {PAY}", f"{DENIED}\n{PAYS}", "", ""),
        (f"{FIND}, {PAY}", READS, "", ""),
        ('"gateway.human_tools:ask_human"', 'ask_human = "allow"', SERVER, ""),
        (PAY, PAYS, ', memory = [{ contents = ["We open at nine."] }]', ""),
    ],
)
async def test_each_team_says_once_which_tools_will_ask(tmp_path, tools, policies, more, said):
    found = await notes(tmp_path, tools, policies, more)
    assert len(found) == bool(said), found
    assert all(said in text for text in found), found


async def test_many_tools_are_counted(tmp_path):
    tools = ", ".join(f'{{ path = "parts:pay", name = "pay{n}" }}' for n in range(9))
    policies = "\n".join(f'pay{n} = "allow"' for n in range(9))
    (found,) = await notes(tmp_path, tools, policies)
    assert found.count("pay") == 10
    assert found.count("and 4 more") == 2
