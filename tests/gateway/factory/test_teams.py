"""Teams from a config: their parts, sharing between threads, tool rules."""

import json
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from gateway.app.load import load_config
from gateway.conversation import LOCAL_OPERATOR
from gateway.factory.ownership import model_clients, own_parts
from gateway.factory.teams import TeamBuildError, TeamFactory
from teams.base import TaskResult, Team, ToolCall
from teams.messages import ModelClientStreamingChunkEvent
from teams.model_context import AutoChatCompletionContext

PARTS = """
from pydantic import BaseModel

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.core import FunctionCall
from teams.memory import ListMemory
from teams.models import CreateResult, RequestUsage
from teams.models.replay import ReplayChatCompletionClient
from teams.tools import BaseTool, FunctionTool, StaticWorkbench

CLIENTS = []
TOOLS = {"vision": False, "function_calling": True, "json_output": True, "family": "unknown",
         "structured_output": True}


class Client(ReplayChatCompletionClient):
    closed = False

    async def close(self):
        self.closed = True


def call(name, **arguments):
    import json
    return CreateResult(
        finish_reason="function_calls", cached=False, usage=RequestUsage(1, 1),
        content=[FunctionCall(id="1", name=name, arguments=json.dumps(arguments))],
    )


def scripted(*answers):
    def make(**settings):
        CLIENTS.append(Client(list(answers), TOOLS))
        return CLIENTS[-1]
    return make


plain = scripted("Hello there", "Bye now", "Still here", "And on")
handing = scripted(call("transfer_to_b"), "Got it. DONE")
searching = scripted(call("search", query="parley"), "Found it. DONE")
own = scripted(call("own", text="mine"), "Done")


class Answer(BaseModel):
    text: str


def search(query: str) -> str:
    "Search the web."
    return f"results for {query}"


ready = FunctionTool(search, name="ready")


class Own(BaseTool[Answer, Answer]):
    def __init__(self):
        super().__init__(Answer, Answer, "own", "A tool of its own.")

    async def run(self, args, cancellation_token):
        return args


shared = Own()


def bench():
    return StaticWorkbench([FunctionTool(search)])


def remember():
    return ListMemory()


def team(model_client, workdir, turns=1):
    return RoundRobinGroupChat(
        [AssistantAgent("a", model_client)], name=workdir.name, max_turns=turns
    )


async def team_async(model_client):
    return RoundRobinGroupChat([AssistantAgent("a", model_client)], max_turns=1)


def team_of_team(model_client):
    inner = RoundRobinGroupChat([AssistantAgent("a", model_client)], name="inner", max_turns=1)
    return RoundRobinGroupChat([inner, AssistantAgent("b", model_client)], max_turns=2)


ONE = RoundRobinGroupChat([AssistantAgent("only", plain())], max_turns=1)
AGENT = AssistantAgent("only", plain())


def same_team():
    return ONE


def same_agent():
    return RoundRobinGroupChat([AGENT], max_turns=1)


def no_team():
    return "a team"


def raising():
    raise LookupError("no such customer")
"""


@pytest.fixture
def parts(tmp_path, fresh_imports):
    """The config's folder, with a module `parts` that each test imports anew."""
    (tmp_path / "parts.py").write_text(PARTS)
    return tmp_path


def factory(folder: Path, text: str, **options) -> TeamFactory:
    path = folder / "config.toml"
    path.write_text(dedent(text))
    loaded = load_config(path)
    return TeamFactory(loaded.config, loaded.imports, start_folder=folder, **options)


def clients(folder: Path) -> list:
    assert Path(sys.modules["parts"].__file__ or "").parent == folder
    return sys.modules["parts"].CLIENTS


async def said(team: Team, task: str = "Hi") -> list[str]:
    result = await team.run(task=task)
    return [f"{each.source}: {each.to_text()}" for each in result.messages]


async def build(source: TeamFactory, folder: Path, name: str = "") -> Team:
    return (await source.build(name or source.default, workdir=folder)).team


# --- TOML ---


