"""Azure's models over the OpenAI-compatible address of their resource.

The addresses are those of https://learn.microsoft.com/azure/foundry/openai/api-version-lifecycle,
of "How to migrate from Azure AI Inference SDK to OpenAI SDK" in the same documentation, and of
https://docs.github.com/rest/models/inference.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Required, Unpack
from urllib.parse import urlsplit

from typing_extensions import TypedDict, override

from teams._base.bounded.clients import http_client
from teams.models._dialect import Request
from teams.models._outgoing import Asked
from teams.models._settings import answer_bounds, http_timeout, whole_deadline
from teams.models._types import ModelInfo, Wire
from teams.models.openai._base import BaseOpenAIChatCompletionClient
from teams.models.openai._entra import entra_token

GITHUB = "https://models.github.ai/inference"

_RESOURCES = (".openai.azure.com", ".services.ai.azure.com")
_RESOURCE_SCOPE = "https://cognitiveservices.azure.com/.default"
_OTHER_SCOPE = "https://ml.azure.com/.default"
_DEPLOYMENT = re.compile(r"/openai/deployments/([^/]+)")
_ONE_MODEL = "azureai"
"""Name to send to an address that has one model alone."""


class _CreateArguments(TypedDict, total=False):
    frequency_penalty: float | None
    presence_penalty: float | None
    temperature: float | None
    top_p: float | None
    max_tokens: int | None
    response_format: Literal["text", "json_object"] | None
    stop: list[str] | None
    tools: list[Wire] | None
    tool_choice: str | Wire | None
    seed: int | None
    model: str | None
    model_extras: Wire | None


class AzureAIChatCompletionClientConfig(_CreateArguments, total=False):
    """The settings of AzureAIChatCompletionClient."""

    endpoint: Required[str]
    credential: Required[Any]
    model_info: Required[ModelInfo]
    timeout: float | None
    max_retries: int | None


class AzureAIChatCompletionClient(BaseOpenAIChatCompletionClient):
    """Asks a model that is deployed on Azure, or one of GitHub's.

    Takes the fields of AzureAIChatCompletionClientConfig as keywords: `endpoint`, `credential` and
    `model_info` at least. A resource (`https://NAME.services.ai.azure.com` or
    `https://NAME.openai.azure.com`, with any path) is asked at its `/openai/v1`, other endpoints as
    they are given. `model` is the name of the deployment; only an endpoint with one model can do
    without.

    `credential` is an AzureKeyCredential, or gives tokens with `get_token`; it is the caller's, who
    closes it. `model_extras` are further fields of the request's body. `timeout` and `max_retries`
    are as for OpenAIChatCompletionClient. Raises ValueError for settings that are unknown or
    missing.
    """

    def __init__(self, **settings: Unpack[AzureAIChatCompletionClientConfig]) -> None:
        import openai  # as for the OpenAI clients

        _check(settings)
        endpoint, credential = settings["endpoint"], settings["credential"]
        address, at_resource = _address(endpoint)
        model = settings.get("model") or _model_of(endpoint, needed=at_resource)
        key = credential.key if _gives_key(credential) else None
        scope = _RESOURCE_SCOPE if at_resource else _OTHER_SCOPE
        retries, seconds = settings.get("max_retries"), settings.get("timeout")
        client = openai.AsyncOpenAI(
            api_key=key
            or partial(entra_token, partial(credential.get_token, scope), model, address),
            base_url=address,
            default_headers={"api-key": key} if key else None,  # Azure has both ways
            timeout=http_timeout(openai.Timeout, seconds),
            max_retries=openai.DEFAULT_MAX_RETRIES if retries is None else retries,
            http_client=http_client(openai.DefaultAsyncHttpxClient, answer_bounds(seconds)),
        )
        names = _CreateArguments.__annotations__.keys()
        given = {name: value for name, value in settings.items() if name in names}
        super().__init__(
            client,
            create_args={**_on_the_wire(given), "model": model},
            model_info=settings["model_info"],
            include_name_in_message=False,  # of these models, many refuse it
            deadline=whole_deadline(seconds),
        )
        self._endpoint = replace(self._endpoint, key_variable="credential")

    @override
    async def _request(self, asked: Asked) -> Request:
        _refuse_unknown(
            asked.extra_create_args, _CreateArguments.__annotations__, "extra_create_args"
        )
        return await super()._request(
            replace(asked, extra_create_args=_on_the_wire(asked.extra_create_args))
        )


def _check(settings: Mapping[str, Any]) -> None:
    _refuse_unknown(settings, AzureAIChatCompletionClientConfig.__annotations__, "settings")
    for name in ("endpoint", "credential", "model_info"):
        if settings.get(name) is None:
            raise ValueError(f"{name} is required.")
    if settings["endpoint"].rstrip("/") == GITHUB and not settings.get("model"):
        raise ValueError(f"model is required at {GITHUB}.")
    if not _gives_key(settings["credential"]) and not hasattr(settings["credential"], "get_token"):
        raise ValueError(
            "credential: expected an AzureKeyCredential or one with get_token(), found a "
            f"{type(settings['credential']).__name__}"
        )


def _refuse_unknown(given: Mapping[str, Any], known: Mapping[str, Any], where: str) -> None:
    if unknown := sorted(given.keys() - known.keys()):
        raise ValueError(f"{where}: unknown {', '.join(unknown)}; known are {', '.join(known)}")


def _gives_key(credential: Any) -> bool:
    return isinstance(getattr(credential, "key", None), str)


def _on_the_wire(arguments: Mapping[str, Any]) -> Wire:
    """The arguments under the names that the OpenAI client takes."""
    wire = dict(arguments)
    if extras := wire.pop("model_extras", None):
        wire["extra_body"] = extras
    if isinstance(form := wire.get("response_format"), str):
        wire["response_format"] = {"type": form}
    return wire


def _address(endpoint: str) -> tuple[str, bool]:
    """The OpenAI-compatible address, and whether it is a resource's."""
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"endpoint: found {endpoint!r}, expected a URL")
    if parts.hostname.endswith(_RESOURCES):
        return f"{parts.scheme}://{parts.netloc}/openai/v1", True
    return endpoint.rstrip("/"), False


def _model_of(endpoint: str, *, needed: bool) -> str:
    """The model that the endpoint itself names."""
    if found := _DEPLOYMENT.search(endpoint):
        return found[1]
    if needed:
        raise ValueError(f"model is required at {endpoint}: the name of the deployment.")
    return _ONE_MODEL
