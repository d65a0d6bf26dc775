"""Prices of the config, and of the catalog for the rest."""

from typing import Any

import pytest

from gateway.budgets.price_list import PriceList, context_size
from gateway.config.budgets import Price
from gateway.config.models import MODELS
from gateway.config.root import Config

AZURE = {"provider": "azure", "base_url": "https://x.openai.azure.com"}


def prices(*models: dict[str, Any], own: dict[str, Any] | None = None) -> PriceList:
    named = {f"m{at}": model for at, model in enumerate(models)}
    return PriceList(Config.model_validate({"models": named, "prices": own or {}}))


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ({"model": "gpt-4.1-mini"}, (0.4, 1.6)),
        ({"model": "claude-sonnet-4-20250514"}, (3, 15)),
        ({"model": "gpt-4o", **AZURE}, (2.5, 10)),
        ({"model": "gpt-4o", "base_url": "https://api.openai.com/v1"}, (2.5, 10)),
        ({"model": "gpt-4o", "base_url": "http://localhost:8000/v1"}, None),
        ({"model": "our-own"}, None),
        ({"model": "llama3.2", "provider": "ollama"}, None),
        ({"model": "gpt-4o", "provider": "mine:Client"}, None),
        ({"provider": "demo"}, None),
    ],
)
def test_a_known_model_at_its_own_provider_has_the_price_of_the_catalog(model, price):
    found = prices(model).get(model.get("model", ""))
    assert (found and (found.input, found.output)) == price


def test_the_configs_own_price_wins_and_others_are_beside_it():
    own = {"gpt-4o": {"input": 1, "output": 2}, "elsewhere": {"input": 3, "output": 4}}
    found = prices({"model": "gpt-4o"}, {"model": "gpt-4.1-mini"}, own=own)
    assert found["gpt-4o"] == Price(input=1, output=2)
    assert set(found) == {"gpt-4o", "elsewhere", "gpt-4.1-mini"}
    assert len(found) == 3


def test_a_name_has_the_price_of_the_provider_that_has_one():
    here = {"model": "gpt-4o", "base_url": "http://localhost:8000/v1"}
    for models in ([here, {"model": "gpt-4o"}], [{"model": "gpt-4o"}, here]):
        assert prices(*models)["gpt-4o"] == Price(input=2.5, output=10)


def test_a_server_that_the_environment_names_has_no_price_of_openai(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:8000/v1")
    assert not prices({"model": "gpt-4o"})


def test_without_the_extra_there_are_the_configs_own_prices_alone(monkeypatch):
    monkeypatch.setattr("teams._base.prices.CATALOG", "genai_prices_not_there")
    assert not prices({"model": "gpt-4o"})
    assert context_size(MODELS.table(model="gpt-4o")) is None
    assert set(prices({"model": "gpt-4o"}, own={"x": {"input": 1, "output": 1}})) == {"x"}


def test_the_catalog_knows_sizes_of_contexts():
    assert context_size(MODELS.table(model="gpt-4o")) == 128_000
    assert context_size(MODELS.table(model="our-own")) is None
