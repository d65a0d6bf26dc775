"""A project in AutoGen's style: programs with `main()` and its result."""

from __future__ import annotations

SCRIPTED = '''
"""Models that answer by script."""
from autogen_core import FunctionCall
from autogen_core.models import CreateResult, ModelFamily, ModelInfo, RequestUsage
from autogen_ext.models.replay import ReplayChatCompletionClient

INFO = ModelInfo(
    vision=False,
    function_calling=True,
    json_output=True,
    family=ModelFamily.UNKNOWN,
    structured_output=True,
)


def model(*answers):
    return ReplayChatCompletionClient(list(answers), model_info=INFO)


def call(name, arguments):
    return CreateResult(
        finish_reason="function_calls",
        content=[FunctionCall(id="c1", name=name, arguments=arguments)],
        usage=RequestUsage(prompt_tokens=1, completion_tokens=1),
        cached=False,
    )
'''

IMPORTS: dict[str, tuple[str, object]] = {
    "plain_from": (
        """
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.teams import RoundRobinGroupChat
from shop.scripted import model

async def main():
    team = RoundRobinGroupChat([AssistantAgent("a", model("Hi."))], max_turns=1)
    return (await team.run(task="Go")).messages[-1].content
""",
        "Hi.",
    ),
    "renamed_from": (
        """
from autogen_agentchat.agents import AssistantAgent as Agent
from autogen_agentchat.teams import RoundRobinGroupChat as Rounds
from shop.scripted import model

async def main():
    result = await Rounds([Agent("a", model("Hi."))], max_turns=1).run(task="Go")
    return result.messages[-1].source
""",
        "a",
    ),
    "module_alias": (
        """
import autogen_agentchat.agents as agents, asyncio
import autogen_agentchat.teams as groups
from shop.scripted import model

async def main():
    await asyncio.sleep(0)
    team = groups.RoundRobinGroupChat([agents.AssistantAgent("a", model("Hi."))], max_turns=1)
    return len((await team.run(task="Go")).messages)
""",
        2,
    ),
    "dotted": (
        """
import autogen_agentchat.agents
import autogen_agentchat.teams
import autogen_core
from shop.scripted import model

async def main():
    agent = autogen_agentchat.agents.AssistantAgent("a", model("Hi."))
    team = autogen_agentchat.teams.RoundRobinGroupChat([agent], max_turns=1)
    token = autogen_core.CancellationToken()
    said = autogen_core.models.UserMessage(content="x", source="user")
    result = await team.run(task=said.content, cancellation_token=token)
    return len(result.messages)
""",
        2,
    ),
    "package_from": (
        """
from autogen_agentchat import agents, teams, conditions as ends
from shop.scripted import model

async def main():
    team = teams.RoundRobinGroupChat(
        [agents.AssistantAgent("a", model("OK"))],
        termination_condition=ends.TextMentionTermination("OK"),
    )
    return (await team.run(task="Go")).stop_reason is not None
""",
        True,
    ),
    "package_alias": (
        """
import autogen_agentchat as chat
import autogen_agentchat.teams as t
import autogen_core as core
from autogen_agentchat import messages as m

async def main():
    token = core.CancellationToken()
    token.cancel()
    text = m.TextMessage(content="a", source="b").content
    return token.is_cancelled(), text, t.Swarm is chat.teams.Swarm
""",
        (True, "a", True),
    ),
    "several_lines": (
        """
from autogen_agentchat.conditions import (
    MaxMessageTermination,  # a limit
    # the usual word
    TextMentionTermination,
)

async def main():
    return type(MaxMessageTermination(3) | TextMentionTermination("OK")).__name__
""",
        "OrTerminationCondition",
    ),
    "two_homes": (
        """
from autogen_ext.models.openai.config import ModelInfo, OpenAIClientConfiguration  # both

async def main():
    return ModelInfo.__name__, OpenAIClientConfiguration.__name__
""",
        ("ModelInfo", "OpenAIClientConfiguration"),
    ),
    "private_modules": (
        """
from autogen_agentchat.base._task import TaskResult
from autogen_agentchat.teams._group_chat._round_robin_group_chat import RoundRobinGroupChat

async def main():
    return TaskResult.__name__, RoundRobinGroupChat.__name__
""",
        ("TaskResult", "RoundRobinGroupChat"),
    ),
    "inside_functions": (
        """
async def main():
    from autogen_core import CancellationToken; from autogen_core.memory import ListMemory
    return ListMemory().name is not None, CancellationToken().is_cancelled()
""",
        (True, False),
    ),
    "type_checking": (
        """
from __future__ import annotations
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from autogen_agentchat.base import TaskResult
    import autogen_core.models

def last(result: TaskResult, of: "autogen_core.models.UserMessage | None" = None) -> str:
    return result.messages[-1].content

async def main():
    from autogen_agentchat.base import TaskResult
    from autogen_agentchat.messages import TextMessage
    return last(TaskResult(messages=[TextMessage(content="end", source="a")]))
""",
        "end",
    ),
    "try_import": (
        """
try:
    from autogen_agentchat.ui import Console
except ImportError:
    Console = None

async def main():
    return Console is not None
""",
        True,
    ),
    "star": (
        """
from autogen_agentchat.conditions import *

async def main():
    return MaxMessageTermination(1).terminated
""",
        False,
    ),
    "logger_names": (
        """
import logging
from autogen_agentchat import EVENT_LOGGER_NAME, TRACE_LOGGER_NAME

async def main():
    log = logging.getLogger("autogen_agentchat.events")
    return log.name == EVENT_LOGGER_NAME, logging.getLogger('autogen_core').name
""",
        (True, "teams"),
    ),
    "import_module": (
        """
from importlib import import_module

async def main():
    return import_module("autogen_agentchat.teams").Swarm.__name__
""",
        "Swarm",
    ),
    "component_in_python": (
        """
from autogen_core import ComponentLoader
from autogen_agentchat.base import TerminationCondition

FORM = {
    "provider": "autogen_agentchat.conditions.MaxMessageTermination",
    "config": {"max_messages": 2},
}

async def main():
    loaded = ComponentLoader.load_component(FORM, TerminationCondition)
    return loaded.dump_component().provider == FORM["provider"]
""",
        True,
    ),
}

