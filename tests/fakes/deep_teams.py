"""Teams with models at every depth, and the number of their requests.

Every answer counts for three tokens read and two written.
"""

from teams import MagenticOneGroupChat, RoundRobinGroupChat, SelectorGroupChat
from teams.agents import AssistantAgent, SocietyOfMindAgent
from teams.conditions import MaxMessageTermination
from teams.core import FunctionCall
from teams.models import ChatCompletionClient, CreateResult, ModelInfo, RequestUsage
from teams.models.replay import ReplayChatCompletionClient
from teams.tools import AgentTool, TeamTool

CAN_CALL = ModelInfo(
    vision=False, function_calling=True, json_output=True, family="unknown", structured_output=False
)


def said(content) -> CreateResult:
    finish = "stop" if isinstance(content, str) else "function_calls"
    return CreateResult(
        finish_reason=finish,
        content=content,
        usage=RequestUsage(prompt_tokens=3, completion_tokens=2),
        cached=False,
    )


def call(name: str) -> CreateResult:
    return said([FunctionCall(id="1", name=name, arguments='{"task": "go"}')])


def model(*answers) -> ReplayChatCompletionClient:
    return ReplayChatCompletionClient(
        [said(answer) if isinstance(answer, str) else answer for answer in answers],
        model_info=CAN_CALL,
    )


def alone(name: str, client: ChatCompletionClient, **more) -> AssistantAgent:
    return AssistantAgent(name, client, description=name, **more)


def round_robin(*agents, turns: int = 1) -> RoundRobinGroupChat:
    return RoundRobinGroupChat(list(agents), max_turns=turns)


def agent_tool():
    inner = model("inner")
    outer = model(call("helper"), "outer")
    tool = AgentTool(alone("helper", inner))
    return round_robin(alone("a", outer, tools=[tool], reflect_on_tool_use=True)), 3


def team_tool():
    inner = round_robin(alone("b", model("one")), alone("c", model("two")), turns=2)
    outer = model(call("helpers"), "outer")
    tool = TeamTool(inner, "helpers", "helpers")
    return round_robin(alone("a", outer, tools=[tool], reflect_on_tool_use=True)), 4


def nested():
    inner = round_robin(alone("b", model("one")), alone("c", model("two")), turns=2)
    return round_robin(alone("a", model("three")), inner, turns=2), 3


def society_of_mind():
    inner = round_robin(alone("b", model("one")), alone("c", model("two")), turns=2)
    return round_robin(SocietyOfMindAgent("mind", inner, model("in short"))), 3


def selector():
    team = SelectorGroupChat(
        [alone("a", model("one")), alone("b", model("two"))],
        model("b"),
        termination_condition=MaxMessageTermination(2),
    )
    return team, 2


def magentic_one():
    done = (
        '{"is_request_satisfied": {"reason": "", "answer": true},'
        ' "is_progress_being_made": {"reason": "", "answer": true},'
        ' "is_in_loop": {"reason": "", "answer": false},'
        ' "instruction_or_question": {"reason": "", "answer": ""},'
        ' "next_speaker": {"reason": "", "answer": "a"}}'
    )
    orchestrator = model("facts", "plan", done, "final")
    return MagenticOneGroupChat([alone("a", model("one"))], orchestrator), 4


DEEP = [agent_tool, team_tool, nested, society_of_mind, selector, magentic_one]
