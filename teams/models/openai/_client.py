"""The clients for OpenAI-compatible servers and for Azure, made from settings."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack, cast

from teams._base.bounded.clients import http_client
from teams._components.component import (
    Component,
    ComponentLoader,
    ComponentModel,
    is_component_instance,
)
from teams.models._errors import BadCredentials
from teams.models._settings import answer_bounds, http_timeout, whole_deadline
from teams.models.openai._base import BaseOpenAIChatCompletionClient, LateClient
from teams.models.openai._config import (
    AzureOpenAIClientConfiguration,
    AzureOpenAIClientConfigurationConfigModel,
    BaseOpenAIClientConfigurationConfigModel,
    CreateArgumentsConfigModel,
    OpenAIClientConfiguration,
    OpenAIClientConfigurationConfigModel,
)
from teams.models.openai._entra import entra_token
from teams.models.openai._failures import NO_KEY, endpoint_at

if TYPE_CHECKING:
    from openai import AsyncOpenAI

OPENAI_URL = "https://api.openai.com/v1"


class OpenAIChatCompletionClient(
    BaseOpenAIChatCompletionClient, Component[OpenAIClientConfigurationConfigModel]
):
    """Asks a model of OpenAI, or of any API compatible with it.

    Takes the fields of OpenAIClientConfiguration as keywords, `model` at least. The key comes from
    `api_key` or OPENAI_API_KEY, the address from `base_url` or OPENAI_BASE_URL; a model whose name
    says that it is a Gemini, Claude or Llama is asked for at its own house, with its own variable.
    With an address given, no key is needed. `model_info` is needed for models not known by name.

    `timeout` is how many seconds connecting, the first and each further byte may take (default: 10
    to connect, 300 of silence); a whole answer gets 900, or `timeout` if that is more. Requests
    that never got an answer, rate limits and failures of the provider are repeated `max_retries`
    times (default 2) before the first byte is handed on, never after it.

    Raises ValueError for settings that are unknown, malformed or missing, and BadCredentials where
    there is no key.
    """

    component_config_schema = OpenAIClientConfigurationConfigModel

    def __init__(self, **settings: Unpack[OpenAIClientConfiguration]) -> None:
        config = OpenAIClientConfigurationConfigModel(**cast("Any", settings))
        variable, base_url = config.key_variable, config.address
        addressed = config.base_url or os.environ.get("OPENAI_BASE_URL")
        key = config.given_key or os.environ.get(variable) or (NO_KEY if addressed else "")
        if not key:
            raise BadCredentials(
                f"There is no API key for the model {config.model!r}: set {variable}, or give "
                "api_key (or, for a server that needs none, base_url).",
                model=config.model,
                endpoint=base_url or OPENAI_URL,
            )
        url = base_url or addressed or OPENAI_URL
        endpoint = endpoint_at(url, config.model, {key})
        make = partial(_client, config, key, base_url)
        super().__init__(LateClient(make, endpoint), **_arguments(config))
        self._config = config

    def _to_config(self) -> OpenAIClientConfigurationConfigModel:
        return self._config.model_copy()


class AzureOpenAIChatCompletionClient(
    BaseOpenAIChatCompletionClient, Component[AzureOpenAIClientConfigurationConfigModel]
):
    """Asks a model deployed on Azure.

    Takes the fields of AzureOpenAIClientConfiguration as keywords: `model`, `azure_endpoint` and
    `api_version` at least. Without `azure_deployment` the deployment is called like the model. The
    key comes from `api_key` or AZURE_OPENAI_API_KEY, or a token from `azure_ad_token` or
    `azure_ad_token_provider`: a function, or an AzureTokenProvider, which can be dumped.
    The rest is as for OpenAIChatCompletionClient.
    """

    component_config_schema = AzureOpenAIClientConfigurationConfigModel

    def __init__(self, **settings: Unpack[AzureOpenAIClientConfiguration]) -> None:
        from openai import AsyncAzureOpenAI, OpenAIError  # as above

        from teams.models.openai._user_agent import AZURE_OPENAI_USER_AGENT  # for start-up

        plain = dict(settings)
        token_provider = _loaded(plain.pop("azure_ad_token_provider", None))
        config = AzureOpenAIClientConfigurationConfigModel(**cast("Any", plain))
        try:
            client = AsyncAzureOpenAI(
                azure_endpoint=config.azure_endpoint,
                azure_deployment=config.azure_deployment,
                api_version=config.api_version,
                api_key=config.given_key,
                azure_ad_token=config.given_token,
                azure_ad_token_provider=token_provider
                and partial(entra_token, token_provider, config.model, config.azure_endpoint),
                **_connection(config, AZURE_OPENAI_USER_AGENT),
            )
        except OpenAIError as error:
            raise BadCredentials(
                f"No key for the model {config.model!r}: set AZURE_OPENAI_API_KEY, or give "
                "api_key, azure_ad_token or azure_ad_token_provider.",
                model=config.model,
                endpoint=config.azure_endpoint,
            ) from error
        super().__init__(client, **_arguments(config))
        self._config = config
        self._token_provider = token_provider

    def _to_config(self) -> AzureOpenAIClientConfigurationConfigModel:
        provider = self._token_provider
        if provider is None:
            return self._config.model_copy()
        if not is_component_instance(provider):
            raise NotImplementedError(
                "azure_ad_token_provider is a function, which can't be dumped: give an "
                "AzureTokenProvider."
            )
        return self._config.model_copy(
            update={"azure_ad_token_provider": provider.dump_component()}
        )


def _client(
    config: OpenAIClientConfigurationConfigModel, key: str, base_url: str | None
) -> AsyncOpenAI:
    from openai import AsyncOpenAI  # for start-up: it takes longer than all of `teams`

    organization = config.organization
    return AsyncOpenAI(
        api_key=key, base_url=base_url, organization=organization, **_connection(config)
    )


def _loaded(provider: Any) -> Any:
    """The token provider, made from its component form if it is one."""
    if isinstance(provider, ComponentModel):
        provider = ComponentLoader.load_component(provider)
    kind = getattr(provider, "component_type", "token_provider")
    if provider is not None and (not callable(provider) or kind != "token_provider"):
        raise ValueError(f"azure_ad_token_provider: a {type(provider).__name__} is none")
    return provider


def _connection(
    config: BaseOpenAIClientConfigurationConfigModel, user_agent: str = ""
) -> dict[str, Any]:
    """The SDK client's arguments from the settings; its own defaults otherwise."""
    from openai import DEFAULT_MAX_RETRIES, DefaultAsyncHttpxClient, Timeout  # as above

    retries, headers = config.max_retries, config.default_headers or {}
    if user_agent:
        own = [value for name, value in headers.items() if name.lower() == "user-agent"]
        others = {name: value for name, value in headers.items() if name.lower() != "user-agent"}
        headers = {**others, "User-Agent": " ".join([user_agent, *own])}
    return {
        "timeout": http_timeout(Timeout, config.timeout),
        "max_retries": DEFAULT_MAX_RETRIES if retries is None else retries,
        "default_headers": headers,
        "http_client": http_client(DefaultAsyncHttpxClient, answer_bounds(config.timeout)),
    }


def _arguments(config: BaseOpenAIClientConfigurationConfigModel) -> dict[str, Any]:
    """The base class's arguments from the settings."""
    names = {"model", *CreateArgumentsConfigModel.model_fields}
    return {
        "create_args": {name: getattr(config, name) for name in names},
        "model_capabilities": config.model_capabilities,
        "model_info": config.model_info,
        "add_name_prefixes": bool(config.add_name_prefixes),
        "include_name_in_message": config.include_name_in_message is not False,
        "reasoning_marks": config.reasoning_marks,
        "deadline": whole_deadline(config.timeout),
    }
