"""The model client over OpenAI's Responses API."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from teams._base.image import Image
from teams._base.tool_call import FunctionCall
from teams.models._dialect import Json, Request, fields_of
from teams.models._draft import Draft
from teams.models._errors import BadAnswer
from teams.models._hosted import ABLE, parts_of, ran_there, since_last_of
from teams.models._thought_marks import Marks
from teams.models._transport import SdkTransport
from teams.models._types import (
    AssistantMessage,
    FinishReasons,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
    Wire,
)
from teams.models.openai._base import BaseOpenAIChatCompletionClient
from teams.models.openai._catalog import known_model
from teams.models.openai._dialect import OpenAIDialect
from teams.models.openai._request import tool_definitions

if TYPE_CHECKING:
    from openai import AsyncAzureOpenAI, AsyncOpenAI

_NOT_DONE_HERE = {
    "computer_call": "computer_use_preview, which needs a computer",
    "local_shell_call": "local_shell, which needs a shell of yours",
    "mcp_approval_request": 'an MCP tool that asks for approval: set its require_approval = "never"'
    " (and allowed_tools), or connect the server here, where the tool policy holds",
}


class ResponsesClient(BaseOpenAIChatCompletionClient):
    """Asks a model for one agent, called `source`, over the Responses API.

    `hosted` gives the tools that run at the provider. With `previous_response_id` among the
    `extra_create_args` only messages after the agent's own last one are sent.
    """

    def __init__(
        self,
        client: AsyncOpenAI | AsyncAzureOpenAI,
        *,
        source: str,
        hosted: Callable[[], list[Wire]],
        create_args: Mapping[str, object],
    ) -> None:
        info = None if known_model(str(create_args["model"])) else ABLE
        super().__init__(client, create_args=create_args, model_info=info)
        self._dialect = ResponsesDialect(
            info=self._dialect.info,
            context=self._dialect.context,
            provider=self._dialect.provider,
            create_args={name: each for name, each in create_args.items() if each is not None},
            source=source,
            hosted_tools=hosted,
        )
        self._transport = SdkTransport(client, "responses", _sdk_arguments)

    @override
    def _check(self, extra: Mapping[str, object]) -> None:
        """Nothing: they are an agent's, for another API than chat completions."""

    @override
    async def close(self) -> None:
        """Nothing: whoever made the SDK's client closes it."""


@dataclass(kw_only=True)
class ResponsesDialect(OpenAIDialect):
    """The form of the Responses API."""

    prompt_counts: ClassVar[Sequence[str]] = ("input_tokens",)
    completion_count: ClassVar[str] = "output_tokens"
    finishes: ClassVar[Mapping[str, FinishReasons]] = {
        "completed": "stop",
        "max_output_tokens": "length",
        "content_filter": "content_filter",
    }

    legal_id: re.Pattern[str] = re.compile(r"[a-zA-Z0-9_-]{1,64}")
    marks: Marks | None = None
    source: str
    hosted_tools: Callable[[], list[Wire]]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.answer_limit = self.create_args.get("max_output_tokens")

    @override
    def body(self, request: Request) -> Wire:
        messages, extra = request.messages, request.extra
        told = [message for message in messages if isinstance(message, SystemMessage)]
        said = [message for message in messages if not isinstance(message, SystemMessage)]
        if extra.get("previous_response_id"):
            said = since_last_of(self.source, said)
        body: Wire = {**self.create_args, **extra, "messages": [*_input(said)]}
        if request.stream:
            body["stream"] = True
        text: Json = self.create_args.get("text") or {}
        if text.get("format", {}).get("type") == "json_object":
            # Refused unless the input itself speaks of JSON.
            body["messages"].insert(0, {"role": "developer", "content": "Answer with JSON."})
        if told:
            body["instructions"] = "\n".join(message.content for message in told)
        functions = tool_definitions(request.tools)
        offered = [*self.hosted_tools(), *map(_function, functions)]
        if offered and request.choice != "none":
            body["tools"] = offered
        return body

    @override
    def decode(self, event: Json, draft: Draft) -> str:
        match event.get("type"):
            case "response.output_text.delta" | "response.refusal.delta":
                draft.begun = True
                return event.get("delta") or ""
            case "response.reasoning_summary_text.delta":
                draft.begun = True
                draft.gain(str(event.get("delta") or ""))
            case "response.completed" | "response.incomplete":
                draft.growth = None  # it has all of it again
                _read_response(event.get("response"), draft)
            case "response.failed":
                draft.error = fields_of(event.get("response")).get("error") or event
            case "error":
                draft.error = event
            case None | "response" if "output" in event or "status" in event:
                _read_response(event, draft)
            case _:
                draft.begun = True
        return ""


