"""The model of the environment, and the demo where there is none."""

import pytest
from pydantic import SecretStr

from gateway.config.models import MODELS
from teams.kinds import ModelKind


def auto(**settings: object) -> ModelKind:
    return MODELS.table(provider="auto", model="usual", timeout=3, **settings).resolved()


def test_without_a_key_and_an_address_it_is_the_demo(monkeypatch: pytest.MonkeyPatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    found = auto()
    assert (found.provider, found.label, found.is_local) == ("demo", "demo", True)
    assert found.resolved() is found
    assert auto(base_url="http://x").provider == "openai"
    assert auto(api_key=SecretStr("k")).provider == "openai"


@pytest.mark.parametrize("variable", ["OPENAI_API_KEY", "OPENAI_BASE_URL"])
def test_with_one_of_them_it_is_openai_s(monkeypatch: pytest.MonkeyPatch, variable: str):
    monkeypatch.setenv(variable, "http://x")
    for name in ("PARLEY_MODEL", "OPENAI_MODEL"):
        monkeypatch.delenv(name, raising=False)
    assert (auto().provider, auto().label, auto().timeout) == ("openai", "usual", 3)
    monkeypatch.setenv("OPENAI_MODEL", "other")
    assert auto().label == "other"
    monkeypatch.setenv("PARLEY_MODEL", "first")
    assert auto().label == "first"
