"""Emoji that are written with a style selector or with joiners.

Data of emoji-zwj-sequences.txt of Unicode 17.0 and emoji-variation-sequences.txt of Emoji 15.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_STYLED = re.compile(
    "["
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9-\u21aa\u231a-\u231b\u2328\u23cf"
    "\u23e9-\u23ea\u23ed-\u23ef\u23f1-\u23f3\u23f8-\u23fa\u24c2\u25aa-\u25ab\u25b6\u25c0"
    "\u25fb-\u25fe\u2600-\u2604\u260e\u2611\u2614-\u2615\u2618\u261d\u2620\u2622-\u2623\u2626"
    "\u262a\u262e-\u262f\u2638-\u263a\u2640\u2642\u2648-\u2653\u265f-\u2660\u2663"
    "\u2665-\u2666\u2668\u267b\u267e-\u267f\u2692-\u2697\u2699\u269b-\u269c\u26a0-\u26a1"
    "\u26a7\u26aa-\u26ab\u26b0-\u26b1\u26bd-\u26be\u26c4-\u26c5\u26c8\u26cf\u26d1"
    "\u26d3-\u26d4\u26e9-\u26ea\u26f0-\u26f5\u26f7-\u26fa\u26fd\u2702\u2708-\u2709"
    "\u270c-\u270d\u270f\u2712\u2714\u2716\u271d\u2721\u2733-\u2734\u2744\u2747\u2753\u2757"
    "\u2763-\u2764\u27a1\u2934-\u2935\u2b05-\u2b07\u2b1b-\u2b1c\u2b50\u2b55\u3030\u303d\u3297"
    "\u3299\U0001f004\U0001f170-\U0001f171\U0001f17e-\U0001f17f\U0001f202\U0001f21a\U0001f22f"
    "\U0001f237\U0001f30d-\U0001f30f\U0001f315\U0001f31c\U0001f321\U0001f324-\U0001f32c"
    "\U0001f336\U0001f378\U0001f37d\U0001f393\U0001f396-\U0001f397\U0001f399-\U0001f39b"
    "\U0001f39e-\U0001f39f\U0001f3a7\U0001f3ac-\U0001f3ae\U0001f3c2\U0001f3c4\U0001f3c6"
    "\U0001f3ca-\U0001f3ce\U0001f3d4-\U0001f3e0\U0001f3ed\U0001f3f3\U0001f3f5\U0001f3f7"
    "\U0001f408\U0001f415\U0001f41f\U0001f426\U0001f43f\U0001f441-\U0001f442"
    "\U0001f446-\U0001f449\U0001f44d-\U0001f44e\U0001f453\U0001f46a\U0001f47d\U0001f4a3"
    "\U0001f4b0\U0001f4b3\U0001f4bb\U0001f4bf\U0001f4cb\U0001f4da\U0001f4df"
    "\U0001f4e4-\U0001f4e6\U0001f4ea-\U0001f4ed\U0001f4f7\U0001f4f9-\U0001f4fb\U0001f4fd"
    "\U0001f508\U0001f50d\U0001f512-\U0001f513\U0001f549-\U0001f54a\U0001f550-\U0001f567"
    "\U0001f56f-\U0001f570\U0001f573-\U0001f579\U0001f587\U0001f58a-\U0001f58d\U0001f590"
    "\U0001f5a5\U0001f5a8\U0001f5b1-\U0001f5b2\U0001f5bc\U0001f5c2-\U0001f5c4"
    "\U0001f5d1-\U0001f5d3\U0001f5dc-\U0001f5de\U0001f5e1\U0001f5e3\U0001f5e8\U0001f5ef"
    "\U0001f5f3\U0001f5fa\U0001f610\U0001f687\U0001f68d\U0001f691\U0001f694\U0001f698"
    "\U0001f6ad\U0001f6b2\U0001f6b9-\U0001f6ba\U0001f6bc\U0001f6cb\U0001f6cd-\U0001f6cf"
    "\U0001f6e0-\U0001f6e5\U0001f6e9\U0001f6f0\U0001f6f3"
    "]\ufe0f"
)
"""Characters that U+FE0F makes an emoji."""

# The beginnings of sequences, and how they go on: a + stands for the joiner, and neither skin tones
# nor U+FE0F are written.
_JOINED = {
    "👨👩🧑": "⚕ ⚖ ✈ 🌾 🍳 🍼 🎓 🎤 🎨 🏫 🏭 💻 💼 🔧 🔬 🚀 🚒 🦯 🦯+➡ 🦰 🦱 🦲 🦳 🦼 🦼+➡ 🦽 🦽+➡",
    "👨👩": "❤+👨 ❤+💋+👨 👦 👦+👦 👧 👧+👦 👧+👧 👩+👦 👩+👦+👦 👩+👧 👩+👧+👦 👩+👧+👧 🤝+👨",
    "🧑": "❤+💋+🧑 ❤+🧑 🎄 🐰+🧑 🤝+🧑 🧑+🧒 🧑+🧒+🧒 🧒 🧒+🧒 🩰 🫯+🧑",
    "👨": "🐰+👨 👨+👦 👨+👦+👦 👨+👧 👨+👧+👦 👨+👧+👧 🫯+👨",
    "👩": "❤+👩 ❤+💋+👩 🐰+👩 🤝+👩 🫯+👩",
    "🏃🚶🧎": "♀+➡ ♂+➡ ➡",
    "⛹🏃🏄🏊🏋🏌👮👯👰👱👳👷💁💂💆💇🕵🙅🙆🙇🙋🙍🙎🚣🚴🚵"
    "🚶🤦🤵🤷🤸🤹🤼🤽🤾🦸🦹🧍🧎🧏🧔🧖🧗🧘🧙🧚🧛🧜🧝🧞🧟": "♀ ♂",
    "🏳": "⚧ 🌈",
    "🙂": "↔ ↕",
    "⛓": "💥",
    "❤": "🩹",
    "❤🐦": "🔥",
    "🍄": "🟫",
    "🍋": "🟩",
    "🏴": "☠",
    "🐈🐦": "⬛",
    "🐕": "🦺",
    "🐻": "❄",
    "👁": "🗨",
    "😮": "💨",
    "😵": "💫",
    "😶": "🌫",
    "🫱": "🫲",
}
_SEQUENCES = frozenset(
    f"{first}\u200d{rest}"
    for firsts, rests in _JOINED.items()
    for first in firsts
    for rest in rests.replace("+", "\u200d").split()
)

_ONE = "[\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff](?:\ufe0f|[\U0001f3fb-\U0001f3ff])?"
_WRITTEN = re.compile(f"{_ONE}(?:\u200d{_ONE})*|[0-9#*]\ufe0f\u20e3")
_TONES = dict.fromkeys([0xFE0F, *range(0x1F3FB, 0x1F400)])


def emoji_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where emoji stand whose joiners or style selectors are their own."""
    if "\ufe0f" not in text and "\u200d" not in text:
        return
    for found in _WRITTEN.finditer(text):
        if "\ufe0f" not in found[0] and "\u200d" not in found[0]:
            continue
        if _is_whole(found[0]):
            yield found.span()
        else:
            yield from (each.span() for each in _STYLED.finditer(text, *found.span()))


def _is_whole(emoji: str) -> bool:
    if not emoji.isascii() and emoji[0].isascii():
        return True  # a keycap
    if emoji.count("\ufe0f") != len(_STYLED.findall(emoji)):
        return False
    return "\u200d" not in emoji or emoji.translate(_TONES) in _SEQUENCES
