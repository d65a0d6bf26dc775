"""Settings of the Claude clients."""

from __future__ import annotations

import pytest

from teams.models.anthropic._config import AnthropicClientConfigurationConfigModel, BedrockAccount

KEYS = {"aws_access_key": "a-1", "aws_secret_key": "s-1", "aws_session_token": "t-1"}


def test_a_key_is_dumped_as_asterisks_which_are_no_key():
    config = AnthropicClientConfigurationConfigModel.model_validate({"model": "m", "api_key": "k"})
    assert config.given_key == "k"
    again = AnthropicClientConfigurationConfigModel.model_validate_json(config.model_dump_json())
    assert again.given_key is None


@pytest.mark.parametrize("lacking", [None, *KEYS])
def test_an_account_needs_all_its_keys(lacking: str | None):
    given = {name: key for name, key in KEYS.items() if name != lacking}
    account = BedrockAccount.model_validate({**given, "aws_region": "eu-central-1"})
    assert account.credentials() == ({} if lacking else KEYS)
    assert BedrockAccount.model_validate_json(account.model_dump_json()).credentials() == {}
