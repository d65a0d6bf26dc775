"""Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from typing_extensions import override

from teams._tools.schema import ToolSchema
from teams.models._dialect import Dialect, Json, Request, fields_of, objects_of
from teams.models._draft import Draft
from teams.models._edge import arguments_text
from teams.models._errors import BadAnswer
from teams.models._past_calls import arguments_object
from teams.models._thought_marks import Marks
from teams.models._tokens import request_tokens
from teams.models._types import FinishReasons, LLMMessage, Wire
from teams.models.anthropic._body import ANSWER_TOOL, ask_for_json, mark_for_cache, settle_thinking
from teams.models.anthropic._catalog import ClaudeModel
from teams.models.anthropic._request import Turns, tool_arguments
from teams.models.anthropic._signed import SignedAnswers

_DELTAS: Mapping[str, str] = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": "partial_json",
}
_MOST_PAUSES = 5
"""Times that a paused answer is continued."""


@dataclass(kw_only=True)
class AnthropicDialect(Dialect):
    """The form for one model; `create_args` go with every request."""

    finishes: ClassVar[Mapping[str, FinishReasons]] = {
        "end_turn": "stop",
        "stop_sequence": "stop",
        "tool_use": "stop",  # without calls it was the tool that holds the answer
        "max_tokens": "length",
        "model_context_window_exceeded": "length",
        "refusal": "content_filter",
    }
    prompt_counts: ClassVar[Sequence[str]] = (
        "input_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
    )
    completion_count: ClassVar[str] = "output_tokens"

    marks: Marks | None = None
    create_args: Wire
    known: ClaudeModel
    prompt_caching: bool
    signed: SignedAnswers = field(default_factory=SignedAnswers)

    def __post_init__(self) -> None:
        self.create_args = {"max_tokens": self.known.answer_tokens, **self.create_args}
        self.answer_limit = self.create_args["max_tokens"]
        self.context = self.known.context
        self._turns = Turns(goes_on=self.known.goes_on, signed=self.signed)

    @override
    def body(self, request: Request) -> Wire:
        system, turns = self._turns.write(request.messages)
        body: Wire = {
            **self.create_args,
            "system": system,
            "messages": turns,
            **tool_arguments(request, turns),
            **request.extra,
            "stream": request.stream or None,
        }
        ask_for_json(body, request.json_output, formats=self.known.formats)
        settle_thinking(body)
        if self.prompt_caching:
            mark_for_cache(body)
        return {name: value for name, value in body.items() if value not in (None, "")}

    @override
    def count(self, messages: Sequence[LLMMessage], tools: Sequence[ToolSchema]) -> int:
        system, turns = self._turns.write(messages)
        request = Request(messages=messages, tools=tools)
        definitions = tool_arguments(request, turns).get("tools", [])
        wire = [{"system": system}, *turns] if system else turns
        return request_tokens(wire, definitions, encoding="cl100k_base")

    @override
    def decode(self, event: Json, draft: Draft) -> str:
        match event.get("type"):
            case "message_start":
                draft.begun = True
                draft.count(fields_of(event.get("message")).get("usage"))
            case "message":
                draft.begun = True
                _end(event, draft)
                blocks = enumerate(objects_of(event.get("content")))
                return "".join([_begin_block(place, block, draft) for place, block in blocks])
            case "content_block_start":
                return _begin_block(
                    event.get("index"), fields_of(event.get("content_block")), draft
                )
            case "content_block_delta":
                return _grow_block(event.get("index"), fields_of(event.get("delta")), draft)
            case "message_delta":
                _end({**fields_of(event.get("delta")), "usage": event.get("usage")}, draft)
            case "message_stop":
                draft.complete = True
            case "ping" if draft.finish:  # of a server that never says message_stop
                draft.complete = True
            case str():  # a ping, the end of a block, or something new
                pass
            case _:
                raise BadAnswer("The answer is not what the API promises")
        return ""

    @override
    def resume(self, body: Wire, draft: Draft) -> Wire | None:
        # platform.claude.com/docs: build-with-claude/handling-stop-reasons, pause_turn.
        if draft.finish != "pause_turn" or not draft.blocks or not draft.begin_again(_MOST_PAUSES):
            return None
        said = [_whole_block(*each) for each in draft.blocks.values()]
        return {**body, "messages": [*body["messages"], {"role": "assistant", "content": said}]}

    @override
    def keep(self, draft: Draft) -> None:
        if calls := [call.whole({}) for call in draft.calls]:
            self.signed.keep(calls, [_whole_block(*each) for each in draft.blocks.values()])


def _end(ending: Json, draft: Draft) -> None:
    draft.count(ending.get("usage"))
    draft.finish = str(ending.get("stop_reason") or "")
    if draft.finish == "refusal":
        details: Json = fields_of(ending.get("stop_details"))
        why = details.get("explanation") or details.get("category") or "it gave no reason"
        draft.withheld = f"The model refused to answer: {why}"


def _begin_block(index: object, block: Json, draft: Draft) -> str:
    draft.blocks[index] = block, {}
    match block.get("type"):
        case "text":
            return draft.say(block.get("text") or "")
        case "thinking":
            draft.think(block.get("thinking") or "")
        case "tool_use" if _is_answer(block, draft):
            return draft.say(arguments_text(block["input"])) if block.get("input") else ""
        case "tool_use":
            given = block.get("input")
            call = draft.add_call(block.get("id") or "", block.get("name") or "", given or "")
            draft.open_calls[index] = call
        case _:
            pass
    return ""


def _grow_block(index: object, delta: Json, draft: Draft) -> str:
    name = _DELTAS.get(delta.get("type", ""))
    if name is None or index not in draft.blocks:
        return ""
    block, pieces = draft.blocks[index]
    piece: str = delta.get(name) or ""
    pieces.setdefault(name, []).append(piece)
    if name == "text" or (name == "partial_json" and _is_answer(block, draft)):
        return draft.say(piece)
    if name == "thinking":
        draft.think(piece)
    elif name == "partial_json" and index in draft.open_calls:
        draft.open_calls[index].arguments.append(piece)
    return ""


def _is_answer(block: Json, draft: Draft) -> bool:
    """True for the call that is the answer in a schema's form."""
    own = ANSWER_TOOL in draft.names
    return draft.structured and not own and block.get("name") == ANSWER_TOOL


def _whole_block(block: Json, pieces: Mapping[str, list[str]]) -> Wire:
    """The block as it would have come in a whole message."""
    grown: Wire = {
        name: f"{block.get(name) or ''}{''.join(texts)}"
        for name, texts in pieces.items()
        if name != "partial_json"
    }
    if text := "".join(pieces.get("partial_json", ())).strip():
        grown["input"] = arguments_object(text)
    return {**block, **grown}
