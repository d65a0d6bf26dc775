"""The ends of answers, as each kind of agent tells them."""

from collections.abc import Callable
from typing import Any

import pytest

from teams import MagenticOneGroupChat, RoundRobinGroupChat
from teams.agents import AssistantAgent, CodeExecutorAgent, SocietyOfMindAgent
from teams.agents.azure import AzureAIAgent
from teams.agents.file_surfer import FileSurfer
from teams.agents.magentic_one import MagenticOneCoderAgent
from teams.agents.openai import OpenAIAgent
from teams.base import TaskResult
from teams.code_executors.local import LocalCommandLineCodeExecutor
from teams.conversable import ChatCompletionModel, ConversableAgent, ConversableChat
from teams.messages import CodeGenerationEvent
from teams.models.openai import OpenAIChatCompletionClient
from tests.fakes.agents import Talker
from tests.fakes.azure_agents import FakeAzureAgents
from tests.fakes.cut_answers import HALF, cut
from tests.fakes.openai_script import Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.scripted_model import ScriptedModel
from tests.teams._group_chats.test_magentic_one import Orchestrator, helper, ledger
from tests.teams.agents.azure.test_agent import make, project
from tests.teams.agents.openai.test_agent import asking


def ends(result: TaskResult) -> list[tuple[str, str]]:
    return [
        (item.to_text(), item.metadata["finish_reason"])
        for item in result.messages
        if "finish_reason" in item.metadata
    ]


def conversable(client: Any) -> ConversableAgent:
    entry = {"model": "m", "model_client_cls": "ChatCompletionModel"}
    al = ConversableAgent("al", llm_config={"config_list": [entry]}, human_input_mode="NEVER")
    al.register_model_client(ChatCompletionModel, client=client)
    return al


def society(model: Any) -> SocietyOfMindAgent:
    return SocietyOfMindAgent("mind", RoundRobinGroupChat([Talker("a", "x")], max_turns=1), model)


def chat(model: Any) -> ConversableChat:
    starter = ConversableAgent("bo", human_input_mode="NEVER", default_auto_reply="")
    return ConversableChat(starter, conversable(model), max_turns=1)


MAKERS: dict[str, Callable[[Any], Any]] = {
    "assistant": lambda model: AssistantAgent("a", model),
    "streaming": lambda model: AssistantAgent("a", model, model_client_stream=True),
    "society": society,
    "coder": lambda model: MagenticOneCoderAgent("a", model),
    "surfer": lambda model: FileSurfer("a", model),
    "executor": lambda model: CodeExecutorAgent(
        "a", LocalCommandLineCodeExecutor(), model_client=model
    ),
    "conversable": lambda model: RoundRobinGroupChat([conversable(model)], max_turns=1),
    "chat": chat,
}


@pytest.mark.parametrize("make_agent", MAKERS.values(), ids=MAKERS)
@pytest.mark.filterwarnings("ignore:Using LocalCommandLineCodeExecutor")
async def test_an_answer_that_was_cut_says_so(make_agent: Callable[[Any], Any]) -> None:
    result = await make_agent(ScriptedModel(cut(), "Whole.")).run(task="Tell.")
    assert ends(result) == [(HALF, "length")]


@pytest.mark.parametrize("make_agent", MAKERS.values(), ids=MAKERS)
@pytest.mark.filterwarnings("ignore:Using LocalCommandLineCodeExecutor")
async def test_one_that_is_whole_says_nothing(make_agent: Callable[[Any], Any]) -> None:
    assert ends(await make_agent(ScriptedModel("Whole.")).run(task="Tell.")) == []


@pytest.mark.filterwarnings("ignore:Using LocalCommandLineCodeExecutor")
async def test_code_that_was_cut_says_so() -> None:
    model = ScriptedModel(cut("```python\nprint(1)\n```\nand"), "Done.")
    agent = CodeExecutorAgent("a", LocalCommandLineCodeExecutor(), model_client=model)
    result = await agent.run(task="Print.")
    (written,) = [each for each in result.messages if isinstance(each, CodeGenerationEvent)]
    assert written.metadata == {"finish_reason": "length"}
    assert len(ends(result)) == 1


async def test_the_last_answer_of_an_orchestrator_says_so() -> None:
    model = Orchestrator(ledger(), ledger(done=True), answer=cut())
    result = await MagenticOneGroupChat([helper("I found 42.")], model).run(task="What is it?")
    assert ends(result) == [(HALF, "length")]


async def test_a_cut_text_of_a_conversable_agent_is_sent_as_a_text_alone() -> None:
    model = ScriptedModel(cut(), "Whole.")
    team = RoundRobinGroupChat([conversable(model)], max_turns=1)
    await team.run(task="Tell.")
    await team.run(task="Again.")
    assert "finish_reason" not in str(model.messages())
    assert HALF in model.texts()


@pytest.mark.parametrize(
    ("reply", "end"),
    [
        (Reply(text="Once", finish_reason="length"), ("Once", "length")),
        (Reply(text="Once", finish_reason="content_filter"), ("Once", "content_filter")),
        (Reply(text="Once", refusal="No more."), ("Once", "refusal")),
        (Reply(refusal="I won't."), ("I won't.", "refusal")),
    ],
    ids=["length", "filter", "refusal after text", "refusal"],
)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_a_refusal_is_no_filter(
    openai_server: FakeOpenAI, reply: Reply, end: tuple[str, str], stream: bool
) -> None:
    openai_server.script(reply)
    model = OpenAIChatCompletionClient(model="gpt-4o", api_key="sk-x", base_url=openai_server.url)
    agent = AssistantAgent("ann", model, model_client_stream=stream)
    assert ends(await agent.run(task="Tell.")) == [end]
    await model.close()


@pytest.mark.parametrize(
    ("reason", "end"), [("max_output_tokens", "length"), ("content_filter", "content_filter")]
)
async def test_an_agent_of_openai_says_so(openai_server: FakeOpenAI, reason: str, end: str) -> None:
    openai_server.script(Reply(text="Once", finish_reason=reason))
    async with asking(openai_server) as client:
        agent = OpenAIAgent("ann", "Answers.", client, "gpt-4o", "Be kind.")
        assert ends(await agent.run(task="Tell.")) == [("Once", end)]


@pytest.mark.parametrize(
    ("reason", "end"), [("max_completion_tokens", "length"), ("content_filter", "content_filter")]
)
async def test_an_agent_of_azure_says_so(reason: str, end: str) -> None:
    cut_off = {"text": "Once", "status": "incomplete", "incomplete_details": {"reason": reason}}
    service = FakeAzureAgents(cut_off)
    async with service, project(service) as client:
        agent: AzureAIAgent = make(client)
        assert ends(await agent.run(task="Tell.")) == [("Once", end)]
