"""The model client over any client of the `openai` package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from inspect import signature
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from typing_extensions import override

from teams.models._client import UncheckedArguments
from teams.models._dialect import Request
from teams.models._endpoint import ModelEndpoint
from teams.models._outgoing import Asked
from teams.models._settings import DEADLINE_SECONDS, choose_model_info
from teams.models._thought_marks import marks_of
from teams.models._transport import SdkTransport
from teams.models._types import ModelCapabilities, ModelInfo, Wire
from teams.models._wire import WireClient
from teams.models.openai._catalog import known_model
from teams.models.openai._dialect import OpenAIDialect
from teams.models.openai._failures import AZURE, is_sdk_client, openai_endpoint

if TYPE_CHECKING:
    from openai import AsyncAzureOpenAI, AsyncOpenAI


class LateClient(NamedTuple):
    """A client that is made with the first request, and its endpoint."""

    make: Callable[[], AsyncOpenAI | AsyncAzureOpenAI]
    endpoint: ModelEndpoint


class BaseOpenAIChatCompletionClient(WireClient):
    """Asks one model over a given client of the `openai` package.

    `create_args` go with every request and hold at least `model`. `deadline` is in seconds and
    bounds a whole answer; connecting and silence are bounded by the SDK client's `timeout`, and it
    is the SDK client that retries what never got an answer. Errors are those of `teams.models`.
    `reasoning_marks` stand around the model's reasoning, if it is not of a known family.
    """

    component_only_ours: ClassVar = {
        "max_completion_tokens": ...,
        "logprobs": ...,
        "top_logprobs": ...,
        "metadata": ...,
        "service_tier": ...,
        "extra_body": ...,
    }

    def __init__(
        self,
        client: AsyncOpenAI | AsyncAzureOpenAI | LateClient,
        *,
        create_args: Mapping[str, object],
        model_capabilities: ModelCapabilities | None = None,
        model_info: ModelInfo | None = None,
        add_name_prefixes: bool = False,
        include_name_in_message: bool = True,
        reasoning_marks: tuple[str, str] | None = None,
        deadline: float = DEADLINE_SECONDS,
    ) -> None:
        arguments = {name: value for name, value in create_args.items() if value is not None}
        model = str(arguments["model"])
        known = known_model(model)
        info = choose_model_info(model, model_info, model_capabilities, known and known.info())
        dialect = OpenAIDialect(
            info=info,
            context=known and known.context,
            marks=marks_of(model, info["family"], reasoning_marks),
            provider="azure.ai.openai" if is_sdk_client(client, AZURE) else "openai",
            create_args=arguments,
            name_field=include_name_in_message,
            name_prefixes=add_name_prefixes,
        )
        if isinstance(client, LateClient):
            given, late, endpoint = None, client.make, client.endpoint
        else:
            given, late, endpoint = client, None, openai_endpoint(client, model)
        self._sdk = SdkTransport(given, "chat.completions", _sdk_arguments, late=late)
        super().__init__(dialect, self._sdk, endpoint, deadline=deadline)

    @property
    def sdk_client(self) -> AsyncOpenAI | AsyncAzureOpenAI:
        """The client of the `openai` package; this object closes it."""
        return self._sdk.client

    @override
    async def _request(self, asked: Asked) -> Request:
        if asked.extra_create_args:
            self._check(asked.extra_create_args)
        return await super()._request(asked)

    def _check(self, extra: Mapping[str, object]) -> None:
        """Raise ValueError for arguments that chat completions do not know."""
        if isinstance(extra, UncheckedArguments):
            return
        if unknown := sorted(extra.keys() - _parameters() - {"tools"}):
            raise ValueError(
                f"Extra create args are invalid: {', '.join(unknown)}. "
                "What only your server knows goes into extra_body."
            )


def _sdk_arguments(body: Wire) -> Wire:
    """The body for the SDK, which passes all but options by.

    It walks through each of them by its type, for a tenth of a millisecond, and changes nothing.
    """
    known = _parameters()
    whole = {key: body[key] for key in body if key not in known}
    rest = {key: value for key, value in body.items() if key not in whole}
    return {**rest, "messages": [], "extra_body": {**whole, **(body.get("extra_body") or {})}}


@cache
def _parameters() -> frozenset[str]:
    """Arguments that the SDK knows by name and is told by name."""
    from openai.resources.chat.completions import AsyncCompletions  # for start-up

    return frozenset(signature(AsyncCompletions.create).parameters) - {"messages", "tools"}
