"""The page on migration: programs of version 0.2, written for today."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from teams import RoundRobinGroupChat, SelectorGroupChat
from teams.agents import (
    ApprovalResponse,
    AssistantAgent,
    BaseChatAgent,
    CodeExecutorAgent,
    SocietyOfMindAgent,
    UserProxyAgent,
)
from teams.base import Response, TaskResult
from teams.code_executors.local import LocalCommandLineCodeExecutor
from teams.conditions import MaxMessageTermination, TextMentionTermination
from teams.core import CancellationToken
from teams.messages import BaseAgentEvent, BaseChatMessage, TextMessage
from teams.model_context import BufferedChatCompletionContext
from tests.fakes.openai_script import Call, Reply
from tests.guide.harness import calls_tools, conversations, goes_on_alike, watch


def say(*texts: str) -> list[Reply]:
    return [Reply(text=text) for text in texts]


def spoken(*names: str) -> list[tuple[str, ...]]:
    return [("TextMessage", name) for name in names]


# A reply function becomes an agent of one's own.


class Echo(BaseChatAgent):
    """Says what it heard last."""

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        return (TextMessage,)

    async def on_messages(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> Response:
        text = messages[-1].to_text() if messages else "..."
        return Response(chat_message=TextMessage(content=text.upper(), source=self.name))

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        pass


async def test_a_reply_function_becomes_an_agent():
    run = await watch(Echo("echo", "Echoes.").run_stream(task="Hello."))
    assert run.texts == ["Hello.", "HELLO."]


# Tools need no second agent.


def weather(city: str) -> str:
    """The weather in a city."""
    return f"It is sunny in {city}."


def tool_chatbot(model) -> AssistantAgent:
    return AssistantAgent(
        "helper", model, tools=[weather], reflect_on_tool_use=True, system_message="You help."
    )


async def test_one_agent_asks_for_tools_and_runs_them(openai_server, model):
    openai_server.script(
        Reply(calls=[Call(name="weather", arguments={"city": "Ulm"})]), *say("Sunny.")
    )
    agent = tool_chatbot(model)

    run = await watch(agent.run_stream(task="And in Ulm?"))

    assert run.trace == [("TextMessage", "user"), *calls_tools("helper", "TextMessage")]
    assert [request.tools for request in openai_server.requests] == [["weather"], []]
    again = await goes_on_alike(agent, tool_chatbot, openai_server, *say("Bye."), task="Thanks.")
    assert again.trace == spoken("user", "helper")


async def test_tools_work_in_a_group_chat_without_a_proxy(openai_server, model):
    team = RoundRobinGroupChat(
        [tool_chatbot(model), AssistantAgent("critic", model, system_message="Say APPROVE.")],
        termination_condition=TextMentionTermination("APPROVE"),
    )
    openai_server.script(
        Reply(calls=[Call(name="weather", arguments={"city": "Ulm"})]), *say("Sunny.", "APPROVE")
    )
    run = await watch(team.run_stream(task="And in Ulm?"))
    assert run.trace == [
        ("TextMessage", "user"),
        *calls_tools("helper", "TextMessage"),
        ("TextMessage", "critic"),
    ]
    assert conversations(openai_server)[-1] == [
        "system: Say APPROVE.",
        "user[user]: And in Ulm?",
        "user[helper]: Sunny.",
    ]


# Code is written by one agent and executed by another one.

CODE = "This counts:\n\n```python\nprint(sum(range(5)))\n```\n"


def coder_and_terminal(model) -> RoundRobinGroupChat:
    return RoundRobinGroupChat(
        [
            AssistantAgent("coder", model, system_message="Write code; TERMINATE when done."),
            CodeExecutorAgent("terminal", LocalCommandLineCodeExecutor()),
        ],
        termination_condition=TextMentionTermination("TERMINATE") | MaxMessageTermination(10),
    )


async def test_one_agent_writes_code_and_another_executes_it(openai_server, model):
    openai_server.script(*say(CODE, "It is ten. TERMINATE"))
    team = coder_and_terminal(model)

    run = await watch(team.run_stream(task="Sum up to four."))

    assert run.trace == spoken("user", "coder", "terminal", "coder")
    assert run.texts[2].strip() == "10"
    assert conversations(openai_server)[-1] == [
        "system: Write code; TERMINATE when done.",
        "user[user]: Sum up to four.",
        f"assistant: {CODE}",
        f"user[terminal]: {run.texts[2]}",
    ]
    again = await goes_on_alike(
        team, coder_and_terminal, openai_server, *say("TERMINATE"), task="Thanks."
    )
    assert again.trace == spoken("user", "terminal", "coder")


def coder_with_a_terminal(model) -> CodeExecutorAgent:
    return CodeExecutorAgent(
        "coder",
        LocalCommandLineCodeExecutor(),
        model_client=model,
        approval_func=lambda request: ApprovalResponse(
            approved="sum" in request.code, reason="Sums only."
        ),
        system_message="You write and run code.",
    )


async def test_one_agent_writes_and_executes_what_somebody_approves(openai_server, model):
    openai_server.script(*say(CODE, "It is ten."))
    agent = coder_with_a_terminal(model)

    run = await watch(agent.run_stream(task="Sum up to four."))

    assert run.trace == [
        ("TextMessage", "user"),
        ("CodeGenerationEvent", "coder"),
        ("CodeExecutionEvent", "coder"),
        ("TextMessage", "coder"),
    ]
    assert run.items[2].result.exit_code == 0
    assert run.answer == "It is ten."
    refused = await goes_on_alike(
        agent,
        coder_with_a_terminal,
        openai_server,
        *say("```python\nprint(1)\n```", "I may not."),
        task="Print one.",
    )
    assert refused.items[2].result.exit_code == 1
    assert "Sums only." in refused.items[2].result.output


# A group chat is one object, and is resumed by running it again.


def group_chat(model) -> RoundRobinGroupChat:
    return RoundRobinGroupChat(
        [
            AssistantAgent("writer", model, description="Writes.", system_message="You write."),
            AssistantAgent("critic", model, description="Criticises.", system_message="Criticise."),
        ],
        termination_condition=TextMentionTermination("APPROVE") | MaxMessageTermination(10),
    )


async def test_a_group_chat_is_resumed_with_its_state(openai_server, model):
    openai_server.script(*say("A story.", "More.", "A long story.", "APPROVE"))
    team = group_chat(model)

    run = await watch(team.run_stream(task="A story about a boat."))
    assert run.trace == spoken("user", "writer", "critic", "writer", "critic")

    again = await goes_on_alike(
        team, group_chat, openai_server, *say("In Spanish.", "APPROVE"), task="Translate it."
    )
    assert again.trace == spoken("user", "writer", "critic")
    assert conversations(openai_server)[-2][-2:] == [
        "user[critic]: APPROVE",
        "user[user]: Translate it.",
    ]


# A state machine of speakers.


def next_state(messages: Sequence[BaseAgentEvent | BaseChatMessage]) -> str | None:
    match messages[-1].source:
        case "user" | "user_proxy":
            return "retriever"
        case "retriever":
            return "reader"
        case "reader" if "incomplete" in messages[-1].to_text():
            return "retriever"
        case "reader":
            return "user_proxy"
        case _:
            return None


def stateflow(model) -> SelectorGroupChat:
    return SelectorGroupChat(
        [
            AssistantAgent("retriever", model, system_message="You retrieve."),
            AssistantAgent("reader", model, system_message="You read."),
            UserProxyAgent("user_proxy", input_func=lambda _: "TERMINATE"),
        ],
        model_client=model,
        termination_condition=TextMentionTermination("TERMINATE"),
        selector_func=next_state,
    )


async def test_a_function_of_the_messages_is_a_state_machine(openai_server, model):
    openai_server.script(*say("Page 1.", "It is incomplete.", "Page 2.", "It is complete."))
    team = stateflow(model)

    run = await watch(team.run_stream(task="Find it."))

    asked = [("UserInputRequestedEvent", "user_proxy"), ("TextMessage", "user_proxy")]
    assert run.trace == [
        *spoken("user", "retriever", "reader", "retriever", "reader"),
        *asked,
    ]
    assert len(openai_server.requests) == 4
    again = await goes_on_alike(
        team, stateflow, openai_server, *say("Page 3.", "Complete."), task="More."
    )
    assert again.trace == [*spoken("user", "retriever", "reader"), *asked]


# A nested chat is a team inside of an agent.


class Counter(BaseChatAgent):
    """Counts on from the number it is given."""

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        return (TextMessage,)

    async def on_messages(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> Response:
        number = int(messages[-1].to_text()) + 1 if messages else 1
        return Response(chat_message=TextMessage(content=str(number), source=self.name))

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        pass


class NestedCounter(BaseChatAgent):
    """Lets a team count and answers with its progress.

    Nobody outside hears the team.
    """

    def __init__(self, name: str, team: RoundRobinGroupChat) -> None:
        super().__init__(name, "Counts with others.")
        self._team = team

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        return (TextMessage,)

    async def on_messages(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> Response:
        async for item in self.on_messages_stream(messages, cancellation_token):
            if isinstance(item, Response):
                return item
        raise AssertionError("The stream ends with a response.")

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | Response, None]:
        inner: list[BaseAgentEvent | BaseChatMessage] = []
        stream = self._team.run_stream(task=list(messages), cancellation_token=cancellation_token)
        async for item in stream:
            if isinstance(item, TaskResult):
                count = TextMessage(content=item.messages[-1].to_text(), source=self.name)
                yield Response(chat_message=count, inner_messages=inner)
            elif item not in messages:
                inner.append(item)
                yield item

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        await self._team.reset()

    async def save_state(self) -> Mapping[str, Any]:
        return await self._team.save_state()

    async def load_state(self, state: Mapping[str, Any]) -> None:
        await self._team.load_state(state)


def counting(model) -> RoundRobinGroupChat:
    inner = RoundRobinGroupChat([Counter("one", "Counts."), Counter("two", "Counts.")], max_turns=5)
    return RoundRobinGroupChat([NestedCounter("together", inner)], max_turns=1)


async def test_a_nested_chat_is_a_team_inside_of_an_agent(openai_server, model):
    team = counting(model)

    run = await watch(team.run_stream(task="1"))

    assert run.trace == spoken("user", "one", "two", "one", "two", "one", "together")
    assert run.texts == ["1", "2", "3", "4", "5", "6", "6"]
    again = await goes_on_alike(team, counting, openai_server, task="20")
    assert again.trace == spoken("user", "two", "one", "two", "one", "two", "together")
    assert again.texts == ["20", "21", "22", "23", "24", "25", "25"]


def society(model) -> SocietyOfMindAgent:
    return SocietyOfMindAgent(
        "society",
        group_chat(model),
        model,
        instruction="Somebody asked; this is what was said.",
        response_prompt="Now answer.",
    )


async def test_a_society_of_mind_answers_with_a_summary(openai_server, model):
    openai_server.script(*say("A story.", "APPROVE", "Here is a story."))
    agent = society(model)

    run = await watch(agent.run_stream(task="A story about a boat."))

    assert run.trace == spoken("user", "writer", "critic", "society")
    assert conversations(openai_server)[-1] == [
        "system: Somebody asked; this is what was said.",
        "user[writer]: A story.",
        "user[critic]: APPROVE",
        "system: Now answer.",
    ]
    again = await goes_on_alike(
        agent,
        society,
        openai_server,
        *say("Another story.", "APPROVE", "Here is another one."),
        task="One more.",
    )
    assert again.trace == spoken("user", "writer", "critic", "society")


# Long conversations


def forgetful(model) -> AssistantAgent:
    return AssistantAgent(
        "chatbot",
        model,
        system_message="You chat.",
        model_context=BufferedChatCompletionContext(buffer_size=10),
    )


async def test_a_chatbot_reads_the_last_ten_messages(openai_server, model):
    agent = forgetful(model)
    openai_server.script(*say(*"abcdefg"))
    for number in range(7):
        await agent.run(task=str(number))
    assert len(openai_server.requests[-1].messages) == 11
    assert conversations(openai_server)[-1][:3] == [
        "system: You chat.",
        "assistant: b",
        "user[user]: 2",
    ]
    await goes_on_alike(agent, forgetful, openai_server, *say("h"), task="7")
