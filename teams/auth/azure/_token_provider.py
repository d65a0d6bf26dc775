"""A source of tokens that a client's config can hold."""

from __future__ import annotations

import time
from typing import Any, Protocol, Self

from pydantic import BaseModel

from teams._base.extras import needs_extra
from teams._components.component import Component, ComponentBase

_KIND = "DefaultAzureCredential"
_EARLY = 300.0
"""Seconds before its end at which a token is no longer given."""


class _Token(Protocol):
    @property
    def token(self) -> str: ...
    @property
    def expires_on(self) -> int: ...


class _Credential(Protocol):
    def get_token(self, *scopes: str) -> _Token: ...


class TokenProviderConfig(BaseModel, defer_build=True):
    """See `AzureTokenProvider`; `provider_kind` is the class of its credential."""

    provider_kind: str
    scopes: list[str]


class AzureTokenProvider(ComponentBase[TokenProviderConfig], Component[TokenProviderConfig]):
    """Gives tokens of a credential of `azure-identity` for the scopes.

    A token is kept until it is about to end. Only a DefaultAzureCredential can be written into a
    config: it finds its secrets where it is loaded, which needs the extra `azure`.
    """

    component_type = "token_provider"
    component_config_schema = TokenProviderConfig

    def __init__(self, credential: _Credential, *scopes: str) -> None:
        self._credential = credential
        self._scopes = scopes
        self._token: _Token | None = None

    def __call__(self) -> str:
        """A token that holds for some minutes.

        May ask the credential, and waits for it.
        """
        if self._token is None or self._token.expires_on - time.time() < _EARLY:
            self._token = self._credential.get_token(*self._scopes)
        return self._token.token

    def _to_config(self) -> TokenProviderConfig:
        kind = type(self._credential).__name__
        if kind != _KIND:
            raise ValueError(f"Only a {_KIND} can be written into a config, found a {kind}.")
        return TokenProviderConfig(provider_kind=kind, scopes=list(self._scopes))

    @classmethod
    def _from_config(cls, config: TokenProviderConfig) -> Self:
        if config.provider_kind != _KIND:
            raise ValueError(f"provider_kind: found {config.provider_kind!r}, expected {_KIND!r}")
        return cls(_default_credential(), *config.scopes)


def _default_credential() -> Any:
    with needs_extra("A DefaultAzureCredential needs", "azure"):
        from azure.identity import DefaultAzureCredential  # slow to import

    return DefaultAzureCredential()
