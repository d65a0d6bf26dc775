"""The table of a model client, which all kinds of models share."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from teams.kinds import KindsOf, ModelInfoConfig, ModelKind

MODELS = KindsOf("model", otherwise="openai")


def table(**settings: Any) -> ModelKind:
    return MODELS.table(**settings)


def test_abilities_are_given_as_a_client_takes_them():
    info = ModelInfoConfig(vision=True).info()
    assert (info["vision"], info["family"]) == (True, "unknown")
    assert "multiple_system_messages" not in info


def test_a_model_has_a_name_an_address_and_the_variable_of_its_key(
    monkeypatch: pytest.MonkeyPatch,
):
    model = table(model="gpt-4o")
    assert (model.label, model.address, model.key_variable) == ("gpt-4o", "", "OPENAI_API_KEY")
    own = ModelKind(provider="my:Client")
    assert (own.label, own.key_variable) == ("my:Client", "")
    assert table(provider="azure", model="m").key_variable == "AZURE_OPENAI_API_KEY"
    monkeypatch.setenv("OPENAI_BASE_URL", "here:80")
    assert model.read("base_url") == "here:80"
    assert model.address == "http://here:80"
    assert table(model="m", base_url="https://there").address == "https://there"


def test_the_variables_of_settings_are_known():
    kind = type(table(model="m"))
    assert [*kind.variables("api_key")] == ["OPENAI_API_KEY"]
    assert sorted(kind.variables()) == ["OPENAI_API_KEY", "OPENAI_BASE_URL"]
    assert kind.argument("api_key") == "api_key"
    assert kind.argument("fallback") is None


def test_the_catalog_finds_it_by_its_provider_or_address():
    assert table(provider="anthropic", model="m").listed == {"provider_id": "anthropic"}
    spoken = table(provider="anthropic", model="m", base_url="https://there")
    assert spoken.listed == {"provider_api_url": "https://there"}
    assert ModelKind().listed is None


def test_settings_mean_what_they_say():
    model = ModelKind(model="m")
    assert model.resolved() is model


def client(**given: Any) -> dict[str, Any]:
    """A class that knows no model by its name."""
    if given["model"] == "unknown" and "model_info" not in given:
        raise ValueError("model_info is required")
    return given


def made(**settings: Any) -> Any:
    return table(**settings).make(lambda path: client, str)


def test_a_client_is_made_of_what_is_set():
    given = made(model="m", api_key=SecretStr("k"), options={"seed": 1}, retry={"attempts": 2})
    assert given == {"model": "m", "api_key": "k", "seed": 1, "max_retries": 0}


def test_a_model_nobody_knows_has_the_usual_abilities_at_a_server_of_one_s_own():
    given = made(model="unknown", base_url="http://here")
    assert given["model_info"] == ModelInfoConfig().info()
    with pytest.raises(ValueError, match="model_info is required"):
        made(model="unknown")


def test_there_is_one_way_to_retry():
    with pytest.raises(ValidationError, match="expected one of the two"):
        table(model="m", retry={"attempts": 2}, max_retries=1)
