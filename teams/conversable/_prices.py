"""Prices of tokens: an entry's own, or those of a dated table."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple

logger = logging.getLogger("teams")

_TABLE = "genai_prices"
_SELLERS: Mapping[str, str] = {"azure": "azure", "anthropic": "anthropic", "bedrock": "aws"}


class Price(NamedTuple):
    """Prices of 1,000 tokens."""

    prompt: float
    completion: float

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """The cost of one answer."""
        return (self.prompt * prompt_tokens + self.completion * completion_tokens) / 1000


def parse_price(given: Any) -> Price:
    """The price of an entry: [prompt, completion], or one number for both."""
    match given:
        case int() | float():
            return Price(float(given), float(given))
        case [int() | float() as prompt, int() | float() as completion]:
            return Price(float(prompt), float(completion))
        case _:
            raise ValueError(
                f"The price {given!r} is neither a number nor [prompt, completion], for 1,000 "
                "tokens."
            )


@cache
def listed_price(provider: str, model: str, *, warns: bool = True) -> Price:
    """The price in the table of genai-prices (extra `prices`).

    Others count as 0, with a warning.
    """
    if provider == "ollama":
        return Price(0.0, 0.0)
    if find_spec(_TABLE) is not None:
        from genai_prices import Usage, calc_price  # optional, and slow to import

        try:
            found = calc_price(
                Usage(input_tokens=1, output_tokens=1), model, provider_id=_SELLERS.get(provider)
            ).model_price
        except LookupError:
            pass
        else:
            read, written = _base(found.input_mtok), _base(found.output_mtok)
            return Price(read / 1000, written / 1000)
    log = logger.warning if warns else logger.debug
    log("The price of the model %s is not known: give `price`. It counts as 0.", model)
    return Price(0.0, 0.0)


def _base(price: Any) -> float:
    """The price as a number; of tiers, that of short requests."""
    return float(getattr(price, "base", price) or 0)
