"""Answers as each dialect reads them, without a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from teams.models import CreateResult, ModelInfo
from teams.models._dialect import Dialect, Request
from teams.models._draft import Draft
from teams.models.anthropic._catalog import ClaudeModel
from teams.models.anthropic._dialect import AnthropicDialect
from teams.models.ollama._dialect import OllamaDialect
from teams.models.openai._dialect import OpenAIDialect
from teams.models.openai._responses import ResponsesDialect

ABLE = ModelInfo(
    vision=True,
    function_calling=True,
    json_output=True,
    structured_output=True,
    family="unknown",
)


def openai() -> Dialect:
    return OpenAIDialect(info=ABLE, create_args={"model": "m"})


def responses() -> Dialect:
    return ResponsesDialect(
        info=ABLE, create_args={"model": "m"}, source="ann", hosted_tools=list[Any]
    )


def anthropic() -> Dialect:
    return AnthropicDialect(
        info=ABLE, create_args={"model": "m"}, known=ClaudeModel(), prompt_caching=True
    )


def ollama() -> Dialect:
    return OllamaDialect(info=ABLE, model="m", defaults={}, must_ask=False)


DIALECTS: Mapping[str, Callable[[], Dialect]] = {
    "openai": openai,
    "responses": responses,
    "anthropic": anthropic,
    "ollama": ollama,
}


def read(*events: Any, dialect: Dialect | None = None, **asked: Any) -> tuple[str, Draft]:
    """The shown text and the draft of an answer in events."""
    dialect = dialect or openai()
    names = {tool["name"]: tool["name"] for tool in asked.get("tools", ())}
    draft = dialect.draft(Request(messages=(), own_names=names, **asked))
    text = "".join([dialect.decode(event, draft) for event in events])
    return text + draft.end(), draft


def result(draft: Draft, dialect: Dialect | None = None) -> CreateResult:
    """The result of a draft."""
    dialect = dialect or openai()
    return draft.result(dialect.prompt_counts, dialect.completion_count)


def whole(answer: Any, dialect: Dialect | None = None, **asked: Any) -> CreateResult:
    """The result of a whole answer."""
    _, draft = read(answer, dialect=dialect, **asked)
    draft.complete = True
    return result(draft, dialect)
