"""The client of Ollama's own API."""

from typing import TYPE_CHECKING

from teams._base.lazy_exports import refuse_absent
from teams.models.ollama._client import OllamaChatCompletionClient
from teams.models.ollama._config import (
    BaseOllamaClientConfigurationConfigModel,
    CreateArgumentsConfigModel,
    OllamaClientConfiguration,
)

__all__ = [
    "BaseOllamaClientConfigurationConfigModel",
    "CreateArgumentsConfigModel",
    "OllamaChatCompletionClient",
    "OllamaClientConfiguration",
]

if not TYPE_CHECKING:
    __getattr__ = refuse_absent(__name__)
