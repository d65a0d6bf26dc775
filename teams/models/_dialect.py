"""The form in which a provider is asked and answers."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias, cast

from pydantic import BaseModel

from teams._tools.schema import ToolSchema
from teams.models._draft import Draft
from teams.models._thought import ThoughtParser
from teams.models._thought_marks import Marks
from teams.models._types import FinishReasons, LLMMessage, ModelInfo, Wire

Json: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A question to a model, valid for its dialect.

    `forced` is the name of the one tool that must be called. Tools have names that the provider
    takes; `own_names` has theirs. `left_out` says what could not be made valid.
    """

    messages: Sequence[LLMMessage]
    tools: Sequence[ToolSchema] = ()
    own_names: Mapping[str, str] = field(default_factory=dict[str, str])
    left_out: Sequence[str] = ()
    choice: Literal["auto", "required", "none"] = "auto"
    forced: str = ""
    json_output: bool | type[BaseModel] | None = None
    extra: Wire = field(default_factory=dict[str, object])
    stream: bool = False
    include_usage: bool | None = None


@dataclass(kw_only=True)
class Dialect(ABC):
    """A provider's form of requests and answers: three functions, and data.

    `info` and `context` (in tokens) are those of the model.
    """

    info: ModelInfo
    context: int | None = None
    answer_limit: int | None = None
    """Most tokens of an answer, if they are limited."""

    provider: str = ""
    """The provider's name in traces."""
    finishes: ClassVar[Mapping[str, FinishReasons]]
    """The provider's words for the end of an answer."""
    prompt_counts: ClassVar[Sequence[str]]
    completion_count: ClassVar[str]
    longest_name: ClassVar[int] = 64
    """Characters of a tool's name that the provider takes."""
    legal_id: re.Pattern[str] = re.compile(r"[a-zA-Z0-9_-]{1,40}")
    """Ids of calls that the provider takes."""
    alternates: bool = False
    """The model takes messages of people and its own in turns alone."""
    marks: Marks | None = field(default_factory=Marks)
    """Marks of the reasoning within the text; None where it never stands there."""

    @abstractmethod
    def body(self, request: Request) -> Wire:
        """The request's body; ValueError for what the model can't do."""

    @abstractmethod
    def decode(self, event: Json, draft: Draft) -> str:
        """Read an answer, or an event of it; its new text."""

    @abstractmethod
    def count(self, messages: Sequence[LLMMessage], tools: Sequence[ToolSchema]) -> int:
        """About how many tokens these take."""

    def draft(self, request: Request) -> Draft:
        """Begin an answer."""
        return Draft(
            finishes=self.finishes,
            structured=bool(request.json_output),
            names=request.own_names,
            marks=None if self.marks is None else ThoughtParser(self.marks),
        )

    def resume(self, body: Wire, draft: Draft) -> Wire | None:
        """The body that continues a paused answer; most providers never pause."""
        del body, draft
        return None

    def keep(self, draft: Draft) -> None:
        """Remember what has to be sent back as it came."""
        del draft

    def context_tokens(self) -> int:
        """The context's length; ValueError where it is not known."""
        if self.context is None:
            raise ValueError("The model's context length is not known.")
        return self.context


def fields_of(value: object) -> Json:
    """The object, or an empty one for what is none."""
    return cast("Json", value) if isinstance(value, dict) else {}


def objects_of(values: object) -> Iterable[Json]:
    """The objects of a list; an empty one for what is none."""
    return map(fields_of, cast("list[object]", values) if isinstance(values, list) else ())
