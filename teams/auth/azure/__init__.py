"""Tokens of Entra ID for Azure's services."""

from typing import TYPE_CHECKING

from teams._base.lazy_exports import refuse_absent
from teams.auth.azure._token_provider import AzureTokenProvider, TokenProviderConfig

__all__ = ["AzureTokenProvider", "TokenProviderConfig"]

if not TYPE_CHECKING:
    __getattr__ = refuse_absent(__name__)
