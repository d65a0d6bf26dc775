"""The page on agents: answers, images, tool calls, streams, and resets."""

import pytest
from pydantic import BaseModel

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.core import CancellationToken, Image
from teams.messages import MultiModalMessage, StructuredMessage, TextMessage
from teams.model_context import BufferedChatCompletionContext, UnboundedChatCompletionContext
from teams.models import AssistantMessage, LLMMessage
from teams.tools import AgentTool, FunctionTool, StaticWorkbench, TeamTool
from tests.fakes.openai_script import Call, Reply
from tests.guide.harness import connected, conversations, goes_on_alike, said, some_model, watch

SYSTEM = "You keep the catalogue of a small library."
RED_DOT = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAE"
    "hQGAhKmMIQAAAABJRU5ErkJggg=="
)


async def find_book(title: str) -> str:
    """Find the shelf of a book."""
    return f"{title!r} stands on shelf 12."


def count_copies(title: str, branch: str = "centre") -> int:
    """Count the copies of a book in a branch."""
    return len(title) + len(branch)


FIND_BOOK = {
    "type": "function",
    "function": {
        "name": "find_book",
        "description": "Find the shelf of a book.",
        "parameters": {
            "type": "object",
            "properties": {"title": {"description": "title", "title": "Title", "type": "string"}},
            "required": ["title"],
            "additionalProperties": False,
        },
    },
}


def librarian(model) -> AssistantAgent:
    return AssistantAgent("librarian", model, tools=[find_book], system_message=SYSTEM)


def asking(title: str = "Momo", call: str = "call_1") -> Reply:
    return Reply(calls=[Call(name="find_book", arguments={"title": title}, id=call)])


async def test_an_agent_calls_a_tool_and_its_result_is_the_answer(openai_server, model):
    openai_server.script(asking())
    agent = librarian(model)

    run = await watch(agent.run_stream(task="Where is Momo?"))

    assert run.trace == [
        ("TextMessage", "user"),
        ("ToolCallRequestEvent", "librarian"),
        ("ToolCallExecutionEvent", "librarian"),
        ("ToolCallSummaryMessage", "librarian"),
    ]
    assert run.answer == "'Momo' stands on shelf 12."
    assert run.stop_reason is None
    [request] = openai_server.requests
    assert said(request) == [f"system: {SYSTEM}", "user[user]: Where is Momo?"]
    assert request.body["tools"] == [FIND_BOOK]
    assert request.body["tool_choice"] == "auto"
    assert "response_format" not in request.body


async def test_an_agent_keeps_what_was_said_and_goes_on_in_another_process(openai_server, model):
    openai_server.script(asking())
    agent = librarian(model)
    await agent.run(task="Where is Momo?")

    run = await goes_on_alike(
        agent,
        librarian,
        openai_server,
        asking("Krabat", "call_2"),
        task="And Krabat?",
    )

    assert run.answer == "'Krabat' stands on shelf 12."
    assert conversations(openai_server)[-1] == [
        f"system: {SYSTEM}",
        "user[user]: Where is Momo?",
        'assistant calls find_book({"title": "Momo"})',
        "tool: 'Momo' stands on shelf 12.",
        "user[user]: And Krabat?",
    ]


async def test_run_returns_the_result_that_run_stream_ends_with(openai_server, model):
    openai_server.script(asking())

    result = await librarian(model).run(task="Where is Momo?")

    assert [type(message).__name__ for message in result.messages] == [
        "TextMessage",
        "ToolCallRequestEvent",
        "ToolCallExecutionEvent",
        "ToolCallSummaryMessage",
    ]


async def test_without_a_task_an_agent_answers_to_what_it_knows(openai_server, model):
    agent = AssistantAgent("librarian", model, system_message=None)
    openai_server.script(Reply(text="Good morning."), Reply(text="Still here."))
    await agent.run(task="Hello.")

    run = await watch(agent.run_stream())

    assert run.trace == [("TextMessage", "librarian")]
    assert conversations(openai_server)[-1] == ["user[user]: Hello.", "assistant: Good morning."]


async def test_an_agent_sees_an_image(openai_server, model):
    agent = AssistantAgent("curator", model, system_message="You describe pictures.")
    openai_server.script(Reply(text="A red dot."))
    picture = MultiModalMessage(
        content=["What is on it?", Image.from_base64(RED_DOT)], source="visitor"
    )

    run = await watch(agent.run_stream(task=picture))

    assert run.trace == [("MultiModalMessage", "visitor"), ("TextMessage", "curator")]
    assert conversations(openai_server) == [
        ["system: You describe pictures.", "user[visitor]: What is on it? +image"]
    ]
    [_, message] = openai_server.requests[0].messages
    assert message["content"][1]["image_url"]["url"] == f"data:image/png;base64,{RED_DOT}"