PROGRAMS: dict[str, tuple[str, object]] = IMPORTS | {
    "tool_call": (
        '''
from autogen_agentchat.agents import AssistantAgent
from autogen_core.tools import FunctionTool
from shop.scripted import call, model

async def price(item: str) -> str:
    """Price of an item."""
    return f"{item}: 3"

async def main():
    tool = FunctionTool(price, description="Price of an item.")
    agent = AssistantAgent("clerk", model(call("price", '{"item": "tea"}')), tools=[tool])
    return (await agent.run(task="Tea?")).messages[-1].content
''',
        "tea: 3",
    ),
    "stream": (
        """
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import TaskResult
from autogen_agentchat.messages import TextMessage
from shop.scripted import model

async def main():
    seen = []
    async for item in AssistantAgent("a", model("Hi.")).run_stream(task="Go"):
        match item:
            case TextMessage(content=text):
                seen.append(text)
            case TaskResult():
                seen.append("end")
    return seen
""",
        ["Go", "Hi.", "end"],
    ),
    "selector": (
        """
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.teams import SelectorGroupChat
from shop.scripted import model

async def main():
    team = SelectorGroupChat(
        [AssistantAgent("a", model("A.")), AssistantAgent("b", model("B."))],
        model_client=model("b"),
        max_turns=1,
    )
    return (await team.run(task="Go")).messages[-1].source
""",
        "b",
    ),
    "swarm": (
        """
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import HandoffTermination, MaxMessageTermination
from autogen_agentchat.teams import Swarm
from shop.scripted import call, model

async def main():
    desk = AssistantAgent("desk", model(call("transfer_to_expert", "{}")), handoffs=["expert"])
    expert = AssistantAgent("expert", model("Done."))
    ends = HandoffTermination("user") | MaxMessageTermination(3)
    team = Swarm([desk, expert], termination_condition=ends)
    return (await team.run(task="Help")).messages[-1].content
""",
        "Done.",
    ),
    "graph": (
        """
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.teams import DiGraphBuilder, GraphFlow
from shop.scripted import model

async def main():
    a, b = (AssistantAgent(name, model(name.upper())) for name in "ab")
    graph = DiGraphBuilder().add_node(a).add_node(b).add_edge(a, b)
    flow = GraphFlow(graph.get_participants(), graph=graph.build())
    return [m.content for m in (await flow.run(task="Go")).messages if m.source in "ab"]
""",
        ["A", "B"],
    ),
    "own_agent": (
        """
from typing import Sequence
from autogen_agentchat.agents import BaseChatAgent
from autogen_agentchat.base import Response
from autogen_agentchat.messages import BaseChatMessage, TextMessage
from autogen_core import CancellationToken

class Counter(BaseChatAgent):
    def __init__(self, name):
        super().__init__(name, "Counts.")

    @property
    def produced_message_types(self):
        return (TextMessage,)

    async def on_messages(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> Response:
        return Response(chat_message=TextMessage(content=str(len(messages)), source=self.name))

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        pass

async def main():
    return (await Counter("c").run(task="one")).messages[-1].content
""",
        "1",
    ),
    "own_condition": (
        """
from autogen_agentchat.base import TerminatedException, TerminationCondition
from autogen_agentchat.messages import StopMessage

class Never(TerminationCondition):
    terminated = False

    async def __call__(self, messages):
        return None

    async def reset(self):
        pass

async def main():
    return await Never()([]), StopMessage(content="x", source="y").content
""",
        (None, "x"),
    ),
    "memory": (
        """
from autogen_agentchat.agents import AssistantAgent
from autogen_core.memory import ListMemory, MemoryContent, MemoryMimeType
from shop.scripted import model

async def main():
    memory = ListMemory()
    await memory.add(MemoryContent(content="Tea.", mime_type=MemoryMimeType.TEXT))
    agent = AssistantAgent("a", model("Yes."), memory=[memory])
    result = await agent.run(task="Tea?")
    return [type(message).__name__ for message in result.messages]
""",
        ["TextMessage", "MemoryQueryEvent", "TextMessage"],
    ),
    "context": (
        """
from autogen_core.model_context import BufferedChatCompletionContext
from autogen_core.models import UserMessage

async def main():
    context = BufferedChatCompletionContext(buffer_size=1)
    await context.add_message(UserMessage(content="a", source="u"))
    await context.add_message(UserMessage(content="b", source="u"))
    return [m.content for m in await context.get_messages()]
""",
        ["b"],
    ),
    "state": (
        """
import json
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.teams import RoundRobinGroupChat
from shop.scripted import model

def team():
    return RoundRobinGroupChat([AssistantAgent("a", model("1", "2"))], max_turns=1)

async def main():
    first, second = team(), team()
    await first.run(task="Go")
    await second.load_state(json.loads(json.dumps(await first.save_state())))
    return (await second.run(task="On")).messages[-1].content
""",
        "1",
    ),
    "nested": (
        """
from autogen_agentchat.agents import AssistantAgent, SocietyOfMindAgent
from autogen_agentchat.teams import RoundRobinGroupChat
from shop.scripted import model

async def main():
    inner = RoundRobinGroupChat([AssistantAgent("a", model("A."))], max_turns=1)
    mind = SocietyOfMindAgent("mind", team=inner, model_client=model("Summary."))
    return (await RoundRobinGroupChat([mind], max_turns=1).run(task="Go")).messages[-1].content
""",
        "Summary.",
    ),
    "agent_tool": (
        """
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.tools import AgentTool
from shop.scripted import call, model

async def main():
    poet = AgentTool(AssistantAgent("poet", model("Roses."), description="Writes."))
    boss = AssistantAgent("boss", model(call("poet", '{"task": "Write"}')), tools=[poet])
    return "Roses." in (await boss.run(task="Go")).messages[-1].content
""",
        True,
    ),
    "cache": (
        """
from autogen_core import InMemoryStore
from autogen_core.models import UserMessage
from autogen_ext.models.cache import CHAT_CACHE_VALUE_TYPE, ChatCompletionCache
from shop.scripted import model

async def main():
    cached = ChatCompletionCache(model("once"), InMemoryStore())
    asked = [UserMessage(content="?", source="u")]
    return [(await cached.create(asked)).content for _ in range(2)]
""",
        ["once", "once"],
    ),
    "local_code": (
        """
from autogen_core.code_executor import CodeBlock
from autogen_ext.code_executors.local import LocalCommandLineCodeExecutor

async def main():
    return CodeBlock(code="1", language="python").language, LocalCommandLineCodeExecutor.__name__
""",
        ("python", "LocalCommandLineCodeExecutor"),
    ),
    "structured": (
        """
from pydantic import BaseModel
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import StructuredMessage
from shop.scripted import model

class Trip(BaseModel):
    city: str

async def main():
    agent = AssistantAgent("a", model('{"city": "Oslo"}'), output_content_type=Trip)
    message = (await agent.run(task="Where?")).messages[-1]
    return isinstance(message, StructuredMessage) and message.content.city
""",
        "Oslo",
    ),
    "human": (
        """
from autogen_agentchat.agents import UserProxyAgent
from autogen_agentchat.teams import RoundRobinGroupChat

async def main():
    human = UserProxyAgent("human", input_func=lambda prompt: "Fine.")
    return (await RoundRobinGroupChat([human], max_turns=1).run(task="OK?")).messages[-1].content
""",
        "Fine.",
    ),
    "console": (
        """
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.ui import Console
from shop.scripted import model

async def main():
    result = await Console(AssistantAgent("a", model("Hi.")).run_stream(task="Go"))
    return result.messages[-1].content
""",
        "Hi.",
    ),
}
