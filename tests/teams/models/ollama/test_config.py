"""Settings of the Ollama client."""

from __future__ import annotations

from typing import Any

import pytest

from teams.models.ollama._config import (
    BaseOllamaClientConfigurationConfigModel,
    CreateArgumentsConfigModel,
    is_secret,
    server_address,
)


def config(**settings: Any) -> BaseOllamaClientConfigurationConfigModel:
    return BaseOllamaClientConfigurationConfigModel(model="m", **settings)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("", "http://127.0.0.1:11434"),
        ("here", "http://here:11434"),
        (":80", "http://127.0.0.1:80"),
        ("[::1]:5", "http://[::1]:5"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("https://al:pw@there/ollama/", "https://al:pw@there:443/ollama"),
    ],
)
def test_an_address_has_the_forms_of_ollama(host: str, address: str):
    assert server_address(host) == address


@pytest.mark.parametrize("host", ["ftp://there", "there:port"])
def test_what_is_no_address_is_refused(host: str):
    with pytest.raises(ValueError, match="expected Ollama's address"):
        server_address(host)


def test_the_address_is_that_of_the_variable_unless_given(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OLLAMA_HOST", "there")
    assert config().address == "http://there:11434"
    assert config(host="here").address == "http://here:11434"


def test_headers_hold_the_key_of_the_variable(monkeypatch: pytest.MonkeyPatch):
    assert config(headers={"X-Key": "*****", "X-A": "b"}).given_headers() == {"X-A": "b"}
    monkeypatch.setenv("OLLAMA_API_KEY", "k")
    assert config().given_headers() == {"Authorization": "Bearer k"}
    own = {"authorization": "Basic x"}
    assert config(headers=own).given_headers() == own


def test_secrets_are_not_dumped():
    dumped = config(host="http://al:pw@there", headers={"X-Token": "k", "X-A": "b"}).model_dump()
    assert dumped["host"] == "http://there"
    assert dumped["headers"] == {"X-Token": "**********", "X-A": "b"}


@pytest.mark.parametrize(
    ("header", "secret"), [("Cookie", True), ("X-Api-Key", True), ("X", False)]
)
def test_a_header_that_holds_a_secret_is_known_by_its_name(header: str, secret: bool):
    assert is_secret(header) is secret


def test_options_are_gathered_over_the_defaults():
    asked = CreateArgumentsConfigModel.model_validate(
        {"temperature": 0.5, "stop": "x", "options": {"seed": 3}, "think": True}
    )
    assert asked.wire({"options": {"seed": 1, "top_k": 2}, "keep_alive": "5m"}) == {
        "options": {"seed": 3, "top_k": 2, "temperature": 0.5, "stop": ["x"]},
        "keep_alive": "5m",
        "think": True,
    }
    assert CreateArgumentsConfigModel().wire({"think": False}) == {"think": False}
