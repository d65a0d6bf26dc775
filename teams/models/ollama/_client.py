"""The client of Ollama's chat API."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Unpack

from typing_extensions import override

from teams._base.bounded.clients import http_client
from teams._components.component import Component
from teams.models._endpoint import ModelEndpoint
from teams.models._errors import BadAnswer, CutAnswer, ModelError, ModelUnreachable, UnknownModel
from teams.models._exchange import Deadline
from teams.models._settings import (
    answer_bounds,
    choose_model_info,
    http_timeout,
    long_secrets,
    shown_address,
    whole_deadline,
)
from teams.models._thought_marks import marks_of
from teams.models._transport import HttpTransport, JsonLines
from teams.models._types import ModelInfo
from teams.models._wire import WireClient
from teams.models.ollama._catalog import KnownModel, known_model, told_model
from teams.models.ollama._config import (
    BaseOllamaClientConfigurationConfigModel,
    OllamaClientConfiguration,
    is_secret,
)
from teams.models.ollama._dialect import OllamaDialect

_ADVICE: Mapping[type[ModelError], str] = {
    UnknownModel: "Get it with `ollama pull {model}`, or check the model's name.",
    ModelUnreachable: "Start Ollama (`ollama serve`), or check its address (host, OLLAMA_HOST).",
    BadAnswer: "Try again; if it stays so, check the address (host, OLLAMA_HOST).",
    CutAnswer: "Allow longer answers with `num_predict`.",
}


class OllamaChatCompletionClient(WireClient, Component[BaseOllamaClientConfigurationConfigModel]):
    """Asks a model of Ollama, on this machine or another.

    Takes the fields of BaseOllamaClientConfigurationConfigModel as keywords, `model` at least. The
    address comes from `host` or OLLAMA_HOST, a key for Ollama's cloud from OLLAMA_API_KEY.

    Without `model_info`, models that are not known by name are taken to do everything until the
    first request: it asks Ollama for the model's abilities and context length, and from then on
    raises ValueError for what the model can't do.

    `timeout` is as for OpenAIChatCompletionClient; nothing is sent twice. Errors are those of
    `teams.models`. Raises ValueError for settings that are unknown, malformed or missing.
    """

    component_only_ours: ClassVar = {"format": ..., "keep_alive": ..., "think": ...}

    component_config_schema = BaseOllamaClientConfigurationConfigModel

    def __init__(self, **settings: Unpack[OllamaClientConfiguration]) -> None:
        import httpx  # for start-up

        config = BaseOllamaClientConfigurationConfigModel(**_with_format(settings))
        address, password = shown_address(config.address)
        headers = config.given_headers()
        secrets = [value for name, value in headers.items() if is_secret(name)]
        self._config = config
        endpoint = ModelEndpoint(
            model=config.model,
            endpoint=address,
            key_variable="OLLAMA_API_KEY",
            secrets=long_secrets(
                [*secrets, *(text.rpartition(" ")[2] for text in secrets), password]
            ),
            advice=_ADVICE,
        )
        http = http_client(
            httpx.AsyncClient,
            answer_bounds(config.timeout),
            base_url=config.address,
            headers=headers,
            timeout=http_timeout(httpx.Timeout, config.timeout),
            follow_redirects=config.follow_redirects,
        )
        known = known_model(config.model)
        dialect = OllamaDialect(
            info=self._info_of(known or told_model(config.model)),
            context=known and known.context,
            marks=marks_of(config.model, given=config.reasoning_marks),
            provider="ollama",
            model=config.model,
            defaults=config.wire({}),
            must_ask=not (known or config.model_info or config.model_capabilities),
        )
        transport = HttpTransport(http=http, path="/api/chat", endpoint=endpoint, framing=JsonLines)
        super().__init__(dialect, transport, endpoint, deadline=whole_deadline(config.timeout))
        self._dialect: OllamaDialect = dialect
        self._transport: HttpTransport = transport

    def _to_config(self) -> BaseOllamaClientConfigurationConfigModel:
        return self._config.model_copy()

    def _info_of(self, known: KnownModel) -> ModelInfo:
        config = self._config
        return choose_model_info(
            config.model, config.model_info, config.model_capabilities, known.info
        )

    @override
    async def _prepare(self) -> None:
        """Ask Ollama what the model can do, if nobody has said so."""
        if not self._dialect.must_ask:
            return
        with self._errors():
            async with Deadline(self._endpoint, self._deadline).limit():
                told = await self._transport.post("/api/show", {"model": self.model})
        known = told_model(self.model, told)
        self._dialect.info, self._dialect.context = self._info_of(known), known.context
        self._dialect.must_ask = False


def _with_format(settings: OllamaClientConfiguration) -> dict[str, Any]:
    """The settings with the deprecated `response_format` as a `format`."""
    plain = dict(settings)
    if (form := settings.get("response_format")) is not None:
        warnings.warn(
            "response_format is deprecated: use json_output of create().",
            DeprecationWarning,
            stacklevel=3,
        )
        if plain.get("format") is not None:
            raise ValueError("response_format and format can't be given together.")
        plain["format"] = form.model_json_schema()
    plain.pop("response_format", None)
    return plain
