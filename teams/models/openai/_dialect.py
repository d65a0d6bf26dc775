"""OpenAI's chat completions.

What arrives is read leniently: servers that call themselves compatible leave out the index of a
tool call, its id, the usage, or send calls in one piece.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from typing_extensions import override

from teams._tools.schema import ToolSchema
from teams.models._dialect import Dialect, Json, Request, fields_of, objects_of
from teams.models._draft import Draft
from teams.models._tokens import request_tokens
from teams.models._types import (
    ChatCompletionTokenLogprob,
    FinishReasons,
    LLMMessage,
    ModelFamily,
    TopLogprob,
    Wire,
)
from teams.models.openai._request import Messages, response_format, tool_choice, tool_definitions

_MISTRAL_ID = re.compile(r"[a-zA-Z0-9]{9}")
"""Mistral's servers say so, and vLLM's templates (github.com/vllm-project/vllm/issues/9019)."""

_ALTERNATING = re.compile(r"gemma-?[123]?\b|llama-?2\b|mi[sx]tral-\d+x?\d*b", re.IGNORECASE)
"""Templates say "Conversation roles must alternate": see google/gemma-2-9b-it and
mistralai/Mistral-7B-Instruct-v0.3 on huggingface.co."""


@dataclass(kw_only=True)
class OpenAIDialect(Dialect):
    """The form for one model; `create_args` go with every request."""

    finishes: ClassVar[Mapping[str, FinishReasons]] = {
        "stop": "stop",
        "length": "length",
        "tool_calls": "function_calls",
        "function_call": "function_calls",
        "content_filter": "content_filter",
    }
    prompt_counts: ClassVar[Sequence[str]] = ("prompt_tokens",)
    completion_count: ClassVar[str] = "completion_tokens"

    # Kimi's own ids are "functions.weather:0" (huggingface.co/moonshotai/Kimi-K2-Instruct), and
    # OpenAI refuses long ones (github.com/camel-ai/camel/issues/2215).
    legal_id: re.Pattern[str] = re.compile(r"\S{1,40}")
    create_args: Wire = field(default_factory=dict[str, object])
    name_field: bool = True
    name_prefixes: bool = False

    def __post_init__(self) -> None:
        self.create_args = dict(self.create_args)
        self._parallel_calls = self.create_args.pop("parallel_tool_calls", None)
        self._stream_options = self.create_args.pop("stream_options", None)
        self.messages = Messages(
            info=self.info, name_field=self.name_field, name_prefixes=self.name_prefixes
        )
        if ModelFamily.is_mistral(self.info["family"]):
            self.legal_id = _MISTRAL_ID
        self.alternates = bool(_ALTERNATING.search(str(self.create_args.get("model"))))
        limits = self.create_args
        self.answer_limit = limits.get("max_completion_tokens") or limits.get("max_tokens")

    @override
    def body(self, request: Request) -> Wire:
        body: Wire = {**self.create_args, "messages": self.messages.write(request.messages)}
        if request.tools:
            body["tools"] = tool_definitions(request.tools)
            body["tool_choice"] = tool_choice(request)
            if self._parallel_calls is not None:
                body["parallel_tool_calls"] = self._parallel_calls
        body |= {**response_format(request.json_output), **request.extra}
        if request.stream:
            body["stream"] = True
            given = body.pop("stream_options", self._stream_options)
            if options := _stream_options(given, request.include_usage):
                body["stream_options"] = options
        return body

    @override
    def count(self, messages: Sequence[LLMMessage], tools: Sequence[ToolSchema]) -> int:
        older = self.info["family"] in (ModelFamily.GPT_4, ModelFamily.GPT_35)
        encoding = "cl100k_base" if older else "o200k_base"
        written = self.messages.write(messages)
        return request_tokens(written, tool_definitions(tools), encoding=encoding)

    @override
    def decode(self, event: Json, draft: Draft) -> str:
        if usage := event.get("usage"):
            draft.count(usage)
        choices = event.get("choices")
        draft.begun = draft.begun or "choices" in event
        choice = _first_choice(choices)
        draft.error = choice.get("error")
        if finish := choice.get("finish_reason"):
            draft.finish = str(finish)
        delta = fields_of(choice.get("delta"))
        if not delta and (message := fields_of(choice.get("message"))):
            return _read_rest(choice, message, draft, whole=True)
        content = delta.get("content")
        if len(delta) == 1 and isinstance(content, str) and not choice.get("logprobs"):
            return draft.say(content)
        return _read_rest(choice, delta, draft)


def _first_choice(choices: object) -> Json:
    return next((each for each in objects_of(choices) if not each.get("index")), fields_of(None))


def _read_rest(choice: Json, said: Json, draft: Draft, *, whole: bool = False) -> str:
    """Read a message, or a delta that has more than a text."""
    content = said.get("content") or ""
    # Both names are in use for the same thing.
    if reasoning := said.get("reasoning_content") or said.get("reasoning"):
        draft.think(str(reasoning))
    for part in objects_of(content):
        if part.get("type") == "thinking":
            draft.think(
                "".join(each.get("text") or "" for each in objects_of(part.get("thinking")))
            )
    refusal = str(said.get("refusal") or "")
    draft.refusal += refusal
    for call in objects_of(said.get("tool_calls")):
        _read_call(call, draft, whole=whole)
    if call := said.get("function_call"):  # the form before tools
        _read_call({"function": call}, draft, whole=whole)
    draft.logprobs += map(_logprob, objects_of(fields_of(choice.get("logprobs")).get("content")))
    texts = (each.get("text") or "" for each in objects_of(content))
    text = content if isinstance(content, str) else "".join(texts)
    return (draft.say(text) if text else "") + ("" if draft.structured else refusal)


def _read_call(call: Json, draft: Draft, *, whole: bool) -> None:
    function = fields_of(call.get("function"))
    call_id, name = call.get("id") or "", function.get("name") or ""
    arguments = function.get("arguments") or ""
    if whole:
        draft.add_call(call_id, name, arguments)
    else:
        draft.continue_call(call.get("index"), call_id, name, arguments)


def _logprob(token: Json) -> ChatCompletionTokenLogprob:
    tops = token.get("top_logprobs") or ()
    return ChatCompletionTokenLogprob(
        token=token["token"],
        logprob=token["logprob"],
        top_logprobs=[TopLogprob(top["logprob"], top.get("bytes")) for top in tops],
        bytes=token.get("bytes"),
    )


def _stream_options(given: Wire | None, include_usage: bool | None) -> Wire:
    """The options of a stream, or none."""
    options: Wire = {"include_usage": True} if given is None else dict(given)
    if include_usage is not None:
        if given and given.get("include_usage", include_usage) != include_usage:
            raise ValueError("include_usage and stream_options contradict each other.")
        options["include_usage"] = include_usage
    return options if options.get("include_usage") else {}
