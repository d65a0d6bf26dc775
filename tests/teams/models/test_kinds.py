"""Tables of models, as arguments of their clients."""

from typing import Any

import pytest
from pydantic import SecretStr

from teams.kinds import KindsOf, ModelInfoConfig, ModelKind

INFO = ModelInfoConfig().info()
MODELS = KindsOf("model", otherwise="openai")


def accepting(path: str) -> Any:
    """A class that returns its arguments."""
    return lambda **given: given


def refusing(path: str) -> Any:
    """A class that knows no model by its name."""

    def make(**given: Any) -> dict[str, Any]:
        if "model_info" not in given:
            raise ValueError("model_info is required")
        return given

    return make


def table(**settings: Any) -> ModelKind:
    return MODELS.table(**settings)


def made(**settings: Any) -> dict[str, Any]:
    return table(**settings).make(accepting, str)


ADDRESS = {"model": "m", "base_url": "https://x.example", "api_key": SecretStr("k")}


@pytest.mark.parametrize(
    ("provider", "given"),
    [
        ("openai", {"base_url": "https://x.example", "api_key": "k"}),
        ("anthropic", {"base_url": "https://x.example", "api_key": "k"}),
        ("azure", {"azure_endpoint": "https://x.example", "api_key": "k"}),
        ("ollama", {"host": "https://x.example", "headers": {"Authorization": "Bearer k"}}),
        ("bedrock", {"base_url": "https://x.example", "bedrock_info": {}}),
    ],
)
def test_an_address_and_a_key_are_given_as_the_client_takes_them(
    provider: str, given: dict[str, Any]
):
    assert made(provider=provider, **ADDRESS) == {"model": "m", **given}


def test_a_key_of_azure_is_in_no_text_and_a_server_s_model_has_usual_abilities():
    given = made(provider="azure_ai", **ADDRESS)
    assert (given["credential"].key, given["model_info"]) == ("k", INFO)
    assert "'k'" not in repr(given)


@pytest.mark.parametrize(
    ("provider", "retries"), [("openai", 0), ("azure", 0), ("ollama", None), ("bedrock", 0)]
)
def test_rules_for_sending_again_replace_those_of_clients_that_have_any(
    provider: str, retries: int | None
):
    given = made(provider=provider, model="m", retry={"attempts": 2})
    assert given.get("max_retries") == retries


def test_options_and_the_abilities_are_given_and_names_of_other_models_are_not():
    settings = {"fallback": ["n"], "options": {"seed": 3}, "model_info": {"vision": True}}
    given = {"model": "m", "seed": 3, "model_info": INFO | {"vision": True}}
    assert made(model="m", **settings) == given


def test_an_unknown_model_at_a_server_of_one_s_own_has_usual_abilities(
    monkeypatch: pytest.MonkeyPatch,
):
    assert table(**ADDRESS).make(refusing, str)["model_info"] == INFO
    with pytest.raises(ValueError, match="model_info is required"):
        table(model="m").make(refusing, str)
    monkeypatch.setenv("OPENAI_BASE_URL", "https://x.example")
    assert table(model="m").make(refusing, str)["model_info"] == INFO
    with pytest.raises(ValueError, match="model_info is required"):
        ModelKind(provider="mine:Client", base_url="https://x.example").make(refusing, str)


@pytest.mark.parametrize(
    ("settings", "variable", "address"),
    [
        ({}, "OPENAI_API_KEY", ""),
        ({"model": "gemini-x"}, "GEMINI_API_KEY", ""),
        ({"provider": "anthropic"}, "ANTHROPIC_API_KEY", ""),
        ({"provider": "bedrock"}, "AWS_ACCESS_KEY_ID", ""),
        ({"provider": "ollama"}, "OLLAMA_API_KEY", "http://localhost:11434"),
        ({"provider": "ollama", "base_url": "box:1"}, "OLLAMA_API_KEY", "http://box:1"),
        ({"provider": "azure_ai"}, "", ""),
    ],
)
def test_the_variable_of_a_key_and_the_address_are_known(
    settings: dict[str, Any], variable: str, address: str
):
    found = table(**settings)
    assert (found.key_variable, found.address) == (variable, address)


@pytest.mark.parametrize(
    ("settings", "listed"),
    [
        ({}, {}),
        ({"base_url": "http://x"}, {"provider_api_url": "http://x"}),
        ({"provider": "anthropic"}, {"provider_id": "anthropic"}),
        ({"provider": "azure", "base_url": "https://x"}, {"provider_id": "azure"}),
        ({"provider": "ollama"}, None),
        ({"provider": "bedrock"}, {"provider_id": "aws"}),
    ],
)
def test_the_catalog_of_prices_knows_it_by_its_provider(
    settings: dict[str, Any], listed: dict[str, str] | None
):
    assert table(**settings).listed == listed
