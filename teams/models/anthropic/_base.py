"""The model client over any client of the `anthropic` package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from teams.models._settings import DEADLINE_SECONDS, choose_model_info
from teams.models._transport import EventLines, SdkTransport
from teams.models._types import ModelCapabilities, ModelInfo, Wire
from teams.models._wire import WireClient
from teams.models.anthropic._catalog import ClaudeModel, known_model
from teams.models.anthropic._dialect import AnthropicDialect
from teams.models.anthropic._event_stream import EventStreamDecoder
from teams.models.anthropic._failures import anthropic_endpoint

_NAMED = ("model", "max_tokens", "messages", "stream")
_SAMPLING = ("temperature", "top_p", "top_k")
_SAMPLING_VERSION = "2023-06-01"
"""The API's last version with sampling, see platform.claude.com/docs: api/migration-2026-10-21."""
_OPTIONS = ("extra_headers", "extra_query", "timeout")


class BaseAnthropicChatCompletionClient(WireClient):
    """Asks one Claude model over a given client of the `anthropic` package.

    `create_args` go with every request and hold at least `model`. `deadline` is in seconds and
    bounds a whole answer; connecting and silence are bounded by the SDK client's `timeout`, and it
    is the SDK client that retries what never got an answer. Errors are those of `teams.models`.
    `prompt_tokens` of a usage count what the provider's cache took and gave, too. `bedrock`: the
    client is one of Amazon's.
    """

    component_only_ours: ClassVar = {"prompt_caching": True}

    def __init__(
        self,
        client: Any,
        *,
        create_args: Mapping[str, object],
        model_capabilities: ModelCapabilities | None = None,
        model_info: ModelInfo | None = None,
        prompt_caching: bool = True,
        deadline: float = DEADLINE_SECONDS,
        bedrock: bool = False,
    ) -> None:
        arguments = {name: value for name, value in create_args.items() if value is not None}
        model = str(arguments["model"])
        known = known_model(model)
        dialect = AnthropicDialect(
            info=choose_model_info(model, model_info, model_capabilities, known and known.info()),
            provider="aws.bedrock" if bedrock else "anthropic",
            create_args=arguments,
            known=known or ClaudeModel(),
            prompt_caching=prompt_caching,
        )
        framing = EventStreamDecoder if bedrock else EventLines
        transport = SdkTransport(client, "messages", _sdk_arguments, framing)
        super().__init__(dialect, transport, anthropic_endpoint(client, model), deadline=deadline)


def _sdk_arguments(body: Wire) -> Wire:
    """The SDK's arguments; what it has no name for is `extra_body`."""
    rest = {name: value for name, value in body.items() if name not in (*_NAMED, *_OPTIONS)}
    given = rest.pop("extra_body", {})
    arguments: Wire = {name: body[name] for name in (*_NAMED, *_OPTIONS) if name in body}
    if any(name in rest for name in _SAMPLING):
        headers = arguments.get("extra_headers", {})
        arguments["extra_headers"] = {"anthropic-version": _SAMPLING_VERSION, **headers}
    return {**arguments, "extra_body": {**rest, **given}}
