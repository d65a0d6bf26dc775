"""A review of a text by rules that can be checked: what is counted, and what looks like a slip."""

# ruff: noqa: RUF001 (texts have typographic quotes)

from __future__ import annotations

import re
from collections.abc import Iterator

from gateway.demo.calculator import CalculationError, calculate
from gateway.demo.understanding import expressions

LONG_SENTENCE = 25
"""Words from which on a sentence is called long."""
_FILLERS = ("actually", "basically", "just", "quite", "really", "simply", "very")
_SENTENCE = re.compile(r"[^.!?…]+[.!?…]*", re.DOTALL)
_DOUBLED = re.compile(r"\b(\w+)\s+\1\b", re.IGNORECASE)
_EQUATION = re.compile(r"([^=\n]*)=\s*(-?[\d.]+)")


def review(text: str) -> str:
    """The review, in Markdown."""
    words = re.findall(r"\w[\w'’-]*", text)
    sentences = [found[0].strip() for found in _SENTENCE.finditer(text) if found[0].strip(" .!?\n")]
    counted = f"{_count(len(sentences), 'sentence')}, {_count(len(words), 'word')}."
    findings = list(_findings(text, sentences))
    if not findings:
        return f"**Review.** {counted} I found nothing to correct."
    listed = "\n".join(f"- {finding}" for finding in findings)
    return f"**Review.** {counted}\n\n{listed}"


def _findings(text: str, sentences: list[str]) -> Iterator[str]:
    yield from _sums(text)
    for doubled in _DOUBLED.finditer(text):
        yield f"“{doubled[0]}”: the word stands there twice."
    for sentence in sentences:
        length = len(sentence.split())
        if length >= LONG_SENTENCE:
            yield f"“{_beginning(sentence)}” is long ({length} words): split it."
        if sentence[0].islower():
            yield f"“{_beginning(sentence)}” begins with a small letter."
    for filler in _FILLERS:
        if times := len(re.findall(rf"\b{filler}\b", text, re.IGNORECASE)):
            yield f"“{filler}” ({_count(times, 'time')}) could go."
    if re.search(r"\S {2,}\S", text):
        yield "There are double spaces."
    if text and text.rstrip()[-1] not in ".!?…:)`\"'”":
        yield "The last sentence has no end mark."


def _sums(text: str) -> Iterator[str]:
    """Sums in the text that are wrong."""
    for left, claimed in _EQUATION.findall(text):
        found = expressions(left.strip())
        if not found:
            continue
        try:
            value, said = calculate(found[-1]), calculate(claimed.rstrip("."))
        except CalculationError:
            continue
        if value != said:
            yield f"`{found[-1]} = {said}` is wrong: it is **{value}**."


def _beginning(sentence: str) -> str:
    words = sentence.split()
    return " ".join(words[:5]) + ("…" if len(words) > 5 else "")  # noqa: PLR2004


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
