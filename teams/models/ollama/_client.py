"""The client of Ollama's chat API."""

from __future__ import annotations

import warnings
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack, cast

from pydantic import BaseModel

from teams._base.bounded.clients import http_client
from teams._base.cancellation import CancellableStream, CancellationToken, run_cancellable
from teams._base.telemetry import trace_model, trace_model_stream
from teams._components.component import Component
from teams._tools.base import Tool
from teams._tools.schema import ToolSchema
from teams.models._client import ChatCompletionClient, ToolChoice
from teams.models._endpoint import ModelEndpoint
from teams.models._errors import BadAnswer, ModelError, ModelUnreachable, UnknownModel
from teams.models._exchange import (
    Deadline,
    closing_response,
    log_call,
    log_stream_end,
    log_stream_start,
    nothing_to_settle,
    parse_json,
)
from teams.models._lines import split_lines
from teams.models._settings import (
    answer_bounds,
    choose_model_info,
    http_timeout,
    long_secrets,
    shown_address,
    whole_deadline,
)
from teams.models._tokens import request_tokens
from teams.models._types import CreateResult, LLMMessage, ModelInfo, RequestUsage
from teams.models.ollama._answer import Answer
from teams.models.ollama._catalog import KnownModel, known_model, told_model
from teams.models.ollama._config import (
    BaseOllamaClientConfigurationConfigModel,
    CreateArgumentsConfigModel,
    OllamaClientConfiguration,
    is_secret,
)
from teams.models.ollama._request import Wire, wire_format, wire_messages, wire_schemas, wire_tools

if TYPE_CHECKING:
    import httpx

_ADVICE: Mapping[type[ModelError], str] = {
    UnknownModel: "Get it with `ollama pull {model}`, or check the model's name.",
    ModelUnreachable: "Start Ollama (`ollama serve`), or check its address (host, OLLAMA_HOST).",
    BadAnswer: "Try again; if it stays so, check the address (host, OLLAMA_HOST).",
}


