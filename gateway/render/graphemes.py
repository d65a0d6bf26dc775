"""Boundaries between characters as people see them."""

from __future__ import annotations

import unicodedata

_JOINERS = "\u200c\u200d"
_VIRAMA = 9
"""The combining class of signs that join two letters."""


def may_cut(text: str, at: int) -> bool:
    """True if one character ends at `at` and another begins.

    Unicode's rules for extended grapheme clusters decide; where in doubt, it is false.
    """
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if before.isascii() and after.isascii():
        return (before, after) != ("\r", "\n")
    if before == "\n":
        return True
    return not (_extends(after) or _joins(before, after) or _is_half_flag(text, at))


def _extends(after: str) -> bool:
    """True for marks, joiners, skin tones, tags and Korean syllables' rests."""
    return (
        unicodedata.category(after)[0] == "M"
        or after in _JOINERS
        or "\U0001f3fb" <= after <= "\U0001f3ff"
        or "\U000e0020" <= after <= "\U000e007f"
        or "\u1160" <= after <= "\u11ff"
        or "\ud7b0" <= after <= "\ud7fb"
    )


def _joins(before: str, after: str) -> bool:
    if before == "\u200d":
        return True
    if "\u1100" <= before <= "\u115f" or "\ua960" <= before <= "\ua97c":
        return "\u1100" <= after <= "\u115f" or "\ua960" <= after <= "\ud7a3"
    return unicodedata.combining(before) == _VIRAMA and after.isalpha()


def _is_half_flag(text: str, at: int) -> bool:
    """Flags are written as two letters of their own."""
    if not _is_flag_letter(text[at]):
        return False
    run = 0
    while at - run > 0 and _is_flag_letter(text[at - run - 1]):
        run += 1
    return run % 2 == 1


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
