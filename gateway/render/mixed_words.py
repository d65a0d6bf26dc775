"""Words whose letters look like one script and are of several.

Data of Scripts.txt of Unicode 17.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from gateway.base.unseen import UNSEEN

_LATIN = (
    "\u0041-\u005a\u0061-\u007a\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02b8"
    "\u02e0-\u02e4\u1d00-\u1d25\u1d2c-\u1d5c\u1d62-\u1d65\u1d6b-\u1d77\u1d79-\u1dbe"
    "\u1e00-\u1eff\u2071\u207f\u2090-\u209c\u212a-\u212b\u2132\u214e\u2160-\u2188"
    "\u2c60-\u2c7f\ua722-\ua787\ua78b-\ua7dc\ua7f1-\ua7ff\uab30-\uab5a\uab5c-\uab64"
    "\uab66-\uab69\ufb00-\ufb06\uff21-\uff3a\uff41-\uff5a\U00010780-\U00010785"
    "\U00010787-\U000107b0\U000107b2-\U000107ba\U0001df00-\U0001df1e\U0001df25-\U0001df2a"
)
_GREEK = (
    "\u0370-\u0373\u0375-\u0377\u037a-\u037d\u037f\u0384\u0386\u0388-\u038a\u038c"
    "\u038e-\u03a1\u03a3-\u03e1\u03f0-\u03ff\u1d26-\u1d2a\u1d5d-\u1d61\u1d66-\u1d6a\u1dbf"
    "\u1f00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d"
    "\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fc4\u1fc6-\u1fd3\u1fd6-\u1fdb\u1fdd-\u1fef"
    "\u1ff2-\u1ff4\u1ff6-\u1ffe\u2126\uab65\U00010140-\U0001018e\U000101a0"
    "\U0001d200-\U0001d245"
)
_CYRILLIC = (
    "\u0400-\u0484\u0487-\u052f\u1c80-\u1c8a\u1d2b\u1d78\u2de0-\u2dff\ua640-\ua69f"
    "\ufe2e-\ufe2f\U0001e030-\U0001e06d\U0001e08f"
)
_SCRIPTS = {
    name: re.compile(f"[{letters}]")
    for name, letters in (("Latin", _LATIN), ("Greek", _GREEK), ("Cyrillic", _CYRILLIC))
}
_WORD = re.compile("[^\\W_]+(?:[\u0300-\u036f]+[^\\W_]*)*")

MOST = 3
"""Words that are named."""
LONGEST = 40
"""Characters of a word."""


def mixed_words(texts: Iterable[str]) -> str:
    """A sentence on words with letters of several scripts, "" without one."""
    found: dict[str, str] = {}
    for text in texts:
        if not text.isascii():
            words = dict.fromkeys(_WORD.findall(UNSEEN.sub("", text)))
            found |= {word: mix for word in words if (mix := _scripts_of(word))}
    named = [f"{word[:LONGEST]!r} mixes {mix} letters" for word, mix in found.items()]
    if len(named) > MOST:
        named[MOST:] = [f"so do {len(named) - MOST:,} other words"]
    return "; ".join(named) + "." if named else ""


def _scripts_of(word: str) -> str:
    """The scripts of a word with letters of several, else ""."""
    if word.isascii():
        return ""
    names = [name for name, letters in _SCRIPTS.items() if letters.search(word)]
    return " and ".join(names) if len(names) > 1 else ""