async def test_a_round_robin_from_toml_speaks_in_order_and_streams(parts):
    source = factory(
        parts,
        """
        [models.m]
        provider = "parts:plain"
        [teams.t]
        type = "round_robin"
        participants = ["b", "a"]
        termination = "MaxMessage(3)"
        agents.a = {}
        agents.b = {}
        """,
    )
    team = await build(source, parts)
    items = [item async for item in team.run_stream(task="Hi")]
    chunks = [item for item in items if isinstance(item, ModelClientStreamingChunkEvent)]
    assert [(chunk.source, chunk.content) for chunk in chunks][:2] == [
        ("b", "Hello "),
        ("b", "there"),
    ]
    result = items[-1]
    assert isinstance(result, TaskResult)
    assert [each.source for each in result.messages] == ["user", "b", "a"]
    assert result.stop_reason == "Maximum number of messages 3 reached, current message count: 3"


async def test_a_swarm_from_toml_hands_over(parts):
    source = factory(
        parts,
        """
        [models.m]
        provider = "parts:handing"
        [teams.t]
        type = "swarm"
        termination = "TextMention('DONE', sources=['b'])"
        agents.a = { handoffs = ["b"] }
        agents.b = { handoffs = ["a"] }
        """,
    )
    assert (await said(await build(source, parts)))[-2:] == [
        "a: Transferred to b, adopting the role of b immediately.",
        "b: Got it. DONE",
    ]


async def test_an_agent_goes_on_after_its_tool_calls(parts):
    source = factory(
        parts,
        """
        [models.m]
        provider = "parts:searching"
        [teams.t]
        type = "round_robin"
        max_turns = 1
        agents.a = { tools = [{ path = "parts:search" }] }
        """,
    )
    assert (await said(await build(source, parts)))[-1] == "a: Found it. DONE"


async def test_a_tool_class_is_made_anew_for_each_thread(parts):
    source = factory(
        parts,
        """
        [models.m]
        provider = "parts:own"
        [teams.t]
        type = "round_robin"
        max_turns = 1
        agents.a = { tools = ["parts:Own"], max_tool_iterations = 1 }
        """,
    )
    assert (await said(await build(source, parts)))[-1] == 'a: {"text": "mine"}'


async def test_every_setting_of_an_agent_arrives(parts):
    source = factory(
        parts,
        """
        [models.m]
        provider = "parts:plain"
        [teams.t]
        type = "swarm"
        description = "All of it"
        termination = "Handoff('user') & (MaxMessage(3) | Timeout(5))"
        max_turns = 4
        emit_team_events = true
        [teams.t.agents.a]
        description = "The first"
        system_message = "Be brief."
        tools = ["parts:search", { path = "parts:search", name = "find", description = "Find." },
                 "parts:ready"]
        handoffs = [{ target = "user", name = "ask", message = "m", description = "d" }, "b"]
        model_context = { type = "buffered", buffer_size = 4 }
        model_client_stream = false
        reflect_on_tool_use = true
        max_tool_iterations = 3
        tool_call_summary_format = "{tool_name}: {result}"
        memory = ["parts:remember"]
        metadata = { role = "x" }
        [teams.t.agents.b]
        system_message = ""
        workbench = ["parts:bench"]
        output_content_type = "parts:Answer"
        output_content_type_format = "{text}!"
        model_context = { type = "unbounded" }
        [teams.t.agents.c]
        type = "user_proxy"
        description = "You"
        """,
    )
    team = await build(source, parts)
    dumped = team.dump_component().model_dump()["config"]
    a, b, c = (each["config"] for each in dumped["participants"])
    assert dumped["description"] == "All of it"
    assert (dumped["max_turns"], dumped["emit_team_events"]) == (4, True)
    assert dumped["termination_condition"]["label"] == "AndTerminationCondition"
    assert (a["description"], a["system_message"]) == ("The first", "Be brief.")
    tools = [tool["config"]["name"] for tool in a["workbench"][0]["config"]["tools"]]
    assert tools == ["search", "find", "ready"]
    assert [handoff["name"] for handoff in a["handoffs"]] == ["ask", "transfer_to_b"]
    assert a["model_context"]["config"] == {"buffer_size": 4}
    assert (a["model_client_stream"], a["reflect_on_tool_use"]) == (False, True)
    assert (a["max_tool_iterations"], a["metadata"]) == (3, {"role": "x"})
    assert a["tool_call_summary_format"] == "{tool_name}: {result}"
    assert len(a["memory"]) == 1
    assert b.get("system_message") is None
    assert b["structured_message_factory"] is not None
    assert (c["name"], c["description"]) == ("c", "You")


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        (
            "tools = ['parts:shared']",
            "'parts:shared' is one tool for all threads; name its class, or a function",
        ),
        (
            "tools = [{ path = 'parts:Own', name = 'x' }]",
            "'parts:Own' is a tool with a name, description and schema of its own",
        ),
    ],
)
def test_a_tool_that_can_not_be_used_is_a_mistake_of_the_config(parts, setting, said):
    text = f"[teams.t]\ntype = 'round_robin'\nmax_turns = 1\nagents.a = {{ {setting} }}"
    with pytest.raises(Exception, match=said):
        factory(parts, text)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("workbench = ['parts:search']", "TypeError: "),
        ("workbench = ['parts:remember']", "'parts:remember' returned a ListMemory, expected a W"),
        ("memory = ['parts:team_async']", "TypeError: "),
        ("output_content_type = 'parts:search'", "'parts:search' is not a pydantic model"),
        ("tools = ['parts:search', 'parts:search']", "Tool names of agent 'a' must be unique"),
    ],
)
async def test_what_can_not_be_built_is_said_with_the_teams_name(parts, setting, said):
    source = factory(
        parts,
        f"""
        [models.m]
        provider = "parts:plain"
        [teams.t]
        type = "round_robin"
        max_turns = 1
        agents.a = {{ {setting} }}
        """,
    )
    with pytest.raises(TeamBuildError) as caught:
        await build(source, parts)
    assert str(caught.value).startswith(f"The team 't' can't be built: {said}")


