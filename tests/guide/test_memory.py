"""The page on memory: a list of preferences, and a custom store."""

from typing import Any

from pydantic import BaseModel

from teams.agents import AssistantAgent
from teams.core import CancellationToken, Component
from teams.memory import (
    ListMemory,
    Memory,
    MemoryContent,
    MemoryMimeType,
    MemoryQueryResult,
    UpdateContextResult,
)
from teams.model_context import ChatCompletionContext
from teams.models import SystemMessage, UserMessage
from tests.fakes.openai_script import Call, Reply
from tests.guide.harness import conversations, goes_on_alike, watch

SYSTEM = "You are a kitchen help."
REMEMBERED = (
    "system: \nRelevant memory content (in chronological order):\n"
    "1. Ovens are set in Celsius\n2. Meals have no nuts\n"
)


def note(text: str) -> MemoryContent:
    return MemoryContent(content=text, mime_type=MemoryMimeType.TEXT)


async def oven(meal: str, units: str = "fahrenheit") -> str:
    """The oven's temperature for a meal."""
    return f"{meal}: {356 if units == 'fahrenheit' else 180} degrees {units}"


def cook(model) -> AssistantAgent:
    preferences = ListMemory(
        "preferences", [note("Ovens are set in Celsius"), note("Meals have no nuts")]
    )
    return AssistantAgent("cook", model, tools=[oven], memory=[preferences], system_message=SYSTEM)


async def test_preferences_reach_the_model_before_each_answer(openai_server, model):
    arguments = {"meal": "Bread", "units": "celsius"}
    openai_server.script(Reply(calls=[Call(name="oven", arguments=arguments)]))
    agent = cook(model)

    run = await watch(agent.run_stream(task="How hot for bread?"))

    assert run.trace == [
        ("TextMessage", "user"),
        ("MemoryQueryEvent", "cook"),
        ("ToolCallRequestEvent", "cook"),
        ("ToolCallExecutionEvent", "cook"),
        ("ToolCallSummaryMessage", "cook"),
    ]
    assert run.answer == "Bread: 180 degrees celsius"
    assert [memory.content for memory in run.items[1].content] == [
        "Ovens are set in Celsius",
        "Meals have no nuts",
    ]
    assert conversations(openai_server) == [
        [f"system: {SYSTEM}", "user[user]: How hot for bread?", REMEMBERED]
    ]
    [request] = openai_server.requests
    units = request.body["tools"][0]["function"]["parameters"]["properties"]["units"]
    assert units["default"] == "fahrenheit"

    again = await goes_on_alike(
        agent,
        cook,
        openai_server,
        Reply(text="A soup without nuts."),
        task="Propose a meal.",
    )
    assert again.trace == [
        ("TextMessage", "user"),
        ("MemoryQueryEvent", "cook"),
        ("TextMessage", "cook"),
    ]
    assert conversations(openai_server)[-1] == [
        f"system: {SYSTEM}",
        "user[user]: How hot for bread?",
        REMEMBERED,
        'assistant calls oven({"meal": "Bread", "units": "celsius"})',
        "tool: Bread: 180 degrees celsius",
        "user[user]: Propose a meal.",
        REMEMBERED,
    ]


async def test_what_was_added_to_a_memory_stands_in_the_model_context(openai_server, model):
    memory = ListMemory()
    await memory.add(note("Guests come at eight"))
    openai_server.script(Reply(text="At eight."))
    agent = AssistantAgent("cook", model, memory=[memory], system_message=None)

    await agent.run(task="When do guests come?")

    question, remembered, answer = await agent.model_context.get_messages()
    assert question.content == "When do guests come?"
    assert isinstance(remembered, SystemMessage)
    assert "1. Guests come at eight" in remembered.content
    assert answer.content == "At eight."

    await memory.clear()
    assert (await memory.query("guests")).results == []


class RecipesConfig(BaseModel):
    recipes: dict[str, str]


class Recipes(Memory, Component[RecipesConfig]):
    """A custom store: the recipes that the latest question mentions."""

    component_config_schema = RecipesConfig

    def __init__(self, recipes: dict[str, str]) -> None:
        self._recipes = recipes

    async def add(
        self, content: MemoryContent, cancellation_token: CancellationToken | None = None
    ) -> None:
        self._recipes[(content.metadata or {})["name"]] = str(content.content)

    async def query(
        self,
        query: str | MemoryContent,
        cancellation_token: CancellationToken | None = None,
        **kwargs: Any,
    ) -> MemoryQueryResult:
        asked = str(query.content if isinstance(query, MemoryContent) else query).lower()
        found = [
            MemoryContent(content=recipe, mime_type=MemoryMimeType.TEXT, metadata={"name": name})
            for name, recipe in self._recipes.items()
            if name in asked
        ]
        return MemoryQueryResult(results=found)

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        messages = await model_context.get_messages()
        asked = [message.content for message in messages if isinstance(message, UserMessage)][-1]
        memories = await self.query(str(asked))
        for number, memory in enumerate(memories.results, start=1):
            await model_context.add_message(
                SystemMessage(content=f"Recipe {number}: {memory.content}")
            )
        return UpdateContextResult(memories=memories)

    async def clear(self) -> None:
        self._recipes.clear()

    async def close(self) -> None:
        pass


def cook_with_recipes(model) -> AssistantAgent:
    recipes = Recipes({"bread": "Flour, water, salt.", "soup": "Leek, potato."})
    return AssistantAgent("cook", model, memory=[recipes], system_message=SYSTEM)


async def test_only_what_the_question_is_about_is_retrieved(openai_server, model):
    openai_server.script(Reply(text="Take flour."))
    agent = cook_with_recipes(model)

    run = await watch(agent.run_stream(task="How do I bake bread?"))

    assert run.trace == [
        ("TextMessage", "user"),
        ("MemoryQueryEvent", "cook"),
        ("TextMessage", "cook"),
    ]
    assert conversations(openai_server) == [
        [
            f"system: {SYSTEM}",
            "user[user]: How do I bake bread?",
            "system: Recipe 1: Flour, water, salt.",
        ]
    ]
    again = await goes_on_alike(
        agent,
        cook_with_recipes,
        openai_server,
        Reply(text="No idea."),
        task="How late is it?",
    )
    assert again.trace == [("TextMessage", "user"), ("TextMessage", "cook")]


async def test_memories_dump_and_load():
    memory = ListMemory("preferences", [note("No nuts")])
    loaded = Memory.load_component(memory.dump_component())
    assert isinstance(loaded, ListMemory)
    assert [content.content for content in loaded.content] == ["No nuts"]

    recipes = Recipes.load_component(Recipes({"bread": "Flour."}).dump_component())
    assert (await recipes.query("bread?")).results[0].content == "Flour."
