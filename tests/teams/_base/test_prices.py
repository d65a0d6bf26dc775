"""A catalog of models, and what it says of them."""

import sys

import pytest

from teams.prices import ListedModel, listed_model


def test_a_model_has_its_prices_and_its_size():
    assert listed_model("gpt-4o") == ListedModel(read=2.5, written=10.0, context=128_000)


@pytest.mark.parametrize("place", [{"provider_id": "azure"}, {"provider_id": "openai"}])
def test_a_model_is_looked_up_at_its_provider(place: dict[str, str]):
    assert listed_model("gpt-4o", **place) == listed_model("gpt-4o")


def test_a_server_that_nobody_knows_has_no_models():
    assert listed_model("gpt-4o", provider_api_url="http://localhost:8000/v1") is None


@pytest.mark.parametrize("name", ["", "our-own", "gpt-4o\n", "\0"])
def test_what_the_catalog_does_not_know_is_none(name: str):
    assert listed_model(name, provider_id="openai") is None


def test_without_the_extra_nothing_is_known(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("teams._base.prices.CATALOG", "genai_prices_not_there")
    assert listed_model("gpt-4o") is None


def test_the_catalog_is_never_brought_up_to_date():
    assert listed_model("gpt-4o") is not None
    assert "update_prices" in dir(sys.modules["genai_prices"])
    snapshot = sys.modules["genai_prices.data_snapshot"].get_snapshot()
    assert not snapshot.from_auto_update
