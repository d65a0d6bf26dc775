"""Asks an agent of Azure AI by runs of a thread."""

from __future__ import annotations

import asyncio
import hashlib
import json
from base64 import b64encode
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from teams._base.image import Image
from teams._base.tool_call import FunctionCall
from teams.models._dialect import Request
from teams.models._edge import reported_usage
from teams.models._endpoint import ModelEndpoint
from teams.models._errors import BadAnswer, ModelError, ModelTimeout, ModelUnavailable
from teams.models._exchange import Deadline
from teams.models._hosted import ABLE, parts_of, ran_there, since_last_of
from teams.models._outgoing import Asked
from teams.models._types import (
    CreateResult,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    HostedResult,
    SystemMessage,
    UserMessage,
    Wire,
)
from teams.models._wire import WireClient
from teams.models.openai._dialect import OpenAIDialect
from teams.models.openai._request import tool_definitions

_ACTIVE = ("queued", "in_progress", "cancelling")
_POLL_SECONDS = 0.5
_CANCEL_SECONDS = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class _Endpoint(ModelEndpoint):
    @override
    def sdk_errors(self) -> tuple[type[Exception], ...]:
        from azure.core.exceptions import AzureError  # an optional package

        return (AzureError,)

    @override
    def sdk_failure(self, error: Exception) -> ModelError | None:
        from azure.core import exceptions

        match error:
            case exceptions.HttpResponseError():
                said = error.error or error  # the service's own words
                code = error.error and error.error.code
                return self.refusal(error.status_code, str(said.message), code)
            case exceptions.ServiceRequestTimeoutError() | exceptions.ServiceResponseTimeoutError():
                return self.failure(ModelTimeout, "The service did not answer in time")
            case exceptions.AzureError():
                return self.unreachable(error)
            case _:
                return None


