"""Prices and context sizes of a config's models.

What the config's [prices] say holds. For the rest there is the catalog of genai-prices (extra
`prices`), whose data travels in the package: it is never brought up to date over the network.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from gateway.config.budgets import Price
from gateway.config.root import Config
from teams.kinds import ModelKind
from teams.prices import ListedModel, has_catalog, listed_model


class PriceList(Mapping[str, Price]):
    """Prices by the names of models at their providers.

    The catalog is looked up when the first price is asked for: reading it takes a while.
    """

    def __init__(self, config: Config) -> None:
        self._own = config.prices
        self._models = [model.resolved() for model in config.models.values()]

    def __getitem__(self, model: str) -> Price:
        return self._own[model] if model in self._own else self._listed[model]

    def __iter__(self) -> Iterator[str]:
        yield from self._own | self._listed

    def __len__(self) -> int:
        return len(self._own | self._listed)

    @cached_property
    def _listed(self) -> dict[str, Price]:
        """The catalog's prices of the config's models."""
        found = [(model.model, _price(model)) for model in reversed(self._models)]
        return {name: price for name, price in found if price is not None}


def more_prices() -> str:
    """The command that brings known prices; "" where they are there."""
    return "" if has_catalog() else ", or pip install 'parley-gateway[prices]'"


def context_size(model: ModelKind) -> int | None:
    """Size of the model's context by the catalog, or None."""
    found = _look_up(model)
    return None if found is None else found.context


def _price(model: ModelKind) -> Price | None:
    match _look_up(model):
        case ListedModel(read=float() as read, written=float() as written):
            return Price(input=read, output=written)
        case _:
            return None


def _look_up(model: ModelKind) -> ListedModel | None:
    """The catalog's entry for a model at its provider."""
    place = model.listed
    return None if place is None or not model.model else listed_model(model.model, **place)
