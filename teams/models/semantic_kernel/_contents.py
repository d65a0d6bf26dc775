"""Between the messages on OpenAI's wire and the contents of Semantic Kernel.

OpenAI's form is the one in the middle, so that names, images and answers are read as everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from semantic_kernel import Kernel
from semantic_kernel.connectors.ai.function_choice_behavior import FunctionChoiceBehavior
from semantic_kernel.contents import (
    ChatHistory,
    ChatMessageContent,
    FunctionCallContent,
    FunctionResultContent,
    ImageContent,
    TextContent,
)
from semantic_kernel.contents.reasoning_content import ReasoningContent
from semantic_kernel.contents.utils.author_role import AuthorRole
from semantic_kernel.functions import KernelPlugin

from teams._tools.schema import ToolSchema
from teams.models.semantic_kernel._function import ToolFunction

if TYPE_CHECKING:
    from teams.models._types import Wire

PLUGIN = "autogen_tools"
"""The plugin of our tools; models call them `autogen_tools-NAME`."""


def chat_history(wire: Sequence[Wire]) -> ChatHistory:
    """The messages as Semantic Kernel has them."""
    names = {call["id"]: call["function"]["name"] for each in wire for call in _calls(each)}
    return ChatHistory(messages=[_message(each, names) for each in wire])


def _calls(message: Wire) -> Sequence[Any]:
    return message.get("tool_calls") or ()


def _message(message: Wire, names: Mapping[str, str]) -> ChatMessageContent:
    role, content = message["role"], message.get("content")
    if role == "tool":
        call = message["tool_call_id"]
        name = f"{PLUGIN}-{names.get(call, 'unknown')}"
        items: list[Any] = [FunctionResultContent(id=call, name=name, result=content)]
        return ChatMessageContent(role=AuthorRole.TOOL, items=items)
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or ()
    items = [_item(part) for part in parts]
    items += [
        FunctionCallContent(
            id=call["id"],
            name=f"{PLUGIN}-{call['function']['name']}",
            arguments=call["function"]["arguments"],
        )
        for call in _calls(message)
    ]
    return ChatMessageContent(role=AuthorRole(role), items=items, name=message.get("name"))


def _item(part: Wire) -> Any:
    if part["type"] == "text":
        return TextContent(text=part["text"])
    return ImageContent(data_uri=part["image_url"]["url"])


def chunk_of(message: Any, *, finish: str | None = None, said: str = "delta") -> Wire:
    """An answer or a piece as a chunk on OpenAI's wire.

    `finish` stands for a reason that the client does not give; `said` names the field.
    """
    calls = [
        {
            "index": item.index,
            "id": item.id,
            "function": {"name": _own_name(item.name), "arguments": item.arguments or ""},
        }
        for item in message.items
        if isinstance(item, FunctionCallContent)
    ]
    texts = (item.text for item in message.items if isinstance(item, TextContent))
    thoughts = (item.text for item in message.items if isinstance(item, ReasoningContent))
    delta = {"content": _joined(texts), "reasoning_content": _joined(thoughts), "tool_calls": calls}
    reason = message.finish_reason.value if message.finish_reason else finish
    choice = {"index": 0, said: delta, "finish_reason": reason}
    return {"choices": [choice], "usage": _usage((message.metadata or {}).get("usage"))}


def _own_name(name: str | None) -> str:
    return (name or "").removeprefix(f"{PLUGIN}-")


def _joined(texts: Iterable[str | None]) -> str:
    return "".join(text for text in texts if text)


def _usage(usage: Any) -> Wire | None:
    if usage is None:
        return None
    fields = usage if isinstance(usage, Mapping) else vars(usage)
    return {name: fields.get(name) for name in ("prompt_tokens", "completion_tokens")}


def offer_tools(kernel: Kernel, settings: Any, tools: Sequence[ToolSchema], choice: Any) -> Kernel:
    """A copy of the kernel with these tools alone.

    The settings get the choice. Semantic Kernel is never asked to run a call.
    """
    offered = kernel.clone()
    offered.plugins.clear()
    settings.function_choice_behavior = None
    if tools:
        functions = [ToolFunction(schema, PLUGIN) for schema in tools]
        offered.add_plugin(KernelPlugin(name=PLUGIN, functions=functions))
        settings.function_choice_behavior = _behavior(choice)
    return offered


def _behavior(choice: Any) -> FunctionChoiceBehavior:
    match choice:
        case "auto":
            return FunctionChoiceBehavior.Auto(auto_invoke=False)
        case "none":
            return FunctionChoiceBehavior.NoneInvoke()
        case "required":
            return FunctionChoiceBehavior.Required(auto_invoke=False)
        case one:
            only = [f"{PLUGIN}-{one['function']['name']}"]
            filters: Any = {"included_functions": only}
            return FunctionChoiceBehavior.Required(auto_invoke=False, filters=filters)