class AzureRuns(WireClient):
    """Runs of one thread; `settings` gives each run's other fields."""

    def __init__(
        self, agents: Any, model: str, source: str, settings: Callable[[Sequence[Any]], Wire]
    ) -> None:
        self._agents, self._model, self._source, self._settings = agents, model, source, settings
        dialect = OpenAIDialect(info=ABLE, provider="azure.ai.inference")
        endpoint = _Endpoint(
            model=model, endpoint="Azure AI", key_variable="the credential", secrets=()
        )
        super().__init__(dialect, agents, endpoint)
        self.agent_id: str | None = None
        self.own_agent_id: str | None = None
        """The agent that was made here, which may be deleted."""
        self.thread_id: str | None = None

    @override
    async def close(self) -> None:
        """Nothing: whoever made the SDK's client closes it."""

    def _body(self, request: Request) -> Wire:
        functions = tool_definitions(request.tools)
        new = since_last_of(self._source, request.messages)
        results = [
            result
            for message in new
            if isinstance(message, FunctionExecutionResultMessage)
            for result in message.content
        ]
        said = [
            {"role": "user", "content": [*map(_part, parts_of(message))]}
            for message in new
            if isinstance(message, UserMessage)
        ]
        run = self._settings(functions)
        told = [each.content for each in request.messages if isinstance(each, SystemMessage)]
        if told:  # the agent's own are among the settings
            run["instructions"] = "\n\n".join([*told, *filter(None, [run.get("instructions")])])
        body = {"messages": said, "results": results, "run": run}
        return {**body, "previous": request.extra.get("previous_response_id")}

    @override
    async def _complete(self, asked: Asked) -> HostedResult:
        request = await self._request(asked)
        body, own = self._body(request), request.own_names
        with self._errors():
            async with Deadline(self._endpoint, self._deadline).limit():
                result = await self._result(await self._wait(await self._start(body)))
        if not isinstance(result.content, str):
            for call in result.content:
                call.name = own.get(call.name, call.name)
        return result

    @override
    async def _stream(self, asked: Asked) -> AsyncGenerator[str | CreateResult, None]:
        yield await self._complete(asked)

    async def _start(self, body: Wire) -> Any:
        """The run that waits for the results, or a new one."""
        results: list[FunctionExecutionResult] = body["results"]
        said, previous, runs = body["messages"], body["previous"], self._agents.runs
        if self.thread_id is None:
            self.thread_id = (await self._agents.threads.create(body={})).id
        elif run := await self._newest(said, results, previous):
            return run
        if results and previous:
            run = await runs.get(self.thread_id, previous)
            asks = run["status"] == "requires_action" and not said
            wanted = {call.id for call in _calls(run)}
            if asks and wanted == {result.call_id for result in results}:
                outputs = [
                    {"tool_call_id": each.call_id, "output": each.content} for each in results
                ]
                return await runs.submit_tool_outputs(
                    self.thread_id, previous, body={"tool_outputs": outputs}
                )
            if not said and run["status"] in (*_ACTIVE, "requires_action", "completed"):
                return run  # an interrupted attempt has sent them
            await self._end(run)
            # The run that asked for them is over: they are told as what they are.
            told = "\n".join(f"Result of {each.name}: {each.content}" for each in results)
            said = [{"role": "user", "content": [{"type": "text", "text": told}]}, *said]
        if self.agent_id is None:
            made = await self._agents.create_agent(
                body={"model": self._model, "name": self._source}
            )
            self.agent_id = self.own_agent_id = made.id
        fields = {"assistant_id": self.agent_id, "additional_messages": said, **body["run"]}
        mark = {"request": _mark(body["messages"], results, previous)}
        fields["metadata"] = _part_of(fields, "metadata") | mark
        return await runs.create(self.thread_id, body=fields)

    async def _newest(
        self, said: list[Wire], results: list[FunctionExecutionResult], previous: str | None
    ) -> Any:
        """The run that an interrupted attempt has started for this request.

        Any other run that is under way is ended: the thread takes one at a time.
        """
        async for run in self._agents.runs.list(self.thread_id, limit=1, order="desc"):
            same = _part_of(run, "metadata").get("request") == _mark(said, results, previous)
            if same and run["status"] in (*_ACTIVE, "requires_action", "completed"):
                return run
            if run["id"] != previous:
                await self._end(run)
        return None

    async def _end(self, run: Any) -> None:
        if run["status"] in (*_ACTIVE, "requires_action"):
            await self._agents.runs.cancel(self.thread_id, run["id"])
            await self._wait(run)

    async def _wait(self, run: Any) -> Any:
        """The run once it stands still; a cancelled wait ends it."""
        pause = _POLL_SECONDS / 16
        try:
            while run["status"] in _ACTIVE:
                await asyncio.sleep(pause)
                pause = min(2 * pause, _POLL_SECONDS)
                run = await self._agents.runs.get(self.thread_id, run["id"])
        except asyncio.CancelledError:
            with suppress(Exception):
                async with asyncio.timeout(_CANCEL_SECONDS):
                    await self._agents.runs.cancel(self.thread_id, run["id"])
            raise
        return run

    async def _result(self, run: Any) -> HostedResult:
        """The answer of a run that is over, or its calls."""
        calls = _calls(run)
        match run["status"]:
            case "requires_action" if calls:
                return await self._answer(run, calls)
            case "completed" | "incomplete":
                return await self._messages(run)
            case "failed":
                raise self._endpoint.refusal(
                    None, _reason(run), _part_of(run, "last_error").get("code")
                )
            case "expired":
                raise ModelTimeout("The run has expired at the service")
            case "cancelled":
                raise ModelUnavailable("The run was cancelled at the service")
            case other:
                raise BadAnswer(f"The run is {other!r}, and wants what is not done here")

    async def _messages(self, run: Any) -> HostedResult:
        texts: list[str] = []
        images: list[str] = []
        cited: list[Wire] = []
        listed = self._agents.messages.list(self.thread_id, run_id=run["id"], order="asc")
        async for message in listed:
            for part in message["content"] if message["role"] == "assistant" else ():
                if part["type"] == "text":
                    texts.append(part["text"]["value"])
                    cited += [note.as_dict() for note in part["text"].get("annotations") or ()]
                elif part["type"] == "image_file":
                    content = await self._agents.files.get_content(part["image_file"]["file_id"])
                    data = b"".join([piece async for piece in content])
                    images.append(b64encode(data).decode())
        if not texts and not images:
            raise BadAnswer(f"The run is {run['status']} without an answer: {_reason(run)}")
        finish = "stop"
        if run["status"] == "incomplete":
            filtered = _part_of(run, "incomplete_details").get("reason") == "content_filter"
            finish = "content_filter" if filtered else "length"
        answer = await self._answer(run, "\n".join(texts), finish)
        return answer.model_copy(update={"images": images, "citations": cited})

    async def _answer(
        self, run: Any, content: str | list[FunctionCall], finish: Any = "function_calls"
    ) -> HostedResult:
        result = HostedResult(
            finish_reason=finish,
            content=content,
            usage=reported_usage(run.get("usage"), ["prompt_tokens"], "completion_tokens"),
            cached=False,
            response_id=run["id"],
            used=await self._used(run),
        )
        self._usage += result.usage
        return result

    async def _used(self, run: Any) -> list[FunctionExecutionResult]:
        """The service's own tools that it has run."""
        found: list[FunctionExecutionResult] = []
        async for step in self._agents.run_steps.list(self.thread_id, run["id"]):
            calls = _part_of(step, "step_details").get("tool_calls") or ()
            there = (call for call in calls if call["type"] != "function")
            found += [ran_there(call["type"], str(call["id"])) for call in there]
        return found


def _part_of(fields: Any, name: str) -> dict[str, Any]:
    """An object in the service's answer; empty for none."""
    return dict(fields.get(name) or {})


def _calls(run: Any) -> list[FunctionCall]:
    wanted = _part_of(_part_of(run, "required_action"), "submit_tool_outputs")
    calls: list[dict[str, Any]] = [
        {"id": call["id"], **call["function"]}
        for call in wanted.get("tool_calls") or ()
        if call["type"] == "function"
    ]
    return [FunctionCall(call["id"], call["arguments"], call["name"]) for call in calls]


def _reason(run: Any) -> str:
    error = _part_of(run, "last_error") or _part_of(run, "incomplete_details")
    return str(error.get("message") or error.get("reason") or "no reason given")


def _mark(said: list[Wire], results: list[FunctionExecutionResult], previous: str | None) -> str:
    """The request's mark on its run: the same request has the same."""
    told = [previous, said, [result.model_dump() for result in results]]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:32]


def _part(part: str | Image) -> Wire:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": "image_url", "image_url": {"url": part.data_uri}}
