"""Usage of models, with and without answers out of a cache."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from teams._base.whole_text import whole_text
from teams.conversable._printing import IOStream
from teams.models._edge import token_count

Summary = dict[str, Any]
"""{"total_cost": cost, model: {"cost", "prompt_tokens", ...}}."""

COUNTED = ("cost", "prompt_tokens", "completion_tokens", "total_tokens")
_WORDS = {"actual": "excluding", "total": "including"}
_BOTH = (
    "All completions are non-cached: the total cost with cached completions is the same as actual "
    "cost."
)


def add_usage(summary: Summary | None, usage: Mapping[str, Any] | None) -> Summary | None:
    """The summary with an answer's usage, if that is told in full."""
    if not usage or any(usage.get(key) is None for key in ("model", *COUNTED)):
        return summary
    told = {key: token_count(usage[key]) for key in COUNTED} | {"cost": _cost(usage["cost"])}
    return merge_usage(summary, {"total_cost": told["cost"], whole_text(str(usage["model"])): told})


def _cost(claim: object) -> float:
    """The cost; 0 for anything but a number that costs can be."""
    is_cost = type(claim) in (int, float) and 0 <= cast("float", claim) < math.inf
    return cast("float", claim) if is_cost else 0


def merge_usage(summary: Summary | None, other: Mapping[str, Any]) -> Summary:
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
        if (client := getattr(agent, "client", None)) is not None:
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
