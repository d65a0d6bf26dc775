"""Other houses with an API of OpenAI's kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """An OpenAI-compatible API of another house, chosen by the model's name."""

    prefix: str
    base_url: str
    key_variable: str


PROVIDERS = (
    Provider(
        prefix="gemini-",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai/",
        key_variable="GEMINI_API_KEY",
    ),
    Provider(
        prefix="claude-",
        base_url="https://api.anthropic.com/v1/",
        key_variable="ANTHROPIC_API_KEY",
    ),
    Provider(
        prefix="Llama-",
        base_url="https://api.llama.com/compat/v1/",
        key_variable="LLAMA_API_KEY",
    ),
)


def provider_of(name: str) -> Provider | None:
    """The house other than OpenAI that runs models of such names."""
    return next((provider for provider in PROVIDERS if name.startswith(provider.prefix)), None)


def key_variable(name: str) -> str:
    """The environment variable that holds the key for the model."""
    provider = provider_of(name)
    return provider.key_variable if provider else "OPENAI_API_KEY"


def variables_for(name: str) -> Iterator[str]:
    """The variable of the house that a model's name leads to."""
    if house := provider_of(name):
        yield house.key_variable
