"""The base of agents whose conversation and tools a provider keeps."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from typing_extensions import override

from teams._base.cancellation import CancellationToken
from teams._base.image import Image
from teams._contract.turn_record import TurnRecord
from teams._messages.base import BaseChatMessage
from teams._messages.chat import MultiModalMessage
from teams._messages.events import ModelClientStreamingChunkEvent, ToolCallExecutionEvent
from teams._messages.factory import MessageFactory
from teams._snapshot.description import ContextField, MemberField, RecordField, ValueField
from teams._tools.base import BaseTool
from teams.agents._assistant import AssistantAgent
from teams.agents._assistant_answers import AnswerFormats
from teams.agents._assistant_tools import ToolFunction
from teams.models._client import ChatCompletionClient
from teams.models._errors import ModelError
from teams.models._types import CreateResult, HostedResult

HOSTED: Mapping[str, str] = {"hosted": "provider"}
"""Metadata of an event about tools that the provider has run: no gate has seen the calls."""

TOOL_ROUNDS = 20
"""Rounds of calls in one turn; then the model has to answer."""

_FORGOTTEN = "previous_response_not_found"


class HostedAgent(AssistantAgent):
    """An agent that goes on from an answer kept by its provider.

    Functions run here, as an assistant's do; an event with the metadata `HOSTED` tells of tools
    that ran at the provider.
    """

    component_version = 1

    def __init__(
        self,
        name: str,
        description: str,
        model_client: ChatCompletionClient,
        instructions: str,
        tools: Sequence[BaseTool[Any, Any] | ToolFunction],
        *,
        stream: bool = False,
        keeps: bool = True,
    ) -> None:
        super().__init__(
            name,
            model_client,
            tools=tools or None,
            description=description,
            system_message=instructions or None,
            model_client_stream=stream,
            reflect_on_tool_use=True,
            max_tool_iterations=TOOL_ROUNDS,
        )
        self._formats = _HostedAnswers(name, None, "{result}", None)
        self._keeps = keeps
        self._response_id: str | None = None

    @property
    @override
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        return [*super().produced_message_types, MultiModalMessage]

    @override
    async def _request(self, turn: TurnRecord, token: CancellationToken) -> dict[str, Any]:
        request = await super()._request(turn, token)
        if self._keeps and self._response_id:
            request["extra_create_args"] = {"previous_response_id": self._response_id}
        return request

    @override
    async def _call_model(
        self, turn: TurnRecord, messages: Sequence[BaseChatMessage], token: CancellationToken
    ) -> AsyncGenerator[ModelClientStreamingChunkEvent, None]:
        try:
            async with aclosing(super()._call_model(turn, messages, token)) as stream:
                async for item in stream:
                    yield item
        except ModelError as error:
            if error.code != _FORGOTTEN or not self._response_id:
                raise
            self._response_id = None  # the next request tells the whole conversation

    @override
    async def _accept(self, turn: TurnRecord, answer: CreateResult) -> None:
        known = len(self._model_context.history)
        await super()._accept(turn, answer)
        if not isinstance(answer, HostedResult):
            return
        if len(self._model_context.history) > known:
            self._response_id = answer.response_id
        if answer.used:
            event = ToolCallExecutionEvent(
                content=answer.used, source=self.name, metadata=dict(HOSTED)
            )
            turn.produced.appendleft(event)

    @override
    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        await super().on_reset(cancellation_token)
        self._response_id = None

    _state_fields = (
        ContextField(),
        MemberField("_tool_states", key="tools", prefix="tools/", optional=True),
        RecordField("turn", "_turn", load=TurnRecord.load, put=AssistantAgent._restore_turn),
        ValueField("response_id", "_response_id"),
    )


class HistoryField(ContextField):
    """The messages as `history`, where AutoGen keeps role and content."""

    @override
    async def save(self, owner: Any, state: dict[str, Any]) -> None:
        state["history"] = (await owner.model_context.save_state())["messages"]

    @override
    async def load(self, owner: Any, state: Mapping[str, Any], types: MessageFactory) -> None:
        told = [_llm_message(each, owner.name) for each in state.get("history") or ()]
        await owner.model_context.load_state({"messages": told})


def _llm_message(entry: Mapping[str, Any], agent: str) -> Mapping[str, Any]:
    match entry:
        case {"role": str(role), "content": str(content)}:
            own = role == "assistant"
            kind = "AssistantMessage" if own else "UserMessage"
            return {"type": kind, "content": content, "source": agent if own else "user"}
        case _:
            return entry


class _HostedAnswers(AnswerFormats):
    """Texts with the images and sources that the provider has found."""

    @override
    def answer(self, answer: CreateResult, message_id: str) -> BaseChatMessage:
        message = super().answer(answer, message_id)
        if not isinstance(answer, HostedResult):
            return message
        if answer.images:
            shown = [Image.from_base64(each) for each in answer.images]
            message = MultiModalMessage(
                id=message_id,
                content=[*filter(None, [message.to_text()]), *shown],
                source=self.source,
                models_usage=answer.usage,
            )
        if answer.citations:
            cited = {**message.metadata, "citations": json.dumps(answer.citations)}
            message = message.model_copy(update={"metadata": cited})
        return message
