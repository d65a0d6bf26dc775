"""Prices and context sizes of models, from a catalog.

The catalog is genai-prices (extra `prices`). It travels with its package, and is never brought
up to date over the network.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, NamedTuple

CATALOG = "genai_prices"


class ListedModel(NamedTuple):
    """An entry of the catalog; None for what it doesn't know."""

    read: float | None
    """Price of a million tokens of the prompt."""
    written: float | None
    """Price of a million tokens of the answer."""
    context: int | None


def has_catalog() -> bool:
    """True with the extra `prices`."""
    return find_spec(CATALOG) is not None


def listed_model(model: str, **place: Any) -> ListedModel | None:
    """The catalog's entry for a model at its provider.

    The place is a `provider_id` or a `provider_api_url`.
    """
    if not model or not has_catalog():
        return None
    from genai_prices import Usage, calc_price  # optional, and slow to import

    try:
        found = calc_price(Usage(input_tokens=1, output_tokens=1), model, **place)
    except LookupError:
        return None
    costs = found.model_price
    return ListedModel(
        _base(costs.input_mtok), _base(costs.output_mtok), found.model.context_window
    )


def _base(price: Any) -> float | None:
    """The price as a number; of tiers, that of short requests."""
    return None if price is None else float(getattr(price, "base", price))