async def test_a_model_that_cannot_see_is_not_sent_images(openai_server):
    openai_server.script(Reply(text="I cannot see it."))
    info = some_model(vision=False)
    async with connected(openai_server.url, model_info=info) as blind:
        agent = AssistantAgent("curator", blind, system_message=None)
        await agent.run(
            task=MultiModalMessage(content=["Look:", Image.from_base64(RED_DOT)], source="visitor")
        )
    assert conversations(openai_server) == [["user[visitor]: Look:\n<image>"]]


async def test_reflection_asks_the_model_for_words_about_the_result(openai_server, model):
    agent = AssistantAgent(
        "librarian", model, tools=[find_book], system_message=SYSTEM, reflect_on_tool_use=True
    )
    openai_server.script(asking(), Reply(text="You find Momo on shelf 12."))

    run = await watch(agent.run_stream(task="Where is Momo?"))

    assert run.trace == [
        ("TextMessage", "user"),
        ("ToolCallRequestEvent", "librarian"),
        ("ToolCallExecutionEvent", "librarian"),
        ("TextMessage", "librarian"),
    ]
    first, second = openai_server.requests
    assert (first.tools, first.body["tool_choice"]) == (["find_book"], "auto")
    assert (second.tools, "tool_choice" in second.body) == ([], False)
    assert said(second) == [
        f"system: {SYSTEM}",
        "user[user]: Where is Momo?",
        'assistant calls find_book({"title": "Momo"})',
        "tool: 'Momo' stands on shelf 12.",
    ]


async def test_parallel_calls_are_answered_in_their_order(openai_server, model):
    agent = AssistantAgent(
        "librarian",
        model,
        tools=[find_book, FunctionTool(count_copies, description="Count copies.")],
        system_message=SYSTEM,
    )
    openai_server.script(
        Reply(
            calls=[
                Call(name="count_copies", arguments={"title": "Momo"}, id="a"),
                Call(name="find_book", arguments={"title": "Momo"}, id="b"),
            ]
        )
    )

    run = await watch(agent.run_stream(task="Where is Momo, and how often?"))

    assert run.answer == "10\n'Momo' stands on shelf 12."
    assert [result.call_id for result in run.items[2].content] == ["a", "b"]


async def test_parallel_calls_are_turned_off_at_the_client(openai_server):
    openai_server.script(Reply(text="One at a time."))
    async with connected(openai_server.url, parallel_tool_calls=False) as model:
        await librarian(model).run(task="Where is Momo?")
    assert openai_server.requests[0].body["parallel_tool_calls"] is False


async def test_several_rounds_of_tools_end_when_the_model_has_its_answer(openai_server, model):
    agent = AssistantAgent(
        "librarian", model, tools=[find_book], system_message=SYSTEM, max_tool_iterations=5
    )
    openai_server.script(
        asking("Momo", "a"), asking("Krabat", "b"), Reply(text="Both are on shelf 12.")
    )

    run = await watch(agent.run_stream(task="Where are Momo and Krabat?"))

    calls = [("ToolCallRequestEvent", "librarian"), ("ToolCallExecutionEvent", "librarian")]
    assert run.trace == [("TextMessage", "user"), *calls, *calls, ("TextMessage", "librarian")]
    assert [len(lines) for lines in conversations(openai_server)] == [2, 4, 6]


async def test_a_workbench_brings_its_tools(openai_server, model):
    workbench = StaticWorkbench([FunctionTool(find_book, description="Find the shelf of a book.")])
    agent = AssistantAgent("librarian", model, workbench=workbench, system_message=SYSTEM)
    openai_server.script(asking())

    async with workbench:
        run = await watch(agent.run_stream(task="Where is Momo?"))

    assert run.answer == "'Momo' stands on shelf 12."
    assert openai_server.requests[0].body["tools"] == [FIND_BOOK]


class Finding(BaseModel):
    reasoning: str
    mood: str


async def test_a_structured_answer_is_a_message_of_that_type(openai_server, model):
    agent = AssistantAgent(
        "reader", model, system_message="Judge the mood of a text.", output_content_type=Finding
    )
    openai_server.script(Reply(text='{"reasoning": "It laughs.", "mood": "happy"}'))

    run = await watch(agent.run_stream(task="Ha ha!"))

    assert run.trace == [("TextMessage", "user"), ("StructuredMessage[Finding]", "reader")]
    answer = run.items[-1]
    assert isinstance(answer, StructuredMessage)
    assert answer.content == Finding(reasoning="It laughs.", mood="happy")
    wanted = openai_server.requests[0].body["response_format"]
    assert wanted["type"] == "json_schema"
    assert wanted["json_schema"]["name"] == "Finding"
    assert wanted["json_schema"]["strict"] is True
    assert set(wanted["json_schema"]["schema"]["properties"]) == {"reasoning", "mood"}


