"""Looks of text: characters that are easily confused become one.

Derived from `confusables.txt` of Unicode (UTS #39, Unicode License V3), for the characters of the
gateway's own marks only. Compatibility forms, capitals and accents need no entry.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from itertools import accumulate

DOT = "\u00b7"

_ALIKE = {
    "<": "02C2 1438 16B2 2039 276E 2770 27E8 3008 1D236",
    ">": "02C3 1433 203A 276F 2771 27E9 3009 16F3F 1D237",
    "<<": "00AB 226A 27EA 300A",
    ">>": "00BB 226B 27EB 300B",
    "<<<": "22D8",
    ">>>": "22D9",
    "[": "2045 2308 230A 2772 27E6 27EC 298B 298D 298F 2E22 3010 3014 3016 3018 301A",
    "]": "2046 2309 230B 2773 27E7 27ED 298C 298E 2990 2E23 3011 3015 3017 3019 301B",
    '"': "02BA 02DD 02EE 05F4 201C 201D 201E 201F 2033 2036 275D 275E 301D 301E 301F",
    "/": "1735 2041 2044 2215 2571 27CB 29F8 2CC7 3033 30CE 31D3 4E3F 1D23A",
    DOT: "1427 16EB 2022 2027 2219 22C5 2E31 30FB A78F 10101",
    "d": "0501 13A0 13E7 146F 15DE 15EA A4D2 A4D3",
    "e": "03B5 0435 04BD 13AC 212E 22FF 2D39 A4F0 AB32 10286 118C6 118CE",
    "f": "03DD 0584 15B4 1E9D A4DD A799 AB35 10287 102A5 10525 118C2 1D213",
    "g": "018D 0261 050D 0581 13C0 13F3 1D83 A4D6",
    "i": "0131 0269 026A 03B9 0456 04CF 13A5 2373 A647 118C3",
    "n": "03BD 0578 057C 2C9B A4E0 10513",
    "o": "03BF 03C3 043E 0585 06F5 0966 09E6 0A66 0AE6 0B20 0B66 0BE6 0C66 0CE6 0D20 0D66 0E50 "
    "0ED0 101D 1040 10FF 12D0 1D0F 1D11 2C9F 2D54 3007 A4F3 AB3D 10292 102AB 1042C 104EA 10516 "
    "114D0 118C8 118D5 118D7 118E0",
    "r": "0280 0433 13A1 13B1 13D2 1587 1D26 2C85 A4E3 AB47 AB48 104DC 16F35 1D216",
}


class _Looks(dict[str, str]):
    """Looks of characters, each found out when it is first met."""

    def __missing__(self, character: str) -> str:
        looks = "".join(map(self._plain, unicodedata.normalize("NFKD", character).casefold()))
        self[character] = looks
        return looks

    def _plain(self, character: str) -> str:
        if character in self:
            return self[character]
        category = unicodedata.category(character)
        if category[0] == "M" or category == "Cf":
            return ""
        return " " if category[0] == "Z" else character


_LOOKS = _Looks(
    {chr(int(code, 16)): looks for looks, codes in _ALIKE.items() for code in codes.split()}
    | {"0": "o", "1": "i", "l": "i", "|": "i"}
)


def looks_like(text: str) -> str:
    """The text in small plain letters, without look-alikes."""
    return "".join([_LOOKS[character] for character in text])


class Appearance:
    """Looks of a text, and the way back to its characters."""

    def __init__(self, text: str) -> None:
        self.source = text
        looks = [_LOOKS[character] for character in text]
        self.text = "".join(looks)
        self._starts = [0, *accumulate(map(len, looks))] if len(self.text) != len(text) else None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The characters of the text itself that look like these."""
        if self._starts is None:
            return start, end
        return bisect_right(self._starts, start) - 1, bisect_right(self._starts, end - 1)