# --- what threads share ---

PLAIN = """
[models.m]
provider = "parts:plain"
[teams.t]
type = "round_robin"
description = "Talks"
max_turns = 1
agents.a = {}
agents.you = { type = "user_proxy" }
"""


async def test_threads_share_the_model_client_and_nothing_else(parts):
    source = factory(parts, PLAIN)
    first, second = await build(source, parts), await build(source, parts)
    assert await said(first) == ["user: Hi", "a: Hello there"]
    assert await said(second, "Hey") == ["user: Hey", "a: Bye now"]
    [client] = clients(parts)[2:]
    contents = [message.content for message in client.create_calls[1]["messages"]]
    assert contents[1:] == ["Hey"]


async def test_model_clients_are_closed_at_the_end(parts):
    source = factory(parts, PLAIN)
    await build(source, parts)
    [client] = clients(parts)[2:]
    assert not client.closed
    await source.aclose()
    assert client.closed


def test_a_model_that_no_team_used_is_never_made(parts):
    source = factory(parts, PLAIN)
    assert source.info("t").models == {"a": "parts:plain", "you": ""}
    assert len(clients(parts)) == 2


# --- component files ---


async def component(parts: Path) -> dict:
    source = factory(
        parts,
        """
        [models.m]
        provider = "teams.models.replay:ReplayChatCompletionClient"
        model_info = { function_calling = true }
        options = { chat_completions = ["Hello"] }
        [teams.t]
        type = "round_robin"
        max_turns = 1
        agents.a = { tools = ["parts:search"] }
        """,
    )
    return (await build(source, parts)).dump_component().model_dump()


async def test_a_component_file_becomes_a_team_whose_tools_are_replaced_by_name(parts):
    (parts / "team.json").write_text(json.dumps(await component(parts)))
    source = factory(
        parts,
        """
        [teams.c]
        component = "team.json"
        description = "From a file"
        tool_overrides = { search = "parts:search" }
        """,
    )
    info = source.info("c")
    assert (info.description, info.participants) == ("From a file", ("a",))
    assert await said(await build(source, parts)) == ["user: Hi", "a: Hello"]
    await source.aclose()


async def test_source_code_in_a_component_file_is_never_run(parts):
    (parts / "team.json").write_text(json.dumps(await component(parts)))
    source = factory(parts, "[teams.c]\ncomponent = 'team.json'")
    with pytest.raises(TeamBuildError, match="search"):
        await build(source, parts)
    assert source.info("c").participants == ()


