"""Tool calls, their suspending questions, and the caller's context variables."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal, cast

from teams._base.whole_text import whole_texts

InputKind = Literal["text", "choice", "choices", "approval"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingInput:
    """One question a suspended run waits for.

    `request_id` is stable: a run that is resumed before the answer is there asks under the same id
    again. `agent` is the path to the asking agent, outermost participant first.
    """

    request_id: str
    agent: tuple[str, ...]
    kind: InputKind
    prompt: str
    call_id: str | None = None


class InputRequired(Exception):
    """An input, approval, tool or interception function has no answer yet.

    The run suspends instead of failing: its `TaskResult.pending` names the questions,
    `save_state()` is complete, and running again with `task=None` asks the same questions under the
    same ids.
    """

    def __init__(
        self,
        prompt: str = "",
        *,
        request_id: str | None = None,
        kind: InputKind = "text",
        requests: Sequence[PendingInput] = (),
    ) -> None:
        super().__init__(prompt or "; ".join(request.prompt for request in requests))
        self.prompt = prompt
        self.request_id = request_id
        self.kind: InputKind = kind
        self.requests = tuple(requests)

    def pending(
        self, *, agent: tuple[str, ...], request_id: str, call_id: str | None = None
    ) -> list[PendingInput]:
        """The agent's questions; `request_id` serves where the raiser named none."""
        if self.requests:
            return list(self.requests)
        return [
            PendingInput(
                request_id=self.request_id or request_id,
                agent=agent,
                kind=self.kind,
                prompt=self.prompt,
                call_id=call_id,
            )
        ]


@dataclass(slots=True)
class FunctionCall:
    """A call from a model; `arguments` is JSON text as written."""

    id: str
    arguments: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call a model asked for, as the interception point sees it.

    `key` is unique for ever and stable when a run is resumed (model call ids are not): use it for
    journals. `arguments` is the JSON text as the model wrote it, possibly malformed. `agent` is the
    path of the caller, outermost first. `handoff` marks a hand-off, which changes who speaks and
    does nothing else. `idempotent`, `read_only`, `own_output`, `asks`, `in_state` and `server` are
    what the tool promises (`ToolTraits`). The agent has no tool of that name unless it is `known`:
    the call then does nothing but say so. A call that is `begun` was cut off before, and its
    outcome is unknown: it runs again only if it is idempotent. What a server asks for in the midst
    of another call has the key of that call in `within`: it can't wait by suspending the run.
    `schema` is the tool as the model was told of it (its name, description and parameters), None
    where that is not known.
    """

    key: str
    id: str
    name: str
    arguments: str
    agent: tuple[str, ...]
    handoff: bool = False
    idempotent: bool = False
    read_only: bool = False
    own_output: bool = False
    asks: bool = False
    in_state: bool = False
    known: bool = True
    server: str = ""
    begun: bool = False
    within: str = ""
    schema: Mapping[str, object] | None = field(default=None, compare=False, repr=False)

    @property
    def full_name(self) -> str:
        """The tool's name, after that of its server: `github/create_issue`."""
        return f"{self.server}/{self.name}" if self.server else self.name

    def parsed_arguments(self) -> Mapping[str, Any] | None:
        """The arguments as an object; None if they are anything else."""
        try:
            return parse_arguments(self.arguments)
        except ValueError:
            return None


def parse_arguments(text: str) -> dict[str, Any]:
    """The arguments of a call, as a model wrote them.

    Raises ValueError, with a sentence for the model, for anything but an object within the bounds
    of `check_arguments`.
    """
    check_arguments(text)
    try:
        parsed: object = json.loads(text or "{}")
    except ValueError as error:  # also of a number that is too long
        raise ValueError(f"the arguments are not valid JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise ValueError("the arguments must be a JSON object.")
    arguments = cast("dict[str, Any]", parsed)
    return whole_texts(arguments) if "\\u" in text or not text.isascii() else arguments


def check_arguments(text: str) -> None:
    """Raise ValueError for arguments that are too much, unparsed.

    Copying and checking what is nested deeper than `DEEPEST` would go as deep.
    """
    if is_too_large(text):
        raise ValueError(f"the arguments have more than {LARGEST_ARGUMENTS:,} bytes.")
    if is_deeper(text, DEEPEST):
        raise ValueError(f"the arguments are nested deeper than {DEEPEST} levels.")
    if _has_more_values(text, MOST_VALUES):
        raise ValueError(f"the arguments have more than {MOST_VALUES:,} values.")


def is_too_large(text: str) -> bool:
    """True for arguments of too many bytes."""
    # Most are far below it, and need not be encoded to see that.
    return len(text) > LARGEST_ARGUMENTS or (
        len(text) > LARGEST_ARGUMENTS // 4 and len(text.encode()) > LARGEST_ARGUMENTS
    )


def _has_more_values(text: str, most: int) -> bool:
    """True if JSON holds more values, without parsing it."""
    if text.count(",") + text.count("[") + text.count("{") < most:
        return False
    # A list or object holds one more than its commas, or none.
    marks = (found for found in _VALUES.finditer(text) if found[0] in ",[{")
    return next(islice(marks, most - 1, None), None) is not None


def is_deeper(text: str, levels: int) -> bool:
    """True if JSON nests lists and objects deeper, without parsing it."""
    if text.count("[") + text.count("{") <= levels:
        return False
    depth = 0
    for found in _NESTING.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        if depth > levels:
            return True
    return False


DEEPEST = 100
"""Levels of lists and objects in a call's arguments."""

LARGEST_ARGUMENTS = 1_000_000
"""Bytes of a call's arguments."""
MOST_VALUES = 10_000
"""Values in a call's arguments, at any depth."""

_NESTING = re.compile(r'"(?:[^"\\]++|\\.)*+"?+|[][{}]', re.DOTALL)
_VALUES = re.compile(r'"(?:[^"\\]++|\\.)*+"?+|[,[{]', re.DOTALL)


CURRENT_CALL: ContextVar[ToolCall | None] = ContextVar("teams_tool_call", default=None)
AGENT_PATH: ContextVar[tuple[str, ...]] = ContextVar("teams_agent_path", default=())


def current_tool_call() -> ToolCall | None:
    """The call being executed, for the tool itself; None outside of one."""
    return CURRENT_CALL.get()