async def test_a_structured_answer_follows_the_tools_by_reflection(openai_server, model):
    agent = AssistantAgent(
        "reader",
        model,
        tools=[FunctionTool(find_book, description="Find the shelf of a book.", strict=True)],
        system_message=SYSTEM,
        output_content_type=Finding,
    )
    openai_server.script(asking(), Reply(text='{"reasoning": "Found.", "mood": "glad"}'))

    run = await watch(agent.run_stream(task="Where is Momo?"))

    assert run.trace[-1] == ("StructuredMessage[Finding]", "reader")
    first, second = openai_server.requests
    assert first.body["tools"][0]["function"]["strict"] is True
    assert "response_format" in second.body


async def test_tokens_are_streamed_before_their_message(openai_server, model):
    agent = AssistantAgent(
        "librarian", model, system_message="Answer in one line.", model_client_stream=True
    )
    openai_server.script(Reply(text="Shelf 12 is upstairs.", chunks=3))

    run = await watch(agent.run_stream(task="Where is shelf 12?"))

    chunk = ("ModelClientStreamingChunkEvent", "librarian")
    assert run.trace == [("TextMessage", "user"), *[chunk] * 3, ("TextMessage", "librarian")]
    *chunks, message = run.items[1:]
    assert "".join(piece.content for piece in chunks) == message.content == "Shelf 12 is upstairs."
    assert {piece.full_message_id for piece in chunks} == {message.id}
    assert openai_server.requests[0].body["stream"] is True


async def test_a_bounded_context_sends_the_latest_messages_only(openai_server, model):
    agent = AssistantAgent(
        "librarian",
        model,
        system_message=SYSTEM,
        model_context=BufferedChatCompletionContext(buffer_size=2),
    )
    openai_server.script(Reply(text="One."), Reply(text="Two."), Reply(text="Three."))

    for question in ("First?", "Second?", "Third?"):
        await agent.run(task=question)

    assert conversations(openai_server)[-1] == [
        f"system: {SYSTEM}",
        "assistant: Two.",
        "user[user]: Third?",
    ]


async def test_on_messages_takes_new_messages_and_returns_a_response(openai_server, model):
    openai_server.script(asking())

    response = await librarian(model).on_messages(
        [TextMessage(content="Where is Momo?", source="user")], CancellationToken()
    )

    assert response.chat_message.to_text() == "'Momo' stands on shelf 12."
    assert [type(event).__name__ for event in response.inner_messages or ()] == [
        "ToolCallRequestEvent",
        "ToolCallExecutionEvent",
    ]


async def test_on_messages_stream_ends_with_the_response(openai_server, model):
    openai_server.script(asking())
    question = TextMessage(content="Where is Momo?", source="user")

    run = await watch(librarian(model).on_messages_stream([question], CancellationToken()))

    assert run.trace == [
        ("ToolCallRequestEvent", "librarian"),
        ("ToolCallExecutionEvent", "librarian"),
    ]
    assert run.result.chat_message.type == "ToolCallSummaryMessage"


def publisher(model) -> AssistantAgent:
    poet = AssistantAgent("poet", model, description="Writes.", system_message="You write.")
    return AssistantAgent(
        "publisher",
        model,
        tools=[AgentTool(poet)],
        max_tool_iterations=2,
        system_message="You publish.",
    )


async def test_an_agent_can_be_a_tool_of_another_one(openai_server, model):
    def ordering(task: str, call: str) -> Reply:
        return Reply(calls=[Call(name="poet", arguments={"task": task}, id=call)])

    openai_server.script(ordering("A line.", "c1"), Reply(text="Rain."), Reply(text="Sold: Rain."))
    agent = publisher(model)

    run = await watch(agent.run_stream(task="I need a line."))

    assert run.trace == [
        ("TextMessage", "user"),
        ("ToolCallRequestEvent", "publisher"),
        ("TextMessage", "user"),
        ("TextMessage", "poet"),
        ("ToolCallExecutionEvent", "publisher"),
        ("TextMessage", "publisher"),
    ]
    assert openai_server.requests[0].tools == ["poet"]
    assert conversations(openai_server)[1:] == [
        ["system: You write.", "user[user]: A line."],
        [
            "system: You publish.",
            "user[user]: I need a line.",
            'assistant calls poet({"task": "A line."})',
            "tool: poet: Rain.",
        ],
    ]
    again = await goes_on_alike(
        agent,
        publisher,
        openai_server,
        ordering("Another one.", "c2"),
        Reply(text="Snow."),
        Reply(text="Sold: Snow."),
        task="And one more.",
    )
    assert again.answer == "Sold: Snow."
    assert conversations(openai_server)[-2] == [
        "system: You write.",
        "user[user]: A line.",
        "assistant: Rain.",
        "user[user]: Another one.",
    ]