# --- Python ---


@pytest.mark.parametrize("name", ["team", "team_async"])
async def test_a_python_function_makes_a_team_for_each_thread(parts, name):
    source = factory(
        parts,
        f"""
        [models.m]
        provider = "parts:plain"
        [teams.f]
        factory = "parts:{name}"
        description = "From Python"
        """,
    )
    assert source.info("f").participants == ()
    first, second = await build(source, parts), await build(source, parts)
    assert first is not second
    assert await said(first) == ["user: Hi", "a: Hello there"]
    assert source.info("f").models == {"a": "Client"}


async def test_a_python_function_gets_the_threads_folder_and_its_options(parts):
    source = factory(
        parts,
        """
        [models.m]
        provider = "parts:plain"
        [teams.f]
        factory = "parts:team"
        options = { turns = 2 }
        """,
    )
    workdir = parts / "thread_7"
    team = (await source.build("f", workdir=workdir)).team
    assert team.name == "thread_7"
    assert workdir.is_dir()
    assert len((await team.run(task="Hi")).messages) == 3


async def test_agents_of_a_team_within_a_team_are_known(parts):
    text = "[models.m]\nprovider = 'parts:plain'\n[teams.f]\nfactory = 'parts:team_of_team'"
    source = factory(parts, text)
    await build(source, parts)
    assert source.info("f").participants == ("a", "b")


@pytest.mark.parametrize("name", ["same_team", "same_agent"])
async def test_a_python_function_that_shares_agents_between_threads_is_refused(parts, name):
    source = factory(parts, f"[teams.f]\nfactory = 'parts:{name}'")
    kept = await build(source, parts)
    with pytest.raises(TeamBuildError, match="each call must make new agents"):
        await build(source, parts)
    assert kept


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no_team", "TypeError: 'parts:no_team' returned a str, expected a team"),
        ("raising", "LookupError: no such customer"),
    ],
)
async def test_a_python_function_that_fails_is_named_with_its_error(parts, name, said):
    source = factory(parts, f"[teams.f]\nfactory = 'parts:{name}'")
    with pytest.raises(TeamBuildError) as caught:
        await build(source, parts)
    assert str(caught.value) == f"The team 'f' can't be built: {said}"
    assert caught.value.__cause__ is not None


# --- what is known about teams ---


def test_an_unknown_team_is_a_key_error(parts):
    with pytest.raises(KeyError):
        factory(parts, PLAIN).info("nope")


def test_a_definition_changes_with_what_would_be_built_and_only_then(parts, monkeypatch):
    (parts / "team.json").write_text("{}")
    monkeypatch.setenv("KEY", "sk-one")
    text = PLAIN + "\n[teams.c]\ncomponent = 'team.json'\n"

    def definitions(changed: str = text) -> tuple[str, str]:
        source = factory(parts, changed)
        return source.info("t").definition, source.info("c").definition

    before = definitions()
    assert definitions() == before
    assert definitions(text + "[policies.tools]\ndefault = 'deny'") == before
    assert definitions(text.replace("max_turns = 1", "max_turns = 2"))[0] != before[0]
    (parts / "team.json").write_text("{ }")
    assert definitions() == (before[0], definitions()[1])
    assert definitions()[1] != before[1]


