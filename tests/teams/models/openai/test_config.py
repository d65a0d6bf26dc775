"""Settings of the OpenAI clients."""

from __future__ import annotations

import pytest

from teams.models.openai._config import (
    AzureOpenAIClientConfigurationConfigModel,
    OpenAIClientConfigurationConfigModel,
)


@pytest.mark.parametrize(
    ("model", "address", "variable"),
    [
        ("gpt-4o", None, "OPENAI_API_KEY"),
        (
            "gemini-2.5-pro",
            "https://generativelanguage.googleapis.com/v1beta/openai/",
            "GEMINI_API_KEY",
        ),
    ],
)
def test_a_model_tells_its_address_and_the_variable_of_its_key(
    model: str, address: str | None, variable: str
):
    config = OpenAIClientConfigurationConfigModel(model=model)
    assert (config.address, config.key_variable) == (address, variable)
    given = OpenAIClientConfigurationConfigModel(model=model, base_url="http://here")
    assert given.address == "http://here"


def test_keys_and_tokens_are_dumped_as_asterisks_which_are_none():
    config = AzureOpenAIClientConfigurationConfigModel.model_validate(
        {
            "model": "m",
            "azure_endpoint": "https://here",
            "api_version": "1",
            "api_key": "k-1",
            "azure_ad_token": "t-1",
        }
    )
    assert (config.given_key, config.given_token) == ("k-1", "t-1")
    dumped = config.model_dump_json()
    again = AzureOpenAIClientConfigurationConfigModel.model_validate_json(dumped)
    assert (again.given_key, again.given_token) == (None, None)
    assert "-1" not in dumped