def editor_in_chief(model) -> AssistantAgent:
    desk = RoundRobinGroupChat(
        [
            AssistantAgent("writer", model, system_message="You write.", model_client_stream=True),
            AssistantAgent("reviewer", model, system_message="You review."),
        ],
        max_turns=2,
    )
    tool = TeamTool(
        desk, name="desk", description="Writes articles.", return_value_as_last_message=True
    )
    return AssistantAgent(
        "chief", model, tools=[tool], system_message="You publish.", reflect_on_tool_use=True
    )


async def test_a_team_can_be_a_tool_and_streams_what_it_does(openai_server, model):
    def ordering(call: str) -> Reply:
        return Reply(calls=[Call(name="desk", arguments={"task": "Ice."}, id=call)])

    openai_server.script(
        ordering("c1"),
        Reply(text="Ice is cold.", chunks=2),
        Reply(text="Good."),
        Reply(text="Out."),
    )
    agent = editor_in_chief(model)

    run = await watch(agent.run_stream(task="An article about ice."))

    assert run.trace == [
        ("TextMessage", "user"),
        ("ToolCallRequestEvent", "chief"),
        ("TextMessage", "user"),
        ("ModelClientStreamingChunkEvent", "writer"),
        ("ModelClientStreamingChunkEvent", "writer"),
        ("TextMessage", "writer"),
        ("TextMessage", "reviewer"),
        ("ToolCallExecutionEvent", "chief"),
        ("TextMessage", "chief"),
    ]
    assert conversations(openai_server)[-1][-2:] == [
        'assistant calls desk({"task": "Ice."})',
        "tool: Good.",
    ]
    again = await goes_on_alike(
        agent,
        editor_in_chief,
        openai_server,
        ordering("c2"),
        Reply(text="Ice is wet."),
        Reply(text="Better."),
        Reply(text="Out again."),
        task="Another one.",
    )
    assert again.answer == "Out again."
    assert "user[reviewer]: Good." in conversations(openai_server)[-3]


class WithoutThoughts(UnboundedChatCompletionContext):
    """A custom context that leaves the model's thoughts out."""

    async def get_messages(self) -> list[LLMMessage]:
        return [
            message.model_copy(update={"thought": None})
            if isinstance(message, AssistantMessage)
            else message
            for message in await super().get_messages()
        ]


async def test_a_context_of_ones_own_leaves_thoughts_out(openai_server):
    openai_server.script(
        Reply(reasoning="M is early.", calls=[Call(name="find_book", arguments={"title": "Momo"})]),
        Reply(text="On shelf 12."),
    )
    async with connected(openai_server.url, model_info=some_model(family="r1")) as model:
        agent = AssistantAgent(
            "librarian",
            model,
            tools=[find_book],
            max_tool_iterations=2,
            system_message=None,
            model_context=WithoutThoughts(),
        )
        run = await watch(agent.run_stream(task="Where is Momo?"))
    assert run.trace == [
        ("TextMessage", "user"),
        ("ThoughtEvent", "librarian"),
        ("ToolCallRequestEvent", "librarian"),
        ("ToolCallExecutionEvent", "librarian"),
        ("TextMessage", "librarian"),
    ]
    assert conversations(openai_server)[-1] == [
        "user[user]: Where is Momo?",
        'assistant calls find_book({"title": "Momo"})',
        "tool: 'Momo' stands on shelf 12.",
    ]


@pytest.mark.parametrize(
    ("format_of", "summary"),
    [
        ({"tool_call_summary_format": "{tool_name} -> {result}"}, "find_book -> {found}"),
        ({"tool_call_summary_formatter": lambda call, result: call.name.upper()}, "FIND_BOOK"),
    ],
    ids=["a format", "a function"],
)
async def test_the_summary_of_tool_calls_can_be_shaped(openai_server, model, format_of, summary):
    agent = AssistantAgent("librarian", model, tools=[find_book], **format_of)
    openai_server.script(asking())
    run = await watch(agent.run_stream(task="Where is Momo?"))
    assert run.answer == summary.replace("{found}", "'Momo' stands on shelf 12.")


async def test_a_reasoning_model_has_its_thought_as_an_event(openai_server):
    openai_server.script(Reply(text="Shelf 12.", reasoning="Momo begins with M."))
    info = some_model(family="r1", function_calling=False)
    async with connected(openai_server.url, model_info=info) as model:
        agent = AssistantAgent("librarian", model, system_message=None)
        run = await watch(agent.run_stream(task="Where is Momo?"))
    assert run.trace == [
        ("TextMessage", "user"),
        ("ThoughtEvent", "librarian"),
        ("TextMessage", "librarian"),
    ]
    assert run.items[1].content == "Momo begins with M."