@pytest.mark.parametrize(
    ("environment", "label"),
    [
        pytest.param({}, "demo", id="nothing"),
        pytest.param({"OPENAI_API_KEY": "sk-x"}, "gpt-4.1-mini", id="key"),
        pytest.param({"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, "gpt-4.1-mini", id="server"),
        pytest.param(
            {"OPENAI_API_KEY": "sk-x", "OPENAI_MODEL": "gpt-4o"}, "gpt-4o", id="their-model"
        ),
        pytest.param(
            {"OPENAI_API_KEY": "sk-x", "OPENAI_MODEL": "gpt-4o", "PARLEY_MODEL": "o3"},
            "o3",
            id="our-model",
        ),
    ],
)
def test_the_environment_chooses_the_model_of_the_demo_team(
    tmp_path, monkeypatch, environment, label
):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    info = factory(tmp_path, "").info("demo")
    assert len(info.participants) >= 3
    assert set(info.models.values()) == {label}


async def test_a_model_of_an_own_server_needs_no_description(parts, monkeypatch):
    source = factory(
        parts,
        """
        [models.m]
        model = "some-local-model"
        base_url = "http://127.0.0.1:1/v1"
        timeout = 5
        options = { temperature = 0.5 }
        [teams.t]
        type = "round_robin"
        max_turns = 1
        agents.a = { tools = ["parts:search"] }
        """,
    )
    await build(source, parts)
    assert source.info("t").models == {"a": "some-local-model"}
    await source.aclose()


async def test_a_missing_key_is_said_when_the_team_is_built(parts):
    source = factory(
        parts,
        "[models.m]\nmodel = 'gpt-4o'\n"
        "[teams.t]\ntype = 'round_robin'\nmax_turns = 1\nagents.a = {}",
    )
    with pytest.raises(TeamBuildError, match="OPENAI_API_KEY"):
        await build(source, parts)


# --- rules for tools ---


def called(name: str, *, handoff: bool = False) -> ToolCall:
    return ToolCall(key="k", id="1", name=name, arguments="{}", agent=("a",), handoff=handoff)


def test_tools_follow_their_own_policy_or_the_default_and_hand_offs_are_free(parts):
    tools = "{ tools = [{ path = 'parts:search' }, { path = 'parts:search', name = 'send' }] }"
    source = factory(
        parts,
        PLAIN.replace("agents.a = {}", f"agents.a = {tools}")
        + """
        [policies.tools]
        default = "deny"
        search = { action = "allow", read_only = true }
        send = { action = "ask", idempotent = true }
        """,
    )
    search, send = (
        source.rule("t", called("search"), LOCAL_OPERATOR),
        source.rule("t", called("send"), LOCAL_OPERATOR),
    )
    other = source.rule("t", called("other"), LOCAL_OPERATOR)
    handoff = source.rule("t", called("transfer_to_b", handoff=True), LOCAL_OPERATOR)
    assert (search.action, search.read_only, search.idempotent) == ("allow", True, False)
    assert (send.action, send.read_only, send.idempotent) == ("ask", False, True)
    assert (other.action, other.reason) == ("deny", "policies.tools.default")
    assert handoff.action == "allow"


def test_without_a_policy_every_tool_is_asked_for(parts):
    assert factory(parts, PLAIN).rule("t", called("search"), LOCAL_OPERATOR).action == "ask"


# --- every kind of part ---

OWN_PARTS = """
import asyncio
from teams import SelectorGroupChat
from teams.agents import ApprovalResponse
from teams.code_executor import CodeExecutor, CodeResult
from teams.memory import ListMemory
from teams.messages import StopMessage, TextMessage
from teams.model_context import UnboundedChatCompletionContext
from teams.models.replay import ReplayChatCompletionClient
from teams.tools import BaseTool

INFO = {"vision": False, "function_calling": True, "json_output": True, "family": "unknown",
        "structured_output": True}


def silent(**settings):
    return ReplayChatCompletionClient(["Hello", "Hello"], INFO)


class Note(TextMessage):
    pass


class Context(UnboundedChatCompletionContext):
    def __init__(self, size):
        super().__init__()
        self.size = size


def remember(name):
    return ListMemory(name)


class Executor(CodeExecutor):
    component_type = "code_executor"

    def __init__(self, prefix):
        self.prefix = prefix

    async def execute_code_blocks(self, code_blocks, cancellation_token):
        return CodeResult(exit_code=0, output=self.prefix + code_blocks[0].code)

    async def start(self): ...
    async def stop(self): ...
    async def restart(self): ...


def approve(request):
    return ApprovalResponse(approved="rm" not in request.code, reason="careful")


def answer(prompt):
    return "From a function"


def choose(messages):
    return "you" if messages[-1].source == "user" else "b"


def candidates(messages):
    return ["you", "b"]


def always(message):
    return True


def double(number: int) -> int:
    return 2 * number
"""


@pytest.fixture
def own(tmp_path, fresh_imports):
    (tmp_path / "own.py").write_text(OWN_PARTS)
    return tmp_path


async def built(folder: Path, text: str) -> Team:
    return await build(
        factory(folder, "[models.m]\nprovider = 'own:silent'\n" + dedent(text)), folder
    )


async def test_functions_of_a_selector_and_of_a_human_are_used(own):
    team = await built(
        own,
        """
        [teams.t]
        type = "selector"
        max_turns = 2
        selector_func = "own:choose"
        candidate_func = "own:candidates"
        custom_message_types = ["own:Note"]
        agents.you = { type = "user_proxy", input_func = "own:answer" }
        agents.b = {}
        """,
    )
    assert [line for line in await said(team) if line != "you: "] == [
        "user: Hi",
        "you: From a function",
        "b: Hello",
    ]


async def test_conditions_of_edges_may_be_functions(own):
    team = await built(
        own,
        """
        [teams.t]
        type = "graph"
        edges = [
            { source = "a", target = "b", condition_function = "own:always" },
            { source = "a", target = "c", condition = "nobody says this" },
        ]
        nodes.c.activation = "any"
        [teams.t.agents]
        a = {}
        b = {}
        c = {}
        """,
    )
    assert await said(team) == ["user: Hi", "a: Hello", "b: Hello"]


async def test_executors_contexts_and_memories_of_ones_own_get_their_options(own):
    team = await built(
        own,
        """
        [teams.t]
        type = "round_robin"
        max_turns = 1
        [teams.t.agents.a]
        model_context = { path = "own:Context", options = { size = 7 } }
        memory = [{ path = "own:remember", options = { name = "notes" } }]
        tools = [{ executor = { path = "own:Executor", options = { prefix = "> " } } }]
        """,
    )
    assert {"Context", "ListMemory", "Executor"} <= {
        type(part).__name__ for part in own_parts(team)
    }
    [context] = [part for part in own_parts(team) if type(part).__name__ == "Context"]
    assert getattr(context, "size", None) == 7


@pytest.mark.parametrize(
    ("code", "outcome"), [("ls", "> ls"), ("rm", "not approved. The reason: careful")]
)
async def test_code_is_run_where_and_if_the_table_says_so(own, code, outcome):
    team = await built(
        own,
        """
        [teams.t]
        type = "round_robin"
        max_turns = 1
        [teams.t.agents.terminal]
        type = "code_executor"
        executor = { path = "own:Executor", options = { prefix = "> " } }
        sources = ["user"]
        supported_languages = ["sh"]
        approval_func = "own:approve"
        """,
    )
    [_, answer] = await said(team, f"```sh\n{code}\n```")
    assert outcome in answer


async def test_code_is_run_in_the_threads_own_folder_with_the_functions_it_may_use(own):
    source = factory(
        own,
        """
        [models.m]
        provider = "own:silent"
        [teams.t]
        type = "round_robin"
        max_turns = 1
        [teams.t.agents.terminal]
        type = "code_executor"
        executor = { type = "local", timeout = 20, functions = ["own:double"] }
        """,
    )
    workdir = own / "thread"
    workdir.mkdir()
    team = (await source.build("t", workdir=workdir)).team
    code = "import os\nfrom functions import double\nprint(double(21), os.getcwd())"
    [_, answer] = await said(team, f"```python\n{code}\n```")
    assert answer.strip() == f"terminal: 42 {workdir}"


async def test_assistants_and_code_executors_summarise_unless_told_otherwise(own):
    team = await built(
        own,
        """
        [teams.t]
        type = "round_robin"
        max_turns = 1
        [teams.t.agents]
        a = {}
        b = { model_context = "auto" }
        c = { model_context = { type = "auto", token_limit = 500 } }
        d = { model_context = "unbounded" }
        e = { type = "code_executor", model = "m", executor = { type = "local" } }
        f = { type = "code_executor", executor = { type = "local" } }
        g = { model_context = { type = "buffered", buffer_size = 3 } }
        """,
    )
    agents = vars(team)["_participants"]
    contexts = {each.name: each.model_context for each in agents}
    kinds = {name: type(each).__name__.partition("Chat")[0] for name, each in contexts.items()}
    assert kinds == {
        "a": "Auto",
        "b": "Auto",
        "c": "Auto",
        "d": "Unbounded",
        "e": "Auto",
        "f": "Unbounded",
        "g": "Buffered",
    }
    assert contexts["a"].window == 10_000
    assert contexts["c"].window == 500


@pytest.mark.parametrize(
    ("setting", "kind", "window"),
    [
        ("", "Auto", 10_000),
        ('model_context = "auto"', "Auto", 10_000),
        ('model_context = { type = "auto", token_limit = 500 }', "Auto", 500),
        ('model_context = "unbounded"', "Unbounded", None),
        ('model_context = { type = "buffered", buffer_size = 3 }', "Buffered", None),
    ],
)
async def test_a_selector_summarises_unless_told_otherwise(own, setting, kind, window):
    team = await built(
        own,
        f"""
        [teams.t]
        type = "selector"
        max_turns = 1
        {setting}
        [teams.t.agents]
        a = {{}}
        b = {{}}
        """,
    )
    context = vars(team)["_model_context"]
    assert type(context).__name__.partition("Chat")[0] == kind
    assert getattr(context, "window", None) == window


async def test_what_takes_no_context_summarises_too(own):
    team = await built(
        own,
        """
        [teams.t]
        type = "magentic_one"
        [teams.t.agents]
        a = { type = "coder" }
        b = { type = "file_surfer" }
        c = { type = "web_surfer" }
        d = { type = "message_filter", agent = { type = "coder" }, per_source = [] }
        """,
    )
    a, b, c, d = vars(team)["_participants"]
    for each in (team, a, b, c, vars(d)["_wrapped_agent"]):
        context = getattr(each, "model_context", None)
        assert isinstance(context, AutoChatCompletionContext)
        assert context.window == 10_000


async def test_a_model_context_may_begin_with_messages(own):
    team = await built(
        own,
        """
        [teams.t]
        type = "round_robin"
        max_turns = 1
        [teams.t.agents.a]
        system_message = ""
        model_context = { type = "head_and_tail", head_size = 3, tail_size = 1, initial_messages = [
            "A question",
            { role = "assistant", content = "An answer" },
            { role = "system", content = "A rule" },
        ] }
        """,
    )
    await team.run(task="Hi")
    [client] = model_clients(team)
    sent = client.create_calls[0]["messages"]  # type: ignore[attr-defined]
    assert [(type(each).__name__, each.content) for each in sent] == [
        ("UserMessage", "A question"),
        ("AssistantMessage", "An answer"),
        ("SystemMessage", "A rule"),
        ("UserMessage", "Hi"),
    ]


NESTED = """
[models.m]
provider = "own:silent"
[teams.outer]
type = "selector"
max_turns = 1
participants = ["inner", "society", "filtered"]
agents.society = { type = "society_of_mind", team = "other" }
agents.filtered = { type = "message_filter", per_source = [], agent = { type = "user_proxy" } }
[teams.inner]
type = "round_robin"
max_turns = 1
agents.a = {}
agents.runner = { type = "code_executor", executor = { path = "own:Executor" } }
[teams.other]
type = "round_robin"
max_turns = 1
agents.b = { system_message = "First" }
"""


def test_the_agents_of_teams_inside_are_known_before_anything_is_built(own):
    models = factory(own, NESTED).info("outer").models
    label = "own:silent"
    assert models == {"a": label, "runner": "", "b": label, "society": label, "filtered": ""}


def test_a_change_in_a_team_inside_changes_the_definition_of_the_outer(own):
    before = {name: factory(own, NESTED).info(name).definition for name in ("outer", "inner")}
    changed = factory(own, NESTED.replace("First", "Second"))
    assert changed.info("outer").definition != before["outer"]
    assert changed.info("inner").definition == before["inner"]


async def test_a_team_from_python_may_take_part_in_one_of_toml(parts):
    source = factory(
        parts,
        """
        [models.m]
        provider = "parts:plain"
        [teams.t]
        type = "round_robin"
        participants = ["script", "a"]
        max_turns = 2
        agents.a = { system_message = "x" }
        [teams.script]
        factory = "parts:team"
        """,
    )
    team = (await source.build("t", workdir=parts / "inner")).team
    assert [line.split(": ")[0] for line in await said(team)] == ["user", "a", "a"]
