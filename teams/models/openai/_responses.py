"""The model client over OpenAI's Responses API."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel
from typing_extensions import override

from teams._base.image import Image
from teams._base.tool_call import FunctionCall
from teams._tools.base import Tool
from teams._tools.schema import ToolSchema
from teams.models._client import ToolChoice
from teams.models._edge import reported_usage
from teams.models._endpoint import SdkEndpoint
from teams.models._errors import BadAnswer, ModelDisconnected, ModelRefused
from teams.models._hosted import ABLE, parts_of, ran_there, since_last_of
from teams.models._types import (
    AssistantMessage,
    FinishReasons,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    HostedResult,
    LLMMessage,
    SystemMessage,
    UserMessage,
)
from teams.models.openai._base import BaseOpenAIChatCompletionClient
from teams.models.openai._catalog import known_model
from teams.models.openai._request import Wire, tool_arguments

if TYPE_CHECKING:
    from openai import AsyncAzureOpenAI, AsyncOpenAI

_NOT_DONE_HERE = {
    "computer_call": "computer_use_preview, which needs a computer",
    "local_shell_call": "local_shell, which needs a shell of yours",
    "mcp_approval_request": 'an MCP tool that asks for approval: set its require_approval = "never"'
    " (and allowed_tools), or connect the server here, where the tool policy holds",
}
_FINISH: Mapping[str, FinishReasons] = {
    "max_output_tokens": "length",
    "content_filter": "content_filter",
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
        create_args: Mapping[str, Any],
    ) -> None:
        info = None if known_model(create_args["model"]) else ABLE
        super().__init__(client, create_args=create_args, model_info=info)
        self._completions = client.responses
        self._source = source
        self._hosted = hosted

    @property
    @override
    def max_output_tokens(self) -> int | None:
        return self._create_args.get("max_output_tokens")

    @override
    async def close(self) -> None:
        """Nothing: whoever made the SDK's client closes it."""

    @override
    def _body(
        self,
        messages: Sequence[LLMMessage],
        tools: Sequence[Tool | ToolSchema],
        tool_choice: ToolChoice,
        json_output: bool | type[BaseModel] | None,
        extra: Mapping[str, Any],
    ) -> Wire:
        told = [message for message in messages if isinstance(message, SystemMessage)]
        said = [message for message in messages if not isinstance(message, SystemMessage)]
        if extra.get("previous_response_id"):
            said = since_last_of(self._source, said)
        body = {**self._create_args, **extra, "messages": [*_input(said)]}
        text: Any = self._create_args.get("text") or {}
        if text.get("format", {}).get("type") == "json_object":
            # Refused unless the input itself speaks of JSON.
            body["messages"].insert(0, {"role": "developer", "content": "Answer with JSON."})
        if told:
            body["instructions"] = "\n".join(message.content for message in told)
        functions = tool_arguments(tools, "auto", None).get("tools", [])
        offered = [*self._hosted(), *map(_function, functions)]
        if offered and tool_choice != "none":
            body["tools"] = offered
        return body

    @override
    def _arguments(self, body: Wire) -> Wire:
        others = ("messages", "model", "stream_options")  # the usage comes unasked
        rest = {key: each for key, each in body.items() if key not in others}
        return {"model": body["model"], "extra_body": {**rest, "input": body["messages"]}}

    @override
    def _read(self, completion: object, *, structured: bool) -> HostedResult:
        return read_response(completion, self._endpoint)

    @override
    def _new_answer(self) -> ResponseEvents:
        return ResponseEvents(self._endpoint)


@dataclass(slots=True)
class ResponseEvents:
    """An answer that comes as events."""

    _endpoint: SdkEndpoint
    _response: object = None

    def add(self, event: object) -> str:
        """Take an event, and return its text for the reader."""
        fields = cast("Wire", event) if isinstance(event, dict) else {}
        match fields.get("type"):
            case "response.output_text.delta" | "response.refusal.delta":
                return fields.get("delta") or ""
            case "response.completed" | "response.incomplete" | "response.failed":
                self._response = fields.get("response")
            case "error":
                raise self._endpoint.stream_error(fields)
            case _:
                pass
        return ""

    def end(self) -> str:
        """Nothing is held back."""
        return ""

    def result(self, *, structured: bool) -> HostedResult:
        """The whole answer; ModelDisconnected for one without an end."""
        del structured
        if self._response is None:
            raise ModelDisconnected("The answer ended before it was complete")
        return read_response(self._response, self._endpoint)


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


def read_response(response: object, endpoint: SdkEndpoint) -> HostedResult:
    """The result of a whole response.

    Raises a ModelError for one that failed or was withheld, BadAnswer for what is none.
    """
    fields = cast("Wire", response) if isinstance(response, dict) else {}
    if fields.get("status") == "failed":
        raise endpoint.stream_error(fields.get("error"))
    if fields.get("status") not in ("completed", "incomplete") or "output" not in fields:
        raise BadAnswer("The answer is not a complete response")
    output = _Output()
    for item in fields["output"]:
        output.add(item)
    details: Wire = fields.get("incomplete_details") or {}
    finish = _FINISH.get(details.get("reason", ""), "stop")
    content = output.calls or output.text or output.refusal
    if not content and finish == "content_filter":
        raise ModelRefused("The provider's content filter withheld the answer")
    if not content and finish == "length":
        raise BadAnswer("The answer was cut at the token limit before it said anything")
    thoughts = [*output.thoughts, output.text if output.calls else ""]
    return HostedResult(
        finish_reason="function_calls" if output.calls else finish,
        content=content,
        usage=reported_usage(fields.get("usage"), ["input_tokens"], "output_tokens"),
        cached=False,
        thought="\n\n".join(filter(None, thoughts)) or None,
        response_id=fields["id"],
        used=output.used,
        images=output.images,
        citations=output.citations,
    )


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
