"""The list memory, and what memories hold."""

import base64

import pytest

from teams.core import Image
from teams.memory import ListMemory, MemoryContent, MemoryMimeType
from teams.model_context import UnboundedChatCompletionContext
from teams.models import SystemMessage

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)


async def test_a_list_memory_tells_the_model_everything_in_order():
    memory, context = ListMemory(), UnboundedChatCompletionContext()
    await memory.add(MemoryContent(content="metric units", mime_type=MemoryMimeType.TEXT))
    await memory.add(MemoryContent(content={"meal": "vegan"}, mime_type="application/json"))
    result = await memory.update_context(context)
    assert [found.content for found in result.memories.results] == [
        "metric units",
        {"meal": "vegan"},
    ]
    assert await context.get_messages() == [
        SystemMessage(
            content="\nRelevant memory content (in chronological order):\n"
            "1. metric units\n2. {'meal': 'vegan'}\n"
        )
    ]


async def test_an_empty_memory_adds_nothing():
    memory, context = ListMemory(), UnboundedChatCompletionContext()
    assert (await memory.update_context(context)).memories.results == []
    assert await context.get_messages() == []


async def test_a_query_finds_everything_and_clear_forgets_it():
    content = MemoryContent(content="a", mime_type=MemoryMimeType.TEXT)
    memory = ListMemory("facts", [content])
    assert memory.name == "facts"
    assert (await memory.query("anything")).results == [content]
    assert (await memory.query()).results == [content]
    memory.content = [content, content]
    assert len(memory.content) == 2
    await memory.clear()
    assert (await memory.query(content)).results == []
    await memory.close()


@pytest.mark.parametrize(
    "content",
    [
        MemoryContent(content="a", mime_type=MemoryMimeType.TEXT),
        MemoryContent(content="a", mime_type=MemoryMimeType.MARKDOWN, metadata={"from": "b"}),
        MemoryContent(content={"data": "no image"}, mime_type=MemoryMimeType.JSON),
        MemoryContent(content=Image.from_bytes(PNG), mime_type=MemoryMimeType.IMAGE),
        MemoryContent(content=Image.from_bytes(PNG), mime_type="image/png"),
    ],
    ids=["text", "markdown", "json", "image", "png"],
)
def test_contents_survive_json(content: MemoryContent):
    again = MemoryContent.model_validate_json(content.model_dump_json())
    assert again == content
    assert type(again.mime_type) is type(content.mime_type)


def test_bytes_are_base64_in_json():
    content = MemoryContent(content=b"\xff\x00", mime_type=MemoryMimeType.BINARY)
    assert content.model_dump(mode="json")["content"] == "_wA="