class OllamaChatCompletionClient(
    ChatCompletionClient, Component[BaseOllamaClientConfigurationConfigModel]
):
    """Asks a model of Ollama, on this machine or another.

    Takes the fields of BaseOllamaClientConfigurationConfigModel as keywords, `model` at least. The
    address comes from `host` or OLLAMA_HOST, a key for Ollama's cloud from OLLAMA_API_KEY.

    Without `model_info`, models that are not known by name are taken to do everything until the
    first request: it asks Ollama for the model's abilities and context length, and from then on
    raises ValueError for what the model can't do.

    `timeout` is as for OpenAIChatCompletionClient; nothing is sent twice. Errors are those of
    `teams.models`. Raises ValueError for settings that are unknown, malformed or missing.
    """

    component_config_schema = BaseOllamaClientConfigurationConfigModel

    def __init__(self, **settings: Unpack[OllamaClientConfiguration]) -> None:
        import httpx  # for start-up

        config = BaseOllamaClientConfigurationConfigModel(**_with_format(settings))
        address, password = shown_address(config.address)
        headers = config.given_headers()
        secrets = [value for name, value in headers.items() if is_secret(name)]
        self._config = config
        self._defaults = config.wire({})
        self._deadline = whole_deadline(config.timeout)
        self._endpoint = ModelEndpoint(
            model=config.model,
            endpoint=address,
            key_variable="OLLAMA_API_KEY",
            secrets=long_secrets(
                [*secrets, *(text.rpartition(" ")[2] for text in secrets), password]
            ),
            advice=_ADVICE,
        )
        known = known_model(config.model)
        given = config.model_info or config.model_capabilities
        self._must_ask = known is None and given is None
        self._take(known or told_model(config.model))
        self._usage = RequestUsage(prompt_tokens=0, completion_tokens=0)
        self._http = http_client(
            httpx.AsyncClient,
            answer_bounds(config.timeout),
            base_url=config.address,
            headers=headers,
            timeout=http_timeout(httpx.Timeout, config.timeout),
            follow_redirects=config.follow_redirects,
        )

    @property
    def model(self) -> str:
        """The model's name, as Ollama calls it."""
        return self._config.model

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model={self.model!r}, host={self._endpoint.endpoint!r})"

    async def create(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = (),
        tool_choice: ToolChoice = "auto",
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] = {},
        cancellation_token: CancellationToken | None = None,
    ) -> CreateResult:
        """See ChatCompletionClient; `extra_create_args` are fields of CreateArgumentsConfigModel.

        Raises ModelError for what goes wrong with the model, ValueError for what it can't do.
        """
        completing = self._complete(messages, tools, tool_choice, json_output, extra_create_args)
        answer = trace_model(self.model, "ollama", completing)
        return await run_cancellable(answer, cancellation_token)

    def create_stream(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = (),
        tool_choice: ToolChoice = "auto",
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] = {},
        cancellation_token: CancellationToken | None = None,
    ) -> AsyncGenerator[str | CreateResult, None]:
        """See ChatCompletionClient; a thought is not streamed but part of the result.

        Raises as `create` does; after a break in the middle, too.
        """
        answer = self._stream(messages, tools, tool_choice, json_output, extra_create_args)
        traced = trace_model_stream(self.model, "ollama", answer)
        return CancellableStream(traced, cancellation_token, nothing_to_settle)

    async def close(self) -> None:
        await self._http.aclose()

    def actual_usage(self) -> RequestUsage:
        """Tokens of all requests so far, as Ollama counted them."""
        return self._usage

    def total_usage(self) -> RequestUsage:
        """The same: nothing is answered from a cache."""
        return self._usage

    def count_tokens(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()
    ) -> int:
        """An estimate: every model counts in its own way."""
        wire = wire_messages(messages, self._model_info)
        for message in wire:
            if images := message.pop("images", None):
                message["images"] = [{"type": "image_url"}] * len(images)  # counted alike
        return request_tokens(wire, wire_schemas(tools), encoding="cl100k_base")

    def remaining_tokens(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()
    ) -> int:
        """See ChatCompletionClient.

        `num_ctx` is the context, or else all that the model can. ValueError where neither is known.
        """
        context = self._defaults.get("options", {}).get("num_ctx") or self._context
        if context is None:
            raise ValueError(
                f"The context length of the model {self.model!r} is not known"
                f"{' before the first request' if self._must_ask else ''}: give num_ctx."
            )
        return context - self.count_tokens(messages, tools=tools)

    @property
    def max_output_tokens(self) -> int | None:
        """The value of `num_predict`, where it limits answers."""
        limit = self._defaults.get("options", {}).get("num_predict")
        return limit if limit and limit > 0 else None

    @property
    def model_info(self) -> ModelInfo:
        """The model's abilities; see the class for those of unknown models."""
        return self._model_info

    def _to_config(self) -> BaseOllamaClientConfigurationConfigModel:
        return self._config.model_copy()

    def _take(self, known: KnownModel) -> None:
        config = self._config
        self._model_info = choose_model_info(
            config.model, config.model_info, config.model_capabilities, known.info
        )
        self._context = known.context

    async def _learn(self) -> None:
        """Ask Ollama what the model can do, if nobody has said so."""
        if not self._must_ask:
            return
        with self._endpoint.errors():
            told = await self._post("/api/show", {"model": self.model})
        self._take(told_model(self.model, told))
        self._must_ask = False

    def _body(
        self,
        messages: Sequence[LLMMessage],
        tools: Sequence[Tool | ToolSchema],
        tool_choice: ToolChoice,
        json_output: bool | type[BaseModel] | None,
        extra: Mapping[str, Any],
    ) -> Wire:
        arguments = CreateArgumentsConfigModel(**extra).wire(self._defaults)
        form = wire_format(json_output, self._model_info)
        if form and "format" in arguments:
            raise ValueError("json_output and format can't be given together.")
        offered = wire_tools(tools, tool_choice, self._model_info)
        return {
            "model": self.model,
            "messages": wire_messages(messages, self._model_info),
            **({"tools": offered} if offered else {}),
            **arguments,
            **form,
        }

    async def _complete(self, *asked: Any) -> CreateResult:
        await self._learn()
        body = self._body(*asked)
        with self._endpoint.errors():
            response = await self._post("/api/chat", {**body, "stream": False})
            answer = Answer()
            answer.add(self._checked(response))
            result = self._count_usage(answer.result())
        log_call(body["messages"], response, result)
        return result

    async def _post(self, path: str, body: Wire) -> Any:
        async with Deadline(self._endpoint, self._deadline).limit():
            response = await self._http.post(path, json=body)
        if response.is_error:
            raise self._endpoint.refused_response(response)
        return parse_json(response.content)

    async def _stream(self, *asked: Any) -> AsyncGenerator[Any, None]:
        await self._learn()
        body = self._body(*asked)
        answer = Answer()
        with self._endpoint.errors():
            deadline = Deadline(self._endpoint, self._deadline)
            response = await self._open({**body, "stream": True}, deadline)
            lines = split_lines(response.aiter_bytes())
            async with closing_response(response, lines) as parts:
                log_stream_start(body["messages"])
                async for part in parts:
                    deadline.check()
                    if part.strip() and (text := answer.add(self._checked(parse_json(part)))):
                        handed = deadline.now()
                        yield text
                        deadline.resume(handed)
            result = self._count_usage(answer.result())
            log_stream_end(result)
            yield result

    async def _open(self, body: Wire, deadline: Deadline) -> httpx.Response:
        """The response without its body, to be closed by the caller."""
        request = self._http.build_request("POST", "/api/chat", json=body)
        async with deadline.limit():
            response = await self._http.send(request, stream=True)
            if response.is_error:
                await response.aread()
                raise self._endpoint.refused_response(response)
        return response

    def _checked(self, part: Any) -> Mapping[str, Any]:
        if not isinstance(part, dict):
            raise BadAnswer("The answer is not what the API promises")
        fields = cast("Mapping[str, Any]", part)
        if error := fields.get("error"):
            raise self._endpoint.refusal(None, str(error))
        return fields

    def _count_usage(self, result: CreateResult) -> CreateResult:
        self._usage += result.usage
        return result


def _with_format(settings: OllamaClientConfiguration) -> dict[str, Any]:
    """The settings with the deprecated `response_format` as a `format`."""
    plain = dict(settings)
    if (form := settings.get("response_format")) is not None:
        warnings.warn(
            "response_format is deprecated: use json_output of create().",
            DeprecationWarning,
            stacklevel=3,
        )
        if plain.get("format") is not None:
            raise ValueError("response_format and format can't be given together.")
        plain["format"] = form.model_json_schema()
    plain.pop("response_format", None)
    return plain
