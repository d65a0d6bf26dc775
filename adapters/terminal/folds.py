"""Long pastes, folded to labels of one line. No Textual."""

import re
from collections.abc import Iterator

MOST_LINES = 10
MOST_CHARACTERS = 1000
NO_BREAK = "\u00a0"
"""The spaces of a label: the same words, typed by a person, are no label."""
_LABEL = re.compile(r"\[Pasted\u00a0text\u00a0#\d+:\u00a0[\d,]+\u00a0\w+\]")


def is_long(text: str) -> bool:
    """True for a paste that would hide the rest of a draft."""
    return len(text) > MOST_CHARACTERS or text.count("\n") >= MOST_LINES


class Folds:
    """Pasted texts by their labels, each with a number of its own."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def fold(self, text: str) -> str:
        """Keep a text; its label."""
        lines = text.removesuffix("\n").count("\n") + 1
        size = f"{lines:,} lines" if lines > MOST_LINES else f"{len(text):,} characters"
        label = f"[Pasted text #{len(self._texts) + 1}: {size}]".replace(" ", NO_BREAK)
        self._texts[label] = text
        return label

    def text(self, label: str) -> str:
        """The text behind a label."""
        return self._texts.get(label, label)

    def whole(self, draft: str) -> str:
        """The draft with each paste in its place."""
        return _LABEL.sub(lambda found: self.text(found[0]), draft)

    def spans(self, line: str) -> Iterator[tuple[int, int]]:
        """Columns of the labels in a line."""
        return (found.span() for found in _LABEL.finditer(line) if found[0] in self._texts)


def without_labels(text: str) -> str:
    """A foreign text in which nothing stands for an earlier paste."""
    return _LABEL.sub(lambda found: usual_spaces(found[0]), text)


def usual_spaces(label: str) -> str:
    """A label as it is shown."""
    return label.replace(NO_BREAK, " ")
