"""`type = "conversable"` in config.toml: its tables, and the mistakes in them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gateway.app.load import load_config
from gateway.config.conversable import ConversableTeam
from gateway.config.problems import ConfigError
from gateway.config.root import Config

pytestmark = pytest.mark.usefixtures("fresh_imports")

PARTS = """
def search(query: str) -> str:
    "Search."
    return query
def is_over(message): ...
def begin(sender, recipient, context): ...
"""

MODELS = '[models.auto]\nprovider = "demo"\n'


def load(folder: Path, text: str) -> Config:
    (folder / "parts.py").write_text(PARTS)
    (folder / "config.toml").write_text(text + MODELS)
    return load_config(folder / "config.toml").config


def mistakes(folder: Path, text: str) -> dict[str, str]:
    """The messages by path."""
    with pytest.raises(ConfigError) as caught:
        load(folder, text)
    entries = (entry.partition("\n") for entry in re.split(r"\n  (?=\S)", str(caught.value))[1:])
    return {place.partition(", ")[2]: said.strip() for place, _, said in entries}


def team(folder: Path, text: str) -> ConversableTeam:
    found = load(folder, text).teams["t"]
    assert isinstance(found, ConversableTeam)
    return found


TWO = """
[teams.t]
type = "conversable"
starter = "joe"
recipient = "cathy"
max_turns = 2
agents.joe = {}
agents.cathy = {}
"""


def test_the_person_in_the_thread_begins_unless_another_agent_does(tmp_path):
    alone = team(tmp_path, '[teams.t]\ntype = "conversable"\nrecipient = "a"\nagents.a = {}\n')
    assert (alone.starter, alone.members) == ("user", ["a", "user"])
    assert team(tmp_path, TWO).members == ["joe", "cathy"]


def test_presets_have_defaults_of_their_own(tmp_path):
    agents = team(
        tmp_path,
        TWO + 'agents.u = { preset = "user_proxy" }\nagents.c = { preset = "conversable" }\n',
    ).agents
    found = {name: (agent.model, agent.human_input_mode) for name, agent in agents.items()}
    assert found["joe"] == ("", "NEVER")
    assert (found["u"], found["c"]) == ((None, "ALWAYS"), (None, "TERMINATE"))


def test_every_setting_is_taken(tmp_path):
    found = team(
        tmp_path,
        """
        [teams.t]
        type = "conversable"
        description = "All of it"
        [[teams.t.chats]]
        recipient = "a"
        chat_id = 1
        max_turns = 1
        summary_method = "reflection_with_llm"
        summary_args = { summary_prompt = "Sum up." }
        [[teams.t.chats]]
        sender = "a"
        recipient = "b"
        message = "parts:begin"
        carryover = ["More"]
        clear_history = false
        chat_id = 2
        prerequisites = [1]
        [teams.t.agents.a]
        model = "auto"
        system_message = "Be brief."
        description = "The first"
        human_input_mode = "TERMINATE"
        max_consecutive_auto_reply = 3
        default_auto_reply = "Go on."
        termination = "DONE"
        tools = ["parts:search"]
        executor = "b"
        context_variables = { customer = 7 }
        [[teams.t.agents.a.nested]]
        trigger = ["user"]
        chats = [{ recipient = "b", max_turns = 1 }, { recipient = "b", message = "And?" }]
        position = 0
        [teams.t.agents.b]
        preset = "user_proxy"
        termination = "parts:is_over"
        code_executor = { type = "local" }
        """,
    )
    assert [*found.pairs()] == [("user", "a"), ("a", "b"), ("a", "b"), ("a", "b")]
    assert found.agents["a"].nested[0].position == 0


@pytest.mark.parametrize(
    ("text", "path", "said"),
    [
        ("agents.a = {}\n", "teams.t.recipient", "is missing: name the agent that answers"),
        ('recipient = "b"\nagents.a = {}\n', "teams.t.recipient", "expected an agent of this team"),
        (
            'starter = "x"\nrecipient = "a"\nagents.a = {}\n',
            "teams.t.starter",
            "found 'x', expected an agent of this team",
        ),
        (
            'starter = "a"\nrecipient = "a"\nmax_turns = 1\nagents.a = {}\n',
            "teams.t.recipient",
            "expected another agent than the one that begins",
        ),
        (
            'recipient = "a"\nchats = [{ recipient = "a" }]\nagents.a = {}\n',
            "teams.t.recipient",
            "found chats beside it",
        ),
        (
            'max_turns = 2\nchats = [{ recipient = "a" }]\nagents.a = {}\n',
            "teams.t.max_turns",
            "each of them has its own",
        ),
        (
            'chats = [{ recipient = "b" }]\nagents.a = {}\n',
            "teams.t.chats[0].recipient",
            "expected an agent of this team",
        ),
        (
            'recipient = "a"\nsummary_method = "last"\nagents.a = {}\n',
            "teams.t.summary_method",
            "found 'last', expected",
        ),
        (
            'recipient = "a"\nsummary_method = "reflection_with_llm"\n'
            'agents.a = { preset = "conversable" }\n',
            "teams.t.summary_method",
            "expected a model for one of the two agents",
        ),
        (
            'recipient = "a"\nsummary_method = "parts:none"\nagents.a = {}\n',
            "teams.t.summary_method",
            "none",
        ),
        (
            'recipient = "a"\nagents.a = { termination = "parts:none" }\n',
            "teams.t.agents.a.termination",
            "none",
        ),
        (
            'recipient = "a"\nagents.a = { model = "autos" }\n',
            "teams.t.agents.a.model",
            "expected the name of a model",
        ),
        (
            'recipient = "a"\nagents.a = { executor = "usr" }\n',
            "teams.t.agents.a.executor",
            "did you mean 'user'",
        ),
        (
            'recipient = "a"\nagents.a = { tools = ["parts:find"] }\n',
            "teams.t.agents.a.tools[0]",
            "find",
        ),
        (
            'recipient = "a"\nagents.a = { preset = "user_proxy", tools = ["parts:search"] }\n',
            "teams.t.agents.a.tools",
            "expected a model that calls them",
        ),
        (
            'recipient = "a"\nagents.a = { code_executor = { path = "parts:none" } }\n',
            "teams.t.agents.a.code_executor.path",
            "none",
        ),
        (
            'recipient = "a"\nagents."a b" = {}\nagents.a = {}\n',
            "teams.t.agents.'a b'",
            "expected a name of letters",
        ),
        (
            'recipient = "a"\nagents.a = { nested = [{ trigger = ["x"], chats = '
            '[{ recipient = "user" }] }] }\n',
            "teams.t.agents.a.nested[0].trigger[0]",
            "expected an agent of this team",
        ),
        (
            'recipient = "a"\nagents.a = { nested = [{ trigger = ["user"], chats = '
            '[{ recipient = "user" }, { recipient = "user" }] }] }\n',
            "teams.t.agents.a.nested[0].chats[1].message",
            "only the first of nested chats",
        ),
        (
            'chats = [{ recipient = "a", chat_id = 1, prerequisites = [2] }]\nagents.a = {}\n',
            "teams.t.chats[0].prerequisites[0]",
            "found 2, expected the chat_id of an earlier chat",
        ),
        (
            'chats = [{ recipient = "a", chat_id = 1 }, { recipient = "a", chat_id = 1 }]\n'
            "agents.a = {}\n",
            "teams.t.chats[1].chat_id",
            "found 1 again",
        ),
        (
            'chats = [{ recipient = "a", chat_id = 1 }, { recipient = "a" }]\nagents.a = {}\n',
            "teams.t.chats[1].chat_id",
            "is missing: other chats have one",
        ),
    ],
)
def test_a_mistake_is_reported_at_its_place(tmp_path, text, path, said):
    found = mistakes(tmp_path, f'[teams.t]\ntype = "conversable"\n{text}')
    assert list(found) == [path]
    assert said in found[path]


ENDLESS = TWO.replace("max_turns = 2\n", "")


def test_a_chat_without_an_end_is_refused(tmp_path):
    found = mistakes(tmp_path, ENDLESS)
    assert list(found) == ["teams.t.max_turns"]
    assert "one of 'joe' and 'cathy' a termination" in found["teams.t.max_turns"]


@pytest.mark.parametrize(
    "end",
    [
        'termination = "BYE"',
        "max_consecutive_auto_reply = 3",
        'human_input_mode = "ALWAYS"',
    ],
)
def test_either_agent_can_be_the_end_of_a_chat(tmp_path, end):
    for name in ("joe", "cathy"):
        load(tmp_path, ENDLESS.replace(f"{name} = {{}}", f"{name} = {{ {end} }}"))


def test_a_nested_chat_needs_an_end_as_well(tmp_path):
    nested = '{ nested = [{ trigger = ["joe"], chats = [{ recipient = "critic" }] }] }'
    text = TWO.replace("cathy = {}", f"cathy = {nested}\nagents.critic = {{}}")
    assert list(mistakes(tmp_path, text)) == ["teams.t.agents.cathy.nested[0].chats[0].max_turns"]


def test_a_rule_for_a_tool_of_such_a_team_is_known(tmp_path):
    rule = '[policies.tools.{}]\naction = "ask"\n'
    text = TWO.replace("cathy = {}", 'cathy = { tools = ["parts:search"] }')
    assert "policies.tools.serch" in mistakes(tmp_path, text + rule.format("serch"))
    load(tmp_path, text + rule.format("search"))


def test_such_a_team_is_no_tool_of_an_agent(tmp_path):
    text = TWO + '[teams.o]\ntype = "round_robin"\nmax_turns = 1\n'
    text += 'agents.x = { tools = [{ team = "t", description = "Jokes" }] }\n'
    found = mistakes(tmp_path, 'default_team = "o"\n' + text)
    assert list(found) == ["teams.o.agents.x.tools[0]"]
