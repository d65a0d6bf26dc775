"""The edge to models: requests are made valid before they are sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby, takewhile

from pydantic import BaseModel

from teams._base.cancellation import CancellationToken
from teams._base.image import Image
from teams._tools.base import Tool
from teams._tools.schema import ToolSchema
from teams.models._client import ToolChoice
from teams.models._conversation import one_system_message
from teams.models._dialect import Dialect, Request
from teams.models._past_calls import PastCalls
from teams.models._tool_forms import ToolNames, fitting
from teams.models._types import AssistantMessage, LLMMessage, ModelInfo, UserMessage


@dataclass(frozen=True, slots=True)
class Asked:
    """The arguments of `create` and `create_stream`."""

    messages: Sequence[LLMMessage]
    tools: Sequence[Tool | ToolSchema] = ()
    tool_choice: ToolChoice = "auto"
    json_output: bool | type[BaseModel] | None = None
    extra_create_args: Mapping[str, object] = field(default_factory=dict[str, object])
    cancellation_token: CancellationToken | None = None
    stream: bool = False
    include_usage: bool | None = None


def outgoing(dialect: Dialect, asked: Asked) -> Request:
    """The request that is sent; ValueError for what the model can't do."""
    messages, choice, tools = asked.messages, asked.tool_choice, schemas_of(asked.tools)
    if lack := lacking(dialect.info, messages, tools, asked.json_output):
        raise ValueError(lack)
    if not dialect.info.get("multiple_system_messages", True):
        messages = one_system_message(messages)
    forced = "" if isinstance(choice, str) else schemas_of([choice])[0]["name"]
    if forced and forced not in {schema["name"] for schema in tools}:
        raise ValueError(f"tool_choice references {forced!r}, which is not among the tools.")
    names = ToolNames(dialect.longest_name, (tool["name"] for tool in tools))
    past = PastCalls(legal_id=dialect.legal_id, name=names.sent)
    messages = past.settle(messages)
    if dialect.alternates:
        messages = [*chain.from_iterable(_one_of(group) for _, group in groupby(messages, _side))]
    elif all(map(_is_said, messages[-2:])) and messages[1:]:
        # llama.cpp, which goes on with the last one, has "Cannot have 2 or more assistant messages
        # at the end of the list".
        last = [*takewhile(_is_said, reversed(messages))]
        messages = [*messages[: -len(last)], *_one_of(reversed(last))]
    tools, left_out = _fitting_tools(tools, names)
    return Request(
        messages=messages,
        tools=tools,
        own_names=names.own,
        left_out=[*left_out, *past.left_out],
        choice=choice if isinstance(choice, str) else "auto",
        forced=forced and names.sent(forced),
        json_output=asked.json_output,
        extra=dict(asked.extra_create_args),
        stream=asked.stream,
        include_usage=asked.include_usage,
    )


def _is_said(message: LLMMessage) -> bool:
    return isinstance(message, AssistantMessage) and isinstance(message.content, str)


def _side(message: LLMMessage) -> object:
    """The speaker, for messages that may become one; else the message."""
    return type(message) if _is_said(message) or isinstance(message, UserMessage) else id(message)


def _one_of(group: Iterable[LLMMessage]) -> list[LLMMessage]:
    """The messages of one side as one, with the names of people."""
    first, *others = said = list(group)
    if not others:
        return said
    if not isinstance(first, UserMessage):
        return [AssistantMessage(content="\n\n".join(map(_text, said)), source="")]
    parts = [part for each in said if isinstance(each, UserMessage) for part in _parts(each)]
    texts = [part for part in parts if isinstance(part, str)]
    content = "\n\n".join(texts) if len(texts) == len(parts) else parts
    return [UserMessage(content=content, source=first.source)]


def _parts(message: UserMessage) -> list[str | Image]:
    parts = [message.content] if isinstance(message.content, str) else message.content
    return [f"{message.source} said:", *parts]


def _text(message: LLMMessage) -> str:
    return str(message.content)


def _fitting_tools(
    tools: Sequence[ToolSchema], names: ToolNames
) -> tuple[list[ToolSchema], list[str]]:
    """The tools that can be sent, and notes on the others."""
    sent: dict[str, ToolSchema] = {}
    left_out: list[str] = []
    for tool in tools:
        name = names.sent(tool["name"])
        if name in sent:
            left_out.append(f"A second tool {tool['name']!r} is left out")
            continue
        try:
            sent[name] = fitting(tool, name)
        except RecursionError:
            left_out.append(f"The tool {name!r} is left out, with a schema nested too deeply")
    return [*sent.values()], left_out


def schemas_of(tools: Sequence[Tool | ToolSchema]) -> list[ToolSchema]:
    """The tools as models are told of them."""
    return [tool if isinstance(tool, Mapping) else tool.schema for tool in tools]


def lacking(
    info: ModelInfo,
    messages: Sequence[LLMMessage],
    tools: Sequence[Tool | ToolSchema],
    json_output: bool | type[BaseModel] | None,
) -> str:
    """The sentence for what the model can't do, or none."""
    if tools and not info["function_calling"]:
        return "Model does not support function calling"
    if json_output is True and not info["json_output"]:
        return "Model does not support JSON output."
    if isinstance(json_output, type) and not info.get("structured_output", False):
        return "Model does not support structured output."
    if not info["vision"] and any(map(_has_image, messages)):
        return "Model does not support vision and image was provided"
    return ""


def _has_image(message: LLMMessage) -> bool:
    if not isinstance(message, UserMessage) or isinstance(message.content, str):
        return False
    return any(isinstance(part, Image) for part in message.content)
