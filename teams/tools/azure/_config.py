"""The settings of a search, and its credential."""

from __future__ import annotations

import inspect
import os
from importlib import import_module
from typing import Any, Literal, Self, TypeAlias, cast

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    field_serializer,
    field_validator,
    model_validator,
)

from teams._base.extras import needs_extra

QueryType: TypeAlias = Literal["simple", "full", "semantic", "vector"]
EmbeddingProvider: TypeAlias = Literal["openai", "azure_openai"]

API_VERSION = "2023-10-01-preview"
KEY_VARIABLE = "AZURE_SEARCH_API_KEY"
"""Variable with the key of a config that holds none, such as one out of a JSON file."""

_BY_NAME = {"provider_kind": "DefaultAzureCredential"}
"""The form of the credential that asks the machine for its identity."""


def sdk(module: str) -> Any:
    """A module of Azure's SDK. ImportError names the extra."""
    with needs_extra("Azure AI Search needs", "azure"):
        return import_module(module)


class AzureAISearchConfig(BaseModel, defer_build=True):
    """The index, and how it is searched.

    `credential`: an AzureKeyCredential, a credential of `azure.identity.aio`, or
    `{"api_key": ...}`. A JSON text holds no key: what is loaded from one takes that of
    AZURE_SEARCH_API_KEY.
    """

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    name: str
    description: str | None = None
    endpoint: str
    index_name: str
    credential: Any = Field(default=None, repr=False, validate_default=True)
    api_version: str = API_VERSION
    query_type: QueryType = "simple"
    search_fields: list[str] | None = None
    select_fields: list[str] | None = None
    vector_fields: list[str] | None = None
    top: int = Field(default=5, gt=0)
    filter: str | None = None
    semantic_config_name: str | None = None
    enable_caching: bool = False
    cache_ttl_seconds: int = Field(default=300, gt=0)
    embedding_provider: EmbeddingProvider | None = None
    embedding_model: str | None = None
    openai_api_key: SecretStr | None = None
    openai_api_version: str | None = None
    openai_endpoint: str | None = None

    @field_validator("endpoint")
    @classmethod
    def _check_endpoint(cls, endpoint: str) -> str:
        if not endpoint.startswith(("https://", "http://")):
            raise ValueError("expected an address such as https://NAME.search.windows.net")
        return endpoint

    @field_validator("credential", mode="before")
    @classmethod
    def _check_credential(cls, given: Any) -> Any:
        match given:
            case None | dict() if not given:  # AutoGen's form of a component leaves the key out
                return {"api_key": SecretStr("")}
            case {"api_key": str() | SecretStr() as key}:
                return {"api_key": key if isinstance(key, SecretStr) else SecretStr(key)}
            case {"provider_kind": "DefaultAzureCredential"}:
                return dict(_BY_NAME)
            case _ if isinstance(getattr(given, "key", None), str):
                return given
            case _ if inspect.iscoroutinefunction(getattr(given, "get_token", None)):
                return given
            case _:
                raise ValueError(
                    "expected an AzureKeyCredential, a credential of azure.identity.aio, or "
                    '{"api_key": "..."}'
                )

    @field_validator("openai_api_key", mode="before")
    @classmethod
    def _drop_stars(cls, given: Any) -> Any:
        return None if isinstance(given, str) and not given.strip("*") else given

    @field_serializer("credential")
    def _write_credential(self, credential: Any) -> dict[str, Any]:
        if isinstance(credential, dict):
            return cast("dict[str, Any]", credential)
        if hasattr(credential, "key"):
            return {"api_key": SecretStr(credential.key)}
        if type(credential).__name__ == _BY_NAME["provider_kind"]:
            return dict(_BY_NAME)
        raise ValueError(f"A {type(credential).__name__} can't be written to JSON.")

    @property
    def given_key(self) -> str | None:
        """The config's own key; empty without one, None for a token."""
        match self.credential:
            case {"api_key": SecretStr() as secret}:
                key = secret.get_secret_value()
                return key if key.strip("*") else ""
            case {"provider_kind": _}:
                return None
            case credential:
                return getattr(credential, "key", None)

    def key(self) -> str | None:
        """The key to use; None for a token. Raises ValueError for none."""
        key = self.given_key
        if key == "":
            key = os.environ.get(KEY_VARIABLE)
            if not key:
                raise ValueError(f"There is no key: set {KEY_VARIABLE}, or give a credential.")
        return key

    @model_validator(mode="after")
    def _check_sense(self) -> Self:
        if self.query_type == "semantic" and not self.semantic_config_name:
            raise ValueError("a semantic search needs semantic_config_name")
        if self.query_type == "vector" and not self.vector_fields:
            raise ValueError("a vector search needs vector_fields")
        if self.embedding_provider and not self.embedding_model:
            raise ValueError("embedding_provider needs embedding_model")
        if self.embedding_provider == "azure_openai" and not self.openai_endpoint:
            raise ValueError("embedding_provider 'azure_openai' needs openai_endpoint")
        return self
