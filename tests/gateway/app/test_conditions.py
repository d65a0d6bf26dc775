"""Findings of `parley check` about names that conditions wait for."""

import pytest

from tests.fakes.changing_server import DESK, ChangingServer
from tests.gateway.app.test_rules import found

pytestmark = [
    pytest.mark.timeout(40),  # a server is started
    pytest.mark.usefixtures("fresh_imports"),
]

TEAM = DESK.replace("max_turns = 1", "termination = \"FunctionCall('ad')\"")


async def test_a_tool_of_a_server_is_known_once_it_is_asked(tmp_path):
    text = TEAM + ChangingServer(tmp_path).table()
    [(name, good, said)] = await found(tmp_path, text)
    assert (name, good) == ("desk", True)
    assert said.startswith("note: a condition waits for the tool 'ad'")
    [(name, good, said)] = await found(tmp_path, text, offline=False)
    assert (name, good) == ("desk", False)
    assert said.endswith("expected a tool or hand-off of this team; did you mean 'add'?")
    assert await found(tmp_path, text.replace("'ad'", "'add'"), offline=False) == []


MADE = """
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent, BaseChatAgent
from teams.base import Response
from teams.conditions import *
from teams.messages import TextMessage
from gateway.demo import DemoChatCompletionClient

class Poet(BaseChatAgent):
    produced_message_types = (TextMessage,)
    async def on_messages(self, messages, cancellation_token):
        return Response(chat_message=TextMessage(content="so", source="muse"))
    async def on_reset(self, cancellation_token):
        pass

def look(key: str) -> str:
    "Look."
    return key

def desk(*more):
    front = AssistantAgent("front", DemoChatCompletionClient(), tools=[look], handoffs=["user"])
    return RoundRobinGroupChat([front, *more], termination_condition=CONDITION)

def with_poet():
    return desk(Poet("poet", "Writes."))
"""


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("TextMessageTermination('fornt')", "did you mean 'front'?"),
        ("SourceMatchTermination(['user', 'fornt'])", "did you mean 'front'?"),
        ("HandoffTermination('usre')", "did you mean 'user'?"),
        ("FunctionCallTermination('lok')", "did you mean 'look'?"),
        ("MaxMessageTermination(9) | FunctionCallTermination('transfer_to_usr')", "did you mean"),
    ],
)
async def test_names_in_python_s_conditions_are_looked_up(tmp_path, condition, said):
    (tmp_path / "made.py").write_text(MADE.replace("CONDITION", condition))
    team = "[store]\nfolder = 'store'\n[teams.t]\nfactory = 'made:{}'\n"
    [(name, good, text)] = await found(tmp_path, team.format("desk"))
    assert (name, good) == ("t", False)
    assert said in text
    [(name, good, text)] = await found(tmp_path, team.format("with_poet"))
    assert (name, good) == ("t", True)
    assert text.startswith("warning: its termination: ")


@pytest.mark.parametrize(
    "condition",
    [
        "TextMessageTermination('front') | TextMessageTermination() | TextMentionTermination('x')",
        "SourceMatchTermination(['user', 'front']) & HandoffTermination('user')",
        "FunctionCallTermination('look') | FunctionCallTermination('transfer_to_user')",
    ],
)
async def test_names_that_a_team_has_are_not_noted(tmp_path, condition):
    (tmp_path / "made.py").write_text(MADE.replace("CONDITION", condition))
    assert await found(tmp_path, "[teams.t]\nfactory = 'made:desk'\n") == []
