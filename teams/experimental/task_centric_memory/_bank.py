"""Memos in a folder, found by words shared with a task."""

import logging
import math
import re
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError
from typing_extensions import TypedDict

from teams._base.safe_files import write_file

logger = logging.getLogger("teams")

_MEMO = f"{'[0-9a-f]' * 64}.json"
"""Names of memos; other files of the folder are left alone."""


class MemoryBankConfig(TypedDict, total=False):
    """Settings; a memo is relevant below `relevance_conversion_threshold`.

    Distances go from 0 for the same words to 2 for none shared.
    """

    path: str
    relevance_conversion_threshold: float
    n_results: int
    distance_threshold: float


class Memo(BaseModel, frozen=True, defer_build=True):
    """An insight, and the task that it helps with."""

    task: str | None
    insight: str
    topics: tuple[str, ...]
    created: float = Field(default_factory=time.time)


class MemoryBank:
    """Keeps each memo as a JSON file, written as a whole."""

    def __init__(self, config: MemoryBankConfig) -> None:
        self._folder = Path(config.get("path", "./memory_bank/default"))
        self._relevant = config.get("relevance_conversion_threshold", 1.7)
        self._nearest = config.get("n_results", 25)
        self._limit = min(self._relevant, config.get("distance_threshold", 100))

    def reset(self) -> None:
        for file in self._folder.glob(_MEMO):
            file.unlink(missing_ok=True)

    def add(self, memo: Memo) -> None:
        """Keep a memo, in place of one with the same words."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        words = f"{memo.task}\n{memo.insight}".encode()
        name = f"{sha256(words).hexdigest()}.json"
        write_file(self._folder, name, memo.model_dump_json(indent=1).encode())

    def memos(self) -> list[Memo]:
        """All memos, oldest first, also those of other processes."""
        found: list[Memo] = []
        for file in self._folder.glob(_MEMO):
            try:
                found.append(Memo.model_validate_json(file.read_bytes()))
            except (OSError, ValidationError) as error:
                logger.warning("The memo %s can't be read: %s", file, type(error).__name__)
        return sorted(found, key=lambda memo: memo.created)

    def find(self, topics: Sequence[str]) -> list[Memo]:
        """Memos that are relevant to the topics, the most relevant first."""
        known = [(memo, _parts(topic)) for memo in self.memos() for topic in memo.topics]
        relevance: defaultdict[Memo, float] = defaultdict(float)
        for wanted in map(_parts, topics):
            near = sorted((_distance(wanted, has), at) for at, (_, has) in enumerate(known))
            for distance, at in near[: self._nearest]:
                if distance < self._limit:
                    relevance[known[at][0]] += self._relevant - distance
        return sorted(relevance, key=lambda memo: -relevance[memo])


def _parts(text: str) -> Counter[str]:
    """Beginnings of the longer words; in other scripts, pairs of letters."""
    words = re.findall(r"\w+", text.casefold())
    counts: Counter[str] = Counter()
    for word in [each for each in words if each[3:] or not each.isascii()] or words:
        counts.update([word[:5]] if word.isascii() else map("".join, pairwise(f" {word}")))
    return counts


def _distance(one: Counter[str], other: Counter[str]) -> float:
    product = sum(count * other[part] for part, count in one.items())
    length = math.hypot(*one.values()) * math.hypot(*other.values())
    return 2 - 2 * product / length if length else 2.0
