"""Usage of models, with and without cached answers, and prices."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, cast

from teams._base.prices import listed_model
from teams._base.whole_text import whole_text
from teams.conversable._printing import IOStream
from teams.conversable._protocols import Given, Settings
from teams.models._edge import token_count

logger = logging.getLogger("teams")

Summary = Settings
"""{"total_cost": cost, model: {"cost", "prompt_tokens", ...}}."""

COUNTED = ("cost", "prompt_tokens", "completion_tokens", "total_tokens")
_SELLERS: Mapping[str, str] = {"azure": "azure", "anthropic": "anthropic", "bedrock": "aws"}
_WORDS = {"actual": "excluding", "total": "including"}
_BOTH = (
    "All completions are non-cached: the total cost with cached completions is the same as actual "
    "cost."
)


def add_usage(summary: Summary | None, usage: Given | None) -> Summary | None:
    """The summary with an answer's usage, if that is told in full."""
    if not usage or any(usage.get(key) is None for key in ("model", *COUNTED)):
        return summary
    told = {key: token_count(usage[key]) for key in COUNTED} | {"cost": _cost(usage["cost"])}
    return merge_usage(summary, {"total_cost": told["cost"], whole_text(str(usage["model"])): told})


def _cost(claim: object) -> float:
    """The cost; 0 for anything but a number that costs can be."""
    is_cost = type(claim) in (int, float) and 0 <= cast("float", claim) < math.inf
    return cast("float", claim) if is_cost else 0


def merge_usage(summary: Summary | None, other: Given) -> Summary:
    """The sum of two summaries."""
    merged: Summary = {"total_cost": 0, **(summary or {})}
    merged["total_cost"] += other["total_cost"]
    for model, counts in other.items():
        if model != "total_cost":
            known = merged.get(model, {})
            merged[model] = {key: known.get(key, 0) + counts[key] for key in COUNTED}
    return merged


def gather_usage_summary(agents: Iterable[Any]) -> dict[str, Summary]:
    """The usage of agents together, with and without cached answers."""
    total: Summary = {"total_cost": 0}
    actual: Summary = {"total_cost": 0}
    for agent in agents:
        if (client := getattr(agent, "counted", getattr(agent, "client", None))) is not None:
            total = merge_usage(total, client.total_usage_summary or {"total_cost": 0})
            actual = merge_usage(actual, client.actual_usage_summary or {"total_cost": 0})
    return {
        "usage_including_cached_inference": total,
        "usage_excluding_cached_inference": actual,
    }


def print_usage(actual: Summary | None, total: Summary | None, mode: str | Sequence[str]) -> None:
    """Print the summaries that `mode` names; ValueError for other names."""
    say = IOStream.get_default().print
    if total is None:
        say('No usage summary. Please call "create" first.', flush=True)
        return
    modes = [mode] if isinstance(mode, str) else list(mode)
    if not modes or any(each not in _WORDS for each in modes):
        raise ValueError(f"Invalid mode: {mode!r}. Choose from 'actual', 'total', or both of them.")
    say("-" * 100, flush=True)
    if len(set(modes)) == len(_WORDS) and actual == total:
        _print_summary(actual, "actual")
        say(_BOTH, flush=True)
    else:
        for each in modes:
            _print_summary(actual if each == "actual" else total, each)
    say("-" * 100, flush=True)


def _print_summary(summary: Summary | None, mode: str) -> None:
    say = IOStream.get_default().print
    if summary is None:
        say("No actual cost incurred (all completions are using cache).", flush=True)
        return
    say(f"Usage summary {_WORDS[mode]} cached usage: ", flush=True)
    say(f"Total cost: {round(summary['total_cost'], 5)}", flush=True)
    for model, counts in summary.items():
        if model != "total_cost":
            told = ", ".join(f"{key}: {round(counts[key], 5)}" for key in COUNTED)
            say(f"* Model '{model}': {told}", flush=True)


class Price(NamedTuple):
    """Prices of 1,000 tokens."""

    prompt: float
    completion: float

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """The cost of one answer."""
        return (self.prompt * prompt_tokens + self.completion * completion_tokens) / 1000


def parse_price(given: object) -> Price:
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
    """The price in the catalog; others count as 0, with a warning."""
    if provider == "ollama":
        return Price(0.0, 0.0)
    if (found := listed_model(model, provider_id=_SELLERS.get(provider))) is not None:
        return Price((found.read or 0) / 1000, (found.written or 0) / 1000)
    log = logger.warning if warns else logger.debug
    log("The price of the model %s is not known: give `price`. It counts as 0.", model)
    return Price(0.0, 0.0)
