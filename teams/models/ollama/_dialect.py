"""Ollama's chat API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from teams._tools.schema import ToolSchema
from teams.models._dialect import Dialect, Json, Request, fields_of, objects_of
from teams.models._draft import Draft
from teams.models._errors import BadAnswer
from teams.models._tokens import request_tokens
from teams.models._types import FinishReasons, LLMMessage, Wire
from teams.models.ollama._config import CreateArgumentsConfigModel
from teams.models.ollama._request import wire_format, wire_messages, wire_schemas, wire_tools


@dataclass(kw_only=True)
class OllamaDialect(Dialect):
    """The form for one model; `defaults` go with every request."""

    finishes: ClassVar[Mapping[str, FinishReasons]] = {"stop": "stop", "length": "length"}
    prompt_counts: ClassVar[Sequence[str]] = ("prompt_eval_count",)
    completion_count: ClassVar[str] = "eval_count"

    model: str
    defaults: Wire
    must_ask: bool
    """The model's abilities are not known before the first request."""

    def __post_init__(self) -> None:
        limit: int = self.defaults.get("options", {}).get("num_predict") or 0
        self.answer_limit = limit if limit > 0 else None

    @override
    def body(self, request: Request) -> Wire:
        arguments = CreateArgumentsConfigModel(**request.extra).wire(self.defaults)
        form = wire_format(request.json_output)
        if form and "format" in arguments:
            raise ValueError("json_output and format can't be given together.")
        offered = wire_tools(request)
        return {
            "model": self.model,
            "messages": wire_messages(request.messages),
            **({"tools": offered} if offered else {}),
            **arguments,
            **form,
            "stream": request.stream,
        }

    @override
    def count(self, messages: Sequence[LLMMessage], tools: Sequence[ToolSchema]) -> int:
        wire = wire_messages(messages)
        for message in wire:
            if images := message.pop("images", None):
                message["images"] = [{"type": "image_url"}] * len(images)  # counted alike
        return request_tokens(wire, wire_schemas(tools), encoding="cl100k_base")

    @override
    def decode(self, event: Json, draft: Draft) -> str:
        said, done = fields_of(event.get("message")), bool(event.get("done"))
        if not (said or done):
            raise BadAnswer("The answer is not what the API promises")
        draft.begun = True
        draft.think(said.get("thinking") or "")
        for call in objects_of(said.get("tool_calls")):
            function = fields_of(call.get("function"))
            # Ollama gives no ids, or none that are different from those of the turn before.
            draft.add_call("", function.get("name") or "", function.get("arguments"))
        if done:
            draft.complete = True
            draft.finish = event.get("done_reason") or "done"
            draft.count(event)
        return draft.say(said.get("content") or "")

    @override
    def context_tokens(self) -> int:
        context: int | None = self.defaults.get("options", {}).get("num_ctx") or self.context
        if context is None:
            raise ValueError(
                f"The context length of the model {self.model!r} is not known"
                f"{' before the first request' if self.must_ask else ''}: give num_ctx."
            )
        return context