def _sdk_arguments(body: Wire) -> Wire:
    named = {key: body[key] for key in ("model", "stream") if key in body}
    rest = {key: each for key, each in body.items() if key not in ("messages", *named)}
    return {**named, "extra_body": {**rest, "input": body["messages"]}}


@dataclass(slots=True)
class _Output:
    """The items of an answer, by what becomes of them."""

    text: str = ""
    refusal: str = ""
    thoughts: list[str] = field(default_factory=list[str])
    calls: list[FunctionCall] = field(default_factory=list[FunctionCall])
    used: list[FunctionExecutionResult] = field(default_factory=list[FunctionExecutionResult])
    images: list[str] = field(default_factory=list[str])
    citations: list[Wire] = field(default_factory=list[Wire])

    def add(self, item: Wire) -> None:
        match item:
            case {"type": "message"}:
                for part in item.get("content") or ():
                    self.text += part.get("text") or ""
                    self.refusal += part.get("refusal") or ""
                    self.citations += part.get("annotations") or ()
            case {"type": "function_call", "call_id": str(call), "name": str(name)}:
                arguments = item.get("arguments") or "{}"
                self.calls.append(FunctionCall(id=call, name=name, arguments=arguments))
            case {"type": "reasoning"}:
                self.thoughts += [part.get("text") or "" for part in item.get("summary") or ()]
            case {"type": str(kind)} if kind in _NOT_DONE_HERE:
                raise BadAnswer(f"The model wants {_NOT_DONE_HERE[kind]}")
            case {"type": str(kind)} if kind.endswith("_call"):
                self._add_hosted(kind.removesuffix("_call"), item)
            case _:
                pass

    def _add_hosted(self, tool: str, item: Wire) -> None:
        if tool == "mcp":
            tool = f"{item.get('server_label')}/{item.get('name')}"
        if image := tool == "image_generation" and item.get("result"):
            self.images.append(image)
        failed = bool(item.get("error")) or item.get("status") == "failed"
        self.used.append(ran_there(tool, str(item.get("id")), failed=failed))


def _read_response(response: object, draft: Draft) -> None:
    """Read a whole response.

    Raises BadAnswer for what is none, or wants what is not done here.
    """
    fields = fields_of(response)
    status = fields.get("status")
    if status not in ("completed", "incomplete") or "output" not in fields:
        raise BadAnswer("The answer is not a complete response")
    output = _Output()
    for item in fields["output"]:
        output.add(item)
    draft.begun = draft.complete = True
    draft.say(output.text)
    draft.refusal = output.refusal
    draft.think("\n\n".join(filter(None, output.thoughts)))
    for call in output.calls:
        draft.add_call(call.id, call.name, call.arguments)
    details: Wire = fields.get("incomplete_details") or {}
    draft.finish = details.get("reason") or "completed"
    draft.count(fields.get("usage"))
    draft.hosted = {
        "response_id": fields["id"],
        "used": output.used,
        "images": output.images,
        "citations": output.citations,
    }


def _input(messages: Sequence[LLMMessage]) -> Iterator[Wire]:
    for message in messages:
        match message:
            case UserMessage():
                yield {"role": "user", "content": [*map(_part, parts_of(message))]}
            case AssistantMessage(content=str(text)) if text:
                yield {"role": "assistant", "content": text}
            case AssistantMessage(content=list(calls)):
                for call in calls:
                    asked = {"name": call.name, "arguments": call.arguments}
                    yield {"type": "function_call", "call_id": call.id, **asked}
            case FunctionExecutionResultMessage(content=results):
                for result in results:
                    done = {"call_id": result.call_id, "output": result.content}
                    yield {"type": "function_call_output", **done}
            case _:
                pass


def _part(part: str | Image) -> Wire:
    if isinstance(part, str):
        return {"type": "input_text", "text": part}
    return {"type": "input_image", "image_url": part.data_uri, "detail": "auto"}


def _function(tool: Wire) -> Wire:
    # The API asks for strict schemas unless it is told otherwise.
    return {"type": "function", "strict": False, **tool["function"]}
