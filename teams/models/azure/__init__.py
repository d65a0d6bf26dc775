"""The client of models that Azure and GitHub host."""

from typing import TYPE_CHECKING

from teams._base.lazy_exports import refuse_absent
from teams.models.azure._client import (
    AzureAIChatCompletionClient,
    AzureAIChatCompletionClientConfig,
)

__all__ = ["AzureAIChatCompletionClient", "AzureAIChatCompletionClientConfig"]

if not TYPE_CHECKING:
    __getattr__ = refuse_absent(__name__)
