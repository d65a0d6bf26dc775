"""The page of texts has only notices, cards, errors and help."""

import re

import pytest

from docs import texts

AVOIDED = re.compile(
    r"\b(?:stands|is told|nobody|nothing|[Mm]eanwhile)\b"
    r"|(?:^|[.:?!] )(?:Who|Whoever|Of|Nothing|Nobody)\b"
)


@pytest.fixture(scope="module")
def page() -> str:
    return texts.page()


def test_the_texts_are_plain(page: str):
    """No stilted words, but in the orders that a model gets."""
    found = [line.partition(": ")[2] for line in page.splitlines() if line.startswith("- ")]
    assert len(found) > 1_000
    assert [
        text for text in found if AVOIDED.search(text) and not text.startswith("Summarise the text")
    ] == []


def test_the_page_has_what_people_read_and_no_queries_or_log_lines(page: str):
    for text in (
        "The team is already working.",
        "No tool call is waiting for your approval.",
        "There is no {kind} {name}",
        "Write a commented config",
        "expected a condition, such as MaxMessage(30)",
    ):
        assert text in page
    for text in ("SELECT", "(?P<", "may be set forward", "keeps the connection to Discord"):
        assert text not in page
