"""The turn record: the progress of an agent's unfinished turn.

An agent that keeps one can be stopped at any item it yielded and goes on from there, in this
process or in the next one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal

from teams._base.construct import new_id
from teams._base.image import Image
from teams._base.tool_call import FunctionCall, PendingInput
from teams._messages.base import BaseAgentEvent, BaseChatMessage, as_chat_message
from teams._messages.factory import MessageFactory
from teams.models._conversation import error_results
from teams.models._types import FunctionExecutionResult

Item = BaseAgentEvent | BaseChatMessage

MESSAGE_TYPES: ContextVar[MessageFactory | None] = ContextVar("teams_message_types", default=None)
"""The types the team knows, while it loads the state of its participants."""

LEFT_OUT = "({left_out:,} more calls of this answer were left out: at most {calls} are made.)"

Phase = Literal["model", "tools", "reflect", "done"]


@dataclass(frozen=True, slots=True)
class Suspension:
    """A speaker's result when it waits for humans, until they have answered."""

    requests: tuple[PendingInput, ...]

    @property
    def stop_reason(self) -> str:
        """For people."""
        return "Waiting for input: " + "; ".join(request.prompt for request in self.requests)


@dataclass(slots=True)
class TurnRecord:
    """The record.

    `produced` holds what is ready but not yet handed out, `inner` what was handed out.
    """

    message_id: str = field(default_factory=new_id)
    """Id of the message the next model answer becomes; chunks name it."""
    phase: Phase = "model"
    iteration: int = 0
    taken: dict[str, None] = field(default_factory=dict[str, None])
    """Ids of the messages that are in the model context by now."""
    remembered: int = 0
    """Number of memories that have been queried."""
    produced: deque[Item] = field(default_factory=deque[Item])
    inner: list[Item] = field(default_factory=list[Item])
    batch: str = ""
    """Id of the open ToolCallRequestEvent; with a position it makes the key of a call."""
    calls: list[FunctionCall] = field(default_factory=list[FunctionCall])
    thought: str | None = None
    left_out: int = 0
    """Number of the answer's calls that were too many."""
    results: dict[str, FunctionExecutionResult] = field(
        default_factory=dict[str, FunctionExecutionResult]
    )
    """Results by call key."""
    pictures: dict[str, list[Image]] = field(default_factory=dict[str, list[Image]])
    """Images of results by call key."""
    begun: dict[str, None] = field(default_factory=dict[str, None])
    """Keys of the calls that have begun, have no result, and must not begin again."""
    final: BaseChatMessage | None = None
    """The answer, when only handing it out is left."""

    def key(self, position: int) -> str:
        """The key of the batch's call at this position."""
        return f"{self.batch}:{position}"

    def round_results(self) -> list[FunctionExecutionResult]:
        """The results of the complete batch, in the order of its calls."""
        results = [self.results[self.key(position)] for position in range(len(self.calls))]
        if self.left_out:
            said = LEFT_OUT.format(left_out=self.left_out, calls=len(self.calls))
            last = f"{results[-1].content}\n\n{said}"
            results[-1] = results[-1].model_copy(update={"content": last})
        return results

    def closed_results(self) -> list[FunctionExecutionResult]:
        """The results of the batch, and errors for those that it lacks."""
        known = [self.results.get(self.key(position)) for position in range(len(self.calls))]
        missing = error_results(self.calls)
        return [each or error for each, error in zip(known, missing, strict=True)]

    def round_pictures(self) -> list[Image]:
        """The images of the batch, in the order of its calls."""
        keys = map(self.key, range(len(self.calls)))
        return [picture for key in keys for picture in self.pictures.get(key, ())]

    def note_result(self, key: str, result: FunctionExecutionResult) -> None:
        """End the call with this key."""
        self.results[key] = result
        self.begun.pop(key, None)

    def dump(self, encode: Callable[[Item], Any]) -> dict[str, Any]:
        """The record as JSON data; `encode` writes one item."""
        record = {
            "message_id": self.message_id,
            "phase": self.phase,
            "iteration": self.iteration,
            "taken": list(self.taken),
            "remembered": self.remembered,
            "produced": [encode(item) for item in self.produced],
            "inner": [encode(item) for item in self.inner],
            "batch": self.batch,
            "calls": [
                {"id": call.id, "name": call.name, "arguments": call.arguments}
                for call in self.calls
            ],
            "thought": self.thought,
            "results": {
                key: result.model_dump(mode="json") for key, result in self.results.items()
            },
            "final": None if self.final is None else encode(self.final),
        }
        if self.left_out:
            record["left_out"] = self.left_out
        if self.pictures:
            pictures = self.pictures.items()
            record["pictures"] = {key: [each.to_base64() for each in of] for key, of in pictures}
        return {**record, "begun": list(self.begun)} if self.begun else record

    @classmethod
    def load(cls, data: Mapping[str, Any], decode: Callable[[Any], Item]) -> TurnRecord:
        """The inverse of `dump`. Raises KeyError, TypeError or ValueError for anything else."""
        return cls(
            message_id=data["message_id"],
            phase=data["phase"],
            iteration=data["iteration"],
            taken=dict.fromkeys(data["taken"]),
            remembered=data["remembered"],
            produced=deque(decode(item) for item in data["produced"]),
            inner=[decode(item) for item in data["inner"]],
            batch=data["batch"],
            calls=[FunctionCall(**call) for call in data["calls"]],
            thought=data["thought"],
            left_out=data.get("left_out", 0),
            results={
                key: FunctionExecutionResult.model_validate(value)
                for key, value in data["results"].items()
            },
            pictures={
                key: [Image.from_base64(each) for each in of]
                for key, of in data.get("pictures", {}).items()
            },
            begun=dict.fromkeys(data.get("begun", ())),  # most often there are none
            final=None if data["final"] is None else as_chat_message(decode(data["final"])),
        )
